#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each list and each watch of a real API server, cut at bytes of its answer.

usage: cuts.py [CONTROLLER] [--every N] [--first N] [--lanes N] [--rounds N]

CONTROLLER is the program (default: that of .build/release, which hack/up builds). In each round it is
started, and its lists, or its watches, are cut once, each kind at the next place. An object of each kind
changes before the lists, or once all is watched. Within SECONDS the statuses must say all of this:

- a pod has the device, as the agent reports; the one before has left
- the node's label gpu.count, in a drift
- what the ClusterPolicy switches off, in condition InSync
- the model of a device that only a ResourceSlice tells of
- the pod for which a ResourceClaim reserves that device
- with watches: that there is a GPUCluster, whose definition is made anew in each round

Of the rest only the delay is seen. What is defined is listed without its definition's list, and goes on
when that of ClusterPolicies changes. GPUAttributions and the Lease change by the controller's own writes.

A list comes in each form that --initial-state has: at once, as a watch that begins with all objects, and
in pages. The proxy asks for pages of one object, so there are several of them: the first one is cut, or
the one behind it.

There are as many places as the longest answer has bytes, HTTP head included; answers are measured first. Of
a list or page that is all of it, of a streamed list all up to the bookmark that closes it, of a watch its first
two events. A shorter answer is cut at the same fraction of its length. With `--every N` the places are N
apart, with `--rounds N` (10) there are so many of each form. `--first N` (1) is where the places of --every
begin. In the end each kind must have been cut, and behind the head if there is a body.

