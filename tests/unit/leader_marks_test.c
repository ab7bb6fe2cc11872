/* SPDX-License-Identifier: Apache-2.0 */

/* Every view, once while nobody leads and once otherwise. */

#include "lib/test_main.h"

#include <string.h>

#include "kubectl/device_view.h"
#include "kubectl/drifting_view.h"
#include "kubectl/failing_view.h"
#include "kubectl/fleet_view.h"
#include "kubectl/idle_view.h"
#include "kubectl/node_summary.h"
#include "kubectl/node_view.h"
#include "kubectl/pod_view.h"
#include "kubectl/text_table.h"
#include "kubectl/why_view.h"
#include "lib/gpu_world.h"

#define TWO_MINUTES 120000

typedef void (*list_view_fn)(struct output *output, const struct attribution *const *devices, size_t n);

static void show_list(struct output *output, list_view_fn view)
{
	CLEANUP(device_list_deinit) struct device_list list;
	gpu_world_devices(&list);
	output->uuids = gpu_world_uuids();
	view(output, list.devices, list.n_devices);
}

static void show_fleet(struct output *output)
{
	show_list(output, fleet_view);
}

static void show_nodes(struct output *output)
{
	output->is_many = true;
	show_list(output, node_view);
}

static void show_summary(struct output *output)
{
	show_list(output, node_summary);
}

static void show_pods(struct output *output)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(pod_list_deinit) struct pod_list pods;
	struct assignment_set set;
	struct error err;
	gpu_world_devices(&list);
	gpu_world_pods(&pods);
	output->uuids = gpu_world_uuids();
	output->is_many = output->all_namespaces = true;
	assert_int_equal(assignment_init(&set, &pods.arena, 16, &err), 0);
	set.is_everybody = true;
	assignment_seal(&set);
	assert_int_equal(assignment_fill(&set, list.devices, list.n_devices, &err), 0);
	pod_view(output, &set);
}

static void show_failing(struct output *output)
{
	CLEANUP(device_list_deinit) struct device_list list;
	struct failing failing;
	struct error err;
	gpu_world_trouble(&list);
	output->uuids = gpu_world_uuids();
	assert_int_equal(failing_find(list.devices, list.n_devices, &list.arena, &failing, &err), 0);
	failing_view(output, &failing);
}

static void show_idle(struct output *output)
{
	CLEANUP(device_list_deinit) struct device_list list;
	struct idle idle;
	struct error err;
	gpu_world_trouble(&list);
	output->uuids = gpu_world_uuids();
	assert_int_equal(idle_find(list.devices, list.n_devices, true, &list.arena, &idle, &err), 0);
	idle_view(output, &idle);
}

static void show_drift(struct output *output)
{
	CLEANUP(device_list_deinit) struct device_list list;
	struct drifting drifting;
	struct error err;
	gpu_world_drift(&list);
	output->uuids = gpu_world_uuids();
	assert_int_equal(drifting_find(list.devices, list.n_devices, &list.arena, &drifting, &err), 0);
	drifting_view(output, &drifting);
}

static void show_device(struct output *output, const char *uuid)
{
	CLEANUP(device_list_deinit) struct device_list list;
	gpu_world_devices(&list);
	output->uuids = gpu_world_uuids();
	device_view(output, gpu_world_device(&list, uuid));
}

static void show_failed_device(struct output *output)
{
	show_device(output, "GPU-11ba9c1d");
}

static void show_silent_device(struct output *output)
{
	show_device(output, "GPU-77770000");
}

static void show_shared_device(struct output *output)
{
	show_device(output, "GPU-3f1a0000");
}

static void show_why(struct output *output)
{
	CLEANUP(device_list_deinit) struct device_list list;
	struct error err;
	gpu_world_drift(&list);
	const struct why_view_subject subject = {gpu_world_device(&list, "GPU-aaaa1111"), {0}};
	assert_int_equal(why_view(output, &subject, 1, &list.arena, &err), 0);
}

static const struct {
	const char *screen;
	void (*show)(struct output *output);
	bool is_table;
} rows[] = {
	{"no_leader_fleet", show_fleet, true},
	{"no_leader_nodes", show_nodes, true},
	{"no_leader_summary", show_summary, true},
	{"no_leader_pods", show_pods, true},
	{"no_leader_failing", show_failing, true},
	{"no_leader_idle", show_idle, true},
	{"no_leader_drift", show_drift, true},
	{"no_leader_device_failed", show_failed_device, false},
	{"no_leader_device_silent", show_silent_device, false},
	{"no_leader_device_shared", show_shared_device, false},
	{"no_leader_why", show_why, false},
};

static void show(size_t row, enum leader_state state, enum output_form form, struct output *ret_output)
{
	output_init(ret_output, form, GPU_WORLD_NOW);
	ret_output->leader.state = state;
	if (state == LEADER_NONE)
		ret_output->leader.ended_at = GPU_WORLD_NOW - TWO_MINUTES;
	leader_note(&ret_output->leader, "gpus", ret_output);
	rows[row].show(ret_output);
}

static void while_nobody_leads_each_view_shows_so(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(output_deinit) struct output output;
		show(i, LEADER_NONE, OUTPUT_TABLE, &output);
		gpu_world_assert_screen(&output, rows[i].screen);
	}
}

/* Lines that begin with a blank belong to the one above them. */
static void assert_marked(const char *text, size_t width)
{
	const char *line = text + strcspn(text, "\n") + 1;
	assert_true(line[0]);
	for (; line[0]; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");
		if (line[0] != ' ' && !memchr(line, '*', len))
			fail_msg("not marked: %.*s", (int)len, line);
		if (len > width)
			fail_msg("%zu columns: %.*s", len, (int)len, line);
	}
}

static void while_nobody_leads_each_line_of_a_table_is_marked_and_none_is_too_wide(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(output_deinit) struct output narrow;
		CLEANUP(output_deinit) struct output wide;
		show(i, LEADER_NONE, OUTPUT_TABLE, &narrow);
		show(i, LEADER_NONE, OUTPUT_WIDE, &wide);
		if (!rows[i].is_table)
			continue;
		assert_marked(sbuf_text(&narrow.body), TEXT_TABLE_WIDTH);
		assert_marked(sbuf_text(&wide.body), SIZE_MAX);
	}
}

static void where_it_is_not_known_who_leads_all_is_as_under_a_leader(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(output_deinit) struct output led;
		CLEANUP(output_deinit) struct output unknown;
		CLEANUP(output_deinit) struct output unled;
		show(i, LEADER_PRESENT, OUTPUT_TABLE, &led);
		show(i, LEADER_UNKNOWN, OUTPUT_TABLE, &unknown);
		show(i, LEADER_NONE, OUTPUT_TABLE, &unled);
		assert_string_equal(sbuf_text(&led.body), sbuf_text(&unknown.body));
		assert_int_equal(led.notes.len, unknown.notes.len);
		assert_string_not_equal(sbuf_text(&led.body), sbuf_text(&unled.body));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(while_nobody_leads_each_view_shows_so),
	cmocka_unit_test(while_nobody_leads_each_line_of_a_table_is_marked_and_none_is_too_wide),
	cmocka_unit_test(where_it_is_not_known_who_leads_all_is_as_under_a_leader),
};
TEST_MAIN(tests)
