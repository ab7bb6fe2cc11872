/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gather - turns what the inventory knows of one node into the input of a join.
 *
 * Threads: the loop thread.
 */

#include "base/arena.h"
#include "join/input.h"
#include "model/inventory.h"

/*
 * Fills *ret_input. Its arrays lie in arena. Everything else is borrowed until the inventory changes
 * next. The caller sets limits and now_wall_ms. Notes in parts->node_states whether the node lacks
 * claims, and when a join first asked for it. Fails with ERROR_NO_MEMORY or ERROR_LIMIT.
 */
MUST_USE int gather_node(const struct inventory_parts *parts, struct view node_name,
			 uint64_t now_ms, struct arena *arena, struct join_input *ret_input,
			 struct error *err);
