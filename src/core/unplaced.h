/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unplaced - holders on the node of device IDs that are no known device's: of an unknown form, or
 * of a device or MIG instance that nobody has told of. Each device of the node says so, for any of
 * them may be the one.
 *
 * The kubelet and NVML are not read at one instant, so such a holder counts only when it has been
 * seen for disagreement_ms (core/doubt.h); one that was published stays as long as it is there.
 *
 * Threads: any.
 * Limits:  LIMIT_UNPLACED_TENANTS holders, LIMIT_UNPLACED_IDS IDs each; the rest is counted.
 */

#include "core/doubt.h"
#include "core/holding.h"

struct unplaced {
	struct array listed; /* struct attribution_unplaced, by pod UID, container */
	int64_t left_out;
};

/*
 * Lists them; published is what a device of the node says of it, NULL for none. The result lies in
 * arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int unplaced_list(const struct holdings *holdings,
			   const struct attribution_status *published,
			   struct doubt_book *doubts, struct arena *arena,
			   struct unplaced *ret_unplaced, struct error *err);
