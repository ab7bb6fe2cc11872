#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent as a process, with the stand-in driver and the stand-in dcgm-exporter of tests/fake.

usage: dcgm.py AGENT FOLDER_OF_THE_DRIVER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence
contains them. What figures are believed is told by the unit tests: here it is about what the agent
says of the source, whatever the server does, and how long that takes.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from promises import promise, try_promises

TESTS = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
EXPORTER = os.path.join(TESTS, "fake", "dcgm-exporter")
DEVICES = os.path.join(TESTS, "fake", "devices")
PODS = "mps-tenant-a,mps-tenant-b,mps-tenant-c,mps-tenant-d"


@contextlib.contextmanager
def exporter(devices, *arguments):
    """A running exporter of that device file; its address."""
    with subprocess.Popen([EXPORTER, os.path.join(DEVICES, devices), *arguments],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def report(devices, url=None):
    """What the agent would send."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "LD_LIBRARY_PATH": DRIVER,
               "FAKE_NVML_FILE": os.path.join(DEVICES, devices)}
        command = [AGENT, "--once", "--print", "--node-name=gpu-a", "--processes=off",
                   f"--pod-resources-socket={folder}/none", f"--checkpoint-file={folder}/none"]
        done = subprocess.run(command + ([f"--dcgm-url={url}"] if url else []), env=env,
                              capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def source(devices, *arguments):
    with exporter(devices, *arguments) as url:
        return report(devices, url)["sources"]["dcgm"]


@promise
def without_the_option_the_source_is_absent():
    said = report("time-sliced.json")["sources"]["dcgm"]
    assert said["state"] == "absent" and "--dcgm-url" in said["message"], said


@promise
def each_form_of_the_text_is_read_for_each_way_of_sharing():
    for devices in ("exclusive.json", "time-sliced.json", "mig.json", "mig-single.json"):
        for form in ("before-4.6", "since-4.6"):
            for more in ((), ("--pods", PODS), ("--pods", PODS, "--virtual-gpus"),
                         ("--hostname", "")):
                said = source(devices, "--form", form, *more)
                assert said["state"] == "ok" and "message" not in said, (devices, form, more, said)


@promise
def whatever_is_wrong_with_the_answer_the_source_says_it():
    expected = {
        "endless-line": "line 1: longer than 16384 bytes",
        "endless": "the answer is longer than 4194304 bytes",
        "cut": "the answer is cut short",
        "injection": "one label twice",
        "other-node": "is it of another node, gpu-b?",
        "slow": "no answer within 2000 ms",
        "slow-body": "no answer within 2000 ms",
        "redirect": "HTTP status 302, and redirects are not followed",
        "not-found": "HTTP status 404",
        "gzip": "line 1: ",
        "html": "line 1: no metric name",
        "rubbish": "with a good value",
        "empty": "neither DCGM_FI_PROF_GR_ENGINE_ACTIVE nor DCGM_FI_DEV_GPU_UTIL",
        "nothing": "neither DCGM_FI_PROF_GR_ENGINE_ACTIVE nor DCGM_FI_DEV_GPU_UTIL",
    }
    for fault, message in expected.items():
        with exporter("time-sliced.json", "--fault", fault, "--hostname", "gpu-b") as url:
            said = report("time-sliced.json", url)
        dcgm = said["sources"]["dcgm"]
        assert dcgm["state"] == "error" and message in dcgm["message"], (fault, dcgm)
        assert said["sources"]["nvml"]["state"] == "ok" and len(said["devices"]) == 2, said


@promise
def blank_values_are_no_failure():
    said = source("time-sliced.json", "--fault", "blank")
    assert said["state"] == "ok" and "blank" in said["message"], said


@promise
def nobody_there_is_an_error():
    with exporter("time-sliced.json") as url:
        pass
    said = report("time-sliced.json", url)["sources"]["dcgm"]
    assert said["state"] == "error" and "refused" in said["message"], said


AGENT, DRIVER = (os.path.realpath(argument) for argument in sys.argv[1:3])
if __name__ == "__main__":
    sys.exit(try_promises(sys.argv[3:]))
