/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/activity_windows.h"
#include "base/limits.h"

#define BOOT UINT64_C(5000000)
#define WALL INT64_C(1767323045000)
#define MINUTE 60000
#define NVML REPORT_ACTIVITY_NVML
#define DCGM REPORT_ACTIVITY_DCGM

/* What a source said at one moment: a figure, or one of these. */
enum { FAILED = -1, NO_SOURCE = -2 };
/* What the list of processes says. */
enum { UNREADABLE = -1, NONE = 0, SOME = 1 };

static struct fixture {
	struct activity_windows windows;
	struct arena arenas[2]; /* of this reading and the last one, as in agent/hardware.c */
	unsigned n_readings;
	struct report_process processes[2];
	struct report_partition partitions[2];
	struct report_device device;
} fixture;

/* DCGM's figure beside NVML's, in each sample. */
static int64_t dcgm_figure;

static int set_up(void **state)
{
	(void)state;
	fixture = (struct fixture){
		.windows.settings = {.busy_percent = 5, .idle_after_ms = 10 * MINUTE},
		.processes = {{.pid = 1, .partition = VIEW_INIT("MIG-a")}},
		.device.uuid = VIEW_INIT("GPU-a"),
	};
	dcgm_figure = NO_SOURCE;
	arena_init(&fixture.arenas[0], LIMIT_MIB);
	arena_init(&fixture.arenas[1], LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&fixture.arenas[0]);
	arena_deinit(&fixture.arenas[1]);
	return 0;
}

/* Adds a sample at that time after BOOT, with the wall clock set forward by set_by. */
static struct report_activity sample(int64_t at_ms, int64_t figure, int processes, int64_t set_by)
{
	struct arena *arena = &fixture.arenas[fixture.n_readings++ % 2];
	struct report_device *device = &fixture.device;

	arena_reset(arena);
	device->activity = (struct report_activity){0};
	if (figure != NO_SOURCE)
		activity_windows_offer(&device->activity, NVML, figure);
	if (dcgm_figure != NO_SOURCE)
		activity_windows_offer(&device->activity, DCGM, dcgm_figure);
	device->processes = (struct array){fixture.processes, (uint32_t)(processes == SOME),
					   processes != UNREADABLE};
	activity_windows_read(&fixture.windows,
			      (struct processes_time){WALL + at_ms + set_by, BOOT + (uint64_t)at_ms},
			      (struct array){device, 1, true}, true, arena);
	return device->activity;
}

/* The same sample every 15 s in a time that ends. */
static struct report_activity samples(int64_t from, int64_t to, int64_t figure, int processes)
{
	struct report_activity last = {0};

	for (int64_t at = from; at < to; at += 15000)
		last = sample(at, figure, processes, 0);
	return last;
}

static void assert_activity(struct report_activity is, int state, int64_t busy, int64_t since)
{
	assert_true(is.present);
	assert_int_equal(is.state, state);
	assert_int_equal(is.last_busy_at, busy == -1 ? 0 : WALL + busy);
	assert_int_equal(is.measured_since, WALL + since);
}

