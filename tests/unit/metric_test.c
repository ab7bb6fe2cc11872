/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <math.h>
#include <pthread.h>

#include "base/metric.h"

enum {
	REPORTS,
	SYNCED,
	SIZE,
	CPU,
	WAITED,
	ANSWERED,
	BUILD,
};

static const double bounds[] = {0.25, 1, INFINITY};

static const struct metric_row rows[] = {
	{"app_reports", METRIC_COUNTER, "", "Reports by answer.",
	 METRIC_LABELS("code=\"200\"", "code=\"400\"")},
	{"app_synced", METRIC_GAUGE, "", "1 when synced.", NULL},
	{"app_size_bytes", METRIC_GAUGE, "bytes", "Size by kind.", METRIC_LABELS("kind=\"a\"")},
	{"app_cpu_seconds", METRIC_COUNTER_REAL, "seconds", "Time taken.", METRIC_LABELS("op=\"x\"")},
	{"app_waited_seconds", METRIC_HISTOGRAM, "seconds", "Time waited.", NULL, bounds},
	{"app_answered_seconds", METRIC_HISTOGRAM, "seconds", "Time to an answer.",
	 METRIC_LABELS("op=\"x\"", "op=\"y\""), bounds},
	{"app_build", METRIC_INFO, "", "What runs.", METRIC_LABELS("version=\"1.2\"")},
};

static struct metric_registry *new_registry(void)
{
	struct metric_registry *registry;
	struct error err;
	assert_int_equal(metric_registry_new(rows, ARRAY_SIZE(rows), &registry, &err), 0);
	return registry;
}

static void every_series_is_there_at_zero(void **state)
{
	(void)state;
	CLEANUP(metric_registry_freep) struct metric_registry *registry = new_registry();
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 10000);
	metric_render(registry, &buf);
	assert_string_equal(sbuf_text(&buf),
			    "# TYPE app_reports counter\n"
			    "# HELP app_reports Reports by answer.\n"
			    "app_reports_total{code=\"200\"} 0\n"
			    "app_reports_total{code=\"400\"} 0\n"
			    "# TYPE app_synced gauge\n"
			    "# HELP app_synced 1 when synced.\n"
			    "app_synced 0\n"
			    "# TYPE app_size_bytes gauge\n"
			    "# UNIT app_size_bytes bytes\n"
			    "# HELP app_size_bytes Size by kind.\n"
			    "app_size_bytes{kind=\"a\"} 0\n"
			    "# TYPE app_cpu_seconds counter\n"
			    "# UNIT app_cpu_seconds seconds\n"
			    "# HELP app_cpu_seconds Time taken.\n"
			    "app_cpu_seconds_total{op=\"x\"} 0\n"
			    "# TYPE app_waited_seconds histogram\n"
			    "# UNIT app_waited_seconds seconds\n"
			    "# HELP app_waited_seconds Time waited.\n"
			    "app_waited_seconds_bucket{le=\"0.25\"} 0\n"
			    "app_waited_seconds_bucket{le=\"1.0\"} 0\n"
			    "app_waited_seconds_bucket{le=\"+Inf\"} 0\n"
			    "app_waited_seconds_count 0\n"
			    "app_waited_seconds_sum 0\n"
			    "# TYPE app_answered_seconds histogram\n"
			    "# UNIT app_answered_seconds seconds\n"
			    "# HELP app_answered_seconds Time to an answer.\n"
			    "app_answered_seconds_bucket{op=\"x\",le=\"0.25\"} 0\n"
			    "app_answered_seconds_bucket{op=\"x\",le=\"1.0\"} 0\n"
			    "app_answered_seconds_bucket{op=\"x\",le=\"+Inf\"} 0\n"
			    "app_answered_seconds_count{op=\"x\"} 0\n"
			    "app_answered_seconds_sum{op=\"x\"} 0\n"
			    "app_answered_seconds_bucket{op=\"y\",le=\"0.25\"} 0\n"
			    "app_answered_seconds_bucket{op=\"y\",le=\"1.0\"} 0\n"
			    "app_answered_seconds_bucket{op=\"y\",le=\"+Inf\"} 0\n"
			    "app_answered_seconds_count{op=\"y\"} 0\n"
			    "app_answered_seconds_sum{op=\"y\"} 0\n"
			    "# TYPE app_build info\n"
			    "# HELP app_build What runs.\n"
			    "app_build_info{version=\"1.2\"} 1\n"
			    "# EOF\n");
}

static void updates_reach_their_own_series_only(void **state)
{
	(void)state;
	CLEANUP(metric_registry_freep) struct metric_registry *registry = new_registry();
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 10000);
	metric_increment(registry, REPORTS, 1);
	metric_add(registry, REPORTS, 1, 9999999999);
	metric_set(registry, SYNCED, 0, 1);
	metric_set(registry, SIZE, 0, -2.5);
	metric_render(registry, &buf);
	const char *text = sbuf_text(&buf);
	assert_non_null(strstr(text, "app_reports_total{code=\"200\"} 0\n"));
	assert_non_null(strstr(text, "app_reports_total{code=\"400\"} 10000000000\n"));
	assert_non_null(strstr(text, "app_synced 1\n"));
	assert_non_null(strstr(text, "app_size_bytes{kind=\"a\"} -2.5\n"));
	assert_non_null(strstr(text, "app_cpu_seconds_total{op=\"x\"} 0\n"));
	assert_true(metric_value(registry, REPORTS, 1) >= 1e10);
	assert_true(metric_value(registry, REPORTS, 0) <= 0);
	assert_true(metric_value(registry, SIZE, 0) < -2);
}

