/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * inventory - everything the controller knows of the cluster, by node. Lists, watches and reports
 * keep it up to date.
 *
 * Each change says which node's result it may alter, or none. Changes that the join cannot see (a
 * pod without GPU whose phase changes, a node's heartbeat) alter none.
 *
 * Threads: the loop thread.
 */

#include "base/arena.h"
#include "base/store.h"
#include "intent/policy.h"
#include "model/attribution.h"
#include "model/inventory_node_state.h"
#include "model/node.h"
#include "model/node_state.h"
#include "model/pod.h"
#include "model/resource_claim.h"
#include "model/resource_slice.h"

struct inventory; /* opaque */
struct attribution_set;
struct device_reporters;
struct pod_scope;
struct pod_set;
struct record_set;
struct resource_claim_set;

/* now_ms: monotonic, here and below. Fails with ERROR_NO_MEMORY. */
MUST_USE int inventory_new(uint64_t now_ms, struct inventory **ret_inventory, struct error *err);
/* Accepts NULL. */
void inventory_free(struct inventory *inventory);

/* touch (model/node_state.h) is told from now on, instead of the one before; NULL: nobody is. */
void inventory_on_touch(struct inventory *inventory, node_state_touch_fn touch, void *owner);
/* The same of boot. */
void inventory_on_boot(struct inventory *inventory, node_state_boot_fn boot, void *owner);

/*
 * changed (model/attribution_set.h) is told of GPUAttributions from now on, beside others; there may be
 * ATTRIBUTION_SET_LISTENERS.
 */
void inventory_on_attribution(
	struct inventory *inventory,
	void (*changed)(void *owner, const struct attribution *before, const struct attribution *now), void *owner);
/* That owner is told no more; also one that never was. */
void inventory_off_attribution(struct inventory *inventory, const void *owner);
/* expected is asked of each GPUAttribution that changes. True: its node, of that name, is not touched for it. */
void inventory_expect_attributions(
	struct inventory *inventory,
	bool (*expected)(void *owner, struct view node_name, const struct attribution *object), void *owner);

/* A complete state of one kind begins to arrive. */
void inventory_begin_replace(struct inventory *inventory, enum inventory_kind kind);
/*
 * It has arrived whole, as of that version (0: not known): what it did not contain is gone. The kind is
 * synced from now on.
 */
void inventory_end_list(struct inventory *inventory, enum inventory_kind kind, uint64_t version,
			uint64_t now_ms);
/* True once the first complete state of this kind has arrived (or the kind is known absent). */
bool inventory_is_synced(const struct inventory *inventory, enum inventory_kind kind);
/* The kind does not exist on this server (its CRD is not installed): known, and empty. */
void inventory_set_absent(struct inventory *inventory, enum inventory_kind kind);
/* Touches every node when that is news and may alter a result. */
void inventory_set_age(struct inventory *inventory, enum inventory_kind kind, enum inventory_age age);
/* Number of records of a kind. */
size_t inventory_count(const struct inventory *inventory, enum inventory_kind kind);
/* What is there of GPUs and cannot be used. For metrics. */
struct inventory_unused {
	size_t resource_claims; /* reserved for another kind than pods (also) */
	size_t resource_slices; /* of no single node */
	size_t of_pods; /* what pods have beyond what is kept of one (model/pod.h: pod_left_out) */
};
/* Counted as objects come and go; cheap. */
struct inventory_unused inventory_unused(const struct inventory *inventory);

/*
 * True when an object of this key and version is newer than what is there: it must be decoded and
 * put. Unless it is an older event of a watch, the record that is there outlives the list under way,
 * even if the object is refused. The key of pods and ResourceClaims is "namespace/name", else the
 * name.
 */
bool inventory_wants(struct inventory *inventory, enum inventory_kind kind, struct view key,
		     enum store_change change, uint64_t version);

/* inventory_wants() of a pod that a watch of its node alone tells. */
bool inventory_wants_node_pod(struct inventory *inventory, struct view node_name, struct view key,
			      enum store_change change, uint64_t version);
