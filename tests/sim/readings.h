/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * readings - judges what the condition Healthy says that was read of a device, and that could not be. See
 * AT_REST in sim/oracle.h.
 *
 * Threads: the program's only one.
 */

#include "model/attribution.h"

/* At rest: of a device that is healthy, in a node with an agent whose driver answers. */
void readings_judge_rest(const struct attribution_status *status, int gpu);
