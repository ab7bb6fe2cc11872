/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sbuf.h"
#include "io/fetch.h"
#include "io/server.h"
#include "io/tls.h"
#include "lib/script_server.h"

static struct error err;

/* What a handler saw: "head 200 text/plain;body hello;done 200;". */
struct client {
	struct loop *loop;
	struct fetcher *fetcher;
	struct script_server *server;
	struct sbuf journal;
	struct fetch *fetch;
	struct fetch_result result; /* of the last done; its views are not to be used */
	unsigned n_expected;        /* the loop stops after so many done */
	bool refuse_body;
	bool cancel_in_body;
	const char *follow_up; /* URL of a request to start from body, once */
};

static void start(struct client *client, const struct fetch_request *request);

static void saw_head(void *owner, const struct fetch_result *head)
{
	struct client *client = owner;
	sbuf_printf(&client->journal, "head %d %.*s retry %u;", head->status,
		    VIEW_ARG(head->content_type), head->retry_after_ms);
}

static int saw_body(void *owner, struct view bytes, struct error *body_err)
{
	struct client *client = owner;
	sbuf_printf(&client->journal, "body %.*s;", VIEW_ARG(bytes));
	if (client->follow_up) {
		struct fetch_request request = {.method = "GET", .url = client->follow_up};
		client->follow_up = NULL;
		start(client, &request);
	}
	if (client->cancel_in_body) {
		fetch_cancel(client->fetch);
		loop_stop(client->loop);
	}
	if (client->refuse_body)
		return error_set(body_err, ERROR_LIMIT, 0, "enough of it");
	return 0;
}

static void saw_done(void *owner, const struct fetch_result *result)
{
	struct client *client = owner;
	client->result = *result;
	sbuf_printf(&client->journal, "done %d", result->status);
	if (result->grpc_status >= 0)
		sbuf_printf(&client->journal, " grpc %d %.*s", result->grpc_status,
			    VIEW_ARG(result->grpc_message));
	sbuf_printf(&client->journal, "%s;", result->failed ? " failed" : "");
	if (--client->n_expected == 0)
		loop_stop(client->loop);
}

static void start(struct client *client, const struct fetch_request *request)
{
	const struct fetch_handler handler = {client, saw_head, saw_body, saw_done};
	assert_int_equal(fetch_start(client->fetcher, request, &handler, &client->fetch, &err), 0);
	client->n_expected++;
}

static void run(struct client *client)
{
	assert_int_equal(loop_run(client->loop, &err), 0);
}

static void expect_journal(struct client *client, const char *expected)
{
	assert_string_equal(sbuf_text(&client->journal), expected);
	sbuf_clear(&client->journal);
}

static void new_client(struct client *client, const struct script_server_config *config)
{
	*client = (struct client){0};
	sbuf_init(&client->journal, 1 << 20);
	assert_int_equal(loop_new(&client->loop, &err), 0);
	assert_int_equal(fetcher_new(client->loop, &client->fetcher, &err), 0);
	client->server = script_server_new(client->loop, config);
}

static void free_client(struct client *client)
{
	fetcher_free(client->fetcher);
	script_server_free(client->server);
	loop_free(client->loop);
	sbuf_deinit(&client->journal);
}

#define SCRIPT(answers) (&(struct script_server_config){NULL, false, answers, ARRAY_SIZE(answers)})

static void get(struct client *client)
{
	start(client, &(struct fetch_request){.method = "GET",
					      .url = script_server_url(client->server)});
	run(client);
}

static void an_answer_arrives_as_head_body_and_done(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
				    "Content-Length: 5\r\n\r\nhello")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	expect_journal(&client, "head 200 text/plain retry 0;body hello;done 200;");
	free_client(&client);
}

static void a_body_is_handed_on_as_it_arrives(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
		 .later = VIEW_INIT("2\r\nde\r\n0\r\n\r\n")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	expect_journal(&client, "head 200  retry 0;body abc;body de;done 200;");
	free_client(&client);
}

static void statuses_and_retry_after_are_results_not_failures(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")},
		{.bytes = VIEW_INIT("HTTP/1.1 503 Down\r\nRetry-After: 999999999\r\n"
				    "Content-Length: 0\r\n\r\n")},
		{.bytes = VIEW_INIT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\n"
				    "Content-Length: 0\r\n\r\n")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	expect_journal(&client, "head 429  retry 7000;done 429;");
	get(&client);
	expect_journal(&client, "head 503  retry 3600000;done 503;");
	get(&client);
	expect_journal(&client, "head 404  retry 0;done 404;");
	assert_int_equal(script_server_connections(client.server), 1);
	free_client(&client);
}

