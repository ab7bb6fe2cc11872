/* SPDX-License-Identifier: Apache-2.0 */
#include "model/attribution_set.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "model/place.h"

static struct attribution_record *record_of(struct store_entry *entry)
{
	return CONTAINER_OF(entry, struct attribution_record, entry);
}

static struct view record_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct attribution_record, entry.node)->attribution.name;
}

void attribution_set_init(struct attribution_set *set, struct place_book *places,
			  const struct claim_book *claims)
{
	store_init(&set->store, record_key);
	set->places = places;
	set->claims = claims;
}

void attribution_set_deinit(struct attribution_set *set)
{
	assert(set->store.table.count == 0);
	store_deinit(&set->store);
}

static void touch(const struct attribution_set *set, const struct attribution_record *record,
		  bool initial)
{
	const struct place *place;

	place_touch(set->places, record->place, initial);
	for (unsigned i = 0; (place = claim_place(set->claims, record->attribution.name, i)); i++)
		if (place != record->place)
			place_touch(set->places, place, initial);
}

static void record_free(struct attribution_set *set, struct attribution_record *record)
{
	struct place *place = record->place;

	assert(!place == list_is_empty(&record->link));
	list_remove(&record->link);
	arena_deinit(&record->arena);
	free(record);
	place_release(set->places, place);
}

static int record_new(struct attribution_set *set, const struct attribution *attribution,
		      struct attribution_record **ret_record, struct error *err)
{
	struct view node_name = attribution->status.node_name;
	struct attribution_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	list_init(&record->link);
	arena_init(&record->arena, LIMIT_OBJECT_BYTES);
	record->attribution = *attribution;
	if (node_name.len > 0) {
		record->place = place_ensure(set->places, node_name, err);
		if (!record->place) {
			free(record);
			return -1;
		}
		list_append(&record->place->attributions, &record->link);
	}
	*ret_record = record;
	return 0;
}

int attribution_set_put(struct attribution_set *set, const struct attribution *attribution,
			struct arena *take_arena, enum store_change change, uint64_t version,
			bool initial, struct error *err)
{
	struct attribution_record *record = NULL;
	struct store_entry *entry;
	enum store_verdict verdict;

	if (record_new(set, attribution, &record, err) < 0)
		return -1;
	verdict = store_judge(&set->store, attribution->name, change, version, &entry);
	if (verdict != STORE_INSERT && verdict != STORE_UPDATE) {
		record_free(set, record);
		return 0;
	}
	if (verdict == STORE_UPDATE) {
		assert(entry && entry != &record->entry);
		touch(set, record_of(entry), initial);
		store_remove(&set->store, entry);
		record_free(set, record_of(entry));
	}
	if (store_add(&set->store, &record->entry, version, err) < 0) {
		record_free(set, record);
		return -1;
	}
	arena_join(&record->arena, take_arena);
	touch(set, record, initial);
	return 0;
}

/*
 * Where no agent reports nobody speaks of the device again: slices and pods named it once. Nearly
 * always the object was that node's, or an agent has the device: then there is nobody to look for.
 */
static void touch_agentless(const struct attribution_set *set,
			    const struct attribution_record *record)
{
	struct view uuid = record->attribution.uuid;
	struct table_node *node = NULL;

	if (claim_place(set->claims, record->attribution.name, 0) ||
	    (record->place && !record->place->report && place_names_device(record->place, uuid)))
		return;
	while ((node = table_next(&set->places->by_name, node))) {
		const struct place *place = CONTAINER_OF(node, struct place, link);

		if (!place->report && place_names_device(place, uuid))
			place_touch(set->places, place, false);
	}
}

void attribution_set_remove(struct attribution_set *set, struct store_entry *entry)
{
	touch(set, record_of(entry), false);
	touch_agentless(set, record_of(entry));
	store_remove(&set->store, entry);
	record_free(set, record_of(entry));
}

struct attribution_record *attribution_set_find(const struct attribution_set *set,
						struct view name)
{
	struct store_entry *entry = store_find(&set->store, name);

	return entry ? record_of(entry) : NULL;
}

const struct attribution *attribution_set_next(const struct attribution_set *set,
					       const struct attribution *attribution)
{
	const struct table_node *node =
		attribution ? &CONTAINER_OF(attribution, struct attribution_record, attribution)
				       ->entry.node
			    : NULL;
	struct table_node *next = table_next(&set->store.table, node);

	return next ? &CONTAINER_OF(next, struct attribution_record, entry.node)->attribution
		    : NULL;
}
