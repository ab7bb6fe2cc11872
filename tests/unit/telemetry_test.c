/* SPDX-License-Identifier: Apache-2.0 */

/* What is shown is read from the text that /metrics answers with. */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "controller/event_teller.h"
#include "controller/reconciler.h"
#include "controller/telemetry.h"
#include "controller/watches.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"
#include "lib/fake_stopwatch.inc"

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct watches *watches;
	struct reconciler *reconciler;
	struct telemetry *telemetry;
};

struct apiclient_counters apiclient_counters(const struct apiclient *client)
{
	(void)client;
	struct apiclient_counters counters = {.by_code = {1, 2, 3, 4, 5, 6}, .probes = 7,
					      .outages = 8};

	request_counts_init(&counters.requests);
	request_counts_add(&counters.requests, "GET", 200);
	request_counts_add(&counters.requests, "PUT", 409);
	request_counts_time(&counters.requests, "GET", 1000);
	request_counts_time(&counters.requests, "PUT", 2000);
	request_counts_time(&counters.requests, "DELETE", 3000);
	return counters;
}

static bool ready;

static bool is_ready(void *owner)
{
	(void)owner;
	return ready;
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){0};
	ready = false;
	*state = &world;
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	const struct watches_config watched = {.initial = REFLECTOR_LIST, .seed = 1};
	const struct reconciler_config config = {.loop = world.loop,
						 .inventory = world.inventory,
						 .limits = {.report_stale_ms = 120000,
							    .node_gone_ms = 600000},
						 .max_requests = 1,
						 .is_ready = is_ready,
						 .seed = 1};
	if (watches_new(world.loop, NULL, world.inventory, &watched, &world.watches, &err) < 0 ||
	    reconciler_new(&config, &world.reconciler, &err) < 0 ||
	    telemetry_new(VIEW("10.96.0.1:443"), &world.telemetry, &err) < 0)
		return -1;
	telemetry_watch(world.telemetry,
			&(struct telemetry_sources){world.loop, NULL, world.inventory, world.watches,
						    world.reconciler});
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	telemetry_free(world->telemetry);
	reconciler_free(world->reconciler);
	watches_free(world->watches);
	inventory_free(world->inventory);
	loop_free(world->loop);
	return 0;
}

/* /metrics has this line now. */
static void assert_shows(struct world *world, const char *line)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	char wanted[256];

	sbuf_init(&text, LIMIT_MIB);
	metric_render(telemetry_front_metrics(world->telemetry).registry, &text);
	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (!strstr(sbuf_text(&text), wanted))
		fail_msg("no line '%s' in:\n%s", line, sbuf_text(&text));
}

static void put_object(struct world *world, const char *name, uint64_t version)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, LIMIT_KIB);
	struct attribution object = {.name = view_from(name), .uid = view_from(name),
				     .resource_version = VIEW("1")};
	assert_int_equal(inventory_put_attribution(world->inventory, &object, &arena, STORE_UPSERT,
						   version, &err), 0);
	arena_deinit(&arena);
}

