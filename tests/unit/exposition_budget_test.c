/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/exposition_budget.h"

static int setup(void **state)
{
	(void)state;
	exposition_budget_set_cap(1000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	exposition_budget_give(exposition_budget_used());
	exposition_budget_set_cap(LIMIT_EXPOSITION_BYTES);
	return 0;
}

static void until_it_is_said_otherwise_it_is_the_most_that_it_may_be(void **state)
{
	(void)state;
	assert_int_equal(exposition_budget_left(), LIMIT_EXPOSITION_BYTES);
}

static void so_much_as_was_said_can_be_taken_and_no_more(void **state)
{
	(void)state;
	assert_true(exposition_budget_take(600));
	assert_int_equal(exposition_budget_left(), 400);
	assert_false(exposition_budget_take(401));
	assert_false(exposition_budget_take(SIZE_MAX - 500));
	assert_int_equal(exposition_budget_used(), 600);
	assert_true(exposition_budget_take(400));
	assert_int_equal(exposition_budget_left(), 0);
	assert_false(exposition_budget_take(1));
	exposition_budget_give(600);
	assert_int_equal(exposition_budget_left(), 600);
}

static void who_has_more_than_a_new_cap_keeps_it_and_nobody_gets_any(void **state)
{
	(void)state;
	assert_true(exposition_budget_take(600));
	exposition_budget_set_cap(500);
	assert_int_equal(exposition_budget_used(), 600);
	assert_int_equal(exposition_budget_left(), 0);
	assert_false(exposition_budget_take(1));
	exposition_budget_give(200);
	assert_int_equal(exposition_budget_left(), 100);
	assert_true(exposition_budget_take(100));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(until_it_is_said_otherwise_it_is_the_most_that_it_may_be),
	cmocka_unit_test_setup_teardown(so_much_as_was_said_can_be_taken_and_no_more, setup, teardown),
	cmocka_unit_test_setup_teardown(who_has_more_than_a_new_cap_keeps_it_and_nobody_gets_any, setup,
					teardown),
};
TEST_MAIN(tests)
