/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * join_pause - after an expensive join a node waits for its next one, so that one node takes no more than
 * one JOIN_PAUSE_FACTOR-th of the loop thread. Other nodes do not wait.
 *
 * Threads: owner.
 * Times:   monotonic.
 * Limits:  LIMIT_PAUSED_NODES wait at a time. A further one, and one for which there is no memory,
 *          does not wait. Expensive joins themselves take the time in which so many could begin to wait.
 */

#include "base/table.h"

/* A join of at most this much CPU time is not expensive. */
#define JOIN_PAUSE_CHEAP_US 2000u
/* The pause is so many times as long as the join took. */
#define JOIN_PAUSE_FACTOR 20u

struct join_pause {
	struct table nodes;
	uint64_t n_pauses; /* since the start */
};

/* No node waits. Allocates nothing. */
void join_pause_init(struct join_pause *pause);
/* Accepts a zeroed object. */
void join_pause_deinit(struct join_pause *pause);
/* The node was joined, which took so much CPU time. */
void join_pause_note(struct join_pause *pause, struct view node, uint64_t cpu_us, uint64_t now_ms);
/* When the node may be joined again; it may be in the past. 0: at any time. */
uint64_t join_pause_until(const struct join_pause *pause, struct view node);
