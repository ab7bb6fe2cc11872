/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/dcgm.h"
#include "lib/dcgm_text.h"
#include "lib/script_server.h"

#define GPU_A "GPU-11111111-1111-4111-8111-111111111111"
#define GPU_B "GPU-22222222-2222-4222-8222-222222222222"
#define FOREIGN "GPU-33333333-3333-4333-8333-333333333333"
#define METRICS "GET /metrics"
#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
#define UNTIL_CLOSED OK_HEAD "Connection: close\r\n\r\n"
#define ROW(uuid, value) "DCGM_FI_DEV_GPU_UTIL{UUID=\"" uuid "\"} " value "\n"

static struct error err;

static struct report_device devices[] = {
	{.uuid = VIEW_INIT(GPU_A)},
	{.uuid = VIEW_INIT(GPU_B)},
};

/* The source and a dcgm-exporter on one loop. */
struct node {
	struct loop *loop;
	struct fetcher *fetcher;
	struct script_server *server;
	struct script_route route;
	struct loop_timer *flood; /* goes on with an answer, for ever */
	struct array listed;
	struct dcgm *dcgm;
	char url[128];
	uint64_t now_ms;
	unsigned n_finished;
	bool is_news;
	struct report report;
};

static void saw_finished(void *owner, bool is_news)
{
	struct node *node = owner;
	node->is_news = is_news;
	node->n_finished++;
	loop_stop(node->loop);
}

static void replace_dcgm(struct node *node, const char *url, uint32_t timeout_ms)
{
	const struct dcgm_config config = {
		.url = url, .timeout_ms = timeout_ms, .devices = &node->listed};
	dcgm_free(node->dcgm);
	assert_int_equal(dcgm_new(node->loop, node->fetcher, &config, saw_finished, node,
				  &node->dcgm, &err), 0);
}

static int set_up(void **state)
{
	struct node *node = calloc(1, sizeof(*node));
	assert_non_null(node);
	node->route.begins = METRICS;
	node->listed = array_of(devices, ARRAY_SIZE(devices));
	node->now_ms = 5;
	assert_int_equal(loop_new(&node->loop, &err), 0);
	assert_int_equal(fetcher_new(node->loop, &node->fetcher, &err), 0);
	const struct script_server_config config = {.routes = &node->route, .n_routes = 1};
	node->server = script_server_new(node->loop, &config);
	snprintf(node->url, sizeof(node->url), "%s/metrics", script_server_url(node->server));
	replace_dcgm(node, node->url, 10000);
	*state = node;
	return 0;
}

static int tear_down(void **state)
{
	struct node *node = *state;
	dcgm_free(node->dcgm);
	loop_timer_free(node->flood);
	fetcher_free(node->fetcher);
	script_server_free(node->server);
	loop_free(node->loop);
	free(node);
	return 0;
}

static void answer(struct node *node, struct view bytes)
{
	node->route.answer = (struct script_answer){.bytes = bytes, .close = true};
}

static void scrape(struct node *node)
{
	unsigned before = node->n_finished;
	node->now_ms += DCGM_INTERVAL_MS;
	dcgm_scrape(node->dcgm, node->now_ms);
	assert_true(dcgm_is_busy(node->dcgm));
	assert_int_equal(node->n_finished, before);
	assert_int_equal(loop_run(node->loop, &err), 0);
	assert_int_equal(node->n_finished, before + 1);
	assert_false(dcgm_is_busy(node->dcgm));
	dcgm_tell(node->dcgm, &node->report);
}

static const struct report_source *source(const struct node *node)
{
	return &node->report.sources.dcgm;
}

static void assert_message(const struct node *node, const char *part)
{
	struct view before, after;
	if (!view_cut(source(node)->message, view_from(part), &before, &after))
		fail_msg("\"%s\" is not in \"%.*s\"", part, VIEW_ARG(source(node)->message));
}

static int64_t percent(const struct node *node, const char *uuid)
{
	return dcgm_percent(node->dcgm, view_from(uuid), -1, node->now_ms);
}

