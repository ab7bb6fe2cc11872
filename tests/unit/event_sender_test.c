/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "base/log.h"
#include "controller/event_sender.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"

#define MINUTE UINT64_C(60000)

struct world {
	struct loop *loop;
	struct event_sender *sender;
	char instance[LIMIT_EVENT_WORD + 20];
	char names[FAKE_APICLIENT_MAX][16];
	uint32_t may_send_ms;
};

static unsigned n_warnings, n_infos;

/* Stands in for the log's. */
void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	(void)message;
	(void)fields;
	n_warnings += level == LOG_LEVEL_WARN;
	n_infos += level == LOG_LEVEL_INFO;
}

static uint64_t may_send_until(void *owner)
{
	return fake_now_ms + ((struct world *)owner)->may_send_ms;
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){.may_send_ms = UINT32_MAX};
	memset(world.instance, 'i', sizeof(world.instance) - 1);
	*state = &world;
	if (loop_new(&world.loop, &err) < 0)
		return -1;
	const struct event_sender_config config = {
		.loop = world.loop,
		.instance = world.instance,
		.limits = {.per_minute = 10, .repeat_ms = 10 * MINUTE},
		.seed = 1,
		.may_send_until = may_send_until,
		.owner = &world,
	};
	return event_sender_new(&config, &world.sender, &err);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	event_sender_free(world->sender);
	loop_free(world->loop);
	return 0;
}

static struct event_change change_of(struct view name, uint64_t id)
{
	return (struct event_change){
		.type = EVENT_XID_ERROR,
		.is_warning = true,
		.regarding = {.api_version = VIEW("gpuattribution.dev/v1alpha1"),
			      .kind = VIEW("GPUAttribution"), .name = name, .uid = VIEW("u1")},
		.note = VIEW("XID 79"),
		.topic = 79,
		.id = id,
		.count = 1,
	};
}

static void tell(struct world *world, struct view node, struct event_change change)
{
	event_sender_tell(world->sender, node, &change, 1);
}

static uint64_t count(const struct world *world, enum event_outcome outcome)
{
	return event_sender_counters(world->sender).by_type[EVENT_XID_ERROR][outcome];
}

static void an_event_is_posted_to_its_namespace_but_not_from_inside_the_call(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 0xf));
	assert_int_equal(n_fake_requests, 0);
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_requests, 1);
	assert_string_equal(fake_requests[0].method, "POST");
	assert_string_equal(fake_requests[0].path,
			    "/apis/events.k8s.io/v1/namespaces/default/events");
	assert_string_equal(fake_requests[0].content_type, "application/json");
	assert_non_null(strstr(fake_requests[0].body, "\"name\":\"gpu-1.000000000000000f\""));
	assert_non_null(strstr(fake_requests[0].body, "\"reason\":\"XIDError\""));
	assert_true(fake_requests[0].is_aside);
	fake_apiclient_answer(0, "{}");
	assert_int_equal(count(world, EVENT_SENT), 1);
	assert_true(fake_loop_next(world->loop) == 10 * MINUTE);
}

static void the_instance_is_cut_to_what_the_api_server_takes(void **state)
{
	struct world *world = *state;
	char wanted[LIMIT_EVENT_WORD + 32];

	snprintf(wanted, sizeof(wanted), "\"reportingInstance\":\"%.*s\"", (int)LIMIT_EVENT_WORD,
		 world->instance);
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	assert_non_null(strstr(fake_requests[0].body, wanted));
}

static void repeats_become_a_patch_of_the_series(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	fake_apiclient_answer(0, "{}");
	for (uint64_t i = 2; i <= 1000; i++)
		tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), i));
	fake_loop_advance(world->loop, 10 * MINUTE);
	assert_int_equal(n_fake_requests, 2);
	assert_string_equal(fake_requests[1].method, "PATCH");
	assert_string_equal(
		fake_requests[1].path,
		"/apis/events.k8s.io/v1/namespaces/default/events/gpu-1.0000000000000001");
	assert_string_equal(fake_requests[1].content_type, "application/merge-patch+json");
	assert_non_null(strstr(fake_requests[1].body, "{\"series\":{\"count\":1000,"));
	assert_int_equal(count(world, EVENT_HELD_BACK), 999);
}

