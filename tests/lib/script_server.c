/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Connections are a list of a read buffer and a loop_watch. The end of a request is seen by its
 * Content-Length, or in HTTP/2 by the first frame with END_STREAM.
 */

#include "lib/script_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/sbuf.h"

#define RECEIVED_CAP (16u << 20)

struct connection {
	struct connection *next;
	struct script_server *server;
	struct loop_watch *watch;
	struct loop_timer *later;
	const struct script_answer *answer; /* whose second part is due */
	struct sbuf in;
	char last[64]; /* the begin of its last request */
	int fd;
};

struct script_server {
	struct loop *loop;
	struct script_server_config config;
	struct loop_watch *watch;
	struct connection *connections;
	struct sbuf received;
	size_t next_answer;
	unsigned n_connections, n_requests;
	int fd;
	uint16_t port; /* TCP */
	char url[64];
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	abort();
}

static void hang_up(struct connection *connection, bool reset)
{
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	if (connection->fd < 0)
		return;
	if (reset)
		setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	loop_watch_free(connection->watch);
	connection->watch = NULL;
	close(connection->fd);
	connection->fd = -1;
}

static void send_bytes(struct connection *connection, struct view bytes)
{
	if (bytes.len == 0 || connection->fd < 0)
		return;
	ssize_t sent = send(connection->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	must(sent < 0 || (size_t)sent == bytes.len, "an answer larger than a socket's buffer");
}

static void end_answer(struct connection *connection)
{
	const struct script_answer *answer = connection->answer;
	if (answer->close || answer->reset)
		hang_up(connection, answer->reset);
}

static void send_later(void *owner)
{
	struct connection *connection = owner;
	send_bytes(connection, connection->answer->later);
	end_answer(connection);
}

static const struct script_answer *choose_answer(struct script_server *server, struct view request)
{
	for (size_t i = 0; i < server->config.n_routes; i++) {
		const struct script_route *route = &server->config.routes[i];
		if (view_starts_with(request, view_from(route->begins)))
			return &route->answer;
	}
	return server->next_answer == server->config.n_answers
		       ? NULL
		       : &server->config.answers[server->next_answer++];
}

static void answer_request(struct connection *connection, struct view request)
{
	struct script_server *server = connection->server;
	const struct script_answer *answer = choose_answer(server, request);
	server->n_requests++;
	snprintf(connection->last, sizeof(connection->last), "%.*s", VIEW_ARG(request));
	if (!answer)
		return;
	connection->answer = answer;
	send_bytes(connection, connection->answer->bytes);
	if (connection->answer->later.len > 0)
		loop_timer_set(connection->later, 1);
	else
		end_answer(connection);
}

/* Length of the whole request at the front of in, 0 when it is not whole. */
static size_t http1_request_size(struct view in)
{
	struct view head, body, before, after;
	uint64_t length = 0;
	if (!view_cut(in, VIEW("\r\n\r\n"), &head, &body))
		return 0;
	if (view_cut(head, VIEW("Content-Length: "), &before, &after)) {
		struct view number, rest;
		view_cut(after, VIEW("\r\n"), &number, &rest);
		must(view_parse_u64(number, &length), "Content-Length");
	}
	return body.len < length ? 0 : head.len + 4 + (size_t)length;
}

static size_t http2_request_size(struct view in)
{
	const size_t preface = 24, frame_head = 9;
	for (size_t at = preface; at + frame_head <= in.len;) {
		const unsigned char *frame = (const unsigned char *)in.ptr + at;
		size_t size = frame_head + ((size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2]);
		bool is_data_or_headers = frame[3] <= 1;
		at += size;
		if (at <= in.len && is_data_or_headers && (frame[4] & 1))
			return at;
	}
	return 0;
}

static void read_requests(void *owner, bool readable, bool writable)
{
	(void)readable;
	(void)writable;
	struct connection *connection = owner;
	struct script_server *server = connection->server;
	char bytes[65536];
	ssize_t n = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n <= 0) {
		hang_up(connection, false);
		return;
	}
	sbuf_append(&connection->in, (struct view){bytes, (size_t)n});
	sbuf_append(&server->received, (struct view){bytes, (size_t)n});
	for (;;) {
		struct view in = sbuf_view(&connection->in);
		size_t size = server->config.http2 ? http2_request_size(in) : http1_request_size(in);
		if (size == 0 || connection->fd < 0)
			break;
		answer_request(connection, (struct view){in.ptr, size});
		sbuf_consume(&connection->in, size);
	}
}

