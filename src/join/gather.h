/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gather - collects what is known of one node into what a join is given.
 *
 * Threads: the loop thread.
 */

#include "base/arena.h"
#include "join/input.h"
#include "model/inventory.h"

/*
 * Fills *ret_input with all that is known of a node; arrays lie in arena, the rest is borrowed
 * until the next change of the inventory. limits and now_wall_ms are the caller's to set. Fails with
 * ERROR_NO_MEMORY or ERROR_LIMIT.
 */
MUST_USE int gather_node(const struct inventory_parts *parts, struct view node_name,
			 uint64_t now_ms, struct arena *arena, struct join_input *ret_input,
			 struct error *err);
