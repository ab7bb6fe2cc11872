/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Jitter of a whole delay, not a fraction of it: many nodes that lost the same server at the same
 * moment must not come back in step.
 */

#include "base/backoff.h"

#include <assert.h>

void backoff_init(struct backoff *backoff, uint32_t base_ms, uint32_t cap_ms)
{
	assert(base_ms > 0 && base_ms <= cap_ms);
	*backoff = (struct backoff){.base_ms = base_ms, .cap_ms = cap_ms};
}

uint32_t backoff_next(struct backoff *backoff, struct prng *prng)
{
	/* 2^32 times any base is beyond any cap, and the shift stays defined. */
	unsigned doublings = backoff->failures < 32 ? backoff->failures : 32;
	uint64_t delay = (uint64_t)backoff->base_ms << doublings;
	if (delay > backoff->cap_ms)
		delay = backoff->cap_ms;
	if (backoff->failures < UINT32_MAX)
		backoff->failures++;
	uint64_t wait = delay + prng_between(prng, 0, delay);
	return wait < backoff->cap_ms ? (uint32_t)wait : backoff->cap_ms;
}

void backoff_reset(struct backoff *backoff)
{
	backoff->failures = 0;
}
