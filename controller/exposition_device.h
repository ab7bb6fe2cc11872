/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exposition_device - the samples of one device and its tenants.
 *
 * Threads: owner; pure.
 * Limits:  17 samples of a device, 8 more of live figures, 1 of each difference and number of XID
 *          errors. Under MIG 2 of each partition. 1 of each tenant, and of each partition that it
 *          holds.
 */

#include "controller/exposition_lines.h"
#include "controller/xid_counts.h"
#include "model/attribution.h"
#include "model/report.h"

/* What is known of the device; all borrowed. */
struct exposition_device {
	const struct attribution *object;
	const struct report_device *reported; /* NULL: no report with recent figures has it */
	const struct xid_count *xids;
	size_t n_xids;
	int64_t now_wall_ms;
	bool with_tenants;
};

/* Writes them all. Returns how many tenants there are, written or not. */
size_t exposition_device_write(struct exposition_lines *lines,
			       const struct exposition_device *device);
