/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A row says what must be so when Attributed has that reason. As a first report is awaited, the reason
 * stays as it was published: then only its causes are asked for.
 */

#include "sim/reasons.h"

#include <string.h>

#include "base/compiler.h"
#include "join/wording.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/illness.h"
#include "sim/kubelet.h"
#include "sim/looks.h"
#include "sim/oracle.h"
#include "sim/overlaps.h"
#include "sim/programs.h"
#include "sim/prompt.h"
#include "sim/world.h"

#define BIT CAUSE_BIT
#define MAX_POSTED 64    /* of a node, the last ones */
#define HEAD_BYTES 4096u /* a report begins with its sources */
#define WRITTEN_MS 1000  /* from a join to its write */
#define BACK_MS 3000u    /* a watch that is back counts after that */

/* What a report says of the kubelet's records, and what the kubelet had told until then. */
struct posted {
	int boot;
	int64_t instance, sequence;
	bool says_unread;  /* neither can be read */
	bool are_withheld; /* and that is so */
	bool is_forged;
};

struct judge {
	const struct attribution_status *status;
	const struct attribution_status *before; /* NULL: there was none */
	int gpu, node;
	uint64_t sent_at;
	const struct posted *report; /* that it is made of; NULL: not known */
	bool is_forged;              /* or may be */
	bool is_heard;               /* the controller has had a report of the node since it started */
	/* Slots of tenants that are Pending, or Unresolved; and of other placeholders. */
	int64_t pending, unresolved, placeholder;
};

static struct posted posted[WORLD_MAX_NODES][MAX_POSTED];
static unsigned n_posted[WORLD_MAX_NODES];
static uint64_t heard_at[WORLD_MAX_NODES][2]; /* the last two that were accepted */

/* Reports */

void reasons_reset(void)
{
	memset(n_posted, 0, sizeof(n_posted));
	memset(heard_at, 0, sizeof(heard_at));
}

void reasons_heard(int node)
{
	heard_at[node][1] = heard_at[node][0];
	heard_at[node][0] = clockwork_now();
}

/* Behind that place of the text, of which a source is the next object. */
static bool is_ok(struct view text, struct view source)
{
	const char *at = memmem(text.ptr, text.len, source.ptr, source.len);
	struct view state = {0};

	if (at)
		state = view_from_offset(text, (size_t)(at - text.ptr) + source.len);
	return view_starts_with(state, VIEW("{\"state\":\"ok\""));
}

void reasons_posted(int node, struct view body, bool is_forged)
{
	const struct view head = {body.ptr, body.len < HEAD_BYTES ? body.len : HEAD_BYTES};
	const struct attribution_report report = illness_report_of(node, body);

	posted[node][n_posted[node]++ % MAX_POSTED] = (struct posted){
		.boot = world.nodes[node].boot,
		.instance = report.instance,
		.sequence = report.sequence,
		.says_unread = !is_ok(head, VIEW("\"podResources\":")) &&
			       !is_ok(head, VIEW("\"checkpoint\":")),
		.are_withheld = kubelet_withholds_records(node),
		.is_forged = is_forged,
	};
}

/* There may be two of one number, and it is not known which of them was taken. */
static void find_report(struct judge *judge)
{
	const struct attribution_report *report = &judge->status->report;
	const struct world_node *node = &world.nodes[judge->node];
	const struct posted *all = posted[judge->node];
	unsigned n = n_posted[judge->node], n_found = 0;

	for (unsigned i = 0; i < n && i < MAX_POSTED; i++) {
		if (all[i].boot != node->boot || all[i].instance != report->instance ||
		    all[i].sequence != report->sequence ||
		    !view_equal(report->boot_id, view_from(node->boot_id)))
			continue;
		judge->report = ++n_found == 1 ? &all[i] : NULL;
		judge->is_forged |= all[i].is_forged;
	}
}

/* What is so */

static enum reason reason_of(const struct attribution_status *status, struct view type)
{
	const struct condition *condition = status ? attribution_find_condition(status, type) : NULL;

