/* SPDX-License-Identifier: Apache-2.0 */
#include "join/candidate.h"

#include <assert.h>

#include "join/from_resource_claim.h"

const struct pod_container *candidate_container(const struct pod *pod,
						const struct report_process *process)
{
	for (uint32_t i = 0; pod && i < pod_count_containers(pod); i++) {
		const struct pod_container *c = pod_container_at(pod, i);
		if (c->id.len > 0 && view_equal(c->id, process->container_id))
			return c;
	}
	return NULL;
}

static bool has_begun(const struct pod_container *container)
{
	return container && (container->state == POD_CONTAINER_RUNNING ||
			     container->state == POD_CONTAINER_TERMINATED);
}

bool candidate_may_be_elsewhere(const struct candidate *candidate,
				const struct report_process *process, struct view container)
{
	const struct pod *pod = candidate->pod;
	const struct pod_container *own;

	if (!pod || candidate->container)
		return false;
	own = pod_find_container(pod, container);
	if (pod_has_more_ephemeral(pod) || (own && own->state == POD_CONTAINER_RUNNING &&
					    own->id.len > 0 && process->container_id.len > 0))
		return true;
	for (uint32_t i = 0; i < pod_count_containers(pod); i++) {
		const struct pod_container *c = pod_container_at(pod, i);
		if (c != own && c->state != POD_CONTAINER_RUNNING &&
		    (!has_begun(c) || !has_begun(own)))
			return true;
	}
	return false;
}

/*
 * True when the kubelet's sources would name the candidate. The List names pods by name, which tells
 * nothing of a pod whose name is not known; and it leaves out ordinary init containers. Where there
 * is no checkpoint, no plugin has given anything.
 */
static bool would_be_named(const struct candidate *candidate, const struct facts *facts)
{
	bool is_init = candidate->container && candidate->container->kind == POD_CONTAINER_INIT;

	if (source_is_good(facts->source.checkpoint) ||
	    facts->input->report->sources.checkpoint.state == REPORT_SOURCE_ABSENT)
		return true;
	return candidate->pod && !is_init && source_is_good(facts->source.pod_resources) && !facts->source.is_settling;
}

/*
 * True when the pod holds a device that is not known. The device of an ID of HAMi's is not: the pod,
 * or a holder that could not be told, may have any.
 */
static bool holds_unknown(const struct facts *facts, struct view uid)
{
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *fact = &facts->items[i];
		bool is_its = view_equal(fact->owner->pod_uid, uid);

		if ((is_its && i >= facts->n_placed) ||
		    (fact->is_hami && (is_its || fact->owner->pod_uid.len == 0)))
			return true;
	}
	return false;
}

/* A claim that is here may yet give it a device. */
static bool awaits_grant(const struct join_input *input, const struct pod *pod)
{
	for (size_t i = 0; i < input->n_awaiting; i++)
		if (input->awaiting[i] == pod)
			return true;
	return false;
}

bool candidate_can_hold(const struct candidate *candidate)
{
	return !candidate->container || candidate->container->kind != POD_CONTAINER_EPHEMERAL;
}

bool candidate_may_hold(const struct candidate *candidate, const struct facts *facts,
			int64_t n_nameless)
{
	const struct join_input *input = facts->input;
	bool is_untold = !candidate->pod && input->pods_age != JOIN_PODS_CURRENT;

	assert(input->report && n_nameless >= 0);
	if (candidate->pod_uid.len == 0 || !candidate_can_hold(candidate))
		return false;
	return is_untold || n_nameless > 0 || !would_be_named(candidate, facts) ||
	       from_resource_claim_is_unheard(facts, candidate->pod_uid) ||
	       awaits_grant(input, candidate->pod) || holds_unknown(facts, candidate->pod_uid);
}
