/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy_set.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"

struct policy_record {
	struct store_entry entry; /* by name */
	struct arena arena;
	struct policy policy;
};

static struct policy_record *record_of(struct store_entry *entry)
{
	return CONTAINER_OF(entry, struct policy_record, entry);
}

static struct view record_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct policy_record, entry.node)->policy.name;
}

void policy_set_init(struct policy_set *set)
{
	*set = (struct policy_set){0};
	store_init(&set->store, record_key);
}

void policy_set_deinit(struct policy_set *set)
{
	assert(set->store.table.count == 0);
	store_deinit(&set->store);
}

static bool counts_before(const struct policy *a, const struct policy *b)
{
	if (a->created_at != b->created_at)
		return a->created_at < b->created_at;
	return view_compare(a->name, b->name) < 0;
}

/* The operator's own rule since its release 26.7: the oldest counts, then the lowest name. */
static void choose(struct policy_set *set)
{
	const struct table *table = &set->store.table;
	struct table_node *node = NULL;

	set->intent.policy = NULL;
	set->intent.n_policies = (uint32_t)table->count;
	while ((node = table_next(table, node))) {
		const struct policy *policy =
			&CONTAINER_OF(node, struct policy_record, entry.node)->policy;

		if (!set->intent.policy || counts_before(policy, set->intent.policy))
			set->intent.policy = policy;
	}
	assert(!set->intent.policy == (set->intent.n_policies == 0));
}

static void record_free(struct policy_record *record)
{
	arena_deinit(&record->arena);
	free(record);
}

static int copy(struct arena *arena, const struct policy *from, struct policy *to,
		struct error *err)
{
	*to = *from;
	if (!arena_copy(arena, from->name, &to->name) || !arena_copy(arena, from->uid, &to->uid) ||
	    !arena_copy(arena, from->state, &to->state) ||
	    !arena_copy(arena, from->namespace, &to->namespace) ||
	    !arena_copy(arena, from->mig_strategy, &to->mig_strategy) ||
	    !arena_copy(arena, from->plugin_config, &to->plugin_config) ||
	    !arena_copy(arena, from->plugin_config_default, &to->plugin_config_default) ||
	    !arena_copy(arena, from->driver_version, &to->driver_version))
		return error_no_memory(err);
	return 0;
}

static int record_new(const struct policy *policy, struct policy_record **ret_record,
		      struct error *err)
{
	struct policy_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	arena_init(&record->arena, LIMIT_OBJECT_BYTES);
	if (copy(&record->arena, policy, &record->policy, err) < 0) {
		record_free(record);
		return -1;
	}
	*ret_record = record;
	return 0;
}

int policy_set_put(struct policy_set *set, const struct policy *policy, enum store_change change,
		   uint64_t version, bool *ret_changed, struct error *err)
{
	struct policy_record *record = NULL;
	struct store_entry *entry;
	enum store_verdict verdict;
	int failed;

	if (record_new(policy, &record, err) < 0)
		return -1;
	verdict = store_judge(&set->store, policy->name, change, version, &entry);
	*ret_changed = verdict == STORE_INSERT || verdict == STORE_UPDATE;
	if (!*ret_changed) {
		record_free(record);
		return 0;
	}
	if (verdict == STORE_UPDATE) {
		store_remove(&set->store, entry);
		record_free(record_of(entry));
	}
	failed = store_add(&set->store, &record->entry, version, err);
	if (failed)
		record_free(record);
	choose(set);
	return failed;
}

void policy_set_remove(struct policy_set *set, struct store_entry *entry)
{
	store_remove(&set->store, entry);
	record_free(record_of(entry));
	choose(set);
}