	return condition ? wording_reason_of(condition->reason) : REASON_NONE;
}

static bool is_true(const struct attribution_status *status, struct view type)
{
	const struct condition *condition = attribution_find_condition(status, type);

	return condition && condition->status == CONDITION_TRUE;
}

/*
 * The controller was told of the pod, and not of its end. A write that waited for the answer to a question
 * says what was known when it was asked.
 */
static bool is_told(const struct world_pod *pod, uint64_t sent_at)
{
	return pod->known_at < sent_at - ORACLE_ASKED_MS && pod->end_known_at >= sent_at;
}

/* The records call a static pod by its hash, the API server by that of its mirror. */
static bool is_unknown(const struct judge *judge, struct view uid)
{
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		if ((view_equal(uid, view_from(pod->uid)) ||
		     (pod->hash[0] && view_equal(uid, view_from(pod->hash)))) &&
		    is_told(pod, judge->sent_at))
			return false;
	}
	return true;
}

/* By the controller's clock; -1: it was set. */
static int64_t age_of(const struct judge *judge, const struct attribution_tenant *tenant)
{
	const int64_t since_sent = (int64_t)(clockwork_now() - judge->sent_at);

	return cause_since(CAUSE_CLOCK_SET, -1, -1, 0)
		       ? -1
		       : clockwork_wall(CLOCKWORK_CONTROLLER) - since_sent - tenant->start_time;
}

/* Nobody could tell the controller of it, for less than the stated time, or for longer. */
static bool is_phase_so(const struct judge *judge, const struct attribution_tenant *tenant)
{
	const int64_t age = age_of(judge, tenant);

	switch (tenant->phase) {
	case ATTRIBUTION_PHASE_PENDING:
		return is_unknown(judge, tenant->pod_uid) &&
		       (age < PROGRAMS_PENDING_MS + WRITTEN_MS || !judge->is_heard);
	case ATTRIBUTION_PHASE_UNRESOLVED:
		return is_unknown(judge, tenant->pod_uid) && (age < 0 || age >= PROGRAMS_PENDING_MS);
	default:
		return true;
	}
}

static bool are_phases_so(const struct judge *judge)
{
	for (uint32_t i = 0; i < judge->status->tenants.count; i++)
		if (!is_phase_so(judge, ARRAY_AT(judge->status->tenants, struct attribution_tenant, i)))
			return false;
	return true;
}

/* HAMi's ID tells some device of the node. */
static bool is_on(const struct world_container *container, int gpu, int node)
{
	for (int i = 0; i < container->n_slots; i++)
		if (container->slots[i].gpu == gpu || world.nodes[node].mode == WORLD_HAMI)
			return true;
	return false;
}

/* Kubelets before 1.34 list what has ended as long as its object is there. */
static bool may_be_listed(const struct judge *judge, const struct world_pod *pod)
{
	const uint64_t from = clockwork_now() - CAUSE_SETTLING_WEARS_OFF_MS;
	const bool lists_ended = world.nodes[pod->node].kubelet_minor < 34;

	if (pod->node != judge->node || pod->mirror_of >= 0 || pod->claim >= 0)
		return false;
	for (int c = 0; c < pod->n_containers; c++) {
		const struct world_container *container = &pod->containers[c];

		if (container->kind != WORLD_INIT && container->held_from <= judge->sent_at &&
		    (container->held_until >= from || lists_ended) &&
		    is_on(container, judge->gpu, judge->node))
			return true;
	}
	return false;
}

/* The pod of that name that the API server has told of may be another one. */
static bool has_namesake(const struct world_pod *pod)
{
	for (int i = 0; i < world.n_pods; i++)
		if (&world.pods[i] != pod && world_holder(&world.pods[i]) != pod &&
		    strcmp(world.pods[i].name, pod->name) == 0)
			return true;
	return false;
}

