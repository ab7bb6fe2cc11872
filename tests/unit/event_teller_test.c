/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <unistd.h>

#include "base/limits.h"
#include "controller/event_teller.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"

#define MINUTE INT64_C(60000)

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct event_teller *teller;
	bool is_ready;
	bool leads;
	uint32_t may_send_ms;
};

static bool is_ready(void *owner)
{
	return ((struct world *)owner)->is_ready;
}

static bool leads(void *owner)
{
	return ((struct world *)owner)->leads;
}

static uint64_t may_send_until(void *owner)
{
	return fake_now_ms + ((struct world *)owner)->may_send_ms;
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){.is_ready = true, .leads = true, .may_send_ms = UINT32_MAX};
	*state = &world;
	if (loop_new(&world.loop, &err) < 0 || inventory_new(0, &world.inventory, &err) < 0)
		return -1;
	const struct event_teller_config config = {
		.loop = world.loop,
		.inventory = world.inventory,
		.limits = {.per_minute = 10, .repeat_ms = 600000},
		.idle_ms = 60 * MINUTE,
		.is_ready = is_ready,
		.leads = leads,
		.may_send_until = may_send_until,
		.owner = &world,
		.seed = 1,
	};
	return event_teller_new(&config, &world.teller, &err);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	event_teller_free(world->teller);
	inventory_free(world->inventory);
	loop_free(world->loop);
	return 0;
}

static void put(struct world *world, const struct attribution *object, uint64_t version)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct error err;

	arena_init(&arena, LIMIT_KIB);
	assert_int_equal(inventory_put_attribution(world->inventory, object, &arena, STORE_UPSERT,
						   version, &err), 0);
}

/* idle_since: 0 if its activity is not known. */
static void put_object(struct world *world, int64_t idle_since, uint64_t version)
{
	static struct attribution_tenant tenant = {.pod_uid = VIEW_INIT("p1"),
						   .container = VIEW_INIT("main"),
						   .role = ATTRIBUTION_ROLE_WORKLOAD};
	const struct attribution object = {
		.name = VIEW("gpu-1"), .uid = VIEW("u1"),
		.resource_version = version > 1 ? VIEW("2") : VIEW("1"),
		.status = {.node_name = VIEW("node-1"), .tenants = array_of(&tenant, 1),
			   .activity = {.state = idle_since ? ATTRIBUTION_ACTIVITY_IDLE
							    : ATTRIBUTION_ACTIVITY_UNKNOWN,
					.idle_since = idle_since}}};

	put(world, &object, version);
}

static void put_idle_object(struct world *world)
{
	put_object(world, fake_wall_ms, 1);
}

static void what_it_is_told_is_sent_by_the_host_it_runs_on(void **state)
{
	struct world *world = *state;
	const struct event_change change = {.type = EVENT_GPU_UNHEALTHY, .count = 1,
					    .regarding = {.kind = VIEW("GPUAttribution"),
							  .name = VIEW("gpu-1")}};
	char host[LIMIT_EVENT_WORD + 1] = "", wanted[LIMIT_EVENT_WORD + 32];

	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	snprintf(wanted, sizeof(wanted), "\"reportingInstance\":\"%s\"", host);
	event_teller_tell(world->teller, VIEW("node-1"), &change, 1);
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_requests, 1);
	assert_non_null(strstr(fake_requests[0].body, wanted));
	fake_apiclient_answer(0, "{}");
	assert_int_equal(event_teller_counters(world->teller).by_type[EVENT_GPU_UNHEALTHY][EVENT_SENT],
			 1);
}

static void a_gpu_that_stays_idle_is_told_without_a_change_of_its_status(void **state)
{
	struct world *world = *state;

	put_idle_object(world);
	fake_loop_advance(world->loop, 59 * MINUTE);
	assert_int_equal(n_fake_requests, 0);
	fake_loop_advance(world->loop, 2 * MINUTE);
	assert_int_equal(n_fake_requests, 1);
	assert_non_null(strstr(fake_requests[0].body, "\"reason\":\"GPUIdle\""));
}

