/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * child - the processes that call the driver for agents (agent/nvml_process.h), without a kernel.
 *
 * Under test is what an agent does with its child. Its socket pair, fork, kill and wait are simulated
 * here. A child is an object that answers with agent/nvml_child.h in the turn of its node's agent.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

/* There is no process. */
void child_reset(void);
/* Frees what is left of them. */
void child_clear(void);
/* The node's driver answers again: to those that wait for it. */
void child_answer(int node);
/* The node is off: nothing is left of the processes there. */
void child_power_off(int node);
