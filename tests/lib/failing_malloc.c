/* SPDX-License-Identifier: Apache-2.0 */

/* --wrap=malloc makes the linker resolve malloc to __wrap_malloc and __real_malloc to malloc. */

#include "lib/failing_malloc.h"

#include <errno.h>
#include <stddef.h>

/* Volatile, for link-time optimisation knows that a malloc() changes no variable of ours. */
static _Thread_local volatile unsigned failing; /* the allocation to fail, 0 = none */
static _Thread_local volatile unsigned count;
static _Thread_local volatile bool failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_reallocarray(void *ptr, size_t n, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_reallocarray(void *ptr, size_t n, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

void failing_malloc_at(unsigned k)
{
	failing = k;
	count = 0;
	failed = false;
}

bool failing_malloc_off(void)
{
	failing = 0;
	return failed;
}

unsigned failing_malloc_count(void)
{
	return count;
}

static bool fails(void)
{
	count++;
	if (failing == 0 || count != failing)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return fails() ? NULL : __real_realloc(ptr, size);
}

void *__wrap_reallocarray(void *ptr, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(ptr, n, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
	return fails() ? NULL : __real_strndup(text, n);
}
