/* SPDX-License-Identifier: Apache-2.0 */

/*
 * evhttp accepts by itself and says nothing of a connection before its first whole request. So a
 * guard comes to life with the connection's bufferevent, learns the socket a turn of the loop
 * later, and ends with the SSL object. To close a connection it shuts the socket: evhttp then
 * finds its end.
 */

#include "lib/evhttp_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/list.h"
#include "io/callers.h"

#define ACCEPT_PAUSE_MS 200

static struct evhttp_server {
	struct event_base *base;
	const struct server_config *config;
	bool guarded;
	evhttp_server_fn answer;
	struct evconnlistener *listener;
	struct event *resume;
	struct callers callers;
	struct list idle; /* guards, idle for longest in front */
	uint32_t open;
	int ssl_index;
} server;

struct guard {
	struct list in_idle; /* empty: not idle */
	struct bufferevent *bev;
	struct event *deadline;
	struct caller *caller; /* NULL: not yet, or refused */
	bool settled;          /* counted, or refused */
};

static void *must(void *made)
{
	if (!made)
		abort();
	return made;
}

static struct timeval interval(uint32_t ms)
{
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

static void set_deadline(struct guard *guard, uint32_t ms)
{
	const struct timeval wait = interval(ms);
	evtimer_add(guard->deadline, &wait);
}

static void cut(const struct guard *guard)
{
	shutdown(bufferevent_getfd(guard->bev), SHUT_RDWR);
}

static void on_ssl_free(void *parent, void *ptr, CRYPTO_EX_DATA *data, int index, long argl,
			void *argp)
{
	(void)parent, (void)data, (void)index, (void)argl, (void)argp;
	struct guard *guard = ptr;
	if (!guard)
		return;
	list_remove(&guard->in_idle);
	event_free(guard->deadline);
	if (guard->caller)
		callers_remove(&server.callers, guard->caller);
	server.open--;
	free(guard);
}

/* evhttp writes head and body of an answer apart: without this the second waits for the client. */
static void set_prompt(struct bufferevent *bev)
{
	const int on = 1;
	setsockopt(bufferevent_getfd(bev), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void settle(struct guard *guard)
{
	struct sockaddr_storage peer = {0};
	socklen_t size = sizeof(peer);
	guard->settled = true;
	set_prompt(guard->bev);
	if (getpeername(bufferevent_getfd(guard->bev), (struct sockaddr *)&peer, &size) == 0)
		guard->caller = callers_add(&server.callers, &peer);
	if (!guard->caller || callers_has_too_many(&server.callers, guard->caller)) {
		cut(guard);
		return;
	}
	if (server.open > server.config->max_connections)
		cut(list_is_empty(&server.idle)
			    ? guard
			    : CONTAINER_OF(server.idle.next, struct guard, in_idle));
	set_deadline(guard, server.config->handshake_timeout_ms + server.config->head_timeout_ms +
				    server.config->body_timeout_ms);
}

static void on_deadline(evutil_socket_t fd, short what, void *owner)
{
	(void)fd, (void)what;
	struct guard *guard = owner;
	if (guard->settled)
		cut(guard);
	else
		settle(guard);
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *owner)
{
	(void)input;
	struct guard *guard = owner;
	if (info->n_added == 0 || list_is_empty(&guard->in_idle))
		return;
	list_remove(&guard->in_idle);
	set_deadline(guard, server.config->head_timeout_ms + server.config->body_timeout_ms);
}

static void guard_new(struct bufferevent *bev, SSL *ssl)
{
	struct guard *guard = must(calloc(1, sizeof(*guard)));
	guard->bev = bev;
	guard->deadline = must(evtimer_new(server.base, on_deadline, guard));
	list_init(&guard->in_idle);
	server.open++;
	SSL_set_ex_data(ssl, server.ssl_index, guard);
	/* Or what a client sends while it is answered would be taken without limit. */
	bufferevent_setwatermark(bev, EV_READ, 0, server.config->max_body + LIMIT_HTTP_HEAD);
	must(evbuffer_add_cb(bufferevent_get_input(bev), on_input, guard));
	set_deadline(guard, 0);
}

/* The connection of evhttp's next socket. */
static struct bufferevent *make_connection(struct event_base *base, void *owner)
{
	(void)owner;
	SSL *ssl = must(SSL_new(tls_identity_context(server.config->tls)));
	/* bufferevent_openssl does not ask for records that were read ahead. */
	SSL_set_read_ahead(ssl, 0);
	struct bufferevent *bev = must(bufferevent_openssl_socket_new(
		base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE));
	if (server.guarded)
		guard_new(bev, ssl);
	return bev;
}

static struct guard *guard_of(struct evhttp_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	if (!server.guarded || !connection)
		return NULL;
	return SSL_get_ex_data(
		bufferevent_openssl_get_ssl(evhttp_connection_get_bufferevent(connection)),
		server.ssl_index);
}

static void on_answered(struct evhttp_request *request, void *owner)
{
	(void)owner;
	struct guard *guard = guard_of(request);
	if (!guard)
		return;
	list_append(&server.idle, &guard->in_idle);
	set_deadline(guard, server.config->idle_timeout_ms);
}

static struct view header(struct evhttp_request *request, const char *name)
{
	const char *value = evhttp_find_header(evhttp_request_get_input_headers(request), name);
	return value ? view_from(value) : (struct view){0};
}

static struct view method_name(enum evhttp_cmd_type method)
{
	switch (method) {
	case EVHTTP_REQ_POST:
		return VIEW("POST");
	case EVHTTP_REQ_HEAD:
		return VIEW("HEAD");
	default:
		return VIEW("GET");
	}
}

static struct server_answer ask(struct evhttp_request *request)
{
	struct evbuffer *input = evhttp_request_get_input_buffer(request);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
	const struct server_head head = {
		.method = method_name(evhttp_request_get_command(request)),
		.path = view_from(path ? path : ""),
		.authorization = header(request, "Authorization"),
		.content_type = header(request, "Content-Type"),
		.content_length = (int64_t)evbuffer_get_length(input),
	};
	if (server.guarded && header(request, "Transfer-Encoding").len > 0)
		return (struct server_answer){.status = 411, .close = true};
	const struct view body = {(const char *)evbuffer_pullup(input, -1),
				  evbuffer_get_length(input)};
	return server.answer(&head, body);
}

static void on_request(struct evhttp_request *request, void *owner)
{
	(void)owner;
	const struct server_answer answer = ask(request);
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body = must(evbuffer_new());
	struct guard *guard = guard_of(request);
	if (guard) {
		set_deadline(guard, server.config->write_timeout_ms);
		evhttp_request_set_on_complete_cb(request, on_answered, NULL);
	} else {
		set_prompt(evhttp_connection_get_bufferevent(evhttp_request_get_connection(request)));
	}
	if (answer.content_type)
		evhttp_add_header(headers, "Content-Type", answer.content_type);
	if (answer.close)
		evhttp_add_header(headers, "Connection", "close");
	evbuffer_add(body, answer.body.ptr ? answer.body.ptr : "", answer.body.len);
	evhttp_send_reply(request, answer.status, NULL, body);
	evbuffer_free(body);
}

static void on_resume(evutil_socket_t fd, short what, void *owner)
{
	(void)fd, (void)what, (void)owner;
	evconnlistener_enable(server.listener);
}

static void on_accept_error(struct evconnlistener *listener, void *owner)
{
	(void)owner;
	const struct timeval wait = interval(ACCEPT_PAUSE_MS);
	evconnlistener_disable(listener);
	evtimer_add(server.resume, &wait);
}

void evhttp_server_start(struct loop *loop, const struct server_config *config, bool guarded,
			 evhttp_server_fn answer, uint16_t *ret_port)
{
	struct sockaddr_in address = {0};
	socklen_t size = sizeof(address);
	const struct timeval timeout = interval(config->idle_timeout_ms);
	server = (struct evhttp_server){.base = loop_event_base(loop), .config = config,
					.guarded = guarded, .answer = answer};
	struct evhttp *http = must(evhttp_new(server.base));
	list_init(&server.idle);
	callers_init(&server.callers, config->max_connections_per_address);
	server.ssl_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, on_ssl_free);
	server.resume = must(evtimer_new(server.base, on_resume, NULL));
	evhttp_set_max_headers_size(http, LIMIT_HTTP_HEAD);
	evhttp_set_max_body_size(http, (ev_ssize_t)config->max_body);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
	evhttp_set_timeout_tv(http, &timeout);
	evhttp_set_gencb(http, on_request, NULL);
	if (config->tls)
		evhttp_set_bevcb(http, make_connection, NULL);
	struct evhttp_bound_socket *socket =
		must(evhttp_bind_socket_with_handle(http, "127.0.0.1", 0));
	server.listener = evhttp_bound_socket_get_listener(socket);
	if (guarded)
		evconnlistener_set_error_cb(server.listener, on_accept_error);
	if (getsockname(evhttp_bound_socket_get_fd(socket), (struct sockaddr *)&address, &size) != 0)
		abort();
	*ret_port = ntohs(address.sin_port);
}
