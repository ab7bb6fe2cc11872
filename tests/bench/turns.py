# SPDX-License-Identifier: Apache-2.0
"""The measurements of hack/bench: a world on a real API server, and turns of two controllers in it.

The peer's peer-load fills the world and makes the load, for both alike. CPU is what the kernel has
counted for the process so far, to the nanosecond.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import NamedTuple

import yaml

from control_plane import NOT_ALONE, TOP, ControlPlane
from ports import free_port

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
GPUS_PER_NODE = 8
SYNC_S, SETTLE_S, LOAD_S = 900, 600, 7200  # what takes longer has failed
LOST_MS = 10000              # how long peer-load waits for a status


class Size(NamedTuple):
    pods: int
    nodes: int
    gpu_nodes: int
    memory: str   # of the API server
    seconds: int  # of each load, and at rest
    samples: int  # of each latency


SIZES = {
    "tiny": Size(100, 8, 4, "1GiB", 1, 8),
    "10k": Size(10000, 500, 125, "2GiB", 20, 300),
    "100k": Size(100000, 5000, 1250, "8GiB", 20, 300),
}


class Failure(RuntimeError):
    """Nothing can be measured; the text is for people."""


class Contestant(NamedTuple):
    name: str
    target: str      # as peer-load calls it
    objects: str     # the path of what it writes
    command: object  # a function of the addresses for reports, health and metrics, certificate and key


def ours(program, options):
    # One address plays all agents here: its limits are raised. The peer elects no leader either.
    return Contestant("ours", "gpuattribution", "/apis/gpuattribution.dev/v1alpha1/gpuattributions",
                      lambda report, health, metrics, cert, key: [
                          program, "--namespace=gpu-attribution", "--leader-elect=false",
                          f"--report-address={report}", f"--probe-address={health}",
                          f"--metrics-address={metrics}", f"--tls-cert={cert}", f"--tls-key={key}",
                          "--reports-per-second=1000000", "--token-reviews-per-second=1000000",
                          "--max-connections-per-address=1000000", *options])


def peer(program):
    return Contestant("peer", "peer", "/apis/peer.gpuattribution.dev/v1alpha1/peerattributions",
                      lambda report, health, metrics, cert, key: [
                          program, "--mode=slim", f"--report-addr={report}", f"--health-addr={health}",
                          f"--metrics-addr={metrics}", f"--tls-cert={cert}", f"--tls-key={key}"])


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def cpu_of(pid):
    """CPU seconds of a process: the clock that clock_getcpuclockid(3) names."""
    return time.clock_gettime(~pid << 3 | 2)


def build_peer(folder):
    """The folder with peer-controller and peer-load, built as the peer's README says."""
    into = os.path.join(TOP, ".build", "peer")
    done = subprocess.run(
        ["bash", "-c", '. hack/cluster/lib.sh && find_go && cd "$1" && '
         'GOEXPERIMENT=jsonv2 GOWORK=off GOFLAGS=-mod=readonly go build -buildvcs=false -o "$2/" ./cmd/...',
         "bash", os.path.realpath(folder), into], cwd=TOP, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        raise Failure(f"the peer cannot be built: {done.stderr.strip()}")
    return into


class Running:
    """A controller, from its start until it is synced, and on until end()."""

    def __init__(self, world, contestant):
        self.log = os.path.join(world.out, f"{contestant.name}.log")
        self.health = f"127.0.0.1:{free_port()}"
        self.url = f"127.0.0.1:{free_port()}"
        command = contestant.command(self.url, self.health, f"127.0.0.1:{free_port()}",
                                     world.plane.certificate, world.plane.key)
        api = world.api_cpu()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*NOT_ALONE, *command], stdout=log, stderr=log,
                                            env=world.environment)
        try:
            self.wait_synced()
        except BaseException:
            self.end()
            raise
        self.sync = {"sync_cpu_s": self.cpu(), "sync_peak_mib": self.peak_mib(),
                     "sync_api_cpu_s": world.api_cpu() - api}

    def wait_synced(self):
        end = time.monotonic() + SYNC_S
        while not self.is_synced():
            if self.process.poll() is not None:
                raise Failure(f"the controller has ended: see {self.log}")
            if time.monotonic() > end:
                raise Failure(f"the controller is not synced after {SYNC_S} s: see {self.log}")
            time.sleep(0.02)

    def is_synced(self):
        try:
            with urllib.request.urlopen(f"http://{self.health}/readyz", timeout=2) as answer:
                return answer.status == 200
        except OSError:  # also an answer that says no
            return False

    def cpu(self):
        return cpu_of(self.process.pid)

    def peak_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"^VmHWM:\s*(\d+)", file.read(), re.M)[1]) / 1024

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class World:
    """An API server with pods and nodes, in a folder."""

    def __init__(self, plane, size, tools, out):
        self.plane, self.size, self.out = plane, size, out
        self.loader = os.path.join(tools, "peer-load")
        self.environment = {**os.environ, "KUBECONFIG": plane.kubeconfig("kubeconfig")}

    def fill(self, peer_folder):
        for path in (os.path.join(TOP, "crds", "gpuattributions.yaml"), os.path.join(peer_folder, "crd.yaml"),
                     os.path.join(peer_folder, "testdata", "clusterpolicy.yaml")):
            self.create(DEFINITIONS, path)
        self.wait("the kinds are served", lambda: self.plane.request("GET", POLICIES)[0] == 200)
        self.create(POLICIES, os.path.join(peer_folder, "testdata", "clusterpolicy-object.yaml"))
        self.fill_pods()

    def fill_pods(self):
        """Nodes and pods, as far as they are not there yet."""
        size = self.size
        self.load("fill", f"--nodes={size.nodes}", f"--pods={size.pods}", f"--gpu-nodes={size.gpu_nodes}",
                  f"--gpus-per-node={GPUS_PER_NODE}")

    def create(self, collection, path):
        with open(path, encoding="utf-8") as file:
            for item in yaml.safe_load_all(file):
                self.plane.do("POST", collection, item)

    @staticmethod
    def wait(what, look, timeout=SETTLE_S):
        end = time.monotonic() + timeout
        while not look():
            if time.monotonic() > end:
                raise Failure(f"not within {timeout} s: {what}")
            time.sleep(1)

    def load(self, *arguments):
        """What peer-load printed, by result."""
        with open(os.path.join(self.out, "load.log"), "a", encoding="utf-8") as log:
            log.write(f"peer-load {' '.join(arguments)}\n")
            log.flush()
            done = subprocess.run([*NOT_ALONE, self.loader, *arguments], stdout=subprocess.PIPE, stderr=log,
                                  text=True, env=self.environment, timeout=LOAD_S)
        if done.returncode:
            raise Failure(f"peer-load {arguments[0]} failed: see {log.name}")
        return {line["result"]: line for line in map(json.loads, done.stdout.splitlines())}

    def api_cpu(self):
        return cpu_of(self.plane.api_server.pid)

    def writes(self, contestant):
        """How often the contestant's objects were written, as the API server counts."""
        resource = contestant.objects.rpartition("/")[2]
        _, text = self.plane.request("GET", "/metrics")
        return sum(int(float(line.rpartition(" ")[2])) for line in text.splitlines()
                   if line.startswith("apiserver_request_total{") and f'resource="{resource}"' in line and
                   re.search(r'verb="(POST|PUT|PATCH|APPLY|DELETE)"', line))

    def rest(self):
        """Until the API server hardly computes; for a minute at most."""
        for _ in range(60):
            before = self.api_cpu()
            time.sleep(1)
            if self.api_cpu() - before < 0.15:
                return


