/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drifting - which differences there are between what is intended and what is there, worst first, and
 * of which devices that is not known. What is found once a node is one row, with all devices of the
 * node that have it. Critical comes before Warning, and that before Info; what is still pending comes
 * last. Within these what is found once a node comes first, then what has lasted longest.
 *
 * What was found on a device whose node's agent is silent is listed as it was last known.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "model/attribution.h"

struct drifting_row {
	const struct attribution **devices; /* that have it, in their order; at least one */
	size_t n_devices;
	const struct attribution_drift *drift; /* of the first of them; of one that is pending it has */
					       /* type and startTime only */
	bool is_of_node;    /* found once a node */
	bool is_pending;    /* its hold-off is not over */
	bool is_last_known; /* no agent reports the first of them now */
	size_t order;       /* in which it was found */
};

struct drifting {
	struct drifting_row *rows; /* worst first */
	size_t n_rows;
	size_t n_drifts; /* of the rows, those that are not pending: they come first */
	const struct attribution **drifted; /* devices with any drift, in their order */
	size_t n_drifted;
	const struct attribution **unknown; /* with none, whose agent is silent or whose state is Unknown */
	size_t n_unknown;
	const struct attribution **settling; /* likewise, and a change is under way */
	size_t n_settling;
	const struct attribution **silent; /* of the drifted, those last known */
	size_t n_silent;
};

/*
 * Finds them among the devices, which are borrowed and in the order of their nodes. What it finds lies
 * in arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int drifting_find(const struct attribution *const *devices, size_t n_devices,
			   struct arena *arena, struct drifting *ret, struct error *err);
