/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * assignment - finds which containers of which pods hold which GPUs. For a pod that was asked for and
 * holds none it finds out why, as far as that is known.
 *
 * A pod is identified by its UID. A tenant of the same name with another UID is another pod: it is
 * never shown for the one that was asked for. The name is used instead in two cases: the API server
 * has no pod of that name, or pods may not be read. The assignment then says so.
 *
 * Use: assignment_init(), add names or cards, assignment_seal(), then assignment_wants() for each
 * device that might matter, then assignment_fill() with those that do.
 *
 * Threads: owner.
 * Limits:  ASSIGNMENT_MAX_PAST former assignments of a pod are kept, the newest.
 */

#include "base/arena.h"
#include "kubectl/pod_card.h"
#include "model/attribution.h"

#define ASSIGNMENT_MAX_PAST 8u

/* One container's hold on one device. */
struct assignment {
	const struct attribution *device;
	const struct attribution_tenant *tenant;
	bool is_by_name; /* no UID could be compared */
};

struct assignment_past {
	const struct attribution *device;
	const struct attribution_past_tenant *tenant;
};

enum assignment_verdict {
	ASSIGNMENT_ON_GPU,
	ASSIGNMENT_NOT_FOUND,     /* no such pod; or pods may not be read, and no GPU names it */
	ASSIGNMENT_ENDED,         /* it has ended: it holds nothing */
	ASSIGNMENT_NO_REQUEST,    /* it asks for no GPU */
	ASSIGNMENT_NOT_SCHEDULED,
	ASSIGNMENT_UNPLACED,      /* it holds device IDs that belong to no GPU that is known */
	ASSIGNMENT_UNKNOWN,       /* it asks for GPUs and is on a node; no status names it */
};

/* What is known of a pod that was asked for. */
struct assignment_finding {
	struct view namespace;
	struct view name;
	const struct pod_card *card; /* NULL: the API server has no such pod, or was not asked */
	enum assignment_verdict verdict;
	size_t n_assignments;
	const struct attribution *earlier_device;        /* where a pod of that name, and another */
	const struct attribution_tenant *earlier_tenant; /* UID, is still a tenant; or NULL */

	/* Only for one without an assignment. */
	struct assignment_past past[ASSIGNMENT_MAX_PAST]; /* newest first */
	size_t n_past;
	const struct attribution_unplaced *unplaced;  /* or NULL */
	const struct attribution *used_device;        /* where it has a process and no slot, or NULL */
	const struct attribution_user *user;
	size_t n_node_devices;                        /* GPUs known of its node */
	const struct attribution *doubtful_device;    /* the first of them that is not current */
};

struct assignment_set {
	struct arena *arena;
	bool is_blind;         /* pods could not be read: names are all there is */
	bool is_named;         /* pods were asked for by name, few of them */
	bool is_everybody;     /* nobody was asked for by name or selector: all who hold a GPU, */
	struct view namespace; /* here; empty: in all namespaces */

	struct assignment_finding *findings; /* in the order in which they were added */
	size_t n_findings;
	size_t room;
	struct assignment_finding **by_uid; /* those with a card, in order once sealed */
	size_t n_by_uid;

	struct assignment *assignments; /* by namespace, pod, container, then in the order of devices */
	size_t n_assignments;
};

/*
 * An empty set for at most `room` pods. What it keeps lies in arena, which is borrowed. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int assignment_init(struct assignment_set *set, struct arena *arena, size_t room,
			  struct error *err);
/* Asks for a pod. card NULL: there is none. Texts and card are borrowed. */
void assignment_add(struct assignment_set *set, struct view namespace, struct view name,
		 const struct pod_card *card);
/* Ends the adding: sorts the pods by UID, so that devices can be looked at. */
void assignment_seal(struct assignment_set *set);
/* Can the device tell anything about what was asked? The set is sealed. */
bool assignment_wants(const struct assignment_set *set, const struct attribution *device);
/*
 * Fills in assignments and findings; to be called once, for a sealed set. Devices are borrowed. Fails
 * with ERROR_NO_MEMORY.
 */
MUST_USE int assignment_fill(struct assignment_set *set, const struct attribution *const *devices,
			  size_t n_devices, struct error *err);
