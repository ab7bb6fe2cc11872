/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/prng.h"

static void the_published_sequence_comes_out(void **state)
{
	(void)state;
	/* The reference implementation of splitmix64 with seed 1234567. */
	static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
					    9817491932198370423u, 4593380528125082431u};
	struct prng prng;
	prng_init(&prng, 1234567);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_true(prng_next(&prng) == expected[i]);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
	(void)state;
	struct prng a, b;
	prng_init(&a, 42);
	prng_init(&b, 42);
	for (int i = 0; i < 100; i++)
		assert_true(prng_between(&a, 3, 90) == prng_between(&b, 3, 90));
}

static void a_range_is_filled_to_both_ends_and_not_left(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 1);
	unsigned hits[7] = {0};
	for (int i = 0; i < 7000; i++) {
		uint64_t drawn = prng_between(&prng, 10, 16);
		assert_in_range(drawn, 10, 16);
		hits[drawn - 10]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hits); i++)
		assert_in_range(hits[i], 850, 1150);
}

static void ranges_at_the_edge_are_whole(void **state)
{
	(void)state;
	struct prng prng;
	prng_init(&prng, 1);
	assert_true(prng_between(&prng, 5, 5) == 5);
	assert_true(prng_between(&prng, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	uint64_t any = 0;
	for (int i = 0; i < 64; i++)
		any |= prng_between(&prng, 0, UINT64_MAX);
	assert_true(any == UINT64_MAX);
}

static void entropy_differs_from_call_to_call(void **state)
{
	(void)state;
	assert_true(prng_entropy() != prng_entropy());
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_published_sequence_comes_out),
	cmocka_unit_test(the_same_seed_gives_the_same_numbers),
	cmocka_unit_test(a_range_is_filled_to_both_ends_and_not_left),
	cmocka_unit_test(ranges_at_the_edge_are_whole),
	cmocka_unit_test(entropy_differs_from_call_to_call),
};
TEST_MAIN(tests)
