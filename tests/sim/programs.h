/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * programs - the code under test: one controller (controller/daemon.h) and an agent on each node
 * (agent/agent.h), whole but for what lies below io/.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

/* The operator's settings that the oracle's bounds rest on. */
#define PROGRAMS_STALE_MS 60000
#define PROGRAMS_HEARTBEAT_MS 20000
#define PROGRAMS_PENDING_MS 20000
#define PROGRAMS_SETTLING_MS 60000
#define PROGRAMS_GONE_MS 120000
/* Where there is an operator, hold-offs are so short that all are over when all is at rest. */
#define PROGRAMS_HOLD_OFF_PERCENT 20
#define PROGRAMS_HURRY "--hold-off-percent=20"

/* Whether they may write to the log. */
extern bool programs_log;

/* Parses the settings of all programs, in the first call only. Starts none. */
void programs_reset(void);
/* Starts the controller. Does nothing while it runs. */
void programs_start_controller(void);
/* What it has sent is carried out all the same. */
void programs_stop_controller(void);
bool programs_controller_runs(void);
/* When the present controller was started. */
uint64_t programs_controller_since(void);
void programs_start_agent(int node);
void programs_stop_agent(int node);
bool programs_agent_runs(int node);
void programs_stop_all(void);
