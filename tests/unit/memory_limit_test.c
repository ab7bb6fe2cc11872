/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/own_folder.h"
#include "lib/test_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "controller/memory_account.h"
#include "controller/memory_limit.h"
#include "controller/senders.h"

#define MIB ((size_t)LIMIT_MIB)

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void a_container_of_version_2_has_its_limit_at_the_root(void **state)
{
	(void)state;
	put("memory.max", "268435456\n");
	assert_int_equal(memory_limit_of_cgroups(VIEW("0::/\n"), "."), 256 * MIB);
	put("memory.max", "max\n");
	assert_true(memory_limit_of_cgroups(VIEW("0::/\n"), ".") == SIZE_MAX);
	assert_int_equal(unlink("memory.max"), 0);
}

static void the_least_limit_on_the_way_to_the_root_binds(void **state)
{
	(void)state;
	assert_int_equal(mkdir("pod", 0700), 0);
	assert_int_equal(mkdir("pod/c", 0700), 0);
	put("pod/c/memory.max", "max\n");
	put("pod/memory.max", "134217728\n");
	assert_int_equal(memory_limit_of_cgroups(VIEW("0::/pod/c\n"), "."), 128 * MIB);
	put("pod/c/memory.max", "67108864\n");
	assert_int_equal(memory_limit_of_cgroups(VIEW("0::/pod/c\n"), "."), 64 * MIB);
	put("memory.max", "33554432");
	assert_int_equal(memory_limit_of_cgroups(VIEW("0::/pod/c\n"), "."), 32 * MIB);
	assert_int_equal(unlink("memory.max"), 0);
	assert_int_equal(unlink("pod/memory.max"), 0);
	assert_int_equal(unlink("pod/c/memory.max"), 0);
	assert_int_equal(rmdir("pod/c"), 0);
	assert_int_equal(rmdir("pod"), 0);
}

static void of_version_1_the_memory_controller_is_looked_at(void **state)
{
	(void)state;
	const struct view own = VIEW("5:devices:/d\n4:cpu,memory:/on-the-host\n1:name=systemd:/\n0::/\n");
	assert_int_equal(mkdir("memory", 0700), 0);
	assert_true(memory_limit_of_cgroups(own, ".") == SIZE_MAX);
	/* The container's own: the path of the host is not there. */
	put("memory/memory.limit_in_bytes", "268435456\n");
	assert_int_equal(memory_limit_of_cgroups(own, "."), 256 * MIB);
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_true(memory_limit_of_cgroups(own, ".") == SIZE_MAX);
	assert_int_equal(unlink("memory/memory.limit_in_bytes"), 0);
	assert_int_equal(rmdir("memory"), 0);
}

static void what_cannot_be_read_sets_no_limit(void **state)
{
	(void)state;
	assert_true(memory_limit_of_cgroups(VIEW(""), ".") == SIZE_MAX);
	assert_true(memory_limit_of_cgroups(VIEW("0::/nowhere\nnonsense\n::\n"), ".") == SIZE_MAX);
	put("memory.max", "");
	assert_true(memory_limit_of_cgroups(VIEW("0::/\n"), ".") == SIZE_MAX);
	assert_int_equal(unlink("memory.max"), 0);
}

static void what_is_wanted_goes_before_the_cgroup(void **state)
{
	(void)state;
	assert_int_equal(memory_limit_choose(123 * MIB), 123 * MIB);
	assert_in_range(memory_limit_choose(0), 1, SIZE_MAX - 1);
}