static void a_redirect_is_never_followed(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
				    "Content-Length: 0\r\n\r\n")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	expect_journal(&client, "head 302  retry 0;done 302;");
	assert_int_equal(script_server_requests(client.server), 1);
	free_client(&client);
}

static void nothing_is_decompressed(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
				    "Content-Length: 3\r\n\r\nraw")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	expect_journal(&client, "head 200  retry 0;body raw;done 200;");
	assert_null(strstr(script_server_received(client.server), "Accept-Encoding"));
	free_client(&client);
}

static void proxies_of_the_environment_are_not_used(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
	};
	struct client client;
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	new_client(&client, SCRIPT(answers));
	get(&client);
	expect_journal(&client, "head 200  retry 0;done 200;");
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	free_client(&client);
}

static void a_request_carries_its_method_headers_and_body_and_nothing_unasked(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n")},
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
	};
	static const char *const headers[] = {"Content-Type: a/b", "Authorization: Bearer x",
					      "User-Agent: test", NULL};
	struct client client;
	new_client(&client, SCRIPT(answers));
	start(&client, &(struct fetch_request){.method = "PATCH",
					       .url = script_server_url(client.server),
					       .headers = headers,
					       .body = VIEW("{}")});
	run(&client);
	const char *sent = script_server_received(client.server);
	assert_non_null(strstr(sent, "PATCH / HTTP/1.1\r\n"));
	assert_non_null(strstr(sent, "Content-Type: a/b\r\n"));
	assert_non_null(strstr(sent, "Authorization: Bearer x\r\n"));
	assert_non_null(strstr(sent, "Content-Length: 2\r\n\r\n{}"));
	assert_null(strstr(sent, "Expect"));
	size_t first = strlen(sent);
	start(&client, &(struct fetch_request){.method = "POST",
					       .url = script_server_url(client.server)});
	run(&client);
	sent = script_server_received(client.server) + first;
	assert_non_null(strstr(sent, "Content-Length: 0\r\n"));
	assert_null(strstr(sent, "Content-Type"));
	free_client(&client);
}

static void a_connection_is_kept_unless_a_fresh_one_is_asked_for(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	get(&client);
	assert_int_equal(script_server_connections(client.server), 1);
	start(&client, &(struct fetch_request){.method = "GET",
					       .url = script_server_url(client.server),
					       .fresh_connection = true});
	run(&client);
	assert_int_equal(script_server_connections(client.server), 2);
	free_client(&client);
}

/* Our end of the only connection to a server. */
static int find_socket(const struct script_server *server)
{
	int port = atoi(strrchr(script_server_url(server), ':') + 1);
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in peer;
		socklen_t size = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)(void *)&peer, &size) == 0 &&
		    peer.sin_family == AF_INET && ntohs(peer.sin_port) == port)
			return fd;
	}
	fail_msg("no connection to the server");
	return -1;
}

static int socket_option(int fd, int level, int name)
{
	int value = 0;
	socklen_t size = sizeof(value);
	assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

/* While nothing is sent by keep-alive, and while something is not acknowledged by the time-out. */
static void regress_13_a_peer_that_is_gone_without_a_word_is_noticed_within_30_s(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	int fd = find_socket(client.server);
	assert_int_equal(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	int idle_s = socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE);
	int probes_s = socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
		       socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT);
	assert_in_range(idle_s + probes_s, 5, 30);
	assert_in_range(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 5000, 30000);
	free_client(&client);
}

static void a_cut_answer_fails_for_another_try(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"), .close = true},
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
		 .close = true},
		{.bytes = VIEW_INIT("HTTP/1.1 200 O"), .reset = true},
		{.bytes = VIEW_INIT("SSH-2.0-x\r\n"), .close = true},
	};
	static const char *const expected[] = {
		"head 200  retry 0;body hel;done 200 failed;",
		"head 200  retry 0;body abc;done 200 failed;",
		NULL,
		"done 0 failed;",
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		get(&client);
		if (expected[i])
			expect_journal(&client, expected[i]);
		sbuf_clear(&client.journal);
		assert_true(client.result.failed);
		assert_int_equal(client.result.error.kind, ERROR_RETRY);
		assert_true(client.result.error.text[0] != '\0');
	}
	free_client(&client);
}

