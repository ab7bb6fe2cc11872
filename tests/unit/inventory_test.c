/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/find_attribution.h"
#include "lib/test_main.h"

#include <malloc.h>

#include "controller/gather.h"
#include "model/record_set.h"

#define UUID_A "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NAME_A "gpu-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define UUID_B "GPU-22ba558d-3437-2335-2fd8-a78c8502f87f"
#define NAME_B "gpu-22ba558d-3437-2335-2fd8-a78c8502f87f"

/* An inventory, and which nodes it touched since the last look. */
struct world {
	struct inventory *inventory;
	char touched[256];
	bool initial;
	unsigned n_initial; /* of all touches */
	unsigned released;
};

static void on_touch(void *owner, struct view node_name, bool initial)
{
	struct world *world = owner;
	size_t len = strlen(world->touched);

	world->initial = initial;
	world->n_initial += initial;
	snprintf(world->touched + len, sizeof(world->touched) - len, "%.*s ", VIEW_ARG(node_name));
}

static void assert_touched(struct world *world, const char *nodes)
{
	assert_string_equal(world->touched, nodes);
	world->touched[0] = '\0';
}

static const struct report *find_report(const struct world *world, struct view node_name)
{
	const struct place *place = inventory_place_find(world->inventory, node_name);

	return place ? place->report : NULL;
}

static uint64_t node_changes(const struct world *world, struct view node_name)
{
	const struct place *place = inventory_place_find(world->inventory, node_name);

	return place ? place->node_changes : 0;
}

static struct view named_boot(const struct world *world, struct view node_name)
{
	const struct place *place = inventory_place_find(world->inventory, node_name);

	return place && place->node ? place->node->boot_id : (struct view){0};
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	world = (struct world){0};
	if (inventory_new(1000, &world.inventory, &err) < 0)
		return -1;
	inventory_on_touch(world.inventory, on_touch, &world);
	*state = &world;
	return 0;
}

static int tear_down(void **state)
{
	inventory_free(((struct world *)*state)->inventory);
	return 0;
}

static void count_release(void *owner)
{
	((struct world *)owner)->released++;
}

static void sync_all(struct world *world, uint64_t now)
{
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++) {
		inventory_begin_replace(world->inventory, (enum inventory_kind)kind);
		inventory_end_list(world->inventory, (enum inventory_kind)kind, 0, now);
	}
	world->touched[0] = '\0';
}

static void put_pod_at(struct world *world, const char *name, const char *uid, const char *node,
		       bool gpu, uint64_t version, uint64_t now)
{
	struct error err;
	const struct pod_fields fields = {
		.namespace = VIEW("ml"),
		.name = view_from(name),
		.uid = view_from(uid),
		.node = view_from(node),
		.state.phase = POD_PHASE_RUNNING,
		.state.wants_gpu = gpu,
	};

	assert_int_equal(
		inventory_put_pod(world->inventory, (struct view){0}, &fields, STORE_UPSERT, version, now, &err), 0);
}

static void put_pod(struct world *world, const char *name, const char *uid, bool gpu,
		    uint64_t version)
{
	put_pod_at(world, name, uid, "gpu-a", gpu, version, 1000);
}

static void put_node(struct world *world, const char *name, const char *boot_id, uint64_t version)
{
	struct error err;
	const struct node fields = {
		.name = view_from(name),
		.uid = VIEW("n1"),
		.boot_id = view_from(boot_id),
	};

	assert_int_equal(inventory_put(world->inventory, INVENTORY_NODES, &fields, STORE_UPSERT, version, &err),
			 0);
}

static void put_object(struct world *world, const char *name, const char *uuid, const char *node,
		       uint64_t version)
{
	struct arena arena;
	struct error err;
	const struct attribution attribution = {
		.name = view_from(name),
		.uuid = view_from(uuid),
		.status.node_name = view_from(node),
	};

	arena_init(&arena, 4096);
	assert_int_equal(inventory_put_attribution(world->inventory, &attribution, &arena,
						   STORE_UPSERT, version, &err),
			 0);
	arena_deinit(&arena);
}

static void put_attribution(struct world *world, const char *node, uint64_t version)
{
	put_object(world, NAME_A, UUID_A, node, version);
}

static struct report_device device_a = {.uuid = VIEW_INIT(UUID_A)};
static struct report_checkpoint_entry entries[2];

static struct report report_of(const char *node, bool has_device, const char *uid)
{
	struct report report = {.version = 1, .node = view_from(node)};

	if (has_device)
		report.devices = (struct array){&device_a, 1, true};
	if (uid) {
		entries[0].pod_uid = view_from(uid);
		report.checkpoint.entries = (struct array){entries, 1, true};
	}
	return report;
}

/* The inventory keeps the pointer until after the test: so it gets one to a copy. */
static void put_report(struct world *world, const struct report *report, uint64_t now)
{
	static struct report kept[4];
	static unsigned next;
	struct report *copy = &kept[next++ % ARRAY_SIZE(kept)];
	struct error err;

	*copy = *report;
	assert_int_equal(
		inventory_place_put_report(world->inventory, copy, count_release, world, now, &err),
		0);
}

static struct join_input gather(struct world *world, const char *node, uint64_t now)
{
	const struct inventory_parts parts = inventory_parts(world->inventory);
	static struct arena arena;
	struct join_input input;
	struct error err;

	arena_deinit(&arena);
	arena_init(&arena, 1 << 20);
	assert_int_equal(gather_node(&parts, view_from(node), now, &arena, &input, &err), 0);
	return input;
}

/* Of device A of node gpu-a. */
static int64_t reset_uptime(struct world *world)
{
	return boot_history_find(gather(world, "gpu-a", 1000).history, VIEW(UUID_A)).reset_uptime_ms;
}

static void keep_recall(struct world *world, const char *node, const struct recall *recall,
			uint64_t now)
{
	struct error err;

	assert_int_equal(
		inventory_place_keep_recall(world->inventory, view_from(node), recall, now, &err),
		0);
}

static void name_ended(struct world *world, struct view *ended, size_t n_ended, uint64_t now)
{
	const struct recall recall = {.ended = ended, .n_ended = n_ended};

	keep_recall(world, "gpu-a", &recall, now);
}

static void a_node_has_the_pods_that_the_api_places_on_it(void **state)
{
	struct world *world = *state;

	put_pod_at(world, "a", "u1", "gpu-a", true, 1, 0);
	put_pod_at(world, "b", "u2", "gpu-a", false, 2, 0);
	put_pod_at(world, "c", "u3", "gpu-b", true, 3, 0);
	put_pod_at(world, "d", "u4", "", true, 4, 0);
	assert_int_equal(gather(world, "gpu-a", 1000).n_pods, 2);
	assert_int_equal(gather(world, "gpu-b", 1000).n_pods, 1);
	assert_int_equal(gather(world, "nowhere", 1000).n_pods, 0);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 4);
}

static void a_pod_that_is_scheduled_later_comes_to_its_node(void **state)
{
	struct world *world = *state;

	put_pod_at(world, "a", "u1", "", true, 1, 0);
	put_pod_at(world, "a", "u1", "gpu-a", true, 2, 0);
	assert_int_equal(gather(world, "gpu-a", 1000).n_pods, 1);
}

static void only_nodes_with_a_report_or_objects_are_touched(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_pod(world, "a", "u1", true, 1);
	put_node(world, "gpu-a", "b1", 1);
	assert_touched(world, "");
	put_report(world, &report, 1000);
	assert_touched(world, "gpu-a ");
	put_pod(world, "a2", "u2", true, 2);
	assert_touched(world, "gpu-a ");
}

static void a_pod_without_gpu_touches_its_node_only_if_the_report_names_it(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, "u7");

	put_report(world, &report, 1000);
	world->touched[0] = '\0';
	put_pod(world, "a", "u1", false, 1);
	assert_touched(world, "");
	put_pod(world, "b", "u7", false, 2);
	assert_touched(world, "gpu-a ");
}

static void an_event_that_changes_no_fact_touches_nothing(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	put_pod(world, "a", "u1", true, 1);
	put_node(world, "gpu-a", "b1", 1);
	world->touched[0] = '\0';
	put_pod(world, "a", "u1", true, 2);
	put_node(world, "gpu-a", "b1", 2);
	assert_touched(world, "");
	put_node(world, "gpu-a", "b2", 3);
	assert_touched(world, "gpu-a ");
}

static void an_older_event_never_overwrites_a_newer_one(void **state)
{
	struct world *world = *state;

	put_pod(world, "a", "u2", true, 9);
	put_pod(world, "a", "u1", true, 5);
	assert_true(view_equal(pod_uid(gather(world, "gpu-a", 1000).pods[0]), VIEW("u2")));
	assert_false(
		inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"), STORE_UPSERT, 5));
	assert_false(
		inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"), STORE_LISTED, 9));
	assert_true(
		inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"), STORE_LISTED, 8));
	assert_true(
		inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"), STORE_UPSERT, 10));
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/a"), 7, 0);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
}

static void what_is_wanted_is_so_until_it_is_put(void **state)
{
	struct world *world = *state;
	static const struct {
		enum store_change change;
		uint64_t version;
		bool is_wanted;
	} rows[] = {
		{STORE_UPSERT, 0, true},  {STORE_UPSERT, 1, false}, {STORE_UPSERT, 8, false},
		{STORE_UPSERT, 9, false}, {STORE_UPSERT, 10, true}, {STORE_LISTED, 0, true},
		{STORE_LISTED, 8, true},  {STORE_LISTED, 9, false}, {STORE_LISTED, 10, true},
	};

	put_pod(world, "a", "u1", true, 9);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int k = 0; k < 2; k++) {
			assert_true(inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/b"),
						    rows[i].change, rows[i].version));
			assert_int_equal(inventory_wants(world->inventory, INVENTORY_PODS,
							 VIEW("ml/a"), rows[i].change,
							 rows[i].version),
					 rows[i].is_wanted);
		}
	}
}

static void what_is_asked_for_outlives_the_list_unless_it_is_an_older_event(void **state)
{
	static const struct {
		enum store_change change;
		uint64_t version;
		size_t n_left;
	} rows[] = {
		{STORE_LISTED, 8, 1},  {STORE_LISTED, 9, 1}, {STORE_UPSERT, 9, 1},
		{STORE_UPSERT, 10, 1}, {STORE_UPSERT, 8, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		struct world *world = *state;
		put_pod(world, "a", "u1", true, 9);
		inventory_begin_replace(world->inventory, INVENTORY_PODS);
		(void)inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/a"),
				      rows[i].change, rows[i].version);
		inventory_end_list(world->inventory, INVENTORY_PODS, 0, 2000);
		assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), rows[i].n_left);
	}
}

static void what_a_complete_list_lacks_is_gone(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	sync_all(world, 1000);
	put_report(world, &report, 1000);
	put_pod(world, "a", "u1", true, 1);
	put_pod(world, "b", "u2", true, 2);
	world->touched[0] = '\0';
	inventory_begin_replace(world->inventory, INVENTORY_PODS);
	assert_false(
		inventory_wants(world->inventory, INVENTORY_PODS, VIEW("ml/b"), STORE_LISTED, 2));
	inventory_end_list(world->inventory, INVENTORY_PODS, 0, 2000);
	assert_touched(world, "gpu-a ");
	struct join_input input = gather(world, "gpu-a", 2000);
	assert_int_equal(input.n_pods, 1);
	assert_true(view_equal(pod_uid(input.pods[0]), VIEW("u2")));
}

static void a_list_that_breaks_off_removes_nothing(void **state)
{
	struct world *world = *state;

	sync_all(world, 1000);
	put_pod(world, "a", "u1", true, 1);
	inventory_begin_replace(world->inventory, INVENTORY_PODS);
	inventory_begin_replace(world->inventory, INVENTORY_PODS);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 1);
}

static void the_uid_of_a_deleted_pod_is_remembered_as_ended(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, "u1");

	put_report(world, &report, 1000);
	put_pod(world, "a", "u1", true, 1);
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/a"), 2, 5000);
	struct join_input input = gather(world, "gpu-a", 5000);
	assert_int_equal(input.n_ended, 1);
	assert_true(view_equal(input.ended[0], VIEW("u1")));
}

