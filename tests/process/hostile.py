#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A controller, honest agents, and one who abuses a token, or has none that is good.

usage: hostile.py CONTROLLER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. The API server is a stand-in. What is judged are counts, and ratios of times that were taken in
turns, so that a busy machine disturbs both. HOSTILE_ROUNDS (2) says how many turns there are, HOSTILE_PERCENT
(50) which share of times a bound holds for: on a quiet machine 99.
"""

import base64
import contextlib
import http.client
import json
import os
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
from small_world import report, wait_for

PROGRAM = sys.argv[1]
ROUNDS = int(os.environ.get("HOSTILE_ROUNDS", "2"))
PERCENT = int(os.environ.get("HOSTILE_PERCENT", "50"))
NAME = "gpu-attribution-controller"
BAD = "bad"  # how signatures begin that the API server refuses
HONEST = [f"honest-{number}" for number in range(8)]
SAMPLES = 16            # reports of honest nodes in a turn
PACE_S = 0.05           # between them
BAD_S = 2               # of bad tokens in a turn,
BAD_CLIENTS = 4         # each from an address of its own
REVIEWS_PER_S = 10      # that accept no token, of all strangers together; one address may have 8
REPORT_BYTES = 1 << 20  # the most that a report may have
IDS, IDS_OF_LIST = 16384, 4096  # the most that a report may name
RATIO = 2               # a time beside the hostile node, of that without it
NOISE_S = 0.03          # what the stand-in and a busy machine may add
TRIES = 3


class API(KubeAPI):
    """Reviews tokens by what they say: the node, and whether they are good."""

    bad_reviews = 0

    def review(self, asked):
        _, claims, signature = asked["spec"]["token"].split(".")
        if signature.startswith(BAD):
            self.bad_reviews += 1
            return json.dumps({**asked, "status": {"authenticated": False}}).encode()
        node = json.loads(base64.urlsafe_b64decode(claims + "=="))["kubernetes.io"]["node"]["name"]
        answer = json.loads(super().review(asked))
        answer["status"]["user"]["extra"]["authentication.kubernetes.io/node-name"] = [node]
        return json.dumps(answer).encode()


class Agent:
    """One connection, of one token."""

    def __init__(self, world, node, address="127.0.0.1", signature="c2ln"):
        self.world, self.node, self.address = world, node, address
        self.token, self.sequence, self.connection = agent_token(node, signature), 0, None

    def post(self, body):
        """The status of the answer; 0: there was none."""
        if not self.connection:
            self.connection = http.client.HTTPSConnection(
                "127.0.0.1", self.world.port, timeout=20, context=self.world.client,
                source_address=(self.address, 0))
        try:
            self.connection.request("POST", "/v1/report", body, {
                "Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
            answer = self.connection.getresponse()
            answer.read()
            if answer.will_close:
                self.close()
            return answer.status
        except (OSError, http.client.HTTPException):
            self.close()
            return 0

    def report(self, holder=None):
        self.sequence += 1
        first = HONEST.index(self.node) + 1 if self.node in HONEST else 0
        return report(self.world.instance, self.sequence, [first], holder, self.node, first)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class World:
    """The stand-in with the nodes and a pod on each, and a controller that leads."""

    def __init__(self, folder):
        self.api, self.port = API(folder), free_port()
        self.client = ssl.create_default_context(cafile=self.api.certificate)
        self.pods = {}
        for node in [*HONEST, "hostile"]:
            self.api.put(NODES, {"metadata": {"name": node}})
            self.pods[node] = self.api.put(PODS, {
                "metadata": {"namespace": "ml", "name": f"on-{node}"}, "spec": {"nodeName": node},
                "status": {"phase": "Running"}})
        self.api.put(LEASES, {"metadata": {"name": NAME, "namespace": "gpu-attribution"}, "spec": {
            "holderIdentity": "", "leaseDurationSeconds": 1}})
        self.log = os.path.join(folder, "controller.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([
                PROGRAM, f"--kubeconfig={self.api.kubeconfig(folder)}", "--namespace=gpu-attribution",
                f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{free_port()}",
                "--metrics-address=", f"--tls-cert={self.api.certificate}", f"--tls-key={self.api.key}"],
                stdout=log, stderr=log)
        self.instance = int(time.monotonic() * 1000)
        try:
            self.begin()
        except BaseException:
            self.stop()
            raise

    def begin(self):
        self.honest = {node: Agent(self, node) for node in HONEST}
        for agent in self.honest.values():
            wait_for("a report is taken", lambda agent=agent: agent.post(json.dumps(agent.report())) == 200)
        wait_for("all objects are there", lambda: len(self.api.kinds[ATTRIBUTIONS].items) == len(HONEST))

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.api.stop()

    def tenants(self, node):
        return [tenant.get("podName") for item in self.api.kinds[ATTRIBUTIONS].items.values()
                if item.get("status", {}).get("nodeName") == node for tenant in item["status"].get("tenants", [])]

    def sample(self, node):
        """A pod comes to the node's device, or goes: seconds from the report until the status says so."""
        agent, pod = self.honest[node], self.pods[node]
        holder = None if self.tenants(node) else pod
        expected = [pod["metadata"]["name"]] if holder else []
        start = time.monotonic()
        status = agent.post(json.dumps(agent.report(holder)))
        assert status == 200, (status, self.said())
        assert self.api.wait(lambda _: self.tenants(node) == expected, 20), (expected, self.said())
        return time.monotonic() - start

    def turn(self):
        times = []
        for number in range(SAMPLES):
            times.append(self.sample(HONEST[number % len(HONEST)]))
            time.sleep(PACE_S)
        return times

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()[-2000:]


