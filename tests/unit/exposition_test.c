/* SPDX-License-Identifier: Apache-2.0 */

/* What is written is read as a scraper gets it: the parts, one after the other. */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/sbuf.h"
#include "controller/exposition.h"
#include "controller/exposition_budget.h"
#include "lib/failing_malloc.h"

#include "lib/fake_loop.inc"

#define MAX_SERIES 60
#define STALE_MS 180000

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct exposition *exposition;
	struct attribution object;
	struct attribution_tenant tenants[64];
	struct attribution_drift drifts[4];
	struct attribution_health_event events[4];
	struct attribution_partition partitions[4];
	struct condition attributed;
	struct report report;
	struct report_device reported[2];
	struct report_partition reported_partitions[3];
	uint64_t version;
	struct exposition_text *text; /* the last one */
	enum error_kind failure;
	bool leads;
	int64_t term;
	unsigned n_done;
	struct write_budget writes;
	struct sbuf shown;
};

static void on_done(void *owner, struct exposition_text *take_text, enum error_kind failure)
{
	struct world *world = owner;

	exposition_text_unref(world->text);
	world->text = take_text;
	world->failure = failure;
	world->n_done++;
}

static bool leads(void *owner)
{
	return ((struct world *)owner)->leads;
}

static int64_t term(void *owner)
{
	return ((struct world *)owner)->term;
}

static const struct write_budget *writes(void *owner)
{
	return &((struct world *)owner)->writes;
}

static int open_exposition(struct world *world, bool with_devices, size_t max_series)
{
	struct error err;
	const struct exposition_config config = {
		.loop = world->loop,
		.inventory = world->inventory,
		.with_devices = with_devices,
		.leads = leads,
		.term = term,
		.writes = writes,
		.max_series = max_series,
		.stale_ms = STALE_MS,
		.done = on_done,
		.owner = world,
	};

	if (exposition_new(&config, &world->exposition, &err) < 0)
		return -1;
	exposition_leader_changed(world->exposition);
	return 0;
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	world = (struct world){.version = 1, .leads = true};
	*state = &world;
	world.object = (struct attribution){
		.name = VIEW_INIT("gpu-1"),
		.uuid = VIEW_INIT("GPU-1"),
		.resource_version = VIEW_INIT("1"),
		.status = {
			.node_name = VIEW_INIT("node-1"),
			.device.model = VIEW_INIT("NVIDIA-H100"),
			.sharing.mode = ATTRIBUTION_MODE_TIME_SLICED,
			.slots = {.total = 4, .allocated = 3},
			.tenants = {world.tenants, 0, true},
			.partitions = {world.partitions, 0, true},
			.activity.state = ATTRIBUTION_ACTIVITY_ACTIVE,
			.health = {.state = ATTRIBUTION_HEALTH_HEALTHY,
				   .events = {world.events, 0, true}},
			.intent = {.state = ATTRIBUTION_INTENT_UNMANAGED,
				   .drifts = {world.drifts, 0, true}},
			.conditions = {&world.attributed, 1, true},
		},
	};
	world.attributed = (struct condition){VIEW_INIT("Attributed"), CONDITION_TRUE,
					      .reason = VIEW_INIT("AllResolved")};
	world.report = (struct report){
		.node = VIEW_INIT("node-1"),
		.devices = {world.reported, 1, true},
	};
	world.reported[0] = (struct report_device){
		.uuid = VIEW_INIT("GPU-1"),
		.activity.utilization = -1,
		.partitions = {world.reported_partitions, 0, true},
		.condition = {.ecc_volatile = {-1, -1}, .ecc_aggregate = {-1, -1}},
	};
	write_budget_init(&world.writes);
	sbuf_init(&world.shown, LIMIT_EXPOSITION_BYTES);
	if (loop_new(&world.loop, &err) < 0 ||
	    inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	return open_exposition(&world, true, MAX_SERIES);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	exposition_text_unref(world->text);
	exposition_free(world->exposition);
	inventory_free(world->inventory);
	loop_free(world->loop);
	sbuf_deinit(&world->shown);
	write_budget_deinit(&world->writes);
	assert_int_equal(exposition_budget_used(), 0);
	return 0;
}

static void put(struct world *world)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, LIMIT_KIB);
	assert_int_equal(inventory_put_attribution(world->inventory, &world->object, &arena,
						   STORE_UPSERT, ++world->version, &err), 0);
	arena_deinit(&arena);
}

static void release_nothing(void *owner)
{
	(void)owner;
}

static void report(struct world *world)
{
	struct error err;

	assert_int_equal(inventory_node_state_put_report(world->inventory, &world->report,
							 release_nothing, NULL, fake_now_ms, &err),
			 0);
}

static struct attribution_tenant *add_tenant(struct world *world, const char *uid)
{
	struct attribution_tenant *tenant =
		&world->tenants[world->object.status.tenants.count++];

	*tenant = (struct attribution_tenant){
		.pod_uid = view_from(uid),
		.container = VIEW("main"),
		.pod_namespace = VIEW("ml"),
		.pod_name = VIEW("train-0"),
		.confidence = ATTRIBUTION_CONFIDENCE_CONFIRMED,
		.role = ATTRIBUTION_ROLE_WORKLOAD,
		.slots = 1,
		.start_time = fake_wall_ms,
	};
	return tenant;
}

