/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A connection is a state machine: run() takes steps until one has to wait for the socket, for the
 * handler or for its turn. What comes next is said as its transport says it: go on (done), wait, or
 * over. The handler may answer from inside its call or at any later time. In the first case the step
 * that called it goes on: a client that pipelines many requests cannot make the stack grow.
 *
 * The phase a connection is in is its group among the deadlines. While the handler has a request
 * nothing expires.
 *
 * The socket is watched for what the last step asked for. While a request is with the handler it is
 * not watched at all. What a client sends meanwhile stays in the kernel. A client that goes away is
 * noticed when the answer is written.
 *
 * Who is refused may have to wait for the answer. It is written into `out` at once, and the request is given
 * up. The connection is then in one of the phases of delay until it may write.
 *
 * Closing. A socket that is closed with unread input sends a reset, which may overtake the answer.
 * So after the last answer our side is shut, and input is thrown away for a moment (RFC 9112 9.6).
 */

#include "io/connection.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "base/stopwatch.h"
#include "io/outgoing.h"
#include "io/transport.h"
#include "wire/httpmsg.h"

/* Room for one read; a TLS record is no longer. */
#define READ_SIZE (16 * LIMIT_KIB)
#define ANSWER_CAP (64 * LIMIT_MIB)
/* Steps of one connection before the others have their turn. */
#define STEPS_PER_TURN 64
/* Of the connections of a known address, those that nobody vouched for. */
#define GUESTS_PART 4u
#define LINGER_MS 1000
#define LINGER_BYTES (4 * LIMIT_MIB)

/* Delays differ. With one for all, clients that asked together would do so again. */
#define N_DELAYS 8u

/* The groups among the deadlines. */
enum phase {
	PHASE_HANDSHAKE,
	PHASE_IDLE,    /* before the first byte of a further request */
	PHASE_IDLE_LONG, /* the same, after an answer with idle_long: kept for longer, evicted later */
	PHASE_HEAD,
	PHASE_DECIDE,  /* the handler has the head */
	PHASE_BODY,
	PHASE_ANSWER,  /* the handler has the request */
	PHASE_DELAY,   /* the first of N_DELAYS; there is an answer, which waits */
	PHASE_LAST_DELAY = PHASE_DELAY + N_DELAYS - 1,
	PHASE_WRITE,
	PHASE_LINGER,
	N_PHASES,
};

static_assert(N_PHASES <= DEADLINES_MAX_GROUPS, "a group a phase");

struct connection {
	struct deadline deadline; /* of the phase */
	struct turn turn;
	struct list idle; /* among those of the caller that are */
	struct stranger stranger;
	struct client_connection of_client;
	bool is_guest; /* came from a known address: a stranger in set->guests */
	struct connection_set *set;
	struct caller *caller;
	struct transport transport;
	enum phase phase;
	enum phase after_write;
	bool running;       /* run() is on the stack */
	bool holds_body;    /* let in, and done() not yet called */
	struct sbuf in;     /* the present request, with its token, and what came behind it */
	struct outgoing out;
	size_t discarded;   /* bytes thrown away while lingering */
	struct httpmsg msg;
	struct server_request request;
	char peer[CALLERS_TEXT_SIZE];
};

static bool is_idle(enum phase phase)
{
	return phase == PHASE_IDLE || phase == PHASE_IDLE_LONG;
}

static void leave_idle(struct connection *c)
{
	if (list_is_empty(&c->idle))
		return;
	list_remove(&c->idle);
	c->set->counters.idle--;
}

static void enter(struct connection *c, enum phase phase)
{
	c->phase = phase;
	deadlines_enter(&c->set->deadlines, &c->deadline, phase);
	leave_idle(c);
	if (!is_idle(phase))
		return;
	list_append(callers_idle(c->caller), &c->idle);
	c->set->counters.idle++;
}

static struct strangers *strangers_of(const struct connection *c)
{
	return c->is_guest ? &c->set->guests : &c->set->strangers;
}

static void tell_done(struct connection *c)
{
	const struct server_handler *handler = &c->set->handler;
	if (c->holds_body && handler->done)
		handler->done(handler->owner, &c->request);
	c->holds_body = false;
}

static void close_connection(struct connection *c)
{
	struct connection_set *set = c->set;
	tell_done(c);
	leave_idle(c);
	deadlines_leave(&c->deadline);
	turns_leave(&set->turns, &c->turn);
	strangers_leave(strangers_of(c), &c->stranger);
	clients_leave(&set->clients, &c->of_client);
	transport_deinit(&c->transport);
	sbuf_deinit(&c->in);
	outgoing_deinit(&c->out);
	callers_remove(&set->callers, c->caller);
	set->counters.open--;
	free(c);
}

