/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <errno.h>

#include "base/error.h"

static void an_origin_keeps_kind_errno_and_text(void **state)
{
	(void)state;
	struct error err = {.retry_after_ms = 7};
	assert_int_equal(error_set(&err, ERROR_RETRY, ECONNREFUSED, "connect %s", "host"), -1);
	assert_int_equal(err.kind, ERROR_RETRY);
	assert_int_equal(err.os_errno, ECONNREFUSED);
	assert_int_equal(err.retry_after_ms, 0);
	assert_string_equal(err.text, "connect host: Connection refused");
}

static void without_errno_the_text_stands_alone(void **state)
{
	(void)state;
	struct error err;
	error_set(&err, ERROR_REJECTED, 0, "line %d", 3);
	assert_string_equal(err.text, "line 3");
}

static void wrapping_puts_context_first_and_keeps_the_kind(void **state)
{
	(void)state;
	struct error err;
	error_set(&err, ERROR_EXPIRED, EIO, "watch");
	assert_int_equal(error_wrap(&err, "list %s", "pods"), -1);
	assert_int_equal(error_wrap(&err, "sync"), -1);
	assert_int_equal(err.kind, ERROR_EXPIRED);
	assert_int_equal(err.os_errno, EIO);
	assert_string_equal(err.text, "sync: list pods: watch: Input/output error");
}

static void an_error_may_quote_itself(void **state)
{
	(void)state;
	struct error err;
	error_set(&err, ERROR_RETRY, 0, "inner");
	error_set(&err, ERROR_DENIED, 0, "outer (%s)", err.text);
	assert_string_equal(err.text, "outer (inner)");
}

static void text_is_cut_at_its_limit(void **state)
{
	(void)state;
	char much[500];
	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	struct error err;
	error_set(&err, ERROR_RETRY, EIO, "%s", much);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	error_wrap(&err, "context");
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "context: xxx", 12);
	error_wrap(&err, "%s", much);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void control_characters_become_question_marks(void **state)
{
	(void)state;
	struct error err;
	error_set(&err, ERROR_REJECTED, 0, "a\nb\x1b[31m\x7f\tc");
	assert_string_equal(err.text, "a?b?[31m??c");
	error_wrap(&err, "x\r");
	assert_string_equal(err.text, "x?: a?b?[31m??c");
}

static void every_kind_has_a_name(void **state)
{
	(void)state;
	for (int kind = ERROR_NONE; kind <= ERROR_STOPPING; kind++)
		assert_true(strlen(error_kind_name((enum error_kind)kind)) > 0);
	assert_string_equal(error_kind_name(ERROR_NOT_FOUND), "not found");
}

static void clearing_leaves_nothing(void **state)
{
	(void)state;
	struct error err;
	error_no_memory(&err);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_true(err.text[0] != '\0');
	error_clear(&err);
	assert_int_equal(err.kind, ERROR_NONE);
	assert_string_equal(err.text, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_origin_keeps_kind_errno_and_text),
	cmocka_unit_test(without_errno_the_text_stands_alone),
	cmocka_unit_test(wrapping_puts_context_first_and_keeps_the_kind),
	cmocka_unit_test(an_error_may_quote_itself),
	cmocka_unit_test(text_is_cut_at_its_limit),
	cmocka_unit_test(control_characters_become_question_marks),
	cmocka_unit_test(every_kind_has_a_name),
	cmocka_unit_test(clearing_leaves_nothing),
};
TEST_MAIN(tests)
