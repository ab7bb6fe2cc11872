/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/front.h"
#include "controller/reviewer.h"
#include "schema/token_review_doc.h"

#include "lib/fake_apiclient.inc"

#define TOKENS "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* What the front was told last. */
static struct {
	unsigned n;
	uint64_t ticket;
	bool is_reader, is_known;
	struct identity verdict; /* of a reader */
	char username[64];       /* of an agent */
} told;

int front_answer_review(struct front *front, uint64_t ticket, const struct token_review *review,
			struct error *err)
{
	(void)front, (void)err;
	told.n++;
	told.ticket = ticket;
	told.is_reader = false;
	told.is_known = review != NULL;
	if (review)
		snprintf(told.username, sizeof(told.username), "%.*s", VIEW_ARG(review->username));
	return 0;
}

int front_answer_reader(struct front *front, uint64_t ticket, const struct identity *verdict,
			struct error *err)
{
	(void)front, (void)err;
	told.n++;
	told.ticket = ticket;
	told.is_reader = true;
	told.is_known = verdict != NULL;
	if (verdict)
		told.verdict = *verdict;
	return 0;
}

static struct reviewer *reviewer;

static int setup(void **state)
{
	(void)state;
	struct error err;
	fake_apiclient_reset();
	memset(&told, 0, sizeof(told));
	const struct reviewer_config config = {
		.audience = "gpuattribution.dev", .max_agents = 3, .max_readers = 2};
	return reviewer_new(&config, &reviewer, &err);
}

static int teardown(void **state)
{
	(void)state;
	reviewer_free(reviewer);
	return 0;
}

static void assert_posted(unsigned i, const char *path, const char *body)
{
	assert_int_equal(n_fake_requests, i + 1);
	assert_string_equal(fake_requests[i].method, "POST");
	assert_string_equal(fake_requests[i].path, path);
	assert_string_equal(fake_requests[i].body, body);
}

static void assert_told(uint64_t ticket, bool is_reader, bool is_known)
{
	assert_int_equal(told.n, 1);
	assert_int_equal(told.ticket, ticket);
	assert_int_equal(told.is_reader, is_reader);
	assert_int_equal(told.is_known, is_known);
}

static void an_agents_token_is_reviewed_for_our_audience_and_that_is_all(void **state)
{
	(void)state;
	reviewer_review(reviewer, 5, VIEW("abc"));
	assert_posted(0, TOKENS,
		      "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":"
		      "{\"token\":\"abc\",\"audiences\":[\"gpuattribution.dev\"]}}");
	fake_apiclient_answer(0, "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"u\"}}}");
	assert_false(fake_requests[0].is_aside);
	assert_told(5, false, true);
	assert_string_equal(told.username, "u");
	assert_int_equal(n_fake_requests, 1);
}

/* A reader's token was found to be that of a user with all that there can be. */
static void know_reader(void)
{
	reviewer_review_reader(reviewer, 7, VIEW("abc"));
	assert_posted(0, TOKENS,
		      "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":"
		      "{\"token\":\"abc\"}}");
	fake_apiclient_answer(
		0, "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prom\",\"uid\":\"u-1\","
		   "\"groups\":[\"g1\",\"g2\"],\"extra\":{\"example.com/scopes\":[\"a\",\"b\"]}}}}");
	assert_int_equal(told.n, 0);
}

static void a_readers_user_is_asked_about_with_all_that_is_known_of_them(void **state)
{
	(void)state;
	know_reader();
	assert_posted(1, ACCESS,
		      "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
		      "\"spec\":{\"user\":\"prom\",\"uid\":\"u-1\",\"groups\":[\"g1\",\"g2\"],"
		      "\"extra\":{\"example.com/scopes\":[\"a\",\"b\"]},\"nonResourceAttributes\":{"
		      "\"path\":\"/metrics\",\"verb\":\"get\"}}}");
}

static void how_a_review_of_a_reader_ends_tells_nothing_of_the_api_server(void **state)
{
	(void)state;
	know_reader();
	assert_true(fake_requests[0].is_aside);
	assert_true(fake_requests[1].is_aside);
}