/* Asks for a text and waits for it. */
static const char *show(struct world *world)
{
	size_t n;

	exposition_write(world->exposition);
	fake_loop_advance(world->loop, 0);
	sbuf_clear(&world->shown);
	sbuf_append_char(&world->shown, '\n');
	if (!world->text)
		return "";
	const struct view *parts = exposition_text_parts(world->text, &n);
	for (size_t i = 0; i < n; i++)
		sbuf_append(&world->shown, parts[i]);
	return sbuf_text(&world->shown);
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* Each line once. */
static void assert_shows(struct world *world, const char *const *lines, size_t n)
{
	const char *shown = show(world);
	char wanted[1024];

	for (size_t i = 0; i < n; i++) {
		snprintf(wanted, sizeof(wanted), "\n%s\n", lines[i]);
		if (count(shown, wanted) != 1)
			fail_msg("not once '%s' in:%s", lines[i], shown);
	}
}

#define ASSERT_SHOWS(world, ...)                                                              \
	do {                                                                                  \
		static const char *const shown_lines[] = {__VA_ARGS__};                       \
		assert_shows(world, shown_lines, ARRAY_SIZE(shown_lines));                    \
	} while (0)

static void assert_lacks(struct world *world, const char *what)
{
	const char *shown = show(world);

	if (strstr(shown, what))
		fail_msg("'%s' is in:%s", what, shown);
}

static void a_device_has_its_states_one_by_one(void **state)
{
	struct world *world = *state;

	put(world);
	ASSERT_SHOWS(world,
		     "# TYPE gpuattribution_device_info gauge",
		     "gpuattribution_device_info{uuid=\"GPU-1\",node=\"node-1\",model=\"NVIDIA-H100\","
		     "mode=\"TimeSliced\"} 1",
		     "gpuattribution_device_slots{uuid=\"GPU-1\",state=\"allocated\"} 3",
		     "gpuattribution_device_slots{uuid=\"GPU-1\",state=\"free\"} 1",
		     "gpuattribution_device_health_state{uuid=\"GPU-1\",state=\"Healthy\"} 1",
		     "gpuattribution_device_health_state{uuid=\"GPU-1\",state=\"Degraded\"} 0",
		     "gpuattribution_device_health_state{uuid=\"GPU-1\",state=\"Unhealthy\"} 0",
		     "gpuattribution_device_health_state{uuid=\"GPU-1\",state=\"Unknown\"} 0",
		     "gpuattribution_device_intent_state{uuid=\"GPU-1\",state=\"InSync\"} 0",
		     "gpuattribution_device_intent_state{uuid=\"GPU-1\",state=\"Unmanaged\"} 1",
		     "gpuattribution_device_activity_state{uuid=\"GPU-1\",state=\"Active\"} 1",
		     "gpuattribution_device_activity_state{uuid=\"GPU-1\",state=\"Idle\"} 0",
		     "gpuattribution_device_idle_seconds{uuid=\"GPU-1\"} 0");
}

static void what_is_not_known_is_absent_and_never_0(void **state)
{
	struct world *world = *state;

	world->object.status.slots = (struct attribution_slots){.total = -1, .allocated = -1};
	world->object.status.activity.state = ATTRIBUTION_ACTIVITY_UNKNOWN;
	world->object.status.health.state = ATTRIBUTION_HEALTH_UNSET;
	world->reported[0].figures = (struct report_figures){true, -1, -1, -1};
	put(world);
	report(world);
	assert_lacks(world, "\ngpuattribution_device_slots{");
	assert_lacks(world, "\ngpuattribution_device_idle_seconds{");
	assert_lacks(world, "\ngpuattribution_device_utilization_ratio{");
	assert_lacks(world, "\ngpuattribution_device_ecc_errors{");
	assert_lacks(world, "\ngpuattribution_device_memory_used_bytes{");
	assert_lacks(world, "\ngpuattribution_device_temperature_celsius{");
	assert_lacks(world, "\ngpuattribution_device_power_watts{");
	ASSERT_SHOWS(world,
		     "gpuattribution_device_health_state{uuid=\"GPU-1\",state=\"Unknown\"} 1");
}

static void idleness_is_shown_in_seconds_as_of_now(void **state)
{
	struct world *world = *state;

	world->object.status.activity.state = ATTRIBUTION_ACTIVITY_IDLE;
	world->object.status.activity.idle_since = fake_wall_ms - 600000;
	put(world);
	fake_loop_advance(world->loop, 61500);
	ASSERT_SHOWS(world, "gpuattribution_device_idle_seconds{uuid=\"GPU-1\"} 661");
}

static void set_partition(struct world *world, int i, struct view uuid, int state)
{
	world->partitions[i] = (struct attribution_partition){
		.uuid = uuid,
		.gpu_instance_id = -1,
		.activity = {state, state == ATTRIBUTION_ACTIVITY_IDLE ? fake_wall_ms - 7200000 : 0},
	};
	world->object.status.partitions.count = (uint32_t)i + 1;
}

static void a_partition_that_is_idle_beside_a_busy_one_has_its_own_seconds(void **state)
{
	struct world *world = *state;

	set_partition(world, 0, VIEW("MIG-7"), ATTRIBUTION_ACTIVITY_IDLE);
	set_partition(world, 1, VIEW("MIG-8"), ATTRIBUTION_ACTIVITY_ACTIVE);
	set_partition(world, 2, VIEW("MIG-9"), ATTRIBUTION_ACTIVITY_UNKNOWN);
	set_partition(world, 3, VIEW("MIG-7"), ATTRIBUTION_ACTIVITY_IDLE); /* somebody has repeated it */
	put(world);
	fake_loop_advance(world->loop, 61500);
	ASSERT_SHOWS(world,
		     "# UNIT gpuattribution_partition_idle_seconds seconds",
		     "gpuattribution_device_idle_seconds{uuid=\"GPU-1\"} 0",
		     "gpuattribution_partition_idle_seconds{uuid=\"GPU-1\",partition=\"MIG-7\"} 7261",
		     "gpuattribution_partition_idle_seconds{uuid=\"GPU-1\",partition=\"MIG-8\"} 0");
	assert_lacks(world, "partition=\"MIG-9\"");
}

static void a_partition_without_a_word_about_it_has_no_seconds(void **state)
{
	struct world *world = *state;

	set_partition(world, 0, VIEW("MIG-7"), ATTRIBUTION_ACTIVITY_UNSET);
	put(world);
	assert_lacks(world, "\ngpuattribution_partition_idle_seconds{");
}

static void each_difference_is_shown_once(void **state)
{
	struct world *world = *state;

	world->drifts[0] = (struct attribution_drift){VIEW_INIT("SharingMode"),
						      ATTRIBUTION_SEVERITY_CRITICAL};
	world->drifts[1] = world->drifts[0]; /* whoever may write statuses has repeated it */
	world->drifts[2] = (struct attribution_drift){VIEW_INIT("DriverVersion"),
						      ATTRIBUTION_SEVERITY_WARNING};
	world->object.status.intent.drifts.count = 3;
	put(world);
	ASSERT_SHOWS(world,
		     "gpuattribution_device_drift{uuid=\"GPU-1\",type=\"SharingMode\","
		     "severity=\"Critical\"} 1",
		     "gpuattribution_device_drift{uuid=\"GPU-1\",type=\"DriverVersion\","
		     "severity=\"Warning\"} 1");
}

static void a_slot_that_is_held_twice_is_shown_while_it_is_known(void **state)
{
	struct world *world = *state;

	put(world);
	ASSERT_SHOWS(world, "gpuattribution_device_conflicts{uuid=\"GPU-1\",kind=\"SlotHeldTwice\"} 0");
	world->attributed.status = CONDITION_FALSE;
	world->attributed.reason = VIEW("SlotHeldTwice");
	put(world);
	ASSERT_SHOWS(world, "gpuattribution_device_conflicts{uuid=\"GPU-1\",kind=\"SlotHeldTwice\"} 1");
	world->attributed.reason = VIEW("Pending");
	put(world);
	assert_lacks(world, "\ngpuattribution_device_conflicts{");
	world->attributed.status = CONDITION_UNKNOWN;
	world->attributed.reason = VIEW("PodsStale");
	put(world);
	assert_lacks(world, "\ngpuattribution_device_conflicts{");
	world->object.status.conditions.count = 0;
	put(world);
	assert_lacks(world, "\ngpuattribution_device_conflicts{");
}

static void errors_count_when_they_are_published_after_the_start(void **state)
{
	struct world *world = *state;
	static struct attribution_health_event more[2];

	world->events[0] = (struct attribution_health_event){.xid = 48, .event_time = 1000};
	world->object.status.health.events.count = 1;
	put(world);
	ASSERT_SHOWS(world, "gpuattribution_device_xid_errors_total{uuid=\"GPU-1\",xid=\"48\"} 0");
	more[0] = (struct attribution_health_event){.xid = 79, .event_time = 2000};
	more[1] = world->events[0];
	world->object.status.health.events = (struct array){more, 2, true};
	put(world);
	ASSERT_SHOWS(world,
		     "gpuattribution_device_xid_errors_total{uuid=\"GPU-1\",xid=\"48\"} 0",
		     "gpuattribution_device_xid_errors_total{uuid=\"GPU-1\",xid=\"79\"} 1");
}

static void the_first_error_of_a_device_counts(void **state)
{
	struct world *world = *state;

	put(world);
	world->events[0] = (struct attribution_health_event){.xid = 79, .event_time = 1000};
	world->object.status.health.events.count = 1;
	put(world);
	ASSERT_SHOWS(world, "gpuattribution_device_xid_errors_total{uuid=\"GPU-1\",xid=\"79\"} 1");
}

static void live_figures_are_those_of_the_last_report(void **state)
{
	struct world *world = *state;

	world->reported[0].activity = (struct report_activity){.present = true, .utilization = 7};
	world->reported[0].figures = (struct report_figures){true, 2, 61, 254321};
	world->reported[0].condition.present = true;
	world->reported[0].condition.ecc_volatile = (struct report_error_counts){12, 0};
	put(world);
	report(world);
	ASSERT_SHOWS(world,
		     "gpuattribution_device_utilization_ratio{uuid=\"GPU-1\"} 0.070",
		     "gpuattribution_device_memory_used_bytes{uuid=\"GPU-1\"} 2097152",
		     "gpuattribution_device_temperature_celsius{uuid=\"GPU-1\"} 61",
		     "gpuattribution_device_power_watts{uuid=\"GPU-1\"} 254.321",
		     "gpuattribution_device_ecc_errors{uuid=\"GPU-1\",kind=\"corrected_volatile\"} 12",
		     "gpuattribution_device_ecc_errors{uuid=\"GPU-1\",kind=\"uncorrected_volatile\"} 0");
	assert_lacks(world, "_aggregate\"}");
	fake_loop_advance(world->loop, STALE_MS + 1);
	assert_lacks(world, "\ngpuattribution_device_utilization_ratio{");
	assert_lacks(world, "\ngpuattribution_device_ecc_errors{");
}

static void partitions_have_figures_of_their_own_each_once(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 3; i++)
		world->reported_partitions[i] = (struct report_partition){
			.uuid = i == 1 ? VIEW("MIG-2") : VIEW("MIG-1"),
			.activity = {.present = true, .utilization = 50 * i},
		};
	world->reported[0].partitions.count = 3;
	put(world);
	report(world);
	ASSERT_SHOWS(world,
		     "gpuattribution_device_utilization_ratio{uuid=\"GPU-1\",partition=\"MIG-1\"} 0.000",
		     "gpuattribution_device_utilization_ratio{uuid=\"GPU-1\",partition=\"MIG-2\"} 0.500");
	assert_int_equal(count(show(world), "partition=\"MIG-1\""), 1);
}

