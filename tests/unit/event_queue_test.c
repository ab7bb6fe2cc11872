/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/event_queue.h"

static const struct report_event *event(struct event_queue *queue, uint32_t i)
{
	return ARRAY_AT(event_queue_events(queue), struct report_event, i);
}

static void add(struct event_queue *queue, int64_t time, struct view uuid, int64_t xid)
{
	event_queue_add(queue, &(struct report_event){.time = time,
						      .uuid = uuid,
						      .type = REPORT_EVENT_XID,
						      .code = xid,
						      .gpu_instance_id = xid + 1,
						      .compute_instance_id = -1});
}

static void an_empty_queue_says_that_nothing_happened(void **state)
{
	(void)state;
	struct event_queue queue;
	event_queue_init(&queue, 100);
	struct array events = event_queue_events(&queue);
	assert_int_equal(events.count, 0);
	assert_true(events.present);
	event_queue_acknowledge(&queue, 1000);
	assert_int_equal(queue.dropped, 0);
}

static void numbers_go_on_from_where_they_were_started(void **state)
{
	(void)state;
	struct event_queue queue;
	event_queue_init(&queue, 100);
	add(&queue, 5, VIEW("GPU-a"), 79);
	add(&queue, 6, VIEW("GPU-b"), 13);
	assert_int_equal(event(&queue, 0)->sequence, 101);
	assert_int_equal(event(&queue, 1)->sequence, 102);
	assert_int_equal(event(&queue, 0)->type, REPORT_EVENT_XID);
	assert_int_equal(event(&queue, 0)->code, 79);
	assert_int_equal(event(&queue, 1)->time, 6);
	assert_int_equal(event(&queue, 1)->gpu_instance_id, 14);
	assert_int_equal(event(&queue, 1)->compute_instance_id, -1);
	assert_true(view_equal(event(&queue, 1)->uuid, VIEW("GPU-b")));
}

static void acknowledged_events_go_and_the_rest_keeps_its_place(void **state)
{
	(void)state;
	struct event_queue queue;
	char uuid[] = "GPU-0";
	event_queue_init(&queue, 0);
	for (int i = 0; i < 5; i++) {
		uuid[4] = (char)('0' + i);
		add(&queue, i, view_from(uuid), i);
	}
	event_queue_acknowledge(&queue, 2);
	assert_int_equal(event_queue_events(&queue).count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		uuid[4] = (char)('2' + (int)i);
		assert_int_equal(event(&queue, i)->sequence, i + 3);
		assert_true(view_equal(event(&queue, i)->uuid, view_from(uuid)));
	}
	event_queue_acknowledge(&queue, 1);
	event_queue_acknowledge(&queue, -1);
	assert_int_equal(event_queue_events(&queue).count, 3);
	event_queue_acknowledge(&queue, INT64_MAX);
	assert_int_equal(event_queue_events(&queue).count, 0);
	add(&queue, 0, VIEW("x"), 1);
	assert_int_equal(event(&queue, 0)->sequence, 6);
}

static void a_full_queue_drops_the_oldest_and_counts_it(void **state)
{
	(void)state;
	struct event_queue queue;
	event_queue_init(&queue, 0);
	for (int i = 0; i < 300; i++) {
		assert_int_equal(queue.dropped_time, i > (int)LIMIT_REPORT_EVENTS
							     ? i - (int)LIMIT_REPORT_EVENTS - 1
							     : 0);
		add(&queue, i, VIEW("GPU-a"), i);
	}
	assert_int_equal(event_queue_events(&queue).count, LIMIT_REPORT_EVENTS);
	assert_int_equal(queue.dropped, 300 - LIMIT_REPORT_EVENTS);
	assert_int_equal(event(&queue, 0)->sequence, 300 - LIMIT_REPORT_EVENTS + 1);
	assert_int_equal(event(&queue, LIMIT_REPORT_EVENTS - 1)->sequence, 300);
}

static void a_long_uuid_is_cut(void **state)
{
	(void)state;
	struct event_queue queue;
	char uuid[200];
	memset(uuid, 'u', sizeof(uuid));
	event_queue_init(&queue, 0);
	add(&queue, 0, (struct view){uuid, sizeof(uuid)}, 1);
	assert_int_equal(event(&queue, 0)->uuid.len, LIMIT_TEXT_UUID);
}

static void add_at(struct event_queue *queue, int64_t time, int64_t uptime_ms)
{
	event_queue_add(queue, &(struct report_event){.time = time,
						      .uptime_ms = uptime_ms,
						      .uuid = VIEW("GPU-a"),
						      .type = REPORT_EVENT_XID,
						      .code = 31});
}

