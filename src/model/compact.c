/* SPDX-License-Identifier: Apache-2.0 */

/* One block: the struct, then each array, then all texts. Arrays of arrays do not occur. */

#include "model/compact.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct compact_row compact_text[] = {{COMPACT_TEXTS, 0, sizeof(struct view), NULL}, {0}};

/* What a value takes beside its struct, in bytes. */
struct extent {
	size_t arrays, texts;
	size_t longest; /* text */
};

static struct array texts_at(const struct compact_row *row, const void *value)
{
	return (struct array){(void *)((uintptr_t)value + row->offset),
			      (uint32_t)(row->size / sizeof(struct view)), true};
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

static void measure(const struct compact_row *rows, const void *value, struct extent *extent)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++) {
		if (row->kind == COMPACT_TEXTS) {
			struct array texts = texts_at(row, value);
			for (uint32_t i = 0; i < texts.count; i++) {
				size_t len = ARRAY_AT(texts, struct view, i)->len;
				extent->texts += len;
				extent->longest = len > extent->longest ? len : extent->longest;
			}
		} else if (row->kind == COMPACT_ARRAY) {
			const struct array *array = array_at(row, value);
			extent->arrays += round_up(array->count * row->size);
			for (uint32_t i = 0; i < array->count; i++)
				measure(row->rows, element_at(row, array, i), extent);
		}
	}
}

static void take_texts(struct array texts, char **to)
{
	for (uint32_t i = 0; i < texts.count; i++) {
		struct view *text = ARRAY_AT(texts, struct view, i);
		if (text->len > 0)
			memcpy(*to, text->ptr, text->len);
		text->ptr = *to;
		*to += text->len;
	}
}

/* Moves what the rows name from where it lies to the two cursors. */
static void take_in(const struct compact_row *rows, void *value, char **arrays, char **texts)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++) {
		if (row->kind == COMPACT_TEXTS) {
			take_texts(texts_at(row, value), texts);
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

int compact_new(const struct compact_row *rows, const void *value, size_t size, size_t max_text,
		void **ret_copy, struct error *err)
{
	struct extent extent = {0};
	char *block, *arrays, *texts;

	measure(rows, value, &extent);
	if (extent.longest > max_text)
		return error_set(err, ERROR_LIMIT, 0, "a text is longer than %zu bytes", max_text);
	block = malloc(round_up(size) + extent.arrays + extent.texts);
	if (!block)
		return error_no_memory(err);
	memcpy(block, value, size);
	arrays = block + round_up(size);
	texts = arrays + extent.arrays;
	take_in(rows, block, &arrays, &texts);
	assert(texts == block + round_up(size) + extent.arrays + extent.texts);
	*ret_copy = block;
	return 0;
}

static bool arrays_equal(const struct compact_row *row, const struct array *a, const struct array *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!compact_equal(row->rows, element_at(row, a, i), element_at(row, b, i)))
			return false;
	return true;
}

static bool texts_equal(struct array a, struct array b)
{
	for (uint32_t i = 0; i < a.count; i++)
		if (!view_equal(*ARRAY_AT(a, struct view, i), *ARRAY_AT(b, struct view, i)))
			return false;
	return true;
}

static bool is_equal(const struct compact_row *row, const void *a, const void *b)
{
	if (row->kind == COMPACT_TEXTS)
		return texts_equal(texts_at(row, a), texts_at(row, b));
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
