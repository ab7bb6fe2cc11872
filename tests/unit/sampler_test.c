/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/sampler.h"
#include "agent/schedule.h"
#include "base/limits.h"
#include "base/sbuf.h"
#include "lib/fake_kubelet.h"
#include "lib/own_folder.h"
#include "lib/script_server.h"

#define SOCKET_PATH "sampler_test.sock"
#define CHECKPOINT_FILE "sampler_test.checkpoint"
#define DEVICES_FILE "sampler_test.devices"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"

#define CHECKPOINT "{\"Data\":{\"PodDeviceEntries\":null,\"RegisteredDevices\":{}},\"Checksum\":1}"
#define DEVICES(events)                                                                        \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[{"             \
	"\"uuid\":\"" UUID "\",\"name\":\"NVIDIA A100-SXM4-40GB\",\"minor\":0,"                \
	"\"pciBusID\":\"00000000:3B:00.0\",\"memoryMiB\":40960,\"computeCapability\":\"8.0\"," \
	"\"processes\":[]}],\"events\":[" events "]}"
#define HANGING                                                                                \
	"{\"driverVersion\":\"580.65.06\",\"cudaVersion\":\"13.0\",\"devices\":[],"              \
	"\"hangs\":{\"*\":\"UntilChanged\"}}"
#define LONG_MS 30000 /* a time-out that does not end within a test */
#define XID "{\"sequence\":1,\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":79}"

static struct error err;

struct node {
	struct loop *loop;
	struct fetcher *fetcher;
	struct fake_kubelet *kubelet;
	struct script_server *exporter; /* NULL: none */
	char dcgm_url[128];
	struct sampler *sampler;
	uint64_t now_ms;
	struct sampler_outcome outcome;
	unsigned n_finished;
	unsigned n_surprises;
	enum sampler_surprise surprise; /* the last one */
	struct report report;
};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void saw_finished(void *owner, const struct sampler_outcome *outcome)
{
	struct node *node = owner;
	node->outcome = *outcome;
	node->n_finished++;
	loop_stop(node->loop);
}

static void saw_surprise(void *owner, enum sampler_surprise surprise)
{
	struct node *node = owner;
	node->n_surprises++;
	node->surprise = surprise;
	loop_stop(node->loop);
}

static void begin(struct node *node, bool waits_for_dcgm, uint32_t nvml_timeout_ms)
{
	const struct sampler_config config = {
		.pod_resources_socket = SOCKET_PATH,
		.checkpoint_file = CHECKPOINT_FILE,
		.nvml_library = FAKE_NVML,
		.processes = PROCESSES_OFF,
		.proc_path = "/proc",
		.dcgm_url = node->dcgm_url,
		.waits_for_dcgm = waits_for_dcgm,
		.kubelet_timeout_ms = 10000,
		.nvml_timeout_ms = nvml_timeout_ms,
		.last_event = 100,
		.surprised = saw_surprise,
	};
	write_file(CHECKPOINT_FILE, CHECKPOINT);
	write_file(DEVICES_FILE, DEVICES(""));
	assert_int_equal(setenv("FAKE_NVML_FILE", DEVICES_FILE, 1), 0);
	assert_int_equal(fetcher_new(node->loop, &node->fetcher, &err), 0);
	node->kubelet = fake_kubelet_new(node->loop, SOCKET_PATH);
	assert_int_equal(sampler_new(node->loop, node->fetcher, &config, saw_finished, node,
				     &node->sampler, &err), 0);
}

static void setup(struct node *node)
{
	*node = (struct node){0};
	assert_int_equal(loop_new(&node->loop, &err), 0);
	begin(node, false, LONG_MS);
}

static void setup_with(struct node *node, uint32_t nvml_timeout_ms)
{
	*node = (struct node){0};
	assert_int_equal(loop_new(&node->loop, &err), 0);
	begin(node, false, nvml_timeout_ms);
}

