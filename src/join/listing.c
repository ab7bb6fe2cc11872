/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each entry of the List is explained, by the first of these that fits:
 *
 *	a pod of another node        nothing: it is refused; unless by the checkpoint the one before
 *	                             or after of that name is meant, which was or will be here
 *	a pod that is over           nothing: kubelets before 1.34 list pods that ended
 *	the same pod's own entry in  it holds the IDs, and both books say so
 *	the checkpoint
 *	an entry of the same         that entry's pod holds them. The name must not decide here: the
 *	container, same ID, of       API server's pod of that name may be the one before or after
 *	another standing             the one that the kubelet means. One that ended by a checkpoint
 *	                             of some time ago may have been followed since: the name decides
 *	the pod of that name, if     it holds them, by name only
 *	the kubelet had it by then
 *	none                         the IDs are held by somebody that nobody can name
 */

#include "join/listing.h"

#include <assert.h>

/* The standings of entries that have an ID that the List has in a container of the same name. Those
 * of the pod itself are among them: whoever asks knows that it has none of that standing. */
static unsigned match_entries(const struct listing *listing, const struct report_pod_resource *said)
{
	unsigned match = 0;
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		match |= book_standings(listing->book, *ARRAY_AT(said->device_ids, struct view, i),
					said->container);
	return match;
}

static bool has(unsigned match, enum book_standing standing)
{
	return match & (1u << standing);
}

/* The List speaks of those entries: the pod's own, or, without a pod, those of no known pod. */
static void support_entries(const struct listing *listing, const struct report_pod_resource *said,
			    const struct pod *pod)
{
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		book_support(listing->book, *ARRAY_AT(said->device_ids, struct view, i),
			     said->container, pod);
}

static bool has_started(const struct pod *pod, struct view container)
{
	const struct pod_container *c = pod_find_container(pod, container);
	return c && (c->state == POD_CONTAINER_RUNNING || c->state == POD_CONTAINER_TERMINATED);
}

/*
 * The kubelet has admitted this very pod (its container ran), yet the checkpoint has nothing of the
 * container: an entry for somebody else there does not explain what the List says.
 */
static bool is_meant(const struct listing *listing, const struct pod *pod, struct view container)
{
	return pod && has_started(pod, container) &&
	       !book_has(listing->book, pod, container, false);
}

enum by_name {
	BY_NAME_NOBODY,  /* it speaks of a pod that ended */
	BY_NAME_POD,     /* the pod of that name */
	BY_NAME_UNKNOWN, /* somebody that cannot be told */
};

/* HAMi's plugin may have given any device for its ID, so what was published of any is about it. */
static size_t scope_of(const struct devices *devices, const struct device_place *place)
{
	assert(place->device);
	return place->id.is_hami ? PAST_ANYWHERE : (size_t)(place->device - devices->devices);
}

/* By what was published, a List has spoken of the container before; where HAMi's annotation was
 * listened to, it has such IDs. */
static bool was_listed(const struct listing *listing, const struct device_place *place,
		       struct view uid, struct view container)
{
	const unsigned by = place->id.is_hami ? WITNESS_POD_RESOURCES | WITNESS_HAMI : WITNESS_POD_RESOURCES;
	size_t scope = scope_of(listing->facts->devices, place);
	return past_witnesses(listing->past, uid, container, scope) & by;
}

/*
 * A pod of that name may have been there before, whom nobody remembers. The kubelet has no two of a
 * name at a time, so a List that it was asked for after it took this one over means this one. But a
 * static pod whose manifest was changed is given its devices while the API server still has the
 * mirror of the one before, under the name that both have.
 */
static bool is_since_start(struct listing *listing, const struct pod *pod)
{
	/* One of some time ago does not tell who held the IDs since. */
	if (pod_started_at(pod) == 0 || pod_config_hash(pod).len > 0 ||
	    listing->facts->list != BOOK_OK)
		return false;
	bool is_read = node_pods_is_read_since(&listing->facts->node_pods, pod);
	listing->facts->awaits_list |= !is_read;
	return is_read;
}

/* On any device: the kubelet has it, whatever the API server knows. */
static bool has_process(const struct listing *listing, const struct pod *pod)
{
	const struct array devices = listing->facts->input->report->devices;
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct array processes =
			ARRAY_AT(devices, struct report_device, i)->processes;
		for (uint32_t k = 0; k < processes.count; k++) {
			if (view_equal(ARRAY_AT(processes, struct report_process, k)->pod_uid,
				       pod_uid(pod)))
				return true;
		}
	}
	return false;
}

/* The kubelet has taken it over, so that it means no earlier one by the name. */
static bool is_taken_over(const struct listing *listing, const struct pod *pod)
{
	return pod_started_at(pod) || has_process(listing, pod);
}