/* The records are read one after another, and the API server tells later when the pod started. */
static bool is_new(const struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++)
		if (pod->containers[c].held_from != WORLD_NEVER &&
		    pod->containers[c].held_from >= clockwork_now() - CAUSE_WEARS_OFF_MS)
			return true;
	return false;
}

/* What the checkpoint tells of it by its UID the List does not tell of somebody else. */
static bool is_waited_for(const struct judge *judge, const struct world_pod *pod)
{
	for (uint32_t i = 0; i < judge->status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(judge->status->tenants, struct attribution_tenant, i);

		if (view_equal(tenant->pod_uid, view_from(pod->uid)) &&
		    (tenant->phase == ATTRIBUTION_PHASE_PENDING ||
		     tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED))
			return true;
	}
	return false;
}

/*
 * The List may name somebody on the device by a name that means nobody who is known. What a good
 * checkpoint has as well is known by its UID.
 */
static bool may_be_nameless(const struct judge *judge)
{
	const uint64_t from = clockwork_now() - CAUSE_SETTLING_WEARS_OFF_MS;
	const unsigned unbooked = BIT(CAUSE_RECORDS_FAILED) | BIT(CAUSE_RECORDS_STALE);

	if (judge->is_forged ||
	    cause_since(CAUSE_FORGED, judge->node, judge->gpu, clockwork_now() - CAUSE_WEARS_OFF_MS))
		return true;
	for (int i = 0; i < world.n_pods; i++)
		if (may_be_listed(judge, &world.pods[i]) && !is_waited_for(judge, &world.pods[i]) &&
		    (is_unknown(judge, view_from(world.pods[i].uid)) || is_new(&world.pods[i]) ||
		     has_namesake(&world.pods[i]) ||
		     cause_any_since(unbooked, judge->node, judge->gpu, from)))
			return true;
	return false;
}

/* Rows */

static bool is_pending(const struct judge *judge)
{
	return judge->pending > 0 && judge->unresolved + judge->placeholder == 0 &&
	       are_phases_so(judge);
}

static bool is_unresolved(const struct judge *judge)
{
	const bool is_mixed = judge->pending > 0 ? judge->placeholder > 0 || may_be_nameless(judge)
						 : judge->placeholder > 0 && may_be_nameless(judge);

	return (judge->unresolved > 0 || is_mixed) && are_phases_so(judge);
}

static bool is_pod_unknown(const struct judge *judge)
{
	return judge->pending + judge->unresolved + judge->placeholder == 0 && may_be_nameless(judge);
}

static bool is_placeholder(const struct judge *judge)
{
	return judge->placeholder > 0 && judge->pending + judge->unresolved == 0;
}

static bool is_held_twice(const struct judge *judge)
{
	const unsigned causes = BIT(CAUSE_API_LATE) | BIT(CAUSE_FORGED);
	const unsigned still = judge->before && overlaps_are_said(judge->before)
				       ? BIT(CAUSE_NODE_OFF) /* it takes nothing back */
				       : 0;

	return overlaps_are_there(judge->gpu, clockwork_now() - CAUSE_RELEASE_WEARS_OFF_MS) ||
	       cause_any_since(causes | still, judge->node, judge->gpu,
			       clockwork_now() - CAUSE_WEARS_OFF_MS);
}

static bool is_disputed(const struct judge *judge)
{
	const struct array listed = judge->status->source_disagreements;

	for (uint32_t i = 0; i < listed.count; i++) {
		const struct attribution_disagreement *said =
			ARRAY_AT(listed, struct attribution_disagreement, i);
		const struct attribution_tenant *tenant = attribution_find_tenant(
			judge->status, said->pod_uid, said->container);

		if (!tenant || tenant->confidence != ATTRIBUTION_CONFIDENCE_DISPUTED)
			return false;
	}
	return listed.count > 0;
}

/* What is known of the node's pods is old, or was a moment ago. */
static bool are_pods_unread(const struct judge *judge)
{
	return looks_age(judge->node, judge->sent_at) > 0 ||
	       looks_age(judge->node, judge->sent_at - BACK_MS) > 0;
}

