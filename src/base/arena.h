/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * arena - memory for one document or one computation, freed as a whole.
 *
 * Threads: owner.
 * Limits:  the sum of all chunks stays at or below the cap given at init.
 */

#include "base/error.h"
#include "base/view.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	size_t allocated; /* bytes in chunks */
	size_t cap;
	bool is_secret; /* chunks are wiped before they are given back */
	bool has_failed; /* see arena_check() */
};

/* Makes an empty arena. Allocates nothing. */
void arena_init(struct arena *arena, size_t cap);
/* The same for keys and tokens: no memory that it gives back still has them. */
void arena_init_secret(struct arena *arena, size_t cap);
/* Frees everything; the arena is as after its init function. Accepts a zeroed object. For CLEANUP. */
void arena_deinit(struct arena *arena);
/* Forgets everything, a failure too, but keeps one chunk for reuse. */
void arena_reset(struct arena *arena);
/*
 * Zeroed memory for n objects of `size` bytes, aligned for any type; NULL when the cap or memory
 * ran out or n * size overflows. n or size 0 gives a valid unusable pointer.
 */
void *arena_alloc(struct arena *arena, size_t n, size_t size);
/* The same of n elements that ptr points to; assigns it, and is its new value. */
#define ARENA_NEW(ptr, arena, n) ((ptr) = arena_alloc(arena, n, sizeof(*(ptr))))
/*
 * Failure is sticky: 0, or -1 with ERROR_NO_MEMORY when there was no memory for something since the arena was
 * empty. So whoever can do without what is missing need not ask each time, but once at the end.
 */
MUST_USE int arena_check(const struct arena *arena, struct error *err);
/* Copies bytes (plus a NUL behind them, not counted). False: no room, *ret untouched. */
bool arena_copy(struct arena *arena, struct view bytes, struct view *ret);
/* The same, as a function that fails with ERROR_NO_MEMORY. */
MUST_USE int arena_keep(struct arena *arena, struct view bytes, struct view *ret, struct error *err);
/* Moves all memory of *from into *to; *from is empty afterwards. Pointers stay valid. Both are secret, or
 * neither is. */
void arena_join(struct arena *to, struct arena *from);
