/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A connection is a state machine: run() takes steps until one has to wait for the socket, for the
 * handler or for its turn. The handler may answer from inside its call or at any later time; in the
 * first case the step that called it just goes on, so that a client that pipelines many requests
 * cannot make the stack grow.
 *
 * Deadlines. All connections in one phase have the same time-out, so the order in which they
 * entered it is the order in which they expire: one list a phase, one timer for all. The timer is
 * moved only when an earlier deadline comes up than it is set for; on a busy server that is a few
 * times a minute, instead of several times a request.
 *
 * The socket is watched for what the last step asked for. While a request is with the handler it is
 * not watched at all: what a client sends meanwhile stays in the kernel, and a client that goes
 * away is noticed when the answer is written.
 *
 * Closing. A socket that is closed with unread input sends a reset, which may overtake the answer;
 * so after the last answer our side is shut and input thrown away for a moment (RFC 9112 9.6).
 */

#include "io/server.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/sbuf.h"
#include "io/callers.h"
#include "io/listener.h"
#include "io/tls_session.h"
#include "wire/httpmsg.h"

/* Room for one read; a TLS record is no longer. */
#define READ_SIZE (16 * LIMIT_KIB)
#define ANSWER_CAP (64 * LIMIT_MIB)
/* Steps of one connection before the others have their turn. */
#define STEPS_PER_TURN 64
#define LINGER_MS 1000
#define LINGER_BYTES (4 * LIMIT_MIB)

enum phase {
	PHASE_HANDSHAKE,
	PHASE_IDLE,    /* before the first byte of a further request */
	PHASE_HEAD,
	PHASE_BODY,
	PHASE_WRITE,
	PHASE_LINGER,
	N_TIMED_PHASES,
	PHASE_DECIDE = N_TIMED_PHASES, /* the handler has the head */
	PHASE_ANSWER,                  /* the handler has the request */
};

enum step {
	STEP_AGAIN, /* take the next step at once */
	STEP_WAIT,  /* something will call run() */
	STEP_OVER,  /* the connection is to be closed */
};

enum interest { WATCH_NOTHING, WATCH_READ, WATCH_WRITE };

struct server_request {
	struct connection *connection;
	void *data;
};

struct connection {
	struct list in_phase;
	struct list in_turn; /* empty when it does not wait for its turn */
	struct server *server;
	struct caller *caller;
	struct tls_session *tls; /* NULL: in clear */
	struct loop_watch *watch;
	enum interest interest;
	int fd;
	enum phase phase;
	enum phase after_write;
	uint64_t deadline_ms;
	bool running;       /* run() is on the stack */
	bool holds_body;    /* let in, and done() not yet called */
	struct sbuf in;     /* the present request, and what came behind it */
	struct sbuf out;
	size_t written;     /* of out */
	size_t discarded;   /* bytes thrown away while lingering */
	struct httpmsg msg;
	struct server_request request;
	char peer[CALLERS_TEXT_SIZE];
};

struct server {
	struct loop *loop;
	struct server_config config;
	struct server_handler handler;
	struct listener *listener;
	struct loop_timer *deadline_timer;
	uint64_t timer_at_ms; /* what it is set for; UINT64_MAX: not set */
	struct loop_timer *turn_timer;
	struct list turns;    /* connections that have steps to take */
	size_t n_turns;
	struct list phases[N_TIMED_PHASES]; /* connections, those to expire first in front */
	struct list untimed;
	struct callers callers;
	struct server_counters counters;
};

static uint32_t timeout_of(const struct server_config *config, enum phase phase)
{
	switch (phase) {
	case PHASE_HANDSHAKE:
		return config->handshake_timeout_ms;
	case PHASE_IDLE:
		return config->idle_timeout_ms;
	case PHASE_HEAD:
		return config->head_timeout_ms;
	case PHASE_BODY:
		return config->body_timeout_ms;
	case PHASE_WRITE:
		return config->write_timeout_ms;
	case PHASE_LINGER:
		return LINGER_MS;
	default:
		return 0;
	}
}

static struct list *list_of(struct server *server, enum phase phase)
{
	return phase < N_TIMED_PHASES ? &server->phases[phase] : &server->untimed;
}

/* The connection of a phase that expires first; NULL: none. */
static struct connection *first_of(const struct list *phase)
{
	return list_is_empty(phase) ? NULL
				    : CONTAINER_OF(phase->next, struct connection, in_phase);
}

