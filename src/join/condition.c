/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Messages hold no number but the one of unresolved slots, and the agent's words for why a source
 * fails: a status is written when one changes.
 */

#include "join/condition.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "join/claimant.h"

struct verdict {
	int status; /* enum condition_status */
	struct view reason;
	struct view message;
};

#define UNPLACED_REASON VIEW("UnknownDeviceID")

enum type {
	TYPE_ATTRIBUTED,
	TYPE_DRIFTED,
	TYPE_HEALTHY,
	TYPE_READY,
	TYPE_REPORT_FRESH,
	N_TYPES,
};

static const struct view type_names[N_TYPES] = {
	VIEW_INIT("Attributed"), VIEW_INIT("Drifted"),     VIEW_INIT("Healthy"),
	VIEW_INIT("Ready"),      VIEW_INIT("ReportFresh"),
};

static const struct view no_agent = VIEW_INIT("NoAgent");

static int count_message(int64_t n, const char *rest, struct arena *arena, struct view *ret,
			 struct error *err)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "%" PRId64 " %s %s", n,
			   n == 1 ? "slot is" : "slots are", rest);
	assert(len > 0 && (size_t)len < sizeof(text));
	return arena_copy(arena, (struct view){text, (size_t)len}, ret) ? 0 : error_no_memory(err);
}

/* Sources that fail */

struct complaint {
	const char *name; /* as the report calls it */
	const struct report_source *source;
};

static bool is_well(const struct report_source *source)
{
	return source->state == REPORT_SOURCE_OK;
}

static struct view reason_of(const struct report_source *source)
{
	return source->message.len > 0 ? source->message : VIEW("no reason was given");
}

/* Puts behind the message why those sources fail, if any of them does. */
static int complain(const struct complaint *complaints, size_t n, struct arena *arena,
		    struct view *message, struct error *err)
{
	size_t cap = message->len + sizeof(")"), len = message->len;
	char *text;

	for (size_t i = 0; i < n; i++)
		cap += sizeof("; : ") + strlen(complaints[i].name) +
		       reason_of(complaints[i].source).len;
	text = arena_alloc(arena, cap, 1);
	if (!text)
		return error_no_memory(err);
	snprintf(text, cap, "%.*s", VIEW_ARG(*message));
	for (size_t i = 0; i < n; i++) {
		if (is_well(complaints[i].source))
			continue;
		len += (size_t)snprintf(text + len, cap - len, "%s%s: %.*s",
					len == message->len ? " (" : "; ", complaints[i].name,
					VIEW_ARG(reason_of(complaints[i].source)));
	}
	if (len > message->len)
		len += (size_t)snprintf(text + len, cap - len, ")");
	assert(len < cap);
	*message = (struct view){text, len};
	return 0;
}

/* Attributed */

static int judge_unresolved(const struct tenants *tenants, struct arena *arena,
			    struct verdict *ret_verdict, struct error *err)
{
	const char *rest = "held by a pod that the API server does not know";
	struct verdict verdict = {.status = CONDITION_FALSE, .reason = VIEW("Unresolved")};

	if (tenants->slots_unresolved == tenants->slots_pending) {
		verdict.reason = VIEW("Pending");
		rest = "held by a pod that the API server does not know yet";
	} else if (tenants->slots_unresolved == tenants->slots_nameless) {
		verdict.reason = VIEW("PodUnknown");
		rest = "held by nobody who could be told";
	} else if (tenants->slots_unresolved == tenants->slots_stand_in) {
		verdict.reason = VIEW("StandIn");
		rest = "held by a stand-in for pods that could not be told";
	} else if (tenants->slots_nameless + tenants->slots_stand_in > 0) {
		rest = "held by pods of which not all could be told";
	}
	if (count_message(tenants->slots_unresolved, rest, arena, &verdict.message, err) < 0)
		return -1;
	*ret_verdict = verdict;
	return 0;
}