TEST(a_scrape_gives_figures_that_are_dated_by_its_request)
{
	struct node *node = *state;
	uint64_t asked_ms = 0;
	assert_null(dcgm_find(node->dcgm, VIEW(GPU_A), -1, &asked_ms));
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38")
			  "DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID=\"" GPU_A "\"} 0.5\n"));
	scrape(node);
	assert_true(node->is_news);
	assert_int_equal(source(node)->state, REPORT_SOURCE_OK);
	assert_int_equal(source(node)->message.len, 0);
	assert_true(source(node)->observed_at > 0);
	const struct dcgm_figure *figure = dcgm_find(node->dcgm, VIEW(GPU_A), -1, &asked_ms);
	assert_non_null(figure);
	assert_true(figure->utilization >= 38 && figure->utilization <= 38);
	assert_true(figure->engine_active >= 0.5 && figure->engine_active <= 0.5);
	assert_int_equal(asked_ms, node->now_ms);
	assert_null(dcgm_find(node->dcgm, VIEW(GPU_B), -1, &asked_ms));
}

TEST(nothing_but_the_request_is_sent_and_compression_is_not_asked_for)
{
	struct node *node = *state;
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38")));
	scrape(node);
	const char *request = script_server_received(node->server);
	assert_non_null(strstr(request, "GET /metrics HTTP/1.1\r\n"));
	assert_non_null(strstr(request, "Accept: text/plain; version=0.0.4\r\n"));
	assert_null(strcasestr(request, "authorization"));
	assert_null(strcasestr(request, "accept-encoding"));
}

