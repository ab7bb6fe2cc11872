/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/device_memory.h"

#include <string.h>

#include "base/limits.h"

#define MEMORY_CAP (64u * LIMIT_KIB)

static bool copy_text(struct view *text, struct arena *arena)
{
	return arena_copy(arena, *text, text);
}

static bool copy_partitions(struct array *partitions, struct arena *arena)
{
	struct report_partition *items = arena_alloc(arena, partitions->count, sizeof(*items));
	if (!items)
		return false;
	if (partitions->count > 0)
		memcpy(items, partitions->items, partitions->count * sizeof(*items));
	partitions->items = partitions->count > 0 ? items : NULL;
	for (uint32_t i = 0; i < partitions->count; i++) {
		items[i].activity = (struct report_activity){0};
		if (!copy_text(&items[i].uuid, arena) || !copy_text(&items[i].profile, arena))
			return false;
	}
	return true;
}

static bool copy_device(const struct report_device *device, struct arena *arena,
			struct report_device *ret)
{
	*ret = *device;
	ret->processes = (struct array){0};
	ret->activity = (struct report_activity){0};
	return copy_text(&ret->uuid, arena) && copy_text(&ret->pci_bus_id, arena) &&
	       copy_text(&ret->pci_device_id, arena) && copy_text(&ret->model, arena) &&
	       copy_text(&ret->serial, arena) &&
	       copy_text(&ret->compute_capability, arena) &&
	       copy_partitions(&ret->partitions, arena);
}

void device_memory_forget(struct device_memory *memory)
{
	arena_deinit(&memory->arena);
	*memory = (struct device_memory){0};
}

bool device_memory_holds(const struct device_memory *memory)
{
	return memory->device.uuid.len > 0;
}

bool device_memory_keep(struct device_memory *memory, const struct report_device *device)
{
	if (memory->arena.cap == 0)
		arena_init(&memory->arena, MEMORY_CAP);
	arena_reset(&memory->arena);
	memory->is_missing = false;
	if (copy_device(device, &memory->arena, &memory->device))
		return true;
	device_memory_forget(memory);
	return false;
}

bool device_memory_recall(const struct device_memory *memory, struct arena *arena,
			  struct report_device *ret)
{
	return copy_device(&memory->device, arena, ret);
}

static void complete_text(struct view *text, struct view last)
{
	if (text->len == 0)
		*text = last;
}

bool device_memory_complete(const struct device_memory *memory, struct arena *arena,
			    struct report_device *device)
{
	struct report_device last;
	if (!view_equal(memory->device.uuid, device->uuid))
		return true;
	if (!device_memory_recall(memory, arena, &last))
		return false;
	complete_text(&device->pci_bus_id, last.pci_bus_id);
	complete_text(&device->pci_device_id, last.pci_device_id);
	complete_text(&device->model, last.model);
	complete_text(&device->serial, last.serial);
	complete_text(&device->compute_capability, last.compute_capability);
	if (device->minor < 0)
		device->minor = last.minor;
	if (device->memory_mib == 0)
		device->memory_mib = last.memory_mib;
	if (device->compute_mode == REPORT_COMPUTE_UNKNOWN)
		device->compute_mode = last.compute_mode;
	/* Partitions belong to the mode under which they were listed. */
	if (!device->mig.present && !device->partitions.present) {
		device->mig = last.mig;
		device->partitions = last.partitions;
	}
	return true;
}
