/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * figures - what heartbeats say anew while a report has no news: how busy its devices are, and how
 * warm. Also how much memory and power they use, and how many errors were corrected. A device takes
 * 96 bytes, a partition 8, a node with eight devices less than 1 KiB. A heartbeat without news leaves the
 * report as it is, so joins see what they saw.
 *
 * Threads: any; a set of figures never changes.
 */

#include "base/error.h"
#include "model/report.h"

struct figures;

/* Those of the devices of the report and of their partitions; copied. Fails with ERROR_NO_MEMORY. */
MUST_USE int figures_new(const struct report *report, struct figures **ret_figures,
			 struct error *err);
/* Accepts NULL. */
void figures_free(struct figures *figures);
/*
 * Writes the figures of the n-th device over those of a copy of it. The device is that of a report
 * with the same evidence (schema/report_doc.h). Its partitions are copied to `room`, which holds
 * LIMIT_REPORT_PARTITIONS of them.
 */
void figures_apply(const struct figures *figures, uint32_t n, struct report_device *device,
		   struct report_partition *room);
