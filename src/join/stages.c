/* SPDX-License-Identifier: Apache-2.0 */
#include "join/stages.h"

#include <assert.h>

#include "join/from_resource_claim.h"
#include "join/conditions.h"
#include "join/layout.h"
#include "join/overlap.h"
#include "join/sharing.h"

/* What is found out about one device. */
struct findings {
	struct stage stage;
	struct tenants tenants;
	struct disagreements disagreements;
	struct unplaced unplaced;
	struct users users;
	struct sharing sharing; /* not while the first report is awaited */
	struct health health;
	struct view held_twice;
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

static int64_t generation_of(const struct device *device)
{
	return device->object ? device->object->object->generation : 1;
}

static int find_tenants(const struct stages_node *node, struct findings *findings, struct error *err)
{
	const struct tenants_ask ask = {node->facts, findings->stage.device, node->debounce,
					node->arena};
	return tenants_find(&ask, &findings->tenants, &findings->disagreements, err);
}

/* What else is said of those who hold the device. */
static int find_others(const struct stages_node *node, struct findings *findings, int mode,
		       struct error *err)
{
	const struct stage *stage = &findings->stage;

	if (unplaced_find(stage, &findings->unplaced, err) < 0)
		return -1;
	if (users_find(&(struct users_device){node->facts, stage->device, mode, &findings->tenants},
		       node->debounce, node->arena, &findings->users, err) < 0 ||
	    (!stage->is_awaited && overlap_find(stage, &findings->held_twice, err) < 0))
		return -1;
	return 0;
}

static void set_holders(const struct findings *findings, struct attribution_status *status)
{
	status->tenants = findings->tenants.listed;
	status->tenant_count = findings->tenants.count;
	status->tenants_left_out = findings->tenants.left_out;
	status->tenant_summary = findings->tenants.summary;
	status->recent_tenants = findings->tenants.recent;
	status->source_disagreements = findings->disagreements.listed;
	status->source_disagreements_left_out = findings->disagreements.left_out;
	status->unplaced_tenants = findings->unplaced.listed;
	status->unplaced_tenants_left_out = findings->unplaced.left_out;
	status->unallocated_users = findings->users.listed;
	status->unallocated_users_left_out = findings->users.left_out;
	status->unknown_processes = findings->users.unknown;
}

/* What the device is like, but for who holds it. */
static int describe(const struct subject *subject, struct findings *findings,
		    struct attribution_status *status, struct error *err)
{
	if (health_judge(subject, &findings->health, err) < 0 ||
	    layout_describe(subject, &status->device, err) < 0 ||
	    layout_partition(subject, &status->partitions, err) < 0)
		return -1;
	status->activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_UNKNOWN, .scope = scope_of(status->sharing.mode)};
	status->health = findings->health.state;
	return 0;
}

/* A claim that cannot be read may have given the device. */
static bool may_be_claimed(const struct findings *findings)
{
	return findings->sharing.is_without_ids ||
	       from_resource_claim_has(findings->stage.facts, findings->stage.device);
}

static struct conditions_facts conditions_facts(const struct stages_node *node,
						const struct findings *findings,
						const struct attribution_status *status,
						bool is_duplicate)
{
	const struct join_input *input = node->input;
	const struct facts *facts = node->facts;
	const struct device *device = &node->facts->devices->devices[findings->stage.device];

	return (struct conditions_facts){
		.previous = device->published,
		.object = device->object ? &device->object->object->status : NULL,
		.generation = status->observed_generation,
		.now_wall_ms = input->now_wall_ms,
		.pods_age = input->pods_age,
		.is_awaited = findings->stage.is_awaited,
		.is_fresh = node->is_fresh,
		.is_settling = facts->source.is_settling,
		.is_duplicate = is_duplicate,
		.is_nameless = from_resource_claim_is_nameless(facts, device),
		.is_unread = node->is_unread &&
			     (findings->stage.is_awaited || may_be_claimed(findings)),
		.are_claims_old = input->grants_denied &&
				  from_resource_claim_hands_out(facts, findings->stage.device),
		.is_book_readable = source_is_good(facts->source.pod_resources) ||
				    source_is_good(facts->source.checkpoint),
		.intent = status->intent.state,
		.sources = input->report ? &input->report->sources : NULL,
		.tenants = &findings->tenants,
		.disagreements = &findings->disagreements,
		.unplaced = &findings->unplaced,
		.users = &findings->users,
		.health = &findings->health,
		.may_be_held_twice = overlap_is_possible(&findings->stage, &findings->tenants,
							 status->sharing.mode),
		.held_twice = findings->held_twice,
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
static struct attribution_status begin_status(const struct stages_node *node,
					      const struct device *device, bool is_awaited)
{
	const struct join_input *input = node->input;
	struct attribution_status status;

	if (!is_awaited)
		return (struct attribution_status){
			.observed_generation = generation_of(device),
			.node_name = input->node_name,
			.report = report_of(input->report),
			.intent = {.state = intent_of(input)},
		};
	assert(device->published);
	status = *device->published->status;
	status.observed_generation = generation_of(device);
	return status;
}

/* Silence shows: nobody may take what was said long ago for what is so now. */
static void set_report_state(const struct stages_node *node, bool is_awaited,
			     struct attribution_status *status)
{
	if (!node->input->report && !is_awaited)
		status->report_state = ATTRIBUTION_REPORT_NO_AGENT;
	else if (!node->is_fresh)
		status->report_state = ATTRIBUTION_REPORT_STALE;
	else if (!is_awaited)
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
	const struct device *device = &facts->devices->devices[index];
	/* An agent has spoken of the device, if not since the start. */
	bool is_awaited = !node->input->report && device->published &&
			  !device->published->is_agentless;
	struct findings findings = {.stage = {facts, index, is_awaited, node->debounce, node->arena}};
	struct attribution_status status = begin_status(node, device, is_awaited);
	struct conditions_facts known;
	struct subject subject;

	if (find_tenants(node, &findings, err) < 0)
		return -1;
	subject = slots_subject(facts, node->slots, index, &findings.tenants, node->arena);
	if (!is_awaited) {
		if (sharing_conclude(&subject, &findings.sharing, err) < 0)
			return -1;
		status.sharing = findings.sharing.published;
	}
	if (find_others(node, &findings, status.sharing.mode, err) < 0 ||
	    (!is_awaited && describe(&subject, &findings, &status, err) < 0) ||
	    layout_count(&subject, &status.slots, err) < 0)
		return -1;
	set_holders(&findings, &status);
	if (node->input->node)
		status.node_uid = node->input->node->uid;
	set_report_state(node, is_awaited, &status);
	known = conditions_facts(node, &findings, &status, is_duplicate);
	if (conditions_make(&known, node->arena, &status.conditions, err) < 0)
		return -1;
	*ret = (struct stages_result){
		.status = status,
		.claims_refused = findings.users.refused,
		.again_in_ms = findings.tenants.again_in_ms,
	};
	return 0;
}
