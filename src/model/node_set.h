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

/* Of struct node, which record_set_put_copy() adds. places is borrowed and must outlive the set. */
void node_set_init(struct record_set *set, struct place_book *places);
