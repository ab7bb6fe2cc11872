/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_reports.h"

#include <assert.h>

/* The objects of devices that a report names, or no longer names, may change hands. */
static void touch_holders(const struct node_reports *reports, const struct place *place,
			  const struct report *report)
{
	for (uint32_t i = 0; report && i < report->devices.count; i++) {
		struct view uuid = ARRAY_AT(report->devices, struct report_device, i)->uuid;
		char buffer[CLAIM_NAME_SIZE];
		const struct attribution_record *record = attribution_set_find(
			reports->attributions, claim_object_name(uuid, buffer));

		if (record && record->base.place != place)
			place_touch(reports->places, record->base.place, false);
	}
}

/* The other nodes that report devices whose objects are this one's wait for what it says. */
static void touch_rivals(const struct node_reports *reports, const struct place *place)
{
	for (struct list *l = place->attributions.next; l != &place->attributions; l = l->next) {
		struct view name =
			CONTAINER_OF(l, struct attribution_record, base.link)->attribution.name;
		const struct place *rival;

		for (unsigned i = 0; (rival = claim_place(reports->claims, name, i)); i++)
			if (rival != place)
				place_touch(reports->places, rival, false);
	}
}

int node_reports_put(const struct node_reports *reports, const struct report *report,
		     place_release_fn release, void *owner, uint64_t now_ms, struct error *err)
{
	struct place *place = place_ensure(reports->places, report->node, err);

	assert(release);
	if (!place)
		return -1;
	if (claim_add(reports->claims, place, report, now_ms, err) < 0) {
		claim_drop(reports->claims, place, report, place->report);
		place_release(reports->places, place);
		return -1;
	}
	claim_drop(reports->claims, place, place->report, report);
	touch_holders(reports, place, place->report);
	touch_holders(reports, place, report);
	touch_rivals(reports, place);
	place_take_report(place, report, release, owner, now_ms);
	place_touch(reports->places, place, false);
	return 0;
}

bool node_reports_refresh(const struct node_reports *reports, struct place *place,
			  int64_t listed_at, uint64_t stale_ms, uint64_t now_ms)
{
	bool was_stale;

	if (!place || !place->report)
		return false;
	assert(place->report_at <= now_ms);
	was_stale = now_ms - place->report_at >= stale_ms;
	place->report_at = now_ms;
	place_note_listed(place, listed_at, now_ms);
	if (was_stale)
		touch_holders(reports, place, place->report);
	if (was_stale || place->awaits_hearing)
		place_touch(reports->places, place, false);
	return true;
}

void node_reports_forget(const struct node_reports *reports, struct place *place)
{
	assert(place);
	claim_drop(reports->claims, place, place->report, NULL);
	place_release_report(place);
	boot_history_forget(&place->history);
	place->booted_after = 0;
	place_release(reports->places, place);
}

void node_reports_forget_all(const struct node_reports *reports)
{
	struct table_node *node = table_next(&reports->places->by_name, NULL);

	while (node) {
		struct place *place = CONTAINER_OF(node, struct place, link);

		node = table_next(&reports->places->by_name, node);
		node_reports_forget(reports, place);
	}
}
