/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever is accepted as the answer to a TokenReview keeps its limits. What is then sent of it, in a
 * question what its user may do, or in another TokenReview, is JSON.
 */

#include <assert.h>

#include "base/limits.h"
#include "schema/access_review_doc.h"
#include "schema/token_review_doc.h"
#include "wire/jlex.h"

#define MAX_TEXT 1024u
#define MAX_TEXTS 16u
#define MAX_GROUPS 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(struct view text)
{
	struct jlex lex;
	struct error err;
	int skipped, finished;

	jlex_init(&lex, text, JLEX_MAX_DEPTH, &err);
	skipped = jlex_skip(&lex);
	finished = skipped == 0 ? jlex_finish(&lex) : -1;
	assert(skipped == 0 && finished == 0);
}

static void check_limits(const struct token_review *review)
{
	assert(review->username.len <= MAX_TEXT && review->uid.len <= MAX_TEXT);
	assert(review->node_name.len <= LIMIT_TEXT_NAME && review->pod_name.len <= LIMIT_TEXT_NAME);
	assert(review->node_uid.len <= LIMIT_TEXT_UID && review->pod_uid.len <= LIMIT_TEXT_UID);
	assert(review->audiences.count <= MAX_TEXTS && review->groups.count <= MAX_GROUPS);
	for (uint32_t i = 0; i < review->groups.count; i++)
		assert(ARRAY_AT(review->groups, struct view, i)->len <= MAX_TEXT);
}

static void check_extra(struct view extra, struct view json)
{
	if (extra.len == 0)
		return;
	assert(extra.ptr >= json.ptr && extra.ptr + extra.len <= json.ptr + json.len);
	assert(extra.ptr[0] == '{' && extra.ptr[extra.len - 1] == '}');
}

static void check_questions(const struct token_review *review)
{
	const struct access_review_request request = {VIEW("/metrics"), VIEW("get")};
	CLEANUP(sbuf_deinit) struct sbuf access;
	CLEANUP(sbuf_deinit) struct sbuf token;

	sbuf_init(&access, 4 * LIMIT_OBJECT_BYTES);
	access_review_doc_encode(review, &request, &access);
	assert(access.failure == ERROR_NONE);
	check_json(sbuf_view(&access));
	sbuf_init(&token, LIMIT_OBJECT_BYTES);
	token_review_doc_encode(review->username, review->uid, &token);
	assert(token.failure == ERROR_NONE);
	check_json(sbuf_view(&token));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct view json = {(const char *)data, size};
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct token_review review;
	struct error err;
	bool is_allowed;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (token_review_doc_decode(json, &arena, &review, &err) == 0) {
		check_limits(&review);
		check_extra(review.extra, json);
		check_questions(&review);
	}
	if (access_review_doc_decode(json, &arena, &is_allowed, &err) != 0)
		assert(!is_allowed);
	return 0;
}
