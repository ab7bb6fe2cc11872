/* SPDX-License-Identifier: Apache-2.0 */

/* A block's size is known to the C library alone. It may be a little more than what was asked for. */

#include "base/wiped_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *wiped_memory_allocate(size_t size)
{
	return malloc(size);
}

void *wiped_memory_allocate_zeroed(size_t n, size_t size)
{
	return calloc(n, size);
}

void *wiped_memory_resize(void *block, size_t size)
{
	const size_t before = malloc_usable_size(block);
	if (block && size == 0) {
		wiped_memory_free(block);
		return NULL;
	}
	if (size <= before && size > before / 2)
		return block;
	void *moved = malloc(size);
	if (!moved)
		return NULL;
	if (block)
		memcpy(moved, block, size < before ? size : before);
	wiped_memory_free(block);
	return moved;
}

char *wiped_memory_copy_text(const char *text)
{
	return strdup(text);
}

void wiped_memory_free(void *block)
{
	if (block)
		explicit_bzero(block, malloc_usable_size(block));
	free(block);
}
