/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/device_view.h"
#include "lib/gpu_world.h"

typedef void (*view_fn)(struct page *page, const struct attribution *device);

static void assert_device(view_fn view, const char *start, const char *screen)
{
	CLEANUP(catalogue_deinit) struct catalogue catalogue;
	CLEANUP(page_deinit) struct page page;
	gpu_world_devices(&catalogue);
	page_init(&page, PAGE_TABLE, GPU_WORLD_NOW);
	view(&page, gpu_world_device(&catalogue, start));
	gpu_world_assert_screen(&page, screen);
}

static void an_error_event_names_who_was_there(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-11ba9c1d", "device_failed");
}

static void partitions_say_who_holds_them(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-77770000", "device_mig");
}

static void shared_devices_show_all_that_there_is(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-3f1a0000", "device_shared");
}

static void a_device_of_which_nothing_is_known_is_all_question_marks(void **state)
{
	(void)state;
	assert_device(device_view, "GPU-99990000", "device_unknown");
}

static void json_has_the_object_as_the_api_has_it(void **state)
{
	(void)state;
	assert_device(device_view_json, "GPU-11ba9c1d", "device_json");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_error_event_names_who_was_there),
	cmocka_unit_test(partitions_say_who_holds_them),
	cmocka_unit_test(shared_devices_show_all_that_there_is),
	cmocka_unit_test(a_device_of_which_nothing_is_known_is_all_question_marks),
	cmocka_unit_test(json_has_the_object_as_the_api_has_it),
};
TEST_MAIN(tests)
