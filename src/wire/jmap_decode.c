/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One pass over the text, straight into the structs: no tree of values in between. A report is
 * decoded for every heartbeat of every node. Building jansson's tree took several times as long as
 * all the rest. It also refuses numbers and escapes in members that nobody reads.
 *
 * The number of elements of an array is known only at its end. They are decoded into a scratch
 * arena, where the array doubles. Then they are copied once into the document's arena, which so
 * holds no slack.
 *
 * In members that are not read, text that is refused elsewhere does no harm and is passed over.
 * Duplicates are looked for among the members that rows describe.
 */

#include "wire/jmap_decode.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "wire/jmap_input.h"
#include "wire/jmap_scalar.h"

#define MAX_ROWS 64 /* of one table: bits of a mask */
#define MAX_KEY 256 /* no row's key is longer */
#define FIRST_ITEMS 4u

struct decoder {
	struct jmap_input in;
	struct arena scratch;
	size_t n_in_all; /* texts of rows with max_in_all */
};

static int decode_object(struct decoder *d, const struct jmap_row *rows,
			 const struct jmap_path *path, char *object);

/* Sets what an absent member means where that is not zero. */
static void preset(const struct jmap_row *rows, char *object)
{
	for (const struct jmap_row *row = rows; row->key; row++) {
		if (row->flags & JMAP_OR_MINUS_ONE)
			*(int64_t *)(void *)(object + row->offset) = -1;
		else if (row->type == JMAP_OBJECT)
			preset(row->rows, object + row->offset);
	}
}

/* An array that grows in the scratch arena. */
struct growing {
	char *items;
	size_t element_size;
	uint32_t count;
	uint32_t allocated;
};

static char *add_element(struct decoder *d, struct growing *growing)
{
	if (growing->count == growing->allocated) {
		uint32_t n = growing->allocated ? 2 * growing->allocated : FIRST_ITEMS;
		char *items = arena_alloc(&d->scratch, n, growing->element_size);
		if (!items) {
			jmap_input_no_room(&d->in, &d->scratch, n * growing->element_size);
			return NULL;
		}
		if (growing->count)
			memcpy(items, growing->items, growing->count * growing->element_size);
		growing->items = items;
		growing->allocated = n;
	}
	return growing->items + growing->count++ * growing->element_size;
}

static int decode_element(struct decoder *d, const struct jmap_row *row,
			  const struct jmap_path *path, char *element)
{
	if (row->type == JMAP_TEXTS)
		return jmap_scalar_text(&d->in, row->limit, path, (struct view *)(void *)element);
	preset(row->rows, element);
	return decode_object(d, row->rows, path, element);
}

/* An element that a release with another idea of the member wrote. */
static bool is_passed_over(struct decoder *d, const struct jmap_row *row)
{
	return row->type == JMAP_ARRAY && row->flags & JMAP_LENIENT && jlex_peek(&d->in.lex) != '{';
}

static int count_element(struct decoder *d, const struct jmap_row *row, const struct jmap_path *path,
			 uint32_t n_before)
{
	const size_t limit = row->type == JMAP_TEXTS ? row->max_items : row->limit;
	assert(limit > 0 && limit <= UINT32_MAX / 2);
	if (n_before == limit)
		return jmap_input_refuse(&d->in, ERROR_LIMIT, path, "too many elements");
	if (row->max_in_all > 0 && d->n_in_all++ >= row->max_in_all)
		return jmap_input_refuse(&d->in, ERROR_LIMIT, path, "too many elements in all such lists");
	return 0;
}

static int decode_elements(struct decoder *d, const struct jmap_row *row,
			   const struct jmap_path *path, struct growing *growing)
{
	assert(growing->element_size > 0);
	if (jlex_enter(&d->in.lex, '[') != 0)
		return -1;
	if (jlex_peek(&d->in.lex) == ']')
		return jlex_leave(&d->in.lex, ']');
	do {
		if (is_passed_over(d, row)) {
			if (jlex_skip(&d->in.lex) != 0)
				return -1;
			continue;
		}
		if (count_element(d, row, path, growing->count) != 0)
			return -1;
		struct jmap_path here = {path, NULL, growing->count};
		char *element = add_element(d, growing);
		if (!element || decode_element(d, row, &here, element) != 0)
			return -1;
	} while (jlex_take(&d->in.lex, ','));
	return jlex_leave(&d->in.lex, ']');
}

static int decode_array(struct decoder *d, const struct jmap_row *row, const struct jmap_path *path,
			struct array *ret)
{
	struct growing growing = {
		.element_size = row->type == JMAP_TEXTS ? sizeof(struct view) : row->element_size,
	};
	if (jlex_peek(&d->in.lex) != '[')
		return jmap_input_wrong_type(&d->in, path, "not an array");
	if (decode_elements(d, row, path, &growing) != 0)
		return -1;
	void *items = NULL;
	if (growing.count) {
		items = arena_alloc(d->in.arena, growing.count, growing.element_size);
		if (!items)
			return jmap_input_no_room(&d->in, d->in.arena,
						  growing.count * growing.element_size);
		memcpy(items, growing.items, growing.count * growing.element_size);
	}
	*ret = (struct array){.items = items, .count = growing.count, .present = true};
	return 0;
}

