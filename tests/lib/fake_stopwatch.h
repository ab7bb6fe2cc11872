/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_stopwatch - base/stopwatch.h for a test: nothing takes any time but what the test says. One
 * source file of a test program includes lib/fake_stopwatch.inc, whose symbols then take the place
 * of the real ones at the link.
 *
 * Threads: the test's.
 */

#include "base/stopwatch.h"

extern uint64_t fake_stopwatch_us;     /* what stopwatch_us() says */
extern uint64_t fake_stopwatch_step_us; /* each stopwatch_us() moves it by that */
extern uint64_t fake_stopwatch_cpu_us; /* what stopwatch_cpu_us() says */
