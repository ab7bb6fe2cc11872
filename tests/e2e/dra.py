#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPUs by dynamic resource allocation: what ResourceClaims and ResourceSlices tell.

usage: dra.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which hack/up made with --no-tenants, and leaves it as it was; with words it tries only
the promises whose sentence contains them.

The API server, the scheduler that allocates the claims, and the controller that takes them back are
real. The driver is a stand-in: its slices describe the simulated GPUs of the node, by their UUIDs.
It has no part on the node, so that its pods are placed and given their devices, and do not start.
"""

import json
import os
import sys

from cluster import AGENTS, Tests, Watch, uids_of, wait_for

NODE = "node-1"
SPACE = "dra-test"  # the pods and claims
NAMESPACE = ("-n", "gpu-attribution")
CONTROLLER, AGENT = "deployment/gpu-attribution-controller", "daemonset/gpu-attribution-agent"
ROLE = ("clusterrole", "gpu-attribution-controller")
DRIVER = "gpu.nvidia.com"
ADMIN = "resource.kubernetes.io/admin-access"  # the label that allows adminAccess
# A device that no agent has seen.
UNSEEN = "GPU-d4a00000-0000-4000-8000-0000000000d4"


def clean(cluster):
    """Takes away whatever a promise made, and waits until the statuses have followed."""
    cluster.kubectl("delete", "pods,resourceclaims", "-n", SPACE, "--all", "--force",
                    "--grace-period=0", "--ignore-not-found")
    cluster.kubectl("delete", "resourceslices", "-l", "gpuattribution.dev/test=dra")
    cluster.kubectl("delete", "deviceclass", DRIVER, "--ignore-not-found")
    cluster.kubectl("delete", "gpuattributions", UNSEEN.lower(), "--ignore-not-found")
    cluster.kubectl("delete", "namespace", SPACE, "--ignore-not-found")
    wait_for("no tenant of " + SPACE, lambda: not any(
        t["podNamespace"] == SPACE for item in cluster.attributions().values()
        for t in item.get("status", {}).get("tenants", [])))


tests = Tests(clean=clean)


def devices_of(cluster):
    """The simulated GPUs of the node: minor and UUID."""
    with open(os.path.join(cluster.ctl("state", NODE).strip(), "gpu", "devices.json"),
              encoding="utf-8") as file:
        return [(device.get("minor", number), device["uuid"])
                for number, device in enumerate(json.load(file)["devices"])]


def device(name, uuid, **more):
    """A device of a slice, as NVIDIA's driver describes it."""
    attributes = {
        "type": {"string": "gpu"}, "uuid": {"string": uuid},
        "productName": {"string": "NVIDIA Stand-In"},
        "cudaComputeCapability": {"version": "9.0.0"}, "driverVersion": {"version": "580.65.6"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "resource.kubernetes.io/pciBusID": {"string": "0000:3b:00.0"},
    }
    attributes.update({key: {"string": value} for key, value in more.items()})
    return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def publish(cluster, devices, name="whole", generation=1, count=1):
    """A slice of the node's pool."""
    cluster.create({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": f"{NODE}-{DRIVER}-{name}", "labels": {"gpuattribution.dev/test": "dra"}},
        "spec": {
            "driver": DRIVER, "nodeName": NODE, "devices": devices,
            "pool": {"name": NODE, "generation": generation, "resourceSliceCount": count},
        },
    })


def whole_devices(cluster):
    return [device(f"gpu-{minor}", uuid) for minor, uuid in devices_of(cluster)]


def prepare(cluster, devices=None):
    """The class, the slice of all simulated GPUs, or of those devices, and a namespace."""
    cluster.create({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
    })
    cluster.create({"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": SPACE, "labels": {ADMIN: "true"}}})
    publish(cluster, devices or whole_devices(cluster))
    # Pods are refused until their namespace has it.
    wait_for("the service account", lambda: cluster.get("serviceaccount", "default", "-n", SPACE))


def create_claim(cluster, name, **exactly):
    cluster.create({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"devices": {"requests": [
            {"name": "gpus", "exactly": {"deviceClassName": DRIVER, **exactly}}]}},
    })


