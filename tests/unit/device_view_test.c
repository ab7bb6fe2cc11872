/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/device_view.h"
#include "lib/gpu_world.h"

typedef void (*view_fn)(struct output *output, const struct attribution *device);

static void assert_device(view_fn view, const char *start, const char *screen)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	gpu_world_devices(&list);
	output_init(&output, view == device_view_json ? OUTPUT_JSON : OUTPUT_TABLE, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	view(&output, gpu_world_device(&list, start));
	gpu_world_assert_screen(&output, screen);
}

static void an_error_event_names_who_was_there(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-11ba9c1d", "device_failed");
}

static void partitions_say_who_holds_them(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-77770000", "device_mig");
}

static void shared_devices_show_all_that_there_is(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-3f1a0000", "device_shared");
}

static void utilisation_under_mps_and_time_slicing_is_said_to_be_the_devices(void **state)
{
	(void)state;
	static const struct {
		int mode;
		int64_t n_tenants;
		const char *line;
	} rows[] = {
		{ATTRIBUTION_MODE_MPS, 4,
		 "Activity:        Unknown; utilisation belongs to the device, to none of its 4 "
		 "tenants\n"},
		{ATTRIBUTION_MODE_TIME_SLICED, 2,
		 "Activity:        Unknown; utilisation belongs to the device, to none of its 2 "
		 "tenants\n"},
		{ATTRIBUTION_MODE_MPS, 1, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_TIME_SLICED, -1, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_EXCLUSIVE, 2, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_MIG, 2, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_MIG_TIME_SLICED, 2, "Activity:        Unknown\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct attribution device = {
			.uuid = VIEW("GPU-1"),
			.status = {.sharing.mode = rows[i].mode,
				   .tenant_count = rows[i].n_tenants,
				   .activity = {.state = ATTRIBUTION_ACTIVITY_UNKNOWN,
						.scope = ATTRIBUTION_SCOPE_DEVICE}}};
		CLEANUP(output_deinit) struct output output;
		struct error err;
		output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
		output.uuids = gpu_world_uuids();
		device_view(&output, &device);
		assert_int_equal(output_finish(&output, &err), 0);
		sbuf_append_char(&output.body, '\0');
		if (!strstr(output.body.ptr, rows[i].line))
			fail_msg("no %s in %s", rows[i].line, output.body.ptr);
	}
}

