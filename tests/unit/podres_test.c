/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/podres.h"
#include "base/clock.h"
#include "lib/fake_kubelet.h"
#include "lib/own_folder.h"
#include "wire/grpcmsg.h"

#define SOCKET_PATH "podres_test.sock"
#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define OTHER "GPU-22ba558d-3437-2335-2fd8-a78c8502f87f"

static struct error err;

/* PodResources and a kubelet on one loop. */
struct node {
	struct loop *loop;
	struct fetcher *fetcher;
	struct fake_kubelet *kubelet;
	struct podres *podres;
	uint64_t now_ms;
	struct podres_outcome outcome;
	unsigned n_finished;
	struct report report;
};

static void saw_finished(void *owner, const struct podres_outcome *outcome)
{
	struct node *node = owner;
	node->outcome = *outcome;
	node->n_finished++;
	loop_stop(node->loop);
}

static void setup_with(struct node *node, uint32_t timeout_ms)
{
	const struct podres_config config = {.socket = SOCKET_PATH, .timeout_ms = timeout_ms};
	*node = (struct node){0};
	assert_int_equal(loop_new(&node->loop, &err), 0);
	assert_int_equal(fetcher_new(node->loop, &node->fetcher, &err), 0);
	node->kubelet = fake_kubelet_new(node->loop, SOCKET_PATH);
	assert_int_equal(podres_new(node->loop, node->fetcher, &config, saw_finished, node,
				    &node->podres, &err), 0);
}

static void setup(struct node *node)
{
	setup_with(node, 60000); /* even a busy machine has an answer by then */
}

static void teardown(struct node *node)
{
	podres_free(node->podres);
	fake_kubelet_free(node->kubelet);
	fetcher_free(node->fetcher);
	loop_free(node->loop);
}

/* One reading, and what the report then says. */
static void read_once(struct node *node, bool with_advertised)
{
	unsigned before = node->n_finished;
	podres_read(node->podres, with_advertised, node->now_ms);
	assert_int_equal(node->n_finished, before);
	assert_int_equal(loop_run(node->loop, &err), 0);
	assert_int_equal(node->n_finished, before + 1);
	node->report = (struct report){0};
	podres_tell(node->podres, &node->report);
}

static const struct report_source *source(const struct node *node)
{
	return &node->report.sources.pod_resources;
}

static void assert_message(const struct node *node, const char *part)
{
	struct view before, after;
	if (part[0])
		assert_true(view_cut(source(node)->message, view_from(part), &before, &after));
	else
		assert_int_equal(source(node)->message.len, 0);
}

static void list_one_pod(struct node *node, const char *name)
{
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, 4096);
	fake_kubelet_pod("ml", name, "main", "nvidia.com/gpu", UUID "::3", &message);
	fake_kubelet_set_message(node->kubelet, FAKE_KUBELET_LIST, sbuf_view(&message));
}

static void advertise(struct node *node, const char *device_id)
{
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, 4096);
	fake_kubelet_devices(1, "nvidia.com/gpu", device_id, &message);
	fake_kubelet_set_message(node->kubelet, FAKE_KUBELET_ADVERTISED, sbuf_view(&message));
}

static void assert_one_pod(const struct node *node, const char *name)
{
	assert_int_equal(node->report.pod_resources.count, 1);
	assert_true(view_equal(ARRAY_AT(node->report.pod_resources, struct report_pod_resource, 0)
				       ->name,
			       view_from(name)));
}

static void before_the_first_reading_nothing_is_known(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	podres_tell(node.podres, &node.report);
	assert_false(node.report.pod_resources.present);
	assert_false(node.report.allocatable.present);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_UNKNOWN);
	teardown(&node);
}

static void a_list_that_was_news_is_told_of_again_when_a_second_has_passed(void **state)
{
	(void)state;
	static const struct {
		uint64_t at;
		const char *name;
		bool fails, is_news, is_repeat;
	} rows[] = {
		{5000, "a", false, true, false},  {6499, "a", false, false, false},
		{6500, "a", true, true, false},   {6600, "a", false, true, true},
		{9000, "a", false, false, false}, {10000, "b", false, true, false},
		{11000, "c", false, true, false}, {12000, "c", false, false, false},
		{12500, "c", false, false, true}, {99000, "c", false, false, false},
	};
	struct node node;
	setup(&node);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		node.now_ms = rows[i].at;
		if (rows[i].fails)
			fake_kubelet_set(node.kubelet, FAKE_KUBELET_LIST,
					 VIEW("no frame of HTTP/2")); /* a header, so nothing is waited for */
		else
			list_one_pod(&node, rows[i].name);
		read_once(&node, false);
		assert_int_equal(node.outcome.is_news, rows[i].is_news);
		assert_int_equal(node.outcome.is_repeat, rows[i].is_repeat);
	}
	teardown(&node);
}

