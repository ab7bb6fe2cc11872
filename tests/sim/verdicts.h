/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * verdicts - at rest: the reasons that follow from who speaks of a device, the state and the recovery
 * action that follow from all reasons, and the condition Healthy. See AT_REST in sim/oracle.h.
 *
 * Threads: the program's only one.
 */

#include "model/attribution.h"

/* Of a device in a node, with an agent or without, in trouble (sim/trouble.h) or not. */
void verdicts_judge_rest(const struct attribution_status *status, int gpu);
