/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * debounce - what is seen and does not count yet. Sources are not read at one instant. So a contradiction
 * between them counts when it was seen for a while.
 *
 * A subject is known by a key. A round of looking is given how long each has been seen. It says which of
 * them the next round must know, and forgets the others. What is published needs no key.
 *
 * Threads: any.
 * Limits:  DEBOUNCE_MAX subjects. A further one does not count, and is counted as left out, until
 *          there is room. What the last round has said keeps its room. Two subjects with one key,
 *          which takes luck or malice, are as old as the older.
 */

#include "base/arena.h"

#define DEBOUNCE_MAX 512u

/* What was seen in a round. */
struct debounce_seen {
	uint64_t key;
	int64_t age_ms; /* since it was first seen, without a break, by the monotonic clock */
};

struct debounce_subject {
	unsigned char kind; /* of the caller's; kind and texts together are what the subject is */
	struct view device, pod_uid, subject;
	int64_t waits_ms;   /* it counts when it has been seen for this long */
	bool needs_report;  /* and when the node has also reported since then */
	bool is_unread;     /* and not before the node's List was read again, as a heartbeat tells */
	bool is_published;  /* so it counts */
	bool keeps_age;     /* that may end for another reason: it is as old then as if it had waited */
};

struct debounce; /* opaque */

/* What a round is given. */
struct debounce_round {
	const struct debounce_seen *before; /* as the last one said, and how old it is by now; borrowed */
	size_t n_before;
	size_t n_subjects;     /* are seen at most; a further one finds no room */
	bool is_silent;        /* nothing is heard of the node: nothing new starts */
	int64_t report_age_ms; /* since the node last reported */
};

/* Makes the debounce of one round, which lies in arena. Fails with ERROR_NO_MEMORY. */
MUST_USE int debounce_open(const struct debounce_round *round, struct arena *arena,
			   struct debounce **ret_debounce, struct error *err);
enum debounce_answer {
	DEBOUNCE_WAITS,
	DEBOUNCE_NO_ROOM, /* it is left out */
	DEBOUNCE_COUNTS,
};
/* Says that the subject is seen, and whether it counts. A node that is silent starts nothing new. */
enum debounce_answer debounce_ask(struct debounce *debounce, const struct debounce_subject *subject);
/* The same, to those who ask only that. */
bool debounce_counts(struct debounce *debounce, const struct debounce_subject *subject);
/* So many that had no room are seen again. */
void debounce_leave_out(struct debounce *debounce, uint32_t n);
/* All is seen once more in the same round: what found no room is counted anew. */
void debounce_begin_anew(struct debounce *debounce);
/*
 * How many are left out of a list. n_left_out found no room, n_waiting do not count yet, and `before`
 * were left out of the published list. Those have no names, and may be among the ones that wait.
 */
int64_t debounce_left_out(int64_t n_left_out, int64_t n_waiting, int64_t before);
/* What the next round must know, at the end of this one; it lies in the arena. */
struct debounce_result {
	struct debounce_seen *seen; /* in the order in which they were seen */
	size_t n_seen;
	uint32_t n_left_out;     /* found no room, as often as they were seen */
	bool is_hearing_awaited; /* a heartbeat of the node may change the result */
	int64_t again_in_ms;     /* time alone may change it then; -1: it does not */
};
/* What was seen since the round began. */
struct debounce_result debounce_close(const struct debounce *debounce);
