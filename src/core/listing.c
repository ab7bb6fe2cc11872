/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each entry of the List is explained, by the first of these that fits:
 *
 *	a pod that is over           nothing: kubelets before 1.34 list pods that ended
 *	the same pod's own entry in  it holds the IDs, and both books say so
 *	the checkpoint
 *	an entry of the same         that entry's pod holds them. The name must not decide here: the
 *	container, same ID, of       API server's pod of that name may be the one before or after
 *	another standing             the one that the kubelet means
 *	the pod of that name         it holds them, by name only
 *	none                         the IDs are held by somebody that nobody can name
 */

#include "core/listing.h"

/* For each standing: whether an entry of it has an ID that the List has in a container of the same
 * name. */
struct match {
	bool has[BOOK_N_STANDINGS]; /* of other pods */
};

static struct match match_entries(const struct listing *listing,
				  const struct report_pod_resource *said, const struct pod *pod)
{
	struct match match = {0};
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		const struct book_entry *entry;
		size_t at = 0;
		while ((entry = book_next(listing->book, id, said->container, &at)))
			match.has[entry->standing] |= !pod || entry->pod != pod;
	}
	return match;
}

/* The List speaks of those entries: the pod's own, or, without a pod, those of no known pod. */
static void support_entries(const struct listing *listing, const struct report_pod_resource *said,
			    const struct pod *pod)
{
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		struct book_entry *entry;
		size_t at = 0;
		while ((entry = book_next(listing->book, id, said->container, &at)))
			entry->is_supported |= entry->pod == pod;
	}
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

static bool is_same_name(struct view namespace, struct view name, struct view container,
			 const struct report_pod_resource *said)
{
	return view_equal(name, said->name) && view_equal(namespace, said->namespace) &&
	       view_equal(container, said->container);
}

/* A pod of that name and another UID held the device, by what was published. */
static bool had_namesake(const struct attribution_status *status,
			 const struct report_pod_resource *said, struct view uid)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, i);
		if (is_same_name(t->pod_namespace, t->pod_name, t->container, said) &&
		    !view_equal(t->pod_uid, uid))
			return true;
	}
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *t = ARRAY_AT(
			status->recent_tenants, struct attribution_past_tenant, i);
		if (is_same_name(t->pod_namespace, t->pod_name, t->container, said) &&
		    !view_equal(t->pod_uid, uid))
			return true;
	}
	return false;
}

enum by_name {
	BY_NAME_NOBODY,  /* it speaks of a pod that ended */
	BY_NAME_POD,     /* the pod of that name */
	BY_NAME_UNKNOWN, /* somebody that cannot be told */
};

/* By what was published, a List has spoken of the container before. */
static bool was_listed(const struct attribution_status *status, struct view uid,
		       struct view container)
{
	const struct attribution_tenant *tenant = attribution_find_tenant(status, uid, container);
	for (uint32_t i = 0; tenant && i < tenant->witnesses.count; i++) {
		if (holding_witness_of(*ARRAY_AT(tenant->witnesses, struct view, i)) ==
		    HOLDING_LIST)
			return true;
	}
	return false;
}

/* Who holds an ID of that device, when the name is all there is to go by. */
static enum by_name judge_name(const struct listing *listing, const struct roster_device *device,
			       const struct report_pod_resource *said, const struct pod *pod)
{
	const struct attribution_status *published = roster_published(device);
	const struct join_previous *previous = device->previous;
	struct view uid = pod ? pod_uid(pod) : (struct view){0};

	if (pod && published && was_listed(published, uid, said->container))
		return BY_NAME_POD;
	if (previous && had_namesake(&previous->object->status, said, uid) &&
	    (!pod || !has_started(pod, said->container)))
		return BY_NAME_NOBODY;
	/* A List of some time ago may mean another pod of that name. */
	if (!pod || listing->holdings->list == HOLDING_BOOK_DATED)
		return BY_NAME_UNKNOWN;
	return BY_NAME_POD;
}

/* HAMi's annotation on the pod tells the device, and the ID in the List does not. */
static bool is_told_by_hami(const struct roster_place *place, const struct holding_owner *owner)
{
	return owner && place->id.is_hami && pod_hami_devices(owner->pod).len > 0;
}

static void note_by_name(struct listing *listing, const struct report_pod_resource *said,
			 struct holding_owner *owner)
{
	const struct holding what = {.witnesses = HOLDING_LIST};
	for (uint32_t i = 0; i < said->device_ids.count; i++) {
		struct view id = *ARRAY_AT(said->device_ids, struct view, i);
		struct roster_place place = roster_find(listing->holdings->roster, id);
		enum by_name by_name = place.device ? judge_name(listing, place.device, said,
								 owner ? owner->pod : NULL)
						    : BY_NAME_UNKNOWN;
		if (by_name != BY_NAME_NOBODY && !is_told_by_hami(&place, owner))
			ledger_note(listing->ledger, by_name == BY_NAME_POD ? owner : NULL, id,
				    what);
	}
}

static void note_listed(struct listing *listing, const struct report_pod_resource *said,
			struct holding_owner *owner)
{
	const struct holding what = {.witnesses = HOLDING_LIST};
	for (uint32_t i = 0; i < said->device_ids.count; i++)
		ledger_note(listing->ledger, owner, *ARRAY_AT(said->device_ids, struct view, i),
			    what);
}

/* An unknown UID in a checkpoint of some time ago can be long gone, in a good one it is new. */
static bool is_by_unknown(const struct listing *listing, const struct match *match,
			  const struct report_pod_resource *said, const struct pod *pod)
{
	return match->has[BOOK_UNKNOWN] && !(listing->holdings->checkpoint == HOLDING_BOOK_DATED &&
					     is_meant(listing, pod, said->container));
}

static void explain(struct listing *listing, const struct report_pod_resource *said)
{
	const struct pod *pod = census_find_name(&listing->holdings->census, said->namespace,
						 said->name);
	struct match match = match_entries(listing, said, pod);
	struct holding_owner *owner = NULL;

	if (pod && pod_is_over(pod))
		return;
	if (pod)
		owner = ledger_add_owner(listing->ledger, (struct holding_owner){
								  .pod_uid = pod_uid(pod),
								  .container = said->container,
								  .resource = said->resource,
								  .pod = pod,
							  });
	if (pod && book_has(listing->book, pod, said->container, true))
		note_listed(listing, said, owner);
	else if (match.has[BOOK_REFUSED] || (match.has[BOOK_LIVE] && !pod))
		return;
	else if (is_by_unknown(listing, &match, said, pod))
		support_entries(listing, said, NULL);
	else if (match.has[BOOK_ENDED] && !is_meant(listing, pod, said->container))
		return;
	else
		note_by_name(listing, said, owner);
}

/* What the List says of a container is about one and the same pod: where a part of it agrees with
 * the checkpoint, all of it is about the checkpoint's pod. So agreement is looked for first. */
void listing_read(struct listing *listing)
{
	const struct array list = listing->holdings->input->report->pod_resources;
	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_pod_resource *said = ARRAY_AT(list, struct report_pod_resource,
								  i);
		const struct pod *pod = census_find_name(&listing->holdings->census,
							 said->namespace, said->name);
		if (pod)
			support_entries(listing, said, pod);
	}
	for (uint32_t i = 0; i < list.count; i++)
		explain(listing, ARRAY_AT(list, struct report_pod_resource, i));
}
