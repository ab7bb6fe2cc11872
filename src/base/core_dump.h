/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * core_dump - a program that holds keys and tokens leaves no image of its memory behind.
 *
 * Threads: any, before other threads start.
 */

/*
 * No core is dumped from now on, and no process without the capability SYS_PTRACE may read this one's
 * memory. It ends with execve(): each program does it for itself. Cannot fail in a way that helps to
 * know of.
 */
void core_dump_forbid(void);
