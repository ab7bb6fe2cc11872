/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One replica, "me", and a server with one Lease. All times are counted from BEGIN. That two never lead
 * is tried in tests/property/lease_prop.c.
 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "kube/answer.h"
#include "kube/lease.h"
#include "kube/lease_record.h"
#include "lib/failing_malloc.h"
#include "lib/lease_server.h"

#define BEGIN 1000000u
#define WALL 1767225600000 /* the first moment of 2026 */
#define DURATION 5000u
#define DEADLINE 4000u
#define RETRY 1000u
#define HELD_BY_OTHER                                                                             \
	"{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":5,"                                  \
	"\"renewTime\":\"2026-01-01T00:00:00.000000Z\",\"leaseTransitions\":7}"
#define RELEASED                                                                                  \
	"{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,"                                       \
	"\"renewTime\":\"2026-01-01T00:00:00.000000Z\",\"leaseTransitions\":7}"

struct world {
	struct lease *lease;
	struct lease_server server;
	struct lease_request request;
	uint64_t now; /* since BEGIN */
	int64_t wall;
};

static const struct lease_config config = {
	.namespace = VIEW_INIT("n"), .name = VIEW_INIT("l"), .identity = VIEW_INIT("me"),
	.duration_ms = DURATION, .renew_deadline_ms = DEADLINE, .retry_ms = RETRY,
};

static int set_up(void **state)
{
	static struct world world;
	struct error error;

	world = (struct world){.wall = WALL};
	lease_server_init(&world.server);
	*state = &world;
	return lease_new(&config, &world.lease, &error);
}

static int tear_down(void **state)
{
	lease_free(((struct world *)*state)->lease);
	return 0;
}

static enum lease_step next(struct world *world)
{
	return lease_next(world->lease, BEGIN + world->now, world->wall, &world->request);
}

static void expect_request(struct world *world, const char *method)
{
	assert_int_equal(next(world), LEASE_REQUEST);
	assert_string_equal(world->request.method, method);
	assert_string_equal(world->request.path,
			    "/apis/coordination.k8s.io/v1/namespaces/n/leases/l");
	assert_int_equal(world->request.body.len > 0, strcmp(method, "PUT") == 0);
}

static void expect_wait(struct world *world, uint64_t until)
{
	assert_int_equal(next(world), LEASE_WAIT);
	assert_int_equal(world->request.wait_until, BEGIN + until);
}

/* A request is under way, and nothing is to be done before it is answered. */
static void expect_busy(const struct world *world)
{
	struct lease_request other;

	assert_int_equal(lease_next(world->lease, BEGIN + 600000, 0, &other), LEASE_WAIT);
	assert_int_equal(other.wait_until, UINT64_MAX);
}

/* The server's answer to the request under way. */
static void fail_with(struct world *world, int status)
{
	struct error error;
	const struct answer answer = {.status = status};

	answer_judge(&answer, &error);
	lease_answered(world->lease, VIEW(""), &error, BEGIN + world->now);
}

static void answer(struct world *world)
{
	int status = lease_server_handle(&world->server, world->request.method, world->request.body);

	if (status == 200)
		lease_answered(world->lease, view_from(world->server.document), NULL,
			       BEGIN + world->now);
	else
		fail_with(world, status);
}

/* It reaches the server, and no answer comes back. */
static void lose_answer(struct world *world)
{
	struct error error;

	(void)lease_server_handle(&world->server, world->request.method, world->request.body);
	error_set(&error, ERROR_RETRY, 0, "time-out");
	lease_answered(world->lease, VIEW(""), &error, BEGIN + world->now);
}

static void get(struct world *world)
{
	expect_request(world, "GET");
	answer(world);
}

static void put(struct world *world)
{
	expect_request(world, "PUT");
	answer(world);
}

static void observe(struct world *world)
{
	lease_observed(world->lease, view_from(world->server.document), BEGIN + world->now);
}

