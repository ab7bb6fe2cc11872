/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/sbuf.h"
#include "kube/workqueue.h"
#include "lib/failing_malloc.h"

static struct error err;

static struct workqueue *new_queue(void)
{
	struct workqueue *queue = NULL;
	assert_int_equal(workqueue_new(7, &queue, &err), 0);
	return queue;
}

static void add(struct workqueue *queue, const char *key, enum workqueue_priority priority,
		uint64_t at)
{
	assert_int_equal(workqueue_add(queue, view_from(key), priority, at, &err), 0);
}

/* Takes and finishes all that is due at now, and compares their order: "a b c ". */
static void expect_work(struct workqueue *queue, uint64_t now, const char *expected)
{
	struct sbuf order;
	struct view key;
	sbuf_init(&order, 4096);
	while (workqueue_take(queue, now, &key)) {
		sbuf_printf(&order, "%.*s ", VIEW_ARG(key));
		workqueue_done(queue, key, now);
	}
	assert_string_equal(sbuf_text(&order), expected);
	sbuf_deinit(&order);
}

static struct view take(struct workqueue *queue, uint64_t now)
{
	struct view key;
	assert_true(workqueue_take(queue, now, &key));
	return key;
}

static void a_key_added_a_thousand_times_is_worked_on_once(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	for (int i = 0; i < 1000; i++)
		add(queue, "a", WORKQUEUE_LOW, 0);
	assert_int_equal(workqueue_depth(queue), 1);
	expect_work(queue, 0, "a ");
	assert_int_equal(workqueue_counters(queue).adds, 1);
	assert_int_equal(workqueue_depth(queue), 0);
	assert_int_equal(workqueue_next_due(queue), UINT64_MAX);
	workqueue_free(queue);
}

static void a_key_added_while_it_is_worked_on_runs_once_more_afterwards(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	struct view other;
	add(queue, "a", WORKQUEUE_LOW, 0);
	struct view key = take(queue, 0);
	add(queue, "a", WORKQUEUE_LOW, 0);
	add(queue, "a", WORKQUEUE_LOW, 0);
	assert_false(workqueue_take(queue, 0, &other));
	assert_int_equal(workqueue_next_due(queue), UINT64_MAX);
	workqueue_done(queue, key, 0);
	expect_work(queue, 0, "a ");
	workqueue_free(queue);
}

static void higher_priority_comes_first_and_equals_in_the_order_they_came(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_LOW, 0);
	add(queue, "b", WORKQUEUE_LOW, 0);
	add(queue, "c", WORKQUEUE_HIGH, 0);
	add(queue, "d", WORKQUEUE_LOW, 0);
	add(queue, "e", WORKQUEUE_HIGH, 0);
	expect_work(queue, 0, "c e a b d ");
	workqueue_free(queue);
}

static void priority_is_raised_and_never_lowered(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	struct view key;
	add(queue, "a", WORKQUEUE_LOW, 0);
	add(queue, "b", WORKQUEUE_LOW, 0);
	add(queue, "c", WORKQUEUE_HIGH, 0);
	/* Called up into their lines, then raised from the middle of one. */
	key = take(queue, 0);
	assert_true(view_equal(key, VIEW("c")));
	workqueue_done(queue, key, 0);
	add(queue, "b", WORKQUEUE_HIGH, 0);
	add(queue, "b", WORKQUEUE_LOW, 0);
	add(queue, "d", WORKQUEUE_HIGH, 0);
	expect_work(queue, 0, "b d a ");
	workqueue_free(queue);
}

static void of_several_times_the_earliest_counts(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_LOW, 100);
	add(queue, "a", WORKQUEUE_LOW, 50);
	add(queue, "a", WORKQUEUE_LOW, 70);
	assert_int_equal(workqueue_next_due(queue), 50);
	expect_work(queue, 49, "");
	expect_work(queue, 50, "a ");
	expect_work(queue, 200, "");
	workqueue_free(queue);
}

static void keys_run_in_the_order_of_their_times(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_LOW, 30);
	add(queue, "b", WORKQUEUE_LOW, 10);
	add(queue, "c", WORKQUEUE_LOW, 20);
	add(queue, "d", WORKQUEUE_HIGH, 25);
	expect_work(queue, 25, "d b c ");
	expect_work(queue, 30, "a ");
	workqueue_free(queue);
}

