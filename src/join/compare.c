/* SPDX-License-Identifier: Apache-2.0 */

/* Tells assess/drift.h what the join knows of the node, once a join, and of each device. */

#include "join/subject.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/slots.h"

/* What is on offer */

/* They are sorted by device. */
static size_t count_offered(const struct slots *slots)
{
	size_t n = 0, last = SIZE_MAX;
	for (size_t i = 0; i < slots->n_items; i++) {
		if (slots->items[i].is_on_offer_now && slots->items[i].device != last) {
			last = slots->items[i].device;
			n++;
		}
	}
	return n;
}

/* The offer of that resource; a new one where there is none; NULL: there is no room. */
static struct drift_offer *offer_of(struct drift_offer *offers, size_t *n, struct view resource)
{
	for (size_t i = *n; i > 0; i--)
		if (view_equal(offers[i - 1].resource, resource))
			return &offers[i - 1];
	if (*n == LIMIT_OFFERS)
		return NULL;
	offers[*n] = (struct drift_offer){.resource = resource};
	return &offers[(*n)++];
}

/* IDs of one resource that follow each other and are of one MIG device, or of the whole device. */
struct run {
	struct view partition;
	int64_t n;
};

/* Slots are by ID, so all replicas of one are in one run. */
static void count_replica(const struct slot *slot, struct run *run, struct drift_offer *offer)
{
	const bool goes_on = run->n > 0 && view_equal(run->partition, slot->partition);
	*run = (struct run){slot->partition, goes_on ? run->n + 1 : 1};
	offer->n_replicas = run->n > offer->n_replicas ? run->n : offer->n_replicas;
}

/* By resource: messages name the first. */
static size_t list_offers(const struct subject *subject, struct drift_offer offers[LIMIT_OFFERS])
{
	struct run runs[LIMIT_OFFERS] = {0};
	size_t n = 0;
	for (size_t i = 0; i < subject->n_slots; i++) {
		const struct slot *slot = &subject->slots[i];
		struct drift_offer *offer =
			slot->is_on_offer_now ? offer_of(offers, &n, slot->offered_as) : NULL;
		if (!offer)
			continue;
		offer->n_ids++;
		count_replica(slot, &runs[offer - offers], offer);
		offer->n_free += !slot->is_held;
		offer->is_replica |= slot->is_replica;
		offer->is_mig |= slot->is_mig;
		offer->is_hami |= slot->is_hami;
	}
	assert(n <= LIMIT_OFFERS);
	_Static_assert(offsetof(struct drift_offer, resource) == 0, "view_order() compares that");
	if (n > 1)
		qsort(offers, n, sizeof(*offers), view_order);
	return n;
}

struct drift_node compare_node(const struct facts *facts, const struct slots *slots)
{
	static const struct intent nothing_known;
	const struct join_input *input = facts->input;
	struct drift_node node = {
		.intent = input->intent ? input->intent : &nothing_known,
		.node = input->node,
		.report = input->report,
		.pods = input->pods,
		.n_pods = input->n_pods,
		.is_pods_current = input->pods_age == INVENTORY_CURRENT,
		.is_offer_known = slots->is_offer_told_now,
		.hold_off_percent = input->limits->hold_off_percent,
		.is_settling = facts->source.is_settling,
		.n_offered = count_offered(slots),
		.now_wall_ms = input->now_wall_ms,
	};

	if (node.report)
		drift_prepare(&node);
	return node;
}

/* Whether the device was there */

static bool was_missing(const struct drift_previous *intent)
{
	return intent->drifts[DRIFT_DEVICE_MISSING] || intent->pending_since[DRIFT_DEVICE_MISSING] != 0;
}

/*
 * What was published in this boot tells. A card that was taken out while the node was off is missing
 * from the first list of the boot. Until the driver is loaded there is none, and NVML is unavailable.
 */
static bool is_seen_since_boot(const struct subject *subject)
{
	const struct previous *published = subject->device->published;
	return previous_boot(published, subject->facts->input->report) == REPORT_BOOT_SAME &&
	       (was_missing(&published->intent) || health_was_listed(&published->health));
}

/* Since when it has had as many slots as now, as far as is known. */
static int64_t offered_since(const struct subject *subject)
{
	const struct join_input *input = subject->facts->input;
	return subject->published->slots.total == subject->status->slots.total ? input->offered_since
									       : input->now_wall_ms;
}

static int64_t here_since(const struct subject *subject)
{
	const struct previous *published = subject->device->published;
	const struct condition *healthy =
		published ? attribution_find_condition(published->status,
						       wording_condition(CONDITION_HEALTHY)) : NULL;
	int64_t since;

	if (!healthy || health_was_missing(&published->health))
		return 0;
	since = offered_since(subject);
	return since > healthy->last_transition_time || since == 0 ? since : healthy->last_transition_time;
}

int compare_intent(struct subject *subject, const struct drift_node *node, struct error *err)
{
	static const struct drift_previous nothing;
	const struct previous *published = subject->device->published;
	struct drift_offer offers[LIMIT_OFFERS];
	const struct drift_device device = {
		.uuid = subject->device->uuid,
		.reported = subject->device->reported,
		.is_listing_good = subject->facts->devices->nvml == DEVICES_NVML_OK,
		.is_claimed = subject->is_claimed,
		.is_seen_since_boot = is_seen_since_boot(subject),
		.here_since = here_since(subject),
		.offers = offers,
		.n_offers = list_offers(subject, offers),
		.status = subject->status,
		.previous = published ? &published->intent : &nothing,
	};

	assert(node->report);
	if (drift_judge(node, &device, subject->arena, &subject->intent, err) < 0)
		return -1;
	subject->status->intent = subject->intent.state;
	return 0;
}
