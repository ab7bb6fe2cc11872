/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * evidence - puts a report onto the wire so that it fits there.
 *
 * Threads: any.
 */

#include "base/sbuf.h"
#include "model/report.h"

/* Which parts had to be left out, a bit mask. */
enum evidence_loss {
	EVIDENCE_PROCESSES = 1u << 0,     /* of the devices */
	EVIDENCE_ADVERTISED = 1u << 1,    /* allocatable and checkpoint.registered */
	EVIDENCE_POD_RESOURCES = 1u << 2,
};

/*
 * Appends the report as JSON to buf, whose cap is the largest report that is accepted. If the report
 * does not fit, or names more than LIMIT_REPORT_ALL_IDS device IDs or LIMIT_REPORT_ALL_PROCESSES
 * processes, whole parts are left out in the order of enum evidence_loss until it does. A part is
 * never shortened, and the source of each omitted part says that it was left out. *ret_loss tells
 * which parts. The report itself does not change.
 *
 * Fails with ERROR_LIMIT if it does not fit even then, or ERROR_NO_MEMORY; buf is as before.
 */
MUST_USE int evidence_encode(const struct report *report, struct sbuf *buf, unsigned *ret_loss,
			     struct error *err);