static void a_later_time_given_while_worked_on_is_kept(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_LOW, 0);
	struct view key = take(queue, 0);
	add(queue, "a", WORKQUEUE_LOW, 500);
	add(queue, "a", WORKQUEUE_HIGH, 300);
	workqueue_done(queue, key, 10);
	assert_int_equal(workqueue_next_due(queue), 300);
	add(queue, "b", WORKQUEUE_LOW, 300);
	expect_work(queue, 300, "a b ");
	workqueue_free(queue);
}

static void failures_back_off_per_key_up_to_the_cap_and_success_forgets_them(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	uint64_t now = 1000;
	add(queue, "a", WORKQUEUE_HIGH, now);
	for (unsigned i = 0; i < 70; i++) {
		struct view key = take(queue, now);
		uint64_t low = i < 18 ? 5ull << i : 1000000;
		low = low < 1000000 ? low : 1000000;
		uint64_t high = 2 * low < 1000000 ? 2 * low : 1000000;
		workqueue_failed(queue, key, 0, now);
		uint64_t due = workqueue_next_due(queue);
		assert_in_range(due - now, low, high);
		now = due;
	}
	assert_int_equal(workqueue_counters(queue).retries, 70);
	workqueue_done(queue, take(queue, now), now);
	add(queue, "a", WORKQUEUE_HIGH, now);
	workqueue_failed(queue, take(queue, now), 0, now);
	assert_in_range(workqueue_next_due(queue) - now, 5, 10);
	workqueue_free(queue);
}

static void success_forgets_failures_also_of_a_key_that_was_added_meanwhile(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	uint64_t now = 0;
	add(queue, "a", WORKQUEUE_LOW, 0);
	for (int i = 0; i < 8; i++) {
		workqueue_failed(queue, take(queue, now), 0, now);
		now = workqueue_next_due(queue);
	}
	struct view key = take(queue, now);
	add(queue, "a", WORKQUEUE_LOW, now);
	workqueue_done(queue, key, now);
	workqueue_failed(queue, take(queue, now), 0, now);
	assert_in_range(workqueue_next_due(queue) - now, 5, 10);
	workqueue_free(queue);
}

static void work_that_is_put_off_comes_when_it_was_added_for_and_forgets_no_failure(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	uint64_t now = 0;
	add(queue, "a", WORKQUEUE_LOW, 0);
	for (unsigned i = 0; i < 12; i++) {
		workqueue_failed(queue, take(queue, now), 0, now);
		now = workqueue_next_due(queue);
		struct view key = take(queue, now);
		add(queue, "a", WORKQUEUE_LOW, now + 700);
		add(queue, "a", WORKQUEUE_LOW, now + 900);
		workqueue_put_off(queue, key, now);
		assert_int_equal(workqueue_next_due(queue), now + 700);
		now += 700;
	}
	/* 5 ms, doubled eleven times, with jitter. */
	workqueue_failed(queue, take(queue, now), 0, now);
	assert_true(workqueue_next_due(queue) - now >= 10240);
	workqueue_done(queue, take(queue, workqueue_next_due(queue)), now);
	assert_int_equal(workqueue_depth(queue), 0);
	workqueue_free(queue);
}

/* It may be wanted before the time at which it would have been tried again. */
static void work_that_is_put_off_can_be_brought_forward(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_LOW, 0);
	struct view key = take(queue, 0);
	add(queue, "a", WORKQUEUE_LOW, 700);
	workqueue_put_off(queue, key, 0);
	expect_work(queue, 300, "");
	add(queue, "a", WORKQUEUE_HIGH, 300);
	expect_work(queue, 300, "a ");
	expect_work(queue, 100000, "");
	workqueue_free(queue);
}

