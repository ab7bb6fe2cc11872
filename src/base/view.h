/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * view - a borrowed run of bytes, passed by value. ptr may be NULL only when len is 0. Views are
 * not NUL-terminated; text in them is UTF-8 unless its origin says otherwise.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct view {
	const char *ptr;
	size_t len;
};

/* A view of a string literal. */
#define VIEW(literal) ((struct view){(literal), sizeof(literal) - 1})
#define VIEW_INIT(literal) {(literal), sizeof(literal) - 1}

/* For printf: "%.*s", VIEW_ARG(v). */
#define VIEW_ARG(v) (int)(v).len, (v).ptr ? (v).ptr : ""

/* A view of a C string; of nothing for NULL. */
struct view view_from(const char *text);
/* Bytewise. Two empty views are equal, wherever they point. */
bool view_equal(struct view a, struct view b);
/* Bytewise order, a shorter prefix first: <0, 0, >0. */
int view_compare(struct view a, struct view b);
/* That order of two keys of two parts: by the first parts, then by the second ones. */
int view_compare_pairs(struct view a, struct view a2, struct view b, struct view b2);
/* The order of two struct view, for qsort() and bsearch(). */
int view_order(const void *a, const void *b);
/* Sorts them, and drops repetitions; returns how many are left. */
size_t view_sort(struct view *views, size_t n);
/* True when one of them equals v, bytewise. */
bool view_is_among(struct view v, const struct view *views, size_t n);
/* The same, faster, of views that view_sort() has put in order. */
bool view_is_found(struct view v, const struct view *sorted, size_t n);
/* Bytewise, but ASCII letters are equal in both cases. */
bool view_equal_ignoring_case(struct view a, struct view b);
/* The order of view_compare(), but ASCII letters are equal in both cases. */
int view_compare_ignoring_case(struct view a, struct view b);
/* Bytewise; an empty prefix always fits. */
bool view_starts_with(struct view v, struct view prefix);
/* Bytewise; an empty suffix always fits. */
bool view_ends_with(struct view v, struct view suffix);
/* The part from byte `from` (at most v.len) on. */
struct view view_from_offset(struct view v, size_t from);
/* Copies the bytes to where there is room for them: a view of the copy. */
struct view view_copy(struct view v, char *to);
/* The same, with ASCII letters in lower case. */
struct view view_copy_lower(struct view v, char *to);
/* Without leading and trailing ASCII blanks and line ends. */
struct view view_trim(struct view v);
/*
 * Splits at the first separator. True and both parts where there is one; else false, *ret_left is
 * all of v and *ret_right empty.
 */
bool view_cut(struct view v, struct view separator, struct view *ret_left, struct view *ret_right);
/* Index of the first c, or -1. */
ptrdiff_t view_find_char(struct view v, char c);
/* Decimal digits only, no sign, no overflow. False leaves *ret untouched. */
bool view_parse_u64(struct view v, uint64_t *ret);
/* As view_parse_u64() with an optional '-'. */
bool view_parse_i64(struct view v, int64_t *ret);
/* A hash for tables in this process; seeded per process against chosen keys. */
uint32_t view_hash(struct view v);