static void a_node_has_the_age_of_its_report(void **state)
{
	struct world *world = *state;

	put(world);
	world->object.name = VIEW("gpu-2");
	world->object.uuid = VIEW("GPU-2");
	put(world);
	assert_lacks(world, "\ngpuattribution_report_age_seconds{");
	report(world);
	fake_loop_advance(world->loop, 4250);
	ASSERT_SHOWS(world, "gpuattribution_report_age_seconds{node=\"node-1\"} 4.250");
}

static void hold_partitions(struct world *world, struct attribution_tenant *tenant)
{
	static const struct view held[] = {VIEW_INIT("MIG-7"), VIEW_INIT("MIG-8"), VIEW_INIT("MIG-7")};

	world->object.status.partitions.count = 2;
	world->partitions[0] = (struct attribution_partition){.uuid = VIEW("MIG-7"),
							      .gpu_instance_id = 7};
	world->partitions[1] = (struct attribution_partition){.uuid = VIEW("MIG-8"),
							      .gpu_instance_id = -1};
	tenant->partitions = (struct array){(void *)held, 3, true};
}

static void fill_everything(struct world *world)
{
	put(world);
	world->drifts[0] = (struct attribution_drift){VIEW_INIT("SharingMode"),
						      ATTRIBUTION_SEVERITY_CRITICAL};
	world->object.status.intent.drifts.count = 1;
	world->events[0] = (struct attribution_health_event){.xid = 48, .event_time = 1000};
	world->object.status.health.events.count = 1;
	hold_partitions(world, add_tenant(world, "uid-\"a\\\n"));
	world->partitions[0].activity.state = ATTRIBUTION_ACTIVITY_ACTIVE;
	put(world);
	world->reported[0].activity = (struct report_activity){.present = true, .utilization = 7};
	world->reported[0].figures = (struct report_figures){true, 2, 61, 254321};
	world->reported[0].condition = (struct report_condition){.present = true};
	report(world);
}

