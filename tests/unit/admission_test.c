/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/admission.h"
#include "lib/failing_malloc.h"

#define MAX 16

struct fixture {
	struct admission *admission;
	bool refuse_reviews;
	unsigned n_reviews;
	uint64_t tickets[MAX];
	char tokens[MAX][8];
	unsigned n_decided;
	void *decided[MAX];
	int outcomes[MAX];          /* enum identity_outcome; -1: no verdict */
	struct view ask_when_decided;        /* a token to ask for from inside decided() */
};

static const struct identity accepted = {
	.outcome = IDENTITY_ACCEPTED, .reason = "", .node_len = 1, .node = "n"};

static bool on_review(void *owner, uint64_t ticket, struct view token)
{
	struct fixture *f = owner;
	if (f->refuse_reviews)
		return false;
	assert_true(f->n_reviews < MAX);
	f->tickets[f->n_reviews] = ticket;
	snprintf(f->tokens[f->n_reviews++], sizeof(f->tokens[0]), "%.*s", VIEW_ARG(token));
	return true;
}

static void on_decided(void *owner, void *request, const struct identity *identity)
{
	struct fixture *f = owner;
	const struct identity *ignored;
	f->decided[f->n_decided] = request;
	f->outcomes[f->n_decided++] = identity ? (int)identity->outcome : -1;
	if (f->ask_when_decided.len > 0)
		(void)admission_ask(f->admission, f->ask_when_decided, request, 0, &ignored);
}

static void start(struct fixture *f)
{
	struct error err;
	const struct admission_config config = {
		.cache = {.max_accepted = 10, .max_refused = 10, .accepted_ms = 60000,
			  .refused_ms = 1000},
		.max_reviews = 2,
		.max_waiting = 3,
		.timeout_ms = 5000,
		.review = on_review,
		.decided = on_decided,
		.owner = f,
	};
	*f = (struct fixture){0};
	assert_int_equal(admission_new(&config, &f->admission, &err), 0);
}

static enum admission_step ask(struct fixture *f, const char *token, void *request, uint64_t now_ms)
{
	const struct identity *identity = NULL;
	enum admission_step step =
		admission_ask(f->admission, view_from(token), request, now_ms, &identity);
	assert_true((identity != NULL) == (step == ADMISSION_KNOWN));
	return step;
}

static int a, b, c, d;

static void a_token_is_reviewed_once_and_then_known(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_WAIT);
	assert_int_equal(f.n_reviews, 1);
	assert_string_equal(f.tokens[0], "t");
	admission_answer(f.admission, f.tickets[0], &accepted, 10, 0);
	assert_int_equal(f.n_decided, 1);
	assert_ptr_equal(f.decided[0], &a);
	assert_int_equal(f.outcomes[0], IDENTITY_ACCEPTED);
	assert_int_equal(ask(&f, "t", &b, 20), ADMISSION_KNOWN);
	assert_int_equal(f.n_reviews, 1);
	assert_int_equal(admission_count(f.admission), 1);
	admission_free(f.admission);
}

static void requests_with_the_same_token_share_a_review(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_WAIT);
	assert_int_equal(ask(&f, "t", &b, 0), ADMISSION_WAIT);
	assert_int_equal(ask(&f, "u", &c, 0), ADMISSION_WAIT);
	assert_int_equal(f.n_reviews, 2);
	admission_answer(f.admission, f.tickets[0], &accepted, 0, 0);
	assert_int_equal(f.n_decided, 2);
	assert_ptr_equal(f.decided[0], &a);
	assert_ptr_equal(f.decided[1], &b);
	admission_free(f.admission);
	assert_int_equal(f.n_decided, 2);
}

static void what_goes_beyond_a_limit_is_told_at_once(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_WAIT);
	assert_int_equal(ask(&f, "u", &b, 0), ADMISSION_WAIT);
	assert_int_equal(ask(&f, "v", &c, 0), ADMISSION_BUSY);
	assert_int_equal(f.n_reviews, 2);
	assert_int_equal(ask(&f, "t", &c, 0), ADMISSION_WAIT);
	assert_int_equal(ask(&f, "t", &d, 0), ADMISSION_BUSY);
	admission_answer(f.admission, f.tickets[0], &accepted, 0, 0);
	assert_int_equal(ask(&f, "v", &d, 0), ADMISSION_WAIT);
	admission_free(f.admission);
}

static void a_review_that_cannot_start_leaves_nothing_behind(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	f.refuse_reviews = true;
	for (int i = 0; i < 10; i++)
		assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_BUSY);
	assert_int_equal(admission_expire(f.admission, 1000000), UINT64_MAX);
	f.refuse_reviews = false;
	assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_WAIT);
	admission_free(f.admission);
}

