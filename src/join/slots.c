/* SPDX-License-Identifier: Apache-2.0 */

/* Everything that names an ID is noted, then sorted and folded. */

#include "join/slots.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sort.h"
#include "join/from_resource_claim.h"
#include "join/subject.h"

static size_t count_ids(struct array lists)
{
	size_t n = 0;
	ARRAY_EACH(const struct report_resource_devices, offer, lists)
		n += offer->device_ids.count;
	return n;
}

/*
 * The slot that the ID names. A plugin that renames what it shares numbers the replicas anew, while
 * older pods keep theirs under the former name.
 */
static struct slot slot_of(struct view text, size_t device, struct view partition, struct view resource)
{
	const struct device_id id = device_id_parse(text);
	return (struct slot){
		.device = device,
		.id = text,
		.resource = id.is_replica ? resource : (struct view){0},
		.partition = partition,
		.is_replica = id.is_replica,
		.is_mig = id.form == DEVICE_ID_MIG || id.gpu_instance >= 0,
		.is_odd = id.is_odd,
		.is_hami = id.is_hami,
		.is_by_minor = id.form == DEVICE_ID_MINOR,
	};
}

/* The claim tells what its device is, not the form of the name. */
static void add_held(struct slots *slots, const struct fact *item)
{
	struct slot slot = {
		.device = item->device,
		.id = item->id,
		.partition = item->partition,
		.claim_pod_uid = item->owner->pod_uid,
		.is_mig = item->is_part || item->partition.len > 0,
		.is_share = item->is_share,
	};

	if (item->takes_no_slot || item->id.len == 0)
		return;
	if (!(item->witnesses & WITNESS_RESOURCE_CLAIM))
		slot = slot_of(item->id, item->device, item->partition, item->owner->resource);
	slot.is_held = true;
	slot.mps = item->mps;
	slots->items[slots->n_items++] = slot;
}

/* Whose it is NVML tells alone. */
static void add_unknown(const struct devices *devices, struct slots *slots, struct view id, bool is_latest)
{
	slots->ids_unknown++;
	slots->is_other_offered |= is_latest;
	slots->may_be_offered |= devices->nvml != REPORT_LIST_GOOD && device_id_parse(id).form == DEVICE_ID_MIG;
}

static void add_offer(const struct devices *devices, struct slots *slots, struct array lists, bool is_latest)
{
	ARRAY_EACH(const struct report_resource_devices, offer, lists) {
		ARRAY_EACH(const struct view, id, offer->device_ids) {
			const struct device_place place = devices_find(devices, *id);
			struct slot *slot = &slots->items[slots->n_items];
			if (!place.device) {
				add_unknown(devices, slots, *id, is_latest);
				continue;
			}
			*slot = slot_of(*id, (size_t)(place.device - devices->devices), place.partition,
					offer->resource);
			slot->is_offered = true;
			slot->is_on_offer_now = is_latest;
			if (is_latest)
				slot->offered_as = offer->resource;
			slots->n_items++;
		}
	}
}

/*
 * Two sources say what is on offer. The last good part of one that fails counts only where the other says
 * nothing: it may be older than the plugin's present configuration. Of two good ones PodResources is the
 * later. The kubelet writes its checkpoint when it gives out a device, and not when a plugin goes or returns.
 */
static void add_offers(const struct facts *facts, const struct report *report, struct slots *slots)
{
	const struct array lists[] = {report->allocatable, report->checkpoint.registered};
	const bool is_known[] = {lists[0].present, report->checkpoint.present && lists[1].present};
	const bool is_good[] = {is_known[0] && source_is_good(facts->source.pod_resources),
				is_known[1] && source_is_good(facts->source.checkpoint)};
	slots->is_offer_known = is_known[0] || is_known[1];
	slots->is_offer_told_now = is_good[0] || is_good[1];
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (is_good[i] || !is_good[1 - i])
			add_offer(facts->devices, slots, lists[i], is_good[i] && (i == 0 || !is_good[0]));
}

static int by_device(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	return (x->device > y->device) - (x->device < y->device);
}

static int by_place(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	int order = by_device(a, b);
	return order ? order : view_compare_pairs(x->id, x->resource, y->id, y->resource);
}

/* An ID whose resource is not known comes first, and is the same as the next one. */
static bool is_same(const struct slot *a, const struct slot *b)
{
	return a->device == b->device && view_equal(a->id, b->id) &&
	       (a->resource.len == 0 || view_equal(a->resource, b->resource));
}

static void take_offer(struct slot *last, const struct slot *slot)
{
	if (!last->is_on_offer_now ||
	    (slot->is_on_offer_now && view_compare(slot->offered_as, last->offered_as) < 0))
		last->offered_as = slot->offered_as;
	last->is_on_offer_now |= slot->is_on_offer_now;
	last->is_offered |= slot->is_offered;
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
			last->is_shared |= last->claim_pod_uid.len && slot->claim_pod_uid.len &&
					   !view_equal(last->claim_pod_uid, slot->claim_pod_uid);
			last->is_share |= slot->is_share;
			last->mps |= slot->mps;
			last->is_held |= slot->is_held;
			take_offer(last, slot);
		} else {
			slots->items[n++] = *slot;
		}
	}
	assert(n <= slots->n_items);
	slots->n_items = n;
}

int slots_collect(const struct facts *facts, struct arena *arena, struct slots *ret_slots, struct error *err)
{
	const struct report *report = facts->input->report;
	struct slots slots = {0};
	size_t n = facts->n_placed;
	if (report)
		n += count_ids(report->allocatable) + count_ids(report->checkpoint.registered);
	if (!ARENA_NEW(slots.items, arena, n))
		return error_no_memory(err);
	for (size_t i = 0; i < facts->n_placed; i++)
		add_held(&slots, &facts->items[i]);
	if (report)
		add_offers(facts, report, &slots);
	assert(slots.n_items <= n);
	fold(&slots);
	*ret_slots = slots;
	return 0;
}

/* A replica or a part, of which there may be others, while none is on offer. Claims tell them all. */
static bool is_rest_held(const struct subject *subject)
{
	if (subject->is_offered || subject->is_claimed)
		return false;
	for (size_t i = 0; i < subject->n_slots; i++) {
		const struct slot *slot = &subject->slots[i];
		if (slot->is_replica || slot->is_mig || slot->is_odd)
			return true;
	}
	return false;
}

/*
 * Nothing is on offer, and not all that is held is known, or not how many there are. Without an agent
 * nothing ever was on offer: what is held is all there is to go by.
 */
static bool is_vague(const struct subject *subject)
{
	return !subject->is_offered &&
	       (subject->tenants.slots_kept > 0 ||
		(subject->is_rest_held && !subject->device->published->is_agentless) ||
		(subject->n_slots == 0 && !subject->is_offer_known));
}

void slots_look(const struct slots *slots, struct subject *subject)
{
	const struct facts *facts = subject->facts;
	const struct slot key = {.device = subject->index};
	subject->slots = sort_find(&key, slots->items, slots->n_items, sizeof(key), by_device,
				   &subject->n_slots);
	subject->is_claimed = subject->tenants.is_claimed ||
			      from_resource_claim_is_described(facts, subject->device);
	for (size_t i = 0; i < subject->n_slots; i++)
		subject->is_offered |= subject->slots[i].is_offered;
	subject->is_offer_known = slots->is_offer_known && (subject->is_offered || !slots->may_be_offered);
	subject->is_rest_held = is_rest_held(subject);
	subject->is_as_published = subject->published &&
				   (facts->is_frozen || facts->source.is_settling ||
				    is_vague(subject));
}
