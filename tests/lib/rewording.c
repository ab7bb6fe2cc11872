/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/rewording.h"

#define MARK '_' /* not counted: words that nobody reworded have it, too */
#define FNV_PRIME UINT64_C(1099511628211)

static unsigned char rotate(char c)
{
	const char first = c >= 'a' && c <= 'z' ? 'a' : 'A';

	if (c < first || c > first + 25)
		return (unsigned char)c;
	return (unsigned char)(first + (c - first + 13) % 26);
}

/* A letter and what it is rotated to count as one. */
uint64_t rewording_digest(uint64_t digest, struct view text)
{
	for (size_t i = 0; i < text.len; i++) {
		const unsigned char c = (unsigned char)text.ptr[i], other = rotate(text.ptr[i]);

		if (c != MARK)
			digest = (digest ^ (c < other ? c : other)) * FNV_PRIME;
	}
	return digest;
}

/* How long the word is, reworded, at the beginning of the text; 0: something else is there. */
static size_t match(struct view said, struct view word)
{
	size_t n = 0;

	for (size_t i = 0; i < said.len && n < word.len; i++) {
		if (said.ptr[i] == MARK)
			continue;
		if ((unsigned char)said.ptr[i] != rotate(word.ptr[n++]))
			return 0;
		if (n == word.len)
			return i + 1;
	}
	return 0;
}

/* Without the marks at its end. */
static size_t length_of(struct view said)
{
	while (said.len > 0 && said.ptr[said.len - 1] == MARK)
		said.len--;
	return said.len;
}

bool rewording_is(struct view said, struct view word)
{
	const size_t len = match(said, word);

	return view_equal(said, word) || (len > 0 && len == length_of(said));
}

size_t rewording_find(struct view said, struct view part)
{
	size_t i = 0;

	while (i < said.len && !view_starts_with(view_from_offset(said, i), part) &&
	       match(view_from_offset(said, i), part) == 0)
		i++;
	return i;
}
