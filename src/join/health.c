/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Everything that speaks against the device is a finding. All findings are listed, and the worst one
 * gives the state and the condition's reason. What is known to be wrong is worse than not knowing: a
 * device that fell off the bus stays Unhealthy when NVML does not list it any more.
 */

#include "join/health.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/from_resource_claim.h"
#include "join/xid.h"

/* Each kind of error event once; that the device is missing or withdrawn; and that NVML fails. */
#define MAX_FINDINGS (LIMIT_HEALTH_EVENTS + 2)

/*
 * The node's clock tells when an event happened; the controller's tells when a pod was first and last
 * seen as a tenant. Synchronised clocks are much closer together than this. The rest makes up for
 * what is told late: a tenant is seen a moment after it began; and the agent asks for errors at times
 * (--event-interval), when the error may have ended the pod already. If the clocks are further apart,
 * an event may lack a pod whose start is not told, or have one that had left before.
 */
#define TOLD_LATE_MS 2000

/* From good to bad. */
enum severity {
	SEVERITY_NONE,
	SEVERITY_NOT_KNOWN,
	SEVERITY_WITHDRAWN,
	SEVERITY_LOOK_CLOSER,
	SEVERITY_NEEDS_RESET,
	SEVERITY_NEEDS_REBOOT,
};

static const struct {
	enum attribution_health state;
	enum attribution_recovery recovery;
} verdicts[] = {
	[SEVERITY_NONE] = {ATTRIBUTION_HEALTH_HEALTHY, ATTRIBUTION_RECOVERY_NONE},
	[SEVERITY_NOT_KNOWN] = {ATTRIBUTION_HEALTH_UNKNOWN, ATTRIBUTION_RECOVERY_UNSET},
	[SEVERITY_WITHDRAWN] = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNSET},
	[SEVERITY_LOOK_CLOSER] = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN},
	[SEVERITY_NEEDS_RESET] = {ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_RESET},
	[SEVERITY_NEEDS_REBOOT] = {ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT},
};

static const enum severity severities[] = {
	[XID_INFORMATIONAL] = SEVERITY_NONE,        [XID_APPLICATION] = SEVERITY_NONE,
	[XID_LOOK_CLOSER] = SEVERITY_LOOK_CLOSER,   [XID_NEEDS_RESET] = SEVERITY_NEEDS_RESET,
	[XID_NEEDS_REBOOT] = SEVERITY_NEEDS_REBOOT,
};

struct finding {
	enum severity severity;
	int64_t xid; /* of error events */
	struct view reason;
	struct view message;
};

/* A container that held the device from when to when, by the node's clock, as far as is known. */
struct stay {
	struct attribution_event_tenant who;
	int64_t from, until;
};

struct judge {
	const struct facts *facts;
	const struct slots *slots;
	const struct tenants *tenants; /* of the device */
	const struct device *device;
	size_t index;
	const struct previous *before; /* this node's published status; NULL: none */
	struct array published;        /* events, also of another node's status */
	struct arena *arena;
	struct finding findings[MAX_FINDINGS];
	size_t n_findings;
	struct attribution_health_event *events; /* newest first */
	uint32_t n_events;
	struct stay *stays; /* by pod; NULL: not collected yet */
	size_t n_stays;
};

/* Who held the device when */

/*
 * A pod cannot hold the device before it started; the start is cut to the second, so it counts from
 * the end of that second. Where no start is told, since counts; 0: not known either.
 */
static void add_stay(struct judge *judge, struct attribution_event_tenant who, int64_t since,
		     int64_t until)
{
	const struct pod *pod = node_pods_find_uid(&judge->facts->node_pods, who.pod_uid);
	int64_t started_at = pod ? pod_started_at(pod) : 0;
	struct stay *stay = &judge->stays[judge->n_stays++];

	*stay = (struct stay){who, INT64_MAX, until};
	if (pod) {
		stay->who.pod_namespace = pod_namespace(pod);
		stay->who.pod_name = pod_name(pod);
	}
	if (started_at)
		stay->from = started_at + POD_GRANULARITY_MS;
	else if (since)
		stay->from = since - TOLD_LATE_MS;
}

