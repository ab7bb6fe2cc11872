/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * process - one process of the node, as /proc shows it to anybody: when it started, what it is
 * called, and whose it is. Its arguments and environment, which may hold secrets, are not looked at.
 *
 * Threads: any.
 * Limits:  of each file the first 4 KiB.
 */

#include "agent/cgroup.h"
#include "base/error.h"

#define PROCESS_COMMAND_SIZE 16u /* the kernel's, with NUL */

/* What does not change, or so rarely that it may be kept for a while. */
struct process_facts {
	struct cgroup_owner owner;          /* empty: no pod's */
	char command[PROCESS_COMMAND_SIZE]; /* never empty; control characters replaced by '?' */
};

/*
 * Opens /proc/PID in the folder `proc` (an open /proc). What is read through it is always of the
 * process that had this PID now, never of one that gets the PID after its end. *ret_folder is to be
 * closed by the caller.
 *
 * This function and those below fail with ERROR_NOT_FOUND (it has ended), ERROR_DENIED (it may not
 * be looked at), ERROR_REJECTED (not what a kernel writes), or ERROR_RETRY.
 */
MUST_USE int process_open(int proc, uint32_t pid, int *ret_folder, struct error *err);
/* When it started, in ms since boot, rounded down to the kernel's tick. */
MUST_USE int process_read_start(int folder, uint64_t *ret_started_ms, struct error *err);
/* Whose it is and what it is called, as of now; *ret_facts is untouched on failure. */
MUST_USE int process_read_facts(int folder, struct process_facts *ret_facts, struct error *err);
