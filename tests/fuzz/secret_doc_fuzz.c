/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever is accepted as a Secret keeps its limits, and the patch that is made of it says the same of a
 * Secret.
 */

#include <assert.h>

#include "base/limits.h"
#include "schema/secret_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const struct secret_doc *secret)
{
	assert(secret->resource_version.len <= 64);
	assert(secret->ca_cert.len <= LIMIT_FILE_BYTES && secret->ca_key.len <= LIMIT_FILE_BYTES);
	assert(secret->cert.len <= LIMIT_FILE_BYTES && secret->key.len <= LIMIT_FILE_BYTES);
}

static void check_same(const struct secret_doc *a, const struct secret_doc *b)
{
	assert(view_equal(a->resource_version, b->resource_version));
	assert(view_equal(a->ca_cert, b->ca_cert) && view_equal(a->ca_key, b->ca_key));
	assert(view_equal(a->cert, b->cert) && view_equal(a->key, b->key));
	assert(b->written_at == 0);
}

static void read_again(const struct secret_doc *secret)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	CLEANUP(sbuf_deinit) struct sbuf patch;
	struct secret_doc again;
	struct error err;
	int result;

	arena_init(&arena, 16 * LIMIT_FILE_BYTES);
	sbuf_init(&patch, 8 * LIMIT_FILE_BYTES);
	secret_doc_encode_patch(secret, &patch);
	assert(patch.failure == ERROR_NONE);
	result = secret_doc_decode(sbuf_view(&patch), &arena, &again, &err);
	assert(result == 0);
	check_same(secret, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct secret_doc secret;
	struct error err;

	arena_init(&arena, 8 * LIMIT_FILE_BYTES);
	if (secret_doc_decode((struct view){(const char *)data, size}, &arena, &secret, &err) == 0) {
		check_values(&secret);
		read_again(&secret);
	}
	return 0;
}
