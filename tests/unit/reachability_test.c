/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/reachability.h"

#define BEGIN UINT64_C(1000000)

static struct reachability r;
static uint64_t now;

static int set_up(void **state)
{
	(void)state;
	now = BEGIN;
	reachability_init(&r, 42);
	return 0;
}

static void fail_request(void)
{
	reachability_failed(&r, now);
}

/* A probe must be due; it ends `later` ms after it was sent. */
static enum reachability_state probe(enum reachability_probe outcome, uint32_t retry_after_ms,
				     uint64_t later)
{
	assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	now += later;
	return reachability_probed(&r, outcome, retry_after_ms, now);
}

/* Lets time pass until something is due, and says how long that was; before, nothing is. */
static uint64_t wait_until_due(void)
{
	uint64_t due_at = reachability_due_at(&r);
	assert_true(due_at != UINT64_MAX);
	assert_true(due_at > now);
	assert_int_equal(reachability_next(&r, due_at - 1), REACHABILITY_NOTHING);
	uint64_t waited = due_at - now;
	now = due_at;
	return waited;
}

static void expect_rest(void)
{
	assert_true(reachability_due_at(&r) == UINT64_MAX);
	assert_int_equal(reachability_next(&r, now), REACHABILITY_NOTHING);
	assert_int_equal(reachability_next(&r, now + 3600000), REACHABILITY_NOTHING);
}

/* The server was found away by a probe that ended so. */
static void begin_outage(enum reachability_probe outcome)
{
	fail_request();
	probe(outcome, 0, 0);
	assert_int_equal(r.state, REACHABILITY_AWAY);
}

static void a_server_of_which_nothing_is_known_is_taken_to_answer(void **state)
{
	(void)state;
	assert_int_equal(r.state, REACHABILITY_ANSWERS);
	expect_rest();
	assert_int_equal(reachability_answered(&r), REACHABILITY_ANSWERS);
	expect_rest();
}

static void a_request_that_fails_leads_to_one_probe_at_once(void **state)
{
	(void)state;
	fail_request();
	assert_int_equal(r.state, REACHABILITY_DOUBTED);
	assert_true(reachability_due_at(&r) == now);
	assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	for (int i = 0; i < 3; i++) {
		fail_request();
		assert_int_equal(r.state, REACHABILITY_DOUBTED);
		expect_rest(); /* but for the probe that is under way */
		now += 1000;
	}
}

static void a_probe_that_fails_as_well_finds_the_server_away(void **state)
{
	(void)state;
	static const enum reachability_probe outcomes[] = {
		REACHABILITY_PROBE_REFUSED, REACHABILITY_PROBE_UNREADY, REACHABILITY_PROBE_FAILED};
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		set_up(NULL);
		fail_request();
		assert_int_equal(probe(outcomes[i], 0, 10), REACHABILITY_DOUBTED);
		assert_int_equal(r.state, REACHABILITY_AWAY);
		/* What fails now is no news, and leads to no probe of its own. */
		uint64_t due_at = reachability_due_at(&r);
		assert_true(due_at > now);
		fail_request();
		assert_int_equal(r.state, REACHABILITY_AWAY);
		assert_true(reachability_due_at(&r) == due_at);
	}
}

