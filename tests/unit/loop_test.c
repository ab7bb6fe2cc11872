/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <event2/event.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/loop.h"

static struct error err;

struct journal {
	struct loop *loop;
	struct loop_timer *timer;
	char text[64];
	size_t len;
	size_t stop_at; /* loop_stop() when text has this length */
	int fd;
	uint64_t seen_at[2];
};

static void note(struct journal *journal, char c)
{
	if (journal->len < sizeof(journal->text) - 1)
		journal->text[journal->len++] = c;
	if (journal->len == journal->stop_at)
		loop_stop(journal->loop);
}

static void note_a(void *owner)
{
	note(owner, 'a');
}

static void note_b(void *owner)
{
	note(owner, 'b');
}

static void new_loop(struct journal *journal, size_t stop_at)
{
	*journal = (struct journal){.stop_at = stop_at};
	assert_int_equal(loop_new(&journal->loop, &err), 0);
}

static void timers_fire_once_in_the_order_of_their_deadlines(void **state)
{
	(void)state;
	struct journal journal;
	struct loop_timer *a, *b;
	new_loop(&journal, 2);
	assert_int_equal(loop_timer_new(journal.loop, note_a, &journal, &a, &err), 0);
	assert_int_equal(loop_timer_new(journal.loop, note_b, &journal, &b, &err), 0);
	loop_timer_set(a, 4);
	loop_timer_set(b, 1);
	assert_true(loop_timer_is_set(a));
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_string_equal(journal.text, "ba");
	assert_false(loop_timer_is_set(a));
	loop_timer_free(a);
	loop_timer_free(b);
	loop_free(journal.loop);
}

static void setting_a_timer_again_replaces_the_earlier_setting(void **state)
{
	(void)state;
	struct journal journal;
	struct loop_timer *a, *b;
	new_loop(&journal, 1);
	assert_int_equal(loop_timer_new(journal.loop, note_a, &journal, &a, &err), 0);
	assert_int_equal(loop_timer_new(journal.loop, note_b, &journal, &b, &err), 0);
	loop_timer_set(a, 0);
	loop_timer_set(a, UINT64_MAX);
	loop_timer_set(b, 1);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_string_equal(journal.text, "b");
	loop_timer_clear(a);
	assert_false(loop_timer_is_set(a));
	loop_timer_free(a);
	loop_timer_free(b);
	loop_free(journal.loop);
}

static void set_again(void *owner)
{
	struct journal *journal = owner;
	loop_timer_set(journal->timer, 0);
	note(journal, '(');
	note(journal, ')');
}

static void a_callback_never_runs_inside_the_call_that_asked_for_it(void **state)
{
	(void)state;
	struct journal journal;
	new_loop(&journal, 4);
	assert_int_equal(
		loop_timer_new(journal.loop, set_again, &journal, &journal.timer, &err), 0);
	loop_timer_set(journal.timer, 0);
	assert_int_equal(journal.len, 0);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	/* It may run once more before the stop is seen. */
	assert_memory_equal(journal.text, "()()", 4);
	assert_null(strstr(journal.text, "(("));
	loop_timer_free(journal.timer);
	loop_free(journal.loop);
}

static void read_byte(void *owner, bool readable, bool writable)
{
	struct journal *journal = owner;
	char c = '?';
	assert_true(readable);
	assert_false(writable);
	assert_int_equal(read(journal->fd, &c, 1), 1);
	note(journal, c);
}

static void a_descriptor_is_served_as_long_as_it_is_readable(void **state)
{
	(void)state;
	struct journal journal;
	struct loop_watch *watch;
	int ends[2];
	new_loop(&journal, 3);
	assert_int_equal(pipe(ends), 0);
	journal.fd = ends[0];
	assert_int_equal(loop_watch_new(journal.loop, ends[0], LOOP_READ, read_byte, &journal,
					&watch, &err),
			 0);
	assert_int_equal(write(ends[1], "xyz", 3), 3);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_string_equal(journal.text, "xyz");
	loop_watch_free(watch);
	loop_free(journal.loop);
	close(ends[0]);
	close(ends[1]);
}