static void a_server_that_asks_for_time_gets_it_whatever_happens_meanwhile(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_LOW, 0);
	workqueue_failed(queue, take(queue, 0), 7000, 0);
	assert_int_equal(workqueue_next_due(queue), 7000);
	add(queue, "a", WORKQUEUE_HIGH, 100);
	assert_int_equal(workqueue_next_due(queue), 7000);
	add(queue, "a", WORKQUEUE_HIGH, 8000);
	assert_int_equal(workqueue_next_due(queue), 7000);
	/* Work that ends well is the end of it. */
	struct view key = take(queue, 7000);
	add(queue, "a", WORKQUEUE_LOW, 7000);
	workqueue_done(queue, key, 7000);
	assert_int_equal(workqueue_next_due(queue), 7000);
	workqueue_free(queue);
}

static void a_key_that_was_added_while_its_work_failed_waits_too(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_HIGH, 0);
	struct view key = take(queue, 0);
	add(queue, "b", WORKQUEUE_LOW, 0);
	add(queue, "a", WORKQUEUE_LOW, 1);
	workqueue_failed(queue, key, 60000, 0);
	expect_work(queue, 1, "b ");
	/* With the priority it had. */
	add(queue, "c", WORKQUEUE_LOW, 60000);
	expect_work(queue, 59999, "");
	expect_work(queue, 60000, "a c ");
	workqueue_free(queue);
}

/* Each round of such work brings an event about the key itself. */
static void work_that_fails_and_touches_its_key_backs_off_all_the_same(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	uint64_t now = 1000;
	add(queue, "a", WORKQUEUE_HIGH, now);
	for (unsigned i = 0; i < 10; i++) {
		struct view key = take(queue, now);
		add(queue, "a", WORKQUEUE_HIGH, now);
		workqueue_failed(queue, key, 0, now);
		add(queue, "a", WORKQUEUE_HIGH, now);
		assert_in_range(workqueue_next_due(queue) - now, 5u << i, 10u << i);
		now = workqueue_next_due(queue);
	}
	workqueue_free(queue);
}

static void an_event_shortens_a_back_off_that_has_grown_long(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	uint64_t now = 0;
	add(queue, "a", WORKQUEUE_HIGH, now);
	for (unsigned i = 0; i < 20; i++) {
		workqueue_failed(queue, take(queue, now), 0, now);
		now = i < 19 ? workqueue_next_due(queue) : now;
	}
	assert_int_equal(workqueue_next_due(queue) - now, 1000000);
	add(queue, "a", WORKQUEUE_HIGH, now + 1);
	assert_int_equal(workqueue_next_due(queue) - now, 30000);
	add(queue, "a", WORKQUEUE_HIGH, now + 2);
	assert_int_equal(workqueue_next_due(queue) - now, 30000);
	workqueue_free(queue);
}

static void keys_are_bytes_of_any_length(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	struct view key;
	assert_int_equal(workqueue_add(queue, VIEW(""), WORKQUEUE_LOW, 0, &err), 0);
	assert_int_equal(workqueue_add(queue, VIEW("a\0b"), WORKQUEUE_LOW, 0, &err), 0);
	assert_int_equal(workqueue_add(queue, VIEW("a\0c"), WORKQUEUE_LOW, 0, &err), 0);
	assert_int_equal(workqueue_depth(queue), 3);
	key = take(queue, 0);
	assert_int_equal(key.len, 0);
	key = take(queue, 0);
	assert_true(view_equal(key, VIEW("a\0b")));
	workqueue_free(queue);
	workqueue_free(NULL);
}

static void a_thousand_keys_survive_a_thousand_rounds_in_order(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	char name[16];
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "k%03d", (i * 7919) % 1000);
		add(queue, name, WORKQUEUE_LOW, (uint64_t)((i * 7919) % 1000));
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "k%03d", i);
		struct view key = take(queue, (uint64_t)i);
		assert_true(view_equal(key, view_from(name)));
		workqueue_done(queue, key, (uint64_t)i);
	}
	assert_int_equal(workqueue_depth(queue), 0);
	workqueue_free(queue);
}

static void running_out_of_memory_adds_nothing(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct workqueue *queue = NULL;
		failing_malloc_at(k);
		int result = workqueue_new(7, &queue, &err);
		if (result == 0)
			result = workqueue_add(queue, VIEW("a"), WORKQUEUE_LOW, 0, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed && queue) {
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_int_equal(workqueue_depth(queue), 0);
			assert_int_equal(workqueue_next_due(queue), UINT64_MAX);
		}
		workqueue_free(queue);
	}
}

