/* SPDX-License-Identifier: Apache-2.0 */

/* Chains of items in a power of two of buckets: there are at least twice as many buckets as items. */

#include "base/keyed.h"

#include <assert.h>
#include <string.h>

#include "base/lookup.h"

#define FIRST_BUCKETS 8u

static uint32_t hash_part(const struct keyed *keyed, uint32_t hash, struct view part)
{
	return keyed->ignores_case ? lookup_hash_ignoring_case(hash, part) : lookup_hash(hash, part);
}

/* Empty parts at the end are not hashed: keys are still compared whole. */
static uint32_t hash_key(const struct keyed *keyed, const struct keyed_key *key)
{
	uint32_t hash = hash_part(keyed, 0, key->parts[0]);
	for (size_t i = 1; i < ARRAY_SIZE(key->parts); i++)
		if (key->parts[i].len > 0)
			hash = hash_part(keyed, hash, key->parts[i]);
	return hash;
}

static bool is_same(const struct keyed *keyed, const struct keyed_key *a, const struct keyed_key *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->parts); i++) {
		const struct view x = a->parts[i], y = b->parts[i];
		if (x.len != y.len)
			return false;
		if (x.len > 0 && !(keyed->ignores_case ? view_equal_ignoring_case(x, y)
						       : memcmp(x.ptr, y.ptr, x.len) == 0))
			return false;
	}
	return true;
}

/* Twice as many buckets. The items of one go to two, in their order. False: there is no memory. */
static bool grow(struct keyed *keyed)
{
	const uint32_t n = keyed->n_buckets;
	struct keyed_item **buckets;
	assert(n <= UINT32_MAX / 2);
	if (!ARENA_NEW(buckets, keyed->arena, n > 0 ? (size_t)n * 2 : FIRST_BUCKETS))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct keyed_item **ends[] = {&buckets[i], &buckets[i + n]};
		for (struct keyed_item *item = keyed->buckets[i]; item; item = item->next) {
			const bool is_high = item->hash & n;
			*ends[is_high] = item;
			ends[is_high] = &item->next;
		}
		*ends[0] = *ends[1] = NULL;
	}
	keyed->buckets = buckets;
	keyed->n_buckets = n > 0 ? n * 2 : FIRST_BUCKETS;
	return true;
}

static void add(struct keyed *keyed, const struct keyed_key *key, uint32_t hash, const void *value)
{
	struct keyed_item *item;
	assert(keyed->arena);
	if ((2 * keyed->n >= keyed->n_buckets && !grow(keyed)) || !ARENA_NEW(item, keyed->arena, 1))
		return;
	struct keyed_item **bucket = &keyed->buckets[hash & (keyed->n_buckets - 1)];
	*item = (struct keyed_item){*bucket, (void *)(uintptr_t)value, hash, *key};
	*bucket = item;
	keyed->n++;
}

void keyed_add_by(struct keyed *keyed, const struct keyed_key *key, const void *value)
{
	add(keyed, key, hash_key(keyed, key), value);
}

/* The first one from there on with that key. */
static const struct keyed_item *skip_others(const struct keyed *keyed, const struct keyed_item *item,
					    const struct keyed_key *key, uint32_t hash)
{
	while (item && (item->hash != hash || !is_same(keyed, &item->key, key)))
		item = item->next;
	return item;
}

static const struct keyed_item *find(const struct keyed *keyed, const struct keyed_key *key, uint32_t hash)
{
	return keyed->n > 0 ? skip_others(keyed, keyed->buckets[hash & (keyed->n_buckets - 1)], key, hash) : NULL;
}

const struct keyed_item *keyed_first_by(const struct keyed *keyed, const struct keyed_key *key)
{
	return keyed->n > 0 ? find(keyed, key, hash_key(keyed, key)) : NULL;
}

const struct keyed_item *keyed_next(const struct keyed *keyed, const struct keyed_item *item)
{
	return skip_others(keyed, item->next, &item->key, item->hash);
}

bool keyed_add_new(struct keyed *keyed, struct keyed_key key, const void *value)
{
	const uint32_t hash = hash_key(keyed, &key);
	if (find(keyed, &key, hash))
		return false;
	add(keyed, &key, hash, value);
	return true;
}

void *keyed_ensure(struct keyed *keyed, struct keyed_key key, size_t size)
{
	const uint32_t hash = hash_key(keyed, &key);
	const struct keyed_item *item = find(keyed, &key, hash);
	if (item)
		return item->value;
	void *value = arena_alloc(keyed->arena, 1, size);
	if (value)
		add(keyed, &key, hash, value);
	return value;
}
