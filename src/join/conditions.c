/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Messages hold no number but that of unresolved slots, and the agent's words for why a source
 * fails: a status is written when one of them changes.
 */

#include "join/conditions.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/sbuf.h"

/* The message is completed with what was found. */
#define MESSAGE_MADE N_MESSAGES

struct rule {
	bool fits;
	int status; /* enum condition_status */
	enum reason reason;
	enum message message;
};

struct verdict {
	int status;
	struct view reason, message;
};

static struct rule first_that_fits(const struct rule *rules)
{
	while (!rules->fits)
		rules++;
	return *rules;
}

static struct verdict verdict_of(struct rule rule)
{
	return (struct verdict){rule.status, wording_reason(rule.reason),
				wording_message(rule.message)};
}

/* Sources that fail */

struct complaint {
	const char *name; /* as the report calls it; NULL ends the list */
	const struct report_source *source;
};

static bool is_well(const struct report_source *source)
{
	return source->state == REPORT_SOURCE_OK;
}

static struct view reason_of(const struct report_source *source)
{
	return source->message.len > 0 ? source->message : wording_message(MESSAGE_NO_REASON_GIVEN);
}

/* Puts behind the message why those sources fail, if any of them does. */
static int complain(const struct complaint *complaints, struct arena *arena, struct view *message,
		    struct error *err)
{
	size_t cap = message->len + sizeof(")"), len = message->len;
	char *text;

	for (const struct complaint *c = complaints; c->name; c++)
		cap += sizeof("; : ") + strlen(c->name) + reason_of(c->source).len;
	text = arena_alloc(arena, cap, 1);
	if (!text)
		return error_no_memory(err);
	snprintf(text, cap, "%.*s", VIEW_ARG(*message));
	for (const struct complaint *c = complaints; c->name; c++) {
		if (!is_well(c->source))
			len += (size_t)snprintf(text + len, cap - len, "%s%s: %.*s",
						len == message->len ? " (" : "; ", c->name,
						VIEW_ARG(reason_of(c->source)));
	}
	if (len > message->len)
		len += (size_t)snprintf(text + len, cap - len, ")");
	assert(len < cap);
	*message = (struct view){text, len};
	return 0;
}

/* Attributed */

static struct rule judge_unresolved(const struct tenants *t)
{
	int64_t n = t->slots_unresolved;
	const struct rule rules[] = {
		{n == t->slots_pending, CONDITION_FALSE, REASON_PENDING, MESSAGE_PENDING},
		{n == t->slots_nameless, CONDITION_FALSE, REASON_POD_UNKNOWN, MESSAGE_POD_UNKNOWN},
		{n == t->slots_stand_in, CONDITION_FALSE, REASON_STAND_IN, MESSAGE_STAND_IN},
		{t->slots_nameless + t->slots_stand_in > 0, CONDITION_FALSE, REASON_UNRESOLVED,
		 MESSAGE_UNRESOLVED_AND_UNKNOWN},
		{true, CONDITION_FALSE, REASON_UNRESOLVED, MESSAGE_UNRESOLVED},
	};
	return first_that_fits(rules);
}

