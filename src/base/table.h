/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * table - an intrusive hash table keyed by bytes. Nodes are embedded in the caller's records, so
 * that inserting allocates nothing but the bucket array, and that only grows.
 *
 * Threads: owner.
 */

#include "base/error.h"
#include "base/view.h"

struct table_node {
	struct table_node *next;
	uint32_t hash;
};

/* The key of a record, borrowed; must not change while the node is in a table. */
typedef struct view (*table_key_fn)(const struct table_node *node);

struct table {
	struct table_node **buckets;
	size_t n_buckets; /* a power of two, or 0 */
	size_t count;
	table_key_fn key;
};

/* An empty table, which has allocated nothing; table_deinit() at the end. */
void table_init(struct table *table, table_key_fn key);
/* Frees the buckets; records are the caller's. Accepts a zeroed object. */
void table_deinit(struct table *table);
/* The record with this key, or NULL. */
struct table_node *table_find(const struct table *table, struct view key);
/* Makes room for one more record, so that the next table_add() cannot fail. Fails with
 * ERROR_NO_MEMORY. */
MUST_USE int table_reserve(struct table *table, struct error *err);
/* Adds a record; no record with its key may be there. Fails with ERROR_NO_MEMORY. */
MUST_USE int table_add(struct table *table, struct table_node *node, struct error *err);
/* Removes a record that is in the table. */
void table_remove(struct table *table, struct table_node *node);
/*
 * Walks all records in no stated order: the first for NULL, then the next; NULL at the end. The
 * record just returned may be removed if table_next() was called for its successor before.
 */
struct table_node *table_next(const struct table *table, const struct table_node *node);
