/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The input is a program: clients that come, send bytes cut anywhere, take answers slowly or leave, a
 * handler that decides late, and time that passes. In place of sockets and loop are this file's own, and
 * tests/lib/fake_loop.h. Of a step the first byte has the kind in its low half, and the client in the
 * other.
 *
 * What holds:
 * - a connection has one request with the handler at most, and no other before its answer is written;
 * - what a client gets are the answers, whole, each once and in order. An answer without a request is a
 *   refusal: a client that sent something gets it, it says that the connection closes, and is the last;
 * - an answer that is to wait does not come before its time;
 * - connections and memory keep their limits, and nothing is left at the end;
 * - nobody stays for longer than the phases of a connection may take together, however many bytes come.
 */

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For fake_loop.inc, which is made for cmocka. */
#define assert_true(condition) assert(condition)
#define assert_non_null(pointer) assert((pointer) != NULL)
#include "lib/fake_loop.inc"

#include "base/limits.h"
#include "io/connection.h"
#include "io/transport.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_CLIENTS 4
#define FIRST_FD 1000000 /* none that the process has */
#define MAX_STEPS 400
#define MAX_BODY 40000u /* more than one read asks for */
#define QUEUE_SIZE 65536u
#define READ_CAP (QUEUE_SIZE + LIMIT_HTTP_HEAD + MAX_BODY + READ_SIZE)
#define HEAD_SIZE 512u
#define LARGE_SIZE 5000u
#define READ_SIZE (16u * LIMIT_KIB)
#define LINGER_MS 1000u
/* What a connection needs beside its buffers, and what all have in common. */
#define CONNECTION_BYTES 4096u
#define SET_BYTES (256u * LIMIT_KIB)
/* A buffer that grows is there twice for a moment, and may be twice as large as what is in it. */
#define BUFFER_BYTES (4 * (LIMIT_HTTP_HEAD + MAX_BODY + READ_SIZE) + 4 * (LARGE_SIZE + HEAD_SIZE))

static const struct server_config config = {
	.max_body = MAX_BODY,
	.max_connections = 3,
	.max_connections_per_address = 2,
	.max_connections_per_client = 1,
	.max_strangers = 2,
	.max_strangers_per_network = 2,
	.max_known_addresses = 2,
	.handshake_timeout_ms = 1000,
	.head_timeout_ms = 500,
	.body_timeout_ms = 700,
	.write_timeout_ms = 600,
	.idle_timeout_ms = 900,
	.idle_long_timeout_ms = 2000,
	.delay_ms = 100,
};
/* Without its handler no connection goes on for longer: all phases, and a refusal. */
#define LONGEST_MS (500u + 700u + 3 * 600u + 2 * 100u + 2000u + LINGER_MS)

/* What is expected of the answer that is being written. */
struct expected {
	bool is_there;
	bool is_last;
	uint32_t delay_ms; /* it must not come before */
	size_t body;
	unsigned serial; /* in its Retry-After */
};

struct client {
	loop_watch_fn ready;
	void *owner;
	enum transport_interest interest;
	bool is_open;
	bool has_ended; /* it sends no more */
	bool is_head, is_let_in, has_body, is_continued;
	bool is_refused, is_over;
	bool is_bodiless; /* of a refusal: there may be no body, for the method is HEAD */
	size_t at, len;         /* of the queue: what is sent, and not yet read */
	size_t n_read;
	size_t request_len;     /* the head's and the body's; 0: there is no whole head */
	size_t head_end;
	size_t room;            /* bytes that it takes now */
	size_t head_len;
	size_t body_left;
	uint64_t moved_at;
	uint64_t answered_at;
	struct server_request *request;
	struct expected expected;
	char head[HEAD_SIZE];
	char queue[QUEUE_SIZE];
	char read[READ_CAP];    /* what was read of it, from the present request on */
};

