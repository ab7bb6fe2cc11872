/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * activity_windows - for each device and partition, when work was seen last, and since when no
 * sample has been missed
 *
 * A sample says what one source saw at one moment. Windows are kept by the clock that counts from
 * boot. The times that are told are the wall clock's; when that clock is set, they move with it.
 *
 * Threads: owner.
 * Limits:  those of a report: one window for each of its devices and partitions.
 */

#include "agent/processes.h"
#include "model/report.h"

struct activity_settings {
	int64_t busy_percent;   /* a sample from here on shows work */
	uint64_t idle_after_ms; /* without work, fully measured */
};

struct activity_window; /* opaque: of one device or partition */

/* Zeroed: nothing has been measured. */
struct activity_windows {
	struct activity_settings settings;
	struct activity_window *items; /* in the arena of the last reading */
	uint32_t n_items;
};

/*
 * Offers the answer of a source that was asked: a figure in percent, or -1. It is taken where nothing
 * better was read: a figure is better than none, the larger of two is, and of two alike that of the
 * better source. So work that one source sees is work. A figure above 100 is none.
 */
void activity_windows_offer(struct report_activity *into, enum report_activity_source source,
			    int64_t percent);

/*
 * Adds a sample of each of these devices and partitions (struct report_device), and puts what the
 * windows amount to in the place of what was read. What was read is `present` if some source was
 * asked; source and utilization are as activity_windows_offer() left them. Where no source has a
 * figure, and for as long as the device is busy by it. Of two that have figures one is told all the time
 * while the state stays. are_processes_told: the lists of processes have those of all containers. A
 * device that is lost gets no sample. Windows of devices that are not among these end.
 * The arena must stay until the next call. Without memory all is as if it had never been measured.
 */
void activity_windows_read(struct activity_windows *windows, struct processes_time now,
			   struct array devices, bool are_processes_told, struct arena *arena);
