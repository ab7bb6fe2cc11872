/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report_state - whether what a status says is current, and if not, why.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct sbuf;

struct report_state {
	bool is_fresh;       /* status.reportState is Current: the node's agent reports */
	bool is_current;     /* fresh, and Ready: every held slot is resolved to a pod */
	struct view reason;  /* why it is not, or why it is; empty: not known */
	struct view message;
	int64_t since;       /* 0: not known */
};

/*
 * Judges a status. One without reportState, or with a word that is not known here, is not fresh.
 * Views are borrowed from the status.
 */
struct report_state report_state_of(const struct attribution_status *status);
/*
 * Appends the cell of the column READY: the state of the report. If the report is current and the
 * rest is not, it is the reason of that. If all is current and no controller leads, it is "NoLeader".
 * All but "Current" have a '*' behind. Failure is the buffer's.
 */
void report_state_write(const struct attribution_status *status, bool has_no_leader, struct sbuf *buf);
/*
 * Appends the line of a footnote on the device, without its end. Nothing for one that is current.
 * Failure is the buffer's.
 */
void report_state_note(const struct attribution *device, int64_t now, struct sbuf *buf);
