/* SPDX-License-Identifier: Apache-2.0 */

#include "wire/jmap_encode.h"

#include "base/array.h"
#include "wire/jout.h"
#include "wire/rfc3339.h"

/* Whether a member has the value that decoding leaves for an absent one. */
static bool is_zero(const struct jmap_row *row, const void *object)
{
	const void *value = jmap_value(row, object);
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
		return !jmap_is_present(row, object);
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
		return ((const struct array *)jmap_value(row, object))->present;
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
			encode_value(out, row, jmap_value(row, object));
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