static void set_timer(struct server *server, uint64_t at_ms)
{
	uint64_t now = loop_now_ms(server->loop);
	server->timer_at_ms = at_ms;
	loop_timer_set(server->deadline_timer, at_ms > now ? at_ms - now : 0);
}

static void enter(struct connection *c, enum phase phase)
{
	struct server *server = c->server;
	list_remove(&c->in_phase);
	list_append(list_of(server, phase), &c->in_phase);
	c->phase = phase;
	if (phase >= N_TIMED_PHASES)
		return;
	c->deadline_ms = loop_now_ms(server->loop) + timeout_of(&server->config, phase);
	if (c->deadline_ms < server->timer_at_ms)
		set_timer(server, c->deadline_ms);
}

static bool waits_turn(const struct connection *c)
{
	return !list_is_empty(&c->in_turn);
}

static void leave_turns(struct connection *c)
{
	list_remove(&c->in_turn);
	c->server->n_turns--;
}

static void tell_done(struct connection *c)
{
	const struct server_handler *handler = &c->server->handler;
	if (c->holds_body && handler->done)
		handler->done(handler->owner, &c->request);
	c->holds_body = false;
}

static void close_connection(struct connection *c)
{
	struct server *server = c->server;
	tell_done(c);
	list_remove(&c->in_phase);
	if (waits_turn(c))
		leave_turns(c);
	loop_watch_free(c->watch);
	tls_session_free(c->tls);
	close(c->fd);
	sbuf_deinit(&c->in);
	sbuf_deinit(&c->out);
	callers_remove(&server->callers, c->caller);
	server->counters.open--;
	free(c);
}

static void on_socket(void *owner, bool readable, bool writable);

/* False when the kernel or memory refuses: the connection cannot go on. */
static bool watch(struct connection *c, enum interest interest)
{
	struct error err;
	if (c->interest == interest)
		return true;
	loop_watch_free(c->watch);
	c->watch = NULL;
	c->interest = interest;
	return interest == WATCH_NOTHING ||
	       loop_watch_new(c->server->loop, c->fd,
			      interest == WATCH_READ ? LOOP_READ : LOOP_WRITE, on_socket, c,
			      &c->watch, &err) == 0;
}

/* What to do after a call on the socket. */
static enum step follow(struct connection *c, enum tls_session_step result)
{
	switch (result) {
	case TLS_SESSION_DONE:
		return STEP_AGAIN;
	case TLS_SESSION_WANT_READ:
		return watch(c, WATCH_READ) ? STEP_WAIT : STEP_OVER;
	case TLS_SESSION_WANT_WRITE:
		return watch(c, WATCH_WRITE) ? STEP_WAIT : STEP_OVER;
	default:
		return STEP_OVER;
	}
}

static enum tls_session_step judge_plain(ssize_t n, enum tls_session_step blocked, size_t *ret_n)
{
	if (n > 0) {
		*ret_n = (size_t)n;
		return TLS_SESSION_DONE;
	}
	if (n == 0)
		return TLS_SESSION_CLOSED;
	return errno == EAGAIN || errno == EINTR ? blocked : TLS_SESSION_FAILED;
}

static enum tls_session_step read_some(struct connection *c, char *buf, size_t size, size_t *ret_n)
{
	if (c->tls)
		return tls_session_read(c->tls, buf, size, ret_n);
	return judge_plain(recv(c->fd, buf, size, 0), TLS_SESSION_WANT_READ, ret_n);
}

static enum tls_session_step write_some(struct connection *c, struct view bytes, size_t *ret_n)
{
	if (c->tls)
		return tls_session_write(c->tls, bytes, ret_n);
	return judge_plain(send(c->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL), TLS_SESSION_WANT_WRITE,
			   ret_n);
}

static enum step fill(struct connection *c)
{
	size_t n = 0;
	char *place = sbuf_reserve(&c->in, READ_SIZE);
	if (!place)
		return STEP_OVER;
	enum tls_session_step result = read_some(c, place, READ_SIZE, &n);
	sbuf_commit(&c->in, n);
	return follow(c, result);
}

static size_t body_size(const struct connection *c)
{
	return c->msg.content_length > 0 ? (size_t)c->msg.content_length : 0;
}

static bool is_body_here(const struct connection *c)
{
	return c->in.len - c->msg.parsed >= body_size(c);
}

static void get_head(const struct connection *c, struct server_head *ret_head)
{
	struct httpmsg_head head;
	httpmsg_head(&c->msg, sbuf_view(&c->in), &head);
	*ret_head = (struct server_head){
		.method = head.method,
		.path = head.path,
		.query = head.query,
		.authorization = head.authorization,
		.content_type = head.content_type,
		.peer = view_from(c->peer),
		.content_length = head.content_length,
	};
}