static void a_head_without_end_is_given_up(void **state)
{
	(void)state;
	struct sbuf head;
	sbuf_init(&head, 1 << 20);
	sbuf_printf(&head, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 3000; i++)
		sbuf_printf(&head, "X-Header-%d: some text of middling length\r\n", i);
	struct script_answer answers[] = {{.bytes = sbuf_view(&head)}};
	struct client client;
	new_client(&client, SCRIPT(answers));
	get(&client);
	expect_journal(&client, "done 200 failed;");
	assert_int_equal(client.result.error.kind, ERROR_LIMIT);
	free_client(&client);
	sbuf_deinit(&head);
}

static void the_bodys_reader_can_end_the_request_with_its_own_error(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhel")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	client.refuse_body = true;
	get(&client);
	expect_journal(&client, "head 200  retry 0;body hel;done 200 failed;");
	assert_int_equal(client.result.error.kind, ERROR_LIMIT);
	assert_string_equal(client.result.error.text, "enough of it");
	free_client(&client);
}

static void a_request_can_be_cancelled_from_its_own_body_handler(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhel")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	client.cancel_in_body = true;
	get(&client);
	expect_journal(&client, "head 200  retry 0;body hel;");
	free_client(&client);
}

static void a_request_can_be_started_from_a_body_handler(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")},
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	client.follow_up = script_server_url(client.server);
	get(&client);
	expect_journal(&client, "head 200  retry 0;body a;done 200;"
				"head 200  retry 0;body b;done 200;");
	free_client(&client);
}

static void cancelling_calls_nobody_back(void **state)
{
	(void)state;
	struct client client;
	new_client(&client, &(struct script_server_config){0});
	start(&client, &(struct fetch_request){.method = "GET",
					       .url = script_server_url(client.server)});
	fetch_cancel(client.fetch);
	fetch_cancel(NULL);
	loop_stop(client.loop);
	run(&client);
	expect_journal(&client, "");
	free_client(&client);
}

static void freeing_the_fetcher_ends_requests_without_calling_back(void **state)
{
	(void)state;
	struct client client;
	new_client(&client, &(struct script_server_config){0});
	for (int i = 0; i < 3; i++)
		start(&client, &(struct fetch_request){.method = "GET",
						       .idle_timeout_ms = 1000,
						       .url = script_server_url(client.server)});
	free_client(&client);
}

static void silence_ends_a_request(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	start(&client, &(struct fetch_request){.method = "GET",
					       .idle_timeout_ms = 300,
					       .url = script_server_url(client.server)});
	run(&client);
	expect_journal(&client, "head 200  retry 0;body hel;done 200 failed;");
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	assert_non_null(strstr(client.result.error.text, "no data"));
	start(&client, &(struct fetch_request){.method = "GET",
					       .total_timeout_ms = 20,
					       .url = script_server_url(client.server)});
	run(&client);
	expect_journal(&client, "done 0 failed;");
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	free_client(&client);
}

static void a_request_whose_time_is_over_is_not_sent(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
	};
	struct client client;
	new_client(&client, SCRIPT(answers));
	const struct fetch_request request = {
		.method = "PUT", .total_timeout_ms = 50, .url = script_server_url(client.server)};
	start(&client, &request);
	poll(NULL, 0, 60); /* the process stands still */
	run(&client);
	expect_journal(&client, "done 0 failed;");
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	assert_int_equal(script_server_requests(client.server), 0);
	free_client(&client);
}

static void a_server_that_never_speaks_tls_runs_into_the_connect_deadline(void **state)
{
	(void)state;
	struct client client;
	struct sbuf url;
	new_client(&client, &(struct script_server_config){0});
	sbuf_init(&url, 100);
	sbuf_printf(&url, "https%s", script_server_url(client.server) + strlen("http"));
	start(&client, &(struct fetch_request){.method = "GET",
					       .connect_timeout_ms = 20,
					       .url = sbuf_text(&url)});
	run(&client);
	expect_journal(&client, "done 0 failed;");
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	sbuf_deinit(&url);
	free_client(&client);
}

static void a_refused_connection_is_worth_another_try(void **state)
{
	(void)state;
	struct client client;
	new_client(&client, &(struct script_server_config){0});
	start(&client, &(struct fetch_request){.method = "GET", .url = "http://127.0.0.1:1/"});
	run(&client);
	expect_journal(&client, "done 0 failed;");
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	free_client(&client);
}