static void hear(struct world *world, const struct report *heartbeat)
{
	struct figures *figures;
	struct error err;

	assert_int_equal(figures_new(heartbeat, &figures, &err), 0);
	assert_true(inventory_node_state_refresh_report(world->inventory, world->report.node, 1,
							STALE_MS, fake_now_ms));
	inventory_node_state_put_figures(world->inventory, world->report.node, &world->report,
					 figures);
}

static void figures_are_those_of_the_last_heartbeat(void **state)
{
	struct world *world = *state;
	struct report_device device;
	struct report_partition partition = {.uuid = VIEW("MIG-1"), .activity = {.present = true}};
	struct report heartbeat;

	world->reported_partitions[0] = partition;
	world->reported[0].partitions.count = 1;
	fill_everything(world);
	device = world->reported[0];
	heartbeat = world->report;
	heartbeat.devices.items = &device;
	device.partitions.items = &partition;
	for (int i = 0; i < 60; i++) {
		fake_loop_advance(world->loop, 60000);
		device.activity.utilization = 10 + i;
		device.figures = (struct report_figures){true, 1 + i, 30 + i, 1000 * i};
		device.condition.ecc_volatile.corrected = i;
		partition.activity.utilization = 100 - i;
		hear(world, &heartbeat);
	}
	ASSERT_SHOWS(world,
		     "gpuattribution_device_utilization_ratio{uuid=\"GPU-1\"} 0.690",
		     "gpuattribution_device_utilization_ratio{uuid=\"GPU-1\",partition=\"MIG-1\"} 0.410",
		     "gpuattribution_device_memory_used_bytes{uuid=\"GPU-1\"} 62914560",
		     "gpuattribution_device_temperature_celsius{uuid=\"GPU-1\"} 89",
		     "gpuattribution_device_power_watts{uuid=\"GPU-1\"} 59.000",
		     "gpuattribution_device_ecc_errors{uuid=\"GPU-1\",kind=\"corrected_volatile\"} 59",
		     "gpuattribution_device_ecc_errors{uuid=\"GPU-1\",kind=\"uncorrected_volatile\"} 0");
	/* A report with news has its own. */
	device.activity.utilization = 3;
	world->reported[0].activity.utilization = 2;
	report(world);
	ASSERT_SHOWS(world, "gpuattribution_device_utilization_ratio{uuid=\"GPU-1\"} 0.020");
}

static void figures_of_a_node_that_is_silent_for_long_are_not_shown(void **state)
{
	struct world *world = *state;

	fill_everything(world);
	fake_loop_advance(world->loop, STALE_MS);
	assert_non_null(strstr(show(world), "\ngpuattribution_device_temperature_celsius{"));
	/* A heartbeat without figures says that they are as before. */
	assert_true(inventory_node_state_refresh_report(world->inventory, world->report.node, 1,
							STALE_MS, fake_now_ms));
	fake_loop_advance(world->loop, STALE_MS);
	assert_non_null(strstr(show(world), "\ngpuattribution_device_temperature_celsius{"));
	fake_loop_advance(world->loop, 1);
	assert_lacks(world, "\ngpuattribution_device_temperature_celsius{");
	assert_lacks(world, "\ngpuattribution_device_utilization_ratio{");
}

static void figures_of_before_are_not_shown_while_nvml_fails(void **state)
{
	struct world *world = *state;

	world->report.sources.nvml.state = REPORT_SOURCE_ERROR;
	fill_everything(world);
	assert_lacks(world, "\ngpuattribution_device_temperature_celsius{");
	assert_lacks(world, "\ngpuattribution_device_utilization_ratio{");
}

