/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How much one node may ask of the API server and of the loop. With a join of our own in the place of
 * join/join.c: it wants of each reported device an object with the slots that the test says. The
 * server answers at once, and somebody else may change an object after each of our writes.
 */

#include "lib/test_main.h"

#include <limits.h>
#include <stdlib.h>

#include "base/limits.h"
#include "controller/reconciler.h"
#include "schema/attribution_doc.h"

#define FAKE_APICLIENT_MAX 512 /* requests within a millisecond */
#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"
#include "lib/fake_stopwatch.inc"

#define N_NODES 4
#define N_DEVICES 64
#define BURST (WRITE_BUDGET_NODE_PER_SECOND * WRITE_BUDGET_NODE_BURST_S)
#define OBJECT_BURST (WRITE_BUDGET_OBJECT_PER_SECOND * WRITE_BUDGET_OBJECT_BURST_S)

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct reconciler *reconciler;
	int64_t wanted[N_NODES][N_DEVICES];  /* slots */
	int64_t on_server[N_NODES][N_DEVICES];
	unsigned n_writes[N_NODES][N_DEVICES];
	unsigned n_deleted;
	bool is_edited;                      /* the first device of the first node, after each write */
	bool is_undone;                      /* its object is deleted after each write of it */
	bool is_gone;                        /* all objects are to be deleted */
	bool is_failing;                     /* each write */
	bool follows;                        /* another replica leads */
	unsigned n_failed;
	uint64_t join_us[N_NODES];           /* so long takes a join */
	unsigned n_joined[N_NODES];
	unsigned n_acknowledged;             /* events_published() was called */
	unsigned version;
	struct report reports[N_NODES];
	struct report_device devices[N_NODES][N_DEVICES];
	char uuids[N_NODES][N_DEVICES][48];
	char nodes[N_NODES][8];
};

static struct world world;
static struct report_event event = {.sequence = 8};

/* The join */

static struct join_device decide(const struct join_input *input, struct arena *arena, unsigned n,
				 unsigned d)
{
	struct join_device joined = {.action = JOIN_WRITE, .uuid = view_from(world.uuids[n][d])};
	char *name = arena_alloc(arena, joined.uuid.len, 1);

	assert_non_null(name);
	memcpy(name, joined.uuid.ptr, joined.uuid.len);
	memcpy(name, "gpu-", 4);
	joined.name = (struct view){name, joined.uuid.len};
	joined.status.node_name = input->node_name;
	joined.status.slots.total = world.wanted[n][d];
	for (size_t i = 0; i < input->n_previous; i++)
		if (view_equal(input->previous[i].object->name, joined.name))
			joined.previous = input->previous[i].object;
	if (joined.previous && joined.previous->status.slots.total == world.wanted[n][d])
		joined.action = JOIN_KEEP;
	if (world.is_gone)
		joined.action = joined.previous ? JOIN_DELETE : JOIN_KEEP;
	return joined;
}

bool join_is_by_name(const struct join_device *device, const struct attribution_tenant *tenant)
{
	(void)device, (void)tenant;
	return false;
}

int join_node(const struct join_input *input, struct arena *arena, struct join_result *ret_result,
	      struct error *err)
{
	unsigned n = (unsigned)(input->node_name.ptr[1] - '0');
	struct join_result result = {.again_in_ms = -1};

	(void)err;
	world.n_joined[n]++;
	fake_stopwatch_us += world.join_us[n];
	fake_stopwatch_cpu_us += world.join_us[n];
	result.devices = arena_alloc(arena, N_DEVICES, sizeof(*result.devices));
	assert_non_null(result.devices);
	for (unsigned d = 0; input->report && d < input->report->devices.count; d++)
		result.devices[result.n_devices++] = decide(input, arena, n, d);
	if (input->report && input->report->events.count > 0)
		result.events_until = event.sequence;
	*ret_result = result;
	return 0;
}

/* The server */

