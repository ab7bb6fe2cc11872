/* SPDX-License-Identifier: Apache-2.0 */

/* The election itself is tested in lease_test; here it is what becomes of it over a client and a loop. */

#include "lib/test_main.h"

#include "controller/leadership.h"
#include "kube/answer.h"
#include "lib/failing_malloc.h"
#include "lib/lease_server.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"

#define DURATION 5000u
#define DEADLINE 4000u
#define RETRY 1000u
#define RELEASED                                                                                  \
	"{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,"                                       \
	"\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}"
#define HELD_BY_OTHER                                                                             \
	"{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":5,"                                  \
	"\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}"

struct world {
	struct loop *loop;
	struct leadership *leadership;
	struct lease_server server;
	unsigned n_changes, n_released, n_answered;
	bool led_when_told;
};

static void on_changed(void *owner)
{
	struct world *world = owner;

	world->n_changes++;
	world->led_when_told = leadership_leads(world->leadership);
}

static void on_released(void *owner)
{
	((struct world *)owner)->n_released++;
}

static int open_leadership(struct world *world, const char *name, struct error *err)
{
	const struct leadership_config config = {
		.loop = world->loop, .namespace = "n", .name = name, .duration_ms = DURATION,
		.renew_deadline_ms = DEADLINE, .retry_ms = RETRY, .seed = 0xabc,
		.changed = on_changed, .released = on_released, .owner = world,
	};

	return leadership_new(&config, &world->leadership, err);
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){0};
	lease_server_init(&world.server);
	*state = &world;
	if (loop_new(&world.loop, &err) < 0 || open_leadership(&world, "l", &err) < 0)
		return -1;
	leadership_run(world.leadership);
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	leadership_free(world->leadership);
	loop_free(world->loop);
	return 0;
}

static void answer(struct world *world, unsigned i)
{
	const struct apiclient_request *request = &fake_requests[i];
	int status = lease_server_handle(&world->server, request->method, view_from(request->body));
	const struct answer refusal = {.status = status};
	struct error error;

	if (status == 200) {
		fake_apiclient_answer(i, world->server.document);
		return;
	}
	answer_judge(&refusal, &error);
	fake_apiclient_refuse(i, status, &error, "");
}

/* Lets so much time pass; the server answers at once. */
static void advance(struct world *world, uint64_t ms)
{
	uint64_t end = fake_now_ms + ms;

	do {
		uint64_t next = fake_loop_next(world->loop);

		fake_loop_advance(world->loop, next < end - fake_now_ms ? next : end - fake_now_ms);
		while (world->n_answered < n_fake_requests)
			answer(world, world->n_answered++);
	} while (fake_now_ms < end || fake_loop_next(world->loop) == 0);
}

/* The same, and no request reaches the server. */
static void advance_cut_off(struct world *world, uint64_t ms)
{
	uint64_t end = fake_now_ms + ms;

	do {
		uint64_t next = fake_loop_next(world->loop);

		fake_loop_advance(world->loop, next < end - fake_now_ms ? next : end - fake_now_ms);
		while (world->n_answered < n_fake_requests)
			fake_apiclient_fail(world->n_answered++, ERROR_RETRY);
	} while (fake_now_ms < end || fake_loop_next(world->loop) == 0);
}

static void take(struct world *world)
{
	lease_server_edit(&world->server, RELEASED);
	advance(world, 0);
	assert_true(leadership_leads(world->leadership));
}

static void feed(struct reflector *reflector, const char *text)
{
	struct error err = {0};

	if (reflector_feed(reflector, view_from(text), fake_now_ms, &err) < 0)
		fail_msg("%s", err.text);
}

/* The watch on the Lease is open; its list held what the server has. */
static struct reflector *open_watch(const struct world *world)
{
	struct reflector *reflector = fake_reflectors[0];
	struct reflector_request request;
	char text[3 * LEASE_SERVER_TEXT];

