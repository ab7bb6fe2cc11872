/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The five conditions, each by an ordered table of rules: the first that fits decides. Why a source of
 * the agent's fails stands in brackets in the message of the condition that rests on it.
 *
 * A status is written when a message changes. So messages hold no number but that of unresolved
 * slots. They hold the agent's words for why a source fails.
 */

#include "join/subject.h"

#include <assert.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "join/from_resource_claim.h"

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

/* Of the first that fits; `made`: where the rule leaves the message to be made. */
static struct condition choose(const struct rule *rules, struct condition made)
{
	const struct rule rule = first_that_fits(rules);
	return rule.message == MESSAGE_MADE ? made : verdict_of(rule);
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

/* NULL: there is no report. */
static const struct report_sources *sources_of(const struct subject *s)
{
	return s->facts->input->report ? &s->facts->input->report->sources : NULL;
}

/* Attributed */

static struct rule judge_unresolved(const struct tenants *t)
{
	int64_t n = t->slots_unresolved;
	const struct rule rules[] = {
		{n == t->slots_pending, CONDITION_FALSE, REASON_PENDING, MESSAGE_PENDING},
		{n == t->slots_nameless, CONDITION_FALSE, REASON_POD_UNKNOWN, MESSAGE_POD_UNKNOWN},
		{n == t->slots_placeholder, CONDITION_FALSE, REASON_PLACEHOLDER, MESSAGE_PLACEHOLDER},
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
	ARRAY_EACH(const struct attribution_tenant, tenant, tenants)
		if (tenant->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED && tenant->placeholder.len == 0)
			return true;
	return false;
}

/* Before the first report users and unplaced holders can only go. */
static bool have_holders_changed(const struct subject *s)
{
	const struct attribution_status *before = s->published, *now = s->status;
	return before->tenants.count != now->tenants.count ||
	       before->tenant_count != now->tenant_count ||
	       before->unplaced_tenants.count != now->unplaced_tenants.count ||
	       before->unallocated_users.count != now->unallocated_users.count;
}

/* Claims hand it out, and what is known of them is old. */
static bool are_claims_old(const struct subject *s)
{
	return s->facts->input->grants_denied && s->is_claimed;
}

/* A claim may have the device, and cannot be read. */
static bool is_unread(const struct subject *s)
{
	return from_resource_claim_is_unread(s->facts) &&
	       (s->is_awaited || s->is_without_ids || s->device->slice || s->tenants.is_claimed);
}

/* What Attributed said may be so no more, and only the report tells. */
static bool is_report_needed(const struct subject *s, enum reason said)
{
	if (said == REASON_PODS_STALE || said == REASON_PODS_UNKNOWN ||
	    (said == REASON_CLAIMS_UNKNOWN && !is_unread(s)))
		return true;
	return said != REASON_ALL_RESOLVED && have_holders_changed(s);
}

/* What is wrong comes first, then what is not known. */
static struct rule judge_attributed(const struct subject *s)
{
	const struct source *source = &s->facts->source;
	const struct report_sources *sources = sources_of(s);
	const enum inventory_age pods_age = s->facts->input->pods_age;
	const struct attribution_status *status = s->status;
	const enum reason said = s->is_awaited ? s->device->published->attributed : REASON_ALL_RESOLVED;
	if (pods_age == INVENTORY_CURRENT && !s->is_awaited && s->tenants.slots_unresolved > 0)
		return judge_unresolved(&s->tenants);
	const struct rule rules[] = {
		{pods_age == INVENTORY_STALE, CONDITION_UNKNOWN, REASON_PODS_STALE, MESSAGE_PODS_STALE},
		{pods_age == INVENTORY_DENIED, CONDITION_UNKNOWN, REASON_PODS_UNKNOWN, MESSAGE_PODS_UNKNOWN},
		{s->is_awaited && are_claims_old(s) && said == REASON_ALL_RESOLVED, CONDITION_UNKNOWN,
		 REASON_CLAIMS_UNKNOWN, MESSAGE_CLAIMS_DENIED},
		{is_report_needed(s, said), CONDITION_UNKNOWN, REASON_AWAITING_REPORT, MESSAGE_AWAITING_REPORT},
		{s->is_awaited, .status = AS_PUBLISHED},
		{s->held_twice.len > 0, CONDITION_FALSE, REASON_SLOT_HELD_TWICE, MESSAGE_MADE},
		{status->source_disagreements.count > 0, CONDITION_FALSE, REASON_SOURCE_DISAGREEMENT,
		 MESSAGE_SOURCE_DISAGREEMENT},
		{status->unplaced_tenants.count > 0, CONDITION_FALSE, REASON_UNKNOWN_DEVICE_ID, MESSAGE_UNPLACED},
		{s->n_odd > 0, CONDITION_FALSE, REASON_UNKNOWN_DEVICE_ID, MESSAGE_MADE},
		{from_resource_claim_is_nameless(s->facts, s->device), CONDITION_UNKNOWN,
		 REASON_RESERVED_OTHERWISE, MESSAGE_RESERVED_OTHERWISE},
		{are_claims_old(s), CONDITION_UNKNOWN, REASON_CLAIMS_UNKNOWN, MESSAGE_CLAIMS_DENIED},
		{is_unread(s), CONDITION_UNKNOWN, REASON_CLAIMS_UNKNOWN, MESSAGE_CLAIMS_INCOMPLETE},
		{!sources, CONDITION_UNKNOWN, REASON_NO_AGENT, MESSAGE_API_ONLY},
		{source->is_settling, CONDITION_UNKNOWN, REASON_SETTLING, MESSAGE_SETTLING},
		{!source_is_any_good(source), CONDITION_UNKNOWN, REASON_SOURCES_FAILED, MESSAGE_SOURCES_FAILED},
		{has_unconfirmed(status->tenants) || s->may_be_held_twice, CONDITION_UNKNOWN,
		 REASON_UNCONFIRMED, MESSAGE_UNCONFIRMED},
		{sources && !is_well(&sources->checkpoint), CONDITION_TRUE, REASON_ALL_RESOLVED,
		 MESSAGE_RESOLVED_WITHOUT_CHECKPOINT},
		{sources && !is_well(&sources->pod_resources), CONDITION_TRUE, REASON_ALL_RESOLVED,
		 MESSAGE_RESOLVED_WITHOUT_POD_RESOURCES},
		{true, CONDITION_TRUE, REASON_ALL_RESOLVED, MESSAGE_ALL_RESOLVED},
	};
	return first_that_fits(rules);
}

/* The ID of no known form is as the device plugin made it up: it is nowhere else in the status. */
static void tell(const struct subject *s, struct rule rule, struct sbuf *message)
{
	if (rule.reason == REASON_SLOT_HELD_TWICE)
		sbuf_append(message, s->held_twice);
	else if (rule.message == MESSAGE_MADE)
		wording_odd_id(s->odd_id, s->n_odd - 1, message);
	else if (rule.message >= MESSAGE_PENDING && rule.message <= MESSAGE_UNRESOLVED_AND_UNKNOWN)
		wording_slots(s->tenants.slots_unresolved, rule.message, message);
	else
		sbuf_append(message, wording_message(rule.message));
}

/* Processes that are not looked for are no failure. */
static int make_attributed(const struct subject *s, struct condition *ret, struct error *err)
{
	const struct report_sources *sources = sources_of(s);
	const struct rule rule = judge_attributed(s);
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, LIMIT_TEXT_CONDITION_MESSAGE);
	*ret = verdict_of(rule);
	if (rule.status == AS_PUBLISHED)
		return 0;
	tell(s, rule, &message);
	if (sources)
		complain(
			(struct complaint[]){
				{"podResources", &sources->pod_resources},
				{"checkpoint", &sources->checkpoint},
				{sources->processes.state == REPORT_SOURCE_ERROR ? "processes" : NULL,
				 &sources->processes},
				{0},
			},
			&message);
	return sbuf_keep(&message, "message", s->arena, &ret->message, err);
}

/* The other conditions */

/* There is an agent, and it has not reported for long: what it said may be so no more. */
static bool is_silent(const struct subject *s)
{
	return !input_is_fresh(s->facts->input) && (sources_of(s) || s->is_awaited);
}

static struct condition judge_in_sync(const struct subject *s)
{
	const struct rule rules[] = {
		{is_silent(s), CONDITION_UNKNOWN, REASON_REPORT_STALE, MESSAGE_REPORT_STALE},
		{s->is_awaited, .status = AS_PUBLISHED},
		{!sources_of(s), CONDITION_UNKNOWN, REASON_NO_AGENT, MESSAGE_NO_AGENT},
		{true, .message = MESSAGE_MADE},
	};
	return choose(rules, (struct condition){.status = s->intent.status, .reason = s->intent.reason,
						.message = s->intent.message});
}

static int make_healthy(const struct subject *s, struct condition *ret, struct error *err)
{
	const struct health *health = &s->health;
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, LIMIT_TEXT_CONDITION_MESSAGE);
	*ret = (struct condition){0}; /* as published */
	if (is_silent(s))
		*ret = verdict_of((struct rule){true, CONDITION_UNKNOWN, REASON_REPORT_STALE,
						MESSAGE_REPORT_STALE});
	if (is_silent(s) || s->is_awaited)
		return 0;
	*ret = (struct condition){.status = health->status, .reason = health->reason};
	sbuf_append(&message, health->message);
	/* Without a plugin no device is on offer: that is the node's fault, and not the device's. */
	if (health->is_withdrawn && s->intent.found & DRIFT_BIT(PLUGIN_MISSING))
		sbuf_append(&message, wording_message(MESSAGE_SEE_PLUGIN_MISSING));
	if (sources_of(s))
		complain((struct complaint[]){{"nvml", &sources_of(s)->nvml}, {0}}, &message);
	return sbuf_keep(&message, "message", s->arena, &ret->message, err);
}

