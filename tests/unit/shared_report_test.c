/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "controller/shared_report.h"

static void each_reference_is_given_up_once(void **state)
{
	(void)state;
	struct error err;
	struct shared_report *report = shared_report_new(100, &err);
	assert_non_null(report);
	assert_int_equal(report->references, 1);
	assert_ptr_equal(shared_report_ref(report), report);
	assert_int_equal(report->references, 2);
	shared_report_unref(report);
	assert_int_equal(report->references, 1);
	shared_report_unref(report);
	shared_report_unref(NULL);
}

static void the_last_reference_frees_what_the_report_points_to(void **state)
{
	(void)state;
	struct error err;
	CLEANUP(shared_report_unrefp) struct shared_report *report = shared_report_new(100, &err);
	assert_non_null(report);
	assert_non_null(arena_alloc(&report->arena, 50, 1));
	assert_null(arena_alloc(&report->arena, 200, 1));
}

static void lack_of_memory_is_told(void **state)
{
	(void)state;
	struct error err;
	failing_malloc_at(1);
	struct shared_report *report = shared_report_new(100, &err);
	assert_true(failing_malloc_off());
	assert_null(report);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
}

static void its_memory_is_charged_until_the_last_reference_is_given_up(void **state)
{
	(void)state;
	struct error err;
	struct memory_account *account = memory_account_new(1 << 20, &err);
	struct memory_share *share = memory_share_new(account, &err);
	struct shared_report *report = shared_report_new(4096, &err);
	assert_non_null(arena_alloc(&report->arena, 3000, 1));
	assert_true(shared_report_charge(report, share, 0));
	assert_in_range(memory_account_state(account).used, 3000, 5000);
	(void)shared_report_ref(report);
	shared_report_unref(report);
	/* The node's record may be gone before. */
	memory_share_unref(share);
	assert_in_range(memory_account_state(account).used, 3000, 5000);
	shared_report_unref(report);
	assert_int_equal(memory_account_state(account).used, 0);
	memory_account_unref(account);
}

static void a_report_that_finds_no_room_is_charged_to_nobody(void **state)
{
	(void)state;
	struct error err;
	struct memory_account *account = memory_account_new(2000, &err);
	struct memory_share *share = memory_share_new(account, &err);
	struct shared_report *report = shared_report_new(4096, &err);
	assert_non_null(arena_alloc(&report->arena, 3000, 1));
	assert_false(shared_report_charge(report, share, 0));
	assert_int_equal(memory_account_state(account).used, 0);
	shared_report_unref(report);
	memory_share_unref(share);
	memory_account_unref(account);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_reference_is_given_up_once),
	cmocka_unit_test(the_last_reference_frees_what_the_report_points_to),
	cmocka_unit_test(its_memory_is_charged_until_the_last_reference_is_given_up),
	cmocka_unit_test(a_report_that_finds_no_room_is_charged_to_nobody),
	cmocka_unit_test(lack_of_memory_is_told),
};
TEST_MAIN(tests)
