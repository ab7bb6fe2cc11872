/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * doubt - the rule NO_CAUSE of sim/oracle.h: what in a status says that something is not known,
 * and whether the history has a cause for it.
 *
 * Threads: any.
 */

#include <stdint.h>

#include "core/attribution.h"

/* sent_at: when the write was sent. node: -1, the status names none that there is. */
void doubt_judge(const struct attribution_status *status, int gpu, int node, uint64_t sent_at);
