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

struct fixture {
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
};

static const char *const labels[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", NULL};
static const struct metric_row rows[] = {
	{"r", METRIC_COUNTER, "", "Reports.", labels},
	{"took_seconds", METRIC_HISTOGRAM, "seconds", "Time taken.", NULL, histogram_seconds},
};
static_assert(ARRAY_SIZE(labels) == RECEIVER_N_OUTCOMES + 1, "a label each");

static bool on_review(void *owner, uint64_t ticket, struct view token)
{
	struct fixture *f = owner;
	assert_true(token.len > 0);
	f->ticket = ticket;
	f->n_reviews++;
	return true;
}

static bool on_hand_over(void *owner, struct shared_report *take_report)
{
	struct fixture *f = owner;
	if (f->full)
		return false;
	f->reports[f->n_reports++] = take_report;
	return true;
}

static bool on_refresh(void *owner, const struct receiver_refresh *refresh)
{
	struct fixture *f = owner;
	if (f->full)
		return false;
	f->listed_at[f->n_refreshes] = refresh->listed_at;
	snprintf(f->refreshed[f->n_refreshes++], sizeof(f->refreshed[0]), "%.*s",
		 VIEW_ARG(refresh->node));
	if (refresh->figures) {
		struct report_partition room[LIMIT_REPORT_PARTITIONS];
		assert_ptr_equal(refresh->of, f->reports[f->n_reports - 1]);
		f->figures = *ARRAY_AT(refresh->of->report.devices, struct report_device, 0);
		figures_apply(refresh->figures, 0, &f->figures, room);
		figures_free(refresh->figures);
		f->n_figures++;
	}
	return true;
}

static void start_with(struct fixture *f, size_t max_body_bytes, size_t max_report_bytes)
{
	struct error err;
	*f = (struct fixture){0};
	assert_int_equal(metric_registry_new(rows, 2, &f->registry, &err), 0);
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
		.metrics = f->registry,
		.durations = 1,
		.hand_over = on_hand_over,
		.refresh = on_refresh,
		.owner = f,
	};
	assert_int_equal(receiver_new(NULL, &config, &f->receiver, &err), 0);
	receiver_set_trouble(f->receiver, (struct view){0});
	receiver_set_heartbeat(f->receiver, 60);
	receiver_set_leads(f->receiver, true);
}

static void start(struct fixture *f)
{
	start_with(f, 64 * (size_t)LIMIT_MIB, 64 * (size_t)LIMIT_MIB);
}

static void stop(struct fixture *f)
{
	receiver_free(f->receiver);
	for (unsigned i = 0; i < f->n_reports; i++)
		shared_report_unref(f->reports[i]);
	metric_registry_free(f->registry);
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

/* A whole request. Whoever asks for a review is told that the token is of node n. */
static const struct server_request *send(struct fixture *f, const struct server_head *head,
					 struct view body)
{
	static struct server_request request;
	const struct server_handler handler = receiver_handler(f->receiver);
	const struct identity identity = of_node("n");
	unsigned n_reviews = f->n_reviews;
	request = (struct server_request){.body_size = (size_t)head->content_length};
	handler.head(handler.owner, &request, head);
	if (f->n_reviews > n_reviews)
		receiver_answer_review(f->receiver, f->ticket, &identity);
	if (request.proceeded) {
		handler.request(handler.owner, &request, head, body);
		handler.done(handler.owner, &request);
	}
	assert_int_not_equal(request.status, 0);
	return &request;
}

static const struct server_request *post(struct fixture *f, const char *text)
{
	/* An exact copy, which is gone afterwards: nothing of it may be kept. */
	size_t len = strlen(text);
	char *copy = malloc(len);
	memcpy(copy, text, len);
	const struct server_head head = head_of((struct view){copy, len});
	const struct server_request *request = send(f, &head, (struct view){copy, len});
	memset(copy, 'x', len);
	free(copy);
	return request;
}

static double counted(const struct fixture *f, enum receiver_outcome outcome)
{
	return metric_value(f->registry, 0, outcome);
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

static void a_new_report_is_handed_over_whole(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	const struct server_request *request = post(&f, REPORT(.sequence = 42, .memory = 7));
	assert_int_equal(request->status, 200);
	assert_string_equal(request->body, "{\"heartbeatSeconds\":60,\"acknowledgedEvents\":0}");
	assert_true(request->vouched);
	assert_true(request->idle_long);
	assert_string_equal(request->content_type, "application/json");
	assert_int_equal(f.n_reports, 1);
	const struct report *report = &f.reports[0]->report;
	assert_true(view_equal(report->node, VIEW("n")));
	assert_int_equal(report->sequence, 42);
	assert_int_equal(ARRAY_AT(report->devices, struct report_device, 0)->memory_mib, 7);
	assert_int_equal(counted(&f, RECEIVER_ACCEPTED), 1);
	stop(&f);
}

static void assert_agent_shown(const struct fixture *f, const char *line)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, LIMIT_MIB);
	receiver_render_agents(f->receiver, &text);
	if (!strstr(sbuf_text(&text), line))
		fail_msg("no '%s' in\n%s", line, sbuf_text(&text));
}