static void unusable_requests_are_refused_at_once(void **state)
{
	(void)state;
	static const char *const split[] = {"A: b\r\nC: d", NULL};
	static const struct fetch_request requests[] = {
		{.method = "GET", .url = ""},
		{.method = "GET", .url = "http://a b/"},
		{.method = "GET", .url = "file:///etc/hostname"},
		{.method = "GET", .url = "a/b"},
		{.method = "GET", .url = "http://a/\r\nx"},
		{.method = "GET\n", .url = "http://a/"},
		{.method = "", .url = "http://a/"},
		{.method = "GET", .url = "http://a/", .headers = split},
		{.method = "GET", .url = "https://a/", .server_name = "not a name"},
		{.method = "GET", .url = "https://a/", .connect_to = "10.0.0.1\r\nx"},
	};
	struct client client;
	const struct fetch_handler handler = {&client, saw_head, saw_body, saw_done};
	new_client(&client, &(struct script_server_config){0});
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		assert_int_equal(fetch_start(client.fetcher, &requests[i], &handler, &client.fetch,
					     &err),
				 -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_null(client.fetch);
	}
	free_client(&client);
}

/*
 * The name server of these tests is silent: a lookup ends when the test lets it, or after a minute,
 * which is far longer than a test lasts. libcurl calls this one, from threads.
 */
static sem_t lookups_begun, lookups_ended, lookups_may_end;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	(void)name;
	(void)service;
	(void)hints;
	(void)ret;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	sem_post(&lookups_begun);
	sem_timedwait(&lookups_may_end, &until);
	sem_post(&lookups_ended);
	return EAI_AGAIN;
}

static int count(sem_t *semaphore)
{
	int n;
	assert_int_equal(sem_getvalue(semaphore, &n), 0);
	return n;
}

static void begin_silence(void)
{
	sem_init(&lookups_begun, 0, 0);
	sem_init(&lookups_ended, 0, 0);
	sem_init(&lookups_may_end, 0, 0);
}

static void end_silence(void)
{
	int n = count(&lookups_begun);
	for (int i = 0; i < n; i++)
		sem_post(&lookups_may_end);
	for (int i = 0; i < n; i++)
		sem_wait(&lookups_ended);
}

static void start_lookup(struct client *client, unsigned connect_timeout_ms)
{
	start(client, &(struct fetch_request){.method = "GET",
					      .url = "http://nobody.test/",
					      .connect_timeout_ms = connect_timeout_ms});
}

/* A loop timer that stops the loop as soon as so many lookups have begun. */
struct beginning {
	struct loop *loop;
	struct loop_timer *timer;
	int n_expected;
};

static void look_for_beginning(void *owner)
{
	struct beginning *beginning = owner;
	if (count(&lookups_begun) >= beginning->n_expected)
		loop_stop(beginning->loop);
	else
		loop_timer_set(beginning->timer, 1);
}

/* Each lookup has a thread of its own, which a busy machine may start late. */
static void run_until_begun(struct client *client, int n)
{
	struct beginning beginning = {.loop = client->loop, .n_expected = n};
	assert_int_equal(loop_timer_new(client->loop, look_for_beginning, &beginning,
					&beginning.timer, &err),
			 0);
	loop_timer_set(beginning.timer, 1);
	run(client);
	loop_timer_free(beginning.timer);
	assert_int_equal(count(&lookups_begun), n);
}

/* Sixteen lookups begin; then nobody waits for them any longer. */
static void leave_lookups_behind(struct client *client)
{
	struct fetch *fetches[16];
	for (size_t i = 0; i < ARRAY_SIZE(fetches); i++) {
		start_lookup(client, 60000);
		fetches[i] = client->fetch;
	}
	run_until_begun(client, ARRAY_SIZE(fetches));
	for (size_t i = 0; i < ARRAY_SIZE(fetches); i++)
		fetch_cancel(fetches[i]);
	client->n_expected = 0;
}

static void a_request_does_not_outlive_its_deadline_for_a_silent_name_server(void **state)
{
	(void)state;
	struct client client;
	begin_silence();
	new_client(&client, &(struct script_server_config){0});
	start_lookup(&client, 2000);
	run(&client);
	expect_journal(&client, "done 0 failed;");
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	assert_int_equal(sem_wait(&lookups_begun), 0); /* its thread may be late */
	sem_post(&lookups_begun);
	assert_int_equal(count(&lookups_ended), 0);
	end_silence();
	free_client(&client);
}

static void the_end_of_the_fetcher_does_not_wait_for_a_silent_name_server(void **state)
{
	(void)state;
	struct client client;
	begin_silence();
	new_client(&client, &(struct script_server_config){0});
	start_lookup(&client, 60000);
	run_until_begun(&client, 1);
	expect_journal(&client, "");
	free_client(&client);
	assert_int_equal(count(&lookups_ended), 0);
	end_silence();
}

