/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_claim_set.h"

#include <assert.h>

/* A pod that is not there yet touches its node when it comes. */
static void touch_consumers(const struct resource_claim_set *set,
			    const struct resource_claim *claim, bool initial)
{
	ARRAY_EACH(const struct view, uid, claim->consumers)
		place_touch(set->records.places, pod_set_place_of(set->pods, *uid), initial);
}

static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct resource_claim_set *set = CONTAINER_OF(records, struct resource_claim_set, records);
	const struct resource_claim *before = old ? old->object : NULL;
	const struct resource_claim *claim = record ? record->object : NULL;

	if (before) {
		assert(set->n_otherwise >= before->has_other_consumers);
		set->n_otherwise -= before->has_other_consumers;
		touch_consumers(set, before, event->is_initial);
	}
	if (!claim)
		return;
	set->n_otherwise += claim->has_other_consumers;
	touch_consumers(set, claim, event->is_initial);
	/* Whom it is reserved for is not kept, and those that awaited it no longer do. */
	if (!before || (claim->is_allocated && claim->results.count == 0))
		place_touch_all(records->places, true, event->is_initial);
}

static const struct record_kind kind = {.rows = resource_claim_rows, .change = change};

void resource_claim_set_init(struct resource_claim_set *set, const struct pod_set *pods)
{
	*set = (struct resource_claim_set){.pods = pods};
	record_set_init(&set->records, &kind, pods->records.places);
}

int resource_claim_set_put(struct resource_claim_set *set,
			   const struct resource_claim_fields *fields,
			   const struct record_event *event, struct error *err)
{
	struct resource_claim *claim;

	if (resource_claim_new(fields, &claim, err) < 0)
		return -1;
	return record_set_put_object(&set->records, claim, (struct view){0}, event, err);
}

const struct resource_claim *resource_claim_set_find(const struct resource_claim_set *set,
						     struct view key)
{
	const struct record *record = record_set_find(&set->records, key);
	return record ? record->object : NULL;
}
