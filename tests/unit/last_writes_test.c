/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/last_writes.h"

static void the_lease_is_given_up_once_when_no_write_is_under_way(void **state)
{
	(void)state;
	struct last_writes last = {0};
	assert_true(last_writes_begin(&last, 5000));
	assert_true(last.has_begun);
	assert_int_equal(last_writes_next(&last, 2, 5000), LAST_WRITES_WAIT);
	assert_int_equal(last_writes_next(&last, 1, 5010), LAST_WRITES_WAIT);
	assert_int_equal(last_writes_next(&last, 0, 5020), LAST_WRITES_RELEASE);
	assert_int_equal(last_writes_next(&last, 0, 5030), LAST_WRITES_WAIT);
}

static void without_a_write_the_lease_is_given_up_at_once(void **state)
{
	(void)state;
	struct last_writes last = {0};
	assert_true(last_writes_begin(&last, 0));
	assert_int_equal(last_writes_next(&last, 0, 0), LAST_WRITES_RELEASE);
}

static void a_lease_under_which_something_is_written_is_left_to_run_out(void **state)
{
	(void)state;
	struct last_writes last = {0};
	assert_true(last_writes_begin(&last, 5000));
	assert_int_equal(last_writes_next(&last, 1, 5000 + LAST_WRITES_MS - 1), LAST_WRITES_WAIT);
	assert_int_equal(last_writes_next(&last, 1, 5000 + LAST_WRITES_MS), LAST_WRITES_END);
	assert_false(last.is_releasing);
}

static void a_release_that_is_not_answered_ends_in_time(void **state)
{
	(void)state;
	struct last_writes last = {0};
	assert_true(last_writes_begin(&last, 5000));
	assert_int_equal(last_writes_next(&last, 0, 5000), LAST_WRITES_RELEASE);
	assert_int_equal(last_writes_next(&last, 0, 5000 + LAST_WRITES_MS), LAST_WRITES_END);
}

static void events_may_be_sent_for_a_moment_after_the_signal(void **state)
{
	(void)state;
	struct last_writes last = {0};
	assert_int_equal(last_writes_events_ms(&last, 5000), UINT32_MAX);
	assert_true(last_writes_begin(&last, 5000));
	assert_int_equal(last_writes_events_ms(&last, 5000), LAST_WRITES_EVENTS_MS);
	assert_int_equal(last_writes_events_ms(&last, 5001), LAST_WRITES_EVENTS_MS - 1);
	assert_int_equal(last_writes_events_ms(&last, 5000 + LAST_WRITES_EVENTS_MS), 0);
	assert_int_equal(last_writes_events_ms(&last, 900000), 0);
}

static void the_second_signal_ends_it_at_once(void **state)
{
	(void)state;
	struct last_writes last = {0};
	assert_true(last_writes_begin(&last, 5000));
	assert_false(last_writes_begin(&last, 5001));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_lease_is_given_up_once_when_no_write_is_under_way),
	cmocka_unit_test(without_a_write_the_lease_is_given_up_at_once),
	cmocka_unit_test(a_lease_under_which_something_is_written_is_left_to_run_out),
	cmocka_unit_test(a_release_that_is_not_answered_ends_in_time),
	cmocka_unit_test(events_may_be_sent_for_a_moment_after_the_signal),
	cmocka_unit_test(the_second_signal_ends_it_at_once),
};
TEST_MAIN(tests)
