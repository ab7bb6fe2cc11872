/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <limits.h>

#include "base/limits.h"
#include "controller/write_budget.h"

#define START_MS 1000000u
#define N_DEVICES 64u
#define OBJECT_BURST (WRITE_BUDGET_OBJECT_PER_SECOND * WRITE_BUDGET_OBJECT_BURST_S)
#define NODE_BURST (WRITE_BUDGET_NODE_PER_SECOND * WRITE_BUDGET_NODE_BURST_S)

static struct write_budget budget;
static uint64_t now_ms;
static struct write_budget_round last; /* round */
static unsigned n_written[LIMIT_NODE_OBJECTS]; /* of the node "n" */

static int set_up(void **state)
{
	(void)state;
	write_budget_init(&budget);
	now_ms = START_MS;
	memset(n_written, 0, sizeof(n_written));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	write_budget_deinit(&budget);
	return 0;
}

/* All of the first n devices of a node want a write; returns how many are made. */
static unsigned write_all(const char *node, unsigned n)
{
	bool is_granted[LIMIT_NODE_OBJECTS];
	unsigned n_made = 0;

	assert_true(n <= ARRAY_SIZE(is_granted));
	last = write_budget_begin(&budget, view_from(node), n, now_ms);
	for (unsigned i = 0; i < n; i++) {
		unsigned index = (unsigned)(last.first + i) % n;
		char name[32];

		snprintf(name, sizeof(name), "%s-%u", node, index);
		is_granted[index] = write_budget_grant(&last, index, view_from(name));
	}
	for (unsigned i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s-%u", node, i);
		if (!is_granted[i])
			continue;
		write_budget_spend(&budget, view_from(node), view_from(name), now_ms);
		n_written[i]++;
		n_made++;
	}
	return n_made;
}

TEST(an_object_has_a_few_writes_at_once_and_then_one_a_second)
{
	for (unsigned i = 0; i < OBJECT_BURST; i++)
		assert_int_equal(write_all("n", 1), 1);
	assert_int_equal(last.n_held, 0);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(write_all("n", 1), 0);
		assert_int_equal(last.n_held, 1);
		assert_int_equal(last.holder, WRITE_BUDGET_OBJECT);
		assert_int_equal(last.due_at, now_ms + 1000);
		now_ms += 999;
		assert_int_equal(write_all("n", 1), 0);
		assert_int_equal(last.due_at, now_ms + 1);
		now_ms = last.due_at;
		assert_int_equal(write_all("n", 1), 1);
	}
	assert_int_equal(budget.held[WRITE_BUDGET_OBJECT], 40);
	assert_int_equal(budget.held[WRITE_BUDGET_NODE], 0);
	now_ms += 3600000;
	for (unsigned i = 0; i < OBJECT_BURST; i++)
		assert_int_equal(write_all("n", 1), 1);
	assert_int_equal(write_all("n", 1), 0);
}

TEST(a_node_may_create_all_its_objects_with_their_statuses_at_once)
{
	assert_int_equal(write_all("n", LIMIT_NODE_OBJECTS), LIMIT_NODE_OBJECTS);
	assert_int_equal(write_all("n", LIMIT_NODE_OBJECTS), LIMIT_NODE_OBJECTS);
	assert_int_equal(last.n_held, 0);
}

TEST(a_node_has_ten_writes_a_second_once_its_burst_is_used_up)
{
	unsigned n = 0;

	for (uint64_t end = now_ms + 120000; now_ms < end; now_ms += 10)
		n += write_all("n", N_DEVICES);
	assert_in_range(n, NODE_BURST + 1190, NODE_BURST + 1200);
	assert_true(budget.held[WRITE_BUDGET_NODE] > 0);
}

TEST(devices_of_a_node_that_is_short_of_writes_take_turns)
{
	unsigned least = UINT_MAX, most = 0;

	while (write_all("n", N_DEVICES) > 0)
		;
	memset(n_written, 0, sizeof(n_written));
	for (uint64_t end = now_ms + 120000; now_ms < end; now_ms = last.due_at)
		write_all("n", N_DEVICES);
	for (unsigned i = 0; i < N_DEVICES; i++) {
		least = n_written[i] < least ? n_written[i] : least;
		most = n_written[i] > most ? n_written[i] : most;
	}
	assert_true(least >= 18); /* 1200 / 64 */
	assert_true(most <= least + 1);
}