TEST(one_sample_decides_by_its_figure_then_by_processes)
{
	static const struct {
		int64_t figure;
		int processes;
		int state, source; /* no state: it is not measured */
		int64_t told;
	} rows[] = {
		{0, SOME, REPORT_ACTIVITY_MEASURING, NVML, 0},
		{4, SOME, REPORT_ACTIVITY_MEASURING, NVML, 4},
		{5, NONE, REPORT_ACTIVITY_BUSY, NVML, 5},
		{100, UNREADABLE, REPORT_ACTIVITY_BUSY, NVML, 100},
		{101, UNREADABLE, 0, 0, -1},
		{UINT32_MAX, SOME, 0, 0, -1},
		{INT64_MIN, SOME, 0, 0, -1},
		{101, NONE, REPORT_ACTIVITY_MEASURING, REPORT_ACTIVITY_NO_PROCESS, -1},
		{FAILED, NONE, REPORT_ACTIVITY_MEASURING, REPORT_ACTIVITY_NO_PROCESS, -1},
		{FAILED, SOME, 0, 0, -1},
		{FAILED, UNREADABLE, 0, 0, -1},
		{NO_SOURCE, NONE, REPORT_ACTIVITY_MEASURING, REPORT_ACTIVITY_NO_PROCESS, -1},
		{NO_SOURCE, SOME, 0, 0, -1},
		{NO_SOURCE, UNREADABLE, 0, 0, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		struct report_activity is = sample(0, rows[i].figure, rows[i].processes, 0);
		assert_int_equal(is.present, rows[i].state != 0);
		assert_int_equal(is.state, rows[i].state);
		assert_int_equal(is.source, rows[i].source);
		assert_int_equal(is.utilization, rows[i].told);
	}
}

TEST(a_device_is_idle_when_a_whole_window_showed_no_work)
{
	assert_activity(samples(0, 10 * MINUTE, 4, SOME), REPORT_ACTIVITY_MEASURING, -1, 0);
	assert_activity(sample(10 * MINUTE - 1, 0, SOME, 0), REPORT_ACTIVITY_MEASURING, -1, 0);
	assert_activity(sample(10 * MINUTE, 0, SOME, 0), REPORT_ACTIVITY_IDLE, -1, 0);
	assert_activity(samples(10 * MINUTE, 60 * MINUTE, 0, SOME), REPORT_ACTIVITY_IDLE, -1, 0);
}

TEST(one_busy_sample_makes_it_busy_at_once_and_for_a_whole_window)
{
	samples(0, 20 * MINUTE, 0, SOME);
	assert_activity(sample(20 * MINUTE, 5, SOME, 0), REPORT_ACTIVITY_BUSY, 20 * MINUTE, 0);
	assert_activity(samples(20 * MINUTE + 1, 30 * MINUTE, 0, SOME), REPORT_ACTIVITY_BUSY,
			20 * MINUTE, 0);
	assert_activity(sample(30 * MINUTE, 0, SOME, 0), REPORT_ACTIVITY_IDLE, 20 * MINUTE, 0);
}

TEST(a_busy_device_names_the_source_that_saw_work_and_an_idle_one_the_last)
{
	struct report_activity is;

	sample(0, 31, NONE, 0);
	for (int64_t at = 15000; at < 10 * MINUTE; at += 15000) {
		is = sample(at, NO_SOURCE, NONE, 0);
		assert_activity(is, REPORT_ACTIVITY_BUSY, 0, 0);
		assert_int_equal(is.source, NVML);
		assert_int_equal(is.utilization, -1);
	}
	is = sample(10 * MINUTE, NO_SOURCE, NONE, 0);
	assert_activity(is, REPORT_ACTIVITY_IDLE, 0, 0);
	assert_int_equal(is.source, REPORT_ACTIVITY_NO_PROCESS);
}

TEST(work_in_pauses_shorter_than_the_window_never_looks_idle)
{
	for (int64_t at = 0; at < 100 * MINUTE; at += 9 * MINUTE) {
		assert_int_equal(sample(at, 90, SOME, 0).state, REPORT_ACTIVITY_BUSY);
		assert_int_equal(samples(at + 1, at + 9 * MINUTE, 0, SOME).state, REPORT_ACTIVITY_BUSY);
	}
}

TEST(a_gap_of_two_minutes_is_bridged_and_a_longer_one_begins_the_window_anew)
{
	static const struct {
		int64_t gap;
		bool is_bridged;
	} rows[] = {{REPORT_ACTIVITY_GAP_MS, true}, {REPORT_ACTIVITY_GAP_MS + 1, false}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const int64_t last = 20 * MINUTE - 15000, back = last + rows[i].gap;
		tear_down(state);
		set_up(state);
		samples(0, 20 * MINUTE, 0, SOME);
		/* Its state is as it was while the source is silent, but no longer than that. */
		assert_true(sample(last + REPORT_ACTIVITY_GAP_MS, FAILED, SOME, 0).present);
		assert_int_equal(sample(back, FAILED, SOME, 0).present, rows[i].is_bridged);
		assert_activity(sample(back, 0, SOME, 0),
				rows[i].is_bridged ? REPORT_ACTIVITY_IDLE : REPORT_ACTIVITY_MEASURING,
				-1, rows[i].is_bridged ? 0 : back);
	}
}

TEST(work_that_was_seen_before_a_gap_still_counts)
{
	sample(0, 50, SOME, 0);
	assert_activity(sample(5 * MINUTE, 0, SOME, 0), REPORT_ACTIVITY_BUSY, 0, 5 * MINUTE);
	assert_activity(samples(5 * MINUTE, 10 * MINUTE + 1, 0, SOME), REPORT_ACTIVITY_MEASURING, 0,
			5 * MINUTE);
}

TEST(a_process_that_no_source_watches_ends_what_is_known_at_once)
{
	assert_activity(samples(0, 10 * MINUTE + 1, NO_SOURCE, NONE), REPORT_ACTIVITY_IDLE, -1, 0);
	assert_false(sample(10 * MINUTE + 1, NO_SOURCE, SOME, 0).present);
	assert_activity(sample(10 * MINUTE + 2, NO_SOURCE, NONE, 0), REPORT_ACTIVITY_MEASURING, -1,
			10 * MINUTE + 2);
	/* Work that was seen until then, too: MIG was switched on, say. */
	assert_int_equal(sample(20 * MINUTE, 90, SOME, 0).state, REPORT_ACTIVITY_BUSY);
	sample(20 * MINUTE + 1, NO_SOURCE, SOME, 0);
	assert_activity(sample(20 * MINUTE + 2, NO_SOURCE, NONE, 0), REPORT_ACTIVITY_MEASURING, -1,
			20 * MINUTE + 2);
}

TEST(processes_that_the_agent_cannot_see_are_not_taken_for_none)
{
	struct report_device *device = &fixture.device;
	device->processes = (struct array){fixture.processes, 0, true};
	activity_windows_read(&fixture.windows, (struct processes_time){WALL, BOOT},
			      (struct array){device, 1, true}, false, &fixture.arenas[0]);
	assert_false(device->activity.present);
}

TEST(times_move_with_the_wall_clock_when_it_is_set)
{
	static const int64_t set_by[] = {-1000000000, -2001, 2001, 1000000000000};

	for (size_t i = 0; i < ARRAY_SIZE(set_by); i++) {
		tear_down(state);
		set_up(state);
		sample(0, 50, SOME, 0);
		samples(15000, 10 * MINUTE, 0, SOME);
		struct report_activity is = sample(10 * MINUTE, 0, SOME, set_by[i]);
		assert_activity(is, REPORT_ACTIVITY_IDLE, set_by[i], set_by[i]);
	}
	/* A clock that is only corrected leaves them alone: each new time would be a write. */
	assert_activity(sample(10 * MINUTE + 1, 0, SOME, set_by[3] + 2000), REPORT_ACTIVITY_IDLE,
			set_by[3], set_by[3]);
}

TEST(a_device_that_is_lost_gets_no_sample)
{
	samples(0, MINUTE, 0, SOME);
	fixture.device.condition.lost = true;
	assert_activity(sample(2 * MINUTE, 90, SOME, 0), REPORT_ACTIVITY_MEASURING, -1, 0);
	assert_false(sample(4 * MINUTE, 90, SOME, 0).present);
}

TEST(each_partition_has_a_window_of_its_own_which_ends_with_it)
{
	fixture.device.partitions = (struct array){fixture.partitions, 2, true};
	fixture.partitions[0].uuid = VIEW("MIG-a");
	fixture.partitions[1].uuid = VIEW("MIG-b");
	for (int64_t at = 0; at <= 10 * MINUTE; at += 15000) {
		fixture.partitions[0].activity = fixture.partitions[1].activity =
			(struct report_activity){0};
		assert_false(sample(at, NO_SOURCE, SOME, 0).present);
	}
	assert_false(fixture.partitions[0].activity.present);
	assert_activity(fixture.partitions[1].activity, REPORT_ACTIVITY_IDLE, -1, 0);
	fixture.device.partitions.count = 1;
	sample(10 * MINUTE + 1, NO_SOURCE, SOME, 0);
	fixture.device.partitions.count = 2;
	fixture.partitions[1].activity = (struct report_activity){0};
	sample(10 * MINUTE + 2, NO_SOURCE, SOME, 0);
	assert_activity(fixture.partitions[1].activity, REPORT_ACTIVITY_MEASURING, -1,
			10 * MINUTE + 2);
}

TEST(of_two_figures_the_larger_counts_and_of_two_alike_the_better_source)
{
	static const struct {
		int first, second;
		int64_t first_said, second_said;
		int source;
		int64_t told;
	} rows[] = {
		{NVML, REPORT_ACTIVITY_DCGM, 10, 90, REPORT_ACTIVITY_DCGM, 90},
		{REPORT_ACTIVITY_DCGM, NVML, 90, 10, REPORT_ACTIVITY_DCGM, 90},
		{NVML, REPORT_ACTIVITY_DCGM, 0, 5, REPORT_ACTIVITY_DCGM, 5},
		{NVML, REPORT_ACTIVITY_DCGM, 90, 10, NVML, 90},
		{NVML, REPORT_ACTIVITY_DCGM, 7, 7, NVML, 7},
		{REPORT_ACTIVITY_DCGM, NVML, 7, 7, NVML, 7},
		{NVML, REPORT_ACTIVITY_DCGM, 10, 101, NVML, 10},
		{NVML, REPORT_ACTIVITY_DCGM, -1, 90, REPORT_ACTIVITY_DCGM, 90},
		{NVML, REPORT_ACTIVITY_DCGM, 101, 90, REPORT_ACTIVITY_DCGM, 90},
		{REPORT_ACTIVITY_DCGM, NVML, 90, -1, REPORT_ACTIVITY_DCGM, 90},
		{NVML, REPORT_ACTIVITY_DCGM, -1, -1, NVML, -1},
		{REPORT_ACTIVITY_DCGM, NVML, -1, -1, NVML, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_activity is = {0};
		activity_windows_offer(&is, (enum report_activity_source)rows[i].first,
				       rows[i].first_said);
		activity_windows_offer(&is, (enum report_activity_source)rows[i].second,
				       rows[i].second_said);
		assert_true(is.present);
		assert_int_equal(is.source, rows[i].source);
		assert_int_equal(is.utilization, rows[i].told);
	}
}

/* NVML's utilization may be 0 while DCGM sees the engines work. */
TEST(work_that_one_of_two_sources_sees_makes_it_busy_by_that_one)
{
	static const struct {
		int64_t nvml, dcgm;
		int state, source;
	} rows[] = {
		{0, 90, REPORT_ACTIVITY_BUSY, DCGM},  {4, 5, REPORT_ACTIVITY_BUSY, DCGM},
		{5, 4, REPORT_ACTIVITY_BUSY, NVML},   {0, 4, REPORT_ACTIVITY_MEASURING, NVML},
		{FAILED, 4, REPORT_ACTIVITY_MEASURING, DCGM},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		dcgm_figure = rows[i].dcgm;
		struct report_activity is = sample(0, rows[i].nvml, SOME, 0);
		assert_int_equal(is.state, rows[i].state);
		assert_int_equal(is.source, rows[i].source);
	}
}

/* Of both: which is the larger changes with each sample, and would be news each time. */
TEST(of_two_sources_one_is_named_all_the_time)
{
	static const struct {
		int64_t nvml, dcgm;
		int state, source;
	} rows[] = {
		{1, 2, REPORT_ACTIVITY_IDLE, NVML}, {50, 60, REPORT_ACTIVITY_BUSY, NVML},
		{3, 60, REPORT_ACTIVITY_BUSY, DCGM},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		dcgm_figure = 0;
		sample(0, rows[i].nvml, SOME, 0);
		dcgm_figure = rows[i].dcgm;
		sample(15000, 0, SOME, 0);
		for (int64_t at = 30000; at < 60 * MINUTE; at += 15000) {
			/* For minutes, DCGM's alone is the larger, or NVML's. */
			const bool is_dcgm = at / MINUTE % 7 > 2;
			dcgm_figure = is_dcgm ? rows[i].dcgm : 0;
			struct report_activity is = sample(at, is_dcgm ? 0 : rows[i].nvml, SOME, 0);
			if (at < 15 * MINUTE)
				continue;
			assert_int_equal(is.state, rows[i].state);
			assert_int_equal(is.source, rows[i].source);
		}
	}
}

/* NVML has seen no work, so it is not named of a busy device; that would be a write of its own, too. */
TEST(a_busy_device_names_the_source_that_saw_work_after_that_source_is_gone)
{
	dcgm_figure = 90;
	sample(0, 0, SOME, 0);
	dcgm_figure = NO_SOURCE;
	struct report_activity is = samples(15000, 10 * MINUTE, 0, SOME);
	assert_activity(is, REPORT_ACTIVITY_BUSY, 0, 0);
	assert_int_equal(is.source, DCGM);
	is = sample(10 * MINUTE, 0, SOME, 0);
	assert_activity(is, REPORT_ACTIVITY_IDLE, 0, 0);
	assert_int_equal(is.source, NVML);
}

/* NVML answers every other time; between these there is no process. */
TEST(a_source_that_fails_now_and_then_is_named_all_the_same)
{
	const int64_t last = 12 * MINUTE - 15000; /* when NVML answers last */
	struct report_activity is = sample(0, 3, NONE, 0);

	for (int64_t at = 30000; at < last; at += 30000) {
		/* What changes the state is named. */
		const bool is_new = at == 10 * MINUTE;
		is = sample(at, FAILED, NONE, 0);
		assert_int_equal(is.state, at < 10 * MINUTE ? REPORT_ACTIVITY_MEASURING
							    : REPORT_ACTIVITY_IDLE);
		assert_int_equal(is.source, is_new ? REPORT_ACTIVITY_NO_PROCESS : NVML);
		assert_int_equal(is.utilization, -1);
		assert_int_equal(sample(at + 15000, 3, NONE, 0).source, NVML);
	}
	assert_int_equal(samples(last + 15000, last + 2 * MINUTE + 1, FAILED, NONE).source, NVML);
	is = sample(last + 2 * MINUTE + 15000, FAILED, NONE, 0);
	assert_activity(is, REPORT_ACTIVITY_IDLE, -1, 0);
	assert_int_equal(is.source, REPORT_ACTIVITY_NO_PROCESS);
	assert_int_equal(is.utilization, -1);
}

TEST(a_better_source_is_named_at_once_and_any_after_what_is_not_known)
{
	sample(0, FAILED, NONE, 0);
	assert_int_equal(sample(15000, 3, NONE, 0).source, NVML);
	assert_false(sample(30000, NO_SOURCE, SOME, 0).present);
	assert_int_equal(sample(45000, NO_SOURCE, NONE, 0).source, REPORT_ACTIVITY_NO_PROCESS);
}

TEST(without_memory_nothing_is_measured)
{
	struct arena none;
	samples(0, MINUTE, 0, SOME);
	arena_init(&none, 0);
	activity_windows_offer(&fixture.device.activity, NVML, 50);
	activity_windows_read(&fixture.windows, (struct processes_time){WALL + MINUTE, BOOT + MINUTE},
			      (struct array){&fixture.device, 1, true}, true, &none);
	assert_false(fixture.device.activity.present);
	assert_int_equal(fixture.device.activity.utilization, -1);
	assert_activity(sample(2 * MINUTE, 0, SOME, 0), REPORT_ACTIVITY_MEASURING, -1, 2 * MINUTE);
	arena_deinit(&none);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(one_sample_decides_by_its_figure_then_by_processes),
	cmocka_unit_test_set_up(a_device_is_idle_when_a_whole_window_showed_no_work),
	cmocka_unit_test_set_up(one_busy_sample_makes_it_busy_at_once_and_for_a_whole_window),
	cmocka_unit_test_set_up(a_busy_device_names_the_source_that_saw_work_and_an_idle_one_the_last),
	cmocka_unit_test_set_up(work_in_pauses_shorter_than_the_window_never_looks_idle),
	cmocka_unit_test_set_up(
		a_gap_of_two_minutes_is_bridged_and_a_longer_one_begins_the_window_anew),
	cmocka_unit_test_set_up(work_that_was_seen_before_a_gap_still_counts),
	cmocka_unit_test_set_up(a_process_that_no_source_watches_ends_what_is_known_at_once),
	cmocka_unit_test_set_up(processes_that_the_agent_cannot_see_are_not_taken_for_none),
	cmocka_unit_test_set_up(times_move_with_the_wall_clock_when_it_is_set),
	cmocka_unit_test_set_up(a_device_that_is_lost_gets_no_sample),
	cmocka_unit_test_set_up(each_partition_has_a_window_of_its_own_which_ends_with_it),
	cmocka_unit_test_set_up(of_two_figures_the_larger_counts_and_of_two_alike_the_better_source),
	cmocka_unit_test_set_up(work_that_one_of_two_sources_sees_makes_it_busy_by_that_one),
	cmocka_unit_test_set_up(of_two_sources_one_is_named_all_the_time),
	cmocka_unit_test_set_up(a_busy_device_names_the_source_that_saw_work_after_that_source_is_gone),
	cmocka_unit_test_set_up(a_source_that_fails_now_and_then_is_named_all_the_same),
	cmocka_unit_test_set_up(a_better_source_is_named_at_once_and_any_after_what_is_not_known),
	cmocka_unit_test_set_up(without_memory_nothing_is_measured),
};
TEST_MAIN(tests)
