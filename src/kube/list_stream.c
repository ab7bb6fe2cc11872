/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A list in protobuf is the magic number and an envelope whose `raw` is the list message:
 *
 *	envelope (runtime.Unknown)   1 typeMeta, 2 raw, 3 contentEncoding, 4 contentType
 *	list message                 1 ListMeta, 2 one object, repeated
 *
 * So there are only two levels of fields. No stack is needed, only `in_list` and how many bytes of
 * the list are left. Tag and length of a field may be cut anywhere, so they are gathered in `head`,
 * byte by byte. Values that are needed are taken in place or gathered in `held`; others are counted
 * down.
 *
 * The envelope does not say where it ends. The list is complete whenever the list message was read
 * to its end and no field has begun behind it.
 *
 * JSON is cut by wire/jscan; its top-level members give the list's metadata.
 */

#include "kube/list_stream.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "wire/jwalk.h"
#include "wire/pbscan.h"

#define META_CAP (64u * LIMIT_KIB)

enum { MAGIC, FIELD, VALUE, SKIP, BROKEN };

/* Field numbers. */
enum {
	ENVELOPE_TYPE = 1,
	ENVELOPE_RAW = 2,
	TYPE_API_VERSION = 1,
	TYPE_KIND = 2,
	LIST_META = 1,
	LIST_OBJECT = 2,
	LIST_META_VERSION = 2,
	LIST_META_CONTINUE = 3,
};

static const char magic[4] = {'k', '8', 's', '\0'};

void list_stream_init(struct list_stream *stream, enum resource_encoding encoding, size_t cap)
{
	assert(cap > 0);
	*stream = (struct list_stream){.encoding = encoding};
	sbuf_init(&stream->api_version, META_CAP);
	sbuf_init(&stream->kind, META_CAP);
	sbuf_init(&stream->resource_version, META_CAP);
	sbuf_init(&stream->continue_token, META_CAP);
	sbuf_init(&stream->held, cap);
	jscan_init(&stream->json, cap);
}

void list_stream_deinit(struct list_stream *stream)
{
	sbuf_deinit(&stream->api_version);
	sbuf_deinit(&stream->kind);
	sbuf_deinit(&stream->resource_version);
	sbuf_deinit(&stream->continue_token);
	sbuf_deinit(&stream->held);
	jscan_deinit(&stream->json);
}

void list_stream_reset(struct list_stream *stream)
{
	size_t cap = stream->held.cap;
	sbuf_clear(&stream->api_version);
	sbuf_clear(&stream->kind);
	sbuf_clear(&stream->resource_version);
	sbuf_clear(&stream->continue_token);
	sbuf_clear(&stream->held);
	jscan_deinit(&stream->json);
	jscan_init(&stream->json, cap);
	stream->complete = false;
	stream->n_skipped = 0;
	stream->n_head = 0;
	stream->n_magic = 0;
	stream->state = MAGIC;
	stream->list_left = 0;
	stream->in_list = false;
}

static enum list_stream_step failed(struct list_stream *stream)
{
	stream->state = BROKEN;
	stream->complete = false;
	return LIST_STREAM_FAILED;
}

static enum list_stream_step malformed(struct list_stream *stream, const char *what,
				       struct error *err)
{
	error_set(err, ERROR_REJECTED, 0, "malformed list: %s", what);
	return failed(stream);
}

static int keep_text(struct sbuf *buf, struct view text, const char *what, struct error *err)
{
	sbuf_clear(buf);
	sbuf_append(buf, text);
	return sbuf_check(buf, what, err);
}

/* JSON. */

static int take_member(struct list_stream *stream, struct view key, struct view value,
		       struct error *err)
{
	struct view text;
	struct sbuf *buf = NULL;
	if (view_equal(key, VIEW("apiVersion")))
		buf = &stream->api_version;
	else if (view_equal(key, VIEW("kind")))
		buf = &stream->kind;
	else if (view_equal(key, VIEW("resourceVersion")))
		buf = &stream->resource_version;
	else if (view_equal(key, VIEW("continue")))
		buf = &stream->continue_token;
	if (!buf)
		return 0;
	if (!jwalk_text(value, &text))
		return error_set(err, ERROR_REJECTED, 0, "malformed list: %.*s is no plain text",
				 VIEW_ARG(key));
	return keep_text(buf, text, "metadata of a list", err);
}

static int take_json_member(struct list_stream *stream, struct view key, struct view value,
			    struct error *err)
{
	struct jwalk walk;
	if (!view_equal(key, VIEW("metadata"))) {
		if (view_equal(key, VIEW("apiVersion")) || view_equal(key, VIEW("kind")))
			return take_member(stream, key, value, err);
		return 0;
	}
	jwalk_init(&walk, value);
	while (jwalk_next(&walk, &key, &value)) {
		if (take_member(stream, key, value, err) != 0)
			return -1;
	}
	return jwalk_check(&walk, "metadata of a list", err);
}

