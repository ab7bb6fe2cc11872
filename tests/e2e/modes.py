#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way of handing out a GPU, with NVIDIA's real device plugin, feature discovery and
config-manager, and real kubelets; and what becomes of tenants in each stage of their lives.

usage: modes.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which was made with the options below, and leaves it; with words it tries only the
promises whose sentence contains them. Each promise sets its node up first, so each can be tried
alone. MPS is in mps.py; what has nothing to do with modes is in attribution.py.
"""

import base64
import functools
import json
import os
import re
import signal
import sys
import tempfile
import time

from cluster import (AGENTS, CONTROLLER_USER, WITNESSES, WRITES, Cluster, Failed, Tests, Watch, run,
                     wait_for)
from illness import Patient, accused, agents_with
from sharing import (REPLICAS, TIME_SLICED_FREE, TIME_SLICED_HELD, Held, Sharing, differences,
                     expected, shown, unit_of)

OURS = ("device-plugin", "gpu-feature-discovery")  # the components that read the configuration
N_NODES = 4
START = ("--nodes", str(N_NODES), "--feature-discovery")
NODES = [f"node-{i + 1}" for i in range(N_NODES)]
FIRST, SECOND, THIRD, FOURTH = NODES

EXCLUSIVE = Sharing("exclusive", "2:A100")
TIME_SLICED = Sharing("time-slicing", "2:A100", shares={"gpu": 4})
RENAMED = Sharing("time-slicing-renamed", "2:A100", shares={"gpu": 4}, renamed=True)
ONE_EACH = Sharing("time-slicing-one", "2:A100", shares={"gpu": 4})
MIG_SINGLE = Sharing("mig-single", "2:A100:1g.5gb,1g.5gb/1g.5gb", "single")
MIG_MIXED = Sharing("mig-mixed", "2:A100:3g.20gb,1g.5gb,1g.5gb", "mixed")
MIG_SINGLE_SHARED = Sharing("mig-single-time-slicing", "2:A100:1g.5gb,1g.5gb/1g.5gb", "single",
                            {"gpu": 2})
MIG_MIXED_SHARED = Sharing("mig-mixed-time-slicing", "2:A100:1g.5gb,1g.5gb", "mixed",
                           {"gpu": 2, "mig-1g.5gb": 3})
MIG_PARTLY_SHARED = Sharing("mig-mixed-time-slicing", "2:A100:3g.20gb,1g.5gb", "mixed",
                            {"gpu": 2, "mig-1g.5gb": 3})

# The driver compares two of its samples; those that are closer than 0.2 s repeat the figure.
SHORT_IDLENESS = {"GPU_ATTRIBUTION_IDLE_AFTER": "20s", "GPU_ATTRIBUTION_SAMPLE_INTERVAL": "500ms"}

tests = Tests(clean=Cluster.delete_pods)
present = {}  # node to the sharing that it was set up for last


# --- setting a node up, and what is real there


def devices(cluster, node):
    state = cluster.ctl("state", node).strip()
    with open(os.path.join(state, "gpu", "devices.json"), encoding="utf-8") as file:
        return json.load(file)["devices"]


def put(cluster, verb, node, value):
    """Gives `ctl devices` or `ctl plugin-config` a file (JSON is YAML)."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(value, file)
        file.flush()
        cluster.ctl(verb, node, file.name)


def make_devices(node, gpus):
    """The device file that make-devices makes of "COUNT:MODEL:MIG"."""
    return json.loads(run("hack/cluster/make-devices", node, *gpus.split(":")))


def put_gpus(cluster, node, gpus):
    put(cluster, "devices", node, {**make_devices(node, "1"), "devices": gpus})


def put_config(cluster, node, config):
    """A name in hack/cluster/plugin-config, or a configuration."""
    if isinstance(config, str):
        cluster.ctl("plugin-config", node, config)
    else:
        put(cluster, "plugin-config", node, config)


def allocatable(cluster, node):
    amounts = cluster.node(node)["status"]["allocatable"]
    return {name: int(n) for name, n in amounts.items()
            if name.startswith("nvidia.com/") and n != "0"}


def wait_offer(cluster, node, sharing):
    offer = sharing.offer(devices(cluster, node))

    def is_offered():
        now = allocatable(cluster, node)
        if now != offer:
            raise Failed(f"{node} offers {now}, not {offer}")
        return True
    wait_for("the node's GPUs", is_offered, every=0.1)


def restart_plugin(cluster, node):
    """With its configuration, as when its pod is made anew; feature discovery, too."""
    for component in OURS:
        cluster.ctl("restart", f"{node}/{component}")


def set_up(cluster, node, sharing):
    if present.get(node) is not sharing:
        present.pop(node, None)
        put(cluster, "devices", node, make_devices(node, sharing.gpus))
        put_config(cluster, node, sharing.config)
        restart_plugin(cluster, node)
    wait_offer(cluster, node, sharing)
    present[node] = sharing


def read_book(cluster, node):
    """The kubelet's own checkpoint as (Held, allocation response) of each container and resource.
    It has none before it first gives out something."""
    path = os.path.join(cluster.ctl("state", node).strip(), "kubelet", "device-plugins",
                        "kubelet_internal_checkpoint")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)["Data"]["PodDeviceEntries"] or []
    return [(Held(e["PodUID"], e["ContainerName"], e["ResourceName"],
                  [i for ids in e["DeviceIDs"].values() for i in ids]),
             base64.b64decode(e["AllocResp"])) for e in entries]


def held_by(cluster, node, uids):
    return [held for held, _ in read_book(cluster, node) if held.pod_uid in uids]


def statuses(cluster, node):
    """Statuses by UUID of the devices that the node has."""
    items = cluster.attributions()
    return {gpu["uuid"]: items[gpu["uuid"].lower()].get("status", {})
            for gpu in devices(cluster, node)}


def witnesses_of(tenant):
    """The status of a pod does not tell what its init containers hold, sidecars or not."""
    return WITNESSES - ({"PodStatus"} if tenant["container"] == "init" else set())


def check(cluster, node, sharing, pods, gone=None):
    """Waits until each status of the node says all that it has to and no more. pods: names by UID.
    gone: UUIDs of GPUs by those of MIG devices that are held and no longer there."""
    held = held_by(cluster, node, pods)
    if {entry.pod_uid for entry in held} != set(pods):
        raise Failed(f"the kubelet's book does not have all of {pods}: {held}")
    gpus = devices(cluster, node)

    def is_right():
        now = statuses(cluster, node)
        wrong = []
        for gpu in gpus:
            want = expected(sharing, gpu, held, pods, gone or {})
            got = now[gpu["uuid"]]
            wrong += [f"{gpu['uuid']} {line}" for line in differences(want, shown(got))]
            wrong += [f"{gpu['uuid']} {t['podName']}/{t['container']}: {t['witnesses']}"
                      for t in got.get("tenants", [])
                      if t["phase"] == "Running" and set(t["witnesses"]) != witnesses_of(t)]
            if got["nodeName"] != node:
                wrong.append(f"{gpu['uuid']} is on {got['nodeName']}")
        if wrong:
            raise Failed("\n".join(wrong))
        return True
    wait_for(f"the statuses of {node}", is_right, timeout=30, every=0.1)  # labels come later