/* The age that a join at that time is given of the end of the pod of that UID; -1: of none. */
static int64_t end_age(struct world *world, const char *uid, uint64_t now_ms)
{
	struct join_input input = gather(world, "gpu-a", now_ms);

	for (size_t i = 0; i < input.n_ends; i++)
		if (view_equal(input.ends[i].pod_uid, view_from(uid)))
			return input.ends[i].age_ms;
	return -1;
}

static void put_phase(struct world *world, enum pod_phase phase, bool deleting, uint64_t version,
		      uint64_t now_ms)
{
	const struct pod_fields fields = {
		.namespace = VIEW("ml"),
		.name = VIEW("a"),
		.uid = VIEW("u1"),
		.node = VIEW("gpu-a"),
		.state.phase = (uint8_t)phase,
		.state.deleting = deleting,
		.state.wants_gpu = true,
		.state.no_container_runs = phase == POD_PHASE_FAILED,
	};
	struct error err;

	assert_int_equal(
		inventory_put_pod(world->inventory, (struct view){0}, &fields, STORE_UPSERT, version, now_ms, &err),
		0);
}

static void the_end_of_a_pod_is_as_old_as_when_it_was_told(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, "u1");
	struct view named = VIEW("u1");

	put_report(world, &report, 1000);
	put_phase(world, POD_PHASE_RUNNING, false, 1, 1000);
	assert_int_equal(end_age(world, "u1", 2000), -1);
	put_phase(world, POD_PHASE_FAILED, false, 2, 3000);
	put_phase(world, POD_PHASE_FAILED, true, 3, 4000);
	assert_int_equal(end_age(world, "u1", 5000), 2000);
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/a"), 4, 6000);
	assert_int_equal(end_age(world, "u1", 7000), 4000);
	/* A report goes on naming it. */
	name_ended(world, &named, 1, 8000);
	assert_int_equal(end_age(world, "u1", 9000), 6000);
}

static void a_pod_that_runs_again_has_not_ended_before(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	put_phase(world, POD_PHASE_FAILED, false, 1, 1000);
	put_phase(world, POD_PHASE_RUNNING, false, 2, 2000);
	assert_int_equal(end_age(world, "u1", 3000), -1);
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/a"), 3, 4000);
	assert_int_equal(end_age(world, "u1", 5000), 1000);
	put_phase(world, POD_PHASE_RUNNING, false, 4, 6000);
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/a"), 5, 7000);
	assert_int_equal(end_age(world, "u1", 8000), 1000);
}

static void a_new_uid_under_the_same_name_ends_the_old_one(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	put_pod(world, "a", "u1", true, 1);
	put_pod(world, "a", "u2", true, 2);
	struct join_input input = gather(world, "gpu-a", 1000);
	assert_int_equal(input.n_pods, 1);
	assert_int_equal(input.n_ended, 1);
	assert_true(view_equal(input.ended[0], VIEW("u1")));
}

/* A pod comes every ten seconds and goes when the next one comes; its name comes back. */
static void live_a_day(struct world *world, unsigned day)
{
	static const char *const nodes[] = {"gpu-a", "gpu-b", "gpu-c"};
	const unsigned n_pods = 24 * 3600 / 10;

	for (unsigned i = day * n_pods; i < (day + 1) * n_pods; i++) {
		const uint64_t now = 1000 + (uint64_t)i * 10000;
		const char *node = nodes[i % ARRAY_SIZE(nodes)];
		char name[16], key[24], uid[24];

		snprintf(name, sizeof(name), "p%u", i % 100);
		snprintf(key, sizeof(key), "ml/%s", name);
		snprintf(uid, sizeof(uid), "uid-%u", i);
		put_pod_at(world, name, uid, node, true, 2 * (uint64_t)i + 1, now);
		assert_true(gather(world, node, now).n_ended <= 13);
		keep_recall(world, node, &(struct recall){0}, now);
		inventory_remove(world->inventory, INVENTORY_PODS, view_from(key),
				 2 * (uint64_t)i + 2, now + 9000);
		world->touched[0] = '\0';
	}
}

/* Where a sanitizer has the memory, the numbers are all the same. */
static void a_week_of_pods_that_come_and_go_leaves_no_memory_behind(void **state)
{
	struct world *world = *state;
	struct report reports[] = {report_of("gpu-a", true, NULL), report_of("gpu-b", true, NULL),
				   report_of("gpu-c", true, NULL)};

	sync_all(world, 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(reports); i++)
		put_report(world, &reports[i], 1000);
	live_a_day(world, 0);
	const size_t before = mallinfo2().uordblks;
	for (unsigned day = 1; day < 7; day++)
		live_a_day(world, day);
	const size_t after = mallinfo2().uordblks;
	assert_true(after <= before + 4096);
	assert_int_equal(inventory_count(world->inventory, INVENTORY_PODS), 0);
}

static void an_ended_uid_is_forgotten_when_no_join_names_it_for_two_minutes(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	struct view named = VIEW("u1");

	put_report(world, &report, 1000);
	put_pod(world, "a", "u1", true, 1);
	put_pod(world, "b", "u2", true, 2);
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/a"), 3, 1000);
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/b"), 4, 1000);
	name_ended(world, &named, 1, 121000);
	assert_int_equal(gather(world, "gpu-a", 121000).n_ended, 2);
	name_ended(world, &named, 1, 121001);
	struct join_input input = gather(world, "gpu-a", 121001);
	assert_int_equal(input.n_ended, 1);
	assert_true(view_equal(input.ended[0], named));
}

static void a_report_is_released_when_a_newer_one_replaces_it(void **state)
{
	struct world *world = *state;
	struct report first = report_of("gpu-a", true, NULL), second = first;

	second.sequence = 2;
	put_report(world, &first, 1000);
	assert_int_equal(world->released, 0);
	put_report(world, &second, 2000);
	assert_int_equal(world->released, 1);
	assert_int_equal(gather(world, "gpu-a", 2500).report->sequence, 2);
	assert_int_equal(gather(world, "gpu-a", 2500).report_age_ms, 500);
	inventory_free(world->inventory);
	world->inventory = NULL;
	assert_int_equal(world->released, 2);
}

static void an_unchanged_report_only_starts_its_age_anew(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	assert_false(
		inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0, 9000, 1500));
	assert_int_equal(gather(world, "gpu-a", 1500).report_age_ms, 0);
	put_report(world, &report, 1000);
	world->touched[0] = '\0';
	assert_true(inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0, 9000, 3000));
	assert_touched(world, "");
	assert_int_equal(gather(world, "gpu-a", 3500).report_age_ms, 500);
	assert_int_equal(gather(world, "gpu-a", 3500).report_held_ms, 2500);
}

/* Whom nobody touches is not joined, and without a join nothing is written. */
static void an_hour_of_changing_figures_touches_nobody(void **state)
{
	struct world *world = *state;
	static struct report_device device; /* the inventory has it until tear_down() */
	struct report report = report_of("gpu-a", true, NULL);
	struct report heartbeat = report;
	struct figures *figures;
	struct error err;

	device = (struct report_device){.uuid = VIEW("GPU-1")};
	report.devices = (struct array){&device, 1, true};
	put_report(world, &report, 1000);
	const struct place *place = inventory_place_find(world->inventory, VIEW("gpu-a"));
	world->touched[0] = '\0';
	heartbeat.devices = report.devices;
	for (int i = 1; i <= 60; i++) {
		const uint64_t now_ms = 1000 + 60000 * (uint64_t)i;

		device.figures = (struct report_figures){true, i, i, i};
		assert_int_equal(figures_new(&heartbeat, &figures, &err), 0);
		assert_true(inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0,
							   180000, now_ms));
		inventory_place_put_figures(world->inventory, VIEW("gpu-a"), place->report,
					    figures);
	}
	assert_touched(world, "");
	device.figures = (struct report_figures){0};
	figures_apply(place->figures, 0, &device, NULL);
	assert_int_equal(device.figures.temperature_celsius, 60);
}

/* A count that stays is no news, so that it did is told by a heartbeat. */
static void a_heartbeat_that_confirms_a_reset_touches_its_node(void **state)
{
	struct world *world = *state;
	struct report_device device = {.uuid = VIEW(UUID_A), .condition.present = true};
	struct report report = report_of("gpu-a", true, NULL);
	struct report reports[2];

	report.boot_id = VIEW("b1");
	report.sources.nvml.state = REPORT_SOURCE_OK;
	report.devices = (struct array){&device, 1, true};
	for (int i = 0; i < 4; i++) {
		struct figures *figures;
		struct error err;

		report.uptime_ms = 60000 * (i + 1);
		report.instance = i / 2;
		device.condition.ecc_volatile.uncorrected = i < 2;
		device.condition.recovery = i < 2 ? REPORT_RECOVERY_RESET : REPORT_RECOVERY_NONE;
		if (i % 2 == 0) {
			reports[i / 2] = report;
			put_report(world, &reports[i / 2], 1000);
		} else {
			assert_int_equal(figures_new(&report, &figures, &err), 0);
			inventory_place_put_figures(world->inventory, VIEW("gpu-a"),
						    find_report(world, VIEW("gpu-a")), figures);
		}
		assert_touched(world, i == 1 ? "" : "gpu-a ");
		assert_int_equal(reset_uptime(world), i == 3 ? 120000 : 0);
	}
	inventory_place_forget_report(world->inventory, VIEW("gpu-a"));
	assert_int_equal(reset_uptime(world), 0);
}

/* With what a node told go the counts that later ones would be compared with. */
static void a_reset_of_a_node_that_was_forgotten_is_not_seen(void **state)
{
	struct world *world = *state;
	struct report_device device = {.uuid = VIEW(UUID_A), .condition.present = true};
	struct report report = report_of("gpu-a", true, NULL);

	put_node(world, "gpu-a", "b1", 1); /* else its place would go, too */
	report.boot_id = VIEW("b1");
	report.sources.nvml.state = REPORT_SOURCE_OK;
	report.devices = (struct array){&device, 1, true};
	for (int i = 0; i < 4; i++) {
		report.uptime_ms = 60000 * (i + 1);
		device.condition.ecc_volatile.uncorrected = i < 2;
		device.condition.recovery = i < 2 ? REPORT_RECOVERY_RESET : REPORT_RECOVERY_NONE;
		put_report(world, &report, 1000);
		if (i == 1)
			inventory_place_forget_report(world->inventory, VIEW("gpu-a"));
	}
	assert_int_equal(reset_uptime(world), 0);
	inventory_place_forget_report(world->inventory, VIEW("gpu-a"));
}

static void figures_of_another_report_are_dropped(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	struct report next = report_of("gpu-a", true, NULL);
	struct figures *figures;
	struct error err;

	put_report(world, &report, 1000);
	const struct place *place = inventory_place_find(world->inventory, VIEW("gpu-a"));
	const struct report *first = place->report;
	assert_int_equal(figures_new(&report, &figures, &err), 0);
	inventory_place_put_figures(world->inventory, VIEW("gpu-b"), first, figures);
	assert_int_equal(figures_new(&report, &figures, &err), 0);
	inventory_place_put_figures(world->inventory, VIEW("gpu-a"), first, figures);
	assert_non_null(place->figures);
	put_report(world, &next, 2000);
	assert_null(place->figures);
	assert_int_equal(figures_new(&report, &figures, &err), 0);
	inventory_place_put_figures(world->inventory, VIEW("gpu-a"), &report, figures);
	assert_null(place->figures);
}

static void a_join_knows_when_the_list_was_read_last(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	assert_int_equal(gather(world, "gpu-a", 1000).listed_at, 0);
	report.sources.pod_resources.observed_at = 500;
	put_report(world, &report, 1000);
	assert_int_equal(gather(world, "gpu-a", 1000).listed_at, 500);
	assert_true(
		inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 900, 9000, 3000));
	assert_int_equal(gather(world, "gpu-a", 3000).listed_at, 900);
	/* Clocks are set back: the last word counts. */
	assert_true(
		inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 100, 9000, 4000));
	assert_int_equal(gather(world, "gpu-a", 4000).listed_at, 100);
	report.sources.pod_resources.observed_at = 700;
	put_report(world, &report, 5000);
	assert_int_equal(gather(world, "gpu-a", 5000).listed_at, 700);
}

