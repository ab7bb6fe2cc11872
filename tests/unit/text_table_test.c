/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/output.h"
#include "kubectl/text_table.h"
#include "kubectl/printable.h"
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

static void assert_table(const struct pair *rows, size_t n, uint32_t flags, bool has_headers,
			 unsigned indent, const char *expected)
{
	CLEANUP(text_table_deinit) struct text_table table;
	CLEANUP(output_deinit) struct output output;
	text_table_init(&table, columns, flags, 1000);
	output_init(&output, OUTPUT_TABLE, 0);
	output.has_headers = has_headers;
	for (size_t i = 0; i < n; i++)
		text_table_add(&table, &rows[i]);
	text_table_write(&table, &output, indent);
	assert_string_equal(sbuf_text(&output.body), expected);
}

static const struct pair pairs[] = {{"a", "1"}, {"long-name", "2"}, {"", "x y"}};

static void columns_are_as_wide_as_their_widest_cell_and_three_blanks_apart(void **state)
{
	(void)state;
	assert_table(pairs, 3, 0, true, 0,
		     "LEFT        RIGHT\n"
		     "a           1\n"
		     "long-name   2\n"
		     "-           x y\n");
}

static void a_header_may_be_the_widest(void **state)
{
	(void)state;
	assert_table(pairs, 1, 0, true, 0, "LEFT   RIGHT\na      1\n");
}

static void a_column_is_shown_when_its_flags_are_given(void **state)
{
	(void)state;
	assert_table(pairs, 1, 2, true, 0, "LEFT   MORE   RIGHT\na      a      1\n");
	assert_table(pairs, 1, 1, true, 0, "LEFT   RIGHT\na      1\n");
}

static void a_column_is_marked_once_when_one_of_its_flags_is_given(void **state)
{
	(void)state;
	static const struct text_table_column marked[] = {
		{"LEFT", 0, write_left, .marked = 2 | 4}, {"RIGHT", 0, write_right}, {0},
	};
	static const struct pair rows[] = {{"a", "1"}, {"old*", "2"}, {"", "3"}};
	static const struct {
		uint32_t flags;
		const char *expected;
	} tables[] = {
		{0, "LEFT   RIGHT\na      1\nold*   2\n-      3\n"},
		{1, "LEFT   RIGHT\na      1\nold*   2\n-      3\n"},
		{2, "LEFT   RIGHT\na*     1\nold*   2\n-*     3\n"},
		{4, "LEFT   RIGHT\na*     1\nold*   2\n-*     3\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		CLEANUP(text_table_deinit) struct text_table table;
		CLEANUP(output_deinit) struct output output;
		text_table_init(&table, marked, tables[i].flags, 1000);
		output_init(&output, OUTPUT_TABLE, 0);
		for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
			text_table_add(&table, &rows[row]);
		text_table_write(&table, &output, 0);
		assert_string_equal(sbuf_text(&output.body), tables[i].expected);
	}
}

static void headers_can_be_left_out_and_lines_indented(void **state)
{
	(void)state;
	assert_table(pairs, 1, 0, false, 0, "a      1\n");
	assert_table(pairs, 1, 0, true, 2, "  LEFT   RIGHT\n  a      1\n");
	assert_table(pairs, 0, 0, true, 0, "LEFT   RIGHT\n");
}

static void a_cell_cannot_break_its_line_or_its_column(void **state)
{
	(void)state;
	static const struct pair rows[] = {{"a\nb", "1"}, {"\xc3\xa9", "2"}};
	assert_table(rows, 2, 0, true, 0, "LEFT   RIGHT\na\\nb   1\n\xc3\xa9      2\n");
}

static void what_has_no_room_is_said_at_the_end(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(text_table_deinit) struct text_table table;
	CLEANUP(output_deinit) struct output output;
	text_table_init(&table, columns, 0, 8);
	output_init(&output, OUTPUT_TABLE, 0);
	text_table_add(&table, &pairs[1]);
	text_table_write(&table, &output, 0);
	assert_int_equal(output_finish(&output, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

/* Six columns, of which C is empty, and rows whose names differ only in the middle. */
struct wide_row {
	const char *name, *node, *note;
};

static void write_name(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, view_from(((const struct wide_row *)row)->name));
}

static void write_node(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, view_from(((const struct wide_row *)row)->node));
}

static void write_note(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, view_from(((const struct wide_row *)row)->note));
}

static void write_nothing(const void *row, struct sbuf *cell)
{
	(void)row;
	(void)cell;
}

static const struct text_table_column wide_columns[] = {
	{"NAME", 0, write_name, .cut = true},
	{"MODEL", 0, write_note, .drop = 2},
	{"MODE", 0, write_note, .drop = 1},
	{"EMPTY", 0, write_nothing, .drop = 3},
	{"NODE", 0, write_node, .cut = true},
	{"END", 0, write_note},
	{0},
};

static void show_wide(struct output *output, enum output_form form, const struct wide_row *rows,
		      size_t n)
{
	CLEANUP(text_table_deinit) struct text_table table;
	output_init(output, form, 0);
	text_table_init(&table, wide_columns, 0, 1000000);
	for (size_t i = 0; i < n; i++)
		text_table_add(&table, &rows[i]);
	text_table_write(&table, output, 0);
}

static size_t widest_line(const char *text)
{
	size_t widest = 0;
	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t width = printable_width((struct view){text, len});
		widest = width > widest ? width : widest;
		text += len + (text[len] != '\0');
	}
	return widest;
}

