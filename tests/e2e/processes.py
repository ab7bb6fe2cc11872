#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whose the processes on the GPUs are, on a real kubelet and containerd: from a PID that the driver
lists to the pod in the report, and from there to the status.

usage: processes.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which hack/up made with --no-tenants, and leaves it; with words it tries only the
promises whose sentence contains them. Each promise makes what it needs, so each can be tried alone.

A node of the local cluster is itself a container, so that its PIDs are not the machine's; the
stand-in driver lists the node's. That is why the agent is told --processes=on here.
"""

import difflib
import json
import os
import subprocess
import sys
import time

from cluster import AGENTS, ROOT, Tests, wait_for

AGENT = "daemonset/gpu-attribution-agent"
SAMPLE_SECONDS = 15  # how often the agent looks at rest
# The agent looks, and what contradicts must stand for 10 s (--disagreement-after).
SHOWN_SECONDS = 4 * SAMPLE_SECONDS
# A process that outlives its pod may do so for 30 s (--process-grace) until a report that still has
# it; at rest reports come every 60 s.
OUTLIVED_SECONDS = 150

OVERLAY = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../../manifests/local]
components: [../../../manifests/processes]
patches:
- patch: |
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: gpu-attribution-agent, namespace: gpu-attribution-agents}
    spec:
      template:
        spec:
          containers:
          - name: agent
            env: [{name: GPU_ATTRIBUTION_PROCESSES, value: "on"}]
"""


class Node:
    """The node that is looked at: its devices, its agent and its processes. Unless named, it is the one
    where the controller is not: nobody is sent to a controller on a node whose kubelet has stopped."""

    def __init__(self, cluster, name=None):
        self.cluster = cluster
        taken = cluster.controller_pod()["spec"]["nodeName"]
        self.name = name or ("node-1" if taken == "node-2" else "node-2")
        state = cluster.ctl("state", self.name).strip()
        self.devices_file = os.path.join(state, "gpu", "devices.json")
        self.aside = os.path.join(state, "devices-of-the-test.json")
        with open(self.devices_file, encoding="utf-8") as file:
            self.devices = json.load(file)
        for device in self.devices["devices"]:
            device["processes"] = []
        self.children = []

    def list_processes(self, uuid, *processes):
        """Has the driver list these (PID, MiB) on the device, and no others anywhere."""
        for device in self.devices["devices"]:
            device["processes"] = [
                {"pid": pid, "kind": "Compute", "memoryMiB": mib} for pid, mib in processes
                if device["uuid"].lower() == uuid.lower()]
        with open(self.aside, "w", encoding="utf-8") as file:
            json.dump(self.devices, file)
        self.cluster.ctl("devices", self.name, self.aside)

    def agent_container(self):
        pod = self.cluster.get("pod", self.cluster.agent_pod(self.name), *AGENTS)
        return pod, pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2]

    def report(self, container=None):
        """What the agent would report now: a second one in its container, with its rights. By the
        runtime, for that works without a kubelet, too. `ctr` closes its pipes when the process has
        ended, even if it has not read all of them: then there is less than a report, and another is
        asked for."""
        container = container or self.agent_container()[1]
        return wait_for("a whole report", lambda: json.loads(self.cluster.enter(
            "--node", self.name.partition("-")[2], "ctr", "-n", "k8s.io", "task", "exec", "--exec-id",
            f"report-{time.monotonic_ns()}", container, "/gpu-attribution-agent", "--once",
            "--print", "--log-level=error")), timeout=20)

    def processes(self, uuid, container=None):
        """The processes that the agent reports on a device, by PID."""
        for device in self.report(container)["devices"]:
            if device["uuid"].lower() == uuid.lower():
                return {process["pid"]: process for process in device["processes"]}
        raise KeyError(uuid)

    def run_on_host(self, *command):
        """Starts a process of the node, not of a pod; returns its PID there."""
        child = subprocess.Popen(
            [os.path.join(ROOT, "hack/cluster/enter"), "--name", self.cluster.name, "--node",
             self.name.partition("-")[2], *command], cwd=ROOT)
        self.children.append(child)

        def find():  # nsenter forks, for a PID namespace is entered by children only
            return next((pid for pid in all_pids() if parent_of(pid) == child.pid
                         and name_of(pid) == os.path.basename(command[0])), None)
        return pid_on_node(wait_for(f"{command[0]} on the node", find))

    def clean(self):
        for child in self.children:
            child.terminate()
            child.wait()
        self.list_processes("")