static void odd_numbers_are_written_as_the_format_wants(void **state)
{
	(void)state;
	static const struct {
		double value;
		const char *text;
	} numbers[] = {
		{0.1, "app_synced 0.1\n"},
		{1.0 / 3, "app_synced 0.3333333333333333\n"},
		{1e300, "app_synced 1e+300\n"},
		{1767323045.678, "app_synced 1767323045.678\n"},
		{INFINITY, "app_synced +Inf\n"},
		{-INFINITY, "app_synced -Inf\n"},
		{NAN, "app_synced NaN\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		CLEANUP(metric_registry_freep) struct metric_registry *registry = new_registry();
		CLEANUP(sbuf_deinit) struct sbuf buf;
		sbuf_init(&buf, 10000);
		metric_set(registry, SYNCED, 0, numbers[i].value);
		metric_render(registry, &buf);
		assert_non_null(strstr(sbuf_text(&buf), numbers[i].text));
	}
}

/* Shown of that series of ANSWERED. */
static void assert_answered(struct metric_registry *registry, const char *lines)
{
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 10000);
	metric_render(registry, &buf);
	if (!strstr(sbuf_text(&buf), lines))
		fail_msg("no\n%s in\n%s", lines, sbuf_text(&buf));
}

static void a_histogram_counts_each_value_in_all_buckets_from_its_own_on(void **state)
{
	(void)state;
	CLEANUP(metric_registry_freep) struct metric_registry *registry = new_registry();
	static const double values[] = {0.25, 0.5, 0.5, 1, 2, -1};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		metric_observe(registry, ANSWERED, 1, values[i]);
	assert_answered(registry, "app_answered_seconds_bucket{op=\"y\",le=\"0.25\"} 2\n"
				  "app_answered_seconds_bucket{op=\"y\",le=\"1.0\"} 5\n"
				  "app_answered_seconds_bucket{op=\"y\",le=\"+Inf\"} 6\n"
				  "app_answered_seconds_count{op=\"y\"} 6\n"
				  "app_answered_seconds_sum{op=\"y\"} 3.25\n");
	assert_answered(registry, "app_answered_seconds_count{op=\"x\"} 0\n");
	assert_true(metric_value(registry, ANSWERED, 1) >= 6);
}

static void a_histogram_that_others_count_is_shown_as_it_is(void **state)
{
	(void)state;
	CLEANUP(metric_registry_freep) struct metric_registry *registry = new_registry();
	struct histogram histogram = {.bounds = bounds};
	histogram_observe(&histogram, 0.5);
	histogram_observe(&histogram, 7);
	for (int i = 0; i < 2; i++)
		metric_set_histogram(registry, ANSWERED, 0, &histogram);
	assert_answered(registry, "app_answered_seconds_bucket{op=\"x\",le=\"0.25\"} 0\n"
				  "app_answered_seconds_bucket{op=\"x\",le=\"1.0\"} 1\n"
				  "app_answered_seconds_bucket{op=\"x\",le=\"+Inf\"} 2\n"
				  "app_answered_seconds_count{op=\"x\"} 2\n"
				  "app_answered_seconds_sum{op=\"x\"} 7.5\n");
}

static void *count_up(void *registry)
{
	for (int i = 0; i < 10000; i++) {
		metric_increment(registry, REPORTS, 0);
		metric_observe(registry, WAITED, 0, 0.5);
	}
	return NULL;
}

static void threads_lose_no_update(void **state)
{
	(void)state;
	CLEANUP(metric_registry_freep) struct metric_registry *registry = new_registry();
	CLEANUP(sbuf_deinit) struct sbuf buf;
	sbuf_init(&buf, 10000);
	pthread_t threads[3];
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_up, registry), 0);
	metric_render(registry, &buf);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	sbuf_clear(&buf);
	metric_render(registry, &buf);
	assert_non_null(strstr(sbuf_text(&buf), "app_reports_total{code=\"200\"} 30000\n"));
	assert_non_null(strstr(sbuf_text(&buf), "app_waited_seconds_sum 15000\n"));
}

static void lack_of_memory_is_told(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct metric_registry *registry = NULL;
		struct error err;
		failing_malloc_at(k);
		int result = metric_registry_new(rows, ARRAY_SIZE(rows), &registry, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_true(failed == (registry == NULL));
		metric_registry_free(registry);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_series_is_there_at_zero),
	cmocka_unit_test(updates_reach_their_own_series_only),
	cmocka_unit_test(a_histogram_counts_each_value_in_all_buckets_from_its_own_on),
	cmocka_unit_test(a_histogram_that_others_count_is_shown_as_it_is),
	cmocka_unit_test(odd_numbers_are_written_as_the_format_wants),
	cmocka_unit_test(threads_lose_no_update),
	cmocka_unit_test(lack_of_memory_is_told),
};
TEST_MAIN(tests)
