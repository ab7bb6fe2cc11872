/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_watch - reads the body of a watch for a reflector: cuts it into events, hands objects
 * on, and moves the position. Used by reflector only.
 *
 * A watch may begin with all objects there are (sendInitialEvents). They come in no order, so they
 * do not move the position. A bookmark ends them.
 *
 * Objects that cannot be decoded or are over the limit are counted and skipped, and the position
 * moves past them if they have a version. If the sink could not take an object for another reason
 * (no memory), the watch never sends it again. Only a list brings it back.
 *
 * Threads: owner.
 * Limits:  one object is at most LIMIT_OBJECT_BYTES.
 */

#include "kube/object_meta.h"
#include "kube/reflector_output.h"
#include "kube/reflector_position.h"
#include "kube/resource.h"
#include "kube/watch_stream.h"

/* Others read; nobody else writes. */
struct reflector_watch {
	const struct resource *resource; /* borrowed, as are output and position */
	struct reflector_output *output;
	struct reflector_position *position;
	struct watch_stream stream;
	bool is_initial;      /* what comes are the objects that there are */
	bool is_heard;        /* this watch brought an event or a bookmark */
	bool has_moved;       /* this watch moved the position */
	bool has_bookmarks;   /* some watch brought one, ever */
	uint64_t n_events;    /* of all watches; rises only */
	uint64_t n_bookmarks; /* the same */
};

enum reflector_watch_step {
	REFLECTOR_WATCH_MORE,     /* all input is used up */
	REFLECTOR_WATCH_COMPLETE, /* the initial events have ended: reflector_watch_go_on() is next */
	REFLECTOR_WATCH_FAILED,   /* the rest is of no use; *err says why */
};

/* Ready for reflector_watch_begin(); allocates nothing. reflector_watch_deinit() at the end. */
void reflector_watch_init(struct reflector_watch *watch, const struct resource *resource,
			  struct reflector_output *output, struct reflector_position *position);
/* Accepts a zeroed object. */
void reflector_watch_deinit(struct reflector_watch *watch);
/* Another watch begins; is_initial: with all objects there are. */
void reflector_watch_begin(struct reflector_watch *watch, bool is_initial);
/*
 * Continues with *input, which is advanced; call again until REFLECTOR_WATCH_MORE. *ret_meta is set
 * with REFLECTOR_WATCH_COMPLETE: of the bookmark, borrowed until the next call. Fails as
 * reflector_feed(), and for an ERROR event as answer_judge_status() says.
 */
enum reflector_watch_step reflector_watch_next(struct reflector_watch *watch, struct view *input,
					       struct object_meta *ret_meta, struct error *err);
/* The caller has set the position to the bookmark's version: what comes next are changes. */
void reflector_watch_go_on(struct reflector_watch *watch, const struct object_meta *bookmark);
