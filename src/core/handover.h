/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * handover - when a name in the List meant somebody else for the last time. A pod is given the
 * devices of all its containers before it starts, and has them until it ends: if an earlier List
 * gave other devices to a pod of that name, the pod that is meant now started after that List was
 * read, unless it was just being given them then.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "core/report.h"

/* A report, with what is known of its List. */
struct handover_list {
	const struct report *report;
	int64_t listed_at;          /* when its List was last read, by the node's clock */
	const int64_t *differed_at; /* of each of its entries, as found below; NULL: unknown */
};

/*
 * Finds for each entry of now's List when a List was last read that gave the pod of that name other
 * devices, or gave them to other containers; 0: none is known. What a List does not name is
 * forgotten, and so is everything when the node's clock goes back. The array has one element an
 * entry and is the caller's to free; NULL: nothing is known of any. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int handover_find(const struct handover_list *before, const struct report *now,
			   int64_t **ret_differed_at, struct error *err);
