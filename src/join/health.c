/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Everything that speaks against the device is a finding. The worst one gives the state and the
 * condition's reason; all of them are listed. What is known to be wrong is worse than not knowing: a
 * device that fell off the bus stays Unhealthy when NVML then stops listing it.
 */

#include "join/health.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/claimant.h"
#include "join/xid.h"

/* Each kind of error event once, and what is no error event: that the device is missing or withdrawn,
 * and that NVML is not available. */
#define MAX_FINDINGS (LIMIT_HEALTH_EVENTS + 2)

/*
 * When an event happened is told by the node's clock, and when a pod was first and last seen as a
 * tenant by the controller's. Clocks that somebody keeps are much closer together than this; the
 * rest makes up for what is told late: a tenant is seen a moment after it began, and an error when
 * the agent asks for it (--event-interval), by which time it may have ended the pod. Where clocks are further apart an
 * event may lack a pod whose start is not told, or have one that had left before.
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
	int state;    /* enum attribution_health */
	int recovery; /* enum attribution_recovery */
} verdicts[] = {
	[SEVERITY_NONE] = {ATTRIBUTION_HEALTH_HEALTHY, ATTRIBUTION_RECOVERY_NONE},
	[SEVERITY_NOT_KNOWN] = {ATTRIBUTION_HEALTH_UNKNOWN, ATTRIBUTION_RECOVERY_UNSET},
	[SEVERITY_WITHDRAWN] = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNSET},
	[SEVERITY_LOOK_CLOSER] = {ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN},
	[SEVERITY_NEEDS_RESET] = {ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_RESET},
	[SEVERITY_NEEDS_REBOOT] = {ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT},
};

struct finding {
	enum severity severity;
	int64_t xid; /* of error events */
	struct view reason;
	struct view message;
};

/* A pod that held the device from when to when, by the node's clock, as far as that is known. */
struct stay {
	struct view pod_uid;
	int64_t from, until;
};

struct judge {
	const struct facts *facts;
	const struct slots *slots;
	const struct tenants *tenants; /* of the device */
	const struct device *device;
	const struct attribution_status *published; /* NULL: none */
	const struct previous *before;              /* the same, typed */
	size_t index;
	struct arena *arena;
	struct finding findings[MAX_FINDINGS];
	size_t n_findings;
	struct attribution_health_event *events; /* newest first */
	uint32_t n_events;
	struct stay *holders; /* by pod; NULL: not collected yet */
	size_t n_holders;
};

/* Published events */

static struct array published_events(const struct judge *judge)
{
	const struct join_previous *previous = judge->device->object;
	return previous ? previous->object->status.health.events : (struct array){0};
}

static bool has_event(const struct judge *judge, int64_t time, int64_t code)
{
	for (uint32_t i = 0; i < judge->n_events; i++) {
		if (judge->events[i].time == time && judge->events[i].xid == code)
			return true;
	}
	return false;
}

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b)
{
	const struct attribution_health_event *x = a, *y = b;
	int order = compare(y->time, x->time);
	return order ? order : compare(x->xid, y->xid);
}

/* Who held the device when */

/* Where the pod's start is told, by the node's clock as events are, that decides: before the end of
 * that second it need not have had the device. A since of 0 is not known. */
static void add_holder(struct judge *judge, struct view uid, int64_t since, int64_t until)
{
	const struct pod *pod = node_pods_find_uid(&judge->facts->node_pods, uid);
	int64_t started_at = pod ? pod_started_at(pod) : 0;
	struct stay *holder = &judge->holders[judge->n_holders++];

	*holder = (struct stay){uid, INT64_MAX, until};
	if (started_at)
		holder->from = started_at + POD_GRANULARITY_MS;
	else if (since)
		holder->from = since - TOLD_LATE_MS;
}

/* Who was published, and is no tenant now, left at some time before now; what is published may be
 * old, where writes were not accepted. */
