/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/runner.h"

#include "lib/fake_loop.inc"

static const struct resource things = {"a.b", "v1", "things", "Thing", RESOURCE_JSON, NULL};
static struct error err;

struct fetch {
	bool is_open;
};

struct world {
	struct loop *loop;
	struct reflector *reflector;
	struct runner *runner;
	struct fetch fetch;
	struct fetch_handler handler; /* of the last request */
	bool may_begin;
	unsigned n_started, n_answered, n_failed, n_cancelled, n_recoveries, n_heard;
	bool is_watch;      /* the last request */
	uint64_t waited_ms; /* of the last failure */
	unsigned n_lists_ended;
	uint64_t took_ms;   /* of the last list */
};

static struct world world;

/* In the place of io/fetch.h. */
void fetch_cancel(struct fetch *fetch)
{
	if (!fetch)
		return;
	assert_true(fetch->is_open);
	fetch->is_open = false;
	world.n_cancelled++;
}

static bool may_begin(void *owner)
{
	return ((struct world *)owner)->may_begin;
}

static int start(void *owner, const struct reflector_request *request,
		 const struct fetch_handler *handler, struct fetch **ret_fetch,
		 struct error *start_err)
{
	struct world *w = owner;
	(void)start_err;
	assert_non_null(request->path);
	assert_false(w->fetch.is_open);
	w->fetch.is_open = true;
	w->handler = *handler;
	w->is_watch = request->is_watch;
	w->n_started++;
	*ret_fetch = &w->fetch;
	return 0;
}

static void answered(void *owner, int status, bool is_recovery)
{
	struct world *w = owner;
	w->n_answered++;
	assert_true(status == 200 || !is_recovery);
	w->n_recoveries += is_recovery;
}

static void heard(void *owner)
{
	((struct world *)owner)->n_heard++;
}

static void failed(void *owner, bool was_answered, uint64_t waited_ms, const struct error *error)
{
	struct world *w = owner;
	(void)was_answered;
	assert_non_null(error);
	w->n_failed++;
	w->waited_ms = waited_ms;
}

static void list_ended(void *owner, uint64_t took_ms)
{
	struct world *w = owner;
	assert_false(w->is_watch);
	w->n_lists_ended++;
	w->took_ms = took_ms;
}

static void ignore(void *owner)
{
	(void)owner;
}

static int take_any(void *owner, enum reflector_change change, const struct object_meta *meta,
		    struct view document, struct error *object_err)
{
	(void)owner, (void)change, (void)meta, (void)document, (void)object_err;
	return 0;
}

static int set_up(void **state)
{
	const struct runner_host host = {&world, NULL, may_begin, start, answered, heard, failed, list_ended};
	const struct reflector_sink sink = {
		.replace_begin = ignore, .replace_end = ignore, .object = take_any};
	const struct reflector_config config = {&things, REFLECTOR_LIST, 0, 30000, 42};
	struct runner_host of_loop = host;
	(void)state;
	world = (struct world){.may_begin = true};
	if (loop_new(&world.loop, &err) != 0 ||
	    reflector_new(&config, &sink, &world.reflector, &err) != 0)
		return -1;
	of_loop.loop = world.loop;
	return runner_new(&of_loop, world.reflector, &world.runner, &err);
}

static int tear_down(void **state)
{
	(void)state;
	runner_free(world.runner);
	assert_false(world.fetch.is_open);
	reflector_free(world.reflector);
	loop_free(world.loop);
	return 0;
}

static void advance(uint64_t ms)
{
	fake_loop_advance(world.loop, ms);
}

static void see_head(int status)
{
	const struct fetch_result head = {.status = status,
					  .content_type = VIEW("application/json")};
	world.handler.head(world.handler.owner, &head);
}

static void see_failure(void)
{
	struct fetch_result result = {.failed = true};
	error_set(&result.error, ERROR_RETRY, 0, "connection refused");
	world.fetch.is_open = false;
	world.handler.done(world.handler.owner, &result);
}

#define LIST                                                                                \
	"{\"kind\":\"ThingList\",\"apiVersion\":\"a.b/v1\",\"metadata\":"                         \
	"{\"resourceVersion\":\"5\"},\"items\":["
#define LIST_END "]}"
#define BOOKMARK                                                                            \
	"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":\"a.b/v1\","         \
	"\"metadata\":{\"resourceVersion\":\"5\"}}}\n"

#define EXPIRED                                                                             \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":410}}\n"

static void see_bytes(const char *text)
{
	assert_int_equal(world.handler.body(world.handler.owner, view_from(text), &err), 0);
}

static void see_end(void)
{
	const struct fetch_result result = {.status = 200};
	world.fetch.is_open = false;
	world.handler.done(world.handler.owner, &result);
}

