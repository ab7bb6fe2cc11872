#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's operator is told, and where reality left it: each type of drift is caused on real
nodes, and ended. Its pods, labels, ConfigMaps and ClusterPolicies are there as it would make them,
with NVIDIA's real device plugin, feature discovery, MPS daemon and config-manager.

usage: intent.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, made with `hack/up --name NAME -- OPTIONS` (OPTIONS below), and leaves it; with words
it tries only the promises whose sentence contains them. Each promise makes what it needs, so each
can be tried alone. Hold-offs are a twentieth of those as shipped (--hold-off-percent).

Drifts that do not disturb each other are caused at the same time, in a round. The first promise of
a round runs it.
"""

import contextlib
import functools
import json
import os
import re
import subprocess
import sys
import time

import policy
from cluster import (AGENTS, CONTROLLER_USER, ROOT, WRITES, Cluster, Failed, Tests, Watch, error_number, run,
                     wait_for)
from policy import (CONFIG_KEYS, CONFIGS, DISCOVERY, EXPORTER, IN, PLAIN, PLUGIN, POLICY, Seen,
                    change_world, choose, edit_config, label, patch_policy, put_policy, sharing,
                    tell_state, wait_drift, wait_offer, wait_reason)

FIRST, SECOND, THIRD = NODES = ("node-1", "node-2", "node-3")
OPTIONS = ("--nodes", str(len(NODES)), "--gpus", "2:A100", "--feature-discovery")
SOON = 5  # within so many seconds of its hold-off a drift is there, and of its end it is gone

tests = Tests(clean=Cluster.delete_pods)


# --- the two states of the cluster


def without_operator(cluster):
    policy.hasten(cluster)
    if policy.is_installed(cluster):
        policy.remove(cluster, NODES)
    for node in NODES:
        wait_reason(cluster, node, "True", "Unmanaged")


def with_operator(cluster, definition="open"):
    policy.hasten(cluster)
    if not policy.is_installed(cluster):
        policy.install(cluster, NODES, definition)
    else:
        policy.define(cluster, definition)
    try:
        wait_rest(cluster, "operator", timeout=20)
    except Failed:  # a promise that was not kept has left something
        policy.put_back(cluster, NODES)
        wait_rest(cluster, "operator")


# --- causes of drifts. Each is a generator: it causes the drift and yields, ends it and yields, and
# puts back what else it has changed.


ROUNDS = {}
CAUSES = {}
began = {}  # name of a round that was run: number of requests then, and when, by both clocks


class Cause:
    """One type of drift, on one node; on all of its devices, or on one."""

    def __init__(self, kind, hold_off, node, number, make, also):
        self.kind, self.node, self.number, self.make = kind, node, number, make
        self.also = also
        self.hold_off = hold_off * policy.PERCENT / 100
        self.generator, self.error, self.seen = None, None, None
        self.begun = self.there = self.ended = None

    def step(self, cluster):
        """What fails is this cause's fault; those beside it go on."""
        try:
            if self.generator is None:
                self.generator = self.make(cluster, self.node)
            next(self.generator, None)
        except Exception as error:  # whatever it was
            self.error = self.error or error


# A plugin that is restarted, as by each change of its configuration, is missing until it is ready. On a
# busy machine that takes longer than the shortened hold-off, and is told then.
RESTART = ("PluginMissing",)
OF_POLICY = {"PolicyConflict", "PolicyNotReady"}  # what is wrong with it is so on each node


def cause(round_name, kind, hold_off, node, number=2, also=()):
    """number: of the node's two devices. also: types of drift that it may cause beside its own."""
    def register(make):
        ROUNDS.setdefault(round_name, []).append(kind)
        CAUSES[kind] = (round_name, lambda: Cause(kind, hold_off, node, number, make, also))
        return make
    return register


def free_device(cluster, node):
    """The UUID of a device of the node that nobody holds."""
    return uuid_of(cluster, node, lambda status: not status.get("tenants"))


def uuid_of(cluster, node, is_it):
    """The first device of the node whose status is so, as the driver writes its UUID."""
    name = next(i["metadata"]["name"] for i in policy.items_of(cluster, node) if is_it(i["status"]))
    return next(d["uuid"] for d in policy.world_of(cluster, node)["devices"]
                if d["uuid"].lower() == name)


@contextlib.contextmanager
def told_of(cluster, node, uuid, **members):
    """While the stand-in driver tells this of the device."""
    before = {}

    def change(world):
        device = next(d for d in world["devices"] if d["uuid"] == uuid)
        before.update({key: device.get(key) for key in members})
        device.update(members)

    def undo(world):
        device = next(d for d in world["devices"] if d["uuid"] == uuid)
        device.update(before)
        for key in [key for key, value in before.items() if value is None]:
            del device[key]
    change_world(cluster, node, change)
    try:
        yield
    finally:
        change_world(cluster, node, undo)


# --- without any policy


@cause("bare", "DeviceMissing", 60, FIRST, 1)
def a_gpu_falls_off_the_bus(cluster, node):
    uuid, lost = free_device(cluster, node), []

    def drop(world):
        index = next(i for i, d in enumerate(world["devices"]) if d["uuid"] == uuid)
        lost.append((index, world["devices"].pop(index)))
    change_world(cluster, node, drop)
    yield
    change_world(cluster, node, lambda world: world["devices"].insert(*lost[0]))
    yield


@cause("bare", "DriverMismatch", 60, SECOND)
def the_driver_is_replaced_under_its_library(cluster, node):
    change_world(cluster, node, lambda w: w.update(errors={"nvmlInitWithFlags": 18}))
    cluster.kubectl(*AGENTS, "delete", "pod", cluster.agent_pod(node))  # begins anew
    wait_for("the agent", lambda: cluster.agent_pod(node))
    yield
    change_world(cluster, node, lambda w: w.pop("errors"))
    yield


@contextlib.contextmanager
def node_process(cluster, node):
    """While there is a process of the node, of no pod; yields its number there."""
    inside = ("--node", node.partition("-")[2])
    with subprocess.Popen(
            [os.path.join(ROOT, "hack/cluster/enter"), "--name", cluster.name, *inside, "sh", "-c",
             "echo $$; exec sleep 100000"], cwd=ROOT, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True) as child:
        pid = int(child.stdout.readline())
        try:
            yield pid
        finally:
            cluster.enter(*inside, "kill", str(pid))


@cause("bare", "UnallocatedUse", 0, THIRD, 1)
def a_process_of_the_host_uses_a_gpu(cluster, node):
    with node_process(cluster, node) as pid:
        process = {"pid": pid, "kind": "Compute", "memoryMiB": 512}
        with told_of(cluster, node, free_device(cluster, node), processes=[process]):
            yield
    yield


@cause("bare", "MIGModePending", 300, FIRST, 1)
def mig_mode_is_set_and_the_gpu_not_reset(cluster, node):
    held = uuid_of(cluster, node, lambda status: status.get("tenants"))
    with told_of(cluster, node, held, mig={"current": False, "pending": True}):
        yield
    yield


@cause("bare", "MPSLeftBehind", 180, THIRD, 1)
def a_gpu_is_left_in_exclusive_mode(cluster, node):
    with told_of(cluster, node, free_device(cluster, node), computeMode="ExclusiveProcess"):
        yield
    yield


REFUSAL = ("Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
           "Requested: 1, Available: 0, which is unexpected")


def refuse_pod(cluster, node):
    """A pod "refused" for want of slots. Kubelets of today do not do it on demand. So it is bound with
    what such a kubelet writes of it in its status: it leaves a pod that has failed as it is."""
    pod = cluster.pod_manifest("refused", node)
    pod["spec"]["schedulerName"] = "nobody"
    cluster.create(pod)
    status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": REFUSAL}
    policy.patch(cluster, ("pod", "refused"), {"status": status}, "--subresource=status")
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "refused"},
               "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
    cluster.kubectl("create", "--raw", "/api/v1/namespaces/default/pods/refused/binding", "-f", "-",
                    stdin=json.dumps(binding))


@cause("bare", "SlotsLeaked", 60, SECOND, 1)
def a_kubelet_refuses_a_pod_though_its_books_have_a_slot(cluster, node):
    # A pod that was made right after a slot became free is no sign; nor is one of before the health of
    # its device changed, which it does when the driver of this node is replaced.
    policy.pause(30)
    refuse_pod(cluster, node)
    yield
    cluster.end_pod("refused")
    yield


# --- a policy, its operands and its labels


@cause("operands", "PolicyConflict", 0, FIRST)
def somebody_adds_a_second_policy(cluster, _):
    put_policy(cluster, "another")
    yield
    cluster.kubectl("delete", "clusterpolicy", "another")
    yield