def create_pod(cluster, name, claim):
    """A pod whose container `main` uses the claim; `idle` does not."""
    manifest = cluster.pod_manifest(name, NODE)
    manifest["metadata"]["namespace"] = SPACE
    spec = manifest["spec"]
    spec["resourceClaims"] = [{"name": "mine", "resourceClaimName": claim}]
    spec["containers"][0]["resources"] = {"claims": [{"name": "mine", "request": "gpus"}]}
    spec["containers"].append({**spec["containers"][0], "name": "idle", "resources": {}})
    return cluster.create(manifest)


def delete_at_once(cluster, name):
    cluster.end_pod(name, namespace=SPACE)


def allocation(cluster, claim):
    """The devices that the scheduler gave to the claim."""
    status = cluster.get("resourceclaim", claim, "-n", SPACE)["status"]
    return [result["device"] for result in status["allocation"]["devices"]["results"]]


def tenants_of(cluster, uid):
    """The UUIDs of the devices that list the pod, each with its tenant."""
    return {item["spec"]["uuid"]: tenant for item in cluster.attributions().values()
            for tenant in item.get("status", {}).get("tenants", []) if tenant["podUID"] == uid}


def wait_tenant(cluster, uid, n_devices=1):
    """Where the controller has just started a new tenant waits for NVML's word on the slices, with the
    agent's next heartbeat (60 s)."""
    return wait_for(f"{uid} on {n_devices} devices",
                    lambda: len(found := tenants_of(cluster, uid)) == n_devices and found,
                    timeout=100)


def allocated_uuids(cluster, claim):
    """The UUIDs behind the names that the scheduler chose."""
    names = wait_for("the allocation", lambda: allocation(cluster, claim))
    by_name = {f"gpu-{minor}": uuid for minor, uuid in devices_of(cluster)}
    return {by_name[name] for name in names}


@tests.promise
def the_pod_of_a_claim_is_a_tenant_of_the_device_that_the_scheduler_chose(cluster):
    prepare(cluster)
    create_claim(cluster, "one")
    uid = create_pod(cluster, "train", "one")
    found = wait_tenant(cluster, uid)
    assert set(found) == allocated_uuids(cluster, "one"), found
    (tenant,) = found.values()
    assert tenant["witnesses"] == ["ResourceClaim"], tenant
    assert tenant["confidence"] == "Confirmed", tenant
    assert (tenant["container"], tenant["podNamespace"], tenant["podName"]) == \
        ("main", SPACE, "train"), tenant
    assert tenant["role"] == "Workload", tenant
    table = cluster.kubectl("get", "gpuattributions")
    # The claim is taken back with its pod, and the device is free again.
    delete_at_once(cluster, "train")
    cluster.wait_gone(uid, timeout=10)
    return table


@tests.promise
def two_pods_that_share_a_claim_are_two_tenants(cluster):
    prepare(cluster)
    create_claim(cluster, "shared")
    uids = {create_pod(cluster, name, "shared") for name in ("a", "b")}
    for uid in uids:
        wait_tenant(cluster, uid)
    (uuid,) = allocated_uuids(cluster, "shared")
    item = cluster.attributions()[uuid.lower()]
    assert {t["podUID"] for t in item["status"]["tenants"]} == uids, item
    assert item["status"]["tenantCount"] == 2, item
    # One goes, the other stays.
    delete_at_once(cluster, "a")
    gone = wait_for("one tenant", lambda: next(
        (uid for uid in uids if not tenants_of(cluster, uid)), None))
    assert tenants_of(cluster, (uids - {gone}).pop()), "both are gone"


@tests.promise
def each_device_of_a_claim_lists_its_pod(cluster):
    prepare(cluster)
    create_claim(cluster, "two", allocationMode="ExactCount", count=2)
    uid = create_pod(cluster, "wide", "two")
    found = wait_tenant(cluster, uid, n_devices=2)
    assert set(found) == allocated_uuids(cluster, "two"), found


@tests.promise
def the_pod_of_a_claim_with_admin_access_watches_and_is_not_counted(cluster):
    prepare(cluster)
    create_claim(cluster, "user")
    user = create_pod(cluster, "user", "user")
    (uuid,) = wait_tenant(cluster, user)
    create_claim(cluster, "monitor", adminAccess=True, allocationMode="All")
    monitor = create_pod(cluster, "monitor", "monitor")
    found = wait_tenant(cluster, monitor, n_devices=len(devices_of(cluster)))
    assert all(tenant["role"] == "Monitor" for tenant in found.values()), found
    counts = {item["spec"]["uuid"]: item["status"]["tenantCount"]
              for item in cluster.attributions().values() if item["spec"]["uuid"] in found}
    assert counts == {each: int(each == uuid) for each in found}, counts


