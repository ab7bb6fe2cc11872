/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's lists of processes: three kinds, each in the two versions that share a layout.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"
#include "nvml_names.h"

/* function, kind: all (device, unsigned *, struct nvml_abi_process *) */
#define PROCESS_FUNCTIONS(X)                                                \
	X(nvmlDeviceGetComputeRunningProcesses_v2, NVML_NAMES_COMPUTE)      \
	X(nvmlDeviceGetComputeRunningProcesses_v3, NVML_NAMES_COMPUTE)      \
	X(nvmlDeviceGetGraphicsRunningProcesses_v2, NVML_NAMES_GRAPHICS)    \
	X(nvmlDeviceGetGraphicsRunningProcesses_v3, NVML_NAMES_GRAPHICS)    \
	X(nvmlDeviceGetMPSComputeRunningProcesses_v2, NVML_NAMES_MPS)       \
	X(nvmlDeviceGetMPSComputeRunningProcesses_v3, NVML_NAMES_MPS)

#define DECLARE_PROCESS(name, kind) \
	NVML_EXPORT int name(void *device, unsigned *n, struct nvml_abi_process *ret_list);

PROCESS_FUNCTIONS(DECLARE_PROCESS)

struct process_query {
	int64_t kind;
	unsigned capacity;
	unsigned n;
	struct nvml_abi_process *list;
};

static struct nvml_abi_process process_from(const json_t *row)
{
	int64_t mib = nvml_file_number(row, "memoryMiB", -1);

	return (struct nvml_abi_process){
		.pid = (uint32_t)nvml_file_number(row, "pid", 0),
		.used_memory = mib < 0 ? NVML_ABI_NO_MEMORY : (uint64_t)mib * UINT64_C(1048576),
		.gpu_instance = nvml_file_instance(row, "gpuInstanceID"),
		.compute_instance = nvml_file_instance(row, "computeInstanceID"),
	};
}

/* A device lists the processes of all its instances, a MIG device its own. */
static bool is_process_of(const json_t *mig, const json_t *row)
{
	static const char *const keys[] = {"gpuInstanceID", "computeInstanceID"};

	for (size_t i = 0; mig && i < 2; i++)
		if (nvml_file_number(row, keys[i], -1) != nvml_file_number(mig, keys[i], -1))
			return false;
	return true;
}

static int give_processes(const struct nvml_target *target, void *arg)
{
	struct process_query *query = arg;
	const json_t *rows = json_object_get(target->device, "processes");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (!is_process_of(target->mig, row) ||
		    nvml_names_number(nvml_names_process, nvml_file_text(row, "kind"), -1) !=
			    query->kind)
			continue;
		if (query->n < query->capacity && query->list)
			query->list[query->n] = process_from(row);
		query->n++;
	}
	return NVML_ABI_SUCCESS;
}

/* The caller says how much room it has, and learns how much it needs. */
static int call_processes(const char *symbol, void *device, struct process_query *query,
			  unsigned *ret_n)
{
	int code = nvml_call(symbol, NVML_KIND_DEVICE | NVML_KIND_MIG, device, give_processes, query);

	if (code != NVML_ABI_SUCCESS)
		return code;
	*ret_n = query->n;
	return query->n > query->capacity ? NVML_ABI_INSUFFICIENT_SIZE : NVML_ABI_SUCCESS;
}

#define DEFINE_PROCESS(name, of_kind)                                                     \
	int name(void *device, unsigned *n, struct nvml_abi_process *ret_list)            \
	{                                                                                 \
		struct process_query query = {.kind = (of_kind),                          \
					      .capacity = *n,                             \
					      .list = ret_list};                          \
		return call_processes(#name, device, &query, n);                          \
	}
PROCESS_FUNCTIONS(DEFINE_PROCESS)
