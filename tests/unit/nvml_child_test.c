/* SPDX-License-Identifier: Apache-2.0 */

/* The answers of a child, without a process. */

#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/nvml_child.h"
#include "base/limits.h"
#include "lib/fake_loop.inc"
#include "lib/own_folder.h"
#include "schema/report_doc.h"

#define DEVICES_FILE "nvml_child_test.json"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NODE(world, device)                                                                  \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\"," world "\"devices\":[{"    \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0," device         \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960}]}"
/* Two devices, of which the second is lost from the beginning. */
#define TWO(device)                                                                          \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"              \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0," device         \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960},{"                              \
	"\"uuid\":\"GPU-22222222-2222-4222-8222-222222222222\",\"name\":\"NVIDIA L4\","          \
	"\"minor\":1,\"lost\":true,\"pciBusID\":\"00000000:AF:00.0\",\"memoryMiB\":24576}]}"
#define FAILS(function) "\"errors\":{\"" function "\":999},"
#define XID(sequence) \
	"{\"sequence\":" sequence ",\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":79}"

static struct error err;
static struct arena arena;
static struct report reading;

static void set_node(const char *text)
{
	FILE *file = fopen(DEVICES_FILE ".tmp", "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(DEVICES_FILE ".tmp", DEVICES_FILE), 0);
}

static int setup(void **state)
{
	arena_init(&arena, 2 * LIMIT_READING_ARENA);
	return setenv("FAKE_NVML_FILE", DEVICES_FILE, 1) == 0 ? own_folder_enter(state) : -1;
}

static int teardown(void **state)
{
	arena_deinit(&arena);
	return own_folder_leave(state);
}

static void begin_after(struct nvml_child *child, const struct array *last)
{
	const struct nvml_child_config config = {.library_name = FAKE_NVML, .last = last};
	assert_int_equal(nvml_child_init(child, &config, &err), 0);
}

static void begin(struct nvml_child *child)
{
	begin_after(child, &(struct array){0});
}

/* The answer, decoded, at a moment. */
static const struct report *ask(struct nvml_child *child, enum nvml_child_request request,
				int64_t wall)
{
	CLEANUP(sbuf_deinit) struct sbuf body;
	sbuf_init(&body, LIMIT_READING_BYTES);
	fake_wall_ms = wall;
	assert_int_equal(nvml_child_answer(child, request, &body, &err), 0);
	assert_int_equal(report_doc_decode_reading(sbuf_view(&body), &arena, &reading, &err), 0);
	return &reading;
}

static void each_answer_has_the_number_of_its_request(void **state)
{
	(void)state;
	struct nvml_child child;
	set_node(NODE("", ""));
	begin(&child);
	assert_int_equal(ask(&child, NVML_CHILD_READING, 100)->sequence, 1);
	assert_int_equal(reading.sources.nvml.state, REPORT_SOURCE_OK);
	assert_int_equal(reading.sources.nvml.observed_at, 100);
	assert_int_equal(reading.devices.count, 1);
	assert_int_equal(ask(&child, NVML_CHILD_EVENTS, 200)->sequence, 2);
	assert_int_equal(reading.sources.nvml.state, REPORT_SOURCE_UNKNOWN);
	assert_false(reading.devices.present);
	nvml_child_deinit(&child);
}

static void since_when_no_error_can_be_missed_follows_the_event_set(void **state)
{
	(void)state;
	static const struct {
		const char *node;
		enum nvml_child_request request;
		int64_t since;
	} rows[] = {
		{NODE("", ""), NVML_CHILD_EVENTS, 0},
		{NODE("", ""), NVML_CHILD_READING, 200},
		{NODE("", ""), NVML_CHILD_READING, 200},
		/* The set broke, and is made anew by the next reading. It counts from the one after. */
		{NODE(FAILS("nvmlEventSetWait_v2"), ""), NVML_CHILD_EVENTS, 0},
		{NODE("", ""), NVML_CHILD_EVENTS, 0},
		{NODE("", ""), NVML_CHILD_READING, 0},
		{NODE("", ""), NVML_CHILD_READING, 700},
		/* It breaks again and again. */
		{NODE(FAILS("nvmlEventSetWait_v2"), ""), NVML_CHILD_EVENTS, 0},
		{NODE(FAILS("nvmlEventSetWait_v2"), ""), NVML_CHILD_READING, 0},
		{NODE(FAILS("nvmlEventSetWait_v2"), ""), NVML_CHILD_EVENTS, 0},
		{NODE(FAILS("nvmlEventSetWait_v2"), ""), NVML_CHILD_READING, 0},
		{NODE("", ""), NVML_CHILD_READING, 0},
		{NODE("", ""), NVML_CHILD_READING, 1300},
		/* The driver went and came back. */
		{NODE(FAILS("nvmlDeviceGetCount_v2"), ""), NVML_CHILD_READING, 0},
		{NODE("", ""), NVML_CHILD_READING, 1500},
		/* No device answers, so each reading opens the driver anew. */
		{NODE("", "\"lost\":true,"), NVML_CHILD_READING, 0},
		{NODE("", "\"lost\":true,"), NVML_CHILD_READING, 0},
		{NODE("", "\"lost\":true,"), NVML_CHILD_READING, 0},
		{NODE("", ""), NVML_CHILD_READING, 1900},
	};
	struct nvml_child child;
	begin(&child);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_node(rows[i].node);
		int64_t wall = 100 * (int64_t)(i + 1);
		if (ask(&child, rows[i].request, wall)->events_since != rows[i].since)
			fail_msg("row %zu: %lld", i, (long long)reading.events_since);
	}
	nvml_child_deinit(&child);
}