static struct rule judge_fresh(const struct subject *s)
{
	const struct rule rules[] = {
		{s->is_awaited && input_is_fresh(s->facts->input), .status = AS_PUBLISHED},
		{!sources_of(s) && !s->is_awaited, CONDITION_FALSE, REASON_NO_AGENT, MESSAGE_NEVER_REPORTED},
		{input_is_fresh(s->facts->input), CONDITION_TRUE, REASON_REPORT_RECEIVED, MESSAGE_REPORT_RECEIVED},
		{true, CONDITION_FALSE, REASON_AGENT_SILENT, MESSAGE_AGENT_SILENT},
	};
	return first_that_fits(rules);
}

/* Only the report ends these. */
static bool was_duplicate_or_stale(const struct previous *previous)
{
	return previous && (previous->ready == REASON_DUPLICATE_UUID || previous->ready == REASON_REPORT_STALE);
}

/* What is wrong with Attributed is wrong with Ready, unless something worse is. */
static struct condition judge_ready(const struct subject *s, struct condition attributed)
{
	const bool is_awaited = s->is_awaited;
	const struct rule rules[] = {
		{s->is_duplicate && !is_awaited, CONDITION_FALSE, REASON_DUPLICATE_UUID, MESSAGE_DUPLICATE_UUID},
		{!sources_of(s) && !is_awaited, CONDITION_UNKNOWN, REASON_NO_AGENT, MESSAGE_NO_AGENT},
		{!input_is_fresh(s->facts->input), CONDITION_UNKNOWN, REASON_REPORT_STALE, MESSAGE_REPORT_STALE},
		{is_awaited && was_duplicate_or_stale(s->device->published), .status = AS_PUBLISHED},
		{attributed.status == CONDITION_TRUE, CONDITION_TRUE, REASON_CURRENT, MESSAGE_CURRENT},
		{true, .message = MESSAGE_MADE},
	};
	if (attributed.status == CONDITION_FALSE && s->tenants.slots_unresolved > 0)
		attributed.reason = wording_reason(REASON_UNRESOLVED);
	return choose(rules, attributed);
}