static void writable_once(void *owner, bool readable, bool writable)
{
	assert_false(readable);
	assert_true(writable);
	note(owner, 'w');
}

static void an_empty_pipe_is_writable(void **state)
{
	(void)state;
	struct journal journal;
	struct loop_watch *watch;
	int ends[2];
	new_loop(&journal, 1);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(loop_watch_new(journal.loop, ends[1], LOOP_WRITE, writable_once,
					&journal, &watch, &err),
			 0);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	loop_watch_free(watch);
	loop_free(journal.loop);
	close(ends[0]);
	close(ends[1]);
}

static void a_descriptor_that_cannot_be_watched_is_refused(void **state)
{
	(void)state;
	struct journal journal;
	struct loop_watch *watch = NULL;
	new_loop(&journal, 1);
	assert_int_equal(loop_watch_new(journal.loop, 1 << 20, LOOP_READ, read_byte, &journal,
					&watch, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_RETRY);
	assert_null(watch);
	loop_free(journal.loop);
}

static void note_signal(void *owner, int number)
{
	assert_int_equal(number, SIGUSR1);
	note(owner, 's');
}

static void a_signal_arrives_as_a_callback(void **state)
{
	(void)state;
	struct journal journal;
	struct loop_signal *signal;
	new_loop(&journal, 1);
	assert_int_equal(
		loop_signal_new(journal.loop, SIGUSR1, note_signal, &journal, &signal, &err), 0);
	raise(SIGUSR1);
	assert_int_equal(journal.len, 0);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_string_equal(journal.text, "s");
	loop_signal_free(signal);
	loop_free(journal.loop);
}

static void *stop_from_outside(void *loop)
{
	loop_stop(loop);
	return NULL;
}

static void another_thread_can_stop_a_loop_that_has_nothing_to_do(void **state)
{
	(void)state;
	struct loop *loop;
	pthread_t thread;
	assert_int_equal(loop_new(&loop, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, stop_from_outside, loop), 0);
	assert_int_equal(loop_run(loop, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	loop_free(loop);
}

static void a_stop_before_the_run_is_not_lost_and_serves_one_run(void **state)
{
	(void)state;
	struct journal journal;
	struct loop_timer *timer;
	new_loop(&journal, 1);
	loop_stop(journal.loop);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_int_equal(loop_timer_new(journal.loop, note_a, &journal, &timer, &err), 0);
	loop_timer_set(timer, 0);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_string_equal(journal.text, "a");
	loop_timer_free(timer);
	loop_free(journal.loop);
}

static void read_time_twice(void *owner)
{
	struct journal *journal = owner;
	journal->seen_at[0] = loop_now_ms(journal->loop);
	usleep(3000);
	journal->seen_at[1] = loop_now_ms(journal->loop);
	loop_stop(journal->loop);
}

static void the_time_stands_still_within_a_turn_and_moves_between_turns(void **state)
{
	(void)state;
	struct journal journal;
	new_loop(&journal, SIZE_MAX);
	assert_int_equal(
		loop_timer_new(journal.loop, read_time_twice, &journal, &journal.timer, &err), 0);
	loop_timer_set(journal.timer, 0);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	uint64_t first = journal.seen_at[0];
	assert_int_equal(journal.seen_at[1], first);
	loop_timer_set(journal.timer, 0);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_true(journal.seen_at[0] >= first + 3);
	loop_timer_free(journal.timer);
	loop_free(journal.loop);
}

static void take_ten_ms(void *owner)
{
	struct journal *journal = owner;
	usleep(10000);
	loop_stop(journal->loop);
}

static uint64_t count_turns(const struct loop *loop, double from, double until)
{
	const struct histogram *turns = loop_turns(loop);
	uint64_t n = 0;
	for (size_t i = 0; i < histogram_size(turns->bounds); i++)
		n += turns->bounds[i] > from && turns->bounds[i] <= until ? turns->counts[i] : 0;
	return n;
}

static void what_a_turn_takes_is_counted_and_not_what_it_waits_for(void **state)
{
	(void)state;
	struct journal journal;
	new_loop(&journal, SIZE_MAX);
	assert_int_equal(loop_timer_new(journal.loop, take_ten_ms, &journal, &journal.timer, &err), 0);
	loop_timer_set(journal.timer, 30);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_int_equal(count_turns(journal.loop, 0.005, INFINITY), 1);
	assert_true(loop_turns(journal.loop)->sum >= 0.01);
	assert_true(count_turns(journal.loop, 0, INFINITY) <= 2); /* the stop may have one of its own */
	loop_timer_free(journal.timer);
	loop_free(journal.loop);
}

static bool is_memory_out; /* libevent's */

static void *libevent_malloc(size_t n)
{
	return is_memory_out ? NULL : malloc(n);
}

static void *libevent_realloc(void *bytes, size_t n)
{
	return is_memory_out ? NULL : realloc(bytes, n);
}

#define N_TIMERS 100u

TEST(a_timer_that_was_made_can_be_set_without_memory)
{
	struct loop_timer *timers[N_TIMERS];
	struct journal journal;
	event_set_mem_functions(libevent_malloc, libevent_realloc, free);
	new_loop(&journal, 10);
	for (unsigned i = 0; i < N_TIMERS; i++)
		assert_int_equal(loop_timer_new(journal.loop, note_a, &journal, &timers[i], &err), 0);
	is_memory_out = true;
	for (unsigned i = 0; i < N_TIMERS; i++)
		loop_timer_set(timers[i], i < 10 ? 0 : 3600000);
	assert_int_equal(loop_run(journal.loop, &err), 0);
	assert_string_equal(journal.text, "aaaaaaaaaa");
	for (unsigned i = 0; i < N_TIMERS; i++)
		loop_timer_set(timers[i], 3600000);
	is_memory_out = false;
	for (unsigned i = 0; i < N_TIMERS; i++)
		loop_timer_free(timers[i]);
	loop_free(journal.loop);
}

TEST(without_memory_to_set_it_a_timer_is_not_made)
{
	struct loop_timer *timer = NULL;
	struct journal journal;
	event_set_mem_functions(libevent_malloc, libevent_realloc, free);
	new_loop(&journal, 1);
	is_memory_out = true;
	assert_int_equal(loop_timer_new(journal.loop, note_a, &journal, &timer, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_null(timer);
	is_memory_out = false;
	assert_int_equal(loop_timer_new(journal.loop, note_a, &journal, &timer, &err), 0);
	loop_timer_free(timer);
	loop_free(journal.loop);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(timers_fire_once_in_the_order_of_their_deadlines),
	cmocka_unit_test(setting_a_timer_again_replaces_the_earlier_setting),
	cmocka_unit_test(a_callback_never_runs_inside_the_call_that_asked_for_it),
	cmocka_unit_test(a_descriptor_is_served_as_long_as_it_is_readable),
	cmocka_unit_test(an_empty_pipe_is_writable),
	cmocka_unit_test(a_descriptor_that_cannot_be_watched_is_refused),
	cmocka_unit_test(a_signal_arrives_as_a_callback),
	cmocka_unit_test(another_thread_can_stop_a_loop_that_has_nothing_to_do),
	cmocka_unit_test(a_stop_before_the_run_is_not_lost_and_serves_one_run),
	cmocka_unit_test(the_time_stands_still_within_a_turn_and_moves_between_turns),
	cmocka_unit_test(what_a_turn_takes_is_counted_and_not_what_it_waits_for),
	cmocka_unit_test(a_timer_that_was_made_can_be_set_without_memory),
	cmocka_unit_test(without_memory_to_set_it_a_timer_is_not_made),
};
TEST_MAIN(tests)
