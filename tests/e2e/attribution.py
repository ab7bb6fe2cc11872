#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a pod on a real kubelet to `kubectl get gpuattributions`, on the manifests as shipped.

usage: attribution.py [CLUSTER]     starts the cluster e2e with hack/up and ends it; with a name:
                                    uses that running one, which hack/up made, and leaves it
"""

import base64
import json
import os
import statistics
import subprocess
import sys
import time

from cluster import CONTROLLER_USER, ROOT, WRITES, Cluster, Failed, Tests, Watch, run, wait_for

SLICED, EXCLUSIVE = "node-1", "node-2"
tests = Tests()


def set_controller_args(cluster, **settings):
    """Gives the controller environment settings and waits until it serves with them."""
    pairs = [f"GPU_ATTRIBUTION_{k.upper()}={v}" for k, v in settings.items()]
    cluster.kubectl("-n", "gpu-attribution", "set", "env", "deployment/gpu-attribution-controller",
                    *pairs)
    cluster.rollout("deployment/gpu-attribution-controller")


def all_fresh(cluster):
    return all(cluster.condition(item, "ReportFresh")["status"] == "True"
               for item in cluster.attributions().values())


def devices_of(cluster, node):
    state = cluster.ctl("state", node).strip()
    with open(os.path.join(state, "gpu", "devices.json"), encoding="utf-8") as file:
        return [device["uuid"] for device in json.load(file)["devices"]]


@tests.promise
def every_simulated_device_has_an_object_with_its_mode(cluster):
    expected = {uuid.lower(): mode for node, mode in ((SLICED, "TimeSliced"), (EXCLUSIVE, "Exclusive"))
                for uuid in devices_of(cluster, node)}
    cluster.create_pod("mode-sliced", SLICED)
    cluster.create_pod("mode-exclusive", EXCLUSIVE)
    cluster.wait_tenant("mode-sliced")
    cluster.wait_tenant("mode-exclusive")

    def look():
        found = {name: item["status"]["sharing"]["mode"]
                 for name, item in cluster.attributions().items()}
        return found == expected or Failed(found)
    wait_for("all devices with their modes", lambda: look() is True)
    return cluster.kubectl("get", "gpuattributions")


@tests.promise
def tenants_are_confirmed_by_checkpoint_and_podresources(cluster):
    uid = cluster.uid("mode-exclusive")

    def look():
        for item in cluster.attributions().values():
            for tenant in item["status"].get("tenants", []):
                if tenant["podUID"] == uid:
                    return tenant if tenant["confidence"] == "Confirmed" and \
                        sorted(tenant["witnesses"]) == ["Checkpoint", "PodResources"] and \
                        tenant["phase"] == "Running" else None
        return None
    tenant = wait_for("a confirmed tenant", look)
    assert tenant["podName"] == "mode-exclusive" and tenant["container"] == "main"
    assert tenant["resource"] == "nvidia.com/gpu" and tenant["slots"] == 1
    cluster.delete_pod("mode-sliced")
    cluster.delete_pod("mode-exclusive")


@tests.promise
def a_pod_of_the_same_name_is_shown_under_its_own_uid_and_never_under_the_old_one(cluster):
    cluster.create_pod("again", EXCLUSIVE)
    old = cluster.wait_tenant("again")
    with Watch(cluster) as watch:
        cluster.kubectl("delete", "pod", "again", "--grace-period=0", "--force", "--wait=true")
        cluster.create_pod("again", EXCLUSIVE)
        new = cluster.wait_tenant("again")
        assert new != old
        cluster.wait_gone(old)
        events = watch.close()
    came = min(at for at, _, item in events
               for tenant in item.get("status", {}).get("tenants", []) if tenant["podUID"] == new)
    for at, _, item in events:
        uids = [t["podUID"] for t in item.get("status", {}).get("tenants", [])]
        assert len(uids) == len(set(uids))
        if at > came + 5:
            assert old not in uids, "the old UID came back"
    cluster.delete_pod("again")
    cluster.wait_gone(new)


@tests.promise
def a_pod_is_in_the_status_soon_after_the_kubelet_admitted_it(cluster):
    checkpoint = os.path.join(cluster.ctl("state", EXCLUSIVE).strip(), "kubelet", "device-plugins",
                              "kubelet_internal_checkpoint")
    latencies = []
    with Watch(cluster) as watch:
        for i in range(50):
            name = f"latency-{i}"
            cluster.create_pod(name, EXCLUSIVE)
            uid = cluster.uid(name)
            shown = wait_for(f"{name} in the status", lambda: next(
                (at for at, _, item in reversed(watch.events)
                 for t in item.get("status", {}).get("tenants", []) if t["podUID"] == uid), None))
            # The kubelet writes its checkpoint when it admits the pod.
            admitted = os.stat(checkpoint).st_mtime - time.time() + time.monotonic()
            latencies.append(max(0.0, shown - admitted))
            cluster.delete_pod(name, "--grace-period=0", "--force")
            cluster.wait_gone(uid)
    latencies.sort()
    p50, p99 = statistics.median(latencies), latencies[-1]
    note = f"admitted -> shown, 50 pods: p50 {p50 * 1000:.0f} ms, max {p99 * 1000:.0f} ms"
    assert p50 <= 0.5 and p99 <= 2, note
    return note


@tests.promise
def a_restart_of_the_controller_writes_nothing(cluster):
    cluster.create_pod("steady-sliced", SLICED)
    cluster.create_pod("steady-exclusive", EXCLUSIVE)
    cluster.wait_tenant("steady-sliced")
    cluster.wait_tenant("steady-exclusive")
    wait_for("all running", lambda: all(
        t["phase"] == "Running" for item in cluster.attributions().values()
        for t in item["status"].get("tenants", [])))
    before = {n: i["metadata"]["resourceVersion"] for n, i in cluster.attributions().items()}
    since = len(cluster.audit())
    cluster.kubectl("-n", "gpu-attribution", "rollout", "restart",
                    "deployment/gpu-attribution-controller")
    cluster.rollout("deployment/gpu-attribution-controller")
    reports_wanted = 2

    def reported():
        text = metrics(cluster)
        return sum(int(float(line.split()[-1])) for line in text.splitlines()
                   if line.startswith("gpuattribution_reports_total")
                   and ('"accepted"' in line or '"unchanged"' in line)) >= reports_wanted
    wait_for("reports of both nodes", reported, timeout=120)
    writes = cluster.requests_of(CONTROLLER_USER, since, WRITES, "gpuattributions")
    after = {n: i["metadata"]["resourceVersion"] for n, i in cluster.attributions().items()}
    assert not writes and before == after, f"{len(writes)} writes, {before} {after}"
    return f"{len(after)} objects, {len(writes)} writes"


def controller_pod(cluster):
    pods = cluster.get("pods", "-n", "gpu-attribution", "-l",
                       "app.kubernetes.io/name=gpu-attribution-controller")["items"]
    return next(p for p in pods if not p["metadata"].get("deletionTimestamp"))


def metrics(cluster):
    address = controller_pod(cluster)["status"]["podIP"]
    return cluster.enter("--node", "1", "curl", "-sS", "-m", "5", f"http://{address}:8081/metrics")


@tests.promise
def sixty_heartbeats_write_nothing(cluster):
    set_controller_args(cluster, heartbeat="1s", report_stale_after="6s")
    wait_for("fresh reports", lambda: all_fresh(cluster))

    def heartbeats():
        return sum(int(float(line.split()[-1])) for line in metrics(cluster).splitlines()
                   if line.startswith("gpuattribution_reports_total") and '"unchanged"' in line)
    wait_for("heartbeats at the new pace", lambda: heartbeats() > 6, timeout=180)
    first, since = heartbeats(), len(cluster.audit())
    wait_for("60 heartbeats", lambda: heartbeats() >= first + 60, timeout=120, every=0.5)
    writes = cluster.requests_of(CONTROLLER_USER, since, WRITES, "gpuattributions")
    assert not writes, f"{len(writes)} writes"
    return f"{heartbeats() - first} heartbeats, {len(writes)} writes"


@tests.promise
def a_silent_agent_is_said_and_its_tenants_stay(cluster):
    uid = cluster.uid("steady-exclusive")
    cluster.kubectl("-n", "gpu-attribution", "patch", "daemonset", "gpu-attribution-agent", "-p",
                    '{"spec":{"template":{"spec":{"nodeSelector":{"nobody":"here"}}}}}')

    def silent():
        items = [i for i in cluster.attributions().values() if i["status"]["nodeName"] == EXCLUSIVE]
        return [cluster.condition(i, "ReportFresh") for i in items] if items and all(
            cluster.condition(i, "ReportFresh")["status"] == "False" and
            cluster.condition(i, "Ready")["status"] == "Unknown" for i in items) else None
    conditions = wait_for("ReportFresh=False", silent, timeout=120)
    assert any(k[0] == uid for k in cluster.tenants()), "the tenant is gone"
    cluster.kubectl("-n", "gpu-attribution", "patch", "daemonset", "gpu-attribution-agent",
                    "--type=json", "-p",
                    '[{"op":"remove","path":"/spec/template/spec/nodeSelector/nobody"}]')
    wait_for("ReportFresh=True again", lambda: all_fresh(cluster), timeout=120)
    return f"{conditions[0]['reason']}: {conditions[0]['message']}"


@tests.promise
def a_kubelet_restart_makes_no_tenant_flicker(cluster):
    wanted = {cluster.uid("steady-sliced"), cluster.uid("steady-exclusive")}
    with Watch(cluster) as watch:
        for node in (SLICED, EXCLUSIVE):
            cluster.ctl("restart", f"{node}/kubelet")
        wait_for("nodes are ready", lambda: all(
            c["status"] == "True" for n in cluster.get("nodes")["items"]
            for c in n["status"]["conditions"] if c["type"] == "Ready"))
        cluster.create_pod("after-kubelet", SLICED)
        cluster.wait_tenant("after-kubelet", timeout=120)
        events = watch.close()
    shown = {}
    for _, _, item in events:
        uids = {t["podUID"] for t in item["status"].get("tenants", [])}
        name = item["metadata"]["name"]
        lost = (shown.get(name, set()) & wanted) - uids
        assert not lost, f"{name} lost {lost}"
        shown[name] = uids
    cluster.delete_pod("after-kubelet")
    return f"{len(events)} states seen"


def relists(cluster, since):
    lists = {}
    for event in cluster.requests_of(CONTROLLER_USER, since, ("list",)):
        resource = event["objectRef"]["resource"]
        lists[resource] = lists.get(resource, 0) + (event.get("responseStatus", {}).get("code") == 200)
    return lists


@tests.promise
def an_apiserver_that_is_killed_is_watched_again_without_a_relist_storm(cluster):
    since = len(cluster.audit())
    cluster.ctl("kill", "kube-apiserver")
    cluster.ctl("start", "kube-apiserver")
    wait_for("the API server", lambda: cluster.kubectl("get", "--raw", "/readyz") == "ok")
    cluster.create_pod("after-apiserver", EXCLUSIVE)
    cluster.wait_tenant("after-apiserver", timeout=120)
    lists = relists(cluster, since)
    assert all(n <= 1 for n in lists.values()), lists
    cluster.delete_pod("after-apiserver")
    return f"lists: {lists}"


@tests.promise
def a_compacted_etcd_costs_at_most_one_relist_each(cluster):
    since = len(cluster.audit())
    pods = json.loads(cluster.kubectl("get", "--raw", "/api/v1/pods?limit=1"))
    revision = pods["metadata"]["resourceVersion"]
    cluster.ctl("etcdctl", "compact", revision)
    cluster.ctl("kill", "kube-apiserver")
    cluster.ctl("start", "kube-apiserver")
    wait_for("the API server", lambda: cluster.kubectl("get", "--raw", "/readyz") == "ok")
    cluster.create_pod("after-compact", EXCLUSIVE)
    cluster.wait_tenant("after-compact", timeout=120)
    lists = relists(cluster, since)
    assert all(n <= 1 for n in lists.values()), lists
    cluster.delete_pod("after-compact")
    return f"lists: {lists}"


def agent_token(cluster, node, audience="gpuattribution.dev"):
    return cluster.kubectl(
        "-n", "gpu-attribution", "create", "token", "gpu-attribution-agent", "--audience", audience,
        "--bound-object-kind", "Pod", "--bound-object-name", cluster.agent_pod(node)).strip()


def post(cluster, token, body):
    """Posts from inside the cluster's network; returns the code and the answer."""
    service = cluster.get("service", "gpu-attribution-controller", "-n", "gpu-attribution")
    address = service["spec"]["clusterIP"]
    ca = base64.b64decode(cluster.get("secret", "gpu-attribution-tls", "-n", "gpu-attribution")
                          ["data"]["ca.crt"]).decode()
    name = "gpu-attribution-controller.gpu-attribution.svc"
    script = (f"curl -sS -m 20 --tlsv1.3 --cacert <(printf '%s' \"$CA\") "
              f"--connect-to {name}:8443:{address}:8443 -X POST -H 'Content-Type: application/json' "
              f"${{TOKEN:+-H \"Authorization: Bearer $TOKEN\"}} --data-binary @- "
              f"-w '\\n%{{http_code}}' https://{name}:8443/v1/report")
    done = subprocess.run(
        ["hack/cluster/enter", "--name", cluster.name, "--node", "1", "bash", "-c", script],
        input=body, capture_output=True, text=True, cwd=ROOT, timeout=60,
        env={**os.environ, "CA": ca, "TOKEN": token or ""})
    answer, _, code = done.stdout.rpartition("\n")
    return int(code or 0), answer or done.stderr


