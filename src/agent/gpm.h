/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gpm - how busy the GPU instances of a MIG device were, by NVML's GPU performance monitoring
 *
 * The driver compares two samples of its counters. Here these are of one reading and of the one before,
 * so a figure is the mean of all the time between them. GPUs before Hopper have none.
 *
 * Threads: owner.
 * Limits:  LIMIT_GPM_INSTANCES; further instances have no figure.
 */

#include <stdbool.h>

#include "agent/nvml_library.h"
#include "base/limits.h"

/* Samples that are less far apart are not compared: the driver refreshes its counters every 100 ms. */
#define GPM_LEAST_MS 200u

/* A GPU instance. */
struct gpm_instance {
	struct nvml_abi_device *device; /* NULL: room for another */
	unsigned id;
	struct nvml_abi_gpm_sample *last, *spare;
	uint64_t taken_at; /* `last`, monotonic ms */
	bool has_last;
	bool was_asked;  /* in the reading under way */
	int64_t percent; /* at taken_at; -1: none */
};

/* Zeroed: nothing was sampled. */
struct gpm {
	struct gpm_instance instances[LIMIT_GPM_INSTANCES];
	struct nvml_abi_gpm_query query;
};

/* Whether the device has such figures: SUCCESS, NOT_SUPPORTED or another code of NVML. */
MUST_USE int gpm_ask_support(const struct nvml_library *library, struct nvml_abi_device *device);
/*
 * Samples a GPU instance of the device, and says how busy it was since the last time: percent, or -1
 * while there is nothing to compare with. Any other code than SUCCESS: it cannot be told.
 */
MUST_USE int gpm_read(struct gpm *gpm, const struct nvml_library *library,
		      struct nvml_abi_device *device, unsigned gpu_instance, int64_t *ret_percent);
/* Ends a reading: instances that were not asked for in it are forgotten. */
void gpm_sweep(struct gpm *gpm, const struct nvml_library *library);
/* Forgets all. Before the library is shut down. */
void gpm_clear(struct gpm *gpm, const struct nvml_library *library);
