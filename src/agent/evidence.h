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
 * Appends the report as JSON to buf, whose cap is the largest report that is accepted. If it does
 * not fit, whole parts are left out until it does, in the order of enum evidence_loss, and the
 * source of each says so: a part is told in full or not at all. What was left out goes to
 * *ret_loss. The report is the same afterwards.
 *
 * Fails with ERROR_LIMIT when even then it does not fit, or ERROR_NO_MEMORY; buf is as before.
 */
MUST_USE int evidence_encode(const struct report *report, struct sbuf *buf, unsigned *ret_loss,
			     struct error *err);
