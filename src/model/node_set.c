/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_set.h"

#include <assert.h>
#include <stdlib.h>

struct node_record {
	struct store_entry entry; /* by name; the key lies in the place, which outlives it */
	struct node *node;
	struct place *place;
};

static struct node_record *record_of(struct store_entry *entry)
{
	return CONTAINER_OF(entry, struct node_record, entry);
}

static struct view record_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct node_record, entry.node)->place->name;
}

void node_set_init(struct node_set *set, struct place_book *places)
{
	store_init(&set->store, record_key);
	set->places = places;
}

void node_set_deinit(struct node_set *set)
{
	assert(set->store.table.count == 0);
	store_deinit(&set->store);
}

/* Takes node over on success. */
static int add(struct node_set *set, struct node *node, uint64_t version, bool initial,
	       struct error *err)
{
	struct place *place = place_ensure(set->places, node->name, err);
	struct node_record *record = place ? calloc(1, sizeof(*record)) : NULL;

	if (!record) {
		place_release(set->places, place);
		return error_no_memory(err);
	}
	record->node = node;
	record->place = place;
	if (store_add(&set->store, &record->entry, version, err) < 0) {
		free(record);
		place_release(set->places, place);
		return -1;
	}
	assert(!place->node); /* one record a name */
	place->node = node;
	place->node_changes++;
	place_note_boot(set->places, place);
	place_touch(set->places, place, initial);
	return 0;
}

/* Takes node over. */
static void update(struct node_set *set, struct node_record *record, struct node *node,
		   bool initial)
{
	bool same = node_equal(record->node, node);
	bool same_boot = view_equal(record->node->boot_id, node->boot_id);

	assert(record->place->node == record->node);
	assert(view_equal(record->node->name, node->name));
	node_free(record->node);
	record->node = node;
	record->place->node = node;
	if (!same_boot)
		place_note_boot(set->places, record->place);
	if (!same)
		place_touch(set->places, record->place, initial);
}

int node_set_put(struct node_set *set, const struct node_fields *fields,
		 enum store_change change, uint64_t version, bool initial, struct error *err)
{
	struct store_entry *entry;
	struct node *node;

	if (node_new(fields, &node, err) < 0)
		return -1;
	switch (store_judge(&set->store, node->name, change, version, &entry)) {
	case STORE_INSERT:
		if (add(set, node, version, initial, err) == 0)
			return 0;
		node_free(node);
		return -1;
	case STORE_UPDATE:
		update(set, record_of(entry), node, initial);
		return 0;
	default:
		node_free(node);
		return 0;
	}
}

void node_set_remove(struct node_set *set, struct store_entry *entry, uint64_t now_ms)
{
	struct node_record *record = record_of(entry);
	struct place *place = record->place;

	assert(place->node == record->node);
	store_remove(&set->store, entry);
	place->node = NULL;
	place->gone_at = now_ms;
	place->node_changes++;
	place_touch(set->places, place, false);
	node_free(record->node);
	free(record);
	place_release(set->places, place);
}
