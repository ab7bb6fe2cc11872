/* SPDX-License-Identifier: Apache-2.0 */
#include "model/inventory_place.h"

#include <assert.h>

#include "model/inventory_sets.h"

int inventory_place_put_report(struct inventory *inventory, const struct report *report,
			       place_release_fn release, void *owner, uint64_t now_ms,
			       struct error *err)
{
	const struct node_reports reports = inventory_reports(inventory);

	return node_reports_put(&reports, report, release, owner, now_ms, err);
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
	const struct node_reports reports = inventory_reports(inventory);

	return node_reports_refresh(&reports, place_find(&inventory->places, node_name), listed_at,
				    stale_ms, now_ms);
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

const struct place *inventory_place_next(const struct inventory *inventory,
					 const struct place *place)
{
	struct table_node *node = table_next(&inventory->places.by_name, place ? &place->link : NULL);

	return node ? CONTAINER_OF(node, struct place, link) : NULL;
}

void inventory_place_touch(const struct inventory *inventory, struct view node_name)
{
	place_touch(&inventory->places, place_find(&inventory->places, node_name), false);
}

void inventory_place_forget_report(struct inventory *inventory, struct view node_name)
{
	const struct node_reports reports = inventory_reports(inventory);
	struct place *place = place_find(&inventory->places, node_name);

	if (place)
		node_reports_forget(&reports, place);
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
