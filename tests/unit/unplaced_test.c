/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "base/limits.h"

static struct build_world world;

static int set_up(void **state)
{
	(void)state;
	build_world_init(&world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	build_world_deinit(&world);
	return 0;
}

static const struct attribution_status *publish(void)
{
	build_world_publish(&world);
	return build_world_status(&world, 0);
}

static const struct attribution_status *publish_later(void)
{
	build_world_wait(&world, world.limits.disagreement_ms);
	return publish();
}

static void an_id_of_no_known_form_is_shown_with_its_holder_on_every_device(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, VIEW("what is this"));
	const struct attribution_status *status = publish_later();
	for (unsigned i = 0; i < 2; i++) {
		status = build_world_status(&world, i);
		expect_unplaced(status, "uid-a/main what is this");
		expect_tenants(status, "");
		expect_text(status->slots.summary, "0/1");
		expect_condition(status, "Attributed", CONDITION_FALSE, "UnknownDeviceID");
		expect_condition(status, "Ready", CONDITION_FALSE, "UnknownDeviceID");
	}
	const struct attribution_unplaced *u = ARRAY_AT(status->unplaced_tenants,
							struct attribution_unplaced, 0);
	expect_text(u->pod_namespace, "ml");
	expect_text(u->pod_name, "a");
	expect_text(u->resource, "nvidia.com/gpu");
	assert_int_equal(u->device_ids_left_out, 0);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_device_or_partition_that_nobody_told_of_is_unplaced(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_mig(&world, 7, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_uuid(&world, 7));
	expect_unplaced(publish_later(), "uid-a/main MIG-00000007-0000-4000-8000-000000000000,"
					 "uid-b/main GPU-00000007-0000-4000-8000-0123456789ab");
	/* NVML tells of the device, and of its part. */
	build_world_device(&world, 7);
	build_world_cut(&world, 7, 1);
	world.devices[1].partitions = world.devices[2].partitions;
	world.report.devices.count = 2;
	expect_unplaced(publish(), "");
	expect_tenants(build_world_status(&world, 7), "uid-a/main,uid-b/main");
}

static void a_holder_of_whom_less_is_known_is_shown_with_less(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-unknown", "main", VIEW("x"));
	build_world_list(&world, "unknown", "main", VIEW("x"));
	build_world_list(&world, "ghost", "main", VIEW("y"));
	const struct attribution_status *status = publish_later();
	expect_unplaced(status, "/ y,uid-unknown/main x");
	assert_int_equal(
		ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, 1)->pod_name.len,
		0);
}

static void an_odd_id_is_placed_by_the_uuid_that_it_begins_with(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_offer(&world, VIEW("GPU-00000000-0000-4000-8000-0123456789ab#1"));
	build_world_run(&world, (struct build_pod){.name = "a"},
			VIEW("GPU-00000000-0000-4000-8000-0123456789ab#1"));
	const struct attribution_status *status = publish_later();
	expect_unplaced(status, "");
	expect_tenant(status, "uid-a", ATTRIBUTION_PHASE_RUNNING, ATTRIBUTION_CONFIDENCE_CONFIRMED);
	expect_text(status->slots.summary, "1/1");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_UNKNOWN);
	expect_texts(status->sharing.evidence, "a device ID is of no known form");
	expect_condition(status, "Attributed", CONDITION_FALSE, "UnknownDeviceID");
	expect_condition(status, "Ready", CONDITION_FALSE, "UnknownDeviceID");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "a tenant holds a device ID of no known form: "
		    "GPU-00000000-0000-4000-8000-0123456789ab#1");
}

static void of_several_odd_ids_the_lowest_is_named_and_the_rest_counted(void **state)
{
	(void)state;
	build_world_exclusive(&world, 1);
	build_world_device(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"},
			VIEW("GPU-00000000-0000-4000-8000-0123456789ab#2"));
	build_world_run(&world, (struct build_pod){.name = "b"},
			VIEW("GPU-00000000-0000-4000-8000-0123456789ab#10"));
	build_world_run(&world, (struct build_pod){.name = "c"}, build_world_replica(&world, 0, 1));
	build_world_run(&world, (struct build_pod){.name = "d"},
			VIEW("GPU-00000000-0000-4000-8000-0123456789ab#3"));
	expect_text(attribution_find_condition(publish_later(), VIEW("Attributed"))->message,
		    "a tenant holds a device ID of no known form: "
		    "GPU-00000000-0000-4000-8000-0123456789ab#10 and 2 more");
	expect_condition(build_world_status(&world, 1), "Attributed", CONDITION_TRUE,
			 "AllResolved");
	/* One on offer is held by nobody. */
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_remove_pod(&world, "uid-a");
	build_world_remove_pod(&world, "uid-b");
	build_world_remove_pod(&world, "uid-c");
	build_world_remove_pod(&world, "uid-d");
	build_world_offer(&world, VIEW("GPU-00000000-0000-4000-8000-0123456789ab#2"));
	expect_condition(publish_later(), "Attributed", CONDITION_TRUE, "AllResolved");
}

static void one_that_is_new_is_waited_for(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 7));
	build_world_report(&world);
	expect_unplaced(publish(), "");
	assert_int_equal(build_world_status(&world, 0)->unplaced_tenants_left_out, 0);
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	assert_int_equal(build_world_count_writes(&world), 1);
}

static void each_container_of_a_pod_is_waited_for_by_itself(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .second = "side"});
	build_world_book(&world, "uid-a", "main", VIEW("x"));
	expect_unplaced(publish(), "");
	build_world_wait(&world, 4000);
	build_world_book(&world, "uid-a", "side", VIEW("y"));
	expect_unplaced(publish(), "");
	build_world_wait(&world, world.limits.disagreement_ms - 4000);
	expect_unplaced(publish(), "uid-a/main x");
	assert_int_equal(world.result.again_in_ms, 4000);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, 4000);
	expect_unplaced(publish(), "uid-a/main x,uid-a/side y");
}

