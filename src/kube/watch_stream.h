/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watch_stream - cuts the answer to a watch, in protobuf or JSON, into its events. Memory holds one
 * event. An event that is whole in the input is not copied.
 *
 * Threads: owner.
 * Limits:  an event is at most `cap` bytes. A larger one is passed over like one that cannot be
 *          decoded. A length over 16 times `cap` in protobuf ends the stream, since it cannot be
 *          right. So does a line in JSON that has not ended after twice `cap`.
 */

#include "base/error.h"
#include "base/sbuf.h"
#include "kube/resource.h"

enum watch_event_type {
	WATCH_EVENT_UNKNOWN, /* of a type that this code does not know, or not to be decoded */
	WATCH_EVENT_ADDED,
	WATCH_EVENT_MODIFIED,
	WATCH_EVENT_DELETED,
	WATCH_EVENT_BOOKMARK,
	WATCH_EVENT_ERROR,
};

/* All borrowed until the next call; dies with the input. */
struct watch_event {
	enum watch_event_type type;
	struct view api_version; /* of the object, empty if it does not say */
	struct view kind;
	struct view object;      /* JSON, or a protobuf message without envelope */
};

enum watch_stream_step {
	WATCH_STREAM_MORE,   /* all input is used up */
	WATCH_STREAM_EVENT,
	WATCH_STREAM_FAILED, /* no memory, or nothing behind can be found; *err says what */
};

struct watch_stream {
	enum resource_encoding encoding;
	struct sbuf held;    /* the event begun in earlier input; the length goes before, in protobuf */
	size_t skip_left;    /* bytes still to come of a frame over the limit */
	bool skips_line;     /* a line over the limit has not ended yet */
	size_t n_skipped;    /* bytes of it so far */
	bool spent;          /* held was yielded */
	bool failed;
};

/* Ready for an answer; allocates nothing. watch_stream_deinit() at the end. */
void watch_stream_init(struct watch_stream *stream, enum resource_encoding encoding, size_t cap);
/* Accepts a zeroed object. */
void watch_stream_deinit(struct watch_stream *stream);
/* Ready for another answer; what is left of an event is forgotten, memory is kept. */
void watch_stream_reset(struct watch_stream *stream);
/*
 * Continues with *input, which is advanced; call again until WATCH_STREAM_MORE. An event that
 * cannot be decoded is yielded as WATCH_EVENT_UNKNOWN with an empty object: the next one can.
 */
enum watch_stream_step watch_stream_next(struct watch_stream *stream, struct view *input,
					 struct watch_event *ret_event, struct error *err);
/* True when no event has begun: the input may end here without a loss. */
bool watch_stream_is_between_events(const struct watch_stream *stream);
