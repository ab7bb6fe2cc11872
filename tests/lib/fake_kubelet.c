/* SPDX-License-Identifier: Apache-2.0 */

/*
 * HPACK without its tables: every header is written as a literal with a literal name (RFC 7541,
 * 6.2.2). Requests are not decoded. Their paths are Huffman-coded, and all else in the headers is
 * the same. So the method with the longer name is the one with the longer HEADERS frame.
 *
 * Flow control is not implemented: libcurl opens windows of 32 MiB.
 */

#include "lib/fake_kubelet.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/grpcmsg.h"

enum { FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_SETTINGS = 4, END_STREAM = 1, END_HEADERS = 4 };
enum { FRAME_MAX = 16384, CAP = 64 << 20 };

static void write_frame(unsigned type, unsigned flags, unsigned stream, struct view payload,
			struct sbuf *buf)
{
	assert(payload.len <= FRAME_MAX);
	const char head[] = {
		(char)(payload.len >> 16), (char)(payload.len >> 8 & 0xff),
		(char)(payload.len & 0xff),
		(char)type, (char)flags, 0, 0, 0, (char)stream,
	};
	sbuf_append(buf, (struct view){head, sizeof(head)});
	sbuf_append(buf, payload);
}

static void write_header(const char *name, const char *value, struct sbuf *block)
{
	struct view parts[] = {view_from(name), view_from(value)};
	sbuf_append_char(block, 0);
	for (size_t i = 0; i < 2; i++) {
		assert(parts[i].len < 127);
		sbuf_append_char(block, (char)parts[i].len);
		sbuf_append(block, parts[i]);
	}
}

static void write_trailers(const struct fake_kubelet_answer *answer, struct sbuf *block)
{
	if (answer->grpc_status)
		write_header("grpc-status", answer->grpc_status, block);
	if (answer->grpc_message)
		write_header("grpc-message", answer->grpc_message, block);
}

static void write_body(struct view body, struct sbuf *buf)
{
	while (body.len > 0) {
		struct view part = {body.ptr, body.len < FRAME_MAX ? body.len : FRAME_MAX};
		write_frame(FRAME_DATA, 0, 1, part, buf);
		body = view_from_offset(body, part.len);
	}
}

void fake_kubelet_write(const struct fake_kubelet_answer *answer, struct sbuf *buf)
{
	CLEANUP(sbuf_deinit) struct sbuf head;
	CLEANUP(sbuf_deinit) struct sbuf trailers;
	sbuf_init(&head, CAP);
	sbuf_init(&trailers, CAP);
	char status[16];
	snprintf(status, sizeof(status), "%d", answer->http_status ? answer->http_status : 200);
	write_header(":status", status, &head);
	write_header("content-type",
		     answer->content_type ? answer->content_type : "application/grpc", &head);
	write_trailers(answer, answer->trailers_only ? &head : &trailers);

	write_frame(FRAME_SETTINGS, 0, 0, VIEW(""), buf);
	unsigned flags = END_HEADERS | (answer->trailers_only ? END_STREAM : 0);
	write_frame(FRAME_HEADERS, flags, 1, sbuf_view(&head), buf);
	if (answer->trailers_only)
		return;
	write_body(answer->body, buf);
	if (answer->cut)
		return;
	if (trailers.len > 0)
		write_frame(FRAME_HEADERS, END_HEADERS | END_STREAM, 1, sbuf_view(&trailers), buf);
	else
		write_frame(FRAME_DATA, END_STREAM, 1, VIEW(""), buf);
}

void fake_kubelet_write_message(struct view message, struct sbuf *buf)
{
	CLEANUP(sbuf_deinit) struct sbuf body;
	sbuf_init(&body, message.len + GRPCMSG_PREFIX_SIZE);
	grpcmsg_append(&body, message);
	const struct fake_kubelet_answer answer = {.body = sbuf_view(&body), .grpc_status = "0"};
	fake_kubelet_write(&answer, buf);
}

