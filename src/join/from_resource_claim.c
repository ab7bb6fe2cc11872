/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The claims of a pod do not change as long as it lives. So a tenant that a claim made stays where it
 * is published while its grant has no place: the driver withdraws a device that is ill, and slices go
 * while the driver or the kubelet restarts. It leaves when slices name another device for its grant.
 */

#include "join/from_resource_claim.h"

#include <assert.h>

/* State */

static bool hears_nvml(const struct join_input *input)
{
	return input->report && !input->is_of_former_boot &&
	       input->report_age_ms < input->limits->report_stale_ms;
}

int64_t from_resource_claim_minor(struct view name)
{
	struct view prefix, number, rest;
	int64_t minor;

	if (!view_starts_with(name, VIEW("gpu-")))
		return -1;
	view_cut(name, VIEW("-"), &prefix, &rest);
	view_cut(rest, VIEW("-"), &number, &rest);
	return view_parse_i64(number, &minor) ? minor : -1;
}

/* NVML gives the device another number, or the number to another device. */
static bool is_contradicted(const struct slice_device *slice, struct array nvml)
{
	int64_t minor = from_resource_claim_minor(slice->name);

	for (uint32_t i = 0; minor >= 0 && i < nvml.count; i++) {
		const struct report_device *device = ARRAY_AT(nvml, struct report_device, i);
		bool is_same = view_equal_ignoring_case(device->uuid, slice->uuid);
		if (device->minor >= 0 && is_same != (device->minor == minor))
			return true;
	}
	return false;
}

/*
 * A boot has given the device another number since its tenants were found. What was published stays
 * until it is known what names mean now: from_resource_claim_may_renumber().
 */
static bool is_renumbered(const struct device *device)
{
	int64_t before = device->published ? device->published->status->device.minor : -1;
	return device->reported && device->reported->minor >= 0 && before >= 0 &&
	       device->reported->minor != before;
}

static bool is_any_contradicted(const struct join_input *input)
{
	for (size_t i = 0; input->report && i < input->n_slice_devices; i++) {
		if (is_contradicted(&input->slice_devices[i], input->report->devices))
			return true;
	}
	return input->is_of_former_boot;
}

/* Not one is there: that the driver withdrew all devices is less likely than that it starts. */
static bool are_slices_gone(const struct join_input *input)
{
	bool is_placed = input->n_slice_devices > 0;
	for (size_t i = 0; i < input->n_grants; i++)
		is_placed |= input->grants[i].uuid.len > 0;
	return !is_placed;
}

static bool is_any_renumbered(const struct devices *devices)
{
	for (size_t i = 0; i < devices->n_devices; i++) {
		if (is_renumbered(&devices->devices[i]))
			return true;
	}
	return false;
}

/* None has reported for long, or none had when the node was published. */
static bool has_no_agent(const struct join_input *input, const struct devices *devices)
{
	bool is_agentless = input->report_age_ms >= input->limits->agentless_ms;
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *published = devices->devices[i].published;
		is_agentless |= published && published->is_agentless;
	}
	return !input->report && is_agentless;
}

static bool is_unsure(const struct source_claims *claims)
{
	return claims->state == SOURCE_UNREADABLE || claims->state == SOURCE_PARTIAL;
}

struct source_claims from_resource_claim_judge(const struct join_input *input,
					const struct devices *devices)
{
	struct source_claims claims = {SOURCE_COMPLETE, is_any_contradicted(input)};

	if (input->grants_denied)
		claims.state = SOURCE_UNREADABLE;
	else if (input->grants_unknown)
		claims.state = SOURCE_PARTIAL;
	else if (input->n_grants + input->n_slice_devices + input->n_lacking == 0)
		claims.state = SOURCE_ABSENT;
	else if (claims.is_contradicted || are_slices_gone(input) ||
		 (!hears_nvml(input) && !has_no_agent(input, devices)))
		claims.state = SOURCE_PARTIAL;
	if (is_unsure(&claims))
		claims.is_contradicted |= is_any_renumbered(devices);
	return claims;
}

static bool is_among(const struct pod *const *pods, size_t n_pods, struct view uid)
{
	for (size_t i = 0; i < n_pods; i++) {
		if (view_equal(pod_uid(pods[i]), uid))
			return true;
	}
	return false;
}

static bool is_lacking(const struct join_input *input, struct view uid)
{
	return is_among(input->lacking, input->n_lacking, uid);
}

static bool is_heard(const struct facts *facts, struct view uid)
{
	return facts->claims.state == SOURCE_COMPLETE && !is_lacking(facts->input, uid);
}

/* Facts */

static const struct device *device_of(const struct facts *facts, const struct grant *grant)
{
	return devices_find(facts->devices, grant->uuid).device;
}

static bool is_of(const struct grant *grant, struct view uid, struct view container)
{
	return view_equal(pod_uid(grant->pod), uid) && view_equal(grant->container, container);
}

/* By what was published, and by a claim. */
static bool was_given(const struct device *device, struct view uid, struct view container)
{
	const struct previous_tenant *tenant = previous_find(device->published, uid, container);
	return tenant && (tenant->witnesses & WITNESS_RESOURCE_CLAIM);
}

