/* SPDX-License-Identifier: Apache-2.0 */

#include "assess/events.h"

#include <assert.h>
#include <stdlib.h>

#include "assess/xid.h"
#include "base/limits.h"

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

/* An instance that is not known may be any. */
static bool is_in(const struct events_origin *origin, int64_t gpu_instance, int64_t compute_instance)
{
	const int64_t wanted = origin->compute_instance_id;
	return gpu_instance == origin->gpu_instance_id &&
	       (wanted < 0 || compute_instance < 0 || compute_instance == wanted);
}

/* The only MIG device of the origin on a list; empty: there is none, or more than one. */
static struct view only_reported(const struct events_origin *origin, uint32_t *ret_n)
{
	struct view found = {0};
	ARRAY_EACH(const struct report_partition, p, origin->reported)
		if (is_in(origin, p->gpu_instance_id, p->compute_instance_id)) {
			found = p->uuid;
			(*ret_n)++;
		}
	return *ret_n == 1 ? found : (struct view){0};
}

static struct view only_published(const struct events_origin *origin)
{
	struct view found = {0};
	uint32_t n = 0;
	ARRAY_EACH(const struct attribution_partition, p, origin->published)
		if (is_in(origin, p->gpu_instance_id, p->compute_instance_id)) {
			found = p->uuid;
			n++;
		}
	return n == 1 ? found : (struct view){0};
}

/*
 * An error of a GPU instance is that of its only compute instance. One that is not on the report's list
 * was there before: one call that fails makes the whole list missing.
 */
static struct view find_partition(const struct events_origin *origin)
{
	uint32_t n = 0;
	struct view found;

	if (origin->gpu_instance_id < 0)
		return (struct view){0};
	found = only_reported(origin, &n);
	return n > 0 ? found : only_published(origin);
}

/* Of one whose instances are not known too. */
static bool may_be_in(const struct events_origin *origin, int64_t gpu_instance, int64_t compute_instance)
{
	return gpu_instance < 0 || is_in(origin, gpu_instance, compute_instance);
}

/* The MIG device is known, and is none of the origin's. */
static bool is_elsewhere(const struct events_origin *origin, struct view uuid)
{
	bool is_known = false, is_here = false;

	ARRAY_EACH(const struct report_partition, p, origin->reported) {
		const bool is_it = view_equal(p->uuid, uuid);
		is_known |= is_it;
		is_here |= is_it && may_be_in(origin, p->gpu_instance_id, p->compute_instance_id);
	}
	ARRAY_EACH(const struct attribution_partition, p, origin->published) {
		const bool is_it = view_equal(p->uuid, uuid);
		is_known |= is_it;
		is_here |= is_it && may_be_in(origin, p->gpu_instance_id, p->compute_instance_id);
	}
	return is_known && !is_here;
}

bool events_may_be_of(const struct attribution_health_event *event, const struct events_origin *origin,
		      struct array partitions)
{
	if (partitions.count == 0)
		return true;
	if (event->partition.len > 0)
		return view_is_among(event->partition, partitions.items, partitions.count);
	if (origin->gpu_instance_id < 0)
		return true;
	ARRAY_EACH(const struct view, uuid, partitions)
		if (!is_elsewhere(origin, *uuid))
			return true;
	return false;
}

/* What is known of the number; what was published without it gets it too. */
static void explain(struct attribution_health_event *event)
{
	static const int classes[] = {
		[XID_INFORMATIONAL] = ATTRIBUTION_EVENT_INFORMATIONAL,
		[XID_APPLICATION] = ATTRIBUTION_EVENT_APPLICATION,
		[XID_LOOK_CLOSER] = ATTRIBUTION_EVENT_LOOK_CLOSER,
		[XID_NEEDS_RESET] = ATTRIBUTION_EVENT_NEEDS_RESET,
		[XID_NEEDS_REBOOT] = ATTRIBUTION_EVENT_NEEDS_REBOOT,
	};
	const struct xid xid = xid_look_up(event->xid);

	assert((size_t)xid.class < sizeof(classes) / sizeof(classes[0]));
	event->meaning = xid.meaning;
	event->class = classes[xid.class];
	event->action = xid.action;
}

