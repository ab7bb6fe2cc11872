# SPDX-License-Identifier: Apache-2.0
"""A local cluster as the end-to-end tests see it: commands, objects, waiting, and the audit log.

Everything goes through the commands that people use (hack/up, hack/kubectl, hack/cluster/ctl), so
that the tests test those too. What is looked at, created, labelled or ended again and again is asked of
the API server itself, for a kubectl costs a tenth of a second of a processor each time. Nothing here
sleeps for a fixed time and hopes: wait_for() looks again until what it waits for is there, or fails with
what it last saw.
"""

import contextlib
import ctypes
import http.client
import inspect
import json
import math
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback
import urllib.parse
from datetime import datetime

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
AGENTS = ("-n", "gpu-attribution-agents")  # where they are, for kubectl
CONTROLLER_USER = "system:serviceaccount:gpu-attribution:gpu-attribution-controller"
WRITES = ("create", "update", "patch", "delete")
# All that name a container (other than init containers) that runs and holds a device of the device
# plugin's.
WITNESSES = {"PodResources", "Checkpoint", "PodStatus"}


class Failed(Exception):
    """What was promised did not happen."""


def run(*command, stdin=None, check=True, timeout=300, env=None):
    """Runs a command and returns its standard output."""
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=timeout,
        env={**os.environ, **(env or {})}, cwd=ROOT)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(what, look, timeout=60, every=None):
    """Calls look() until it returns something true, and returns that. It looks each `every` seconds;
    without that less often the longer it waits, for a look takes time of the API server's."""
    start = time.monotonic()
    last = None
    while True:
        try:
            last = look()
            if last:
                return last
        except (Failed, KeyError, IndexError, json.JSONDecodeError) as error:
            last = error
        waited = time.monotonic() - start
        if waited >= timeout:
            raise Failed(f"{what}: not within {timeout} s; last seen: {last!r}")
        pause = every or min(max(waited / 10, 0.1), 0.3)
        time.sleep(min(pause, timeout - waited))


def error_number(events):
    """For the next error behind these that the driver tells. A watcher is told of an error once for its
    number, and not of one that is below the last. The last may have come from another promise."""
    return max([int(time.time() * 1000)] + [event["sequence"] + 1 for event in events])


def started_at(pid):
    """When a process began, in ticks since the boot; one that is gone began last."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[19])
    except OSError:
        return math.inf


# Kinds by name: the path before the namespace, the plural, and whether there are namespaces.
KINDS = {
    "clusterpolicy": ("/apis/nvidia.com/v1", "clusterpolicies", False),
    "configmap": ("/api/v1", "configmaps", True),
    "crd": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "daemonset": ("/apis/apps/v1", "daemonsets", True),
    "deployment": ("/apis/apps/v1", "deployments", True),
    "gpuattributions": ("/apis/gpuattribution.dev/v1alpha1", "gpuattributions", False),
    "node": ("/api/v1", "nodes", False),
    "nodes": ("/api/v1", "nodes", False),
    "pod": ("/api/v1", "pods", True),
    "pods": ("/api/v1", "pods", True),
    "service": ("/api/v1", "services", True),
    "serviceaccount": ("/api/v1", "serviceaccounts", True),
}
SELECTORS = {"-l": "labelSelector", "--field-selector": "fieldSelector"}


def path_of(kind, args):
    """The path of what `kubectl get` is asked for; None: of anything else than one kind, a name, a
    namespace and selectors."""
    kind, _, name = kind.partition("/")  # "deployment/NAME" is one, too
    if kind not in KINDS:
        return None
    start, plural, has_namespaces = KINDS[kind]
    namespace, query = "default", {}
    words = iter(args)
    for word in words:
        option, _, value = word.partition("=")
        if option in ("-n", *SELECTORS):
            value = value or next(words, "")
            if not value:
                return None
        if option == "-n":
            namespace = value
        elif option in SELECTORS:
            query[SELECTORS[option]] = value
        elif word.startswith("-") or "/" in word or name:
            return None
        else:
            name = word
    if name and query:
        return None
    path = f"{start}/namespaces/{namespace}/{plural}" if has_namespaces else f"{start}/{plural}"
    return path + (f"/{name}" if name else "") + (f"?{urllib.parse.urlencode(query)}" if query else "")


def path_of_manifest(manifest):
    """Where an object of this kind is created."""
    version, kind = manifest["apiVersion"], manifest["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}es" if kind.endswith("s") else f"{kind}s"
    namespace = manifest["metadata"].get("namespace")
    start = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return start + (f"/namespaces/{namespace}" if namespace else "") + f"/{plural}"


def with_kinds(answer):
    """The items of a list with their kind, as kubectl prints them."""
    for item in answer.get("items", []):
        item.setdefault("kind", answer["kind"].removesuffix("List"))
        item.setdefault("apiVersion", answer["apiVersion"])
    return answer


def uids_of(item):
    """The UIDs of the pods that a GPUAttribution lists as tenants."""
    return {tenant["podUID"] for tenant in item.get("status", {}).get("tenants", [])}


def percentile(values, percent):
    """The nearest rank: with few values the 99th is the worst."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