static void nothing_is_shown_before_it_is_collected(void **state)
{
	put_object(*state, "gpu-a", 1);
	assert_shows(*state, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 0");
	telemetry_collect(((struct world *)*state)->telemetry);
	assert_shows(*state, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 1");
}

static void what_is_less_by_now_is_shown_as_less(void **state)
{
	struct world *world = *state;

	put_object(world, "gpu-a", 1);
	put_object(world, "gpu-b", 2);
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 2");
	inventory_remove(world->inventory, INVENTORY_ATTRIBUTIONS, VIEW("gpu-a"), 3, fake_now_ms);
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_watch_objects{resource=\"gpuattributions\"} 1");
}

static void who_needs_no_election_is_shown_as_the_leader(void **state)
{
	struct world *world = *state;

	assert_shows(world, "gpuattribution_leader 0");
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_leader 1");
	assert_shows(world, "gpuattribution_leader_takeovers_total 0");
	assert_shows(world, "gpuattribution_leader_losses_total 0");
}

static void requests_are_shown_by_class_of_answer(void **state)
{
	struct world *world = *state;

	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_apiserver_requests_total{code=\"<error>\"} 1");
	assert_shows(world, "gpuattribution_apiserver_requests_total{code=\"5xx\"} 6");
	assert_shows(world, "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"10.96.0.1:443\"} "
			    "1");
	assert_shows(world, "rest_client_requests_total{code=\"409\",method=\"PUT\",host=\"10.96.0.1:443\"} "
			    "1");
	assert_shows(world, "rest_client_request_duration_seconds_sum{verb=\"GET\",host=\"10.96.0.1:443\"} "
			    "1");
	assert_shows(world, "rest_client_request_duration_seconds_sum{verb=\"PUT\",host=\"10.96.0.1:443\"} "
			    "2");
	assert_shows(world, "rest_client_request_duration_seconds_sum{verb=\"DELETE\","
			    "host=\"10.96.0.1:443\"} 3");
	assert_shows(world, "gpuattribution_apiserver_probes_total 7");
	assert_shows(world, "gpuattribution_apiserver_outages_total 8");
}

static void events_are_shown_by_type_and_by_what_became_of_them(void **state)
{
	const struct event_change change = {.type = EVENT_SLOT_HELD_TWICE, .count = 1,
					    .regarding = {.kind = VIEW("GPUAttribution"),
							  .name = VIEW("gpu-a")}};
	struct world *world = *state;
	struct event_teller *teller;
	struct error err;
	const struct event_teller_config config = {
		.loop = world->loop, .inventory = world->inventory, .is_ready = is_ready,
		.limits = {.per_minute = 1, .repeat_ms = 1000}, .idle_ms = 1000};

	assert_int_equal(event_teller_new(&config, &teller, &err), 0);
	event_teller_tell(teller, VIEW("node-1"), &change, 1);
	fake_loop_advance(world->loop, 0);
	fake_apiclient_answer(0, "{}");
	telemetry_collect(world->telemetry); /* nobody sends any */
	assert_shows(world, "gpuattribution_events_total{type=\"SlotHeldTwice\",outcome=\"sent\"} 0");
	telemetry_watch(world->telemetry,
			&(struct telemetry_sources){world->loop, NULL, world->inventory, world->watches,
						    world->reconciler, teller});
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_events_total{type=\"SlotHeldTwice\",outcome=\"sent\"} 1");
	assert_shows(world, "gpuattribution_events_total{type=\"UnallocatedUse\",outcome=\"held_back\"} 0");
	event_teller_free(teller);
}

static void how_long_turns_of_the_loop_took_is_shown(void **state)
{
	struct world *world = *state;

	fake_loop_turned(world->loop, 0.0004);
	fake_loop_turned(world->loop, 0.021);
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_loop_turn_duration_seconds_bucket"
			    "{thread=\"loop\",le=\"0.02\"} 1");
	assert_shows(world, "gpuattribution_loop_turn_duration_seconds_count{thread=\"loop\"} 2");
	assert_shows(world, "gpuattribution_loop_turn_duration_seconds_count{thread=\"front\"} 0");
}

static void what_runs_and_since_when_is_shown_from_the_start(void **state)
{
	assert_int_equal(fake_wall_ms, 1767225600000);
	assert_shows(*state, "process_start_time_seconds 1.7672256e+09");
	assert_shows(*state, "# TYPE process_max_fds gauge");
	assert_shows(*state, "gpuattribution_build_info{version=\"" GPU_ATTRIBUTION_VERSION "\"} 1");
}

static void release(void *owner)
{
	(void)owner;
}

/* Nobody is ready, so it waits. */
static void a_node_that_is_due_is_in_the_queue_as_client_go_counts_it(void **state)
{
	struct world *world = *state;
	static const struct report report = {.version = 1, .node = VIEW_INIT("n"),
					     .boot_id = VIEW_INIT("b")};
	struct error err;

	assert_int_equal(inventory_node_state_put_report(world->inventory, &report, release, NULL,
							 fake_now_ms, &err),
			 0);
	telemetry_collect(world->telemetry);
	assert_shows(world, "workqueue_depth{name=\"node\",controller=\"node\"} 1");
	assert_shows(world, "workqueue_adds_total{name=\"node\",controller=\"node\"} 1");
	assert_shows(world, "controller_runtime_active_workers{controller=\"node\"} 0");
	assert_shows(world, "controller_runtime_reconcile_time_seconds_count{controller=\"node\"} 0");
	assert_shows(world, "controller_runtime_reconcile_total{controller=\"node\",result=\"requeue\"} 0");
}

/* Somebody takes the status away again as soon as it is written. */
static void take_status_away(struct world *world, const char *uuid, uint64_t version)
{
	CLEANUP(arena_deinit) struct arena arena;
	char name[64], body[512];
	struct error err;

	snprintf(name, sizeof(name), "gpu-%s", uuid + 4);
	snprintf(body, sizeof(body),
		 "{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","
		 "\"metadata\":{\"name\":\"%s\",\"uid\":\"u\",\"resourceVersion\":\"%u\"},"
		 "\"spec\":{\"uuid\":\"%s\"}}", name, (unsigned)version, uuid);
	fake_apiclient_answer(n_fake_requests - 1, body);
	arena_init(&arena, LIMIT_KIB);
	const struct attribution object = {.name = view_from(name), .uid = VIEW("u"),
					   .resource_version = VIEW("9"), .uuid = view_from(uuid)};
	assert_int_equal(inventory_put_attribution(world->inventory, &object, &arena, STORE_UPSERT,
						   version + 1, &err), 0);
	fake_loop_advance(world->loop, 0);
}

static void writes_that_are_held_are_shown_by_their_limit(void **state)
{
	static const char uuid[] = "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f";
	static struct report_device device = {.uuid = VIEW_INIT(uuid)};
	static const struct report report = {.version = 1, .node = VIEW_INIT("n"),
					     .boot_id = VIEW_INIT("b"),
					     .devices = {&device, 1, true}};
	const unsigned n = WRITE_BUDGET_OBJECT_PER_SECOND * WRITE_BUDGET_OBJECT_BURST_S;
	struct world *world = *state;
	struct error err;

	ready = true;
	assert_int_equal(inventory_node_state_put_report(world->inventory, &report, release, NULL,
							 fake_now_ms, &err),
			 0);
	fake_loop_advance(world->loop, 0);
	for (unsigned i = 1; i <= n; i++) {
		assert_int_equal(n_fake_requests, i);
		take_status_away(world, uuid, 2 * i);
	}
	assert_int_equal(n_fake_requests, n);
	telemetry_collect(world->telemetry);
	assert_shows(world, "gpuattribution_writes_held_total{limit=\"object\"} 1");
	assert_shows(world, "gpuattribution_writes_held_total{limit=\"node\"} 0");
	assert_shows(world, "gpuattribution_held_nodes 1");
	assert_shows(world, "gpuattribution_held_objects 1");
	assert_shows(world, "gpuattribution_write_budgets_forgotten_total 0");
	assert_shows(world, "gpuattribution_reconcile_pauses_total 0");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(writes_that_are_held_are_shown_by_their_limit, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(how_long_turns_of_the_loop_took_is_shown, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_runs_and_since_when_is_shown_from_the_start, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_node_that_is_due_is_in_the_queue_as_client_go_counts_it,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(nothing_is_shown_before_it_is_collected, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_less_by_now_is_shown_as_less, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_needs_no_election_is_shown_as_the_leader, set_up, tear_down),
	cmocka_unit_test_setup_teardown(requests_are_shown_by_class_of_answer, set_up, tear_down),
	cmocka_unit_test_setup_teardown(events_are_shown_by_type_and_by_what_became_of_them, set_up,
					tear_down),
};

TEST_MAIN(tests)
