/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_layouts - the layouts of MIG devices that MIG managers make themselves, each of what the devices of
 * its node can do. Each manager tells its own in a ConfigMap of its node, as long as its pod lives. One that
 * comes, changes or goes touches that node.
 *
 * Threads: the loop thread.
 */

#include "intent/mig_config.h"
#include "model/record_set.h"

struct node_layouts {
	struct record_set records; /* of struct mig_configs, by the ConfigMap's name */
};

/* None; allocates nothing. places is borrowed and must outlive it. */
void node_layouts_init(struct node_layouts *layouts, struct place_book *places);
/* Forgets all. */
void node_layouts_deinit(struct node_layouts *layouts);
/*
 * Keeps a copy of what a ConfigMap says; change is STORE_LISTED or STORE_UPSERT. One whose name is not of a
 * node's form is kept, and is nobody's. Fails with ERROR_NO_MEMORY; all is then as before.
 */
MUST_USE int node_layouts_put(struct node_layouts *layouts, const struct mig_configs *configs,
			      enum store_change change, uint64_t version, struct error *err);
/* The ConfigMap of that name was deleted; an unknown or newer one is left. */
void node_layouts_remove(struct node_layouts *layouts, struct view name, uint64_t version);
/* A complete state begins to arrive. */
void node_layouts_begin_list(struct node_layouts *layouts);
/* It has arrived: what was not put meanwhile is gone. */
void node_layouts_end_list(struct node_layouts *layouts);
