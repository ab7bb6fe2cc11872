/* SPDX-License-Identifier: Apache-2.0 */
#include "join/stages.h"

#include "join/conditions.h"
#include "join/from_resource_claim.h"
#include "join/layout.h"
#include "join/overlap.h"
#include "join/sharing.h"

/* What is found out about one device. */
struct findings {
	struct stage stage;
	struct sharing sharing; /* not while the first report is awaited */
	struct conditions_facts known;
};

/* What is published of one device */

static int intent_of(const struct join_input *input)
{
	const struct intent *intent = input->intent;
	return intent && intent->known && intent->n_policies == 0 ? ATTRIBUTION_INTENT_UNMANAGED
								  : ATTRIBUTION_INTENT_UNKNOWN;
}

static int scope_of(int mode)
{
	return mode == ATTRIBUTION_MODE_MIG || mode == ATTRIBUTION_MODE_MIG_TIME_SLICED
		       ? ATTRIBUTION_SCOPE_PARTITION
		       : ATTRIBUTION_SCOPE_DEVICE;
}

/* What else is said of those who hold the device. */
static int find_others(struct findings *findings, int mode, struct error *err)
{
	const struct stage *stage = &findings->stage;
	struct conditions_facts *known = &findings->known;

	if (unplaced_find(stage, &known->unplaced, err) < 0 ||
	    users_find(stage, mode, &known->tenants, &known->users, err) < 0 ||
	    (!stage->is_awaited && overlap_find(stage, &known->held_twice, err) < 0))
		return -1;
	return 0;
}

static void set_holders(const struct conditions_facts *known, struct attribution_status *status)
{
	status->tenants = known->tenants.listed;
	status->tenant_count = known->tenants.count;
	status->tenants_left_out = known->tenants.left_out;
	status->tenant_summary = known->tenants.summary;
	status->recent_tenants = known->tenants.recent;
	status->source_disagreements = known->tenants.disputed;
	status->source_disagreements_left_out = known->tenants.disputed_left_out;
	status->unplaced_tenants = known->unplaced.listed;
	status->unplaced_tenants_left_out = known->unplaced.left_out;
	status->unallocated_users = known->users.listed;
	status->unallocated_users_left_out = known->users.left_out;
	status->unknown_processes = known->users.unknown;
}

/* What the device is like, but for who holds it. */
static int describe(const struct subject *subject, struct health *health,
		    struct attribution_status *status, struct error *err)
{
	if (health_judge(subject, health, err) < 0 ||
	    layout_describe(subject, &status->device, err) < 0 ||
	    layout_partition(subject, &status->partitions, err) < 0)
		return -1;
	status->activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_UNKNOWN, .scope = scope_of(status->sharing.mode)};
	status->health = health->state;
	return 0;
}

/* A claim that cannot be read may have given the device. */
static bool may_be_claimed(const struct findings *findings)
{
	return findings->sharing.is_without_ids ||
	       from_resource_claim_has(findings->stage.facts, findings->stage.device);
}

/* What is known of the device before anything is found out. */
static struct findings begin(const struct stages_node *node, size_t index, bool is_duplicate)
{
	const struct facts *facts = node->facts;
	const struct join_input *input = facts->input;
	const struct device *device = &facts->devices->devices[index];
	/* An agent has spoken of the device, if not since the start. */
	const bool is_awaited = !input->report && device->published &&
				!device->published->is_agentless;

	return (struct findings){
		.stage = {facts, index, is_awaited, node->debounce, node->arena},
		.known =
			{
				.previous = device->published,
				.object = device->object ? &device->object->object->status : NULL,
				.generation = device->object ? device->object->object->generation
							     : 1,
				.now_wall_ms = input->now_wall_ms,
				.pods_age = input->pods_age,
				.is_awaited = is_awaited,
				.is_fresh = node->is_fresh,
				.is_settling = facts->source.is_settling,
				.is_duplicate = is_duplicate,
				.is_nameless = from_resource_claim_is_nameless(facts, device),
				.are_claims_old = input->grants_denied &&
						  from_resource_claim_hands_out(facts, index),
				.is_book_readable = source_is_good(facts->source.pod_resources) ||
						    source_is_good(facts->source.checkpoint),
				.sources = input->report ? &input->report->sources : NULL,
			},
	};
}

static int make_conditions(const struct stages_node *node, struct findings *findings,
			   struct attribution_status *status, struct error *err)
{
	struct conditions_facts *known = &findings->known;

	known->is_unread = node->is_unread && (known->is_awaited || may_be_claimed(findings));
	known->intent = status->intent.state;
	known->may_be_held_twice = overlap_is_possible(&findings->stage, &known->tenants,
						       status->sharing.mode);
	return conditions_make(known, node->arena, &status->conditions, err);
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
static struct attribution_status begin_status(const struct join_input *input,
					      const struct conditions_facts *known)
{
	struct attribution_status status = {
		.node_name = input->node_name,
		.report = report_of(input->report),
		.intent = {.state = intent_of(input)},
	};

	if (known->is_awaited)
		status = *known->previous->status;
	status.observed_generation = known->generation;
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

int stages_run(const struct stages_node *node, size_t index, bool is_duplicate,
	       struct stages_result *ret, struct error *err)
{
	const struct facts *facts = node->facts;
	struct findings findings = begin(node, index, is_duplicate);
	struct conditions_facts *known = &findings.known;
	struct attribution_status status = begin_status(facts->input, known);
	struct subject subject;

	if (tenants_find(&findings.stage, &known->tenants, err) < 0)
		return -1;
	subject = slots_subject(facts, node->slots, index, &known->tenants, node->arena);
	if (!known->is_awaited && sharing_conclude(&subject, &findings.sharing, err) < 0)
		return -1;
	if (!known->is_awaited)
		status.sharing = findings.sharing.published;
	if (find_others(&findings, status.sharing.mode, err) < 0 ||
	    (!known->is_awaited && describe(&subject, &known->health, &status, err) < 0) ||
	    layout_count(&subject, &status.slots, err) < 0)
		return -1;
	set_holders(known, &status);
	set_report_state(known, &status);
	if (make_conditions(node, &findings, &status, err) < 0)
		return -1;
	*ret = (struct stages_result){
		.status = status,
		.claims_refused = known->users.refused,
		.again_in_ms = known->tenants.again_in_ms,
	};
	return 0;
}
