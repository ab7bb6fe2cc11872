/* SPDX-License-Identifier: Apache-2.0 */
#include "io/outgoing.h"

#include <assert.h>

static size_t shared_size(const struct server_shared *shared)
{
	size_t size = 0;
	for (size_t i = 0; i < shared->n_parts; i++)
		size += shared->parts[i].len;
	return size;
}

static void release_shared(struct outgoing *out)
{
	if (out->shared.release)
		out->shared.release(out->shared.owner);
	out->shared = (struct server_shared){0};
	out->part = 0;
	out->part_sent = 0;
}

void outgoing_init(struct outgoing *out, size_t cap)
{
	*out = (struct outgoing){0};
	sbuf_init(&out->own, cap);
}

void outgoing_deinit(struct outgoing *out)
{
	outgoing_end(out);
	sbuf_deinit(&out->own);
}

void outgoing_add(struct outgoing *out, struct view bytes)
{
	sbuf_append(&out->own, bytes);
}

void outgoing_add_answer(struct outgoing *out, struct httpmsg_answer head,
			 const struct server_answer *answer, bool with_body)
{
	assert(!out->shared.release && out->shared.n_parts == 0);
	head.content_length = shared_size(&answer->shared) + answer->body.len;
	httpmsg_write(&head, &out->own);
	out->shared = answer->shared;
	out->head = out->own.len;
	if (with_body)
		sbuf_append(&out->own, answer->body);
	else
		release_shared(out);
}

bool outgoing_is_whole(const struct outgoing *out)
{
	return out->own.failure == ERROR_NONE;
}

/* The shared parts follow when the head is sent. */
static bool is_at_part(const struct outgoing *out)
{
	return out->part < out->shared.n_parts && out->sent == out->head;
}

/* An empty part is passed over. */
struct view outgoing_next(struct outgoing *out)
{
	const struct view own = sbuf_view(&out->own);
	while (out->part < out->shared.n_parts &&
	       out->part_sent == out->shared.parts[out->part].len) {
		out->part++;
		out->part_sent = 0;
	}
	if (is_at_part(out))
		return view_from_offset(out->shared.parts[out->part], out->part_sent);
	if (out->part < out->shared.n_parts)
		return (struct view){own.ptr + out->sent, out->head - out->sent};
	return view_from_offset(own, out->sent);
}

void outgoing_note(struct outgoing *out, size_t n)
{
	if (is_at_part(out))
		out->part_sent += n;
	else
		out->sent += n;
}

void outgoing_end(struct outgoing *out)
{
	release_shared(out);
	sbuf_clear(&out->own);
	out->sent = 0;
	out->head = 0;
}
