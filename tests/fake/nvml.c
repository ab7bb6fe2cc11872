/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's functions that are about the library and the system, and those that find devices.
 * README.md beside this file tells what the library is for and how to use it.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"

/* The interface itself; its users declare these functions on their own. */
NVML_EXPORT int nvmlInit(void);
NVML_EXPORT int nvmlInit_v2(void);
NVML_EXPORT int nvmlInitWithFlags(unsigned flags);
NVML_EXPORT int nvmlShutdown(void);
NVML_EXPORT const char *nvmlErrorString(int code);
NVML_EXPORT int nvmlSystemGetDriverVersion(char *ret_text, unsigned size);
NVML_EXPORT int nvmlSystemGetNVMLVersion(char *ret_text, unsigned size);
NVML_EXPORT int nvmlSystemGetCudaDriverVersion(int *ret_version);
NVML_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *ret_version);
NVML_EXPORT int nvmlSystemGetConfComputeState(void *ret_state);
NVML_EXPORT int nvmlDeviceGetCount(unsigned *ret_count);
NVML_EXPORT int nvmlDeviceGetCount_v2(unsigned *ret_count);
NVML_EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void **ret_device);
NVML_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret_device);
NVML_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret_device);
NVML_EXPORT int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **ret_device);
NVML_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **ret_device);

struct text_answer {
	const char *key;
	const char *absent;
	char *text;
	size_t size;
};

struct find_query {
	unsigned index;
	const char *name;
	void **ret_handle;
};

int nvmlInit(void)
{
	return nvml_call_start(__func__);
}

int nvmlInit_v2(void)
{
	return nvml_call_start(__func__);
}

int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return nvml_call_start(__func__);
}

int nvmlShutdown(void)
{
	return nvml_call_stop();
}

const char *nvmlErrorString(int code)
{
	static const struct {
		int code;
		const char *text;
	} rows[] = {
		{NVML_ABI_SUCCESS, "Success"},
		{NVML_ABI_UNINITIALIZED, "Uninitialized"},
		{NVML_ABI_INVALID_ARGUMENT, "Invalid Argument"},
		{NVML_ABI_NOT_SUPPORTED, "Not Supported"},
		{NVML_ABI_NO_PERMISSION, "Insufficient Permissions"},
		{NVML_ABI_NOT_FOUND, "Not Found"},
		{NVML_ABI_INSUFFICIENT_SIZE, "Insufficient Size"},
		{NVML_ABI_DRIVER_NOT_LOADED, "Driver Not Loaded"},
		{NVML_ABI_TIMEOUT, "Timeout"},
		{NVML_ABI_FUNCTION_NOT_FOUND, "Function Not Found"},
		{NVML_ABI_GPU_IS_LOST, "GPU is lost"},
		{NVML_ABI_RESET_REQUIRED, "GPU requires reset"},
		{NVML_ABI_GPU_NOT_FOUND, "No GPUs were found"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == code)
			return rows[i].text;
	return "Unknown Error";
}

static int give_text(const struct nvml_target *target, void *arg)
{
	const struct text_answer *answer = arg;
	const char *text = nvml_file_text(target->world, answer->key);

	return nvml_call_copy(text ? text : answer->absent, answer->text, answer->size);
}

int nvmlSystemGetDriverVersion(char *ret_text, unsigned size)
{
	struct text_answer answer = {"driverVersion", "", ret_text, size};
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_text, &answer);
}

int nvmlSystemGetNVMLVersion(char *ret_text, unsigned size)
{
	struct text_answer answer = {"nvmlVersion", "13.580.65.06", ret_text, size};
	return nvml_call(__func__, NVML_KIND_LIBRARY, NULL, give_text, &answer);
}

