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

void node_layouts_init(struct node_layouts *layouts, struct place_book *places)
{
	record_set_init(&layouts->records, &kind, places);
}

void node_layouts_deinit(struct node_layouts *layouts)
{
	record_set_deinit(&layouts->records);
}

int node_layouts_put(struct node_layouts *layouts, const struct mig_configs *configs,
		     enum store_change change, uint64_t version, struct error *err)
{
	const struct record_event event = {.change = change, .version = version};

	return record_set_put_copy(&layouts->records, configs, &event, err);
}

static void drop(struct node_layouts *layouts, struct store_entry *entry)
{
	static const struct record_event event = {.change = STORE_DELETE};

	record_set_remove(&layouts->records, CONTAINER_OF(entry, struct record, entry), &event);
}

void node_layouts_remove(struct node_layouts *layouts, struct view name, uint64_t version)
{
	struct store_entry *entry;

	if (store_judge(&layouts->records.store, name, STORE_DELETE, version, &entry) == STORE_REMOVE)
		drop(layouts, entry);
}

void node_layouts_begin_list(struct node_layouts *layouts)
{
	store_begin_replace(&layouts->records.store);
}

void node_layouts_end_list(struct node_layouts *layouts)
{
	struct store_entry *entry;

	while ((entry = store_sweep(&layouts->records.store)))
		drop(layouts, entry);
}
