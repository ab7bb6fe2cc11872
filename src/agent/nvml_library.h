/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_library - the vendor's management library, loaded while the program runs
 *
 * Every function is optional: the libraries of older drivers lack the younger ones. A row of the
 * table below is all that a further function needs; it is called by NVML_LIBRARY_CALL().
 *
 * Threads: owner.
 */

#include "agent/nvml_abi.h"
#include "agent/nvml_call.h"
#include "base/error.h"

/* member, symbol, arguments; all return enum nvml_abi_return as an int */
#define NVML_LIBRARY_FUNCTIONS(X)                                                                  \
	X(init, nvmlInit_v2, (void))                                                               \
	X(init_with_flags, nvmlInitWithFlags, (unsigned))                                          \
	X(shutdown, nvmlShutdown, (void))                                                          \
	X(library_version, nvmlSystemGetNVMLVersion, (char *, unsigned))                           \
	X(driver_version, nvmlSystemGetDriverVersion, (char *, unsigned))                          \
	X(cuda_version, nvmlSystemGetCudaDriverVersion_v2, (int *))                                \
	X(count, nvmlDeviceGetCount_v2, (unsigned *))                                              \
	X(handle, nvmlDeviceGetHandleByIndex_v2, (unsigned, struct nvml_abi_device **))            \
	X(uuid, nvmlDeviceGetUUID, (struct nvml_abi_device *, char *, unsigned))                   \
	X(name, nvmlDeviceGetName, (struct nvml_abi_device *, char *, unsigned))                   \
	X(serial, nvmlDeviceGetSerial, (struct nvml_abi_device *, char *, unsigned))               \
	X(minor, nvmlDeviceGetMinorNumber, (struct nvml_abi_device *, unsigned *))                 \
	X(pci_info, nvmlDeviceGetPciInfo_v3,                                                       \
	  (struct nvml_abi_device *, struct nvml_abi_pci_info *))                                  \
	X(compute_capability, nvmlDeviceGetCudaComputeCapability,                                  \
	  (struct nvml_abi_device *, int *, int *))                                                \
	X(compute_mode, nvmlDeviceGetComputeMode, (struct nvml_abi_device *, int *))               \
	X(memory, nvmlDeviceGetMemoryInfo, (struct nvml_abi_device *, struct nvml_abi_memory *))   \
	X(mig_mode, nvmlDeviceGetMigMode, (struct nvml_abi_device *, unsigned *, unsigned *))      \
	X(max_mig_count, nvmlDeviceGetMaxMigDeviceCount, (struct nvml_abi_device *, unsigned *))   \
	X(mig_handle, nvmlDeviceGetMigDeviceHandleByIndex,                                         \
	  (struct nvml_abi_device *, unsigned, struct nvml_abi_device **))                         \
	X(gpu_instance, nvmlDeviceGetGpuInstanceId, (struct nvml_abi_device *, unsigned *))        \
	X(compute_instance, nvmlDeviceGetComputeInstanceId,                                        \
	  (struct nvml_abi_device *, unsigned *))                                                  \
	X(attributes, nvmlDeviceGetAttributes_v2,                                                  \
	  (struct nvml_abi_device *, struct nvml_abi_attributes *))                                \
	X(mps_processes, nvmlDeviceGetMPSComputeRunningProcesses_v3,                               \
	  (struct nvml_abi_device *, unsigned *, struct nvml_abi_process *))                       \
	X(compute_processes, nvmlDeviceGetComputeRunningProcesses_v3,                              \
	  (struct nvml_abi_device *, unsigned *, struct nvml_abi_process *))                       \
	X(graphics_processes, nvmlDeviceGetGraphicsRunningProcesses_v3,                            \
	  (struct nvml_abi_device *, unsigned *, struct nvml_abi_process *))                       \
	X(ecc_errors, nvmlDeviceGetTotalEccErrors,                                                 \
	  (struct nvml_abi_device *, int, int, unsigned long long *))                              \
	X(remapped_rows, nvmlDeviceGetRemappedRows,                                                \
	  (struct nvml_abi_device *, unsigned *, unsigned *, unsigned *, unsigned *))              \
	X(retired_pages, nvmlDeviceGetRetiredPagesPendingStatus,                                   \
	  (struct nvml_abi_device *, int *))                                                       \
	X(fields, nvmlDeviceGetFieldValues,                                                        \
	  (struct nvml_abi_device *, int, struct nvml_abi_field *))                                \
	X(nvlink_state, nvmlDeviceGetNvLinkState, (struct nvml_abi_device *, unsigned, int *))     \
	X(clocks_event_reasons, nvmlDeviceGetCurrentClocksEventReasons,                            \
	  (struct nvml_abi_device *, unsigned long long *))                                        \
	X(fabric_info, nvmlDeviceGetGpuFabricInfo,                                                 \
	  (struct nvml_abi_device *, struct nvml_abi_fabric_info *))                               \
	X(utilization, nvmlDeviceGetUtilizationRates,                                              \
	  (struct nvml_abi_device *, struct nvml_abi_utilization *))                               \
	X(temperature, nvmlDeviceGetTemperature, (struct nvml_abi_device *, int, unsigned *))      \
	X(power, nvmlDeviceGetPowerUsage, (struct nvml_abi_device *, unsigned *))                  \
	X(max_pcie_width, nvmlDeviceGetMaxPcieLinkWidth, (struct nvml_abi_device *, unsigned *))   \
	X(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, (struct nvml_abi_device *, unsigned *))      \
	X(max_pcie_generation, nvmlDeviceGetMaxPcieLinkGeneration,                                 \
	  (struct nvml_abi_device *, unsigned *))                                                  \
	X(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration,                                    \
	  (struct nvml_abi_device *, unsigned *))                                                  \
	X(gpm_support, nvmlGpmQueryDeviceSupport,                                                  \
	  (struct nvml_abi_device *, struct nvml_abi_gpm_support *))                               \
	X(gpm_sample_alloc, nvmlGpmSampleAlloc, (struct nvml_abi_gpm_sample **))                   \
	X(gpm_sample_free, nvmlGpmSampleFree, (struct nvml_abi_gpm_sample *))                      \
	X(gpm_mig_sample, nvmlGpmMigSampleGet,                                                     \
	  (struct nvml_abi_device *, unsigned, struct nvml_abi_gpm_sample *))                      \
	X(gpm_metrics, nvmlGpmMetricsGet, (struct nvml_abi_gpm_query *))                           \
	X(event_set_create, nvmlEventSetCreate, (struct nvml_abi_event_set **))                    \
	X(event_set_free, nvmlEventSetFree, (struct nvml_abi_event_set *))                         \
	X(supported_events, nvmlDeviceGetSupportedEventTypes,                                      \
	  (struct nvml_abi_device *, unsigned long long *))                                        \
	X(register_events, nvmlDeviceRegisterEvents,                                               \
	  (struct nvml_abi_device *, unsigned long long, struct nvml_abi_event_set *))             \
	X(event_wait, nvmlEventSetWait_v2,                                                         \
	  (struct nvml_abi_event_set *, struct nvml_abi_event *, unsigned))

