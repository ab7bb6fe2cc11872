/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rest_series - the label sets of the metrics that client-go has of requests to the API server. The
 * host is in each of them, and it is known only when the program runs.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/metric.h"

/* In a table of metrics these stand for the label sets that are made later. */
#define REST_SERIES_REQUESTS_LABELS METRIC_LABELS("code=\"\",method=\"\",host=\"\"")
#define REST_SERIES_DURATION_LABELS METRIC_LABELS("verb=\"\",host=\"\"")

/*
 * Label sets for the counts of kube/request_counts.h, codes of the first method first, in arena. host
 * is cut to LIMIT_TEXT_NAME bytes, and what is not of a host's name or address is left out of it. NULL:
 * no memory.
 */
const char *const *rest_series_requests(struct arena *arena, struct view host);
/* The same for its durations, by method alone. */
const char *const *rest_series_durations(struct arena *arena, struct view host);
