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
	uint64_t *placed;  /* a bit of each device: one is placed there */
	size_t n_placed;   /* on so many devices */
	bool is_somewhere; /* one is placed on no device */
	bool is_shown;     /* it stays on a device, which may be the one of these */
};

struct claims {
	struct claimant *claimants;
	struct keyed by_container; /* of these, by pod UID and name */
	size_t *claimant_of;       /* of each grant: the index of its container */
	const struct device **device_of; /* of each grant; NULL: no slice places it */
	struct keyed unheard; /* pods with a grant that is no fact and not shown, by UID */
};

static uint64_t bit_of(size_t device)
{
	return UINT64_C(1) << device % 64;
}

/* NULL: it has no grants. */
static const struct claimant *find_claimant(const struct facts *facts, struct view pod_uid, struct view container)
{
	return facts->claims ? keyed_find(&facts->claims->by_container, KEYED_KEY(pod_uid, container)) : NULL;
}

static int add_grant(struct claims *claims, const struct facts *facts, size_t i, struct arena *arena)
{
	const struct grant *grant = &facts->input->grants[i];
	const struct device *device = devices_find(facts->devices, grant->uuid).device;
	const struct claimant *found = find_claimant(facts, pod_uid(grant->pod), grant->container);
	const size_t at = found ? (size_t)(found - claims->claimants) : claims->by_container.n;
	struct claimant *claimant = &claims->claimants[at];
	if (!found && !ARENA_NEW(claimant->placed, arena, facts->devices->n_devices / 64 + 1))
		return -1;
	if (!found)
		keyed_add(&claims->by_container, KEYED_KEY(pod_uid(grant->pod), grant->container), claimant);
	claims->claimant_of[i] = at;
	claims->device_of[i] = device;
	claimant->is_somewhere |= !device;
	if (device) {
		const size_t index = (size_t)(device - facts->devices->devices);
		uint64_t *word = &claimant->placed[index / 64];
		claimant->n_placed += !(*word & bit_of(index));
		*word |= bit_of(index);
	}
	return 0;
}

int from_resource_claim_open(struct facts *facts, struct arena *arena, struct error *err)
{
	const size_t n = facts->input->n_grants;
	struct claims *claims;
	if (n == 0)
		return 0;
	if (!ARENA_NEW(claims, arena, 1) || !ARENA_NEW(claims->claimants, arena, n) ||
	    !ARENA_NEW(claims->claimant_of, arena, n) || !ARENA_NEW(claims->device_of, arena, n))
		return error_no_memory(err);
	if (keyed_make(&claims->by_container, n, arena, err) < 0 || keyed_make(&claims->unheard, n, arena, err) < 0)
		return -1;
	facts->claims = claims;
	for (size_t i = 0; i < n; i++)
		if (add_grant(claims, facts, i, arena) < 0)
			return error_no_memory(err);
	return 0;
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

/* Whether the container's grants are on the device, and on others. */
struct places {
	bool is_here;   /* one may be: it is placed there, or on no device */
	bool is_placed; /* one is placed there */
	bool is_elsewhere;
};

static struct places find_places(const struct facts *facts, const struct device *device,
				 const struct attribution_tenant *tenant)
{
	const struct claimant *claimant = find_claimant(facts, tenant->pod_uid, tenant->container);
	const size_t index = (size_t)(device - facts->devices->devices);
	const bool is_whole = device->slice && device->slice->is_whole;
	struct places places = {0};
	if (!claimant)
		return places;
	places.is_placed = claimant->placed[index / 64] & bit_of(index);
	places.is_here = places.is_placed || (claimant->is_somewhere && !is_whole);
	places.is_elsewhere = claimant->n_placed > places.is_placed;
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

/* The container stays on a device: its grants that are placed on none may be that. */
static void show(const struct facts *facts, const struct attribution_tenant *tenant)
{
	const struct claimant *claimant = find_claimant(facts, tenant->pod_uid, tenant->container);
	if (claimant)
		facts->claims->claimants[claimant - facts->claims->claimants].is_shown = true;
}

static void restate_all(struct facts_draft *draft, const struct device *device)
{
	const struct previous *published = device->published;
	for (uint32_t i = 0; published && i < published->n_tenants; i++) {
		const struct previous_tenant *tenant = &published->tenants[i];
		if (from_resource_claim_hear(draft->facts, device, tenant) != RESOURCE_CLAIM_STAYS)
			continue;
		show(draft->facts, tenant->published);
		const struct pod *pod = node_pods_find_uid(&draft->facts->node_pods, tenant->published->pod_uid);
		if (pod)
			restate(draft, device, pod, tenant->published);
	}
}

bool from_resource_claim_is_unheard(const struct facts *facts, const struct pod *pod)
{
	const struct node_pods *node_pods = &facts->node_pods;
	if (pod && facts->claims && keyed_find(&facts->claims->unheard, KEYED_KEY(pod_uid(pod))))
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
		const bool is_shown = claims->claimants[claims->claimant_of[i]].is_shown;
		if (claims->device_of[i] || !is_shown)
			read_grant(draft, grant, claims->device_of[i]);
		if (!claims->device_of[i] && !is_shown)
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
