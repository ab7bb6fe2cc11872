/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hardware - the driver as a source of evidence: the last good reading, kept and dated, and the
 * XID errors since. With it goes whose the processes are that the driver lists.
 *
 * A device that NVML calls lost is still told of, as it last was: so it is not mistaken for one that was
 * taken out. A changed count of corrected errors alone is no news (JMAP_NO_NEWS).
 *
 * One reading that fails between two good ones changes nothing that is told: the last good one stands,
 * with its date. Only a failure that lasts for HARDWARE_HOLD_MS is told. Told at once are a hang, whose
 * time-out has passed already, XID errors, and that no device answers, though the driver does: these may
 * be lost. XID errors may be missed meanwhile. So eventsSince is never earlier than they are watched again,
 * and until then it is the moment of telling, without a time since boot. That is no news by itself.
 *
 * The driver is called by another process (agent/nvml_process.h), so nothing here waits for it.
 *
 * Threads: the loop's.
 * Limits:  those of nvml_process.h and processes.h.
 */

#include "agent/activity_windows.h"
#include "agent/condition_history.h"
#include "agent/event_queue.h"
#include "agent/nvml_process.h"
#include "agent/processes.h"
#include "agent/source_state.h"

/* For how long a failure is not told, if the readings before were good. */
#define HARDWARE_HOLD_MS 30000u

/* What happened, a bit mask. */
enum hardware_change {
	HARDWARE_READ = 1u << 0,   /* what hardware_read() asked for came, hangs or failed */
	HARDWARE_NEWS = 1u << 1,   /* something is told that was not told before */
	HARDWARE_EVENTS = 1u << 2, /* XID errors were added to the queue */
	HARDWARE_STATE = 1u << 3,  /* the driver says that a reading would tell something new */
};

/* A failure that is not told yet. */
struct hardware_failure {
	bool is_so;
	bool is_absent; /* there is no library any more */
	bool is_mismatch; /* it does not fit the kernel module */
	bool was_watched; /* before it: XID errors, on all devices */
	struct error why;
};

typedef void (*hardware_fn)(void *owner, unsigned changes);
/*
 * Offers what a further source measured (agent/activity_windows.h) to each of these devices (struct
 * report_device), which have just been read. now_boot: ms since boot. owner is hardware_init()'s.
 */
typedef void (*hardware_offer_fn)(void *owner, uint64_t now_boot, struct array devices);

struct hardware {
	struct nvml_process *process;
	struct event_queue *queue;
	hardware_fn changed;
	void *owner;
	struct source_state source;
	struct hardware_failure held;
	struct loop_timer *hold; /* ends that */
	struct processes processes;
	struct condition_history history;
	int64_t processes_started; /* of NVML, by the last reading */
	hardware_offer_fn offer; /* NULL: there is no further source */
	struct activity_windows activity;
	struct arena arena; /* of `reading`, what is known of its processes, and windows */
	struct report reading; /* the last good one: versions and devices */
};

/* Texts and queue are borrowed for the hardware's life. */
struct hardware_config {
	const char *library_name; /* of the driver */
	uint32_t nvml_timeout_ms;
	enum processes_mode processes;
	const char *proc_path;
	struct activity_settings activity;
	struct condition_history_settings history;
	struct event_queue *queue; /* takes the XID errors */
	hardware_offer_fn offer;   /* of a further source of activity, or NULL */
};

/* Starts and reads nothing; hardware must not be moved. Fails with ERROR_NO_MEMORY or ERROR_RETRY. */
MUST_USE int hardware_init(struct hardware *hardware, struct loop *loop,
			   const struct hardware_config *config, hardware_fn changed, void *owner,
			   struct error *err);
/* Accepts a zeroed object. Does not call back. Waits for its process as nvml_process_free() does. */
void hardware_deinit(struct hardware *hardware);
/*
 * Has everything read, XID errors too. True: `changed` says HARDWARE_READ later, within the time-out.
 * False: the driver hangs, or cannot be asked now; the source says so already, and the reading is made
 * as soon as it can be.
 *
 * News is anything but the memory that processes use, counts of corrected errors, and figures of
 * activity. These move all the time and go out with whatever report comes next. A failure that is told
 * is the source's state and leaves the devices as they were last read.
 */
bool hardware_read(struct hardware *hardware);
/* Has utilisation looked at, for the next reading. XID errors that there are go to the queue. */
void hardware_look(struct hardware *hardware);
/* Puts the driver's part into the report, borrowed until the next reading. Events are the queue's. */
void hardware_tell(const struct hardware *hardware, struct report *report);
