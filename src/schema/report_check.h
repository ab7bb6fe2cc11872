/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report_check - holds a report that was decoded to what no table of its rows can say. The checks are
 * used by report_doc only.
 *
 * All fail with ERROR_REJECTED, and where there is too much with ERROR_LIMIT. The text begins with the
 * path of the member that is at fault.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "model/report.h"

/* Fails because the report is of another version than REPORT_VERSION. Returns -1. */
int report_check_refuse_version(int64_t version, struct error *err);
/*
 * UUIDs are what they claim to be, no device and no partition comes twice, and the events' sequence
 * numbers ascend.
 */
MUST_USE int report_check_reading(const struct report *reading, struct error *err);
/* How many device IDs the report names, in all its lists. */
size_t report_check_count_ids(const struct report *report);
/* How many processes, of all devices. */
size_t report_check_count_processes(const struct report *report);
/*
 * The version is understood, the node and its boot have names, there are at most
 * LIMIT_REPORT_ALL_PROCESSES processes, and all that a reading must be. Device IDs were counted when the
 * report was decoded.
 */
MUST_USE int report_check(const struct report *report, struct error *err);
