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

struct device_partition {
	struct view uuid;
	size_t device;
};

static struct device *find_uuid(const struct devices *devices, struct view uuid)
{
	LOOKUP_EACH(at, &devices->uuids, lookup_hash_ignoring_case(0, uuid))
		if (view_equal_ignoring_case(devices->devices[at].uuid, uuid))
			return &devices->devices[at];
	return NULL;
}

/* The device that has the partition. */
static const struct device *find_parent(const struct devices *devices, struct view uuid, uint32_t hash)
{
	LOOKUP_EACH(at, &devices->partitions, hash)
		if (view_equal(devices->partition_items[at].uuid, uuid))
			return &devices->devices[devices->partition_items[at].device];
	return NULL;
}

static int64_t minor_of(const struct devices *devices, const struct device *device)
{
	if (device->reported)
		return device->reported->minor;
	/* A device that NVML no longer lists has no device file. */
	return device->published && devices->nvml != REPORT_LIST_GOOD ? device->published->status->device.minor : -1;
}

static uint32_t hash_minor(int64_t minor)
{
	return lookup_hash(0, (struct view){(const char *)&minor, sizeof(minor)});
}

/* Of several with one number the first. */
static const struct device *find_minor(const struct devices *devices, int64_t minor)
{
	LOOKUP_EACH(at, &devices->minors, hash_minor(minor)) {
		const struct device *device = &devices->devices[devices->minor_items[at]];
		if (minor_of(devices, device) == minor)
			return device;
	}
	return NULL;
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
		place.device = find_parent(devices, place.id.uuid, lookup_hash(0, place.id.uuid));
		place.partition = place.id.uuid;
		break;
	case DEVICE_ID_MIG_OLD:
		place.device = find_uuid(devices, place.id.uuid);
		place.partition = without_replica(device_id);
		break;
	case DEVICE_ID_MINOR:
		place.device = find_minor(devices, place.id.minor);
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
	uint32_t at = lookup_add(&devices->uuids, lookup_hash_ignoring_case(0, uuid));
	assert(&devices->devices[at] == device); /* both are counted alike */
	(void)at;
	*device = (struct device){.uuid = uuid, .object = previous};
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

static void add_partition(struct devices *devices, struct view uuid, size_t device)
{
	const uint32_t hash = lookup_hash(0, uuid);
	assert(device < devices->n_devices);
	if (!find_parent(devices, uuid, hash))
		devices->partition_items[lookup_add(&devices->partitions, hash)] =
			(struct device_partition){uuid, device};
}

static void add_published_partitions(struct devices *devices, size_t index)
{
	const struct attribution_status *status = devices->devices[index].published->status;
	size_t n = 0;
	ARRAY_EACH(const struct attribution_partition, partition, status->partitions)
		if (n++ < MAX_PAST_PARTITIONS)
			add_partition(devices, partition->uuid, index);
	ARRAY_EACH(const struct attribution_tenant, tenant, status->tenants)
		for (uint32_t i = 0; i < tenant->partitions.count && n < MAX_PAST_PARTITIONS; i++, n++)
			add_partition(devices, *ARRAY_AT(tenant->partitions, struct view, i), index);
}

static size_t count_partitions(const struct devices *devices)
{
	size_t n = 0;
	for (size_t i = 0; i < devices->n_devices; i++) {
		if (devices->devices[i].reported)
			n += devices->devices[i].reported->partitions.count;
		if (devices->devices[i].published)
			n += MAX_PAST_PARTITIONS;
	}
	return n;
}

/* Who is added last is found first. */
static int index_minors(struct devices *devices, struct arena *arena, struct error *err)
{
	if (!ARENA_NEW(devices->minor_items, arena, devices->n_devices))
		return error_no_memory(err);
	if (lookup_make(&devices->minors, devices->n_devices, arena, err) < 0)
		return -1;
	for (size_t i = devices->n_devices; i > 0; i--) {
		const int64_t minor = minor_of(devices, &devices->devices[i - 1]);
		if (minor >= 0)
			devices->minor_items[lookup_add(&devices->minors, hash_minor(minor))] = i - 1;
	}
	return 0;
}

/* In their final order; what is reported goes before what was published. */
static int index_devices(struct devices *devices, struct arena *arena, struct error *err)
{
	const size_t n = devices->n_devices, n_partitions = count_partitions(devices);
	if (!ARENA_NEW(devices->partition_items, arena, n_partitions))
		return error_no_memory(err);
	if (lookup_make(&devices->uuids, n, arena, err) < 0 ||
	    lookup_make(&devices->partitions, n_partitions, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct device *device = &devices->devices[i];
		lookup_add(&devices->uuids, lookup_hash_ignoring_case(0, device->uuid));
		if (device->reported)
			ARRAY_EACH(const struct report_partition, p, device->reported->partitions)
				add_partition(devices, p->uuid, i);
	}
	for (size_t i = 0; i < n; i++)
		if (devices->devices[i].published)
			add_published_partitions(devices, i);
	return index_minors(devices, arena, err);
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
	struct devices devices = {.nvml = report_list_of(report)};
	uint32_t n_reported = devices.nvml != REPORT_LIST_NONE ? report->devices.count : 0;
	size_t room = devices.nvml != REPORT_LIST_GOOD ? LIMIT_REPORT_DEVICES : 0;
	size_t cap = n_reported + input->n_previous + room;
	struct adder adder = {.devices = &devices, .input = input};

	if (!ARENA_NEW(devices.devices, arena, cap))
		return error_no_memory(err);
	if (lookup_make(&devices.uuids, cap, arena, err) < 0)
		return -1;
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
	if (index_devices(&devices, arena, err) < 0)
		return -1;
	mark_unhealthy(input, &devices);
	*ret_devices = devices;
	return 0;
}
