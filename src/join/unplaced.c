/* SPDX-License-Identifier: Apache-2.0 */
#include "join/unplaced.h"

#include <assert.h>

#include "base/limits.h"

/* Describes a holder by its facts. */
static int describe(const struct fact *items, size_t n_items, struct arena *arena,
		    struct attribution_unplaced *ret, struct error *err)
{
	const struct holder *owner = items->owner;
	uint32_t n = n_items < LIMIT_UNPLACED_IDS ? (uint32_t)n_items : LIMIT_UNPLACED_IDS;
	struct view *ids = arena_alloc(arena, n, sizeof(*ids));
	if (!ids)
		return error_no_memory(err);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = items[i].id;
	*ret = (struct attribution_unplaced){
		.pod_uid = owner->pod_uid,
		.container = owner->container,
		.resource = owner->resource,
		.device_ids = {ids, n, true},
		.device_ids_left_out = (int64_t)(n_items - n),
	};
	if (owner->pod) {
		ret->pod_namespace = pod_namespace(owner->pod);
		ret->pod_name = pod_name(owner->pod);
	}
	return 0;
}

static bool counts(const struct stage *stage, const struct attribution_status *published,
		   const struct holder *owner)
{
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

static int list(const struct stage *stage, const struct attribution_status *published,
		struct unplaced *result, struct error *err)
{
	const struct facts *facts = stage->facts;
	struct attribution_unplaced *listed = result->listed.items;
	int64_t n_waiting = 0;
	size_t end;

	for (size_t at = facts->n_placed; at < facts->n_items; at = end) {
		const struct holder *owner = facts->items[at].owner;
		for (end = at + 1; end < facts->n_items; end++)
			if (facts->items[end].owner->rank != owner->rank)
				break;
		if (!counts(stage, published, owner))
			n_waiting++;
		else if (result->listed.count == LIMIT_UNPLACED_TENANTS)
			result->left_out++;
		else if (describe(&facts->items[at], end - at, stage->arena,
				  &listed[result->listed.count++], err) < 0)
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

static void keep(const struct stage *stage, const struct attribution_status *published,
		 struct unplaced *result)
{
	const struct attribution_unplaced *before = published->unplaced_tenants.items;
	struct attribution_unplaced *listed = result->listed.items;

	for (uint32_t i = 0; i < published->unplaced_tenants.count &&
			     result->listed.count < LIMIT_UNPLACED_TENANTS; i++)
		if (!is_gone(&stage->facts->node_pods, &before[i]))
			listed[result->listed.count++] = before[i];
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
	const struct previous *before = stage->facts->devices->devices[stage->device].published;
	const struct attribution_status *published = before ? before->status : NULL;
	struct unplaced result = {.listed.present = true};

	result.listed.items = arena_alloc(stage->arena, LIMIT_UNPLACED_TENANTS,
					  sizeof(struct attribution_unplaced));
	if (!result.listed.items)
		return error_no_memory(err);
	if (stage->is_awaited || (stage->facts->is_frozen && published))
		keep(stage, published, &result);
	else if (list(stage, published, &result, err) < 0)
		return -1;
	assert(result.listed.count <= LIMIT_UNPLACED_TENANTS);
	if (result.listed.count == 0)
		result.listed.items = NULL;
	note_odd(stage, &result);
	*ret_unplaced = result;
	return 0;
}
