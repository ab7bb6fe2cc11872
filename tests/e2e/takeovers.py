#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two real controllers on a real API server, again and again: one leads, is killed, stopped, cut off,
told to end, or somebody edits the Lease. The other takes over.

usage: takeovers.py [CONTROLLER] [--runs N] [--pairs N] [--seed N]

CONTROLLER is the program (default: that of .build/release, which hack/up builds). Each pair has an etcd
and a kube-apiserver of its own (hack/cluster/build), so that pairs do not disturb each other. Prints TAP
and fails if any promise is broken.

A node with DEVICES devices is reported to both controllers, as an agent does: each report changes the
serial number of one. Serial numbers only rise, so a status whose number falls was written from what was
known before. Half of the reports tell of an XID error, of which the leader makes an Event. Each
controller reaches the API server by a proxy with an address of its own, which tells in the audit log who
sent a request.
"""

import argparse
import collections
import contextlib
import datetime
import http.client
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from control_plane import TOKEN, TOP, ControlPlane
from ports import free_port
from small_world import ATTRIBUTIONS, LEASE, LEASES, fill, make_lease, report, uuid_of, wait_for
from tcp_proxy import TCPProxy

DEVICES = 16
EVERY_S = 0.125    # a report: with all devices together less than a node may be written
LEASE_S, DEADLINE_S = 5, 4
TAKE_OVER_S = 7    # from the last renewal to the next leader's first write
HAND_OVER_S = 0.5  # from SIGTERM to that
A_FEW = 20         # of fewer runs the p99 is the longest one, and a busy machine may have it
HAND_OVER_OF_A_FEW_S = 2
AWAY_S = 8         # how long a controller is stopped or cut off
OVERLAP_S = 0.5    # for so long two may lead, where the edit makes the Lease look given up
SLACK_S = 0.1      # from the moment a request is sent until the API server counts it as received
RACE_S = 0.01      # a renewal that came so soon after an edit may have been made before it
ERROR_EVERY = 2    # reports: more than may be told in a minute, so that often some wait
ERRORS_KEPT = 64   # in reports: an agent forgets those that were acknowledged
WRITTEN = ("gpuattributions", "events")
CONDITIONS = ("ReportFresh", "Ready")
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
TOLD_AT = re.compile(r"XID \d+ \([^)]*\) at (\S+Z)")
PROGRAM = os.path.join(TOP, ".build", "release", "gpu-attribution-controller")
GIVEN_UP = "lease given up"  # as its holder does
FAULTS = ("kill", "stop", "cut off", "terminate", GIVEN_UP, "lease cleared", "lease taken",
          "lease renewed in 2020", "lease deleted")


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds(text):
    """A MicroTime, in seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Controller:
    """One of the two."""

    def __init__(self, world, program, address):
        self.world, self.program, self.address = world, program, address
        self.proxy = TCPProxy(world.plane.port, address)
        self.kubeconfig = world.plane.kubeconfig(
            f"kubeconfig-{address}", f"https://127.0.0.1:{self.proxy.port}")
        self.process = None
        self.start()

    def start(self):
        self.port = free_port()
        self.world.sent.pop(self.address, None)
        plane = self.world.plane
        with open(plane.path(f"controller-{self.address}.log"), "ab") as log:
            self.process = subprocess.Popen([
                self.program, f"--kubeconfig={self.kubeconfig}", "--namespace=gpu-attribution",
                f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{free_port()}",
                "--metrics-address=", f"--tls-cert={plane.certificate}", f"--tls-key={plane.key}",
                "--reports-per-second=1000000", "--events-per-minute=100", "--event-repeat-after=1s"], stdout=log,
                stderr=log)

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(30)

    def is_up(self):
        """It takes reports."""
        return self.world.sent.get(self.address, 0) > self.world.serial - 2 * DEVICES


