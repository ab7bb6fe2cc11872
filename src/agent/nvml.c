/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/condition_reader.h"
#include "agent/device_memory.h"
#include "agent/mismatch.h"
#include "agent/nvml_events.h"
#include "base/log.h"

/*
 * How it works: a session is the library loaded and started, plus an event set on which every
 * device seen is registered once. It lives from one reading to the next, because events are only
 * recorded while it does. A failure of the whole node (driver gone, versions that do not match)
 * ends the session and unloads the library. The next reading then loads the files of the driver
 * that is installed by that time.
 *
 * A lost device does not tell its UUID any more, and XID 79 arrives after the device has gone. So
 * the session remembers handles and UUIDs by index. For the same reason a session in which no
 * device answers ends only at the next reading: until then its events can be fetched.
 *
 * What the devices told of themselves is remembered by index too, across sessions, for one that is lost or
 * does not answer is still reported. Indexes may go to other devices. So memories go when the number of
 * devices changes, and when a device answers under another index.
 */

/* Utilisation from which on a PCIe link should not be in one of its idle states. */
#define BUSY_PERCENT 5

struct nvml {
	struct nvml_library library; /* loaded exactly while the session lives */
	struct nvml_call *call;      /* where its calls are announced; NULL: nowhere */
	bool is_started;
	bool is_barren; /* no device answered at the last reading */
	struct nvml_events events;
	struct wall_time observed; /* last good reading */
	struct nvml_known_device known[LIMIT_REPORT_DEVICES];
	struct device_memory memories[LIMIT_REPORT_DEVICES];
	int strangers[LIMIT_REPORT_DEVICES]; /* code that was logged of a device never seen; 0: none */
	unsigned n_devices; /* at the last count, 0: none or never counted */
	struct device_reader_scratch scratch;
	struct gpm gpm;
	char library_name[];
};

/* One nvml_read() under way. */
struct reading {
	struct nvml *nvml;
	struct device_reader reader;
	struct nvml_reading result;
	unsigned n_answered; /* devices */
	unsigned n_told;     /* these, and those that are lost or require a reset */
};

static const char *meaning(const struct nvml *nvml, int code)
{
	return nvml_library_meaning(&nvml->library, code);
}

static void end_session(struct nvml *nvml)
{
	nvml_events_close(&nvml->events);
	gpm_clear(&nvml->gpm, &nvml->library);
	if (nvml->is_started)
		(void)NVML_LIBRARY_CALL_PLAIN(&nvml->library, shutdown);
	nvml->is_started = false;
	nvml->is_barren = false;
	nvml_library_unload(&nvml->library);
	memset(nvml->known, 0, sizeof(nvml->known));
}

/* A failure of the whole node. */
static void fail_source(struct reading *reading, const char *what, int code)
{
	char mismatch[LIMIT_REPORT_MESSAGE];
	const char *why = meaning(reading->nvml, code);
	if (code == NVML_ABI_LIB_RM_VERSION_MISMATCH) {
		mismatch_describe(&reading->nvml->library, MISMATCH_MODULE_FILE, mismatch,
				  sizeof(mismatch));
		why = mismatch;
		reading->result.source.has_driver_mismatch = true;
	}
	device_reader_note(&reading->reader, "%s: %s", what, why);
	reading->result.source.state = REPORT_SOURCE_ERROR;
	end_session(reading->nvml);
}

/* A node whose last GPU has gone still has a driver: ask it in the way that allows that. */
static int start_library(const struct nvml_library *library)
{
	if (library->init_with_flags)
		return NVML_LIBRARY_CALL(library, init_with_flags, NVML_ABI_INIT_NO_GPUS);
	return NVML_LIBRARY_CALL_PLAIN(library, init);
}

static bool begin_session(struct reading *reading)
{
	struct nvml *nvml = reading->nvml;
	struct error err;
	if (nvml->is_barren)
		end_session(nvml);
	if (nvml->is_started)
		return true;
	if (nvml_library_load(nvml->library_name, &nvml->library, &err) < 0) {
		device_reader_note(&reading->reader, "%s", err.text);
		reading->result.source.state = REPORT_SOURCE_ABSENT;
		return false;
	}
	nvml->library.call = nvml->call;
	int code = start_library(&nvml->library);
	nvml->is_started = code == NVML_ABI_SUCCESS;
	if (!nvml->is_started)
		fail_source(reading, "start", code);
	return nvml->is_started;
}