static enum transport_step fill(struct connection *c)
{
	size_t n = 0;
	char *place = sbuf_reserve(&c->in, READ_SIZE);
	if (!place)
		return TRANSPORT_OVER;
	enum transport_step step = transport_read(&c->transport, place, READ_SIZE, &n);
	sbuf_commit(&c->in, n);
	return step;
}

size_t connection_body_size(const struct connection *c)
{
	return c->msg.content_length > 0 ? (size_t)c->msg.content_length : 0;
}

static bool is_body_here(const struct connection *c)
{
	return c->in.len - c->msg.parsed >= connection_body_size(c);
}

static bool is_known(const struct connection *c)
{
	return known_addresses_has(&c->set->known, callers_address(c->caller),
				   loop_now_ms(c->set->loop));
}

static void get_head(const struct connection *c, struct server_head *ret_head)
{
	struct httpmsg_head head;
	const bool known = is_known(c);
	httpmsg_head(&c->msg, sbuf_view(&c->in), &head);
	*ret_head = (struct server_head){
		.method = head.method,
		.path = head.path,
		.query = head.query,
		.authorization = head.authorization,
		.content_type = head.content_type,
		.peer = view_from(c->peer),
		.network = known ? callers_address(c->caller) : callers_network(c->caller),
		.is_known = known,
		.content_length = head.content_length,
	};
}

static enum phase next_delay(struct connection_set *set)
{
	return PHASE_DELAY + set->n_delayed++ % N_DELAYS;
}

static bool is_delayed(enum phase phase)
{
	return phase >= PHASE_DELAY && phase <= PHASE_LAST_DELAY;
}

static void write_answer(struct connection *c, const struct server_answer *answer)
{
	const struct httpmsg_answer head = {
		.status = answer->status,
		.content_type = answer->content_type,
		.retry_after_s = answer->retry_after_s,
		.location = answer->location,
		.allow = answer->allow,
		.close = c->after_write == PHASE_LINGER,
	};
	struct view method = {c->in.ptr ? c->in.ptr + c->msg.method.at : NULL, c->msg.method.len};
	outgoing_add_answer(&c->out, head, answer, !view_equal(method, VIEW("HEAD")));
	strangers_release(strangers_of(c), &c->stranger);
	enter(c, answer->is_delayed ? next_delay(c->set) : PHASE_WRITE);
}

/* For requests that never reach the handler. reason needs no escaping. */
static enum transport_step refuse(struct connection *c, int status, const char *reason)
{
	char body[160];
	int len = snprintf(body, sizeof(body), "{\"error\": \"%s\"}\n", reason);
	assert(len > 0 && (size_t)len < sizeof(body));
	c->after_write = PHASE_LINGER;
	write_answer(c, &(struct server_answer){.status = status,
						.content_type = "application/json",
						.body = {body, (size_t)len}});
	return TRANSPORT_DONE;
}

/*
 * TLS begins with the client's first byte. So who connects and says nothing costs a socket, and none of
 * the memory and time that a session takes.
 */
static bool has_session(struct connection *c)
{
	struct error err;
	return c->transport.tls ||
	       transport_secure(&c->transport, c->set->config->tls, &err) == 0;
}

static enum transport_step step_handshake(struct connection *c)
{
	enum transport_step step =
		has_session(c) ? transport_handshake(&c->transport) : TRANSPORT_OVER;
	if (step == TRANSPORT_DONE)
		enter(c, PHASE_HEAD);
	else if (step == TRANSPORT_OVER)
		c->set->counters.handshake_failed++;
	return step;
}

static enum transport_step begin_request(struct connection *c)
{
	struct connection_set *set = c->set;
	struct server_head head;
	if (connection_body_size(c) > set->config->max_body) {
		set->counters.too_large++;
		return refuse(c, 413, "the body is too large");
	}
	enter(c, PHASE_DECIDE);
	strangers_hold(&c->stranger); /* the handler has its request */
	c->request = (struct server_request){.connection = c, .began_us = stopwatch_us()};
	set->counters.requests++;
	get_head(c, &head);
	set->handler.head(set->handler.owner, &c->request, &head);
	return TRANSPORT_DONE;
}

static enum transport_step step_head(struct connection *c)
{
	if (c->in.len == 0)
		return fill(c);
	if (is_idle(c->phase))
		enter(c, PHASE_HEAD);
	switch (httpmsg_read(&c->msg, sbuf_view(&c->in))) {
	case HTTPMSG_HEAD:
		return begin_request(c);
	case HTTPMSG_REFUSED:
		if (c->msg.refusal == 413)
			c->set->counters.too_large++;
		else
			c->set->counters.malformed++;
		return refuse(c, c->msg.refusal, c->msg.reason);
	default:
		return fill(c);
	}
}