A round waits most of its time. With `--lanes N` so many processes share the places, each with an API server
of its own.
"""

import argparse
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from control_plane import TOP, ControlPlane
from cutting_proxy import FIRST_PAGE, LIST, NEXT_PAGE, STREAM, WATCH, CuttingProxy
from ports import free_port
from small_world import (ATTRIBUTIONS, LEASE, LEASES, NODE, PODS, fill, post, report, run_pod, uuid_of,
                         wait_for)

SECONDS = 10
ROUNDS = 10
# What is cut, --initial-state, and what must be so.
PROMISES = ((LIST, "list", "a list that is cut short delays a status by at most 10 s"),
            (WATCH, "list", "a watch that is cut short delays a status by at most 10 s"),
            (STREAM, "stream", "a streamed list that is cut short delays a status by at most 10 s"),
            (FIRST_PAGE, "pages", "a first page that is cut short delays a status by at most 10 s"),
            (NEXT_PAGE, "pages", "a further page that is cut short delays a status by at most 10 s"))
PROGRAM = os.path.join(TOP, ".build", "release", "gpu-attribution-controller")
ALL_PODS = "/api/v1/pods"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
CLUSTERS = "/apis/nvidia.com/v1alpha1/gpuclusters"
POLICIES_DEFINITION, CLUSTERS_DEFINITION = "clusterpolicies.nvidia.com", "gpuclusters.nvidia.com"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
# What the controller reads; each has an object, and two where there may be several.
PATHS = (ALL_PODS, "/api/v1/nodes", ATTRIBUTIONS, f"{LEASES}?metadata.name={LEASE}",
         f"{CRDS}?metadata.name={POLICIES_DEFINITION}", f"{CRDS}?metadata.name={CLUSTERS_DEFINITION}",
         POLICIES, "/apis/resource.k8s.io/v1/resourceclaims", SLICES)
OTHER = "other"  # a node without an agent
SEEN, UNSEEN = uuid_of(0), uuid_of(9)  # the device that an agent reports, and that of a slice
PARTS = ("toolkit", "dcgm")  # of a ClusterPolicy; one of them is off


def made(*arguments):
    """What the operator is told."""
    done = subprocess.run(["hack/cluster/make-policy", *arguments], cwd=TOP, check=True,
                          capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


class World:
    """An API server with an object of each kind, the proxy, and a controller behind it."""

    def __init__(self, folder, program):
        self.plane, self.process = ControlPlane(folder), None
        self.turn = 100  # as a count of GPUs it is wrong, which is a drift
        self.proxy = CuttingProxy(self.plane, page=1)
        try:
            self.token = fill(self.plane)
            self.fill_more()
            self.begin(program)
            self.turn_once(LIST, "list", 30)
        except BaseException:
            self.stop()
            raise

    def begin(self, program):
        self.port = free_port()
        self.client = ssl.create_default_context(cafile=self.plane.certificate)
        self.count, self.holder = 0, None
        self.instance = int(time.monotonic() * 1000)
        self.log = self.plane.path("controller.log")
        kubeconfig = self.plane.kubeconfig("kubeconfig", f"https://127.0.0.1:{self.proxy.port}")
        self.command = [
            program, f"--kubeconfig={kubeconfig}", "--namespace=gpu-attribution", "--metrics-address=",
            f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{free_port()}",
            f"--tls-cert={self.plane.certificate}", f"--tls-key={self.plane.key}", "--hold-off-percent=1",
            "--agentless-after=1s",
            "--reports-per-second=1000000"]

    def end_controller(self):
        if self.process:
            self.process.terminate()
            self.process.wait(30)

    def start(self, initial):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.command, f"--initial-state={initial}"],
                                            stdout=log, stderr=log)

    def fill_more(self):
        plane = self.plane
        plane.do("POST", CRDS, made("definition"))
        wait_for("ClusterPolicies are served", lambda: plane.request("GET", POLICIES)[0] == 200)
        plane.do("POST", POLICIES, made("cluster-policy"))
        plane.do("POST", "/api/v1/nodes", {"metadata": {"name": OTHER}})
        self.patch(f"/api/v1/nodes/{NODE}",
                   {"metadata": {"labels": {"nvidia.com/gpu.deploy.gpu-feature-discovery": "true"}}})
        for name in ("a", "b"):
            plane.do("POST", CLAIMS, {
                "metadata": {"name": name}, "spec": {"devices": {"requests": [
                    {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}})
        for name, driver in (("a", "gpu.nvidia.com"), ("b", "other.example.com")):
            plane.do("POST", SLICES, {
                "metadata": {"name": name}, "spec": {
                    "driver": driver, "nodeName": OTHER, "devices": [self.slice_device()],
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}})
        self.claimers = [run_pod(plane, f"claimer-{i}", OTHER, "a")["metadata"] for i in range(2)]

    def slice_device(self):
        """A device that no agent reports."""
        return {"name": "gpu-0", "attributes": {
            "type": {"string": "gpu"}, "uuid": {"string": UNSEEN},
            "productName": {"string": f"Model {self.turn}"}}}

    def patch(self, path, change):
        self.plane.do("PATCH", path, change, "application/merge-patch+json")

    def change(self):
        """A node, a policy and its definition, a slice and a claim are not as they were."""
        self.turn += 1
        on, off = self.turned(PARTS)
        pod, _ = self.turned(self.claimers)
        self.patch(f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {"nvidia.com/gpu.count": str(self.turn)}}})
        self.patch(f"{POLICIES}/cluster-policy", {"spec": {on: {"enabled": True}, off: {"enabled": False}}})
        self.patch(f"{CRDS}/{POLICIES_DEFINITION}", {"metadata": {"labels": {"turn": str(self.turn)}}})
        self.patch(f"{SLICES}/a", {"spec": {"devices": [self.slice_device()]}})
        self.patch(f"{CLAIMS}/a/status", {"status": {
            "allocation": {"devices": {"results": [
                {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "a", "device": "gpu-0"}]}},
            "reservedFor": [{"resource": "pods", "name": pod["name"], "uid": pod["uid"]}]}})

    def turned(self, pair):
        """The pair, or the same the other way round, by turns."""
        return pair[::1 if self.turn % 2 else -1]

    def undefine_clusters(self):
        """Without their definition there are no GPUClusters."""
        definition = f"{CRDS}/{CLUSTERS_DEFINITION}"
        self.plane.request("DELETE", definition)
        wait_for("GPUClusters are gone", lambda: self.plane.request("GET", definition)[0] == 404)
        self.has_cluster = False

    def define_clusters(self):
        """There is one again. It is applied: creating one takes 2 s just after the definition."""
        self.plane.do("POST", CRDS, made("definition", "gpucluster"))
        wait_for("GPUClusters are served", lambda: self.plane.request("GET", CLUSTERS)[0] == 200)
        self.plane.apply({"path": f"{CLUSTERS}/gpu-cluster", "apiVersion": "nvidia.com/v1alpha1",
                          "kind": "GPUCluster", "metadata": {"name": "gpu-cluster"}})
        self.has_cluster = True

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.proxy.close()
        self.plane.stop()

    def post(self):
        self.count += 1
        return post(self.port, self.client, self.token,
                    report(self.instance, self.count, [1], self.holder))

    def next_pod(self):
        """A pod comes that has the device from now on; returns the one that had it."""
        before, name = self.holder, f"train-{self.count}"
        self.holder = run_pod(self.plane, name)
        return before

    def tell(self, before):
        """The agent reports who has the device, and the pod before goes."""
        wait_for("the report is taken", self.post, SECONDS)
        if before:
            self.plane.do("DELETE", f"{PODS}/{before['metadata']['name']}",
                          {"gracePeriodSeconds": 0})

    def statuses(self):
        return {item["spec"]["uuid"]: item.get("status", {})
                for item in self.plane.do("GET", ATTRIBUTIONS)["items"]}

    def differences(self):
        """The kinds of which the statuses do not say what there is."""
        statuses = self.statuses()
        seen, unseen = statuses.get(SEEN, {}), statuses.get(UNSEEN, {})
        drifts = {drift["type"]: drift["observed"] for drift in seen.get("intent", {}).get("drifts", [])}
        in_sync = [c["message"] for c in seen.get("conditions", []) if c["type"] == "InSync"]
        on, off = self.turned(PARTS)
        pod, _ = self.turned(self.claimers)
        said = {
            "pods": tenants(seen) == [(self.holder["metadata"]["uid"], "Confirmed")],
            "nodes": f"gpu.count={self.turn} " in drifts.get("LabelsStale", ""),
            "policies": any(f"{off} is off" in m and f"{on} is off" not in m for m in in_sync),
            "slices": unseen.get("device", {}).get("model") == f"Model-{self.turn}",
            "claims": tenants(unseen) == [(pod["uid"], "Confirmed")],
            "definitions": ("PolicyConflict" in drifts) == self.has_cluster,
        }
        return [kind for kind, is_said in said.items() if not is_said]

    def wait_right(self, seconds):
        try:
            wait_for("the statuses are right", lambda: not self.differences(), seconds)
        except AssertionError as error:
            with open(self.log, encoding="utf-8") as file:
                raise AssertionError(f"{error}: not so of {', '.join(self.differences())}\n"
                                     f"{''.join(file.readlines()[-10:])}") from error
        assert self.process.poll() is None, f"the controller ended: {self.process.returncode}"

    def turn_once(self, form, initial, seconds):
        """Starts the controller anew, with all changes before that, or behind it where watches are meant, and
        waits for what it publishes."""
        self.end_controller()
        self.undefine_clusters()
        if form == WATCH:
            self.proxy.forget_asked()
            self.start(initial)
            wait_for("all is watched", lambda: all(self.proxy.was_asked(path, WATCH) for path in PATHS), seconds)
            self.define_clusters()
        self.change()
        before = self.next_pod()
        if form != WATCH:
            self.start(initial)
        self.tell(before)
        self.wait_right(seconds)

    def measure(self, form, initial):
        """How long an answer of that form is, by path. GPUAttributions are made anew before, for they list
        who had the device."""
        self.plane.do("DELETE", ATTRIBUTIONS)
        wait_for("each device has a status",
                 lambda: all("nodeName" in self.statuses().get(uuid, {}) for uuid in (SEEN, UNSEEN)))
        self.proxy.forget_lengths()
        self.turn_once(form, initial, 30)
        return self.lengths(form)

    def lengths(self, form):
        """How long an answer of that form has been since the last measure(), by path."""
        return {path: self.proxy.lengths[path, form] for path in PATHS if (path, form) in self.proxy.lengths}

    def round(self, form, initial, fraction):
        """Cuts each answer there; returns at which bytes, by path, for those that were."""
        places = {path: 1 + int(fraction * (length - 2)) for path, length in self.lengths(form).items()}
        for path, after in places.items():
            self.proxy.cut(path, form, after)
        try:
            self.turn_once(form, initial, SECONDS)
        except AssertionError as error:
            raise AssertionError(f"cut at {places}: {error}") from error
        return {path: after for path, after in places.items() if self.proxy.was_cut(path, form)}


def tenants(status):
    return [(tenant["podUID"], tenant["confidence"]) for tenant in status.get("tenants", [])]


def fractions(longest, options):
    """Where the longest answer is cut: parts of its length."""
    if options.every and not options.rounds:
        return [(place - 1) / longest for place in range(options.first, longest + 1, options.every)]
    rounds = options.rounds or ROUNDS
    return [i / max(1, rounds - 1) for i in range(rounds)]


def try_all(world, form, initial, options):
    """Notes for the reader."""
    lengths = world.measure(form, initial)
    assert lengths, f"no {form} was asked for"
    longest = max(lengths.values())
    met = {path: [] for path in lengths}
    rounds = 0
    for fraction in fractions(longest, options):
        for path, after in world.round(form, initial, fraction).items():
            met[path].append(after)
        rounds += 1
        if rounds % 200 == 0:
            print(f"# {rounds} rounds", flush=True)
    for path, places in met.items():
        assert places, f"no {form} of {path} was cut"
        head, length = world.proxy.heads[path, form], world.proxy.lengths[path, form]
        assert length == head or max(places) > head, f"no {form} of {path} was cut behind its HTTP head"
    return f"{sum(map(len, met.values()))} cuts of {len(met)} kinds in {rounds} rounds; {longest} places"


class Lane:
    """This program at each N-th place; what it prints."""

    def __init__(self, number, options):
        self.number, self.lines = number, []
        self.process = subprocess.Popen([
            sys.executable, os.path.realpath(__file__), options.controller,
            f"--every={options.every * options.lanes}", f"--first={options.first + number * options.every}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.endswith(" rounds\n"):
                print(f"# lane {self.number}: {line[2:]}", end="", flush=True)

    def said(self, number):
        """What it said of the promise with this number: whether it held, and notes."""
        begins = [i for i, line in enumerate(self.lines) if line.startswith(("ok ", "not ok "))]
        for begin, end in zip(begins, [*begins[1:], None]):
            if f"ok {number} - " in self.lines[begin]:
                notes = [line for line in self.lines[begin + 1:end] if not line.endswith(" rounds")]
                return self.lines[begin].startswith("ok"), notes
        return False, ["# it was not tried", *(f"# {line}" for line in self.lines[-5:])]


def run_lanes(options):
    """The exit status."""
    print(f"1..{len(PROMISES)}", flush=True)
    lanes = [Lane(number, options) for number in range(options.lanes)]
    try:
        for lane in lanes:
            lane.process.wait()
            lane.reader.join()
    finally:
        for lane in lanes:
            lane.process.terminate()
    failed = any(lane.process.returncode for lane in lanes)
    for number, (_, _, sentence) in enumerate(PROMISES, 1):
        said = [lane.said(number) for lane in lanes]
        print(f"{'ok' if all(good for good, _ in said) else 'not ok'} {number} - {sentence}")
        for lane, (_, notes) in zip(lanes, said):
            print("\n".join(f"# lane {lane.number}: {note[2:]}" for note in notes))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("controller", nargs="?", default=PROGRAM)
    parser.add_argument("--every", type=int)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--rounds", type=int)
    options = parser.parse_args()
    if not os.access(options.controller, os.X_OK):
        parser.error(f"{options.controller} is not there: ninja -C .build/release gpu-attribution-controller")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.lanes > 1:
        if not options.every:
            parser.error("--lanes shares the places of --every: give both")
        return run_lanes(options)
    failed = 0
    print(f"1..{len(PROMISES)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="cuts-") as folder:
        world = World(folder, os.path.realpath(options.controller))
        try:
            for number, (form, initial, sentence) in enumerate(PROMISES, 1):
                try:
                    note = try_all(world, form, initial, options)
                    print(f"ok {number} - {sentence}\n# {note}", flush=True)
                except Exception as error:  # whatever it was: the promise is broken
                    failed += 1
                    print(f"not ok {number} - {sentence}", flush=True)
                    print("\n".join(f"# {line}" for line in f"{type(error).__name__}: {error}".splitlines()))
        finally:
            world.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
