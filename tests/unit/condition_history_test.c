/* SPDX-License-Identifier: Apache-2.0 */

/* What several samples of a device's condition tell together. */

#include "lib/test_main.h"

#include "agent/condition_history.h"

#define WALL INT64_C(1700000000000)
#define SLOW_MS 60000u
#define FAST_MS 300000u
#define NARROW_MS 300000u

static struct condition_history history;
static struct report_device device;
static uint64_t clock_ms;
static int64_t wall_ms; /* when clock_ms was 0 */

static int set_up(void **state)
{
	(void)state;
	history = (struct condition_history){.settings = {SLOW_MS, FAST_MS, NARROW_MS}};
	clock_ms = 5000;
	wall_ms = WALL;
	device = (struct report_device){
		.uuid = VIEW("GPU-a"),
		.condition = {.present = true, .slowdown.present = true},
	};
	return 0;
}

static void sample_once_after(uint64_t ms)
{
	clock_ms += ms;
	condition_history_judge(&history, clock_ms, wall_ms + (int64_t)clock_ms,
				(struct array){&device, 1, true});
}

/* A sample of what the device is like, so long after the last one; each minute before it, too. */
static const struct report_condition *sample_after(uint64_t ms)
{
	for (; ms > 60000; ms -= 60000)
		sample_once_after(60000);
	sample_once_after(ms);
	return &device.condition;
}

static int *verdict_of(int64_t bits)
{
	struct report_slowdown *slowdown = &device.condition.slowdown;
	return bits == REPORT_CLOCKS_THERMAL       ? &slowdown->thermal
	       : bits == REPORT_CLOCKS_POWER_BRAKE ? &slowdown->power_brake
						   : &slowdown->hardware;
}

static void expect_verdict(int64_t bits, int verdict, uint64_t ms)
{
	sample_after(ms);
	assert_int_equal(*verdict_of(bits), verdict);
}

/* One bit each, and the verdict that it is for. */
static const struct {
	int64_t bit, bits;
} reasons[] = {
	{0x20, REPORT_CLOCKS_THERMAL},
	{0x40, REPORT_CLOCKS_THERMAL},
	{0x80, REPORT_CLOCKS_POWER_BRAKE},
	{0x8, REPORT_CLOCKS_HARDWARE},
};

static void clocks_are_slow_when_all_samples_of_a_minute_say_so(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		set_up(state);
		device.condition.clocks_event_reasons = reasons[i].bit;
		expect_verdict(reasons[i].bits, REPORT_UNDECIDED, 0);
		expect_verdict(reasons[i].bits, REPORT_UNDECIDED, SLOW_MS - 1);
		expect_verdict(reasons[i].bits, REPORT_YES, 1);
		for (size_t k = 0; k < ARRAY_SIZE(reasons); k++)
			assert_int_equal(*verdict_of(reasons[k].bits),
					 reasons[k].bits == reasons[i].bits ? REPORT_YES
									    : REPORT_UNDECIDED);
	}
}

static void clocks_are_well_when_all_samples_of_five_minutes_say_so(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		set_up(state);
		device.condition.clocks_event_reasons = reasons[i].bit;
		sample_after(0);
		expect_verdict(reasons[i].bits, REPORT_YES, SLOW_MS);
		device.condition.clocks_event_reasons = 0;
		expect_verdict(reasons[i].bits, REPORT_YES, 1);
		expect_verdict(reasons[i].bits, REPORT_YES, FAST_MS - 1);
		expect_verdict(reasons[i].bits, REPORT_NO, 1);
	}
}

/* Temperature goes up and down: each sample that differs begins the minute anew. */
static void clocks_that_are_slow_now_and_then_change_no_verdict(void **state)
{
	(void)state;
	for (int verdict = REPORT_UNDECIDED; verdict <= REPORT_NO; verdict++) {
		history.devices[0].thermal.verdict = verdict;
		memcpy(history.devices[0].uuid, "GPU-a", 6);
		for (int i = 0; i < 100; i++) {
			device.condition.clocks_event_reasons = i % 4 == 3 ? 0 : 0x40;
			expect_verdict(REPORT_CLOCKS_THERMAL, verdict, 15000);
		}
	}
}

