/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * process_set - which processes of a device NVML lists for the first time. It may list one as several
 * kinds.
 *
 * Threads: owner.
 */

#include "base/keyed.h"
#include "model/report.h"

/*
 * Looks at a process of the report, which is borrowed. True: none before has its number and is on its
 * partition.
 */
bool process_set_add(struct keyed *seen, const struct report_process *process);