static void a_join_knows_whose_start_was_told_after_the_list(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	/* What is told when: of the pod, or (without a UID) of the List. */
	static const struct {
		uint64_t now;
		const char *uid;
		int64_t started_at;
		bool deleting;
		int64_t listed_at;
		size_t n_told_later;
	} rows[] = {
		{1000, "u1", 0, false, 0, 0},	{1500, NULL, 0, false, 500, 0},
		{2000, "u1", 100, false, 0, 1}, {3000, NULL, 0, false, 500, 1},
		{4000, NULL, 0, false, 400, 0}, {5000, "u1", 100, true, 0, 0},
		{6000, "u2", 600, false, 0, 1}, {6000, NULL, 0, false, 700, 0},
	};

	report.sources.pod_resources.observed_at = 500;
	put_report(world, &report, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct pod_fields fields = {
			.namespace = VIEW("ml"),
			.name = VIEW("p"),
			.uid = view_from(rows[i].uid ? rows[i].uid : ""),
			.node = VIEW("gpu-a"),
			.state.phase = POD_PHASE_RUNNING,
			.state.wants_gpu = true,
			.gpu.started_at = rows[i].started_at,
			.state.deleting = rows[i].deleting,
		};
		struct error err;
		if (rows[i].uid)
			assert_int_equal(inventory_put_pod(world->inventory, (struct view){0}, &fields, STORE_UPSERT,
							   i + 1, rows[i].now, &err),
					 0);
		else
			assert_true(inventory_place_refresh_report(world->inventory, VIEW("gpu-a"),
								   rows[i].listed_at, 9000,
								   rows[i].now));
		const struct join_input input = gather(world, "gpu-a", rows[i].now);
		assert_int_equal(input.n_told_later, rows[i].n_told_later);
		if (input.n_told_later > 0)
			assert_ptr_equal(input.told_later[0], input.pods[0]);
	}
}

static void a_doubt_is_as_old_as_its_first_join_and_forgotten_when_the_last_is_without_it(
	void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	const struct debounce_seen debounced[] = {{7, 0}, {8, 500}};
	struct join_input input;

	put_report(world, &report, 1000);
	assert_int_equal(gather(world, "gpu-a", 1000).n_debounced, 0);
	keep_recall(world, "gpu-a", &(struct recall){.debounced = debounced, .n_debounced = 2}, 1000);
	put_report(world, &report, 2000);
	input = gather(world, "gpu-a", 4000);
	assert_int_equal(input.n_debounced, 2);
	assert_int_equal(input.debounced[0].key, 7);
	assert_int_equal(input.debounced[0].age_ms, 3000);
	assert_int_equal(input.debounced[1].age_ms, 3500);
	keep_recall(world, "gpu-a",
		    &(struct recall){.debounced = input.debounced + 1, .n_debounced = 1}, 4000);
	input = gather(world, "gpu-a", 5000);
	assert_int_equal(input.n_debounced, 1);
	assert_int_equal(input.debounced[0].key, 8);
	assert_int_equal(input.debounced[0].age_ms, 4500);
	assert_int_equal(gather(world, "gpu-b", 5000).n_debounced, 0);
	keep_recall(world, "gpu-b", &(struct recall){.debounced = debounced, .n_debounced = 2}, 5000);
	keep_recall(world, "gpu-a", &(struct recall){0}, 6000);
	assert_int_equal(gather(world, "gpu-a", 6000).n_debounced, 0);
}

static void the_restart_since_which_a_list_was_complete_outlives_reports(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	assert_int_equal(gather(world, "gpu-a", 1000).settled_restart, 0);
	keep_recall(world, "gpu-a", &(struct recall){.settled_restart = 77}, 1000);
	keep_recall(world, "gpu-b", &(struct recall){.settled_restart = 78}, 1000);
	put_report(world, &report, 2000);
	assert_int_equal(gather(world, "gpu-a", 2000).settled_restart, 77);
	assert_int_equal(gather(world, "gpu-b", 2000).settled_restart, 0);
}

static void since_when_slots_are_counted_as_now_outlives_reports(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	assert_int_equal(gather(world, "gpu-a", 1000).offered_since, 0);
	keep_recall(world, "gpu-a", &(struct recall){.offered_since = 77}, 1000);
	put_report(world, &report, 2000);
	assert_int_equal(gather(world, "gpu-a", 2000).offered_since, 77);
}

static void a_heartbeat_touches_the_node_whose_last_join_waits_for_one(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	world->touched[0] = '\0';
	for (int i = 0; i < 2; i++) {
		keep_recall(world, "gpu-a", &(struct recall){.is_hearing_awaited = i == 0},
			    1000);
		assert_true(inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0, 9000,
							   2000));
		assert_touched(world, i == 0 ? "gpu-a " : "");
	}
}

static void a_node_that_is_heard_of_after_a_long_silence_is_touched(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-b", true, NULL);

	put_attribution(world, "gpu-a", 1);
	put_report(world, &report, 1000);
	world->touched[0] = '\0';
	assert_true(inventory_place_refresh_report(world->inventory, VIEW("gpu-b"), 0, 9000, 9999));
	assert_touched(world, "");
	assert_true(
		inventory_place_refresh_report(world->inventory, VIEW("gpu-b"), 0, 9000, 18999));
	assert_touched(world, "gpu-a gpu-b ");
}

static void what_a_forgotten_report_said_is_released_and_no_longer_claimed(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-b", true, NULL);

	put_attribution(world, "gpu-a", 1);
	put_report(world, &report, 1000);
	world->touched[0] = '\0';
	inventory_place_forget_report(world->inventory, VIEW("gpu-b"));
	inventory_place_forget_report(world->inventory, VIEW("gpu-b"));
	assert_touched(world, "");
	assert_int_equal(world->released, 1);
	assert_int_equal(gather(world, "gpu-a", 2000).previous[0].claimed_age_ms, -1);
	assert_null(gather(world, "gpu-b", 2000).report);
	assert_false(
		inventory_place_refresh_report(world->inventory, VIEW("gpu-b"), 0, 9000, 2000));
}

static void of_a_node_without_a_report_nothing_of_one_is_known(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	struct view named = VIEW("u1");

	assert_null(find_report(world, VIEW("gpu-a")));
	name_ended(world, &named, 1, 1000);
	put_pod(world, "a", "u1", true, 1);
	assert_null(find_report(world, VIEW("gpu-a")));
	assert_false(
		inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0, 9000, 2000));
	for (unsigned i = 1; i <= 2; i++) {
		report.boot_id = i == 1 ? VIEW("b1") : VIEW("b2");
		report.observed_at = i;
		put_report(world, &report, 1000);
	}
	assert_int_equal(gather(world, "gpu-a", 1000).booted_after, 1);
	inventory_place_forget_report(world->inventory, VIEW("gpu-a"));
	assert_int_equal(gather(world, "gpu-a", 1000).booted_after, 0);
}

static void a_report_touches_the_holder_of_each_device_and_each_rival_once(void **state)
{
	struct world *world = *state;
	static struct report_device devices[] = {{.uuid = VIEW_INIT(UUID_A)},
						 {.uuid = VIEW_INIT(UUID_B)}};
	struct report a = report_of("gpu-a", true, NULL), b = report_of("gpu-b", true, NULL);
	struct report c = report_of("gpu-c", false, NULL);

	sync_all(world, 1000);
	world->n_initial = 0;
	put_object(world, NAME_A, UUID_A, "gpu-a", 1);
	put_object(world, NAME_B, UUID_B, "gpu-b", 2);
	world->touched[0] = '\0';
	c.devices = (struct array){devices, 2, true};
	put_report(world, &c, 1000);
	assert_touched(world, "gpu-a gpu-b gpu-c ");
	put_report(world, &b, 1000);
	assert_touched(world, "gpu-a gpu-c gpu-b "); /* UUID_A is gpu-a's; gpu-c reports UUID_B */
	put_report(world, &a, 1000);
	assert_true(strcmp(world->touched, "gpu-b gpu-c gpu-a ") == 0 ||
		    strcmp(world->touched, "gpu-c gpu-b gpu-a ") == 0);
	assert_true(
		inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0, 9000, 99999));
	assert_int_equal(world->n_initial, 0);
}

/* A report of gpu-b there is no memory for, when k allocations have been made; false: there was. */
static bool fail_report(struct world *world, const struct report *report, unsigned k)
{
	const struct report *before = find_report(world, VIEW("gpu-b"));
	struct error err = {0};

	put_object(world, NAME_A, UUID_A, "gpu-a", 1);
	put_object(world, NAME_B, UUID_B, "gpu-a", 2);
	failing_malloc_at(k);
	int result = inventory_place_put_report(world->inventory, report, count_release, world,
						2000, &err);
	if (!failing_malloc_off()) {
		assert_int_equal(result, 0);
		return false;
	}
	assert_int_equal(result, -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_ptr_equal(find_report(world, VIEW("gpu-b")), before);
	const struct join_input input = gather(world, "gpu-a", 2000);
	assert_int_equal(input.n_previous, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(input.previous[i].claimed_age_ms, -1);
	return true;
}

static void a_report_that_there_is_no_memory_for_leaves_nothing_behind(void **state)
{
	static struct report_device devices[] = {{.uuid = VIEW_INIT(UUID_A)},
						 {.uuid = VIEW_INIT(UUID_B)}};
	static struct view ids[] = {VIEW_INIT("0"), VIEW_INIT("1")};
	static struct report_pod_resource lists[] = {{.device_ids = {&ids[0], 1, true}},
						     {.device_ids = {&ids[1], 1, true}}};
	static struct report before, report;

	before = report = report_of("gpu-b", false, NULL);
	report.devices = (struct array){devices, 2, true};
	before.pod_resources = (struct array){&lists[0], 1, true};
	report.pod_resources = (struct array){&lists[1], 1, true};
	for (int has_another = 0; has_another < 2; has_another++) {
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			tear_down(state);
			set_up(state);
			struct world *world = *state;
			if (has_another)
				put_report(world, &before, 1000);
			failed = fail_report(world, &report, k);
			assert_int_equal(world->released, !failed && has_another);
			/* Of a node that is not known nothing is remembered. */
			for (int i = 0; i < 2 && failed && !has_another; i++)
				assert_int_equal(inventory_place_note_refusals(
							 world->inventory, VIEW("gpu-b"),
							 (struct place_refusals){.claims = 2})
							 .claims,
						 2);
		}
	}
}

static void an_owner_that_has_not_reported_since_the_start_is_waited_for(void **state)
{
	struct world *world = *state;
	struct report rival = report_of("gpu-b", true, NULL);
	struct report third = report_of("gpu-c", true, NULL);
	struct report owner = report_of("gpu-a", false, NULL);

	put_attribution(world, "gpu-a", 1);
	put_report(world, &rival, 1100);
	assert_int_equal(gather(world, "gpu-b", 1500).previous[0].claimed_age_ms, 500);
	put_report(world, &third, 1400);
	assert_int_equal(gather(world, "gpu-b", 1500).previous[0].claimed_age_ms, 100);
	assert_int_equal(gather(world, "gpu-a", 1500).previous[0].claimed_age_ms, 100);
	put_report(world, &(struct report){.version = 1, .node = VIEW("gpu-c")}, 1500);
	world->touched[0] = '\0';
	/* It speaks, and does not name the device: those who wait for that are told. */
	put_report(world, &owner, 1600);
	assert_touched(world, "gpu-b gpu-a ");
	assert_int_equal(gather(world, "gpu-b", 1600).previous[0].claimed_age_ms, -1);
}

static void a_device_without_an_object_is_contested_by_a_more_recent_report(void **state)
{
	struct world *world = *state;
	struct report a = report_of("gpu-a", true, NULL), b = report_of("gpu-b", true, NULL);

	put_report(world, &a, 1000);
	assert_int_equal(gather(world, "gpu-a", 2000).n_contested, 0);
	put_report(world, &b, 1500);
	assert_int_equal(gather(world, "gpu-b", 2000).n_contested, 0);
	struct join_input input = gather(world, "gpu-a", 2000);
	assert_int_equal(input.n_contested, 1);
	assert_true(view_equal(input.contested[0], VIEW(UUID_A)));
	put_attribution(world, "", 1);
	assert_int_equal(gather(world, "gpu-a", 2000).n_contested, 0);
}

static void a_report_of_another_boot_says_that_the_last_one_was_before_it(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	static const struct {
		const char *boot_id;
		int64_t observed_at, booted_after;
	} rows[] = {
		{"b1", 50, 0},   {"b1", 60, 0},    {"b2", 70, 60},  {"b2", 80, 60},  {"", 90, 60},
		{"b3", 100, 60}, {"b4", 110, 100}, {"c", 120, 110}, {"d", 130, 120},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		report.boot_id = view_from(rows[i].boot_id);
		report.observed_at = rows[i].observed_at;
		put_report(world, &report, 1000);
		assert_int_equal(gather(world, "gpu-a", 1000).booted_after, rows[i].booted_after);
	}
}

/* What it measured until then is worth something if the next instance begins soon after. */
static void a_report_of_another_instance_says_when_the_last_one_was_heard_of(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	static const struct {
		const char *boot_id;
		int64_t instance, observed_at;
		uint64_t now;
		int64_t former_heard_at;
	} rows[] = {
		{"b1", 10, 100000, 1000, 0},
		{"b1", 10, 110000, 11000, 0},
		{"b1", 70, 150000, 51000, 120000},
		{"b1", 70, 180000, 81000, 120000},
		{"b1", 99, 200000, 101000, 190000},
		{"b2", 5, 300000, 201000, 0},
		{"b2", 6, 310000, 211000, 310000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		report.boot_id = view_from(rows[i].boot_id);
		report.instance = rows[i].instance;
		report.observed_at = rows[i].observed_at;
		put_report(world, &report, rows[i].now);
		assert_int_equal(gather(world, "gpu-a", rows[i].now).former_heard_at,
				 rows[i].former_heard_at);
		assert_true(inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0,
							   900000, rows[i].now + 10000));
	}
}

/* The Node and the report come by different ways: what is told last is so. */
static void a_report_is_of_a_former_boot_when_the_node_names_another_one_after_it(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	static const struct {
		const char *node, *report; /* NULL: none comes */
		bool is_former;
	} rows[] = {
		{"b1", NULL, false}, {NULL, "b1", false}, {"b2", NULL, true},  {NULL, "b1", true},
		{NULL, "b2", false}, {NULL, "b3", false}, {"b2", NULL, false}, {"b3", NULL, false},
		{"", NULL, false},   {"b4", NULL, true},  {NULL, "", false},   {"b5", NULL, false},
		{NULL, "b3", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].node)
			put_node(world, "gpu-a", rows[i].node, i + 1);
		if (rows[i].report) {
			report.boot_id = view_from(rows[i].report);
			put_report(world, &report, 1000);
		}
		assert_int_equal(gather(world, "gpu-a", 1000).is_of_former_boot, rows[i].is_former);
	}
	put_node(world, "gpu-a", "b6", 20);
	report.boot_id = VIEW("b7");
	put_report(world, &report, 1000);
	put_node(world, "gpu-a", "b8", 21);
	assert_true(gather(world, "gpu-a", 1000).is_of_former_boot);
	inventory_remove(world->inventory, INVENTORY_NODES, VIEW("gpu-a"), 22, 8000);
	assert_false(gather(world, "gpu-a", 1000).is_of_former_boot);
}

