/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * backoff - how long to wait before the next try: doubling from a base to a cap, with jitter.
 *
 * Threads: owner.
 */

#include <stdint.h>

#include "base/prng.h"

struct backoff {
	uint32_t base_ms;
	uint32_t cap_ms;
	uint32_t failures; /* since the last success */
};

/* No failures yet. */
void backoff_init(struct backoff *backoff, uint32_t base_ms, uint32_t cap_ms);
/*
 * Counts a failure and gives the wait in ms: d + up to d of jitter, d = base * 2^failures, the sum
 * never above cap_ms.
 */
uint32_t backoff_next(struct backoff *backoff, struct prng *prng);
/* A success: the next wait starts from the base again. */
void backoff_reset(struct backoff *backoff);