@cause("operands", "PolicyNotReady", 300, SECOND)
def the_operator_blames_a_state(cluster, _):
    tell_state(cluster, "notReady")
    yield
    tell_state(cluster)
    yield


@cause("operands", "DriverVersion", 300, FIRST)
def a_node_is_left_behind_by_an_upgrade(cluster, node):
    label(cluster, node, gpu__deploy__driver="true")
    policy.wait_ready(cluster, node, "nvidia-driver-daemonset")
    patch_policy(cluster, {"driver": {"version": "590.44.01"}})
    yield
    patch_policy(cluster, {"driver": {"version": "580.65.06"}})
    yield
    label(cluster, node, gpu__deploy__driver=None)


@cause("operands", "SharingMode", 120, FIRST, also=RESTART)
def the_plugin_does_not_hear_that_it_shall_share(cluster, node):
    with policy.frozen_managers(cluster, node):
        choose(cluster, node, "sliced")
        yield
        choose(cluster, node, "")
        yield
    wait_offer(cluster, node, gpu=2)


@cause("operands", "MPSNotRunning", 180, SECOND, also=RESTART)
def the_mps_daemon_does_not_come(cluster, node):
    cluster.ctl("stop", "nfd-master")  # its pod goes where a label of feature discovery says so
    choose(cluster, node, "mps")
    yield
    choose(cluster, node, "")
    yield
    cluster.ctl("start", "nfd-master")
    wait_offer(cluster, node, gpu=2)


@cause("operands", "MIGLayout", 120, SECOND, 1)
def a_layout_is_asked_for_and_nobody_makes_it(cluster, node):
    label(cluster, node, gpu__deploy__mig_manager="true", mig__config="second-cut",
          mig__config__state="success")
    yield
    label(cluster, node, gpu__deploy__mig_manager=None, mig__config=None, mig__config__state=None)
    yield


def owned_by_config_map(cluster):
    """A pod without an owner would become its DaemonSet's, and be deleted."""
    owner = cluster.get("configmap", CONFIGS, *IN)["metadata"]["uid"]
    return [{"apiVersion": "v1", "kind": "ConfigMap", "name": CONFIGS, "uid": owner,
             "controller": True}]


@cause("operands", "ExporterUnexpected", 300, SECOND)
def an_exporter_stays_where_it_is_off(cluster, node):
    label(cluster, node, gpu__deploy__dcgm_exporter="false")
    policy.wait_no_pod(cluster, node, EXPORTER)
    pod = cluster.pod_manifest("left-over", node)
    pod["metadata"].update(namespace=policy.NAMESPACE, labels={"app": EXPORTER},
                           ownerReferences=owned_by_config_map(cluster))
    del pod["spec"]["containers"][0]["resources"]
    cluster.create(pod)
    policy.wait_ready(cluster, node, EXPORTER)
    yield
    cluster.kubectl(*IN, "delete", "pod", "left-over", "--force", "--grace-period=0")
    yield
    label(cluster, node, gpu__deploy__dcgm_exporter="true")
    policy.wait_ready(cluster, node, EXPORTER)


@cause("operands", "LabelsStale", 180, SECOND)
def the_labels_are_of_another_machine(cluster, node):
    cluster.ctl("stop", "nfd-master")  # or it would mend the label
    label(cluster, node, gpu__count="9")
    yield
    label(cluster, node, gpu__count="2")
    yield
    cluster.ctl("start", "nfd-master")


@cause("operands", "PluginMissing", 120, THIRD)
def the_plugins_pod_is_deleted_and_does_not_come_back(cluster, node):
    with policy.kept_away(cluster, node, PLUGIN):
        wait_offer(cluster, node)
        yield
    wait_offer(cluster, node, gpu=2)
    yield


@cause("operands", "ExporterMissing", 300, THIRD)
def the_exporters_pod_is_deleted_and_does_not_come_back(cluster, node):
    with policy.kept_away(cluster, node, EXPORTER):
        policy.wait_no_pod(cluster, node, EXPORTER)
        yield
    yield


@cause("operands", "MIGConfigFailed", 0, THIRD)
def the_mig_manager_fails(cluster, node):
    label(cluster, node, gpu__deploy__mig_manager="true", mig__config="second-cut",
          mig__config__state="failed")
    yield
    label(cluster, node, gpu__deploy__mig_manager=None, mig__config=None, mig__config__state=None)
    yield


@cause("operands", "LabelsMissing", 180, THIRD)
def feature_discovery_has_written_nothing(cluster, node):
    cluster.ctl("stop", "nfd-master")
    product = cluster.node(node)["metadata"]["labels"]["nvidia.com/gpu.product"]
    label(cluster, node, gpu__count=None, gpu__product=None)
    yield
    label(cluster, node, gpu__count="2", gpu__product=product)
    yield
    cluster.ctl("start", "nfd-master")


# --- configurations


@cause("replicas", "ReplicaCount", 120, FIRST, also=RESTART)
def the_plugin_does_not_hear_of_other_replicas(cluster, node):
    choose(cluster, node, "sliced")
    wait_offer(cluster, node, gpu=8)
    with policy.frozen_managers(cluster, node):
        choose(cluster, node, "fewer")
        yield
        choose(cluster, node, "sliced")
        yield
        choose(cluster, node, "")
    wait_offer(cluster, node, gpu=2)


@cause("replicas", "ResourceName", 120, SECOND, also=RESTART)
def the_plugin_does_not_hear_of_another_name(cluster, node):
    choose(cluster, node, "sliced")
    wait_offer(cluster, node, gpu=8)
    with policy.frozen_managers(cluster, node):
        choose(cluster, node, "shared")
        yield
        choose(cluster, node, "sliced")
        yield
        choose(cluster, node, "")
    wait_offer(cluster, node, gpu=2)


@cause("replicas", "AllocatableShort", 120, THIRD, also=RESTART)
def the_plugin_withdraws_a_gpu_after_an_error(cluster, node):
    uuid = free_device(cluster, node)
    event = {"sequence": error_number([]), "uuid": uuid, "type": "XID", "code": 48}
    change_world(cluster, node, lambda w: w.setdefault("events", []).append(event))
    wait_offer(cluster, node, gpu=1)
    yield
    policy.delete_pod_of(cluster, node, PLUGIN)
    wait_offer(cluster, node, gpu=2)
    yield
    # A reset settles the error.
    change_world(cluster, node, lambda w: next(
        d for d in w["devices"] if d["uuid"] == uuid).update(attachment=int(time.time())))


@cause("keys", "ConfigDead", 0, THIRD, also=RESTART)
def a_configuration_has_keys_without_effect(cluster, node):
    choose(cluster, node, "dead")
    yield
    choose(cluster, node, "")
    yield


# On a busy machine feature discovery, which is not told either, writes its labels anew later than the
# shortened hold-off.
@cause("strategy", "MIGStrategy", 120, FIRST, also=("LabelsStale", *RESTART))
def the_plugin_does_not_hear_of_another_mig_strategy(cluster, node):
    uuid = free_device(cluster, node)
    world = policy.make_world(node)
    index = next(i for i, d in enumerate(world["devices"]) if d["uuid"] == uuid)
    policy.put_world(cluster, node, policy.make_world(node, "/" * index + "1g.5gb,1g.5gb"))
    choose(cluster, node, "mixed")
    wait_offer(cluster, node, **{"gpu": 1, "mig-1g.5gb": 2})
    with policy.frozen_managers(cluster, node):
        choose(cluster, node, "")
        yield
        choose(cluster, node, "mixed")
        yield
        policy.put_world(cluster, node, world)
        choose(cluster, node, "")
    wait_offer(cluster, node, gpu=2)


@cause("strategy", "PluginUnexpected", 120, SECOND, also=RESTART)
def a_plugin_of_somebody_runs_where_it_is_off(cluster, node):
    label(cluster, node, gpu__deploy__device_plugin="false")
    wait_offer(cluster, node)
    cluster.ctl("start", f"{node}/device-plugin")
    wait_offer(cluster, node, gpu=2)
    yield
    cluster.ctl("stop", f"{node}/device-plugin")
    wait_offer(cluster, node)
    yield
    label(cluster, node, gpu__deploy__device_plugin="true")
    wait_offer(cluster, node, gpu=2)


@cause("strategy", "ConfigNotLoaded", 120, THIRD, also=RESTART)
def a_key_is_edited_and_no_label_touched(cluster, node):
    choose(cluster, node, "sliced")
    wait_offer(cluster, node, gpu=8)
    edit_config(cluster, "sliced", sharing("timeSlicing", 3))
    yield
    edit_config(cluster, "sliced", CONFIG_KEYS["sliced"])
    yield
    assert policy.allocatable(cluster, node) == {"gpu": 8}
    choose(cluster, node, "")
    wait_offer(cluster, node, gpu=2)


