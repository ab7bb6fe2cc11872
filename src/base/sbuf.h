/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sbuf - a byte buffer that grows up to a stated end.
 *
 * Failure is sticky: when the cap or memory runs out the buffer remembers it, further appends do
 * nothing, and sbuf_check() says so once at the end. So writers need no check per append.
 *
 * Threads: owner.
 */

#include "base/arena.h"
#include "base/error.h"
#include "base/view.h"

struct sbuf {
	char *ptr;
	size_t len;
	size_t allocated;
	size_t cap;              /* len never exceeds this */
	enum error_kind failure; /* ERROR_NONE, ERROR_LIMIT or ERROR_NO_MEMORY */
	bool is_secret;          /* memory is wiped before it is given back */
};

/* Makes an empty buffer that never holds more than cap bytes. Allocates nothing. */
void sbuf_init(struct sbuf *buf, size_t cap);
/* The same for a key or a token: no memory that it gives back still has it. */
void sbuf_init_secret(struct sbuf *buf, size_t cap);
/* Frees the bytes; the buffer is as after sbuf_init(), or sbuf_init_secret(). Accepts a zeroed object. For CLEANUP. */
void sbuf_deinit(struct sbuf *buf);
/* Forgets contents and failure, keeps the memory. */
void sbuf_clear(struct sbuf *buf);
/* Adds all the bytes, or none of them on failure. They must not lie in the buffer. */
void sbuf_append(struct sbuf *buf, struct view bytes);
/* Adds one byte, or nothing on failure. */
void sbuf_append_char(struct sbuf *buf, char c);
/* Adds the whole formatted text, or nothing on failure. No argument may lie in the buffer. */
PRINTF_LIKE(2, 3) void sbuf_printf(struct sbuf *buf, const char *format, ...);
/* Removes the first n (<= len) bytes. */
void sbuf_consume(struct sbuf *buf, size_t n);
/* Shortens to len bytes (<= present length). */
void sbuf_truncate(struct sbuf *buf, size_t len);
/* Room for n further bytes at the returned place, or NULL (failure set); then sbuf_commit(). */
char *sbuf_reserve(struct sbuf *buf, size_t n);
/* Makes the first n bytes of the reserved place contents; n is at most what was reserved. */
void sbuf_commit(struct sbuf *buf, size_t n);
/* The contents, borrowed until the next change. */
struct view sbuf_view(const struct sbuf *buf);
/* The contents as a C string, borrowed until the next change; NULL if no room for the final NUL. */
const char *sbuf_text(struct sbuf *buf);
/* 0, or -1 with ERROR_LIMIT or ERROR_NO_MEMORY and `what` in the text. */
MUST_USE int sbuf_check(const struct sbuf *buf, const char *what, struct error *err);
/* The same; and copies the contents, which then lie in arena. On failure *ret is untouched. */
MUST_USE int sbuf_keep(const struct sbuf *buf, const char *what, struct arena *arena, struct view *ret,
		       struct error *err);
