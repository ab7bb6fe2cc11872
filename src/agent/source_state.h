/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * source_state - how one source of evidence is doing, and when it was last doing well.
 *
 * Threads: any; an object belongs to its caller and must not be moved.
 * Limits:  the message is at most LIMIT_REPORT_MESSAGE bytes, longer ones are cut.
 */

#include "base/error.h"
#include "base/limits.h"
#include "model/report.h"

struct source_state {
	struct report_source said; /* for the report; the message lies in text */
	char text[LIMIT_REPORT_MESSAGE];
};

/* The source answered at wall_now (ms since 1970); message may be empty. True: that is news. */
bool source_state_succeed(struct source_state *source, int64_t wall_now, struct view message);
/* It did not, which is counted; observed_at stays that of its last answer. True: that is news. */
bool source_state_fail(struct source_state *source, const struct error *why);
/*
 * It does not return, which is counted when it begins; observed_at stays that of its last answer. True:
 * that is news.
 */
bool source_state_hang(struct source_state *source, const struct error *why);
/*
 * It is not there on this node; if it once answered it has vanished, and that is a failure. True:
 * that is news.
 */
bool source_state_vanish(struct source_state *source, struct view message);