def report(node):
    return json.dumps({
        "version": 1, "node": node, "bootID": "00000000-0000-4000-8000-000000000001", "instance": 1,
        "sequence": 1, "observedAt": "2026-01-02T03:04:05Z", "sources": {}, "devices": []})


@tests.promise
def reports_without_the_right_token_are_refused(cluster):
    before = {n: i["metadata"]["resourceVersion"] for n, i in cluster.attributions().items()}
    answers = {
        "token of another node's agent": (403, post(cluster, agent_token(cluster, SLICED), report(EXCLUSIVE))),
        "no token": (401, post(cluster, None, report(EXCLUSIVE))),
        "wrong audience": (401, post(cluster, agent_token(cluster, EXCLUSIVE, "elsewhere"), report(EXCLUSIVE))),
        "2 MiB": (413, post(cluster, agent_token(cluster, EXCLUSIVE), " " * (2 << 20))),
        "not JSON": (400, post(cluster, agent_token(cluster, EXCLUSIVE), "{")),
    }
    note = "\n".join(f"{what}: {code} {text.strip()}" for what, (_, (code, text)) in answers.items())
    assert all(want == code for want, (code, _) in answers.values()), note
    after = {n: i["metadata"]["resourceVersion"] for n, i in cluster.attributions().items()}
    assert before == after
    return note


