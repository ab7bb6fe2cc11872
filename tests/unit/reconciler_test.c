/* SPDX-License-Identifier: Apache-2.0 */

/*
 * With a join of our own in the place of join/join.c: it wants every reported device to have an
 * object whose status has `wanted` slots. What is tested is when it is asked and what becomes of
 * its answer. The server is a few objects with versions.
 */

#include "lib/failing_malloc.h"
#include "lib/find_attribution.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "controller/reconciler.h"
#include "schema/attribution_doc.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"
#include "lib/fake_stopwatch.inc"

#define N_NODES 40
#define DEVICES_A_NODE 2
#define N_REQUESTS 16 /* at a time */

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct reconciler *reconciler;
	bool ready;
	const char *not_current; /* a node of which that is not known; NULL: none */
	uint32_t lead_ms;
	unsigned n_asked_of_lead; /* how often whether it leads; */
	unsigned n_leads;         /* after so many times it does no more; 0: as lead_ms says */
	int64_t wanted;      /* slots */
	int64_t again_in_ms;
	struct debounce_seen doubt; /* none with the key 0 */
	bool is_hearing_awaited;
	size_t n_debounced_given;
	struct view ended;   /* UID that a join finds ended; empty: none */
	size_t n_ended_given;
	int64_t settled_restart;
	int64_t settled_given;
	struct loop_timer *other; /* for what else waits: due from the first join on */
	unsigned n_joined_before; /* it had its turn */
	uint64_t join_us;    /* a join takes so long, of the clock and of CPU */
	bool unreported;     /* the join finds a device that the report's list lacks */
	enum error_kind join_failure;
	char joined[1024];   /* the nodes, in order */
	unsigned n_joined;
	int64_t n_unpublished; /* so many of the last events are in no status */
	unsigned n_events;   /* told as published */
	int64_t last_event;
	unsigned server_version;
	struct report reports[N_NODES];
	struct report_device devices[N_NODES][DEVICES_A_NODE];
	char uuids[N_NODES][DEVICES_A_NODE][48];
	char nodes[N_NODES][16];
	bool is_buried;
	char forgotten[32];
	unsigned n_released;
};

static struct world *world_of_join; /* join_node() has no owner */

static struct join_device decide_device(const struct join_input *input, struct arena *arena,
					const struct report_device *device)
{
	struct join_device result = {
		.action = JOIN_WRITE, .uuid = device->uuid,
		.status = {.node_name = input->node_name,
			   .observed_generation = 1,
			   .slots = {.total = world_of_join->wanted}},
	};
	char *name = arena_alloc(arena, device->uuid.len, 1);

	assert_non_null(name);
	memcpy(name, device->uuid.ptr, device->uuid.len);
	memcpy(name, "gpu-", 4);
	result.name = (struct view){name, device->uuid.len};
	for (size_t i = 0; i < input->n_previous; i++)
		if (view_equal(input->previous[i].object->name, result.name))
			result.previous = input->previous[i].object;
	if (result.previous && result.previous->status.slots.total == world_of_join->wanted)
		result.action = JOIN_KEEP;
	return result;
}

static int64_t last_event_of(const struct report *report)
{
	return report && report->events.count > 0
		       ? ARRAY_AT(report->events, struct report_event, report->events.count - 1)
					 ->sequence - world_of_join->n_unpublished
		       : 0;
}

bool join_is_by_name(const struct join_device *device, const struct attribution_tenant *tenant)
{
	(void)device;
	(void)tenant;
	return false;
}

int join_node(const struct join_input *input, struct arena *arena, struct join_result *ret_result,
	      struct error *err)
{
	struct world *world = world_of_join;
	struct join_result result = {.again_in_ms = world->again_in_ms, .refused.entries = 1,
				     .refused.ids = 2, .refused.devices = 3,
				     .refused.objects = 4, .refused.debounced = 5,
				     .is_buried = world->is_buried,
				     .events_until = last_event_of(input->report)};
	size_t len = strlen(world->joined);

	fake_stopwatch_us += world->join_us;
	fake_stopwatch_cpu_us += world->join_us;
	assert_int_equal(input->limits->pending_ms, 7);
	assert_int_equal(input->now_wall_ms, fake_wall_ms);
	world->n_debounced_given = input->n_debounced;
	world->n_ended_given = input->n_ended;
	world->settled_given = input->settled_restart;
	result.recall.ended = &world->ended;
	result.recall.n_ended = world->ended.len > 0;
	result.recall.settled_restart = world->settled_restart;
	if (world->other && world->n_joined == 0)
		loop_timer_set(world->other, 0);
	result.recall.debounced = &world->doubt;
	result.recall.n_debounced = world->doubt.key != 0;
	result.recall.is_hearing_awaited = world->is_hearing_awaited;
	world->n_joined++;
	snprintf(world->joined + len, sizeof(world->joined) - len, "%.*s ",
		 VIEW_ARG(input->node_name));
	if (world->join_failure != ERROR_NONE)
		return error_set(err, world->join_failure, 0, "as the test wants it");
	uint32_t n_reported = input->report ? input->report->devices.count : 0;
	result.devices = arena_alloc(arena, n_reported + 1, sizeof(*result.devices));
	if (!result.devices)
		return error_no_memory(err);
	for (uint32_t i = 0; i < n_reported; i++)
		result.devices[result.n_devices++] = decide_device(
			input, arena, ARRAY_AT(input->report->devices, struct report_device, i));
	if (world->unreported)
		result.devices[result.n_devices++] =
			decide_device(input, arena, &world->devices[0][1]);
	*ret_result = result;
	return 0;
}

