/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ledger - where the readers of the witnesses write down who holds what, and where it is put in
 * order at the end.
 *
 * Threads: owner.
 */

#include "join/facts.h"

struct ledger {
	struct facts *facts; /* what is written goes to its items */
	struct holder *owners;
	struct holder **by_owner; /* room for putting them in order */
	bool has_hami;
	size_t n_owners, owners_cap, items_cap;
};

/* Makes room for that many owners and device IDs. Fails with ERROR_NO_MEMORY. */
MUST_USE int ledger_open(struct ledger *ledger, struct facts *facts, size_t n_owners,
			 size_t n_ids, struct arena *arena, struct error *err);
/* Copies the owner; the result lives as long as the arena. */
struct holder *ledger_add_owner(struct ledger *ledger, struct holder owner);
/*
 * Notes that the owner (NULL: somebody who cannot be told) holds the ID, with what is given in
 * `what`: witnesses, mps, takes_no_slot, is_monitor. Which device it is follows from the ID.
 */
void ledger_note(struct ledger *ledger, struct holder *owner, struct view id,
		 struct fact what);
/*
 * Notes that the owner is on that device of the devices, by an ID that does not tell the device, or
 * is not known (empty).
 */
void ledger_note_device(struct ledger *ledger, struct holder *owner,
			const struct device *device, struct view id, struct fact what);
/* True when IDs of HAMi's are noted as held by that container. */
bool ledger_has_hami(const struct ledger *ledger, const struct pod *pod, struct view container);
/*
 * Forgets one of them, for it stands for that device of the devices: one of the device's own, if it
 * has such a one. False: the container has none.
 */
bool ledger_take_hami(struct ledger *ledger, const struct pod *pod, struct view container,
		      const struct device *device);
/* Puts everything in order, each holding once. */
void ledger_close(struct ledger *ledger);
