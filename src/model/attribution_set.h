/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * attribution_set - the GPUAttributions as the API server has them; each hangs on the place that
 * its status names.
 *
 * Threads: the loop thread.
 */

#include "base/arena.h"
#include "base/store.h"
#include "model/attribution.h"
#include "model/claim.h"

struct attribution_record {
	struct store_entry entry; /* by name */
	struct arena arena;
	struct attribution attribution;
	struct place *place; /* of status.nodeName; NULL when that is empty */
	struct list link;    /* in place->attributions */
};

struct attribution_set {
	struct store store;
	struct place_book *places;
	const struct claim_book *claims;
};

/* places and claims are borrowed and must outlive the set. */
void attribution_set_init(struct attribution_set *set, struct place_book *places,
			  const struct claim_book *claims);
/* All objects must have been removed. */
void attribution_set_deinit(struct attribution_set *set);
/*
 * Adds or changes the object, if it is newer; takes over the arena's memory then. Touches the node
 * that holds it and those that report its device. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int attribution_set_put(struct attribution_set *set, const struct attribution *attribution,
				 struct arena *take_arena, enum store_change change,
				 uint64_t version, bool initial, struct error *err);
/*
 * Removes and frees the record of an entry of the store. Touches the node that held it and those
 * that report its device, or, if none does, those without an agent that are told to have it.
 */
void attribution_set_remove(struct attribution_set *set, struct store_entry *entry);
/* The record with that name, or NULL. */
struct attribution_record *attribution_set_find(const struct attribution_set *set,
						struct view name);
/* Walks all: the first for NULL; NULL at the end. */
const struct attribution *attribution_set_next(const struct attribution_set *set,
					       const struct attribution *attribution);