/* With a dcgm-exporter, whose answer can be set. */
static void setup_with_dcgm(struct node *node, struct script_route *route, bool waits_for_dcgm)
{
	*node = (struct node){0};
	assert_int_equal(loop_new(&node->loop, &err), 0);
	const struct script_server_config config = {.routes = route, .n_routes = 1};
	node->exporter = script_server_new(node->loop, &config);
	snprintf(node->dcgm_url, sizeof(node->dcgm_url), "%s/metrics",
		 script_server_url(node->exporter));
	begin(node, waits_for_dcgm, LONG_MS);
}

static void teardown(struct node *node)
{
	sampler_free(node->sampler);
	fake_kubelet_free(node->kubelet);
	fetcher_free(node->fetcher);
	script_server_free(node->exporter);
	loop_free(node->loop);
	unlink(CHECKPOINT_FILE);
	unlink(DEVICES_FILE);
}

static void sample(struct node *node, unsigned parts)
{
	unsigned before = node->n_finished;
	assert_false(sampler_is_busy(node->sampler));
	sampler_start(node->sampler, parts, node->now_ms);
	assert_true(sampler_is_busy(node->sampler));
	while (node->n_finished == before)
		assert_int_equal(loop_run(node->loop, &err), 0);
	assert_false(sampler_is_busy(node->sampler));
	node->report = (struct report){0};
	sampler_tell(node->sampler, &node->report);
}

/* Runs until this comes up outside of a sample. */
static void await_surprise(struct node *node, enum sampler_surprise surprise)
{
	unsigned before = node->n_surprises;
	while (node->n_surprises == before || node->surprise != surprise)
		assert_int_equal(loop_run(node->loop, &err), 0);
	node->report = (struct report){0};
	sampler_tell(node->sampler, &node->report);
}

static void a_quick_sample_asks_the_kubelet_for_allocations_only(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sample(&node, SCHEDULE_ALLOCATION);
	assert_int_equal(node.report.sources.checkpoint.state, REPORT_SOURCE_OK);
	assert_int_equal(node.report.sources.pod_resources.state, REPORT_SOURCE_OK);
	assert_int_equal(node.report.sources.nvml.state, REPORT_SOURCE_UNKNOWN);
	assert_int_equal(fake_kubelet_calls(node.kubelet, FAKE_KUBELET_ADVERTISED), 0);
	teardown(&node);
}

static void a_full_sample_asks_everybody_and_only_the_first_is_news(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sample(&node, SCHEDULE_ALL);
	assert_true(node.outcome.is_news);
	assert_false(node.outcome.restarted);
	assert_int_equal(node.report.sources.nvml.state, REPORT_SOURCE_OK);
	assert_int_equal(node.report.devices.count, 1);
	assert_true(node.report.allocatable.present);
	assert_int_equal(node.report.sources.processes.state, REPORT_SOURCE_ABSENT);
	sample(&node, SCHEDULE_ALL);
	assert_false(node.outcome.is_news);
	teardown(&node);
}

static void without_a_checkpoint_a_new_list_is_news_once_more(void **state)
{
	(void)state;
	for (int is_good = 0; is_good < 2; is_good++) {
		struct node node;
		setup(&node);
		if (!is_good)
			write_file(CHECKPOINT_FILE, "garbage");
		for (unsigned i = 0; i < 3; i++) {
			sample(&node, SCHEDULE_ALL);
			assert_int_equal(node.outcome.is_news, i == 0 || (i == 1 && !is_good));
			node.now_ms += 2000;
		}
		teardown(&node);
	}
}

static void the_checkpoint_is_never_younger_than_the_list_of_its_sample(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sample(&node, SCHEDULE_ALL);
	assert_true(node.report.sources.checkpoint.observed_at <=
		    node.report.sources.pod_resources.observed_at);
	assert_true(node.report.sources.nvml.observed_at <=
		    node.report.sources.checkpoint.observed_at);
	teardown(&node);
}

static void a_new_socket_is_a_restart_and_news(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sample(&node, SCHEDULE_ALL);
	fake_kubelet_free(node.kubelet);
	node.kubelet = fake_kubelet_new(node.loop, SOCKET_PATH);
	sample(&node, SCHEDULE_ALLOCATION);
	assert_true(node.outcome.restarted);
	assert_true(node.outcome.is_news);
	sample(&node, SCHEDULE_ALLOCATION);
	assert_false(node.outcome.restarted);
	assert_false(node.outcome.is_news);
	teardown(&node);
}

