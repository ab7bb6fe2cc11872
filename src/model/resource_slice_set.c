/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_slice_set.h"

#include <assert.h>

static bool is_unplaced(const struct resource_slice *slice)
{
	return slice->driver.len > 0 && slice->node.len == 0;
}

static int admit(struct record_set *records, const struct record *record, const struct record *old,
		 struct error *err)
{
	const struct place *place = record->place;

	(void)records;
	if (!place || (old && old->place == place) ||
	    place->n_slices < RESOURCE_SLICE_SET_MAX_OF_NODE)
		return 0;
	return error_set(err, ERROR_LIMIT, 0, "node %.*s has more than %u slices",
			 VIEW_ARG(place->name), RESOURCE_SLICE_SET_MAX_OF_NODE);
}

/* Touches before the old one is unlinked: a node that has nothing else is told of nothing then. */
static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct resource_slice_set *set = CONTAINER_OF(records, struct resource_slice_set, records);

	assert(set->n_unplaced > 0 || !old || !is_unplaced(old->object));
	set->n_unplaced -= old && is_unplaced(old->object);
	set->n_unplaced += record && is_unplaced(record->object);
	if (old && old->place) {
		assert(old->place->n_slices > 0);
		old->place->n_slices--;
		place_touch(records->places, old->place, event->is_initial);
	}
	if (record && record->place) {
		list_append(&record->place->slices, &record->link);
		record->place->n_slices++;
		place_touch(records->places, record->place, event->is_initial);
	}
}

static const struct record_kind kind = {
	.rows = resource_slice_rows,
	.admit = admit,
	.change = change,
};

void resource_slice_set_init(struct resource_slice_set *set, struct place_book *places)
{
	*set = (struct resource_slice_set){0};
	record_set_init(&set->records, &kind, places);
}

int resource_slice_set_put(struct resource_slice_set *set,
			   const struct resource_slice_fields *fields,
			   const struct record_event *event, struct error *err)
{
	struct resource_slice *slice;

	if (resource_slice_new(fields, &slice, err) < 0)
		return -1;
	return record_set_put_object(&set->records, slice, slice->node, event, err);
}

static bool describes(const struct resource_slice *slice, struct view uuid)
{
	const struct resource_slice_device *devices = slice->devices.items;

	for (uint32_t i = 0; i < slice->devices.count; i++)
		if (view_equal_ignoring_case(devices[i].uuid, uuid) ||
		    view_equal_ignoring_case(devices[i].parent_uuid, uuid))
			return true;
	return false;
}

bool resource_slice_set_names_device(const struct place *place, struct view uuid)
{
	for (const struct list *l = place->slices.next; l != &place->slices; l = l->next)
		if (describes(CONTAINER_OF(l, struct record, link)->object, uuid))
			return true;
	return false;
}