static void a_kubelet_without_gpu_pods_gives_an_empty_list_not_a_missing_one(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	read_once(&node, true);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_OK);
	assert_true(source(&node)->observed_at > 0);
	assert_true(node.report.pod_resources.present);
	assert_true(node.report.allocatable.present);
	assert_int_equal(node.report.pod_resources.count, 0);
	assert_true(node.outcome.is_news);
	teardown(&node);
}

static void each_method_is_asked_once_and_only_if_wanted(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	list_one_pod(&node, "train-0");
	advertise(&node, UUID "::0");
	read_once(&node, false);
	assert_one_pod(&node, "train-0");
	assert_false(node.report.allocatable.present);
	assert_int_equal(fake_kubelet_calls(node.kubelet, FAKE_KUBELET_LIST), 1);
	assert_int_equal(fake_kubelet_calls(node.kubelet, FAKE_KUBELET_ADVERTISED), 0);
	read_once(&node, true);
	assert_int_equal(node.report.allocatable.count, 1);
	assert_int_equal(fake_kubelet_calls(node.kubelet, FAKE_KUBELET_LIST), 2);
	assert_int_equal(fake_kubelet_calls(node.kubelet, FAKE_KUBELET_ADVERTISED), 1);
	read_once(&node, false);
	assert_int_equal(node.report.allocatable.count, 1);
	teardown(&node);
}

static void only_a_change_is_news(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	list_one_pod(&node, "train-0");
	read_once(&node, true);
	assert_true(node.outcome.is_news);
	read_once(&node, true);
	assert_false(node.outcome.is_news);
	list_one_pod(&node, "train-1");
	read_once(&node, true);
	assert_true(node.outcome.is_news);
	assert_one_pod(&node, "train-1");
	advertise(&node, OTHER);
	read_once(&node, true);
	assert_true(node.outcome.is_news);
	read_once(&node, true);
	assert_false(node.outcome.is_news);
	teardown(&node);
}

/* What can be wrong with an answer to List. */
static const struct {
	struct fake_kubelet_answer answer;
	const char *message; /* part of it */
	bool throttled;
} broken[] = {
	{{.trailers_only = true, .grpc_status = "8", .grpc_message = "rejected by rate limit"},
	 "List: RESOURCE_EXHAUSTED: rejected by rate limit", true},
	{{.trailers_only = true, .grpc_status = "12", .grpc_message = "unknown service"},
	 "List: UNIMPLEMENTED", false},
	{{.body = VIEW_INIT("\0\0\0\0\0")}, "List: no gRPC status", false},
	{{.body = VIEW_INIT("\0\0\0\0\4\x0a\x7f??"), .grpc_status = "0"}, "List: ", false},
	{{.body = VIEW_INIT("\0\0\0\0\2\x0a\0"), .grpc_status = "0"}, "List: ", false},
	{{.body = VIEW_INIT("\0\0\0\0\x09"), .grpc_status = "0"}, "List: ", false},
	{{.body = VIEW_INIT("no protobuf at all"), .grpc_status = "0"}, "List: ", false},
	{{.http_status = 500, .grpc_status = "13"}, "List: HTTP status 500", false},
};

static void a_broken_answer_is_said_and_the_last_good_list_kept_and_dated(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct node node;
		CLEANUP(sbuf_deinit) struct sbuf bytes;
		sbuf_init(&bytes, 4096);
		fake_kubelet_write(&broken[i].answer, &bytes);
		setup(&node);
		list_one_pod(&node, "train-0");
		advertise(&node, UUID);
		read_once(&node, true);
		int64_t observed_at = source(&node)->observed_at;
		fake_kubelet_set(node.kubelet, FAKE_KUBELET_LIST, sbuf_view(&bytes));
		read_once(&node, true);
		assert_int_equal(source(&node)->state, REPORT_SOURCE_ERROR);
		assert_message(&node, broken[i].message);
		assert_int_equal(source(&node)->observed_at, observed_at);
		assert_one_pod(&node, "train-0");
		assert_int_equal(node.report.allocatable.count, 1);
		assert_true(node.outcome.is_news);
		assert_int_equal(node.outcome.throttled, broken[i].throttled);
		read_once(&node, true);
		assert_false(node.outcome.is_news);
		list_one_pod(&node, "train-0");
		read_once(&node, true);
		assert_int_equal(source(&node)->state, REPORT_SOURCE_OK);
		assert_message(&node, "");
		assert_true(node.outcome.is_news);
		teardown(&node);
	}
}

