/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The whole front over real sockets: its own thread, agents that are blocking clients, and a second
 * thread that plays the loop. A token in these tests is "<audience>.<account>.<node>": that is what it
 * says of itself. Behind a '/' stands the same as the API server knows it, if that is different.
 */

#include "lib/test_main.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "controller/exposition_budget.h"
#include "controller/exposition_text.h"
#include "controller/front.h"
#include "controller/memory_limit.h"
#include "controller/shared_report.h"
#include "lib/failing_malloc.h"
#include "lib/http_client.h"
#include "lib/jwt.h"
#include "model/figures.h"
#include "schema/token_review_doc.h"

enum {
	METRICS_REPORTS,
	METRICS_CONNECTIONS,
	METRICS_OPEN,
	METRICS_IDLE,
	METRICS_NODES,
	METRICS_TOKENS,
	METRICS_INCOMPLETE,
	METRICS_REFUSED,
	METRICS_REQUESTS,
	METRICS_DURATION,
	METRICS_QUESTIONS,
	METRICS_READERS,
	METRICS_MEMORY,
	METRICS_MEMORY_LIMIT,
	METRICS_MEMORY_REFUSED,
	METRICS_TURNS,
	N_METRICS,
};

struct fixture {
	struct metric_registry *registry;
	struct front *front;
	pthread_t loop;
	int stop_pipe[2];
	bool loop_runs;
	atomic_uint n_reviews, n_reports, n_refreshes, n_scrapes;
	atomic_uint n_exposed; /* lines of metrics, written when they are asked for; 0: none */
	_Atomic(int64_t) last_sequence;
	_Atomic(int64_t) last_listed_at; /* of a refresh */
	_Atomic(int64_t) last_celsius;   /* of the first device, by a refresh */
	atomic_bool silent;      /* reviews are not answered */
	atomic_bool unreachable; /* nothing can be found out of a token */
	uint16_t port, probe_port, metrics_port;
	bool guarded; /* set before it is opened: metrics are not for everybody */
	uint32_t heartbeat_ms; /* set before it is opened; 0: the default */
	uint32_t max_reviews; /* 0: the default */
	size_t memory_limit;  /* 0: the default */
};

static struct metric_row rows[N_METRICS];

static void make_rows(void)
{
	static const char *const report_labels[] = {
		"o=\"0\"", "o=\"1\"", "o=\"2\"", "o=\"3\"", "o=\"4\"", "o=\"5\"",
		"o=\"6\"", "o=\"7\"", "o=\"8\"", "o=\"9\"", "o=\"10\"", NULL};
	static const char *const connection_labels[] = {"e=\"0\"", "e=\"1\"", "e=\"2\"", "e=\"3\"",
							"e=\"4\"", "e=\"5\"", "e=\"6\"", "e=\"7\"", "e=\"8\"",
							NULL};
	static const char *const lack_labels[] = {"l=\"0\"", "l=\"1\"", "l=\"2\"", "l=\"3\"", NULL};
	static const char *const request_labels[] = {
		"outcome=\"accepted\"",  "outcome=\"unauthenticated\"", "outcome=\"forbidden\"",
		"outcome=\"not_found\"", "outcome=\"unavailable\"",     "outcome=\"busy\"", NULL};
	rows[METRICS_REPORTS] = (struct metric_row){"reports", METRIC_COUNTER, "", "Reports.",
						    report_labels};
	rows[METRICS_CONNECTIONS] = (struct metric_row){"connections", METRIC_COUNTER, "",
							"Connections.", connection_labels};
	rows[METRICS_READERS] = (struct metric_row){"readers", METRIC_COUNTER, "", "Readers.",
						    connection_labels};
	rows[METRICS_OPEN] = (struct metric_row){"open", METRIC_GAUGE, "", "Open.", NULL};
	rows[METRICS_IDLE] = (struct metric_row){"idle", METRIC_GAUGE, "", "Idle.", NULL};
	rows[METRICS_NODES] = (struct metric_row){"nodes", METRIC_GAUGE, "", "Nodes.", NULL};
	rows[METRICS_TOKENS] = (struct metric_row){"tokens", METRIC_GAUGE, "", "Tokens.", NULL};
	rows[METRICS_DURATION] = (struct metric_row){
		"took_seconds", METRIC_HISTOGRAM, "seconds", "Time taken.", NULL, histogram_seconds};
	static const char *const question_labels[] = {"q=\"0\"", "q=\"1\"", "q=\"2\"", "q=\"3\"", "q=\"4\"",
						      NULL};
	rows[METRICS_QUESTIONS] = (struct metric_row){"questions", METRIC_COUNTER, "", "Questions.",
						      question_labels};
	rows[METRICS_REQUESTS] = (struct metric_row){"requests", METRIC_COUNTER, "", "Requests.",
						     request_labels};
	rows[METRICS_INCOMPLETE] = (struct metric_row){"incomplete", METRIC_COUNTER, "",
						       "Incomplete.", lack_labels};
	static const char *const memory_labels[] = {"m=\"0\"", "m=\"1\"", NULL};
	rows[METRICS_MEMORY] = (struct metric_row){"memory_bytes", METRIC_GAUGE, "bytes", "Used.",
						   memory_labels};
	rows[METRICS_MEMORY_LIMIT] = (struct metric_row){"memory_limit_bytes", METRIC_GAUGE, "bytes",
							 "Most.", memory_labels};
	rows[METRICS_MEMORY_REFUSED] = (struct metric_row){"memory_refusals", METRIC_COUNTER, "",
							   "Refused.", memory_labels};
	static const char *const loop_labels[] = {"thread=\"loop\"", "thread=\"front\"", NULL};
	rows[METRICS_TURNS] = (struct metric_row){"turn_seconds", METRIC_HISTOGRAM, "seconds", "Turns.",
						  loop_labels, histogram_short_seconds};
	rows[METRICS_REFUSED] = (struct metric_row){"refused", METRIC_COUNTER, "", "Refused.",
						    NULL};
}

/* What an API server would say of a token of this test. */
static void review(struct fixture *f, const struct front_message *message)
{
	struct view audience, account, node, rest;
	struct error err;
	char username[128];
	if (atomic_load(&f->silent))
		return;
	view_cut(message->text, VIEW("."), &rest, &rest);
	view_cut(rest, VIEW("."), &rest, &rest);
	view_cut(rest, VIEW("-"), &audience, &rest);
	view_cut(rest, VIEW("-"), &account, &node);
	snprintf(username, sizeof(username), "system:serviceaccount:ns:%.*s", VIEW_ARG(account));
	const struct token_review said = {
		.authenticated = true,
		.username = view_from(username),
		.node_name = node,
		.audiences = {.items = &audience, .count = 1, .present = true},
	};
	if (front_answer_review(f->front, message->ticket,
				atomic_load(&f->unreachable) ? NULL : &said, &err) != 0)
		abort();
}

