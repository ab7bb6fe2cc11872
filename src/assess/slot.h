/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * slot - one unit of a device, as one of its device IDs names it, and what is known of that ID.
 *
 * Threads: any; immutable once made.
 */

#include <stdbool.h>

#include "base/view.h"

/* What allocation responses say of MPS. */
enum slot_mps {
	SLOT_MPS_USED = 1u << 0,
	SLOT_MPS_NOT_USED = 1u << 1,
};

struct slot {
	size_t device;         /* index in the node's devices */
	struct view id;        /* raw, or a claim's "pool/device" */
	struct view resource;  /* of a replica only */
	struct view offered_as; /* the resource by which it is on offer now, the first of several */
	struct view partition; /* UUID of the MIG device, or empty */
	struct view claim_pod_uid; /* UID of a pod that has it by a claim, or empty */
	unsigned mps;          /* of enum slot_mps: what its holders were given */
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
