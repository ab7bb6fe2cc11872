/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_claim_set.h"

#include <stdlib.h>

struct claim_record {
	struct record base;
	struct resource_claim *claim; /* owned */
};

static const struct resource_claim *claim_of(const struct record *record)
{
	return CONTAINER_OF(record, struct claim_record, base)->claim;
}

static bool are_equal(const struct record *a, const struct record *b)
{
	return resource_claim_equal(claim_of(a), claim_of(b));
}

/* A pod that is not there yet touches its node when it comes. */
static void touch_consumers(const struct resource_claim_set *set,
			    const struct resource_claim *claim, bool initial)
{
	for (uint32_t i = 0; i < claim->consumers.count; i++)
		place_touch(
			set->records.places,
			pod_set_place_of(set->pods, *ARRAY_AT(claim->consumers, struct view, i)),
			initial);
}

static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct resource_claim_set *set = CONTAINER_OF(records, struct resource_claim_set, records);
	const struct resource_claim *claim = record ? claim_of(record) : NULL;

	if (old) {
		set->n_otherwise -= claim_of(old)->has_other_consumers;
		touch_consumers(set, claim_of(old), event->is_initial);
	}
	if (!claim)
		return;
	set->n_otherwise += claim->has_other_consumers;
	touch_consumers(set, claim, event->is_initial);
	/* Whom it is reserved for is not kept, and those that awaited it no longer do. */
	if (!old || (claim->is_allocated && claim->results.count == 0))
		place_touch_lacking(records->places, event->is_initial);
}

static void free_record(struct record_set *records, struct record *base)
{
	struct claim_record *record = CONTAINER_OF(base, struct claim_record, base);

	(void)records;
	resource_claim_free(record->claim);
	free(record);
}

static const struct record_kind kind = {
	.are_equal = are_equal,
	.change = change,
	.free = free_record,
};

void resource_claim_set_init(struct resource_claim_set *set, const struct pod_set *pods)
{
	*set = (struct resource_claim_set){.pods = pods};
	record_set_init(&set->records, &kind, pods->records.places);
}

int resource_claim_set_put(struct resource_claim_set *set,
			   const struct resource_claim_fields *fields,
			   const struct record_event *event, struct error *err)
{
	struct claim_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	if (resource_claim_new(fields, &record->claim, err) < 0) {
		free(record);
		return -1;
	}
	record->base.key = record->claim->key;
	return record_set_put(&set->records, &record->base, (struct view){0}, event, err);
}

const struct resource_claim *resource_claim_set_find(const struct resource_claim_set *set,
						     struct view key)
{
	const struct record *record = record_set_find(&set->records, key);

	return record ? claim_of(record) : NULL;
}
