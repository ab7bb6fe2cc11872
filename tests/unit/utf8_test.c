/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/utf8.h"

/* The borders of RFC 3629, section 4, and just behind them. */
static const struct {
	const char *bytes;
	size_t len; /* of the first character, 0 = malformed */
} rows[] = {
	{"", 0},
	{"a", 1},
	{"\x7f", 1},
	{"\x80", 0},
	{"\xbf", 0},
	{"\xc0\x80", 0},
	{"\xc1\xbf", 0},
	{"\xc2\x80", 2},
	{"\xdf\xbf", 2},
	{"\xc2", 0},
	{"\xc2\x7f", 0},
	{"\xc2\xc0", 0},
	{"\xe0\x9f\xbf", 0},
	{"\xe0\xa0\x80", 3},
	{"\xe1\x80\x80", 3},
	{"\xec\xbf\xbf", 3},
	{"\xed\x9f\xbf", 3},
	{"\xed\xa0\x80", 0},
	{"\xee\x80\x80", 3},
	{"\xef\xbf\xbf", 3},
	{"\xe1\x80", 0},
	{"\xe1\x80\x7f", 0},
	{"\xf0\x8f\xbf\xbf", 0},
	{"\xf0\x90\x80\x80", 4},
	{"\xf3\xbf\xbf\xbf", 4},
	{"\xf4\x8f\xbf\xbf", 4},
	{"\xf4\x90\x80\x80", 0},
	{"\xf5\x80\x80\x80", 0},
	{"\xf0\x90\x80", 0},
	{"\xff", 0},
};

static void borders_are_where_the_rfc_has_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(utf8_next(view_from(rows[i].bytes)), rows[i].len);
}

static void truncation_cuts_no_character(void **state)
{
	(void)state;
	struct view text = VIEW("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z");
	static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
	for (size_t max = 0; max < ARRAY_SIZE(expected); max++)
		assert_int_equal(utf8_truncate(text, max).len, expected[max]);
	assert_int_equal(utf8_truncate((struct view){NULL, 0}, 4).len, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(borders_are_where_the_rfc_has_them),
	cmocka_unit_test(truncation_cuts_no_character),
};
TEST_MAIN(tests)
