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

#include "base/limits.h"

struct unplaced_holder {
	const struct fact *items;
	size_t n_items;
	const struct device *published_by; /* the last of those looked at that is published with it */
	bool is_asked;
	enum debounce_answer answer; /* to whether it counts where it is not published */
};

struct unplaced {
	struct unplaced_holder *holders; /* by pod UID and container */
	size_t n;
	struct keyed by_container; /* these */
};

int unplaced_gather(const struct facts *facts, struct arena *arena, struct unplaced **ret, struct error *err)
{
	struct unplaced *unplaced;
	if (!ARENA_NEW(unplaced, arena, 1) ||
	    !ARENA_NEW(unplaced->holders, arena, facts->n_items - facts->n_placed))
		return error_no_memory(err);
	unplaced->by_container.arena = arena;
	for (size_t i = facts->n_placed; i < facts->n_items; i++) {
		const struct holder *owner = facts->items[i].owner;
		struct unplaced_holder *holder = &unplaced->holders[unplaced->n];
		if (i == facts->n_placed || owner->rank != facts->items[i - 1].owner->rank) {
			keyed_add(&unplaced->by_container,
				  KEYED_KEY(owner->pod_uid, owner->container), holder);
			holder->items = &facts->items[i];
			unplaced->n++;
		}
		unplaced->holders[unplaced->n - 1].n_items++;
	}
	*ret = unplaced;
	return arena_check(arena, err);
}

/* Describes a holder by its facts. */
static void describe(const struct unplaced_holder *holder, struct arena *arena,
		     struct attribution_unplaced *ret)
{
	const struct holder *owner = holder->items->owner;
	const size_t n_items = holder->n_items;
	uint32_t n = n_items < LIMIT_UNPLACED_IDS ? (uint32_t)n_items : LIMIT_UNPLACED_IDS;
	struct view *ids;
	if (!ARENA_NEW(ids, arena, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		ids[i] = holder->items[i].id;
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
}

static void mark_published(const struct subject *subject)
{
	const struct array listed = subject->published ? subject->published->unplaced_tenants : (struct array){0};
	ARRAY_EACH(const struct attribution_unplaced, was, listed) {
		struct unplaced_holder *found = keyed_find(&subject->unplaced->by_container,
							   KEYED_KEY(was->pod_uid, was->container));
		if (found)
			found->published_by = subject->device;
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

static void list(const struct subject *subject, struct array *listed, int64_t *left_out)
{
	const struct unplaced *unplaced = subject->unplaced;
	struct attribution_unplaced *added = listed->items;
	int64_t n_waiting = 0;
	mark_published(subject);
	for (size_t i = 0; i < unplaced->n; i++) {
		struct unplaced_holder *holder = &unplaced->holders[i];
		if (holder->published_by != subject->device && ask(subject, holder) != DEBOUNCE_COUNTS)
			n_waiting++;
		else if (listed->count == LIMIT_UNPLACED_TENANTS)
			++*left_out;
		else
			describe(holder, subject->arena, &added[listed->count++]);
	}
	*left_out = debounce_left_out(
		*left_out, n_waiting, subject->published ? subject->published->unplaced_tenants_left_out : 0);
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
	} else {
		list(subject, &listed, &left_out);
	}
	assert(listed.count <= LIMIT_UNPLACED_TENANTS);
	if (listed.count == 0)
		listed.items = NULL;
	subject->status->unplaced_tenants = listed;
	subject->status->unplaced_tenants_left_out = left_out;
	find_odd(subject);
	return arena_check(subject->arena, err);
}
