/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The ID is of an unknown form, or of a device or MIG instance that no source lists. Any device of the node
 * may be the one, so each says so. While the first report is awaited the published ones stay, but for pods
 * that are over.
 *
 * An ID that begins with a device's UUID is that device's, and its holder is a tenant. If what follows is of
 * no known form, the share of the device is not known.
 */

#include "join/subject.h"

#include <assert.h>

#include "base/limits.h"

/* Describes a holder by its facts. */
static int describe(const struct fact *items, size_t n_items, struct arena *arena,
		    struct attribution_unplaced *ret, struct error *err)
{
	const struct holder *owner = items->owner;
	uint32_t n = n_items < LIMIT_UNPLACED_IDS ? (uint32_t)n_items : LIMIT_UNPLACED_IDS;
	struct view *ids;
	if (!ARENA_NEW(ids, arena, n))
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

static bool counts(const struct subject *subject, const struct holder *owner)
{
	const struct debounce_subject seen = {
		.kind = DEBOUNCE_UNPLACED,
		.pod_uid = owner->pod_uid,
		.subject = owner->container,
		.waits_ms = subject->facts->input->limits->disagreement_ms,
		.is_published = subject->published && attribution_is_unplaced(subject->published, owner->pod_uid,
									      owner->container),
	};
	return debounce_counts(subject->debounce, &seen);
}

static int list(const struct subject *subject, struct array *listed, int64_t *left_out, struct error *err)
{
	const struct facts *facts = subject->facts;
	struct attribution_unplaced *added = listed->items;
	int64_t n_waiting = 0;
	size_t end;
	for (size_t at = facts->n_placed; at < facts->n_items; at = end) {
		const struct holder *owner = facts->items[at].owner;
		for (end = at + 1; end < facts->n_items; end++)
			if (facts->items[end].owner->rank != owner->rank)
				break;
		if (!counts(subject, owner))
			n_waiting++;
		else if (listed->count == LIMIT_UNPLACED_TENANTS)
			++*left_out;
		else if (describe(&facts->items[at], end - at, subject->arena, &added[listed->count++], err) < 0)
			return -1;
	}
	*left_out = debounce_left_out(
		*left_out, n_waiting, subject->published ? subject->published->unplaced_tenants_left_out : 0);
	return 0;
}

/* Of whom the API server never knew, it cannot tell. */
static bool is_gone(const struct node_pods *node_pods, const struct attribution_unplaced *unplaced)
{
	const struct pod *pod = node_pods_find_uid(node_pods, unplaced->pod_uid);
	return pod ? pod_is_over(pod) : unplaced->pod_name.len > 0;
}

static void keep(const struct subject *subject, struct array *listed)
{
	struct attribution_unplaced *added = listed->items;
	ARRAY_EACH(const struct attribution_unplaced, kept, subject->published->unplaced_tenants)
		if (listed->count < LIMIT_UNPLACED_TENANTS && !is_gone(&subject->facts->node_pods, kept))
			added[listed->count++] = *kept;
}

static void find_odd(struct subject *subject)
{
	for (size_t i = 0; i < subject->n_items; i++) {
		const struct view id = subject->items[i].id;
		if (!device_id_parse(id).is_odd)
			continue;
		if (subject->n_odd++ == 0 || view_compare(id, subject->odd_id) < 0)
			subject->odd_id = id;
	}
}

int unplaced_find(struct subject *subject, struct error *err)
{
	struct attribution_unplaced *room;
	struct array listed = {.present = true};
	int64_t left_out = 0;
	if (!ARENA_NEW(room, subject->arena, LIMIT_UNPLACED_TENANTS))
		return error_no_memory(err);
	listed.items = room;
	if (subject->is_awaited || (subject->facts->is_frozen && subject->published)) {
		keep(subject, &listed);
		left_out = subject->published->unplaced_tenants_left_out;
	} else if (list(subject, &listed, &left_out, err) < 0) {
		return -1;
	}
	assert(listed.count <= LIMIT_UNPLACED_TENANTS);
	if (listed.count == 0)
		listed.items = NULL;
	subject->status->unplaced_tenants = listed;
	subject->status->unplaced_tenants_left_out = left_out;
	find_odd(subject);
	return 0;
}
