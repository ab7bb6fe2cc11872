/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's functions about one device, but for its condition (nvml_condition.c). A datum that
 * the file does not have is NOT_SUPPORTED, as on hardware without it. Many functions have the same
 * shape and differ in name and key only: those are rows of a table.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"
#include "nvml_names.h"

enum { DEVICE = NVML_KIND_DEVICE, MIG = NVML_KIND_MIG };

#define MIB UINT64_C(1048576)

struct memory_v2 {
	uint32_t version;
	uint64_t total;
	uint64_t reserved;
	uint64_t free;
	uint64_t used;
};

struct utilization {
	uint32_t gpu;
	uint32_t memory;
};

struct temperature_v1 {
	uint32_t version;
	int32_t sensor;
	int32_t temperature;
};

static_assert(sizeof(struct memory_v2) == 40, "nvmlMemory_v2_t");
static_assert(sizeof(struct utilization) == 8, "nvmlUtilization_t");
static_assert(sizeof(struct temperature_v1) == 12, "nvmlTemperature_v1_t");

enum { MEMORY_V2_VERSION = 40 | 2 << 24, TEMPERATURE_V1_VERSION = 12 | 1 << 24 };
enum { TOPOLOGY_NODE = 40, TOPOLOGY_SYSTEM = 50 };

/* function, accepted handles, key: all (device, unsigned *) */
#define NUMBER_FUNCTIONS(X)                                                \
	X(nvmlDeviceGetMinorNumber, DEVICE, "minor")                       \
	X(nvmlDeviceGetNumaNodeId, DEVICE, "numaNode")                     \
	X(nvmlDeviceGetPowerUsage, DEVICE, "powerMilliwatts")              \
	X(nvmlDeviceGetEnforcedPowerLimit, DEVICE, "powerLimitMilliwatts") \
	X(nvmlDeviceGetGpuInstanceId, MIG, "gpuInstanceID")                \
	X(nvmlDeviceGetComputeInstanceId, MIG, "computeInstanceID")

/* function, key, words, number of a device without the key: all (device, int *) */
#define WORD_FUNCTIONS(X)                                                                    \
	X(nvmlDeviceGetBrand, "brand", nvml_names_brand, 14)                                 \
	X(nvmlDeviceGetArchitecture, "architecture", nvml_names_architecture, 0xffffffff)    \
	X(nvmlDeviceGetComputeMode, "computeMode", nvml_names_compute_mode, 0)

/* What no simulated device has: all (device, pointer) */
#define UNSUPPORTED_FUNCTIONS(X)        \
	X(nvmlDeviceGetAddressingMode)  \
	X(nvmlDeviceGetGpuFabricInfoV)

#define DECLARE_NUMBER(name, accepts, key) NVML_EXPORT int name(void *device, unsigned *ret_number);
#define DECLARE_WORD(name, key, names, absent) NVML_EXPORT int name(void *device, int *ret_number);
#define DECLARE_UNSUPPORTED(name) NVML_EXPORT int name(void *device, void *ret_info);

NUMBER_FUNCTIONS(DECLARE_NUMBER)
WORD_FUNCTIONS(DECLARE_WORD)
UNSUPPORTED_FUNCTIONS(DECLARE_UNSUPPORTED)

NVML_EXPORT int nvmlDeviceGetUUID(void *device, char *ret_text, unsigned size);
NVML_EXPORT int nvmlDeviceGetName(void *device, char *ret_text, unsigned size);
NVML_EXPORT int nvmlDeviceGetSerial(void *device, char *ret_text, unsigned size);
NVML_EXPORT int nvmlDeviceGetIndex(void *device, unsigned *ret_index);
NVML_EXPORT int nvmlDeviceGetPciInfo(void *device, struct nvml_abi_pci_info *ret_info);
NVML_EXPORT int nvmlDeviceGetPciInfo_v2(void *device, struct nvml_abi_pci_info *ret_info);
NVML_EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct nvml_abi_pci_info *ret_info);
NVML_EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *ret_major, int *ret_minor);
NVML_EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct nvml_abi_memory *ret_memory);
NVML_EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *ret_memory);
NVML_EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilization *ret_rates);
NVML_EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret_celsius);
NVML_EXPORT int nvmlDeviceGetTemperatureV(void *device, struct temperature_v1 *ret_temperature);
NVML_EXPORT int nvmlDeviceGetEccMode(void *device, int *ret_current, int *ret_pending);
NVML_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *ret_bits);
NVML_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device,
							  unsigned long long *ret_bits);
