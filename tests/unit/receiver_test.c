/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "controller/receiver.h"
#include "controller/shared_report.h"
#include "lib/failing_malloc.h"
#include "lib/fake_server.inc"
#include "model/figures.h"

#define MAX 64

static struct fixture {
	struct receiver *receiver;
	struct metric_registry *registry;
	uint64_t ticket;
	unsigned n_reviews, n_reports, n_refreshes;
	struct shared_report *reports[MAX];
	char refreshed[MAX][16];
	int64_t listed_at[MAX]; /* with each refresh */
	struct report_device figures; /* of the last refresh that had some */
	unsigned n_figures;
	bool full;
} f;

static const char *const labels[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", NULL};
static const struct metric_row rows[] = {
	{"r", METRIC_COUNTER, "", "Reports.", labels},
	{"took_seconds", METRIC_HISTOGRAM, "seconds", "Time taken.", NULL, histogram_seconds},
};
static_assert(ARRAY_SIZE(labels) == RECEIVER_N_OUTCOMES + 1, "a label each");

static bool on_review(void *owner, uint64_t ticket, struct view token)
{
	(void)owner;
	assert_true(token.len > 0);
	f.ticket = ticket;
	f.n_reviews++;
	return true;
}

static bool on_hand_over(void *owner, struct shared_report *take_report)
{
	(void)owner;
	if (f.full)
		return false;
	f.reports[f.n_reports++] = take_report;
	return true;
}

static bool on_refresh(void *owner, const struct receiver_refresh *refresh)
{
	(void)owner;
	if (f.full)
		return false;
	f.listed_at[f.n_refreshes] = refresh->listed_at;
	snprintf(f.refreshed[f.n_refreshes++], sizeof(f.refreshed[0]), "%.*s",
		 VIEW_ARG(refresh->node));
	if (refresh->figures) {
		struct report_partition room[LIMIT_REPORT_PARTITIONS];
		assert_ptr_equal(refresh->of, f.reports[f.n_reports - 1]);
		f.figures = *ARRAY_AT(refresh->of->report.devices, struct report_device, 0);
		figures_apply(refresh->figures, 0, &f.figures, room);
		figures_free(refresh->figures);
		f.n_figures++;
	}
	return true;
}

static void start_with(size_t max_body_bytes, size_t max_report_bytes)
{
	struct error err;
	f = (struct fixture){0};
	assert_int_equal(metric_registry_new(rows, 2, &f.registry, &err), 0);
	const struct receiver_config config = {
		.admission = {.cache = {.max_accepted = 10, .max_refused = 10, .accepted_ms = 600000,
					.refused_ms = 1000},
			      .max_reviews = 4, .max_waiting = 4, .timeout_ms = 5000,
			      .review = on_review,
			      .quota = {.max_clients = 8, .max_strangers = 4, .max_of_client = 2,
					.per_second = 8}},
		.reports_per_second = 20,
		.max_nodes = 2,
		.max_body_bytes = max_body_bytes,
		.max_report_bytes = max_report_bytes,
		.refresh_ms = 1000,
		.metrics = f.registry,
		.durations = 1,
		.hand_over = on_hand_over,
		.refresh = on_refresh,
		.owner = &f,
	};
	assert_int_equal(receiver_new(NULL, &config, &f.receiver, &err), 0);
	receiver_set_trouble(f.receiver, (struct view){0});
	receiver_set_heartbeat(f.receiver, 60);
	receiver_set_leads(f.receiver, true);
}

static int set_up(void **state)
{
	(void)state;
	start_with(64 * (size_t)LIMIT_MIB, 64 * (size_t)LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	receiver_free(f.receiver);
	for (unsigned i = 0; i < f.n_reports; i++)
		shared_report_unref(f.reports[i]);
	metric_registry_free(f.registry);
	return 0;
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static void start_anew_with(size_t max_body_bytes, size_t max_report_bytes)
{
	tear_down(NULL);
	start_with(max_body_bytes, max_report_bytes);
}

static struct server_head head_of(struct view body)
{
	return (struct server_head){
		.method = VIEW("POST"),
		.path = VIEW("/v1/report"),
		.authorization = VIEW("Bearer token-of-n"),
		.content_type = VIEW("application/json"),
		.content_length = (int64_t)body.len,
	};
}

static struct identity of_node(const char *node)
{
	struct identity identity = {.outcome = IDENTITY_ACCEPTED, .reason = ""};
	identity.node_len = (uint16_t)strlen(node);
	memcpy(identity.node, node, identity.node_len);
	return identity;
}

static void receive_head(struct server_request *request, const struct server_head *head)
{
	const struct server_handler handler = receiver_handler(f.receiver);

	handler.head(handler.owner, request, head);
}

static void end_request(struct server_request *request)
{
	const struct server_handler handler = receiver_handler(f.receiver);

	handler.done(handler.owner, request);
}

static void acknowledge(const char *node, int64_t instance, int64_t event)
{
	receiver_acknowledge(f.receiver, &(struct receiver_acknowledgement){view_from(node), VIEW("boot"),
									    instance, event});
}

/* A whole request. Whoever asks for a review is told that the token is of node n. */
static const struct server_request *send(const struct server_head *head, struct view body)
{
	static struct server_request request;
	const struct server_handler handler = receiver_handler(f.receiver);
	const struct identity identity = of_node("n");
	unsigned n_reviews = f.n_reviews;
	request = (struct server_request){.body_size = (size_t)head->content_length};
	handler.head(handler.owner, &request, head);
	if (f.n_reviews > n_reviews)
		receiver_answer_review(f.receiver, f.ticket, &identity);
	if (request.proceeded) {
		handler.request(handler.owner, &request, head, body);
		handler.done(handler.owner, &request);
	}
	assert_int_not_equal(request.status, 0);
	return &request;
}

static const struct server_request *post(const char *text)
{
	/* An exact copy, which is gone afterwards: nothing of it may be kept. */
	size_t len = strlen(text);
	char *copy = malloc(len);
	memcpy(copy, text, len);
	const struct server_head head = head_of((struct view){copy, len});
	const struct server_request *request = send(&head, (struct view){copy, len});
	memset(copy, 'x', len);
	free(copy);
	return request;
}

static double counted(enum receiver_outcome outcome)
{
	return metric_value(f.registry, 0, outcome);
}

struct parts {
	const char *node, *boot, *time, *listed;
	int64_t instance, sequence, events, memory, corrected, refused;
};

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"

static const char *make(const struct parts *parts)
{
	static char text[2048];
	snprintf(text, sizeof(text),
		 "{\"version\":1,\"node\":\"%s\",\"bootID\":\"%s\",\"instance\":%lld,"
		 "\"sequence\":%lld,\"reportsRefused\":%lld,\"observedAt\":\"%s\","
		 "\"sources\":{\"nvml\":{\"state\":\"ok\",\"observedAt\":\"%s\"},"
		 "\"podResources\":{\"state\":\"ok\",\"observedAt\":\"%s\"}},"
		 "\"devices\":[{\"uuid\":\"" UUID "\",\"memoryMiB\":%lld,"
		 "\"condition\":{\"eccVolatile\":{\"corrected\":%lld}}}],"
		 "\"events\":[{\"sequence\":%lld,\"type\":\"XID\"}]}",
		 parts->node ? parts->node : "n", parts->boot ? parts->boot : "boot",
		 (long long)parts->instance, (long long)parts->sequence, (long long)parts->refused,
		 parts->time ? parts->time : "2026-01-02T03:04:05Z",
		 parts->time ? parts->time : "2026-01-02T03:04:05Z",
		 parts->listed ? parts->listed : "2026-01-02T03:04:05Z", (long long)parts->memory,
		 (long long)parts->corrected, (long long)parts->events);
	return text;
}

#define REPORT(...) make(&(struct parts){__VA_ARGS__})

TEST(a_new_report_is_handed_over_whole)
{
	const struct server_request *request = post(REPORT(.sequence = 42, .memory = 7));
	assert_int_equal(request->status, 200);
	assert_string_equal(request->body, "{\"heartbeatSeconds\":60,\"acknowledgedEvents\":0}");
	assert_true(request->vouched);
	assert_true(request->idle_long && !request->is_delayed);
	assert_string_equal(request->content_type, "application/json");
	assert_int_equal(f.n_reports, 1);
	const struct report *report = &f.reports[0]->report;
	assert_true(view_equal(report->node, VIEW("n")));
	assert_int_equal(report->sequence, 42);
	assert_int_equal(ARRAY_AT(report->devices, struct report_device, 0)->memory_mib, 7);
	assert_int_equal(counted(RECEIVER_ACCEPTED), 1);
}

static void assert_agent_shown(const char *line)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, LIMIT_MIB);
	receiver_render_agents(f.receiver, &text);
	if (!strstr(sbuf_text(&text), line))
		fail_msg("no '%s' in\n%s", line, sbuf_text(&text));
}

TEST(what_an_agent_counts_is_shown_though_its_report_is_unchanged)
{
	post(REPORT(.sequence = 1, .refused = 2));
	assert_agent_shown("\ngpuattribution_agent_reports_refused_total{node=\"n\"} 2\n");
	assert_int_equal(post(REPORT(.sequence = 2, .refused = 3))->status, 200);
	assert_int_equal(f.n_reports, 1);
	assert_agent_shown("\ngpuattribution_agent_reports_refused_total{node=\"n\"} 3\n");
	assert_agent_shown("\ngpuattribution_agent_reports_total{node=\"n\"} 2\n");
	/* The same bytes but for the number. */
	post(REPORT(.sequence = 3, .refused = 3));
	assert_agent_shown("\ngpuattribution_agent_reports_total{node=\"n\"} 3\n");
}

TEST(an_unchanged_report_only_refreshes)
{
	post(REPORT(.sequence = 1));
	fake_pass(1000);
	/* The same bytes but for the number. */
	assert_int_equal(post(REPORT(.sequence = 2))->status, 200);
	assert_int_equal(f.n_refreshes, 1);
	assert_string_equal(f.refreshed[0], "n");
	/* The same evidence, read later. */
	fake_pass(1000);
	assert_int_equal(post(REPORT(.sequence = 3, .time = "2026-01-02T03:05:05Z"))->status, 200);
	assert_int_equal(f.n_refreshes, 2);
	/* The same, some thousand corrected errors later. */
	fake_pass(1000);
	assert_int_equal(post(REPORT(.sequence = 4, .corrected = 4711))->status, 200);
	assert_int_equal(f.n_refreshes, 3);
	assert_int_equal(f.n_reports, 1);
	assert_int_equal(counted(RECEIVER_UNCHANGED), 3);
	assert_true(metric_value(f.registry, 1, 0) >= 4 && metric_value(f.registry, 1, 0) <= 4);
	/* A change is handed over, and the way back too. */
	assert_int_equal(post(REPORT(.sequence = 5, .memory = 9))->status, 200);
	assert_int_equal(post(REPORT(.sequence = 6))->status, 200);
	assert_int_equal(f.n_reports, 3);
}

TEST(a_refresh_says_when_the_list_was_read_last)
{
	post(REPORT(.sequence = 1));
	for (int64_t i = 2; i < 6; i++) {
		fake_pass(1000);
		/* The third and the fourth are alike but for the number, the fifth goes back in time. */
		post(REPORT(.sequence = i, .listed = i == 2   ? NULL
							 : i == 5 ? "2026-01-02T03:03:05Z"
								  : "2026-01-02T03:05:05Z"));
	}
	const int64_t first = INT64_C(1767323045000);
	assert_int_equal(f.n_refreshes, 4);
	assert_int_equal(f.listed_at[0], first);
	assert_int_equal(f.listed_at[1], first + 60000);
	assert_int_equal(f.listed_at[2], first + 60000);
	assert_int_equal(f.listed_at[3], first - 60000);
	/* What comes too soon to be told is told with the next. */
	fake_pass(500);
	post(REPORT(.sequence = 6, .listed = "2026-01-02T03:06:05Z"));
	fake_pass(500);
	post(REPORT(.sequence = 7, .listed = "2026-01-02T03:06:05Z"));
	assert_int_equal(f.n_refreshes, 5);
	assert_int_equal(f.listed_at[4], first + 120000);
	/* After a change it counts from there. */
	fake_pass(1000);
	post(REPORT(.sequence = 8, .memory = 9));
	fake_pass(1000);
	post(REPORT(.sequence = 9, .memory = 9));
	assert_int_equal(f.listed_at[5], first);
}

TEST(a_heartbeat_brings_its_figures_along)
{
	post(REPORT(.sequence = 1, .corrected = 7));
	for (int64_t i = 2; i < 10; i++) {
		fake_pass(60000);
		post(REPORT(.sequence = i, .corrected = 100 * i));
		assert_int_equal(f.figures.condition.ecc_volatile.corrected, 100 * i);
	}
	assert_int_equal(f.n_reports, 1);
	assert_int_equal(f.n_figures, 8);
	/* What is the same but for the number says nothing of them: they hold. */
	fake_pass(60000);
	post(REPORT(.sequence = 10, .corrected = 900));
	assert_int_equal(f.n_refreshes, 9);
	assert_int_equal(f.n_figures, 8);
}

TEST(figures_that_could_not_be_told_are_told_with_the_next_heartbeat)
{
	post(REPORT(.sequence = 1));
	/* Too soon, then no room. */
	fake_pass(500);
	post(REPORT(.sequence = 2, .corrected = 8));
	fake_pass(500);
	f.full = true;
	post(REPORT(.sequence = 3, .corrected = 8));
	f.full = false;
	assert_int_equal(f.n_figures, 0);
	post(REPORT(.sequence = 4, .corrected = 8));
	assert_int_equal(f.n_figures, 1);
	assert_int_equal(f.figures.condition.ecc_volatile.corrected, 8);
	assert_int_equal(f.n_reports, 1);
}

TEST(the_loop_hears_of_a_node_no_more_often_than_it_can_tell)
{
	post(REPORT(.sequence = 1));
	for (int64_t i = 2; i < 50; i++) {
		fake_pass(100);
		assert_int_equal(post(REPORT(.sequence = i))->status, 200);
	}
	assert_int_equal(f.n_refreshes, 4);
	assert_int_equal(counted(RECEIVER_UNCHANGED), 48);
}

TEST(what_is_not_newer_is_refused)
{
	assert_int_equal(post(REPORT(.instance = 5, .sequence = 10))->status, 200);
	/* The short way and the long way agree. */
	assert_int_equal(post(REPORT(.instance = 5, .sequence = 10))->status, 409);
	assert_int_equal(post(REPORT(.instance = 5, .sequence = 9))->status, 409);
	assert_int_equal(post(REPORT(.instance = 5, .sequence = 10, .memory = 1))->status, 409);
	assert_int_equal(post(REPORT(.instance = 4, .sequence = 11))->status, 409);
	const struct server_request *request = post(REPORT(.instance = 5, .sequence = 3));
	assert_non_null(strstr(request->body, "sequence 10"));
	assert_int_equal(post(REPORT(.boot = "next", .sequence = 1))->status, 200);
	request = post(REPORT(.instance = 6, .sequence = 11));
	assert_int_equal(request->status, 409);
	assert_false(request->idle_long || request->is_delayed); /* the agent knows what to do */
	assert_non_null(strstr(request->body, "booted since"));
	assert_int_equal(f.n_reports, 2);
	assert_int_equal(counted(RECEIVER_STALE), 6);
	assert_true(metric_value(f.registry, 1, 0) <= counted(RECEIVER_ACCEPTED) +
							      counted(RECEIVER_UNCHANGED));
}

TEST(a_node_can_speak_only_for_itself)
{
	const struct server_request *request = post(REPORT(.node = "m", .sequence = 1));
	assert_int_equal(request->status, 403);
	assert_int_equal(f.n_reports, 0);
	assert_int_equal(counted(RECEIVER_FORBIDDEN), 1);
	/* It did not count as a report of node n. */
	assert_int_equal(post(REPORT(.sequence = 1))->status, 200);
}

TEST(malformed_reports_are_refused_with_the_reason)
{
	static const struct {
		const char *text, *reason;
	} bad[] = {
		{"", ""},
		{"{", ""},
		{"[]", ""},
		{"{\"version\":2}", "version"},
		{"{\"version\":1,\"node\":\"n\",\"node\":\"n\"}", "node"},
		{"{\"version\":\"1\"}", "version"},
		{"{\"a\":\"\\u0000\xff\"}", ""},
	};
	post(REPORT(.sequence = 1));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct server_request *request = post(bad[i].text);
		assert_int_equal(request->status, 400);
		assert_memory_equal(request->body, "{\"error\":\"", 10);
		assert_non_null(strstr(request->body, bad[i].reason));
		assert_null(strchr(request->body, '\n'));
		assert_true(request->is_delayed);
	}
	assert_int_equal(f.n_reports, 1);
	assert_int_equal(counted(RECEIVER_MALFORMED), ARRAY_SIZE(bad));
	/* What was known before still is. */
	assert_int_equal(post(REPORT(.sequence = 2))->status, 200);
	assert_int_equal(counted(RECEIVER_UNCHANGED), 1);
}