TEST(something_of_what_is_held_can_be_written_when_it_is_said_to_be_due_and_not_before)
{
	for (unsigned i = 0; i < 200; i++) {
		unsigned n = 1 + i % N_DEVICES;

		while (write_all("n", n) > 0)
			;
		assert_int_equal(last.n_held, n);
		assert_true(last.due_at > now_ms);
		now_ms = last.due_at - 1;
		assert_int_equal(write_all("n", n), 0);
		now_ms++;
		assert_true(write_all("n", n) > 0);
	}
}

TEST(other_objects_and_nodes_do_not_wait)
{
	while (write_all("n", 1) > 0)
		;
	assert_int_equal(write_all("n", 8), 7);
	assert_int_equal(last.n_held, 1);
	while (write_all("n", N_DEVICES) > 0)
		;
	assert_int_equal(write_all("other", 8), 8);
}

TEST(what_is_granted_and_not_sent_costs_nothing)
{
	for (unsigned i = 0; i < 1000; i++) {
		last = write_budget_begin(&budget, VIEW("n"), 2, now_ms);
		assert_true(write_budget_grant(&last, 0, VIEW("n-0")));
		assert_true(write_budget_grant(&last, 1, VIEW("n-1")));
	}
	assert_int_equal(write_all("n", 2), 2);
}

/* Also one with more objects than its burst. */
TEST(one_round_is_granted_no_more_than_the_node_has)
{
	last = write_budget_begin(&budget, VIEW("n"), NODE_BURST + 2, now_ms);
	for (unsigned i = 0; i < NODE_BURST + 2; i++) {
		char name[16];

		snprintf(name, sizeof(name), "o-%u", i);
		assert_int_equal(write_budget_grant(&last, i, view_from(name)), i < NODE_BURST);
	}
	assert_int_equal(last.n_held, 2);
	assert_int_equal(last.holder, WRITE_BUDGET_NODE);
	assert_true(last.due_at > now_ms && last.due_at <= now_ms + 1000);
}

TEST(that_a_node_is_held_is_said_once_a_minute)
{
	unsigned n_told = 0;

	assert_int_equal(write_all("n", 1), 1);
	assert_false(write_budget_may_tell(&last));
	for (uint64_t end = now_ms + 10 * WRITE_BUDGET_TELL_MS; now_ms < end; now_ms += 100) {
		write_all("n", 1);
		n_told += write_budget_may_tell(&last);
	}
	assert_int_equal(n_told, 10);
	while (write_all("other", 1) > 0)
		;
	assert_true(write_budget_may_tell(&last));
}

static void assert_held(size_t nodes, size_t objects)
{
	const struct write_budget_held held = write_budget_held(&budget);

	assert_int_equal(held.nodes, nodes);
	assert_int_equal(held.objects, objects);
}

TEST(it_is_known_how_many_nodes_and_objects_are_held_now)
{
	assert_held(0, 0);
	while (write_all("n", 1) > 0)
		;
	assert_held(1, 1);
	assert_int_equal(write_all("n", 3), 2);
	assert_held(1, 1);
	while (write_all("other", 2) > 0)
		;
	assert_held(2, 3);
	write_budget_settle(&budget, VIEW("never seen"));
	assert_held(2, 3);
	write_budget_settle(&budget, VIEW("other"));
	assert_held(1, 1);
	now_ms = last.due_at;
	assert_int_equal(write_all("n", 1), 1);
	assert_held(0, 0);
	/* Who does not ask any more is not held, either. */
	assert_int_equal(write_all("n", 1), 0);
	assert_held(1, 1);
	now_ms += WRITE_BUDGET_TELL_MS;
	write_all("other", 1);
	assert_held(0, 0);
}

