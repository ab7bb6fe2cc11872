/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sort - qsort() for what is in order already most of the time. That costs one pass.
 *
 * Threads: any.
 */

#include <stddef.h>

/* Like qsort(). Elements that are in order stay where they are. items may be NULL if n is 0. */
void sort_items(void *items, size_t n, size_t size, int (*order)(const void *a, const void *b));
