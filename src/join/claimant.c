/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The claims of a pod do not change as long as it lives. So a grant without a place is one of those
 * that were placed before, and which of a container's it is makes no difference to what is shown.
 *
 * A boot may number devices anew, and their names go by the numbers. A slice does not say which boot
 * it is of, and the one of before stays for a while; but NVML numbers devices as this boot does, and
 * the number that a device was published with is that by which its tenants were found. So what a
 * name said is void where NVML, in the boot that the Node names, has another number for the device,
 * or none and that number for a device that is not the container's, unless another of its numbers is
 * left and this the only device without one; and where no name tells it now, a container stays on the
 * devices that have a number which one of its own was published with.
 */

#include "join/claimant.h"

#include <assert.h>

#include "join/sharing.h"

bool claimant_is_one(const struct attribution_tenant *tenant)
{
	return wording_witnesses_of(tenant->witnesses) & WITNESS_RESOURCE_CLAIM;
}

bool claimant_is_unheard(const struct join_input *input, struct view uid)
{
	for (size_t i = 0; i < input->n_lacking; i++) {
		if (view_equal(pod_uid(input->lacking[i]), uid))
			return true;
	}
	return input->grants_unknown;
}

/* Numbers */

int64_t claimant_minor(struct view name)
{
	struct view prefix, number, rest;
	int64_t minor;

	if (!view_starts_with(name, VIEW("gpu-")))
		return -1;
	view_cut(name, VIEW("-"), &prefix, &rest);
	view_cut(rest, VIEW("-"), &number, &rest);
	return view_parse_i64(number, &minor) ? minor : -1;
}

static const struct slice_device *find_slice(const struct join_input *input, struct view uuid)
{
	for (size_t i = 0; i < input->n_slice_devices; i++) {
		if (view_equal_ignoring_case(input->slice_devices[i].uuid, uuid))
			return &input->slice_devices[i];
	}
	return NULL;
}

bool claimant_hears_nvml(const struct join_input *input)
{
	return input->report && !input->is_of_former_boot &&
	       input->report_age_ms < input->limits->report_stale_ms;
}

/* By NVML; -1: it does not say. */
static int64_t minor_now(const struct join_input *input, const struct device *device)
{
	return device->reported && claimant_hears_nvml(input) ? device->reported->minor : -1;
}

/* Another device to which NVML gives that number; NULL: it gives it to none. */
static const struct report_device *find_taker(const struct join_input *input,
					      const struct device *device, int64_t minor)
{
	const struct array devices = claimant_hears_nvml(input) ? input->report->devices
							    : (struct array){0};

	for (uint32_t i = 0; minor >= 0 && i < devices.count; i++) {
		const struct report_device *other = ARRAY_AT(devices, struct report_device, i);
		if (other->minor == minor && !view_equal_ignoring_case(other->uuid, device->uuid))
			return other;
	}
	return NULL;
}

/* By a claim, and by what was published. */
static bool was_on(const struct device *device, struct view uid, struct view container)
{
	const struct attribution_status *published = device ? devices_published(device) : NULL;
	const struct attribution_tenant *tenant =
		published ? attribution_find_tenant(published, uid, container) : NULL;
	return tenant && claimant_is_one(tenant);
}

/* One of the container's is left for the device; or, without its claim, may be. */
static bool has_number_left(const struct facts *facts, const struct device *device,
			    struct view uid, struct view container, bool *ret_is_told)
{
	const struct join_input *input = facts->input;

	*ret_is_told = false;
	for (size_t i = 0; i < input->n_grants; i++) {
		const struct grant *grant = &input->grants[i];
		if (!view_equal(pod_uid(grant->pod), uid) ||
		    !view_equal(grant->container, container))
			continue;
		*ret_is_told = true;
		if (!find_taker(input, device, claimant_minor(grant->name)))
			return true;
	}
	return !*ret_is_told;
}

/* Of the node's devices the only one to which NVML gives no number: it has the one that is left. */
static bool is_last(const struct facts *facts, const struct device *device)
{
	const struct devices *devices = facts->devices;
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct device *other = &devices->devices[i];
		if (other != device && minor_now(facts->input, other) < 0)
			return false;
	}
	return true;
}

/* Not where the container has both devices: whichever is which, it has them. */
static bool is_taken_from(const struct facts *facts, const struct device *device,
			  int64_t minor, struct view uid, struct view container)
{
	const struct report_device *taker = find_taker(facts->input, device, minor);
	bool is_told;
	if (!taker)
		return false;
	if (!has_number_left(facts, device, uid, container, &is_told))
		return true;
	return !was_on(devices_find(facts->devices, taker->uuid).device, uid, container) &&
	       !(is_told && is_last(facts, device));
}

bool claimant_is_borne_out(const struct facts *facts, const struct grant *grant,
			   const struct device *device)
{
	const struct join_input *input = facts->input;
	int64_t minor = minor_now(input, device), named = claimant_minor(grant->name);

	if (minor < 0 || named < 0)
		return !is_taken_from(facts, device, named, pod_uid(grant->pod),
				      grant->container);
	/* The grant is among them. */
	for (size_t i = 0; i < input->n_grants; i++) {
		const struct grant *other = &input->grants[i];
		if (other->pod == grant->pod && other->is_admin == grant->is_admin &&
		    view_equal(other->container, grant->container) &&
		    claimant_minor(other->name) == minor)
			return true;
	}
	return false;
}

