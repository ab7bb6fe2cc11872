/* SPDX-License-Identifier: Apache-2.0 */

#include "wire/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The six bits that a character stands for, or -1. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

static int value_of_url(char c)
{
	if (c == '+' || c == '/')
		return -1;
	return c == '-' ? 62 : c == '_' ? 63 : value_of(c);
}

/* Collects four characters at a time. */
struct group {
	uint32_t bits;
	unsigned n_values;
	unsigned n_padding;
};

static bool take(struct group *group, char c)
{
	int value = value_of(c);
	if (c == '=' && group->n_values >= 2) {
		group->n_padding++;
		value = 0;
	} else if (value < 0 || group->n_padding > 0) {
		return false;
	}
	group->bits = group->bits << 6 | (uint32_t)value;
	group->n_values++;
	return true;
}

static void write_group(const struct group *group, struct sbuf *out)
{
	const char bytes[3] = {(char)(group->bits >> 16), (char)(group->bits >> 8),
			       (char)group->bits};
	sbuf_append(out, (struct view){bytes, 3 - group->n_padding});
}

/* False at the first character that does not belong. */
static bool decode(struct view text, struct sbuf *out)
{
	struct group group = {0};
	bool ended = false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '\r' || c == '\n')
			continue;
		if (ended || !take(&group, c))
			return false;
		if (group.n_values < 4)
			continue;
		write_group(&group, out);
		ended = group.n_padding > 0;
		group = (struct group){0};
	}
	return group.n_values == 0;
}

bool base64_decode(struct view text, struct sbuf *out)
{
	size_t len_before = out->len;
	if (decode(text, out))
		return true;
	sbuf_truncate(out, len_before);
	return false;
}

/* The last two or three characters. */
static bool write_rest(struct group group, struct sbuf *out)
{
	const unsigned missing = 4 - group.n_values;
	const uint32_t bits = group.bits << 6 * missing;
	if (group.n_values == 0)
		return true;
	if (missing > 2 || bits << (8 + 8 * (3 - missing)) != 0)
		return false;
	write_group(&(struct group){.bits = bits, .n_padding = missing}, out);
	return true;
}

static bool decode_url(struct view text, struct sbuf *out)
{
	struct group group = {0};
	for (size_t i = 0; i < text.len; i++) {
		int value = value_of_url(text.ptr[i]);
		if (value < 0)
			return false;
		group.bits = group.bits << 6 | (uint32_t)value;
		if (++group.n_values < 4)
			continue;
		write_group(&group, out);
		group = (struct group){0};
	}
	return write_rest(group, out);
}

bool base64_decode_url(struct view text, struct sbuf *out)
{
	size_t len_before = out->len;
	if (decode_url(text, out))
		return true;
	sbuf_truncate(out, len_before);
	return false;
}

void base64_encode(struct view bytes, struct sbuf *out)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;
	for (size_t rest = bytes.len; rest > 0; p += 3) {
		size_t n = rest < 3 ? rest : 3;
		uint32_t bits = (uint32_t)p[0] << 16;
		if (n > 1)
			bits |= (uint32_t)p[1] << 8;
		if (n > 2)
			bits |= p[2];
		const char group[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
				       n > 1 ? alphabet[bits >> 6 & 63] : '=',
				       n > 2 ? alphabet[bits & 63] : '='};
		sbuf_append(out, (struct view){group, sizeof(group)});
		rest -= n;
	}
}
