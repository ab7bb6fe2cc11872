/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * heap - deadlines in order: an intrusive binary heap, smallest first, first in first out among
 * equals.
 *
 * Threads: owner.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct heap_node {
	uint64_t deadline; /* unit and origin are the owner's */
	uint64_t ticket;   /* order among equals */
	size_t position;   /* index + 1 in the heap, 0 when not in one */
};

struct heap {
	struct heap_node **nodes;
	size_t count;
	size_t allocated;
	uint64_t next_ticket;
};

/* An empty heap, which has allocated nothing; heap_deinit() at the end. */
void heap_init(struct heap *heap);
/* Frees the array; nodes are the caller's. Accepts a zeroed object. */
void heap_deinit(struct heap *heap);
/* Adds a node, or moves one that is in the heap, to deadline. Fails with ERROR_NO_MEMORY. */
MUST_USE int heap_set(struct heap *heap, struct heap_node *node, uint64_t deadline,
		      struct error *err);
/* Takes a node out; nothing when it is not in the heap. */
void heap_remove(struct heap *heap, struct heap_node *node);
/* The node with the smallest deadline, left in place; NULL when empty. */
struct heap_node *heap_first(const struct heap *heap);
/* True while the node is in a heap, whichever; a zeroed node is in none. */
bool heap_contains(const struct heap_node *node);