static enum transport_step step_body(struct connection *c)
{
	struct connection_set *set = c->set;
	struct server_head head;
	if (!is_body_here(c))
		return fill(c);
	enter(c, PHASE_ANSWER);
	get_head(c, &head);
	const struct view body = {c->in.ptr + c->msg.parsed, connection_body_size(c)};
	set->handler.request(set->handler.owner, &c->request, &head, body);
	return TRANSPORT_DONE;
}

/*
 * What came behind a request stays, in a buffer no larger than one read asks for. Otherwise a client
 * could keep the memory of a large body by sending a single byte more.
 */
static bool drop_request(struct connection *c)
{
	sbuf_consume(&c->in, c->msg.parsed + connection_body_size(c));
	if (connection_body_size(c) > READ_SIZE) {
		CLEANUP(sbuf_deinit) struct sbuf large = c->in;
		sbuf_init_secret(&c->in, large.cap);
		sbuf_append(&c->in, sbuf_view(&large));
	}
	tell_done(c);
	c->msg = (struct httpmsg){0};
	return c->in.failure == ERROR_NONE;
}

/* Others can use its memory while the answer waits. begin_next() tells a failure. */
static void give_up_request(struct connection *c)
{
	if (c->after_write != PHASE_LINGER) {
		(void)drop_request(c);
		return;
	}
	tell_done(c);
	sbuf_deinit(&c->in);
	c->msg = (struct httpmsg){0};
}

/* An idle connection holds no buffers. */
static enum transport_step begin_next(struct connection *c)
{
	if (!drop_request(c))
		return TRANSPORT_OVER;
	enter(c, c->after_write);
	if (c->in.len > 0 || transport_has_pending(&c->transport))
		return TRANSPORT_DONE;
	sbuf_deinit(&c->in);
	outgoing_deinit(&c->out);
	return transport_watch(&c->transport, TRANSPORT_READ);
}

static enum transport_step begin_linger(struct connection *c)
{
	transport_finish(&c->transport);
	enter(c, PHASE_LINGER);
	return TRANSPORT_DONE;
}

static enum transport_step step_write(struct connection *c)
{
	if (!outgoing_is_whole(&c->out))
		return TRANSPORT_OVER;
	const struct view bytes = outgoing_next(&c->out);
	if (bytes.len > 0) {
		size_t n = 0;
		enum transport_step step = transport_write(&c->transport, bytes, &n);
		outgoing_note(&c->out, n);
		return step;
	}
	outgoing_end(&c->out);
	if (c->after_write == PHASE_LINGER)
		return begin_linger(c);
	if (is_idle(c->after_write))
		return begin_next(c);
	enter(c, c->after_write);
	return TRANSPORT_DONE;
}

static enum transport_step step_linger(struct connection *c)
{
	size_t n = 0;
	enum transport_step step = transport_discard(&c->transport, &n);
	c->discarded += n;
	return c->discarded > LINGER_BYTES ? TRANSPORT_OVER : step;
}

static enum transport_step take_step(struct connection *c)
{
	switch (c->phase) {
	case PHASE_HANDSHAKE:
		return step_handshake(c);
	case PHASE_IDLE:
	case PHASE_IDLE_LONG:
	case PHASE_HEAD:
		return step_head(c);
	case PHASE_BODY:
		return step_body(c);
	case PHASE_WRITE:
		return step_write(c);
	case PHASE_LINGER:
		return step_linger(c);
	default:
		return transport_watch(&c->transport, TRANSPORT_NOTHING);
	}
}

static void run(struct connection *c)
{
	enum transport_step step = TRANSPORT_DONE;
	assert(!c->running);
	c->running = true;
	for (int i = 0; i < STEPS_PER_TURN && step == TRANSPORT_DONE; i++)
		step = take_step(c);
	c->running = false;
	if (step == TRANSPORT_OVER)
		close_connection(c);
	else if (step == TRANSPORT_DONE)
		turns_wait(&c->set->turns, &c->turn);
}

static void on_socket(void *owner, bool readable, bool writable)
{
	(void)readable, (void)writable;
	struct connection *c = owner;
	if (!turns_is_waiting(&c->turn))
		run(c);
}

static void on_turn(void *owner, struct turn *turn)
{
	(void)owner;
	run(CONTAINER_OF(turn, struct connection, turn));
}

