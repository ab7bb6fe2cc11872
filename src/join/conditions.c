/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A status is written when a message changes. So messages hold no number but that of unresolved
 * slots. They hold the agent's words for why a source fails.
 */

#include "join/conditions.h"

#include <assert.h>

#include "assess/health_finding.h"
#include "base/limits.h"
#include "base/sbuf.h"

/* The message is made of what was found. */
#define MESSAGE_MADE N_MESSAGES
/* The status of a condition that stays as published. */
#define AS_PUBLISHED CONDITION_UNSET

struct rule {
	bool fits;
	int status; /* enum condition_status, or AS_PUBLISHED */
	enum reason reason;
	enum message message;
};

/* Its type and times are not set yet. */
static struct condition verdict_of(struct rule rule)
{
	if (rule.status == AS_PUBLISHED)
		return (struct condition){0};
	return (struct condition){
		.status = rule.status,
		.reason = wording_reason(rule.reason),
		.message = rule.message != MESSAGE_MADE ? wording_message(rule.message)
							: (struct view){0},
	};
}

static struct rule first_that_fits(const struct rule *rules)
{
	while (!rules->fits)
		rules++;
	return *rules;
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

/* Appends why those sources fail, if any of them does. */
static void complain(const struct complaint *complaints, struct sbuf *message)
{
	const char *before = " (";

	for (const struct complaint *c = complaints; c->name; c++) {
		struct view why = c->source->message;
		if (is_well(c->source))
			continue;
		if (why.len == 0)
			why = wording_message(MESSAGE_NO_REASON_GIVEN);
		sbuf_printf(message, "%s%s: %.*s", before, c->name, VIEW_ARG(why));
		before = "; ";
	}
	if (*before == ';')
		sbuf_append_char(message, ')');
}

static int keep(const struct sbuf *message, struct arena *arena, struct view *ret,
		struct error *err)
{
	if (sbuf_check(message, "message", err) < 0)
		return -1;
	return arena_copy(arena, sbuf_view(message), ret) ? 0 : error_no_memory(err);
}

/* Attributed */

static struct rule judge_unresolved(const struct tenants *t)
{
	int64_t n = t->slots_unresolved;
	const struct rule rules[] = {
		{n == t->slots_pending, CONDITION_FALSE, REASON_PENDING, MESSAGE_PENDING},
		{n == t->slots_nameless, CONDITION_FALSE, REASON_POD_UNKNOWN, MESSAGE_POD_UNKNOWN},
		{n == t->slots_placeholder, CONDITION_FALSE, REASON_PLACEHOLDER,
		 MESSAGE_PLACEHOLDER},
		{t->slots_nameless + t->slots_placeholder > 0, CONDITION_FALSE, REASON_UNRESOLVED,
		 MESSAGE_UNRESOLVED_AND_UNKNOWN},
		{true, CONDITION_FALSE, REASON_UNRESOLVED, MESSAGE_UNRESOLVED},
	};
	return first_that_fits(rules);
}

/*
 * It has none of its witnesses any more, but none of them has said that it left either. A
 * placeholder that is unconfirmed has witnesses: they do not say which device they mean.
 */
static bool has_unconfirmed(struct array tenants)
{
	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_tenant *tenant = ARRAY_AT(tenants,
								   struct attribution_tenant, i);
		if (tenant->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED &&
		    tenant->placeholder.len == 0)
			return true;
	}
	return false;
}

/* Before the first report users and unplaced holders can only go. */
static bool have_holders_changed(const struct conditions_facts *f)
{
	const struct attribution_status *before = f->previous->status, *now = f->status;
	return before->tenants.count != now->tenants.count ||
	       before->tenant_count != now->tenant_count ||
	       before->unplaced_tenants.count != now->unplaced_tenants.count ||
	       before->unallocated_users.count != now->unallocated_users.count;
}

/* What Attributed said may be so no more, and only the report tells. */
static bool is_report_needed(const struct conditions_facts *f)
{
	enum reason said = f->is_awaited ? f->previous->attributed : REASON_ALL_RESOLVED;
	if (said == REASON_PODS_STALE || said == REASON_PODS_UNKNOWN ||
	    (said == REASON_CLAIMS_UNKNOWN && !f->is_unread))
		return true;
	return said != REASON_ALL_RESOLVED && have_holders_changed(f);
}

