/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_claim_set.h"

#include <assert.h>
#include <stdlib.h>

struct claim_record {
	struct store_entry entry;
	struct resource_claim *claim; /* owned */
};

static struct claim_record *record_of(struct store_entry *entry)
{
	return CONTAINER_OF(entry, struct claim_record, entry);
}

static struct view record_key(const struct table_node *node)
{
	return CONTAINER_OF(node, struct claim_record, entry.node)->claim->key;
}

void resource_claim_set_init(struct resource_claim_set *set, const struct pod_set *pods)
{
	*set = (struct resource_claim_set){.pods = pods};
	store_init(&set->store, record_key);
}

void resource_claim_set_deinit(struct resource_claim_set *set)
{
	assert(set->store.table.count == 0);
	store_deinit(&set->store);
}

/* A pod that is not there yet touches its node when it comes. */
static void touch_consumers(const struct resource_claim_set *set,
			    const struct resource_claim *claim, bool initial)
{
	for (uint32_t i = 0; i < claim->consumers.count; i++)
		place_touch(
			set->pods->places,
			pod_set_place_of(set->pods, *ARRAY_AT(claim->consumers, struct view, i)),
			initial);
}

static int add(struct resource_claim_set *set, struct resource_claim *claim, uint64_t version,
	       bool initial, struct error *err)
{
	struct claim_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	record->claim = claim;
	if (store_add(&set->store, &record->entry, version, err) < 0) {
		free(record);
		return -1;
	}
	set->n_otherwise += claim->has_other_consumers;
	touch_consumers(set, claim, initial);
	place_touch_lacking(set->pods->places, initial);
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

/* The key is equal, but lies in the claim: the record is taken out while that changes. */
static void update(struct resource_claim_set *set, struct claim_record *record,
		   struct resource_claim *claim, bool initial)
{
	struct resource_claim *old = record->claim;

	assert(view_equal(old->key, claim->key));
	if (resource_claim_equal(old, claim)) {
		resource_claim_free(claim);
		return;
	}
	assert(set->n_otherwise >= old->has_other_consumers);
	set->n_otherwise -= old->has_other_consumers;
	set->n_otherwise += claim->has_other_consumers;
	touch_consumers(set, old, initial);
	touch_consumers(set, claim, initial);
	/* Whom it is reserved for is not kept, and those that awaited it no longer do. */
	if (claim->is_allocated && claim->results.count == 0)
		place_touch_lacking(set->pods->places, initial);
	table_remove(&set->store.table, &record->entry.node);
	record->claim = claim;
	put_back(&set->store.table, &record->entry.node);
	resource_claim_free(old);
}

int resource_claim_set_put(struct resource_claim_set *set,
			   const struct resource_claim_fields *fields, enum store_change change,
			   uint64_t version, bool initial, struct error *err)
{
	struct resource_claim *claim;
	struct store_entry *entry;

	if (resource_claim_new(fields, &claim, err) < 0)
		return -1;
	switch (store_judge(&set->store, claim->key, change, version, &entry)) {
	case STORE_INSERT:
		if (add(set, claim, version, initial, err) == 0)
			return 0;
		resource_claim_free(claim);
		return -1;
	case STORE_UPDATE:
		update(set, record_of(entry), claim, initial);
		return 0;
	default:
		resource_claim_free(claim);
		return 0;
	}
}

void resource_claim_set_remove(struct resource_claim_set *set, struct store_entry *entry)
{
	struct claim_record *record = record_of(entry);

	assert(set->n_otherwise >= record->claim->has_other_consumers);
	set->n_otherwise -= record->claim->has_other_consumers;
	touch_consumers(set, record->claim, false);
	store_remove(&set->store, entry);
	resource_claim_free(record->claim);
	free(record);
}

const struct resource_claim *resource_claim_set_find(const struct resource_claim_set *set,
						     struct view key)
{
	struct store_entry *entry = store_find(&set->store, key);

	return entry ? record_of(entry)->claim : NULL;
}