static void one_request_is_under_way_at_a_time(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-2"), 1));
	fake_loop_advance(world->loop, MINUTE);
	assert_int_equal(n_fake_requests, 1);
	fake_apiclient_answer(0, "{}");
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_requests, 2);
}

static void an_event_that_is_there_was_sent_before(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	fake_apiclient_fail(0, ERROR_CONFLICT);
	fake_loop_advance(world->loop, MINUTE);
	assert_int_equal(n_fake_requests, 1);
	assert_int_equal(count(world, EVENT_SENT), 1);
	assert_int_equal(count(world, EVENT_FAILED), 0);
}

static void what_fails_for_now_is_tried_again_ever_later(void **state)
{
	struct world *world = *state;
	unsigned before;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	for (unsigned i = 0; i < 5; i++) {
		before = n_fake_requests;
		fake_apiclient_fail(before - 1, ERROR_RETRY);
		fake_loop_advance(world->loop, (UINT64_C(1000) << i) - 1);
		assert_int_equal(n_fake_requests, before);
		fake_loop_advance(world->loop, (UINT64_C(1000) << i) + 1);
		assert_int_equal(n_fake_requests, before + 1);
	}
	fake_apiclient_answer(n_fake_requests - 1, "{}");
	assert_int_equal(count(world, EVENT_SENT), 1);
	assert_int_equal(count(world, EVENT_FAILED), 0);
}

static void an_api_that_refuses_gets_few_requests_and_is_said_once(void **state)
{
	struct world *world = *state;
	unsigned n = 0;

	n_warnings = 0;
	for (unsigned i = 0; i < 32; i++) {
		snprintf(world->names[i], sizeof(world->names[i]), "gpu-%u", i);
		tell(world, VIEW("node-1"), change_of(view_from(world->names[i]), i));
	}
	for (unsigned second = 0; second < 3600; second++) {
		fake_loop_advance(world->loop, 1000);
		for (; n < n_fake_requests; n++)
			fake_apiclient_fail(n, ERROR_DENIED);
	}
	assert_in_range(n, 5, 16);
	assert_int_equal(n_warnings, 1);
	assert_int_equal(count(world, EVENT_SENT), 0);
	assert_int_equal(count(world, EVENT_FAILED), 32); /* what waited too long, too */
}

static void trouble_that_ends_is_said_and_a_new_one_again(void **state)
{
	struct world *world = *state;

	n_warnings = 0;
	n_infos = 0;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(world->names[i], sizeof(world->names[i]), "gpu-%u", i);
		tell(world, VIEW("node-1"), change_of(view_from(world->names[i]), 1));
		fake_loop_advance(world->loop, 0);
		fake_apiclient_fail(n_fake_requests - 1, ERROR_RETRY);
		fake_loop_advance(world->loop, 2000);
		fake_apiclient_answer(n_fake_requests - 1, "{}");
	}
	assert_int_equal(n_warnings, 2);
	assert_int_equal(n_infos, 2);
}

/* A namespace that is being deleted refuses too, and a pod of it may be the first in the queue. */
static void what_is_refused_does_not_hold_up_what_waits_behind_it(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-2"), 1));
	fake_loop_advance(world->loop, 0);
	fake_apiclient_fail(0, ERROR_DENIED);
	fake_loop_advance(world->loop, 2000);
	assert_int_equal(n_fake_requests, 2);
	assert_non_null(strstr(fake_requests[1].body, "gpu-2"));
}

static void what_is_rejected_or_whose_namespace_is_gone_is_given_up_at_once(void **state)
{
	static const enum error_kind kinds[] = {ERROR_REJECTED, ERROR_NOT_FOUND};
	struct world *world = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(world->names[i], sizeof(world->names[i]), "gpu-%u", i);
		tell(world, VIEW("node-1"), change_of(view_from(world->names[i]), 1));
		fake_loop_advance(world->loop, 0);
		assert_int_equal(n_fake_requests, i + 1);
		fake_apiclient_fail(i, kinds[i]);
		assert_int_equal(count(world, EVENT_FAILED), i + 1);
	}
	assert_true(fake_loop_next(world->loop) == UINT64_MAX);
}

