/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_reports - the last accepted report of each node. A place keeps it (model/place.h). A report that
 * comes, goes or is heard of again touches each node whose result it may alter.
 *
 * Threads: the loop thread.
 */

#include "model/attribution_set.h"
#include "model/claim.h"
#include "model/place.h"

struct node_reports {
	struct place_book *places;
	struct claim_book *claims; /* on devices that reports name */
	const struct attribution_set *attributions;
};

/*
 * Keeps the report in place of its node's last one; release(owner) frees it. Touches the node, and each
 * node that has an object of a device which the report begins or ceases to name, and each that claims
 * a device of this node. Fails with ERROR_NO_MEMORY; all is then as before.
 */
MUST_USE int node_reports_put(const struct node_reports *reports, const struct report *report,
			      place_release_fn release, void *owner, uint64_t now_ms,
			      struct error *err);
/* As inventory_place_refresh_report(), of the place; NULL: there is none. */
bool node_reports_refresh(const struct node_reports *reports, struct place *place,
			  int64_t listed_at, uint64_t stale_ms, uint64_t now_ms);
/*
 * Releases the report of the place, all that it claimed, and what its reports told of resets and links. It
 * may go. Touches nobody.
 */
void node_reports_forget(const struct node_reports *reports, struct place *place);
/* The same of all places. */
void node_reports_forget_all(const struct node_reports *reports);