static void render(unsigned n, unsigned d, char *ret, size_t size)
{
	char status[96] = "";

	if (world.on_server[n][d] >= 0)
		snprintf(status, sizeof(status),
			 ",\"status\":{\"nodeName\":\"n%u\",\"slots\":{\"total\":%d}}", n,
			 (int)world.on_server[n][d]);
	snprintf(ret, size,
		 "{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","
		 "\"metadata\":{\"name\":\"gpu-%s\",\"uid\":\"u\",\"resourceVersion\":\"%u\","
		 "\"generation\":1},\"spec\":{\"uuid\":\"%s\"}%s}",
		 world.uuids[n][d] + 4, ++world.version, world.uuids[n][d], status);
}

/* Somebody else writes the object, and the watch tells. */
static void edit(unsigned n, unsigned d)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct attribution object;
	char body[1024];
	struct error err;

	world.on_server[n][d] = 1000;
	render(n, d, body, sizeof(body));
	arena_init(&arena, LIMIT_KIB * 16);
	assert_int_equal(attribution_doc_decode(view_from(body), &arena, &object, &err), 0);
	assert_int_equal(inventory_put_attribution(world.inventory, &object, &arena, STORE_UPSERT,
						   world.version, &err), 0);
}

static void forget(unsigned n, unsigned d)
{
	char name[48];

	snprintf(name, sizeof(name), "gpu-%s", world.uuids[n][d] + 4);
	inventory_remove(world.inventory, INVENTORY_ATTRIBUTIONS, view_from(name), ++world.version,
			 fake_now_ms);
	world.n_deleted++;
}

static void carry_out(unsigned i)
{
	const struct apiclient_request *request = &fake_requests[i];
	const char *uuid = strstr(request->body, "\"uuid\":\"GPU-");
	const char *digits = uuid ? uuid + 12 : strstr(request->path, "/gpu-") + 5;
	unsigned n = (unsigned)strtoul(digits, NULL, 10);
	unsigned d = (unsigned)strtoul(digits + 24, NULL, 10);
	bool is_deletion = strcmp(request->method, "DELETE") == 0;
	char body[1024];

	world.n_writes[n][d]++;
	world.on_server[n][d] = strcmp(request->method, "PUT") == 0 ? world.wanted[n][d] : -1;
	render(n, d, body, sizeof(body));
	fake_apiclient_answer(i, body);
	if (is_deletion || (world.is_undone && n == 0 && d == 0))
		forget(n, d);
	else if (world.is_edited && n == 0 && d == 0 && strcmp(request->method, "PUT") == 0)
		edit(n, d);
}

static void refuse(unsigned i)
{
	world.n_failed++;
	fake_apiclient_fail(i, ERROR_RETRY);
}

static void answer(unsigned i)
{
	if (strcmp(fake_requests[i].method, "GET") == 0) /* is there still such a node? */
		fake_apiclient_answer(i, "{\"kind\":\"PartialObjectMetadataList\","
					 "\"metadata\":{},\"items\":null}");
	else if (world.is_failing)
		refuse(i);
	else
		carry_out(i);
}

/* Time passes in steps of a millisecond, and all requests are answered within it. */
static void pass(uint64_t ms)
{
	for (uint64_t end = fake_now_ms + ms; fake_now_ms < end;) {
		fake_loop_advance(world.loop, 1);
		for (unsigned i = 0; i < n_fake_requests; i++)
			if (fake_requests[i].open) {
				answer(i);
				fake_loop_advance(world.loop, 0);
			}
		fake_apiclient_reset();
	}
}

/* The world */

static bool is_ready(void *owner)
{
	(void)owner;
	return true;
}

static void on_events(void *owner, const struct reconciler_events *events)
{
	(void)owner;
	assert_int_equal(events->sequence, event.sequence);
	world.n_acknowledged++;
}