/* The reports of a node that is gone are forgotten. */
static bool has_no_agent(const struct judge *judge)
{
	const uint64_t *at = heard_at[judge->node];
	const uint64_t last = at[0] <= judge->sent_at ? at[0] : at[1];

	return !judge->is_heard || judge->sent_at - last >= PROGRAMS_GONE_MS;
}

/* Until its first report what was published of the device stays. */
static bool is_awaited(const struct judge *judge)
{
	return !judge->is_heard && judge->before != NULL;
}

static bool are_records_unread(const struct judge *judge)
{
	return judge->is_heard &&
	       (!judge->report || (judge->report->says_unread && judge->report->are_withheld));
}

static bool are_records_read(const struct judge *judge)
{
	return !judge->is_heard || !judge->report || !judge->report->says_unread;
}

static bool has_unconfirmed(const struct judge *judge)
{
	for (uint32_t i = 0; i < judge->status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(judge->status->tenants, struct attribution_tenant, i);

		if (tenant->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED &&
		    tenant->placeholder.len == 0)
			return true;
	}
	return false;
}

static bool is_all_resolved(const struct judge *judge)
{
	return judge->is_heard && are_records_read(judge) && !has_unconfirmed(judge);
}

/* In the order of crds/README.md. A reason that has no row must not be said. */
static const struct row {
	enum reason reason;
	int status;
	bool (*is_so)(const struct judge *judge); /* NULL: the causes tell */
	unsigned causes;                          /* one of them must have been there; 0: none need */
	unsigned wears_off_ms;
} rows[] = {
	{REASON_ALL_RESOLVED, CONDITION_TRUE, is_all_resolved, 0, 0},
	{REASON_PENDING, CONDITION_FALSE, is_pending, CAUSES_OF_UNKNOWN, CAUSE_SETTLING_WEARS_OFF_MS},
	{REASON_UNRESOLVED, CONDITION_FALSE, is_unresolved, CAUSES_OF_UNKNOWN, CAUSE_SETTLING_WEARS_OFF_MS},
	{REASON_POD_UNKNOWN, CONDITION_FALSE, is_pod_unknown, CAUSES_OF_UNKNOWN, CAUSE_SETTLING_WEARS_OFF_MS},
	{REASON_PLACEHOLDER, CONDITION_FALSE, is_placeholder, CAUSES_OF_UNKNOWN, CAUSE_SETTLING_WEARS_OFF_MS},
	{REASON_SLOT_HELD_TWICE, CONDITION_FALSE, is_held_twice, 0, 0},
	/* Not RECORDS_FAILED: what a record said last does not contradict what came later. */
	{REASON_SOURCE_DISAGREEMENT, CONDITION_FALSE, is_disputed,
	 BIT(CAUSE_RECORDS_STALE) | BIT(CAUSE_FORGED) | BIT(CAUSE_API_LATE) | BIT(CAUSE_OFFER_CHANGED) |
		 BIT(CAUSE_REPORTS_MISSING) | BIT(CAUSE_CONTROLLER_NEW),
	 CAUSE_SETTLING_WEARS_OFF_MS},
	/* NVML's list is as old as the hang, and lacks MIG devices that were made since. */
	{REASON_UNKNOWN_DEVICE_ID, CONDITION_FALSE, NULL, CAUSES_OF_UNKNOWN | BIT(CAUSE_DRIVER_HANGS),
	 CAUSE_SETTLING_WEARS_OFF_MS},
	{REASON_CLAIMS_UNKNOWN, CONDITION_UNKNOWN, NULL,
	 BIT(CAUSE_SLICES) | BIT(CAUSE_API_LATE) | BIT(CAUSE_CONTROLLER_NEW) |
		 BIT(CAUSE_REPORTS_MISSING), /* nothing bears slices out */
	 CAUSE_WEARS_OFF_MS},
	{REASON_PODS_STALE, CONDITION_UNKNOWN, NULL, BIT(CAUSE_API_LATE) | BIT(CAUSE_CONTROLLER_NEW),
	 CAUSE_WEARS_OFF_MS},
	{REASON_PODS_UNKNOWN, CONDITION_UNKNOWN, are_pods_unread, BIT(CAUSE_DENIED), CAUSE_WEARS_OFF_MS},
	{REASON_NO_AGENT, CONDITION_UNKNOWN, has_no_agent,
	 BIT(CAUSE_NEW_DEVICE) | BIT(CAUSE_AGENTLESS) | BIT(CAUSE_REPORTS_MISSING) |
		 BIT(CAUSE_CONTROLLER_NEW),
	 CAUSE_STALE_WEARS_OFF_MS},
	{REASON_SETTLING, CONDITION_UNKNOWN, NULL,
	 BIT(CAUSE_NEW_DEVICE) | BIT(CAUSE_RECORDS_FAILED) | BIT(CAUSE_OFFER_CHANGED) |
		 BIT(CAUSE_CONTROLLER_NEW) | BIT(CAUSE_REPORTS_MISSING) | BIT(CAUSE_NODE_CLOCK),
	 CAUSE_SETTLING_WEARS_OFF_MS},
	{REASON_SOURCES_FAILED, CONDITION_UNKNOWN, are_records_unread,
	 BIT(CAUSE_RECORDS_FAILED) | BIT(CAUSE_NEW_DEVICE) | BIT(CAUSE_REPORTS_MISSING) |
		 BIT(CAUSE_CONTROLLER_NEW),
	 CAUSE_STALE_WEARS_OFF_MS},
	{REASON_UNCONFIRMED, CONDITION_UNKNOWN, are_records_read, CAUSES_OF_UNKNOWN, CAUSE_SETTLING_WEARS_OFF_MS},
	{REASON_AWAITING_REPORT, CONDITION_UNKNOWN, is_awaited,
	 BIT(CAUSE_CONTROLLER_NEW) | BIT(CAUSE_REPORTS_MISSING), CAUSE_STALE_WEARS_OFF_MS},
};

