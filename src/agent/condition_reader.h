/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * condition_reader - asks the driver's library what a device is like at this moment: errors of its
 * memory, links, why its clocks are low, and what the driver recommends
 *
 * Each value is one optional call, and each fails alone. What the device or the library does not
 * have, and a number that cannot be true, stays unread.
 *
 * Threads: owner.
 */

#include "agent/device_reader.h"
#include "model/report.h"

/*
 * Fills *ret but `lost`, `reset_required`, whether the device was busy, and what takes several samples to tell
 * (agent/condition_history.h); what was not read is as report.h says. Sets subject's
 * flags and notes failures, as device_reader_fails() does. Nothing is asked of a device that is lost
 * or missing.
 */
void condition_reader_read(struct device_subject *subject, struct report_condition *ret);
/* Of a device of which nothing could be read. */
void condition_reader_clear(struct report_condition *ret);