static struct client clients[N_CLIENTS];
static struct connection_set set;
static struct loop *time_of_all;
static unsigned n_serials, n_let_in, n_done, n_shared, n_released;
static bool is_ending;
static size_t before;
static char large[LARGE_SIZE];

/* Of sanitizers; without one memory is not judged. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static size_t allocated(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return 0;
}

/* The socket */

static struct client *client_of(int fd)
{
	assert(fd >= FIRST_FD && fd < FIRST_FD + N_CLIENTS);
	return &clients[fd - FIRST_FD];
}

/* The handler has its request, so it can be neither closed nor read from. */
static bool is_decided_late(const struct client *client)
{
	return client->request && (!client->is_let_in || client->has_body);
}

void transport_init(struct transport *transport, struct loop *loop, int take_fd, loop_watch_fn ready,
		    void *owner)
{
	struct client *client = client_of(take_fd);

	*transport = (struct transport){.loop = loop, .fd = take_fd, .ready = ready, .owner = owner};
	client->ready = ready;
	client->owner = owner;
}

void transport_deinit(struct transport *transport)
{
	struct client *client = client_of(transport->fd);

	assert(is_ending || !is_decided_late(client));
	client->is_open = false;
	client->request = NULL;
}

int transport_secure(struct transport *transport, const struct tls_identity *identity,
		     struct error *err)
{
	(void)transport, (void)identity;
	return error_no_memory(err);
}

enum transport_step transport_watch(struct transport *transport, enum transport_interest interest)
{
	client_of(transport->fd)->interest = interest;
	return TRANSPORT_WAIT;
}

enum transport_step transport_handshake(struct transport *transport)
{
	(void)transport;
	return TRANSPORT_OVER;
}

enum transport_step transport_read(struct transport *transport, char *buf, size_t size, size_t *ret_n)
{
	struct client *client = client_of(transport->fd);
	const size_t n = client->len - client->at < size ? client->len - client->at : size;

	assert(!is_decided_late(client));
	if (n == 0)
		return client->has_ended ? TRANSPORT_OVER
					 : transport_watch(transport, TRANSPORT_READ);
	memcpy(buf, client->queue + client->at, n);
	client->at += n;
	*ret_n = n;
	if (client->is_over) /* what comes is thrown away */
		return TRANSPORT_DONE;
	assert(n <= READ_CAP - client->n_read);
	memcpy(client->read + client->n_read, buf, n);
	client->n_read += n;
	return TRANSPORT_DONE;
}

bool transport_has_pending(const struct transport *transport)
{
	(void)transport;
	return false;
}

void transport_finish(struct transport *transport)
{
	struct client *client = client_of(transport->fd);

	assert(client->head_len == 0 || client->is_bodiless);
	assert(client->is_bodiless || !client->expected.is_there);
	client->is_over = true;
}

enum transport_step transport_discard(struct transport *transport, size_t *ret_n)
{
	char waste[4096];

	return transport_read(transport, waste, sizeof(waste), ret_n);
}

/* What a client gets */

static void end_answer(struct client *client)
{
	const size_t n = client->request_len < client->n_read ? client->request_len : client->n_read;

	client->expected.is_there = false;
	client->head_len = 0;
	client->moved_at = fake_now_ms;
	client->n_read -= n;
	memmove(client->read, client->read + n, client->n_read);
	client->request_len = 0;
}

static size_t number_behind(const char *head, const char *name)
{
	const char *found = strstr(head, name);

	return found ? (size_t)strtoul(found + strlen(name), NULL, 10) : 0;
}

static void check_refusal(struct client *client, const char *head)
{
	const size_t status = number_behind(head, "HTTP/1.1 ");

	assert(client->n_read > 0 && (!client->request || !client->has_body));
	assert(status >= 400 && status < 506 && strstr(head, "\r\nConnection: close\r\n"));
	client->is_refused = true;
	client->is_bodiless = client->n_read >= 5 && memcmp(client->read, "HEAD ", 5) == 0;
	client->request = NULL;
	client->expected = (struct expected){
		.is_there = true,
		.is_last = true,
		.body = number_behind(head, "\r\nContent-Length: "),
	};
}

