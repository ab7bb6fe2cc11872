/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * marked_body - the body of a list or a watch, with a mark where each of its parts ends. So whoever
 * hands it on in pieces knows what a reader of it has to tell by then.
 *
 * Threads: owner.
 * Limits:  MARKED_BODY_MARKS parts; marked_body_has_room() is asked before.
 */

#include "base/sbuf.h"
#include "kube/resource.h"
#include "lib/object_history.h"

#define MARKED_BODY_MARKS 4096u
#define MARKED_BODY_TEXT 32u /* room for a version or a name as text */

enum marked_body_part {
	MARKED_BODY_OBJECT,
	MARKED_BODY_BOOKMARK,
	MARKED_BODY_INITIAL_END, /* a bookmark with the annotation */
	MARKED_BODY_USELESS,     /* it is passed over, and counted */
	MARKED_BODY_FAULT,       /* the reader fails at its end */
};

struct marked_body_mark {
	size_t end; /* bytes of the body up to the end of the part */
	enum marked_body_part part;
	struct object_history_change change; /* OBJECT; of bookmarks state.version alone */
};

/* Others read. */
struct marked_body {
	const struct resource *resource; /* borrowed */
	bool is_opaque; /* versions are no numbers */
	struct sbuf bytes;
	size_t n_marks;
	struct marked_body_mark marks[MARKED_BODY_MARKS];
};

/* Empty; marked_body_deinit() at the end. */
void marked_body_init(struct marked_body *body, const struct resource *resource, bool is_opaque);
/* Frees the bytes. Accepts a zeroed object. */
void marked_body_deinit(struct marked_body *body);
/* Empty again; memory is kept. */
void marked_body_clear(struct marked_body *body);
/* True when parts of a list of all objects fit, or so many events. */
bool marked_body_has_room(const struct marked_body *body);
/* A version as text, in the form that the body has; returns `text`. */
const char *marked_body_version(const struct marked_body *body, uint64_t version,
				char text[MARKED_BODY_TEXT]);
/* What is written in the object with these contents, and nowhere else. */
const char *marked_body_payload(unsigned serial, char text[MARKED_BODY_TEXT]);

struct marked_body_list {
	uint64_t version;
	const struct object_state *objects; /* by name, those that exist */
	unsigned first, n;                  /* of these are in the list: n from this one on */
	const char *continue_token;         /* or NULL */
	bool is_of_others;                  /* it says that it is a list of something else */
};
/* A whole list. */
void marked_body_list(struct marked_body *body, const struct marked_body_list *list);
/* An event. */
void marked_body_event(struct marked_body *body, const struct object_history_change *change);
/* A bookmark. */
void marked_body_bookmark(struct marked_body *body, uint64_t version, bool is_initial_end);
/* An event of which nothing can be made, of one of several kinds. */
void marked_body_useless(struct marked_body *body, unsigned kind);
/* An ERROR event. */
void marked_body_error(struct marked_body *body, int code, int retry_after_s);
/* In protobuf the length of an event that cannot be right, in JSON an ERROR event. */
void marked_body_broken(struct marked_body *body);