static void lookups_that_were_left_behind_are_bounded(void **state)
{
	(void)state;
	struct client client;
	begin_silence();
	new_client(&client, &(struct script_server_config){0});
	leave_lookups_behind(&client);
	start_lookup(&client, 60000);
	run(&client);
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	assert_non_null(strstr(client.result.error.text, "no name server answers"));
	assert_int_equal(count(&lookups_begun), 16);
	assert_int_equal(count(&lookups_ended), 0);
	end_silence();
	free_client(&client);
}

static void a_name_that_does_not_exist_is_looked_up_as_often_as_wanted(void **state)
{
	(void)state;
	struct client client;
	begin_silence();
	new_client(&client, &(struct script_server_config){0});
	for (int i = 0; i < 20; i++) {
		sem_post(&lookups_may_end);
		start(&client, &(struct fetch_request){.method = "GET",
						       .url = "http://nobody.test/"});
		run(&client);
		assert_int_equal(client.result.error.kind, ERROR_RETRY);
	}
	assert_int_equal(count(&lookups_begun), 20);
	free_client(&client);
}

static void a_request_to_an_address_asks_no_name_server_even_when_no_other_may(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
	};
	struct client client;
	char url[96], host[64];
	begin_silence();
	new_client(&client, SCRIPT(answers));
	leave_lookups_behind(&client);
	snprintf(host, sizeof(host), "nobody.test%s", strrchr(script_server_url(client.server), ':'));
	snprintf(url, sizeof(url), "http://%s/", host);
	start(&client,
	      &(struct fetch_request){.method = "GET", .url = url, .connect_to = "127.0.0.1"});
	run(&client);
	assert_int_equal(client.result.status, 200);
	assert_non_null(strstr(script_server_received(client.server), host));
	assert_int_equal(count(&lookups_begun), 16);
	end_silence();
	free_client(&client);
}

/* SETTINGS; HEADERS of stream 1; DATA; HEADERS with END_STREAM, HPACK without Huffman. */
#define H2_SETTINGS "\0\0\0\4\0\0\0\0\0"
#define H2_HEAD "\0\0\24\1\4\0\0\0\1\x88\x0f\x10\x10" "application/grpc"
#define H2_DATA "\0\0\7\0\0\0\0\0\1" "\0\0\0\0\2hi"
#define H2_TRAILERS_OK "\0\0\17\1\5\0\0\0\1\0\x0bgrpc-status\1" "0"
#define H2_TRAILERS_BAD                                                       \
	"\0\0\x22\1\5\0\0\0\1\0\x0bgrpc-status\1" "8\0\x0cgrpc-message\4" "full"

static void grpc_over_a_unix_socket_delivers_its_trailers(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT(H2_SETTINGS H2_HEAD H2_DATA H2_TRAILERS_OK)},
		{.bytes = VIEW_INIT(H2_SETTINGS H2_HEAD), .later = VIEW_INIT(H2_TRAILERS_BAD)},
	};
	static const char *const headers[] = {"Content-Type: application/grpc", "TE: trailers",
					      NULL};
	char path[] = "/tmp/fetch_test.XXXXXX";
	assert_non_null(mkdtemp(path));
	struct sbuf socket_path;
	sbuf_init(&socket_path, 100);
	sbuf_printf(&socket_path, "%s/socket", path);
	const struct script_server_config config = {sbuf_text(&socket_path), true, answers,
						    ARRAY_SIZE(answers)};
	struct client client;
	new_client(&client, &config);
	struct fetch_request request = {.method = "POST",
					.url = "http://localhost/v1.PodResourcesLister/List",
					.unix_socket = sbuf_text(&socket_path),
					.headers = headers,
					.body = VIEW("\0\0\0\0\0"),
					.protocol = FETCH_HTTP2_PRIOR_KNOWLEDGE,
					.fresh_connection = true};
	start(&client, &request);
	run(&client);
	assert_int_equal(client.result.grpc_status, 0);
	assert_false(client.result.failed);
	sbuf_clear(&client.journal);
	start(&client, &request);
	run(&client);
	expect_journal(&client, "head 200 application/grpc retry 0;done 200 grpc 8 full;");
	free_client(&client);
	sbuf_deinit(&socket_path);
	rmdir(path);
}

static void a_missing_unix_socket_is_worth_another_try(void **state)
{
	(void)state;
	struct client client;
	new_client(&client, &(struct script_server_config){0});
	start(&client, &(struct fetch_request){.method = "GET",
					       .url = "http://localhost/",
					       .unix_socket = "/nonexistent/socket"});
	run(&client);
	assert_int_equal(client.result.error.kind, ERROR_RETRY);
	free_client(&client);
}

/* TLS. */