static bool was_resolved(const struct conditions_facts *f)
{
	return f->previous && f->previous->attributed == REASON_ALL_RESOLVED;
}

/* What is wrong comes first, then what is not known. */
static struct rule judge_attributed(const struct conditions_facts *f)
{
	if (f->pods_age == INVENTORY_CURRENT && !f->is_awaited && f->tenants.slots_unresolved > 0)
		return judge_unresolved(&f->tenants);
	const struct rule rules[] = {
		{f->pods_age == INVENTORY_STALE, CONDITION_UNKNOWN, REASON_PODS_STALE,
		 MESSAGE_PODS_STALE},
		{f->pods_age == INVENTORY_DENIED, CONDITION_UNKNOWN, REASON_PODS_UNKNOWN,
		 MESSAGE_PODS_UNKNOWN},
		{f->is_awaited && f->are_claims_old && was_resolved(f), CONDITION_UNKNOWN,
		 REASON_CLAIMS_UNKNOWN, MESSAGE_CLAIMS_DENIED},
		{is_report_needed(f), CONDITION_UNKNOWN, REASON_AWAITING_REPORT,
		 MESSAGE_AWAITING_REPORT},
		{f->is_awaited, .status = AS_PUBLISHED},
		{f->held_twice.len > 0, CONDITION_FALSE, REASON_SLOT_HELD_TWICE, MESSAGE_MADE},
		{f->status->source_disagreements.count > 0, CONDITION_FALSE, REASON_SOURCE_DISAGREEMENT,
		 MESSAGE_SOURCE_DISAGREEMENT},
		{f->status->unplaced_tenants.count > 0, CONDITION_FALSE, REASON_UNKNOWN_DEVICE_ID,
		 MESSAGE_UNPLACED},
		{f->unplaced.n_odd > 0, CONDITION_FALSE, REASON_UNKNOWN_DEVICE_ID, MESSAGE_MADE},
		{f->is_nameless, CONDITION_UNKNOWN, REASON_RESERVED_OTHERWISE,
		 MESSAGE_RESERVED_OTHERWISE},
		{f->are_claims_old, CONDITION_UNKNOWN, REASON_CLAIMS_UNKNOWN,
		 MESSAGE_CLAIMS_DENIED},
		{f->is_unread, CONDITION_UNKNOWN, REASON_CLAIMS_UNKNOWN, MESSAGE_CLAIMS_INCOMPLETE},
		{!f->sources, CONDITION_UNKNOWN, REASON_NO_AGENT, MESSAGE_API_ONLY},
		{f->is_settling, CONDITION_UNKNOWN, REASON_SETTLING, MESSAGE_SETTLING},
		{!f->is_book_readable, CONDITION_UNKNOWN, REASON_SOURCES_FAILED,
		 MESSAGE_SOURCES_FAILED},
		{has_unconfirmed(f->status->tenants) || f->may_be_held_twice, CONDITION_UNKNOWN,
		 REASON_UNCONFIRMED, MESSAGE_UNCONFIRMED},
		{f->sources && !is_well(&f->sources->checkpoint), CONDITION_TRUE,
		 REASON_ALL_RESOLVED, MESSAGE_RESOLVED_WITHOUT_CHECKPOINT},
		{f->sources && !is_well(&f->sources->pod_resources), CONDITION_TRUE,
		 REASON_ALL_RESOLVED, MESSAGE_RESOLVED_WITHOUT_POD_RESOURCES},
		{true, CONDITION_TRUE, REASON_ALL_RESOLVED, MESSAGE_ALL_RESOLVED},
	};
	return first_that_fits(rules);
}

/* The ID of no known form is as the device plugin made it up: it is nowhere else in the status. */
static void tell(const struct conditions_facts *facts, struct rule rule, struct sbuf *message)
{
	if (rule.reason == REASON_SLOT_HELD_TWICE)
		sbuf_append(message, facts->held_twice);
	else if (rule.message == MESSAGE_MADE)
		wording_odd_id(facts->unplaced.odd_id, facts->unplaced.n_odd - 1, message);
	else if (rule.message >= MESSAGE_PENDING && rule.message <= MESSAGE_UNRESOLVED_AND_UNKNOWN)
		wording_slots(facts->tenants.slots_unresolved, rule.message, message);
	else
		sbuf_append(message, wording_message(rule.message));
}

