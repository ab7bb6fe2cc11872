/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_abi - the part of NVML's binary interface that this project speaks
 *
 * Declared here from the documented numbers, names and layouts, because the vendor's header is
 * not in Debian main and an optional library cannot be a build dependency. Layouts are those of
 * LP64 (x86-64, arm64), each pinned by an assertion. Symbols carry their version suffix: that is
 * what dlsym() needs.
 *
 * Threads: any (declarations only).
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum nvml_abi_return {
	NVML_ABI_SUCCESS = 0,
	NVML_ABI_UNINITIALIZED = 1,
	NVML_ABI_INVALID_ARGUMENT = 2,
	NVML_ABI_NOT_SUPPORTED = 3,
	NVML_ABI_NO_PERMISSION = 4,
	NVML_ABI_NOT_FOUND = 6,
	NVML_ABI_INSUFFICIENT_SIZE = 7,
	NVML_ABI_DRIVER_NOT_LOADED = 9,
	NVML_ABI_TIMEOUT = 10,
	NVML_ABI_LIBRARY_NOT_FOUND = 12,
	NVML_ABI_FUNCTION_NOT_FOUND = 13,
	NVML_ABI_GPU_IS_LOST = 15,
	NVML_ABI_RESET_REQUIRED = 16,
	NVML_ABI_OPERATING_SYSTEM = 17,
	NVML_ABI_LIB_RM_VERSION_MISMATCH = 18,
	NVML_ABI_MEMORY = 20,
	NVML_ABI_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_ABI_NOT_READY = 27,
	NVML_ABI_GPU_NOT_FOUND = 28,
	NVML_ABI_UNKNOWN = 999,
};

/* Sizes of the text buffers that callers hand in, terminator included. */
enum {
	NVML_ABI_VERSION_SIZE = 80,
	NVML_ABI_NAME_SIZE = 96,
	NVML_ABI_UUID_SIZE = 96,
	NVML_ABI_SERIAL_SIZE = 30,
};

/* nvmlInitWithFlags: a node whose last GPU has gone still has a driver to ask. */
enum { NVML_ABI_INIT_NO_GPUS = 1 };

enum nvml_abi_compute_mode {
	NVML_ABI_COMPUTE_DEFAULT = 0,
	NVML_ABI_COMPUTE_PROHIBITED = 2,
	NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS = 3,
};

/* Arguments of nvmlDeviceGetTotalEccErrors. */
enum nvml_abi_ecc_error {
	NVML_ABI_ECC_CORRECTED = 0,
	NVML_ABI_ECC_UNCORRECTED = 1,
};
enum nvml_abi_ecc_counter {
	NVML_ABI_ECC_VOLATILE = 0, /* since the driver was loaded */
	NVML_ABI_ECC_AGGREGATE = 1,
};

/* A device has at most so many links; their numbers start at 0. */
enum { NVML_ABI_MAX_NVLINKS = 18 };

enum nvml_abi_fabric_state {
	NVML_ABI_FABRIC_NOT_SUPPORTED = 0,
	NVML_ABI_FABRIC_NOT_STARTED = 1,
	NVML_ABI_FABRIC_IN_PROGRESS = 2,
	NVML_ABI_FABRIC_COMPLETED = 3,
};

/* Of nvmlDeviceGetFieldValues. */
enum { NVML_ABI_FIELD_RECOVERY_ACTION = 230 };

enum nvml_abi_value_type {
	NVML_ABI_VALUE_DOUBLE = 0,
	NVML_ABI_VALUE_UINT = 1,
	NVML_ABI_VALUE_ULONG = 2,
	NVML_ABI_VALUE_ULONG_LONG = 3,
	NVML_ABI_VALUE_LONG_LONG = 4,
	NVML_ABI_VALUE_INT = 5,
	NVML_ABI_VALUE_USHORT = 6,
};

/* Values of the field. */
enum nvml_abi_recovery {
	NVML_ABI_RECOVERY_NONE = 0,
	NVML_ABI_RECOVERY_RESET = 1,
	NVML_ABI_RECOVERY_REBOOT = 2,
	NVML_ABI_RECOVERY_DRAIN_P2P = 3,
	NVML_ABI_RECOVERY_DRAIN_AND_RESET = 4,
	NVML_ABI_RECOVERY_RECOVER_IMEX_DOMAIN = 5,
};

/* Event types are bits of one 64-bit mask. */
#define NVML_ABI_EVENT_SINGLE_BIT_ECC UINT64_C(0x1)
#define NVML_ABI_EVENT_DOUBLE_BIT_ECC UINT64_C(0x2)
#define NVML_ABI_EVENT_XID UINT64_C(0x8)
#define NVML_ABI_EVENT_MIG_CONFIG UINT64_C(0x100)
#define NVML_ABI_EVENT_GPU_UNAVAILABLE UINT64_C(0x4000)
#define NVML_ABI_EVENT_RECOVERY_ACTION UINT64_C(0x8000)
/* Those by which the driver tells that something else reads differently now. */
#define NVML_ABI_STATE_EVENTS (NVML_ABI_EVENT_RECOVERY_ACTION | NVML_ABI_EVENT_GPU_UNAVAILABLE)

/* Instance IDs that mean "none", and the memory of a process that NVML does not tell. */
#define NVML_ABI_NO_INSTANCE UINT32_C(0xFFFFFFFF)
#define NVML_ABI_NO_MEMORY UINT64_MAX

/* Opaque: handles are only passed back to the library that gave them. */
struct nvml_abi_device;
struct nvml_abi_event_set;
struct nvml_abi_gpm_sample;