/*
 * A pod that the API server does not know may be nobody, and HAMi's placeholder may be on another
 * device: neither is added. A published tenant that is none now has left, when its end was told.
 */
static void add_tenants(struct judge *judge, struct array tenants, bool are_there)
{
	const struct attribution_tenant *tenant = tenants.items;

	for (uint32_t i = 0; i < tenants.count; i++, tenant++) {
		int64_t until = INT64_MAX;

		if (tenant->phase == ATTRIBUTION_PHASE_PENDING ||
		    tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED ||
		    wording_placeholder_of(tenant->placeholder) == PLACEHOLDER_HAMI)
			continue;
		if (!are_there)
			until = node_pods_ended_at(&judge->facts->node_pods, tenant->pod_uid) +
				TOLD_LATE_MS;
		add_stay(judge,
			 (struct attribution_event_tenant){tenant->pod_uid, tenant->pod_namespace,
							   tenant->pod_name, tenant->container},
			 tenant->start_time, until);
	}
}

static int compare_tenants(const struct attribution_event_tenant *a,
			   const struct attribution_event_tenant *b)
{
	int order = view_compare(a->pod_uid, b->pod_uid);
	return order ? order : view_compare(a->container, b->container);
}

static int by_tenant(const void *a, const void *b)
{
	return compare_tenants(&((const struct stay *)a)->who, &((const struct stay *)b)->who);
}

/* Facts name tenants that the list has no room for too: of these only their start is known. */
static int collect_stays(struct judge *judge, struct error *err)
{
	const struct array published = judge->before ? judge->before->status->tenants
						     : (struct array){0};
	const struct array listed = judge->tenants->listed, recent = judge->tenants->recent;
	const struct attribution_past_tenant *past = recent.items;
	size_t n_facts;
	const struct fact *facts = facts_of(judge->facts, judge->index, &n_facts);
	size_t cap = published.count + listed.count + recent.count + n_facts;

	judge->stays = arena_alloc(judge->arena, cap, sizeof(*judge->stays));
	if (!judge->stays)
		return error_no_memory(err);
	add_tenants(judge, listed, true);
	/* While pods are old, facts are no more than what may be published later. */
	for (size_t i = 0; i < n_facts && judge->facts->input->pods_age == JOIN_PODS_CURRENT; i++)
		if (!facts[i].is_hami)
			add_stay(judge,
				 (struct attribution_event_tenant){
					 .pod_uid = facts[i].owner->pod_uid,
					 .container = facts[i].owner->container,
				 },
				 0, INT64_MAX);
	add_tenants(judge, published, false);
	/* Those that left did so on this node, unless the card comes from another. */
	for (uint32_t i = 0; i < recent.count && !judge->device->is_taken; i++, past++)
		add_stay(judge,
			 (struct attribution_event_tenant){past->pod_uid, past->pod_namespace,
							   past->pod_name, past->container},
			 past->start_time, past->end_time + TOLD_LATE_MS);
	assert(judge->n_stays <= cap);
	qsort(judge->stays, judge->n_stays, sizeof(*judge->stays), by_tenant);
	return 0;
}

static bool held_then(const struct stay *stay, int64_t time)
{
	return stay->from <= time && time <= stay->until;
}

/* The containers that held the device when the event happened, each once. */
static int list_tenants(struct judge *judge, struct attribution_health_event *event, struct error *err)
{
	size_t cap = judge->n_stays < LIMIT_EVENT_TENANTS ? judge->n_stays : LIMIT_EVENT_TENANTS;
	struct attribution_event_tenant *listed = arena_alloc(judge->arena, cap, sizeof(*listed));
	const struct attribution_event_tenant *last = NULL;
	uint32_t n = 0;

	if (!listed)
		return error_no_memory(err);
	for (size_t i = 0; i < judge->n_stays; i++) {
		const struct attribution_event_tenant *who = &judge->stays[i].who;

		if (who->pod_uid.len == 0 || !held_then(&judge->stays[i], event->event_time) ||
		    (last && compare_tenants(last, who) == 0))
			continue;
		last = who;
		if (n < cap)
			listed[n++] = *who;
		else
			event->tenants_left_out++;
	}
	event->tenants = (struct array){n > 0 ? listed : NULL, n, true};
	return 0;
}

