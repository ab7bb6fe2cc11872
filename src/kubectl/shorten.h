/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * shorten - cuts texts to a width, such that different texts stay different.
 *
 * Threads: owner.
 */

#include "base/arena.h"

struct shorten_entry {
	struct view full;
	struct view cut;
};

struct shorten {
	struct arena arena;
	struct shorten_entry *entries; /* each text once, in order */
	size_t n;
};

#define SHORTEN_MIN_WIDTH 8u

/*
 * Cuts n printable texts, which are borrowed, to `width` characters: the middle becomes an ellipsis.
 * Texts that would then read the same end in a number instead. width is at least
 * SHORTEN_MIN_WIDTH. Fails with ERROR_NO_MEMORY; shorten_deinit() in any case.
 */
MUST_USE int shorten_init(struct shorten *shorten, const struct view *texts, size_t n, size_t width,
			  struct error *err);
/* Accepts a zeroed object. For CLEANUP. */
void shorten_deinit(struct shorten *shorten);
/* The cut form of one of the texts; borrowed from the object. */
struct view shorten_find(const struct shorten *shorten, struct view text);
