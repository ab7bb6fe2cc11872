#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manifests/samples on the local cluster: what others make of real GPUAttributions, with the rights
that the samples give them and no others.

usage: samples.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, made with `hack/up --name NAME -- OPTIONS` (OPTIONS below), and leaves it; with words it
tries only the promises whose sentence contains them.

The shell scripts run in pods, as the manifests have them; only the image is one that hack/cluster/build
made of kubectl and jq. A CronJob waits for this program to start its jobs. DeviceTaintRules are those of the
real API server, which Kubernetes 1.36 has switched off by default; its controller says in their status
who would be evicted. Flux cannot be had: its expressions are CEL, which the API server evaluates in a
ValidatingAdmissionPolicy. What the scripts do with all that can go wrong is tests/process/samples.py.
"""

import contextlib
import functools
import json
import os
import re
import sys
import time

import dra
import policy
import yaml
from cluster import ROOT, Direct, Failed, Tests, run, wait_for
from illness import an_error_that_needs_a_reboot

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import argo  # noqa: E402  (it is in another folder)

FIRST, SECOND = NODES = ("node-1", "node-2")
OPTIONS = ("--nodes", "2", "--gpus", f"{FIRST}=2:A100", "--gpus", f"{SECOND}=1:A100",
           "--feature-gates", "DRADeviceTaintRules=true",
           "--apiserver-arg", "--runtime-config=resource.k8s.io/v1beta2=true")
SAMPLES = os.path.join(ROOT, "manifests", "samples")
CORDON, TAINT = "cordon-reboot", "taint-unhealthy"
GRACE = 30  # seconds that a pod has to end, by default
OBJECTS = "/apis/gpuattribution.dev/v1alpha1/gpuattributions"

tests = Tests(clean=lambda cluster: None)


# --- what the samples run as

class Workload:
    """A folder of the samples as it is shipped, but for the image, which it leaves to others."""

    IMAGE = "localhost/kubectl-and-jq:1"

    def __init__(self, cluster, sample):
        self.cluster, self.name, self.n_jobs = cluster, sample, 0
        self.folder = os.path.join(SAMPLES, sample)
        run("hack/cluster/build", "tools", timeout=600)
        cluster.ctl("load", os.path.join(run("hack/cluster/build", "--where", "tools").strip(), "tools.tar"))

    def kubectl(self, *arguments, **options):
        return self.cluster.kubectl("-n", "gpu-attribution", *arguments, **options)

    def __enter__(self):
        shipped = self.cluster.kubectl("kustomize", self.folder)
        made, n = re.subn(r"image: kubectl\S*$", f"image: {self.IMAGE}", shipped, flags=re.M)
        assert n == 1, shipped
        self.kubectl("apply", "-f", "-", stdin=made)
        return self

    def __exit__(self, *_):
        self.kubectl("delete", "-k", self.folder)

    def log(self, what):
        return self.kubectl("logs", what)

    def run_job(self):
        """What one of the CronJob's jobs printed."""
        self.n_jobs += 1
        job = f"{self.name}-{self.n_jobs}"
        self.kubectl("create", "job", job, f"--from=cronjob/{self.name}")

        def has_ended():
            conditions = self.cluster.get("job", job, "-n", "gpu-attribution")["status"].get("conditions", [])
            return {c["type"] for c in conditions if c["status"] == "True"} & {"Complete", "Failed"}
        ended = wait_for(job, has_ended, every=0.3)
        said = self.log(f"job/{job}")
        if "Failed" in ended:
            raise Failed(f"{job}: {said}")
        return said


# --- the cluster

def devices(cluster, node):
    return [item["spec"]["uuid"] for item in policy.items_of(cluster, node)]


def status(cluster, uuid):
    return cluster.attributions()[uuid.lower()]["status"]


@contextlib.contextmanager
def sick(cluster, node, uuid):
    """While the device has an error that only a reboot settles."""
    with an_error_that_needs_a_reboot(cluster, node, uuid):
        wait_for("its state", lambda: status(cluster, uuid)["health"]["state"] == "Unhealthy")
        yield
    wait_for("its health", lambda: status(cluster, uuid)["health"]["state"] == "Healthy", 90)


# --- promises

def cordoned(cluster):
    marked = cluster.get("nodes", "-l", "gpuattribution.dev/cordoned=Reboot")["items"]
    return sorted(node["metadata"]["name"] for node in marked if node["spec"].get("unschedulable"))


