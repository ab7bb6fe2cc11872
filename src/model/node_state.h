/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_state - what the inventory knows of one node name: pods, objects, ResourceSlices, the last
 * report, and the pods that ended lately. The API server need not have a Node of that name. A node
 * state lives as long as anything hangs on it, or a watch of its own tells its pods.
 *
 * Threads: the loop thread.
 * Limits:  1024 ended UIDs a node state; the oldest is forgotten for a further one.
 */

#include "base/debounce.h"
#include "base/list.h"
#include "base/table.h"
#include "model/boot_history.h"
#include "model/figures.h"
#include "model/report.h"

/* The kinds of objects that an inventory keeps. */
enum inventory_kind {
	INVENTORY_PODS,
	INVENTORY_NODES,
	INVENTORY_POLICIES,
	INVENTORY_ATTRIBUTIONS,
	INVENTORY_RESOURCE_CLAIMS,
	INVENTORY_RESOURCE_SLICES,
	INVENTORY_GPU_CLUSTERS,
	INVENTORY_N_KINDS,
};

/* How what is known of a kind stands to what the API server has. */
enum inventory_age {
	INVENTORY_CURRENT,
	INVENTORY_STALE,  /* its watch has been away for long */
	INVENTORY_DENIED, /* the same, for we may read it no more */
	INVENTORY_UNSERVED, /* the API server has it in other versions only than the one that is read */
};

/* What the next join of a node must know of the last one. All borrowed. */
struct recall {
	const struct debounce_seen *debounced; /* what does not count yet */
	size_t n_debounced;
	const struct view *ended; /* UIDs of pods that have ended, as long as reports name them */
	size_t n_ended;
	int64_t settled_restart;  /* the kubelet's restart since which a List was complete; 0: none */
	int64_t offered_since; /* wall clock, ms: slots of the node were counted otherwise before that, */
			       /* or not known; 0: there was no join, or its pods were not current */
	bool is_hearing_awaited;  /* a heartbeat of the node may change the result */
};

/* How long it is remembered who ended. */
#define NODE_STATE_ENDED_KEEP_MS 120000u

struct node;
struct mig_configs;

/* Frees a report and its memory; called once, when it is needed no more. */
typedef void (*node_state_release_fn)(void *owner);

/* What joins could not use of what was said of a node. */
struct node_state_refusals {
	uint32_t entries; /* entries and processes of pods that the API server places elsewhere */
	uint32_t ids;     /* device IDs that are no known device's */
	uint32_t devices; /* got no object: the node has too many */
	uint32_t objects; /* of other nodes, not looked at: too many of them are named */
	uint32_t debounced; /* what was seen and found no room among what waits */
};

struct node_state {
	struct table_node link; /* by name */
	struct view name;
	struct list pods;             /* struct pod_record (model/pod_set.h) */
	struct list attributions;     /* struct attribution_record (model/attribution_set.h) */
	struct list slices;           /* struct record of model/resource_slice.h */
	size_t n_slices;
	bool lacks_claims; /* a pod here uses a ResourceClaim that was not known at the last look */
	bool is_followed;        /* a watch of its own tells its pods (model/pod_scope.h), which keeps: */
	bool is_listed;          /* all of them, since it began */
	enum inventory_age pods_age;
	uint32_t pods_epoch;     /* the number of its last list */
	uint64_t pods_floor;     /* what is older, and not there, has gone: a version */
	uint64_t pods_known_at;  /* since when it has told all, ms; 0: it has not */
	size_t n_told;                /* pods of which the kubelet told what devices they have */
	const struct node *node;      /* owned by model/node.h; NULL: the API server has none */
	const struct mig_configs *layouts; /* that its MIG manager made; owned by model/node_layouts.h; or NULL */
	uint64_t node_changes;        /* how often it came or went */
	uint64_t gone_at;             /* when it went, ms; 0: it was never there */
	const struct report *report;  /* the last accepted one, or NULL */
	node_state_release_fn release; /* frees it */
	void *release_owner;
	struct figures *figures; /* of the last heartbeat; NULL: those of the report hold */
	struct boot_history history; /* in the boot of the report, as this and earlier reports tell */
	uint64_t asked_at;     /* when a join first asked for what is known of the node, ms */
	uint64_t report_at;    /* when the node was last heard of, ms */
	uint64_t report_since; /* when the report's content arrived, ms */
	int64_t listed_at;     /* see join/join.h */
	uint64_t listed_told_at; /* when that was told, ms */
	struct node_state_refusals refused; /* of the report's content, as far as it was counted */
	int64_t booted_after;  /* see join/input.h */
	int64_t former_heard_at; /* the same */
	bool is_boot_news; /* its Node named a boot after the report's boot first reported */
	struct list ended;     /* struct node_state_ended, the longest unnamed first */
	struct table ended_by_uid; /* the same: a report can name thousands */
	size_t n_ended;
	struct debounce_seen *debounced; /* what the last join saw that did not count yet, */
	size_t n_debounced;
	uint64_t debounced_at; /* and when, ms: their ages are of then */
	bool awaits_hearing; /* that join waits for a heartbeat */
	int64_t settled_restart; /* see model/node_state.h; as the last join said */
	int64_t offered_since;   /* the same */
};