static void read_versions(struct reading *reading)
{
	const struct nvml_library *library = &reading->nvml->library;
	char text[NVML_ABI_VERSION_SIZE] = "";
	int cuda = 0;
	if (NVML_LIBRARY_CALL(library, driver_version, text, sizeof(text)) == NVML_ABI_SUCCESS) {
		text[sizeof(text) - 1] = '\0';
		device_reader_keep(&reading->reader, text, &reading->result.driver_version);
	}
	if (NVML_LIBRARY_CALL(library, cuda_version, &cuda) == NVML_ABI_SUCCESS) {
		snprintf(text, sizeof(text), "%d.%d", cuda / 1000, cuda % 1000 / 10);
		device_reader_keep(&reading->reader, text, &reading->result.cuda_version);
	}
}

/* Handle and UUID; a return code of NVML. */
static int identify(struct reading *reading, unsigned index, struct nvml_known_device *known)
{
	const struct nvml_library *library = &reading->nvml->library;
	struct nvml_known_device now = {.has_events = known->has_events,
				   .reset = known->reset,
				   .peak = known->peak};
	int code = NVML_LIBRARY_CALL(library, handle, index, &now.handle);
	if (code == NVML_ABI_SUCCESS)
		code = NVML_LIBRARY_CALL(library, uuid, now.handle, now.uuid, sizeof(now.uuid));
	if (code != NVML_ABI_SUCCESS)
		return code;
	now.uuid[sizeof(now.uuid) - 1] = '\0';
	if (now.handle != known->handle)
		now.has_events = false;
	if (strcmp(now.uuid, known->uuid) != 0)
		now.reset = (struct wall_time){0};
	else if (now.handle != known->handle)
		now.reset = reading->nvml->observed;
	*known = now;
	return NVML_ABI_SUCCESS;
}

/* Keeps what the device told; nothing else is remembered of it under other indexes. */
static void remember(struct reading *reading, unsigned index, const struct report_device *device)
{
	struct device_memory *memories = reading->nvml->memories;
	for (unsigned i = 0; i < LIMIT_REPORT_DEVICES; i++) {
		if (i != index && view_equal(memories[i].device.uuid, device->uuid))
			device_memory_forget(&memories[i]);
	}
	if (!device_memory_keep(&memories[index], device))
		reading->reader.no_memory = true;
}

/* Says once of each device why it cannot be named. */
static void log_stranger(struct nvml *nvml, unsigned index, int code)
{
	if (nvml->strangers[index] != code)
		LOG_WARN("Device has no name, it is not reported", LOG_U64("index", index),
			 LOG_I64("code", code), LOG_TEXT("meaning", view_from(meaning(nvml, code))));
	nvml->strangers[index] = code;
}

/* Whether the code says what the device is like, or else only that it does not answer. */
static bool is_verdict(int code)
{
	return code == NVML_ABI_GPU_IS_LOST || code == NVML_ABI_RESET_REQUIRED;
}

/* A device that does not answer is not well again for that: lost before, it still is. */
static void recall_condition(struct device_memory *memory, int code, struct report_condition *ret)
{
	if (is_verdict(code))
		memory->device.condition.lost = code == NVML_ABI_GPU_IS_LOST;
	else
		condition_reader_clear(ret);
	ret->lost = memory->device.condition.lost;
	ret->reset_required |= code == NVML_ABI_RESET_REQUIRED;
}

/*
 * Tells what is remembered of a device that answered with this code only. False: nothing is, or it
 * is not known to be the same device, or there is no such device.
 */
static bool recall(struct reading *reading, unsigned index, int code, struct report_device *ret)
{
	struct device_memory *memory = &reading->nvml->memories[index];
	struct view uuid = view_from(reading->nvml->known[index].uuid);
	if (!device_memory_holds(memory)) {
		log_stranger(reading->nvml, index, code);
		return false;
	}
	memory->is_missing |= code == NVML_ABI_GPU_NOT_FOUND;
	if ((memory->is_missing && !is_verdict(code)) ||
	    (uuid.len > 0 && !view_equal(uuid, memory->device.uuid)))
		return false;
	if (!device_memory_recall(memory, reading->reader.arena, ret)) {
		reading->reader.no_memory = true;
		return false;
	}
	recall_condition(memory, code, &ret->condition);
	return true;
}

static void note_device(struct reading *reading, unsigned index, struct view uuid, int code)
{
	device_reader_note(&reading->reader, "device %u%s%.*s: %s", index, uuid.len ? " " : "",
			   VIEW_ARG(uuid), meaning(reading->nvml, code));
}

/*
 * At this moment: what was seen earlier tells nothing of a link that is looked at now. So it is not
 * known under MIG.
 */
