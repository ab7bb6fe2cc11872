/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What speaks against the device is a row of a table, from worst to best. All rows that fit are
 * reasons, and the first of them gives the state. What is known to be wrong is worse than not knowing:
 * a device that fell off the bus stays Unhealthy when NVML does not list it any more.
 */

#include "join/health.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/tenants.h"
#include "join/xid.h"

/*
 * The node's clock tells when an event happened; the controller's tells when a pod was first and last
 * seen as a tenant. Synchronised clocks are much closer together than this. The rest makes up for
 * what is told late: a tenant is seen a moment after it began; and the agent asks for errors at times
 * (--event-interval), when the error may have ended the pod already. If the clocks are further apart,
 * an event may lack a pod whose start is not told, or have one that had left before.
 */
#define TOLD_LATE_MS 2000

/* What may speak against the device. */
struct row {
	enum xid_class xid; /* of error events, each number of which is a reason; or 0: */
	bool is_so;
	enum reason reason;
	enum message message;
	enum attribution_health state;
	enum attribution_recovery recovery;
};

struct judge {
	const struct subject *subject;
	const struct previous *before; /* this node's published status; NULL: none */
	struct array published;        /* events, also of another node's status */
	bool is_listed;                /* by NVML, now */
	bool was_missing;
	struct attribution_health_event *events; /* newest first */
	uint32_t n_events;
	struct view *reasons;
	uint32_t n_reasons;
	struct health health;
};

/* Who held the device when */

