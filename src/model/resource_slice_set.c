/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_slice_set.h"

#include <stdlib.h>

static const struct resource_slice *slice_of(const struct record *record)
{
	return CONTAINER_OF(record, struct resource_slice_record, base)->slice;
}

static bool are_equal(const struct record *a, const struct record *b)
{
	return resource_slice_equal(slice_of(a), slice_of(b));
}

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

/* Touches before it counts as gone: a node that has nothing else is told of nothing afterwards. */
static void leave(struct resource_slice_set *set, const struct record *record,
		  const struct record_event *event)
{
	set->n_unplaced -= is_unplaced(slice_of(record));
	if (!record->place)
		return;
	place_touch(set->records.places, record->place, event->is_initial);
	record->place->n_slices--;
}

static void enter(struct resource_slice_set *set, struct record *record,
		  const struct record_event *event)
{
	set->n_unplaced += is_unplaced(slice_of(record));
	if (!record->place)
		return;
	list_append(&record->place->slices, &record->link);
	record->place->n_slices++;
	place_touch(set->records.places, record->place, event->is_initial);
}

static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct resource_slice_set *set = CONTAINER_OF(records, struct resource_slice_set, records);

	if (old)
		leave(set, old, event);
	if (record)
		enter(set, record, event);
}

static void free_record(struct record_set *records, struct record *base)
{
	struct resource_slice_record *record =
		CONTAINER_OF(base, struct resource_slice_record, base);

	(void)records;
	resource_slice_free(record->slice);
	free(record);
}

static const struct record_kind kind = {
	.are_equal = are_equal,
	.admit = admit,
	.change = change,
	.free = free_record,
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
	struct resource_slice_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	if (resource_slice_new(fields, &record->slice, err) < 0) {
		free(record);
		return -1;
	}
	record->base.key = record->slice->name;
	return record_set_put(&set->records, &record->base, record->slice->node, event, err);
}

static bool describes(const struct resource_slice *slice, struct view uuid)
{
	for (uint32_t i = 0; i < slice->devices.count; i++) {
		const struct resource_slice_device *device =
			ARRAY_AT(slice->devices, struct resource_slice_device, i);

		if (view_equal_ignoring_case(device->uuid, uuid) ||
		    view_equal_ignoring_case(device->parent_uuid, uuid))
			return true;
	}
	return false;
}

bool resource_slice_set_names_device(const struct place *place, struct view uuid)
{
	for (const struct list *l = place->slices.next; l != &place->slices; l = l->next)
		if (describes(slice_of(CONTAINER_OF(l, struct record, link)), uuid))
			return true;
	return false;
}