TEST(changing_figures_are_no_news_and_a_changed_state_is)
{
	struct node *node = *state;
	static const struct {
		struct view bytes;
		bool is_news;
	} rows[] = {
		{VIEW_INIT(UNTIL_CLOSED ROW(GPU_A, "38")), true},
		{VIEW_INIT(UNTIL_CLOSED ROW(GPU_A, "0") ROW(GPU_B, "7")), false},
		{VIEW_INIT(UNTIL_CLOSED ROW(GPU_A, "101") ROW(GPU_B, "7")), true},
		{VIEW_INIT(UNTIL_CLOSED ROW(GPU_A, "102") ROW(GPU_B, "999")), true},
		{VIEW_INIT("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), true},
		{VIEW_INIT("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), false},
		{VIEW_INIT(UNTIL_CLOSED ROW(GPU_A, "0")), true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		answer(node, rows[i].bytes);
		scrape(node);
		assert_int_equal(node->is_news, rows[i].is_news);
	}
	assert_int_equal(dcgm_count(node->dcgm).scrapes, ARRAY_SIZE(rows));
	assert_int_equal(dcgm_count(node->dcgm).failures, 3);
	assert_int_equal(dcgm_count(node->dcgm).rubbish, 3);
}

TEST(an_answer_that_says_nothing_of_this_node_is_a_failure)
{
	struct node *node = *state;
	static const struct {
		struct view bytes;
		const char *message;
	} rows[] = {
		{VIEW_INIT("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"),
		 "HTTP status 404"},
		{VIEW_INIT("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"),
		 "HTTP status 302, and redirects are not followed"},
		{VIEW_INIT("HTTP/1.1 204 No Content\r\n\r\n"), "HTTP status 204"},
		{VIEW_INIT(OK_HEAD "Content-Length: 0\r\n\r\n"), "is in it"},
		{VIEW_INIT(UNTIL_CLOSED "go_goroutines 7\n"), "is in it"},
		{VIEW_INIT(UNTIL_CLOSED ROW(GPU_A, "101")), "is in it with a good value"},
		{VIEW_INIT(UNTIL_CLOSED "<!DOCTYPE html>\n<html></html>\n"), "line 1: no metric name"},
		{VIEW_INIT(UNTIL_CLOSED "\x1f\x8b\x08\x04\x4b\x54\x30\xe4\x02"), "line 1: cut short"},
		{VIEW_INIT(UNTIL_CLOSED "\x1f\x8b\x08\x04\n\x54\x30\xe4\x02"),
		 "line 1: no metric name"},
		{VIEW_INIT(UNTIL_CLOSED ROW(GPU_A, "38") "DCGM_FI_DEV_GPU_UTIL{UUID=\"" GPU_B
							 "\"} 1"),
		 "line 2: cut short"},
		{VIEW_INIT(OK_HEAD "Content-Length: 999\r\n\r\n" ROW(GPU_A, "38")), "the answer is cut short"},
		{VIEW_INIT(UNTIL_CLOSED "DCGM_FI_DEV_GPU_UTIL{UUID=\"" GPU_A "\",pod=\"\",UUID=\"" GPU_B
					"\"} 1\n"),
		 "line 1: one label twice"},
		{VIEW_INIT(UNTIL_CLOSED ROW(FOREIGN, "38")),
		 "NVML lists none of its devices here: is it of another node?"},
		{VIEW_INIT(UNTIL_CLOSED "DCGM_FI_DEV_GPU_UTIL{UUID=\"" FOREIGN
					"\",hostname=\"gpu-b\"} 1\n"),
		 "another node, gpu-b?"},
		{VIEW_INIT(UNTIL_CLOSED "DCGM_FI_DEV_GPU_UTIL{UUID=\"" FOREIGN
					"\",Hostname=\"gpu-b\"} 1\n"),
		 "another node, gpu-b?"},
	};
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "7")));
	scrape(node);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		answer(node, rows[i].bytes);
		scrape(node);
		assert_int_equal(source(node)->state, REPORT_SOURCE_ERROR);
		assert_message(node, node->url);
		assert_message(node, rows[i].message);
		/* What was known stays, dated. */
		uint64_t asked_ms = 0;
		assert_non_null(dcgm_find(node->dcgm, VIEW(GPU_A), -1, &asked_ms));
		assert_int_equal(asked_ms, 5 + DCGM_INTERVAL_MS);
	}
	assert_int_equal(script_server_requests(node->server), 1 + ARRAY_SIZE(rows));
}

TEST(a_good_answer_may_have_remarks)
{
	struct node *node = *state;
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38") ROW(GPU_B, "101")));
	scrape(node);
	assert_int_equal(source(node)->state, REPORT_SOURCE_OK);
	assert_message(node, "are ignored");
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "9223372036854775794")));
	scrape(node);
	assert_int_equal(source(node)->state, REPORT_SOURCE_OK);
	assert_message(node, "all are blank");
	assert_int_equal(percent(node, GPU_A), -1);
}

TEST(a_device_that_is_left_out_has_no_figure_any_more)
{
	struct node *node = *state;
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38") ROW(GPU_B, "7")));
	scrape(node);
	assert_int_equal(percent(node, GPU_A), 38);
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_B, "7")));
	scrape(node);
	assert_int_equal(percent(node, GPU_A), -1);
	assert_int_equal(percent(node, GPU_B), 7);
}

TEST(without_devices_of_nvml_no_figure_counts)
{
	struct node *node = *state;
	node->listed = (struct array){0};
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38")));
	scrape(node);
	assert_int_equal(source(node)->state, REPORT_SOURCE_ERROR);
	assert_int_equal(percent(node, GPU_A), -1);
}