static void what_an_agent_counts_is_shown_though_its_report_is_unchanged(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1, .refused = 2));
	assert_agent_shown(&f, "\ngpuattribution_agent_reports_refused_total{node=\"n\"} 2\n");
	assert_int_equal(post(&f, REPORT(.sequence = 2, .refused = 3))->status, 200);
	assert_int_equal(f.n_reports, 1);
	assert_agent_shown(&f, "\ngpuattribution_agent_reports_refused_total{node=\"n\"} 3\n");
	assert_agent_shown(&f, "\ngpuattribution_agent_reports_total{node=\"n\"} 2\n");
	/* The same bytes but for the number. */
	post(&f, REPORT(.sequence = 3, .refused = 3));
	assert_agent_shown(&f, "\ngpuattribution_agent_reports_total{node=\"n\"} 3\n");
	stop(&f);
}

static void an_unchanged_report_only_refreshes(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	fake_pass(1000);
	/* The same bytes but for the number. */
	assert_int_equal(post(&f, REPORT(.sequence = 2))->status, 200);
	assert_int_equal(f.n_refreshes, 1);
	assert_string_equal(f.refreshed[0], "n");
	/* The same evidence, read later. */
	fake_pass(1000);
	assert_int_equal(post(&f, REPORT(.sequence = 3, .time = "2026-01-02T03:05:05Z"))->status, 200);
	assert_int_equal(f.n_refreshes, 2);
	/* The same, some thousand corrected errors later. */
	fake_pass(1000);
	assert_int_equal(post(&f, REPORT(.sequence = 4, .corrected = 4711))->status, 200);
	assert_int_equal(f.n_refreshes, 3);
	assert_int_equal(f.n_reports, 1);
	assert_int_equal(counted(&f, RECEIVER_UNCHANGED), 3);
	assert_true(metric_value(f.registry, 1, 0) >= 4 && metric_value(f.registry, 1, 0) <= 4);
	/* A change is handed over, and the way back too. */
	assert_int_equal(post(&f, REPORT(.sequence = 5, .memory = 9))->status, 200);
	assert_int_equal(post(&f, REPORT(.sequence = 6))->status, 200);
	assert_int_equal(f.n_reports, 3);
	stop(&f);
}

