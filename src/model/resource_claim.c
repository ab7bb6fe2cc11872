/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_claim.h"

#include <assert.h>

#include "base/sbuf.h"
#include "model/compact.h"

/* Kubernetes bounds namespaces at 63 bytes and all other names at 253; UIDs are shorter. */
#define MAX_TEXT 512u

static const struct compact_row result_rows[] = {
	COMPACT_TEXT_ROW(resource_claim_result, request),
	COMPACT_TEXT_ROW(resource_claim_result, driver),
	COMPACT_TEXT_ROW(resource_claim_result, pool),
	COMPACT_TEXT_ROW(resource_claim_result, device),
	COMPACT_TEXT_ROW(resource_claim_result, share_id),
	COMPACT_PLAIN_ROW(resource_claim_result, is_admin),
	{0},
};

static const struct compact_row claim_rows[] = {
	COMPACT_TEXT_ROW(resource_claim, key),
	COMPACT_ARRAY_ROW(resource_claim, results, struct resource_claim_result, result_rows),
	COMPACT_ARRAY_ROW(resource_claim, consumers, struct view, compact_text),
	COMPACT_PLAIN_ROW(resource_claim, is_allocated),
	COMPACT_PLAIN_ROW(resource_claim, has_other_consumers),
	{0},
};

int resource_claim_new(const struct resource_claim_fields *fields,
		       struct resource_claim **ret_claim, struct error *err)
{
	const bool has_results = fields->n_results > 0;
	CLEANUP(sbuf_deinit) struct sbuf key;
	struct resource_claim claim = {
		.results = {(void *)(uintptr_t)fields->results, fields->n_results, true},
		.is_allocated = fields->is_allocated,
		.consumers = {(void *)(uintptr_t)fields->consumers,
			      has_results ? fields->n_consumers : 0, true},
		.has_other_consumers = has_results && fields->has_other_consumers,
	};
	void *copy;

	sbuf_init(&key, MAX_TEXT + 1);
	assert(fields->n_results <= RESOURCE_CLAIM_MAX_RESULTS);
	assert(fields->n_consumers <= RESOURCE_CLAIM_MAX_CONSUMERS);
	if (fields->namespace.len + 1 + fields->name.len > MAX_TEXT ||
	    compact_longest(claim_rows, &claim) > MAX_TEXT)
		return error_set(err, ERROR_LIMIT, 0, "claim: a text is longer than %u bytes",
				 MAX_TEXT);
	sbuf_append(&key, fields->namespace);
	sbuf_append_char(&key, '/');
	sbuf_append(&key, fields->name);
	if (sbuf_check(&key, "claim", err) < 0)
		return -1;
	claim.key = sbuf_view(&key);
	if (compact_new(claim_rows, &claim, sizeof(claim), &copy, err) < 0)
		return -1;
	*ret_claim = copy;
	return 0;
}

bool resource_claim_is_reserved_for(const struct resource_claim *claim, struct view pod_uid)
{
	return view_is_among(pod_uid, claim->consumers.items, claim->consumers.count);
}

bool resource_claim_equal(const struct resource_claim *a, const struct resource_claim *b)
{
	return compact_equal(claim_rows, a, b);
}
