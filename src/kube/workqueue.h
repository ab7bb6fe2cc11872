/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * workqueue - which keys want work, in what order and when.
 *
 * - Each key is queued once. Higher priority comes first; within a priority, first in first out.
 * - No key comes before its delay.
 * - A key that is added while it is worked on runs once more afterwards.
 * - Failures back off per key, and adds do not undercut that.
 *
 * Time is given as an argument, nothing waits. All but the last rule is as in client-go's queue and
 * controller-runtime's priority queue.
 *
 * Threads: owner.
 */

#include "base/error.h"
#include "base/histogram.h"
#include "base/prng.h"
#include "base/view.h"

enum workqueue_priority {
	WORKQUEUE_LOW,  /* initial lists, periodic looks */
	WORKQUEUE_HIGH, /* live events, reports */
};

struct workqueue;

/* An empty queue; seed is for the jitter of back-offs. Fails with ERROR_NO_MEMORY. */
MUST_USE int workqueue_new(uint64_t seed, struct workqueue **ret_queue, struct error *err);
/* Accepts NULL. */
void workqueue_free(struct workqueue *queue);
/*
 * Wants work on key at `at` (ms) or before, but not while a failure holds the key off (see
 * workqueue_failed()). Of several adds the earliest time and the highest priority count. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int workqueue_add(struct workqueue *queue, struct view key,
			   enum workqueue_priority priority, uint64_t at, struct error *err);
/*
 * The next key that is due, which is then being worked on until workqueue_done(); false when none
 * is due. The view is borrowed until then.
 */
bool workqueue_take(struct workqueue *queue, uint64_t now, struct view *ret_key);
/* The work on a key has ended well: its failures are forgotten. */
void workqueue_done(struct workqueue *queue, struct view key, uint64_t now);
/*
 * The work on a key has to wait: done, neither well nor badly. Earlier failures are remembered. The key
 * has been added during the work.
 */
void workqueue_put_off(struct workqueue *queue, struct view key, uint64_t now);
/*
 * The work failed: done, and wanted again with the same priority after a back-off (5 ms doubling
 * to 1000 s, with jitter), or after retry_after_ms when that is longer. Adds, those during the work
 * included, may bring that forward, but neither below retry_after_ms nor below the back-off's first
 * 30 s.
 */
void workqueue_failed(struct workqueue *queue, struct view key, uint32_t retry_after_ms,
		      uint64_t now);
/* When workqueue_take() may next succeed: 0 = now, UINT64_MAX = no key waits. */
uint64_t workqueue_next_due(const struct workqueue *queue);
/* Keys that are due or waiting, and being worked on. */
size_t workqueue_depth(const struct workqueue *queue);

/*
 * For metrics, with the meaning that client-go gives them. Rise only. A key that is added again before
 * it was taken counts once, and one that waits for its time counts when that has come.
 */
struct workqueue_counters {
	uint64_t adds;
	uint64_t retries;        /* of workqueue_failed() */
	struct histogram waited; /* seconds from being due to being taken */
};
/* The counts since the queue was made. */
struct workqueue_counters workqueue_counters(const struct workqueue *queue);

struct workqueue_load {
	size_t ready;            /* due, and not being worked on */
	size_t working;
	uint64_t unfinished_ms;  /* how long those are being worked on, all together */
	uint64_t longest_ms;     /* and the one that takes longest */
};
/* What there is to do now. */
struct workqueue_load workqueue_load(struct workqueue *queue, uint64_t now);
/* How long a key has been worked on, which is being worked on. */
uint64_t workqueue_worked_ms(const struct workqueue *queue, struct view key, uint64_t now);
