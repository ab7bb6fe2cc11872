/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Chains of nodes in a power of two of buckets, doubled when there are as many records as buckets.
 * The hash is kept in the node: growing hashes nothing, and a search compares keys only where the
 * hashes are equal.
 */

#include "base/table.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_BUCKETS 16u

void table_init(struct table *table, table_key_fn key)
{
	*table = (struct table){.key = key};
}

void table_deinit(struct table *table)
{
	free(table->buckets);
	table_init(table, table->key);
}

static struct table_node **bucket_of(const struct table *table, uint32_t hash)
{
	return &table->buckets[hash & (table->n_buckets - 1)];
}

static struct table_node *find_hashed(const struct table *table, struct view key, uint32_t hash)
{
	if (table->n_buckets == 0)
		return NULL;
	for (struct table_node *node = *bucket_of(table, hash); node; node = node->next) {
		if (node->hash == hash && view_equal(table->key(node), key))
			return node;
	}
	return NULL;
}

struct table_node *table_find(const struct table *table, struct view key)
{
	return table->count ? find_hashed(table, key, view_hash(key)) : NULL;
}

static int grow(struct table *table, struct error *err)
{
	size_t n = table->n_buckets ? 2 * table->n_buckets : FIRST_BUCKETS;
	struct table_node **buckets = calloc(n, sizeof(struct table_node *));
	if (!buckets)
		return error_no_memory(err);
	struct table grown = {buckets, n, table->count, table->key};
	for (size_t i = 0; i < table->n_buckets; i++) {
		struct table_node *node = table->buckets[i];
		while (node) {
			struct table_node *next = node->next;
			struct table_node **bucket = bucket_of(&grown, node->hash);
			node->next = *bucket;
			*bucket = node;
			node = next;
		}
	}
	free(table->buckets);
	*table = grown;
	return 0;
}

int table_reserve(struct table *table, struct error *err)
{
	return table->count == table->n_buckets ? grow(table, err) : 0;
}

int table_add(struct table *table, struct table_node *node, struct error *err)
{
	struct view key = table->key(node);
	uint32_t hash = view_hash(key);
	assert(!find_hashed(table, key, hash));
	if (table_reserve(table, err) != 0)
		return -1;
	struct table_node **bucket = bucket_of(table, hash);
	*node = (struct table_node){.next = *bucket, .hash = hash};
	*bucket = node;
	table->count++;
	return 0;
}

void table_remove(struct table *table, struct table_node *node)
{
	assert(table->count > 0);
	struct table_node **link = bucket_of(table, node->hash);
	while (*link != node) {
		assert(*link && "not in this table");
		link = &(*link)->next;
	}
	*link = node->next;
	node->next = NULL;
	table->count--;
}

struct table_node *table_next(const struct table *table, const struct table_node *node)
{
	if (node && node->next)
		return node->next;
	size_t i = node ? (node->hash & (table->n_buckets - 1)) + 1 : 0;
	while (i < table->n_buckets && !table->buckets[i])
		i++;
	return i < table->n_buckets ? table->buckets[i] : NULL;
}
