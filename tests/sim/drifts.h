/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drifts - judges the drifts in a status. What differs from what is intended is found from the world
 * (sim/policies.h) alone, a second time and in other words than src/assess has it. See FALSE_DRIFT,
 * MISSED_DRIFT, FLAPPING and AT_REST in sim/oracle.h.
 *
 * Threads: the program's only one.
 */

#include "model/attribution.h"
#include "sim/world.h"

/* After the world, and when the programs can be asked. */
void drifts_reset(void);
/* Something that drifts may depend on has changed: looks what is so now. */
void drifts_look(void);
/* What is intended may be known late until then. */
void drifts_disturbed(uint64_t until);
/* before: the status that the object had; NULL: none. */
void drifts_judge(const struct attribution_status *status,
		  const struct attribution_status *before, int gpu);
/* At rest: of a device in a node with an agent. */
void drifts_judge_rest(const struct attribution_status *status, int gpu);
/* At rest, of a node that nobody reports: its condition InSync says that. */
void drifts_judge_untold(const struct attribution_status *status, int gpu);
