/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * agent_counts - what an agent counts of itself, from its last report.
 *
 * Threads: owner.
 */

#include <stdbool.h>
#include <stdint.h>

struct report;

enum agent_counts_source {
	AGENT_COUNTS_CHECKPOINT,
	AGENT_COUNTS_POD_RESOURCES,
	AGENT_COUNTS_NVML,
	AGENT_COUNTS_PROCESSES,
	AGENT_COUNTS_DCGM,
	AGENT_COUNTS_N_SOURCES,
};

/* Since the agent started: they begin anew with another instance. But for what is so at the report. */
struct agent_counts {
	bool known;             /* it has reported */
	int64_t refused;        /* reports that were not accepted */
	int64_t nvml_hangs;
	int64_t nvml_processes; /* started */
	int64_t nvml_left_behind; /* of these, killed and not ended at the report */
	int64_t events_dropped;
	int64_t failures[AGENT_COUNTS_N_SOURCES]; /* readings that failed */
};

/* Takes them from a report. An agent of another release may leave any of them out: then it is 0. */
struct agent_counts agent_counts_of(const struct report *report);
