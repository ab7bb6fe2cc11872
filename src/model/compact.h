/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * compact - copies a value whose texts and arrays lie elsewhere into one allocation, and compares two.
 * A table names each member of the struct once.
 *
 * Threads: any; pure.
 */

#include <stddef.h>

#include "base/array.h"
#include "base/error.h"
#include "base/view.h"

/* A member of a struct. A row without a kind ends the table. */
struct compact_row {
	enum compact_kind {
		COMPACT_END,
		COMPACT_PLAIN, /* no pointers in it, nor padding */
		COMPACT_TEXT,  /* struct view */
		COMPACT_ARRAY, /* struct array */
	} kind;
	size_t offset;
	size_t size; /* of a plain member, or of an element of the array */
	const struct compact_row *rows; /* of an element of the array */
};

#define COMPACT_PLAIN_ROW(type, member) \
	{COMPACT_PLAIN, offsetof(struct type, member), sizeof(((struct type *)0)->member), NULL}
#define COMPACT_TEXT_ROW(type, member) {COMPACT_TEXT, offsetof(struct type, member), 0, NULL}
#define COMPACT_ARRAY_ROW(type, member, element, its_rows) \
	{COMPACT_ARRAY, offsetof(struct type, member), sizeof(element), its_rows}

/* Elements of an array of struct view. */
extern const struct compact_row compact_text[];

/* The length of the longest text in the struct and its arrays. */
size_t compact_longest(const struct compact_row *rows, const void *value);
/*
 * Copies the struct of that size, and all that its rows name, into one block, which is the caller's
 * to free(). Members without a row are copied as they are. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int compact_new(const struct compact_row *rows, const void *value, size_t size,
			 void **ret_copy, struct error *err);
/* True when all members that have rows are equal. */
bool compact_equal(const struct compact_row *rows, const void *a, const void *b);
