/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * failing - which devices fail, worst first, and whose health is not known. Unhealthy comes before
 * Degraded, and that before Unknown with a reason, such as DeviceMissing. Within a state the device
 * that has failed for longest comes first.
 *
 * A device whose node's agent is silent fails if it did when it was last heard of. A state that this
 * version has no word for is not known.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "model/attribution.h"

struct failing_row {
	const struct attribution *device;
	const struct attribution_health_event *event; /* newest of the worst reason; NULL: none */
	int64_t since;      /* 0: not known */
	bool is_last_known; /* no agent reports it now */
	size_t order;       /* its place among the devices */
};

struct failing {
	struct failing_row *rows; /* worst first */
	size_t n_rows;
	const struct attribution **unknown; /* neither here nor known to be healthy; in their order */
	size_t n_unknown;
	const struct attribution **silent; /* of the rows, those last known; in their order */
	size_t n_silent;
};

/*
 * Finds those among the devices, which are borrowed. What it finds lies in arena. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int failing_find(const struct attribution *const *devices, size_t n_devices,
			  struct arena *arena, struct failing *ret, struct error *err);
