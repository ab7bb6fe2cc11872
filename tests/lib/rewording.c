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

bool rewording_is(struct view said, struct view word)
{
	size_t n = 0;

	if (view_equal(said, word))
		return true;
	for (size_t i = 0; i < said.len; i++) {
		if (said.ptr[i] == MARK)
			continue;
		if (n == word.len || (unsigned char)said.ptr[i] != rotate(word.ptr[n]))
			return false;
		n++;
	}
	return n == word.len;
}
