#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A cluster without our agent: what the status of pods tells of devices (Kubernetes 1.36 and later).

usage: agentless.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which hack/up made with --no-tenants, and leaves it with its agent back in place; with
words it tries only the promises whose sentence contains them.
"""

import os
import sys

from cluster import Cluster, Tests, run, wait_for

NODE = "node-2"  # exclusive devices
NAMESPACE = ("-n", "gpu-attribution")
CONTROLLER, AGENT = "deployment/gpu-attribution-controller", "daemonset/gpu-attribution-agent"

tests = Tests(clean=Cluster.delete_pods)


def tenant_of(cluster, uid):
    """The object and the tenant of the pod; fails with KeyError while there is none."""
    for item in cluster.attributions().values():
        for tenant in item.get("status", {}).get("tenants", []):
            if tenant["podUID"] == uid:
                return item, tenant
    raise KeyError(uid)


def take_agents_away(cluster):
    """No agent, and nothing that one has left behind: the controller starts anew with no objects."""
    manifest = cluster.get(AGENT, *NAMESPACE)
    for key in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        manifest["metadata"].pop(key, None)
    manifest.pop("status", None)
    cluster.kubectl(*NAMESPACE, "delete", AGENT, "--wait=true")
    cluster.kubectl(*NAMESPACE, "scale", CONTROLLER, "--replicas=0")
    wait_for("no controller and no agent", lambda: not cluster.get("pods", *NAMESPACE)["items"])
    cluster.kubectl("delete", "gpuattributions", "--all")
    cluster.kubectl(*NAMESPACE, "set", "env", CONTROLLER, "GPU_ATTRIBUTION_AGENTLESS_AFTER=5s")
    cluster.kubectl(*NAMESPACE, "scale", CONTROLLER, "--replicas=1")
    cluster.rollout(CONTROLLER)
    return manifest


def bring_agents_back(cluster, manifest):
    cluster.create(manifest)
    cluster.rollout(AGENT)


def reasons(cluster, item):
    return {kind: (cluster.condition(item, kind)["status"], cluster.condition(item, kind)["reason"])
            for kind in ("ReportFresh", "Ready", "Attributed", "Healthy")}


@tests.promise
def without_an_agent_the_status_of_pods_names_the_tenants_and_says_what_is_missing(cluster):
    manifest = take_agents_away(cluster)
    try:
        uid = cluster.create_pod("agentless", NODE)
        item, tenant = wait_for("a tenant by the pod's status", lambda: tenant_of(cluster, uid))
        assert tenant["witnesses"] == ["PodStatus"], tenant
        assert tenant["confidence"] == "Confirmed", tenant
        assert tenant["container"] == "main" and tenant["slots"] == 1, tenant
        assert item["status"]["nodeName"] == NODE, item
        assert item["status"]["health"]["state"] == "Unknown", item
        found = reasons(cluster, item)
        assert found["ReportFresh"] == ("False", "NoAgent"), found
        assert found["Ready"] == ("Unknown", "NoAgent"), found
        assert found["Attributed"] == ("Unknown", "NoAgent"), found
        table = cluster.kubectl("get", "gpuattributions")
        cluster.kubectl("delete", "pod", "agentless", "--wait=true")
        cluster.wait_gone(uid, timeout=10)
        versions = cluster.versions()
        bring_agents_back(cluster, manifest)
        manifest = None
        new = cluster.create_tenant("agent-came", NODE)
        item, tenant = tenant_of(cluster, new)
        assert {"Checkpoint", "PodResources", "PodStatus"} <= set(tenant["witnesses"]), tenant
        assert reasons(cluster, item)["ReportFresh"][0] == "True", item
        assert set(versions) <= set(cluster.attributions()), "an object was replaced"
        return table
    finally:
        if manifest:
            bring_agents_back(cluster, manifest)


@tests.promise
def a_pod_that_comes_while_the_agent_is_away_is_seen_all_the_same(cluster):
    manifest = cluster.get(AGENT, *NAMESPACE)
    for key in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        manifest["metadata"].pop(key, None)
    manifest.pop("status", None)
    before = cluster.create_tenant("before", NODE)
    cluster.kubectl(*NAMESPACE, "delete", AGENT, "--wait=true")
    try:
        uid = cluster.create_pod("meanwhile", NODE)
        _, tenant = wait_for("a tenant by the pod's status", lambda: tenant_of(cluster, uid))
        assert tenant["witnesses"] == ["PodStatus"], tenant
        assert tenant_of(cluster, before), "the tenant from before is gone"
    finally:
        bring_agents_back(cluster, manifest)
    wait_for("all witnesses", lambda: len(tenant_of(cluster, uid)[1]["witnesses"]) >= 3)


def main():
    if len(sys.argv) > 1:
        return tests.run(Cluster(sys.argv[1]), " ".join(sys.argv[2:]))
    name = f"e2e-{os.getpid()}"
    try:
        run("hack/up", "--name", name, "--no-tenants", timeout=1800)
        return tests.run(Cluster(name))
    finally:
        run("hack/down", "--name", name)


if __name__ == "__main__":
    sys.exit(main())
