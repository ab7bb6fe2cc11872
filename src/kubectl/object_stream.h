/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * object_stream - cuts what `kubectl get -o json` prints into objects while it arrives: memory holds one
 * object, whatever the size of the list.
 *
 * Threads: owner.
 * Limits:  an object is at most LIMIT_OBJECT_BYTES; with OBJECT_STREAM_NAMED the whole answer is at
 *          most OBJECT_STREAM_NAMED_BYTES.
 */

#include "base/limits.h"
#include "wire/jscan.h"

#define OBJECT_STREAM_NAMED_BYTES (16u * LIMIT_MIB)

enum object_stream_form {
	OBJECT_STREAM_LIST,  /* a list */
	OBJECT_STREAM_NAMED, /* what was asked for by names: nothing, an object, or a list of objects */
};

/* Takes one object, which is borrowed for the call. A failure ends the stream. */
typedef int (*object_stream_take_fn)(void *context, struct view json, struct error *err);

struct object_stream {
	enum object_stream_form form;
	struct jscan scan;
	struct sbuf whole; /* OBJECT_STREAM_NAMED */
	bool complete;     /* OBJECT_STREAM_LIST: its end has been seen */
	object_stream_take_fn take;
	void *context;
};

/* Nothing has come yet; take is called with context. Allocates nothing. */
void object_stream_init(struct object_stream *stream, enum object_stream_form form,
			object_stream_take_fn take, void *context);
/* Accepts a zeroed object. For CLEANUP. */
void object_stream_deinit(struct object_stream *stream);
/* Continues with the next bytes. Fails as `take` does, with ERROR_REJECTED, or ERROR_LIMIT. */
MUST_USE int object_stream_feed(struct object_stream *stream, struct view bytes, struct error *err);
/* The bytes have ended. Fails in the same ways; a list that is cut short is ERROR_REJECTED. */
MUST_USE int object_stream_finish(struct object_stream *stream, struct error *err);

/*
 * Hands each element of a JSON array to `take`, which can stop it by failing. Fails with
 * ERROR_REJECTED or ERROR_LIMIT when it is malformed.
 */
MUST_USE int object_stream_each(struct view array, object_stream_take_fn take, void *context, struct error *err);
