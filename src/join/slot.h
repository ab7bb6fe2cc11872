/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * slot - the device IDs that exist: each ID that is advertised, registered or held is one slot of
 * its device, however often it is named; a replica's is one under each resource's name.
 *
 * Threads: any.
 */

#include "join/facts.h"

struct slot {
	size_t device;         /* index in the devices */
	struct view id;        /* raw, or a claim's "pool/device" */
	struct view resource;  /* of a replica: another resource's of the same ID is another slot */
	struct view partition; /* UUID of the MIG device, or empty */
	bool is_replica;
	bool is_mig;
	bool is_odd;  /* the ID is of no known form but for the UUID it begins with */
	bool is_hami; /* the plugin may have given another device than the ID says */
	bool is_held;
	bool is_offered; /* advertised or registered */
};

struct slots {
	struct slot *items; /* by device, then ID */
	size_t n_items;
	bool is_offer_known;  /* some source says which IDs are on offer */
	uint32_t ids_unknown; /* offered IDs that are no device's of the devices */
};

/* Collects the slots. The result lies in arena and borrows from what is given. ERROR_NO_MEMORY. */
MUST_USE int slot_collect(const struct facts *facts, struct arena *arena,
			  struct slots *ret_slots, struct error *err);
/* The slots of a device: *ret_n elements from the returned one on. */
const struct slot *slot_items(const struct slots *slots, size_t device, size_t *ret_n);
