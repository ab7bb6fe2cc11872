#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods read by node (--pod-selection=auto), on a real API server with many nodes.

usage: by-node.py [CONTROLLER] [WORDS]

CONTROLLER is the program (default: that of .build/release, which hack/up builds). With words only the
promises are tried whose sentence contains them; they rest on each other, so later ones may need earlier
ones. Prints TAP and fails if any promise is broken.

The API server has no kubelets. It allows STREAMS requests at a time on one HTTP/2 connection, so watches
need several, and tells clients to connect anew (GOAWAY) with GOAWAY_CHANCE of its answers. Of GPU_NODES
nodes agents report, each with one device that a pod holds.
"""

import contextlib
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from control_plane import TOKEN, TOP, ControlPlane
from cutting_proxy import CuttingProxy
from ports import free_port
from promises import promise, try_promises
from small_world import ATTRIBUTIONS, PODS, agent_token, fill, post, report, run_pod, uuid_of, wait_for

GPU_NODES, PLAIN_NODES = 6, 114  # --pod-selection=auto reads by node from 100 nodes on
MORE_GPU_NODES, MORE_PLAIN_NODES = 160, 400  # by node up to 50 % of all, and a tenth of that
PLAIN_PODS = 200
STREAMS, GOAWAY_CHANCE = 20, 0.02  # the chance is the highest that an API server takes
REPORT_S = 1.0
SHOWN_S = 10
CHANGE_S = 150  # a form changes when it has been asked for during 60 s
LABEL = {"nvidia.com/gpu.present": "true"}
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
PROGRAM = os.path.join(TOP, ".build", "release", "gpu-attribution-controller")


class Controller:
    """The program, by a kubeconfig."""

    def __init__(self, plane, program, name, server=None):
        self.port, pages = free_port(), free_port()
        self.pages = f"http://127.0.0.1:{pages}/metrics"
        self.log = plane.path(f"{name}.log")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([
                program, f"--kubeconfig={plane.kubeconfig(name, server)}", "--namespace=gpu-attribution",
                "--pod-selection=auto", f"--report-address=127.0.0.1:{self.port}",
                f"--probe-address=127.0.0.1:{free_port()}", f"--metrics-address=127.0.0.1:{pages}",
                "--metrics-insecure", f"--tls-cert={plane.certificate}", f"--tls-key={plane.key}"],
                stdout=log, stderr=log)

    def page(self):
        with urllib.request.urlopen(self.pages, timeout=10) as answer:
            return answer.read().decode()

    def figure(self, series):
        """The sum of a series, of any labels or of those that are told; None: it is not there yet."""
        try:
            found = re.findall(rf"^{re.escape(series)}(?:{{[^}}]*}})? (\S+)$", self.page(), re.M)
        except OSError:
            return None
        return sum(map(float, found)) if found else None

    def end(self):
        self.process.kill()
        self.process.wait()


class World:
    """The API server, its nodes and pods, the agents, and a controller."""

    def __init__(self, folder, program):
        self.program, self.controller, self.is_over = program, None, False
        self.agents, self.states = {}, []  # by node; (type, object) of each change
        self.plane = ControlPlane(folder, [f"--http2-max-streams-per-connection={STREAMS}",
                                           f"--goaway-chance={GOAWAY_CHANCE}"])
        try:
            self.begin()
        except BaseException:
            self.end()
            raise

    def begin(self):
        fill(self.plane)
        for i in range(GPU_NODES):
            self.add_node(f"gpu-{i}", LABEL)
            self.add_agent(f"gpu-{i}")
        for i in range(PLAIN_NODES):
            self.add_node(f"cpu-{i}")
        for i in range(PLAIN_PODS):
            run_pod(self.plane, f"plain-{i}", f"cpu-{i % PLAIN_NODES}")
        self.instance, self.sequence = int(time.monotonic() * 1000), 0
        self.client = ssl.create_default_context(cafile=self.plane.certificate)
        self.controller = Controller(self.plane, self.program, "controller")
        for job in (self.watch, self.report):
            threading.Thread(target=job, daemon=True).start()

    def add_node(self, name, labels=None):
        self.plane.do("POST", NODES, {"metadata": {"name": name, "labels": labels or {}}})

    def label(self, name, labels):
        self.plane.do("PATCH", f"{NODES}/{name}", {"metadata": {"labels": labels}}, MERGE)

    def add_agent(self, node):
        """Returns the pod that holds the node's device; it is reported from now on."""
        holder = run_pod(self.plane, f"holder-of-{node}", node)
        self.agents[node] = {"token": agent_token(self.plane, node, f"agent-{node}"), "holder": holder,
                             "first": len(self.agents)}
        return holder

    def report(self):
        """Each agent, again and again."""
        while not self.is_over:
            self.sequence += 1
            for node, agent in list(self.agents.items()):
                post(self.controller.port, self.client, agent["token"], report(
                    self.instance, self.sequence, [1], agent["holder"], node, agent["first"]))
            time.sleep(REPORT_S)

    def watch(self):
        """Notes each state of each object."""
        version = "0"
        while not self.is_over:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPSConnection("127.0.0.1", self.plane.port, timeout=60,
                                                         context=self.plane.client)
                connection.request("GET", f"{ATTRIBUTIONS}?watch=1&resourceVersion={version}",
                                   headers={"Authorization": f"Bearer {TOKEN}"})
                for line in connection.getresponse():
                    event = json.loads(line)
                    version = event["object"]["metadata"].get("resourceVersion", "0")
                    self.states.append((event["type"], event["object"]))

    def items(self):
        return {item["metadata"]["name"]: item for item in self.plane.do("GET", ATTRIBUTIONS)["items"]}

    def name_of(self, node):
        return uuid_of(self.agents[node]["first"]).lower()

    def is_right(self, node):
        """The status has the pod that holds the device, and nobody else."""
        item = self.items().get(self.name_of(node), {})
        return [(t["podUID"], t["confidence"]) for t in item.get("status", {}).get("tenants", [])] == [
            (self.agents[node]["holder"]["metadata"]["uid"], "Confirmed")]

    def replace(self, node, name):
        """Another pod holds the device, and the status says so in time; the one before goes then."""
        agent = self.agents[node]
        before, agent["holder"] = agent["holder"], run_pod(self.plane, name, node)
        wait_for(f"{name} in the status", lambda: self.is_right(node), SHOWN_S)
        self.plane.do("DELETE", f"{PODS}/{before['metadata']['name']}", {"gracePeriodSeconds": 0})

    def wait_form(self, by_node, timeout=CHANGE_S):
        wait_for(f"gpuattribution_pods_by_node {by_node}",
                 lambda: self.controller.figure("gpuattribution_pods_by_node") == by_node, timeout)

    def end(self):
        self.is_over = True
        if self.controller:
            self.controller.end()
        self.plane.stop()


