/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_loop - io/loop.h and base/clock.h without a clock: time stands still until the test moves
 * it, and then everything that is due happens in its order. One source file of a test program
 * includes lib/fake_loop.inc, whose symbols then take the place of the real ones at the link.
 *
 * There are timers only: no descriptors, no signals.
 *
 * Threads: the test's.
 */

#include "io/loop.h"

extern uint64_t fake_now_ms;  /* monotonic */
extern int64_t fake_wall_ms;  /* moves with the other one */

/* Lets ms milliseconds pass and fires the timers that come due, those at the very end included. */
void fake_loop_advance(struct loop *loop, uint64_t ms);
/* Counts a turn, for loop_turns(). */
void fake_loop_turned(struct loop *loop, double seconds);
/* In how many ms the next timer fires; UINT64_MAX: none is set. */
uint64_t fake_loop_next(const struct loop *loop);