static void since_when_no_error_can_be_missed_follows_a_clock_that_is_set(void **state)
{
	(void)state;
	struct nvml_child child;
	set_node(NODE("", ""));
	begin(&child);
	ask(&child, NVML_CHILD_READING, 10000000);
	const int64_t uptime = reading.events_since_uptime_ms;
	assert_true(uptime > 0);
	fake_now_ms += 60000;
	assert_int_equal(ask(&child, NVML_CHILD_EVENTS, 10060500)->events_since, 10000000);
	/* An hour back. */
	assert_int_equal(ask(&child, NVML_CHILD_EVENTS, 6460500)->events_since, 6400500);
	assert_int_equal(ask(&child, NVML_CHILD_READING, 6460400)->events_since, 6400500);
	/* By the time since boot it is the same moment, to the millisecond. */
	assert_int_equal(reading.events_since_uptime_ms, uptime);
	nvml_child_deinit(&child);
}

static void of_a_device_whose_errors_are_not_watched_some_can_be_missed(void **state)
{
	(void)state;
	struct nvml_child child;
	set_node(NODE(FAILS("nvmlDeviceRegisterEvents"), ""));
	begin(&child);
	assert_int_equal(ask(&child, NVML_CHILD_READING, 100)->events_since, 0);
	set_node(NODE("", ""));
	assert_int_equal(ask(&child, NVML_CHILD_READING, 200)->events_since, 200);
	nvml_child_deinit(&child);
}

static void a_new_child_knows_a_lost_device_by_what_was_read_before(void **state)
{
	(void)state;
	struct nvml_child child;
	set_node(NODE("", ""));
	begin(&child);
	ask(&child, NVML_CHILD_READING, 100);
	nvml_child_deinit(&child);
	const struct array last = reading.devices;
	set_node(NODE("", "\"lost\":true,"));
	begin_after(&child, &last);
	ask(&child, NVML_CHILD_READING, 200);
	assert_int_equal(reading.devices.count, 1);
	const struct report_device *device = ARRAY_AT(reading.devices, struct report_device, 0);
	assert_true(device->condition.lost);
	assert_true(view_equal(device->uuid, VIEW(UUID)));
	assert_true(view_equal(device->model, VIEW("NVIDIA A100-SXM4-40GB")));
	nvml_child_deinit(&child);
}

/* The other device never told its name, and so is not among those that were read. */
static void a_new_child_knows_a_lost_device_beside_one_without_a_name(void **state)
{
	(void)state;
	struct nvml_child child;
	set_node(TWO(""));
	begin(&child);
	ask(&child, NVML_CHILD_READING, 100);
	assert_int_equal(reading.devices.count, 1);
	nvml_child_deinit(&child);
	const struct array last = reading.devices;
	set_node(TWO("\"lost\":true,"));
	begin_after(&child, &last);
	for (int i = 0; i < 2; i++) {
		ask(&child, NVML_CHILD_READING, 200);
		assert_int_equal(reading.devices.count, 1);
		assert_true(ARRAY_AT(reading.devices, struct report_device, 0)->condition.lost);
	}
	nvml_child_deinit(&child);
}

