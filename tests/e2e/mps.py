#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MPS on a real kubelet, device plugin and MPS control daemon, and the experiment of the field:
four tenants on one GPU.

usage: mps.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, made with `hack/up --name NAME -- OPTIONS` (OPTIONS below), and leaves it; with words
it tries only the promises whose sentence contains them. Each promise makes what it needs, so each
can be tried alone.
"""

import functools
import json
import os
import re
import shlex
import subprocess
import sys
import time

import modes
from cluster import (AGENTS, CONTROLLER_USER, ROOT, WITNESSES, WRITES, Cluster, Failed, Tests, Watch,
                     uids_of, wait_for)
from illness import Patient, accused, change_world
from sharing import Sharing

MPS, SLICED = "node-1", "node-2"
OPTIONS = ("--nodes", "2", "--gpus", "1:A100",
           "--plugin-config", f"{MPS}=mps", "--plugin-config", f"{SLICED}=time-slicing")
NAMESPACE = ("-n", "gpu-attribution")
CONTROLLER, AGENT = "deployment/gpu-attribution-controller", "daemonset/gpu-attribution-agent"
DRIVER = "/var/lib/gpu-attribution-standin"
WITH_PIPE = "an allocation response has the MPS pipe"
WITHOUT_PIPE = "an allocation response has no MPS pipe"
EXCLUSIVE_PROCESS = "compute mode is ExclusiveProcess"
DEFAULT = "compute mode is Default"
DEFAULT_CONTRADICTS = "compute mode is Default, which contradicts"
LABEL_CONTRADICTS = "node label gpu.sharing-strategy is {}, which contradicts"
MPS_PROCESS = "an MPS process is on the device"
TELEMETRY_S = 2.5  # counters are brought up to date every other second
ATTRIBUTIONS = "/apis/gpuattribution.dev/v1alpha1/gpuattributions"
REPLICAS, ROUNDS = 4, 100

tests = Tests(clean=lambda cluster: set_back(cluster))


# --- asking often


class Shell:
    """A shell on a node that stays, for what is asked hundreds of times."""
    shells = {}
    addresses = {}

    def __init__(self, cluster, node):
        self.process = subprocess.Popen(
            ["hack/cluster/enter", "--name", cluster.name, "--node", node, "bash"], cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        self.process.stdin.write(f"{command}\nstatus=$?; echo; echo end-of-answer $status\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith("end-of-answer "):
                if line.split()[1] != "0":
                    break
                return "".join(lines)
            lines.append(line)
        raise Failed(f"{command}: {''.join(lines)}")


def on_node(cluster, node, command):
    key = (cluster.name, node)
    if key not in Shell.shells:
        Shell.shells[key] = Shell(cluster, node)
    return Shell.shells[key].run(command)


# --- the device


@functools.cache
def state_of(cluster, node=None):
    return cluster.ctl("state", *([node] if node else [])).strip()


def device_file(cluster, node):
    return os.path.join(state_of(cluster, node), "gpu", "devices.json")


def device_of(cluster, node):
    with open(device_file(cluster, node), encoding="utf-8") as file:
        return json.load(file)["devices"][0]


def change_device(cluster, node, change):
    """Alters the only device of a node."""
    change_world(cluster, node, lambda world: change(world["devices"][0]))


# Asks NVML itself, as any program on the node would.
ASK_NVML = """
import ctypes, json
class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong),
                ("gi", ctypes.c_uint), ("ci", ctypes.c_uint)]
class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]
nvml = ctypes.CDLL("libnvidia-ml.so.1")
device = ctypes.c_void_p()
def ask(name, *args):
    code = getattr(nvml, name)(*args)
    assert code == 0, f"{name}: {code}"
def processes(kind):
    n, found = ctypes.c_uint(64), (Process * 64)()
    ask(f"nvmlDeviceGet{kind}RunningProcesses_v3", device, ctypes.byref(n), found)
    return [[open(f"/proc/{p.pid}/cmdline").read().split(chr(0))[0].rpartition("/")[2], p.pid,
             p.memory >> 20] for p in found[:n.value]]
