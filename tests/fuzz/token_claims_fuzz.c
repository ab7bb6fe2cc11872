/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The input is a token, or the payload of one behind a first byte of 0. Whatever is read lies in the
 * payload, and a claim that is one plain text excludes every text but that one.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "schema/token_claims.h"
#include "wire/base64.h"
#include "wire/jwalk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_claim(struct view claim, struct view payload)
{
	struct view text;
	(void)token_claims_excludes(claim, VIEW("gpuattribution.dev"));
	if (claim.len == 0) {
		assert(token_claims_excludes(claim, VIEW("")));
		return;
	}
	assert(claim.ptr >= payload.ptr && claim.ptr + claim.len <= payload.ptr + payload.len);
	if (!jwalk_text(claim, &text))
		return;
	assert(!token_claims_excludes(claim, text));
	assert(token_claims_excludes(claim, VIEW("\"")));
}

static bool check(struct view token)
{
	CLEANUP(sbuf_deinit) struct sbuf payload;
	struct token_claims claims;
	bool is_read = token_claims_read(token, &payload, &claims);
	if (is_read) {
		check_claim(claims.audience, sbuf_view(&payload));
		check_claim(claims.subject, sbuf_view(&payload));
		check_claim(claims.node_name, sbuf_view(&payload));
	}
	return is_read;
}

/* A payload that has been encoded is decoded to the same bytes. */
static void check_payload(struct view payload)
{
	CLEANUP(sbuf_deinit) struct sbuf token;
	CLEANUP(sbuf_deinit) struct sbuf decoded;
	sbuf_init(&token, 2 * LIMIT_TOKEN_BYTES);
	sbuf_init(&decoded, LIMIT_TOKEN_BYTES);
	base64_encode(payload, &token);
	while (token.len > 0 && token.ptr[token.len - 1] == '=')
		token.len--;
	for (size_t i = 0; i < token.len; i++)
		token.ptr[i] = token.ptr[i] == '+' ? '-' : token.ptr[i] == '/' ? '_' : token.ptr[i];
	assert(base64_decode_url(sbuf_view(&token), &decoded));
	assert(view_equal(sbuf_view(&decoded), payload));
	CLEANUP(sbuf_deinit) struct sbuf whole;
	sbuf_init(&whole, 2 * LIMIT_TOKEN_BYTES);
	sbuf_printf(&whole, "e30.%.*s.s", VIEW_ARG(sbuf_view(&token)));
	(void)check(sbuf_view(&whole));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct view input = {(const char *)data, size};
	if (size > LIMIT_TOKEN_BYTES)
		return 0;
	if (size > 0 && data[0] == 0)
		check_payload(view_from_offset(input, 1));
	else
		(void)check(input);
	return 0;
}
