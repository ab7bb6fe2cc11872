/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

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
