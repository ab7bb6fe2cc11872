/* SPDX-License-Identifier: Apache-2.0 */

/* A change makes a new record, and the old one goes. All that may fail is done before that. */

#include "model/record_set.h"

#include <assert.h>
#include <stdlib.h>

static struct record *record_of(const struct table_node *node)
{
	return node ? CONTAINER_OF(node, struct record, entry.node) : NULL;
}

static struct view key_of(const struct table_node *node)
{
	return record_of(node)->key;
}

void record_set_init(struct record_set *set, const struct record_kind *kind,
		     struct node_state_set *node_states)
{
	*set = (struct record_set){.node_states = node_states, .kind = kind};
	store_init(&set->store, key_of);
}

struct view record_set_key(struct view namespace, struct view name, char buffer[static RECORD_KEY_SIZE])
{
	const size_t len = namespace.len + 1 + name.len;
	if (len > RECORD_KEY_SIZE)
		return (struct view){0};
	view_copy(namespace, buffer);
	buffer[namespace.len] = '/';
	view_copy(name, buffer + namespace.len + 1);
	return (struct view){buffer, len};
}

struct record *record_set_find(const struct record_set *set, struct view key)
{
	return record_of(table_find(&set->store.table, key));
}

struct record *record_set_next(const struct record_set *set, const struct record *record)
{
	return record_of(table_next(&set->store.table, record ? &record->entry.node : NULL));
}

static void drop(struct record_set *set, struct record *record)
{
	struct node_state *node_state = record->node_state;
	list_remove(&record->link);
	if (set->kind->free) {
		set->kind->free(set, record);
	} else {
		free(record->object);
		free(record);
	}
	node_state_release(set->node_states, node_state);
}

/* All that may fail. One that goes leaves its room in the store to the one that comes. */
static int prepare(struct record_set *set, struct record *record, const struct record *old,
		   struct view node_name, struct error *err)
{
	if (node_name.len > 0 && !(record->node_state = node_state_ensure(set->node_states, node_name, err)))
		return -1;
	if (!old && table_reserve(&set->store.table, err) < 0)
		return -1;
	return set->kind->admit ? set->kind->admit(set, record, old, err) : 0;
}

static void replace(struct record_set *set, struct record *old, struct record *record,
		    const struct record_event *event)
{
	struct error error = {0};
	int failed;
	if (old)
		store_remove(&set->store, &old->entry);
	failed = store_add(&set->store, &record->entry, event->version, &error);
	assert(!failed); /* there is room for it */
	(void)failed;
	set->kind->change(set, old, record, event);
	if (old)
		drop(set, old);
}

static bool is_same(const struct record_kind *kind, const struct record *old,
		    const struct record *record, struct view node_name)
{
	struct view old_name = old->node_state ? old->node_state->name : (struct view){0};
	if (!view_equal(old_name, node_name))
		return false;
	return kind->rows ? compact_equal(kind->rows, old->object, record->object)
			  : kind->are_equal && kind->are_equal(old, record);
}

int record_set_put(struct record_set *set, struct record *take_record, struct view node_name,
		   const struct record_event *event, struct error *err)
{
	struct record *old = record_set_find(set, take_record->key);
	uint64_t old_version = old ? old->entry.version : 0;
	struct store_entry *entry;
	enum store_verdict verdict = store_judge(&set->store, take_record->key, event->change,
						 event->version, &entry);
	bool is_news = verdict == STORE_INSERT ||
		       (verdict == STORE_UPDATE &&
			!is_same(set->kind, old, take_record, node_name));
	int failed = 0;

	assert(event->change != STORE_DELETE);
	list_init(&take_record->link);
	if (is_news) {
		failed = prepare(set, take_record, old, node_name, err);
		if (!failed) {
			replace(set, old, take_record, event);
			return 0;
		}
		/* With its old contents it must not pass for the new version, which comes again. */
		if (old)
			old->entry.version = old_version;
	}
	drop(set, take_record);
	return failed;
}

int record_set_put_copy(struct record_set *set, const void *fields, const struct record_event *event,
			struct error *err)
{
	const struct record_kind *kind = set->kind;
	struct record *record = calloc(1, sizeof(*record));
	int failed = !record                              ? error_no_memory(err)
		     : kind->make                         ? kind->make(fields, &record->object, err)
							  : compact_new(kind->rows, fields, kind->size,
									COMPACT_ANY_TEXT, &record->object, err);

	if (failed) {
		free(record);
		return -1;
	}
	record->key = *(const struct view *)record->object;
	return record_set_put(set, record, kind->node_of ? kind->node_of(record->object) : (struct view){0},
			      event, err);
}

void record_set_remove(struct record_set *set, struct record *record, const struct record_event *event)
{
	store_remove(&set->store, &record->entry);
	set->kind->change(set, record, NULL, event);
	drop(set, record);
}

void record_set_delete(struct record_set *set, struct view key, const struct record_event *event)
{
	struct store_entry *entry;
	if (store_judge(&set->store, key, STORE_DELETE, event->version, &entry) == STORE_REMOVE)
		record_set_remove(set, CONTAINER_OF(entry, struct record, entry), event);
}

void record_set_sweep(struct record_set *set, const struct record_event *event)
{
	struct store_entry *entry;
	while ((entry = store_sweep(&set->store)))
		record_set_remove(set, CONTAINER_OF(entry, struct record, entry), event);
}

void record_set_deinit(struct record_set *set)
{
	static const struct record_event end = {.change = STORE_DELETE};
	struct record *record = record_set_next(set, NULL);
	while (record) {
		struct record *next = record_set_next(set, record);

		record_set_remove(set, record, &end);
		record = next;
	}
	store_deinit(&set->store);
}