@cause("keys", "ConfigMissing", 60, FIRST, also=RESTART)
def a_label_names_no_key(cluster, node):
    choose(cluster, node, "none-such")
    yield
    choose(cluster, node, "")
    yield
    policy.renew_pods(cluster, node)  # its config-managers wait longer each time that they begin


@cause("keys", "ConfigInvalid", 60, SECOND, also=RESTART)
def a_key_is_edited_so_that_the_plugin_refuses_it(cluster, node):
    choose(cluster, node, "other")
    edit_config(cluster, "other", sharing("timeSlicing", 1))
    yield
    edit_config(cluster, "other", PLAIN)
    yield
    choose(cluster, node, "")


# --- rounds


def run_causes(cluster, causes, watch):
    """Has all of them come, and then go."""
    for each in causes:
        each.begun = time.monotonic()
        each.step(cluster)
        each.there = time.monotonic()
    for each in causes:
        wait_seen(watch, each, lambda seen, each=each: seen.appeared(each.number),
                  each.hold_off + 30)
    for each in causes:
        each.step(cluster)
        each.ended = time.monotonic()
    for each in causes:
        wait_seen(watch, each, lambda seen: seen.gone(), 30)
    for each in causes:
        each.step(cluster)


def run_round(cluster, name):
    """Has all drifts of a round come and go; returns the causes with what was seen of each."""
    causes = [CAUSES[kind][1]() for kind in ROUNDS[name]]
    (without_operator if name == "bare" else with_operator)(cluster)
    began[name] = (len(cluster.audit()), time.monotonic(), time.time())
    return run_with_tenants(cluster, name, causes)


def run_with_tenants(cluster, name, causes):
    tenants = {cluster.create_tenant(f"tenant-{node}", node) for node in NODES}
    with Watch(cluster) as watch:
        run_causes(cluster, causes, watch)
        kept = tenants <= {uid for uid, _ in cluster.tenants()}
        watch.close()
    for each in causes:
        each.seen = Seen(watch, each.node, each.kind)
        each.tenants = (watch, tenants, kept)
    wait_rest(cluster, name)
    return {each.kind: each for each in causes}


def wait_seen(watch, each, look, timeout):
    """Waits a while; whether it was seen in time is judged later."""
    with contextlib.suppress(Failed):
        if not each.error:
            wait_for(each.kind, lambda: look(Seen(watch, each.node, each.kind)), timeout, every=0.2)


def wait_rest(cluster, name, timeout=60):
    for node in NODES:
        wait_reason(cluster, node, "True", "Unmanaged" if name == "bare" else "InSync", timeout)


def unexpected(watch, causes):
    """Drifts that nobody caused, as (node, type)."""
    wanted = {(each.node, kind) for each in causes.values() for kind in (each.kind, *each.also)}
    wanted |= {(node, kind) for node in NODES for kind in OF_POLICY & causes.keys()}
    return {(item["status"]["nodeName"], kind): policy.say(drift)
            for _, _, item in watch.events for kind, drift in policy.drifts(item).items()
            if (item["status"]["nodeName"], kind) not in wanted}


@functools.cache
def outcomes(cluster, name):
    """A round is run once, however many promises look at it."""
    try:
        return run_round(cluster, name)
    finally:
        cluster.delete_pods()


def wait_drift_and_end(cluster, kind):
    """Holds a type of drift against what is promised of it."""
    causes = outcomes(cluster, CAUSES[kind][0])
    return judge(causes[kind], causes)


def judge(each, causes):
    """One of the causes of a round that was run."""
    if each.error:
        raise each.error
    kind, seen, (watch, tenants, kept) = each.kind, each.seen, each.tenants
    appeared, gone = seen.appeared(each.number), seen.gone()
    assert appeared, f"no {kind} within {each.hold_off + 30} s: {seen.counts[-3:]}"
    times = (f"{kind}: there {appeared - each.there:.1f} s after its cause (hold-off "
             f"{each.hold_off:g} s), gone {gone - each.ended if gone else -1:.1f} s after its end")
    # Times are published in whole seconds.
    assert appeared - each.begun >= each.hold_off - 1, f"too early; {times}"
    assert appeared - each.there <= each.hold_off + SOON, f"too late; {times}"
    assert gone and gone - each.ended <= SOON, f"it stays; {times}"
    assert not seen.flapped(), f"it came and went; {seen.counts}"
    watch.assert_never_lost(tenants)
    assert kept, "a tenant is not there any more"
    others = {text for (node, _), text in unexpected(watch, causes).items() if node == each.node}
    assert not others, f"{times}; and what nobody caused: {others}"
    return f"{times}\n{policy.say(seen.last)}"


# --- without an operator


@tests.promise
def a_gpu_that_falls_off_the_bus_is_device_missing(cluster):
    return wait_drift_and_end(cluster, "DeviceMissing")


@tests.promise
def a_driver_that_does_not_fit_its_library_is_driver_mismatch(cluster):
    return wait_drift_and_end(cluster, "DriverMismatch")


@tests.promise
def a_process_without_a_slot_is_unallocated_use(cluster):
    return wait_drift_and_end(cluster, "UnallocatedUse")


@tests.promise
def a_mig_mode_that_waits_for_a_reset_is_mig_mode_pending(cluster):
    return wait_drift_and_end(cluster, "MIGModePending")


@tests.promise
def an_exclusive_mode_without_mps_is_mps_left_behind(cluster):
    return wait_drift_and_end(cluster, "MPSLeftBehind")


@tests.promise
def a_refusal_for_want_of_slots_that_the_books_have_is_slots_leaked(cluster):
    return wait_drift_and_end(cluster, "SlotsLeaked")


@tests.promise
def a_drift_of_a_node_is_told_by_events_on_it_and_one_of_a_device_on_that_and_so_are_their_ends(cluster):
    outcomes(cluster, "bare")
    since = began["bare"][2]

    def events():
        of_node = cluster.events_of(since, "node", SECOND)
        of_objects = [cluster.events_of(since, "gpuattribution", item["metadata"]["name"])
                      for node in (FIRST, THIRD) for item in policy.items_of(cluster, node)]
        return of_node, of_objects
    of_node, of_objects = wait_for("the ends", lambda: "DriftResolved" in events()[0] and events(), 90)
    assert of_node == ["DriftFound", "DriftResolved"], of_node
    assert of_objects[:2] == [["DriftFound", "DriftResolved"]] * 2, of_objects  # one each on the first node
    assert "UnallocatedUse" in sum(of_objects, []), of_objects
    assert not cluster.events_of(since, "node", FIRST), "no drift of that node was caused"
    shown = cluster.kubectl("events", "--for", f"node/{SECOND}")
    assert "DriverMismatch" in shown, shown
    return shown


def answers(cluster, since, code=None, resource=None):
    """Requests of the controller, by resource and verb."""
    found = {}
    for event in cluster.requests_of(CONTROLLER_USER, since, resource=resource):
        if code in (None, event.get("responseStatus", {}).get("code")):
            key = f"{event['verb']} {event.get('objectRef', {}).get('resource')}"
            found[key] = found.get(key, 0) + 1
    return found


@tests.promise
def without_an_operator_no_config_map_is_read_and_nothing_asked_for_in_vain(cluster):
    outcomes(cluster, "bare")
    without_operator(cluster)
    since, start, _ = began["bare"]
    policy.pause(max(0, start + 65 - time.monotonic()))  # twice as long as between such requests
    reads, vain = answers(cluster, since, resource="configmaps"), answers(cluster, since, code=404)
    assert not reads, reads
    assert not vain, vain
    return f"{time.monotonic() - start:.0f} s: {answers(cluster, since)}"


# --- with one


@tests.promise
def a_second_policy_is_policy_conflict(cluster):
    return wait_drift_and_end(cluster, "PolicyConflict")


@tests.promise
def a_policy_that_does_not_become_ready_is_policy_not_ready(cluster):
    return wait_drift_and_end(cluster, "PolicyNotReady")


@tests.promise
def a_driver_of_another_version_is_driver_version(cluster):
    return wait_drift_and_end(cluster, "DriverVersion")


@tests.promise
def gpus_that_are_not_shared_as_they_should_be_are_sharing_mode(cluster):
    return wait_drift_and_end(cluster, "SharingMode")


@tests.promise
def mps_that_does_not_start_is_mps_not_running(cluster):
    return wait_drift_and_end(cluster, "MPSNotRunning")