TEST(a_head_that_does_not_fit_is_refused_before_the_body)
{
	static const struct {
		struct server_head head;
		int status;
	} heads[] = {
		{{.method = VIEW_INIT("POST"), .path = VIEW_INIT("/v1/reports")}, 404},
		{{.method = VIEW_INIT("GET"), .path = VIEW_INIT("/v1/report")}, 405},
		{{.method = VIEW_INIT("POST"), .path = VIEW_INIT("/v1/report"),
		  .content_type = VIEW_INIT("text/plain"), .content_length = 1}, 415},
		{{.method = VIEW_INIT("POST"), .path = VIEW_INIT("/v1/report"),
		  .content_type = VIEW_INIT("application/json"), .content_length = -1}, 411},
		{{.method = VIEW_INIT("POST"), .path = VIEW_INIT("/v1/report"),
		  .content_type = VIEW_INIT("application/json"), .content_length = 1}, 401},
		{{.method = VIEW_INIT("POST"), .path = VIEW_INIT("/v1/report"),
		  .content_type = VIEW_INIT("application/json"), .content_length = 1,
		  .authorization = VIEW_INIT("Basic abc")}, 401},
	};
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		const struct server_request *request = send(&heads[i].head, VIEW(""));
		assert_int_equal(request->status, heads[i].status);
		assert_false(request->proceeded);
		assert_string_equal(request->allow, heads[i].status == 405 ? "POST" : "");
	}
	struct view body = view_from(REPORT(.sequence = 1));
	struct server_head head = head_of(body);
	head.content_type = VIEW("Application/JSON ; charset=utf-8");
	assert_int_equal(send(&head, body)->status, 200);
}