def all_pids():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def field_of(pid, name):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return next(line.split()[1:] for line in file if line.startswith(name + ":"))
    except (OSError, StopIteration):  # it has ended
        return [""]


def parent_of(pid):
    return int(field_of(pid, "PPid")[0] or 0)


def name_of(pid):
    return field_of(pid, "Name")[0]


def pid_on_node(pid):
    """The PID of a process in the namespace of its node: of the machine, the cluster, the node, and
    perhaps a container it is the third."""
    return int(field_of(pid, "NSpid")[2])


def attribution_with(cluster, uid):
    """The GPUAttribution that has this tenant."""
    return next(item for item in cluster.attributions().values()
                if any(t["podUID"] == uid for t in item["status"].get("tenants", [])))


def apply(cluster, folder):
    cluster.kubectl("apply", "-k", folder)
    cluster.rollout(AGENT)
    # Until its pod is the only one and has reported.
    wait_for("the agent's report", lambda: all(
        cluster.condition(item, "ReportFresh")["status"] == "True"
        for item in cluster.attributions().values()))


def grant(cluster):
    """The agents get to see the PIDs of their nodes."""
    folder = os.path.join(ROOT, ".build", "e2e", "processes")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as file:
        file.write(OVERLAY)
    apply(cluster, folder)


def clean(cluster):
    """Ends the host's processes, empties the driver's lists, deletes the pods."""
    node = nodes.pop(cluster.name, None)
    if node:
        cluster.ctl("start", f"{node.name}/kubelet")
        node.clean()
    cluster.delete_pods()


nodes = {}
tests = Tests(clean=clean)


def node_of(cluster):
    return nodes.setdefault(cluster.name, Node(cluster))


def tenant_with_pid(cluster, name):
    """A tenant, of which the driver lists no process. Returns UID, device and PID on the node."""
    uid = cluster.create_tenant(name, node_of(cluster).name)
    device = attribution_with(cluster, uid)["spec"]["uuid"]
    return uid, device, pid_on_node(cluster.pid_of(cluster.pod(name)))


def tenant_with_process(cluster, name, mib):
    """The same, and the driver lists its process on its device."""
    uid, device, pid = tenant_with_pid(cluster, name)
    node_of(cluster).list_processes(device, (pid, mib))
    return uid, device, pid


def status_of(cluster, device):
    return cluster.attributions()[device.lower()]["status"]


# --- what is granted


def kustomize(cluster, folder):
    return cluster.kubectl("kustomize", folder).splitlines()


@tests.promise
def the_component_grants_host_pids_and_nothing_else(cluster):
    folder = os.path.join(ROOT, ".build", "e2e", "component")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as file:
        file.write(OVERLAY.partition("patches:")[0].replace("manifests/local", "manifests/default"))
    changes = [line for line in difflib.ndiff(kustomize(cluster, "manifests/default"),
                                              kustomize(cluster, folder)) if line[0] in "+-"]
    assert changes == ["+       hostPID: true"], changes


# --- what the agent tells


@tests.promise
def without_host_pids_the_source_is_absent_and_says_what_to_grant(cluster):
    apply(cluster, "manifests/local")
    _, device, pid = tenant_with_process(cluster, "unseen", 512)
    report = node_of(cluster).report()
    source = report["sources"]["processes"]
    assert source["state"] == "absent", source
    assert "hostPID: true" in source["message"] and "manifests/processes" in source["message"], source
    process = node_of(cluster).processes(device)[pid]
    assert not {"podUID", "containerID", "command"} & process.keys(), process
    return source["message"]


@tests.promise
def a_tenants_process_is_told_with_its_pod_and_container(cluster):
    grant(cluster)
    uid, device, pid = tenant_with_process(cluster, "trainer", 2048)
    node = node_of(cluster)
    process = wait_for("the process in the report", lambda: node.processes(device).get(pid))
    container = cluster.pod("trainer")["status"]["containerStatuses"][0]["containerID"]
    assert process == {"pid": pid, "kind": "Compute", "memoryMiB": 2048, "podUID": uid,
                       "containerID": container.partition("://")[2], "command": "sh"}, process
    assert node.report()["sources"]["processes"]["state"] == "ok"
    return json.dumps(process)