class World(contextlib.AbstractContextManager):
    """An API server, two controllers, and the agent that reports to both."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="takeovers-")
        self.controllers, self.is_over = [], False
        self.plane = ControlPlane(self.folder.name)
        try:
            self.begin(program)
        except BaseException:
            self.__exit__()
            raise

    def begin(self, program):
        self.serial, self.numbers = 1, [1] * DEVICES
        self.instance = int(time.monotonic() * 1000)
        self.sent, self.fallen, self.shown = {}, [], {}
        self.errors, self.conditions, self.flapped, self.doubled = [], {}, [], set()
        self.place, self.requests = 0, []
        self.token = fill(self.plane)
        self.client = ssl.create_default_context(cafile=self.plane.certificate)
        for address in ("127.0.0.2", "127.0.0.3"):
            self.controllers.append(Controller(self, program, address))
        for job in (self.watch, *(lambda c=c: self.report_to(c) for c in self.controllers)):
            threading.Thread(target=job, daemon=True).start()

    def __exit__(self, *_):
        self.is_over = True
        for controller in self.controllers:
            with contextlib.suppress(ProcessLookupError):
                controller.process.send_signal(signal.SIGCONT)
            controller.process.kill()
            controller.process.wait()
            controller.proxy.close()
        self.plane.stop()
        self.folder.cleanup()

    # The agent

    def change(self):
        """One more device has another serial number, and one may have an error."""
        if self.serial % ERROR_EVERY == 0:
            self.raise_error()
        self.numbers[self.serial % DEVICES] = self.serial + 1
        self.serial += 1

    def raise_error(self):
        number = self.errors[-1]["sequence"] + 1 if self.errors else 1
        error = {"sequence": number, "time": now(), "uuid": uuid_of(number % DEVICES), "type": "XID", "code": 31}
        self.errors = [*self.errors[1 - ERRORS_KEPT:], error]

    def body(self, sequence):
        return json.dumps({**report(self.instance, sequence, self.numbers), "events": self.errors,
                           "eventsSince": "2026-01-01T00:00:00Z"})

    def report_to(self, controller):
        """Sends the newest state until all is over."""
        connection = None
        while not self.is_over:
            sequence = self.serial
            if self.sent.get(controller.address) == sequence and connection:
                time.sleep(0.01)
                continue
            try:
                if connection is None:
                    connection = http.client.HTTPSConnection("127.0.0.1", controller.port, timeout=2,
                                                             context=self.client)
                connection.request("POST", "/v1/report", self.body(sequence), {
                    "Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
                answer = connection.getresponse()
                answer.read()
                # 409: it has that one, or its predecessor published it.
                if answer.status in (200, 409):
                    self.sent[controller.address] = sequence
                else:
                    time.sleep(0.1)
            except (OSError, http.client.HTTPException):
                connection.close()
                connection = None
                time.sleep(0.1)

    # What is published

    def watch(self):
        """Notes each serial number that is lower than the one before, and each condition that changes."""
        while not self.is_over:
            connection = http.client.HTTPSConnection("127.0.0.1", self.plane.port, timeout=300,
                                                     context=self.client)
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, KeyError):
                connection.request("GET", f"{ATTRIBUTIONS}?watch=1&resourceVersion=0", headers={
                    "Authorization": f"Bearer {TOKEN}"})
                for line in connection.getresponse():
                    self.note(json.loads(line)["object"])
            connection.close()

    def note(self, item):
        serial = int(item.get("status", {}).get("device", {}).get("serial", 0))
        name = item.get("metadata", {}).get("name")
        before = self.shown.get(name, 0)
        if serial < before:
            self.fallen.append(f"{name}: {serial} after {before}")
        self.shown[name] = serial
        for said in item.get("status", {}).get("conditions", []):
            if said["type"] in CONDITIONS:
                self.note_condition(name, said)

    def note_condition(self, name, said):
        before = self.conditions.get((name, said["type"]), said["status"])
        if said["status"] != before:
            self.flapped.append(f"{name}: {said['type']} {before} and then {said['status']}, {said['reason']}")
        self.conditions[name, said["type"]] = said["status"]

    def told_twice(self):
        """What errors more than one Event tells of, and that was not known yet."""
        told = collections.Counter(
            (event["regarding"]["name"], at) for event in self.plane.do("GET", EVENTS)["items"]
            if event["reason"] == "XIDError" for at in TOLD_AT.findall(event["note"]))
        found = {error for error, times in told.items() if times > 1} - self.doubled
        self.doubled |= found
        return sorted(found)

    def is_right(self):
        """All statuses say what was reported last, and were seen to."""
        if sorted(self.shown.values()) != sorted(self.numbers):
            return False
        items = self.plane.do("GET", ATTRIBUTIONS)["items"]
        return sorted(int(item.get("status", {}).get("device", {}).get("serial", 0))
                      for item in items) == sorted(self.numbers)

    # Who asked for what

    def look(self):
        """Reads on in the audit log: (time, address, resource, status) of each write."""
        events, self.place = self.plane.audit(self.place)
        for event in events:
            self.requests.append((seconds(event["requestReceivedTimestamp"]), event["sourceIPs"][0],
                                  event.get("objectRef", {}).get("resource"),
                                  event.get("responseStatus", {}).get("code"), event["verb"]))
        return self.requests

    def of(self, address, resource, since=0.0):
        """When that controller's writes of the resource came; good ones only for the Lease."""
        return [t for t, who, what, code, _ in self.look() if who == address and what == resource and
                t >= since and (resource != "leases" or code == 200)]

    def leader(self):
        """Who renewed the Lease last, and the other; None where nobody did lately."""
        said = [(self.of(c.address, "leases")[-1:] or [0.0])[0] for c in self.controllers]
        first = max(range(2), key=lambda i: said[i])
        if time.time() - said[first] > LEASE_S / 2:
            return None
        return self.controllers[first], self.controllers[1 - first]


