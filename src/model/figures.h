/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * figures - what heartbeats say anew while a report has no news: how busy its devices are, and how
 * warm. Also how much memory and power they use, and how many errors were corrected. A device takes
 * 96 bytes, a partition 8, a node with eight devices less than 1 KiB. A heartbeat without news leaves the
 * report as it is, so joins see what they saw. Only resets (model/boot_history.h) are found by it, too.
 *
 * Threads: any; a set of figures never changes.
 */

#include "base/error.h"
#include "model/report.h"

struct figures;

/* Those of the devices of the report and of their partitions; copied. Fails with ERROR_NO_MEMORY. */
MUST_USE int figures_new(const struct report *report, struct figures **ret_figures, struct error *err);
/* Accepts NULL. */
void figures_free(struct figures *figures);
/*
 * Writes the figures of the n-th device over those of a copy of it. The device is that of a report
 * with the same evidence (schema/report_doc.h). Its partitions are copied to `room`, which holds
 * LIMIT_REPORT_PARTITIONS of them.
 */
void figures_apply(const struct figures *figures, uint32_t n, struct report_device *device,
		   struct report_partition *room);
/* Corrected errors of the n-th device since it was reset; -1: unread. */
int64_t figures_corrected(const struct figures *figures, uint32_t n);
/* When the driver was read, ms since boot; 0: not told, or it failed since. */
int64_t figures_uptime(const struct figures *figures);
/* The same of the figures that are in the report. */
int64_t figures_uptime_of(const struct report *report);