/* Many pods of it may have been on the device, and none of them holds up the others. */
static void a_namespace_that_is_being_deleted_leads_to_no_back_off(void **state)
{
	static const char body[] =
		"{\"kind\":\"Status\",\"code\":403,\"details\":{\"causes\":"
		"[{\"reason\":\"NamespaceTerminating\",\"field\":\"metadata.namespace\"}]}}";
	struct world *world = *state;
	const struct error denied = {.kind = ERROR_DENIED};

	for (unsigned i = 0; i < 9; i++) {
		snprintf(world->names[i], sizeof(world->names[i]), "gpu-%u", i);
		tell(world, VIEW("node-1"), change_of(view_from(world->names[i]), 1));
	}
	for (unsigned i = 0; i < 9; i++) {
		fake_loop_advance(world->loop, 0);
		assert_int_equal(n_fake_requests, i + 1);
		fake_apiclient_refuse(i, 403, &denied, body);
	}
	assert_int_equal(count(world, EVENT_FAILED), 9);
	assert_true(fake_loop_next(world->loop) == UINT64_MAX);
}

/* Says it with each answer for two hours; what was told in the first second is dropped, and counted. */
static void whatever_the_api_server_answers_it_is_asked_seldom_and_all_is_counted(void **state)
{
	static const struct {
		int status;
		struct error error;
		unsigned max_requests;
	} rows[] = {
		{400, {.kind = ERROR_REJECTED}, 12},
		{403, {.kind = ERROR_DENIED}, 12},
		{404, {.kind = ERROR_NOT_FOUND}, 12},
		{422, {.kind = ERROR_REJECTED}, 12},
		{429, {.kind = ERROR_THROTTLED, .retry_after_ms = 60000}, 16},
		{500, {.kind = ERROR_RETRY}, 16},
		{0, {.kind = ERROR_RETRY}, 16}, /* it hangs, and the request's time is over */
	};
	struct world *world = *state;

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		unsigned n = 0;

		(void)tear_down(state);
		assert_int_equal(set_up(state), 0);
		for (unsigned i = 0; i < 12; i++) {
			snprintf(world->names[i], sizeof(world->names[i]), "gpu-%u", i);
			tell(world, VIEW("node-1"), change_of(view_from(world->names[i]), 1));
		}
		for (unsigned second = 0; second < 7200; second++) {
			fake_loop_advance(world->loop, 1000);
			for (; n < n_fake_requests; n++) {
				assert_in_range(fake_requests[n].timeout_ms, 1, 5000);
				fake_apiclient_refuse(n, rows[row].status, &rows[row].error, "{}");
			}
		}
		assert_in_range(n, 1, rows[row].max_requests);
		assert_int_equal(count(world, EVENT_SENT), 0);
		assert_int_equal(count(world, EVENT_FAILED), 12);
		assert_true(fake_loop_next(world->loop) == UINT64_MAX);
	}
}

static void an_api_that_is_too_busy_is_left_alone_for_as_long_as_it_says(void **state)
{
	struct world *world = *state;
	const struct error busy = {.kind = ERROR_THROTTLED, .retry_after_ms = 90000};

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	fake_apiclient_refuse(0, 429, &busy, "{}");
	fake_loop_advance(world->loop, 89999);
	assert_int_equal(n_fake_requests, 1);
	fake_loop_advance(world->loop, 1);
	assert_int_equal(n_fake_requests, 2);
}

