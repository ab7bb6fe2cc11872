/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * test_main - the main function of a test program and what cmocka needs included before it.
 *
 * A test enters itself into the program's list, in the order of the file:
 *	TEST(what_is_promised) { ... }
 *	TESTS(set_up, tear_down) - at the end; each test has these two, which may be NULL
 * Tests that do not all have the same two are listed instead:
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
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

#define TEST_MAIN_MAX 128u /* tests of a program that enter themselves */

static struct CMUnitTest test_main_entered[TEST_MAIN_MAX];
static size_t test_main_n_entered;

/* Adds a test to the list. */
static inline void test_main_enter(const char *name, CMUnitTestFunction test)
{
	if (test_main_n_entered == TEST_MAIN_MAX)
		abort();
	test_main_entered[test_main_n_entered++] = (struct CMUnitTest){name, test, NULL, NULL, NULL};
}

/* A test, which is in the list before main() begins. */
#define TEST(name)                                                     \
	static void name(void **state);                                \
	__attribute__((constructor)) static void enter_##name(void)    \
	{                                                              \
		test_main_enter(#name, name);                          \
	}                                                              \
	static void name(__attribute__((unused)) void **state)
/* For a list: a test with set_up() before and tear_down() after it. */
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

/* Gives each test that has entered itself these two. */
static inline void test_main_equip(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	for (size_t i = 0; i < test_main_n_entered; i++) {
		test_main_entered[i].setup_func = set_up;
		test_main_entered[i].teardown_func = tear_down;
	}
}

/* Runs the tests that have entered themselves; the program's exit status. */
static inline int test_main_run(int argc, char **argv, CMFixtureFunction set_up,
				CMFixtureFunction tear_down)
{
	if (!test_main_select(argc, argv, test_main_entered, test_main_n_entered))
		return 2;
	test_main_equip(set_up, tear_down);
	return _cmocka_run_group_tests("tests", test_main_entered, test_main_n_entered, NULL, NULL);
}

#define TESTS(set_up, tear_down)                                     \
	int main(int argc, char **argv)                              \
	{                                                            \
		return test_main_run(argc, argv, set_up, tear_down); \
	}
