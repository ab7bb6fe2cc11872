/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wiped_memory - the C library's allocator, but each block is wiped before it is free again. For libraries
 * that copy keys and tokens and let us choose their allocator.
 *
 * Threads: any.
 */

#include <stddef.h>

/* As glibc's malloc(), calloc(), realloc(), strdup() and free(). A block that moves leaves no copy behind. */
void *wiped_memory_allocate(size_t size);
void *wiped_memory_allocate_zeroed(size_t n, size_t size);
void *wiped_memory_resize(void *block, size_t size);
char *wiped_memory_copy_text(const char *text);
void wiped_memory_free(void *block);
