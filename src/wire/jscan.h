/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jscan - cuts the stream of a Kubernetes list in JSON into its items while it arrives. Memory
 * holds one item, not the list. It also yields the list's own members.
 *
 * It finds the top-level member "items" and yields each element's bytes. Of the other top-level
 * members it yields the bytes as a member. "items": null is an empty list. It checks nesting and
 * strings only as far as cutting needs, so what it yields must still be decoded. A key is given as
 * it was written, escapes included.
 *
 * Threads: owner.
 * Limits:  an item or member is at most `cap` bytes, a key 256, nesting in a value at most 64.
 */

#include "base/sbuf.h"

enum jscan_step {
	JSCAN_MORE,   /* all input is used up */
	JSCAN_ITEM,   /* *ret_value is one element of "items" */
	JSCAN_MEMBER, /* *ret_key and *ret_value are another top-level member */
	JSCAN_END,    /* the list is complete */
	JSCAN_FAILED, /* malformed (ERROR_REJECTED), ERROR_LIMIT or ERROR_NO_MEMORY; for good */
};

struct jscan {
	struct sbuf held; /* the value begun in earlier input */
	struct sbuf key;  /* of the present member */
	int state;        /* a private enum */
	bool in_string;
	bool escaped;
	bool in_scalar;
	bool listed; /* "items" has been seen */
	bool spent;  /* `held` was yielded and is free for the next value */
	uint32_t depth;
};

/* Ready for a list; allocates nothing. jscan_deinit() at the end. */
void jscan_init(struct jscan *scan, size_t cap);
/* Accepts a zeroed object. */
void jscan_deinit(struct jscan *scan);
/*
 * Continues with *input, which is advanced; call again until JSCAN_MORE. Views are borrowed until
 * the next call, or until the input goes away. Behind JSCAN_END only white space is accepted. A
 * list has broken off when the stream ends before JSCAN_END.
 */
enum jscan_step jscan_next(struct jscan *scan, struct view *input, struct view *ret_key,
			   struct view *ret_value, struct error *err);