static void a_sample_that_cannot_be_read_begins_the_minute_anew(void **state)
{
	(void)state;
	device.condition.clocks_event_reasons = 0x80;
	sample_after(0);
	device.condition.clocks_event_reasons = -1;
	expect_verdict(REPORT_CLOCKS_POWER_BRAKE, REPORT_UNDECIDED, 30000);
	device.condition.clocks_event_reasons = 0x80;
	expect_verdict(REPORT_CLOCKS_POWER_BRAKE, REPORT_UNDECIDED, 30000);
	expect_verdict(REPORT_CLOCKS_POWER_BRAKE, REPORT_YES, 60000);
	/* What is decided stays so. */
	device.condition.clocks_event_reasons = -1;
	expect_verdict(REPORT_CLOCKS_POWER_BRAKE, REPORT_YES, 3600000);
}

static void samples_that_are_far_apart_do_not_count_together(void **state)
{
	static const struct {
		uint64_t gap_ms;
		int slow, narrow;
	} rows[] = {
		{REPORT_ACTIVITY_GAP_MS, REPORT_YES, REPORT_UNDECIDED},
		{REPORT_ACTIVITY_GAP_MS + 1, REPORT_UNDECIDED, REPORT_UNDECIDED},
		{NARROW_MS, REPORT_UNDECIDED, REPORT_UNDECIDED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		device.condition.clocks_event_reasons = 0x40;
		device.condition.pcie_lanes = (struct report_links){true, 16, 8};
		sample_once_after(0);
		sample_once_after(rows[i].gap_ms);
		if (device.condition.slowdown.thermal != rows[i].slow ||
		    device.condition.pcie_degraded != rows[i].narrow)
			fail_msg("row %zu", i);
		/* It counts from there on. */
		sample_after(NARROW_MS);
		assert_int_equal(device.condition.slowdown.thermal, REPORT_YES);
		assert_int_equal(device.condition.pcie_degraded, REPORT_YES);
	}
}

static int width(int64_t active, uint64_t ms)
{
	device.condition.pcie_lanes = (struct report_links){active > 0, 16, active};
	return sample_after(ms)->pcie_degraded;
}

static void a_pcie_link_is_degraded_when_it_was_narrow_for_five_minutes(void **state)
{
	(void)state;
	assert_int_equal(width(0, 0), REPORT_UNDECIDED);
	assert_int_equal(width(8, 1), REPORT_UNDECIDED);
	assert_int_equal(width(4, NARROW_MS - 1), REPORT_UNDECIDED);
	assert_int_equal(width(8, 1), REPORT_YES);
	assert_int_equal(width(0, 1), REPORT_YES);
	assert_int_equal(width(16, 1), REPORT_NO);
	assert_int_equal(width(8, 1), REPORT_NO);
	assert_int_equal(width(16, NARROW_MS), REPORT_NO);
}

static int generation(int64_t current, bool busy, uint64_t ms)
{
	device.condition.pcie_generation =
		(struct report_pcie_generation){current > 0, busy, 5, current};
	return sample_after(ms)->pcie_degraded;
}

static void a_pcie_link_is_degraded_when_it_was_slow_for_five_minutes_of_work(void **state)
{
	(void)state;
	device.condition.pcie_lanes = (struct report_links){true, 16, 16};
	/* Idle, it says nothing of the generation, so nothing of the link. */
	assert_int_equal(generation(1, false, 0), REPORT_UNDECIDED);
	assert_int_equal(generation(1, false, NARROW_MS), REPORT_UNDECIDED);
	assert_int_equal(generation(1, true, 1), REPORT_UNDECIDED);
	/* A pause begins the time anew. */
	assert_int_equal(generation(1, false, NARROW_MS - 1), REPORT_UNDECIDED);
	assert_int_equal(generation(1, true, 1), REPORT_UNDECIDED);
	assert_int_equal(generation(4, true, NARROW_MS - 1), REPORT_UNDECIDED);
	assert_int_equal(generation(4, true, 1), REPORT_YES);
	/* Neither a pause nor what cannot be read clears it. */
	assert_int_equal(generation(5, false, NARROW_MS), REPORT_YES);
	assert_int_equal(generation(0, false, NARROW_MS), REPORT_YES);
	assert_int_equal(generation(5, true, 1), REPORT_NO);
	assert_int_equal(generation(1, false, NARROW_MS), REPORT_NO);
}

static void a_pcie_link_is_degraded_when_it_is_narrow_or_slow(void **state)
{
	static const struct {
		int64_t lanes, generation;
		int verdict;
	} rows[] = {
		{16, 5, REPORT_NO}, {8, 5, REPORT_YES}, {16, 4, REPORT_YES}, {8, 4, REPORT_YES},
		{16, 0, REPORT_NO}, {8, 0, REPORT_YES}, {0, 4, REPORT_YES}, {0, 0, REPORT_UNDECIDED},
		/* Its lanes are not known. */
		{0, 5, REPORT_UNDECIDED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		device.condition.pcie_lanes = (struct report_links){
			rows[i].lanes > 0, 16, rows[i].lanes};
		generation(rows[i].generation, true, 0);
		if (generation(rows[i].generation, true, NARROW_MS) != rows[i].verdict)
			fail_msg("row %zu", i);
	}
}

static int links(int64_t active)
{
	device.condition.nvlinks = (struct report_links){active >= 0, 12, active};
	return sample_after(15000)->nvlinks_down;
}

static void links_are_down_when_fewer_are_active_than_were_seen(void **state)
{
	static const struct {
		unsigned samples;
		struct {
			int64_t active;
			int down;
		} of[6];
	} rows[] = {
		{4, {{12, REPORT_NO}, {11, REPORT_YES}, {-1, REPORT_YES}, {12, REPORT_NO}}},
		/* Four links lead somewhere. */
		{5, {{4, REPORT_UNDECIDED}, {3, REPORT_YES}, {4, REPORT_NO}, {6, REPORT_NO}, {4, REPORT_YES}}},
		/* The agent started while some were down. */
		{3, {{-1, REPORT_UNDECIDED}, {10, REPORT_UNDECIDED}, {12, REPORT_NO}}},
		{2, {{0, REPORT_UNDECIDED}, {0, REPORT_UNDECIDED}}},
		/* One comes back, and the others lead nowhere. */
		{4, {{9, REPORT_UNDECIDED}, {9, REPORT_UNDECIDED}, {10, REPORT_NO}, {9, REPORT_YES}}},
		{3, {{9, REPORT_UNDECIDED}, {-1, REPORT_UNDECIDED}, {10, REPORT_NO}}},
		{4, {{9, REPORT_UNDECIDED}, {8, REPORT_YES}, {9, REPORT_NO}, {10, REPORT_NO}}},
		{2, {{0, REPORT_UNDECIDED}, {4, REPORT_NO}}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		for (unsigned k = 0; k < rows[i].samples; k++)
			if (links(rows[i].of[k].active) != rows[i].of[k].down)
				fail_msg("row %zu, sample %u", i, k);
	}
}

static void links_are_not_judged_in_mig_mode_and_counted_anew_after_it(void **state)
{
	(void)state;
	links(12);
	device.mig = (struct report_mig){.present = true, .current = true};
	assert_int_equal(links(0), REPORT_NO);
	device.mig.current = false;
	/* They come back one after another; not all of them lead somewhere now. */
	assert_int_equal(links(4), REPORT_NO);
	assert_int_equal(links(10), REPORT_NO);
	assert_int_equal(links(9), REPORT_YES);
	/* What was decided before is over. */
	device.mig.current = true;
	assert_int_equal(links(0), REPORT_NO);
	assert_int_equal(links(-1), REPORT_NO);
	device.mig.current = false;
	assert_int_equal(links(9), REPORT_NO);
	assert_int_equal(links(8), REPORT_YES);
}

/* The volatile counts of each sample; -1: unread. */
static void a_counter_that_goes_down_tells_of_a_reset_after_the_sample_before(void **state)
{
	static const struct {
		int64_t counts[6];
		int samples, reset_at; /* the sample after which it was; -1: none is told */
	} rows[] = {
		{{14, 14, 0}, 3, -1},
		{{14, 14, 0, 0}, 4, 1},
		{{14, 14, 3, 5}, 4, 1},
		{{14, 15, 16, 16}, 4, -1},
		{{0, 0, 0, 0}, 4, -1},
		{{14, 14, -1, 0, 0}, 5, -1},
		{{14, -1, 14, 14, 0, 0}, 6, 3},
		{{14, 14, 0, -1, 0}, 5, 1},
		/* Rubbish that is told once. */
		{{14, 14, 0, 14}, 4, -1},
		{{14, 14, 0, 14, 0, 14}, 6, -1},
		{{14, 14, 0, 14, 0, 0}, 6, 3},
		{{14, 4000000000, 14, 14}, 4, -1},
		{{0, 4000000000, 0, 0}, 4, -1},
		{{14, 14, 4000000000, 4000000000, 14, 14}, 6, 3},
		{{-1, -1, -1}, 3, -1},
		{{5, 5, 0, 0, 0}, 5, 1},
	};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		int64_t times[6] = {0};
		set_up(state);
		for (int k = 0; k < rows[i / 2].samples; k++) {
			const int64_t count = rows[i / 2].counts[k];
			device.condition.ecc_volatile = (struct report_error_counts){
				i % 2 ? count : 0, i % 2 ? 0 : count};
			device.condition.reset_time = 0; /* as it is read */
			device.condition.reset_uptime_ms = 0;
			sample_after(15000);
			times[k] = (int64_t)clock_ms;
		}
		const int at = rows[i / 2].reset_at;
		if (device.condition.reset_time != (at < 0 ? 0 : WALL + times[at]) ||
		    device.condition.reset_uptime_ms != (at < 0 ? 0 : times[at]))
			fail_msg("row %zu: %lld", i, (long long)device.condition.reset_time);
	}
}

static int64_t reset_by_counts(const int64_t counts[4], void (*between)(void))
{
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			between();
		device.condition.ecc_volatile = (struct report_error_counts){counts[i], counts[i]};
		device.condition.reset_time = device.condition.reset_uptime_ms = 0;
		sample_after(15000);
	}
	return device.condition.reset_time;
}

static void go_on(void) {}

static void change_mig_mode(void)
{
	device.mig.current = !device.mig.current;
}

static void leave_nvml(void)
{
	condition_history_forget_counts(&history);
}

static void counts_are_not_compared_over_a_change_of_mig_mode_or_a_new_session(void **state)
{
	const int64_t falling[] = {5, 5, 0, 0};
	static void (*const betweens[])(void) = {change_mig_mode, leave_nvml};
	assert_true(reset_by_counts(falling, go_on) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(betweens); i++) {
		set_up(state);
		assert_int_equal(reset_by_counts(falling, betweens[i]), 0);
		/* From then on they are. */
		assert_true(reset_by_counts(falling, go_on) > 0);
	}
}

static void a_reset_that_was_told_stays_told_in_a_new_session(void **state)
{
	(void)state;
	const int64_t told = reset_by_counts((const int64_t[]){5, 5, 0, 0}, go_on);
	leave_nvml();
	assert_int_equal(reset_by_counts((const int64_t[]){0, 0, 0, 0}, go_on), told);
}

static void a_reset_that_the_reader_saw_is_kept(void **state)
{
	(void)state;
	device.condition.reset_time = WALL + 77;
	device.condition.reset_uptime_ms = 77;
	sample_after(0);
	device.condition.reset_time = device.condition.reset_uptime_ms = 0;
	assert_int_equal(sample_after(15000)->reset_time, WALL + 77);
	assert_int_equal(device.condition.reset_uptime_ms, 77);
}

/* Its time since boot does not. */
static void the_time_of_a_reset_follows_a_clock_that_is_set(void **state)
{
	enum {HOUR = 3600000};
	for (int is_read = 0; is_read < 2; is_read++) {
		set_up(state);
		device.condition.ecc_volatile.corrected = 9;
		sample_after(0);
		sample_after(15000);
		const int64_t uptime = (int64_t)clock_ms, at = WALL + uptime;
		device.condition.ecc_volatile.corrected = is_read ? 9 : 0;
		for (int k = 0; k < 6; k++) {
			/* An hour back, then by less than is worth to be told, then on again. */
			static const int64_t set_by[] = {0, 0, -HOUR, -HOUR + 1500, -HOUR, HOUR};
			static const int64_t moved[] = {0, 0, -HOUR, -HOUR, -HOUR, HOUR};
			wall_ms = WALL + set_by[k];
			device.condition.reset_time = is_read ? at : 0;
			device.condition.reset_uptime_ms = is_read ? uptime : 0;
			device.condition.lost = k == 4;
			sample_after(15000);
			if (device.condition.reset_time != (k == 0 && !is_read ? 0 : at + moved[k]))
				fail_msg("%d, sample %d: %lld", is_read, k,
					 (long long)(device.condition.reset_time - at));
			assert_int_equal(device.condition.reset_uptime_ms,
					 k == 0 && !is_read ? 0 : uptime);
		}
	}
}

static void a_reset_that_the_reader_saw_before_the_clock_was_set_is_told_by_the_clock_as_it_is(void **state)
{
	enum {HOUR = 3600000};
	(void)state;
	sample_after(0);
	device.condition.reset_time = WALL + (int64_t)clock_ms;
	device.condition.reset_uptime_ms = (int64_t)clock_ms;
	wall_ms += HOUR;
	sample_after(15000);
	assert_int_equal(device.condition.reset_time, WALL + HOUR + (int64_t)clock_ms - 15000);
	assert_int_equal(device.condition.reset_uptime_ms, clock_ms - 15000);
}

/* It is told as it was when it was read last. */
static void a_lost_device_tells_nothing_new(void **state)
{
	(void)state;
	device.condition.clocks_event_reasons = 0x40;
	device.condition.ecc_volatile.corrected = 5;
	sample_after(0);
	sample_after(30000);
	device.condition.lost = true;
	device.condition.ecc_volatile.corrected = 0;
	device.condition.nvlinks = (struct report_links){true, 12, 0};
	sample_after(30000);
	assert_int_equal(device.condition.slowdown.thermal, REPORT_UNDECIDED);
	assert_int_equal(device.condition.reset_time, 0);
	device.condition.lost = false;
	device.condition.ecc_volatile.corrected = 5;
	sample_after(1);
	assert_int_equal(device.condition.slowdown.thermal, REPORT_UNDECIDED);
	assert_int_equal(device.condition.reset_time, 0);
}

static char names[2 * LIMIT_REPORT_DEVICES][16];
static struct report_device many[2 * LIMIT_REPORT_DEVICES];

/* As many samples of half of them, from the first one on, with a temperature that is too high. */
static void sample_half(size_t first)
{
	for (size_t i = 0; i < 2 * LIMIT_REPORT_DEVICES; i++) {
		snprintf(names[i], sizeof(names[i]), "GPU-%zu", i);
		many[i].uuid = view_from(names[i]);
		many[i].condition = (struct report_condition){.clocks_event_reasons = 0x40};
	}
	clock_ms += SLOW_MS;
	condition_history_judge(&history, clock_ms, WALL,
				(struct array){many + first, LIMIT_REPORT_DEVICES, true});
}

static void a_device_that_is_gone_makes_room_for_another_one(void **state)
{
	(void)state;
	static const size_t halves[] = {0, LIMIT_REPORT_DEVICES, LIMIT_REPORT_DEVICES / 2, 0};
	for (size_t k = 0; k < ARRAY_SIZE(halves); k++) {
		sample_half(halves[k]);
		sample_half(halves[k]);
		for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++)
			assert_int_equal(many[halves[k] + i].condition.slowdown.thermal, REPORT_YES);
	}
}

