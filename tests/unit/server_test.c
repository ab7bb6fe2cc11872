/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The server runs in a thread of its own, the clients are blocking calls of the test. If a test is
 * about a deadline, that one is short and all others are longer than the test may take. So a slow
 * machine makes the test slower, not wrong.
 */

#include "lib/test_main.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "io/server.h"
#include "lib/http_client.h"

#define LONG_MS 60000
#define SHORT_MS 60
#define MAX_BODY 4096
#define LARGE_SIZE (32u * 1024 * 1024)

struct fixture {
	struct loop *loop;
	struct server *server;
	struct tls_identity *identity;
	struct loop_timer *later;
	struct loop_timer *publisher;
	struct server_request *waiting;
	bool waiting_for_body;
	pthread_t thread;
	uint16_t port;
	/* Published by the loop for the test. */
	atomic_uint_fast64_t accepted, refused, evicted, handshake_failed, timed_out, malformed,
		pauses, open;
	atomic_uint_fast64_t admitted, done, done_bytes; /* bodies */
	atomic_uint_fast64_t released; /* what answers share */
	atomic_uint_fast64_t strangers; /* sent away */
	atomic_uint_fast64_t known;     /* came from an address that was vouched for */
	_Atomic(struct tls_identity *) swap_requested;
	struct sbuf next_cert, next_key;
};

static char large[LARGE_SIZE];

static void answer_text(struct server_request *request, int status, struct view text)
{
	server_answer(request, &(struct server_answer){.status = status, .body = text,
						       .content_type = "text/plain"});
}

/*
 * /vouch: whoever asks for it is no stranger. /refuse: by its head. /later...: both decisions after a
 * while. Everything else: at once.
 */
static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	struct fixture *f = owner;
	if (view_equal(head->path, VIEW("/vouch"))) {
		f->known += head->is_known;
		assert_true(server_vouch(request, (struct view){0}));
	}
	if (view_equal(head->path, VIEW("/refuse"))) {
		answer_text(request, 403, VIEW("refused"));
	} else if (view_starts_with(head->path, VIEW("/later"))) {
		f->waiting = request;
		f->waiting_for_body = true;
		loop_timer_set(f->later, 1);
	} else {
		f->admitted++;
		server_proceed(request);
	}
}

static void release(void *owner)
{
	struct fixture *f = owner;
	f->released++;
}

static void answer_shared(struct fixture *f, struct server_request *request)
{
	static const struct view parts[] = {VIEW_INIT(""), VIEW_INIT("one, "), VIEW_INIT(""),
					    VIEW_INIT("two, "), VIEW_INIT("")};
	server_answer(request, &(struct server_answer){
		.status = 200, .content_type = "text/plain", .body = VIEW("three"),
		.shared = {parts, ARRAY_SIZE(parts), release, f}});
}

static void answer_shared_large(struct fixture *f, struct server_request *request)
{
	static struct view parts[2];
	parts[0] = (struct view){large, LARGE_SIZE / 2};
	parts[1] = (struct view){large + LARGE_SIZE / 2, LARGE_SIZE / 2};
	server_answer(request, &(struct server_answer){
		.status = 200, .content_type = "text/plain", .body = VIEW("end"),
		.shared = {parts, ARRAY_SIZE(parts), release, f}});
}

static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	struct fixture *f = owner;
	assert(view_starts_with(head->peer, VIEW("127.0.")) && head->network.len == 16);
	if (view_equal(head->path, VIEW("/later"))) {
		f->waiting = request;
		loop_timer_set(f->later, 1);
	} else if (view_equal(head->path, VIEW("/idle_long"))) {
		server_answer(request, &(struct server_answer){.status = 200, .idle_long = true});
	} else if (view_equal(head->path, VIEW("/large"))) {
		answer_text(request, 200, (struct view){large, sizeof(large)});
	} else if (view_equal(head->path, VIEW("/shared"))) {
		answer_shared(f, request);
	} else if (view_equal(head->path, VIEW("/shared_large"))) {
		answer_shared_large(f, request);
	} else if (view_equal(head->path, VIEW("/query"))) {
		answer_text(request, 200, head->query);
	} else {
		answer_text(request, 200, body);
	}
}

static void on_done(void *owner, struct server_request *request)
{
	struct fixture *f = owner;
	f->done_bytes += server_request_body_size(request);
	f->done++;
}

static void on_later(void *owner)
{
	struct fixture *f = owner;
	struct server_request *request = f->waiting;
	f->waiting = NULL;
	if (f->waiting_for_body) {
		f->waiting_for_body = false;
		f->admitted++;
		server_proceed(request);
	} else {
		answer_text(request, 200, VIEW("later"));
	}
}

static void publish(void *owner)
{
	struct fixture *f = owner;
	struct error err;
	const struct server_counters counters = server_counters(f->server);
	f->accepted = counters.accepted;
	f->refused = counters.refused_limit;
	f->evicted = counters.evicted;
	f->strangers = counters.evicted_strangers;
	f->handshake_failed = counters.handshake_failed;
	f->timed_out = counters.timed_out;
	f->malformed = counters.malformed;
	f->pauses = counters.pauses;
	f->open = counters.open;
	if (atomic_load(&f->swap_requested)) {
		if (tls_identity_update(f->identity, sbuf_view(&f->next_cert),
					sbuf_view(&f->next_key), &err) != 0)
			abort();
		atomic_store(&f->swap_requested, NULL);
	}
	loop_timer_set(f->publisher, 1);
}