static void assert_joined(struct world *world, const char *nodes)
{
	assert_string_equal(world->joined, nodes);
	world->joined[0] = '\0';
}

static bool is_ready(void *owner)
{
	return ((struct world *)owner)->ready;
}

static bool may_join(void *owner, struct view node_name)
{
	const char *not_current = ((struct world *)owner)->not_current;

	return !not_current || !view_equal(node_name, view_from(not_current));
}

static uint64_t leads_until(void *owner)
{
	struct world *world = owner;

	world->n_asked_of_lead++;
	if (world->lead_ms == 0 ||
	    (world->n_leads != 0 && world->n_asked_of_lead > world->n_leads))
		return 0;
	return fake_now_ms + world->lead_ms;
}

static void on_events(void *owner, const struct reconciler_events *events)
{
	struct world *world = owner;

	assert_true(view_equal(events->boot_id, VIEW("boot")));
	world->n_events++;
	world->last_event = events->sequence;
}

static void on_forgotten(void *owner, struct view node_name)
{
	struct world *world = owner;

	snprintf(world->forgotten, sizeof(world->forgotten), "%.*s", VIEW_ARG(node_name));
}

static int make_reconciler(struct world *world, struct error *err)
{
	const struct reconciler_config config = {
		.loop = world->loop, .inventory = world->inventory, .limits = {.pending_ms = 7},
		.max_requests = N_REQUESTS, .is_ready = is_ready, .leads_until = leads_until,
		.may_join = may_join,
		.events_published = on_events, .forgotten = on_forgotten, .owner = world, .seed = 1,
	};

	return reconciler_new(&config, &world->reconciler, err);
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	world = (struct world){.ready = true, .lead_ms = UINT32_MAX, .wanted = 4,
			       .again_in_ms = -1};
	world_of_join = &world;
	for (unsigned n = 0; n < N_NODES; n++) {
		snprintf(world.nodes[n], sizeof(world.nodes[n]), "n%02u", n);
		for (unsigned d = 0; d < DEVICES_A_NODE; d++) {
			snprintf(world.uuids[n][d], sizeof(world.uuids[n][d]),
				 "GPU-%08u-0000-0000-0000-%012u", n, d);
			world.devices[n][d].uuid = view_from(world.uuids[n][d]);
		}
	}
	*state = &world;
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	return make_reconciler(&world, &err);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	reconciler_free(world->reconciler);
	inventory_free(world->inventory);
	loop_free(world->loop);
	return 0;
}

static void release(void *owner)
{
	((struct world *)owner)->n_released++;
}

/* A report of the n-th node with so many devices. */
static void report(struct world *world, unsigned n, uint32_t n_devices)
{
	struct error err;

	world->reports[n].version = 1;
	world->reports[n].node = view_from(world->nodes[n]);
	world->reports[n].boot_id = VIEW("boot");
	world->reports[n].devices = (struct array){world->devices[n], n_devices, true};
	assert_int_equal(inventory_node_state_put_report(world->inventory, &world->reports[n],
							 release, world, fake_now_ms, &err),
			 0);
}

/* Something of the node changes: its report comes again. */
static void touch(struct world *world, unsigned n)
{
	report(world, n, world->reports[n].devices.count);
}

static void advance(struct world *world, uint64_t ms)
{
	fake_loop_advance(world->loop, ms);
}

/* The object of a request as the server has it afterwards. */
static void render(struct world *world, const struct apiclient_request *request, char *ret,
		   size_t size, int64_t slots)
{
	const char *uuid = strstr(request->body, "\"uuid\":\"GPU-");
	const char *name = strstr(request->path, "/gpu-");
	char digits[48];

	assert_true(uuid || name);
	snprintf(digits, sizeof(digits), "%.36s", uuid ? uuid + 12 : name + 5);
	snprintf(ret, size,
		 "{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","
		 "\"metadata\":{\"name\":\"gpu-%s\",\"uid\":\"u\",\"resourceVersion\":\"%u\","
		 "\"generation\":1},\"spec\":{\"uuid\":\"GPU-%s\"}", digits,
		 ++world->server_version, digits);
	size_t len = strlen(ret);
	if (slots >= 0)
		snprintf(ret + len, size - len,
			 ",\"status\":{\"nodeName\":\"n%.2s\",\"slots\":{\"total\":%d}}}",
			 digits + 6, (int)slots);
	else
		snprintf(ret + len, size - len, "}");
}

static void answer(struct world *world, unsigned i)
{
	char body[1024];

	render(world, &fake_requests[i], body, sizeof(body),
	       strcmp(fake_requests[i].method, "PUT") == 0 ? world->wanted : -1);
	fake_apiclient_answer(i, body);
}

/* Answers everything until nothing is under way. */
static void answer_all(struct world *world)
{
	for (unsigned i = 0; i < n_fake_requests; i++) {
		if (fake_requests[i].open)
			answer(world, i);
		advance(world, 0);
	}
}

