/* SPDX-License-Identifier: Apache-2.0 */

/* Tells assess/drift.h what the join knows of the node, once a join, and of each device. */

#include "join/subject.h"

#include <assert.h>

#include "assess/drift_offer.h"
#include "assess/drift_previous.h"
#include "join/slots.h"

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
		.is_any_offered = slots->is_other_offered || drift_offer_is_any(slots->items, slots->n_items),
		.now_wall_ms = input->now_wall_ms,
	};

	if (node.intent->node_layouts_state == INTENT_CONFIG_THERE)
		node.layouts = input->layouts;
	if (node.report)
		drift_prepare(&node);
	return node;
}

/* Whether the device was there */

/*
 * What was published in this boot tells. A card that was taken out while the node was off is missing
 * from the first list of the boot. Until the driver is loaded there is none, and NVML is unavailable.
 */
static bool is_seen_since_boot(const struct subject *subject)
{
	const struct previous *published = subject->device->published;
	return previous_boot(published, subject->facts->input->report) == REPORT_BOOT_SAME &&
	       (drift_previous_has(&published->intent, DRIFT_DEVICE_MISSING) ||
		health_was_listed(&published->health));
}

/* And has had as many slots as now, as far as is known. */
static int64_t here_since(const struct subject *subject)
{
	const struct previous *published = subject->device->published;
	const struct join_input *input = subject->facts->input;
	const struct condition *healthy =
		published ? attribution_find_condition(published->status,
						       wording_condition(CONDITION_HEALTHY)) : NULL;
	if (!healthy || health_was_missing(&published->health))
		return 0;
	const bool is_as_before = published->status->slots.total == subject->status->slots.total;
	const int64_t since = is_as_before ? input->offered_since : input->now_wall_ms;
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
		.is_listing_good = subject->facts->devices->nvml == REPORT_LIST_GOOD,
		.is_claimed = subject->is_claimed,
		.is_seen_since_boot = is_seen_since_boot(subject),
		.here_since = here_since(subject),
		.offers = offers,
		.n_offers = drift_offer_list(subject->slots, subject->n_slots, offers),
		.status = subject->status,
		.previous = published ? &published->intent : &nothing,
	};

	assert(node->report);
	if (drift_judge(node, &device, subject->arena, &subject->intent, err) < 0)
		return -1;
	subject->status->intent = subject->intent.state;
	return 0;
}
