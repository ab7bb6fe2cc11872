/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * prng - seeded pseudo-random numbers for jitter and tests; never for secrets.
 *
 * Threads: owner.
 */

#include <stdint.h>

struct prng {
	uint64_t state;
};

/* The same seed gives the same numbers. */
void prng_init(struct prng *prng, uint64_t seed);
/* A seed from the kernel. */
uint64_t prng_entropy(void);
/* The next number; all values of 64 bits are equally likely. */
uint64_t prng_next(struct prng *prng);
/* Evenly from [low, high]; low <= high. */
uint64_t prng_between(struct prng *prng, uint64_t low, uint64_t high);
