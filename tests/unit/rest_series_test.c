/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/rest_series.h"
#include "kube/request_counts.h"

static void each_method_and_code_has_its_series_with_the_host(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	const char *const *labels = rest_series_requests(&arena, VIEW("10.96.0.1:443"));
	size_t n = 0;
	while (labels[n])
		n++;
	assert_int_equal(n, REQUEST_COUNTS_METHODS * REQUEST_COUNTS_CODES);
	assert_string_equal(labels[0], "code=\"<error>\",method=\"GET\",host=\"10.96.0.1:443\"");
	assert_string_equal(labels[2 * REQUEST_COUNTS_CODES + 1],
			    "code=\"200\",method=\"PUT\",host=\"10.96.0.1:443\"");
}

static void each_method_has_its_durations(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, LIMIT_MIB);
	const char *const *labels = rest_series_durations(&arena, VIEW("[fd00::1]:6443"));
	assert_string_equal(labels[0], "verb=\"GET\",host=\"[fd00::1]:6443\"");
	assert_string_equal(labels[4], "verb=\"DELETE\",host=\"[fd00::1]:6443\"");
	assert_null(labels[5]);
}

static void a_host_forges_no_label(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	char name[1000];
	arena_init(&arena, LIMIT_MIB);
	const char *const *labels = rest_series_durations(&arena, VIEW("a\"} 1\nb\\"));
	assert_string_equal(labels[0], "verb=\"GET\",host=\"a1b\"");
	memset(name, 'n', sizeof(name));
	labels = rest_series_durations(&arena, (struct view){name, sizeof(name)});
	assert_int_equal(strlen(labels[0]), strlen("verb=\"GET\",host=\"\"") + LIMIT_TEXT_NAME);
}

static void without_memory_there_is_none(void **state)
{
	(void)state;
	CLEANUP(arena_deinit) struct arena arena;
	arena_init(&arena, 1000);
	assert_null(rest_series_requests(&arena, VIEW("host")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_method_and_code_has_its_series_with_the_host),
	cmocka_unit_test(each_method_has_its_durations),
	cmocka_unit_test(a_host_forges_no_label),
	cmocka_unit_test(without_memory_there_is_none),
};
TEST_MAIN(tests)
