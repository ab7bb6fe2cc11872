/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * shared_with - which tenants share hardware with a tenant: those on the same device. On a device with
 * MIG partitions only those on the same partition do.
 *
 * Threads: any.
 */

#include "model/attribution.h"

/*
 * Does `other` share hardware with `tenant`, both of the same status? False for the tenant itself
 * and for system tenants, which do not count.
 */
bool shared_with_is(const struct attribution_tenant *tenant, const struct attribution_tenant *other);
/* How many tenants share with this one, or -1 if that is not known. */
int64_t shared_with_count(const struct attribution_status *status,
			  const struct attribution_tenant *tenant);
