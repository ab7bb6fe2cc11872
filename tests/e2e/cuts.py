#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each list and each watch of a real API server, cut at each of its bytes.

usage: cuts.py [CONTROLLER] [--every N] [--first N] [--lanes N] [--rounds N]

CONTROLLER is the program (default: that of .build/release, which hack/up builds). In each round it is
started, and its lists, or its watches, are cut once, all at the next place. A pod comes before the lists
or after them, the agent reports that it has the device, and the pod before goes. The status must say so
within SECONDS. Prints TAP and fails if that is broken.

A list comes in each form that --initial-state has: at once, as a watch that begins with all objects, and
in pages. The proxy asks for pages of one object, so there are several of them: the first one is cut, or
the one behind it.

Places go up to the end of the longest answer of that form. With `--every N` they are N bytes apart, with
`--rounds N` (10) there are so many of each form. `--first N` (1) is where the places of --every begin.

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
from small_world import ATTRIBUTIONS, LEASES, NODE, PODS, fill, post, report, run_pod, wait_for

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
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
# What the controller reads; each has an object, and two where there may be several.
PATHS = (ALL_PODS, "/api/v1/nodes", ATTRIBUTIONS, LEASES, CRDS, "/apis/nvidia.com/v1/clusterpolicies",
         "/apis/resource.k8s.io/v1/resourceclaims", SLICES)


def made(*arguments):
    """What the operator is told."""
    done = subprocess.run(["hack/cluster/make-policy", *arguments], cwd=TOP, check=True,
                          capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


class World:
    """An API server with an object of each kind, the proxy, and a controller behind it."""

    def __init__(self, folder, program):
        self.plane, self.process = ControlPlane(folder), None
        self.proxy = CuttingProxy(self.plane, page=1)
        try:
            self.token = fill(self.plane)
            self.fill_more()
            self.begin(program)
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
            f"--tls-cert={self.plane.certificate}", f"--tls-key={self.plane.key}",
            "--reports-per-second=1000000"]

    def start(self, initial):
        if self.process:
            self.process.terminate()
            self.process.wait(30)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.command, f"--initial-state={initial}"],
                                            stdout=log, stderr=log)

    def fill_more(self):
        plane = self.plane
        plane.do("POST", CRDS, made("definition"))
        policies = "/apis/nvidia.com/v1/clusterpolicies"
        wait_for("ClusterPolicies are served", lambda: plane.request("GET", policies)[0] == 200)
        plane.do("POST", policies, made("cluster-policy"))
        plane.do("POST", "/api/v1/nodes", {"metadata": {"name": "other"}})
        for name in ("a", "b"):
            plane.do("POST", CLAIMS, {
                "metadata": {"name": name}, "spec": {"devices": {"requests": [
                    {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}})
            plane.do("POST", SLICES, {
                "metadata": {"name": name}, "spec": {
                    "driver": "other.example.com", "nodeName": NODE, "devices": [{"name": "d0"}],
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}})

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.proxy.close()
        self.plane.stop()

    def post(self):
        self.count += 1
        return post(self.port, self.client, self.token,
                    report(self.instance, self.count, [1, 2], self.holder))

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

    def is_right(self):
        items = self.plane.do("GET", ATTRIBUTIONS)["items"]
        said = [(t["podUID"], t["confidence"]) for item in items
                for t in item.get("status", {}).get("tenants", [])]
        return said == [(self.holder["metadata"]["uid"], "Confirmed")]

    def measure(self, form, initial):
        """How long an answer of that form is at most, where there are objects of all kinds; a watch has a
        few events."""
        for _ in range(2):
            self.start(initial)
            for _ in range(2):
                self.tell(self.next_pod())
                wait_for("the status is right", self.is_right, 30)
        return max(self.proxy.lengths.get((path, form), 0) for path in PATHS)

    def round(self, form, initial, after):
        """Starts the controller and cuts all at that byte; returns how many were."""
        for path in PATHS:
            self.proxy.cut(path, form, after)
        before = self.next_pod() if form != WATCH else None  # only the list tells of it
        self.start(initial)
        if form == WATCH:
            before = self.next_pod()
        self.tell(before)
        try:
            wait_for("the status is right", self.is_right, SECONDS)
        except AssertionError as error:
            with open(self.log, encoding="utf-8") as file:
                raise AssertionError(f"{error}\n{''.join(file.readlines()[-10:])}") from error
        assert self.process.poll() is None, f"the controller ended: {self.process.returncode}"
        return sum(self.proxy.was_cut(p, form) for p in PATHS)


def places(longest, options):
    if options.rounds or not options.every:
        rounds = options.rounds or ROUNDS
        return sorted({1 + i * longest // rounds for i in range(rounds)})
    return range(options.first, longest + 1, options.every)


def try_all(world, form, initial, options):
    """Notes for the reader."""
    longest = world.measure(form, initial)
    assert longest, f"no {form} was asked for"
    met = rounds = 0
    for after in places(longest, options):
        try:
            met += world.round(form, initial, after)
        except AssertionError as error:
            raise AssertionError(f"cut at byte {after}: {error}") from error
        rounds += 1
        if rounds % 200 == 0:
            print(f"# {rounds} rounds", flush=True)
    assert met >= rounds, f"{met} cuts in {rounds} rounds"
    kinds = sum((path, form) in world.proxy.lengths for path in PATHS)
    return f"{met} cuts of {kinds} kinds at {rounds} places, up to byte {longest}"


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