TEST(nothing_is_taken_while_there_is_trouble)
{
	receiver_set_trouble(f.receiver, VIEW("not synced: \"pods\""));
	const struct server_request *request = post(REPORT(.sequence = 1));
	assert_int_equal(request->status, 503);
	assert_int_equal(request->retry_after_s, 5);
	assert_string_equal(request->body, "{\"error\":\"not synced: \\\"pods\\\"\"}");
	assert_int_equal(f.n_reviews, 0);
	receiver_set_trouble(f.receiver, VIEW(""));
	assert_int_equal(post(REPORT(.sequence = 1))->status, 200);
}

TEST(a_body_that_finds_no_memory_is_refused_unread)
{
	start_anew_with(100, LIMIT_MIB);
	const struct server_request *request = post(REPORT(.sequence = 1));
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 1);
	assert_false(request->proceeded);
	assert_int_equal(receiver_body_memory(f.receiver).refused, 1);
	assert_int_equal(receiver_body_memory(f.receiver).used, 0);
	assert_int_equal((int)counted(RECEIVER_THROTTLED), 1);
}

TEST(a_report_that_finds_no_memory_leaves_the_last_one_as_it_is)
{
	start_anew_with(LIMIT_MIB, 64 * (size_t)LIMIT_KIB);
	assert_int_equal(post(REPORT(.sequence = 1))->status, 200);
	const size_t used = receiver_report_memory(f.receiver).used;
	assert_in_range(used, 1000, 8000);
	/* The fixture keeps what it is handed, as a loop that is stuck. One node fills its part. */
	int64_t n = 1;
	const struct server_request *request;
	do {
		n++;
		request = post(REPORT(.sequence = n, .memory = 1000 + n));
	} while (request->status == 200);
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 10);
	assert_int_equal(f.n_reports, n - 1);
	assert_int_equal(receiver_report_memory(f.receiver).refused, 1);
	assert_in_range(receiver_report_memory(f.receiver).used, used, 8 * LIMIT_KIB + used);
	/* Its last one is still the one that the next is compared with. */
	assert_int_equal(post(REPORT(.sequence = n, .memory = 1000 + n - 1))->status, 200);
	assert_int_equal((int)counted(RECEIVER_UNCHANGED), 1);
}

