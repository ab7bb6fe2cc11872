/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/again.h"

static void the_sooner_time_counts_and_never_is_later_than_any(void **state)
{
	(void)state;
	static const struct {
		int64_t a, b, sooner;
	} rows[] = {{-1, -1, -1}, {-1, 0, 0}, {-1, 5, 5}, {0, 5, 0}, {4, 5, 4}, {5, 5, 5}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(again_sooner(rows[i].a, rows[i].b), rows[i].sooner);
		assert_int_equal(again_sooner(rows[i].b, rows[i].a), rows[i].sooner);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_sooner_time_counts_and_never_is_later_than_any),
};

TEST_MAIN(tests)
