/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_claim.h"

#include <assert.h>

#include "model/record_set.h"

/* Kubernetes bounds all names at 253 bytes; UIDs are shorter. */
#define MAX_TEXT 512u

static const struct compact_row result_rows[] = {
	COMPACT_TEXTS_ROW(resource_claim_result, request, share_id),
	COMPACT_PLAIN_ROW(resource_claim_result, is_admin, is_admin),
	{0},
};

const struct compact_row resource_claim_rows[] = {
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
	if (compact_new(resource_claim_rows, &claim, sizeof(claim), MAX_TEXT, &copy, err) < 0)
		return error_wrap(err, "claim");
	*ret_claim = copy;
	return 0;
}

bool resource_claim_is_reserved_for(const struct resource_claim *claim, struct view pod_uid)
{
	return view_is_among(pod_uid, claim->consumers.items, claim->consumers.count);
}
