/* SPDX-License-Identifier: Apache-2.0 */

#include "join/events.h"

#include <stdlib.h>

#include "base/limits.h"
#include "join/tenants.h"
#include "join/xid.h"

/*
 * The node's clock tells when an event happened; the controller's tells when a pod was first and last
 * seen as a tenant. Synchronised clocks are much closer together than this. The rest makes up for
 * what is told late. A tenant is seen a moment after it began. The agent asks for errors at times
 * (--event-interval), when the error may have ended the pod already. If the clocks are further apart,
 * an event may lack a pod whose start is not told, or have one that had left before.
 */
#define TOLD_LATE_MS 2000
/* Who held the device when */

static void add_tenant(const struct events *list, struct attribution_health_event *event,
		       struct attribution_event_tenant tenant)
{
	struct attribution_event_tenant *listed = event->tenants.items;
	const struct pod *pod = node_pods_find_uid(&list->subject->facts->node_pods,
						   tenant.pod_uid);

	for (uint32_t i = 0; i < event->tenants.count; i++)
		if (view_equal(listed[i].pod_uid, tenant.pod_uid) &&
		    view_equal(listed[i].container, tenant.container))
			return;
	if (pod) {
		tenant.pod_namespace = pod_namespace(pod);
		tenant.pod_name = pod_name(pod);
	}
	if (event->tenants.count < LIMIT_EVENT_TENANTS)
		listed[event->tenants.count++] = tenant;
	else
		event->tenants_left_out++;
}

/*
 * A pod cannot hold the device before it started; the start is cut to the second, so it counts from
 * the end of that second. Where no start is told, since counts; 0: not known either.
 */
static bool was_there(const struct events *list, struct view uid, int64_t since, int64_t time)
{
	const struct pod *pod = node_pods_find_uid(&list->subject->facts->node_pods, uid);
	const int64_t started_at = pod ? pod_gpu(pod)->started_at : 0;

	if (started_at)
		return time >= started_at + POD_GRANULARITY_MS;
	return since && time >= since - TOLD_LATE_MS;
}

/* A pod that the API server does not know may be nobody; HAMi's placeholder is on any device. */
static bool is_nobody(const struct attribution_tenant *tenant)
{
	return tenant->phase == ATTRIBUTION_PHASE_PENDING ||
	       tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED ||
	       wording_placeholder_of(tenant->placeholder) == PLACEHOLDER_HAMI;
}

/* Of an error of one MIG device only those are named who held it, or who may have: which one it was */
/* is not known of each. */
static bool is_on(const struct attribution_health_event *event, struct array partitions)
{
	for (uint32_t i = 0; i < partitions.count; i++)
		if (view_equal(*ARRAY_AT(partitions, struct view, i), event->partition))
			return true;
	return event->partition.len == 0 || partitions.count == 0;
}

/* Of what a container held that has left, as it was published. */
static struct array partitions_of(const struct events *list,
				  const struct attribution_past_tenant *past)
{
	const struct attribution_tenant *tenant =
		list->before ? attribution_find_tenant(list->before->status, past->pod_uid,
						       past->container)
			     : NULL;
	return tenant ? tenant->partitions : (struct array){0};
}

/* Each once. Those that left did so on this node, unless the card comes from another. */
static int list_tenants(const struct events *list, struct attribution_health_event *event,
			struct error *err)
{
	const struct subject *subject = list->subject;
	const struct attribution_tenant *t = subject->tenants->listed.items;
	const struct attribution_past_tenant *past = subject->tenants->recent.items;
	const uint32_t n_past = subject->device->is_taken ? 0 : subject->tenants->recent.count;
	const int64_t at = event->event_time;

	event->tenants.items = arena_alloc(subject->arena, LIMIT_EVENT_TENANTS,
					   sizeof(struct attribution_event_tenant));
	if (!event->tenants.items)
		return error_no_memory(err);
	for (uint32_t i = 0; i < subject->tenants->listed.count; i++, t++)
		if (!is_nobody(t) && was_there(list, t->pod_uid, t->start_time, at) &&
		    (t->partitions_left_out > 0 || is_on(event, t->partitions)))
			add_tenant(list, event, (struct attribution_event_tenant){
				t->pod_uid, t->pod_namespace, t->pod_name, t->container});
	for (uint32_t i = 0; i < n_past; i++, past++)
		if (was_there(list, past->pod_uid, past->start_time, at) &&
		    at <= past->end_time + TOLD_LATE_MS &&
		    is_on(event, partitions_of(list, past)))
			add_tenant(list, event, (struct attribution_event_tenant){
				past->pod_uid, past->pod_namespace, past->pod_name,
				past->container});
	if (event->tenants.count == 0)
		event->tenants.items = NULL;
	return 0;
}

