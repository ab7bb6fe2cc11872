/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_checkpoint - the facts that the kubelet's checkpoint states, and which of its pods have a
 * device ID in a container of a name, by which the List is explained.
 *
 * Threads: any.
 */

#include "base/lookup.h"
#include "join/facts.h"

/* What the API server says of an entry's pod, as bits. */
enum checkpoint_standing {
	CHECKPOINT_LIVE = 1u << 0,    /* it is on this node, and not over */
	CHECKPOINT_ENDED = 1u << 1,   /* it is over, or has been deleted */
	CHECKPOINT_REFUSED = 1u << 2, /* it is on another node */
	CHECKPOINT_UNKNOWN = 1u << 3,
};

/* A device ID in a container of a name. */
struct checkpoint_place {
	struct view id, container;
	const struct pod *pod; /* live; NULL: whosever */
	unsigned standings;    /* of the pods that have it */
	bool is_listed;        /* the List has it too, of an unknown pod; the List's reader sets it */
};

struct checkpoint_index {
	struct lookup lookup;
	struct checkpoint_place *places;
};

/*
 * Reads the checkpoint of the input's report, if there is one. The result lies in the draft's arena.
 * Fails with ERROR_NO_MEMORY.
 */
MUST_USE int from_checkpoint_index(const struct facts_draft *draft, struct checkpoint_index *ret,
				   struct error *err);
/* The place of the ID (of a live pod empty: of any) in a container of that name; NULL: none has it. */
struct checkpoint_place *from_checkpoint_find(const struct checkpoint_index *checkpoint,
					      struct view id, struct view container,
					      const struct pod *pod);
/*
 * Adds who has which ID by the checkpoint, and sets `ended` and `claims_refused` of the facts. The
 * List must have been read: it has marked the entries of unknown pods. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int from_checkpoint_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint,
				  struct error *err);