static struct view resolved_by(const struct report_sources *sources)
{
	if (sources && !is_well(&sources->checkpoint))
		return VIEW(
			"every slot that is held has a pod; without the kubelet's checkpoint whom "
			"only PodResources names is known by name alone");
	if (sources && !is_well(&sources->pod_resources))
		return VIEW("every slot that is held has a pod, by what is known without "
			    "PodResources");
	return VIEW("every slot that is held has a pod");
}

/* The ID as the device plugin made it up: it is nowhere else in the status. */
static int judge_odd(const struct unplaced *unplaced, struct arena *arena,
		     struct verdict *ret_verdict, struct error *err)
{
	struct verdict verdict = {.status = CONDITION_FALSE, .reason = UNPLACED_REASON};
	char text[LIMIT_TEXT_DEVICE_ID + 128];
	int len = snprintf(text, sizeof(text), "a tenant holds a device ID of no known form: %.*s",
			   VIEW_ARG(unplaced->odd_id));

	if (unplaced->n_odd > 1)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " and %zu more",
				unplaced->n_odd - 1);
	assert(len > 0 && (size_t)len < sizeof(text));
	if (!arena_copy(arena, (struct view){text, (size_t)len}, &verdict.message))
		return error_no_memory(err);
	*ret_verdict = verdict;
	return 0;
}

/*
 * It has none of its witnesses any more, but none of them has said that it left either. A stand-in
 * that is unconfirmed has witnesses: they do not say which device they mean.
 */
static bool has_unconfirmed(const struct tenants *tenants)
{
	for (uint32_t i = 0; i < tenants->listed.count; i++) {
		const struct attribution_tenant *tenant = ARRAY_AT(tenants->listed,
								   struct attribution_tenant, i);
		if (tenant->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED &&
		    tenant->stand_in.len == 0)
			return true;
	}
	return false;
}

static const struct verdict old_pods[] = {
	[JOIN_PODS_STALE] = {
		CONDITION_UNKNOWN, VIEW_INIT("PodsStale"),
		VIEW_INIT("the controller's watch of pods, or of nodes, has been away for more than "
			  "10 s: tenants are as they were known before")},
	[JOIN_PODS_DENIED] = {
		CONDITION_UNKNOWN, VIEW_INIT("PodsUnknown"),
		VIEW_INIT("the controller may no longer read pods, grant the verbs list and watch: "
			  "tenants are as they were known before")},
};

static const struct verdict old_claims = {
	CONDITION_UNKNOWN, VIEW_INIT("ClaimsUnknown"),
	VIEW_INIT("the controller cannot read ResourceClaims or ResourceSlices at present, see its "
		  "/readyz: tenants are as they were known before")};

/* It is handed out by claims, and they do not tell to whom. */
static struct verdict judge_claims(const struct condition_facts *facts)
{
	if (facts->is_nameless)
		return (struct verdict){
			CONDITION_UNKNOWN, wording_reason(REASON_RESERVED_OTHERWISE),
			VIEW("a ResourceClaim that a pod of the node uses has the device, and is "
			     "reserved for what is no pod, a PodGroup: which pods use it is not "
			     "known")};
	if (!facts->is_unread)
		return old_claims;
	return (struct verdict){
		CONDITION_UNKNOWN, VIEW("ClaimsUnknown"),
		VIEW("a pod of the node uses a ResourceClaim, and which device that gives it is "
		     "not known: ResourceClaims or ResourceSlices cannot be read, or are not "
		     "complete")};
}

/* Of whom the API server has not told us, it may know. What was held twice, or is nameless, stays. */
static struct verdict judge_old(const struct condition_facts *facts)
{
	if (facts->overlap.len > 0)
		return (struct verdict){CONDITION_FALSE, OVERLAP_REASON, facts->overlap};
	return facts->is_nameless ? judge_claims(facts) : old_pods[facts->pods_age];
}