@tests.promise
def it_takes_no_capability(cluster):
    grant(cluster)
    pod, _ = node_of(cluster).agent_container()
    pid = cluster.pid_of(pod)
    assert pod["spec"]["hostPID"] is True
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(field_of(pid, name)[0], 16) == 0, (name, field_of(pid, name))
    assert field_of(pid, "NoNewPrivs") == ["1"]
    # Processes 1 to 3: machine, cluster, node. A container of its own would be a fourth.
    assert len(field_of(pid, "NSpid")) == 3, field_of(pid, "NSpid")


@tests.promise
def a_process_of_the_host_is_told_with_its_command_and_no_pod(cluster):
    grant(cluster)
    node = node_of(cluster)
    pid = node.run_on_host("sleep", "100000")
    device = node.devices["devices"][0]["uuid"]
    node.list_processes(device, (pid, 64))
    process = node.processes(device)[pid]
    assert process == {"pid": pid, "kind": "Compute", "memoryMiB": 64, "command": "sleep"}, process


@tests.promise
def a_process_that_has_ended_is_told_without_an_owner(cluster):
    grant(cluster)
    node = node_of(cluster)
    device = node.devices["devices"][0]["uuid"]
    node.list_processes(device, (4194303, 64))
    assert node.processes(device) == {
        4194303: {"pid": 4194303, "kind": "Compute", "memoryMiB": 64}}, node.processes(device)
    assert node.report()["sources"]["processes"]["state"] == "ok"


@tests.promise
def a_pod_deleted_by_force_whose_process_lives_on_is_told_with_its_uid(cluster):
    grant(cluster)
    uid, device, pid = tenant_with_process(cluster, "zombie", 1024)
    node = node_of(cluster)
    _, container = node.agent_container()
    # A kubelet that does not answer: nobody ends the process.
    cluster.ctl("stop", f"{node.name}/kubelet")
    cluster.end_pod("zombie")
    cluster.wait_gone(uid)
    process = node.processes(device, container)[pid]
    assert (process["podUID"], process["command"]) == (uid, "sh"), process


@tests.promise
def a_storm_of_processes_is_no_storm_of_reports(cluster):
    grant(cluster)
    node = node_of(cluster)
    device = node.devices["devices"][0]["uuid"]
    start, before, n = time.monotonic(), cluster.reports(), 0
    while time.monotonic() - start < 2 * SAMPLE_SECONDS:
        n += 1
        node.list_processes(device, *((3000000 + 100 * n + i, 64) for i in range(100)))
    seconds = time.monotonic() - start
    reports = cluster.reports() - before
    # Each node looks every 13.5 s or more, and sends a report at most each time; heartbeats every
    # 60 s.
    most = 2 * (int(seconds / (0.9 * SAMPLE_SECONDS)) + 2)
    assert reports <= most, f"{reports} reports in {seconds:.0f} s, for {n} changes"
    return f"{n} changes in {seconds:.0f} s, {reports} reports of two nodes"


# --- what the status says


@tests.promise
def a_tenants_processes_are_a_witness_and_counted(cluster):
    grant(cluster)
    uid, device, _ = tenant_with_process(cluster, "witness", 2048)

    def witnessed():
        tenant = next(t for t in status_of(cluster, device)["tenants"] if t["podUID"] == uid)
        return tenant if "Processes" in tenant["witnesses"] else None
    tenant = wait_for("the witness Processes", witnessed, timeout=SHOWN_SECONDS)
    assert tenant["processes"] == 1 and tenant["memoryMiB"] == 2048, tenant
    assert not status_of(cluster, device).get("unallocatedUsers"), status_of(cluster, device)
    return json.dumps(tenant)


