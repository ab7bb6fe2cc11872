/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stopwatch.h"

#include <assert.h>
#include <time.h>

static uint64_t read_us(clockid_t clock)
{
	struct timespec now = {0};
	int failed = clock_gettime(clock, &now);
	assert(!failed);
	(void)failed;
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t stopwatch_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

double stopwatch_seconds(uint64_t since_us)
{
	return (double)(stopwatch_us() - since_us) / 1e6;
}

uint64_t stopwatch_cpu_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}
