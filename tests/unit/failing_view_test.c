/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/failing_view.h"

#include "kubectl/printable.h"
#include "kubectl/words.h"
#include "lib/gpu_world.h"

typedef void (*view_fn)(struct output *output, const struct failing *failing);

static void find_failing(struct device_list *list, enum output_form form, int64_t now,
			 struct output *output, struct failing *failing)
{
	struct error err;
	gpu_world_trouble(list);
	assert_int_equal(failing_find(list->devices, list->n_devices, &list->arena, failing, &err), 0);
	output_init(output, form, now);
	output->uuids = gpu_world_uuids();
}

static void assert_view(view_fn view, enum output_form form, int64_t now, const char *screen)
{
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct failing failing;
	find_failing(&list, form, now, &output, &failing);
	view(&output, &failing);
	gpu_world_assert_screen(&output, screen);
}

static void each_device_that_fails_is_a_row_with_what_to_do(void **state)
{
	(void)state;
	assert_view(failing_view, OUTPUT_TABLE, GPU_WORLD_NOW, "failing");
}

static void a_watched_table_has_times_and_the_same_width(void **state)
{
	(void)state;
	assert_view(failing_view, OUTPUT_TABLE, WORDS_NO_NOW, "failing_watched");
}

static void wide_has_all_reasons_all_pods_and_the_hardware(void **state)
{
	(void)state;
	assert_view(failing_view, OUTPUT_WIDE, GPU_WORLD_NOW, "failing_wide");
}

static void json_has_the_event_and_null_for_what_is_not_known(void **state)
{
	(void)state;
	assert_view(failing_view_json, OUTPUT_JSON, GPU_WORLD_NOW, "failing_json");
}

static void names_are_in_the_order_of_the_table(void **state)
{
	(void)state;
	assert_view(failing_view_names, OUTPUT_NAME, GPU_WORLD_NOW, "failing_names");
}

/* The table, with ages or, as a watched one, with times. */
static void show_trouble(bool watched, struct output *ret_output)
{
	CLEANUP(device_list_deinit) struct device_list list;
	struct failing failing;
	struct error err;
	gpu_world_trouble(&list);
	assert_int_equal(failing_find(list.devices, list.n_devices, &list.arena, &failing, &err), 0);
	output_init(ret_output, OUTPUT_TABLE, watched ? WORDS_NO_NOW : GPU_WORLD_NOW);
	ret_output->uuids = gpu_world_uuids();
	failing_view(ret_output, &failing);
	assert_int_equal(output_finish(ret_output, &err), 0);
}

/* Here a reason and the tenants are so long that other columns must go. */
static void the_recovery_action_is_shown_in_the_width_of_a_terminal(void **state)
{
	(void)state;
	for (int watched = 0; watched <= 1; watched++) {
		CLEANUP(output_deinit) struct output output;
		show_trouble(watched, &output);
		const char *text = sbuf_text(&output.body);
		const char *action = strstr(text, "ACTION");
		assert_true(action && action - text < (ptrdiff_t)strcspn(text, "\n"));
		assert_non_null(strstr(text, "Reboot "));
		for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
			assert_true(printable_width((struct view){line, strcspn(line, "\n")}) <= 120);
	}
}