static void *run_loop(void *owner)
{
	struct fixture *f = owner;
	struct error err;
	return loop_run(f->loop, &err) == 0 ? NULL : f;
}

static const struct server_config long_config = {
	.address = "127.0.0.1:0",
	.max_body = MAX_BODY,
	.max_connections = 100,
	.max_connections_per_address = 100,
	.handshake_timeout_ms = LONG_MS,
	.head_timeout_ms = LONG_MS,
	.body_timeout_ms = LONG_MS,
	.write_timeout_ms = LONG_MS,
	.idle_timeout_ms = LONG_MS,
	.idle_long_timeout_ms = LONG_MS,
};

static void start(struct fixture *f, const struct server_config *config)
{
	struct error err = {0};
	const struct server_handler handler = {f, on_head, on_request, on_done};
	assert_int_equal(loop_new(&f->loop, &err), 0);
	assert_int_equal(loop_timer_new(f->loop, on_later, f, &f->later, &err), 0);
	assert_int_equal(loop_timer_new(f->loop, publish, f, &f->publisher, &err), 0);
	if (server_new(f->loop, config, &handler, &f->server, &err) != 0)
		fail_msg("%s", err.text);
	f->port = server_port(f->server);
	loop_timer_set(f->publisher, 1);
	assert_int_equal(pthread_create(&f->thread, NULL, run_loop, f), 0);
}

static void stop(struct fixture *f)
{
	loop_stop(f->loop);
	assert_int_equal(pthread_join(f->thread, NULL), 0);
	server_free(f->server);
	loop_timer_free(f->later);
	loop_timer_free(f->publisher);
	loop_free(f->loop);
	tls_identity_free(f->identity);
	sbuf_deinit(&f->next_cert);
	sbuf_deinit(&f->next_key);
}

/* A certificate that any version of TLS would take: made by an authority, for signing. */
static void make_pair(const char *name, struct sbuf *cert, struct sbuf *key)
{
	struct error err = {0};
	CLEANUP(sbuf_deinit) struct sbuf ca_cert;
	CLEANUP(sbuf_deinit) struct sbuf ca_key;
	sbuf_init(&ca_cert, 65536);
	sbuf_init(&ca_key, 65536);
	sbuf_init(cert, 65536);
	sbuf_init(key, 65536);
	struct tls_certificate_request request = {
		.common_name = "ca", .now = time(NULL), .lifetime_s = 3600};
	assert_int_equal(tls_make_certificate(&request, &ca_cert, &ca_key, &err), 0);
	request.common_name = name;
	request.issuer_cert_pem = sbuf_view(&ca_cert);
	request.issuer_key_pem = sbuf_view(&ca_key);
	assert_int_equal(tls_make_certificate(&request, cert, key, &err), 0);
}

static void start_tls(struct fixture *f, const struct server_config *config)
{
	struct error err = {0};
	CLEANUP(sbuf_deinit) struct sbuf cert;
	CLEANUP(sbuf_deinit) struct sbuf key;
	make_pair("first", &cert, &key);
	make_pair("second", &f->next_cert, &f->next_key);
	assert_int_equal(tls_identity_new(sbuf_view(&cert), sbuf_view(&key), &f->identity, &err), 0);
	struct server_config with_tls = *config;
	with_tls.tls = f->identity;
	start(f, &with_tls);
}

/* Waits until the server's loop has published what the test expects. */
static void await(const atomic_uint_fast64_t *value, uint64_t expected)
{
	for (int i = 0; i < 30000 && atomic_load(value) != expected; i++)
		poll(NULL, 0, 1);
	assert_int_equal(atomic_load(value), expected);
}

static void a_kept_connection_serves_one_request_after_the_other(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	for (int i = 0; i < 3; i++) {
		http_client_ask(client, "POST /echo", "", VIEW("hello"), &answer);
		assert_int_equal(answer.status, 200);
		assert_string_equal(answer.body, "hello");
	}
	http_client_ask(client, "GET /query?a=b", "Connection: close\r\n", VIEW(""), &answer);
	assert_string_equal(answer.body, "a=b");
	assert_non_null(strstr(answer.head, "Connection: close\r\n"));
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	await(&f.accepted, 1);
	await(&f.open, 0);
	stop(&f);
}

#define TWO_REQUESTS \
	"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none" \
	"POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\ntwo" \
	"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nthree"

static void pipelined_requests_are_answered_in_order_however_they_are_cut(void **state)
{
	(void)state;
	static const struct view text = VIEW_INIT(TWO_REQUESTS);
	struct fixture f = {0};
	start(&f, &long_config);
	for (size_t piece = 1; piece <= text.len; piece += piece < 8 ? 1 : 37) {
		struct http_client *client = http_client_connect(f.port);
		struct http_answer answer;
		for (size_t at = 0; at < text.len; at += piece) {
			size_t n = text.len - at < piece ? text.len - at : piece;
			assert_true(http_client_send(client, (struct view){text.ptr + at, n}));
		}
		static const char *const bodies[] = {"one", "later", "three"};
		for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
			assert_true(http_client_read(client, false, &answer));
			assert_int_equal(answer.status, 200);
			assert_string_equal(answer.body, bodies[i]);
		}
		assert_true(http_client_is_closed(client));
		http_client_free(client);
	}
	stop(&f);
}