/* The rows by number; 0 is none. */
enum nvml_library_function {
	NVML_LIBRARY_NO_FUNCTION,
#define NVML_LIBRARY_NUMBER(member, symbol, arguments) NVML_LIBRARY_NUMBER_##member,
	NVML_LIBRARY_FUNCTIONS(NVML_LIBRARY_NUMBER)
#undef NVML_LIBRARY_NUMBER
};

struct nvml_library {
	void *object; /* of dlopen(); NULL when not loaded, and all functions are */
	struct nvml_call *call; /* where calls are announced; NULL: nowhere; borrowed */
#define NVML_LIBRARY_MEMBER(member, symbol, arguments) int(*member) arguments;
	NVML_LIBRARY_FUNCTIONS(NVML_LIBRARY_MEMBER)
#undef NVML_LIBRARY_MEMBER
	const char *(*error_text)(int code);
};

/* Announces a call and makes it; one that the library does not have is FUNCTION_NOT_FOUND. */
#define NVML_LIBRARY_CALL(library, function, ...)                                         \
	((library)->function                                                              \
		 ? nvml_call_end((library)->call,                                         \
				 (nvml_call_begin((library)->call,                        \
						  NVML_LIBRARY_NUMBER_##function),        \
				  (library)->function(__VA_ARGS__)))                      \
		 : (int)NVML_ABI_FUNCTION_NOT_FOUND)
/* The same of a function without arguments. */
#define NVML_LIBRARY_CALL_PLAIN(library, function) NVML_LIBRARY_CALL(library, function, )

/*
 * Loads the shared library `name` and looks up what it has. *ret_library is released with
 * nvml_library_unload(). Fails with ERROR_NOT_FOUND when there is no such library or it cannot be
 * loaded, ERROR_REJECTED when it lacks a function without which no device can be named. Its calls are
 * announced nowhere yet.
 */
MUST_USE int nvml_library_load(const char *name, struct nvml_library *ret_library,
			       struct error *err);

/* Lets the library go; it is as zeroed afterwards. Accepts one that is not loaded. */
void nvml_library_unload(struct nvml_library *library);

/* What a return code means in a few words, static or borrowed from the library. */
const char *nvml_library_meaning(const struct nvml_library *library, int code);
