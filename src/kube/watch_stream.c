/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Protobuf: each frame is a length (four bytes, the most significant first) and a message:
 *
 *	meta.k8s.io WatchEvent       1 type, 2 object
 *	RawExtension (the object)    1 raw: magic number, envelope and object (see list_stream.c)
 *
 * JSON: one event a line, {"type": ..., "object": ...}.
 *
 * An event is taken in place when the input holds all of it, else gathered in `held` until it is
 * whole. In a line only the new bytes are searched for its end. An event over the limit is yielded
 * as unknown as soon as that is seen, and the rest of it is passed over.
 */

#include "kube/watch_stream.h"

#include <assert.h>

#include "wire/jwalk.h"
#include "wire/pbscan.h"

#define LENGTH_SIZE 4u
#define SKIP_FACTOR 16u /* of a frame, whose length is known */
#define LINE_FACTOR 2u  /* of a line, whose end may never come */

enum {
	EVENT_TYPE = 1,
	EVENT_OBJECT = 2,
	EXTENSION_RAW = 1,
	ENVELOPE_TYPE = 1,
	ENVELOPE_RAW = 2,
	TYPE_API_VERSION = 1,
	TYPE_KIND = 2,
};

static const struct view magic = VIEW_INIT("k8s\0");

void watch_stream_init(struct watch_stream *stream, enum resource_encoding encoding, size_t cap)
{
	assert(cap > 0 && cap <= SIZE_MAX - LENGTH_SIZE);
	*stream = (struct watch_stream){.encoding = encoding};
	sbuf_init(&stream->held, cap + LENGTH_SIZE);
}

void watch_stream_deinit(struct watch_stream *stream)
{
	sbuf_deinit(&stream->held);
}

void watch_stream_reset(struct watch_stream *stream)
{
	sbuf_clear(&stream->held);
	stream->skip_left = 0;
	stream->skips_line = false;
	stream->n_skipped = 0;
	stream->spent = false;
	stream->failed = false;
}

static enum watch_event_type type_of(struct view name)
{
	static const struct {
		struct view name;
		enum watch_event_type type;
	} rows[] = {
		{VIEW_INIT("ADDED"), WATCH_EVENT_ADDED},
		{VIEW_INIT("MODIFIED"), WATCH_EVENT_MODIFIED},
		{VIEW_INIT("DELETED"), WATCH_EVENT_DELETED},
		{VIEW_INIT("BOOKMARK"), WATCH_EVENT_BOOKMARK},
		{VIEW_INIT("ERROR"), WATCH_EVENT_ERROR},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (view_equal(name, rows[i].name))
			return rows[i].type;
	}
	return WATCH_EVENT_UNKNOWN;
}

/* Decoding one whole event. All of these give false for what cannot be decoded. */

/* The last field of that number, which must be bytes, or an empty view. */
static bool find_bytes(struct view message, uint32_t number, struct view *ret)
{
	struct pbscan scan;
	struct pbscan_field field;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == number)
			*ret = field.bytes;
	}
	return !scan.failed;
}

static bool read_type(struct view message, struct watch_event *event)
{
	return find_bytes(message, TYPE_API_VERSION, &event->api_version) &&
	       find_bytes(message, TYPE_KIND, &event->kind);
}

static bool read_envelope(struct view raw, struct watch_event *event)
{
	struct view type = {NULL, 0};
	if (!view_starts_with(raw, magic))
		return false;
	raw = view_from_offset(raw, magic.len);
	return find_bytes(raw, ENVELOPE_TYPE, &type) &&
	       find_bytes(raw, ENVELOPE_RAW, &event->object) && read_type(type, event);
}

static bool read_protobuf(struct view message, struct watch_event *event)
{
	struct view type = {NULL, 0}, extension = {NULL, 0}, raw = {NULL, 0};
	if (!find_bytes(message, EVENT_TYPE, &type) ||
	    !find_bytes(message, EVENT_OBJECT, &extension) ||
	    !find_bytes(extension, EXTENSION_RAW, &raw))
		return false;
	event->type = type_of(type);
	return read_envelope(raw, event);
}

