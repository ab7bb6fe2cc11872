/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * test_main - the main function of a test program and what cmocka needs included before it.
 *
 * A test file ends in
 *	static const struct CMUnitTest tests[] = { cmocka_unit_test(first), ... };
 *	TEST_MAIN(tests)
 * Without an argument the program runs all tests; with one, the test of that name, which is how
 * ctest gives each test a process of its own.
 *
 * Threads: the main thread of a test program.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

/* A test; and its entry in the list, where each test has set_up() before and tear_down() after it. */
#define TEST(name) static void name(__attribute__((unused)) void **state)
#define cmocka_unit_test_set_up(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#define TEST_MAIN(tests) TEST_MAIN_WITH(tests, NULL, NULL)

/* TEST_MAIN() with a function that runs before and one that runs after all tests. */
#define TEST_MAIN_WITH(tests, setup, teardown)                                \
	int main(int argc, char **argv)                                       \
	{                                                                     \
		if (!test_main_select(argc, argv, tests, ARRAY_SIZE(tests)))  \
			return 2;                                             \
		return cmocka_run_group_tests(tests, setup, teardown);        \
	}

/* False when argv[1] names no test: a run of nothing must not look like a success. */
static inline bool test_main_select(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
	if (argc < 2)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(tests[i].name, argv[1]) == 0) {
			cmocka_set_test_filter(argv[1]);
			return true;
		}
	}
	fprintf(stderr, "no test is called %s\n", argv[1]);
	return false;
}
