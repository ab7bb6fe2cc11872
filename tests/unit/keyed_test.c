/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/keyed.h"

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1u << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static struct keyed make(size_t n)
{
	struct keyed keyed;
	struct error err;
	assert_int_equal(keyed_make(&keyed, n, &arena, &err), 0);
	return keyed;
}

TEST(a_value_is_found_by_its_whole_key)
{
	static const char values[] = "abcde";
	struct keyed keyed = make(5);
	keyed_add(&keyed, KEYED_KEY(VIEW("u1"), VIEW("main")), &values[0]);
	keyed_add(&keyed, KEYED_KEY(VIEW("u1")), &values[1]);
	keyed_add(&keyed, KEYED_KEY(VIEW("main"), VIEW("u1")), &values[2]);
	keyed_add(&keyed, KEYED_KEY(VIEW("u1"), VIEW(""), VIEW("main")), &values[3]);
	keyed_add(&keyed, KEYED_KEY(VIEW("u1"), VIEW("main"), VIEW("ml")), &values[4]);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("u1"), VIEW("main"))), &values[0]);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("u1"))), &values[1]);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("main"), VIEW("u1"))), &values[2]);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("u1"), VIEW(""), VIEW("main"))), &values[3]);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("u1"), VIEW("main"), VIEW("ml"))), &values[4]);
	assert_null(keyed_find(&keyed, KEYED_KEY(VIEW("u2"))));
	assert_null(keyed_find(&keyed, KEYED_KEY(VIEW("u1"), VIEW("mai"))));
}

TEST(values_of_one_key_come_the_last_first_and_others_not_at_all)
{
	enum { N = 1000 };
	static char values[N];
	struct keyed keyed = make(N);
	for (size_t i = 0; i < N; i++) {
		char *name = arena_alloc(&arena, 8, 1);
		assert_non_null(name);
		int len = snprintf(name, 8, "%zu", i % 100);
		keyed_add(&keyed, KEYED_KEY((struct view){name, (size_t)len}), &values[i]);
	}
	size_t expected = N + 7;
	KEYED_EACH(item, &keyed, KEYED_KEY(VIEW("7")))
		assert_ptr_equal(item->value, &values[expected -= 100]);
	assert_int_equal(expected, 7);
}

TEST(a_zeroed_one_is_empty)
{
	struct keyed keyed = {0};
	assert_null(keyed_find(&keyed, KEYED_KEY(VIEW(""))));
	keyed = make(0);
	assert_null(keyed_first(&keyed, KEYED_KEY(VIEW(""))));
}

TEST(without_memory_none_is_made)
{
	struct error err = {0};
	bool failed = true;
	unsigned k;
	for (k = 1; failed; k++) {
		struct keyed keyed;
		tear_down(NULL);
		set_up(NULL);
		failing_malloc_at(k);
		int result = keyed_make(&keyed, 10000, &arena, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_true(!failed || err.kind == ERROR_NO_MEMORY);
	}
	assert_true(k > 2);
}

TESTS(set_up, tear_down)
