/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can name thousands of IDs, so devices and MIG devices are indexed. Letters of a UUID may
 * come in either case: an object's name is in lower case. No two devices differ in that alone.
 *
 * The parent of a MIG device is known from NVML while the MIG device exists. Afterwards it is known
 * from what was published: the partitions as of then, and the partitions of tenants, which stay as
 * long as the tenant does.
 */

#include "core/roster.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "core/condition.h"

/* Of what was published, more partitions of one device are not looked at. */
#define MAX_PAST_PARTITIONS (4 * LIMIT_PARTITIONS)

struct roster_partition {
	struct view uuid;
	size_t device;
};

static uint32_t find_partition(const struct roster *roster, struct view uuid)
{
	uint32_t at = lookup_first(&roster->partitions, lookup_hash(0, uuid));

	while (at != LOOKUP_END && !view_equal(roster->partition_items[at].uuid, uuid))
		at = lookup_next(&roster->partitions, at);
	return at;
}

static const struct roster_device *find_parent(const struct roster *roster, struct view uuid)
{
	uint32_t at = find_partition(roster, uuid);
	return at != LOOKUP_END ? &roster->devices[roster->partition_items[at].device] : NULL;
}

static struct roster_device *find_uuid(const struct roster *roster, struct view uuid)
{
	uint32_t at = lookup_first(&roster->uuids, lookup_hash_ignoring_case(0, uuid));

	while (at != LOOKUP_END && !view_equal_ignoring_case(roster->devices[at].uuid, uuid))
		at = lookup_next(&roster->uuids, at);
	return at != LOOKUP_END ? &roster->devices[at] : NULL;
}

static int64_t minor_of(const struct roster *roster, const struct roster_device *device)
{
	if (device->reported)
		return device->reported->minor;
	const struct attribution_status *status = roster_published(device);
	/* A device that NVML no longer lists has no device file. */
	return status && roster->nvml != ROSTER_NVML_OK ? status->device.minor : -1;
}

static uint32_t hash_minor(int64_t minor)
{
	return lookup_hash(0, (struct view){(const char *)&minor, sizeof(minor)});
}

/* Of several with one number it is the first of the roster, which was added first. */
static const struct roster_device *find_minor(const struct roster *roster, int64_t minor)
{
	const struct roster_device *found = NULL;
	uint32_t at = lookup_first(&roster->minors, hash_minor(minor));

	for (; at != LOOKUP_END; at = lookup_next(&roster->minors, at)) {
		if (minor_of(roster, &roster->devices[at]) == minor)
			found = &roster->devices[at];
	}
	return found;
}

/* The partition that is made of that GPU instance; of several, the first compute instance's. */
static struct view partition_at(const struct roster_device *device, const struct device_id *id)
{
	const struct report_partition *found = NULL;
	const struct array partitions = device->reported ? device->reported->partitions
							 : (struct array){0};
	for (uint32_t i = 0; i < partitions.count; i++) {
		const struct report_partition *p = ARRAY_AT(partitions, struct report_partition, i);
		if (p->gpu_instance_id != id->gpu_instance)
			continue;
		if (!found || p->compute_instance_id < found->compute_instance_id)
			found = p;
	}
	return found ? found->uuid : (struct view){0};
}

static struct view without_replica(struct view text)
{
	struct view base, replica;
	view_cut(text, VIEW("::"), &base, &replica);
	return base;
}

struct roster_place roster_find(const struct roster *roster, struct view device_id)
{
	struct roster_place place = {.id = device_id_parse(device_id)};
	switch (place.id.form) {
	case DEVICE_ID_GPU:
		place.device = find_uuid(roster, place.id.uuid);
		break;
	case DEVICE_ID_MIG:
		place.device = find_parent(roster, place.id.uuid);
		place.partition = place.id.uuid;
		break;
	case DEVICE_ID_MIG_OLD:
		place.device = find_uuid(roster, place.id.uuid);
		place.partition = without_replica(device_id);
		break;
	case DEVICE_ID_MINOR:
		place.device = find_minor(roster, place.id.minor);
		if (place.device && place.id.gpu_instance >= 0)
			place.partition = partition_at(place.device, &place.id);
		break;
	case DEVICE_ID_UNKNOWN:
		break;
	}
	return place;
}

const struct attribution_status *roster_published(const struct roster_device *device)
{
	assert(!device->is_ours || (device->previous && !device->is_taken));
	return device->is_ours ? &device->previous->object->status : NULL;
}

bool roster_is_claimed_elsewhere(const struct join_input *input, const struct roster_device *device)
{
	int64_t age = device->previous ? device->previous->claimed_age_ms : -1;
	return age >= 0 && age < input->limits->report_stale_ms;
}

static const struct join_previous *find_previous(const struct join_input *input, struct view uuid)
{
	for (size_t i = 0; i < input->n_previous; i++) {
		if (view_equal_ignoring_case(input->previous[i].object->uuid, uuid))
			return &input->previous[i];
	}
	return NULL;
}