TEST(the_per_cent_is_the_larger_of_both_figures_while_it_is_fresh)
{
	struct node *node = *state;
	static const struct {
		const char *active, *utilization;
		int64_t expected;
	} rows[] = {
		{"0.05", NULL, 5},   {"0.049", NULL, 4}, {"0.29", NULL, 29}, {"1", "0", 100},
		{"0.01", "38", 38},  {NULL, "38", 38},   {"0", "0", 0},      {NULL, NULL, -1},
		{"NaN", "2.9", 2},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sbuf_deinit) struct sbuf text;
		sbuf_init(&text, 16384);
		const struct dcgm_text_row both[] = {
			{GPU_A, NULL, rows[i].active, rows[i].utilization, "train"},
			{GPU_B, NULL, "1", NULL, NULL},
		};
		sbuf_append(&text, VIEW(UNTIL_CLOSED));
		dcgm_text_render(both, 2, (struct dcgm_text_form){true, "gpu-a"}, &text);
		answer(node, sbuf_view(&text));
		scrape(node);
		assert_int_equal(percent(node, GPU_A), rows[i].expected);
		/* A reading of the driver that was begun earlier and came later. */
		assert_int_equal(dcgm_percent(node->dcgm, VIEW(GPU_B), -1, node->now_ms - 1), 100);
		assert_int_equal(dcgm_percent(node->dcgm, VIEW(GPU_B), -1,
					      node->now_ms + DCGM_FRESH_MS), 100);
		assert_int_equal(dcgm_percent(node->dcgm, VIEW(GPU_B), -1,
					      node->now_ms + DCGM_FRESH_MS + 1), -1);
	}
}

TEST(figures_are_offered_to_devices_and_partitions_beside_other_sources)
{
	struct node *node = *state;
	static struct report_partition parts[] = {
		{.gpu_instance_id = 7}, {.gpu_instance_id = 9}, {.gpu_instance_id = -1}};
	struct report_device both[] = {
		{.uuid = VIEW_INIT(GPU_A), .partitions = {parts, ARRAY_SIZE(parts), true}},
		{.uuid = VIEW_INIT(GPU_B)},
	};
	node->listed = array_of(both, ARRAY_SIZE(both));
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "12") ROW(GPU_B, "38")
			  "DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID=\"" GPU_A "\",GPU_I_ID=\"7\"} 0.5\n"));
	scrape(node);
	activity_windows_offer(&both[1].activity, REPORT_ACTIVITY_NVML, 3);
	dcgm_offer(node->dcgm, node->now_ms, node->listed);
	assert_true(both[0].activity.present);
	assert_int_equal(both[0].activity.utilization, 12);
	assert_int_equal(parts[0].activity.source, REPORT_ACTIVITY_DCGM);
	assert_int_equal(parts[0].activity.utilization, 50);
	for (size_t i = 1; i < ARRAY_SIZE(parts); i++) {
		assert_true(parts[i].activity.present);
		assert_int_equal(parts[i].activity.utilization, -1);
	}
	assert_int_equal(both[1].activity.source, REPORT_ACTIVITY_DCGM);
	assert_int_equal(both[1].activity.utilization, 38);

	/* Switched off, it has not even been asked. */
	parts[0].activity = (struct report_activity){0};
	replace_dcgm(node, "", 10000);
	dcgm_offer(node->dcgm, node->now_ms, node->listed);
	assert_false(parts[0].activity.present);
}

/* As dcgm-exporter does under MPS: one row a device, with the name of one of its pods. */
TEST(pod_labels_that_change_with_each_scrape_change_no_figure)
{
	static const char *const pods[] = {"mps-tenant-a", "mps-tenant-b", "mps-tenant-c",
					   "mps-tenant-d"};
	struct node *node = *state;
	for (unsigned i = 0; i < 12; i++) {
		CLEANUP(sbuf_deinit) struct sbuf text;
		const struct dcgm_text_row row = {GPU_A, NULL, "0.38", "38", pods[i % 4]};
		struct report_device told[] = {{.uuid = VIEW_INIT(GPU_A)}, {.uuid = VIEW_INIT(GPU_B)}};
		sbuf_init(&text, LIMIT_MIB);
		sbuf_append(&text, VIEW(UNTIL_CLOSED));
		dcgm_text_render(&row, 1, (struct dcgm_text_form){.since_4_6 = true}, &text);
		answer(node, sbuf_view(&text));
		scrape(node);
		assert_int_equal(node->is_news, i == 0);
		dcgm_offer(node->dcgm, node->now_ms, array_of(told, ARRAY_SIZE(told)));
		assert_int_equal(told[0].activity.utilization, 38);
		assert_int_equal(told[1].activity.utilization, -1);
	}
}

