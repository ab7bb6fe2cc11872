/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * metric - counters, gauges and histograms of a program, declared in one table of it and written as
 * OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/).
 *
 * Every series exists, at 0, from the start: labels are part of the table, so no input can make
 * new ones. A program's table is a .def file, included twice:
 *
 *	metrics.def	METRIC(REPORTS, COUNTER, "gpu_attribution_reports", "", "Reports by answer.",
 *			       METRIC_LABELS("code=\"200\"", "code=\"400\""))
 *	ids		#define METRIC(id, ...) METRICS_##id,
 *	rows		#define METRIC(id, type, name, unit, help, ...) \
 *				{name, METRIC_##type, unit, help, __VA_ARGS__},
 *
 * Threads: any; updates are relaxed atomics, a rendering sees each value whole, not all at once.
 */

#include "base/histogram.h"
#include "base/sbuf.h"

enum metric_type {
	METRIC_COUNTER,
	METRIC_COUNTER_REAL, /* with fractions, counted elsewhere: seconds of CPU */
	METRIC_GAUGE,
	METRIC_HISTOGRAM,
	METRIC_INFO, /* always 1: what there is to know is in its labels */
};

struct metric_row {
	const char *name;           /* of the family, without what is shown after it: _total, _info */
	enum metric_type type;
	const char *unit;           /* "seconds", "bytes", or "": the name ends in it */
	const char *help;           /* a sentence or two */
	const char *const *labels;  /* label sets, NULL-terminated; NULL: one series without labels */
	const double *buckets;      /* HISTOGRAM: as in base/histogram.h */
};

#define METRIC_LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct metric_registry;

/* All series at 0. rows is borrowed for the life of the registry. Fails with ERROR_NO_MEMORY. */
MUST_USE int metric_registry_new(const struct metric_row *rows, size_t n_rows,
				 struct metric_registry **ret_registry, struct error *err);
/* Accepts NULL. */
void metric_registry_free(struct metric_registry *registry);
/* The same for CLEANUP. */
void metric_registry_freep(struct metric_registry **registry);

/* id is the index of the row, label the index of its label set (0 where it has none). */
void metric_add(struct metric_registry *registry, size_t id, size_t label, uint64_t n);
/* metric_add() of 1; both are for rows of METRIC_COUNTER only. */
void metric_increment(struct metric_registry *registry, size_t id, size_t label);
/* What a counter shows when somebody else counts; never less than before. */
void metric_set_total(struct metric_registry *registry, size_t id, size_t label, uint64_t total);
/* The value of a gauge or a real counter. */
void metric_set(struct metric_registry *registry, size_t id, size_t label, double value);

/* Counts a value of a histogram. */
void metric_observe(struct metric_registry *registry, size_t id, size_t label, double value);
/* What a histogram shows when somebody else counts, with the bounds of the row; never less than before. */
void metric_set_histogram(struct metric_registry *registry, size_t id, size_t label,
			  const struct histogram *histogram);

/* What a counter or a gauge shows; how many values a histogram has counted. */
double metric_value(const struct metric_registry *registry, size_t id, size_t label);

#define METRIC_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Appends all series in the table's order and "# EOF". Failure is the buffer's. */
void metric_render(const struct metric_registry *registry, struct sbuf *buf);
