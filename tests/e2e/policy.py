# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's operator is told and runs, for the end-to-end tests: ClusterPolicy and its
definitions, the operands' pods and their ConfigMaps, the labels of nodes; and what the statuses say
of the difference.

Nobody runs the operator itself: whoever uses this writes what it would write.
"""

import contextlib
import json
import os
import signal
import tempfile
import time

from cluster import AGENTS, Failed, run, wait_for

NAMESPACE = "gpu-operator"
IN = ("-n", NAMESPACE)
OURS = ("-n", "gpu-attribution")
CONTROLLER, AGENT = "deployment/gpu-attribution-controller", "daemonset/gpu-attribution-agent"
COMPONENTS = ("device-plugin", "gpu-feature-discovery")  # they run in pods where the operator is
POLICY = "cluster-policy"
CONFIGS, LAYOUTS = "device-plugin-configs", "mig-layouts"
CHOICE = "nvidia.com/device-plugin.config"
PLUGIN, DISCOVERY, EXPORTER = (
    "nvidia-device-plugin-daemonset", "gpu-feature-discovery", "nvidia-dcgm-exporter")
OURS_TO_SET = ("nvidia.com/gpu.deploy.", CHOICE, "nvidia.com/mig.config", "nvidia.com/gpu.workload",
               "nvidia.com/gpu-driver-upgrade")
DEPLOYED = ("device-plugin", "gpu-feature-discovery", "dcgm-exporter")

# Of the hold-offs as shipped: five minutes are fifteen seconds then.
PERCENT = 5
CONTROLLER_ENV = {"GPU_ATTRIBUTION_HOLD_OFF_PERCENT": str(PERCENT),
                  "GPU_ATTRIBUTION_DISAGREEMENT_AFTER": "2s",
                  "GPU_ATTRIBUTION_HEARTBEAT": "5s"}  # after a restart it knows of nodes soon
# What the driver tells without an event is seen after a second.
AGENT_ENV = {"GPU_ATTRIBUTION_SAMPLE_INTERVAL": "1s", "GPU_ATTRIBUTION_PROCESSES": "on"}


def sharing(strategy, replicas, **more):
    resources = [{"name": "nvidia.com/gpu", "replicas": replicas}]
    return {"version": "v1", "sharing": {strategy: {"resources": resources, **more}}}


PLAIN = {"version": "v1", "flags": {"migStrategy": "none"}}
CONFIG_KEYS = {
    "exclusive": PLAIN,  # the first is the default
    "sliced": sharing("timeSlicing", 4),
    "fewer": sharing("timeSlicing", 2),
    "shared": sharing("timeSlicing", 4, renameByDefault=True),
    "mixed": {"version": "v1", "flags": {"migStrategy": "mixed"}},
    "mps": sharing("mps", 4),
    "dead": {**PLAIN, "resources": {"gpus": [{"pattern": "*", "name": "team-gpu"}]}},
    "other": PLAIN,
}
# The nodes' GPUs are A100s. So the last part of "second-cut" is for none, though its index fits.
A100, H100 = "0x20B010DE", "0x233010DE"
LAYOUT_KEYS = {"version": "v1", "mig-configs": {
    "all-disabled": [{"devices": "all", "mig-enabled": False}],
    "second-cut": [{"device-filter": "", "devices": [0], "mig-enabled": False},
                   {"device-filter": [H100, A100], "devices": [1], "mig-enabled": True,
                    "mig-devices": {"1g.5gb": 2}},
                   {"device-filter": H100, "devices": "all", "mig-enabled": True,
                    "mig-devices": {"1g.10gb": 7}}],
}}
SPEC = {
    "devicePlugin": {"config": {"name": CONFIGS, "default": "exclusive"}},
    "migManager": {"config": {"name": LAYOUTS}},
    "driver": {"version": "580.65.06"},
}


# --- the settings of this project


def set_env(cluster, workload, values):
    """Returns whether something changed."""
    where = AGENTS if workload == AGENT else OURS
    template = cluster.get(workload, *where)["spec"]["template"]["spec"]
    present = {e["name"]: e.get("value") for e in template["containers"][0].get("env", [])}
    if values.items() <= present.items():
        return False
    cluster.kubectl(*where, "set", "env", workload, *(f"{k}={v}" for k, v in values.items()))
    return True


def hasten(cluster):
    """Shortens what would take minutes, and lets the agents see processes."""
    if set_env(cluster, CONTROLLER, CONTROLLER_ENV):
        cluster.rollout(CONTROLLER)
    if set_env(cluster, AGENT, AGENT_ENV):
        cluster.kubectl(*AGENTS, "patch", AGENT, "-p",
                        json.dumps({"spec": {"template": {"spec": {"hostPID": True}}}}))
        cluster.rollout(AGENT)


# --- the operator's objects


def patch(cluster, what, value, *args):
    cluster.kubectl("patch", *what, "--type=merge", "--patch-file=/dev/stdin", *args,
                    stdin=json.dumps(value))


def is_established(cluster, name):
    conditions = cluster.get("crd", name)["status"].get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def define(cluster, definition):
    """definition: "nvidia", as old as NVIDIA's Go module, or "open"."""
    if definition == "nvidia":
        folder = run("hack/cluster/build", "--where", "clusterpolicy").strip()
        run("hack/cluster/build", "clusterpolicy")
        cluster.kubectl("apply", "-f", os.path.join(folder, "nvidia.com_clusterpolicies.yaml"))
    else:
        cluster.kubectl("apply", "-f", "-",
                        stdin=run("hack/cluster/make-policy", "definition"))
    wait_for("the kind ClusterPolicy", lambda: is_established(cluster, "clusterpolicies.nvidia.com"))
    # The API server goes by a new definition a moment later.
    probe = run("hack/cluster/make-policy", "probe", json.dumps({"cdi": {"enabled": True}}))

    def is_in_force():
        made = cluster.kubectl("create", "--dry-run=server", "--validate=ignore", "-o", "json",
                               "-f", "-", stdin=probe)
        return ("cdi" in json.loads(made)["spec"]) == (definition == "open")
    wait_for("its fields", is_in_force, timeout=20, every=0.2)