static int judge_attributed(const struct condition_facts *facts, struct arena *arena,
			    struct verdict *ret_verdict, struct error *err)
{
	assert(facts->tenants && facts->health && facts->disagreements && facts->unplaced);
	if (facts->pods_age != JOIN_PODS_CURRENT) {
		*ret_verdict = judge_old(facts);
		return 0;
	}
	if (facts->tenants->slots_unresolved > 0)
		return judge_unresolved(facts->tenants, arena, ret_verdict, err);
	if (facts->overlap.len > 0)
		*ret_verdict = (struct verdict){CONDITION_FALSE, OVERLAP_REASON, facts->overlap};
	else if (facts->disagreements->listed.count > 0)
		*ret_verdict = (struct verdict){
			CONDITION_FALSE, VIEW("SourceDisagreement"),
			VIEW("witnesses contradict each other: see sourceDisagreement")};
	else if (facts->unplaced->listed.count > 0)
		*ret_verdict = (struct verdict){
			CONDITION_FALSE, UNPLACED_REASON,
			VIEW("a pod of the node holds a device ID that is no known device's: see "
			     "unplacedTenants")};
	else if (facts->unplaced->n_odd > 0)
		return judge_odd(facts->unplaced, arena, ret_verdict, err);
	else if (facts->is_nameless || facts->is_unread || facts->are_claims_old)
		*ret_verdict = judge_claims(facts);
	else if (facts->is_agentless)
		*ret_verdict = (struct verdict){
			CONDITION_UNKNOWN, no_agent,
			VIEW("tenants are those that the status of pods and claims name: init "
			     "containers are not among them")};
	else if (facts->is_settling)
		*ret_verdict = (struct verdict){
			CONDITION_UNKNOWN, VIEW("Settling"),
			VIEW("the kubelet started anew, and its List is not complete yet")};
	else if (!facts->is_book_readable)
		*ret_verdict = (struct verdict){
			CONDITION_UNKNOWN, VIEW("SourcesFailed"),
			VIEW("neither PodResources nor the kubelet's checkpoint can be read")};
	else if (has_unconfirmed(facts->tenants))
		*ret_verdict = (struct verdict){
			CONDITION_UNKNOWN, VIEW("Unconfirmed"),
			VIEW("no witness names a tenant any more, and none has said that it left: "
			     "see its confidence")};
	else
		*ret_verdict = (struct verdict){CONDITION_TRUE, VIEW("AllResolved"),
						resolved_by(facts->sources)};
	return 0;
}

/* Processes that are not looked for are no failure. */
static int explain_attributed(const struct condition_facts *facts, struct arena *arena,
			      struct verdict *verdict, struct error *err)
{
	const struct report_sources *sources = facts->sources;
	if (!sources)
		return 0;
	const struct complaint complaints[] = {
		{"podResources", &sources->pod_resources},
		{"checkpoint", &sources->checkpoint},
		{"processes", &sources->processes},
	};
	size_t n = sources->processes.state == REPORT_SOURCE_ERROR ? 3 : 2;
	return complain(complaints, n, arena, &verdict->message, err);
}

static struct verdict judge_drifted(const struct condition_facts *facts)
{
	if (facts->intent == ATTRIBUTION_INTENT_UNMANAGED)
		return (struct verdict){CONDITION_UNKNOWN, VIEW("Unmanaged"),
					VIEW("there is no ClusterPolicy")};
	return (struct verdict){CONDITION_UNKNOWN, VIEW("NotAssessed"),
				VIEW("the device was not compared with a policy")};
}

static int judge_healthy(const struct condition_facts *facts, struct arena *arena,
			 struct verdict *ret_verdict, struct error *err)
{
	struct verdict verdict = {CONDITION_FALSE, facts->health->reason, facts->health->message};
	if (facts->health->state.state == ATTRIBUTION_HEALTH_HEALTHY)
		verdict.status = CONDITION_TRUE;
	else if (facts->health->state.state == ATTRIBUTION_HEALTH_UNKNOWN)
		verdict.status = CONDITION_UNKNOWN;
	if (facts->sources && complain(&(struct complaint){"nvml", &facts->sources->nvml}, 1, arena,
				       &verdict.message, err) < 0)
		return -1;
	*ret_verdict = verdict;
	return 0;
}

