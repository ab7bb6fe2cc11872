/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/drifting_view.h"

#include "kubectl/words.h"
#include "lib/gpu_world.h"

typedef void (*view_fn)(struct output *output, const struct drifting *drifting);

static void assert_view(view_fn view, enum output_form form, int64_t now, const char *screen)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct drifting drifting;
	struct error err;
	gpu_world_drift(&list);
	assert_int_equal(drifting_find(list.devices, list.n_devices, &list.arena, &drifting, &err), 0);
	output_init(&output, form, now);
	output.uuids = gpu_world_uuids();
	view(&output, &drifting);
	gpu_world_assert_screen(&output, screen);
}

static void each_difference_is_a_line_and_what_is_of_the_node_is_one_for_all_its_devices(void **state)
{
	(void)state;
	assert_view(drifting_view, OUTPUT_TABLE, GPU_WORLD_NOW, "drift");
}

static void a_watched_table_has_times_and_the_same_width(void **state)
{
	(void)state;
	assert_view(drifting_view, OUTPUT_TABLE, WORDS_NO_NOW, "drift_watched");
}

static void wide_has_what_is_pending_and_each_text_in_a_column(void **state)
{
	(void)state;
	assert_view(drifting_view, OUTPUT_WIDE, GPU_WORLD_NOW, "drift_wide");
}

static void json_has_the_devices_of_each_and_null_for_what_is_not_known(void **state)
{
	(void)state;
	assert_view(drifting_view_json, OUTPUT_JSON, GPU_WORLD_NOW, "drift_json");
}

static void names_are_those_of_devices_with_a_drift_each_once(void **state)
{
	(void)state;
	assert_view(drifting_view_names, OUTPUT_NAME, GPU_WORLD_NOW, "drift_names");
}

/* Texts of any length, and what moves a terminal's cursor. */
static void no_text_of_a_cluster_widens_or_forges_the_table(void **state)
{
	(void)state;
	static char longest[513];
	memset(longest, '\x1b', sizeof(longest) - 1);
	for (size_t i = 7; i < sizeof(longest) - 1; i += 8)
		longest[i] = i % 24 ? ' ' : '\n';
	const struct attribution_drift drift = {.type = {longest, 64},
						.severity = ATTRIBUTION_SEVERITY_WARNING,
						.intended = view_from(longest),
						.observed = view_from(longest),
						.message = view_from(longest)};
	const struct attribution device = {.uuid = {longest, 40},
					   .status = {.node_name = {longest, 253}}};
	const struct attribution *devices[] = {&device};
	struct drifting_row row = {.devices = devices, .n_devices = 1, .drift = &drift};
	const struct drifting drifting = {.rows = &row, .n_rows = 1, .n_drifts = 1};
	CLEANUP(output_deinit) struct output output;
	struct error err;
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	drifting_view(&output, &drifting);
	assert_int_equal(output_finish(&output, &err), 0);
	const char *text = sbuf_text(&output.body);
	assert_null(strchr(text, '\x1b'));
	assert_int_equal(text[0], 'N');
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(line[0] == 'N' || line[0] == '\\' || line[0] == ' ');
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_difference_is_a_line_and_what_is_of_the_node_is_one_for_all_its_devices),
	cmocka_unit_test(a_watched_table_has_times_and_the_same_width),
	cmocka_unit_test(wide_has_what_is_pending_and_each_text_in_a_column),
	cmocka_unit_test(json_has_the_devices_of_each_and_null_for_what_is_not_known),
	cmocka_unit_test(names_are_those_of_devices_with_a_drift_each_once),
	cmocka_unit_test(no_text_of_a_cluster_widens_or_forges_the_table),
};
TEST_MAIN(tests)