static void a_thousand_pipelined_requests_get_a_thousand_answers(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	for (int i = 0; i < 1000; i++)
		assert_true(http_client_send(client, VIEW("GET /q HTTP/1.1\r\nHost: a\r\n\r\n")));
	for (int i = 0; i < 1000; i++) {
		assert_true(http_client_read(client, false, &answer));
		assert_int_equal(answer.status, 200);
	}
	http_client_free(client);
	stop(&f);
}

static void a_malformed_head_is_answered_and_the_connection_closed(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int status;
	} rows[] = {
		{"nonsense\r\n", 400},
		{"GET / HTTP/1.0\r\n", 505},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: a\r\nContent-Length: 1\r\n\r\n",
		 400},
	};
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_client *client = http_client_connect(f.port);
		assert_true(http_client_send(client, view_from(rows[i].text)));
		assert_true(http_client_read(client, false, &answer));
		assert_int_equal(answer.status, rows[i].status);
		assert_memory_equal(answer.body, "{\"error\": \"", 11);
		assert_true(http_client_is_closed(client));
		http_client_free(client);
	}
	await(&f.malformed, ARRAY_SIZE(rows));
	stop(&f);
}

static void a_body_over_the_limit_is_refused_by_its_length(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	http_client_ask(client, "POST /echo", "", (struct view){large, MAX_BODY}, &answer);
	assert_int_equal(answer.status, 200);
	assert_true(http_client_send(client, VIEW("POST / HTTP/1.1\r\nHost: a\r\n"
						  "Content-Length: 4097\r\n\r\n")));
	assert_true(http_client_read(client, false, &answer));
	assert_int_equal(answer.status, 413);
	http_client_free(client);
	/* Who sends it all the same still gets to read why: the connection ends without a reset. */
	char rest;
	client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("POST / HTTP/1.1\r\nHost: a\r\n"
						  "Content-Length: 2097152\r\n\r\n")));
	assert_true(http_client_send(client, (struct view){large, 2 * 1024 * 1024}));
	assert_true(http_client_read(client, false, &answer));
	assert_int_equal(answer.status, 413);
	assert_int_equal(recv(http_client_fd(client), &rest, 1, 0), 0);
	http_client_free(client);
	stop(&f);
}

static void who_waits_for_100_continue_gets_it_or_a_refusal(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: "
						  "100-continue\r\nContent-Length: 2\r\n\r\n")));
	assert_true(http_client_read(client, false, &answer));
	assert_int_equal(answer.status, 100);
	assert_true(http_client_send(client, VIEW("ok")));
	assert_true(http_client_read(client, false, &answer));
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "ok");
	/* A body that came along needs no permission. */
	http_client_ask(client, "POST /echo", "Expect: 100-continue\r\n", VIEW("here"), &answer);
	assert_int_equal(answer.status, 200);
	assert_true(http_client_send(client, VIEW("POST /refuse HTTP/1.1\r\nHost: a\r\nExpect: "
						  "100-continue\r\nContent-Length: 2\r\n\r\n")));
	assert_true(http_client_read(client, false, &answer));
	assert_int_equal(answer.status, 403);
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	stop(&f);
}

static void a_refusal_keeps_the_connection_if_the_body_is_here_already(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	http_client_ask(client, "POST /refuse", "", VIEW("small"), &answer);
	assert_int_equal(answer.status, 403);
	http_client_ask(client, "POST /echo", "", VIEW("next"), &answer);
	assert_string_equal(answer.body, "next");
	assert_true(http_client_send(client, VIEW("POST /refuse HTTP/1.1\r\nHost: a\r\n"
						  "Content-Length: 9\r\n\r\nhalf")));
	assert_true(http_client_read(client, false, &answer));
	assert_int_equal(answer.status, 403);
	assert_non_null(strstr(answer.head, "Connection: close\r\n"));
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	stop(&f);
}

static void what_comes_behind_a_large_body_is_not_lost_with_it(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	struct server_config config = long_config;
	struct sbuf requests;
	config.max_body = 65000;
	sbuf_init(&requests, 200000);
	for (int i = 0; i < 2; i++) {
		sbuf_append(&requests, VIEW("POST /echo HTTP/1.1\r\nHost: a\r\n"
					    "Content-Length: 60000\r\n\r\n"));
		sbuf_append(&requests, (struct view){large, 60000});
	}
	sbuf_append(&requests, VIEW("GET /query?last HTTP/1.1\r\nHost: a\r\n\r\n"));
	start(&f, &config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_send(client, sbuf_view(&requests)));
	for (int i = 0; i < 2; i++) {
		assert_true(http_client_read(client, false, &answer));
		assert_int_equal(answer.status, 200);
	}
	assert_true(http_client_read(client, false, &answer));
	assert_string_equal(answer.body, "last");
	await(&f.done, 3);
	http_client_free(client);
	sbuf_deinit(&requests);
	stop(&f);
}

static void an_answer_to_head_has_no_body(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	http_client_ask(client, "HEAD /query?xyz", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 200);
	assert_non_null(strstr(answer.head, "Content-Length: 3\r\n"));
	http_client_ask(client, "GET /query?xyz", "", VIEW(""), &answer);
	assert_string_equal(answer.body, "xyz");
	http_client_free(client);
	stop(&f);
}

