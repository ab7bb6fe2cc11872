/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml - the hardware's witness: which devices this node has, how they are divided, and which
 * processes and XID errors the driver sees on them
 *
 * The library behind it may be absent, old, or in trouble: that is an answer, not an error. What
 * cannot be read is left out, and the source's message says so.
 *
 * Threads: owner. Calls go into the driver and take as long as it does, usually milliseconds.
 * Limits:  LIMIT_REPORT_DEVICES devices, LIMIT_REPORT_PARTITIONS and LIMIT_REPORT_PROCESSES each.
 */

#include "agent/nvml_call.h"
#include "agent/nvml_event.h"
#include "agent/nvml_waiter.h"
#include "base/arena.h"
#include "base/wall_time.h"
#include "model/report.h"

struct nvml;

/* What one look at the node gave. Texts and arrays lie in the arena given to nvml_read(). */
struct nvml_reading {
	struct report_source source;
	struct view driver_version; /* empty: not known */
	struct view cuda_version;   /* "13.0"; empty: not known */
	struct array devices;       /* struct report_device; present if the driver said how many it has */
};

/*
 * Makes a reader that will load the library of this name (copied; a name or a path). Loads nothing
 * yet. *ret_nvml belongs to the caller. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int nvml_new(const char *library_name, struct nvml **ret_nvml, struct error *err);

/* Shuts the library down and frees the reader. Accepts NULL. */
void nvml_free(struct nvml *nvml);

/* nvml_free() for CLEANUP. */
void nvml_freep(struct nvml **nvml);

/*
 * Has the driver's events waited for by this waiter, which outlives the reader and is its alone: the
 * waiter tells the XID errors. Without one they are asked for in nvml_next_event(). Before the first
 * reading.
 */
void nvml_wait_with(struct nvml *nvml, struct nvml_waiter *waiter);

/* Has each call announced here, which outlives the reader. Before the first reading. */
void nvml_announce(struct nvml *nvml, struct nvml_call *call);

/*
 * Gives a new reader what another one read last (struct report_device; copied), as if it had read that
 * itself: so a device that is lost by now is still told. How many devices there were is not told: some
 * may never have had a name.
 */
void nvml_remember(struct nvml *nvml, struct array devices);

/*
 * Reads everything once; loads and starts the library if it is not running. The wall clock's time of
 * now goes into observed_at, which for a failed source is that of the last good reading (0: none).
 *
 * source.state is one of
 * - ABSENT: there is no such library.
 * - ERROR: the driver does not answer for the node as a whole, or for none of the devices that it
 *   counts: `devices` is then present.
 * - OK: all else.
 *
 * A lost device that was read before is told as it was then: condition.lost is set, and its
 * processes are not known. Of a device that requires a reset, what it does not tell is as before. One that
 * was read before and cannot be named now is told as it was, but for its condition, of which nothing is
 * read. If the driver says that there is no such device it is left out. So is one that was never read,
 * which is logged. Each is named in the message.
 *
 * A value that a device or library does not have is empty or 0, or -1 for numbers where 0 has a
 * meaning. In a device's `partitions` and `processes`, `present` tells "none" from "not known".
 * podUID, containerID and command of processes are left empty.
 *
 * Fails with ERROR_NO_MEMORY only (the arena's cap counts as such); *ret_reading is then untouched.
 */
MUST_USE int nvml_read(struct nvml *nvml, struct wall_time now, struct arena *arena,
		       struct nvml_reading *ret_reading, struct error *err);

/*
 * Looks at the utilisation of the devices of the last nvml_read(), which covers the last moments only.
 * The next one tells the highest figure since, if some device answered the last one. A device that
 * does not answer is left out.
 */
void nvml_sample(struct nvml *nvml);

/*
 * The next XID error since the first nvml_read() that saw its device; call it until it returns
 * false. Does not wait for one. An XID is told once. False also when events cannot be watched, which the
 * next reading's message then says. With a waiter it is always false, and asks how the waiter fares.
 */
bool nvml_next_event(struct nvml *nvml, struct nvml_event *ret_event);

/*
 * True when the driver has told, since this was asked last, that something reads differently now: the
 * recovery action of a device, or that it is unavailable. That is seen by nvml_next_event().
 */
bool nvml_take_new_state(struct nvml *nvml);

/*
 * A number that stays the same while the XID errors of all devices of the last reading are watched
 * without a gap, and is another after one. 0: not all of them are watched now, none of them answered,
 * or errors may have been missed before that reading.
 */
uint64_t nvml_watch(const struct nvml *nvml);
