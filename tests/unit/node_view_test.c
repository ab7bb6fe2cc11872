/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/node_view.h"
#include "lib/gpu_world.h"

static void assert_node(enum output_form form, bool is_many, size_t n, const char *screen)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	gpu_world_devices(&list);
	output_init(&output, form, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	output.is_many = is_many;
	node_view(&output, list.devices, n ? n : list.n_devices);
	gpu_world_assert_screen(&output, screen);
}

static void each_tenant_has_a_line_and_so_has_a_device_without(void **state)
{
	(void)state;
	assert_node(OUTPUT_TABLE, true, 0, "nodes");
}

static void a_node_alone_needs_no_column(void **state)
{
	(void)state;
	assert_node(OUTPUT_TABLE, false, 2, "node");
}

static void wide_adds_uids_and_resources(void **state)
{
	(void)state;
	assert_node(OUTPUT_WIDE, true, 0, "nodes_wide");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_tenant_has_a_line_and_so_has_a_device_without),
	cmocka_unit_test(a_node_alone_needs_no_column),
	cmocka_unit_test(wide_adds_uids_and_resources),
};
TEST_MAIN(tests)