	assert_non_null(reflector);
	assert_int_equal(reflector_next(reflector, fake_now_ms, &request), REFLECTOR_REQUEST);
	assert_string_equal(request.path, "/apis/coordination.k8s.io/v1/namespaces/n/leases"
					  "?resourceVersion=&fieldSelector=metadata.name%3Dl");
	snprintf(text, sizeof(text),
		 "{\"kind\":\"LeaseList\",\"apiVersion\":\"coordination.k8s.io/v1\","
		 "\"metadata\":{\"resourceVersion\":\"%d\"},\"items\":[%s]}",
		 (int)world->server.version, world->server.is_there ? world->server.document : "");
	reflector_answered(reflector, 200, 0, VIEW("application/json"), fake_now_ms);
	feed(reflector, text);
	reflector_ended(reflector, NULL, fake_now_ms);
	assert_int_equal(reflector_next(reflector, fake_now_ms, &request), REFLECTOR_REQUEST);
	assert_true(request.is_watch);
	reflector_answered(reflector, 200, 0, VIEW("application/json"), fake_now_ms);
	return reflector;
}

static void tell(const struct world *world, struct reflector *watch, const char *type)
{
	char text[3 * LEASE_SERVER_TEXT];

	snprintf(text, sizeof(text), "{\"type\":\"%s\",\"object\":%s}\n", type,
		 world->server.document);
	feed(watch, text);
}

TEST(who_has_no_election_leads_always)
{
	assert_true(leadership_leads(NULL));
	assert_int_equal(leadership_leads_until(NULL), UINT64_MAX);
	assert_string_equal(leadership_trouble(NULL), "");
	assert_int_equal(leadership_holder(NULL).len, 0);
	assert_int_equal(leadership_counters(NULL).taken, 0);
	leadership_run(NULL);
}

TEST(a_lead_is_told_and_lasts_while_it_is_renewed)
{
	struct world *world = *state;

	assert_false(leadership_leads(world->leadership));
	take(world);
	assert_int_equal(world->n_changes, 1);
	assert_true(world->led_when_told);
	assert_int_equal(leadership_leads_until(world->leadership), fake_now_ms + DEADLINE);
	advance(world, 60000);
	assert_int_equal(world->n_changes, 1);
	assert_in_range(leadership_leads_until(world->leadership), fake_now_ms + DEADLINE - RETRY,
			fake_now_ms + DEADLINE);
	assert_int_equal(leadership_counters(world->leadership).taken, 1);
	assert_int_equal(leadership_counters(world->leadership).lost, 0);
	assert_in_range(n_fake_requests, 60, 63);
}

TEST(requests_have_a_connection_of_their_own_and_little_time)
{
	struct world *world = *state;

	take(world);
	assert_int_equal(n_fake_requests, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(fake_requests[i].is_apart);
		assert_false(fake_requests[i].is_aside);
		assert_int_equal(fake_requests[i].timeout_ms, DEADLINE / 2);
	}
	assert_string_equal(fake_requests[1].content_type, "application/json");
}

/* A restarted container has the name of the one before. */
TEST(the_identity_is_the_hosts_name_and_a_number)
{
	struct world *world = *state;

	take(world);
	assert_non_null(strstr(world->server.spec, "_0000000000000abc\""));
	assert_true(view_ends_with(leadership_holder(world->leadership), VIEW("_0000000000000abc")));
}

TEST(a_lead_that_is_not_renewed_ends_and_that_is_told)
{
	struct world *world = *state;

	take(world);
	advance_cut_off(world, DEADLINE - 1);
	assert_true(leadership_leads(world->leadership));
	assert_int_equal(world->n_changes, 1);
	advance_cut_off(world, 1);
	assert_false(leadership_leads(world->leadership));
	assert_int_equal(world->n_changes, 2);
	assert_false(world->led_when_told);
	assert_int_equal(leadership_counters(world->leadership).lost, 1);
	advance(world, RETRY); /* nobody else took it */
	assert_true(leadership_leads(world->leadership));
	assert_int_equal(leadership_counters(world->leadership).taken, 2);
}

/* Nothing comes back, not even an error. */
TEST(a_lead_ends_in_time_while_its_renewal_hangs)
{
	struct world *world = *state;

	take(world);
	fake_loop_advance(world->loop, DEADLINE - 1);
	assert_int_equal(world->n_changes, 1);
	fake_loop_advance(world->loop, 1);
	assert_int_equal(world->n_changes, 2);
	assert_false(world->led_when_told);
}

TEST(whoever_stood_still_for_too_long_does_not_lead_when_it_goes_on)
{
	struct world *world = *state;

	take(world);
	fake_now_ms += DEADLINE - 1; /* and no timer has fired */
	assert_int_equal(leadership_leads_until(world->leadership), fake_now_ms + 1);
	fake_now_ms += 1;
	assert_false(leadership_leads(world->leadership));
	assert_int_equal(leadership_leads_until(world->leadership), 0);
}

