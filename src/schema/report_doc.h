/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report_doc - the node report, version 1, from and to JSON.
 *
 * Threads: any.
 * Limits:  those of the protocol, in base/limits.h.
 */

#include "base/arena.h"
#include "model/report.h"

struct jmap_row;
struct sbuf;

/*
 * Decodes one report. What it points to lies in arena. Fails with ERROR_REJECTED, the path of the
 * member first in the text ("devices[3].uuid: not a GPU UUID"), when it is no report of this
 * version: not JSON, duplicate keys, wrong types, missing members, identifiers that are none or
 * come twice; with ERROR_LIMIT when it is too long, too deep or has too many of something; with
 * ERROR_NO_MEMORY. *ret_report is then untouched. Unknown members and unknown words for a device's
 * or an event's properties are ignored. Control characters in texts become '?'.
 */
MUST_USE int report_doc_decode(struct view json, struct arena *arena, struct report *ret_report,
			       struct error *err);

/*
 * Appends the report as JSON. Lists that are not `present` are left out. Failure is the buffer's.
 * What is beyond the protocol's limits is written too, and will be refused: see to it before.
 */
void report_doc_encode(const struct report *report, struct sbuf *buf);

/*
 * True when both reports say the same about their node: they differ in nothing but the sequence
 * number and the times at which the report and its sources were read.
 */
bool report_doc_same_evidence(const struct report *a, const struct report *b);

/* The rows of a report, for tests. */
const struct jmap_row *report_doc_rows(void);
