/* SPDX-License-Identifier: Apache-2.0 */

/* Chains of indices in a power of two of buckets: there are at least as many buckets as elements. */

#include "base/lookup.h"

#include <assert.h>
#include <string.h>

#define FIRST_BUCKETS 8u
#define PIECE 64u

struct lookup_link {
	uint32_t hash;
	uint32_t next;
};

int lookup_make(struct lookup *lookup, size_t n, struct arena *arena, struct error *err)
{
	size_t n_heads = FIRST_BUCKETS;

	assert(n < UINT32_MAX / 2);
	while (n_heads < n)
		n_heads *= 2;
	*lookup = (struct lookup){
		.heads = arena_alloc(arena, n_heads, sizeof(*lookup->heads)),
		.links = arena_alloc(arena, n, sizeof(*lookup->links)),
		.cap = (uint32_t)n,
		.mask = (uint32_t)n_heads - 1,
	};
	if (!lookup->heads || !lookup->links)
		return error_no_memory(err);
	memset(lookup->heads, 0xff, n_heads * sizeof(*lookup->heads)); /* LOOKUP_END */
	return 0;
}

uint32_t lookup_add(struct lookup *lookup, uint32_t hash)
{
	uint32_t at = lookup->n++;
	uint32_t *head = &lookup->heads[hash & lookup->mask];

	assert(at < lookup->cap);
	lookup->links[at] = (struct lookup_link){hash, *head};
	*head = at;
	return at;
}

static uint32_t skip_others(const struct lookup *lookup, uint32_t at, uint32_t hash)
{
	while (at != LOOKUP_END && lookup->links[at].hash != hash)
		at = lookup->links[at].next;
	return at;
}

uint32_t lookup_first(const struct lookup *lookup, uint32_t hash)
{
	return lookup->n > 0 ? skip_others(lookup, lookup->heads[hash & lookup->mask], hash)
			     : LOOKUP_END;
}

uint32_t lookup_next(const struct lookup *lookup, uint32_t at)
{
	return skip_others(lookup, lookup->links[at].next, lookup->links[at].hash);
}

/* The parts' own hashes have been mixed: what is left to do is to make their order count. */
uint32_t lookup_hash(uint32_t hash, struct view part)
{
	return (hash << 5 | hash >> 27) * 0x9e3779b1u + view_hash(part);
}

uint32_t lookup_hash_ignoring_case(uint32_t hash, struct view part)
{
	char piece[PIECE];

	for (size_t at = 0; at == 0 || at < part.len; at += PIECE) {
		size_t n = part.len - at < PIECE ? part.len - at : PIECE;

		for (size_t i = 0; i < n; i++) {
			char c = part.ptr[at + i];

			piece[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
		}
		hash = lookup_hash(hash, (struct view){piece, n});
	}
	return hash;
}