/*
 * It has none of its witnesses any more, but none of them has said that it left either. A
 * placeholder that is unconfirmed has witnesses: they do not say which device they mean.
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

/* What is wrong comes first, then what is not known. */
static struct rule judge_attributed(const struct conditions_facts *f)
{
	if (f->pods_age == JOIN_PODS_CURRENT && f->tenants->slots_unresolved > 0)
		return judge_unresolved(f->tenants);
	const struct rule rules[] = {
		{f->pods_age == JOIN_PODS_STALE, CONDITION_UNKNOWN, REASON_PODS_STALE,
		 MESSAGE_PODS_STALE},
		{f->pods_age == JOIN_PODS_DENIED, CONDITION_UNKNOWN, REASON_PODS_UNKNOWN,
		 MESSAGE_PODS_UNKNOWN},
		{f->held_twice.len > 0, CONDITION_FALSE, REASON_SLOT_HELD_TWICE, MESSAGE_MADE},
		{f->disagreements->listed.count > 0, CONDITION_FALSE, REASON_SOURCE_DISAGREEMENT,
		 MESSAGE_SOURCE_DISAGREEMENT},
		{f->unplaced->listed.count > 0, CONDITION_FALSE, REASON_UNKNOWN_DEVICE_ID,
		 MESSAGE_UNPLACED},
		{f->unplaced->n_odd > 0, CONDITION_FALSE, REASON_UNKNOWN_DEVICE_ID, MESSAGE_MADE},
		{f->is_nameless, CONDITION_UNKNOWN, REASON_RESERVED_OTHERWISE,
		 MESSAGE_RESERVED_OTHERWISE},
		{f->are_claims_old, CONDITION_UNKNOWN, REASON_CLAIMS_UNKNOWN,
		 MESSAGE_CLAIMS_DENIED},
		{f->is_unread, CONDITION_UNKNOWN, REASON_CLAIMS_UNKNOWN,
		 MESSAGE_CLAIMS_INCOMPLETE},
		{!f->sources, CONDITION_UNKNOWN, REASON_NO_AGENT, MESSAGE_API_ONLY},
		{f->is_settling, CONDITION_UNKNOWN, REASON_SETTLING, MESSAGE_SETTLING},
		{!f->is_book_readable, CONDITION_UNKNOWN, REASON_SOURCES_FAILED,
		 MESSAGE_SOURCES_FAILED},
		{has_unconfirmed(f->tenants) || f->may_be_held_twice, CONDITION_UNKNOWN, REASON_UNCONFIRMED,
		 MESSAGE_UNCONFIRMED},
		{f->sources && !is_well(&f->sources->checkpoint), CONDITION_TRUE,
		 REASON_ALL_RESOLVED, MESSAGE_RESOLVED_WITHOUT_CHECKPOINT},
		{f->sources && !is_well(&f->sources->pod_resources), CONDITION_TRUE,
		 REASON_ALL_RESOLVED, MESSAGE_RESOLVED_WITHOUT_POD_RESOURCES},
		{true, CONDITION_TRUE, REASON_ALL_RESOLVED, MESSAGE_ALL_RESOLVED},
	};
	return first_that_fits(rules);
}

/* The ID as the device plugin made it up: it is nowhere else in the status. */
static int tell_odd_id(const struct unplaced *unplaced, struct arena *arena, struct view *ret,
		       struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf text;

	assert(unplaced->n_odd > 0);
	sbuf_init(&text, LIMIT_TEXT_CONDITION_MESSAGE);
	wording_odd_id(unplaced->odd_id, unplaced->n_odd - 1, &text);
	if (sbuf_check(&text, "message", err) < 0)
		return -1;
	return arena_copy(arena, sbuf_view(&text), ret) ? 0 : error_no_memory(err);
}

static int tell_slots(const struct tenants *tenants, enum message held_by, struct arena *arena,
		      struct view *ret, struct error *err)
{
	char text[WORDING_SLOTS_SIZE];
	return arena_copy(arena, wording_slots(tenants->slots_unresolved, held_by, text), ret)
		       ? 0
		       : error_no_memory(err);
}

static int tell(const struct conditions_facts *facts, struct rule rule, struct arena *arena,
		struct view *ret, struct error *err)
{
	if (rule.message >= MESSAGE_PENDING && rule.message <= MESSAGE_UNRESOLVED_AND_UNKNOWN)
		return tell_slots(facts->tenants, rule.message, arena, ret, err);
	if (rule.message == MESSAGE_MADE && rule.reason == REASON_UNKNOWN_DEVICE_ID)
		return tell_odd_id(facts->unplaced, arena, ret, err);
	*ret = rule.message == MESSAGE_MADE ? facts->held_twice : wording_message(rule.message);
	return 0;
}

/* Processes that are not looked for are no failure. */
static int make_attributed(const struct conditions_facts *facts, struct rule rule,
			   struct arena *arena, struct verdict *ret, struct error *err)
{
	const struct report_sources *sources = facts->sources;

	*ret = (struct verdict){rule.status, wording_reason(rule.reason), {0}};
	if (tell(facts, rule, arena, &ret->message, err) < 0)
		return -1;
	if (!sources)
		return 0;
	const struct complaint complaints[] = {
		{"podResources", &sources->pod_resources},
		{"checkpoint", &sources->checkpoint},
		{sources->processes.state == REPORT_SOURCE_ERROR ? "processes" : NULL,
		 &sources->processes},
		{0},
	};
	return complain(complaints, arena, &ret->message, err);
}

/* The other conditions */

