/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test_main.h"

#include "base/wall_time.h"

static void a_moment_follows_a_clock_that_is_set_but_not_one_that_drifts(void **state)
{
	(void)state;
	static const struct {
		int64_t then, wall;
		uint64_t boot;
		int64_t told;
	} rows[] = {
		{900000, 1000000, 50000, 900000},
		{900000, 1002000, 50000, 900000},
		{900000, 998000, 50000, 900000},
		{900000, 1002001, 50000, 902001},
		{900000, 997999, 50000, 897999},
		/* An hour later, and the clock was set a minute back. */
		{900000, 4540000, 3650000, 840000},
		{900000, 50000, 50000, 1},
		{0, 4540000, 50000, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wall_time time = {0};
		if (rows[i].then)
			time = wall_time_of(rows[i].then, 1000000, 50000);
		wall_time_follow(&time, rows[i].wall, rows[i].boot);
		if (time.told != rows[i].told)
			fail_msg("row %zu: %lld", i, (long long)time.told);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_moment_follows_a_clock_that_is_set_but_not_one_that_drifts),
};
TEST_MAIN(tests)