static void write_answer(struct connection *c, const struct server_answer *answer)
{
	const struct httpmsg_answer head = {
		.status = answer->status,
		.content_type = answer->content_type,
		.content_length = answer->body.len,
		.retry_after_s = answer->retry_after_s,
		.location = answer->location,
		.allow = answer->allow,
		.close = c->after_write == PHASE_LINGER,
	};
	struct view method = {c->in.ptr ? c->in.ptr + c->msg.method.at : NULL, c->msg.method.len};
	httpmsg_write(&head, &c->out);
	if (!view_equal(method, VIEW("HEAD")))
		sbuf_append(&c->out, answer->body);
	enter(c, PHASE_WRITE);
}

/* For requests that never reach the handler. reason needs no escaping. */
static enum step refuse(struct connection *c, int status, const char *reason)
{
	char body[160];
	int len = snprintf(body, sizeof(body), "{\"error\": \"%s\"}\n", reason);
	assert(len > 0 && (size_t)len < sizeof(body));
	c->after_write = PHASE_LINGER;
	write_answer(c, &(struct server_answer){.status = status,
						.content_type = "application/json",
						.body = {body, (size_t)len}});
	return STEP_AGAIN;
}

static enum step step_handshake(struct connection *c)
{
	enum tls_session_step result = tls_session_handshake(c->tls);
	if (result == TLS_SESSION_DONE)
		enter(c, PHASE_HEAD);
	else if (result == TLS_SESSION_FAILED || result == TLS_SESSION_CLOSED)
		c->server->counters.handshake_failed++;
	return follow(c, result);
}

static enum step begin_request(struct connection *c)
{
	struct server *server = c->server;
	struct server_head head;
	if (body_size(c) > server->config.max_body) {
		server->counters.too_large++;
		return refuse(c, 413, "the body is too large");
	}
	enter(c, PHASE_DECIDE);
	c->request = (struct server_request){.connection = c};
	server->counters.requests++;
	get_head(c, &head);
	server->handler.head(server->handler.owner, &c->request, &head);
	return STEP_AGAIN;
}

static enum step step_head(struct connection *c)
{
	if (c->in.len == 0)
		return fill(c);
	if (c->phase == PHASE_IDLE)
		enter(c, PHASE_HEAD);
	switch (httpmsg_read(&c->msg, sbuf_view(&c->in))) {
	case HTTPMSG_HEAD:
		return begin_request(c);
	case HTTPMSG_REFUSED:
		if (c->msg.refusal == 413)
			c->server->counters.too_large++;
		else
			c->server->counters.malformed++;
		return refuse(c, c->msg.refusal, c->msg.reason);
	default:
		return fill(c);
	}
}

static enum step step_body(struct connection *c)
{
	struct server *server = c->server;
	struct server_head head;
	if (!is_body_here(c))
		return fill(c);
	enter(c, PHASE_ANSWER);
	get_head(c, &head);
	const struct view body = {c->in.ptr + c->msg.parsed, body_size(c)};
	server->handler.request(server->handler.owner, &c->request, &head, body);
	return STEP_AGAIN;
}

/*
 * What came behind a request stays, in a buffer no larger than one read asks for: else a client
 * could keep the memory of a large body by sending a single byte more.
 */
static bool drop_request(struct connection *c)
{
	sbuf_consume(&c->in, c->msg.parsed + body_size(c));
	if (body_size(c) > READ_SIZE) {
		CLEANUP(sbuf_deinit) struct sbuf large = c->in;
		sbuf_init(&c->in, large.cap);
		sbuf_append(&c->in, sbuf_view(&large));
	}
	tell_done(c);
	c->msg = (struct httpmsg){0};
	return c->in.failure == ERROR_NONE;
}

/* An idle connection holds no buffers. */
static enum step begin_next(struct connection *c)
{
	if (!drop_request(c))
		return STEP_OVER;
	enter(c, PHASE_IDLE);
	if (c->in.len > 0 || (c->tls && tls_session_has_pending(c->tls)))
		return STEP_AGAIN;
	sbuf_deinit(&c->in);
	sbuf_deinit(&c->out);
	return watch(c, WATCH_READ) ? STEP_WAIT : STEP_OVER;
}

static enum step begin_linger(struct connection *c)
{
	if (c->tls)
		tls_session_close(c->tls);
	shutdown(c->fd, SHUT_WR);
	enter(c, PHASE_LINGER);
	return STEP_AGAIN;
}

