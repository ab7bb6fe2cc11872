/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hardware - the driver as a source of evidence: the last good reading, kept and dated, and the
 * XID errors since. With it goes whose the processes are that the driver lists.
 *
 * Threads: owner. Calls into the driver take as long as it does.
 * Limits:  those of nvml.h and processes.h; a reading is at most 8 MiB.
 */

#include "agent/activity_windows.h"
#include "agent/condition_history.h"
#include "agent/event_queue.h"
#include "agent/nvml.h"
#include "agent/processes.h"
#include "agent/source_state.h"

struct hardware {
	struct nvml *nvml;
	struct source_state source;
	struct processes processes;
	struct condition_history history;
	struct activity_windows activity;
	int64_t sampled_at; /* utilisation, between two readings; by the wall clock */
	struct arena arena; /* of `reading`, what is known of its processes, and windows */
	struct nvml_reading reading;
};

/* Texts are borrowed for the hardware's life. */
struct hardware_config {
	const char *library_name; /* of the driver */
	enum processes_mode processes;
	const char *proc_path;
	struct activity_settings activity;
};

/* Prepares a reader of the driver's library; loads nothing. Fails with ERROR_NO_MEMORY. */
MUST_USE int hardware_init(struct hardware *hardware, const struct hardware_config *config,
			   struct error *err);
/* Accepts a zeroed object. */
void hardware_deinit(struct hardware *hardware);
/*
 * Reads everything. True when that was news: anything but the memory that processes use, counts of
 * corrected errors, and figures of activity. These move all the time and go out with whatever report comes next. A
 * failure is the source's state and leaves the devices as they were last read.
 */
bool hardware_read(struct hardware *hardware, struct processes_time now);
/* Moves XID errors to the queue. True when there were any. Looks at utilisation now and then. */
bool hardware_read_events(struct hardware *hardware, int64_t wall_now, struct event_queue *queue);
/* Puts the driver's part into the report, borrowed until the next reading. */
void hardware_tell(const struct hardware *hardware, struct report *report);
