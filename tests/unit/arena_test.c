/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdalign.h>

#include "base/arena.h"

static void memory_is_zeroed_and_aligned(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 20);
	for (size_t size = 1; size < 3000; size += 7) {
		unsigned char *memory = arena_alloc(&arena, 1, size);
		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xff, size);
	}
}

static void memory_is_zeroed_again_after_a_reset(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 20);
	memset(arena_alloc(&arena, 1, 500), 0xff, 500);
	arena_reset(&arena);
	const unsigned char *memory = arena_alloc(&arena, 1, 500);
	for (size_t i = 0; i < 500; i++)
		assert_int_equal(memory[i], 0);
}

static void pieces_do_not_overlap(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 16u << 20);
	static const size_t sizes[] = {1, 16, 17, 900, 5000, 1, 70000, 3, 65536, 1024};
	unsigned char *pieces[200];
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		size_t size = sizes[i % ARRAY_SIZE(sizes)];
		pieces[i] = arena_alloc(&arena, size, 1);
		assert_non_null(pieces[i]);
		memset(pieces[i], (int)(i + 1), size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		size_t size = sizes[i % ARRAY_SIZE(sizes)];
		assert_int_equal(pieces[i][0], i + 1);
		assert_int_equal(pieces[i][size - 1], i + 1);
	}
}

static void the_cap_holds_and_what_fits_is_given(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 10000);
	assert_null(arena_alloc(&arena, 1, 10001));
	assert_non_null(arena_alloc(&arena, 1, 4000));
	assert_non_null(arena_alloc(&arena, 1, 6000));
	assert_null(arena_alloc(&arena, 1, 64));
	assert_true(arena.allocated <= 10000);
	struct view copy = VIEW("kept");
	struct error err = {0};
	assert_false(arena_copy(&arena, VIEW("does not fit any more, for it is too long"), &copy));
	assert_int_equal(arena_keep(&arena, VIEW("nor does this, which is as long as that"), &copy, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_true(view_equal(copy, VIEW("kept")));
}

static void overflowing_products_are_refused(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, SIZE_MAX);
	assert_null(arena_alloc(&arena, SIZE_MAX / 2, 3));
	assert_null(arena_alloc(&arena, SIZE_MAX, 1));
	assert_false(arena_copy(&arena, (struct view){"", SIZE_MAX}, NULL));
}

static void nothing_is_a_valid_pointer_and_costs_nothing(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 0);
	assert_non_null(arena_alloc(&arena, 0, 8));
	assert_non_null(arena_alloc(&arena, 8, 0));
	assert_int_equal(arena.allocated, 0);
}

static void copies_end_in_a_nul_and_may_be_empty(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 16);
	struct view copy;
	assert_true(arena_copy(&arena, VIEW("a\0b"), &copy));
	assert_true(view_equal(copy, VIEW("a\0b")));
	assert_int_equal(copy.ptr[3], '\0');
	struct error err;
	assert_int_equal(arena_keep(&arena, VIEW("b"), &copy, &err), 0);
	assert_string_equal(copy.ptr, "b");
	assert_true(arena_copy(&arena, (struct view){NULL, 0}, &copy));
	assert_string_equal(copy.ptr, "");
}

static void reset_keeps_one_chunk_and_deinit_none(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena, 1u << 20);
	for (int i = 0; i < 1000; i++)
		assert_non_null(arena_alloc(&arena, 1, 512));
	arena_reset(&arena);
	size_t kept = arena.allocated;
	assert_in_range(kept, 1, 65536);
	failing_malloc_at(1);
	assert_non_null(arena_alloc(&arena, 1, 512));
	assert_false(failing_malloc_off());
	arena_deinit(&arena);
	assert_int_equal(arena.allocated, 0);
	arena_deinit(&arena);
	arena_reset(&arena);
}

