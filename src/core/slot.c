/* SPDX-License-Identifier: Apache-2.0 */

/* Everything that names an ID is noted, then sorted and folded. */

#include "core/slot.h"

#include <stdlib.h>

static size_t count_ids(struct array lists)
{
	size_t n = 0;
	for (uint32_t i = 0; i < lists.count; i++)
		n += ARRAY_AT(lists, struct report_resource_devices, i)->device_ids.count;
	return n;
}

static bool add(const struct roster *roster, struct slots *slots, struct view id, bool is_held)
{
	struct roster_place place = roster_find(roster, id);
	if (!place.device)
		return false;
	slots->items[slots->n_items++] = (struct slot){
		.device = (size_t)(place.device - roster->devices),
		.id = id,
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
static void add_held(struct slots *slots, const struct roster *roster, const struct holding *item)
{
	if (item->takes_no_slot || item->id.len == 0)
		return;
	if (item->witnesses & HOLDING_CLAIM)
		slots->items[slots->n_items++] = (struct slot){
			.device = item->device,
			.id = item->id,
			.partition = item->partition,
			.is_mig = item->is_part || item->partition.len > 0,
			.is_held = true,
		};
	else
		add(roster, slots, item->id, true);
}

static void add_offer(const struct roster *roster, struct slots *slots, struct array lists)
{
	for (uint32_t i = 0; i < lists.count; i++) {
		const struct array ids =
			ARRAY_AT(lists, struct report_resource_devices, i)->device_ids;
		for (uint32_t j = 0; j < ids.count; j++) {
			if (!add(roster, slots, *ARRAY_AT(ids, struct view, j), false))
				slots->ids_unknown++;
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);
	return order ? order : view_compare(x->id, y->id);
}

static void fold(struct slots *slots)
{
	size_t n = 0;
	qsort(slots->items, slots->n_items, sizeof(*slots->items), by_place);
	for (size_t i = 0; i < slots->n_items; i++) {
		struct slot *last = n > 0 ? &slots->items[n - 1] : NULL;
		const struct slot *slot = &slots->items[i];
		if (last && by_place(last, slot) == 0) {
			last->is_held |= slot->is_held;
			last->is_offered |= slot->is_offered;
		} else {
			slots->items[n++] = *slot;
		}
	}
	slots->n_items = n;
}

int slot_collect(const struct holdings *holdings, struct arena *arena, struct slots *ret_slots,
		 struct error *err)
{
	const struct report *report = holdings->input->report;
	struct slots slots = {0};
	size_t n = holdings->n_placed;

	if (report)
		n += count_ids(report->allocatable) + count_ids(report->checkpoint.registered);
	slots.items = arena_alloc(arena, n, sizeof(*slots.items));
	if (!slots.items)
		return error_no_memory(err);
	for (size_t i = 0; i < holdings->n_placed; i++)
		add_held(&slots, holdings->roster, &holdings->items[i]);
	if (report) {
		add_offer(holdings->roster, &slots, report->allocatable);
		add_offer(holdings->roster, &slots, report->checkpoint.registered);
		slots.is_offer_known = report->allocatable.present ||
				       (report->checkpoint.present &&
					report->checkpoint.registered.present);
	}
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
	return low;
}

const struct slot *slot_items(const struct slots *slots, size_t device, size_t *ret_n)
{
	size_t first = find_device(slots, device);
	*ret_n = find_device(slots, device + 1) - first;
	return *ret_n > 0 ? &slots->items[first] : NULL;
}
