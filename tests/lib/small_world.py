# SPDX-License-Identifier: Apache-2.0
"""A node with devices, for controllers on an API server without nodes: its objects and its reports."""

import http.client
import json
import os
import ssl
import time

import yaml

from control_plane import TOP

NODE = "gpu-a"
NAMESPACE = "/api/v1/namespaces/gpu-attribution"
ATTRIBUTIONS = "/apis/gpuattribution.dev/v1alpha1/gpuattributions"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gpu-attribution/leases"
LEASE = "gpu-attribution-controller"
SECRET, CONFIG_MAP = f"{NAMESPACE}/secrets/gpu-attribution-tls", f"{NAMESPACE}/configmaps/gpu-attribution-ca"
PODS = "/api/v1/namespaces/default/pods"
AGENT = "gpu-attribution-agent"


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def uuid_of(index):
    return f"GPU-{index:08x}-3437-2335-2fd8-a78c8502f87f"


def report(instance, sequence, devices, holder=None, node=NODE, first=0):
    """What an agent reports: devices have these serial numbers, and `holder` (a Pod) has the first. Their
    UUIDs are those from uuid_of(first) on."""
    uuids = [uuid_of(first + index) for index in range(len(devices))]
    source = {"state": "ok", "observedAt": now()}
    books = [{"resource": "nvidia.com/gpu", "deviceIDs": uuids}]
    held = {"container": "main", "resource": "nvidia.com/gpu", "deviceIDs": uuids[:1]}
    pod = holder and holder["metadata"]
    return {
        "version": 1, "node": node, "bootID": "1d0f5f7c-6d0e-4b36-9c1b-3f1d6e3d2a10",
        "instance": instance, "sequence": sequence, "observedAt": now(),
        "agentVersion": "0.1.0", "kubelet": {"restartedAt": "2026-01-01T00:00:00Z"},
        "sources": {name: source for name in ("podResources", "checkpoint", "nvml")},
        "devices": [{"uuid": uuid, "index": i, "minor": i, "pciBusID": f"00000000:{i:02X}:00.0",
                     "model": "NVIDIA A100-SXM4-40GB", "memoryMiB": 40960, "serial": str(devices[i]),
                     "mig": {"current": False, "pending": False}} for i, uuid in enumerate(uuids)],
        "podResources": [{**held, "namespace": pod["namespace"], "name": pod["name"]}] if pod else [],
        "allocatable": books,
        "checkpoint": {"entries": [{**held, "podUID": pod["uid"]}] if pod else [], "registered": books}}


def post(port, context, token, body):
    """Sends a report to a controller on 127.0.0.1. False: it was not taken."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=2, context=context)
    try:
        connection.request("POST", "/v1/report", json.dumps(body), {
            "Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def make_lease(plane):
    plane.do("POST", LEASES, {"metadata": {"name": LEASE}, "spec": {}})


def fill(plane):
    """What the manifests have, the node, and the agent's pod on it. Returns the agent's token."""
    with open(os.path.join(TOP, "crds", "gpuattributions.yaml"), encoding="utf-8") as file:
        plane.do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(file))
    plane.do("POST", "/api/v1/namespaces", {"metadata": {"name": "gpu-attribution"}})
    make_lease(plane)
    plane.do("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
    plane.do("POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": AGENT}})
    token = agent_token(plane, NODE, "agent")
    wait_for("the kind is served", lambda: plane.request("GET", ATTRIBUTIONS)[0] == 200)
    return token


def make_anew(plane, *more):
    """As when the manifests were applied, and before the pods. more: (path, object) to make anew, too."""
    plane.do("DELETE", ATTRIBUTIONS)
    for pod in plane.do("GET", PODS)["items"]:
        plane.do("DELETE", f"{PODS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
    for path, item in ((SECRET, {"type": "Opaque"}), (CONFIG_MAP, {}),
                       # given up, so that nobody waits for it at first
                       (f"{LEASES}/{LEASE}", {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1,
                                                       "renewTime": "2026-01-01T00:00:00.000000Z"}}),
                       *more):
        collection, _, name = path.rpartition("/")
        plane.request("DELETE", path)
        plane.do("POST", collection, {"metadata": {"name": name}, **item})


def trusted_by_agents(plane):
    """What agents verify a controller with, by what is published; None: nothing is."""
    found = plane.do("GET", CONFIG_MAP).get("data", {}).get("ca.crt")
    if not found:
        return None
    context = ssl.create_default_context(cadata=found)
    context.check_hostname = False  # it is for the name of the Service
    return context


def run_pod(plane, name, node=NODE, claim=None):
    """A pod that runs on the node. Its container uses that ResourceClaim."""
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "none"}]}
    if claim:
        spec["resourceClaims"] = [{"name": "mine", "resourceClaimName": claim}]
        spec["containers"][0]["resources"] = {"claims": [{"name": "mine"}]}
    pod = plane.do("POST", PODS, {"metadata": {"name": name}, "spec": spec})
    plane.do("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Running"}},
             "application/merge-patch+json")
    return pod


def agent_token(plane, node, name):
    """The token of an agent's pod of that name, which is made, on the node."""
    pod = plane.do("POST", f"{NAMESPACE}/pods", {
        "metadata": {"name": name}, "spec": {
            "serviceAccountName": AGENT, "nodeName": node,
            "containers": [{"name": "agent", "image": "none"}]}})
    return plane.do("POST", f"{NAMESPACE}/serviceaccounts/{AGENT}/token", {
        "spec": {"audiences": ["gpuattribution.dev"], "expirationSeconds": 86400,
                 "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": name,
                                    "uid": pod["metadata"]["uid"]}}})["status"]["token"]


def wait_for(what, look, timeout=60):
    """Looks until it is so. The last look begins after the time is over: what one finds that began before
    may be older."""
    end = time.monotonic() + timeout
    while True:
        is_last = time.monotonic() > end
        if look():
            return
        if is_last:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.02)
