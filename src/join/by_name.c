/* SPDX-License-Identifier: Apache-2.0 */
#include "join/by_name.h"

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

static bool is_published_event(const struct join_device *device,
			       const struct attribution_health_event *event)
{
	const struct array before = device->previous ? device->previous->status.health.events
						     : (struct array){0};
	for (uint32_t i = 0; i < before.count; i++) {
		const struct attribution_health_event *published =
			ARRAY_AT(before, struct attribution_health_event, i);
		if (published->xid == event->xid && published->time == event->time)
			return true;
	}
	return false;
}

static bool is_news_by_uid(const struct join_device *device, struct view uid)
{
	const struct array tenants = device->status.tenants;
	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(tenants, struct attribution_tenant, i);
		if (view_equal(tenant->pod_uid, uid) && is_news(device, tenant))
			return true;
	}
	return false;
}

/* A new error event names whom the join took for tenants: those held back are counted only. */
static void hold_back_from_events(struct join_device *device)
{
	const struct array events = device->status.health.events;
	for (uint32_t i = 0; i < events.count; i++) {
		struct attribution_health_event *event =
			ARRAY_AT(events, struct attribution_health_event, i);
		uint32_t n = 0;
		if (is_published_event(device, event))
			continue;
		for (uint32_t k = 0; k < event->tenants.count; k++) {
			struct view *uid = ARRAY_AT(event->tenants, struct view, k);
			if (is_news_by_uid(device, *uid))
				event->tenants_left_out++;
			else
				*ARRAY_AT(event->tenants, struct view, n++) = *uid;
		}
		event->tenants.count = n;
	}
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
		hold_back_from_events(device);
		take_holders(&device->status, is_published ? &device->previous->status : &unknown);
		return;
	}
}