@tests.promise
def a_layout_that_nobody_makes_is_mig_layout(cluster):
    return wait_drift_and_end(cluster, "MIGLayout")


@tests.promise
def an_exporter_where_it_is_off_is_exporter_unexpected(cluster):
    return wait_drift_and_end(cluster, "ExporterUnexpected")


@tests.promise
def labels_of_another_machine_are_labels_stale(cluster):
    return wait_drift_and_end(cluster, "LabelsStale")


@tests.promise
def a_plugin_that_does_not_come_back_is_plugin_missing(cluster):
    return wait_drift_and_end(cluster, "PluginMissing")


@tests.promise
def an_exporter_that_does_not_come_back_is_exporter_missing(cluster):
    return wait_drift_and_end(cluster, "ExporterMissing")


@tests.promise
def a_mig_manager_that_failed_is_mig_config_failed(cluster):
    return wait_drift_and_end(cluster, "MIGConfigFailed")


@tests.promise
def labels_that_nobody_wrote_are_labels_missing(cluster):
    return wait_drift_and_end(cluster, "LabelsMissing")


@tests.promise
def other_replicas_are_replica_count(cluster):
    return wait_drift_and_end(cluster, "ReplicaCount")


@tests.promise
def another_resource_is_resource_name(cluster):
    return wait_drift_and_end(cluster, "ResourceName")


@tests.promise
def a_gpu_that_the_plugin_withdrew_is_allocatable_short(cluster):
    return wait_drift_and_end(cluster, "AllocatableShort")


@tests.promise
def keys_without_effect_are_config_dead(cluster):
    return wait_drift_and_end(cluster, "ConfigDead")


@tests.promise
def mig_devices_by_another_strategy_are_mig_strategy(cluster):
    return wait_drift_and_end(cluster, "MIGStrategy")


@tests.promise
def a_plugin_where_it_is_off_is_plugin_unexpected(cluster):
    return wait_drift_and_end(cluster, "PluginUnexpected")


@tests.promise
def an_edited_key_that_the_plugin_did_not_read_is_config_not_loaded(cluster):
    return wait_drift_and_end(cluster, "ConfigNotLoaded")


@tests.promise
def a_label_that_names_no_key_is_config_missing(cluster):
    return wait_drift_and_end(cluster, "ConfigMissing")


@tests.promise
def a_key_that_the_plugin_refuses_is_config_invalid(cluster):
    return wait_drift_and_end(cluster, "ConfigInvalid")


@tests.promise
def a_gpu_that_falls_off_the_bus_is_device_missing_beside_a_policy_as_well(cluster):
    with_operator(cluster)
    tenant = cluster.create_tenant("tenant", FIRST)
    with Watch(cluster) as watch:
        fall = a_gpu_falls_off_the_bus(cluster, FIRST)
        next(fall)
        try:
            item = wait_drift_of_one(cluster, FIRST, "DeviceMissing")
            assert item["status"]["intent"]["policy"] == POLICY, item["status"]["intent"]
        finally:
            next(fall)
        policy.renew_pods(cluster, FIRST, DISCOVERY)  # it may have counted one device
        wait_rest(cluster, "operator")
        watch.close()
    watch.assert_never_lost({tenant})
    return policy.say(policy.drifts(item)["DeviceMissing"])


# --- settling


SHORTEST = 1  # percent of the times as shipped
SETTLING = (  # the reason of each node, and its labels
    (FIRST, "MIGReconfiguration", {"mig__config__state": "pending"}),
    (SECOND, "DriverUpgrade", {"gpu_driver_upgrade_state": "drain-required"}),
    (THIRD, "OperandsPaused", {"gpu__deploy__dcgm_exporter": "paused-for-driver-upgrade"}),
)


@tests.promise
def work_on_a_node_is_settling_and_what_it_explains_is_no_drift(cluster):
    with_operator(cluster)
    tenants = {cluster.create_tenant(f"tenant-{node}", node) for node in NODES}
    frozen = contextlib.ExitStack()
    with Watch(cluster) as watch, frozen:
        for node, _, labels in SETTLING:
            frozen.enter_context(policy.frozen_managers(cluster, node))
            label(cluster, node, **labels)
        notes = [wait_reason(cluster, node, "Unknown", reason)
                 for node, reason, _ in SETTLING]
        # A difference that the work may explain, for longer than its hold-off.
        for node in NODES:
            choose(cluster, node, "sliced")
        policy.pause(120 * policy.PERCENT / 100 + SOON)
        for node, reason, _ in SETTLING:
            wait_reason(cluster, node, "Unknown", reason, timeout=1)
            choose(cluster, node, "")
        frozen.close()  # the pods are made anew, which is no drift either
        with cluster.waiting_for_in_sync():
            for node, _, labels in SETTLING:
                after = "true" if node == THIRD else None
                label(cluster, node, **dict.fromkeys(labels, after))
        wait_rest(cluster, "operator")
        watch.close()
    watch.assert_never_lost(tenants)
    found = unexpected(watch, {})
    assert not found, found
    return "\n".join(notes)


@tests.promise
def a_label_that_work_has_left_behind_counts_until_its_limit_and_is_named_then(cluster):
    with_operator(cluster)
    limit = 3600 * SHORTEST / 100  # of a MIGReconfiguration
    tenant = cluster.create_tenant("tenant", FIRST)
    policy.set_env(cluster, policy.CONTROLLER, {"GPU_ATTRIBUTION_HOLD_OFF_PERCENT": str(SHORTEST)})
    try:
        cluster.rollout(policy.CONTROLLER)
        wait_rest(cluster, "operator")
        with Watch(cluster) as watch, policy.frozen_managers(cluster, FIRST):
            start = time.monotonic()
            label(cluster, FIRST, mig__config__state="pending")
            choose(cluster, FIRST, "sliced")
            wait_reason(cluster, FIRST, "Unknown", "MIGReconfiguration")
            wait_drift(cluster, FIRST, "SharingMode", timeout=limit + 30)
            message = wait_reason(cluster, FIRST, "False", "SharingMode")
            label(cluster, FIRST, mig__config__state=None)
            choose(cluster, FIRST, "")
            watch.close()
    finally:
        label(cluster, FIRST, mig__config__state=None)
        choose(cluster, FIRST, "")
        policy.hasten(cluster)
    wait_offer(cluster, FIRST, gpu=2)
    wait_rest(cluster, "operator")
    waited = Seen(watch, FIRST, "SharingMode").appeared(1) - start
    assert waited >= limit - 1, f"{waited:.1f} s"  # times are published in whole seconds
    assert "label nvidia.com/mig.config.state has told of work for too long" in message, message
    watch.assert_never_lost({tenant})
    return f"a drift after {waited:.1f} s (limit {limit:g} s): {message}"


@tests.promise
def a_young_difference_is_hold_off_and_a_restart_of_the_kubelet_is_settling(cluster):
    with_operator(cluster)
    tenants = {cluster.create_tenant(f"tenant-{node}", node) for node in (FIRST, SECOND)}
    with Watch(cluster) as watch:
        cluster.ctl("restart", f"{SECOND}/kubelet")
        choose(cluster, FIRST, "none-such")
        note = wait_reason(cluster, FIRST, "Unknown", "HoldOff", timeout=3)
        pending = [d["type"] for d in policy.items_of(cluster, FIRST)[0]["status"]["intent"]["pending"]]
        assert pending == ["ConfigMissing"], pending
        with cluster.waiting_for_in_sync():
            choose(cluster, FIRST, "")
        wait_rest(cluster, "operator")
        # A quick kubelet has a complete List before anybody looks.
        for _ in range(4):
            if "KubeletSettling" in reasons_of(cluster, watch, SECOND):
                break
            cluster.ctl("restart", f"{SECOND}/kubelet")
            wait_rest(cluster, "operator")
            policy.pause(SOON)
        watch.close()
    watch.assert_never_lost(tenants)
    reasons = reasons_of(cluster, watch, SECOND)
    assert "KubeletSettling" in reasons, reasons
    return note


def pending_of(item):
    return {drift["type"]: drift["startTime"] for drift in item["status"]["intent"].get("pending", [])}