TEST(nodes_of_which_something_is_held_are_listed_and_no_more_than_wanted)
{
	struct write_budget_held_node nodes[3];

	assert_int_equal(write_budget_list_held(&budget, 3, nodes), 0);
	write_all("idle", 1);
	while (write_all("n", 2) > 0)
		;
	assert_int_equal(write_budget_list_held(&budget, 3, nodes), 1);
	assert_true(view_equal(nodes[0].name, VIEW("n")));
	assert_int_equal(nodes[0].n_objects, 2);
	while (write_all("other", 1) > 0)
		;
	assert_int_equal(write_budget_list_held(&budget, 3, nodes), 2);
	assert_int_equal(nodes[0].n_objects + nodes[1].n_objects, 3);
	assert_int_equal(write_budget_list_held(&budget, 1, nodes), 1);
	assert_int_equal(write_budget_list_held(&budget, 0, nodes), 0);
	write_budget_settle(&budget, VIEW("n"));
	assert_int_equal(write_budget_list_held(&budget, 3, nodes), 1);
	assert_true(view_equal(nodes[0].name, VIEW("other")));
}

TEST(nothing_is_remembered_of_who_was_quiet_for_long)
{
	for (unsigned i = 0; i < 100; i++) {
		char node[16];

		snprintf(node, sizeof(node), "node-%u", i);
		write_all(node, N_DEVICES);
	}
	assert_int_equal(budget.objects.by_name.count, 100 * N_DEVICES);
	assert_int_equal(budget.nodes.by_name.count, 100);
	now_ms += WRITE_BUDGET_TELL_MS;
	write_all("n", 1);
	assert_int_equal(budget.objects.by_name.count, 1);
	assert_int_equal(budget.nodes.by_name.count, 1);
	assert_int_equal(write_budget_forgotten(&budget), 0);
}

TEST(there_is_a_limit_to_what_is_remembered)
{
	for (unsigned i = 0; i < LIMIT_WRITE_NODES + 7; i++) {
		char node[16];

		snprintf(node, sizeof(node), "node-%u", i);
		assert_int_equal(write_all(node, 9), 9);
	}
	assert_int_equal(budget.nodes.by_name.count, LIMIT_WRITE_NODES);
	assert_int_equal(budget.objects.by_name.count, LIMIT_WRITE_OBJECTS);
	assert_int_equal(write_budget_forgotten(&budget),
			 7 + (LIMIT_WRITE_NODES + 7) * 9 - LIMIT_WRITE_OBJECTS);
}

TEST(without_memory_nothing_is_held)
{
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		write_budget_deinit(&budget);
		write_budget_init(&budget);
		failing_malloc_at(k);
		unsigned n = write_all("n", 2);
		failed = failing_malloc_off();
		assert_int_equal(n, 2);
	}
	write_budget_deinit(&budget);
	write_budget_init(&budget);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(an_object_has_a_few_writes_at_once_and_then_one_a_second),
	cmocka_unit_test_set_up(a_node_may_create_all_its_objects_with_their_statuses_at_once),
	cmocka_unit_test_set_up(a_node_has_ten_writes_a_second_once_its_burst_is_used_up),
	cmocka_unit_test_set_up(devices_of_a_node_that_is_short_of_writes_take_turns),
	cmocka_unit_test_set_up(
		something_of_what_is_held_can_be_written_when_it_is_said_to_be_due_and_not_before),
	cmocka_unit_test_set_up(other_objects_and_nodes_do_not_wait),
	cmocka_unit_test_set_up(what_is_granted_and_not_sent_costs_nothing),
	cmocka_unit_test_set_up(one_round_is_granted_no_more_than_the_node_has),
	cmocka_unit_test_set_up(that_a_node_is_held_is_said_once_a_minute),
	cmocka_unit_test_set_up(it_is_known_how_many_nodes_and_objects_are_held_now),
	cmocka_unit_test_set_up(nodes_of_which_something_is_held_are_listed_and_no_more_than_wanted),
	cmocka_unit_test_set_up(nothing_is_remembered_of_who_was_quiet_for_long),
	cmocka_unit_test_set_up(there_is_a_limit_to_what_is_remembered),
	cmocka_unit_test_set_up(without_memory_nothing_is_held),
};

TEST_MAIN(tests)