static void a_node_that_is_silent_since_a_restart_has_at_least_that_age(void **state)
{
	struct world *world = *state;

	world->object.status.report.boot_id = VIEW("b");
	put(world);
	const uint64_t started_at = inventory_parts(world->inventory).started_at;
	fake_loop_advance(world->loop, started_at + 90000 - fake_now_ms);
	ASSERT_SHOWS(world, "gpuattribution_report_age_seconds{node=\"node-1\"} 90.000");
}

static void workloads_are_shown_as_tenants(void **state)
{
	struct world *world = *state;

	add_tenant(world, "uid-a");
	add_tenant(world, "uid-b")->role = ATTRIBUTION_ROLE_MONITOR;
	put(world);
	ASSERT_SHOWS(world,
		     "gpuattribution_tenant_info{uuid=\"GPU-1\",node=\"node-1\",namespace=\"ml\","
		     "pod=\"train-0\",pod_uid=\"uid-a\",container=\"main\",confidence=\"Confirmed\","
		     "slots=\"1\"} 1",
		     "gpuattribution_metrics_tenants_left_out 0");
	assert_lacks(world, "uid-b");
}

static void a_tenant_has_its_partitions_each_once(void **state)
{
	struct world *world = *state;

	hold_partitions(world, add_tenant(world, "uid-a"));
	put(world);
	ASSERT_SHOWS(world,
		     "gpuattribution_tenant_partition_info{uuid=\"GPU-1\",gpu_instance=\"7\","
		     "partition=\"MIG-7\",namespace=\"ml\",pod=\"train-0\",pod_uid=\"uid-a\","
		     "container=\"main\"} 1",
		     "gpuattribution_tenant_partition_info{uuid=\"GPU-1\",partition=\"MIG-8\","
		     "namespace=\"ml\",pod=\"train-0\",pod_uid=\"uid-a\",container=\"main\"} 1");
}

static void partitions_of_tenants_are_within_the_limit(void **state)
{
	struct world *world = *state;
	static char uids[40][16];
	const unsigned n = 40;

	for (unsigned i = 0; i < n; i++) {
		snprintf(uids[i], sizeof(uids[i]), "uid-%u", i);
		hold_partitions(world, add_tenant(world, uids[i]));
	}
	put(world);
	const char *shown = show(world);
	char line[80];
	assert_int_equal(count(shown, "\ngpuattribution_"), MAX_SERIES + 1);
	snprintf(line, sizeof(line), "\ngpuattribution_metrics_tenants_left_out %u\n",
		 n - count(shown, "\ngpuattribution_tenant_info{"));
	assert_non_null(strstr(shown, line));
}

/* Uses up the budgets of so many objects of the node, and one write more of each. */
static void hold_writes(struct world *world, const char *node, unsigned n_objects)
{
	const unsigned burst = WRITE_BUDGET_OBJECT_PER_SECOND * WRITE_BUDGET_OBJECT_BURST_S;
	char name[32];

	for (unsigned n = 0; n <= burst; n++) {
		struct write_budget_round round =
			write_budget_begin(&world->writes, view_from(node), n_objects, fake_now_ms);

		for (unsigned i = 0; i < n_objects; i++) {
			snprintf(name, sizeof(name), "%s-%u", node, i);
			assert_int_equal(write_budget_grant(&round, i, view_from(name)), n < burst);
			if (n < burst)
				write_budget_spend(&world->writes, view_from(node), view_from(name),
						   fake_now_ms);
		}
	}
}

/* A sample of each family. */
static void each_family_has_a_sample(void **state)
{
	struct world *world = *state;
	const char *shown, *at;

	fill_everything(world);
	hold_writes(world, "node-1", 1);
	at = shown = show(world);
	for (; (at = strstr(at, "\n# TYPE ")); at++) {
		char name[128], sample[160];

		assert_int_equal(sscanf(at, "\n# TYPE %120s", name), 1);
		snprintf(sample, sizeof(sample), "\n%s", name);
		if (!strstr(shown, sample))
			fail_msg("no sample of %s", name);
	}
}

static void a_name_cannot_forge_a_label_or_a_line(void **state)
{
	struct world *world = *state;
	struct attribution_tenant *tenant = add_tenant(world, "uid-a");

	world->object.status.node_name = VIEW("n\"} 7\ngpuattribution_device_info{uuid=\"GPU-9");
	world->object.status.device.model = VIEW("\\\"\\");
	world->object.uuid = VIEW("GPU\n# EOF");
	tenant->pod_name = VIEW("p\",pod_uid=\"forged");
	tenant->container = VIEW("\xc3\xa4\xff\r\x01\xc3");
	put(world);
	const char *shown = show(world);
	assert_null(strstr(shown, "\n# EOF"));
	assert_null(strstr(shown, "\ngpuattribution_device_info{uuid=\"GPU-9"));
	assert_null(strstr(shown, "pod_uid=\"forged"));
	ASSERT_SHOWS(world,
		     "gpuattribution_device_info{uuid=\"GPU\\n# EOF\",node=\"n\\\"} 7\\n"
		     "gpuattribution_device_info{uuid=\\\"GPU-9\",model=\"\\\\\\\"\\\\\","
		     "mode=\"TimeSliced\"} 1",
		     "gpuattribution_tenant_info{uuid=\"GPU\\n# EOF\",node=\"n\\\"} 7\\n"
		     "gpuattribution_device_info{uuid=\\\"GPU-9\",namespace=\"ml\","
		     "pod=\"p\\\",pod_uid=\\\"forged\",pod_uid=\"uid-a\","
		     "container=\"\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\","
		     "confidence=\"Confirmed\",slots=\"1\"} 1");
}

