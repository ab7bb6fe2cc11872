/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * condition_parts - which parts of a device's condition NVML told.
 *
 * Threads: any; pure.
 */

#include "model/report.h"

/* True when NVML told of memory errors. */
bool condition_parts_have_memory_errors(const struct report_condition *condition);
/* Those that the values have, as bits of enum report_part. What was read lately is not among them. */
unsigned condition_parts_find(const struct report_condition *condition);
