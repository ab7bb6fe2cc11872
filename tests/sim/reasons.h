/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reasons - judges the reasons of the conditions Attributed and Ready: each has its cause in the world,
 * and in the rest of the status. It is a part of the rule NO_CAUSE of sim/oracle.h.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

#include "model/attribution.h"

/* No report has been posted yet. */
void reasons_reset(void);
/* The node's agent has posted that report, or somebody in its name. */
void reasons_posted(int node, struct view body, bool is_forged);
/* The controller has accepted a report of the node. */
void reasons_heard(int node);
/* before: the status that the object had; NULL: none. node: -1, the status names none that is. */
void reasons_judge(const struct attribution_status *status, const struct attribution_status *before,
		   int gpu, int node, uint64_t sent_at);