static void expect_lead(const struct world *world, uint64_t until)
{
	assert_int_equal(lease_leads_until(world->lease), BEGIN + until);
	assert_true(lease_leads(world->lease, BEGIN + until - 1));
	assert_false(lease_leads(world->lease, BEGIN + until));
}

static void expect_no_lead(const struct world *world)
{
	assert_int_equal(lease_leads_until(world->lease), 0);
	assert_false(lease_leads(world->lease, 0));
}

/* Leads from now on. */
static void take(struct world *world)
{
	lease_server_edit(&world->server, RELEASED);
	get(world);
	put(world);
	expect_lead(world, world->now + DEADLINE);
}

TEST(it_looks_first_and_leads_nowhere_before)
{
	struct world *world = *state;

	expect_no_lead(world);
	expect_request(world, "GET");
	assert_int_equal(world->request.timeout_ms, DEADLINE / 2);
	expect_busy(world);
	answer(world);
	expect_no_lead(world);
}

TEST(what_was_released_is_taken_at_once)
{
	struct world *world = *state;

	lease_server_edit(&world->server, RELEASED);
	get(world);
	world->now = 10;
	expect_request(world, "PUT");
	world->now = 200;
	answer(world);
	expect_lead(world, 10 + DEADLINE); /* from its start, not from its answer */
	assert_string_equal(world->server.spec,
			    "{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":5,"
			    "\"acquireTime\":\"2026-01-01T00:00:00.001000Z\","
			    "\"renewTime\":\"2026-01-01T00:00:00.001000Z\",\"leaseTransitions\":8}");
	assert_true(view_equal(lease_holder(world->lease), VIEW("me")));
	assert_int_equal(lease_transitions(world->lease), 8);
}

/* Lets time pass, and answers each GET, until a PUT is due. */
static void wait_for_put(struct world *world)
{
	for (unsigned i = 0; i < 1000; i++) {
		enum lease_step step = next(world);

		if (step == LEASE_WAIT) {
			assert_true(world->request.wait_until > BEGIN + world->now);
			world->now = world->request.wait_until - BEGIN;
		} else if (strcmp(world->request.method, "GET") == 0) {
			answer(world);
		} else {
			return;
		}
	}
	fail_msg("there is no end");
}

/* Whoever led before may still lead: only one who has finished says so. */
TEST(all_that_does_not_say_that_its_holder_has_finished_is_waited_for)
{
	static const char *const specs[] = {
		"",
		"{}",
		HELD_BY_OTHER,
		"{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":5,"
		"\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}",
		"{\"holderIdentity\":\"me\"}",
		"{\"holderIdentity\":\"\",\"leaseDurationSeconds\":5,"
		"\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}",
		"{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1}",
		"{\"leaseDurationSeconds\":-1,\"leaseTransitions\":-1}",
		"{\"holderIdentity\":7}",
		"{\"leaseTransitions\":99999999999}",
		"[]",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(specs); i++) {
		struct world *world = *state;

		tear_down(state);
		assert_int_equal(set_up(state), 0);
		lease_server_edit(&world->server, specs[i]);
		wait_for_put(world);
		assert_int_equal(world->now, DURATION);
		answer(world);
		expect_lead(world, DURATION + DEADLINE);
		assert_true(lease_server_is_held_by(&world->server, "me"));
	}
}

TEST(it_is_renewed_each_period_and_leads_on)
{
	struct world *world = *state;

	take(world);
	for (unsigned i = 1; i < 20; i++) {
		expect_wait(world, i * RETRY);
		world->now = i * RETRY;
		world->wall += RETRY;
		put(world);
		expect_lead(world, i * RETRY + DEADLINE);
	}
	assert_non_null(strstr(world->server.spec, "\"leaseTransitions\":8"));
	assert_non_null(strstr(world->server.spec, "\"acquireTime\":\"2026-01-01T00:00:00.001000Z\""));
	assert_non_null(strstr(world->server.spec, "\"renewTime\":\"2026-01-01T00:00:19.000000Z\""));
}

