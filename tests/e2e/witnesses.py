#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others than the agent say of devices: the status of pods, with no agent at all (Kubernetes
1.36 and later), and KAI's reservations, which hold a device for the pods of a group.

usage: witnesses.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which hack/up made with --no-tenants, and leaves it with its agent back in place; with
words it tries only the promises whose sentence contains them.
"""

import contextlib
import os
import sys

from cluster import AGENTS, Cluster, Tests, wait_for

NODE = "node-2"  # exclusive devices
RESERVATIONS = "kai-resource-reservation"
AGENT = "daemonset/gpu-attribution-agent"
# Of an agent: where the kubelet's two books are.
CHECKPOINT, POD_RESOURCES = "GPU_ATTRIBUTION_CHECKPOINT_FILE", "GPU_ATTRIBUTION_POD_RESOURCES_SOCKET"

tests = Tests(clean=Cluster.delete_pods)


def tenant_of(cluster, uid):
    """The object and the tenant of the pod; fails with KeyError while there is none."""
    for item in cluster.attributions().values():
        for tenant in item.get("status", {}).get("tenants", []):
            if tenant["podUID"] == uid:
                return item, tenant
    raise KeyError(uid)


def reasons(cluster, item):
    return {kind: (cluster.condition(item, kind)["status"], cluster.condition(item, kind)["reason"])
            for kind in ("ReportFresh", "Ready", "Attributed", "Healthy", "InSync")}


@tests.promise
def without_an_agent_the_status_of_pods_names_the_tenants_and_says_what_is_missing(cluster):
    manifest = cluster.start_without_agents()
    try:
        uid = cluster.create_pod("agentless", NODE)
        item, tenant = wait_for("a tenant by the pod's status", lambda: tenant_of(cluster, uid))
        assert tenant["witnesses"] == ["PodStatus"], tenant
        assert tenant["confidence"] == "Confirmed", tenant
        assert tenant["container"] == "main" and tenant["slots"] == 1, tenant
        assert item["status"]["nodeName"] == NODE, item
        health, activity = item["status"]["health"], item["status"]["activity"]
        assert (health["state"], health["reasons"]) == ("Unknown", ["NoAgent"]), health
        assert (activity["state"], activity["reason"]) == ("Unknown", "NoAgent"), activity
        found = reasons(cluster, item)
        assert found["Healthy"] == ("Unknown", "NoAgent"), found
        assert found["ReportFresh"] == ("False", "NoAgent"), found
        assert found["Ready"] == ("Unknown", "NoAgent"), found
        assert found["Attributed"] == ("Unknown", "NoAgent"), found
        assert found["InSync"] == ("Unknown", "NoAgent"), found
        table = cluster.kubectl("get", "gpuattributions")
        cluster.kubectl("delete", "pod", "agentless", "--wait=true")
        cluster.wait_gone(uid, timeout=10)
        versions = cluster.versions()
        cluster.create_agents(manifest)
        manifest = None
        new = cluster.create_tenant("agent-came", NODE)
        item, tenant = tenant_of(cluster, new)
        assert {"Checkpoint", "PodResources", "PodStatus"} <= set(tenant["witnesses"]), tenant
        assert reasons(cluster, item)["ReportFresh"] == ("True", "ReportReceived"), item
        assert set(versions) <= set(cluster.attributions()), "an object was replaced"
        return table
    finally:
        if manifest:
            cluster.create_agents(manifest)


@tests.promise
def a_pod_that_comes_while_the_agent_is_away_is_seen_all_the_same(cluster):
    before = cluster.create_tenant("before", NODE)
    manifest = cluster.delete_agents()
    try:
        uid = cluster.create_pod("meanwhile", NODE)
        _, tenant = wait_for("a tenant by the pod's status", lambda: tenant_of(cluster, uid))
        assert tenant["witnesses"] == ["PodStatus"], tenant
        assert tenant_of(cluster, before), "the tenant from before is gone"
    finally:
        cluster.create_agents(manifest)
    wait_for("all witnesses", lambda: len(tenant_of(cluster, uid)[1]["witnesses"]) >= 3)


@contextlib.contextmanager
def unread_books(cluster, *unread):
    """The kubelet tells nothing in the status of pods, and the agent does not find those books."""
    config = os.path.join(cluster.ctl("state", NODE).strip(), "conf", "kubelet.yaml")
    with open(config, encoding="utf-8") as file:
        shipped = file.read()

    def put(text, value):
        with open(config, "w", encoding="utf-8") as file:
            file.write(text)
        cluster.ctl("restart", f"{NODE}/kubelet")
        cluster.kubectl(*AGENTS, "set", "env", AGENT, *(book + value for book in unread))
        cluster.rollout(AGENT)
    try:
        put(f"{shipped}featureGates: {{ResourceHealthStatus: false, "
            "ResourceHealthStatusMessage: false}\n", "=/nonexistent")
        yield
    finally:
        put(shipped, "-")


def wait_witness(cluster, name, witness, confidence):
    """Waits until the pod runs and is a tenant by that witness alone; returns the object. What the
    kubelet refuses while its device plugin is not back is made again."""
    uid = cluster.create_pod(name, NODE)

    def is_shown():
        nonlocal uid
        if cluster.is_refused(name):
            cluster.end_pod(name)
            uid = cluster.create_pod(name, NODE)
        item, tenant = tenant_of(cluster, uid)
        return item if (tenant["phase"], tenant["witnesses"], tenant["confidence"]) == \
            ("Running", [witness], confidence) else None
    return wait_for(f"{name} by {witness}", is_shown)


@tests.promise
def a_list_alone_names_tenants_by_name_and_says_so(cluster):
    with unread_books(cluster, CHECKPOINT):
        item = wait_witness(cluster, "listed", "PodResources", "NameOnly")
        assert item["status"]["slots"]["summary"] == "1/1", item
        found = reasons(cluster, item)
        assert found["Attributed"] == ("True", "AllResolved"), found
        assert found["Ready"] == ("True", "Current"), found
        return cluster.kubectl("get", "gpuattributions", item["metadata"]["name"])


@tests.promise
def a_checkpoint_alone_names_tenants_by_uid(cluster):
    with unread_books(cluster, POD_RESOURCES):
        item = wait_witness(cluster, "booked", "Checkpoint", "Confirmed")
        assert item["status"]["slots"]["allocated"] == 1, item
        return cluster.kubectl("get", "gpuattributions", item["metadata"]["name"])


@tests.promise
def while_no_book_can_be_read_tenants_stay_and_their_devices_say_so(cluster):
    uid = cluster.create_tenant("before", NODE)
    with unread_books(cluster, CHECKPOINT, POD_RESOURCES):
        def is_said():
            item, _ = tenant_of(cluster, uid)
            found = reasons(cluster, item)
            return found["Attributed"] == found["Ready"] == ("Unknown", "SourcesFailed")
        # Before that the kubelet settles, by what was reported last.
        wait_for("a device that says so", is_said, timeout=120)
    wait_for("all resolved", lambda: reasons(cluster, tenant_of(cluster, uid)[0])["Attributed"] ==
             ("True", "AllResolved"), timeout=120)


def label(manifest, group):
    manifest["metadata"]["labels"] = {"runai-gpu-group": group}
    return manifest


def reserve(cluster, group):
    """A reservation as KAI's binder makes it: it asks for a whole GPU, and others share that."""
    cluster.kubectl("create", "namespace", RESERVATIONS, check=False)
    manifest = label(cluster.pod_manifest("reservation", NODE), group)
    manifest["metadata"]["namespace"] = RESERVATIONS
    uid = cluster.create(manifest)
    item, _ = wait_for("the reservation as a tenant", lambda: tenant_of(cluster, uid))
    # Its program finds out which GPU it was given, and writes that on its pod.
    cluster.kubectl("-n", RESERVATIONS, "annotate", "pod", "reservation",
                    f"run.ai/reserve_for_gpu_index={item['spec']['uuid']}")
    return uid, item["metadata"]["name"]


