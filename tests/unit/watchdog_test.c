/* SPDX-License-Identifier: Apache-2.0 */

/* Programs that get stuck are children of the test; the alarm's shortest time is a second. */

#include "lib/test_main.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/watchdog.h"
#include "io/loop.h"

static void sit_there(void *owner)
{
	(void)owner;
	for (;;)
		pause();
}

static void end_loop(void *owner)
{
	loop_stop(owner);
}

/* The child: a loop with a watchdog of one second, in which `fire` happens after ms. */
static void run_child(loop_timer_fn fire, uint64_t ms)
{
	struct error err;
	struct loop *loop;
	struct loop_timer *timer;
	struct watchdog *watchdog;
	if (loop_new(&loop, &err) < 0 || watchdog_new(loop, 1000, &watchdog, &err) < 0 ||
	    loop_timer_new(loop, fire, loop, &timer, &err) < 0)
		_exit(99);
	loop_timer_set(timer, ms);
	if (loop_run(loop, &err) < 0)
		_exit(98);
	loop_timer_free(timer);
	watchdog_free(watchdog);
	loop_free(loop);
	_exit(0);
}

static int outcome_of(loop_timer_fn fire, uint64_t ms)
{
	int status = -1;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		run_child(fire, ms);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_loop_that_is_stuck_ends_the_program(void **state)
{
	(void)state;
	assert_int_equal(outcome_of(sit_there, 10), EXIT_FAILURE);
}

static void a_loop_that_turns_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(outcome_of(end_loop, 1500), 0);
}

static void a_freed_watchdog_barks_no_more(void **state)
{
	(void)state;
	struct error err;
	struct loop *loop;
	struct watchdog *watchdog;
	assert_int_equal(loop_new(&loop, &err), 0);
	assert_int_equal(watchdog_new(loop, 1000, &watchdog, &err), 0);
	watchdog_free(watchdog);
	loop_free(loop);
	assert_int_equal(alarm(0), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_loop_that_is_stuck_ends_the_program),
	cmocka_unit_test(a_loop_that_turns_is_left_alone),
	cmocka_unit_test(a_freed_watchdog_barks_no_more),
};
TEST_MAIN(tests)