world = None


@promise
def only_pods_of_nodes_with_gpus_are_read():
    wait_for("a status for each device", lambda: all(map(world.is_right, world.agents)), 60)
    world.wait_form(1)
    controller = world.controller
    wait_for("a watch for each node", lambda: controller.figure(
        "gpuattribution_pod_node_watches") == GPU_NODES, SHOWN_S)
    known = controller.figure('gpuattribution_watch_objects{resource="pods"}')
    assert known == 2 * GPU_NODES, f"{known} pods are known"
    return f"{known:.0f} of {2 * GPU_NODES + PLAIN_PODS} pods are known"


@promise
def of_a_node_that_turns_out_to_have_gpus_nothing_is_said_before_its_pods_are_read():
    node = "cpu-0"
    holder = world.add_agent(node)
    wait_for("the status of the new node", lambda: world.is_right(node), SHOWN_S)
    name, said = world.name_of(node), 0
    for _, item in list(world.states):
        status = item.get("status", {}) if item["metadata"]["name"] == name else {}
        attributed = [c["status"] for c in status.get("conditions", []) if c["type"] == "Attributed"]
        if attributed == ["True"]:
            uids = [t["podUID"] for t in status.get("tenants", [])]
            assert uids == [holder["metadata"]["uid"]], f"the device was said to have {uids}"
            said += 1
    assert said, "no state of the object was seen"
    wait_for("one more watch", lambda: world.controller.figure(
        "gpuattribution_pod_node_watches") == GPU_NODES + 1, SHOWN_S)


