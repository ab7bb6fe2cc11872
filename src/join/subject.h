/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * subject - one device on its way through the stages. Each stage reads what the stages above it found.
 *
 * Threads: any.
 */

#include "join/debounce.h"
#include "join/facts.h"

struct slot;
struct tenants;

/* What they are given of it, and have found so far. */
struct subject {
	const struct facts *facts; /* of the node */
	size_t index;              /* of the device in the devices of the facts */
	const struct device *device;
	const struct attribution_status *published; /* by this node, or NULL: see struct previous */
	const struct fact *items;                   /* of the device */
	size_t n_items;
	bool is_awaited; /* an agent has spoken of the device, and not since the start: what only a */
			 /* report can tell is as published */
	struct debounce *debounce;
	struct arena *arena; /* results lie in it */
	const struct attribution_status *status; /* as far as it is found */
	const struct tenants *tenants; /* what tenants_find() said; slots_look() sets what follows */
	const struct slot *slots;      /* of the device, by ID */
	size_t n_slots;
	bool is_claimed;     /* claims hand it out */
	bool is_offered;     /* some slot of it is on offer */
	bool is_offer_known; /* as in struct slots */
	bool is_rest_held;   /* none is, and something is held that does not tell how many there are */
	bool is_as_published; /* not so now, or they may be more: what follows from slots stays */
};
