/* SPDX-License-Identifier: Apache-2.0 */

/*
 * LD_PRELOAD: looks for secrets in each block that a program gives back, and its libraries. UNWIPED_FILE
 * names a file that both map (tests/lib/unwiped.py has its layout). A test may change the secrets at any time.
 */

#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_SECRETS 8
#define SIZE 64    /* of a secret, with a NUL */
#define BEFORE 128 /* bytes in front of it that are kept, to tell whose block it is */

struct notes {
	_Atomic uint64_t found;
	char first[BEFORE + SIZE]; /* what was found first */
	char secrets[N_SECRETS][SIZE]; /* "": none */
};

/* glibc's own, which the functions below stand in front of. */
void *__libc_realloc(void *block, size_t size);
void *__libc_malloc(size_t size);
void __libc_free(void *block);

static struct notes *notes;

__attribute__((constructor)) static void map_file(void)
{
	const char *path = getenv("UNWIPED_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	void *mapped = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped != MAP_FAILED)
		notes = mapped;
	close(fd);
}

static void note(const char *block, const char *secret, size_t len)
{
	const size_t before = secret - block < BEFORE ? (size_t)(secret - block) : BEFORE;

	if (atomic_fetch_add(&notes->found, 1) == 0)
		memcpy(notes->first, secret - before, before + len);
}

static void look(const char *block)
{
	for (size_t i = 0; notes && block && i < N_SECRETS; i++) {
		const size_t len = strnlen(notes->secrets[i], SIZE);
		const char *found = len ? memmem(block, malloc_usable_size((void *)(uintptr_t)block),
						 notes->secrets[i], len)
					: NULL;
		if (found)
			note(block, found, len);
	}
}

void free(void *block)
{
	look(block);
	__libc_free(block);
}

/* Each block moves, for glibc's may. */
void *realloc(void *block, size_t size)
{
	const size_t before = malloc_usable_size(block);

	if (!block || size == 0) {
		look(block);
		return __libc_realloc(block, size);
	}
	void *moved = __libc_malloc(size);
	if (!moved)
		return NULL;
	memcpy(moved, block, size < before ? size : before);
	free(block);
	return moved;
}