/* The devices of a node are published, and nothing is under way. */
static void settle(struct world *world, unsigned n, uint32_t n_devices)
{
	report(world, n, n_devices);
	advance(world, 0);
	answer_all(world);
	fake_apiclient_reset();
	world->joined[0] = '\0';
	world->n_joined = 0;
}

static unsigned count_requests(const char *method)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_fake_requests; i++)
		n += strcmp(fake_requests[i].method, method) == 0;
	return n;
}

static void nothing_is_joined_before_everything_is_ready(void **state)
{
	struct world *world = *state;

	world->ready = false;
	report(world, 0, 1);
	advance(world, 60000);
	reconciler_wake(world->reconciler);
	advance(world, 60000);
	assert_joined(world, "");
	world->ready = true;
	advance(world, 60000);
	assert_joined(world, "");
	reconciler_wake(world->reconciler);
	advance(world, 0);
	assert_joined(world, "n00 ");
}

static void who_is_no_longer_ready_joins_nothing(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	touch(world, 0);
	world->ready = false;
	advance(world, 1000);
	assert_joined(world, "");
	assert_int_equal(reconciler_counters(world->reconciler).depth, 1);
}

static void a_node_that_is_not_current_is_not_joined_until_it_is_touched_again(void **state)
{
	struct world *world = *state;

	world->not_current = "n00";
	report(world, 0, 1);
	report(world, 1, 1);
	advance(world, 60000);
	assert_joined(world, "n01 ");
	world->not_current = NULL;
	const struct node_state_set *node_states = inventory_parts(world->inventory).node_states;
	node_state_touch(node_states, node_state_find(node_states, VIEW("n00")), false);
	advance(world, 0);
	assert_joined(world, "n00 ");
}

static void a_new_device_is_created_and_then_gets_its_status(void **state)
{
	struct world *world = *state;

	report(world, 0, 1);
	advance(world, 0);
	assert_int_equal(n_fake_requests, 1);
	assert_string_equal(fake_requests[0].method, "POST");
	answer(world, 0);
	advance(world, 0);
	assert_int_equal(n_fake_requests, 2);
	assert_string_equal(fake_requests[1].method, "PUT");
	assert_non_null(strstr(fake_requests[1].body, "\"resourceVersion\":\"1\""));
	answer(world, 1);
	advance(world, 60000);
	assert_int_equal(n_fake_requests, 2);
	assert_int_equal(reconciler_counters(world->reconciler).depth, 0);
	assert_int_equal(reconciler_counters(world->reconciler).writes.created, 1);
	assert_int_equal(reconciler_counters(world->reconciler).writes.updated, 1);
}

/* No claim leads from such an object to the node. */
static void an_object_of_a_device_that_no_report_lists_gets_its_status_as_well(void **state)
{
	struct world *world = *state;

	world->unreported = true;
	report(world, 0, 0);
	advance(world, 0);
	assert_string_equal(fake_requests[0].method, "POST");
	answer(world, 0);
	world->joined[0] = '\0';
	advance(world, 0);
	assert_joined(world, "n00 ");
}

static void an_unchanged_world_writes_nothing(void **state)
{
	struct world *world = *state;

	settle(world, 0, 2);
	for (unsigned i = 0; i < 60; i++) {
		touch(world, 0);
		advance(world, 60000);
	}
	assert_int_equal(world->n_joined, 60);
	assert_int_equal(n_fake_requests, 0);
}

static void a_conflict_leads_to_a_join_of_what_is_there_now(void **state)
{
	struct world *world = *state;
	char body[1024];

	settle(world, 0, 1);
	world->wanted = 5;
	touch(world, 0);
	advance(world, 0);
	assert_string_equal(fake_requests[0].method, "PUT");
	fake_apiclient_fail(0, ERROR_CONFLICT);
	assert_string_equal(fake_requests[1].method, "GET");
	world->joined[0] = '\0';
	render(world, &fake_requests[1], body, sizeof(body), 9);
	fake_apiclient_answer(1, body);
	advance(world, 100);
	assert_joined(world, "n00 ");
	assert_int_equal(n_fake_requests, 3);
	assert_string_equal(fake_requests[2].method, "PUT");
	assert_non_null(strstr(fake_requests[2].body, "\"resourceVersion\":\"3\""));
	answer(world, 2);
	advance(world, 1000);
	assert_int_equal(n_fake_requests, 3);
	assert_int_equal(reconciler_counters(world->reconciler).errors, 0);
	assert_int_equal(reconciler_counters(world->reconciler).writes.conflicts, 1);
	assert_int_equal(reconciler_counters(world->reconciler).results[RECONCILER_REQUEUE], 1);
}

static void a_conflict_about_what_is_right_already_writes_nothing_more(void **state)
{
	struct world *world = *state;
	char body[1024];

	settle(world, 0, 1);
	world->wanted = 5;
	touch(world, 0);
	advance(world, 0);
	fake_apiclient_fail(0, ERROR_CONFLICT);
	render(world, &fake_requests[1], body, sizeof(body), 5);
	fake_apiclient_answer(1, body);
	advance(world, 60000);
	assert_int_equal(n_fake_requests, 2);
}