/* A reader's token is what shall become of it. */
static void review_reader(struct fixture *f, const struct front_message *message)
{
	static const struct identity verdicts[] = {
		{.outcome = IDENTITY_ACCEPTED, .reason = ""},
		{.outcome = IDENTITY_UNAUTHENTICATED, .reason = "unknown"},
		{.outcome = IDENTITY_FORBIDDEN, .reason = "no right"},
	};
	struct error err;
	size_t verdict = view_equal(message->text, VIEW("reader"))     ? 0
			 : view_equal(message->text, VIEW("stranger")) ? 2
								       : 1;
	if (front_answer_reader(f->front, message->ticket,
				atomic_load(&f->unreachable) ? NULL : &verdicts[verdict], &err) != 0)
		abort();
}

#define EXPOSED_LINES 20000
/* More than the two sockets hold for a client that does not read: 4 MiB and a little. */
#define EXPOSED_LINES_OF_LONG 90000
#define EXPOSED_LINE "things{name=\"something\",place=\"somewhere else\",and=\"so on and so on\"} 1"

static void expose(struct fixture *f)
{
	struct exposition_text *text;
	struct error err;
	const unsigned n_lines = atomic_load(&f->n_exposed);
	if (n_lines == 0)
		return;
	if (exposition_text_new(1, &text, &err) != 0)
		abort();
	for (unsigned i = 0; i < n_lines; i++)
		exposition_text_add(text, 0, VIEW(EXPOSED_LINE), true);
	if (exposition_text_seal(text, &err) != 0 || front_expose(f->front, text, ERROR_NONE, &err) != 0)
		abort();
}

static void take_figures(struct fixture *f, const struct front_message *message)
{
	struct report_device device =
		*ARRAY_AT(message->report->report.devices, struct report_device, 0);
	struct report_partition room[LIMIT_REPORT_PARTITIONS];
	figures_apply(message->figures, 0, &device, room);
	atomic_store(&f->last_celsius, device.figures.temperature_celsius);
}

static void take(struct fixture *f, struct front_message *message)
{
	switch (message->kind) {
	case FRONT_REVIEW:
		atomic_fetch_add(&f->n_reviews, 1);
		review(f, message);
		break;
	case FRONT_READER:
		atomic_fetch_add(&f->n_reviews, 1);
		review_reader(f, message);
		break;
	case FRONT_REPORT:
		atomic_store(&f->last_sequence, message->report->report.sequence);
		atomic_fetch_add(&f->n_reports, 1);
		break;
	case FRONT_REFRESH:
		atomic_store(&f->last_listed_at, message->listed_at);
		if (message->figures)
			take_figures(f, message);
		atomic_fetch_add(&f->n_refreshes, 1);
		break;
	case FRONT_SCRAPE:
		atomic_fetch_add(&f->n_scrapes, 1);
		expose(f);
		break;
	}
	front_message_free(message);
}

static void *run_loop(void *owner)
{
	struct fixture *f = owner;
	struct pollfd fds[] = {{.fd = front_fd(f->front), .events = POLLIN},
			       {.fd = f->stop_pipe[0], .events = POLLIN}};
	while (poll(fds, 2, -1) >= 0 && !fds[1].revents) {
		for (struct front_message *message = front_next(f->front); message;
		     message = front_next(f->front))
			take(f, message);
		front_beat(f->front);
	}
	return NULL;
}

static void publish(struct fixture *f, const char *trouble)
{
	struct error err;
	const struct probes_check check = {VIEW("pods"), view_from(trouble)};
	const struct front_state state = {view_from(trouble), 30, true, &check, 1};
	assert_int_equal(front_publish(f->front, &state, &err), 0);
}

static void set_certificate(struct fixture *f, const char *name)
{
	CLEANUP(sbuf_deinit) struct sbuf cert;
	CLEANUP(sbuf_deinit) struct sbuf key;
	struct error err;
	sbuf_init(&cert, 65536);
	sbuf_init(&key, 65536);
	const struct tls_certificate_request request = {
		.common_name = name, .now = time(NULL), .lifetime_s = 3600};
	assert_int_equal(tls_make_certificate(&request, &cert, &key, &err), 0);
	assert_int_equal(front_set_certificate(f->front, sbuf_view(&cert), sbuf_view(&key), &err), 0);
}

static void open_front_with(struct fixture *f, uint32_t max_silent_ms, uint32_t max_connections)
{
	struct error err = {0};
	make_rows();
	assert_int_equal(metric_registry_new(rows, N_METRICS, &f->registry, &err), 0);
	struct front_config config = front_config_default();
	char audience[] = "aud", namespace[] = "ns", account[] = "agent";
	config.reports_per_second = 100;
	config.reviews_per_second = 1000;
	config.refusal_delay_ms = 1;
	config.max_silent_ms = max_silent_ms;
	config.max_connections = max_connections;
	if (f->heartbeat_ms)
		config.heartbeat_ms = f->heartbeat_ms;
	if (f->memory_limit)
		config.memory_limit = f->memory_limit;
	if (f->max_reviews)
		config.max_reviews = f->max_reviews;
	config.with_exposition = atomic_load(&f->n_exposed) > 0;
	config.report_address = "127.0.0.1:0";
	config.probe_address = "127.0.0.1:0";
	config.metrics_address = "127.0.0.1:0";
	config.metrics_insecure = !f->guarded;
	config.rules = (struct identity_rules){view_from(audience), view_from(namespace),
					       view_from(account)};
	config.metrics = (struct front_metrics){f->registry, METRICS_REPORTS, METRICS_CONNECTIONS,
						METRICS_OPEN, METRICS_IDLE, METRICS_NODES, METRICS_TOKENS,
						METRICS_INCOMPLETE, METRICS_REFUSED,
						METRICS_REQUESTS, METRICS_QUESTIONS,
						METRICS_DURATION, METRICS_READERS,
						METRICS_MEMORY, METRICS_MEMORY_LIMIT,
						METRICS_MEMORY_REFUSED, METRICS_TURNS};
	if (front_new(&config, &f->front, &err) != 0)
		fail_msg("%s", err.text);
	/* It has copies of its own. */
	memset(audience, 'x', sizeof(audience));
	memset(namespace, 'x', sizeof(namespace));
	memset(account, 'x', sizeof(account));
	f->port = front_report_port(f->front);
	f->probe_port = front_probe_port(f->front);
	f->metrics_port = front_metrics_port(f->front);
}

