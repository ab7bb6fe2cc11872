/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_layouts.h"

static void change(struct record_set *set, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct place *place = record ? record->place : old->place;

	if (!place)
		return;
	place->layouts = record ? record->object : NULL;
	place_touch(set->places, place, event->is_initial);
}

static struct view node_of(const void *configs)
{
	return mig_config_node(configs);
}

static const struct record_kind kind = {
	.rows = mig_config_rows,
	.size = sizeof(struct mig_configs),
	.node_of = node_of,
	.change = change,
};

void node_layouts_init(struct record_set *layouts, struct place_book *places)
{
	record_set_init(layouts, &kind, places);
}