@tests.promise
def a_process_that_outlives_its_pod_is_an_unallocated_user_until_it_ends(cluster):
    grant(cluster)
    uid, device, pid = tenant_with_process(cluster, "outlived", 1024)
    wait_for("the witness Processes", lambda: any(
        "Processes" in t["witnesses"] for t in status_of(cluster, device).get("tenants", [])),
        timeout=SHOWN_SECONDS)
    cluster.ctl("stop", f"{node_of(cluster).name}/kubelet")
    cluster.end_pod("outlived")
    cluster.wait_gone(uid)
    users = wait_for("an unallocated user", lambda: status_of(cluster, device).get(
        "unallocatedUsers"), timeout=OUTLIVED_SECONDS)
    users = [user for user in users if user.get("podUID") == uid]
    assert len(users) == 1 and (users[0]["command"], users[0]["pid"]) == ("sh", pid), users
    assert users[0]["memoryMiB"] == 1024 and users[0]["startTime"], users
    node_of(cluster).list_processes("")
    wait_for("no unallocated user", lambda: not status_of(cluster, device).get("unallocatedUsers"),
             timeout=SHOWN_SECONDS)
    return json.dumps(users)


@tests.promise
def a_process_of_the_host_is_an_unallocated_user_with_its_command(cluster):
    grant(cluster)
    node = node_of(cluster)
    pid = node.run_on_host("sleep", "100000")
    device = node.devices["devices"][0]["uuid"]
    node.list_processes(device, (pid, 64))
    users = wait_for("an unallocated user", lambda: [
        user for user in status_of(cluster, device).get("unallocatedUsers", [])
        if (user["command"], user["pid"]) == ("sleep", pid)], timeout=SHOWN_SECONDS)
    assert len(users) == 1 and "podUID" not in users[0] and users[0]["memoryMiB"] == 64, users
    return json.dumps(users)


@tests.promise
def a_pod_that_uses_a_device_it_was_not_given_is_an_unallocated_user_there(cluster):
    grant(cluster)
    uid, device, pid = tenant_with_pid(cluster, "squatter")
    node = node_of(cluster)
    other = next(d["uuid"] for d in node.devices["devices"] if d["uuid"].lower() != device.lower())
    node.list_processes(other, (pid, 256))
    users = wait_for("an unallocated user", lambda: [
        user for user in status_of(cluster, other).get("unallocatedUsers", [])
        if user.get("podUID") == uid], timeout=SHOWN_SECONDS)
    assert len(users) == 1, users
    assert (users[0]["podNamespace"], users[0]["podName"]) == ("default", "squatter"), users
    assert (users[0]["command"], users[0]["pid"]) == ("sh", pid), users
    tenant = next(t for t in status_of(cluster, device)["tenants"] if t["podUID"] == uid)
    assert "Processes" not in tenant["witnesses"], tenant
    return json.dumps(users)


def debugger_of(cluster, name):
    """Looks into the pod with kubectl debug; returns the PID on the node of what runs there."""
    cluster.kubectl("debug", f"pod/{name}", "--image=localhost/busybox:1", "--profile=general",
                    "--image-pull-policy=Never", "--container=debugger", "--", "/bin/sh", "-c",
                    "sleep 100000 & wait")

    def running():
        statuses = cluster.pod(name)["status"].get("ephemeralContainerStatuses", [])
        return [status for status in statuses if "running" in status["state"]]
    statuses = wait_for("the ephemeral container", running)
    return pid_on_node(cluster.pid_of({"status": {"containerStatuses": statuses}}))


@tests.promise
def a_process_in_an_ephemeral_container_is_an_unallocated_user_and_not_the_tenants(cluster):
    grant(cluster)
    uid, device, pid = tenant_with_process(cluster, "looked-into", 256)
    other = debugger_of(cluster, "looked-into")
    node_of(cluster).list_processes(device, (pid, 256), (other, 128))
    users = wait_for("an unallocated user", lambda: [
        user for user in status_of(cluster, device).get("unallocatedUsers", [])
        if user.get("podUID") == uid], timeout=SHOWN_SECONDS)
    assert len(users) == 1 and users[0]["container"] == "debugger", users
    assert (users[0]["command"], users[0]["pid"]) == ("sh", other) and users[0]["memoryMiB"] == 128, users
    tenant = next(t for t in status_of(cluster, device)["tenants"] if t["podUID"] == uid)
    assert tenant["processes"] == 1 and tenant["memoryMiB"] == 256, tenant
    return json.dumps(users)


if __name__ == "__main__":
    sys.exit(tests.main("proc", "--no-tenants"))
