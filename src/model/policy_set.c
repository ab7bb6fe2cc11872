/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy_set.h"

#include <assert.h>

static bool counts_before(const struct policy *a, const struct policy *b)
{
	if (a->created_at != b->created_at)
		return a->created_at < b->created_at;
	return view_compare(a->name, b->name) < 0;
}

/* The operator's own rule since its release 26.7: the oldest counts, then the lowest name. */
static void choose(struct policy_set *set)
{
	const struct record *record = NULL;

	set->intent.policy = NULL;
	set->intent.n_policies = (uint32_t)set->records.store.table.count;
	while ((record = record_set_next(&set->records, record))) {
		const struct policy *policy = record->object;

		if (!set->intent.policy || counts_before(policy, set->intent.policy))
			set->intent.policy = policy;
	}
	assert(!set->intent.policy == (set->intent.n_policies == 0));
}

static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	(void)old;
	(void)record;
	choose(CONTAINER_OF(records, struct policy_set, records));
	node_state_touch_all(records->node_states, false, event->is_initial);
}

static void count_clusters(struct record_set *records, struct record *old, struct record *record,
			   const struct record_event *event)
{
	struct policy_set *set = CONTAINER_OF(records, struct policy_set, gpu_clusters);

	(void)old;
	(void)record;
	set->intent.n_gpu_clusters = (uint32_t)records->store.table.count;
	node_state_touch_all(records->node_states, false, event->is_initial);
}

static const struct record_kind kind = {
	.rows = policy_rows,
	.size = sizeof(struct policy),
	.change = change,
};

static const struct record_kind cluster_kind = {
	.rows = policy_gpu_cluster_rows,
	.size = sizeof(struct gpu_cluster),
	.change = count_clusters,
};

void policy_set_init(struct policy_set *set, struct node_state_set *node_states)
{
	*set = (struct policy_set){0};
	record_set_init(&set->records, &kind, node_states);
	record_set_init(&set->gpu_clusters, &cluster_kind, node_states);
}
