/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/hami_text.h"

static void parts_are_counted_with_and_without_empty_ones(void **state)
{
	static const struct {
		const char *text;
		size_t n, n_full;
	} rows[] = {
		{"", 0, 0},
		{"GPU-1,NVIDIA,1,1:;", 1, 1},
		{"GPU-1,NVIDIA,1,1:GPU-2,NVIDIA,1,1:;", 1, 1},
		{"GPU-1,NVIDIA,1,1:", 1, 1},
		{";GPU-1,NVIDIA,1,1:;", 2, 1},
		{"GPU-1,NVIDIA,1,1:;,NVIDIA,1,1:;GPU-2,NVIDIA,1,1:;", 3, 2},
		{";;", 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(hami_text_count(view_from(rows[i].text), true), rows[i].n);
		assert_int_equal(hami_text_count(view_from(rows[i].text), false), rows[i].n_full);
	}
}

static void the_uuid_of_a_device_comes_first(void **state)
{
	(void)state;
	assert_true(view_equal(hami_text_uuid(VIEW("GPU-1,NVIDIA,1,1")), VIEW("GPU-1")));
	assert_true(view_equal(hami_text_uuid(VIEW("GPU-1")), VIEW("GPU-1")));
	assert_true(hami_text_is_empty(VIEW(",NVIDIA,1,1")));
	assert_true(hami_text_is_empty(VIEW("")));
	assert_false(hami_text_is_empty(VIEW("GPU-1,NVIDIA,1,1:")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(parts_are_counted_with_and_without_empty_ones),
	cmocka_unit_test(the_uuid_of_a_device_comes_first),
};
TEST_MAIN(tests)