static void no_note_is_wider_than_a_terminal_but_of_wide(void **state)
{
	(void)state;
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output table;
	CLEANUP(output_deinit) struct output wide;
	struct failing failing;
	struct error err;
	find_failing(&list, OUTPUT_TABLE, WORDS_NO_NOW, &table, &failing);
	failing_view(&table, &failing);
	output_init(&wide, OUTPUT_WIDE, WORDS_NO_NOW);
	failing_view(&wide, &failing);
	assert_int_equal(output_finish(&table, &err) | output_finish(&wide, &err), 0);
	const char *text = sbuf_text(&table.notes);
	assert_non_null(strstr(text, "* gpu-c, GPU-77770000"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(printable_width((struct view){line, strcspn(line, "\n")}) <= 120);
	assert_true(strcspn(sbuf_text(&wide.notes), "\n") > 120);
}

/* Names and texts of any length, in any number, and what moves a terminal's cursor. */
static void no_text_of_a_cluster_widens_or_forges_the_table(void **state)
{
	(void)state;
	static char longest[254], sentence[257];
	struct attribution_event_tenant pods[64];
	struct attribution_tenant tenants[64];
	memset(longest, 'x', sizeof(longest) - 1);
	memset(sentence, '\x1b', sizeof(sentence) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		pods[i] = (struct attribution_event_tenant){.pod_uid = {longest, i + 1},
							    .pod_namespace = VIEW("a\nforged"),
							    .pod_name = view_from(longest)};
		tenants[i] = (struct attribution_tenant){.pod_uid = {longest, i + 1},
							 .pod_namespace = VIEW("a\nforged"),
							 .pod_name = view_from(longest)};
	}
	const struct view reason = {longest, 64};
	const struct attribution_health_event event = {.xid = 95, .tenants = array_of(pods, 64)};
	const struct attribution device = {
		.uuid = {longest, 40},
		.status = {.node_name = view_from(longest),
			   .tenant_count = 64,
			   .tenants = array_of(tenants, 64),
			   .health = {.state = ATTRIBUTION_HEALTH_UNHEALTHY,
				      .reasons = array_of(&reason, 1)}}};
	struct failing_row row = {.device = &device, .event = &event};
	CLEANUP(output_deinit) struct output output;
	struct error err;
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	output.uuids = gpu_world_uuids();
	failing_view(&output, &(struct failing){.rows = &row, .n_rows = 1});
	assert_int_equal(output_finish(&output, &err), 0);
	const char *text = sbuf_text(&output.body);
	assert_null(strstr(text, "\nforged"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(printable_width((struct view){line, strcspn(line, "\n")}) <= 120);
	CLEANUP(output_deinit) struct output escaped;
	const struct attribution_health_event rude = {.xid = 95, .action = view_from(sentence)};
	row.event = &rude;
	output_init(&escaped, OUTPUT_TABLE, GPU_WORLD_NOW);
	failing_view(&escaped, &(struct failing){.rows = &row, .n_rows = 1});
	assert_null(strchr(sbuf_text(&escaped.body), '\x1b'));
}

static void who_owns_the_pod_is_shown_however_wide_the_rest_is(void **state)
{
	(void)state;
	for (int watched = 0; watched <= 1; watched++) {
		CLEANUP(output_deinit) struct output output;
		show_trouble(watched, &output);
		const char *text = sbuf_text(&output.body);
		const char *header = strstr(text, "  WORKLOAD\n");
		assert_true(header && header < strchr(text, '\n'));
		assert_null(strstr(sbuf_text(&output.notes), "WORKLOAD"));
		/* It is cut where times are long. */
		assert_non_null(strstr(text, watched ? "Set/llm\n" : "  StatefulSet/llm\n"));
	}
}

/* A long remedy costs no column, and its lines say what they are. */
static void what_to_do_is_below_each_device(void **state)
{
	(void)state;
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct failing failing;
	struct error err;
	find_failing(&list, OUTPUT_TABLE, GPU_WORLD_NOW, &output, &failing);
	failing_view(&output, &(struct failing){.rows = &failing.rows[1], .n_rows = 1});
	assert_int_equal(output_finish(&output, &err), 0);
	assert_non_null(strstr(sbuf_text(&output.body),
			       "StatefulSet/llm\n"
			       "  to do: drain the GPU and reset it: any program on it may have been hit\n"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_device_that_fails_is_a_row_with_what_to_do),
	cmocka_unit_test(a_watched_table_has_times_and_the_same_width),
	cmocka_unit_test(wide_has_all_reasons_all_pods_and_the_hardware),
	cmocka_unit_test(the_recovery_action_is_shown_in_the_width_of_a_terminal),
	cmocka_unit_test(no_note_is_wider_than_a_terminal_but_of_wide),
	cmocka_unit_test(who_owns_the_pod_is_shown_however_wide_the_rest_is),
	cmocka_unit_test(what_to_do_is_below_each_device),
	cmocka_unit_test(json_has_the_event_and_null_for_what_is_not_known),
	cmocka_unit_test(names_are_in_the_order_of_the_table),
	cmocka_unit_test(no_text_of_a_cluster_widens_or_forges_the_table),
};
TEST_MAIN(tests)
