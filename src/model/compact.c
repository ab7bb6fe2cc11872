/* SPDX-License-Identifier: Apache-2.0 */

/* One block: the struct, then each array, then all texts. Arrays of arrays do not occur. */

#include "model/compact.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct compact_row compact_text[] = {{COMPACT_TEXT, 0, 0, NULL}, {0}};

static struct view *text_at(const struct compact_row *row, const void *value)
{
	return (struct view *)((uintptr_t)value + row->offset);
}

static struct array *array_at(const struct compact_row *row, const void *value)
{
	return (struct array *)((uintptr_t)value + row->offset);
}

static void *element_at(const struct compact_row *row, const struct array *array, uint32_t i)
{
	assert(i < array->count);
	return (char *)array->items + i * row->size;
}

static size_t round_up(size_t size)
{
	return (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

static void measure(const struct compact_row *rows, const void *value, size_t *arrays,
		    size_t *texts, size_t *longest)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++) {
		if (row->kind == COMPACT_TEXT) {
			size_t len = text_at(row, value)->len;
			*texts += len;
			*longest = len > *longest ? len : *longest;
		} else if (row->kind == COMPACT_ARRAY) {
			const struct array *array = array_at(row, value);
			*arrays += round_up(array->count * row->size);
			for (uint32_t i = 0; i < array->count; i++)
				measure(row->rows, element_at(row, array, i), arrays, texts, longest);
		}
	}
}

size_t compact_longest(const struct compact_row *rows, const void *value)
{
	size_t arrays = 0, texts = 0, longest = 0;

	measure(rows, value, &arrays, &texts, &longest);
	return longest;
}

/* Moves what the rows name from where it lies to the two cursors. */
static void take_in(const struct compact_row *rows, void *value, char **arrays, char **texts)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++) {
		if (row->kind == COMPACT_TEXT) {
			struct view *text = text_at(row, value);
			if (text->len > 0)
				memcpy(*texts, text->ptr, text->len);
			text->ptr = *texts;
			*texts += text->len;
		} else if (row->kind == COMPACT_ARRAY) {
			struct array *array = array_at(row, value);
			if (array->count > 0)
				memcpy(*arrays, array->items, array->count * row->size);
			array->items = *arrays;
			*arrays += round_up(array->count * row->size);
			for (uint32_t i = 0; i < array->count; i++)
				take_in(row->rows, element_at(row, array, i), arrays, texts);
		}
	}
}

int compact_new(const struct compact_row *rows, const void *value, size_t size, void **ret_copy,
		struct error *err)
{
	size_t n_arrays = 0, n_texts = 0, longest = 0;
	char *block, *arrays, *texts;

	measure(rows, value, &n_arrays, &n_texts, &longest);
	block = malloc(round_up(size) + n_arrays + n_texts);
	if (!block)
		return error_no_memory(err);
	memcpy(block, value, size);
	arrays = block + round_up(size);
	texts = arrays + n_arrays;
	take_in(rows, block, &arrays, &texts);
	assert(texts == block + round_up(size) + n_arrays + n_texts);
	*ret_copy = block;
	return 0;
}

static bool arrays_equal(const struct compact_row *row, const struct array *a, const struct array *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (!compact_equal(row->rows, element_at(row, a, i), element_at(row, b, i)))
			return false;
	}
	return true;
}

static bool is_equal(const struct compact_row *row, const void *a, const void *b)
{
	if (row->kind == COMPACT_TEXT)
		return view_equal(*text_at(row, a), *text_at(row, b));
	if (row->kind == COMPACT_ARRAY)
		return arrays_equal(row, array_at(row, a), array_at(row, b));
	return memcmp((const char *)a + row->offset, (const char *)b + row->offset, row->size) == 0;
}

bool compact_equal(const struct compact_row *rows, const void *a, const void *b)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++) {
		if (!is_equal(row, a, b))
			return false;
	}
	return true;
}