static void assert_load(struct workqueue *queue, uint64_t now, size_t ready, size_t working)
{
	struct workqueue_load load = workqueue_load(queue, now);
	assert_int_equal(load.ready, ready);
	assert_int_equal(load.working, working);
}

static void what_is_ready_or_worked_on_is_told_apart_from_what_waits(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "now", WORKQUEUE_LOW, 0);
	add(queue, "later", WORKQUEUE_LOW, 5000);
	add(queue, "last", WORKQUEUE_LOW, 9000);
	assert_load(queue, 1000, 1, 0);
	assert_int_equal(workqueue_counters(queue).adds, 1);
	struct view first = take(queue, 1000);
	assert_load(queue, 6000, 1, 1);
	assert_int_equal(workqueue_counters(queue).adds, 2);
	struct view second = take(queue, 6000);
	struct workqueue_load load = workqueue_load(queue, 7000);
	assert_int_equal(load.unfinished_ms, 6000 + 1000);
	assert_int_equal(load.longest_ms, 6000);
	assert_int_equal(workqueue_worked_ms(queue, second, 7000), 1000);
	workqueue_done(queue, first, 7000);
	workqueue_failed(queue, second, 1500, 7000);
	assert_load(queue, 7000, 0, 0);
	assert_load(queue, 9000, 2, 0);
	workqueue_free(queue);
}

static void how_long_a_key_waited_counts_from_the_time_at_which_it_was_due(void **state)
{
	(void)state;
	struct workqueue *queue = new_queue();
	add(queue, "a", WORKQUEUE_LOW, 1000);
	add(queue, "a", WORKQUEUE_LOW, 2000);
	struct view key = take(queue, 4000);
	assert_true(workqueue_counters(queue).waited.sum >= 3);
	assert_true(workqueue_counters(queue).waited.sum <= 3);
	/* Also while it is worked on, as client-go counts it. */
	add(queue, "a", WORKQUEUE_LOW, 5000);
	add(queue, "a", WORKQUEUE_LOW, 5500);
	workqueue_done(queue, key, 6000);
	key = take(queue, 6000);
	assert_true(workqueue_counters(queue).waited.sum >= 4);
	assert_true(workqueue_counters(queue).waited.sum <= 4);
	assert_int_equal(workqueue_counters(queue).adds, 2);
	workqueue_done(queue, key, 6000);
	workqueue_free(queue);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_ready_or_worked_on_is_told_apart_from_what_waits),
	cmocka_unit_test(how_long_a_key_waited_counts_from_the_time_at_which_it_was_due),
	cmocka_unit_test(a_key_added_a_thousand_times_is_worked_on_once),
	cmocka_unit_test(a_key_added_while_it_is_worked_on_runs_once_more_afterwards),
	cmocka_unit_test(higher_priority_comes_first_and_equals_in_the_order_they_came),
	cmocka_unit_test(priority_is_raised_and_never_lowered),
	cmocka_unit_test(of_several_times_the_earliest_counts),
	cmocka_unit_test(keys_run_in_the_order_of_their_times),
	cmocka_unit_test(a_later_time_given_while_worked_on_is_kept),
	cmocka_unit_test(failures_back_off_per_key_up_to_the_cap_and_success_forgets_them),
	cmocka_unit_test(success_forgets_failures_also_of_a_key_that_was_added_meanwhile),
	cmocka_unit_test(work_that_is_put_off_comes_when_it_was_added_for_and_forgets_no_failure),
	cmocka_unit_test(work_that_is_put_off_can_be_brought_forward),
	cmocka_unit_test(a_server_that_asks_for_time_gets_it_whatever_happens_meanwhile),
	cmocka_unit_test(a_key_that_was_added_while_its_work_failed_waits_too),
	cmocka_unit_test(work_that_fails_and_touches_its_key_backs_off_all_the_same),
	cmocka_unit_test(an_event_shortens_a_back_off_that_has_grown_long),
	cmocka_unit_test(keys_are_bytes_of_any_length),
	cmocka_unit_test(a_thousand_keys_survive_a_thousand_rounds_in_order),
	cmocka_unit_test(running_out_of_memory_adds_nothing),
};
TEST_MAIN(tests)
