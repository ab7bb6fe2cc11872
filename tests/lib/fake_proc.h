/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fake_proc - a folder that looks like /proc to a reader of stat, cgroup and comm. It shows the PID
 * namespace that the machine started with, with a first process in it. The reader is process 4000.
 *
 * Threads: the main thread of a test program. Everything asserts.
 */

#include <stdint.h>

#define FAKE_PROC_FIRST_NAMESPACE "pid:[4026531836]"

struct fake_proc {
	char path[64];
};

/* Makes the folder, in a new place. */
void fake_proc_init(struct fake_proc *proc);
/* Removes the folder. */
void fake_proc_deinit(const struct fake_proc *proc);
/* Makes or changes a process. start is in ticks of 10 ms; comm and cgroup are whole files. */
void fake_proc_set(const struct fake_proc *proc, uint32_t pid, uint64_t start, const char *comm,
		   const char *cgroup);
/* Replaces one file of a process; NULL removes it. */
void fake_proc_set_file(const struct fake_proc *proc, uint32_t pid, const char *name,
			const char *text);
/* Ends a process. */
void fake_proc_remove(const struct fake_proc *proc, uint32_t pid);
/* Who looks, and from which namespace ("pid:[4026532001]"). */
void fake_proc_set_self(const struct fake_proc *proc, uint32_t pid, const char *name_space);
