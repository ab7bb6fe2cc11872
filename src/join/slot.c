/* SPDX-License-Identifier: Apache-2.0 */

/* Everything that names an ID is noted, then sorted and folded. */

#include "join/slot.h"

#include <assert.h>
#include <stdlib.h>

static size_t count_ids(struct array lists)
{
	size_t n = 0;
	for (uint32_t i = 0; i < lists.count; i++)
		n += ARRAY_AT(lists, struct report_resource_devices, i)->device_ids.count;
	return n;
}

/*
 * A plugin that calls what it shares by another name numbers the replicas anew, while who came
 * before keeps what he has of the old name.
 */
static bool add(const struct devices *devices, struct slots *slots, struct view id,
		struct view resource, bool is_held)
{
	struct device_place place = devices_find(devices, id);
	if (!place.device)
		return false;
	assert((size_t)(place.device - devices->devices) < devices->n_devices);
	slots->items[slots->n_items++] = (struct slot){
		.device = (size_t)(place.device - devices->devices),
		.id = id,
		.resource = place.id.is_replica ? resource : (struct view){0},
		.partition = place.partition,
		.is_replica = place.id.is_replica,
		.is_mig = place.id.form == DEVICE_ID_MIG || place.id.gpu_instance >= 0,
		.is_odd = place.id.is_odd,
		.is_hami = place.id.is_hami,
		.is_held = is_held,
		.is_offered = !is_held,
	};
	return true;
}

/* A claim's device is told by the claim, not by the form of its name. */
static void add_held(struct slots *slots, const struct devices *devices, const struct fact *item)
{
	assert(item->device < devices->n_devices);
	if (item->takes_no_slot || item->id.len == 0)
		return;
	if (item->witnesses & WITNESS_RESOURCE_CLAIM)
		slots->items[slots->n_items++] = (struct slot){
			.device = item->device,
			.id = item->id,
			.partition = item->partition,
			.is_mig = item->is_part || item->partition.len > 0,
			.is_held = true,
		};
	else
		add(devices, slots, item->id, item->owner->resource, true);
}

static void add_offer(const struct devices *devices, struct slots *slots, struct array lists)
{
	for (uint32_t i = 0; i < lists.count; i++) {
		const struct report_resource_devices *offer = ARRAY_AT(
			lists, struct report_resource_devices, i);
		for (uint32_t j = 0; j < offer->device_ids.count; j++) {
			if (!add(devices, slots, *ARRAY_AT(offer->device_ids, struct view, j),
				 offer->resource, false))
				slots->ids_unknown++;
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);
	if (!order)
		order = view_compare(x->id, y->id);
	return order ? order : view_compare(x->resource, y->resource);
}

/* Of an ID whose holder is not known the resource is not either: that one comes first. */
static bool is_same(const struct slot *a, const struct slot *b)
{
	return a->device == b->device && view_equal(a->id, b->id) &&
	       (a->resource.len == 0 || view_equal(a->resource, b->resource));
}

static void fold(struct slots *slots)
{
	size_t n = 0;
	qsort(slots->items, slots->n_items, sizeof(*slots->items), by_place);
	for (size_t i = 0; i < slots->n_items; i++) {
		struct slot *last = n > 0 ? &slots->items[n - 1] : NULL;
		const struct slot *slot = &slots->items[i];
		if (last && is_same(last, slot)) {
			last->resource = slot->resource;
			last->is_held |= slot->is_held;
			last->is_offered |= slot->is_offered;
		} else {
			slots->items[n++] = *slot;
		}
	}
	assert(n <= slots->n_items);
	slots->n_items = n;
}

/*
 * What is on offer is told by both books. The last good part of one that fails counts only where
 * the other does not speak: it may be of before the plugin was configured anew.
 */
static void add_offers(const struct facts *facts, const struct report *report,
		       struct slots *slots)
{
	const struct array lists[] = {report->allocatable, report->checkpoint.registered};
	const bool is_known[] = {report->allocatable.present,
				 report->checkpoint.present &&
					 report->checkpoint.registered.present};
	const bool is_good[] = {is_known[0] && facts->list == BOOK_OK,
				is_known[1] && facts->checkpoint == BOOK_OK};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		slots->is_offer_known |= is_known[i];
		if (is_good[i] || !is_good[1 - i])
			add_offer(facts->devices, slots, lists[i]);
	}
}

int slot_collect(const struct facts *facts, struct arena *arena, struct slots *ret_slots,
		 struct error *err)
{
	const struct report *report = facts->input->report;
	struct slots slots = {0};
	size_t n = facts->n_placed;

	if (report)
		n += count_ids(report->allocatable) + count_ids(report->checkpoint.registered);
	slots.items = arena_alloc(arena, n, sizeof(*slots.items));
	if (!slots.items)
		return error_no_memory(err);
	for (size_t i = 0; i < facts->n_placed; i++)
		add_held(&slots, facts->devices, &facts->items[i]);
	if (report)
		add_offers(facts, report, &slots);
	assert(slots.n_items <= n); /* the room there is */
	fold(&slots);
	*ret_slots = slots;
	return 0;
}

/* Index of the first slot of that device, or of a later one. */
static size_t find_device(const struct slots *slots, size_t device)
{
	size_t low = 0, high = slots->n_items;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (slots->items[middle].device < device)
			low = middle + 1;
		else
			high = middle;
	}
	assert(low == 0 || slots->items[low - 1].device < device);
	assert(low == slots->n_items || slots->items[low].device >= device);
	return low;
}

const struct slot *slot_items(const struct slots *slots, size_t device, size_t *ret_n)
{
	size_t first = find_device(slots, device);
	*ret_n = find_device(slots, device + 1) - first;
	return *ret_n > 0 ? &slots->items[first] : NULL;
}
