/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wall_time - a moment in the past that is told by the wall clock, also after that clock was set
 *
 * Threads: owner.
 */

#include <stdint.h>

/* Zeroed: never. */
struct wall_time {
	int64_t told;    /* ms since 1970; 0: never */
	int64_t boot_ms; /* the same moment, ms since boot; may lie before it */
};

/* The moment that the wall clock gives as `then`; now is told by both clocks, in ms. */
struct wall_time wall_time_of(int64_t then, int64_t wall_now, uint64_t boot_now);
/*
 * Tells the moment by the wall clock as it is now. What is told stays the same unless it is wrong by
 * more than 2 s: a clock is corrected by a little all the time. Never stays never.
 */
void wall_time_follow(struct wall_time *time, int64_t wall_now, uint64_t boot_now);