/* A server whose certificate is for one name or one address only, and the authority behind it. */
struct tls_world {
	struct client client;
	struct server *server;
	struct tls_identity *identity;
	struct sbuf ca_cert, ca_key, other_ca_cert, other_ca_key, url;
};

static void saw_request_head(void *owner, struct server_request *request,
			     const struct server_head *request_head)
{
	(void)owner;
	(void)request_head;
	server_answer(request, &(struct server_answer){.status = 200, .body = VIEW("hi")});
}

static void make_authority(struct sbuf *cert, struct sbuf *key)
{
	sbuf_init(cert, 1 << 16);
	sbuf_init(key, 1 << 16);
	const struct tls_certificate_request request = {
		.common_name = "ca", .now = clock_wall_ms() / 1000, .lifetime_s = 3600};
	assert_int_equal(tls_make_certificate(&request, cert, key, &err), 0);
}

static struct server *serve_at(struct tls_world *world, const char *address)
{
	struct server *server;
	const struct server_config config = {
		.address = address,
		.tls = world->identity,
		.max_body = 100,
		.max_connections = 10,
		.max_connections_per_address = 10,
		.handshake_timeout_ms = 5000,
		.head_timeout_ms = 5000,
		.body_timeout_ms = 5000,
		.write_timeout_ms = 5000,
		.idle_timeout_ms = 5000,
	};
	const struct server_handler handler = {NULL, saw_request_head, NULL};
	assert_int_equal(server_new(world->client.loop, &config, &handler, &server, &err), 0);
	return server;
}

/* The certificate was made that long ago, for an hour. */
static void begin_old_tls_world(struct tls_world *world, const char *dns_name, const char *address,
				int64_t age_s)
{
	const char *const names[] = {dns_name, NULL}, *const addresses[] = {address, NULL};
	struct sbuf cert, key;
	*world = (struct tls_world){0};
	new_client(&world->client, &(struct script_server_config){0});
	make_authority(&world->ca_cert, &world->ca_key);
	make_authority(&world->other_ca_cert, &world->other_ca_key);
	sbuf_init(&cert, 1 << 16);
	sbuf_init(&key, 1 << 16);
	const struct tls_certificate_request request = {
		.common_name = "server",
		.dns_names = names,
		.addresses = addresses,
		.now = clock_wall_ms() / 1000 - age_s,
		.lifetime_s = 3600,
		.issuer_cert_pem = sbuf_view(&world->ca_cert),
		.issuer_key_pem = sbuf_view(&world->ca_key),
	};
	assert_int_equal(tls_make_certificate(&request, &cert, &key, &err), 0);
	assert_int_equal(tls_identity_new(sbuf_view(&cert), sbuf_view(&key), &world->identity,
					  &err),
			 0);
	world->server = serve_at(world, "127.0.0.1:0");
	sbuf_init(&world->url, 100);
	sbuf_printf(&world->url, "https://127.0.0.1:%u/", (unsigned)server_port(world->server));
	sbuf_deinit(&cert);
	sbuf_deinit(&key);
}

static void begin_tls_world(struct tls_world *world, const char *dns_name, const char *address)
{
	begin_old_tls_world(world, dns_name, address, 0);
}

static void end_tls_world(struct tls_world *world)
{
	server_free(world->server);
	tls_identity_free(world->identity);
	free_client(&world->client);
	sbuf_deinit(&world->ca_cert);
	sbuf_deinit(&world->ca_key);
	sbuf_deinit(&world->other_ca_cert);
	sbuf_deinit(&world->other_ca_key);
	sbuf_deinit(&world->url);
}

/* Asks once; ERROR_NONE where the answer came. */
static void expect_outcome(struct tls_world *world, struct fetch_request request,
			   enum error_kind kind)
{
	request.method = "GET";
	request.url = sbuf_text(&world->url);
	start(&world->client, &request);
	run(&world->client);
	sbuf_clear(&world->client.journal);
	assert_int_equal(world->client.result.failed, kind != ERROR_NONE);
	assert_int_equal(world->client.result.error.kind, kind);
	assert_int_equal(world->client.result.status, kind == ERROR_NONE ? 200 : 0);
}

