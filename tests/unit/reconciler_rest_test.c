/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is written while figures of a device change: the reconciler and the publisher with the real join.
 * The server takes each status as it is.
 */

#include "lib/test_main.h"

#include <limits.h>

#include "controller/reconciler.h"
#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"
#include "lib/fake_stopwatch.inc"

#define MINUTE INT64_C(60000)
#define START INT64_C(1767323045000)
#define N_REPORTS 60
#define N_SETTLE 10 /* reports until all of it is published */
#define DIGITS "00000000-0000-4000-8000-0123456789ab"

static struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct reconciler *reconciler;
	struct report report;
	struct report_device device;
	struct report_process process;
	unsigned n_writes, version;
	char object[16384 + 256];
} world;

static bool is_ready(void *owner)
{
	(void)owner;
	return true;
}

static const struct join_limits limits = {
	.report_stale_ms = 180000, .pending_ms = 60000, .settling_ms = 300000,
	.node_gone_ms = 300000, .agentless_ms = 130000, .disagreement_ms = 10000,
	.user_grace_ms = 30000, .quiet_ms = 600000};

static int set_up(void **state)
{
	const struct node node = {.name = VIEW("gpu-a"), .uid = VIEW("n"), .boot_id = VIEW("boot")};
	struct reconciler_config config = {
		.limits = limits, .max_requests = 16, .is_ready = is_ready, .seed = 1};
	struct error err;

	(void)state;
	fake_apiclient_reset();
	world = (struct world){.version = 10};
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++) {
		inventory_begin_replace(world.inventory, (enum inventory_kind)kind);
		inventory_end_list(world.inventory, (enum inventory_kind)kind, 0, fake_now_ms);
	}
	if (inventory_put(world.inventory, INVENTORY_NODES, &node, STORE_UPSERT, 1, &err) < 0)
		return -1;
	config.loop = world.loop;
	config.inventory = world.inventory;
	return reconciler_new(&config, &world.reconciler, &err);
}

static int tear_down(void **state)
{
	(void)state;
	reconciler_free(world.reconciler);
	inventory_free(world.inventory);
	loop_free(world.loop);
	return 0;
}

/* The object as it was sent, with a version of the server's. Its metadata has no object in it. */
static const char *keep(const struct apiclient_request *request)
{
	const char *metadata = strstr(request->body, "\"metadata\":{");
	assert_non_null(metadata);
	const char *rest = strchr(metadata, '}');
	assert_non_null(rest);
	snprintf(world.object, sizeof(world.object),
		 "%.*s\"metadata\":{\"name\":\"gpu-" DIGITS "\",\"uid\":\"u\","
		 "\"resourceVersion\":\"%u\",\"generation\":1%s",
		 (int)(metadata - request->body), request->body, ++world.version, rest);
	return world.object;
}

/* A minute passes, and what is asked of the server is answered. */
static unsigned pass_minute(void)
{
	const unsigned before = world.n_writes;
	fake_loop_advance(world.loop, 0);
	for (unsigned i = 0; i < n_fake_requests; i++) {
		if (!fake_requests[i].open)
			continue;
		world.n_writes += strcmp(fake_requests[i].method, "GET") != 0;
		fake_apiclient_answer(i, keep(&fake_requests[i]));
		fake_loop_advance(world.loop, 0);
	}
	fake_apiclient_reset();
	fake_loop_advance(world.loop, MINUTE);
	return world.n_writes - before;
}

static void release(void *owner)
{
	(void)owner;
}

static unsigned report(void)
{
	struct error err;

	world.report.sequence++;
	world.report.observed_at += MINUTE;
	assert_int_equal(inventory_node_state_put_report(world.inventory, &world.report, release,
							 NULL, fake_now_ms, &err),
			 0);
	return pass_minute();
}

static void begin(void)
{
	world.process = (struct report_process){.pid = 7, .kind = REPORT_PROCESS_COMPUTE, .memory_mib = 100};
	world.device = (struct report_device){
		.uuid = VIEW("GPU-" DIGITS),
		.model = VIEW("NVIDIA H100 80GB HBM3"),
		.activity = {true, REPORT_ACTIVITY_BUSY, REPORT_ACTIVITY_NVML, 38, START,
			     START - MINUTE},
		.figures = {.present = true},
		.processes = array_of(&world.process, 1),
	};
	world.report = (struct report){
		.version = 1,
		.node = VIEW("gpu-a"),
		.boot_id = VIEW("boot"),
		.instance = 1,
		.observed_at = START,
		.events_since = START,
		.sources.nvml = {.state = REPORT_SOURCE_OK, .observed_at = START},
		.devices = array_of(&world.device, 1),
	};
	for (unsigned i = 0; i < N_SETTLE; i++)
		(void)report();
}

static void figures_that_change_for_an_hour_are_no_write_and_an_idle_device_is_one(void **state)
{
	(void)state;
	begin();
	assert_true(world.n_writes > 0);
	for (int64_t i = 0; i < N_REPORTS; i++) {
		world.device.activity.utilization = 5 + i;
		world.device.activity.last_busy_at = world.report.observed_at;
		world.device.figures = (struct report_figures){true, 1000 + i, 40 + i % 9, 70000 + i};
		world.process.memory_mib = 100 + i;
		assert_int_equal(report(), 0);
	}
	world.device.activity.state = REPORT_ACTIVITY_IDLE;
	assert_int_equal(report(), 1);
	for (int64_t i = 0; i < N_REPORTS; i++) {
		world.device.activity.utilization = i % 5;
		world.device.figures.temperature_celsius = 30 + i % 3;
		assert_int_equal(report(), 0);
	}
	world.device.activity.state = REPORT_ACTIVITY_BUSY;
	assert_int_equal(report(), 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		figures_that_change_for_an_hour_are_no_write_and_an_idle_device_is_one, set_up,
		tear_down),
};
TEST_MAIN(tests)