static void what_is_refused_is_tried_again_after_seconds_while_other_nodes_go_on(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	settle(world, 1, 1);
	world->wanted = 5;
	touch(world, 0);
	advance(world, 0);
	fake_apiclient_fail(0, ERROR_REJECTED);
	advance(world, 9999);
	assert_int_equal(n_fake_requests, 1);
	touch(world, 1);
	advance(world, 0);
	assert_int_equal(n_fake_requests, 2);
	answer(world, 1);
	advance(world, 1);
	assert_int_equal(n_fake_requests, 3);
	assert_non_null(strstr(fake_requests[2].path, "gpu-00000000"));
	answer(world, 2);
	advance(world, 600000);
	assert_int_equal(n_fake_requests, 3);
	assert_int_equal(reconciler_counters(world->reconciler).writes.rejected, 1);
}

static void a_creation_that_fails_waits_as_any_other_write_does(void **state)
{
	struct world *world = *state;
	static const struct {
		enum error_kind kind;
		uint64_t least_ms;
		uint64_t most_ms;
	} rows[] = {
		{ERROR_RETRY, 5, 10},
		{ERROR_NOT_FOUND, 5, 10},
		{ERROR_DENIED, 5, 10},
		{ERROR_REJECTED, 10000, 10000},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_apiclient_reset();
		report(world, i, 1);
		advance(world, 0);
		assert_int_equal(n_fake_requests, 1);
		fake_apiclient_fail(0, rows[i].kind);
		advance(world, rows[i].least_ms - 1);
		assert_int_equal(n_fake_requests, 1);
		advance(world, rows[i].most_ms - rows[i].least_ms + 1);
		assert_int_equal(n_fake_requests, 2);
		answer_all(world);
	}
}

static void a_server_that_is_away_is_asked_less_and_less_often(void **state)
{
	struct world *world = *state;

	report(world, 0, 1);
	for (unsigned i = 0; i < 600; i++) {
		advance(world, 100);
		if (fake_requests[n_fake_requests - 1].open)
			fake_apiclient_fail(n_fake_requests - 1, ERROR_RETRY);
	}
	assert_in_range(n_fake_requests, 8, 15);
	assert_int_equal(reconciler_counters(world->reconciler).errors, n_fake_requests);
}

static void a_busy_server_is_left_alone_for_as_long_as_it_asks(void **state)
{
	struct world *world = *state;
	const struct error busy = {.kind = ERROR_THROTTLED, .retry_after_ms = 8000};

	settle(world, 0, 2);
	world->wanted = 5;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(n_fake_requests, 2);
	fake_apiclient_fail(0, ERROR_RETRY);
	fake_requests[1].open = false;
	fake_requests[1].answer(fake_requests[1].owner, 429, (struct view){0}, &busy);
	advance(world, 7999);
	assert_int_equal(n_fake_requests, 2);
	advance(world, 1);
	assert_int_equal(n_fake_requests, 4);
}

static void while_writes_are_under_way_a_node_is_not_joined_and_then_once(void **state)
{
	struct world *world = *state;

	settle(world, 0, 2);
	world->wanted = 5;
	touch(world, 0);
	advance(world, 0);
	assert_joined(world, "n00 ");
	for (unsigned i = 0; i < 5; i++) {
		touch(world, 0);
		advance(world, 60000);
	}
	answer(world, 0);
	advance(world, 60000);
	assert_joined(world, "");
	answer(world, 1);
	advance(world, 60000);
	assert_joined(world, "n00 ");
	assert_int_equal(n_fake_requests, 2);
}

static void a_node_whose_result_time_changes_is_looked_at_then(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	world->again_in_ms = 5000;
	touch(world, 0);
	advance(world, 0);
	assert_joined(world, "n00 ");
	advance(world, 4999);
	assert_joined(world, "");
	world->again_in_ms = -1;
	advance(world, 1);
	assert_joined(world, "n00 ");
	advance(world, 3600000);
	assert_joined(world, "");
}

static void what_a_join_saw_is_known_to_the_next_and_a_heartbeat_leads_to_one(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	world->doubt = (struct debounce_seen){.key = 7};
	world->is_hearing_awaited = true;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(world->n_debounced_given, 0);
	assert_joined(world, "n00 ");
	world->is_hearing_awaited = false;
	for (int i = 0; i < 2; i++) {
		assert_true(inventory_node_state_refresh_report(world->inventory,
								view_from(world->nodes[0]), 0, 120000,
								loop_now_ms(NULL)));
		advance(world, 0);
		assert_int_equal(world->n_debounced_given, 1);
		assert_joined(world, i == 0 ? "n00 " : "");
	}
}

static void who_ended_and_what_settled_is_known_to_the_next_join(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	world->ended = VIEW("uid-a");
	world->settled_restart = 77;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(world->n_ended_given, 0);
	assert_true(world->settled_given == 0);
	world->ended = (struct view){0};
	world->settled_restart = 0;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(world->n_ended_given, 1);
	assert_true(world->settled_given == 77);
	touch(world, 0);
	advance(world, 0);
	assert_true(world->settled_given == 0);
}

