/* SPDX-License-Identifier: Apache-2.0 */

/* One block: the struct, then each array (behind it those of its elements), then all texts. */

#include "base/compact.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct compact_row compact_text[] = {{COMPACT_TEXTS, 0, sizeof(struct view), NULL}, {0}};

/* What a value takes beside its struct, in bytes. */
struct extent {
	size_t arrays, texts;
	size_t longest; /* text */
};

/* What the row names: its texts, or the elements of its array. A plain member has no parts. */
static struct array parts_of(const struct compact_row *row, const void *value)
{
	void *member = (void *)((uintptr_t)value + row->offset);
	size_t n_texts = row->kind == COMPACT_TEXTS ? row->size / sizeof(struct view) : 0;

	return row->kind == COMPACT_ARRAY ? *(struct array *)member
					  : (struct array){member, (uint32_t)n_texts, true};
}

static void *part_at(const struct compact_row *row, const struct array *parts, uint32_t i)
{
	assert(i < parts->count);
	return (char *)parts->items + i * (row->kind == COMPACT_ARRAY ? row->size : sizeof(struct view));
}

static size_t round_up(size_t size)
{
	return (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

static void measure(const struct compact_row *rows, const void *value, struct extent *extent)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++) {
		const struct array parts = parts_of(row, value);

		if (row->kind == COMPACT_ARRAY)
			extent->arrays += round_up(parts.count * row->size);
		for (uint32_t i = 0; i < parts.count; i++) {
			const void *part = part_at(row, &parts, i);
			size_t len = row->rows ? 0 : ((const struct view *)part)->len;

			if (row->rows)
				measure(row->rows, part, extent);
			extent->texts += len;
			extent->longest = len > extent->longest ? len : extent->longest;
		}
	}
}

static void take_text(struct view *text, char **texts)
{
	*text = view_copy(*text, *texts);
	*texts += text->len;
}

/* Moves what the rows name from where it lies to the two cursors. */
static void take_in(const struct compact_row *rows, void *value, char **arrays, char **texts)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++) {
		struct array parts = parts_of(row, value);

		if (row->kind == COMPACT_ARRAY) {
			if (parts.count > 0)
				memcpy(*arrays, parts.items, parts.count * row->size);
			parts.items = *arrays;
			*arrays += round_up(parts.count * row->size);
			*(struct array *)((char *)value + row->offset) = parts;
		}
		for (uint32_t i = 0; i < parts.count; i++) {
			if (row->rows)
				take_in(row->rows, part_at(row, &parts, i), arrays, texts);
			else
				take_text(part_at(row, &parts, i), texts);
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

static bool is_equal(const struct compact_row *row, const void *a, const void *b)
{
	const struct array of_a = parts_of(row, a), of_b = parts_of(row, b);

	if (row->kind == COMPACT_PLAIN)
		return memcmp(of_a.items, of_b.items, row->size) == 0;
	if (of_a.count != of_b.count)
		return false;
	for (uint32_t i = 0; i < of_a.count; i++) {
		const void *x = part_at(row, &of_a, i), *y = part_at(row, &of_b, i);

		if (row->rows ? !compact_equal(row->rows, x, y)
			      : !view_equal(*(const struct view *)x, *(const struct view *)y))
			return false;
	}
	return true;
}

bool compact_equal(const struct compact_row *rows, const void *a, const void *b)
{
	for (const struct compact_row *row = rows; row->kind != COMPACT_END; row++)
		if (!is_equal(row, a, b))
			return false;
	return true;
}