/* Between, another replica may have led: what was joined since is told as a lead of its own. */
TEST(a_lead_that_lapsed_before_its_renewal_was_answered_is_told_as_lost)
{
	struct world *world = *state;

	take(world);
	fake_loop_advance(world->loop, RETRY);
	assert_int_equal(n_fake_requests, world->n_answered + 1);
	fake_now_ms += DEADLINE - RETRY + 500; /* and no timer has fired */
	assert_int_equal(world->n_changes, 1);
	answer(world, world->n_answered++);
	assert_int_equal(world->n_changes, 2);
	assert_false(world->led_when_told);
	assert_int_equal(leadership_counters(world->leadership).lost, 1);
	advance(world, 0);
	assert_int_equal(world->n_changes, 3);
	assert_true(world->led_when_told);
	assert_int_equal(leadership_counters(world->leadership).taken, 2);
}

TEST(a_release_that_the_watch_tells_of_is_taken_at_once)
{
	struct world *world = *state;
	struct reflector *watch;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	watch = open_watch(world);
	advance(world, 0);
	assert_true(view_equal(leadership_holder(world->leadership), VIEW("other")));
	assert_false(leadership_leads(world->leadership));
	lease_server_edit(&world->server, RELEASED);
	tell(world, watch, "MODIFIED");
	advance(world, 0);
	assert_true(leadership_leads(world->leadership));
}

TEST(another_holder_that_the_watch_tells_of_ends_the_lead_at_once)
{
	struct world *world = *state;
	struct reflector *watch;

	take(world);
	watch = open_watch(world);
	lease_server_edit(&world->server, HELD_BY_OTHER);
	tell(world, watch, "MODIFIED");
	assert_false(leadership_leads(world->leadership));
	advance(world, 0);
	assert_int_equal(world->n_changes, 2);
}

TEST(a_lease_that_is_missing_is_trouble_that_says_what_to_apply)
{
	struct world *world = *state;

	lease_server_delete(&world->server);
	advance(world, 10000);
	assert_string_equal(leadership_trouble(world->leadership),
			    "no Lease n/l: apply manifests/controller/lease.yaml");
	assert_false(leadership_leads(world->leadership));
	assert_int_equal(world->n_changes, 0);
	assert_in_range(n_fake_requests, 10, 12);
	lease_server_create(&world->server);
	advance(world, RETRY + DURATION);
	assert_string_equal(leadership_trouble(world->leadership), "");
	assert_true(leadership_leads(world->leadership));
}

TEST(a_lease_that_the_watch_finds_gone_is_looked_for_at_once)
{
	struct world *world = *state;
	struct reflector *watch;
	struct {
		const char *how;
		bool by_list;
	} const rows[] = {{"a list without it", true}, {"a deletion", false}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		assert_int_equal(set_up(state), 0);
		take(world);
		watch = rows[i].by_list ? NULL : open_watch(world);
		lease_server_delete(&world->server);
		if (watch)
			tell(world, watch, "DELETED");
		else
			open_watch(world);
		advance(world, 0);
		assert_false(leadership_leads(world->leadership));
	}
}

TEST(a_right_that_is_missing_is_trouble_that_says_what_to_apply)
{
	struct world *world = *state;

	fake_loop_advance(world->loop, 0);
	fake_apiclient_fail(0, ERROR_DENIED);
	fake_loop_advance(world->loop, 0);
	assert_non_null(strstr(leadership_trouble(world->leadership),
			       "apply manifests/controller/rbac.yaml: "));
}

TEST(a_lease_that_is_given_up_is_free_and_that_is_no_loss)
{
	struct world *world = *state;

	take(world);
	leadership_release(world->leadership);
	assert_false(leadership_leads(world->leadership));
	assert_int_equal(world->n_released, 0);
	advance(world, 0);
	assert_int_equal(world->n_released, 1);
	assert_true(lease_server_is_held_by(&world->server, ""));
	assert_int_equal(world->n_changes, 1);
	assert_int_equal(leadership_counters(world->leadership).lost, 0);
	advance(world, 60000);
	assert_int_equal(world->n_released, 1);
	assert_true(lease_server_is_held_by(&world->server, ""));
}