static struct roster_device *add(struct roster *roster, struct view uuid,
				 const struct join_previous *previous, struct view node_name)
{
	struct roster_device *device = &roster->devices[roster->n_devices++];
	uint32_t at = lookup_add(&roster->uuids, lookup_hash_ignoring_case(0, uuid));
	assert(&roster->devices[at] == device); /* both are counted alike */
	(void)at;
	*device = (struct roster_device){.uuid = uuid, .previous = previous};
	if (previous) {
		struct view holder = previous->object->status.node_name;
		device->uuid = previous->object->uuid;
		device->is_ours = view_equal(holder, node_name);
		device->is_taken = holder.len > 0 && !device->is_ours;
	}
	return device;
}

static enum roster_nvml judge_nvml(const struct report *report)
{
	if (!report || !report->devices.present)
		return ROSTER_NVML_NONE;
	return report->sources.nvml.state == REPORT_SOURCE_OK ? ROSTER_NVML_OK : ROSTER_NVML_DATED;
}

static void add_named(struct roster *roster, const struct join_input *input, struct view text,
		      size_t *room)
{
	struct device_id id = device_id_parse(text);
	if (*room == 0 || id.form != DEVICE_ID_GPU || id.is_odd || find_uuid(roster, id.uuid))
		return;
	add(roster, id.uuid, find_previous(input, id.uuid), input->node_name);
	--*room;
}

static void add_all_named(struct roster *roster, const struct join_input *input, struct array ids,
			  size_t *room)
{
	for (uint32_t i = 0; i < ids.count; i++)
		add_named(roster, input, *ARRAY_AT(ids, struct view, i), room);
}

/* Without NVML the kubelet's books still name devices: those must not look as if they were gone. */
static void add_from_books(struct roster *roster, const struct join_input *input, size_t *room)
{
	const struct report *report = input->report;
	const struct array lists[] = {report->allocatable, report->checkpoint.registered};
	for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
		for (uint32_t i = 0; i < lists[l].count; i++)
			add_all_named(
				roster, input,
				ARRAY_AT(lists[l], struct report_resource_devices, i)->device_ids,
				room);
	}
	for (uint32_t i = 0; i < report->pod_resources.count; i++)
		add_all_named(
			roster, input,
			ARRAY_AT(report->pod_resources, struct report_pod_resource, i)->device_ids,
			room);
	for (uint32_t i = 0; i < report->checkpoint.entries.count; i++)
		add_all_named(
			roster, input,
			ARRAY_AT(report->checkpoint.entries, struct report_checkpoint_entry, i)
				->device_ids,
			room);
}

/* So do the kubelet's statuses of pods, and the driver's slices. Texts that anybody may write on a
 * pod do not: they could make up devices. */
static void add_from_api(struct roster *roster, const struct join_input *input, size_t *room)
{
	for (size_t i = 0; i < input->n_pods; i++) {
		uint32_t n;
		const struct pod_allocation *allocations = pod_allocations(input->pods[i], &n);
		for (uint32_t j = 0; j < n && !pod_is_over(input->pods[i]); j++)
			add_named(roster, input, allocations[j].id, room);
	}
	for (size_t i = 0; i < input->n_slice_devices; i++)
		add_named(roster, input, input->slice_devices[i].uuid, room);
}

static void mark_sliced(struct roster *roster, const struct join_input *input)
{
	for (size_t i = 0; i < input->n_slice_devices; i++) {
		struct roster_device *device = find_uuid(roster, input->slice_devices[i].uuid);
		if (device)
			device->is_sliced = true;
	}
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static int by_uuid(const void *a, const void *b)
{
	struct view x = ((const struct roster_device *)a)->uuid;
	struct view y = ((const struct roster_device *)b)->uuid;
	for (size_t i = 0; i < x.len && i < y.len; i++) {
		int order = lower(x.ptr[i]) - lower(y.ptr[i]);
		if (order != 0)
			return order;
	}
	return (x.len > y.len) - (x.len < y.len);
}

/* Indexing */

static void add_partition(struct roster *roster, struct view uuid, size_t device)
{
	assert(device < roster->n_devices);
	if (find_partition(roster, uuid) == LOOKUP_END)
		roster->partition_items[lookup_add(&roster->partitions, lookup_hash(0, uuid))] =
			(struct roster_partition){uuid, device};
}

static size_t count_reported_partitions(const struct roster_device *device)
{
	return device->reported ? device->reported->partitions.count : 0;
}

static void add_reported_partitions(struct roster *roster, size_t index)
{
	const struct roster_device *device = &roster->devices[index];
	for (uint32_t i = 0; i < count_reported_partitions(device); i++)
		add_partition(
			roster,
			ARRAY_AT(device->reported->partitions, struct report_partition, i)->uuid,
			index);
}

static void add_published_partitions(struct roster *roster, size_t index)
{
	const struct attribution_status *status = roster_published(&roster->devices[index]);
	const uint32_t end = roster->partitions.n + MAX_PAST_PARTITIONS;

	assert(index < roster->n_devices);
	if (!status)
		return;
	for (uint32_t i = 0; i < status->partitions.count && roster->partitions.n < end; i++)
		add_partition(roster,
			      ARRAY_AT(status->partitions, struct attribution_partition, i)->uuid,
			      index);
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct array uuids =
			ARRAY_AT(status->tenants, struct attribution_tenant, i)->partitions;
		for (uint32_t k = 0; k < uuids.count && roster->partitions.n < end; k++)
			add_partition(roster, *ARRAY_AT(uuids, struct view, k), index);
	}
}

