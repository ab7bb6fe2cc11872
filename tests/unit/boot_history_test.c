/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "model/boot_history.h"

#define BOOTED_AT INT64_C(1700000000000)
#define SAMPLE_MS 15000
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"

static struct boot_history history;
static struct report report;
static struct report_device devices[2];
static int64_t uptime_ms;
static int64_t calm; /* beyond so many errors the driver asks for a reset */

static int set_up(void **state)
{
	(void)state;
	history = (struct boot_history){0};
	uptime_ms = 1000000;
	calm = 0;
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		devices[i] = (struct report_device){
			.uuid = i == 0 ? VIEW(UUID) : VIEW("GPU-2"), .condition.present = true};
	report = (struct report){
		.boot_id = VIEW("boot"),
		.sources.nvml.state = REPORT_SOURCE_OK,
		.devices = {devices, ARRAY_SIZE(devices), true},
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	boot_history_forget(&history);
	return 0;
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static int64_t reset_of(const char *uuid)
{
	return boot_history_find(&history, view_from(uuid)).reset_uptime_ms;
}

/* The driver is read now, and what it says is reported a second later. */
static void read_driver(void)
{
	uptime_ms += SAMPLE_MS;
	report.sources.nvml.observed_at = BOOTED_AT + uptime_ms;
	report.observed_at = BOOTED_AT + uptime_ms + 1000;
	report.uptime_ms = uptime_ms + 1000;
}

static bool hear(void)
{
	return boot_history_hear(&history, &report, NULL);
}

/* The same evidence, with other figures. */
static bool hear_heartbeat(int64_t corrected)
{
	const int64_t reported = devices[0].condition.ecc_volatile.corrected;
	struct figures *figures;
	struct error err;

	devices[0].condition.ecc_volatile.corrected = corrected;
	assert_int_equal(figures_new(&report, &figures, &err), 0);
	devices[0].condition.ecc_volatile.corrected = reported;
	const bool is_news = boot_history_hear(&history, &report, figures);
	figures_free(figures);
	return is_news;
}

static void count(int64_t corrected, int64_t uncorrected)
{
	devices[0].condition.ecc_volatile =
		(struct report_error_counts){.corrected = corrected, .uncorrected = uncorrected};
	devices[0].condition.recovery = corrected > calm || uncorrected > calm ? REPORT_RECOVERY_RESET
									      : REPORT_RECOVERY_NONE;
}

static bool read_counts(int64_t corrected, int64_t uncorrected)
{
	count(corrected, uncorrected);
	read_driver();
	return hear();
}

/* -1: unread. */
TEST(counts_that_go_down_tell_of_a_reset_after_the_last_higher_reading)
{
	static const struct {
		int64_t counts[6];
		int readings, reset_at; /* the reading after which it was; -1: none is told */
		int64_t calm;
	} rows[] = {
		{{14, 14, 0}, 3, -1},
		{{14, 14, 0, 0}, 4, 1},
		{{1, 1, 0, 0}, 4, 1},
		{{14, 14, 3, 5}, 4, 1, 5},
		{{14, 15, 14, 14}, 4, -1},
		{{14, 15, 0, 0}, 4, 1},
		{{14, 15, 16, 16}, 4, -1},
		{{0, 0, 0, 0}, 4, -1},
		{{0, 14, 0, 0}, 4, -1},
		/* What is not told is not lower, and says nothing of what was before. */
		{{14, 14, -1, -1}, 4, -1},
		{{14, 14, -1, 0, 0}, 5, 1},
		{{14, -1, 14, -1, 0, 0}, 6, 2},
		{{14, 14, 0, -1, 0}, 5, 1},
		{{-1, -1, -1, 0, 0}, 5, -1},
		/* Rubbish that is told once. */
		{{14, 14, 0, 14}, 4, -1},
		{{14, 14, 0, 14, 0, 14}, 6, -1},
		{{14, 14, 0, 14, 0, 0}, 6, 3},
		{{14, 4000000000, 14, 14}, 4, -1},
		{{0, 4000000000, 0, 0}, 4, -1},
		/* It is reset once more. */
		{{14, 14, 0, 0, 0, 0}, 6, 1},
		{{14, 14, 3, 3, 0, 0}, 6, 1, 3},
		/* Two higher readings before it, and no fewer. */
		{{10, 10, 3, 1, 0, 0}, 6, 1, 3},
		{{10, 10, 0, 7, 0, 0}, 6, 1, 7},
		/* The driver asks for a reset still, or never did. */
		{{14, 14, 3, 5}, 4, -1, 3},
		{{14, 14, 0, 0}, 4, -1, 14},
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		int64_t times[6] = {0};

		start_anew();
		calm = rows[i / 2].calm;
		for (int k = 0; k < rows[i / 2].readings; k++) {
			const int64_t known = reset_of(UUID);
			const bool is_news = read_counts(i % 2 ? rows[i / 2].counts[k] : 0,
							 i % 2 ? 0 : rows[i / 2].counts[k]);

			assert_int_equal(is_news, reset_of(UUID) != known);
			times[k] = uptime_ms;
		}
		if (reset_of(UUID) !=
		    (rows[i / 2].reset_at < 0 ? 0 : times[rows[i / 2].reset_at]))
			fail_msg("row %zu: %lld", i / 2, (long long)reset_of(UUID));
		assert_int_equal(reset_of("GPU-2"), 0);
	}
	assert_int_equal(boot_history_find(NULL, VIEW(UUID)).reset_uptime_ms, 0);
}

/* Reports come as often as anything changes, and the driver may be read seldom, or fail. */
TEST(a_reading_counts_once_however_often_it_is_reported)
{
	read_counts(0, 2);
	hear();
	report.uptime_ms += 5000;
	report.observed_at += 5000;
	hear();
	read_counts(0, 0);
	assert_false(read_counts(0, 0)); /* only one was higher */
	start_anew();
	read_counts(0, 2);
	read_counts(0, 2);
	const int64_t higher = uptime_ms;
	read_counts(0, 0);
	assert_false(hear());
	assert_false(hear_heartbeat(0));
	read_driver();
	assert_true(hear());
	assert_int_equal(reset_of(UUID), higher);
}

/* They have the same evidence as the report, but for corrected errors. */
TEST(heartbeats_tell_of_a_reset_too)
{
	count(0, 3);
	for (int i = 0; i < 4; i++) {
		read_driver();
		assert_false(i == 0 ? hear() : hear_heartbeat(0));
	}
	const int64_t higher = uptime_ms;
	read_counts(0, 0);
	read_driver();
	assert_true(hear_heartbeat(0));
	assert_int_equal(reset_of(UUID), higher);
	start_anew();
	calm = -1; /* it asks for another reason */
	read_counts(0, 0);
	for (int i = 0; i < 2; i++) {
		read_driver();
		assert_false(hear_heartbeat(7));
	}
	calm = 0;
	read_counts(0, 0);
	read_driver();
	assert_true(hear_heartbeat(0));
	assert_int_equal(reset_of(UUID), uptime_ms - 2 * SAMPLE_MS);
}

TEST(each_reset_must_have_been_asked_for_in_whatever_way)
{
	static const int asked[] = {REPORT_RECOVERY_RESET, REPORT_RECOVERY_DRAIN_AND_RESET,
				    REPORT_RECOVERY_NONE, REPORT_RECOVERY_REBOOT};

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		start_anew();
		for (int k = 0; k < 2; k++) {
			count(0, 5);
			devices[0].condition.recovery = asked[i];
			read_driver();
			hear();
		}
		read_counts(0, 0);
		assert_int_equal(read_counts(0, 0), i < 2);
		calm = 9; /* counts that are cleared are no reset, though there was one before */
		read_counts(0, 7);
		read_counts(0, 7);
		read_counts(0, 0);
		assert_false(read_counts(0, 0));
	}
	start_anew();
	read_counts(0, 5);
	read_counts(0, 5);
	calm = 9; /* it asks no more, though nothing was reset: what comes later is another matter */
	read_counts(0, 5);
	read_counts(0, 0);
	assert_false(read_counts(0, 0));
	start_anew();
	calm = 9;
	read_counts(0, 5);
	read_counts(0, 5);
	devices[0].condition.reset_required = true; /* and it answers nothing else */
	read_counts(0, 5);
	devices[0].condition.reset_required = false;
	read_counts(0, 0);
	assert_true(read_counts(0, 0));
}

TEST(counts_of_another_mig_mode_are_not_compared)
{
	read_counts(0, 5);
	read_counts(0, 5);
	devices[0].mig.current = true;
	read_counts(0, 0);
	assert_false(read_counts(0, 0));
	assert_false(read_counts(0, 0));
}

/* Each after two readings of 5 errors, and before one of none. */
TEST(what_is_no_reading_of_the_device_counts_for_nothing)
{
	enum {
		LOST, RESET_REQUIRED, NOT_PRESENT, NOT_LISTED, NVML_FAILS, CLOCK_SET_BACK, NO_UPTIME, BOOT_UNKNOWN,
		READ_BEFORE_BOOT, NOTHING_OF_THAT, N_CASES
	};

	for (int i = 0; i < N_CASES; i++) {
		start_anew();
		read_counts(0, 5);
		read_counts(0, 5);
		count(0, 0);
		read_driver();
		devices[0].condition.lost = i == LOST;
		devices[0].condition.reset_required = i == RESET_REQUIRED;
		devices[0].condition.present = i != NOT_PRESENT;
		report.devices.count = i == NOT_LISTED ? 0 : 2;
		report.sources.nvml.state = i == NVML_FAILS ? REPORT_SOURCE_ERROR : REPORT_SOURCE_OK;
		report.observed_at -= i == CLOCK_SET_BACK ? 1001 : 0;
		report.sources.nvml.observed_at -= i == READ_BEFORE_BOOT ? uptime_ms : 0;
		if (i == NO_UPTIME)
			report.uptime_ms = 0;
		if (i == BOOT_UNKNOWN)
			report.boot_id = (struct view){0};
		assert_false(hear());
		devices[0].condition.lost = devices[0].condition.reset_required = false;
		devices[0].condition.present = true;
		report.devices.count = 2;
		report.sources.nvml.state = REPORT_SOURCE_OK;
		report.boot_id = VIEW("boot");
		if (read_counts(0, 0) != (i == NOTHING_OF_THAT))
			fail_msg("case %d", i);
		assert_true(i == NOTHING_OF_THAT || read_counts(0, 0));
	}
}

TEST(what_was_forgotten_tells_of_no_reset)
{
	read_counts(0, 5);
	read_counts(0, 5);
	boot_history_forget(&history);
	read_counts(0, 0);
	assert_false(read_counts(0, 0));
	read_counts(0, 5);
	read_counts(0, 5);
	read_counts(0, 0);
	assert_true(read_counts(0, 0));
	boot_history_forget(&history);
	assert_int_equal(reset_of(UUID), 0);
}

static char names[LIMIT_REPORT_DEVICES + 1][16];
static struct report_device many[LIMIT_REPORT_DEVICES + 1];

static void read_many(int64_t uncorrected)
{
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many[i].condition.ecc_volatile.uncorrected = uncorrected;
		many[i].condition.recovery = uncorrected ? REPORT_RECOVERY_RESET : REPORT_RECOVERY_NONE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(many); i += LIMIT_REPORT_DEVICES) {
		report.devices = (struct array){&many[i], i ? 1 : LIMIT_REPORT_DEVICES, true};
		read_driver();
		hear();
	}
}