static const struct slice_device *find_slice(const struct join_input *input, struct view uuid)
{
	for (size_t i = 0; i < input->n_slice_devices; i++) {
		if (view_equal_ignoring_case(input->slice_devices[i].uuid, uuid))
			return &input->slice_devices[i];
	}
	return NULL;
}

static bool is_placed_on(const struct facts *facts, const struct grant *like,
			 const struct device *device)
{
	for (size_t i = 0; i < facts->input->n_grants; i++) {
		const struct grant *grant = &facts->input->grants[i];
		if (is_of(grant, pod_uid(like->pod), like->container) &&
		    device_of(facts, grant) == device)
			return true;
	}
	return false;
}

/*
 * By slices; or nothing places the grant, no slice gives the device another name, and the container
 * is not there by another grant.
 */
static bool may_be_on(const struct facts *facts, const struct grant *grant,
		      const struct device *device)
{
	const struct device *placed = device_of(facts, grant);
	const struct slice_device *slice = find_slice(facts->input, device->uuid);
	if (placed)
		return placed == device;
	return !(slice && slice->is_whole && !grant->is_part) &&
	       !is_placed_on(facts, grant, device) &&
	       !(facts->claims.state == SOURCE_COMPLETE && is_renumbered(device));
}

/* Its container is published on a device, and it may still be that one. */
static bool is_shown(const struct facts *facts, const struct grant *grant)
{
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		const struct device *device = &facts->devices->devices[i];
		if (was_given(device, pod_uid(grant->pod), grant->container) &&
		    may_be_on(facts, grant, device))
			return true;
	}
	return false;
}

static bool is_listed(const struct attribution_unplaced *unplaced, const struct grant *grant)
{
	for (uint32_t i = 0; i < unplaced->device_ids.count; i++) {
		if (view_equal(*ARRAY_AT(unplaced->device_ids, struct view, i), grant->device))
			return is_of(grant, unplaced->pod_uid, unplaced->container);
	}
	return false;
}

/* It stays among those while that cannot be told anew. */
static bool was_unplaced(const struct facts *facts, const struct grant *grant)
{
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		const struct previous *published = facts->devices->devices[i].published;
		const struct array list = published ? published->status->unplaced_tenants
						    : (struct array){0};
		for (uint32_t k = 0; k < list.count; k++) {
			if (is_listed(ARRAY_AT(list, struct attribution_unplaced, k), grant))
				return true;
		}
	}
	return false;
}

static void read_grant(struct facts_draft *draft, const struct grant *grant)
{
	const struct facts *facts = draft->facts;
	const struct device *device = device_of(facts, grant);
	bool is_heard_of = is_heard(facts, pod_uid(grant->pod));
	const struct fact what = {
		.witnesses = WITNESS_RESOURCE_CLAIM,
		.id = grant->device,
		.partition = grant->partition,
		.takes_no_slot = grant->is_admin,
		.is_monitor = grant->is_admin,
		.is_part = grant->is_part,
		.is_share = grant->is_share,
	};
	const struct view resource = VIEW("gpu.nvidia.com");

	if (device && (is_heard_of || was_given(device, pod_uid(grant->pod), grant->container)))
		facts_add_on(draft,
			     facts_add_container(draft, grant->pod, grant->container, resource),
			     device, what);
	else if (is_heard_of ? !is_shown(facts, grant) : was_unplaced(facts, grant))
		facts_add(draft, facts_add_container(draft, grant->pod, grant->container, resource),
			  grant->device, what);
}

void from_resource_claim_read(struct facts_draft *draft)
{
	const struct join_input *input = draft->facts->input;

	for (size_t i = 0; i < input->n_grants; i++) {
		if (!pod_is_over(input->grants[i].pod))
			read_grant(draft, &input->grants[i]);
	}
}

/* Tenants that stay */

bool from_resource_claim_is_silent(const struct facts *facts, size_t device,
				   const struct previous_tenant *previous)
{
	const struct join_input *input = facts->input;
	const struct attribution_tenant *tenant = previous->published;
	bool is_granted = false;

	assert(device < facts->devices->n_devices);
	if (!(previous->witnesses & WITNESS_RESOURCE_CLAIM))
		return false;
	if (input->grants_unknown)
		return true;
	if (is_lacking(input, tenant->pod_uid))
		return facts->claims.state != SOURCE_COMPLETE ||
		       !is_renumbered(&facts->devices->devices[device]);
	for (size_t i = 0; i < input->n_grants; i++) {
		if (!is_of(&input->grants[i], tenant->pod_uid, tenant->container))
			continue;
		if (may_be_on(facts, &input->grants[i], &facts->devices->devices[device]))
			return true;
		is_granted = true;
	}
	return !is_granted && is_unsure(&facts->claims);
}

