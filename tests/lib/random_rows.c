/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Small values are likelier than large ones, and the ends of a range likelier than its middle:
 * zero, the limit, an empty list. Lists stay short, for depth multiplies them.
 */

#include "lib/random_rows.h"

#include <assert.h>
#include <string.h>

#define MAX_ITEMS 4u
#define MAX_TEXT 48u

/* What JSON has to escape or to leave alone; no control characters, which reports do not keep. */
static const char *const pieces[] = {
	"a", "Z", "0", "-", ".", "/", "::", "\"", "\\", "{", "]", ",", " ", "<", "\xc3\xa4",
	"\xe2\x82\xac", "\xf0\x9f\x98\x80",
};

static bool one_in(struct prng *prng, unsigned n)
{
	return prng_between(prng, 1, n) == 1;
}

static void fill_text(struct prng *prng, struct arena *arena, size_t limit, struct view *ret)
{
	size_t max = limit < MAX_TEXT || one_in(prng, 50) ? limit : MAX_TEXT;
	size_t target = one_in(prng, 8) ? max : prng_between(prng, 0, max);
	char *text = arena_alloc(arena, max + 1, 1);
	size_t len = 0;
	assert(text);
	while (len < target) {
		const char *piece = pieces[prng_between(prng, 0, ARRAY_SIZE(pieces) - 1)];
		if (len + strlen(piece) > target)
			piece = "x";
		memcpy(text + len, piece, strlen(piece));
		len += strlen(piece);
	}
	*ret = (struct view){text, len};
}

static int64_t random_number(struct prng *prng, const struct jmap_row *row)
{
	if (one_in(prng, 4))
		return row->flags & JMAP_OR_MINUS_ONE ? -1 : 0;
	if (one_in(prng, 4))
		return row->limit ? (int64_t)row->limit : INT64_MIN;
	return row->limit ? (int64_t)prng_between(prng, 0, row->limit) : (int64_t)prng_next(prng);
}

/* Between 1970 and 2106, with and without milliseconds. */
static int64_t random_time(struct prng *prng)
{
	int64_t seconds = (int64_t)prng_between(prng, 0, UINT32_MAX);
	return one_in(prng, 5) ? 0 : seconds * 1000 + (one_in(prng, 2) ? 0 : seconds % 1000);
}

static int random_word(struct prng *prng, const struct jmap_row *row)
{
	int n = 0;
	while (row->names[n])
		n++;
	return (int)prng_between(prng, 0, (uint64_t)n - 1);
}

static void fill_array(const struct jmap_row *row, struct prng *prng, struct arena *arena,
		       struct array *array)
{
	size_t limit = row->type == JMAP_TEXTS ? row->max_items : row->limit;
	size_t size = row->type == JMAP_TEXTS ? sizeof(struct view) : row->element_size;
	array->present = row->flags & JMAP_REQUIRED || !one_in(prng, 4);
	if (!array->present)
		return;
	array->count = (uint32_t)prng_between(prng, 0, limit < MAX_ITEMS ? limit : MAX_ITEMS);
	array->items = array->count ? arena_alloc(arena, array->count, size) : NULL;
	assert(array->items || array->count == 0);
	for (uint32_t i = 0; i < array->count; i++) {
		char *item = (char *)array->items + i * size;
		if (row->type == JMAP_TEXTS)
			fill_text(prng, arena, row->limit, (struct view *)(void *)item);
		else
			random_rows_fill(row->rows, prng, arena, item);
	}
}

static void fill_object(const struct jmap_row *row, struct prng *prng, struct arena *arena,
			char *object)
{
	if (row->present_offset) {
		bool *present = (bool *)(void *)(object + row->present_offset - 1);
		*present = !one_in(prng, 3);
		if (!*present)
			return;
	}
	random_rows_fill(row->rows, prng, arena, object + row->offset);
}

void random_rows_fill(const struct jmap_row *rows, struct prng *prng, struct arena *arena,
		      void *object)
{
	for (const struct jmap_row *row = rows; row->key; row++) {
		void *value = (char *)object + row->offset;
		switch (row->type) {
		case JMAP_TEXT:
			fill_text(prng, arena, row->limit, value);
			break;
		case JMAP_I64:
			*(int64_t *)value = random_number(prng, row);
			break;
		case JMAP_BOOL:
			*(bool *)value = one_in(prng, 2);
			break;
		case JMAP_TOGGLE:
			*(int *)value = (int)prng_between(prng, 0, 2);
			break;
		case JMAP_ENUM:
			*(int *)value = random_word(prng, row);
			break;
		case JMAP_TIME:
			*(int64_t *)value = random_time(prng);
			break;
		case JMAP_OBJECT:
			fill_object(row, prng, arena, object);
			break;
		case JMAP_ARRAY:
		case JMAP_TEXTS:
			fill_array(row, prng, arena, value);
			break;
		}
	}
}
