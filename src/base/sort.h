/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sort - qsort() for what is in order already most of the time, and bsearch() for more than one.
 *
 * Threads: any.
 */

#include <stddef.h>

/* Like qsort(). Elements that are in order stay where they are, in one pass. items may be NULL if n is 0. */
void sort_items(void *items, size_t n, size_t size, int (*order)(const void *a, const void *b));
/*
 * Like bsearch(), but all elements that are equal to key: *ret_n of them from the returned one on. NULL: there
 * are none. items may be NULL if n is 0.
 */
void *sort_find(const void *key, const void *items, size_t n, size_t size,
		int (*order)(const void *key, const void *item), size_t *ret_n);
