/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/page.h"

static void notes_are_lines_that_nothing_can_break(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(page_deinit) struct page page;
	page_init(&page, PAGE_TABLE, 0);
	page_printf(&page, "%s", "first\x1b[0m");
	sbuf_append(page_note(&page), VIEW("second\nline"));
	page_note_end(&page);
	page_note(&page);
	page_note_end(&page);
	assert_int_equal(page_finish(&page, &err), 0);
	assert_string_equal(sbuf_text(&page.notes), "first\\x1b[0m\nsecond\\nline\n");
}

static void notes_that_are_too_many_are_counted(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(page_deinit) struct page page;
	page_init(&page, PAGE_TABLE, 0);
	for (unsigned i = 0; i < PAGE_NOTES + 3; i++)
		page_printf(&page, "note %u", i);
	assert_int_equal(page_finish(&page, &err), 0);
	const char *text = sbuf_text(&page.notes);
	assert_non_null(strstr(text, "note 63\nand 3 more notes\n"));
	assert_null(strstr(text, "note 64"));
}

static void forms_and_scopes_choose_columns(void **state)
{
	(void)state;
	CLEANUP(page_deinit) struct page page;
	page_init(&page, PAGE_WIDE, 0);
	assert_true(page.has_headers);
	assert_int_equal(page_flags(&page), PAGE_IF_WIDE);
	page.is_many = true;
	page.all_namespaces = true;
	page.form = PAGE_TABLE;
	assert_int_equal(page_flags(&page), PAGE_IF_MANY | PAGE_IF_ALL_NAMESPACES);
}

static void a_body_without_room_is_a_failure(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(page_deinit) struct page page;
	page_init(&page, PAGE_TABLE, 0);
	page.body.failure = ERROR_LIMIT;
	assert_int_equal(page_finish(&page, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(notes_are_lines_that_nothing_can_break),
	cmocka_unit_test(notes_that_are_too_many_are_counted),
	cmocka_unit_test(forms_and_scopes_choose_columns),
	cmocka_unit_test(a_body_without_room_is_a_failure),
};
TEST_MAIN(tests)
