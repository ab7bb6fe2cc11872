/* SPDX-License-Identifier: Apache-2.0 */

/* splitmix64 (https://prng.di.unimi.it/splitmix64.c): eight bytes of state, any seed is good. */

#include "base/prng.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

void prng_init(struct prng *prng, uint64_t seed)
{
	prng->state = seed;
}

uint64_t prng_entropy(void)
{
	uint64_t seed;
	/* Up to 256 bytes are never cut short; it fails only on kernels before 3.17. */
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		abort();
	return seed;
}

uint64_t prng_next(struct prng *prng)
{
	prng->state += 0x9e3779b97f4a7c15u;
	uint64_t z = prng->state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t prng_between(struct prng *prng, uint64_t low, uint64_t high)
{
	assert(low <= high);
	uint64_t span = high - low + 1;
	if (span == 0)
		return prng_next(prng);
	/* Values in the incomplete last run of `span` would favour small results: draw again. */
	uint64_t unfair = (0 - span) % span;
	uint64_t drawn = prng_next(prng);
	while (drawn < unfair)
		drawn = prng_next(prng);
	return low + drawn % span;
}
