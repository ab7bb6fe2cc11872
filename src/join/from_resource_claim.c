/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The claims of a pod do not change as long as it lives. So while the witness is silent, what a claim
 * gave is what was published: such a tenant's facts are made from its published status.
 */

#include "join/from_resource_claim.h"

#include <assert.h>

#define RESOURCE VIEW("gpu.nvidia.com")

static bool is_silent(const struct facts *facts)
{
	const enum source_state claims = facts->source.resource_claim;
	return claims == SOURCE_UNREADABLE || claims == SOURCE_PARTIAL;
}

/* NULL: no slice places it. */
static const struct device *device_of(const struct facts *facts, const struct grant *grant)
{
	return devices_find(facts->devices, grant->uuid).device;
}

/* Facts */

static void read_grant(struct facts_draft *draft, const struct grant *grant)
{
	const struct device *device = device_of(draft->facts, grant);
	struct holder *holder = facts_add_container(draft, grant->pod, grant->container, RESOURCE);
	const struct fact what = {
		.witnesses = WITNESS_RESOURCE_CLAIM,
		.id = grant->device,
		.partition = grant->partition,
		.takes_no_slot = grant->is_admin,
		.is_monitor = grant->is_admin,
		.is_part = grant->is_part,
		.is_share = grant->is_share,
	};

	if (device)
		facts_add_on(draft, holder, device, what);
	else
		facts_add(draft, holder, grant->device, what);
}

/* Whether the container's grants are on the device, and on others. */
struct places {
	bool is_here;   /* one may be: it is placed there, or on no device */
	bool is_placed; /* one is placed there */
	bool is_elsewhere;
};

static struct places find_places(const struct facts *facts, const struct device *device,
				 const struct attribution_tenant *tenant)
{
	const struct join_input *input = facts->input;
	const bool is_whole = device->slice && device->slice->is_whole;
	struct places places = {0};
	for (size_t i = 0; i < input->n_grants; i++) {
		const struct grant *grant = &input->grants[i];
		if (!view_equal(pod_uid(grant->pod), tenant->pod_uid) ||
		    !view_equal(grant->container, tenant->container))
			continue;
		const struct device *placed = device_of(facts, grant);
		places.is_here |= placed ? placed == device : !is_whole;
		places.is_placed |= placed == device;
		places.is_elsewhere |= placed && placed != device;
	}
	return places;
}

/* Since it was published: the name that the claim gave may mean another device now. */
static bool is_renumbered(const struct device *device)
{
	const int64_t now = device->reported ? device->reported->minor : -1;
	const int64_t before = device->published ? device->published->status->device.minor : -1;
	return now >= 0 && before >= 0 && now != before;
}

/*
 * What a claim gave stays while the witness is silent, unless slices place all of the container's
 * grants elsewhere, or the device has another number. It also stays while no slice describes the
 * device and all others agree with NVML: the driver may have withdrawn it.
 */
enum resource_claim_word from_resource_claim_hear(const struct facts *facts, const struct device *device,
						  const struct previous_tenant *tenant)
{
	const bool is_told = facts->source.resource_claim == SOURCE_COMPLETE && !facts->is_frozen;
	const bool is_claims = view_equal(tenant->published->resource, RESOURCE);
	const bool is_named = tenant->witnesses & WITNESS_RESOURCE_CLAIM;
	struct places places;
	if (!is_claims && !is_named)
		return RESOURCE_CLAIM_NO_WORD;
	places = find_places(facts, device, tenant->published);
	if (!places.is_here && (places.is_elsewhere || is_told))
		return is_claims ? RESOURCE_CLAIM_MOVED : RESOURCE_CLAIM_NO_WORD;
	if (!places.is_here && !is_silent(facts))
		return RESOURCE_CLAIM_NO_WORD;
	if (is_named && places.is_placed && !is_silent(facts))
		return RESOURCE_CLAIM_GIVES;
	if (is_named && !(is_silent(facts) && is_renumbered(device)))
		return RESOURCE_CLAIM_STAYS;
	return is_claims && is_silent(facts) ? RESOURCE_CLAIM_DOUBTFUL : RESOURCE_CLAIM_NO_WORD;
}