@promise
def a_label_that_comes_and_goes_makes_no_lists():
    lists = 'gpuattribution_watch_lists_total{resource="pods"}'
    before = world.controller.figure(lists)
    for _ in range(15):
        world.label("cpu-1", LABEL)
        time.sleep(0.2)
        world.label("cpu-1", dict.fromkeys(LABEL))
        time.sleep(0.2)
    world.label("cpu-1", LABEL)
    wait_for("a watch of that node", lambda: world.controller.figure(
        "gpuattribution_pod_node_watches") == GPU_NODES + 2, SHOWN_S)
    made = world.controller.figure(lists) - before
    assert made <= 2, f"{made:.0f} lists"


def change(nodes, by_node):
    """Adds the nodes, and replaces a pod now and then until the form has changed. Of the others nothing may
    be written meanwhile. Returns a note."""
    replaced, quiet = "gpu-0", [node for node in world.agents if node != "gpu-0"]

    def versions():
        items = world.items()
        return {node: items[world.name_of(node)]["metadata"]["resourceVersion"] for node in quiet}
    before, begin, n = versions(), time.monotonic(), 0
    for name, labels in nodes:
        world.add_node(name, labels)
    while world.controller.figure("gpuattribution_pods_by_node") != by_node or n < 3:
        assert time.monotonic() < begin + CHANGE_S, f"the form has not changed within {CHANGE_S} s"
        n += 1
        world.replace(replaced, f"next-{by_node}-{n}")
        time.sleep(3)  # an object may be written once a second
    # What the change brings about would be written soon after it.
    world.replace(replaced, f"last-{by_node}")
    after = versions()
    assert after == before, f"written: {[node for node in quiet if after[node] != before[node]]}"
    return f"after {time.monotonic() - begin:.0f} s; {n + 1} pods came meanwhile"


@promise
def where_many_nodes_have_gpus_the_cluster_is_read_and_nothing_is_written_for_it():
    return change([(f"more-{i}", LABEL) for i in range(MORE_GPU_NODES)], 0)


@promise
def where_few_have_them_again_nodes_are_read_and_nothing_is_written_for_it():
    note = change([(f"plain-{i}", None) for i in range(MORE_PLAIN_NODES)], 1)
    wanted = GPU_NODES + 2 + MORE_GPU_NODES
    assert wanted > 3 * STREAMS, "one connection would do"
    wait_for("a watch for each node", lambda: world.controller.figure(
        "gpuattribution_pod_node_watches") == wanted, SHOWN_S)
    return f"{note}; {wanted} watches, {STREAMS} to a connection"


@promise
def no_object_has_lost_its_tenant_in_between():
    last = {}
    for kind, item in list(world.states):
        name, status = item["metadata"]["name"], item.get("status", {})
        uids = [t["podUID"] for t in status.get("tenants", [])]
        assert kind != "DELETED", f"{name} was deleted"
        assert uids or not last.get(name), f"{name} lost its tenant: {json.dumps(status)[:1000]}"
        last[name] = uids
    return f"{len(world.states)} states of {len(last)} objects"


@promise
def an_api_server_without_http2_is_read_as_a_whole():
    proxy = CuttingProxy(world.plane)
    follower = None
    try:
        follower = Controller(world.plane, world.program, "follower", f"https://127.0.0.1:{proxy.port}")
        pods = 'gpuattribution_watch_objects{resource="pods"}'
        wait_for("all pods", lambda: (follower.figure(pods) or 0) >= PLAIN_PODS, 60)
        assert follower.figure("gpuattribution_pods_by_node") == 0
    finally:
        if follower:
            follower.end()
        proxy.close()


def main():
    global world
    arguments = sys.argv[1:]
    program = arguments.pop(0) if arguments and os.sep in arguments[0] else PROGRAM
    if not os.access(program, os.X_OK):
        print(f"{program} is not there: ninja -C .build/release gpu-attribution-controller", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="by-node-") as folder:
        world = World(folder, os.path.realpath(program))
        try:
            return try_promises(arguments)
        finally:
            world.end()


if __name__ == "__main__":
    sys.exit(main())
