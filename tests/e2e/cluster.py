# SPDX-License-Identifier: Apache-2.0
"""A local cluster as the end-to-end tests see it: commands, objects, waiting, and the audit log.

Everything goes through the commands that people use (hack/up, hack/kubectl, hack/cluster/ctl), so
that the tests test those too. Nothing here sleeps for a fixed time and hopes: wait_for() looks
again until what it waits for is there, or fails with what it last saw.
"""

import json
import os
import subprocess
import threading
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CONTROLLER_USER = "system:serviceaccount:gpu-attribution:gpu-attribution-controller"
WRITES = ("create", "update", "patch", "delete")


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


def wait_for(what, look, timeout=60, every=0.05):
    """Calls look() until it returns something true, and returns that."""
    end = time.monotonic() + timeout
    last = None
    while True:
        try:
            last = look()
            if last:
                return last
        except (Failed, KeyError, IndexError, json.JSONDecodeError) as error:
            last = error
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {timeout} s; last seen: {last!r}")
        time.sleep(every)


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

    def read(self):
        for line in self.process.stdout:  # one event a line
            event = json.loads(line)
            self.events.append((time.monotonic(), event["type"], event["object"]))

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join()
        return self.events

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.close()


class Cluster:
    """One cluster by name."""

    def __init__(self, name):
        self.name = name
        self.env = {"GPU_ATTRIBUTION_CLUSTER": name}

    def kubectl_command(self, *args):
        return [os.path.join(ROOT, "hack", "kubectl"), "--name", self.name, *args]

    def kubectl(self, *args, stdin=None, check=True):
        return run(*self.kubectl_command(*args), stdin=stdin, check=check)

    def ctl(self, *args):
        return run("hack/cluster/ctl", "--name", self.name, *args)

    def enter(self, *args, stdin=None, check=True):
        return run("hack/cluster/enter", "--name", self.name, *args, stdin=stdin, check=check)

    def get(self, kind, *args):
        return json.loads(self.kubectl("get", kind, "-o", "json", *args))

    def attributions(self):
        """GPUAttributions by name."""
        items = self.get("gpuattributions")["items"]
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
        return self.get("pod", name, "-n", namespace)

    def uid(self, name, namespace="default"):
        return self.pod(name, namespace)["metadata"]["uid"]

    def create_pod(self, name, node, gpus=1, grace=0):
        manifest = {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "terminationGracePeriodSeconds": grace,
                "containers": [{
                    "name": "main", "image": "localhost/busybox:1", "imagePullPolicy": "Never",
                    "command": ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait"],
                    "resources": {"limits": {"nvidia.com/gpu": gpus}},
                }],
            },
        }
        self.kubectl("create", "-f", "-", stdin=json.dumps(manifest))

    def delete_pod(self, name, *args):
        self.kubectl("delete", "pod", name, "--wait=false", *args)

    def wait_tenant(self, name, timeout=60):
        """Waits until the pod of that name is a tenant under its present UID; returns the UID."""
        uid = self.uid(name)
        wait_for(f"tenant {name} ({uid})", lambda: (uid, name) in self.tenants(), timeout)
        return uid

    def wait_gone(self, uid, timeout=60):
        wait_for(f"no tenant {uid}", lambda: all(k[0] != uid for k in self.tenants()), timeout)

    def condition(self, item, kind):
        for condition in item["status"]["conditions"]:
            if condition["type"] == kind:
                return condition
        raise KeyError(kind)

    def audit(self):
        """Requests to the API server so far, as audit events."""
        return [json.loads(line) for line in self.ctl("log", "audit").splitlines() if line]

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

    def agent_pod(self, node):
        pods = self.get("pods", "-n", "gpu-attribution", "-l",
                        "app.kubernetes.io/name=gpu-attribution-agent")["items"]
        for pod in pods:
            if pod["spec"].get("nodeName") == node and not pod["metadata"].get("deletionTimestamp"):
                return pod["metadata"]["name"]
        raise Failed(f"no agent on {node}")

    def rollout(self, what):
        self.kubectl("-n", "gpu-attribution", "rollout", "status", what, "--timeout=120s")


class Tests:
    """Runs promises in order and prints them as TAP."""

    def __init__(self):
        self.promises = []

    def promise(self, function):
        self.promises.append(function)
        return function

    def run(self, *args):
        failed = 0
        print(f"1..{len(self.promises)}", flush=True)
        for number, function in enumerate(self.promises, 1):
            sentence = function.__name__.replace("_", " ")
            start = time.monotonic()
            try:
                note = function(*args)
                verdict = "ok"
            except Exception as error:  # whatever it was: the promise is broken, the next is tried
                note, verdict = f"{type(error).__name__}: {error}", "not ok"
                failed += 1
            print(f"{verdict} {number} - {sentence}", flush=True)
            print(f"# {time.monotonic() - start:.1f} s", flush=True)
            for line in str(note or "").splitlines():
                print(f"# {line}", flush=True)
        return 1 if failed else 0
