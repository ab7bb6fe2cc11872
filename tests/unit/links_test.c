/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "model/links.h"

#define LONG_NAME "GPU-11111111-2222-3333-4444-555555555555-that-is-longer-than-any-UUID-may-be"

static struct links links;
static struct report_device devices[2];
static struct report report;

static int set_up(void **state)
{
	(void)state;
	links = (struct links){0};
	devices[0] = (struct report_device){.uuid = VIEW("GPU-1")};
	devices[1] = (struct report_device){.uuid = VIEW("GPU-2")};
	report = (struct report){.boot_id = VIEW("boot"), .devices = {devices, 2, true}};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	links_forget(&links);
	return 0;
}

/* Of the first device; -1: no count can be read. */
static int64_t most_after(int64_t active)
{
	devices[0].condition.nvlinks = (struct report_links){active >= 0, 18, active >= 0 ? active : 99};
	links_hear(&links, &report);
	return links_find(&links, VIEW("GPU-1"));
}

static void the_most_links_of_all_reports_are_known(void **state)
{
	(void)state;
	assert_int_equal(most_after(-1), 0);
	assert_int_equal(most_after(0), 0);
	assert_int_equal(most_after(10), 10);
	assert_int_equal(most_after(12), 12);
	assert_int_equal(most_after(11), 12);
	assert_int_equal(most_after(-1), 12);
	assert_int_equal(links_find(&links, VIEW("GPU-2")), 0);
	assert_int_equal(links_find(NULL, VIEW("GPU-1")), 0);
	links_forget(&links);
	assert_int_equal(most_after(11), 11);
}

static void each_device_has_links_of_its_own(void **state)
{
	(void)state;
	devices[1].condition.nvlinks = (struct report_links){true, 18, 4};
	assert_int_equal(most_after(12), 12);
	assert_int_equal(links_find(&links, VIEW("GPU-2")), 4);
}

static void what_a_lost_device_repeats_does_not_count(void **state)
{
	(void)state;
	devices[0].condition.lost = true;
	assert_int_equal(most_after(12), 0);
	devices[0].condition.lost = false;
	assert_int_equal(most_after(10), 10);
}

static void in_mig_mode_none_are_known_and_after_it_they_are_counted_anew(void **state)
{
	(void)state;
	assert_int_equal(most_after(12), 12);
	devices[0].mig.current = true;
	assert_int_equal(most_after(12), 0);
	devices[0].mig.current = false;
	assert_int_equal(most_after(10), 10);
}

static void without_a_boot_or_a_name_that_fits_nothing_is_known(void **state)
{
	(void)state;
	report.boot_id = (struct view){0};
	assert_int_equal(most_after(12), 0);
	report.boot_id = VIEW("boot");
	devices[0].uuid = VIEW(LONG_NAME);
	assert_int_equal(most_after(12), 0);
	assert_int_equal(links_find(&links, VIEW(LONG_NAME)), 0);
}

static void as_many_devices_as_a_report_has_are_known(void **state)
{
	(void)state;
	char name[LIMIT_REPORT_DEVICES + 1][16];
	report.devices.count = 1;
	for (unsigned i = 0; i <= LIMIT_REPORT_DEVICES; i++) {
		snprintf(name[i], sizeof(name[i]), "GPU-%u", i);
		devices[0].uuid = view_from(name[i]);
		most_after(12);
		assert_int_equal(links_find(&links, devices[0].uuid), i < LIMIT_REPORT_DEVICES ? 12 : 0);
	}
}

static void without_memory_none_are_known_until_there_is_some(void **state)
{
	(void)state;
	failing_malloc_at(1);
	assert_int_equal(most_after(12), 0);
	assert_true(failing_malloc_off());
	assert_int_equal(most_after(11), 11);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(the_most_links_of_all_reports_are_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_device_has_links_of_its_own, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_a_lost_device_repeats_does_not_count, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		in_mig_mode_none_are_known_and_after_it_they_are_counted_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_boot_or_a_name_that_fits_nothing_is_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(as_many_devices_as_a_report_has_are_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_none_are_known_until_there_is_some, set_up, tear_down),
};

TEST_MAIN(tests)
