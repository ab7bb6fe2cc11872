/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * agent_series - what the agents count of themselves as OpenMetrics text, by node. A node that was
 * silent for SENDERS_SILENT_MS is not shown.
 *
 * Threads: the front's.
 * Limits:  LIMIT_AGENT_SERIES_NODES; how many more there are is shown, too.
 */

#include "base/sbuf.h"
#include "controller/senders.h"

/* Appends all families, and no "# EOF". Failure is the buffer's. */
void agent_series_render(const struct senders *senders, uint64_t now_ms, struct sbuf *buf);
