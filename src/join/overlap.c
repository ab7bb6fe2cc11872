/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A unit that is for one pod alone, in the hands of several: a whole device, a MIG device or one
 * replica of either. A kubelet that lost its records gives out anew what running pods still have. A
 * device plugin and a driver of claims may both hand out a device.
 *
 * Only facts that are seen now count, and pods that the API server has and that are not over. Pods that
 * claims alone gave the device share it by right. So do those for whom KAI's reservation holds it,
 * which is a holder like any other. The news of an end may come late, so an overlap is debounced.
 *
 * Once one counts, the message is about the lowest unit in several hands. So the next join, which
 * knows that one was published and not which, names the same. Pods that are not named are counted.
 *
 * Who holds what is a list of seats, put in the order of what is held. Where nothing is shared a
 * unit (the device, or a MIG device) has one seat; of what is shared each replica is a unit.
 */

#include "join/subject.h"

#include <assert.h>

#include "assess/shared_unit.h"
#include "base/sbuf.h"
#include "base/sort.h"

struct seat {
	struct view unit;
	struct view resource; /* of a replica: each resource has its own of that ID */
	const struct pod *pod;
	bool is_claimed;
};

struct finder {
	const struct subject *subject;
	bool has_whole_claimed, has_whole_given; /* the whole device: by a claim, by the plugin */
	struct seat *seats;
	size_t n_seats;
};

/*
 * What a List says and a good checkpoint does not has been given back: kubelets before 1.34 list
 * what pods that ended had. So may have been what was last read of a source that fails.
 */
static unsigned believed(const struct facts *facts)
{
	unsigned witnesses = WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM;
	if (source_is_good(facts->source.checkpoint))
		witnesses |= WITNESS_CHECKPOINT;
	else if (source_is_good(facts->source.pod_resources))
		witnesses |= WITNESS_POD_RESOURCES;
	return witnesses;
}

static bool is_seat(const struct finder *finder, const struct fact *item)
{
	return (item->witnesses & believed(finder->subject->facts)) && !item->is_monitor;
}

static bool is_claimed(const struct fact *item)
{
	return (item->witnesses & WITNESS_RESOURCE_CLAIM) != 0;
}

static bool is_whole(const struct fact *item)
{
	return item->partition.len == 0 && !item->is_part && !item->is_replica && !item->is_odd;
}

/* Whoever has the whole device by a claim shares it with nobody to whom the plugin gives a part. */
static struct view unit_of(const struct finder *finder, const struct fact *item)
{
	if (is_whole(item) || (is_claimed(item) ? finder->has_whole_given : finder->has_whole_claimed))
		return finder->subject->device->uuid;
	return item->partition.len == 0 || item->is_replica ? item->id : item->partition;
}

static void add_seat(struct finder *finder, const struct fact *item)
{
	const struct view unit = unit_of(finder, item), none = {0};
	const bool is_replica = unit.ptr == item->id.ptr ? item->is_replica : device_id_parse(unit).is_replica;
	finder->seats[finder->n_seats++] = (struct seat){
		unit, is_replica ? item->owner->resource : none, item->owner->pod, is_claimed(item)};
}

static void read_facts(struct finder *finder)
{
	const struct fact *items = finder->subject->items;
	const size_t n_items = finder->subject->n_items;
	for (size_t i = 0; i < n_items; i++)
		if (is_seat(finder, &items[i]) && is_whole(&items[i]))
			*(is_claimed(&items[i]) ? &finder->has_whole_claimed
						: &finder->has_whole_given) = true;
	for (size_t i = 0; i < n_items; i++)
		if (is_seat(finder, &items[i]) && items[i].owner->pod)
			add_seat(finder, &items[i]);
	assert(finder->n_seats <= n_items);
}

static int compare_units(const struct seat *a, const struct seat *b)
{
	return view_compare_pairs(a->unit, a->resource, b->unit, b->resource);
}

static int by_unit(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int order = compare_units(x, y);
	return order ? order : view_compare(pod_uid(x->pod), pod_uid(y->pod));
}

/* The pods that hold one unit. */
struct holding {
	struct view unit;
	const struct pod *pods[OVERLAP_PODS]; /* the first of them */
	size_t n_pods;
	bool is_given; /* to one of them, by other than a claim: it is for one pod */
};