static void name_all(void)
{
	for (unsigned n = 0; n < N_NODES; n++) {
		snprintf(world.nodes[n], sizeof(world.nodes[n]), "n%u", n);
		for (unsigned d = 0; d < N_DEVICES; d++) {
			snprintf(world.uuids[n][d], sizeof(world.uuids[n][d]),
				 "GPU-%08u-0000-0000-0000-%012u", n, d);
			world.devices[n][d].uuid = view_from(world.uuids[n][d]);
		}
	}
}

static uint64_t leads_until(void *owner)
{
	(void)owner;
	return world.follows ? 0 : UINT64_MAX;
}

static int set_up(void **state)
{
	const struct reconciler_config config = {
		.max_requests = 16, .is_ready = is_ready, .leads_until = leads_until,
		.events_published = on_events, .seed = 1,
	};
	struct reconciler_config whole = config;
	struct error err;

	(void)state;
	fake_apiclient_reset();
	world = (struct world){0};
	fake_stopwatch_step_us = 0;
	name_all();
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	whole.loop = world.loop;
	whole.inventory = world.inventory;
	return reconciler_new(&whole, &world.reconciler, &err);
}

static int tear_down(void **state)
{
	(void)state;
	reconciler_free(world.reconciler);
	inventory_free(world.inventory);
	loop_free(world.loop);
	return 0;
}

static void release(void *owner)
{
	(void)owner;
}

/* A report of the node; the devices are to have that many slots. */
static void report(unsigned n, unsigned n_devices)
{
	struct error err;

	world.reports[n].version = 1;
	world.reports[n].node = view_from(world.nodes[n]);
	world.reports[n].boot_id = VIEW("boot");
	world.reports[n].devices = (struct array){world.devices[n], n_devices, true};
	assert_int_equal(inventory_node_state_put_report(world.inventory, &world.reports[n],
							 release, NULL, fake_now_ms, &err),
			 0);
}

static void want(unsigned n, unsigned d, int64_t slots)
{
	world.wanted[n][d] = slots;
	report(n, world.reports[n].devices.count);
}

static unsigned writes_of(unsigned n)
{
	unsigned sum = 0;

	for (unsigned d = 0; d < N_DEVICES; d++)
		sum += world.n_writes[n][d];
	return sum;
}

/* The node's devices are published, and nothing was written for a while. */
static void settle(unsigned n, unsigned n_devices)
{
	report(n, n_devices);
	pass(60000);
	memset(world.n_writes, 0, sizeof(world.n_writes));
	memset(world.n_joined, 0, sizeof(world.n_joined));
}

static struct reconciler_counters counters(void)
{
	return reconciler_counters(world.reconciler);
}

/* The first object of the first node has as many writes as it may have at once. */
static void use_up_object(void)
{
	for (unsigned i = 0; i < OBJECT_BURST; i++) {
		want(0, 0, 1 + i);
		pass(1);
	}
	assert_int_equal(world.n_writes[0][0], OBJECT_BURST);
	assert_int_equal(counters().writes.held[WRITE_BUDGET_OBJECT], 0);
}

/* Writes */

TEST(a_node_with_64_devices_gets_all_objects_and_statuses_at_once)
{
	report(0, N_DEVICES);
	pass(2);
	assert_int_equal(writes_of(0), 2 * N_DEVICES);
	assert_int_equal(counters().writes.held[WRITE_BUDGET_OBJECT], 0);
	assert_int_equal(counters().writes.held[WRITE_BUDGET_NODE], 0);
}

/* Two controllers that both believe to lead, or a script of somebody's. */
TEST(an_editor_in_a_loop_is_answered_once_a_second_and_other_objects_at_once)
{
	settle(0, 8);
	settle(1, 8);
	world.is_edited = true;
	edit(0, 0);
	pass(10000);
	assert_in_range(world.n_writes[0][0], OBJECT_BURST + 9, OBJECT_BURST + 10);
	assert_int_equal(writes_of(0), world.n_writes[0][0]);
	for (unsigned i = 0; i < 10; i++) {
		want(0, 1 + i % 7, 10 + i);
		want(1, i % 8, 10 + i);
		pass(1);
		assert_int_equal(world.on_server[0][1 + i % 7], 10 + i);
		assert_int_equal(world.on_server[1][i % 8], 10 + i);
		pass(4999);
	}
	assert_in_range(world.n_writes[0][0], OBJECT_BURST + 59, OBJECT_BURST + 60);
	assert_true(counters().writes.held[WRITE_BUDGET_OBJECT] > 0);
	assert_int_equal(counters().writes.held[WRITE_BUDGET_NODE], 0);
	assert_int_equal(counters().errors, 0);
}

