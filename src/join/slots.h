/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * slots - the units that device IDs name. Each ID that is advertised, registered or held is one slot
 * of its device, however often it is named. A replica is one slot under each resource's name.
 *
 * Threads: any.
 */

#include "join/facts.h"

struct subject;

struct slot {
	size_t device;         /* index in the devices */
	struct view id;        /* raw, or a claim's "pool/device" */
	struct view resource;  /* of a replica only */
	struct view offered_as; /* the resource by which it is on offer now, the first of several */
	struct view partition; /* UUID of the MIG device, or empty */
	struct view claim_pod_uid; /* UID of a pod that has it by a claim, or empty */
	unsigned mps;          /* of enum fact_mps: what its holders were given */
	bool is_replica;
	bool is_mig;
	bool is_odd;      /* the ID is of no known form but for the UUID it begins with */
	bool is_hami;     /* the plugin may have given another device than the ID says */
	bool is_by_minor; /* the ID names the device by its number, as GKE's plugin does */
	bool is_share;    /* by a claim, and others may have shares of the same */
	bool is_shared;   /* several pods have it by claims */
	bool is_held;
	bool is_offered; /* advertised or registered */
	bool is_on_offer_now; /* by the latest of the good sources */
};

struct slots {
	struct slot *items; /* by device, then ID */
	size_t n_items;
	size_t *first;        /* of each device, and of one after the last: index in the items */
	bool is_offer_known;  /* some source says which IDs are on offer */
	bool is_offer_told_now; /* some good one does */
	uint32_t ids_unknown; /* offered IDs of no device */
};

/* Collects the slots. The result lies in arena and borrows from what is given. ERROR_NO_MEMORY. */
MUST_USE int slots_collect(const struct facts *facts, struct arena *arena,
			   struct slots *ret_slots, struct error *err);
/* Sets what the subject, whose tenants are known, has of slots, and what follows from them. */
void slots_look(const struct slots *slots, struct subject *subject);
