/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A list of chunks, the newest first; memory is cut off the newest one. Chunks double in size up to
 * CHUNK_MAX, so a small document costs one small chunk and a large one few. If a request does not
 * fit, it gets a new chunk and the rest of the old one is lost. A request larger than a chunk gets
 * a chunk of its own, put behind the newest. So at most CHUNK_MAX is lost for each large request.
 */

#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN 1024u
#define CHUNK_MAX 65536u

struct arena_chunk {
	struct arena_chunk *next;
	size_t size; /* of bytes */
	size_t used;
	alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *arena, size_t cap)
{
	*arena = (struct arena){.cap = cap};
}

void arena_init_secret(struct arena *arena, size_t cap)
{
	*arena = (struct arena){.cap = cap, .is_secret = true};
}

static void free_chunks(struct arena_chunk *chunk, bool is_secret)
{
	while (chunk) {
		struct arena_chunk *next = chunk->next;
		if (is_secret)
			explicit_bzero(chunk->bytes, chunk->size);
		free(chunk);
		chunk = next;
	}
}

void arena_deinit(struct arena *arena)
{
	free_chunks(arena->chunks, arena->is_secret);
	*arena = (struct arena){.cap = arena->cap, .is_secret = arena->is_secret};
}

void arena_reset(struct arena *arena)
{
	struct arena_chunk *kept = arena->chunks;
	arena->has_failed = false;
	if (!kept)
		return;
	free_chunks(kept->next, arena->is_secret);
	kept->next = NULL;
	kept->used = 0;
	arena->allocated = kept->size;
}

/* Where the next request starts in a chunk; at most its size. */
static size_t aligned_start(const struct arena_chunk *chunk)
{
	size_t mask = alignof(max_align_t) - 1;
	size_t start = (chunk->used + mask) & ~mask;
	return start < chunk->size ? start : chunk->size;
}

static size_t next_chunk_size(const struct arena *arena)
{
	size_t size = arena->chunks ? 2 * arena->chunks->size : CHUNK_MIN;
	return size < CHUNK_MAX ? size : CHUNK_MAX;
}

static struct arena_chunk *add_chunk(struct arena *arena, size_t wanted)
{
	/* arena_join() may have brought more than the cap. */
	size_t room = arena->allocated < arena->cap ? arena->cap - arena->allocated : 0;
	size_t size = next_chunk_size(arena);
	if (wanted > size)
		size = wanted;
	else if (size > room)
		size = room;
	if (size < wanted || size > room)
		return NULL;
	struct arena_chunk *chunk;
	size_t total;
	if (__builtin_add_overflow(sizeof(*chunk), size, &total))
		return NULL;
	chunk = malloc(total);
	if (!chunk)
		return NULL;
	*chunk = (struct arena_chunk){.size = size};
	arena->allocated += size;
	/* One that is filled by this request leaves the present chunk in service. */
	if (arena->chunks && size == wanted) {
		chunk->next = arena->chunks->next;
		arena->chunks->next = chunk;
	} else {
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	return chunk;
}

static void *fail(struct arena *arena)
{
	arena->has_failed = true;
	return NULL;
}

static char *cut(struct arena *arena, size_t size, bool align)
{
	struct arena_chunk *chunk = arena->chunks;
	size_t start = 0;
	if (chunk)
		start = align ? aligned_start(chunk) : chunk->used;
	if (!chunk || chunk->size - start < size) {
		chunk = add_chunk(arena, size);
		if (!chunk)
			return fail(arena);
		start = 0;
	}
	chunk->used = start + size;
	return chunk->bytes + start;
}

void *arena_alloc(struct arena *arena, size_t n, size_t size)
{
	static max_align_t nothing;
	size_t total;
	if (__builtin_mul_overflow(n, size, &total) || total > PTRDIFF_MAX)
		return fail(arena);
	if (total == 0)
		return &nothing;
	char *memory = cut(arena, total, true);
	return memory ? memset(memory, 0, total) : NULL;
}

int arena_check(const struct arena *arena, struct error *err)
{
	return arena->has_failed ? error_no_memory(err) : 0;
}

bool arena_copy(struct arena *arena, struct view bytes, struct view *ret)
{
	char *copy = bytes.len < SIZE_MAX ? cut(arena, bytes.len + 1, false) : fail(arena);
	if (!copy)
		return false;
	if (bytes.len)
		memcpy(copy, bytes.ptr, bytes.len);
	copy[bytes.len] = '\0';
	*ret = (struct view){copy, bytes.len};
	return true;
}

int arena_keep(struct arena *arena, struct view bytes, struct view *ret, struct error *err)
{
	return arena_copy(arena, bytes, ret) ? 0 : error_no_memory(err);
}

void arena_join(struct arena *to, struct arena *from)
{
	assert(to != from && to->is_secret == from->is_secret);
	struct arena_chunk **end = &to->chunks;
	while (*end)
		end = &(*end)->next;
	*end = from->chunks;
	to->allocated += from->allocated;
	to->has_failed |= from->has_failed;
	*from = (struct arena){.cap = from->cap, .is_secret = from->is_secret};
}