static const struct row *find_row(enum reason reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].reason == reason)
			return &rows[i];
	return NULL;
}

/* Judging */

static bool is_of_holders(enum reason reason)
{
	return reason == REASON_PENDING || reason == REASON_UNRESOLVED ||
	       reason == REASON_POD_UNKNOWN || reason == REASON_PLACEHOLDER;
}

/* These do not stay as they were published: pods tell when they are over. */
static bool is_of_pods(enum reason reason)
{
	return reason == REASON_PODS_STALE || reason == REASON_PODS_UNKNOWN;
}

static void accuse(const struct judge *judge, const struct condition *condition, const char *what)
{
	oracle_accuse(ORACLE_NO_CAUSE, "%s on node-%d: %.*s is %d for %.*s, and %s",
		      world.gpus[judge->gpu].uuid, judge->node + 1, VIEW_ARG(condition->type),
		      condition->status, VIEW_ARG(condition->reason), what);
}

static void judge_attributed(const struct judge *judge, const struct condition *condition)
{
	const enum reason reason = wording_reason_of(condition->reason);
	const struct row *row = find_row(reason);
	const bool is_kept = !judge->is_heard && !is_of_pods(reason) &&
			     reason_of(judge->before, condition->type) == reason;

	if (!row || condition->status != row->status)
		accuse(judge, condition, "that cannot be");
	else if (row->is_so && !is_kept && !row->is_so(judge))
		accuse(judge, condition, "that is not so");
	else if (row->causes && !cause_any_since(row->causes, judge->node, judge->gpu,
						 clockwork_now() - row->wears_off_ms))
		accuse(judge, condition, "nothing explains it");
}

