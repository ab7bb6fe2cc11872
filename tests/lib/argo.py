# SPDX-License-Identifier: Apache-2.0
"""What Argo CD shows of a GPUAttribution, by the script in manifests/samples.

It runs in Debian's Lua 5.1, which hack/debs has fetched, with the libraries that Argo CD gives.
"""

import json
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = TOP / "manifests" / "samples" / "argocd" / "health.lua"
GOLDEN = TOP / "tests" / "golden" / "attribution.json"
PROGRAMS = pathlib.Path(subprocess.run([TOP / "hack" / "debs", "--where"], capture_output=True, text=True,
                                       check=True).stdout.strip()) / "usr" / "bin"
LIMIT_S = 500  # a hang; a loaded machine takes half of it


def is_there():
    return (PROGRAMS / "lua5.1").exists()


def lua(value):
    """A value of JSON as Lua writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{lua(k)}] = {lua(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(lua(v) for v in value) + "}"
    if isinstance(value, str):
        return '"' + "".join(f"\\{byte:03d}" for byte in value.encode()) + '"'
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "nil"}[value]
    return repr(value)


def argo(thing):
    """(status, message) that the script gives of an object."""
    text = ("local print, write = print, io.write\nstring, os, io, debug = nil, nil, nil, nil\n"
            f"obj = {lua(thing)}\nlocal hs = (function()\n{SCRIPT.read_text()}\nend)()\n"
            'write(hs.status, "\\n", hs.message)\n')
    done = subprocess.run([PROGRAMS / "lua5.1", "-"], input=text, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    status, _, message = done.stdout.partition("\n")
    return status, message


def golden(**edits):
    """The golden object, well and in sync unless edits say otherwise: path__to__field=value."""
    thing = json.loads(GOLDEN.read_text())
    defaults = {"health__state": "Healthy", "health__reasons": [], "health__recoveryAction": "None",
                "reportState": "Current", "intent__state": "InSync", "intent__drifts": []}
    for path, value in {**defaults, **edits}.items():
        *folders, name = path.split("__")
        place = thing["status"]
        for folder in folders:
            place = place[folder]
        place[name] = value
    return thing