static void a_refresh_says_when_the_list_was_read_last(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	for (int64_t i = 2; i < 6; i++) {
		fake_pass(1000);
		/* The third and the fourth are alike but for the number, the fifth goes back in time. */
		post(&f, REPORT(.sequence = i, .listed = i == 2   ? NULL
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
	post(&f, REPORT(.sequence = 6, .listed = "2026-01-02T03:06:05Z"));
	fake_pass(500);
	post(&f, REPORT(.sequence = 7, .listed = "2026-01-02T03:06:05Z"));
	assert_int_equal(f.n_refreshes, 5);
	assert_int_equal(f.listed_at[4], first + 120000);
	/* After a change it counts from there. */
	fake_pass(1000);
	post(&f, REPORT(.sequence = 8, .memory = 9));
	fake_pass(1000);
	post(&f, REPORT(.sequence = 9, .memory = 9));
	assert_int_equal(f.listed_at[5], first);
	stop(&f);
}

static void a_heartbeat_brings_its_figures_along(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1, .corrected = 7));
	for (int64_t i = 2; i < 10; i++) {
		fake_pass(60000);
		post(&f, REPORT(.sequence = i, .corrected = 100 * i));
		assert_int_equal(f.figures.condition.ecc_volatile.corrected, 100 * i);
	}
	assert_int_equal(f.n_reports, 1);
	assert_int_equal(f.n_figures, 8);
	/* What is the same but for the number says nothing of them: they hold. */
	fake_pass(60000);
	post(&f, REPORT(.sequence = 10, .corrected = 900));
	assert_int_equal(f.n_refreshes, 9);
	assert_int_equal(f.n_figures, 8);
	stop(&f);
}

static void figures_that_could_not_be_told_are_told_with_the_next_heartbeat(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	/* Too soon, then no room. */
	fake_pass(500);
	post(&f, REPORT(.sequence = 2, .corrected = 8));
	fake_pass(500);
	f.full = true;
	post(&f, REPORT(.sequence = 3, .corrected = 8));
	f.full = false;
	assert_int_equal(f.n_figures, 0);
	post(&f, REPORT(.sequence = 4, .corrected = 8));
	assert_int_equal(f.n_figures, 1);
	assert_int_equal(f.figures.condition.ecc_volatile.corrected, 8);
	assert_int_equal(f.n_reports, 1);
	stop(&f);
}

static void the_loop_hears_of_a_node_no_more_often_than_it_can_tell(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	for (int64_t i = 2; i < 50; i++) {
		fake_pass(100);
		assert_int_equal(post(&f, REPORT(.sequence = i))->status, 200);
	}
	assert_int_equal(f.n_refreshes, 4);
	assert_int_equal(counted(&f, RECEIVER_UNCHANGED), 48);
	stop(&f);
}

static void what_is_not_newer_is_refused(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(post(&f, REPORT(.instance = 5, .sequence = 10))->status, 200);
	/* The short way and the long way agree. */
	assert_int_equal(post(&f, REPORT(.instance = 5, .sequence = 10))->status, 409);
	assert_int_equal(post(&f, REPORT(.instance = 5, .sequence = 9))->status, 409);
	assert_int_equal(post(&f, REPORT(.instance = 5, .sequence = 10, .memory = 1))->status, 409);
	assert_int_equal(post(&f, REPORT(.instance = 4, .sequence = 11))->status, 409);
	const struct server_request *request = post(&f, REPORT(.instance = 5, .sequence = 3));
	assert_non_null(strstr(request->body, "sequence 10"));
	assert_int_equal(post(&f, REPORT(.boot = "next", .sequence = 1))->status, 200);
	request = post(&f, REPORT(.instance = 6, .sequence = 11));
	assert_int_equal(request->status, 409);
	assert_false(request->idle_long);
	assert_non_null(strstr(request->body, "booted since"));
	assert_int_equal(f.n_reports, 2);
	assert_int_equal(counted(&f, RECEIVER_STALE), 6);
	assert_true(metric_value(f.registry, 1, 0) <= counted(&f, RECEIVER_ACCEPTED) +
							      counted(&f, RECEIVER_UNCHANGED));
	stop(&f);
}

static void a_node_can_speak_only_for_itself(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	const struct server_request *request = post(&f, REPORT(.node = "m", .sequence = 1));
	assert_int_equal(request->status, 403);
	assert_int_equal(f.n_reports, 0);
	assert_int_equal(counted(&f, RECEIVER_FORBIDDEN), 1);
	/* It did not count as a report of node n. */
	assert_int_equal(post(&f, REPORT(.sequence = 1))->status, 200);
	stop(&f);
}

static void malformed_reports_are_refused_with_the_reason(void **state)
{
	(void)state;
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
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct server_request *request = post(&f, bad[i].text);
		assert_int_equal(request->status, 400);
		assert_memory_equal(request->body, "{\"error\":\"", 10);
		assert_non_null(strstr(request->body, bad[i].reason));
		assert_null(strchr(request->body, '\n'));
	}
	assert_int_equal(f.n_reports, 1);
	assert_int_equal(counted(&f, RECEIVER_MALFORMED), ARRAY_SIZE(bad));
	/* What was known before still is. */
	assert_int_equal(post(&f, REPORT(.sequence = 2))->status, 200);
	assert_int_equal(counted(&f, RECEIVER_UNCHANGED), 1);
	stop(&f);
}

