#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audit: a random life of pods and random faults of every component, and each status that was
written held against what containerd really gave to the containers.

usage: audit.py [CLUSTER] [--seed N] [--minutes M] [--replicas N [--then-one]]

Without a cluster's name it starts one of its own with hack/up and ends it. With a name it uses that
running one, made with `hack/up --name NAME -- OPTIONS` (OPTIONS below), and leaves it. The seed is
printed first; the same seed makes the same choices, at about the same times. AUDIT_SEED and
AUDIT_MINUTES do the same as the options.

Three witnesses, none of which is the product or asks the API server:
- The bundles in containerd's state folder on each node. config.json of a bundle names the pod, the
  container, and the devices in NVIDIA_VISIBLE_DEVICES.
- etcd. A watch there has each state of each pod and each GPUAttribution, also of those that an API
  server wrote which was killed before it could answer. (The API server's audit log does not have
  these.) The cluster is told to keep its objects as JSON.
- The kubelet's checkpoint, for when a device was given out. This is up to seconds before there is a
  bundle, and the controller may know it from then on. Whether a device was given to a container is
  up to the bundle; the checkpoint says so only for containers that never ran, or only when their pod
  was gone, without what it had been given. The pod's status says the same (allocatedResourcesStatus).

With --replicas 2 there are two controllers. Mostly the one that leads is killed, paused or deleted. Only
until the next one leads, and for TO_LEAD seconds at most, that is an outage. With --then-one as well, one
of them is ended after half of the time, and the rest is as with --replicas 1. Each half has a round of
faults or more.

Life goes on in rounds: half a minute of faults, rest, and a calm time for the latency.
"""

import argparse
import atexit
import base64
import collections
import contextlib
import ctypes
import functools
import http.client
import itertools
import json
import math
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time

import modes
import replicas
from cluster import (ROOT, Cluster, Direct, Failed, Tests, own_cluster, percentile,
                     wait_for)
from sharing import Sharing, unit_of


def sliced(replicas):
    return Sharing({"version": "v1", "flags": {"migStrategy": "none"}, "sharing": {"timeSlicing": {
        "resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}}}, "2:A100",
        shares={"gpu": replicas})


# What each node starts with comes first; where there is more, it changes under the tenants.
FLEET = {
    "node-1": [Sharing("exclusive", "2:A100"), sliced(4)],
    "node-2": [Sharing("time-slicing", "2:A100", shares={"gpu": 4}), sliced(2), sliced(6)],
    "node-3": [Sharing("mps", "1:A100", shares={"gpu": 4}, mps=True)],
    "node-4": [Sharing("mig-mixed", "2:A100:3g.20gb,1g.5gb,1g.5gb", "mixed")],
}
OPTIONS = ["--nodes", str(len(FLEET)), "--apiserver-arg", "--storage-media-type=application/json",
           *itertools.chain(*(("--gpus", f"{node}={sharings[0].gpus}",
                               "--plugin-config", f"{node}={sharings[0].config}")
                              for node, sharings in FLEET.items()))]

ROUND = 30  # seconds of faults
MOST_PODS, CALM_PODS = 10, 8
TO_SETTLE = 300  # how long the cluster's own parts may take: some back off for a minute or two
AT_REST, STAYS_RIGHT = 10, 1
STALE = 3
BLIND = {"api", "service", "controller"}  # while one of these is away nobody can write
TO_LEAD = 10  # from when the next controller is ready
SLICE_LATE = 5  # Kubernetes itself names a pod in a second
LATENCY, RECENT, FEW = 2, 5, 20
# Of fewer values the 99th percentile is the worst one, which a busy machine decides.
MANY, LONGEST = 100, 10
SCAN = 0.05
SEEN_LATE = 1  # on a busy machine our threads see what was given up to so late
TASKS = "run/containerd/io.containerd.runtime.v2.task/k8s.io"
ENDED = ("Succeeded", "Failed")
LOG = os.path.join(ROOT, ".build", "log", "audit-{seed}-actions.log")
OURS = "gpu-attribution"
NAMESPACES = {"controller": OURS, "agent": f"{OURS}-agents"}
CONTROLLER = f"{OURS}-controller"  # its Service and its Lease

tests = Tests(clean=lambda cluster: None)
options = argparse.Namespace()


# --- what is seen


class Etcd(threading.Thread):
    """Each state of what lies below a key of etcd's, in order; it follows etcd through restarts."""

    def __init__(self, direct, prefix, take):
        super().__init__(daemon=True)
        self.direct, self.take = direct, take
        self.span = {"key": self.encode(prefix), "range_end": self.encode(prefix[:-1] + "0")}
        found = self.ask("/v3/kv/range", self.span)
        for row in found.get("kvs", []):
            self.tell(row, False)
        self.next = int(found["header"]["revision"]) + 1
        self.start()

    @staticmethod
    def encode(text):
        return base64.b64encode(text.encode()).decode()

    def post(self, path, body):
        connection = self.direct.open(2379, timeout=10)
        connection.request("POST", path, json.dumps(body))
        return connection, connection.getresponse()

    def ask(self, path, body):
        connection, answer = self.post(path, body)
        with contextlib.closing(connection):
            return json.loads(answer.read())

    def tell(self, row, is_deleted):
        key = base64.b64decode(row["key"]).decode()
        self.take(key, None if is_deleted else json.loads(base64.b64decode(row["value"])))

    def run(self):
        while True:
            with contextlib.suppress(OSError, ValueError, Failed, http.client.HTTPException):
                self.follow()
            time.sleep(SCAN)  # etcd is away

    def follow(self):
        connection, answer = self.post(
            "/v3/watch", {"create_request": {**self.span, "start_revision": str(self.next)}})
        with contextlib.closing(connection):
            while line := answer.readline():
                for event in json.loads(line).get("result", {}).get("events", []):
                    self.tell(event["kv"], event.get("type") == "DELETE")
                    self.next = int(event["kv"]["mod_revision"]) + 1


