/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jmap - JSON documents as tables: one row per field says where it is in the document, what type it
 * has and where it lies in a C struct. The same rows decode (jmap_decode.h), encode (jmap_encode.h)
 * and compare two structs. A test compares them with the CustomResourceDefinition. There is no tree of
 * values between: a report of 15 KB takes 27 us, by jansson's tree 200 us.
 *
 * Threads: any.
 * Limits:  each text and array has its limit in its row, and no such row is without one. A table
 *          has at most 64 rows.
 */

#include "base/array.h"
#include "base/sbuf.h"

enum jmap_type {
	JMAP_TEXT,   /* struct view, copied into the arena */
	JMAP_I64,    /* int64_t; with a `limit` only 0 to limit is accepted, without one any value */
	JMAP_BOOL,   /* bool */
	JMAP_ENUM,   /* int, an index into names[]; see JMAP_LENIENT, JMAP_OR_LAST */
	JMAP_TIME,   /* int64_t, ms since 1970, from and to RFC 3339 UTC; 0 = absent */
	JMAP_OBJECT, /* a struct in place, by `rows` */
	JMAP_ARRAY,  /* struct array of structs of `element_size`, by `rows` */
	JMAP_TEXTS,  /* struct array of struct view */
	JMAP_TOGGLE, /* int from and to a bool: 0 = absent, 1 = true, 2 = false */
};

enum jmap_flag {
	JMAP_REQUIRED = 1u << 0,
	/* JMAP_ENUM: an unknown name decodes to 0. JMAP_ARRAY: what is no object is left out. Else errors. */
	JMAP_LENIENT = 1u << 1,
	JMAP_KEEP_ZERO = 1u << 2,   /* encode 0, false, "" and empty arrays that are `present` */
	JMAP_DECODE_ONLY = 1u << 3, /* never written */
	JMAP_OR_MINUS_ONE = 1u << 4, /* JMAP_I64: absent is -1, and -1 is not written; 0 is */
	JMAP_NO_NEWS = 1u << 5,      /* jmap_is_news(): a change of it is none */
	JMAP_NEWS_IF_ANY = 1u << 6,  /* the same, JMAP_I64: but for a change from or to 0 */
	JMAP_OR_LAST = 1u << 7,      /* JMAP_ENUM: an unknown name decodes to the last one */
};

struct jmap_row {
	const char *key;              /* of the member; NULL ends a table */
	enum jmap_type type;
	uint32_t flags;
	size_t offset;                /* of the value in the struct */
	size_t limit;                 /* bytes of a text (each, for TEXTS), elements of ARRAY, top of I64 */
	size_t max_items;             /* TEXTS: elements */
	size_t max_in_all;            /* TEXTS: elements of all such rows with it, in a document; 0: any number */
	const struct jmap_row *rows;  /* OBJECT, ARRAY */
	size_t element_size;          /* ARRAY */
	const char *const *names;     /* ENUM, NULL-terminated; names[0] is the zero value */
	size_t present_offset;        /* OBJECT: 1 + offset of a bool that says it was there; 0 = none */
};

/* For a row: where a member of a struct lies. */
#define JMAP_AT(type, member) .offset = offsetof(struct type, member)

/* Where the row's value lies in object, a struct that its table describes. */
static inline const void *jmap_value(const struct jmap_row *row, const void *object)
{
	return (const char *)object + row->offset;
}

/* What the `present` bool of the row's object says. The row has one (present_offset). */
static inline bool jmap_is_present(const struct jmap_row *row, const void *object)
{
	return *(const bool *)((const char *)object + row->present_offset - 1);
}

/*
 * True when both structs have the same values in every row. Arrays compare in order. Objects that
 * are both absent, by their `present` bool, are the same. Rows with JMAP_DECODE_ONLY are not
 * compared.
 */
bool jmap_equal(const struct jmap_row *rows, const void *a, const void *b);
/*
 * Appends the path of the first member in which they differ, as ".tenants[].role". False: they are
 * equal as by jmap_equal(). Failure is the buffer's.
 */
bool jmap_find_difference(const struct jmap_row *rows, const void *a, const void *b,
			  struct sbuf *path);
/* True unless both are equal as by jmap_equal(), but for what JMAP_NO_NEWS and JMAP_NEWS_IF_ANY say. */
bool jmap_is_news(const struct jmap_row *rows, const void *a, const void *b);
