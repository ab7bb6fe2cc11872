/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * claimant - whom claims gave a device by what was published: where claims or slices do not tell
 * it now, nothing says that it has ended.
 *
 * A claim names a device as its driver does, and only a slice tells which one that is. Slices go
 * while their driver or the kubelet restarts, and the driver withdraws a device that is ill, while
 * the pods that were given it run on.
 *
 * Threads: any; pure.
 */

#include "core/holding.h"

/* True when it is a claim, by its witnesses, that gave the tenant the device. */
bool claimant_is_one(const struct attribution_tenant *tenant);
/* True when that pod may have more claims than are known: that one is not here means nothing. */
bool claimant_is_unheard(const struct join_input *input, struct view pod_uid);
/*
 * Where a grant is that no slice places: the device on which a claim, by what was published, had
 * its container, with more slots than have been noted. Of a partition, *ret_partition is its UUID,
 * or empty. NULL: on none, also not on one that the slices call by another name. The holdings are
 * still being read, and in no order.
 */
const struct roster_device *claimant_seat(const struct holdings *holdings,
					  const struct join_grant *grant,
					  struct view *ret_partition);
/*
 * The next tenant, from *index of those that were published of the device on, to which an unheard
 * claim gave it, and which no witness names there now; NULL: there is none. Steps *index.
 */
const struct attribution_tenant *claimant_next_kept(const struct holdings *holdings, size_t device,
						    uint32_t *index);
/* True when the device is handed out by claims: slices describe it, or did, or a claim has it. */
bool claimant_is_sliced(const struct holdings *holdings, size_t device);