static void a_head_that_does_not_fit_is_refused_before_the_body(void **state)
{
	(void)state;
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
	struct fixture f;
	start(&f);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		const struct server_request *request = send(&f, &heads[i].head, VIEW(""));
		assert_int_equal(request->status, heads[i].status);
		assert_false(request->proceeded);
		assert_string_equal(request->allow, heads[i].status == 405 ? "POST" : "");
	}
	struct view body = view_from(REPORT(.sequence = 1));
	struct server_head head = head_of(body);
	head.content_type = VIEW("Application/JSON ; charset=utf-8");
	assert_int_equal(send(&f, &head, body)->status, 200);
	stop(&f);
}

static void nothing_is_taken_while_there_is_trouble(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	receiver_set_trouble(f.receiver, VIEW("not synced: \"pods\""));
	const struct server_request *request = post(&f, REPORT(.sequence = 1));
	assert_int_equal(request->status, 503);
	assert_int_equal(request->retry_after_s, 5);
	assert_string_equal(request->body, "{\"error\":\"not synced: \\\"pods\\\"\"}");
	assert_int_equal(f.n_reviews, 0);
	receiver_set_trouble(f.receiver, VIEW(""));
	assert_int_equal(post(&f, REPORT(.sequence = 1))->status, 200);
	stop(&f);
}

static void a_body_that_finds_no_memory_is_refused_unread(void **state)
{
	(void)state;
	struct fixture f;
	start_with(&f, 100, LIMIT_MIB);
	const struct server_request *request = post(&f, REPORT(.sequence = 1));
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 1);
	assert_false(request->proceeded);
	assert_int_equal(receiver_body_memory(f.receiver).refused, 1);
	assert_int_equal(receiver_body_memory(f.receiver).used, 0);
	assert_int_equal((int)counted(&f, RECEIVER_THROTTLED), 1);
	stop(&f);
}

static void a_report_that_finds_no_memory_leaves_the_last_one_as_it_is(void **state)
{
	(void)state;
	struct fixture f;
	start_with(&f, LIMIT_MIB, 64 * (size_t)LIMIT_KIB);
	assert_int_equal(post(&f, REPORT(.sequence = 1))->status, 200);
	const size_t used = receiver_report_memory(f.receiver).used;
	assert_in_range(used, 1000, 8000);
	/* The fixture keeps what it is handed, as a loop that is stuck. One node fills its part. */
	int64_t n = 1;
	const struct server_request *request;
	do {
		n++;
		request = post(&f, REPORT(.sequence = n, .memory = 1000 + n));
	} while (request->status == 200);
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 10);
	assert_int_equal(f.n_reports, n - 1);
	assert_int_equal(receiver_report_memory(f.receiver).refused, 1);
	assert_in_range(receiver_report_memory(f.receiver).used, used, 8 * LIMIT_KIB + used);
	/* Its last one is still the one that the next is compared with. */
	assert_int_equal(post(&f, REPORT(.sequence = n, .memory = 1000 + n - 1))->status, 200);
	assert_int_equal((int)counted(&f, RECEIVER_UNCHANGED), 1);
	stop(&f);
}

