/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hysteresis is in two places. The form by node begins a tenth of the threshold below it, and ends a
 * tenth above. And a figure must stay beyond its bound for a while. The first
 * decision has no form to keep, so the threshold itself counts.
 */

#include "controller/pod_selection.h"

#include <assert.h>
#include <stdlib.h>

#define BAND 10u             /* a tenth of the threshold, and of the number of nodes */
#define SMALLEST_PERCENT 80u /* of POD_SELECTION_MIN_NODES: below that the form by node ends */

static struct pod_selection_node *node_of(struct table_node *link)
{
	return link ? CONTAINER_OF(link, struct pod_selection_node, link) : NULL;
}

static struct view name_of(const struct table_node *link)
{
	return CONTAINER_OF(link, struct pod_selection_node, link)->name;
}

void pod_selection_init(struct pod_selection *selection, enum pod_selection_policy policy,
			uint32_t threshold_percent, uint32_t max_nodes)
{
	assert(max_nodes <= POD_SELECTION_MAX);
	*selection = (struct pod_selection){
		.policy = policy,
		.threshold_percent = threshold_percent,
		.max_nodes = max_nodes ? max_nodes : POD_SELECTION_MAX,
	};
	table_init(&selection->by_name, name_of);
}

static void forget(struct pod_selection *selection, struct pod_selection_node *node)
{
	table_remove(&selection->by_name, &node->link);
	free(node);
}

void pod_selection_deinit(struct pod_selection *selection)
{
	struct table_node *link;

	while (selection->by_name.count > 0 && (link = table_next(&selection->by_name, NULL)))
		forget(selection, node_of(link));
	table_deinit(&selection->by_name);
}

static int add(struct pod_selection *selection, struct view name, uint64_t now, struct error *err)
{
	struct pod_selection_node *node = calloc(1, sizeof(*node) + name.len);

	if (!node)
		return error_no_memory(err);
	node->name = view_copy(name, (char *)(node + 1));
	node->seen_at = now;
	if (table_add(&selection->by_name, &node->link, err) < 0) {
		free(node);
		return -1;
	}
	return 0;
}

int pod_selection_see(struct pod_selection *selection, struct view name, uint64_t now,
		      struct error *err)
{
	struct pod_selection_node *node = node_of(table_find(&selection->by_name, name));

	if (node) {
		node->seen_at = now;
		return 0;
	}
	if (selection->by_name.count < selection->max_nodes)
		return add(selection, name, now, err);
	selection->is_over = true;
	selection->n_over++;
	return 0;
}

static void forget_old(struct pod_selection *selection, uint64_t now)
{
	struct table_node *link = table_next(&selection->by_name, NULL);

	while (link) {
		struct pod_selection_node *node = node_of(link);

		link = table_next(&selection->by_name, link);
		if (now - node->seen_at > POD_SELECTION_KEEP_MS)
			forget(selection, node);
	}
}

static bool is_possible(const struct pod_selection *selection,
			const struct pod_selection_facts *facts)
{
	return selection->policy != POD_SELECTION_ALWAYS_CLUSTER && facts->may_share &&
	       !selection->is_over;
}

/* The form that the figures ask for; the one there is where they do not clearly ask for another. */
static enum pod_selection_form judge(const struct pod_selection *selection,
				     const struct pod_selection_facts *facts)
{
	const uint64_t share = (uint64_t)selection->by_name.count * 100;
	const uint64_t bound = (uint64_t)selection->threshold_percent * facts->n_nodes;
	const bool is_by_node = selection->form == POD_SELECTION_NODE;
	uint64_t smallest = POD_SELECTION_MIN_NODES, highest = bound;

	if (selection->policy == POD_SELECTION_ALWAYS_NODE)
		return POD_SELECTION_NODE;
	if (selection->form == POD_SELECTION_CLUSTER)
		highest = bound - bound / BAND;
	if (is_by_node) {
		smallest = (uint64_t)POD_SELECTION_MIN_NODES * SMALLEST_PERCENT / 100;
		highest = bound + bound / BAND;
	}
	return facts->n_nodes >= smallest && share <= highest ? POD_SELECTION_NODE
							      : POD_SELECTION_CLUSTER;
}

void pod_selection_look(struct pod_selection *selection, const struct pod_selection_facts *facts)
{
	enum pod_selection_form wanted;

	forget_old(selection, facts->now);
	wanted = is_possible(selection, facts) ? judge(selection, facts) : POD_SELECTION_CLUSTER;
	if (wanted != selection->asked_for)
		selection->asked_since = facts->now;
	selection->asked_for = wanted;
	if (selection->form == POD_SELECTION_UNDECIDED || !is_possible(selection, facts) ||
	    facts->now - selection->asked_since >= POD_SELECTION_SETTLE_MS)
		selection->form = wanted;
	selection->is_over = false;
}

bool pod_selection_wants(const struct pod_selection *selection, struct view name)
{
	return table_find(&selection->by_name, name) != NULL;
}

const struct pod_selection_node *pod_selection_next(const struct pod_selection *selection,
						    const struct pod_selection_node *node)
{
	return node_of(table_next(&selection->by_name, node ? &node->link : NULL));
}

size_t pod_selection_count(const struct pod_selection *selection)
{
	return selection->by_name.count;
}
