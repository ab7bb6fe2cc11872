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

/* Members of a struct that lie side by side. A row without a kind ends the table. */
struct compact_row {
	enum compact_kind {
		COMPACT_END,
		COMPACT_PLAIN, /* no pointers in it, nor padding */
		COMPACT_TEXTS, /* struct view, each */
		COMPACT_ARRAY, /* one struct array */
	} kind;
	size_t offset;
	size_t size; /* of the members together, or of an element of the array */
	const struct compact_row *rows; /* of an element of the array */
};

/* From one member to another, which may be the same: all between them are of that kind too. */
#define COMPACT_RUN(type, first, last)                                                             \
	offsetof(struct type, first), offsetof(struct type, last) +                                \
		sizeof(((struct type *)0)->last) - offsetof(struct type, first), NULL
#define COMPACT_PLAIN_ROW(type, first, last) {COMPACT_PLAIN, COMPACT_RUN(type, first, last)}
#define COMPACT_TEXTS_ROW(type, first, last) {COMPACT_TEXTS, COMPACT_RUN(type, first, last)}
#define COMPACT_ARRAY_ROW(type, member, element, its_rows) \
	{COMPACT_ARRAY, offsetof(struct type, member), sizeof(element), its_rows}

/* Elements of an array of struct view. */
extern const struct compact_row compact_text[];

#define COMPACT_ANY_TEXT SIZE_MAX /* as max_text: a text may have any length */

/*
 * Copies the struct of that size, and all that its rows name, into one block, which is the caller's
 * to free(). Members without a row are copied as they are. Fails with ERROR_NO_MEMORY, or with
 * ERROR_LIMIT when a text is longer than max_text.
 */
MUST_USE int compact_new(const struct compact_row *rows, const void *value, size_t size,
			 size_t max_text, void **ret_copy, struct error *err);
/* True when all members that have rows are equal. */
bool compact_equal(const struct compact_row *rows, const void *a, const void *b);
