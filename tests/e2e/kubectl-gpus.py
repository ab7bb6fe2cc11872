#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kubectl gpus` as people type it, by a real kubectl, on a real cluster.

usage: kubectl-gpus.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which hack/up made with --no-tenants, and leaves it; with words it tries only the
promises whose sentence contains them.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from cluster import AGENTS, ROOT, Failed, Tests, run, wait_for
from illness import Patient, agents_with, change_world

SLICED, EXCLUSIVE = "node-1", "node-2"
NAMESPACE = ("-n", "gpu-attribution")
CONTROLLER, AGENT = "deployment/gpu-attribution-controller", "daemonset/gpu-attribution-agent"
BUILD = os.path.join(ROOT, ".build", "release")
FOUND, NOT_FOUND, USAGE, FAILED = 0, 1, 2, 3
SHORT_IDLENESS = {"GPU_ATTRIBUTION_IDLE_AFTER": "20s", "GPU_ATTRIBUTION_SAMPLE_INTERVAL": "100ms"}
ACTION_OF_XID_95 = "drain the GPU and reset it: any program on it may have been hit"


def environment(cluster):
    """In which kubectl finds the plugin, and the plugin kubectl."""
    path = os.pathsep.join((BUILD, os.path.join(ROOT, "src", "kubectl"), os.environ["PATH"]))
    return {**os.environ, **cluster.env, "PATH": path,
            "KUBECTL": os.path.join(ROOT, "hack", "kubectl")}


class Shown:
    """What a command printed."""

    def __init__(self, cluster, *arguments):
        self.command = " ".join(("kubectl gpus", *arguments))
        done = subprocess.run(
            cluster.kubectl_command("gpus", *arguments), capture_output=True, text=True, cwd=ROOT,
            timeout=60, check=False, env=environment(cluster))
        self.status, self.out = done.returncode, done.stdout
        self.err = done.stderr.replace("\n  ", " ")  # a note that goes on in further lines

    def __str__(self):
        return f"$ {self.command}\n{self.out}{self.err}"

    def expect(self, status, out=None, err=None):
        if self.status != status or (out or "") not in self.out or (err or "") not in self.err:
            raise Failed(f"{self}status {self.status}; expected {status}, {out!r}, {err!r}")
        return self

    def rows(self):
        """The table as a list of dicts by header; cells are at least two blanks apart."""
        lines = self.out.splitlines()
        starts = [0] + [i for i in range(2, len(lines[0]))
                        if lines[0][i] != " " and lines[0][i - 2:i] == "  "]
        ends = starts[1:] + [None]
        return [{lines[0][s:e].strip(): line[s:e].strip() for s, e in zip(starts, ends)}
                for line in lines[1:]]


def clean(cluster):
    cluster.delete_pods()


tests = Tests(clean=clean)


@tests.promise
def each_gpu_is_a_line_that_agrees_with_its_object(cluster):
    cluster.create_tenant("lone", EXCLUSIVE)
    Shown(cluster).expect(FOUND, "READY")
    shown = Shown(cluster, "-o", "wide").expect(FOUND)
    objects = {i["spec"]["uuid"]: i["status"] for i in cluster.attributions().values()}
    rows = {row["GPU"]: row for row in shown.rows()}
    if set(rows) != set(objects):
        raise Failed(f"{shown}objects: {sorted(objects)}")
    for uuid, status in objects.items():
        row = rows[uuid]
        expected = (status["nodeName"], str(status["device"]["index"]), status["device"]["model"],
                    status["sharing"]["mode"], status["slots"]["summary"], "Current")
        found = tuple(row[key] for key in ("NODE", "INDEX", "MODEL", "MODE", "SLOTS", "READY"))
        if found != expected:
            raise Failed(f"{found} is not {expected}")
    return shown


