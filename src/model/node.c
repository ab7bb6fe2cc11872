/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node.h"

#include <assert.h>

#include "model/record_set.h"

struct view node_deploy_of(const struct node *node, struct view operand)
{
	ARRAY_EACH(const struct node_deploy, deploy, node->deploys)
		if (view_equal(deploy->operand, operand))
			return deploy->value;
	return (struct view){0};
}

static const struct compact_row deploy_rows[] = {
	COMPACT_TEXTS_ROW(node_deploy, operand, value),
	{0},
};

static const struct compact_row mig_count_rows[] = {
	COMPACT_TEXTS_ROW(node_mig_count, profile, value),
	{0},
};

static const struct compact_row resource_rows[] = {
	COMPACT_TEXTS_ROW(node_resource, name, name),
	COMPACT_PLAIN_ROW(node_resource, count, count),
	{0},
};

static const struct compact_row rows[] = {
	COMPACT_TEXTS_ROW(node, name, workload_config),
	COMPACT_ARRAY_ROW(node, deploys, struct node_deploy, deploy_rows),
	COMPACT_ARRAY_ROW(node, mig_counts, struct node_mig_count, mig_count_rows),
	COMPACT_ARRAY_ROW(node, allocatable, struct node_resource, resource_rows),
	COMPACT_PLAIN_ROW(node, is_found_by_nfd, is_found_by_nfd),
	{0},
};

static void change(struct record_set *set, struct record *old, struct record *record,
		   const struct record_event *event)
{
	const struct node *before = old ? old->object : NULL,
			  *node = record ? record->object : NULL;
	struct node_state *node_state;
	assert(old || record);
	node_state = record ? record->node_state : old->node_state;
	node_state->node = node;
	node_state->node_changes += !before || !node;
	if (!node)
		node_state->gone_at = event->now_ms;
	else if (!before || !view_equal(before->boot_id, node->boot_id))
		node_state_note_boot(set->node_states, node_state);
	node_state_touch(set->node_states, node_state, event->is_initial);
}

static struct view name_of(const void *node)
{
	return ((const struct node *)node)->name;
}

static const struct record_kind kind = {
	.rows = rows,
	.size = sizeof(struct node),
	.node_of = name_of,
	.change = change,
};

void node_set_init(struct record_set *set, struct node_state_set *node_states)
{
	record_set_init(set, &kind, node_states);
}