@tests.promise
def nodes_whose_gpus_need_a_reboot_are_cordoned_one_at_a_time(cluster):
    policy.hasten(cluster)
    loop = f"deployment/{CORDON}"
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.kubectl, "label", "node", *NODES, "gpuattribution.dev/cordoned-")
        stack.callback(cluster.kubectl, "uncordon", *NODES)
        work = stack.enter_context(Workload(cluster, CORDON))
        work.kubectl("rollout", "status", loop, "--timeout=60s")
        for node in NODES:
            uuid = devices(cluster, node)[0]
            stack.enter_context(sick(cluster, node, uuid))
            action = status(cluster, uuid)["health"]["recoveryAction"]
            assert action == "Reboot", action
        wait_for("a node is cordoned", lambda: cordoned(cluster))
        said = [wait_for("the other node is left alone", lambda: f"{SECOND} needs a reboot, too" in work.log(loop)
                         and work.log(loop))]
        assert cordoned(cluster) == [FIRST] and said[0].count("labeled") == 1, said
        work.kubectl("set", "env", loop, "MAX_NODES=2")
        wait_for("both are cordoned", lambda: cordoned(cluster) == [FIRST, SECOND])
        said.append(work.log(loop))
        assert FIRST not in said[1], said
    assert cordoned(cluster) == []
    return "".join(said)


@tests.promise
def the_loop_that_cordons_says_nothing_of_nodes_that_are_well_and_ends_at_once(cluster):
    policy.hasten(cluster)
    since = len(cluster.audit())
    with Workload(cluster, CORDON) as work:
        work.kubectl("rollout", "status", f"deployment/{CORDON}", "--timeout=60s")
        user = f"system:serviceaccount:gpu-attribution:{CORDON}"
        wait_for("a look at the nodes", lambda: cluster.requests_of(user, since, resource="nodes"))
        said = work.log(f"deployment/{CORDON}")
        began = time.monotonic()
        work.kubectl("delete", "pod", "-l", f"app.kubernetes.io/name={CORDON}")
        took = time.monotonic() - began
    assert not said and cordoned(cluster) == [], said
    assert took < GRACE / 2, f"{took:.1f} s"
    return f"deleted in {took:.1f} s"


def rules(cluster):
    return cluster.get("devicetaintrules.resource.k8s.io")["items"]


def would_be_evicted(cluster):
    """What the controller of the rules says of the only one."""
    (rule,) = rules(cluster)
    for condition in rule.get("status", {}).get("conditions", []):
        if condition["reason"] == "NoEffect":
            return condition["message"]
    raise Failed(f"{rule.get('status')}")


@tests.promise
def the_rule_of_an_unhealthy_gpu_tells_who_would_be_evicted_and_goes_with_the_illness(cluster):
    policy.hasten(cluster)
    minor, uuid = dra.devices_of(cluster)[0]
    name = f"{uuid.lower()}.gpu-{minor}"
    with contextlib.ExitStack() as stack:
        stack.callback(dra.clean, cluster)
        stack.callback(cluster.kubectl, "delete", "devicetaintrules.resource.k8s.io", "--all")
        work = stack.enter_context(Workload(cluster, TAINT))
        work.kubectl("patch", "cronjob", TAINT, "-p", '{"spec": {"suspend": true}}')
        dra.prepare(cluster, [dra.device(f"gpu-{minor}", uuid)])
        dra.create_claim(cluster, "one")
        dra.wait_tenant(cluster, dra.create_pod(cluster, "claimer", "one"))
        assert work.run_job() == "" and rules(cluster) == []
        with sick(cluster, FIRST, uuid):
            said = [work.run_job()]
            assert f"{name} created" in said[0] and f"On it: {dra.SPACE}/claimer" in said[0], said
            told = wait_for("the rule's status", lambda: would_be_evicted(cluster))
            assert "1 pod would be evicted in 1 namespace" in told, told
            assert "created" not in work.run_job(), rules(cluster)
            work.kubectl("set", "env", f"cronjob/{TAINT}", "EFFECT=NoSchedule")
            said.append(work.run_job())
            assert [rule["spec"]["taint"]["effect"] for rule in rules(cluster)] == ["NoSchedule"], said
        assert "deletionTimestamp" not in cluster.pod("claimer", dra.SPACE)["metadata"]
        said.append(work.run_job())
        assert f'"{name}" deleted' in said[-1] and rules(cluster) == [], said
    return f"{''.join(said)}{name}: {told}"