static void tenants_beyond_the_limit_are_left_out_and_counted(void **state)
{
	struct world *world = *state;
	static char uids[64][16];
	const unsigned n = 64;

	for (unsigned i = 0; i < n; i++) {
		snprintf(uids[i], sizeof(uids[i]), "uid-%u", i);
		add_tenant(world, uids[i])->pod_namespace = VIEW("");
	}
	put(world);
	const char *shown = show(world);
	const unsigned n_tenants = count(shown, "\ngpuattribution_tenant_info{");
	unsigned n_samples = count(shown, "\ngpuattribution_");
	char line[80];
	/* The gauge that says so is itself beyond. */
	assert_int_equal(n_samples, MAX_SERIES + 1);
	assert_true(n_tenants > 10 && n_tenants < n);
	snprintf(line, sizeof(line), "\ngpuattribution_metrics_tenants_left_out %u\n",
		 n - n_tenants);
	assert_non_null(strstr(shown, line));
	assert_non_null(strstr(shown, "pod_uid=\"uid-0\""));
	assert_null(strstr(shown, "pod_uid=\"uid-63\""));
}

static void devices_that_take_all_the_room_leave_no_tenant(void **state)
{
	struct world *world = *state;
	static char names[8][16];

	for (unsigned i = 0; i < 8; i++) {
		snprintf(names[i], sizeof(names[i]), "gpu-%u", i);
		world->object.name = world->object.uuid = view_from(names[i]);
		world->object.status.tenants.count = 0;
		add_tenant(world, "uid-a");
		put(world);
	}
	assert_int_equal(count(show(world), "\ngpuattribution_device_info{"), 8);
	assert_lacks(world, "\ngpuattribution_tenant_info{");
	ASSERT_SHOWS(world, "gpuattribution_metrics_tenants_left_out 8");
}

static void namespaces_have_their_time(void **state)
{
	struct world *world = *state;

	put(world);
	add_tenant(world, "uid-a")->slots = 2;
	put(world);
	fake_loop_advance(world->loop, 90250);
	ASSERT_SHOWS(world,
		     "# TYPE gpuattribution_namespace_slot_seconds counter",
		     "# UNIT gpuattribution_namespace_slot_seconds seconds",
		     "gpuattribution_namespace_slot_seconds_total{namespace=\"ml\","
		     "model=\"NVIDIA-H100\",mode=\"TimeSliced\"} 180.500",
		     "gpuattribution_namespace_idle_slot_seconds_total{namespace=\"ml\","
		     "model=\"NVIDIA-H100\",mode=\"TimeSliced\"} 0.000",
		     "gpuattribution_namespace_series_dropped_total 0",
		     "gpuattribution_namespace_tenancies_uncounted_total 0");
	inventory_remove(world->inventory, INVENTORY_ATTRIBUTIONS, world->object.name,
			 ++world->version, fake_now_ms);
	fake_loop_advance(world->loop, 1000000);
	ASSERT_SHOWS(world,
		     "gpuattribution_namespace_slot_seconds_total{namespace=\"ml\","
		     "model=\"NVIDIA-H100\",mode=\"TimeSliced\"} 180.500");
}

/* A tenant's namespace changes, so each one but the last has no tenants. */
static void namespaces_beyond_the_limit_drop_the_oldest(void **state)
{
	struct world *world = *state;
	struct attribution_tenant *tenant = add_tenant(world, "uid-a");
	char name[16];

	for (unsigned i = 0; i < LIMIT_GPU_TIME_SERIES; i++) {
		snprintf(name, sizeof(name), "ns-%u", i);
		tenant->pod_namespace = view_from(name);
		put(world);
	}
	ASSERT_SHOWS(world, "gpuattribution_namespace_series_dropped_total 0");
	tenant->pod_namespace = VIEW("one-more");
	put(world);
	ASSERT_SHOWS(world, "gpuattribution_namespace_series_dropped_total 1");
}

static void devices_can_be_switched_off_and_namespaces_stay(void **state)
{
	struct world *world = *state;

	exposition_free(world->exposition);
	assert_int_equal(open_exposition(world, false, MAX_SERIES), 0);
	put(world);
	add_tenant(world, "uid-a");
	put(world);
	report(world);
	fake_loop_advance(world->loop, 1000);
	assert_lacks(world, "\ngpuattribution_device_");
	assert_lacks(world, "\ngpuattribution_tenant_");
	assert_lacks(world, "train-0");
	assert_int_equal(count(show(world), "\ngpuattribution_namespace_slot_seconds_total{"), 1);
	assert_int_equal(count(show(world), "\ngpuattribution_report_age_seconds{"), 1);
}

static void who_follows_shows_no_series(void **state)
{
	struct world *world = *state;

	world->leads = false;
	put(world);
	add_tenant(world, "uid-a");
	put(world);
	report(world);
	fake_loop_advance(world->loop, 1000);
	assert_lacks(world, "\ngpuattribution_device_");
	assert_lacks(world, "\ngpuattribution_tenant_");
	assert_lacks(world, "\ngpuattribution_namespace_slot_seconds_total{");
	assert_lacks(world, "\ngpuattribution_report_age_seconds{");
	assert_non_null(world->text); /* the scrape lacks nothing */
	world->leads = true;
	assert_int_equal(count(show(world), "\ngpuattribution_device_info{"), 1);
}

#define ML_HAS_HELD                                                                           \
	"gpuattribution_namespace_slot_seconds_total{namespace=\"ml\","                           \
	"model=\"NVIDIA-H100\",mode=\"TimeSliced\"} "

