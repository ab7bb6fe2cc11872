/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory doubles until the cap. One byte above the cap may be allocated, for the NUL of
 * sbuf_text(); an append that does not fit leaves nothing of itself behind.
 */

#include "base/sbuf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 256u

void sbuf_init(struct sbuf *buf, size_t cap)
{
	*buf = (struct sbuf){.cap = cap};
}

void sbuf_init_secret(struct sbuf *buf, size_t cap)
{
	*buf = (struct sbuf){.cap = cap, .is_secret = true};
}

/* Also what lies behind the end: it may have been longer. */
static void give_back(struct sbuf *buf)
{
	if (buf->is_secret && buf->ptr)
		explicit_bzero(buf->ptr, buf->allocated);
	free(buf->ptr);
}

void sbuf_deinit(struct sbuf *buf)
{
	give_back(buf);
	*buf = (struct sbuf){.cap = buf->cap, .is_secret = buf->is_secret};
}

void sbuf_clear(struct sbuf *buf)
{
	buf->len = 0;
	buf->failure = ERROR_NONE;
}

/* realloc() would leave a copy behind. */
static char *move_secret(struct sbuf *buf, size_t size)
{
	char *ptr = malloc(size);
	if (!ptr)
		return NULL;
	memcpy(ptr, buf->ptr ? buf->ptr : "", buf->len);
	give_back(buf);
	return ptr;
}

/* Makes `allocated` at least size, which is at most cap + 1. */
static bool grow(struct sbuf *buf, size_t size)
{
	if (size <= buf->allocated)
		return true;
	size_t doubled = buf->allocated < FIRST_SIZE ? FIRST_SIZE : buf->allocated;
	while (doubled < size)
		doubled = doubled > SIZE_MAX / 2 ? size : 2 * doubled;
	if (doubled > buf->cap && size <= buf->cap)
		doubled = buf->cap;
	else if (doubled > buf->cap)
		doubled = size;
	char *ptr = buf->is_secret ? move_secret(buf, doubled) : realloc(buf->ptr, doubled);
	if (!ptr) {
		buf->failure = ERROR_NO_MEMORY;
		return false;
	}
	buf->ptr = ptr;
	buf->allocated = doubled;
	return true;
}

char *sbuf_reserve(struct sbuf *buf, size_t n)
{
	if (buf->failure != ERROR_NONE)
		return NULL;
	if (n > buf->cap - buf->len) {
		buf->failure = ERROR_LIMIT;
		return NULL;
	}
	/* At least one byte: a place that is not NULL. */
	size_t size = buf->len + n;
	return grow(buf, size ? size : 1) ? buf->ptr + buf->len : NULL;
}

void sbuf_commit(struct sbuf *buf, size_t n)
{
	assert(n <= buf->allocated - buf->len && n <= buf->cap - buf->len);
	buf->len += n;
}

void sbuf_append(struct sbuf *buf, struct view bytes)
{
	if (bytes.len == 0)
		return;
	char *place = sbuf_reserve(buf, bytes.len);
	if (!place)
		return;
	memcpy(place, bytes.ptr, bytes.len);
	buf->len += bytes.len;
}

void sbuf_append_char(struct sbuf *buf, char c)
{
	if (buf->failure == ERROR_NONE && buf->len < buf->allocated && buf->len < buf->cap)
		buf->ptr[buf->len++] = c;
	else
		sbuf_append(buf, (struct view){&c, 1});
}

void sbuf_printf(struct sbuf *buf, const char *format, ...)
{
	if (buf->failure != ERROR_NONE)
		return;
	va_list values, again;
	va_start(values, format);
	va_copy(again, values);
	size_t room = buf->allocated - buf->len;
	int wanted = vsnprintf(room ? buf->ptr + buf->len : NULL, room, format, values);
	va_end(values);
	assert(wanted >= 0 && "a format that libc refuses");
	size_t n = (size_t)wanted;
	if (n > buf->cap - buf->len) {
		buf->failure = ERROR_LIMIT;
	} else if (n < room) {
		buf->len += n;
	} else if (grow(buf, buf->len + n + 1)) {
		vsnprintf(buf->ptr + buf->len, n + 1, format, again);
		buf->len += n;
	}
	va_end(again);
}

void sbuf_consume(struct sbuf *buf, size_t n)
{
	assert(n <= buf->len);
	if (n == 0)
		return;
	memmove(buf->ptr, buf->ptr + n, buf->len - n);
	buf->len -= n;
}

void sbuf_truncate(struct sbuf *buf, size_t len)
{
	assert(len <= buf->len);
	buf->len = len;
}

struct view sbuf_view(const struct sbuf *buf)
{
	return (struct view){buf->ptr, buf->len};
}

const char *sbuf_text(struct sbuf *buf)
{
	if (buf->len == SIZE_MAX || !grow(buf, buf->len + 1))
		return NULL;
	buf->ptr[buf->len] = '\0';
	return buf->ptr;
}

int sbuf_check(const struct sbuf *buf, const char *what, struct error *err)
{
	switch (buf->failure) {
	case ERROR_NONE:
		return 0;
	case ERROR_LIMIT:
		return error_set(err, ERROR_LIMIT, 0, "%s: larger than %zu bytes", what, buf->cap);
	default:
		error_no_memory(err);
		return error_wrap(err, "%s", what);
	}
}

int sbuf_keep(const struct sbuf *buf, const char *what, struct arena *arena, struct view *ret,
	      struct error *err)
{
	if (sbuf_check(buf, what, err) < 0)
		return -1;
	return arena_keep(arena, sbuf_view(buf), ret, err);
}
