/* SPDX-License-Identifier: Apache-2.0 */
#include "core/by_name.h"

static bool has_text(struct array texts, struct view text)
{
	for (uint32_t i = 0; i < texts.count; i++) {
		if (view_equal(*ARRAY_AT(texts, struct view, i), text))
			return true;
	}
	return false;
}

bool by_name_is(const struct join_device *device, const struct attribution_tenant *tenant)
{
	bool is_listed = has_text(tenant->witnesses, VIEW("PodResources")) &&
			 (device->is_by_names || !has_text(tenant->witnesses, VIEW("Checkpoint")));
	/* HAMi's annotation counts while the container holds an ID of HAMi's, as the List may tell. */
	bool is_hami = has_text(tenant->witnesses, VIEW("HAMi")) && device->is_by_names;
	return is_listed || is_hami;
}

static bool has_the_same(const struct attribution_tenant *before,
			 const struct attribution_tenant *tenant)
{
	if (before->slots != tenant->slots || before->partitions.count != tenant->partitions.count)
		return false;
	for (uint32_t i = 0; i < tenant->partitions.count; i++) {
		if (!has_text(before->partitions, *ARRAY_AT(tenant->partitions, struct view, i)))
			return false;
	}
	return true;
}

static bool is_news(const struct join_device *device, const struct attribution_tenant *tenant)
{
	const struct attribution_tenant *before =
		device->previous ? attribution_find_tenant(&device->previous->status,
							   tenant->pod_uid, tenant->container)
				 : NULL;
	return by_name_is(device, tenant) && !(before && has_the_same(before, tenant));
}

static void take_holders(struct attribution_status *status,
			 const struct attribution_status *published)
{
	status->tenants = published->tenants;
	status->tenant_count = published->tenant_count;
	status->tenants_left_out = published->tenants_left_out;
	status->tenant_summary = published->tenant_summary;
	status->recent_tenants = published->recent_tenants;
	status->source_disagreement = published->source_disagreement;
	status->source_disagreement_left_out = published->source_disagreement_left_out;
	status->unplaced_tenants = published->unplaced_tenants;
	status->unplaced_tenants_left_out = published->unplaced_tenants_left_out;
	status->unallocated_users = published->unallocated_users;
	status->unallocated_users_left_out = published->unallocated_users_left_out;
	status->unknown_processes = published->unknown_processes;
	status->slots = published->slots;
}

void by_name_hold_back(struct join_device *device)
{
	static const struct attribution_status unknown = {
		.tenant_count = -1,
		.slots = {.total = -1, .allocated = -1},
	};
	const struct array tenants = device->status.tenants;
	bool is_published = device->previous && device->previous->status.conditions.count > 0;

	for (uint32_t i = 0; i < tenants.count && device->pods_age != JOIN_PODS_CURRENT; i++) {
		if (!is_news(device, ARRAY_AT(tenants, struct attribution_tenant, i)))
			continue;
		take_holders(&device->status, is_published ? &device->previous->status : &unknown);
		return;
	}
}