static void check_answer(const struct client *client, const char *head)
{
	const struct expected *expected = &client->expected;
	const bool closes = strstr(head, "\r\nConnection: close\r\n");

	assert(number_behind(head, "HTTP/1.1 ") == 200);
	assert(number_behind(head, "\r\nRetry-After: ") == expected->serial);
	assert(client->is_head || number_behind(head, "\r\nContent-Length: ") == expected->body);
	assert(!expected->is_last || closes);
	assert(fake_now_ms - client->answered_at >= expected->delay_ms);
}

/* A head is whole. */
static void take_head(struct client *client)
{
	client->head[client->head_len] = '\0';
	if (strncmp(client->head, "HTTP/1.1 100 ", 13) == 0) {
		assert(client->request && client->is_let_in && !client->is_continued);
		client->is_continued = true;
		client->head_len = 0;
		return;
	}
	if (client->expected.is_there)
		check_answer(client, client->head);
	else
		check_refusal(client, client->head);
	client->expected.is_last = strstr(client->head, "\r\nConnection: close\r\n");
	client->body_left = client->is_head && !client->is_refused ? 0 : client->expected.body;
	if (client->body_left == 0)
		end_answer(client);
}

static void take_byte(struct client *client, char c)
{
	assert(!client->is_over);
	if (client->body_left > 0) {
		if (--client->body_left == 0)
			end_answer(client);
		return;
	}
	assert(client->head_len + 1 < HEAD_SIZE);
	client->head[client->head_len++] = c;
	if (client->head_len >= 4 &&
	    memcmp(client->head + client->head_len - 4, "\r\n\r\n", 4) == 0)
		take_head(client);
}

enum transport_step transport_write(struct transport *transport, struct view bytes, size_t *ret_n)
{
	struct client *client = client_of(transport->fd);
	const size_t n = bytes.len < client->room ? bytes.len : client->room;

	assert(bytes.len > 0);
	if (n == 0)
		return transport_watch(transport, TRANSPORT_WRITE);
	for (size_t i = 0; i < n; i++)
		take_byte(client, bytes.ptr[i]);
	if (client->room != SIZE_MAX)
		client->room -= n;
	*ret_n = n;
	return TRANSPORT_DONE;
}

/* The handler */

static struct client *client_with(const struct server_request *request)
{
	for (size_t i = 0; i < N_CLIENTS; i++)
		if (clients[i].is_open && clients[i].owner == request->connection)
			return &clients[i];
	abort();
}

static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	struct client *client = client_with(request);

	(void)owner;
	assert(!client->request && !client->expected.is_there && !client->is_refused);
	assert(client->head_len == 0 && !client->is_over);
	assert(head->path.len > 0 && head->content_length <= (int64_t)MAX_BODY);
	const char *end = memmem(client->read, client->n_read, "\r\n\r\n", 4);
	assert(end);
	client->head_end = (size_t)(end - client->read) + 4;
	client->request_len = client->head_end +
			      (head->content_length > 0 ? (size_t)head->content_length : 0);
	client->request = request;
	client->is_head = view_equal(head->method, VIEW("HEAD"));
	client->is_let_in = client->has_body = client->is_continued = false;
	client->moved_at = fake_now_ms;
}

static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	struct client *client = client_with(request);

	(void)owner;
	assert(client->request == request && client->is_let_in && !client->has_body);
	assert(body.len == (head->content_length > 0 ? (size_t)head->content_length : 0));
	assert(view_equal(body, (struct view){client->read + client->head_end, body.len}));
	client->has_body = true;
	client->moved_at = fake_now_ms;
}

static void on_done(void *owner, struct server_request *request)
{
	(void)owner, (void)request;
	n_done++;
}

static void on_release(void *owner)
{
	(void)owner;
	n_released++;
}

static void proceed(struct client *client)
{
	client->is_let_in = true;
	client->moved_at = fake_now_ms;
	n_let_in++;
	connection_proceed(client->request->connection);
}

