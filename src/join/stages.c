/* SPDX-License-Identifier: Apache-2.0 */
#include "join/stages.h"

#include <assert.h>

#include "base/again.h"
#include "join/conditions.h"
#include "join/from_resource_claim.h"
#include "join/unplaced.h"

/* What is known of the device before anything is found out. */
static struct subject begin(const struct stages_node *node, size_t index)
{
	const struct facts *facts = &node->facts;
	const struct device *device = &facts->devices->devices[index];
	const struct previous *published = device->published;
	struct subject subject = {
		.facts = facts,
		.index = index,
		.device = device,
		.published = published ? published->status : NULL,
		.is_awaited = !facts->input->report && published && !published->is_agentless,
		.debounce = node->debounce,
		.arena = node->arena,
	};

	subject.items = facts_of(facts, index, &subject.n_items);
	return subject;
}

/* is_without_ids: no device ID tells that a plugin hands the device out, so a claim may. */
static struct conditions_facts know(const struct stages_node *node, const struct subject *subject,
				    bool is_without_ids)
{
	const struct facts *facts = subject->facts;
	const struct join_input *input = facts->input;
	const struct device *device = subject->device;
	const struct attribution *object = device->object ? device->object->object : NULL;

	return (struct conditions_facts){
		.previous = device->published,
		.object = object ? &object->status : NULL,
		.generation = object ? object->generation : 1,
		.now_wall_ms = input->now_wall_ms,
		.pods_age = input->pods_age,
		.is_awaited = subject->is_awaited,
		.is_fresh = node->is_fresh,
		.is_settling = facts->source.is_settling,
		.is_nameless = from_resource_claim_is_nameless(facts, device),
		.is_unread = from_resource_claim_is_unread(facts) &&
			     (subject->is_awaited || is_without_ids || device->slice ||
			      subject->tenants->is_claimed),
		.are_claims_old = input->grants_denied && subject->is_claimed,
		.is_book_readable = source_is_good(facts->source.pod_resources) ||
				    source_is_good(facts->source.checkpoint),
		.sources = input->report ? &input->report->sources : NULL,
		.tenants = *subject->tenants,
	};
}

static struct attribution_report report_of(const struct report *report)
{
	if (!report)
		return (struct attribution_report){0};
	return (struct attribution_report){
		.boot_id = report->boot_id,
		.instance = report->instance,
		.sequence = report->sequence,
		.observation_time = report->observed_at,
	};
}

/* Before the first report since the start the device is as published; else as it is found. */
static struct attribution_status begin_status(const struct subject *subject)
{
	const struct join_input *input = subject->facts->input;
	const struct join_previous *object = subject->device->object;
	struct attribution_status status = {
		.node_name = input->node_name,
		.report = report_of(input->report),
	};

	assert(!subject->is_awaited || subject->published);
	if (input->report && subject->published)
		status.intent = subject->published->intent; /* while the node is silent */
	if (subject->is_awaited)
		status = *subject->published;
	status.observed_generation = object ? object->object->generation : 1;
	if (input->node)
		status.node_uid = input->node->uid;
	return status;
}

/* Silence shows: nobody may take what was said long ago for what is so now. */
static void set_report_state(const struct conditions_facts *known,
			     struct attribution_status *status)
{
	if (!known->sources && !known->is_awaited)
		status->report_state = ATTRIBUTION_REPORT_NO_AGENT;
	else if (!known->is_fresh)
		status->report_state = ATTRIBUTION_REPORT_STALE;
	else if (!known->is_awaited)
		status->report_state = ATTRIBUTION_REPORT_CURRENT;
	if (status->report_state == ATTRIBUTION_REPORT_CURRENT)
		return;
	status->intent.state = ATTRIBUTION_INTENT_UNKNOWN;
	if (status->health.state == ATTRIBUTION_HEALTH_HEALTHY)
		status->health.state = ATTRIBUTION_HEALTH_UNKNOWN;
}

/* What only a report can tell. */
static int find_reported(const struct subject *subject, struct conditions_facts *known,
			 struct attribution_status *status, struct error *err)
{
	if (overlap_find(subject, &known->held_twice, err) < 0 ||
	    examine_health(subject, &known->health, err) < 0 ||
	    layout_describe(subject, &status->device, err) < 0 ||
	    layout_partition(subject, &status->partitions, err) < 0)
		return -1;
	status->health = known->health.state;
	return 0;
}

/* What is intended is compared with what a recent report tells. */
static int find_drifts(const struct stages_node *node, const struct subject *subject,
		       struct conditions_facts *known, struct attribution_status *status,
		       struct error *err)
{
	if (!known->sources || !known->is_fresh)
		return 0;
	return compare_intent(subject, &node->intent, status, &known->intent, err);
}

/* A silent node says nothing new until its next report. */
static int64_t verdicts_again_in(const struct conditions_facts *known)
{
	return known->sources && known->is_fresh
		       ? again_sooner(known->health.again_in_ms, known->intent.again_in_ms)
		       : -1;
}

int stages_run(const struct stages_node *node, size_t index, bool is_duplicate,
	       struct stages_result *ret, struct error *err)
{
	struct subject subject = begin(node, index);
	struct attribution_status status = begin_status(&subject);
	struct tenants tenants;
	struct conditions_facts known;
	bool is_without_ids = false;
	uint32_t claims_refused;
	int64_t activity_again_in_ms = -1;

	if (tenants_find(&subject, &status, &tenants, err) < 0)
		return -1;
	subject.status = &status;
	subject.tenants = &tenants;
	slots_look(&node->slots, &subject);
	if (!subject.is_awaited &&
	    sharing_conclude(&subject, &status.sharing, &is_without_ids, err) < 0)
		return -1;
	known = know(node, &subject, is_without_ids);
	known.is_duplicate = is_duplicate;
	known.may_be_held_twice = overlap_is_possible(&subject, status.sharing.mode);
	known.status = &status;
	if (unplaced_find(&subject, &status, &known.unplaced, err) < 0 ||
	    users_find(&subject, &status, &claims_refused, err) < 0 ||
	    (!subject.is_awaited && find_reported(&subject, &known, &status, err) < 0) ||
	    layout_count(&subject, &status.slots, err) < 0 ||
	    (!(subject.is_awaited && known.is_fresh) &&
	     measure_activity(&subject, known.is_fresh, &status, &activity_again_in_ms, err) < 0) ||
	    find_drifts(node, &subject, &known, &status, err) < 0)
		return -1;
	assert(!subject.is_awaited || known.previous);
	set_report_state(&known, &status);
	if (conditions_make(&known, node->arena, &status.conditions, err) < 0)
		return -1;
	*ret = (struct stages_result){
		.status = status,
		.claims_refused = claims_refused,
		.hides = known.intent.hides,
		.tells = known.intent.tells,
		.again_in_ms = again_sooner(again_sooner(tenants.again_in_ms,
							 verdicts_again_in(&known)),
					    activity_again_in_ms),
	};
	return 0;
}