@tests.promise
def the_agent_may_do_nothing_at_the_api_server(cluster):
    user = "system:serviceaccount:gpu-attribution:gpu-attribution-agent"
    assert not cluster.requests_of(user, 0)
    for verb, resource in (("list", "pods"), ("get", "nodes"), ("get", "secrets"),
                           ("update", "gpuattributions.gpuattribution.dev/status")):
        answer = cluster.kubectl("auth", "can-i", verb, resource, f"--as={user}", check=False)
        assert answer.strip() == "no", f"{verb} {resource}: {answer}"


@tests.promise
def kubectl_explains_the_tenants(cluster):
    text = cluster.kubectl("explain", "gpuattribution.status.tenants")
    assert "DESCRIPTION" in text and "podUID" in text
    table = cluster.kubectl("get", "gpuattr", "-o", "wide")
    assert table.splitlines()[0].split()[:4] == ["NAME", "NODE", "MODEL", "MODE"], table
    return table


@tests.promise
def a_device_that_its_node_no_longer_has_keeps_its_object_and_says_so(cluster):
    state = cluster.ctl("state", EXCLUSIVE).strip()
    path = os.path.join(state, "gpu", "devices.json")
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    fewer = json.loads(whole)
    lost = fewer["devices"].pop()["uuid"].lower()
    less = os.path.join(state, "fewer.json")
    with open(less, "w", encoding="utf-8") as file:
        json.dump(fewer, file)
    cluster.ctl("devices", EXCLUSIVE, less)
    try:
        wait_for("DeviceMissing", lambda: "DeviceMissing" in cluster.attributions()[lost]["status"]
                 ["health"].get("reasons", []), timeout=90)
    finally:
        with open(less, "w", encoding="utf-8") as file:
            file.write(whole)
        cluster.ctl("devices", EXCLUSIVE, less)
    wait_for("the device is back", lambda: "DeviceMissing" not in cluster.attributions()[lost]
             ["status"]["health"].get("reasons", []), timeout=90)


def main():
    if len(sys.argv) > 1:
        return tests.run(Cluster(sys.argv[1]))
    cluster = Cluster("e2e")
    run("hack/down", "--name", "e2e", timeout=120)
    try:
        run("hack/up", "--name", "e2e", "--no-tenants", timeout=3600)
        return tests.run(cluster)
    finally:
        run("hack/down", "--name", "e2e", timeout=120)


if __name__ == "__main__":
    sys.exit(main())