TEST(a_new_receiver_takes_nothing_yet)
{
	struct receiver *fresh = NULL;
	struct error err;
	const struct receiver_config config = {
		.admission = {.cache = {1, 1, 1, 1}}, .reports_per_second = 1, .max_nodes = 1};
	assert_int_equal(receiver_new(NULL, &config, &fresh, &err), 0);
	struct receiver *first = f.receiver;
	f.receiver = fresh;
	assert_int_equal(post(REPORT(.sequence = 1))->status, 503);
	f.receiver = first;
	receiver_free(fresh);
}

TEST(the_verdict_on_a_token_decides)
{
	static const struct {
		struct identity identity;
		bool failed;
		int status;
	} verdicts[] = {
		{{.outcome = IDENTITY_UNAUTHENTICATED, .reason = "bad"}, false, 401},
		{{.outcome = IDENTITY_FORBIDDEN, .reason = "no agent"}, false, 403},
		{{0}, true, 503},
	};
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		start_anew();
		const struct server_head head = head_of(VIEW("x"));
		struct server_request *request = calloc(2, sizeof(*request));
		receive_head(&request[0], &head);
		assert_int_equal(request[0].status, 0);
		assert_false(request[0].proceeded);
		receiver_answer_review(f.receiver, f.ticket,
				       verdicts[i].failed ? NULL : &verdicts[i].identity);
		assert_int_equal(request[0].status, verdicts[i].status);
		/* A verdict is remembered, a failure is not. */
		receive_head(&request[1], &head);
		assert_int_equal(request[1].status, verdicts[i].failed ? 0 : verdicts[i].status);
		assert_int_equal(f.n_reviews, verdicts[i].failed ? 2 : 1);
		free(request);
	}
}