static void any_answer_ends_doubt_and_outage_and_says_what_was_before(void **state)
{
	(void)state;
	static const struct {
		enum reachability_state before;
		enum reachability_probe outcome; /* by which it was found away */
		bool is_probe;                   /* that is answered */
	} rows[] = {
		{REACHABILITY_DOUBTED, REACHABILITY_PROBE_ANSWERED, false},
		{REACHABILITY_DOUBTED, REACHABILITY_PROBE_ANSWERED, true},
		{REACHABILITY_AWAY, REACHABILITY_PROBE_REFUSED, false},
		{REACHABILITY_AWAY, REACHABILITY_PROBE_REFUSED, true},
		{REACHABILITY_AWAY, REACHABILITY_PROBE_FAILED, false},
		{REACHABILITY_AWAY, REACHABILITY_PROBE_FAILED, true},
		{REACHABILITY_AWAY, REACHABILITY_PROBE_UNREADY, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		if (rows[i].before == REACHABILITY_AWAY) {
			begin_outage(rows[i].outcome);
			wait_until_due();
		} else {
			fail_request();
		}
		if (rows[i].is_probe)
			assert_int_equal(probe(REACHABILITY_PROBE_ANSWERED, 0, 5), rows[i].before);
		else
			assert_int_equal(reachability_answered(&r), rows[i].before);
		assert_int_equal(r.state, REACHABILITY_ANSWERS);
		expect_rest();
		/* The next failure begins anew, with a probe. */
		now += 10000;
		fail_request();
		assert_int_equal(probe(REACHABILITY_PROBE_FAILED, 0, 0), REACHABILITY_DOUBTED);
		assert_in_range(wait_until_due(), 400, 500);
		assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	}
}

/* No more connections are tried than six watches with a back-off of their own try, in a minute. */
static void where_nothing_listens_there_is_a_probe_a_second_and_in_the_end_one_in_two(void **state)
{
	(void)state;
	uint64_t shortest = UINT64_MAX, longest = 0;
	unsigned n_first_minute = 1;
	begin_outage(REACHABILITY_PROBE_REFUSED);
	while (now < BEGIN + 24 * 3600 * UINT64_C(1000)) {
		uint64_t waited = wait_until_due();
		shortest = waited < shortest ? waited : shortest;
		longest = waited > longest ? waited : longest;
		n_first_minute += now < BEGIN + 60000;
		assert_true(now > BEGIN + 8000 || waited <= 1000);
		assert_int_equal(probe(REACHABILITY_PROBE_REFUSED, 0, 0), REACHABILITY_AWAY);
	}
	assert_in_range(shortest, 800, 900);
	assert_in_range(longest, 1990, 2000);
	assert_in_range(n_first_minute, 30, 42);
}

static void a_server_that_is_reached_and_broken_is_probed_ever_more_seldom(void **state)
{
	(void)state;
	static const struct {
		uint64_t age_s; /* of the outage, at least */
		uint64_t low, high;
	} rows[] = {
		{0, 400, 500}, {4, 400, 650}, {16, 1400, 2300}, {24, 2000, 3500},
		{45, 4000, 5000}, {60, 4000, 5000}, {3600, 4000, 5000}, {86400, 4000, 5000},
	};
	begin_outage(REACHABILITY_PROBE_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t waited = wait_until_due();
		for (; now < BEGIN + rows[i].age_s * 1000; waited = wait_until_due())
			probe(REACHABILITY_PROBE_FAILED, 0, 0);
		assert_in_range(waited, rows[i].low, rows[i].high);
		probe(REACHABILITY_PROBE_FAILED, 0, 0);
	}
}

static unsigned count_probes_in_a_minute(uint64_t each_takes)
{
	unsigned n = 0;
	set_up(NULL);
	fail_request();
	for (; now < BEGIN + 60000; n++) {
		probe(REACHABILITY_PROBE_FAILED, 0, each_takes);
		wait_until_due();
	}
	return n;
}

static void a_broken_server_is_probed_less_than_forty_times_in_the_first_minute(void **state)
{
	(void)state;
	assert_in_range(count_probes_in_a_minute(0), 25, 39);
	/* The pause is between probes: one that hangs does not follow upon another. */
	assert_in_range(count_probes_in_a_minute(5000), 6, 10);
}

static void what_is_refused_or_answered_forgets_how_long_the_server_was_broken(void **state)
{
	(void)state;
	for (int is_answered = 0; is_answered < 2; is_answered++) {
		set_up(NULL);
		begin_outage(REACHABILITY_PROBE_FAILED);
		while (now < BEGIN + 100000) {
			wait_until_due();
			probe(REACHABILITY_PROBE_FAILED, 0, 0);
		}
		assert_in_range(wait_until_due(), 4000, 5000);
		if (is_answered) {
			reachability_answered(&r);
			fail_request();
		} else {
			probe(REACHABILITY_PROBE_REFUSED, 0, 0);
			assert_in_range(wait_until_due(), 800, 1000);
		}
		probe(REACHABILITY_PROBE_FAILED, 0, 0);
		assert_in_range(wait_until_due(), 400, 500);
	}
}

static void what_retry_after_asks_for_is_kept_to(void **state)
{
	(void)state;
	static const struct {
		enum reachability_probe outcome;
		uint32_t retry_after_ms;
		uint64_t low, high;
	} rows[] = {
		{REACHABILITY_PROBE_UNREADY, 30000, 30000, 30000},
		{REACHABILITY_PROBE_UNREADY, 1001, 1001, 1001},
		{REACHABILITY_PROBE_UNREADY, 100, 400, 500},
		{REACHABILITY_PROBE_UNREADY, 0, 400, 500},
		{REACHABILITY_PROBE_FAILED, 20000, 20000, 20000},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		fail_request();
		probe(rows[i].outcome, rows[i].retry_after_ms, 0);
		assert_in_range(wait_until_due(), rows[i].low, rows[i].high);
	}
}

static void an_unready_server_is_probed_and_tried_by_turns(void **state)
{
	(void)state;
	begin_outage(REACHABILITY_PROBE_UNREADY);
	for (int i = 0; i < 100; i++) {
		assert_in_range(wait_until_due(), 400, 5000);
		assert_int_equal(reachability_next(&r, now), REACHABILITY_TRY);
		assert_int_equal(r.state, REACHABILITY_AWAY);
		if (i % 2 == 0)
			fail_request(); /* the one that was let go ahead */
		assert_in_range(wait_until_due(), 400, 5000);
		assert_int_equal(probe(REACHABILITY_PROBE_UNREADY, 0, 0), REACHABILITY_AWAY);
	}
	/* In the end both are as seldom as the probes of a server that does not answer. */
	assert_in_range(wait_until_due(), 4000, 5000);
	assert_int_equal(reachability_next(&r, now), REACHABILITY_TRY);
	assert_int_equal(reachability_answered(&r), REACHABILITY_AWAY);
	expect_rest();
}

static void only_a_server_that_said_it_is_unready_is_tried(void **state)
{
	(void)state;
	static const enum reachability_probe others[] = {REACHABILITY_PROBE_REFUSED,
							 REACHABILITY_PROBE_FAILED};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		set_up(NULL);
		begin_outage(REACHABILITY_PROBE_UNREADY);
		wait_until_due();
		assert_int_equal(reachability_next(&r, now), REACHABILITY_TRY);
		for (int n = 0; n < 3; n++) {
			wait_until_due();
			assert_int_equal(probe(others[i], 0, 0), REACHABILITY_AWAY);
		}
	}
}

