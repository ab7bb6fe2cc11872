/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_queue - what happened on the node and the controller has not acknowledged yet, oldest
 * first.
 *
 * Alike events, which are of one device and one code, are known by their times: the controller takes two of
 * one millisecond for one that was told twice. So each gets a later time than the one before, by 1 ms at
 * least, and a later time since boot. A flood cannot lead far into the future: one that would be
 * EVENT_QUEUE_AHEAD_MS ahead gets its own times. It may then be taken for one of the flood's beginning. A
 * clock that was set back further than that gives its own times as well.
 *
 * Threads: any; an object belongs to its caller.
 * Limits:  LIMIT_REPORT_EVENTS events; a further one drops the oldest, which is counted. Of
 *          EVENT_QUEUE_KINDS kinds the last times are known: those of which an event came last.
 */

#include "base/limits.h"
#include "model/report.h"

#define EVENT_QUEUE_AHEAD_MS LIMIT_REPORT_EVENTS /* as many alike ones as lie there have times of their own */
#define EVENT_QUEUE_KINDS 32u

/* Events of one device and code. */
struct event_queue_kind {
	char uuid[LIMIT_TEXT_UUID];
	size_t uuid_len;
	int64_t code;
	int64_t time, uptime_ms; /* of the last one */
	int64_t sequence;        /* of it; 0: there is no such kind */
};

struct event_queue {
	struct report_event events[LIMIT_REPORT_EVENTS]; /* the first `count`, ascending */
	char uuids[LIMIT_REPORT_EVENTS][LIMIT_TEXT_UUID];
	struct event_queue_kind kinds[EVENT_QUEUE_KINDS];
	uint32_t count;
	int64_t last_sequence; /* given out */
	int64_t dropped;       /* since the start */
	int64_t dropped_time;  /* of the last event that was, ms since 1970; 0: none was */
	int64_t dropped_uptime_ms; /* the same, since boot */
};

/* The first event gets the number after last_sequence. */
void event_queue_init(struct event_queue *queue, int64_t last_sequence);
/*
 * Appends a copy of the event, with the next number, and with times that differ from those of events that
 * are alike. Its uuid is cut to LIMIT_TEXT_UUID.
 */
void event_queue_add(struct event_queue *queue, const struct report_event *event);
/* Forgets the events up to this sequence number; those not given out yet are not forgotten. */
void event_queue_acknowledge(struct event_queue *queue, int64_t sequence);
/* The events, borrowed until the next change. */
struct array event_queue_events(struct event_queue *queue);