struct nvml_abi_pci_info {
	char bus_id_legacy[16]; /* four-digit domain */
	uint32_t domain;
	uint32_t bus;
	uint32_t device;
	uint32_t pci_device_id;
	uint32_t pci_subsystem_id;
	char bus_id[32]; /* eight-digit domain, "00000000:3B:00.0" */
};

struct nvml_abi_memory { /* bytes */
	uint64_t total;
	uint64_t free;
	uint64_t used;
};

enum { NVML_ABI_TEMPERATURE_GPU = 0 }; /* the sensor */

struct nvml_abi_utilization { /* percent of the last moments, 1/6 to 1 s */
	uint32_t gpu;
	uint32_t memory;
};

struct nvml_abi_attributes {
	uint32_t multiprocessors;
	uint32_t copy_engines;
	uint32_t decoders;
	uint32_t encoders;
	uint32_t jpegs;
	uint32_t ofas;
	uint32_t gpu_instance_slices;
	uint32_t compute_instance_slices;
	uint64_t memory_mib;
};

struct nvml_abi_process { /* of the _v2 and _v3 calls */
	uint32_t pid;	      /* in the PID namespace of the host */
	uint64_t used_memory; /* bytes, or NVML_ABI_NO_MEMORY */
	uint32_t gpu_instance;
	uint32_t compute_instance;
};

union nvml_abi_value {
	double real;
	uint64_t whole;
	int64_t signed_whole;
	uint32_t word;
	int32_t signed_word;
	uint16_t half;
};

struct nvml_abi_field {
	uint32_t id; /* set by the caller, as is the scope */
	uint32_t scope;
	int64_t timestamp;
	int64_t latency;
	int32_t type; /* enum nvml_abi_value_type */
	int32_t code; /* enum nvml_abi_return; each field has its own */
	union nvml_abi_value value;
};

struct nvml_abi_fabric_info {
	unsigned char cluster[16];
	int32_t status; /* enum nvml_abi_return, of a completed registration */
	uint32_t clique;
	uint8_t state; /* enum nvml_abi_fabric_state */
};

/* GPU performance monitoring. Both structures with a version have the same. */
enum {
	NVML_ABI_GPM_VERSION = 1,
	NVML_ABI_GPM_GRAPHICS_UTILIZATION = 1, /* percent of the time in which anything computed */
	NVML_ABI_GPM_METRICS = 1024,           /* room for more than any header knows: 98 to 400 */
};

struct nvml_abi_gpm_support {
	uint32_t version;
	uint32_t is_supported;
};

struct nvml_abi_gpm_metric {
	uint32_t id;  /* set by the caller */
	int32_t code; /* enum nvml_abi_return; each metric has its own */
	double value;
	const char *names[3]; /* short, long, unit */
};

struct nvml_abi_gpm_query {
	uint32_t version;
	uint32_t n_metrics;
	struct nvml_abi_gpm_sample *first;
	struct nvml_abi_gpm_sample *second;
	struct nvml_abi_gpm_metric metrics[NVML_ABI_GPM_METRICS];
};

struct nvml_abi_event {
	struct nvml_abi_device *device; /* always the physical device */
	uint64_t type;
	uint64_t data; /* the XID of an XID event */
	uint32_t gpu_instance;
	uint32_t compute_instance;
};

static_assert(sizeof(void *) == 8, "the layouts below are those of LP64");
static_assert(sizeof(struct nvml_abi_pci_info) == 68, "nvmlPciInfo_t");
static_assert(offsetof(struct nvml_abi_pci_info, bus_id) == 36, "nvmlPciInfo_t.busId");
static_assert(sizeof(struct nvml_abi_memory) == 24, "nvmlMemory_t");
static_assert(sizeof(struct nvml_abi_utilization) == 8, "nvmlUtilization_t");
static_assert(sizeof(struct nvml_abi_attributes) == 40, "nvmlDeviceAttributes_t");
static_assert(offsetof(struct nvml_abi_attributes, memory_mib) == 32, "memorySizeMB");
static_assert(sizeof(struct nvml_abi_process) == 24, "nvmlProcessInfo_t");
static_assert(offsetof(struct nvml_abi_process, gpu_instance) == 16, "gpuInstanceId");
static_assert(sizeof(struct nvml_abi_field) == 40, "nvmlFieldValue_t");
static_assert(offsetof(struct nvml_abi_field, type) == 24, "valueType");
static_assert(offsetof(struct nvml_abi_field, code) == 28, "nvmlReturn");
static_assert(offsetof(struct nvml_abi_field, value) == 32, "nvmlFieldValue_t.value");
static_assert(sizeof(struct nvml_abi_fabric_info) == 28, "nvmlGpuFabricInfo_t");
static_assert(offsetof(struct nvml_abi_fabric_info, status) == 16, "nvmlGpuFabricInfo_t.status");
static_assert(offsetof(struct nvml_abi_fabric_info, state) == 24, "nvmlGpuFabricInfo_t.state");
static_assert(sizeof(struct nvml_abi_gpm_support) == 8, "nvmlGpmSupport_t");
static_assert(sizeof(struct nvml_abi_gpm_metric) == 40, "nvmlGpmMetric_t");
static_assert(offsetof(struct nvml_abi_gpm_metric, value) == 8, "nvmlGpmMetric_t.value");
static_assert(offsetof(struct nvml_abi_gpm_query, metrics) == 24, "nvmlGpmMetricsGet_t.metrics");
static_assert(sizeof(struct nvml_abi_event) == 32, "nvmlEventData_t");
static_assert(offsetof(struct nvml_abi_event, gpu_instance) == 24, "gpuInstanceId");
static_assert(offsetof(struct nvml_abi_event, compute_instance) == 28, "computeInstanceId");
