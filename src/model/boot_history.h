/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * boot_history - what the reports of one node told of its devices in one boot, whichever agent made them:
 * resets, and the most NVLinks that were active. So a reset while no agent ran is seen, too. What an agent
 * watches itself its reports tell (agent/condition_history.h).
 *
 * A reset takes two signs. The driver asked for one, and now recommends no action. And a volatile count of
 * memory errors was higher in two readings in a row, and is lower in the next two that tell it. Counts
 * alone are no sign: without persistence mode the driver counts anew once nobody uses the device, and
 * `nvidia-smi -p 0` clears them. When the reset was is not known to the second: what is told is the time of
 * the last higher reading. An unread count is skipped. The driver's mark alone is no sign either: a driver
 * may say nothing of an error. What was seen is in memory only.
 *
 * In MIG mode links may be off: what was before is forgotten then.
 *
 * Threads: owner.
 * Limits:  LIMIT_REPORT_DEVICES devices that had errors or links. Of those beyond, or without memory,
 *          nothing is known.
 */

#include "model/figures.h"
#include "model/report.h"

struct boot_history_device;

/* Zeroed: nothing was seen. */
struct boot_history {
	struct boot_history_device *devices;
	uint32_t n_devices;
	int64_t read_uptime_ms; /* of the last reading, since boot */
};

/* What is known of one device. */
struct boot_history_told {
	int64_t reset_uptime_ms; /* it was reset after that, ms since boot; 0: not seen */
	int64_t most_nvlinks;    /* that were active; 0: not known */
};

/*
 * Takes what the report says of its devices, or the figures of a heartbeat with the same evidence say.
 * NULL: it is the report itself. A reading of counts that was taken already says nothing, nor does a
 * report that tells no time since boot. True: a reset is told now that was not before.
 */
bool boot_history_hear(struct boot_history *history, const struct report *report,
		       const struct figures *figures);
/* What is known of the device of that UUID. Accepts NULL. */
struct boot_history_told boot_history_find(const struct boot_history *history, struct view uuid);
/* Another boot began: nothing was seen. Frees all memory. */
void boot_history_forget(struct boot_history *history);