TEST(who_waits_too_long_for_a_verdict_is_sent_away)
{
	const struct server_head head = head_of(VIEW("x"));
	struct server_request *request = calloc(1, sizeof(*request));
	receive_head(request, &head);
	fake_pass(4999);
	assert_int_equal(request->status, 0);
	fake_pass(1);
	assert_int_equal(request->status, 503);
	assert_int_equal(request->retry_after_s, 5);
	free(request);
}

TEST(a_node_that_reports_too_often_is_slowed_down)
{
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(post(REPORT(.sequence = i))->status, 200);
	const struct server_request *request = post(REPORT(.sequence = 1000));
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 1);
	assert_false(request->proceeded);
	assert_true(request->is_delayed);
	fake_pass(1);
	assert_int_equal(post(REPORT(.sequence = 1000))->status, 200);
}

TEST(changes_are_slowed_down_long_before_what_is_known)
{
	int64_t i = 0;
	for (; i < 60; i++)
		assert_int_equal(post(REPORT(.sequence = i, .memory = i))->status, 200);
	for (; i < 80; i++)
		assert_int_equal(post("{")->status, 400);
	/* 20 a second, four seconds' worth at once. */
	const struct server_request *request = post(REPORT(.sequence = i, .memory = i));
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 1);
	assert_true(request->is_delayed);
	assert_int_equal(f.n_reports, 60);
	assert_int_equal(post(REPORT(.sequence = i, .memory = 59))->status, 200);
	fake_pass(50);
	assert_int_equal(post(REPORT(.sequence = i + 1, .memory = i))->status, 200);
	assert_int_equal(f.n_reports, 61);
}