/* Its end is that of the report: an agent that was away later is told with the next change only. */
static void it_is_said_from_when_until_when_no_error_can_have_been_missed(void **state)
{
	(void)state;
	static const struct {
		int64_t since, until;
		const char *line;
	} rows[] = {
		{GPU_WORLD_NOW - 4 * 60000, GPU_WORLD_NOW - 65000,
		 "  Errors:        all are known from 2026-01-02T03:00:05Z (4m ago)\n"
		 "                 until 2026-01-02T03:03:00Z (65s ago), the report of this status\n"
		 "Activity:"},
		{GPU_WORLD_NOW - 4 * 60000, 0,
		 "  Errors:        all are known from 2026-01-02T03:00:05Z (4m ago)\n"
		 "                 until ?, the report of this status\n"
		 "Activity:"},
		{0, GPU_WORLD_NOW - 65000, "  Errors:        not all may be known\nActivity:"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct attribution device = {
			.uuid = VIEW("GPU-1"),
			.status = {.report.observation_time = rows[i].until,
				   .health = {.state = ATTRIBUTION_HEALTH_UNHEALTHY,
					      .events_since = rows[i].since}}};
		CLEANUP(output_deinit) struct output output;
		struct error err;
		output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
		output.uuids = gpu_world_uuids();
		device_view(&output, &device);
		assert_int_equal(output_finish(&output, &err), 0);
		if (!strstr(sbuf_text(&output.body), rows[i].line))
			fail_msg("no %s in %s", rows[i].line, output.body.ptr);
	}
}

#define ONE(item) {(void *)(uintptr_t)&(item), 1, true}

static const struct attribution_tenant a_tenant = {.pod_uid = VIEW_INIT("u")};
static const struct attribution_user a_user = {.command = VIEW_INIT("p"), .pid = 1,
					       .pod_uid = VIEW_INIT("0123456789")};
static const struct view an_id = VIEW_INIT("nvidia7");
static const struct attribution_unplaced an_unplaced = {
	.pod_uid = VIEW_INIT("u"), .device_ids = ONE(an_id), .device_ids_left_out = 3};
static const struct attribution_statement a_statement = {
	.witness = VIEW_INIT("Checkpoint"), .device_ids = ONE(an_id), .device_ids_left_out = 4};
static const struct attribution_disagreement a_disagreement = {.container = VIEW_INIT("c"),
							       .says = ONE(a_statement)};
static const struct attribution_event_tenant two_pods[] = {{.pod_uid = VIEW_INIT("a")},
							   {.pod_uid = VIEW_INIT("b")}};
static const struct attribution_health_event an_event = {
	.tenants = {(void *)(uintptr_t)two_pods, 2, true}, .tenants_left_out = 5};
static const struct attribution_partition a_partition = {.uuid = VIEW_INIT("MIG-1")};

static void what_is_left_out_and_what_is_not_known_is_said_in_each_section(void **state)
{
	(void)state;
	static const struct {
		struct attribution_status status;
		const char *there, *missing;
	} rows[] = {
		{{.tenants = ONE(a_tenant), .tenants_left_out = 6}, "\n  and 6 more\n", NULL},
		{{.unallocated_users = ONE(a_user), .unallocated_users_left_out = 7},
		 "\n  and 7 more\n", "<host>"},
		{{.unallocated_users = ONE(a_user)}, " uid/01234567 ", " more\n"},
		{{.unplaced_tenants = ONE(an_unplaced), .unplaced_tenants_left_out = 8},
		 "\n  and 8 more\n", NULL},
		{{.unplaced_tenants = ONE(an_unplaced)}, " nvidia7 +3\n", " more\n"},
		{{.source_disagreements = ONE(a_disagreement), .source_disagreements_left_out = 9},
		 "\n  and 9 more\n", NULL},
		{{.source_disagreements = ONE(a_disagreement)},
		 " Checkpoint: 0 slots (nvidia7 +4)\n", " more\n"},
		{{.health.events = ONE(an_event)}, " uid/a (left), uid/b (left) +5\n", NULL},
		{{.activity = {.state = ATTRIBUTION_ACTIVITY_IDLE,
			       .last_transition_time = GPU_WORLD_NOW - 1000,
			       .idle_since = GPU_WORLD_NOW - 601000}},
		 "Idle for 10m\n", NULL},
		{{.activity = {.state = ATTRIBUTION_ACTIVITY_UNKNOWN,
			       .reason = VIEW_INIT("MIGNotMeasured"),
			       .last_transition_time = GPU_WORLD_NOW - 1000}},
		 "Unknown (MIGNotMeasured) for 1s\n", NULL},
		{{.unknown_processes = 2}, "2 on the device; whose they are is not known\n", NULL},
		{{.partitions = ONE(a_partition), .tenant_count = 0}, "  <none>\n", NULL},
		{{.partitions = ONE(a_partition), .tenant_count = -1}, "  ?\n", "<none>"},
		{{.device = {.index = 1, .minor = 2}}, "\nMinor:           2\n", NULL},
		{{.intent = {.state = ATTRIBUTION_INTENT_IN_SYNC, .policy = VIEW_INIT("p")}},
		 "InSync, compared with ClusterPolicy p\n", NULL},
		{{.activity = {.state = ATTRIBUTION_ACTIVITY_IDLE,
			       .last_transition_time = GPU_WORLD_NOW - 1000,
			       .scope = ATTRIBUTION_SCOPE_PARTITION}},
		 "Idle for 1s\n", NULL},
		{{.activity = {.state = ATTRIBUTION_ACTIVITY_IDLE,
			       .last_transition_time = GPU_WORLD_NOW - 1000,
			       .scope = ATTRIBUTION_SCOPE_DEVICE}},
		 "Idle for 1s (of the device, and of no single tenant)\n", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct attribution device = {.uuid = VIEW("GPU-1"), .status = rows[i].status};
		CLEANUP(output_deinit) struct output output;
		output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
		output.uuids = gpu_world_uuids();
		device_view(&output, &device);
		const char *text = sbuf_text(&output.body);
		if (!strstr(text, rows[i].there) ||
		    (rows[i].missing && strstr(text, rows[i].missing)))
			fail_msg("row %zu: %s", i, text);
	}
}

static void a_device_of_which_nothing_is_known_is_all_question_marks(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-99990000", "device_unknown");
}

static void json_has_the_object_as_the_api_has_it(void **state)
{
	(void)state;
	assert_device(device_view_json, "GPU-11ba9c1d", "device_json");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_error_event_names_who_was_there),
	cmocka_unit_test(partitions_say_who_holds_them),
	cmocka_unit_test(shared_devices_show_all_that_there_is),
	cmocka_unit_test(it_is_said_from_when_until_when_no_error_can_have_been_missed),
	cmocka_unit_test(utilisation_under_mps_and_time_slicing_is_said_to_be_the_devices),
	cmocka_unit_test(what_is_left_out_and_what_is_not_known_is_said_in_each_section),
	cmocka_unit_test(a_device_of_which_nothing_is_known_is_all_question_marks),
	cmocka_unit_test(json_has_the_object_as_the_api_has_it),
};
TEST_MAIN(tests)