def check_labels(cluster, node, sharing):
    wanted = sharing.labels(devices(cluster, node))

    def are_right():
        labels = cluster.node(node)["metadata"]["labels"]
        wrong = {name: labels.get(f"nvidia.com/{name}") for name, value in wanted.items()
                 if labels.get(f"nvidia.com/{name}") != value}
        if wrong:
            raise Failed(f"wanted {wanted}, got {wrong}")
        return True
    wait_for(f"the labels of {node}", are_right, timeout=15, every=0.1)


def table(cluster, node, *args):
    return cluster.kubectl("get", "gpuattributions", f"--field-selector=status.nodeName={node}",
                           *args)


def show_mode(cluster, node, sharing, wants):
    """Sets a node up, and holds the statuses against what must be: while nobody is there, and with
    a tenant for each (resource, number). Returns UIDs with names."""
    set_up(cluster, node, sharing)
    check(cluster, node, sharing, {})
    check_labels(cluster, node, sharing)
    pods = {}
    for i, (resource, number) in enumerate(wants):
        name = f"tenant-{i}"
        pods[cluster.create_tenant(name, node, number, 0, resource)] = name
    check(cluster, node, sharing, pods)
    return pods


def slots_of(cluster, node, uid):
    """How many slots the tenant has of each GPU that it is on."""
    return sorted(t["slots"] for status in statuses(cluster, node).values()
                  for t in status.get("tenants", []) if t["podUID"] == uid)


# --- modes


@tests.promise
def a_whole_gpu_is_exclusive(cluster):
    show_mode(cluster, FIRST, EXCLUSIVE, [("nvidia.com/gpu", 1)])
    return table(cluster, FIRST)


@tests.promise
def a_pod_with_two_whole_gpus_is_a_tenant_of_both(cluster):
    pods = show_mode(cluster, FIRST, EXCLUSIVE, [("nvidia.com/gpu", 2)])
    assert slots_of(cluster, FIRST, *pods) == [1, 1]


@tests.promise
def two_containers_of_a_pod_are_two_tenants(cluster):
    set_up(cluster, FIRST, EXCLUSIVE)
    manifest = cluster.pod_manifest("pair", FIRST)
    main = manifest["spec"]["containers"][0]
    manifest["spec"]["containers"].append({**main, "name": "other"})
    uid = cluster.create(manifest)
    wait_for("both in the book", lambda: len(held_by(cluster, FIRST, {uid})) == 2)
    check(cluster, FIRST, EXCLUSIVE, {uid: "pair"})


@tests.promise
def time_slicing_shows_replicas_and_all_tenants(cluster):
    pods = show_mode(cluster, SECOND, TIME_SLICED, [("nvidia.com/gpu", 1)] * 5)
    assert len(pods) == 5
    return table(cluster, SECOND)


@tests.promise
def several_replicas_of_one_gpu_in_a_container_are_one_tenant_with_so_many_slots(cluster):
    pods = show_mode(cluster, SECOND, TIME_SLICED, [("nvidia.com/gpu", 3)])
    assert slots_of(cluster, SECOND, *pods) == [1, 2]
    return table(cluster, SECOND)


@tests.promise
def time_slicing_is_the_same_under_the_name_shared(cluster):
    show_mode(cluster, SECOND, RENAMED, [("nvidia.com/gpu.shared", 1)] * 2)
    return table(cluster, SECOND)


@tests.promise
def a_pod_that_was_refused_for_asking_for_two_replicas_is_never_a_tenant(cluster):
    with Watch(cluster) as watch:
        show_mode(cluster, SECOND, ONE_EACH, [("nvidia.com/gpu", 1)])
        greedy = cluster.create_pod("greedy", SECOND, 2)
        wait_for("its refusal", lambda: cluster.is_refused("greedy"))
        message = cluster.pod("greedy")["status"]["message"]
        assert "request" in message and "maximum" in message, message
        last = cluster.create_tenant("last", SECOND)
        watch.wait_shown(last)
        events = watch.close()
    assert not any(greedy in json.dumps(item) for _, _, item in events)
    return message


@tests.promise
def mig_devices_are_partitions_of_their_gpu_under_strategy_single(cluster):
    show_mode(cluster, THIRD, MIG_SINGLE, [("nvidia.com/gpu", 1), ("nvidia.com/gpu", 1)])
    return table(cluster, THIRD)


@tests.promise
def mig_devices_and_a_whole_gpu_stand_side_by_side_under_strategy_mixed(cluster):
    show_mode(cluster, THIRD, MIG_MIXED, [("nvidia.com/mig-1g.5gb", 1),
                                          ("nvidia.com/mig-3g.20gb", 1), ("nvidia.com/gpu", 1)])
    return table(cluster, THIRD)


@tests.promise
def a_container_with_two_mig_devices_of_a_gpu_is_one_tenant_of_two_partitions(cluster):
    pods = show_mode(cluster, THIRD, MIG_MIXED, [("nvidia.com/mig-1g.5gb", 2)])
    assert slots_of(cluster, THIRD, *pods) == [2]


@tests.promise
def a_container_with_two_resources_is_a_tenant_of_each_gpu_by_its_own(cluster):
    set_up(cluster, THIRD, MIG_MIXED)
    manifest = cluster.pod_manifest("both", THIRD)
    manifest["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.5gb"] = 1
    uid = cluster.create(manifest)
    wait_for("both in the book", lambda: len(held_by(cluster, THIRD, {uid})) == 2)
    check(cluster, THIRD, MIG_MIXED, {uid: "both"})


@tests.promise
def an_xid_error_of_a_mig_device_names_its_tenant_and_one_of_the_gpu_each(cluster):
    names = ["large", "small"]
    wants = {"large": "nvidia.com/mig-3g.20gb", "small": "nvidia.com/mig-1g.5gb"}
    set_up(cluster, THIRD, MIG_MIXED)
    uids = {name: cluster.create_tenant(name, THIRD, 1, 0, wants[name]) for name in names}
    mig = {name: held_by(cluster, THIRD, {uids[name]})[0].ids[0] for name in names}
    device = next(d for d in devices(cluster, THIRD) if "migDevices" in d)
    places = {d["uuid"]: {key: d[key] for key in ("gpuInstanceID", "computeInstanceID")}
              for d in device["migDevices"]}
    gpu = Patient(cluster, THIRD, device["uuid"])
    wait_for("why nothing is known of its work", lambda: statuses(cluster, THIRD)[device["uuid"]][
        "activity"]["reason"] == "MIGNotMeasured")
    gpu.wait_alone(*names)
    gpu.raise_xid(94, **places[mig["small"]])
    event = gpu.wait_event(94)
    assert (event["class"], event["partition"]) == ("Application", mig["small"]), event
    assert accused(event) == ["small"], event
    gpu.wait_reasons("Healthy")  # an application's error accuses no device
    try:
        gpu.raise_xid(95, **places[mig["large"]])
        health = gpu.wait_reasons("Unhealthy", "XID95")
        event = gpu.wait_event(95)
        assert (health["recoveryAction"], event["partition"]) == ("Reset", mig["large"]), health
        assert accused(event) == ["large"], event
        gpu.reset()
        gpu.raise_xid(79)
        health = gpu.wait_reasons("Unhealthy", "XID79")
        event = gpu.wait_event(79)
        assert (health["recoveryAction"], event.get("partition")) == ("Reboot", None), health
        assert accused(event) == names, event
        gpu.tell(lost=True)
        gpu.wait_reasons("Unhealthy", "XID79", "GPULost")
    finally:
        gpu.tell(lost=False)
        gpu.wait_reasons("Healthy")
        restart_plugin(cluster, THIRD)
    wait_for("its health", lambda: gpu.health()["state"] == "Healthy")


