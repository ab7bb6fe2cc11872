/* SPDX-License-Identifier: Apache-2.0 */
#include "model/attribution.h"

#include <stddef.h>

const struct condition *attribution_find_condition(const struct attribution_status *status, struct view type)
{
	ARRAY_EACH(const struct condition, c, status->conditions)
		if (view_equal(c->type, type))
			return c;
	return NULL;
}

/* Of elements of that size, which begin with the UID of a pod and a container. */
static const void *find_holder(struct array elements, size_t size, struct view pod_uid, struct view container)
{
	for (uint32_t i = 0; i < elements.count; i++) {
		const struct view *key = (const void *)((const char *)elements.items + i * size);
		if (view_equal(key[0], pod_uid) && view_equal(key[1], container))
			return key;
	}
	return NULL;
}

const struct attribution_tenant *attribution_find_tenant(const struct attribution_status *status,
							 struct view pod_uid, struct view container)
{
	return find_holder(status->tenants, sizeof(struct attribution_tenant), pod_uid, container);
}

const struct attribution_disagreement *
attribution_find_disagreement(const struct attribution_status *status, struct view pod_uid, struct view container)
{
	return find_holder(status->source_disagreements, sizeof(struct attribution_disagreement), pod_uid, container);
}

bool attribution_is_unplaced(const struct attribution_status *status, struct view pod_uid, struct view container)
{
	return find_holder(status->unplaced_tenants, sizeof(struct attribution_unplaced), pod_uid, container);
}

bool attribution_is_counted(const struct attribution_tenant *tenant)
{
	return tenant->role == ATTRIBUTION_ROLE_WORKLOAD || tenant->role == ATTRIBUTION_ROLE_UNSET;
}

bool attribution_is_unknown(const struct attribution_tenant *tenant)
{
	return tenant->phase == ATTRIBUTION_PHASE_PENDING || tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED;
}

bool attribution_is_partitioned(int mode)
{
	return mode == ATTRIBUTION_MODE_MIG || mode == ATTRIBUTION_MODE_MIG_TIME_SLICED;
}
