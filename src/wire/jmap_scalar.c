/* SPDX-License-Identifier: Apache-2.0 */

/*
 * JSON can spell U+0000 and halves of surrogate pairs. Text that is read must not have them, so
 * nothing downstream has to think of them.
 */

#include "wire/jmap_scalar.h"

#include "wire/rfc3339.h"

#define MAX_WORD 256 /* no name of an enum is longer, and no time */

int jmap_scalar_text(struct jmap_input *in, size_t limit, const struct jmap_path *path,
		     struct view *ret)
{
	struct jlex_string string;
	if (jlex_peek(&in->lex) != '"')
		return jmap_input_wrong_type(in, path, "not a string");
	if (jlex_string(&in->lex, &string) != 0)
		return -1;
	if (!string.has_escapes) {
		if (string.raw.len > limit)
			return jmap_input_refuse(in, ERROR_LIMIT, path, "too long");
		return arena_copy(in->arena, string.raw, ret)
			       ? 0
			       : jmap_input_no_room(in, in->arena, string.raw.len + 1);
	}
	char *text = arena_alloc(in->arena, string.raw.len + 1, 1);
	size_t len;
	if (!text)
		return jmap_input_no_room(in, in->arena, string.raw.len + 1);
	if (!jlex_unescape(string, text, &len))
		return jmap_input_refuse(in, ERROR_REJECTED, path,
					 "a NUL or half a surrogate pair in the text");
	if (len > limit)
		return jmap_input_refuse(in, ERROR_LIMIT, path, "too long");
	text[len] = '\0';
	*ret = (struct view){text, len};
	return 0;
}

int jmap_scalar_i64(struct jmap_input *in, const struct jmap_row *row, const struct jmap_path *path,
		    int64_t *ret)
{
	struct view number;
	char c = jlex_peek(&in->lex);
	if (c != '-' && (c < '0' || c > '9'))
		return jmap_input_wrong_type(in, path, "not an integer");
	if (jlex_number(&in->lex, &number) != 0)
		return -1;
	if (!view_parse_i64(number, ret)) {
		bool whole = view_find_char(number, '.') < 0 && view_find_char(number, 'e') < 0 &&
			     view_find_char(number, 'E') < 0;
		return jmap_input_refuse(in, ERROR_REJECTED, path,
					 whole ? "out of range" : "not an integer");
	}
	if (row->limit && (*ret < 0 || (uint64_t)*ret > row->limit))
		return jmap_input_refuse(in, ERROR_REJECTED, path, "out of range");
	return 0;
}

int jmap_scalar_bool(struct jmap_input *in, const struct jmap_path *path, bool *ret)
{
	char c = jlex_peek(&in->lex);
	if (c != 't' && c != 'f')
		return jmap_input_wrong_type(in, path, "not a boolean");
	if (jlex_word(&in->lex, c == 't' ? VIEW("true") : VIEW("false")) != 0)
		return -1;
	*ret = c == 't';
	return 0;
}

int jmap_scalar_toggle(struct jmap_input *in, const struct jmap_path *path, int *ret)
{
	bool value = false;
	if (jmap_scalar_bool(in, path, &value) != 0)
		return -1;
	*ret = value ? 1 : 2;
	return 0;
}

/* A short text that is only looked at: borrowed from the document or *buffer. */
static int peek_text(struct jmap_input *in, const struct jmap_path *path,
		     char buffer[static MAX_WORD], struct view *ret)
{
	struct jlex_string string = {0};
	if (jlex_peek(&in->lex) != '"')
		return jmap_input_wrong_type(in, path, "not a string");
	if (jlex_string(&in->lex, &string) != 0)
		return -1;
	*ret = string.raw;
	if (!string.has_escapes)
		return 0;
	if (string.raw.len > MAX_WORD || !jlex_unescape(string, buffer, &ret->len))
		return jmap_input_refuse(in, ERROR_REJECTED, path, "not one of the known values");
	ret->ptr = buffer;
	return 0;
}

int jmap_scalar_enum(struct jmap_input *in, const struct jmap_row *row,
		     const struct jmap_path *path, int *ret)
{
	char buffer[MAX_WORD];
	struct view name = {0};
	if (peek_text(in, path, buffer, &name) != 0)
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
	return jmap_input_refuse(in, ERROR_REJECTED, path, "not one of the known values");
}

int jmap_scalar_time(struct jmap_input *in, const struct jmap_path *path, int64_t *ret)
{
	char buffer[MAX_WORD];
	struct view text = {0};
	if (peek_text(in, path, buffer, &text) != 0)
		return -1;
	return rfc3339_parse(text, ret)
		       ? 0
		       : jmap_input_refuse(in, ERROR_REJECTED, path, "not an RFC 3339 time");
}