/* Processes that are not looked for are no failure. */
static int make_attributed(const struct conditions_facts *facts, struct arena *arena,
			   struct condition *ret, struct error *err)
{
	const struct report_sources *sources = facts->sources;
	const struct rule rule = judge_attributed(facts);
	CLEANUP(sbuf_deinit) struct sbuf message;

	sbuf_init(&message, LIMIT_TEXT_CONDITION_MESSAGE);
	*ret = verdict_of(rule);
	if (rule.status == AS_PUBLISHED)
		return 0;
	tell(facts, rule, &message);
	if (sources)
		complain(
			(struct complaint[]){
				{"podResources", &sources->pod_resources},
				{"checkpoint", &sources->checkpoint},
				{sources->processes.state == REPORT_SOURCE_ERROR ? "processes"
										 : NULL,
				 &sources->processes},
				{0},
			},
			&message);
	return keep(&message, arena, &ret->message, err);
}

/* The other conditions */

/* There is an agent, and it has not reported for long: what it said may be so no more. */
static bool is_silent(const struct conditions_facts *facts)
{
	return !facts->is_fresh && (facts->sources || facts->is_awaited);
}

static struct condition judge_in_sync(const struct conditions_facts *facts)
{
	const struct drift_verdict *intent = &facts->intent;
	const struct rule rules[] = {
		{is_silent(facts), CONDITION_UNKNOWN, REASON_REPORT_STALE, MESSAGE_REPORT_STALE},
		{facts->is_awaited, .status = AS_PUBLISHED},
		{!facts->sources, CONDITION_UNKNOWN, REASON_NO_AGENT, MESSAGE_NO_AGENT},
		{true, .message = MESSAGE_MADE},
	};
	const struct rule rule = first_that_fits(rules);

	if (rule.message != MESSAGE_MADE)
		return verdict_of(rule);
	return (struct condition){
		.status = intent->status, .reason = intent->reason, .message = intent->message};
}

static bool is_found(const struct conditions_facts *facts, enum drift_type type)
{
	const struct array drifts = facts->intent.state.drifts;

	for (uint32_t i = 0; i < drifts.count; i++)
		if (view_equal(ARRAY_AT(drifts, struct attribution_drift, i)->type, drift_word(type)))
			return true;
	return false;
}

/* Without a plugin no device is on offer: that is the node's fault, and not the device's. */
static void say_why_withdrawn(const struct conditions_facts *facts, struct sbuf *message)
{
	if (view_equal(facts->health.reason, health_finding_word(HEALTH_FINDING_NOT_ADVERTISED)) &&
	    is_found(facts, DRIFT_PLUGIN_MISSING))
		sbuf_append(message, VIEW("; see PluginMissing in intent.drifts"));
}

static int make_healthy(const struct conditions_facts *facts, struct arena *arena,
			struct condition *ret, struct error *err)
{
	const struct health *health = &facts->health;
	CLEANUP(sbuf_deinit) struct sbuf message;

	sbuf_init(&message, LIMIT_TEXT_CONDITION_MESSAGE);
	*ret = (struct condition){0}; /* as published */
	if (is_silent(facts))
		*ret = verdict_of((struct rule){true, CONDITION_UNKNOWN, REASON_REPORT_STALE,
						MESSAGE_REPORT_STALE});
	if (is_silent(facts) || facts->is_awaited)
		return 0;
	ret->status = health->state.state == ATTRIBUTION_HEALTH_HEALTHY   ? CONDITION_TRUE
		      : health->state.state == ATTRIBUTION_HEALTH_UNKNOWN ? CONDITION_UNKNOWN
									  : CONDITION_FALSE;
	ret->reason = health->reason;
	sbuf_append(&message, health->message);
	say_why_withdrawn(facts, &message);
	if (facts->sources)
		complain((struct complaint[]){{"nvml", &facts->sources->nvml}, {0}}, &message);
	return keep(&message, arena, &ret->message, err);
}

static struct rule judge_fresh(const struct conditions_facts *facts)
{
	const struct rule rules[] = {
		{facts->is_awaited && facts->is_fresh, .status = AS_PUBLISHED},
		{!facts->sources && !facts->is_awaited, CONDITION_FALSE, REASON_NO_AGENT,
		 MESSAGE_NEVER_REPORTED},
		{facts->is_fresh, CONDITION_TRUE, REASON_REPORT_RECEIVED, MESSAGE_REPORT_RECEIVED},
		{true, CONDITION_FALSE, REASON_AGENT_SILENT, MESSAGE_AGENT_SILENT},
	};
	return first_that_fits(rules);
}

