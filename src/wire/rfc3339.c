/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Own calendar arithmetic: the C library's knows time zones and locales, which are no business of
 * a wire format. Years are counted from 1 March, so that a leap day is the last day of its year.
 */

#include "wire/rfc3339.h"

#include <stdio.h>

#define DAY_MS INT64_C(86400000)
#define YEAR_0000_MS INT64_C(-62167219200000)
#define YEAR_9999_END_MS INT64_C(253402300799999)

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

struct date {
	int year, month, day;
};

static struct date date_from_days(int64_t days)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t day_of_era = days - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
			       day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * day_of_year + 2) / 153;
	int64_t day = day_of_year - (153 * month + 2) / 5 + 1;
	month = month < 10 ? month + 3 : month - 9;
	return (struct date){(int)(year_of_era + era * 400 + (month <= 2)), (int)month, (int)day};
}

/* Takes exactly n digits off the front. */
static bool take_number(struct view *text, size_t n, int64_t *ret)
{
	uint64_t value;
	if (text->len < n || !view_parse_u64((struct view){text->ptr, n}, &value))
		return false;
	*ret = (int64_t)value;
	*text = view_from_offset(*text, n);
	return true;
}

static bool take_char(struct view *text, char c)
{
	if (text->len == 0 || (text->ptr[0] != c && text->ptr[0] != (c | 0x20)))
		return false;
	*text = view_from_offset(*text, 1);
	return true;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
	static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (month == 2 && leap);
}

static bool take_date(struct view *text, int64_t *ret_days)
{
	int64_t year, month, day;
	if (!take_number(text, 4, &year) || !take_char(text, '-') ||
	    !take_number(text, 2, &month) || !take_char(text, '-') || !take_number(text, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
		return false;
	*ret_days = days_from_date(year, month, day);
	return true;
}

/* The digits behind the point, if there are any, as milliseconds. */
static bool take_fraction(struct view *text, int64_t *ret_ms)
{
	int64_t ms = 0, weight = 100;
	size_t n = 0;
	*ret_ms = 0;
	if (!take_char(text, '.'))
		return true;
	for (; n < text->len && text->ptr[n] >= '0' && text->ptr[n] <= '9'; n++, weight /= 10)
		ms += (text->ptr[n] - '0') * weight;
	if (n < 1 || n > 9)
		return false;
	*text = view_from_offset(*text, n);
	*ret_ms = ms;
	return true;
}

static bool take_time(struct view *text, int64_t *ret_ms)
{
	int64_t hours, minutes, seconds, fraction;
	if (!take_number(text, 2, &hours) || !take_char(text, ':') ||
	    !take_number(text, 2, &minutes) || !take_char(text, ':') ||
	    !take_number(text, 2, &seconds) || !take_fraction(text, &fraction))
		return false;
	/* A leap second is the first one of the next minute. */
	if (hours > 23 || minutes > 59 || seconds > 60)
		return false;
	*ret_ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction;
	return true;
}

static bool take_offset(struct view *text, int64_t *ret_ms)
{
	*ret_ms = 0;
	if (take_char(text, 'Z'))
		return true;
	int64_t sign = 1, hours, minutes;
	if (take_char(text, '-'))
		sign = -1;
	else if (!take_char(text, '+'))
		return false;
	if (!take_number(text, 2, &hours) || !take_char(text, ':') ||
	    !take_number(text, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_ms = sign * (hours * 60 + minutes) * 60000;
	return true;
}

bool rfc3339_parse(struct view text, int64_t *ret_ms)
{
	int64_t days, time, offset;
	if (!take_date(&text, &days) || !take_char(&text, 'T') || !take_time(&text, &time) ||
	    !take_offset(&text, &offset) || text.len != 0)
		return false;
	/* In UTC it may fall into a year that cannot be written. */
	int64_t ms = days * DAY_MS + time - offset;
	if (ms < YEAR_0000_MS || ms > YEAR_9999_END_MS)
		return false;
	*ret_ms = ms;
	return true;
}

static void format(int64_t ms, bool with_millis, char ret[static RFC3339_SIZE])
{
	if (ms < YEAR_0000_MS)
		ms = YEAR_0000_MS;
	if (ms > YEAR_9999_END_MS)
		ms = YEAR_9999_END_MS;
	int64_t days = (ms >= 0 ? ms : ms - (DAY_MS - 1)) / DAY_MS;
	unsigned of_day = (unsigned)(ms - days * DAY_MS);
	struct date date = date_from_days(days);
	char fraction[sizeof(".000")] = "";
	if (with_millis)
		snprintf(fraction, sizeof(fraction), ".%03u", of_day % 1000);
	/* The remainders only tell the compiler the widths. */
	snprintf(ret, RFC3339_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u%sZ", (unsigned)date.year % 10000,
		 (unsigned)date.month % 100, (unsigned)date.day % 100, of_day / 3600000 % 24,
		 of_day / 60000 % 60, of_day / 1000 % 60, fraction);
}

void rfc3339_seconds(int64_t ms, char ret[static RFC3339_SIZE])
{
	format(ms, false, ret);
}

void rfc3339_millis(int64_t ms, char ret[static RFC3339_SIZE])
{
	format(ms, true, ret);
}