static void only_the_given_authority_is_believed(void **state)
{
	(void)state;
	struct tls_world world;
	begin_tls_world(&world, NULL, "127.0.0.1");
	expect_outcome(&world, (struct fetch_request){.ca_pem = sbuf_view(&world.ca_cert)},
		       ERROR_NONE);
	/* A kept connection does not serve somebody who believes another authority. */
	expect_outcome(&world, (struct fetch_request){.ca_pem = sbuf_view(&world.other_ca_cert)},
		       ERROR_DENIED);
	expect_outcome(&world, (struct fetch_request){0}, ERROR_DENIED);
	expect_outcome(&world, (struct fetch_request){.insecure = true}, ERROR_NONE);
	expect_outcome(&world, (struct fetch_request){.ca_pem = VIEW("garbage")}, ERROR_REJECTED);
	end_tls_world(&world);
}

/* Of an authority that is still good. */
static void a_certificate_that_has_ended_or_not_begun_is_not_believed(void **state)
{
	(void)state;
	static const struct {
		int64_t age_s;
		enum error_kind outcome;
	} rows[] = {{3000, ERROR_NONE}, {3601, ERROR_DENIED}, {-3000, ERROR_DENIED}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tls_world world;
		begin_old_tls_world(&world, NULL, "127.0.0.1", rows[i].age_s);
		expect_outcome(&world, (struct fetch_request){.ca_pem = sbuf_view(&world.ca_cert)},
			       rows[i].outcome);
		end_tls_world(&world);
	}
}

static void the_name_in_the_certificate_must_be_the_one_asked_for(void **state)
{
	(void)state;
	struct tls_world world;
	begin_tls_world(&world, "name.test", NULL);
	struct view ca = sbuf_view(&world.ca_cert);
	expect_outcome(&world, (struct fetch_request){.ca_pem = ca}, ERROR_DENIED);
	expect_outcome(&world, (struct fetch_request){.ca_pem = ca, .server_name = "name.test"},
		       ERROR_NONE);
	expect_outcome(&world, (struct fetch_request){.ca_pem = ca, .server_name = "other.test"},
		       ERROR_DENIED);
	assert_true(world.client.result.error.text[0] != '\0');
	end_tls_world(&world);
}

static void name_url(struct tls_world *world, const char *host)
{
	sbuf_clear(&world->url);
	sbuf_printf(&world->url, "https://%s:%u/", host, (unsigned)server_port(world->server));
}

static void at_an_address_the_name_of_the_url_or_the_given_one_is_verified(void **state)
{
	(void)state;
	struct tls_world world;
	begin_tls_world(&world, "name.test", NULL);
	const struct fetch_request plain = {.ca_pem = sbuf_view(&world.ca_cert),
					    .connect_to = "127.0.0.1"};
	struct fetch_request renamed = plain;
	name_url(&world, "name.test");
	expect_outcome(&world, plain, ERROR_NONE);
	renamed.server_name = "other.test";
	expect_outcome(&world, renamed, ERROR_DENIED);
	name_url(&world, "other.test");
	expect_outcome(&world, plain, ERROR_DENIED);
	renamed.server_name = "name.test";
	expect_outcome(&world, renamed, ERROR_NONE);
	/* The certificate is not for the address, which nobody asked about. */
	name_url(&world, "127.0.0.1");
	expect_outcome(&world, plain, ERROR_DENIED);
	end_tls_world(&world);
}

static void each_address_has_a_connection_of_its_own(void **state)
{
	(void)state;
	struct tls_world world;
	struct fetch_request first, second;
	char address[32];
	begin_tls_world(&world, "name.test", NULL);
	snprintf(address, sizeof(address), "127.0.0.2:%u", (unsigned)server_port(world.server));
	struct server *other = serve_at(&world, address);
	name_url(&world, "name.test");
	first = (struct fetch_request){.ca_pem = sbuf_view(&world.ca_cert), .connect_to = "127.0.0.1"};
	second = (struct fetch_request){.ca_pem = sbuf_view(&world.ca_cert), .connect_to = "127.0.0.2"};
	for (int i = 0; i < 3; i++) {
		expect_outcome(&world, first, ERROR_NONE);
		expect_outcome(&world, second, ERROR_NONE);
	}
	assert_int_equal(server_counters(world.server).accepted, 1);
	assert_int_equal(server_counters(other).accepted, 1);
	/* Gone, it does not lead to the other one. */
	server_free(other);
	expect_outcome(&world, second, ERROR_RETRY);
	expect_outcome(&world, first, ERROR_NONE);
	end_tls_world(&world);
}