static size_t count_partitions(const struct roster *roster)
{
	size_t n = 0;
	for (size_t i = 0; i < roster->n_devices; i++)
		n += count_reported_partitions(&roster->devices[i]) +
		     (roster_published(&roster->devices[i]) ? MAX_PAST_PARTITIONS : 0);
	return n;
}

/* In their final order; what is reported goes before what was published. */
static int index_devices(struct roster *roster, struct arena *arena, struct error *err)
{
	size_t n_partitions = count_partitions(roster);

	roster->partition_items = arena_alloc(arena, n_partitions,
					      sizeof(*roster->partition_items));
	if (!roster->partition_items)
		return error_no_memory(err);
	if (lookup_make(&roster->uuids, roster->n_devices, arena, err) < 0 ||
	    lookup_make(&roster->minors, roster->n_devices, arena, err) < 0 ||
	    lookup_make(&roster->partitions, n_partitions, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < roster->n_devices; i++) {
		const struct roster_device *device = &roster->devices[i];
		lookup_add(&roster->uuids, lookup_hash_ignoring_case(0, device->uuid));
		lookup_add(&roster->minors, hash_minor(minor_of(roster, device)));
		add_reported_partitions(roster, i);
	}
	assert(roster->uuids.n == roster->n_devices && roster->minors.n == roster->n_devices);
	for (size_t i = 0; i < roster->n_devices; i++)
		add_published_partitions(roster, i);
	return 0;
}

/* Making it */

static void add_reported(struct roster *roster, const struct join_input *input)
{
	const struct array devices = input->report->devices;
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct report_device *reported = ARRAY_AT(devices, struct report_device, i);
		if (!find_uuid(roster, reported->uuid))
			add(roster, reported->uuid, find_previous(input, reported->uuid),
			    input->node_name)
				->reported = reported;
	}
}

static void add_published(struct roster *roster, const struct join_input *input)
{
	for (size_t i = 0; i < input->n_previous; i++) {
		const struct attribution *object = input->previous[i].object;
		if (view_equal(object->status.node_name, input->node_name) &&
		    !find_uuid(roster, object->uuid))
			add(roster, object->uuid, &input->previous[i], input->node_name);
	}
}

/*
 * A card may have been moved here. That it is here is shown by a report that is recent and says so,
 * while no recent one of another node does; where neither node has an agent, by what the API server
 * says of both.
 */
static bool is_moved_here(const struct join_input *input, const struct roster_device *device)
{
	const struct join_previous *previous = device->previous;
	const struct join_limits *limits = input->limits;

	assert(previous && device->is_taken);
	if (roster_is_claimed_elsewhere(input, device))
		return false;
	if (input->report)
		return device->reported && input->report_age_ms < limits->report_stale_ms;
	return input->report_age_ms >= limits->agentless_ms &&
	       condition_is_agentless(&previous->object->status) && !previous->is_named_elsewhere;
}

static void mark_elsewhere(struct roster *roster, const struct join_input *input)
{
	for (size_t i = 0; i < roster->n_devices; i++) {
		struct roster_device *device = &roster->devices[i];
		device->is_elsewhere = device->is_taken && !is_moved_here(input, device);
	}
}

int roster_make(const struct join_input *input, struct arena *arena, struct roster *ret_roster,
		struct error *err)
{
	const struct report *report = input->report;
	struct roster roster = {.nvml = judge_nvml(report)};
	uint32_t n_reported = roster.nvml != ROSTER_NVML_NONE ? report->devices.count : 0;
	size_t room = roster.nvml != ROSTER_NVML_OK ? LIMIT_REPORT_DEVICES : 0;
	size_t cap = n_reported + input->n_previous + room;

	roster.devices = arena_alloc(arena, cap, sizeof(*roster.devices));
	if (!roster.devices)
		return error_no_memory(err);
	if (lookup_make(&roster.uuids, cap, arena, err) < 0)
		return -1;
	if (n_reported > 0)
		add_reported(&roster, input);
	add_published(&roster, input);
	if (room > 0 && report)
		add_from_books(&roster, input, &room);
	add_from_api(&roster, input, &room);
	assert(roster.n_devices <= cap);
	mark_sliced(&roster, input);
	mark_elsewhere(&roster, input);
	qsort(roster.devices, roster.n_devices, sizeof(*roster.devices), by_uuid);
	if (index_devices(&roster, arena, err) < 0)
		return -1;
	*ret_roster = roster;
	return 0;
}
