/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stopwatch - how long something took: for metrics, and to share out the time of a thread. Nothing
 * that is published rests on it: what decides by time gets it as an argument, or from base/clock.h.
 *
 * The simulator and tests of who shares out time have their own (tests/lib/fake_stopwatch.h).
 *
 * Threads: any.
 */

#include <stdint.h>

/* Microseconds since some moment. */
uint64_t stopwatch_us(void);
/* Seconds since a stopwatch_us(). */
double stopwatch_seconds(uint64_t since_us);
/* CPU time that the calling thread has used, in microseconds. Others on the machine do not count. */
uint64_t stopwatch_cpu_us(void);