static void a_kubelet_that_never_answered_well_leaves_the_list_missing(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	fake_kubelet_set(node.kubelet, FAKE_KUBELET_LIST, VIEW("garbage that is no HTTP/2 frame"));
	read_once(&node, true);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_ERROR);
	assert_int_equal(source(&node)->observed_at, 0);
	assert_false(node.report.pod_resources.present);
	teardown(&node);
}

static void a_kubelet_that_hangs_is_given_up_in_time(void **state)
{
	(void)state;
	struct node node;
	setup_with(&node, 100);
	list_one_pod(&node, "train-0");
	read_once(&node, false);
	fake_kubelet_set(node.kubelet, FAKE_KUBELET_LIST, VIEW(""));
	read_once(&node, false);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_ERROR);
	assert_message(&node, "List: no answer within 100 ms");
	assert_one_pod(&node, "train-0");
	read_once(&node, false);
	assert_false(node.outcome.is_news);
	teardown(&node);
}

static void a_missing_socket_is_named(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	fake_kubelet_free(node.kubelet);
	node.kubelet = NULL;
	read_once(&node, true);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_ERROR);
	assert_message(&node, SOCKET_PATH " is not there");
	teardown(&node);
}

static void advertised_devices_that_cannot_be_read_are_left_out_beside_a_good_list(void **state)
{
	(void)state;
	struct node node;
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 4096);
	fake_kubelet_write(&(struct fake_kubelet_answer){.trailers_only = true,
							 .grpc_status = "12",
							 .grpc_message = "no such method"},
			   &bytes);
	setup(&node);
	list_one_pod(&node, "train-0");
	advertise(&node, UUID);
	read_once(&node, true);
	fake_kubelet_set(node.kubelet, FAKE_KUBELET_ADVERTISED, sbuf_view(&bytes));
	read_once(&node, true);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_OK);
	assert_message(&node, "GetAllocatableResources: UNIMPLEMENTED");
	assert_one_pod(&node, "train-0");
	assert_false(node.report.allocatable.present);
	assert_true(node.outcome.is_news);
	teardown(&node);
}

static void refuse_all(struct node *node, const char *grpc_status)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 4096);
	fake_kubelet_write(&(struct fake_kubelet_answer){.trailers_only = true,
							 .grpc_status = grpc_status},
			   &bytes);
	fake_kubelet_set(node->kubelet, FAKE_KUBELET_LIST, sbuf_view(&bytes));
	fake_kubelet_set(node->kubelet, FAKE_KUBELET_ADVERTISED, sbuf_view(&bytes));
}

static void a_kubelet_that_answers_nothing_takes_back_nothing(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	list_one_pod(&node, "train-0");
	advertise(&node, UUID);
	read_once(&node, true);
	refuse_all(&node, "14");
	read_once(&node, true);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_ERROR);
	assert_one_pod(&node, "train-0");
	assert_int_equal(node.report.allocatable.count, 1);
	teardown(&node);
}

static void a_rate_limit_is_over_with_the_next_good_answer(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	refuse_all(&node, "8");
	read_once(&node, true);
	assert_true(node.outcome.throttled);
	list_one_pod(&node, "train-0");
	advertise(&node, UUID);
	read_once(&node, true);
	assert_false(node.outcome.throttled);
	teardown(&node);
}

/* Who was listed may have come after that, and not before. */
static void a_list_is_as_old_as_the_question_for_it(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	podres_read(node.podres, false, 0);
	int64_t asked = clock_wall_ms();
	while (clock_wall_ms() == asked)
		continue;
	assert_int_equal(loop_run(node.loop, &err), 0);
	podres_tell(node.podres, &node.report);
	assert_true(source(&node)->observed_at > 0 && source(&node)->observed_at <= asked);
	teardown(&node);
}

static void a_list_larger_than_a_socket_buffer_arrives_whole(void **state)
{
	(void)state;
	struct node node;
	char name[32];
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, 8 << 20);
	for (unsigned i = 0; i < 4000; i++) {
		snprintf(name, sizeof(name), "train-%u", i);
		fake_kubelet_pod("ml", name, "main", "nvidia.com/gpu", UUID "::3", &message);
	}
	assert_true(message.len > 300000);
	setup(&node);
	fake_kubelet_set_message(node.kubelet, FAKE_KUBELET_LIST, sbuf_view(&message));
	read_once(&node, false);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_OK);
	assert_int_equal(node.report.pod_resources.count, 4000);
	teardown(&node);
}

