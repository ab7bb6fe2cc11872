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
	reachability_failed(&r, 0, now);
}

/* A probe must be due; it ends `later` ms after it was sent. */
static enum reachability_state probe(enum reachability_probe outcome, uint32_t retry_after_ms,
				     uint64_t later)
{
	assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	now += later;
	return reachability_probed(&r, outcome, retry_after_ms, now);
}

/* What is due is a probe, which ends so, or a try, for which nobody waits. */
static void probe_or_try(enum reachability_probe outcome, uint64_t later)
{
	if (reachability_next(&r, now) == REACHABILITY_TRY)
		return;
	assert_true(r.is_probing);
	now += later;
	reachability_probed(&r, outcome, 0, now);
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

/* Lets time pass until a probe is due. */
static void wait_for_probe(void)
{
	wait_until_due();
	if (r.is_try_next) {
		assert_int_equal(reachability_next(&r, now), REACHABILITY_TRY);
		wait_until_due();
	}
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
	assert_int_equal(reachability_answered(&r, now), REACHABILITY_ANSWERS);
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
		{REACHABILITY_AWAY, REACHABILITY_PROBE_UNREADY, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		if (rows[i].before == REACHABILITY_AWAY) {
			begin_outage(rows[i].outcome);
			wait_for_probe();
		} else {
			fail_request();
		}
		if (rows[i].is_probe)
			assert_int_equal(probe(REACHABILITY_PROBE_ANSWERED, 0, 5), rows[i].before);
		else
			assert_int_equal(reachability_answered(&r, now), rows[i].before);
		assert_int_equal(r.state, REACHABILITY_ANSWERS);
		expect_rest();
		/* The next failure begins anew, with a probe. */
		now += 10000;
		fail_request();
		assert_int_equal(probe(REACHABILITY_PROBE_REFUSED, 0, 0), REACHABILITY_DOUBTED);
		assert_in_range(wait_until_due(), 800, 1000);
		assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	}
}

/* What an open connection brings says nothing of those that are made anew. */
static void what_is_heard_ends_doubt_and_outage_of_a_server_that_was_steady(void **state)
{
	(void)state;
	for (int is_away = 0; is_away < 2; is_away++) {
		set_up(NULL);
		assert_int_equal(reachability_heard(&r, now), REACHABILITY_ANSWERS);
		if (is_away)
			begin_outage(REACHABILITY_PROBE_UNREADY);
		else
			fail_request();
		assert_int_equal(reachability_heard(&r, now),
				 is_away ? REACHABILITY_AWAY : REACHABILITY_DOUBTED);
		expect_rest();
		/* Nobody was answered for an hour: the next time only an answer counts. */
		now += 3600000;
		fail_request();
		assert_false(r.was_steady);
		assert_int_equal(reachability_heard(&r, now), REACHABILITY_ANSWERS);
		assert_int_equal(r.state, REACHABILITY_DOUBTED);
		assert_int_equal(probe(REACHABILITY_PROBE_UNREADY, 0, 0), REACHABILITY_DOUBTED);
		assert_int_equal(reachability_heard(&r, now), REACHABILITY_ANSWERS);
		assert_int_equal(r.state, REACHABILITY_AWAY);
		assert_int_equal(reachability_answered(&r, now), REACHABILITY_AWAY);
	}
}

static void who_is_answered_after_something_was_heard_finds_a_steady_server_a_second_later(
	void **state)
{
	(void)state;
	for (uint64_t missing = 0; missing < 2; missing++) {
		set_up(NULL);
		begin_outage(REACHABILITY_PROBE_UNREADY);
		assert_int_equal(reachability_heard(&r, now), REACHABILITY_AWAY);
		now += 60000;
		assert_int_equal(reachability_answered(&r, now), REACHABILITY_ANSWERS);
		now += REACHABILITY_STEADY_MS - missing;
		fail_request();
		assert_int_equal(r.was_steady, missing == 0);
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

static void a_server_that_is_reached_and_broken_is_asked_ever_more_seldom(void **state)
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
			probe_or_try(REACHABILITY_PROBE_FAILED, 0);
		assert_in_range(waited, rows[i].low, rows[i].high);
		probe_or_try(REACHABILITY_PROBE_FAILED, 0);
	}
}

static unsigned count_requests_in_a_minute(uint64_t each_takes)
{
	unsigned n = 0;
	set_up(NULL);
	fail_request();
	for (; now < BEGIN + 60000; n++) {
		probe_or_try(REACHABILITY_PROBE_FAILED, each_takes);
		wait_until_due();
	}
	return n;
}

static void a_broken_server_is_asked_less_than_forty_times_in_the_first_minute(void **state)
{
	(void)state;
	assert_in_range(count_requests_in_a_minute(0), 25, 39);
	/* The pause is between probes: one that hangs does not follow upon another. */
	assert_in_range(count_requests_in_a_minute(5000), 6, 20);
}

static void what_is_refused_or_answered_forgets_how_long_the_server_was_broken(void **state)
{
	(void)state;
	for (int is_answered = 0; is_answered < 2; is_answered++) {
		set_up(NULL);
		begin_outage(REACHABILITY_PROBE_FAILED);
		while (now < BEGIN + 100000) {
			wait_until_due();
			probe_or_try(REACHABILITY_PROBE_FAILED, 0);
		}
		assert_in_range(wait_until_due(), 4000, 5000);
		if (r.is_try_next) {
			assert_int_equal(reachability_next(&r, now), REACHABILITY_TRY);
			assert_in_range(wait_until_due(), 4000, 5000);
		}
		if (is_answered) {
			reachability_answered(&r, now);
			fail_request();
		} else {
			probe(REACHABILITY_PROBE_REFUSED, 0, 0);
			assert_in_range(wait_until_due(), 800, 1000);
		}
		probe(REACHABILITY_PROBE_FAILED, 0, 0);
		assert_in_range(wait_until_due(), 400, 500);
	}
}

/* A server that was silent and now says 500 is starting. */
static void a_probe_that_ends_otherwise_is_followed_soon_by_the_next(void **state)
{
	(void)state;
	static const struct {
		enum reachability_probe before, then;
		uint64_t low, high;
	} rows[] = {
		{REACHABILITY_PROBE_FAILED, REACHABILITY_PROBE_UNREADY, 400, 500},
		{REACHABILITY_PROBE_UNREADY, REACHABILITY_PROBE_FAILED, 400, 500},
		{REACHABILITY_PROBE_FAILED, REACHABILITY_PROBE_REFUSED, 800, 1000},
		{REACHABILITY_PROBE_FAILED, REACHABILITY_PROBE_FAILED, 4000, 5000},
		{REACHABILITY_PROBE_UNREADY, REACHABILITY_PROBE_UNREADY, 4000, 5000},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		begin_outage(rows[i].before);
		while (now < BEGIN + 100000) {
			wait_for_probe();
			probe(rows[i].before, 0, 0);
		}
		wait_for_probe();
		probe(rows[i].then, 0, 0);
		assert_in_range(wait_until_due(), rows[i].low, rows[i].high);
	}
}

/* Each outage has changes of its own that are heeded. */
static void what_changed_in_one_outage_does_not_count_in_the_next(void **state)
{
	(void)state;
	begin_outage(REACHABILITY_PROBE_FAILED);
	for (int i = 0; now < BEGIN + 100000; i++) {
		wait_for_probe();
		probe(i % 2 ? REACHABILITY_PROBE_FAILED : REACHABILITY_PROBE_UNREADY, 0, 0);
	}
	reachability_answered(&r, now);
	now += 10000;
	begin_outage(REACHABILITY_PROBE_FAILED);
	for (uint64_t begun = now; now < begun + 100000;) {
		wait_for_probe();
		probe(REACHABILITY_PROBE_FAILED, 0, 0);
	}
	wait_for_probe();
	probe(REACHABILITY_PROBE_UNREADY, 0, 0);
	assert_in_range(wait_until_due(), 400, 500);
}

/* As of a balancer before a server that is cut off and one that is overloaded. */
static void a_server_that_fails_by_turns_is_asked_ever_more_seldom_too(void **state)
{
	(void)state;
	begin_outage(REACHABILITY_PROBE_FAILED);
	for (int i = 0; now < BEGIN + 100000; i++) {
		wait_for_probe();
		probe(i % 2 ? REACHABILITY_PROBE_FAILED : REACHABILITY_PROBE_UNREADY, 0, 0);
	}
	assert_in_range(wait_until_due(), 4000, 5000);
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

/* Else a resource that may not be read would cost up to 5 s more each time that it is the one. */
static void a_try_that_is_refused_is_followed_by_the_probe_at_once(void **state)
{
	(void)state;
	begin_outage(REACHABILITY_PROBE_UNREADY);
	while (now < BEGIN + 60000) {
		wait_until_due();
		probe_or_try(REACHABILITY_PROBE_UNREADY, 0);
	}
	while (reachability_next(&r, now) != REACHABILITY_TRY) {
		if (r.is_probing)
			reachability_probed(&r, REACHABILITY_PROBE_UNREADY, 0, now);
		wait_until_due();
	}
	now += 20;
	reachability_refused(&r, now);
	assert_int_equal(r.state, REACHABILITY_AWAY);
	assert_true(reachability_due_at(&r) == now);
	assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	/* What else is refused hastens nothing: not while it is probed, */
	reachability_refused(&r, now);
	expect_rest();
	reachability_probed(&r, REACHABILITY_PROBE_UNREADY, 7000, now);
	/* not what the server asked to wait for, */
	reachability_refused(&r, now);
	assert_in_range(wait_until_due(), 7000, 7000);
	/* and not while it answers. */
	reachability_answered(&r, now);
	reachability_refused(&r, now);
	expect_rest();
}

static void where_something_listens_it_is_probed_and_tried_by_turns(void **state)
{
	(void)state;
	static const enum reachability_probe outcomes[] = {REACHABILITY_PROBE_UNREADY,
							   REACHABILITY_PROBE_FAILED};
	for (size_t k = 0; k < ARRAY_SIZE(outcomes); k++) {
		set_up(NULL);
		begin_outage(outcomes[k]);
		for (int i = 0; i < 100; i++) {
			assert_in_range(wait_until_due(), 400, 5000);
			assert_int_equal(reachability_next(&r, now), REACHABILITY_TRY);
			assert_int_equal(r.state, REACHABILITY_AWAY);
			if (i % 2 == 0)
				fail_request(); /* the one that was let go ahead */
			assert_in_range(wait_until_due(), 400, 5000);
			assert_int_equal(probe(outcomes[k], 0, 0), REACHABILITY_AWAY);
		}
		/* In the end each is as seldom as the probes of a server that does not answer. */
		assert_in_range(wait_until_due(), 4000, 5000);
		assert_int_equal(reachability_next(&r, now), REACHABILITY_TRY);
		assert_int_equal(reachability_answered(&r, now), REACHABILITY_AWAY);
		expect_rest();
	}
}

static void where_nothing_listens_nothing_is_tried(void **state)
{
	(void)state;
	static const enum reachability_probe first[] = {
		REACHABILITY_PROBE_REFUSED, REACHABILITY_PROBE_UNREADY, REACHABILITY_PROBE_FAILED};
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		set_up(NULL);
		begin_outage(first[i]);
		wait_for_probe();
		for (int n = 0; n < 3; n++) {
			assert_int_equal(probe(REACHABILITY_PROBE_REFUSED, 0, 0), REACHABILITY_AWAY);
			wait_until_due();
		}
	}
}

/* What was said during an outage does not outlive it, however often a new one is suspected. */
static void a_new_doubt_is_probed_within_a_second_whatever_an_outage_was_told_to_wait(void **state)
{
	(void)state;
	static const uint64_t well_ms[] = {0, 1, 10000};
	for (size_t i = 0; i < ARRAY_SIZE(well_ms); i++) {
		set_up(NULL);
		fail_request();
		probe(REACHABILITY_PROBE_UNREADY, 3600000, 0);
		assert_int_equal(reachability_answered(&r, now), REACHABILITY_AWAY);
		now += well_ms[i];
		fail_request();
		assert_true(reachability_due_at(&r) == now + 1000);
		now += 1000;
		assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	}
}

/* Who is refused or cut at once has not waited; short waits are those of a busy server. */
static void it_says_since_when_something_was_waited_for_in_vain(void **state)
{
	(void)state;
	static const struct {
		uint64_t waited_ms; /* by the request that failed */
		uint64_t probe_ms;
		enum reachability_probe outcome;
		uint64_t silent_ms; /* when the probe ends; 0: never */
	} rows[] = {
		{0, 0, REACHABILITY_PROBE_REFUSED, 0},
		{1999, 1999, REACHABILITY_PROBE_FAILED, 0},
		{2000, 10, REACHABILITY_PROBE_REFUSED, 2010},
		{0, 2000, REACHABILITY_PROBE_FAILED, 2000},
		{0, 2000, REACHABILITY_PROBE_UNREADY, 0},
		{0, 2000, REACHABILITY_PROBE_REFUSED, 0},
		{1000, 5000, REACHABILITY_PROBE_FAILED, 5000},
		{10000, 5000, REACHABILITY_PROBE_FAILED, 5000},
		{75000, 0, REACHABILITY_PROBE_ANSWERED, 75000},
		{0, 4000, REACHABILITY_PROBE_ANSWERED, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		assert_true(reachability_silent_since(&r) == 0);
		reachability_failed(&r, rows[i].waited_ms, now);
		probe(rows[i].outcome, 0, rows[i].probe_ms);
		uint64_t expected = rows[i].silent_ms ? now - rows[i].silent_ms : 0;
		assert_true(reachability_silent_since(&r) == expected);
		/* It can still be asked when the server answers again, */
		now += 500;
		reachability_answered(&r, now);
		assert_true(reachability_silent_since(&r) == expected);
		/* and is forgotten by the next doubt. */
		now += 10000;
		fail_request();
		assert_true(reachability_silent_since(&r) == 0);
	}
}

/* What another connection brought before that proves nothing. */
static void of_several_that_waited_in_vain_the_one_that_began_last_counts(void **state)
{
	(void)state;
	begin_outage(REACHABILITY_PROBE_REFUSED);
	now += 10000;
	reachability_failed(&r, 3000, now);
	assert_true(reachability_silent_since(&r) == now - 3000);
	reachability_failed(&r, 2500, now);
	uint64_t since = now - 2500;
	assert_true(reachability_silent_since(&r) == since);
	reachability_failed(&r, 8000, now);
	now += 500;
	reachability_failed(&r, 0, now);
	assert_true(reachability_silent_since(&r) == since);
	probe(REACHABILITY_PROBE_FAILED, 0, 5000);
	assert_true(reachability_silent_since(&r) == now - 5000);
}

/* The server answers somebody else, on a connection that is newer than those of the watches. */
static void a_probe_waits_in_vain_though_somebody_else_is_answered(void **state)
{
	(void)state;
	static const struct {
		uint64_t probe_ms;
		enum reachability_probe outcome;
		bool is_silent;
	} rows[] = {
		{1999, REACHABILITY_PROBE_FAILED, false},
		{2000, REACHABILITY_PROBE_FAILED, true},
		{5000, REACHABILITY_PROBE_FAILED, true},
		{5000, REACHABILITY_PROBE_UNREADY, false},
		{5000, REACHABILITY_PROBE_REFUSED, false},
		{5000, REACHABILITY_PROBE_ANSWERED, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		uint64_t probed_at = now;
		reachability_failed(&r, 3000, now); /* acted upon with the answer */
		assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
		assert_int_equal(reachability_answered(&r, now), REACHABILITY_DOUBTED);
		assert_true(reachability_silent_since(&r) == now - 3000);
		now += rows[i].probe_ms;
		assert_int_equal(reachability_probed(&r, rows[i].outcome, 0, now),
				 REACHABILITY_ANSWERS);
		assert_true(reachability_silent_since(&r) == (rows[i].is_silent ? probed_at : 0));
		expect_rest();
	}
}

/* A server that was well from the start, or for REACHABILITY_STEADY_MS, does not flap. */
static void after_a_steady_server_was_away_nothing_is_to_be_settled(void **state)
{
	(void)state;
	static const struct {
		uint64_t answered_ms; /* between two outages */
		bool is_steady;
	} rows[] = {{0, false},
		    {REACHABILITY_STEADY_MS - 1, false},
		    {REACHABILITY_STEADY_MS, true},
		    {3600000, true}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(NULL);
		begin_outage(REACHABILITY_PROBE_REFUSED);
		assert_true(r.was_steady);
		reachability_answered(&r, now);
		expect_rest();
		now += rows[i].answered_ms;
		fail_request();
		if (reachability_due_at(&r) > now)
			wait_until_due();
		probe(REACHABILITY_PROBE_REFUSED, 0, 0);
		wait_until_due();
		probe(REACHABILITY_PROBE_ANSWERED, 0, 0);
		assert_int_equal(r.was_steady, rows[i].is_steady);
		if (rows[i].is_steady) {
			expect_rest();
			continue;
		}
		assert_int_equal(wait_until_due(), REACHABILITY_STEADY_MS);
		assert_int_equal(reachability_next(&r, now), REACHABILITY_SETTLED);
		expect_rest(); /* it is said once */
	}
}

static void a_server_that_flaps_is_settled_a_second_after_it_failed_for_the_last_time(
	void **state)
{
	(void)state;
	for (int is_doubt = 0; is_doubt < 2; is_doubt++) { /* or an outage */
		set_up(NULL);
		begin_outage(REACHABILITY_PROBE_REFUSED);
		for (int i = 0; i < 5; i++) {
			reachability_answered(&r, now);
			now += REACHABILITY_STEADY_MS - 1;
			fail_request();
			if (reachability_due_at(&r) > now)
				wait_until_due();
			if (i > 0 && is_doubt)
				continue;
			probe(REACHABILITY_PROBE_REFUSED, 0, 0);
			assert_int_equal(r.state, REACHABILITY_AWAY);
			assert_int_not_equal(reachability_next(&r, now), REACHABILITY_SETTLED);
		}
		reachability_answered(&r, now);
		assert_int_equal(wait_until_due(), REACHABILITY_STEADY_MS);
		assert_int_equal(reachability_next(&r, now), REACHABILITY_SETTLED);
		expect_rest();
	}
}

/* Nobody needs the probe any more, and it may hang for seconds. */
static void a_server_is_settled_also_while_a_probe_is_under_way(void **state)
{
	(void)state;
	begin_outage(REACHABILITY_PROBE_REFUSED);
	reachability_answered(&r, now);
	fail_request(); /* at once: it flaps */
	wait_until_due();
	probe(REACHABILITY_PROBE_REFUSED, 0, 0);
	wait_until_due();
	assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
	assert_int_equal(reachability_answered(&r, now), REACHABILITY_AWAY);
	assert_true(r.is_probing);
	assert_int_equal(wait_until_due(), REACHABILITY_STEADY_MS);
	assert_int_equal(reachability_next(&r, now), REACHABILITY_SETTLED);
	expect_rest();
}

/* It was steady again before it was said so: the outage begins with nothing to be settled. */
static void what_was_to_be_settled_is_forgotten_in_an_outage_of_a_steady_server(void **state)
{
	(void)state;
	begin_outage(REACHABILITY_PROBE_REFUSED);
	reachability_answered(&r, now);
	fail_request(); /* at once: it flaps */
	wait_until_due();
	probe(REACHABILITY_PROBE_REFUSED, 0, 0);
	reachability_answered(&r, now);
	now += REACHABILITY_STEADY_MS; /* and the loop is late */
	begin_outage(REACHABILITY_PROBE_REFUSED);
	assert_true(r.was_steady);
	reachability_answered(&r, now);
	expect_rest();
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
	reachability_answered(&r, now);
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
			wait_for_probe();
		} else {
			fail_request();
		}
		assert_int_equal(reachability_next(&r, now), REACHABILITY_PROBE);
		assert_int_equal(reachability_answered(&r, now),
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
	reachability_answered(&r, now);
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
	cmocka_unit_test_setup(what_is_heard_ends_doubt_and_outage_of_a_server_that_was_steady, set_up),
	cmocka_unit_test_setup(who_is_answered_after_something_was_heard_finds_a_steady_server_a_second_later, set_up),
	cmocka_unit_test_setup(where_nothing_listens_there_is_a_probe_a_second_and_in_the_end_one_in_two, set_up),
	cmocka_unit_test_setup(a_server_that_is_reached_and_broken_is_asked_ever_more_seldom,
			       set_up),
	cmocka_unit_test_setup(a_broken_server_is_asked_less_than_forty_times_in_the_first_minute,
			       set_up),
	cmocka_unit_test_setup(what_is_refused_or_answered_forgets_how_long_the_server_was_broken,
			       set_up),
	cmocka_unit_test_setup(a_probe_that_ends_otherwise_is_followed_soon_by_the_next, set_up),
	cmocka_unit_test_setup(what_changed_in_one_outage_does_not_count_in_the_next, set_up),
	cmocka_unit_test_setup(a_server_that_fails_by_turns_is_asked_ever_more_seldom_too, set_up),
	cmocka_unit_test_setup(what_retry_after_asks_for_is_kept_to, set_up),
	cmocka_unit_test_setup(a_try_that_is_refused_is_followed_by_the_probe_at_once, set_up),
	cmocka_unit_test_setup(where_something_listens_it_is_probed_and_tried_by_turns, set_up),
	cmocka_unit_test_setup(where_nothing_listens_nothing_is_tried, set_up),
	cmocka_unit_test_setup(a_new_doubt_is_probed_within_a_second_whatever_an_outage_was_told_to_wait, set_up),
	cmocka_unit_test_setup(it_says_since_when_something_was_waited_for_in_vain, set_up),
	cmocka_unit_test_setup(of_several_that_waited_in_vain_the_one_that_began_last_counts, set_up),
	cmocka_unit_test_setup(a_probe_waits_in_vain_though_somebody_else_is_answered, set_up),
	cmocka_unit_test_setup(after_a_steady_server_was_away_nothing_is_to_be_settled, set_up),
	cmocka_unit_test_setup(a_server_that_flaps_is_settled_a_second_after_it_failed_for_the_last_time, set_up),
	cmocka_unit_test_setup(a_server_is_settled_also_while_a_probe_is_under_way, set_up),
	cmocka_unit_test_setup(what_was_to_be_settled_is_forgotten_in_an_outage_of_a_steady_server, set_up),
	cmocka_unit_test_setup(while_probes_succeed_failures_cost_one_probe_a_second_at_most,
			       set_up),
	cmocka_unit_test_setup(a_probe_that_fails_after_somebody_was_answered_changes_nothing,
			       set_up),
	cmocka_unit_test_setup(what_fails_after_an_answer_is_judged_by_the_probe_that_is_under_way,
			       set_up),
	cmocka_unit_test_setup(clients_of_different_seeds_do_not_probe_in_step, set_up),
};
TEST_MAIN(tests)
