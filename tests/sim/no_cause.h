/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * no_cause - the rule NO_CAUSE of sim/oracle.h: what in a status says that something is not known,
 * and whether the history has a cause for it.
 *
 * Threads: any.
 */

#include "model/attribution.h"

/* before: the status that the object had; NULL: none. node: -1, the status names none that is. */
void no_cause_judge(const struct attribution_status *status, const struct attribution_status *before,
		    int gpu, int node);
