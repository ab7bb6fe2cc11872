/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_slice_set.h"

#include <assert.h>
#include <stdlib.h>

static struct resource_slice_record *record_of(struct store_entry *entry)
{
	return CONTAINER_OF(entry, struct resource_slice_record, entry);
}

static struct view record_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct resource_slice_record, entry.node)->slice->name;
}

void resource_slice_set_init(struct resource_slice_set *set, struct place_book *places)
{
	*set = (struct resource_slice_set){.places = places};
	store_init(&set->store, record_key);
}

void resource_slice_set_deinit(struct resource_slice_set *set)
{
	assert(set->store.table.count == 0);
	store_deinit(&set->store);
}

static bool is_unplaced(const struct resource_slice *slice)
{
	return slice->driver.len > 0 && slice->node.len == 0;
}

/* What was wrong with the slices may be set right by that. */
static void note_change(struct place *place)
{
	place->slice_changes++;
	place->slices_distrusted_until = 0;
}

/* Hangs the record, which holds its slice, on its place, and takes it off again. */
static void attach(struct resource_slice_set *set, struct resource_slice_record *record,
		   struct place *place, bool initial)
{
	record->place = place;
	set->n_unplaced += is_unplaced(record->slice);
	if (!place)
		return;
	assert(place->n_slices < RESOURCE_SLICE_SET_MAX_OF_NODE);
	list_append(&place->slices, &record->link);
	place->n_slices++;
	note_change(place);
	place_touch(set->places, place, initial);
}

/* Touches before it takes off: a node that has nothing else is told of nothing afterwards. */
static void detach(struct resource_slice_set *set, struct resource_slice_record *record,
		   bool initial)
{
	assert(set->n_unplaced >= is_unplaced(record->slice));
	set->n_unplaced -= is_unplaced(record->slice);
	if (!record->place)
		return;
	place_touch(set->places, record->place, initial);
	assert(record->place->n_slices > 0);
	list_remove(&record->link);
	record->place->n_slices--;
	note_change(record->place);
}

/* What the slice says is as before, and its version is another. */
static void renew(struct resource_slice_set *set, struct place *place, bool initial)
{
	if (!place)
		return;
	if (place->slices_distrusted_until > 0)
		place_touch(set->places, place, initial);
	note_change(place);
}

/* The place that a slice belongs on; NULL with 0: on none. */
static int find_place(struct resource_slice_set *set, const struct resource_slice *slice,
		      const struct place *held, struct place **ret_place, struct error *err)
{
	struct place *place = NULL;

	if (slice->node.len > 0) {
		place = place_ensure(set->places, slice->node, err);
		if (!place)
			return -1;
		if (place != held && place->n_slices >= RESOURCE_SLICE_SET_MAX_OF_NODE)
			return error_set(err, ERROR_LIMIT, 0, "node %.*s has more than %u slices",
					 VIEW_ARG(slice->node), RESOURCE_SLICE_SET_MAX_OF_NODE);
	}
	*ret_place = place;
	return 0;
}

/* Takes slice over on success. */
static int add(struct resource_slice_set *set, struct resource_slice *slice, uint64_t version,
	       bool initial, struct error *err)
{
	struct resource_slice_record *record;
	struct place *place;

	if (find_place(set, slice, NULL, &place, err) < 0)
		return -1;
	record = calloc(1, sizeof(*record));
	if (!record) {
		place_release(set->places, place);
		return error_no_memory(err);
	}
	record->slice = slice;
	if (store_add(&set->store, &record->entry, version, err) < 0) {
		free(record);
		place_release(set->places, place);
		return -1;
	}
	attach(set, record, place, initial);
	return 0;
}

/* A table that a record was just taken out of has room for it: this cannot fail. */
static void put_back(struct table *table, struct table_node *node)
{
	struct error error = {0};
	int failed = table_add(table, node, &error);

	assert(!failed);
	(void)failed;
}

/* Takes slice over on success. The key is equal, but lies in the slice: the record is taken out
 * while that changes. */
static int update(struct resource_slice_set *set, struct resource_slice_record *record,
		  struct resource_slice *slice, bool initial, struct error *err)
{
	struct place *old_place = record->place, *place;

	assert(view_equal(record->slice->name, slice->name));
	if (resource_slice_equal(record->slice, slice)) {
		resource_slice_free(slice);
		renew(set, old_place, initial);
		return 0;
	}
	if (find_place(set, slice, old_place, &place, err) < 0)
		return -1;
	detach(set, record, initial);
	table_remove(&set->store.table, &record->entry.node);
	resource_slice_free(record->slice);
	record->slice = slice;
	put_back(&set->store.table, &record->entry.node);
	attach(set, record, place, initial);
	place_release(set->places, old_place);
	return 0;
}

int resource_slice_set_put(struct resource_slice_set *set,
			   const struct resource_slice_fields *fields, enum store_change change,
			   uint64_t version, bool initial, struct error *err)
{
	struct store_entry *entry = store_find(&set->store, fields->name);
	uint64_t old_version = entry ? entry->version : 0;
	struct resource_slice *slice;
	int failed;

	if (resource_slice_new(fields, &slice, err) < 0)
		return -1;
	switch (store_judge(&set->store, slice->name, change, version, &entry)) {
	case STORE_INSERT:
		failed = add(set, slice, version, initial, err);
		break;
	case STORE_UPDATE:
		failed = update(set, record_of(entry), slice, initial, err);
		/* With its old contents it must not pass for the new version, which comes again. */
		if (failed)
			entry->version = old_version;
		break;
	default:
		resource_slice_free(slice); /* nothing new in it */
		return 0;
	}
	if (failed)
		resource_slice_free(slice);
	return failed;
}

void resource_slice_set_remove(struct resource_slice_set *set, struct store_entry *entry)
{
	struct resource_slice_record *record = record_of(entry);

	detach(set, record, false);
	store_remove(&set->store, entry);
	place_release(set->places, record->place);
	resource_slice_free(record->slice);
	free(record);
}