static void an_answer_that_would_be_too_long_says_so(void **state)
{
	(void)state;
	struct nvml_child child;
	CLEANUP(sbuf_deinit) struct sbuf body;
	set_node(NODE("", ""));
	begin(&child);
	sbuf_init(&body, 200);
	assert_int_equal(nvml_child_answer(&child, NVML_CHILD_READING, &body, &err), 0);
	assert_int_equal(report_doc_decode_reading(sbuf_view(&body), &arena, &reading, &err), 0);
	assert_int_equal(reading.sequence, 1);
	assert_int_equal(reading.sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_true(view_equal(reading.sources.nvml.message,
			       VIEW("the driver lists more than can be read")));
	nvml_child_deinit(&child);
}

static void an_error_is_dated_by_the_clock_and_by_the_time_since_boot(void **state)
{
	(void)state;
	struct nvml_child child;
	set_node(NODE("", ""));
	begin(&child);
	ask(&child, NVML_CHILD_READING, 100);
	set_node(NODE("\"events\":[" XID("1") "],", ""));
	fake_now_ms += 4711;
	ask(&child, NVML_CHILD_EVENTS, 60);
	assert_int_equal(reading.events.count, 1);
	const struct report_event *event = ARRAY_AT(reading.events, struct report_event, 0);
	assert_int_equal(event->time, 60);
	assert_int_equal(event->uptime_ms, fake_now_ms);
	nvml_child_deinit(&child);
}

/* They were fetched, so nobody else has them. */
static void an_answer_that_would_be_too_long_has_the_errors_still(void **state)
{
	(void)state;
	struct nvml_child child;
	CLEANUP(sbuf_deinit) struct sbuf body;
	set_node(NODE("", ""));
	begin(&child);
	ask(&child, NVML_CHILD_READING, 100);
	set_node(NODE("\"events\":[" XID("1") "],", ""));
	sbuf_init(&body, 400);
	assert_int_equal(nvml_child_answer(&child, NVML_CHILD_READING, &body, &err), 0);
	assert_int_equal(report_doc_decode_reading(sbuf_view(&body), &arena, &reading, &err), 0);
	assert_int_equal(reading.sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_int_equal(reading.events.count, 1);
	assert_int_equal(reading.events_since, 100);
	assert_true(reading.events_since_uptime_ms > 0);
	nvml_child_deinit(&child);
}

static void an_error_is_told_though_the_reading_after_it_fails(void **state)
{
	(void)state;
	struct nvml_child child;
	set_node(NODE("", ""));
	begin(&child);
	ask(&child, NVML_CHILD_READING, 100);
	set_node(NODE(FAILS("nvmlDeviceGetCount_v2") "\"events\":[" XID("1") "],", ""));
	assert_int_equal(ask(&child, NVML_CHILD_READING, 200)->sources.nvml.state,
			 REPORT_SOURCE_ERROR);
	assert_int_equal(reading.events.count, 1);
	nvml_child_deinit(&child);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_answer_has_the_number_of_its_request),
	cmocka_unit_test(since_when_no_error_can_be_missed_follows_the_event_set),
	cmocka_unit_test(since_when_no_error_can_be_missed_follows_a_clock_that_is_set),
	cmocka_unit_test(of_a_device_whose_errors_are_not_watched_some_can_be_missed),
	cmocka_unit_test(a_new_child_knows_a_lost_device_by_what_was_read_before),
	cmocka_unit_test(a_new_child_knows_a_lost_device_beside_one_without_a_name),
	cmocka_unit_test(an_error_is_dated_by_the_clock_and_by_the_time_since_boot),
	cmocka_unit_test(an_answer_that_would_be_too_long_says_so),
	cmocka_unit_test(an_answer_that_would_be_too_long_has_the_errors_still),
	cmocka_unit_test(an_error_is_told_though_the_reading_after_it_fails),
};
TEST_MAIN_WITH(tests, setup, teardown)