static void the_first_report_is_of_no_former_boot_whatever_the_node_named_before_it(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	report.boot_id = VIEW("b1");
	put_node(world, "gpu-a", "b2", 1);
	put_report(world, &report, 1000);
	assert_false(gather(world, "gpu-a", 1000).is_of_former_boot);
	put_node(world, "gpu-a", "b3", 2);
	assert_true(gather(world, "gpu-a", 1000).is_of_former_boot);
}

static void without_a_report_its_age_counts_from_the_first_question(void **state)
{
	struct world *world = *state;

	put_attribution(world, "gpu-a", 1);
	assert_int_equal(gather(world, "gpu-a", 4000).report_age_ms, 0);
	assert_int_equal(gather(world, "gpu-a", 7000).report_age_ms, 3000);
	assert_null(gather(world, "gpu-a", 7000).report);
}

static void a_uid_that_the_api_places_on_another_node_is_elsewhere(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, "u1");

	put_pod_at(world, "a", "u1", "gpu-b", true, 1, 0);
	put_report(world, &report, 1000);
	struct join_input input = gather(world, "gpu-a", 1000);
	assert_int_equal(input.n_elsewhere, 1);
	assert_true(view_equal(input.elsewhere[0], VIEW("u1")));
}

static void a_name_that_the_api_places_on_another_node_is_foreign(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);
	static struct report_pod_resource list[] = {
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("here")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("away")},
		{.namespace = VIEW_INIT("other"), .name = VIEW_INIT("away")},
		{.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("waits")},
	};

	report.pod_resources = (struct array){list, ARRAY_SIZE(list), true};
	put_pod_at(world, "here", "u1", "gpu-a", true, 1, 0);
	put_pod_at(world, "away", "u2", "gpu-b", true, 2, 0);
	put_pod_at(world, "waits", "u3", "", true, 3, 0);
	put_report(world, &report, 1000);
	struct join_input input = gather(world, "gpu-a", 1000);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		assert_int_equal(input.is_foreign[i], i == 1);
}

static void what_was_refused_is_new_once_for_each_content_of_a_report(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, "u1");
	const struct place_refusals rows[][2] = {
		/* refused, new */
		{{2, 1, 4}, {2, 1, 4}},
		{{2, 1, 4}, {0, 0, 0}},
		{{1, 3, 5}, {0, 2, 1}},
		{{3, 3, 0}, {1, 0, 0}},
	};

	for (unsigned n = 0; n < 2; n++) {
		put_report(world, &report, 1000 + n);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct place_refusals new = inventory_place_note_refusals(
				world->inventory, VIEW("gpu-a"), rows[i][0]);
			assert_int_equal(new.claims, rows[i][1].claims);
			assert_int_equal(new.ids, rows[i][1].ids);
			assert_int_equal(new.devices, rows[i][1].devices);
		}
		inventory_place_refresh_report(world->inventory, VIEW("gpu-a"), 0, 5000, 1100);
		assert_int_equal(
			inventory_place_note_refusals(world->inventory, VIEW("gpu-a"), rows[0][0])
				.claims,
			0);
	}
	assert_int_equal(
		inventory_place_note_refusals(world->inventory, VIEW("gpu-z"), rows[0][0]).ids, 1);
}

static void an_object_touches_its_holder_and_those_that_report_the_device(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-b", true, NULL);

	put_report(world, &report, 1000);
	world->touched[0] = '\0';
	put_attribution(world, "", 1);
	assert_touched(world, "gpu-b ");
	put_attribution(world, "gpu-a", 2);
	assert_touched(world, "gpu-b gpu-a gpu-b ");
	assert_int_equal(gather(world, "gpu-a", 1000).n_previous, 1);
	assert_int_equal(gather(world, "gpu-b", 1000).n_previous, 1);
	assert_int_equal(gather(world, "gpu-a", 1700).previous[0].claimed_age_ms, 700);
	/* Its holder has not reported since the start at 1000. */
	assert_int_equal(gather(world, "gpu-b", 1700).previous[0].claimed_age_ms, 700);
}

static void without_nvml_the_books_name_the_objects(void **state)
{
	struct world *world = *state;
	struct view ids[] = {VIEW(UUID_A "::1"), VIEW("nonsense"), VIEW(UUID_A "::0")};
	struct report_resource_devices offer = {VIEW("nvidia.com/gpu"), {ids, 3, true}};
	struct report_pod_resource listed = {.device_ids = {ids, 3, true}};
	struct report_checkpoint_entry booked = {.device_ids = {ids, 3, true}};
	struct report report = report_of("gpu-b", false, NULL);
	struct array *const books[] = {&report.allocatable, &report.checkpoint.registered,
				       &report.pod_resources, &report.checkpoint.entries};
	void *const items[] = {&offer, &offer, &listed, &booked};

	put_attribution(world, "", 1);
	for (size_t i = 0; i < ARRAY_SIZE(books); i++) {
		put_report(world, &report, 1000);
		assert_int_equal(gather(world, "gpu-b", 1000).n_previous, 0);
		*books[i] = (struct array){items[i], 1, true};
		put_report(world, &report, 1000);
		assert_int_equal(gather(world, "gpu-b", 1000).n_previous, 1);
		*books[i] = (struct array){0};
	}
	report.allocatable = (struct array){&offer, 1, true};
	report.sources.nvml.state = REPORT_SOURCE_OK;
	put_report(world, &report, 2000);
	assert_int_equal(gather(world, "gpu-b", 2000).n_previous, 0);
}

static void a_device_that_is_no_longer_reported_is_no_longer_claimed(void **state)
{
	struct world *world = *state;
	struct report with = report_of("gpu-b", true, NULL),
		      without = report_of("gpu-b", false, NULL);

	put_attribution(world, "gpu-a", 1);
	world->touched[0] = '\0';
	put_report(world, &with, 1000);
	assert_touched(world, "gpu-a gpu-b ");
	put_report(world, &without, 2000);
	assert_touched(world, "gpu-a gpu-b ");
	assert_int_equal(gather(world, "gpu-a", 2000).previous[0].claimed_age_ms, -1);
	assert_int_equal(gather(world, "gpu-b", 2000).n_previous, 0);
}

static void a_node_is_gone_since_its_deletion_but_at_most_since_the_first_sync(void **state)
{
	struct world *world = *state;

	put_attribution(world, "gpu-a", 1);
	assert_int_equal(gather(world, "gpu-a", 1000).node_gone_for_ms, 0);
	sync_all(world, 2000);
	put_attribution(world, "gpu-a", 1);
	assert_int_equal(gather(world, "gpu-a", 2000).node_gone_for_ms, 0);
	assert_int_equal(gather(world, "gpu-a", 9000).node_gone_for_ms, 7000);
	put_node(world, "gpu-a", "b1", 1);
	assert_int_equal(gather(world, "gpu-a", 9000).node_gone_for_ms, 0);
	assert_non_null(gather(world, "gpu-a", 9000).node);
	inventory_remove(world->inventory, INVENTORY_NODES, VIEW("gpu-a"), 2, 8000);
	assert_int_equal(gather(world, "gpu-a", 9000).node_gone_for_ms, 1000);
	assert_null(gather(world, "gpu-a", 9000).node);
}

/* Nothing hung on the node when it went, so nothing is left that says when that was. */
static void a_gone_node_is_gone_since_it_was_first_asked_for(void **state)
{
	struct world *world = *state;

	sync_all(world, 2000);
	put_node(world, "gpu-a", "b1", 1);
	inventory_remove(world->inventory, INVENTORY_NODES, VIEW("gpu-a"), 2, 8000);
	put_attribution(world, "gpu-a", 3);
	assert_int_equal(gather(world, "gpu-a", 9000).node_gone_for_ms, 0);
	assert_int_equal(gather(world, "gpu-a", 9500).node_gone_for_ms, 500);
}

