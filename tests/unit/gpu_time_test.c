/* SPDX-License-Identifier: Apache-2.0 */

/* Statuses are written by hand; the two clocks differ by WALL. Times are seconds. */

#include "lib/test_main.h"

#include <string.h>

#include "controller/gpu_time.h"
#include "lib/failing_malloc.h"

#define WALL INT64_C(1767225600000)
#define MAX_SERIES 3

static struct gpu_time *gpu_time;
static struct attribution_tenant tenants[4];
static struct attribution_past_tenant past[4];
static struct attribution_partition partitions[2];
static struct attribution object;

static int setup(void **state)
{
	struct error err;

	(void)state;
	memset(tenants, 0, sizeof(tenants));
	memset(past, 0, sizeof(past));
	memset(partitions, 0, sizeof(partitions));
	object = (struct attribution){
		.name = VIEW_INIT("gpu-1"),
		.status = {
			.device.model = VIEW_INIT("NVIDIA-H100"),
			.sharing.mode = ATTRIBUTION_MODE_EXCLUSIVE,
			.tenants = {tenants, 0, true},
			.recent_tenants = {past, 0, true},
			.partitions = {partitions, 0, true},
			.activity.state = ATTRIBUTION_ACTIVITY_ACTIVE,
		},
	};
	return gpu_time_new(MAX_SERIES, &gpu_time, &err);
}

static int teardown(void **state)
{
	(void)state;
	gpu_time_free(gpu_time);
	return 0;
}

static int64_t wall(double s)
{
	return WALL + (int64_t)(s * 1000);
}

static struct gpu_time_now at(double s)
{
	return (struct gpu_time_now){(uint64_t)(s * 1000), wall(s)};
}

static void publish(double s)
{
	struct error err;

	assert_int_equal(gpu_time_publish(gpu_time, &object, at(s), &err), 0);
}

/* A workload with one slot since then. */
static struct attribution_tenant *add(const char *pod, const char *namespace, double since)
{
	struct attribution_tenant *tenant = &tenants[object.status.tenants.count++];

	*tenant = (struct attribution_tenant){
		.pod_uid = view_from(pod),
		.container = VIEW("main"),
		.pod_namespace = view_from(namespace),
		.slots = 1,
		.start_time = wall(since),
		.role = ATTRIBUTION_ROLE_WORKLOAD,
	};
	return tenant;
}

/* The only tenant has left. */
static void leave(double since, double end)
{
	past[0] = (struct attribution_past_tenant){
		.pod_uid = tenants[0].pod_uid,
		.container = tenants[0].container,
		.start_time = wall(since),
		.end_time = wall(end),
	};
	object.status.recent_tenants.count = 1;
	object.status.tenants.count = 0;
}

static void set_idle(double since)
{
	object.status.activity.state = ATTRIBUTION_ACTIVITY_IDLE;
	object.status.activity.idle_since = wall(since);
}

static bool find(const char *namespace, double s, struct gpu_time_series *ret)
{
	for (size_t i = 0; i < gpu_time_places(gpu_time); i++)
		if (gpu_time_at(gpu_time, i, (uint64_t)(s * 1000), ret) &&
		    view_equal(ret->namespace, view_from(namespace)))
			return true;
	return false;
}

static void assert_counts(const char *namespace, double s, double held_s, double idle_s)
{
	struct gpu_time_series series;

	assert_true(find(namespace, s, &series));
	assert_int_equal(series.held_ms, (uint64_t)(held_s * 1000));
	assert_int_equal(series.idle_ms, (uint64_t)(idle_s * 1000));
}

static void a_tenancy_counts_from_its_start_to_its_end(void **state)
{
	(void)state;
	publish(100);
	add("uid-a", "ml", 199);
	publish(200);
	assert_counts("ml", 200, 1, 0);
	assert_counts("ml", 260, 61, 0);
	leave(199, 299);
	publish(300);
	assert_counts("ml", 301, 100, 0);
	assert_counts("ml", 900, 100, 0);
}

static void what_was_shown_is_never_taken_back(void **state)
{
	(void)state;
	publish(100);
	add("uid-a", "ml", 200);
	publish(200);
	assert_counts("ml", 300, 100, 0);
	leave(200, 290);
	publish(300);
	assert_counts("ml", 300, 100, 0);
	object.status.tenants.count = 0;
	add("uid-b", "ml", 310);
	publish(310);
	assert_counts("ml", 320, 100, 0); /* 90 and 10 */
	assert_counts("ml", 330, 110, 0);
}