@tests.promise
def argo_cd_shows_a_gpu_that_is_well_and_one_that_is_sick(cluster):
    policy.hasten(cluster)
    ill, well = devices(cluster, FIRST)
    with sick(cluster, FIRST, ill):
        shown = [argo.argo(cluster.attributions()[uuid.lower()]) for uuid in (ill, well)]
    assert [state for state, _ in shown] == ["Degraded", "Healthy"], shown
    assert "XID79" in shown[0][1] and "recovery action: Reboot" in shown[0][1], shown
    return "\n".join(map(str, shown))


# --- Flux

class Flux:
    """Evaluates what the sample has under healthCheckExprs, as Flux does. A policy that refuses each
    write that is only tried gives the values in its message."""

    NAME = "flux-expressions"
    KEYS = ("inProgress", "failed", "current")  # in the order in which Flux asks

    def __init__(self, cluster):
        with open(os.path.join(SAMPLES, "flux", "kustomization.yaml"), encoding="utf-8") as file:
            (texts,) = yaml.safe_load(file)["spec"]["healthCheckExprs"]
        # Flux has the fields of the object as variables.
        texts = [re.sub(r"(?<![\w.])status\.", "object.status.", texts[key]) for key in self.KEYS]
        self.cluster = cluster
        self.put("ValidatingAdmissionPolicy", {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [
                {"apiGroups": ["gpuattribution.dev"], "apiVersions": ["*"], "operations": ["UPDATE"],
                 "resources": ["gpuattributions/status"]}]},
            "matchConditions": [{"name": "tried-only", "expression": "request.dryRun"}],
            "validations": [{"expression": "false", "messageExpression": " + ".join(
                f"(({text}) ? 'T' : 'F')" for text in texts)}]})
        self.put("ValidatingAdmissionPolicyBinding", {"policyName": self.NAME, "validationActions": ["Deny"]})

    def put(self, kind, spec):
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": self.NAME},
            "spec": spec}))

    def end(self):
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            self.cluster.kubectl("delete", kind, self.NAME)

    @functools.cached_property
    def direct(self):
        return Direct(self.cluster)

    def values(self, thing):
        name = thing["metadata"]["name"]
        newest = self.cluster.attributions()[name]["metadata"]
        code, answer = self.direct.request("PUT", f"{OBJECTS}/{name}/status?dryRun=All",
                                           {**thing, "metadata": newest})
        found = re.search(f"'{self.NAME}' with binding '{self.NAME}' denied request: ([TF]+)",
                          json.loads(answer).get("message", "") if code else answer)
        if not found:
            raise Failed(f"{code}: {answer}")
        return [letter == "T" for letter in found[1]]

    def state(self, thing):
        """What Flux makes of the object."""
        values = wait_for("the policy", lambda: self.values(thing))
        return next((key for key, value in zip(self.KEYS, values) if value), "inProgress")


def golden(thing, healthy, **edits):
    """The golden status on an object that is there, with the condition Healthy so."""
    status_of = argo.golden(**edits)["status"]
    (ready,) = status_of["conditions"]
    status_of["conditions"] = [ready, {**ready, "type": "Healthy", "status": healthy}]
    return {**thing, "status": status_of}


@tests.promise
def flux_waits_for_a_gpu_until_it_is_well_and_fails_with_a_sick_one(cluster):
    policy.hasten(cluster)
    ill, well = devices(cluster, FIRST)
    flux = Flux(cluster)
    try:
        thing = cluster.attributions()[well.lower()]
        seen = {"golden, well": flux.state(golden(thing, "True")),
                "golden, Pending": flux.state(golden(thing, "Unknown", reportState="Pending")),
                "golden, sick": flux.state(golden(thing, "False", health__state="Unhealthy")),
                "golden, stale": flux.state(golden(thing, "Unknown", reportState="Stale")),
                "real, well": flux.state(thing)}
        with sick(cluster, FIRST, ill):
            seen["real, sick"] = flux.state(cluster.attributions()[ill.lower()])
    finally:
        flux.end()
    assert seen == {"golden, well": "current", "golden, Pending": "inProgress", "golden, sick": "failed",
                    "golden, stale": "failed", "real, well": "current", "real, sick": "failed"}, seen
    return "\n".join(f"{case}: {state}" for case, state in seen.items())


def main():
    if not argo.is_there():
        print("1..1\nnot ok 1 - Lua is there\n# run: hack/deps build")
        return 1
    return tests.main("samples", "--", *OPTIONS)


if __name__ == "__main__":
    sys.exit(main())