static struct verdict judge_fresh(bool is_fresh, bool is_agentless)
{
	if (is_agentless)
		return (struct verdict){
			CONDITION_FALSE, no_agent,
			VIEW("no agent has reported for the node since the controller started")};
	if (is_fresh)
		return (struct verdict){CONDITION_TRUE, VIEW("ReportReceived"),
					VIEW("the node's agent reports")};
	return (struct verdict){CONDITION_FALSE, VIEW("AgentSilent"),
				VIEW("the node's agent has not reported for long")};
}

static const struct verdict report_stale = {
	CONDITION_UNKNOWN, VIEW_INIT("ReportStale"),
	VIEW_INIT("this is the last that was known: the node's agent is silent")};

static const struct verdict agentless = {
	CONDITION_UNKNOWN, VIEW_INIT("NoAgent"),
	VIEW_INIT("no agent reports for the node: only what the API server says is known")};

static struct verdict judge_ready(const struct condition_facts *facts,
				  const struct verdict *attributed)
{
	if (facts->is_duplicate)
		return (struct verdict){CONDITION_FALSE, VIEW("DuplicateUUID"),
					VIEW("another node reports a device with this UUID")};
	if (facts->is_agentless)
		return agentless;
	if (!facts->is_fresh)
		return report_stale;
	if (attributed->status == CONDITION_FALSE)
		return (struct verdict){CONDITION_FALSE,
					facts->tenants->slots_unresolved > 0 ? VIEW("Unresolved")
									     : attributed->reason,
					attributed->message};
	if (attributed->status == CONDITION_UNKNOWN)
		return *attributed;
	return (struct verdict){CONDITION_TRUE, VIEW("Current"),
				VIEW("the report is fresh and every held slot has a pod")};
}

/* 1970 is the time in a condition that nobody has set yet. */
static struct condition finish(struct verdict verdict, struct view type,
			       const struct attribution_status *published, int64_t now_wall_ms)
{
	const struct condition *before = published ? attribution_find_condition(published, type)
						   : NULL;
	bool is_same = before && before->status == verdict.status && before->last_transition_time;
	return (struct condition){
		.type = type,
		.status = verdict.status,
		.last_transition_time = is_same ? before->last_transition_time : now_wall_ms,
		.reason = verdict.reason,
		.message = verdict.message,
	};
}

int condition_make(const struct condition_facts *facts, const struct attribution_status *published,
		   int64_t generation, int64_t now_wall_ms, struct arena *arena,
		   struct array *ret_conditions, struct error *err)
{
	struct condition *conditions = arena_alloc(arena, N_TYPES, sizeof(*conditions));
	struct verdict verdicts[N_TYPES];

	if (!conditions)
		return error_no_memory(err);
	if (judge_attributed(facts, arena, &verdicts[TYPE_ATTRIBUTED], err) < 0 ||
	    explain_attributed(facts, arena, &verdicts[TYPE_ATTRIBUTED], err) < 0 ||
	    judge_healthy(facts, arena, &verdicts[TYPE_HEALTHY], err) < 0)
		return -1;
	verdicts[TYPE_DRIFTED] = judge_drifted(facts);
	verdicts[TYPE_READY] = judge_ready(facts, &verdicts[TYPE_ATTRIBUTED]);
	verdicts[TYPE_REPORT_FRESH] = judge_fresh(facts->is_fresh, facts->is_agentless);
	for (size_t i = 0; i < N_TYPES; i++) {
		conditions[i] = finish(verdicts[i], type_names[i], published, now_wall_ms);
		conditions[i].observed_generation = generation;
	}
	*ret_conditions = (struct array){conditions, N_TYPES, true};
	return 0;
}

static const struct verdict awaited = {
	CONDITION_UNKNOWN, VIEW_INIT("AwaitingReport"),
	VIEW_INIT("several pods held one slot: the node's next report tells who has it now")};

/* As it was said, maybe with why sources fail behind it, or of more. */
static bool is_still_held_twice(const struct condition *before, struct view overlap)
{
	struct view message = before->message;

	if (overlap.len == 0 || overlap.len > message.len)
		return overlap.len > 0;
	if (overlap.len == message.len)
		return view_equal(overlap, message);
	return view_starts_with(message, overlap) &&
	       view_starts_with(view_from_offset(message, overlap.len), VIEW(" ("));
}