TEST(a_node_with_too_many_connections_in_use_is_told_to_wait)
{
	struct server_head head = head_of(VIEW("{}"));
	struct server_request request = {.body_size = 2, .has_too_many = true};
	post(REPORT(.sequence = 1)); /* the token is known then */
	receive_head(&request, &head);
	assert_int_equal(request.status, 429);
	assert_true(request.is_delayed && request.is_named && !request.proceeded);
	assert_non_null(strstr(request.body, "too many connections"));
}

TEST(a_node_has_two_large_bodies_under_way_and_no_more)
{
	struct server_head head = head_of(VIEW(""));
	struct server_request *requests = calloc(4, sizeof(*requests));
	post(REPORT(.sequence = 1));
	head.content_length = LIMIT_REPORT_BYTES;
	for (int i = 0; i < 4; i++)
		requests[i].body_size = LIMIT_REPORT_BYTES;
	for (int i = 0; i < 3; i++)
		receive_head(&requests[i], &head);
	assert_true(requests[0].proceeded && requests[1].proceeded);
	assert_false(requests[2].proceeded);
	assert_int_equal(requests[2].status, 429);
	/* A connection that ends before its body makes room. */
	end_request(&requests[0]);
	receive_head(&requests[3], &head);
	assert_true(requests[3].proceeded);
	end_request(&requests[1]);
	end_request(&requests[3]);
	free(requests);
}

TEST(when_the_loop_has_no_room_the_report_did_not_happen)
{
	f.full = true;
	assert_int_equal(post(REPORT(.sequence = 1))->status, 503);
	f.full = false;
	assert_int_equal(post(REPORT(.sequence = 1))->status, 200);
	assert_int_equal(f.n_reports, 1);
	/* Nor does a refused change pass for what is known. */
	f.full = true;
	assert_int_equal(post(REPORT(.sequence = 2, .memory = 5))->status, 503);
	f.full = false;
	assert_int_equal(post(REPORT(.sequence = 2, .memory = 5))->status, 200);
	assert_int_equal(f.n_reports, 2);
}

TEST(a_forgotten_report_comes_whole_again)
{
	post(REPORT(.sequence = 1));
	receiver_forget(f.receiver, VIEW("m"));
	post(REPORT(.sequence = 2));
	assert_int_equal(f.n_reports, 1);
	receiver_forget(f.receiver, VIEW("n"));
	/* Its order is not forgotten with it. */
	assert_int_equal(post(REPORT(.sequence = 2))->status, 409);
	assert_int_equal(post(REPORT(.sequence = 3))->status, 200);
	assert_int_equal(f.n_reports, 2);
	receiver_forget(f.receiver, VIEW(""));
	post(REPORT(.sequence = 4));
	assert_int_equal(f.n_reports, 3);
}

TEST(a_report_from_before_the_start_is_refused_where_a_newer_one_was_published)
{
	receiver_set_order(f.receiver, &(struct receiver_order){
					       .node = VIEW("n"),
					       .last = {VIEW("boot"), 7, 42, 0},
				       });
	assert_int_equal(post(REPORT(.instance = 7, .sequence = 41))->status, 409);
	assert_int_equal(post(REPORT(.instance = 6, .sequence = 99))->status, 409);
	assert_int_equal(f.n_reports, 0);
	assert_int_equal(post(REPORT(.instance = 7, .sequence = 43))->status, 200);
	assert_int_equal(f.n_reports, 1); /* whole, as the first one here */
}