static struct rule judge_drifted(const struct conditions_facts *facts)
{
	const struct rule rules[] = {
		{facts->intent == ATTRIBUTION_INTENT_UNMANAGED, CONDITION_UNKNOWN, REASON_UNMANAGED,
		 MESSAGE_UNMANAGED},
		{true, CONDITION_UNKNOWN, REASON_NOT_ASSESSED, MESSAGE_NOT_ASSESSED},
	};
	return first_that_fits(rules);
}

static int make_healthy(const struct conditions_facts *facts, struct arena *arena,
			struct verdict *ret, struct error *err)
{
	int state = facts->health->state.state;

	*ret = (struct verdict){CONDITION_FALSE, facts->health->reason, facts->health->message};
	if (state == ATTRIBUTION_HEALTH_HEALTHY)
		ret->status = CONDITION_TRUE;
	else if (state == ATTRIBUTION_HEALTH_UNKNOWN)
		ret->status = CONDITION_UNKNOWN;
	if (!facts->sources)
		return 0;
	return complain((struct complaint[]){{"nvml", &facts->sources->nvml}, {0}}, arena,
			&ret->message, err);
}

static struct rule judge_fresh(const struct conditions_facts *facts, bool is_agentless)
{
	const struct rule rules[] = {
		{is_agentless, CONDITION_FALSE, REASON_NO_AGENT, MESSAGE_NEVER_REPORTED},
		{facts->is_fresh, CONDITION_TRUE, REASON_REPORT_RECEIVED, MESSAGE_REPORT_RECEIVED},
		{true, CONDITION_FALSE, REASON_AGENT_SILENT, MESSAGE_AGENT_SILENT},
	};
	return first_that_fits(rules);
}

static const struct rule report_stale = {true, CONDITION_UNKNOWN, REASON_REPORT_STALE,
					 MESSAGE_REPORT_STALE};

/* What is wrong with Attributed is wrong with Ready, unless something worse is. */
static struct verdict judge_ready(const struct conditions_facts *facts,
				  struct verdict attributed)
{
	const struct rule rules[] = {
		{facts->is_duplicate, CONDITION_FALSE, REASON_DUPLICATE_UUID,
		 MESSAGE_DUPLICATE_UUID},
		{!facts->sources, CONDITION_UNKNOWN, REASON_NO_AGENT, MESSAGE_NO_AGENT},
		{!facts->is_fresh, CONDITION_UNKNOWN, REASON_REPORT_STALE, MESSAGE_REPORT_STALE},
		{attributed.status == CONDITION_TRUE, CONDITION_TRUE, REASON_CURRENT,
		 MESSAGE_CURRENT},
		{true, .message = MESSAGE_MADE},
	};
	struct rule rule = first_that_fits(rules);

	if (rule.status != CONDITION_UNSET)
		return verdict_of(rule);
	if (attributed.status == CONDITION_FALSE && facts->tenants->slots_unresolved > 0)
		attributed.reason = wording_reason(REASON_UNRESOLVED);
	return attributed;
}

/* 1970 is the time in a condition that nobody has set yet. */
static struct condition finish(const struct conditions_facts *facts, struct view type,
			       struct verdict verdict)
{
	const struct condition *before =
		facts->previous ? attribution_find_condition(facts->previous->status, type) : NULL;
	bool is_same = before && before->status == verdict.status && before->last_transition_time;
	return (struct condition){
		.type = type,
		.status = verdict.status,
		.observed_generation = facts->generation,
		.last_transition_time = is_same ? before->last_transition_time : facts->now_wall_ms,
		.reason = verdict.reason,
		.message = verdict.message,
	};
}

int conditions_make(const struct conditions_facts *facts, struct arena *arena,
		    struct array *ret_conditions, struct error *err)
{
	struct condition *conditions = arena_alloc(arena, N_CONDITION_TYPES, sizeof(*conditions));
	struct verdict verdicts[N_CONDITION_TYPES];

	assert(facts->tenants && facts->disagreements && facts->unplaced && facts->health);
	if (!conditions)
		return error_no_memory(err);
	if (make_attributed(facts, judge_attributed(facts), arena, &verdicts[CONDITION_ATTRIBUTED],
			    err) < 0 ||
	    make_healthy(facts, arena, &verdicts[CONDITION_HEALTHY], err) < 0)
		return -1;
	verdicts[CONDITION_DRIFTED] = verdict_of(judge_drifted(facts));
	verdicts[CONDITION_READY] = judge_ready(facts, verdicts[CONDITION_ATTRIBUTED]);
	verdicts[CONDITION_REPORT_FRESH] = verdict_of(judge_fresh(facts, !facts->sources));
	for (int i = 0; i < N_CONDITION_TYPES; i++)
		conditions[i] = finish(facts, wording_condition((enum condition_type)i),
				       verdicts[i]);
	*ret_conditions = (struct array){conditions, N_CONDITION_TYPES, true};
	return 0;
}

