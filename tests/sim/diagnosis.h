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
/* That is one of the status's reasons. In the simulator with other texts only the case of letters differs. */
bool diagnosis_has_reason(const struct attribution_status *status, const char *reason);
/* The lowest number among the reasons of an error that asks for that recovery; 0: there is none. */
int diagnosis_find_xid(const struct attribution_status *status, int recovery);
/* An error was told since: then there may be as many events, which differ in their times. */
bool diagnosis_has_news(const struct attribution_status *status,
			const struct attribution_status *before);
/* Time alone settles an error about now. */
bool diagnosis_may_settle(void);
/* At rest: of a device in a node with an agent. */
void diagnosis_judge_rest(const struct attribution_status *status, int gpu);
