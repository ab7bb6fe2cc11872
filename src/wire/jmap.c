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
 * JSON can spell U+0000 and halves of surrogate pairs. Text that is read must not have them, so
 * nothing downstream has to think of them. In members that are not read they do no harm and are
 * passed over. Duplicates are looked for among the members that rows describe.
 */

#include "wire/jmap.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "wire/jlex.h"
#include "wire/jout.h"
#include "wire/rfc3339.h"

#define MAX_ROWS 64    /* of one table: bits of a mask */
#define MAX_KEY 256    /* no row's key is longer */
#define FIRST_ITEMS 4u

/* The way from the root to a value, for error texts. */
struct path {
	const struct path *up;
	const char *key; /* NULL: an element */
	uint32_t index;
};

struct decoder {
	struct jlex lex;
	struct arena *arena;
	struct arena scratch;
	struct error *err;
};

static int decode_object(struct decoder *d, const struct jmap_row *rows, const struct path *path,
			 char *object);

static size_t write_path(const struct path *path, char *to, size_t size)
{
	if (!path)
		return 0;
	size_t len = write_path(path->up, to, size);
	int n;
	if (len >= size)
		return size;
	if (path->key)
		n = snprintf(to + len, size - len, "%s%s", len ? "." : "", path->key);
	else
		n = snprintf(to + len, size - len, "[%u]", path->index);
	return len + (size_t)n < size ? len + (size_t)n : size;
}

static int refuse(const struct decoder *d, enum error_kind kind, const struct path *path,
		  const char *what)
{
	char text[128] = "document";
	write_path(path, text, sizeof(text));
	return error_set(d->err, kind, 0, "%s: %s", text, what);
}

/* Why an arena gave nothing: its end, or the system's. */
static int no_room(const struct decoder *d, const struct arena *arena, size_t size)
{
	if (arena->allocated >= arena->cap || arena->cap - arena->allocated < size)
		return error_set(d->err, ERROR_LIMIT, 0, "document: larger than %zu bytes in memory",
				 arena->cap);
	return error_no_memory(d->err);
}

/* A value of another type than the row's, or no value. */
static int wrong_type(struct decoder *d, const struct path *path, const char *what)
{
	char c = jlex_peek(&d->lex);
	if (c == '\0' || !strchr("{[\"tfn-0123456789", c))
		return jlex_malformed(&d->lex, "a value");
	return refuse(d, ERROR_REJECTED, path, what);
}

static int decode_text(struct decoder *d, size_t limit, const struct path *path, struct view *ret)
{
	struct jlex_string string;
	if (jlex_peek(&d->lex) != '"')
		return wrong_type(d, path, "not a string");
	if (jlex_string(&d->lex, &string) != 0)
		return -1;
	if (!string.has_escapes) {
		if (string.raw.len > limit)
			return refuse(d, ERROR_LIMIT, path, "too long");
		return arena_copy(d->arena, string.raw, ret) ? 0
							      : no_room(d, d->arena, string.raw.len + 1);
	}
	char *text = arena_alloc(d->arena, string.raw.len + 1, 1);
	size_t len;
	if (!text)
		return no_room(d, d->arena, string.raw.len + 1);
	if (!jlex_unescape(string, text, &len))
		return refuse(d, ERROR_REJECTED, path, "a NUL or half a surrogate pair in the text");
	if (len > limit)
		return refuse(d, ERROR_LIMIT, path, "too long");
	text[len] = '\0';
	*ret = (struct view){text, len};
	return 0;
}

static int decode_i64(struct decoder *d, const struct jmap_row *row, const struct path *path,
		      int64_t *ret)
{
	struct view number;
	char c = jlex_peek(&d->lex);
	if (c != '-' && (c < '0' || c > '9'))
		return wrong_type(d, path, "not an integer");
	if (jlex_number(&d->lex, &number) != 0)
		return -1;
	if (!view_parse_i64(number, ret)) {
		bool whole = view_find_char(number, '.') < 0 && view_find_char(number, 'e') < 0 &&
			     view_find_char(number, 'E') < 0;
		return refuse(d, ERROR_REJECTED, path, whole ? "out of range" : "not an integer");
	}
	if (row->limit && (*ret < 0 || (uint64_t)*ret > row->limit))
		return refuse(d, ERROR_REJECTED, path, "out of range");
	return 0;
}