static enum step step_write(struct connection *c)
{
	if (c->out.failure != ERROR_NONE)
		return STEP_OVER;
	if (c->written < c->out.len) {
		size_t n = 0;
		enum tls_session_step result =
			write_some(c, view_from_offset(sbuf_view(&c->out), c->written), &n);
		c->written += n;
		return follow(c, result);
	}
	sbuf_clear(&c->out);
	c->written = 0;
	if (c->after_write == PHASE_LINGER)
		return begin_linger(c);
	if (c->after_write == PHASE_IDLE)
		return begin_next(c);
	enter(c, c->after_write);
	return STEP_AGAIN;
}

/* Below TLS: what comes is not looked at. */
static enum step step_linger(struct connection *c)
{
	char waste[4096];
	size_t n = 0;
	enum tls_session_step result =
		judge_plain(recv(c->fd, waste, sizeof(waste), 0), TLS_SESSION_WANT_READ, &n);
	c->discarded += n;
	return c->discarded > LINGER_BYTES ? STEP_OVER : follow(c, result);
}

static enum step take_step(struct connection *c)
{
	switch (c->phase) {
	case PHASE_HANDSHAKE:
		return step_handshake(c);
	case PHASE_IDLE:
	case PHASE_HEAD:
		return step_head(c);
	case PHASE_BODY:
		return step_body(c);
	case PHASE_WRITE:
		return step_write(c);
	case PHASE_LINGER:
		return step_linger(c);
	default:
		return watch(c, WATCH_NOTHING) ? STEP_WAIT : STEP_OVER;
	}
}

static void run(struct connection *c)
{
	enum step step = STEP_AGAIN;
	assert(!c->running);
	c->running = true;
	for (int i = 0; i < STEPS_PER_TURN && step == STEP_AGAIN; i++)
		step = take_step(c);
	c->running = false;
	if (step == STEP_OVER) {
		close_connection(c);
	} else if (step == STEP_AGAIN && !waits_turn(c)) {
		c->server->n_turns++;
		list_append(&c->server->turns, &c->in_turn);
		loop_timer_set(c->server->turn_timer, 0);
	}
}

static void on_socket(void *owner, bool readable, bool writable)
{
	(void)readable, (void)writable;
	struct connection *c = owner;
	if (!waits_turn(c))
		run(c);
}

/* Those that wait now; who has more to do is put behind them, for the next time. */
static void on_turn(void *owner)
{
	struct server *server = owner;
	for (size_t n = server->n_turns; n > 0 && server->n_turns > 0; n--) {
		struct connection *c =
			CONTAINER_OF(server->turns.next, struct connection, in_turn);
		leave_turns(c);
		run(c);
	}
}

static void expire(struct connection *c)
{
	if (c->phase == PHASE_HANDSHAKE)
		c->server->counters.handshake_failed++;
	if (c->phase != PHASE_IDLE && c->phase != PHASE_LINGER)
		c->server->counters.timed_out++;
	bool has_request = (c->phase == PHASE_HEAD || c->phase == PHASE_BODY) && c->in.len > 0;
	if (!has_request) {
		close_connection(c);
		return;
	}
	(void)refuse(c, 408, "the request took too long");
	run(c);
}

static void on_deadline(void *owner)
{
	struct server *server = owner;
	uint64_t now = loop_now_ms(server->loop);
	uint64_t next = UINT64_MAX;
	server->timer_at_ms = UINT64_MAX;
	for (enum phase phase = 0; phase < N_TIMED_PHASES; phase++) {
		struct connection *c = first_of(&server->phases[phase]);
		for (; c && c->deadline_ms <= now; c = first_of(&server->phases[phase]))
			expire(c);
	}
	for (enum phase phase = 0; phase < N_TIMED_PHASES; phase++) {
		struct connection *c = first_of(&server->phases[phase]);
		if (c && c->deadline_ms < next)
			next = c->deadline_ms;
	}
	if (next != UINT64_MAX)
		set_timer(server, next);
}

/* The connection that has been idle for longest makes room for a new one. */
static bool make_room(struct server *server)
{
	if (server->counters.open < server->config.max_connections)
		return true;
	struct connection *idle = first_of(&server->phases[PHASE_IDLE]);
	if (!idle)
		return false;
	server->counters.evicted++;
	close_connection(idle);
	return true;
}