/* The API server writes nothing where nothing changes, and then others would see no renewal. */
TEST(each_renewal_is_a_new_version_whatever_the_wall_clock_does)
{
	static const int64_t walls[] = {WALL, WALL, WALL, 0, 0, -1, WALL, INT64_MAX / 2, 0};
	struct world *world = *state;

	take(world);
	for (unsigned i = 0; i < ARRAY_SIZE(walls); i++) {
		uint64_t before = world->server.version;

		world->now += RETRY;
		world->wall = walls[i];
		put(world);
		assert_int_equal(world->server.version, before + 1);
		expect_lead(world, world->now + DEADLINE);
	}
}

TEST(what_others_wrote_into_the_metadata_stays)
{
	struct world *world = *state;

	take(world);
	lease_server_touch(&world->server);
	world->now = RETRY;
	expect_request(world, "PUT");
	answer(world); /* a conflict; lease_server looks for the labels */
	get(world);
	expect_lead(world, DEADLINE);
	expect_wait(world, 2 * RETRY);
	world->now = 2 * RETRY;
	put(world);
	expect_lead(world, 2 * RETRY + DEADLINE);
}

TEST(a_renewal_whose_answer_was_lost_is_found_and_goes_on)
{
	struct world *world = *state;

	take(world);
	world->now = RETRY;
	expect_request(world, "PUT");
	world->now = RETRY + DEADLINE / 2;
	lose_answer(world);
	expect_lead(world, DEADLINE); /* not known to be a renewal */
	get(world);
	expect_lead(world, DEADLINE);
	put(world);
	expect_lead(world, RETRY + DEADLINE / 2 + DEADLINE);
}

TEST(without_a_renewal_the_lead_ends_by_itself)
{
	static const int statuses[] = {500, 503, 401, 403, 429, 422};

	for (unsigned i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct world *world = *state;
		unsigned n = 0;

		tear_down(state);
		assert_int_equal(set_up(state), 0);
		take(world);
		while (world->now < DEADLINE) {
			if (next(world) == LEASE_WAIT) {
				world->now = world->request.wait_until - BEGIN;
			} else {
				fail_with(world, statuses[i]);
				n++;
			}
			expect_lead(world, DEADLINE);
		}
		assert_in_range(n, 3, 4); /* one a period: neither fewer nor a storm */
		assert_true(lease_failure(world->lease)->text[0]);
	}
}

TEST(who_finds_another_holder_leads_no_longer)
{
	struct world *world = *state;

	take(world);
	lease_server_edit(&world->server, HELD_BY_OTHER);
	world->now = RETRY;
	put(world);
	expect_lead(world, DEADLINE); /* a conflict alone tells nothing */
	get(world);
	expect_no_lead(world);
	assert_true(view_equal(lease_holder(world->lease), VIEW("other")));
	const int64_t of_other = lease_transitions(world->lease);
	wait_for_put(world);
	assert_int_equal(world->now, RETRY + DURATION);
	answer(world);
	assert_int_equal(lease_transitions(world->lease), of_other + 1);
}

/* Who led may still lead. And of what we wrote before, a copy may be written back. */
TEST(a_lease_that_somebody_else_wrote_in_our_name_is_not_ours)
{
	struct world *world = *state;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	get(world);
	lease_server_edit(&world->server, "{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":5,"
					  "\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}");
	observe(world);
	world->now = 1;
	wait_for_put(world);
	assert_int_equal(world->now, DURATION);
}