class Direct:
    """Connections from inside a cluster's network: to etcd and to the API server, without a program
    in between, which would have to live through what is done to them."""

    libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, cluster):
        self.state = cluster.ctl("state").strip()
        keys = os.path.join(self.state, "pki")
        self.tls = ssl.create_default_context(cafile=os.path.join(keys, "ca.crt"))
        self.tls.load_cert_chain(os.path.join(keys, "admin.crt"), os.path.join(keys, "admin.key"))
        self.kept = threading.local()  # the connection of a thread's last GET

    def recorded_pid(self, component):
        """The process of "etcd", "node-1" or "node-1/kubelet" as the machine numbers it; of one
        that ended just now, the old one."""
        place, _, name = component.rpartition("/")
        if component.startswith("node-") and not place:
            place, name = component, "init"
        try:
            with open(os.path.join(self.state, place, "run", f"{name}.pid"),
                      encoding="utf-8") as file:
                return int(file.read().split()[0])
        except (OSError, IndexError) as error:
            raise Failed(f"{component} has no process: {error}") from error

    def connect(self, port, timeout, address="127.0.0.1", node=None):
        """A connection to a port of the control plane, or to what a node reaches at that address. The
        thread that makes it enters that network, and a socket stays where it was made."""
        made = []
        path = f"/proc/{self.recorded_pid(node) if node else self.cluster_pid()}/ns/net"

        def make():
            try:
                with open(path, encoding="utf-8") as network:
                    if self.libc.setns(network.fileno(), 0):
                        raise OSError(ctypes.get_errno(), "setns")
                made.append(socket.create_connection((address, port), timeout))
            except OSError as error:
                made.append(error)
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        if isinstance(made[0], OSError):
            raise made[0]
        return made[0]

    def cluster_pid(self):
        with open(os.path.join(self.state, "run", "init.pid"), encoding="utf-8") as file:
            return int(file.read().split()[0])

    def open(self, port, timeout):
        """An HTTP connection, to the API server (6443) by TLS as the administrator."""
        connection = http.client.HTTPConnection("127.0.0.1", timeout=timeout)
        connection.sock = self.connect(port, timeout)
        if port == 6443:
            try:
                connection.sock = self.tls.wrap_socket(connection.sock, server_hostname="127.0.0.1")
            except OSError:
                connection.close()
                raise
        return connection

    def exchange(self, connection, method, path, body, kind, keep=False):
        """Status, Retry-After in seconds, and body of an answer. The connection is kept, or closed."""
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {} if body is None else {"Content-Type": kind})
            answer = connection.getresponse()
            result = answer.status, answer.getheader("Retry-After"), answer.read().decode()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        if keep and not answer.will_close:
            self.kept.connection = connection
        else:
            connection.close()
        return result

    def ask(self, method, path, body=None, kind="application/json", timeout=30):
        """One request to the API server: status, Retry-After in seconds, and body of the answer. A GET
        goes over the connection of the thread's last one. That may have ended, and a GET can be repeated."""
        is_get = method == "GET"
        kept = self.kept.__dict__.pop("connection", None) if is_get else None
        if kept:
            with contextlib.suppress(ConnectionError, ssl.SSLError, http.client.HTTPException):
                return self.exchange(kept, method, path, body, kind, keep=True)
        return self.exchange(self.open(6443, timeout), method, path, body, kind, keep=is_get)

    def request(self, method, path, body=None, timeout=5):
        """The same on a connection of its own: the code and the answer; code 0 if there is none."""
        try:
            status, _, text = self.exchange(self.open(6443, timeout), method, path, body, "application/json")
            return status, text
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)

    def is_ready(self):
        return self.request("GET", "/readyz", timeout=1)[0] == 200