/* For as long as it is remembered who ended since. */
static void what_is_not_there_ended_before_the_first_list(void **state)
{
	struct world *world = *state;
	static const struct {
		uint64_t now;
		int64_t ended_for_ms;
	} rows[] = {{2000, 0}, {9000, 7000}, {122000, 120000}, {122001, -1}};

	put_attribution(world, "gpu-a", 1);
	assert_int_equal(gather(world, "gpu-a", 1000).ended_for_ms, -1);
	inventory_begin_replace(world->inventory, INVENTORY_PODS);
	inventory_end_list(world->inventory, INVENTORY_PODS, 0, 2000);
	sync_all(world, 2000);
	put_attribution(world, "gpu-a", 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(gather(world, "gpu-a", rows[i].now).ended_for_ms,
				 rows[i].ended_for_ms);
	assert_int_equal(gather(world, "gpu-b", 2000).ended_for_ms, -1);
}

static void on_boot(void *owner, struct view node_name)
{
	on_touch(owner, node_name, false);
}

static void whoever_orders_reports_is_told_of_a_nodes_boots(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	inventory_on_touch(world->inventory, NULL, NULL);
	inventory_on_boot(world->inventory, on_boot, world);
	assert_int_equal(named_boot(world, VIEW("gpu-a")).len, 0);
	assert_int_equal(node_changes(world, VIEW("gpu-a")), 0);
	put_node(world, "gpu-a", "b1", 1);
	assert_int_equal(node_changes(world, VIEW("gpu-a")), 1);
	assert_touched(world, ""); /* nobody reports there, and nothing is published of it */
	assert_true(view_equal(named_boot(world, VIEW("gpu-a")), VIEW("b1")));
	assert_null(find_report(world, VIEW("gpu-a")));
	put_report(world, &report, 1000);
	assert_non_null(find_report(world, VIEW("gpu-a")));
	put_node(world, "gpu-a", "b1", 2);
	assert_touched(world, "");
	put_node(world, "gpu-a", "b2", 3);
	assert_touched(world, "gpu-a ");
	put_attribution(world, "gpu-b", 4);
	put_node(world, "gpu-b", "b7", 5);
	assert_touched(world, "gpu-b ");
	inventory_remove(world->inventory, INVENTORY_NODES, VIEW("gpu-a"), 6, 2000);
	assert_int_equal(named_boot(world, VIEW("gpu-a")).len, 0);
	assert_int_equal(node_changes(world, VIEW("gpu-a")), 2);
}

static void the_oldest_policy_counts_then_the_lowest_name(void **state)
{
	struct world *world = *state;
	static const struct policy policies[] = {
		{.name = VIEW_INIT("young"), .created_at = 30},
		{.name = VIEW_INIT("b"), .created_at = 10},
		{.name = VIEW_INIT("a"), .created_at = 10},
	};
	struct error err;

	assert_false(gather(world, "x", 1000).intent->known);
	sync_all(world, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		assert_int_equal(inventory_put(world->inventory, INVENTORY_POLICIES, &policies[i], STORE_UPSERT,
						      i + 1, &err),
				 0);
	const struct intent *intent = gather(world, "x", 1000).intent;
	assert_true(intent->known);
	assert_int_equal(intent->n_policies, 3);
	assert_true(view_equal(intent->policy->name, VIEW("a")));
	inventory_remove(world->inventory, INVENTORY_POLICIES, VIEW("a"), 9, 1000);
	assert_true(view_equal(intent->policy->name, VIEW("b")));
}

static void a_change_of_policies_touches_every_node(void **state)
{
	struct world *world = *state;
	const struct policy policy = {.name = VIEW("a"), .created_at = 10};
	struct report a = report_of("gpu-a", true, NULL);
	struct error err;

	put_report(world, &a, 1000);
	world->touched[0] = '\0';
	for (uint64_t version = 2; version >= 1; version--) {
		assert_int_equal(inventory_put(world->inventory, INVENTORY_POLICIES, &policy, STORE_UPSERT,
						      version, &err),
				 0);
		assert_touched(world, version == 2 ? "gpu-a " : "");
	}
	inventory_remove(world->inventory, INVENTORY_POLICIES, VIEW("a"), 9, 1000);
	assert_touched(world, "gpu-a ");
}

static void a_kind_that_does_not_exist_is_known_and_empty(void **state)
{
	struct world *world = *state;

	const struct policy policy = {.name = VIEW("a")};
	struct error err;

	/* It has been there before. */
	assert_int_equal(inventory_put(world->inventory, INVENTORY_POLICIES, &policy, STORE_UPSERT, 1, &err), 0);
	assert_false(inventory_is_synced(world->inventory, INVENTORY_POLICIES));
	inventory_set_absent(world->inventory, INVENTORY_POLICIES);
	assert_true(inventory_is_synced(world->inventory, INVENTORY_POLICIES));
	assert_true(gather(world, "x", 1000).intent->known);
	assert_int_equal(gather(world, "x", 1000).intent->n_policies, 0);
}

static void policies_of_another_version_are_not_known(void **state)
{
	struct world *world = *state;
	struct report a = report_of("gpu-a", true, NULL);

	put_report(world, &a, 1000);
	sync_all(world, 1000);
	for (int i = 0; i < 2; i++) {
		world->touched[0] = '\0';
		inventory_set_age(world->inventory, INVENTORY_POLICIES, INVENTORY_UNSERVED);
		assert_touched(world, i == 0 ? "gpu-a " : "");
		assert_false(gather(world, "gpu-a", 1000).intent->known);
		assert_true(gather(world, "gpu-a", 1000).intent->is_unserved);
	}
	inventory_set_age(world->inventory, INVENTORY_POLICIES, INVENTORY_CURRENT);
	assert_touched(world, "gpu-a ");
	assert_true(gather(world, "gpu-a", 1000).intent->known);
	assert_false(gather(world, "gpu-a", 1000).intent->is_unserved);
}

static void what_is_old_touches_every_node_when_that_is_news(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	sync_all(world, 1000);
	put_report(world, &report, 1000);
	world->touched[0] = '\0';
	static const struct {
		enum inventory_kind kind;
		enum inventory_age age;
		enum inventory_age expected;
	} rows[] = {
		{INVENTORY_PODS, INVENTORY_DENIED, INVENTORY_DENIED},
		{INVENTORY_PODS, INVENTORY_STALE, INVENTORY_STALE},
		{INVENTORY_PODS, INVENTORY_CURRENT, INVENTORY_CURRENT},
		{INVENTORY_NODES, INVENTORY_DENIED, INVENTORY_STALE},
		{INVENTORY_NODES, INVENTORY_CURRENT, INVENTORY_CURRENT},
		{INVENTORY_NODES, INVENTORY_STALE, INVENTORY_STALE},
		{INVENTORY_NODES, INVENTORY_CURRENT, INVENTORY_CURRENT},
	};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		bool is_news = i % 2 == 0;

		inventory_set_age(world->inventory, rows[i / 2].kind, rows[i / 2].age);
		assert_touched(world, is_news ? "gpu-a " : "");
		assert_true(world->initial); /* what is told overtakes it */
		assert_int_equal(gather(world, "gpu-a", 1000).pods_age, rows[i / 2].expected);
		assert_int_equal(gather(world, "unknown", 1000).pods_age, rows[i / 2].expected);
		assert_false(gather(world, "gpu-a", 1000).grants_denied);
	}
	for (int i = 0; i < 3; i++) {
		inventory_set_age(world->inventory, INVENTORY_RESOURCE_SLICES,
				  i < 2 ? INVENTORY_DENIED : INVENTORY_CURRENT);
		inventory_set_age(world->inventory, INVENTORY_RESOURCE_CLAIMS,
				  i > 0 ? INVENTORY_STALE : INVENTORY_CURRENT);
		assert_touched(world, "gpu-a ");
		assert_true(gather(world, "gpu-a", 1000).grants_denied);
		assert_true(gather(world, "gpu-a", 1000).grants_unknown);
		assert_int_equal(gather(world, "gpu-a", 1000).pods_age, INVENTORY_CURRENT);
	}
	/* No result depends on it. */
	inventory_set_age(world->inventory, INVENTORY_ATTRIBUTIONS, INVENTORY_STALE);
	assert_touched(world, "");
}

static void what_comes_before_the_first_sync_is_initial_and_what_comes_after_is_not(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	put_pod(world, "a", "u1", true, 1);
	assert_true(world->initial);
	sync_all(world, 1000);
	put_pod(world, "b", "u2", true, 2);
	assert_false(world->initial);
}

/* Dynamic resource allocation */

static void put_claimer(struct world *world, const char *uid, const char *claim, uint64_t version)
{
	struct error err;
	const struct pod_fields fields = {
		.namespace = VIEW("ml"),
		.name = VIEW("a"),
		.uid = view_from(uid),
		.node = VIEW("gpu-a"),
		.state.phase = POD_PHASE_RUNNING,
		.state.wants_gpu = true,
		.claims = {{VIEW("main"), view_from(claim), VIEW("")}},
		.gpu.claims.count = 1,
	};

	assert_int_equal(
		inventory_put_pod(world->inventory, (struct view){0}, &fields, STORE_UPSERT, version, 1000, &err), 0);
}

static struct resource_claim_fields claim_for(const char *uid)
{
	return (struct resource_claim_fields){
		.namespace = VIEW("ml"),
		.name = VIEW("c"),
		.results = {{VIEW("main"), VIEW("gpu.nvidia.com"), VIEW("p"), VIEW("gpu-0"),
			     VIEW(""), false}},
		.claim.results.count = 1,
		.consumers = {view_from(uid)},
		.claim.consumers.count = 1,
		.claim.is_allocated = true,
	};
}

static void put_claim(struct world *world, const char *uid, uint64_t version)
{
	struct resource_claim_fields fields = claim_for(uid);
	struct error err;

	assert_int_equal(inventory_put(world->inventory, INVENTORY_RESOURCE_CLAIMS, &fields, STORE_UPSERT,
						      version, &err),
			 0);
}

static struct resource_slice_fields slice_on(const char *node, int64_t generation)
{
	return (struct resource_slice_fields){
		.slice.name = VIEW("s"),
		.slice.driver = VIEW("gpu.nvidia.com"),
		.slice.node = view_from(node),
		.slice.pool = VIEW("p"),
		.slice.generation = generation,
		.slice.slice_count = 1,
		.devices = {{.name = VIEW("gpu-0"), .uuid = VIEW(UUID_A)}},
		.slice.devices.count = 1,
	};
}

static void put_slice(struct world *world, const char *node, int64_t generation, uint64_t version)
{
	struct resource_slice_fields fields = slice_on(node, generation);
	struct error err;

	assert_int_equal(inventory_put(world->inventory, INVENTORY_RESOURCE_SLICES, &fields, STORE_UPSERT,
						      version, &err),
			 0);
}

static void a_claim_grants_its_device_in_whatever_order_things_come(void **state)
{
	struct world *world = *state;
	static const char *const orders[] = {"pcs", "psc", "cps", "csp", "spc", "scp"};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		tear_down(state);
		set_up(state);
		world = *state;
		sync_all(world, 1000);
		for (const char *step = orders[i]; *step; step++) {
			if (*step == 'p')
				put_claimer(world, "u1", "c", 1);
			else if (*step == 'c')
				put_claim(world, "u1", 1);
			else
				put_slice(world, "gpu-a", 1, 1);
		}
		struct join_input input = gather(world, "gpu-a", 1000);
		assert_int_equal(input.n_grants, 1);
		assert_true(view_equal(input.grants[0].uuid, VIEW(UUID_A)));
		assert_true(view_equal(pod_uid(input.grants[0].pod), VIEW("u1")));
		assert_int_equal(input.n_slice_devices, 1);
		assert_true(view_equal(input.slice_devices[0].uuid, VIEW(UUID_A)));
		assert_false(input.grants_unknown);
		/* Whoever came last told the node, which is worth a join for its slice alone. */
		assert_true(strlen(world->touched) >= strlen("gpu-a "));
	}
}

static void without_nvml_the_api_names_the_objects_too(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", false, NULL);
	const struct pod_fields told = {
		.namespace = VIEW("ml"),
		.name = VIEW("a"),
		.uid = VIEW("u1"),
		.node = VIEW("gpu-a"),
		.state.phase = POD_PHASE_RUNNING,
		.state.wants_gpu = true,
		.allocations = {{VIEW("c"), VIEW("nvidia.com/gpu"), VIEW(UUID_A "::3")}},
		.gpu.allocations.count = 1,
	};
	struct error err;

	put_attribution(world, "gpu-b", 1);
	put_pod(world, "a", "u1", true, 1);
	assert_int_equal(gather(world, "gpu-a", 1000).n_previous, 0);
	assert_int_equal(inventory_put_pod(world->inventory, (struct view){0}, &told, STORE_UPSERT, 2, 1000, &err),
			 0);
	assert_int_equal(gather(world, "gpu-a", 1000).n_previous, 1);
	put_pod(world, "a", "u1", true, 3);
	put_slice(world, "gpu-a", 1, 1);
	assert_int_equal(gather(world, "gpu-a", 1000).n_previous, 1);
	report.sources.nvml.state = REPORT_SOURCE_OK;
	put_report(world, &report, 2000);
	assert_int_equal(gather(world, "gpu-a", 2000).n_previous, 0);
}

