/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/describe.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

/* The device */


static int put_dashes(struct view text, struct arena *arena, struct view *ret, struct error *err)
{
	char *bytes;
	if (!ARENA_NEW(bytes, arena, text.len))
		return error_no_memory(err);
	for (size_t i = 0; i < text.len; i++)
		bytes[i] = text.ptr[i] == ' ' ? '-' : text.ptr[i];
	*ret = (struct view){bytes, text.len};
	return 0;
}

static void describe_by_nvml(const struct report_device *reported, struct attribution_device *device)
{
	device->index = reported->index;
	device->minor = reported->minor;
	device->pci_bus_id = reported->pci_bus_id;
	device->memory_mib = reported->memory_mib;
	device->serial = reported->serial;
	device->compute_capability = reported->compute_capability;
	device->model = view_trim(reported->model);
}

static void describe_by_slice(const struct slice_device *slice, struct attribution_device *device)
{
	device->pci_bus_id = slice->pci_bus_id;
	device->memory_mib = slice->memory_mib;
	device->compute_capability = slice->compute_capability;
	device->driver_version = slice->driver_version;
	device->cuda_version = slice->cuda_version;
	device->model = view_trim(slice->model);
}

static void describe_driver(const struct report *report, struct attribution_device *device)
{
	if (report && report->driver_version.len > 0)
		device->driver_version = report->driver_version;
	if (report && report->cuda_version.len > 0)
		device->cuda_version = report->cuda_version;
}

int describe_device(const struct describe_input *input, struct arena *arena,
		    struct attribution_device *ret_device, struct error *err)
{
	struct attribution_device described = {.index = -1, .minor = -1};
	if (input->published)
		described = input->published->device;
	if (input->reported)
		describe_by_nvml(input->reported, &described);
	else if (input->slice && (!input->published || input->is_agentless))
		describe_by_slice(input->slice, &described);
	described.vendor = VIEW("NVIDIA");
	describe_driver(input->report, &described);
	if (put_dashes(described.model, arena, &described.model, err) < 0)
		return -1;
	*ret_device = described;
	return 0;
}

/* Partitions */

/* Those that NVML tells; or the published ones, where it tells none or cannot read one of them. */
static bool is_told(const struct describe_input *input)
{
	return input->reported && input->reported->partitions.present;
}

uint32_t describe_count_partitions(const struct describe_input *input)
{
	if (is_told(input))
		return input->reported->partitions.count;
	return input->published ? input->published->partitions.count : 0;
}

static struct attribution_partition partition_at(const struct describe_input *input, uint32_t i)
{
	assert(i < describe_count_partitions(input));
	if (!is_told(input))
		return *ARRAY_AT(input->published->partitions, struct attribution_partition, i);
	const struct report_partition *p = ARRAY_AT(input->reported->partitions, struct report_partition, i);
	return (struct attribution_partition){
		.uuid = p->uuid,
		.profile = p->profile,
		.gpu_instance_id = p->gpu_instance_id,
		.compute_instance_id = p->compute_instance_id,
		.memory_mib = p->memory_mib,
	};
}

static int64_t published_slots(const struct describe_input *input, struct view partition)
{
	ARRAY_EACH(const struct attribution_partition, p, input->published->partitions)
		if (view_equal(p->uuid, partition))
			return p->slots;
	return 0;
}

static int64_t count_slots(const struct describe_input *input, struct view partition)
{
	const int64_t before = input->is_as_published ? published_slots(input, partition) : 0;
	int64_t n = 0;
	for (size_t i = 0; i < input->n_slots; i++)
		n += view_equal(input->slots[i].partition, partition);
	return n > before ? n : before;
}

int describe_partitions(const struct describe_input *input, struct arena *arena,
			struct array *ret_partitions, struct error *err)
{
	uint32_t n = describe_count_partitions(input);
	struct attribution_partition *to;
	if (!ARENA_NEW(to, arena, n))
		return error_no_memory(err);
	for (uint32_t i = 0; i < n; i++)
		to[i] = partition_at(input, i);
	_Static_assert(offsetof(struct attribution_partition, uuid) == 0, "view_order() compares that");
	qsort(to, n, sizeof(*to), view_order);
	if (n > LIMIT_PARTITIONS)
		n = LIMIT_PARTITIONS;
	for (uint32_t i = 0; i < n; i++)
		to[i].slots = count_slots(input, to[i].uuid);
	*ret_partitions = (struct array){to, n, true};
	return 0;
}

/* Slots */

int describe_slots(int64_t total, int64_t allocated, struct arena *arena,
		   struct attribution_slots *ret_slots, struct error *err)
{
	struct attribution_slots slots = {.total = total, .allocated = allocated};
	char text[2 * LIMIT_TEXT_SLOTS + 1];
	int len;
	if (total >= 0 && allocated > total)
		slots.allocated = total;
	if (slots.total >= 0 && slots.allocated >= 0) {
		len = snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64, slots.allocated, slots.total);
		assert(len > 0 && (size_t)len < sizeof(text));
		if (arena_keep(arena, (struct view){text, (size_t)len}, &slots.summary, err) < 0)
			return -1;
	}
	*ret_slots = slots;
	return 0;
}