/* Before the first report holders can only go. */
static bool have_holders_gone(const struct judge *judge)
{
	const struct attribution_status *now = judge->status, *before = judge->before;

	return before && view_equal(before->node_name, now->node_name) &&
	       (before->tenants.count != now->tenants.count ||
		before->unplaced_tenants.count != now->unplaced_tenants.count);
}

/* Of what was wrong with holders only a report tells whether it still is. */
static void judge_kept(const struct judge *judge, const struct condition *condition)
{
	const enum reason reason = wording_reason_of(condition->reason);
	const bool is_wrong = condition->status == CONDITION_FALSE || reason == REASON_UNCONFIRMED;

	if (!judge->is_heard && is_wrong && have_holders_gone(judge) &&
	    reason_of(judge->before, VIEW("ReportFresh")) != REASON_NO_AGENT)
		accuse(judge, condition, "holders have gone since");
}

/* What is wrong must be said, unless something worse is. */
static void judge_unsaid(const struct judge *judge, const struct condition *condition)
{
	const enum reason reason = wording_reason_of(condition->reason);

	if (!judge->is_heard || is_of_holders(reason) || is_of_pods(reason))
		return;
	if (judge->pending + judge->unresolved + judge->placeholder > 0)
		accuse(judge, condition, "a slot is held by a pod that is not known");
	else if (judge->status->source_disagreements.count > 0 &&
		 reason != REASON_SLOT_HELD_TWICE && reason != REASON_SOURCE_DISAGREEMENT)
		accuse(judge, condition, "witnesses contradict each other");
}

/*
 * It follows from the other two. While a first report is awaited it stays as it was, and who holds slots
 * without a name is not counted. DuplicateUUID is of sim/no_cause.c.
 */
static void judge_ready(const struct judge *judge, const struct condition *ready)
{
	const enum reason reason = wording_reason_of(ready->reason);
	const enum reason attributed = reason_of(judge->status, VIEW("Attributed"));
	enum reason expected = attributed;

	if (reason_of(judge->status, VIEW("ReportFresh")) == REASON_NO_AGENT)
		expected = REASON_NO_AGENT;
	else if (!is_true(judge->status, VIEW("ReportFresh")))
		expected = REASON_REPORT_STALE;
	else if (is_true(judge->status, VIEW("Attributed")))
		expected = REASON_CURRENT;
	else if (is_of_holders(attributed) && (judge->is_heard || reason != attributed))
		expected = REASON_UNRESOLVED;
	if (reason == REASON_DUPLICATE_UUID || reason == expected ||
	    (!judge->is_heard && reason == reason_of(judge->before, VIEW("Ready"))))
		return;
	accuse(judge, ready, "that does not follow");
}

static void count_slots(struct judge *judge)
{
	for (uint32_t i = 0; i < judge->status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(judge->status->tenants, struct attribution_tenant, i);

		if (tenant->phase == ATTRIBUTION_PHASE_PENDING)
			judge->pending += tenant->slots;
		else if (tenant->phase == ATTRIBUTION_PHASE_UNRESOLVED)
			judge->unresolved += tenant->slots;
		else if (tenant->placeholder.len > 0 && attribution_is_counted(tenant))
			judge->placeholder += tenant->slots;
	}
}

void reasons_judge(const struct attribution_status *status, const struct attribution_status *before,
		   int gpu, int node, uint64_t sent_at)
{
	const struct condition *attributed = attribution_find_condition(status, VIEW("Attributed"));
	const struct condition *ready = attribution_find_condition(status, VIEW("Ready"));
	struct judge judge = {.status = status, .before = before, .gpu = gpu, .node = node,
			      .sent_at = sent_at};

	if (node < 0 || !attributed || !ready)
		return;
	find_report(&judge);
	judge.is_heard = prompt_has_heard(node, clockwork_now() - sent_at, UINT64_MAX);
	count_slots(&judge);
	judge_attributed(&judge, attributed);
	judge_kept(&judge, attributed);
	judge_unsaid(&judge, attributed);
	judge_ready(&judge, ready);
}
