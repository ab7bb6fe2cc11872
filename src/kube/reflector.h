/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector - keeps a copy of one resource up to date: lists it, watches it, resumes, lists again
 * when it must. A state machine without I/O: it is asked what to request, is fed what came back and
 * the time, and calls its sink with objects. So a test can cut its input at every byte.
 *
 *	next = reflector_next(r, now)      what to do: request, or wait until then
 *	reflector_answered(r, status...)   the head of the answer
 *	reflector_feed(r, bytes)           parts of the body, of any size
 *	reflector_ended(r, error or NULL)  the end of the answer, or why there was none
 *
 * Memory holds one object at a time, whatever the size of the list.
 *
 * Threads: owner.
 * Limits:  one object is at most LIMIT_OBJECT_BYTES. A larger one is counted and skipped like one
 *          that cannot be used. Its name is not read, so after a list it counts as deleted. In a
 *          list in JSON it ends the answer with ERROR_LIMIT.
 */

#include "base/error.h"
#include "base/view.h"
#include "kube/object_meta.h"
#include "kube/resource.h"

struct reflector;

enum reflector_change {
	REFLECTOR_LISTED,
	REFLECTOR_UPSERT,
	REFLECTOR_DELETE,
};

/*
 * Where objects go. A sink compares versions itself (base/store.h): what it is told may repeat.
 */
struct reflector_sink {
	void *owner;
	/* A complete state begins to arrive. May be called again before replace_end. */
	void (*replace_begin)(void *owner);
	/* It has arrived whole: what it did not contain is gone. The resource is synced. */
	void (*replace_end)(void *owner);
	/*
	 * One object. document is the object's JSON, or its protobuf message without envelope;
	 * borrowed. -1 with ERROR_REJECTED or ERROR_LIMIT: it cannot be used; it is counted and
	 * skipped, the stream goes on. -1 with another kind: it could not be taken now; the answer
	 * is ended, and a list brings the object again after a back-off.
	 */
	int (*object)(void *owner, enum reflector_change change, const struct object_meta *meta,
		      struct view document, struct error *err);
	/*
	 * The server does not know the resource (404): its definition is not installed, and counts
	 * as synced. Called once each time it is found so. NULL: the owner cannot do without it,
	 * so it is not synced, and trouble says why.
	 */
	void (*absent)(void *owner);
	/*
	 * The server has refused for REFLECTOR_DENIED_MS, and nothing else, to let us follow (403)
	 * what is synced: the sink's state is as old as that. Called once, and with false when the
	 * resource has been listed whole since and is watched again, or is known absent. May be NULL.
	 */
	void (*denied)(void *owner, bool is_denied);
	/*
	 * True: a watch of the synced resource is open, or the resource is known absent, so changes
	 * are reported from now on. False: that is no longer so. May be NULL. Events from before
	 * the watch was opened follow its head at once. The protocol does not mark their end. So
	 * they are taken to be complete REFLECTOR_CATCH_UP_MS later, which is an estimate.
	 */
	void (*followed)(void *owner, bool is_followed);
};

#define REFLECTOR_CATCH_UP_MS 200u
#define REFLECTOR_DENIED_MS 10000u /* a server that has just started may refuse for a moment */

enum reflector_initial {
	REFLECTOR_LIST,   /* one list of the newest state, decoded as it streams in */
	REFLECTOR_STREAM, /* watch with sendInitialEvents; falls back to LIST when refused */
	REFLECTOR_PAGES,  /* lists of page_size objects; falls back to LIST when a page has expired */
};

struct reflector_config {
	const struct resource *resource; /* borrowed for the reflector's life */
	enum reflector_initial initial;
	uint32_t page_size;              /* REFLECTOR_PAGES: 500 */
	uint32_t absent_retry_ms;        /* how often to look for a resource that is not there: 30000 */
	uint64_t seed;                   /* for jitter */
};

/* Makes a reflector that wants to list. */
MUST_USE int reflector_new(const struct reflector_config *config, const struct reflector_sink *sink,
			   struct reflector **ret_reflector, struct error *err);
/* Accepts NULL. */
void reflector_free(struct reflector *reflector);

enum reflector_step {
	REFLECTOR_REQUEST, /* send GET ret_request->path now */
	REFLECTOR_WAIT,    /* nothing before wait_until */
	REFLECTOR_BUSY,    /* an answer is under way; ask again at wait_until, it may move meanwhile */
	REFLECTOR_GIVE_UP, /* nothing came for too long: end the transfer, then reflector_ended() */
};

struct reflector_request {
	const char *path;         /* with the query; borrowed until the next call */
	const char *accept;       /* value of the header Accept */
	bool is_watch;            /* lasts minutes */
	uint64_t wait_until;      /* ms, WAIT and BUSY */
};

/* now: monotonic ms. */
enum reflector_step reflector_next(struct reflector *reflector, uint64_t now,
				   struct reflector_request *ret_request);
/*
 * The head of the answer: HTTP status, Retry-After in ms (0: none), Content-Type. Bodies of errors
 * are fed like others (bounded) and read as metav1.Status.
 */
void reflector_answered(struct reflector *reflector, int status, uint32_t retry_after_ms,
			struct view content_type, uint64_t now);
/*
 * Part of the body. -1 when the rest is of no use: the caller ends the transfer and calls
 * reflector_ended() with *err.
 */
MUST_USE int reflector_feed(struct reflector *reflector, struct view bytes, uint64_t now,
			    struct error *err);
/* The end: error NULL when the transfer completed. */
void reflector_ended(struct reflector *reflector, const struct error *error, uint64_t now);
/* Why a reflector that waits need wait no longer. */
enum reflector_haste {
	REFLECTOR_NO_DOUBT,   /* a request failed, and the server answers all the same */
	REFLECTOR_RECOVERED,  /* another resource failed as this one, and works again */
	REFLECTOR_BACK,       /* the server was away, and is back: the failures are forgotten */
};
/*
 * Shortens some waits: the reflector then waits until `at` at most. It does so if there was no
 * answer, or one that blames the server without a Retry-After. With REFLECTOR_BACK it also does so
 * after a refusal (401, 403) or an expired position (410), as from a server that has just started.
 * Each of the other reasons works once, until the server was back or a watch has lived for a while.
 * So a lasting failure of one resource still leads to back-off.
 */
void reflector_hasten(struct reflector *reflector, uint64_t at, enum reflector_haste haste);

/*
 * From now on a resource that is not there is looked for so often, and at once if it is not there now.
 */
void reflector_look_again(struct reflector *reflector, uint32_t absent_retry_ms, uint64_t now);

/* True once a complete state has arrived (or the resource is known absent). */
bool reflector_is_synced(const struct reflector *reflector);
/* Why it is not making progress, one line, "" when all is well; borrowed until the next call. */
const char *reflector_trouble(const struct reflector *reflector);
/* True while the trouble is that the server refuses us (401, 403, or a certificate). */
bool reflector_is_denied(const struct reflector *reflector);
/*
 * The time, in ms, between the first refusal for lack of a right (403) and the last, with nothing else
 * in between; 0 as long as there was one only.
 */
uint64_t reflector_forbidden_ms(const struct reflector *reflector);
/* When something of the request under way came last, or it was begun; monotonic ms. */
uint64_t reflector_heard_at(const struct reflector *reflector);

/* Rise only. */
struct reflector_counters {
	uint64_t lists, watches, relists_expired, events, bookmarks, objects_refused, failures,
		stale_rewinds;
	uint64_t last_version;
};
/* last_version alone may go back, with a later list; it is 0 when the version is no number. */
struct reflector_counters reflector_counters(const struct reflector *reflector);
