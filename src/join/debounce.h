/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * debounce - what is seen of a node and does not count yet. The kubelet, NVML and the API server are
 * not read at one instant. So a contradiction between them counts when it was seen for a while.
 *
 * A subject is known by a key. The join is given how long each has been seen. It says which of them the
 * next join must know, and forgets the others. What was published needs no key: it stands in the
 * status.
 *
 * Threads: any.
 * Limits:  DEBOUNCE_MAX subjects. A further one does not count, and is counted as left out, until
 *          there is room. What the last join has said keeps its room. Two subjects with one key,
 *          which takes luck or malice, are as old as the older.
 */

#include "join/input.h"

#define DEBOUNCE_MAX 512u

enum debounce_kind {
	DEBOUNCE_DISAGREEMENT,
	DEBOUNCE_UNPLACED,
	DEBOUNCE_USER,
	DEBOUNCE_UNKNOWN, /* users whose names nobody could tell */
	DEBOUNCE_OVERLAP,
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
 * Makes the debounce of one join in which n_subjects are seen at most; a further one finds no room.
 * It lies in arena and borrows input. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int debounce_open(const struct join_input *input, size_t n_subjects, struct arena *arena,
			   struct debounce **ret_debounce, struct error *err);
/* Says that the subject is seen. True when it counts. A node that is silent starts nothing new. */
bool debounce_counts(struct debounce *debounce, const struct debounce_subject *subject);
/* All is seen once more in the same join: what found no room is counted anew. */
void debounce_begin_anew(struct debounce *debounce);
/*
 * How many are left out of a list. n_left_out found no room, n_waiting do not count yet, and `before`
 * were left out of the published list. Those have no names, and may be among the ones that wait.
 */
int64_t debounce_left_out(int64_t n_left_out, int64_t n_waiting, int64_t before);
/* What the next join must know, at the end of this one; it lies in the arena. */
struct debounce_result {
	struct recall_debounced *seen; /* in the order in which they were seen */
	size_t n_seen;
	uint32_t n_left_out;     /* found no room, as often as they were seen */
	bool is_hearing_awaited; /* a heartbeat of the node may change the result */
	int64_t again_in_ms;     /* time alone may change it then; -1: it does not */
};
/* What was seen since the join began. */
struct debounce_result debounce_close(const struct debounce *debounce);
