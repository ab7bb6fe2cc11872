/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <stdint.h>
#include <stdlib.h>

void sort_items(void *items, size_t n, size_t size, int (*order)(const void *a, const void *b))
{
	const char *at = items;
	for (size_t i = 1; i < n; i++, at += size)
		if (order(at, at + size) > 0) {
			qsort(items, n, size, order);
			return;
		}
}

/* How many elements there are of which `order` says more than `limit`: they come first. */
static size_t count_below(const void *key, const char *items, size_t n, size_t size,
			  int (*order)(const void *key, const void *item), int limit)
{
	size_t low = 0, high = n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (order(key, items + middle * size) > limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void *sort_find(const void *key, const void *items, size_t n, size_t size,
		int (*order)(const void *key, const void *item), size_t *ret_n)
{
	const size_t first = count_below(key, items, n, size, order, 0);
	*ret_n = count_below(key, items, n, size, order, -1) - first;
	return *ret_n > 0 ? (char *)(uintptr_t)items + first * size : NULL;
}
