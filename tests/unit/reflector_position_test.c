/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/reflector_position.h"

static struct reflector_position position;

static int set_up(void **state)
{
	(void)state;
	reflector_position_init(&position);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	reflector_position_deinit(&position);
	return 0;
}

static struct object_meta event(const char *version)
{
	return (struct object_meta){
		.resource_version = view_from(version),
		.version = object_meta_version(view_from(version)),
	};
}

static void assert_at(const char *version, uint64_t number, uint64_t n_rewinds)
{
	assert_true(view_equal(sbuf_view(&position.version), view_from(version)));
	assert_int_equal(position.number, number);
	assert_int_equal(position.n_rewinds, n_rewinds);
}

static void events_move_it_forward_only(void **state)
{
	(void)state;
	const struct object_meta newer = event("8"), same = event("8"), older = event("7");
	reflector_position_set(&position, VIEW("5"));
	assert_true(reflector_position_advance(&position, &newer));
	assert_at("8", 8, 0);
	assert_false(reflector_position_advance(&position, &same));
	assert_false(reflector_position_is_replay(&position, &same));
	assert_at("8", 8, 0);
	assert_false(reflector_position_advance(&position, &older));
	assert_true(reflector_position_is_replay(&position, &older));
	assert_at("8", 8, 2);
}

static void a_complete_list_may_set_it_back(void **state)
{
	(void)state;
	reflector_position_set(&position, VIEW("8"));
	reflector_position_set(&position, VIEW("5"));
	assert_at("5", 5, 1);
}

static void a_version_that_is_no_number_is_taken_as_newer(void **state)
{
	(void)state;
	const struct object_meta odd = event("x");
	reflector_position_set(&position, VIEW("8"));
	assert_false(reflector_position_is_replay(&position, &odd));
	assert_true(reflector_position_advance(&position, &odd));
	assert_at("x", 0, 0);
}

static void a_forgotten_version_leaves_its_number(void **state)
{
	(void)state;
	reflector_position_set(&position, VIEW("8"));
	reflector_position_forget(&position);
	assert_at("", 8, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(events_move_it_forward_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_complete_list_may_set_it_back, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_version_that_is_no_number_is_taken_as_newer, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_forgotten_version_leaves_its_number, set_up, tear_down),
};

TEST_MAIN(tests)