TEST(a_holder_that_counts_on_a_longer_duration_is_waited_for_as_long)
{
	static const struct {
		const char *duration;
		uint64_t wait;
	} rows[] = {{"1", 5000}, {"4", 5000}, {"6", 6000}, {"60", 60000}, {"61", 60000}, {"2147483647", 60000}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world *world = *state;
		char spec[256];

		tear_down(state);
		assert_int_equal(set_up(state), 0);
		snprintf(spec, sizeof(spec),
			 "{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":%s,"
			 "\"renewTime\":\"1970-01-01T00:00:00.000000Z\"}", rows[i].duration);
		lease_server_edit(&world->server, spec);
		wait_for_put(world);
		assert_int_equal(world->now, rows[i].wait);
	}
}

TEST(each_new_version_begins_the_wait_anew)
{
	struct world *world = *state;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	get(world);
	world->now = 4000;
	lease_server_touch(&world->server);
	observe(world);
	expect_wait(world, 5125); /* whether a renewal was missed */
	wait_for_put(world);
	assert_int_equal(world->now, 4000 + DURATION);
}

TEST(a_failure_to_look_does_not_begin_the_wait_anew)
{
	struct world *world = *state;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	get(world);
	world->now = 1125;
	expect_request(world, "GET");
	fail_with(world, 503);
	wait_for_put(world);
	assert_int_equal(world->now, DURATION);
}

TEST(a_watch_that_tells_of_each_renewal_spares_the_looks)
{
	struct world *world = *state;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	get(world);
	for (unsigned i = 0; i < 20; i++) {
		world->now += RETRY;
		lease_server_touch(&world->server);
		assert_int_equal(next(world), LEASE_WAIT);
		observe(world);
	}
}

TEST(a_release_that_a_watch_tells_of_is_taken_at_once)
{
	struct world *world = *state;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	get(world);
	world->now = 10;
	lease_server_edit(&world->server, RELEASED);
	observe(world);
	put(world);
	expect_lead(world, 10 + DEADLINE);
}

TEST(what_a_watch_tells_too_late_changes_nothing)
{
	char old[2 * LEASE_SERVER_TEXT];
	struct world *world = *state;

	lease_server_edit(&world->server, RELEASED);
	snprintf(old, sizeof(old), "%s", world->server.document);
	get(world);
	put(world);
	world->now = 500;
	lease_observed(world->lease, view_from(old), BEGIN + 500);
	lease_observed(world->lease, VIEW("no object"), BEGIN + 500);
	observe(world); /* our own write */
	expect_lead(world, DEADLINE);
	expect_wait(world, RETRY);
}

TEST(a_renewal_that_the_watch_shows_before_it_is_answered_counts)
{
	struct world *world = *state;

	take(world);
	world->now = RETRY;
	expect_request(world, "PUT");
	(void)lease_server_handle(&world->server, "PUT", world->request.body);
	observe(world);
	expect_lead(world, DEADLINE);
	world->now = RETRY + 5;
	lease_answered(world->lease, view_from(world->server.document), NULL, BEGIN + world->now);
	expect_lead(world, RETRY + DEADLINE);
}

TEST(a_watch_that_tells_of_another_holder_ends_the_lead)
{
	struct world *world = *state;

	take(world);
	lease_server_edit(&world->server, HELD_BY_OTHER);
	observe(world);
	expect_no_lead(world);
}

TEST(an_answer_that_the_watch_has_overtaken_makes_no_leader)
{
	char answered[2 * LEASE_SERVER_TEXT];
	struct world *world = *state;

	take(world);
	world->now = RETRY;
	expect_request(world, "PUT");
	(void)lease_server_handle(&world->server, "PUT", world->request.body);
	snprintf(answered, sizeof(answered), "%s", world->server.document);
	lease_server_edit(&world->server, HELD_BY_OTHER);
	observe(world);
	lease_answered(world->lease, view_from(answered), NULL, BEGIN + world->now);
	expect_no_lead(world);
}

