/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can name thousands of IDs, so devices and MIG devices are indexed by UUID. The letters of a UUID
 * may come in either case: an object's name is in lower case. No two devices differ in that alone.
 *
 * NVML tells the parent of a MIG device while the MIG device exists. Afterwards the published status does:
 * by its partitions, and by those of its tenants, which stay as long as the tenant.
 */

#include "join/devices.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"

/* More published partitions of one device are ignored, its tenants' among them, each as often as named. */
#define MAX_PAST_PARTITIONS (8 * LIMIT_PARTITIONS)

static struct device *find_uuid(const struct devices *devices, struct view uuid)
{
	return keyed_find(&devices->uuids, KEYED_KEY(uuid));
}

/* The key of a device's number, which is borrowed. */
static struct keyed_key key_of(const int64_t *minor)
{
	return KEYED_KEY({(const char *)minor, sizeof(*minor)});
}

/* The partition of that GPU instance; of several, the first compute instance's. */
static struct view partition_at(const struct device *device, const struct device_id *id)
{
	const struct array partitions = device->reported ? device->reported->partitions : (struct array){0};
	const struct report_partition *found = NULL;
	ARRAY_EACH(const struct report_partition, p, partitions)
		if (p->gpu_instance_id == id->gpu_instance &&
		    (!found || p->compute_instance_id < found->compute_instance_id))
			found = p;
	return found ? found->uuid : (struct view){0};
}

static struct view without_replica(struct view text)
{
	struct view base, replica;
	view_cut(text, VIEW("::"), &base, &replica);
	return base;
}

struct device_place devices_find(const struct devices *devices, struct view device_id)
{
	struct device_place place = {.id = device_id_parse(device_id)};
	switch (place.id.form) {
	case DEVICE_ID_GPU:
		place.device = find_uuid(devices, place.id.uuid);
		break;
	case DEVICE_ID_MIG:
		place.device = keyed_find(&devices->partitions, KEYED_KEY(place.id.uuid));
		place.partition = place.id.uuid;
		break;
	case DEVICE_ID_MIG_OLD:
		place.device = find_uuid(devices, place.id.uuid);
		place.partition = without_replica(device_id);
		break;
	case DEVICE_ID_MINOR:
		place.device = keyed_find(&devices->minors, key_of(&place.id.minor));
		if (place.device && place.id.gpu_instance >= 0)
			place.partition = partition_at(place.device, &place.id);
		break;
	case DEVICE_ID_UNKNOWN:
		break;
	}
	return place;
}

bool devices_is_claimed_elsewhere(const struct join_input *input, const struct device *device)
{
	int64_t age = device->object ? device->object->claimed_age_ms : -1;
	return age >= 0 && age < input->limits->report_stale_ms;
}

/* Making them */

static const struct join_previous *find_previous(const struct join_input *input, struct view uuid)
{
	for (size_t i = 0; i < input->n_previous; i++)
		if (view_equal_ignoring_case(input->previous[i].object->uuid, uuid))
			return &input->previous[i];
	return NULL;
}

/* Returns the new device, or NULL when it is there already. */
static struct device *add(struct devices *devices, const struct join_input *input, struct view uuid)
{
	if (find_uuid(devices, uuid))
		return NULL;
	const struct join_previous *previous = find_previous(input, uuid);
	struct device *device = &devices->devices[devices->n_devices++];
	*device = (struct device){.uuid = uuid, .object = previous};
	keyed_add(&devices->uuids, KEYED_KEY(uuid), device);
	if (previous) {
		struct view node = previous->object->status.node_name;
		device->uuid = previous->object->uuid;
		device->is_ours = view_equal(node, input->node_name);
		device->is_taken = node.len > 0 && !device->is_ours;
	}
	return device;
}

static void add_reported(struct devices *devices, const struct join_input *input)
{
	ARRAY_EACH(const struct report_device, reported, input->report->devices) {
		struct device *device = add(devices, input, reported->uuid);
		if (device)
			device->reported = reported;
	}
}