static void bytes_that_trickle_do_not_prolong_a_deadline(void **state)
{
	(void)state;
	static const struct {
		const char *start;
		uint32_t head_ms, body_ms;
	} rows[] = {
		{"GET /", SHORT_MS, LONG_MS},
		{"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4096\r\n\r\n", LONG_MS, SHORT_MS},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f = {0};
		struct http_answer answer;
		struct server_config config = long_config;
		config.head_timeout_ms = rows[i].head_ms;
		config.body_timeout_ms = rows[i].body_ms;
		start(&f, &config);
		struct http_client *client = http_client_connect(f.port);
		struct pollfd readable = {.fd = http_client_fd(client), .events = POLLIN};
		assert_true(http_client_send(client, view_from(rows[i].start)));
		int sent = 0;
		for (; sent < 4000 && poll(&readable, 1, 1) == 0; sent++)
			(void)http_client_send(client, VIEW("x"));
		assert_true(sent < 4000);
		assert_true(http_client_read(client, false, &answer));
		assert_int_equal(answer.status, 408);
		await(&f.timed_out, 1);
		http_client_free(client);
		stop(&f);
	}
}

static void silence_ends_a_connection_in_every_phase(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t timeout; /* offset of the short one */
		bool is_timeout;
	} rows[] = {
		{"", offsetof(struct server_config, head_timeout_ms), true},
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", offsetof(struct server_config, idle_timeout_ms),
		 false},
		{"GET /idle_long HTTP/1.1\r\nHost: a\r\n\r\n",
		 offsetof(struct server_config, idle_long_timeout_ms), false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f = {0};
		struct http_answer answer;
		struct server_config config = long_config;
		memcpy((char *)&config + rows[i].timeout, &(uint32_t){SHORT_MS}, sizeof(uint32_t));
		start(&f, &config);
		struct http_client *client = http_client_connect(f.port);
		assert_true(http_client_send(client, view_from(rows[i].text)));
		if (rows[i].text[0])
			assert_true(http_client_read(client, false, &answer));
		assert_true(http_client_is_closed(client));
		http_client_free(client);
		await(&f.accepted, 1);
		await(&f.open, 0);
		assert_int_equal(f.timed_out, rows[i].is_timeout);
		stop(&f);
	}
}

static void a_client_that_does_not_read_is_left(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct server_config config = long_config;
	config.write_timeout_ms = SHORT_MS;
	start(&f, &config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")));
	await(&f.timed_out, 1);
	await(&f.open, 0);
	http_client_free(client);
	stop(&f);
}

static void an_answer_larger_than_the_socket_takes_arrives_whole(void **state)
{
	(void)state;
	struct fixture f = {0};
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("GET /large HTTP/1.1\r\nHost: a\r\n"
						  "Connection: close\r\n\r\n")));
	static char part[1 << 20];
	size_t total = 0;
	for (ssize_t n = 1; n > 0; total += (size_t)n) {
		n = recv(http_client_fd(client), part, sizeof(part), 0);
		assert_true(n >= 0);
	}
	assert_true(total > LARGE_SIZE && total < LARGE_SIZE + 1024);
	http_client_free(client);
	stop(&f);
}

static void what_answers_share_comes_before_their_own(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	for (unsigned i = 1; i <= 3; i++) {
		http_client_ask(client, "GET /shared", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		assert_string_equal(answer.body, "one, two, three");
		assert_int_equal(answer.body_len, 15);
		await(&f.released, i);
	}
	assert_true(http_client_send(client, VIEW("HEAD /shared HTTP/1.1\r\nHost: a\r\n\r\n")));
	assert_true(http_client_read(client, true, &answer));
	assert_non_null(strstr(answer.head, "Content-Length: 15\r\n"));
	await(&f.released, 4);
	http_client_ask(client, "POST /echo", "", VIEW("next"), &answer);
	assert_string_equal(answer.body, "next");
	http_client_free(client);
	stop(&f);
}

static void what_is_shared_and_large_arrives_whole(void **state)
{
	(void)state;
	struct fixture f = {0};
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("GET /shared_large HTTP/1.1\r\nHost: a\r\n"
						  "Connection: close\r\n\r\n")));
	static char part[1 << 20];
	size_t total = 0;
	char last = 0;
	for (ssize_t n = 1; n > 0; total += (size_t)n) {
		n = recv(http_client_fd(client), part, sizeof(part), 0);
		assert_true(n >= 0);
		last = n > 0 ? part[n - 1] : last;
	}
	assert_true(total > LARGE_SIZE + 3 && total < LARGE_SIZE + 1024);
	assert_int_equal(last, 'd');
	await(&f.released, 1);
	http_client_free(client);
	stop(&f);
}

static void what_is_shared_is_released_when_its_reader_goes(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct server_config config = long_config;
	start(&f, &config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("GET /shared_large HTTP/1.1\r\nHost: a\r\n\r\n")));
	char byte;
	assert_int_equal(recv(http_client_fd(client), &byte, 1, 0), 1);
	http_client_free(client);
	await(&f.released, 1);
	await(&f.open, 0);
	client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("GET /shared_large HTTP/1.1\r\nHost: a\r\n\r\n")));
	assert_int_equal(recv(http_client_fd(client), &byte, 1, 0), 1);
	stop(&f); /* ends with the server */
	assert_int_equal(f.released, 2);
	http_client_free(client);
}