static void a_node_that_cannot_be_joined_is_tried_again_and_counted(void **state)
{
	struct world *world = *state;

	world->join_failure = ERROR_LIMIT;
	report(world, 0, 1);
	advance(world, 0);
	assert_int_equal(world->n_joined, 1);
	assert_int_equal(reconciler_counters(world->reconciler).errors, 1);
	assert_int_equal(reconciler_counters(world->reconciler).results[RECONCILER_ERROR], 1);
	world->join_failure = ERROR_NONE;
	advance(world, 4);
	assert_int_equal(world->n_joined, 1);
	advance(world, 6);
	assert_int_equal(world->n_joined, 2);
	assert_int_equal(n_fake_requests, 1);
}

static void put_object(struct world *world, unsigned n, uint64_t version)
{
	const struct attribution object = {
		.name = VIEW("gpu-x"), .uuid = VIEW("GPU-x"),
		.status.node_name = view_from(world->nodes[n]),
	};
	struct arena arena;
	struct error err;

	arena_init(&arena, 4096);
	assert_int_equal(inventory_put_attribution(world->inventory, &object, &arena, STORE_LISTED,
						   version, &err), 0);
	arena_deinit(&arena);
}

static void a_live_event_overtakes_the_items_of_a_first_list(void **state)
{
	struct world *world = *state;

	world->ready = false;
	put_object(world, 0, 1);
	report(world, 1, 0);
	world->ready = true;
	reconciler_wake(world->reconciler);
	advance(world, 0);
	assert_joined(world, "n01 n00 ");
}

static void a_reconcile_takes_until_its_last_write_is_answered(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	struct reconciler_counters before = reconciler_counters(world->reconciler);
	world->wanted++;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(n_fake_requests, 1);
	assert_int_equal(reconciler_counters(world->reconciler).load.working, 1);
	fake_now_ms += 2000;
	assert_int_equal(reconciler_counters(world->reconciler).load.longest_ms, 2000);
	answer(world, 0);
	advance(world, 0);
	struct reconciler_counters after = reconciler_counters(world->reconciler);
	/* What the answer says leads to no other. */
	assert_int_equal(after.results[RECONCILER_SUCCESS], before.results[RECONCILER_SUCCESS] + 1);
	assert_true(after.durations.sum >= before.durations.sum + 2);
	assert_true(after.durations.sum < before.durations.sum + 3);
	assert_int_equal(after.load.working, 0);
}

static void more_nodes_than_fit_one_turn_are_all_joined(void **state)
{
	struct world *world = *state;

	for (unsigned n = 0; n < N_NODES; n++)
		report(world, n, 0);
	assert_int_equal(reconciler_counters(world->reconciler).depth, N_NODES);
	advance(world, 0);
	assert_int_equal(world->n_joined, N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).depth, 0);
	assert_int_equal(reconciler_counters(world->reconciler).runs, N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).results[RECONCILER_SUCCESS], N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).queue.adds, N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).entries_refused, N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).ids_unknown, 2 * N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).devices_refused, 3 * N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).objects_left_out, 4 * N_NODES);
	assert_int_equal(reconciler_counters(world->reconciler).debounced_left_out, 5 * N_NODES);
}

static void have_a_turn(void *owner)
{
	struct world *world = owner;

	world->n_joined_before = world->n_joined;
}

static void what_else_waits_has_its_turn_before_very_many_nodes_are_joined(void **state)
{
	struct world *world = *state;
	struct error err;

	assert_int_equal(loop_timer_new(world->loop, have_a_turn, world, &world->other, &err), 0);
	world->join_us = 1000;
	for (unsigned n = 0; n < N_NODES; n++)
		report(world, n, 0);
	advance(world, 0);
	assert_int_equal(world->n_joined, N_NODES);
	assert_int_equal(world->n_joined_before, RECONCILER_TURN_US / 1000);
	loop_timer_free(world->other);
}

static void what_a_report_is_refused_for_counts_once_however_often_it_is_joined(void **state)
{
	struct world *world = *state;

	world->again_in_ms = 1000;
	report(world, 0, 0);
	for (unsigned i = 0; i < 4; i++)
		advance(world, 1000);
	assert_true(world->n_joined > 2);
	assert_int_equal(reconciler_counters(world->reconciler).entries_refused, 1);
	assert_int_equal(reconciler_counters(world->reconciler).ids_unknown, 2);
	assert_int_equal(reconciler_counters(world->reconciler).devices_refused, 3);
	assert_int_equal(reconciler_counters(world->reconciler).objects_left_out, 4);
	assert_int_equal(reconciler_counters(world->reconciler).debounced_left_out, 5);
	report(world, 0, 0);
	advance(world, 0);
	assert_int_equal(reconciler_counters(world->reconciler).entries_refused, 2);
	assert_int_equal(reconciler_counters(world->reconciler).ids_unknown, 4);
	assert_int_equal(reconciler_counters(world->reconciler).devices_refused, 6);
	assert_int_equal(reconciler_counters(world->reconciler).objects_left_out, 8);
	assert_int_equal(reconciler_counters(world->reconciler).debounced_left_out, 10);
}

