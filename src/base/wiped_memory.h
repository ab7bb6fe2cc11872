/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wiped_memory - the C library's allocator, but each block is wiped before it is free again. For libraries
 * that copy keys and tokens and let us choose their allocator.
 *
 * Threads: any.
 */

#include <stddef.h>

/* As malloc(). */
void *wiped_memory_allocate(size_t size);
/* As calloc(). */
void *wiped_memory_allocate_zeroed(size_t n, size_t size);
/* As realloc(). A block that moves leaves no copy behind. */
void *wiped_memory_resize(void *block, size_t size);
/* As strdup(). */
char *wiped_memory_copy_text(const char *text);
/* As free(); wipes the whole block. Accepts NULL. */
void wiped_memory_free(void *block);