static void each_device_has_a_history_of_its_own_whatever_its_index(void **state)
{
	(void)state;
	struct report_device two[2] = {
		{.uuid = VIEW("GPU-a"), .condition.clocks_event_reasons = 0x40},
		{.uuid = VIEW("GPU-b"), .condition.clocks_event_reasons = 0},
	};
	condition_history_judge(&history, 0, WALL, (struct array){two, 2, true});
	const struct report_device first = two[0];
	two[0] = two[1];
	two[1] = first;
	condition_history_judge(&history, SLOW_MS, WALL,
				(struct array){two, 2, true});
	assert_int_equal(two[0].condition.slowdown.thermal, REPORT_UNDECIDED);
	assert_int_equal(two[1].condition.slowdown.thermal, REPORT_YES);
}

static void a_device_without_a_name_that_can_be_reported_has_no_history(void **state)
{
	(void)state;
	char long_name[LIMIT_TEXT_UUID + 1];
	memset(long_name, 'x', sizeof(long_name));
	const struct view rows[] = {VIEW(""), {long_name, sizeof(long_name)}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		device.uuid = rows[i];
		device.condition.clocks_event_reasons = 0x40;
		sample_after(0);
		sample_after(SLOW_MS);
		assert_int_equal(device.condition.slowdown.thermal, REPORT_UNDECIDED);
	}
	static const struct condition_history nothing;
	assert_memory_equal(history.devices, nothing.devices, sizeof(history.devices));
}

