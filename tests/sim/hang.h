/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hang - drivers that do not return: for a while, until their node is booted, or only late; and those
 * that end whoever calls them. In every fourth fleet, chosen by its seed.
 *
 * While a driver hangs nobody gets an answer from it. What was asked is answered when it returns,
 * unless who asked has been killed by then. Some calls are held in the kernel: their process cannot be
 * killed meanwhile.
 *
 * Threads: the program's only one.
 * Limits:  what does not fit does not happen.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/attribution.h"

/* Whether drivers hang in a history of that seed. */
bool hang_is_there(uint64_t seed);
/* All drivers answer at once. */
void hang_reset(void);

/* The node's driver hangs up to then; WORLD_NEVER: until it is booted. is_held: in the kernel. */
void hang_begin(int node, uint64_t until, bool is_held);
/* A call of it takes so long, up to then. */
void hang_slow(int node, uint32_t call_ms, uint64_t until);
/* The next calls end the process that makes them. */
void hang_crash(int node, int n);
/* The node was booted: its driver answers. */
void hang_boot(int node);
/* All do. */
void hang_end(void);

/* It hangs now, and holds who calls it; some driver does for good. */
bool hang_is(int node);
bool hang_holds(int node);
bool hang_is_for_good(void);
/* How long a call takes that begins now, if the driver does not hang. */
uint32_t hang_call_ms(int node);
/* The call that returns now ends its process. */
bool hang_take_crash(int node);

/* Judges NVMLHangs and eventsSince in a status: see FALSE_HEALTH and LOST_EVENT in sim/oracle.h. */
void hang_judge(const struct attribution_status *status, int gpu);
/* At rest, while drivers hang for good; and of a device, when none hangs any more. */
void hang_judge_good(void);
void hang_judge_rest(const struct attribution_status *status, int gpu);
