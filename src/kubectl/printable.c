/* SPDX-License-Identifier: Apache-2.0 */

/*
 * C0 and C1 controls, DEL, line and paragraph separators, and the marks, embeddings, overrides and
 * isolates of bidirectional text. A backslash stays as it is: this is for reading, not for parsing.
 */

#include "kubectl/printable.h"

#include <assert.h>

#include "base/utf8.h"

/* The code point of the well-formed character of that length at ptr. */
static uint32_t code_point(const char *ptr, size_t len)
{
	static const uint32_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (unsigned char)ptr[0] & first_bits[len];
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)ptr[i] & 0x3f);
	return code;
}

static bool is_harmless(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} harmful[] = {
		{0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},
		{0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
	};
	for (size_t i = 0; i < ARRAY_SIZE(harmful); i++) {
		if (code >= harmful[i].first && code <= harmful[i].last)
			return false;
	}
	return true;
}

static void append_escape(struct sbuf *buf, uint32_t code)
{
	if (code == '\n')
		sbuf_append(buf, VIEW("\\n"));
	else if (code == '\t')
		sbuf_append(buf, VIEW("\\t"));
	else if (code <= 0xff)
		sbuf_printf(buf, "\\x%02x", (unsigned)code);
	else
		sbuf_printf(buf, "\\u%04x", (unsigned)code);
}

void printable_append(struct sbuf *buf, struct view text)
{
	while (text.len > 0) {
		size_t len = utf8_next(text);
		uint32_t code = len > 0 ? code_point(text.ptr, len) : 0;
		if (len == 0)
			append_escape(buf, (unsigned char)*text.ptr);
		else if (is_harmless(code))
			sbuf_append(buf, (struct view){text.ptr, len});
		else
			append_escape(buf, code);
		text = view_from_offset(text, len > 0 ? len : 1);
	}
}

static bool is_first_byte(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t printable_width(struct view text)
{
	size_t width = 0;
	for (size_t i = 0; i < text.len; i++)
		width += is_first_byte(text.ptr[i]);
	return width;
}

/* Where a line of at most `room` characters ends, in bytes. */
static size_t find_line_end(struct view text, size_t room)
{
	size_t end = 0, i = 0;
	for (size_t width = 0; i < text.len; i++) {
		if (text.ptr[i] == ' ')
			end = i;
		if (width == room && is_first_byte(text.ptr[i]))
			return end > 0 ? end : i;
		width += is_first_byte(text.ptr[i]);
		if (text.ptr[i] == ',')
			end = i + 1;
	}
	return i;
}

struct view printable_take_line(struct view *text, size_t room)
{
	assert(room > 0);
	struct view line = {text->ptr, find_line_end(*text, room)};
	*text = view_from_offset(*text, line.len);
	if (view_starts_with(*text, VIEW(" ")))
		*text = view_from_offset(*text, 1);
	return line;
}
