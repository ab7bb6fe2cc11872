/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/why_view.h"

#include "kubectl/words.h"
#include "lib/gpu_world.h"

enum world { WORLD, TROUBLE, DRIFT };

typedef int (*view_fn)(struct output *output, const struct why_view_subject *subjects,
		       size_t n_subjects, struct arena *arena, struct error *err);

static void assert_view(view_fn view, enum world world, const char *device, const char *pod_uid,
			int64_t now, const char *screen)
{
	static void (*const read[])(struct device_list *) = {gpu_world_devices, gpu_world_trouble,
							     gpu_world_drift};
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct error err;
	read[world](&list);
	const struct why_view_subject subject = {gpu_world_device(&list, device),
						 view_from(pod_uid)};
	output_init(&output, view == why_view_json ? OUTPUT_JSON : OUTPUT_TABLE, now);
	assert_int_equal(view(&output, &subject, 1, &list.arena, &err), 0);
	gpu_world_assert_screen(&output, screen);
}

static void each_statement_has_its_witnesses_and_its_row(void **state)
{
	(void)state;
	assert_view(why_view, DRIFT, "GPU-bbbb0000", "", GPU_WORLD_NOW, "why_drift");
}

static void of_a_pod_only_its_own_tenancy_is_told(void **state)
{
	(void)state;
	assert_view(why_view, DRIFT, "GPU-bbbb0000", "000000b2-1c16-46f0-9aee-b624a6d8abae",
		    GPU_WORLD_NOW, "why_pod");
}

static void an_error_is_told_with_its_time_and_who_was_there(void **state)
{
	(void)state;
	assert_view(why_view, TROUBLE, "GPU-9c1d0000", "", WORDS_NO_NOW, "why_failed");
}

static void under_mig_each_partition_is_told(void **state)
{
	(void)state;
	assert_view(why_view, TROUBLE, "GPU-5555bbbb", "", GPU_WORLD_NOW, "why_mig");
}

static void what_is_not_known_is_said_to_be_so(void **state)
{
	(void)state;
	assert_view(why_view, WORLD, "GPU-99990000", "", GPU_WORLD_NOW, "why_unknown");
}

static void work_of_which_a_label_tells_is_said_to_be_so(void **state)
{
	(void)state;
	static struct attribution_pending_drift work = {VIEW_INIT("MIGReconfiguration"),
						       GPU_WORLD_NOW - 60000};
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct attribution device;
	struct error err;
	gpu_world_trouble(&list);
	device = *gpu_world_device(&list, "GPU-5555bbbb");
	device.status.intent.pending = array_of(&work, 1);
	const struct why_view_subject subject = {&device, view_from("")};
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	assert_int_equal(why_view(&output, &subject, 1, &list.arena, &err), 0);
	gpu_world_assert_screen(&output, "why_work");
}

static void json_has_table_and_row(void **state)
{
	(void)state;
	assert_view(why_view_json, DRIFT, "GPU-bbbb0000", "", GPU_WORLD_NOW, "why_json");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_statement_has_its_witnesses_and_its_row),
	cmocka_unit_test(of_a_pod_only_its_own_tenancy_is_told),
	cmocka_unit_test(an_error_is_told_with_its_time_and_who_was_there),
	cmocka_unit_test(under_mig_each_partition_is_told),
	cmocka_unit_test(what_is_not_known_is_said_to_be_so),
	cmocka_unit_test(work_of_which_a_label_tells_is_said_to_be_so),
	cmocka_unit_test(json_has_table_and_row),
};
TEST_MAIN(tests)