static void a_list_over_16_mib_is_refused(void **state)
{
	(void)state;
	struct node node;
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 4096);
	/* The prefix states a length of 16 MiB and one byte. */
	fake_kubelet_write(&(struct fake_kubelet_answer){.body = VIEW("\0\1\0\0\1"),
							 .grpc_status = "0"}, &bytes);
	setup(&node);
	fake_kubelet_set(node.kubelet, FAKE_KUBELET_LIST, sbuf_view(&bytes));
	read_once(&node, false);
	assert_int_equal(source(&node)->state, REPORT_SOURCE_ERROR);
	assert_message(&node, "16777217");
	teardown(&node);
}

static int64_t restarted_at(struct node *node)
{
	podres_tell(node->podres, &node->report);
	return node->report.kubelet_restarted_at;
}

static void a_socket_that_was_there_at_first_is_no_restart(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	assert_false(podres_socket_changed(node.podres));
	assert_false(podres_socket_changed(node.podres));
	assert_true(restarted_at(&node) > 0);
	teardown(&node);
}

static void a_socket_made_anew_is_a_restart_and_told_once(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	assert_false(podres_socket_changed(node.podres));
	int64_t made_at = restarted_at(&node);
	fake_kubelet_free(node.kubelet);
	assert_false(podres_socket_changed(node.podres));
	assert_int_equal(restarted_at(&node), made_at);
	node.kubelet = fake_kubelet_new(node.loop, SOCKET_PATH);
	assert_true(podres_socket_changed(node.podres));
	assert_false(podres_socket_changed(node.podres));
	assert_true(restarted_at(&node) >= made_at);
	teardown(&node);
}

static void a_socket_that_comes_later_is_a_start(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	fake_kubelet_free(node.kubelet);
	assert_false(podres_socket_changed(node.podres));
	assert_int_equal(restarted_at(&node), 0);
	node.kubelet = fake_kubelet_new(node.loop, SOCKET_PATH);
	assert_true(podres_socket_changed(node.podres));
	teardown(&node);
}

static void a_socket_that_was_away_for_a_moment_is_the_same_one(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	assert_false(podres_socket_changed(node.podres));
	assert_int_equal(rename(SOCKET_PATH, SOCKET_PATH ".away"), 0);
	assert_false(podres_socket_changed(node.podres));
	assert_int_equal(rename(SOCKET_PATH ".away", SOCKET_PATH), 0);
	assert_false(podres_socket_changed(node.podres));
	teardown(&node);
}

static void freeing_during_a_reading_does_not_call_back(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	podres_read(node.podres, true, 0);
	teardown(&node);
	assert_int_equal(node.n_finished, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(before_the_first_reading_nothing_is_known),
	cmocka_unit_test(a_list_that_was_news_is_told_of_again_when_a_second_has_passed),
	cmocka_unit_test(a_kubelet_without_gpu_pods_gives_an_empty_list_not_a_missing_one),
	cmocka_unit_test(each_method_is_asked_once_and_only_if_wanted),
	cmocka_unit_test(only_a_change_is_news),
	cmocka_unit_test(a_broken_answer_is_said_and_the_last_good_list_kept_and_dated),
	cmocka_unit_test(a_kubelet_that_never_answered_well_leaves_the_list_missing),
	cmocka_unit_test(a_kubelet_that_hangs_is_given_up_in_time),
	cmocka_unit_test(a_missing_socket_is_named),
	cmocka_unit_test(advertised_devices_that_cannot_be_read_are_left_out_beside_a_good_list),
	cmocka_unit_test(a_kubelet_that_answers_nothing_takes_back_nothing),
	cmocka_unit_test(a_rate_limit_is_over_with_the_next_good_answer),
	cmocka_unit_test(a_list_is_as_old_as_the_question_for_it),
	cmocka_unit_test(a_list_larger_than_a_socket_buffer_arrives_whole),
	cmocka_unit_test(a_list_over_16_mib_is_refused),
	cmocka_unit_test(a_socket_that_was_there_at_first_is_no_restart),
	cmocka_unit_test(a_socket_made_anew_is_a_restart_and_told_once),
	cmocka_unit_test(a_socket_that_comes_later_is_a_start),
	cmocka_unit_test(a_socket_that_was_away_for_a_moment_is_the_same_one),
	cmocka_unit_test(freeing_during_a_reading_does_not_call_back),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
