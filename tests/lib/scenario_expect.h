/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario_expect - what a scenario's "expect" compares. Before it, what has changed is published, and
 * a further join must then write nothing. It is about gpu0 unless [gpuN] names another device.
 *
 *	| expect ...                           | compares                                          |
 *	|--------------------------------------|---------------------------------------------------|
 *	| [gpuN] none                          | no tenant                                         |
 *	| [gpuN] P[/C] [WORD]... [KEY=VALUE].. | that tenant: a phase, a confidence, or a KEY:     |
 *	|                                      | by slots resource partitions since placeholder    |
 *	|                                      | workload pod system                               |
 *	| [gpuN] tenants P[/C]...              | all tenants, by their keys                        |
 *	| [gpuN] TYPE STATUS REASON [MESSAGE]  | a condition                                       |
 *	| [gpuN] since TYPE MS                 | its last transition, counted from the world's     |
 *	|                                      | beginning                                         |
 *	| [gpuN] WHAT TEXT                     | what is shown: see `shown` in scenario_show.c     |
 *	| [gpuN] ids P[/C] WITNESS U...        | which IDs a witness of a disagreement names       |
 *	| writes N                             | how many objects would be written; no publishing  |
 *	| again T, again never                 | when time alone changes something                 |
 *	| WHAT TEXT                            | what the result has: see `of_result` in           |
 *	|                                      | scenario_expect.c                                 |
 *
 * In a compared text gpu0 stands for its UUID, UIDs have no "uid-", and an empty text is "none".
 *
 * Threads: a test's own.
 */

#include "lib/scenario_line.h"

/* What has been done about the last change of the world. */
enum scenario_stage { SCENARIO_CHANGED, SCENARIO_JOINED, SCENARIO_PUBLISHED };

/* Carries the rest of an "expect" statement out. */
void scenario_expect(struct scenario_line *line, enum scenario_stage *stage);