/* "12.4" is 12040. */
static int give_cuda_version(const struct nvml_target *target, void *arg)
{
	unsigned major = 0;
	unsigned minor = 0;

	if (sscanf(nvml_file_text(target->world, "cudaVersion"), "%3u.%2u", &major, &minor) != 2)
		return NVML_ABI_UNKNOWN;
	*(int *)arg = (int)(major * 1000 + minor * 10);
	return NVML_ABI_SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *ret_version)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_cuda_version, ret_version);
}

int nvmlSystemGetCudaDriverVersion_v2(int *ret_version)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_cuda_version, ret_version);
}

static int not_supported(const struct nvml_target *target, void *arg)
{
	(void)target;
	(void)arg;
	return NVML_ABI_NOT_SUPPORTED;
}

int nvmlSystemGetConfComputeState(void *ret_state)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, not_supported, ret_state);
}

static int give_count(const struct nvml_target *target, void *arg)
{
	*(unsigned *)arg = (unsigned)json_array_size(json_object_get(target->world, "devices"));
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetCount(unsigned *ret_count)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_count, ret_count);
}

int nvmlDeviceGetCount_v2(unsigned *ret_count)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_count, ret_count);
}

/* Ends a search: the errors of the device that was found count as well. */
static int give_handle(const struct nvml_target *found, void **ret_handle)
{
	int code = nvml_call_injected(found);

	if (code != NVML_ABI_SUCCESS)
		return code;
	void *handle = nvml_call_handle(found, found->mig ? NVML_KIND_MIG : NVML_KIND_DEVICE);

	if (!handle)
		return NVML_ABI_MEMORY;
	*ret_handle = handle;
	return NVML_ABI_SUCCESS;
}

static int find_by_index(const struct nvml_target *target, void *arg)
{
	const struct find_query *query = arg;
	struct nvml_target found = *target;

	found.device = json_array_get(json_object_get(target->world, "devices"), query->index);
	found.device_index = query->index;
	if (!found.device)
		return NVML_ABI_INVALID_ARGUMENT;
	return give_handle(&found, query->ret_handle);
}

int nvmlDeviceGetHandleByIndex(unsigned index, void **ret_device)
{
	struct find_query query = {.index = index, .ret_handle = ret_device};
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, find_by_index, &query);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret_device)
{
	struct find_query query = {.index = index, .ret_handle = ret_device};
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, find_by_index, &query);
}

static int find_by_uuid(const struct nvml_target *target, void *arg)
{
	const struct find_query *query = arg;
	struct nvml_target found = *target;
	int code = nvml_call_find(&found, query->name);

	return code ? code : give_handle(&found, query->ret_handle);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret_device)
{
	struct find_query query = {.name = uuid, .ret_handle = ret_device};

	if (!uuid)
		return NVML_ABI_INVALID_ARGUMENT;
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, find_by_uuid, &query);
}

/* Domains are written with four or eight digits: compare the numbers. */
static int find_by_bus_id(const struct nvml_target *target, void *arg)
{
	const struct find_query *query = arg;
	struct nvml_target found = *target;
	const json_t *list = json_object_get(target->world, "devices");
	uint32_t wanted[3];
	uint32_t parts[3];

	if (nvml_file_parse_bus_id(query->name, wanted) < 0)
		return NVML_ABI_INVALID_ARGUMENT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		found.device = json_array_get(list, i);
		found.device_index = i;
		if (nvml_file_parse_bus_id(nvml_file_text(found.device, "pciBusID"), parts) == 0 &&
		    memcmp(parts, wanted, sizeof(parts)) == 0)
			return give_handle(&found, query->ret_handle);
	}
	return NVML_ABI_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **ret_device)
{
	struct find_query query = {.name = bus_id, .ret_handle = ret_device};

	if (!bus_id)
		return NVML_ABI_INVALID_ARGUMENT;
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, find_by_bus_id, &query);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **ret_device)
{
	struct find_query query = {.name = bus_id, .ret_handle = ret_device};

	if (!bus_id)
		return NVML_ABI_INVALID_ARGUMENT;
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, find_by_bus_id, &query);
}
