/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "schema/access_review_doc.h"
#include "schema/token_review_doc.h"

static const struct access_review_request request = {VIEW_INIT("/metrics"), VIEW_INIT("get")};

static void assert_written(const struct token_review *user, const char *expected)
{
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, LIMIT_MIB);
	access_review_doc_encode(user, &request, &buf);
	assert_string_equal(sbuf_text(&buf), expected);
}

#define BEGIN "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{"
#define END "\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":\"get\"}}}"

static void all_that_is_known_of_a_user_goes_back(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	struct token_review user;
	struct error err;
	arena_init(&arena, LIMIT_MIB);
	assert_int_equal(token_review_doc_decode(
				 VIEW(" {\"status\":{\"authenticated\":true,\"user\":{\"username\":\"a\\\"b\","
				      "\"uid\":\"1\",\"groups\":[\"g\",\"h\"],\"extra\":{\"k/x\":[\"v\"],"
				      "\"l\":[]}}}}"),
				 &arena, &user, &err), 0);
	assert_written(&user, BEGIN "\"user\":\"a\\\"b\",\"uid\":\"1\",\"groups\":[\"g\",\"h\"],"
				    "\"extra\":{\"k/x\":[\"v\"],\"l\":[]}," END);
}

static void what_is_not_known_is_left_out(void **state)
{
	(void)state;
	assert_written(&(struct token_review){.username = VIEW("u")}, BEGIN "\"user\":\"u\"," END);
}

/* An extra that is no object would make the question another one. */
static void an_extra_of_another_form_is_none(void **state)
{
	(void)state;
	static const struct view rows[] = {
		VIEW_INIT("{\"status\":{\"user\":{\"username\":\"u\"}}}"),
		VIEW_INIT("{\"status\":{\"user\":{\"username\":\"u\",\"extra\":null}}}"),
		VIEW_INIT("{\"spec\":{\"extra\":{\"a\":[]}},\"status\":{\"user\":{\"username\":\"u\"}}}"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct token_review user;
		struct error err;
		arena_init(&arena, LIMIT_MIB);
		assert_int_equal(token_review_doc_decode(rows[i], &arena, &user, &err), 0);
		assert_int_equal(user.extra.len, 0);
	}
}

static void only_a_plain_yes_allows(void **state)
{
	(void)state;
	static const struct {
		struct view json;
		int result;
		bool allowed;
	} rows[] = {
		{VIEW_INIT("{\"status\":{\"allowed\":true}}"), 0, true},
		{VIEW_INIT("{\"status\":{\"allowed\":true,\"denied\":false,\"reason\":\"r\"}}"), 0, true},
		{VIEW_INIT("{\"status\":{\"allowed\":true,\"denied\":true}}"), 0, false},
		{VIEW_INIT("{\"status\":{\"allowed\":false}}"), 0, false},
		{VIEW_INIT("{\"status\":{}}"), 0, false},
		{VIEW_INIT("{\"status\":{\"allowed\":\"true\"}}"), -1, false},
		{VIEW_INIT("{\"allowed\":true}"), -1, false},
		{VIEW_INIT("{\"status\":{\"allowed\":true}"), -1, false},
		{VIEW_INIT(""), -1, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct error err;
		bool allowed = true;
		arena_init(&arena, LIMIT_MIB);
		assert_int_equal(access_review_doc_decode(rows[i].json, &arena, &allowed, &err),
				 rows[i].result);
		assert_int_equal(allowed, rows[i].allowed);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(all_that_is_known_of_a_user_goes_back),
	cmocka_unit_test(what_is_not_known_is_left_out),
	cmocka_unit_test(an_extra_of_another_form_is_none),
	cmocka_unit_test(only_a_plain_yes_allows),
};
TEST_MAIN(tests)
