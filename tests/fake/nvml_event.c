/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's events. The file lists events with rising sequence numbers. A registration notes
 * the highest number in the file, so earlier events are not given. An event set notes the last
 * number it gave. So each event is given once, in order, to every set of every program.
 *
 * Who waits sleeps until something changes in the file's folder, as the kernel tells by inotify, and
 * looks at the file at the beginning and the end of each wait. Where inotify is used up, waiting looks
 * at the file every POLL_NS.
 */

#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"
#include "nvml_names.h"

enum { REGISTRATIONS_MAX = 64 };

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define POLL_NS (50 * NS_PER_MS)

#define FOLDER_CHANGES (IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE)

#define SUPPORTED_EVENTS                                                       \
	(NVML_ABI_EVENT_SINGLE_BIT_ECC | NVML_ABI_EVENT_DOUBLE_BIT_ECC |       \
	 NVML_ABI_EVENT_XID | NVML_ABI_EVENT_MIG_CONFIG |                      \
	 NVML_ABI_EVENT_GPU_UNAVAILABLE | NVML_ABI_EVENT_RECOVERY_ACTION)

struct registration {
	char uuid[NVML_ABI_UUID_SIZE];
	uint64_t mask;
	int64_t since; /* events up to this number are older than the registration */
};

/* Guarded by the lock of nvml_call. */
struct event_set {
	struct registration registrations[REGISTRATIONS_MAX];
	size_t n_registrations;
	int64_t given; /* number of the last event given */
	bool has_tried; /* to watch the folder */
	int folder;     /* inotify; -1: none */
};

NVML_EXPORT int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *ret_mask);
NVML_EXPORT int nvmlEventSetCreate(struct event_set **ret_set);
NVML_EXPORT int nvmlEventSetFree(struct event_set *set);
NVML_EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long mask,
					 struct event_set *set);
NVML_EXPORT int nvmlEventSetWait_v2(struct event_set *set, struct nvml_abi_event *ret_event,
				    unsigned timeout_ms);

/* Types that may be registered of the device. */
static uint64_t types_of(const json_t *device)
{
	return (uint64_t)nvml_file_number(device, "eventTypes", (int64_t)SUPPORTED_EVENTS);
}

static int give_supported(const struct nvml_target *target, void *arg)
{
	*(unsigned long long *)arg = (unsigned long long)nvml_file_number(
		target->device, "eventTypesTold", (int64_t)types_of(target->device));
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *ret_mask)
{
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_supported, ret_mask);
}

static int give_set(const struct nvml_target *target, void *arg)
{
	struct event_set **ret_set = arg;

	(void)target;
	*ret_set = calloc(1, sizeof(**ret_set));
	if (!*ret_set)
		return NVML_ABI_MEMORY;
	(*ret_set)->folder = -1;
	return NVML_ABI_SUCCESS;
}

int nvmlEventSetCreate(struct event_set **ret_set)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_set, ret_set);
}

int nvmlEventSetFree(struct event_set *set)
{
	if (!set)
		return NVML_ABI_INVALID_ARGUMENT;
	if (set->folder >= 0)
		close(set->folder);
	free(set);
	return NVML_ABI_SUCCESS;
}

static int64_t last_sequence(const json_t *world)
{
	const json_t *events = json_object_get(world, "events");
	size_t n = json_array_size(events);

	return n ? nvml_file_number(json_array_get(events, n - 1), "sequence", 0) : 0;
}

struct register_query {
	struct event_set *set;
	uint64_t mask;
};

static int add_registration(const struct nvml_target *target, void *arg)
{
	const struct register_query *query = arg;
	struct event_set *set = query->set;

	if (query->mask & ~types_of(target->device))
		return NVML_ABI_NOT_SUPPORTED;
	if (set->n_registrations == REGISTRATIONS_MAX)
		return NVML_ABI_MEMORY;
	struct registration *registration = &set->registrations[set->n_registrations++];

	registration->mask = query->mask;
	registration->since = last_sequence(target->world);
	return nvml_call_copy(nvml_file_text(target->device, "uuid"), registration->uuid,
			      sizeof(registration->uuid));
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long mask, struct event_set *set)
{
	struct register_query query = {set, mask};

	if (!set)
		return NVML_ABI_INVALID_ARGUMENT;
	return nvml_call(__func__, NVML_KIND_DEVICE, device, add_registration, &query);
}

