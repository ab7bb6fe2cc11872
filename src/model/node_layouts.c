/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_layouts.h"

static void change(struct record_set *set, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct node_state *node_state = record ? record->node_state : old->node_state;

	if (!node_state)
		return;
	node_state->layouts = record ? record->object : NULL;
	node_state_touch(set->node_states, node_state, event->is_initial);
}

static struct view node_of(const void *configs)
{
	return mig_config_node(configs);
}

static const struct record_kind kind = {
	.rows = mig_config_rows,
	.size = sizeof(struct mig_configs),
	.node_of = node_of,
	.change = change,
};

void node_layouts_init(struct record_set *layouts, struct node_state_set *node_states)
{
	record_set_init(layouts, &kind, node_states);
}