static enum list_stream_step next_json(struct list_stream *stream, struct view *input,
				       struct view *ret_object, struct error *err)
{
	struct view key, value;
	for (;;) {
		switch (jscan_next(&stream->json, input, &key, &value, err)) {
		case JSCAN_MORE:
			return LIST_STREAM_MORE;
		case JSCAN_ITEM:
			*ret_object = value;
			return LIST_STREAM_OBJECT;
		case JSCAN_MEMBER:
			if (take_json_member(stream, key, value, err) != 0)
				return failed(stream);
			break;
		case JSCAN_END:
			stream->complete = true;
			break;
		case JSCAN_FAILED:
			return failed(stream);
		}
	}
}

/* Protobuf. */

static int read_type(struct list_stream *stream, struct view message, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == TYPE_API_VERSION &&
		    keep_text(&stream->api_version, field.bytes, "apiVersion", err) != 0)
			return -1;
		if (field.number == TYPE_KIND &&
		    keep_text(&stream->kind, field.bytes, "kind", err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "type of a list", err);
}

static int read_meta(struct list_stream *stream, struct view message, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == LIST_META_VERSION &&
		    keep_text(&stream->resource_version, field.bytes, "resourceVersion", err) != 0)
			return -1;
		if (field.number == LIST_META_CONTINUE &&
		    keep_text(&stream->continue_token, field.bytes, "continue", err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "metadata of a list", err);
}

/* The number of input bytes that belong to the list message is counted down here only. */
static struct view take_input(struct list_stream *stream, struct view *input, uint64_t wanted)
{
	struct view taken = {input->ptr, wanted < input->len ? (size_t)wanted : input->len};
	*input = view_from_offset(*input, taken.len);
	if (stream->in_list) {
		assert(taken.len <= stream->list_left);
		stream->list_left -= taken.len;
	}
	return taken;
}

static bool read_magic(struct list_stream *stream, struct view *input)
{
	assert(stream->n_magic < sizeof(magic));
	while (input->len > 0 && stream->n_magic < sizeof(magic)) {
		if (*input->ptr != magic[stream->n_magic])
			return false;
		stream->n_magic++;
		*input = view_from_offset(*input, 1);
	}
	if (stream->n_magic == sizeof(magic))
		stream->state = FIELD;
	return true;
}

/* Makes the state fit the field whose tag and length are known; NULL, or what is wrong with it. */
static const char *begin_field(struct list_stream *stream, uint64_t tag, uint64_t value)
{
	static const uint64_t sizes[] = {[PBSCAN_VARINT] = 0, [PBSCAN_FIXED64] = 8,
					 [PBSCAN_FIXED32] = 4};
	assert(stream->state == FIELD && stream->n_head == 0);
	uint64_t wire = tag & 7;
	if (wire != PBSCAN_VARINT && wire != PBSCAN_FIXED64 && wire != PBSCAN_FIXED32 &&
	    wire != PBSCAN_BYTES)
		return "unknown wire type";
	uint64_t size = wire == PBSCAN_BYTES ? value : sizes[wire];
	if (stream->in_list && size > stream->list_left)
		return "a field longer than the list";
	stream->field = tag >> 3 <= UINT32_MAX ? (uint32_t)(tag >> 3) : 0;
	if (stream->field == 0)
		return "a field without number";
	stream->value_left = size;
	stream->state = SKIP;
	if (wire != PBSCAN_BYTES)
		return NULL;
	if (!stream->in_list && stream->field == ENVELOPE_RAW) {
		if (stream->complete)
			return "two lists in one";
		stream->in_list = true;
		stream->list_left = size;
		stream->state = FIELD;
	} else if (stream->field == (stream->in_list ? LIST_META : ENVELOPE_TYPE) ||
		   (stream->in_list && stream->field == LIST_OBJECT)) {
		stream->state = VALUE;
	}
	return NULL;
}

/* Reads one byte of tag and length. NULL, or what is wrong. */
static const char *read_head(struct list_stream *stream, struct view *input)
{
	uint64_t tag, value = 0;
	assert(input->len > 0);
	if (stream->n_head == sizeof(stream->head))
		return "a field head without end";
	stream->head[stream->n_head++] = (unsigned char)*take_input(stream, input, 1).ptr;
	struct view head = {(const char *)stream->head, stream->n_head};
	int n = pbscan_varint(&head, &tag);
	bool has_value = n > 0 && ((tag & 7) == PBSCAN_VARINT || (tag & 7) == PBSCAN_BYTES);
	if (has_value)
		n = pbscan_varint(&head, &value);
	if (n < 0)
		return "a number over 64 bits";
	if (n == 0)
		return NULL;
	stream->n_head = 0;
	return begin_field(stream, tag, value);
}

