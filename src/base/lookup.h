/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lookup - finds the elements of an array by the hash of a key, in an arena. Several elements may
 * have one key, and two keys one hash: the caller compares.
 *
 *	LOOKUP_EACH(at, &lookup, hash)
 *		if (view_equal(items[at].key, key))
 *			return &items[at];
 *
 * Threads: owner.
 * Limits:  as many elements as it was made for.
 */

#include "base/arena.h"

#define LOOKUP_END UINT32_MAX
/* A loop over the elements with that hash, the one added last first. */
#define LOOKUP_EACH(at, lookup, hash) \
	for (uint32_t at = lookup_first(lookup, hash); at != LOOKUP_END; at = lookup_next(lookup, at))

struct lookup_link; /* opaque */

struct lookup {
	uint32_t *heads; /* a power of two of them, or NULL: it is empty */
	struct lookup_link *links;
	uint32_t n, cap, mask;
};

/* Makes one for up to n elements, which lies in arena. Fails with ERROR_NO_MEMORY. */
MUST_USE int lookup_make(struct lookup *lookup, size_t n, struct arena *arena, struct error *err);
/* Adds the next element, whose index is returned: 0, 1, ... */
uint32_t lookup_add(struct lookup *lookup, uint32_t hash);
/* The elements with that hash, the one added last first; LOOKUP_END after the last. Accepts a
 * zeroed lookup, which is empty. */
uint32_t lookup_first(const struct lookup *lookup, uint32_t hash);
/* at is what lookup_first() or lookup_next() returned, not LOOKUP_END. */
uint32_t lookup_next(const struct lookup *lookup, uint32_t at);
/* The hash of a key that is made of parts, of which `hash` are the ones before; 0: none. Seeded like
 * view_hash(). */
uint32_t lookup_hash(uint32_t hash, struct view part);
/* The same for a letter case that does not count. */
uint32_t lookup_hash_ignoring_case(uint32_t hash, struct view part);
