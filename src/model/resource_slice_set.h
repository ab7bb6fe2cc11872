/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_slice_set - the ResourceSlices that the API server has; each that a driver of GPUs made
 * for a node hangs on the place of that node.
 *
 * Threads: the loop thread.
 * Limits:  RESOURCE_SLICE_SET_MAX_OF_NODE slices a node.
 */

#include "base/store.h"
#include "model/place.h"
#include "model/resource_slice.h"

/* A node's devices fit into a handful; whoever writes for a node cannot make joins slow by more. */
#define RESOURCE_SLICE_SET_MAX_OF_NODE 64u

struct resource_slice_record {
	struct store_entry entry;     /* by name */
	struct resource_slice *slice; /* owned */
	struct place *place;          /* NULL: of no single node, or not a GPU's */
	struct list link;             /* in place->slices */
};

struct resource_slice_set {
	struct store store;
	struct place_book *places;
	size_t n_unplaced; /* slices of drivers of GPUs that are of no single node: not used */
};

/* places is borrowed and must outlive the set. */
void resource_slice_set_init(struct resource_slice_set *set, struct place_book *places);
/* All slices must have been removed. */
void resource_slice_set_deinit(struct resource_slice_set *set);
/*
 * Adds or changes the slice, if it is newer; touches its node, and the one that it was of, whose
 * slices then count again (inventory_distrust_slices()). change and initial as in model/inventory.h.
 * Fails with ERROR_NO_MEMORY or ERROR_LIMIT; a present record stays.
 */
MUST_USE int resource_slice_set_put(struct resource_slice_set *set,
				    const struct resource_slice_fields *fields,
				    enum store_change change, uint64_t version, bool initial,
				    struct error *err);
/* Removes and frees the record of an entry of the store. */
void resource_slice_set_remove(struct resource_slice_set *set, struct store_entry *entry);