def put_policy(cluster, name=POLICY, spec=None):
    made = run("hack/cluster/make-policy", name, json.dumps(SPEC if spec is None else spec))
    wait_for("a ClusterPolicy", lambda: cluster.kubectl("apply", "-f", "-", stdin=made), timeout=20)


def patch_policy(cluster, spec):
    patch(cluster, ("clusterpolicy", POLICY), {"spec": spec})


def tell_state(cluster, state="ready", name=POLICY, **more):
    """Writes what the operator writes into the policy's status."""
    status = {"status": {"state": state, "namespace": NAMESPACE, **more}}
    patch(cluster, ("clusterpolicy", name), status, "--subresource=status")


def grant(cluster):
    """Lets the controller read ConfigMaps in the operator's namespace."""
    cluster.kubectl("apply", "-f", "manifests/intent/rbac.yaml")


def put_config_map(cluster, name, data):
    made = {"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": name, "namespace": NAMESPACE}}
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(made))


def edit_config(cluster, key, text):
    """Changes one key of the ConfigMap of the device plugin, and no label."""
    text = text if isinstance(text, str) else json.dumps(text)
    patch(cluster, ("configmap", CONFIGS, *IN), {"data": {key: text}})


def label(cluster, node, **labels):
    """A label nvidia.com/NAME to its value, or to None. "." is written "__", "-" is written "_"."""
    words = []
    for name, value in labels.items():
        name = "nvidia.com/" + name.replace("__", ".").replace("_", "-")
        words.append(f"{name}-" if value is None else f"{name}={value}")
    cluster.label(node, *words)


def deploy(cluster, node, value="true", **labels):
    """Labels a node so that the operands' pods come; value None: so that they go. labels: others."""
    deployed = {f"gpu__deploy__{o}".replace("-", "_"): value for o in DEPLOYED}
    label(cluster, node, **deployed, **labels)


def choose(cluster, node, key):
    cluster.label(node, f"{CHOICE}={key}" if key else f"{CHOICE}-")


# --- the operands


def operands(cluster, *args):
    """Prints the objects of the operands, with the ConfigMap of the device plugin."""
    programs = run("hack/cluster/build", "--where", "nvidia").strip()
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for key, config in CONFIG_KEYS.items():
            files.append(f"{key}={os.path.join(folder, key)}")
            with open(os.path.join(folder, key), "w", encoding="utf-8") as file:
                json.dump(config, file)
        return cluster.kubectl(*args, "-f", "-",
                               stdin=run("hack/cluster/make-operands", programs, *files))


def install(cluster, nodes, definition):
    """Has the operator's objects and pods on the nodes, all of them in sync."""
    define(cluster, definition)
    for node in nodes:
        for component in COMPONENTS:
            cluster.ctl("stop", f"{node}/{component}")
    cluster.kubectl("-n", "kube-system", "delete", "nodefeatures", "--all")
    operands(cluster, "apply")
    put_config_map(cluster, LAYOUTS, {"config.yaml": json.dumps(LAYOUT_KEYS)})
    grant(cluster)
    put_policy(cluster)
    tell_state(cluster)
    for node in nodes:
        deploy(cluster, node)
    for node in nodes:
        wait_offer(cluster, node, gpu=2)
        for app in (PLUGIN, DISCOVERY, EXPORTER):
            wait_ready(cluster, node, app)