ask("nvmlInit_v2")
ask("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(device))
mode, used = ctypes.c_int(), Utilization()
ask("nvmlDeviceGetComputeMode", device, ctypes.byref(mode))
ask("nvmlDeviceGetUtilizationRates", device, ctypes.byref(used))
print(json.dumps({"mode": mode.value, "utilization": used.gpu, "MPS": processes("MPSCompute"),
                  "Compute": processes("Compute")}))
"""
NVML_DEFAULT, NVML_EXCLUSIVE_PROCESS = 0, 3


def ask_nvml(cluster, node):
    return json.loads(on_node(
        cluster, node, f"LD_LIBRARY_PATH={DRIVER} FAKE_NVML_FILE={DRIVER}/devices.json "
        f"/usr/bin/python3 -c {shlex.quote(ASK_NVML)}"))


def set_compute_mode(cluster, node, mode):
    on_node(cluster, node, f"{DRIVER}/nvidia-smi -i {device_of(cluster, node)['uuid']} -c {mode}")


# --- the plugin and the daemon


def log_lines(cluster, component, text):
    """How often a component has said that. Before its first start it has no log."""
    path = os.path.join(state_of(cluster, component.partition("/")[0]), "log",
                        component.partition("/")[2] + ".log")
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        return file.read().count(text)


def is_running(cluster, component):
    return any(line.split()[0] == component and line.endswith("running")
               for line in cluster.ctl("list").splitlines())


def mps_is_ready(cluster, node):
    return "ready" in on_node(cluster, node, "ls -A /run/nvidia/mps")


def start_mps(cluster, node):
    on_node(cluster, node, "rm -f /run/nvidia/mps/.ready")  # of one that was killed
    cluster.ctl("start", f"{node}/mps-control-daemon")
    wait_for("the MPS control daemon", lambda: mps_is_ready(cluster, node))


def registrations(cluster, node):
    return log_lines(cluster, f"{node}/device-plugin", "Registered device plugin")


def restart_plugin(cluster, node):
    before = registrations(cluster, node)
    cluster.ctl("restart", f"{node}/device-plugin")
    wait_for("a registration", lambda: registrations(cluster, node) > before)


def config_of(cluster, node):
    path = os.path.join(state_of(cluster, node), "conf", "device-plugin.yaml")
    with open(path, encoding="utf-8") as file:
        return file.read()


def hand_out(cluster, node, config, end_mps="stop"):
    """Gives a node another configuration and what goes with it. end_mps: "kill" leaves behind what
    the daemon would have taken back."""
    cluster.ctl("plugin-config", node, config)
    daemon = f"{node}/mps-control-daemon"
    if config == "mps":
        if not is_running(cluster, daemon):
            start_mps(cluster, node)
    elif is_running(cluster, daemon):
        cluster.ctl(end_mps, daemon)
    restart_plugin(cluster, node)
    n = 1 if config == "exclusive" else REPLICAS
    wait_for(f"{n} units on {node}", lambda: allocatable(cluster, node) == n)


def allocatable(cluster, node):
    return int(cluster.get("node", node)["status"]["allocatable"].get("nvidia.com/gpu", 0))


def set_back(cluster):
    """Deletes what was made and gives each node its configuration, if it has another."""
    cluster.delete_pods()
    for node, config, mode in ((MPS, "mps", "EXCLUSIVE_PROCESS"),
                               (SLICED, "time-slicing", "DEFAULT")):
        cluster.label(node, "nvidia.com/gpu.sharing-strategy-")
        with open(os.path.join("hack/cluster/plugin-config", f"{config}.yaml"),
                  encoding="utf-8") as file:
            is_given = file.read() == config_of(cluster, node)
        if not is_given or is_running(cluster, f"{node}/mps-control-daemon") != (config == "mps"):
            hand_out(cluster, node, config)
        change_device(cluster, node, lambda device: device.pop("errors", None))
        set_compute_mode(cluster, node, mode)


# --- the kubelet


def parts(data):
    """The (number, content) of a protobuf message's fields that hold bytes, in their order."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        length = varint()
        if key & 7 == 2:
            yield key >> 3, data[at:at + length]
            at += length
        elif key & 7:
            raise Failed(f"field {key >> 3} has wire type {key & 7}")


def list_pod_resources(cluster, node):
    """(pod, device IDs) of each container, in the order of the kubelet's List. Read here without
    any code of the product's."""
    answer = bytes.fromhex(on_node(
        cluster, node, "printf '\\0\\0\\0\\0\\0' | curl -sS -m 10 --http2-prior-knowledge "
        "--unix-socket /var/lib/kubelet/pod-resources/kubelet.sock --data-binary @- "
        "-H 'content-type: application/grpc' -H 'te: trailers' "
        "http://localhost/v1.PodResourcesLister/List | xxd -p"))
    for _, pod in parts(answer[5:]):
        fields = list(parts(pod))
        name = b"".join(content for number, content in fields if number == 1).decode()
        for container in (content for number, content in fields if number == 3):
            devices = [content for number, content in parts(container) if number == 2]
            ids = [i.decode() for d in devices for number, i in parts(d) if number == 2]
            if ids:
                yield name, ids


# --- pods and statuses


def client_manifest(name, node, mib):
    """A pod whose program becomes a client of MPS, as CUDA would with its first call."""
    pod = Cluster.pod_manifest(name, node)
    main = pod["spec"]["containers"][0]
    main["command"] = ["/driver/mps-client", str(mib)]
    main["volumeMounts"] = [{"name": "driver", "mountPath": "/driver", "readOnly": True}]
    pod["spec"]["volumes"] = [{"name": "driver", "hostPath": {"path": DRIVER}}]
    return pod


def create_clients(cluster, names, node=MPS):
    """Returns the UIDs when each pod is a settled tenant and connected to the MPS server."""
    uids = {cluster.create(client_manifest(name, node, 2048 * number))
            for number, name in enumerate(names, 1)}

    def are_settled():
        tenants = status_of(cluster, node).get("tenants", [])
        if uids != {t["podUID"] for t in tenants
                    if t["phase"] == "Running" and WITNESSES <= set(t["witnesses"])}:
            phases = {name: cluster.pod(name)["status"] for name in names}
            raise Failed(f"{sorted(uids)}: {tenants}; pods: {phases}")
        return True
    wait_for(f"tenants {names}", are_settled)
    wait_for("clients of MPS", lambda: len(ask_nvml(cluster, node)["MPS"]) == len(names))
    return uids


def status_of(cluster, node):
    keys = os.path.join(state_of(cluster), "pki")
    items = json.loads(on_node(
        cluster, node, f"curl -sS -m 10 --cacert {keys}/ca.crt --cert {keys}/admin.crt --key "
        f"{keys}/admin.key https://172.30.0.1:6443{ATTRIBUTIONS}"))["items"]
    return next(item["status"] for item in items if item.get("status", {}).get("nodeName") == node)


def sharing_of(cluster, node):
    sharing = status_of(cluster, node)["sharing"]
    return sharing["mode"], sorted(sharing.get("evidence", []))


def wait_sharing(cluster, node, mode, *evidence):
    wanted = (mode, sorted(evidence))
    wait_for(f"{wanted} on {node}", lambda: sharing_of(cluster, node) == wanted)
    # It stays so: with the second of these reports the first has been joined.
    pass_by(cluster, node)
    pass_by(cluster, node)
    assert sharing_of(cluster, node) == wanted, sharing_of(cluster, node)
    return f"{node}: {mode} ({'; '.join(evidence)})"


def counted(cluster):
    """Reports taken and nodes reconciled since the controller started."""
    address = Shell.addresses.setdefault(cluster.name, None) or \
        cluster.controller_pod()["status"]["podIP"]
    Shell.addresses[cluster.name] = None  # unless it answers
    text = on_node(cluster, MPS, shlex.join(cluster.metrics_command(address)))
    Shell.addresses[cluster.name] = address
    return (sum(int(n) for n in re.findall(
        r'^gpuattribution_reports_total\{.*"(?:accepted|unchanged)"\} (\d+)', text, re.M)),
        sum(int(n) for n in re.findall(r"^controller_runtime_reconcile_total\{.*\} (\d+)", text,
                                       re.M)))


def pass_by(cluster, node):
    """Another process passes by, to have the node reported and joined once more: real ones of the
    node's, in no pod, in turns. Of three, so that two turns are not back where they began, should
    the agent not have looked between them."""
    pids = [int(pid) for pid in on_node(cluster, node, "".join(
        f"pidof -s {name}; " for name in ("kubelet", "containerd", "kube-proxy"))).split()]
    before = counted(cluster)[0]

    def change(device):
        there = [row["pid"] for row in device["processes"] if row["pid"] in pids]
        turn = (pids.index(there[0]) + 1) % len(pids) if there else 0
        device["processes"] = [{"pid": pids[turn], "kind": "Compute", "memoryMiB": 100}] + [
            row for row in device["processes"] if row["pid"] not in pids]
    change_device(cluster, node, change)
    wait_for("another report", lambda: counted(cluster)[0] > before)


def wait_rest(cluster):
    """Until two more joins write nothing: the last witness of the pods has been heard."""
    def is_at_rest():
        before = cluster.versions()
        pass_by(cluster, MPS)
        pass_by(cluster, MPS)
        return before == cluster.versions()
    wait_for("no more writes", is_at_rest)


def show_processes(cluster, wanted):
    """A node of the local cluster is itself a container, which the agent notices: hence "on"."""
    spec = cluster.get(AGENT, *AGENTS)["spec"]["template"]["spec"]
    if bool(spec.get("hostPID")) == wanted:
        return
    cluster.kubectl(*AGENTS, "patch", AGENT, "-p", json.dumps(
        {"spec": {"template": {"spec": {"hostPID": wanted or None}}}}))
    cluster.kubectl(*AGENTS, "set", "env", AGENT,
                    f"GPU_ATTRIBUTION_PROCESSES{'=on' if wanted else '-'}")
    cluster.rollout(AGENT)


def sample_often(cluster, host_pids=False):
    """The agents look at the device ten times a second, not four times a minute; with the PIDs of
    their nodes (manifests/processes) or, as shipped, without. No device becomes idle meanwhile: that
    is a write."""
    setting = ("GPU_ATTRIBUTION_SAMPLE_INTERVAL", "100ms")
    spec = cluster.get(AGENT, *AGENTS)["spec"]["template"]["spec"]["containers"][0]
    if setting not in {(e["name"], e.get("value")) for e in spec["env"]}:
        cluster.kubectl(*AGENTS, "set", "env", AGENT, "=".join(setting),
                        "GPU_ATTRIBUTION_IDLE_AFTER=24h")
        cluster.rollout(AGENT)
    show_processes(cluster, host_pids)
    wait_for("both devices", lambda: len(cluster.attributions()) == 2)


# --- the mode, by what is on the device


@tests.promise
def before_any_pod_the_device_tells_mps_from_time_slicing_while_each_label_says_the_other(cluster):
    sample_often(cluster)
    key = "nvidia.com/gpu.sharing-strategy"
    cluster.label(MPS, f"{key}=time-slicing")
    cluster.label(SLICED, f"{key}=mps")
    note = (wait_sharing(cluster, MPS, "MPS", EXCLUSIVE_PROCESS,
                         LABEL_CONTRADICTS.format("time-slicing")),
            wait_sharing(cluster, SLICED, "TimeSliced", DEFAULT, LABEL_CONTRADICTS.format("mps")))
    for node in (MPS, SLICED):
        status = status_of(cluster, node)
        assert status["sharing"]["replicas"] == REPLICAS, status
        assert status["slots"]["summary"] == f"0/{REPLICAS}", status
        assert not status.get("tenants"), status
    return "\n".join(note)


@tests.promise
def replicas_are_offered_when_the_mps_daemon_is_ready_and_not_before(cluster):
    plugin, daemon = f"{MPS}/device-plugin", f"{MPS}/mps-control-daemon"
    refusal = "error waiting for MPS daemon"
    cluster.ctl("stop", plugin)
    cluster.ctl("stop", daemon)
    assert ask_nvml(cluster, MPS)["mode"] == NVML_DEFAULT, "the daemon takes back its mode"
    refused = log_lines(cluster, plugin, refusal)
    cluster.ctl("start", plugin)
    wait_for("a plugin that waits", lambda: log_lines(cluster, plugin, refusal) > refused)
    wait_for("nothing on offer", lambda: allocatable(cluster, MPS) == 0)
    start_mps(cluster, MPS)
    assert ask_nvml(cluster, MPS)["mode"] == NVML_EXCLUSIVE_PROCESS
    cluster.ctl("kill", plugin, "HUP")  # otherwise it looks again after half a minute
    wait_for("replicas", lambda: allocatable(cluster, MPS) == REPLICAS)
    return wait_sharing(cluster, MPS, "MPS", EXCLUSIVE_PROCESS)


@tests.promise
def an_mps_tenant_holds_one_slot_and_its_allocation_names_the_pipe(cluster):
    sample_often(cluster)
    uids = create_clients(cluster, ["one", "two"])
    note = wait_sharing(cluster, MPS, "MPS", WITH_PIPE)
    status = status_of(cluster, MPS)
    assert status["sharing"]["replicas"] == REPLICAS, status
    assert status["slots"] == {"total": 4, "allocated": 2, "summary": "2/4"}, status["slots"]
    assert status["tenantCount"] == 2 and {t["podUID"] for t in status["tenants"]} == uids, status
    assert all(t["slots"] == 1 and t["confidence"] == "Confirmed" for t in status["tenants"])
    environment = cluster.kubectl("exec", "one", "--", "env")
    assert "CUDA_MPS_PIPE_DIRECTORY=/mps/nvidia.com/gpu/pipe" in environment, environment
    held = sorted(i for _, ids in list_pod_resources(cluster, MPS) for i in ids)
    uuid = device_of(cluster, MPS)["uuid"]
    assert len(held) == 2 and all(re.fullmatch(uuid + "::[0-3]", i) for i in held), held
    return note


@tests.promise
def pipe_compute_mode_and_processes_each_tell_mps_where_the_others_are_silent(cluster):
    sample_often(cluster)

    def hide_mode(device):
        device["errors"] = {"nvmlDeviceGetComputeMode": 3}
    note = [wait_sharing(cluster, MPS, "MPS", EXCLUSIVE_PROCESS)]
    create_clients(cluster, ["client"])
    note.append(wait_sharing(cluster, MPS, "MPS", WITH_PIPE))
    set_compute_mode(cluster, MPS, "DEFAULT")
    note.append(wait_sharing(cluster, MPS, "MPS", WITH_PIPE, DEFAULT_CONTRADICTS))
    # The tenant goes, a client stays on the device: its process was not in the pod.
    change_device(cluster, MPS, hide_mode)
    on_node(cluster, MPS, "CUDA_MPS_PIPE_DIRECTORY=/run/nvidia/mps/nvidia.com/gpu/pipe "
            f"NVIDIA_VISIBLE_DEVICES={device_of(cluster, MPS)['uuid']} "
            f"setsid {DRIVER}/mps-client 64 </dev/null >/dev/null 2>&1 &")
    try:
        cluster.delete_pods()
        note.append(wait_sharing(cluster, MPS, "MPS", MPS_PROCESS))
    finally:
        change_device(cluster, MPS, lambda device: device.pop("errors", None))
        for _, pid, _ in ask_nvml(cluster, MPS)["MPS"]:
            on_node(cluster, MPS, f"kill {pid}")
    return "\n".join(note)


@tests.promise
def a_restart_of_the_mps_daemon_ends_its_clients_and_no_tenancy(cluster):
    sample_often(cluster)
    uids = create_clients(cluster, ["one", "two"])
    with Watch(cluster) as watch:
        cluster.ctl("stop", f"{MPS}/mps-control-daemon")
        assert not ask_nvml(cluster, MPS)["MPS"]
        pass_by(cluster, MPS)
        start_mps(cluster, MPS)
        note = wait_sharing(cluster, MPS, "MPS", WITH_PIPE)
        watch.close()
    watch.assert_never_lost(uids)
    modes = {item["status"]["sharing"]["mode"] for _, _, item in watch.events
             if item["status"].get("nodeName") == MPS}
    assert modes == {"MPS"}, modes
    assert uids_of({"status": status_of(cluster, MPS)}) == uids
    return f"{note}, in each of {len(watch.events)} states"


@tests.promise
def an_xid_error_under_mps_names_every_tenant_until_what_it_asks_for_is_done(cluster):
    sample_often(cluster)
    names = ["one", "two"]
    create_clients(cluster, names)
    gpu = Patient(cluster, MPS, device_of(cluster, MPS)["uuid"])
    gpu.wait_alone(*names)
    gpu.raise_xid(94)
    event = gpu.wait_event(94)
    assert event["class"] == "Application" and accused(event) == names, event
    gpu.wait_reasons("Healthy")  # an application's error accuses no device
    try:
        gpu.raise_xid(95)
        health = gpu.wait_reasons("Unhealthy", "XID95")
        assert health["recoveryAction"] == "Reset", health
        assert accused(gpu.wait_event(95)) == names, health
        gpu.reset()
        gpu.raise_xid(79)
        health = gpu.wait_reasons("Unhealthy", "XID79")
        assert health["recoveryAction"] == "Reboot", health
        assert accused(gpu.wait_event(79)) == names, health
        gpu.tell(lost=True)
        gpu.wait_reasons("Unhealthy", "XID79", "GPULost")
        assert accused(gpu.wait_event(79)) == names, "the list stays as it was"
    finally:
        gpu.tell(lost=False)
        gpu.wait_reasons("Healthy")
        restart_plugin(cluster, MPS)
    wait_for("its health", lambda: gpu.health()["state"] == "Healthy")
    assert status_of(cluster, MPS)["tenantCount"] == len(names)


@tests.promise
def every_life_of_a_tenant_is_the_same_under_mps(cluster):
    sample_often(cluster)
    sharing = Sharing("mps", "1:A100", shares={"gpu": REPLICAS}, mps=True)
    modes.present[MPS] = sharing  # as set_back() leaves it
    for life in modes.every_life:
        life(cluster, {MPS: (sharing, "nvidia.com/gpu")})
        cluster.delete_pods()
    return "\n".join(life.__name__.replace("_", " ") for life in modes.every_life)


# --- what MPS leaves behind


@tests.promise
def a_compute_mode_that_mps_left_behind_does_not_make_an_exclusive_device_mps(cluster):
    sample_often(cluster)
    hand_out(cluster, MPS, "exclusive", end_mps="kill")
    assert ask_nvml(cluster, MPS)["mode"] == NVML_EXCLUSIVE_PROCESS
    note = [wait_sharing(cluster, MPS, "Exclusive", "device IDs name the whole device")]
    uid = cluster.create_tenant("alone", MPS)
    note.append(wait_sharing(cluster, MPS, "Exclusive", "device IDs name the whole device"))
    status = status_of(cluster, MPS)
    assert uids_of({"status": status}) == {uid} and status["slots"]["summary"] == "1/1", status
    return "\n".join(note)


@tests.promise
def pods_of_mps_that_are_gone_do_not_make_time_slicing_mps(cluster):
    sample_often(cluster)
    create_clients(cluster, ["gone"])
    wait_sharing(cluster, MPS, "MPS", WITH_PIPE)
    cluster.delete_pods()
    hand_out(cluster, MPS, "time-slicing")
    # Until the next allocation the checkpoint has what the pod of MPS was given.
    note = [wait_sharing(cluster, MPS, "TimeSliced", DEFAULT)]
    cluster.create_tenant("sliced", MPS)
    note.append(wait_sharing(cluster, MPS, "TimeSliced", WITHOUT_PIPE))
    return "\n".join(note)


@tests.promise
def allocations_without_pipe_under_ExclusiveProcess_are_unknown_and_both_are_said(cluster):
    sample_often(cluster)
    cluster.create_tenant("sliced", SLICED)
    note = [wait_sharing(cluster, SLICED, "TimeSliced", WITHOUT_PIPE)]
    set_compute_mode(cluster, SLICED, "EXCLUSIVE_PROCESS")
    note.append(wait_sharing(cluster, SLICED, "Unknown", WITHOUT_PIPE, EXCLUSIVE_PROCESS))
    set_compute_mode(cluster, SLICED, "DEFAULT")
    note.append(wait_sharing(cluster, SLICED, "TimeSliced", WITHOUT_PIPE))
    return "\n".join(note)


@tests.promise
def a_pod_of_mps_beside_one_of_time_slicing_is_unknown_and_both_are_said(cluster):
    sample_often(cluster)
    uids = {cluster.create_tenant("of-mps", MPS)}
    hand_out(cluster, MPS, "time-slicing")
    uids.add(cluster.create_tenant("of-time-slicing", MPS))
    note = wait_sharing(cluster, MPS, "Unknown", WITH_PIPE, WITHOUT_PIPE)
    assert uids_of({"status": status_of(cluster, MPS)}) == uids
    return note


# --- the experiment


def credited(pods):
    """A model, not an exporter: to whom a map keyed by device credits it. For each container in the
    order of the List the entry of its device is overwritten; the last one stays."""
    owner = {}
    for pod, ids in pods:
        for device_id in ids:
            owner[device_id.partition("::")[0]] = pod
    return owner


class Tally:
    """Reports and reconciles, over a restart of the controller, whose counters then begin anew."""

    def __init__(self, cluster):
        self.cluster, self.total, self.since = cluster, (0, 0), counted(cluster)

    def take(self):
        """The counter of reconciles is brought up to date every other second. One reconcile may be
        for several reports, so both are read until they have stopped."""
        now, since = counted(self.cluster), time.monotonic()

        def have_stopped():
            nonlocal now, since
            last, now = now, counted(self.cluster)
            if now != last:
                since = time.monotonic()
            return time.monotonic() - since > TELEMETRY_S
        wait_for("reports and reconciles to stop", have_stopped)
        self.total = tuple(t + n - s for t, n, s in zip(self.total, now, self.since))
        self.since = (0, 0)


def disturb(cluster, number, tally):
    """What means nothing for who holds the device: memory and utilisation move, processes are
    listed in another order, a pod is annotated, the agent and the controller are restarted. Only
    since when the new agent hears of errors is written."""
    def change(device):
        device["utilization"]["gpu"] = 30 + 7 * number % 70
        for row in device["processes"]:
            row["memoryMiB"] = row["memoryMiB"] % 4096 + 16
        device["processes"].reverse()
    change_device(cluster, MPS, change)
    if number % 10 == 0:
        cluster.kubectl("annotate", "--overwrite", "pod", f"mps-{'abcd'[number // 10 % 4]}",
                        f"example.com/round={number}")
    if number == ROUNDS // 3:
        cluster.kubectl(*AGENTS, "delete", "pod", cluster.agent_pod(MPS))
        cluster.rollout(AGENT)
    if number == 2 * ROUNDS // 3:
        tally.take()
        cluster.kubectl(*NAMESPACE, "rollout", "restart", CONTROLLER)
        cluster.rollout(CONTROLLER)
        wait_for("reports", lambda: all(counted(cluster)))


def changes(values):
    return sum(a != b for a, b in zip(values, values[1:]))


def check_nvml(cluster, names):
    """NVML has four clients and their server, each with its memory, and one utilisation."""
    said = ask_nvml(cluster, MPS)
    assert len(said["MPS"]) == len(names), said
    servers = [row for row in said["Compute"] if row[0] == "nvidia-cuda-mps-server"]
    assert len(servers) == 1 and all(row in said["Compute"] for row in said["MPS"]), said
    assert said["mode"] == NVML_EXCLUSIVE_PROCESS, said
    return "NVML: " + ", ".join(f"{name}[{pid}] {mib} MiB" for name, pid, mib in
                                said["MPS"] + servers) + "; one utilisation, the device's"


def row(what, theirs, ours):
    return f"{what:<30}{theirs:<24}{ours}"


@tests.promise
def four_mps_tenants_stay_four_over_100_reconciles_where_a_map_keyed_by_device_flips(cluster):
    sample_often(cluster)
    names = [f"mps-{letter}" for letter in "abcd"]
    uids = create_clients(cluster, names)
    wait_sharing(cluster, MPS, "MPS", WITH_PIPE)
    note = [check_nvml(cluster, names)]
    # That it computes at all is a write; how much is none.
    change_device(cluster, MPS, lambda device: device["utilization"].update(gpu=30))
    wait_for("Active", lambda: status_of(cluster, MPS)["activity"]["state"] == "Active")
    wait_rest(cluster)
    uuid = device_of(cluster, MPS)["uuid"]
    before, since = cluster.versions(), len(cluster.audit())
    theirs, ours, scopes, tally = [], [], [], Tally(cluster)
    with Watch(cluster) as watch:
        for number in range(ROUNDS):
            disturb(cluster, number, tally)
            pass_by(cluster, MPS)
            theirs.append(credited(list_pod_resources(cluster, MPS))[uuid])
            status = status_of(cluster, MPS)
            ours.append((status["tenantCount"], tuple(sorted(uids_of({"status": status})))))
            scopes.append(status["activity"]["scope"])
        tally.take()
        states = watch.close()
    reports, reconciles = tally.total
    writes = cluster.requests_of(CONTROLLER_USER, since, WRITES, "gpuattributions")
    explained = cluster.kubectl("explain", "gpuattribution.status.activity")
    note += [
        f"{ROUNDS} rounds on {uuid}: {reports} reports, {reconciles} reconciles",
        row("", "map keyed by device*", "GPUAttribution"),
        row("pods shown on the device", "1", "/".join(sorted({str(n) for n, _ in ours}))),
        row("different answers", str(len(set(theirs))), str(len(set(ours)))),
        row("flips from round to round", str(changes(theirs)), str(changes(ours))),
        row("writes", "-", str(len(writes))),
        row("utilisation of the device", "credited to that pod", f"scope {scopes[0]}, no tenant's"),
        "*a model, fed by this test with the kubelet's List; whom it shows, by round: " + " ".join(
            name.removeprefix("mps-") for name in theirs),
        cluster.kubectl("get", "gpuattributions").rstrip(),
        "explain: " + " ".join(explained.partition("DESCRIPTION:")[2].partition("FIELDS")[0]
                               .split()),
    ]
    note = "\n".join(note)
    assert reports >= ROUNDS and reconciles >= ROUNDS, note
    assert set(ours) == {(4, tuple(sorted(uids)))}, note
    assert set(scopes) == {"Device"} and "utilisation belongs to the device" in note, note
    # One write: the agent that was started anew says since when it hears of errors.
    name = uuid.lower()
    assert [event["objectRef"].get("name") for event in writes] == [name], f"{writes}\n{note}"
    after = cluster.versions()
    assert {n for n in before | after if before.get(n) != after.get(n)} == {name}, note
    assert [change for _, change, _ in states if change != "ADDED"] == ["MODIFIED"], note
    assert not any("tiliz" in key for t in status["tenants"] for key in t), note
    # What makes the experiment one: the same List, read as others read it, does flip.
    assert len(set(theirs)) > 1, note
    return note


# --- the server


def operators_server():
    """A pod as the GPU operator's for MPS, with its server in it; it holds no GPU."""
    pod = client_manifest("nvidia-device-plugin-mps-control-daemon-x7k2p", MPS, 0)
    pod["metadata"]["labels"] = {"app": "nvidia-device-plugin-mps-control-daemon"}
    main = pod["spec"]["containers"][0]
    main["command"] = ["/driver/nvidia-cuda-mps-server"]
    del main["resources"]
    return pod


def wait_users(cluster, *wanted):
    """Waits until these, by the beginnings of their names, are all unallocated users there are."""
    def users():
        found = status_of(cluster, MPS).get("unallocatedUsers", [])
        return [user["command"] for user in found] == list(wanted)
    wait_for(f"unallocated users {wanted}", users)


@tests.promise
def without_host_pids_the_mps_server_is_no_tenant(cluster):
    sample_often(cluster)
    uids = create_clients(cluster, ["one", "two"])
    servers = [row for row in ask_nvml(cluster, MPS)["Compute"] if "mps-server" in row[0]]
    assert len(servers) == 1, servers
    pass_by(cluster, MPS)
    status = status_of(cluster, MPS)
    assert uids_of({"status": status}) == uids and status["tenantCount"] == 2, status
    assert not status.get("unallocatedUsers"), status


def put_on_device(cluster, program, mib):
    """Has the driver list a process of that name on the node, which it does not yet, as one that
    computes."""
    listed = {row["pid"] for row in device_of(cluster, MPS)["processes"]}
    pids = {int(pid) for pid in on_node(cluster, MPS, f"pidof {program}").split()} - listed
    assert len(pids) == 1, (program, pids)
    change_device(cluster, MPS, lambda device: device["processes"].append(
        {"pid": pids.pop(), "kind": "Compute", "memoryMiB": mib}))


@tests.promise
def with_host_pids_the_mps_server_is_neither_tenant_nor_unallocated_user(cluster):
    sample_often(cluster, host_pids=True)
    change_device(cluster, MPS, lambda device: device.update(processes=[]))
    pod = operators_server()
    cluster.create(pod)
    uids = create_clients(cluster, ["one", "two"])
    wait_for("the operator's pod", lambda: cluster.pod(pod["metadata"]["name"])["status"][
        "containerStatuses"][0]["state"]["running"])
    # One server in no pod, by the clients, and one in the operator's; and who really has no slot.
    put_on_device(cluster, "nvidia-cuda-mps-server", 31)
    put_on_device(cluster, "kubelet", 100)
    wait_users(cluster, "kubelet")
    said = ask_nvml(cluster, MPS)["Compute"]
    assert len([name for name, _, _ in said if name == "nvidia-cuda-mps-server"]) == 2, said
    assert len({pid for _, pid, _ in said}) == 5, said
    status = status_of(cluster, MPS)
    assert status["tenantCount"] == 2 and uids_of({"status": status}) == uids, status
    # Each client once, though it is on two of the driver's lists.
    shown = sorted((t["podName"], t["processes"], t["memoryMiB"]) for t in status["tenants"])
    assert shown == [("one", 1, 2048), ("two", 1, 4096)], shown
    assert all("Processes" in t["witnesses"] for t in status["tenants"]), status["tenants"]
    return "\n".join([f"NVML: {said}", f"tenants: {shown}",
                      f"unallocated: {status['unallocatedUsers']}"])


if __name__ == "__main__":
    sys.exit(tests.main("mps", "--", *OPTIONS))
