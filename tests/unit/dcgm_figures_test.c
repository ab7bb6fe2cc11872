/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/dcgm_figures.h"
#include "lib/dcgm_text.h"

#define GPU_A "GPU-11111111-1111-4111-8111-111111111111"
#define GPU_B "GPU-22222222-2222-4222-8222-222222222222"
#define FOREIGN "GPU-33333333-3333-4333-8333-333333333333"

static struct error err;

/* Device A is cut into instances 7 and 9 (of two compute instances), B is whole. */
static struct report_partition partitions[] = {
	{.gpu_instance_id = 7},
	{.gpu_instance_id = 9, .compute_instance_id = 0},
	{.gpu_instance_id = 9, .compute_instance_id = 1},
};
static struct report_device devices[] = {
	{.uuid = VIEW_INIT(GPU_A), .partitions = {partitions, ARRAY_SIZE(partitions), true}},
	{.uuid = VIEW_INIT(GPU_B)},
};
static const struct array listed = {devices, ARRAY_SIZE(devices), true};

static int read_text(struct view input, struct array of, struct dcgm_figures *figures)
{
	CLEANUP(promtext_deinit) struct promtext text;
	struct promtext_sample sample;
	enum promtext_step step;
	promtext_init(&text, LIMIT_PROMTEXT_LINE);
	while ((step = promtext_next(&text, &input, &sample, &err)) == PROMTEXT_SAMPLE) {
		if (dcgm_figures_add(figures, &sample, of, &err) < 0)
			return -1;
	}
	return step == PROMTEXT_MORE ? promtext_end(&text, &err) : -1;
}

static int read_rows(const struct dcgm_text_row *rows, size_t n, struct dcgm_text_form form,
		     struct dcgm_figures *figures)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, LIMIT_MIB);
	dcgm_text_render(rows, n, form, &text);
	return read_text(sbuf_view(&text), listed, figures);
}

static void assert_figure(const struct dcgm_figures *figures, const char *uuid, int64_t instance,
			  double active, double utilization)
{
	const struct dcgm_figure *figure = dcgm_figures_find(figures, view_from(uuid), instance);
	assert_non_null(figure);
	assert_true(figure->engine_active >= active && figure->engine_active <= active);
	assert_true(figure->utilization >= utilization && figure->utilization <= utilization);
}

static void a_figure_is_found_by_uuid_and_instance_in_all_forms_of_the_text(void **state)
{
	(void)state;
	static const struct dcgm_text_row rows[] = {
		{GPU_A, "7", "0.381000", NULL, "train"},
		{GPU_A, "9", "0", NULL, ""},
		{GPU_A, NULL, "0.25", "9223372036854775794", NULL},
		{GPU_B, "", "1", "100", NULL},
	};
	static const struct dcgm_text_form forms[] = {
		{false, "gpu-a"}, {true, "gpu-a"}, {true, "dcgm-exporter-x7k2"}, {false, NULL}};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
		assert_int_equal(read_rows(rows, ARRAY_SIZE(rows), forms[i], &figures), 0);
		assert_int_equal(figures.n, 4);
		assert_int_equal(figures.n_foreign + figures.n_rubbish, 0);
		assert_figure(&figures, GPU_A, 7, 0.381, -1);
		assert_figure(&figures, GPU_A, 9, 0, -1);
		assert_figure(&figures, GPU_A, -1, 0.25, -1);
		assert_figure(&figures, GPU_B, -1, 1, 100);
		assert_null(dcgm_figures_find(&figures, VIEW(GPU_B), 7));
		assert_null(dcgm_figures_find(&figures, VIEW(FOREIGN), -1));
	}
}

static void devices_and_instances_that_nvml_does_not_list_are_ignored(void **state)
{
	(void)state;
	static const struct dcgm_text_row rows[] = {
		{FOREIGN, NULL, "1", NULL, NULL},
		{GPU_A, "8", "1", NULL, NULL},
		{GPU_B, "7", "1", "100", NULL},
		{"gpu-11111111-1111-4111-8111-111111111111", NULL, "1", NULL, NULL},
	};
	for (int since_4_6 = 0; since_4_6 < 2; since_4_6++) {
		CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
		const struct dcgm_text_form form = {since_4_6, "gpu-b"};
		assert_int_equal(read_rows(rows, ARRAY_SIZE(rows), form, &figures), 0);
		assert_int_equal(figures.n, 0);
		assert_int_equal(figures.n_foreign, 5);
		assert_string_equal(figures.hostname, "gpu-b");
	}
}

