/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy_set.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"

struct policy_record {
	struct record base;
	struct arena arena;
	struct policy policy;
};

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
		const struct policy *policy =
			&CONTAINER_OF(record, struct policy_record, base)->policy;

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
	place_touch_all(records->places, event->is_initial);
}

static void free_record(struct record_set *records, struct record *base)
{
	struct policy_record *record = CONTAINER_OF(base, struct policy_record, base);

	(void)records;
	arena_deinit(&record->arena);
	free(record);
}

static const struct record_kind kind = {
	.change = change,
	.free = free_record,
};

void policy_set_init(struct policy_set *set, struct place_book *places)
{
	*set = (struct policy_set){0};
	record_set_init(&set->records, &kind, places);
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

int policy_set_put(struct policy_set *set, const struct policy *policy,
		   const struct record_event *event, struct error *err)
{
	struct policy_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	arena_init(&record->arena, LIMIT_OBJECT_BYTES);
	if (copy(&record->arena, policy, &record->policy, err) < 0) {
		free_record(&set->records, &record->base);
		return -1;
	}
	record->base.key = record->policy.name;
	return record_set_put(&set->records, &record->base, (struct view){0}, event, err);
}