@tests.promise
def a_mig_device_that_computes_is_active_beside_idle_ones_and_its_gpu_with_it(cluster):
    set_up(cluster, THIRD, MIG_MIXED)
    uid = cluster.create_tenant("worker", THIRD, 1, 0, "nvidia.com/mig-3g.20gb")
    own = held_by(cluster, THIRD, {uid})[0].ids[0]
    device = next(d for d in devices(cluster, THIRD) if "migDevices" in d)
    others = [d["uuid"] for d in device["migDevices"] if d["uuid"] != own]
    gpu = Patient(cluster, THIRD, device["uuid"])

    def compute(percent):
        """The tenant's GPU instance, and no other."""
        gpu.tell(migDevices=[{**d, "graphicsUtilization": percent if d["uuid"] == own else 0}
                             for d in device["migDevices"]])

    def wait_activity(whole, its):
        def look():
            status = gpu.status()
            states = {p["uuid"]: p.get("activity", {}).get("state") for p in status["partitions"]}
            if (status["activity"]["state"] != whole or states[own] != its or
                    any(states[other] != "Idle" for other in others)):
                raise Failed(f"{status['activity']}, {states}")
            return status["activity"]
        return wait_for(f"{whole}, and {its} by itself", look, timeout=90)
    try:
        with agents_with(cluster, SHORT_IDLENESS):
            compute(60)
            active = wait_activity("Active", "Active")
            assert (active["scope"], active["evidence"]) == ("Partition", ["GPM"]), active
            since = len(cluster.audit())

            def n_writes():
                return sum(event["objectRef"].get("name") == device["uuid"].lower() for event in
                           cluster.requests_of(CONTROLLER_USER, since, WRITES, "gpuattributions"))
            for percent in range(5, 100, 5):
                compute(percent)
                time.sleep(0.6)
            assert n_writes() == 0 and gpu.status()["activity"] == active, gpu.status()["activity"]
            compute(0)
            idle = wait_activity("Idle", "Idle")
            assert n_writes() == 1 and "idleSince" in idle, idle
            compute(60)
            wait_activity("Active", "Active")
            assert n_writes() == 2, n_writes()
    finally:
        gpu.tell(migDevices=device["migDevices"])


@tests.promise
def time_sliced_mig_devices_are_told_under_strategy_single(cluster):
    pods = show_mode(cluster, FOURTH, MIG_SINGLE_SHARED, [("nvidia.com/gpu", 1)] * 4)
    assert len(pods) == 4
    return table(cluster, FOURTH)


@tests.promise
def time_sliced_mig_devices_and_a_time_sliced_gpu_are_told_under_strategy_mixed(cluster):
    show_mode(cluster, FOURTH, MIG_MIXED_SHARED, [("nvidia.com/mig-1g.5gb", 1)] * 2 +
              [("nvidia.com/mig-1g.5gb", 3), ("nvidia.com/gpu", 1)])
    return table(cluster, FOURTH)


@tests.promise
def a_gpu_with_shared_and_unshared_mig_devices_is_time_sliced_mig(cluster):
    show_mode(cluster, FOURTH, MIG_PARTLY_SHARED, [("nvidia.com/mig-1g.5gb", 1),
                                                   ("nvidia.com/mig-3g.20gb", 1)])
    return table(cluster, FOURTH)


@tests.promise
def renamed_time_sliced_mig_devices_are_told(cluster):
    config = {"version": "v1", "flags": {"migStrategy": "mixed"}, "sharing": {"timeSlicing": {
        "renameByDefault": True, "resources": [{"name": "nvidia.com/mig-1g.5gb", "replicas": 2}]}}}
    sharing = Sharing(config, "2:A100:1g.5gb,1g.5gb", "mixed", {"mig-1g.5gb": 2}, renamed=True)
    show_mode(cluster, FOURTH, sharing, [("nvidia.com/mig-1g.5gb.shared", 1)] * 2)
    return table(cluster, FOURTH)


@tests.promise
def a_gpu_in_mig_mode_that_has_no_instances_has_no_slots(cluster):
    show_mode(cluster, FOURTH, Sharing("mig-mixed", "2:A100:-", "mixed"), [("nvidia.com/gpu", 1)])
    return table(cluster, FOURTH)


@tests.promise
def a_gpu_in_mig_mode_that_is_handed_out_whole_is_what_its_ids_say(cluster):
    show_mode(cluster, FOURTH, Sharing("exclusive", "2:A100:1g.5gb"), [("nvidia.com/gpu", 2)])
    return table(cluster, FOURTH)


@tests.promise
def mig_devices_of_every_kind_of_profile_are_told(cluster):
    sharing = Sharing("mig-mixed", "2:A100:3g.20gb,2g.10gb,1g.5gb+me,1g.5gb", "mixed")
    show_mode(cluster, FOURTH, sharing, [("nvidia.com/mig-1g.5gb", 2),
                                         ("nvidia.com/mig-2g.10gb", 1)])
    return table(cluster, FOURTH)


@tests.promise
def the_label_of_feature_discovery_decides_nothing_and_agrees_or_contradicts(cluster):
    set_up(cluster, SECOND, TIME_SLICED)
    gpus = devices(cluster, SECOND)
    silent = [{**gpu, "errors": {"nvmlDeviceGetComputeMode": 3}} for gpu in gpus]
    label = "nvidia.com/gpu.sharing-strategy"

    def wait_told(*wanted):
        def is_told():
            told = [(s["sharing"]["mode"], *s["sharing"]["evidence"])
                    for s in statuses(cluster, SECOND).values()]
            if sorted(told) != sorted(wanted):
                raise Failed(f"{told} is not {wanted}")
            return True
        wait_for("the modes", is_told, timeout=90)  # no event: the agent looks once a minute
    right, wrong = (f"node label {label.partition('/')[2]} is {value}"
                    for value in ("time-slicing", "mps"))
    by_ids, by_ids_and_wrong = ("Unknown", *REPLICAS, right), ("Unknown", *REPLICAS, wrong)
    by_mode = ("TimeSliced", *TIME_SLICED_FREE, f"{wrong}, which contradicts")
    by_pod = ("TimeSliced", *TIME_SLICED_HELD, f"{wrong}, which contradicts")
    try:
        put_gpus(cluster, SECOND, silent)
        restart_plugin(cluster, SECOND)
        wait_told(by_ids, by_ids)
        cluster.ctl("stop", "nfd-master")  # or it would mend the label
        cluster.label(SECOND, f"{label}=mps")
        wait_told(by_ids_and_wrong, by_ids_and_wrong)
        cluster.create_tenant("tenant", SECOND)
        wait_told(by_pod, by_ids_and_wrong)
        put_gpus(cluster, SECOND, gpus)
        cluster.create_tenant("another", SECOND, 4)  # has the agent look
        wait_told(by_pod, by_pod)
        cluster.delete_pods()
        wait_told(by_mode, by_mode)
    finally:
        cluster.ctl("start", "nfd-master")
        present.pop(SECOND, None)


