/* SPDX-License-Identifier: Apache-2.0 */

/* The clocks read here are in every kernel we run on: a failure is a bug. */

#include "base/clock.h"

#include <assert.h>
#include <time.h>

static struct timespec read_clock(clockid_t clock)
{
	struct timespec now = {0};
	int failed = clock_gettime(clock, &now);
	assert(!failed);
	(void)failed;
	return now;
}

static uint64_t in_ms(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t clock_monotonic_ms(void)
{
	return in_ms(read_clock(CLOCK_MONOTONIC));
}

uint64_t clock_boot_ms(void)
{
	return in_ms(read_clock(CLOCK_BOOTTIME));
}

int64_t clock_wall_ms(void)
{
	return (int64_t)in_ms(read_clock(CLOCK_REALTIME));
}
