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
 * what is told late. A tenant is seen a moment after it began. The agent asks for errors at times
 * (--event-interval), when the error may have ended the pod already. If the clocks are further apart,
 * an event may lack a pod whose start is not told, or have one that had left before.
 */
#define TOLD_LATE_MS 2000
/* Room for the message of a healthy device. */
#define READ_SIZE 512

/* What may speak against the device. */
#define UNHEALTHY ATTRIBUTION_HEALTH_UNHEALTHY
#define DEGRADED ATTRIBUTION_HEALTH_DEGRADED

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
	bool was_missing;              /* from NVML's list */
	bool was_away;                 /* missing or lost */
	struct report_condition condition; /* zeroed: not known */
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

/* Of an error of one MIG device only its holders are named. */
static bool is_on(const struct attribution_health_event *event, struct array partitions)
{
	for (uint32_t i = 0; i < partitions.count; i++)
		if (view_equal(*ARRAY_AT(partitions, struct view, i), event->partition))
			return true;
	return event->partition.len == 0;
}

/* Of what a container held that has left, as it was published. */
static struct array partitions_of(const struct judge *judge,
				  const struct attribution_past_tenant *past)
{
	const struct attribution_tenant *tenant =
		judge->before ? attribution_find_tenant(judge->before->status, past->pod_uid,
							past->container)
			      : NULL;
	return tenant ? tenant->partitions : (struct array){0};
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
		if (!is_nobody(t) && was_there(judge, t->pod_uid, t->start_time, at) &&
		    is_on(event, t->partitions))
			add_tenant(judge, event, (struct attribution_event_tenant){
				t->pod_uid, t->pod_namespace, t->pod_name, t->container});
	for (uint32_t i = 0; i < n_past; i++, past++)
		if (was_there(judge, past->pod_uid, past->start_time, at) &&
		    at <= past->end_time + TOLD_LATE_MS &&
		    is_on(event, partitions_of(judge, past)))
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
	if (!order)
		order = (x->xid > y->xid) - (x->xid < y->xid);
	return order ? order : view_compare(x->partition, y->partition);
}

static bool has_event(struct array events, const struct attribution_health_event *wanted)
{
	const struct attribution_health_event *event = events.items;
	for (uint32_t i = 0; i < events.count; i++, event++)
		if (by_time(event, wanted) == 0)
			return true;
	return false;
}

/* The MIG device of these instances; empty where they are not told, or there is none any more. */
static struct view find_partition(const struct report_device *reported,
				  const struct report_event *event)
{
	const struct array partitions = reported ? reported->partitions : (struct array){0};
	const struct report_partition *partition = partitions.items;

	if (event->gpu_instance_id < 0 || event->compute_instance_id < 0)
		return (struct view){0};
	for (uint32_t i = 0; i < partitions.count; i++, partition++)
		if (partition->gpu_instance_id == event->gpu_instance_id &&
		    partition->compute_instance_id == event->compute_instance_id)
			return partition->uuid;
	return (struct view){0};
}

static int add_event(struct judge *judge, const struct report_event *event, struct error *err)
{
	const struct array known = {judge->events, judge->n_events, true};
	const struct device *device = judge->subject->device;
	struct attribution_health_event *added = &judge->events[judge->n_events];

	if (event->type != REPORT_EVENT_XID ||
	    devices_find(judge->subject->facts->devices, event->uuid).device != device)
		return 0;
	*added = (struct attribution_health_event){
		.xid = event->code,
		.event_time = event->time,
		.meaning = xid_look_up(event->code).meaning,
		.partition = find_partition(device->reported, event),
		.tenants = {.present = true},
	};
	if (has_event(known, added))
		return 0;
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
	    is_missing(judge) || judge->condition.lost ||
	    has_nothing_to_offer(subject->device->reported))
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

	return has_event(judge->published, event) &&
	       (!previous_had_xid(judge->before, event->xid) ||
		(booted_after > 0 && event->event_time <= booted_after) ||
		(judge->is_listed && !judge->condition.lost && judge->was_away));
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

static int add_rows(struct judge *judge, const struct row *rows, size_t n_rows, struct error *err)
{
	for (const struct row *row = rows; row < rows + n_rows; row++) {
		if (row->xid && add_xids(judge, row, err) < 0)
			return -1;
		if (row->is_so)
			add_reason(judge, row, wording_reason(row->reason),
				   wording_message(row->message));
	}
	return 0;
}