static void open_front(struct fixture *f)
{
	const struct front_config config = front_config_default();
	open_front_with(f, config.max_silent_ms, config.max_connections);
}

static void start_opened(struct fixture *f)
{
	struct error err;
	assert_int_equal(pipe(f->stop_pipe), 0);
	assert_int_equal(front_start(f->front, &err), 0);
	f->loop_runs = true;
	assert_int_equal(pthread_create(&f->loop, NULL, run_loop, f), 0);
}

static void start(struct fixture *f)
{
	*f = (struct fixture){0};
	open_front(f);
	start_opened(f);
}

static void stop_loop(struct fixture *f)
{
	if (!f->loop_runs)
		return;
	assert_int_equal(write(f->stop_pipe[1], "x", 1), 1);
	assert_int_equal(pthread_join(f->loop, NULL), 0);
	close(f->stop_pipe[0]);
	close(f->stop_pipe[1]);
	f->loop_runs = false;
}

static void stop(struct fixture *f)
{
	stop_loop(f);
	front_stop(f->front);
	front_free(f->front);
	metric_registry_free(f->registry);
}

/* Commands are carried out in order: when /readyz shows the last one, those before it are done. */
static void await_ready(struct fixture *f, int status)
{
	struct http_answer answer = {0};
	struct http_client *client = http_client_connect(f->probe_port);
	for (int i = 0; i < 30000 && answer.status != status; i++)
		http_client_ask(client, "GET /readyz", "", VIEW(""), &answer);
	assert_int_equal(answer.status, status);
	http_client_free(client);
}

static void start_ready(struct fixture *f)
{
	start(f);
	set_certificate(f, "front");
	publish(f, "");
	await_ready(f, 200);
}

static void await(const atomic_uint *value, unsigned expected)
{
	for (int i = 0; i < 30000 && atomic_load(value) != expected; i++)
		poll(NULL, 0, 1);
	assert_int_equal(atomic_load(value), expected);
}

static struct view report(const char *node, int64_t sequence, int64_t memory, char *buf,
			  size_t size)
{
	int len = snprintf(buf, size,
			   "{\"version\":1,\"node\":\"%s\",\"bootID\":\"b\",\"instance\":1,"
			   "\"sequence\":%lld,\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{},"
			   "\"devices\":[{\"uuid\":\"GPU-11ba558d-3437-2335-2fd8-a78c8502f87f\","
			   "\"memoryMiB\":%lld}]}",
			   node, (long long)sequence, (long long)memory);
	return (struct view){buf, (size_t)len};
}

/* What the API server knows is the signature. */
static const char *make_token(const char *text, char *to, size_t size)
{
	char audience[32] = "", account[32] = "", node[32] = "", known[64];
	const char *other = strchr(text, '/');
	if (sscanf(text, "%31[^.].%31[^.].%31[^/]", audience, account, node) < 2)
		return text;
	snprintf(known, sizeof(known), "%s", other ? other + 1 : text);
	for (char *dot = strchr(known, '.'); dot; dot = strchr(dot, '.'))
		*dot = '-';
	return jwt_make(&(struct jwt_claims){.audience = audience, .account = account, .node = node},
			known, to, size).ptr;
}

static int post_as(struct http_client *client, const char *text, struct view body,
		   struct http_answer *answer)
{
	char headers[1024], room[512];
	const char *token = text ? make_token(text, room, sizeof(room)) : NULL;
	snprintf(headers, sizeof(headers), "Content-Type: application/json\r\n%s%s%s",
		 token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "");
	http_client_ask(client, "POST /v1/report", headers, body, answer);
	return answer->status;
}

static void a_report_travels_from_the_agent_to_the_loop(void **state)
{
	(void)state;
	struct fixture f;
	struct http_answer answer;
	char buf[512];
	start_ready(&f);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_non_null(client);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	assert_string_equal(answer.body, "{\"heartbeatSeconds\":30,\"acknowledgedEvents\":0}");
	await(&f.n_reports, 1);
	assert_int_equal(f.last_sequence, 1);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 2, 5, buf, 512), &answer), 200);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 3, 6, buf, 512), &answer), 200);
	await(&f.n_reports, 2);
	assert_int_equal(f.last_sequence, 3);
	assert_int_equal(f.n_reviews, 1);
	http_client_free(client);
	stop(&f);
}

static void the_orders_of_all_nodes_are_known_before_the_first_report(void **state)
{
	(void)state;
	static const struct receiver_order orders[] = {
		{.node = VIEW_INIT("m"), .last = {VIEW_INIT("b"), 1, 90, 0}},
		{.node = VIEW_INIT("n"), .last = {VIEW_INIT("b"), 1, 40, 0}},
	};
	struct fixture f;
	struct http_answer answer;
	struct error err;
	char buf[512];
	start(&f);
	set_certificate(&f, "front");
	assert_int_equal(front_set_orders(f.front, orders, ARRAY_SIZE(orders), &err), 0);
	assert_int_equal(front_set_orders(f.front, NULL, 0, &err), 0);
	publish(&f, "");
	await_ready(&f, 200);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_non_null(client);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 40, 5, buf, 512), &answer), 409);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 41, 5, buf, 512), &answer), 200);
	assert_int_equal(post_as(client, "aud.agent.m", report("m", 90, 5, buf, 512), &answer), 409);
	assert_int_equal(post_as(client, "aud.agent.o", report("o", 1, 5, buf, 512), &answer), 200);
	http_client_free(client);
	stop(&f);
}

static void what_is_told_of_orders_is_copied(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	struct error err;
	char buf[512], node[] = "n", named[] = "old", last[] = "old";
	const struct receiver_order order = {
		.node = view_from(node),
		.named_boot = view_from(named),
		.last = {view_from(last), 1, 9, INT64_MAX},
	};
	open_front(&f);
	assert_int_equal(front_set_orders(f.front, &order, 1, &err), 0);
	memset(node, 'x', sizeof(node) - 1);
	memset(named, 'y', sizeof(named) - 1);
	memset(last, 'z', sizeof(last) - 1);
	start_opened(&f);
	set_certificate(&f, "front");
	publish(&f, "");
	await_ready(&f, 200);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_non_null(client);
	/* Of another boot, and older than the last of the boot that the Node names. */
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 409);
	http_client_free(client);
	stop(&f);
}

/* Until all that was told to the front before has been done. */
static void await_done(struct fixture *f)
{
	publish(f, "wait");
	await_ready(f, 500);
	publish(f, "");
	await_ready(f, 200);
}