static void the_report_of_a_buried_node_is_released_and_that_is_told(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	world->n_released = 0;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(world->n_released, 1); /* the one before */
	assert_string_equal(world->forgotten, "");
	world->is_buried = true;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(world->n_released, 3);
	assert_string_equal(world->forgotten, "n00");
	assert_false(inventory_node_state_refresh_report(world->inventory, VIEW("n00"), 0, 1,
							 fake_now_ms));
}

static struct report_event events[] = {{.sequence = 3}, {.sequence = 8}};

static void events_are_told_as_published_when_a_status_holds_them(void **state)
{
	struct world *world = *state;

	world->reports[0].events = (struct array){events, 2, true};
	report(world, 0, 1);
	advance(world, 0);
	answer(world, 0);
	advance(world, 0);
	assert_string_equal(fake_requests[1].method, "PUT");
	assert_int_equal(world->n_events, 0);
	fake_apiclient_fail(1, ERROR_RETRY);
	advance(world, 20);
	assert_int_equal(world->n_events, 0);
	assert_string_equal(fake_requests[2].method, "PUT");
	answer(world, 2);
	advance(world, 0);
	assert_true(world->n_events > 0);
	assert_int_equal(world->last_event, 8);
}

static void only_the_events_of_the_node_that_is_done_are_told(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	settle(world, 1, 1);
	world->wanted = 5;
	for (unsigned n = 0; n < 2; n++) {
		world->reports[n].events = (struct array){events, n + 1, true};
		touch(world, n);
	}
	advance(world, 0);
	assert_int_equal(n_fake_requests, 2);
	answer(world, 1);
	world->reports[1].events.count = 0;
	advance(world, 0);
	assert_int_equal(world->n_events, 1);
	assert_int_equal(world->last_event, 8);
	answer(world, 0);
	world->reports[0].events.count = 0;
	advance(world, 0);
	assert_int_equal(world->n_events, 2);
	assert_int_equal(world->last_event, 3);
}

/* The agent goes on reporting the others. */
static void events_that_no_status_holds_are_not_told_as_published(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	world->reports[0].events = (struct array){events, 2, true};
	world->n_unpublished = 1;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(world->last_event, 7);
	world->n_unpublished = 0;
	touch(world, 0);
	advance(world, 0);
	assert_int_equal(world->last_event, 8);
}

/* A watch tells of an object. */
static void put_rendered(struct world *world, const char *body)
{
	struct attribution object;
	struct arena arena;
	struct error err;

	arena_init(&arena, 4096);
	assert_int_equal(attribution_doc_decode(view_from(body), &arena, &object, &err), 0);
	assert_int_equal(inventory_put_attribution(world->inventory, &object, &arena, STORE_UPSERT,
						   world->server_version, &err),
			 0);
	arena_deinit(&arena);
}

/* More nodes want a write than may be under way, and then a watch breaks off. */
static void begin_with_writes_that_wait(struct world *world, unsigned n_nodes)
{
	for (unsigned n = 0; n < n_nodes; n++)
		settle(world, n, 1);
	world->wanted = 5;
	for (unsigned n = 0; n < n_nodes; n++)
		touch(world, n);
	advance(world, 0);
	assert_int_equal(world->n_joined, n_nodes);
	assert_int_equal(n_fake_requests, N_REQUESTS);
	world->ready = false;
	world->joined[0] = '\0';
	world->n_joined = 0;
}

static void a_write_that_waited_is_not_sent_when_its_node_is_not_current(void **state)
{
	struct world *world = *state;

	begin_with_writes_that_wait(world, N_REQUESTS + 1);
	world->ready = true;
	world->not_current = world->nodes[N_REQUESTS];
	answer(world, 0);
	advance(world, 0);
	assert_int_equal(n_fake_requests, N_REQUESTS);
}

static void a_write_that_waited_while_a_watch_broke_off_is_joined_anew_when_it_is_back(void **state)
{
	struct world *world = *state;

	begin_with_writes_that_wait(world, N_REQUESTS + 2);
	answer(world, 0);
	advance(world, 60000);
	for (unsigned i = 1; i < N_REQUESTS; i++)
		answer(world, i);
	advance(world, 60000);
	assert_int_equal(n_fake_requests, N_REQUESTS);
	assert_joined(world, "");
	assert_int_equal(reconciler_counters(world->reconciler).errors, 0);
	world->ready = true;
	reconciler_wake(world->reconciler);
	advance(world, 0);
	assert_non_null(strstr(world->joined, "n16 "));
	assert_non_null(strstr(world->joined, "n17 "));
	assert_int_equal(n_fake_requests, N_REQUESTS + 2);
	for (unsigned i = N_REQUESTS; i < N_REQUESTS + 2; i++) {
		assert_string_equal(fake_requests[i].method, "PUT");
		assert_true(strstr(fake_requests[i].path, "/gpu-00000016") ||
			    strstr(fake_requests[i].path, "/gpu-00000017"));
		answer(world, i);
	}
	advance(world, 600000);
	assert_int_equal(n_fake_requests, N_REQUESTS + 2);
	assert_int_equal(reconciler_counters(world->reconciler).depth, 0);
	assert_int_equal(reconciler_counters(world->reconciler).errors, 0);
	assert_int_equal(reconciler_counters(world->reconciler).writes.failed, 0);
	assert_int_equal(reconciler_counters(world->reconciler).writes.conflicts, 0);
}

