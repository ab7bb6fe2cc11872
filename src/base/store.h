/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * store - records by key that a list and a watch keep up to date. It decides whether an object that
 * arrives is newer than the record, and which records a complete list no longer contains.
 *
 * The version is a Kubernetes resourceVersion as a number. Versions are comparable within one
 * resource: by contract since Kubernetes 1.35, before that because they are etcd's revisions. 0
 * means unknown and counts as newer than anything.
 *
 * Threads: owner.
 */

#include "base/table.h"

struct store_entry {
	struct table_node node;
	uint64_t version; /* of the contents */
	uint32_t epoch;   /* of the last replace that named it */
};

struct store {
	struct table table;
	uint32_t epoch;
	bool replacing;
	bool sweeping;
	uint64_t removed_version; /* the highest of a deletion since the last complete state began */
	struct table_node *sweep_next; /* where store_sweep() goes on; valid while sweeping */
};

enum store_change {
	STORE_LISTED,  /* an item of a list */
	STORE_UPSERT,  /* ADDED or MODIFIED of a watch */
	STORE_DELETE,  /* DELETED of a watch */
	STORE_ANSWER,  /* of a write of ours: it replaces an event of the same version too */
};

enum store_verdict {
	STORE_INSERT, /* new: make a record, then store_add() */
	STORE_UPDATE, /* replace the contents of *ret_entry, whose version and epoch are set already */
	STORE_REMOVE, /* take *ret_entry out with store_remove() and free it */
	STORE_IGNORE, /* older than what is there, or a deletion of what is not there */
	STORE_SAME,   /* listed again with the version it has: contents need not be decoded */
};

/* An empty store, which has allocated nothing; key gets the node of an entry. */
void store_init(struct store *store, table_key_fn key);
/* Frees the buckets; records are the caller's. Accepts a zeroed object. */
void store_deinit(struct store *store);
/* The entry with this key, or NULL. */
struct store_entry *store_find(const struct store *store, struct view key);
/*
 * What to do with an object that arrived. *ret_entry is the present record or NULL.
 *
 * An item of a list is always accepted: a list is at least as new as any watch event before it.
 * After a restore of etcd its versions may still be lower.
 *
 * A watch event is accepted only if its version is higher than the record's. Events come in order.
 * So if an event is older than a deletion that was seen, and there is no record, the object was
 * deleted and the event came late.
 */
enum store_verdict store_judge(struct store *store, struct view key, enum store_change change,
			       uint64_t version, struct store_entry **ret_entry);
/* The object is there, whatever becomes of what arrived of it: a list under way does not sweep it. */
void store_note(const struct store *store, struct store_entry *entry);
/* Adds a record after STORE_INSERT. Fails with ERROR_NO_MEMORY, the record is still the caller's. */
MUST_USE int store_add(struct store *store, struct store_entry *entry, uint64_t version,
		       struct error *err);
/* Takes a record that is in the store out of it; it is then the caller's to free. */
void store_remove(struct store *store, struct store_entry *entry);
/* A complete state begins to arrive. A replace that was begun before and not ended is forgotten. */
void store_begin_replace(struct store *store);
/*
 * The complete state has arrived. Yields one record after another that the state did not contain.
 * The caller removes and frees each before it asks for the next, and changes nothing else in
 * between. NULL ends the replace.
 */
struct store_entry *store_sweep(struct store *store);