static void a_new_receiver_takes_nothing_yet(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	struct receiver *fresh = NULL;
	struct error err;
	const struct receiver_config config = {
		.admission = {.cache = {1, 1, 1, 1}}, .reports_per_second = 1, .max_nodes = 1};
	assert_int_equal(receiver_new(NULL, &config, &fresh, &err), 0);
	struct receiver *first = f.receiver;
	f.receiver = fresh;
	assert_int_equal(post(&f, REPORT(.sequence = 1))->status, 503);
	f.receiver = first;
	receiver_free(fresh);
	stop(&f);
}

static void the_verdict_on_a_token_decides(void **state)
{
	(void)state;
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
		struct fixture f;
		start(&f);
		const struct server_handler handler = receiver_handler(f.receiver);
		const struct server_head head = head_of(VIEW("x"));
		struct server_request *request = calloc(2, sizeof(*request));
		handler.head(handler.owner, &request[0], &head);
		assert_int_equal(request[0].status, 0);
		assert_false(request[0].proceeded);
		receiver_answer_review(f.receiver, f.ticket,
				       verdicts[i].failed ? NULL : &verdicts[i].identity);
		assert_int_equal(request[0].status, verdicts[i].status);
		/* A verdict is remembered, a failure is not. */
		handler.head(handler.owner, &request[1], &head);
		assert_int_equal(request[1].status, verdicts[i].failed ? 0 : verdicts[i].status);
		assert_int_equal(f.n_reviews, verdicts[i].failed ? 2 : 1);
		free(request);
		stop(&f);
	}
}

static void who_waits_too_long_for_a_verdict_is_sent_away(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	const struct server_handler handler = receiver_handler(f.receiver);
	const struct server_head head = head_of(VIEW("x"));
	struct server_request *request = calloc(1, sizeof(*request));
	handler.head(handler.owner, request, &head);
	fake_pass(4999);
	assert_int_equal(request->status, 0);
	fake_pass(1);
	assert_int_equal(request->status, 503);
	assert_int_equal(request->retry_after_s, 5);
	free(request);
	stop(&f);
}

static void a_node_that_reports_too_often_is_slowed_down(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(post(&f, REPORT(.sequence = i))->status, 200);
	const struct server_request *request = post(&f, REPORT(.sequence = 1000));
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 1);
	assert_false(request->proceeded);
	fake_pass(1);
	assert_int_equal(post(&f, REPORT(.sequence = 1000))->status, 200);
	stop(&f);
}

static void changes_are_slowed_down_long_before_what_is_known(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	int64_t i = 0;
	for (; i < 60; i++)
		assert_int_equal(post(&f, REPORT(.sequence = i, .memory = i))->status, 200);
	for (; i < 80; i++)
		assert_int_equal(post(&f, "{")->status, 400);
	/* 20 a second, four seconds' worth at once. */
	const struct server_request *request = post(&f, REPORT(.sequence = i, .memory = i));
	assert_int_equal(request->status, 429);
	assert_int_equal(request->retry_after_s, 1);
	assert_int_equal(f.n_reports, 60);
	assert_int_equal(post(&f, REPORT(.sequence = i, .memory = 59))->status, 200);
	fake_pass(50);
	assert_int_equal(post(&f, REPORT(.sequence = i + 1, .memory = i))->status, 200);
	assert_int_equal(f.n_reports, 61);
	stop(&f);
}

static void a_node_has_two_large_bodies_under_way_and_no_more(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	const struct server_handler handler = receiver_handler(f.receiver);
	struct server_head head = head_of(VIEW(""));
	struct server_request *requests = calloc(4, sizeof(*requests));
	post(&f, REPORT(.sequence = 1));
	head.content_length = LIMIT_REPORT_BYTES;
	for (int i = 0; i < 4; i++)
		requests[i].body_size = LIMIT_REPORT_BYTES;
	for (int i = 0; i < 3; i++)
		handler.head(handler.owner, &requests[i], &head);
	assert_true(requests[0].proceeded && requests[1].proceeded);
	assert_false(requests[2].proceeded);
	assert_int_equal(requests[2].status, 429);
	/* A connection that ends before its body makes room. */
	handler.done(handler.owner, &requests[0]);
	handler.head(handler.owner, &requests[3], &head);
	assert_true(requests[3].proceeded);
	handler.done(handler.owner, &requests[1]);
	handler.done(handler.owner, &requests[3]);
	free(requests);
	stop(&f);
}

