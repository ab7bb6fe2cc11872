/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * keyed - finds values by keys of up to three texts, in an arena. Several values may have one key. It grows with
 * the values, and a zeroed one is empty.
 *
 *	struct keyed keyed = {.arena = arena};
 *	keyed_add(&keyed, KEYED_KEY(uid, container), value);
 *	KEYED_EACH(item, &keyed, KEYED_KEY(uid, container))
 *		use(item->value);
 *
 * Without memory it adds nothing: arena_check() says so once at the end.
 *
 * Threads: owner.
 */

#include "base/arena.h"

struct keyed_key {
	struct view parts[3]; /* borrowed; those that are not given are empty */
};

struct keyed_item {
	struct keyed_item *next; /* in its bucket, the one added last first */
	void *value;             /* borrowed */
	uint32_t hash;
	struct keyed_key key;
};

struct keyed {
	struct arena *arena; /* in which it lies; NULL: nothing is added */
	bool ignores_case;   /* of the keys' ASCII letters */
	struct keyed_item **buckets;
	uint32_t n_buckets; /* a power of two, or 0: it is empty */
	uint32_t n;
};

#define KEYED_KEY(...) ((struct keyed_key){{__VA_ARGS__}})
/* A loop over the items with that key, the one added last first. */
#define KEYED_EACH(item, keyed, key) \
	for (const struct keyed_item *item = keyed_first(keyed, key); item; item = keyed_next(keyed, item))

/* keyed_add(), which calls it: to pass a key as it is costs more than to find it. */
void keyed_add_by(struct keyed *keyed, const struct keyed_key *key, const void *value);
/* keyed_first(), for the same reason. */
const struct keyed_item *keyed_first_by(const struct keyed *keyed, const struct keyed_key *key);

/* Adds a value. */
static inline void keyed_add(struct keyed *keyed, struct keyed_key key, const void *value)
{
	keyed_add_by(keyed, &key, value);
}

/* The item with that key that was added last; NULL: there is none. */
static inline const struct keyed_item *keyed_first(const struct keyed *keyed, struct keyed_key key)
{
	return keyed_first_by(keyed, &key);
}

/* The one with the same key that was added before; NULL: there is none. */
const struct keyed_item *keyed_next(const struct keyed *keyed, const struct keyed_item *item);

/* The value that was added last with that key; NULL: there is none. Like bsearch(), it forgets what was const. */
static inline void *keyed_find(const struct keyed *keyed, struct keyed_key key)
{
	const struct keyed_item *item = keyed_first_by(keyed, &key);
	return item ? item->value : NULL;
}

/* Adds a value, unless there is one with that key. False: there is. */
bool keyed_add_new(struct keyed *keyed, struct keyed_key key, const void *value);
/* The value that was added last with that key. If there is none, zeroed memory of that size is added; NULL: there
 * is no memory. */
void *keyed_ensure(struct keyed *keyed, struct keyed_key key, size_t size);