static void add_published(struct devices *devices, const struct join_input *input)
{
	for (size_t i = 0; i < input->n_previous; i++)
		if (view_equal(input->previous[i].object->status.node_name, input->node_name))
			add(devices, input, input->previous[i].object->uuid);
}

static void name_ids(struct array ids, devices_named_fn named, void *owner)
{
	ARRAY_EACH(const struct view, text, ids) {
		const struct device_id id = device_id_parse(*text);
		if (id.form == DEVICE_ID_GPU && !id.is_odd)
			named(owner, id.uuid);
	}
}

static void name_by_kubelet(const struct report *report, devices_named_fn named, void *owner)
{
	const struct array offers[] = {report->allocatable, report->checkpoint.registered};
	for (size_t k = 0; k < ARRAY_SIZE(offers); k++)
		ARRAY_EACH(const struct report_resource_devices, of, offers[k])
			name_ids(of->device_ids, named, owner);
	ARRAY_EACH(const struct report_pod_resource, listed, report->pod_resources)
		name_ids(listed->device_ids, named, owner);
	ARRAY_EACH(const struct report_checkpoint_entry, entry, report->checkpoint.entries)
		name_ids(entry->device_ids, named, owner);
}

/* Annotations do not name devices: anybody may write them. */
void devices_name_all(const struct join_input *input, devices_named_fn named, void *owner)
{
	if (input->report)
		name_by_kubelet(input->report, named, owner);
	for (size_t i = 0; i < input->n_pods; i++)
		if (!pod_is_over(input->pods[i]))
			ARRAY_EACH(const struct pod_allocation, told, pod_gpu(input->pods[i])->allocations)
				name_ids(array_of(&told->id, 1), named, owner);
	for (size_t i = 0; i < input->n_slice_devices; i++)
		name_ids(array_of(&input->slice_devices[i].uuid, 1), named, owner);
}

/* Without NVML others still name devices: they must not look as if they were gone. */
struct adder {
	struct devices *devices;
	const struct join_input *input;
	size_t limit; /* of devices */
};

static void add_named(void *owner, struct view uuid)
{
	struct adder *adder = owner;
	if (adder->devices->n_devices < adder->limit)
		add(adder->devices, adder->input, uuid);
}

static int by_uuid(const void *a, const void *b)
{
	return view_compare_ignoring_case(((const struct device *)a)->uuid, ((const struct device *)b)->uuid);
}

/*
 * A card may have been moved here. A recent report of this node shows it, if no recent one of another
 * node names the device. Where neither node has an agent, the API server shows it.
 */
static bool is_moved_here(const struct join_input *input, const struct device *device)
{
	assert(device->object && device->previous && device->is_taken);
	if (devices_is_claimed_elsewhere(input, device))
		return false;
	if (input->report)
		return device->reported && input_is_fresh(input);
	return input_is_agentless(input) && device->previous->is_agentless &&
	       !device->object->is_named_elsewhere;
}

/* Sets what depends on slices and on what was published. */
static int complete(const struct join_input *input, struct devices *devices, struct arena *arena, struct error *err)
{
	for (size_t i = 0; i < input->n_slice_devices; i++) {
		struct device *device = find_uuid(devices, input->slice_devices[i].uuid);
		if (device && !device->slice)
			device->slice = &input->slice_devices[i];
	}
	for (size_t i = 0; i < devices->n_devices; i++) {
		struct device *device = &devices->devices[i];
		if (device->object &&
		    previous_read(&device->object->object->status, arena, &device->previous, err) < 0)
			return -1;
		device->published = device->is_ours ? device->previous : NULL;
		device->is_elsewhere = device->is_taken && !is_moved_here(input, device);
	}
	return 0;
}

/* Indexing */

