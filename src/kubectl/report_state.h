/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report_state - whether what a status says is current, and if not, why.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct sbuf;

/* The words that the API will have as status.reportState. */
enum report_state_kind {
	REPORT_STATE_CURRENT,  /* the node's agent reports */
	REPORT_STATE_STALE,    /* it has been silent for long */
	REPORT_STATE_NO_AGENT, /* it has never reported */
	REPORT_STATE_PENDING,  /* the controller has not judged it yet */
};

struct report_state {
	enum report_state_kind kind;
	bool is_fresh;       /* the node's agent reports */
	bool is_current;     /* fresh, and every held slot is resolved to a pod */
	struct view reason;  /* empty where nobody gave one */
	struct view message;
	int64_t since;       /* 0: not known */
};

/* The only function that derives them, from the conditions. Views are borrowed from the status. */
struct report_state report_state_of(const struct attribution_status *status);
/* The word of a kind, static. */
const char *report_state_name(enum report_state_kind kind);
/*
 * Appends the cell of the column READY: the state of the report or, if only the report is current,
 * the reason why the rest is not. What is not "Current" has a '*' behind it. Failure is the buffer's.
 */
void report_state_write(const struct attribution_status *status, struct sbuf *buf);
/*
 * Appends the line of a footnote on the device, without its end. Nothing for one that is current.
 * Failure is the buffer's.
 */
void report_state_note(const struct attribution *device, int64_t now, struct sbuf *buf);
