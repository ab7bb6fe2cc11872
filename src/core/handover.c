/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A pod has an entry for each resource of each container, in any order, so what it has is added up
 * over all of them: as a sum of hashes, which does not depend on their order.
 */

#include "core/handover.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/lookup.h"

#define ARENA_CAP (16u * LIMIT_MIB) /* a report of 1 MiB has 20 000 entries at most */

/* A pod of a List. */
struct holder {
	const struct report_pod_resource *said; /* its first entry */
	uint64_t devices;
	int64_t differed_at;
};

struct holders {
	struct holder *items;
	uint32_t *of; /* of each entry: the index of its pod */
	struct lookup by_name;
};

static bool is_same_name(const struct report_pod_resource *a, const struct report_pod_resource *b)
{
	return view_equal(a->name, b->name) && view_equal(a->namespace, b->namespace);
}

static uint32_t hash_name(const struct report_pod_resource *said)
{
	return lookup_hash(lookup_hash(0, said->namespace), said->name);
}

static uint32_t find(const struct holders *holders, const struct report_pod_resource *said)
{
	uint32_t at = lookup_first(&holders->by_name, hash_name(said));

	while (at != LOOKUP_END && !is_same_name(holders->items[at].said, said))
		at = lookup_next(&holders->by_name, at);
	return at;
}

/* The sum of these tells sets apart only if no bit of one goes straight into a bit of the sum: the
 * finaliser of splitmix64. */
static uint64_t stir(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t hash_device(struct view container, struct view id)
{
	return stir((uint64_t)lookup_hash(0, container) << 32 | lookup_hash(0, id));
}

static void add(struct holders *holders, const struct report_pod_resource *said, uint32_t entry)
{
	uint32_t at = find(holders, said);

	if (at == LOOKUP_END) {
		at = lookup_add(&holders->by_name, hash_name(said));
		holders->items[at] = (struct holder){.said = said};
	}
	holders->of[entry] = at;
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		holders->items[at].devices +=
			hash_device(said->container,
				    *ARRAY_AT(said->device_ids, struct view, i));
}

static int read_list(struct array list, struct arena *arena, struct holders *ret,
		     struct error *err)
{
	*ret = (struct holders){
		.items = arena_alloc(arena, list.count, sizeof(struct holder)),
		.of = arena_alloc(arena, list.count, sizeof(uint32_t)),
	};
	if (!ret->items || !ret->of)
		return error_no_memory(err);
	if (lookup_make(&ret->by_name, list.count, arena, err) < 0)
		return -1;
	for (uint32_t i = 0; i < list.count; i++)
		add(ret, ARRAY_AT(list, struct report_pod_resource, i), i);
	return 0;
}

static void compare(const struct handover_list *before, const struct holders *then,
		    struct holders *now)
{
	for (uint32_t i = 0; before->differed_at && i < before->report->pod_resources.count; i++)
		then->items[then->of[i]].differed_at = before->differed_at[i];
	for (uint32_t i = 0; i < now->by_name.n; i++) {
		struct holder *holder = &now->items[i];
		uint32_t at = find(then, holder->said);

		if (at != LOOKUP_END)
			holder->differed_at = then->items[at].devices == holder->devices
						      ? then->items[at].differed_at
						      : before->listed_at;
	}
}

static bool is_anything_known(const struct handover_list *before, const struct report *now)
{
	return before->report && before->report->pod_resources.count > 0 &&
	       now->pod_resources.count > 0 &&
	       now->sources.pod_resources.observed_at >= before->listed_at;
}

static int find_in(struct arena *arena, const struct handover_list *before,
		   const struct report *now, int64_t *differed_at, struct error *err)
{
	struct holders then, present;

	if (read_list(before->report->pod_resources, arena, &then, err) < 0 ||
	    read_list(now->pod_resources, arena, &present, err) < 0)
		return -1;
	compare(before, &then, &present);
	for (uint32_t i = 0; i < now->pod_resources.count; i++)
		differed_at[i] = present.items[present.of[i]].differed_at;
	return 0;
}

int handover_find(const struct handover_list *before, const struct report *now,
		  int64_t **ret_differed_at, struct error *err)
{
	int64_t *differed_at;
	struct arena arena;
	int result;

	if (!is_anything_known(before, now)) {
		*ret_differed_at = NULL;
		return 0;
	}
	differed_at = calloc(now->pod_resources.count, sizeof(*differed_at));
	if (!differed_at)
		return error_no_memory(err);
	arena_init(&arena, ARENA_CAP);
	result = find_in(&arena, before, now, differed_at, err);
	arena_deinit(&arena);
	if (result < 0) {
		free(differed_at);
		return -1;
	}
	*ret_differed_at = differed_at;
	return 0;
}