static void a_limit_that_is_too_small_is_an_error_that_says_the_least(void **state)
{
	(void)state;
	struct error err;
	assert_int_equal(memory_limit_check(192 * MIB - 1, &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	assert_non_null(strstr(err.text, "201326591"));
	assert_non_null(strstr(err.text, "192Mi or more")); /* as settings.def says */
	assert_int_equal(memory_limit_check(192 * MIB, &err), 0);
	assert_int_equal(memory_limit_check(SIZE_MAX, &err), 0);
}

static size_t parts_of(size_t limit)
{
	return memory_limit_bodies(limit) + memory_limit_reports(limit) / 8 * 9 +
	       memory_limit_join(limit) + 16 * MIB +
	       (size_t)memory_limit_connections(limit, UINT32_MAX) * MEMORY_LIMIT_CONNECTION;
}

/* What the top of the source promises. */
static void the_parts_are_70_percent_at_most_of_any_limit(void **state)
{
	(void)state;
	for (size_t limit = MEMORY_LIMIT_LEAST; limit <= 2048 * MIB; limit += MIB / 2)
		assert_true(parts_of(limit) <= limit / 10 * 7);
	for (size_t limit = 384 * MIB; limit <= 65536 * MIB; limit *= 2)
		assert_true(parts_of(limit) <= limit / 100 * 62);
}

/* For objects of the API server, and all that has no part. */
static void with_pages_of_metrics_a_tenth_of_any_limit_is_left(void **state)
{
	(void)state;
	for (size_t limit = MEMORY_LIMIT_LEAST; limit <= 2048 * MIB; limit += MIB / 2)
		assert_true((parts_of(limit) + memory_limit_pages(limit)) * 10 <= limit * 9);
}

static void pages_of_metrics_have_a_fifth_and_at_most_96_mib(void **state)
{
	(void)state;
	assert_int_equal(memory_limit_pages(MEMORY_LIMIT_LEAST), MEMORY_LIMIT_LEAST / 5);
	assert_int_equal(memory_limit_pages(256 * MIB), 256 * MIB / 5);
	assert_int_equal(memory_limit_pages(480 * MIB), 96 * MIB);
	assert_int_equal(memory_limit_pages(65536 * MIB), 96 * MIB);
}

static void reports_have_a_quarter_or_a_fifth_of_the_least_limit(void **state)
{
	(void)state;
	assert_in_range(memory_limit_reports(MEMORY_LIMIT_LEAST), 192 * MIB / 5, 192 * MIB / 4);
	for (size_t limit = 256 * MIB; limit <= 65536 * MIB; limit *= 2)
		assert_int_equal(memory_limit_reports(limit), limit / 4);
	assert_int_equal(memory_limit_reports(MIB), 0);
}

/* As settings.def says. */
static void there_is_a_connection_for_each_200_kib_and_no_more_than_wanted(void **state)
{
	(void)state;
	assert_int_equal(memory_limit_connections(MEMORY_LIMIT_LEAST, 8192), 983);
	assert_int_equal(memory_limit_connections(256 * MIB, 8192), 1310);
	assert_int_equal(memory_limit_connections(256 * MIB, 1309), 1309);
	assert_int_equal(memory_limit_connections(65536 * MIB, 8192), 8192);
}

/* With any limit that is allowed, at once. */
static void some_bodies_of_the_largest_size_find_memory(void **state)
{
	(void)state;
	enum { N_BODIES = 3 };
	struct error err;
	struct memory_account *account =
		memory_account_new(memory_limit_bodies(MEMORY_LIMIT_LEAST), &err);
	const size_t size = SENDERS_BODY_COST * LIMIT_REPORT_BYTES;
	assert_non_null(account);
	for (unsigned i = 0; i < N_BODIES; i++)
		assert_true(memory_account_take(account, 0, size));
	for (unsigned i = 0; i < N_BODIES; i++)
		memory_account_give_back(account, size, size);
	memory_account_unref(account);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_container_of_version_2_has_its_limit_at_the_root),
	cmocka_unit_test(the_least_limit_on_the_way_to_the_root_binds),
	cmocka_unit_test(of_version_1_the_memory_controller_is_looked_at),
	cmocka_unit_test(what_cannot_be_read_sets_no_limit),
	cmocka_unit_test(what_is_wanted_goes_before_the_cgroup),
	cmocka_unit_test(a_limit_that_is_too_small_is_an_error_that_says_the_least),
	cmocka_unit_test(the_parts_are_70_percent_at_most_of_any_limit),
	cmocka_unit_test(with_pages_of_metrics_a_tenth_of_any_limit_is_left),
	cmocka_unit_test(pages_of_metrics_have_a_fifth_and_at_most_96_mib),
	cmocka_unit_test(reports_have_a_quarter_or_a_fifth_of_the_least_limit),
	cmocka_unit_test(there_is_a_connection_for_each_200_kib_and_no_more_than_wanted),
	cmocka_unit_test(some_bodies_of_the_largest_size_find_memory),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
