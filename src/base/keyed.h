/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * keyed - finds values by keys of up to three texts, in an arena. Several values may have one key. A
 * zeroed one is empty.
 *
 *	KEYED_EACH(item, &keyed, KEYED_KEY(uid, container))
 *		use(item->value);
 *
 * Threads: owner.
 * Limits:  as many values as it was made for.
 */

#include "base/lookup.h"

struct keyed_key {
	struct view parts[3]; /* borrowed; those that are not given are empty */
};

struct keyed_item {
	struct keyed_key key;
	const void *value; /* borrowed */
};

struct keyed {
	struct lookup lookup;
	struct keyed_item *items;
};

#define KEYED_KEY(...) ((struct keyed_key){{__VA_ARGS__}})
/* A loop over the items with that key, the one added last first. */
#define KEYED_EACH(item, keyed, key) \
	for (const struct keyed_item *item = keyed_first(keyed, key); item; item = keyed_next(keyed, item))

/* Makes one for up to n values, which lies in arena. Fails with ERROR_NO_MEMORY. */
MUST_USE int keyed_make(struct keyed *keyed, size_t n, struct arena *arena, struct error *err);
/* Adds a value. */
void keyed_add(struct keyed *keyed, struct keyed_key key, const void *value);
/* The item with that key that was added last; NULL: there is none. */
const struct keyed_item *keyed_first(const struct keyed *keyed, struct keyed_key key);
/* The one with the same key that was added before; NULL: there is none. */
const struct keyed_item *keyed_next(const struct keyed *keyed, const struct keyed_item *item);
/* The value that was added last with that key; NULL: there is none. */
const void *keyed_find(const struct keyed *keyed, struct keyed_key key);