static bool is_kept(const struct facts *facts, size_t device,
		    const struct previous_tenant *previous)
{
	const struct attribution_tenant *tenant = previous->published;
	const struct pod *pod = node_pods_find_uid(&facts->node_pods, tenant->pod_uid);
	size_t n;

	(void)facts_of_holder(facts, device, tenant->pod_uid, tenant->container, &n);
	return n == 0 && pod && !pod_is_over(pod) &&
	       from_resource_claim_is_silent(facts, device, previous);
}

const struct attribution_tenant *from_resource_claim_next_kept(const struct facts *facts,
							       size_t device, uint32_t *index)
{
	const struct previous *published = facts->devices->devices[device].published;
	while (published && *index < published->n_tenants) {
		const struct previous_tenant *tenant = &published->tenants[(*index)++];
		if (is_kept(facts, device, tenant))
			return tenant->published;
	}
	return NULL;
}

bool from_resource_claim_may_renumber(const struct facts *facts)
{
	const struct join_input *input = facts->input;
	bool has_claims = input->n_grants + input->n_lacking > 0;
	return hears_nvml(input) && !(has_claims && is_unsure(&facts->claims));
}

static bool has_claimed(const struct facts *facts, size_t device)
{
	size_t n_items;
	const struct fact *items = facts_of(facts, device, &n_items);
	for (size_t i = 0; i < n_items; i++) {
		if (items[i].witnesses & WITNESS_RESOURCE_CLAIM)
			return true;
	}
	return false;
}

/* It was counted, and not by IDs: it is idle, and slices cannot be read. */
static bool was_sliced(const struct facts *facts, size_t device)
{
	const struct previous *published = facts->devices->devices[device].published;
	return facts->input->grants_unknown && published && published->status->slots.total > 0 &&
	       (published->evidence == EVIDENCE_NO_IDS ||
		published->evidence == EVIDENCE_MIG_IS_ON);
}

bool from_resource_claim_has(const struct facts *facts, size_t device)
{
	uint32_t index = 0;
	return facts->devices->devices[device].is_sliced || has_claimed(facts, device) ||
	       from_resource_claim_next_kept(facts, device, &index);
}

bool from_resource_claim_hands_out(const struct facts *facts, size_t device)
{
	return from_resource_claim_has(facts, device) || was_sliced(facts, device);
}

bool from_resource_claim_is_nameless(const struct join_input *input, const struct device *device)
{
	const struct slice_device *slice = find_slice(input, device->uuid);

	return (slice && slice->is_nameless) ||
	       (input->grants_unknown && device->published &&
		device->published->attributed == REASON_RESERVED_OTHERWISE);
}

/* Pods of which nobody knows which devices they have */

/* A grant of the pod's is not shown, or may be shown in the wrong place. */
static bool has_open_grant(const struct facts *facts, struct view uid)
{
	for (size_t i = 0; i < facts->input->n_grants; i++) {
		const struct grant *grant = &facts->input->grants[i];
		if (view_equal(pod_uid(grant->pod), uid) && !pod_is_over(grant->pod) &&
		    (facts->claims.is_contradicted || !is_shown(facts, grant)))
			return true;
	}
	return false;
}

bool from_resource_claim_is_unheard(const struct facts *facts, struct view uid)
{
	const struct join_input *input = facts->input;
	return input->grants_unknown || is_lacking(input, uid) ||
	       (facts->claims.state == SOURCE_PARTIAL && has_open_grant(facts, uid));
}

static bool is_kept_anywhere(const struct facts *facts, struct view uid)
{
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		const struct previous *published = facts->devices->devices[i].published;
		for (uint32_t k = 0; published && k < published->n_tenants; k++) {
			const struct previous_tenant *tenant = &published->tenants[k];
			if (view_equal(tenant->published->pod_uid, uid) && is_kept(facts, i, tenant))
				return true;
		}
	}
	return false;
}

/* It has a device that is not known, or may have one. */
static bool is_open(const struct facts *facts, struct view uid)
{
	const struct join_input *input = facts->input;
	if (is_heard(facts, uid))
		return false;
	return has_open_grant(facts, uid) ||
	       (input->grants_unknown &&
		(is_lacking(input, uid) ||
		 is_among(input->awaiting, input->n_awaiting, uid)) &&
		!is_kept_anywhere(facts, uid));
}

static bool was_unread(const struct devices *devices)
{
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *published = devices->devices[i].published;
		if (published && published->attributed == REASON_CLAIMS_UNKNOWN)
			return true;
	}
	return false;
}

/* A node that has been silent for long has been so for longer than any two sources may differ. */
bool from_resource_claim_is_unread(const struct facts *facts, struct debounce *doubts)
{
	const struct join_input *input = facts->input;
	struct debounce_subject fact = {
		.kind = DEBOUNCE_CLAIM,
		.waits_ms = input->limits->disagreement_ms,
	};
	bool is_stale = input->report && input->report_age_ms >= input->limits->report_stale_ms;
	bool is_known = is_stale || was_unread(facts->devices), is_unread = false;

	for (size_t i = 0; i < input->n_pods; i++) {
		fact.pod_uid = pod_uid(input->pods[i]);
		if (is_open(facts, fact.pod_uid))
			is_unread |= debounce_counts(doubts, &fact) || is_known;
	}
	return is_unread;
}