@tests.promise
def a_restart_of_the_controller_moves_no_drift_and_lengthens_no_hold_off(cluster):
    with_operator(cluster)
    hold_off = 300 * policy.PERCENT / 100  # of ExporterMissing
    failed = {"gpu__deploy__mig_manager": "true", "mig__config": "second-cut", "mig__config__state": "failed"}
    with Watch(cluster) as watch, policy.kept_away(cluster, THIRD):
        try:
            label(cluster, THIRD, **failed)
            started = wait_drift(cluster, THIRD, "MIGConfigFailed")["startTime"]
            policy.delete_pod_of(cluster, THIRD, EXPORTER)
            wait_for("ExporterMissing, pending", lambda: all(
                "ExporterMissing" in pending_of(item) for item in policy.items_of(cluster, THIRD)))
            start = time.monotonic()
            cluster.kubectl(*policy.OURS, "rollout", "restart", policy.CONTROLLER)
            cluster.rollout(policy.CONTROLLER)
            took = time.monotonic() - start
            missing = wait_drift(cluster, THIRD, "ExporterMissing", timeout=hold_off + 30)
        finally:
            label(cluster, THIRD, **dict.fromkeys(failed))
            cluster.kubectl("taint", "node", THIRD, "test/away-")
        wait_rest(cluster, "operator")
        watch.close()
    shown = [item for _, _, item in watch.events if item["status"]["nodeName"] == THIRD]
    waited = Seen(watch, THIRD, "ExporterMissing").appeared(2) - start
    assert {d["MIGConfigFailed"]["startTime"] for d in map(policy.drifts, shown) if "MIGConfigFailed" in d} == \
        {started}, started
    assert {p["ExporterMissing"] for p in map(pending_of, shown) if "ExporterMissing" in p} == \
        {missing["startTime"]}, missing
    assert took < hold_off, f"restarted after {took:.1f} s, which is too late to tell"
    assert hold_off - 2 <= waited <= hold_off + SOON, f"{waited:.1f} s"
    return f"restarted after {took:.1f} s, a drift after {waited:.1f} s (hold-off {hold_off:g} s)"


WAIT = ("wait", "gpuattributions", "--all", "--for=condition=InSync")


@tests.promise
def kubectl_wait_ends_when_all_is_in_sync_and_a_selector_finds_what_is_not(cluster):
    with_operator(cluster)
    drifted = ("get", "gpuattributions", "--field-selector=status.intent.state=Drifted", "-o", "name")
    assert cluster.kubectl(*WAIT, "--timeout=5s").count("condition met") == 2 * len(NODES)
    assert not cluster.kubectl(*drifted)
    label(cluster, FIRST, mig__config__state="pending")
    try:
        wait_reason(cluster, FIRST, "Unknown", "MIGReconfiguration")
        with cluster.waiting_for_in_sync():
            label(cluster, FIRST, mig__config__state=None)
    finally:
        label(cluster, FIRST, mig__config__state=None)
    try:
        label(cluster, THIRD, gpu__deploy__mig_manager="true", mig__config="second-cut",
              mig__config__state="failed")
        drift = wait_drift(cluster, THIRD, "MIGConfigFailed")
        names = cluster.kubectl(*drifted).split()
        assert len(names) == 2, names
        told = cluster.kubectl("gpus", "why", names[0].partition("/gpu-")[2])
        with cluster.waiting_for_in_sync():
            label(cluster, THIRD, gpu__deploy__mig_manager=None, mig__config=None,
                  mig__config__state=None)
    finally:
        label(cluster, THIRD, gpu__deploy__mig_manager=None, mig__config=None,
              mig__config__state=None)
    told = " ".join(told.split())
    assert "Whether it is as intended, as of the report of 2" in told, told
    assert ": Drifted, compared with ClusterPolicy" in told, told
    assert "MIGConfigFailed" in told and drift["observed"] in told, told
    return told[told.index("Whether it is as intended"):]


# --- what people see of it: the story in manifests/README.md


class Story:
    """What is typed, and what comes of it."""

    def __init__(self, cluster):
        self.cluster, self.lines = cluster, []

    def tell(self, text):
        self.lines += ["", text]

    def type(self, *words):
        self.lines.append("$ kubectl " + " ".join(words))
        out = self.cluster.kubectl(*words)
        self.lines += out.rstrip().splitlines()
        return out

    def show(self, node):
        """The table of a node."""
        return self.type("get", "gpuattributions", f"--field-selector=status.nodeName={node}")

    def condition(self, node):
        """The condition InSync of the first device of a node."""
        status, reason, message = policy.in_sync(self.cluster, node)[0]
        self.lines.append(f"InSync={status}, {reason}: {message}")


def wait_in_volumes(cluster, node, key, text):
    """Waits until the kubelet has put the key's text before each config-manager of a node, which it
    does within a minute or when a pod changes."""
    def is_there(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file) == text
    for app in (PLUGIN, DISCOVERY):
        pod, = policy.pods_of(cluster, node, app)
        cluster.kubectl(*IN, "annotate", "pod", pod["metadata"]["name"], f"test/look={time.time()}")
        path = f"/proc/{cluster.pid_of(pod, 'config-manager')}/root/available-configs/{key}"
        wait_for("the edited key", functools.partial(is_there, path), timeout=120, every=0.2)


def plain(text):
    """A text without what differs from one run to the next: names of devices, ages, who is where."""
    for pattern in (r"(?i)gpu-[0-9a-f-]{8,36}", r"(?<![\w.])\d+(?:[dhms]\d*)+", r"\d/\d\s+\S+(?: \+\d)?"):
        text = re.sub(pattern, "#", text)
    return re.sub(r"-{2,}|\s+", " ", text)


def hold_page_to(story):
    """Each block of the page is what the story prints."""
    with open(os.path.join(ROOT, "manifests/README.md"), encoding="utf-8") as file:
        page = file.read()
    page = page[page.index("`tests/e2e/intent.py`"):]
    blocks = re.findall(r"^```\n(.*?)^```", page.partition("\n## ")[0], re.S | re.M)
    told = plain("\n".join(story.lines))
    odd = [block for block in blocks if plain(block).strip() not in told]
    assert blocks and not odd, f"manifests/README.md: not what is printed:\n{odd[0]}\n{told}"


@tests.promise
def a_story_of_intent_ends_in_sync_and_loses_no_tenant(cluster):
    with_operator(cluster)
    story, pods = Story(cluster), {}
    with Watch(cluster) as watch:
        story.tell("# time-slicing is asked for by the label of node-1, and in effect")
        choose(cluster, FIRST, "sliced")
        wait_offer(cluster, FIRST, gpu=8)
        pods = {cluster.create_tenant(f"tenant-{i}", FIRST) for i in range(3)}
        wait_reason(cluster, FIRST, "True", "InSync")
        story.show(FIRST)
        story.condition(FIRST)

        story.tell("# the key is edited, and no label touched: the plugin goes on as before")
        edit_config(cluster, "sliced", sharing("timeSlicing", 3))
        wait_in_volumes(cluster, FIRST, "sliced", sharing("timeSlicing", 3))
        wait_drift(cluster, FIRST, "ConfigNotLoaded")
        assert policy.allocatable(cluster, FIRST) == {"gpu": 8}
        story.type("gpus", "drift")

        story.tell("# the label is touched: the plugin reads its configuration anew")
        start = len(watch.events)
        choose(cluster, FIRST, "other")
        wait_offer(cluster, FIRST, gpu=2)
        choose(cluster, FIRST, "sliced")
        wait_offer(cluster, FIRST, gpu=6)
        wait_reason(cluster, FIRST, "True", "InSync")
        reasons = reasons_of(cluster, watch, FIRST, start)
        assert reasons & {"HoldOff", "KubeletSettling"}, reasons
        story.show(FIRST)

        story.tell("# dcgm-exporter is switched off on purpose: no drift")
        patch_policy(cluster, {"dcgmExporter": {"enabled": False}})
        cluster.kubectl(*IN, "delete", "daemonset", EXPORTER)
        for node in NODES:
            policy.wait_no_pod(cluster, node, EXPORTER)
        wait_reason(cluster, FIRST, "True", "InSync")
        story.condition(FIRST)

        story.tell("# the device plugin's pod is deleted, and a taint keeps it away; tenants stay")
        with policy.kept_away(cluster, FIRST, PLUGIN):
            wait_drift(cluster, FIRST, "PluginMissing")
            story.type("gpus", "drift")
            story.show(FIRST)
        wait_reason(cluster, FIRST, "True", "InSync")

        story.tell("# a MIG layout is asked for on node-3, and nobody makes it")
        label(cluster, THIRD, gpu__deploy__mig_manager="true", mig__config="second-cut")
        wait_drift_of_one(cluster, THIRD, "MIGLayout")
        story.type("gpus", "drift")
        story.tell("# the MIG manager does its work")
        run("hack/cluster/mig-manager", "--name", cluster.name, THIRD)
        policy.wait_ready(cluster, THIRD, PLUGIN)
        wait_reason(cluster, THIRD, "True", "InSync")
        story.show(THIRD)
        reasons = reasons_of(cluster, watch, THIRD)
        assert "MIGReconfiguration" in reasons, reasons

        story.tell("# somebody adds a second ClusterPolicy")
        put_policy(cluster, "another")
        wait_drift(cluster, FIRST, "PolicyConflict")
        story.type("gpus", "drift", FIRST)
        cluster.kubectl("delete", "clusterpolicy", "another")
        for node in NODES:
            wait_reason(cluster, node, "True", "InSync")
        watch.close()
    watch.assert_never_lost(pods)
    assert pods <= {uid for uid, _ in cluster.tenants()}
    cluster.delete_pods()
    policy.put_back(cluster, NODES)
    hold_page_to(story)
    return "\n".join(story.lines)


