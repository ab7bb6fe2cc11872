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

static void utilisation_under_mps_and_time_slicing_is_said_to_be_the_devices(void **state)
{
	(void)state;
	static const struct {
		int mode;
		int64_t n_tenants;
		const char *line;
	} rows[] = {
		{ATTRIBUTION_MODE_MPS, 4,
		 "Activity:        Unknown; utilisation belongs to the device, to none of its 4 "
		 "tenants\n"},
		{ATTRIBUTION_MODE_TIME_SLICED, 2,
		 "Activity:        Unknown; utilisation belongs to the device, to none of its 2 "
		 "tenants\n"},
		{ATTRIBUTION_MODE_MPS, 1, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_TIME_SLICED, -1, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_EXCLUSIVE, 2, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_MIG, 2, "Activity:        Unknown\n"},
		{ATTRIBUTION_MODE_MIG_TIME_SLICED, 2, "Activity:        Unknown\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct attribution device = {
			.uuid = VIEW("GPU-1"),
			.status = {.sharing.mode = rows[i].mode,
				   .tenant_count = rows[i].n_tenants,
				   .activity = {.state = ATTRIBUTION_ACTIVITY_UNKNOWN,
						.scope = ATTRIBUTION_SCOPE_DEVICE}}};
		CLEANUP(page_deinit) struct page page;
		struct error err;
		page_init(&page, PAGE_TABLE, GPU_WORLD_NOW);
		device_view(&page, &device);
		assert_int_equal(page_finish(&page, &err), 0);
		sbuf_append_char(&page.body, '\0');
		if (!strstr(page.body.ptr, rows[i].line))
			fail_msg("no %s in %s", rows[i].line, page.body.ptr);
	}
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
	cmocka_unit_test(utilisation_under_mps_and_time_slicing_is_said_to_be_the_devices),
	cmocka_unit_test(a_device_of_which_nothing_is_known_is_all_question_marks),
	cmocka_unit_test(json_has_the_object_as_the_api_has_it),
};
TEST_MAIN(tests)