/* Events */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b)
{
	const struct attribution_health_event *x = a, *y = b;
	int order = compare(y->event_time, x->event_time);
	return order ? order : compare(x->xid, y->xid);
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
	    devices_find(judge->facts->devices, event->uuid).device != judge->device)
		return 0;
	if (!judge->stays && collect_stays(judge, err) < 0)
		return -1;
	*added = (struct attribution_health_event){
		.xid = event->code,
		.event_time = event->time,
		.meaning = xid_look_up(event->code).meaning,
	};
	judge->n_events++;
	return list_tenants(judge, added, err);
}

/* Those that were published, and the report's new ones. */
static int collect_events(struct judge *judge, struct error *err)
{
	const struct report *report = judge->facts->input->report;
	const struct array told = report ? report->events : (struct array){0};
	const struct array kept = judge->published;

	judge->events = arena_alloc(judge->arena, kept.count + told.count, sizeof(*judge->events));
	if (!judge->events)
		return error_no_memory(err);
	for (uint32_t i = 0; i < kept.count; i++)
		judge->events[judge->n_events++] = *ARRAY_AT(kept, struct attribution_health_event,
							     i);
	for (uint32_t i = 0; i < told.count; i++)
		if (add_event(judge, ARRAY_AT(told, struct report_event, i), err) < 0)
			return -1;
	assert(judge->n_events <= kept.count + told.count);
	qsort(judge->events, judge->n_events, sizeof(*judge->events), by_time);
	if (judge->n_events > LIMIT_HEALTH_EVENTS)
		judge->n_events = LIMIT_HEALTH_EVENTS;
	return 0;
}

/* Findings */

static void find(struct judge *judge, struct finding finding)
{
	assert(judge->n_findings < MAX_FINDINGS);
	judge->findings[judge->n_findings++] = finding;
}

static void find_reason(struct judge *judge, enum severity severity, enum reason reason,
			enum message message)
{
	find(judge, (struct finding){
			    .severity = severity,
			    .reason = wording_reason(reason),
			    .message = wording_message(message),
		    });
}

static bool is_listed(const struct judge *judge)
{
	return judge->facts->devices->nvml == DEVICES_NVML_OK && judge->device->reported;
}

static bool was_missing(const struct judge *judge)
{
	return previous_had_reason(judge->before, REASON_DEVICE_MISSING);
}

/* True when the event was published, and was settled then, or has been since. */
static bool is_history(const struct judge *judge, const struct attribution_health_event *event)
{
	const int64_t booted_after = judge->facts->input->booted_after;

	return has_event(judge->published, event->event_time, event->xid) &&
	       (!previous_had_xid(judge->before, event->xid) ||
		(booted_after > 0 && event->event_time <= booted_after) ||
		(is_listed(judge) && was_missing(judge)));
}

static int find_xid(struct judge *judge, int64_t code, struct error *err)
{
	struct xid xid = xid_look_up(code);
	struct finding finding = {.severity = severities[xid.class], .xid = code};
	char reason[WORDING_XID_SIZE], message[LIMIT_TEXT_MEANING + 32];
	int message_len;

	if (finding.severity == SEVERITY_NONE)
		return 0;
	message_len = snprintf(message, sizeof(message), "XID %" PRId64 ": %.*s", code,
			       VIEW_ARG(xid.meaning));
	if (!arena_copy(judge->arena, wording_xid(code, reason), &finding.reason) ||
	    !arena_copy(judge->arena, (struct view){message, (size_t)message_len},
			&finding.message))
		return error_no_memory(err);
	find(judge, finding);
	return 0;
}

static int by_code(const void *a, const void *b)
{
	return compare(((const struct finding *)a)->xid, ((const struct finding *)b)->xid);
}

static bool has_found(const struct judge *judge, int64_t xid)
{
	for (size_t i = 0; i < judge->n_findings; i++)
		if (judge->findings[i].xid == xid)
			return true;
	return false;
}