def wait_drift_of_one(cluster, node, kind):
    """Waits until a device of a node has that drift; returns its object."""
    return wait_for(f"{kind} on {node}", lambda: next(
        (item for item in policy.items_of(cluster, node) if kind in policy.drifts(item)), None),
        every=0.1)


def reasons_of(cluster, watch, node, start=0):
    """Of InSync, as events from the start-th on have told it."""
    return {cluster.condition(item, "InSync")["reason"] for _, _, item in list(watch.events)[start:]
            if item["status"]["nodeName"] == node}


@tests.promise
def mps_by_the_operators_pods_is_in_sync(cluster):
    with_operator(cluster)
    try:
        choose(cluster, FIRST, "mps")
        policy.wait_ready(cluster, FIRST, "nvidia-device-plugin-mps-control-daemon")
        wait_offer(cluster, FIRST, gpu=8)
        uid = cluster.create_tenant("client", FIRST)
        wait_reason(cluster, FIRST, "True", "InSync")
        modes = {item["status"]["sharing"]["mode"] for item in policy.items_of(cluster, FIRST)}
        assert modes == {"MPS"} and any(key[0] == uid for key in cluster.tenants()), modes
        return cluster.kubectl("get", "gpuattributions", f"--field-selector=status.nodeName={FIRST}")
    finally:
        choose(cluster, FIRST, "")
        wait_offer(cluster, FIRST, gpu=2)


# By what all of the operator's parts are off on a node, and its labels then. The last is off by the policy.
ALL_OFF = (
    (FIRST, "label nvidia.com/gpu.deploy.operands", {"gpu__deploy__operands": "false"}),
    (SECOND, "label nvidia.com/gpu.workload.config=vm-vgpu",
     {"gpu__workload__config": "vm-vgpu", "gpu__deploy__sandbox_device_plugin": "true"}),
    (THIRD, f"sandboxWorkloads.defaultWorkload=vm-passthrough of ClusterPolicy {POLICY}",
     {"gpu__deploy__sandbox_device_plugin": "true"}),
)


def wait_all_off(cluster, node, where):
    """Waits until each device of a node is in sync, and says where all parts are switched off; returns
    one of the messages. where "": none is."""
    said = f"all of the operator's parts are off by {where}"

    def look():
        message = wait_reason(cluster, node, "True", "InSync")
        return message if (said in message) == bool(where) else None
    return wait_for(f"{said} on {node}", look)


def wait_operands(cluster, node):
    for app in (PLUGIN, DISCOVERY, EXPORTER):
        policy.wait_ready(cluster, node, app)
    wait_offer(cluster, node, gpu=2)


@tests.promise
def nodes_where_all_parts_are_off_or_that_are_for_virtual_machines_are_in_sync_and_say_so(cluster):
    with_operator(cluster)
    tenants = {cluster.create_tenant(f"tenant-{node}", node) for node in NODES}
    with Watch(cluster) as watch:
        try:
            patch_policy(cluster, {"sandboxWorkloads": {"enabled": True,
                                                        "defaultWorkload": "vm-passthrough"}})
            for node, _, labels in ALL_OFF:
                policy.deploy(cluster, node, None, **labels)
            for node in NODES:
                for app in (PLUGIN, DISCOVERY, EXPORTER):
                    policy.wait_no_pod(cluster, node, app)
                wait_offer(cluster, node)
            notes = [wait_all_off(cluster, node, where) for node, where, _ in ALL_OFF]
            policy.pause(300 * policy.PERCENT / 100 + SOON)  # longer than any hold-off
            for node, where, _ in ALL_OFF:
                wait_all_off(cluster, node, where)
            # A node for containers among those for virtual machines has all parts again.
            policy.deploy(cluster, THIRD, gpu__workload__config="container",
                          gpu__deploy__sandbox_device_plugin=None)
            wait_operands(cluster, THIRD)
            wait_all_off(cluster, THIRD, "")
        finally:
            patch_policy(cluster, {"sandboxWorkloads": None})
            for node, _, labels in ALL_OFF:
                policy.deploy(cluster, node, **{"gpu__workload__config": None, **dict.fromkeys(labels)})
        for node in NODES:
            wait_operands(cluster, node)
            wait_all_off(cluster, node, "")
        watch.close()
    watch.assert_never_lost(tenants)
    return "\n".join(notes)


# --- NVIDIA's own definition of ClusterPolicy, as old as its Go module


# It can say all that these rounds need. What it drops is on then: dcgmExporter.enabled, gfd.enabled, cdi,
# the conditions of the status.
OLD = ("operands", "replicas", "keys", "strategy")


def run_old_round(cluster, name):
    """The same by NVIDIA's own definition, held against the same promises; returns what was said of each
    type."""
    causes = [CAUSES[kind][1]() for kind in ROUNDS[name]]
    try:
        found = run_with_tenants(cluster, name, causes)
    finally:
        cluster.delete_pods()
    return [judge(each, found) for each in found.values()]


@tests.promise
def a_policy_by_nvidias_own_definition_is_compared_as_well(cluster):
    with_operator(cluster, "nvidia")
    try:
        patch_policy(cluster, {"dcgmExporter": {"enabled": False}})
        spec = cluster.get("clusterpolicy", POLICY)["spec"]
        assert "enabled" not in spec["dcgmExporter"], spec
        said = sum((run_old_round(cluster, name) for name in OLD), [])
        assert len(said) == 21, said
        return "\n".join(said)
    finally:
        policy.define(cluster, "open")


@tests.promise
def what_the_operator_blames_is_said(cluster):
    with_operator(cluster)
    error = {"type": "Error", "status": "True", "reason": "OperandNotReady",
             "message": "ClusterPolicy is not ready, states not ready: [state-device-plugin]"}

    def blame():
        """The API server drops the conditions for as long as it goes by the old definition."""
        error["lastTransitionTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        tell_state(cluster, "notReady", conditions=[error])
        return cluster.get("clusterpolicy", POLICY)["status"].get("conditions") == [error]
    try:
        wait_for("conditions of the ClusterPolicy", blame, timeout=20)

        def blamed():
            """A watch that began by the old definition drops them as well, until the API server ends it.
            The next one begins behind that edit, so it tells only of another."""
            drift = wait_drift(cluster, FIRST, "PolicyNotReady")
            if "states not ready: [state-device-plugin]" not in drift["observed"]:
                blame()
                raise Failed(f"{drift}")
            return drift
        return policy.say(wait_for("the state that is blamed", blamed, timeout=150))
    finally:
        tell_state(cluster, conditions=[])


# --- bad input: each has a defined state with a reason, and no tenant is lost


@contextlib.contextmanager
def bad_input(cluster):
    """A tenant on each node, which must stay; and the controller does."""
    with_operator(cluster)
    tenants = {cluster.create_tenant(f"tenant-{node}", node) for node in NODES}
    before = cluster.controller_pod()["metadata"]["uid"]
    with Watch(cluster) as watch:
        yield
        wait_rest(cluster, "operator")
        watch.close()
    watch.assert_never_lost(tenants)
    pod = cluster.controller_pod()
    assert pod["metadata"]["uid"] == before
    assert all(s["restartCount"] == 0 for s in pod["status"]["containerStatuses"]), pod["status"]


@contextlib.contextmanager
def other_version(cluster):
    """The API server serves ClusterPolicies as v2 only."""
    what = ("crd", "clusterpolicies.nvidia.com")
    versions = cluster.get(*what)["spec"]["versions"]
    former = {**versions[0], "served": False}
    later = {**versions[0], "name": "v2", "storage": False}
    policy.patch(cluster, what, {"spec": {"versions": [former, later]}})
    try:
        yield
    finally:
        policy.patch(cluster, what, {"spec": {"versions": versions}})


@tests.promise
def a_policy_that_cannot_be_read_is_unknown_with_the_reason(cluster):
    notes = []
    with bad_input(cluster):
        for spec, where in (({"mig": {"strategy": ["single"]}}, "mig.strategy"),
                            ({"devicePlugin": "yes"}, "devicePlugin"),
                            ({"driver": {"enabled": "perhaps"}}, "driver.enabled")):
            try:
                put_policy(cluster, POLICY, {**policy.SPEC, **spec})
                message = wait_reason(cluster, FIRST, "Unknown", "PolicyUnreadable")
                assert where in message, message
                notes.append(message)
            finally:
                put_policy(cluster)
        with other_version(cluster):
            message = wait_reason(cluster, FIRST, "Unknown", "PolicyUnreadable")
            assert "in other versions only than nvidia.com/v1" in message, message
            notes.append(message)
        wait_rest(cluster, "operator")
        cluster.kubectl("delete", "clusterpolicy", POLICY)
        for node in NODES:
            notes.append(wait_reason(cluster, node, "True", "Unmanaged"))
        assert "condition met" in cluster.kubectl(*WAIT, "--timeout=5s")
        put_policy(cluster)
        tell_state(cluster)
    return "\n".join(notes)


@tests.promise
def a_gpu_cluster_beside_a_policy_is_policy_conflict(cluster):
    with bad_input(cluster):
        try:
            cluster.kubectl("apply", "-f", "-", stdin=run(
                "hack/cluster/make-policy", "definition", "gpucluster"))
            wait_for("the kind GPUCluster",
                     lambda: policy.is_established(cluster, "gpuclusters.nvidia.com"))
            cluster.create({"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster",
                            "metadata": {"name": "gpu-cluster"}, "spec": {}})
            drift = wait_drift(cluster, FIRST, "PolicyConflict", timeout=90)
        finally:
            cluster.kubectl("delete", "crd", "gpuclusters.nvidia.com", "--ignore-not-found")
    return policy.say(drift)


YAML = """\
version: v1
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: {}
"""
BOMB = "version: v1\na: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
    for a, b in zip("abcdefghi", "bcdefghij"))