/* Who holds an ID of that place, when the name is all there is to go by. */
static enum by_name judge_name(struct listing *listing, const struct device_place *place,
			       const struct report_pod_resource *said, const struct pod *pod,
			       bool is_new)
{
	size_t scope = scope_of(listing->facts->devices, place);
	struct view uid = pod ? pod_uid(pod) : (struct view){0};

	if (pod && was_listed(listing, place, uid, said->container))
		return BY_NAME_POD;
	if (pod && is_since_start(listing, pod))
		return BY_NAME_POD;
	if (past_has_namesake(listing->past, said, uid, scope) && !is_new)
		return BY_NAME_NOBODY;
	return BY_NAME_UNKNOWN;
}

static void note_by_name(struct listing *listing, const struct report_pod_resource *said,
			 struct holder *owner)
{
	const struct fact what = {.witnesses = WITNESS_POD_RESOURCES};
	const struct pod *pod = owner ? owner->pod : NULL;
	const bool is_new = pod && is_taken_over(listing, pod);
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		struct device_place place = devices_find(listing->facts->devices, id);
		enum by_name by_name = place.device ? judge_name(listing, &place, said, pod, is_new)
						    : BY_NAME_UNKNOWN;
		if (by_name != BY_NAME_NOBODY)
			ledger_note(listing->ledger, by_name == BY_NAME_POD ? owner : NULL, id,
				    what);
	}
}

/* One of some time ago means who had the name then. */
static bool is_of_another(const struct listing *listing, const struct pod *pod)
{
	return listing->facts->list == BOOK_DATED &&
	       (pod_started_at(pod) == 0 ||
		!node_pods_is_read_since(&listing->facts->node_pods, pod));
}

static void note_listed(struct listing *listing, const struct report_pod_resource *said,
			struct holder *owner)
{
	const struct fact what = {.witnesses = WITNESS_POD_RESOURCES};
	assert(owner && owner->pod);
	if (is_of_another(listing, owner->pod))
		return;
	bool is_dated = listing->facts->list == BOOK_DATED ||
			listing->facts->checkpoint == BOOK_DATED;
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		if (!is_dated || book_names(listing->book, id, said->container, owner->pod))
			ledger_note(listing->ledger, owner, id, what);
	}
}

/* An unknown UID in a checkpoint of some time ago can be long gone, in a good one it is new. */
static bool is_by_unknown(const struct listing *listing, unsigned match,
			  const struct report_pod_resource *said, const struct pod *pod)
{
	return has(match, BOOK_UNKNOWN) && !(listing->facts->checkpoint == BOOK_DATED &&
					     is_meant(listing, pod, said->container));
}

static bool is_foreign(const struct listing *listing, uint32_t index, unsigned match)
{
	const bool *are_foreign = listing->facts->input->is_foreign;
	return are_foreign && are_foreign[index] && !has(match, BOOK_UNKNOWN) &&
	       !has(match, BOOK_ENDED);
}

/* Whom a checkpoint of some time ago has as ended, by the pod that has the name now. */
static bool is_followed(const struct listing *listing, const struct pod *pod)
{
	return pod && listing->facts->checkpoint == BOOK_DATED &&
	       is_taken_over(listing, pod);
}

static void explain(struct listing *listing, uint32_t index)
{
	const struct report_pod_resource *said =
		ARRAY_AT(listing->facts->input->report->pod_resources,
			 struct report_pod_resource, index);
	const struct pod *pod = node_pods_find_name(&listing->facts->node_pods, said->namespace,
						 said->name);
	unsigned match = match_entries(listing, said);
	struct holder *owner = NULL;

	if (is_foreign(listing, index, match)) {
		listing->facts->claims_refused++;
		return;
	}
	if (pod && pod_is_over(pod))
		return;
	if (pod)
		owner = ledger_add_owner(listing->ledger, (struct holder){
								  .pod_uid = pod_uid(pod),
								  .container = said->container,
								  .resource = said->resource,
								  .pod = pod,
							  });
	if (pod && book_has(listing->book, pod, said->container, true))
		note_listed(listing, said, owner);
	else if (has(match, BOOK_REFUSED) || (has(match, BOOK_LIVE) && !pod))
		return;
	else if (is_by_unknown(listing, match, said, pod))
		support_entries(listing, said, NULL);
	else if (has(match, BOOK_ENDED) && !is_followed(listing, pod))
		return;
	else
		note_by_name(listing, said, owner);
}

/* What the List says of a container is about one and the same pod: where a part of it agrees with
 * the checkpoint, all of it is about the checkpoint's pod. So agreement is looked for first. When
 * one of them is of some time ago only what agrees counts: the rest may be the pod's before it. */
void listing_read(struct listing *listing)
{
	const struct array list = listing->facts->input->report->pod_resources;
	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_pod_resource *said = ARRAY_AT(list, struct report_pod_resource,
								  i);
		const struct pod *pod = node_pods_find_name(&listing->facts->node_pods,
							 said->namespace, said->name);
		if (pod)
			support_entries(listing, said, pod);
	}
	book_settle(listing->book);
	for (uint32_t i = 0; i < list.count; i++)
		explain(listing, i);
	book_settle(listing->book);
}
