/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * seating - from pods to the GPUs that they hold: who sits where, and of each pod that was asked
 * for and sits nowhere, why not, as far as that is known.
 *
 * A pod is its UID. A tenant of the same name with another UID is another pod: it never stands in
 * for the one that was asked for. Only where the API server has no pod of that name, or may not be
 * asked, the name is all there is, and the seat says so.
 *
 * Use: seating_init(), add names or cards, seating_seal(), then seating_wants() for each device that
 * might matter, then seating_fill() with those that do.
 *
 * Threads: owner.
 * Limits:  SEATING_MAX_PAST former seats of a pod are kept, the newest.
 */

#include "base/arena.h"
#include "kubectl/pod_card.h"
#include "model/attribution.h"

#define SEATING_MAX_PAST 8u

/* One container's hold on one device. */
struct seat {
	const struct attribution *device;
	const struct attribution_tenant *tenant;
	bool is_by_name; /* no UID could be compared */
};

struct seating_past {
	const struct attribution *device;
	const struct attribution_past_tenant *tenant;
};

enum seating_verdict {
	SEATING_ON_GPU,
	SEATING_NOT_FOUND,     /* there is no such pod, or, where pods may not be read, no seat */
	SEATING_ENDED,         /* it has ended: it holds nothing */
	SEATING_NO_REQUEST,    /* it asks for no GPU */
	SEATING_NOT_SCHEDULED,
	SEATING_UNPLACED,      /* it holds device IDs that belong to no GPU that is known */
	SEATING_UNKNOWN,       /* it asks for GPUs and is on a node; no status names it */
};

/* What is known of a pod that was asked for. */
struct seating_finding {
	struct view namespace;
	struct view name;
	const struct pod_card *card; /* NULL: the API server has no such pod, or was not asked */
	enum seating_verdict verdict;
	size_t n_seats;
	const struct attribution *earlier_device;        /* where a pod of that name, and another */
	const struct attribution_tenant *earlier_tenant; /* UID, still sits; or NULL */

	/* Only for one without a seat. */
	struct seating_past past[SEATING_MAX_PAST]; /* newest first */
	size_t n_past;
	const struct attribution_unplaced *unplaced;  /* or NULL */
	const struct attribution *used_device;        /* where it has a process and no slot, or NULL */
	const struct attribution_user *user;
	size_t n_node_devices;                        /* GPUs known of its node */
	const struct attribution *doubtful_device;    /* the first of them that is not current */
};

struct seating {
	struct arena *arena;
	bool is_blind;         /* pods could not be read: names are all there is */
	bool is_named;         /* pods were asked for by name, few of them */
	bool is_everybody;     /* nobody was asked for by name or selector: all who hold a GPU, */
	struct view namespace; /* here; empty: in all namespaces */

	struct seating_finding *findings; /* in the order in which they were added */
	size_t n_findings;
	size_t room;
	struct seating_finding **by_uid; /* those with a card, in order once sealed */
	size_t n_by_uid;

	struct seat *seats; /* by namespace, pod, container, then in the order of devices */
	size_t n_seats;
};

/* room: how many findings may be added. Fails with ERROR_NO_MEMORY. */
MUST_USE int seating_init(struct seating *seating, struct arena *arena, size_t room,
			  struct error *err);
/* Asks for a pod. card NULL: there is none. Texts and card are borrowed. */
void seating_add(struct seating *seating, struct view namespace, struct view name,
		 const struct pod_card *card);
/* Nothing more is asked for. */
void seating_seal(struct seating *seating);
/* Can the device tell anything about what was asked? */
bool seating_wants(const struct seating *seating, const struct attribution *device);
/* Fills in seats and findings. Devices are borrowed. Fails with ERROR_NO_MEMORY. */
MUST_USE int seating_fill(struct seating *seating, const struct attribution *const *devices,
			  size_t n_devices, struct error *err);
