/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "controller/agent_series.h"
#include "model/report.h"

#define NOW_MS 5000

static struct senders senders;

static int setup(void **state)
{
	(void)state;
	struct error err;
	senders_init(&senders, &(struct senders_config){
				       .cap = 2 * (size_t)LIMIT_AGENT_SERIES_NODES,
				       .changes_per_second = 5,
				       .bodies = memory_account_new(LIMIT_MIB, &err),
				       .reports = memory_account_new(LIMIT_MIB, &err),
			       });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	senders_deinit(&senders);
	memory_account_unref(senders.config.bodies);
	memory_account_unref(senders.config.reports);
	return 0;
}

static struct sender *add_node(const char *name, uint64_t now_ms)
{
	static const struct report report = {
		.sources = {.checkpoint = {.failures = 1}, .pod_resources = {.failures = 2},
			    .nvml = {.failures = 3, .hang_count = 6}, .processes = {.failures = 4},
			    .dcgm = {.failures = 5}},
		.reports_refused = 7,
		.nvml_processes = 8,
		.nvml_left_behind = 2,
		.events_dropped = 9,
	};
	struct sender *sender = senders_use(&senders, view_from(name), now_ms);
	assert_non_null(sender);
	sender->order.sequence = 10;
	sender->counts = agent_counts_of(&report);
	return sender;
}

static struct sbuf render(uint64_t now_ms)
{
	struct sbuf text;
	sbuf_init(&text, 64 * LIMIT_MIB);
	agent_series_render(&senders, now_ms, &text);
	assert_int_equal(text.failure, ERROR_NONE);
	return text;
}

/* By hand: under ASan each strstr() reads all that is behind, which is megabytes here. */
static unsigned count(const char *text, const char *part)
{
	const size_t len = strlen(part);
	unsigned n = 0;
	for (const char *at = text; *at; at++)
		n += *at == *part && strncmp(at, part, len) == 0;
	return n;
}

static void each_count_of_a_node_has_its_series(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"# TYPE gpuattribution_agent_reports counter\n",
		"\ngpuattribution_agent_reports_total{node=\"gpu-a\"} 10\n",
		"\ngpuattribution_agent_reports_refused_total{node=\"gpu-a\"} 7\n",
		"\ngpuattribution_agent_nvml_hangs_total{node=\"gpu-a\"} 6\n",
		"\ngpuattribution_agent_nvml_processes_total{node=\"gpu-a\"} 8\n",
		"# TYPE gpuattribution_agent_nvml_processes_left_behind gauge\n",
		"\ngpuattribution_agent_nvml_processes_left_behind{node=\"gpu-a\"} 2\n",
		"\ngpuattribution_agent_events_dropped_total{node=\"gpu-a\"} 9\n",
		"\ngpuattribution_agent_source_failures_total{node=\"gpu-a\",source=\"Checkpoint\"} 1\n",
		"\ngpuattribution_agent_source_failures_total{node=\"gpu-a\",source=\"PodResources\"} 2\n",
		"\ngpuattribution_agent_source_failures_total{node=\"gpu-a\",source=\"NVML\"} 3\n",
		"\ngpuattribution_agent_source_failures_total{node=\"gpu-a\",source=\"Processes\"} 4\n",
		"\ngpuattribution_agent_source_failures_total{node=\"gpu-a\",source=\"DCGM\"} 5\n",
		"\ngpuattribution_agent_nodes_left_out 0\n",
	};
	add_node("gpu-a", NOW_MS);
	CLEANUP(sbuf_deinit) struct sbuf text = render(NOW_MS);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!strstr(sbuf_text(&text), lines[i]))
			fail_msg("no '%s' in\n%s", lines[i], sbuf_text(&text));
	}
	assert_null(strstr(sbuf_text(&text), "# EOF"));
}

static void all_nodes_of_a_family_stand_together(void **state)
{
	(void)state;
	add_node("gpu-a", NOW_MS);
	add_node("gpu-b", NOW_MS);
	CLEANUP(sbuf_deinit) struct sbuf text = render(NOW_MS);
	const char *reports = strstr(sbuf_text(&text), "# TYPE gpuattribution_agent_reports ");
	const char *refused = strstr(reports, "# TYPE gpuattribution_agent_reports_refused ");
	char *family = strndup(reports, (size_t)(refused - reports));
	assert_int_equal(count(family, "gpuattribution_agent_reports_total{"), 2);
	assert_int_equal(count(refused, "gpuattribution_agent_reports_total{"), 0);
	free(family);
}

static void who_is_silent_or_has_not_reported_is_not_shown(void **state)
{
	(void)state;
	add_node("silent", NOW_MS);
	add_node("spoke", NOW_MS + 1);
	senders_use(&senders, VIEW("new"), NOW_MS + 1);
	CLEANUP(sbuf_deinit) struct sbuf text = render(NOW_MS + SENDERS_SILENT_MS);
	assert_null(strstr(sbuf_text(&text), "silent"));
	assert_null(strstr(sbuf_text(&text), "\"new\""));
	assert_int_equal(count(sbuf_text(&text), "node=\"spoke\""), 11);
}

static void a_name_forges_no_line(void **state)
{
	(void)state;
	add_node("a\"} 1\nb\\", NOW_MS);
	CLEANUP(sbuf_deinit) struct sbuf text = render(NOW_MS);
	assert_non_null(strstr(sbuf_text(&text),
			       "gpuattribution_agent_reports_total{node=\"a\\\"} 1\\nb\\\\\"} 10\n"));
}

static void nodes_above_the_limit_are_left_out_and_counted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIMIT_AGENT_SERIES_NODES + 3; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%u", i);
		add_node(name, NOW_MS);
	}
	CLEANUP(sbuf_deinit) struct sbuf text = render(NOW_MS);
	assert_int_equal(count(sbuf_text(&text), "\ngpuattribution_agent_nvml_hangs_total{"),
			 LIMIT_AGENT_SERIES_NODES);
	assert_non_null(strstr(sbuf_text(&text), "\ngpuattribution_agent_nodes_left_out 3\n"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(each_count_of_a_node_has_its_series, setup, teardown),
	cmocka_unit_test_setup_teardown(all_nodes_of_a_family_stand_together, setup, teardown),
	cmocka_unit_test_setup_teardown(who_is_silent_or_has_not_reported_is_not_shown, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_name_forges_no_line, setup, teardown),
	cmocka_unit_test_setup_teardown(nodes_above_the_limit_are_left_out_and_counted, setup,
					teardown),
};
TEST_MAIN(tests)