static void what_is_shared_is_encrypted_as_the_rest(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start_tls(&f, &long_config);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	for (unsigned i = 1; i <= 2; i++) {
		http_client_ask(client, "GET /shared", "", VIEW(""), &answer);
		assert_string_equal(answer.body, "one, two, three");
		await(&f.released, i);
	}
	http_client_free(client);
	stop(&f);
}

static void the_connection_idle_for_longest_makes_room(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	struct server_config config = long_config;
	config.max_connections = 2;
	start(&f, &config);
	struct http_client *first = http_client_connect(f.port);
	http_client_ask(first, "GET /", "", VIEW(""), &answer);
	struct http_client *second = http_client_connect(f.port);
	http_client_ask(second, "GET /", "", VIEW(""), &answer);
	struct http_client *third = http_client_connect(f.port);
	http_client_ask(third, "GET /", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 200);
	assert_true(http_client_is_closed(first));
	http_client_ask(second, "GET /", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 200);
	await(&f.evicted, 1);
	assert_int_equal(f.refused, 0);
	http_client_free(first);
	http_client_free(second);
	http_client_free(third);
	stop(&f);
}

static void connections_beyond_a_limit_are_closed_when_none_is_idle(void **state)
{
	(void)state;
	for (int per_address = 0; per_address < 2; per_address++) {
		struct fixture f = {0};
		struct http_answer answer;
		struct server_config config = long_config;
		*(per_address ? &config.max_connections_per_address : &config.max_connections) = 1;
		start(&f, &config);
		struct http_client *first = http_client_connect(f.port);
		await(&f.open, 1);
		struct http_client *second = http_client_connect(f.port);
		assert_true(http_client_is_closed(second));
		await(&f.refused, 1);
		http_client_ask(first, "GET /", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		/* The place of one that went is free again. */
		http_client_free(first);
		http_client_free(second);
		await(&f.open, 0);
		first = http_client_connect(f.port);
		http_client_ask(first, "GET /", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		http_client_free(first);
		stop(&f);
	}
}

/* One that says nothing, from 127.0.1.<host>. */
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

static bool is_closed(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

#define N_STRANGERS 320

static const struct server_config guarded_config = {
	.address = "127.0.0.1:0",
	.max_body = MAX_BODY,
	.max_connections = 64,
	.max_connections_per_address = 64,
	.max_strangers = 16,
	.max_strangers_per_network = 4,
	.max_known_addresses = 10,
	.handshake_timeout_ms = LONG_MS,
	.head_timeout_ms = LONG_MS,
	.body_timeout_ms = LONG_MS,
	.write_timeout_ms = LONG_MS,
	.idle_timeout_ms = LONG_MS,
	.idle_long_timeout_ms = LONG_MS,
};

static void ask_vouched(struct http_client *client)
{
	struct http_answer answer;
	assert_non_null(client);
	http_client_ask(client, "GET /vouch", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 200);
}

/* Without room for known addresses an honest client is a stranger each time. */
static void try_strangers(size_t max_known_addresses)
{
	struct fixture f = {0};
	struct server_config config = guarded_config;
	struct http_client *kept = NULL;
	int fds[N_STRANGERS];
	config.max_known_addresses = max_known_addresses;
	start_tls(&f, &config);
	for (uint32_t i = 0; i < N_STRANGERS; i++) {
		fds[i] = connect_from(f.port, i % 64);
		if (i % 10 != 9)
			continue;
		struct http_client *honest = http_client_connect_tls(f.port, 0);
		ask_vouched(honest);
		if (kept)
			http_client_free(honest);
		else
			kept = honest;
	}
	ask_vouched(kept);
	await(&f.accepted, N_STRANGERS + N_STRANGERS / 10);
	assert_int_equal(f.refused, 0);
	assert_int_equal(f.known, max_known_addresses ? N_STRANGERS / 10 : 0);
	assert_true(f.strangers >= N_STRANGERS - config.max_strangers);
	for (int i = 0; i < N_STRANGERS; i++)
		close(fds[i]);
	http_client_free(kept);
	stop(&f);
}

static void silent_strangers_of_many_addresses_keep_no_honest_client_out(void **state)
{
	(void)state;
	try_strangers(10);
	try_strangers(0);
}

static void strangers_of_one_address_push_out_each_other_only(void **state)
{
	(void)state;
	struct fixture f = {0};
	int other, fds[20];
	start(&f, &guarded_config);
	other = connect_from(f.port, 1);
	await(&f.open, 1);
	for (int i = 0; i < 20; i++)
		fds[i] = connect_from(f.port, 2);
	await(&f.strangers, 16);
	assert_int_equal(f.open, 5);
	assert_false(is_closed(other));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(is_closed(fds[i]), i < 16);
		close(fds[i]);
	}
	close(other);
	stop(&f);
}

static void strangers_come_and_go_while_requests_are_decided(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	struct server_config config = guarded_config;
	config.max_strangers = config.max_strangers_per_network = 1;
	start(&f, &config);
	for (int i = 0; i < 20; i++) {
		struct http_client *client = http_client_connect(f.port);
		assert_true(http_client_send(client, VIEW("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")));
		/* Who comes meanwhile is refused, or comes before or after it. */
		int stranger = connect_from(f.port, 1);
		if (http_client_read(client, false, &answer))
			assert_int_equal(answer.status, 200);
		close(stranger);
		http_client_free(client);
		await(&f.open, 0);
	}
	stop(&f);
}

static void a_client_that_leaves_before_the_answer_does_no_harm(void **state)
{
	(void)state;
	struct fixture f = {0};
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("POST /later HTTP/1.1\r\nHost: a\r\n"
						  "Content-Length: 2\r\n\r\nxx")));
	http_client_free(client);
	await(&f.accepted, 1);
	await(&f.open, 0);
	stop(&f);
}