/* The join looks at what is known by then, and it may be that nothing is to be written. */
static void what_waited_and_is_right_by_then_is_not_written(void **state)
{
	struct world *world = *state;
	struct apiclient_request last = {.path = "/gpu-00000016-0000-0000-0000-000000000000"};
	char body[1024];

	begin_with_writes_that_wait(world, N_REQUESTS + 1);
	for (unsigned i = 0; i < N_REQUESTS; i++)
		answer(world, i);
	advance(world, 0);
	render(world, &last, body, sizeof(body), 5);
	put_rendered(world, body);
	world->ready = true;
	reconciler_wake(world->reconciler);
	advance(world, 600000);
	assert_non_null(strstr(world->joined, "n16 "));
	assert_int_equal(n_fake_requests, N_REQUESTS);
}

/* They are not lost with the write that did not become one. */
static void events_of_a_write_that_was_not_sent_are_not_told_as_published(void **state)
{
	struct world *world = *state;

	world->reports[N_REQUESTS].events = (struct array){events, 2, true};
	begin_with_writes_that_wait(world, N_REQUESTS + 1);
	world->n_events = 0;
	for (unsigned i = 0; i < N_REQUESTS; i++)
		answer(world, i);
	advance(world, 60000);
	assert_int_equal(world->n_events, 0);
	world->ready = true;
	reconciler_wake(world->reconciler);
	advance(world, 0);
	assert_int_equal(world->n_events, 0);
	answer(world, N_REQUESTS);
	advance(world, 0);
	assert_true(world->n_events > 0);
	assert_int_equal(world->last_event, 8);
}

static void who_follows_joins_and_writes_nothing(void **state)
{
	struct world *world = *state;

	world->lead_ms = 0;
	world->doubt = (struct debounce_seen){.key = 7};
	world->reports[0].events = (struct array){events, 2, true};
	report(world, 0, 2);
	advance(world, 60000);
	assert_joined(world, "n00 ");
	assert_int_equal(world->n_debounced_given, 0);
	touch(world, 0);
	advance(world, 60000);
	assert_joined(world, "n00 ");
	assert_int_equal(world->n_debounced_given, 1); /* as warm as the leader's */
	assert_int_equal(n_fake_requests, 0);
	assert_int_equal(world->n_events, 0);
	assert_int_equal(reconciler_counters(world->reconciler).depth, 0);
	assert_int_equal(reconciler_counters(world->reconciler).errors, 0);
}

/* It began while this replica led, and says so of nothing when it ends. */
static void events_of_a_join_that_outlived_the_lead_are_not_told_as_published(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	world->reports[0].events = (struct array){events, 2, true};
	world->n_events = 0;
	for (unsigned n = 1; n <= 2; n++) {
		world->n_asked_of_lead = 0;
		world->n_leads = n;
		world->n_joined = 0;
		touch(world, 0);
		advance(world, 0);
		assert_int_equal(world->n_joined, 1);
		assert_true(n == 2 || world->n_asked_of_lead > 1);
		assert_int_equal(world->n_events, n == 2);
	}
}

static void who_takes_over_joins_each_node_once_and_writes_what_is_not_as_published(void **state)
{
	struct world *world = *state;

	settle(world, 0, 1);
	world->lead_ms = 0;
	world->reports[1].events = (struct array){events, 2, true};
	report(world, 1, 1);
	advance(world, 60000);
	assert_joined(world, "n01 ");
	assert_int_equal(n_fake_requests, 0);
	world->lead_ms = 4000;
	world->n_joined = 0;
	reconciler_take_over(world->reconciler);
	advance(world, 0);
	assert_int_equal(world->n_joined, 2);
	assert_int_equal(n_fake_requests, 1);
	assert_string_equal(fake_requests[0].method, "POST");
	assert_int_equal(fake_requests[0].timeout_ms, 4000);
	assert_int_equal(fake_requests[0].send_before, fake_now_ms + 4000);
	answer_all(world);
	advance(world, 60000);
	assert_int_equal(n_fake_requests, 2);
	assert_int_equal(world->last_event, 8); /* which are safe only now */
}

static void who_takes_over_before_it_may_write_does_so_when_it_may(void **state)
{
	struct world *world = *state;

	world->lead_ms = 0;
	report(world, 0, 1);
	advance(world, 0);
	assert_joined(world, "n00 ");
	world->ready = false;
	world->lead_ms = 4000;
	reconciler_take_over(world->reconciler);
	advance(world, 1000);
	assert_joined(world, "");
	world->ready = true;
	reconciler_wake(world->reconciler);
	advance(world, 0);
	assert_joined(world, "n00 ");
	assert_int_equal(n_fake_requests, 1);
}

static void a_write_that_waited_while_the_lead_was_lost_is_not_sent(void **state)
{
	struct world *world = *state;

	begin_with_writes_that_wait(world, N_REQUESTS + 2);
	world->ready = true;
	world->lead_ms = 0;
	for (unsigned i = 0; i < N_REQUESTS; i++)
		answer(world, i);
	advance(world, 600000);
	assert_int_equal(n_fake_requests, N_REQUESTS);
	assert_int_equal(reconciler_counters(world->reconciler).depth, 0);
	assert_int_equal(reconciler_counters(world->reconciler).errors, 0);
	world->lead_ms = 4000;
	reconciler_take_over(world->reconciler);
	advance(world, 0);
	assert_int_equal(n_fake_requests, N_REQUESTS + 2);
}