/* An answer without a body. */
static void see_answer(int status)
{
	see_head(status);
	see_end();
}

/* Its watch is asked for. */
static void begin_watch(void)
{
	advance(0);
	assert_false(world.is_watch);
	see_head(200);
	see_bytes(LIST LIST_END);
	see_end();
	assert_true(world.is_watch);
	assert_int_equal(world.n_started, 2);
}

static void begin_anew(void **state)
{
	tear_down(state);
	assert_int_equal(set_up(state), 0);
}

static void it_begins_at_the_next_turn_of_the_loop(void **state)
{
	(void)state;
	assert_int_equal(world.n_started, 0);
	assert_true(runner_is_idle(world.runner));
	advance(0);
	assert_int_equal(world.n_started, 1);
	assert_false(runner_is_idle(world.runner));
	see_head(200);
	assert_int_equal(world.n_answered, 1);
}

static void while_it_may_not_begin_it_waits_for_the_word(void **state)
{
	(void)state;
	world.may_begin = false;
	advance(3600000);
	assert_int_equal(world.n_started, 0);
	assert_true(fake_loop_next(world.loop) == UINT64_MAX); /* it does not ask again and again */
	world.may_begin = true;
	runner_go_ahead(world.runner, 150, REFLECTOR_BACK);
	advance(149);
	assert_int_equal(world.n_started, 0);
	advance(1);
	assert_int_equal(world.n_started, 1);
}

static void what_has_failed_is_tried_again_within_the_jitter_once_the_server_answers(void **state)
{
	(void)state;
	advance(0);
	world.may_begin = false;
	see_failure();
	assert_int_equal(world.n_failed, 1);
	advance(60000);
	assert_int_equal(world.n_started, 1);
	world.may_begin = true;
	runner_go_ahead(world.runner, 100, REFLECTOR_BACK);
	advance(100);
	assert_int_equal(world.n_started, 2);
	see_failure();
	runner_go_ahead(world.runner, 100, REFLECTOR_BACK);
	advance(100);
	assert_int_equal(world.n_started, 3);
}

static void it_is_tried_whatever_it_may(void **state)
{
	(void)state;
	world.may_begin = false;
	advance(0);
	assert_true(runner_try(world.runner));
	assert_int_equal(world.n_started, 1);
	see_failure();
	assert_true(runner_try(world.runner));
	assert_int_equal(world.n_started, 2);
	see_answer(403); /* as by a server that has just started */
	assert_true(runner_try(world.runner));
	assert_int_equal(world.n_started, 3);
}

static void what_waits_for_something_else_than_the_server_is_not_tried(void **state)
{
	static const int statuses[] = {429, 404};
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		begin_anew(state);
		advance(0);
		world.may_begin = false;
		see_answer(statuses[i]);
		for (int n = 0; n < 3; n++) {
			assert_false(runner_try(world.runner));
			assert_true(runner_is_idle(world.runner));
			assert_int_equal(world.n_started, 1);
			advance(100);
		}
		/* Its time comes, and it waits for the word; then it can be tried. */
		advance(60000);
		assert_int_equal(world.n_started, 1);
		assert_true(runner_try(world.runner));
		assert_int_equal(world.n_started, 2);
	}
}

