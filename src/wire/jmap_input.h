/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jmap_input - the document that jmap_decode() reads: how far it is read, and where its texts go.
 * What is refused is refused with the path of the value that is wrong. Used by jmap_decode and
 * jmap_scalar only.
 *
 * Threads: owner.
 * Limits:  of a path an error text has the first 127 bytes.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "wire/jlex.h"

struct jmap_input {
	struct jlex lex;
	struct arena *arena; /* of what is decoded; borrowed */
	struct error *err;   /* where failures go; borrowed, the same as lex.err */
};

/* The way from the root to a value: a list that lies on the stack, from the value upwards. */
struct jmap_path {
	const struct jmap_path *up; /* NULL: the root is above */
	const char *key;            /* NULL: an element */
	uint32_t index;             /* of an element */
};

/* Fails with kind, the path and what is wrong there. path NULL: the whole document. Gives -1. */
int jmap_input_refuse(const struct jmap_input *in, enum error_kind kind,
		      const struct jmap_path *path, const char *what);
/*
 * Why `arena` had no room for size bytes: fails with ERROR_LIMIT at the arena's end, and with
 * ERROR_NO_MEMORY where the system had none. Gives -1.
 */
int jmap_input_no_room(const struct jmap_input *in, const struct arena *arena, size_t size);
/*
 * Fails with ERROR_REJECTED: the next token begins no value, or one of another type than the row's.
 * `what` says the second. Gives -1.
 */
int jmap_input_wrong_type(struct jmap_input *in, const struct jmap_path *path, const char *what);
