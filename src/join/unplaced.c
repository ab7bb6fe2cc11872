/* SPDX-License-Identifier: Apache-2.0 */
#include "join/unplaced.h"

#include <assert.h>

#include "base/limits.h"

static bool is_same_owner(const struct fact *a, const struct fact *b)
{
	return a->owner->rank == b->owner->rank;
}

static int describe(const struct fact *group, size_t n_group, struct arena *arena,
		    struct attribution_unplaced *ret, struct error *err)
{
	const struct holder *owner = group[0].owner;
	uint32_t n = n_group < LIMIT_UNPLACED_IDS ? (uint32_t)n_group : LIMIT_UNPLACED_IDS;
	struct view *ids = arena_alloc(arena, n, sizeof(*ids));
	if (!ids)
		return error_no_memory(err);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = group[i].id;
	*ret = (struct attribution_unplaced){
		.pod_uid = owner->pod_uid,
		.container = owner->container,
		.resource = owner->resource,
		.device_ids = {ids, n, true},
		.device_ids_left_out = (int64_t)(n_group - n),
	};
	if (owner->pod) {
		ret->pod_namespace = pod_namespace(owner->pod);
		ret->pod_name = pod_name(owner->pod);
	}
	return 0;
}

/* That a claim is gone, and its device another now, does not depend on when NVML is read. */
static bool is_lost(const struct fact *group, size_t n_group)
{
	for (size_t i = 0; i < n_group; i++) {
		if (group[i].is_lost)
			return true;
	}
	return false;
}

static bool counts(const struct facts *facts, const struct attribution_status *published,
		   const struct fact *group, size_t n_group, struct debounce *doubts)
{
	const struct holder *owner = group[0].owner;
	const struct debounce_subject fact = {
		.kind = DEBOUNCE_UNPLACED,
		.pod_uid = owner->pod_uid,
		.subject = owner->container,
		.waits_ms = facts->input->limits->disagreement_ms,
		.is_published = (published && attribution_is_unplaced(published, owner->pod_uid,
								      owner->container)) ||
				is_lost(group, n_group),
	};
	return debounce_counts(doubts, &fact);
}

int unplaced_list(const struct facts *facts, const struct attribution_status *published,
		  struct debounce *doubts, struct arena *arena, struct unplaced *ret_unplaced,
		  struct error *err)
{
	const struct fact *items = facts->items + facts->n_placed;
	size_t n_items = facts->n_items - facts->n_placed, n;
	struct unplaced result = {0};
	int64_t n_waiting = 0;
	assert(facts->n_placed <= facts->n_items);
	struct attribution_unplaced *listed = arena_alloc(arena, LIMIT_UNPLACED_TENANTS,
							  sizeof(*listed));

	if (!listed)
		return error_no_memory(err);
	for (size_t first = 0; first < n_items; first += n) {
		n = 1;
		while (first + n < n_items && is_same_owner(&items[first], &items[first + n]))
			n++;
		if (!counts(facts, published, &items[first], n, doubts))
			n_waiting++;
		else if (result.listed.count == LIMIT_UNPLACED_TENANTS)
			result.left_out++;
		else if (describe(&items[first], n, arena, &listed[result.listed.count++], err) < 0)
			return -1;
	}
	result.left_out = debounce_left_out(result.left_out, n_waiting,
					 published ? published->unplaced_tenants_left_out : 0);
	result.listed.items = result.listed.count > 0 ? listed : NULL;
	result.listed.present = true;
	assert(result.listed.count <= LIMIT_UNPLACED_TENANTS);
	*ret_unplaced = result;
	return 0;
}

void unplaced_note_odd(const struct facts *facts, size_t device, struct unplaced *unplaced)
{
	size_t n_items;
	const struct fact *items = facts_of(facts, device, &n_items);

	for (size_t i = 0; i < n_items; i++) {
		if (!device_id_parse(items[i].id).is_odd)
			continue;
		if (unplaced->n_odd++ == 0 || view_compare(items[i].id, unplaced->odd_id) < 0)
			unplaced->odd_id = items[i].id;
	}
}
