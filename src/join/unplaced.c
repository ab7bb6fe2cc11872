/* SPDX-License-Identifier: Apache-2.0 */
#include "join/unplaced.h"

#include <assert.h>

#include "base/limits.h"

/* The facts of one container. */
struct group {
	const struct fact *items;
	size_t n;
};

static struct group next_group(const struct fact *items, size_t n_items)
{
	size_t n = 1;
	assert(n_items > 0);
	while (n < n_items && items[n].owner->rank == items->owner->rank)
		n++;
	return (struct group){items, n};
}

static int describe(struct group group, struct arena *arena, struct attribution_unplaced *ret,
		    struct error *err)
{
	const struct holder *owner = group.items->owner;
	uint32_t n = group.n < LIMIT_UNPLACED_IDS ? (uint32_t)group.n : LIMIT_UNPLACED_IDS;
	struct view *ids = arena_alloc(arena, n, sizeof(*ids));
	if (!ids)
		return error_no_memory(err);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = group.items[i].id;
	*ret = (struct attribution_unplaced){
		.pod_uid = owner->pod_uid,
		.container = owner->container,
		.resource = owner->resource,
		.device_ids = {ids, n, true},
		.device_ids_left_out = (int64_t)(group.n - n),
	};
	if (owner->pod) {
		ret->pod_namespace = pod_namespace(owner->pod);
		ret->pod_name = pod_name(owner->pod);
	}
	return 0;
}

static const struct attribution_status *published_of(const struct stage *stage)
{
	const struct previous *published =
		stage->facts->devices->devices[stage->device].published;
	return published ? published->status : NULL;
}

static bool counts(const struct stage *stage, struct group group)
{
	const struct attribution_status *published = published_of(stage);
	const struct holder *owner = group.items->owner;
	const struct debounce_subject subject = {
		.kind = DEBOUNCE_UNPLACED,
		.pod_uid = owner->pod_uid,
		.subject = owner->container,
		.waits_ms = stage->facts->input->limits->disagreement_ms,
		.is_published = published && attribution_is_unplaced(published, owner->pod_uid,
								     owner->container),
	};
	return debounce_counts(stage->debounce, &subject);
}

static int list(const struct stage *stage, struct attribution_unplaced *listed,
		struct unplaced *result, struct error *err)
{
	const struct attribution_status *published = published_of(stage);
	const struct facts *facts = stage->facts;
	int64_t n_waiting = 0;
	struct group group;

	assert(facts->n_placed <= facts->n_items);
	for (size_t at = facts->n_placed; at < facts->n_items; at += group.n) {
		group = next_group(facts->items + at, facts->n_items - at);
		if (!counts(stage, group))
			n_waiting++;
		else if (result->listed.count == LIMIT_UNPLACED_TENANTS)
			result->left_out++;
		else if (describe(group, stage->arena, &listed[result->listed.count++], err) < 0)
			return -1;
	}
	result->left_out = debounce_left_out(result->left_out, n_waiting,
					     published ? published->unplaced_tenants_left_out : 0);
	return 0;
}

/* Of whom the API server never knew, it cannot tell. */
static bool is_gone(const struct node_pods *node_pods, const struct attribution_unplaced *unplaced)
{
	const struct pod *pod = node_pods_find_uid(node_pods, unplaced->pod_uid);
	return pod ? pod_is_over(pod) : unplaced->pod_name.len > 0;
}

static void keep(const struct stage *stage, struct attribution_unplaced *listed,
		 struct unplaced *result)
{
	const struct attribution_status *published = published_of(stage);

	assert(published);
	for (uint32_t i = 0; i < published->unplaced_tenants.count &&
			     result->listed.count < LIMIT_UNPLACED_TENANTS; i++) {
		const struct attribution_unplaced *before =
			ARRAY_AT(published->unplaced_tenants, struct attribution_unplaced, i);
		if (!is_gone(&stage->facts->node_pods, before))
			listed[result->listed.count++] = *before;
	}
	result->left_out = published->unplaced_tenants_left_out;
}

static void note_odd(const struct stage *stage, struct unplaced *unplaced)
{
	size_t n_items;
	const struct fact *items = facts_of(stage->facts, stage->device, &n_items);

	for (size_t i = 0; i < n_items; i++) {
		if (!device_id_parse(items[i].id).is_odd)
			continue;
		if (unplaced->n_odd++ == 0 || view_compare(items[i].id, unplaced->odd_id) < 0)
			unplaced->odd_id = items[i].id;
	}
}

int unplaced_find(const struct stage *stage, struct unplaced *ret_unplaced, struct error *err)
{
	struct attribution_unplaced *listed = arena_alloc(stage->arena, LIMIT_UNPLACED_TENANTS,
							  sizeof(*listed));
	struct unplaced result = {0};

	if (!listed)
		return error_no_memory(err);
	if (stage->is_awaited || (stage->facts->is_frozen && published_of(stage)))
		keep(stage, listed, &result);
	else if (list(stage, listed, &result, err) < 0)
		return -1;
	assert(result.listed.count <= LIMIT_UNPLACED_TENANTS);
	result.listed.items = result.listed.count > 0 ? listed : NULL;
	result.listed.present = true;
	note_odd(stage, &result);
	*ret_unplaced = result;
	return 0;
}