static void while_probes_succeed_failures_cost_one_probe_a_second_at_most(void **state)
{
	(void)state;
	unsigned n_probes = 0;
	for (; now < BEGIN + 60000; now += 10) {
		fail_request();
		if (reachability_next(&r, now) != REACHABILITY_PROBE)
			continue;
		n_probes++;
		assert_int_equal(reachability_probed(&r, REACHABILITY_PROBE_ANSWERED, 0, now),
				 REACHABILITY_DOUBTED);
	}
	assert_in_range(n_probes, 55, 60);
	/* After a second without a failure the next one leads to a probe at once again. */
	now += 1000;
	reachability_answered(&r);
	fail_request();
	assert_true(reachability_due_at(&r) == now);
}

static void a_probe_that_fails_after_somebody_was_answered_changes_nothing(void **state)
{
	(void)state;
	for (int was_away = 0; was_away < 2; was_away++) {
		set_up(NULL);
		if (was_away) {
			begin_outage(REACHABILITY_PROBE_FAILED);
			wait_until_due();
		} else {
			fail_request();
		}
		assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
		assert_int_equal(reachability_answered(&r),
				 was_away ? REACHABILITY_AWAY : REACHABILITY_DOUBTED);
		now += 5000;
		assert_int_equal(reachability_probed(&r, REACHABILITY_PROBE_FAILED, 60000, now),
				 REACHABILITY_ANSWERS);
		assert_int_equal(r.state, REACHABILITY_ANSWERS);
		expect_rest();
		/* But for this: the next one is a second later, as after any other. */
		fail_request();
		assert_true(reachability_due_at(&r) == now + 1000);
		now += 1000;
		assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	}
}

static void what_fails_after_an_answer_is_judged_by_the_probe_that_is_under_way(void **state)
{
	(void)state;
	fail_request();
	assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	reachability_answered(&r);
	now += 10;
	fail_request();
	assert_int_equal(r.state, REACHABILITY_DOUBTED);
	expect_rest();
	assert_int_equal(reachability_probed(&r, REACHABILITY_PROBE_REFUSED, 0, now),
			 REACHABILITY_DOUBTED);
	assert_int_equal(r.state, REACHABILITY_AWAY);
}

static void clients_of_different_seeds_do_not_probe_in_step(void **state)
{
	(void)state;
	unsigned n_equal = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t due_at[2];
		for (int i = 0; i < 2; i++) {
			reachability_init(&r, 2 * seed + (uint64_t)i);
			begin_outage(REACHABILITY_PROBE_REFUSED);
			due_at[i] = reachability_due_at(&r);
		}
		n_equal += due_at[0] == due_at[1];
	}
	assert_true(n_equal < 10);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(a_server_of_which_nothing_is_known_is_taken_to_answer, set_up),
	cmocka_unit_test_setup(a_request_that_fails_leads_to_one_probe_at_once, set_up),
	cmocka_unit_test_setup(a_probe_that_fails_as_well_finds_the_server_away, set_up),
	cmocka_unit_test_setup(any_answer_ends_doubt_and_outage_and_says_what_was_before, set_up),
	cmocka_unit_test_setup(where_nothing_listens_there_is_a_probe_a_second_and_in_the_end_one_in_two, set_up),
	cmocka_unit_test_setup(a_server_that_is_reached_and_broken_is_probed_ever_more_seldom,
			       set_up),
	cmocka_unit_test_setup(a_broken_server_is_probed_less_than_forty_times_in_the_first_minute,
			       set_up),
	cmocka_unit_test_setup(what_is_refused_or_answered_forgets_how_long_the_server_was_broken,
			       set_up),
	cmocka_unit_test_setup(what_retry_after_asks_for_is_kept_to, set_up),
	cmocka_unit_test_setup(an_unready_server_is_probed_and_tried_by_turns, set_up),
	cmocka_unit_test_setup(only_a_server_that_said_it_is_unready_is_tried, set_up),
	cmocka_unit_test_setup(while_probes_succeed_failures_cost_one_probe_a_second_at_most,
			       set_up),
	cmocka_unit_test_setup(a_probe_that_fails_after_somebody_was_answered_changes_nothing,
			       set_up),
	cmocka_unit_test_setup(what_fails_after_an_answer_is_judged_by_the_probe_that_is_under_way,
			       set_up),
	cmocka_unit_test_setup(clients_of_different_seeds_do_not_probe_in_step, set_up),
};
TEST_MAIN(tests)