static void write_varint(uint64_t value, struct sbuf *buf)
{
	for (; value >= 0x80; value >>= 7)
		sbuf_append_char(buf, (char)((value & 0x7f) | 0x80));
	sbuf_append_char(buf, (char)value);
}

void fake_kubelet_field(unsigned number, struct view bytes, struct sbuf *buf)
{
	write_varint((uint64_t)number << 3 | 2, buf);
	write_varint(bytes.len, buf);
	sbuf_append(buf, bytes);
}

void fake_kubelet_devices(unsigned number, const char *resource, const char *device_id,
			  struct sbuf *buf)
{
	CLEANUP(sbuf_deinit) struct sbuf devices;
	sbuf_init(&devices, CAP);
	fake_kubelet_field(1, view_from(resource), &devices);
	fake_kubelet_field(2, view_from(device_id), &devices);
	fake_kubelet_field(number, sbuf_view(&devices), buf);
}

void fake_kubelet_pod(const char *namespace, const char *name, const char *container,
		      const char *resource, const char *device_id, struct sbuf *buf)
{
	CLEANUP(sbuf_deinit) struct sbuf holder;
	CLEANUP(sbuf_deinit) struct sbuf pod;
	sbuf_init(&holder, CAP);
	sbuf_init(&pod, CAP);
	fake_kubelet_field(1, view_from(container), &holder);
	fake_kubelet_devices(2, resource, device_id, &holder);
	fake_kubelet_field(1, view_from(name), &pod);
	fake_kubelet_field(2, view_from(namespace), &pod);
	fake_kubelet_field(3, sbuf_view(&holder), &pod);
	fake_kubelet_field(1, sbuf_view(&pod), buf);
}

/* The server. */

/* Between the sizes of the HEADERS frames of the two methods. */
#define LONGEST_LIST_HEADERS 86u
#define N_METHODS 2

struct connection {
	struct connection *next;
	struct fake_kubelet *kubelet;
	struct loop_watch *readable;
	struct loop_watch *writable;
	struct sbuf in;
	struct sbuf out;
	int fd;
};

struct fake_kubelet {
	struct loop *loop;
	struct loop_watch *watch;
	struct connection *connections;
	struct sbuf answers[N_METHODS];
	unsigned calls[N_METHODS];
	int fd;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	abort();
}