static void one_that_was_published_stays_while_it_is_there(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, VIEW("x"));
	publish_later();
	build_world_run(&world, (struct build_pod){.name = "b"}, VIEW("x"));
	build_world_report(&world);
	expect_unplaced(publish(), "uid-a/main x");
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_report(&world);
	expect_unplaced(publish_later(), "uid-a/main x,uid-b/main x");
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	expect_unplaced(publish(), "");
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_TRUE,
			 "AllResolved");
}

static void without_an_agent_they_are_shown_as_well(void **state)
{
	(void)state;
	build_world_pod(&world, (struct build_pod){.name = "a", .told = {VIEW("what is this")}});
	build_world_pod(&world,
			(struct build_pod){.name = "b", .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	expect_unplaced(publish(), "");
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	const struct attribution_status *status = publish_later();
	expect_unplaced(status, "uid-a/main what is this");
	expect_tenants(status, "uid-b/main");
	expect_condition(status, "Attributed", CONDITION_FALSE, "UnknownDeviceID");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void other_news_all_the_time_does_not_put_one_off(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, VIEW("x"));
	publish();
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	build_world_report(&world);
	expect_unplaced(publish(), "");
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	build_world_report(&world);
	expect_unplaced(publish(), "uid-a/main x");
}

static void a_silent_agent_shows_none_that_is_new(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, VIEW("x"));
	publish_later();
	build_world_pod(&world, (struct build_pod){.name = "b", .told = {VIEW("y")}});
	build_world_wait(&world, world.limits.report_stale_ms);
	expect_unplaced(publish_later(), "uid-a/main x");
	world.input.report_age_ms = 0;
	expect_unplaced(publish(), "uid-a/main x,uid-b/main y");
}

static void the_number_left_out_stays_whatever_is_new(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	for (unsigned i = 0; i < LIMIT_UNPLACED_TENANTS + 3; i++)
		build_world_run(
			&world,
			(struct build_pod){.name = build_world_text(&world, "p%02u", i).ptr},
			VIEW("x"));
	publish_later();
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Nor does a restart make one that was left out new. */
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(build_world_status(&world, 0)->unplaced_tenants_left_out, 3);
	/* One more is counted in time. */
	build_world_run(&world, (struct build_pod){.name = "p99"}, VIEW("x"));
	assert_int_equal(publish()->unplaced_tenants_left_out, 3);
	assert_int_equal(publish_later()->unplaced_tenants_left_out, 4);
	/* Fewer are, when none is waited for. */
	build_world_remove_pod(&world, "uid-p00");
	assert_int_equal(publish()->unplaced_tenants_left_out, 3);
}

static void those_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	for (unsigned i = 0; i < LIMIT_UNPLACED_TENANTS + 3; i++)
		build_world_run(
			&world,
			(struct build_pod){.name = build_world_text(&world, "p%02u", i).ptr},
			build_world_text(&world, "x-%u", i));
	const struct attribution_status *status = publish_later();
	assert_int_equal(status->unplaced_tenants.count, LIMIT_UNPLACED_TENANTS);
	assert_int_equal(status->unplaced_tenants_left_out, 3);
	expect_text(ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, 15)->pod_uid,
		    "uid-p15");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void ids_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	static const unsigned counts[] = {1, LIMIT_UNPLACED_IDS - 1, LIMIT_UNPLACED_IDS,
					  LIMIT_UNPLACED_IDS + 1, LIMIT_UNPLACED_IDS + 2};
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	for (size_t row = 0; row < ARRAY_SIZE(counts); row++) {
		unsigned n = counts[row] < LIMIT_UNPLACED_IDS ? counts[row] : LIMIT_UNPLACED_IDS;
		build_world_book_nothing(&world);
		for (unsigned i = 0; i < counts[row]; i++)
			build_world_book(&world, "uid-a", "main",
					 build_world_text(&world, "x-%02u", i));
		const struct attribution_unplaced *u = ARRAY_AT(publish_later()->unplaced_tenants,
								struct attribution_unplaced, 0);
		assert_true(u->device_ids.present);
		assert_int_equal(u->device_ids.count, n);
		assert_int_equal(u->device_ids_left_out, counts[row] - n);
		for (unsigned i = 0; i < n; i++)
			expect_text(*ARRAY_AT(u->device_ids, struct view, i),
				    build_world_text(&world, "x-%02u", i).ptr);
	}
}

static void none_is_an_empty_list(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	const struct array none = publish()->unplaced_tenants;
	assert_true(none.present);
	assert_int_equal(none.count, 0);
	assert_null(none.items);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		an_id_of_no_known_form_is_shown_with_its_holder_on_every_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_device_or_partition_that_nobody_told_of_is_unplaced,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_holder_of_whom_less_is_known_is_shown_with_less, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_odd_id_is_placed_by_the_uuid_that_it_begins_with, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(of_several_odd_ids_the_lowest_is_named_and_the_rest_counted,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_is_new_is_waited_for, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_container_of_a_pod_is_waited_for_by_itself, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(one_that_was_published_stays_while_it_is_there, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(without_an_agent_they_are_shown_as_well, set_up, tear_down),
	cmocka_unit_test_setup_teardown(other_news_all_the_time_does_not_put_one_off, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_silent_agent_shows_none_that_is_new, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_number_left_out_stays_whatever_is_new, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(those_beyond_the_bound_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(ids_beyond_the_bound_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(none_is_an_empty_list, set_up, tear_down),
};

TEST_MAIN(tests)
