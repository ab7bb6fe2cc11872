/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests while memory is short, libcurl's included. The server has a thread of its own, for which no
 * allocation fails.
 */

#include "lib/test_main.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/fetch.h"
#include "io/fetch_multi.h"
#include "lib/failing_malloc.h"

#define MAX_CLIENTS 64

static struct error err;

/* Answers whatever comes on each connection. */
struct server {
	pthread_t thread;
	atomic_bool ends;
	struct pollfd fds[1 + MAX_CLIENTS]; /* the listening socket first */
	nfds_t n;
	char url[64];
};

static void serve_client(struct server *server, nfds_t i)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	char request[4096];
	if (recv(server->fds[i].fd, request, sizeof(request), 0) > 0 &&
	    send(server->fds[i].fd, answer, sizeof(answer) - 1, 0) > 0)
		return;
	close(server->fds[i].fd);
	server->fds[i] = server->fds[--server->n];
}

static void *serve(void *owner)
{
	struct server *server = owner;
	while (!atomic_load(&server->ends)) {
		if (poll(server->fds, server->n, 20) <= 0)
			continue;
		for (nfds_t i = server->n - 1; i > 0; i--) {
			if (server->fds[i].revents)
				serve_client(server, i);
		}
		if (server->fds[0].revents && server->n < MAX_CLIENTS)
			server->fds[server->n++] = (struct pollfd){accept(server->fds[0].fd, NULL, NULL),
								   POLLIN, 0};
	}
	return NULL;
}

