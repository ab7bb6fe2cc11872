/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The claims of a pod do not change as long as it lives. So while the witness is silent, what a claim
 * gave is what was published: such a tenant's facts are made from its published status.
 */

#include "join/from_resource_claim.h"

#include <assert.h>

#include "base/keyed.h"

#define RESOURCE VIEW("gpu.nvidia.com")

static bool is_silent(const struct facts *facts)
{
	const enum source_state claims = facts->source.resource_claim;
	return claims == SOURCE_UNREADABLE || claims == SOURCE_PARTIAL;
}

/* Grants */

/* A container that has grants. */
struct claimant {
	bool is_placed;  /* one is placed on a device */
	bool is_nowhere; /* one is placed on none */
	bool is_shown;   /* it stays on a device, which may be the one of these */
};

struct claims {
	struct keyed claimants; /* by pod UID and container */
	struct keyed placed;    /* these, by the UUID of each device on which one is placed, too */
	struct keyed unheard;   /* pods with a grant that is no fact and not shown, by UID */
};

static void add_grant(struct facts *facts, const struct grant *grant)
{
	struct claims *claims = facts->claims;
	const struct view uid = pod_uid(grant->pod), container = grant->container;
	const struct device *device = devices_find(facts->devices, grant->uuid).device;
	struct claimant *claimant =
		keyed_ensure(&claims->claimants, KEYED_KEY(uid, container), sizeof(*claimant));
	if (!claimant)
		return;
	claimant->is_placed |= device != NULL;
	claimant->is_nowhere |= !device;
	if (device)
		keyed_add(&claims->placed, KEYED_KEY(uid, container, device->uuid), device);
}

int from_resource_claim_open(struct facts *facts, struct arena *arena, struct error *err)
{
	if (!ARENA_NEW(facts->claims, arena, 1))
		return error_no_memory(err);
	*facts->claims = (struct claims){{.arena = arena}, {.arena = arena}, {.arena = arena}};
	for (size_t i = 0; i < facts->input->n_grants; i++)
		add_grant(facts, &facts->input->grants[i]);
	return arena_check(arena, err);
}

/* Facts */

static void read_grant(struct facts_draft *draft, const struct grant *grant, const struct device *device)
{
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
	const bool is_whole = device->slice && device->slice->is_whole;
	const struct view uid = tenant->published->pod_uid, container = tenant->published->container;
	const struct claims *claims = facts->claims;
	if (!is_claims && !is_named)
		return RESOURCE_CLAIM_NO_WORD;
	const struct claimant *claimant = keyed_find(&claims->claimants, KEYED_KEY(uid, container));
	const bool is_placed = keyed_find(&claims->placed, KEYED_KEY(uid, container, device->uuid));
	const bool is_here = is_placed || (claimant && claimant->is_nowhere && !is_whole);
	if (!is_here && (is_told || (claimant && claimant->is_placed)))
		return is_claims ? RESOURCE_CLAIM_MOVED : RESOURCE_CLAIM_NO_WORD;
	if (!is_here && !is_silent(facts))
		return RESOURCE_CLAIM_NO_WORD;
	if (is_named && is_placed && !is_silent(facts))
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
	const struct facts *facts = draft->facts;
	const struct previous *published = device->published;
	for (uint32_t i = 0; published && i < published->n_tenants; i++) {
		const struct attribution_tenant *tenant = published->tenants[i].published;
		if (from_resource_claim_hear(facts, device, &published->tenants[i]) !=
		    RESOURCE_CLAIM_STAYS)
			continue;
		/* It stays on a device: its grants that are placed on none may be that. */
		struct claimant *claimant = keyed_find(
			&facts->claims->claimants, KEYED_KEY(tenant->pod_uid, tenant->container));
		const struct pod *pod = node_pods_find_uid(&facts->node_pods, tenant->pod_uid);
		if (claimant)
			claimant->is_shown = true;
		if (pod)
			restate(draft, device, pod, tenant);
	}
}

bool from_resource_claim_is_unheard(const struct facts *facts, const struct pod *pod)
{
	const struct node_pods *node_pods = &facts->node_pods;
	if (pod && keyed_find(&facts->claims->unheard, KEYED_KEY(pod_uid(pod))))
		return true;
	return is_silent(facts) || node_pods_is_lacking(node_pods, pod) || node_pods_is_awaiting(node_pods, pod);
}

void from_resource_claim_read(struct facts_draft *draft)
{
	const struct facts *facts = draft->facts;
	struct claims *claims = facts->claims;
	for (size_t i = 0; i < facts->devices->n_devices; i++)
		restate_all(draft, &facts->devices->devices[i]);
	for (size_t i = 0; i < facts->input->n_grants && !is_silent(facts); i++) {
		const struct grant *grant = &facts->input->grants[i];
		const struct device *device = devices_find(facts->devices, grant->uuid).device;
		const struct claimant *claimant =
			keyed_find(&claims->claimants, KEYED_KEY(pod_uid(grant->pod), grant->container));
		if (device || !claimant->is_shown)
			read_grant(draft, grant, device);
		if (!device && !claimant->is_shown)
			keyed_add(&claims->unheard, KEYED_KEY(pod_uid(grant->pod)), grant->pod);
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
