/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/drifting.h"

#define MAX_DEVICES 4

static struct arena arena;
static struct attribution devices[MAX_DEVICES];
static const struct attribution *listed[MAX_DEVICES];
static struct attribution_drift drifts[MAX_DEVICES][4];
static struct attribution_pending_drift pending[MAX_DEVICES][4];

/* Devices in sync on gpu-a, whose agent reports. */
static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1u << 20);
	for (size_t i = 0; i < MAX_DEVICES; i++) {
		devices[i] = (struct attribution){
			.status = {.node_name = VIEW("gpu-a"),
				   .report_state = ATTRIBUTION_REPORT_CURRENT,
				   .intent = {.state = ATTRIBUTION_INTENT_IN_SYNC}}};
		listed[i] = &devices[i];
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static void drift(size_t device, const char *type, int severity, int64_t since)
{
	struct attribution_intent_state *intent = &devices[device].status.intent;
	uint32_t n = intent->drifts.count;
	drifts[device][n] = (struct attribution_drift){
		.type = view_from(type), .severity = severity, .start_time = since};
	intent->drifts = array_of(drifts[device], n + 1);
	intent->state = ATTRIBUTION_INTENT_DRIFTED;
}

static void wait_for(size_t device, const char *type, int64_t since)
{
	struct attribution_intent_state *intent = &devices[device].status.intent;
	uint32_t n = intent->pending.count;
	pending[device][n] = (struct attribution_pending_drift){view_from(type), since};
	intent->pending = array_of(pending[device], n + 1);
	if (intent->drifts.count == 0)
		intent->state = ATTRIBUTION_INTENT_SETTLING;
}

static struct drifting find(size_t n_devices)
{
	struct drifting found;
	struct error err;
	assert_int_equal(drifting_find(listed, n_devices, &arena, &found, &err), 0);
	return found;
}

static void assert_row(const struct drifting *found, size_t row, const char *type, size_t n_devices)
{
	assert_true(row < found->n_rows);
	assert_true(view_equal(found->rows[row].drift->type, view_from(type)));
	assert_int_equal(found->rows[row].n_devices, n_devices);
}

enum {
	CRITICAL = ATTRIBUTION_SEVERITY_CRITICAL,
	WARNING = ATTRIBUTION_SEVERITY_WARNING,
	INFO = ATTRIBUTION_SEVERITY_INFO,
};

static void what_is_found_once_a_node_is_one_row_and_the_rest_one_for_each_device(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		drift(i, "ConfigNotLoaded", WARNING, 100);
		drift(i, "SharingMode", WARNING, 100);
	}
	struct drifting found = find(3);
	assert_int_equal(found.n_rows, 4);
	assert_row(&found, 0, "ConfigNotLoaded", 3);
	assert_true(found.rows[0].is_of_node);
	for (size_t i = 0; i < 3; i++) {
		assert_row(&found, 1 + i, "SharingMode", 1);
		assert_ptr_equal(found.rows[1 + i].devices[0], listed[i]);
		assert_false(found.rows[1 + i].is_of_node);
	}
	assert_int_equal(found.n_drifted, 3);
}

static void each_node_has_its_own_rows(void **state)
{
	(void)state;
	devices[1].status.node_name = VIEW("gpu-b");
	devices[2].status.node_name = devices[3].status.node_name = (struct view){0};
	for (size_t i = 0; i < 4; i++)
		drift(i, "PluginMissing", CRITICAL, 100);
	struct drifting found = find(4);
	assert_int_equal(found.n_rows, 4); /* nodes that are not known need not be one */
}