static const char *read_field(struct list_stream *stream, struct view *input)
{
	assert(stream->held.len == 0); /* values are read whole before the next field */
	if (stream->in_list && stream->list_left == 0) {
		if (stream->n_head > 0)
			return "a field cut by the end of the list";
		stream->in_list = false;
		stream->complete = true;
		return NULL;
	}
	return input->len > 0 ? read_head(stream, input) : NULL;
}

/*
 * Takes the value in place, or gathers it. True when *ret is the whole value. A value over the cap
 * does not come here: no byte of it is kept.
 */
static bool read_value(struct list_stream *stream, struct view *input, struct view *ret)
{
	if (stream->held.len == 0 && input->len >= stream->value_left) {
		*ret = take_input(stream, input, stream->value_left);
		stream->value_left = 0;
		return true;
	}
	if (stream->held.len == 0)
		sbuf_reserve(&stream->held, (size_t)stream->value_left);
	struct view part = take_input(stream, input, stream->value_left);
	sbuf_append(&stream->held, part);
	stream->value_left -= part.len;
	*ret = sbuf_view(&stream->held);
	return stream->value_left == 0;
}

/* A whole value that is not an object. */
static int take_value(struct list_stream *stream, struct view value, struct error *err)
{
	int result = stream->in_list ? read_meta(stream, value, err)
				     : read_type(stream, value, err);
	sbuf_clear(&stream->held);
	return result;
}

static enum list_stream_step next_value(struct list_stream *stream, struct view *input,
					struct view *ret_object, struct error *err)
{
	assert(stream->state == VALUE);
	struct view value;
	bool is_object = stream->in_list && stream->field == LIST_OBJECT;
	size_t cap = is_object ? stream->held.cap : META_CAP;
	bool is_over = stream->held.len + stream->value_left > cap;
	if (is_over && is_object) {
		stream->n_skipped++;
		stream->state = SKIP;
		return LIST_STREAM_MORE;
	}
	if (is_over) {
		error_set(err, ERROR_LIMIT, 0, "metadata of a list over %zu bytes", cap);
		return failed(stream);
	}
	if (!read_value(stream, input, &value)) {
		if (sbuf_check(&stream->held, "object", err) != 0)
			return failed(stream);
		return LIST_STREAM_MORE;
	}
	stream->state = FIELD;
	if (is_object) {
		*ret_object = value;
		return LIST_STREAM_OBJECT;
	}
	if (take_value(stream, value, err) != 0)
		return failed(stream);
	return LIST_STREAM_MORE;
}

/* True when there is nothing left to do with this input. */
static bool is_stuck(const struct list_stream *stream, struct view input)
{
	if (input.len > 0)
		return false;
	if (stream->state == FIELD)
		return !(stream->in_list && stream->list_left == 0);
	return stream->state == MAGIC || stream->value_left > 0;
}

static enum list_stream_step next_protobuf(struct list_stream *stream, struct view *input,
					   struct view *ret_object, struct error *err)
{
	const char *wrong = NULL;
	/* What was yielded last is not borrowed any more. */
	if (stream->state == FIELD && stream->held.len > 0)
		sbuf_clear(&stream->held);
	while (!is_stuck(stream, *input)) {
		enum list_stream_step step = LIST_STREAM_MORE;
		switch (stream->state) {
		case MAGIC:
			if (!read_magic(stream, input))
				wrong = "not Kubernetes protobuf";
			break;
		case FIELD:
			wrong = read_field(stream, input);
			break;
		case VALUE:
			step = next_value(stream, input, ret_object, err);
			break;
		case SKIP:
			stream->value_left -=
				take_input(stream, input, stream->value_left).len;
			if (stream->value_left == 0)
				stream->state = FIELD;
			break;
		default:
			wrong = "read on after a failure";
			break;
		}
		if (wrong)
			return malformed(stream, wrong, err);
		/* What is being read of the list ends with it at the latest. */
		assert(!stream->in_list || (stream->state != VALUE && stream->state != SKIP) ||
		       stream->value_left <= stream->list_left);
		if (step != LIST_STREAM_MORE)
			return step;
	}
	return LIST_STREAM_MORE;
}

enum list_stream_step list_stream_next(struct list_stream *stream, struct view *input,
				       struct view *ret_object, struct error *err)
{
	enum list_stream_step step = stream->encoding == RESOURCE_PROTOBUF
					     ? next_protobuf(stream, input, ret_object, err)
					     : next_json(stream, input, ret_object, err);
	assert(step != LIST_STREAM_MORE || input->len == 0);
	return step;
}

int list_stream_end(const struct list_stream *stream, struct error *err)
{
	bool between_fields = stream->encoding == RESOURCE_JSON ||
			      (stream->state == FIELD && stream->n_head == 0);
	if (!stream->complete || !between_fields)
		return error_set(err, ERROR_RETRY, 0, "the list is cut short");
	return 0;
}
