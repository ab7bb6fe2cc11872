#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both programs while memory and system calls fail: nobody crashes, and the truth is published again.

usage: torture.py CONTROLLER AGENT FOLDER_OF_THE_STAND-INS [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. A program runs a scenario again and again. Each time other calls fail: one, all from one on, or
some by chance (tests/lib/torture_plan.py). Then none fails any more, and what the scenario ends with must
be there within the scenario's SECONDS. A program may end with an error if it says so; it is started
again, as the kubelet does. A signal is a crash, and none is allowed. After all points of a promise the program
has no more descriptors than before. It has no more memory than in the first half of them, but for what it keeps
to use it again.

TORTURE_POINTS (24) is how many points a promise about the controller tries, spread over all calls that
the scenario makes. Those about the agent try a third, for its child is not started again at once; those
about starts, about Events and about a kubelet try fewer. TORTURE_SEED (1) chooses among them.
"""

import base64
import contextlib
import http.server
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
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from kube_api import (ATTRIBUTIONS, CONFIG_MAPS, LEASES, NODES, PODS, SECRETS, KubeAPI, agent_token,
                      make_certificate)
from kubelet import Kubelet
from ports import free_port
from promises import promise, try_promises
from small_world import now, post, report, uuid_of
from torture_plan import ALL, ERRORS, KINDS, SHORT, Point, Torture

TESTS = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
POINTS = int(os.environ.get("TORTURE_POINTS", "24"))
SEED = int(os.environ.get("TORTURE_SEED", "1"))
UNDER_WAY = 0.25  # for so long calls fail
KEPT_BYTES, BYTES_A_POINT = 128 << 10, 128
WARM_UP = 1 / 3  # of the points
LOOKS_PART = 6  # this part of the points follows, and the most memory after any of them is what counts
REMEMBERED = 1024  # pods of a node that are gone: MAX_ENDED in src/model/node_state.c


class Crash(Exception):
    """The program was ended by a signal."""


class Program:
    """A program whose calls may fail."""

    def __init__(self, torture, command, environment, folder):
        self.torture, self.command = torture, command
        self.environment = {**os.environ, **environment, **torture.environment()}
        self.log_path = os.path.join(folder, "program.log")
        self.ends = 0  # with an error
        self.process = None
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=log)

    def check(self):
        """Starts it again where it has ended with an error, which it has to tell."""
        status = self.process.poll()
        if status is None:
            return
        self.look_for_crash(status)
        if status == 0 or "level=error" not in self.tail():
            raise Crash(f"exit status {status}, and why is not told\n{self.tail()}")
        self.ends += 1
        self.start()

    def look_for_crash(self, status):
        """Of the program, and of a child whose end it has logged."""
        if status is not None and status < 0 and -status != signal.SIGTERM:
            raise Crash(f"signal {-status}\n{self.tail()}")
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            if found := re.search(r"^.* signal=(4|6|7|8|11)\b.*$", file.read(), re.M):
                raise Crash(found.group())

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def live(self):
        """Bytes, while nothing is under way: the least of a while."""
        least, end = self.torture.live(), time.monotonic() + 0.5
        while time.monotonic() < end:
            least = min(least, self.torture.live())
            time.sleep(0.001)
        return least

    def tail(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-12:])

    def stop(self):
        self.torture.disarm()
        self.process.terminate()
        try:
            self.look_for_crash(self.process.wait(60))
        finally:
            self.process.kill()
            self.process.wait()


class ControllerScenario:
    """A pod comes, the agent reports that it has the device, and the pod before goes."""

    SECONDS = 100  # a request that was lost for want of memory is given up after 75; then it is back-offs
    KEPT = 6      # descriptors that may be kept: of idle connections

    def __init__(self, folder):
        self.api = KubeAPI(folder)
        self.api.put(NODES, {"metadata": {"name": "gpu-a"}})
        self.api.put(LEASES, {"metadata": {"name": "gpu-attribution-controller",
                                           "namespace": "gpu-attribution"}, "spec": {}})
        self.port, self.probe = free_port(), free_port()
        self.torture = Torture(os.path.join(STAND_INS, "libtorture.so"), folder)
        self.client = ssl.create_default_context(cafile=self.api.certificate)
        self.count, self.holder = 0, None
        self.report_instance = int(time.monotonic() * 1000)
        self.token = agent_token()
        self.program = Program(self.torture, [
            CONTROLLER, f"--kubeconfig={self.api.kubeconfig(folder)}",
            f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{self.probe}",
            "--metrics-address=", "--namespace=gpu-attribution", "--reports-per-second=1000000",
            *self.options()], {}, folder)

    def options(self):
        return [f"--tls-cert={self.api.certificate}", f"--tls-key={self.api.key}"]

    def post(self):
        """Sends the report. False: it was not taken."""
        self.count += 1
        return post(self.port, self.client, self.token, self.report())

    def report(self):
        return report(self.report_instance, self.count, [1], self.holder)

    def before_start(self):
        """Before it is started in the midst of failing calls."""

    def fill(self):
        """The controller remembers as many pods that are gone as it ever does."""
        for number in range(REMEMBERED + 1):
            name = f"gone-{number}"
            self.api.put(PODS, {"metadata": {"namespace": "ml", "name": name},
                                "spec": {"nodeName": "gpu-a"}, "status": {"phase": "Running"}})
            self.api.delete(PODS, name)

    def act(self):
        """What happens while calls fail."""
        before = self.holder
        self.holder = self.api.put(PODS, {
            "metadata": {"namespace": "ml", "name": f"train-{uuid.uuid4().hex[:8]}"},
            "spec": {"nodeName": "gpu-a"}, "status": {"phase": "Running"}})
        self.post()
        if before:
            self.api.delete(PODS, before["metadata"]["name"])

    def is_well(self, api=None):
        items = (api or self.api).kinds[ATTRIBUTIONS].items.values()
        said = [[t["podUID"] for t in item.get("status", {}).get("tenants", [])] for item in items]
        return said == [[self.holder["metadata"]["uid"]]]

    def recover(self, end):
        """The agent reports until it is taken, and the status is right."""
        while time.monotonic() < end:
            self.program.check()
            if self.post() and self.api.wait(self.is_well, 1):
                return True
            time.sleep(0.05)
        return False

    def said(self):
        items = self.api.kinds[ATTRIBUTIONS].items.values()
        return json.dumps([[item.get("status", {}).get(key) for key in ("report", "tenantSummary")]
                           for item in items])

    def wait_act(self):
        self.api.wait(self.is_well, UNDER_WAY)

    def stop(self):
        self.program.stop()
        self.api.stop()


class EventScenario(ControllerScenario):
    """Beside that the driver tells an error, and a Kubernetes Event tells of it."""

    SECONDS = 90  # 100 Events a minute are allowed
    EVENT_S = 1.5  # one of the object is sent a second after the one before
    ANOTHER_S = 5  # an Event may be lost, for instance for want of memory: so long the next one is waited for

    def __init__(self, folder):
        self.error, self.code, self.raised_at = 0, 0, 0
        super().__init__(folder)

    def options(self):
        return [*super().options(), "--events-per-minute=100", "--event-repeat-after=1s"]

    def report(self):
        event = {"sequence": self.error, "time": now(), "uptimeMilliseconds": 1000 * self.error,
                 "uuid": uuid_of(0), "type": "XID", "code": self.code}
        return {**super().report(), "events": [event]}

    def raise_error(self):
        self.error += 1
        self.code = 200 + self.error % 700  # no class has these, so all are alike
        self.raised_at = time.monotonic()

    def act(self):
        self.raise_error()
        super().act()

    def wait_act(self):
        self.api.wait(self.is_well, self.EVENT_S)

    def is_well(self, api=None):
        return super().is_well(api) and any(
            f"XID {self.code} " in text for text in self.api.notes[-20:])

    def recover(self, end):
        while time.monotonic() < end:
            if super().recover(min(end, self.raised_at + self.ANOTHER_S)):
                return True
            self.raise_error()
        return False


class SecretScenario(ControllerScenario):
    """The Secret is empty: the controller makes keys and certificates, publishes and serves them."""

    def options(self):
        self.before_start()
        return []

    def before_start(self):
        self.api.put(SECRETS, {"metadata": {"name": "gpu-attribution-tls"}})
        self.api.put(CONFIG_MAPS, {"metadata": {"name": "gpu-attribution-ca"}})

    def post(self):
        """As who trusts what is published."""
        data = self.api.kinds[CONFIG_MAPS].items["gpu-attribution-ca"].get("data")
        if not data:
            return False
        self.client = ssl.create_default_context(cadata=data["ca.crt"])
        self.client.check_hostname = False  # it is for the name of the Service
        return super().post()

    def is_well(self, api=None):
        (secret,), (published,) = (self.api.kinds[kind].items.values() for kind in (SECRETS, CONFIG_MAPS))
        data = secret.get("data", {})
        return (super().is_well(api) and
                all(data.get(name) for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")) and
                published.get("data", {}).get("ca.crt") == base64.b64decode(data["ca.crt"]).decode())


class Receiver:
    """Where an agent reports to: keeps the last report."""

    def __init__(self, folder):
        self.certificate, key = make_certificate(folder)
        self.reports, self.last = 0, {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                receiver.last = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.reports += 1
                body = b'{"heartbeatSeconds": 1, "acknowledgedEvents": 0}'
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def finish_request(self, request, client_address):
                request.settimeout(30)
                self.RequestHandlerClass(context.wrap_socket(request, server_side=True),
                                         client_address, self)

            def handle_error(self, request, client_address):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


class AgentScenario:
    """The driver tells other serial numbers, and they are reported."""

    SECONDS = 75  # a child that failed again and again is started after up to 60
    KEPT = 2

    def __init__(self, folder):
        self.folder = folder
        self.receiver = Receiver(folder)
        self.torture = Torture(os.path.join(STAND_INS, "libtorture.so"), folder)
        with open(os.path.join(TESTS, "fake", "devices", "exclusive.json"), encoding="utf-8") as file:
            self.devices = json.load(file)
        self.serial = 0
        self.begin()
        self.act()
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write("of-the-agent")
        self.program = Program(self.torture, [
            AGENT, "--node-name=gpu-a", f"--controller={self.receiver.url}",
            f"--controller-ca-file={self.receiver.certificate}", f"--token-file={self.path('token')}",
            *self.kubelet_options(), "--processes=off", "--sample-interval=200ms", "--heartbeat=1s"],
            self.driver(), folder)

    def begin(self):
        """Before the program is started for the first time."""

    def before_start(self):
        """Before it is started in the midst of failing calls."""

    def kubelet_options(self):
        return [f"--pod-resources-socket={self.path('none')}", f"--checkpoint-file={self.path('none')}"]

    def driver(self):
        """The environment that has one."""
        return {"LD_LIBRARY_PATH": STAND_INS, "FAKE_NVML_FILE": self.path("devices.json")}

    def fill(self):
        """Whatever may grow by itself has grown."""

    def path(self, name):
        return os.path.join(self.folder, name)

    def act(self):
        self.serial += 1
        self.write()

    def write(self):
        for device in self.devices["devices"]:
            device["serial"] = str(self.serial)
        with open(self.path("new.json"), "w", encoding="utf-8") as file:
            json.dump(self.devices, file)
        os.rename(self.path("new.json"), self.path("devices.json"))

    def is_well(self):
        last = self.receiver.last
        return last.get("sources", {}).get("nvml", {}).get("state") == "ok" and [
            device.get("serial") for device in last.get("devices", [])] == [
                device["serial"] for device in self.devices["devices"]]

    def recover(self, end):
        self.write()  # where the stand-in could not read it, it waits for the next one
        while time.monotonic() < end:
            self.program.check()
            if self.is_well():
                return True
            time.sleep(0.02)
        return False

    def wait_act(self):
        end = time.monotonic() + UNDER_WAY
        while time.monotonic() < end and not self.is_well():
            time.sleep(0.02)

    def said(self):
        return json.dumps(self.receiver.last)[:1000]

    def stop(self):
        self.program.stop()
        self.receiver.server.shutdown()
        self.receiver.server.server_close()


class KubeletScenario(AgentScenario):
    """The kubelet gives the device to another pod, and that is reported. There is no driver."""

    def begin(self):
        self.kubelet = Kubelet(self.folder, [uuid_of(index) for index in range(4)])

    def kubelet_options(self):
        return [f"--pod-resources-socket={self.kubelet.socket}",
                f"--checkpoint-file={self.kubelet.checkpoint}"]

    def driver(self):
        return {}

    def act(self):
        self.serial += 1
        self.kubelet.admit(f"train-{self.serial}", str(uuid.uuid4()))

    def write(self):
        self.kubelet.write()

    def is_well(self):
        last, pod = self.receiver.last, self.kubelet.pod
        said = {name: last.get("sources", {}).get(name, {}).get("state")
                for name in ("podResources", "checkpoint")}
        return (set(said.values()) == {"ok"} and
                [held["name"] for held in last.get("podResources", [])] == [pod["name"]] and
                [held["podUID"] for held in last.get("checkpoint", {}).get("entries", [])] == [pod["uid"]])

    def stop(self):
        super().stop()
        self.kubelet.stop()


def points(kinds, calls, count):
    """Points of each kind in turn, at places and of forms by chance."""
    chance = random.Random(SEED)
    kinds = [kind for kind in kinds if calls[kind] > 0]
    chance.shuffle(kinds)
    for i in range(count):
        kind = kinds[i % len(kinds)]
        error = chance.choice(ERRORS[kind])
        start = chance.randrange(max(calls[kind], 1))
        form = chance.randrange(3)
        yield (Point(kind, error, start) if form == 0 else
               Point(kind, error, start, ALL) if form == 1 and error != SHORT else
               Point(kind, error, 0, ALL, chance.choice((5, 20)), chance.randrange(2 ** 32)))


def wait_for_failure(scenario):
    """Until a call has failed, or the program is well without."""
    end = time.monotonic() + 5
    while time.monotonic() < end and not scenario.torture.failed() and not scenario.is_well():
        time.sleep(0.02)


def wait_well(scenario):
    if not scenario.recover(time.monotonic() + scenario.SECONDS):
        raise AssertionError(f"not well {scenario.SECONDS} s later: {scenario.said()}\n"
                             f"{scenario.program.tail()}")


def try_point(scenario, point, start=False):
    """True if a call failed, of a program that is started with it or goes on. Raises where the program
    crashed or has not recovered."""
    if start:
        scenario.program.stop()
        scenario.before_start()
    scenario.torture.arm(point)
    if start:
        scenario.program.start()
    try:
        scenario.act()
        scenario.wait_act()
        if start:  # it may have to be linked first
            wait_for_failure(scenario)
        scenario.program.check()
        failed = scenario.torture.failed()
        scenario.torture.disarm()
        wait_well(scenario)
        scenario.act()  # the next change is published, too
        wait_well(scenario)
    except (Crash, AssertionError) as error:
        raise AssertionError(f"{'start, ' if start else ''}{point}: {error}") from error
    return failed > 0


@contextlib.contextmanager
def running(scenario):
    try:
        yield scenario
    finally:
        scenario.stop()


def try_points(make, kinds, count):
    """Tries points while the program runs. A note for the reader."""
    with tempfile.TemporaryDirectory() as folder, running(make(folder)) as scenario:
        scenario.act()
        wait_well(scenario)
        scenario.torture.count()
        scenario.act()
        wait_well(scenario)
        calls, descriptors = scenario.torture.calls(), scenario.program.descriptors()
        chosen = list(points(kinds, calls, count))
        first = int(WARM_UP * count)
        last_look = first + count // LOOKS_PART
        failed = sum(try_point(scenario, point) for point in chosen[:first])
        scenario.fill()
        wait_well(scenario)
        live = scenario.program.live()
        for point in chosen[first:last_look]:
            failed += try_point(scenario, point)
            live = max(live, scenario.program.live())  # some buffers are there at most times, and not at all
        failed += sum(try_point(scenario, point) for point in chosen[last_look:])
        ends, kept = scenario.program.ends, look_for_leaks(scenario, live, descriptors, count)
    assert failed > count / 5, f"of {count} points only {failed} met a call"
    counts = ", ".join(f"{kind} {calls[kind]}" for kind in kinds)
    return f"seed {SEED}: {count} points, {failed} met calls, {ends} ended with an error, {kept}; {counts}"


def look_for_leaks(scenario, live, descriptors, count):
    """Raises if there is more than before. What there is, as a note."""
    program, most = scenario.program, descriptors + scenario.KEPT
    end = time.monotonic() + 10
    while time.monotonic() < end and program.descriptors() > most:
        time.sleep(0.1)
    said = (f"{live >> 10} KiB and then {program.live() >> 10}, "
            f"{descriptors} descriptors and then {program.descriptors()}")
    assert program.descriptors() <= most, said
    assert program.live() <= live + KEPT_BYTES + count * BYTES_A_POINT, said
    return said


def try_starts(make, kinds, count):
    """Tries points of a start, each with a program of its own."""
    failed = ends = 0
    with tempfile.TemporaryDirectory() as folder, running(make(folder)) as scenario:
        scenario.act()
        wait_well(scenario)
        scenario.program.stop()
        scenario.torture.count()
        scenario.program.start()
        scenario.act()
        wait_well(scenario)
        calls = scenario.torture.calls()
        for point in points(kinds, calls, count):
            failed += try_point(scenario, point, start=True)
        ends = scenario.program.ends
    assert failed > 0, f"none of {count} starts met a call"
    counts = ", ".join(f"{kind} {calls[kind]}" for kind in kinds)
    return f"seed {SEED}: {count} starts, {failed} met calls, {ends} ended with an error; {counts}"


SYSTEM_CALLS = [kind for kind in KINDS if kind != "allocate"]


@promise
def a_controller_without_memory_recovers():
    return try_points(ControllerScenario, ["allocate"], POINTS)


@promise
def a_controller_whose_system_calls_fail_recovers():
    return try_points(ControllerScenario, SYSTEM_CALLS, POINTS)


@promise
def a_controller_that_starts_while_calls_fail_starts_or_says_why_not():
    return try_starts(ControllerScenario, KINDS, max(POINTS // 6, 1))


@promise
def a_controller_that_makes_its_keys_while_calls_fail_serves_them_or_says_why_not():
    return try_starts(SecretScenario, KINDS, max(POINTS // 8, 1))


@promise
def a_controller_that_tells_of_errors_while_calls_fail_tells_of_the_next_one():
    return try_points(EventScenario, ["allocate", "receive", "send", "epoll_ctl"], POINTS // 4)


@promise
def an_agent_without_memory_recovers():
    return try_points(AgentScenario, ["allocate"], POINTS // 3)


@promise
def an_agent_whose_system_calls_fail_recovers():
    return try_points(AgentScenario, SYSTEM_CALLS, POINTS // 3)


@promise
def an_agent_whose_calls_fail_while_the_kubelet_admits_a_pod_recovers():
    return try_points(KubeletScenario, KINDS, POINTS // 3)


@promise
def an_agent_that_starts_while_calls_fail_starts_or_says_why_not():
    return try_starts(AgentScenario, KINDS, max(POINTS // 12, 1))


CONTROLLER, AGENT, STAND_INS = (os.path.realpath(argument) for argument in sys.argv[1:4])
if __name__ == "__main__":
    sys.exit(try_promises(sys.argv[4:]))
