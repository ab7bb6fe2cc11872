/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The well-formed sequences of RFC 3629, section 4: the second byte's range depends on the first,
 * which is what keeps overlong forms, surrogates and numbers above U+10FFFF out.
 */

#include "base/utf8.h"

static bool is_between(unsigned char byte, unsigned char low, unsigned char high)
{
	return byte >= low && byte <= high;
}

static bool is_continuation(char c)
{
	return is_between((unsigned char)c, 0x80, 0xbf);
}

/* The length that the first byte announces, and the range of the second byte. */
static size_t announced(unsigned char first, unsigned char *ret_low, unsigned char *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xbf;
	if (is_between(first, 0xc2, 0xdf))
		return 2;
	if (is_between(first, 0xe0, 0xef)) {
		if (first == 0xe0)
			*ret_low = 0xa0;
		if (first == 0xed)
			*ret_high = 0x9f;
		return 3;
	}
	if (is_between(first, 0xf0, 0xf4)) {
		if (first == 0xf0)
			*ret_low = 0x90;
		if (first == 0xf4)
			*ret_high = 0x8f;
		return 4;
	}
	return 0;
}

size_t utf8_next(struct view v)
{
	if (v.len == 0)
		return 0;
	if ((unsigned char)v.ptr[0] < 0x80)
		return 1;
	unsigned char low, high;
	size_t len = announced((unsigned char)v.ptr[0], &low, &high);
	if (len == 0 || len > v.len || !is_between((unsigned char)v.ptr[1], low, high))
		return 0;
	for (size_t i = 2; i < len; i++) {
		if (!is_continuation(v.ptr[i]))
			return 0;
	}
	return len;
}

struct view utf8_truncate(struct view v, size_t max)
{
	if (v.len <= max)
		return v;
	while (max > 0 && is_continuation(v.ptr[max]))
		max--;
	return (struct view){v.ptr, max};
}