/* It comes back at once, and who goes on deleting it meets one write a second. */
TEST(who_deletes_an_object_in_a_loop_is_answered_once_a_second)
{
	settle(0, 2);
	world.is_undone = true;
	forget(0, 0);
	pass(1);
	assert_true(world.n_writes[0][0] > 0);
	pass(9999);
	assert_in_range(world.n_writes[0][0], OBJECT_BURST + 9, OBJECT_BURST + 10);
	pass(50000);
	assert_in_range(world.n_writes[0][0], OBJECT_BURST + 59, OBJECT_BURST + 60);
	assert_int_equal(world.n_writes[0][1], 0);
	world.is_undone = false;
	pass(2000);
	assert_int_equal(world.on_server[0][0], world.wanted[0][0]);
	assert_int_equal(counters().depth, 0);
}

TEST(the_last_state_is_written_when_an_editor_stops)
{
	settle(0, 8);
	world.is_edited = true;
	edit(0, 0);
	pass(3300);
	world.is_edited = false;
	world.wanted[0][0] = 77;
	pass(1000);
	assert_int_equal(world.on_server[0][0], 77);
	assert_int_equal(counters().depth, 0);
}

/* 2 496 writes in 9.5 s before there were budgets. */
TEST(a_node_whose_64_devices_change_all_the_time_has_ten_writes_a_second)
{
	unsigned least = UINT_MAX, most = 0, n;

	settle(0, N_DEVICES);
	for (unsigned i = 0; i < 1900; i++) {
		want(0, i % N_DEVICES, 100 + i);
		pass(5);
	}
	assert_in_range(writes_of(0), BURST + 85, BURST + 95);
	memset(world.n_writes, 0, sizeof(world.n_writes));
	for (unsigned i = 0; i < 2000; i++) {
		for (unsigned d = 0; d < N_DEVICES; d++)
			world.wanted[0][d] = 10000 + i;
		want(0, 0, 10000 + i);
		pass(10);
	}
	n = writes_of(0);
	assert_in_range(n, 190, 200);
	for (unsigned d = 0; d < N_DEVICES; d++) {
		least = world.n_writes[0][d] < least ? world.n_writes[0][d] : least;
		most = world.n_writes[0][d] > most ? world.n_writes[0][d] : most;
	}
	assert_true(most <= least + 1);
	pass(N_DEVICES * 1000 / WRITE_BUDGET_NODE_PER_SECOND);
	for (unsigned d = 0; d < N_DEVICES; d++)
		assert_int_equal(world.on_server[0][d], 10000 + 1999);
	assert_in_range(writes_of(0) - n, N_DEVICES - 1, N_DEVICES); /* one may have had it */
	assert_int_equal(counters().depth, 0);
}

/* Allocated, running, ended: three writes of a pod, each pod that long after the one before. */
static void admit_pods(unsigned n_devices, uint64_t ms)
{
	settle(0, n_devices);
	for (unsigned pod = 0; pod < 50; pod++) {
		want(0, pod % n_devices, 100 + 3 * pod);
		pass(1);
		assert_int_equal(world.on_server[0][pod % n_devices], 100 + 3 * pod);
		want(0, pod % n_devices, 101 + 3 * pod);
		pass(ms - 1);
		want(0, pod % n_devices, 102 + 3 * pod);
	}
	pass(1);
	assert_int_equal(counters().writes.held[WRITE_BUDGET_OBJECT], 0);
	assert_int_equal(counters().writes.held[WRITE_BUDGET_NODE], 0);
}

