/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Three replicas, one Lease, and all that can go wrong. Answers and watches are late or lost. Replicas
 * stand still, end, are killed, or are cut off. Wall clocks jump or stand still, clocks run up to 5 %
 * fast or slow, and people edit the Lease. Time is a step counter; each replica sees its own.
 *
 * The properties: at no step do two lead. And where nothing goes wrong somebody leads soon.
 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/prng.h"
#include "kube/lease.h"
#include "lib/lease_server.h"

#define N 3
#define SEEDS 300
#define STEPS 4000 /* a seed; of 1 to 40 ms */
#define DURATION 5000u
#define DEADLINE 4000u
#define RETRY 1000u
#define MAX_LATE_MS 300u
#define MAX_EVENTS 64

/* A request under way. What timed out may still reach the server. */
struct message {
	bool is_sent, has_arrived, is_answered;
	char method[8];
	char body[2 * LEASE_SERVER_TEXT];
	char answer[2 * LEASE_SERVER_TEXT];
	int status;
	uint64_t arrives_at, answers_at; /* UINT64_MAX: never */
};

struct event {
	uint64_t at;
	bool is_there;
	char document[2 * LEASE_SERVER_TEXT];
};

struct replica {
	struct lease *lease;
	unsigned life;
	uint64_t ahead;    /* of its clock */
	double rate;
	int64_t wall;      /* how wrong, */
	bool is_frozen;    /* or where it stands still */
	bool is_cut;       /* from the server */
	bool is_watching;
	uint64_t stands_until;
	uint64_t times_out_at; /* its own clock */
	struct message now, lost;
	struct event events[MAX_EVENTS]; /* a ring */
	unsigned n_events, n_taken;
	bool is_ending;
};

struct world {
	struct prng prng;
	struct lease_server server;
	struct replica replicas[N];
	uint64_t now;
	uint64_t told_version;
	uint64_t changed_at; /* when that came to be */
	bool with_faults, with_watch;
};

static bool chance(struct world *world, unsigned of)
{
	return prng_between(&world->prng, 1, of) == 1;
}

static uint64_t clock_of(const struct world *world, const struct replica *replica)
{
	return replica->ahead + (uint64_t)((double)world->now * replica->rate);
}

static void begin(struct world *world, struct replica *replica)
{
	char identity[32];
	struct error error;

	snprintf(identity, sizeof(identity), "r%d_%u", (int)(replica - world->replicas),
		 replica->life++);
	const struct lease_config config = {
		.namespace = VIEW("n"), .name = VIEW("l"), .identity = view_from(identity),
		.duration_ms = DURATION, .renew_deadline_ms = DEADLINE, .retry_ms = RETRY,
	};
	lease_free(replica->lease);
	assert_int_equal(lease_new(&config, &replica->lease, &error), 0);
	replica->is_ending = false;
	if (replica->now.is_sent) /* of the life before; it may still arrive */
		replica->lost = replica->now;
	replica->now.is_sent = false;
}

/* The network */

static uint64_t late(struct world *world, const struct replica *replica)
{
	if (replica->is_cut || (world->with_faults && chance(world, 20)))
		return world->with_faults && chance(world, 3)
			       ? world->now + prng_between(&world->prng, 1000, 20000)
			       : UINT64_MAX;
	return world->now + prng_between(&world->prng, 1, MAX_LATE_MS / 2);
}

static void send(struct world *world, struct replica *replica, const struct lease_request *request)
{
	struct message *message = &replica->now;

	*message = (struct message){.is_sent = true, .arrives_at = late(world, replica),
				    .answers_at = UINT64_MAX};
	snprintf(message->method, sizeof(message->method), "%s", request->method);
	snprintf(message->body, sizeof(message->body), "%.*s", VIEW_ARG(request->body));
	replica->times_out_at = clock_of(world, replica) + request->timeout_ms;
}

static void arrive(struct world *world, struct replica *replica, struct message *message)
{
	if (!message->is_sent || message->has_arrived || message->arrives_at > world->now)
		return;
	message->has_arrived = true;
	message->status = lease_server_handle(&world->server, message->method,
					      view_from(message->body));
	snprintf(message->answer, sizeof(message->answer), "%s", world->server.document);
	message->answers_at = late(world, replica);
}

