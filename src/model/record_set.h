/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * record_set - the objects of one kind that the API server has, by key; each may hang on the node
 * state of a node. One that arrives is judged by its version (base/store.h): it replaces the one
 * that was there, or is dropped. What is particular to a kind stands in its struct record_kind.
 *
 * A kind may embed a struct record in its records and a struct record_set in its set, and finds its own
 * by CONTAINER_OF().
 *
 * Threads: the loop thread.
 */

#include "base/compact.h"
#include "base/store.h"
#include "model/node_state.h"

#define RECORD_KEY_SIZE 512u

struct record {
	struct store_entry entry;
	struct view key;     /* borrowed from what the record holds; the kind's to set */
	void *object;        /* of a kind with rows; else the kind's own */
	struct node_state *node_state; /* on which it hangs; NULL: on none */
	struct list link;    /* among those of its kind that hang there */
};

struct record_set {
	struct store store;
	struct node_state_set *node_states;
	const struct record_kind *kind;
};

/* What happened to an object. */
struct record_event {
	enum store_change change;
	uint64_t version;
	uint64_t now_ms; /* monotonic; 0 for those that keep no time */
	bool is_forgotten; /* of a deletion: it is not known whether it is still there; nobody is told */
	bool is_initial; /* an item of a first list, so that live events may overtake what it touches */
};

/* What is particular to a kind. */
struct record_kind {
	/* What the objects say, by which two are compared, and their size. NULL: as are_equal() does. */
	const struct compact_row *rows;
	size_t size;
	/* Of a kind with rows: makes a block of what a decoder found. NULL: that is the object itself. */
	int (*make)(const void *fields, void **ret_object, struct error *err);
	/* The node on whose state an object with rows hangs, by name. NULL: it hangs on none. */
	struct view (*node_of)(const void *object);
	/* True when both say the same; they are of one node. NULL: they never do. */
	bool (*are_equal)(const struct record *a, const struct record *b);
	/*
	 * May refuse the record, which has its node state, and will take the room of old (NULL: none).
	 * The last that may fail: it sees to it that change() cannot. NULL: there is nothing to do.
	 */
	int (*admit)(struct record_set *set, const struct record *record, const struct record *old,
		     struct error *err);
	/*
	 * The set has record (NULL: nothing any more) instead of old (NULL: of nothing), whose link the set
	 * cuts, and frees it. Links the record to its node state, and touches whom that concerns.
	 */
	void (*change)(struct record_set *set, struct record *old, struct record *record,
		       const struct record_event *event);
	/* Frees the record and what it holds. NULL: it and its object are a block of memory each. */
	void (*free)(struct record_set *set, struct record *record);
};

/* No records; allocates nothing. node_states is borrowed, kind for good. */
void record_set_init(struct record_set *set, const struct record_kind *kind, struct node_state_set *node_states);
/* Removes all records, as of no time. */
void record_set_deinit(struct record_set *set);
/*
 * Takes the record over in any case. Keeps it if it is newer than what is there and says something
 * else; frees it otherwise. It hangs on the state of the node of that name; empty: on none.
 * event->change is STORE_LISTED or STORE_UPSERT. Fails with ERROR_NO_MEMORY, or as admit() does; what
 * is there then stays, with the version that it has.
 */
MUST_USE int record_set_put(struct record_set *set, struct record *take_record, struct view node_name,
			    const struct record_event *event, struct error *err);
/* The same of a copy of what a decoder found, of a kind with rows: the object begins with its key. */
MUST_USE int record_set_put_copy(struct record_set *set, const void *fields,
				 const struct record_event *event, struct error *err);
/* Removes the record of that key; an unknown one, or one newer than event->version, is left. */
void record_set_delete(struct record_set *set, struct view key, const struct record_event *event);
/* The list that store_begin_replace() began is whole: removes what it did not contain. */
void record_set_sweep(struct record_set *set, const struct record_event *event);
/* Removes and frees a record of the set. */
void record_set_remove(struct record_set *set, struct record *record, const struct record_event *event);
/* "namespace/name", borrowed from buffer; empty when that is longer than a key may be. */
struct view record_set_key(struct view namespace, struct view name, char buffer[static RECORD_KEY_SIZE]);
/* The record with that key, or NULL. */
struct record *record_set_find(const struct record_set *set, struct view key);
/* Walks all: the first for NULL; NULL at the end. In no stated order. */
struct record *record_set_next(const struct record_set *set, const struct record *record);
