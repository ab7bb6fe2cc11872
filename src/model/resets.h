/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resets - devices of one node that were reset, as its reports of one boot tell, whichever agent made
 * them. So a reset while no agent ran is seen, too. What an agent watches itself its reports tell
 * (agent/condition_history.h).
 *
 * It takes two signs. The driver asked for a reset, and now recommends no action. And a volatile count of
 * memory errors was higher in two readings in a row, and is lower in the next two that tell it. Counts
 * alone are no sign: without persistence mode the driver counts anew once nobody uses the device, and
 * `nvidia-smi -p 0` clears them. When the reset was is not known to the second: what is told is the time of
 * the last higher reading. An unread count is skipped. Counts of another boot must be forgotten.
 *
 * Threads: owner.
 * Limits:  LIMIT_REPORT_DEVICES devices that had errors. Of those beyond, or without memory, no reset is
 *          seen.
 */

#include "model/figures.h"
#include "model/report.h"

struct resets_device;

/* Zeroed: nothing was seen. */
struct resets {
	struct resets_device *devices;
	uint32_t n_devices;
	int64_t read_uptime_ms; /* of the last reading, since boot */
};

/*
 * Takes what the report says of its devices, or the figures of a heartbeat with the same evidence say.
 * NULL: it is the report itself. A reading that was taken already says nothing, nor does a report that
 * tells no time since boot. True: a reset is told now that was not before.
 */
bool resets_hear(struct resets *resets, const struct report *report, const struct figures *figures);
/* The device of that UUID was reset after that, ms since boot; 0: not seen. Accepts NULL. */
int64_t resets_find(const struct resets *resets, struct view uuid);
/* Nothing was seen. Frees all memory. */
void resets_forget(struct resets *resets);
