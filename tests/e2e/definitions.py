#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A controller on a real API server whose CustomResourceDefinition is of another release, or too narrow.

usage: definitions.py [CONTROLLER] [WORDS]

CONTROLLER is the program (default: that of .build/release, which hack/up builds). With words only
promises are tried whose sentence contains them. Prints TAP and fails if one is broken.

Each promise begins with a definition, without objects, and with a new controller. The former definition is
tests/golden/crd_former.yaml.
"""

import copy
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from control_plane import TOP, ControlPlane
from ports import free_port
from promises import explained_by, try_promises
from small_world import ATTRIBUTIONS, NODE, agent_token, fill, make_anew, post, report, wait_for

PROGRAM = os.path.join(TOP, ".build", "release", "gpu-attribution-controller")
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpuattributions.gpuattribution.dev"
NODES = (NODE, "gpu-b", "gpu-c", "gpu-d")
DEVICES = 16       # of each node: as many writes at once as a node may have are shared by them
MANY_WRITES = 1000
MERGE = "application/merge-patch+json"
THEIRS = {"type": "Drained", "status": "False", "reason": "Busy", "message": "one pod is left",
          "lastTransitionTime": "2026-01-02T03:04:05Z"}


def read_yaml(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return yaml.safe_load(file)


TODAY = read_yaml("crds", "gpuattributions.yaml")
FORMER = read_yaml("tests", "golden", "crd_former.yaml")["properties"]


def with_properties(properties):
    """Today's definition with these properties of the object."""
    definition = copy.deepcopy(TODAY)
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].update(properties)
    return definition


def status_of(definition):
    """The properties of a status, to be changed."""
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]


def find_status(schema):
    """The properties of a status in a schema of an object; None: it has none of ours."""
    status = schema.get("properties", {}).get("status", {}).get("properties", {})
    return status if "nodeName" in status else None


def rules_of(status):
    """By which the definitions here are told from each other."""
    return sorted(status), status["device"]["properties"]["model"].get("maxLength")


