/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * list_stream - cuts a list that is arriving, in protobuf or JSON, into its objects.
 *
 * Memory holds one object, whatever the size of the list. An object that is whole in the input is
 * not copied.
 *
 * Threads: owner.
 * Limits:  an object is at most `cap` bytes, the list's own metadata 64 KiB. In protobuf a larger
 *          object is passed over and counted. In JSON objects do not tell their length, so the list
 *          fails with ERROR_LIMIT.
 */

#include "base/error.h"
#include "base/sbuf.h"
#include "kube/resource.h"
#include "wire/jscan.h"

enum list_stream_step {
	LIST_STREAM_MORE,   /* all input is used up */
	LIST_STREAM_OBJECT, /* *ret_object is one object: JSON, or a protobuf message */
	LIST_STREAM_FAILED, /* malformed or over a limit; *err says what */
};

struct list_stream {
	enum resource_encoding encoding;
	struct sbuf api_version; /* of the list; in JSON these may come after the objects */
	struct sbuf kind;
	struct sbuf resource_version;
	struct sbuf continue_token;
	uint64_t n_skipped; /* objects over `cap`, in this list */
	bool complete;

	struct jscan json;

	/* protobuf */
	struct sbuf held;       /* the value begun in earlier input */
	unsigned char head[20]; /* tag and length begun in earlier input */
	uint8_t n_head;
	uint8_t n_magic; /* bytes of the magic number seen */
	uint8_t state;
	uint32_t field;      /* number of the value being read */
	uint64_t value_left; /* bytes still to come of it */
	uint64_t list_left;  /* bytes still to come of the list message */
	bool in_list;
};

/* Ready for a list; allocates nothing. list_stream_deinit() at the end. */
void list_stream_init(struct list_stream *stream, enum resource_encoding encoding, size_t cap);
/* Accepts a zeroed object. */
void list_stream_deinit(struct list_stream *stream);
/* Ready for another list; memory is kept. */
void list_stream_reset(struct list_stream *stream);
/*
 * Continues with *input, which is advanced; call again until LIST_STREAM_MORE. *ret_object is
 * borrowed until the next call, and dies with the input. After LIST_STREAM_FAILED only
 * list_stream_reset() and list_stream_deinit() may be called.
 */
enum list_stream_step list_stream_next(struct list_stream *stream, struct view *input,
				       struct view *ret_object, struct error *err);
/* 0 when the input may end here; else ERROR_RETRY: the list is cut. */
MUST_USE int list_stream_end(const struct list_stream *stream, struct error *err);
