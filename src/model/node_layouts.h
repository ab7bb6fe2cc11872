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

/* Of struct mig_configs, by the ConfigMap's name. None; allocates nothing. node_states is borrowed. One whose name */
/* is not of a node's form is kept, and belongs to no node. */
void node_layouts_init(struct record_set *layouts, struct node_state_set *node_states);
