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

#include "schema/report_doc.h"

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

static bool is_same(const struct report *a, const struct report *b)
{
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 2 * LIMIT_READING_ARENA);
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
static bool adopt(struct hardware *hardware, const struct report *reading,
		  struct arena *take_arena)
{
	bool is_news = !is_same(&hardware->reading, reading);
	arena_deinit(&hardware->arena);
	hardware->arena = *take_arena;
	arena_init(take_arena, LIMIT_READING_ARENA);
	hardware->reading = *reading;
	return is_news;
}

/* True when the reading says something new. */
static bool take_reading(struct hardware *hardware, const struct nvml_process_answer *answer)
{
	const struct processes_time asked = {answer->asked_wall, answer->asked_boot};
	const struct report_source *source = &answer->reading.sources.nvml;
	struct error err;
	if (source->state == REPORT_SOURCE_ABSENT)
		return source_state_vanish(&hardware->source, source->message);
	if (source->state != REPORT_SOURCE_OK) {
		error_set(&err, ERROR_RETRY, 0, "%.*s", VIEW_ARG(source->message));
		return source_state_fail(&hardware->source, &err);
	}
	condition_history_judge(&hardware->history, asked.boot, asked.wall, answer->reading.devices);
	bool is_news = source_state_succeed(&hardware->source, asked.wall, source->message);
	is_news |= processes_fill(&hardware->processes, asked, answer->reading.devices,
				  answer->arena);
	if (hardware->offer)
		hardware->offer(hardware->owner, asked.boot, answer->reading.devices);
	activity_windows_read(&hardware->activity, asked, answer->reading.devices,
			      hardware->processes.source.said.state == REPORT_SOURCE_OK,
			      answer->arena);
	return adopt(hardware, &answer->reading, answer->arena) || is_news;
}

static unsigned take_events(struct hardware *hardware, struct array events)
{
	for (uint32_t i = 0; i < events.count; i++)
		event_queue_add(hardware->queue, ARRAY_AT(events, struct report_event, i));
	return events.count > 0 ? HARDWARE_EVENTS : 0;
}

static void on_answer(void *owner, const struct nvml_process_answer *answer)
{
	struct hardware *hardware = owner;
	bool is_news = false;
	/* First: the events lie where the reading does. */
	unsigned changes = take_events(hardware, answer->reading.events);
	if (answer->outcome == NVML_PROCESS_READING)
		is_news = take_reading(hardware, answer);
	else if (answer->outcome == NVML_PROCESS_HANGS)
		is_news = source_state_hang(&hardware->source, answer->why);
	else if (answer->outcome == NVML_PROCESS_FAILED)
		is_news = source_state_fail(&hardware->source, answer->why);
	if (answer->outcome != NVML_PROCESS_EVENTS)
		changes |= HARDWARE_READ;
	if (is_news)
		changes |= HARDWARE_NEWS;
	if (changes)
		hardware->changed(hardware->owner, changes);
}

bool hardware_read(struct hardware *hardware)
{
	return nvml_process_ask(hardware->process, NVML_CHILD_READING);
}

void hardware_read_events(struct hardware *hardware)
{
	(void)nvml_process_ask(hardware->process, NVML_CHILD_EVENTS);
}

void hardware_tell(const struct hardware *hardware, struct report *report)
{
	report->sources.nvml = hardware->source.said;
	processes_tell(&hardware->processes, report);
	report->driver_version = hardware->reading.driver_version;
	report->cuda_version = hardware->reading.cuda_version;
	report->devices = hardware->reading.devices;
	report->events_since = nvml_process_events_since(hardware->process);
}

int hardware_init(struct hardware *hardware, struct loop *loop,
		  const struct hardware_config *config, hardware_fn changed, void *owner,
		  struct error *err)
{
	*hardware = (struct hardware){
		.queue = config->queue, .changed = changed, .owner = owner};
	arena_init(&hardware->arena, LIMIT_READING_ARENA);
	hardware->activity.settings = config->activity;
	hardware->offer = config->offer;
	processes_init(&hardware->processes, config->processes, config->proc_path);
	const struct nvml_process_config process = {
		.child = {.library_name = config->library_name, .last = &hardware->reading.devices},
		.timeout_ms = config->nvml_timeout_ms,
	};
	return nvml_process_new(loop, &process, on_answer, hardware, &hardware->process, err);
}

void hardware_deinit(struct hardware *hardware)
{
	nvml_process_free(hardware->process);
	hardware->process = NULL;
	arena_deinit(&hardware->arena);
	hardware->reading = (struct report){0};
	hardware->activity.n_items = 0;
}
