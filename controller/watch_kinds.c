/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pods without a node cannot hold a device, and the server spares us their events.
 *
 * Dynamic resource allocation is one witness among several, and many clusters have none of it. If
 * the server has no resource.k8s.io/v1, there is nothing to know. If we may not read it (rules of
 * an older release), everything else goes on, and readiness and metrics say what is missing. The same
 * holds for GPUClusters, and for ClusterPolicies: without these no intent is known.
 */

#include "controller/watch_kinds.h"

#include <assert.h>

#include "base/limits.h"
#include "schema/attribution_doc.h"
#include "schema/node_doc.h"
#include "schema/pod_doc.h"
#include "schema/policy_doc.h"
#include "schema/resource_claim_doc.h"
#include "schema/resource_slice_doc.h"

static int put_pod(struct inventory *inventory, const struct watch_event *event, struct error *err)
{
	struct pod_fields fields;

	if (pod_doc_decode(event->document, &fields, err) < 0)
		return -1;
	return inventory_put_pod(inventory, (struct view){0}, &fields, event->change, event->version, event->now_ms,
				 err);
}

static int put_node(struct inventory *inventory, const struct watch_event *event, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct node node;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (node_doc_decode(event->document, &arena, &node, err) < 0)
		return -1;
	return inventory_put(inventory, INVENTORY_NODES, &node, event->change, event->version, err);
}

static int put_policy(struct inventory *inventory, const struct watch_event *event,
		      struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct policy policy;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (policy_doc_decode(event->document, &arena, &policy, err) < 0)
		return -1;
	return inventory_put(inventory, INVENTORY_POLICIES, &policy, event->change, event->version, err);
}

static int put_gpu_cluster(struct inventory *inventory, const struct watch_event *event,
			   struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct gpu_cluster cluster;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (policy_doc_decode_gpu_cluster(event->document, &arena, &cluster, err) < 0)
		return -1;
	return inventory_put(inventory, INVENTORY_GPU_CLUSTERS, &cluster, event->change, event->version, err);
}

static int put_attribution(struct inventory *inventory, const struct watch_event *event,
			   struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct attribution attribution;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (attribution_doc_decode(event->document, &arena, &attribution, err) < 0)
		return -1;
	return inventory_put_attribution(inventory, &attribution, &arena, event->change,
					 event->version, err);
}

static int put_resource_claim(struct inventory *inventory, const struct watch_event *event,
			      struct error *err)
{
	struct resource_claim_fields fields;

	if (resource_claim_doc_decode(event->document, &fields, err) < 0)
		return -1;
	return inventory_put(inventory, INVENTORY_RESOURCE_CLAIMS, &fields, event->change, event->version, err);
}

static int put_resource_slice(struct inventory *inventory, const struct watch_event *event,
			      struct error *err)
{
	struct resource_slice_fields fields;

	if (resource_slice_doc_decode(event->document, &fields, err) < 0)
		return -1;
	return inventory_put(inventory, INVENTORY_RESOURCE_SLICES, &fields, event->change, event->version, err);
}

static const struct watch_kind kinds[INVENTORY_N_KINDS] = {
	[INVENTORY_PODS] = {
		"pods",
		{"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, "spec.nodeName!="},
		put_pod,
		WATCH_NEEDED,
	},
	[INVENTORY_NODES] = {
		"nodes",
		{"", "v1", "nodes", "Node", RESOURCE_PROTOBUF, NULL},
		put_node,
		WATCH_NEEDED,
	},
	[INVENTORY_POLICIES] = {
		"clusterpolicies",
		{"nvidia.com", "v1", "clusterpolicies", "ClusterPolicy", RESOURCE_JSON, NULL},
		put_policy,
		WATCH_MAY_BE_DENIED,
		"clusterpolicies.nvidia.com",
	},
	[INVENTORY_ATTRIBUTIONS] = {
		"gpuattributions",
		{"gpuattribution.dev", "v1alpha1", "gpuattributions", "GPUAttribution",
		 RESOURCE_JSON, NULL},
		put_attribution,
		WATCH_NEEDED,
	},
	[INVENTORY_RESOURCE_CLAIMS] = {
		"resourceclaims",
		{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", RESOURCE_PROTOBUF,
		 NULL},
		put_resource_claim,
		WATCH_MAY_BE_DENIED,
	},
	[INVENTORY_RESOURCE_SLICES] = {
		"resourceslices",
		{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", RESOURCE_PROTOBUF,
		 NULL},
		put_resource_slice,
		WATCH_MAY_BE_DENIED,
	},
	[INVENTORY_GPU_CLUSTERS] = {
		"gpuclusters",
		{"nvidia.com", "v1alpha1", "gpuclusters", "GPUCluster", RESOURCE_JSON, NULL},
		put_gpu_cluster,
		WATCH_MAY_BE_DENIED,
		"gpuclusters.nvidia.com",
	},
};

const struct watch_kind *watch_kinds_of(enum inventory_kind kind)
{
	assert(kind < INVENTORY_N_KINDS);
	return &kinds[kind];
}
