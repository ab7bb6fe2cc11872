/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_queue - what happened on the node and the controller has not acknowledged yet, oldest
 * first.
 *
 * Threads: any; an object belongs to its caller.
 * Limits:  LIMIT_REPORT_EVENTS events; a further one drops the oldest, which is counted.
 */

#include "base/limits.h"
#include "model/report.h"

struct event_queue {
	struct report_event events[LIMIT_REPORT_EVENTS]; /* the first `count`, ascending */
	char uuids[LIMIT_REPORT_EVENTS][LIMIT_TEXT_UUID];
	uint32_t count;
	int64_t last_sequence; /* given out */
	int64_t dropped;       /* since the start */
	int64_t dropped_time;  /* of the last event that was, ms since 1970; 0: none was */
	int64_t dropped_uptime_ms; /* the same, since boot */
};

/* The first event gets the number after last_sequence. */
void event_queue_init(struct event_queue *queue, int64_t last_sequence);
/* Appends a copy of the event, with the next number. Its uuid is cut to LIMIT_TEXT_UUID. */
void event_queue_add(struct event_queue *queue, const struct report_event *event);
/* Forgets the events up to this sequence number; those not given out yet are not forgotten. */
void event_queue_acknowledge(struct event_queue *queue, int64_t sequence);
/* The events, borrowed until the next change. */
struct array event_queue_events(struct event_queue *queue);
