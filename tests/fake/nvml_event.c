/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's events. The file lists events with rising sequence numbers. A registration notes
 * the highest number in the file, so earlier events are not given. An event set notes the last
 * number it gave. So each event is given once, in order, to every set of every program.
 *
 * Waiting looks at the file every POLL_NS. No cheaper sign of a rename works on every file system
 * and leaves the waiter independent of who writes.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"
#include "nvml_names.h"

enum { REGISTRATIONS_MAX = 64 };

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define POLL_NS (50 * NS_PER_MS)

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
};

NVML_EXPORT int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *ret_mask);
NVML_EXPORT int nvmlEventSetCreate(struct event_set **ret_set);
NVML_EXPORT int nvmlEventSetFree(struct event_set *set);
NVML_EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long mask,
					 struct event_set *set);
NVML_EXPORT int nvmlEventSetWait_v2(struct event_set *set, struct nvml_abi_event *ret_event,
				    unsigned timeout_ms);

static int give_supported(const struct nvml_target *target, void *arg)
{
	(void)target;
	*(unsigned long long *)arg = SUPPORTED_EVENTS;
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
	return *ret_set ? NVML_ABI_SUCCESS : NVML_ABI_MEMORY;
}

int nvmlEventSetCreate(struct event_set **ret_set)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_set, ret_set);
}

int nvmlEventSetFree(struct event_set *set)
{
	free(set);
	return set ? NVML_ABI_SUCCESS : NVML_ABI_INVALID_ARGUMENT;
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

	if (query->mask & ~SUPPORTED_EVENTS)
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

/* An injected failure waits for one step too, or a caller that tries again would spin. */
int nvmlEventSetWait_v2(struct event_set *set, struct nvml_abi_event *ret_event,
			unsigned timeout_ms)
{
	struct wait_query query = {set, ret_event};
	int64_t deadline = now_ns() + timeout_ms * NS_PER_MS;

	if (!set || !ret_event)
		return NVML_ABI_INVALID_ARGUMENT;
	for (;;) {
		int code = nvml_call(__func__, NVML_KIND_SYSTEM, NULL, next_event, &query);
		int64_t left = deadline - now_ns();

		if (code == NVML_ABI_SUCCESS || left <= 0)
			return code;
		sleep_ns(left < POLL_NS ? left : POLL_NS);
		if (code != NVML_ABI_TIMEOUT)
			return code;
	}
}