static void an_unusable_client_certificate_fails_the_request(void **state)
{
	(void)state;
	struct tls_world world;
	begin_tls_world(&world, NULL, "127.0.0.1");
	expect_outcome(&world,
		       (struct fetch_request){.ca_pem = sbuf_view(&world.ca_cert),
					      .client_cert_pem = VIEW("garbage"),
					      .client_key_pem = VIEW("garbage")},
		       ERROR_REJECTED);
	expect_outcome(&world,
		       (struct fetch_request){.ca_pem = sbuf_view(&world.ca_cert),
					      .client_cert_pem = sbuf_view(&world.ca_cert),
					      .client_key_pem = sbuf_view(&world.other_ca_key)},
		       ERROR_REJECTED);
	expect_outcome(&world,
		       (struct fetch_request){.ca_pem = sbuf_view(&world.ca_cert),
					      .client_cert_pem = sbuf_view(&world.ca_cert),
					      .client_key_pem = sbuf_view(&world.ca_key)},
		       ERROR_NONE);
	end_tls_world(&world);
}

static int ignore_sigpipe(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

TEST(the_versions_name_libcurl_and_what_it_stands_on)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, FETCH_VERSIONS_CAP);
	fetch_versions(&text);
	const char *versions = sbuf_text(&text);
	assert_non_null(versions);
	assert_ptr_equal(strstr(versions, "libcurl/"), versions);
	assert_non_null(strstr(versions, " OpenSSL/"));
	assert_non_null(strstr(versions, " nghttp2/"));
#ifdef OWN_LIBCURL
	/* The one that is linked: its source has the version that it says of itself. */
	assert_int_equal(strncmp(versions + strlen("libcurl/"), OWN_LIBCURL,
				 strcspn(OWN_LIBCURL, "-+")), 0);
	assert_non_null(strstr(versions, OWN_LIBCURL));
	assert_null(strstr(versions, "GnuTLS"));
	assert_null(strstr(versions, "libssh2"));
#endif
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_versions_name_libcurl_and_what_it_stands_on),
	cmocka_unit_test(an_answer_arrives_as_head_body_and_done),
	cmocka_unit_test(a_body_is_handed_on_as_it_arrives),
	cmocka_unit_test(statuses_and_retry_after_are_results_not_failures),
	cmocka_unit_test(a_redirect_is_never_followed),
	cmocka_unit_test(nothing_is_decompressed),
	cmocka_unit_test(proxies_of_the_environment_are_not_used),
	cmocka_unit_test(a_request_carries_its_method_headers_and_body_and_nothing_unasked),
	cmocka_unit_test(a_connection_is_kept_unless_a_fresh_one_is_asked_for),
	cmocka_unit_test(regress_13_a_peer_that_is_gone_without_a_word_is_noticed_within_30_s),
	cmocka_unit_test(a_cut_answer_fails_for_another_try),
	cmocka_unit_test(a_head_without_end_is_given_up),
	cmocka_unit_test(the_bodys_reader_can_end_the_request_with_its_own_error),
	cmocka_unit_test(a_request_can_be_cancelled_from_its_own_body_handler),
	cmocka_unit_test(a_request_can_be_started_from_a_body_handler),
	cmocka_unit_test(cancelling_calls_nobody_back),
	cmocka_unit_test(freeing_the_fetcher_ends_requests_without_calling_back),
	cmocka_unit_test(silence_ends_a_request),
	cmocka_unit_test(a_request_whose_time_is_over_is_not_sent),
	cmocka_unit_test(a_server_that_never_speaks_tls_runs_into_the_connect_deadline),
	cmocka_unit_test(a_refused_connection_is_worth_another_try),
	cmocka_unit_test(unusable_requests_are_refused_at_once),
	cmocka_unit_test(a_request_does_not_outlive_its_deadline_for_a_silent_name_server),
	cmocka_unit_test(the_end_of_the_fetcher_does_not_wait_for_a_silent_name_server),
	cmocka_unit_test(lookups_that_were_left_behind_are_bounded),
	cmocka_unit_test(a_name_that_does_not_exist_is_looked_up_as_often_as_wanted),
	cmocka_unit_test(a_request_to_an_address_asks_no_name_server_even_when_no_other_may),
	cmocka_unit_test(grpc_over_a_unix_socket_delivers_its_trailers),
	cmocka_unit_test(a_missing_unix_socket_is_worth_another_try),
	cmocka_unit_test(only_the_given_authority_is_believed),
	cmocka_unit_test(a_certificate_that_has_ended_or_not_begun_is_not_believed),
	cmocka_unit_test(the_name_in_the_certificate_must_be_the_one_asked_for),
	cmocka_unit_test(at_an_address_the_name_of_the_url_or_the_given_one_is_verified),
	cmocka_unit_test(each_address_has_a_connection_of_its_own),
	cmocka_unit_test(an_unusable_client_certificate_fails_the_request),
};
TEST_MAIN_WITH(tests, ignore_sigpipe, NULL)
