/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unplaced - holders of device IDs that are no known device's.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_UNPLACED_TENANTS of LIMIT_UNPLACED_IDS each are listed, and the rest counted.
 */

#include "join/subject.h"

/* IDs of no known form that are held of a device. */
struct unplaced {
	struct view odd_id; /* the lowest; or empty */
	size_t n_odd;       /* how often one is held */
};
/*
 * Lists the unplaced tenants in the status, and finds the IDs of no known form. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int unplaced_find(const struct subject *subject, struct attribution_status *status,
			   struct unplaced *ret_unplaced, struct error *err);