/* Reads the seats of one unit; returns how many they are. */
static size_t read_unit(const struct seat *seats, size_t n_seats, struct holding *ret)
{
	struct holding holding = {.unit = seats->unit};
	size_t i;
	assert(n_seats > 0);
	for (i = 0; i < n_seats && compare_units(seats, &seats[i]) == 0; i++) {
		holding.is_given |= !seats[i].is_claimed;
		if (i > 0 && seats[i].pod == seats[i - 1].pod)
			continue;
		if (holding.n_pods < OVERLAP_PODS)
			holding.pods[holding.n_pods] = seats[i].pod;
		holding.n_pods++;
	}
	*ret = holding;
	return i;
}

/* A unit is of one device only. */
static bool counts(const struct finder *finder, const struct holding *holding)
{
	const struct previous *published = finder->subject->device->published;
	const struct debounce_subject seen = {
		.kind = DEBOUNCE_OVERLAP,
		.keeps_age = true,
		.subject = holding->unit,
		.waits_ms = finder->subject->facts->input->limits->disagreement_ms,
		.is_published = published && published->attributed == REASON_SLOT_HELD_TWICE,
	};
	return debounce_counts(finder->subject->debounce, &seen);
}

/* Each unit is looked at: all of them wait at the same time. */
static bool find(const struct finder *finder, struct holding *ret_lowest)
{
	struct holding holding;
	bool is_any = false, does_any_count = false;
	for (size_t i = 0; i < finder->n_seats;) {
		i += read_unit(&finder->seats[i], finder->n_seats - i, &holding);
		if (holding.n_pods < 2 || !holding.is_given)
			continue;
		does_any_count |= counts(finder, &holding);
		if (!is_any)
			*ret_lowest = holding;
		is_any = true;
	}
	return does_any_count;
}

static int tell(const struct holding *holding, struct arena *arena, struct view *ret_message, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf message;
	size_t n_named = holding->n_pods < OVERLAP_PODS ? holding->n_pods : OVERLAP_PODS;
	assert(holding->n_pods > 1);
	sbuf_init(&message, OVERLAP_MESSAGE);
	wording_held_twice(holding->unit, holding->pods, n_named, holding->n_pods - n_named, &message);
	return sbuf_keep(&message, "message", arena, ret_message, err);
}

int overlap_find(struct subject *subject, struct error *err)
{
	struct finder finder = {.subject = subject};
	struct holding found;
	if (!ARENA_NEW(finder.seats, subject->arena, subject->n_items))
		return error_no_memory(err);
	read_facts(&finder);
	sort_items(finder.seats, finder.n_seats, sizeof(*finder.seats), by_unit);
	return find(&finder, &found) ? tell(&found, subject->arena, &subject->held_twice, err) : 0;
}

/* What is kept */

int overlap_find_possible(struct subject *subject, struct error *err)
{
	const struct array tenants = subject->status->tenants, whole = array_of(&(struct view){0}, 1);
	const bool is_whole = subject->status->sharing.mode == ATTRIBUTION_MODE_EXCLUSIVE;
	CLEANUP(arena_deinit) struct arena scratch;
	struct shared_unit_seat *seats;
	size_t n = 0, n_facts;
	arena_init(&scratch, SIZE_MAX);
	if (subject->tenants.slots_kept == 0 || (!is_whole && subject->status->sharing.mode != ATTRIBUTION_MODE_MIG))
		return 0;
	ARRAY_EACH(const struct attribution_tenant, t, tenants)
		n += is_whole ? 1 : t->partitions.count;
	if (!ARENA_NEW(seats, &scratch, n))
		return error_no_memory(err);
	n = 0;
	ARRAY_EACH(const struct attribution_tenant, t, tenants) {
		(void)facts_of_holder(subject->facts, subject->index, t->pod_uid, t->container, &n_facts);
		ARRAY_EACH(const struct view, unit, is_whole ? whole : t->partitions)
			if (t->slots > 0)
				seats[n++] = (struct shared_unit_seat){*unit, t->pod_uid, n_facts == 0};
	}
	subject->may_be_held_twice = shared_unit_is_any(seats, n);
	return 0;
}
