/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * slots - the units that device IDs name. Each ID that is advertised, registered or held is one slot
 * of its device, however often it is named. A replica is one slot under each resource's name.
 *
 * Threads: any.
 */

#include "assess/slot.h"
#include "join/facts.h"

struct subject;

struct slots {
	struct slot *items; /* by device, then ID */
	size_t n_items;
	bool is_offer_known;  /* some source says which IDs are on offer */
	bool is_offer_told_now; /* some good one does */
	uint32_t ids_unknown; /* offered IDs of no device */
	bool is_other_offered; /* by a good source, now: an ID of no device */
	bool may_be_offered;   /* an offered MIG device may be any device's, for NVML has not listed them */
};

/* Collects the slots. The result lies in arena and borrows from what is given. ERROR_NO_MEMORY. */
MUST_USE int slots_collect(const struct facts *facts, struct arena *arena,
			   struct slots *ret_slots, struct error *err);
/* Sets what the subject, whose tenants are known, has of slots, and what follows from them. */
void slots_look(const struct slots *slots, struct subject *subject);
