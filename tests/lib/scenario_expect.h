/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario_expect - what a scenario's "expect" compares. Before it, what has changed is published, and
 * a further join must then write nothing. Of gpu0, where no other device is named:
 *
 *	expect [gpuN] none                      no tenant
 *	expect [gpuN] P[/C] [WORD | KEY=VALUE]...   that tenant: a phase, a confidence, or
 *	      by slots resource partitions since placeholder workload pod system
 *	expect [gpuN] tenants P[/C]...          all tenants, by their keys
 *	expect [gpuN] TYPE STATUS REASON [MESSAGE]  a condition
 *	expect [gpuN] since TYPE MS             the condition's last transition, after the world began
 *	expect [gpuN] WHAT TEXT                 what is shown: see `shown` in scenario_show.c
 *	expect [gpuN] ids P[/C] WITNESS U...    which IDs a witness of a disagreement names
 *	expect writes N                         so many objects would be written; publishes nothing
 *	expect again T | never                  when time alone changes something
 *	expect WHAT TEXT                        what the result has: see `of_result` in scenario_expect.c
 *
 * In what is compared gpu0 stands for its UUID, and UIDs are without "uid-". What is empty is "none".
 *
 * Threads: a test's own.
 */

#include "lib/scenario_line.h"

/* What has been done about the last change of the world. */
enum scenario_stage { SCENARIO_CHANGED, SCENARIO_JOINED, SCENARIO_PUBLISHED };

/* Carries the rest of an "expect" statement out. */
void scenario_expect(struct scenario_line *line, enum scenario_stage *stage);