static void what_fails_now_and_then_counts_as_read_for_two_minutes(void **state)
{
	(void)state;
	struct report_condition *c = &device.condition;
	*c = (struct report_condition){.present = true, .ecc_volatile = {-1, -1}};
	assert_int_equal(sample_after(0)->parts_read, 0);
	c->remapped_rows.present = true;
	for (unsigned i = 0; i < 20; i++) {
		c->ecc_volatile.uncorrected = i % 2 ? 0 : -1;
		assert_int_equal(sample_after(15000)->parts_read,
				 REPORT_PART_ROWS | (i > 0 ? REPORT_PART_ECC : 0));
	}
	c->ecc_volatile.uncorrected = -1;
	assert_int_equal(sample_after(REPORT_ACTIVITY_GAP_MS)->parts_read,
			 REPORT_PART_ROWS | REPORT_PART_ECC);
	assert_int_equal(sample_after(1)->parts_read, REPORT_PART_ROWS);
	c->pcie_lanes.present = c->slowdown.present = true;
	c->recovery = REPORT_RECOVERY_NONE;
	assert_int_equal(sample_after(1)->parts_read, REPORT_PART_FIRST & ~REPORT_PART_ECC);
}

/* Controllers of before refuse a report with more than the first parts in that member. */
static void each_kind_of_link_counts_as_read_for_two_minutes_in_a_member_of_its_own(void **state)
{
	(void)state;
	struct report_condition *c = &device.condition;
	*c = (struct report_condition){.present = true, .ecc_volatile = {-1, -1}};
	assert_int_equal(sample_after(0)->further_parts_read, 0);
	c->nvlinks.present = true;
	c->fabric = REPORT_FABRIC_COMPLETED;
	assert_int_equal(sample_after(1)->further_parts_read,
			 REPORT_PART_NVLINK | REPORT_PART_FABRIC);
	assert_int_equal(c->parts_read, REPORT_PART_LINKS);
	c->nvlinks.present = false;
	c->pcie_lanes.present = true;
	sample_after(60000);
	assert_int_equal(sample_after(60000)->further_parts_read,
			 REPORT_PART_NVLINK | REPORT_PART_FABRIC | REPORT_PART_PCIE);
	assert_int_equal(sample_after(1)->further_parts_read, REPORT_PART_FABRIC | REPORT_PART_PCIE);
	assert_int_equal(c->parts_read, REPORT_PART_LINKS);
}

