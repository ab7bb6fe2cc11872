/* SPDX-License-Identifier: Apache-2.0 */

/* Only strings need care: in them brackets and commas are text. */

#include "wire/jindent.h"

static void new_line(struct sbuf *buf, size_t depth)
{
	sbuf_append_char(buf, '\n');
	for (size_t i = 0; i < depth; i++)
		sbuf_append(buf, VIEW("  "));
}

static bool is_empty_pair(struct view json, size_t at)
{
	char open = json.ptr[at];
	char close = open == '{' ? '}' : ']';
	return at + 1 < json.len && json.ptr[at + 1] == close;
}

/* The byte behind the string that starts at `at`. */
static size_t end_of_string(struct view json, size_t at)
{
	for (at++; at < json.len && json.ptr[at] != '"'; at++) {
		if (json.ptr[at] == '\\')
			at++;
	}
	return at < json.len ? at + 1 : json.len;
}

void jindent(struct view json, struct sbuf *buf)
{
	size_t depth = 0;
	for (size_t at = 0; at < json.len; at++) {
		char c = json.ptr[at];
		if (c == '"') {
			size_t end = end_of_string(json, at);
			sbuf_append(buf, (struct view){json.ptr + at, end - at});
			at = end - 1;
		} else if ((c == '{' || c == '[') && is_empty_pair(json, at)) {
			sbuf_append(buf, (struct view){json.ptr + at, 2});
			at++;
		} else if (c == '{' || c == '[') {
			sbuf_append_char(buf, c);
			new_line(buf, ++depth);
		} else if (c == '}' || c == ']') {
			new_line(buf, depth > 0 ? --depth : 0);
			sbuf_append_char(buf, c);
		} else if (c == ',') {
			sbuf_append_char(buf, c);
			new_line(buf, depth);
		} else if (c == ':') {
			sbuf_append(buf, VIEW(": "));
		} else {
			sbuf_append_char(buf, c);
		}
	}
	sbuf_append_char(buf, '\n');
}
