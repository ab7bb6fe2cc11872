/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/printable.h"

static void what_a_terminal_would_obey_is_escaped(void **state)
{
	(void)state;
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{"", ""},
		{"train-0", "train-0"},
		{"\x1b[2J", "\\x1b[2J"},
		{"a\nb\tc\rd", "a\\nb\\tc\\x0dd"},
		{"\x7f\x01", "\\x7f\\x01"},
		{"\xc2\x9b" "31m", "\\x9b31m"},           /* CSI in eight bits */
		{"\xe2\x80\xae" "cba", "\\u202ecba"},     /* right-to-left override */
		{"\xe2\x81\xa6" "a", "\\u2066a"},
		{"\xe2\x80\xa8", "\\u2028"},
		{"\xd8\x9c", "\\u061c"},
		{"bad \xff\xc3", "bad \\xff\\xc3"},
		{"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"back\\slash", "back\\slash"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 1000);
		printable_append(&buf, view_from(rows[i].text));
		sbuf_append_char(&buf, '\0');
		assert_string_equal(buf.ptr, rows[i].shown);
	}
}

static void a_nul_is_escaped_too(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 1000);
	printable_append(&buf, (struct view){"a\0b", 3});
	assert_string_equal(sbuf_text(&buf), "a\\x00b");
}

static void width_counts_characters_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(printable_width(VIEW("")), 0);
	assert_int_equal(printable_width(VIEW("abc")), 3);
	assert_int_equal(printable_width(VIEW("caf\xc3\xa9")), 4);
	assert_int_equal(printable_width(VIEW("\xe2\x82\xac\xf0\x9f\x98\x80")), 2);
}

static void a_line_ends_between_words_or_behind_a_comma(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t room;
		const char *line, *rest;
	} rows[] = {
		{"", 3, "", ""},
		{"abc", 3, "abc", ""},
		{"abc def", 3, "abc", "def"},
		{"ab cd ef", 6, "ab cd", "ef"},
		{"a,b,c", 3, "a,", "b,c"},
		{"a,b,c", 4, "a,b,", "c"},
		{"ab, cd", 3, "ab,", "cd"},
		{"abcdef g", 4, "abcd", "ef g"},
		{"a bcdefg", 4, "a", "bcdefg"},
		{" abcdef", 4, " abc", "def"},
		{"caf\xc3\xa9" "caf\xc3\xa9", 4, "caf\xc3\xa9", "caf\xc3\xa9"},
		{"\xe2\x82\xac\xf0\x9f\x98\x80", 1, "\xe2\x82\xac", "\xf0\x9f\x98\x80"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view rest = view_from(rows[i].text);
		struct view line = printable_take_line(&rest, rows[i].room);
		if (!view_equal(line, view_from(rows[i].line)) || !view_equal(rest, view_from(rows[i].rest)))
			fail_msg("row %zu: \"%.*s\" and \"%.*s\"", i, VIEW_ARG(line), VIEW_ARG(rest));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_a_terminal_would_obey_is_escaped),
	cmocka_unit_test(a_nul_is_escaped_too),
	cmocka_unit_test(width_counts_characters_not_bytes),
	cmocka_unit_test(a_line_ends_between_words_or_behind_a_comma),
};
TEST_MAIN(tests)