static void a_failed_review_is_not_remembered(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_WAIT);
	admission_answer(f.admission, f.tickets[0], NULL, 0, 0);
	assert_int_equal(f.n_decided, 1);
	assert_int_equal(f.outcomes[0], -1);
	assert_int_equal(ask(&f, "t", &b, 0), ADMISSION_WAIT);
	assert_int_equal(f.n_reviews, 2);
	admission_free(f.admission);
}

static void a_review_that_takes_too_long_is_given_up(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(ask(&f, "t", &a, 100), ADMISSION_WAIT);
	assert_int_equal(ask(&f, "u", &b, 200), ADMISSION_WAIT);
	assert_int_equal(admission_expire(f.admission, 5099), 5100);
	assert_int_equal(f.n_decided, 0);
	assert_int_equal(admission_expire(f.admission, 5100), 5200);
	assert_int_equal(f.n_decided, 1);
	assert_int_equal(f.outcomes[0], -1);
	/* Its answer comes too late for anybody, and is not taken for another's. */
	admission_answer(f.admission, f.tickets[0], &accepted, 5150, 0);
	assert_int_equal(f.n_decided, 1);
	assert_int_equal(ask(&f, "t", &a, 5150), ADMISSION_WAIT);
	assert_int_equal(admission_expire(f.admission, 20000), UINT64_MAX);
	assert_int_equal(f.n_decided, 3);
	admission_free(f.admission);
}

static void a_token_that_has_ended_is_judged_but_not_remembered(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	/* {"exp":100} */
	assert_int_equal(ask(&f, "e.eyJleHAiOjEwMH0.s", &a, 0), ADMISSION_WAIT);
	admission_answer(f.admission, f.tickets[0], &accepted, 0, 100000);
	assert_int_equal(f.outcomes[0], IDENTITY_ACCEPTED);
	assert_int_equal(ask(&f, "e.eyJleHAiOjEwMH0.s", &a, 0), ADMISSION_WAIT);
	admission_free(f.admission);
}

static void a_verdict_is_forgotten_shortly_before_its_token_ends(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(ask(&f, "e.eyJleHAiOjEwMH0.s", &a, 0), ADMISSION_WAIT);
	/* Fifteen seconds are left: it is believed for five. */
	admission_answer(f.admission, f.tickets[0], &accepted, 0, 85000);
	assert_int_equal(ask(&f, "e.eyJleHAiOjEwMH0.s", &a, 4999), ADMISSION_KNOWN);
	assert_int_equal(ask(&f, "e.eyJleHAiOjEwMH0.s", &a, 5000), ADMISSION_WAIT);
	/* In the last ten it is judged anew each time. */
	admission_answer(f.admission, f.tickets[1], &accepted, 5000, 90000);
	assert_int_equal(f.outcomes[1], IDENTITY_ACCEPTED);
	assert_int_equal(ask(&f, "e.eyJleHAiOjEwMH0.s", &a, 5000), ADMISSION_WAIT);
	admission_free(f.admission);
}

static void being_told_may_ask_again(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	f.ask_when_decided = VIEW("next");
	assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_WAIT);
	assert_int_equal(ask(&f, "t", &b, 0), ADMISSION_WAIT);
	admission_answer(f.admission, f.tickets[0], NULL, 0, 0);
	assert_int_equal(f.n_decided, 2);
	assert_int_equal(f.n_reviews, 2);
	assert_string_equal(f.tokens[1], "next");
	/* The same token, asked for again while its requests are told, is a new review. */
	f.ask_when_decided = VIEW("t");
	admission_answer(f.admission, f.tickets[1], NULL, 0, 0);
	assert_int_equal(f.n_decided, 4);
	assert_int_equal(f.n_reviews, 3);
	admission_free(f.admission);
}

static void without_memory_it_is_busy(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct fixture f;
		start(&f);
		failing_malloc_at(k);
		enum admission_step step = ask(&f, "t", &a, 0);
		failed = failing_malloc_off();
		assert_int_equal(step, failed ? ADMISSION_BUSY : ADMISSION_WAIT);
		admission_free(f.admission);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_token_is_reviewed_once_and_then_known),
	cmocka_unit_test(requests_with_the_same_token_share_a_review),
	cmocka_unit_test(what_goes_beyond_a_limit_is_told_at_once),
	cmocka_unit_test(a_review_that_cannot_start_leaves_nothing_behind),
	cmocka_unit_test(a_failed_review_is_not_remembered),
	cmocka_unit_test(a_review_that_takes_too_long_is_given_up),
	cmocka_unit_test(a_token_that_has_ended_is_judged_but_not_remembered),
	cmocka_unit_test(a_verdict_is_forgotten_shortly_before_its_token_ends),
	cmocka_unit_test(being_told_may_ask_again),
	cmocka_unit_test(without_memory_it_is_busy),
};
TEST_MAIN(tests)