static void the_kubelets_rate_limit_is_passed_on(void **state)
{
	(void)state;
	struct node node;
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 4096);
	fake_kubelet_write(&(struct fake_kubelet_answer){.trailers_only = true, .grpc_status = "8"},
			   &bytes);
	setup(&node);
	fake_kubelet_set(node.kubelet, FAKE_KUBELET_LIST, sbuf_view(&bytes));
	sample(&node, SCHEDULE_ALLOCATION);
	assert_true(node.outcome.throttled);
	teardown(&node);
}

static void events_stay_until_they_are_acknowledged(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sample(&node, SCHEDULE_ALL);
	write_file(DEVICES_FILE, DEVICES(XID));
	await_surprise(&node, SAMPLER_EVENTS);
	sampler_look(node.sampler);
	sample(&node, SCHEDULE_ALL);
	assert_int_equal(node.n_surprises, 1);
	sampler_tell(node.sampler, &node.report);
	assert_int_equal(node.report.events.count, 1);
	assert_int_equal(ARRAY_AT(node.report.events, struct report_event, 0)->sequence, 101);
	sampler_acknowledge(node.sampler, 101);
	sampler_tell(node.sampler, &node.report);
	assert_true(node.report.events.present);
	assert_int_equal(node.report.events.count, 0);
	teardown(&node);
}

static void a_sample_without_a_list_does_not_call_the_kubelet(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sample(&node, SCHEDULE_ALL);
	assert_true(node.outcome.was_called);
	unlink(CHECKPOINT_FILE);
	sample(&node, SCHEDULE_CHECKPOINT | SCHEDULE_HARDWARE);
	assert_false(node.outcome.was_called);
	assert_true(node.outcome.is_news);
	assert_int_equal(node.report.sources.checkpoint.state, REPORT_SOURCE_ERROR);
	assert_int_equal(node.report.sources.pod_resources.state, REPORT_SOURCE_OK);
	assert_int_equal(fake_kubelet_calls(node.kubelet, FAKE_KUBELET_LIST), 1);
	assert_int_equal(fake_kubelet_calls(node.kubelet, FAKE_KUBELET_ADVERTISED), 1);
	/* Freeing one under way does not call back. */
	sampler_start(node.sampler, SCHEDULE_CHECKPOINT, 0);
	teardown(&node);
	assert_int_equal(node.n_finished, 2);
}

/* It is told when it is raised, be that before, during or after a sample. */
static void an_error_is_news_once_and_no_sample_tells_it_again(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sample(&node, SCHEDULE_ALL);
	write_file(DEVICES_FILE, DEVICES(XID));
	sample(&node, SCHEDULE_ALL);
	if (!node.outcome.is_news && node.n_surprises == 0)
		await_surprise(&node, SAMPLER_EVENTS);
	sampler_tell(node.sampler, &node.report);
	assert_int_equal(node.report.events.count, 1);
	sample(&node, SCHEDULE_ALL);
	assert_false(node.outcome.is_news);
	teardown(&node);
}

static void how_many_errors_there_was_no_room_for_is_told(void **state)
{
	(void)state;
	struct node node;
	CLEANUP(sbuf_deinit) struct sbuf events;
	CLEANUP(sbuf_deinit) struct sbuf devices;
	sbuf_init(&events, LIMIT_MIB);
	sbuf_init(&devices, LIMIT_MIB);
	for (unsigned i = 1; i <= LIMIT_REPORT_EVENTS + 2; i++)
		sbuf_printf(&events,
			    "%s{\"sequence\":%u,\"uuid\":\"" UUID "\",\"type\":\"XID\",\"code\":79}",
			    i > 1 ? "," : "", i);
	sbuf_printf(&devices, DEVICES("%s"), sbuf_text(&events));
	setup(&node);
	sample(&node, SCHEDULE_ALL);
	const int64_t since = node.report.events_since;
	const int64_t uptime = node.report.events_since_uptime_ms;
	assert_true(since > 0);
	write_file(DEVICES_FILE, sbuf_text(&devices));
	sample(&node, SCHEDULE_ALL);
	while (node.report.events_dropped < 2)
		await_surprise(&node, SAMPLER_EVENTS);
	assert_int_equal(node.report.events.count, LIMIT_REPORT_EVENTS);
	assert_int_equal(node.report.events_dropped, 2);
	assert_true(node.report.events_since > since);
	assert_true(node.report.events_since_uptime_ms > uptime);
	teardown(&node);
}

