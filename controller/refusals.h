/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * refusals - what the API server did not take of the statuses that were written, for readiness and
 * the log. It may refuse a status, or deny the right to write it. If its CustomResourceDefinition is
 * older than the controller, it drops fields that it does not know.
 *
 * Threads: the loop's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/attribution.h"

#define REFUSALS_TEXT 192
/* Either is told for so long after it was last seen: a write is tried again until then. */
#define REFUSALS_KEEP_MS 600000u

struct refusals {
	char dropped[REFUSALS_TEXT]; /* a field that was dropped */
	char refused[REFUSALS_TEXT]; /* what was said of the status that was refused last */
	bool is_denied;              /* it was for lack of a right */
	uint64_t dropped_at;         /* ms, monotonic: a field was dropped last; 0: never */
	uint64_t refused_at;         /* the same of a status that was refused */
	uint64_t n_dropped;          /* statuses of which a field was dropped; rises only */
};

/* The API server refused a status with that error: REJECTED, or DENIED until one is taken. */
void refusals_note_refused(struct refusals *refusals, const struct error *error, uint64_t now_ms);
/*
 * The API server has taken the status `sent`, and answered with `kept`. True when it dropped a
 * field. The first one is logged, and told until none has been dropped for REFUSALS_KEEP_MS.
 */
bool refusals_note_kept(struct refusals *refusals, const struct attribution_status *sent,
			const struct attribution_status *kept, uint64_t now_ms);
/* What readiness says, one line; "" when all was taken lately. Borrowed until the next call. */
const char *refusals_trouble(const struct refusals *refusals, uint64_t now_ms);
