/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * checkpoint_index - the checkpoint's entries: which pod each UID is, what the API server says of
 * it, and which entries have a device ID in a container of a name.
 *
 * Threads: owner.
 */

#include "join/node_pods.h"
#include "join/previous_index.h"

enum checkpoint_standing {
	CHECKPOINT_LIVE,    /* the API server has the pod on this node, and it is not over */
	CHECKPOINT_ENDED,   /* the API server had it, or has it as over */
	CHECKPOINT_REFUSED, /* the API server has it on another node */
	CHECKPOINT_UNKNOWN,
};

struct checkpoint_index_entry {
	const struct report_checkpoint_entry *said;
	const struct pod *pod; /* NULL: the API server does not have it on this node */
	enum checkpoint_standing standing;
};

struct checkpoint_index_place; /* opaque: a device ID in a container of a name */

struct checkpoint_index {
	struct checkpoint_index_entry *entries;
	uint32_t n_entries;
	struct checkpoint_index_place *places;
	size_t n_places;
};

/*
 * Reads the checkpoint of the input's report. The result lies in arena and borrows from what is
 * given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int checkpoint_index_make(const struct node_pods *node_pods,
				   const struct previous_index *previous, struct arena *arena,
				   struct checkpoint_index *ret_index, struct error *err);
/* The standings (1 << enum checkpoint_standing) of the entries that have that ID in a container of
 * that name. */
unsigned checkpoint_index_standings(const struct checkpoint_index *index, struct view id,
				    struct view container);
/* True when an entry of that live pod has that ID in a container of that name. */
bool checkpoint_index_names(const struct checkpoint_index *index, struct view id,
			    struct view container, const struct pod *pod);
/* Marks what the List has too: that ID in a container of that name, of that live pod, or (pod NULL)
 * of whomever. */
void checkpoint_index_mark(struct checkpoint_index *index, struct view id, struct view container,
			   const struct pod *pod);
/* True when an ID of the entry, which is not live, is marked as whosever. */
bool checkpoint_index_is_marked(const struct checkpoint_index *index,
				const struct checkpoint_index_entry *entry);
/* True when an ID of that container of that live pod is marked as the pod's. */
bool checkpoint_index_agrees(const struct checkpoint_index *index, const struct pod *pod,
			     struct view container);