/* The UID of a pod that the API server had on this node and no longer has. */
struct node_state_ended {
	struct list link;
	struct table_node by_uid;
	uint64_t at;    /* last named or deleted, ms */
	uint64_t since; /* it is known to have ended, ms */
	struct view uid;
};

/*
 * Told after a change: this node wants a join. The view is borrowed for the call. `initial` says that
 * the change is an item of a first list, so that live events may overtake it.
 */
typedef void (*node_state_touch_fn)(void *owner, struct view node_name, bool initial);

/* Told when a Node names another boot than before, if its node state has a report or objects. */
typedef void (*node_state_boot_fn)(void *owner, struct view node_name);

struct node_state_set {
	struct table by_name;
	node_state_touch_fn touch; /* NULL: nobody is told */
	void *touch_owner;
	node_state_boot_fn boot; /* NULL: nobody is told */
	void *boot_owner;
	size_t n_lacking; /* node states that lack claims */
};

/* No node states, and nobody is told: touch and boot are the caller's to set. Allocates nothing. */
void node_state_set_init(struct node_state_set *set);
/* All node states must have been released. */
void node_state_set_deinit(struct node_state_set *set);

/* The node state of that name, or NULL. */
struct node_state *node_state_find(const struct node_state_set *set, struct view name);
/* The node state of that name, made if need be; NULL with ERROR_NO_MEMORY. */
MUST_USE struct node_state *node_state_ensure(struct node_state_set *set, struct view name, struct error *err);
/* Walks all: the first for NULL; NULL at the end. Only the one before may be released meanwhile. */
struct node_state *node_state_next(const struct node_state_set *set, const struct node_state *node_state);
/* Frees the node state if nothing hangs on it any more. Accepts NULL. */
void node_state_release(struct node_state_set *set, struct node_state *node_state);
/*
 * Says that the node wants a join, if a join could change anything there. That needs a report, an
 * object, a slice, or a pod whose status names devices. Accepts NULL.
 */
void node_state_touch(const struct node_state_set *set, const struct node_state *node_state, bool initial);
/*
 * node_state_touch() for every node state, or for those that lack claims only. The touch callback
 * must neither make nor release a node state.
 */
void node_state_touch_all(const struct node_state_set *set, bool only_lacking, bool initial);
/* Notes that the Node names another boot, and says so if the node state has a report or objects. */
void node_state_note_boot(const struct node_state_set *set, struct node_state *node_state);

/* Notes whether the node state lacks claims. */
void node_state_note_claims(struct node_state_set *set, struct node_state *node_state, bool lacks_claims);

/* True when the report of the node state names the pod of that UID. */
bool node_state_reports_uid(const struct node_state *node_state, struct view uid);
/* True when it names the pod of that namespace and name. */
bool node_state_reports_name(const struct node_state *node_state, struct view namespace, struct view name);
/* Notes what a join refused, and returns what it had not yet refused of the same report's content. */
struct node_state_refusals node_state_note_refusals(struct node_state *node_state,
						    struct node_state_refusals refused);
/* Keeps the report instead of the last one, which it gives back to its owner by release(owner). */
void node_state_take_report(struct node_state *node_state, const struct report *report,
			    node_state_release_fn release, void *owner, uint64_t now_ms);
/* Notes when the List was read last, by the node's clock: the time of the last good one. */
void node_state_note_listed(struct node_state *node_state, int64_t listed_at, uint64_t now_ms);
/* Takes the figures of a heartbeat with the report's evidence. True: they show that a device was reset. */
bool node_state_take_figures(struct node_state *node_state, struct figures *take_figures);
/* Gives the report back to its owner, and forgets the figures. */
void node_state_release_report(struct node_state *node_state);

/*
 * Notes that the pod of that UID ended at since_ms; or, where that is 0, that it has ended and is
 * still named. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int node_state_remember_ended(struct node_state *node_state, struct view uid,
				       uint64_t since_ms, uint64_t now_ms, struct error *err);
/* True while it is remembered that the pod of that UID ended. */
bool node_state_has_ended(const struct node_state *node_state, struct view uid);
/* Forgets those that were not noted for NODE_STATE_ENDED_KEEP_MS. */
void node_state_forget_ended(struct node_state *node_state, uint64_t now_ms);

/* Replaces what waits to count by what the last join saw. Fails with ERROR_NO_MEMORY. */
MUST_USE int node_state_replace_debounced(struct node_state *node_state,
					  const struct debounce_seen *debounced, size_t n_debounced,
					  uint64_t now_ms, struct error *err);