/* The Event may be gone before its series ends. */
static void a_series_whose_event_is_gone_is_given_up_and_the_next_is_an_event(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	fake_apiclient_answer(0, "{}");
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 2));
	fake_loop_advance(world->loop, 10 * MINUTE);
	assert_string_equal(fake_requests[1].method, "PATCH");
	fake_apiclient_fail(1, ERROR_NOT_FOUND);
	assert_int_equal(count(world, EVENT_FAILED), 1);
	assert_true(fake_loop_next(world->loop) == UINT64_MAX);
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 3));
	fake_loop_advance(world->loop, 0);
	assert_string_equal(fake_requests[2].method, "POST");
}

static void while_the_api_server_is_away_nothing_is_sent(void **state)
{
	struct world *world = *state;

	fake_apiclient_set_away(true);
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 10 * MINUTE);
	assert_int_equal(n_fake_requests, 0);
	fake_apiclient_set_away(false);
	fake_loop_advance(world->loop, 5000);
	assert_int_equal(n_fake_requests, 1);
}

static void who_may_not_send_sends_nothing_and_keeps_what_waits(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-2"), 1));
	fake_loop_advance(world->loop, 0);
	world->may_send_ms = 0;
	fake_apiclient_answer(0, "{}");
	fake_loop_advance(world->loop, 5 * MINUTE);
	assert_int_equal(n_fake_requests, 1);
	world->may_send_ms = 4000;
	fake_loop_advance(world->loop, 1000);
	assert_int_equal(n_fake_requests, 2);
	assert_non_null(strstr(fake_requests[1].body, "gpu-2"));
	fake_apiclient_answer(1, "{}");
	assert_int_equal(count(world, EVENT_SENT), 2);
	/* What has waited too long is told to nobody. */
	world->may_send_ms = 0;
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-3"), 1));
	fake_loop_advance(world->loop, EVENT_BUDGET_STALE_MS);
	world->may_send_ms = 4000;
	fake_loop_advance(world->loop, MINUTE);
	assert_int_equal(n_fake_requests, 2);
	assert_int_equal(count(world, EVENT_FAILED), 1);
}

static void no_request_is_under_way_for_longer_than_it_may_be(void **state)
{
	static const struct {
		uint32_t may_send_ms, timeout_ms;
	} rows[] = {{1, 1}, {1234, 1234}, {5000, 5000}, {5001, 5000}, {UINT32_MAX, 5000}};
	struct world *world = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(world->names[i], sizeof(world->names[i]), "gpu-%u", i);
		world->may_send_ms = rows[i].may_send_ms;
		tell(world, VIEW("node-1"), change_of(view_from(world->names[i]), 1));
		fake_loop_advance(world->loop, 0);
		assert_int_equal(n_fake_requests, i + 1);
		assert_int_equal(fake_requests[i].timeout_ms, rows[i].timeout_ms);
		assert_int_equal(fake_requests[i].send_before, fake_now_ms + rows[i].may_send_ms);
		fake_apiclient_answer(i, "{}");
	}
}

/* Nobody knows whether the API server has it. */
static void what_was_under_way_at_the_end_of_the_lead_is_sent_again_and_is_one_event(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	world->may_send_ms = 0;
	fake_apiclient_fail(0, ERROR_RETRY);
	fake_loop_advance(world->loop, MINUTE);
	assert_int_equal(n_fake_requests, 1);
	world->may_send_ms = 4000;
	fake_loop_advance(world->loop, 1000);
	assert_int_equal(n_fake_requests, 2);
	assert_string_equal(fake_requests[1].method, "POST");
	assert_string_equal(fake_requests[1].body, fake_requests[0].body);
	fake_apiclient_fail(1, ERROR_CONFLICT);
	assert_int_equal(count(world, EVENT_SENT), 1);
}

static void who_ends_knows_whether_an_event_is_still_to_be_sent(void **state)
{
	struct world *world = *state;

	assert_false(event_sender_is_busy(world->sender));
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-2"), 1));
	assert_true(event_sender_is_busy(world->sender));
	fake_loop_advance(world->loop, 0);
	world->may_send_ms = 0;
	assert_true(event_sender_is_busy(world->sender)); /* one is under way */
	fake_apiclient_answer(0, "{}");
	assert_false(event_sender_is_busy(world->sender));
	world->may_send_ms = 4000;
	assert_true(event_sender_is_busy(world->sender));
	fake_loop_advance(world->loop, 1000);
	fake_apiclient_fail(1, ERROR_RETRY);
	assert_false(event_sender_is_busy(world->sender)); /* it waits for the back-off */
}