@tests.promise
def a_pod_that_comes_back_under_its_name_does_not_inherit_the_claim_of_another(cluster):
    prepare(cluster)
    create_claim(cluster, "one")
    first = create_pod(cluster, "train", "one")
    wait_tenant(cluster, first)
    delete_at_once(cluster, "train")
    second = create_pod(cluster, "train", "one")
    wait_tenant(cluster, second)
    cluster.wait_gone(first, timeout=10)


@tests.promise
def pods_of_claims_that_came_and_went_while_the_controller_was_away_are_shown_as_they_are(cluster):
    prepare(cluster)
    for claim in ("first", "second", "third"):
        create_claim(cluster, claim)
    stays, goes = (create_pod(cluster, name, claim)
                   for name, claim in (("stays", "first"), ("goes", "second")))
    for uid in (stays, goes):
        wait_tenant(cluster, uid)
    with Watch(cluster) as watch:
        try:
            cluster.kubectl(*NAMESPACE, "scale", CONTROLLER, "--replicas=0")
            cluster.kubectl(*NAMESPACE, "wait", "--for=delete", "pod", "--timeout=60s",
                            "-l", "app.kubernetes.io/name=gpu-attribution-controller")
            delete_at_once(cluster, "goes")
            again, came = (create_pod(cluster, name, claim)
                           for name, claim in (("goes", "second"), ("came", "third")))
            passing = create_pod(cluster, "passing", "third")
            wait_for("the allocation", lambda: allocation(cluster, "third"))
            delete_at_once(cluster, "passing")
            assert not tenants_of(cluster, came), "somebody writes meanwhile"
        finally:
            cluster.kubectl(*NAMESPACE, "scale", CONTROLLER, "--replicas=1")
            cluster.rollout(CONTROLLER)
        for uid in (stays, again, came):
            wait_tenant(cluster, uid)
        cluster.wait_gone(goes, timeout=10)
        watch.close()
    watch.assert_never_lost({stays})
    assert all(passing not in uids_of(item) for _, _, item in watch.events)


@tests.promise
def tenants_by_claims_stay_while_agent_kubelet_and_controller_are_restarted(cluster):
    prepare(cluster)
    create_claim(cluster, "one")
    uid = create_pod(cluster, "train", "one")
    wait_tenant(cluster, uid)
    with Watch(cluster) as watch:
        cluster.kubectl(*AGENTS, "delete", "pod", cluster.agent_pod(NODE))
        cluster.rollout(AGENT)
        cluster.ctl("restart", f"{NODE}/kubelet")
        # It takes away the slices of drivers that do not come back, as this one, which is none.
        wait_for("no slices", lambda: not cluster.get("resourceslices")["items"], timeout=90)
        cluster.kubectl(*NAMESPACE, "rollout", "restart", CONTROLLER)
        cluster.rollout(CONTROLLER)
        assert tenants_of(cluster, uid), "gone with the slices"
        # Somebody else comes, whom the new ones have to tell of.
        publish(cluster, whole_devices(cluster))
        create_claim(cluster, "next")
        wait_tenant(cluster, create_pod(cluster, "later", "next"))
        watch.close()
    watch.assert_never_lost({uid})
    assert tenants_of(cluster, uid)


@tests.promise
def while_a_pool_is_written_anew_no_tenant_is_lost(cluster):
    prepare(cluster)
    create_claim(cluster, "one")
    uid = create_pod(cluster, "train", "one")
    before = wait_tenant(cluster, uid)
    # The first of two slices of a second generation: what the pool contains is not known.
    publish(cluster, [device("gpu-77", UNSEEN)], "half", generation=2, count=2)
    create_claim(cluster, "next")
    create_pod(cluster, "waits", "next")  # something else happens on the node meanwhile
    wait_for("the pod to be looked at", lambda: cluster.get("pod", "waits", "-n", SPACE)
             ["status"]["conditions"])
    assert set(tenants_of(cluster, uid)) == set(before)
    assert UNSEEN.lower() not in cluster.attributions()


