/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_hash.h"

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), byte by byte on each machine alike. */
#define BASIS 0x811c9dc5u
#define PRIME 0x01000193u

static uint32_t add(uint32_t hash, unsigned char byte)
{
	return (hash ^ byte) * PRIME;
}

uint32_t drift_hash_number(uint32_t hash, int64_t value)
{
	if (hash == 0)
		hash = BASIS;
	for (int shift = 0; shift < 64; shift += 8)
		hash = add(hash, (unsigned char)((uint64_t)value >> shift));
	return hash != 0 ? hash : 1;
}

/* The length parts the values. */
uint32_t drift_hash(uint32_t hash, struct view value)
{
	hash = drift_hash_number(hash, (int64_t)value.len);
	for (size_t i = 0; i < value.len; i++)
		hash = add(hash, (unsigned char)value.ptr[i]);
	return hash != 0 ? hash : 1;
}