static void tell_watches(struct world *world)
{
	if (world->told_version == world->server.version)
		return;
	world->told_version = world->server.version;
	world->changed_at = world->now;
	for (unsigned i = 0; i < N; i++) {
		struct replica *replica = &world->replicas[i];
		struct event *event = &replica->events[replica->n_events % MAX_EVENTS];

		if (!replica->is_watching || replica->is_cut ||
		    replica->n_events - replica->n_taken == MAX_EVENTS)
			continue;
		replica->n_events++;
		event->at = world->now + prng_between(&world->prng, 1, MAX_LATE_MS / 2);
		event->is_there = world->server.is_there;
		snprintf(event->document, sizeof(event->document), "%s", world->server.document);
	}
}

/* A replica */

static void hear_watch(struct world *world, struct replica *replica)
{
	while (replica->n_taken < replica->n_events &&
	       replica->events[replica->n_taken % MAX_EVENTS].at <= world->now) {
		const struct event *event = &replica->events[replica->n_taken++ % MAX_EVENTS];

		if (event->is_there)
			lease_observed(replica->lease, view_from(event->document),
				       clock_of(world, replica));
		else
			lease_is_gone(replica->lease);
	}
}

static void hear_answer(struct world *world, struct replica *replica)
{
	struct message *message = &replica->now;
	const uint64_t now = clock_of(world, replica);
	struct error error;

	if (!message->is_sent)
		return;
	if (message->answers_at <= world->now) {
		error_set(&error, message->status == 409 ? ERROR_CONFLICT : ERROR_NOT_FOUND, 0, "%d",
			  message->status);
		message->is_sent = false;
		lease_answered(replica->lease, view_from(message->answer),
			       message->status == 200 ? NULL : &error, now);
	} else if (replica->times_out_at <= now) {
		error_set(&error, ERROR_RETRY, 0, "time-out");
		replica->lost = *message;
		message->is_sent = false;
		lease_answered(replica->lease, VIEW(""), &error, now);
	}
}

static void run(struct world *world, struct replica *replica)
{
	struct lease_request request;
	enum lease_step step;

	if (replica->stands_until > world->now)
		return;
	hear_watch(world, replica);
	hear_answer(world, replica);
	step = lease_next(replica->lease, clock_of(world, replica),
			  replica->is_frozen ? replica->wall
					     : (int64_t)clock_of(world, replica) + replica->wall,
			  &request);
	if (step == LEASE_REQUEST)
		send(world, replica, &request);
	else if (step == LEASE_FINISHED)
		begin(world, replica);
}

/* What goes wrong */

static void edit(struct world *world)
{
	static const char *const specs[] = {
		"", "{}", "{\"holderIdentity\":\"\"}", "{\"holderIdentity\":\"somebody\"}",
		"{\"holderIdentity\":\"r0_0\",\"leaseDurationSeconds\":5}",
		"{\"holderIdentity\":\"r1_0\",\"leaseDurationSeconds\":1}",
		"{\"holderIdentity\":7}",
	};

	switch (prng_between(&world->prng, 0, 4)) {
	case 0:
		lease_server_delete(&world->server);
		break;
	case 1:
		if (!world->server.is_there)
			lease_server_create(&world->server);
		break;
	case 2:
		lease_server_edit(&world->server,
				  specs[prng_between(&world->prng, 0, ARRAY_SIZE(specs) - 1)]);
		break;
	default:
		lease_server_touch(&world->server);
	}
}

static void harm(struct world *world, struct replica *replica)
{
	switch (prng_between(&world->prng, 0, 6)) {
	case 0:
		replica->is_cut = !replica->is_cut;
		break;
	case 1:
		replica->is_watching = !replica->is_watching;
		break;
	case 2:
		replica->stands_until = world->now + prng_between(&world->prng, 1, 12000);
		break;
	case 3:
		replica->wall = (int64_t)prng_between(&world->prng, 0, 20000000) - 10000000;
		replica->is_frozen = chance(world, 2);
		break;
	case 4:
		begin(world, replica); /* killed, and started again */
		break;
	case 5:
		lease_release(replica->lease);
		break;
	default:
		replica->is_cut = false;
	}
}

static void break_something(struct world *world)
{
	if (chance(world, 60))
		harm(world, &world->replicas[prng_between(&world->prng, 0, N - 1)]);
	if (chance(world, 300))
		edit(world);
}

static int find_leader(const struct world *world)
{
	int leader = -1;

	for (int i = 0; i < N; i++) {
		const struct replica *replica = &world->replicas[i];

		if (!lease_leads(replica->lease, clock_of(world, replica)))
			continue;
		if (leader >= 0)
			fail_msg("%d and %d lead at %llu", leader, i,
				 (unsigned long long)world->now);
		leader = i;
	}
	return leader;
}