static bool is_wanted(const struct event_set *set, const char *uuid, uint64_t type,
		      int64_t sequence)
{
	for (size_t i = 0; i < set->n_registrations; i++) {
		const struct registration *registration = &set->registrations[i];

		if (sequence > registration->since && (registration->mask & type) &&
		    strcmp(registration->uuid, uuid) == 0)
			return true;
	}
	return false;
}

static uint64_t type_of(const json_t *row)
{
	return (uint64_t)nvml_names_number(nvml_names_event, nvml_file_text(row, "type"), 0);
}

static int fill_event(const struct nvml_target *target, const json_t *row,
		      struct nvml_abi_event *ret_event)
{
	struct nvml_target about = *target;
	int code = nvml_call_find(&about, nvml_file_text(row, "uuid"));

	if (code != NVML_ABI_SUCCESS)
		return code;
	void *device = nvml_call_handle(&about, NVML_KIND_DEVICE);

	if (!device)
		return NVML_ABI_MEMORY;
	*ret_event = (struct nvml_abi_event){
		.device = device,
		.type = type_of(row),
		.data = (uint64_t)nvml_file_number(row, "code", 0),
		.gpu_instance = nvml_file_instance(row, "gpuInstanceID"),
		.compute_instance = nvml_file_instance(row, "computeInstanceID"),
	};
	return NVML_ABI_SUCCESS;
}

struct wait_query {
	struct event_set *set;
	struct nvml_abi_event *ret_event;
};

static int next_event(const struct nvml_target *target, void *arg)
{
	const struct wait_query *query = arg;
	const json_t *events = json_object_get(target->world, "events");

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *row = json_array_get(events, i);
		int64_t sequence = nvml_file_number(row, "sequence", 0);

		if (sequence <= query->set->given ||
		    !is_wanted(query->set, nvml_file_text(row, "uuid"), type_of(row), sequence))
			continue;
		query->set->given = sequence;
		return fill_event(target, row, query->ret_event);
	}
	return NVML_ABI_TIMEOUT;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
	struct timespec pause = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};

	nanosleep(&pause, NULL);
}

/* Once for each set, under the lock; a set that is only asked and never waits has no need of it. */
static int watch_folder(const struct nvml_target *target, void *arg)
{
	const char *path = getenv("FAKE_NVML_FILE");
	struct event_set *set = arg;
	char folder[PATH_MAX];

	(void)target;
	if (set->has_tried || !path)
		return NVML_ABI_SUCCESS;
	set->has_tried = true;
	snprintf(folder, sizeof(folder), "%s", path);
	set->folder = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (set->folder >= 0 && inotify_add_watch(set->folder, dirname(folder), FOLDER_CHANGES) < 0) {
		close(set->folder);
		set->folder = -1;
	}
	return NVML_ABI_SUCCESS;
}

/* Until something changes in the folder, or the time is over. What was told of the folder is forgotten. */
static void sleep_until_change(const struct event_set *set, int64_t left)
{
	char told[4096];
	struct pollfd folder = {.fd = set->folder, .events = POLLIN};

	if (set->folder < 0) {
		sleep_ns(left < POLL_NS ? left : POLL_NS);
		return;
	}
	if (poll(&folder, 1, (int)((left + NS_PER_MS - 1) / NS_PER_MS)) <= 0)
		return;
	while (read(set->folder, told, sizeof(told)) > 0)
		;
}

/* An injected failure waits for one step too, or a caller that tries again would spin. */
int nvmlEventSetWait_v2(struct event_set *set, struct nvml_abi_event *ret_event,
			unsigned timeout_ms)
{
	struct wait_query query = {set, ret_event};
	int64_t deadline = now_ns() + timeout_ms * NS_PER_MS;

	if (!set || !ret_event)
		return NVML_ABI_INVALID_ARGUMENT;
	if (timeout_ms > 0)
		nvml_call("", NVML_KIND_SYSTEM, NULL, watch_folder, set);
	for (;;) {
		int code = nvml_call(__func__, NVML_KIND_SYSTEM, NULL, next_event, &query);
		int64_t left = deadline - now_ns();

		if (code == NVML_ABI_SUCCESS || left <= 0)
			return code;
		if (code != NVML_ABI_TIMEOUT) {
			sleep_ns(left < POLL_NS ? left : POLL_NS);
			return code;
		}
		sleep_until_change(set, left);
	}
}
