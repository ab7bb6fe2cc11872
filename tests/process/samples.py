#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manifests/samples, as far as they run without a cluster.

usage: samples.py [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence
contains them. The Lua script runs in Debian's Lua 5.1 (hack/debs), with the libraries that Argo CD
gives. The shell scripts run with the stand-in tests/fake/kubectl-cluster.
"""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from argo import GOLDEN, LIMIT_S, PROGRAMS, TOP, argo, golden, is_there
from promises import promise, refuse, try_promises

SAMPLES = TOP / "manifests" / "samples"
ONE, TWO, CUT = (f"GPU-{n}1ba558d-3437-2335-2fd8-a78c8502f87f" for n in (1, 2, 3))


# Argo CD

def drift(kind, severity):
    return {"type": kind, "severity": severity, "message": "Restart the plugin."}


@promise
def argo_cd_shows_what_a_gpu_is_and_why():
    sick = {"health__reasons": ["XID79", "NVLinkDown"], "health__recoveryAction": "Reboot"}
    cases = (
        (golden(), "Healthy", "2/4 slots held: ml/train-0"),
        (golden(health__state="Unhealthy", **sick), "Degraded",
         "Unhealthy: XID79, NVLinkDown; recovery action: Reboot"),
        (golden(health__state="Degraded", **sick), "Degraded", "Degraded: XID79, NVLinkDown"),
        (golden(health__state="Unhealthy", reportState="Stale", **sick), "Degraded", "XID79"),
        (golden(reportState="Stale", health__state="Unknown"), "Unknown", "the agent of gpu-a is silent"),
        (golden(reportState="Pending"), "Progressing", "waiting for the first report of gpu-a"),
        (golden(health__state="Unknown", health__reasons=["DeviceMissing"]), "Unknown", "not known: DeviceMissing"),
        (golden(intent__drifts=[drift("ReplicaCount", "Warning"), drift("SharingMode", "Critical")]),
         "Degraded", "SharingMode: Restart the plugin."),
        (golden(intent__drifts=[drift("ReplicaCount", "Warning")]), "Healthy",
         "ml/train-0; ReplicaCount: Restart the plugin."),
        (golden(intent__drifts=[drift("ConfigDead", "Info")]), "Healthy", "2/4 slots held"),
        (golden(observedGeneration=0), "Progressing", "a newer generation"),
    )
    for thing, status, message in cases:
        seen = argo(thing)
        assert seen[0] == status and message in seen[1], (status, message, seen)
    for missing, status in (("status", "Progressing"), ("conditions", "Progressing"), ("health", "Unknown"),
                            ("intent", "Healthy"), ("slots", "Healthy"), ("tenantSummary", "Healthy")):
        thing = golden()
        del (thing if missing == "status" else thing["status"])[missing]
        assert argo(thing)[0] == status, missing
    return f"{argo(cases[1][0])}, {argo(cases[0][0])}"


# Flux

@promise
def flux_asks_for_fields_and_conditions_that_there_are():
    wanted = yaml.safe_load((SAMPLES / "flux/kustomization.yaml").read_text())["spec"]
    names = {(check["apiVersion"], check["kind"]): check["name"] for check in wanted["healthChecks"]}
    for file in ("controller/deployment.yaml", "agent/daemonset.yaml"):
        thing = yaml.safe_load((TOP / "manifests" / file).read_text())
        assert names.pop((thing["apiVersion"], thing["kind"])) == thing["metadata"]["name"], file
    assert list(names) == [("gpuattribution.dev/v1alpha1", "GPUAttribution")], names
    conditions = re.findall(r'X\(CONDITION_\w+, "(\w+)"\)', (TOP / "src/join/wording.def").read_text())
    fields = json.loads(GOLDEN.read_text())["status"]
    (expressions,) = wanted["healthCheckExprs"]
    texts = " ".join(expressions[key] for key in ("inProgress", "failed", "current"))
    assert set(re.findall(r"status\.(\w+)", texts.replace("c.status", ""))) <= set(fields), texts
    asked = re.findall(r"c\.type == '(\w+)'", texts)
    assert asked and set(asked) <= set(conditions), (asked, conditions)


def flux(expressions, thing):
    """What Flux makes of the object: the first key in its order whose expression is true. The CEL of the sample,
    as Python; tests/e2e/samples.py has the API server evaluate it."""
    status = thing["status"]
    for key in ("inProgress", "failed", "current"):
        text = re.sub(r"status\.conditions\.exists\(c, ([^()]*)\)", r"any((\1) for c in status['conditions'])",
                      expressions[key])
        text = re.sub(r"\b(c|status)\.(\w+)", r"\1['\2']", text).replace("&&", "and").replace("||", "or")
        if eval(" ".join(text.split()), {"status": status}):  # pylint: disable=eval-used
            return key
    return "inProgress"


@promise
def flux_waits_for_a_first_report_and_no_longer_for_an_agent_that_is_silent():
    (expressions,) = yaml.safe_load((SAMPLES / "flux/kustomization.yaml").read_text())["spec"]["healthCheckExprs"]
    cases = (("Current", "True", "current"), ("Current", "False", "failed"), ("Current", "Unknown", "inProgress"),
             ("Pending", "Unknown", "inProgress"), ("Pending", "False", "inProgress"),
             ("Stale", "Unknown", "failed"), ("Stale", "False", "failed"))
    for report, healthy, state in cases:
        thing = golden(reportState=report)
        thing["status"]["conditions"].append({"type": "Healthy", "status": healthy})
        assert flux(expressions, thing) == state, (report, healthy, flux(expressions, thing))


# Images

@promise
def the_document_says_how_to_set_each_image_that_is_left_to_others():
    sections = re.split(r"^## ", (SAMPLES / "README.md").read_text(), flags=re.M)
    examples = [yaml.safe_load(block) for section in sections
                for block in re.findall(r"^```yaml\n(.*?)^```$", section, re.M | re.S)]
    told = sorted((os.path.basename(example["resources"][0]), image["name"]) for example in examples
                  for image in example["images"])
    wanted = sorted((file.parent.name, image) for file in SAMPLES.glob("*/*.yaml")
                    for image in re.findall(r"^ *image: (\S+)$", file.read_text(), re.M))
    assert wanted and told == wanted, (told, wanted)


# Scripts

class World:
    """A cluster's objects, and what was written to them."""

    def __init__(self, **resources):
        self.folder = tempfile.TemporaryDirectory()
        self.file, self.log = (os.path.join(self.folder.name, name) for name in ("state", "log"))
        os.symlink(TOP / "tests/fake/kubectl-cluster", os.path.join(self.folder.name, "kubectl"))
        self.env = {**os.environ, "FAKE_KUBECTL_STATE": self.file, "FAKE_KUBECTL_LOG": self.log,
                    "PATH": self.folder.name + ":" + os.environ["PATH"]}
        self.keep({"gpuattributions": [], "nodes": [], "resourceslices": [], "devicetaintrules": [],
                   **resources})

    def keep(self, state):
        with open(self.file + ".kept", "w", encoding="utf-8") as file:
            json.dump(state, file)
        os.rename(self.file + ".kept", self.file)

    def state(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)

    def run(self, script, *arguments, status=0, **variables):
        """Returns (what was written to the cluster, what was printed)."""
        with open(self.log, "w", encoding="utf-8"):
            pass
        done = subprocess.run([SAMPLES / script, *arguments], env={**self.env, **variables},
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        with open(self.log, encoding="utf-8") as file:
            return file.read().splitlines(), done.stdout + done.stderr


def gpu(uuid, node, action="None", state="Healthy", report="Current", reasons=(), tenants=()):
    is_healthy = {"Healthy": "True", "Unknown": "Unknown"}.get(state, "False")
    return {"metadata": {"name": uuid.lower()}, "spec": {"uuid": uuid},
            "status": {"nodeName": node, "reportState": report,
                       "conditions": [{"type": "Healthy", "status": is_healthy}],
                       "health": {"state": state, "recoveryAction": action, "reasons": list(reasons)},
                       "tenants": [{"podNamespace": n, "podName": p} for n, p in tenants]}}


def nodes(*names):
    return [{"metadata": {"name": name}, "spec": {}} for name in names]


CORDON, TAINT = "cordon-reboot/cordon-reboot.sh", "taint-unhealthy/taint-unhealthy.sh"


@promise
def shell_scripts_have_nothing_for_shellcheck_to_say():
    scripts = sorted(SAMPLES.rglob("*.sh"))
    assert len(scripts) == 2, scripts
    done = subprocess.run([PROGRAMS / "shellcheck", *scripts], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout


@promise
def a_node_with_a_gpu_that_needs_a_reboot_is_cordoned_once():
    world = World(nodes=nodes("gpu-1", "gpu-2"), gpuattributions=[
        gpu(ONE, "gpu-1", "Reboot"), gpu(TWO, "gpu-1", "Reboot"), gpu(CUT, "gpu-2", "Reset")])
    writes, _ = world.run(CORDON, "--once")
    assert writes == ["node/gpu-1 cordoned", "node/gpu-1 labeled"], writes
    assert [node["spec"].get("unschedulable") for node in world.state()["nodes"]] == [True, None]
    assert world.run(CORDON, "--once")[0] == []
    return "; ".join(writes)


@promise
def no_more_nodes_are_cordoned_than_may_be():
    world = World(nodes=nodes("gpu-1", "gpu-2", "gpu-3"), gpuattributions=[
        gpu(uuid, f"gpu-{n}", "Reboot") for n, uuid in enumerate((ONE, TWO, CUT), 1)])
    writes, said = world.run(CORDON, "--once", MAX_NODES="2")
    assert len(writes) == 4 and "gpu-3 needs a reboot, too, and is left alone: 2 nodes" in said, said
    assert world.run(CORDON, "--once", MAX_NODES="2")[0] == []


@promise
def a_node_whose_agent_is_silent_is_left_alone():
    world = World(nodes=nodes("gpu-1"), gpuattributions=[gpu(ONE, "gpu-1", "Reboot", report="Stale")])
    assert world.run(CORDON, "--once")[0] == []


@promise
def a_cordon_that_failed_is_said_and_tried_again():
    world = World(nodes=nodes("gpu-1"), gpuattributions=[gpu(ONE, "gpu-1", "Reboot")])
    for fault in ("get gpuattributions", "get nodes", "cordon", "label"):
        world.run(CORDON, "--once", status=1, FAKE_KUBECTL_FAULT=fault)
    writes, _ = world.run(CORDON, "--once")
    assert writes == ["node/gpu-1 cordoned", "node/gpu-1 labeled"], writes


@promise
def the_loop_goes_on_after_a_failure():
    world = World(nodes=nodes("gpu-1"), gpuattributions=[gpu(ONE, "gpu-1", "Reboot")])
    whole = world.state()
    os.unlink(world.file)  # kubectl fails
    with subprocess.Popen([SAMPLES / CORDON], env={**world.env, "INTERVAL": "0.1"}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as loop:
        try:
            assert "that failed; again in" in loop.stdout.readline()
            world.keep(whole)
            lines = iter(loop.stdout.readline, "")
            end = time.monotonic() + LIMIT_S
            assert any("cordoned" in line or time.monotonic() > end for line in lines)
        finally:
            loop.kill()
    assert world.state()["nodes"][0]["spec"] == {"unschedulable": True}


def slices(generation=1):
    """Two whole GPUs of gpu-1, and two MIG devices cut from a GPU of gpu-2."""
    def device(name, **texts):
        return {"name": name, "attributes": {key: {"string": value} for key, value in texts.items()}}

    def of(pool, *devices):
        return {"metadata": {"name": f"{pool}-{generation}"}, "spec": {"driver": "gpu.nvidia.com", "devices": list(devices),
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1}}}
    return [of("gpu-1", device("gpu-0", uuid=ONE), device("gpu-1", uuid=TWO)),
            of("gpu-2", device("gpu-0-mig-1", uuid="MIG-1", parentUUID=CUT),
               device("gpu-0-mig-2", uuid="MIG-2", parentUUID=CUT))]


@promise
def an_unhealthy_gpu_gets_a_rule_without_effect_that_names_who_is_on_it():
    world = World(resourceslices=slices(), gpuattributions=[
        gpu(ONE, "gpu-1", state="Unhealthy", reasons=["XID79"], tenants=[("ml", "train-0"), ("ml", "train-0"),
                                                                         ("web", "infer-0")]),
        gpu(TWO, "gpu-1")])
    writes, said = world.run(TAINT)
    name = f"{ONE.lower()}.gpu-0"
    assert writes == [f"devicetaintrule.resource.k8s.io/{name} created"], writes
    assert "XID79, effect None. On it: ml/train-0, web/infer-0" in said, said
    (rule,) = world.state()["devicetaintrules"]
    assert rule["apiVersion"] == "resource.k8s.io/v1beta2" and rule["spec"] == {
        "deviceSelector": {"driver": "gpu.nvidia.com", "pool": "gpu-1", "device": "gpu-0"},
        "taint": {"key": "gpuattribution.dev/unhealthy", "value": "XID79", "effect": "None"}}, rule
    assert world.run(TAINT)[0] == []
    assert world.run(TAINT, EFFECT="NoSchedule")[0] == [f"devicetaintrule.resource.k8s.io/{name} configured"]
    return said.splitlines()[-1]


def after_illness(change):
    """What the script writes and says when the world has changed after it made two rules."""
    world = World(resourceslices=slices(), gpuattributions=[
        gpu(CUT, "gpu-2", state="Unhealthy", reasons=["GPULost"])])
    assert len(world.run(TAINT)[0]) == 2
    state = world.state()
    change(state)
    world.keep(state)
    return world, *world.run(TAINT)


def told(**edits):
    """A change: the GPU is as gpu() makes it of the edits."""
    return lambda state: state.update(gpuattributions=[gpu(CUT, "gpu-2", **edits)])


DELETED = [f'devicetaintrule.resource.k8s.io "{CUT.lower()}.gpu-0-mig-{n}" deleted' for n in (1, 2)]


@promise
def the_rule_goes_when_the_gpu_is_well():
    def recover(state):
        told()(state)
        state["devicetaintrules"].append({"metadata": {"name": "another"}, "spec": {}})
    world, writes, _ = after_illness(recover)
    assert sorted(writes) == DELETED, writes
    assert [rule["metadata"]["name"] for rule in world.state()["devicetaintrules"]] == ["another"]


@promise
def the_rule_stays_until_the_gpu_is_known_to_be_healthy():
    def without_condition(state):
        told()(state)
        del state["gpuattributions"][0]["status"]["conditions"]
    cases = {
        "silent agent": told(state="Unknown", report="Stale"),
        "unread health": told(state="Unknown", reasons=["HealthUnread"]),
        "missing device": lambda state: state.update(gpuattributions=[], resourceslices=[]),
        "degraded": told(state="Degraded", reasons=["UncorrectableECC"]),
        "healthy by an old report": told(report="Stale"),
        "no condition": without_condition,
        "no longer offered": lambda state: state.update(resourceslices=[]),
    }
    for case, change in cases.items():
        world, writes, said = after_illness(change)
        assert not writes and len(world.state()["devicetaintrules"]) == 2, (case, writes)
        assert case == "no longer offered" or "is not known to be healthy" in said, (case, said)
    world, *_ = after_illness(cases["silent agent"])
    assert all("configured" in line for line in world.run(TAINT, EFFECT="NoSchedule")[0])
    told()(state := world.state())
    world.keep(state)
    assert sorted(world.run(TAINT)[0]) == DELETED


@promise
def the_rule_goes_when_another_gpu_has_the_devices_name():
    def replace(state):
        state.update(gpuattributions=[])
        for device in state["resourceslices"][1]["spec"]["devices"]:
            device["attributes"]["parentUUID"] = {"string": TWO}
    assert sorted(after_illness(replace)[1]) == DELETED


@promise
def slices_of_an_older_generation_do_not_count():
    old = slices()
    old[0]["spec"]["devices"] = [{"name": "gpu-7", "attributes": {"uuid": {"string": ONE}}}]
    world = World(resourceslices=old + slices(generation=2), gpuattributions=[
        gpu(ONE, "gpu-1", state="Unhealthy", reasons=["XID79"])])
    assert len(world.run(TAINT)[0]) == 1
    assert [r["spec"]["deviceSelector"]["device"] for r in world.state()["devicetaintrules"]] == ["gpu-0"]


@promise
def what_cannot_be_read_ends_no_rule():
    world = World(resourceslices=slices(), gpuattributions=[
        gpu(ONE, "gpu-1", state="Unhealthy", reasons=["XID79"])])
    world.run(TAINT)
    before = copy.deepcopy(world.state())
    for fault in ("get gpuattributions", "get resourceslices", "get devicetaintrules"):
        assert world.run(TAINT, status=1, FAKE_KUBECTL_FAULT=fault)[0] == []
    assert "and not 'Evict'" in world.run(TAINT, status=1, EFFECT="Evict")[1]
    assert world.state() == before


def main():
    if not is_there():
        return refuse("Lua is there", "run: hack/deps build")
    return try_promises(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