TEST(the_boot_that_the_node_names_is_not_locked_out_by_a_late_report)
{
	static const struct receiver_order named = {.node = VIEW_INIT("n"),
						    .named_boot = VIEW_INIT("now")};
	/* Nothing is kept of a node that nobody has heard of. */
	receiver_set_order(f.receiver, &named);
	assert_int_equal(receiver_nodes(f.receiver), 0);
	post(REPORT(.boot = "now", .sequence = 5, .time = "2026-01-02T03:05:00Z"));
	/* Of a boot that it has not seen, and its clock was not behind. */
	assert_int_equal(post(REPORT(.boot = "before", .sequence = 900, .time =
						 "2026-01-02T03:06:00Z"))->status, 200);
	assert_int_equal(post(REPORT(.boot = "now", .sequence = 6))->status, 409);
	receiver_set_order(f.receiver, &named);
	assert_int_equal(post(REPORT(.boot = "now", .sequence = 7))->status, 200);
	assert_int_equal(post(REPORT(.boot = "before", .sequence = 901))->status, 409);
	/* And one that was made before the last one here is refused at once. */
	assert_int_equal(post(REPORT(.boot = "long before", .sequence = 900, .time =
						 "2026-01-02T03:04:00Z"))->status, 409);
}

TEST(events_are_acknowledged_for_the_process_that_sent_them)
{
	post(REPORT(.instance = 1, .sequence = 1, .events = 7));
	acknowledge("n", 1, 7);
	acknowledge("n", 1, 6);
	acknowledge("m", 1, 9);
	const struct server_request *request =
		post(REPORT(.instance = 1, .sequence = 2, .events = 7));
	assert_non_null(strstr(request->body, "\"acknowledgedEvents\":7"));
	/* A new process counts from the beginning. */
	request = post(REPORT(.instance = 2, .sequence = 1, .events = 1));
	assert_non_null(strstr(request->body, "\"acknowledgedEvents\":0"));
	acknowledge("n", 1, 8);
	request = post(REPORT(.instance = 2, .sequence = 2, .events = 1));
	assert_non_null(strstr(request->body, "\"acknowledgedEvents\":0"));
}

TEST(a_replica_that_does_not_lead_takes_reports_and_says_nothing_of_events_and_heartbeat)
{
	receiver_set_leads(f.receiver, false);
	const struct server_request *request =
		post(REPORT(.instance = 1, .sequence = 1, .events = 7));
	assert_int_equal(request->status, 200);
	assert_string_equal(request->body, "{}");
	assert_int_equal(f.n_reports, 1);
	request = post(REPORT(.instance = 1, .sequence = 2, .events = 7));
	assert_int_equal(request->status, 200);
	assert_string_equal(request->body, "{}");
	assert_int_equal(post(REPORT(.instance = 1, .sequence = 2, .events = 7))->status, 409);
	/* It leads from now on, and then no more. */
	acknowledge("n", 1, 7);
	receiver_set_leads(f.receiver, true);
	request = post(REPORT(.instance = 1, .sequence = 3, .events = 7));
	assert_string_equal(request->body, "{\"heartbeatSeconds\":60,\"acknowledgedEvents\":7}");
	receiver_set_leads(f.receiver, false);
	request = post(REPORT(.instance = 1, .sequence = 4, .events = 7));
	assert_string_equal(request->body, "{}");
}

TEST(a_report_outlives_its_replacement_while_the_loop_holds_it)
{
	post(REPORT(.sequence = 1, .memory = 1));
	post(REPORT(.sequence = 2, .memory = 2));
	assert_int_equal(f.reports[0]->references, 1);
	assert_int_equal(f.reports[1]->references, 2);
	receiver_free(f.receiver);
	f.receiver = NULL;
	assert_int_equal(f.reports[1]->references, 1);
	assert_true(view_equal(f.reports[0]->report.node, VIEW("n")));
}

/* Sends it until there is memory for it; returns how often it was refused before. */
static unsigned send_until_there_is_memory(const char *report)
{
	const struct view body = view_from(report);
	const struct server_head head = head_of(body);
	bool failed = true;
	unsigned n_refused = 0;

	for (unsigned k = 1; failed; k++) {
		fake_pass(1000);
		failing_malloc_at(k);
		const int status = send(&head, body)->status;
		failed = failing_malloc_off();
		assert_true(status == 200 || status == 503);
		if (status == 200)
			break;
		n_refused++;
	}
	return n_refused;
}

TEST(without_memory_a_report_is_refused_and_changes_nothing)
{
	post(REPORT(.sequence = 1));
	send_until_there_is_memory(REPORT(.sequence = 2, .memory = 3));
	assert_int_equal(f.n_reports, 2);
	assert_int_equal(post(REPORT(.sequence = 3, .memory = 3))->status, 200);
	assert_int_equal(f.n_reports, 2);
}

