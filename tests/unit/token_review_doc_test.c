/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "schema/token_review_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))
#define NODE_NAME "\"authentication.kubernetes.io/node-name\":"

static int setup(void **state)
{
	static struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_deinit(*state);
	return 0;
}

static struct token_review decode(struct arena *arena, struct view json)
{
	struct token_review review;
	struct error err;
	if (token_review_doc_decode(json, arena, &review, &err) != 0)
		fail_msg("%s", err.text);
	return review;
}

static void a_question_names_the_token_and_one_audience(void **state)
{
	(void)state;
	struct sbuf buf;
	sbuf_init(&buf, LIMIT_MIB);
	token_review_doc_encode(VIEW("a.b\"c"), VIEW("gpu-attribution"), &buf);
	assert_text(sbuf_view(&buf),
		    "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":"
		    "{\"token\":\"a.b\\\"c\",\"audiences\":[\"gpu-attribution\"]}}");
	sbuf_deinit(&buf);
}

static void an_answer_says_who_where_and_for_whom(void **state)
{
	struct token_review review = decode(
		*state,
		VIEW("{\"kind\":\"TokenReview\",\"metadata\":{\"managedFields\":[{}]},\"spec\":{},"
		     "\"status\":{\"authenticated\":true,\"user\":{\"username\":"
		     "\"system:serviceaccount:gpu-attribution:agent\",\"uid\":\"x\",\"groups\":[\"g\"],"
		     "\"extra\":{\"authentication.kubernetes.io/credential-id\":[\"JTI=1\"],"
		     NODE_NAME "[\"gpu-a\"],\"authentication.kubernetes.io/node-uid\":[\"n-1\"],"
		     "\"authentication.kubernetes.io/pod-name\":[\"agent-x\"],"
		     "\"authentication.kubernetes.io/pod-uid\":[\"p-1\"]}},"
		     "\"audiences\":[\"gpu-attribution\"]}}"));
	assert_true(review.authenticated);
	assert_text(review.username, "system:serviceaccount:gpu-attribution:agent");
	assert_text(review.node_name, "gpu-a");
	assert_text(review.node_uid, "n-1");
	assert_text(review.pod_name, "agent-x");
	assert_text(review.pod_uid, "p-1");
	assert_int_equal(review.audiences.count, 1);
	assert_text(*ARRAY_AT(review.audiences, struct view, 0), "gpu-attribution");
}

static void a_token_is_not_authenticated_unless_the_answer_says_so(void **state)
{
	static const struct view rows[] = {
		VIEW_INIT("{\"status\":{}}"),
		VIEW_INIT("{\"status\":{\"authenticated\":false,\"audiences\":[\"a\"]}}"),
		VIEW_INIT("{\"status\":{\"authenticated\":null,\"audiences\":[\"a\"]}}"),
		VIEW_INIT("{\"status\":{\"error\":\"token has expired\",\"audiences\":[\"a\"]}}"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_false(decode(*state, rows[i]).authenticated);
}

static void a_token_is_for_nobody_unless_the_answer_says_so(void **state)
{
	static const struct view rows[] = {
		VIEW_INIT("{\"status\":{\"authenticated\":true}}"),
		VIEW_INIT("{\"status\":{\"authenticated\":true,\"audiences\":[]}}"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(decode(*state, rows[i]).audiences.count, 0);
}

static void a_claim_with_two_values_counts_as_none(void **state)
{
	struct token_review review =
		decode(*state, VIEW("{\"status\":{\"authenticated\":true,\"user\":{\"extra\":{" NODE_NAME
				    "[\"gpu-a\",\"gpu-b\"]}}}}"));
	assert_int_equal(review.node_name.len, 0);
}

static void what_is_no_answer_is_refused_and_changes_nothing(void **state)
{
	static const char *const rows[] = {
		"",
		"{}",
		"{\"status\":[]}",
		"{\"status\":{\"authenticated\":\"true\"}}",
		"{\"status\":{\"authenticated\":true,\"authenticated\":true}}",
		"{\"status\":{\"user\":{\"extra\":{" NODE_NAME "\"gpu-a\"}}}}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct token_review read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		assert_int_equal(token_review_doc_decode(view_from(rows[i]), *state, &read, &err),
				 -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_memory_equal(&read, &before, sizeof(read));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_question_names_the_token_and_one_audience),
	cmocka_unit_test_setup_teardown(an_answer_says_who_where_and_for_whom, setup, teardown),
	cmocka_unit_test_setup_teardown(a_token_is_not_authenticated_unless_the_answer_says_so, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_token_is_for_nobody_unless_the_answer_says_so, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_claim_with_two_values_counts_as_none, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_no_answer_is_refused_and_changes_nothing, setup,
					teardown),
};

TEST_MAIN(tests)
