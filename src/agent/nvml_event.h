/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_event - an XID error as the driver told it
 *
 * Threads: any.
 */

#include "agent/nvml_abi.h"
#include "model/report.h"

struct nvml_event {
	char uuid[NVML_ABI_UUID_SIZE]; /* of the physical device */
	uint64_t xid;
	int64_t gpu_instance_id;     /* of the MIG device, or -1 */
	int64_t compute_instance_id; /* likewise */
};

/* The driver's event, of the device with this UUID. */
struct nvml_event nvml_event_of(const struct nvml_abi_event *raw, const char *uuid);
/*
 * Logs the error, and describes it for a report, as of now. Its UUID is borrowed from the event. Any
 * bytes may stand in the event. False: no report can carry it.
 */
bool nvml_event_describe(struct nvml_event *event, uint32_t sequence, struct report_event *ret_event);
