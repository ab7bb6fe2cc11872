/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Most bytes of a document are the plain insides of strings: those are passed eight at a time. A
 * word is looked at as eight bytes by the usual trick: (w - 0x01..) & ~w & 0x80.. has a bit set if
 * a byte of w is zero (and possibly others above it, so it answers "any?", not "which?").
 */

#include "wire/jlex.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

void jlex_init(struct jlex *lex, struct view text, unsigned max_depth, struct error *err)
{
	assert(max_depth <= JLEX_MAX_DEPTH);
	/* Not NULL, so that pointers into the text can be compared and subtracted. */
	const char *start = text.len ? text.ptr : "";
	*lex = (struct jlex){
		.start = start,
		.at = start,
		.end = start + text.len,
		.max_depth = max_depth,
		.err = err,
	};
}

int jlex_malformed(const struct jlex *lex, const char *expected)
{
	return error_set(lex->err, ERROR_REJECTED, 0, "not JSON at byte %zu: %s expected",
			 (size_t)(lex->at - lex->start), expected);
}

char jlex_peek(struct jlex *lex)
{
	while (lex->at < lex->end &&
	       (*lex->at == ' ' || *lex->at == '\n' || *lex->at == '\r' || *lex->at == '\t'))
		lex->at++;
	return lex->at < lex->end ? *lex->at : '\0';
}

bool jlex_take(struct jlex *lex, char c)
{
	if (jlex_peek(lex) != c || lex->at == lex->end)
		return false;
	lex->at++;
	return true;
}

int jlex_expect(struct jlex *lex, char c)
{
	const char expected[] = {'\'', c, '\'', '\0'};
	return jlex_take(lex, c) ? 0 : jlex_malformed(lex, expected);
}

int jlex_enter(struct jlex *lex, char bracket)
{
	if (jlex_expect(lex, bracket) != 0)
		return -1;
	if (lex->depth == lex->max_depth)
		return error_set(lex->err, ERROR_LIMIT, 0, "nested deeper than %u at byte %zu",
				 lex->max_depth, (size_t)(lex->at - lex->start));
	lex->depth++;
	return 0;
}

int jlex_leave(struct jlex *lex, char bracket)
{
	assert(lex->depth > 0);
	lex->depth--;
	return jlex_expect(lex, bracket);
}

static uint64_t zero_bytes(uint64_t word)
{
	return (word - ONES) & ~word & HIGHS;
}

/* Whether a byte of the word ends the plain part of a string. */
static bool has_special(uint64_t word)
{
	uint64_t below_blank = (word - 0x20 * ONES) & ~word & HIGHS;
	return (word & HIGHS) | below_blank | zero_bytes(word ^ '"' * ONES) |
	       zero_bytes(word ^ '\\' * ONES);
}

static bool is_special(char c)
{
	return (unsigned char)c < 0x20 || (unsigned char)c >= 0x80 || c == '"' || c == '\\';
}

