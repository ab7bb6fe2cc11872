/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is in use goes up and down by the buffers of what is under way: one of 64 KiB is there at three of four
 * looks. So the least of many looks counts, beside the least of as many a span before.
 */

#include "sim/memory.h"

#include <malloc.h>
#include <stdint.h>

#include "base/compiler.h"
#include "sim/check.h"

#define BLOCK_HEAD sizeof(size_t) /* mallinfo2() counts it, too */
#define LEAST_OF_H 4
#define WARM_UP_H 4 /* tables, pools and caches fill in that time */
#define MAX_HOURS 240

static size_t kept, samples[MAX_HOURS], least_of_hour;
static int n_samples;

void memory_reset(void)
{
	kept = 0;
	n_samples = 0;
	least_of_hour = SIZE_MAX;
}

void memory_keep(const void *block)
{
	if (block)
		kept += malloc_usable_size((void *)(uintptr_t)block) + BLOCK_HEAD;
}

static size_t least_until(int end)
{
	size_t least = SIZE_MAX;

	for (int i = end - LEAST_OF_H; i < end; i++)
		if (samples[i] < least)
			least = samples[i];
	return least;
}

void memory_look(void)
{
	const struct mallinfo2 info = mallinfo2();
	const size_t used = info.uordblks + info.hblkhd - kept;

	if (used < least_of_hour)
		least_of_hour = used;
}

bool memory_is_flat(size_t *ret_before, size_t *ret_now)
{
	check(n_samples < MAX_HOURS && least_of_hour < SIZE_MAX);
	samples[n_samples++] = least_of_hour;
	least_of_hour = SIZE_MAX;
	if (n_samples < WARM_UP_H + LEAST_OF_H + MEMORY_SPAN_H)
		return true;
	*ret_before = least_until(n_samples - MEMORY_SPAN_H);
	*ret_now = least_until(n_samples);
	return *ret_now <= *ret_before + MEMORY_MAX_GROWTH;
}