int64_t claimant_number(const struct join_input *input, const struct device *device)
{
	const struct slice_device *slice = find_slice(input, device->uuid);
	int64_t minor = minor_now(input, device);

	if (minor >= 0 || !slice)
		return minor;
	minor = claimant_minor(slice->name);
	return find_taker(input, device, minor) ? -1 : minor;
}

/* By what was published, some device of the container's had that number. */
static bool had_number(const struct facts *facts, const struct attribution_tenant *tenant,
		       int64_t minor)
{
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		const struct device *device = &facts->devices->devices[i];
		if (was_on(device, tenant->pod_uid, tenant->container) &&
		    devices_published(device)->device.minor == minor)
			return true;
	}
	return false;
}

bool claimant_is_displaced(const struct facts *facts, const struct device *device,
			   const struct attribution_tenant *tenant)
{
	assert(devices_published(device)); /* where the tenant is from */
	int64_t before = devices_published(device)->device.minor;
	int64_t minor = claimant_number(facts->input, device);

	if (minor < 0)
		return is_taken_from(facts, device, before, tenant->pod_uid, tenant->container);
	return before >= 0 && !had_number(facts, tenant, minor);
}

/* Seats */

/* Held by the grant's container there; or watched, if the grant is to watch. */
static bool is_of(const struct fact *item, const struct grant *grant, size_t device)
{
	return item->device == device && item->is_monitor == grant->is_admin &&
	       item->owner->pod == grant->pod &&
	       view_equal(item->owner->container, grant->container);
}

static bool is_repeated(const struct fact *items, size_t index, const struct grant *grant)
{
	for (size_t i = 0; i < index; i++) {
		if (is_of(&items[i], grant, items[index].device) &&
		    view_equal(items[i].id, items[index].id))
			return true;
	}
	return false;
}

/* How many IDs the container has there, as far as they have been noted. */
static int64_t count_noted(const struct facts *facts, const struct grant *grant,
			   size_t device)
{
	const struct fact *items = facts->items;
	int64_t n = 0;
	for (size_t i = 0; i < facts->n_items; i++)
		n += is_of(&items[i], grant, device) && !is_repeated(items, i, grant);
	return n;
}

static bool is_noted(const struct facts *facts, const struct grant *grant, size_t device,
		     struct view partition)
{
	for (size_t i = 0; i < facts->n_items; i++) {
		if (is_of(&facts->items[i], grant, device) &&
		    view_equal(facts->items[i].partition, partition))
			return true;
	}
	return false;
}

static struct view free_partition(const struct facts *facts, const struct grant *grant,
				  size_t device, const struct attribution_tenant *tenant)
{
	for (uint32_t i = 0; i < tenant->partitions.count; i++) {
		struct view partition = *ARRAY_AT(tenant->partitions, struct view, i);
		if (!is_noted(facts, grant, device, partition))
			return partition;
	}
	return (struct view){0};
}

/* Who watches takes no slot, and is on a device once. */
static bool has_seat(const struct facts *facts, const struct grant *grant, size_t device,
		     const struct attribution_tenant *tenant)
{
	int64_t n_seats = grant->is_admin ? tenant->slots == 0 : tenant->slots;
	return claimant_is_one(tenant) && count_noted(facts, grant, device) < n_seats;
}

/* All slices are here, and the whole device has a name in them: the grant's is another's. */
static bool is_called_otherwise(const struct join_input *input, const struct grant *grant,
				const struct device *device)
{
	const struct slice_device *slice = find_slice(input, device->uuid);
	return slice && slice->is_whole && !grant->is_part && !input->grants_unknown;
}

/* Among the devices that were published with that number; -1: with any, or none. */
static const struct device *find_seat(const struct facts *facts,
					     const struct grant *grant, int64_t minor,
					     struct view *ret_partition)
{
	const struct devices *devices = facts->devices;
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct attribution_status *published = devices_published(&devices->devices[i]);
		const struct attribution_tenant *tenant =
			published ? attribution_find_tenant(published, pod_uid(grant->pod),
							    grant->container)
				  : NULL;
		if (!tenant || (minor >= 0 && published->device.minor != minor) ||
		    !has_seat(facts, grant, i, tenant) ||
		    is_called_otherwise(facts->input, grant, &devices->devices[i]) ||
		    !claimant_is_borne_out(facts, grant, &devices->devices[i]))
			continue;
		*ret_partition = free_partition(facts, grant, i, tenant);
		return &devices->devices[i];
	}
	return NULL;
}

/* By its own number first: what another of the container's grants says is not left for this one. */
const struct device *claimant_seat(const struct facts *facts,
					  const struct grant *grant,
					  struct view *ret_partition)
{
	int64_t minor = claimant_minor(grant->name);
	const struct device *seat =
		minor >= 0 ? find_seat(facts, grant, minor, ret_partition) : NULL;

