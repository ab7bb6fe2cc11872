/* SPDX-License-Identifier: Apache-2.0 */

/*
 * LD_PRELOAD: counts the bytes of a program's blocks that live, and of its libraries'. HEAP_FILE names a
 * file of 8 bytes that both map, so a test can read it at any time (tests/lib/heap.py). Unlike resident
 * memory it tells of a single block.
 */

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own, which the functions below stand in front of. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static _Atomic int64_t before_the_file;
static _Atomic int64_t *live = &before_the_file;

__attribute__((constructor)) static void map_file(void)
{
	const char *path = getenv("HEAP_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	void *mapped = mmap(NULL, sizeof(*live), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped != MAP_FAILED) {
		live = mapped;
		atomic_store(live, atomic_load(&before_the_file));
	}
	close(fd);
}

static void *count(void *block)
{
	atomic_fetch_add(live, (int64_t)malloc_usable_size(block));
	return block;
}

void *malloc(size_t size)
{
	return count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return count(__libc_calloc(n, size));
}

void *realloc(void *block, size_t size)
{
	const size_t before = malloc_usable_size(block);
	void *moved = __libc_realloc(block, size);

	if (!moved && size > 0)
		return NULL; /* the block is as before */
	atomic_fetch_sub(live, (int64_t)before);
	return count(moved);
}

void *reallocarray(void *block, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, total);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return count(__libc_memalign(alignment, size));
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	void *block = count(__libc_memalign(alignment, size));

	if (!block)
		return ENOMEM;
	*ret_block = block;
	return 0;
}

void free(void *block)
{
	atomic_fetch_sub(live, (int64_t)malloc_usable_size(block));
	__libc_free(block);
}
