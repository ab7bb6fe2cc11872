/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * diagnosis - judges the health in a status. See FALSE_HEALTH, CLEARED, LOST_EVENT and AT_REST in
 * sim/oracle.h.
 *
 * Threads: the program's only one.
 */

#include "model/attribution.h"
#include "sim/world.h"

/* before: the status that the object had; NULL: none. */
void diagnosis_judge(const struct attribution_status *status,
		     const struct attribution_status *before, int gpu);
/* An error was told since: then there may be as many events, which differ in their times. */
bool diagnosis_has_news(const struct attribution_status *status,
			const struct attribution_status *before);
/* Time alone settles an error about now. */
bool diagnosis_may_settle(void);
/* At rest: of a device in a node with an agent. */
void diagnosis_judge_rest(const struct attribution_status *status, int gpu);