@tests.promise
def a_pod_is_shown_with_the_gpu_that_the_kubelet_gave_it(cluster):
    uid = cluster.create_tenant("lone", EXCLUSIVE)
    shown = Shown(cluster, "pod", "lone", "-n", "default", "-o", "wide").expect(FOUND)
    holder = next(i["spec"]["uuid"] for i in cluster.attributions().values()
                  if uid in {t["podUID"] for t in i["status"].get("tenants", [])})
    row, = shown.rows()
    if row["GPU"] != holder or row["SHARED"] != "0" or row["CONFIDENCE"] != "Confirmed":
        raise Failed(f"{shown}expected {holder}")
    return shown


@tests.promise
def why_a_pod_is_on_its_gpu_is_told_by_witness_and_row(cluster):
    uid = cluster.create_tenant("lone", EXCLUSIVE)
    shown = Shown(cluster, "why", "pod/lone", "-n", "default").expect(FOUND, device_of(cluster, uid))
    told = " ".join(shown.out.split())
    for words in ("default/lone, container main, holds 1 slot of nvidia.com/gpu: Confirmed, Running",
                  "said by Checkpoint: the kubelet's own file", "PodResources: the kubelet's List",
                  "decided by by UID (row 10 of src/join/arbitrate.def)"):
        if words not in told:
            raise Failed(f"{shown}it lacks {words!r}")
    Shown(cluster, "why", "pod/nope", "-n", "default").expect(NOT_FOUND, "", "pod/nope: not found")
    return shown


TENANT = ("--as", "jane")


@contextlib.contextmanager
def tenant_of(cluster, namespace):
    """A user who may view that namespace, and nothing of the cluster."""
    name = ("tenant", "-n", namespace)
    cluster.kubectl("create", "rolebinding", *name, "--clusterrole", "view", "--user", "jane")
    try:
        yield
    finally:
        cluster.kubectl("delete", "rolebinding", *name)


@tests.promise
def a_user_of_one_namespace_sees_the_gpus_of_its_pods(cluster):
    uid = cluster.create_tenant("own", EXCLUSIVE)
    cluster.create_tenant("share", SLICED)
    held = {i["spec"]["uuid"] for i in cluster.attributions().values()
            if uid in {t["podUID"] for t in i["status"].get("tenants", [])}}
    with tenant_of(cluster, "default"):
        Shown(cluster, *TENANT).expect(FAILED, None, "gpu-attribution-viewer")
        shown = wait_for("the kubelet's word", lambda: one_where_all_is_known(cluster))
        rows = {row["POD"]: row for row in shown.rows()}
        if {rows["own"]["DEVICE"]} != held or "::" not in rows["share"]["DEVICE"]:
            raise Failed(f"{shown}expected {held}")
        if {row["WITNESS"] for row in rows.values()} != {"PodStatus"}:
            raise Failed(f"{shown}")
        Shown(cluster, "pod", "-n", "kube-system", *TENANT).expect(FAILED, None, "list pods")
    return shown


def one_where_all_is_known(cluster):
    """Or nothing: the kubelet writes into the status a moment after the start."""
    shown = Shown(cluster, "pod", "-n", "default", *TENANT)
    if shown.status != FOUND or "gpu-attribution-viewer" not in shown.err:
        raise Failed(str(shown))
    return shown


@tests.promise
def pods_that_share_a_gpu_are_counted(cluster):
    for name in ("share-a", "share-b", "share-c", "share-d"):
        cluster.create_tenant(name, SLICED)
    shown = Shown(cluster, "pod", "-n", "default", "-o", "wide").expect(FOUND)
    rows = shown.rows()
    if len(rows) != 4:
        raise Failed(str(shown))
    by_gpu = {}
    for row in rows:
        by_gpu.setdefault(row["GPU"], []).append(row)
    for same in by_gpu.values():
        for row in same:
            if int(row["SHARED"]) != len(same) - 1:
                raise Failed(str(shown))
    busiest = max(by_gpu, key=lambda uuid: len(by_gpu[uuid]))
    Shown(cluster, "device", busiest).expect(
        FOUND, f"utilisation belongs to the device, to none of its {len(by_gpu[busiest])} tenants")
    return shown