static void change_leader(struct world *world, bool leads)
{
	world->leads = leads;
	world->term += leads; /* another one led meanwhile */
	exposition_leader_changed(world->exposition);
}

/* Else a sum over both replicas has what the other showed meanwhile twice. */
static void gpu_time_stands_still_while_another_leads(void **state)
{
	struct world *world = *state;

	change_leader(world, false);
	put(world);
	add_tenant(world, "uid-a");
	put(world);
	fake_loop_advance(world->loop, 1000);
	change_leader(world, true);
	ASSERT_SHOWS(world, ML_HAS_HELD "0.000");
	fake_loop_advance(world->loop, 2000);
	ASSERT_SHOWS(world, ML_HAS_HELD "2.000");
	fake_loop_advance(world->loop, 500);
	change_leader(world, false); /* nobody has asked for what was counted by then, nor asks meanwhile */
	fake_loop_advance(world->loop, 4000);
	change_leader(world, true);
	ASSERT_SHOWS(world, ML_HAS_HELD "2.500");
	fake_loop_advance(world->loop, 8000);
	ASSERT_SHOWS(world, ML_HAS_HELD "10.500");
}

/* No other replica has shown it. */
static void gpu_time_goes_on_where_nobody_led_meanwhile(void **state)
{
	struct world *world = *state;

	put(world);
	add_tenant(world, "uid-a");
	put(world);
	fake_loop_advance(world->loop, 2000);
	change_leader(world, false);
	fake_loop_advance(world->loop, 4000);
	world->leads = true;
	exposition_leader_changed(world->exposition);
	ASSERT_SHOWS(world, ML_HAS_HELD "6.000");
	change_leader(world, false);
	fake_loop_advance(world->loop, 1000);
	change_leader(world, true);
	ASSERT_SHOWS(world, ML_HAS_HELD "6.000");
}

/* It asks whether it leads when a text is begun: that may come before it is told. */
static void a_leader_that_is_not_told_yet_shows_no_time_of_the_other(void **state)
{
	struct world *world = *state;

	put(world);
	add_tenant(world, "uid-a");
	put(world);
	fake_loop_advance(world->loop, 2000);
	ASSERT_SHOWS(world, ML_HAS_HELD "2.000");
	world->leads = false;
	show(world);
	fake_loop_advance(world->loop, 4000);
	world->leads = true;
	world->term++;
	ASSERT_SHOWS(world, ML_HAS_HELD "2.000");
	exposition_leader_changed(world->exposition);
	fake_loop_advance(world->loop, 8000);
	ASSERT_SHOWS(world, ML_HAS_HELD "10.000");
}

static void the_families_come_in_order_each_whole(void **state)
{
	struct world *world = *state;
	const char *shown, *at;

	add_tenant(world, "uid-a");
	put(world);
	world->object.name = world->object.uuid = VIEW("gpu-2");
	put(world);
	at = shown = show(world);
	/* Where a family has been left, no sample of it follows. */
	for (; (at = strstr(at, "\n# TYPE ")); at++) {
		char name[128], sample[160];
		const char *end = strstr(at + 1, "\n# TYPE ");

		assert_int_equal(sscanf(at, "\n# TYPE %120s", name), 1);
		snprintf(sample, sizeof(sample), "\n%s{", name);
		for (const char *found = strstr(shown, sample); found;
		     found = strstr(found + 1, sample))
			assert_true(found > at && (!end || found < end));
	}
}

/* As Prometheus' older text format has it, which is the one that promtool reads. */
#define OLDER_FORMAT                                                                          \
	"awk '/^# TYPE .* counter$/ {counters[$3] = 1; $3 = $3 \"_total\"}"                   \
	" /^# HELP/ && ($3 in counters) {$3 = $3 \"_total\"}"                                 \
	" !/^# UNIT/ && NF {print}'"

#define PROMTOOL "$(" TESTS_FOLDER "/../hack/debs --where)/usr/bin/promtool"

static void promtool_finds_nothing_wrong(void **state)
{
	struct world *world = *state;
	FILE *file;

	if (system("test -x \"" PROMTOOL "\"") != 0)
		skip();
	fill_everything(world);
	const char *shown = show(world);
	file = popen(OLDER_FORMAT " | \"" PROMTOOL "\" check metrics", "w");
	assert_non_null(file);
	assert_int_equal(fwrite(shown, strlen(shown), 1, file), 1);
	assert_int_equal(pclose(file), 0);
}

static void who_asks_while_a_text_is_written_gets_that_one(void **state)
{
	struct world *world = *state;

	put(world);
	exposition_write(world->exposition);
	exposition_write(world->exposition);
	fake_loop_advance(world->loop, 0);
	assert_int_equal(world->n_done, 1);
	assert_int_equal(fake_loop_next(world->loop), UINT64_MAX);
}

static void nodes_whose_writes_are_held_are_shown_until_nothing_is_held(void **state)
{
	static const char *const family = "\ngpuattribution_node_writes_held{";
	struct world *world = *state;

	assert_lacks(world, family);
	hold_writes(world, "node-1", 2);
	hold_writes(world, "a \"b\"", 1);
	ASSERT_SHOWS(world, "# TYPE gpuattribution_node_writes_held gauge",
		     "gpuattribution_node_writes_held{node=\"node-1\"} 2",
		     "gpuattribution_node_writes_held{node=\"a \\\"b\\\"\"} 1");
	assert_int_equal(count(show(world), family), 2);
	write_budget_settle(&world->writes, VIEW("node-1"));
	assert_lacks(world, "node=\"node-1\"");
	assert_int_equal(count(show(world), family), 1);
	write_budget_settle(&world->writes, VIEW("a \"b\""));
	assert_lacks(world, family);
}