static void add_tenant(const struct judge *judge, struct attribution_health_event *event,
		       struct attribution_event_tenant tenant)
{
	struct attribution_event_tenant *listed = event->tenants.items;
	const struct pod *pod = node_pods_find_uid(&judge->subject->facts->node_pods,
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
static bool was_there(const struct judge *judge, struct view uid, int64_t since, int64_t time)
{
	const struct pod *pod = node_pods_find_uid(&judge->subject->facts->node_pods, uid);
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

/* Each once. Those that left did so on this node, unless the card comes from another. */
static int list_tenants(const struct judge *judge, struct attribution_health_event *event,
			struct error *err)
{
	const struct subject *subject = judge->subject;
	const struct attribution_tenant *t = subject->tenants->listed.items;
	const struct attribution_past_tenant *past = subject->tenants->recent.items;
	const uint32_t n_past = subject->device->is_taken ? 0 : subject->tenants->recent.count;
	const int64_t at = event->event_time;

	event->tenants.items = arena_alloc(subject->arena, LIMIT_EVENT_TENANTS,
					   sizeof(struct attribution_event_tenant));
	if (!event->tenants.items)
		return error_no_memory(err);
	for (uint32_t i = 0; i < subject->tenants->listed.count; i++, t++)
		if (!is_nobody(t) && was_there(judge, t->pod_uid, t->start_time, at))
			add_tenant(judge, event, (struct attribution_event_tenant){
				t->pod_uid, t->pod_namespace, t->pod_name, t->container});
	for (uint32_t i = 0; i < n_past; i++, past++)
		if (was_there(judge, past->pod_uid, past->start_time, at) &&
		    at <= past->end_time + TOLD_LATE_MS)
			add_tenant(judge, event, (struct attribution_event_tenant){
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
	return order ? order : (x->xid > y->xid) - (x->xid < y->xid);
}

static bool has_event(struct array events, int64_t time, int64_t code)
{
	const struct attribution_health_event *event = events.items;
	for (uint32_t i = 0; i < events.count; i++, event++)
		if (event->event_time == time && event->xid == code)
			return true;
	return false;
}

static int add_event(struct judge *judge, const struct report_event *event, struct error *err)
{
	const struct array known = {judge->events, judge->n_events, true};
	struct attribution_health_event *added = &judge->events[judge->n_events];

	if (event->type != REPORT_EVENT_XID || has_event(known, event->time, event->code) ||
	    devices_find(judge->subject->facts->devices, event->uuid).device !=
		    judge->subject->device)
		return 0;
	*added = (struct attribution_health_event){
		.xid = event->code,
		.event_time = event->time,
		.meaning = xid_look_up(event->code).meaning,
		.tenants = {.present = true},
	};
	judge->n_events++;
	return list_tenants(judge, added, err);
}

/* Those that were published, and the report's new ones. */
static int collect_events(struct judge *judge, struct error *err)
{
	const struct report *report = judge->subject->facts->input->report;
	const struct array told = report ? report->events : (struct array){0};
	const struct array kept = judge->published;

	judge->events = arena_alloc(judge->subject->arena, kept.count + told.count,
				    sizeof(*judge->events));
	if (!judge->events)
		return error_no_memory(err);
	for (uint32_t i = 0; i < kept.count; i++)
		judge->events[judge->n_events++] = *ARRAY_AT(kept, struct attribution_health_event,
							     i);
	for (uint32_t i = 0; i < told.count; i++)
		if (add_event(judge, ARRAY_AT(told, struct report_event, i), err) < 0)
			return -1;
	qsort(judge->events, judge->n_events, sizeof(*judge->events), by_time);
	if (judge->n_events > LIMIT_HEALTH_EVENTS)
		judge->n_events = LIMIT_HEALTH_EVENTS;
	return 0;
}

/* Evidence */

/* A device that was missing when NVML failed is still missing: else its return would not be seen. */
static bool is_missing(const struct judge *judge)
{
	const struct facts *facts = judge->subject->facts;
	return facts->input->report && !judge->is_listed &&
	       (facts->devices->nvml == DEVICES_NVML_OK || judge->was_missing);
}

/* In MIG mode, and not cut into instances yet. */
static bool has_nothing_to_offer(const struct report_device *reported)
{
	return reported && reported->mig.current && reported->partitions.present &&
	       reported->partitions.count == 0;
}

/* It was on offer once, as what is held must have been, and no good source has it on offer now. */
static bool is_withdrawn(const struct judge *judge)
{
	const struct subject *subject = judge->subject;
	const struct source *source = &subject->facts->source;

	if (subject->is_offered || subject->is_claimed || !subject->is_offer_known ||
	    is_missing(judge) || has_nothing_to_offer(subject->device->reported))
		return false;
	if (previous_had_reason(judge->before, REASON_NOT_ADVERTISED))
		return true;
	return !source->is_settling &&
	       (source_is_good(source->pod_resources) || source_is_good(source->checkpoint)) &&
	       (subject->n_slots > 0 ||
		(subject->published && subject->published->slots.total > 0));
}

/* Reasons */

static void add_reason(struct judge *judge, const struct row *row, struct view reason,
		       struct view message)
{
	struct health *health = &judge->health;

	if (judge->n_reasons < LIMIT_HEALTH_REASONS)
		judge->reasons[judge->n_reasons++] = reason;
	if (judge->n_reasons > 1)
		return;
	health->state.state = (int)row->state;
	health->state.recovery_action = (int)row->recovery;
	health->reason = reason;
	health->message = message;
}

/* True when the event was published, and was settled then, or has been since. */
static bool is_history(const struct judge *judge, const struct attribution_health_event *event)
{
	const int64_t booted_after = judge->subject->facts->input->booted_after;

	return has_event(judge->published, event->event_time, event->xid) &&
	       (!previous_had_xid(judge->before, event->xid) ||
		(booted_after > 0 && event->event_time <= booted_after) ||
		(judge->is_listed && judge->was_missing));
}

/* The next number of that class that speaks against the device, in ascending order; NULL: none. */
static const struct attribution_health_event *next_xid(const struct judge *judge,
						       enum xid_class class,
						       const struct attribution_health_event *last)
{
	const struct attribution_health_event *next = NULL;

	for (uint32_t i = 0; i < judge->n_events; i++) {
		const struct attribution_health_event *event = &judge->events[i];
		if ((!last || event->xid > last->xid) && (!next || event->xid < next->xid) &&
		    xid_look_up(event->xid).class == class && !is_history(judge, event))
			next = event;
	}
	return next;
}

static int add_xids(struct judge *judge, const struct row *row, struct error *err)
{
	const struct attribution_health_event *event = NULL;
	struct arena *arena = judge->subject->arena;

	while ((event = next_xid(judge, row->xid, event))) {
		char text[WORDING_XID_SIZE], line[LIMIT_TEXT_MEANING + 32];
		int len = snprintf(line, sizeof(line), "XID %" PRId64 ": %.*s", event->xid,
				   VIEW_ARG(xid_look_up(event->xid).meaning));
		struct view reason, message;
		if (!arena_copy(arena, wording_xid(event->xid, text), &reason) ||
		    !arena_copy(arena, (struct view){line, (size_t)len}, &message))
			return error_no_memory(err);
		add_reason(judge, row, reason, message);
	}
	return 0;
}

/* From worst to best. A device without any is Healthy. */
static int find_reasons(struct judge *judge, struct error *err)
{
	const struct facts *facts = judge->subject->facts;
	const bool is_nvml_away = facts->input->report && facts->devices->nvml != DEVICES_NVML_OK;
	const struct row rows[] = {
		{XID_NEEDS_REBOOT, .state = ATTRIBUTION_HEALTH_UNHEALTHY,
		 .recovery = ATTRIBUTION_RECOVERY_REBOOT},
		{XID_NEEDS_RESET, .state = ATTRIBUTION_HEALTH_UNHEALTHY,
		 .recovery = ATTRIBUTION_RECOVERY_RESET},
		{XID_LOOK_CLOSER, .state = ATTRIBUTION_HEALTH_DEGRADED,
		 .recovery = ATTRIBUTION_RECOVERY_UNKNOWN},
		{0, is_withdrawn(judge), REASON_NOT_ADVERTISED, MESSAGE_NOT_ADVERTISED,
		 ATTRIBUTION_HEALTH_DEGRADED},
		{0, is_missing(judge), REASON_DEVICE_MISSING, MESSAGE_DEVICE_MISSING,
		 ATTRIBUTION_HEALTH_UNKNOWN},
		{0, is_nvml_away, REASON_NVML_UNAVAILABLE, MESSAGE_NVML_UNAVAILABLE,
		 ATTRIBUTION_HEALTH_UNKNOWN},
		{0, !facts->input->report, REASON_NO_AGENT, MESSAGE_NO_AGENT_FOR_HEALTH,
		 ATTRIBUTION_HEALTH_UNKNOWN},
	};

	judge->reasons = arena_alloc(judge->subject->arena, LIMIT_HEALTH_REASONS,
				     sizeof(*judge->reasons));
	if (!judge->reasons)
		return error_no_memory(err);
	for (const struct row *row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		if (row->xid && add_xids(judge, row, err) < 0)
			return -1;
		if (row->is_so)
			add_reason(judge, row, wording_reason(row->reason),
				   wording_message(row->message));
	}
	return 0;
}

int health_judge(const struct subject *subject, struct health *ret_health, struct error *err)
{
	const struct previous *previous = subject->device->previous;
	const struct previous *before = subject->device->published;
	struct judge judge = {
		.subject = subject,
		.before = before,
		.published = previous ? previous->status->health.events : (struct array){0},
		.is_listed = subject->device->reported &&
			     subject->facts->devices->nvml == DEVICES_NVML_OK,
		.was_missing = previous_had_reason(before, REASON_DEVICE_MISSING),
		.health = {
			.state = {.state = ATTRIBUTION_HEALTH_HEALTHY,
				  .recovery_action = ATTRIBUTION_RECOVERY_NONE},
			.reason = wording_reason(REASON_NOTHING_FOUND),
			.message = wording_message(MESSAGE_NOTHING_FOUND),
		},
	};

	if (collect_events(&judge, err) < 0 || find_reasons(&judge, err) < 0)
		return -1;
	judge.health.state.reasons =
		(struct array){judge.n_reasons > 0 ? judge.reasons : NULL, judge.n_reasons, true};
	judge.health.state.events =
		(struct array){judge.n_events > 0 ? judge.events : NULL, judge.n_events, true};
	*ret_health = judge.health;
	return 0;
}
