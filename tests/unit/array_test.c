/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/array.h"

static void a_loop_visits_each_element_in_order_and_none_of_nothing(void **state)
{
	(void)state;
	static const int numbers[] = {1, 2, 3};
	const struct array arrays[] = {{0}, array_of(numbers, 0), array_of(numbers, 1), array_of(numbers, 3)};
	static const int sums[] = {0, 0, 1, 123};

	for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
		int sum = 0;
		ARRAY_EACH(const int, number, arrays[i])
			sum = 10 * sum + *number;
		assert_int_equal(sum, sums[i]);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_loop_visits_each_element_in_order_and_none_of_nothing),
};

TEST_MAIN(tests)
