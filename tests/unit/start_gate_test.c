/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/start_gate.h"

#define N 5

static struct start_gate gate;
static struct start_gate_pass passes[N];

static int set_up(void **state)
{
	(void)state;
	start_gate_init(&gate, 2);
	for (unsigned i = 0; i < N; i++)
		start_gate_pass_init(&passes[i]);
	return 0;
}

static void so_many_pass_and_the_others_wait(void **state)
{
	(void)state;
	assert_true(start_gate_ask(&gate, &passes[0]));
	assert_true(start_gate_ask(&gate, &passes[1]));
	assert_false(start_gate_ask(&gate, &passes[2]));
	assert_false(start_gate_ask(&gate, &passes[3]));
}

static void who_asked_first_passes_first(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N; i++)
		(void)start_gate_ask(&gate, &passes[i]);
	(void)start_gate_ask(&gate, &passes[2]); /* again: its place stays */
	assert_ptr_equal(start_gate_return(&gate, &passes[0]), &passes[2]);
	assert_true(passes[2].is_held);
	assert_ptr_equal(start_gate_return(&gate, &passes[2]), &passes[3]);
	assert_ptr_equal(start_gate_return(&gate, &passes[1]), &passes[4]);
	assert_null(start_gate_return(&gate, &passes[4]));
	assert_null(start_gate_return(&gate, &passes[3]));
	assert_true(start_gate_ask(&gate, &passes[0]));
	assert_true(start_gate_ask(&gate, &passes[1]));
	assert_false(start_gate_ask(&gate, &passes[2]));
}

static void who_holds_a_pass_need_not_wait_for_another(void **state)
{
	(void)state;
	assert_true(start_gate_ask(&gate, &passes[0]));
	assert_true(start_gate_ask(&gate, &passes[0]));
	assert_true(start_gate_ask(&gate, &passes[1]));
	assert_true(start_gate_ask(&gate, &passes[0]));
}

static void who_waits_no_longer_is_passed_over(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N; i++)
		(void)start_gate_ask(&gate, &passes[i]);
	assert_null(start_gate_return(&gate, &passes[2]));
	assert_ptr_equal(start_gate_return(&gate, &passes[0]), &passes[3]);
	assert_false(passes[2].is_held);
}

static void what_is_not_held_cannot_be_given_back_twice(void **state)
{
	(void)state;
	assert_true(start_gate_ask(&gate, &passes[0]));
	assert_null(start_gate_return(&gate, &passes[0]));
	assert_null(start_gate_return(&gate, &passes[0]));
	assert_int_equal(gate.n_free, 2);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(so_many_pass_and_the_others_wait, set_up),
	cmocka_unit_test_setup(who_asked_first_passes_first, set_up),
	cmocka_unit_test_setup(who_holds_a_pass_need_not_wait_for_another, set_up),
	cmocka_unit_test_setup(who_waits_no_longer_is_passed_over, set_up),
	cmocka_unit_test_setup(what_is_not_held_cannot_be_given_back_twice, set_up),
};
TEST_MAIN(tests)
