/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

#define NUMBER_SIZE 24u /* of a number as text */
/* A character of four bytes that begins before the limit is there as a whole. */
#define ROOM 4u

struct filling {
	char bytes[LIMIT_TEXT_SETTING + ROOM];
	size_t len;
};

static void append(struct filling *filling, struct view part)
{
	const size_t room = sizeof(filling->bytes) - filling->len;
	const size_t n = part.len < room ? part.len : room;

	assert(filling->len <= sizeof(filling->bytes));
	if (n == 0)
		return;
	memcpy(filling->bytes + filling->len, part.ptr, n);
	filling->len += n;
}

static struct view keep(struct drift_text *text, struct view made)
{
	if (arena_copy(text->arena, made, &made))
		return made;
	text->has_failed = true;
	return (struct view){0};
}

struct view drift_text_fill(struct drift_text *text, struct view template,
			    const struct view *values, size_t n_values)
{
	struct filling filling = {.len = 0};
	struct view before, rest = template;
	size_t n = 0;

	while (view_cut(rest, VIEW("%"), &before, &rest)) {
		append(&filling, before);
		assert(n < n_values);
		append(&filling, values[n++]);
	}
	assert(n == n_values);
	append(&filling, before);
	return keep(text, utf8_truncate((struct view){filling.bytes, filling.len},
					LIMIT_TEXT_SETTING));
}

struct view drift_text_number(struct drift_text *text, int64_t number)
{
	char digits[NUMBER_SIZE];
	const int len = snprintf(digits, sizeof(digits), "%" PRId64, number);

	assert(len > 0 && (size_t)len < sizeof(digits));
	return keep(text, (struct view){digits, (size_t)len});
}

struct view drift_text_add(struct drift_text *text, struct view list, struct view item)
{
	return list.len == 0 ? item : drift_text(text, "%, %", list, item);
}

int drift_text_check(const struct drift_text *text, struct error *err)
{
	return text->has_failed ? error_no_memory(err) : 0;
}