	return seat ? seat : find_seat(facts, grant, -1, ret_partition);
}

/* Those that stay */

static bool is_kept(const struct facts *facts, size_t device,
		    const struct attribution_tenant *tenant)
{
	const struct pod *pod = node_pods_find_uid(&facts->node_pods, tenant->pod_uid);
	size_t n;

	if (tenant->slots == 0 || !claimant_is_one(tenant))
		return false;
	(void)facts_of_holder(facts, device, tenant->pod_uid, tenant->container, &n);
	return n == 0 && pod && !pod_is_over(pod) &&
	       claimant_is_unheard(facts->input, tenant->pod_uid) &&
	       !claimant_is_displaced(facts, &facts->devices->devices[device], tenant);
}

const struct attribution_tenant *claimant_next_kept(const struct facts *facts, size_t device,
						    uint32_t *index)
{
	assert(device < facts->devices->n_devices);
	const struct attribution_status *published = devices_published(
		&facts->devices->devices[device]);
	while (published && *index < published->tenants.count) {
		const struct attribution_tenant *tenant = ARRAY_AT(
			published->tenants, struct attribution_tenant, (*index)++);
		if (is_kept(facts, device, tenant))
			return tenant;
	}
	return NULL;
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
	       sharing_is_without_ids(published->evidence);
}

bool claimant_is_sliced(const struct facts *facts, size_t device)
{
	uint32_t index = 0;
	return facts->devices->devices[device].is_sliced || has_claimed(facts, device) ||
	       was_sliced(facts, device) || claimant_next_kept(facts, device, &index);
}

bool claimant_is_nameless(const struct join_input *input, const struct device *device)
{
	const struct slice_device *slice = find_slice(input, device->uuid);

	return (slice && slice->is_nameless) ||
	       (input->grants_unknown && device->published &&
		device->published->attributed == REASON_RESERVED_OTHERWISE);
}

/* Those that nobody can place */

static bool is_placed(const struct facts *facts, const struct grant *grant)
{
	for (size_t i = 0; i < facts->n_placed; i++) {
		const struct fact *item = &facts->items[i];
		if (item->witnesses & WITNESS_RESOURCE_CLAIM && item->owner->pod == grant->pod &&
		    view_equal(item->owner->container, grant->container) &&
		    view_equal(item->id, grant->device))
			return true;
	}
	return false;
}

/* By what was published, and that stays. */
static bool is_kept_anywhere(const struct facts *facts, struct view uid)
{
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		const struct attribution_status *published = devices_published(
			&facts->devices->devices[i]);
		for (uint32_t k = 0; published && k < published->tenants.count; k++) {
			const struct attribution_tenant *tenant = ARRAY_AT(
				published->tenants, struct attribution_tenant, k);
			if (view_equal(tenant->pod_uid, uid) && is_kept(facts, i, tenant))
				return true;
		}
	}
	return false;
}

/*
 * A claim has given it a device that nobody can place, or may have given it one. It is still open
 * whatever else has been said of the devices meanwhile.
 */
static bool is_open(const struct facts *facts, const struct pod *pod)
{
	const struct join_input *input = facts->input;
	bool may_be_given = false, has_grant = false;

	for (size_t i = 0; i < input->n_grants; i++) {
		if (input->grants[i].pod != pod)
			continue;
		if (!is_placed(facts, &input->grants[i]))
			return true;
		has_grant = true;
	}
	for (size_t i = 0; i < input->n_lacking; i++)
		may_be_given |= input->lacking[i] == pod;
	for (size_t i = 0; i < input->n_awaiting; i++)
		may_be_given |= input->awaiting[i] == pod;
	return may_be_given && !has_grant && !is_kept_anywhere(facts, pod_uid(pod));
}

static bool is_unread_published(const struct devices *devices)
{
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *published = devices->devices[i].published;
		if (published && published->attributed == REASON_CLAIMS_UNKNOWN)
			return true;
	}
	return false;
}

bool claimant_is_unread(const struct facts *facts, struct debounce *doubts)
{
	const struct join_input *input = facts->input;
	struct debounce_subject fact = {
		.kind = DEBOUNCE_CLAIM,
		.waits_ms = input->limits->disagreement_ms,
	};
	bool is_unread = false, was_unread = is_unread_published(facts->devices);

	for (size_t i = 0; i < input->n_pods && input->grants_unknown; i++) {
		fact.pod_uid = pod_uid(input->pods[i]);
		if (is_open(facts, input->pods[i]))
			is_unread |= debounce_counts(doubts, &fact) || was_unread;
	}
	return is_unread;
}

bool claimant_is_lost(const struct facts *facts, struct view uid, struct view container)
{
	const struct devices *devices = facts->devices;
	bool was_there = false;

	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct attribution_status *published = devices_published(&devices->devices[i]);
		const struct attribution_tenant *tenant =
			published ? attribution_find_tenant(published, uid, container) : NULL;
		if (!published)
			continue;
		if (tenant && !claimant_is_displaced(facts, &devices->devices[i], tenant))
			return false;
		was_there |= tenant || attribution_is_unplaced(published, uid, container);
	}
	return was_there;
}