class Turn:
    """One contestant in the world, from its first start on; its sample is in `sample`."""

    def __init__(self, world, contestant):
        self.world, self.contestant, self.sample = world, contestant, {}
        self.idle = 0.0  # CPU per second at rest
        self.tokens = world.plane.path("tokens.json")

    def do(self):
        world, contestant = self.world, self.contestant
        world.load("clean", f"--target={contestant.target}")
        world.rest()
        with self.run() as running:
            fill = self.report(running, "first reports", "once", 8)
            self.sample["fill_api_cpu_s"] = fill["api_cpu_s"]
            self.check_complete()
        world.rest()
        with self.run() as running:
            self.sample.update(running.sync)
            self.measure_restart(running)
            self.measure_events(running)
            self.measure_latencies(running)
            self.sample["run_peak_mib"] = running.peak_mib()
        self.sample["idle_cpu_s_per_s"] = self.idle
        return self.sample

    @contextlib.contextmanager
    def run(self):
        running = Running(self.world, self.contestant)
        try:
            yield running
        finally:
            running.end()

    def report(self, running, title, what, most):
        """All nodes report once, or some with changes; on as many connections at most. Of more than ten our
        controller refuses some at first: it knows nobody, and all come from one address."""
        size = self.world.size
        return self.step(running, title, "report", *self.agents(running), f"--what={what}", "--rate=40",
                         f"--concurrency={min(most, size.gpu_nodes)}", f"--seconds={size.seconds}")

    def agents(self, running):
        """The arguments of each load that plays the agents."""
        return (f"--target={self.contestant.target}", f"--url=https://{running.url}",
                f"--nodes={self.world.size.gpu_nodes}", f"--gpus-per-node={GPUS_PER_NODE}",
                f"--tokens={self.tokens}")

    def step(self, running, title, *arguments):
        """A load, and what all spent until the controller rests again."""
        say(f"  {self.contestant.name}: {title}")
        before = self.look(running)
        said = self.world.load(*arguments)
        seconds, cpu, api, writes = (b - a for a, b in zip(before, self.settle(running)))
        spent = {"seconds": seconds, "cpu_s": cpu, "api_cpu_s": api, "writes": writes, "said": said}
        self.sample.setdefault("steps", {})[title] = spent
        return spent

    def each_us(self, spent, number):
        """CPU for each of so many, less what is spent at rest."""
        return 1e6 * (spent["cpu_s"] - self.idle * spent["seconds"]) / number

    def look(self, running):
        return (time.monotonic(), running.cpu(), self.world.api_cpu(), self.world.writes(self.contestant))

    def settle(self, running):
        """Until nothing is written and hardly anything computed for two seconds."""
        end = time.monotonic() + SETTLE_S
        before = self.look(running)
        while True:
            time.sleep(2)
            if running.process.poll() is not None:
                raise Failure(f"the controller has ended: see {running.log}")
            now = self.look(running)
            if now[3] == before[3] and now[1] - before[1] < 0.1:
                return now
            if now[0] > end:
                raise Failure(f"{self.contestant.name} does not come to rest: see {running.log}")
            before = now

    def check_complete(self):
        """Each GPU has its object and status: both have done the same work."""
        gpus = self.world.size.gpu_nodes * GPUS_PER_NODE
        items = self.world.plane.do("GET", self.contestant.objects)["items"]
        told = sum("status" in item for item in items)
        if told != gpus:
            raise Failure(f"{self.contestant.name}: {told} of {gpus} GPUs have a status")

    def measure_restart(self, running):
        """What the same reports cost once more, and what rest does."""
        reports = self.report(running, "the same reports", "once", 8)
        before = self.look(running)
        time.sleep(self.world.size.seconds)
        after = self.look(running)
        self.idle = (after[1] - before[1]) / (after[0] - before[0])
        self.sample["restart_us"] = self.each_us(reports, reports["said"]["report-once"]["n"])

    def measure_events(self, running):
        for key, rate, title in (("irrelevant_us", 150, "irrelevant"), ("relevant_us", 100, "relevant")):
            spent = self.step(running, f"{title} pod events", "churn", f"--{title}-only", f"--rate={rate}",
                              f"--seconds={self.world.size.seconds}")
            self.sample[key] = self.each_us(spent, spent["said"]["churn"]["events"])
        spent = self.report(running, "changed reports", "change", 8)
        if not spent["writes"]:
            raise Failure(f"{self.contestant.name}: changed reports led to no write")
        self.sample["written_us"] = self.each_us(spent, spent["writes"])

    def measure_latencies(self, running):
        said = self.step(running, "latencies", "latency", *self.agents(running),
                         f"--n={self.world.size.samples}")["said"]
        bare, event, gone = (said[key] for key in ("limit-patch-to-watch", "latency-report",
                                                   "latency-pod-deleted"))
        if event["lost"] or not gone["n"]:
            raise Failure(f"{self.contestant.name}: statuses did not come within {LOST_MS} ms")
        self.sample["deleted_worst_ms"] = LOST_MS if gone["lost"] else gone["max_ms"]
        for share in ("p50", "p99"):
            self.sample[f"event_{share}_ms"] = event[f"{share}_ms"]
            self.sample[f"bare_{share}_ms"] = bare[f"{share}_ms"]
            self.sample[f"event_{share}_times"] = event[f"{share}_ms"] / bare[f"{share}_ms"]


