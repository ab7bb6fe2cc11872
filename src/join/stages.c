/* SPDX-License-Identifier: Apache-2.0 */
#include "join/stages.h"

#include <assert.h>

#include "base/again.h"

/* What is known of the device before anything is found out. */
static struct subject begin(const struct stages_node *node, size_t index, bool is_duplicate,
			    struct attribution_status *status)
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
		.is_duplicate = is_duplicate,
		.debounce = node->debounce,
		.unplaced = node->unplaced,
		.arena = node->arena,
		.status = status,
		.activity_again_in_ms = -1,
	};

	subject.items = facts_of(facts, index, &subject.n_items);
	return subject;
}

/* Before the first report since the start the device is as published; else as it is found. */
static void begin_status(const struct subject *subject)
{
	const struct join_input *input = subject->facts->input;
	const struct report *report = input->report;
	const struct join_previous *object = subject->device->object;
	struct attribution_status *status = subject->status;
	assert(!subject->is_awaited || subject->published);
	*status = subject->is_awaited ? *subject->published
				      : (struct attribution_status){.node_name = input->node_name};
	if (report)
		status->report = (struct attribution_report){report->boot_id, report->instance,
							     report->sequence, report->observed_at};
	if (subject->published)
		status->intent = subject->published->intent; /* while the node is silent */
	status->observed_generation = object ? object->object->generation : 1;
	if (input->node)
		status->node_uid = input->node->uid;
}

/* Silence shows: nobody may take what was said long ago for what is so now. */
static void set_report_state(const struct subject *subject)
{
	struct attribution_status *status = subject->status;
	if (!subject->facts->input->report && !subject->is_awaited)
		status->report_state = ATTRIBUTION_REPORT_NO_AGENT;
	else if (!input_is_fresh(subject->facts->input))
		status->report_state = ATTRIBUTION_REPORT_STALE;
	else if (!subject->is_awaited)
		status->report_state = ATTRIBUTION_REPORT_CURRENT;
	if (status->report_state == ATTRIBUTION_REPORT_CURRENT)
		return;
	status->intent.state = ATTRIBUTION_INTENT_UNKNOWN;
	if (status->health.state == ATTRIBUTION_HEALTH_HEALTHY)
		status->health.state = ATTRIBUTION_HEALTH_UNKNOWN;
}

/* A silent node says nothing new until its next report. */
static int64_t again_in(const struct subject *subject)
{
	int64_t soonest = again_sooner(subject->tenants.again_in_ms, subject->activity_again_in_ms);
	return input_is_heard(subject->facts->input)
		       ? again_sooner(soonest, again_sooner(subject->health.again_in_ms, subject->intent.again_in_ms))
		       : soonest;
}

int stages_run(const struct stages_node *node, size_t index, bool is_duplicate,
	       struct attribution_status *ret_status, struct subject *ret, struct error *err)
{
	const struct join_input *input = node->facts.input;
	struct subject subject = begin(node, index, is_duplicate, ret_status);
	const bool is_awaited = subject.is_awaited;
	begin_status(&subject);
	if (tenants_find(&subject, err) < 0)
		return -1;
	slots_look(&node->slots, &subject);
	if (!is_awaited && layout_share(&subject, err) < 0)
		return -1;
	if (overlap_find_possible(&subject, err) < 0 || unplaced_find(&subject, err) < 0 ||
	    users_find(&subject, err) < 0 ||
	    (!is_awaited && (overlap_find(&subject, err) < 0 || examine_health(&subject, err) < 0 ||
			     layout_describe(&subject, err) < 0)) ||
	    layout_count(&subject, err) < 0 ||
	    (!(is_awaited && input_is_fresh(input)) && measure_activity(&subject, err) < 0) ||
	    (input_is_heard(input) && compare_intent(&subject, &node->intent, err) < 0))
		return -1;
	set_report_state(&subject);
	if (conditions_make(&subject, err) < 0)
		return -1;
	subject.again_in_ms = again_in(&subject);
	*ret = subject;
	return 0;
}