def put_back(cluster, nodes):
    """As install() leaves it, whatever became of it since."""
    cluster.ctl("start", "nfd-master")
    cluster.kubectl("delete", "clusterpolicies", "--all")
    cluster.kubectl("delete", "crd", "gpuclusters.nvidia.com", "--ignore-not-found")
    put_policy(cluster)
    tell_state(cluster)
    operands(cluster, "apply")
    grant(cluster)
    for node in nodes:
        cluster.kubectl("taint", "node", node, "test/away-", check=False)
        put_world(cluster, node, make_world(node))
        names = [n for n in cluster.node(node)["metadata"]["labels"] if n.startswith(OURS_TO_SET)]
        cluster.label(node, *(f"{n}-" for n in names))
        deploy(cluster, node)
        for component in COMPONENTS:
            cluster.ctl("stop", f"{node}/{component}")
        cluster.ctl("start", f"{node}/kubelet")
    for node in nodes:
        renew_pods(cluster, node)
        wait_offer(cluster, node, gpu=2)


def remove(cluster, nodes):
    """As it was before install()."""
    cluster.kubectl("delete", "crd", "clusterpolicies.nvidia.com", "gpuclusters.nvidia.com",
                    "--ignore-not-found")
    for node in nodes:
        names = [n for n in cluster.node(node)["metadata"]["labels"]
                 if n.startswith("nvidia.com/") and n != "nvidia.com/gpu.present"]
        cluster.label(node, *(f"{n}-" for n in names))
    cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
    cluster.ctl("start", "nfd-master")
    for node in nodes:
        for component in COMPONENTS:
            cluster.ctl("start", f"{node}/{component}")
        wait_offer(cluster, node, gpu=2)


def is_installed(cluster):
    found = json.loads(cluster.kubectl("get", "crd", "-o", "json"))["items"]
    return any(c["metadata"]["name"] == "clusterpolicies.nvidia.com" for c in found)