TEST(pods_that_come_one_after_the_other_on_eight_devices_are_never_held)
{
	admit_pods(8, 100);
}

/* As tests/e2e has them. */
TEST(pods_that_come_one_after_the_other_on_three_devices_are_never_held)
{
	admit_pods(3, 500);
}

/* What is held says nothing of the server, so it is asked less and less often all the same. */
TEST(a_back_off_goes_on_while_a_write_is_held)
{
	settle(0, 1);
	use_up_object();
	world.is_failing = true;
	want(0, 0, 2000);
	pass(100000);
	assert_in_range(world.n_failed, 8, 20);
}

TEST(what_is_held_is_counted_until_it_is_written_or_the_lead_is_lost)
{
	struct write_budget_held_node node;

	settle(0, 2);
	use_up_object();
	want(0, 0, 2000);
	pass(1);
	assert_int_equal(counters().writes.held_now.nodes, 1);
	assert_int_equal(counters().writes.held_now.objects, 1);
	assert_int_equal(write_budget_list_held(reconciler_write_budget(world.reconciler), 1, &node), 1);
	assert_int_equal(node.n_objects, 1);
	pass(1000);
	assert_int_equal(world.on_server[0][0], 2000);
	assert_int_equal(counters().writes.held_now.nodes, 0);
	want(0, 0, 2001);
	pass(1);
	assert_int_equal(counters().writes.held_now.nodes, 1);
	world.follows = true;
	pass(1000);
	assert_int_equal(world.on_server[0][0], 2000);
	assert_int_equal(counters().writes.held_now.nodes, 0);
	assert_int_equal(counters().writes.held_now.objects, 0);
}

TEST(deletions_count_as_other_writes_do)
{
	settle(0, N_DEVICES);
	for (unsigned i = 0; i < 1900; i++) {
		want(0, i % N_DEVICES, 100 + i);
		pass(1);
	}
	memset(world.n_writes, 0, sizeof(world.n_writes));
	world.is_gone = true;
	report(0, N_DEVICES);
	pass(3000);
	assert_in_range(world.n_deleted, 29, 31);
	pass(N_DEVICES * 1000 / WRITE_BUDGET_NODE_PER_SECOND);
	assert_int_equal(world.n_deleted, N_DEVICES);
}

TEST(events_in_a_status_that_is_held_are_acknowledged_with_its_write)
{
	settle(0, 1);
	use_up_object();
	world.reports[0].events = (struct array){&event, 1, true};
	want(0, 0, 2000);
	pass(900);
	assert_true(world.n_joined[0] > OBJECT_BURST);
	assert_int_equal(world.on_server[0][0], OBJECT_BURST);
	assert_int_equal(world.n_acknowledged, 0);
	pass(100);
	assert_int_equal(world.on_server[0][0], 2000);
	assert_true(world.n_acknowledged > 0);
}

/* Others of the node were written in that run. */
TEST(events_are_not_acknowledged_while_one_of_the_nodes_statuses_is_held)
{
	settle(0, 2);
	use_up_object();
	world.reports[0].events = (struct array){&event, 1, true};
	world.wanted[0][1] = 20;
	want(0, 0, 2000);
	pass(900);
	assert_int_equal(world.on_server[0][1], 20);
	assert_int_equal(world.n_acknowledged, 0);
	pass(100);
	assert_true(world.n_acknowledged > 0);
}

/* The time of the loop */

TEST(a_node_whose_joins_are_dear_gets_a_twentieth_of_the_loop_and_no_other_waits)
{
	settle(0, 1);
	settle(1, 8);
	world.join_us[0] = 80000;
	for (unsigned i = 0; i < 100; i++) {
		for (unsigned k = 0; k < 50; k++) {
			report(0, 1);
			pass(5);
		}
		want(1, i % 8, 100 + i);
		pass(1);
		assert_int_equal(world.on_server[1][i % 8], 100 + i);
	}
	assert_in_range(world.n_joined[0], 100 * 251 / 1600, 100 * 251 / 1600 + 1);
	assert_int_equal(counters().pauses, world.n_joined[0]);
}