TEST(where_there_is_no_lease_nobody_leads_and_it_is_looked_for)
{
	struct world *world = *state;

	take(world);
	lease_server_delete(&world->server);
	lease_is_gone(world->lease);
	expect_lead(world, DEADLINE); /* until that is certain */
	get(world);
	expect_no_lead(world);
	assert_int_equal(lease_failure(world->lease)->kind, ERROR_NOT_FOUND);
	assert_int_equal(lease_holder(world->lease).len, 0);
	expect_wait(world, RETRY);
	world->now = RETRY;
	get(world);
	expect_wait(world, 2 * RETRY);
}

/* The leader may not know yet that its Lease is another one. */
TEST(a_lease_that_was_made_anew_is_taken_after_the_duration)
{
	struct world *world = *state;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	get(world);
	world->now = 4000;
	lease_server_delete(&world->server);
	lease_server_create(&world->server);
	observe(world);
	assert_int_equal(lease_failure(world->lease)->kind, ERROR_NONE);
	wait_for_put(world);
	assert_int_equal(world->now, 4000 + DURATION);
	answer(world);
	expect_lead(world, world->now + DEADLINE);
}

TEST(what_a_watch_tells_of_a_lease_ends_the_pause_after_a_failure)
{
	struct world *world = *state;

	lease_server_delete(&world->server);
	get(world);
	world->now = 100;
	lease_server_create(&world->server);
	lease_server_edit(&world->server, RELEASED);
	observe(world);
	put(world);
	expect_lead(world, 100 + DEADLINE);
}

/* An API server that is back has its watches listed anew within 200 ms. */
TEST(a_list_that_shows_what_is_known_ends_the_pause_after_a_failure)
{
	struct world *world = *state;

	take(world);
	world->now = RETRY;
	expect_request(world, "PUT");
	fail_with(world, 503);
	world->now = 10 * RETRY;
	expect_request(world, "GET");
	fail_with(world, 503);
	world->now += 200;
	expect_wait(world, 11 * RETRY);
	observe(world);
	put(world);
	expect_lead(world, world->now + DEADLINE);
}

TEST(a_leader_that_ends_gives_the_lease_up_and_leads_no_longer_before)
{
	struct world *world = *state;

	take(world);
	lease_release(world->lease);
	expect_no_lead(world);
	put(world);
	expect_no_lead(world);
	assert_true(lease_server_is_held_by(&world->server, ""));
	assert_non_null(strstr(world->server.spec, "\"leaseDurationSeconds\":1,"));
	assert_int_equal(next(world), LEASE_FINISHED);
	world->now = 60000;
	assert_int_equal(next(world), LEASE_FINISHED);
}

TEST(a_renewal_under_way_is_waited_for_and_then_given_up)
{
	struct world *world = *state;

	take(world);
	world->now = RETRY;
	expect_request(world, "PUT");
	lease_release(world->lease);
	expect_busy(world);
	answer(world);
	expect_no_lead(world);
	put(world);
	assert_true(lease_server_is_held_by(&world->server, ""));
	assert_int_equal(next(world), LEASE_FINISHED);
}

TEST(a_release_that_meets_a_newer_version_is_tried_again)
{
	struct world *world = *state;

	take(world);
	lease_server_touch(&world->server);
	lease_release(world->lease);
	put(world);
	get(world);
	put(world);
	assert_true(lease_server_is_held_by(&world->server, ""));
	assert_int_equal(next(world), LEASE_FINISHED);
}

TEST(who_does_not_hold_the_lease_has_nothing_to_give_up)
{
	struct world *world = *state;

	lease_release(world->lease);
	assert_int_equal(next(world), LEASE_FINISHED);
	tear_down(state);
	assert_int_equal(set_up(state), 0);
	take(world);
	lease_server_edit(&world->server, HELD_BY_OTHER);
	observe(world);
	lease_release(world->lease);
	assert_int_equal(next(world), LEASE_FINISHED);
}

/* As while no name server answers: the request would end by its time-out only. */
TEST(who_never_held_the_lease_does_not_wait_for_a_look_under_way)
{
	struct world *world = *state;

	expect_request(world, "GET");
	lease_release(world->lease);
	assert_int_equal(next(world), LEASE_FINISHED);
	answer(world);
	assert_int_equal(next(world), LEASE_FINISHED);
}

