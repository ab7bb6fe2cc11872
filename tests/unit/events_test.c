/* SPDX-License-Identifier: Apache-2.0 */

/* The events of one device by plain values. Which containers held it is in join_health_test. */

#include "lib/test_main.h"

#include "assess/events.h"
#include "base/limits.h"
#include "lib/expect_status.h"
#include "lib/failing_malloc.h"

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NOW INT64_C(1700000000000)

enum { MAX_EVENTS = LIMIT_HEALTH_EVENTS + 2, MAX_PARTITIONS = 5 };

static struct {
	struct arena arena;
	struct report report;
	struct report_device device;
	struct report_event told[MAX_EVENTS];
	struct report_partition partitions[MAX_PARTITIONS + 1];
	struct attribution_partition published_partitions[MAX_PARTITIONS];
	struct attribution_health_event published[MAX_EVENTS];
	struct events events;
} now;

static bool is_of(const void *owner, struct view uuid)
{
	(void)owner;
	return view_equal(uuid, VIEW(UUID));
}

static int list_nobody(const void *owner, const struct events_origin *origin,
		       struct attribution_health_event *event, struct error *err)
{
	(void)owner;
	(void)origin;
	(void)event;
	(void)err;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&now, 0, sizeof(now));
	arena_init(&now.arena, LIMIT_MIB);
	now.report.events = array_of(now.told, 0);
	now.device.partitions = array_of(now.partitions, 0);
	now.events = (struct events){
		.report = &now.report,
		.reported = &now.device,
		.holders = {NULL, is_of, list_nobody},
		.published = array_of(now.published, 0),
		.published_partitions = array_of(now.published_partitions, 0),
		.is_same_boot = true,
		.arena = &now.arena,
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&now.arena);
	return 0;
}

static bool start_anew(void)
{
	return tear_down(NULL) == 0 && set_up(NULL) == 0;
}

/* The report tells an error; without instances. To be altered. */
static struct report_event *tell(int64_t code, int64_t time)
{
	struct report_event *event = &now.told[now.report.events.count++];

	assert_true(now.report.events.count <= MAX_EVENTS);
	*event = (struct report_event){
		.time = time, .uuid = VIEW(UUID), .type = REPORT_EVENT_XID,
		.code = code, .gpu_instance_id = -1, .compute_instance_id = -1};
	return event;
}

/* An error was published. To be altered. */
static struct attribution_health_event *publish(int64_t code, int64_t time)
{
	struct attribution_health_event *event = &now.published[now.events.published.count++];

	*event = (struct attribution_health_event){.xid = code, .event_time = time};
	return event;
}

/* NVML lists a MIG device. */
static void add_partition(int64_t gpu_instance, int64_t compute_instance, const char *uuid)
{
	now.partitions[now.device.partitions.count++] = (struct report_partition){
		.uuid = view_from(uuid),
		.gpu_instance_id = gpu_instance,
		.compute_instance_id = compute_instance};
}

/* So it was published. */
static void publish_partition(int64_t gpu_instance, int64_t compute_instance, const char *uuid)
{
	now.published_partitions[now.events.published_partitions.count++] = (struct attribution_partition){
		.uuid = view_from(uuid),
		.gpu_instance_id = gpu_instance,
		.compute_instance_id = compute_instance};
}

static void collect(void)
{
	struct error err;

	assert_int_equal(events_collect(&now.events, &err), 0);
}