static int decode_bool(struct decoder *d, const struct path *path, bool *ret)
{
	char c = jlex_peek(&d->lex);
	if (c != 't' && c != 'f')
		return wrong_type(d, path, "not a boolean");
	if (jlex_word(&d->lex, c == 't' ? VIEW("true") : VIEW("false")) != 0)
		return -1;
	*ret = c == 't';
	return 0;
}

/* A short text that is only looked at: borrowed from the document or *buffer. */
static int peek_text(struct decoder *d, const struct path *path, char buffer[static MAX_KEY],
		     struct view *ret)
{
	struct jlex_string string = {0};
	if (jlex_peek(&d->lex) != '"')
		return wrong_type(d, path, "not a string");
	if (jlex_string(&d->lex, &string) != 0)
		return -1;
	*ret = string.raw;
	if (!string.has_escapes)
		return 0;
	if (string.raw.len > MAX_KEY || !jlex_unescape(string, buffer, &ret->len))
		return refuse(d, ERROR_REJECTED, path, "not one of the known values");
	ret->ptr = buffer;
	return 0;
}

static int decode_enum(struct decoder *d, const struct jmap_row *row, const struct path *path,
		       int *ret)
{
	char buffer[MAX_KEY];
	struct view name = {0};
	if (peek_text(d, path, buffer, &name) != 0)
		return -1;
	int n = 0;
	for (; row->names[n]; n++) {
		if (view_equal(name, view_from(row->names[n]))) {
			*ret = n;
			return 0;
		}
	}
	if (row->flags & (JMAP_LENIENT | JMAP_OR_LAST)) {
		*ret = row->flags & JMAP_OR_LAST ? n - 1 : 0;
		return 0;
	}
	return refuse(d, ERROR_REJECTED, path, "not one of the known values");
}

static int decode_time(struct decoder *d, const struct path *path, int64_t *ret)
{
	char buffer[MAX_KEY];
	struct view text = {0};
	if (peek_text(d, path, buffer, &text) != 0)
		return -1;
	return rfc3339_parse(text, ret) ? 0 : refuse(d, ERROR_REJECTED, path, "not an RFC 3339 time");
}

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
			no_room(d, &d->scratch, n * growing->element_size);
			return NULL;
		}
		if (growing->count)
			memcpy(items, growing->items, growing->count * growing->element_size);
		growing->items = items;
		growing->allocated = n;
	}
	return growing->items + growing->count++ * growing->element_size;
}

static int decode_element(struct decoder *d, const struct jmap_row *row, const struct path *path,
			  char *element)
{
	if (row->type == JMAP_TEXTS)
		return decode_text(d, row->limit, path, (struct view *)(void *)element);
	preset(row->rows, element);
	return decode_object(d, row->rows, path, element);
}

static int decode_elements(struct decoder *d, const struct jmap_row *row, const struct path *path,
			   struct growing *growing)
{
	size_t limit = row->type == JMAP_TEXTS ? row->max_items : row->limit;
	assert(limit > 0 && limit <= UINT32_MAX / 2 && growing->element_size > 0);
	if (jlex_enter(&d->lex, '[') != 0)
		return -1;
	if (jlex_peek(&d->lex) == ']')
		return jlex_leave(&d->lex, ']');
	do {
		if (growing->count == limit)
			return refuse(d, ERROR_LIMIT, path, "too many elements");
		struct path here = {path, NULL, growing->count};
		char *element = add_element(d, growing);
		if (!element || decode_element(d, row, &here, element) != 0)
			return -1;
	} while (jlex_take(&d->lex, ','));
	return jlex_leave(&d->lex, ']');
}

static int decode_array(struct decoder *d, const struct jmap_row *row, const struct path *path,
			struct array *ret)
{
	struct growing growing = {
		.element_size = row->type == JMAP_TEXTS ? sizeof(struct view) : row->element_size,
	};
	if (jlex_peek(&d->lex) != '[')
		return wrong_type(d, path, "not an array");
	if (decode_elements(d, row, path, &growing) != 0)
		return -1;
	void *items = NULL;
	if (growing.count) {
		items = arena_alloc(d->arena, growing.count, growing.element_size);
		if (!items)
			return no_room(d, d->arena, growing.count * growing.element_size);
		memcpy(items, growing.items, growing.count * growing.element_size);
	}
	*ret = (struct array){.items = items, .count = growing.count, .present = true};
	return 0;
}

