/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report_doc - the node report, version 1, from and to JSON; and the part of it that the driver tells.
 *
 * Threads: any.
 * Limits:  those of the protocol, in base/limits.h.
 */

#include "base/arena.h"
#include "model/report.h"

struct jmap_row;
struct sbuf;

/*
 * Decodes one report. What it points to lies in arena. *ret_report is untouched on failure:
 * - ERROR_REJECTED: no report of this version (not JSON, duplicate keys, wrong types, missing
 *   members, identifiers that are malformed or come twice). The text begins with the member's path:
 *   "devices[3].uuid: not a GPU UUID".
 * - ERROR_LIMIT: too long, too deep, or too many of something.
 * - ERROR_NO_MEMORY.
 * Unknown members and unknown words for a device's or an event's properties are ignored; an unknown
 * recovery action is REPORT_RECOVERY_OTHER.
 * Control characters in texts become '?'.
 */
MUST_USE int report_doc_decode(struct view json, struct arena *arena, struct report *ret_report,
			       struct error *err);

/*
 * Appends the report as JSON. Lists that are not `present` are left out. Failure is the buffer's.
 * What is beyond the protocol's limits is written too, and will be refused: see to it before.
 */
void report_doc_encode(const struct report *report, struct sbuf *buf);

/*
 * True when both reports say the same about their node. They may differ in the sequence number, the
 * times at which the report and its sources were read, and the counts of corrected errors. Figures of
 * activity and the time of the last work may differ too.
 */
bool report_doc_same_evidence(const struct report *a, const struct report *b);

/*
 * A reading is the part of a report that the driver tells: sequence, versions, sources.nvml, devices,
 * events and since when none was missed. It tells, too, whether another one would tell more. Decodes one
 * as report_doc_decode() does a report, and as distrustfully; it has at most LIMIT_READING_BYTES. All else
 * of *ret_reading is zero, and on failure it is untouched.
 */
MUST_USE int report_doc_decode_reading(struct view json, struct arena *arena,
				       struct report *ret_reading, struct error *err);
/* Appends those members of the report as a reading. As report_doc_encode(). */
void report_doc_encode_reading(const struct report *reading, struct sbuf *buf);

/* The rows of a report, for tests. */
const struct jmap_row *report_doc_rows(void);
/* The rows of a reading, for tests. */
const struct jmap_row *report_doc_reading_rows(void);