static void blank_values_are_no_figures_and_impossible_ones_are_counted(void **state)
{
	(void)state;
	static const struct {
		const char *active, *utilization;
		uint32_t n_figures, n_blank, n_rubbish;
	} rows[] = {
		{"9223372036854775792", "9223372036854775793", 0, 2, 0},
		{"9223372036854775794", "9223372036854775795", 0, 2, 0},
		{"2147483632", "2147483633", 0, 2, 0},
		{"2147483634", "2147483635", 0, 2, 0},
		{"140737488355328.000000", "140737488355329", 0, 2, 0},
		{"140737488355330", "140737488355331.000000", 0, 2, 0},
		{"2147483631", "2147483636", 0, 0, 2},
		{"-0.01", "-1", 0, 0, 2},
		{"1.01", "101", 0, 0, 2},
		{"NaN", "NaN", 0, 0, 2},
		{"+Inf", "-Inf", 0, 0, 2},
		{"0", "0", 1, 0, 0},
		{"1", "100", 1, 0, 0},
		{"NaN", "50", 1, 0, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
		const struct dcgm_text_row row = {GPU_B, NULL, rows[i].active, rows[i].utilization,
						  NULL};
		assert_int_equal(read_rows(&row, 1, (struct dcgm_text_form){0}, &figures), 0);
		assert_int_equal(figures.n, rows[i].n_figures);
		assert_int_equal(figures.n_blank, rows[i].n_blank);
		assert_int_equal(figures.n_rubbish, rows[i].n_rubbish);
	}
}

static void rows_without_usable_labels_are_counted(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"DCGM_FI_DEV_GPU_UTIL 1\n",
		"DCGM_FI_DEV_GPU_UTIL{UUID=\"\"} 1\n",
		"DCGM_FI_DEV_GPU_UTIL{uuid=\"" GPU_B "\"} 1\n",
		"DCGM_FI_DEV_GPU_UTIL{UUID=\"" GPU_B "\",GPU_I_ID=\"x\"} 1\n",
		"DCGM_FI_DEV_GPU_UTIL{UUID=\"" GPU_B "\",GPU_I_ID=\"-1\"} 1\n",
		"DCGM_FI_DEV_GPU_UTIL{UUID=\"" GPU_B "\",GPU_I_ID=\"65536\"} 1\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
		assert_int_equal(read_text(view_from(rows[i]), listed, &figures), 0);
		assert_int_equal(figures.n, 0);
		assert_int_equal(figures.n_rubbish, 1);
	}
}

static void of_several_rows_for_a_device_the_largest_counts(void **state)
{
	(void)state;
	static const struct dcgm_text_row rows[] = {
		{GPU_B, NULL, "0.2", "3", "a"},
		{GPU_B, NULL, "0.4", "NaN", "b"},
		{GPU_B, NULL, "0.3", "38", "c"},
		{GPU_B, NULL, NULL, "0", NULL},
	};
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
	assert_int_equal(read_rows(rows, ARRAY_SIZE(rows), (struct dcgm_text_form){0}, &figures), 0);
	assert_int_equal(figures.n, 1);
	assert_figure(&figures, GPU_B, -1, 0.4, 38);
}

static void rows_of_an_instance_count_for_no_other_and_not_for_the_device(void **state)
{
	(void)state;
	static const struct dcgm_text_row rows[] = {
		{GPU_A, "9", "0.1", "12", "a"}, {GPU_A, "9", "0.6", "7", "b"},
		{GPU_A, "7", "0.2", NULL, "a"}, {GPU_A, NULL, "0.05", "3", "b"},
		{GPU_B, NULL, "0.9", NULL, "a"},
	};
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
	assert_int_equal(read_rows(rows, ARRAY_SIZE(rows), (struct dcgm_text_form){0}, &figures), 0);
	assert_int_equal(figures.n, 4);
	assert_figure(&figures, GPU_A, 9, 0.6, 12);
	assert_figure(&figures, GPU_A, 7, 0.2, -1);
	assert_figure(&figures, GPU_A, -1, 0.05, 3);
	assert_figure(&figures, GPU_B, -1, 0.9, -1);
}

static void other_metrics_say_nothing_the_xid_gauge_among_them(void **state)
{
	(void)state;
	static const struct dcgm_text_row row = {GPU_B, NULL, NULL, NULL, NULL};
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
	assert_int_equal(read_rows(&row, 1, (struct dcgm_text_form){0}, &figures), 0);
	assert_int_equal(figures.n + figures.n_blank + figures.n_rubbish + figures.n_foreign, 0);
}