@contextlib.contextmanager
def world():
    with tempfile.TemporaryDirectory() as folder:
        made = World(folder)
        try:
            yield made
        finally:
            made.stop()


@contextlib.contextmanager
def beside(*works):
    """Each is called over and over meanwhile; the answers' statuses by how often each came."""
    ended, statuses, lock = threading.Event(), {}, threading.Lock()

    def run(work):
        while not ended.is_set():
            status = work()
            with lock:
                statuses[status] = statuses.get(status, 0) + 1

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def of_one_letter(agent, is_whole):
    """A report that names as many IDs as it may, or that is as large as it may be and names more."""
    n = REPORT_BYTES // 5 if is_whole else IDS // 4 - 8
    body = agent.report()
    body["allocatable"] = [{"resource": "nvidia.com/gpu", "deviceIDs": ["x"] * min(n, IDS_OF_LIST)}]
    body["podResources"] = [{"namespace": "ml", "name": "on-hostile", "container": "main",
                             "resource": "nvidia.com/gpu", "deviceIDs": ["y"] * n}]
    body["checkpoint"] = {"registered": body["allocatable"], "entries": [
        {"podUID": agent.world.pods["hostile"]["metadata"]["uid"], "container": "main",
         "resource": "nvidia.com/gpu", "deviceIDs": ["z"] * min(n, IDS_OF_LIST)}]}
    return json.dumps(body, separators=(",", ":"))[:REPORT_BYTES]


def percentile(times):
    return sorted(times)[(len(times) * PERCENT - 1) // 100]


def measure(made, attack):
    """The percentile without the attack and beside it; the statuses of its answers."""
    idle, busy, all_statuses = [], [], {}
    for _ in range(ROUNDS):
        idle += made.turn()
        with beside(attack) as statuses:
            busy += made.turn()
        for status, n in statuses.items():
            all_statuses[status] = all_statuses.get(status, 0) + n
    return percentile(idle), percentile(busy), all_statuses


@promise
def reports_of_one_letter_ids_by_one_token_slow_down_no_honest_node():
    with world() as made:
        agent = Agent(made, "hostile")
        kinds = [True, False]

        def attack():
            kinds.reverse()
            return agent.post(of_one_letter(agent, kinds[0]))

        for _ in range(TRIES):
            idle, busy, statuses = measure(made, attack)
            said = f"p{PERCENT} {idle * 1000:.1f} ms without, {busy * 1000:.1f} ms beside; it was answered {statuses}"
            if busy <= RATIO * idle + NOISE_S:
                break
        assert busy <= RATIO * idle + NOISE_S, said
    assert statuses.get(200) and len(statuses) > 1, statuses
    return said


@promise
def garbage_tokens_cost_ten_reviews_a_second_and_no_honest_agent_a_503():
    with world() as made:
        number = [0]

        def attack(agent):
            number[0] += 1
            agent.token = agent_token("honest-0", f"{BAD}{number[0]:x}")
            return agent.post("{}")

        start = time.monotonic()
        with beside(*[lambda agent=Agent(made, "honest-0", f"127.3.{client}.1"): attack(agent)
                      for client in range(BAD_CLIENTS)]) as statuses:
            fresh = 0
            while time.monotonic() < start + BAD_S * ROUNDS or fresh < 4:
                made.turn()
                # A token that nobody has seen, from an address that is known.
                node = HONEST[fresh % len(HONEST)]
                made.honest[node].token = agent_token(node, f"good{fresh}")
                fresh += 1
        seconds = time.monotonic() - start
        tried, reviews = sum(statuses.values()), made.api.bad_reviews
    assert reviews <= REVIEWS_PER_S * (seconds + 1), (reviews, seconds)
    assert 200 not in statuses and reviews > 0, statuses
    assert tried > 2 * reviews, f"only {tried} tokens were tried"
    return f"{tried} bad tokens in {seconds:.1f} s, {reviews} reviews of them"


if __name__ == "__main__":
    sys.exit(try_promises(sys.argv[2:]))
