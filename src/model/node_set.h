/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_set - the Nodes that the API server has; each hangs on its place.
 *
 * Threads: the loop thread.
 */

#include "base/store.h"
#include "model/node.h"
#include "model/place.h"

struct node_set {
	struct store store;
	struct place_book *places;
};

/* places is borrowed and must outlive the set. */
void node_set_init(struct node_set *set, struct place_book *places);
/* All nodes must have been removed. */
void node_set_deinit(struct node_set *set);
/* Adds or changes the node, if it is newer. Fails with ERROR_NO_MEMORY; a present record stays. */
MUST_USE int node_set_put(struct node_set *set, const struct node_fields *fields,
			  enum store_change change, uint64_t version, bool initial,
			  struct error *err);
/* Removes and frees the record of an entry of the store; its place notes when. */
void node_set_remove(struct node_set *set, struct store_entry *entry, uint64_t now_ms);
