/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unplaced - holders on the node of device IDs that are no known device's: of an unknown form, or
 * of a device or MIG instance that nobody has told of. Each device of the node says so, for any of
 * them may be the one.
 *
 * Such a holder counts only when it has been seen for disagreement_ms (join/debounce.h). One that was
 * published stays as long as it is there. While the first report is awaited those that are published
 * stay, but for pods that are over.
 *
 * An ID that begins with a device's UUID is that device's, whatever follows; its holder is a tenant.
 * When what follows is of no known form nobody can say what share of the device that is.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_UNPLACED_TENANTS holders, LIMIT_UNPLACED_IDS IDs each; the rest is counted.
 */

#include "join/subject.h"

/* IDs of no known form that are held of the device. */
struct unplaced {
	struct view odd_id; /* the lowest; or empty */
	size_t n_odd;       /* how often one is held */
};

/*
 * Finds them for the status, and the IDs of no known form. The results may borrow from what is given.
 * Fails with ERROR_NO_MEMORY.
 */
MUST_USE int unplaced_find(const struct subject *subject, struct attribution_status *status,
			   struct unplaced *ret_unplaced, struct error *err);