static void answer(struct client *client, uint8_t how)
{
	static const struct view parts[] = {VIEW_INIT(""), {large, LARGE_SIZE / 2}, VIEW_INIT("end")};
	struct server_request *request = client->request;
	struct server_answer said = {
		.status = 200,
		.content_type = "text/plain",
		.retry_after_s = ++n_serials,
		.close = how & 1u,
		.idle_long = how & 2u,
		.is_delayed = how & 16u,
		.body = {large, how & 4u ? LARGE_SIZE : how >> 4},
	};

	if (how & 8u) {
		said.shared = (struct server_shared){parts, ARRAY_SIZE(parts), on_release, NULL};
		n_shared++;
	}
	client->expected = (struct expected){
		.is_there = true,
		.is_last = said.close,
		.delay_ms = said.is_delayed ? config.delay_ms : 0,
		.body = said.body.len + (how & 8u ? LARGE_SIZE / 2 + 3 : 0),
		.serial = n_serials,
	};
	client->request = NULL;
	client->moved_at = client->answered_at = fake_now_ms;
	connection_answer(request->connection, &said);
}

/* The program */

struct program {
	const uint8_t *at, *end;
};

static uint8_t next_byte(struct program *program)
{
	return program->at < program->end ? *program->at++ : 0;
}

static struct view next_bytes(struct program *program, size_t n)
{
	const size_t left = (size_t)(program->end - program->at);
	const struct view bytes = {(const char *)program->at, n < left ? n : left};

	program->at += bytes.len;
	return bytes;
}

/* All but the large buffers. */
static void forget(struct client *client)
{
	memset(client, 0, offsetof(struct client, queue));
}

static void come(struct client *client, uint8_t from)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in v4 = {.sin_family = AF_INET};

	if (client->is_open)
		return;
	v4.sin_addr.s_addr = htonl(0xc0000200u + from % 3);
	memcpy(&address, &v4, sizeof(v4));
	forget(client);
	client->room = SIZE_MAX;
	client->moved_at = fake_now_ms;
	client->is_open = true;
	connection_accept(&set, FIRST_FD + (int)(client - clients), &address);
	client->is_open = client->owner != NULL && client->is_open;
}

static void send_bytes(struct client *client, struct view bytes)
{
	if (client->at > 0) {
		memmove(client->queue, client->queue + client->at, client->len - client->at);
		client->len -= client->at;
		client->at = 0;
	}
	if (!client->is_open || client->has_ended || bytes.len > QUEUE_SIZE - client->len)
		return;
	if (bytes.len > 0)
		memcpy(client->queue + client->len, bytes.ptr, bytes.len);
	client->len += bytes.len;
}