/* Events */

static int by_time(const void *a, const void *b)
{
	const struct attribution_health_event *x = a, *y = b;
	int order = (y->event_time > x->event_time) - (y->event_time < x->event_time);
	if (!order)
		order = (x->xid > y->xid) - (x->xid < y->xid);
	return order ? order : view_compare(x->partition, y->partition);
}

/* One that is told twice may have lost its MIG device meanwhile. */
static bool is_same(const struct attribution_health_event *a,
		    const struct attribution_health_event *b)
{
	return a->event_time == b->event_time && a->xid == b->xid &&
	       (a->partition.len == 0 || b->partition.len == 0 ||
		view_equal(a->partition, b->partition));
}

bool events_have(struct array events, const struct attribution_health_event *wanted)
{
	const struct attribution_health_event *event = events.items;
	for (uint32_t i = 0; i < events.count; i++, event++)
		if (is_same(event, wanted))
			return true;
	return false;
}

/*
 * The MIG device of these instances: an error of a GPU instance is that of its only compute instance.
 * Empty where they are not told, or there is none any more.
 */
static struct view find_partition(const struct report_device *reported,
				  const struct report_event *event)
{
	const struct array partitions = reported ? reported->partitions : (struct array){0};
	const struct report_partition *partition = partitions.items;
	struct view found = {0};

	for (uint32_t i = 0; i < partitions.count && event->gpu_instance_id >= 0; i++, partition++) {
		if (partition->gpu_instance_id != event->gpu_instance_id)
			continue;
		if (partition->compute_instance_id == event->compute_instance_id)
			return partition->uuid;
		if (event->compute_instance_id < 0 && found.len > 0)
			return (struct view){0};
		if (event->compute_instance_id < 0)
			found = partition->uuid;
	}
	return found;
}

static int add_event(struct events *list, const struct report_event *event, struct error *err)
{
	const struct array known = {list->items, list->n_items, true};
	const struct device *device = list->subject->device;
	struct attribution_health_event *added = &list->items[list->n_items];

	if (event->type != REPORT_EVENT_XID ||
	    devices_find(list->subject->facts->devices, event->uuid).device != device)
		return 0;
	*added = (struct attribution_health_event){
		.xid = event->code,
		.event_time = event->time,
		.meaning = xid_look_up(event->code).meaning,
		.partition = find_partition(device->reported, event),
		.tenants = {.present = true},
	};
	if (events_have(known, added))
		return 0;
	list->n_items++;
	return list_tenants(list, added, err);
}

/* Something is to be done about it, and no newer one says so: it is among the first n. */
static bool is_needed(const struct events *list, uint32_t n, const struct attribution_health_event *event)
{
	for (uint32_t i = 0; i < n; i++)
		if (list->items[i].xid == event->xid)
			return false;
	return xid_look_up(event->xid).class > XID_APPLICATION;
}

/*
 * The oldest go when there are too many. But a program that fails again and again must not push out
 * the error for which the device needs a reset: without its event it would look well.
 */
static void leave_out_oldest(struct events *list)
{
	uint32_t n_needed = 0, n = 0, room;

	for (uint32_t i = 0; i < list->n_items; i++)
		n_needed += is_needed(list, i, &list->items[i]);
	room = n_needed < LIMIT_HEALTH_EVENTS ? LIMIT_HEALTH_EVENTS - n_needed : 0;
	for (uint32_t i = 0; i < list->n_items && n < LIMIT_HEALTH_EVENTS; i++) {
		const struct attribution_health_event event = list->items[i];
		const bool needed = is_needed(list, n, &event);

		if (needed || room > 0)
			list->items[n++] = event;
		room -= !needed && room > 0;
	}
	list->n_items = n;
}

int events_collect(struct events *list, struct error *err)
{
	const struct report *report = list->subject->facts->input->report;
	const struct array told = report ? report->events : (struct array){0};
	const struct array kept = list->published;

	list->items = arena_alloc(list->subject->arena, kept.count + told.count,
				    sizeof(*list->items));
	if (!list->items)
		return error_no_memory(err);
	for (uint32_t i = 0; i < kept.count; i++)
		list->items[list->n_items++] = *ARRAY_AT(kept, struct attribution_health_event,
							     i);
	for (uint32_t i = 0; i < told.count; i++)
		if (add_event(list, ARRAY_AT(told, struct report_event, i), err) < 0)
			return -1;
	qsort(list->items, list->n_items, sizeof(*list->items), by_time);
	if (list->n_items > LIMIT_HEALTH_EVENTS)
		leave_out_oldest(list);
	return 0;
}