static void what_an_earlier_controller_published_counts_from_now_on(void **state)
{
	(void)state;
	add("uid-a", "ml", -5000);
	set_idle(-4000);
	publish(100);
	assert_counts("ml", 100, 0, 0);
	assert_counts("ml", 110, 10, 10);
	leave(-5000, 90);
	publish(111);
	assert_counts("ml", 200, 10, 10);
}

/* Of both times before and while another replica led, and at what was said last it goes on. */
static void who_leads_anew_goes_on_from_what_it_said_last(void **state)
{
	(void)state;
	publish(0);
	add("uid-a", "ml", 100);
	add("uid-b", "ml", 100);
	set_idle(100);
	publish(100);
	gpu_time_resume(gpu_time, at(200)); /* it never led before */
	assert_counts("ml", 200, 0, 0);
	assert_counts("ml", 210, 20, 20);
	gpu_time_resume(gpu_time, at(300)); /* another led since 210 */
	assert_counts("ml", 300, 20, 20);
	assert_counts("ml", 310, 40, 40);
}

static void what_is_published_late_counts_from_when_we_led(void **state)
{
	(void)state;
	publish(0);
	add("uid-a", "ml", 100);
	publish(100);
	assert_counts("ml", 110, 10, 0);
	gpu_time_resume(gpu_time, at(200));
	leave(100, 150); /* while nobody led */
	add("uid-b", "ml", 190);
	set_idle(160);
	publish(210);
	assert_counts("ml", 210, 20, 10);
	assert_counts("ml", 220, 30, 20);
}

static void only_the_slots_of_workloads_count(void **state)
{
	struct gpu_time_series series;

	(void)state;
	publish(100);
	add("uid-a", "ml", 100)->slots = 3;
	add("uid-b", "watchers", 100)->role = ATTRIBUTION_ROLE_MONITOR;
	add("uid-c", "none", 100)->slots = 0;
	publish(100);
	assert_counts("ml", 110, 30, 0);
	assert_false(find("watchers", 110, &series));
	assert_false(find("none", 110, &series));
}

static void more_slots_count_from_when_they_are_published(void **state)
{
	(void)state;
	publish(100);
	add("uid-a", "ml", 100);
	publish(100);
	tenants[0].slots = 4;
	publish(110);
	assert_counts("ml", 120, 50, 0);
}

static void another_mode_is_another_series(void **state)
{
	struct gpu_time_series series;

	(void)state;
	publish(100);
	add("uid-a", "ml", 100);
	publish(100);
	object.status.sharing.mode = ATTRIBUTION_MODE_TIME_SLICED;
	publish(110);
	assert_true(gpu_time_at(gpu_time, 0, 150000, &series));
	assert_int_equal(series.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	assert_int_equal(series.held_ms, 10000);
	assert_true(gpu_time_at(gpu_time, 1, 150000, &series));
	assert_int_equal(series.mode, ATTRIBUTION_MODE_TIME_SLICED);
	assert_int_equal(series.held_ms, 40000);
	assert_true(view_equal(series.model, VIEW("NVIDIA-H100")));
}

static void a_pod_that_is_known_late_counts_from_its_start(void **state)
{
	struct gpu_time_series series;

	(void)state;
	publish(100);
	add("uid-a", "", 100);
	publish(100);
	assert_false(find("", 130, &series));
	tenants[0].pod_namespace = VIEW("ml");
	publish(130);
	assert_counts("ml", 140, 40, 0);
}

static void idle_time_counts_from_when_work_was_seen_last(void **state)
{
	(void)state;
	publish(0);
	add("uid-a", "ml", 100);
	publish(100);
	set_idle(200);
	publish(800);
	assert_counts("ml", 800, 700, 600);
	assert_counts("ml", 900, 800, 700);
	object.status.activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_ACTIVE, .last_transition_time = wall(999)};
	publish(1000);
	assert_counts("ml", 1200, 1100, 799);
	set_idle(900); /* a clock that is wrong by far: nothing is idle twice */
	publish(1300);
	assert_counts("ml", 1300, 1200, 1100);
}