static void put_told(struct world *world, const char *node, const char *id, bool is_over,
		     uint64_t version)
{
	struct pod_fields fields = {
		.namespace = VIEW("ml"),
		.name = VIEW("b"),
		.uid = VIEW("u2"),
		.node = view_from(node),
		.state.phase = is_over ? POD_PHASE_FAILED : POD_PHASE_RUNNING,
		.state.wants_gpu = true,
		.state.no_container_runs = is_over,
		.allocations = {{VIEW("c"), VIEW("nvidia.com/gpu"), view_from(id)}},
		.gpu.allocations.count = 1,
	};
	struct error err;

	assert_int_equal(
		inventory_put_pod(world->inventory, (struct view){0}, &fields, STORE_UPSERT, version, 1000, &err), 0);
}

/* One object of gpu-b, which gpu-a's slice names; what is known of gpu-b changes. */
static void without_a_report_it_is_told_whether_the_api_names_the_device_elsewhere(void **state)
{
	static const struct {
		const char *id, *slice_uuid, *slice_parent;
		bool is_over, is_named;
	} rows[] = {
		{"", "", "", false, false},
		{UUID_A, "", "", false, true},
		{UUID_A "::1", "", "", false, true},
		{UUID_A, "", "", true, false},
		{"MIG-" UUID_A, "", "", false, false},
		{"", UUID_A, "", false, true},
		{"", "MIG-x", UUID_A, false, true},
		{"", NAME_A, "", false, true},
		{"", "GPU-x", "", false, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_slice_fields slice = slice_on("gpu-b", 1);
		struct error err;

		tear_down(state);
		set_up(state);
		struct world *world = *state;
		put_attribution(world, "gpu-b", 1);
		put_slice(world, "gpu-a", 1, 1);
		put_told(world, "gpu-b", rows[i].id, rows[i].is_over, 1);
		slice.slice.name = VIEW("other");
		slice.devices[0].uuid = view_from(rows[i].slice_uuid);
		slice.devices[0].parent_uuid = view_from(rows[i].slice_parent);
		assert_int_equal(inventory_put(world->inventory, INVENTORY_RESOURCE_SLICES, &slice,
							      STORE_UPSERT, 1, &err),
				 0);
		inventory_end_list(world->inventory, INVENTORY_PODS, 0, 1000);
		struct join_input input = gather(world, "gpu-a", 1000);
		assert_int_equal(input.n_previous, 1);
		assert_int_equal(input.previous[0].is_named_elsewhere, rows[i].is_named);
		/* What is said of its own node is not said elsewhere. */
		assert_false(gather(world, "gpu-b", 1000).previous[0].is_named_elsewhere);
	}
}

static void what_changes_of_claims_and_slices_touches_their_nodes(void **state)
{
	struct world *world = *state;

	sync_all(world, 1000);
	put_slice(world, "gpu-a", 1, 1);
	put_claimer(world, "u1", "c", 1);
	world->touched[0] = '\0';
	put_claim(world, "u1", 1);
	assert_touched(world, "gpu-a ");
	put_claim(world, "u1", 2);
	assert_touched(world, "");
	put_claimer(world, "u1", "d", 2);
	assert_touched(world, "gpu-a gpu-a "); /* as it was, and as it is */
	put_slice(world, "gpu-b", 1, 2);
	assert_touched(world, "gpu-a gpu-b ");
	put_report(world, &(struct report){.version = 1, .node = VIEW("gpu-a")}, 1000);
	world->touched[0] = '\0';
	inventory_remove(world->inventory, INVENTORY_RESOURCE_SLICES, VIEW("s"), 3, 1000);
	assert_touched(world, "gpu-b ");
	inventory_begin_replace(world->inventory, INVENTORY_RESOURCE_CLAIMS);
	inventory_end_list(world->inventory, INVENTORY_RESOURCE_CLAIMS, 0, 1000);
	assert_touched(world, "gpu-a ");
	assert_int_equal(inventory_count(world->inventory, INVENTORY_RESOURCE_CLAIMS), 0);
}

static void a_pod_of_a_reused_name_inherits_no_claim(void **state)
{
	struct world *world = *state;

	sync_all(world, 1000);
	put_slice(world, "gpu-a", 1, 1);
	put_claim(world, "u1", 1);
	put_claimer(world, "u2", "c", 1);
	assert_int_equal(gather(world, "gpu-a", 1000).n_grants, 0);
	put_claim(world, "u2", 2);
	assert_int_equal(gather(world, "gpu-a", 1000).n_grants, 1);
}

static void no_node_describes_the_devices_of_another(void **state)
{
	struct world *world = *state;

	sync_all(world, 1000);
	put_slice(world, "gpu-b", 9, 1);
	put_claim(world, "u1", 1);
	put_claimer(world, "u1", "c", 1);
	struct join_input input = gather(world, "gpu-a", 1000);
	assert_int_equal(input.n_grants, 1);
	assert_int_equal(input.grants[0].uuid.len, 0);
	assert_int_equal(input.n_slice_devices, 0);
}

static void a_newer_generation_that_is_not_whole_makes_the_pool_unknown(void **state)
{
	struct world *world = *state;
	struct resource_slice_fields newer = slice_on("gpu-a", 2);
	struct error err;

	newer.slice.name = VIEW("s2");
	newer.slice.slice_count = 2;
	sync_all(world, 1000);
	put_slice(world, "gpu-a", 1, 1);
	put_claim(world, "u1", 1);
	put_claimer(world, "u1", "c", 1);
	assert_int_equal(
		inventory_put(world->inventory, INVENTORY_RESOURCE_SLICES, &newer, STORE_UPSERT, 2, &err), 0);
	struct join_input input = gather(world, "gpu-a", 1000);
	assert_true(input.grants_unknown);
	assert_int_equal(input.grants[0].uuid.len, 0);
	assert_int_equal(input.n_slice_devices, 0);
	/* The slice of before is written anew: now they are two of the new one. */
	newer = slice_on("gpu-a", 2);
	newer.slice.slice_count = 2;
	newer.slice.devices.count = 0;
	assert_int_equal(
		inventory_put(world->inventory, INVENTORY_RESOURCE_SLICES, &newer, STORE_UPSERT, 3, &err), 0);
	input = gather(world, "gpu-a", 1000);
	assert_false(input.grants_unknown);
	assert_true(view_equal(input.grants[0].uuid, VIEW(UUID_A)));
}

static void grants_are_unknown_until_claims_and_slices_are_here(void **state)
{
	static const enum inventory_kind orders[][2] = {
		{INVENTORY_RESOURCE_CLAIMS, INVENTORY_RESOURCE_SLICES},
		{INVENTORY_RESOURCE_SLICES, INVENTORY_RESOURCE_CLAIMS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		tear_down(state);
		set_up(state);
		struct world *world = *state;
		put_slice(world, "gpu-a", 1, 1);
		assert_true(gather(world, "gpu-a", 1000).grants_unknown);
		inventory_begin_replace(world->inventory, orders[i][0]);
		put_slice(world, "gpu-a", 1, 2);
		inventory_end_list(world->inventory, orders[i][0], 0, 1000);
		assert_true(gather(world, "gpu-a", 1000).grants_unknown);
		inventory_begin_replace(world->inventory, orders[i][1]);
		inventory_end_list(world->inventory, orders[i][1], 0, 1000);
		assert_false(gather(world, "gpu-a", 1000).grants_unknown);
		/* That there is no such kind is so for both, or soon for none. */
		inventory_set_absent(world->inventory, orders[i][1]);
		assert_true(gather(world, "gpu-a", 1000).grants_unknown);
		inventory_set_absent(world->inventory, orders[i][0]);
		assert_false(gather(world, "gpu-a", 1000).grants_unknown);
	}
}

static void a_claim_that_is_not_here_is_lacking_while_its_pod_lives(void **state)
{
	struct world *world = *state;
	struct pod_fields over = {
		.namespace = VIEW("ml"),
		.name = VIEW("a"),
		.uid = VIEW("u1"),
		.node = VIEW("gpu-a"),
		.state.phase = POD_PHASE_FAILED,
		.state.wants_gpu = true,
		.state.no_container_runs = true,
		.claims = {{VIEW("main"), VIEW("c"), VIEW("")}},
		.gpu.claims.count = 1,
	};
	static char long_name[600];
	struct error err;

	sync_all(world, 1000);
	put_claimer(world, "u1", "c", 1);
	put_pod(world, "b", "u2", true, 1);
	struct join_input input = gather(world, "gpu-a", 1000);
	assert_int_equal(input.n_pods, 2);
	assert_false(input.grants_unknown);
	assert_int_equal(input.n_lacking, 1);
	assert_true(view_equal(pod_uid(input.lacking[0]), VIEW("u1")));
	assert_int_equal(inventory_put_pod(world->inventory, (struct view){0}, &over, STORE_UPSERT, 2, 1000, &err),
			 0);
	assert_int_equal(gather(world, "gpu-a", 1000).n_lacking, 0);
	memset(long_name, 'x', sizeof(long_name) - 1);
	put_claimer(world, "u1", long_name, 3);
	assert_int_equal(gather(world, "gpu-a", 1000).n_lacking, 1);
}

static void what_cannot_be_used_is_counted(void **state)
{
	struct world *world = *state;
	struct resource_claim_fields fields = claim_for("u1");
	struct pod_fields pod = {.namespace = VIEW("ml"),
				 .name = VIEW("a"),
				 .uid = VIEW("u1"),
				 .node = VIEW("gpu-a"),
				 .state.wants_gpu = true,
				 .gpu.allocations_left_out = 3,
				 .gpu.claims_left_out = 4};
	struct error err;

	assert_int_equal(inventory_put_pod(world->inventory, (struct view){0}, &pod, STORE_UPSERT, 1, 1000, &err), 0);
	assert_int_equal(inventory_unused(world->inventory).of_pods, 7);
	pod.gpu.allocations_left_out = 1;
	assert_int_equal(inventory_put_pod(world->inventory, (struct view){0}, &pod, STORE_UPSERT, 2, 1000, &err), 0);
	assert_int_equal(inventory_unused(world->inventory).of_pods, 5);
	inventory_remove(world->inventory, INVENTORY_PODS, VIEW("ml/a"), 3, 1000);
	assert_int_equal(inventory_unused(world->inventory).of_pods, 0);
	fields.claim.has_other_consumers = true;
	assert_int_equal(
		inventory_put(world->inventory, INVENTORY_RESOURCE_CLAIMS, &fields, STORE_UPSERT, 1, &err), 0);
	put_slice(world, "", 1, 1);
	assert_int_equal(inventory_unused(world->inventory).resource_claims, 1);
	assert_int_equal(inventory_unused(world->inventory).resource_slices, 1);
	inventory_remove(world->inventory, INVENTORY_RESOURCE_CLAIMS, VIEW("ml/c"), 2, 1000);
	inventory_remove(world->inventory, INVENTORY_RESOURCE_SLICES, VIEW("s"), 2, 1000);
	assert_int_equal(inventory_unused(world->inventory).resource_claims, 0);
	assert_int_equal(inventory_unused(world->inventory).resource_slices, 0);
}

static void sync_one(struct world *world, enum inventory_kind kind, uint64_t now)
{
	inventory_begin_replace(world->inventory, kind);
	inventory_end_list(world->inventory, kind, 0, now);
}

/* A record of that kind, which is of gpu-a, and which differs from version to version. */
static void put_kind(struct world *world, enum inventory_kind kind, uint64_t version)
{
	const char *uid = version % 2 ? "u1" : "u2";
	const struct policy policy = {.name = VIEW("p"), .created_at = (int64_t)version};
	const struct gpu_cluster cluster = {.name = VIEW("c"), .uid = view_from(uid)};
	struct error err;

	switch (kind) {
	case INVENTORY_PODS:
		put_pod(world, "x", version % 2 ? "x1" : "x2", true, version);
		break;
	case INVENTORY_NODES:
		put_node(world, "gpu-a", uid, version);
		break;
	case INVENTORY_POLICIES:
		assert_int_equal(inventory_put(world->inventory, INVENTORY_POLICIES, &policy, STORE_UPSERT,
						      version, &err),
				 0);
		break;
	case INVENTORY_ATTRIBUTIONS:
		put_attribution(world, version % 2 ? "gpu-a" : "", version);
		break;
	case INVENTORY_RESOURCE_CLAIMS:
		put_claim(world, uid, version);
		break;
	case INVENTORY_RESOURCE_SLICES:
		put_slice(world, "gpu-a", (int64_t)version, version);
		break;
	case INVENTORY_GPU_CLUSTERS:
		assert_int_equal(inventory_put(world->inventory, INVENTORY_GPU_CLUSTERS, &cluster, STORE_UPSERT,
							   version, &err),
				 0);
		break;
	case INVENTORY_N_KINDS:
		fail_msg("no kind");
	}
}

static void gpu_clusters_are_counted_beside_the_policies(void **state)
{
	struct world *world = *state;
	struct report a = report_of("gpu-a", true, NULL);

	put_report(world, &a, 1000);
	world->touched[0] = '\0';
	put_kind(world, INVENTORY_GPU_CLUSTERS, 1);
	assert_touched(world, "gpu-a ");
	assert_int_equal(gather(world, "x", 1000).intent->n_gpu_clusters, 1);
	assert_int_equal(gather(world, "x", 1000).intent->n_policies, 0);
	inventory_remove(world->inventory, INVENTORY_GPU_CLUSTERS, VIEW("c"), 9, 1000);
	assert_touched(world, "gpu-a ");
	assert_int_equal(gather(world, "x", 1000).intent->n_gpu_clusters, 0);
}

static void gpu_clusters_that_cannot_be_read_are_said_to_be_so(void **state)
{
	static const enum inventory_age ages[] = {INVENTORY_DENIED, INVENTORY_UNSERVED,
						  INVENTORY_STALE};
	struct world *world = *state;
	struct report a = report_of("gpu-a", true, NULL);

	put_report(world, &a, 1000);
	sync_one(world, INVENTORY_POLICIES, 1000);
	assert_true(gather(world, "gpu-a", 1000).intent->are_gpu_clusters_unread);
	sync_all(world, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		assert_false(gather(world, "gpu-a", 1000).intent->are_gpu_clusters_unread);
		world->touched[0] = '\0';
		inventory_set_age(world->inventory, INVENTORY_GPU_CLUSTERS, ages[i]);
		assert_touched(world, "gpu-a ");
		assert_true(gather(world, "gpu-a", 1000).intent->are_gpu_clusters_unread);
		assert_true(gather(world, "gpu-a", 1000).intent->known);
		inventory_set_age(world->inventory, INVENTORY_GPU_CLUSTERS, INVENTORY_CURRENT);
		assert_touched(world, "gpu-a ");
	}
}

static void what_config_maps_say_touches_every_node_when_it_is_news(void **state)
{
	struct world *world = *state;
	struct report a = report_of("gpu-a", true, NULL);
	struct plugin_config config = {.name = VIEW("key")};
	struct mig_config layout = {.name = VIEW("layout")};
	const struct plugin_configs plugin = {.name = VIEW("plugin"),
					      .configs = array_of(&config, 1)};
	const struct mig_configs mig = {.name = VIEW("mig"), .layouts = array_of(&layout, 1)};
	struct error err;

	put_report(world, &a, 1000);
	world->touched[0] = '\0';
	const struct intent *intent = gather(world, "x", 1000).intent;
	assert_int_equal(intent->plugin_configs_state, INTENT_CONFIG_NONE);
	for (int is_news = 1; is_news >= 0; is_news--) {
		assert_int_equal(inventory_put_plugin_configs(world->inventory, &plugin, &err), 0);
		assert_touched(world, is_news ? "gpu-a " : "");
		assert_int_equal(inventory_put_mig_configs(world->inventory, &mig, &err), 0);
		assert_touched(world, is_news ? "gpu-a " : "");
		assert_true(world->initial); /* what is told overtakes it */
	}
	assert_int_equal(intent->plugin_configs_state, INTENT_CONFIG_THERE);
	assert_int_equal(intent->plugin_configs->configs.count, 1);
	assert_int_equal(intent->mig_configs_state, INTENT_CONFIG_THERE);
	assert_int_equal(intent->mig_configs->layouts.count, 1);
	for (int is_news = 1; is_news >= 0; is_news--) {
		inventory_set_config_state(world->inventory, INTENT_MIG_CONFIG,
					   INTENT_CONFIG_MISSING, INTENT_CONFIG_NOT_YET);
		assert_touched(world, is_news ? "gpu-a " : "");
	}
	assert_int_equal(intent->mig_configs_state, INTENT_CONFIG_MISSING);
	assert_null(intent->mig_configs);
	assert_non_null(intent->plugin_configs);
	failing_malloc_at(1);
	assert_int_equal(inventory_put_mig_configs(world->inventory, &mig, &err), -1);
	assert_true(failing_malloc_off());
	failing_malloc_at(1);
	assert_int_equal(inventory_put_plugin_configs(world->inventory, &plugin, &err), -1);
	assert_true(failing_malloc_off());
	assert_touched(world, "");
}

/* Two pods that use claims, and a report, so that whatever changes there touches it. */
static void populate(struct world *world)
{
	struct report report = report_of("gpu-a", true, NULL);

	put_pod(world, "a", "u1", true, 1);
	put_pod(world, "b", "u2", true, 2);
	put_report(world, &report, 1000);
}

static struct mig_configs layouts_of(const char *name, struct mig_config *layout)
{
	return (struct mig_configs){.name = view_from(name), .namespace = VIEW("ops"),
				    .layouts = array_of(layout, 1)};
}

static void put_layouts(struct world *world, const char *name, const char *layout, uint64_t version)
{
	struct mig_config one = {.name = view_from(layout)};
	const struct mig_configs configs = layouts_of(name, &one);
	struct error err;

	assert_int_equal(record_set_put_copy(inventory_node_layouts(world->inventory), &configs,
					     &(struct record_event){.change = STORE_UPSERT, .version = version}, &err),
			 0);
}

static bool has_layout(struct world *world, const char *node, const char *layout)
{
	const struct mig_configs *configs = gather(world, node, 1000).layouts;

	return configs && mig_config_find(configs, view_from(layout));
}

static void layouts_that_a_mig_manager_made_are_those_of_its_node_alone(void **state)
{
	struct world *world = *state;
	struct record_set *all = inventory_node_layouts(world->inventory);
	struct report a = report_of("gpu-a", true, NULL), b = report_of("gpu-b", true, NULL);

	put_report(world, &a, 1000);
	put_report(world, &b, 1000);
	world->touched[0] = '\0';
	put_layouts(world, "gpu-a-mig-config", "one", 5);
	assert_touched(world, "gpu-a ");
	assert_true(has_layout(world, "gpu-a", "one"));
	assert_null(gather(world, "gpu-b", 1000).layouts);
	put_layouts(world, "gpu-a-mig-config", "one", 6);
	put_layouts(world, "gpu-a-mig-config", "older", 4);
	put_layouts(world, "parted", "nobody's", 7);
	put_layouts(world, "gone-mig-config", "of a node that is not there", 7);
	assert_touched(world, "");
	put_layouts(world, "gpu-a-mig-config", "two", 8);
	assert_touched(world, "gpu-a ");
	assert_true(has_layout(world, "gpu-a", "two"));
	record_set_delete(all, VIEW("gpu-a-mig-config"), &(struct record_event){.change = STORE_DELETE, .version = 7});
	record_set_delete(all, VIEW("gpu-b-mig-config"), &(struct record_event){.change = STORE_DELETE, .version = 9});
	assert_touched(world, "");
	record_set_delete(all, VIEW("gpu-a-mig-config"), &(struct record_event){.change = STORE_DELETE, .version = 9});
	assert_touched(world, "gpu-a ");
	assert_null(gather(world, "gpu-a", 1000).layouts);
}

static void layouts_of_nodes_that_a_list_lacks_are_gone(void **state)
{
	struct world *world = *state;
	struct record_set *all = inventory_node_layouts(world->inventory);
	struct report a = report_of("gpu-a", true, NULL), b = report_of("gpu-b", true, NULL);

	put_report(world, &a, 1000);
	put_report(world, &b, 1000);
	put_layouts(world, "gpu-a-mig-config", "one", 5);
	put_layouts(world, "gpu-b-mig-config", "one", 5);
	world->touched[0] = '\0';
	store_begin_replace(&all->store);
	put_layouts(world, "gpu-b-mig-config", "one", 5);
	record_set_sweep(all, &(struct record_event){.change = STORE_DELETE});
	assert_touched(world, "gpu-a ");
	assert_null(gather(world, "gpu-a", 1000).layouts);
	assert_true(has_layout(world, "gpu-b", "one"));
}

static void without_memory_the_layouts_of_a_node_stay_as_they_were(void **state)
{
	struct world *world = *state;
	struct report a = report_of("gpu-a", true, NULL);
	struct mig_config one = {.name = VIEW("two")};
	const struct mig_configs configs = layouts_of("gpu-a-mig-config", &one);
	const struct record_event event = {.change = STORE_UPSERT, .version = 6};
	struct error err;

	put_report(world, &a, 1000);
	put_layouts(world, "gpu-a-mig-config", "one", 5);
	for (unsigned n = 1; n <= 2; n++) {
		failing_malloc_at(n);
		assert_int_equal(record_set_put_copy(inventory_node_layouts(world->inventory), &configs,
						     &event, &err),
				 -1);
		assert_true(failing_malloc_off());
		assert_true(has_layout(world, "gpu-a", "one"));
	}
}

static void each_kind_is_initial_until_it_has_been_synced_itself(void **state)
{
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++) {
		tear_down(state);
		set_up(state);
		struct world *world = *state;

		populate(world);
		for (int other = 0; other < INVENTORY_N_KINDS; other++)
			if (other != kind)
				sync_one(world, (enum inventory_kind)other, 1000);
		populate(world);
		world->initial = false;
		put_kind(world, (enum inventory_kind)kind, 11);
		assert_true(world->initial);
		put_kind(world, (enum inventory_kind)kind, 12);
		assert_true(world->initial);
		sync_one(world, (enum inventory_kind)kind, 1000);
		populate(world);
		world->initial = true;
		put_kind(world, (enum inventory_kind)kind, 13);
		assert_false(world->initial);
	}
}

static void policies_that_may_be_read_no_more_are_not_known(void **state)
{
	struct world *world = *state;
	struct report a = report_of("gpu-a", true, NULL);

	put_report(world, &a, 1000);
	sync_all(world, 1000);
	world->touched[0] = '\0';
	inventory_set_age(world->inventory, INVENTORY_POLICIES, INVENTORY_STALE);
	assert_false(gather(world, "gpu-a", 1000).intent->known);
	assert_true(gather(world, "gpu-a", 1000).intent->is_stale);
	assert_touched(world, "gpu-a ");
	inventory_set_age(world->inventory, INVENTORY_POLICIES, INVENTORY_DENIED);
	assert_false(gather(world, "gpu-a", 1000).intent->known);
	assert_false(gather(world, "gpu-a", 1000).intent->is_stale);
	assert_false(gather(world, "gpu-a", 1000).intent->is_unserved);
	assert_touched(world, "gpu-a ");
	sync_one(world, INVENTORY_POLICIES, 1000); /* nobody watches it yet */
	assert_false(gather(world, "gpu-a", 1000).intent->known);
	inventory_set_age(world->inventory, INVENTORY_POLICIES, INVENTORY_CURRENT);
	assert_true(gather(world, "gpu-a", 1000).intent->known);
	assert_touched(world, "gpu-a ");
}

static void the_first_complete_state_of_each_kind_touches_all(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++) {
		world->touched[0] = '\0';
		world->initial = false;
		assert_int_equal(gather(world, "gpu-a", 1000).intent->known,
				 kind > INVENTORY_POLICIES);
		assert_false(inventory_is_synced(world->inventory, (enum inventory_kind)kind));
		sync_one(world, (enum inventory_kind)kind, 1000);
		assert_touched(world, "gpu-a ");
		assert_true(world->initial);
		assert_true(inventory_is_synced(world->inventory, (enum inventory_kind)kind));
		sync_one(world, (enum inventory_kind)kind, 1000);
		assert_touched(world, "");
	}
}