static void start_server(struct server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	*server = (struct server){.n = 1, .fds = {{fd, POLLIN, 0}}};
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop_server(struct server *server)
{
	atomic_store(&server->ends, true);
	pthread_join(server->thread, NULL);
	for (nfds_t i = 0; i < server->n; i++)
		close(server->fds[i].fd);
}

struct client {
	struct loop *loop;
	struct fetcher *fetcher;
	const char *url;
	unsigned n_under_way, n_done, n_good;
};

static int saw_body(void *owner, struct view bytes, struct error *body_err)
{
	(void)owner, (void)bytes, (void)body_err;
	return 0;
}

static void saw_done(void *owner, const struct fetch_result *result)
{
	struct client *client = owner;
	client->n_done++;
	client->n_good += !result->failed;
	if (--client->n_under_way == 0)
		loop_stop(client->loop);
}

static void ask(struct client *client)
{
	const struct fetch_handler handler = {.owner = client, .body = saw_body, .done = saw_done};
	const struct fetch_request request = {.method = "GET", .url = client->url,
					      .total_timeout_ms = 5000};
	struct fetch *fetch;
	client->n_under_way += fetch_start(client->fetcher, &request, &handler, &fetch, &err) == 0;
}

/* The handle that is made to fail, as one does for which there was no memory. */
static struct {
	bool fails_next;
	CURLM *failed;
	unsigned n_calls; /* of the failed one, since */
} faults;

CURLMcode __real_curl_multi_socket_action(CURLM *handle, curl_socket_t fd, int mask, int *ret_running);

CURLMcode __wrap_curl_multi_socket_action(CURLM *handle, curl_socket_t fd, int mask, int *ret_running);

CURLMcode __wrap_curl_multi_socket_action(CURLM *handle, curl_socket_t fd, int mask, int *ret_running)
{
	faults.n_calls += handle == faults.failed;
	if (!faults.fails_next)
		return __real_curl_multi_socket_action(handle, fd, mask, ret_running);
	faults.fails_next = false;
	faults.failed = handle;
	return CURLM_OUT_OF_MEMORY;
}

/* Two requests at a time, on connections that are kept. */
static unsigned ask_two(struct client *client)
{
	client->n_good = 0;
	ask(client);
	ask(client);
	if (client->n_under_way > 0)
		assert_int_equal(loop_run(client->loop, &err), 0);
	assert_int_equal(client->n_under_way, 0);
	return client->n_good;
}

TEST(whatever_allocation_fails_each_request_ends_and_the_next_ones_succeed)
{
	struct server server;
	bool failed = true;
	start_server(&server);
	for (unsigned k = 1; failed; k++) {
		struct client client = {.url = server.url};
		assert_int_equal(loop_new(&client.loop, &err), 0);
		assert_int_equal(fetcher_new(client.loop, &client.fetcher, &err), 0);
		failing_malloc_at(k);
		unsigned n_good = ask_two(&client);
		failed = failing_malloc_off();
		assert_true(n_good == 2 || failed);
		assert_int_equal(ask_two(&client), 2);
		fetcher_free(client.fetcher);
		loop_free(client.loop);
	}
	stop_server(&server);
}

static void end_turn(void *owner)
{
	loop_stop(owner);
}

/* What is due is done. */
static void turn(struct loop *loop)
{
	struct loop_timer *timer;
	assert_int_equal(loop_timer_new(loop, end_turn, loop, &timer, &err), 0);
	loop_timer_set(timer, 1);
	assert_int_equal(loop_run(loop, &err), 0);
	loop_timer_free(timer);
}

TEST(a_handle_that_has_failed_is_not_used_any_more)
{
	struct server server;
	struct client client = {.url = server.url};
	start_server(&server);
	assert_int_equal(loop_new(&client.loop, &err), 0);
	assert_int_equal(fetcher_new(client.loop, &client.fetcher, &err), 0);
	assert_int_equal(ask_two(&client), 2);
	faults.fails_next = true;
	assert_int_equal(ask_two(&client), 0);
	assert_non_null(faults.failed);
	turn(client.loop);
	assert_int_equal(ask_two(&client), 2);
	assert_int_equal(faults.n_calls, 0);
	fetcher_free(client.fetcher);
	loop_free(client.loop);
	stop_server(&server);
}

/* One transfer, and the socket that it uses. */
struct transfer {
	struct loop *loop;
	struct fetch_multi *multi;
	int fd;
	bool used_while_under_way;
};

static void saw_work(void *owner)
{
	struct transfer *transfer = owner;
	CURLcode code;
	CURL *easy;
	transfer->used_while_under_way |= fetch_multi_uses(transfer->multi, transfer->fd);
	while ((easy = fetch_multi_next_done(transfer->multi, &code))) {
		assert_int_equal(code, CURLE_OK);
		fetch_multi_remove(transfer->multi, easy);
		loop_stop(transfer->loop);
	}
}

static void saw_use(void *owner, int fd)
{
	struct transfer *transfer = owner;
	transfer->fd = fd;
}

static void starve(void *owner, CURL *easy)
{
	(void)owner, (void)easy;
	fail();
}

static void fall(void *owner)
{
	(void)owner;
	fail();
}

TEST(a_socket_is_used_while_its_transfer_is_under_way_and_no_longer)
{
	struct server server;
	struct transfer transfer = {.fd = -1};
	const struct fetch_multi_owner owner = {&transfer, saw_work, saw_use, starve, fall};
	CURL *easy = curl_easy_init();
	start_server(&server);
	assert_int_equal(loop_new(&transfer.loop, &err), 0);
	assert_int_equal(fetch_multi_new(transfer.loop, &owner, &transfer.multi, &err), 0);
	curl_easy_setopt(easy, CURLOPT_URL, server.url);
	assert_int_equal(fetch_multi_add(transfer.multi, easy), 0);
	assert_false(fetch_multi_uses(transfer.multi, transfer.fd));
	assert_int_equal(loop_run(transfer.loop, &err), 0);
	assert_true(transfer.fd >= 0 && transfer.used_while_under_way);
	assert_false(fetch_multi_uses(transfer.multi, transfer.fd));
	curl_easy_cleanup(easy);
	fetch_multi_free(transfer.multi);
	loop_free(transfer.loop);
	stop_server(&server);
}

static int ignore_sigpipe(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_handle_that_has_failed_is_not_used_any_more),
	cmocka_unit_test(whatever_allocation_fails_each_request_ends_and_the_next_ones_succeed),
	cmocka_unit_test(a_socket_is_used_while_its_transfer_is_under_way_and_no_longer),
};
TEST_MAIN_WITH(tests, ignore_sigpipe, NULL)