static void the_worst_comes_first_then_the_node_then_what_lasts_longest_and_what_is_pending_last(
	void **state)
{
	(void)state;
	static const char *const order[] = {"MPSNotRunning", "DriverVersion", "SharingMode",
					    "ReplicaCount",  "ConfigDead",    "PluginMissing",
					    "LabelsStale"};
	drift(0, "ConfigDead", INFO, 1);
	drift(0, "SharingMode", WARNING, 10);
	drift(0, "DriverVersion", WARNING, 900);
	wait_for(0, "PluginMissing", 5);
	drift(1, "ReplicaCount", WARNING, 20);
	drift(1, "MPSNotRunning", CRITICAL, 1000);
	wait_for(1, "LabelsStale", 7);
	struct drifting found = find(2);
	assert_int_equal(found.n_rows, ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_row(&found, i, order[i], 1);
	assert_int_equal(found.n_drifts, 5);
	assert_true(found.rows[5].is_pending && found.rows[6].is_pending);
}

/* Their severity is a word that this version does not know. */
static void what_is_pending_comes_last_of_all(void **state)
{
	(void)state;
	wait_for(0, "PluginMissing", 1);
	drift(0, "ConfigDead", ATTRIBUTION_SEVERITY_UNSET, 2);
	wait_for(1, "ConfigDead", 1);
	struct drifting found = find(2);
	assert_int_equal(found.n_drifts, 1);
	assert_int_equal(found.n_rows, 3);
	assert_row(&found, 0, "ConfigDead", 1);
	assert_false(found.rows[0].is_pending);
}

static void work_of_which_a_label_tells_is_one_row_of_the_node(void **state)
{
	(void)state;
	wait_for(0, "MIGReconfiguration", 1);
	wait_for(1, "MIGReconfiguration", 1);
	struct drifting found = find(2);
	assert_int_equal(found.n_rows, 1);
	assert_row(&found, 0, "MIGReconfiguration", 2);
}

static void what_a_newer_controller_finds_is_a_row_of_the_device(void **state)
{
	(void)state;
	drift(0, "NewWord", WARNING, 1);
	drift(1, "NewWord", WARNING, 1);
	struct drifting found = find(2);
	assert_int_equal(found.n_rows, 2);
	assert_false(found.rows[0].is_of_node);
}

static void a_device_without_a_verdict_is_no_device_without_drift(void **state)
{
	(void)state;
	static const struct {
		int intent, report;
		size_t n_unknown, n_settling;
	} rows[] = {
		{ATTRIBUTION_INTENT_IN_SYNC, ATTRIBUTION_REPORT_CURRENT, 0, 0},
		{ATTRIBUTION_INTENT_UNMANAGED, ATTRIBUTION_REPORT_CURRENT, 0, 0},
		{ATTRIBUTION_INTENT_SETTLING, ATTRIBUTION_REPORT_CURRENT, 0, 1},
		{ATTRIBUTION_INTENT_UNKNOWN, ATTRIBUTION_REPORT_CURRENT, 1, 0},
		{ATTRIBUTION_INTENT_UNSET, ATTRIBUTION_REPORT_CURRENT, 1, 0},
		{ATTRIBUTION_INTENT_UNKNOWN, ATTRIBUTION_REPORT_STALE, 1, 0},
		{ATTRIBUTION_INTENT_IN_SYNC, ATTRIBUTION_REPORT_STALE, 1, 0},
		{ATTRIBUTION_INTENT_UNSET, ATTRIBUTION_REPORT_UNSET, 1, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		devices[0].status.intent.state = rows[i].intent;
		devices[0].status.report_state = rows[i].report;
		struct drifting found = find(1);
		assert_int_equal(found.n_unknown, rows[i].n_unknown);
		assert_int_equal(found.n_settling, rows[i].n_settling);
		assert_int_equal(found.n_rows + found.n_drifted, 0);
	}
}

static void what_a_silent_node_had_is_listed_as_last_known(void **state)
{
	(void)state;
	drift(0, "DriverVersion", WARNING, 1);
	devices[0].status.intent.state = ATTRIBUTION_INTENT_UNKNOWN;
	devices[0].status.report_state = ATTRIBUTION_REPORT_STALE;
	struct drifting found = find(1);
	assert_int_equal(found.n_drifts, 1);
	assert_true(found.rows[0].is_last_known);
	assert_int_equal(found.n_silent, 1);
	assert_int_equal(found.n_unknown, 0);
	assert_int_equal(find(0).n_rows, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		what_is_found_once_a_node_is_one_row_and_the_rest_one_for_each_device, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(each_node_has_its_own_rows, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_worst_comes_first_then_the_node_then_what_lasts_longest_and_what_is_pending_last,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_pending_comes_last_of_all, set_up, tear_down),
	cmocka_unit_test_setup_teardown(work_of_which_a_label_tells_is_one_row_of_the_node,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_a_newer_controller_finds_is_a_row_of_the_device,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_device_without_a_verdict_is_no_device_without_drift,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_a_silent_node_had_is_listed_as_last_known, set_up,
					tear_down),
};
TEST_MAIN(tests)
