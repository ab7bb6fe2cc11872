/* SPDX-License-Identifier: Apache-2.0 */

/* Tenants that are left out of the list are on the device, and may be on any partition. */

#include "kubectl/shared_with.h"

static bool holds(struct array partitions, struct view uuid)
{
	for (uint32_t i = 0; i < partitions.count; i++) {
		if (view_equal(*ARRAY_AT(partitions, struct view, i), uuid))
			return true;
	}
	return false;
}

/* A tenant without partitions is on the device as a whole, and so on each of them. */
static bool share_hardware(struct array left, struct array right)
{
	if (left.count == 0 || right.count == 0)
		return true;
	for (uint32_t i = 0; i < left.count; i++) {
		if (holds(right, *ARRAY_AT(left, struct view, i)))
			return true;
	}
	return false;
}

bool shared_with_is(const struct attribution_tenant *tenant, const struct attribution_tenant *other)
{
	return other != tenant && attribution_is_counted(other) &&
	       share_hardware(tenant->partitions, other->partitions);
}

int64_t shared_with_count(const struct attribution_status *status,
			  const struct attribution_tenant *tenant)
{
	int64_t n = status->tenants_left_out;
	if (status->tenant_count < 0 || (n > 0 && tenant->partitions.count > 0))
		return -1;
	for (uint32_t i = 0; i < status->tenants.count; i++)
		n += shared_with_is(tenant,
				    ARRAY_AT(status->tenants, struct attribution_tenant, i));
	return n;
}
