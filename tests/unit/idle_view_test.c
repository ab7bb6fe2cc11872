/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/idle_view.h"

#include "kubectl/words.h"
#include "lib/gpu_world.h"

typedef void (*view_fn)(struct output *output, const struct idle *idle);

static void assert_view(view_fn view, enum output_form form, int64_t now, bool is_all,
			const char *screen)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct idle idle;
	struct error err;
	gpu_world_trouble(&list);
	assert_int_equal(idle_find(list.devices, list.n_devices, is_all, &list.arena, &idle, &err), 0);
	output_init(&output, form, now);
	output.uuids = gpu_world_uuids();
	view(&output, &idle);
	gpu_world_assert_screen(&output, screen);
}

static void what_is_held_and_idle_is_a_line_with_its_holders(void **state)
{
	(void)state;
	assert_view(idle_view, OUTPUT_TABLE, GPU_WORLD_NOW, false, "idle");
}

static void all_has_also_what_nobody_holds(void **state)
{
	(void)state;
	assert_view(idle_view, OUTPUT_TABLE, GPU_WORLD_NOW, true, "idle_all");
}

static void a_watched_table_has_times(void **state)
{
	(void)state;
	assert_view(idle_view, OUTPUT_TABLE, WORDS_NO_NOW, false, "idle_watched");
}

static void wide_has_all_holders_and_the_evidence(void **state)
{
	(void)state;
	assert_view(idle_view, OUTPUT_WIDE, GPU_WORLD_NOW, false, "idle_wide");
}

static void json_has_the_partition_and_who_holds_it(void **state)
{
	(void)state;
	assert_view(idle_view_json, OUTPUT_JSON, GPU_WORLD_NOW, false, "idle_json");
}

static void a_device_of_which_several_partitions_are_idle_is_named_once(void **state)
{
	(void)state;
	assert_view(idle_view_names, OUTPUT_NAME, GPU_WORLD_NOW, true, "idle_names");
}

static void only_a_table_with_partitions_has_columns_for_them(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	const struct attribution device = {.uuid = VIEW("GPU-1"), .status.tenant_count = -1};
	struct idle_row row = {.device = &device};
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	idle_view(&output, &(struct idle){.rows = &row, .n_rows = 1});
	assert_string_equal(sbuf_text(&output.body),
			    "GPU     NODE   IDLE SINCE   MODEL   MODE   SLOTS   HELD BY   WORKLOAD\n"
			    "GPU-1   ?      ?            ?       ?      0/0     ?         -\n");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_held_and_idle_is_a_line_with_its_holders),
	cmocka_unit_test(all_has_also_what_nobody_holds),
	cmocka_unit_test(a_watched_table_has_times),
	cmocka_unit_test(wide_has_all_holders_and_the_evidence),
	cmocka_unit_test(json_has_the_partition_and_who_holds_it),
	cmocka_unit_test(a_device_of_which_several_partitions_are_idle_is_named_once),
	cmocka_unit_test(only_a_table_with_partitions_has_columns_for_them),
};
TEST_MAIN(tests)