def pods_of(cluster, node, app):
    items = cluster.read(f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app%3D{app}")["items"]
    return [pod for pod in items if pod["spec"].get("nodeName") == node]


def is_ready(pod):
    return not pod["metadata"].get("deletionTimestamp") and any(
        c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def wait_ready(cluster, node, app):
    def look():
        pods = pods_of(cluster, node, app)
        pods = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
        if len(pods) != 1 or not is_ready(pods[0]):
            raise Failed(f"{app} on {node}: {[p['status'] for p in pods]}")
        return pods[0]
    return wait_for(f"{app} on {node}", look, timeout=90, every=0.1)


def wait_no_pod(cluster, node, app):
    wait_for(f"no {app} on {node}", lambda: not pods_of(cluster, node, app), every=0.1)


def delete_pod_of(cluster, node, app):
    for pod in pods_of(cluster, node, app):
        with contextlib.suppress(Failed):  # it may be gone
            cluster.end_pod(pod["metadata"]["name"], namespace=NAMESPACE)


def allocatable(cluster, node):
    amounts = cluster.node(node)["status"]["allocatable"]
    return {name.partition("/")[2]: int(n) for name, n in amounts.items()
            if name.startswith("nvidia.com/") and n != "0"}


def wait_offer(cluster, node, **offer):
    """Waits until exactly so much is on offer; "gpu.shared" is written gpu__shared. A plugin that
    its config-manager signals while it starts registers twice within milliseconds, and the kubelet
    may end with the devices of the one that is gone, which are none. Its pod is made anew then."""
    offer = {name.replace("__", "."): n for name, n in offer.items()}

    def is_offered():
        now = allocatable(cluster, node)
        if now != offer:
            raise Failed(f"{node} offers {now}, not {offer}")
        return True
    try:
        # A pod may take 30 s to end.
        wait_for("the node's GPUs", is_offered, timeout=30 if offer else 60, every=0.1)
    except Failed:
        if not offer or not pods_of(cluster, node, PLUGIN) or allocatable(cluster, node):
            raise
        renew_pods(cluster, node, PLUGIN)
        wait_for("the node's GPUs", is_offered, timeout=60, every=0.1)


@contextlib.contextmanager
def frozen_managers(cluster, node):
    """While NVIDIA's config-managers of a node stand still, its plugin and its feature discovery do
    not hear of labels. Then both pods are made anew, for a plugin that is told of two labels at
    once does not do well (see wait_offer)."""
    pids = [cluster.pid_of(pod, "config-manager")
            for app in (PLUGIN, DISCOVERY) for pod in pods_of(cluster, node, app)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        renew_pods(cluster, node)


def renew_pods(cluster, node, *apps):
    """Has the pods of the plugin and of feature discovery made anew, or these."""
    for app in apps or (PLUGIN, DISCOVERY):
        delete_pod_of(cluster, node, app)
    for app in apps or (PLUGIN, DISCOVERY):
        wait_ready(cluster, node, app)


@contextlib.contextmanager
def kept_away(cluster, node, *apps):
    """A taint that operands do not tolerate: pods that are there stay, new ones do not come."""
    cluster.kubectl("taint", "node", node, "--overwrite", "test/away=:NoSchedule")
    for app in apps:
        delete_pod_of(cluster, node, app)
    try:
        yield
    finally:
        cluster.kubectl("taint", "node", node, "test/away-", check=False)  # of several
        for app in apps:
            wait_ready(cluster, node, app)


# --- the driver


def world_of(cluster, node):
    """What the stand-in driver of the node tells (tests/fake/README.md)."""
    path = os.path.join(cluster.ctl("state", node).strip(), "gpu", "devices.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def change_world(cluster, node, change):
    """Alters that: change(world)."""
    world = world_of(cluster, node)
    change(world)
    put_world(cluster, node, world)


def put_world(cluster, node, world):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(world, file)
        file.flush()
        cluster.ctl("devices", node, file.name)


def make_world(node, *layout):
    return json.loads(run("hack/cluster/make-devices", node, "2", "A100", *layout))


# --- the statuses


def items_of(cluster, node):
    return [item for item in cluster.attributions().values()
            if item.get("status", {}).get("nodeName") == node]


def in_sync(cluster, node):
    """(status, reason, message) of the condition of each device of a node."""
    found = []
    for item in items_of(cluster, node):
        condition = cluster.condition(item, "InSync")
        found.append((condition["status"], condition["reason"], condition["message"]))
    return found


def wait_reason(cluster, node, status, reason, timeout=60):
    """Waits until each device of a node says so; returns one of the messages."""
    def look():
        now = in_sync(cluster, node)
        if not now or any((s, r) != (status, reason) for s, r, _ in now):
            raise Failed(f"{node}: {now}")
        return now[0][2] or "-"
    return wait_for(f"InSync={status}, {reason} on {node}", look, timeout, every=0.1)


def drifts(item):
    return {d["type"]: d for d in item["status"].get("intent", {}).get("drifts", [])}


def say(drift):
    return (f"{drift['type']} ({drift['severity']}): intended {drift['intended']}; observed "
            f"{drift['observed']}; {drift['message']}")


def wait_drift(cluster, node, kind, timeout=60):
    """Waits until each device of a node has that drift; returns it."""
    def look():
        found = [drifts(item).get(kind) for item in items_of(cluster, node)]
        if not found or not all(found):
            raise Failed(f"{node}: {[drifts(i) for i in items_of(cluster, node)]}, "
                         f"{in_sync(cluster, node)}")
        return found[0]
    return wait_for(f"{kind} on {node}", look, timeout, every=0.1)


class Seen:
    """What a Watch saw of one type of drift on the devices of a node: [(when, how many)]."""

    def __init__(self, watch, node, kind):
        having, self.counts, self.last = set(), [], None
        for at, change, item in list(watch.events):
            name = item["metadata"]["name"]
            has = change != "DELETED" and item.get("status", {}).get("nodeName") == node and \
                kind in drifts(item)
            having = having | {name} if has else having - {name}
            self.counts.append((at, len(having)))
            self.last = drifts(item)[kind] if has else self.last

    def appeared(self, number):
        """When so many devices first had it, or None."""
        return next((at for at, n in self.counts if n >= number), None)

    def gone(self):
        """Since when none has it any more, or None."""
        if not self.counts or self.counts[-1][1]:
            return None
        last = max((i for i, (_, n) in enumerate(self.counts) if n), default=None)
        return None if last is None else self.counts[last + 1][0]

    def flapped(self):
        """It came again after it had gone."""
        states = [n > 0 for _, n in self.counts]
        return sum(now and not before for before, now in zip([False] + states, states)) > 1


def pause(seconds):
    """For what has no end that could be waited for: that something does not happen."""
    time.sleep(seconds)
