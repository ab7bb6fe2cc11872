/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/process_set.h"

bool process_set_add(struct keyed *seen, const struct report_process *process)
{
	const struct view pid = {(const char *)&process->pid, sizeof(process->pid)};
	return keyed_add_new(seen, KEYED_KEY(process->partition, pid), process);
}
