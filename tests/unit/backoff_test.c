/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/backoff.h"

static void waits_double_and_jitter_at_most_doubles_them(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 1);
	for (int run = 0; run < 100; run++) {
		struct backoff backoff;
		backoff_init(&backoff, 100, 1000000);
		for (uint32_t delay = 100; delay <= 12800; delay *= 2)
			assert_in_range(backoff_next(&backoff, &prng), delay, 2 * delay);
	}
}

static void no_wait_is_above_the_cap_however_many_failures(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 2);
	struct backoff backoff;
	backoff_init(&backoff, 800, 30000);
	for (int i = 0; i < 200; i++)
		assert_in_range(backoff_next(&backoff, &prng), 800, 30000);
	assert_int_equal(backoff_next(&backoff, &prng), 30000);
	backoff.failures = UINT32_MAX;
	assert_int_equal(backoff_next(&backoff, &prng), 30000);
	assert_int_equal(backoff.failures, UINT32_MAX);
}

static void the_largest_cap_does_not_overflow(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 3);
	struct backoff backoff;
	backoff_init(&backoff, UINT32_MAX, UINT32_MAX);
	for (int i = 0; i < 40; i++)
		assert_int_equal(backoff_next(&backoff, &prng), UINT32_MAX);
}

static void a_success_starts_from_the_base_again(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 4);
	struct backoff backoff;
	backoff_init(&backoff, 10, 100000);
	for (int i = 0; i < 8; i++)
		backoff_next(&backoff, &prng);
	backoff_reset(&backoff);
	assert_in_range(backoff_next(&backoff, &prng), 10, 20);
}

static void two_clients_do_not_wait_in_step(void **state)
{
	(void)state;
	struct prng a, b;
	prng_init(&a, 5);
	prng_init(&b, 6);
	struct backoff first, second;
	backoff_init(&first, 1000, 60000);
	backoff_init(&second, 1000, 60000);
	unsigned same = 0;
	for (int i = 0; i < 5; i++)
		same += backoff_next(&first, &a) == backoff_next(&second, &b);
	assert_int_equal(same, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(waits_double_and_jitter_at_most_doubles_them),
	cmocka_unit_test(no_wait_is_above_the_cap_however_many_failures),
	cmocka_unit_test(the_largest_cap_does_not_overflow),
	cmocka_unit_test(a_success_starts_from_the_base_again),
	cmocka_unit_test(two_clients_do_not_wait_in_step),
};
TEST_MAIN(tests)
