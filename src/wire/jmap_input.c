/* SPDX-License-Identifier: Apache-2.0 */

#include "wire/jmap_input.h"

#include <stdio.h>
#include <string.h>

static size_t write_path(const struct jmap_path *path, char *to, size_t size)
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

int jmap_input_refuse(const struct jmap_input *in, enum error_kind kind,
		      const struct jmap_path *path, const char *what)
{
	char text[128] = "document";
	write_path(path, text, sizeof(text));
	return error_set(in->err, kind, 0, "%s: %s", text, what);
}

int jmap_input_no_room(const struct jmap_input *in, const struct arena *arena, size_t size)
{
	if (arena->allocated >= arena->cap || arena->cap - arena->allocated < size)
		return error_set(in->err, ERROR_LIMIT, 0,
				 "document: larger than %zu bytes in memory", arena->cap);
	return error_no_memory(in->err);
}

int jmap_input_wrong_type(struct jmap_input *in, const struct jmap_path *path, const char *what)
{
	char c = jlex_peek(&in->lex);
	if (c == '\0' || !strchr("{[\"tfn-0123456789", c))
		return jlex_malformed(&in->lex, "a value");
	return jmap_input_refuse(in, ERROR_REJECTED, path, what);
}