/* The node is asked for before anything is known. */
static void a_node_is_missed_since_nodes_are_known_whenever_the_rest_is(void **state)
{
	for (int first = 0; first < INVENTORY_N_KINDS; first++) {
		tear_down(state);
		set_up(state);
		struct world *world = *state;
		uint64_t known_at = 0;

		put_report(world, &(struct report){.version = 1, .node = VIEW("gpu-a")}, 1000);
		assert_int_equal(gather(world, "gpu-a", 1000).node_gone_for_ms, 0);
		for (int i = 0; i < INVENTORY_N_KINDS; i++) {
			int kind = (first + i) % INVENTORY_N_KINDS;
			uint64_t now = 1000 * (uint64_t)(i + 2);

			sync_one(world, (enum inventory_kind)kind, now);
			if (kind == INVENTORY_NODES)
				known_at = now;
			assert_int_equal(gather(world, "gpu-a", 9000).node_gone_for_ms,
					 known_at > 0 ? 9000 - known_at : 0);
		}
	}
}

static void the_end_releases_the_reports_and_touches_nobody(void **state)
{
	struct world *world = *state;

	populate(world);
	for (int kind = 0; kind < INVENTORY_N_KINDS; kind++)
		put_kind(world, (enum inventory_kind)kind, 11);
	world->touched[0] = '\0';
	inventory_free(world->inventory);
	world->inventory = NULL;
	assert_touched(world, "");
	assert_int_equal(world->released, 1);
}

