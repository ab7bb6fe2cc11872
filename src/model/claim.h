/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * claim - "the report of this node names the device of that UUID". By it an object finds the nodes
 * that want a join when it changes. And two nodes that report the same device find each other.
 *
 * Threads: the loop thread.
 * Limits:  none of its own: each node claims what its report lists, LIMIT_REPORT_DEVICES at most.
 */

#include "model/node_state.h"

#define CLAIM_NAME_SIZE 253u

struct claim_book {
	struct table by_name; /* by the object's name */
};

/* No claims yet; allocates nothing. claim_book_deinit() at the end. */
void claim_book_init(struct claim_book *book);
/* All claims must have been dropped. */
void claim_book_deinit(struct claim_book *book);

/* The object's name of a device: its UUID in lower case, borrowed from buffer. */
struct view claim_object_name(struct view uuid, char buffer[static CLAIM_NAME_SIZE]);
/* Notes all that the report says of its devices. Fails with ERROR_NO_MEMORY, perhaps half done. */
MUST_USE int claim_add(struct claim_book *book, struct node_state *node_state,
		       const struct report *report, uint64_t now_ms, struct error *err);
/* Drops what the report (may be NULL) claims and `keep` (may be NULL) does not. */
void claim_drop(struct claim_book *book, const struct node_state *node_state,
		const struct report *report, const struct report *keep);
/* The i-th node state whose report names the device of the object, or NULL. */
struct node_state *claim_node_state(const struct claim_book *book, struct view object_name, unsigned i);
/* What the reports of node states say of a device; -1: none names it. */
struct claim_ages {
	int64_t youngest_ms; /* age of the youngest that names it */
	int64_t held_ms;     /* for how long one node state has named it in each report: the longest */
};
/* Those of the node states other than `except` (may be NULL) that name the device of the object. */
struct claim_ages claim_ages(const struct claim_book *book, struct view object_name,
			     const struct node_state *except, uint64_t now_ms);