static void an_answer_of_200_after_a_failure_of_the_server_is_a_recovery(void **state)
{
	static const struct {
		int status; /* 0: no answer */
		unsigned n_recoveries;
	} rows[] = {{0, 1}, {500, 1}, {503, 1}, {429, 0}, {403, 0}, {401, 0}, {404, 0}, {410, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin_anew(state);
		advance(0);
		if (rows[i].status == 0)
			see_failure();
		else
			see_answer(rows[i].status);
		advance(40000);
		assert_int_equal(world.n_started, 2);
		see_head(200);
		assert_int_equal(world.n_recoveries, rows[i].n_recoveries);
		see_bytes(LIST LIST_END);
		see_end();
		see_head(200); /* of its watch: it is over */
		assert_int_equal(world.n_recoveries, rows[i].n_recoveries);
	}
}

static void a_watch_that_is_cut_and_back_is_a_recovery(void **state)
{
	(void)state;
	begin_watch();
	see_head(200);
	advance(5000);
	see_failure();
	assert_int_equal(world.n_started, 3);
	see_head(200);
	assert_int_equal(world.n_recoveries, 1);
}

static void regress_13_what_was_given_up_for_its_silence_and_is_answered_is_a_recovery(void **state)
{
	(void)state;
	advance(0);
	advance(75000);
	assert_int_equal(world.n_failed, 1);
	advance(2000);
	assert_int_equal(world.n_started, 2);
	see_head(200);
	assert_int_equal(world.n_recoveries, 1);
}

static void each_list_is_timed_until_its_end_and_no_watch_is(void **state)
{
	(void)state;
	advance(0);
	advance(300);
	see_failure();
	assert_int_equal(world.n_lists_ended, 1);
	assert_int_equal(world.took_ms, 300);
	advance(40000);
	see_head(200);
	advance(700);
	see_bytes(LIST LIST_END);
	assert_int_equal(world.n_lists_ended, 1);
	const uint64_t expected = loop_now_ms(world.loop);
	see_end();
	assert_int_equal(world.n_lists_ended, 2);
	assert_true(world.took_ms >= 700 && world.took_ms <= expected);
	assert_true(world.is_watch);
	see_head(200);
	advance(5000);
	see_failure();
	assert_int_equal(world.n_lists_ended, 2);
}

static void a_list_that_is_given_up_is_timed(void **state)
{
	(void)state;
	advance(0);
	advance(75000);
	assert_int_equal(world.n_lists_ended, 1);
	assert_true(world.took_ms >= 60000 && world.took_ms <= 75000);
}

static void only_bytes_of_an_answer_of_200_are_heard(void **state)
{
	(void)state;
	advance(0);
	see_head(500);
	see_bytes("no");
	assert_int_equal(world.n_heard, 0);
	see_end();
	advance(2000);
	see_head(200);
	assert_int_equal(world.n_heard, 0);
	see_bytes(LIST);
	assert_int_equal(world.n_heard, 1);
	see_bytes(LIST_END);
	assert_int_equal(world.n_heard, 2);
	/* Also what is of no use. */
	see_end();
	see_head(200);
	assert_int_equal(world.handler.body(world.handler.owner, VIEW(EXPIRED), &err), -1);
	assert_int_equal(world.n_heard, 3);
}

static void a_failure_says_for_how_long_nothing_had_come(void **state)
{
	(void)state;
	advance(0);
	advance(3000);
	see_failure();
	assert_int_equal(world.waited_ms, 3000);
	advance(2000);
	see_head(200);
	advance(3000);
	see_failure(); /* it was cut, and that came at once */
	assert_int_equal(world.waited_ms, 0);
	advance(2000);
	world.waited_ms = 0;
	begin_anew(state);
	advance(0);
	advance(75000);
	assert_int_equal(world.n_failed, 1);
	assert_int_equal(world.waited_ms, 75000);
}

static void regress_13_a_silent_watch_has_waited_since_its_last_byte_and_no_longer(void **state)
{
	(void)state;
	begin_watch();
	see_head(200);
	advance(60000);
	see_bytes(BOOKMARK);
	advance(60000);
	see_bytes(BOOKMARK);
	advance(75000);
	assert_int_equal(world.n_failed, 1);
	assert_int_equal(world.waited_ms, 75000);
}

enum under_way { NOTHING, LIST_REQUEST, LIST_BODY, WATCH_REQUEST, WATCH_OPEN };

/* Brings it there, and returns when something came of it last. */
static uint64_t begin_under_way(enum under_way what)
{
	if (what == NOTHING)
		world.may_begin = false;
	if (what == WATCH_REQUEST || what == WATCH_OPEN)
		begin_watch();
	else
		advance(0);
	if (what == LIST_BODY || what == WATCH_OPEN)
		see_head(200);
	return fake_now_ms;
}

static void what_brought_nothing_since_the_server_fell_silent_is_begun_anew(void **state)
{
	static const struct {
		enum under_way what;
		uint64_t silent_after_ms; /* since something came last */
		uint64_t heard_after_ms;  /* something more; 0: nothing */
		bool is_dropped, is_headless;
	} rows[] = {
		{NOTHING, 1, 0, false, false},
		{WATCH_OPEN, 1, 0, true, false},
		{WATCH_OPEN, 0, 0, false, false}, /* it was heard that very moment */
		{WATCH_OPEN, 1000, 500, true, false},
		{WATCH_OPEN, 1000, 1000, false, false},
		{WATCH_OPEN, 1000, 1500, false, false},
		{LIST_BODY, 1, 0, true, false},
		{LIST_BODY, 1000, 1500, false, false},
		{LIST_REQUEST, 1, 0, true, true},
		{WATCH_REQUEST, 1, 0, true, true},
		{WATCH_REQUEST, 0, 0, false, false}, /* begun since */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		begin_anew(state);
		uint64_t silent_since = begin_under_way(rows[i].what) + rows[i].silent_after_ms;
		unsigned n_started = world.n_started;
		bool was_watch = world.is_watch;
		if (rows[i].heard_after_ms) {
			advance(rows[i].heard_after_ms);
			see_bytes(was_watch ? BOOKMARK : LIST);
		}
		advance(RUNNER_HEADLESS_MS - 1 - rows[i].heard_after_ms);
		assert_int_equal(runner_drop_lost(world.runner, silent_since), rows[i].is_headless);
		assert_int_equal(world.n_cancelled, rows[i].is_dropped ? 1 : 0);
		assert_int_equal(world.n_failed, 0);
		world.may_begin = rows[i].what != NOTHING;
		runner_go_ahead(world.runner, 200, REFLECTOR_BACK);
		advance(200);
		assert_int_equal(world.n_started, n_started + rows[i].is_dropped);
		assert_int_equal(world.is_watch, was_watch); /* where it had been */
	}
}

static void what_has_no_head_for_long_is_begun_anew_whoever_was_silent(void **state)
{
	static const uint64_t silent_ms[] = {UINT64_MAX, 0, 1000}; /* before now; MAX: nobody was */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(silent_ms); i++) {
		bool is_long = i % 2 == 0;
		begin_anew(state);
		begin_under_way(LIST_REQUEST);
		advance(is_long ? RUNNER_HEADLESS_MS : 500);
		uint64_t silent = silent_ms[i / 2];
		uint64_t since = silent == UINT64_MAX ? 0 : fake_now_ms - silent;
		bool is_old = silent == 0; /* begun before that */
		assert_int_equal(runner_drop_lost(world.runner, since), is_long || is_old);
		assert_int_equal(runner_is_idle(world.runner), is_long || is_old);
		/* It has been dropped. */
		assert_false(world.n_cancelled && runner_drop_lost(world.runner, since));
	}
}