static void requests_under_way_end_with_the_server(void **state)
{
	(void)state;
	struct fixture f = {0};
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	struct http_client *other = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("POST /echo HTTP/1.1\r\nHost: a\r\n"
						  "Content-Length: 2\r\n\r\nx")));
	await(&f.open, 2);
	stop(&f);
	assert_true(http_client_is_closed(client));
	http_client_free(client);
	http_client_free(other);
}

/* The second smallest free number: below it as a limit is room for just one descriptor. */
static rlim_t room_for_one(void)
{
	int first = dup(STDERR_FILENO), second = dup(STDERR_FILENO);
	assert_true(first >= 0 && second > first);
	close(first);
	close(second);
	return (rlim_t)second;
}

static void the_end_of_each_body_that_was_let_in_is_told_once(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	const struct view head =
		VIEW("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	struct http_client *other = http_client_connect(f.port);
	http_client_ask(client, "POST /echo", "", VIEW("ok"), &answer);
	await(&f.done, 1);
	/* One refused by its head was not let in. */
	http_client_ask(client, "POST /refuse", "", VIEW("ok"), &answer);
	assert_int_equal(answer.status, 403);
	/* A client that leaves in the middle of its body. */
	assert_true(http_client_send(client, head));
	await(&f.admitted, 2);
	assert_int_equal(f.done, 1);
	http_client_free(client);
	await(&f.done, 2);
	/* And one that the server leaves. */
	assert_true(http_client_send(other, head));
	await(&f.admitted, 3);
	stop(&f);
	assert_int_equal(f.done, 3);
	assert_int_equal(f.done_bytes, 6);
	http_client_free(other);
}

static void without_descriptors_it_pauses_and_goes_on(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	struct rlimit before, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	start(&f, &long_config);
	struct http_client *client = http_client_connect(f.port);
	http_client_ask(client, "GET /", "", VIEW(""), &answer);
	none = before;
	none.rlim_cur = room_for_one();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	struct http_client *starved = http_client_connect(f.port);
	for (int i = 0; i < 30000 && atomic_load(&f.pauses) == 0; i++)
		poll(NULL, 0, 1);
	assert_int_not_equal(f.pauses, 0);
	/* Connections that exist are served meanwhile. */
	http_client_ask(client, "GET /", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	http_client_ask(starved, "GET /", "", VIEW(""), &answer);
	assert_int_equal(answer.status, 200);
	http_client_free(starved);
	http_client_free(client);
	stop(&f);
}

static void addresses_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *address;
		enum error_kind kind;
	} rows[] = {
		{"", ERROR_REJECTED},
		{"127.0.0.1", ERROR_REJECTED},
		{"127.0.0.1:", ERROR_REJECTED},
		{"127.0.0.1:65536", ERROR_REJECTED},
		{"127.0.0.1:-1", ERROR_REJECTED},
		{"localhost:1", ERROR_REJECTED},
		{"::1:1", ERROR_REJECTED},
		{"[127.0.0.1]:1", ERROR_REJECTED},
		{"[]:1", ERROR_NONE},
		{":0", ERROR_NONE},
		{"127.0.0.1:0", ERROR_NONE},
	};
	struct loop *loop = NULL;
	struct error err;
	assert_int_equal(loop_new(&loop, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct server_config config = long_config;
		const struct server_handler handler = {NULL, on_head, on_request};
		struct server *server = NULL;
		config.address = rows[i].address;
		error_clear(&err);
		int result = server_new(loop, &config, &handler, &server, &err);
		assert_int_equal(err.kind, rows[i].kind);
		assert_int_equal(result == 0, server != NULL);
		server_free(server);
	}
	loop_free(loop);
}

static void a_port_in_use_is_an_error_that_may_pass(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct error err;
	struct server *second = NULL;
	const struct server_handler handler = {NULL, on_head, on_request};
	char address[32];
	start(&f, &long_config);
	struct server_config config = long_config;
	snprintf(address, sizeof(address), "127.0.0.1:%u", f.port);
	config.address = address;
	struct loop *loop = NULL;
	assert_int_equal(loop_new(&loop, &err), 0);
	assert_int_equal(server_new(loop, &config, &handler, &second, &err), -1);
	assert_int_equal(err.kind, ERROR_RETRY);
	assert_null(second);
	loop_free(loop);
	stop(&f);
}

static void tls_1_3_is_spoken_and_nothing_older(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start_tls(&f, &long_config);
	assert_null(http_client_connect_tls(f.port, 0x0303));
	assert_null(http_client_connect_tls(f.port, 0x0301));
	await(&f.handshake_failed, 2);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	assert_non_null(client);
	for (int i = 0; i < 3; i++) {
		http_client_ask(client, "POST /echo", "", (struct view){large, MAX_BODY}, &answer);
		assert_int_equal(answer.status, 200);
		assert_int_equal(answer.body_len, MAX_BODY);
	}
	http_client_ask(client, "POST /later", "", VIEW("x"), &answer);
	assert_string_equal(answer.body, "later");
	assert_false(http_client_has_ticket(client));
	http_client_free(client);
	stop(&f);
}

static void keys_are_exchanged_by_x25519_and_p_256_only(void **state)
{
	(void)state;
	static const char *const dear[] = {"ffdhe2048", "ffdhe8192", "X448", "P-384", "P-521"};
	static const char *const good[] = {"X25519", "P-256", "X448:P-256"};
	struct fixture f = {0};
	struct http_answer answer;
	start_tls(&f, &long_config);
	for (size_t i = 0; i < ARRAY_SIZE(dear); i++)
		assert_null(http_client_connect_groups(f.port, dear[i]));
	await(&f.handshake_failed, ARRAY_SIZE(dear));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct http_client *client = http_client_connect_groups(f.port, good[i]);
		assert_non_null(client);
		http_client_ask(client, "GET /", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		http_client_free(client);
	}
	stop(&f);
}

static void ciphers_with_short_tags_or_none_are_not_spoken(void **state)
{
	(void)state;
	static const char *const weak[] = {"TLS_AES_128_CCM_8_SHA256", "TLS_AES_128_CCM_SHA256"};
	static const char *const good[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
					   "TLS_CHACHA20_POLY1305_SHA256"};
	struct fixture f = {0};
	struct http_answer answer;
	start_tls(&f, &long_config);
	for (size_t i = 0; i < ARRAY_SIZE(weak); i++)
		assert_null(http_client_connect_ciphers(f.port, weak[i]));
	await(&f.handshake_failed, ARRAY_SIZE(weak));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct http_client *client = http_client_connect_ciphers(f.port, good[i]);
		assert_non_null(client);
		http_client_ask(client, "GET /", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		http_client_free(client);
	}
	stop(&f);
}

/* It has one certificate, which the client judges by the name that it wants. */
static void a_client_may_ask_for_a_server_of_any_name(void **state)
{
	(void)state;
	char longest[256];
	const char *const names[] = {"x", "..", "\xff\x01\n", "a b", "*", longest};
	struct fixture f = {0};
	struct http_answer answer;
	memset(longest, 'n', 255);
	longest[255] = '\0';
	start_tls(&f, &long_config);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct http_client *client = http_client_connect_named(f.port, names[i]);
		assert_non_null(client);
		http_client_ask(client, "GET /", "", VIEW(""), &answer);
		assert_int_equal(answer.status, 200);
		http_client_free(client);
	}
	stop(&f);
}