TEST(it_is_not_scraped_more_often_than_the_interval_says)
{
	struct node *node = *state;
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38")));
	scrape(node);
	dcgm_scrape(node->dcgm, node->now_ms + DCGM_INTERVAL_MS - 1);
	assert_false(dcgm_is_busy(node->dcgm));
	dcgm_scrape(node->dcgm, node->now_ms + DCGM_INTERVAL_MS);
	assert_true(dcgm_is_busy(node->dcgm));
	/* One at a time. */
	dcgm_scrape(node->dcgm, node->now_ms + 9 * DCGM_INTERVAL_MS);
	assert_int_equal(loop_run(node->loop, &err), 0);
	assert_int_equal(script_server_requests(node->server), 2);
}

TEST(without_an_address_nothing_is_asked_and_the_source_is_absent)
{
	struct node *node = *state;
	replace_dcgm(node, "", 10000);
	dcgm_scrape(node->dcgm, 0);
	assert_false(dcgm_is_busy(node->dcgm));
	dcgm_tell(node->dcgm, &node->report);
	assert_int_equal(source(node)->state, REPORT_SOURCE_ABSENT);
	assert_message(node, "switched off: --dcgm-url is empty");
	assert_int_equal(percent(node, GPU_A), -1);
}

TEST(a_slow_server_is_given_up_also_in_the_middle_of_its_answer)
{
	struct node *node = *state;
	replace_dcgm(node, node->url, 50);
	for (int answers = 0; answers < 2; answers++) {
		node->route.answer = (struct script_answer){
			.bytes = answers ? VIEW(UNTIL_CLOSED ROW(GPU_A, "38")) : VIEW("")};
		scrape(node);
		assert_int_equal(source(node)->state, REPORT_SOURCE_ERROR);
		assert_message(node, "no answer within 50 ms");
		assert_int_equal(node->is_news, answers == 0);
		assert_int_equal(percent(node, GPU_A), -1);
	}
}

/* Each has a text of libcurl that differs from one time to the next. */
TEST(the_same_failure_again_is_no_news)
{
	struct node *node = *state;
	answer(node, VIEW(OK_HEAD "Content-Length: 999\r\n\r\n" ROW(GPU_A, "38")));
	scrape(node);
	assert_true(node->is_news);
	answer(node, VIEW(OK_HEAD "Content-Length: 998\r\n\r\n" ROW(GPU_A, "7")));
	scrape(node);
	assert_false(node->is_news);
	node->route.answer = (struct script_answer){.bytes = VIEW("")};
	replace_dcgm(node, node->url, 50);
	for (int k = 0; k < 4; k++) {
		scrape(node);
		assert_int_equal(node->is_news, k == 0);
	}
	script_server_stop(node->server);
	replace_dcgm(node, node->url, 10000); /* a refusal may come late on a busy machine */
	for (int k = 0; k < 8; k++) {
		scrape(node);
		assert_int_equal(node->is_news, k == 0);
		assert_message(node, ": no connection: Connection refused");
	}
}

TEST(nobody_there_and_an_address_that_is_none_are_failures)
{
	struct node *node = *state;
	script_server_stop(node->server);
	scrape(node);
	assert_int_equal(source(node)->state, REPORT_SOURCE_ERROR);
	assert_message(node, "Connection refused");
	replace_dcgm(node, "http://[", 10000);
	scrape(node);
	assert_int_equal(source(node)->state, REPORT_SOURCE_ERROR);
	assert_message(node, "http://[: ");
}

static void push_more(void *owner)
{
	struct node *node = owner;
	static char lines[16u * LIMIT_KIB];
	memset(lines, '\n', sizeof(lines));
	script_server_push(node->server, METRICS, (struct view){lines, sizeof(lines)});
	loop_timer_set(node->flood, 1);
}