static void where_nobody_was_silent_only_what_has_no_head_is_lost(void **state)
{
	static const enum under_way whats[] = {LIST_BODY, WATCH_OPEN};
	for (size_t i = 0; i < ARRAY_SIZE(whats); i++) {
		begin_anew(state);
		begin_under_way(whats[i]);
		advance(60000);
		assert_false(runner_drop_lost(world.runner, 0));
		assert_false(runner_is_idle(world.runner));
	}
}

/* Otherwise the server, which has just answered, is doubted again, and all others wait with it. */
static void regress_13_what_is_given_up_after_an_outage_does_not_blame_the_server(void **state)
{
	(void)state;
	advance(0);
	advance(RUNNER_HEADLESS_MS);
	assert_true(runner_drop_lost(world.runner, 0));
	runner_go_ahead(world.runner, 200, REFLECTOR_BACK);
	assert_int_equal(world.n_cancelled, 1);
	assert_int_equal(world.n_failed, 0);
}

static void silence_for_too_long_is_a_failure(void **state)
{
	(void)state;
	advance(0);
	advance(74999);
	assert_int_equal(world.n_failed, 0);
	advance(1);
	assert_int_equal(world.n_failed, 1);
	assert_int_equal(world.n_cancelled, 1);
}

/* It waits for a back-off, which the reflector is then told to cut short. */
static void one_that_is_woken_asks_again_and_disturbs_no_request(void **state)
{
	(void)state;
	advance(0);
	assert_int_equal(world.n_started, 1);
	runner_wake(world.runner);
	advance(0);
	assert_int_equal(world.n_started, 1);
	see_failure();
	runner_wake(world.runner);
	advance(0);
	assert_int_equal(world.n_started, 1);
	reflector_hasten(world.reflector, fake_now_ms, REFLECTOR_NO_DOUBT);
	runner_wake(world.runner);
	advance(0);
	assert_int_equal(world.n_started, 2);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(one_that_is_woken_asks_again_and_disturbs_no_request, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(it_begins_at_the_next_turn_of_the_loop, set_up, tear_down),
	cmocka_unit_test_setup_teardown(while_it_may_not_begin_it_waits_for_the_word, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		what_has_failed_is_tried_again_within_the_jitter_once_the_server_answers, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		it_is_tried_whatever_it_may, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_waits_for_something_else_than_the_server_is_not_tried, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		an_answer_of_200_after_a_failure_of_the_server_is_a_recovery, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_watch_that_is_cut_and_back_is_a_recovery, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_what_was_given_up_for_its_silence_and_is_answered_is_a_recovery, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(each_list_is_timed_until_its_end_and_no_watch_is, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_list_that_is_given_up_is_timed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		only_bytes_of_an_answer_of_200_are_heard, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_failure_says_for_how_long_nothing_had_come, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_a_silent_watch_has_waited_since_its_last_byte_and_no_longer, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_brought_nothing_since_the_server_fell_silent_is_begun_anew, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_has_no_head_for_long_is_begun_anew_whoever_was_silent, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		where_nobody_was_silent_only_what_has_no_head_is_lost, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_what_is_given_up_after_an_outage_does_not_blame_the_server, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(silence_for_too_long_is_a_failure, set_up, tear_down),
};
TEST_MAIN(tests)
