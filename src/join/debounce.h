/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * doubt - what is seen of a node and does not count yet. The kubelet, NVML and the API server are
 * not read at one instant, so what they say of each other is believed only when it has been seen
 * for a while, whatever else happens on the node meanwhile.
 *
 * A fact is known by a key. The join is given how long each has been seen, and says which of them
 * the next join must know; what is no longer seen is forgotten. What was published needs no key:
 * it stands in the status.
 *
 * Threads: any.
 * Limits:  DEBOUNCE_MAX facts, DEBOUNCE_MAX_USERS of them users, and of these as many of each device.
 *          A further user waits until there is room: anybody may start processes, and none counts
 *          that was not seen for its time, nor do those of one device hide those of another. Any
 *          other further fact counts at once: for these half of the book is kept, so that only what
 *          the node's own books say, and its pods that use claims, can fill it; and there is no
 *          number that would tell that more wait, so that what found no room would be denied for
 *          good. Two facts with one key, which takes luck or malice, are as old as the older.
 */

#include "join/input.h"

#define DEBOUNCE_MAX 512u
#define DEBOUNCE_MAX_USERS (DEBOUNCE_MAX / 2)

enum debounce_kind {
	DEBOUNCE_DISAGREEMENT,
	DEBOUNCE_UNPLACED,
	DEBOUNCE_USER,
	DEBOUNCE_UNKNOWN, /* users whose names nobody could tell */
	DEBOUNCE_OVERLAP,
	DEBOUNCE_CLAIM,
};

struct debounce_subject {
	enum debounce_kind kind;
	struct view device; /* empty: it is about no single one */
	struct view pod_uid;
	struct view subject; /* the container or process */
	int64_t waits_ms;    /* it counts when it has been seen for this long */
	bool is_to_be_heard; /* and when, that long after it was first seen, the node was heard of */
	bool is_unread;      /* and not before the node's List was read again, as a heartbeat tells */
	bool is_published;
};

struct debounce; /* opaque */

/*
 * Makes the book of one join in which there are n_facts at most; a further one finds no room. It
 * lies in arena and borrows input. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int debounce_open(const struct join_input *input, size_t n_facts, struct arena *arena,
			struct debounce **ret_book, struct error *err);
/*
 * Says that the fact is seen. True when it counts. A node that is silent starts nothing new. What
 * the last join has said keeps its room.
 */
bool debounce_counts(struct debounce *book, const struct debounce_subject *fact);
/*
 * How many are left out of a list for which that many were too many, n_waiting wait, and so many
 * were left out before: who was left out is not known by name, and may be one of those that wait.
 */
int64_t debounce_left_out(int64_t n_left_out, int64_t n_waiting, int64_t before);
/* What the book says at the end; it lies in the book's arena. */
struct debounce_result {
	const struct recall_debounced *seen; /* that the next join must know, what is waited for included */
	size_t n_seen;
	bool is_hearing_awaited; /* a heartbeat of the node may change the result */
	int64_t again_in_ms;     /* time alone may change it then; -1: it does not */
};
struct debounce_result debounce_close(const struct debounce *book);