static void a_socket_made_anew_before_the_first_sample_is_a_restart(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	fake_kubelet_free(node.kubelet);
	node.kubelet = fake_kubelet_new(node.loop, SOCKET_PATH);
	sample(&node, SCHEDULE_ALL);
	assert_true(node.outcome.restarted);
	teardown(&node);
}

static void freeing_during_a_sample_does_not_call_back(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	sampler_start(node.sampler, SCHEDULE_ALL, 0);
	teardown(&node);
	assert_int_equal(node.n_finished, 0);
}

static void while_the_driver_hangs_the_kubelets_books_are_read_at_once(void **state)
{
	(void)state;
	struct node node;
	setup_with(&node, 2000);
	sample(&node, SCHEDULE_ALL);
	const int64_t nvml_at = node.report.sources.nvml.observed_at;
	write_file(DEVICES_FILE ".tmp", HANGING);
	assert_int_equal(rename(DEVICES_FILE ".tmp", DEVICES_FILE), 0);
	/* Before it is called a hang. */
	for (int i = 0; i < 2; i++) {
		sample(&node, SCHEDULE_ALL);
		assert_int_equal(node.report.sources.nvml.state, REPORT_SOURCE_OK);
		assert_int_equal(node.report.sources.nvml.observed_at, nvml_at);
		assert_true(node.report.sources.checkpoint.observed_at > nvml_at);
		assert_true(node.report.sources.pod_resources.observed_at > nvml_at);
	}
	await_surprise(&node, SAMPLER_LATE);
	assert_int_equal(node.report.sources.nvml.state, REPORT_SOURCE_ERROR);
	assert_true(node.report.sources.nvml.hangs);
	assert_int_equal(node.report.sources.nvml.observed_at, nvml_at);
	assert_int_equal(node.report.devices.count, 1);
	/* It counts as the next sample's news, and once. */
	sample(&node, SCHEDULE_ALLOCATION);
	assert_true(node.outcome.is_news);
	sample(&node, SCHEDULE_ALL);
	assert_false(node.outcome.is_news);
	write_file(DEVICES_FILE ".tmp", DEVICES(""));
	assert_int_equal(rename(DEVICES_FILE ".tmp", DEVICES_FILE), 0);
	await_surprise(&node, SAMPLER_LATE);
	assert_int_equal(node.report.sources.nvml.state, REPORT_SOURCE_OK);
	assert_true(node.report.sources.nvml.observed_at > nvml_at);
	teardown(&node);
}

static void the_first_sample_waits_for_the_driver_until_it_hangs(void **state)
{
	(void)state;
	struct node node;
	setup_with(&node, 700);
	write_file(DEVICES_FILE, HANGING);
	sample(&node, SCHEDULE_ALL);
	assert_true(node.report.sources.nvml.hangs);
	assert_int_equal(node.report.sources.checkpoint.state, REPORT_SOURCE_OK);
	assert_int_equal(node.n_surprises, 0);
	teardown(&node);
}

#define EXPORTED                                                          \
	"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"                \
	"DCGM_FI_DEV_GPU_UTIL{UUID=\"" UUID "\",Hostname=\"gpu-a\"} 38\n"

