/* SPDX-License-Identifier: Apache-2.0 */

/* HPACK without its tables: every header is a literal with a literal name (RFC 7541, 6.2.2). */

#include "lib/fake_kubelet.h"

#include <assert.h>
#include <stdio.h>

#include "wire/grpcmsg.h"

enum { FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_SETTINGS = 4, END_STREAM = 1, END_HEADERS = 4 };
enum { FRAME_MAX = 16384, CAP = 1 << 20 };

static void write_frame(unsigned type, unsigned flags, unsigned stream, struct view payload,
			struct sbuf *buf)
{
	assert(payload.len <= FRAME_MAX);
	const char head[] = {
		(char)(payload.len >> 16), (char)(payload.len >> 8 & 0xff), (char)(payload.len & 0xff),
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