class Pod:
    """What etcd had of a pod, by its UID."""

    def __init__(self, item):
        self.name = item["metadata"]["name"]
        self.namespace = item["metadata"]["namespace"]
        self.ended_at = self.deleted_at = math.inf
        self.item = item

    def update(self, item, now):
        self.item = item
        if self.phase() in ENDED:
            self.ended_at = min(self.ended_at, now)

    def node(self):
        return self.item["spec"].get("nodeName")

    def phase(self):
        return self.item["status"].get("phase")

    def is_leaving(self):
        return "deletionTimestamp" in self.item["metadata"]

    def condition(self, kind):
        return next((c for c in self.item["status"].get("conditions", []) if c["type"] == kind), {})

    def container_ids(self):
        return [c.get("containerID") for c in self.item["status"].get("containerStatuses", [])]

    def port(self, name):
        """Address and number of the port of that name."""
        return self.item["status"]["podIP"], next(
            port["containerPort"] for container in self.item["spec"]["containers"]
            for port in container.get("ports", []) if port["name"] == name)

    def is_backing_off(self, container):
        """Has it ended, and will it be started again after a while?"""
        return self.item["spec"]["restartPolicy"] != "Never" and any(
            c["name"] == container and
            ("terminated" in c["state"] or
             c["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff")
            for c in self.item["status"].get("containerStatuses", []))


State = collections.namedtuple("State", "at name ready tenants why")
Tenant = collections.namedtuple("Tenant", "uid container partitions confidence phase witnesses")


class Bundle:
    """A container that the runtime has been told to run."""

    def __init__(self, node, config, now):
        notes = config.get("annotations", {})
        self.node = node
        self.namespace = notes.get("io.kubernetes.cri.sandbox-namespace")
        self.uid = notes.get("io.kubernetes.cri.sandbox-uid")
        self.container = notes.get("io.kubernetes.cri.container-name")
        environment = dict(row.partition("=")[::2] for row in config["process"].get("env") or [])
        listed = environment.get("NVIDIA_VISIBLE_DEVICES", "").split(",")
        self.ids = {i for i in listed if i.startswith(("GPU-", "MIG-"))}
        self.first, self.last = now, math.inf


class Renames(threading.Thread):
    """Calls `look` at once whenever a file is moved into a folder. The kubelet replaces its checkpoint
    so, and what it gave to a pod that is deleted meanwhile is in there for some milliseconds only."""

    MOVED_TO = 0x80  # sys/inotify.h

    def __init__(self, folder, look):
        super().__init__(daemon=True)
        libc = ctypes.CDLL(None, use_errno=True)
        self.look, self.fd = look, libc.inotify_init1(os.O_CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, folder.encode(), self.MOVED_TO) < 0:
            raise Failed(f"inotify of {folder}: {os.strerror(ctypes.get_errno())}")
        self.start()

    def run(self):
        while os.read(self.fd, 65536):
            self.look()


def allocated_by_status(item):
    """What the kubelet says in the pod's status that it gave out. A pod that it hears of as it ends has
    a device for milliseconds only, and two checkpoints in a row may be read as one."""
    for status in item.get("status", {}).get("containerStatuses", []):
        for resource in status.get("allocatedResourcesStatus", []):
            for device in resource.get("resources", []):
                yield item["metadata"]["uid"], status["name"], unit_of(device["resourceID"])


class History:
    """All that was seen, by who saw it. Times are this machine's."""

    def __init__(self, cluster, direct):
        self.lock = threading.RLock()
        self.states = []  # State, of all GPUAttributions
        self.shown = {}  # the last one, by name
        self.pods = {}  # by UID, also those that are gone
        self.uid_at = {}  # of the pod at a key
        self.bundles = {}  # by container, those that are there
        self.past = []  # and those that were
        self.given = {}  # (uid, container, ID) to when the checkpoint had it first
        self.parents = {}  # GPU by ID of what is given out
        self.leader = ""  # the identity of the controller that holds the Lease
        self.n_leads = 0  # how often another one did
        self.direct = direct
        self.checkpoints = {}
        for node in FLEET:
            for gpu in modes.devices(cluster, node):
                self.parents[gpu["uuid"]] = gpu["uuid"]
                self.parents.update((d["uuid"], gpu["uuid"]) for d in gpu.get("migDevices", []))
        Etcd(direct, "/registry/pods/", self.take_pod)
        Etcd(direct, "/registry/gpuattribution.dev/gpuattributions/", self.take_attribution)
        Etcd(direct, f"/registry/leases/{OURS}/", self.take_lease)
        for node in FLEET:
            Renames(os.path.dirname(self.checkpoint_of(node)),
                    functools.partial(self.try_checkpoint, node))
        threading.Thread(target=self.scan_for_ever, daemon=True).start()

    def take_pod(self, key, item):
        now = time.time()
        with self.lock:
            if item is None:
                uid = self.uid_at.pop(key, None)
                if uid:
                    self.pods[uid].deleted_at = now
                return
            uid = item["metadata"]["uid"]
            self.uid_at[key] = uid
            self.pods.setdefault(uid, Pod(item)).update(item, now)
            for key in allocated_by_status(item):
                self.given.setdefault(key, now)

    def take_attribution(self, key, item):
        status = (item or {}).get("status", {})
        tenants = [Tenant(t["podUID"], t["container"], frozenset(t.get("partitions", [])),
                          t["confidence"], t["phase"], tuple(t.get("witnesses", [])))
                   for t in status.get("tenants", [])]
        said = {c["type"]: c for c in status.get("conditions", [])}
        why = [f'{kind} {said[kind]["status"]}, {said[kind]["reason"]}: {said[kind]["message"]}'
               for kind in ("Ready", "Attributed") if kind in said]
        state = State(time.time(), key.rpartition("/")[2], said.get("Ready", {}).get("status"),
                      tenants, "; ".join(why))
        with self.lock:
            self.states.append(state)
            self.shown[state.name] = state
            if item is None:
                del self.shown[state.name]

    def take_lease(self, key, item):
        if key.endswith(f"/{CONTROLLER}"):
            before, self.leader = self.leader, (item or {"spec": {}})["spec"].get("holderIdentity", "")
            self.n_leads += self.leader not in ("", before)

    def leads(self, pod):
        """Whether the pod is the controller that holds the Lease."""
        return self.leader.startswith(f"{pod.name}_")

    def scan_for_ever(self):
        while True:
            for node in FLEET:
                with contextlib.suppress(OSError, Failed):
                    self.scan_bundles(node)
                self.try_checkpoint(node)
            time.sleep(SCAN)

    def scan_bundles(self, node):
        folder = f"/proc/{self.direct.recorded_pid(node)}/root/{TASKS}"
        there, now = set(os.listdir(folder)), time.time()
        for name in there - self.bundles.keys():
            with contextlib.suppress(OSError, ValueError, KeyError):  # half written: next time
                with open(os.path.join(folder, name, "config.json"), encoding="utf-8") as file:
                    bundle = Bundle(node, json.load(file), now)
                with self.lock:
                    self.bundles[name] = bundle
        for name in [n for n, b in self.bundles.items() if b.node == node and n not in there]:
            with self.lock:
                bundle = self.bundles.pop(name)
                bundle.last = now
                self.past.append(bundle)

    def checkpoint_of(self, node):
        return os.path.join(self.direct.state, node, "kubelet", "device-plugins",
                            "kubelet_internal_checkpoint")

    def try_checkpoint(self, node):
        with contextlib.suppress(OSError, ValueError, KeyError):
            self.scan_checkpoint(node)

    def scan_checkpoint(self, node):
        with open(self.checkpoint_of(node), encoding="utf-8") as file:
            at = os.fstat(file.fileno()).st_mtime
            if self.checkpoints.get(node) == at:
                return
            entries = json.load(file)["Data"]["PodDeviceEntries"] or []
        self.checkpoints[node] = at
        with self.lock:
            for entry in entries:
                for device in itertools.chain(*entry["DeviceIDs"].values()):
                    self.given.setdefault(
                        (entry["PodUID"], entry["ContainerName"], unit_of(device)), at)

    def live_pods(self, namespace="default", app=None):
        with self.lock:
            pods = [(uid, self.pods[uid]) for uid in self.uid_at.values()]
        return {uid: pod for uid, pod in pods if pod.namespace == namespace and (
            not app or pod.item["metadata"]["labels"].get("app.kubernetes.io/name") == app)}

    def ours(self, part, node=None):
        """Pods of the controller or the agent (of a node)."""
        pods = self.live_pods(NAMESPACES[part], f"{OURS}-{part}")
        return {uid: pod for uid, pod in pods.items()
                if not node or pod.node() == node}

    def all_bundles(self):
        with self.lock:
            return [b for b in [*self.past, *self.bundles.values()] if b.namespace == "default"]

    def running(self):
        with self.lock:
            return [b for b in self.bundles.values() if b.namespace == "default" and b.container]


# --- what is done


Rest = collections.namedtuple("Rest", "at longest wrong n")


class Outage:
    """A time in which a part could not do its work. scope: "api", "service" (the API server works and
    the controller does not reach it), "controller", "agent/node-1" or "node-1"."""

    def __init__(self, scope, what, is_over):
        self.scope, self.what, self.is_over = scope, what, is_over
        self.start, self.end = time.time(), math.inf


PROBE = """
import socket, sys, time
states = {}
while True:
    for target in sys.argv[1:]:
        host, _, port = target.rpartition(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
            state = "up"
        except OSError:
            state = "down"
        if states.get(target) != state:
            states[target] = state
            print(target, state, flush=True)
    time.sleep(0.25)
"""


CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)"


