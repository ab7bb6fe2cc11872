/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * processes - the processes that the driver sees on the devices as a source of evidence: whose each
 * one is, by its control group.
 *
 * The driver names processes by the PIDs of the machine, so this takes an agent that sees those: one
 * whose pod has hostPID.
 *
 * Threads: owner.
 * Limits:  PROCESSES_MAX processes of a node are looked up; what /proc says of one is read again
 *          after PROCESSES_KEEP_MS.
 */

#include "agent/source_state.h"
#include "base/arena.h"

#define PROCESSES_MAX 4096u
#define PROCESSES_KEEP_MS 300000u

enum processes_mode {
	PROCESSES_AUTO, /* if this program is in the PID namespace that the machine started with */
	PROCESSES_ON,   /* in any that has another first process */
	PROCESSES_OFF,
};

/* The moment of a reading of the driver. */
struct processes_time {
	int64_t wall;  /* ms since 1970 */
	uint64_t boot; /* ms since boot, before the driver was asked */
};

struct processes {
	const char *proc_path;
	enum processes_mode mode;
	struct source_state source;
	struct array known; /* struct known_process, by PID; in the arena of the last filling */
};

/* "auto", "on", "off". False leaves *ret_mode untouched. */
bool processes_parse_mode(struct view text, enum processes_mode *ret_mode);
/* proc_path is borrowed: "/proc". Reads nothing. */
void processes_init(struct processes *processes, enum processes_mode mode, const char *proc_path);
/*
 * Fills podUID, containerID and command of the processes of these devices (struct report_device),
 * which the driver listed at `now`. The texts lie in the arena, which must stay until the next
 * filling has been done. A process has a command exactly if it was looked at. With a command and no
 * pod it belongs to no pod. Without a command its pod is not known, because it has ended or hides.
 * True when the source's state is news.
 */
bool processes_fill(struct processes *processes, struct processes_time now, struct array devices,
		    struct arena *arena);
/* Puts the source's state into the report, borrowed until the next filling. */
void processes_tell(const struct processes *processes, struct report *report);
