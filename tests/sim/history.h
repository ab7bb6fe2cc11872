/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * history - a fleet and what happens to it: made of a seed, run to its end, and cut down to what is
 * needed for its violation.
 *
 *	history_make()	the actions, in the order of their times
 *	history_run()	carries them out, and goes on for history_hours. Then faults end. After
 *			SIM_BOUND_MS all must be true. From then on nothing may be written: for
 *			SIM_QUIET_MS, and after a restart of the controller.
 *	history_shrink()	leaves out actions as long as the same rule is violated
 *
 * Threads: the program's only one.
 */

#include "sim/action.h"
#include "sim/oracle.h"

#define HISTORY_MAX 152
/* Seeds with this bit make histories with more of what seldom comes together in others. */
#define HISTORY_RARE (UINT64_C(1) << 63)
/* With this bit pods are read by node, too (sim/forms.h). */
#define HISTORY_BY_NODE (UINT64_C(1) << 62)

struct history {
	uint64_t seed; /* of all that the actions do not say: delays, choices */
	int n_actions;
	struct action actions[HISTORY_MAX];
};

/* Makes the actions of that seed: the same ones each time. */
void history_make(struct history *history, uint64_t seed);
/* What it came to; rule ORACLE_NONE: all was well. */
struct oracle_violation history_run(const struct history *history);
/* Leaves out actions as long as the history still violates the rule. */
void history_shrink(struct history *history, enum oracle_rule rule);
/* For people, and for history_read(). */
void history_describe(const struct history *history, FILE *file);
void history_write(const struct history *history, FILE *file);
/* False: the file is none; a line on standard error says why. */
bool history_read(struct history *history, const char *path);

/* For so long all goes on after the last action, which has programs' memory judged (sim/memory.h). */
extern unsigned history_hours;
/* What is running now, for a last word. */
extern const struct history *history_under_way;
/* Of the last run: writes that took effect. */
extern unsigned history_writes;
/* Kubernetes Events, and series of them, that were sent. */
extern unsigned history_events;
/* Of what they wrote and when, but for the case of letters. */
extern uint64_t history_digest;
