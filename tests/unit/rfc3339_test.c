/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <time.h>

#include "base/prng.h"
#include "wire/rfc3339.h"

static void accepted_forms_give_their_instant(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"1970-01-01t00:00:00z", 0},
		{"1969-12-31T23:59:59.999Z", -1},
		{"2026-01-02T03:04:05Z", 1767323045000},
		{"2026-01-02T03:04:05.6Z", 1767323045600},
		{"2026-01-02T03:04:05.67Z", 1767323045670},
		{"2026-01-02T03:04:05.678Z", 1767323045678},
		{"2026-01-02T03:04:05.678999Z", 1767323045678},
		{"2026-01-02T03:04:05.000000001Z", 1767323045000},
		{"2026-01-02T05:04:05+02:00", 1767323045000},
		{"2026-01-01T21:34:05-05:30", 1767323045000},
		{"2026-01-02T03:04:05-00:00", 1767323045000},
		{"2024-02-29T00:00:00Z", 1709164800000},
		{"2000-02-29T00:00:00Z", 951782400000},
		{"2016-12-31T23:59:60Z", 1483228800000},
		{"0000-01-01T00:00:00Z", -62167219200000},
		{"9999-12-31T23:59:59.999Z", 253402300799999},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ms = 7;
		assert_true(rfc3339_parse(view_from(rows[i].text), &ms));
		assert_true(ms == rows[i].ms);
	}
}

static void other_texts_are_refused_and_leave_the_output(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"2026",
		"2026-01-02",
		"2026-01-02T03:04:05",
		"2026-01-02 03:04:05Z",
		"2026-01-02T03:04Z",
		"2026-1-2T03:04:05Z",
		"26-01-02T03:04:05Z",
		"2026-00-02T03:04:05Z",
		"2026-13-02T03:04:05Z",
		"2026-01-00T03:04:05Z",
		"2026-01-32T03:04:05Z",
		"2026-04-31T03:04:05Z",
		"2026-02-29T03:04:05Z",
		"1900-02-29T03:04:05Z",
		"2026-01-02T24:00:00Z",
		"2026-01-02T03:60:05Z",
		"2026-01-02T03:04:61Z",
		"2026-01-02T03:04:05.Z",
		"2026-01-02T03:04:05.0123456789Z",
		"2026-01-02T03:04:05,5Z",
		"2026-01-02T03:04:05+0200",
		"2026-01-02T03:04:05+2:00",
		"2026-01-02T03:04:05+24:00",
		"2026-01-02T03:04:05+02:60",
		"2026-01-02T03:04:05Zx",
		" 2026-01-02T03:04:05Z",
		"2026-01-02T03:04:05Z ",
		"+026-01-02T03:04:05Z",
		"-026-01-02T03:04:05Z",
		"0000-01-01T00:00:00+00:01",
		"9999-12-31T23:59:59-00:01",
		"9999-12-31T23:59:60Z",
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int64_t ms = 7;
		assert_false(rfc3339_parse(view_from(bad[i]), &ms));
		assert_int_equal(ms, 7);
	}
}

static void every_truncation_is_refused(void **state)
{
	(void)state;
	struct view whole = VIEW("2026-01-02T03:04:05.678+01:00");
	int64_t ms;
	for (size_t len = 0; len < whole.len; len++)
		assert_false(rfc3339_parse((struct view){whole.ptr, len}, &ms));
	assert_true(rfc3339_parse(whole, &ms));
}

static void both_forms_are_written_as_kubernetes_writes_them(void **state)
{
	(void)state;
	char text[RFC3339_SIZE];
	rfc3339_seconds(1767323045678, text);
	assert_string_equal(text, "2026-01-02T03:04:05Z");
	rfc3339_millis(1767323045678, text);
	assert_string_equal(text, "2026-01-02T03:04:05.678Z");
	rfc3339_millis(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999Z");
}

/* The second at which 32 bits with a sign end, that with which they end without, and both around. */
static void the_ends_of_32_bits_are_seconds_like_others(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
		{"1901-12-13T20:45:51Z", -2147483649000},
		{"2038-01-19T03:14:07Z", 2147483647000},
		{"2038-01-19T03:14:08Z", 2147483648000},
		{"2106-02-07T06:28:15Z", 4294967295000},
		{"2106-02-07T06:28:16Z", 4294967296000},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[RFC3339_SIZE];
		int64_t ms = 7;
		assert_true(rfc3339_parse(view_from(rows[i].text), &ms));
		assert_true(ms == rows[i].ms);
		rfc3339_seconds(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
	}
}

static void years_outside_four_digits_are_clamped(void **state)
{
	(void)state;
	char text[RFC3339_SIZE];
	rfc3339_millis(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999Z");
	rfc3339_seconds(INT64_MIN, text);
	assert_string_equal(text, "0000-01-01T00:00:00Z");
}

static void the_calendar_is_the_c_librarys(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 11);
	for (int i = 0; i < 20000; i++) {
		int64_t ms = (int64_t)prng_between(&prng, 0, 253402300799999u + 62167219200000u) -
			     62167219200000;
		char text[RFC3339_SIZE], expected[RFC3339_SIZE];
		int64_t back;
		time_t seconds = (ms >= 0 ? ms : ms - 999) / 1000;
		struct tm tm;
		gmtime_r(&seconds, &tm);
		snprintf(expected, sizeof(expected), "%04u-%02u-%02uT%02u:%02u:%02uZ",
			 (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
			 (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100,
			 (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
		rfc3339_seconds(ms, text);
		assert_string_equal(text, expected);
		rfc3339_millis(ms, text);
		assert_true(rfc3339_parse(view_from(text), &back));
		assert_true(back == ms);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(accepted_forms_give_their_instant),
	cmocka_unit_test(other_texts_are_refused_and_leave_the_output),
	cmocka_unit_test(every_truncation_is_refused),
	cmocka_unit_test(both_forms_are_written_as_kubernetes_writes_them),
	cmocka_unit_test(the_ends_of_32_bits_are_seconds_like_others),
	cmocka_unit_test(years_outside_four_digits_are_clamped),
	cmocka_unit_test(the_calendar_is_the_c_librarys),
};
TEST_MAIN(tests)
