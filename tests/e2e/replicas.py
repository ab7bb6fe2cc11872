# SPDX-License-Identifier: Apache-2.0
"""Two controllers on a local cluster, and agents that report to both.

The local cluster has no DNS. So the agents' hosts file is given the addresses of both pods, which is
what the headless Service's name would resolve to.
"""

import contextlib
import json
import os
import threading

from cluster import AGENTS, Failed, wait_for

NAMESPACE = ("-n", "gpu-attribution")
NAME = "gpu-attribution-controller"
CONTROLLER, AGENT = f"deployment/{NAME}", "daemonset/gpu-attribution-agent"
REPLICAS = "gpu-attribution-controller-replicas.gpu-attribution.svc"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/gpu-attribution/leases/{NAME}"
RENAME_S = 1


def lease(cluster):
    return cluster.read(LEASE)["spec"]


def controllers(cluster):
    """The pods that are ready, by address."""
    items = cluster.read("/api/v1/namespaces/gpu-attribution/pods?labelSelector="
                         f"app.kubernetes.io/name%3D{NAME}")["items"]
    return {pod["status"]["podIP"]: pod for pod in items
            if not pod["metadata"].get("deletionTimestamp") and
            any(c["type"] == "Ready" and c["status"] == "True"
                for c in pod["status"].get("conditions", []))}


def leader(cluster):
    """Address and pod of who holds the Lease, which is a pod that is there."""
    holder = lease(cluster).get("holderIdentity", "")
    for address, pod in controllers(cluster).items():
        if holder.startswith(pod["metadata"]["name"] + "_"):
            return address, pod
    raise KeyError(holder)


def figure(cluster, address, name):
    """The sum of a metric's series at one controller."""
    text = cluster.enter("--node", "1", *cluster.metrics_command(address))
    return sum(float(line.split()[-1]) for line in text.splitlines()
               if line.split("{")[0].split(" ")[0] == name)


def tell_agents(cluster):
    """The agents' hosts file has both controllers."""
    aliases = [{"ip": address, "hostnames": [REPLICAS]} for address in sorted(controllers(cluster))]
    cluster.kubectl(*AGENTS, "patch", AGENT, "--type=json", "-p", json.dumps([
        {"op": "replace", "path": "/spec/template/spec/hostAliases", "value": aliases}]))
    cluster.rollout(AGENT)


def have_two(cluster):
    """Two controllers that are ready, one of which leads, and agents that report to both. They are updated
    as shipped; the local cluster has one, which ends before the next one starts."""
    cluster.kubectl(*NAMESPACE, "patch", CONTROLLER, "--type=merge", "-p", json.dumps({"spec": {
        "replicas": 2, "strategy": {"type": "RollingUpdate",
                                    "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}}))
    wait_for("two ready controllers", lambda: len(controllers(cluster)) == 2)
    tell_agents(cluster)
    wait_for("a leader", lambda: leader(cluster), timeout=30)
    for address in controllers(cluster):
        wait_for("reports at both", lambda a=address: figure(
            cluster, a, "gpuattribution_reports_total") > 0, every=0.3)


def follow_names(over, nodes, state, cluster, every):
    while not over.wait(every):
        with contextlib.suppress(Failed, KeyError, OSError, ValueError):
            addresses = sorted(controllers(cluster))
            for node in nodes if addresses else ():
                write_hosts(os.path.join(state, node, "kubelet", "pods"), addresses)


def name_for_ever(nodes, state, cluster):
    """Has the hosts files of the agents' pods follow the controllers that are ready, as the headless
    Service does. state is the cluster's folder."""
    threading.Thread(target=follow_names, args=(threading.Event(), nodes, state, cluster, RENAME_S),
                     daemon=True).start()


@contextlib.contextmanager
def names_that_follow(nodes, state, cluster, every=RENAME_S):
    """The same until the end of the block."""
    over = threading.Event()
    thread = threading.Thread(target=follow_names, args=(over, nodes, state, cluster, every), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def write_hosts(folder, addresses):
    """In the pods of a node that know the name. Written in place, for the file is mounted."""
    for pod in os.listdir(folder):
        path = os.path.join(folder, pod, "etc-hosts")
        with contextlib.suppress(FileNotFoundError), open(path, "r+", encoding="utf-8") as file:
            before = file.read()
            if REPLICAS not in before:
                continue
            lines = [line for line in before.splitlines() if REPLICAS not in line]
            text = "\n".join([*lines, *(f"{address}\t{REPLICAS}" for address in addresses), ""])
            if text != before:
                file.seek(0)
                file.write(text)
                file.truncate()
