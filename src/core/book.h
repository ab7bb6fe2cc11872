/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * book - the kubelet's checkpoint, entry by entry: which pod each UID is, and what the API server
 * says of it.
 *
 * Threads: any.
 */

#include "core/census.h"
#include "core/roster.h"

enum book_standing {
	BOOK_LIVE,    /* the API server has the pod on this node, and it is not over */
	BOOK_ENDED,   /* the API server had it, or has it as over */
	BOOK_REFUSED, /* the API server has it on another node */
	BOOK_UNKNOWN,
	BOOK_N_STANDINGS,
};

struct book_entry {
	const struct report_checkpoint_entry *said;
	const struct pod *pod; /* NULL: the API server does not have it on this node */
	enum book_standing standing;
	bool is_supported; /* the List speaks of it; set by the reader of the List */
};

struct book_ref {
	struct view id; /* raw device ID */
	uint32_t entry;
};

struct book {
	struct book_entry *entries;
	uint32_t n_entries;
	struct book_ref *refs; /* every ID of every entry, by ID */
	size_t n_refs;
};

/*
 * Reads the checkpoint of the input's report. The result lies in arena and borrows from what is
 * given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int book_read(const struct census *census, const struct roster *roster,
		       struct arena *arena, struct book *ret_book, struct error *err);
/*
 * Walks the entries that have that ID in a container of that name: *at is 0 for the first and then
 * as the last call left it; NULL at the end.
 */
struct book_entry *book_next(const struct book *book, struct view id, struct view container,
			     size_t *at);
/* True when an entry, or one that is supported, is about that container of that pod. */
bool book_has(const struct book *book, const struct pod *pod, struct view container,
	      bool supported);