static int find_xids(struct judge *judge, struct error *err)
{
	for (uint32_t i = 0; i < judge->n_events; i++) {
		const struct attribution_health_event *event = &judge->events[i];

		if (!has_found(judge, event->xid) && !is_history(judge, event) &&
		    find_xid(judge, event->xid, err) < 0)
			return -1;
	}
	qsort(judge->findings, judge->n_findings, sizeof(judge->findings[0]), by_code);
	return 0;
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
	const struct facts *facts = judge->facts;
	size_t n_slots;
	const struct slot *slots = slots_of(judge->slots, judge->index, &n_slots);

	for (size_t i = 0; i < n_slots; i++)
		if (slots[i].is_offered)
			return false;
	if (!judge->slots->is_offer_known || from_resource_claim_hands_out(facts, judge->index) ||
	    has_nothing_to_offer(judge->device->reported))
		return false;
	if (previous_had_reason(judge->before, REASON_NOT_ADVERTISED))
		return true;
	return !facts->source.is_settling &&
	       (source_is_good(facts->source.pod_resources) ||
		source_is_good(facts->source.checkpoint)) &&
	       (n_slots > 0 || (judge->before && judge->before->status->slots.total > 0));
}

/* A device that was missing when NVML failed is still missing: else its return would not be seen. */
static void find_others(struct judge *judge)
{
	bool is_nvml_ok = judge->facts->devices->nvml == DEVICES_NVML_OK;

	if (!judge->facts->input->report) {
		find_reason(judge, SEVERITY_NOT_KNOWN, REASON_NO_AGENT,
			    MESSAGE_NO_AGENT_FOR_HEALTH);
		return;
	}
	if (!is_listed(judge) && (is_nvml_ok || was_missing(judge)))
		find_reason(judge, SEVERITY_NOT_KNOWN, REASON_DEVICE_MISSING,
			    MESSAGE_DEVICE_MISSING);
	else if (is_withdrawn(judge))
		find_reason(judge, SEVERITY_WITHDRAWN, REASON_NOT_ADVERTISED,
			    MESSAGE_NOT_ADVERTISED);
	if (!is_nvml_ok)
		find_reason(judge, SEVERITY_NOT_KNOWN, REASON_NVML_UNAVAILABLE,
			    MESSAGE_NVML_UNAVAILABLE);
}

static struct finding find_worst(const struct judge *judge)
{
	struct finding worst = {
		.severity = SEVERITY_NONE,
		.reason = wording_reason(REASON_NOTHING_FOUND),
		.message = wording_message(MESSAGE_NOTHING_FOUND),
	};
	for (size_t i = 0; i < judge->n_findings; i++)
		if (judge->findings[i].severity > worst.severity)
			worst = judge->findings[i];
	return worst;
}

static int conclude(const struct judge *judge, struct health *ret_health, struct error *err)
{
	const struct finding worst = find_worst(judge);
	struct view *reasons = arena_alloc(judge->arena, judge->n_findings, sizeof(*reasons));
	uint32_t n = 0;

	if (!reasons)
		return error_no_memory(err);
	while (n < judge->n_findings && n < LIMIT_HEALTH_REASONS) {
		reasons[n] = judge->findings[n].reason;
		n++;
	}
	*ret_health = (struct health){
		.state = {.state = (int)verdicts[worst.severity].state,
			  .recovery_action = (int)verdicts[worst.severity].recovery,
			  .reasons = {n > 0 ? reasons : NULL, n, true},
			  .events = {judge->n_events > 0 ? judge->events : NULL, judge->n_events,
				     true}},
		.reason = worst.reason,
		.message = worst.message,
	};
	return 0;
}

int health_judge(const struct health_device *device, struct arena *arena, struct health *ret_health,
		 struct error *err)
{
	const struct device *its_device = &device->facts->devices->devices[device->index];
	const struct previous *previous = its_device->previous;
	struct judge judge = {
		.facts = device->facts,
		.slots = device->slots,
		.tenants = device->tenants,
		.device = its_device,
		.index = device->index,
		.before = its_device->published,
		.published = previous ? previous->status->health.events : (struct array){0},
		.arena = arena,
	};

	assert(device->index < device->facts->devices->n_devices);
	if (collect_events(&judge, err) < 0 || find_xids(&judge, err) < 0)
		return -1;
	find_others(&judge);
	return conclude(&judge, ret_health, err);
}