static void when_the_loop_has_no_room_the_report_did_not_happen(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	f.full = true;
	assert_int_equal(post(&f, REPORT(.sequence = 1))->status, 503);
	f.full = false;
	assert_int_equal(post(&f, REPORT(.sequence = 1))->status, 200);
	assert_int_equal(f.n_reports, 1);
	/* Nor does a refused change pass for what is known. */
	f.full = true;
	assert_int_equal(post(&f, REPORT(.sequence = 2, .memory = 5))->status, 503);
	f.full = false;
	assert_int_equal(post(&f, REPORT(.sequence = 2, .memory = 5))->status, 200);
	assert_int_equal(f.n_reports, 2);
	stop(&f);
}

static void a_forgotten_report_comes_whole_again(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	receiver_forget(f.receiver, VIEW("m"));
	post(&f, REPORT(.sequence = 2));
	assert_int_equal(f.n_reports, 1);
	receiver_forget(f.receiver, VIEW("n"));
	/* Its order is not forgotten with it. */
	assert_int_equal(post(&f, REPORT(.sequence = 2))->status, 409);
	assert_int_equal(post(&f, REPORT(.sequence = 3))->status, 200);
	assert_int_equal(f.n_reports, 2);
	receiver_forget(f.receiver, VIEW(""));
	post(&f, REPORT(.sequence = 4));
	assert_int_equal(f.n_reports, 3);
	stop(&f);
}

static void a_report_from_before_the_start_is_refused_where_a_newer_one_was_published(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	receiver_set_order(f.receiver, &(struct receiver_order){
					       .node = VIEW("n"),
					       .last = {VIEW("boot"), 7, 42, 0},
				       });
	assert_int_equal(post(&f, REPORT(.instance = 7, .sequence = 41))->status, 409);
	assert_int_equal(post(&f, REPORT(.instance = 6, .sequence = 99))->status, 409);
	assert_int_equal(f.n_reports, 0);
	assert_int_equal(post(&f, REPORT(.instance = 7, .sequence = 43))->status, 200);
	assert_int_equal(f.n_reports, 1); /* whole, as the first one here */
	stop(&f);
}

static void the_boot_that_the_node_names_is_not_locked_out_by_a_late_report(void **state)
{
	(void)state;
	static const struct receiver_order named = {.node = VIEW_INIT("n"),
						    .named_boot = VIEW_INIT("now")};
	struct fixture f;
	start(&f);
	/* Nothing is kept of a node that nobody has heard of. */
	receiver_set_order(f.receiver, &named);
	assert_int_equal(receiver_nodes(f.receiver), 0);
	post(&f, REPORT(.boot = "now", .sequence = 5, .time = "2026-01-02T03:05:00Z"));
	/* Of a boot that it has not seen, and its clock was not behind. */
	assert_int_equal(post(&f, REPORT(.boot = "before", .sequence = 900, .time =
						 "2026-01-02T03:06:00Z"))->status, 200);
	assert_int_equal(post(&f, REPORT(.boot = "now", .sequence = 6))->status, 409);
	receiver_set_order(f.receiver, &named);
	assert_int_equal(post(&f, REPORT(.boot = "now", .sequence = 7))->status, 200);
	assert_int_equal(post(&f, REPORT(.boot = "before", .sequence = 901))->status, 409);
	/* And one that was made before the last one here is refused at once. */
	assert_int_equal(post(&f, REPORT(.boot = "long before", .sequence = 900, .time =
						 "2026-01-02T03:04:00Z"))->status, 409);
	stop(&f);
}