# --- how the device list reaches the container: the books are the same


def find_all(pattern, data):
    return [match.decode() for match in re.findall(pattern, data)]


STRATEGIES = {
    # what the operator sets, with and without CDI
    "envvar": {"deviceListStrategy": ["envvar"], "passDeviceSpecs": True},
    "both of CDI": {"deviceListStrategy": ["cdi-annotations", "cdi-cri"], "passDeviceSpecs": True},
    "volume-mounts": {"deviceListStrategy": ["volume-mounts"]},
    "cdi-annotations": {"deviceListStrategy": ["cdi-annotations"]},
    "cdi-cri": {"deviceListStrategy": ["cdi-cri"]},
}


def names_in(strategy, response):
    """What an allocation response calls the device, by the ways of the strategy."""
    names = []
    if strategy == "envvar":
        names += find_all(rb"NVIDIA_VISIBLE_DEVICES\x12.([\w:,-]+?)(?=[\n\x12\x1a\"*]|$)", response)
    if strategy == "volume-mounts":
        names += find_all(rb"nvidia-container-devices/([\w:-]+?)(?=\x12)", response)
    if strategy in ("cdi-annotations", "both of CDI"):
        names += find_all(rb"cdi.k8s.io/nvidia-device-plugin_[0-9a-f-]{36}\x12."
                          rb"k8s.device-plugin.nvidia.com/gpu=([\w:-]+)", response)
    if strategy in ("cdi-cri", "both of CDI"):
        names += find_all(rb"\*.\n.k8s.device-plugin.nvidia.com/gpu=([\w:-]+)", response)
    return names


def index_of(gpus, unit):
    """As the plugin numbers units: "1", or "0:2" for a MIG device."""
    for i, gpu in enumerate(gpus):
        if gpu["uuid"] == unit:
            return str(i)
        for j, mig in enumerate(gpu.get("migDevices", [])):
            if mig["uuid"] == unit:
                return f"{i}:{j}"
    raise Failed(f"no {unit}")


def try_strategy(cluster, node, base, strategy, ids, resource):
    """Returns what the container got by that strategy."""
    flags = {"migStrategy": base.strategy, "plugin": {**STRATEGIES[strategy],
                                                      "deviceIDStrategy": ids}}
    sharing = Sharing({"version": "v1", "flags": flags}, base.gpus, base.strategy)
    set_up(cluster, node, sharing)
    uid = cluster.create_tenant("tenant", node, 1, 0, resource)
    check(cluster, node, sharing, {uid: "tenant"})
    (held, response), = [e for e in read_book(cluster, node) if e[0].pod_uid == uid]
    unit = unit_of(held.ids[0])
    wanted = unit if ids == "uuid" else index_of(devices(cluster, node), unit)
    names = names_in(strategy, response)
    assert names and set(names) == {wanted}, f"{names} is not {wanted}: {response}"
    files = cluster.kubectl("exec", "tenant", "--", "sh", "-c",
                            "ls /dev | grep '^nvidia[0-9]'; ls /dev/nvidia-caps 2>/dev/null; true")
    cluster.delete_pods()
    return f"{strategy}, {ids}: {wanted}, device files {' '.join(files.split()) or 'none'}"


def try_strategies(cluster, node, base, combinations, resource):
    lines = [try_strategy(cluster, node, base, *which, resource) for which in combinations]
    # Whoever gets device files gets those of its device.
    assert all("device files none" in line for line in lines if line.startswith("volume")), lines
    assert all("nvidia" in line.partition("device files")[2] for line in lines
               if not line.startswith("volume")), lines
    return "\n".join(lines)


@tests.promise
def every_device_list_and_id_strategy_gives_the_same_tenant_of_a_whole_gpu(cluster):
    every = [(strategy, ids) for strategy in STRATEGIES for ids in ("uuid", "index")]
    return try_strategies(cluster, FIRST, EXCLUSIVE, every, "nvidia.com/gpu")


@tests.promise
def every_device_list_and_id_strategy_gives_the_same_tenant_of_a_mig_device(cluster):
    some = [("envvar", "index"), ("volume-mounts", "uuid"), ("both of CDI", "uuid"),
            ("cdi-cri", "index")]
    return try_strategies(cluster, THIRD, MIG_MIXED, some, "nvidia.com/mig-1g.5gb")


# --- changes under tenants


@tests.promise
def the_tenant_of_a_mig_device_that_is_gone_stays_with_its_gpu_while_its_pod_lives(cluster):
    set_up(cluster, THIRD, Sharing("mig-mixed", "2:A100:1g.5gb,1g.5gb", "mixed"))
    uid = cluster.create_tenant("stays", THIRD, 1, 0, "nvidia.com/mig-1g.5gb")
    held, = held_by(cluster, THIRD, {uid})
    with Watch(cluster) as watch:
        changed = Sharing("mig-mixed", "2:A100:3g.20gb,2g.10gb", "mixed")
        set_up(cluster, THIRD, changed)
        new = cluster.create_tenant("new", THIRD, 1, 0, "nvidia.com/mig-3g.20gb")
        parent = devices(cluster, THIRD)[0]["uuid"]
        assert held.ids[0] not in str(devices(cluster, THIRD)), "it is still there"
        check(cluster, THIRD, changed, {uid: "stays", new: "new"}, {held.ids[0]: parent})
        shown_then = table(cluster, THIRD)
        watch.close()
    watch.assert_never_lost({uid})
    cluster.end_pod("stays")
    cluster.wait_gone(uid)
    check(cluster, THIRD, changed, {new: "new"})
    return shown_then