/* 1970 is the time in a condition that nobody has set yet. */
static struct condition finish(const struct subject *s, enum condition_type type, struct condition verdict)
{
	const struct view name = wording_condition(type);
	const struct condition *before = s->published ? attribution_find_condition(s->published, name) : NULL;
	bool is_same;
	if (verdict.status == AS_PUBLISHED)
		verdict = before ? *before
				 : verdict_of((struct rule){true, CONDITION_UNKNOWN, REASON_AWAITING_REPORT,
							    MESSAGE_AWAITING_REPORT});
	is_same = before && before->status == verdict.status && before->last_transition_time;
	verdict.type = name;
	verdict.observed_generation = s->device->object ? s->device->object->object->generation : 1;
	verdict.last_transition_time = is_same ? before->last_transition_time : s->facts->input->now_wall_ms;
	return verdict;
}

/* Those of others, as many as the schema has room for. Returns how many conditions there are then. */
static uint32_t add_others(const struct device *device, struct condition *conditions)
{
	const struct array there = device->object ? device->object->object->status.conditions : (struct array){0};
	uint32_t n = N_CONDITION_TYPES;
	ARRAY_EACH(const struct condition, found, there)
		if (n < LIMIT_CONDITIONS && !wording_is_condition(found->type))
			conditions[n++] = *found;
	assert(n <= LIMIT_CONDITIONS);
	return n;
}

int conditions_make(const struct subject *s, struct error *err)
{
	struct condition *conditions = arena_alloc(s->arena, LIMIT_CONDITIONS, sizeof(*conditions));
	struct condition verdicts[N_CONDITION_TYPES];
	assert(!s->is_awaited || s->published);
	if (!conditions)
		return error_no_memory(err);
	if (make_attributed(s, &verdicts[CONDITION_ATTRIBUTED], err) < 0 ||
	    make_healthy(s, &verdicts[CONDITION_HEALTHY], err) < 0)
		return -1;
	verdicts[CONDITION_IN_SYNC] = judge_in_sync(s);
	verdicts[CONDITION_READY] = judge_ready(s, verdicts[CONDITION_ATTRIBUTED]);
	verdicts[CONDITION_REPORT_FRESH] = verdict_of(judge_fresh(s));
	for (int i = 0; i < N_CONDITION_TYPES; i++)
		conditions[i] = finish(s, (enum condition_type)i, verdicts[i]);
	s->status->conditions = (struct array){conditions, add_others(s->device, conditions), true};
	return 0;
}