static void step(struct world *world)
{
	world->now += prng_between(&world->prng, 1, world->with_faults ? 40 : 5);
	if (world->with_faults)
		break_something(world);
	for (unsigned i = 0; i < N; i++) {
		arrive(world, &world->replicas[i], &world->replicas[i].now);
		arrive(world, &world->replicas[i], &world->replicas[i].lost);
		tell_watches(world);
		run(world, &world->replicas[i]);
	}
}

static void open_world(struct world *world, uint64_t seed)
{
	prng_init(&world->prng, seed);
	lease_server_init(&world->server);
	world->now = 1000;
	for (unsigned i = 0; i < N; i++) {
		struct replica *replica = &world->replicas[i];

		replica->ahead = prng_between(&world->prng, 0, 1000000);
		replica->rate = 0.95 + (double)prng_between(&world->prng, 0, 100) / 1000;
		replica->is_watching = world->with_watch;
		begin(world, replica);
	}
}

static void close_world(struct world *world)
{
	for (unsigned i = 0; i < N; i++)
		lease_free(world->replicas[i].lease);
	free(world);
}

TEST(never_do_two_lead_whatever_goes_wrong)
{
	unsigned n_led = 0, n_changes = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world *world = calloc(1, sizeof(*world));
		int before = -1;

		assert_non_null(world);
		world->with_watch = seed % 3 != 0;
		world->with_faults = true;
		open_world(world, seed);
		for (unsigned i = 0; i < STEPS; i++) {
			step(world);
			int leader = find_leader(world);
			n_led += leader >= 0;
			n_changes += leader >= 0 && before >= 0 && leader != before;
			before = leader >= 0 ? leader : before;
		}
		close_world(world);
	}
	/* That it was tried: somebody leads for a good part of the time, and they change. */
	assert_in_range(n_led, SEEDS * STEPS / 10, SEEDS * STEPS);
	assert_in_range(n_changes, SEEDS, SEEDS * STEPS);
}

static int run_until_one_leads(struct world *world, uint64_t at_most)
{
	uint64_t until = world->now + at_most;
	int leader = -1;

	while (leader < 0 && world->now < until) {
		step(world);
		leader = find_leader(world);
	}
	return leader;
}

/* From its last renewal on. Clocks may run 5 % slow. */
TEST(when_the_leader_dies_another_one_leads_within_duration_and_retry_period)
{
	const uint64_t at_most = (DURATION + RETRY + RETRY / 8) * 105 / 100 + 3 * MAX_LATE_MS;

	for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
		struct world *world = calloc(1, sizeof(*world));
		uint64_t renewed_at;
		int leader;

		assert_non_null(world);
		world->with_watch = seed % 2 == 0;
		open_world(world, seed);
		leader = run_until_one_leads(world, at_most);
		assert_true(leader >= 0);
		for (unsigned i = (unsigned)prng_between(&world->prng, 0, 2000); i > 0; i--)
			step(world);
		assert_int_equal(find_leader(world), leader); /* nobody else wants it */
		world->replicas[leader].stands_until = UINT64_MAX;
		while (find_leader(world) == leader)
			step(world);
		renewed_at = world->changed_at;
		leader = run_until_one_leads(world, renewed_at + at_most - world->now);
		assert_true(leader >= 0);
		close_world(world);
	}
}

TEST(when_the_leader_gives_up_another_one_leads_within_a_round_trip)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world *world = calloc(1, sizeof(*world));
		int leader, next;

		assert_non_null(world);
		world->with_watch = true;
		open_world(world, seed);
		leader = run_until_one_leads(world, 2 * DURATION);
		assert_true(leader >= 0);
		for (unsigned i = (unsigned)prng_between(&world->prng, 0, 2000); i > 0; i--)
			step(world);
		lease_release(world->replicas[leader].lease);
		/* A renewal under way, the release, the watch, and the other's PUT. */
		next = run_until_one_leads(world, 4 * MAX_LATE_MS);
		assert_true(next >= 0);
		close_world(world);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(never_do_two_lead_whatever_goes_wrong),
	cmocka_unit_test(when_the_leader_dies_another_one_leads_within_duration_and_retry_period),
	cmocka_unit_test(when_the_leader_gives_up_another_one_leads_within_a_round_trip),
};

TEST_MAIN(tests)
