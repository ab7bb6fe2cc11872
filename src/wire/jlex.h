/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jlex - reads a whole JSON text (RFC 8259) from front to back, value by value, without building a
 * tree and without allocating.
 *
 * It is strict: no trailing commas, comments, byte order mark, or bytes that are not UTF-8. In
 * values that are skipped, numbers may have any size and escaped text may be of any kind.
 *
 * Threads: any; an object belongs to its caller.
 * Limits:  nesting as given to jlex_init().
 */

#include "base/error.h"
#include "base/view.h"

#define JLEX_MAX_DEPTH 128u

struct jlex {
	const char *start;
	const char *at;
	const char *end;
	unsigned depth;
	unsigned max_depth;
	struct error *err; /* where failures go; borrowed */
};

/* A string as it was written, between its quotes. */
struct jlex_string {
	struct view raw;
	bool has_escapes; /* else raw is the text */
};

/* max_depth is at most JLEX_MAX_DEPTH. The other functions fail into *err. */
void jlex_init(struct jlex *lex, struct view text, unsigned max_depth, struct error *err);
/* The first byte of the next token, blanks are passed over; 0 at the end. */
char jlex_peek(struct jlex *lex);
/* Passes over c if it is the next token. */
bool jlex_take(struct jlex *lex, char c);
/* The same, but fails with ERROR_REJECTED if it is not. */
MUST_USE int jlex_expect(struct jlex *lex, char c);
/* '{' or '[', one level down. Fails with ERROR_REJECTED, ERROR_LIMIT when nested too deep. */
MUST_USE int jlex_enter(struct jlex *lex, char bracket);
/* '}' or ']', one level up. Fails with ERROR_REJECTED. */
MUST_USE int jlex_leave(struct jlex *lex, char bracket);
/* A string; borrowed from the text. Fails with ERROR_REJECTED. */
MUST_USE int jlex_string(struct jlex *lex, struct jlex_string *ret);
/* A key and its ':'. */
MUST_USE int jlex_key(struct jlex *lex, struct jlex_string *ret);
/* A number as it was written. */
MUST_USE int jlex_number(struct jlex *lex, struct view *ret);
/* One of the words true, false, null. */
MUST_USE int jlex_word(struct jlex *lex, struct view word);
/* Any one value. Fails with ERROR_REJECTED, ERROR_LIMIT when nested too deep. */
MUST_USE int jlex_skip(struct jlex *lex);
/* Nothing but blanks is left. Fails with ERROR_REJECTED. */
MUST_USE int jlex_finish(struct jlex *lex);
/* Fails with ERROR_REJECTED, the place and what would have been right there. */
int jlex_malformed(const struct jlex *lex, const char *expected);
/*
 * Writes the text of a string to `to`, which has room for raw.len bytes. False: it holds U+0000 or
 * half of a surrogate pair, which are no text for us; `to` then holds garbage.
 */
bool jlex_unescape(struct jlex_string string, char *to, size_t *ret_len);
