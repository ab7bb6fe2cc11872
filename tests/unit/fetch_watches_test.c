/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the kernel tells of a socket is tried with a pair of sockets, what libcurl does with its
 * connections by requests to servers.
 */

#include "lib/test_main.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/fetch_watches.h"
#include "lib/failing_malloc.h"
#include "lib/h2_server.h"
#include "lib/script_server.h"

static struct error err;

/* A socket that is watched, and the peer's end of it. */
struct pair {
	struct loop *loop;
	struct fetch_watches watches;
	struct fetch_watch *watch;
	int fd, peer;
	unsigned n_told;
};

static void saw_end(void *owner)
{
	struct pair *pair = owner;
	pair->n_told++;
}

static void stop(void *owner)
{
	loop_stop(owner);
}

/* Lets the loop do all that is ready: what is for later comes last. */
static void turn(struct loop *loop)
{
	struct loop_timer *timer;
	assert_int_equal(loop_timer_new(loop, stop, loop, &timer, &err), 0);
	for (int i = 0; i < 3; i++) {
		loop_timer_set(timer, 0);
		assert_int_equal(loop_run(loop, &err), 0);
	}
	loop_timer_free(timer);
}

static void set_up_pair(struct pair *pair)
{
	int fds[2];
	*pair = (struct pair){0};
	assert_int_equal(loop_new(&pair->loop, &err), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pair->fd = fds[0];
	pair->peer = fds[1];
	fetch_watches_init(&pair->watches, pair->loop);
	assert_int_equal(fetch_watches_add(&pair->watches, pair->fd, saw_end, pair, &pair->watch, &err), 0);
}

static void close_peer(struct pair *pair)
{
	close(pair->peer);
	pair->peer = -1;
}

static void tear_down_pair(struct pair *pair)
{
	fetch_watches_remove(pair->watch);
	assert_int_equal(pair->watches.n, 0);
	loop_free(pair->loop);
	close(pair->fd);
	if (pair->peer >= 0)
		close(pair->peer);
}

TEST(what_arrives_is_not_the_end_and_an_end_behind_it_is_told_once)
{
	struct pair pair;
	set_up_pair(&pair);
	assert_int_equal(write(pair.peer, "a frame", 7), 7);
	turn(pair.loop);
	assert_int_equal(pair.n_told, 0);
	assert_int_equal(write(pair.peer, "another", 7), 7);
	close_peer(&pair);
	turn(pair.loop);
	assert_int_equal(pair.n_told, 1);
	turn(pair.loop);
	assert_int_equal(pair.n_told, 1);
	tear_down_pair(&pair);
}

TEST(a_peer_that_had_closed_before_it_was_watched_is_told)
{
	struct pair pair;
	set_up_pair(&pair);
	fetch_watches_remove(TAKE(pair.watch));
	close_peer(&pair);
	assert_int_equal(fetch_watches_add(&pair.watches, pair.fd, saw_end, &pair, &pair.watch, &err), 0);
	turn(pair.loop);
	assert_int_equal(pair.n_told, 1);
	tear_down_pair(&pair);
}

TEST(a_socket_that_is_used_again_is_watched_no_more)
{
	struct pair pair;
	set_up_pair(&pair);
	fetch_watches_used(&pair.watches, pair.fd);
	close_peer(&pair);
	turn(pair.loop);
	assert_int_equal(pair.n_told, 0);
	tear_down_pair(&pair);
}

TEST(a_watch_ends_with_its_owner)
{
	struct pair pair;
	set_up_pair(&pair);
	close_peer(&pair);
	fetch_watches_remove(TAKE(pair.watch));
	turn(pair.loop);
	assert_int_equal(pair.n_told, 0);
	tear_down_pair(&pair);
}

TEST(a_socket_that_we_close_is_told_if_the_peer_had_closed_it_first)
{
	for (int peer_was_first = 0; peer_was_first < 2; peer_was_first++) {
		struct pair pair;
		set_up_pair(&pair);
		if (peer_was_first)
			close_peer(&pair);
		fetch_watches_closing(&pair.watches, pair.fd);
		assert_int_equal(pair.n_told, 0);
		turn(pair.loop);
		assert_int_equal(pair.n_told, peer_was_first);
		tear_down_pair(&pair);
	}
}

TEST(there_are_no_more_watches_than_the_limit)
{
	struct fetch_watch *others[LIMIT_FETCH_WATCHES - 1], *none = NULL;
	struct pair pair;
	set_up_pair(&pair);
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(fetch_watches_add(&pair.watches, pair.fd, saw_end, &pair, &others[i], &err), 0);
	assert_int_equal(fetch_watches_add(&pair.watches, pair.fd, saw_end, &pair, &none, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_null(none);
	/* All are of one socket, so all but the last are over. */
	close_peer(&pair);
	turn(pair.loop);
	assert_int_equal(pair.n_told, 1);
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
		fetch_watches_remove(others[i]);
	tear_down_pair(&pair);
}

TEST(without_memory_nothing_is_watched)
{
	struct fetch_watch *none = NULL;
	struct pair pair;
	set_up_pair(&pair);
	failing_malloc_at(1);
	int result = fetch_watches_add(&pair.watches, pair.fd, saw_end, &pair, &none, &err);
	assert_true(failing_malloc_off());
	assert_int_equal(result, -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_int_equal(pair.watches.n, 1);
	tear_down_pair(&pair);
}

/* A client that watches the connection of each answer, and a server. */

struct client {
	struct loop *loop;
	struct fetcher *fetcher;
	struct script_server *script;
	struct h2_server *h2;
	struct fetch_request request;
	struct fetch *fetch;
	struct fetch_watch *watch;
	bool was_new, stops_at_end, is_shared;
	int watch_result;
	unsigned n_told;
	struct h2_stream *held; /* the request for /held, whose answer has not ended */
};

/* How the connection is made. */
struct way {
	enum fetch_protocol protocol;
	bool is_tls;
};

static const struct way ways[] = {
	{FETCH_HTTP1, false},
	{FETCH_HTTP1, true},
	{FETCH_HTTP2, true},
	{FETCH_HTTP2_PRIOR_KNOWLEDGE, false},
};

static const struct script_route http1_routes[] = {
	{"GET /", {.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")}},
};

/* SETTINGS, and HEADERS of stream 1 with :status 200 and END_STREAM. */
static const struct script_answer http2_answers[] = {
	{.bytes = VIEW_INIT("\0\0\0\4\0\0\0\0\0"
			    "\0\0\1\1\5\0\0\0\1\x88")},
};

static void answer(void *owner, struct h2_stream *stream, const char *path)
{
	struct client *client = owner;
	h2_stream_head(stream, 200, "text/plain", 0);
	if (strcmp(path, "/held") == 0)
		client->held = stream;
	else
		h2_stream_end(stream);
}

static void forget(void *owner, struct h2_stream *stream)
{
	(void)owner, (void)stream;
}

static void saw_connection_end(void *owner)
{
	struct client *client = owner;
	client->n_told++;
	if (client->stops_at_end)
		loop_stop(client->loop);
}

static int saw_body(void *owner, struct view bytes, struct error *body_err)
{
	(void)owner, (void)bytes, (void)body_err;
	return 0;
}

static void saw_done(void *owner, const struct fetch_result *result)
{
	struct client *client = owner;
	assert_false(result->failed);
	assert_int_equal(result->status, 200);
	client->was_new = result->is_new_connection;
	fetch_watch_free(TAKE(client->watch));
	client->watch_result = fetch_watch_new(client->fetch, saw_connection_end, client, &client->watch, &err);
	loop_stop(client->loop);
}

static void open_server(struct client *client, const struct way *way)
{
	const struct h2_server_config tls = {
		.max_streams = 10,
		.is_http1_only = way->protocol == FETCH_HTTP1,
		.owner = client,
		.asked = answer,
		.gone = forget,
	};
	const struct script_server_config clear = {
		.http2 = way->protocol != FETCH_HTTP1,
		.answers = http2_answers,
		.n_answers = ARRAY_SIZE(http2_answers),
		.routes = http1_routes,
		.n_routes = way->protocol == FETCH_HTTP1 ? ARRAY_SIZE(http1_routes) : 0,
	};
	if (way->is_tls)
		client->h2 = h2_server_new(client->loop, &tls);
	else
		client->script = script_server_new(client->loop, &clear);
}

static void set_up_client(struct client *client, const struct way *way)
{
	*client = (struct client){0};
	assert_int_equal(loop_new(&client->loop, &err), 0);
	assert_int_equal(fetcher_new(client->loop, &client->fetcher, &err), 0);
	open_server(client, way);
	client->request = (struct fetch_request){
		.method = "GET",
		.url = way->is_tls ? h2_server_url(client->h2) : script_server_url(client->script),
		.protocol = way->protocol,
	};
	if (way->is_tls)
		client->request.ca_pem = h2_server_ca(client->h2);
}

static void tear_down_client(struct client *client)
{
	fetch_watch_free(client->watch);
	fetcher_free(client->fetcher);
	h2_server_free(client->h2);
	script_server_free(client->script);
	loop_free(client->loop);
}

static void ask(struct client *client)
{
	const struct fetch_handler handler = {.owner = client, .body = saw_body, .done = saw_done};
	assert_int_equal(fetch_start(client->fetcher, &client->request, &handler, &client->fetch, &err), 0);
	assert_int_equal(loop_run(client->loop, &err), 0);
	assert_int_equal(client->watch_result, client->request.fresh_connection || client->is_shared ? -1 : 0);
}

static void cut(struct client *client)
{
	if (client->h2)
		h2_server_cut(client->h2);
	else
		script_server_hang_up(client->script);
}

TEST(the_end_of_an_idle_connection_is_told_once_by_whatever_protocol)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct client client;
		set_up_client(&client, &ways[i]);
		ask(&client);
		assert_true(client.was_new);
		turn(client.loop);
		assert_int_equal(client.n_told, 0);
		cut(&client);
		client.stops_at_end = true;
		assert_int_equal(loop_run(client.loop, &err), 0);
		client.stops_at_end = false;
		turn(client.loop);
		assert_int_equal(client.n_told, 1);
		tear_down_client(&client);
	}
}

TEST(a_request_on_the_connection_ends_its_watch_and_the_next_one_can_be_watched)
{
	for (size_t i = 0; i < 3; i++) {
		struct client client;
		struct fetch_watch *first;
		set_up_client(&client, &ways[i]);
		ask(&client);
		first = TAKE(client.watch);
		ask(&client);
		assert_false(client.was_new);
		cut(&client);
		client.stops_at_end = true;
		assert_int_equal(loop_run(client.loop, &err), 0);
		turn(client.loop);
		assert_int_equal(client.n_told, 1);
		fetch_watch_free(first);
		tear_down_client(&client);
	}
}

TEST(after_its_end_the_next_request_makes_a_connection_of_its_own)
{
	struct client client;
	set_up_client(&client, &ways[1]);
	ask(&client);
	cut(&client);
	client.stops_at_end = true;
	assert_int_equal(loop_run(client.loop, &err), 0);
	ask(&client);
	assert_true(client.was_new);
	assert_int_equal(h2_server_connections(client.h2), 2);
	tear_down_client(&client);
}

TEST(a_connection_that_is_not_kept_cannot_be_watched)
{
	struct client client;
	set_up_client(&client, &ways[0]);
	client.request.fresh_connection = true;
	ask(&client);
	assert_int_equal(err.kind, ERROR_RETRY);
	assert_null(client.watch);
	tear_down_client(&client);
}

static void saw_other_head(void *owner, const struct fetch_result *head)
{
	struct client *client = owner;
	assert_int_equal(head->status, 200);
	loop_stop(client->loop);
}

static void saw_other_done(void *owner, const struct fetch_result *result)
{
	saw_other_head(owner, result);
}

TEST(a_connection_that_another_request_uses_cannot_be_watched)
{
	struct client client;
	struct fetch *other;
	char url[128];
	const struct fetch_handler handler = {&client, saw_other_head, saw_body, saw_other_done};
	set_up_client(&client, &ways[2]);
	const char *plain = client.request.url;
	snprintf(url, sizeof(url), "%s/held", plain);
	client.request.url = url;
	assert_int_equal(fetch_start(client.fetcher, &client.request, &handler, &other, &err), 0);
	assert_int_equal(loop_run(client.loop, &err), 0);
	client.request.url = plain;
	client.is_shared = true;
	ask(&client);
	assert_false(client.was_new);
	assert_int_equal(err.kind, ERROR_RETRY);
	assert_null(client.watch);
	/* The other request goes on, and the one after it can be watched again. */
	h2_stream_end(client.held);
	assert_int_equal(loop_run(client.loop, &err), 0);
	client.is_shared = false;
	ask(&client);
	assert_false(client.was_new);
	tear_down_client(&client);
}

#define N_SERVERS 6u

TEST(connections_to_many_servers_are_kept_though_one_request_runs_at_a_time)
{
	struct client client;
	struct script_server *servers[N_SERVERS];
	const struct script_server_config config = {.routes = http1_routes, .n_routes = 1};
	set_up_client(&client, &ways[0]);
	for (unsigned i = 0; i < 2 * N_SERVERS; i++) {
		if (i < N_SERVERS)
			servers[i] = script_server_new(client.loop, &config);
		client.request.url = script_server_url(servers[i % N_SERVERS]);
		ask(&client);
		assert_int_equal(client.was_new, i < N_SERVERS);
	}
	fetch_watch_free(TAKE(client.watch));
	fetcher_free(TAKE(client.fetcher));
	for (unsigned i = 0; i < N_SERVERS; i++)
		script_server_free(servers[i]);
	tear_down_client(&client);
}

static int ignore_sigpipe(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_arrives_is_not_the_end_and_an_end_behind_it_is_told_once),
	cmocka_unit_test(a_peer_that_had_closed_before_it_was_watched_is_told),
	cmocka_unit_test(a_socket_that_is_used_again_is_watched_no_more),
	cmocka_unit_test(a_watch_ends_with_its_owner),
	cmocka_unit_test(a_socket_that_we_close_is_told_if_the_peer_had_closed_it_first),
	cmocka_unit_test(there_are_no_more_watches_than_the_limit),
	cmocka_unit_test(without_memory_nothing_is_watched),
	cmocka_unit_test(the_end_of_an_idle_connection_is_told_once_by_whatever_protocol),
	cmocka_unit_test(a_request_on_the_connection_ends_its_watch_and_the_next_one_can_be_watched),
	cmocka_unit_test(after_its_end_the_next_request_makes_a_connection_of_its_own),
	cmocka_unit_test(a_connection_that_is_not_kept_cannot_be_watched),
	cmocka_unit_test(a_connection_that_another_request_uses_cannot_be_watched),
	cmocka_unit_test(connections_to_many_servers_are_kept_though_one_request_runs_at_a_time),
};
TEST_MAIN_WITH(tests, ignore_sigpipe, NULL)
