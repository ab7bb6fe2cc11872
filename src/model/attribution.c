/* SPDX-License-Identifier: Apache-2.0 */
#include "model/attribution.h"

#include <stddef.h>

const struct condition *attribution_find_condition(const struct attribution_status *status,
						   struct view type)
{
	for (uint32_t i = 0; i < status->conditions.count; i++) {
		const struct condition *c = ARRAY_AT(status->conditions, struct condition, i);

		if (view_equal(c->type, type))
			return c;
	}
	return NULL;
}

const struct attribution_tenant *attribution_find_tenant(const struct attribution_status *status,
							 struct view pod_uid, struct view container)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);

		if (view_equal(t->pod_uid, pod_uid) && view_equal(t->container, container))
			return t;
	}
	return NULL;
}

bool attribution_is_unplaced(const struct attribution_status *status, struct view pod_uid,
			     struct view container)
{
	for (uint32_t i = 0; i < status->unplaced_tenants.count; i++) {
		const struct attribution_unplaced *u = ARRAY_AT(status->unplaced_tenants,
								struct attribution_unplaced, i);

		if (view_equal(u->pod_uid, pod_uid) && view_equal(u->container, container))
			return true;
	}
	return false;
}

bool attribution_is_counted(const struct attribution_tenant *tenant)
{
	return tenant->role == ATTRIBUTION_ROLE_WORKLOAD || tenant->role == ATTRIBUTION_ROLE_UNSET;
}
