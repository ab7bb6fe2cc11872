/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * front_counts - brings what the front's parts count into the program's metrics.
 *
 * Threads: the front's.
 */

#include "controller/front.h"
#include "io/loop.h"
#include "io/server.h"

/* How many events FRONT_CONNECTION_LABELS tells apart. */
#define FRONT_COUNTS_EVENTS 9u

/* What was counted into the metrics already. Begins zeroed. */
struct front_counts {
	uint64_t connections[FRONT_COUNTS_EVENTS];
	uint64_t readers[FRONT_COUNTS_EVENTS];
};

/* The parts, borrowed for the call. */
struct front_counted {
	const struct loop *loop;
	const struct receiver *receiver;
	const struct metrics_gate *gate;
	const struct scrapes *scrapes;
	const struct server *reports;
	const struct server *readers; /* NULL: there are none */
};

/* metrics->registry is there. */
void front_counts_collect(struct front_counts *counts, const struct front_metrics *metrics,
			  const struct front_counted *of);
