#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A controller that is killed at a chosen write to a real API server, and another one that goes on.

usage: crashes.py [CONTROLLER] [--points N | --all]

CONTROLLER is the program (default: that of .build/release, which hack/up builds). A scenario is run once
without a crash. What is there at the end of each of its steps is what must be there in all further runs.
In each of those the controller is killed at one write: right before the API server gets it, or right
after it has answered, and that answer is lost. First there is one controller, which is started again, as
the kubelet does. Then there are two: the one that is killed, mostly the leader, stays away, but for the
last step, and the other one goes on. Each step must be as without a crash within SECONDS. Prints TAP and
fails if that is broken.

A write is any request but GET (tests/lib/crashing_proxy.py). `--all` tries each of them, on both sides.
The default is 12 points spread over the kinds of writes, and 8 with two controllers; `--points N` other
many of both.

Of Events each occurrence may be told once. One may be lost where the status that shows it was written by
the controller that was killed, or its answer was lost: what is told later is kept in memory only.
"""

import argparse
import base64
import collections
import datetime
import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from control_plane import TOKEN, TOP, ControlPlane
from crashing_proxy import BEFORE, BEHIND, CrashingProxy, Point, Script
from ports import free_port
from small_world import (ATTRIBUTIONS, CONFIG_MAP, NODE, PODS, SECRET, agent_token, fill, make_anew, post, report,
                         run_pod, trusted_by_agents, uuid_of, wait_for)

SECONDS = 20
# The series is due after --event-repeat-after, 2 s. An Event has 5 s. Two that fail are tried again after 2
# and 4 s at most, and one that finds the API server away after 5 s more (controller/event_sender.c).
EVENTS_S = 2 + 3 * 5 + 2 + 4 + 5
QUIET_S = 0.5  # without a crash a step ends when nothing was written for so long
POINTS, POINTS_OF_TWO = 12, 8
LINES = 40  # of the log, where a promise is broken: those of two starts
TRIES = 3  # where a busy machine costs somebody the lead
MET = 0.7  # of the points that are tried, at least
PROGRAM = os.path.join(TOP, ".build", "release", "gpu-attribution-controller")
OTHER = "gpu-b"  # the node that goes
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
OPTIONS = ("--namespace=gpu-attribution", "--metrics-address=", "--reports-per-second=1000000",
           "--leader-elect-lease-duration=2500ms", "--leader-elect-renew-deadline=2s",
           "--leader-elect-retry-period=400ms", "--node-gone-after=1s", "--event-repeat-after=2s",
           "--disagreement-after=0s")
# What differs between any two runs.
TIMES = re.compile(r"Time$|Since$|^uptimeMilliseconds$")
NUMBERS = {"instance", "sequence"}
ONE_EACH = ("Secret", "ConfigMap", "object", "deletion")


def told_once(events):
    """How often each thing is told by Events, series included."""
    counts = collections.Counter()
    for event in events:
        about = event["regarding"]
        counts[event["reason"], about["kind"], about["name"]] += event.get("series", {}).get("count", 1)
    return counts


def errors_told(world):
    """How often each object is told to have had one."""
    told = told_once(world.events())
    return [count for (reason, _, _), count in told.items() if reason == "XIDError"]


class Controller:
    """One of them, behind a proxy of its own."""

    def __init__(self, world, program, number):
        self.world, self.process = world, None
        self.proxy = CrashingProxy(world.plane, world.script, self.kill)
        kubeconfig = world.plane.kubeconfig(f"kubeconfig-{number}", f"https://127.0.0.1:{self.proxy.port}")
        self.port = free_port()
        self.command = [program, f"--kubeconfig={kubeconfig}", *OPTIONS,
                        f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{free_port()}"]
        self.told = None  # what was reported to it last

    def start(self):
        self.proxy.begin_life()
        with open(self.world.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        self.told = None

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def was_killed(self):
        """At the point; whoever ended by itself has not kept the promise."""
        if self.runs():
            return False
        assert self.world.script.met and self.process.returncode == -signal.SIGKILL, (
            f"the controller ended: {self.process.returncode}")
        return True


class World:
    """An API server with two nodes, one or two controllers behind proxies, and the agents of both nodes."""

    def __init__(self, folder, program):
        self.plane, self.script = ControlPlane(folder), Script()
        self.all, self.controllers = [], []  # the second are those that are tried
        self.log = self.plane.path("controller.log")
        try:
            self.tokens = {NODE: fill(self.plane)}
            self.plane.do("POST", "/api/v1/nodes", {"metadata": {"name": OTHER}})
            self.tokens[OTHER] = agent_token(self.plane, OTHER, "agent-b")
            self.all = [Controller(self, program, number) for number in range(2)]
            self.instance, self.sequence = int(time.monotonic() * 1000), 0
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for controller in self.all:
            controller.kill()
            controller.proxy.close()
        self.plane.stop()

    # The controllers

    def have(self, number):
        """There are so many from the next run on."""
        for controller in self.controllers:
            controller.kill()
        self.controllers = self.all[:number]

    def start(self):
        """All, of which one is to lead."""
        for controller in self.controllers:
            controller.start()
        self.n_leads += 1

    def said(self):
        """The log of this run."""
        with open(self.log, "rb") as log:
            log.seek(self.logged)
            return log.read().decode()

    def lost_leads(self):
        return self.said().count("This replica lost the lead")

    def lost_answers(self):
        """A busy machine has cost somebody the lead, and with it the answers to what was under way; or
        the answer to a single write."""
        said = self.said()
        return (said.count("This replica leads and writes") > self.n_leads or
                "GPUAttribution write failed" in said)

    def keep_up(self):
        """One alone is started again where it was killed. Somebody has to lead anew."""
        for controller in [one for one in self.controllers if one not in self.away]:
            if not controller.was_killed():
                continue
            self.n_leads += 1
            if len(self.controllers) == 1:
                controller.start()
            else:
                self.away.append(controller)

    # The beginning

    def clear(self):
        """As when the manifests were applied, and before the pods."""
        for controller in self.controllers:
            controller.kill()
        self.plane.do("DELETE", EVENTS)
        make_anew(self.plane, (f"/api/v1/nodes/{OTHER}", {}))
        self.version = self.plane.do("GET", ATTRIBUTIONS)["metadata"]["resourceVersion"]

    def begin(self, point):
        self.clear()
        self.script.begin(point)
        self.trusted, self.holder, self.errors, self.uids = None, None, [], {}
        self.tell_other, self.n_leads, self.away = True, 0, []
        self.logged = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        self.start()

    # The agents

    def trust(self):
        """What agents verify the controller with: what they were told at first."""
        self.trusted = self.trusted or trusted_by_agents(self.plane)
        return self.trusted

    def reports(self):
        self.sequence += 1
        first = report(self.instance, self.sequence, [1, 2], self.holder)
        yield {**first, "events": self.errors, "eventsSince": "2026-01-01T00:00:00Z"}
        if self.tell_other:
            yield report(self.instance, self.sequence, [3], node=OTHER, first=2)

    def report(self):
        """The same to each controller, once for each change; again where one of them did not take it."""
        if not self.trust():
            return
        state = [self.holder and self.holder["metadata"]["name"], len(self.errors), self.tell_other]
        there = [one for one in self.controllers if one not in self.away]
        if all(controller.told == state for controller in there):
            return
        bodies = list(self.reports())
        for controller in there:
            taken = [post(controller.port, self.trusted, self.tokens[body["node"]], body) for body in bodies]
            if all(taken):
                controller.told = state

    # What happens

    def pod_comes(self, name):
        self.holder = run_pod(self.plane, name)
        self.uids[self.holder["metadata"]["uid"]] = name

    def pod_goes(self):
        name, self.holder = self.holder["metadata"]["name"], None
        self.plane.do("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})

    def pod_is_replaced(self):
        self.pod_goes()
        self.pod_comes("train-2")

    def error(self):
        at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.errors = self.errors + [{"sequence": len(self.errors) + 1, "time": at, "uuid": uuid_of(0),
                                      "type": "XID", "code": 79}]

    def node_goes(self):
        """While all are started again, or else the last report had to be old first."""
        for controller in self.controllers:
            controller.process.terminate()
        for controller in self.controllers:
            controller.process.wait(30)
        self.tell_other, self.away = False, []
        self.plane.do("DELETE", f"/api/v1/nodes/{OTHER}")
        self.start()

    # What is there

    def plain(self, value):
        """Without what differs between any two runs."""
        if isinstance(value, dict):
            return {key: self.plain(item) for key, item in value.items()
                    if not TIMES.search(key) and key not in NUMBERS}
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        return self.uids.get(value, value) if isinstance(value, str) else value

    def objects(self):
        items = self.plane.do("GET", ATTRIBUTIONS)["items"]
        said = [[item["metadata"]["name"], item["spec"], item.get("status", {})] for item in items]
        for _, _, status in said:
            status.pop("nodeUID", None)
        return self.plain(sorted(said, key=lambda one: one[0]))

    def events(self):
        return [event for event in self.plane.do("GET", EVENTS)["items"]
                if event.get("reportingController", "").startswith("gpuattribution")]

    def history(self):
        """(name, uid, report) of all statuses since the beginning, in the order of the API server."""
        wanted = {item["metadata"]["resourceVersion"] for item in self.plane.do("GET", ATTRIBUTIONS)["items"]}
        told = []
        for kind, item in self.watch():
            status = item.get("status", {})
            if kind != "DELETED" and "report" in status:
                told.append((item["metadata"]["name"], item["metadata"]["uid"], status["report"]))
            wanted.discard(item["metadata"]["resourceVersion"])
            if not wanted:
                return told
        raise AssertionError("the watch ended")

    def watch(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.plane.port, timeout=20,
                                                 context=self.plane.client)
        connection.request("GET", f"{ATTRIBUTIONS}?watch=1&resourceVersion={self.version}&timeoutSeconds=10",
                           headers={"Authorization": f"Bearer {TOKEN}"})
        for line in connection.getresponse():
            event = json.loads(line)
            yield event["type"], event["object"]
        connection.close()


def has_tenant(name):
    def look(objects):
        return objects and [t.get("podName") for t in objects[0][2].get("tenants", [])] == ([name] if name else [])
    return look


def has_errors(count):
    return lambda objects: objects and len(objects[0][2].get("health", {}).get("events", [])) == count


def are_reported(objects):
    return len(objects) == 3 and all("report" in status for _, _, status in objects)


# (what it is, what happens, what must be there where nobody was killed)
STEPS = (
    ("both nodes report", lambda world: None, are_reported),
    ("a pod gets a device", lambda world: world.pod_comes("train-1"), has_tenant("train-1")),
    ("an error", World.error, has_errors(1)),
    ("the same error", World.error, has_errors(2)),
    ("another pod gets it", World.pod_is_replaced, has_tenant("train-2")),
    ("the pod goes", World.pod_goes, has_tenant(None)),
    ("a node goes", World.node_goes, lambda objects: len(objects) == 2),
)
LAST = len(STEPS) - 1  # it starts the controller again, so all Events have to be told before
FIRST_ERROR = 2  # the step from which on Events are told


class Story:
    """What was there at the end of each step of the run without a crash, and its writes."""

    def __init__(self, world):
        world.begin(None)
        self.objects = []
        for number, (what, happen, look) in enumerate(STEPS):
            if number == LAST:
                wait_for("both errors are told, of the device and of the pod",
                         lambda: errors_told(world) == [2, 2], EVENTS_S)
            world.script.step = number
            happen(world)
            wait_for(what, lambda: self.is_done(world, look), SECONDS)
            if number != FIRST_ERROR:  # the next one has to come soon behind it
                self.wait_quiet(world)
            self.objects.append(world.objects())
        self.told = told_once(world.events())
        self.writes = list(world.script.writes)
        judge_writes(world)

    @staticmethod
    def is_done(world, look):
        world.keep_up()
        world.report()
        return look(world.objects())

    @staticmethod
    def wait_quiet(world):
        count, since = None, time.monotonic()
        while time.monotonic() - since < QUIET_S:
            found = sum(write.kind != "Lease" for write in world.script.writes)
            if found != count:
                count, since = found, time.monotonic()
            time.sleep(0.02)

    def points(self):
        """By kind, before and behind each of its writes."""
        found = collections.defaultdict(list)
        for write in self.writes:
            if write.number:
                found[write.kind] += [Point(write.kind, write.number, side) for side in (BEFORE, BEHIND)]
        return found


def judge_writes(world):
    """Nothing was made or deleted twice, and no status is older than one before it."""
    for kind in ONE_EACH:
        counts = collections.Counter(write.body.get("metadata", {}).get("name") if kind == "object" else
                                     write.text for write in world.script.taken(kind))
        twice = [name for name, count in counts.items() if count > 1]
        codes = [write.code for write in world.script.writes if write.kind == kind]
        # What was under way in a crash may have been taken, and nobody has seen the answer. Each step
        # has waited until its objects were there, or gone.
        assert (counts or None in codes) and not twice, f"{kind}: taken {dict(counts)}, answers {codes}"
    last = {}
    for name, uid, said in world.history():
        order = said["instance"], said["sequence"]
        assert order >= last.get(uid, order), f"{name}: {order} after {last[uid]}"
        last[uid] = order
    secret, published = world.plane.do("GET", SECRET)["data"], world.plane.do("GET", CONFIG_MAP)["data"]
    assert base64.b64decode(secret["ca.crt"]).decode() == published["ca.crt"], "the ConfigMap has another ca.crt"


class Run:
    """The scenario with a crash."""

    def __init__(self, world, story, point):
        self.world, self.story, self.point = world, story, point

    def do(self):
        world = self.world
        world.begin(self.point)
        for number, (what, happen, _) in enumerate(STEPS):
            if number == LAST:
                self.judge_events()
            world.script.step = number
            happen(world)
            try:
                self.wait_for(what, lambda n=number: self.is_as_before(n), SECONDS)
            except AssertionError as error:
                raise AssertionError(f"{error}\nit is {world.objects()}\nnot   {self.story.objects[number]}"
                                     ) from error
        if not world.script.met:
            return False
        self.judge_events()
        judge_writes(world)
        return True

    def wait_for(self, what, look, seconds):
        """The time begins anew where the lead was lost meanwhile without a crash."""
        for left in reversed(range(TRIES)):
            before = self.world.lost_leads()
            try:
                return wait_for(what, look, seconds)
            except AssertionError:
                if not left or self.world.lost_leads() == before:
                    raise

    def judge_events(self):
        """What is lost is excused by a crash; what is told twice is not."""
        try:
            self.wait_for("the Events", self.are_told, EVENTS_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.differ()}") from error

    def are_told(self):
        self.world.keep_up()
        self.world.report()
        told = told_once(self.world.events())
        return told == self.story.told or (self.may_lose_events() and not told - self.story.told)

    def is_as_before(self, number):
        self.world.keep_up()
        self.world.report()
        return self.world.objects() == self.story.objects[number]

    def differ(self):
        """What is told, and when each write came, for whoever looks for the reason."""
        told = dict(told_once(self.world.events()))
        script = self.world.script
        writes = "\n".join(str(write) for write in script.writes if write.kind != "Lease")
        return f"told {told}, not {dict(self.story.told)} at {script.now():.3f} s\n{writes}"

    def may_lose_events(self):
        """The one that was killed had sent a status with an error, or an answer was lost."""
        return self.world.lost_answers() or any(
            write.kind == "status" and write.is_taken() and write.step >= FIRST_ERROR
            for write in self.world.script.before_end())


def tell_story(world):
    """Where an answer is lost without a crash it says less than there should be."""
    for _ in range(TRIES):
        try:
            story = Story(world)
        except AssertionError:
            if not world.lost_answers():
                raise
        else:
            if not world.lost_answers():
                return story
    raise AssertionError("the machine is too busy: answers are lost without a crash")


def chosen(story, in_order):
    """All points: of each kind in turn, in the order of the scenario or in a random one."""
    kinds, chance = story.points(), random.Random(1)
    if not in_order:
        for points in kinds.values():
            chance.shuffle(points)
    return [point for turn in itertools.zip_longest(*kinds.values()) for point in turn if point]


def try_points(world, points, story, wanted):
    """Until so many were met: how often a Lease is renewed differs between runs. Notes for the reader."""
    met, longest, tried = collections.Counter(), 0, 0
    for tried, point in enumerate(points, 1):
        run, start = Run(world, story, point), time.monotonic()
        try:
            if run.do():
                met[world.script.met.kind] += 1
        except Exception as error:
            killed = world.script.met
            raise AssertionError(f"{point} ({killed and killed.text}, "
                                 f"{STEPS[killed.step][0] if killed else ''}): {error}") from error
        longest = max(longest, time.monotonic() - start)
        if tried % 50 == 0:
            print(f"# {tried} points", flush=True)
        if sum(met.values()) == wanted:
            break
    assert sum(met.values()) >= MET * tried, f"only {sum(met.values())} of {tried} points were met"
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(met.items()))
    return f"{sum(met.values())} of {tried} points were met, a run took up to {longest:.1f} s: {kinds}"


# (how many controllers there are, what must be so, how many points are tried by default)
PROMISES = (
    (1, "who is killed at any write is made good by the next and nothing is doubled", POINTS),
    (2, "a leader that is killed at any write is made good by its follower and nothing is doubled",
     POINTS_OF_TWO),
)


def try_promise(world, number, options):
    controllers, sentence, points = PROMISES[number - 1]
    wanted = None if options.all else options.points or points
    world.have(controllers)
    try:
        story = tell_story(world)
        note = try_points(world, chosen(story, options.all), story, wanted)
        print(f"ok {number} - {sentence}\n# {note}", flush=True)
        return True
    except Exception as error:  # whatever it was: the promise is broken
        print(f"not ok {number} - {sentence}")
        with open(world.log, encoding="utf-8") as file:
            said = f"{type(error).__name__}: {error}\n{''.join(file.readlines()[-LINES:])}"
        print("\n".join(f"# {line}" for line in said.splitlines()), flush=True)
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("controller", nargs="?", default=PROGRAM)
    parser.add_argument("--points", type=int)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if not os.access(options.controller, os.X_OK):
        parser.error(f"{options.controller} is not there: ninja -C .build/release gpu-attribution-controller")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="crashes-") as folder:
        world = World(folder, os.path.realpath(options.controller))
        print(f"1..{len(PROMISES)}", flush=True)
        try:
            kept = [try_promise(world, number, options) for number in range(1, len(PROMISES) + 1)]
        finally:
            world.stop()
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