TEST(who_follows_gives_nothing_up)
{
	struct world *world = *state;

	lease_server_edit(&world->server, HELD_BY_OTHER);
	advance(world, 0);
	leadership_release(world->leadership);
	advance(world, 0);
	assert_int_equal(world->n_released, 1);
	assert_true(lease_server_is_held_by(&world->server, "other"));
}

TEST(a_request_that_cannot_be_sent_is_tried_again)
{
	struct world *world = *state;

	lease_server_edit(&world->server, RELEASED);
	fake_apiclient_refusal = ERROR_NO_MEMORY;
	advance(world, 10);
	fake_apiclient_refusal = ERROR_NONE;
	advance(world, RETRY);
	assert_true(leadership_leads(world->leadership));
}

TEST(a_name_that_is_too_long_is_refused)
{
	struct world *world = *state;
	char name[300];
	struct error err;

	leadership_free(world->leadership);
	world->leadership = NULL;
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(open_leadership(world, name, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void stand_back(struct world *world)
{
	struct error err;

	leadership_free(world->leadership);
	fake_apiclient_reset();
	assert_int_equal(open_leadership(world, "l", &err), 0);
	lease_server_edit(&world->server, RELEASED);
	tell(world, open_watch(world), "MODIFIED");
	advance(world, 10 * DURATION);
	assert_int_equal(n_fake_requests, 0);
	assert_false(leadership_leads(world->leadership));
}

TEST(who_is_not_ready_takes_no_free_lease_and_takes_it_at_once_when_it_is)
{
	struct world *world = *state;

	stand_back(world);
	leadership_run(world->leadership);
	leadership_run(world->leadership);
	advance(world, 0);
	assert_true(leadership_leads(world->leadership));
	assert_int_equal(world->n_changes, 1);
}

TEST(who_ends_before_it_is_ready_has_nothing_to_give_up)
{
	struct world *world = *state;

	stand_back(world);
	leadership_release(world->leadership);
	advance(world, 0);
	assert_int_equal(n_fake_requests, 0);
	assert_int_equal(world->n_released, 1);
}

TEST(without_memory_none_is_made)
{
	struct world *world = *state;
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct error err;

		leadership_free(world->leadership);
		world->leadership = NULL;
		fake_apiclient_reset();
		failing_malloc_at(k);
		int result = open_leadership(world, "l", &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(who_has_no_election_leads_always),
	cmocka_unit_test_set_up(a_lead_is_told_and_lasts_while_it_is_renewed),
	cmocka_unit_test_set_up(requests_have_a_connection_of_their_own_and_little_time),
	cmocka_unit_test_set_up(the_identity_is_the_hosts_name_and_a_number),
	cmocka_unit_test_set_up(a_lead_that_is_not_renewed_ends_and_that_is_told),
	cmocka_unit_test_set_up(a_lead_ends_in_time_while_its_renewal_hangs),
	cmocka_unit_test_setup_teardown(
		a_lead_that_lapsed_before_its_renewal_was_answered_is_told_as_lost, set_up,
		tear_down),
	cmocka_unit_test_set_up(whoever_stood_still_for_too_long_does_not_lead_when_it_goes_on),
	cmocka_unit_test_set_up(a_release_that_the_watch_tells_of_is_taken_at_once),
	cmocka_unit_test_set_up(another_holder_that_the_watch_tells_of_ends_the_lead_at_once),
	cmocka_unit_test_set_up(a_lease_that_is_missing_is_trouble_that_says_what_to_apply),
	cmocka_unit_test_set_up(a_lease_that_the_watch_finds_gone_is_looked_for_at_once),
	cmocka_unit_test_set_up(a_right_that_is_missing_is_trouble_that_says_what_to_apply),
	cmocka_unit_test_set_up(a_lease_that_is_given_up_is_free_and_that_is_no_loss),
	cmocka_unit_test_set_up(who_follows_gives_nothing_up),
	cmocka_unit_test_set_up(a_request_that_cannot_be_sent_is_tried_again),
	cmocka_unit_test_set_up(a_name_that_is_too_long_is_refused),
	cmocka_unit_test_set_up(who_is_not_ready_takes_no_free_lease_and_takes_it_at_once_when_it_is),
	cmocka_unit_test_set_up(who_ends_before_it_is_ready_has_nothing_to_give_up),
	cmocka_unit_test_set_up(without_memory_none_is_made),
};

TEST_MAIN(tests)