static void alike_events_rise_in_both_times(void **state)
{
	(void)state;
	static const struct {
		int64_t time, uptime_ms;         /* as they come */
		int64_t is_time, is_uptime_ms; /* as they are told */
	} rows[] = {
		{1000, 500, 1000, 500},
		{1000, 500, 1001, 501},
		{1000, 500, 1002, 502},
		{1001, 501, 1003, 503},
		{1003, 510, 1004, 510},
		{1010, 510, 1010, 511},
		{1009, 512, 1011, 512}, /* the clock was set back a little */
		{12, 600, 12, 600},     /* and a lot */
		{12, 600, 13, 601},
		{5000, 700, 5000, 700},
		{5000, 0, 5001, 0}, /* not known */
	};
	struct event_queue queue;
	event_queue_init(&queue, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		add_at(&queue, rows[i].time, rows[i].uptime_ms);
		assert_int_equal(event(&queue, i)->time, rows[i].is_time);
		assert_int_equal(event(&queue, i)->uptime_ms, rows[i].is_uptime_ms);
	}
}

static void times_rise_though_the_events_before_were_acknowledged(void **state)
{
	(void)state;
	struct event_queue queue;
	event_queue_init(&queue, 0);
	for (int i = 0; i < 5; i++) {
		add_at(&queue, 1000, 500);
		event_queue_acknowledge(&queue, INT64_MAX);
	}
	add_at(&queue, 1002, 502);
	assert_int_equal(event(&queue, 0)->time, 1005);
	assert_int_equal(event(&queue, 0)->uptime_ms, 505);
}

static void events_of_other_devices_and_codes_keep_their_times(void **state)
{
	(void)state;
	struct event_queue queue;
	event_queue_init(&queue, 0);
	add(&queue, 1000, VIEW("GPU-a"), 31);
	add(&queue, 1000, VIEW("GPU-b"), 31);
	add(&queue, 1000, VIEW("GPU-a"), 13);
	add(&queue, 1000, VIEW("GPU-"), 31);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(event(&queue, i)->time, 1000);
	add(&queue, 1000, VIEW("GPU-b"), 31);
	assert_int_equal(event(&queue, 4)->time, 1001);
}

static void a_flood_leads_no_further_ahead_than_the_bound(void **state)
{
	(void)state;
	struct event_queue queue;
	event_queue_init(&queue, 0);
	for (uint32_t i = 0; i < 4 * EVENT_QUEUE_AHEAD_MS; i++) {
		add_at(&queue, 1000, 500);
		const struct report_event *last = event(&queue, queue.count - 1);
		/* After as many as have times of their own they begin anew. */
		assert_int_equal(last->time, 1000 + i % (EVENT_QUEUE_AHEAD_MS + 1));
		assert_int_equal(last->uptime_ms, 500 + i % (EVENT_QUEUE_AHEAD_MS + 1));
	}
	/* It is told as it is once the flood is over. */
	add_at(&queue, 2000, 1500);
	assert_int_equal(event(&queue, queue.count - 1)->time, 2000);
}

static void the_times_of_the_kinds_that_came_last_are_known(void **state)
{
	(void)state;
	struct event_queue queue;
	event_queue_init(&queue, 0);
	for (uint32_t i = 0; i <= EVENT_QUEUE_KINDS; i++)
		add(&queue, 1000, VIEW("GPU-a"), i);
	for (uint32_t i = 1; i <= EVENT_QUEUE_KINDS; i++) {
		add(&queue, 1000, VIEW("GPU-a"), i);
		assert_int_equal(event(&queue, EVENT_QUEUE_KINDS + i)->time, 1001);
	}
	add(&queue, 1000, VIEW("GPU-a"), 0);
	assert_int_equal(event(&queue, queue.count - 1)->time, 1000);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(alike_events_rise_in_both_times),
	cmocka_unit_test(times_rise_though_the_events_before_were_acknowledged),
	cmocka_unit_test(events_of_other_devices_and_codes_keep_their_times),
	cmocka_unit_test(a_flood_leads_no_further_ahead_than_the_bound),
	cmocka_unit_test(the_times_of_the_kinds_that_came_last_are_known),
	cmocka_unit_test(an_empty_queue_says_that_nothing_happened),
	cmocka_unit_test(numbers_go_on_from_where_they_were_started),
	cmocka_unit_test(acknowledged_events_go_and_the_rest_keeps_its_place),
	cmocka_unit_test(a_full_queue_drops_the_oldest_and_counts_it),
	cmocka_unit_test(a_long_uuid_is_cut),
};
TEST_MAIN(tests)
