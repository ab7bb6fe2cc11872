/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#define ANNOTATED ATTRIBUTION_CONFIDENCE_ANNOTATED
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

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

/* HAMi's plugin offers three IDs of device 0 and three of device 1. */
static void offer_hami(void)
{
	for (unsigned i = 0; i < 6; i++)
		build_world_offer(
			&world, build_world_text(&world, "GPU-%08x-0000-4000-8000-0123456789ab-%u",
						 i / 3, i % 3));
	build_world_device(&world, 0);
	build_world_device(&world, 1);
}

static const struct view hami_id = VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab-1");
#define HAMI_OF(n) "GPU-0000000" #n "-0000-4000-8000-0123456789ab,NVIDIA,4000,30:"

static void hamis_annotation_tells_the_device_that_was_given(void **state)
{
	(void)state;
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"}, hami_id);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/3");
	status = build_world_status(&world, 1);
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, ANNOTATED);
	expect_texts(t->witnesses, "HAMi");
	expect_text(t->resource, "nvidia.com/gpu");
	expect_text(t->stand_in, "");
	assert_int_equal(t->slots, 1);
	assert_false(t->system);
	expect_text(status->slots.summary, "1/3");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void each_part_of_hamis_annotation_is_one_containers(void **state)
{
	(void)state;
	static const struct {
		const char *text, *on_0, *on_1;
	} rows[] = {
		{HAMI_OF(0) ";" HAMI_OF(1) ";", "uid-a/main", "uid-a/side"},
		{";" HAMI_OF(1) ";", "", "uid-a/side"},
		{HAMI_OF(0) HAMI_OF(1) ";", "uid-a/main", "uid-a/main"},
		{HAMI_OF(0) HAMI_OF(0) ";", "uid-a/main", ""},
		{HAMI_OF(0) ";;" HAMI_OF(1) ";", "uid-a/main", ""},
		{"GPU-00000001-0000-4000-8000-0123456789ab[1],NVIDIA,4000,30:;", "", "uid-a/main"},
		{"GPU-00000001-0000-4000-8000-0123456789ab", "", "uid-a/main"},
		{":,;::;", "", ""},
		{";", "", ""},
	};
	offer_hami();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_pod(
			&world,
			(struct build_pod){.name = "a", .second = "side", .hami = rows[i].text});
		build_world_join(&world);
		expect_tenants(build_world_status(&world, 0), rows[i].on_0);
		expect_tenants(build_world_status(&world, 1), rows[i].on_1);
	}
}

static void a_process_confirms_what_an_annotation_says_and_stays_true(void **state)
{
	(void)state;
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"}, hami_id);
	build_world_process(&world, 1, 1, "uid-a");
	build_world_publish(&world);
	const struct attribution_tenant *t = expect_tenant(build_world_status(&world, 1), "uid-a",
							   RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "HAMi,Processes");
	build_world_see_no_processes(&world);
	build_world_publish(&world);
	expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, CONFIRMED);
}

static void a_tenant_that_only_an_annotation_made_ends_with_it(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(0) ";"});
	expect_tenants(publish(), "uid-a/main");
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
}

static void a_pod_that_is_over_stands_in_for_nobody(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(
		&world,
		(struct build_pod){.name = "a", .hami = HAMI_OF(0) ";", .phase = POD_PHASE_FAILED});
	expect_tenants(publish(), "");
}

static void a_forged_annotation_creates_no_device(void **state)
{
	(void)state;
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(7) ";"});
	build_world_without_agent(&world);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 0);
	build_world_report(&world);
	build_world_fail_nvml(&world);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 0);
}

static void a_forged_annotation_ends_and_displaces_nobody(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	publish();
	build_world_pod(&world, (struct build_pod){.name = "b", .hami = HAMI_OF(0) ";"});
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_tenant(status, "uid-b", RUNNING, ANNOTATED);
	expect_text(status->slots.summary, "1/1");
	/* Nor does the holder's own. */
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"});
	status = publish();
	expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, ANNOTATED);
}

/* KAI's reservation holds device 0. */
static void reserve(const char *group)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = group},
			build_world_uuid(&world, 0));
}

