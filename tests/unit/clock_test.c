/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <time.h>

#include "base/clock.h"

static void monotonic_time_never_goes_back(void **state)
{
	(void)state;
	uint64_t last_ms = clock_monotonic_ms();
	for (int i = 0; i < 1000; i++) {
		uint64_t ms = clock_monotonic_ms();
		assert_true(ms >= last_ms);
		last_ms = ms;
	}
}

static void time_since_boot_counts_suspends_too(void **state)
{
	(void)state;
	uint64_t before = clock_monotonic_ms();
	assert_true(clock_boot_ms() >= before);
}

static void wall_time_is_the_systems(void **state)
{
	(void)state;
	int64_t before = (int64_t)time(NULL);
	int64_t wall = clock_wall_ms() / 1000;
	/* time() may lag behind by one tick of the kernel. */
	assert_true(wall >= before && wall <= (int64_t)time(NULL) + 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(monotonic_time_never_goes_back),
	cmocka_unit_test(time_since_boot_counts_suspends_too),
	cmocka_unit_test(wall_time_is_the_systems),
};
TEST_MAIN(tests)