@tests.promise
def tenants_of_whole_gpus_stay_when_their_gpus_are_divided_by_time(cluster):
    set_up(cluster, SECOND, EXCLUSIVE)
    old = cluster.create_tenant("old", SECOND)
    unit = held_by(cluster, SECOND, {old})[0].ids[0]
    with Watch(cluster) as watch:
        set_up(cluster, SECOND, TIME_SLICED)
        pods = {old: "old"}
        while not any(unit_of(i) == unit for h in held_by(cluster, SECOND, set(pods) - {old})
                      for i in h.ids):
            name = f"new-{len(pods)}"
            pods[cluster.create_tenant(name, SECOND)] = name
        check(cluster, SECOND, TIME_SLICED, pods)
        shown_then = table(cluster, SECOND)
        watch.close()
    watch.assert_never_lost({old})
    cluster.end_pod("old")
    cluster.wait_gone(old)
    del pods[old]
    check(cluster, SECOND, TIME_SLICED, pods)
    return shown_then


# --- configurations chosen by the node's label


CONFIGS = {"default": EXCLUSIVE, "sliced": TIME_SLICED, "shared": RENAMED}
CHOICE = "nvidia.com/device-plugin.config"
DEPLOY = ("nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.gpu-feature-discovery")


def deploy_operands(cluster, node):
    """Has the node's device plugin and feature discovery run in pods, as the operator does it."""
    programs = run("hack/cluster/build", "--where", "nvidia").strip()
    files = [f"{name}=hack/cluster/plugin-config/{sharing.config}.yaml"
             for name, sharing in CONFIGS.items()]
    cluster.kubectl("apply", "-f", "-",
                    stdin=run("hack/cluster/make-operands", programs, *files))
    for component in OURS:
        cluster.ctl("stop", f"{node}/{component}")
    cluster.label(node, *(f"{label}=true" for label in DEPLOY))


def remove_operands(cluster, node):
    cluster.label(node, f"{CHOICE}-", *(f"{label}-" for label in DEPLOY))
    cluster.kubectl("delete", "namespace", "gpu-operator", "--ignore-not-found")
    for component in OURS:
        cluster.ctl("start", f"{node}/{component}")
    present.pop(node, None)


def choose(cluster, node, name):
    cluster.label(node, f"{CHOICE}={name}" if name else f"{CHOICE}-")


def manager(cluster):
    """The status of the container config-manager beside the device plugin."""
    pod, = cluster.get("pods", "-n", "gpu-operator", "-l",
                       "app=nvidia-device-plugin-daemonset")["items"]
    return next(c for c in pod["status"]["containerStatuses"] if c["name"] == "config-manager")


@tests.promise
def the_label_that_chooses_a_configuration_changes_the_mode_and_ends_no_tenant(cluster):
    set_up(cluster, FOURTH, EXCLUSIVE)
    pods, notes = {}, []

    def step(choice, name, resource):
        sharing = CONFIGS[choice or "default"]
        choose(cluster, FOURTH, choice)
        wait_offer(cluster, FOURTH, sharing)
        check_labels(cluster, FOURTH, sharing)
        uid = cluster.create_tenant(name, FOURTH, 1, 0, resource)
        held = held_by(cluster, FOURTH, {uid})[0].ids
        offered = [slot for gpu in devices(cluster, FOURTH) for slot in sharing.slots(gpu)]
        assert set(held) <= set(offered), f"{held} is none of {offered}"
        pods[uid] = name
        check(cluster, FOURTH, sharing, pods)
        notes.append(f"{CHOICE}={choice}\n{table(cluster, FOURTH)}")

    try:
        deploy_operands(cluster, FOURTH)
        with Watch(cluster) as watch:
            step("", "whole", "nvidia.com/gpu")
            step("sliced", "sliced", "nvidia.com/gpu")
            step("shared", "shared", "nvidia.com/gpu.shared")
            # There is no such configuration: config-manager ends, and whenever it begins anew it
            # takes the default, before it has seen the label.
            choose(cluster, FOURTH, "none-such")
            wait_offer(cluster, FOURTH, EXCLUSIVE)
            assert "terminated" in manager(cluster)["lastState"], manager(cluster)
            watch.close()
        watch.assert_never_lost(set(pods))
        assert len(pods) == 3 and set(pods) == {uid for uid, _ in cluster.tenants()}
        cluster.delete_pods()
        check(cluster, FOURTH, EXCLUSIVE, {})
    finally:
        remove_operands(cluster, FOURTH)
    return "\n".join(notes)


# --- lives of tenants. In attribution.py: static pods, the agent silent, the controller away.


# Each life is lived on a node of each of these modes at once.
LIVES = {FIRST: (EXCLUSIVE, "nvidia.com/gpu"), SECOND: (TIME_SLICED, "nvidia.com/gpu"),
         THIRD: (MIG_MIXED, "nvidia.com/mig-1g.5gb"), FOURTH: (MIG_SINGLE_SHARED, "nvidia.com/gpu")}
every_life = []  # mps.py has them lived on a node of MPS


def life(function):
    """A promise of the tenants on all nodes of `lives`, which here are those of LIVES."""
    @functools.wraps(function)
    def promise(cluster):
        return function(cluster, LIVES)
    tests.promise(promise)
    every_life.append(function)
    return function


def phases(cluster, node, uid):
    """Container to (phase, device) of one pod's tenants."""
    return {t["container"]: (t["phase"], uuid) for uuid, status in statuses(cluster, node).items()
            for t in status.get("tenants", []) if t["podUID"] == uid}


def wait_phases(cluster, uids, wanted):
    """Waits until the containers of the pod on each node are in the phases that are wanted."""
    def are_so():
        for node, uid in uids.items():
            now = {name: phase for name, (phase, _) in phases(cluster, node, uid).items()}
            if now != wanted:
                raise Failed(f"{node}: {now} is not {wanted}")
        return True
    wait_for("the phases", are_so, timeout=20)


def live(cluster, name, shape, lives):
    """Makes a pod, shaped by shape(manifest, resource), on a node of each mode. Returns UIDs by
    node. Pods are called as their nodes, so that one command finds all."""
    for node, (sharing, _) in lives.items():
        set_up(cluster, node, sharing)
    uids = {}
    for node, (_, resource) in lives.items():
        manifest = cluster.pod_manifest(f"{name}-{node}", node, resource=resource)
        shape(manifest["spec"], resource)
        uids[node] = cluster.create(manifest)
    return uids


def check_lives(cluster, name, uids, lives):
    for node, uid in uids.items():
        check(cluster, node, lives[node][0], {uid: f"{name}-{node}"})


def with_init(more, main_too):
    """Shapes a pod so that it has an init container with a unit of its own."""
    def shape(spec, _):
        main = spec["containers"][0]
        spec["initContainers"] = [{**main, "name": "init", **more}]
        spec["containers"] = [main if main_too else {**main, "resources": {}}]
    return shape


UNTIL_FILE = {"command": ["/bin/sh", "-c", "until [ -e /tmp/go ]; do sleep 0.2; done"]}


def end_init(cluster, name, lives):
    for node in lives:
        cluster.kubectl("exec", f"{name}-{node}", "-c", "init", "--", "touch", "/tmp/go")