/* What is not known to have been earlier was now at the latest. */
static void date(const struct events *list, struct attribution_health_event *event,
		 bool is_of_boot)
{
	if (list->uptime_ms > 0 && (!is_of_boot || event->uptime_ms == 0))
		event->uptime_ms = list->uptime_ms;
}

static int add_event(struct events *list, const struct report_event *event, struct error *err)
{
	const struct array known = array_of(list->items, list->n_items);
	const struct events_origin origin = {
		.gpu_instance_id = event->gpu_instance_id,
		.compute_instance_id = event->compute_instance_id,
		.reported = list->reported ? list->reported->partitions : (struct array){0},
		.published = list->published_partitions,
	};
	struct attribution_health_event *added = &list->items[list->n_items];

	if (event->type != REPORT_EVENT_XID ||
	    !list->holders.is_of(list->holders.owner, event->uuid))
		return 0;
	*added = (struct attribution_health_event){
		.xid = event->code,
		.event_time = event->time,
		.uptime_ms = event->uptime_ms,
		.partition = find_partition(&origin),
		.tenants = {.present = true},
	};
	explain(added);
	date(list, added, true);
	if (events_have(known, added))
		return 0;
	list->n_items++;
	return list->holders.list(list->holders.owner, &origin, added, err);
}

/* How grave it is: its class where something is to be done about it, and no newer one says so; else 0. */
static int gravity(const struct events *list, uint32_t at)
{
	const int64_t code = list->items[at].xid;
	const enum xid_class class = xid_look_up(code).class;

	for (uint32_t i = 0; i < at; i++)
		if (list->items[i].xid == code)
			return 0;
	return class > XID_APPLICATION ? (int)class : 0;
}

/* How many are kept rather than that one: the graver ones, and of its kind the newer ones. */
static uint32_t count_before(const int *gravities, uint32_t n_items, uint32_t at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_items; i++)
		n += gravities[i] > gravities[at] || (gravities[i] == gravities[at] && i < at);
	return n;
}

/*
 * The oldest go when there are too many. But a program that fails again and again must not push out
 * the error for which the device needs a reset: without its event it would look well.
 */
static int leave_out_oldest(struct events *list, struct error *err)
{
	int *gravities = arena_alloc(list->arena, list->n_items, sizeof(*gravities));
	uint32_t n = 0;

	if (!gravities)
		return error_no_memory(err);
	for (uint32_t i = 0; i < list->n_items; i++)
		gravities[i] = gravity(list, i);
	for (uint32_t i = 0; i < list->n_items; i++)
		if (count_before(gravities, list->n_items, i) < LIMIT_HEALTH_EVENTS)
			list->items[n++] = list->items[i];
	assert(n <= LIMIT_HEALTH_EVENTS);
	list->n_items = n;
	return 0;
}

int events_collect(struct events *list, struct error *err)
{
	const struct array told = list->report ? list->report->events : (struct array){0};
	const struct array kept = list->published;

	list->items = arena_alloc(list->arena, kept.count + told.count, sizeof(*list->items));
	if (!list->items)
		return error_no_memory(err);
	assert(list->n_items == 0);
	for (uint32_t i = 0; i < kept.count; i++) {
		struct attribution_health_event *event = &list->items[list->n_items++];
		*event = *ARRAY_AT(kept, struct attribution_health_event, i);
		explain(event);
		date(list, event, list->is_same_boot);
	}
	for (uint32_t i = 0; i < told.count; i++)
		if (add_event(list, ARRAY_AT(told, struct report_event, i), err) < 0)
			return -1;
	assert(list->n_items <= kept.count + told.count);
	qsort(list->items, list->n_items, sizeof(*list->items), by_time);
	return list->n_items > LIMIT_HEALTH_EVENTS ? leave_out_oldest(list, err) : 0;
}