class Services:
    """Which Services can be reached from which node. A kube-proxy that has lost its watches learns of
    new endpoints when its own back-off has passed. Until then a Service leads nowhere, though what is
    behind it can be reached from the same node. Where that cannot be reached either, the Service is
    no excuse."""

    def __init__(self, cluster, direct):
        def address(*args):
            spec = cluster.get("service", *args)["spec"]
            return f"{spec['clusterIP']}:{spec['ports'][0]['port']}"
        self.api = address("kubernetes", "-n", "default")
        self.controller = address("gpu-attribution-controller", "-n", OURS)
        endpoints = cluster.get("endpoints", "kubernetes", "-n", "default")["subsets"][0]
        self.behind_api = endpoints["addresses"][0]["ip"], endpoints["ports"][0]["port"]
        self.down = set()  # (node, address)
        self.inside = {node: ["nsenter", f"--net=/proc/{direct.recorded_pid(node)}/ns/net",
                              sys.executable, "-c"] for node in FLEET}
        for node in FLEET:
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                self.inside[node] + [PROBE, self.api, self.controller],
                stdout=subprocess.PIPE, text=True)
            atexit.register(process.kill)
            threading.Thread(target=self.follow, args=(node, process.stdout), daemon=True).start()

    def follow(self, node, lines):
        for line in lines:
            address, state = line.split()
            (self.down.add if state == "down" else self.down.discard)((node, address))

    def is_down(self, node, address):
        return (node, address) in self.down

    def reaches(self, node, behind):
        """Whether the node reaches what is behind a Service, around the Service."""
        return subprocess.run(self.inside[node] + [CONNECT, *map(str, behind)], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0


class Life:
    """What happens to the cluster. Two hands do the faults, one of the control plane and one of the
    rest, and one the pods; each has its own random numbers."""

    NO_API, NO_CONTROLLER = "does not reach the API server", "does not reach the controller"
    EVICTED = "is evicted from its node"

    def __init__(self, cluster):
        self.cluster, self.direct = cluster, Direct(cluster)
        self.began, self.actions, self.outages = time.time(), [], []
        self.kinds = collections.Counter()
        self.done = threading.Event()
        self.lock = threading.Lock()
        self.chances = {hand: random.Random(f"{options.seed} {hand}")
                        for hand in ("pods", "control plane", "nodes")}
        self.sharing = {node: sharings[0] for node, sharings in FLEET.items()}
        self.wanted, self.number = [], 0
        self.leads_nowhere_since = math.inf  # the controller's Service, or since it was touched
        self.rests = []
        os.makedirs(os.path.dirname(LOG), exist_ok=True)
        self.log = open(LOG, "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.history = History(cluster, self.direct)
        self.services = Services(cluster, self.direct)
        threading.Thread(target=self.watch_outages, daemon=True).start()

    def say(self, text):
        with self.lock:
            now = time.time()
            self.actions.append((now, text))
            self.log.write(f"{clock(now)} {now - self.began:7.2f} s  {text}\n")
            self.log.flush()

    def around(self, at):
        """What was done before something went wrong, and just after."""
        return [f"  {clock(when)} {text}" for when, text in self.actions
                if at - 20 <= when <= at + 2]

    # outages

    def fault(self, kind, scope, what, is_over=lambda: False):
        self.kinds[kind] += 1
        self.say(f"{kind}: {what}")
        outage = Outage(scope, what, is_over)
        with self.lock:
            self.outages.append(outage)
        return outage

    def cut_off(self, scope, node, address, behind, what):
        """An outage of what cannot be reached from the node through its Service, until it can."""
        if self.services.is_down(node, address) and not any(
                o.what == what and o.end == math.inf for o in self.outages) \
                and self.services.reaches(node, behind):
            self.fault("Service not reached", scope, what,
                       lambda: not self.services.is_down(node, address))

    def is_cut_off(self):
        """Whether a Service leads nowhere at present, or nobody runs the controller: what rests on it
        cannot be right."""
        return any(o.end == math.inf and o.what.endswith(
            (self.NO_API, self.NO_CONTROLLER, self.EVICTED)) for o in self.outages)

    def watch_controller(self):
        """Kubernetes takes a pod from a node that it holds for dead, as of a kubelet that was paused.
        Where there is no other controller nobody writes until the next one is ready."""
        for pod in self.history.ours("controller").values():
            started = pod.container_ids()
            if started and all(started) and not pod.is_leaving():
                return
        if not any(o.scope == "controller" and o.end == math.inf for o in self.outages):
            self.fault("controller evicted", "controller", f"the controller {self.EVICTED}",
                       lambda: self.is_up("controller"))

    def watch_services(self):
        """What is behind a Service works, and from a node that needs it it leads nowhere."""
        if not self.services.down or not self.direct.is_ready():
            return
        for pod in self.history.ours("controller").values():
            if options.replicas > 1 and not self.history.leads(pod):
                continue
            self.cut_off("service", pod.node(), self.services.api, self.services.behind_api,
                         f"the controller on {pod.node()} {self.NO_API}")
            for node in FLEET if self.is_up("controller") else ():
                self.cut_off(f"agent/{node}", node, self.services.controller, pod.port("reports"),
                             f"{node} {self.NO_CONTROLLER}")

    def watch_outages(self):
        while True:
            for watch in (self.watch_services, self.watch_controller):
                with contextlib.suppress(Failed, KeyError, OSError):
                    watch()
            with self.lock:
                waiting = [outage for outage in self.outages if outage.end == math.inf]
            for outage in waiting:
                with contextlib.suppress(Failed, KeyError, OSError):
                    if outage.is_over() and outage.end == math.inf:
                        outage.end = time.time()
                        self.say(f"over: {outage.what}")
            time.sleep(SCAN)

    def is_restarted(self, component):
        """Tells whether another process of the component runs than now."""
        before = self.direct.recorded_pid(component)

        def has_another():
            now = self.direct.recorded_pid(component)
            return now != before and os.path.exists(f"/proc/{now}")
        return has_another

    def is_serving(self, component):
        """The same of what the API server is made of, and it has to answer."""
        is_new = self.is_restarted(component)
        return lambda: is_new() and self.direct.is_ready()

    def is_replaced(self, part, node=None, lost=None):
        """Tells whether another container of ours is ready than those that are there now, or than those
        of the pods that are lost."""
        lost = self.history.ours(part, node).values() if lost is None else lost
        before = {i for pod in lost for i in pod.container_ids()}

        def is_ready():
            return any(pod.condition("Ready").get("status") == "True" and not pod.is_leaving()
                       and not before & set(pod.container_ids())
                       for pod in self.history.ours(part, node).values())
        return is_ready

    def until_next_leads(self, lost):
        """Tells whether another controller writes than the pod that is lost. Its Lease runs on, and the
        next one may be ready before it can have it."""
        before, ready_at = self.history.leader, []
        is_ready = self.is_replaced("controller", lost=[lost])

        def leads():
            if not ready_at and is_ready():
                ready_at.append(time.time())
            return bool(ready_at) and (self.history.leader not in ("", before)
                                       or time.time() - ready_at[0] >= TO_LEAD)
        return leads

    def pause(self, kind, scopes, what, pids, seconds, replaced=lambda: False):
        """Holds processes for a while. `scopes`: whose outage it is; the API server's ends when it
        answers, and that of a controller when it is replaced."""
        is_over = self.direct.is_ready if "api" in scopes else lambda: False
        ends = {"controller": replaced}
        outages = [self.fault(kind, scopes[0], f"{what} for {seconds:.1f} s",
                              ends.get(scopes[0], lambda: False))]
        for scope in scopes[1:]:
            outages.append(Outage(scope, what, ends.get(scope, lambda: False)))
            with self.lock:
                self.outages.append(outages[-1])
        held = []
        try:
            for pid in pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                    held.append(pid)
            self.done.wait(seconds)
        finally:
            for pid in held:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            for outage in outages:
                outage.is_over = is_over if outage.scope == "api" else lambda: True

    def kill(self, kind, scope, component, is_over):
        self.fault(kind, scope, f"{component} is killed", is_over)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.direct.recorded_pid(component), signal.SIGKILL)

    # the control plane

    def disturb_control_plane(self, chance):
        choice = chance.choices(["burst", "away", "pause", "restart", "etcd", "pause etcd"],
                                [20, 2, 4, 1, 2, 2])[0]
        api = "kube-apiserver"
        if choice == "burst":
            for _ in range(chance.randint(2, 5)):
                self.kill("API server killed", "api", api, self.is_serving(api))
                self.wait_api()
                self.done.wait(chance.uniform(0.2, 5))
        elif choice == "away":
            self.fault("API server away", "api", "the API server is away", self.is_serving(api))
            self.stop_and_start("kill", api, chance.uniform(2, 10))
        elif choice == "restart":
            self.fault("API server restarted", "api", "the API server is restarted",
                       self.is_serving(api))
            self.stop_and_start("stop", api, 0)
        elif choice == "etcd":
            self.kill("etcd killed", "api", "etcd", self.is_serving("etcd"))
        else:
            component = "etcd" if choice == "pause etcd" else api
            self.pause(f"{component} paused", ["api"], f"{component} is paused",
                       lambda: [self.direct.recorded_pid(component)], chance.uniform(1, 15))
        self.wait_api()
        self.done.wait(chance.uniform(1, 5))

    def stop_and_start(self, verb, component, seconds):
        try:
            self.cluster.ctl(verb, component)
            self.done.wait(seconds)
        finally:
            self.cluster.ctl("start", component)

    def wait_api(self):
        def is_up():
            return not any(o.scope == "api" and o.end == math.inf for o in self.outages)
        wait_for("the API server", is_up, timeout=60)

    # the nodes and what is ours

    def disturb_nodes(self, chance):
        node = chance.choice(list(FLEET))
        part = chance.choice(["kubelet", "device-plugin", "containerd", "node", "configuration",
                              "controller", "agent"])
        if part == "node":
            self.pause_node(node, chance.uniform(1, 15))
        elif part == "configuration":
            self.change_configuration(chance)
        elif part in ("controller", "agent"):
            self.disturb_ours(chance, part, node if part == "agent" else None)
        else:
            component = f"{node}/{part}"
            how = chance.choice(["kill", "pause", "restart"])
            if how == "kill":
                self.kill(f"{part} killed", node, component, self.is_restarted(component))
            elif how == "pause":
                self.pause(f"{part} paused", [node], f"{component} is paused",
                           lambda: [self.direct.recorded_pid(component)], chance.uniform(1, 15))
            else:
                self.fault(f"{part} restarted", node, f"{component} is restarted",
                           self.is_restarted(component))
                self.stop_and_start("stop", component, 0)
        self.done.wait(chance.uniform(0.5, 5))

    def pause_node(self, node, seconds):
        init = self.direct.recorded_pid(node)
        scopes, replaced = [node, f"agent/{node}"], lambda: False
        for pod in self.history.ours("controller", node).values():
            if options.replicas == 1:
                scopes.append("controller")
            elif self.history.leads(pod):
                scopes.append("controller")
                replaced = self.until_next_leads(pod)

        def processes():
            """Its process 1, which is held first, then all below it, twice over for those that were
            being born."""
            yield init
            for _ in range(2):
                yield from below(init)
        self.pause("node paused", scopes, f"{node} is paused", processes, seconds, replaced)

    def change_configuration(self, chance):
        node = chance.choice([node for node, sharings in FLEET.items() if len(sharings) > 1])
        sharing = chance.choice([s for s in FLEET[node] if s is not self.sharing[node]])
        component = f"{node}/device-plugin"
        self.fault("configuration changed", node,
                   f"{node} offers each GPU {sharing.shares.get('gpu', 1)} times",
                   self.is_restarted(component))
        self.sharing[node] = sharing
        modes.put_config(self.cluster, node, sharing.config)
        self.stop_and_start("stop", component, 0)

    def choose_controller(self, chance, pods):
        """Of several mostly the one that leads."""
        leading = [pod for pod in pods if self.history.leads(pod)]
        return leading[0] if len(pods) > 1 and leading and chance.random() < 0.75 else \
            chance.choice(pods) if len(pods) > 1 else pods[0]

    def disturb_ours(self, chance, part, node):
        scope = f"agent/{node}" if node else part
        name = f"the {part}{f' of {node}' if node else ''}"
        how, seconds = chance.choice(["kill", "pause", "delete"]), chance.uniform(1, 15)
        pods = [pod for pod in self.history.ours(part, node).values() if not pod.is_leaving()]
        if not pods or not all(pods[0].container_ids()):
            return
        pod, is_over, replaced = pods[0], None, lambda: False
        if node:
            is_over = self.is_replaced(part, node)
        else:
            pod = self.choose_controller(chance, pods)
            is_over = self.until_next_leads(pod)
            if len(pods) > 1:
                replaced = is_over
            if options.replicas > 1 and not self.history.leads(pod):
                scope, name, is_over = "follower", "the controller that follows", \
                    self.is_replaced(part, lost=[pod])
        # The kubelet makes a container wait that ends twice, up to minutes: then a new pod instead.
        if how == "kill" and pod.item["status"]["containerStatuses"][0]["restartCount"]:
            how = "delete"
        if how == "pause":
            self.pause(f"{part} paused", [scope], f"{name} is paused",
                       lambda: [self.cluster.pid_of(pod.item)], seconds, replaced)
        elif how == "kill":
            self.fault(f"{part} killed", scope, f"{name} is killed", is_over)
            os.kill(self.cluster.pid_of(pod.item), signal.SIGKILL)
        else:
            path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
            keep_logs(self.cluster)  # they go with the pod
            if self.direct.request("DELETE", path)[0] == 200:
                self.fault(f"{part} replaced", scope, f"{name} is deleted", is_over)

    # the pods

    def make_pod(self, chance, name, is_calm=False):
        node = chance.choices(list(FLEET), [2, 4, 3, 3])[0]
        resource = "nvidia.com/gpu"
        if node == "node-4":
            resource = chance.choices([resource, "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"],
                                      [1, 2, 1])[0]
        kind = "stays" if is_calm else chance.choices(
            ["stays", "ends", "crashes", "pair", "two"], [50, 20, 12, 9, 9])[0]
        manifest = Cluster.pod_manifest(name, node, 2 if kind == "two" else 1, chance.randint(0, 3),
                                        resource)
        spec, container = manifest["spec"], manifest["spec"]["containers"][0]
        seconds = chance.uniform(1, 8)
        if kind == "ends":
            spec["restartPolicy"] = "Never"
            container["command"] = ["/bin/sh", "-c", f"sleep {seconds:.1f}"]
        elif kind == "crashes":
            container["command"] = ["/bin/sh", "-c", f"sleep {seconds / 3:.1f}; exit 1"]
        elif chance.random() < 0.3:  # takes all of its grace period
            container["command"] = ["/bin/sh", "-c", "trap '' TERM; sleep 100000"]
        if kind == "pair":
            spec["containers"].append({**container, "name": "other"})
        # Without the scheduler the kubelet may have to refuse it.
        if chance.random() < 0.4:
            del spec["nodeSelector"]
            spec["nodeName"] = node
        return kind, manifest

    def create(self, kind, manifest):
        """Returns whether that is settled: created, or it can never be."""
        name = manifest["metadata"]["name"]
        code, _ = self.direct.request("POST", "/api/v1/namespaces/default/pods", manifest)
        if code == 409:  # the one before it is not gone yet
            return False
        node = manifest["spec"].get("nodeName") or \
            manifest["spec"]["nodeSelector"]["kubernetes.io/hostname"]
        self.say(f"pod {name} ({kind}, {node}) is created: {code}")
        return True

    def delete(self, name, grace):
        code, _ = self.direct.request("DELETE", f"/api/v1/namespaces/default/pods/{name}",
                                      {"gracePeriodSeconds": grace} if grace is not None else None)
        self.say(f"pod {name} is deleted, grace {grace}: {code}")

    def live(self, chance):
        self.wanted = [row for row in self.wanted if not self.create(*row)]
        pods = sorted(pod.name for pod in self.history.live_pods().values()
                      if not pod.is_leaving())
        what = chance.choices(["create", "delete", "replace"], [5, 3, 2])[0]
        if len(pods) < 4:
            what = "create"
        elif len(pods) >= MOST_PODS and what == "create":
            what = "delete"
        if what == "create":
            self.number += 1
            self.create(*self.make_pod(chance, f"pod-{self.number}"))
        else:
            name = chance.choice(pods)
            self.delete(name, chance.choice([None, 0, 0, 1, 2, 3]))
            if what == "replace" and not any(m["metadata"]["name"] == name for _, m in self.wanted):
                self.wanted.append(self.make_pod(chance, name))
        self.done.wait(chance.uniform(0.2, 1.6))

    # rounds

    def hand(self, name, work):
        chance = self.chances[name]
        while not self.done.is_set():
            try:
                work(chance)
            except (Failed, OSError, subprocess.SubprocessError, KeyError) as error:
                self.say(f"{name}: {type(error).__name__} {error}")

    def disturb(self, seconds):
        self.done.clear()
        hands = [threading.Thread(target=self.hand, args=row, daemon=True) for row in (
            ("pods", self.live), ("control plane", self.disturb_control_plane),
            ("nodes", self.disturb_nodes))]
        for hand in hands:
            hand.start()
        time.sleep(seconds)  # how long they go on
        self.done.set()
        for hand in hands:
            hand.join()
        self.say("no more faults")

    def calm(self):
        """Other pods, while nothing fails."""
        self.done.clear()
        chance = self.chances["pods"]
        last = max((outage.end for outage in self.outages if outage.end < math.inf), default=0)
        self.done.wait(max(0.0, last + RECENT - time.time()))
        for uid, pod in self.history.live_pods().items():
            if chance.random() < 0.6 or pod.phase() in ENDED or uid in self.backing_off():
                self.delete(pod.name, 0)
        self.wanted.clear()
        for _ in range(CALM_PODS):
            self.number += 1
            self.create(*self.make_pod(chance, f"pod-{self.number}", is_calm=True))
            self.done.wait(0.3)

    def backing_off(self):
        return {uid for uid, pod in self.history.live_pods().items()
                if any(pod.is_backing_off(c["name"]) for c in pod.item["spec"]["containers"])}

    def go(self):
        start, seconds = time.time(), options.minutes * 60
        self.rest()
        self.calm()
        self.rest()
        if options.then_one and not (self.go_on(start + seconds / 2) and self.leave_one()):
            return self
        self.go_on(start + seconds)
        return self

    def go_on(self, end):
        """A round, and further ones until that time. Returns whether the cluster came to rest."""
        while True:
            self.disturb(ROUND)
            if not self.rest():
                return False
            self.calm()
            self.rest()
            if time.time() >= end:
                return True

    def leave_one(self):
        """From now on there is one controller. Which of the two goes is up to Kubernetes. Agents find it by
        the name that has followed it so far. Returns whether the cluster came to rest."""
        options.replicas = 1
        self.fault("controller scaled down", "controller", "one of two controllers is ended",
                   lambda: self.is_up("controller"))
        self.cluster.kubectl(*replicas.NAMESPACE, "scale", replicas.CONTROLLER, "--replicas=1")
        return self.rest()

    # rest

    def what_is_down(self):
        """What of the cluster's own parts does not work; or nothing."""
        for outage in self.outages:
            if outage.end == math.inf:
                return f"not over: {outage.what}"
        if not self.direct.is_ready():
            return "the API server"
        for node, sharing in self.sharing.items():
            item = self.cluster.node(node)
            ready = next(c for c in item["status"]["conditions"] if c["type"] == "Ready")
            if ready["status"] != "True":
                return f"{node}: {ready}"
            offer = sharing.offer(modes.devices(self.cluster, node))
            if modes.allocatable(self.cluster, node) != offer:
                return f"{node} does not offer {offer}"
            if not self.is_up("agent", node):
                return f"the agent of {node}"
        return "" if self.is_up("controller") else "the controller"

    def is_up(self, part, node=None):
        pods = self.history.ours(part, node).values()
        wanted = options.replicas if part == "controller" else 1
        return len(pods) == wanted and all(pod.condition("Ready").get("status") == "True"
                                      and not pod.is_leaving() for pod in pods)

    def what_moves(self):
        """UIDs of pods that are on their way, or whose containers are, with what it is."""
        pods, found = self.history.live_pods(), {}
        running = collections.defaultdict(set)
        for bundle in self.history.running():
            running[bundle.uid].add(bundle.container)
            if bundle.uid not in pods:
                found[bundle.uid] = f"a container of {bundle.uid}, which has no pod any more"
        for uid, pod in pods.items():
            if why := self.why_it_moves(pod, running[uid]):
                found[uid] = f"{pod.name} {why}"
        return {**self.kept_by_kubelet(pods), **found}

    def was_unseen(self, at):
        return any(o.scope in BLIND and o.start <= at <= o.end for o in self.outages)

    def kept_by_kubelet(self, pods):
        """Pods that a status names though they were deleted, while no controller could see it, and that
        the kubelet of their node still has, for its watch was lost, too. It says itself what it has."""
        history, found = self.history, {}
        with history.lock:
            named = {t.uid for state in history.shown.values() for t in state.tenants}
            gone = {uid: history.pods[uid] for uid in named - pods.keys() if uid in history.pods
                    and history.pods[uid].namespace == "default"
                    and self.was_unseen(history.pods[uid].deleted_at)}
        for node in {pod.node() for pod in gone.values()}:
            code, answer = self.direct.request("GET", f"/api/v1/nodes/{node}/proxy/pods")
            kept = {item["metadata"]["uid"] for item in json.loads(answer)["items"] or []} \
                if code == 200 else set()
            found.update((uid, f"{gone[uid].name}, which is deleted, and {node} has not heard of it")
                         for uid in kept & gone.keys())
        return found

    @staticmethod
    def why_it_moves(pod, running):
        if pod.is_leaving():
            return "is being deleted"
        if pod.phase() in ENDED:
            return "has ended and its containers have not" if running else ""
        if not pod.node():
            is_settled = pod.condition("PodScheduled").get("reason") == "Unschedulable"
            return "" if is_settled else "is not scheduled"
        missing = [c["name"] for c in pod.item["spec"]["containers"]
                   if c["name"] not in running and not pod.is_backing_off(c["name"])]
        return f"does not run {', '.join(missing)}" if missing else ""

    def truth(self):
        """(uid, container, GPU) of each container that runs, to its partitions."""
        found = {}
        for bundle in self.history.running():
            for device in bundle.ids:
                key = (bundle.uid, bundle.container, self.history.parents.get(device, device))
                found.setdefault(key, set())
                if device.startswith("MIG-"):
                    found[key].add(device)
        return found

    def differences(self, moving):
        """What is wrong with the statuses as they are now, but for pods that move; and with their
        condition when nothing does. A container that is about to be started again holds its
        devices, and may be listed with those that it has had."""
        waiting, truth = self.backing_off(), self.truth()
        had = {(b.uid, b.container, self.history.parents.get(i, i))
               for b in self.history.all_bundles() for i in b.ids}
        with self.history.lock:
            states = list(self.history.shown.values())
        gpus = {gpu.lower(): gpu for gpu in self.history.parents.values()}
        shown = {(t.uid, t.container, gpus.get(state.name, state.name)): set(t.partitions)
                 for state in states for t in state.tenants if t.uid in self.history.pods
                 and self.history.pods[t.uid].namespace == "default"}
        wrong = [f"not listed: {self.told(key)}" for key in truth.keys() - shown.keys()
                 if key[0] not in moving]
        wrong += [f"listed: {self.told(key)}" for key in shown.keys() - truth.keys()
                  if key[0] not in moving and (key[0] not in waiting or key not in had)]
        wrong += [f"{self.told(key)}: {sorted(shown[key])}, not {sorted(truth[key])}"
                  for key in truth.keys() & shown.keys() if shown[key] != truth[key]]
        if not moving:
            wrong += [f"{state.name}: Ready is {state.ready}" for state in states
                      if state.ready != "True"]
        return wrong

    def told(self, key):
        uid, container, gpu = key
        pod = self.history.pods.get(uid)
        return f"{pod.name if pod else '?'}/{container} ({uid}) on {gpu}"

    def rest(self):
        """Waits until all is up, and then until nothing moves and all is right. What is wrong may
        be so for ten seconds; each thing has its own, from when its pod stopped to move. Returns
        whether the cluster came to rest."""
        end = time.time() + TO_SETTLE
        if why := self.wait_up(end):
            self.rests.append(Rest(time.time(), 0, [f"within {TO_SETTLE} s not up: {why}"], 0))
            return False
        since, longest, right_since = {}, 0.0, None
        while True:
            now, moving = time.time(), self.what_moves()
            wrong = {} if self.is_cut_off() else self.differences(moving)
            since = {what: since.get(what, now) for what in wrong}
            longest = max([longest, *(now - at for at in since.values())])
            right_since = None if wrong or moving or self.is_cut_off() else right_since or now
            if longest > AT_REST:
                return self.rested([what for what, at in since.items() if now - at > AT_REST],
                                   longest)
            if right_since and now - right_since >= STAYS_RIGHT:
                return self.rested([], longest)
            if now > end:
                what = f"within {TO_SETTLE} s no rest: {'; '.join([*moving.values(), *wrong])}"
                self.rests.append(Rest(now, longest, [what], 0))
                return False
            time.sleep(SCAN)

    def wait_up(self, end):
        """Returns what is not up at the end."""
        while True:
            try:
                why = self.what_is_down()
            except (Failed, KeyError, OSError) as error:
                why = str(error)
            if not why:
                self.say("all is up")
            if not why or time.time() > end:
                return why
            with contextlib.suppress(Failed, KeyError, OSError, ValueError, http.client.HTTPException):
                self.hasten_services()
            time.sleep(0.3)

    def hasten_services(self):
        """After an outage of the API server Kubernetes may take its own memory for too old, for minutes
        ("informer cache is out of date"), and a Service leads to no pod though one is ready. It looks
        at once again at a Service that has changed."""
        if not self.is_up("controller"):
            return
        uids, now = set(self.history.ours("controller")), time.time()
        code, answer = self.direct.request(
            "GET", f"/apis/discovery.k8s.io/v1/namespaces/{OURS}/endpointslices"
            f"?labelSelector=kubernetes.io/service-name%3D{CONTROLLER}")
        if code != 200 or any(row["conditions"].get("ready") and row["targetRef"]["uid"] in uids
                              for item in json.loads(answer)["items"]
                              for row in item["endpoints"] or []):
            self.leads_nowhere_since = math.inf
            return
        self.leads_nowhere_since = min(self.leads_nowhere_since, now)
        if now - self.leads_nowhere_since > SLICE_LATE:
            self.leads_nowhere_since = now
            self.cluster.kubectl("-n", OURS, "annotate", "--overwrite", "service", CONTROLLER,
                                 f"audit/touched={now:.0f}")
            self.say(f"# touched Service {CONTROLLER}, which does not lead to the controller")

    def with_reason(self, what):
        """What is wrong, with what its object says of itself, which may have changed meanwhile."""
        with self.history.lock:
            said = [state.why for name, state in self.history.shown.items() if name in what.lower()]
        return f"{what} ({said[0]})" if said else what

    def rested(self, wrong, longest):
        n, wrong = len(self.truth()), [self.with_reason(what) for what in wrong]
        self.say(f"at rest, {n} tenants; wrong for {longest:.2f} s at most; "
                 f"{'; '.join(wrong) or 'now right'}")
        self.rests.append(Rest(time.time(), longest, wrong, n))
        return True


def clock(at):
    return time.strftime("%H:%M:%S", time.localtime(at)) + f"{at % 1:.3f}"[1:]


def below(pid):
    """The processes that descend from one."""
    children = collections.defaultdict(list)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                children[parent].append(int(entry))
    found, queue = [], [pid]
    while queue:
        queue = [child for parent in queue for child in children[parent]]
        found += queue
    return found


# --- the judgement


Wrong = collections.namedtuple("Wrong", "at state tenant why")


class Judge:
    """Holds what was published against what was."""

    def __init__(self, life):
        self.life, self.history = life, life.history
        with self.history.lock:
            self.states = [s._replace(tenants=[t for t in s.tenants if self.is_ours_to_judge(t)])
                           for s in self.history.states]
        self.end = time.time()
        self.gpus = {gpu.lower(): gpu for gpu in self.history.parents.values()}
        self.ran, self.had = collections.defaultdict(list), {}
        for bundle in self.history.all_bundles():
            self.ran[bundle.uid].append(bundle)
            for device in bundle.ids:
                key = (bundle.uid, bundle.container, device)
                self.had[key] = min(bundle.first, self.had.get(key, math.inf))
        self.blind = self.union(BLIND)

    def is_ours_to_judge(self, tenant):
        pod = self.history.pods.get(tenant.uid)
        return not pod or pod.namespace == "default"

    def union(self, scopes):
        """The times in which one of these was away, joined."""
        joined = []
        for outage in sorted((o for o in self.life.outages if o.scope in scopes),
                             key=lambda o: o.start):
            if joined and outage.start <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], outage.end)
            else:
                joined.append([outage.start, outage.end])
        return joined

    def seconds(self, start, end):
        """How much time was between them, without that in which nobody could have written."""
        away = sum(max(0.0, min(end, b) - max(start, a)) for a, b in self.blind)
        return max(0.0, end - start - away)

    def devices(self, state, tenant):
        """What the status says that the container has."""
        return tenant.partitions or {self.gpus.get(state.name, state.name)}

    def first_given(self, tenant, device):
        """When it was given the device, by the runtime or before that by the kubelet. A partition
        is one device; a status may also name just the GPU around it."""
        ids = {device} | {i for i, gpu in self.history.parents.items() if gpu == device}
        keys = [(tenant.uid, tenant.container, i) for i in ids]
        return (min(self.had.get(key, math.inf) for key in keys),
                min(self.history.given.get(key, math.inf) for key in keys))

    def seen_of(self, tenant):
        """What the kubelet and the runtime gave the container, and when."""
        for (uid, container, device), at in sorted(self.history.given.items(), key=str):
            if (uid, container) == (tenant.uid, tenant.container):
                yield f"  in the checkpoint from {clock(at)} on: {device}"
        for b in self.ran[tenant.uid]:
            yield f"  bundle of {b.container} on {b.node} from {clock(b.first)} on: " \
                  f"{' '.join(sorted(b.ids)) or 'no device'}"

    def was_taken_back(self, bundle):
        """Had the kubelet taken the devices back before it told the runtime of the container? Of a
        pod that is deleted by force while its sandbox is made, the kubelet still starts the
        containers. But the next List, or the next pod that is given something, has freed what they
        had (its UpdateAllocatedDevices), and they get none (GetDeviceRunContainerOptions). Until
        then the device was theirs. When the pod went and when there was a bundle is seen by two
        threads of ours, so not to the millisecond."""
        pod = self.history.pods.get(bundle.uid)
        return not bundle.ids and bool(pod) and bundle.first > pod.deleted_at - STALE

    def false_tenants(self):
        """Those that never had the device, or not yet; and counts."""
        wrong, n, unstarted = [], 0, 0
        for state in self.states:
            for tenant in state.tenants:
                if tenant.confidence == "Unconfirmed":
                    continue
                n += 1
                has_run = any(b.container == tenant.container and not self.was_taken_back(b)
                              for b in self.ran[tenant.uid])
                unstarted += not has_run
                for device in self.devices(state, tenant):
                    ran, given = self.first_given(tenant, device)
                    if has_run and ran == math.inf:
                        wrong.append(Wrong(state.at, state, tenant, f"never ran with {device}"))
                    elif min(ran, given - SEEN_LATE) > state.at:
                        why = f"was not given {device} before {clock(min(ran, given))}" \
                            if min(ran, given) < math.inf else f"was never given {device}"
                        wrong.append(Wrong(state.at, state, tenant, why))
        return wrong, n, unstarted

    def gone_at(self, uid):
        """When the pod was deleted, or had ended with its containers gone."""
        pod = self.history.pods.get(uid)
        if not pod:
            return math.inf
        ended = max([pod.ended_at, *(bundle.last for bundle in self.ran[uid])])
        return min(pod.deleted_at, ended)

    def stale(self):
        """Those that were written late, and those that stood too long; how often pods that had gone
        were named at the time of a write by the clock on the wall; and which stood longest."""
        written, stood, by_wall, longest = [], [], 0, (0.0, "none")
        ends = {}
        for state in reversed(self.states):
            end, ends[state.name] = ends.get(state.name, self.end), state.at
            for tenant in state.tenants if state.ready == "True" else []:
                gone = self.gone_at(tenant.uid)
                late = self.seconds(gone, state.at) if gone < state.at else 0
                by_wall += gone + STALE < state.at
                if late > STALE:
                    written.append(Wrong(state.at, state, tenant, f"gone since {clock(gone)}, "
                                         f"{late:.1f} s before the write"))
                if gone < end:
                    lasted = self.seconds(gone, end)
                    pod = self.history.pods[tenant.uid].name
                    longest = max(longest, (lasted, f"{state.name} named {pod}/{tenant.container}, "
                                            f"gone since {clock(gone)}, until {clock(end)}"))
                    if lasted > STALE >= late:
                        stood.append(Wrong(min(end, self.end), state, tenant, f"gone since "
                                           f"{clock(gone)}, listed for {lasted:.1f} s more, until "
                                           f"{clock(end)}"))
        return written[::-1], stood[::-1], by_wall, longest

    def latencies(self):
        """Of allocations with no outage around: (uid, seconds from the allocation, seconds from the
        bundle), and how many were not counted."""
        first = {}
        for state in self.states:
            for tenant in state.tenants:
                first.setdefault(tenant.uid, state.at)
        given = {}
        for (uid, _, _), at in self.history.given.items():
            given[uid] = min(at, given.get(uid, math.inf))
        found, left_out = [], 0
        for uid, pod in self.history.pods.items():
            bundle = min((b.first for b in self.ran[uid]), default=math.inf)
            start = min(bundle, given.get(uid, math.inf))
            if pod.namespace != "default" or start == math.inf:
                continue
            shown = first.get(uid, min(self.gone_at(uid), self.end))
            scopes = {"api", "service", "controller", pod.node(), f"agent/{pod.node()}"}
            if any(a < shown and b > start - RECENT for a, b in self.union(scopes)):
                left_out += 1
            elif uid in first or shown - start > LATENCY:
                found.append((uid, max(0.0, shown - start),
                              max(0.0, shown - bundle) if bundle < math.inf else None))
        return found, left_out