class Watch:
    """Every state of the GPUAttributions that the API server shows, in order."""

    def __init__(self, cluster):
        self.events = []  # (monotonic time, type, object)
        self.process = subprocess.Popen(
            cluster.kubectl_command("get", "gpuattributions", "--watch", "--output-watch-events",
                                    "-o", "json"),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        there = len(cluster.attributions())
        wait_for("the watch to begin", lambda: len(self.events) >= there)
        self.cluster = cluster

    def read(self):
        for line in self.process.stdout:  # one event a line
            event = json.loads(line)
            self.events.append((time.monotonic(), event["type"], event["object"]))

    def wait_shown(self, uid, timeout=60):
        """Waits for the first state that lists the pod; returns when it arrived."""
        return wait_for(f"{uid} in the status", lambda: next(
            (at for at, _, item in list(self.events) if uid in uids_of(item)), None),
            timeout, every=0.01)

    def shown(self):
        """When the first state that lists a pod arrived, by the pod's UID."""
        found = {}
        for at, _, item in list(self.events):
            for uid in uids_of(item):
                found.setdefault(uid, at)
        return found

    def assert_never_lost(self, wanted, ended=None):
        """Once an object has listed a pod of `wanted`, each later state of it has to, until the pod is ended,
        which may have happened from the time in `ended` on. After that it does not come back."""
        shown, gone = {}, set()
        for at, change, item in self.events:
            name = item["metadata"]["name"]
            now = uids_of(item) & wanted if change != "DELETED" else set()
            left = shown.get(name, set()) - now
            if lost := {uid for uid in left if at < (ended or {}).get(uid, math.inf)}:
                raise Failed(f"{name} lost {lost} in {json.dumps(item)}")
            gone |= {(name, uid) for uid in left}
            if back := {uid for uid in now if (name, uid) in gone}:
                raise Failed(f"{name} lists {back} again in {json.dumps(item)}")
            shown[name] = now

    def has_seen(self, items):
        """Whether each of these states, or a later one, has arrived."""
        seen = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"])
                for _, _, item in list(self.events)}
        return all(seen.get(name, 0) >= int(item["metadata"]["resourceVersion"])
                   for name, item in items.items())

    def close(self):
        """Ends the watch when it has shown what the API server has now."""
        items = self.cluster.attributions()
        wait_for("the watch to show the last states", lambda: self.has_seen(items), every=0.02)
        return self.end()

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join()
        return self.events

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()


