/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * dcgm_figures - what one scrape of dcgm-exporter says about how busy this node's devices are.
 *
 * A row counts for the device of its label UUID and the MIG instance of its label GPU_I_ID, and for
 * nothing else. Its pod labels are not read: where pods share a device, they name one of them at
 * random. Of several rows for one device the largest counts. Two metrics are read,
 * DCGM_FI_PROF_GR_ENGINE_ACTIVE and DCGM_FI_DEV_GPU_UTIL. DCGM_FI_DEV_XID_ERRORS is not one of them:
 * it repeats the last error for ever.
 *
 * Threads: owner.
 * Limits:  LIMIT_DCGM_FIGURES devices and instances.
 */

#include "base/array.h"
#include "model/report.h"
#include "wire/promtext.h"

/* How busy one device or MIG instance is. */
struct dcgm_figure {
	char uuid[LIMIT_TEXT_GPU_UUID + 1]; /* of the physical device */
	int64_t gpu_instance_id; /* -1: the whole device */
	double engine_active; /* 0 to 1, the share of time in which an engine worked; -1: not known */
	double utilization;   /* 0 to 100, the driver's own per cent; -1: not known */
};

struct dcgm_figures {
	struct dcgm_figure *list;
	uint32_t n;
	uint32_t n_allocated;
	uint32_t n_foreign; /* rows of devices and instances that NVML does not list */
	uint32_t n_blank;   /* rows that say that there is no figure */
	uint32_t n_rubbish; /* rows with a figure that cannot be, or without a usable label */
	char hostname[LIMIT_TEXT_LABEL + 1]; /* of the first foreign row; may be "" */
};

/* Forgets everything and frees the memory. Accepts a zeroed object. */
void dcgm_figures_deinit(struct dcgm_figures *figures);
/*
 * Takes a sample, which need not be one of the two metrics. devices are those that NVML lists, struct
 * report_device. Fails with ERROR_NO_MEMORY or ERROR_LIMIT.
 */
MUST_USE int dcgm_figures_add(struct dcgm_figures *figures, const struct promtext_sample *sample,
			      struct array devices, struct error *err);
/* The figures of a device (gpu_instance_id -1) or of its MIG instance, or NULL; borrowed. */
const struct dcgm_figure *dcgm_figures_find(const struct dcgm_figures *figures, struct view uuid,
					    int64_t gpu_instance_id);
