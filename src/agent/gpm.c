/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each instance has two samples of the driver, which take turns. The older one is kept if the younger
 * cannot be taken, so that the next figure is of a longer time.
 */

#include "agent/gpm.h"

#include "base/clock.h"

int gpm_ask_support(const struct nvml_library *library, struct nvml_abi_device *device)
{
	struct nvml_abi_gpm_support support = {.version = NVML_ABI_GPM_VERSION};
	int code = NVML_LIBRARY_CALL(library, gpm_support, device, &support);
	return code == NVML_ABI_SUCCESS && !support.is_supported ? (int)NVML_ABI_NOT_SUPPORTED
								 : code;
}

static void forget(struct gpm_instance *instance, const struct nvml_library *library)
{
	if (instance->last)
		(void)NVML_LIBRARY_CALL(library, gpm_sample_free, instance->last);
	if (instance->spare)
		(void)NVML_LIBRARY_CALL(library, gpm_sample_free, instance->spare);
	*instance = (struct gpm_instance){.device = NULL};
}

static struct gpm_instance *find(struct gpm *gpm, const struct nvml_abi_device *device, unsigned id)
{
	for (size_t i = 0; i < LIMIT_GPM_INSTANCES; i++)
		if (gpm->instances[i].device == device && (!device || gpm->instances[i].id == id))
			return &gpm->instances[i];
	return NULL;
}

/* The instance, with its samples; a return code of NVML. */
static int begin(struct gpm *gpm, const struct nvml_library *library,
		 struct nvml_abi_device *device, unsigned id, struct gpm_instance **ret)
{
	struct gpm_instance *instance = find(gpm, device, id);
	if (!instance) {
		instance = find(gpm, NULL, 0);
		if (!instance)
			return NVML_ABI_NOT_SUPPORTED;
		*instance = (struct gpm_instance){.device = device, .id = id, .percent = -1};
	}
	instance->was_asked = true;
	int code = NVML_ABI_SUCCESS;
	if (!instance->last)
		code = NVML_LIBRARY_CALL(library, gpm_sample_alloc, &instance->last);
	if (code == NVML_ABI_SUCCESS && !instance->spare)
		code = NVML_LIBRARY_CALL(library, gpm_sample_alloc, &instance->spare);
	*ret = instance;
	return code;
}

/* What cannot be true is no figure. */
static int64_t as_percent(double value)
{
	return value >= 0 && value <= (double)LIMIT_NUMBER_PERCENT ? (int64_t)value : -1;
}

/* Compares the last sample with the one in `spare`. */
static int compare(struct gpm *gpm, const struct nvml_library *library,
		   struct gpm_instance *instance)
{
	struct nvml_abi_gpm_query *query = &gpm->query;
	query->version = NVML_ABI_GPM_VERSION;
	query->n_metrics = 1;
	query->first = instance->last;
	query->second = instance->spare;
	query->metrics[0] = (struct nvml_abi_gpm_metric){.id = NVML_ABI_GPM_GRAPHICS_UTILIZATION};
	int code = NVML_LIBRARY_CALL(library, gpm_metrics, query);
	if (code == NVML_ABI_SUCCESS)
		code = query->metrics[0].code;
	instance->percent = code == NVML_ABI_SUCCESS ? as_percent(query->metrics[0].value) : -1;
	return code;
}

int gpm_read(struct gpm *gpm, const struct nvml_library *library, struct nvml_abi_device *device,
	     unsigned gpu_instance, int64_t *ret_percent)
{
	struct gpm_instance *instance;
	const uint64_t now = clock_monotonic_ms();
	int code = begin(gpm, library, device, gpu_instance, &instance);
	if (code != NVML_ABI_SUCCESS)
		return code;
	if (!instance->has_last || now - instance->taken_at >= GPM_LEAST_MS) {
		code = NVML_LIBRARY_CALL(library, gpm_mig_sample, device, gpu_instance,
					 instance->spare);
		if (code != NVML_ABI_SUCCESS)
			return code;
		if (instance->has_last)
			code = compare(gpm, library, instance);
		struct nvml_abi_gpm_sample *sampled = instance->spare;
		instance->spare = instance->last;
		instance->last = sampled;
		instance->has_last = true;
		instance->taken_at = now;
	}
	*ret_percent = instance->percent;
	return code;
}

void gpm_sweep(struct gpm *gpm, const struct nvml_library *library)
{
	for (size_t i = 0; i < LIMIT_GPM_INSTANCES; i++) {
		if (gpm->instances[i].device && !gpm->instances[i].was_asked)
			forget(&gpm->instances[i], library);
		gpm->instances[i].was_asked = false;
	}
}

void gpm_clear(struct gpm *gpm, const struct nvml_library *library)
{
	for (size_t i = 0; i < LIMIT_GPM_INSTANCES; i++)
		if (gpm->instances[i].device)
			forget(&gpm->instances[i], library);
}