static int decode_present_object(struct decoder *d, const struct jmap_row *row,
				 const struct jmap_path *path, char *object)
{
	if (decode_object(d, row->rows, path, object + row->offset) != 0)
		return -1;
	if (row->present_offset)
		*(bool *)(void *)(object + row->present_offset - 1) = true;
	return 0;
}

static int decode_value(struct decoder *d, const struct jmap_row *row, const struct jmap_path *path,
			char *object)
{
	struct jmap_input *in = &d->in;
	void *value = object + row->offset;
	switch (row->type) {
	case JMAP_TEXT:
		assert(row->limit > 0);
		return jmap_scalar_text(in, row->limit, path, value);
	case JMAP_I64:
		return jmap_scalar_i64(in, row, path, value);
	case JMAP_BOOL:
		return jmap_scalar_bool(in, path, value);
	case JMAP_TOGGLE:
		return jmap_scalar_toggle(in, path, value);
	case JMAP_ENUM:
		return jmap_scalar_enum(in, row, path, value);
	case JMAP_TIME:
		return jmap_scalar_time(in, path, value);
	case JMAP_OBJECT:
		return decode_present_object(d, row, path, object);
	case JMAP_ARRAY:
	case JMAP_TEXTS:
		return decode_array(d, row, path, value);
	}
	assert(false && "no such type");
	return -1;
}

/* The row of a key, or the terminating row. Members mostly come in the table's order: *hint. */
static const struct jmap_row *find_row(const struct jmap_row *rows, struct jlex_string key,
				       const struct jmap_row **hint)
{
	char buffer[MAX_KEY];
	struct view name = key.raw;
	if (key.has_escapes) {
		if (key.raw.len > MAX_KEY || !jlex_unescape(key, buffer, &name.len))
			name.len = 0;
		name.ptr = buffer;
	}
	const struct jmap_row *row = *hint;
	if (!row->key || !view_equal(view_from(row->key), name)) {
		row = rows;
		while (row->key && !view_equal(view_from(row->key), name))
			row++;
	}
	*hint = row->key ? row + 1 : *hint;
	return row;
}

/* Bits of the rows of one table. */
struct members {
	uint64_t named; /* in the document */
	uint64_t there; /* and not null */
};

static int decode_member(struct decoder *d, const struct jmap_row *row, uint64_t bit,
			 struct members *members, const struct jmap_path *path, char *object)
{
	struct jmap_path here = {path, row->key, 0};
	if (members->named & bit)
		return jmap_input_refuse(&d->in, ERROR_REJECTED, &here, "given twice");
	members->named |= bit;
	if (jlex_peek(&d->in.lex) == 'n')
		return jlex_word(&d->in.lex, VIEW("null"));
	members->there |= bit;
	return decode_value(d, row, &here, object);
}

static int decode_members(struct decoder *d, const struct jmap_row *rows,
			  const struct jmap_path *path, char *object, struct members *members)
{
	const struct jmap_row *hint = rows;
	if (jlex_peek(&d->in.lex) == '}')
		return 0;
	do {
		struct jlex_string key;
		if (jlex_key(&d->in.lex, &key) != 0)
			return -1;
		const struct jmap_row *row = find_row(rows, key, &hint);
		assert(row - rows < MAX_ROWS);
		int result = row->key ? decode_member(d, row, UINT64_C(1) << (row - rows), members,
						      path, object)
				      : jlex_skip(&d->in.lex);
		if (result != 0)
			return -1;
	} while (jlex_take(&d->in.lex, ','));
	return 0;
}

static int decode_object(struct decoder *d, const struct jmap_row *rows,
			 const struct jmap_path *path, char *object)
{
	struct members members = {0};
	if (jlex_peek(&d->in.lex) != '{')
		return jmap_input_wrong_type(&d->in, path, "not an object");
	if (jlex_enter(&d->in.lex, '{') != 0 ||
	    decode_members(d, rows, path, object, &members) != 0 ||
	    jlex_leave(&d->in.lex, '}') != 0)
		return -1;
	for (const struct jmap_row *row = rows; row->key; row++) {
		if (row->flags & JMAP_REQUIRED && !(members.there >> (row - rows) & 1)) {
			struct jmap_path here = {path, row->key, 0};
			return jmap_input_refuse(&d->in, ERROR_REJECTED, &here, "missing");
		}
	}
	return 0;
}

int jmap_decode(struct view text, unsigned max_depth, const struct jmap_row *rows,
		struct arena *arena, void *ret, size_t ret_size, struct error *err)
{
	struct decoder d = {.in = {.arena = arena, .err = err}};
	jlex_init(&d.in.lex, text, max_depth, err);
	/* Doubling to at most twice what is needed, each step kept: four times the result. */
	arena_init(&d.scratch, arena->cap < SIZE_MAX / 4 ? 4 * arena->cap : SIZE_MAX);
	preset(rows, ret);
	int result = decode_object(&d, rows, NULL, ret);
	if (result == 0)
		result = jlex_finish(&d.in.lex);
	arena_deinit(&d.scratch);
	if (result != 0)
		memset(ret, 0, ret_size);
	return result;
}
