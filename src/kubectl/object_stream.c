/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kubectl prints a list if it was asked for a kind or for several names. For one name it prints the
 * bare object. If that is missing and --ignore-not-found is given, it prints nothing.
 * Names are typed by people, so those answers are small and are kept whole.
 */

#include "kubectl/object_stream.h"

#include "wire/jlex.h"
#include "wire/jwalk.h"

#define ARRAY_DEPTH 100u

void object_stream_init(struct object_stream *stream, enum object_stream_form form,
			object_stream_take_fn take, void *context)
{
	*stream = (struct object_stream){.form = form, .take = take, .context = context};
	jscan_init(&stream->scan, LIMIT_OBJECT_BYTES);
	sbuf_init(&stream->whole, OBJECT_STREAM_NAMED_BYTES);
}

void object_stream_deinit(struct object_stream *stream)
{
	jscan_deinit(&stream->scan);
	sbuf_deinit(&stream->whole);
}

static int feed_list(struct object_stream *stream, struct view bytes, struct error *err)
{
	struct view key, value;
	for (;;) {
		switch (jscan_next(&stream->scan, &bytes, &key, &value, err)) {
		case JSCAN_MORE:
			return 0;
		case JSCAN_ITEM:
			if (stream->take(stream->context, value, err) != 0)
				return -1;
			break;
		case JSCAN_MEMBER:
			break;
		case JSCAN_END:
			stream->complete = true;
			break;
		case JSCAN_FAILED:
			return error_wrap(err, "what kubectl printed");
		}
	}
}

int object_stream_feed(struct object_stream *stream, struct view bytes, struct error *err)
{
	if (stream->form == OBJECT_STREAM_LIST)
		return feed_list(stream, bytes, err);
	sbuf_append(&stream->whole, bytes);
	return sbuf_check(&stream->whole, "what kubectl printed", err);
}

int object_stream_each(struct view array, object_stream_take_fn take, void *context, struct error *err)
{
	struct jlex lex;
	jlex_init(&lex, array, ARRAY_DEPTH, err);
	if (jlex_enter(&lex, '[') != 0)
		return -1;
	bool is_empty = jlex_peek(&lex) == ']';
	while (!is_empty) {
		jlex_peek(&lex); /* over the blanks before the element */
		const char *start = lex.at;
		if (jlex_skip(&lex) != 0 ||
		    take(context, (struct view){start, (size_t)(lex.at - start)}, err) != 0)
			return -1;
		if (!jlex_take(&lex, ','))
			break;
	}
	if (jlex_leave(&lex, ']') != 0)
		return -1;
	return jlex_finish(&lex);
}

static int take_named(struct object_stream *stream, struct error *err)
{
	struct view whole = view_trim(sbuf_view(&stream->whole)), key, value;
	struct jwalk walk;
	if (whole.len == 0)
		return 0;
	jwalk_init(&walk, whole);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, VIEW("items")))
			return object_stream_each(value, stream->take, stream->context, err);
	}
	if (jwalk_check(&walk, "what kubectl printed", err) != 0)
		return -1;
	return stream->take(stream->context, whole, err);
}

int object_stream_finish(struct object_stream *stream, struct error *err)
{
	if (stream->form == OBJECT_STREAM_NAMED)
		return take_named(stream, err);
	if (!stream->complete)
		return error_set(err, ERROR_REJECTED, 0, "what kubectl printed is cut short");
	return 0;
}