NVML_EXPORT int nvmlDeviceGetTopologyCommonAncestor(void *device, void *other, int *ret_level);

/* The object that a handle for either kind is about. */
static const json_t *subject(const struct nvml_target *target)
{
	return target->mig ? target->mig : target->device;
}

struct number_query {
	const char *path;
	int64_t number;
};

static int give_number(const struct nvml_target *target, void *arg)
{
	struct number_query *query = arg;
	int64_t number = nvml_file_number(subject(target), query->path, -1);

	if (number < 0)
		return NVML_ABI_NOT_SUPPORTED;
	query->number = number;
	return NVML_ABI_SUCCESS;
}

static int call_number(const char *symbol, unsigned accepts, void *device,
		       struct number_query *query)
{
	return nvml_call(symbol, accepts, device, give_number, query);
}

static int call_unsigned(const char *symbol, unsigned accepts, void *device, const char *path,
			 unsigned *ret_number)
{
	struct number_query query = {.path = path};
	int code = call_number(symbol, accepts, device, &query);

	if (code == NVML_ABI_SUCCESS)
		*ret_number = (unsigned)query.number;
	return code;
}

#define DEFINE_NUMBER(name, accepts, key)                                           \
	int name(void *device, unsigned *ret_number)                                \
	{                                                                           \
		return call_unsigned(#name, accepts, device, key, ret_number);      \
	}
NUMBER_FUNCTIONS(DEFINE_NUMBER)

struct word_query {
	const char *key;
	const struct nvml_name *names;
	int64_t absent;
	int *ret_number;
};

static int give_word(const struct nvml_target *target, void *arg)
{
	const struct word_query *query = arg;
	const char *word = nvml_file_text(target->device, query->key);

	*query->ret_number = (int)nvml_names_number(query->names, word, query->absent);
	return NVML_ABI_SUCCESS;
}

#define DEFINE_WORD(name, key, names, absent)                                  \
	int name(void *device, int *ret_number)                                \
	{                                                                      \
		struct word_query query = {key, names, absent, ret_number};    \
		return nvml_call(#name, DEVICE, device, give_word, &query);    \
	}
WORD_FUNCTIONS(DEFINE_WORD)

static int not_supported(const struct nvml_target *target, void *arg)
{
	(void)target;
	(void)arg;
	return NVML_ABI_NOT_SUPPORTED;
}

#define DEFINE_UNSUPPORTED(name)                                                    \
	int name(void *device, void *ret_info)                                      \
	{                                                                           \
		return nvml_call(#name, DEVICE, device, not_supported, ret_info);   \
	}
UNSUPPORTED_FUNCTIONS(DEFINE_UNSUPPORTED)

struct text_query {
	const char *key;
	char *text;
	size_t size;
};

static int give_text(const struct nvml_target *target, void *arg)
{
	const struct text_query *query = arg;
	const char *text = nvml_file_text(subject(target), query->key);

	return text ? nvml_call_copy(text, query->text, query->size) : NVML_ABI_NOT_SUPPORTED;
}

int nvmlDeviceGetUUID(void *device, char *ret_text, unsigned size)
{
	struct text_query query = {"uuid", ret_text, size};
	return nvml_call(__func__, DEVICE | MIG, device, give_text, &query);
}

int nvmlDeviceGetSerial(void *device, char *ret_text, unsigned size)
{
	struct text_query query = {"serial", ret_text, size};
	return nvml_call(__func__, DEVICE, device, give_text, &query);
}

/* A MIG device is called "<GPU> MIG <profile>" unless the file gives it a name of its own. */
static int give_name(const struct nvml_target *target, void *arg)
{
	const struct text_query *query = arg;
	char name[2 * NVML_ABI_NAME_SIZE];

	if (!target->mig || nvml_file_text(target->mig, "name"))
		return give_text(target, arg);
	snprintf(name, sizeof(name), "%s MIG %s", nvml_file_text(target->device, "name"),
		 nvml_file_text(target->mig, "profile"));
	return nvml_call_copy(name, query->text, query->size);
}

int nvmlDeviceGetName(void *device, char *ret_text, unsigned size)
{
	struct text_query query = {"name", ret_text, size};
	return nvml_call(__func__, DEVICE | MIG, device, give_name, &query);
}

static int give_index(const struct nvml_target *target, void *arg)
{
	*(unsigned *)arg = (unsigned)(target->mig ? target->mig_index : target->device_index);
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetIndex(void *device, unsigned *ret_index)
{
	return nvml_call(__func__, DEVICE | MIG, device, give_index, ret_index);
}

static int give_pci_info(const struct nvml_target *target, void *arg)
{
	struct nvml_abi_pci_info *info = arg;
	uint32_t parts[3] = {0, 0, 0};

	if (nvml_file_parse_bus_id(nvml_file_text(target->device, "pciBusID"), parts) < 0)
		return NVML_ABI_UNKNOWN;
	*info = (struct nvml_abi_pci_info){.domain = parts[0], .bus = parts[1], .device = parts[2]};
	info->pci_device_id = (uint32_t)nvml_file_number(target->device, "pciDeviceID", 0);
	snprintf(info->bus_id, sizeof(info->bus_id), "%08X:%02X:%02X.0", parts[0], parts[1],
		 parts[2]);
	snprintf(info->bus_id_legacy, sizeof(info->bus_id_legacy), "%04X:%02X:%02X.0",
		 parts[0] & 0xFFFF, parts[1] & 0xFF, parts[2] & 0xFF);
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetPciInfo(void *device, struct nvml_abi_pci_info *ret_info)
{
	return nvml_call(__func__, DEVICE, device, give_pci_info, ret_info);
}

int nvmlDeviceGetPciInfo_v2(void *device, struct nvml_abi_pci_info *ret_info)
{
	return nvml_call(__func__, DEVICE, device, give_pci_info, ret_info);
}

int nvmlDeviceGetPciInfo_v3(void *device, struct nvml_abi_pci_info *ret_info)
{
	return nvml_call(__func__, DEVICE, device, give_pci_info, ret_info);
}

struct pair {
	int *first;
	int *second;
};

static int give_compute_capability(const struct nvml_target *target, void *arg)
{
	const struct pair *pair = arg;
	const char *text = nvml_file_text(target->device, "computeCapability");

	if (!text || sscanf(text, "%3d.%3d", pair->first, pair->second) != 2)
		return NVML_ABI_NOT_SUPPORTED;
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *ret_major, int *ret_minor)
{
	struct pair pair = {ret_major, ret_minor};
	return nvml_call(__func__, DEVICE, device, give_compute_capability, &pair);
}

static int give_memory(const struct nvml_target *target, void *arg)
{
	struct nvml_abi_memory *memory = arg;

	memory->total = (uint64_t)nvml_file_number(subject(target), "memoryMiB", 0) * MIB;
	memory->used = (uint64_t)nvml_file_number(subject(target), "memoryUsedMiB", 0) * MIB;
	memory->free = memory->total > memory->used ? memory->total - memory->used : 0;
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *device, struct nvml_abi_memory *ret_memory)
{
	return nvml_call(__func__, DEVICE | MIG, device, give_memory, ret_memory);
}

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *ret_memory)
{
	struct nvml_abi_memory memory;

	if (ret_memory->version != MEMORY_V2_VERSION)
		return NVML_ABI_ARGUMENT_VERSION_MISMATCH;
	int code = nvml_call(__func__, DEVICE | MIG, device, give_memory, &memory);

	if (code == NVML_ABI_SUCCESS)
		*ret_memory = (struct memory_v2){
			.version = MEMORY_V2_VERSION,
			.total = memory.total,
			.free = memory.free,
			.used = memory.used,
		};
	return code;
}

static int give_utilization(const struct nvml_target *target, void *arg)
{
	struct utilization *rates = arg;

	if (nvml_file_number(target->device, "mig.current", 0) ||
	    !nvml_file_at(target->device, "utilization"))
		return NVML_ABI_NOT_SUPPORTED;
	rates->gpu = (uint32_t)nvml_file_number(target->device, "utilization.gpu", 0);
	rates->memory = (uint32_t)nvml_file_number(target->device, "utilization.memory", 0);
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *ret_rates)
{
	return nvml_call(__func__, DEVICE, device, give_utilization, ret_rates);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret_celsius)
{
	if (sensor != 0)
		return NVML_ABI_INVALID_ARGUMENT;
	return call_unsigned(__func__, DEVICE, device, "temperatureC", ret_celsius);
}

int nvmlDeviceGetTemperatureV(void *device, struct temperature_v1 *ret_temperature)
{
	struct number_query query = {.path = "temperatureC"};

	if (ret_temperature->version != TEMPERATURE_V1_VERSION)
		return NVML_ABI_ARGUMENT_VERSION_MISMATCH;
	int code = call_number(__func__, DEVICE, device, &query);

	if (code == NVML_ABI_SUCCESS)
		ret_temperature->temperature = (int32_t)query.number;
	return code;
}

static int give_ecc_mode(const struct nvml_target *target, void *arg)
{
	const struct pair *pair = arg;
	int64_t current = nvml_file_number(target->device, "ecc.current", -1);

	if (current < 0)
		return NVML_ABI_NOT_SUPPORTED;
	*pair->first = (int)current;
	*pair->second = (int)nvml_file_number(target->device, "ecc.pending", current);
	return NVML_ABI_SUCCESS;
}

int nvmlDeviceGetEccMode(void *device, int *ret_current, int *ret_pending)
{
	struct pair pair = {ret_current, ret_pending};
	return nvml_call(__func__, DEVICE, device, give_ecc_mode, &pair);
}

static int call_clocks_event_reasons(const char *symbol, void *device,
				     unsigned long long *ret_bits)
{
	struct number_query query = {.path = "clocksEventReasons"};
	int code = call_number(symbol, DEVICE, device, &query);

	if (code == NVML_ABI_SUCCESS)
		*ret_bits = (unsigned long long)query.number;
	return code;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *ret_bits)
{
	return call_clocks_event_reasons(__func__, device, ret_bits);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret_bits)
{
	return call_clocks_event_reasons(__func__, device, ret_bits);
}

static int give_numa_node(const struct nvml_target *target, void *arg)
{
	*(int64_t *)arg = nvml_file_number(target->device, "numaNode", 0);
	return NVML_ABI_SUCCESS;
}

/* Devices of one NUMA node meet there, others at the system. */
int nvmlDeviceGetTopologyCommonAncestor(void *device, void *other, int *ret_level)
{
	int64_t node = 0;
	int64_t other_node = 0;
	int code = nvml_call(__func__, DEVICE, device, give_numa_node, &node);

	if (code == NVML_ABI_SUCCESS)
		code = nvml_call(__func__, DEVICE, other, give_numa_node, &other_node);
	if (code == NVML_ABI_SUCCESS)
		*ret_level = node == other_node ? TOPOLOGY_NODE : TOPOLOGY_SYSTEM;
	return code;
}
