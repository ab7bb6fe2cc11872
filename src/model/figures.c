/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reports with the same evidence have the same devices and partitions in the same order. So places
 * tell whose figures they are, and no UUID is kept.
 */

#include "model/figures.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/limits.h"

struct device_figures {
	struct report_figures now;
	int64_t utilization;
	int64_t corrected_volatile, corrected_aggregate;
	uint32_t partitions_at, n_partitions; /* among the utilizations of all partitions */
};

struct figures {
	int64_t uptime_ms; /* when the driver was read; 0: not known */
	uint32_t n_devices;
	int64_t *partitions; /* utilization of each; behind the devices */
	struct device_figures devices[];
};

static size_t count_partitions(const struct report *report)
{
	size_t n = 0;
	ARRAY_EACH(const struct report_device, device, report->devices)
		n += device->partitions.count;
	return n;
}

static void copy_device(struct figures *figures, uint32_t n, uint32_t partitions_at,
			const struct report_device *device)
{
	int64_t *utilization = figures->partitions + partitions_at;
	figures->devices[n] = (struct device_figures){
		.now = device->figures,
		.utilization = device->activity.utilization,
		.corrected_volatile = device->condition.ecc_volatile.corrected,
		.corrected_aggregate = device->condition.ecc_aggregate.corrected,
		.partitions_at = partitions_at,
		.n_partitions = device->partitions.count,
	};
	ARRAY_EACH(const struct report_partition, partition, device->partitions)
		*utilization++ = partition->activity.utilization;
}

int figures_new(const struct report *report, struct figures **ret_figures, struct error *err)
{
	const uint32_t n = report->devices.count;
	struct figures *figures = malloc(sizeof(*figures) + n * sizeof(figures->devices[0]) +
					 count_partitions(report) * sizeof(figures->partitions[0]));
	uint32_t i = 0, partitions_at = 0;
	if (!figures)
		return error_no_memory(err);
	figures->uptime_ms = figures_uptime_of(report);
	figures->n_devices = n;
	figures->partitions = (int64_t *)(figures->devices + n);
	ARRAY_EACH(const struct report_device, device, report->devices) {
		copy_device(figures, i++, partitions_at, device);
		partitions_at += device->partitions.count;
	}
	*ret_figures = figures;
	return 0;
}

void figures_free(struct figures *figures)
{
	free(figures);
}

void figures_apply(const struct figures *figures, uint32_t n, struct report_device *device,
		   struct report_partition *room)
{
	const struct device_figures *own = &figures->devices[n];
	assert(n < figures->n_devices && own->n_partitions == device->partitions.count);
	assert(own->n_partitions <= LIMIT_REPORT_PARTITIONS);
	device->figures = own->now;
	device->activity.utilization = own->utilization;
	device->condition.ecc_volatile.corrected = own->corrected_volatile;
	device->condition.ecc_aggregate.corrected = own->corrected_aggregate;
	for (uint32_t i = 0; i < own->n_partitions; i++) {
		room[i] = *ARRAY_AT(device->partitions, struct report_partition, i);
		room[i].activity.utilization = figures->partitions[own->partitions_at + i];
	}
	device->partitions.items = room;
}

int64_t figures_corrected(const struct figures *figures, uint32_t n)
{
	assert(n < figures->n_devices);
	return figures->devices[n].corrected_volatile;
}

int64_t figures_uptime(const struct figures *figures)
{
	return figures->uptime_ms;
}

/* The age is told by the wall clock. Where that was set back meanwhile it is not known. */
int64_t figures_uptime_of(const struct report *report)
{
	const struct report_source *nvml = &report->sources.nvml;
	const int64_t age = report->observed_at - nvml->observed_at;
	const bool is_known = nvml->state == REPORT_SOURCE_OK && age >= 0;
	return is_known && report->uptime_ms > age ? report->uptime_ms - age : 0;
}
