/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/source_state.h"

static void a_source_starts_unknown_and_every_change_is_news(void **state)
{
	(void)state;
	struct source_state source = {0};
	struct error err;
	error_set(&err, ERROR_RETRY, 0, "broken");
	assert_int_equal(source.said.state, REPORT_SOURCE_UNKNOWN);
	assert_true(source_state_succeed(&source, 100, VIEW("")));
	assert_false(source_state_succeed(&source, 200, VIEW("")));
	assert_true(source_state_succeed(&source, 300, VIEW("half of it")));
	assert_true(source_state_fail(&source, &err));
	assert_false(source_state_fail(&source, &err));
	error_set(&err, ERROR_RETRY, 0, "broken otherwise");
	assert_true(source_state_fail(&source, &err));
	assert_true(view_equal(source.said.message, VIEW("broken otherwise")));
}

static void a_failure_keeps_the_time_of_the_last_success(void **state)
{
	(void)state;
	struct source_state source = {0};
	struct error err;
	error_set(&err, ERROR_RETRY, 0, "broken");
	source_state_succeed(&source, 100, VIEW(""));
	source_state_succeed(&source, 200, VIEW(""));
	source_state_fail(&source, &err);
	assert_int_equal(source.said.observed_at, 200);
}

static void a_hang_is_a_failure_of_another_kind_and_news_once(void **state)
{
	(void)state;
	struct source_state source = {0};
	struct error err;
	error_set(&err, ERROR_RETRY, 0, "broken");
	source_state_succeed(&source, 100, VIEW(""));
	assert_true(source_state_hang(&source, &err));
	assert_int_equal(source.said.state, REPORT_SOURCE_ERROR);
	assert_true(source.said.hangs);
	assert_int_equal(source.said.observed_at, 100);
	assert_false(source_state_hang(&source, &err));
	assert_int_equal(source.said.hang_count, 1);
	assert_true(source_state_fail(&source, &err));
	assert_false(source.said.hangs);
	source_state_hang(&source, &err);
	assert_true(source_state_succeed(&source, 200, VIEW("")));
	assert_false(source.said.hangs);
	assert_int_equal(source.said.hang_count, 2);
	assert_int_equal(source.said.failures, 1);
}

static void what_was_there_and_is_gone_has_failed(void **state)
{
	(void)state;
	struct source_state source = {0};
	assert_true(source_state_vanish(&source, VIEW("no such library")));
	assert_int_equal(source.said.state, REPORT_SOURCE_ABSENT);
	assert_int_equal(source.said.failures, 0);
	source_state_succeed(&source, 100, VIEW(""));
	source_state_vanish(&source, VIEW("no such library"));
	assert_int_equal(source.said.state, REPORT_SOURCE_ERROR);
	/* However long ago it was. */
	source_state_vanish(&source, VIEW("no such device"));
	assert_int_equal(source.said.failures, 2);
	assert_int_equal(source.said.state, REPORT_SOURCE_ERROR);
}

static void a_long_message_is_cut_between_characters(void **state)
{
	(void)state;
	struct source_state source = {0};
	char text[LIMIT_REPORT_MESSAGE + 10];
	memset(text, 'x', sizeof(text));
	memcpy(text + LIMIT_REPORT_MESSAGE - 1, "\xc3\xa4", 2);
	source_state_succeed(&source, 1, (struct view){text, sizeof(text)});
	assert_int_equal(source.said.message.len, LIMIT_REPORT_MESSAGE - 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_source_starts_unknown_and_every_change_is_news),
	cmocka_unit_test(a_failure_keeps_the_time_of_the_last_success),
	cmocka_unit_test(a_hang_is_a_failure_of_another_kind_and_news_once),
	cmocka_unit_test(what_was_there_and_is_gone_has_failed),
	cmocka_unit_test(a_long_message_is_cut_between_characters),
};
TEST_MAIN(tests)