/* The first look is soon: what is published after it is news, however old it is. */
static void idleness_that_is_published_late_is_told_soon_after_the_start(void **state)
{
	struct world *world = *state;

	put_object(world, 0, 1);
	fake_loop_advance(world->loop, 2000);
	put_object(world, fake_wall_ms - 120 * MINUTE, 2);
	fake_loop_advance(world->loop, MINUTE);
	assert_int_equal(n_fake_requests, 1);
	assert_non_null(strstr(fake_requests[0].body, "\"reason\":\"GPUIdle\""));
}

/* A device that was ill, is not known, and is well. */
static void a_recovery_is_told_though_the_state_was_not_known_in_between(void **state)
{
	struct world *world = *state;
	struct event_change change = {
		.type = EVENT_GPU_RECOVERED, .use = EVENT_AWAIT_RECOVERY, .count = 1, .id = 1,
		.note = VIEW("before there was XID79"),
		.regarding = {.kind = VIEW("GPUAttribution"), .name = VIEW("gpu-1"), .uid = VIEW("u1")}};

	event_teller_tell(world->teller, VIEW("node-1"), &change, 1);
	fake_loop_advance(world->loop, 2000);
	assert_int_equal(n_fake_requests, 0);
	change.use = EVENT_END_RECOVERY;
	change.note = VIEW("");
	change.id = 2;
	event_teller_tell(world->teller, VIEW("node-1"), &change, 1);
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_requests, 1);
	assert_non_null(strstr(fake_requests[0].body, "before there was XID79"));
}

/* The one that leads tells it; then that one dies, and the API server forgets its Events. */
static void what_became_idle_under_the_other_replica_is_not_told_after_a_take_over(void **state)
{
	struct world *world = *state;

	world->leads = false;
	put_idle_object(world);
	fake_loop_advance(world->loop, 90 * MINUTE);
	assert_int_equal(n_fake_requests, 0);
	world->leads = true;
	fake_loop_advance(world->loop, 90 * MINUTE);
	assert_int_equal(n_fake_requests, 0);
	/* It is published anew for another reason. */
	put_object(world, fake_wall_ms - 120 * MINUTE, 2);
	fake_loop_advance(world->loop, 90 * MINUTE);
	assert_int_equal(n_fake_requests, 0);
}

/* The old leader may have died before it looked. */
static void what_became_idle_just_before_a_take_over_is_told_after_it(void **state)
{
	struct world *world = *state;

	world->leads = false;
	put_idle_object(world);
	fake_loop_advance(world->loop, 60 * MINUTE);
	fake_loop_advance(world->loop, EVENT_TELLER_SHADOW_MS / 2);
	assert_int_equal(n_fake_requests, 0);
	world->leads = true;
	fake_loop_advance(world->loop, EVENT_TELLER_SHADOW_MS / 2);
	assert_int_equal(n_fake_requests, 1);
	assert_non_null(strstr(fake_requests[0].body, "\"reason\":\"GPUIdle\""));
}

static void put_health(struct world *world, int state, uint64_t version)
{
	static struct view reason = VIEW_INIT("XID79");
	static const struct view versions[] = {VIEW_INIT("0"), VIEW_INIT("1"), VIEW_INIT("2"),
					       VIEW_INIT("3"), VIEW_INIT("4"), VIEW_INIT("5")};
	const bool is_ill = state == ATTRIBUTION_HEALTH_UNHEALTHY;

	put(world, &(struct attribution){
		.name = VIEW("gpu-1"), .uid = VIEW("u1"), .resource_version = versions[version],
		.status = {.node_name = VIEW("node-1"),
			   .health = {.state = state, .reasons = array_of(&reason, is_ill)}}}, version);
}

static const struct event_change well = {
	.type = EVENT_GPU_RECOVERED, .use = EVENT_END_RECOVERY, .count = 1, .id = 2,
	.regarding = {.kind = VIEW_INIT("GPUAttribution"), .name = VIEW_INIT("gpu-1"),
		      .uid = VIEW_INIT("u1")}};

static void who_follows_knows_which_devices_were_ill_when_that_was_last_known(void **state)
{
	struct world *world = *state;

	world->leads = false;
	put_health(world, ATTRIBUTION_HEALTH_UNHEALTHY, 1);
	put_health(world, ATTRIBUTION_HEALTH_UNKNOWN, 2);
	world->leads = true;
	event_teller_tell(world->teller, VIEW("node-1"), &well, 1);
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_requests, 1);
	assert_non_null(strstr(fake_requests[0].body, "before there was XID79"));
}