static bool is_busy(const struct report_activity *activity)
{
	return activity->present && activity->utilization >= BUSY_PERCENT;
}

/* What was seen between two readings counts in the later one. */
static void tell_peak(struct nvml_known_device *known, struct report_activity *activity)
{
	if (activity->present && known->peak > 0 && known->peak > activity->utilization)
		activity->utilization = known->peak;
	known->peak = 0;
}

/* SUCCESS, or the return code that says that there is nothing to be asked any more. */
static int ask_device(struct reading *reading, unsigned index, struct report_device *ret)
{
	struct nvml *nvml = reading->nvml;
	struct device_subject subject = {
		.reader = &reading->reader,
		.handle = nvml->known[index].handle,
		.label = nvml->known[index].uuid,
	};
	device_reader_keep(&reading->reader, subject.label, &ret->uuid);
	device_reader_read(&subject, ret);
	condition_reader_read(&subject, &ret->condition);
	ret->condition.pcie_generation.busy =
		ret->condition.pcie_generation.present && is_busy(&ret->activity);
	ret->condition.reset_time = nvml->known[index].reset.told;
	ret->condition.reset_uptime_ms = nvml->known[index].reset.boot_ms;
	tell_peak(&nvml->known[index], &ret->activity);
	if (subject.missing)
		return NVML_ABI_GPU_NOT_FOUND;
	if (subject.lost)
		return NVML_ABI_GPU_IS_LOST;
	if (!subject.needs_reset)
		return NVML_ABI_SUCCESS;
	note_device(reading, index, ret->uuid, NVML_ABI_RESET_REQUIRED);
	ret->condition.reset_required = true;
	if (!device_memory_complete(&nvml->memories[index], reading->reader.arena, ret))
		reading->reader.no_memory = true;
	return NVML_ABI_SUCCESS;
}

/* The index may have gone to another device: only a call that has just returned tells its UUID. */
static int ask_by_index(struct reading *reading, unsigned index, struct report_device *ret)
{
	struct nvml_known_device *known = &reading->nvml->known[index];
	nvml_call_about(reading->nvml->call, (int32_t)index, "");
	int code = identify(reading, index, known);
	if (code != NVML_ABI_SUCCESS)
		return code;
	nvml_call_about(reading->nvml->call, (int32_t)index, known->uuid);
	return ask_device(reading, index, ret);
}

/* False if the device is to be left out; the message then says why. */
static bool read_device(struct reading *reading, unsigned index, struct report_device *ret)
{
	struct nvml_known_device *known = &reading->nvml->known[index];
	*ret = (struct report_device){.index = index, .minor = -1};
	int code = ask_by_index(reading, index, ret);
	if (code != NVML_ABI_SUCCESS) {
		bool is_known = recall(reading, index, code, ret);
		note_device(reading, index, is_known ? ret->uuid : view_from(known->uuid), code);
		reading->n_told += is_known && is_verdict(code);
		/* Nothing shows that its errors are still told. */
		reading->nvml->events.n_unwatched += is_known && !is_verdict(code);
		return is_known;
	}
	reading->n_answered++;
	reading->n_told++;
	reading->nvml->strangers[index] = NVML_ABI_SUCCESS;
	remember(reading, index, ret);
	nvml_events_watch(&reading->nvml->events, &reading->reader, known);
	return true;
}

/* Leaves out the devices that were recalled under an index which is not theirs any more. */
static uint32_t drop_forgotten(const struct nvml *nvml, struct report_device *devices, uint32_t n)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (device_memory_holds(&nvml->memories[devices[i].index]))
			devices[count++] = devices[i];
	}
	return count;
}

/* "No devices" would be an answer; of devices that are all silent it would be a wrong one. */
static void read_devices(struct reading *reading, unsigned n)
{
	struct nvml *nvml = reading->nvml;
	struct report_device *items = arena_alloc(reading->reader.arena, n, sizeof(*items));
	uint32_t count = 0;
	if (!items) {
		reading->reader.no_memory = true;
		return;
	}
	for (unsigned i = 0; i < n; i++)
		count += read_device(reading, i, &items[count]);
	nvml_call_about(nvml->call, -1, "");
	count = drop_forgotten(nvml, items, count);
	nvml->is_barren = n > 0 && reading->n_answered == 0;
	if (n > 0 && reading->n_told == 0) {
		reading->result.source.state = REPORT_SOURCE_ERROR;
		count = 0;
	}
	reading->result.devices = (struct array){items, count, true};
}

static void forget_devices(struct nvml *nvml)
{
	for (size_t i = 0; i < ARRAY_SIZE(nvml->memories); i++)
		device_memory_forget(&nvml->memories[i]);
}

