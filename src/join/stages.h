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
	struct drift_node intent; /* what is intended of it, and what is there */
	struct arena *arena;
	bool is_fresh;  /* the last report is recent */
};

struct stages_result {
	struct attribution_status status;
	uint32_t claims_refused; /* processes that were said to be of pods of other nodes */
	int64_t again_in_ms;     /* time alone changes the status then; -1: it does not */
	unsigned hides, tells;   /* drifts of the node (assess/drift.h) */
};

/*
 * Makes the status of the device at that index of the devices, which this node speaks for.
 * is_duplicate: another node reports it too. The result lies in the arena or is borrowed from what
 * is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int stages_run(const struct stages_node *node, size_t device, bool is_duplicate,
			struct stages_result *ret, struct error *err);