static void events_are_acknowledged_for_the_process_that_sent_them(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.instance = 1, .sequence = 1, .events = 7));
	receiver_acknowledge(f.receiver, &(struct receiver_acknowledgement){
						 VIEW("n"), VIEW("boot"), 1, 7});
	receiver_acknowledge(f.receiver, &(struct receiver_acknowledgement){
						 VIEW("n"), VIEW("boot"), 1, 6});
	receiver_acknowledge(f.receiver, &(struct receiver_acknowledgement){
						 VIEW("m"), VIEW("boot"), 1, 9});
	const struct server_request *request =
		post(&f, REPORT(.instance = 1, .sequence = 2, .events = 7));
	assert_non_null(strstr(request->body, "\"acknowledgedEvents\":7"));
	/* A new process counts from the beginning. */
	request = post(&f, REPORT(.instance = 2, .sequence = 1, .events = 1));
	assert_non_null(strstr(request->body, "\"acknowledgedEvents\":0"));
	receiver_acknowledge(f.receiver, &(struct receiver_acknowledgement){
						 VIEW("n"), VIEW("boot"), 1, 8});
	request = post(&f, REPORT(.instance = 2, .sequence = 2, .events = 1));
	assert_non_null(strstr(request->body, "\"acknowledgedEvents\":0"));
	stop(&f);
}

static void a_replica_that_does_not_lead_takes_reports_and_says_nothing_of_events_and_heartbeat(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	receiver_set_leads(f.receiver, false);
	const struct server_request *request =
		post(&f, REPORT(.instance = 1, .sequence = 1, .events = 7));
	assert_int_equal(request->status, 200);
	assert_string_equal(request->body, "{}");
	assert_int_equal(f.n_reports, 1);
	request = post(&f, REPORT(.instance = 1, .sequence = 2, .events = 7));
	assert_int_equal(request->status, 200);
	assert_string_equal(request->body, "{}");
	assert_int_equal(post(&f, REPORT(.instance = 1, .sequence = 2, .events = 7))->status, 409);
	/* It leads from now on, and then no more. */
	receiver_acknowledge(f.receiver, &(struct receiver_acknowledgement){
						 VIEW("n"), VIEW("boot"), 1, 7});
	receiver_set_leads(f.receiver, true);
	request = post(&f, REPORT(.instance = 1, .sequence = 3, .events = 7));
	assert_string_equal(request->body, "{\"heartbeatSeconds\":60,\"acknowledgedEvents\":7}");
	receiver_set_leads(f.receiver, false);
	request = post(&f, REPORT(.instance = 1, .sequence = 4, .events = 7));
	assert_string_equal(request->body, "{}");
	stop(&f);
}

static void a_report_outlives_its_replacement_while_the_loop_holds_it(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1, .memory = 1));
	post(&f, REPORT(.sequence = 2, .memory = 2));
	assert_int_equal(f.reports[0]->references, 1);
	assert_int_equal(f.reports[1]->references, 2);
	receiver_free(f.receiver);
	f.receiver = NULL;
	assert_int_equal(f.reports[1]->references, 1);
	assert_true(view_equal(f.reports[0]->report.node, VIEW("n")));
	stop(&f);
}

static void without_memory_a_report_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct view body = view_from(REPORT(.sequence = 2, .memory = 3));
		const struct server_head head = head_of(body);
		fake_pass(1000);
		failing_malloc_at(k);
		int status = send(&f, &head, body)->status;
		failed = failing_malloc_off();
		if (status != 200)
			assert_int_equal(status, 503);
		else
			break;
	}
	assert_int_equal(f.n_reports, 2);
	assert_int_equal(post(&f, REPORT(.sequence = 3, .memory = 3))->status, 200);
	assert_int_equal(f.n_reports, 2);
	stop(&f);
}

static void without_memory_for_its_figures_a_heartbeat_is_refused(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	post(&f, REPORT(.sequence = 1));
	unsigned n_refused = 0;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct view body = view_from(REPORT(.sequence = 2, .corrected = 3));
		const struct server_head head = head_of(body);
		fake_pass(1000);
		failing_malloc_at(k);
		int status = send(&f, &head, body)->status;
		failed = failing_malloc_off();
		n_refused += status == 503;
	}
	/* Those of decoding, and one for the figures. */
	assert_true(n_refused >= 2);
	assert_int_equal(f.n_figures, 1);
	assert_int_equal(f.figures.condition.ecc_volatile.corrected, 3);
	stop(&f);
}