TEST(a_busy_server_is_left_alone_for_as_long_as_it_asks)
{
	struct world *world = *state;
	struct error error;

	expect_request(world, "GET");
	error_set(&error, ERROR_THROTTLED, 0, "busy");
	error.retry_after_ms = 3000;
	lease_answered(world->lease, VIEW(""), &error, BEGIN);
	expect_wait(world, 3000);
	world->now = 3000;
	expect_request(world, "GET");
	error.retry_after_ms = 3600000;
	lease_answered(world->lease, VIEW(""), &error, BEGIN + world->now);
	expect_wait(world, 3000 + DURATION);
}

/* Or two that clear it would make a storm. */
TEST(a_lease_that_is_released_again_and_again_is_not_taken_as_often)
{
	struct world *world = *state;

	take(world);
	lease_server_edit(&world->server, RELEASED);
	observe(world);
	expect_no_lead(world);
	expect_wait(world, RETRY / 8);
}

TEST(an_answer_that_cannot_be_used_is_a_failure)
{
	struct world *world = *state;
	static char large[LEASE_RECORD_BYTES + 64];

	memset(large, ' ', sizeof(large) - 1);
	memcpy(large, world->server.document, strlen(world->server.document));
	const struct {
		const char *body;
		enum error_kind kind;
	} rows[] = {
		{"", ERROR_REJECTED},
		{"<html>", ERROR_REJECTED},
		{"{}", ERROR_REJECTED},
		{"{\"metadata\":{}}", ERROR_REJECTED},
		{"{\"metadata\":{\"resourceVersion\":\"\"}}", ERROR_REJECTED},
		{large, ERROR_LIMIT},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		expect_request(world, "GET");
		lease_answered(world->lease, view_from(rows[i].body), NULL, BEGIN + world->now);
		assert_int_equal(lease_failure(world->lease)->kind, rows[i].kind);
		world->now += RETRY;
	}
	get(world);
	assert_int_equal(lease_failure(world->lease)->kind, ERROR_NONE);
}

TEST(names_that_are_too_long_are_refused)
{
	static char name[4000];
	struct lease_config long_one = config;
	struct lease *lease;
	struct error error;

	memset(name, 'a', sizeof(name) - 1);
	long_one.name = view_from(name);
	assert_int_equal(lease_new(&long_one, &lease, &error), -1);
	assert_int_equal(error.kind, ERROR_LIMIT);
}

/* The k-th allocation of one of the three steps to a lead fails. True: there was one. */
static bool run_short(struct world *world, unsigned step, unsigned k)
{
	bool failed;

	lease_server_edit(&world->server, RELEASED);
	expect_request(world, "GET");
	if (step > 0)
		answer(world);
	failing_malloc_at(k);
	if (step == 0)
		lease_answered(world->lease, view_from(world->server.document), NULL, BEGIN);
	else
		(void)next(world);
	failed = failing_malloc_off();
	if (step < 2 || failed)
		return failed;
	(void)lease_server_handle(&world->server, "PUT", world->request.body);
	failing_malloc_at(k);
	lease_answered(world->lease, view_from(world->server.document), NULL, BEGIN);
	return failing_malloc_off();
}

TEST(without_memory_there_is_no_lead_and_soon_there_is)
{
	for (unsigned step = 0; step < 3; step++) {
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			struct world *world = *state;

			tear_down(state);
			assert_int_equal(set_up(state), 0);
			failed = run_short(world, step, k);
			if (failed)
				assert_int_equal(lease_failure(world->lease)->kind, ERROR_NO_MEMORY);
			if (step == 1 && !failed)
				answer(world);
			for (unsigned i = 0; i < 3 && !lease_leads(world->lease, BEGIN); i++) {
				world->now += RETRY;
				while (next(world) == LEASE_REQUEST)
					answer(world);
			}
			assert_true(lease_leads(world->lease, BEGIN + world->now));
		}
	}
}

