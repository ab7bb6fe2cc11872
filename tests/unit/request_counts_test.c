/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "kube/request_counts.h"

static size_t code(const char *text)
{
	for (size_t i = 0; i < REQUEST_COUNTS_CODES; i++) {
		if (strcmp(request_counts_codes[i], text) == 0)
			return i;
	}
	fail_msg("no code %s", text);
	return 0;
}

static void each_status_counts_under_its_own_label(void **state)
{
	(void)state;
	struct request_counts counts;
	request_counts_init(&counts);
	for (int status = 100; status < 600; status++) {
		char text[16];
		size_t i;
		snprintf(text, sizeof(text), "%d", status);
		for (i = 0; i < REQUEST_COUNTS_CODES && strcmp(request_counts_codes[i], text) != 0; i++)
			;
		request_counts_add(&counts, "PUT", status);
		if (i < REQUEST_COUNTS_CODES)
			assert_int_equal(counts.counts[2][i], 1);
	}
	assert_int_equal(counts.counts[2][code("<other>")], 500 - (REQUEST_COUNTS_CODES - 2));
	assert_int_equal(counts.counts[2][code("<error>")], 0);
	request_counts_add(&counts, "PUT", 0);
	assert_int_equal(counts.counts[2][code("<error>")], 1);
}

static void methods_are_told_apart_and_what_is_unknown_reads(void **state)
{
	(void)state;
	struct request_counts counts;
	request_counts_init(&counts);
	for (size_t i = 0; i < REQUEST_COUNTS_METHODS; i++)
		request_counts_add(&counts, request_counts_methods[i], 200);
	request_counts_add(&counts, "OPTIONS", 200);
	for (size_t i = 0; i < REQUEST_COUNTS_METHODS; i++)
		assert_int_equal(counts.counts[i][code("200")], i == 0 ? 2 : 1);
}

static void each_method_is_timed(void **state)
{
	(void)state;
	struct request_counts counts;
	request_counts_init(&counts);
	for (size_t i = 0; i < REQUEST_COUNTS_METHODS; i++) {
		request_counts_time(&counts, request_counts_methods[i], 1500 + 1000 * i);
		assert_int_equal((uint64_t)(counts.durations[i].sum * 1000), 1500 + 1000 * i);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_status_counts_under_its_own_label),
	cmocka_unit_test(methods_are_told_apart_and_what_is_unknown_reads),
	cmocka_unit_test(each_method_is_timed),
};
TEST_MAIN(tests)
