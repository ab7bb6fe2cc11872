/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * idleness - judges the activity in a status. See FALSE_IDLE and AT_REST in sim/oracle.h.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

#include "model/attribution.h"

/* before: the status that the object had; NULL: none. */
void idleness_judge(const struct attribution_status *status,
		    const struct attribution_status *before, int gpu);
/* It says of another time that it is idle since, and something was done in between. */
bool idleness_is_anew(const struct attribution_status *status,
		      const struct attribution_status *before, int gpu);
/* At rest: of a device in a node with an agent. */
void idleness_judge_rest(const struct attribution_status *status, int gpu);
/* Why its activity is Unknown, if it must be; also in trouble (sim/trouble.h), and without an agent. */
void idleness_judge_why(const struct attribution_status *status, int gpu);