TEST(without_memory_for_its_figures_a_heartbeat_is_refused)
{
	post(REPORT(.sequence = 1));
	/* Those of decoding, and one for the figures. */
	assert_true(send_until_there_is_memory(REPORT(.sequence = 2, .corrected = 3)) >= 2);
	assert_int_equal(f.n_figures, 1);
	assert_int_equal(f.figures.condition.ecc_volatile.corrected, 3);
}

static int be_quiet(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	return 0;
}

TEST(an_address_with_too_many_new_tokens_is_told_to_wait)
{
	static const struct view tokens[] = {VIEW_INIT("Bearer 1"), VIEW_INIT("Bearer 2"),
					     VIEW_INIT("Bearer 3")};
	struct server_request requests[4] = {0};
	struct server_head head = head_of(VIEW("{}"));
	head.network = VIEW("a");
	for (int i = 0; i < 3; i++) {
		head.authorization = tokens[i];
		receive_head(&requests[i], &head);
	}
	assert_int_equal(f.n_reviews, 2);
	assert_int_equal(requests[2].status, 429);
	assert_int_equal(requests[2].retry_after_s, 1);
	assert_int_equal(counted(RECEIVER_THROTTLED), 1);
	assert_int_equal(receiver_admissions(f.receiver).too_often, 1);
	/* That is no matter of anybody else. */
	head.network = VIEW("b");
	receive_head(&requests[3], &head);
	assert_int_equal(f.n_reviews, 3);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(an_address_with_too_many_new_tokens_is_told_to_wait),
	cmocka_unit_test_set_up(a_new_report_is_handed_over_whole),
	cmocka_unit_test_set_up(what_an_agent_counts_is_shown_though_its_report_is_unchanged),
	cmocka_unit_test_set_up(an_unchanged_report_only_refreshes),
	cmocka_unit_test_set_up(a_refresh_says_when_the_list_was_read_last),
	cmocka_unit_test_set_up(a_heartbeat_brings_its_figures_along),
	cmocka_unit_test_set_up(figures_that_could_not_be_told_are_told_with_the_next_heartbeat),
	cmocka_unit_test_set_up(the_loop_hears_of_a_node_no_more_often_than_it_can_tell),
	cmocka_unit_test_set_up(what_is_not_newer_is_refused),
	cmocka_unit_test_set_up(a_node_can_speak_only_for_itself),
	cmocka_unit_test_set_up(malformed_reports_are_refused_with_the_reason),
	cmocka_unit_test_set_up(a_head_that_does_not_fit_is_refused_before_the_body),
	cmocka_unit_test_set_up(nothing_is_taken_while_there_is_trouble),
	cmocka_unit_test_set_up(a_body_that_finds_no_memory_is_refused_unread),
	cmocka_unit_test_set_up(a_report_that_finds_no_memory_leaves_the_last_one_as_it_is),
	cmocka_unit_test_set_up(a_new_receiver_takes_nothing_yet),
	cmocka_unit_test_set_up(the_verdict_on_a_token_decides),
	cmocka_unit_test_set_up(who_waits_too_long_for_a_verdict_is_sent_away),
	cmocka_unit_test_set_up(a_node_that_reports_too_often_is_slowed_down),
	cmocka_unit_test_set_up(changes_are_slowed_down_long_before_what_is_known),
	cmocka_unit_test_set_up(a_node_with_too_many_connections_in_use_is_told_to_wait),
	cmocka_unit_test_set_up(a_node_has_two_large_bodies_under_way_and_no_more),
	cmocka_unit_test_set_up(when_the_loop_has_no_room_the_report_did_not_happen),
	cmocka_unit_test_set_up(a_forgotten_report_comes_whole_again),
	cmocka_unit_test_set_up(a_report_from_before_the_start_is_refused_where_a_newer_one_was_published),
	cmocka_unit_test_set_up(the_boot_that_the_node_names_is_not_locked_out_by_a_late_report),
	cmocka_unit_test_set_up(events_are_acknowledged_for_the_process_that_sent_them),
	cmocka_unit_test_set_up(a_replica_that_does_not_lead_takes_reports_and_says_nothing_of_events_and_heartbeat),
	cmocka_unit_test_set_up(a_report_outlives_its_replacement_while_the_loop_holds_it),
	cmocka_unit_test_set_up(without_memory_a_report_is_refused_and_changes_nothing),
	cmocka_unit_test_set_up(without_memory_for_its_figures_a_heartbeat_is_refused),
};
TEST_MAIN_WITH(tests, be_quiet, NULL)
