/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/lookup.h"

#define N 1000u

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1u << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static void every_element_is_found_by_its_hash(void **state)
{
	(void)state;
	struct lookup lookup;
	struct error err;

	assert_int_equal(lookup_make(&lookup, N, &arena, &err), 0);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(lookup_add(&lookup, i * 7), i);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(lookup_first(&lookup, i * 7), i);
		assert_int_equal(lookup_next(&lookup, i), LOOKUP_END);
	}
	assert_int_equal(lookup_first(&lookup, 1), LOOKUP_END);
	assert_int_equal(lookup_first(&lookup, N * 7), LOOKUP_END);
}

static void elements_of_one_hash_come_the_last_first_and_others_are_passed_over(void **state)
{
	(void)state;
	struct lookup lookup;
	struct error err;

	assert_int_equal(lookup_make(&lookup, 5, &arena, &err), 0);
	lookup_add(&lookup, 3);
	lookup_add(&lookup, 3 + 8); /* the same bucket */
	lookup_add(&lookup, 3);
	lookup_add(&lookup, 3 + 16);
	lookup_add(&lookup, 4);
	assert_int_equal(lookup_first(&lookup, 3), 2);
	assert_int_equal(lookup_next(&lookup, 2), 0);
	assert_int_equal(lookup_next(&lookup, 0), LOOKUP_END);
	assert_int_equal(lookup_first(&lookup, 3 + 8), 1);
	assert_int_equal(lookup_first(&lookup, 3 + 24), LOOKUP_END);
}

static void an_empty_one_has_nothing(void **state)
{
	(void)state;
	struct lookup zeroed = {0}, made;
	struct error err;

	assert_int_equal(lookup_first(&zeroed, 0), LOOKUP_END);
	assert_int_equal(lookup_make(&made, 0, &arena, &err), 0);
	assert_int_equal(lookup_first(&made, 0), LOOKUP_END);
}

static void one_that_does_not_fit_the_arena_is_not_made(void **state)
{
	(void)state;
	struct lookup lookup;
	struct error err;

	assert_int_equal(lookup_make(&lookup, 1u << 20, &arena, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

static void the_order_of_parts_counts_and_where_they_are_cut(void **state)
{
	(void)state;
	uint32_t ab = lookup_hash(lookup_hash(0, VIEW("a")), VIEW("b"));

	assert_int_equal(ab, lookup_hash(lookup_hash(0, VIEW("a")), VIEW("b")));
	assert_int_not_equal(ab, lookup_hash(lookup_hash(0, VIEW("b")), VIEW("a")));
	assert_int_not_equal(ab, lookup_hash(lookup_hash(0, VIEW("ab")), VIEW("")));
	assert_int_not_equal(ab, lookup_hash(0, VIEW("ab")));
}

static void case_does_not_count_where_it_shall_not(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"GPU-AbCdEf", "gpu-aBcDeF"},
		{"", ""},
		{"ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ1",
		 "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(lookup_hash_ignoring_case(0, view_from(rows[i][0])),
				 lookup_hash_ignoring_case(0, view_from(rows[i][1])));
	assert_int_not_equal(lookup_hash_ignoring_case(0, VIEW("a[")),
			     lookup_hash_ignoring_case(0, VIEW("a{")));
	assert_int_not_equal(lookup_hash_ignoring_case(0, VIEW("a")),
			     lookup_hash_ignoring_case(0, VIEW("b")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(every_element_is_found_by_its_hash, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		elements_of_one_hash_come_the_last_first_and_others_are_passed_over, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(an_empty_one_has_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_does_not_fit_the_arena_is_not_made, set_up,
					tear_down),
	cmocka_unit_test(the_order_of_parts_counts_and_where_they_are_cut),
	cmocka_unit_test(case_does_not_count_where_it_shall_not),
};
TEST_MAIN(tests)
