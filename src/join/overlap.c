/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who holds what is a list of seats, put in the order of what is held. Where nothing is shared a
 * unit (the device, or a MIG device) has one seat; of what is shared each replica is a unit.
 *
 * A tenant that is carried over has no ID any more. Where nothing is shared it is on the whole of
 * the device, or of the MIG devices that were published with it; which replica it had nobody can
 * tell. Two of those may be left over from when it was shared: somebody must have been given it
 * since.
 */

#include "join/overlap.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/sbuf.h"
#include "join/claimant.h"

struct seat {
	struct view unit;
	struct view resource; /* of a replica: each resource has its own of that ID */
	const struct pod *pod;
	bool is_claimed;
	bool is_kept; /* by no book that names it now */
};

struct finder {
	const struct facts *facts;
	const struct device *device;
	size_t index;
	const struct attribution_status *status; /* as it will be, so far */
	struct view before; /* what was published of one; empty: there was none */
	bool is_lenient;    /* what was read last counts, too: it is to end by what is known only */
	bool has_whole_claimed, has_whole_given; /* the whole device: by a claim, by the plugin */
	struct seat *seats;
	size_t n_seats, seats_cap;
};

/*
 * What a List says and a good checkpoint does not has been given back: kubelets before 1.34 list
 * what pods that ended had. So may have been what was last read of a book that fails.
 */
static unsigned believed(const struct finder *finder)
{
	const struct facts *facts = finder->facts;
	unsigned witnesses = WITNESS_POD_STATUS | WITNESS_RESOURCE_CLAIM;

	if (finder->is_lenient || facts->checkpoint == BOOK_OK)
		witnesses |= WITNESS_CHECKPOINT;
	if (facts->checkpoint != BOOK_OK &&
	    (finder->is_lenient || facts->list == BOOK_OK))
		witnesses |= WITNESS_POD_RESOURCES;
	return witnesses;
}

static bool is_seat(const struct finder *finder, const struct fact *item)
{
	return (item->witnesses & believed(finder)) && !item->is_monitor;
}

static bool is_claimed(const struct fact *item)
{
	return (item->witnesses & WITNESS_RESOURCE_CLAIM) != 0;
}

static bool is_whole(const struct fact *item)
{
	struct device_id id = device_id_parse(item->id);
	return item->partition.len == 0 && !item->is_part && !id.is_replica && !id.is_odd;
}

/* Whoever has the whole device by a claim shares it with nobody to whom the plugin gives a part. */
static struct view unit_of(const struct finder *finder, const struct fact *item)
{
	if (is_whole(item) ||
	    (is_claimed(item) ? finder->has_whole_given : finder->has_whole_claimed))
		return finder->device->uuid;
	return item->partition.len == 0 || device_id_parse(item->id).is_replica ? item->id
										: item->partition;
}

static struct view resource_of(const struct finder *finder, const struct fact *item)
{
	return device_id_parse(unit_of(finder, item)).is_replica ? item->owner->resource
								 : (struct view){0};
}

static void add(struct finder *finder, struct seat seat)
{
	assert(finder->n_seats < finder->seats_cap);
	assert(seat.pod);
	finder->seats[finder->n_seats++] = seat;
}

static void read_items(struct finder *finder, const struct fact *items, size_t n_items)
{
	for (size_t i = 0; i < n_items; i++) {
		if (is_seat(finder, &items[i]) && is_whole(&items[i]))
			*(is_claimed(&items[i]) ? &finder->has_whole_claimed
						: &finder->has_whole_given) = true;
	}
	for (size_t i = 0; i < n_items; i++) {
		if (is_seat(finder, &items[i]) && items[i].owner->pod)
			add(finder, (struct seat){.unit = unit_of(finder, &items[i]),
						  .resource = resource_of(finder, &items[i]),
						  .pod = items[i].owner->pod,
						  .is_claimed = is_claimed(&items[i])});
	}
}

