/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <math.h>

#include "base/histogram.h"
#include "base/stopwatch.h"

static void bounds_rise_and_end_with_everything(void **state)
{
	(void)state;
	size_t n = histogram_size(histogram_seconds);
	assert_in_range(n, 2, HISTOGRAM_MAX);
	assert_true(isinf(histogram_seconds[n - 1]));
	for (size_t i = 1; i < n; i++)
		assert_true(histogram_seconds[i - 1] < histogram_seconds[i]);
}

static void a_value_belongs_to_the_lowest_bound_that_is_not_below_it(void **state)
{
	(void)state;
	static const double bounds[] = {1, 2, INFINITY};
	static const struct {
		double value;
		size_t place;
	} rows[] = {{-5, 0}, {0, 0}, {1, 0}, {1.5, 1}, {2, 1}, {2.5, 2}, {1e300, 2}, {INFINITY, 2},
		    {NAN, 2}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(histogram_place(bounds, rows[i].value), rows[i].place);
}

static void a_stopwatch_goes_forward(void **state)
{
	(void)state;
	uint64_t since = stopwatch_us();
	double seconds = stopwatch_seconds(since);
	assert_true(seconds >= 0 && seconds < 600);
	uint64_t cpu_us = stopwatch_cpu_us();
	while (stopwatch_cpu_us() == cpu_us)
		;
	assert_true(stopwatch_cpu_us() > cpu_us);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(bounds_rise_and_end_with_everything),
	cmocka_unit_test(a_value_belongs_to_the_lowest_bound_that_is_not_below_it),
	cmocka_unit_test(a_stopwatch_goes_forward),
};
TEST_MAIN(tests)