#define TEN "0123456789"
#define TWENTY TEN TEN
#define FORTY TWENTY TWENTY

static void a_table_that_is_too_wide_loses_blanks_then_columns_then_the_middle_of_cells(void **state)
{
	(void)state;
	static const struct {
		struct wide_row row;
		const char *headers, *note;
	} steps[] = {
		{{TWENTY, TWENTY, TWENTY}, "NAME                   MODEL                  MODE", ""},
		{{FORTY, TEN, TWENTY},
		 "NAME                                      MODEL                 MODE                  "
		 "NODE        END",
		 ""},
		{{FORTY, FORTY "abc", TEN},
		 "NAME                                      MODEL       NODE", "left out: MODE; -o wide"},
		{{FORTY, FORTY, TWENTY},
		 "NAME                                      NODE                                      END",
		 "left out: MODEL, MODE; -o wide"},
		{{FORTY FORTY "a", FORTY FORTY "b", TWENTY},
		 "NAME                                              NODE", "left out: MODEL, MODE;"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		CLEANUP(output_deinit) struct output output;
		show_wide(&output, OUTPUT_TABLE, &steps[i].row, 1);
		const char *text = sbuf_text(&output.body);
		if (strncmp(text, steps[i].headers, strlen(steps[i].headers)) != 0)
			fail_msg("step %zu: %s", i, text);
		assert_true(widest_line(text) <= TEXT_TABLE_WIDTH);
		assert_non_null(strstr(sbuf_text(&output.notes), steps[i].note));
		assert_int_equal(strlen(steps[i].note) == 0, output.notes.len == 0);
	}
}

static void rows_that_differ_read_differently_when_they_are_cut(void **state)
{
	(void)state;
	struct wide_row rows[200];
	char names[200][200];
	CLEANUP(output_deinit) struct output output;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(names[i], sizeof(names[i]), FORTY FORTY "%03zu" FORTY FORTY, i);
		rows[i] = (struct wide_row){names[i], FORTY FORTY, FORTY};
	}
	show_wide(&output, OUTPUT_TABLE, rows, ARRAY_SIZE(rows));
	const char *text = sbuf_text(&output.body);
	assert_true(widest_line(text) <= TEXT_TABLE_WIDTH);
	for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		size_t len = strcspn(line, "\n") + 1;
		assert_null(memmem(line + len, strlen(line + len), line, len));
	}
}

static void wide_is_never_cut(void **state)
{
	(void)state;
	static const struct wide_row row = {FORTY FORTY FORTY, FORTY FORTY "b", TWENTY};
	CLEANUP(output_deinit) struct output output;
	show_wide(&output, OUTPUT_WIDE, &row, 1);
	const char *text = sbuf_text(&output.body);
	assert_non_null(strstr(text, row.name));
	assert_non_null(strstr(text, row.node));
	assert_non_null(strstr(text, "MODE  "));
	assert_int_equal(output.notes.len, 0);
}

static void a_long_last_cell_goes_on_below_itself(void **state)
{
	(void)state;
	static const struct text_table_column wrapped[] = {
		{"NAME", 0, write_name}, {"NOTE", 0, write_note, .wrap = true}, {0},
	};
	static const struct wide_row row = {"n", "", FORTY " " FORTY " " FORTY " end"};
	CLEANUP(text_table_deinit) struct text_table table;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_TABLE, 0);
	text_table_init(&table, wrapped, 0, 10000);
	text_table_add(&table, &row);
	text_table_write(&table, &output, 2);
	assert_string_equal(sbuf_text(&output.body),
			    "  NAME   NOTE\n"
			    "  n      " FORTY " " FORTY "\n"
			    "         " FORTY " end\n");
}