static void accept_connection(void *owner, bool readable, bool writable)
{
	(void)readable;
	(void)writable;
	struct script_server *server = owner;
	struct error err;
	struct connection *connection = calloc(1, sizeof(*connection));
	must(connection, "memory");
	connection->fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
	must(connection->fd >= 0, "accept");
	connection->server = server;
	connection->next = server->connections;
	server->connections = connection;
	server->n_connections++;
	sbuf_init(&connection->in, RECEIVED_CAP);
	must(loop_watch_new(server->loop, connection->fd, LOOP_READ, read_requests, connection,
			    &connection->watch, &err) == 0 &&
		     loop_timer_new(server->loop, send_later, connection, &connection->later,
				    &err) == 0,
	     "watch a connection");
}

static int listen_tcp(struct script_server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(server->port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	must(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
		     bind(fd, (struct sockaddr *)&address, size) == 0 &&
		     getsockname(fd, (struct sockaddr *)&address, &size) == 0,
	     "bind to loopback");
	server->port = ntohs(address.sin_port);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", (unsigned)server->port);
	return fd;
}

static int listen_unix(struct script_server *server, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(strlen(path) < sizeof(address.sun_path), "a path for a unix socket");
	memcpy(address.sun_path, path, strlen(path));
	unlink(path);
	must(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0,
	     "bind to a unix socket");
	snprintf(server->url, sizeof(server->url), "http://localhost");
	return fd;
}

void script_server_start(struct script_server *server)
{
	struct error err;
	must(server->fd < 0, "not running");
	server->fd = server->config.unix_path ? listen_unix(server, server->config.unix_path)
					      : listen_tcp(server);
	must(listen(server->fd, 16) == 0, "listen");
	must(loop_watch_new(server->loop, server->fd, LOOP_READ, accept_connection, server,
			    &server->watch, &err) == 0,
	     "watch the port");
}

struct script_server *script_server_new(struct loop *loop,
					const struct script_server_config *config)
{
	struct script_server *server = calloc(1, sizeof(*server));
	must(server, "memory");
	server->loop = loop;
	server->config = *config;
	server->fd = -1;
	sbuf_init(&server->received, RECEIVED_CAP);
	script_server_start(server);
	return server;
}

void script_server_hang_up(struct script_server *server)
{
	for (struct connection *connection = server->connections; connection;
	     connection = connection->next)
		hang_up(connection, false);
}

static bool asked_for(const struct connection *connection, const char *begins)
{
	must(strlen(begins) < sizeof(connection->last), "a shorter begin of a request");
	return view_starts_with(view_from(connection->last), view_from(begins));
}

void script_server_cut(struct script_server *server, const char *begins)
{
	for (struct connection *connection = server->connections; connection;
	     connection = connection->next)
		if (asked_for(connection, begins))
			hang_up(connection, false);
}

void script_server_push(struct script_server *server, const char *begins, struct view bytes)
{
	for (struct connection *connection = server->connections; connection;
	     connection = connection->next)
		if (asked_for(connection, begins))
			send_bytes(connection, bytes);
}

void script_server_stop(struct script_server *server)
{
	if (server->fd < 0)
		return;
	loop_watch_free(server->watch);
	server->watch = NULL;
	close(server->fd);
	server->fd = -1;
	script_server_hang_up(server);
}

void script_server_free(struct script_server *server)
{
	if (!server)
		return;
	while (server->connections) {
		struct connection *connection = server->connections;
		server->connections = connection->next;
		hang_up(connection, false);
		loop_timer_free(connection->later);
		sbuf_deinit(&connection->in);
		free(connection);
	}
	script_server_stop(server);
	if (server->config.unix_path)
		unlink(server->config.unix_path);
	sbuf_deinit(&server->received);
	free(server);
}

const char *script_server_url(const struct script_server *server)
{
	return server->url;
}

const char *script_server_received(struct script_server *server)
{
	const char *text = sbuf_text(&server->received);
	must(text, "memory");
	return text;
}

unsigned script_server_requests(const struct script_server *server)
{
	return server->n_requests;
}

unsigned script_server_connections(const struct script_server *server)
{
	return server->n_connections;
}