static void work_between_two_statuses_that_say_idle_is_not_idle_time(void **state)
{
	(void)state;
	publish(0);
	add("uid-a", "ml", 100);
	set_idle(100);
	publish(800);
	publish(1000); /* of something else; it is idle still */
	set_idle(1600);
	publish(2300);
	assert_counts("ml", 2300, 2200, 900 + 700);
	set_idle(2250); /* before the last status, which said Idle nevertheless: nothing counts twice */
	publish(3000);
	assert_counts("ml", 3100, 3000, 900 + 1500);
	set_idle(2000); /* earlier than before: no work was seen */
	publish(3100);
	assert_counts("ml", 3200, 3100, 900 + 1600);
}

static void a_tenant_is_idle_only_while_it_is_there(void **state)
{
	(void)state;
	publish(0);
	add("uid-a", "ml", 500);
	publish(500);
	set_idle(200);
	publish(800);
	assert_counts("ml", 800, 300, 300);
	leave(500, 900);
	publish(900);
	assert_counts("ml", 1000, 400, 400);
}

static void each_partition_is_idle_by_itself(void **state)
{
	static const struct view both[] = {VIEW_INIT("MIG-1"), VIEW_INIT("MIG-2")};

	(void)state;
	object.status.sharing.mode = ATTRIBUTION_MODE_MIG;
	partitions[0].uuid = both[0];
	partitions[1].uuid = both[1];
	partitions[0].activity.state = ATTRIBUTION_ACTIVITY_ACTIVE;
	partitions[1].activity.state = ATTRIBUTION_ACTIVITY_ACTIVE;
	object.status.partitions.count = 2;
	publish(0);
	add("uid-a", "one", 100)->partitions = (struct array){(void *)(uintptr_t)both, 1, true};
	struct attribution_tenant *pair = add("uid-b", "pair", 100);
	pair->partitions = (struct array){(void *)(uintptr_t)both, 2, true};
	pair->slots = 2;
	publish(100);
	set_idle(0); /* says nothing of a partition that was looked at */
	partitions[0].activity.state = ATTRIBUTION_ACTIVITY_IDLE;
	partitions[0].activity.idle_since = wall(150);
	publish(200);
	assert_counts("one", 250, 150, 100);
	assert_counts("pair", 250, 300, 100);
	partitions[0].activity.state = ATTRIBUTION_ACTIVITY_ACTIVE;
	publish(300);
	assert_counts("one", 400, 300, 150);
	assert_counts("pair", 400, 600, 150);
}

static void a_device_that_goes_ends_its_tenancies(void **state)
{
	(void)state;
	publish(0);
	add("uid-a", "ml", 100);
	set_idle(100);
	publish(100);
	gpu_time_forget(gpu_time, object.name, at(150));
	assert_counts("ml", 500, 50, 50);
	gpu_time_forget(gpu_time, object.name, at(600));
	assert_counts("ml", 600, 50, 50);
}

static void a_wall_clock_that_is_set_alters_nothing_that_runs(void **state)
{
	struct error err;

	(void)state;
	publish(0);
	add("uid-a", "ml", 100);
	publish(100);
	const struct gpu_time_now back = {200000, wall(-86400)};
	set_idle(150);
	assert_int_equal(gpu_time_publish(gpu_time, &object, back, &err), 0);
	assert_counts("ml", 300, 200, 100);
}

static void forged_starts_count_nothing_before_the_status_before(void **state)
{
	(void)state;
	publish(100);
	add("uid-a", "ml", 0)->start_time = 1;
	add("uid-b", "ml", 0)->start_time = INT64_MAX;
	add("uid-c", "ml", 0)->start_time = INT64_MIN;
	publish(110);
	assert_counts("ml", 110, 10, 0);
}

static void use(const char *device, const char *namespace, double s)
{
	object.name = view_from(device);
	object.status.tenants.count = 0;
	publish(s);
	add("uid", namespace, s);
	publish(s);
}