TEST(as_many_devices_with_errors_are_kept_as_a_report_has)
{
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(names[i], sizeof(names[i]), "GPU-%zu", i);
		many[i] = (struct report_device){.uuid = view_from(names[i]),
						 .condition.present = true};
	}
	for (int k = 0; k < 4; k++)
		read_many(k < 2 ? 5 : 0);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		assert_int_equal(reset_of(names[i]) > 0, i < LIMIT_REPORT_DEVICES);
}

TEST(nothing_is_kept_of_devices_without_errors_or_with_a_name_that_is_too_long)
{
	char name[LIMIT_TEXT_UUID + 2] = {0};

	failing_malloc_at(1);
	read_counts(0, 0);
	read_counts(-1, -1);
	assert_int_equal(failing_malloc_count(), 0);
	memset(name, 'x', LIMIT_TEXT_UUID + 1);
	devices[0].uuid = view_from(name);
	read_counts(5, 5);
	assert_false(failing_malloc_off());
	name[LIMIT_TEXT_UUID] = '\0';
	devices[0].uuid = view_from(name);
	for (int i = 0; i < 4; i++)
		read_counts(i < 2 ? 5 : 0, 0);
	assert_true(reset_of(name) > 0);
}

TEST(without_memory_a_reset_is_not_seen_and_nothing_else_happens)
{
	failing_malloc_at(1);
	assert_false(read_counts(0, 5));
	assert_true(failing_malloc_off());
	read_counts(0, 5);
	read_counts(0, 0);
	assert_false(read_counts(0, 0)); /* only one was kept */
	read_counts(0, 5);
	read_counts(0, 5);
	read_counts(0, 0);
	assert_true(read_counts(0, 0));
}