/*
 * Keeps a copy of the pod; change, here and below, is STORE_LISTED or STORE_UPSERT. node_name: a watch of
 * that node alone tells it (model/pod_scope.h), which must be followed; empty: that of the cluster. Fails
 * as pod_scope_put() does; the record then keeps its contents.
 */
MUST_USE int inventory_put_pod(struct inventory *inventory, struct view node_name,
			       const struct pod_fields *fields, enum store_change change,
			       uint64_t version, uint64_t now_ms, struct error *err);
/* Of which nodes the pods are known; borrowed for the inventory's life. Its owner is told by touches. */
struct pod_scope *inventory_pod_scope(struct inventory *inventory);
/*
 * Pods count as synced: those of all nodes that they are wanted of are here, though the cluster was not
 * listed. Touches every node if that is news.
 */
void inventory_set_pods_read(struct inventory *inventory);
/*
 * Keeps a copy of what a decoder found: a struct node, policy, gpu_cluster, resource_claim_fields or
 * resource_slice_fields, as the kind says. Fails with ERROR_NO_MEMORY or ERROR_LIMIT; the record stays then.
 */
MUST_USE int inventory_put(struct inventory *inventory, enum inventory_kind kind, const void *fields,
			   enum store_change change, uint64_t version, struct error *err);
/*
 * All of the attribution lies in *take_arena, which the inventory takes over and empties. Also for answers.
 */
MUST_USE int inventory_put_attribution(struct inventory *inventory, const struct attribution *attribution,
				       struct arena *take_arena, enum store_change change,
				       uint64_t version, struct error *err);
/*
 * The device plugin's ConfigMap is there, and says that; copies it. What its keys meant before is kept
 * beside it (intent/config_set.h), so `former` need not be given. Touches every node if that is news.
 * Fails with ERROR_NO_MEMORY; all is then as before.
 */
MUST_USE int inventory_put_plugin_configs(struct inventory *inventory,
					  const struct plugin_configs *configs, struct error *err);
/* The same of mig-parted's ConfigMap, of which nothing is kept from before. */
MUST_USE int inventory_put_mig_configs(struct inventory *inventory,
				       const struct mig_configs *configs, struct error *err);
/*
 * The ConfigMaps of nodes, whose owner keeps them up to date; borrowed for the inventory's life. What they
 * say counts while the state of NODE_LAYOUTS is THERE.
 */
struct record_set *inventory_node_layouts(struct inventory *inventory);
/*
 * What is known of a ConfigMap otherwise (config_set_state()). THERE: as it was last put, which it must
 * have been. why: it is UNREADABLE. Touches every node if that is news.
 */
void inventory_set_config_state(struct inventory *inventory, enum intent_config config,
				enum intent_config_state state, enum intent_config_why why);
/* Removes a record because a watch said DELETED; an unknown or newer one is left. */
void inventory_remove(struct inventory *inventory, enum inventory_kind kind, struct view key,
		      uint64_t version, uint64_t now_ms);

/* What a join is made from (controller/gather.h): all borrowed, until the next change or for good. */
struct inventory_parts {
	struct node_state_set *node_states; /* notes what was missing */
	const struct device_reporters *reporters;
	const struct pod_set *pods;
	const struct attribution_set *attributions;
	const struct resource_claim_set *resource_claims;
	const struct intent *intent;
	bool grants_known; /* the ResourceClaims and ResourceSlices of the API server are all here */
	bool grants_partial; /* of one of the two the API server has no such kind: it is to come */
	enum inventory_age pods_age; /* by the watch of the whole cluster; if not current, the last that */
				     /* is known of them is here */
	enum inventory_age nodes_age;
	bool nodes_known;        /* the Nodes of the API server are all here, */
	uint64_t nodes_known_at; /* since then, ms */
	const struct pod_scope *scope; /* of which nodes the Pods are all here */
	uint64_t started_at;     /* ms */
};

/* Neither fails nor allocates. */
struct inventory_parts inventory_parts(struct inventory *inventory);
/* The attribution of that name, or NULL; borrowed until the next change. */
const struct attribution *inventory_find_attribution(const struct inventory *inventory, struct view name);
/* Walks all attributions: the first for NULL; NULL at the end. For metrics. */
const struct attribution *inventory_next_attribution(const struct inventory *inventory,
						     const struct attribution *attribution);
