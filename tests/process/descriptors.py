#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A controller that may have few files open, while others hold all the connections they can get.

usage: descriptors.py CONTROLLER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. The API server is a stand-in. The others begin a handshake and say no more. Half of them come from
addresses from which a good token came, for strangers get a quarter of the connections only. Or they ask for
metrics with one new token after another, while the API server does not say whose these are.
"""

import contextlib
import http.client
import json
import os
import resource
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from kube_api import ATTRIBUTIONS, LEASES, NODES, PODS, KubeAPI, agent_token
from ports import free_port
from promises import promise, try_promises
from small_world import post, report, wait_for

PROGRAM = sys.argv[1]
NAME = "gpu-attribution-controller"
LEAST = 64  # controller/descriptors.h: DESCRIPTORS_OWN_REDUCED + DESCRIPTORS_LEAST
FULL = 80  # the same with DESCRIPTORS_OWN
MANY = 1500
OF_STRANGER, OF_KNOWN = 15, 60  # handshakes from one address: below what it may have
KEPT = 6  # descriptors that may come or go meanwhile: idle connections to the API server
HANDSHAKE_S = 10  # one that does not go on is ended
READERS = 24  # who want to read metrics, each from an address of its own
REVIEW_S = 10  # the controller waits no longer for what a reader's token is
HELLO = b"\x16\x03\x01\x02\x00\x01"  # the first bytes of a handshake


def command(limit, *options):
    return ["prlimit", f"--nofile={limit}:{limit}", PROGRAM, *options]


class API(KubeAPI):
    """Never says whose token a reader of metrics has."""

    waiting = most_waiting = 0  # reviews of readers' tokens, each on a connection of its own

    def handle(self, request, body):
        if "tokenreviews" not in request.path or "." in json.loads(body)["spec"]["token"]:
            return super().handle(request, body)
        with self.changed:
            self.waiting += 1
            self.most_waiting = max(self.waiting, self.most_waiting)
            self.changed.notify_all()
        select.select([request.connection], [], [], 2 * REVIEW_S)  # until the controller closes it
        request.close_connection = True
        with self.changed:
            self.waiting -= 1
        return None


class World:
    """The stand-in with a node, and a controller that leads."""

    def __init__(self, folder, limit):
        self.api, self.port, self.token = API(folder), free_port(), agent_token()
        self.metrics_port = free_port()
        self.client = ssl.create_default_context(cafile=self.api.certificate)
        self.api.put(NODES, {"metadata": {"name": "gpu-a"}})
        self.api.put(LEASES, {"metadata": {"name": NAME, "namespace": "gpu-attribution"}, "spec": {
            "holderIdentity": "", "leaseDurationSeconds": 1}})
        self.log = os.path.join(folder, "controller.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command(
                limit, f"--kubeconfig={self.api.kubeconfig(folder)}", "--namespace=gpu-attribution",
                f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{free_port()}",
                f"--metrics-address=127.0.0.1:{self.metrics_port}",
                f"--tls-cert={self.api.certificate}", f"--tls-key={self.api.key}",
                "--reports-per-second=1000000"), stdout=log, stderr=log)
        self.instance, self.sequence = int(time.monotonic() * 1000), 0

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.api.stop()

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def renewed(self):
        return self.api.kinds[LEASES].items[NAME]["spec"].get("renewTime")

    def vouch(self, address):
        """A report with a good token comes from there."""
        self.sequence += 1
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=self.client,
                                                 source_address=(address, 0))
        with contextlib.closing(connection):
            connection.request("POST", "/v1/report", json.dumps(report(self.instance, self.sequence, [1])), {
                "Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
            status = connection.getresponse().status
        assert status == 200, (status, self.said())

    def read_metrics(self, number, answers):
        """Adds what a stranger gets: status and Retry-After, or that there was no place for a connection."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.metrics_port, timeout=60, context=self.client,
                                                 source_address=(f"127.4.0.{number + 1}", 0))
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/metrics", headers={"Authorization": f"Bearer reader-{number}"})
                answer = connection.getresponse()
                answers.append((answer.status, answer.headers.get("Retry-After")))
            except (OSError, http.client.HTTPException):
                answers.append(None)

    def tell(self, holder):
        self.sequence += 1
        body = report(self.instance, self.sequence, [1], holder)
        wait_for("a report is taken", lambda: post(self.port, self.client, self.token, body))

    def tenants(self):
        return [tenant.get("podName") for item in self.api.kinds[ATTRIBUTIONS].items.values()
                for tenant in item.get("status", {}).get("tenants", [])]

    def follow(self, name):
        """A pod comes to the device: its watch tells of it, a report does, and a status is written."""
        pod = self.api.put(PODS, {"metadata": {"namespace": "ml", "name": name},
                                  "spec": {"nodeName": "gpu-a"}, "status": {"phase": "Running"}})
        self.tell(pod)
        assert self.api.wait(lambda _: self.tenants() == [name], 20), (self.tenants(), self.said())
        self.api.delete(PODS, name)
        self.tell(None)
        assert self.api.wait(lambda _: not self.tenants(), 20), (self.tenants(), self.said())

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()[-2000:]

    def warned_of_few_writes(self):
        with open(self.log, encoding="utf-8") as log:
            return "Writes limited by the file descriptors" in log.read()


