/* SPDX-License-Identifier: Apache-2.0 */

#include "wire/jout.h"

#include <assert.h>

#include "base/utf8.h"

#define MAX_DEPTH 32

void jout_init(struct jout *out, struct sbuf *buf)
{
	*out = (struct jout){.buf = buf};
}

/* Writes the comma that a further member or element needs. */
static void begin_value(struct jout *out)
{
	if (out->after_key) {
		out->after_key = false;
		return;
	}
	if (out->depth == 0)
		return;
	uint32_t bit = UINT32_C(1) << (out->depth - 1);
	if (out->filled & bit)
		sbuf_append_char(out->buf, ',');
	out->filled |= bit;
}

static void open_container(struct jout *out, char bracket)
{
	begin_value(out);
	assert(out->depth < MAX_DEPTH);
	out->depth++;
	out->filled &= ~(UINT32_C(1) << (out->depth - 1));
	sbuf_append_char(out->buf, bracket);
}

static void close_container(struct jout *out, char bracket)
{
	assert(out->depth > 0 && !out->after_key);
	out->depth--;
	sbuf_append_char(out->buf, bracket);
}

void jout_object(struct jout *out)
{
	open_container(out, '{');
}

void jout_object_end(struct jout *out)
{
	close_container(out, '}');
}

void jout_array(struct jout *out)
{
	open_container(out, '[');
}

void jout_array_end(struct jout *out)
{
	close_container(out, ']');
}

/* Whether a byte stands for itself in a JSON string and is a character of its own. */
static bool is_plain(char c)
{
	unsigned char byte = (unsigned char)c;
	return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

static void write_escape(struct sbuf *buf, char c)
{
	switch (c) {
	case '"':
		sbuf_append(buf, VIEW("\\\""));
		break;
	case '\\':
		sbuf_append(buf, VIEW("\\\\"));
		break;
	case '\n':
		sbuf_append(buf, VIEW("\\n"));
		break;
	case '\r':
		sbuf_append(buf, VIEW("\\r"));
		break;
	case '\t':
		sbuf_append(buf, VIEW("\\t"));
		break;
	default:
		sbuf_printf(buf, "\\u%04x", (unsigned char)c);
		break;
	}
}

/* Writes the character at the front that is not plain; gives its length. */
static size_t write_special(struct sbuf *buf, struct view text)
{
	if ((unsigned char)text.ptr[0] < 0x80) {
		write_escape(buf, text.ptr[0]);
		return 1;
	}
	size_t len = utf8_next(text);
	sbuf_append(buf, len ? (struct view){text.ptr, len} : VIEW("\xef\xbf\xbd"));
	return len ? len : 1;
}

static void write_string(struct sbuf *buf, struct view text)
{
	sbuf_append_char(buf, '"');
	while (text.len > 0) {
		size_t n = 0;
		while (n < text.len && is_plain(text.ptr[n]))
			n++;
		sbuf_append(buf, (struct view){text.ptr, n});
		text = view_from_offset(text, n);
		if (text.len > 0)
			text = view_from_offset(text, write_special(buf, text));
	}
	sbuf_append_char(buf, '"');
}

void jout_key(struct jout *out, const char *key)
{
	assert(out->depth > 0 && !out->after_key);
	begin_value(out);
	write_string(out->buf, view_from(key));
	sbuf_append_char(out->buf, ':');
	out->after_key = true;
}

void jout_text(struct jout *out, struct view text)
{
	begin_value(out);
	write_string(out->buf, text);
}

void jout_i64(struct jout *out, int64_t value)
{
	begin_value(out);
	sbuf_printf(out->buf, "%lld", (long long)value);
}

void jout_bool(struct jout *out, bool value)
{
	begin_value(out);
	sbuf_append(out->buf, value ? VIEW("true") : VIEW("false"));
}

void jout_null(struct jout *out)
{
	begin_value(out);
	sbuf_append(out->buf, VIEW("null"));
}

void jout_raw(struct jout *out, struct view json)
{
	begin_value(out);
	sbuf_append(out->buf, json);
}

void jout_member_text(struct jout *out, const char *key, struct view text)
{
	jout_key(out, key);
	jout_text(out, text);
}

void jout_member_bool(struct jout *out, const char *key, bool value)
{
	jout_key(out, key);
	jout_bool(out, value);
}