static int64_t left_by(const struct judge *judge, struct view uid)
{
	return node_pods_ended_at(&judge->facts->node_pods, uid) + TOLD_LATE_MS;
}

/* Whom the API server does not know may be nobody, and HAMi's stand-in may be on another device; what
 * stands in an event stays there. */
static void add_tenants(struct judge *judge, struct array tenants, bool are_there)
{
	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(tenants, struct attribution_tenant, i);
		if (tenant->phase != ATTRIBUTION_PHASE_PENDING &&
		    tenant->phase != ATTRIBUTION_PHASE_UNRESOLVED &&
		    wording_placeholder_of(tenant->stand_in) != PLACEHOLDER_HAMI)
			add_holder(judge, tenant->pod_uid, tenant->since,
				   are_there ? INT64_MAX : left_by(judge, tenant->pod_uid));
	}
}

/* Those that left, on this node. */
static void add_past_tenants(struct judge *judge, struct array recent)
{
	for (uint32_t i = 0; i < recent.count && !judge->device->is_taken; i++) {
		const struct attribution_past_tenant *past =
			ARRAY_AT(recent, struct attribution_past_tenant, i);
		add_holder(judge, past->pod_uid, past->since, past->until + TOLD_LATE_MS);
	}
}

/* Those beyond the bound of the tenants' list are among them: of these nothing but their start is
 * known. */
static void add_holdings(struct judge *judge, const struct fact *items, size_t n_items)
{
	for (size_t i = 0; i < n_items; i++) {
		if (!items[i].is_hami)
			add_holder(judge, items[i].owner->pod_uid, 0, INT64_MAX);
	}
}

static int by_pod(const void *a, const void *b)
{
	return view_compare(((const struct stay *)a)->pod_uid,
			    ((const struct stay *)b)->pod_uid);
}

static int collect_holders(struct judge *judge, struct error *err)
{
	const struct array published = judge->published ? judge->published->tenants
							: (struct array){0};
	const struct tenants *tenants = judge->tenants;
	size_t n_items;
	const struct fact *items = facts_of(judge->facts, judge->index, &n_items);

	size_t cap = published.count + tenants->listed.count + tenants->recent.count + n_items;

	judge->holders = arena_alloc(judge->arena, cap, sizeof(*judge->holders));
	if (!judge->holders)
		return error_no_memory(err);
	add_tenants(judge, tenants->listed, true);
	add_holdings(judge, items, n_items);
	add_tenants(judge, published, false);
	add_past_tenants(judge, tenants->recent);
	assert(judge->n_holders <= cap);
	qsort(judge->holders, judge->n_holders, sizeof(*judge->holders), by_pod);
	return 0;
}

static bool held_then(const struct judge *judge, size_t i, int64_t time)
{
	return judge->holders[i].from <= time && time <= judge->holders[i].until;
}

/* The pods that held the device when the event happened, each once. */
static int list_pods(struct judge *judge, struct attribution_health_event *event, struct error *err)
{
	struct view last = {0};
	struct view *uids;
	uint32_t n_max = 0, n = 0;

	for (size_t i = 0; i < judge->n_holders && n_max < LIMIT_EVENT_TENANTS; i++)
		n_max += held_then(judge, i, event->time);
	uids = arena_alloc(judge->arena, n_max, sizeof(*uids));
	if (!uids)
		return error_no_memory(err);
	for (size_t i = 0; i < judge->n_holders; i++) {
		struct view uid = judge->holders[i].pod_uid;
		if (!held_then(judge, i, event->time) || view_equal(uid, last))
			continue;
		last = uid;
		if (n < n_max)
			uids[n++] = uid;
		else
			event->tenants_left_out++;
	}
	assert(n <= n_max && n <= LIMIT_EVENT_TENANTS);
	event->tenants = (struct array){n > 0 ? uids : NULL, n, true};
	return 0;
}

/* Collecting events */