@contextlib.contextmanager
def world(limit):
    with tempfile.TemporaryDirectory() as folder:
        made = World(folder, limit)
        try:
            yield made
        finally:
            made.stop()


@contextlib.contextmanager
def handshakes(port, addresses):
    """An idle one from each."""
    with contextlib.ExitStack() as stack:
        for address in addresses:
            stream = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20, (address, 0)))
            with contextlib.suppress(OSError):  # it had to make room already
                stream.sendall(HELLO)
        yield


def works_beside(limit, count, share):
    """share: so many connections may agents have."""
    strangers = [f"127.1.0.{number // OF_STRANGER + 1}" for number in range(count // 2)]
    known = [f"127.2.0.{number // OF_KNOWN + 1}" for number in range(count - count // 2)]
    with world(limit) as made:
        made.follow("before")
        assert made.warned_of_few_writes() == (limit < FULL), made.said()
        for address in sorted(set(known)):
            made.vouch(address)
        at_rest = made.open_files()
        with handshakes(made.port, strangers + known):
            wait_for("they hold what they can", lambda: abs(
                made.open_files() - at_rest - share) <= KEPT, HANDSHAKE_S)
            held = made.open_files()
            made.api.cut_watches()
            made.follow("meanwhile")
            renewed = made.renewed()
            wait_for("the Lease is renewed", lambda: made.renewed() != renewed, 20)
        assert made.process.poll() is None, made.said()
        said = made.said()
    assert "This replica lost the lead" not in said, said
    return f"{at_rest} files open at rest, {held} of {limit} beside {count} idle handshakes"


@promise
def with_the_least_that_works_watches_are_renewed_and_writes_succeed():
    return works_beside(LEAST, 100, 8)


@promise
def with_the_usual_limit_1500_idle_handshakes_leave_watches_and_writes_their_descriptors():
    return works_beside(1024, MANY, 509)


def works_beside_readers(limit, reviews):
    """reviews: so many of the readers' tokens are being reviewed at a time, for all are strangers."""
    with world(limit) as made:
        made.follow("before")
        answers = []
        threads = [threading.Thread(target=made.read_metrics, args=(number, answers), daemon=True)
                   for number in range(READERS)]
        for thread in threads:
            thread.start()
        wait_for("the others know", lambda: len(answers) == READERS - reviews, REVIEW_S)
        told, held, renewed = set(answers), made.open_files(), made.renewed()
        made.api.cut_watches()
        made.follow("meanwhile")
        wait_for("the Lease is renewed", lambda: made.renewed() != renewed, 20)
        assert made.api.most_waiting == reviews, (made.api.most_waiting, made.said())
    for thread in threads:
        thread.join()
    assert told <= {None, (503, "5")}, told
    return told, f"{reviews} of {READERS} readers' tokens are reviewed, {held} of {limit} files open"


@promise
def with_the_least_that_works_one_review_of_a_strangers_token_is_under_way_and_writes_succeed():
    return works_beside_readers(LEAST, 1)[1]


@promise
def with_the_usual_limit_sixteen_reviews_of_strangers_tokens_are_under_way_and_others_get_503():
    told, note = works_beside_readers(1024, 16)
    assert told == {(503, "5")}, told
    return note


@promise
def with_fewer_it_does_not_start_and_says_what_to_do():
    for limit in (32, LEAST - 1):
        with tempfile.TemporaryDirectory() as folder:
            api = KubeAPI(folder)
            done = subprocess.run(command(
                limit, f"--kubeconfig={api.kubeconfig(folder)}", "--report-address=127.0.0.1:0",
                "--probe-address=127.0.0.1:0", "--metrics-address="), capture_output=True, text=True,
                timeout=60, check=False)
            api.stop()
        said = done.stdout + done.stderr
        assert done.returncode == 1, (limit, done.returncode, said)
        assert "raise the limit (RLIMIT_NOFILE) to 64 or more" in said, (limit, said)


if __name__ == "__main__":
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    sys.exit(try_promises(sys.argv[2:]))