static void pipelined_requests_in_one_tls_record_are_all_answered(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start_tls(&f, &long_config);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	/* Several records in one write of the socket: what is read ahead must not be forgotten. */
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, 1 << 20);
	for (int i = 0; i < 600; i++)
		sbuf_append(&text, VIEW("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none"));
	assert_true(http_client_send(client, sbuf_view(&text)));
	for (int i = 0; i < 600; i++) {
		assert_true(http_client_read(client, false, &answer));
		assert_string_equal(answer.body, "one");
	}
	http_client_free(client);
	stop(&f);
}

/* Both are in the socket when the server reads the first: it will not become readable again. */
static void a_tls_record_that_was_read_ahead_is_not_forgotten(void **state)
{
	(void)state;
	static const struct view text =
		VIEW_INIT("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none");
	struct fixture f = {0};
	struct http_answer answer;
	start_tls(&f, &long_config);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	for (int i = 0; i < 10; i++) {
		http_client_cork(client, true);
		assert_true(http_client_send(client, text));
		assert_true(http_client_send(client, text));
		http_client_cork(client, false);
		assert_true(http_client_read(client, false, &answer));
		assert_true(http_client_read(client, false, &answer));
		assert_string_equal(answer.body, "one");
	}
	http_client_free(client);
	stop(&f);
}

static void a_large_answer_over_tls_arrives_whole(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct server_config config = long_config;
	config.max_body = 65000;
	struct http_answer answer;
	start_tls(&f, &config);
	struct http_client *client = http_client_connect_tls(f.port, 0);
	http_client_ask(client, "POST /echo", "", (struct view){large, 65000}, &answer);
	assert_int_equal(answer.body_len, 65000);
	http_client_free(client);
	stop(&f);
}

static void a_new_certificate_is_for_new_connections(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct http_answer answer;
	start_tls(&f, &long_config);
	struct http_client *old = http_client_connect_tls(f.port, 0);
	assert_string_equal(http_client_server_name(old), "first");
	atomic_store(&f.swap_requested, f.identity);
	for (int i = 0; i < 30000 && atomic_load(&f.swap_requested); i++)
		poll(NULL, 0, 1);
	struct http_client *new = http_client_connect_tls(f.port, 0);
	assert_string_equal(http_client_server_name(new), "second");
	http_client_ask(old, "POST /echo", "", VIEW("old"), &answer);
	assert_string_equal(answer.body, "old");
	http_client_ask(new, "POST /echo", "", VIEW("new"), &answer);
	assert_string_equal(answer.body, "new");
	http_client_free(old);
	http_client_free(new);
	stop(&f);
}