/* A part whose UUID is not known is the one of its pod where nobody shares parts. */
static void restate(struct facts_draft *draft, const struct device *device, const struct pod *pod,
		    const struct attribution_tenant *tenant)
{
	assert(device->published);
	struct holder *holder = facts_add_container(draft, pod, tenant->container, RESOURCE);
	const int mode = device->published->status->sharing.mode;
	const struct array parts = tenant->partitions;
	struct fact what = {
		.witnesses = WITNESS_RESOURCE_CLAIM,
		.id = mode == ATTRIBUTION_MODE_MIG ? tenant->pod_uid : device->uuid,
		.takes_no_slot = tenant->slots == 0,
		.is_monitor = tenant->slots == 0,
		.is_part = parts.count > 0 || attribution_is_partitioned(mode),
		.is_share = (device->published->evidence & EVIDENCE_SHARE_BY_CLAIM) != 0,
		.is_restated = true,
	};

	ARRAY_EACH(const struct view, part, parts) {
		what.id = what.partition = *part;
		facts_add_on(draft, holder, device, what);
	}
	if (parts.count == 0)
		facts_add_on(draft, holder, device, what);
}

static void restate_all(struct facts_draft *draft, const struct device *device)
{
	const struct previous *published = device->published;
	for (uint32_t i = 0; published && i < published->n_tenants; i++) {
		const struct previous_tenant *tenant = &published->tenants[i];
		if (from_resource_claim_hear(draft->facts, device, tenant) != RESOURCE_CLAIM_STAYS)
			continue;
		const struct pod *pod = node_pods_find_uid(&draft->facts->node_pods, tenant->published->pod_uid);
		if (pod)
			restate(draft, device, pod, tenant->published);
	}
}

/* Its container stays on a device, and this one may be that. */
static bool is_shown(const struct facts *facts, const struct grant *grant)
{
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		const struct device *device = &facts->devices->devices[i];
		const struct previous_tenant *tenant =
			previous_find(device->published, pod_uid(grant->pod), grant->container);
		if (tenant && from_resource_claim_hear(facts, device, tenant) == RESOURCE_CLAIM_STAYS)
			return true;
	}
	return false;
}

bool from_resource_claim_is_unheard(const struct facts *facts, const struct pod *pod)
{
	const struct join_input *input = facts->input;
	for (size_t i = 0; i < input->n_grants; i++) {
		const struct grant *grant = &input->grants[i];
		if (grant->pod == pod && !device_of(facts, grant) && !is_shown(facts, grant))
			return true;
	}
	return is_silent(facts) || node_pods_include(input->lacking, input->n_lacking, pod) ||
	       node_pods_include(input->awaiting, input->n_awaiting, pod);
}

void from_resource_claim_read(struct facts_draft *draft)
{
	const struct facts *facts = draft->facts;
	for (size_t i = 0; i < facts->devices->n_devices; i++)
		restate_all(draft, &facts->devices->devices[i]);
	for (size_t i = 0; i < facts->input->n_grants && !is_silent(facts); i++) {
		const struct grant *grant = &facts->input->grants[i];
		if (device_of(facts, grant) || !is_shown(facts, grant))
			read_grant(draft, grant);
	}
}

/* Devices */

/* Slices described it if it was counted, and not by IDs: then it is idle. */
bool from_resource_claim_is_described(const struct facts *facts, const struct device *device)
{
	const struct previous *published = device->published;
	return device->slice ||
	       (is_silent(facts) && published && published->status->slots.total > 0 &&
		(published->evidence == EVIDENCE_NO_IDS ||
		 published->evidence == EVIDENCE_MIG_IS_ON));
}

bool from_resource_claim_is_nameless(const struct facts *facts, const struct device *device)
{
	return (device->slice && device->slice->is_nameless) ||
	       (is_silent(facts) && device->published &&
		device->published->attributed == REASON_RESERVED_OTHERWISE);
}

bool from_resource_claim_is_unread(const struct facts *facts)
{
	const struct join_input *input = facts->input;
	return is_silent(facts) && input->n_grants + input->n_lacking + input->n_awaiting > 0;
}