static int find_unhealthy(struct judge *judge, struct error *err)
{
	const struct report_condition *c = &judge->condition;
	const struct row rows[] = {
		{XID_NEEDS_REBOOT, .state = UNHEALTHY, .recovery = ATTRIBUTION_RECOVERY_REBOOT},
		{0, c->lost, REASON_GPU_LOST, MESSAGE_GPU_LOST, UNHEALTHY,
		 ATTRIBUTION_RECOVERY_REBOOT},
		{0, c->remapped_rows.failed, REASON_ROW_REMAP_FAILED, MESSAGE_ROW_REMAP_FAILED,
		 UNHEALTHY, ATTRIBUTION_RECOVERY_REPLACE},
		{0, c->recovery == REPORT_RECOVERY_RECOVER_IMEX_DOMAIN, REASON_RECOVER_IMEX_DOMAIN,
		 MESSAGE_RECOVER_IMEX_DOMAIN, UNHEALTHY, ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN},
		{0, c->recovery == REPORT_RECOVERY_REBOOT, REASON_REBOOT_REQUIRED,
		 MESSAGE_REBOOT_REQUIRED, UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT},
		{0, c->recovery == REPORT_RECOVERY_RESET || c->reset_required,
		 REASON_RESET_REQUIRED, MESSAGE_RESET_REQUIRED, UNHEALTHY,
		 ATTRIBUTION_RECOVERY_RESET},
		{XID_NEEDS_RESET, .state = UNHEALTHY, .recovery = ATTRIBUTION_RECOVERY_RESET},
	};
	return add_rows(judge, rows, ARRAY_SIZE(rows), err);
}

static int find_degraded(struct judge *judge, struct error *err)
{
	const struct report_condition *c = &judge->condition;
	const struct row rows[] = {
		{0, c->recovery == REPORT_RECOVERY_DRAIN_AND_RESET, REASON_DRAIN_REQUIRED,
		 MESSAGE_DRAIN_REQUIRED, DEGRADED, ATTRIBUTION_RECOVERY_DRAIN_AND_RESET},
		{0, c->recovery == REPORT_RECOVERY_DRAIN_P2P, REASON_DRAIN_REQUIRED,
		 MESSAGE_DRAIN_P2P_REQUIRED, DEGRADED, ATTRIBUTION_RECOVERY_DRAIN_P2P},
		{0, c->remapped_rows.pending, REASON_ROW_REMAP_PENDING, MESSAGE_ROW_REMAP_PENDING,
		 DEGRADED, ATTRIBUTION_RECOVERY_RESET},
		{0, c->retired_pages.pending, REASON_RETIRED_PAGES_PENDING,
		 MESSAGE_RETIRED_PAGES_PENDING, DEGRADED, ATTRIBUTION_RECOVERY_RESET},
		{0, c->ecc_volatile.uncorrected > 0, REASON_UNCORRECTABLE_ECC,
		 MESSAGE_UNCORRECTABLE_ECC, DEGRADED, ATTRIBUTION_RECOVERY_RESET},
		{XID_LOOK_CLOSER, .state = DEGRADED, .recovery = ATTRIBUTION_RECOVERY_UNKNOWN},
		{0, is_withdrawn(judge), REASON_NOT_ADVERTISED, MESSAGE_NOT_ADVERTISED, DEGRADED},
	};
	return add_rows(judge, rows, ARRAY_SIZE(rows), err);
}

static int find_unknown(struct judge *judge, struct error *err)
{
	const struct facts *facts = judge->subject->facts;
	const bool is_nvml_away = facts->input->report && facts->devices->nvml != DEVICES_NVML_OK;
	const struct row rows[] = {
		{0, is_missing(judge), REASON_DEVICE_MISSING, MESSAGE_DEVICE_MISSING,
		 ATTRIBUTION_HEALTH_UNKNOWN},
		{0, is_nvml_away, REASON_NVML_UNAVAILABLE, MESSAGE_NVML_UNAVAILABLE,
		 ATTRIBUTION_HEALTH_UNKNOWN},
		{0, !facts->input->report, REASON_NO_AGENT, MESSAGE_NO_AGENT_FOR_HEALTH,
		 ATTRIBUTION_HEALTH_UNKNOWN},
	};
	return add_rows(judge, rows, ARRAY_SIZE(rows), err);
}

