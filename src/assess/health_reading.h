/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * health_reading - which parts of a device's condition NVML tells of here.
 *
 * Threads: any; pure.
 */

#include "base/arena.h"
#include "model/report.h"

/* True when NVML tells of memory errors. */
bool health_reading_has_memory_errors(const struct report_condition *condition);
/* True when NVML tells of NVLink, of the fabric or of PCIe. */
bool health_reading_has_links(const struct report_condition *condition);
/*
 * The message for a device against which nothing speaks: what was read, and what cannot be read. The
 * condition is of a device of that report. It lies in the arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int health_reading_say(const struct report_condition *condition,
				const struct report *report, struct arena *arena,
				struct view *ret_message, struct error *err);
