/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * condition_history - what takes several samples to tell of a device's condition: that it has been slow
 * for long, that links went down, that it was reset. Also what of it was read lately.
 *
 * A verdict needs to have seen enough. Until then, and after an agent starts, it is undecided. Once
 * made it stays until the opposite is seen for long enough. Samples that are more than
 * REPORT_ACTIVITY_GAP_MS apart say nothing of the time between them: it counts anew.
 *
 * Threads: owner.
 * Limits:  LIMIT_REPORT_DEVICES devices. What was seen of one goes when its room is needed for another.
 */

#include "base/limits.h"
#include "base/wall_time.h"
#include "model/report.h"

/* For how long each sample must say so, in ms. */
struct condition_history_settings {
	uint64_t slow_ms;   /* that clocks are low for that reason */
	uint64_t fast_ms;   /* that they are not */
	uint64_t narrow_ms; /* that the PCIe link is narrower, or slower while busy, than it can be */
};

/* A fact that may hold at one sample and not at the next. */
struct condition_window {
	int seen;          /* enum report_verdict, of the last sample */
	uint64_t since_ms; /* all samples have said so */
	int verdict;       /* enum report_verdict */
};

/* A volatile counter of errors, as it was read; -1: it could not be. */
struct condition_counter {
	int64_t last, before_last; /* but for a low sample that is not confirmed yet */
	bool is_low;               /* there is one, and the sample before it was at: */
	struct wall_time low_after;
};

#define CONDITION_HISTORY_PARTS 8u /* bits of enum report_part */

/* What was seen of one device. */
struct condition_past {
	char uuid[LIMIT_TEXT_UUID + 1]; /* empty: of none */
	struct condition_window thermal, power_brake, hardware, pcie_lanes, pcie_generation;
	int64_t most_nvlinks; /* active in any sample since MIG mode; -1: none told */
	int nvlinks_down; /* enum report_verdict */
	struct condition_counter corrected, uncorrected;
	uint64_t parts_until_ms[CONDITION_HISTORY_PARTS]; /* each counts as read; 0: never read */
	uint64_t rows_unsupported_until_ms; /* the same of that answer of NVML */
	bool was_in_mig_mode; /* in the last sample; these times are of that mode */
	struct wall_time read_at;
	struct wall_time reset;
	int64_t read_reset; /* reset_uptime_ms as the last sample had it */
};

/* But for the settings zeroed: nothing was seen. */
struct condition_history {
	struct condition_history_settings settings;
	struct condition_past devices[LIMIT_REPORT_DEVICES];
};

/*
 * Takes a sample of the devices (struct report_device), and fills in the verdicts of their conditions.
 * now_ms is the time since boot, wall_ms the node's clock. Times of resets follow a step of that. At
 * most LIMIT_REPORT_DEVICES devices; a lost one tells nothing new.
 */
void condition_history_judge(struct condition_history *history, uint64_t now_ms, int64_t wall_ms,
			     struct array devices);
/*
 * NVML was left since the last sample. A driver may count errors anew then. So counts before and after
 * are no sign of a reset. What was told of resets stays.
 */
void condition_history_forget_counts(struct condition_history *history);
