/* SPDX-License-Identifier: Apache-2.0 */

/* Messages hold no number but the one of unresolved slots: a status is written when one changes. */

#include "core/condition.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

struct verdict {
	int status; /* enum condition_status */
	struct view reason;
	struct view message;
};

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

static int judge_unresolved(const struct tenants *tenants, struct arena *arena,
			    struct verdict *ret_verdict, struct error *err)
{
	const char *rest = "held by a pod that the API server does not know";
	struct verdict verdict = {.status = CONDITION_FALSE, .reason = VIEW("Unresolved")};

	if (tenants->slots_unresolved == tenants->slots_pending) {
		verdict.reason = VIEW("Pending");
		rest = "held by a pod that the API server does not know yet";
	} else if (tenants->slots_unresolved == tenants->slots_pending + tenants->slots_nameless) {
		verdict.reason = VIEW("PodUnknown");
		rest = "held by nobody who could be told";
	} else if (tenants->slots_unresolved == tenants->slots_stand_in) {
		verdict.reason = VIEW("StandIn");
		rest = "held by a stand-in for pods that could not be told";
	}
	if (count_message(tenants->slots_unresolved, rest, arena, &verdict.message, err) < 0)
		return -1;
	*ret_verdict = verdict;
	return 0;
}

static int judge_attributed(const struct condition_facts *facts, struct arena *arena,
			    struct verdict *ret_verdict, struct error *err)
{
	if (facts->tenants->slots_unresolved > 0)
		return judge_unresolved(facts->tenants, arena, ret_verdict, err);
	if (facts->disagreements->listed.count > 0)
		*ret_verdict = (struct verdict){
			CONDITION_FALSE, VIEW("SourceDisagreement"),
			VIEW("witnesses contradict each other: see sourceDisagreement")};
	else if (facts->unplaced->listed.count > 0)
		*ret_verdict = (struct verdict){
			CONDITION_FALSE, VIEW("UnknownDeviceID"),
			VIEW("a pod of the node holds a device ID that is no known device's: see "
			     "unplacedTenants")};
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
	else
		*ret_verdict = (struct verdict){CONDITION_TRUE, VIEW("AllResolved"),
						VIEW("every slot that is held has a pod")};
	return 0;
}

static struct verdict judge_drifted(const struct condition_facts *facts)
{
	if (facts->intent == ATTRIBUTION_INTENT_UNMANAGED)
		return (struct verdict){CONDITION_UNKNOWN, VIEW("Unmanaged"),
					VIEW("there is no ClusterPolicy")};
	return (struct verdict){CONDITION_UNKNOWN, VIEW("NotAssessed"),
				VIEW("the device was not compared with a policy")};
}

static struct verdict judge_healthy(const struct condition_facts *facts)
{
	struct verdict verdict = {CONDITION_FALSE, facts->health->reason, facts->health->message};
	if (facts->health->state.state == ATTRIBUTION_HEALTH_HEALTHY)
		verdict.status = CONDITION_TRUE;
	else if (facts->health->state.state == ATTRIBUTION_HEALTH_UNKNOWN)
		verdict.status = CONDITION_UNKNOWN;
	return verdict;
}

static struct verdict judge_fresh(bool is_fresh, bool is_agentless)
{
	if (is_agentless)
		return (struct verdict){CONDITION_FALSE, no_agent,
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
	VIEW_INIT(
		"no agent reports for the node: only what the API server says is known")};

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
	if (judge_attributed(facts, arena, &verdicts[TYPE_ATTRIBUTED], err) < 0)
		return -1;
	verdicts[TYPE_DRIFTED] = judge_drifted(facts);
	verdicts[TYPE_HEALTHY] = judge_healthy(facts);
	verdicts[TYPE_READY] = judge_ready(facts, &verdicts[TYPE_ATTRIBUTED]);
	verdicts[TYPE_REPORT_FRESH] = judge_fresh(facts->is_fresh, facts->is_agentless);
	for (size_t i = 0; i < N_TYPES; i++) {
		conditions[i] = finish(verdicts[i], type_names[i], published, now_wall_ms);
		conditions[i].observed_generation = generation;
	}
	*ret_conditions = (struct array){conditions, N_TYPES, true};
	return 0;
}

bool condition_is_agentless(const struct attribution_status *status)
{
	const struct condition *fresh = attribution_find_condition(status,
								   type_names[TYPE_REPORT_FRESH]);
	return fresh && view_equal(fresh->reason, no_agent);
}

static struct condition carry(const struct condition *before,
			      const struct attribution_status *published, bool is_fresh,
			      int64_t now_wall_ms)
{
	if (!is_fresh && view_equal(before->type, type_names[TYPE_READY]))
		return finish(report_stale, before->type, published, now_wall_ms);
	if (!is_fresh && view_equal(before->type, type_names[TYPE_REPORT_FRESH]))
		return finish(judge_fresh(false, false), before->type, published, now_wall_ms);
	return *before;
}

int condition_carry(bool is_fresh, const struct attribution_status *published, int64_t generation,
		    int64_t now_wall_ms, struct arena *arena, struct array *ret_conditions,
		    struct error *err)
{
	const struct array before = published->conditions;
	struct condition *conditions = arena_alloc(arena, before.count, sizeof(*conditions));

	if (!conditions)
		return error_no_memory(err);
	for (uint32_t i = 0; i < before.count; i++) {
		conditions[i] = carry(ARRAY_AT(before, struct condition, i), published, is_fresh,
				      now_wall_ms);
		conditions[i].observed_generation = generation;
	}
	*ret_conditions = (struct array){before.count > 0 ? conditions : NULL, before.count, true};
	return 0;
}
