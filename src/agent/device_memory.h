/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_memory - what a device last told of itself, for the time when it does not answer
 *
 * Threads: owner.
 * Limits:  64 KiB, which hold LIMIT_REPORT_PARTITIONS with texts as long as NVML's.
 */

#include "base/arena.h"
#include "model/report.h"

/* Zeroed: nothing is remembered. */
struct device_memory {
	struct arena arena; /* of the device */
	struct report_device device;
	bool is_missing; /* since then the driver has said that there is no such device */
};

/* Forgets. Accepts one that remembers nothing. */
void device_memory_forget(struct device_memory *memory);
/* Whether anything is remembered. */
bool device_memory_holds(const struct device_memory *memory);
/*
 * Remembers a copy of the device, without its processes and activity, instead of what was remembered. False: no
 * memory, nothing is remembered then.
 */
MUST_USE bool device_memory_keep(struct device_memory *memory, const struct report_device *device);
/*
 * Copies what is remembered into *ret, texts and arrays into the arena. Its processes and
 * activity are not known. False: no memory; *ret is then to be thrown away.
 */
MUST_USE bool device_memory_recall(const struct device_memory *memory, struct arena *arena,
				   struct report_device *ret);
/*
 * Fills in what the device did not tell this time, from what is remembered of the same device. Leaves
 * processes, activity and condition alone. False: no memory.
 */
MUST_USE bool device_memory_complete(const struct device_memory *memory, struct arena *arena,
				     struct report_device *device);
