/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_slice_set - the ResourceSlices that the API server has. Each that is of one node hangs on
 * the place of that node.
 *
 * Threads: the loop thread.
 * Limits:  RESOURCE_SLICE_SET_MAX_OF_NODE slices a node.
 */

#include "model/record_set.h"
#include "model/resource_slice.h"

/* A node's devices fit into a handful; whoever writes for a node cannot make joins slow by more. */
#define RESOURCE_SLICE_SET_MAX_OF_NODE 64u

struct resource_slice_set {
	struct record_set records; /* of struct resource_slice, by name */
	size_t n_unplaced; /* slices of drivers of GPUs that are of no single node: not used */
};

/* places is borrowed and must outlive the set. */
void resource_slice_set_init(struct resource_slice_set *set, struct place_book *places);
/*
 * Adds or changes the slice, if it is newer; touches its node, and the one that it was of. Fails with
 * ERROR_NO_MEMORY or ERROR_LIMIT; a present record stays.
 */
MUST_USE int resource_slice_set_put(struct resource_slice_set *set,
				    const struct resource_slice_fields *fields,
				    const struct record_event *event, struct error *err);
/* True when a slice of the place describes the device of that UUID, or a part of it. */
bool resource_slice_set_names_device(const struct place *place, struct view uuid);
