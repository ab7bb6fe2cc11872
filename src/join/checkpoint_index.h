/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * checkpoint_index - which container has which device ID by the checkpoint, and what the API server says
 * of their pods. It explains the List, whose reader marks in it what the List has too; the marks then
 * explain the checkpoint.
 *
 * Threads: any; pure.
 */

#include "join/facts.h"

/* What the API server says of the pod of a checkpoint entry, as bits. */
enum checkpoint_standing {
	CHECKPOINT_LIVE = 1u << 0,    /* it is on this node, and not over */
	CHECKPOINT_ENDED = 1u << 1,   /* it is over, or has been deleted */
	CHECKPOINT_REFUSED = 1u << 2, /* it is on another node */
	CHECKPOINT_UNKNOWN = 1u << 3,
};

/* A device ID in a container of a name. */
struct checkpoint_place {
	unsigned standings; /* of the pods that have it */
	bool is_listed;     /* the List has it too, of an unknown pod; the List's reader sets it */
};

struct checkpoint_index {
	struct keyed places;    /* by ID, container, and UID of a live pod; without one whosever */
	struct keyed published; /* pods that were, by UID; empty: each pod of the checkpoint is known */
};

/*
 * Indexes the checkpoint of the input's report, by which the List is explained. The result lies in
 * the draft's arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int checkpoint_index_make(const struct facts_draft *draft, struct checkpoint_index *ret, struct error *err);
/*
 * What the API server says of the pod of that UID, as the checkpoint has it; pod: it on this node, or
 * NULL. After a restart of the controller what was published tells who was known once.
 */
enum checkpoint_standing checkpoint_index_judge(const struct checkpoint_index *checkpoint,
						const struct facts *facts, struct view uid,
						const struct pod *pod);
/* The place of the ID (of a live pod empty: of any) in a container of that name; NULL: none has it. */
struct checkpoint_place *checkpoint_index_find(const struct checkpoint_index *checkpoint,
					       struct view id, struct view container,
					       const struct pod *pod);