/* No book names it now, and nothing shows that it has ended. */
static bool is_kept(const struct finder *finder, const struct attribution_tenant *tenant,
		    const struct pod *pod)
{
	size_t n;
	(void)facts_of_holder(finder->facts, finder->index, tenant->pod_uid, tenant->container,
			       &n);
	return n == 0 && pod && tenant->stand_in.len == 0 && !claimant_is_one(tenant);
}

static bool is_shared(const struct attribution_status *status, struct view partition)
{
	for (uint32_t i = 0; i < status->partitions.count; i++) {
		const struct attribution_partition *p = ARRAY_AT(status->partitions,
								 struct attribution_partition, i);
		if (view_equal(p->uuid, partition))
			return p->slots != 1;
	}
	return true;
}

static void read_kept(struct finder *finder, const struct attribution_tenant *tenant)
{
	const struct pod *pod = node_pods_find_uid(&finder->facts->node_pods, tenant->pod_uid);
	struct seat seat = {.unit = finder->device->uuid, .pod = pod, .is_kept = true};

	if (!is_kept(finder, tenant, pod))
		return;
	if (tenant->partitions.count == 0 &&
	    finder->status->sharing.mode == ATTRIBUTION_MODE_EXCLUSIVE)
		add(finder, seat);
	for (uint32_t i = 0; i < tenant->partitions.count; i++) {
		seat.unit = *ARRAY_AT(tenant->partitions, struct view, i);
		if (!is_shared(finder->status, seat.unit))
			add(finder, seat);
	}
}

static int by_unit(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int order = view_compare(x->unit, y->unit);
	if (!order)
		order = view_compare(x->resource, y->resource);
	return order ? order : view_compare(pod_uid(x->pod), pod_uid(y->pod));
}

static bool is_same_unit(const struct seat *a, const struct seat *b)
{
	return view_equal(a->unit, b->unit) && view_equal(a->resource, b->resource);
}

/* The seats of one pod become one. False: no more than one has the unit, or all do by right. */
static bool is_held_twice(const struct finder *finder, struct seat *seats, size_t *n_seats,
			  bool *ret_is_named)
{
	bool is_given = false, is_named = false;
	size_t n = 1;
	assert(*n_seats > 0);
	for (size_t i = 0; i < *n_seats; i++) {
		is_given |= !seats[i].is_claimed;
		is_named |= !seats[i].is_kept;
		if (seats[n - 1].pod != seats[i].pod)
			seats[n++] = seats[i];
	}
	*n_seats = n;
	*ret_is_named = is_named;
	return n > 1 && is_given && (is_named || finder->is_lenient);
}

static void describe(const struct seat *seats, size_t n_seats, struct sbuf *message)
{
	assert(n_seats > 1);
	sbuf_printf(message, "%.*s is held by ", VIEW_ARG(seats->unit));
	for (size_t i = 0; i < n_seats && i < OVERLAP_PODS; i++)
		sbuf_printf(message, "%s%.*s/%.*s",
			    i == 0             ? ""
			    : i + 1 == n_seats ? " and "
					       : ", ",
			    VIEW_ARG(pod_namespace(seats[i].pod)),
			    VIEW_ARG(pod_name(seats[i].pod)));
	if (n_seats > OVERLAP_PODS)
		sbuf_printf(message, " and %zu more", n_seats - OVERLAP_PODS);
	sbuf_printf(message, " at once, and is for one pod");
}

static bool is_before(const struct finder *finder, struct view unit)
{
	return view_starts_with(finder->before, unit) &&
	       view_starts_with(view_from_offset(finder->before, unit.len), VIEW(" is held by "));
}

/* A unit is of one device only. */
static bool counts(const struct finder *finder, struct debounce *doubts, struct view unit)
{
	const struct debounce_subject fact = {
		.kind = DEBOUNCE_OVERLAP,
		.subject = unit,
		.waits_ms = finder->facts->input->limits->disagreement_ms,
	};
	return is_before(finder, unit) || (!finder->is_lenient && debounce_counts(doubts, &fact));
}

