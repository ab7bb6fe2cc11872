/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The hash is SipHash-1-3 (https://www.aumasson.jp/siphash/). Keys of our tables come from outside
 * (pod names, report bodies), and whoever can choose keys must not be able to choose collisions.
 * The hash's own key is drawn once, before main(), so hashing needs no check and no lock.
 */

#include "base/view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "base/sort.h"

static uint64_t hash_key[2];

__attribute__((constructor)) static void draw_hash_key(void)
{
	hash_key[0] = prng_entropy();
	hash_key[1] = prng_entropy();
}

struct view view_from(const char *text)
{
	return (struct view){text, text ? strlen(text) : 0};
}

bool view_equal(struct view a, struct view b)
{
	/* Both are often the same text of one record: then nothing is read. */
	return a.len == b.len && (a.len == 0 || a.ptr == b.ptr || memcmp(a.ptr, b.ptr, a.len) == 0);
}

int view_compare(struct view a, struct view b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common && a.ptr != b.ptr ? memcmp(a.ptr, b.ptr, common) : 0;
	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

int view_compare_pairs(struct view a, struct view a2, struct view b, struct view b2)
{
	int order = view_compare(a, b);
	return order ? order : view_compare(a2, b2);
}

int view_order(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

size_t view_sort(struct view *views, size_t n)
{
	size_t n_unique = 0;
	if (n > 0)
		sort_items(views, n, sizeof(*views), view_order);
	for (size_t i = 0; i < n; i++)
		if (n_unique == 0 || !view_equal(views[n_unique - 1], views[i]))
			views[n_unique++] = views[i];
	return n_unique;
}

bool view_is_among(struct view v, const struct view *views, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (view_equal(views[i], v))
			return true;
	return false;
}

bool view_is_found(struct view v, const struct view *sorted, size_t n)
{
	return n > 0 && bsearch(&v, sorted, n, sizeof(v), view_order);
}

static inline char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool view_equal_ignoring_case(struct view a, struct view b)
{
	if (a.len != b.len)
		return false;
	if (view_equal(a, b)) /* as it mostly is, and this is quick */
		return true;
	for (size_t i = 0; i < a.len; i++) {
		if (lower(a.ptr[i]) != lower(b.ptr[i]))
			return false;
	}
	return true;
}

int view_compare_ignoring_case(struct view a, struct view b)
{
	for (size_t i = 0; i < a.len && i < b.len; i++) {
		int order = (unsigned char)lower(a.ptr[i]) - (unsigned char)lower(b.ptr[i]);
		if (order != 0)
			return order;
	}
	return (a.len > b.len) - (a.len < b.len);
}

bool view_starts_with(struct view v, struct view prefix)
{
	return v.len >= prefix.len && view_equal((struct view){v.ptr, prefix.len}, prefix);
}

bool view_ends_with(struct view v, struct view suffix)
{
	return v.len >= suffix.len && view_equal(view_from_offset(v, v.len - suffix.len), suffix);
}

struct view view_from_offset(struct view v, size_t from)
{
	assert(from <= v.len);
	/* NULL + 0 is undefined in C. */
	return from == 0 ? v : (struct view){v.ptr + from, v.len - from};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct view view_copy(struct view v, char *to)
{
	if (v.len > 0)
		memcpy(to, v.ptr, v.len);
	return (struct view){to, v.len};
}

struct view view_copy_lower(struct view v, char *to)
{
	for (size_t i = 0; i < v.len; i++)
		to[i] = lower(v.ptr[i]);
	return (struct view){to, v.len};
}

struct view view_trim(struct view v)
{
	while (v.len > 0 && is_blank(v.ptr[v.len - 1]))
		v.len--;
	size_t blanks = 0;
	while (blanks < v.len && is_blank(v.ptr[blanks]))
		blanks++;
	return view_from_offset(v, blanks);
}

bool view_cut(struct view v, struct view separator, struct view *ret_left, struct view *ret_right)
{
	assert(separator.len > 0 && v.len <= PTRDIFF_MAX);
	const char *found = v.len ? memmem(v.ptr, v.len, separator.ptr, separator.len) : NULL;
	if (!found) {
		*ret_left = v;
		*ret_right = (struct view){NULL, 0};
		return false;
	}
	size_t at = (size_t)(found - v.ptr);
	*ret_left = (struct view){v.ptr, at};
	*ret_right = view_from_offset(v, at + separator.len);
	return true;
}

ptrdiff_t view_find_char(struct view v, char c)
{
	const char *found = v.len ? memchr(v.ptr, c, v.len) : NULL;
	return found ? found - v.ptr : -1;
}

bool view_parse_u64(struct view v, uint64_t *ret)
{
	uint64_t value = 0;
	if (v.len == 0)
		return false;
	for (size_t i = 0; i < v.len; i++) {
		if (v.ptr[i] < '0' || v.ptr[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(v.ptr[i] - '0'), &value))
			return false;
	}
	*ret = value;
	return true;
}

bool view_parse_i64(struct view v, int64_t *ret)
{
	bool negative = v.len > 0 && v.ptr[0] == '-';
	uint64_t magnitude;
	if (!view_parse_u64(negative ? view_from_offset(v, 1) : v, &magnitude))
		return false;
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return false;
	/* Negated as unsigned: INT64_MIN has no positive counterpart. */
	*ret = (int64_t)(negative ? 0 - magnitude : magnitude);
	return true;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

struct sip {
	uint64_t a, b, c, d;
};

/* By value, for then it stays in registers. */
static inline struct sip sip_round(struct sip s)
{
	s.a += s.b;
	s.c += s.d;
	s.b = rotate(s.b, 13) ^ s.a;
	s.d = rotate(s.d, 16) ^ s.c;
	s.a = rotate(s.a, 32) + s.d;
	s.c += s.b;
	s.d = rotate(s.d, 21) ^ s.a;
	s.b = rotate(s.b, 17) ^ s.c;
	s.c = rotate(s.c, 32);
	return s;
}

static inline struct sip sip_word(struct sip s, uint64_t word)
{
	s.d ^= word;
	s = sip_round(s);
	s.a ^= word;
	return s;
}

uint32_t view_hash(struct view v)
{
	struct sip s = {
		hash_key[0] ^ 0x736f6d6570736575u,
		hash_key[1] ^ 0x646f72616e646f6du,
		hash_key[0] ^ 0x6c7967656e657261u,
		hash_key[1] ^ 0x7465646279746573u,
	};
	const char *p = v.ptr;
	uint64_t word;
	for (size_t rest = v.len; rest >= 8; rest -= 8, p += 8) {
		memcpy(&word, p, 8);
		s = sip_word(s, word);
	}
	word = 0;
	if (v.len % 8)
		memcpy(&word, p, v.len % 8);
	s = sip_word(s, word | (uint64_t)v.len << 56);
	s.c ^= 0xff;
	s = sip_round(sip_round(sip_round(s)));
	uint64_t hash = s.a ^ s.b ^ s.c ^ s.d;
	return (uint32_t)(hash ^ hash >> 32);
}
