/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/process_set.h"

bool process_set_add(struct lookup *seen, const struct report_process *processes)
{
	const struct report_process *process = &processes[seen->n];
	const struct view pid = {(const char *)&process->pid, sizeof(process->pid)};
	const uint32_t hash = lookup_hash(lookup_hash(0, process->partition), pid);
	uint32_t at = lookup_first(seen, hash);
	while (at != LOOKUP_END &&
	       (processes[at].pid != process->pid || !view_equal(processes[at].partition, process->partition)))
		at = lookup_next(seen, at);
	lookup_add(seen, hash);
	return at == LOOKUP_END;
}
