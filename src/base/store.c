/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every complete list has a number, the epoch, and each record carries the number of the last one
 * that named it. So a list needs no second table: what it did not name is what carries an older
 * number when it ends. A list that breaks off changes no record's fate; the next one gets a new
 * number.
 */

#include "base/store.h"

#include <assert.h>

void store_init(struct store *store, table_key_fn key)
{
	*store = (struct store){0};
	table_init(&store->table, key);
}

void store_deinit(struct store *store)
{
	table_deinit(&store->table);
	store_init(store, store->table.key);
}

static struct store_entry *entry_of(struct table_node *node)
{
	return node ? CONTAINER_OF(node, struct store_entry, node) : NULL;
}

struct store_entry *store_find(const struct store *store, struct view key)
{
	return entry_of(table_find(&store->table, key));
}

static bool is_newer(uint64_t version, const struct store_entry *entry)
{
	return version == 0 || version > entry->version;
}

static enum store_verdict judge_listed(struct store *store, struct store_entry *entry,
				       uint64_t version)
{
	entry->epoch = store->epoch;
	if (version != 0 && version == entry->version)
		return STORE_SAME;
	entry->version = version;
	return STORE_UPDATE;
}

static enum store_verdict judge_upsert(struct store *store, struct store_entry *entry,
				       uint64_t version)
{
	/* Even an event that brings nothing new shows that the object is there at that version. */
	if (version == entry->version)
		entry->epoch = store->epoch;
	if (!is_newer(version, entry))
		return STORE_IGNORE;
	entry->epoch = store->epoch;
	entry->version = version;
	return STORE_UPDATE;
}

static enum store_verdict judge_answer(struct store *store, struct store_entry *entry,
				       uint64_t version)
{
	if (version != entry->version)
		return judge_upsert(store, entry, version);
	entry->epoch = store->epoch;
	return STORE_UPDATE;
}

static enum store_verdict judge_delete(struct store *store, const struct store_entry *entry,
				       uint64_t version)
{
	if (!is_newer(version, entry))
		return STORE_IGNORE;
	if (version > store->removed_version)
		store->removed_version = version;
	return STORE_REMOVE;
}

static enum store_verdict judge_absent(const struct store *store, enum store_change change,
				       uint64_t version)
{
	bool is_news = change == STORE_UPSERT || change == STORE_ANSWER;
	bool is_late = is_news && version != 0 && version < store->removed_version;

	return change == STORE_DELETE || is_late ? STORE_IGNORE : STORE_INSERT;
}

enum store_verdict store_judge(struct store *store, struct view key, enum store_change change,
			       uint64_t version, struct store_entry **ret_entry)
{
	struct store_entry *entry = store_find(store, key);
	*ret_entry = entry;
	if (!entry)
		return judge_absent(store, change, version);
	switch (change) {
	case STORE_LISTED:
		return judge_listed(store, entry, version);
	case STORE_UPSERT:
		return judge_upsert(store, entry, version);
	case STORE_DELETE:
		return judge_delete(store, entry, version);
	case STORE_ANSWER:
		return judge_answer(store, entry, version);
	}
	assert(false && "no such change");
	return STORE_IGNORE;
}

void store_note(const struct store *store, struct store_entry *entry)
{
	entry->epoch = store->epoch;
}

int store_add(struct store *store, struct store_entry *entry, uint64_t version, struct error *err)
{
	if (table_add(&store->table, &entry->node, err) != 0)
		return -1;
	entry->version = version;
	entry->epoch = store->epoch;
	return 0;
}

void store_remove(struct store *store, struct store_entry *entry)
{
	table_remove(&store->table, &entry->node);
}

void store_begin_replace(struct store *store)
{
	store->epoch++;
	store->removed_version = 0; /* versions may go back */
	store->replacing = true;
	store->sweeping = false;
}

struct store_entry *store_sweep(struct store *store)
{
	if (!store->replacing)
		return NULL;
	if (!store->sweeping)
		store->sweep_next = table_next(&store->table, NULL);
	store->sweeping = true;
	while (store->sweep_next) {
		struct store_entry *entry = entry_of(store->sweep_next);
		store->sweep_next = table_next(&store->table, store->sweep_next);
		if (entry->epoch != store->epoch)
			return entry;
	}
	store->replacing = false;
	store->sweeping = false;
	return NULL;
}