static void on_expired(void *owner, struct deadline *item)
{
	(void)owner;
	struct connection *c = CONTAINER_OF(item, struct connection, deadline);
	if (is_delayed(c->phase)) { /* it has waited for long enough */
		enter(c, PHASE_WRITE);
		run(c);
		return;
	}
	if (c->phase == PHASE_HANDSHAKE)
		c->set->counters.handshake_failed++;
	if (!is_idle(c->phase) && c->phase != PHASE_LINGER)
		c->set->counters.timed_out++;
	bool has_request = (c->phase == PHASE_HEAD || c->phase == PHASE_BODY) && c->in.len > 0;
	if (!has_request) {
		close_connection(c);
		return;
	}
	(void)refuse(c, 408, "the request took too long");
	run(c);
}

static void evict_stranger(struct connection_set *set, struct stranger *stranger)
{
	set->counters.evicted_strangers++;
	close_connection(CONTAINER_OF(stranger, struct connection, stranger));
}

static void evict_idle(struct connection *c)
{
	c->set->counters.evicted++;
	close_connection(c);
}

/* An address that has too many pays with its own, and nobody else does. */
static bool make_room(struct connection_set *set, struct caller *caller)
{
	if (!callers_has_too_many(&set->callers, caller))
		return set->counters.open < set->config->max_connections || connection_set_evict(set);
	struct list *first = list_first(callers_idle(caller));
	if (first)
		evict_idle(CONTAINER_OF(first, struct connection, idle));
	return first;
}

/* Of whom nothing is known there may be less. False: there is no room. */
static bool let_in(struct connection *c)
{
	struct connection_set *set = c->set;
	struct stranger *first;
	if (set->strangers.cap == 0)
		return make_room(set, c->caller);
	c->is_guest = is_known(c);
	struct strangers *strangers = strangers_of(c);
	const struct view network =
		c->is_guest ? callers_address(c->caller) : callers_network(c->caller);
	enum strangers_step step = strangers_ask(strangers, network, &first);
	if (step == STRANGERS_EVICT)
		evict_stranger(set, first);
	return step != STRANGERS_FULL && make_room(set, c->caller) &&
	       strangers_enter(strangers, &c->stranger, network);
}

static struct connection *add_connection(struct connection_set *set, int fd,
					 const struct sockaddr_storage *peer)
{
	struct connection *c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct connection){.set = set};
	c->caller = callers_add(&set->callers, peer);
	if (!c->caller || !let_in(c)) {
		if (c->caller)
			callers_remove(&set->callers, c->caller);
		free(c);
		return NULL;
	}
	transport_init(&c->transport, set->loop, fd, on_socket, c);
	sbuf_init_secret(&c->in, LIMIT_HTTP_HEAD + set->config->max_body + READ_SIZE);
	outgoing_init(&c->out, ANSWER_CAP);
	callers_write(c->caller, c->peer);
	deadlines_init_item(&c->deadline);
	list_init(&c->idle);
	turns_init_turn(&c->turn);
	enter(c, set->config->tls ? PHASE_HANDSHAKE : PHASE_HEAD);
	set->counters.open++;
	return c;
}

static bool has_certificate(const struct connection_set *set)
{
	return !set->config->tls || tls_identity_context(set->config->tls);
}

void connection_accept(struct connection_set *set, int take_fd,
		       const struct sockaddr_storage *peer)
{
	struct connection *c = add_connection(set, take_fd, peer);
	if (!c) {
		set->counters.refused_limit++;
		close(take_fd);
	} else if (!has_certificate(set)) {
		set->counters.handshake_failed++;
		close_connection(c);
	} else if (transport_watch(&c->transport, TRANSPORT_READ) != TRANSPORT_WAIT) {
		close_connection(c);
	}
}

void connection_proceed(struct connection *c)
{
	assert(c->phase == PHASE_DECIDE);
	c->holds_body = true;
	c->after_write = PHASE_BODY;
	if (c->msg.expects_continue && !is_body_here(c)) {
		outgoing_add(&c->out, httpmsg_continue());
		enter(c, PHASE_WRITE);
	} else {
		enter(c, PHASE_BODY);
	}
	if (!c->running)
		run(c);
}

void connection_answer(struct connection *c, const struct server_answer *answer)
{
	assert(c->phase == PHASE_DECIDE || c->phase == PHASE_ANSWER);
	bool keep = c->msg.keep_alive && !answer->close && is_body_here(c);
	enum phase idle = answer->idle_long ? PHASE_IDLE_LONG : PHASE_IDLE;
	c->after_write = keep ? idle : PHASE_LINGER;
	write_answer(c, answer);
	if (is_delayed(c->phase))
		give_up_request(c);
	if (!c->running)
		run(c);
}

