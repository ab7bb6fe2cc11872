/* SPDX-License-Identifier: Apache-2.0 */

/* A binary heap in an array of pointers; each node knows its place, so that it can be moved. */

#include "base/heap.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_SIZE 16u

void heap_init(struct heap *heap)
{
	*heap = (struct heap){0};
}

void heap_deinit(struct heap *heap)
{
	free(heap->nodes);
	heap_init(heap);
}

static bool comes_before(const struct heap_node *a, const struct heap_node *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	return a->ticket < b->ticket;
}

static void put(struct heap *heap, struct heap_node *node, size_t index)
{
	heap->nodes[index] = node;
	node->position = index + 1;
}

static void move_up(struct heap *heap, struct heap_node *node, size_t index)
{
	while (index > 0) {
		size_t parent = (index - 1) / 2;
		if (!comes_before(node, heap->nodes[parent]))
			break;
		put(heap, heap->nodes[parent], index);
		index = parent;
	}
	put(heap, node, index);
}

static void move_down(struct heap *heap, struct heap_node *node, size_t index)
{
	for (;;) {
		size_t child = 2 * index + 1;
		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    comes_before(heap->nodes[child + 1], heap->nodes[child]))
			child++;
		if (!comes_before(heap->nodes[child], node))
			break;
		put(heap, heap->nodes[child], index);
		index = child;
	}
	put(heap, node, index);
}

/* Puts a node whose order may have changed either way, or that fills a gap, where it belongs. */
static void settle(struct heap *heap, struct heap_node *node, size_t index)
{
	if (index > 0 && comes_before(node, heap->nodes[(index - 1) / 2]))
		move_up(heap, node, index);
	else
		move_down(heap, node, index);
}

static int make_room(struct heap *heap, struct error *err)
{
	if (heap->count < heap->allocated)
		return 0;
	size_t n = heap->allocated ? 2 * heap->allocated : FIRST_SIZE;
	struct heap_node **nodes = reallocarray(heap->nodes, n, sizeof(struct heap_node *));
	if (!nodes)
		return error_no_memory(err);
	heap->nodes = nodes;
	heap->allocated = n;
	return 0;
}

int heap_set(struct heap *heap, struct heap_node *node, uint64_t deadline, struct error *err)
{
	if (!heap_contains(node)) {
		if (make_room(heap, err) != 0)
			return -1;
		put(heap, node, heap->count++);
	}
	assert(heap->nodes[node->position - 1] == node);
	node->deadline = deadline;
	node->ticket = heap->next_ticket++;
	settle(heap, node, node->position - 1);
	return 0;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
	if (!heap_contains(node))
		return;
	size_t gap = node->position - 1;
	assert(gap < heap->count && heap->nodes[gap] == node);
	struct heap_node *last = heap->nodes[--heap->count];
	if (last != node)
		settle(heap, last, gap);
	node->position = 0;
}

struct heap_node *heap_first(const struct heap *heap)
{
	return heap->count ? heap->nodes[0] : NULL;
}

bool heap_contains(const struct heap_node *node)
{
	return node->position != 0;
}