BIG = YAML.format(2) + "# " + "x" * 1046000 + "\n"  # a ConfigMap has 1 MiB at most
# A text, and what is said of it: a drift, or a reason; and words.
TEXTS = (
    ("{", "ConfigInvalid", "line 2, column 1"),
    (YAML.format("[4"), "ConfigInvalid", "line 7, column 1"),
    (YAML.format("four"), "ConfigInvalid", "line 6, column 17"),
    (YAML.format("0x4"), "ConfigUnreadable", "line 6, column 17"),
    (YAML.format(1), "ConfigInvalid", "line 6, column 17"),
    ("version: v9\n", "ConfigInvalid", "line 1, column 10"),
    ("", "", ""),  # the plugin takes it for its defaults
    (BOMB, "ConfigUnreadable", "line 6, column 36: aliases stand for too many values"),
    (BIG, "ConfigNotLoaded", ""),
)


def wait_told(cluster, node, word):
    """Waits until a device's condition has that reason, whatever its status; returns its message."""
    return wait_for(f"{word} on {node}", lambda: next(
        (message or "-" for _, reason, message in policy.in_sync(cluster, node) if reason == word),
        None), timeout=60, every=0.1)


@tests.promise
def whatever_is_in_a_key_has_a_state_with_a_reason(cluster):
    notes = []
    with bad_input(cluster):
        choose(cluster, FIRST, "other")
        wait_rest(cluster, "operator")
        try:
            for text, word, part in TEXTS:
                edit_config(cluster, "other", text)
                message = wait_told(cluster, FIRST, word or "InSync")
                assert part in message, (text[:80], message)
                notes.append(f"{text[:40]!r}... {len(text)} bytes: {word or 'InSync'}: {message}")
                edit_config(cluster, "other", PLAIN)
                wait_told(cluster, FIRST, "InSync")
        finally:
            edit_config(cluster, "other", PLAIN)
            choose(cluster, FIRST, "")
    return "\n".join(notes)


ALIASED = """\
version: v1
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: &four 4}
    - {name: nvidia.com/mig-1g.5gb, replicas: *four}
"""


@tests.promise
def a_configuration_with_aliases_is_read_as_the_plugin_reads_it(cluster):
    with bad_input(cluster):
        edit_config(cluster, "other", ALIASED)
        choose(cluster, FIRST, "other")
        policy.renew_pods(cluster, FIRST)  # a volume of before may have the text of before
        try:
            wait_offer(cluster, FIRST, gpu=8)
            said = wait_told(cluster, FIRST, "InSync")
            assert "key other" in said, said
        finally:
            choose(cluster, FIRST, "")
            edit_config(cluster, "other", PLAIN)
            wait_offer(cluster, FIRST, gpu=2)
    return said


@tests.promise
def a_config_map_that_is_deleted_while_in_use_is_config_missing(cluster):
    with bad_input(cluster):
        data = cluster.get("configmap", CONFIGS, *IN)["data"]
        cluster.kubectl(*IN, "delete", "configmap", CONFIGS)
        try:
            notes = [policy.say(wait_drift(cluster, node, "ConfigMissing")) for node in NODES]
            policy.put_config_map(cluster, CONFIGS, {})
            notes.append(policy.say(wait_drift(cluster, FIRST, "ConfigMissing")))
        finally:
            policy.put_config_map(cluster, CONFIGS, data)
        patch_policy(cluster, {"devicePlugin": {"config": {"name": "none-such"}}})
        try:
            notes.append(policy.say(wait_drift(cluster, FIRST, "ConfigMissing")))
        finally:
            patch_policy(cluster, {"devicePlugin": {"config": {"name": CONFIGS}}})
    return "\n".join(notes[2:])


@tests.promise
def layouts_that_cannot_be_read_or_are_not_there_are_said(cluster):
    texts = {"config.yaml": "version: v1\nmig-configs: [\n"}, {"other": "version: v1"}
    notes = []
    with bad_input(cluster):
        data = cluster.get("configmap", policy.LAYOUTS, *IN)["data"]
        label(cluster, SECOND, gpu__deploy__mig_manager="true", mig__config="all-disabled",
              mig__config__state="success")
        try:
            wait_rest(cluster, "operator")
            for text, part in zip(texts, ("line ", "config.yaml")):
                # A key that is not written here is another's to server-side apply, and stays.
                cluster.kubectl(*IN, "delete", "configmap", policy.LAYOUTS)
                policy.put_config_map(cluster, policy.LAYOUTS, text)
                notes.append(wait_reason(cluster, SECOND, "Unknown", "ConfigUnreadable"))
                assert part in notes[-1], notes
            cluster.kubectl(*IN, "delete", "configmap", policy.LAYOUTS)
            notes.append(policy.say(wait_drift(cluster, SECOND, "MIGLayout")))
            assert "no such ConfigMap" in notes[-1], notes
        finally:
            policy.put_config_map(cluster, policy.LAYOUTS, data)
            label(cluster, SECOND, gpu__deploy__mig_manager=None, mig__config=None,
                  mig__config__state=None)
    return "\n".join(notes)


NONSENSE = {
    FIRST: {"mig__config__state": "purple", "gpu_driver_upgrade_state": "upgrade-done"},
    SECOND: {"gpu__deploy__mig_manager": "-maybe-".strip("-"), "mig__config": "none-such"},
    THIRD: {"gpu__workload__config": "spaceship", "gpu__deploy__something": "x.y_z-1"},
}


@tests.promise
def labels_with_nonsense_are_no_drift_or_one_that_names_them(cluster):
    with bad_input(cluster):
        try:
            for node, labels in NONSENSE.items():
                label(cluster, node, **labels)
            policy.pause(SOON)
            notes = [f"{node}: {policy.in_sync(cluster, node)[0]}" for node in NODES]
            wait_rest(cluster, "operator")
            label(cluster, SECOND, gpu__deploy__mig_manager="true")
            notes.append(policy.say(wait_drift(cluster, SECOND, "MIGLayout")))
            label(cluster, FIRST, gpu_driver_upgrade_state="purple")
            notes.append(wait_reason(cluster, FIRST, "Unknown", "DriverUpgrade"))
        finally:
            for node, labels in NONSENSE.items():
                label(cluster, node, **dict.fromkeys(labels))
    return "\n".join(notes)


