/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_claim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One block: the struct, the two arrays, then all text. */

/* Kubernetes bounds namespaces at 63 bytes and all other names at 253; UIDs are shorter. */
#define MAX_TEXT 512u

/* Adds the length of a text to *size. False: it is too long. */
static bool measure(struct view text, size_t *size)
{
	*size += text.len;
	return text.len <= MAX_TEXT;
}

static uint32_t count_consumers(const struct resource_claim_fields *fields)
{
	return fields->n_results > 0 ? fields->n_consumers : 0;
}

static int text_size(const struct resource_claim_fields *fields, size_t *ret_size,
		     struct error *err)
{
	size_t size = fields->namespace.len + 1 + fields->name.len;
	bool fits = size <= MAX_TEXT;

	for (uint32_t i = 0; i < fields->n_results; i++) {
		fits &= measure(fields->results[i].request, &size);
		fits &= measure(fields->results[i].driver, &size);
		fits &= measure(fields->results[i].pool, &size);
		fits &= measure(fields->results[i].device, &size);
		fits &= measure(fields->results[i].share_id, &size);
	}
	for (uint32_t i = 0; i < count_consumers(fields); i++)
		fits &= measure(fields->consumers[i], &size);
	if (!fits)
		return error_set(err, ERROR_LIMIT, 0, "claim: a text is longer than %u bytes",
				 MAX_TEXT);
	*ret_size = size;
	return 0;
}

static struct view put(char **text, struct view v)
{
	struct view copy = {*text, v.len};

	if (v.len > 0)
		memcpy(*text, v.ptr, v.len);
	*text += v.len;
	return copy;
}

static struct view put_key(char **text, const struct resource_claim_fields *fields)
{
	struct view key = {*text, fields->namespace.len + 1 + fields->name.len};

	put(text, fields->namespace);
	put(text, VIEW("/"));
	put(text, fields->name);
	return key;
}

static void put_results(const struct resource_claim_fields *fields,
			struct resource_claim_result *results, char **text)
{
	for (uint32_t i = 0; i < fields->n_results; i++)
		results[i] = (struct resource_claim_result){
			.request = put(text, fields->results[i].request),
			.driver = put(text, fields->results[i].driver),
			.pool = put(text, fields->results[i].pool),
			.device = put(text, fields->results[i].device),
			.share_id = put(text, fields->results[i].share_id),
			.is_admin = fields->results[i].is_admin,
		};
}

int resource_claim_new(const struct resource_claim_fields *fields,
		       struct resource_claim **ret_claim, struct error *err)
{
	uint32_t n_consumers = count_consumers(fields);
	size_t results_size = fields->n_results * sizeof(struct resource_claim_result);
	struct resource_claim_result *results;
	struct resource_claim *claim;
	struct view *consumers;
	size_t size;
	char *text;

	assert(fields->n_results <= RESOURCE_CLAIM_MAX_RESULTS);
	assert(fields->n_consumers <= RESOURCE_CLAIM_MAX_CONSUMERS);
	if (text_size(fields, &size, err) < 0)
		return -1;
	claim = malloc(sizeof(*claim) + results_size + n_consumers * sizeof(*consumers) + size);
	if (!claim)
		return error_no_memory(err);
	results = (struct resource_claim_result *)(void *)(claim + 1);
	consumers = (struct view *)(void *)(results + fields->n_results);
	text = (char *)(consumers + n_consumers);
	put_results(fields, results, &text);
	for (uint32_t i = 0; i < n_consumers; i++)
		consumers[i] = put(&text, fields->consumers[i]);
	*claim = (struct resource_claim){
		.key = put_key(&text, fields),
		.results = {.items = results, .count = fields->n_results, .present = true},
		.is_allocated = fields->is_allocated,
		.consumers = {.items = consumers, .count = n_consumers, .present = true},
		.has_other_consumers = fields->n_results > 0 && fields->has_other_consumers,
	};
	assert(text == (char *)(consumers + n_consumers) + size);
	*ret_claim = claim;
	return 0;
}

void resource_claim_free(struct resource_claim *claim)
{
	free(claim);
}

bool resource_claim_is_reserved_for(const struct resource_claim *claim, struct view pod_uid)
{
	for (uint32_t i = 0; i < claim->consumers.count; i++)
		if (view_equal(*ARRAY_AT(claim->consumers, struct view, i), pod_uid))
			return true;
	return false;
}

static bool results_equal(const struct array a, const struct array b)
{
	if (a.count != b.count)
		return false;
	for (uint32_t i = 0; i < a.count; i++) {
		const struct resource_claim_result *x = ARRAY_AT(a, struct resource_claim_result,
								 i);
		const struct resource_claim_result *y = ARRAY_AT(b, struct resource_claim_result,
								 i);

		if (!view_equal(x->request, y->request) || !view_equal(x->driver, y->driver) ||
		    !view_equal(x->pool, y->pool) || !view_equal(x->device, y->device) ||
		    !view_equal(x->share_id, y->share_id) || x->is_admin != y->is_admin)
			return false;
	}
	return true;
}

bool resource_claim_equal(const struct resource_claim *a, const struct resource_claim *b)
{
	if (!view_equal(a->key, b->key) || a->consumers.count != b->consumers.count ||
	    a->has_other_consumers != b->has_other_consumers)
		return false;
	for (uint32_t i = 0; i < a->consumers.count; i++)
		if (!view_equal(*ARRAY_AT(a->consumers, struct view, i),
				*ARRAY_AT(b->consumers, struct view, i)))
			return false;
	return a->is_allocated == b->is_allocated && results_equal(a->results, b->results);
}