static bool read_object_type(struct view object, struct watch_event *event)
{
	struct jwalk walk;
	struct view key, value;
	jwalk_init(&walk, object);
	/* Both stand before all else or behind it: no need to walk over spec and status. */
	while ((event->kind.len == 0 || event->api_version.len == 0) &&
	       jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, VIEW("kind")) && !jwalk_text(value, &event->kind))
			return false;
		if (view_equal(key, VIEW("apiVersion")) && !jwalk_text(value, &event->api_version))
			return false;
	}
	return walk.err.kind == ERROR_NONE;
}

static bool read_json(struct view line, struct watch_event *event)
{
	struct jwalk walk;
	struct view key, value, type;
	jwalk_init(&walk, line);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, VIEW("object")))
			event->object = value;
		else if (view_equal(key, VIEW("type")) && jwalk_text(value, &type))
			event->type = type_of(type);
	}
	return walk.err.kind == ERROR_NONE && read_object_type(event->object, event);
}

static enum watch_stream_step yield(const struct watch_stream *stream, struct view bytes,
				    struct watch_event *ret_event)
{
	struct watch_event event = {.type = WATCH_EVENT_UNKNOWN};
	assert(stream->spent == (stream->held.len > 0));
	bool decoded = stream->encoding == RESOURCE_PROTOBUF ? read_protobuf(bytes, &event)
							     : read_json(bytes, &event);
	*ret_event = decoded ? event : (struct watch_event){.type = WATCH_EVENT_UNKNOWN};
	return WATCH_STREAM_EVENT;
}

/* An event over the limit, of which `left` bytes are still to come. */
static enum watch_stream_step pass_over(struct watch_stream *stream, size_t left,
					struct watch_event *ret_event)
{
	assert(stream->skip_left == 0);
	sbuf_clear(&stream->held);
	stream->skip_left = left;
	*ret_event = (struct watch_event){.type = WATCH_EVENT_UNKNOWN};
	return WATCH_STREAM_EVENT;
}

static enum watch_stream_step hold(struct watch_stream *stream, struct view part,
				   struct error *err)
{
	assert(!stream->spent);
	sbuf_append(&stream->held, part);
	if (sbuf_check(&stream->held, "event", err) != 0) {
		stream->failed = true;
		return WATCH_STREAM_FAILED;
	}
	return WATCH_STREAM_MORE;
}

static struct view take(struct view *input, size_t n)
{
	struct view taken = {input->ptr, n < input->len ? n : input->len};
	*input = view_from_offset(*input, taken.len);
	return taken;
}

/* JSON. */

static size_t line_cap(const struct watch_stream *stream)
{
	return (stream->held.cap - LENGTH_SIZE) * LINE_FACTOR;
}

static enum watch_stream_step fail_line(struct watch_stream *stream, struct error *err)
{
	stream->failed = true;
	error_set(err, ERROR_LIMIT, 0, "an event of more than %zu bytes, without an end",
		  line_cap(stream));
	return WATCH_STREAM_FAILED;
}

static enum watch_stream_step next_line(struct watch_stream *stream, struct view *input,
					struct watch_event *ret_event, struct error *err)
{
	while (input->len > 0) {
		ptrdiff_t end = view_find_char(*input, '\n');
		struct view line = take(input, end < 0 ? input->len : (size_t)end + 1);
		assert(line.len > 0);
		assert(!stream->skips_line || stream->held.len == 0);
		if (stream->skips_line) {
			stream->skips_line = end < 0;
			stream->n_skipped += line.len;
			if (stream->skips_line && stream->n_skipped > line_cap(stream))
				return fail_line(stream, err);
			continue;
		}
		if (stream->held.len + line.len > stream->held.cap) {
			stream->skips_line = end < 0;
			stream->n_skipped = stream->held.len + line.len;
			return pass_over(stream, 0, ret_event);
		}
		if (end < 0)
			return hold(stream, line, err);
		if (stream->held.len > 0) {
			if (hold(stream, line, err) != WATCH_STREAM_MORE)
				return WATCH_STREAM_FAILED;
			line = sbuf_view(&stream->held);
			stream->spent = true;
		}
		if (view_trim(line).len > 0)
			return yield(stream, line, ret_event);
		watch_stream_reset(stream); /* a blank line */
	}
	return WATCH_STREAM_MORE;
}