static void a_node_that_memory_did_not_suffice_to_queue_comes_with_its_next_change(void **state)
{
	struct world *world = *state;
	bool failed = true;

	settle(world, 0, 1);
	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		touch(world, 0);
		failed = failing_malloc_off();
		advance(world, 0);
		assert_joined(world, failed ? "" : "n00 ");
		assert_int_equal(reconciler_counters(world->reconciler).depth, 0);
	}
}

static void the_end_in_the_middle_cancels_and_later_changes_touch_nobody(void **state)
{
	struct world *world = *state;

	world->reports[0].events = (struct array){events, 2, true};
	report(world, 0, 1);
	advance(world, 0);
	assert_true(fake_requests[0].open);
	reconciler_free(world->reconciler);
	world->reconciler = NULL;
	assert_false(fake_requests[0].open);
	touch(world, 0);
	advance(world, 1000);
	assert_int_equal(world->n_joined, 1);
	assert_int_equal(world->n_events, 0);
}

static void without_memory_none_is_made_and_nothing_leaks(void **state)
{
	struct world *world = *state;
	bool failed = true;

	reconciler_free(world->reconciler);
	for (unsigned k = 1; failed; k++) {
		struct error err = {0};

		world->reconciler = NULL;
		failing_malloc_at(k);
		int result = make_reconciler(world, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_int_equal(world->reconciler != NULL, !failed);
	}
}

/* From a known device to its new status, with any one allocation failing on the way. */
static void memory_that_runs_out_on_the_way_is_only_a_delay(void **state)
{
	struct world *world = *state;
	bool failed = true;

	settle(world, 0, 2);
	world->reports[0].events = (struct array){events, 2, true};
	for (unsigned k = 1; failed; k++) {
		world->wanted++;
		touch(world, 0);
		fake_apiclient_reset();
		failing_malloc_at(k);
		advance(world, 0);
		answer_all(world);
		failed = failing_malloc_off();
		advance(world, 10000);
		answer_all(world);
		advance(world, 10000);
		assert_in_range(count_requests("PUT"), 2, 3);
		for (unsigned d = 0; d < 2; d++) {
			char name[48];
			const struct attribution *object;

			memcpy(name, world->uuids[0][d], sizeof(name));
			memcpy(name, "gpu-", 4);
			object = find_attribution(world->inventory, view_from(name));
			assert_int_equal(object->status.slots.total, world->wanted);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		nothing_is_joined_before_everything_is_ready, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_that_is_not_current_is_not_joined_until_it_is_touched_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_write_that_waited_is_not_sent_when_its_node_is_not_current, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_is_no_longer_ready_joins_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_device_is_created_and_then_gets_its_status, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_of_a_device_that_no_report_lists_gets_its_status_as_well, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unchanged_world_writes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_conflict_leads_to_a_join_of_what_is_there_now, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_conflict_about_what_is_right_already_writes_nothing_more, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_refused_is_tried_again_after_seconds_while_other_nodes_go_on, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_creation_that_fails_waits_as_any_other_write_does, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_server_that_is_away_is_asked_less_and_less_often, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_busy_server_is_left_alone_for_as_long_as_it_asks, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_writes_are_under_way_a_node_is_not_joined_and_then_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_a_join_saw_is_known_to_the_next_and_a_heartbeat_leads_to_one, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_whose_result_time_changes_is_looked_at_then, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_ended_and_what_settled_is_known_to_the_next_join, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_that_cannot_be_joined_is_tried_again_and_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_live_event_overtakes_the_items_of_a_first_list, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_reconcile_takes_until_its_last_write_is_answered, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		more_nodes_than_fit_one_turn_are_all_joined, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		events_are_told_as_published_when_a_status_holds_them, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		only_the_events_of_the_node_that_is_done_are_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		events_that_no_status_holds_are_not_told_as_published, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_write_that_waited_while_a_watch_broke_off_is_joined_anew_when_it_is_back,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_waited_and_is_right_by_then_is_not_written,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		events_of_a_write_that_was_not_sent_are_not_told_as_published,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_follows_joins_and_writes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		events_of_a_join_that_outlived_the_lead_are_not_told_as_published, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		who_takes_over_joins_each_node_once_and_writes_what_is_not_as_published, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		who_takes_over_before_it_may_write_does_so_when_it_may, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_write_that_waited_while_the_lead_was_lost_is_not_sent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_that_memory_did_not_suffice_to_queue_comes_with_its_next_change, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		the_end_in_the_middle_cancels_and_later_changes_touch_nobody, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_none_is_made_and_nothing_leaks, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		memory_that_runs_out_on_the_way_is_only_a_delay, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_else_waits_has_its_turn_before_very_many_nodes_are_joined, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_a_report_is_refused_for_counts_once_however_often_it_is_joined, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_report_of_a_buried_node_is_released_and_that_is_told, set_up, tear_down),
};

TEST_MAIN(tests)
