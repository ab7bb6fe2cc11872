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

#include "base/clock.h"
#include "base/log.h"
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

static bool tell_failure(struct hardware *hardware, const struct hardware_failure *failure)
{
	struct source_state *source = &hardware->source;
	const bool is_news = failure->is_absent
				     ? source_state_vanish(source, view_from(failure->why.text))
				     : source_state_fail(source, &failure->why);

	source->said.has_driver_mismatch = failure->is_mismatch;
	return is_news;
}

static void end_hold(struct hardware *hardware)
{
	hardware->held.is_so = false;
	loop_timer_clear(hardware->hold);
}

static void on_hold_over(void *owner)
{
	struct hardware *hardware = owner;
	const struct hardware_failure held = hardware->held;
	end_hold(hardware);
	if (tell_failure(hardware, &held))
		hardware->changed(hardware->owner, HARDWARE_NEWS);
}

/* The latest failure is the one that is told. */
static bool hold_failure(struct hardware *hardware, const struct hardware_failure *failure)
{
	if (hardware->source.said.state != REPORT_SOURCE_OK)
		return tell_failure(hardware, failure);
	if (!hardware->held.is_so) {
		LOG_WARN("Reading of NVML failed, told if that lasts", LOG_ERROR_FIELD(&failure->why));
		loop_timer_set(hardware->hold, HARDWARE_HOLD_MS);
	}
	hardware->held.is_so = true;
	hardware->held.is_absent = failure->is_absent;
	hardware->held.is_mismatch = failure->is_mismatch;
	hardware->held.why = failure->why;
	return false;
}

static bool take_hang(struct hardware *hardware, const struct error *why)
{
	end_hold(hardware);
	return source_state_hang(&hardware->source, why);
}

static bool take_failure(struct hardware *hardware, const struct report *reading)
{
	const struct report_source *source = &reading->sources.nvml;
	struct hardware_failure failure = {
		.is_absent = source->state == REPORT_SOURCE_ABSENT && !reading->devices.present,
		.is_mismatch = source->has_driver_mismatch,
	};
	error_set(&failure.why, ERROR_RETRY, 0, "%.*s", VIEW_ARG(source->message));
	if (!reading->devices.present)
		return hold_failure(hardware, &failure);
	end_hold(hardware);
	return tell_failure(hardware, &failure);
}

static bool has_answered(const struct report *reading)
{
	for (uint32_t i = 0; i < reading->devices.count; i++)
		if (!ARRAY_AT(reading->devices, struct report_device, i)->condition.lost)
			return true;
	return false;
}

/* The library is left with its process, and after a reading that failed or in which no device answered. */
static void note_session(struct hardware *hardware, const struct report *reading)
{
	const bool has_failed =
		reading->sources.nvml.state != REPORT_SOURCE_OK || !has_answered(reading);
	const int64_t started = nvml_process_started(hardware->process);
	if (has_failed || started != hardware->processes_started)
		condition_history_forget_counts(&hardware->history);
	hardware->processes_started = started;
}

/* A doubtful reading tells what it has read, and not that the driver works. */
static bool note_reading(struct hardware *hardware, const struct nvml_process_answer *answer)
{
	if (!answer->is_doubtful)
		return source_state_succeed(&hardware->source, answer->asked_wall,
					    answer->reading.sources.nvml.message);
	hardware->source.said.observed_at = answer->asked_wall;
	return false;
}

/* True when the reading says something new. */
static bool take_reading(struct hardware *hardware, const struct nvml_process_answer *answer)
{
	const struct processes_time asked = {answer->asked_wall, answer->asked_boot};
	const struct report_source *source = &answer->reading.sources.nvml;
	note_session(hardware, &answer->reading);
	if (source->state != REPORT_SOURCE_OK)
		return (!answer->is_doubtful || !hardware->source.said.hangs) &&
		       take_failure(hardware, &answer->reading);
	if (!answer->is_doubtful)
		end_hold(hardware);
	condition_history_judge(&hardware->history, asked.boot, asked.wall, answer->reading.devices);
	bool is_news = note_reading(hardware, answer);
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
		is_news = take_hang(hardware, answer->why);
	else if (answer->outcome == NVML_PROCESS_FAILED)
		is_news = hold_failure(hardware,
				       &(struct hardware_failure){.why = *answer->why});
	if (!hardware->held.is_so)
		hardware->held.was_watched = nvml_process_events_since(hardware->process).told > 0;
	if (answer->outcome != NVML_PROCESS_EVENTS)
		changes |= HARDWARE_READ;
	if (is_news)
		changes |= HARDWARE_NEWS;
	if (answer->reading.has_new_state)
		changes |= HARDWARE_STATE;
	if (changes)
		hardware->changed(hardware->owner, changes);
}

bool hardware_read(struct hardware *hardware)
{
	return nvml_process_ask(hardware->process, NVML_CHILD_READING);
}

void hardware_look(struct hardware *hardware)
{
	(void)nvml_process_ask(hardware->process, NVML_CHILD_UTILIZATION);
}

/*
 * While a failure is held back nobody may be watching. Then errors up to this moment may have been missed,
 * which is told in the place of 0: that would be a change of what is read. Of no watch it is the beginning,
 * so it has no time since boot.
 */
static struct wall_time find_events_since(const struct hardware *hardware)
{
	const struct wall_time since = nvml_process_events_since(hardware->process);
	if (since.told == 0 && hardware->held.is_so && hardware->held.was_watched)
		return (struct wall_time){.told = clock_wall_ms()};
	return since;
}

void hardware_tell(const struct hardware *hardware, struct report *report)
{
	const struct wall_time since = find_events_since(hardware);
	report->sources.nvml = hardware->source.said;
	report->nvml_processes = nvml_process_started(hardware->process);
	report->nvml_left_behind = nvml_process_left_behind(hardware->process);
	processes_tell(&hardware->processes, report);
	report->driver_version = hardware->reading.driver_version;
	report->cuda_version = hardware->reading.cuda_version;
	report->devices = hardware->reading.devices;
	report->events_since = since.told;
	report->events_since_uptime_ms = since.boot_ms;
}

int hardware_init(struct hardware *hardware, struct loop *loop,
		  const struct hardware_config *config, hardware_fn changed, void *owner,
		  struct error *err)
{
	*hardware = (struct hardware){
		.queue = config->queue, .changed = changed, .owner = owner};
	arena_init(&hardware->arena, LIMIT_READING_ARENA);
	hardware->activity.settings = config->activity;
	hardware->history.settings = config->history;
	hardware->offer = config->offer;
	processes_init(&hardware->processes, config->processes, config->proc_path);
	const struct nvml_process_config process = {
		.child = {.library_name = config->library_name, .last = &hardware->reading.devices},
		.timeout_ms = config->nvml_timeout_ms,
	};
	if (loop_timer_new(loop, on_hold_over, hardware, &hardware->hold, err) < 0)
		return -1;
	return nvml_process_new(loop, &process, on_answer, hardware, &hardware->process, err);
}

void hardware_deinit(struct hardware *hardware)
{
	nvml_process_free(hardware->process);
	hardware->process = NULL;
	loop_timer_free(hardware->hold);
	hardware->hold = NULL;
	arena_deinit(&hardware->arena);
	hardware->reading = (struct report){0};
	hardware->activity.n_items = 0;
}