static void read_node(struct reading *reading)
{
	unsigned n = 0;
	int code = NVML_LIBRARY_CALL(&reading->nvml->library, count, &n);
	if (code != NVML_ABI_SUCCESS) {
		fail_source(reading, "count of devices", code);
		return;
	}
	if (n > LIMIT_REPORT_DEVICES) {
		device_reader_note(&reading->reader, "only the first %u of %u devices are reported",
				   LIMIT_REPORT_DEVICES, n);
		n = LIMIT_REPORT_DEVICES;
	}
	if (reading->nvml->n_devices != 0 && n != reading->nvml->n_devices)
		forget_devices(reading->nvml);
	reading->nvml->n_devices = n;
	nvml_events_open(&reading->nvml->events, &reading->reader);
	read_versions(reading);
	read_devices(reading, n);
	gpm_sweep(&reading->nvml->gpm, &reading->nvml->library);
	nvml_events_await(&reading->nvml->events);
}

int nvml_read(struct nvml *nvml, struct wall_time now, struct arena *arena,
	      struct nvml_reading *ret_reading, struct error *err)
{
	struct reading reading = {
		.nvml = nvml,
		.reader = {.library = &nvml->library, .scratch = &nvml->scratch,
			   .gpm = &nvml->gpm, .arena = arena},
		.result.source.state = REPORT_SOURCE_OK,
	};
	struct report_source *source = &reading.result.source;
	if (begin_session(&reading))
		read_node(&reading);
	device_reader_keep(&reading.reader, reading.reader.message, &source->message);
	if (reading.reader.no_memory)
		return error_no_memory(err);
	if (source->state == REPORT_SOURCE_OK)
		nvml->observed = now;
	source->observed_at = nvml->observed.told;
	*ret_reading = reading.result;
	return 0;
}

bool nvml_next_event(struct nvml *nvml, struct nvml_event *ret_event)
{
	return nvml_events_next(&nvml->events, ret_event);
}

bool nvml_take_new_state(struct nvml *nvml)
{
	const bool has_new_state = nvml->events.has_new_state;
	nvml->events.has_new_state = false;
	return has_new_state;
}

void nvml_wait_with(struct nvml *nvml, struct nvml_waiter *waiter)
{
	nvml->events.waiter = waiter;
}

void nvml_announce(struct nvml *nvml, struct nvml_call *call)
{
	nvml->call = call;
}

uint64_t nvml_watch(const struct nvml *nvml)
{
	const struct nvml_events *events = &nvml->events;
	const bool is_whole = events->set && events->n_unwatched == 0 && !nvml->is_barren &&
			      !events->has_missed;
	return is_whole ? events->watch : 0;
}

void nvml_remember(struct nvml *nvml, struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct report_device *device = ARRAY_AT(devices, struct report_device, i);
		if (device->index < 0 || device->index >= LIMIT_REPORT_DEVICES ||
		    !device_memory_keep(&nvml->memories[device->index], device))
			LOG_WARN("Device cannot be remembered", LOG_TEXT("device", device->uuid));
	}
}

void nvml_sample(struct nvml *nvml)
{
	for (size_t i = 0; nvml->is_started && i < ARRAY_SIZE(nvml->known); i++) {
		struct nvml_known_device *known = &nvml->known[i];
		struct nvml_abi_utilization rates = {.gpu = 0};
		nvml_call_about(nvml->call, (int32_t)i, known->uuid);
		if (known->handle &&
		    NVML_LIBRARY_CALL(&nvml->library, utilization, known->handle, &rates) ==
			    NVML_ABI_SUCCESS &&
		    rates.gpu <= LIMIT_NUMBER_PERCENT && rates.gpu > known->peak)
			known->peak = rates.gpu;
	}
	nvml_call_about(nvml->call, -1, "");
}

int nvml_new(const char *library_name, struct nvml **ret_nvml, struct error *err)
{
	size_t size = strlen(library_name) + 1;
	struct nvml *nvml = calloc(1, sizeof(*nvml) + size);
	if (!nvml)
		return error_no_memory(err);
	memcpy(nvml->library_name, library_name, size);
	nvml->events.library = &nvml->library;
	nvml->events.known = nvml->known;
	*ret_nvml = nvml;
	return 0;
}

void nvml_free(struct nvml *nvml)
{
	if (!nvml)
		return;
	end_session(nvml);
	forget_devices(nvml);
	free(nvml);
}

void nvml_freep(struct nvml **nvml)
{
	nvml_free(*nvml);
}
