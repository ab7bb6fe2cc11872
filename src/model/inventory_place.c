/* SPDX-License-Identifier: Apache-2.0 */
#include "model/inventory_place.h"

#include <assert.h>

#include "model/inventory_sets.h"

/* The objects of devices that a report names, or no longer names, may change hands. */
static void touch_holders(const struct inventory *inventory, const struct place *place,
			  const struct report *report)
{
	const struct array devices = report ? report->devices : (struct array){0};
	ARRAY_EACH(const struct report_device, device, devices) {
		char buffer[CLAIM_NAME_SIZE];
		const struct attribution_record *record = attribution_set_find(
			&inventory->attributions, claim_object_name(device->uuid, buffer));

		if (record && record->base.place != place)
			place_touch(&inventory->places, record->base.place, false);
	}
}

/* The other nodes that report devices whose objects are this one's wait for what it says. */
static void touch_rivals(const struct inventory *inventory, const struct place *place)
{
	for (struct list *l = place->attributions.next; l != &place->attributions; l = l->next) {
		struct view name = CONTAINER_OF(l, struct attribution_record, base.link)->attribution.name;
		const struct place *rival;

		for (unsigned i = 0; (rival = claim_place(&inventory->claims, name, i)); i++)
			if (rival != place)
				place_touch(&inventory->places, rival, false);
	}
}

int inventory_place_put_report(struct inventory *inventory, const struct report *report,
			       place_release_fn release, void *owner, uint64_t now_ms,
			       struct error *err)
{
	struct place *place = place_ensure(&inventory->places, report->node, err);
	assert(release);
	if (!place)
		return -1;
	if (claim_add(&inventory->claims, place, report, now_ms, err) < 0) {
		claim_drop(&inventory->claims, place, report, place->report);
		place_release(&inventory->places, place);
		return -1;
	}
	claim_drop(&inventory->claims, place, place->report, report);
	touch_holders(inventory, place, place->report);
	touch_holders(inventory, place, report);
	touch_rivals(inventory, place);
	place_take_report(place, report, release, owner, now_ms);
	place_touch(&inventory->places, place, false);
	return 0;
}

struct place_refusals inventory_place_note_refusals(struct inventory *inventory,
						    struct view node_name,
						    struct place_refusals refused)
{
	struct place *place = place_find(&inventory->places, node_name);
	return place ? place_note_refusals(place, refused) : refused;
}

bool inventory_place_refresh_report(struct inventory *inventory, struct view node_name,
				    int64_t listed_at, uint64_t stale_ms, uint64_t now_ms)
{
	struct place *place = place_find(&inventory->places, node_name);
	bool was_stale;
	if (!place || !place->report)
		return false;
	assert(place->report_at <= now_ms);
	was_stale = now_ms - place->report_at >= stale_ms;
	place->report_at = now_ms;
	place_note_listed(place, listed_at, now_ms);
	if (was_stale)
		touch_holders(inventory, place, place->report);
	if (was_stale || place->awaits_hearing)
		place_touch(&inventory->places, place, false);
	return true;
}

void inventory_place_put_figures(struct inventory *inventory, struct view node_name,
				 const struct report *of, struct figures *take_figures)
{
	struct place *place = place_find(&inventory->places, node_name);
	if (!place || place->report != of) {
		figures_free(take_figures);
		return;
	}
	if (place_take_figures(place, take_figures))
		place_touch(&inventory->places, place, false);
}

const struct place *inventory_place_find(const struct inventory *inventory, struct view node_name)
{
	return place_find(&inventory->places, node_name);
}

static void forget_report(struct inventory *inventory, struct place *place)
{
	claim_drop(&inventory->claims, place, place->report, NULL);
	place_release_report(place);
	boot_history_forget(&place->history);
	place->booted_after = 0;
	place_release(&inventory->places, place);
}

void inventory_place_forget_report(struct inventory *inventory, struct view node_name)
{
	struct place *place = place_find(&inventory->places, node_name);
	if (place)
		forget_report(inventory, place);
}

void inventory_place_forget_all(struct inventory *inventory)
{
	struct place *place = place_next(&inventory->places, NULL);
	while (place) {
		struct place *next = place_next(&inventory->places, place);

		forget_report(inventory, place);
		place = next;
	}
}

int inventory_place_keep_recall(struct inventory *inventory, struct view node_name,
				const struct recall *recall, uint64_t now_ms, struct error *err)
{
	struct place *place = place_find(&inventory->places, node_name);
	if (!place)
		return 0;
	assert(recall->ended || recall->n_ended == 0);
	place->awaits_hearing = recall->is_hearing_awaited;
	if (place_set_debounced(place, recall->debounced, recall->n_debounced, now_ms, err) < 0)
		return -1;
	place->settled_restart = recall->settled_restart;
	place->offered_since = recall->offered_since;
	for (size_t i = 0; i < recall->n_ended; i++)
		if (place_remember_ended(place, recall->ended[i], 0, now_ms, err) < 0)
			return -1;
	place_forget_ended(place, now_ms);
	return 0;
}
