/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/join_pause.h"

static struct join_pause pause_of;

static int set_up(void **state)
{
	(void)state;
	join_pause_init(&pause_of);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	join_pause_deinit(&pause_of);
	return 0;
}

TEST(a_node_waits_for_twenty_times_what_its_join_took)
{
	join_pause_note(&pause_of, VIEW("a"), 81000, 5000);
	assert_int_equal(join_pause_until(&pause_of, VIEW("a")), 5000 + 1620);
	assert_int_equal(join_pause_until(&pause_of, VIEW("b")), 0);
	join_pause_note(&pause_of, VIEW("a"), 3000, 7000);
	assert_int_equal(join_pause_until(&pause_of, VIEW("a")), 7000 + 60);
	assert_int_equal(pause_of.n_pauses, 2);
}

TEST(after_a_cheap_join_nobody_waits)
{
	join_pause_note(&pause_of, VIEW("a"), JOIN_PAUSE_CHEAP_US, 5000);
	assert_int_equal(join_pause_until(&pause_of, VIEW("a")), 0);
	join_pause_note(&pause_of, VIEW("a"), JOIN_PAUSE_CHEAP_US + 1, 5000);
	assert_int_equal(join_pause_until(&pause_of, VIEW("a")), 5040);
}

/* However often it is asked for, a node gets no more than a twentieth of the time. */
TEST(a_dear_node_gets_no_more_than_its_share)
{
	uint64_t now_ms = 1000, spent_ms = 0;

	while (now_ms < 101000) {
		uint64_t until = join_pause_until(&pause_of, VIEW("a"));

		if (now_ms < until)
			now_ms = until;
		now_ms += 50; /* the join */
		spent_ms += 50;
		join_pause_note(&pause_of, VIEW("a"), 50000, now_ms);
	}
	assert_in_range(spent_ms, 4500, 5000);
}

TEST(pauses_that_have_ended_are_forgotten_and_there_is_a_limit)
{
	char name[32];

	for (unsigned i = 0; i < LIMIT_PAUSED_NODES + 3; i++) {
		snprintf(name, sizeof(name), "node-%u", i);
		join_pause_note(&pause_of, view_from(name), 1000000, 5000);
		assert_int_equal(join_pause_until(&pause_of, view_from(name)),
				 i < LIMIT_PAUSED_NODES ? 25000 : 0);
	}
	assert_int_equal(pause_of.nodes.count, LIMIT_PAUSED_NODES);
	join_pause_note(&pause_of, VIEW("a"), 3000, 25000);
	assert_int_equal(pause_of.nodes.count, 1);
}

TEST(without_memory_nobody_waits)
{
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		join_pause_note(&pause_of, VIEW("a"), 3000, 5000);
		failed = failing_malloc_off();
		assert_int_equal(join_pause_until(&pause_of, VIEW("a")), failed ? 0 : 5060);
	}
}

TESTS(set_up, tear_down)
