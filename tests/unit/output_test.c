/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/output.h"

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
	cmocka_unit_test(forms_and_scopes_choose_columns),
	cmocka_unit_test(a_body_without_room_is_a_failure),
};
TEST_MAIN(tests)