/* Nobody works on it: it can be closed. */
static bool has_no_request(const struct connection *c)
{
	return is_idle(c->phase) || is_delayed(c->phase);
}

/* The client pays with a connection of its own. False: it has a request on each. */
static bool make_room_of_client(struct connection *c)
{
	struct client_connection *next = clients_next(&c->of_client, NULL);
	for (; next; next = clients_next(&c->of_client, next)) {
		struct connection *other = CONTAINER_OF(next, struct connection, of_client);
		if (!has_no_request(other))
			continue;
		evict_idle(other);
		return true;
	}
	return false;
}

bool connection_vouch(struct connection *c, struct view client)
{
	struct connection_set *set = c->set;
	strangers_leave(strangers_of(c), &c->stranger);
	known_addresses_add(&set->known, callers_address(c->caller), loop_now_ms(set->loop));
	if (client.len == 0)
		return true;
	if (!clients_join(&set->clients, &c->of_client, client))
		return false;
	return !clients_has_too_many(&set->clients, &c->of_client) || make_room_of_client(c);
}

struct view connection_peer(const struct connection *c)
{
	return view_from(c->peer);
}

/* The connection that has been in a phase for longest; NULL: none is in it. */
static struct connection *first_in(const struct connection_set *set, enum phase phase)
{
	struct deadline *first = deadlines_first(&set->deadlines, phase);
	return first ? CONTAINER_OF(first, struct connection, deadline) : NULL;
}

/* One that was vouched for goes last, or strangers displaced agents that are idle between two reports. */
bool connection_set_evict(struct connection_set *set)
{
	struct stranger *stranger = strangers_first(&set->strangers);
	if (!stranger)
		stranger = strangers_first(&set->guests);
	struct connection *idle = first_in(set, PHASE_IDLE);
	for (uint32_t i = 0; i < N_DELAYS && !idle; i++)
		idle = first_in(set, PHASE_DELAY + i);
	if (!idle)
		idle = first_in(set, PHASE_IDLE_LONG);
	if (stranger) {
		evict_stranger(set, stranger);
	} else if (idle) {
		evict_idle(idle);
	}
	return stranger || idle;
}

int connection_set_init(struct connection_set *set, struct loop *loop,
			const struct server_config *config, const struct server_handler *handler,
			struct error *err)
{
	*set = (struct connection_set){.loop = loop, .config = config, .handler = *handler};
	callers_init(&set->callers, config->max_connections_per_address);
	clients_init(&set->clients, config->max_connections_per_client);
	known_addresses_init(&set->known, config->max_known_addresses);
	strangers_init(&set->strangers, config->max_strangers, config->max_strangers_per_network);
	strangers_init(&set->guests, config->max_connections,
		       (config->max_connections_per_address + GUESTS_PART - 1) / GUESTS_PART);
	if (deadlines_init(&set->deadlines, loop, on_expired, set, err) != 0)
		return -1;
	const struct {
		enum phase phase;
		uint32_t ms;
	} timeouts[] = {
		{PHASE_HANDSHAKE, config->handshake_timeout_ms},
		{PHASE_IDLE, config->idle_timeout_ms},
		{PHASE_IDLE_LONG, config->idle_long_timeout_ms},
		{PHASE_HEAD, config->head_timeout_ms},
		{PHASE_BODY, config->body_timeout_ms},
		{PHASE_WRITE, config->write_timeout_ms},
		{PHASE_LINGER, LINGER_MS},
	};
	for (size_t i = 0; i < ARRAY_SIZE(timeouts); i++)
		deadlines_set_timeout(&set->deadlines, timeouts[i].phase, timeouts[i].ms);
	for (uint32_t i = 0; i < N_DELAYS; i++)
		deadlines_set_timeout(&set->deadlines, PHASE_DELAY + i,
				      config->delay_ms + i * config->delay_ms / N_DELAYS);
	return turns_init(&set->turns, loop, on_turn, set, err);
}

void connection_set_deinit(struct connection_set *set)
{
	for (enum phase phase = 0; phase < N_PHASES; phase++) {
		for (struct connection *c = first_in(set, phase); c; c = first_in(set, phase))
			close_connection(c);
	}
	deadlines_deinit(&set->deadlines);
	turns_deinit(&set->turns);
	strangers_deinit(&set->strangers);
	strangers_deinit(&set->guests);
	known_addresses_deinit(&set->known);
	callers_deinit(&set->callers);
	clients_deinit(&set->clients);
}