@life
def an_init_container_that_is_done_keeps_its_slot_reserved(cluster, lives):
    uids = live(cluster, "first", with_init(UNTIL_FILE, False), lives)
    wait_phases(cluster, uids, {"init": "Running"})
    end_init(cluster, "first", lives)
    wait_phases(cluster, uids, {"init": "Reserved"})
    # The kubelet really keeps it: no other pod gets it.
    first = next(iter(lives))
    taken = held_by(cluster, first, {uids[first]})[0].ids
    other = cluster.create_tenant("other", first, 1, 0, lives[first][1])
    assert held_by(cluster, first, {other})[0].ids != taken
    for node, uid in uids.items():
        for uuid, status in statuses(cluster, node).items():
            for tenant in status.get("tenants", []):
                if tenant["podUID"] == uid:
                    assert tenant["witnesses"] == ["Checkpoint"], (uuid, tenant)
                    assert tenant["confidence"] == "Confirmed", (uuid, tenant)


@life
def the_main_container_takes_over_the_slot_of_the_init_container(cluster, lives):
    uids = live(cluster, "handed-on", with_init(UNTIL_FILE, True), lives)
    wait_phases(cluster, uids, {"init": "Running", "main": "Starting"})
    end_init(cluster, "handed-on", lives)
    wait_phases(cluster, uids, {"init": "Reserved", "main": "Running"})
    for node, uid in uids.items():
        held = held_by(cluster, node, {uid})
        assert len(held) == 2 and held[0].ids == held[1].ids, held
        slots = [status["slots"]["allocated"] for status in statuses(cluster, node).values()]
        assert sum(slots) == 1, f"{node}: {slots}"
    return cluster.kubectl("get", "gpuattributions", "--sort-by=.status.nodeName")


@life
def a_sidecar_is_a_tenant_like_any_other(cluster, lives):
    uids = live(cluster, "with-sidecar", with_init({"restartPolicy": "Always"}, True), lives)
    wait_phases(cluster, uids, {"init": "Running", "main": "Running"})
    check_lives(cluster, "with-sidecar", uids, lives)


def restarts(cluster, name):
    status = cluster.pod(name)["status"]["containerStatuses"][0]
    return status["restartCount"] if "running" in status["state"] else -1


@life
def a_container_that_is_restarted_in_place_stays_the_same_tenant(cluster, lives):
    uids = live(cluster, "again", lambda *_: None, lives)
    wait_phases(cluster, uids, {"main": "Running"})
    before = {node: phases(cluster, node, uid) for node, uid in uids.items()}
    with Watch(cluster) as watch:
        for node in lives:
            os.kill(cluster.pid_of(cluster.pod(f"again-{node}")), signal.SIGKILL)
        for node in lives:
            wait_for("its restart", lambda node=node: restarts(cluster, f"again-{node}") == 1)
        wait_phases(cluster, uids, {"main": "Running"})
        watch.close()
    watch.assert_never_lost(set(uids.values()))
    assert {node: phases(cluster, node, uid) for node, uid in uids.items()} == before
    check_lives(cluster, "again", uids, lives)


def ignore_term(spec, _):
    spec["restartPolicy"] = "Never"  # whoever ends it may be faster than the news of its deletion
    spec["terminationGracePeriodSeconds"] = 60
    spec["containers"][0]["command"] = ["/bin/sh", "-c", "trap '' TERM; sleep 100000"]


@life
def a_pod_in_its_grace_period_is_terminating_and_still_a_tenant(cluster, lives):
    uids = live(cluster, "slow", ignore_term, lives)
    wait_phases(cluster, uids, {"main": "Running"})
    for node in lives:
        cluster.delete_pod(f"slow-{node}")
    wait_phases(cluster, uids, {"main": "Terminating"})
    for node in lives:
        slots = [status["slots"]["allocated"] for status in statuses(cluster, node).values()]
        assert sum(slots) == 1, f"{node}: {slots}"
        os.kill(cluster.pid_of(cluster.pod(f"slow-{node}")), signal.SIGKILL)
    for uid in uids.values():
        cluster.wait_gone(uid)


@life
def a_pod_deleted_by_force_leaves_at_once_in_every_mode(cluster, lives):
    uids = live(cluster, "forced", ignore_term, lives)
    wait_phases(cluster, uids, {"main": "Running"})
    cluster.end_pod(*(f"forced-{node}" for node in lives))
    for uid in uids.values():
        cluster.wait_gone(uid, timeout=5)


@life
def a_name_that_comes_back_is_another_tenant_in_every_mode(cluster, lives):
    old = live(cluster, "name", lambda *_: None, lives)
    wait_phases(cluster, old, {"main": "Running"})
    with Watch(cluster) as watch:
        cluster.kubectl("delete", "pod", *(f"name-{node}" for node in lives))
        new = live(cluster, "name", lambda *_: None, lives)
        wait_phases(cluster, new, {"main": "Running"})
        for uid in old.values():
            cluster.wait_gone(uid)
        watch.close()
    for _, _, item in watch.events:
        uids = [t["podUID"] for t in item.get("status", {}).get("tenants", [])]
        assert len(uids) == len(set(uids)) and set(uids) <= {*old.values(), *new.values()}, uids
    check_lives(cluster, "name", new, lives)


@life
def tenants_stay_while_plugins_are_away_and_kubelets_restart_in_every_mode(cluster, lives):
    uids = live(cluster, "steady", lambda *_: None, lives)
    wait_phases(cluster, uids, {"main": "Running"})
    with Watch(cluster) as watch:
        for node in lives:
            cluster.ctl("stop", f"{node}/device-plugin")
        for node in lives:
            wait_for("a node without GPUs", lambda node=node: not allocatable(cluster, node))
            cluster.ctl("restart", f"{node}/kubelet")
        for node in lives:
            cluster.ctl("start", f"{node}/device-plugin")
        for node in lives:
            wait_offer(cluster, node, lives[node][0])
        check_lives(cluster, "steady", uids, lives)
        watch.close()
    watch.assert_never_lost(set(uids.values()))


def all_but_the_watch(item):
    """What the object says, but for since when its agent hears of errors."""
    status = json.loads(json.dumps(item["status"]))
    status.pop("report")
    for key in ("eventsSince", "eventsSinceUptimeMilliseconds"):
        status["health"].pop(key, None)
    return item["spec"], status


@life
def agents_that_are_replaced_are_one_write_per_device_and_lose_nobody(cluster, lives):
    uids = live(cluster, "steady", lambda *_: None, lives)
    wait_phases(cluster, uids, {"main": "Running"})
    check_lives(cluster, "steady", uids, lives)
    before, old = cluster.attributions(), {cluster.agent_pod(node) for node in lives}
    n_requests = len(cluster.audit())
    cluster.kubectl(*AGENTS, "delete", "pod", "--wait=true", *old)
    cluster.rollout("daemonset/gpu-attribution-agent")
    for node in lives:
        new = cluster.agent_pod(node)
        assert new not in old
        wait_for("its report", lambda new=new: "Report accepted" in cluster.kubectl(
            *AGENTS, "logs", new))
    watched = {name for name, item in before.items() if item["status"]["nodeName"] in lives}

    def since_boot(items, name):
        return items[name]["status"]["health"]["eventsSinceUptimeMilliseconds"]
    wait_for("since when errors are heard of", lambda: all(
        since_boot(cluster.attributions(), name) > since_boot(before, name) for name in watched))
    after = cluster.attributions()
    assert {name: all_but_the_watch(item) for name, item in before.items()} == {
        name: all_but_the_watch(item) for name, item in after.items()}
    written = sorted(event["objectRef"]["name"] for event in
                     cluster.requests_of(CONTROLLER_USER, n_requests, WRITES, "gpuattributions"))
    assert written == sorted(watched), written


