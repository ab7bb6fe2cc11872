/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/node_summary.h"
#include "kubectl/output.h"
#include "lib/gpu_world.h"

enum { NODES = 100, PER_NODE = 8, DEVICES = NODES * PER_NODE };

static struct condition fresh[] = {{.type = VIEW_INIT("ReportFresh"), .status = CONDITION_TRUE},
				   {.type = VIEW_INIT("Ready"), .status = CONDITION_TRUE}};
static char names[NODES][64];
static struct attribution devices[DEVICES];
static const struct attribution *pointers[DEVICES];

/* Each node has two devices held, by three tenants, and two free slots on each of the others. */
static void make_fleet(void)
{
	for (size_t i = 0; i < DEVICES; i++) {
		size_t node = i / PER_NODE, index = i % PER_NODE;
		snprintf(names[node], sizeof(names[node]), "gpu-node-%03zu.europe-west4.example.com", node);
		devices[i] = (struct attribution){
			.status = {
				.node_name = view_from(names[node]),
				.tenant_count = index == 0 ? 2 : index == 1,
				.slots = {.total = 2, .allocated = index < 2 ? 2 : 0},
				.health.state = ATTRIBUTION_HEALTH_HEALTHY,
				.intent.state = ATTRIBUTION_INTENT_IN_SYNC,
				.report_state = ATTRIBUTION_REPORT_CURRENT,
				.conditions = {fresh, ARRAY_SIZE(fresh), true},
			},
		};
		pointers[i] = &devices[i];
	}
}

static void assert_line(const char *text, const char *expected)
{
	if (!strstr(text, expected))
		fail_msg("no \"%s\" in\n%s", expected, text);
}

static void eight_hundred_devices_are_a_line_for_each_of_a_hundred_nodes(void **state)
{
	(void)state;
	size_t n_lines = 0;
	CLEANUP(output_deinit) struct output output;
	make_fleet();
	devices[8].status.health.state = ATTRIBUTION_HEALTH_UNHEALTHY;
	devices[9].status.health.state = ATTRIBUTION_HEALTH_DEGRADED;
	devices[10].status.intent.state = ATTRIBUTION_INTENT_DRIFTED;
	for (size_t i = 0; i < PER_NODE; i++)
		devices[16 + i].status.report_state = ATTRIBUTION_REPORT_STALE;
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	node_summary(&output, pointers, DEVICES);
	const char *text = sbuf_text(&output.body);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1, n_lines++)
		assert_true(strcspn(line, "\n") <= 120);
	assert_int_equal(n_lines, 1 + NODES + 1);
	assert_line(text,
		    "NODE                                    "
		    "GPUS   HELD   FREE SLOTS   TENANTS   SICK   DRIFTED   SILENT\n"
		    "gpu-node-000.europe-west4.example.com "
		    "  8      2      12           3         0      0         0\n");
	assert_line(text,
		    "gpu-node-001.europe-west4.example.com "
		    "  8      2      12           3         2      1         0\n");
	assert_line(text,
		    "gpu-node-002.europe-west4.example.com "
		    "  8      2      12           3         0      0         8\n");
	assert_line(text,
		    "\n(all)                                 "
		    "  800    200    1200         300       2      1         8\n");
	assert_string_equal(sbuf_text(&output.notes),
			    "800 devices are summed up by node; to see them: kubectl gpus node NAME, or "
			    "kubectl gpus -o wide\n");
}

static void what_is_not_known_is_not_counted_as_none(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	make_fleet();
	for (size_t i = 0; i < 2; i++)
		devices[i].status = (struct attribution_status){
			.node_name = devices[i].status.node_name,
			.tenant_count = -1,
			.slots = {.total = -1, .allocated = -1},
		};
	for (size_t i = 8; i < 16; i++)
		devices[i].status.health.state = ATTRIBUTION_HEALTH_UNKNOWN;
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	node_summary(&output, pointers, 16);
	const char *text = sbuf_text(&output.body);
	assert_line(text,
		    "gpu-node-000.europe-west4.example.com "
		    "  8      ?      12+?         ?         ?      ?         2\n");
	assert_line(text,
		    "gpu-node-001.europe-west4.example.com "
		    "  8      2      12           3         ?      0         0\n");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(eight_hundred_devices_are_a_line_for_each_of_a_hundred_nodes),
	cmocka_unit_test(what_is_not_known_is_not_counted_as_none),
};
TEST_MAIN(tests)