static const struct verdict awaited_pods = {
	CONDITION_UNKNOWN, VIEW_INIT("AwaitingReport"),
	VIEW_INIT("Pods are read again: the node's next report tells who is on the device now")};

static const struct verdict awaited_claims = {
	CONDITION_UNKNOWN, VIEW_INIT("AwaitingReport"),
	VIEW_INIT("ResourceClaims and ResourceSlices are read again: the node's next report tells "
		  "who is on the device now")};

static const struct verdict awaited_ids = {
	CONDITION_UNKNOWN, VIEW_INIT("AwaitingReport"),
	VIEW_INIT("the pods that held unknown device IDs are gone: the node's next report tells "
		  "whether others hold any")};

/* The list said whom it was about, and nobody is left. */
static bool is_emptied(const struct condition *before, const struct attribution_status *published,
		       const struct unplaced *unplaced)
{
	return view_equal(before->reason, UNPLACED_REASON) &&
	       published->unplaced_tenants.count > 0 && unplaced->listed.count == 0 &&
	       unplaced->left_out == 0;
}

static bool says_old_pods(const struct condition *before)
{
	return view_equal(before->reason, old_pods[JOIN_PODS_STALE].reason) ||
	       view_equal(before->reason, old_pods[JOIN_PODS_DENIED].reason);
}

/* What is known of pods or claims is old: that says nothing of what was not well before. */
static const struct verdict *find_old(const struct condition *before,
				      const struct condition_facts *facts)
{
	bool is_of_tenants = view_equal(before->type, type_names[TYPE_ATTRIBUTED]) ||
			     view_equal(before->type, type_names[TYPE_READY]);
	bool are_pods_old = facts->pods_age != JOIN_PODS_CURRENT;
	assert(facts->pods_age < ARRAY_SIZE(old_pods));

	if (says_old_pods(before))
		return are_pods_old ? &old_pods[facts->pods_age] : &awaited_pods;
	if (is_of_tenants && before->status == CONDITION_TRUE)
		return are_pods_old            ? &old_pods[facts->pods_age]
		       : facts->are_claims_old ? &old_claims
					       : NULL;
	if (!facts->is_unread && view_equal(before->reason, old_claims.reason))
		return &awaited_claims;
	return NULL;
}

static struct condition carry(const struct condition *before,
			      const struct attribution_status *published,
			      const struct condition_facts *facts, int64_t now_wall_ms)
{
	bool was_overlap = view_equal(before->reason, OVERLAP_REASON);
	const struct verdict *old = find_old(before, facts);

	if (!facts->is_fresh && view_equal(before->type, type_names[TYPE_READY]))
		return finish(report_stale, before->type, published, now_wall_ms);
	if (!facts->is_fresh && view_equal(before->type, type_names[TYPE_REPORT_FRESH]))
		return finish(judge_fresh(false, false), before->type, published, now_wall_ms);
	if (old)
		return finish(*old, before->type, published, now_wall_ms);
	/* Fewer pods than are named; it need not be those that are left that have it. */
	if (was_overlap && !is_still_held_twice(before, facts->overlap))
		return finish(awaited, before->type, published, now_wall_ms);
	if (is_emptied(before, published, facts->unplaced))
		return finish(awaited_ids, before->type, published, now_wall_ms);
	return *before;
}

int condition_carry(const struct condition_facts *facts, const struct attribution_status *published,
		    int64_t generation, int64_t now_wall_ms, struct arena *arena,
		    struct array *ret_conditions, struct error *err)
{
	const struct array before = published->conditions;
	struct condition *conditions = arena_alloc(arena, before.count, sizeof(*conditions));

	if (!conditions)
		return error_no_memory(err);
	for (uint32_t i = 0; i < before.count; i++) {
		conditions[i] = carry(ARRAY_AT(before, struct condition, i), published, facts,
				      now_wall_ms);
		conditions[i].observed_generation = generation;
	}
	*ret_conditions = (struct array){before.count > 0 ? conditions : NULL, before.count, true};
	return 0;
}
