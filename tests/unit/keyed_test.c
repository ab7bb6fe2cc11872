/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"
#include "lib/twins.h"

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

TEST(a_value_is_found_by_its_whole_key)
{
	static const char values[] = "abcde";
	struct keyed keyed = {.arena = &arena};
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
	struct keyed keyed = {.arena = &arena};
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
	keyed.arena = &arena;
	assert_null(keyed_first(&keyed, KEYED_KEY(VIEW(""))));
}

TEST(letters_count_in_either_case_unless_they_are_to_be_ignored)
{
	static const char values[] = "ab";
	for (int ignores_case = 0; ignores_case < 2; ignores_case++) {
		struct keyed keyed = {.arena = &arena, .ignores_case = ignores_case};
		keyed_add(&keyed, KEYED_KEY(VIEW("GPU-a"), VIEW("x")), &values[0]);
		keyed_add(&keyed, KEYED_KEY(VIEW("gpu-B"), VIEW("x")), &values[1]);
		assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("GPU-a"), VIEW("x"))), &values[0]);
		assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("gpu-A"), VIEW("X"))),
				 ignores_case ? &values[0] : NULL);
		assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("GPU-b"), VIEW("x"))),
				 ignores_case ? &values[1] : NULL);
		assert_null(keyed_find(&keyed, KEYED_KEY(VIEW("GPU-c"), VIEW("x"))));
	}
}

/* Their hashes are the same, so only comparing them tells them apart. */
TEST(keys_that_look_alike_are_not_mixed_up)
{
	const struct twins twins = twins_find();
	static const char values[] = "ab";
	struct keyed keyed = {.arena = &arena};
	keyed_add(&keyed, KEYED_KEY(twins.one), &values[0]);
	assert_null(keyed_find(&keyed, KEYED_KEY(twins.other)));
	keyed_add(&keyed, KEYED_KEY(twins.other), &values[1]);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(twins.one)), &values[0]);
	assert_null(keyed_next(&keyed, keyed_first(&keyed, KEYED_KEY(twins.one))));
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(twins.other)), &values[1]);
}

TEST(a_value_is_added_anew_only_where_its_key_is_not_there)
{
	static const char values[] = "abc";
	struct keyed keyed = {.arena = &arena};
	assert_true(keyed_add_new(&keyed, KEYED_KEY(VIEW("a")), &values[0]));
	assert_false(keyed_add_new(&keyed, KEYED_KEY(VIEW("a")), &values[1]));
	assert_true(keyed_add_new(&keyed, KEYED_KEY(VIEW("a"), VIEW("b")), &values[2]));
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("a"))), &values[0]);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("a"), VIEW("b"))), &values[2]);
	assert_int_equal(keyed.n, 2);
}

TEST(a_value_that_is_not_there_is_made_once)
{
	struct keyed keyed = {.arena = &arena};
	int *a = keyed_ensure(&keyed, KEYED_KEY(VIEW("a")), sizeof(*a));
	int *b = keyed_ensure(&keyed, KEYED_KEY(VIEW("b")), sizeof(*b));
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	assert_int_equal(*a, 0);
	assert_ptr_equal(keyed_ensure(&keyed, KEYED_KEY(VIEW("a")), sizeof(*a)), a);
	assert_ptr_equal(keyed_find(&keyed, KEYED_KEY(VIEW("b"))), b);
	assert_int_equal(keyed.n, 2);
	failing_malloc_at(1);
	assert_null(keyed_ensure(&keyed, KEYED_KEY(VIEW("c")), 2048));
	assert_true(failing_malloc_off());
	assert_null(keyed_find(&keyed, KEYED_KEY(VIEW("c"))));
}

/* Each value that was added is found, or the arena tells. */
TEST(without_memory_nothing_is_added_and_the_arena_knows)
{
	enum { N = 5000 };
	static char values[N];
	struct error err = {0};
	bool failed = true;
	unsigned k;
	for (k = 1; failed; k++) {
		tear_down(NULL);
		set_up(NULL);
		struct keyed keyed = {.arena = &arena};
		failing_malloc_at(k);
		for (size_t i = 0; i < N; i++)
			keyed_add(&keyed, KEYED_KEY(VIEW("x")), &values[i]);
		failed = failing_malloc_off();
		assert_int_equal(arena_check(&arena, &err), failed ? -1 : 0);
		assert_true(failed ? keyed.n < N : keyed.n == N);
	}
	assert_true(k > 2);
}

TESTS(set_up, tear_down)