static int be_quiet(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	return 0;
}

static void an_address_with_too_many_new_tokens_is_told_to_wait(void **state)
{
	(void)state;
	static const struct view tokens[] = {VIEW_INIT("Bearer 1"), VIEW_INIT("Bearer 2"),
					     VIEW_INIT("Bearer 3")};
	struct fixture f;
	struct server_request requests[4] = {0};
	start(&f);
	const struct server_handler handler = receiver_handler(f.receiver);
	struct server_head head = head_of(VIEW("{}"));
	head.network = VIEW("a");
	for (int i = 0; i < 3; i++) {
		head.authorization = tokens[i];
		handler.head(handler.owner, &requests[i], &head);
	}
	assert_int_equal(f.n_reviews, 2);
	assert_int_equal(requests[2].status, 429);
	assert_int_equal(requests[2].retry_after_s, 1);
	assert_int_equal(counted(&f, RECEIVER_THROTTLED), 1);
	assert_int_equal(receiver_admissions(f.receiver).too_often, 1);
	/* That is no matter of anybody else. */
	head.network = VIEW("b");
	handler.head(handler.owner, &requests[3], &head);
	assert_int_equal(f.n_reviews, 3);
	stop(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_address_with_too_many_new_tokens_is_told_to_wait),
	cmocka_unit_test(a_new_report_is_handed_over_whole),
	cmocka_unit_test(what_an_agent_counts_is_shown_though_its_report_is_unchanged),
	cmocka_unit_test(an_unchanged_report_only_refreshes),
	cmocka_unit_test(a_refresh_says_when_the_list_was_read_last),
	cmocka_unit_test(a_heartbeat_brings_its_figures_along),
	cmocka_unit_test(figures_that_could_not_be_told_are_told_with_the_next_heartbeat),
	cmocka_unit_test(the_loop_hears_of_a_node_no_more_often_than_it_can_tell),
	cmocka_unit_test(what_is_not_newer_is_refused),
	cmocka_unit_test(a_node_can_speak_only_for_itself),
	cmocka_unit_test(malformed_reports_are_refused_with_the_reason),
	cmocka_unit_test(a_head_that_does_not_fit_is_refused_before_the_body),
	cmocka_unit_test(nothing_is_taken_while_there_is_trouble),
	cmocka_unit_test(a_body_that_finds_no_memory_is_refused_unread),
	cmocka_unit_test(a_report_that_finds_no_memory_leaves_the_last_one_as_it_is),
	cmocka_unit_test(a_new_receiver_takes_nothing_yet),
	cmocka_unit_test(the_verdict_on_a_token_decides),
	cmocka_unit_test(who_waits_too_long_for_a_verdict_is_sent_away),
	cmocka_unit_test(a_node_that_reports_too_often_is_slowed_down),
	cmocka_unit_test(changes_are_slowed_down_long_before_what_is_known),
	cmocka_unit_test(a_node_has_two_large_bodies_under_way_and_no_more),
	cmocka_unit_test(when_the_loop_has_no_room_the_report_did_not_happen),
	cmocka_unit_test(a_forgotten_report_comes_whole_again),
	cmocka_unit_test(
		a_report_from_before_the_start_is_refused_where_a_newer_one_was_published),
	cmocka_unit_test(the_boot_that_the_node_names_is_not_locked_out_by_a_late_report),
	cmocka_unit_test(events_are_acknowledged_for_the_process_that_sent_them),
	cmocka_unit_test(a_replica_that_does_not_lead_takes_reports_and_says_nothing_of_events_and_heartbeat),
	cmocka_unit_test(a_report_outlives_its_replacement_while_the_loop_holds_it),
	cmocka_unit_test(without_memory_a_report_is_refused_and_changes_nothing),
	cmocka_unit_test(without_memory_for_its_figures_a_heartbeat_is_refused),
};
TEST_MAIN_WITH(tests, be_quiet, NULL)