static void a_node_that_is_forgotten_is_heard_whole_again(void **state)
{
	(void)state;
	struct fixture f;
	struct http_answer answer;
	struct error err;
	char buf[512];
	start_ready(&f);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	for (int64_t sequence = 1; sequence <= 2; sequence++)
		assert_int_equal(post_as(client, "aud.agent.n", report("n", sequence, 5, buf, 512),
					 &answer), 200);
	assert_int_equal(front_forget(f.front, VIEW("m"), &err), 0);
	await_done(&f);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 3, 5, buf, 512), &answer), 200);
	assert_int_equal(front_forget(f.front, VIEW("n"), &err), 0);
	await_done(&f);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 4, 5, buf, 512), &answer), 200);
	await(&f.n_reports, 2);
	assert_int_equal(f.last_sequence, 4);
	http_client_free(client);
	stop(&f);
}

static void events_are_acknowledged_up_to_the_last_one_to_the_process_that_sent_them(void **state)
{
	(void)state;
	static struct report_event events[] = {{.sequence = 3}, {.sequence = 8}};
	struct report safe = {.node = VIEW("n"), .boot_id = VIEW("b"), .instance = 2,
			      .events = {events, 2, true}};
	struct fixture f;
	struct http_answer answer;
	struct error err;
	char buf[512];
	start_ready(&f);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	assert_int_equal(front_acknowledge(f.front, &safe, &err), 0);
	await_done(&f);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 2, 5, buf, 512), &answer), 200);
	assert_non_null(strstr(answer.body, "\"acknowledgedEvents\":0}"));
	safe.instance = 1;
	assert_int_equal(front_acknowledge(f.front, &safe, &err), 0);
	await_done(&f);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 3, 5, buf, 512), &answer), 200);
	assert_non_null(strstr(answer.body, "\"acknowledgedEvents\":8}"));
	http_client_free(client);
	stop(&f);
}

/* The loop is told at most once a second: until then it is only said again. */
static void a_refresh_says_when_the_list_was_read_and_how_warm_devices_are(void **state)
{
	(void)state;
	static const char form[] =
		"{\"version\":1,\"node\":\"n\",\"bootID\":\"b\",\"instance\":1,\"sequence\":%d,"
		"\"observedAt\":\"2026-01-02T03:04:06Z\",\"sources\":{\"podResources\":"
		"{\"state\":\"ok\",\"observedAt\":\"2026-01-02T03:04:05Z\"}},\"devices\":[{\"uuid\":"
		"\"GPU-11ba558d-3437-2335-2fd8-a78c8502f87f\",\"figures\":{\"temperatureCelsius\":%d}}]}";
	struct fixture f;
	struct http_answer answer;
	char buf[512];
	start_ready(&f);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	for (int i = 1; i < 30000 && atomic_load(&f.n_refreshes) == 0; i++) {
		int len = snprintf(buf, sizeof(buf), form, i, i == 1 ? 30 : 61);
		struct view body = {buf, (size_t)len};
		assert_int_equal(post_as(client, "aud.agent.n", body, &answer), 200);
		poll(NULL, 0, 5);
	}
	await(&f.n_refreshes, 1);
	assert_true(f.last_listed_at == INT64_C(1767323045000));
	assert_true(f.last_celsius == 61);
	http_client_free(client);
	stop(&f);
}

static void a_token_of_which_nothing_can_be_found_out_is_not_refused_for_good(void **state)
{
	(void)state;
	struct fixture f;
	struct http_answer answer;
	char buf[512];
	start_ready(&f);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	f.unreachable = true;
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 503);
	http_client_free(client);
	f.unreachable = false;
	client = http_client_connect_tls(f.port, 0);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	http_client_free(client);
	stop(&f);
}

/* The first one has no answer yet. A third of all reviews is kept for those who are known. */
static void no_more_reviews_are_under_way_than_there_may_be(void **state)
{
	(void)state;
	struct fixture f = {.max_reviews = 2};
	struct http_answer answer;
	char room[512], request[1024], buf[512];
	open_front(&f);
	start_opened(&f);
	set_certificate(&f, "front");
	publish(&f, "");
	await_ready(&f, 200);
	stop_loop(&f);
	struct http_client *first = http_client_connect_tls(f.port, 0);
	struct http_client *second = http_client_connect_tls(f.port, 0);
	const int len = snprintf(request, sizeof(request), "POST /v1/report HTTP/1.1\r\nHost: a\r\n"
				 "Content-Type: application/json\r\nContent-Length: 2\r\n"
				 "Authorization: Bearer %s\r\n\r\n{}",
				 make_token("aud.agent.m", room, sizeof(room)));
	assert_true(http_client_send(first, (struct view){request, (size_t)len}));
	struct pollfd review_asked = {.fd = front_fd(f.front), .events = POLLIN};
	assert_int_equal(poll(&review_asked, 1, 30000), 1);
	assert_int_equal(post_as(second, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 503);
	assert_non_null(strstr(answer.body, "too many tokens are being reviewed"));
	http_client_free(first);
	http_client_free(second);
	stop(&f);
}

static void a_loop_that_is_silent_for_too_long_is_not_alive(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer = {0};
	open_front_with(&f, 1, 16);
	start_opened(&f);
	stop_loop(&f);
	struct http_client *client = http_client_connect(f.probe_port);
	for (int i = 0; i < 30000 && answer.status != 500; i++)
		http_client_ask(client, "GET /livez", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 500);
	http_client_free(client);
	stop(&f);
}

/* On /metrics. */
static void await_shown(struct fixture *f, const char *text)
{
	struct http_answer answer = {0};
	struct http_client *client = http_client_connect(f->metrics_port);
	for (int i = 0; i < 30000 && !strstr(answer.body, text); i++)
		http_client_ask(client, "GET /metrics", "", VIEW(""), &answer);
	if (!strstr(answer.body, text))
		fail_msg("no %s in %s", text, answer.body);
	http_client_free(client);
}

static void each_end_of_a_connection_is_counted_by_its_cause(void **state)
{
	(void)state;
	static char large[2 * 1024 * 1024];
	static const char *const counts[] = {
		"connections_total{e=\"0\"} 4\n", "connections_total{e=\"1\"} 0\n",
		"connections_total{e=\"2\"} 1\n", "connections_total{e=\"3\"} 1\n",
		"connections_total{e=\"4\"} 0\n", "connections_total{e=\"5\"} 1\n",
		"connections_total{e=\"6\"} 1\n",
	};
	struct fixture f = {0};
	struct http_answer answer;
	char buf[512];
	open_front_with(&f, 30000, 1);
	start_opened(&f);
	set_certificate(&f, "front");
	publish(&f, "");
	await_ready(&f, 200);
	struct http_client *idle = http_client_connect_tls(f.port, 0);
	assert_int_equal(post_as(idle, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	await_shown(&f, "\nidle 1\n");
	/* There is room for one: who is idle makes way. */
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_true(http_client_is_closed(idle));
	http_client_free(idle);
	http_client_ask(client, "no request", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 400);
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	await_shown(&f, "\nopen 0\n");
	await_shown(&f, "\nidle 0\n");
	client = http_client_connect_tls(f.port, 0);
	assert_int_equal(post_as(client, "aud.agent.n", (struct view){large, sizeof(large)}, &answer),
			 413);
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	await_shown(&f, "\nopen 0\n");
	client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("GET / HTTP/1.1\r\n\r\n")));
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	await_shown(&f, "\nopen 0\n");
	client = http_client_connect(f.metrics_port);
	http_client_ask(client, "GET /metrics", "", VIEW(""), &answer);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (!strstr(answer.body, counts[i]))
			fail_msg("no %s in %s", counts[i], answer.body);
	}
	http_client_free(client);
	stop(&f);
}