/* Protobuf. */

static size_t frame_length(struct view frame)
{
	assert(frame.len >= LENGTH_SIZE);
	const unsigned char *p = (const unsigned char *)frame.ptr;
	return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | (size_t)p[3];
}

static enum watch_stream_step pass_over_frame(struct watch_stream *stream, size_t length,
					      struct watch_event *ret_event, struct error *err)
{
	size_t cap = stream->held.cap - LENGTH_SIZE;
	if (length / SKIP_FACTOR <= cap)
		return pass_over(stream, length, ret_event);
	stream->failed = true;
	error_set(err, ERROR_LIMIT, 0, "an event of %zu bytes, over %zu", length, cap);
	return WATCH_STREAM_FAILED;
}

/* The frame lies in held as far as it has come. */
static enum watch_stream_step continue_frame(struct watch_stream *stream, struct view *input,
					     struct watch_event *ret_event, struct error *err)
{
	struct sbuf *held = &stream->held;
	if (held->len < LENGTH_SIZE && hold(stream, take(input, LENGTH_SIZE - held->len), err) != WATCH_STREAM_MORE)
		return WATCH_STREAM_FAILED;
	if (held->len < LENGTH_SIZE)
		return WATCH_STREAM_MORE;
	size_t size = LENGTH_SIZE + frame_length(sbuf_view(held));
	if (size > held->cap)
		return pass_over_frame(stream, size - LENGTH_SIZE, ret_event, err);
	assert(held->len >= LENGTH_SIZE && held->len <= size);
	if (held->len == LENGTH_SIZE)
		sbuf_reserve(held, size - LENGTH_SIZE); /* once, not by doubling */
	if (hold(stream, take(input, size - held->len), err) != WATCH_STREAM_MORE)
		return WATCH_STREAM_FAILED;
	if (held->len < size)
		return WATCH_STREAM_MORE;
	stream->spent = true;
	return yield(stream, view_from_offset(sbuf_view(held), LENGTH_SIZE), ret_event);
}

static enum watch_stream_step next_frame(struct watch_stream *stream, struct view *input,
					 struct watch_event *ret_event, struct error *err)
{
	stream->skip_left -= take(input, stream->skip_left).len;
	if (input->len == 0)
		return WATCH_STREAM_MORE;
	assert(stream->skip_left == 0);
	if (stream->held.len == 0 && input->len >= LENGTH_SIZE) {
		size_t size = LENGTH_SIZE + frame_length(*input);
		if (size > stream->held.cap) {
			take(input, LENGTH_SIZE);
			return pass_over_frame(stream, size - LENGTH_SIZE, ret_event, err);
		}
		if (input->len >= size) {
			struct view frame = take(input, size);
			return yield(stream, view_from_offset(frame, LENGTH_SIZE), ret_event);
		}
	}
	return continue_frame(stream, input, ret_event, err);
}

enum watch_stream_step watch_stream_next(struct watch_stream *stream, struct view *input,
					 struct watch_event *ret_event, struct error *err)
{
	if (stream->spent)
		watch_stream_reset(stream);
	if (stream->failed) {
		error_set(err, ERROR_LIMIT, 0, "read on after a failure");
		return WATCH_STREAM_FAILED;
	}
	enum watch_stream_step step = stream->encoding == RESOURCE_PROTOBUF
					      ? next_frame(stream, input, ret_event, err)
					      : next_line(stream, input, ret_event, err);
	assert(step != WATCH_STREAM_MORE || input->len == 0);
	return step;
}

bool watch_stream_is_between_events(const struct watch_stream *stream)
{
	return (stream->held.len == 0 || stream->spent) && stream->skip_left == 0 &&
	       !stream->skips_line;
}