TEST(an_error_of_a_mig_device_is_of_the_one_with_its_instances)
{
	static const struct {
		int64_t gpu_instance, compute_instance; /* of the error */
		struct {
			int64_t gpu_instance, compute_instance;
			const char *uuid;
		} listed[MAX_PARTITIONS];
		const char *partition;
	} rows[] = {
		{8, 0, {{7, 0, "a"}, {8, 0, "b"}}, "b"},
		{0, 0, {{0, 0, "a"}}, "a"},
		{7, 1, {{7, 0, "a"}, {7, 1, "b"}}, "b"},
		/* The compute instance is not told: it is clear where there is one. */
		{7, -1, {{8, 0, "a"}, {7, 0, "b"}, {9, 0, "c"}}, "b"},
		{7, -1, {{7, 0, "a"}, {7, 1, "b"}}, ""},
		{7, -1, {{7, 0, "a"}, {7, 1, "b"}, {7, 2, "c"}}, ""},
		/* That of the MIG device is not known. */
		{7, 1, {{8, 1, "a"}, {7, -1, "b"}}, "b"},
		/* It is there no more. */
		{9, 0, {{7, 0, "a"}, {8, 0, "b"}}, ""},
		{7, 0, {{7, 1, "a"}}, ""},
		{7, 1, {{7, 0, "a"}}, ""},
		/* Neither is told: also not of a MIG device of which they cannot be read. */
		{-1, -1, {{-1, -1, "a"}}, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		struct report_event *event = tell(94, NOW);

		event->gpu_instance_id = rows[i].gpu_instance;
		event->compute_instance_id = rows[i].compute_instance;
		for (size_t k = 0; k < MAX_PARTITIONS && rows[i].listed[k].uuid; k++)
			add_partition(rows[i].listed[k].gpu_instance,
				      rows[i].listed[k].compute_instance, rows[i].listed[k].uuid);
		/* Behind the end of the list stands one that would fit. */
		now.partitions[now.device.partitions.count] = (struct report_partition){
			VIEW("trap"), .gpu_instance_id = rows[i].gpu_instance,
			.compute_instance_id = rows[i].compute_instance};
		collect();
		expect_text(now.events.items[0].partition, rows[i].partition);
	}
}

/* Published is what was listed before: the list may fail now, or the MIG device be gone. */
TEST(an_error_of_a_mig_device_that_is_not_listed_now_is_of_the_published_one)
{
	static const struct {
		int64_t gpu_instance, compute_instance; /* of the error */
		struct {
			int64_t gpu_instance, compute_instance;
			const char *uuid;
		} listed, published[MAX_PARTITIONS];
		const char *partition;
	} rows[] = {
		{7, 0, {0}, {{7, 0, "a"}, {8, 0, "b"}}, "a"},
		{8, -1, {0}, {{7, 0, "a"}, {8, 0, "b"}}, "b"},
		{8, 0, {7, 0, "a"}, {{7, 0, "a"}, {8, 0, "b"}}, "b"},
		{7, -1, {0}, {{7, 0, "a"}, {7, 1, "b"}}, ""},
		{7, 1, {0}, {{7, 0, "a"}, {7, 1, "b"}}, "b"},
		{9, 0, {7, 0, "a"}, {{7, 0, "a"}, {8, 0, "b"}}, ""},
		/* The instance was made anew: what is listed now counts. */
		{7, 0, {7, 0, "c"}, {{7, 0, "a"}}, "c"},
		{-1, -1, {0}, {{-1, -1, "a"}}, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		struct report_event *event = tell(94, NOW);

		event->gpu_instance_id = rows[i].gpu_instance;
		event->compute_instance_id = rows[i].compute_instance;
		if (rows[i].listed.uuid)
			add_partition(rows[i].listed.gpu_instance, rows[i].listed.compute_instance,
				      rows[i].listed.uuid);
		for (size_t k = 0; k < MAX_PARTITIONS && rows[i].published[k].uuid; k++)
			publish_partition(rows[i].published[k].gpu_instance,
					  rows[i].published[k].compute_instance,
					  rows[i].published[k].uuid);
		collect();
		expect_text(now.events.items[0].partition, rows[i].partition);
	}
}

/* Listed: a is instance 7/0, b is 7/1, c is 8/0, z is 0/0, n has none. Published: d is 7/0, e is 9/0. */
TEST(an_error_may_be_of_holders_of_its_instance_and_of_what_is_not_known)
{
	static const struct {
		int64_t gpu_instance, compute_instance; /* of the error */
		const char *partition;                  /* that it names */
		const char *held;                       /* one letter each */
		bool may_be;
	} rows[] = {
		{7, -1, "", "a", true},   {7, -1, "", "b", true},   {7, -1, "", "c", false},
		{7, -1, "", "d", true},   {7, -1, "", "e", false},  {7, -1, "", "ce", false},
		{7, -1, "", "ca", true},  {7, -1, "", "", true},    {7, -1, "", "x", true},
		{7, -1, "", "cx", true},  {7, -1, "", "n", true},   {7, 0, "", "a", true},
		{7, 0, "", "b", false},   {7, 1, "", "d", false},   {10, 0, "", "a", false},
		{10, 0, "", "x", true},   {10, 0, "", "", true},    {-1, -1, "", "a", true},
		{-1, -1, "", "x", true},  {7, 0, "a", "a", true},   {7, 0, "a", "d", false},
		{7, 0, "a", "x", false},  {7, 0, "a", "", true},    {7, 0, "a", "ba", true},
		{7, -1, "", "z", false},  {0, -1, "", "z", true},   {0, -1, "", "a", false},
	};
	add_partition(7, 0, "a");
	add_partition(7, 1, "b");
	add_partition(8, 0, "c");
	add_partition(0, 0, "z");
	add_partition(-1, -1, "n");
	publish_partition(7, 0, "d");
	publish_partition(9, 0, "e");
	publish_partition(8, 0, "c");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view held[2];
		const uint32_t n = (uint32_t)strlen(rows[i].held);
		const struct attribution_health_event event = {.partition = view_from(rows[i].partition)};
		const struct events_origin origin = {
			rows[i].gpu_instance, rows[i].compute_instance, now.device.partitions,
			array_of(now.published_partitions, now.events.published_partitions.count)};

		for (uint32_t k = 0; k < n; k++)
			held[k] = (struct view){rows[i].held + k, 1};
		if (events_may_be_of(&event, &origin, array_of(held, n)) != rows[i].may_be)
			fail_msg("row %zu", i);
	}
}

TEST(an_error_that_is_told_again_is_the_same_even_if_its_mig_device_was_not_known_once)
{
	static const struct {
		const char *published, *told;
		uint32_t n;
	} rows[] = {
		{"", "", 1},   {"", "a", 1},  {"a", "", 1},
		{"a", "a", 1}, {"a", "b", 2},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		publish(94, NOW)->partition = view_from(rows[i].published);
		add_partition(7, 0, rows[i].told);
		tell(94, NOW)->gpu_instance_id = 7;
		collect();
		assert_int_equal(now.events.n_items, rows[i].n);
	}
}

TEST(errors_of_one_time_and_number_are_in_the_order_of_their_mig_devices)
{
	for (int64_t first = 0; first < 2 && start_anew(); first++) {
		add_partition(0, 0, "a");
		add_partition(1, 0, "b");
		tell(94, NOW)->gpu_instance_id = first;
		tell(94, NOW)->gpu_instance_id = 1 - first;
		collect();
		assert_int_equal(now.events.n_items, 2);
		expect_text(now.events.items[0].partition, "a");
		expect_text(now.events.items[1].partition, "b");
	}
}

/* Without a report nothing is known of the boot, and what was published stays as it is. */
TEST(an_error_of_which_no_time_since_this_boot_is_known_was_now_at_the_latest)
{
	static const struct {
		bool is_published, is_same_boot;
		int64_t event, now, expected; /* time since boot */
	} rows[] = {
		{true, true, 5, 7, 5},   {true, true, 0, 7, 7},   {true, true, 0, 1, 1},
		{true, false, 5, 7, 7},  {true, false, 5, 0, 5},  {true, true, 5, 0, 5},
		{true, false, 0, 0, 0},  {false, false, 5, 7, 5}, {false, false, 0, 7, 7},
		{false, false, 5, 0, 5}, {false, true, 0, 7, 7},  {false, true, 0, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		if (rows[i].is_published)
			publish(95, NOW)->uptime_ms = rows[i].event;
		else
			tell(95, NOW)->uptime_ms = rows[i].event;
		now.events.is_same_boot = rows[i].is_same_boot;
		now.events.uptime_ms = rows[i].now;
		collect();
		assert_int_equal(now.events.items[0].uptime_ms, rows[i].expected);
	}
}

/* So many errors of one number, or each of the next number; newest first. */
struct run {
	int64_t code;
	unsigned n;
	bool is_ascending;
};

static int64_t code_at(const struct run *runs, unsigned at)
{
	for (; at >= runs->n; runs++)
		at -= runs->n;
	return runs->code + (runs->is_ascending ? at : 0);
}

static unsigned length_of(const struct run runs[static 3])
{
	return runs[0].n + runs[1].n + runs[2].n;
}

TEST(of_too_many_errors_the_oldest_go_but_not_the_newest_of_a_number_that_asks_for_something)
{
	enum { LIMIT = LIMIT_HEALTH_EVENTS };
	static const struct {
		struct run happened[3], kept[3];
	} rows[] = {
		{{{31, LIMIT}}, {{31, LIMIT}}},
		{{{31, LIMIT + 1}}, {{31, LIMIT}}},
		{{{31, LIMIT}, {79, 1}}, {{31, LIMIT - 1}, {79, 1}}},
		/* Of two of a number the newer one is enough, and the older one is as any other. */
		{{{79, 1}, {31, LIMIT - 1}, {79, 1}}, {{79, 1}, {31, LIMIT - 1}}},
		{{{79, 2}, {31, LIMIT - 1}}, {{79, 2}, {31, LIMIT - 2}}},
		/* Nothing is to be done about either. */
		{{{63, LIMIT}, {31, 1}}, {{63, LIMIT}}},
		{{{31, LIMIT}, {63, 1}}, {{31, LIMIT}}},
		/* Of what asks for something the graver stays. */
		{{{79, 1}, {1000, LIMIT, true}}, {{79, 1}, {1000, LIMIT - 1, true}}},
		{{{1000, LIMIT, true}, {79, 1}}, {{1000, LIMIT - 1, true}, {79, 1}}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		for (unsigned k = 0; k < length_of(rows[i].happened); k++)
			tell(code_at(rows[i].happened, k), NOW - k);
		collect();
		assert_int_equal(now.events.n_items, length_of(rows[i].kept));
		for (unsigned k = 0; k < now.events.n_items; k++)
			if (now.events.items[k].xid != code_at(rows[i].kept, k))
				fail_msg("row %zu, event %u", i, k);
	}
}

static int fail_to_list(const void *owner, const struct events_origin *origin,
			struct attribution_health_event *event, struct error *err)
{
	(void)owner;
	(void)origin;
	(void)event;
	return error_no_memory(err);
}

TEST(without_memory_for_the_holders_of_an_error_it_fails)
{
	struct error err;

	tell(94, NOW);
	now.events.holders.list = fail_to_list;
	assert_int_equal(events_collect(&now.events, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

TEST(each_allocation_that_fails_is_an_error)
{
	bool failed = true;

	for (unsigned k = 1; failed && start_anew(); k++) {
		struct error err;
		int result;

		for (int64_t i = 0; i <= (int64_t)LIMIT_HEALTH_EVENTS; i++)
			tell(31, NOW - i);
		failing_malloc_at(k);
		result = events_collect(&now.events, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(an_error_of_a_mig_device_is_of_the_one_with_its_instances),
	cmocka_unit_test_set_up(
		an_error_of_a_mig_device_that_is_not_listed_now_is_of_the_published_one),
	cmocka_unit_test_set_up(an_error_may_be_of_holders_of_its_instance_and_of_what_is_not_known),
	cmocka_unit_test_set_up(
		an_error_that_is_told_again_is_the_same_even_if_its_mig_device_was_not_known_once),
	cmocka_unit_test_set_up(errors_of_one_time_and_number_are_in_the_order_of_their_mig_devices),
	cmocka_unit_test_set_up(
		an_error_of_which_no_time_since_this_boot_is_known_was_now_at_the_latest),
	cmocka_unit_test_set_up(
		of_too_many_errors_the_oldest_go_but_not_the_newest_of_a_number_that_asks_for_something),
	cmocka_unit_test_set_up(without_memory_for_the_holders_of_an_error_it_fails),
	cmocka_unit_test_set_up(each_allocation_that_fails_is_an_error),
};
TEST_MAIN(tests)
