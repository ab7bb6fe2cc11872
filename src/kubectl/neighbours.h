/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * neighbours - who else sits where a tenant sits: on the same device, or, where the device is cut
 * into partitions, on the same partition, for those are isolated from each other by hardware.
 *
 * Threads: any.
 */

#include "model/attribution.h"

/*
 * Is `other` a neighbour of `tenant`, both of the same status? Nobody is their own neighbour, and
 * system tenants are nobody's: they do not count.
 */
bool neighbours_are(const struct attribution_tenant *tenant, const struct attribution_tenant *other);
/* How many there are, or -1 when that is not known. */
int64_t neighbours_count(const struct attribution_status *status,
			 const struct attribution_tenant *tenant);
