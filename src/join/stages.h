/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stages - the status of one device, stage by stage: its tenants, its sharing, who else holds or uses
 * it, its health and layout, its slots and its conditions. A stage reads only what stages above it
 * made.
 *
 * There is one program. Before the first report since the start every source of the node is silent:
 * what only a report can tell is as published, while tenancies may end, and others begin, by what the
 * API server says. While what is known of pods is old the holders are as published, and so are slots.
 *
 * Threads: any; pure.
 */

#include "join/slots.h"

/* What is known of the node. */
struct stages_node {
	const struct facts *facts;
	const struct slots *slots;
	struct debounce *debounce;
	struct arena *arena;
	bool is_fresh;  /* the last report is recent */
	bool is_unread; /* claims that a pod uses cannot be read */
};

struct stages_result {
	struct attribution_status status;
	uint32_t claims_refused; /* processes that were said to be of pods of other nodes */
	int64_t again_in_ms;     /* time alone changes the status then; -1: it does not */
};

/*
 * Makes the status of the device at that index of the devices, which this node speaks for.
 * is_duplicate: another node reports it too. The result lies in the arena or is borrowed from what
 * is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int stages_run(const struct stages_node *node, size_t device, bool is_duplicate,
			struct stages_result *ret, struct error *err);