/* Of several units it is the one of before, or the first. */
static void find(struct finder *finder, struct debounce *doubts, struct sbuf *message)
{
	const struct seat *found = NULL;
	size_t end, n_found;
	bool is_named, is_found_named;

	qsort(finder->seats, finder->n_seats, sizeof(*finder->seats), by_unit);
	for (size_t first = 0; first < finder->n_seats; first = end) {
		struct seat *seats = &finder->seats[first];
		struct view unit = seats->unit;
		end = first;
		while (end < finder->n_seats && is_same_unit(seats, &finder->seats[end]))
			end++;
		size_t n_pods = end - first;
		assert(n_pods > 0);
		if (!is_held_twice(finder, seats, &n_pods, &is_named) || !counts(finder, doubts, unit))
			continue;
		if (!found || is_before(finder, unit)) {
			found = seats;
			n_found = n_pods;
			is_found_named = is_named;
		}
	}
	if (!found)
		return;
	describe(found, n_found, message);
	/* It need not be those that are left who have it. (Without a report: condition_carry().) */
	if (!is_found_named && finder->facts->input->report &&
	    !view_starts_with(finder->before, sbuf_view(message)))
		sbuf_clear(message);
}

static struct view published_message(const struct attribution_status *published)
{
	const struct condition *attributed =
		published ? attribution_find_condition(published, wording_condition(CONDITION_ATTRIBUTED)) : NULL;
	return attributed && wording_reason_of(attributed->reason) == REASON_SLOT_HELD_TWICE ? attributed->message
									    : (struct view){0};
}

static size_t count_seats(const struct tenants *tenants, size_t n_items)
{
	size_t n = n_items;
	for (uint32_t i = 0; i < tenants->listed.count; i++)
		n += 1 + ARRAY_AT(tenants->listed, struct attribution_tenant, i)->partitions.count;
	return n;
}

static void look(struct finder finder, const struct tenants *tenants, struct debounce *doubts,
		 struct sbuf *message)
{
	size_t n_items;
	const struct fact *items = facts_of(finder.facts, finder.index, &n_items);

	read_items(&finder, items, n_items);
	for (uint32_t i = 0; i < tenants->listed.count; i++)
		read_kept(&finder, ARRAY_AT(tenants->listed, struct attribution_tenant, i));
	find(&finder, doubts, message);
}

int overlap_find(const struct facts *facts, struct overlap_device device,
		 const struct tenants *tenants, struct debounce *doubts, struct arena *arena,
		 struct view *ret_message, struct error *err)
{
	size_t n_items;
	CLEANUP(sbuf_deinit) struct sbuf message;
	struct finder finder = {
		.facts = facts,
		.device = &facts->devices->devices[device.index],
		.index = device.index,
		.status = device.status,
	};

	assert(device.index < facts->devices->n_devices && device.status);
	sbuf_init(&message, OVERLAP_MESSAGE);
	(void)facts_of(facts, device.index, &n_items);
	finder.seats_cap = count_seats(tenants, n_items);
	finder.seats = arena_alloc(arena, finder.seats_cap, sizeof(*finder.seats));
	if (!finder.seats)
		return error_no_memory(err);
	finder.before = published_message(devices_published(finder.device));
	/* Without a report nothing takes the place of what was said. */
	finder.is_lenient = finder.before.ptr && !facts->input->report;
	look(finder, tenants, doubts, &message);
	if (message.len == 0 && finder.before.ptr) {
		finder.is_lenient = !finder.is_lenient;
		look(finder, tenants, doubts, &message);
	}
	if (sbuf_check(&message, "message", err) < 0)
		return -1;
	return arena_copy(arena, sbuf_view(&message), ret_message) ? 0 : error_no_memory(err);
}
