/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <string.h>

#include "io/deadlines.h"

/* Of those that are due in one turn of the loop the first group comes first. */
enum { QUICK, SLOW, NEVER };

struct item {
	struct deadline deadline;
	char name;
};

struct fixture {
	struct loop *loop;
	struct deadlines deadlines;
	struct item items[3];
	char expired[16]; /* names, in order */
	size_t n_expired;
	size_t stop_at;   /* so many */
	bool enters_again;
};

static void on_expired(void *owner, struct deadline *deadline)
{
	struct fixture *f = owner;
	f->expired[f->n_expired++] = CONTAINER_OF(deadline, struct item, deadline)->name;
	if (f->enters_again && f->n_expired == 1)
		deadlines_enter(&f->deadlines, deadline, QUICK);
	else
		deadlines_leave(deadline);
	if (f->n_expired == f->stop_at)
		loop_stop(f->loop);
}

static void start(struct fixture *f, size_t stop_at)
{
	struct error err;
	*f = (struct fixture){.stop_at = stop_at};
	assert_int_equal(loop_new(&f->loop, &err), 0);
	assert_int_equal(deadlines_init(&f->deadlines, f->loop, on_expired, f, &err), 0);
	deadlines_set_timeout(&f->deadlines, SLOW, 20);
	deadlines_set_timeout(&f->deadlines, QUICK, 1);
	for (size_t i = 0; i < ARRAY_SIZE(f->items); i++) {
		deadlines_init_item(&f->items[i].deadline);
		f->items[i].name = (char)('a' + i);
	}
}

static void enter(struct fixture *f, size_t item, size_t group)
{
	deadlines_enter(&f->deadlines, &f->items[item].deadline, group);
}

static void run(struct fixture *f)
{
	struct error err;
	assert_int_equal(loop_run(f->loop, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(f->items); i++)
		deadlines_leave(&f->items[i].deadline);
	deadlines_deinit(&f->deadlines);
	loop_free(f->loop);
}

static void who_entered_first_expires_first_and_quick_groups_before_slow_ones(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, 3);
	enter(&f, 0, SLOW);
	enter(&f, 2, QUICK);
	enter(&f, 1, QUICK);
	assert_ptr_equal(deadlines_first(&f.deadlines, QUICK), &f.items[2].deadline);
	run(&f);
	assert_string_equal(f.expired, "cba");
}

static void who_enters_again_has_a_new_deadline(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, 2);
	enter(&f, 0, QUICK);
	enter(&f, 1, QUICK);
	enter(&f, 0, SLOW);
	assert_ptr_equal(deadlines_first(&f.deadlines, QUICK), &f.items[1].deadline);
	run(&f);
	assert_string_equal(f.expired, "ba");
}

static void who_left_does_not_expire_nor_does_a_group_without_time_out(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, 1);
	enter(&f, 0, QUICK);
	enter(&f, 1, NEVER);
	enter(&f, 2, SLOW);
	deadlines_leave(&f.items[0].deadline);
	assert_null(deadlines_first(&f.deadlines, QUICK));
	run(&f);
	assert_string_equal(f.expired, "c");
}

static void an_expired_item_may_enter_a_group(void **state)
{
	(void)state;
	struct fixture f;
	start(&f, 2);
	f.enters_again = true;
	enter(&f, 0, QUICK);
	run(&f);
	assert_string_equal(f.expired, "aa");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(who_entered_first_expires_first_and_quick_groups_before_slow_ones),
	cmocka_unit_test(who_enters_again_has_a_new_deadline),
	cmocka_unit_test(who_left_does_not_expire_nor_does_a_group_without_time_out),
	cmocka_unit_test(an_expired_item_may_enter_a_group),
};
TEST_MAIN(tests)
