/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * telemetry - the controller's metrics: the table is metrics.def. Modules count for themselves;
 * here their counters are carried into the registry now and then, so that no module knows it. How
 * to add one is in CONTRIBUTING.md, under "A metric".
 *
 * Threads: the loop's; the front renders the registry, whose values are atomic.
 */

#include "base/error.h"
#include "controller/front.h"

struct telemetry;

/* What is looked at; borrowed. */
struct telemetry_sources {
	const struct loop *loop;
	const struct apiclient *client;
	const struct inventory *inventory;
	const struct watches *watches;
	const struct reconciler *reconciler;
	const struct event_teller *events; /* NULL: none are sent */
	const struct leadership *leadership; /* NULL: there is no election */
};

/*
 * All metrics at 0. host is that of the API server, copied. telemetry_watch() must precede
 * telemetry_collect(). ERROR_NO_MEMORY.
 */
MUST_USE int telemetry_new(struct view host, struct telemetry **ret_telemetry, struct error *err);
/* Nobody may render any more. Accepts NULL. */
void telemetry_free(struct telemetry *telemetry);
/* From now on these are looked at; they must outlive the last telemetry_collect(). */
void telemetry_watch(struct telemetry *telemetry, const struct telemetry_sources *sources);
/* Carries all counters and gauges over. */
void telemetry_collect(struct telemetry *telemetry);
/* The rows that the front counts in itself. */
struct front_metrics telemetry_front_metrics(const struct telemetry *telemetry);