static void the_series_without_tenants_for_longest_makes_room(void **state)
{
	struct gpu_time_series series;

	(void)state;
	use("gpu-1", "a", 1);
	use("gpu-2", "b", 2);
	use("gpu-3", "c", 3);
	gpu_time_forget(gpu_time, VIEW("gpu-2"), at(10));
	gpu_time_forget(gpu_time, VIEW("gpu-1"), at(20));
	use("gpu-4", "d", 30);
	assert_int_equal(gpu_time_places(gpu_time), MAX_SERIES);
	assert_false(find("b", 40, &series));
	assert_counts("a", 40, 19, 0);
	assert_counts("d", 40, 10, 0);
	assert_int_equal(gpu_time_counters(gpu_time).dropped, 1);
	assert_int_equal(gpu_time_counters(gpu_time).refused, 0);
}

static void a_tenancy_without_room_is_not_counted_and_said_so_once(void **state)
{
	struct gpu_time_series series;

	(void)state;
	use("gpu-1", "a", 1);
	use("gpu-2", "b", 1);
	use("gpu-3", "c", 1);
	use("gpu-4", "d", 1);
	publish(5);
	gpu_time_forget(gpu_time, VIEW("gpu-1"), at(10));
	publish(11);
	assert_false(find("d", 20, &series));
	assert_int_equal(gpu_time_counters(gpu_time).refused, 1);
	assert_counts("c", 21, 20, 0);
}

static void ten_thousand_namespaces_in_an_hour_stay_bounded(void **state)
{
	char namespace[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(namespace, sizeof(namespace), "churn-%d", i);
		use("gpu-1", namespace, i * 0.36);
	}
	assert_int_equal(gpu_time_places(gpu_time), MAX_SERIES);
	assert_int_equal(gpu_time_counters(gpu_time).dropped, 10000 - MAX_SERIES);
	assert_counts("churn-9999", 3610, 3610 - 3599.64, 0);
}

static void without_memory_what_was_published_goes_on(void **state)
{
	struct error err;
	bool failed = true;

	(void)state;
	publish(0);
	add("uid-a", "ml", 100);
	publish(100);
	add("uid-b", "other", 200);
	for (unsigned k = 1; failed; k++) {
		assert_counts("ml", 200, 100, 0);
		failing_malloc_at(k);
		int result = gpu_time_publish(gpu_time, &object, at(200), &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
	assert_counts("ml", 210, 110, 0);
	assert_counts("other", 210, 10, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_tenancy_counts_from_its_start_to_its_end, setup, teardown),
	cmocka_unit_test_setup_teardown(what_was_shown_is_never_taken_back, setup, teardown),
	cmocka_unit_test_setup_teardown(who_leads_anew_goes_on_from_what_it_said_last, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_published_late_counts_from_when_we_led, setup,
					teardown),
	cmocka_unit_test_setup_teardown(what_an_earlier_controller_published_counts_from_now_on,
					setup, teardown),
	cmocka_unit_test_setup_teardown(only_the_slots_of_workloads_count, setup, teardown),
	cmocka_unit_test_setup_teardown(more_slots_count_from_when_they_are_published, setup,
					teardown),
	cmocka_unit_test_setup_teardown(another_mode_is_another_series, setup, teardown),
	cmocka_unit_test_setup_teardown(a_pod_that_is_known_late_counts_from_its_start, setup,
					teardown),
	cmocka_unit_test_setup_teardown(idle_time_counts_from_when_work_was_seen_last, setup,
					teardown),
	cmocka_unit_test_setup_teardown(work_between_two_statuses_that_say_idle_is_not_idle_time,
					setup, teardown),
	cmocka_unit_test_setup_teardown(a_tenant_is_idle_only_while_it_is_there, setup, teardown),
	cmocka_unit_test_setup_teardown(each_partition_is_idle_by_itself, setup, teardown),
	cmocka_unit_test_setup_teardown(a_device_that_goes_ends_its_tenancies, setup, teardown),
	cmocka_unit_test_setup_teardown(a_wall_clock_that_is_set_alters_nothing_that_runs, setup,
					teardown),
	cmocka_unit_test_setup_teardown(forged_starts_count_nothing_before_the_status_before, setup,
					teardown),
	cmocka_unit_test_setup_teardown(the_series_without_tenants_for_longest_makes_room, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_tenancy_without_room_is_not_counted_and_said_so_once,
					setup, teardown),
	cmocka_unit_test_setup_teardown(ten_thousand_namespaces_in_an_hour_stay_bounded, setup,
					teardown),
	cmocka_unit_test_setup_teardown(without_memory_what_was_published_goes_on, setup, teardown),
};
TEST_MAIN(tests)
