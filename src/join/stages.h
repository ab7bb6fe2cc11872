/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stages - the status of one device, stage by stage (join/subject.h).
 *
 * Before the first report since the start every source of the node is silent. What only a report can
 * tell is then as published. Tenancies end and begin by what the API server says. While what is known
 * of pods is old, holders and slots are as published.
 *
 * Threads: any; pure.
 */

#include "join/slots.h"
#include "join/subject.h"

/* What is known of the node. */
struct stages_node {
	struct facts facts;
	struct slots slots;
	struct debounce *debounce;
	struct unplaced *unplaced;
	struct drift_node intent; /* what is intended of it, and what is there */
	struct arena *arena;
};

/*
 * Makes the status of the device at that index of the devices, which this node speaks for.
 * is_duplicate: another node reports it too. *ret is what was found on the way. The result lies in the
 * arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY; *ret_status is not to be read then.
 */
MUST_USE int stages_run(const struct stages_node *node, size_t device, bool is_duplicate,
			struct attribution_status *ret_status, struct subject *ret, struct error *err);