@tests.promise
def a_pod_without_a_gpu_is_told_why(cluster):
    manifest = cluster.pod_manifest("plain", EXCLUSIVE)
    del manifest["spec"]["containers"][0]["resources"]
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(manifest))
    cluster.create_pod("greedy", EXCLUSIVE, gpus=99)
    wait_for("the scheduler's word", lambda: any(
        c["type"] == "PodScheduled" and c["status"] == "False"
        for c in cluster.pod("greedy")["status"].get("conditions", [])))
    shown = Shown(cluster, "pod", "plain", "greedy", "nope", "-n", "default")
    shown.expect(NOT_FOUND, "", "pod/plain: asks for no GPU")
    shown.expect(NOT_FOUND, "", "pod/greedy: is not scheduled: 0/")
    shown.expect(NOT_FOUND, "", 'pod/nope: not found in namespace "default"')
    return shown


@tests.promise
def a_new_pod_of_an_old_name_is_not_shown_with_the_old_ones_gpu(cluster):
    old = cluster.create_tenant("phoenix", EXCLUSIVE)
    cluster.end_pod("phoenix")
    cluster.wait_gone(old)
    gone = Shown(cluster, "pod", "phoenix", "-n", "default")
    gone.expect(NOT_FOUND, "", f"a pod of that name, UID {old}, was on GPU-")
    new = cluster.create_pod("phoenix", EXCLUSIVE, gpus=99)
    shown = Shown(cluster, "pod", "phoenix", "-n", "default", "-o", "json").expect(NOT_FOUND)
    pods = json.loads(shown.out)
    if pods["pods"][0]["podUID"] != new or pods["items"]:
        raise Failed(str(shown))
    return gone


@tests.promise
def a_node_is_shown_with_who_is_on_it(cluster):
    cluster.create_tenant("lone", EXCLUSIVE)
    shown = Shown(cluster, "node", EXCLUSIVE).expect(FOUND, "default/lone")
    if {row["POD"] for row in shown.rows()} != {"default/lone", "<none>"}:
        raise Failed(str(shown))
    Shown(cluster, "node", "nope").expect(NOT_FOUND, "", "node/nope: not found")
    return shown


@tests.promise
def a_device_is_described_by_the_beginning_of_its_uuid(cluster):
    uid = cluster.create_tenant("lone", EXCLUSIVE)
    uuid = next(row["GPU"] for row in Shown(
        cluster, "pod", "lone", "-n", "default", "-o", "wide").rows())
    shown = Shown(cluster, "device", uuid[:14]).expect(FOUND, f"UUID:            {uuid}")
    shown.expect(FOUND, uid)
    Shown(cluster, "device", "GPU-").expect(USAGE, "", "say more of the UUID")
    return shown


@tests.promise
def names_lead_to_the_objects(cluster):
    cluster.create_tenant("lone", EXCLUSIVE)
    names = Shown(cluster, "pod", "lone", "-n", "default", "-o", "name").expect(FOUND).out.split()
    if len(cluster.kubectl("get", *names, "-o", "name").split()) != 1:
        raise Failed(str(names))


@tests.promise
def the_namespace_is_that_of_the_context(cluster):
    cluster.create_tenant("lone", EXCLUSIVE)
    Shown(cluster, "pod", "lone").expect(FOUND, "Confirmed")
    Shown(cluster, "pod", "lone", "-n", "kube-system").expect(
        NOT_FOUND, "", 'not found in namespace "kube-system"')


@tests.promise
def somebody_without_rights_is_told_which_and_view_has_them(cluster):
    cluster.create_tenant("lone", EXCLUSIVE)
    refused = Shown(cluster, "--as=jane").expect(FAILED, "", "ClusterRole gpu-attribution-viewer")
    pod = ("pod", "lone", "-n", "default")
    cluster.kubectl("create", "clusterrolebinding", "e2e-viewer", "--user=jane",
                    "--clusterrole=gpu-attribution-viewer")
    try:
        wait_for("rights of the viewer", lambda: Shown(cluster, "--as=jane").status == FOUND)
        by_name = Shown(cluster, "--as=jane", *pod).expect(FOUND, "Confirmed", "by its name alone")
        cluster.kubectl("delete", "clusterrolebinding", "e2e-viewer")
        cluster.kubectl("create", "clusterrolebinding", "e2e-viewer", "--user=jane",
                        "--clusterrole=view")

        def is_found_by_uid():
            shown = Shown(cluster, "--as=jane", *pod)
            return shown.status == FOUND and not shown.err
        wait_for("rights of the role view", is_found_by_uid)
    finally:
        cluster.kubectl("delete", "clusterrolebinding", "e2e-viewer")
    return f"{refused}{by_name}"


