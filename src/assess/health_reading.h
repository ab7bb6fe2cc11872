/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * health_reading - says which parts of a device's condition were read.
 *
 * Threads: any; pure.
 */

#include "base/arena.h"
#include "model/report.h"

/*
 * The message for a device of that report against which nothing speaks: what was read lately, and what
 * cannot be read, with "(MIG)" where that is the cause. It lies in the arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int health_reading_say(const struct report_device *device, const struct report *report,
				struct arena *arena, struct view *ret_message, struct error *err);
