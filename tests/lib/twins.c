/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The key of the hash is another one in each process, so they are looked for: of some 80 000 texts
 * two are likely to have one hash.
 */

#include "lib/twins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test_main.h"

#define N_MAX (1u << 20) /* texts: about a hundred pairs */
#define N_SLOTS (2u * N_MAX)

static char texts[2][16];

static struct view make_text(unsigned number, char *text, size_t size)
{
	int len = snprintf(text, size, "twin-%u", number);
	return (struct view){text, (size_t)len};
}

/* Puts the n-th text into the slots, or gives the number of its twin; 0: neither is there one. */
static unsigned put(unsigned *slots, unsigned n)
{
	char text[16], before[16];
	uint32_t hash = view_hash(make_text(n, text, sizeof(text)));
	size_t at = hash % N_SLOTS;

	for (; slots[at]; at = (at + 1) % N_SLOTS) {
		if (view_hash(make_text(slots[at], before, sizeof(before))) == hash)
			return slots[at];
	}
	slots[at] = n;
	return 0;
}

static void look(void)
{
	unsigned *slots = calloc(N_SLOTS, sizeof(*slots));
	unsigned twin = 0, n = 0;

	assert_non_null(slots);
	while (!twin && n < N_MAX)
		twin = put(slots, ++n);
	free(slots);
	assert_int_not_equal(twin, 0);
	make_text(twin, texts[0], sizeof(texts[0]));
	make_text(n, texts[1], sizeof(texts[1]));
}

struct twins twins_find(void)
{
	if (!texts[0][0])
		look();
	return (struct twins){view_from(texts[0]), view_from(texts[1])};
}