TEST(an_answer_without_an_end_is_cut_off)
{
	struct node *node = *state;
	CLEANUP(sbuf_deinit) struct sbuf line;
	sbuf_init(&line, 2 * LIMIT_PROMTEXT_LINE);
	sbuf_append(&line, VIEW(UNTIL_CLOSED ROW(GPU_A, "38") "a{b=\""));
	while (line.len < LIMIT_PROMTEXT_LINE + 500)
		sbuf_append_char(&line, 'x');
	node->route.answer = (struct script_answer){.bytes = sbuf_view(&line)};
	scrape(node);
	assert_message(node, "line 2: longer than 16384 bytes");

	node->route.answer = (struct script_answer){.bytes = VIEW(UNTIL_CLOSED ROW(GPU_A, "38"))};
	assert_int_equal(loop_timer_new(node->loop, push_more, node, &node->flood, &err), 0);
	loop_timer_set(node->flood, 1);
	scrape(node);
	assert_int_equal(source(node)->state, REPORT_SOURCE_ERROR);
	assert_message(node, "the answer is longer than 4194304 bytes");
}

TEST(freeing_during_a_scrape_does_not_call_back)
{
	struct node *node = *state;
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38")));
	dcgm_scrape(node->dcgm, 0);
	dcgm_free(node->dcgm);
	node->dcgm = NULL;
	assert_int_equal(node->n_finished, 0);
}

TEST(without_memory_it_cannot_be_made_and_a_scrape_fails)
{
	struct node *node = *state;
	const struct dcgm_config config = {
		.url = node->url, .timeout_ms = 10000, .devices = &node->listed};
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct dcgm *dcgm = NULL;
		failing_malloc_at(k);
		int result = dcgm_new(node->loop, node->fetcher, &config, saw_finished, node, &dcgm,
				      &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		dcgm_free(dcgm);
	}
	answer(node, VIEW(UNTIL_CLOSED ROW(GPU_A, "38")));
	failing_malloc_at(1);
	dcgm_scrape(node->dcgm, node->now_ms);
	assert_true(failing_malloc_off());
	assert_int_equal(loop_run(node->loop, &err), 0);
	dcgm_tell(node->dcgm, &node->report);
	assert_int_equal(source(node)->state, REPORT_SOURCE_ERROR);
	assert_message(node, "memory");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_scrape_gives_figures_that_are_dated_by_its_request),
	cmocka_unit_test_set_up(nothing_but_the_request_is_sent_and_compression_is_not_asked_for),
	cmocka_unit_test_set_up(changing_figures_are_no_news_and_a_changed_state_is),
	cmocka_unit_test_set_up(an_answer_that_says_nothing_of_this_node_is_a_failure),
	cmocka_unit_test_set_up(a_good_answer_may_have_remarks),
	cmocka_unit_test_set_up(a_device_that_is_left_out_has_no_figure_any_more),
	cmocka_unit_test_set_up(without_devices_of_nvml_no_figure_counts),
	cmocka_unit_test_set_up(the_per_cent_is_the_larger_of_both_figures_while_it_is_fresh),
	cmocka_unit_test_set_up(pod_labels_that_change_with_each_scrape_change_no_figure),
	cmocka_unit_test_set_up(figures_are_offered_to_devices_and_partitions_beside_other_sources),
	cmocka_unit_test_set_up(it_is_not_scraped_more_often_than_the_interval_says),
	cmocka_unit_test_set_up(without_an_address_nothing_is_asked_and_the_source_is_absent),
	cmocka_unit_test_set_up(a_slow_server_is_given_up_also_in_the_middle_of_its_answer),
	cmocka_unit_test_set_up(the_same_failure_again_is_no_news),
	cmocka_unit_test_set_up(nobody_there_and_an_address_that_is_none_are_failures),
	cmocka_unit_test_set_up(an_answer_without_an_end_is_cut_off),
	cmocka_unit_test_set_up(freeing_during_a_scrape_does_not_call_back),
	cmocka_unit_test_set_up(without_memory_it_cannot_be_made_and_a_scrape_fails),
};
TEST_MAIN(tests)