static void joined_memory_stays_where_it_is(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena to;
	struct arena from;
	arena_init(&to, 4096);
	arena_init(&from, 1u << 20);
	struct view a, b;
	assert_true(arena_copy(&to, VIEW("first"), &a));
	assert_true(arena_copy(&from, VIEW("second"), &b));
	assert_non_null(arena_alloc(&from, 1, 100000));
	arena_join(&to, &from);
	assert_int_equal(from.allocated, 0);
	assert_null(from.chunks);
	arena_deinit(&from);
	assert_true(view_equal(a, VIEW("first")));
	assert_true(view_equal(b, VIEW("second")));
	/* The join took it over its cap: it holds what it has and takes no more chunks. */
	assert_null(arena_alloc(&to, 1, 4000));
	arena_join(&to, &from);
}

static void lack_of_memory_leaves_the_arena_usable(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1u << 20);
	failing_malloc_at(1);
	assert_null(arena_alloc(&arena, 1, 10));
	assert_true(failing_malloc_off());
	assert_int_equal(arena.allocated, 0);
	assert_non_null(arena_alloc(&arena, 1, 10));
}

static void a_failure_is_remembered_until_the_arena_is_empty(void **state)
{
	(void)state;
	struct view copy;
	for (int i = 0; i < 5; i++) {
		struct arena arena, from;
		struct error err = {0};
		arena_init(&arena, 4096);
		arena_init(&from, 4096);
		assert_non_null(arena_alloc(&arena, 1, 10));
		assert_int_equal(arena_check(&arena, &err), 0);
		if (i == 0)
			assert_null(arena_alloc(&arena, 1, 5000));
		else if (i == 1)
			assert_null(arena_alloc(&arena, SIZE_MAX, 2));
		else if (i == 2)
			assert_false(arena_copy(&arena, (struct view){"", 5000}, &copy));
		else if (i == 3)
			assert_false(arena_copy(&arena, (struct view){"", SIZE_MAX}, &copy));
		else
			assert_null(arena_alloc(&from, 1, 5000));
		arena_join(&arena, &from);
		assert_int_equal(arena_check(&from, &err), 0);
		assert_non_null(arena_alloc(&arena, 1, 10));
		assert_int_equal(arena_check(&arena, &err), -1);
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
		if (i % 2)
			arena_reset(&arena);
		else
			arena_deinit(&arena);
		assert_int_equal(arena_check(&arena, &err), 0);
		arena_deinit(&arena);
	}
}

/* Stands in for the C library's: what is wiped in all. */
static size_t n_wiped;

void explicit_bzero(void *bytes, size_t n)
{
	memset(bytes, 0, n);
	n_wiped += n;
}

static void secrets_are_wiped_with_their_chunks(void **state)
{
	(void)state;
	struct arena arena;
	n_wiped = 0;
	arena_init_secret(&arena, 1u << 20);
	for (int i = 0; i < 100; i++)
		assert_non_null(arena_alloc(&arena, 1, 512));
	const size_t all = arena.allocated;
	arena_reset(&arena);
	assert_int_equal(n_wiped, all - arena.allocated);
	arena_deinit(&arena);
	assert_int_equal(n_wiped, all);
	assert_true(arena.is_secret);
	/* Others are not. */
	arena_init(&arena, 1u << 20);
	assert_non_null(arena_alloc(&arena, 1, 512));
	arena_deinit(&arena);
	assert_int_equal(n_wiped, all);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(secrets_are_wiped_with_their_chunks),
	cmocka_unit_test(memory_is_zeroed_and_aligned),
	cmocka_unit_test(memory_is_zeroed_again_after_a_reset),
	cmocka_unit_test(pieces_do_not_overlap),
	cmocka_unit_test(the_cap_holds_and_what_fits_is_given),
	cmocka_unit_test(overflowing_products_are_refused),
	cmocka_unit_test(nothing_is_a_valid_pointer_and_costs_nothing),
	cmocka_unit_test(copies_end_in_a_nul_and_may_be_empty),
	cmocka_unit_test(reset_keeps_one_chunk_and_deinit_none),
	cmocka_unit_test(joined_memory_stays_where_it_is),
	cmocka_unit_test(lack_of_memory_leaves_the_arena_usable),
	cmocka_unit_test(a_failure_is_remembered_until_the_arena_is_empty),
};
TEST_MAIN(tests)
