/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * object_history - what a small API server has of one resource, and has had: a few objects, each change
 * with its version, and a compaction behind which changes are forgotten. It may be restored to an older
 * state, as etcd from a backup. Then versions are given anew.
 *
 * Threads: owner.
 * Limits:  OBJECT_HISTORY_NAMES objects, OBJECT_HISTORY_CHANGES changes; further changes are not made.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_HISTORY_NAMES 6u
#define OBJECT_HISTORY_CHANGES 1024u
#define OBJECT_HISTORY_FIRST 10u /* the version of an empty one */

/* One object at one version. Serials are never given twice, by a restored server neither. */
struct object_state {
	unsigned serial; /* of its contents; 0: it does not exist */
	unsigned born;   /* the serial that it was created with: its UID */
	uint64_t version;
};

enum object_history_type {
	OBJECT_HISTORY_ADDED,
	OBJECT_HISTORY_MODIFIED,
	OBJECT_HISTORY_DELETED,
};

/* As a watch tells it: that of a deletion has the object's last contents and the deletion's version. */
struct object_history_change {
	enum object_history_type type;
	unsigned name; /* below OBJECT_HISTORY_NAMES */
	bool is_lost;  /* by a restoration */
	struct object_state state;
};

/* Others read; `ceiling` may be set. */
struct object_history {
	uint64_t version;   /* the newest */
	uint64_t compacted; /* no watch begins before it */
	uint64_t ceiling;   /* changes that would reach this version are not made; 0: all are */
	unsigned n_serials;
	size_t n_changes;
	struct object_state objects[OBJECT_HISTORY_NAMES]; /* now */
	struct object_history_change changes[OBJECT_HISTORY_CHANGES];
};

/* No objects. */
void object_history_init(struct object_history *history);
/* The object is created, or changed if it is there. */
void object_history_put(struct object_history *history, unsigned name);
/* The object is deleted if it is there. */
void object_history_delete(struct object_history *history, unsigned name);
/* Something else is written n times: the version rises. */
void object_history_pass(struct object_history *history, unsigned n);
/* Changes up to this version are forgotten; it is not above the newest. */
void object_history_compact(struct object_history *history, uint64_t version);
/* All is as it was at this version, which is not compacted. What came later never was. */
void object_history_restore(struct object_history *history, uint64_t version);
/* All objects as they were at this version, by name. */
void object_history_at(const struct object_history *history, uint64_t version,
		       struct object_state ret[OBJECT_HISTORY_NAMES]);
/* The first change after this version, or NULL; borrowed until the next restoration. */
const struct object_history_change *object_history_after(const struct object_history *history,
							 uint64_t version);