static void no_sample_waits_for_dcgm_exporter_and_the_next_tells_how_it_does(void **state)
{
	(void)state;
	struct node node;
	struct script_route route = {.begins = "GET /metrics"};
	setup_with_dcgm(&node, &route, false);
	/* It takes the request and says nothing. */
	sample(&node, SCHEDULE_ALL);
	assert_int_equal(node.report.sources.dcgm.state, REPORT_SOURCE_UNKNOWN);
	while (script_server_requests(node.exporter) == 0)
		sample(&node, SCHEDULE_ALLOCATION);
	script_server_push(node.exporter, "GET /metrics", VIEW(EXPORTED));
	script_server_cut(node.exporter, "GET /metrics");
	bool was_news = false;
	while (node.report.sources.dcgm.state == REPORT_SOURCE_UNKNOWN) {
		assert_false(was_news);
		sample(&node, SCHEDULE_ALLOCATION);
		was_news = node.outcome.is_news;
	}
	assert_int_equal(node.report.sources.dcgm.state, REPORT_SOURCE_OK);
	if (!was_news)
		sample(&node, SCHEDULE_ALLOCATION);
	assert_true(node.outcome.is_news);
	sample(&node, SCHEDULE_ALLOCATION);
	assert_false(node.outcome.is_news);
	teardown(&node);
}

static void a_sample_that_waits_for_dcgm_exporter_has_its_answer(void **state)
{
	(void)state;
	static const struct {
		struct view answer;
		int state;
	} rows[] = {
		{VIEW_INIT(EXPORTED), REPORT_SOURCE_OK},
		{VIEW_INIT("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
		 REPORT_SOURCE_ERROR},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct node node;
		struct script_route route = {.begins = "GET /metrics",
					     .answer = {.bytes = rows[i].answer, .close = true}};
		setup_with_dcgm(&node, &route, true);
		sample(&node, SCHEDULE_CHECKPOINT | SCHEDULE_HARDWARE);
		assert_int_equal(node.report.sources.dcgm.state, rows[i].state);
		assert_true(node.outcome.is_news);
		sample(&node, SCHEDULE_ALL);
		assert_int_equal(script_server_requests(node.exporter), 1);
		teardown(&node);
	}
}

static void what_dcgm_exporter_says_counts_from_the_next_sample_on(void **state)
{
	(void)state;
	struct node node;
	struct script_route route = {.begins = "GET /metrics",
				     .answer = {.bytes = VIEW(EXPORTED), .close = true}};
	setup_with_dcgm(&node, &route, true);
	for (int n = 0; n < 2; n++) {
		sample(&node, SCHEDULE_ALL);
		const struct report_activity *activity =
			&ARRAY_AT(node.report.devices, struct report_device, 0)->activity;
		/* The device of this test has no utilisation by NVML. */
		assert_int_equal(activity->present, n == 1);
		assert_int_equal(activity->source, n ? REPORT_ACTIVITY_DCGM
						     : REPORT_ACTIVITY_UNMEASURED);
		assert_int_equal(activity->utilization, n ? 38 : -1);
	}
	teardown(&node);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_quick_sample_asks_the_kubelet_for_allocations_only),
	cmocka_unit_test(a_full_sample_asks_everybody_and_only_the_first_is_news),
	cmocka_unit_test(without_a_checkpoint_a_new_list_is_news_once_more),
	cmocka_unit_test(the_checkpoint_is_never_younger_than_the_list_of_its_sample),
	cmocka_unit_test(a_new_socket_is_a_restart_and_news),
	cmocka_unit_test(the_kubelets_rate_limit_is_passed_on),
	cmocka_unit_test(events_stay_until_they_are_acknowledged),
	cmocka_unit_test(a_sample_without_a_list_does_not_call_the_kubelet),
	cmocka_unit_test(an_error_is_news_once_and_no_sample_tells_it_again),
	cmocka_unit_test(how_many_errors_there_was_no_room_for_is_told),
	cmocka_unit_test(a_socket_made_anew_before_the_first_sample_is_a_restart),
	cmocka_unit_test(freeing_during_a_sample_does_not_call_back),
	cmocka_unit_test(while_the_driver_hangs_the_kubelets_books_are_read_at_once),
	cmocka_unit_test(the_first_sample_waits_for_the_driver_until_it_hangs),
	cmocka_unit_test(no_sample_waits_for_dcgm_exporter_and_the_next_tells_how_it_does),
	cmocka_unit_test(a_sample_that_waits_for_dcgm_exporter_has_its_answer),
	cmocka_unit_test(what_dcgm_exporter_says_counts_from_the_next_sample_on),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
