/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each reading has an arena of its own. It replaces the last one only if it is good, so a failing
 * driver leaves the last good devices in place.
 *
 * What is evidence decides what is "news" (schema/report_doc.h), so counts of corrected errors are
 * none. The memory of processes does not count either: a training job must not cause a report every
 * few seconds. So the devices are compared as copies without it, which live as long as the
 * comparison.
 */

#include "agent/hardware.h"

#include <string.h>

#include "base/log.h"
#include "model/device_id.h"
#include "schema/report_doc.h"

#define READING_CAP (8u * LIMIT_MIB)
/* NVML's figure covers the last 1/6 to 1 s. More often would cost more than it shows. */
#define UTILIZATION_INTERVAL_MS 5000

int hardware_init(struct hardware *hardware, const struct hardware_config *config,
		  struct error *err)
{
	*hardware = (struct hardware){0};
	arena_init(&hardware->arena, READING_CAP);
	hardware->activity.settings = config->activity;
	processes_init(&hardware->processes, config->processes, config->proc_path);
	return nvml_new(config->library_name, &hardware->nvml, err);
}

void hardware_deinit(struct hardware *hardware)
{
	nvml_free(hardware->nvml);
	hardware->nvml = NULL;
	arena_deinit(&hardware->arena);
	hardware->reading = (struct nvml_reading){0};
	hardware->activity.n_items = 0;
}

/* A copy of an array's items in the arena. False: no memory. */
static bool copy_items(struct array *array, size_t item_size, struct arena *arena)
{
	void *items = arena_alloc(arena, array->count, item_size);
	if (!items)
		return false;
	if (array->count > 0)
		memcpy(items, array->items, array->count * item_size);
	array->items = items;
	return true;
}

/* The devices without what moves all the time, in the arena. False: no memory. */
static bool still_devices(struct array *devices, struct arena *arena)
{
	if (!copy_items(devices, sizeof(struct report_device), arena))
		return false;
	for (uint32_t i = 0; i < devices->count; i++) {
		struct array *processes =
			&ARRAY_AT(*devices, struct report_device, i)->processes;
		if (!copy_items(processes, sizeof(struct report_process), arena))
			return false;
		for (uint32_t j = 0; j < processes->count; j++)
			ARRAY_AT(*processes, struct report_process, j)->memory_mib = 0;
	}
	return true;
}

static bool is_same(const struct nvml_reading *a, const struct nvml_reading *b)
{
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 2 * READING_CAP);
	struct report left = {.driver_version = a->driver_version,
			      .cuda_version = a->cuda_version,
			      .devices = a->devices};
	struct report right = {.driver_version = b->driver_version,
			       .cuda_version = b->cuda_version,
			       .devices = b->devices};
	return still_devices(&left.devices, &arena) && still_devices(&right.devices, &arena) &&
	       report_doc_same_evidence(&left, &right);
}

/* Takes over a good reading. True when it says something new. */
static bool adopt(struct hardware *hardware, const struct nvml_reading *reading,
		  struct arena *take_arena)
{
	bool is_news = !is_same(&hardware->reading, reading);
	arena_deinit(&hardware->arena);
	hardware->arena = *take_arena;
	arena_init(take_arena, READING_CAP);
	hardware->reading = *reading;
	return is_news;
}

bool hardware_read(struct hardware *hardware, struct processes_time now)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct nvml_reading reading;
	struct error err;
	arena_init(&arena, READING_CAP);
	if (nvml_read(hardware->nvml, now.wall, &arena, &reading, &err) < 0)
		return source_state_fail(&hardware->source, &err);
	if (reading.source.state == REPORT_SOURCE_ABSENT)
		return source_state_vanish(&hardware->source, reading.source.message);
	if (reading.source.state != REPORT_SOURCE_OK) {
		error_set(&err, ERROR_RETRY, 0, "%.*s", VIEW_ARG(reading.source.message));
		return source_state_fail(&hardware->source, &err);
	}
	condition_history_judge(&hardware->history, now.boot, now.wall, reading.devices);
	bool is_news = source_state_succeed(&hardware->source, now.wall, reading.source.message);
	is_news |= processes_fill(&hardware->processes, now, reading.devices, &arena);
	activity_windows_read(&hardware->activity, now, reading.devices,
			      hardware->processes.source.said.state == REPORT_SOURCE_OK, &arena);
	return adopt(hardware, &reading, &arena) || is_news;
}

/* What no report can carry is not told. */
static int64_t tellable(int64_t instance)
{
	return instance <= LIMIT_NUMBER_INSTANCE ? instance : -1;
}

static void sample_now_and_then(struct hardware *hardware, int64_t wall_now)
{
	int64_t passed = wall_now - hardware->sampled_at;
	if (passed >= 0 && passed < UTILIZATION_INTERVAL_MS)
		return;
	hardware->sampled_at = wall_now;
	nvml_sample(hardware->nvml);
}

bool hardware_read_events(struct hardware *hardware, int64_t wall_now, struct event_queue *queue)
{
	struct nvml_event event;
	bool any = false;
	sample_now_and_then(hardware, wall_now);
	while (nvml_next_event(hardware->nvml, &event)) {
		struct view uuid = view_from(event.uuid);
		LOG_WARN("GPU raised an XID error", LOG_TEXT("device", uuid), LOG_U64("xid", event.xid));
		/* What no report can carry must not cost the ones that can. */
		if (event.xid > LIMIT_NUMBER_XID || !device_id_is_gpu_uuid(uuid))
			continue;
		event_queue_add(queue, &(struct report_event){
					       .time = wall_now,
					       .uuid = uuid,
					       .type = REPORT_EVENT_XID,
					       .code = (int64_t)event.xid,
					       .gpu_instance_id = tellable(event.gpu_instance_id),
					       .compute_instance_id =
						       tellable(event.compute_instance_id),
				       });
		any = true;
	}
	return any;
}

void hardware_tell(const struct hardware *hardware, struct report *report)
{
	report->sources.nvml = hardware->source.said;
	processes_tell(&hardware->processes, report);
	report->driver_version = hardware->reading.driver_version;
	report->cuda_version = hardware->reading.cuda_version;
	report->devices = hardware->reading.devices;
}
