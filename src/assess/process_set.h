/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * process_set - which processes of a device NVML lists for the first time. It may list one as several
 * kinds.
 *
 * Threads: owner.
 */

#include "base/lookup.h"
#include "model/report.h"

/*
 * Looks at the next of the processes, which is the first one in a lookup that is empty. The lookup has
 * room for all. True: none before has its number and is on its partition.
 */
bool process_set_add(struct lookup *seen, const struct report_process *processes);