/* NVLinks */

#define LONG_NAME "GPU-11111111-2222-3333-4444-555555555555-that-is-longer-than-any-UUID-may-be"

static int64_t links_of(const char *uuid)
{
	return boot_history_find(&history, view_from(uuid)).most_nvlinks;
}

/* Of the first device; -1: no count can be read. */
static int64_t most_after(int64_t active)
{
	devices[0].condition.nvlinks = (struct report_links){active >= 0, 18, active >= 0 ? active : 99};
	hear();
	return links_of(UUID);
}

TEST(the_most_links_of_all_reports_are_known)
{
	assert_int_equal(most_after(-1), 0);
	assert_int_equal(most_after(0), 0);
	assert_int_equal(most_after(10), 10);
	assert_int_equal(most_after(12), 12);
	assert_int_equal(most_after(11), 12);
	assert_int_equal(most_after(-1), 12);
	assert_int_equal(links_of("GPU-2"), 0);
	assert_int_equal(boot_history_find(NULL, VIEW(UUID)).most_nvlinks, 0);
	boot_history_forget(&history);
	assert_int_equal(most_after(11), 11);
}

TEST(each_device_has_links_of_its_own)
{
	devices[1].condition.nvlinks = (struct report_links){true, 18, 4};
	assert_int_equal(most_after(12), 12);
	assert_int_equal(links_of("GPU-2"), 4);
}