static void a_handshake_has_a_deadline(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct server_config config = long_config;
	config.handshake_timeout_ms = SHORT_MS;
	start_tls(&f, &config);
	struct http_client *client = http_client_connect(f.port);
	assert_true(http_client_is_closed(client));
	await(&f.handshake_failed, 1);
	await(&f.timed_out, 1);
	http_client_free(client);
	/* What is no TLS at all is over at once. */
	client = http_client_connect(f.port);
	assert_true(http_client_send(client, VIEW("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
	await(&f.handshake_failed, 2);
	await(&f.open, 0);
	http_client_free(client);
	stop(&f);
}

static void without_a_certificate_connections_are_closed(void **state)
{
	(void)state;
	struct fixture f = {0};
	struct error err;
	struct server_config config = long_config;
	assert_int_equal(tls_identity_new((struct view){0}, (struct view){0}, &f.identity, &err), 0);
	config.tls = f.identity;
	start(&f, &config);
	assert_null(http_client_connect_tls(f.port, 0));
	await(&f.handshake_failed, 1);
	await(&f.open, 0);
	stop(&f);
}

static atomic_uint n_sessions;

static void count_session(void *session, void *slot, CRYPTO_EX_DATA *data, int index, long n,
			  void *pointer)
{
	(void)session, (void)slot, (void)data, (void)index, (void)n, (void)pointer;
	atomic_fetch_add(&n_sessions, 1);
}

static void tls_begins_with_the_first_byte_of_the_client(void **state)
{
	(void)state;
	struct fixture f = {0};
	start_tls(&f, &long_config);
	assert_true(CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, NULL, count_session, NULL, NULL) >=
		    0);
	struct http_client *client = http_client_connect(f.port);
	await(&f.accepted, 1);
	assert_int_equal(atomic_load(&n_sessions), 0);
	assert_true(http_client_send(client, VIEW("no TLS, but a byte")));
	await(&f.handshake_failed, 1);
	assert_int_equal(atomic_load(&n_sessions), 1);
	http_client_free(client);
	stop(&f);
}

static int ignore_sigpipe(void **state)
{
	(void)state;
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -1 : 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_kept_connection_serves_one_request_after_the_other),
	cmocka_unit_test(pipelined_requests_are_answered_in_order_however_they_are_cut),
	cmocka_unit_test(a_thousand_pipelined_requests_get_a_thousand_answers),
	cmocka_unit_test(a_malformed_head_is_answered_and_the_connection_closed),
	cmocka_unit_test(a_body_over_the_limit_is_refused_by_its_length),
	cmocka_unit_test(who_waits_for_100_continue_gets_it_or_a_refusal),
	cmocka_unit_test(a_refusal_keeps_the_connection_if_the_body_is_here_already),
	cmocka_unit_test(what_comes_behind_a_large_body_is_not_lost_with_it),
	cmocka_unit_test(an_answer_to_head_has_no_body),
	cmocka_unit_test(bytes_that_trickle_do_not_prolong_a_deadline),
	cmocka_unit_test(silence_ends_a_connection_in_every_phase),
	cmocka_unit_test(a_client_that_does_not_read_is_left),
	cmocka_unit_test(an_answer_larger_than_the_socket_takes_arrives_whole),
	cmocka_unit_test(what_answers_share_comes_before_their_own),
	cmocka_unit_test(what_is_shared_and_large_arrives_whole),
	cmocka_unit_test(what_is_shared_is_released_when_its_reader_goes),
	cmocka_unit_test(what_is_shared_is_encrypted_as_the_rest),
	cmocka_unit_test(the_connection_idle_for_longest_makes_room),
	cmocka_unit_test(connections_beyond_a_limit_are_closed_when_none_is_idle),
	cmocka_unit_test(silent_strangers_of_many_addresses_keep_no_honest_client_out),
	cmocka_unit_test(strangers_of_one_address_push_out_each_other_only),
	cmocka_unit_test(strangers_come_and_go_while_requests_are_decided),
	cmocka_unit_test(a_client_that_leaves_before_the_answer_does_no_harm),
	cmocka_unit_test(requests_under_way_end_with_the_server),
	cmocka_unit_test(the_end_of_each_body_that_was_let_in_is_told_once),
	cmocka_unit_test(without_descriptors_it_pauses_and_goes_on),
	cmocka_unit_test(addresses_are_checked),
	cmocka_unit_test(a_port_in_use_is_an_error_that_may_pass),
	cmocka_unit_test(tls_1_3_is_spoken_and_nothing_older),
	cmocka_unit_test(keys_are_exchanged_by_x25519_and_p_256_only),
	cmocka_unit_test(ciphers_with_short_tags_or_none_are_not_spoken),
	cmocka_unit_test(a_client_may_ask_for_a_server_of_any_name),
	cmocka_unit_test(pipelined_requests_in_one_tls_record_are_all_answered),
	cmocka_unit_test(a_tls_record_that_was_read_ahead_is_not_forgotten),
	cmocka_unit_test(a_large_answer_over_tls_arrives_whole),
	cmocka_unit_test(a_new_certificate_is_for_new_connections),
	cmocka_unit_test(a_handshake_has_a_deadline),
	cmocka_unit_test(without_a_certificate_connections_are_closed),
	cmocka_unit_test(tls_begins_with_the_first_byte_of_the_client),
};
TEST_MAIN_WITH(tests, ignore_sigpipe, NULL)
