/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/metrics_gate.h"
#include "lib/fake_server.inc"

#define MAX_REQUESTS 64
#define MAX_REVIEWS 32

static struct metrics_gate *gate;
static struct metric_registry *registry;
static unsigned n_reviews, n_answers;
static uint64_t last_ticket;

static bool review(void *owner, uint64_t ticket, struct view token)
{
	(void)owner, (void)token;
	n_reviews++;
	last_ticket = ticket;
	return true;
}

static void answer(void *owner, struct server_request *request)
{
	(void)owner;
	n_answers++;
	server_answer(request, &(struct server_answer){.status = 200, .body = VIEW_INIT("page")});
}

static const struct metric_row metric_rows[] = {
	{.name = "requests", .type = METRIC_COUNTER, .unit = "", .help = "Requests.", .labels = METRICS_GATE_LABELS},
};

static void open_gate(bool insecure)
{
	struct error err;
	const struct metrics_gate_config config = {
		.admission = {
			.cache = {.max_accepted = 4, .max_refused = 4, .accepted_ms = 120000,
				  .refused_ms = 10000},
			.max_reviews = MAX_REVIEWS,
			.max_waiting = MAX_REQUESTS,
			.timeout_ms = 10000,
			.review = review,
		},
		.insecure = insecure,
		.seed = 7,
		.metrics = registry,
		.answer = answer,
	};
	n_reviews = n_answers = 0;
	assert_int_equal(metrics_gate_new(NULL, &config, &gate, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	struct error err;
	if (metric_registry_new(metric_rows, ARRAY_SIZE(metric_rows), &registry, &err) != 0)
		return -1;
	open_gate(false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	metrics_gate_free(gate);
	metric_registry_free(registry);
	return 0;
}

/* What the server does with a request once it may proceed. */
static void finish(struct server_request *request)
{
	const struct server_handler handler = metrics_gate_handler(gate);
	const struct server_head head = {.method = VIEW_INIT("GET"), .path = VIEW_INIT("/metrics")};
	if (request->proceeded && request->status == 0)
		handler.request(handler.owner, request, &head, (struct view){0});
}

struct asked {
	const char *method, *path, *token, *peer; /* token NULL: none */
};

static struct server_request *ask_as(const struct asked *asked)
{
	static struct server_request requests[MAX_REQUESTS];
	static unsigned n_requests;
	struct server_request *request = &requests[n_requests % MAX_REQUESTS];
	const struct server_handler handler = metrics_gate_handler(gate);
	char authorization[128] = "";
	if (asked->token)
		snprintf(authorization, sizeof(authorization), "Bearer %s", asked->token);
	const struct server_head head = {.method = view_from(asked->method),
					 .path = view_from(asked->path),
					 .authorization = view_from(authorization),
					 .peer = view_from(asked->peer),
					 .content_length = -1};
	*request = (struct server_request){0};
	handler.head(handler.owner, request, &head);
	finish(request);
	n_requests += request->status == 0; /* one that waits keeps its place */
	return request;
}

static struct server_request *ask(const char *token)
{
	return ask_as(&(struct asked){"GET", "/metrics", token, "192.0.2.1"});
}

static void decide(enum identity_outcome outcome)
{
	const struct identity identity = {.outcome = outcome,
					  .reason = outcome == IDENTITY_ACCEPTED ? "" : "because"};
	metrics_gate_answer_review(gate, last_ticket, &identity);
}

static void the_page_is_for_who_has_the_right(void **state)
{
	(void)state;
	static const struct {
		enum identity_outcome outcome;
		int status;
	} rows[] = {
		{IDENTITY_ACCEPTED, 200},
		{IDENTITY_UNAUTHENTICATED, 401},
		{IDENTITY_FORBIDDEN, 403},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char token[8];
		snprintf(token, sizeof(token), "t%zu", i);
		struct server_request *request = ask(token);
		assert_int_equal(request->status, 0);
		decide(rows[i].outcome);
		finish(request);
		assert_int_equal(request->status, rows[i].status);
		assert_int_equal(request->vouched, rows[i].outcome == IDENTITY_ACCEPTED);
	}
	assert_int_equal(n_answers, 1);
}

static void without_a_token_nothing_is_reviewed(void **state)
{
	(void)state;
	assert_int_equal(ask(NULL)->status, 401);
	assert_int_equal(ask("no token\x01")->status, 401);
	assert_int_equal(n_reviews, 0);
}

static void a_verdict_is_believed_for_its_time_and_no_longer(void **state)
{
	(void)state;
	ask("good");
	decide(IDENTITY_ACCEPTED);
	fake_pass(100000);
	assert_int_equal(ask("good")->status, 200);
	assert_int_equal(n_reviews, 1);
	fake_pass(20000);
	assert_int_equal(ask("good")->status, 0);
	assert_int_equal(n_reviews, 2);
	decide(IDENTITY_FORBIDDEN);
	assert_int_equal(ask("good")->status, 403);
}

static void who_waits_too_long_for_a_verdict_is_told(void **state)
{
	(void)state;
	struct server_request *first = ask("a");
	fake_pass(6000);
	struct server_request *second = ask("b");
	fake_pass(4000);
	assert_int_equal(first->status, 503);
	assert_int_equal(first->retry_after_s, 5);
	assert_int_equal(second->status, 0);
	fake_pass(6000);
	assert_int_equal(second->status, 503);
	assert_int_equal(n_answers, 0);
}

static void what_could_not_be_found_out_is_not_remembered(void **state)
{
	(void)state;
	struct server_request *request = ask("a");
	metrics_gate_answer_review(gate, last_ticket, NULL);
	assert_int_equal(request->status, 503);
	ask("a");
	assert_int_equal(n_reviews, 2);
}

/* Asks with that many tokens of its own, each of which is refused. */
static void flood(const char *peer, unsigned n)
{
	static unsigned serial;
	for (unsigned i = 0; i < n; i++) {
		char token[32];
		unsigned before = n_reviews;
		snprintf(token, sizeof(token), "bad%u", serial++);
		ask_as(&(struct asked){"GET", "/metrics", token, peer});
		if (n_reviews > before)
			decide(IDENTITY_UNAUTHENTICATED);
	}
}

static void a_stranger_begins_few_reviews_and_keeps_nobody_out(void **state)
{
	(void)state;
	flood("192.0.2.66", 1000);
	assert_int_equal(n_reviews, 4 * METRICS_GATE_CLIENT_REVIEWS_PER_SECOND);
	fake_pass(10000);
	n_reviews = 0;
	for (unsigned i = 0; i < 10; i++) {
		flood("192.0.2.66", 100);
		fake_pass(1000);
	}
	assert_in_range(n_reviews, 1, (4 + 10) * METRICS_GATE_CLIENT_REVIEWS_PER_SECOND);
	flood("192.0.2.66", 100);
	n_reviews = 0;
	ask("good");
	assert_int_equal(n_reviews, 1);
}

static void however_many_strangers_there_are_reviews_stay_few(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		char peer[32];
		snprintf(peer, sizeof(peer), "192.0.%u.%u", i / 250, i % 250);
		flood(peer, 3);
	}
	assert_int_equal(n_reviews, 4 * METRICS_GATE_REVIEWS_PER_SECOND);
	assert_in_range(metrics_gate_tokens(gate), 1, 4);
}

/* Asks from that many addresses, with three tokens each, of which nothing is ever found out. */
static void flood_without_verdicts(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char peer[32], token[32];
		snprintf(peer, sizeof(peer), "198.51.%u.%u", i / 250, i % 250);
		for (unsigned k = 0; k < 3; k++) {
			snprintf(token, sizeof(token), "slow%u.%u", i, k);
			ask_as(&(struct asked){"GET", "/metrics", token, peer});
		}
	}
}

/* The scraper's verdict has ended. */
static void know_scraper(void)
{
	ask("good");
	decide(IDENTITY_ACCEPTED);
	fake_pass(120000);
	n_reviews = 0;
}

static void no_number_of_strangers_keeps_out_who_was_allowed_before(void **state)
{
	(void)state;
	know_scraper();
	flood_without_verdicts(1000);
	assert_int_equal(n_reviews, MAX_REVIEWS / 2);
	struct server_request *request = ask("good");
	assert_int_equal(n_reviews, MAX_REVIEWS / 2 + 1);
	decide(IDENTITY_ACCEPTED);
	finish(request);
	assert_int_equal(request->status, 200);
	/* Its token was replaced meanwhile. */
	request = ask("good2");
	assert_int_equal(n_reviews, MAX_REVIEWS / 2 + 2);
	decide(IDENTITY_ACCEPTED);
	finish(request);
	assert_int_equal(request->status, 200);
	assert_int_equal(ask_as(&(struct asked){"GET", "/metrics", "late", "192.0.2.9"})->status, 503);
}

static double n_requests(enum metrics_gate_outcome outcome)
{
	return metric_value(registry, 0, outcome);
}

static void who_finds_no_room_for_a_review_may_come_again_in_five_seconds_and_is_counted(void **state)
{
	(void)state;
	know_scraper();
	flood_without_verdicts(1000);
	const double before = n_requests(METRICS_GATE_BUSY);
	assert_true(before > 0);
	const struct server_request *refused = ask_as(&(struct asked){"GET", "/metrics", "late", "192.0.2.9"});
	assert_int_equal(refused->status, 503);
	assert_int_equal(refused->retry_after_s, 5);
	assert_true(n_requests(METRICS_GATE_BUSY) == before + 1);
	/* A review that was begun and had no end is another matter. */
	assert_true(n_requests(METRICS_GATE_UNAVAILABLE) == 0);
	fake_pass(10000);
	assert_int_equal((int)n_requests(METRICS_GATE_UNAVAILABLE), MAX_REVIEWS / 2);
	assert_true(n_requests(METRICS_GATE_BUSY) == before + 1);
}

static void credit_that_strangers_have_used_up_is_not_the_scrapers(void **state)
{
	(void)state;
	know_scraper();
	flood("192.0.2.1", 100); /* from where it comes, too */
	for (unsigned i = 0; i < 1000; i++) {
		char peer[32];
		snprintf(peer, sizeof(peer), "192.0.%u.%u", 100 + i / 250, i % 250);
		flood(peer, 3);
	}
	n_reviews = 0;
	ask("good");
	assert_int_equal(n_reviews, 1);
}

static void who_is_no_longer_allowed_is_a_stranger_again(void **state)
{
	(void)state;
	know_scraper();
	ask("good");
	decide(IDENTITY_FORBIDDEN);
	fake_pass(20000);
	flood_without_verdicts(1000);
	n_reviews = 0;
	assert_int_equal(ask("good")->status, 503);
	assert_int_equal(n_reviews, 0);
}

static void reviews_that_took_too_long_leave_room_for_others(void **state)
{
	(void)state;
	flood_without_verdicts(1000);
	assert_int_equal(n_reviews, MAX_REVIEWS / 2);
	fake_pass(10000);
	ask("good");
	assert_int_equal(n_reviews, MAX_REVIEWS / 2 + 1);
}

static void other_paths_and_methods_are_refused_before_a_token_is_looked_at(void **state)
{
	(void)state;
	static const struct {
		struct asked asked;
		int status;
	} rows[] = {
		{{"GET", "/", "t", "192.0.2.1"}, 404},
		{{"GET", "/metrics/", "t", "192.0.2.1"}, 404},
		{{"GET", "/readyz", "t", "192.0.2.1"}, 404},
		{{"POST", "/metrics", "t", "192.0.2.1"}, 405},
		{{"DELETE", "/metrics", "t", "192.0.2.1"}, 405},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(ask_as(&rows[i].asked)->status, rows[i].status);
	assert_int_equal(n_reviews, 0);
}

static void in_clear_everybody_reads_and_nothing_is_reviewed(void **state)
{
	(void)state;
	metrics_gate_free(gate);
	open_gate(true);
	assert_int_equal(ask(NULL)->status, 200);
	assert_int_equal(ask("anything")->status, 200);
	assert_int_equal(n_reviews, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(the_page_is_for_who_has_the_right, setup,
					teardown),
	cmocka_unit_test_setup_teardown(without_a_token_nothing_is_reviewed, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_verdict_is_believed_for_its_time_and_no_longer, setup,
					teardown),
	cmocka_unit_test_setup_teardown(who_waits_too_long_for_a_verdict_is_told, setup,
					teardown),
	cmocka_unit_test_setup_teardown(what_could_not_be_found_out_is_not_remembered, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_stranger_begins_few_reviews_and_keeps_nobody_out, setup,
					teardown),
	cmocka_unit_test_setup_teardown(however_many_strangers_there_are_reviews_stay_few, setup,
					teardown),
	cmocka_unit_test_setup_teardown(no_number_of_strangers_keeps_out_who_was_allowed_before, setup,
					teardown),
	cmocka_unit_test_setup_teardown(who_finds_no_room_for_a_review_may_come_again_in_five_seconds_and_is_counted,
					setup, teardown),
	cmocka_unit_test_setup_teardown(credit_that_strangers_have_used_up_is_not_the_scrapers, setup,
					teardown),
	cmocka_unit_test_setup_teardown(who_is_no_longer_allowed_is_a_stranger_again, setup,
					teardown),
	cmocka_unit_test_setup_teardown(reviews_that_took_too_long_leave_room_for_others, setup,
					teardown),
	cmocka_unit_test_setup_teardown(other_paths_and_methods_are_refused_before_a_token_is_looked_at, setup,
					teardown),
	cmocka_unit_test_setup_teardown(in_clear_everybody_reads_and_nothing_is_reviewed, setup,
					teardown),
};
TEST_MAIN(tests)