static int decode_present_object(struct decoder *d, const struct jmap_row *row,
				 const struct path *path, char *object)
{
	if (decode_object(d, row->rows, path, object + row->offset) != 0)
		return -1;
	if (row->present_offset)
		*(bool *)(void *)(object + row->present_offset - 1) = true;
	return 0;
}

static int decode_value(struct decoder *d, const struct jmap_row *row, const struct path *path,
			char *object)
{
	void *value = object + row->offset;
	bool toggle;
	switch (row->type) {
	case JMAP_TEXT:
		assert(row->limit > 0);
		return decode_text(d, row->limit, path, value);
	case JMAP_I64:
		return decode_i64(d, row, path, value);
	case JMAP_BOOL:
		return decode_bool(d, path, value);
	case JMAP_TOGGLE:
		if (decode_bool(d, path, &toggle) != 0)
			return -1;
		*(int *)value = toggle ? 1 : 2;
		return 0;
	case JMAP_ENUM:
		return decode_enum(d, row, path, value);
	case JMAP_TIME:
		return decode_time(d, path, value);
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
			 struct members *members, const struct path *path, char *object)
{
	struct path here = {path, row->key, 0};
	if (members->named & bit)
		return refuse(d, ERROR_REJECTED, &here, "given twice");
	members->named |= bit;
	if (jlex_peek(&d->lex) == 'n')
		return jlex_word(&d->lex, VIEW("null"));
	members->there |= bit;
	return decode_value(d, row, &here, object);
}

static int decode_members(struct decoder *d, const struct jmap_row *rows, const struct path *path,
			  char *object, struct members *members)
{
	const struct jmap_row *hint = rows;
	if (jlex_peek(&d->lex) == '}')
		return 0;
	do {
		struct jlex_string key;
		if (jlex_key(&d->lex, &key) != 0)
			return -1;
		const struct jmap_row *row = find_row(rows, key, &hint);
		assert(row - rows < MAX_ROWS);
		int result = row->key ? decode_member(d, row, UINT64_C(1) << (row - rows), members,
						      path, object)
				      : jlex_skip(&d->lex);
		if (result != 0)
			return -1;
	} while (jlex_take(&d->lex, ','));
	return 0;
}

static int decode_object(struct decoder *d, const struct jmap_row *rows, const struct path *path,
			 char *object)
{
	struct members members = {0};
	if (jlex_peek(&d->lex) != '{')
		return wrong_type(d, path, "not an object");
	if (jlex_enter(&d->lex, '{') != 0 ||
	    decode_members(d, rows, path, object, &members) != 0 || jlex_leave(&d->lex, '}') != 0)
		return -1;
	for (const struct jmap_row *row = rows; row->key; row++) {
		if (row->flags & JMAP_REQUIRED && !(members.there >> (row - rows) & 1)) {
			struct path here = {path, row->key, 0};
			return refuse(d, ERROR_REJECTED, &here, "missing");
		}
	}
	return 0;
}

int jmap_decode(struct view text, unsigned max_depth, const struct jmap_row *rows,
		struct arena *arena, void *ret, size_t ret_size, struct error *err)
{
	struct decoder d = {.arena = arena, .err = err};
	jlex_init(&d.lex, text, max_depth, err);
	/* Doubling to at most twice what is needed, each step kept: four times the result. */
	arena_init(&d.scratch, arena->cap < SIZE_MAX / 4 ? 4 * arena->cap : SIZE_MAX);
	preset(rows, ret);
	int result = decode_object(&d, rows, NULL, ret);
	if (result == 0)
		result = jlex_finish(&d.lex);
	arena_deinit(&d.scratch);
	if (result != 0)
		memset(ret, 0, ret_size);
	return result;
}

static const void *value_at(const struct jmap_row *row, const void *object)
{
	return (const char *)object + row->offset;
}

static bool is_present(const struct jmap_row *row, const void *object)
{
	return *(const bool *)((const char *)object + row->present_offset - 1);
}

/* Whether a member has the value that decoding leaves for an absent one. */
static bool is_zero(const struct jmap_row *row, const void *object)
{
	const void *value = value_at(row, object);
	switch (row->type) {
	case JMAP_TEXT:
		return ((const struct view *)value)->len == 0;
	case JMAP_I64:
		return *(const int64_t *)value == (row->flags & JMAP_OR_MINUS_ONE ? -1 : 0);
	case JMAP_TIME:
		return *(const int64_t *)value == 0;
	case JMAP_BOOL:
		return !*(const bool *)value;
	case JMAP_ENUM:
	case JMAP_TOGGLE:
		return *(const int *)value == 0;
	case JMAP_ARRAY:
	case JMAP_TEXTS:
		return ((const struct array *)value)->count == 0;
	case JMAP_OBJECT:
		break;
	}
	if (row->present_offset)
		return !is_present(row, object);
	for (const struct jmap_row *inner = row->rows; inner->key; inner++) {
		if (!is_zero(inner, value))
			return false;
	}
	return true;
}

/* Whether a zero value is a statement that JMAP_KEEP_ZERO wants written. */
static bool says_zero(const struct jmap_row *row, const void *object)
{
	switch (row->type) {
	case JMAP_TEXT:
	case JMAP_BOOL:
	case JMAP_ENUM:
		return true;
	case JMAP_I64:
		return !(row->flags & JMAP_OR_MINUS_ONE);
	case JMAP_OBJECT:
		return row->present_offset == 0;
	case JMAP_ARRAY:
	case JMAP_TEXTS:
		return ((const struct array *)value_at(row, object))->present;
	case JMAP_TIME:
	case JMAP_TOGGLE:
		break;
	}
	return false;
}

static bool is_written(const struct jmap_row *row, const void *object)
{
	if (row->flags & JMAP_DECODE_ONLY)
		return false;
	if (!is_zero(row, object))
		return true;
	if (row->flags & JMAP_REQUIRED)
		return row->type != JMAP_TOGGLE && !(row->flags & JMAP_OR_MINUS_ONE);
	return row->flags & JMAP_KEEP_ZERO && says_zero(row, object);
}

static void encode_object(struct jout *out, const struct jmap_row *rows, const void *object);

static void encode_array(struct jout *out, const struct jmap_row *row, const struct array *array)
{
	jout_array(out);
	for (uint32_t i = 0; i < array->count; i++) {
		if (row->type == JMAP_TEXTS)
			jout_text(out, *ARRAY_AT(*array, struct view, i));
		else
			encode_object(out, row->rows, (char *)array->items + i * row->element_size);
	}
	jout_array_end(out);
}

static void encode_time(struct jout *out, int64_t ms)
{
	char text[RFC3339_SIZE];
	if (ms % 1000 != 0)
		rfc3339_millis(ms, text);
	else
		rfc3339_seconds(ms, text);
	jout_text(out, view_from(text));
}

static void encode_value(struct jout *out, const struct jmap_row *row, const void *value)
{
	switch (row->type) {
	case JMAP_TEXT:
		jout_text(out, *(const struct view *)value);
		break;
	case JMAP_I64:
		jout_i64(out, *(const int64_t *)value);
		break;
	case JMAP_BOOL:
		jout_bool(out, *(const bool *)value);
		break;
	case JMAP_TOGGLE:
		jout_bool(out, *(const int *)value == 1);
		break;
	case JMAP_ENUM:
		jout_text(out, view_from(row->names[*(const int *)value]));
		break;
	case JMAP_TIME:
		encode_time(out, *(const int64_t *)value);
		break;
	case JMAP_OBJECT:
		encode_object(out, row->rows, value);
		break;
	case JMAP_ARRAY:
	case JMAP_TEXTS:
		encode_array(out, row, value);
		break;
	}
}

static void encode_object(struct jout *out, const struct jmap_row *rows, const void *object)
{
	jout_object(out);
	for (const struct jmap_row *row = rows; row->key; row++) {
		if (is_written(row, object)) {
			jout_key(out, row->key);
			encode_value(out, row, value_at(row, object));
		}
	}
	jout_object_end(out);
}

void jmap_encode(const struct jmap_row *rows, const void *object, struct sbuf *buf)
{
	struct jout out;
	jout_init(&out, buf);
	encode_object(&out, rows, object);
}

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
	const void *x = value_at(row, a), *y = value_at(row, b);
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
	if (row->present_offset && !(is_present(row, a) && is_present(row, b)))
		return is_present(row, a) == is_present(row, b);
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
		(void)jmap_find_difference(row->rows, value_at(row, a), value_at(row, b), path);
	else if (row->type == JMAP_ARRAY)
		find_in_elements(row, value_at(row, a), value_at(row, b), path);
	return true;
}

bool jmap_is_news(const struct jmap_row *rows, const void *a, const void *b)
{
	return !equal(rows, a, b, JMAP_NO_NEWS | JMAP_NEWS_IF_ANY);
}