/* The events are acknowledged with the last. */
TEST(statuses_that_take_long_to_encode_are_written_in_several_runs)
{
	settle(0, 8);
	const unsigned n_joined = world.n_joined[0];
	fake_stopwatch_step_us = PUBLISHER_TURN_US;
	world.reports[0].events = (struct array){&event, 1, true};
	for (unsigned i = 1; i < 8; i++)
		world.wanted[0][i] = 20;
	want(0, 0, 20);
	fake_loop_advance(world.loop, 0);
	assert_int_equal(n_fake_requests, 1);
	answer(0);
	fake_loop_advance(world.loop, 0);
	assert_int_equal(world.n_acknowledged, 0);
	pass(1);
	assert_int_equal(writes_of(0), 8);
	assert_true(world.n_joined[0] >= n_joined + 8);
	assert_true(world.n_acknowledged > 0);
	assert_int_equal(counters().writes.held[WRITE_BUDGET_NODE], 0);
}

TEST(what_happens_in_a_pause_is_in_the_status_at_its_end)
{
	settle(0, 1);
	world.join_us[0] = 50000;
	want(0, 0, 10);
	pass(1);
	assert_int_equal(world.on_server[0][0], 10);
	world.join_us[0] = 100;
	want(0, 0, 11);
	pass(998);
	assert_int_equal(world.on_server[0][0], 10);
	pass(2);
	assert_int_equal(world.on_server[0][0], 11);
	want(0, 0, 12);
	pass(1);
	assert_int_equal(world.on_server[0][0], 12);
}

TEST(a_dear_node_whose_writes_fail_waits_as_long)
{
	settle(0, 1);
	world.join_us[0] = 80000;
	world.is_failing = true;
	want(0, 0, 10);
	pass(1599);
	assert_int_equal(world.n_joined[0], 1);
	pass(2);
	assert_int_equal(world.n_joined[0], 2);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_node_with_64_devices_gets_all_objects_and_statuses_at_once),
	cmocka_unit_test_set_up(
		an_editor_in_a_loop_is_answered_once_a_second_and_other_objects_at_once),
	cmocka_unit_test_set_up(who_deletes_an_object_in_a_loop_is_answered_once_a_second),
	cmocka_unit_test_set_up(the_last_state_is_written_when_an_editor_stops),
	cmocka_unit_test_set_up(a_node_whose_64_devices_change_all_the_time_has_ten_writes_a_second),
	cmocka_unit_test_set_up(
		pods_that_come_one_after_the_other_on_eight_devices_are_never_held),
	cmocka_unit_test_set_up(
		pods_that_come_one_after_the_other_on_three_devices_are_never_held),
	cmocka_unit_test_set_up(a_back_off_goes_on_while_a_write_is_held),
	cmocka_unit_test_set_up(deletions_count_as_other_writes_do),
	cmocka_unit_test_set_up(what_is_held_is_counted_until_it_is_written_or_the_lead_is_lost),
	cmocka_unit_test_set_up(events_in_a_status_that_is_held_are_acknowledged_with_its_write),
	cmocka_unit_test_set_up(
		events_are_not_acknowledged_while_one_of_the_nodes_statuses_is_held),
	cmocka_unit_test_set_up(
		a_node_whose_joins_are_dear_gets_a_twentieth_of_the_loop_and_no_other_waits),
	cmocka_unit_test_set_up(statuses_that_take_long_to_encode_are_written_in_several_runs),
	cmocka_unit_test_set_up(what_happens_in_a_pause_is_in_the_status_at_its_end),
	cmocka_unit_test_set_up(a_dear_node_whose_writes_fail_waits_as_long),
};

TEST_MAIN(tests)
