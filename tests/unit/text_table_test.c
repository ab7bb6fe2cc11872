/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/text_table.h"
#include "lib/failing_malloc.h"

struct pair {
	const char *left, *right;
};

static void write_left(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, view_from(((const struct pair *)row)->left));
}

static void write_right(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, view_from(((const struct pair *)row)->right));
}

static const struct text_table_column columns[] = {
	{"LEFT", 0, write_left}, {"MORE", 2, write_left}, {"RIGHT", 0, write_right}, {0},
};

static void assert_sheet(const struct pair *rows, size_t n, uint32_t flags, bool has_headers,
			 unsigned indent, const char *expected)
{
	CLEANUP(text_table_deinit) struct text_table table;
	CLEANUP(sbuf_deinit) struct sbuf out;
	text_table_init(&table, columns, flags, 1000);
	sbuf_init(&out, 1000);
	for (size_t i = 0; i < n; i++)
		text_table_add(&table, &rows[i]);
	text_table_write(&table, has_headers, indent, &out);
	assert_string_equal(sbuf_text(&out), expected);
}

static const struct pair pairs[] = {{"a", "1"}, {"long-name", "2"}, {"", "x y"}};

static void columns_are_as_wide_as_their_widest_cell_and_three_blanks_apart(void **state)
{
	(void)state;
	assert_sheet(pairs, 3, 0, true, 0,
		     "LEFT        RIGHT\n"
		     "a           1\n"
		     "long-name   2\n"
		     "-           x y\n");
}

static void a_header_may_be_the_widest(void **state)
{
	(void)state;
	assert_sheet(pairs, 1, 0, true, 0, "LEFT   RIGHT\na      1\n");
}

static void a_column_is_shown_when_its_flags_are_given(void **state)
{
	(void)state;
	assert_sheet(pairs, 1, 2, true, 0, "LEFT   MORE   RIGHT\na      a      1\n");
	assert_sheet(pairs, 1, 1, true, 0, "LEFT   RIGHT\na      1\n");
}

static void headers_can_be_left_out_and_lines_indented(void **state)
{
	(void)state;
	assert_sheet(pairs, 1, 0, false, 0, "a      1\n");
	assert_sheet(pairs, 1, 0, true, 2, "  LEFT   RIGHT\n  a      1\n");
	assert_sheet(pairs, 0, 0, true, 0, "LEFT   RIGHT\n");
}

static void a_cell_cannot_break_its_line_or_its_column(void **state)
{
	(void)state;
	static const struct pair rows[] = {{"a\nb", "1"}, {"\xc3\xa9", "2"}};
	assert_sheet(rows, 2, 0, true, 0, "LEFT   RIGHT\na\\nb   1\n\xc3\xa9      2\n");
}

static void what_has_no_room_is_said_at_the_end(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(text_table_deinit) struct text_table table;
	CLEANUP(sbuf_deinit) struct sbuf out;
	text_table_init(&table, columns, 0, 8);
	sbuf_init(&out, 1000);
	text_table_add(&table, &pairs[1]);
	text_table_write(&table, true, 0, &out);
	assert_int_equal(sbuf_check(&out, "table", &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void missing_memory_is_said_at_the_end(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct error err;
		CLEANUP(text_table_deinit) struct text_table table;
		CLEANUP(sbuf_deinit) struct sbuf out;
		text_table_init(&table, columns, 0, 1000);
		sbuf_init(&out, 1000);
		failing_malloc_at(k);
		text_table_add(&table, &pairs[1]);
		text_table_write(&table, true, 0, &out);
		failed = failing_malloc_off();
		assert_int_equal(sbuf_check(&out, "table", &err), failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(columns_are_as_wide_as_their_widest_cell_and_three_blanks_apart),
	cmocka_unit_test(a_header_may_be_the_widest),
	cmocka_unit_test(a_column_is_shown_when_its_flags_are_given),
	cmocka_unit_test(headers_can_be_left_out_and_lines_indented),
	cmocka_unit_test(a_cell_cannot_break_its_line_or_its_column),
	cmocka_unit_test(what_has_no_room_is_said_at_the_end),
	cmocka_unit_test(missing_memory_is_said_at_the_end),
};
TEST_MAIN(tests)