TEST(without_memory_none_is_made)
{
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct lease *lease = NULL;
		struct error error;

		failing_malloc_at(k);
		int result = lease_new(&config, &lease, &error);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed)
			assert_int_equal(error.kind, ERROR_NO_MEMORY);
		lease_free(lease);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(it_looks_first_and_leads_nowhere_before),
	cmocka_unit_test_set_up(what_was_released_is_taken_at_once),
	cmocka_unit_test_set_up(all_that_does_not_say_that_its_holder_has_finished_is_waited_for),
	cmocka_unit_test_set_up(it_is_renewed_each_period_and_leads_on),
	cmocka_unit_test_set_up(each_renewal_is_a_new_version_whatever_the_wall_clock_does),
	cmocka_unit_test_set_up(what_others_wrote_into_the_metadata_stays),
	cmocka_unit_test_set_up(a_renewal_whose_answer_was_lost_is_found_and_goes_on),
	cmocka_unit_test_set_up(without_a_renewal_the_lead_ends_by_itself),
	cmocka_unit_test_set_up(who_finds_another_holder_leads_no_longer),
	cmocka_unit_test_set_up(a_lease_that_somebody_else_wrote_in_our_name_is_not_ours),
	cmocka_unit_test_set_up(a_holder_that_counts_on_a_longer_duration_is_waited_for_as_long),
	cmocka_unit_test_set_up(each_new_version_begins_the_wait_anew),
	cmocka_unit_test_set_up(a_failure_to_look_does_not_begin_the_wait_anew),
	cmocka_unit_test_set_up(a_watch_that_tells_of_each_renewal_spares_the_looks),
	cmocka_unit_test_set_up(a_release_that_a_watch_tells_of_is_taken_at_once),
	cmocka_unit_test_set_up(what_a_watch_tells_too_late_changes_nothing),
	cmocka_unit_test_set_up(a_renewal_that_the_watch_shows_before_it_is_answered_counts),
	cmocka_unit_test_set_up(a_watch_that_tells_of_another_holder_ends_the_lead),
	cmocka_unit_test_set_up(an_answer_that_the_watch_has_overtaken_makes_no_leader),
	cmocka_unit_test_set_up(where_there_is_no_lease_nobody_leads_and_it_is_looked_for),
	cmocka_unit_test_set_up(a_lease_that_was_made_anew_is_taken_after_the_duration),
	cmocka_unit_test_set_up(what_a_watch_tells_of_a_lease_ends_the_pause_after_a_failure),
	cmocka_unit_test_set_up(a_list_that_shows_what_is_known_ends_the_pause_after_a_failure),
	cmocka_unit_test_set_up(a_leader_that_ends_gives_the_lease_up_and_leads_no_longer_before),
	cmocka_unit_test_set_up(a_renewal_under_way_is_waited_for_and_then_given_up),
	cmocka_unit_test_set_up(a_release_that_meets_a_newer_version_is_tried_again),
	cmocka_unit_test_set_up(who_does_not_hold_the_lease_has_nothing_to_give_up),
	cmocka_unit_test_set_up(who_never_held_the_lease_does_not_wait_for_a_look_under_way),
	cmocka_unit_test_set_up(a_busy_server_is_left_alone_for_as_long_as_it_asks),
	cmocka_unit_test_set_up(a_lease_that_is_released_again_and_again_is_not_taken_as_often),
	cmocka_unit_test_set_up(an_answer_that_cannot_be_used_is_a_failure),
	cmocka_unit_test_set_up(names_that_are_too_long_are_refused),
	cmocka_unit_test_set_up(without_memory_there_is_no_lead_and_soon_there_is),
	cmocka_unit_test_set_up(without_memory_none_is_made),
};

TEST_MAIN(tests)