/* Only the report ends these. */
static bool was_duplicate_or_stale(const struct conditions_facts *facts)
{
	return facts->previous && (facts->previous->ready == REASON_DUPLICATE_UUID ||
				   facts->previous->ready == REASON_REPORT_STALE);
}

/* What is wrong with Attributed is wrong with Ready, unless something worse is. */
static struct condition judge_ready(const struct conditions_facts *facts,
				    struct condition attributed)
{
	const bool is_awaited = facts->is_awaited;
	const struct rule rules[] = {
		{facts->is_duplicate && !is_awaited, CONDITION_FALSE, REASON_DUPLICATE_UUID,
		 MESSAGE_DUPLICATE_UUID},
		{!facts->sources && !is_awaited, CONDITION_UNKNOWN, REASON_NO_AGENT,
		 MESSAGE_NO_AGENT},
		{!facts->is_fresh, CONDITION_UNKNOWN, REASON_REPORT_STALE, MESSAGE_REPORT_STALE},
		{is_awaited && was_duplicate_or_stale(facts), .status = AS_PUBLISHED},
		{attributed.status == CONDITION_TRUE, CONDITION_TRUE, REASON_CURRENT,
		 MESSAGE_CURRENT},
		{true, .message = MESSAGE_MADE},
	};
	const struct rule rule = first_that_fits(rules);

	if (rule.message != MESSAGE_MADE)
		return verdict_of(rule);
	if (attributed.status == CONDITION_FALSE && facts->tenants.slots_unresolved > 0)
		attributed.reason = wording_reason(REASON_UNRESOLVED);
	return attributed;
}

/* 1970 is the time in a condition that nobody has set yet. */
static struct condition finish(const struct conditions_facts *facts, enum condition_type type,
			       struct condition verdict)
{
	const struct view name = wording_condition(type);
	const struct condition *before =
		facts->previous ? attribution_find_condition(facts->previous->status, name) : NULL;
	bool is_same;

	if (verdict.status == AS_PUBLISHED)
		verdict = before ? *before
				 : verdict_of((struct rule){true, CONDITION_UNKNOWN,
							    REASON_AWAITING_REPORT,
							    MESSAGE_AWAITING_REPORT});
	is_same = before && before->status == verdict.status && before->last_transition_time;
	verdict.type = name;
	verdict.observed_generation = facts->generation;
	verdict.last_transition_time = is_same ? before->last_transition_time : facts->now_wall_ms;
	return verdict;
}

/* Those of others, as many as the schema has room for. Returns how many conditions there are then. */
static uint32_t add_others(const struct attribution_status *object, struct condition *conditions)
{
	uint32_t n = N_CONDITION_TYPES;
	for (uint32_t i = 0; object && i < object->conditions.count && n < LIMIT_CONDITIONS; i++) {
		const struct condition *found = ARRAY_AT(object->conditions, struct condition, i);
		if (!wording_is_condition(found->type))
			conditions[n++] = *found;
	}
	assert(n <= LIMIT_CONDITIONS);
	return n;
}

int conditions_make(const struct conditions_facts *facts, struct arena *arena,
		    struct array *ret_conditions, struct error *err)
{
	struct condition *conditions = arena_alloc(arena, LIMIT_CONDITIONS, sizeof(*conditions));
	struct condition verdicts[N_CONDITION_TYPES];

	assert(facts->status && (!facts->is_awaited || facts->previous));
	if (!conditions)
		return error_no_memory(err);
	if (make_attributed(facts, arena, &verdicts[CONDITION_ATTRIBUTED], err) < 0 ||
	    make_healthy(facts, arena, &verdicts[CONDITION_HEALTHY], err) < 0)
		return -1;
	verdicts[CONDITION_IN_SYNC] = judge_in_sync(facts);
	verdicts[CONDITION_READY] = judge_ready(facts, verdicts[CONDITION_ATTRIBUTED]);
	verdicts[CONDITION_REPORT_FRESH] = verdict_of(judge_fresh(facts));
	for (int i = 0; i < N_CONDITION_TYPES; i++)
		conditions[i] = finish(facts, (enum condition_type)i, verdicts[i]);
	*ret_conditions = (struct array){conditions, add_others(facts->object, conditions), true};
	return 0;
}