@tests.promise
def without_the_right_to_read_config_maps_that_is_said_and_nothing_else(cluster):
    with_operator(cluster)
    binding = ("rolebinding", "gpu-attribution-intent", *IN)
    tenant = cluster.create_tenant("tenant", FIRST)
    cluster.kubectl("delete", *binding)
    try:
        cluster.kubectl(*policy.OURS, "rollout", "restart", policy.CONTROLLER)
        cluster.rollout(policy.CONTROLLER)
        notes = [wait_reason(cluster, node, "Unknown", "ConfigUnreadable") for node in NODES]
        choose(cluster, FIRST, "none-such")
        policy.pause(60 * policy.PERCENT / 100 + SOON)
        assert not any(policy.drifts(item) for item in policy.items_of(cluster, FIRST))
        choose(cluster, FIRST, "")
        with cluster.waiting_for_in_sync():
            start = time.monotonic()
            policy.grant(cluster)
    finally:
        policy.grant(cluster)
    for node in NODES:
        wait_reason(cluster, node, "True", "InSync")
    assert any(key[0] == tenant for key in cluster.tenants())
    notes.append(f"in sync {time.monotonic() - start:.1f} s after it was granted")
    policy.renew_pods(cluster, FIRST)
    return "\n".join(notes[2:])


ROLE = ("clusterrole", "gpu-attribution-controller")


@tests.promise
def without_the_right_to_read_policies_that_is_said_and_nothing_else(cluster):
    with_operator(cluster)
    tenant = cluster.create_tenant("tenant", FIRST)
    rules = cluster.get(*ROLE)["rules"]
    fewer = [{**rule, "resources": [r for r in rule["resources"] if r != "clusterpolicies"]}
             for rule in rules]
    assert fewer != rules, rules
    policy.patch(cluster, ROLE, {"rules": fewer})
    try:
        cluster.kubectl(*policy.OURS, "rollout", "restart", policy.CONTROLLER)
        cluster.rollout(policy.CONTROLLER)
        for node in NODES:
            wait_reason(cluster, node, "Unknown", "PolicyUnreadable")
        label(cluster, SECOND, gpu__deploy__mig_manager="true", mig__config="second-cut",
              mig__config__state="failed")
        policy.pause(SOON)  # with a policy it is a drift after 10 s
        notes = [wait_reason(cluster, node, "Unknown", "PolicyUnreadable", timeout=1) for node in NODES]
        assert all("the controller cannot read ClusterPolicies" in note for note in notes), notes
        assert not any(policy.drifts(item) for item in cluster.attributions().values())
        label(cluster, SECOND, gpu__deploy__mig_manager=None, mig__config=None,
              mig__config__state=None)
        with cluster.waiting_for_in_sync():
            start = time.monotonic()
            policy.patch(cluster, ROLE, {"rules": rules})
    finally:
        policy.patch(cluster, ROLE, {"rules": rules})
        label(cluster, SECOND, gpu__deploy__mig_manager=None, mig__config=None,
              mig__config__state=None)
    wait_rest(cluster, "operator")
    assert any(key[0] == tenant for key in cluster.tenants())
    return f"{notes[0]}\nin sync {time.monotonic() - start:.1f} s after it was granted"


@tests.promise
def operand_pods_by_the_hundred_change_nothing(cluster):
    with bad_input(cluster):
        pod = cluster.pod_manifest("x", THIRD)["spec"]
        del pod["containers"][0]["resources"]
        apps = ("nvidia-mig-manager", "nvidia-dcgm", EXPORTER, PLUGIN)
        pods = [{"apiVersion": "v1", "kind": "Pod", "spec": {**pod, "nodeName": THIRD},
                 "metadata": {"name": f"crowd-{number}", "namespace": policy.NAMESPACE,
                              "ownerReferences": owned_by_config_map(cluster),
                              "labels": {"app": apps[number % len(apps)], "test": "crowd"}}}
                for number in range(150)]
        cluster.ctl("stop", f"{THIRD}/kubelet")  # it need not run them
        try:
            cluster.kubectl("create", "-f", "-", stdin=json.dumps(
                {"apiVersion": "v1", "kind": "List", "items": pods}))
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            policy.patch(cluster, ("pod", *(pod["metadata"]["name"] for pod in pods[:75])),
                         {"status": ready}, "--subresource=status", *IN)
            policy.pause(SOON)
            wait_rest(cluster, "operator")
            label(cluster, THIRD, gpu__deploy__dcgm_exporter="false")  # they are counted
            wait_for("ExporterUnexpected, pending", lambda: all(
                "ExporterUnexpected" in pending_of(item) for item in policy.items_of(cluster, THIRD)))
            label(cluster, THIRD, gpu__deploy__dcgm_exporter="true")
            wait_rest(cluster, "operator")
        finally:
            label(cluster, THIRD, gpu__deploy__dcgm_exporter="true")
            cluster.kubectl("delete", "--raw", f"/api/v1/namespaces/{policy.NAMESPACE}/pods?"
                            "labelSelector=test%3Dcrowd&gracePeriodSeconds=0")
            cluster.ctl("start", f"{THIRD}/kubelet")


# --- writes


def writes_since(cluster, since):
    """The names of the objects that were written, by number of writes."""
    found = {}
    for event in cluster.requests_of(CONTROLLER_USER, since, WRITES, "gpuattributions"):
        name = event["objectRef"]["name"]
        found[name] = found.get(name, 0) + 1
    return found


def wait_until_nothing_is_written(cluster):
    """What a kubelet that was started again leads to is over."""
    def is_quiet():
        since = len(cluster.audit())
        policy.pause(SOON)
        return not writes_since(cluster, since)
    wait_for("nothing is written", is_quiet, timeout=10 * SOON)


def all_but_intent(cluster):
    """The statuses by name, without what the policy decides, and without the report."""
    found = {}
    for item in cluster.get("gpuattributions")["items"]:
        status = {key: value for key, value in item["status"].items() if key not in ("intent", "report")}
        status["conditions"] = [c for c in status["conditions"] if c["type"] != "InSync"]
        found[item["metadata"]["name"]] = status
    return found


def writes_by_intent(cluster, since, before):
    """The writes of devices of which nothing else has changed meanwhile: an error that is quiet for ten
    minutes is no reason any more, and that may be now."""
    now = all_but_intent(cluster)
    return {name: n for name, n in writes_since(cluster, since).items() if now.get(name) == before[name]}


@tests.promise
def an_edited_policy_costs_at_most_one_write_a_device_and_one_that_does_not_matter_none(cluster):
    with_operator(cluster)
    for node in NODES:
        label(cluster, node, gpu__deploy__dcgm_exporter=None)
        policy.wait_no_pod(cluster, node, EXPORTER)
    wait_rest(cluster, "operator")
    wait_until_nothing_is_written(cluster)
    try:
        before, since = all_but_intent(cluster), len(cluster.audit())
        patch_policy(cluster, {"dcgmExporter": {"enabled": False}})
        wait_for("it is said", lambda: all(
            "dcgmExporter is off by ClusterPolicy cluster-policy" in message
            for node in NODES for _, _, message in policy.in_sync(cluster, node)), timeout=SOON)
        policy.pause(SOON)
        writes = writes_by_intent(cluster, since, before)
        assert set(writes.values()) == {1} and len(writes) >= len(NODES), writes
        before, since = all_but_intent(cluster), len(cluster.audit())
        patch_policy(cluster, {"toolkit": {"version": "v1.17.4"}})
        edit_config(cluster, "other", sharing("timeSlicing", 7))
        policy.pause(SOON)
        needless = writes_by_intent(cluster, since, before)
        assert not needless, needless
        return f"an edit that is told of on each device: {writes}"
    finally:
        edit_config(cluster, "other", PLAIN)
        patch_policy(cluster, {"dcgmExporter": {"enabled": None}})
        for node in NODES:
            label(cluster, node, gpu__deploy__dcgm_exporter="true")
            policy.wait_ready(cluster, node, EXPORTER)


@tests.promise
def an_edit_that_makes_a_difference_costs_two_writes_a_device_and_its_end_one(cluster):
    with_operator(cluster)
    wait_rest(cluster, "operator")
    wait_until_nothing_is_written(cluster)
    before, since = all_but_intent(cluster), len(cluster.audit())
    patch_policy(cluster, {"devicePlugin": {"config": {"name": "none-such"}}})
    try:
        for node in NODES:
            wait_drift(cluster, node, "ConfigMissing")
        policy.pause(SOON)
        writes = writes_by_intent(cluster, since, before)
        # That it is pending, and that the hold-off is over.
        assert set(writes.values()) == {2} and len(writes) >= len(NODES), writes
    finally:
        since = len(cluster.audit())
        patch_policy(cluster, {"devicePlugin": {"config": {"name": CONFIGS}}})
    wait_rest(cluster, "operator")
    policy.pause(SOON)
    ends = writes_by_intent(cluster, since, before)
    assert set(ends.values()) == {1} and len(ends) == len(writes), ends
    return f"a difference: {writes}; its end: {ends}"


if __name__ == "__main__":
    sys.exit(tests.main("intent", "--", *OPTIONS))
