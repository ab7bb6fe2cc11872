/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * delivery - when to post a report to one replica of the controller, under which number, and what its
 * answer means. Decides, does nothing: it is told what happened and what time it is.
 *
 * One report is under way at a time to each replica, always made from the newest state: while a replica
 * is away nothing is queued for it. All deliveries of an agent share one pace: the numbers of reports
 * and the time of the next heartbeat.
 *
 * The end of an idle connection makes a report due. A proxy that closes idle connections looks like a
 * controller that ended, as does a controller that needs the connection's place. So where a connection
 * ends before it has lasted for a heartbeat, the wait doubles, up to a heartbeat. No report comes later
 * for that. 1 000 agents behind one address make about 17 connections a second then.
 *
 * Threads: any; an object belongs to its caller.
 * Times:   monotonic milliseconds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"

#define DELIVERY_NEVER UINT64_MAX

struct delivery_config {
	uint32_t heartbeat_ms; /* until the controller says otherwise */
	int64_t instance;      /* ms since boot at which the agent started */
};

/* What is the same for all replicas. */
struct delivery_pace {
	struct prng prng;
	int64_t instance;      /* of the next report */
	int64_t sequence;      /* of the last report made */
	uint32_t heartbeat_ms; /* as an answer said last; those that say nothing leave it */
	uint64_t heartbeat_at; /* a report then though nothing changed. DELIVERY_NEVER: all that is due
				  has not been accepted by anybody yet */
};

/* To one replica. */
struct delivery {
	struct delivery_pace *pace; /* borrowed */
	struct backoff backoff;
	struct backoff reconnect; /* after connections that ended, since one lasted a heartbeat */
	uint64_t connected_at;    /* when the connection of the last answer was made */
	int64_t instance; /* of the report that is under way */
	uint64_t due_at;  /* what this replica was not told yet, or is to be told again; DELIVERY_NEVER:
			     there is nothing */
	uint64_t open_at; /* nothing is posted before: back-off or Retry-After */
	bool under_way;
	bool changed;     /* since the report that is under way was made */
};

/* What came back. */
struct delivery_answer {
	int status;              /* HTTP status, 0: none, the transfer failed */
	uint32_t retry_after_ms; /* 0: not said */
	int64_t heartbeat_s;     /* of a 200 of the replica that leads; 0: not said */
	bool is_new_connection;  /* one was made for this report */
};

/* What an answer asks of the people who run this, and of the caller. */
enum delivery_verdict {
	DELIVERY_ACCEPTED,
	DELIVERY_UNREACHABLE, /* no answer */
	DELIVERY_NOT_READY,   /* 503: not leading, or not synced */
	DELIVERY_THROTTLED,   /* 429 */
	DELIVERY_ELSEWHERE,   /* 307 and other redirects: another replica leads */
	DELIVERY_OUTDATED,    /* 409: a newer report of this boot is known; renumbered */
	DELIVERY_NO_IDENTITY, /* 401: the token is not good */
	DELIVERY_WRONG_NODE,  /* 403: the token is another's */
	DELIVERY_TOO_LARGE,   /* 413 */
	DELIVERY_MALFORMED,   /* 400, 405, 411, 415: the two programs do not fit each other */
	DELIVERY_UNEXPECTED,  /* anything else */
};

/* No heartbeat is due before the first report was accepted. seed is for the jitter. */
void delivery_pace_init(struct delivery_pace *pace, const struct delivery_config *config,
			uint64_t seed);
/*
 * A report is made, for all replicas for which one is due: its sequence number, which is higher than
 * that of any report of this instance before. Then delivery_begin() for each of them.
 */
int64_t delivery_make(struct delivery_pace *pace, uint64_t now);

/* Nothing is due until delivery_changed() or delivery_join(). pace is borrowed for its life. */
void delivery_init(struct delivery *delivery, struct delivery_pace *pace);
/* There is something new to say; it is due at once, or when a back-off ends. Said to each replica. */
void delivery_changed(struct delivery *delivery, uint64_t now);
/* A replica is told for the first time what the others know already. */
void delivery_join(struct delivery *delivery, uint64_t now);

/* When the next report is to be made; DELIVERY_NEVER while one is under way. */
uint64_t delivery_next_at(const struct delivery *delivery);
/* How long until then; 0: it is overdue. None may be under way. */
uint64_t delivery_wait(const struct delivery *delivery, uint64_t now);

/* The report that was made last is posted. None may be under way. */
void delivery_begin(struct delivery *delivery);

/*
 * The answer to it. boot_now_ms is the time since boot, for a new instance number after a 409, which
 * counts for all replicas. Sets when the next report is due: the heartbeat after a success, Retry-After
 * or a back-off up to 8 s after all else.
 */
enum delivery_verdict delivery_end(struct delivery *delivery, const struct delivery_answer *answer,
				   uint64_t now, uint64_t boot_now_ms);

/*
 * The connection of the last answer has ended, and none is under way. Whoever listens there now may
 * have started a moment ago and know nothing. So a report is due within a second. Where connections end
 * before they have lasted for a heartbeat, each time twice as late, up to a heartbeat.
 */
void delivery_disconnected(struct delivery *delivery, uint64_t now);

/* What to do about a verdict, one sentence; NULL where there is nothing to be done. */
const char *delivery_advice(enum delivery_verdict verdict);
