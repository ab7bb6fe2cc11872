/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in's GPU performance monitoring, of MIG devices only. A device has it if one of its MIG
 * devices has a figure. A sample holds the figure of the moment. Two of them give the later one: the
 * figure is taken to have been that for the whole time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/nvml_abi.h"
#include "nvml_call.h"
#include "nvml_file.h"

struct nvml_abi_gpm_sample {
	bool is_taken;
	unsigned gpu_instance;
	int64_t percent;
};

NVML_EXPORT int nvmlGpmQueryDeviceSupport(void *device, struct nvml_abi_gpm_support *ret_support);
NVML_EXPORT int nvmlGpmSampleAlloc(struct nvml_abi_gpm_sample **ret_sample);
NVML_EXPORT int nvmlGpmSampleFree(struct nvml_abi_gpm_sample *sample);
NVML_EXPORT int nvmlGpmMigSampleGet(void *device, unsigned gpu_instance,
				    struct nvml_abi_gpm_sample *sample);
NVML_EXPORT int nvmlGpmMetricsGet(struct nvml_abi_gpm_query *query);

static int give_support(const struct nvml_target *target, void *arg)
{
	struct nvml_abi_gpm_support *support = arg;
	const json_t *list = json_object_get(target->device, "migDevices");

	if (support->version != NVML_ABI_GPM_VERSION)
		return NVML_ABI_ARGUMENT_VERSION_MISMATCH;
	support->is_supported = 0;
	for (size_t i = 0; i < json_array_size(list); i++)
		support->is_supported |=
			nvml_file_number(json_array_get(list, i), "graphicsUtilization", -1) >= 0;
	return NVML_ABI_SUCCESS;
}

int nvmlGpmQueryDeviceSupport(void *device, struct nvml_abi_gpm_support *ret_support)
{
	return nvml_call(__func__, NVML_KIND_DEVICE, device, give_support, ret_support);
}

static int give_sample(const struct nvml_target *target, void *arg)
{
	struct nvml_abi_gpm_sample **ret_sample = arg;

	(void)target;
	*ret_sample = calloc(1, sizeof(**ret_sample));
	return *ret_sample ? NVML_ABI_SUCCESS : NVML_ABI_MEMORY;
}

int nvmlGpmSampleAlloc(struct nvml_abi_gpm_sample **ret_sample)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_sample, ret_sample);
}

int nvmlGpmSampleFree(struct nvml_abi_gpm_sample *sample)
{
	free(sample);
	return sample ? NVML_ABI_SUCCESS : NVML_ABI_INVALID_ARGUMENT;
}

/* The first MIG device with a figure tells that of its GPU instance. */
static int take_sample(const struct nvml_target *target, void *arg)
{
	struct nvml_abi_gpm_sample *sample = arg;
	const json_t *list = json_object_get(target->device, "migDevices");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *mig = json_array_get(list, i);
		int64_t percent = nvml_file_number(mig, "graphicsUtilization", -1);

		if (nvml_file_instance(mig, "gpuInstanceID") != sample->gpu_instance || percent < 0)
			continue;
		sample->is_taken = true;
		sample->percent = percent;
		return NVML_ABI_SUCCESS;
	}
	return NVML_ABI_NOT_SUPPORTED;
}

int nvmlGpmMigSampleGet(void *device, unsigned gpu_instance, struct nvml_abi_gpm_sample *sample)
{
	if (!sample)
		return NVML_ABI_INVALID_ARGUMENT;
	sample->is_taken = false;
	sample->gpu_instance = gpu_instance;
	return nvml_call(__func__, NVML_KIND_DEVICE, device, take_sample, sample);
}

static int give_metrics(const struct nvml_target *target, void *arg)
{
	struct nvml_abi_gpm_query *query = arg;

	(void)target;
	if (query->version != NVML_ABI_GPM_VERSION)
		return NVML_ABI_ARGUMENT_VERSION_MISMATCH;
	if (!query->first || !query->second || !query->first->is_taken || !query->second->is_taken ||
	    query->first->gpu_instance != query->second->gpu_instance)
		return NVML_ABI_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < query->n_metrics; i++) {
		struct nvml_abi_gpm_metric *metric = &query->metrics[i];
		bool is_known = metric->id == NVML_ABI_GPM_GRAPHICS_UTILIZATION;

		metric->code = is_known ? NVML_ABI_SUCCESS : NVML_ABI_NOT_SUPPORTED;
		metric->value = is_known ? (double)query->second->percent : 0;
	}
	return NVML_ABI_SUCCESS;
}

int nvmlGpmMetricsGet(struct nvml_abi_gpm_query *query)
{
	return nvml_call(__func__, NVML_KIND_SYSTEM, NULL, give_metrics, query);
}
