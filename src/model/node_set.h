/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_set - the Nodes that the API server has. Each hangs on its place, which notes when a Node
 * comes and goes.
 *
 * Threads: the loop thread.
 */

#include "model/node.h"
#include "model/record_set.h"

/* places is borrowed and must outlive the set. */
void node_set_init(struct record_set *set, struct place_book *places);
/*
 * Adds a copy of the node, or changes it, if it is newer. Fails with ERROR_NO_MEMORY; a present
 * record stays.
 */
MUST_USE int node_set_put(struct record_set *set, const struct node *node,
			  const struct record_event *event, struct error *err);
