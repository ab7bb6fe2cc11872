/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_budget - which Kubernetes Events are sent, and when: no more than the limits allow. Without
 * I/O; time is an argument.
 *
 * - Of one type and object there is one write in `repeat_ms`. What comes in between is counted, and
 *   sent as the Event's series when that time is over. If it was about something else (its topic),
 *   a new Event tells of the gravest of that, or of the last one of those.
 * - Of one node there are `per_minute` writes in any minute, of Events and of series. What is beyond
 *   waits for its turn.
 * - What is told twice (its id) counts once.
 * - What has waited for EVENT_BUDGET_STALE_MS is not sent at all.
 *
 * Threads: owner.
 * Limits:  LIMIT_EVENT_QUEUE wait, of them LIMIT_EVENT_NODE_QUEUE of one node; LIMIT_EVENT_SERIES
 *          types and objects are remembered, and as many nodes. What is beyond is held back, and
 *          counted.
 */

#include "controller/event_changes.h"

#define EVENT_BUDGET_STALE_MS 900000u

struct event_budget;

struct event_budget_limits {
	uint32_t per_minute; /* of one node; at most LIMIT_EVENT_RATE */
	uint64_t repeat_ms;
};

/* Nothing is known yet. Fails with ERROR_NO_MEMORY. */
MUST_USE int event_budget_new(const struct event_budget_limits *limits,
			      struct event_budget **ret_budget, struct error *err);
/* Accepts NULL. */
void event_budget_free(struct event_budget *budget);

/*
 * Something changed on a node; copied. now_ms: monotonic, here and below; wall_ms: since 1970. Where
 * there is no room or memory it is held back.
 */
void event_budget_take(struct event_budget *budget, struct view node_name,
		       const struct event_change *change, uint64_t now_ms, int64_t wall_ms);

/* A write that may be made now. */
struct event_budget_write {
	struct kube_event event; /* but for the reporting instance; borrowed until the write has ended */
	bool is_patch;           /* of an Event that was sent: its series alone */
};

/*
 * The next write, which counts as made; false: none now. One at a time: exactly one of the three
 * functions below must end it before the next call.
 */
bool event_budget_next(struct event_budget *budget, uint64_t now_ms,
		       struct event_budget_write *ret_write);
/* The API server has it. */
void event_budget_sent(struct event_budget *budget, uint64_t now_ms);
/* Passing trouble: the write is tried again. */
void event_budget_put_back(struct event_budget *budget);
/* It is given up, and counted as failed. */
void event_budget_drop(struct event_budget *budget, uint64_t now_ms);
/* When event_budget_next() may have something, at the earliest; UINT64_MAX: not before a change. */
uint64_t event_budget_due_at(const struct event_budget *budget, uint64_t now_ms);

enum event_outcome {
	EVENT_SENT,      /* writes, of Events and of series */
	EVENT_FAILED,    /* writes that were given up */
	EVENT_HELD_BACK, /* changes without an Event of their own: repeats, and what is beyond limits */
	N_EVENT_OUTCOMES,
};

/* Label sets of the metric, by type and then by outcome. */
#define EVENT_LABELS_OF(name, reason, ...)             \
	"type=\"" reason "\",outcome=\"sent\"",        \
		"type=\"" reason "\",outcome=\"failed\"", \
		"type=\"" reason "\",outcome=\"held_back\"",
#define EVENT_LABELS ((const char *const[]){EVENT_TABLE(EVENT_LABELS_OF) NULL})

/* Rise only. */
struct event_counters {
	uint64_t by_type[N_EVENT_TYPES][N_EVENT_OUTCOMES];
};
/* The counts since the start. */
struct event_counters event_budget_counters(const struct event_budget *budget);