def forget_other_resources(cluster, node, sharing):
    """A kubelet without its book no longer knows what it once offered and leaves it in its node's
    status as it was: for good, had it not been taken away."""
    offer = sharing.offer(devices(cluster, node))
    status = cluster.node(node)["status"]
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=json", "-p", json.dumps([
        {"op": "remove", "path": f"/status/{kind}/{name.replace('/', '~1')}"}
        for kind in ("capacity", "allocatable") for name in status[kind]
        if name.startswith("nvidia.com/") and name not in offer]))


def lose_book(cluster, node, sharing, uid):
    """Takes the kubelet's book away while it is stopped. What it gave to the pod is then free, to
    the kubelet, while the pod goes on."""
    book = os.path.join(cluster.ctl("state", node).strip(), "kubelet", "device-plugins",
                        "kubelet_internal_checkpoint")
    cluster.ctl("stop", f"{node}/kubelet")
    os.unlink(book)
    cluster.ctl("start", f"{node}/kubelet")
    wait_for("the kubelet's new book", lambda: not held_by(cluster, node, {uid}))
    forget_other_resources(cluster, node, sharing)
    wait_offer(cluster, node, sharing)


@life
def a_kubelet_that_has_lost_its_book_ends_no_tenant_that_runs(cluster, lives):
    uids = live(cluster, "steady", lambda *_: None, lives)
    wait_phases(cluster, uids, {"main": "Running"})
    with Watch(cluster) as watch:
        for node, uid in uids.items():
            lose_book(cluster, node, lives[node][0], uid)
        new = {cluster.create_tenant(f"new-{node}", node, 1, 0, lives[node][1]) for node in lives}
        watch.close()
    # A kubelet without its book refuses the pod if it is back before the plugin is: then it is over.
    running = {node: uid for node, uid in uids.items()
               if cluster.pod(f"steady-{node}")["status"]["phase"] == "Running"}
    assert 2 * len(running) >= len(uids), f"the kubelet ended all but those of {sorted(running)}"
    watch.assert_never_lost(set(running.values()))
    for node, uid in running.items():
        assert not held_by(cluster, node, {uid})
    now = {u for u, _ in cluster.tenants()}
    assert now == set(running.values()) | new, now


@tests.promise
def a_gpu_that_a_kubelet_without_its_book_gives_out_twice_shows_both_tenants_and_says_so(cluster):
    set_up(cluster, FIRST, EXCLUSIVE)
    first = cluster.create_tenant("first", FIRST)
    held = held_by(cluster, FIRST, {first})[0].ids
    lose_book(cluster, FIRST, EXCLUSIVE, first)
    for i in range(20):  # the plugin chooses among two that are free, to its mind
        second = cluster.create_tenant(f"second-{i}", FIRST)
        if held_by(cluster, FIRST, {second})[0].ids == held:
            break
        cluster.end_pod(f"second-{i}")
        cluster.wait_gone(second)
    assert held_by(cluster, FIRST, {second})[0].ids == held
    tenants = statuses(cluster, FIRST)[held[0]]["tenants"]
    assert {t["podUID"] for t in tenants} == {first, second}, tenants

    def attributed():
        return next(c for c in statuses(cluster, FIRST)[held[0]]["conditions"]
                    if c["type"] == "Attributed")
    # The List of the kubelet is short, and what the first one held nobody tells any more.
    said = wait_for("the condition", lambda: (
        now := attributed())["status"] == "Unknown" and now, timeout=30)
    assert said["reason"] in ("Settling", "Unconfirmed"), said
    return said["message"] + "\n" + table(cluster, FIRST)


@tests.promise
def a_power_failure_of_the_node_ends_only_tenants_that_its_kubelet_then_refuses(cluster):
    set_up(cluster, SECOND, TIME_SLICED)
    uid = cluster.create_tenant("steady", SECOND)
    with Watch(cluster) as watch:
        cluster.ctl("kill", SECOND)
        cluster.ctl("start", SECOND)
        # A kubelet that is quicker than its device plugin refuses the pods that it had.
        refused = wait_for("the pod's fate", lambda: (
            "refused" if cluster.is_refused("steady") else
            "restarted" if restarts(cluster, "steady") >= 1 else None), timeout=90)
        wait_offer(cluster, SECOND, TIME_SLICED)
        if refused == "refused":
            cluster.wait_gone(uid)
        new = cluster.create_tenant("new", SECOND)
        watch.close()
    pods = {new: "new"}
    if refused == "restarted":
        watch.assert_never_lost({uid})
        pods[uid] = "steady"
    check(cluster, SECOND, TIME_SLICED, pods)
    return refused


@tests.promise
def a_node_that_is_deleted_and_registers_again_keeps_its_tenants(cluster):
    set_up(cluster, FOURTH, MIG_SINGLE_SHARED)
    uid = cluster.create_tenant("steady", FOURTH)
    before = cluster.node(FOURTH)["metadata"]["uid"]
    with Watch(cluster) as watch:
        cluster.ctl("stop", f"{FOURTH}/kubelet")
        cluster.kubectl("delete", "node", FOURTH)
        cluster.ctl("start", f"{FOURTH}/kubelet")
        wait_offer(cluster, FOURTH, MIG_SINGLE_SHARED)
        cluster.ctl("restart", "nfd-master")  # or it would label a node anew within the hour
        check(cluster, FOURTH, MIG_SINGLE_SHARED, {uid: "steady"})
        check_labels(cluster, FOURTH, MIG_SINGLE_SHARED)
        watch.close()
    watch.assert_never_lost({uid})
    assert cluster.node(FOURTH)["metadata"]["uid"] != before


def set_controller_args(cluster, args):
    """Returns what they were."""
    name = ("-n", "gpu-attribution", "deployment", "gpu-attribution-controller")
    place = "/spec/template/spec/containers/0/args"
    before = cluster.get(name[2], *name[:2], name[3])["spec"]["template"]["spec"]["containers"][0]
    patch = [{"op": "replace", "path": place, "value": args(before["args"])}]
    cluster.kubectl("patch", *name, "--type=json", "-p", json.dumps(patch))
    cluster.rollout("/".join(name[2:]))
    return before["args"]


