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
	unsigned n_started, n_answered, n_failed, n_cancelled;
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
	w->n_started++;
	*ret_fetch = &w->fetch;
	return 0;
}

static void answered(void *owner, int status)
{
	(void)status;
	((struct world *)owner)->n_answered++;
}

static void failed(void *owner, bool was_answered, const struct error *error)
{
	(void)was_answered;
	assert_non_null(error);
	((struct world *)owner)->n_failed++;
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
	const struct runner_host host = {&world, NULL, may_begin, start, answered, failed};
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
	runner_go_ahead(world.runner, 150, true);
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
	runner_go_ahead(world.runner, 100, true);
	advance(100);
	assert_int_equal(world.n_started, 2);
	see_failure();
	runner_go_ahead(world.runner, 100, true);
	advance(100);
	assert_int_equal(world.n_started, 3);
}

static void it_is_tried_whatever_it_may(void **state)
{
	(void)state;
	world.may_begin = false;
	advance(0);
	runner_try(world.runner);
	assert_int_equal(world.n_started, 1);
	see_failure();
	runner_try(world.runner);
	assert_int_equal(world.n_started, 2);
}

static void a_request_without_a_head_for_long_is_sent_anew_after_an_outage_and_no_other(void **state)
{
	static const struct {
		uint64_t age;
		bool has_head, was_away, is_anew;
	} rows[] = {
		{RUNNER_HEADLESS_MS, false, true, true},
		{RUNNER_HEADLESS_MS - 1, false, true, false},
		{RUNNER_HEADLESS_MS, true, true, false},
		{RUNNER_HEADLESS_MS, false, false, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		assert_int_equal(set_up(state), 0);
		advance(0);
		if (rows[i].has_head)
			see_head(200);
		advance(rows[i].age);
		runner_go_ahead(world.runner, 200, rows[i].was_away);
		advance(200);
		assert_int_equal(world.n_started, rows[i].is_anew ? 2 : 1);
		assert_int_equal(world.n_cancelled, rows[i].is_anew ? 1 : 0);
	}
}

/* Otherwise the server, which has just answered, is doubted again, and all others wait with it. */
static void regress_13_what_is_given_up_after_an_outage_does_not_blame_the_server(void **state)
{
	(void)state;
	advance(0);
	advance(RUNNER_HEADLESS_MS);
	runner_go_ahead(world.runner, 200, true);
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

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(it_begins_at_the_next_turn_of_the_loop, set_up, tear_down),
	cmocka_unit_test_setup_teardown(while_it_may_not_begin_it_waits_for_the_word, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		what_has_failed_is_tried_again_within_the_jitter_once_the_server_answers, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(it_is_tried_whatever_it_may, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_request_without_a_head_for_long_is_sent_anew_after_an_outage_and_no_other,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		regress_13_what_is_given_up_after_an_outage_does_not_blame_the_server, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(silence_for_too_long_is_a_failure, set_up, tear_down),
};
TEST_MAIN(tests)
