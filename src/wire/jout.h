/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jout - writes JSON into an sbuf: commas, quotes and escapes are its business, the order of keys
 * the caller's. Text that is not UTF-8 is written with U+FFFD in place of the bad bytes.
 *
 * Failure is the sbuf's, sticky: check once at the end with sbuf_check().
 * Threads: owner.
 * Limits:  nesting of at most 32; more is a programming error.
 */

#include "base/sbuf.h"

struct jout {
	struct sbuf *buf;
	uint32_t filled; /* bit n: the container at depth n has a member already */
	uint8_t depth;
	bool after_key;
};

/* Before the first value, which goes to the end of buf; that is borrowed. Nothing to free. */
void jout_init(struct jout *out, struct sbuf *buf);
/* Opens an object. */
void jout_object(struct jout *out);
/* Closes the innermost container, which is an object. */
void jout_object_end(struct jout *out);
/* Opens an array. */
void jout_array(struct jout *out);
/* Closes the innermost container, which is an array. */
void jout_array_end(struct jout *out);
/* The key of the next value; inside an object only. */
void jout_key(struct jout *out, const char *key);
/* A string, with what JSON forbids in it escaped. */
void jout_text(struct jout *out, struct view text);
/* A number. */
void jout_i64(struct jout *out, int64_t value);
/* true or false. */
void jout_bool(struct jout *out, bool value);
/* null. */
void jout_null(struct jout *out);
/* A value that is JSON already. */
void jout_raw(struct jout *out, struct view json);
/* jout_key() and jout_text() in one. */
void jout_member_text(struct jout *out, const char *key, struct view text);
/* jout_key() and jout_bool() in one. */
void jout_member_bool(struct jout *out, const char *key, bool value);
