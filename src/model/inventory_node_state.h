/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * inventory_node_state - what an inventory (model/inventory.h) has of each node: its report, its
 * figures, and what is kept for its next join.
 *
 * Threads: the loop thread.
 */

#include "model/node_state.h"

struct inventory;

/*
 * The last accepted report of its node. The inventory keeps the pointer and calls release(owner)
 * when it is replaced or forgotten, or the inventory ends. Touches the node, each that has an object of a
 * device which the report begins or ceases to name, and each that reports a device of this node. Fails with
 * ERROR_NO_MEMORY; all is then as before.
 */
MUST_USE int inventory_node_state_put_report(struct inventory *inventory, const struct report *report,
					     node_state_release_fn release, void *owner,
					     uint64_t now_ms, struct error *err);
/* As node_state_note_refusals(), of that node: where it is not known, all is new. */
struct node_state_refusals inventory_node_state_note_refusals(struct inventory *inventory,
							      struct view node_name,
							      struct node_state_refusals refused);
/*
 * An unchanged report arrived, whose List was read at listed_at (join/input.h): its age starts anew.
 * If it was as old as stale_ms, that touches all nodes it matters to. The node itself is also touched
 * if its last join waits for a heartbeat. False: no report of that node is kept.
 */
bool inventory_node_state_refresh_report(struct inventory *inventory, struct view node_name,
					 int64_t listed_at, uint64_t stale_ms, uint64_t now_ms);
/*
 * A heartbeat had these figures, and the same evidence as the report `of`. Takes them over in any
 * case: they are dropped unless that is the node's report. Touches the node only if they show that a
 * device was reset.
 */
void inventory_node_state_put_figures(struct inventory *inventory, struct view node_name,
				      const struct report *of, struct figures *take_figures);
/* What is known of the node of that name, or NULL; borrowed until the next change. */
const struct node_state *inventory_node_state_find(const struct inventory *inventory, struct view node_name);
/*
 * Releases the report of a node that is gone, all that it reported, and what the node's reports told of
 * its boot. Touches nobody.
 */
void inventory_node_state_forget_report(struct inventory *inventory, struct view node_name);
/* The same of all nodes. */
void inventory_node_state_forget_all(struct inventory *inventory);
/*
 * Keeps what the next join of the node must know of the last one, instead of what the one before it
 * said. The inventory adds pods that it saw deleted to the UIDs that have ended. It forgets a UID
 * when no join has named it for two minutes: late reports must still find it. now_ms is when that
 * join was given what is known. Does nothing for a node that is not known. Fails with
 * ERROR_NO_MEMORY; a part may then be kept.
 */
MUST_USE int inventory_node_state_keep_recall(struct inventory *inventory, struct view node_name,
					      const struct recall *recall, uint64_t now_ms,
					      struct error *err);