/* The first byte in a string that is not plain ASCII, or the end. */
static const char *skip_plain(const char *p, const char *end)
{
	uint64_t word;
	while ((size_t)(end - p) >= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		if (has_special(word))
			break;
		p += sizeof(word);
	}
	while (p < end && !is_special(*p))
		p++;
	return p;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Passes over an escape at the backslash. */
static int skip_escape(struct jlex *lex)
{
	lex->at++;
	char c = lex->at < lex->end ? *lex->at : '\0';
	if (c == '\0' || !strchr("\"\\/bfnrtu", c))
		return jlex_malformed(lex, "an escape");
	lex->at++;
	for (int i = 0; c == 'u' && i < 4; i++, lex->at++) {
		if (lex->at == lex->end || hex_value(*lex->at) < 0)
			return jlex_malformed(lex, "four hexadecimal digits");
	}
	return 0;
}

int jlex_string(struct jlex *lex, struct jlex_string *ret)
{
	if (jlex_peek(lex) != '"')
		return jlex_malformed(lex, "a string");
	const char *start = ++lex->at;
	bool has_escapes = false;
	for (;;) {
		lex->at = skip_plain(lex->at, lex->end);
		if (lex->at == lex->end)
			return jlex_malformed(lex, "'\"'");
		if (*lex->at == '"')
			break;
		if (*lex->at == '\\') {
			has_escapes = true;
			if (skip_escape(lex) != 0)
				return -1;
			continue;
		}
		size_t len = (unsigned char)*lex->at < 0x20
				     ? 0
				     : utf8_next((struct view){lex->at, (size_t)(lex->end - lex->at)});
		if (len == 0)
			return jlex_malformed(lex, "a UTF-8 character");
		lex->at += len;
	}
	*ret = (struct jlex_string){{start, (size_t)(lex->at - start)}, has_escapes};
	lex->at++;
	return 0;
}

int jlex_key(struct jlex *lex, struct jlex_string *ret)
{
	return jlex_string(lex, ret) == 0 ? jlex_expect(lex, ':') : -1;
}

static bool is_digit(const struct jlex *lex)
{
	return lex->at < lex->end && *lex->at >= '0' && *lex->at <= '9';
}

static bool skip_digits(struct jlex *lex)
{
	if (!is_digit(lex))
		return false;
	while (is_digit(lex))
		lex->at++;
	return true;
}

static bool skip_one_of(struct jlex *lex, char a, char b)
{
	if (lex->at == lex->end || (*lex->at != a && *lex->at != b))
		return false;
	lex->at++;
	return true;
}

int jlex_number(struct jlex *lex, struct view *ret)
{
	jlex_peek(lex);
	const char *start = lex->at;
	skip_one_of(lex, '-', '-');
	/* A leading zero stands alone. */
	if (!skip_one_of(lex, '0', '0') && !skip_digits(lex))
		return jlex_malformed(lex, "a digit");
	if (skip_one_of(lex, '.', '.') && !skip_digits(lex))
		return jlex_malformed(lex, "a digit");
	if (skip_one_of(lex, 'e', 'E')) {
		skip_one_of(lex, '+', '-');
		if (!skip_digits(lex))
			return jlex_malformed(lex, "a digit");
	}
	*ret = (struct view){start, (size_t)(lex->at - start)};
	return 0;
}

int jlex_word(struct jlex *lex, struct view word)
{
	jlex_peek(lex);
	if (!view_starts_with((struct view){lex->at, (size_t)(lex->end - lex->at)}, word))
		return jlex_malformed(lex, "a value");
	lex->at += word.len;
	return 0;
}

static int skip_object(struct jlex *lex)
{
	struct jlex_string key;
	if (jlex_enter(lex, '{') != 0)
		return -1;
	if (jlex_peek(lex) == '}')
		return jlex_leave(lex, '}');
	do {
		if (jlex_key(lex, &key) != 0 || jlex_skip(lex) != 0)
			return -1;
	} while (jlex_take(lex, ','));
	return jlex_leave(lex, '}');
}

static int skip_array(struct jlex *lex)
{
	if (jlex_enter(lex, '[') != 0)
		return -1;
	if (jlex_peek(lex) == ']')
		return jlex_leave(lex, ']');
	do {
		if (jlex_skip(lex) != 0)
			return -1;
	} while (jlex_take(lex, ','));
	return jlex_leave(lex, ']');
}

int jlex_skip(struct jlex *lex)
{
	struct jlex_string string;
	struct view number;
	switch (jlex_peek(lex)) {
	case '{':
		return skip_object(lex);
	case '[':
		return skip_array(lex);
	case '"':
		return jlex_string(lex, &string);
	case 't':
		return jlex_word(lex, VIEW("true"));
	case 'f':
		return jlex_word(lex, VIEW("false"));
	case 'n':
		return jlex_word(lex, VIEW("null"));
	case '-':
		return jlex_number(lex, &number);
	default:
		return is_digit(lex) ? jlex_number(lex, &number) : jlex_malformed(lex, "a value");
	}
}

int jlex_finish(struct jlex *lex)
{
	jlex_peek(lex);
	return lex->at == lex->end ? 0 : jlex_malformed(lex, "the end");
}

/* The number of a \uXXXX whose digits are at p. */
static uint32_t unit_at(const char *p)
{
	uint32_t unit = 0;
	for (int i = 0; i < 4; i++)
		unit = unit << 4 | (uint32_t)hex_value(p[i]);
	return unit;
}

static bool is_surrogate(uint32_t unit, uint32_t first)
{
	return unit >= first && unit < first + 0x400;
}

/* Reads the character of a \u escape, two of them for a pair; *p is behind the 'u'. */
static bool read_unicode(const char **p, const char *end, uint32_t *ret)
{
	uint32_t unit = unit_at(*p);
	*p += 4;
	if (is_surrogate(unit, 0xd800)) {
		if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
			return false;
		uint32_t low = unit_at(*p + 2);
		if (!is_surrogate(low, 0xdc00))
			return false;
		*p += 6;
		unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	}
	*ret = unit;
	return unit != 0 && !is_surrogate(unit, 0xdc00);
}

static char *write_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

static char single_escape(char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;
	}
}

bool jlex_unescape(struct jlex_string string, char *to, size_t *ret_len)
{
	const char *p = string.raw.ptr;
	const char *end = p + string.raw.len;
	char *start = to;
	while (p < end) {
		if (*p != '\\') {
			*to++ = *p++;
			continue;
		}
		char c = p[1];
		p += 2;
		uint32_t character;
		if (c != 'u')
			*to++ = single_escape(c);
		else if (read_unicode(&p, end, &character))
			to = write_utf8(to, character);
		else
			return false;
	}
	*ret_len = (size_t)(to - start);
	return true;
}