@tests.promise
def the_objects_of_a_node_that_is_gone_for_good_go_and_those_of_others_stay(cluster):
    set_up(cluster, FOURTH, EXCLUSIVE)
    gone = {gpu["uuid"].lower() for gpu in devices(cluster, FOURTH)}
    others = set(cluster.attributions()) - gone
    agent = cluster.pid_of(cluster.get("pod", cluster.agent_pod(FOURTH), *AGENTS))
    cluster.ctl("stop", f"{FOURTH}/kubelet")
    os.kill(agent, signal.SIGKILL)  # a node that reports is not gone, and a new controller is told at once
    cluster.kubectl("delete", "node", FOURTH)
    before = set_controller_args(cluster, lambda args: [*args, "--node-gone-after=2s"])
    try:
        wait_for("its objects to go", lambda: set(cluster.attributions()) == others)
        cluster.ctl("start", f"{FOURTH}/kubelet")
        wait_offer(cluster, FOURTH, EXCLUSIVE)
        cluster.ctl("restart", "nfd-master")  # or it would label a node anew within the hour
        check(cluster, FOURTH, EXCLUSIVE, {})
    finally:
        cluster.ctl("start", f"{FOURTH}/kubelet")
        set_controller_args(cluster, lambda _: before)


# --- cards that move


@tests.promise
def a_card_that_two_nodes_report_says_so_and_moves_when_the_first_has_lost_it(cluster):
    set_up(cluster, FIRST, EXCLUSIVE)
    set_up(cluster, SECOND, EXCLUSIVE)
    ours, theirs = devices(cluster, FIRST), devices(cluster, SECOND)
    name = ours[0]["uuid"].lower()

    def move(node, gpus):
        put_gpus(cluster, node, gpus)
        restart_plugin(cluster, node)

    def ready():
        return cluster.condition(cluster.attributions()[name], "Ready")
    try:
        move(SECOND, [ours[0], *theirs])
        wait_for("DuplicateUUID", lambda: ready()["reason"] == "DuplicateUUID", timeout=90)
        assert cluster.attributions()[name]["status"]["nodeName"] == FIRST
        move(FIRST, ours[1:])
        wait_for("the move", lambda: cluster.attributions()[name]["status"]["nodeName"] == SECOND
                 and ready()["status"] == "True", timeout=90)
    finally:
        move(FIRST, ours)
        move(SECOND, theirs)
        present.clear()
    wait_for("its return", lambda: cluster.attributions()[name]["status"]["nodeName"] == FIRST
             and ready()["status"] == "True", timeout=90)


# --- side by side


@tests.promise
def nodes_of_all_modes_stand_side_by_side(cluster):
    nodes = {FIRST: EXCLUSIVE, SECOND: TIME_SLICED, THIRD: MIG_MIXED, FOURTH: MIG_MIXED_SHARED}
    wants = {FIRST: {"train-0": "gpu"},
             SECOND: {"notebook-0": "gpu", "notebook-1": "gpu", "notebook-2": "gpu"},
             THIRD: {"llm-0": "mig-3g.20gb", "ranker-0": "mig-1g.5gb", "train-1": "gpu"},
             FOURTH: {"batch-0": "mig-1g.5gb", "batch-1": "mig-1g.5gb", "notebook-3": "gpu"}}
    pods = {node: show_mode(cluster, node, sharing, [])
            for node, sharing in nodes.items()}
    for node, resources in wants.items():
        for name, resource in resources.items():
            pods[node][cluster.create_tenant(name, node, 1, 0, f"nvidia.com/{resource}")] = name
    for node, sharing in nodes.items():
        check(cluster, node, sharing, pods[node])
    return cluster.kubectl("get", "gpuattributions", "--sort-by=.status.nodeName") + \
        cluster.kubectl("get", "gpuattributions", "--sort-by=.status.nodeName", "-o", "wide")


# --- the operator's own


def is_served(cluster, name):
    """The CRD of that name once it is Established. `kubectl wait` fails on one without conditions,
    as each is for a moment."""
    crd = cluster.get("crd", name)
    conditions = {c["type"]: c["status"] for c in crd["status"].get("conditions") or []}
    return crd if conditions.get("Established") == "True" else None


def put_policy(cluster):
    """A ClusterPolicy that says in which namespace the operator is, and that namespace with the
    account of its validation pods."""
    folder = run("hack/cluster/build", "--where", "clusterpolicy").strip()
    run("hack/cluster/build", "clusterpolicy")
    cluster.kubectl("apply", "-f", os.path.join(folder, "nvidia.com_clusterpolicies.yaml"))
    crd = wait_for("the kind ClusterPolicy", lambda: is_served(cluster, "clusterpolicies.nvidia.com"))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec = {name: {"defaultRuntime": "containerd"} if name == "operator" else {}
            for name in schema["required"]}
    cluster.create({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy",
                    "metadata": {"name": "cluster-policy"}, "spec": spec})
    cluster.kubectl("patch", "clusterpolicy", "cluster-policy", "--subresource=status",
                    "--type=merge", "-p",
                    json.dumps({"status": {"state": "ready", "namespace": "gpu-operator"}}))
    cluster.kubectl("create", "namespace", "gpu-operator")
    cluster.kubectl("-n", "gpu-operator", "create", "serviceaccount", "nvidia-operator-validator")


@tests.promise
def the_operators_validation_pod_is_shown_and_not_counted(cluster):
    set_up(cluster, FIRST, EXCLUSIVE)
    name = "nvidia-device-plugin-validator"
    manifest = cluster.pod_manifest(name, FIRST)
    manifest["metadata"].update(namespace="gpu-operator", labels={"app": name})
    manifest["spec"]["serviceAccountName"] = "nvidia-operator-validator"
    with_init({"name": "plugin-validation", "command": ["true"]}, False)(manifest["spec"], None)
    try:
        put_policy(cluster)
        # It looks for policies now and then, and when it starts.
        cluster.kubectl("-n", "gpu-attribution", "rollout", "restart",
                        "deployment/gpu-attribution-controller")
        cluster.rollout("deployment/gpu-attribution-controller")
        uid = cluster.create(manifest)

        def is_shown():
            return [status for status in statuses(cluster, FIRST).values()
                    for t in status.get("tenants", [])
                    if t["podUID"] == uid and t["role"] == "Validation" and t["phase"] == "Reserved"]
        status, = wait_for("the validation pod", is_shown)
        assert status["tenantCount"] == 0 and not status.get("tenantSummary"), status
        assert status["slots"] == {"total": 1, "allocated": 1, "summary": "1/1"}, status["slots"]
        # Anybody can call a pod that.
        manifest["metadata"]["namespace"] = "default"
        del manifest["spec"]["serviceAccountName"]
        false = cluster.create(manifest)
        wait_for("the other pod", lambda: any(
            t["podUID"] == false and t["role"] == "Workload" and s["tenantCount"] == 1
            for s in statuses(cluster, FIRST).values() for t in s.get("tenants", [])))
        return table(cluster, FIRST)
    finally:
        cluster.kubectl("delete", "namespace", "gpu-operator", "--ignore-not-found")
        cluster.kubectl("delete", "crd", "clusterpolicies.nvidia.com", "--ignore-not-found")


if __name__ == "__main__":
    sys.exit(tests.main("modes", "--", *START))