@tests.promise
def without_the_right_to_read_claims_the_controller_works_and_says_what_it_lacks(cluster):
    rules = cluster.get(*ROLE)["rules"]

    def set_rules(wanted):
        cluster.kubectl("patch", *ROLE, "--type=merge", "-p", json.dumps({"rules": wanted}))
    set_rules([rule for rule in rules if "resource.k8s.io" not in rule["apiGroups"]])
    try:
        cluster.kubectl(*NAMESPACE, "rollout", "restart", CONTROLLER)
        cluster.rollout(CONTROLLER)
        assert cluster.probe("/readyz") == "ok"
        said = [line for line in cluster.probe("/readyz?verbose").splitlines()
                if line.startswith("[+]resource")]
        assert len(said) == 2 and all("may not list resource" in line for line in said), said
        metrics = cluster.metrics()
        for resource in ("resourceclaims", "resourceslices"):
            assert f'gpuattribution_watch_synced{{resource="{resource}"}} 0' in metrics, metrics
        prepare(cluster)
        create_claim(cluster, "one")
        uid = create_pod(cluster, "train", "one")
        wait_for("the allocation", lambda: allocation(cluster, "one"))
        assert not tenants_of(cluster, uid)
    finally:
        set_rules(rules)
    # It looks again by itself; its back-off is 30 s at most.
    wait_tenant(cluster, uid)
    return "\n".join(said)


@tests.promise
def a_device_whose_claim_is_reserved_for_a_pod_group_says_that_its_pods_are_not_known(cluster):
    prepare(cluster)
    create_claim(cluster, "grouped")
    uid = create_pod(cluster, "member", "grouped")
    (uuid,) = wait_tenant(cluster, uid)

    def wait_attributed(status, reason):
        def is_so():
            condition = cluster.condition(cluster.attributions()[uuid.lower()], "Attributed")
            return (condition["status"], condition["reason"]) == (status, reason)
        wait_for(f"Attributed={status} for {reason}", is_so)

    def reserve_for(consumers):
        cluster.kubectl("patch", "resourceclaim", "grouped", "-n", SPACE, "--subresource=status",
                        "--type=merge", "-p", json.dumps({"status": {"reservedFor": consumers}}))
    wait_attributed("True", "AllResolved")
    pods = cluster.get("resourceclaim", "grouped", "-n", SPACE)["status"]["reservedFor"]
    cluster.ctl("stop", "kube-controller-manager")  # it would reserve the claim for the pod again
    try:
        reserve_for([{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group",
                      "uid": "5f1c0000-0000-4000-8000-00000000005f"}])
        wait_attributed("Unknown", "ReservedOtherwise")
        assert not tenants_of(cluster, uid), "nobody said that the pod is of the group"
    finally:
        reserve_for(pods)  # a claim that is reserved is not deleted
        cluster.ctl("start", "kube-controller-manager")
    wait_tenant(cluster, uid)
    wait_attributed("True", "AllResolved")


@tests.promise
def without_an_agent_slices_name_the_devices_and_claims_their_tenants(cluster):
    manifest = cluster.start_without_agents()
    try:
        minors = devices_of(cluster)
        parent = minors[1][1]
        mig = "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
        prepare(cluster, [
            device("gpu-0", minors[0][1]), device("gpu-9", UNSEEN),
            device("gpu-1-mig-1g5gb-19-0", mig, type="mig", parentUUID=parent, profile="1g.5gb")])
        # Idle devices, one of them known by a part of it only.
        expected = {uuid.lower() for uuid in (minors[0][1], UNSEEN, parent)}
        # An object is created first and its status written next; until then it has a default.
        wait_for("a status per device", lambda: expected == {
            name for name, item in cluster.attributions().items() if "nodeName" in item["status"]})
        idle = cluster.attributions()[UNSEEN.lower()]["status"]
        assert idle["nodeName"] == NODE, idle
        assert idle["device"]["model"] == "NVIDIA-Stand-In", idle
        assert idle["device"]["memoryMiB"] == 81920, idle
        create_claim(cluster, "part", selectors=[
            {"cel": {"expression": f"device.attributes['{DRIVER}'].type == 'mig'"}}])
        uid = create_pod(cluster, "on-a-part", "part")
        found = wait_tenant(cluster, uid)
        assert set(found) == {parent}, found
        assert found[parent]["partitions"] == [mig], found
        assert found[parent]["witnesses"] == ["ResourceClaim"], found
        return cluster.kubectl("get", "gpuattributions", "-o", "wide")
    finally:
        cluster.create_agents(manifest)


if __name__ == "__main__":
    sys.exit(tests.main("dra", "--", "--nodes", "1", "--gpus", "3:A100"))
