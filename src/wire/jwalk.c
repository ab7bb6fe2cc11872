/* SPDX-License-Identifier: Apache-2.0 */

#include "wire/jwalk.h"

#define MAX_DEPTH 64u

void jwalk_init(struct jwalk *walk, struct view object)
{
	jlex_init(&walk->lex, object, MAX_DEPTH, &walk->err);
	walk->err.kind = ERROR_NONE;
	walk->begun = false;
	walk->ended = false;
}

/* Moves to the next key: 1, or 0 at the end of the object, or -1. */
static int next_place(struct jwalk *walk)
{
	if (!walk->begun && jlex_enter(&walk->lex, '{') != 0)
		return -1;
	if (jlex_peek(&walk->lex) == '}') {
		walk->ended = true;
		return jlex_leave(&walk->lex, '}') == 0 ? jlex_finish(&walk->lex) : -1;
	}
	if (walk->begun && jlex_expect(&walk->lex, ',') != 0)
		return -1;
	walk->begun = true;
	return 1;
}

bool jwalk_next(struct jwalk *walk, struct view *ret_key, struct view *ret_value)
{
	struct jlex_string key;
	if (walk->ended || walk->err.kind != ERROR_NONE)
		return false;
	if (next_place(walk) <= 0 || jlex_key(&walk->lex, &key) != 0)
		return false;
	jlex_peek(&walk->lex); /* over the blanks before the value */
	const char *value = walk->lex.at;
	if (jlex_skip(&walk->lex) != 0)
		return false;
	*ret_key = key.raw;
	*ret_value = (struct view){value, (size_t)(walk->lex.at - value)};
	return true;
}

int jwalk_check(const struct jwalk *walk, const char *what, struct error *err)
{
	if (walk->err.kind == ERROR_NONE)
		return 0;
	*err = walk->err;
	return error_wrap(err, "%s", what);
}

bool jwalk_text(struct view value, struct view *ret)
{
	if (value.len < 2 || value.ptr[0] != '"')
		return false;
	struct view text = {value.ptr + 1, value.len - 2};
	if (view_find_char(text, '\\') >= 0)
		return false;
	*ret = text;
	return true;
}
