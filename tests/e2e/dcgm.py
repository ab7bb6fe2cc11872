#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manifests/dcgm on the local cluster: each agent reads the dcgm-exporter of its own node, through the
Service, kube-proxy and the network of the pods.

usage: dcgm.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, made with `hack/up --name NAME -- OPTIONS` (OPTIONS below), and leaves it; with words it
tries only the promises whose sentence contains them.

The exporter is the stand-in of tests/fake, in a pod on each node. Each tells a figure of its own for
the devices of both nodes, so that it can be seen which of them an agent has asked. The first GPU of a
node is cut by MIG: NVML has no figure of it, and DCGM's counts. The driver lists no process, so that
without DCGM it is idle. The cluster has no DNS: the Service has a fixed address, as the controller's
in manifests/local. Nobody enforces NetworkPolicies there. Bad answers are in tests/process/dcgm.py.
"""

import atexit
import functools
import json
import os
import re
import sys

import policy
from cluster import ROOT, Cluster, Failed, Tests, Watch, wait_for
from processes import Node, apply

FIRST, SECOND = NODES = ("node-1", "node-2")
OPTIONS = ("--nodes", "2", "--gpus", "2:A100:3g.20gb,1g.5gb", "--plugin-config", "mig-mixed")
PERCENT = {FIRST: 31, SECOND: 62}  # that its exporter tells
BY_DCGM, BY_PROCESSES, BY_UTILIZATION = (
    ("Active", ["DCGM"]), ("Idle", ["NoProcess"]), ("Idle", ["NVMLUtilization"]))
# There is a scrape every 20 s, and a figure counts for 75 s (src/agent/dcgm.h).
NEXT_SCRAPE, FORGOTTEN = 45, 110
GATE = "tests.gpuattribution.dev/ready"
NAMED = {node: [f"{node}-a", f"{node}-b"] for node in NODES}  # pods of namespace lab
FOLDER = os.path.join(ROOT, ".build", "e2e", "dcgm")
OVERLAY = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../../manifests/local]
components: [../../../manifests/processes, ../../../manifests/dcgm]
patches:
- patch: |
    apiVersion: v1
    kind: Service
    metadata: {name: gpu-attribution-dcgm, namespace: gpu-operator}
    spec: {clusterIP: 10.96.0.101}
- patch: |
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: gpu-attribution-agent, namespace: gpu-attribution-agents}
    spec:
      updateStrategy: {rollingUpdate: {maxUnavailable: 100%}}
      template:
        spec:
          hostAliases:
          - {ip: 10.96.0.101, hostnames: [gpu-attribution-dcgm.gpu-operator.svc]}
          containers:
          - name: agent
            env:
            - {name: GPU_ATTRIBUTION_PROCESSES, value: "on"}
            - {name: GPU_ATTRIBUTION_SAMPLE_INTERVAL, value: 1s}
            - {name: GPU_ATTRIBUTION_IDLE_AFTER, value: 3s}
"""

tests = Tests(clean=lambda cluster: None)


# --- pods


def exporter(node):
    """Its pod, with the machine's Python. It is not Ready until admit()."""
    volumes = {"usr": "/usr", "lib": "/lib", "lib64": "/lib64", "worlds": FOLDER,
               "fake": os.path.join(ROOT, "tests", "fake")}
    pod = Cluster.pod_manifest(f"exporter-{node}", node)
    del pod["spec"]["hostNetwork"]  # the agent looks for it by its address
    pod["metadata"].update(namespace=policy.NAMESPACE, labels={"app": policy.EXPORTER})
    pod["spec"].update(
        readinessGates=[{"conditionType": GATE}],
        volumes=[{"name": name, "hostPath": {"path": path}} for name, path in volumes.items()])
    container, = pod["spec"]["containers"]
    del container["resources"]
    container.update(
        command=["/usr/bin/python3", "/fake/dcgm-exporter", f"/worlds/{node}.json", "--listen", "0.0.0.0:9400",
                 "--hostname", node, "--pods", ",".join(NAMED[node])],
        readinessProbe={"httpGet": {"path": "/metrics", "port": 9400}, "periodSeconds": 1},
        volumeMounts=[{"name": name, "mountPath": f"/{name}", "readOnly": True} for name in volumes])
    return pod


def named_pod(name, node):
    """One without a GPU, that the exporter names all the same."""
    pod = Cluster.pod_manifest(name, node)
    pod["metadata"]["namespace"] = "lab"
    del pod["spec"]["containers"][0]["resources"]
    return pod


def admit(cluster, node, is_ready=True):
    """Has the node's exporter Ready, or not."""
    name = f"exporter-{node}"
    cluster.kubectl(*policy.IN, "patch", "pod", name, "--subresource=status", "-p", json.dumps(
        {"status": {"conditions": [{"type": GATE, "status": str(is_ready)}]}}))
    wait_for(f"{name}: ready is {is_ready}",
             lambda: policy.is_ready(cluster.pod(name, policy.NAMESPACE)) == is_ready)