class Cluster:
    """One cluster by name."""

    def __init__(self, name):
        self.name = name
        self.env = {"GPU_ATTRIBUTION_CLUSTER": name}
        self.direct = None
        self.token = None  # of who may read /metrics
        self.requests, self.audited = [], 0  # what audit() has read, and up to where

    def kubectl_command(self, *args):
        return [os.path.join(ROOT, "hack", "kubectl"), "--name", self.name, *args]

    def kubectl(self, *args, stdin=None, check=True):
        return run(*self.kubectl_command(*args), stdin=stdin, check=check)

    def ctl(self, *args):
        return run("hack/cluster/ctl", "--name", self.name, *args)

    def enter(self, *args, stdin=None, check=True):
        return run("hack/cluster/enter", "--name", self.name, *args, stdin=stdin, check=check)

    def get(self, kind, *args):
        """As `kubectl get KIND ARGS -o json`. What tests ask for again and again is read without a
        program of its own each time."""
        path = path_of(kind, args)
        return with_kinds(self.read(path)) if path else json.loads(
            self.kubectl("get", kind, "-o", "json", *args))

    def request(self, method, path, *body):
        """One request to the API as the administrator, and the object with which it answers. More
        arguments: the body, and its type where that is not application/json. A server that has just
        started may ask to come back later (429), which kubectl does, too."""
        self.direct = self.direct or Direct(self)
        try:
            for _ in range(10):
                status, retry_after, text = self.direct.ask(method, path, *body)
                if status != 429:
                    break
                time.sleep(float(retry_after or 1))
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"{method} {path}: {error}") from error
        if not 200 <= status < 300:
            raise Failed(f"{method} {path}: {status} {text}")
        return json.loads(text)

    def read(self, path):
        """As get(), and many times cheaper."""
        return self.request("GET", path)

    def attributions(self):
        """GPUAttributions by name."""
        items = self.read("/apis/gpuattribution.dev/v1alpha1/gpuattributions")["items"]
        return {item["metadata"]["name"]: item for item in items}

    def tenants(self):
        """(podUID, podName) to the names of the objects that list it."""
        found = {}
        for name, item in self.attributions().items():
            for tenant in item.get("status", {}).get("tenants", []):
                key = (tenant["podUID"], tenant.get("podName"))
                found.setdefault(key, []).append(name)
        return found

    def pod(self, name, namespace="default"):
        return self.read(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def node(self, name):
        return self.read(f"/api/v1/nodes/{name}")

    def uid(self, name, namespace="default"):
        return self.pod(name, namespace)["metadata"]["uid"]

    @staticmethod
    def pod_manifest(name, node, gpus=1, grace=0, resource="nvidia.com/gpu"):
        """A pod that holds GPUs until it is ended. It is in the node's network: one of its own would cost
        more than all else of it."""
        return {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "hostNetwork": True,
                "terminationGracePeriodSeconds": grace,
                "containers": [{
                    "name": "main", "image": "localhost/busybox:1", "imagePullPolicy": "Never",
                    "command": ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait"],
                    "resources": {"limits": {resource: gpus}},
                }],
            },
        }

    def create(self, manifest):
        """Creates an object; returns its UID."""
        path = f"{path_of_manifest(manifest)}?fieldValidation=Strict"
        return self.request("POST", path, manifest)["metadata"]["uid"]

    def end_pod(self, *names, namespace="default"):
        """As `kubectl delete pod --force --grace-period=0`: gone at once from the API."""
        for name in names:
            self.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", {"gracePeriodSeconds": 0})

    def label(self, node, *words):
        """As `kubectl label --overwrite node NODE WORD...`: "name=value", or "name-" to take it away."""
        labels = {}
        for word in words:
            name, equals, value = word.partition("=")
            labels[name if equals else name.removesuffix("-")] = value if equals else None
        self.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": labels}},
                     "application/merge-patch+json")

    def create_pod(self, name, node, gpus=1, grace=0, resource="nvidia.com/gpu"):
        """Creates a pod that holds GPUs until it is ended; returns its UID."""
        return self.create(self.pod_manifest(name, node, gpus, grace, resource))

    def is_refused(self, name):
        """Has the kubelet refused the pod, as it does until its device plugin has come back?"""
        status = self.pod(name)["status"]
        return status["phase"] == "Failed" and status.get("reason") == "UnexpectedAdmissionError"

    def create_tenant(self, name, node, *args):
        """A pod that runs and that all witnesses have named: nothing more will be written of it.
        Returns its UID. What the kubelet refuses is made again, as a Deployment would. More
        arguments are those of create_pod()."""
        end = time.monotonic() + 60
        uid = self.create_pod(name, node, *args)

        def is_settled():
            return any(t["podUID"] == uid and t["phase"] == "Running" and
                       WITNESSES <= set(t["witnesses"])
                       for item in self.attributions().values()
                       for t in item.get("status", {}).get("tenants", []))
        while not is_settled():
            if self.is_refused(name):
                if any(key[0] == uid for key in self.tenants()):
                    raise Failed(f"{name} ({uid}) is a tenant, but was refused")
                self.end_pod(name)
                uid = self.create_pod(name, node, *args)
            elif time.monotonic() > end:
                raise Failed(f"no tenant {name} ({uid}), running and by all witnesses, in 60 s; "
                             f"pod: {self.pod(name)['status']}, tenants: {self.tenants()}")
        return uid

    def delete_pods(self):
        """Deletes what tests have made, at once, and waits until the statuses have followed."""
        self.request("DELETE", "/api/v1/namespaces/default/pods", {"gracePeriodSeconds": 0})

        def is_free():
            return not any(t["podNamespace"] == "default" for item in self.attributions().values()
                           for t in item.get("status", {}).get("tenants", []))
        wait_for("no tenant of namespace default", is_free)

    def delete_pod(self, name, namespace="default"):
        """As `kubectl delete pod --wait=false`."""
        self.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}")

    def wait_tenant(self, name, timeout=60):
        """Waits until the pod of that name is a tenant under its present UID; returns the UID."""
        uid = self.uid(name)
        wait_for(f"tenant {name} ({uid})", lambda: (uid, name) in self.tenants(), timeout)
        return uid

    def versions(self):
        """The resourceVersion of each GPUAttribution: changes with each write."""
        return {n: i["metadata"]["resourceVersion"] for n, i in self.attributions().items()}

    def controller_pod(self):
        """The controller's pod that is not ending; fails when there is none."""
        pods = self.get("pods", "-n", "gpu-attribution", "-l",
                        "app.kubernetes.io/name=gpu-attribution-controller")["items"]
        for pod in pods:
            if not pod["metadata"].get("deletionTimestamp") and pod["status"].get("podIP"):
                return pod
        raise Failed("no controller with an address")

    def probe(self, path):
        """What the controller's probe port answers, whatever the status is."""
        address = self.controller_pod()["status"]["podIP"]
        return self.enter("--node", "1", "curl", "-sS", "-m", "5", f"http://{address}:8081{path}")

    def metrics_command(self, address):
        """What a node runs to read /metrics at an address, as who may."""
        if not self.token:
            self.token = self.kubectl("-n", "gpu-attribution", "create", "token",
                                      "metrics-reader").strip()
        return ["curl", "-sSk", "--fail-with-body", "-m", "5", "-H",
                f"Authorization: Bearer {self.token}", f"https://{address}:8444/metrics"]

    def metrics(self):
        """What /metrics says."""
        address = self.controller_pod()["status"]["podIP"]
        try:
            return self.enter("--node", "1", *self.metrics_command(address))
        except Failed:
            self.token = None  # it may have ended, or be of a service account that is gone
            raise

    def reports(self):
        """How many reports the controller has taken since it started."""
        return sum(int(float(line.split()[-1])) for line in self.metrics().splitlines()
                   if line.startswith("gpuattribution_reports_total")
                   and ('"accepted"' in line or '"unchanged"' in line))

    def wait_reports(self, more, timeout=60):
        """Waits until that many more reports have been taken."""
        first = self.reports()
        wait_for(f"{more} reports", lambda: self.reports() >= first + more, timeout, every=0.2)

    def pid_of(self, pod, name=None):
        """The process with which a pod's container began, by default the first one's, as this
        machine numbers it. Numbers start anew some day, so a child may have a smaller one."""
        status = next(s for s in pod["status"]["containerStatuses"] if name in (None, s["name"]))
        container = status["containerID"].partition("://")[2]
        parents = {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/cgroup", encoding="utf-8") as file:
                    if container not in file.read():
                        continue
                with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                    parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:  # gone by now
                continue
        # What the runtime executes in it, as a probe, is no child of it either, and comes later.
        begun = [pid for pid in parents if parents[pid] not in parents]
        if not begun:
            raise Failed(f"no process of container {container}")
        return min(begun, key=started_at)

    def wait_gone(self, uid, timeout=60):
        wait_for(f"no tenant {uid}", lambda: all(k[0] != uid for k in self.tenants()), timeout)

    def condition(self, item, kind):
        for condition in item["status"]["conditions"]:
            if condition["type"] == kind:
                return condition
        raise KeyError(kind)

    def audit(self):
        """Requests to the API server so far, as audit events. What was read before is not read again."""
        path = os.path.join(self.ctl("state").strip(), "log", "audit.log")
        with open(path, "rb") as file:
            file.seek(self.audited)
            while (line := file.readline()).endswith(b"\n"):
                self.requests.append(json.loads(line))
                self.audited += len(line)
        return self.requests

    @contextlib.contextmanager
    def waiting_for_in_sync(self):
        """Somebody waits for all to be in sync, by kubectl: in vain until the block mends what keeps
        them from it, and no longer after it."""
        command = self.kubectl_command("wait", "gpuattributions", "--all", "--for=condition=InSync",
                                       "--timeout=150s")
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as waiting:
            try:
                time.sleep(1)
                assert waiting.poll() is None, "it did not wait"
                yield
                assert waiting.wait(timeout=160) == 0, "all are in sync, and it waits"
            finally:
                waiting.kill()

    def requests_of(self, user, since, verbs=None, resource=None):
        """The user's requests that were logged after the first `since` ones."""
        chosen = []
        for event in self.audit()[since:]:
            ref = event.get("objectRef", {})
            if event.get("user", {}).get("username") != user:
                continue
            if verbs and event["verb"] not in verbs:
                continue
            if resource and ref.get("resource") != resource:
                continue
            chosen.append(event)
        return chosen

    def events_of(self, since, kind, name, namespace="default"):
        """The reasons of the controller's Kubernetes Events about it since then, oldest first, as
        `kubectl events --for` shows them."""
        shown = self.kubectl("events", "-n", namespace, "--for", f"{kind}/{name}", "-o", "json")
        found = json.loads(shown or '{"items": []}')  # it prints nothing where there are none
        times = {id(event): datetime.fromisoformat(event["eventTime"].replace("Z", "+00:00")).timestamp()
                 for event in found["items"]
                 if event["reportingComponent"] == "gpuattribution.dev/controller"}
        ours = sorted((e for e in found["items"] if id(e) in times), key=lambda e: times[id(e)])
        return [event["reason"] for event in ours if times[id(event)] >= since]

    def agent_pod(self, node):
        pods = self.get("pods", *AGENTS, "-l", "app.kubernetes.io/name=gpu-attribution-agent")["items"]
        for pod in pods:
            if pod["spec"].get("nodeName") == node and not pod["metadata"].get("deletionTimestamp"):
                return pod["metadata"]["name"]
        raise Failed(f"no agent on {node}")

    def rollout(self, what):
        """Waits as `kubectl rollout status` does, for the controller's Deployment or the agents' DaemonSet."""
        where = AGENTS if what.startswith("daemonset/") else ("-n", "gpu-attribution")

        def is_complete():
            item = self.get(what, *where)
            spec, status = item["spec"], item["status"]
            if status.get("observedGeneration", 0) < item["metadata"]["generation"]:
                return False
            if "replicas" in spec:
                return all(status.get(count, 0) == spec["replicas"]
                           for count in ("replicas", "updatedReplicas", "availableReplicas"))
            return all(status.get(count, 0) >= status["desiredNumberScheduled"]
                       for count in ("updatedNumberScheduled", "numberAvailable"))
        wait_for(f"the rollout of {what}", is_complete, timeout=120)

    def delete_agents(self):
        """Deletes their DaemonSet and waits until no agent runs. Returns what create_agents() takes."""
        what = "daemonset/gpu-attribution-agent"
        manifest = self.get(what, *AGENTS)
        for key in ("uid", "resourceVersion", "creationTimestamp", "generation"):
            manifest["metadata"].pop(key, None)
        manifest.pop("status", None)
        # In the background, which is the default, the DaemonSet is gone before its pods are.
        self.kubectl(*AGENTS, "delete", what, "--cascade=foreground", "--wait=true")
        return manifest

    def create_agents(self, manifest):
        self.create(manifest)
        self.rollout("daemonset/gpu-attribution-agent")

    def start_without_agents(self):
        """No agent, and nothing that one has left behind: the controller starts anew with no objects.
        Returns what create_agents() takes."""
        controller, where = "deployment/gpu-attribution-controller", ("-n", "gpu-attribution")
        manifest = self.delete_agents()
        self.kubectl(*where, "scale", controller, "--replicas=0")
        wait_for("no controller", lambda: not self.get("pods", *where)["items"])
        self.kubectl("delete", "gpuattributions", "--all")
        self.kubectl(*where, "set", "env", controller, "GPU_ATTRIBUTION_AGENTLESS_AFTER=5s")
        self.kubectl(*where, "scale", controller, "--replicas=1")
        self.rollout(controller)
        return manifest


def start_cluster(name, *options):
    """hack/up, which ends what it has begun if this program is ended meanwhile."""
    with subprocess.Popen(["hack/up", "--name", name, *options], cwd=ROOT, start_new_session=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as starting:
        try:
            said, _ = starting.communicate(timeout=3600)
        except BaseException:
            os.killpg(starting.pid, signal.SIGTERM)
            raise
    if starting.returncode != 0:
        raise Failed(f"hack/up: exit {starting.returncode}\n{said}")


@contextlib.contextmanager
def own_cluster(prefix, *options):
    """A cluster for this program alone, made by hack/up with these options; yields its name."""
    # Whoever runs this may end it: the cluster is to end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    name = f"{prefix}-{os.getpid()}"
    try:
        start_cluster(name, *options)
        yield name
    finally:
        run("hack/down", "--name", name, timeout=120)


class Skipped(Exception):
    """It can't be tried here; the text says why."""


class Tests:
    """Runs promises in order and prints them as TAP. After each one, whatever became of it,
    `clean` takes away what it made."""

    def __init__(self, clean):
        self.promises = []
        self.clean = clean

    def promise(self, function):
        self.promises.append(function)
        return function

    def try_one(self, function, cluster):
        """Returns whether it is kept, what is behind the sentence, and notes."""
        try:
            try:
                note = function(cluster)
            finally:
                self.clean(cluster)
        except Skipped as reason:
            return True, f" # SKIP {reason}", ""
        except Exception as error:  # whatever it was: the promise is broken, the next is tried
            place = traceback.extract_tb(error.__traceback__)
            lines = [f"{frame.name}:{frame.lineno}" for frame in place]
            return False, "", f"{type(error).__name__}: {error}\nat {' '.join(lines)}"
        return True, "", note or ""

    def run(self, cluster, only=""):
        """Runs the promises whose sentence contains `only`."""
        chosen = [(f.__name__.replace("_", " "), f) for f in self.promises]
        chosen = [(sentence, f) for sentence, f in chosen if only in sentence]
        failed = 0
        print(f"1..{len(chosen)}", flush=True)
        for number, (sentence, function) in enumerate(chosen, 1):
            start = time.monotonic()
            kept, directive, note = self.try_one(function, cluster)
            failed += not kept
            print(f"{'ok' if kept else 'not ok'} {number} - {sentence}{directive}", flush=True)
            print(f"# {time.monotonic() - start:.1f} s", flush=True)
            for line in str(note).splitlines():
                print(f"# {line}", flush=True)
        return 1 if failed or not chosen else 0

    def main(self, prefix, *options, prepare=lambda: None):
        """Runs the promises whose sentence contains WORDS, on a cluster that is there (hack/up --name).
        Without CLUSTER, runs all of them on a cluster of its own."""
        if sys.argv[1:2] in (["-h"], ["--help"]):
            print(f"usage: {sys.argv[0]} [CLUSTER [WORDS...]]\n\n{inspect.getdoc(type(self).main)}")
            return 0
        if len(sys.argv) > 1:
            prepare()
            return self.run(Cluster(sys.argv[1]), " ".join(sys.argv[2:]))
        with own_cluster(prefix, *options) as name:
            prepare()
            return self.run(Cluster(name))