/* While the first report is awaited */

static bool have_tenants_changed(struct array before, struct array now)
{
	bool is_same = before.count == now.count;
	for (uint32_t i = 0; i < before.count && is_same; i++) {
		const struct attribution_tenant *a = ARRAY_AT(before, struct attribution_tenant, i);
		const struct attribution_tenant *b = ARRAY_AT(now, struct attribution_tenant, i);
		is_same = view_equal(a->pod_uid, b->pod_uid) &&
			  view_equal(a->container, b->container);
	}
	return !is_same;
}

/* Before the report users and unplaced holders can only go. */
static bool have_holders_changed(const struct conditions_facts *facts)
{
	const struct attribution_status *before = facts->previous->status;
	return have_tenants_changed(before->tenants, facts->tenants->listed) ||
	       before->tenant_count != facts->tenants->count ||
	       before->unplaced_tenants.count != facts->unplaced->listed.count ||
	       before->unallocated_users.count != facts->users->listed.count;
}

static bool said_old(const struct conditions_facts *facts)
{
	enum reason said = facts->previous->attributed;
	return said == REASON_PODS_STALE || said == REASON_PODS_UNKNOWN ||
	       (said == REASON_CLAIMS_UNKNOWN && !facts->is_unread);
}

/* The status of the result is CONDITION_UNSET where Attributed is as published. */
static struct rule judge_awaited(const struct conditions_facts *facts)
{
	bool was_true = facts->previous->attributed == REASON_ALL_RESOLVED;
	const struct rule rules[] = {
		{facts->pods_age == JOIN_PODS_STALE, CONDITION_UNKNOWN, REASON_PODS_STALE,
		 MESSAGE_PODS_STALE},
		{facts->pods_age == JOIN_PODS_DENIED, CONDITION_UNKNOWN, REASON_PODS_UNKNOWN,
		 MESSAGE_PODS_UNKNOWN},
		{was_true && facts->are_claims_old, CONDITION_UNKNOWN, REASON_CLAIMS_UNKNOWN,
		 MESSAGE_CLAIMS_DENIED},
		{said_old(facts) || (!was_true && have_holders_changed(facts)), CONDITION_UNKNOWN,
		 REASON_AWAITING_REPORT, MESSAGE_AWAITING_REPORT},
		{true, .message = MESSAGE_MADE},
	};
	return first_that_fits(rules);
}

static struct condition keep(const struct conditions_facts *facts, const struct condition *before,
			     struct rule attributed)
{
	enum reason ready = facts->previous->ready;
	bool is_attributed = view_equal(before->type, wording_condition(CONDITION_ATTRIBUTED));
	bool is_ready = view_equal(before->type, wording_condition(CONDITION_READY));
	bool is_report = view_equal(before->type, wording_condition(CONDITION_REPORT_FRESH));
	struct condition kept = *before;

	kept.observed_generation = facts->generation;
	if (is_ready && !facts->is_fresh)
		return finish(facts, before->type, verdict_of(report_stale));
	if (is_report && !facts->is_fresh)
		return finish(facts, before->type, verdict_of(judge_fresh(facts, false)));
	if (attributed.status == CONDITION_UNSET ||
	    (is_ready && (ready == REASON_DUPLICATE_UUID || ready == REASON_REPORT_STALE)))
		return kept;
	return is_attributed || is_ready ? finish(facts, before->type, verdict_of(attributed))
					 : kept;
}

int conditions_keep(const struct conditions_facts *facts, struct arena *arena,
		    struct array *ret_conditions, struct error *err)
{
	assert(facts->previous && facts->tenants && facts->unplaced && facts->users);
	const struct array before = facts->previous->status->conditions;
	struct condition *conditions = arena_alloc(arena, before.count, sizeof(*conditions));
	struct rule attributed = judge_awaited(facts);

	if (!conditions)
		return error_no_memory(err);
	for (uint32_t i = 0; i < before.count; i++)
		conditions[i] = keep(facts, ARRAY_AT(before, struct condition, i), attributed);
	*ret_conditions = (struct array){before.count > 0 ? conditions : NULL, before.count, true};
	return 0;
}
