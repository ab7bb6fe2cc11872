/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * clock - reads the kernel's clocks. Pure code never calls this: it gets `now` as an argument.
 *
 * Threads: any.
 */

#include <stdint.h>

/* Milliseconds since boot, suspend not counted; for time-outs and ages. */
uint64_t clock_monotonic_ms(void);
/* Milliseconds since boot, suspend counted. */
uint64_t clock_boot_ms(void);
/* Milliseconds since 1970 UTC; for display only, may jump. */
int64_t clock_wall_ms(void);
