#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics and alerts on the local cluster: the real Prometheus scrapes the controller as the shipped
PodMonitor says, judges it by the shipped rules, and tells the real Alertmanager.

usage: monitoring.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, made with `hack/up --name NAME -- OPTIONS` (OPTIONS below), and leaves it; with words it
tries only the promises whose sentence contains them.

Prometheus runs on this machine (hack/debs). What it asks goes by a relay into the network of a node, to
wherever the controller's pod is. dcgm-exporter is the stand-in of tests/fake. Alerts wait for a second,
and what looks back an hour looks back seconds: see HURRIED. How long they wait as shipped is the part
of tests/monitoring/alerts_test.yaml.
"""

import atexit
import contextlib
import functools
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import dra
import intent
import policy
import yaml
from cluster import AGENTS, ROOT, Direct, Failed, Tests, wait_for
from illness import an_error_that_needs_a_reboot

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import prometheus  # noqa: E402  (it is in another folder)

SLICED, EXCLUSIVE, PARTED = "node-1", "node-2", "node-3"
OPTIONS = ("--nodes", "3", "--gpus", f"{SLICED}=1:L4", "--plugin-config", f"{SLICED}=time-slicing",
           "--gpus", f"{EXCLUSIVE}=4:A100", "--plugin-config", f"{EXCLUSIVE}=exclusive",
           "--gpus", f"{PARTED}=1:A100:3g.20gb,1g.5gb", "--plugin-config", f"{PARTED}=mig-mixed")
SHARERS = [f"sharer-{number}" for number in range(4)]
NAMESPACE = policy.OURS
CONTROLLER_ENV = {"GPU_ATTRIBUTION_HOLD_OFF_PERCENT": "5", "GPU_ATTRIBUTION_EVENT_IDLE_AFTER": "5s",
                  "GPU_ATTRIBUTION_DISAGREEMENT_AFTER": "2s",
                  "GPU_ATTRIBUTION_HEARTBEAT": "1s", "GPU_ATTRIBUTION_REPORT_STALE_AFTER": "10s"}
AGENT_ENV = {"GPU_ATTRIBUTION_SAMPLE_INTERVAL": "1s", "GPU_ATTRIBUTION_PROCESSES": "on",
             "GPU_ATTRIBUTION_IDLE_AFTER": "5s"}
# What the rules say, and what they say here.
HURRIED = {"> 3600": "> 5", "[1h:5m]": "[3s:1s]", "> 86400": "> 10", "[1d:15m]": "[6s:1s]",
           "> 180": "> 6"}
# What cannot be caused here: more series than the smallest limit of --metrics-max-series, and devices
# that scrapes lack for want of memory, or because the main thread alone hangs. The definition is that of
# the controller, so nothing is refused.
BY_PROMTOOL = {"GPUAttributionTenantsLeftOut", "GPUAttributionDevicesLeftOut", "GPUAttributionWritesRefused"}

tests = Tests(clean=lambda cluster: None)


# --- who scrapes

class Relay:
    """Hands each connection on to the controller's pod, from inside the network of a node."""

    def __init__(self, cluster):
        self.cluster, self.direct = cluster, Direct(cluster)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            try:
                address = self.cluster.controller_pod()["status"]["podIP"]
                with self.direct.connect(8444, 5, address, SLICED) as server:
                    self.carry(client, server)
            except (OSError, Failed):
                pass  # who asked sees that the connection ends

    @staticmethod
    def carry(client, server):
        other = {client: server, server: client}
        while True:
            for ready in select.select(list(other), [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                other[ready].sendall(data)


def scrape_config(cluster, port):
    """As the Prometheus operator makes it of podmonitor.yaml; and the CA."""
    cluster.kubectl("apply", "-f", os.path.join(prometheus.FOLDER, "metrics-reader.yaml"))
    endpoint, = yaml.safe_load(prometheus.read(prometheus.FOLDER, "podmonitor.yaml"))["spec"][
        "podMetricsEndpoints"]

    def secret(what):
        data = cluster.get("secret", what["name"], *AGENTS).get("data", {})
        return subprocess.run(["base64", "-d"], input=data[what["key"]], text=True, check=True,
                              capture_output=True).stdout
    authority = endpoint["tlsConfig"]["ca"]["configMap"]
    token = wait_for("the token", lambda: secret(endpoint["authorization"]["credentials"]))
    return {"job_name": "controller", "scheme": endpoint["scheme"], "metrics_path": endpoint["path"],
            "honor_labels": endpoint["honorLabels"],
            "authorization": {"credentials": token},
            "tls_config": {"server_name": endpoint["tlsConfig"]["serverName"],
                           "ca_file": "ca.crt"},
            "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]
            }, cluster.get("configmap", authority["name"], *AGENTS)["data"][authority["key"]]


def dcgm_exporter(cluster):
    """One for the node whose device is shared; it names one pod of it, now this one, now that one."""
    devices = os.path.join(cluster.ctl("state", SLICED).strip(), "gpu", "devices.json")
    process = subprocess.Popen(  # pylint: disable=consider-using-with
        [os.path.join(ROOT, "tests", "fake", "dcgm-exporter"), devices, "--listen", "127.0.0.1:0",
         "--pods", ",".join(SHARERS)], stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return process.stdout.readline().split("/")[2]


hurried = set()


def hurry(group, rule):
    prometheus.hurry(group, rule)
    if "alert" not in rule:
        return
    rule.update({"for": "1s", "keep_firing_for": "1s"})
    for text, shorter in HURRIED.items():
        if text in rule["expr"]:
            hurried.add(text)
            rule["expr"] = rule["expr"].replace(text, shorter)


@functools.cache
def stack(cluster):
    """A Prometheus and an Alertmanager, for all promises."""
    controller, authority = scrape_config(cluster, Relay(cluster).port)
    exporter = {"job_name": "dcgm-exporter", "static_configs": [{"targets": [dcgm_exporter(cluster)]}]}
    started = prometheus.Stack(edit=hurry, scrapes=[controller, exporter], files={"ca.crt": authority})
    atexit.register(started.end)
    assert hurried == set(HURRIED), hurried
    started.wait("a scrape", lambda: started.ask('up{job="controller"} == 1'))
    return started


# --- the cluster


def set_up(cluster):
    """Short times, and four pods that share the one device of their node."""
    if policy.set_env(cluster, policy.CONTROLLER, CONTROLLER_ENV):
        policy.set_env(cluster, policy.AGENT, AGENT_ENV)
        cluster.kubectl(*AGENTS, "patch", policy.AGENT, "-p",
                        json.dumps({"spec": {"template": {"spec": {"hostPID": True}}}}))
        for workload in (policy.CONTROLLER, policy.AGENT):
            cluster.rollout(workload)
    there = {name for _, name in cluster.tenants()}
    for name in SHARERS:
        if name not in there:
            cluster.create_pod(name, SLICED)
    wait_for("the four that share", lambda: set(SHARERS) <= {n for _, n in cluster.tenants()})


def free(cluster, node):
    """The UUIDs of the node's devices that nobody holds."""
    return [i["spec"]["uuid"] for i in policy.items_of(cluster, node)
            if not i["status"].get("tenants")]


def device_of(cluster, uid):
    return next(i["spec"]["uuid"] for i in cluster.attributions().values()
                if any(t["podUID"] == uid for t in i["status"].get("tenants", [])))


def at_work(cluster, uuid, percent=91):
    """While the shared device is busy."""
    return intent.told_of(cluster, SLICED, uuid, utilization={"gpu": percent, "memory": 0})


# --- promises


def older_format(text):
    """OpenMetrics as promtool reads it: the names of families have the endings of their samples."""
    endings = {name: {"counter": "_total", "info": "_info"}[kind]
               for name, kind in re.findall(r"^# TYPE (\w+) (counter|info)$", text, re.M)}
    lines = []
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] == "#" and words[1] in ("TYPE", "HELP"):
            words[2] += endings.get(words[2], "")
            words[3:] = ["gauge"] if words[3:] == ["info"] else words[3:]
        if words[:2] != ["#", "UNIT"] and words != ["#", "EOF"]:
            lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


@tests.promise
def a_scrape_needs_a_token_and_the_right_and_promtool_finds_nothing_wrong(cluster):
    set_up(cluster)
    address = cluster.controller_pod()["status"]["podIP"]

    def code(*token):
        return cluster.enter("--node", "1", "curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}",
                             *token, f"https://{address}:8444/metrics")
    stranger = cluster.kubectl("create", "token", "default", "-n", "default").strip()
    codes = [code(), code("-H", "Authorization: Bearer nobody"),
             code("-H", f"Authorization: Bearer {stranger}")]
    assert codes == ["401", "401", "403"], codes
    text = cluster.metrics()
    assert "\ngpuattribution_tenant_info{" in text and text.endswith("# EOF\n"), text[-200:]
    done = subprocess.run([os.path.join(prometheus.PROGRAMS, "promtool"), "check", "metrics"],
                          input=older_format(text), text=True, capture_output=True, check=False)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr
    return f"{codes}; {len(text.splitlines())} lines are clean"


@tests.promise
def four_pods_that_share_a_device_are_all_joined_with_its_one_figure(cluster):
    set_up(cluster)
    asked = stack(cluster)
    uuid = device_of(cluster, cluster.uid(SHARERS[0]))
    with at_work(cluster, uuid):
        def joined():
            rows = asked.ask(f'gpuattribution:tenant_device_active:ratio{{uuid="{uuid}"}}')
            seen = sorted((row["metric"]["pod"], row["value"][1]) for row in rows)
            return seen == [(name, "0.91") for name in SHARERS] and seen
        seen = asked.wait("the four", joined)
        alone = asked.ask(f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID="{uuid}"}}')
    assert len(alone) == 1, alone
    return f"dcgm-exporter: {alone[0]['metric']['pod']}; joined: {seen}"


# Each causes what it is named by, and ends it.


@contextlib.contextmanager
def a_claim_of_what_the_plugin_gave(cluster, uuid):
    dra.prepare(cluster, [dra.device("gpu-0", uuid)])
    dra.create_claim(cluster, "one")
    dra.create_pod(cluster, "claimer", "one")
    try:
        yield
    finally:
        dra.clean(cluster)


@contextlib.contextmanager
def a_process_without_a_slot(cluster, uuid):
    with intent.node_process(cluster, EXCLUSIVE) as pid, intent.told_of(
            cluster, EXCLUSIVE, uuid, processes=[{"pid": pid, "kind": "Compute", "memoryMiB": 512}]):
        yield


@contextlib.contextmanager
def a_gpu_off_the_bus(cluster, uuid):
    lost = []

    def drop(world):
        index = next(i for i, d in enumerate(world["devices"]) if d["uuid"] == uuid)
        lost.append((index, world["devices"].pop(index)))
    policy.change_world(cluster, EXCLUSIVE, drop)
    try:
        yield
    finally:
        policy.change_world(cluster, EXCLUSIVE, lambda world: world["devices"].insert(*lost[0]))


@contextlib.contextmanager
def a_refusal_for_want_of_slots(cluster):
    intent.refuse_pod(cluster, EXCLUSIVE)
    try:
        yield
    finally:
        cluster.end_pod("refused")


def one_that_works_beside_an_idle_one(cluster, uuid, pod_uid):
    """Of the MIG devices of one GPU: only those of others than the pod compute."""
    own = next(tenant["partitions"] for item in policy.items_of(cluster, PARTED)
               for tenant in item["status"].get("tenants", []) if tenant["podUID"] == pod_uid)
    device = next(d for d in policy.world_of(cluster, PARTED)["devices"] if d["uuid"] == uuid)
    return intent.told_of(cluster, PARTED, uuid, migDevices=[
        {**d, "graphicsUtilization": 0 if d["uuid"] in own else 60} for d in device["migDevices"]])


def watch_alerts(asked, names, is_there, limit_s):
    """Waits until all of them fire, or none does; returns after how many seconds each did so."""
    start, took = time.monotonic(), {}

    def look():
        firing = asked.firing()
        for name in names:
            if (name in firing) == is_there:
                took.setdefault(name, round(time.monotonic() - start))
            else:
                took.pop(name, None)
        return len(took) == len(names)
    try:
        asked.wait("the alerts", look, limit_s)
    except AssertionError as error:
        missing = sorted(set(names) - set(took))
        raise Failed(f"{'silent' if is_there else 'firing'}: {missing}") from error
    return took


IN_TROUBLE = {"GPUUnhealthyWithTenants", "GPUErrorNeedsAction", "GPUDegradedWithTenants",
              "GPUDriftCritical", "GPUDriftWarning", "GPUSlotsLeaked", "GPUSlotHeldTwice",
              "GPUUnallocatedUse", "GPUHeldIdle", "GPUHeldIdleForADay",
              "GPUPartitionHeldIdle", "GPUPartitionHeldIdleForADay"}
IN_SILENCE = {"GPUReportSilent", "GPUAttributionControllerAway"}


# What is told by Kubernetes Events as well, on which of the devices.
EVENTS = (("shared", "SlotHeldTwice"), ("shared", "GPUIdle"), ("parted", "GPUIdle"), ("spare", "UnallocatedUse"),
          ("weak", "GPUDegraded"), ("weak", "DriftFound"), ("weak", "DriftResolved"), ("weak", "GPURecovered"),
          ("missing", "DriftFound"), ("missing", "DriftResolved"))


def reasons_of(cluster, uuid):
    """Of the Events about a device."""
    return cluster.events_of(0, "gpuattribution", uuid.lower())


@functools.cache
def trouble(cluster):
    """Causes all that alerts tell of a GPU, and ends it. Returns after how many seconds each alert fired,
    and ended; and the UUIDs of the devices."""
    asked = stack(cluster)
    named = {r["alert"] for group in prometheus.groups() for r in group["rules"] if "alert" in r}
    assert named == IN_TROUBLE | IN_SILENCE | BY_PROMTOOL, named
    shared = device_of(cluster, cluster.uid(SHARERS[0]))
    with at_work(cluster, shared):
        watch_alerts(asked, named, False, 30)
    with contextlib.ExitStack() as causes:
        causes.callback(cluster.end_pod, "sick", "weak", "dozer")
        sick, weak = (device_of(cluster, cluster.create_tenant(name, EXCLUSIVE)) for name in ("sick", "weak"))
        dozer = cluster.create_tenant("dozer", PARTED, 1, 0, "nvidia.com/mig-3g.20gb")
        parted = device_of(cluster, dozer)
        spare, missing = free(cluster, EXCLUSIVE)
        for cause in (at_work(cluster, shared, percent=3),
                      an_error_that_needs_a_reboot(cluster, EXCLUSIVE, sick),
                      intent.told_of(cluster, EXCLUSIVE, weak,
                                     ecc={"current": True, "pending": True, "corrected": 0,
                                          "uncorrected": 2}, mig={"current": False, "pending": True}),
                      one_that_works_beside_an_idle_one(cluster, parted, dozer),
                      a_gpu_off_the_bus(cluster, missing),
                      a_process_without_a_slot(cluster, spare),
                      a_claim_of_what_the_plugin_gave(cluster, shared),
                      a_refusal_for_want_of_slots(cluster)):
            causes.enter_context(cause)
        fired = watch_alerts(asked, IN_TROUBLE, True, 60)
        asked.wait("Alertmanager", lambda: IN_TROUBLE <= asked.told("firing"))
        with contextlib.suppress(Failed):  # it looks for idleness each half minute
            wait_for("its Event", lambda: "GPUIdle" in reasons_of(cluster, parted), 60, 1)
    with at_work(cluster, shared):
        ended = watch_alerts(asked, IN_TROUBLE, False, 60)
        asked.wait("Alertmanager", lambda: IN_TROUBLE <= asked.told("resolved"))
    return fired, ended, {"shared": shared, "weak": weak, "spare": spare, "missing": missing,
                          "parted": parted}


@tests.promise
def every_alert_about_a_gpu_fires_by_its_cause_reaches_alertmanager_and_ends_with_it(cluster):
    set_up(cluster)
    fired, ended, devices = trouble(cluster)

    def words(alert_name, whose):
        return next(alert["annotations"]["description"] for status, name, alert in stack(cluster).site.told
                    if (status, name, alert["labels"].get("uuid")) == ("firing", alert_name, devices[whose]))
    named = words("GPUHeldIdle", "shared")
    assert all(f"default/{name}" in named for name in SHARERS), named
    assert words("GPUPartitionHeldIdle", "parted") == "Held by: default/dozer ", devices
    return "\n".join(f"{name}: fired {fired[name]} s after the last cause began, ended {ended[name]} s after all had"
                     for name in sorted(IN_TROUBLE))


@tests.promise
def what_alerts_tell_of_a_gpu_is_told_by_events_on_it_as_well(cluster):
    set_up(cluster)
    *_, devices = trouble(cluster)

    def missing():
        of_objects = {whose: reasons_of(cluster, uuid) for whose, uuid in devices.items()}
        return [(whose, reason) for whose, reason in EVENTS if reason not in of_objects[whose]]
    with contextlib.suppress(Failed):
        wait_for("all of them", lambda: not missing(), 120)  # ten writes a minute about one node
    assert not missing(), missing()
    return cluster.kubectl("events", "--for", f"gpuattribution/{devices['shared'].lower()}")


@contextlib.contextmanager
def stopped_agent(cluster, node):
    pods = cluster.get("pods", *AGENTS, "-l", "app.kubernetes.io/name=gpu-attribution-agent")
    pod = next(p for p in pods["items"] if p["spec"].get("nodeName") == node)
    pid = cluster.pid_of(pod)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@tests.promise
def silence_of_an_agent_and_of_the_controller_is_told_until_it_ends(cluster):
    set_up(cluster)
    asked = stack(cluster)
    silent, away = {"GPUReportSilent"}, {"GPUAttributionControllerAway"}
    with stopped_agent(cluster, EXCLUSIVE):
        took = watch_alerts(asked, silent, True, 30)
    watch_alerts(asked, silent, False, 30)
    cluster.kubectl(*NAMESPACE, "scale", policy.CONTROLLER, "--replicas=0")
    try:
        took.update(watch_alerts(asked, away, True, 45))
    finally:
        cluster.kubectl(*NAMESPACE, "scale", policy.CONTROLLER, "--replicas=1")
    ended = watch_alerts(asked, away, False, 45)
    asked.wait("Alertmanager", lambda: silent | away <= asked.told("resolved"))
    return f"fired after {took}, ended after {ended}"


def main():
    if not prometheus.is_there():
        print("1..1\nnot ok 1 - Prometheus is there\n# run: hack/deps build")
        return 1
    return tests.main("monitoring", "--", *OPTIONS)


if __name__ == "__main__":
    sys.exit(main())