def measure(options, out):
    """What bench.json has, less the rows: after each turn of both, all that was measured so far."""
    size = SIZES[options.size]
    say("building the peer ...")
    tools = build_peer(options.peer)
    contestants = (ours(os.path.realpath(options.controller), options.option),
                   peer(os.path.join(tools, "peer-controller")))
    samples = {contestant.name: [] for contestant in contestants}
    for name in (*samples, "load"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(out, f"{name}.log"))
    load = os.getloadavg()[0]
    say("starting etcd and kube-apiserver ...")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, started(folder, size) as plane:
        world = World(plane, size, tools, out)
        say(f"filling the world: {size.pods} pods ...")
        world.fill(options.peer)
        for run in range(1, options.runs + 1):
            for contestant in contestants:
                say(f"turn {run} of {options.runs}: {contestant.name}")
                samples[contestant.name].append(Turn(world, contestant).do())
            yield {"size": options.size, "runs": run, "options": options.option,
                   "cores": os.cpu_count(), "load": [load, os.getloadavg()[0]],
                   "world": {"pods": size.pods, "nodes": size.nodes, "gpu_nodes": size.gpu_nodes,
                             "gpus": size.gpu_nodes * GPUS_PER_NODE}, "samples": samples}


@contextlib.contextmanager
def started(folder, size):
    plane = ControlPlane(folder, api_options=[
        "--audit-log-path=", "--max-requests-inflight=1000", "--max-mutating-requests-inflight=500",
        "--event-ttl=5m"], GOMEMLIMIT=size.memory, GOGC="50")
    try:
        yield plane
    finally:
        plane.stop()