/* The other replica leads in between, and tells the recovery. */
static void a_recovery_that_the_other_replica_has_told_is_not_told_again(void **state)
{
	struct world *world = *state;

	world->leads = false;
	put_health(world, ATTRIBUTION_HEALTH_UNHEALTHY, 1);
	put_health(world, ATTRIBUTION_HEALTH_UNKNOWN, 2);
	put_health(world, ATTRIBUTION_HEALTH_HEALTHY, 3);
	put_health(world, ATTRIBUTION_HEALTH_UNKNOWN, 4);
	world->leads = true;
	event_teller_tell(world->teller, VIEW("node-1"), &well, 1);
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_requests, 0);
}

/* Its own writes are published, too, and before it is told of what is new in them. */
static void who_leads_learns_by_what_it_is_told_alone(void **state)
{
	struct world *world = *state;

	world->leads = false;
	put_health(world, ATTRIBUTION_HEALTH_UNHEALTHY, 1);
	put_health(world, ATTRIBUTION_HEALTH_UNKNOWN, 2);
	world->leads = true;
	put_health(world, ATTRIBUTION_HEALTH_HEALTHY, 3);
	event_teller_tell(world->teller, VIEW("node-1"), &well, 1);
	fake_loop_advance(world->loop, 0);
	assert_int_equal(n_fake_requests, 1);
}

/* It wrote the status, and nobody else tells of that. */
static void what_it_could_not_send_while_it_led_is_sent_when_it_leads_again(void **state)
{
	struct world *world = *state;
	const struct event_change change = {.type = EVENT_GPU_UNHEALTHY, .count = 1,
					    .regarding = {.kind = VIEW("GPUAttribution"),
							  .name = VIEW("gpu-1")}};

	event_teller_tell(world->teller, VIEW("node-1"), &change, 1);
	assert_true(event_teller_is_busy(world->teller));
	world->may_send_ms = 0;
	fake_loop_advance(world->loop, MINUTE);
	assert_int_equal(n_fake_requests, 0);
	assert_false(event_teller_is_busy(world->teller));
	world->may_send_ms = 3000;
	fake_loop_advance(world->loop, 1000);
	assert_int_equal(n_fake_requests, 1);
	assert_int_equal(fake_requests[0].timeout_ms, 3000);
	event_teller_cut(world->teller);
	assert_false(fake_requests[0].open);
}

/* What is known may be old; it is told when it is not. */
static void idleness_waits_until_what_is_known_is_current(void **state)
{
	struct world *world = *state;

	put_idle_object(world);
	world->is_ready = false;
	fake_loop_advance(world->loop, 90 * MINUTE);
	assert_int_equal(n_fake_requests, 0);
	world->is_ready = true;
	fake_loop_advance(world->loop, MINUTE);
	assert_int_equal(n_fake_requests, 1);
}

static void nobody_has_counted_anything(void **state)
{
	(void)state;
	assert_int_equal(event_teller_counters(NULL).by_type[0][0], 0);
	assert_false(event_teller_is_busy(NULL));
	event_teller_cut(NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(what_it_is_told_is_sent_by_the_host_it_runs_on),
	cmocka_unit_test_set_up(a_gpu_that_stays_idle_is_told_without_a_change_of_its_status),
	cmocka_unit_test_set_up(idleness_that_is_published_late_is_told_soon_after_the_start),
	cmocka_unit_test_set_up(a_recovery_is_told_though_the_state_was_not_known_in_between),
	cmocka_unit_test_set_up(
		what_became_idle_under_the_other_replica_is_not_told_after_a_take_over),
	cmocka_unit_test_set_up(what_became_idle_just_before_a_take_over_is_told_after_it),
	cmocka_unit_test_set_up(who_follows_knows_which_devices_were_ill_when_that_was_last_known),
	cmocka_unit_test_set_up(a_recovery_that_the_other_replica_has_told_is_not_told_again),
	cmocka_unit_test_set_up(who_leads_learns_by_what_it_is_told_alone),
	cmocka_unit_test_set_up(what_it_could_not_send_while_it_led_is_sent_when_it_leads_again),
	cmocka_unit_test_set_up(idleness_waits_until_what_is_known_is_current),
	cmocka_unit_test_set_up(nobody_has_counted_anything),
};
TEST_MAIN(tests)
