/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/wiped_memory.h"
#include "lib/failing_malloc.h"

/* Stands in for the C library's: what is wiped in all. */
static size_t n_wiped;

void explicit_bzero(void *bytes, size_t n)
{
	memset(bytes, 0, n);
	n_wiped += n;
}

static int begin(void **state)
{
	(void)state;
	n_wiped = 0;
	return 0;
}

TEST(a_block_is_wiped_before_it_is_free)
{
	char *block = wiped_memory_allocate(100);
	const size_t size = malloc_usable_size(block);
	memset(block, 's', 100);
	wiped_memory_free(block);
	assert_int_equal(n_wiped, size);
	wiped_memory_free(NULL);
	assert_int_equal(n_wiped, size);
}

TEST(a_block_that_moves_keeps_its_bytes_and_leaves_none_behind)
{
	char *block = wiped_memory_copy_text("a token");
	const size_t size = malloc_usable_size(block);
	block = wiped_memory_resize(block, 5000);
	assert_string_equal(block, "a token");
	assert_int_equal(n_wiped, size);
	const size_t large = malloc_usable_size(block);
	block = wiped_memory_resize(block, 8);
	assert_string_equal(block, "a token");
	assert_int_equal(n_wiped, size + large);
	wiped_memory_free(block);
}

TEST(sizes_of_nothing_are_as_the_c_library_has_them)
{
	char *block = wiped_memory_resize(NULL, 10);
	assert_non_null(block);
	assert_null(wiped_memory_resize(block, 0));
	assert_true(n_wiped >= 10);
	block = wiped_memory_allocate_zeroed(3, 10);
	for (size_t i = 0; i < 30; i++)
		assert_int_equal(block[i], 0);
	wiped_memory_free(block);
}

TEST(without_memory_a_block_stays_as_it_is)
{
	char *block = wiped_memory_copy_text("a token");
	failing_malloc_at(1);
	assert_null(wiped_memory_resize(block, 5000));
	assert_true(failing_malloc_off());
	assert_string_equal(block, "a token");
	assert_int_equal(n_wiped, 0);
	wiped_memory_free(block);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(a_block_is_wiped_before_it_is_free, begin),
	cmocka_unit_test_setup(a_block_that_moves_keeps_its_bytes_and_leaves_none_behind, begin),
	cmocka_unit_test_setup(sizes_of_nothing_are_as_the_c_library_has_them, begin),
	cmocka_unit_test_setup(without_memory_a_block_stays_as_it_is, begin),
};
TEST_MAIN(tests)
