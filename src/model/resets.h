/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resets - devices of one node that were reset while no agent looked, in one boot of it. What an agent
 * watches itself its reports tell (agent/condition_history.h).
 *
 * The counts of errors since the driver was loaded, or the device reset, go down by one of these only.
 * A count that was higher in two readings in a row, of whichever agent, and is lower in the next two
 * tells that. When it was is not known to the second: what is told is the time of the last higher
 * reading. A count that is not told is none. Counts of another boot must be forgotten.
 *
 * Without persistence mode the driver lets go of a device that nobody uses, and counts anew. So this
 * alone is not enough to call a device well: see assess/health.c.
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
