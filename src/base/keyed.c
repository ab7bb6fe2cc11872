/* SPDX-License-Identifier: Apache-2.0 */
#include "base/keyed.h"

#include <assert.h>

/* Empty parts at the end are not hashed: keys are still compared whole. */
static uint32_t hash_key(const struct keyed_key *key)
{
	uint32_t hash = lookup_hash(0, key->parts[0]);
	for (size_t i = 1; i < ARRAY_SIZE(key->parts); i++)
		if (key->parts[i].len > 0)
			hash = lookup_hash(hash, key->parts[i]);
	return hash;
}

static bool is_same(const struct keyed_key *a, const struct keyed_key *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->parts); i++)
		if (!view_equal(a->parts[i], b->parts[i]))
			return false;
	return true;
}

int keyed_make(struct keyed *keyed, size_t n, struct arena *arena, struct error *err)
{
	if (!ARENA_NEW(keyed->items, arena, n))
		return error_no_memory(err);
	return lookup_make(&keyed->lookup, n, arena, err);
}

void keyed_add(struct keyed *keyed, struct keyed_key key, const void *value)
{
	keyed->items[lookup_add(&keyed->lookup, hash_key(&key))] = (struct keyed_item){key, value};
}

/* The first one from there on with that key. */
static const struct keyed_item *skip_others(const struct keyed *keyed, uint32_t at, const struct keyed_key *key)
{
	while (at != LOOKUP_END && !is_same(&keyed->items[at].key, key))
		at = lookup_next(&keyed->lookup, at);
	return at != LOOKUP_END ? &keyed->items[at] : NULL;
}

const struct keyed_item *keyed_first(const struct keyed *keyed, struct keyed_key key)
{
	if (keyed->lookup.n == 0)
		return NULL;
	return skip_others(keyed, lookup_first(&keyed->lookup, hash_key(&key)), &key);
}

const struct keyed_item *keyed_next(const struct keyed *keyed, const struct keyed_item *item)
{
	const uint32_t at = (uint32_t)(item - keyed->items);
	assert(at < keyed->lookup.n);
	return skip_others(keyed, lookup_next(&keyed->lookup, at), &item->key);
}

const void *keyed_find(const struct keyed *keyed, struct keyed_key key)
{
	const struct keyed_item *item = keyed_first(keyed, key);
	return item ? item->value : NULL;
}