static void add_published_partitions(struct devices *devices, const struct device *device)
{
	const struct attribution_status *status = device->published->status;
	size_t n = 0;
	ARRAY_EACH(const struct attribution_partition, partition, status->partitions)
		if (n++ < MAX_PAST_PARTITIONS)
			keyed_add_new(&devices->partitions, KEYED_KEY(partition->uuid), device);
	ARRAY_EACH(const struct attribution_tenant, tenant, status->tenants)
		for (uint32_t i = 0; i < tenant->partitions.count && n < MAX_PAST_PARTITIONS; i++, n++)
			keyed_add_new(&devices->partitions,
				      KEYED_KEY(*ARRAY_AT(tenant->partitions, struct view, i)), device);
}

static void add_minor(struct devices *devices, const struct device *device)
{
	const int64_t *minor = device->reported ? &device->reported->minor : NULL;
	/* A device that NVML no longer lists has no device file. */
	if (!minor && device->published && devices->nvml != REPORT_LIST_GOOD)
		minor = &device->published->status->device.minor;
	if (minor && *minor >= 0)
		keyed_add_new(&devices->minors, key_of(minor), device);
}

/* In their final order, of which the first is meant; what is reported goes before what was published. */
static void index_devices(struct devices *devices, struct arena *arena)
{
	const struct device *end = devices->devices + devices->n_devices;
	devices->uuids = (struct keyed){.arena = arena, .ignores_case = true};
	devices->partitions = devices->minors = (struct keyed){.arena = arena};
	for (const struct device *device = devices->devices; device < end; device++) {
		keyed_add(&devices->uuids, KEYED_KEY(device->uuid), device);
		add_minor(devices, device);
		if (device->reported)
			ARRAY_EACH(const struct report_partition, p, device->reported->partitions)
				keyed_add_new(&devices->partitions, KEYED_KEY(p->uuid), device);
	}
	for (const struct device *device = devices->devices; device < end; device++)
		if (device->published)
			add_published_partitions(devices, device);
}

/* The kubelet passes on what the device plugin says of the devices that pods have. */
static void mark_unhealthy(const struct join_input *input, struct devices *devices)
{
	for (size_t i = 0; i < input->n_pods; i++) {
		const struct pod *pod = input->pods[i];
		if (!pod_state(pod)->wants_gpu || pod_is_over(pod))
			continue;
		ARRAY_EACH(const struct pod_allocation, told, pod_gpu(pod)->allocations) {
			const struct device *device =
				told->is_unhealthy ? devices_find(devices, told->id).device : NULL;
			if (device)
				devices->devices[device - devices->devices].is_called_unhealthy = true;
		}
	}
}

int devices_make(const struct join_input *input, struct arena *arena, struct devices *ret_devices, struct error *err)
{
	const struct report *report = input->report;
	struct devices devices = {
		.nvml = report_list_of(report), .uuids = {.arena = arena, .ignores_case = true}};
	uint32_t n_reported = devices.nvml != REPORT_LIST_NONE ? report->devices.count : 0;
	size_t room = devices.nvml != REPORT_LIST_GOOD ? LIMIT_REPORT_DEVICES : 0;
	size_t cap = n_reported + input->n_previous + room;
	struct adder adder = {.devices = &devices, .input = input};

	if (!ARENA_NEW(devices.devices, arena, cap))
		return error_no_memory(err);
	if (n_reported > 0)
		add_reported(&devices, input);
	add_published(&devices, input);
	adder.limit = devices.n_devices + room;
	if (room > 0)
		devices_name_all(input, add_named, &adder);
	assert(devices.n_devices <= cap);
	if (complete(input, &devices, arena, err) < 0)
		return -1;
	qsort(devices.devices, devices.n_devices, sizeof(*devices.devices), by_uuid);
	index_devices(&devices, arena);
	mark_unhealthy(input, &devices);
	*ret_devices = devices;
	return arena_check(arena, err);
}