class World:
    """The API server, and a controller with the agents of some nodes."""

    def __init__(self, folder):
        self.plane, self.process = ControlPlane(folder), None
        try:
            self.tokens = {NODE: fill(self.plane)}
            for node in NODES[1:]:
                self.plane.do("POST", "/api/v1/nodes", {"metadata": {"name": node}})
                self.tokens[node] = agent_token(self.plane, node, f"agent-of-{node}")
            self.trusted = ssl.create_default_context(cafile=self.plane.certificate)
            self.log = self.plane.write("controller.log", "")
            self.serial = self.logged = 0
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self.end()
        self.plane.stop()

    # The definition and the controller

    def begin(self, definition):
        self.end()
        make_anew(self.plane)
        self.define(definition)
        self.port, self.probe, self.metrics = free_port(), free_port(), free_port()
        self.logged = os.path.getsize(self.log)
        self.instance, self.sequence = int(time.monotonic() * 1000), 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([
                CONTROLLER, f"--kubeconfig={self.plane.kubeconfig('kubeconfig')}",
                "--namespace=gpu-attribution", f"--report-address=127.0.0.1:{self.port}",
                f"--probe-address=127.0.0.1:{self.probe}", f"--metrics-address=127.0.0.1:{self.metrics}",
                "--metrics-insecure", f"--tls-cert={self.plane.certificate}", f"--tls-key={self.plane.key}",
                "--reports-per-second=1000000"], stdout=log, stderr=log)

    def end(self):
        if self.process:
            self.process.terminate()
            status, self.process = self.process.wait(30), None
            assert status == 0, f"the controller ended: {status}"

    def define(self, definition):
        """Puts the definition in the place of the one that is there, and waits until it is served."""
        now = self.plane.do("GET", DEFINITION)
        changed = copy.deepcopy(definition)
        changed["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
        number = self.plane.do("PUT", DEFINITION, changed)["metadata"]["generation"]
        wanted = status_of(definition)

        def is_served():
            code, said = self.plane.request("GET", "/openapi/v3/apis/gpuattribution.dev/v1alpha1")
            served = said["components"]["schemas"].values() if code == 200 else ()
            return any(rules_of(status) == rules_of(wanted) for status in map(find_status, served) if status)
        wait_for(f"generation {number} of the definition is served", is_served)

    # Reports, and what comes of them

    def report(self, nodes=NODES[:1], devices=1):
        """All devices of the nodes have another serial number."""
        self.serial += 1
        self.sequence += 1
        for index, node in enumerate(nodes):
            body = report(self.instance, self.sequence, [self.serial] * devices, node=node,
                          first=index * DEVICES)
            wait_for(f"the controller takes the report of {node}",
                     lambda node=node, body=body: post(self.port, self.trusted, self.tokens[node], body))

    def items(self):
        """For a moment after a definition has changed, the API server answers with 429."""
        answers = []

        def are_listed():
            answers.append(self.plane.request("GET", ATTRIBUTIONS))
            return answers[-1][0] == 200
        wait_for("the objects are listed", are_listed)
        return answers[-1][1]["items"]

    def is_told(self, count):
        """All statuses have the serial number of the last report."""
        said = [item.get("status", {}).get("device", {}).get("serial") for item in self.items()]
        return said == [str(self.serial)] * count

    def tell(self, nodes=NODES[:1], devices=1):
        self.report(nodes, devices)
        wait_for("the statuses tell the report", lambda: self.is_told(len(nodes) * devices))

    def get(self, port, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.read().decode()

    def readiness(self):
        return self.get(self.probe, "/readyz?verbose")

    def metric(self, name):
        return sum(float(line.rpartition(" ")[2]) for line in self.get(self.metrics, "/metrics").splitlines()
                   if line.startswith((f"{name} ", f"{name}{{")))

    def writes(self):
        return self.metric("gpuattribution_writes_total")

    def said(self):
        with open(self.log, "rb") as log:
            log.seek(self.logged)
            return log.read().decode()

    def patch_status(self, name, status):
        return self.plane.do("PATCH", f"{ATTRIBUTIONS}/{name}/status", {"status": status}, MERGE)

    def is_quiet(self):
        """Whether heartbeats alone lead to no write."""
        before = self.writes()
        for _ in range(3):
            self.sequence += 1
            post(self.port, self.trusted, self.tokens[NODE],
                 report(self.instance, self.sequence, [self.serial]))
            time.sleep(0.1)
        return self.writes() == before


explained = explained_by(lambda: world.said())


@explained
def a_former_definition_takes_what_is_written_today_and_a_word_of_tomorrow():
    definition = with_properties(FORMER)
    lacking = set(status_of(TODAY)) - set(status_of(definition))
    world.begin(definition)
    world.tell()
    name = world.items()[0]["metadata"]["name"]
    told = world.patch_status(name, {"health": {"state": "Quarantined"}})
    assert told["status"]["health"]["state"] == "Quarantined", told["status"]["health"]
    wait_for("the controller's own word", lambda: world.items()[0]["status"]["health"]["state"] != "Quarantined")
    world.tell()
    assert world.metric("gpuattribution_writes_rejected_total") == 0, world.said()
    wait_for("nothing is written any more", world.is_quiet)
    return f"it lacks {', '.join(sorted(lacking)) or 'no field of the status itself'}; " \
           f"{world.metric('gpuattribution_writes_dropped_total'):.0f} statuses lost a field"


@explained
def a_later_definition_with_fields_and_defaults_of_its_own_is_written_as_well():
    definition = copy.deepcopy(TODAY)
    status_of(definition)["later"] = {"type": "string", "default": "unset", "description": "Of a later release."}
    status_of(definition)["sharing"]["properties"]["later"] = {"type": "integer", "default": 7}
    world.begin(definition)
    world.tell()
    world.tell()
    status = world.items()[0]["status"]
    assert (status["later"], status["sharing"]["later"]) == ("unset", 7), status
    assert "dropped" not in world.readiness(), world.readiness()
    wait_for("nothing is written any more", world.is_quiet)


@explained
def a_field_that_is_refused_is_named_by_the_log_and_readiness_and_counted():
    definition = copy.deepcopy(TODAY)
    status_of(definition)["device"]["properties"]["model"]["maxLength"] = 8
    world.begin(definition)
    world.report()
    wait_for("readiness names the field", lambda: "status.device.model: Too long" in world.readiness())
    line = next((line for line in world.said().splitlines() if "status.device.model: Too long" in line), None)
    assert line and "GPUAttribution write failed" in line, "the log does not name the field"
    assert world.metric("gpuattribution_writes_rejected_total") > 0, "it is not counted"
    assert not world.is_told(1), "it was taken"
    world.define(TODAY)
    wait_for("the status is written once it is taken", lambda: world.is_told(1))
    return line.partition("error=")[2]


@explained
def conditions_of_others_stay_while_a_thousand_statuses_are_written():
    world.begin(TODAY)
    world.tell(NODES, DEVICES)
    for item in world.items():
        conditions = item["status"]["conditions"] + [THEIRS]
        world.patch_status(item["metadata"]["name"], {"conditions": conditions})
    before = world.writes()
    while world.writes() - before < MANY_WRITES:
        world.tell(NODES, DEVICES)
    for item in world.items():
        assert item["status"]["conditions"].count(THEIRS) == 1, item["status"]["conditions"]
    return f"{world.writes() - before:.0f} writes to {len(NODES) * DEVICES} objects"


if __name__ == "__main__":
    words = sys.argv[1:]
    CONTROLLER = os.path.realpath(words.pop(0) if words and os.path.exists(words[0]) else PROGRAM)
    if not os.access(CONTROLLER, os.X_OK):
        sys.exit(f"{CONTROLLER} is not there: ninja -C .build/release gpu-attribution-controller")
    with tempfile.TemporaryDirectory(prefix="definitions-") as folder:
        world = World(folder)
        try:
            status = try_promises(words)
        finally:
            world.stop()
    sys.exit(status)
