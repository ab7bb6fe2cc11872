/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_hash.h"

TEST(hashes_are_the_same_in_each_run_and_version)
{
	assert_int_equal(drift_hash_number(0, 0), 0x9be17165);
	assert_int_equal(drift_hash_number(0, INT64_C(0x0102030405060708)), 0xb37ef675);
	assert_int_equal(drift_hash_number(0, -1), 0x6cae0a5d);
	assert_int_equal(drift_hash(0, VIEW("a")), 0x889c903f);
	assert_int_equal(drift_hash(0, VIEW("ab")), 0xa9a82370);
}

TEST(a_hash_is_of_all_values_in_their_order)
{
	const uint32_t a = drift_hash(0, VIEW("a"));

	assert_int_equal(drift_hash(a, VIEW("b")), 0x463ad094);
	assert_int_equal(drift_hash_number(a, 7), 0xb2eb5f38);
	assert_int_not_equal(drift_hash(drift_hash(0, VIEW("b")), VIEW("a")), 0x463ad094);
}

/* 0 says that there is none. These two would have it. */
TEST(a_hash_that_would_be_0_is_1)
{
	assert_int_equal(drift_hash_number(0, INT64_C(0x6300000001a875f0)), 1);
	assert_int_equal(drift_hash(0, VIEW("zghfmai")), 1);
}

TEST(values_are_told_apart_however_they_are_cut)
{
	const uint32_t ab_c = drift_hash(drift_hash(0, VIEW("ab")), VIEW("c"));
	const uint32_t a_bc = drift_hash(drift_hash(0, VIEW("a")), VIEW("bc"));

	assert_int_not_equal(ab_c, a_bc);
	assert_int_not_equal(drift_hash(0, VIEW("")), 0);
	assert_int_not_equal(drift_hash_number(0, 1), drift_hash_number(0, 2));
}

TESTS(NULL, NULL)