LIVES = {}


def judged(cluster):
    """The life is lived once, at the first promise; all judge the same."""
    if cluster.name not in LIVES:
        if options.replicas > 1:
            replicas.have_two(cluster)
        life = Life(cluster)
        if options.replicas > 1:
            replicas.name_for_ever(FLEET, life.direct.state, cluster)
        LIVES[cluster.name] = Judge(life.go())
    return LIVES[cluster.name]


def cases(judge, wrong, limit=5):
    """The first of what went wrong, one for each pod and object, with what was done before."""
    lines, told = [], set()
    for at, state, tenant, why in wrong:
        if (state.name, tenant.uid) in told or len(told) == limit:
            continue
        told.add((state.name, tenant.uid))
        pod = judge.history.pods.get(tenant.uid)
        lines.append(f"{clock(state.at)} {state.name}, Ready={state.ready}, names "
                     f"{pod.name if pod else '?'}/{tenant.container} ({tenant.uid}), "
                     f"{tenant.confidence} by {', '.join(tenant.witnesses)}, {tenant.phase}: {why}")
        lines += judge.seen_of(tenant)
        lines += judge.life.around(at)
    n = len({(case.state.name, case.tenant.uid) for case in wrong})
    return lines + ([f"and {n - limit} more"] if n > limit else [])


