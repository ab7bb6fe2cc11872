/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * histogram - how often a value fell between which bounds, for metrics (base/metric.h).
 *
 * Threads: owner.
 * Limits:  HISTOGRAM_MAX bounds.
 */

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_MAX 24u

/*
 * Upper bounds, each included, rising; the last one is INFINITY. Those for times in seconds serve all
 * that take from half a millisecond to a minute.
 */
extern const double histogram_seconds[];
/* The same for what should take a few milliseconds at most: from a tenth of one to a second. */
extern const double histogram_short_seconds[];

/* Zeroed, but for the bounds, nothing was observed. */
struct histogram {
	const double *bounds;           /* borrowed */
	uint64_t counts[HISTOGRAM_MAX]; /* of each bound, without those below it */
	double sum;
};

/* The number of bounds, INFINITY included; at most HISTOGRAM_MAX. */
size_t histogram_size(const double *bounds);
/* The place of the lowest bound that is not below the value. */
size_t histogram_place(const double *bounds, double value);
/* Counts a value. */
void histogram_observe(struct histogram *histogram, double value);