static void of_many_nodes_whose_writes_are_held_only_some_are_shown(void **state)
{
	struct world *world = *state;
	char node[32];

	for (unsigned i = 0; i < LIMIT_HELD_NODE_SERIES + 1; i++) {
		snprintf(node, sizeof(node), "node-%u", i);
		hold_writes(world, node, 1);
	}
	assert_int_equal(count(show(world), "\ngpuattribution_node_writes_held{"),
			 LIMIT_HELD_NODE_SERIES);
}

static void who_does_not_lead_shows_no_node_whose_writes_are_held(void **state)
{
	struct world *world = *state;

	hold_writes(world, "node-1", 1);
	world->leads = false;
	exposition_leader_changed(world->exposition);
	assert_lacks(world, "\ngpuattribution_node_writes_held{");
}

static void one_that_is_written_when_all_ends_is_freed(void **state)
{
	struct world *world = *state;

	put(world);
	exposition_write(world->exposition);
}

static void beside_texts_that_others_hold_there_is_no_room(void **state)
{
	struct world *world = *state;

	put(world);
	assert_true(exposition_budget_take(LIMIT_EXPOSITION_BYTES));
	exposition_write(world->exposition);
	fake_loop_advance(world->loop, 0);
	exposition_budget_give(LIMIT_EXPOSITION_BYTES);
	assert_int_equal(world->n_done, 1);
	assert_null(world->text);
	assert_int_equal(world->failure, ERROR_LIMIT);
	ASSERT_SHOWS(world, "gpuattribution_device_activity_state{uuid=\"GPU-1\",state=\"Active\"} 1");
}

static void without_memory_there_is_no_text(void **state)
{
	struct world *world = *state;
	bool failed = true;

	add_tenant(world, "uid-a");
	put(world);
	report(world);
	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		exposition_write(world->exposition);
		fake_loop_advance(world->loop, 0);
		failed = failing_malloc_off();
		assert_int_equal(world->n_done, k);
		assert_int_equal(world->text == NULL, failed);
		assert_int_equal(world->failure, failed ? ERROR_NO_MEMORY : ERROR_NONE);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_device_has_its_states_one_by_one),
	cmocka_unit_test_set_up(what_is_not_known_is_absent_and_never_0),
	cmocka_unit_test_set_up(idleness_is_shown_in_seconds_as_of_now),
	cmocka_unit_test_set_up(a_partition_that_is_idle_beside_a_busy_one_has_its_own_seconds),
	cmocka_unit_test_set_up(a_partition_without_a_word_about_it_has_no_seconds),
	cmocka_unit_test_set_up(each_difference_is_shown_once),
	cmocka_unit_test_set_up(a_slot_that_is_held_twice_is_shown_while_it_is_known),
	cmocka_unit_test_set_up(errors_count_when_they_are_published_after_the_start),
	cmocka_unit_test_set_up(the_first_error_of_a_device_counts),
	cmocka_unit_test_set_up(live_figures_are_those_of_the_last_report),
	cmocka_unit_test_set_up(partitions_have_figures_of_their_own_each_once),
	cmocka_unit_test_set_up(a_node_has_the_age_of_its_report),
	cmocka_unit_test_set_up(figures_are_those_of_the_last_heartbeat),
	cmocka_unit_test_set_up(figures_of_a_node_that_is_silent_for_long_are_not_shown),
	cmocka_unit_test_set_up(figures_of_before_are_not_shown_while_nvml_fails),
	cmocka_unit_test_set_up(a_node_that_is_silent_since_a_restart_has_at_least_that_age),
	cmocka_unit_test_set_up(workloads_are_shown_as_tenants),
	cmocka_unit_test_set_up(a_tenant_has_its_partitions_each_once),
	cmocka_unit_test_set_up(partitions_of_tenants_are_within_the_limit),
	cmocka_unit_test_set_up(each_family_has_a_sample),
	cmocka_unit_test_set_up(a_name_cannot_forge_a_label_or_a_line),
	cmocka_unit_test_set_up(tenants_beyond_the_limit_are_left_out_and_counted),
	cmocka_unit_test_set_up(devices_that_take_all_the_room_leave_no_tenant),
	cmocka_unit_test_set_up(namespaces_have_their_time),
	cmocka_unit_test_set_up(namespaces_beyond_the_limit_drop_the_oldest),
	cmocka_unit_test_set_up(devices_can_be_switched_off_and_namespaces_stay),
	cmocka_unit_test_set_up(who_follows_shows_no_series),
	cmocka_unit_test_set_up(gpu_time_stands_still_while_another_leads),
	cmocka_unit_test_set_up(gpu_time_goes_on_where_nobody_led_meanwhile),
	cmocka_unit_test_set_up(a_leader_that_is_not_told_yet_shows_no_time_of_the_other),
	cmocka_unit_test_set_up(the_families_come_in_order_each_whole),
	cmocka_unit_test_set_up(promtool_finds_nothing_wrong),
	cmocka_unit_test_set_up(who_asks_while_a_text_is_written_gets_that_one),
	cmocka_unit_test_set_up(nodes_whose_writes_are_held_are_shown_until_nothing_is_held),
	cmocka_unit_test_set_up(of_many_nodes_whose_writes_are_held_only_some_are_shown),
	cmocka_unit_test_set_up(who_does_not_lead_shows_no_node_whose_writes_are_held),
	cmocka_unit_test_set_up(one_that_is_written_when_all_ends_is_freed),
	cmocka_unit_test_set_up(beside_texts_that_others_hold_there_is_no_room),
	cmocka_unit_test_set_up(without_memory_there_is_no_text),
};
TEST_MAIN(tests)
