/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_claim.h"

#include <assert.h>

/* Kubernetes bounds all names at 253 bytes; UIDs are shorter. */
#define MAX_TEXT 512u

static const struct compact_row result_rows[] = {
	COMPACT_TEXTS_ROW(resource_claim_result, request, share_id),
	COMPACT_PLAIN_ROW(resource_claim_result, is_admin, is_admin),
	{0},
};

static const struct compact_row rows[] = {
	COMPACT_TEXTS_ROW(resource_claim, key, key),
	COMPACT_ARRAY_ROW(resource_claim, results, struct resource_claim_result, result_rows),
	COMPACT_ARRAY_ROW(resource_claim, consumers, struct view, compact_text),
	COMPACT_PLAIN_ROW(resource_claim, has_other_consumers, is_allocated),
	{0},
};

int resource_claim_new(const struct resource_claim_fields *fields,
		       struct resource_claim **ret_claim, struct error *err)
{
	struct resource_claim claim = fields->claim;
	char key[RECORD_KEY_SIZE];
	void *copy;

	assert(claim.results.count <= RESOURCE_CLAIM_MAX_RESULTS);
	assert(claim.consumers.count <= RESOURCE_CLAIM_MAX_CONSUMERS);
	if (claim.results.count == 0) {
		claim.consumers.count = 0;
		claim.has_other_consumers = false;
	}
	claim.key = record_set_key(fields->namespace, fields->name, key);
	claim.results = array_of(fields->results, claim.results.count);
	claim.consumers = array_of(fields->consumers, claim.consumers.count);
	if (claim.key.len == 0)
		return error_set(err, ERROR_LIMIT, 0, "claim: its name is too long");
	if (compact_new(rows, &claim, sizeof(claim), MAX_TEXT, &copy, err) < 0)
		return error_wrap(err, "claim");
	*ret_claim = copy;
	return 0;
}

bool resource_claim_is_reserved_for(const struct resource_claim *claim, struct view pod_uid)
{
	return view_is_among(pod_uid, claim->consumers.items, claim->consumers.count);
}

/* A pod that is not there yet touches its node when it comes. */
static void touch_consumers(const struct resource_claim_set *set,
			    const struct resource_claim *claim, bool initial)
{
	ARRAY_EACH(const struct view, uid, claim->consumers)
		node_state_touch(set->records.node_states, pod_set_node_state_of(set->pods, *uid), initial);
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
		node_state_touch_all(records->node_states, true, event->is_initial);
}

static int make(const void *fields, void **ret_object, struct error *err)
{
	struct resource_claim *claim;
	if (resource_claim_new(fields, &claim, err) < 0)
		return -1;
	*ret_object = claim;
	return 0;
}

static const struct record_kind kind = {.rows = rows, .make = make, .change = change};

void resource_claim_set_init(struct resource_claim_set *set, const struct pod_set *pods)
{
	*set = (struct resource_claim_set){.pods = pods};
	record_set_init(&set->records, &kind, pods->records.node_states);
}

const struct resource_claim *resource_claim_set_find(const struct resource_claim_set *set, struct view key)
{
	const struct record *record = record_set_find(&set->records, key);
	return record ? record->object : NULL;
}
