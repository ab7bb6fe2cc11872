/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gather_claims - the part of controller/gather.h for ResourceClaims and ResourceSlices.
 *
 * Threads: the loop thread.
 */

#include "base/arena.h"
#include "join/input.h"
#include "model/inventory.h"

/*
 * Adds what claims and slices give to the input of that node state, which has the pods already.
 * Notes whether the node lacks claims. The arrays lie in arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int gather_claims(const struct inventory_parts *parts, struct node_state *node_state,
			   struct arena *arena, struct join_input *input, struct error *err);