def write_files(cluster):
    """The overlay, and what each exporter tells of all devices."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "kustomization.yaml"), "w", encoding="utf-8") as file:
        file.write(OVERLAY)
    for node, percent in PERCENT.items():
        told = [device for name in NODES for device in policy.world_of(cluster, name)["devices"]]
        for device in told:
            device["utilization"] = {"gpu": percent}
            for part in device.get("migDevices", []):
                part["graphicsUtilization"] = percent
        with open(os.path.join(FOLDER, f"{node}.json"), "w", encoding="utf-8") as file:
            json.dump({"devices": told}, file)


@functools.cache
def set_up(cluster):
    """Exporters, of which the first is Ready; then the agents, and a tenant. Returns a watch since then."""
    write_files(cluster)
    cluster.kubectl("delete", "namespace", policy.NAMESPACE, "lab", "--ignore-not-found")
    cluster.delete_pods()
    cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
          for name in (policy.NAMESPACE, "lab")),
        *(exporter(node) for node in NODES),
        *(named_pod(name, node) for node in NODES for name in NAMED[node])]}))
    admit(cluster, FIRST)
    apply(cluster, FOLDER)
    cluster.create_tenant("holder", FIRST, 1, 0, "nvidia.com/mig-3g.20gb")
    watch = Watch(cluster)
    atexit.register(watch.end)
    return watch


# --- what is published


def devices(cluster, node):
    """The UUIDs of the one that is cut by MIG, and of the whole one."""
    return [device["uuid"] for device in policy.world_of(cluster, node)["devices"]]


def activity(item):
    said = item["status"]["activity"]
    return said["state"], said.get("evidence", [])


def wait_activity(cluster, node, expected, timeout=NEXT_SCRAPE):
    """Of the device that is cut. The other one has NVML's figure, too, and the larger counts."""
    other = BY_DCGM if expected == BY_DCGM else BY_UTILIZATION

    def look():
        items = cluster.attributions()
        now = [activity(items[uuid.lower()]) for uuid in devices(cluster, node)]
        if now != [expected, other]:
            raise Failed(f"{node}: {now}")
        return now
    wait_for(f"{expected} on {node}", look, timeout)


def admit_all(cluster):
    for node in NODES:
        admit(cluster, node)
    for node in NODES:
        wait_activity(cluster, node, BY_DCGM)


def figures(cluster, uuid):
    """What /metrics has of the device and its partitions."""
    return set(re.findall(rf'^gpuattribution_device_utilization_ratio{{[^}}]*uuid="{uuid}".*}} (\S+)$',
                          cluster.metrics(), re.M))


def wait_named(cluster, node):
    """Waits until its exporter has named each of its pods, one at a time."""
    address, seen = cluster.pod(f"exporter-{node}", policy.NAMESPACE)["status"]["podIP"], set()

    def look():
        page = cluster.enter("--node", node[-1], "curl", "-sS", f"http://{address}:9400/metrics")
        name, = set(re.findall('pod="([^"]*)"', page))
        seen.add(name)
        return seen == set(NAMED[node])
    wait_for(f"each of {NAMED[node]}", look)


# --- promises


@tests.promise
def a_node_whose_exporter_is_not_ready_has_what_nvml_tells_and_nothing_of_another_node(cluster):
    set_up(cluster)
    admit(cluster, FIRST)
    admit(cluster, SECOND, False)
    wait_activity(cluster, FIRST, BY_DCGM)
    wait_activity(cluster, SECOND, BY_PROCESSES, FORGOTTEN)
    asked = Node(cluster, SECOND).report()["sources"]["dcgm"]
    assert asked["state"] == "error" and "no answer" in asked["message"], asked
    assert not figures(cluster, devices(cluster, SECOND)[0]), cluster.metrics()
    return asked["message"]


@tests.promise
def each_node_has_the_figure_of_its_own_exporter_where_nvml_has_none(cluster):
    set_up(cluster)
    admit_all(cluster)
    seen = {node: [figures(cluster, uuid) for uuid in devices(cluster, node)] for node in NODES}
    assert seen == {node: [{f"0.{PERCENT[node]}0"}] * 2 for node in NODES}, seen


@tests.promise
def an_exporter_that_goes_and_comes_back_costs_one_write_each_of_what_it_tells_of(cluster):
    set_up(cluster)
    admit_all(cluster)
    written = {}
    with Watch(cluster) as watch:
        policy.delete_pod_of(cluster, FIRST, policy.EXPORTER)
        cluster.create(exporter(FIRST))
        wait_activity(cluster, FIRST, BY_PROCESSES, FORGOTTEN)
        admit(cluster, FIRST)
        wait_activity(cluster, FIRST, BY_DCGM)
        for _, _, item in watch.close():
            written.setdefault(item["metadata"]["name"], []).append(activity(item))
    stories = [written.pop(uuid.lower()) for uuid in devices(cluster, FIRST)]
    assert stories == [[BY_DCGM, BY_PROCESSES, BY_DCGM], [BY_DCGM, BY_UTILIZATION, BY_DCGM]], stories
    assert len(written) == 2 and all(len(states) == 1 for states in written.values()), written


@tests.promise
def pods_that_exporters_name_are_no_tenants(cluster):
    watch = set_up(cluster)
    admit_all(cluster)
    for node in NODES:
        wait_named(cluster, node)
    wait_for("the last states", lambda: watch.has_seen(cluster.attributions()))
    held = devices(cluster, FIRST)[0].lower()
    for _, _, item in list(watch.events):
        tenants = [(t["podNamespace"], t["podName"]) for t in item["status"].get("tenants", [])]
        assert tenants == [("default", "holder")] * (item["metadata"]["name"] == held), tenants
    return f"{len(watch.events)} states"


if __name__ == "__main__":
    sys.exit(tests.main("dcgm", "--", *OPTIONS))
