/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/output.h"

#include "kubectl/printable.h"

static void notes_are_lines_that_nothing_can_break(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_TABLE, 0);
	output_printf(&output, "%s", "first\x1b[0m");
	sbuf_append(output_note(&output), VIEW("second\nline"));
	output_note_end(&output);
	output_note(&output);
	output_note_end(&output);
	assert_int_equal(output_finish(&output, &err), 0);
	assert_string_equal(sbuf_text(&output.notes), "first\\x1b[0m\nsecond\\nline\n");
}

static void notes_that_are_too_many_are_counted(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_TABLE, 0);
	for (unsigned i = 0; i < OUTPUT_NOTES + 3; i++)
		output_printf(&output, "note %u", i);
	assert_int_equal(output_finish(&output, &err), 0);
	const char *text = sbuf_text(&output.notes);
	assert_non_null(strstr(text, "note 63\nand 3 more notes\n"));
	assert_null(strstr(text, "note 64"));
}

/* 121 words of a letter: with a blank between them 120 columns hold 60, and behind two blanks 59. */
static void a_note_that_is_too_long_goes_on_between_words(void **state)
{
	(void)state;
	static const struct {
		enum output_form form;
		size_t widths[4]; /* of its lines */
	} rows[] = {{OUTPUT_TABLE, {119, 2 + 117, 2 + 3}}, {OUTPUT_WIDE, {241}}, {OUTPUT_JSON, {241}}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(output_deinit) struct output output;
		output_init(&output, rows[i].form, 0);
		struct sbuf *note = output_note(&output);
		for (int word = 0; word < 121; word++)
			sbuf_append(note, word == 0 ? VIEW("a") : VIEW(" \xc3\xa9"));
		output_note_end(&output);
		const char *line = sbuf_text(&output.notes);
		for (size_t k = 0; rows[i].widths[k] > 0; k++) {
			const size_t n = strcspn(line, "\n");
			assert_int_equal(printable_width((struct view){line, n}), rows[i].widths[k]);
			assert_memory_equal(line, k == 0 ? "a" : "  \xc3\xa9", k == 0 ? 1 : 4);
			line += n + 1;
		}
		assert_string_equal(line, "");
	}
}

static void a_word_without_an_end_goes_on_in_further_lines(void **state)
{
	(void)state;
	static const size_t widths[] = {120, 2 + 118, 2 + 62 + 5};
	CLEANUP(output_deinit) struct output output;
	char word[301];
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	output_init(&output, OUTPUT_TABLE, 0);
	sbuf_printf(output_note(&output), "%s more", word);
	output_note_end(&output);
	const char *line = sbuf_text(&output.notes);
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		assert_int_equal(strcspn(line, "\n"), widths[i]);
		line += widths[i] + 1;
	}
	assert_string_equal(line, "");
}

static void forms_and_scopes_choose_columns(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_WIDE, 0);
	assert_true(output.has_headers);
	assert_int_equal(output_flags(&output), OUTPUT_IF_WIDE);
	output.is_many = true;
	output.all_namespaces = true;
	output.form = OUTPUT_TABLE;
	assert_int_equal(output_flags(&output), OUTPUT_IF_MANY | OUTPUT_IF_ALL_NAMESPACES);
}

static void a_body_without_room_is_a_failure(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(output_deinit) struct output output;
	output_init(&output, OUTPUT_TABLE, 0);
	output.body.failure = ERROR_LIMIT;
	assert_int_equal(output_finish(&output, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(notes_are_lines_that_nothing_can_break),
	cmocka_unit_test(notes_that_are_too_many_are_counted),
	cmocka_unit_test(a_note_that_is_too_long_goes_on_between_words),
	cmocka_unit_test(a_word_without_an_end_goes_on_in_further_lines),
	cmocka_unit_test(forms_and_scopes_choose_columns),
	cmocka_unit_test(a_body_without_room_is_a_failure),
};
TEST_MAIN(tests)