/* Everything once; returns how far it came. */
static bool fill(struct inventory *inventory, struct world *world)
{
	const struct pod_fields pod = {.namespace = VIEW("ml"),
				       .name = VIEW("a"),
				       .uid = VIEW("u1"),
				       .node = VIEW("gpu-a"),
				       .state.wants_gpu = true};
	const struct node node = {.name = VIEW("gpu-a")};
	const struct policy policy = {.name = VIEW("p")};
	const struct attribution object = {
		.name = VIEW(NAME_A), .uuid = VIEW(UUID_A), .status.node_name = VIEW("gpu-b")};
	const struct resource_claim_fields claim = claim_for("u1");
	const struct resource_slice_fields slice = slice_on("gpu-c", 1);
	static struct report report;
	struct arena arena;
	struct error err;
	bool filled;

	report = report_of("gpu-a", true, "u1");
	arena_init(&arena, 4096);
	filled = inventory_put_pod(inventory, (struct view){0}, &pod, STORE_UPSERT, 1, 0, &err) == 0 &&
		 inventory_put(inventory, INVENTORY_NODES, &node, STORE_UPSERT, 1, &err) == 0 &&
		 inventory_put(inventory, INVENTORY_POLICIES, &policy, STORE_UPSERT, 1, &err) == 0 &&
		 inventory_put_attribution(inventory, &object, &arena, STORE_UPSERT, 1, &err) ==
			 0 &&
		 inventory_put(inventory, INVENTORY_RESOURCE_CLAIMS, &claim, STORE_UPSERT, 1, &err) == 0 &&
		 inventory_put(inventory, INVENTORY_RESOURCE_SLICES, &slice, STORE_UPSERT, 1, &err) == 0 &&
		 inventory_place_put_report(inventory, &report, count_release, world, 0, &err) == 0;
	arena_deinit(&arena);
	return filled;
}

static void without_memory_nothing_leaks_and_nothing_is_half_there(void **state)
{
	struct world *world = *state;
	bool failed = true;
	struct error err;

	for (unsigned k = 1; failed; k++) {
		struct inventory *inventory = NULL;

		failing_malloc_at(k);
		bool filled = inventory_new(0, &inventory, &err) == 0 && fill(inventory, world);
		failed = failing_malloc_off();
		assert_int_equal(filled, !failed);
		inventory_free(inventory);
	}
}

/* The 1025th ended UID drives out one that the same list still names further behind. */
static void ended_uids_that_a_join_borrowed_can_be_given_back(void **state)
{
	struct world *world = *state;
	static char uids[1024][8];
	static struct view ended[1024], back[1025];
	struct report report = report_of("gpu-a", true, NULL);

	put_report(world, &report, 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(ended); i++) {
		snprintf(uids[i], sizeof(uids[i]), "u%u", i);
		ended[i] = view_from(uids[i]);
	}
	name_ended(world, ended, 1024, 1000);
	struct join_input input = gather(world, "gpu-a", 1000);
	assert_int_equal(input.n_ended, 1024);
	back[0] = VIEW("new");
	memcpy(&back[1], input.ended, sizeof(ended));
	name_ended(world, back, 1025, 2000);
	input = gather(world, "gpu-a", 2000);
	assert_int_equal(input.n_ended, 1024);
	assert_true(view_is_found(VIEW("u1023"), input.ended, input.n_ended));
}

static void every_object_is_met_once_on_a_walk(void **state)
{
	struct world *world = *state;

	assert_null(inventory_next_attribution(world->inventory, NULL));
	put_attribution(world, "gpu-a", 1);
	const struct attribution *object = inventory_next_attribution(world->inventory, NULL);
	assert_true(view_equal(object->name, VIEW(NAME_A)));
	assert_null(inventory_next_attribution(world->inventory, object));
}

static void without_memory_nothing_is_gathered(void **state)
{
	struct world *world = *state;
	struct report report = report_of("gpu-a", true, "u1");
	struct view named = VIEW("u9"), other = VIEW("n");
	const struct debounce_seen doubt = {1, 2};
	const struct recall ending = {.ended = &other, .n_ended = 1};
	const struct recall doubting = {.debounced = &doubt, .n_debounced = 1};
	struct error err;
	bool failed = true;

	put_report(world, &report, 1000);
	put_claimer(world, "u1", "c", 1);
	put_claim(world, "u1", 1);
	put_slice(world, "gpu-a", 1, 1);
	put_attribution(world, "gpu-a", 1);
	name_ended(world, &named, 1, 1000);
	const struct inventory_parts parts = inventory_parts(world->inventory);
	for (size_t cap = 0; failed; cap += 8) {
		struct join_input input = {.node_name = VIEW("before")};
		struct arena arena;

		arena_init(&arena, cap);
		failed = gather_node(&parts, VIEW("gpu-a"), 1000, &arena, &input, &err) < 0;
		arena_deinit(&arena);
		assert_true(view_equal(input.node_name, failed ? VIEW("before") : VIEW("gpu-a")));
		assert_int_equal(input.n_pods, failed ? 0 : 1);
		assert_int_equal(input.n_grants, failed ? 0 : 1);
	}
	failing_malloc_at(1);
	assert_int_equal(
		inventory_place_keep_recall(world->inventory, VIEW("gpu-a"), &ending, 1000, &err),
		-1);
	assert_true(failing_malloc_off());
	assert_int_equal(gather(world, "gpu-a", 1000).n_ended, 1);
	failing_malloc_at(1);
	assert_int_equal(
		inventory_place_keep_recall(world->inventory, VIEW("gpu-a"), &doubting, 1000, &err),
		-1);
	assert_true(failing_malloc_off());
	assert_int_equal(gather(world, "gpu-a", 1000).n_debounced, 0);
}

static void an_object_is_found_by_its_name(void **state)
{
	struct world *world = *state;

	assert_null(find_attribution(world->inventory, VIEW(NAME_A)));
	put_attribution(world, "gpu-a", 1);
	const struct attribution *found = find_attribution(world->inventory,
								     VIEW(NAME_A));
	assert_non_null(found);
	assert_true(view_equal(found->uuid, VIEW(UUID_A)));
	assert_null(find_attribution(world->inventory, VIEW("gpu-other")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		policies_that_may_be_read_no_more_are_not_known, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		policies_of_another_version_are_not_known, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_claim_grants_its_device_in_whatever_order_things_come,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_changes_of_claims_and_slices_touches_their_nodes,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pod_of_a_reused_name_inherits_no_claim, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(no_node_describes_the_devices_of_another, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_newer_generation_that_is_not_whole_makes_the_pool_unknown,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(grants_are_unknown_until_claims_and_slices_are_here, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_claim_that_is_not_here_is_lacking_while_its_pod_lives,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_cannot_be_used_is_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_kind_is_initial_until_it_has_been_synced_itself,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_first_complete_state_of_each_kind_touches_all, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_node_is_missed_since_nodes_are_known_whenever_the_rest_is,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_end_releases_the_reports_and_touches_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_is_wanted_is_so_until_it_is_put, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_asked_for_outlives_the_list_unless_it_is_an_older_event, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_change_of_policies_touches_every_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_a_node_without_a_report_nothing_of_one_is_known, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_report_touches_the_holder_of_each_device_and_each_rival_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_report_that_there_is_no_memory_for_leaves_nothing_behind,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_node_has_the_pods_that_the_api_places_on_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_is_scheduled_later_comes_to_its_node, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(only_nodes_with_a_report_or_objects_are_touched, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_pod_without_gpu_touches_its_node_only_if_the_report_names_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_event_that_changes_no_fact_touches_nothing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_older_event_never_overwrites_a_newer_one, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_a_complete_list_lacks_is_gone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_list_that_breaks_off_removes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_uid_of_a_deleted_pod_is_remembered_as_ended, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_end_of_a_pod_is_as_old_as_when_it_was_told, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_runs_again_has_not_ended_before, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_new_uid_under_the_same_name_ends_the_old_one, set_up,
					tear_down),
	cmocka_unit_test_set_up(a_week_of_pods_that_come_and_go_leaves_no_memory_behind),
	cmocka_unit_test_setup_teardown(
		an_ended_uid_is_forgotten_when_no_join_names_it_for_two_minutes, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_report_is_released_when_a_newer_one_replaces_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_unchanged_report_only_starts_its_age_anew, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_hour_of_changing_figures_touches_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(figures_of_another_report_are_dropped, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_join_knows_when_the_list_was_read_last, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_join_knows_whose_start_was_told_after_the_list, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		the_restart_since_which_a_list_was_complete_outlives_reports, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		since_when_slots_are_counted_as_now_outlives_reports, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_doubt_is_as_old_as_its_first_join_and_forgotten_when_the_last_is_without_it,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_heartbeat_touches_the_node_whose_last_join_waits_for_one,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_report_its_age_counts_from_the_first_question,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_name_that_the_api_places_on_another_node_is_foreign,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_was_refused_is_new_once_for_each_content_of_a_report,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_uid_that_the_api_places_on_another_node_is_elsewhere,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_touches_its_holder_and_those_that_report_the_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_nvml_the_books_name_the_objects, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_nvml_the_api_names_the_objects_too, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_report_it_is_told_whether_the_api_names_the_device_elsewhere, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_device_that_is_no_longer_reported_is_no_longer_claimed,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_is_gone_since_its_deletion_but_at_most_since_the_first_sync, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_gone_node_is_gone_since_it_was_first_asked_for, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_is_not_there_ended_before_the_first_list, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(whoever_orders_reports_is_told_of_a_nodes_boots, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_oldest_policy_counts_then_the_lowest_name, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(layouts_that_a_mig_manager_made_are_those_of_its_node_alone,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(layouts_of_nodes_that_a_list_lacks_are_gone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_the_layouts_of_a_node_stay_as_they_were, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_config_maps_say_touches_every_node_when_it_is_news, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(gpu_clusters_are_counted_beside_the_policies, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(gpu_clusters_that_cannot_be_read_are_said_to_be_so, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_kind_that_does_not_exist_is_known_and_empty, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_old_touches_every_node_when_that_is_news, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_comes_before_the_first_sync_is_initial_and_what_comes_after_is_not, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(without_memory_nothing_leaks_and_nothing_is_half_there,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(ended_uids_that_a_join_borrowed_can_be_given_back, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(every_object_is_met_once_on_a_walk, set_up, tear_down),
	cmocka_unit_test_set_up(a_heartbeat_that_confirms_a_reset_touches_its_node),
	cmocka_unit_test_set_up(a_reset_of_a_node_that_was_forgotten_is_not_seen),
	cmocka_unit_test_setup_teardown(without_memory_nothing_is_gathered, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_node_that_is_heard_of_after_a_long_silence_is_touched,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_a_forgotten_report_said_is_released_and_no_longer_claimed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_owner_that_has_not_reported_since_the_start_is_waited_for, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_without_an_object_is_contested_by_a_more_recent_report, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_report_of_another_boot_says_that_the_last_one_was_before_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_report_of_another_instance_says_when_the_last_one_was_heard_of, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_report_is_of_a_former_boot_when_the_node_names_another_one_after_it, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		the_first_report_is_of_no_former_boot_whatever_the_node_named_before_it, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(an_object_is_found_by_its_name, set_up, tear_down),
};

TEST_MAIN(tests)
