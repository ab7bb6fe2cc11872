/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/admission.h"
#include "lib/failing_malloc.h"
#include "lib/failing_openssl.h"
#include "lib/jwt.h"

#define MAX 16

struct fixture {
	struct admission *admission;
	bool refuse_reviews;
	bool counts_only; /* reviews are counted, and the last ticket kept */
	uint64_t last_ticket;
	unsigned n_reviews;
	uint64_t tickets[MAX];
	char tokens[MAX][8];
	unsigned n_begun; /* also those of which no more is kept */
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
	f->n_begun++;
	f->last_ticket = ticket;
	if (f->counts_only)
		return true;
	assert_true(f->n_reviews < MAX);
	f->tickets[f->n_reviews] = ticket;
	snprintf(f->tokens[f->n_reviews++], sizeof(f->tokens[0]), "%.*s", VIEW_ARG(token));
	return true;
}

static void on_decided(void *owner, void *request, const struct identity *identity)
{
	struct fixture *f = owner;
	const struct identity *ignored;
	if (f->counts_only)
		return;
	f->decided[f->n_decided] = request;
	f->outcomes[f->n_decided++] = identity ? (int)identity->outcome : -1;
	if (f->ask_when_decided.len > 0)
		(void)admission_ask(f->admission,
				    &(struct admission_question){.token = f->ask_when_decided,
								 .request = request},
				    &ignored);
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
	const struct admission_question question = {
		.token = view_from(token), .request = request, .now_ms = now_ms};
	enum admission_step step = admission_ask(f->admission, &question, &identity);
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

static const struct identity_rules rules = {VIEW_INIT("aud"), VIEW_INIT("ns"), VIEW_INIT("agent")};

/* As the controller has it. */
static void start_guarded(struct fixture *f)
{
	struct error err;
	const struct admission_config config = {
		.cache = {.max_accepted = 1000, .max_refused = 1000, .accepted_ms = 120000,
			  .refused_ms = 10000},
		.rules = &rules,
		.quota = {.max_clients = 4096, .max_strangers = 64, .max_of_client = 8,
			  .per_second = 8, .strangers_per_second = 10},
		.max_reviews = 96,
		.max_waiting = 4096,
		.timeout_ms = 5000,
		.review = on_review,
		.decided = on_decided,
		.owner = f,
	};
	*f = (struct fixture){.counts_only = true};
	assert_int_equal(admission_new(&config, &f->admission, &err), 0);
}

/* Who comes from where with what; signature makes tokens differ. */
struct visit {
	const char *network;
	struct jwt_claims claims;
	unsigned signature;
	bool is_known;
	uint64_t now_ms;
	int64_t now_wall_ms;
};

#define AGENT {.audience = "aud", .account = "agent", .node = "n"}

static enum admission_step visit(struct fixture *f, const struct visit *visit)
{
	char room[512], signature[16];
	const struct identity *identity = NULL;
	snprintf(signature, sizeof(signature), "%u", visit->signature);
	const struct admission_question question = {
		.token = jwt_make(&visit->claims, signature, room, sizeof(room)),
		.network = view_from(visit->network),
		.is_known = visit->is_known,
		.request = &a,
		.now_ms = visit->now_ms,
		.now_wall_ms = visit->now_wall_ms,
	};
	return admission_ask(f->admission, &question, &identity);
}

static void a_token_is_not_reviewed_if_its_claims_say_enough(void **state)
{
	(void)state;
	struct fixture f;
	const struct identity *identity = NULL;
	start_guarded(&f);
	const struct admission_question garbage = {.token = VIEW("garbage"), .request = &a};
	assert_int_equal(admission_ask(f.admission, &garbage, &identity), ADMISSION_KNOWN);
	assert_int_equal(identity->outcome, IDENTITY_UNAUTHENTICATED);
	static const struct jwt_claims bad[] = {
		{.account = "agent", .node = "n"},
		{.audience = "other", .account = "agent", .node = "n"},
		{.audience = "aud", .account = "other", .node = "n"},
		{.audience = "aud", .account = "agent"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(visit(&f, &(struct visit){"a", bad[i]}), ADMISSION_KNOWN);
	assert_int_equal(f.n_begun, 0);
	assert_int_equal(admission_counters(f.admission).foreseen, 5);
	assert_int_equal(visit(&f, &(struct visit){"a", AGENT}), ADMISSION_WAIT);
	assert_int_equal(f.n_begun, 1);
	assert_int_equal(admission_counters(f.admission).reviewed, 1);
	admission_free(f.admission);
}

/*
 * Whatever a token says of how it was signed, and by which key: only a review makes it good, and the
 * API server knows its keys. Its claims are those of an agent.
 */
static void no_header_of_a_token_stands_for_a_review(void **state)
{
	(void)state;
	static const char *const headers[] = {
		"e30", /* {} */
		"eyJhbGciOiJub25lIn0", /* {"alg":"none"} */
		"eyJhbGciOiJIUzI1NiJ9", /* {"alg":"HS256"} */
		"eyJhbGciOiJSUzI1NiIsImtpZCI6Ii4uLy4uL2Rldi9udWxsIn0", /* kid: ../../dev/null */
		"eyJhbGciOiJSUzI1NiIsImprdSI6Imh0dHA6Ly9hLyJ9", /* jku: http://a/ */
		"eyJhbGciOiJSUzI1NiIsImp3ayI6e319", /* jwk: {} */
		"AAAA", /* no JSON */
	};
	static const struct identity refused = {.outcome = IDENTITY_UNAUTHENTICATED, .reason = "no"};
	struct fixture f;
	start_guarded(&f);
	for (unsigned i = 0; i < ARRAY_SIZE(headers); i++) {
		char made[512], token[600];
		const struct identity *identity = NULL;
		const struct jwt_claims claims = AGENT;
		(void)jwt_make(&claims, "s", made, sizeof(made));
		snprintf(token, sizeof(token), "%s%s", headers[i], strchr(made, '.'));
		const struct admission_question question = {
			.token = view_from(token), .network = VIEW("a"), .request = &a,
			.now_ms = 10000 * (uint64_t)i};
		assert_int_equal(admission_ask(f.admission, &question, &identity), ADMISSION_WAIT);
		assert_int_equal(f.n_begun, i + 1);
		admission_answer(f.admission, f.last_ticket, &refused, question.now_ms, 0);
		assert_int_equal(admission_ask(f.admission, &question, &identity), ADMISSION_KNOWN);
		assert_int_equal(identity->outcome, IDENTITY_UNAUTHENTICATED);
		/* Without a signature it is no token. */
		*(strrchr(token, '.') + 1) = '\0';
		const struct admission_question unsigned_one = {
			.token = view_from(token), .network = VIEW("a"), .request = &a,
			.now_ms = question.now_ms};
		assert_int_equal(admission_ask(f.admission, &unsigned_one, &identity), ADMISSION_KNOWN);
		assert_int_equal(identity->outcome, IDENTITY_UNAUTHENTICATED);
	}
	admission_free(f.admission);
}

static void a_token_has_expired_if_two_clocks_say_so(void **state)
{
	(void)state;
	struct fixture f;
	struct visit old = {"a", AGENT, .now_wall_ms = 2000000};
	struct visit good = {"b", AGENT, .now_wall_ms = 2000000};
	old.claims.end = 1000;
	good.claims.begin = 1500;
	start_guarded(&f);
	/* Only our clock says so. */
	assert_int_equal(visit(&f, &old), ADMISSION_WAIT);
	assert_int_equal(visit(&f, &good), ADMISSION_WAIT);
	admission_answer(f.admission, f.last_ticket, &accepted, 0, 2000000);
	/* The API server has accepted a token that was issued after that end. */
	old.signature = 1;
	assert_int_equal(visit(&f, &old), ADMISSION_KNOWN);
	/* Our clock was set back: now it is only the other that says so. */
	old.now_wall_ms = 999000;
	assert_int_equal(visit(&f, &old), ADMISSION_WAIT);
	/* What has not expired is reviewed. */
	old.claims.end = 1501;
	old.now_wall_ms = 2000000;
	assert_int_equal(visit(&f, &old), ADMISSION_WAIT);
	admission_free(f.admission);
}

/* The API server answers a millisecond later; honest tokens are good. */
static void answer(struct fixture *f, const struct identity *verdict, uint64_t now_ms)
{
	admission_answer(f->admission, f->last_ticket, verdict, now_ms, 0);
}

static void a_thousand_bad_tokens_a_second_keep_no_honest_one_waiting(void **state)
{
	(void)state;
	static const struct identity refused = {.outcome = IDENTITY_UNAUTHENTICATED, .reason = "no"};
	struct fixture f;
	unsigned bad = 0, n_honest = 0;
	start_guarded(&f);
	for (uint64_t now_ms = 0; now_ms < 10000; now_ms++) {
		unsigned before = f.n_begun;
		const struct visit stranger = {"stranger", AGENT, (unsigned)now_ms, .now_ms = now_ms};
		enum admission_step step = visit(&f, &stranger);
		assert_true(step == ADMISSION_WAIT || step == ADMISSION_TOO_OFTEN);
		bad += f.n_begun - before;
		if (step == ADMISSION_WAIT)
			answer(&f, &refused, now_ms);
		if (now_ms % 20 != 0)
			continue;
		char network[16];
		snprintf(network, sizeof(network), "honest%u", n_honest);
		const struct visit honest = {network, AGENT, 100000 + n_honest++, .now_ms = now_ms};
		assert_int_equal(visit(&f, &honest), ADMISSION_WAIT);
		answer(&f, &accepted, now_ms);
		assert_int_equal(visit(&f, &honest), ADMISSION_KNOWN);
	}
	assert_true(bad >= 10 && bad <= 100);
	assert_int_equal(n_honest, 500);
	assert_int_equal(admission_counters(f.admission).busy, 0);
	assert_int_equal(admission_counters(f.admission).too_often, 10000 - bad);
	admission_free(f.admission);
}

/* Each address for itself has few. Another agent's token is good, so that its address is known. */
static void bad_tokens_from_256_addresses_have_ten_reviews_a_second_in_all(void **state)
{
	(void)state;
	static const struct identity refused = {.outcome = IDENTITY_UNAUTHENTICATED, .reason = "no"};
	struct fixture f;
	char network[16];
	unsigned bad = 0;
	start_guarded(&f);
	for (uint64_t now_ms = 0; now_ms < 10000; now_ms++) {
		snprintf(network, sizeof(network), "s%u", (unsigned)now_ms % 256);
		const struct visit stranger = {network, AGENT, (unsigned)now_ms, .now_ms = now_ms};
		enum admission_step step = visit(&f, &stranger);
		assert_true(step == ADMISSION_WAIT || step == ADMISSION_CROWDED);
		if (step == ADMISSION_WAIT) {
			bad++;
			answer(&f, &refused, now_ms);
		}
		if (now_ms % 200 != 0)
			continue;
		const struct visit known = {"known", AGENT, 100000 + (unsigned)now_ms, true, now_ms};
		assert_int_equal(visit(&f, &known), ADMISSION_WAIT);
		answer(&f, &accepted, now_ms);
	}
	assert_in_range(bad, 100, 110);
	assert_int_equal(admission_counters(f.admission).crowded, 10000 - bad);
	assert_int_equal(admission_counters(f.admission).busy, 0);
	admission_free(f.admission);
}

static void strangers_that_hold_their_reviews_leave_room_for_those_who_are_known(void **state)
{
	(void)state;
	struct fixture f;
	char network[16];
	start_guarded(&f);
	const struct visit honest = {"honest", AGENT, 1};
	assert_int_equal(visit(&f, &honest), ADMISSION_WAIT);
	answer(&f, &accepted, 0);
	unsigned begun = f.n_begun;
	/* The API server does not answer any more. */
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(network, sizeof(network), "s%u", i % 100);
		(void)visit(&f, &(struct visit){network, AGENT, 10 + i, .now_ms = 1000 + 10 * i});
	}
	assert_int_equal(f.n_begun - begun, 64);
	/* A token that was good, from wherever it comes; and a new one from where a good one came. */
	assert_int_equal(visit(&f, &(struct visit){"s1", AGENT, 1, .now_ms = 130000 - 1}),
			 ADMISSION_WAIT);
	assert_int_equal(visit(&f, &(struct visit){"honest", AGENT, 2, true, 11000}), ADMISSION_WAIT);
	assert_int_equal(visit(&f, &(struct visit){"new", AGENT, 3, .now_ms = 11000}), ADMISSION_BUSY);
	assert_int_equal(admission_expire(f.admission, 1000000), UINT64_MAX);
	assert_int_equal(visit(&f, &(struct visit){"new", AGENT, 3, .now_ms = 1000000}),
			 ADMISSION_WAIT);
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

TEST(without_memory_for_a_digest_it_is_busy)
{
	struct fixture f;
	start(&f);
	failing_openssl_set(true);
	enum admission_step step = ask(&f, "t", &a, 0);
	failing_openssl_set(false);
	assert_int_equal(step, ADMISSION_BUSY);
	assert_int_equal(f.n_reviews, 0);
	assert_int_equal(ask(&f, "t", &a, 0), ADMISSION_WAIT);
	admission_answer(f.admission, f.tickets[0], &accepted, 10, 0);
	admission_free(f.admission);
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
	cmocka_unit_test(a_token_is_not_reviewed_if_its_claims_say_enough),
	cmocka_unit_test(no_header_of_a_token_stands_for_a_review),
	cmocka_unit_test(a_token_has_expired_if_two_clocks_say_so),
	cmocka_unit_test(a_thousand_bad_tokens_a_second_keep_no_honest_one_waiting),
	cmocka_unit_test(bad_tokens_from_256_addresses_have_ten_reviews_a_second_in_all),
	cmocka_unit_test(strangers_that_hold_their_reviews_leave_room_for_those_who_are_known),
	cmocka_unit_test(without_memory_it_is_busy),
	cmocka_unit_test(without_memory_for_a_digest_it_is_busy),
};
TEST_MAIN_WITH(tests, failing_openssl_install_prepared, NULL)