class Run:
    """One fault, and the take-over after it."""

    def __init__(self, world, fault):
        self.world, self.fault = world, fault
        self.latency = None
        self.late, self.flapped, self.doubled = [], [], []

    def settle(self):
        world = self.world
        wait_for("both take reports", lambda: all(c.is_up() for c in world.controllers))
        wait_for("somebody leads", lambda: world.leader() and
                   world.of(world.leader()[0].address, "gpuattributions"))
        wait_for("all statuses are right", world.is_right, timeout=40)
        return world.leader()

    def do(self):
        """Sets the pace, makes the fault, measures, and mends it."""
        world = self.world
        old, new = self.settle()
        world.fallen.clear()
        world.flapped.clear()
        start = time.time()
        try:
            self.take_over(old, new, start)
        finally:
            self.mend(old)
        wait_for("both take reports again", lambda: all(c.is_up() for c in world.controllers))
        wait_for("all statuses are right", world.is_right, timeout=40)
        for resource in WRITTEN:
            self.judge_lead(old, resource, start)
        self.flapped, self.doubled = list(world.flapped), world.told_twice()
        assert not world.fallen, world.fallen[:3]

    def take_over(self, old, new, start):
        world = self.world
        self.begin(old)
        with self.pace():
            if self.fault.startswith("lease"):
                wait_for("who leads then writes", lambda: self.measure_edit(old, start), timeout=30)
            else:
                wait_for("the other one writes", lambda: world.of(new.address, "gpuattributions", start),
                           timeout=30)
                self.measure(old, new, start)
            if self.fault in ("stop", "cut off"):
                time.sleep(max(0, start + AWAY_S - time.time()))

    @contextlib.contextmanager
    def pace(self):
        """Reports change while this lasts."""
        over = threading.Event()

        def change():
            while not over.wait(EVERY_S):
                self.world.change()
        thread = threading.Thread(target=change)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def begin(self, old):
        world = self.world
        if self.fault == "kill":
            old.end(signal.SIGKILL)
        elif self.fault == "stop":
            old.process.send_signal(signal.SIGSTOP)
        elif self.fault == "cut off":
            old.proxy.cut()
        elif self.fault == "terminate":
            world.raise_error()
            world.change()  # what is written last
            old.end(signal.SIGTERM)
        elif self.fault == "lease deleted":
            world.plane.do("DELETE", f"{LEASES}/{LEASE}")
            make_lease(world.plane)
        else:
            spec = {GIVEN_UP: {"holderIdentity": "", "leaseDurationSeconds": 1},
                    "lease cleared": {"holderIdentity": ""}, "lease taken": {"holderIdentity": "somebody"},
                    "lease renewed in 2020": {"renewTime": "2020-01-01T00:00:00.000000Z"}}[self.fault]
            world.plane.do("PATCH", f"{LEASES}/{LEASE}", {"spec": spec}, "application/merge-patch+json")

    def mend(self, old):
        if self.fault in ("kill", "terminate"):
            old.start()
        elif self.fault == "stop":
            old.process.send_signal(signal.SIGCONT)
        elif self.fault == "cut off":
            old.proxy.mend()

    def measure_edit(self, old, start):
        """Whoever takes the Lease after an edit, which may be who had it, writes. False: not yet."""
        world, own = self.world, [c.address for c in self.world.controllers]
        edited = max(t for t, who, what, _, _ in world.look() if what == "leases" and t >= start and who not in own)
        taken = min(((t, who) for who in own for t in world.of(
            who, "leases", edited + (RACE_S if who == old.address else 0))), default=None)
        writes = world.of(taken[1], "gpuattributions", taken[0]) if taken else []
        if writes:
            self.latency = writes[0] - edited
        return bool(writes)

    def measure(self, old, new, start):
        first = self.world.of(new.address, "gpuattributions", start)[0]
        since = start if self.fault == "terminate" else self.world.of(old.address, "leases")[-1]
        self.latency = first - since

    def judge_lead(self, old, resource, since):
        """Each write came from who had the Lease, and no later than its lead lasted. What gives the Lease
        up is the last request."""
        world = self.world
        overlap = OVERLAP_S if self.fault == GIVEN_UP else SLACK_S
        renewals = [(t, who) for t, who, what, code, _ in world.look() if what == "leases" and code == 200]
        for address in (c.address for c in world.controllers):
            own = [t for t, who in renewals if who == address]
            for t in world.of(address, resource, since):
                last = max((r for r in own if r <= t), default=0)
                holder = max(((r, who) for r, who in renewals if r <= t - overlap), default=(0, address))
                if t - last > DEADLINE_S + SLACK_S:
                    self.late.append(f"{resource} by {address} {t - last:.2f} s after its last renewal")
                elif holder[1] != address and holder[0] > last:
                    self.late.append(
                        f"{resource} by {address} {t - holder[0]:.2f} s after another one renewed")
        if self.fault == "terminate":
            given_up = next((t for t in world.of(old.address, "leases", since)[::-1]), 0)
            self.late += [f"{resource} by {old.address} {t - given_up:.2f} s after it gave the Lease up"
                          for t in world.of(old.address, resource, since) if t > given_up]


