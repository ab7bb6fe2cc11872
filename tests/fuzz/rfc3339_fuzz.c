/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The input is a text, and its first eight bytes are a time. What is read as a time is written and read
 * again without a loss. Any time is written as the C library's calendar has it, the nearest one that has
 * four digits for its year.
 */

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wire/rfc3339.h"

#define FIRST_MS INT64_C(-62167219200000)
#define LAST_MS INT64_C(253402300799999)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t seconds_of(int64_t ms)
{
	return (ms - (ms % 1000 + 1000) % 1000) / 1000;
}

static void check_read(const char *text, int64_t expected)
{
	int64_t ms;
	const bool is_read = rfc3339_parse(view_from(text), &ms);

	assert(is_read && ms == expected);
}

static void check_calendar(int64_t ms, const char *text)
{
	const time_t seconds = (time_t)seconds_of(ms);
	char expected[RFC3339_SIZE];
	struct tm tm;

	assert(gmtime_r(&seconds, &tm));
	/* The C library does not fill years before 1000 with zeros. */
	snprintf(expected, sizeof(expected), "%04d", tm.tm_year + 1900);
	strftime(expected + 4, sizeof(expected) - 4, "-%m-%dT%H:%M:%SZ", &tm);
	assert(strcmp(text, expected) == 0);
}

static void check_time(int64_t ms)
{
	const int64_t shown = ms < FIRST_MS ? FIRST_MS : ms > LAST_MS ? LAST_MS : ms;
	char text[RFC3339_SIZE];

	rfc3339_millis(ms, text);
	check_read(text, shown);
	rfc3339_seconds(ms, text);
	check_read(text, seconds_of(shown) * 1000);
	check_calendar(shown, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t ms;

	if (rfc3339_parse((struct view){(const char *)data, size}, &ms)) {
		assert(ms >= FIRST_MS && ms <= LAST_MS);
		check_time(ms);
	}
	if (size >= sizeof(ms)) {
		memcpy(&ms, data, sizeof(ms));
		check_time(ms);
		check_time(ms % LAST_MS);
	}
	return 0;
}
