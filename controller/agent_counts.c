/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/agent_counts.h"

#include "model/report.h"

struct agent_counts agent_counts_of(const struct report *report)
{
	const struct report_sources *sources = &report->sources;
	return (struct agent_counts){
		.known = true,
		.refused = report->reports_refused,
		.nvml_hangs = sources->nvml.hang_count,
		.nvml_processes = report->nvml_processes,
		.nvml_left_behind = report->nvml_left_behind,
		.events_dropped = report->events_dropped,
		.failures = {
			[AGENT_COUNTS_CHECKPOINT] = sources->checkpoint.failures,
			[AGENT_COUNTS_POD_RESOURCES] = sources->pod_resources.failures,
			[AGENT_COUNTS_NVML] = sources->nvml.failures,
			[AGENT_COUNTS_PROCESSES] = sources->processes.failures,
			[AGENT_COUNTS_DCGM] = sources->dcgm.failures,
		},
	};
}
