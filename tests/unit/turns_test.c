/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <string.h>

#include "io/turns.h"

struct worker {
	struct turn turn;
	char name;
	int work; /* turns it still needs */
};

struct fixture {
	struct loop *loop;
	struct turns turns;
	struct worker workers[3];
	struct worker *dismissed; /* by the first that has its turn */
	char taken[16];           /* names, in order */
	size_t n_taken;
};

static void on_turn(void *owner, struct turn *turn)
{
	struct fixture *f = owner;
	struct worker *worker = CONTAINER_OF(turn, struct worker, turn);
	f->taken[f->n_taken++] = worker->name;
	assert_false(turns_is_waiting(turn));
	if (f->dismissed)
		turns_leave(&f->turns, &f->dismissed->turn);
	if (--worker->work > 0)
		turns_wait(&f->turns, turn);
	if (f->turns.n_waiting == 0)
		loop_stop(f->loop);
}

static void start(struct fixture *f)
{
	struct error err;
	*f = (struct fixture){0};
	assert_int_equal(loop_new(&f->loop, &err), 0);
	assert_int_equal(turns_init(&f->turns, f->loop, on_turn, f, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(f->workers); i++) {
		turns_init_turn(&f->workers[i].turn);
		f->workers[i].name = (char)('a' + i);
		f->workers[i].work = 1;
	}
}

static void run(struct fixture *f)
{
	struct error err;
	for (size_t i = 0; i < ARRAY_SIZE(f->workers); i++)
		turns_wait(&f->turns, &f->workers[i].turn);
	assert_int_equal(f->n_taken, 0);
	assert_int_equal(loop_run(f->loop, &err), 0);
	turns_deinit(&f->turns);
	loop_free(f->loop);
}

static void who_has_more_to_do_waits_behind_the_others(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	f.workers[0].work = 3;
	f.workers[1].work = 2;
	run(&f);
	assert_string_equal(f.taken, "abcaba");
}

static void waiting_twice_gives_one_turn(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	turns_wait(&f.turns, &f.workers[2].turn);
	assert_true(turns_is_waiting(&f.workers[2].turn));
	run(&f);
	assert_string_equal(f.taken, "cab");
}

static void who_leaves_has_no_turn(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	f.dismissed = &f.workers[1];
	run(&f);
	assert_string_equal(f.taken, "ac");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(who_has_more_to_do_waits_behind_the_others),
	cmocka_unit_test(waiting_twice_gives_one_turn),
	cmocka_unit_test(who_leaves_has_no_turn),
};
TEST_MAIN(tests)