static bool is_about(const struct judge *judge, const struct report_event *event)
{
	return event->type == REPORT_EVENT_XID &&
	       devices_find(judge->facts->devices, event->uuid).device == judge->device;
}

static int add_event(struct judge *judge, const struct report_event *event, struct error *err)
{
	struct attribution_health_event *added = &judge->events[judge->n_events];

	if (!is_about(judge, event) || has_event(judge, event->time, event->code))
		return 0;
	if (!judge->holders && collect_holders(judge, err) < 0)
		return -1;
	*added = (struct attribution_health_event){
		.xid = event->code,
		.time = event->time,
		.meaning = xid_look_up(event->code).meaning,
	};
	judge->n_events++;
	return list_pods(judge, added, err);
}

/* Those that were published, and the report's new ones. */
static int collect_events(struct judge *judge, struct error *err)
{
	const struct report *report = judge->facts->input->report;
	const struct array new = report ? report->events : (struct array){0};
	const struct array kept = published_events(judge);

	judge->events = arena_alloc(judge->arena, kept.count + new.count, sizeof(*judge->events));
	if (!judge->events)
		return error_no_memory(err);
	for (uint32_t i = 0; i < kept.count; i++)
		judge->events[judge->n_events++] =
			*ARRAY_AT(kept, struct attribution_health_event, i);
	for (uint32_t i = 0; i < new.count; i++) {
		if (add_event(judge, ARRAY_AT(new, struct report_event, i), err) < 0)
			return -1;
	}
	assert(judge->n_events <= kept.count + new.count);
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

static bool has_found(const struct judge *judge, int64_t xid)
{
	for (size_t i = 0; i < judge->n_findings; i++) {
		if (judge->findings[i].xid == xid)
			return true;
	}
	return false;
}

static bool was_published(const struct judge *judge, const struct attribution_health_event *event)
{
	const struct array kept = published_events(judge);
	for (uint32_t i = 0; i < kept.count; i++) {
		const struct attribution_health_event *k =
			ARRAY_AT(kept, struct attribution_health_event, i);
		if (k->time == event->time && k->xid == event->xid)
			return true;
	}
	return false;
}

static bool is_listed(const struct judge *judge)
{
	return judge->facts->devices->nvml == DEVICES_NVML_OK && judge->device->reported;
}

/* It was published, and has been settled, then or since. */
static bool is_history(const struct judge *judge, const struct attribution_health_event *event)
{
	const int64_t booted_after = judge->facts->input->booted_after;
	if (!was_published(judge, event))
		return false;
	return !previous_had_xid(judge->before, event->xid) ||
	       (booted_after > 0 && event->time <= booted_after) ||
	       (is_listed(judge) && previous_had_reason(judge->before, REASON_DEVICE_MISSING));
}

static int find_xid(struct judge *judge, int64_t code, struct error *err)
{
	struct xid xid = xid_look_up(code);
	struct finding finding = {.xid = code};
	char reason[WORDING_XID_SIZE], message[LIMIT_TEXT_MEANING + 32];
	int message_len;

	switch (xid.class) {
	case XID_INFORMATIONAL:
	case XID_APPLICATION:
		return 0;
	case XID_LOOK_CLOSER:
		finding.severity = SEVERITY_LOOK_CLOSER;
		break;
	case XID_NEEDS_RESET:
		finding.severity = SEVERITY_NEEDS_RESET;
		break;
	case XID_NEEDS_REBOOT:
		finding.severity = SEVERITY_NEEDS_REBOOT;
		break;
	}
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
	const struct attribution_status *published = judge->published;
	size_t n_slots;
	const struct slot *slots = slot_items(judge->slots, judge->index, &n_slots);

	for (size_t i = 0; i < n_slots; i++) {
		if (slots[i].is_offered)
			return false;
	}
	if (!judge->slots->is_offer_known || claimant_is_sliced(facts, judge->index) ||
	    has_nothing_to_offer(judge->device->reported))
		return false;
	if (previous_had_reason(judge->before, REASON_NOT_ADVERTISED))
		return true;
	return !facts->is_settling &&
	       (facts->list == BOOK_OK || facts->checkpoint == BOOK_OK) &&
	       (n_slots > 0 || (published && published->slots.total > 0));
}

static void find_others(struct judge *judge)
{
	bool is_nvml_ok = judge->facts->devices->nvml == DEVICES_NVML_OK;

	if (!judge->facts->input->report) {
		find(judge, (struct finding){
				    .severity = SEVERITY_NOT_KNOWN,
				    .reason = wording_reason(REASON_NO_AGENT),
				    .message = wording_message(MESSAGE_NO_AGENT_FOR_HEALTH),
			    });
		return;
	}
	/* What was missing when NVML went quiet still is, or its return would not be seen. */
	if (!is_listed(judge) && (is_nvml_ok || previous_had_reason(judge->before, REASON_DEVICE_MISSING)))
		find(judge, (struct finding){
				    .severity = SEVERITY_NOT_KNOWN,
				    .reason = wording_reason(REASON_DEVICE_MISSING),
				    .message = wording_message(MESSAGE_DEVICE_MISSING),
			    });
	else if (is_withdrawn(judge))
		find(judge, (struct finding){
				    .severity = SEVERITY_WITHDRAWN,
				    .reason = wording_reason(REASON_NOT_ADVERTISED),
				    .message = wording_message(MESSAGE_NOT_ADVERTISED),
			    });
	if (!is_nvml_ok)
		find(judge, (struct finding){
				    .severity = SEVERITY_NOT_KNOWN,
				    .reason = wording_reason(REASON_NVML_UNAVAILABLE),
				    .message = wording_message(MESSAGE_NVML_UNAVAILABLE),
			    });
}

static struct finding find_worst(const struct judge *judge)
{
	struct finding worst = {
		.severity = SEVERITY_NONE,
		.reason = wording_reason(REASON_NOTHING_FOUND),
		.message = wording_message(MESSAGE_NOTHING_FOUND),
	};
	for (size_t i = 0; i < judge->n_findings; i++) {
		if (judge->findings[i].severity > worst.severity)
			worst = judge->findings[i];
	}
	return worst;
}

static int list_reasons(const struct judge *judge, struct array *ret_reasons, struct error *err)
{
	struct view *reasons = arena_alloc(judge->arena, judge->n_findings, sizeof(*reasons));
	uint32_t n = 0;
	if (!reasons)
		return error_no_memory(err);
	for (size_t i = 0; i < judge->n_findings && n < LIMIT_HEALTH_REASONS; i++)
		reasons[n++] = judge->findings[i].reason;
	*ret_reasons = (struct array){n > 0 ? reasons : NULL, n, true};
	return 0;
}

int health_judge(const struct slots *slots, const struct facts *facts, size_t device,
		 const struct tenants *tenants, struct arena *arena, struct health *ret_health,
		 struct error *err)
{
	const struct device *its_device = &facts->devices->devices[device];
	struct judge judge = {
		.facts = facts,
		.slots = slots,
		.tenants = tenants,
		.device = its_device,
		.published = devices_published(its_device),
		.before = its_device->published,
		.index = device,
		.arena = arena,
	};
	struct array reasons;

	if (collect_events(&judge, err) < 0 || find_xids(&judge, err) < 0)
		return -1;
	find_others(&judge);
	if (list_reasons(&judge, &reasons, err) < 0)
		return -1;
	struct finding worst = find_worst(&judge);
	*ret_health = (struct health){
		.state = {.state = verdicts[worst.severity].state,
			  .recovery_action = verdicts[worst.severity].recovery,
			  .reasons = reasons,
			  .events = {judge.n_events > 0 ? judge.events : NULL, judge.n_events,
				     true}},
		.reason = worst.reason,
		.message = worst.message,
	};
	return 0;
}