def run_pair(program, faults, done, errors):
    try:
        with World(program) as world:
            for fault in faults:
                if ending.is_set():
                    return
                run = Run(world, fault)
                try:
                    run.do()
                except Exception as error:  # told with its fault; the next one is tried
                    errors.append(f"{fault}: {type(error).__name__}: {error}")
                    if len(errors) > 5:
                        return
                done.append(run)
                if len(done) % 50 == 0:
                    print(f"# {len(done)} runs", flush=True)
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}")


ending = threading.Event()  # on a signal: each pair ends after its run


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def tell(number, kept, sentence, *notes):
    print(f"{'ok' if kept else 'not ok'} {number} - {sentence}")
    for note in notes:
        print(f"# {note}")
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("controller", nargs="?", default=PROGRAM)
    parser.add_argument("--runs", type=int, default=len(FAULTS))
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not os.access(options.controller, os.X_OK):
        parser.error(f"{options.controller} is not there: ninja -C .build/release gpu-attribution-controller")
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    chance = random.Random(options.seed)
    faults = [FAULTS[i % len(FAULTS)] for i in range(options.runs)]
    chance.shuffle(faults)
    done, errors = [], []
    print(f"# seed {options.seed}\n1..5", flush=True)
    threads = [threading.Thread(target=run_pair, args=(
        os.path.realpath(options.controller), faults[i::options.pairs], done, errors))
        for i in range(options.pairs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times = {fault: [run.latency for run in done if run.fault == fault and run.latency is not None]
             for fault in FAULTS}
    notes = [f"{fault}: {len(t)} runs, first write after p50 {quantile(t, .5):.2f}, "
             f"p99 {quantile(t, .99):.2f}, max {max(t):.2f} s" for fault, t in times.items() if t]
    hand_over_s = HAND_OVER_S if len(times["terminate"]) >= A_FEW else HAND_OVER_OF_A_FEW_S
    bars = {fault: hand_over_s if fault == "terminate" else TAKE_OVER_S for fault in FAULTS}
    kept = [
        tell(1, done and all(not t or quantile(t, .99) <= bars[fault] for fault, t in times.items()),
             f"the next leader writes within {TAKE_OVER_S} s, within {hand_over_s} s of SIGTERM (p99)",
             *notes),
        tell(2, not any(run.late for run in done), "no request is sent by a leader whose lead is over",
             *(f"{run.fault}: {run.late}" for run in done if run.late)),
        tell(3, not errors and not ending.is_set() and len(done) == options.runs,
             "no status is lost and none is followed by an older one",
             f"{len(done)} of {options.runs} runs", *errors),
        tell(4, not any(run.flapped for run in done), "ReportFresh and Ready stay as they are",
             *(f"{run.fault}: {run.flapped[:3]}" for run in done if run.flapped)),
        tell(5, not any(run.doubled for run in done), "no error is told by two Events",
             *(f"{run.fault}: {run.doubled[:3]}" for run in done if run.doubled))]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
