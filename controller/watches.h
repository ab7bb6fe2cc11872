/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watches - which resources the controller follows, and how their objects get from bytes into the
 * inventory. Each resource has a reflector, a decoder and a kind. It also knows whether the
 * inventory is current.
 *
 * The inventory is current while all watches are open that statuses rest on. The watches of
 * GPUAttributions, ClusterPolicies and GPUClusters are not among these. While one of them is away nothing may be
 * written (watches_allow_writes()).
 *
 * That wait ends after WATCHES_WAIT_MS, counted while the API server answers. Then the pods, nodes,
 * claims and slices count as stale (inventory_set_age()), and statuses say so. They count as
 * current again when the watch has been open for WATCHES_STEADY_MS. ClusterPolicies and GPUClusters
 * are stale after WATCHES_INTENT_WAIT_MS only, for they are edited rarely, and by their age each
 * status changes.
 *
 * Threads: the loop's.
 */

#include "base/error.h"
#include "controller/pod_selection.h"
#include "io/loop.h"
#include "kube/apiclient.h"
#include "kube/reflector.h"
#include "model/inventory.h"

struct watches;

struct watches_config {
	enum reflector_initial initial; /* how the first state is read */
	enum pod_selection_policy pod_selection; /* zeroed: the pods of the whole cluster */
	uint32_t pod_selection_threshold;        /* percent of nodes with GPUs; POD_SELECTION_AUTO */
	uint32_t max_pod_nodes; /* with more, the pods of the whole cluster; 0: POD_SELECTION_MAX */
	uint64_t seed;
	/* watches_allow_writes() may have become true, or something be old. NULL: nobody cares. */
	void (*changed)(void *owner);
	void *owner;
};

#define WATCHES_WAIT_MS 10000u
#define WATCHES_INTENT_WAIT_MS 300000u
#define WATCHES_STEADY_MS 2000u

/*
 * Starts following everything. Loop, client and inventory are borrowed and must outlive the
 * watches.
 */
MUST_USE int watches_new(struct loop *loop, struct apiclient *client, struct inventory *inventory,
			 const struct watches_config *config, struct watches **ret_watches,
			 struct error *err);
/* The client must have been freed before: it runs the reflectors. Accepts NULL. */
void watches_free(struct watches *watches);

/*
 * True once every resource has arrived whole, or is known to be out of our reach and not needed; also
 * the ConfigMaps that the ClusterPolicy names.
 */
bool watches_are_synced(const struct watches *watches);
/*
 * True while what the inventory has may be written about: the API server answers, and each watch is
 * open and has caught up, or is no longer waited for. Asked right before each write.
 */
bool watches_allow_writes(const struct watches *watches);

/*
 * The same of what the pods of one node tell, where pods are read by node. False: the node is touched
 * when it is true.
 */
bool watches_allow_node(const struct watches *watches, struct view node_name);

/* Why the API server is not asked for anything but whether it answers; "": it is. Borrowed. */
const char *watches_server_trouble(const struct watches *watches);

/* What one of them does, for readiness and metrics; all borrowed until the next call. */
struct watches_state {
	const char *name;    /* "pods", static */
	const char *trouble; /* "" when all is well */
	bool synced;
	bool followed;       /* its watch is open, or the API server has no such resource */
	bool tolerated;      /* the trouble is a lack that the controller works without */
	struct reflector_counters counters;
};
/* The i-th, i < INVENTORY_N_KINDS. */
struct watches_state watches_state(const struct watches *watches, unsigned i);
/* How pods are read. */
struct watches_pods {
	bool is_by_node;
	size_t n_watches;   /* of nodes */
	uint64_t n_refused; /* nodes whose pods could not be watched; rises only */
};
/* The same, for metrics. */
struct watches_pods watches_pods(const struct watches *watches);
/* The same of the ConfigMaps that the ClusterPolicy names, together. */
struct watches_state watches_configs_state(const struct watches *watches);
