/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The ID is of an unknown form, or of a device or MIG instance that no source lists. Any device of the node
 * may be the one, so each says so. While the first report is awaited the published ones stay, but for pods
 * that are over.
 *
 * A report can name thousands of holders, and each device asks for them. So each is looked at once, and only
 * those that are published are looked up for each device.
 *
 * An ID that begins with a device's UUID is that device's, and its holder is a tenant. If what follows is of
 * no known form, the share of the device is not known.
 */

#include "join/subject.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"

struct unplaced_holder {
	const struct fact *items;
	size_t n_items;
	bool is_asked;
	enum debounce_answer answer; /* to whether it counts where it is not published */
	bool is_published;           /* by the device that is looked at */
};

struct unplaced {
	struct unplaced_holder *holders; /* by pod UID and container */
	size_t n;
};

int unplaced_gather(const struct facts *facts, struct arena *arena, struct unplaced **ret, struct error *err)
{
	struct unplaced *unplaced;
	const struct fact *items = &facts->items[facts->n_placed];
	const size_t n_items = facts->n_items - facts->n_placed;
	if (!ARENA_NEW(unplaced, arena, 1) || !ARENA_NEW(unplaced->holders, arena, n_items))
		return error_no_memory(err);
	for (size_t i = 0; i < n_items; i++) {
		if (i == 0 || items[i].owner->rank != items[i - 1].owner->rank)
			unplaced->holders[unplaced->n++].items = &items[i];
		unplaced->holders[unplaced->n - 1].n_items++;
	}
	*ret = unplaced;
	return 0;
}

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

static int by_holder(const void *key, const void *element)
{
	const struct attribution_unplaced *published = key;
	const struct holder *owner = ((const struct unplaced_holder *)element)->items->owner;
	return view_compare_pairs(published->pod_uid, published->container, owner->pod_uid, owner->container);
}

/* Says of each whom the device's status lists whether it is published. */
static void mark(const struct subject *subject, bool is_published)
{
	const struct unplaced *unplaced = subject->unplaced;
	const struct array listed = subject->published ? subject->published->unplaced_tenants : (struct array){0};
	ARRAY_EACH(const struct attribution_unplaced, published, listed) {
		struct unplaced_holder *found = bsearch(published, unplaced->holders, unplaced->n,
							sizeof(*unplaced->holders), by_holder);
		if (found)
			found->is_published = is_published;
	}
}

/* The same of each device, so it is asked once. */
static enum debounce_answer ask(const struct subject *subject, struct unplaced_holder *holder)
{
	const struct debounce_subject seen = {
		.kind = DEBOUNCE_UNPLACED,
		.pod_uid = holder->items->owner->pod_uid,
		.subject = holder->items->owner->container,
		.waits_ms = subject->facts->input->limits->disagreement_ms,
	};
	if (!holder->is_asked)
		holder->answer = debounce_ask(subject->debounce, &seen);
	else
		debounce_leave_out(subject->debounce, holder->answer == DEBOUNCE_NO_ROOM);
	holder->is_asked = true;
	return holder->answer;
}

static int list(const struct subject *subject, struct array *listed, int64_t *left_out, struct error *err)
{
	const struct unplaced *unplaced = subject->unplaced;
	struct attribution_unplaced *added = listed->items;
	int64_t n_waiting = 0;
	for (size_t i = 0; i < unplaced->n; i++) {
		struct unplaced_holder *holder = &unplaced->holders[i];
		if (!holder->is_published && ask(subject, holder) != DEBOUNCE_COUNTS)
			n_waiting++;
		else if (listed->count == LIMIT_UNPLACED_TENANTS)
			++*left_out;
		else if (describe(holder->items, holder->n_items, subject->arena, &added[listed->count++], err) < 0)
			return -1;
	}
	*left_out = debounce_left_out(
		*left_out, n_waiting, subject->published ? subject->published->unplaced_tenants_left_out : 0);
	return 0;
}

static int look(const struct subject *subject, struct array *listed, int64_t *left_out, struct error *err)
{
	int failed;
	mark(subject, true);
	failed = list(subject, listed, left_out, err);
	mark(subject, false);
	return failed;
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
		if (!subject->items[i].is_odd)
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
	} else if (look(subject, &listed, &left_out, err) < 0) {
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