static void the_pods_of_a_reservations_group_are_on_its_device(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	build_world_pod(&world, (struct build_pod){.name = "b", .kai_group = "g1"});
	build_world_pod(&world, (struct build_pod){.name = "c", .kai_group = "g2"});
	build_world_pod(
		&world,
		(struct build_pod){.name = "d", .kai_group = "g1", .phase = POD_PHASE_SUCCEEDED});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-b/main,uid-r/main");
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, ANNOTATED);
	expect_texts(t->witnesses, "KAI");
	assert_int_equal(t->slots, 0);
	assert_false(t->system);
	t = expect_tenant(status, "uid-r", RUNNING, CONFIRMED);
	expect_text(t->stand_in, "");
	assert_true(t->system);
	assert_int_equal(t->slots, 1);
	assert_int_equal(status->tenant_count, 2);
	expect_text(status->tenant_summary, "ml/a +1");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_tenants(build_world_status(&world, 1), "");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_sharer_of_a_reservation_is_confirmed_by_its_process(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	build_world_process(&world, 0, 1, "uid-a");
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "KAI,Processes");
}

static void a_reservation_without_known_sharers_is_a_stand_in(void **state)
{
	(void)state;
	reserve("g1");
	/* Itself, and another reservation, are no sharers. */
	build_world_pod(&world,
			(struct build_pod){.name = "s", .kai_group = "g1", .reservation = true});
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-r", RUNNING, CONFIRMED);
	expect_text(t->stand_in, "KAI");
	assert_false(t->system);
	assert_int_equal(status->tenant_count, 1);
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "1 slot is held by a stand-in for pods that could not be told");
	expect_condition(status, "Ready", CONDITION_FALSE, "Unresolved");
}

static void a_reservation_that_no_witness_has_yet_is_placed_by_its_annotation(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){
					.name = "r",
					.reservation = true,
					.kai_group = "g1",
					.kai_device = "GPU-00000000-0000-4000-8000-0123456789ab"});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "uid-a/main");
	/* A witness knows better. */
	build_world_exclusive(&world, 1);
	build_world_book(&world, "uid-r", "main", build_world_uuid(&world, 1));
	build_world_list(&world, "r", "main", build_world_uuid(&world, 1));
	expect_tenants(publish(), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main,uid-r/main");
}

static void a_reservation_of_no_known_device_places_nobody(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "r",
						   .reservation = true,
						   .kai_group = "g1",
						   .kai_device = "GPU-7"});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "");
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g1"},
			VIEW("no device"));
	expect_tenants(publish(), "");
}

static void a_sharer_that_leaves_its_group_leaves_the_device(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	publish();
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g2"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-r/main");
	expect_recent(status, "uid-a");
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
}

static void a_sharer_is_named_by_its_first_main_container(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .kai_group = "g1",
						   .container = "init",
						   .second = "work",
						   .kind = POD_CONTAINER_INIT});
	build_world_pod(&world, (struct build_pod){.name = "b",
						   .kai_group = "g1",
						   .container = "init",
						   .kind = POD_CONTAINER_INIT});
	expect_tenants(publish(), "uid-a/work,uid-b/,uid-r/main");
}

static void a_reservation_of_no_group_shares_with_nobody(void **state)
{
	(void)state;
	reserve("");
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-r/main");
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
}

static void of_two_devices_a_reservations_sharers_are_on_the_first(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		build_world_exclusive(&world, 0);
		build_world_exclusive(&world, 1);
		build_world_pod(
			&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"});
		build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
		build_world_book(&world, "uid-r", "main", build_world_uuid(&world, i));
		build_world_book(&world, "uid-r", "main", build_world_uuid(&world, 1 - i));
		expect_tenants(publish(), "uid-a/main,uid-r/main");
		expect_tenants(build_world_status(&world, 1), "uid-r/main");
		build_world_deinit(&world);
		build_world_init(&world);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(hamis_annotation_tells_the_device_that_was_given, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(each_part_of_hamis_annotation_is_one_containers, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_process_confirms_what_an_annotation_says_and_stays_true,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_tenant_that_only_an_annotation_made_ends_with_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_is_over_stands_in_for_nobody, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_forged_annotation_creates_no_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_forged_annotation_ends_and_displaces_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_pods_of_a_reservations_group_are_on_its_device, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_sharer_of_a_reservation_is_confirmed_by_its_process,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_without_known_sharers_is_a_stand_in, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_reservation_that_no_witness_has_yet_is_placed_by_its_annotation, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_of_no_known_device_places_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_sharer_that_leaves_its_group_leaves_the_device, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_sharer_is_named_by_its_first_main_container, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_of_no_group_shares_with_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(of_two_devices_a_reservations_sharers_are_on_the_first,
					set_up, tear_down),
};

TEST_MAIN(tests)
