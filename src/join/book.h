/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * book - the kubelet's checkpoint, entry by entry: which pod each UID is, and what the API server
 * says of it.
 *
 * Threads: any.
 */

#include "join/node_pods.h"
#include "join/past.h"

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
	bool is_supported; /* the List speaks of it; as of the last book_settle() */
};

struct book_place; /* opaque: a device ID in a container of a name */
struct book_tie;   /* opaque: such a place in the hands of a pod that is live */
struct book_held;  /* opaque: a container of a pod that is live */

struct book {
	struct book_entry *entries;
	uint32_t n_entries;
	size_t n_ids; /* of all entries */
	struct lookup places, ties, helds;
	struct book_place *place_items;
	struct book_tie *tie_items;
	struct book_held *held_items;
	uint32_t *
		refs; /* of every ID of every entry: its tie, or its place if the pod is not live */
};

/*
 * Reads the checkpoint of the input's report. The result lies in arena and borrows from what is
 * given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int book_read(const struct node_pods *node_pods, const struct past *past, struct arena *arena,
		       struct book *ret_book, struct error *err);
/* The standings (1 << enum book_standing) of the entries that have that ID in a container of that
 * name. */
unsigned book_standings(const struct book *book, struct view id, struct view container);
/* True when an entry of that live pod has that ID in a container of that name. */
bool book_names(const struct book *book, struct view id, struct view container,
		const struct pod *pod);
/* The List has that ID in a container of that name: it speaks of the entries of that pod (NULL: of
 * those that no pod is known of). It is said of the entries by book_settle(). */
void book_support(struct book *book, struct view id, struct view container, const struct pod *pod);
/* Brings is_supported and book_has() up to what book_support() was told; may be repeated. */
void book_settle(struct book *book);
/* True when an entry, or one that is supported, is about that container of that live pod. */
bool book_has(const struct book *book, const struct pod *pod, struct view container,
	      bool supported);