/* The library's answer may be another one now and then. */
static void that_rows_are_not_supported_counts_for_two_minutes_and_in_one_mig_mode(void **state)
{
	(void)state;
	struct report_condition *c = &device.condition;
	*c = (struct report_condition){.present = true, .ecc_volatile = {-1, -1}};
	device.mig.current = true;
	assert_false(sample_after(0)->rows_unsupported);
	c->rows_unsupported = true;
	assert_true(sample_after(1)->rows_unsupported);
	c->rows_unsupported = false;
	assert_true(sample_after(60000)->rows_unsupported);
	c->rows_unsupported = false;
	assert_true(sample_after(60000)->rows_unsupported);
	c->rows_unsupported = false;
	assert_false(sample_after(1)->rows_unsupported);
	c->rows_unsupported = true;
	assert_true(sample_after(1)->rows_unsupported);
	device.mig.current = c->rows_unsupported = false;
	assert_false(sample_after(1)->rows_unsupported);
}

static void what_was_read_in_the_other_mig_mode_does_not_count_as_read(void **state)
{
	(void)state;
	struct report_condition *c = &device.condition;
	*c = (struct report_condition){.present = true, .ecc_volatile = {-1, -1}};
	c->remapped_rows.present = true;
	assert_int_equal(sample_after(0)->parts_read, REPORT_PART_ROWS);
	c->remapped_rows.present = false;
	c->slowdown.present = true;
	device.mig.current = true;
	assert_int_equal(sample_after(1)->parts_read, REPORT_PART_SLOWDOWN);
	c->slowdown.present = false;
	assert_int_equal(sample_after(1)->parts_read, REPORT_PART_SLOWDOWN);
	device.mig.current = false;
	assert_int_equal(sample_after(1)->parts_read, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(clocks_are_slow_when_all_samples_of_a_minute_say_so, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		clocks_are_well_when_all_samples_of_five_minutes_say_so, set_up, NULL),
	cmocka_unit_test_setup_teardown(clocks_that_are_slow_now_and_then_change_no_verdict, set_up, NULL),
	cmocka_unit_test_setup_teardown(a_sample_that_cannot_be_read_begins_the_minute_anew, set_up, NULL),
	cmocka_unit_test_setup_teardown(samples_that_are_far_apart_do_not_count_together, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_pcie_link_is_degraded_when_it_was_narrow_for_five_minutes, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_pcie_link_is_degraded_when_it_was_slow_for_five_minutes_of_work, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_pcie_link_is_degraded_when_it_is_narrow_or_slow, set_up, NULL),
	cmocka_unit_test_setup_teardown(links_are_down_when_fewer_are_active_than_were_seen, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		links_are_not_judged_in_mig_mode_and_counted_anew_after_it, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_counter_that_goes_down_tells_of_a_reset_after_the_sample_before, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		counts_are_not_compared_over_a_change_of_mig_mode_or_a_new_session, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_reset_that_was_told_stays_told_in_a_new_session, set_up, NULL),
	cmocka_unit_test_setup_teardown(a_reset_that_the_reader_saw_is_kept, set_up, NULL),
	cmocka_unit_test_setup_teardown(the_time_of_a_reset_follows_a_clock_that_is_set, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_reset_that_the_reader_saw_before_the_clock_was_set_is_told_by_the_clock_as_it_is,
		set_up, NULL),
	cmocka_unit_test_setup_teardown(
		what_fails_now_and_then_counts_as_read_for_two_minutes, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		each_kind_of_link_counts_as_read_for_two_minutes_in_a_member_of_its_own, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		that_rows_are_not_supported_counts_for_two_minutes_and_in_one_mig_mode, set_up, NULL),
	cmocka_unit_test_setup_teardown(what_was_read_in_the_other_mig_mode_does_not_count_as_read, set_up,
					NULL),
	cmocka_unit_test_setup_teardown(a_lost_device_tells_nothing_new, set_up, NULL),
	cmocka_unit_test_setup_teardown(a_device_that_is_gone_makes_room_for_another_one, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		each_device_has_a_history_of_its_own_whatever_its_index, set_up, NULL),
	cmocka_unit_test_setup_teardown(
		a_device_without_a_name_that_can_be_reported_has_no_history, set_up, NULL),
};

TEST_MAIN(tests)
