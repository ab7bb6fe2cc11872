#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program kubectl-gpus as a process, with the stand-in kubectl of tests/fake.

usage: kubectl_gpus.py PROGRAM [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence
contains them. What tables look like is told by the unit tests: here it is about what is asked of
kubectl, what is printed where, and the exit status.
"""

import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from promises import Skipped, promise, try_promises

TESTS = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
FAKE = os.path.join(TESTS, "fake", "kubectl")
WORLD = os.path.join(TESTS, "fake", "world")
TROUBLE = os.path.join(TESTS, "fake", "trouble")
DRIFT = os.path.join(TESTS, "fake", "drift")
README = os.path.join(TESTS, "..", "src", "kubectl", "README.md")
SOURCES = os.path.join(TESTS, "..", "src")
XIDS = os.path.join(SOURCES, "assess", "xid.c")
GPUS = "gpuattributions.gpuattribution.dev"
LEASES = "leases.coordination.k8s.io"
CLAIMS = "resourceclaims.resource.k8s.io"
SLICED = "GPU-3f1a0000-3437-2335-2fd8-a78c8502f87f"
TRAIN = "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
SHORT = TRAIN[:12]
FOUND, NOT_FOUND, USAGE, FAILED = 0, 1, 2, 3


class Run:
    """One run of the program: status, out, err, and what it asked of kubectl. What it asked about
    the leader is apart. Without -o no line may have more than 120 columns. In err each note is one
    line; printed_err is what was printed."""

    def __init__(self, *arguments, fault="", namespace="", world=WORLD, kubectl=FAKE, path=None,
                 lease=None, time=""):
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
            env = {**os.environ, "FAKE_KUBECTL_WORLD": world, "FAKE_KUBECTL_FAULT": fault,
                   "FAKE_KUBECTL_NAMESPACE": namespace, "FAKE_KUBECTL_LOG": log.name,
                   "FAKE_KUBECTL_LEASE": json.dumps(lease) if lease else "",
                   "FAKE_KUBECTL_TIME": time}
            env.pop("KUBECTL", None)
            if kubectl:
                env["KUBECTL"] = kubectl
            if path:
                env["PATH"] = path
            done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=env,
                                  stdin=subprocess.DEVNULL, timeout=60)
            calls = [json.loads(line) for line in log]
        self.about_leader = [c for c in calls if LEASES in c or "whoami" in c]
        self.calls = [c for c in calls if c not in self.about_leader]
        self.status, self.out, self.printed_err = done.returncode, done.stdout, done.stderr
        self.err = self.printed_err.replace("\n  ", " ")  # a note that goes on in further lines
        is_default = not any(a.startswith(("-o", "--output", "-h", "--help")) for a in arguments)
        if is_default and fault != "prompt" and self.status in (FOUND, NOT_FOUND):
            too_long = [line for line in (self.out + self.printed_err).splitlines() if len(line) > 120]
            assert not too_long, (arguments, too_long)

    def expect(self, status, out=None, err=None):
        """The status, and what is in (or, None, not on) both outputs."""
        seen = f"status {self.status}\n{self.out}---\n{self.err}"
        assert self.status == status, seen
        assert (out in self.out) if out else not self.out, seen
        # Which columns had no room may always be noted.
        notes = [n for n in self.err.splitlines() if not n.startswith("Columns left out")]
        assert (err in self.err) if err else not notes, seen
        return self


@promise
def a_pod_is_found_by_its_uid_and_that_is_all_that_is_printed():
    run = Run("pod", "train-0", "-n", "ml").expect(FOUND, SHORT)
    assert run.calls == [
        ["get", "pods", "-o", "json", "-n", "ml", "--ignore-not-found", "--", "train-0"],
        ["get", GPUS, "-o", "json"]], run.calls


@promise
def without_n_the_namespace_is_that_of_the_context():
    run = Run("pod/train-0", namespace="ml").expect(FOUND, SHORT)
    assert run.calls[0][:3] == ["config", "view", "--minify"], run.calls
    Run("pod/train-0").expect(NOT_FOUND, None, 'not found in namespace "default"')


@promise
def without_a_context_the_namespace_is_the_default():
    Run("pod", "x", fault="no-context").expect(NOT_FOUND, None, 'namespace "default"')


@promise
def flags_for_reaching_a_cluster_are_handed_on_in_every_call():
    run = Run("--context", "prod", "pod", "a", "--as=jane", "-s", "https://x", "--token", "t")
    assert len(run.calls) == 3
    for call in run.calls:
        rest = call[:call.index("--")] if "--" in call else call
        assert rest[-4:] == ["--context=prod", "--as=jane", "--server=https://x", "--token=t"], call


@promise
def of_several_pods_one_without_a_gpu_makes_the_status_1():
    run = Run("pod", "train-0", "web-0", "-n", "ml")
    run.expect(NOT_FOUND, SHORT, "pod/web-0: asks for no GPU")
    assert run.calls[0][-3:] == ["--", "train-0", "web-0"]


@promise
def a_pod_of_an_earlier_ones_name_is_not_shown_with_its_gpu():
    run = Run("pod", "llm-1", "-n", "inf")
    run.expect(NOT_FOUND, "Unknown", "is still on GPU-77770000")
    assert "GPU-7777" not in run.out


@promise
def pods_that_may_not_be_read_are_found_by_name():
    Run("pod", "train-0", "-n", "ml", fault="forbidden-pods").expect(
        FOUND, SHORT, "by its name alone")
    Run("pod", "web-0", "-n", "ml", fault="forbidden-pods").expect(
        NOT_FOUND, None, "whether there is one is not known")


@promise
def who_may_read_no_gpuattributions_is_told_what_their_own_pods_say():
    run = Run("pod", "train-0", "-n", "ml", fault="forbidden-gpus").expect(
        FOUND, TRAIN, "The ClusterRole gpu-attribution-viewer, bound cluster-wide, adds them")
    assert [call[1] for call in run.calls] == ["pods", GPUS], run.calls
    run = Run("pod", "-n", "team", fault="forbidden-gpus").expect(
        FAILED, "gpu.nvidia.com/gpu-a/gpu-1", "pod/old-0: asks for GPUs, and neither its status")
    assert [call[1] for call in run.calls] == [GPUS, "pods", CLAIMS], run.calls
    rows = [line.split() for line in run.out.splitlines()]
    assert rows == [
        ["POD", "CONTAINER", "DEVICE", "NODE", "RESOURCE", "HEALTH", "WITNESS"],
        ["shared-0", "main", SLICED + "::3", "gpu-a", "nvidia.com/gpu", "Healthy", "PodStatus"],
        ["shared-0", "main", SLICED + "::4", "gpu-a", "nvidia.com/gpu", "Unhealthy", "PodStatus"],
        ["dra-0", "-", "gpu.nvidia.com/gpu-a/gpu-1", "gpu-a", "dra-0-gpu-x7k2p", "?", "ResourceClaim"],
    ], rows
    Run("pod", "shared-0", "nope", "-n", "team", fault="forbidden-gpus").expect(
        NOT_FOUND, SLICED, 'pod/nope: not found in namespace "team"')
    Run("pod", "web-1", "-n", "team", fault="forbidden-gpus").expect(
        NOT_FOUND, None, "pod/web-1: asks for no GPU")


@promise
def claims_that_may_not_be_read_leave_what_the_status_says():
    for fault in ("forbidden-claims", "no-claims"):
        run = Run("pod", "-n", "team", fault="forbidden-gpus," + fault).expect(
            FAILED, SLICED + "::3", "pod/dra-0: asks for GPUs, and neither its status")
        assert ("resourceclaims may not be read" in run.err) == (fault == "forbidden-claims"), run.err


@promise
def ones_own_view_is_there_for_programs_too():
    run = Run("pod", "shared-0", "dra-0", "-n", "team", "-o", "json", fault="forbidden-gpus").expect(
        FOUND, "PodDevices", "gpuattributions may not be read")
    items = json.loads(run.out)["items"]
    assert [(i["pod"], i["container"], i["deviceID"], i["health"], i["witness"]) for i in items] == [
        ("shared-0", "main", SLICED + "::3", "Healthy", "PodStatus"),
        ("shared-0", "main", SLICED + "::4", "Unhealthy", "PodStatus"),
        ("dra-0", None, "gpu.nvidia.com/gpu-a/gpu-1", None, "ResourceClaim")], items
    Run("pod", "train-0", "-n", "ml", fault="forbidden-gpus,forbidden-pods").expect(
        FAILED, None, "gpuattributions of gpuattribution.dev, cluster-wide")
    Run("why", "pod/train-0", "-n", "ml", fault="forbidden-gpus").expect(FAILED, None, "(Forbidden)")


@promise
def pods_that_could_not_be_read_are_not_looked_for_by_name():
    Run("pod", "train-0", "-n", "ml", fault="broken-pods").expect(FAILED, None, "(InternalError)")


@promise
def a_selector_is_asked_of_kubectl():
    run = Run("pod", "-l", "app=train", "-n", "ml").expect(NOT_FOUND, SHORT, "train-2: is not sch")
    assert "-l" in run.calls[0] and "app=train" in run.calls[0]
    assert run.calls[1] == ["get", GPUS, "-o", "json"], run.calls
    Run("pod", "-l", "app=notebook", "-A").expect(FOUND, "notebook-b", "gpu-b")
    Run("pod", "-l", "app=nothing", "-n", "ml").expect(NOT_FOUND, None, "match the selector")
    Run("pod", "-l", "app=web", "-n", "ml", fault="forbidden-pods").expect(
        FAILED, None, "get and list pods")


@promise
def a_list_of_holders_needs_no_pods():
    run = Run("pod", "-A").expect(FOUND, "train-0", "*")
    assert [call[1] for call in run.calls] == [GPUS], run.calls
    Run("pod", "-n", "empty").expect(FOUND, None, "No pods hold GPUs in empty namespace")


def eight_hundred(folder):
    """A world of 100 nodes with 8 devices each, of those of WORLD in turn."""
    with open(os.path.join(WORLD, "gpus.json"), encoding="utf-8") as file:
        told = json.load(file)
    items = []
    for i in range(800):
        item = json.loads(json.dumps(told["items"][i % len(told["items"])]))
        item["metadata"]["name"] = f"gpu-{i:08x}-3437-2335-2fd8-a78c8502f87f"
        item["spec"]["uuid"] = f"GPU-{i:08x}-3437-2335-2fd8-a78c8502f87f"
        item["status"]["nodeName"] = f"gpu-worker-{i // 8:03}.eu-central-1.example.com"
        items.append(item)
    for name, what in (("gpus.json", {**told, "items": items}), ("pods.json", {"items": []}),
                       ("claims.json", {"items": []})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(what, file)
    with open(os.path.join(folder, "nodes.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in {item["status"]["nodeName"]: 1 for item in items})


@promise
def eight_hundred_devices_are_a_line_a_node_and_fit_in_120_columns():
    with tempfile.TemporaryDirectory() as folder:
        eight_hundred(folder)
        told = Run(world=folder).expect(FOUND, "gpu-worker-057.eu-central-1", "800 devices are summed up by node")
        nodes = told.out.splitlines()
        assert len([line for line in nodes if line.startswith("gpu-worker-")]) == 100, "\n".join(nodes)
        one = Run("node", "gpu-worker-057.eu-central-1.example.com", world=folder).out
        assert one.count("GPU-") >= 8, one
        for line in [*nodes, *one.splitlines()]:
            assert len(line) <= 120, line
    return "\n".join([*nodes[:3], nodes[-1]])


@promise
def a_node_is_asked_for_by_field_selector():
    run = Run("node", "gpu-a", "-o", "wide").expect(FOUND, SHORT)
    assert run.calls == [["get", GPUS, "-o", "json", "--field-selector", "status.nodeName=gpu-a"]]
    # A table shortens UUIDs: they must differ from those of all other nodes.
    assert Run("node", "gpu-a").expect(FOUND, SHORT).calls == [["get", GPUS, "-o", "json"]]


@promise
def a_shortened_uuid_is_unique_among_all_devices():
    with tempfile.TemporaryDirectory() as world:
        with open(os.path.join(WORLD, "gpus.json"), encoding="utf-8") as file:
            gpus = json.load(file)
        twin = json.loads(json.dumps(gpus["items"][0]).replace("-3437-", "-34f7-"))
        twin["status"]["nodeName"] = "gpu-z"
        gpus["items"].append(twin)
        with open(os.path.join(world, "gpus.json"), "w", encoding="utf-8") as file:
            json.dump(gpus, file)
        uuid, node = twin["spec"]["uuid"], gpus["items"][0]["status"]["nodeName"]
        short = uuid[:uuid.index("-34f7-") + 4]
        for arguments in ((), ("node", "gpu-z"), ("-l", "x=y"), ("pod", "-A")):
            run = Run(*arguments, world=world)
            assert run.status == FOUND and f"{short} " in run.out, run.out
        assert f"{short} " not in Run("node", node, world=world).out
        assert uuid in Run("device", short, world=world).out
        Run("device", short[:12], world=world).expect(USAGE, None, "fits 2 GPUs")


@promise
def an_api_server_without_field_selectors_is_asked_for_all():
    run = Run("node", "gpu-a", "-o", "wide", fault="no-selectors").expect(FOUND, SHORT)
    assert run.calls[1] == ["get", GPUS, "-o", "json"], run.calls
    assert "GPU-7777" not in run.out


@promise
def a_node_without_gpus_is_told_from_one_that_is_not_there():
    Run("node", "cpu-7").expect(NOT_FOUND, None, "no GPU of it is known: it has none, or no agent")
    Run("node", "nope").expect(NOT_FOUND, None, "node/nope: not found")
    Run("node", "nope", fault="forbidden-nodes").expect(NOT_FOUND, None, "may not be read")


@promise
def a_whole_uuid_needs_only_the_right_to_get():
    run = Run("device", TRAIN.upper()).expect(FOUND, "ml/train-0")
    assert run.calls == [["get", GPUS, "-o", "json", "--ignore-not-found", "--", TRAIN.lower()]]
    Run("device", "GPU-00000000-3437-2335-2fd8-a78c8502f87f").expect(NOT_FOUND, None, "No GPU has")


@promise
def a_beginning_must_fit_one_device_only():
    Run("device", "11ba").expect(USAGE, None, '"11ba" fits 2 GPUs')
    Run("device", "11ba9").expect(FOUND, "ml/train-1 (left)")
    Run("device", "MIG-00000001").expect(FOUND, "UUID:            GPU-77770000")
    Run("device", "f").expect(NOT_FOUND, None, "No GPU has a UUID")


@promise
def json_can_be_read_by_programs_whatever_the_status_is():
    for arguments, kind, status in ((("-o", "json"), "GPUList", FOUND),
                                    (("node", "gpu-c", "-o", "json"), "GPUList", FOUND),
                                    (("device", "5555", "-ojson"), "GPU", FOUND),
                                    (("pod", "x", "-n", "ml", "-o", "json"), "PodGPUs", NOT_FOUND)):
        run = Run(*arguments)
        assert run.status == status and json.loads(run.out)["kind"] == kind, run.out
    items = json.loads(Run("-o", "json").out)["items"]
    unknown = next(item for item in items if item["uuid"].startswith("GPU-9999"))
    assert unknown["tenantCount"] is None and unknown["node"] is None, unknown


@promise
def yaml_says_the_same_as_json():
    try:
        import yaml
    except ImportError:
        raise Skipped("no python3-yaml") from None
    for arguments in ((), ("node", "gpu-c"), ("device", "5555"), ("pod", "-A")):
        as_json, as_yaml = Run(*arguments, "-o", "json"), Run(*arguments, "-o", "yaml")
        assert as_yaml.status == as_json.status == FOUND
        assert yaml.safe_load(as_yaml.out) == json.loads(as_json.out), as_yaml.out


@promise
def names_can_be_given_to_kubectl():
    name = f"gpuattribution.gpuattribution.dev/{TRAIN.lower()}\n"
    assert Run("pod", "train-0", "-n", "ml", "-o", "name").expect(FOUND, name).out == name
    assert Run("device", "11ba55", "-o", "name").expect(FOUND, name).out == name


@promise
def marks_are_explained_on_standard_error():
    run = Run().expect(FOUND, "Stale*", "* gpu-c, 2 GPUs: AgentSilent for")
    assert "the last that was known" not in run.out


@promise
def what_is_wrong_with_the_cluster_is_told_with_what_to_do():
    for fault, said in (("not-installed", "kubectl apply -f manifests/install.yaml"),
                        ("forbidden-gpus", "--clusterrole=gpu-attribution-viewer"),
                        ("unreachable", "did you specify the right host or port")):
        for arguments in ((), ("pod", "-A", "-o", "name"), ("node", "gpu-a"), ("device", TRAIN)):
            Run(*arguments, fault=fault).expect(FAILED, None, said)


@promise
def what_kubectl_says_comes_first_and_once():
    run = Run(fault="forbidden-gpus").expect(FAILED, None, "(Forbidden)")
    assert run.err.startswith("Error from server (Forbidden)"), run.err
    assert run.err.count("(Forbidden)") == 1, run.err


@promise
def an_answer_that_is_cut_or_garbled_is_no_answer():
    for fault in ("cut", "garbage"):
        for arguments in ((), ("pod", "train-0", "-n", "ml"), ("node", "gpu-a"), ("device", TRAIN)):
            Run(*arguments, fault=fault).expect(FAILED, None, "error: what kubectl printed")


@promise
def an_object_that_cannot_be_read_is_said_and_is_no_success():
    with tempfile.TemporaryDirectory() as world:
        with open(os.path.join(WORLD, "gpus.json"), encoding="utf-8") as file:
            gpus = json.load(file)
        gpus["items"][0]["status"]["slots"] = "all of them"
        with open(os.path.join(world, "gpus.json"), "w", encoding="utf-8") as file:
            json.dump(gpus, file)
        Run(world=world).expect(FAILED, SHORT, "1 GPUAttributions cannot be read by this version")


@promise
def a_terminal_is_safe_from_what_is_in_the_cluster():
    with tempfile.TemporaryDirectory() as world:
        with open(os.path.join(WORLD, "gpus.json"), encoding="utf-8") as file:
            gpus = json.load(file)
        for item in gpus["items"]:
            for condition in item["status"]["conditions"]:
                condition["message"] = "\x1b]0;owned\x07\nforged line"
            item["status"]["device"] = {"model": "\x1b[2J\u202eevil"}
        with open(os.path.join(world, "gpus.json"), "w", encoding="utf-8") as file:
            json.dump(gpus, file)
        for arguments in ((), ("-o", "wide"), ("node",), ("device", TRAIN), ("pod", "-A")):
            run = Run(*arguments, world=world)
            both = run.out + run.err
            assert not any(c in both for c in "\x1b\x07\u202e"), both
            assert "\nforged" not in both, both


@promise
def a_prompt_reaches_the_terminal():
    Run(fault="prompt").expect(FOUND, SHORT, "Please enter Username: ")


@promise
def a_kubectl_that_is_not_there_is_said():
    Run(kubectl="/nonexistent/kubectl").expect(FAILED, None, "cannot run /nonexistent/kubectl")
    Run(kubectl=None, path="/nonexistent").expect(FAILED, None, "must be on PATH")


@promise
def kubectl_is_found_on_path():
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(FAKE, os.path.join(folder, "kubectl"))
        Run(kubectl=None, path=f"{folder}:{os.environ['PATH']}").expect(FOUND, SHORT, "*")


class World:
    """A folder with those objects of TROUBLE of which `keep` is true, after `change`."""

    def __init__(self, keep=lambda item: True, change=lambda item: None, of=TROUBLE):
        self.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(of, "gpus.json"), encoding="utf-8") as file:
            gpus = json.load(file)
        gpus["items"] = [item for item in gpus["items"] if keep(item)]
        for item in gpus["items"]:
            change(item)
        with open(os.path.join(self.folder.name, "gpus.json"), "w", encoding="utf-8") as file:
            json.dump(gpus, file)

    def __enter__(self):
        return self.folder.name

    def __exit__(self, *_):
        self.folder.cleanup()


def is_of(*nodes):
    return lambda item: item["status"]["nodeName"] in nodes


FAILING = ["11ba0000", "9c1d0000", "3f1a0000", "77770000", "3f1b0000"]
IDLE_GPUS = ["5555bbbb", "5555aaaa", "66660000", "5555cccc"]


def names_of(run):
    return [line.split("/gpu-")[1][:8] for line in run.out.splitlines()]


@promise
def failing_and_idle_devices_are_shown_and_what_is_not_known_is_counted():
    run = Run("failing", world=TROUBLE).expect(FOUND, "ON IT WHEN IT FAILED", "* gpu-c, GPU-77770000")
    assert run.calls == [["get", GPUS, "-o", "json"]], run.calls
    assert "The health of 2 GPUs is not known: 1 on gpu-c, 1 on gpu-e" in run.err, run.err
    run = Run("idle", world=TROUBLE).expect(FOUND, "MIG-00000003", "The activity of 5 GPUs is not known")
    assert run.calls == [["get", GPUS, "-o", "json"]], run.calls
    assert "GPU-5555dddd" not in run.out and "GPU-5555dddd" in Run("idle", "--all", world=TROUBLE).out


@promise
def without_uuids_to_shorten_only_devices_that_matter_are_asked_for():
    for command, field, names in ((("failing",), "status.health.state!=Healthy", FAILING),
                                  (("idle",), "status.tenantCount!=0", IDLE_GPUS)):
        run = Run(*command, "-o", "name", world=TROUBLE)
        assert run.calls == [["get", GPUS, "-o", "json", "--field-selector", field]], run.calls
        assert names_of(run) == names, run.out
        run = Run(*command, "-o", "name", world=TROUBLE, fault="no-selectors")
        assert run.calls[1] == ["get", GPUS, "-o", "json"] and names_of(run) == names, run.calls
    assert Run("idle", "--all", "-o", "json", world=TROUBLE).calls == [["get", GPUS, "-o", "json"]]


@promise
def the_users_selector_chooses_among_failing_devices():
    run = Run("failing", "--field-selector", "status.nodeName=gpu-a", "-o", "name", world=TROUBLE)
    assert run.calls == [["get", GPUS, "-o", "json", "--field-selector", "status.nodeName=gpu-a"]]
    assert names_of(run) == FAILING[:2], run.out
    nowhere = ("--field-selector", "status.nodeName=nowhere")
    Run("failing", *nowhere, world=TROUBLE).expect(FOUND, None, "No GPUs found")
    Run("failing", *nowhere, "--check", world=TROUBLE).expect(FAILED, None, "No GPUs found")
    assert "app=x" in Run("idle", "-l", "app=x", world=TROUBLE).calls[0]


@promise
def an_empty_table_says_no_more_than_is_certain():
    for arguments in ((), ("-o", "wide"), ("-o", "name")):
        with World(is_of("gpu-d")) as world:
            run = Run("failing", *arguments, world=world).expect(FOUND, None, "No GPU is failing")
        with World(lambda item: "77771111" in item["spec"]["uuid"]) as world:
            run = Run("failing", *arguments, world=world)
            run.expect(FOUND, None, "No GPU is known to be failing")
            assert "The health of 1 GPU is not known: 1 on gpu-c" in run.err, run.err
            run = Run("idle", *arguments, world=world)
            run.expect(FOUND, None, "No GPU that is held is known to be idle")
        with World(lambda item: False) as world:
            Run("failing", *arguments, world=world).expect(FOUND, None, "No GPUs found")
            Run("idle", *arguments, world=world).expect(FOUND, None, "No GPUs found")
        with World(is_of("gpu-a")) as world:
            Run("idle", *arguments, world=world).expect(FOUND, None, "No GPU that is held is idle")
            Run("idle", "--all", *arguments, world=world).expect(FOUND, None, "No GPU is known to be")


@promise
def a_silent_node_is_never_taken_for_a_healthy_one():
    def silence(item):
        item["status"]["reportState"] = "Stale"
    with World(is_of("gpu-d"), silence) as world:
        Run("failing", world=world).expect(FOUND, None, "The health of 4 GPUs is not known: 4 on gpu-d")
        Run("failing", "--check", world=world).expect(FAILED, None, "No GPU is known to be failing")
        Run("idle", world=world).expect(FOUND, None, "The activity of 3 GPUs is not known: 3 on gpu-d")


@promise
def a_check_has_the_answer_as_its_exit_status():
    Run("failing", "--check", world=TROUBLE).expect(NOT_FOUND, "XID79", "*")
    Run("idle", "--check", world=TROUBLE).expect(NOT_FOUND, "MIG-00000003", "The activity")
    with World(is_of("gpu-d")) as world:
        Run("failing", "--check", world=world).expect(FOUND, None, "No GPU is failing")
    with World(lambda item: "77771111" in item["spec"]["uuid"]) as world:
        Run("failing", "--check", world=world).expect(FAILED, None, "The health of 1 GPU is not known")
        Run("idle", "--check", world=world).expect(FAILED, None, "The activity of 1 GPU is not known")
    with World(lambda item: False) as world:
        Run("failing", "--check", world=world).expect(FAILED, None, "No GPUs found")
        Run("idle", "--check", world=world).expect(FAILED, None, "No GPUs found")
        Run("idle", "--check", "-o", "name", world=world).expect(FAILED, None, "No GPUs found")
    with World(is_of("gpu-a")) as world:
        # One is not held, and that its activity is not known matters with --all only.
        Run("idle", "--check", world=world).expect(FOUND, None, "No GPU that is held is idle")
        Run("idle", "--all", "--check", world=world).expect(FOUND, None, "The activity of 1 GPU is not")
    with World(lambda item: "11ba0000" in item["spec"]["uuid"]) as world:
        for arguments in (("--check",), ("--check", "-o", "json")):
            out = None if len(arguments) == 1 else '"items": []'
            Run("idle", *arguments, world=world).expect(FOUND, out, "No GPU that is held is idle")
        Run("idle", "--all", "--check", world=world).expect(FAILED, None, "The activity of 1 GPU is not")
    Run("failing", "--check", world=TROUBLE, fault="unreachable").expect(FAILED, None, "refused")


@promise
def drifts_are_shown_and_what_is_not_known_is_counted():
    run = Run("drift", world=DRIFT).expect(FOUND, "ConfigNotLoaded", "* gpu-d, GPU-dddd0000")
    assert run.calls == [["get", GPUS, "-o", "json"]], run.calls
    assert "1 GPU is settling: 1 for HoldOff; -o wide shows what is pending" in run.err, run.err
    assert "The drift of 1 GPU is not known: 1 on gpu-e" in run.err, run.err
    assert run.out.count("(node, 3 GPUs)") == 1 and "LabelsStale" not in run.out, run.out
    assert max(map(len, run.out.splitlines())) <= 120, run.out
    run = Run("drift", "-o", "wide", world=DRIFT)
    assert "LabelsStale" in run.out and "-o wide" not in run.err, run.out + run.err


@promise
def drifts_are_asked_for_by_node_and_by_device():
    run = Run("drift", "gpu-b", world=DRIFT).expect(FOUND, "PluginMissing")
    assert "ConfigNotLoaded" not in run.out, run.out
    run = Run("drift", "GPU-aaaa1111", "-o", "name", world=DRIFT).expect(FOUND, "gpu-aaaa1111")
    assert names_of(run) == ["aaaa1111"], run.out
    Run("drift", "aaaa", world=DRIFT).expect(USAGE, None, '"aaaa" fits 3 GPUs')
    Run("drift", "gpu-f", world=DRIFT).expect(FOUND, None, "No GPU has drifted")
    Run("drift", "gpu-b", "cpu-0", world=DRIFT).expect(NOT_FOUND, "PluginMissing", "no GPU of it is known")
    Run("drift", "gpu-z", world=DRIFT).expect(NOT_FOUND, None, "node/gpu-z: not found")
    Run("drift", "GPU-0", world=DRIFT).expect(NOT_FOUND, None, "No GPU has a UUID")


@promise
def without_uuids_to_shorten_only_devices_that_may_drift_are_asked_for():
    run = Run("drift", "-o", "name", world=DRIFT)
    field = "status.intent.state!=InSync,status.intent.state!=Unmanaged"
    assert run.calls == [["get", GPUS, "-o", "json", "--field-selector", field]], run.calls
    assert names_of(run) == ["aaaa0000", "aaaa1111", "aaaa2222", "bbbb0000", "bbbb1111", "dddd0000"]


@promise
def a_check_for_drift_has_the_answer_as_its_exit_status():
    Run("drift", "--check", world=DRIFT).expect(NOT_FOUND, "PluginMissing", "settling")
    Run("drift", "gpu-f", "--check", world=DRIFT).expect(FOUND, None, "No GPU has drifted")
    for node in ("gpu-c", "gpu-e"):  # it settles; it is not known
        Run("drift", node, "--check", world=DRIFT).expect(FAILED, None, "No GPU is known to have drifted")
    with World(lambda item: False) as world:
        Run("drift", "--check", world=world).expect(FAILED, None, "No GPUs found")


@promise
def why_tells_witness_and_row_of_a_device_and_of_a_pod():
    run = Run("why", SHORT).expect(FOUND, "by UID (row 10 of src/join/arbitrate.def)")
    assert max(map(len, run.out.splitlines())) <= 120, run.out
    run = Run("why", "pod/train-0", "-n", "ml").expect(FOUND, "said by     Checkpoint")
    assert run.calls[0][:2] == ["get", "pods"], run.calls
    for arguments in (("why", SHORT), ("why", "pod/train-0", "-n", "ml")):
        document = json.loads(Run(*arguments, "-o", "json").out)
        rows = [reason for statement in document["items"][0]["statements"]
                for reason in statement["because"] if reason["kind"] == "Row"]
        assert document["kind"] == "Why" and rows[0]["row"] == 10, document
        assert names_of(Run(*arguments, "-o", "name")) == ["11ba558d"]


@promise
def why_of_a_pod_without_a_gpu_says_what_is_the_matter():
    Run("why", "pod/web-0", "-n", "ml").expect(NOT_FOUND, None, "pod/web-0: asks for no GPU")
    Run("why", "pod/nope", "-n", "ml").expect(NOT_FOUND, None, "not found in namespace")
    Run("why", "11ba").expect(USAGE, None, "fits 2 GPUs")
    Run("why", "f00d").expect(NOT_FOUND, None, "No GPU has a UUID")


@promise
def an_unreadable_object_makes_no_check_succeed():
    def spoil(item):
        item["status"]["slots"] = "all of them"
    with World(lambda item: "5555aaaa" in item["spec"]["uuid"], spoil) as world:
        for arguments in (("failing",), ("idle",), ("failing", "--check"), ("idle", "--check")):
            Run(*arguments, world=world).expect(FAILED, None, "cannot be read by this version")


@promise
def objects_of_before_these_members_are_shown_all_the_same():
    def age(item):
        status = item["status"]
        for event in status["health"].get("events", []):
            event.pop("class", None), event.pop("action", None)
        for member in ("idleSince", "evidence", "reason"):
            status["activity"].pop(member, None)
        status["health"].pop("eventsSince", None)
        for partition in status.get("partitions", []):
            partition.pop("activity", None)
    with World(change=age) as world:
        assert names_of(Run("failing", "-o", "name", world=world)) == FAILING
        Run("failing", world=world).expect(FOUND, "let work end, then", "*")
        assert names_of(Run("idle", "-o", "name", world=world)) == ["5555aaaa", "66660000", "5555cccc"]
    with World(change=lambda item: item.pop("status")) as world:
        Run("failing", world=world).expect(FOUND, None, "The health of 13 GPUs is not known: 13 on ?")


@promise
def a_wrong_command_line_asks_nothing():
    for arguments in (("--frobnicate",), ("pod", "a", "-A"), ("device",), ("-w", "-o", "json"), ("job/x",),
                      ("failing", "x"), ("--check",)):
        run = Run(*arguments).expect(USAGE, None, "See 'kubectl gpus --help' for usage.")
        assert not run.calls


@promise
def a_watch_shows_the_table_again_when_it_changes_until_it_is_interrupted():
    with tempfile.TemporaryDirectory() as world:
        path, other = os.path.join(world, "gpus.json"), os.path.join(world, "other.json")
        with open(os.path.join(WORLD, "gpus.json"), encoding="utf-8") as file:
            text = file.read()
        for name, content in ((path, text), (other, text.replace("train-0", "train-9"))):
            with open(name, "w", encoding="utf-8") as file:
                file.write(content)
        with subprocess.Popen(
                [PROGRAM, "-w", "--interval=1s"], stdout=subprocess.PIPE, text=True,
                stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                env={**os.environ, "FAKE_KUBECTL_WORLD": world, "KUBECTL": FAKE},
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            lines = [process.stdout.readline() for _ in range(9)]
            os.rename(other, path)
            lines += [process.stdout.readline() for _ in range(9)]
            process.send_signal(signal.SIGINT)
            status = process.wait(60)
    for table, pod in ((lines[:9], "ml/train-0"), (lines[9:], "ml/train-9")):
        assert table[0].startswith("--- 20") and table[1].startswith("GPU  "), lines
        assert pod in table[2], lines
    assert status == -signal.SIGINT, status


@promise
def a_watch_ends_when_its_first_question_fails():
    for fault, said in (("unreachable", "was refused"), ("forbidden-gpus", "(Forbidden)")):
        assert len(Run("-w", fault=fault).expect(FAILED, None, said).calls) == 1
    Run("device", "11ba", "-w").expect(USAGE, None, '"11ba" fits 2 GPUs')


@promise
def the_screens_in_the_readme_are_what_is_shown():
    """But for ages, which pass."""
    with open(README, encoding="utf-8") as file:
        readme = file.read().split("```\n")[1]
    shown = ""
    for arguments in re.findall(r"^\$ kubectl gpus(.*)$", readme, re.M):
        run = Run(*arguments.split())
        shown += f"$ kubectl gpus{arguments}\n{run.out}{run.printed_err}"
    # Where a note goes on in another line depends on the age in it.
    readme, shown = (text.replace("\n  ", " ") for text in (readme, shown))
    age = r"(?:(?<= for )|(?<= \())\d+[smhdy]\w*"
    assert re.sub(age, "AGE", readme) == re.sub(age, "AGE", shown), shown


def check_screens(readme, world):
    """But for ages, which pass, and for how wide they make a column."""
    shown = ""
    for arguments in re.findall(r"^\$ kubectl gpus(.*)$", readme, re.M):
        run = Run(*arguments.split(), world=world)
        shown += f"$ kubectl gpus{arguments}\n{run.out}{run.printed_err}"
    told, seen = (re.sub(r"\b\d+[smhdy](\d+[smhd])?(?=[ :]|$)", "AGE", " ".join(text.split()))
                  for text in (readme, shown))
    assert told == seen, shown


@promise
def the_screens_of_failing_idle_drift_and_why_in_the_readme_are_what_is_shown():
    with open(README, encoding="utf-8") as file:
        blocks = file.read().split("```\n")
    check_screens(blocks[3], TROUBLE)
    check_screens(blocks[5], DRIFT)


@promise
def the_events_of_the_stand_in_say_what_the_product_says_of_their_numbers():
    with open(XIDS, encoding="utf-8") as file:
        source = re.sub(r'"\s*"', "", file.read())
    own = re.findall(r'\[(XID_\w+)\] = VIEW_INIT\("(.*?)"\)', source)
    rows = re.findall(r'\{(\d+), (XID_\w+), VIEW_INIT\("(.*?)"\)(?:,\s*VIEW_INIT\("(.*?)"\))?\}', source)
    said = {int(code): (kind[4:].replace("_", ""), meaning, action or dict(own)[kind])
            for code, kind, meaning, action in rows}
    for world in (WORLD, TROUBLE):
        with open(os.path.join(world, "gpus.json"), encoding="utf-8") as file:
            items = json.load(file)["items"]
        for event in (e for item in items for e in item.get("status", {}).get("health", {}).get("events", [])):
            told = (event.get("class", "").upper(), event["meaning"], event.get("action"))
            expected = said[event["xid"]]
            assert told in (expected, ("", expected[1], None)), (told, expected)


def texts_of(folder):
    """Each text that the sources there have, as a pattern of what is written with it."""
    for path in sorted(pathlib.Path(SOURCES, folder).glob("*.[cd]*")):
        source = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
        literal = r'"(?:[^"\\]|\\.)*"'
        for found in re.findall(rf'{literal}(?:\s*(?:[A-Z_]+\s*)*{literal})*', source):
            text = "".join(part[1:-1] if part[0] == '"' else "%"  # a macro may be anything
                           for part in re.findall(rf"{literal}|[A-Z_]+", found))
            if "%" not in text or re.search("[^%]{7}", text):  # else it fits anything
                yield re.sub("%(PRI..|[.*a-z]*)", ".*", re.escape(text).replace(r"\ ", " "))


@promise
def the_devices_of_the_stand_in_have_the_texts_of_the_product():
    """Conditions, evidence and drifts. Of a drift the condition's message is made of the drift's texts."""
    written = re.compile("|".join({*texts_of("assess"), *texts_of("join"), "Waiting for the controller"}))
    parts = re.compile("; read: |; cannot be read here: |, ")
    for world in (WORLD, TROUBLE, DRIFT):
        with open(os.path.join(world, "gpus.json"), encoding="utf-8") as file:
            items = json.load(file)["items"]
        for status in (item["status"] for item in items if "status" in item):
            drifts = status.get("intent", {}).get("drifts", [])
            texts = status.get("sharing", {}).get("evidence", []) + \
                [drift[member] for drift in drifts for member in ("intended", "observed", "message")]
            for condition in status["conditions"]:
                if condition["reason"] == "NothingFound":
                    texts += parts.split(condition["message"].replace(" (MIG)", ""))
                elif condition["reason"] in [drift["type"] for drift in drifts]:
                    assert drifts[0]["observed"] in condition["message"], condition
                elif condition["reason"] == "HoldOff":
                    kind, _, text = condition["message"].partition(": ")
                    assert kind == status["intent"]["pending"][0]["type"], condition
                    texts.append(text)
                elif not re.match("XID|Crumbles", condition["reason"]):  # told above; no release has it
                    message = re.sub("^1 slot is ", "", condition["message"])
                    texts += message.split("; dcgm") if condition["type"] == "InSync" else [message]
            strange = [text for text in texts if not written.fullmatch(text)]
            assert not strange, (world, strange)


@promise
def help_and_version_ask_nothing():
    for arguments, said in ((("--help",), "kubectl gpus device GPU-"), (("pod", "-h"), "-l, --sel"), (("-h", "pod"), "-l, --sel"),
                            (("--version",), "kubectl-gpus ")):
        assert not Run(*arguments).expect(FOUND, said).calls


def peak_mib(*arguments, file):
    """Runs the program on a kubectl that prints the file; returns its peak of resident memory."""
    with tempfile.TemporaryDirectory() as folder:
        kubectl = os.path.join(folder, "kubectl")
        with open(kubectl, "w", encoding="utf-8") as script:
            script.write(f"#!/bin/sh\nexec cat {file}\n")
        os.chmod(kubectl, 0o755)
        with open(os.devnull, "w", encoding="utf-8") as null:
            process = subprocess.Popen([PROGRAM, *arguments], stdout=null, stderr=null,
                                       env={**os.environ, "KUBECTL": kubectl})
            _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, (arguments, status)
    return usage.ru_maxrss / 1024


def is_sanitized():
    with open(PROGRAM, "rb") as file:
        text = file.read()
    return b"__asan_init" in text or b"__tsan_init" in text


@promise
def ten_thousand_devices_need_little_memory():
    with tempfile.TemporaryDirectory() as world:
        path = os.path.join(world, "gpus.json")
        with open(os.path.join(WORLD, "gpus.json"), encoding="utf-8") as file:
            text = json.dumps(json.load(file)["items"][0], indent=4)
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"items": [')
            for number in range(10000):
                file.write(("," if number else "") + text.replace("GPU-3f1a0000", f"GPU-{number:08x}")
                           .replace("gpu-b", f"n{number // 8:05d}"))
            file.write("]}")
        size = os.path.getsize(path) / 2**20
        one, every = peak_mib("node", "n00007", file=path), peak_mib("-o", "wide", file=path)
    assert is_sanitized() or (one < 32 and every < 2 * size), (one, every, size)
    return f"{size:.0f} MiB of JSON; peak {one:.1f} MiB for one node, {every:.1f} MiB for all"


def at(seconds):
    """An instant so many seconds from now, as a Lease has it."""
    then = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lease(renewed, holder="gpu-attribution-controller-0", duration=5):
    return {"holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": at(renewed)}


NO_LEADER = "NO CONTROLLER LEADS"
LONG = 100000


@promise
def while_a_controller_leads_nothing_is_said():
    run = Run(lease=lease(-1, duration=LONG)).expect(FOUND, SHORT, "AgentSilent")
    assert NO_LEADER not in run.err
    assert run.about_leader == [["get", LEASES, "-o", "json", "-n", "gpu-attribution",
                                 "--ignore-not-found", "--", "gpu-attribution-controller"]]


@promise
def a_lease_that_has_run_out_marks_every_command_that_shows_statuses():
    for command in ((), ("node", "gpu-a"), ("device", TRAIN), ("pod", "train-0", "-n", "ml"),
                    ("why", TRAIN), ("failing",), ("idle",), ("drift",), ("-o", "wide")):
        run = Run(*command, lease=lease(-130))
        first = run.err.splitlines()[0]
        assert re.match(NO_LEADER + r" since \S+Z \(2m\d* ?s?.*ago\): what is shown may be old, and is marked "
                        r"with \*; see kubectl -n gpu-attribution get lease gpu-attribution-controller$",
                        first), run.err
    assert NO_LEADER not in Run("-o", "name", lease=lease(-130)).err


def unmarked(run):
    """The lines of a table without a mark; those that begin with a blank belong to the one above."""
    return [line for line in run.out.splitlines()[1:] if line[0] != " " and "*" not in line]


@promise
def while_nobody_leads_each_line_of_a_table_is_marked():
    for world in (WORLD, TROUBLE, DRIFT):
        for command in ((), ("node",), ("pod", "-A"), ("failing",), ("idle", "--all"), ("drift",)):
            run = Run(*command, world=world, lease=lease(-130))
            assert not unmarked(run), run.out
    assert "NoLeader*" in Run(lease=lease(-130)).out
    for run in (Run(lease=lease(-1, duration=LONG)), Run(), Run(fault="forbidden-leases")):
        assert "NoLeader" not in run.out and unmarked(run), run.out


@promise
def while_nobody_leads_nothing_found_is_said_with_care_and_is_no_failure():
    with World(is_of("gpu-d")) as world:
        for said, text in ((lease(-130), "No GPU is known to be failing"),
                           (lease(-1, duration=LONG), "No GPU is failing"), (None, "No GPU is failing")):
            run = Run("failing", "--check", world=world, lease=said)
            assert run.status == FOUND and text in run.err.splitlines(), run.err


@promise
def a_lease_that_was_given_up_or_never_taken_says_so_at_once():
    run = Run(lease=lease(-2, holder="", duration=1))
    assert re.match(NO_LEADER + r" since \S+Z \([0-9]+s ago\)", run.err), run.err
    assert run.err.startswith(NO_LEADER), run.err
    run = Run(lease={"leaseDurationSeconds": 5})
    assert run.err.startswith(NO_LEADER + ", and none ever did: "), run.err


@promise
def the_server_says_what_time_it_is_where_this_clock_may_be_wrong():
    # Ours is an hour ahead, or behind: by the server's the Lease was renewed just now, or long ago.
    run = Run(lease=lease(-3600, duration=60), time=at(-3590)[:19] + "Z")
    assert NO_LEADER not in run.err and len(run.about_leader) == 3, run.err
    assert run.about_leader[1][:2] == ["auth", "whoami"]
    assert run.about_leader[2] == run.about_leader[0]  # the Lease, read after the time
    run = Run(lease=lease(3600, duration=60), time=at(7200)[:19] + "Z")
    assert NO_LEADER in run.err, run.err
    # A server that does not tell leaves our own.
    assert NO_LEADER in Run(lease=lease(-3600)).err


@promise
def documents_say_whether_a_controller_leads():
    for command in ((), ("device", TRAIN), ("pod", "train-0", "-n", "ml"), ("why", TRAIN),
                    ("failing",), ("idle",), ("drift",)):
        shown = {}
        for name, said in (("led", lease(-1, duration=LONG)), ("not", lease(-100)), ("", None)):
            run = Run(*command, "-o", "json", lease=said)
            shown[name] = json.loads(run.out)["leader"]
        assert shown["led"] == {"leads": True, "endedAt": None}, shown
        assert shown["not"]["leads"] is False and shown["not"]["endedAt"].endswith("Z"), shown
        assert shown[""] == {"leads": None, "endedAt": None}, shown


@promise
def who_may_not_read_the_lease_is_told_so_by_a_wide_table_only():
    run = Run(fault="forbidden-leases").expect(FOUND, SHORT, "AgentSilent")
    assert "lease" not in run.err.lower(), run.err
    run = Run("-o", "wide", fault="forbidden-leases")
    assert "the ClusterRole gpu-attribution-viewer has the right to get the Lease" in run.err
    assert run.status == FOUND and "Forbidden" not in run.err, run.err
    # A controller without leader election has no Lease, and somebody leads.
    assert "lease" not in Run("-o", "wide").err.lower()


@promise
def the_lease_is_looked_for_where_the_controller_is():
    run = Run("--controller-namespace", "gpus", lease=lease(-100))
    assert NO_LEADER not in run.err and "gpus" in run.about_leader[0]


PROGRAM = os.path.realpath(sys.argv[1])
if __name__ == "__main__":
    sys.exit(try_promises(sys.argv[2:]))