TEST(what_a_lost_device_repeats_does_not_count)
{
	devices[0].condition.lost = true;
	assert_int_equal(most_after(12), 0);
	devices[0].condition.lost = false;
	assert_int_equal(most_after(10), 10);
}

TEST(in_mig_mode_none_are_known_and_after_it_they_are_counted_anew)
{
	assert_int_equal(most_after(12), 12);
	devices[0].mig.current = true;
	assert_int_equal(most_after(12), 0);
	devices[0].mig.current = false;
	assert_int_equal(most_after(10), 10);
}

TEST(without_a_boot_or_a_name_that_fits_no_links_are_known)
{
	report.boot_id = (struct view){0};
	assert_int_equal(most_after(12), 0);
	report.boot_id = VIEW("boot");
	devices[0].uuid = VIEW(LONG_NAME);
	assert_int_equal(most_after(12), 0);
	assert_int_equal(links_of(LONG_NAME), 0);
}

TEST(links_of_as_many_devices_as_a_report_has_are_known)
{
	char name[LIMIT_REPORT_DEVICES + 1][16];
	report.devices.count = 1;
	for (unsigned i = 0; i <= LIMIT_REPORT_DEVICES; i++) {
		snprintf(name[i], sizeof(name[i]), "GPU-%u", i);
		devices[0].uuid = view_from(name[i]);
		most_after(12);
		assert_int_equal(links_of(name[i]), i < LIMIT_REPORT_DEVICES ? 12 : 0);
	}
}

TEST(without_memory_no_links_are_known_until_there_is_some)
{
	failing_malloc_at(1);
	assert_int_equal(most_after(12), 0);
	assert_true(failing_malloc_off());
	assert_int_equal(most_after(11), 11);
}

/* Counts are compared from the first error on, whatever was known of the device before. */
TEST(a_device_with_links_is_no_nearer_to_a_reset_than_one_without)
{
	for (int i = 0; i < 2; i++) {
		start_anew();
		devices[0].condition.nvlinks = (struct report_links){i, 18, 12};
		calm = -1;
		read_counts(0, 0); /* asks, and has no errors */
		calm = 9;
		for (int k = 0; k < 2; k++) {
			count(0, 5);
			devices[0].condition.recovery = REPORT_RECOVERY_REBOOT;
			read_driver();
			hear();
		}
		read_counts(0, 0);
		assert_false(read_counts(0, 0));
		assert_int_equal(links_of(UUID), i == 0 ? 0 : 12);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(counts_that_go_down_tell_of_a_reset_after_the_last_higher_reading),
	cmocka_unit_test_set_up(a_reading_counts_once_however_often_it_is_reported),
	cmocka_unit_test_set_up(heartbeats_tell_of_a_reset_too),
	cmocka_unit_test_set_up(each_reset_must_have_been_asked_for_in_whatever_way),
	cmocka_unit_test_set_up(counts_of_another_mig_mode_are_not_compared),
	cmocka_unit_test_set_up(what_is_no_reading_of_the_device_counts_for_nothing),
	cmocka_unit_test_set_up(what_was_forgotten_tells_of_no_reset),
	cmocka_unit_test_set_up(as_many_devices_with_errors_are_kept_as_a_report_has),
	cmocka_unit_test_set_up(nothing_is_kept_of_devices_without_errors_or_with_a_name_that_is_too_long),
	cmocka_unit_test_set_up(without_memory_a_reset_is_not_seen_and_nothing_else_happens),
	cmocka_unit_test_set_up(the_most_links_of_all_reports_are_known),
	cmocka_unit_test_set_up(each_device_has_links_of_its_own),
	cmocka_unit_test_set_up(what_a_lost_device_repeats_does_not_count),
	cmocka_unit_test_set_up(in_mig_mode_none_are_known_and_after_it_they_are_counted_anew),
	cmocka_unit_test_set_up(without_a_boot_or_a_name_that_fits_no_links_are_known),
	cmocka_unit_test_set_up(links_of_as_many_devices_as_a_report_has_are_known),
	cmocka_unit_test_set_up(without_memory_no_links_are_known_until_there_is_some),
	cmocka_unit_test_set_up(a_device_with_links_is_no_nearer_to_a_reset_than_one_without),
};

TEST_MAIN(tests)
