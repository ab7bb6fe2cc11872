/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * idle - which devices, and which MIG partitions of devices that are not idle as a whole, are held
 * and idle. The one that is idle for longest comes first. Of a node whose agent is silent nothing is
 * known to be idle.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "model/attribution.h"

struct idle_row {
	const struct attribution *device;
	const struct attribution_partition *partition; /* NULL: the device as a whole */
	int64_t since;          /* 0: not known */
	size_t order;           /* its place before they were sorted */
	bool is_first_of_device; /* among the rows of its device */
};

struct idle {
	struct idle_row *rows; /* idle for longest first */
	size_t n_rows;
	const struct attribution **unknown; /* may be held, and may be idle, all or in part */
	size_t n_unknown;
	bool is_any_measured; /* of one that may be held it is known whether it is idle, or of a part */
};

/*
 * Finds those among the devices, which are borrowed; with is_all also those that nobody holds. What it
 * finds lies in arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int idle_find(const struct attribution *const *devices, size_t n_devices, bool is_all,
		       struct arena *arena, struct idle *ret, struct error *err);