def keep_logs(cluster):
    """What the controller and the agents said, beside the log of actions."""
    folder = LOG.replace("-actions.log", "-logs")
    state = cluster.ctl("state").strip()
    for node in FLEET:
        for name in os.listdir(os.path.join(state, node, "pod-logs")):
            if name.startswith(f"{OURS}_"):
                shutil.copytree(os.path.join(state, node, "pod-logs", name),
                                os.path.join(folder, node, name), dirs_exist_ok=True)
    return folder


def keep_logs_of_kubernetes(cluster):
    """Of those of its parts that lead a Service to its pods, or give devices to containers."""
    state, folder = cluster.ctl("state").strip(), LOG.replace("-actions.log", "-logs")
    os.makedirs(folder, exist_ok=True)
    for path in ("log/kube-controller-manager.log",
                 *(f"{node}/log/{part}.log" for node in FLEET for part in ("kube-proxy", "kubelet"))):
        with contextlib.suppress(OSError):
            shutil.copyfile(os.path.join(state, path), os.path.join(folder, path.replace("/", "-")))


def refuse(cluster, note, lines):
    keep_logs_of_kubernetes(cluster)
    raise AssertionError("\n".join([note, *lines, f"logs: {LOG} {keep_logs(cluster)}"]))


def told_latencies(title, values):
    if len(values) < FEW:
        return f"{title}: {len(values)} samples, max {max(values, default=0):.3f} s"
    return f"{title}: {len(values)} samples, p50 {percentile(values, 50):.3f}, " \
        f"p99 {percentile(values, 99):.3f}, max {max(values):.3f} s"