static void a_pods_name_cannot_name_another_device(void **state)
{
	(void)state;
	static const struct {
		const char *pod;
		int result;
	} rows[] = {
		{"x\\\",UUID=\\\"" GPU_B, 0}, /* escaped, it is a name and no more */
		{"x\",UUID=\"" GPU_B, -1},     /* not escaped, there are two UUIDs */
		{"x\"} 0 # \"", 0},             /* a value of its own, for the right device */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
		const struct dcgm_text_row row = {GPU_A, "7", "0.5", NULL, rows[i].pod};
		const struct dcgm_text_form form = {true, "gpu-a"};
		assert_int_equal(read_rows(&row, 1, form, &figures), rows[i].result);
		assert_null(dcgm_figures_find(&figures, VIEW(GPU_B), -1));
	}
}

/* As many devices and instances as a report can have, and one more. */
static void there_are_no_more_figures_than_a_report_has_devices_and_partitions(void **state)
{
	(void)state;
	static struct report_partition cut[LIMIT_REPORT_PARTITIONS + 1];
	static struct report_device all[LIMIT_REPORT_DEVICES];
	static char uuids[LIMIT_REPORT_DEVICES][8];
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, LIMIT_MIB);
	for (int64_t i = 0; i < LIMIT_REPORT_PARTITIONS + 1; i++)
		cut[i].gpu_instance_id = i;
	for (unsigned i = 0; i < LIMIT_REPORT_DEVICES; i++) {
		snprintf(uuids[i], sizeof(uuids[i]), "GPU-%u", i);
		all[i].uuid = view_from(uuids[i]);
		all[i].partitions = array_of(cut, ARRAY_SIZE(cut));
		sbuf_printf(&text, "DCGM_FI_DEV_GPU_UTIL{UUID=\"%s\"} 1\n", uuids[i]);
		for (unsigned j = 0; j < LIMIT_REPORT_PARTITIONS; j++)
			sbuf_printf(&text, "DCGM_FI_DEV_GPU_UTIL{UUID=\"%s\",GPU_I_ID=\"%u\"} 2\n",
				    uuids[i], j);
	}
	const struct array many = array_of(all, ARRAY_SIZE(all));
	assert_int_equal(read_text(sbuf_view(&text), many, &figures), 0);
	assert_int_equal(figures.n, LIMIT_DCGM_FIGURES);
	assert_figure(&figures, uuids[63], 55, -1, 2);
	assert_int_equal(read_text(VIEW("DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-0\",GPU_I_ID=\"56\"} 2\n"),
				   many, &figures),
			 -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void without_memory_it_fails_and_says_so(void **state)
{
	(void)state;
	static const struct promtext_label labels[] = {{VIEW_INIT("UUID"), VIEW_INIT(GPU_B)}};
	static const struct promtext_sample sample = {
		VIEW_INIT("DCGM_FI_DEV_GPU_UTIL"), labels, ARRAY_SIZE(labels), 38};
	CLEANUP(dcgm_figures_deinit) struct dcgm_figures figures = {0};
	failing_malloc_at(1);
	assert_int_equal(dcgm_figures_add(&figures, &sample, listed, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_int_equal(figures.n, 0);
	assert_int_equal(dcgm_figures_add(&figures, &sample, listed, &err), 0);
	assert_figure(&figures, GPU_B, -1, -1, 38);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_figure_is_found_by_uuid_and_instance_in_all_forms_of_the_text),
	cmocka_unit_test(devices_and_instances_that_nvml_does_not_list_are_ignored),
	cmocka_unit_test(blank_values_are_no_figures_and_impossible_ones_are_counted),
	cmocka_unit_test(rows_without_usable_labels_are_counted),
	cmocka_unit_test(of_several_rows_for_a_device_the_largest_counts),
	cmocka_unit_test(rows_of_an_instance_count_for_no_other_and_not_for_the_device),
	cmocka_unit_test(other_metrics_say_nothing_the_xid_gauge_among_them),
	cmocka_unit_test(a_pods_name_cannot_name_another_device),
	cmocka_unit_test(there_are_no_more_figures_than_a_report_has_devices_and_partitions),
	cmocka_unit_test(without_memory_it_fails_and_says_so),
};
TEST_MAIN(tests)