/*
 * What the driver recommends counts before what the error alone would ask for. Exceptions: a lost
 * device does not tell, nothing mends a card whose rows cannot be remapped, and "none" is no remedy
 * for an unhealthy device.
 */
static void heed_driver(struct judge *judge)
{
	static const enum attribution_recovery actions[] = {
		[REPORT_RECOVERY_NONE] = ATTRIBUTION_RECOVERY_NONE,
		[REPORT_RECOVERY_RESET] = ATTRIBUTION_RECOVERY_RESET,
		[REPORT_RECOVERY_REBOOT] = ATTRIBUTION_RECOVERY_REBOOT,
		[REPORT_RECOVERY_DRAIN_P2P] = ATTRIBUTION_RECOVERY_DRAIN_P2P,
		[REPORT_RECOVERY_DRAIN_AND_RESET] = ATTRIBUTION_RECOVERY_DRAIN_AND_RESET,
		[REPORT_RECOVERY_RECOVER_IMEX_DOMAIN] = ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN,
	};
	struct attribution_health_state *state = &judge->health.state;
	const int told = judge->condition.recovery;

	if (judge->n_reasons > 0 && told > REPORT_RECOVERY_UNREAD &&
	    told < REPORT_RECOVERY_OTHER && !judge->condition.lost &&
	    state->recovery_action != ATTRIBUTION_RECOVERY_REPLACE &&
	    (told != REPORT_RECOVERY_NONE || state->state != ATTRIBUTION_HEALTH_UNHEALTHY))
		state->recovery_action = (int)actions[told];
}

/*
 * That nothing was found says little without what was looked at. An NVML source with a message may
 * have failed to watch events: then nothing is said of XID errors.
 */
static int say_what_was_read(struct judge *judge, struct error *err)
{
	const struct report_condition *c = &judge->condition;
	const struct report *report = judge->subject->facts->input->report;
	const struct {
		int is_read; /* 1, 0; another: not known */
		struct view name;
	} parts[] = {
		{report->sources.nvml.message.len == 0 ? 1 : -1, VIEW("XID errors")},
		{c->ecc_volatile.uncorrected >= 0, VIEW("ECC")},
		{c->remapped_rows.present || c->retired_pages.present, VIEW("row remapping")},
		{c->recovery != REPORT_RECOVERY_UNREAD, VIEW("recovery action")},
	};
	char text[READ_SIZE];
	int len = snprintf(text, sizeof(text), "%.*s",
			   VIEW_ARG(wording_message(MESSAGE_NOTHING_FOUND)));

	for (int is_read = 1; is_read >= 0; is_read--) {
		const char *separator = is_read ? "; read: " : "; cannot be read here: ";
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			if (parts[i].is_read != is_read)
				continue;
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%.*s", separator,
					VIEW_ARG(parts[i].name));
			separator = ", ";
		}
	}
	assert((size_t)len < sizeof(text));
	if (!arena_copy(judge->subject->arena, (struct view){text, (size_t)len},
			&judge->health.message))
		return error_no_memory(err);
	return 0;
}

/* From worst to best; the first reason gives state and action. A device without any is Healthy. */
static int find_reasons(struct judge *judge, struct error *err)
{
	judge->reasons = arena_alloc(judge->subject->arena, LIMIT_HEALTH_REASONS,
				     sizeof(*judge->reasons));
	if (!judge->reasons)
		return error_no_memory(err);
	if (find_unhealthy(judge, err) < 0 || find_degraded(judge, err) < 0 ||
	    find_unknown(judge, err) < 0)
		return -1;
	heed_driver(judge);
	if (judge->n_reasons == 0 && judge->condition.present)
		return say_what_was_read(judge, err);
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

	judge.was_away = judge.was_missing || previous_had_reason(before, REASON_GPU_LOST);
	if (judge.is_listed && subject->device->reported->condition.present)
		judge.condition = subject->device->reported->condition;
	if (collect_events(&judge, err) < 0 || find_reasons(&judge, err) < 0)
		return -1;
	judge.health.state.reasons =
		(struct array){judge.n_reasons > 0 ? judge.reasons : NULL, judge.n_reasons, true};
	judge.health.state.events =
		(struct array){judge.n_events > 0 ? judge.events : NULL, judge.n_events, true};
	*ret_health = judge.health;
	return 0;
}
