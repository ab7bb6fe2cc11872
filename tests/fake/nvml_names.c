/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml_names.h"

#include <stddef.h>
#include <string.h>

#include "agent/nvml_abi.h"

const struct nvml_name nvml_names_compute_mode[] = {
	{"Default", NVML_ABI_COMPUTE_DEFAULT},
	{"Prohibited", NVML_ABI_COMPUTE_PROHIBITED},
	{"ExclusiveProcess", NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS},
	{NULL, 0},
};

const struct nvml_name nvml_names_brand[] = {
	{"Unknown", 0},  {"Quadro", 1},	    {"Tesla", 2},      {"GeForce", 5}, {"Titan", 6},
	{"QuadroRTX", 12}, {"NvidiaRTX", 13}, {"NVIDIA", 14}, {"GeForceRTX", 15}, {NULL, 0},
};

const struct nvml_name nvml_names_architecture[] = {
	{"Kepler", 2}, {"Maxwell", 3}, {"Pascal", 4}, {"Volta", 5},	{"Turing", 6},
	{"Ampere", 7}, {"Ada", 8},     {"Hopper", 9}, {"Blackwell", 10}, {NULL, 0},
};

const struct nvml_name nvml_names_process[] = {
	{"Compute", NVML_NAMES_COMPUTE},
	{"Graphics", NVML_NAMES_GRAPHICS},
	{"MPS", NVML_NAMES_MPS},
	{NULL, 0},
};

const struct nvml_name nvml_names_fabric[] = {
	{"NotSupported", NVML_ABI_FABRIC_NOT_SUPPORTED},
	{"NotStarted", NVML_ABI_FABRIC_NOT_STARTED},
	{"InProgress", NVML_ABI_FABRIC_IN_PROGRESS},
	{"Completed", NVML_ABI_FABRIC_COMPLETED},
	{NULL, 0},
};

const struct nvml_name nvml_names_event[] = {
	{"XID", (int64_t)NVML_ABI_EVENT_XID},
	{"SingleBitECC", (int64_t)NVML_ABI_EVENT_SINGLE_BIT_ECC},
	{"DoubleBitECC", (int64_t)NVML_ABI_EVENT_DOUBLE_BIT_ECC},
	{"MIGConfig", (int64_t)NVML_ABI_EVENT_MIG_CONFIG},
	{"GPUUnavailable", (int64_t)NVML_ABI_EVENT_GPU_UNAVAILABLE},
	{"RecoveryAction", (int64_t)NVML_ABI_EVENT_RECOVERY_ACTION},
	{NULL, 0},
};

const struct nvml_name nvml_names_hang[] = {
	{"UntilChanged", NVML_NAMES_UNTIL_CHANGED},
	{"Forever", NVML_NAMES_FOREVER},
	{NULL, 0},
};

static const struct nvml_name *find(const struct nvml_name *names, const char *word)
{
	for (; word && names->word; names++)
		if (strcmp(names->word, word) == 0)
			return names;
	return NULL;
}

int64_t nvml_names_number(const struct nvml_name *names, const char *word, int64_t absent)
{
	const struct nvml_name *name = find(names, word);
	return name ? name->number : absent;
}

bool nvml_names_has(const struct nvml_name *names, const char *word)
{
	return find(names, word) != NULL;
}
