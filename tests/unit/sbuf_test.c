/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/sbuf.h"

static void appends_come_out_in_order(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 1000);
	sbuf_append(&buf, VIEW("one"));
	sbuf_append_char(&buf, ' ');
	sbuf_printf(&buf, "%s-%d", "two", 3);
	sbuf_append(&buf, (struct view){NULL, 0});
	assert_true(view_equal(sbuf_view(&buf), VIEW("one two-3")));
	assert_string_equal(sbuf_text(&buf), "one two-3");
	assert_int_equal(buf.len, 9);
}

static void the_cap_can_be_filled_but_not_passed(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 600; cap++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		struct error err;
		sbuf_init(&buf, cap);
		for (size_t i = 0; i < cap; i++)
			sbuf_append_char(&buf, 'x');
		assert_int_equal(sbuf_check(&buf, "text", &err), 0);
		assert_int_equal(strlen(sbuf_text(&buf)), cap);
		sbuf_append_char(&buf, 'x');
		assert_int_equal(sbuf_check(&buf, "text", &err), -1);
		assert_int_equal(err.kind, ERROR_LIMIT);
		assert_int_equal(buf.len, cap);
	}
}

static void formatted_text_can_fill_the_cap_too(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 300; cap++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		struct error err;
		sbuf_init(&buf, cap);
		sbuf_printf(&buf, "%*s", (int)cap, "");
		assert_int_equal(sbuf_check(&buf, "text", &err), 0);
		assert_int_equal(buf.len, cap);
		sbuf_printf(&buf, "%c", 'x');
		assert_int_equal(sbuf_check(&buf, "text", &err), -1);
		assert_int_equal(buf.len, cap);
	}
}

static void failure_is_sticky_and_leaves_no_part_of_the_append(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	struct error err;
	sbuf_init(&buf, 5);
	sbuf_append(&buf, VIEW("abc"));
	sbuf_append(&buf, VIEW("def"));
	sbuf_append(&buf, VIEW("g"));
	sbuf_printf(&buf, "h");
	sbuf_append_char(&buf, 'i');
	assert_null(sbuf_reserve(&buf, 0));
	assert_true(view_equal(sbuf_view(&buf), VIEW("abc")));
	assert_int_equal(sbuf_check(&buf, "the name", &err), -1);
	assert_string_equal(err.text, "the name: larger than 5 bytes");
	sbuf_clear(&buf);
	sbuf_append(&buf, VIEW("g"));
	assert_int_equal(sbuf_check(&buf, "the name", &err), 0);
	assert_true(view_equal(sbuf_view(&buf), VIEW("g")));
}

static void what_is_kept_outlives_the_buffer_and_a_failure_keeps_nothing(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	CLEANUP(arena_deinit) struct arena arena;
	struct view kept = {0};
	struct error err;
	arena_init(&arena, 1000);
	sbuf_init(&buf, 5);
	sbuf_append(&buf, VIEW("abc"));
	assert_int_equal(sbuf_keep(&buf, "the name", &arena, &kept, &err), 0);
	sbuf_append(&buf, VIEW("def"));
	assert_int_equal(sbuf_keep(&buf, "the name", &arena, &kept, &err), -1);
	assert_string_equal(err.text, "the name: larger than 5 bytes");
	sbuf_deinit(&buf);
	assert_true(view_equal(kept, VIEW("abc")));
}

static void consume_takes_from_the_front(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 100);
	sbuf_consume(&buf, 0);
	sbuf_append(&buf, VIEW("abcdef"));
	sbuf_consume(&buf, 2);
	assert_true(view_equal(sbuf_view(&buf), VIEW("cdef")));
	sbuf_truncate(&buf, 1);
	assert_true(view_equal(sbuf_view(&buf), VIEW("c")));
	sbuf_consume(&buf, 1);
	assert_int_equal(buf.len, 0);
}

static void reserved_room_counts_when_committed(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 4);
	char *place = sbuf_reserve(&buf, 4);
	assert_non_null(place);
	place[0] = 'a';
	place[1] = 'b';
	assert_int_equal(buf.len, 0);
	sbuf_commit(&buf, 2);
	assert_true(view_equal(sbuf_view(&buf), VIEW("ab")));
	assert_null(sbuf_reserve(&buf, 3));
	assert_int_equal(buf.failure, ERROR_LIMIT);
}

static void an_empty_buffer_has_an_empty_text(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf buf = {0};
	assert_int_equal(sbuf_view(&buf).len, 0);
	assert_string_equal(sbuf_text(&buf), "");
}

static void lack_of_memory_keeps_what_was_there(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(sbuf_deinit) struct sbuf buf;
		struct error err;
		sbuf_init(&buf, 100000);
		failing_malloc_at(k);
		for (int i = 0; i < 1000; i++)
			sbuf_printf(&buf, "%03d", i);
		failed = failing_malloc_off();
		assert_int_equal(sbuf_check(&buf, "x", &err), failed ? -1 : 0);
		assert_int_equal(buf.len % 3, 0);
		assert_true(buf.len == 3000 || (failed && err.kind == ERROR_NO_MEMORY));
		if (buf.len)
			assert_memory_equal(buf.ptr, "000001002", buf.len < 9 ? buf.len : 9);
	}
}

/* Stands in for the C library's: what is wiped, and how much in all. */
static size_t n_wiped;

void explicit_bzero(void *bytes, size_t n)
{
	memset(bytes, 0, n);
	n_wiped += n;
}

static void a_secret_is_wiped_wherever_it_was(void **state)
{
	(void)state;
	struct sbuf buf;
	char text[700];
	memset(text, 's', sizeof(text));
	n_wiped = 0;
	sbuf_init_secret(&buf, 1000);
	sbuf_append(&buf, (struct view){text, 200});
	size_t first = buf.allocated;
	sbuf_append(&buf, (struct view){text, 500});
	assert_true(view_equal(sbuf_view(&buf), (struct view){text, 700}));
	/* It has moved. */
	assert_int_equal(n_wiped, first);
	sbuf_truncate(&buf, 1);
	sbuf_deinit(&buf);
	assert_true(n_wiped >= first + 700);
	assert_true(buf.is_secret);
	assert_null(buf.ptr);
	/* Others are not. */
	n_wiped = 0;
	sbuf_init(&buf, 1000);
	sbuf_append(&buf, (struct view){text, 700});
	sbuf_deinit(&buf);
	assert_int_equal(n_wiped, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_secret_is_wiped_wherever_it_was),
	cmocka_unit_test(appends_come_out_in_order),
	cmocka_unit_test(the_cap_can_be_filled_but_not_passed),
	cmocka_unit_test(formatted_text_can_fill_the_cap_too),
	cmocka_unit_test(failure_is_sticky_and_leaves_no_part_of_the_append),
	cmocka_unit_test(what_is_kept_outlives_the_buffer_and_a_failure_keeps_nothing),
	cmocka_unit_test(consume_takes_from_the_front),
	cmocka_unit_test(reserved_room_counts_when_committed),
	cmocka_unit_test(an_empty_buffer_has_an_empty_text),
	cmocka_unit_test(lack_of_memory_keeps_what_was_there),
};
TEST_MAIN(tests)