def share(cluster, name, group):
    """A pod of the group: it asks for no GPU."""
    manifest = label(cluster.pod_manifest(name, NODE), group)
    del manifest["spec"]["containers"][0]["resources"]
    return cluster.create(manifest)


def of_pod(item, uid):
    return next((t for t in item["status"].get("tenants", []) if t["podUID"] == uid), None)


@tests.promise
def pods_that_share_a_reserved_gpu_are_its_tenants_and_the_reservation_is_not(cluster):
    try:
        reservation, name = reserve(cluster, "group-1")

        def is_alone():
            item = cluster.attributions()[name]
            return of_pod(item, reservation).get("placeholder") == "KAI" and \
                cluster.condition(item, "Attributed")["reason"] == "Placeholder"
        wait_for("a stand-in for nobody", is_alone)
        sharers = {share(cluster, f"sharer-{n}", "group-1") for n in (1, 2)}
        stranger = share(cluster, "stranger", "group-2")

        def is_shared():
            item = cluster.attributions()[name]
            return item["status"]["tenantCount"] == 2 and \
                all(of_pod(item, uid) and of_pod(item, uid)["phase"] == "Running"
                    for uid in sharers) and item
        item = wait_for("two tenants", is_shared)
        for uid in sharers:
            tenant = of_pod(item, uid)
            assert tenant["witnesses"] == ["KAI"] and tenant["slots"] == 0, tenant
            assert tenant["confidence"] == "Annotated", tenant
        assert of_pod(item, reservation)["role"] == "Reservation", item
        assert not of_pod(item, stranger), item
        assert cluster.condition(item, "Attributed")["status"] == "True", item
        assert item["status"]["slots"]["summary"] == "1/1", item
        # Whoever shares an exclusive GPU takes turns on it.
        assert item["status"]["sharing"]["mode"] == "TimeSliced", item["status"]["sharing"]
        cluster.kubectl("delete", "pod", "sharer-1", "sharer-2", "--wait=true")
        wait_for("a stand-in for nobody", is_alone)
    finally:
        cluster.kubectl("-n", RESERVATIONS, "delete", "pod", "reservation", "--force",
                        "--grace-period=0", check=False)
        cluster.kubectl("delete", "namespace", RESERVATIONS, "--wait=false", check=False)
        wait_for("no tenant of the reservations", lambda: not any(
            tenant.get("podNamespace") == RESERVATIONS
            for item in cluster.attributions().values()
            for tenant in item["status"].get("tenants", [])))


@tests.promise
def a_group_without_a_reservation_makes_nobody_a_tenant(cluster):
    before = cluster.create_tenant("honest", NODE)
    item, _ = tenant_of(cluster, before)
    versions = cluster.versions()
    # In another namespace than KAI's anybody may call a pod a reservation.
    forged = label(cluster.pod_manifest("forged", NODE), "group-3")
    forged["metadata"]["annotations"] = {"run.ai/reserve_for_gpu_index": item["spec"]["uuid"]}
    del forged["spec"]["containers"][0]["resources"]
    uid = cluster.create(forged)
    other = share(cluster, "hopeful", "group-3")
    wait_for("both running", lambda: all(
        cluster.pod(name)["status"]["phase"] == "Running" for name in ("forged", "hopeful")))
    # One that comes later is there: so both have been looked at.
    later, _ = tenant_of(cluster, cluster.create_tenant("later", NODE))
    assert not {uid, other} & {key[0] for key in cluster.tenants()}
    del versions[later["metadata"]["name"]]
    assert versions.items() <= cluster.versions().items(), "something was written"


if __name__ == "__main__":
    sys.exit(tests.main("witnesses", "--no-tenants"))