static void hang_up(struct connection *connection)
{
	loop_watch_free(connection->readable);
	loop_watch_free(connection->writable);
	connection->readable = NULL;
	connection->writable = NULL;
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

static void write_out(void *owner, bool readable, bool writable)
{
	(void)readable;
	(void)writable;
	struct connection *connection = owner;
	struct view rest = sbuf_view(&connection->out);
	ssize_t n = rest.len ? send(connection->fd, rest.ptr, rest.len, MSG_NOSIGNAL | MSG_DONTWAIT)
			     : 0;
	if (n > 0)
		sbuf_consume(&connection->out, (size_t)n);
	if (connection->out.len > 0)
		return;
	loop_watch_free(connection->writable);
	connection->writable = NULL;
}

/* Size of the request's HEADERS frame once the stream has ended, else 0. */
static size_t headers_size(struct view in)
{
	const size_t preface = 24, frame_head = 9;
	size_t headers = 0;
	for (size_t at = preface; at + frame_head <= in.len;) {
		const unsigned char *frame = (const unsigned char *)in.ptr + at;
		size_t size = (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
		at += frame_head + size;
		if (frame[3] == FRAME_HEADERS)
			headers = size;
		if (at <= in.len && frame[3] <= FRAME_HEADERS && (frame[4] & END_STREAM))
			return headers;
	}
	return 0;
}

static void answer_request(struct connection *connection, size_t headers)
{
	struct fake_kubelet *kubelet = connection->kubelet;
	struct error err;
	enum fake_kubelet_method method =
		headers <= LONGEST_LIST_HEADERS ? FAKE_KUBELET_LIST : FAKE_KUBELET_ADVERTISED;
	kubelet->calls[method]++;
	sbuf_append(&connection->out, sbuf_view(&kubelet->answers[method]));
	if (connection->out.len == 0)
		return;
	must(loop_watch_new(kubelet->loop, connection->fd, LOOP_WRITE, write_out, connection,
			    &connection->writable, &err) == 0,
	     "watch a connection");
}

static void read_in(void *owner, bool readable, bool writable)
{
	(void)readable;
	(void)writable;
	struct connection *connection = owner;
	char bytes[16384];
	ssize_t n = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n <= 0) {
		hang_up(connection);
		return;
	}
	bool was_whole = headers_size(sbuf_view(&connection->in)) > 0;
	sbuf_append(&connection->in, (struct view){bytes, (size_t)n});
	size_t headers = headers_size(sbuf_view(&connection->in));
	if (headers > 0 && !was_whole)
		answer_request(connection, headers);
}

static void accept_connection(void *owner, bool readable, bool writable)
{
	(void)readable;
	(void)writable;
	struct fake_kubelet *kubelet = owner;
	struct error err;
	struct connection *connection = calloc(1, sizeof(*connection));
	must(connection, "memory");
	connection->fd = accept4(kubelet->fd, NULL, NULL, SOCK_CLOEXEC);
	must(connection->fd >= 0, "accept");
	connection->kubelet = kubelet;
	connection->next = kubelet->connections;
	kubelet->connections = connection;
	sbuf_init(&connection->in, CAP);
	sbuf_init(&connection->out, CAP);
	must(loop_watch_new(kubelet->loop, connection->fd, LOOP_READ, read_in, connection,
			    &connection->readable, &err) == 0,
	     "watch a connection");
}

struct fake_kubelet *fake_kubelet_new(struct loop *loop, const char *path)
{
	struct error err;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct fake_kubelet *kubelet = calloc(1, sizeof(*kubelet));
	must(kubelet && strlen(path) < sizeof(address.sun_path), "a path for a unix socket");
	memcpy(address.sun_path, path, strlen(path));
	memcpy(kubelet->path, path, strlen(path));
	kubelet->loop = loop;
	for (size_t i = 0; i < N_METHODS; i++) {
		sbuf_init(&kubelet->answers[i], CAP);
		fake_kubelet_set_message(kubelet, (enum fake_kubelet_method)i, VIEW(""));
	}
	kubelet->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unlink(path);
	must(kubelet->fd >= 0 &&
		     bind(kubelet->fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		     listen(kubelet->fd, 16) == 0,
	     "listen on a unix socket");
	must(loop_watch_new(loop, kubelet->fd, LOOP_READ, accept_connection, kubelet,
			    &kubelet->watch, &err) == 0,
	     "watch a socket");
	return kubelet;
}

void fake_kubelet_free(struct fake_kubelet *kubelet)
{
	if (!kubelet)
		return;
	while (kubelet->connections) {
		struct connection *connection = kubelet->connections;
		kubelet->connections = connection->next;
		hang_up(connection);
		sbuf_deinit(&connection->in);
		sbuf_deinit(&connection->out);
		free(connection);
	}
	for (size_t i = 0; i < N_METHODS; i++)
		sbuf_deinit(&kubelet->answers[i]);
	loop_watch_free(kubelet->watch);
	close(kubelet->fd);
	unlink(kubelet->path);
	free(kubelet);
}

void fake_kubelet_set(struct fake_kubelet *kubelet, enum fake_kubelet_method method,
		      struct view bytes)
{
	sbuf_clear(&kubelet->answers[method]);
	sbuf_append(&kubelet->answers[method], bytes);
}

void fake_kubelet_set_message(struct fake_kubelet *kubelet, enum fake_kubelet_method method,
			      struct view message)
{
	sbuf_clear(&kubelet->answers[method]);
	fake_kubelet_write_message(message, &kubelet->answers[method]);
}

unsigned fake_kubelet_calls(const struct fake_kubelet *kubelet, enum fake_kubelet_method method)
{
	return kubelet->calls[method];
}
