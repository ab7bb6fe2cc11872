/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Comparing two structs by their table. JMAP_NO_NEWS and JMAP_NEWS_IF_ANY count for jmap_is_news()
 * alone.
 */

#include "wire/jmap.h"

/* flags: those that are heeded, of JMAP_NO_NEWS and JMAP_NEWS_IF_ANY. */
static bool equal(const struct jmap_row *rows, const void *a, const void *b, unsigned flags);

static bool equal_arrays(const struct jmap_row *row, const struct array *a, const struct array *b,
			 unsigned flags)
{
	if (a->count != b->count || (row->flags & JMAP_KEEP_ZERO && a->present != b->present))
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		bool is_same = row->type == JMAP_TEXTS
				       ? view_equal(*ARRAY_AT(*a, struct view, i),
						    *ARRAY_AT(*b, struct view, i))
				       : equal(row->rows, (char *)a->items + i * row->element_size,
					       (char *)b->items + i * row->element_size, flags);
		if (!is_same)
			return false;
	}
	return true;
}

static bool equal_numbers(const struct jmap_row *row, int64_t a, int64_t b, unsigned flags)
{
	return a == b || (row->flags & flags & JMAP_NEWS_IF_ANY && a != 0 && b != 0);
}

static bool equal_values(const struct jmap_row *row, const void *a, const void *b, unsigned flags)
{
	const void *x = jmap_value(row, a), *y = jmap_value(row, b);
	switch (row->type) {
	case JMAP_TEXT:
		return view_equal(*(const struct view *)x, *(const struct view *)y);
	case JMAP_I64:
	case JMAP_TIME:
		return equal_numbers(row, *(const int64_t *)x, *(const int64_t *)y, flags);
	case JMAP_BOOL:
		return *(const bool *)x == *(const bool *)y;
	case JMAP_TOGGLE:
	case JMAP_ENUM:
		return *(const int *)x == *(const int *)y;
	case JMAP_ARRAY:
	case JMAP_TEXTS:
		return equal_arrays(row, x, y, flags);
	case JMAP_OBJECT:
		break;
	}
	if (row->present_offset && !(jmap_is_present(row, a) && jmap_is_present(row, b)))
		return jmap_is_present(row, a) == jmap_is_present(row, b);
	return equal(row->rows, x, y, flags);
}

static bool equal(const struct jmap_row *rows, const void *a, const void *b, unsigned flags)
{
	unsigned passed_over = JMAP_DECODE_ONLY | (flags & JMAP_NO_NEWS);

	for (const struct jmap_row *row = rows; row->key; row++) {
		if (!(row->flags & passed_over) && !equal_values(row, a, b, flags))
			return false;
	}
	return true;
}

bool jmap_equal(const struct jmap_row *rows, const void *a, const void *b)
{
	return equal(rows, a, b, 0);
}

/* Of arrays of structs with as many elements: the first pair that differs. */
static void find_in_elements(const struct jmap_row *row, const struct array *a,
			     const struct array *b, struct sbuf *path)
{
	if (row->type != JMAP_ARRAY || a->count != b->count)
		return;
	sbuf_append(path, VIEW("[]"));
	for (uint32_t i = 0; i < a->count; i++) {
		if (jmap_find_difference(row->rows, (char *)a->items + i * row->element_size,
					 (char *)b->items + i * row->element_size, path))
			return;
	}
}

bool jmap_find_difference(const struct jmap_row *rows, const void *a, const void *b,
			  struct sbuf *path)
{
	const struct jmap_row *row = rows;

	while (row->key && (row->flags & JMAP_DECODE_ONLY || equal_values(row, a, b, 0)))
		row++;
	if (!row->key)
		return false;
	sbuf_append_char(path, '.');
	sbuf_append(path, view_from(row->key));
	if (row->type == JMAP_OBJECT)
		(void)jmap_find_difference(row->rows, jmap_value(row, a), jmap_value(row, b), path);
	else if (row->type == JMAP_ARRAY)
		find_in_elements(row, jmap_value(row, a), jmap_value(row, b), path);
	return true;
}

bool jmap_is_news(const struct jmap_row *rows, const void *a, const void *b)
{
	return !equal(rows, a, b, JMAP_NO_NEWS | JMAP_NEWS_IF_ANY);
}