static void a_long_word_of_the_last_cell_ends_in_further_lines(void **state)
{
	(void)state;
	static const struct text_table_column wrapped[] = {
		{"NAME", 0, write_name}, {"NOTE", 0, write_note, .wrap = true}, {0},
	};
	static const struct wide_row row = {FORTY FORTY, "", TWENTY FORTY " end"};
	CLEANUP(text_table_deinit) struct text_table table;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_TABLE, 0);
	text_table_init(&table, wrapped, 0, 10000);
	text_table_add(&table, &row);
	text_table_write(&table, &output, 0);
	assert_int_equal(widest_line(sbuf_text(&output.body)), TEXT_TABLE_WIDTH);
	assert_non_null(strstr(sbuf_text(&output.body), "   " TWENTY TEN "0123456\n"));
}

static void of_several_tables_the_note_says_which_lost_columns(void **state)
{
	(void)state;
	static const struct wide_row row = {FORTY, FORTY, TWENTY};
	CLEANUP(text_table_deinit) struct text_table table;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_TABLE, 0);
	text_table_init(&table, wide_columns, 0, 10000);
	table.title = "Tenants";
	text_table_add(&table, &row);
	text_table_write(&table, &output, 0);
	assert_string_equal(sbuf_text(&output.notes),
			    "Columns left out of \"Tenants\": MODEL, MODE; -o wide shows them\n");
}

/* Its width counts for nothing: no other column goes for it. */
static void a_cell_that_is_below_its_row_has_lines_of_its_own_unless_wide(void **state)
{
	(void)state;
	static const struct text_table_column below[] = {
		{"NAME", 0, write_name, .cut = true},
		{"NODE", 0, write_node, .drop = 1},
		{"NOTE", 0, write_note, .below = "note: "},
		{0},
	};
	static const struct {
		enum output_form form;
		const char *expected;
	} rows[] = {
		{OUTPUT_TABLE, "  " FORTY "   b\n"
			       "    note: " FORTY " " FORTY "\n"
			       "          " FORTY " end\n"},
		{OUTPUT_WIDE, "  " FORTY "   b      " FORTY " " FORTY " " FORTY " end\n"},
	};
	static const struct wide_row row = {FORTY, "b", FORTY " " FORTY " " FORTY " end"};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(text_table_deinit) struct text_table table;
		CLEANUP(output_deinit) struct output output;
		output_init(&output, rows[i].form, 0);
		text_table_init(&table, below, 0, 10000);
		text_table_add(&table, &row);
		text_table_write(&table, &output, 2);
		const char *headers = sbuf_text(&output.body);
		const char *lines = strchr(headers, '\n') + 1;
		assert_int_equal(strncmp(headers, "  NAME ", 7), 0);
		assert_int_equal(memmem(headers, (size_t)(lines - headers), "NOTE\n", 5) != NULL,
				 rows[i].form == OUTPUT_WIDE);
		assert_string_equal(lines, rows[i].expected);
		assert_int_equal(output.notes.len, 0);
	}
}

static void missing_memory_is_said_at_the_end(void **state)
{
	(void)state;
	static const struct wide_row row = {FORTY FORTY FORTY, FORTY FORTY "b", TWENTY};
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct error err;
		CLEANUP(output_deinit) struct output output;
		failing_malloc_at(k);
		show_wide(&output, OUTPUT_TABLE, &row, 1);
		failed = failing_malloc_off();
		assert_int_equal(output_finish(&output, &err), failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(columns_are_as_wide_as_their_widest_cell_and_three_blanks_apart),
	cmocka_unit_test(a_header_may_be_the_widest),
	cmocka_unit_test(a_column_is_shown_when_its_flags_are_given),
	cmocka_unit_test(a_column_is_marked_once_when_one_of_its_flags_is_given),
	cmocka_unit_test(headers_can_be_left_out_and_lines_indented),
	cmocka_unit_test(a_cell_cannot_break_its_line_or_its_column),
	cmocka_unit_test(what_has_no_room_is_said_at_the_end),
	cmocka_unit_test(a_table_that_is_too_wide_loses_blanks_then_columns_then_the_middle_of_cells),
	cmocka_unit_test(rows_that_differ_read_differently_when_they_are_cut),
	cmocka_unit_test(wide_is_never_cut),
	cmocka_unit_test(a_long_last_cell_goes_on_below_itself),
	cmocka_unit_test(a_long_word_of_the_last_cell_ends_in_further_lines),
	cmocka_unit_test(of_several_tables_the_note_says_which_lost_columns),
	cmocka_unit_test(a_cell_that_is_below_its_row_has_lines_of_its_own_unless_wide),
	cmocka_unit_test(missing_memory_is_said_at_the_end),
};
TEST_MAIN(tests)
