/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_hash.h"

TEST(hashes_are_the_same_in_each_run_and_version)
{
	assert_int_equal(drift_hash_number(0, 0), 0x9be17165);
	assert_int_equal(drift_hash(0, VIEW("a")), 0x889c903f);
}

TEST(values_are_told_apart_however_they_are_cut)
{
	const uint32_t ab_c = drift_hash(drift_hash(0, VIEW("ab")), VIEW("c"));
	const uint32_t a_bc = drift_hash(drift_hash(0, VIEW("a")), VIEW("bc"));

	assert_int_not_equal(ab_c, a_bc);
	assert_int_not_equal(drift_hash(0, VIEW("")), 0);
	assert_int_not_equal(drift_hash_number(0, 1), drift_hash_number(0, 2));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hashes_are_the_same_in_each_run_and_version),
	cmocka_unit_test(values_are_told_apart_however_they_are_cut),
};
TEST_MAIN(tests)