@tests.promise
def no_status_named_a_pod_that_never_had_the_device(cluster):
    judge = judged(cluster)
    wrong, n, unstarted = judge.false_tenants()
    faults = ", ".join(f"{n} {kind}" for kind, n in judge.life.kinds.most_common())
    names = collections.Counter(t.confidence for s in judge.states for t in s.tenants)
    containers = {(b.uid, b.container) for b in judge.history.all_bundles() if b.container}
    note = "\n".join([
        f"{len(judge.states)} statuses and {n} tenants in them judged "
        f"({', '.join(f'{n} {name}' for name, n in names.items())})",
        f"{len(containers)} containers of {len([u for u in judge.ran if judge.ran[u]])} pods ran",
        f"{unstarted} tenants whose container never ran while its pod was there are judged by the "
        f"kubelet's checkpoint",
        f"faults: {faults}",
        f"another controller led {judge.history.n_leads} times"])
    if wrong:
        refuse(cluster, note, cases(judge, wrong))
    return note


@tests.promise
def no_ready_status_named_a_pod_gone_for_more_than_3_s(cluster):
    judge = judged(cluster)
    written, stood, by_wall, longest = judge.stale()
    ready = [s for s in judge.states if s.ready == "True"]
    note = "\n".join([
        f"{len(ready)} ready statuses judged, {sum(len(s.tenants) for s in ready)} tenants; "
        f"{sum(judge.gone_at(uid) < math.inf for uid in judge.history.pods)} pods went",
        f"written with a pod that was gone: {len(written)}; stood with one: {len(stood)}. Time in "
        f"which the API server, etcd or the controller was away does not count; with it, {by_wall} "
        f"tenants were written late",
        f"the longest, {longest[0]:.2f} s: {longest[1]}"])
    if written or stood:
        refuse(cluster, note, cases(judge, written + stood))
    return note


