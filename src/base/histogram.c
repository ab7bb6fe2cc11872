/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <assert.h>
#include <math.h>

const double histogram_seconds[] = {
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
	0.5,    1,     2.5,    5,     10,   30,    60,   INFINITY,
};

const double histogram_short_seconds[] = {
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, INFINITY,
};

size_t histogram_size(const double *bounds)
{
	size_t n = 0;
	while (!isinf(bounds[n]))
		n++;
	assert(n < HISTOGRAM_MAX);
	return n + 1;
}

size_t histogram_place(const double *bounds, double value)
{
	size_t place = 0;
	/* What is no number is below no bound. */
	while (!isinf(bounds[place]) && !(value <= bounds[place]))
		place++;
	return place;
}

void histogram_observe(struct histogram *histogram, double value)
{
	histogram->counts[histogram_place(histogram->bounds, value)]++;
	histogram->sum += value;
}