static void what_is_cut_is_not_under_way_and_waits(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	world->may_send_ms = 0;
	event_sender_cut(world->sender);
	assert_false(fake_requests[0].open);
	assert_false(event_sender_is_busy(world->sender));
	event_sender_cut(world->sender); /* nothing is under way */
	world->may_send_ms = 4000;
	fake_loop_advance(world->loop, 1000);
	assert_int_equal(n_fake_requests, 2);
	assert_string_equal(fake_requests[1].body, fake_requests[0].body);
}

static void a_request_that_cannot_be_made_is_tried_again(void **state)
{
	struct world *world = *state;

	fake_apiclient_refusal = ERROR_NO_MEMORY;
	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	fake_apiclient_refusal = ERROR_NONE;
	fake_loop_advance(world->loop, 2000);
	assert_int_equal(n_fake_requests, 1);
}

static void a_request_under_way_is_cancelled_at_the_end(void **state)
{
	struct world *world = *state;

	tell(world, VIEW("node-1"), change_of(VIEW("gpu-1"), 1));
	fake_loop_advance(world->loop, 0);
	assert_true(fake_requests[0].open);
	event_sender_free(world->sender);
	world->sender = NULL;
	assert_false(fake_requests[0].open);
}

static void nobody_has_counted_anything(void **state)
{
	(void)state;
	assert_int_equal(event_sender_counters(NULL).by_type[0][0], 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(an_event_is_posted_to_its_namespace_but_not_from_inside_the_call),
	cmocka_unit_test_set_up(the_instance_is_cut_to_what_the_api_server_takes),
	cmocka_unit_test_set_up(repeats_become_a_patch_of_the_series),
	cmocka_unit_test_set_up(one_request_is_under_way_at_a_time),
	cmocka_unit_test_set_up(an_event_that_is_there_was_sent_before),
	cmocka_unit_test_set_up(what_fails_for_now_is_tried_again_ever_later),
	cmocka_unit_test_set_up(an_api_that_refuses_gets_few_requests_and_is_said_once),
	cmocka_unit_test_set_up(trouble_that_ends_is_said_and_a_new_one_again),
	cmocka_unit_test_set_up(what_is_refused_does_not_hold_up_what_waits_behind_it),
	cmocka_unit_test_set_up(what_is_rejected_or_whose_namespace_is_gone_is_given_up_at_once),
	cmocka_unit_test_set_up(a_namespace_that_is_being_deleted_leads_to_no_back_off),
	cmocka_unit_test_set_up(
		whatever_the_api_server_answers_it_is_asked_seldom_and_all_is_counted),
	cmocka_unit_test_set_up(an_api_that_is_too_busy_is_left_alone_for_as_long_as_it_says),
	cmocka_unit_test_set_up(a_series_whose_event_is_gone_is_given_up_and_the_next_is_an_event),
	cmocka_unit_test_set_up(while_the_api_server_is_away_nothing_is_sent),
	cmocka_unit_test_set_up(who_may_not_send_sends_nothing_and_keeps_what_waits),
	cmocka_unit_test_set_up(no_request_is_under_way_for_longer_than_it_may_be),
	cmocka_unit_test_set_up(
		what_was_under_way_at_the_end_of_the_lead_is_sent_again_and_is_one_event),
	cmocka_unit_test_set_up(who_ends_knows_whether_an_event_is_still_to_be_sent),
	cmocka_unit_test_set_up(what_is_cut_is_not_under_way_and_waits),
	cmocka_unit_test_set_up(a_request_that_cannot_be_made_is_tried_again),
	cmocka_unit_test_set_up(a_request_under_way_is_cancelled_at_the_end),
	cmocka_unit_test_set_up(nobody_has_counted_anything),
};
TEST_MAIN(tests)
