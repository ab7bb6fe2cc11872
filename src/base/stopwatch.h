/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stopwatch - how long something took, for metrics. Nothing is decided by it: what decides by time
 * gets it as an argument, or from base/clock.h.
 *
 * Threads: any.
 */

#include <stdint.h>

/* Microseconds since some moment. */
uint64_t stopwatch_us(void);
/* Seconds since a stopwatch_us(). */
double stopwatch_seconds(uint64_t since_us);