static void only_who_is_allowed_may_read(void **state)
{
	(void)state;
	static const struct {
		const char *status;
		enum identity_outcome outcome;
	} rows[] = {
		{"{\"allowed\":true}", IDENTITY_ACCEPTED},
		{"{\"allowed\":false,\"reason\":\"no\"}", IDENTITY_FORBIDDEN},
		{"{}", IDENTITY_FORBIDDEN},
		{"{\"allowed\":true,\"denied\":true}", IDENTITY_FORBIDDEN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char answer[128];
		fake_apiclient_reset();
		memset(&told, 0, sizeof(told));
		know_reader();
		snprintf(answer, sizeof(answer), "{\"status\":%s}", rows[i].status);
		fake_apiclient_answer(1, answer);
		assert_told(7, true, true);
		assert_int_equal(told.verdict.outcome, rows[i].outcome);
	}
}

static void a_token_that_nobody_knows_is_not_asked_about_further(void **state)
{
	(void)state;
	reviewer_review_reader(reviewer, 7, VIEW("abc"));
	fake_apiclient_answer(0, "{\"status\":{\"authenticated\":false}}");
	assert_told(7, true, true);
	assert_int_equal(told.verdict.outcome, IDENTITY_UNAUTHENTICATED);
	assert_int_equal(n_fake_requests, 1);
}

static void what_cannot_be_found_out_is_no_verdict(void **state)
{
	(void)state;
	static const char *const answers[] = {NULL, "", "{}", "{\"status\":1}", "{\"status\":{"};
	for (unsigned step = 0; step < 2; step++) {
		for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
			fake_apiclient_reset();
			memset(&told, 0, sizeof(told));
			if (step == 1)
				know_reader();
			else
				reviewer_review_reader(reviewer, 7, VIEW("abc"));
			if (answers[i])
				fake_apiclient_answer(step, answers[i]);
			else
				fake_apiclient_fail(step, ERROR_DENIED);
			assert_told(7, true, false);
		}
	}
}

static void a_client_that_takes_no_request_leaves_no_verdict(void **state)
{
	(void)state;
	fake_apiclient_refusal = ERROR_LIMIT;
	reviewer_review_reader(reviewer, 7, VIEW("abc"));
	assert_told(7, true, false);
	memset(&told, 0, sizeof(told));
	reviewer_review(reviewer, 8, VIEW("abc"));
	assert_told(8, false, false);
	memset(&told, 0, sizeof(told));
	fake_apiclient_reset();
	reviewer_review_reader(reviewer, 9, VIEW("abc"));
	fake_apiclient_refusal = ERROR_LIMIT;
	fake_apiclient_answer(0, "{\"status\":{\"authenticated\":true}}");
	assert_told(9, true, false);
}

/* The front has given it up: it has no more under way than there may be. */
static void above_the_limit_the_oldest_review_of_its_kind_ends_for_the_next(void **state)
{
	(void)state;
	reviewer_review(reviewer, 1, VIEW("a"));
	reviewer_review_reader(reviewer, 2, VIEW("b"));
	reviewer_review_reader(reviewer, 3, VIEW("c"));
	fake_apiclient_answer(1, "{\"status\":{\"authenticated\":true}}");
	assert_int_equal(n_fake_requests, 4); /* ticket 2 asks for the right now, on its one connection */
	assert_int_equal(told.n, 0);
	reviewer_review_reader(reviewer, 4, VIEW("d"));
	assert_told(2, true, false);
	assert_false(fake_requests[3].open);
	assert_true(fake_requests[0].open && fake_requests[2].open && fake_requests[4].open);
	for (uint64_t ticket = 5; ticket < 8; ticket++)
		reviewer_review(reviewer, ticket, VIEW("e"));
	assert_int_equal(told.n, 2);
	assert_int_equal(told.ticket, 1);
	assert_false(told.is_reader || told.is_known || fake_requests[0].open);
	assert_true(fake_requests[2].open && fake_requests[4].open);
}

static void reviews_under_way_end_with_the_reviewer(void **state)
{
	(void)state;
	reviewer_review_reader(reviewer, 1, VIEW("a"));
	reviewer_review(reviewer, 2, VIEW("b"));
	reviewer_free(reviewer);
	reviewer = NULL;
	assert_false(fake_requests[0].open);
	assert_false(fake_requests[1].open);
	assert_int_equal(told.n, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(an_agents_token_is_reviewed_for_our_audience_and_that_is_all,
					setup, teardown),
	cmocka_unit_test_setup_teardown(a_readers_user_is_asked_about_with_all_that_is_known_of_them,
					setup, teardown),
	cmocka_unit_test_setup_teardown(how_a_review_of_a_reader_ends_tells_nothing_of_the_api_server, setup, teardown),
	cmocka_unit_test_setup_teardown(only_who_is_allowed_may_read, setup, teardown),
	cmocka_unit_test_setup_teardown(a_token_that_nobody_knows_is_not_asked_about_further, setup,
					teardown),
	cmocka_unit_test_setup_teardown(what_cannot_be_found_out_is_no_verdict, setup, teardown),
	cmocka_unit_test_setup_teardown(a_client_that_takes_no_request_leaves_no_verdict, setup,
					teardown),
	cmocka_unit_test_setup_teardown(above_the_limit_the_oldest_review_of_its_kind_ends_for_the_next,
					setup, teardown),
	cmocka_unit_test_setup_teardown(reviews_under_way_end_with_the_reviewer, setup, teardown),
};
TEST_MAIN(tests)
