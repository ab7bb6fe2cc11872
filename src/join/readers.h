/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * readers - those that add what one witness says to a draft of facts, each in the file of its witness
 * (join/from_*.c). They know nothing of each other, but for the List and the checkpoint.
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
	struct view id, container;
	const struct pod *pod; /* live; NULL: whosever */
	unsigned standings;    /* of the pods that have it */
	bool is_listed;        /* the List has it too, of an unknown pod; the List's reader sets it */
};

struct checkpoint_index {
	struct lookup lookup;
	struct checkpoint_place *places;
	struct view *published; /* UIDs of pods that were, sorted, each once */
	size_t n_published;     /* 0: each pod of the checkpoint is known, too */
};

/*
 * Indexes the checkpoint of the input's report, by which the List is explained. The result lies in
 * the draft's arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int from_checkpoint_index(const struct facts_draft *draft, struct checkpoint_index *ret,
				   struct error *err);
/* The place of the ID (of a live pod empty: of any) in a container of that name; NULL: none has it. */
struct checkpoint_place *from_checkpoint_find(const struct checkpoint_index *checkpoint,
					      struct view id, struct view container,
					      const struct pod *pod);
/*
 * Adds who has which ID by the List of the input's report. Marks the checkpoint's entries of unknown
 * pods that the List has too. Sets `claims_refused` and `awaits_list` of the facts.
 */
void from_pod_resources_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint);
/*
 * Adds who has which ID by the checkpoint, and sets `ended` and `claims_refused` of the facts. The
 * List must have been read: it has marked the entries of unknown pods. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int from_checkpoint_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint,
				  struct error *err);
/* Reads which devices the kubelet wrote into the status of one pod of the node that is not over. */
void from_pod_status_read(struct facts_draft *draft, const struct pod *pod);
/*
 * Reads what HAMi wrote on such a pod, and replaces the facts about HAMi's IDs. It comes after the
 * witnesses that name IDs.
 */
void from_hami_read(struct facts_draft *draft, const struct pod *pod);
/*
 * Reads what KAI wrote on such a pod: adds the sharers of a reservation, and marks its holders. It
 * comes after the witnesses that name IDs, too.
 */
void from_kai_read(struct facts_draft *draft, const struct pod *pod);
