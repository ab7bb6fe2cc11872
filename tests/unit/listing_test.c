/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define NAME_ONLY ATTRIBUTION_CONFIDENCE_NAME_ONLY
#define RUNNING ATTRIBUTION_PHASE_RUNNING
#define PENDING ATTRIBUTION_PHASE_PENDING

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

static void date_list(void)
{
	world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
}

static void date_book(void)
{
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
}

/* The pod "web" that was, with what both books say of it, and the one of the same name that is. */
static void follow(struct build_pod new)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "web", .uid = "uid-old"},
			build_world_uuid(&world, 0));
	publish();
	build_world_remove_pod(&world, "uid-old");
	new.name = "web";
	new.uid = "uid-new";
	build_world_pod(&world, new);
}

static void a_list_without_a_checkpoint_does_not_name_the_successor_before_it_ran(void **state)
{
	(void)state;
	follow((struct build_pod){.is_unseen = true});
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-old");
	expect_text(status->slots.summary, "0/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Once it runs the kubelet has it, and so the List means it. */
	build_world_pod(&world, (struct build_pod){.name = "web", .uid = "uid-new"});
	expect_tenant(publish(), "uid-new", RUNNING, NAME_ONLY);
	/* A crash does not take that back. */
	build_world_pod(&world, (struct build_pod){.name = "web",
						   .uid = "uid-new",
						   .state = POD_CONTAINER_WAITING});
	expect_tenant(publish(), "uid-new", ATTRIBUTION_PHASE_STARTING, NAME_ONLY);
}

static void a_name_whose_pod_is_gone_lags_behind(void **state)
{
	(void)state;
	follow((struct build_pod){0});
	build_world_remove_pod(&world, "uid-new");
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void an_unknown_uid_wins_over_the_name_of_another_pod(void **state)
{
	(void)state;
	/* The API server still shows the old pod; the kubelet already has the new one. */
	build_world_exclusive(&world, 0);
	build_world_pod(&world,
			(struct build_pod){.name = "web", .uid = "uid-old", .deleting = true});
	build_world_list(&world, "web", "main", build_world_uuid(&world, 0));
	build_world_book(&world, "uid-new", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-new/main");
	expect_tenant(status, "uid-new", PENDING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
}

static void an_unknown_uid_in_a_dated_checkpoint_does_not_hide_a_running_pod(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "web"});
	build_world_list(&world, "web", "main", build_world_uuid(&world, 0));
	build_world_book(&world, "uid-lost", "main", build_world_uuid(&world, 0));
	date_book();
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-web/main");
	expect_tenant(status, "uid-web", RUNNING, NAME_ONLY);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void an_ended_uid_explains_a_name_until_the_successor_runs(void **state)
{
	(void)state;
	follow((struct build_pod){.is_unseen = true});
	expect_tenants(publish(), "");
	/* It runs, and the checkpoint has it elsewhere: the List lags behind. */
	build_world_pod(&world, (struct build_pod){.name = "web", .uid = "uid-new"});
	build_world_book(&world, "uid-new", "main", VIEW("another device"));
	expect_tenants(publish(), "");
	/* The checkpoint has nothing of it: it is the checkpoint that lags. */
	world.report.checkpoint.entries.count = 1;
	expect_tenant(publish(), "uid-new", RUNNING, NAME_ONLY);
}

static void a_live_uid_explains_a_name_that_no_pod_has(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "new"});
	build_world_book(&world, "uid-new", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "old", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-new/main");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

static void books_that_name_two_living_pods_show_both(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_tenant(status, "uid-b", RUNNING, NAME_ONLY);
	expect_text(status->slots.summary, "1/1");
}

static void a_dated_list_keeps_whom_a_good_one_named(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	build_world_fail_book(&world);
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
	date_list();
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
}

static void a_dated_list_names_nobody_new(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	build_world_fail_book(&world);
	date_list();
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void what_agrees_in_part_is_about_one_pod(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 1));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 1));
	date_list();
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 2);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void the_same_container_name_in_another_pod_is_no_agreement(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 1));
	const struct attribution_status *status = publish();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->slots, 1);
	assert_int_equal(expect_tenant(status, "uid-b", RUNNING, CONFIRMED)->slots, 1);
}

static void a_pod_that_is_over_is_not_what_an_old_kubelets_list_means(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

static void an_entry_of_a_pod_on_another_node_holds_nothing(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-away", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	build_world_move_away(&world, "uid-away");
	expect_tenants(publish(), "");
	assert_int_equal(world.result.claims_refused, 1);
}

static void hamis_id_in_a_dated_list_is_the_annotated_pods_and_nobody_elses(void **state)
{
	(void)state;
	const struct view id = VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1");
	build_world_device(&world, 0);
	build_world_offer(&world, id);
	build_world_pod(&world,
			(struct build_pod){
				.name = "a",
				.hami = "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;"});
	build_world_list(&world, "a", "main", id);
	date_list();
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		a_list_without_a_checkpoint_does_not_name_the_successor_before_it_ran, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_name_whose_pod_is_gone_lags_behind, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_unknown_uid_wins_over_the_name_of_another_pod, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_uid_in_a_dated_checkpoint_does_not_hide_a_running_pod, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(an_ended_uid_explains_a_name_until_the_successor_runs,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_live_uid_explains_a_name_that_no_pod_has, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(books_that_name_two_living_pods_show_both, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_dated_list_keeps_whom_a_good_one_named, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_dated_list_names_nobody_new, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_agrees_in_part_is_about_one_pod, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_same_container_name_in_another_pod_is_no_agreement,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_is_over_is_not_what_an_old_kubelets_list_means,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_entry_of_a_pod_on_another_node_holds_nothing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		hamis_id_in_a_dated_list_is_the_annotated_pods_and_nobody_elses, set_up, tear_down),
};

TEST_MAIN(tests)