@tests.promise
def a_watch_shows_a_pod_that_comes_and_that_it_went(cluster):
    with tempfile.NamedTemporaryFile("w") as out, subprocess.Popen(
            cluster.kubectl_command("gpus", "node", EXCLUSIVE, "-w", "--interval=1s"), cwd=ROOT,
            stdout=out, stderr=subprocess.DEVNULL, env=environment(cluster),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as watch:

        def tables():
            with open(out.name, encoding="utf-8") as file:
                return file.read().split("--- ")[1:]
        try:
            wait_for("the first table", lambda: len(tables()) == 1)
            uid = cluster.create_tenant("lone", EXCLUSIVE)
            wait_for("the pod", lambda: "default/lone" in tables()[-1])
            cluster.end_pod("lone")
            cluster.wait_gone(uid)
            wait_for("its end", lambda: "default/lone" not in tables()[-1])
        finally:
            watch.send_signal(signal.SIGINT)
            status = watch.wait(60)
        if status != -signal.SIGINT:
            raise Failed(f"interrupted, it ended with {status}")
        return "--- ".join(["", *tables()])


def device_of(cluster, uid):
    """The UUID of the device that the pod holds."""
    return next(item["spec"]["uuid"] for item in cluster.attributions().values()
                if uid in [t["podUID"] for t in item["status"].get("tenants", [])])


def assert_row(shown, **expected):
    row, = shown.rows()
    found = {key: row[key.replace("_", " ")] for key in expected}
    if found != expected:
        raise Failed(f"{shown}{found} is not {expected}")


@contextlib.contextmanager
def an_error_that_needs_a_reset(cluster, patient):
    """The device raises XID 95. It is reset in the end, and the device plugin, which calls it unhealthy
    for ever, is started anew."""
    patient.raise_xid(95)
    try:
        wait_for("XID95", lambda: patient.health()["reasons"][:1] == ["XID95"])
        yield
    finally:
        patient.reset()
        cluster.ctl("restart", f"{EXCLUSIVE}/device-plugin")
        wait_for("its health", lambda: patient.health()["state"] == "Healthy")


@tests.promise
def a_failing_gpu_is_shown_with_who_was_on_it_and_what_to_do(cluster):
    uid = cluster.create_tenant("lone", EXCLUSIVE)
    Shown(cluster, "failing", "--check").expect(FOUND, "", "No GPU is failing")
    uuid = device_of(cluster, uid)
    patient = Patient(cluster, EXCLUSIVE, uuid)
    patient.wait_alone("lone")
    with an_error_that_needs_a_reset(cluster, patient):
        table = Shown(cluster, "failing").expect(FOUND, uuid[:12])
        headers, first = table.out.splitlines()[:2]
        if not {"SINCE", "ACTION"} <= set(headers.split()) or not re.search(r" \d+s +XID95.* Reset ", first):
            raise Failed(f"{table}")
        shown = Shown(cluster, "failing", "-o", "wide", "--check").expect(NOT_FOUND)
        assert_row(shown, GPU=uuid, NODE=EXCLUSIVE, HEALTH="Unhealthy", ACTION="Reset",
                   ON_IT_WHEN_IT_FAILED="default/lone", ON_IT_NOW="default/lone",
                   WHAT_TO_DO=ACTION_OF_XID_95)
        Shown(cluster, "device", uuid).expect(FOUND, "  Errors:        all are known from 20")
        # That a device fails changes no other question.
        Shown(cluster, "failing", "-l", "no=such").expect(FOUND, "", "No GPUs found")
    Shown(cluster, "failing", "--check").expect(FOUND, "", "No GPU is failing")
    return f"{table}{shown}"


@tests.promise
def an_idle_gpu_is_shown_with_who_holds_it(cluster):
    def rest(world):
        for device in world["devices"]:
            device["utilization"] = {"gpu": 0, "memory": 0}
    change_world(cluster, EXCLUSIVE, rest)
    with agents_with(cluster, SHORT_IDLENESS):
        uid = cluster.create_tenant("lone", EXCLUSIVE)
        uuid = device_of(cluster, uid)
        patient = Patient(cluster, EXCLUSIVE, uuid)
        wait_for("Idle", lambda: patient.status()["activity"]["state"] == "Idle", timeout=90)
        since = patient.status()["activity"]["idleSince"]
        table = Shown(cluster, "idle").expect(FOUND, uuid[:12])
        shown = Shown(cluster, "idle", "-o", "wide", "--check").expect(NOT_FOUND)
        rows = [row for row in shown.rows() if row["GPU"] == uuid]
        if [(row["NODE"], row["HELD BY"], row["EVIDENCE"]) for row in rows] != [
                (EXCLUSIVE, "default/lone", "NVMLUtilization")]:
            raise Failed(f"{shown}")
        items = json.loads(Shown(cluster, "idle", "-o", "json").expect(FOUND).out)["items"]
        its = [item for item in items if uid in [t["podUID"] for t in item["heldBy"]]]
        if [item["since"] for item in its] != [f"{since[:19]}Z"]:
            raise Failed(f"{since}: {json.dumps(items)}")
    return f"{table}{shown}"


@tests.promise
def kubectl_completes_commands_and_names(cluster):
    cluster.create_tenant("lone", EXCLUSIVE)

    def complete(*words):
        return run(*cluster.kubectl_command("__complete", "gpus", *words), env=environment(cluster)).split()
    if not {"pod", "node", "device", "failing", "idle"} <= set(complete("")):
        raise Failed(str(complete("")))
    if "lone" not in complete("pod", "-n", "default", "lo"):
        raise Failed(str(complete("pod", "-n", "default", "lo")))
    if {SLICED, EXCLUSIVE} - set(complete("node", "")):
        raise Failed(str(complete("node", "")))


@tests.promise
def a_silent_node_is_marked_and_keeps_its_tenants(cluster):
    cluster.create_tenant("lone", EXCLUSIVE)
    cluster.kubectl(*NAMESPACE, "set", "env", CONTROLLER,
                    "GPU_ATTRIBUTION_HEARTBEAT=1s", "GPU_ATTRIBUTION_REPORT_STALE_AFTER=10s")
    cluster.rollout(CONTROLLER)
    cluster.kubectl(*AGENTS, "rollout", "restart", AGENT)
    cluster.rollout(AGENT)
    nowhere = '{"spec":{"template":{"spec":{"nodeSelector":{"e2e/nowhere":"true"}}}}}'
    cluster.kubectl(*AGENTS, "patch", AGENT, "--type=merge", "-p", nowhere)
    try:
        wait_for("the marks", lambda: "Stale*" in Shown(cluster, "node", EXCLUSIVE).out)
        shown = Shown(cluster, "node", EXCLUSIVE).expect(FOUND, "default/lone", "* node-2")
        # The kubelet's own word in the pod's status needs no agent.
        cluster.create_pod("late", EXCLUSIVE)
        wait_for("the pod on a GPU", lambda: Shown(
            cluster, "pod", "late", "-n", "default").status == FOUND)
        late = Shown(cluster, "pod", "late", "-n", "default", "-o", "wide")
        late.expect(FOUND, "Stale*", "* node-2")
    finally:
        cluster.kubectl(*AGENTS, "patch", AGENT, "--type=json", "-p",
                        '[{"op":"remove","path":"/spec/template/spec/nodeSelector/e2e~1nowhere"}]')
        cluster.rollout(AGENT)
    wait_for("the end of the marks", lambda: "*" not in Shown(cluster, "node", EXCLUSIVE).out)
    return f"{shown}{late}"


def build():
    run("ninja", "-C", BUILD, "kubectl-gpus", timeout=600)


if __name__ == "__main__":
    sys.exit(tests.main("e2e", "--no-tenants", prepare=build))