static struct connection *add_connection(struct server *server, int fd,
					 const struct sockaddr_storage *peer)
{
	struct connection *c = make_room(server) ? malloc(sizeof(*c)) : NULL;
	if (!c)
		return NULL;
	*c = (struct connection){.server = server, .fd = fd};
	c->caller = callers_add(&server->callers, peer);
	if (!c->caller) {
		free(c);
		return NULL;
	}
	c->phase = server->config.tls ? PHASE_HANDSHAKE : PHASE_HEAD;
	sbuf_init(&c->in, LIMIT_HTTP_HEAD + server->config.max_body + READ_SIZE);
	sbuf_init(&c->out, ANSWER_CAP);
	callers_write(c->caller, c->peer);
	list_init(&c->in_phase);
	list_init(&c->in_turn);
	enter(c, c->phase);
	server->counters.open++;
	return c;
}

static void on_accept(void *owner, int take_fd, const struct sockaddr_storage *peer)
{
	const int on = 1;
	struct server *server = owner;
	struct error err;
	server->counters.accepted++;
	struct connection *c = add_connection(server, take_fd, peer);
	if (!c) {
		server->counters.refused_limit++;
		close(take_fd);
		return;
	}
	setsockopt(take_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (server->config.tls &&
	    tls_session_new(server->config.tls, take_fd, &c->tls, &err) != 0) {
		server->counters.handshake_failed++;
		close_connection(c);
		return;
	}
	if (!watch(c, WATCH_READ))
		close_connection(c);
}

void server_proceed(struct server_request *request)
{
	struct connection *c = request->connection;
	assert(c->phase == PHASE_DECIDE);
	c->holds_body = true;
	c->after_write = PHASE_BODY;
	if (c->msg.expects_continue && !is_body_here(c)) {
		sbuf_append(&c->out, httpmsg_continue());
		enter(c, PHASE_WRITE);
	} else {
		enter(c, PHASE_BODY);
	}
	if (!c->running)
		run(c);
}

void server_answer(struct server_request *request, const struct server_answer *answer)
{
	struct connection *c = request->connection;
	assert(c->phase == PHASE_DECIDE || c->phase == PHASE_ANSWER);
	bool keep = c->msg.keep_alive && !answer->close && is_body_here(c);
	c->after_write = keep ? PHASE_IDLE : PHASE_LINGER;
	write_answer(c, answer);
	if (!c->running)
		run(c);
}

struct view server_request_peer(const struct server_request *request)
{
	return view_from(request->connection->peer);
}

void server_request_set_data(struct server_request *request, void *data)
{
	request->data = data;
}

void *server_request_data(const struct server_request *request)
{
	return request->data;
}

size_t server_request_body_size(const struct server_request *request)
{
	return body_size(request->connection);
}

static void server_freep(struct server **server)
{
	server_free(*server);
}

int server_new(struct loop *loop, const struct server_config *config,
	       const struct server_handler *handler, struct server **ret_server, struct error *err)
{
	assert(config->max_connections > 0 && config->max_connections_per_address > 0);
	CLEANUP(server_freep) struct server *server = malloc(sizeof(*server));
	if (!server)
		return error_no_memory(err);
	*server = (struct server){
		.loop = loop,
		.config = *config,
		.handler = *handler,
		.timer_at_ms = UINT64_MAX,
	};
	for (enum phase phase = 0; phase < N_TIMED_PHASES; phase++)
		list_init(&server->phases[phase]);
	list_init(&server->untimed);
	list_init(&server->turns);
	callers_init(&server->callers, config->max_connections_per_address);
	if (loop_timer_new(loop, on_deadline, server, &server->deadline_timer, err) != 0 ||
	    loop_timer_new(loop, on_turn, server, &server->turn_timer, err) != 0 ||
	    listener_new(loop, config->address, on_accept, server, &server->listener, err) != 0)
		return -1;
	*ret_server = TAKE(server);
	return 0;
}

static void close_all(struct list *list)
{
	for (struct connection *c = first_of(list); c; c = first_of(list))
		close_connection(c);
}

void server_free(struct server *server)
{
	if (!server)
		return;
	listener_free(server->listener);
	for (enum phase phase = 0; phase < N_TIMED_PHASES; phase++)
		close_all(&server->phases[phase]);
	close_all(&server->untimed);
	loop_timer_free(server->deadline_timer);
	loop_timer_free(server->turn_timer);
	callers_deinit(&server->callers);
	free(server);
}

uint16_t server_port(const struct server *server)
{
	return listener_port(server->listener);
}

struct server_counters server_counters(const struct server *server)
{
	struct server_counters counters = server->counters;
	counters.pauses = listener_pauses(server->listener);
	return counters;
}