@tests.promise
def at_rest_every_status_is_what_the_containers_have_within_10_s(cluster):
    judge = judged(cluster)
    rests = judge.life.rests
    note = f"{len(rests)} times at rest, with {sum(rest.n for rest in rests)} tenants; something " \
        f"was wrong for up to {', '.join(f'{rest.longest:.2f}' for rest in rests)} s"
    touched = sum(text.startswith("# touched") for _, text in judge.life.actions)
    if touched:
        note += f"\nKubernetes was told {touched} times to look at the controller's Service again"
    lines = []
    for rest in rests:
        if rest.wrong:
            lines += [f"{clock(rest.at)} {line}" for line in rest.wrong] + \
                judge.life.around(rest.at - AT_REST)
    if lines:
        refuse(cluster, note, lines)
    return note


@tests.promise
def an_allocation_is_in_the_status_within_2_s_outside_outages(cluster):
    judge = judged(cluster)
    found, left_out = judge.latencies()
    allocated = [seconds for _, seconds, _ in found]
    note = "\n".join([
        told_latencies("allocated -> status", allocated),
        told_latencies("bundle -> status", [s for _, _, s in found if s is not None]),
        f"not counted, for an outage within {RECENT} s: {left_out}"])
    assert allocated, note
    share = 99 if len(allocated) >= MANY else 90
    if percentile(allocated, share) > LATENCY or max(allocated) > LONGEST:
        late = [(uid, seconds) for uid, seconds, _ in found if seconds > LATENCY]
        refuse(cluster, note, [f"{judge.history.pods[uid].name} ({uid}): {seconds:.2f} s"
                               for uid, seconds in late])
    return note


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2].partition("\n")[0])
    parser.add_argument("cluster", nargs="?")
    parser.add_argument("--seed", default=os.environ.get("AUDIT_SEED") or secrets.randbelow(10**9))
    parser.add_argument("--minutes", type=float, default=os.environ.get("AUDIT_MINUTES") or 2)
    parser.add_argument("--replicas", type=int, choices=(1, 2), default=1)
    parser.add_argument("--then-one", action="store_true")
    parser.parse_args(namespace=options)
    if options.then_one and options.replicas == 1:
        parser.error("--then-one is for --replicas 2")
    global LOG
    LOG = LOG.format(seed=options.seed)
    shutil.rmtree(LOG.replace("-actions.log", "-logs"), ignore_errors=True)
    print(f"# seed {options.seed}, {options.minutes} minutes; actions: {LOG}", flush=True)
    if options.cluster:
        return tests.run(Cluster(options.cluster))
    with own_cluster("audit", "--", *OPTIONS) as name:
        return tests.run(Cluster(name))


if __name__ == "__main__":
    sys.exit(main())