/* The heartbeat is short: two of them end sooner than the idle time of whom nothing was accepted. */
#define CLOCK_STEP_MS 10 /* at most: by so much may a timer be early */

TEST(who_had_a_report_accepted_may_be_idle_for_two_heartbeats_and_others_as_before)
{
	struct fixture f = {.heartbeat_ms = 50};
	struct http_answer answer;
	char buf[512];
	open_front(&f);
	start_opened(&f);
	set_certificate(&f, "front");
	publish(&f, "");
	await_ready(&f, 200);
	struct http_client *refused = http_client_connect_tls(f.port, 0);
	struct http_client *agent = http_client_connect_tls(f.port, 0);
	uint64_t before = clock_monotonic_ms();
	assert_int_equal(post_as(agent, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	assert_int_equal(post_as(refused, "aud.agent.n", report("n", 1, 4, buf, 512), &answer), 409);
	assert_true(http_client_is_closed(agent));
	assert_true(clock_monotonic_ms() - before >= 100 - CLOCK_STEP_MS);
	char byte;
	assert_int_equal(recv(http_client_fd(refused), &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
	http_client_free(agent);
	http_client_free(refused);
	stop(&f);
}

static void several_may_probe_at_once(void **state)
{
	(void)state;
	struct http_client *clients[8];
	struct fixture f;
	struct http_answer answer;
	start_ready(&f);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		clients[i] = http_client_connect(f.probe_port);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		http_client_ask(clients[i], "GET /livez", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		http_client_free(clients[i]);
	}
	stop(&f);
}

/* The bytes of one answer, head and all. */
static size_t read_all(const struct http_client *client)
{
	static char part[1 << 16];
	size_t total = 0;
	ssize_t n;
	while ((n = recv(http_client_fd(client), part, sizeof(part), 0)) > 0)
		total += (size_t)n;
	assert_int_equal(n, 0);
	return total;
}

static void start_exposing(struct fixture *f, unsigned n_lines)
{
	*f = (struct fixture){0};
	atomic_store(&f->n_exposed, n_lines);
	open_front(f);
	start_opened(f);
}

#define SCRAPE VIEW("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")

static void a_hundred_scrapers_at_once_share_one_text(void **state)
{
	(void)state;
	struct http_client *clients[100];
	struct fixture f;
	start_exposing(&f, EXPOSED_LINES);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = http_client_connect(f.metrics_port);
		assert_true(http_client_send(clients[i], SCRAPE));
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		assert_true(read_all(clients[i]) > EXPOSED_LINES * sizeof(EXPOSED_LINE));
		assert_true(exposition_budget_used() <= LIMIT_EXPOSITION_BYTES);
		http_client_free(clients[i]);
	}
	/* More than one only if the machine was too slow for all of them within a second. */
	assert_in_range(f.n_scrapes, 1, 20);
	stop(&f);
	assert_int_equal(exposition_budget_used(), 0);
}

static void scrapers_that_never_read_keep_nobody_else_waiting(void **state)
{
	(void)state;
	const size_t page_size = EXPOSED_LINES_OF_LONG * sizeof(EXPOSED_LINE);
	struct http_client *deaf[20];
	struct fixture f;
	start_exposing(&f, EXPOSED_LINES_OF_LONG);
	for (size_t i = 0; i < ARRAY_SIZE(deaf); i++) {
		deaf[i] = http_client_connect(f.metrics_port);
		assert_true(http_client_send(deaf[i], SCRAPE));
	}
	struct http_client *client = http_client_connect(f.metrics_port);
	assert_true(http_client_send(client, SCRAPE));
	assert_true(read_all(client) > page_size);
	assert_true(exposition_budget_used() <= LIMIT_EXPOSITION_BYTES);
	http_client_free(client);
	stop(&f);
	for (size_t i = 0; i < ARRAY_SIZE(deaf); i++) {
		/* What the sockets held of the page, which was not all of it. */
		assert_true(read_all(deaf[i]) < page_size);
		http_client_free(deaf[i]);
	}
	assert_int_equal(exposition_budget_used(), 0);
}

static void pages_of_metrics_have_the_part_of_the_memory_limit_that_is_theirs(void **state)
{
	(void)state;
	struct fixture f = {.memory_limit = MEMORY_LIMIT_LEAST};
	open_front(&f);
	assert_int_equal(exposition_budget_left(), memory_limit_pages(MEMORY_LIMIT_LEAST));
	stop(&f);
}

static void refusals_have_their_codes(void **state)
{
	(void)state;
	static char large[2 * 1024 * 1024];
	static const struct {
		const char *token;
		bool large;
		int status;
	} cases[] = {
		{"aud.agent.other", false, 403},
		{NULL, false, 401},
		{"wrong.agent.n", false, 401},
		{"stranger", false, 401},
		{"aud.default.n", false, 401},
		{"aud.agent.", false, 401},
		/* What a token says of itself is believed only where it refuses. */
		{"aud.agent.n/wrong.agent.n", false, 401},
		{"aud.agent.n/aud.default.n", false, 403},
		{"aud.agent.n/aud.agent.", false, 403},
		{"aud.agent.n/aud.agent.other", false, 403},
		{"aud.agent.n", true, 413},
		{"aud.agent.n", false, 200},
	};
	struct fixture f;
	struct http_answer answer;
	char buf[512];
	start_ready(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_client *client = http_client_connect_tls(f.port, 0);
		struct view body = cases[i].large ? (struct view){large, sizeof(large)}
						  : report("n", 1, 5, buf, 512);
		assert_int_equal(post_as(client, cases[i].token, body, &answer), cases[i].status);
		bool has_error = strncmp(answer.body, "{\"error\":", 9) == 0;
		assert_int_equal(has_error, cases[i].status != 200);
		http_client_free(client);
	}
	stop(&f);
}

static void reports_wait_for_a_certificate_and_for_readiness(void **state)
{
	(void)state;
	struct fixture f;
	struct http_answer answer;
	char buf[512];
	start(&f);
	assert_null(http_client_connect_tls(f.port, 0));
	set_certificate(&f, "front");
	publish(&f, "not synced");
	await_ready(&f, 500);
	struct http_client *client = NULL;
	for (int i = 0; i < 30000 && !client; i++)
		client = http_client_connect_tls(f.port, 0);
	assert_non_null(client);
	/* Until the command has arrived it is "starting"; either way it is no. */
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 503);
	assert_non_null(strstr(answer.head, "Retry-After: 5\r\n"));
	publish(&f, "");
	await_ready(&f, 200);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	http_client_free(client);
	stop(&f);
}

static void a_lack_that_is_tolerated_crosses_the_threads_as_such(void **state)
{
	(void)state;
	struct fixture f;
	struct http_answer answer;
	struct error err;
	struct probes_check check = {VIEW("resourceclaims"), VIEW("may not list"), false};
	const struct front_state published = {VIEW(""), 30, true, &check, 1};
	start_ready(&f);
	assert_int_equal(front_publish(f.front, &published, &err), 0);
	await_ready(&f, 500);
	check.tolerated = true;
	assert_int_equal(front_publish(f.front, &published, &err), 0);
	await_ready(&f, 200);
	struct http_client *client = http_client_connect(f.probe_port);
	http_client_ask(client, "GET /readyz?verbose", "", VIEW(""), &answer);
	assert_non_null(strstr(answer.body, "[+]resourceclaims ok without: may not list\n"));
	http_client_free(client);
	stop(&f);
}

static void a_certificate_is_exchanged_while_it_runs(void **state)
{
	(void)state;
	struct fixture f;
	struct error err;
	start_ready(&f);
	assert_int_equal(front_set_certificate(f.front, VIEW("junk"), VIEW("junk"), &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_string_equal(http_client_server_name(client), "front");
	http_client_free(client);
	set_certificate(&f, "second");
	publish(&f, "exchanged");
	await_ready(&f, 500);
	client = http_client_connect_tls(f.port, 0);
	assert_string_equal(http_client_server_name(client), "second");
	http_client_free(client);
	stop(&f);
}

static void probes_say_how_it_is(void **state)
{
	(void)state;
	struct fixture f;
	struct http_answer answer;
	char buf[512];
	start_ready(&f);
	struct http_client *agent = http_client_connect_tls(f.port, 0);
	assert_int_equal(post_as(agent, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	assert_int_equal(post_as(agent, NULL, report("n", 1, 5, buf, 512), &answer), 401);
	struct http_client *client = http_client_connect(f.probe_port);
	http_client_ask(client, "GET /livez", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 200);
	http_client_ask(client, "GET /metrics", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 404);
	http_client_free(client);
	client = http_client_connect(f.metrics_port);
	/* However often they are asked for. */
	for (int i = 0; i < 2; i++) {
		http_client_ask(client, "GET /metrics", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		assert_non_null(strstr(answer.body, "reports_total{o=\"0\"} 1\n"));
		assert_non_null(strstr(answer.body, "reports_total{o=\"3\"} 1\n"));
		assert_non_null(strstr(answer.body, "connections_total{e=\"0\"} 1\n"));
		assert_non_null(strstr(answer.body, "open 1\n"));
		assert_non_null(strstr(answer.body, "nodes 1\n"));
		assert_non_null(strstr(answer.body, "tokens 1\n"));
		assert_non_null(strstr(answer.body, "agent_reports_total{node=\"n\"} 1\n"));
		assert_non_null(strstr(answer.body, "took_seconds_bucket{le=\"60.0\"} 1\n"));
		assert_non_null(strstr(answer.body, "took_seconds_count 1\n"));
		assert_null(strstr(answer.body, "turn_seconds_count{thread=\"front\"} 0\n"));
		assert_non_null(strstr(answer.body, "turn_seconds_count{thread=\"loop\"} 0\n"));
	}
	assert_int_equal(post_as(agent, "aud.agent.m/aud.other.m", report("m", 1, 5, buf, 512), &answer), 403);
	http_client_ask(client, "GET /metrics", "", VIEW(""), &answer);
	assert_non_null(strstr(answer.body, "nodes 1\n"));
	assert_non_null(strstr(answer.body, "tokens 2\n"));
	http_client_free(client);
	http_client_free(agent);
	stop(&f);
}

static int read_metrics_as(struct http_client *client, const char *token,
			   struct http_answer *answer)
{
	char headers[256];
	snprintf(headers, sizeof(headers), "Authorization: Bearer %s\r\n", token);
	http_client_ask(client, "GET /metrics", headers, VIEW(""), answer);
	return answer->status;
}

static void metrics_are_for_those_who_may_read_them(void **state)
{
	(void)state;
	struct fixture f = {.guarded = true};
	struct http_answer answer;
	open_front(&f);
	start_opened(&f);
	/* Nobody can read before there is a certificate, and nobody in clear. */
	assert_null(http_client_connect_tls(f.metrics_port, 0));
	set_certificate(&f, "front");
	publish(&f, "");
	await_ready(&f, 200);
	struct http_client *client = http_client_connect_tls(f.metrics_port, 0);
	http_client_ask(client, "GET /metrics", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 401);
	assert_int_equal(read_metrics_as(client, "nobody", &answer), 401);
	assert_int_equal(read_metrics_as(client, "stranger", &answer), 403);
	assert_null(strstr(answer.body, "requests_total"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(read_metrics_as(client, "reader", &answer), 200);
	assert_int_equal(atomic_load(&f.n_reviews), 3);
	assert_non_null(strstr(answer.body, "\nrequests_total{outcome=\"accepted\"} 2\n"));
	assert_non_null(strstr(answer.body, "\nrequests_total{outcome=\"unauthenticated\"} 2\n"));
	assert_non_null(strstr(answer.body, "\nrequests_total{outcome=\"forbidden\"} 1\n"));
	assert_non_null(strstr(answer.body, "\ntokens 3\n"));
	/* An agent's token says nothing here, and a reader's says nothing there. */
	assert_int_equal(read_metrics_as(client, "aud.agent.n", &answer), 401);
	http_client_free(client);
	client = http_client_connect(f.metrics_port);
	assert_true(http_client_send(client, VIEW("GET /metrics HTTP/1.1\r\n\r\n")));
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	stop(&f);
}

static int connect_from(uint16_t port, uint32_t host)
{
	const struct sockaddr_in from = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0x7f000100u + host)};
	const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Connections to the metrics, by the place of what happened in FRONT_CONNECTION_LABELS. */
static unsigned count_readers(const struct http_answer *answer, int event)
{
	char wanted[64];
	snprintf(wanted, sizeof(wanted), "\nreaders_total{e=\"%d\"} ", event);
	const char *found = strstr(answer->body, wanted);
	assert_non_null(found);
	return (unsigned)strtoul(found + strlen(wanted), NULL, 10);
}

/* Some come for the first time, and one has a connection that it keeps. */
static void silent_strangers_keep_no_reader_of_metrics_out(void **state)
{
	(void)state;
	struct fixture f = {.guarded = true};
	struct http_answer answer;
	int fds[320];
	open_front(&f);
	start_opened(&f);
	set_certificate(&f, "front");
	publish(&f, "");
	await_ready(&f, 200);
	struct http_client *kept = http_client_connect_tls(f.metrics_port, 0);
	assert_int_equal(read_metrics_as(kept, "reader", &answer), 200);
	for (uint32_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_from(f.metrics_port, i % 64);
		if (i % 40 != 39)
			continue;
		struct http_client *client = http_client_connect_tls(f.metrics_port, 0);
		assert_non_null(client);
		assert_int_equal(read_metrics_as(client, "reader", &answer), 200);
		http_client_free(client);
	}
	/* Until all of them and 9 readers were accepted. */
	for (int i = 0; i < 30000; i++) {
		assert_int_equal(read_metrics_as(kept, "reader", &answer), 200);
		if (count_readers(&answer, 0) == ARRAY_SIZE(fds) + 9)
			break;
	}
	assert_int_equal(count_readers(&answer, 0), ARRAY_SIZE(fds) + 9);
	assert_int_equal(count_readers(&answer, 1), 0);
	/* 64 may stay. On a slow machine some have had their time. */
	assert_true(count_readers(&answer, 8) + count_readers(&answer, 4) >= ARRAY_SIZE(fds) - 64);
	assert_non_null(strstr(answer.body, "\nconnections_total{e=\"0\"} 0\n"));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	http_client_free(kept);
	stop(&f);
}

/* Nobody can show a token there, so nobody is a stranger: more than 16 of one address may come. */
static void whoever_reads_metrics_without_a_token_is_no_stranger(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_client *clients[20];
	struct http_answer answer;
	open_front(&f);
	start_opened(&f);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		clients[i] = http_client_connect(f.metrics_port);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		http_client_ask(clients[i], "GET /metrics", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		http_client_free(clients[i]);
	}
	stop(&f);
}

static void without_an_address_metrics_cannot_be_read(void **state)
{
	(void)state;
	struct front_config config = front_config_default();
	struct front *front;
	struct error err;
	config.report_address = "127.0.0.1:0";
	config.probe_address = "127.0.0.1:0";
	assert_int_equal(front_new(&config, &front, &err), 0);
	assert_int_equal(front_metrics_port(front), 0);
	front_free(front);
}

static void what_the_loop_did_not_take_ends_with_the_front(void **state)
{
	(void)state;
	struct fixture f;
	struct http_answer answer;
	char buf[512], room[512], request[1024];
	start_ready(&f);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 1, 5, buf, 512), &answer), 200);
	await(&f.n_reports, 1);
	stop_loop(&f);
	/* Reports that nobody takes, commands that nobody carries out, a request that waits. */
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 2, 6, buf, 512), &answer), 200);
	assert_int_equal(post_as(client, "aud.agent.n", report("n", 3, 6, buf, 512), &answer), 200);
	snprintf(request, sizeof(request),
		 "POST /v1/report HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n"
		 "Content-Length: 1\r\nContent-Type: application/json\r\n\r\nx",
		 make_token("aud.agent.m", room, sizeof(room)));
	assert_true(http_client_send(client, view_from(request)));
	struct pollfd review_asked = {.fd = front_fd(f.front), .events = POLLIN};
	assert_int_equal(poll(&review_asked, 1, 30000), 1);
	front_stop(f.front);
	publish(&f, "late");
	set_certificate(&f, "late");
	stop(&f);
	assert_true(http_client_is_closed(client));
	http_client_free(client);
}

#define N_LARGE_DEVICES 8u
#define N_LARGE_PROCESSES 1000u
#define N_SENDERS 8 /* so many that none sends too often, however fast */

/* A report whose decoded form is far larger than its text, of one of several nodes. */
static int post_large(struct http_client *client, unsigned n, struct sbuf *body)
{
	struct http_answer *answer = malloc(sizeof(*answer));
	char token[32];
	assert_non_null(answer);
	sbuf_clear(body);
	sbuf_printf(body,
		    "{\"version\":1,\"node\":\"n%u\",\"bootID\":\"b\",\"instance\":1,\"sequence\":%u,"
		    "\"observedAt\":\"2026-01-02T03:04:05Z\",\"sources\":{},\"eventsDropped\":%u,"
		    "\"devices\":[",
		    n % N_SENDERS, n + 1, n);
	for (unsigned i = 0; i < N_LARGE_DEVICES; i++) {
		sbuf_printf(body,
			    "%s{\"uuid\":\"GPU-%08x-0000-4000-8000-0123456789ab\",\"processes\":[",
			    i ? "," : "", i);
		for (unsigned j = 0; j < N_LARGE_PROCESSES; j++)
			sbuf_printf(body, "%s{\"pid\":7,\"command\":\"%090u\"}", j ? "," : "", j);
		sbuf_append(body, VIEW("]}"));
	}
	sbuf_append(body, VIEW("]}"));
	snprintf(token, sizeof(token), "aud.agent.n%u", n % N_SENDERS);
	int status = post_as(client, token, sbuf_view(body), answer);
	free(answer);
	return status;
}

static void drain(struct front *front)
{
	for (struct front_message *message = front_next(front); message;
	     message = front_next(front))
		front_message_free(message);
}

static void what_the_loop_does_not_take_is_bounded_and_room_again_when_it_does(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf body;
	struct fixture f;
	unsigned n = 0, n_taken;
	sbuf_init(&body, LIMIT_REPORT_BYTES);
	start_ready(&f);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	for (; n < N_SENDERS; n++) /* whose tokens are known then */
		assert_int_equal(post_large(client, n, &body), 200);
	await(&f.n_reports, N_SENDERS);
	stop_loop(&f);
	while (post_large(client, n, &body) == 200)
		n++;
	n_taken = n - N_SENDERS;
	assert_true(n_taken > 8 && n_taken < 100);
	/* What was refused does not take room. */
	for (unsigned i = 0; i <= n_taken; i++)
		assert_int_equal(post_large(client, ++n, &body), 429);
	drain(f.front);
	assert_int_equal(post_large(client, ++n, &body), 200);
	drain(f.front);
	http_client_free(client);
	stop(&f);
}

static void a_front_that_never_ran_can_be_freed(void **state)
{
	(void)state;
	struct fixture f = {0};
	open_front(&f);
	set_certificate(&f, "unused");
	publish(&f, "unused");
	stop(&f);
	front_free(NULL);
}

static void ports_in_use_are_told(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct error err;
	struct front *second = NULL;
	char address[32];
	open_front(&f);
	snprintf(address, sizeof(address), "127.0.0.1:%u", f.probe_port);
	struct front_config config = front_config_default();
	config.report_address = "127.0.0.1:0";
	config.probe_address = address;
	assert_int_equal(front_new(&config, &second, &err), -1);
	assert_int_equal(err.kind, ERROR_RETRY);
	assert_null(second);
	stop(&f);
}

static void without_memory_it_is_not_made(void **state)
{
	(void)state;
	struct front_config config = front_config_default();
	config.report_address = "127.0.0.1:0";
	config.probe_address = "127.0.0.1:0";
	config.metrics_address = "127.0.0.1:0";
	bool failed = true;
	unsigned k = 1;
	for (; failed; k++) {
		struct error err = {0};
		struct front *front = NULL;
		failing_malloc_at(k);
		int result = front_new(&config, &front, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_true((front == NULL) == failed);
		assert_true(!failed || err.kind == ERROR_NO_MEMORY);
		front_free(front);
	}
	assert_true(k > 10);
}

#define N_AGENTS 4
#define N_POSTS 40

struct agent {
	pthread_t thread;
	uint16_t port;
	char node[16];
	unsigned n_ok;
};

static void *run_agent(void *owner)
{
	struct agent *agent = owner;
	struct http_answer *answer = malloc(sizeof(*answer));
	char token[32], buf[512];
	snprintf(token, sizeof(token), "aud.agent.%s", agent->node);
	struct http_client *client = http_client_connect_tls(agent->port, 0);
	for (int64_t i = 1; i <= N_POSTS; i++) {
		struct view body = report(agent->node, i, i % 5 == 0 ? i : 1, buf, sizeof(buf));
		agent->n_ok += post_as(client, token, body, answer) == 200;
	}
	http_client_free(client);
	free(answer);
	return NULL;
}

static void many_agents_report_at_once(void **state)
{
	(void)state;
	struct fixture f;
	struct agent agents[N_AGENTS] = {0};
	start_ready(&f);
	for (int i = 0; i < N_AGENTS; i++) {
		agents[i].port = f.port;
		snprintf(agents[i].node, sizeof(agents[i].node), "n%d", i);
		assert_int_equal(pthread_create(&agents[i].thread, NULL, run_agent, &agents[i]), 0);
	}
	/* Meanwhile the loop changes its mind now and then. */
	for (int i = 0; i < 20; i++) {
		publish(&f, "");
		struct error err;
		assert_int_equal(front_forget(f.front, VIEW("n1"), &err), 0);
	}
	for (int i = 0; i < N_AGENTS; i++) {
		assert_int_equal(pthread_join(agents[i].thread, NULL), 0);
		assert_int_equal(agents[i].n_ok, N_POSTS);
	}
	assert_int_equal(f.n_reviews, N_AGENTS);
	stop(&f);
}

static int prepare(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -1 : 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_report_travels_from_the_agent_to_the_loop),
	cmocka_unit_test(the_orders_of_all_nodes_are_known_before_the_first_report),
	cmocka_unit_test(what_is_told_of_orders_is_copied),
	cmocka_unit_test(a_node_that_is_forgotten_is_heard_whole_again),
	cmocka_unit_test(events_are_acknowledged_up_to_the_last_one_to_the_process_that_sent_them),
	cmocka_unit_test(a_refresh_says_when_the_list_was_read_and_how_warm_devices_are),
	cmocka_unit_test(a_token_of_which_nothing_can_be_found_out_is_not_refused_for_good),
	cmocka_unit_test(no_more_reviews_are_under_way_than_there_may_be),
	cmocka_unit_test(a_loop_that_is_silent_for_too_long_is_not_alive),
	cmocka_unit_test(each_end_of_a_connection_is_counted_by_its_cause),
	cmocka_unit_test(who_had_a_report_accepted_may_be_idle_for_two_heartbeats_and_others_as_before),
	cmocka_unit_test(several_may_probe_at_once),
	cmocka_unit_test(a_hundred_scrapers_at_once_share_one_text),
	cmocka_unit_test(scrapers_that_never_read_keep_nobody_else_waiting),
	cmocka_unit_test(pages_of_metrics_have_the_part_of_the_memory_limit_that_is_theirs),
	cmocka_unit_test(refusals_have_their_codes),
	cmocka_unit_test(reports_wait_for_a_certificate_and_for_readiness),
	cmocka_unit_test(a_lack_that_is_tolerated_crosses_the_threads_as_such),
	cmocka_unit_test(a_certificate_is_exchanged_while_it_runs),
	cmocka_unit_test(probes_say_how_it_is),
	cmocka_unit_test(metrics_are_for_those_who_may_read_them),
	cmocka_unit_test(silent_strangers_keep_no_reader_of_metrics_out),
	cmocka_unit_test(whoever_reads_metrics_without_a_token_is_no_stranger),
	cmocka_unit_test(without_an_address_metrics_cannot_be_read),
	cmocka_unit_test(what_the_loop_did_not_take_ends_with_the_front),
	cmocka_unit_test(what_the_loop_does_not_take_is_bounded_and_room_again_when_it_does),
	cmocka_unit_test(a_front_that_never_ran_can_be_freed),
	cmocka_unit_test(ports_in_use_are_told),
	cmocka_unit_test(without_memory_it_is_not_made),
	cmocka_unit_test(many_agents_report_at_once),
};
TEST_MAIN_WITH(tests, prepare, NULL)