static void send_text(struct client *client, uint8_t which)
{
	static const struct view texts[] = {
		VIEW_INIT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
		VIEW_INIT("HEAD /h?q HTTP/1.1\r\nHost: a\r\n\r\n"),
		VIEW_INIT("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"),
		VIEW_INIT("hello"),
		VIEW_INIT("POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"),
		VIEW_INIT("POST /l HTTP/1.1\r\nHost: a\r\nContent-Length: 39999\r\n\r\n"),
		VIEW_INIT("POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 40001\r\n\r\n"),
		VIEW_INIT("GET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
		VIEW_INIT("GET / HTTP/1.0\r\n\r\n"),
		VIEW_INIT("\r\n"),
		VIEW_INIT("POST /z HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
	};

	send_bytes(client, texts[which % ARRAY_SIZE(texts)]);
}

static void send_many(struct client *client, uint8_t n)
{
	static char filler[256 * 160];

	send_bytes(client, (struct view){filler, (size_t)n * 160});
}

static void decide(struct client *client, uint8_t how)
{
	if (!client->request)
		return;
	if (how & 128u && !client->has_body)
		(void)connection_vouch(client->request->connection,
				       how & 1u ? VIEW("a") : (struct view){NULL, 0});
	if (!client->is_let_in && how & 64u)
		proceed(client);
	else if (!client->is_let_in || client->has_body)
		answer(client, how & 63u);
}

/* Until nobody can go on. */
static void pump(void)
{
	bool goes_on = true;

	for (unsigned n = 0; goes_on; n++) {
		assert(n < 10000);
		goes_on = false;
		for (size_t i = 0; i < N_CLIENTS; i++) {
			struct client *client = &clients[i];
			const bool can_read = client->at < client->len || client->has_ended;
			const bool reads = client->interest == TRANSPORT_READ && can_read;
			const bool writes = client->interest == TRANSPORT_WRITE && client->room > 0;

			if (!client->is_open || (!reads && !writes))
				continue;
			client->ready(client->owner, reads, writes);
			goes_on = true;
		}
		fake_loop_advance(time_of_all, 0);
	}
}

static void check_time(const struct client *client)
{
	const uint64_t waited = fake_now_ms - client->moved_at;

	if (!client->is_open || is_decided_late(client))
		return;
	assert(waited <= LONGEST_MS);
	if (client->expected.is_there && !client->is_refused)
		assert(fake_now_ms - client->answered_at <=
		       config.write_timeout_ms + 2 * client->expected.delay_ms);
}

/* A request that has come is told of, once the one before it is answered. */
static void check_heads(const struct client *client)
{
	const bool waits = client->request || client->expected.is_there || client->is_over ||
			   client->interest == TRANSPORT_WRITE; /* maybe a refusal's beginning */

	if (client->is_open && !waits)
		assert(client->n_read == 0 || !memmem(client->read, client->n_read, "\r\n\r\n", 4));
}

static void check_all(void)
{
	unsigned n_open = 0;

	for (size_t i = 0; i < N_CLIENTS; i++) {
		check_time(&clients[i]);
		check_heads(&clients[i]);
		n_open += clients[i].is_open;
	}
	assert(n_open == set.counters.open && n_open <= config.max_connections);
	assert(set.counters.idle <= set.counters.open);
	assert(n_done <= n_let_in && n_released <= n_shared);
	assert(allocated() <= before + SET_BYTES + n_open * (CONNECTION_BYTES + BUFFER_BYTES));
}

static void take_step(struct program *program)
{
	const uint8_t kind = next_byte(program), operand = next_byte(program);
	struct client *client = &clients[(kind >> 4) % N_CLIENTS];

	switch (kind & 7u) {
	case 0:
		come(client, operand);
		break;
	case 1:
		send_bytes(client, next_bytes(program, operand));
		break;
	case 2:
		send_text(client, operand);
		break;
	case 3:
		send_many(client, operand);
		break;
	case 4:
		client->room = operand == 255 ? SIZE_MAX : operand;
		break;
	case 5:
		fake_loop_advance(time_of_all, UINT64_C(1) << operand % 13);
		break;
	case 6:
		decide(client, operand);
		break;
	default:
		client->has_ended = true;
	}
}

static void start(void)
{
	const struct server_handler handler = {NULL, on_head, on_request, on_done};
	struct error err;
	int result;

	n_serials = n_let_in = n_done = n_shared = n_released = 0;
	is_ending = false;
	for (size_t i = 0; i < N_CLIENTS; i++)
		forget(&clients[i]);
	before = allocated();
	result = loop_new(&time_of_all, &err);
	assert(result == 0);
	result = connection_set_init(&set, time_of_all, &config, &handler, &err);
	assert(result == 0);
}

static void stop(void)
{
	is_ending = true;
	connection_set_deinit(&set);
	loop_free(time_of_all);
	assert(n_done == n_let_in && n_released == n_shared);
	assert(allocated() <= before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program program = {data, data + size};

	start();
	for (unsigned n = 0; n < MAX_STEPS && program.at < program.end; n++) {
		take_step(&program);
		pump();
		check_all();
	}
	stop();
	return 0;
}
