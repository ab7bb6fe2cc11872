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
	/* The checkpoint has nothing of it: the report is older than the pod. */
	world.report.checkpoint.entries.count = 1;
	expect_tenants(publish(), "");
	/* Unless it is the checkpoint that is: then it is one of the two. */
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
	expect_tenants(publish(), "");
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_FALSE, "PodUnknown");
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
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 2);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Of one of some time ago the rest may be about the pod of that name before it. */
	date_list();
	t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 1);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
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

static void what_the_list_says_of_a_pod_on_another_node_is_refused_and_counted(void **state)
{
	(void)state;
	static const bool is_foreign[] = {false, true, true};
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_list(&world, "away", "main", build_world_replica(&world, 0, 1));
	/* It has a pod's of this node, too. */
	build_world_list(&world, "away", "main", build_world_replica(&world, 0, 0));
	world.input.is_foreign = is_foreign;
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main");
	expect_text(status->slots.summary, "1/4");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(world.result.claims_refused, 2);
	world.input.is_foreign = NULL;
	expect_condition(publish(), "Attributed", CONDITION_FALSE, "PodUnknown");
	assert_int_equal(world.result.claims_refused, 0);
}

static void whom_the_checkpoint_tells_is_not_refused_for_a_name_used_elsewhere(void **state)
{
	(void)state;
	static const bool is_foreign[] = {true, true};
	build_world_shared(&world, 0, 4);
	/* The one after, whose pod has not come yet; and the one before. */
	build_world_list(&world, "web", "main", build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-new", "main", build_world_replica(&world, 0, 0));
	build_world_list(&world, "db", "main", build_world_replica(&world, 0, 1));
	build_world_book(&world, "uid-old", "main", build_world_replica(&world, 0, 1));
	build_world_end(&world, "uid-old");
	world.input.is_foreign = is_foreign;
	expect_tenant(publish(), "uid-new", PENDING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
	expect_tenants(publish(), "uid-new/main");
	assert_int_equal(world.result.claims_refused, 0);
}

static const struct view hami_id = VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab-1");
static const char hami_of_1[] = "GPU-00000001-0000-4000-8000-0123456789ab,NVIDIA,1,1:;";

/* HAMi's plugin has an ID of device 0 to give, for any device. */
static void offer_hami(void)
{
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_offer(&world, hami_id);
	build_world_fail_book(&world);
}

static void a_dated_list_names_nobody_new_by_hamis_id_either(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = hami_of_1});
	build_world_list(&world, "a", "main", hami_id);
	date_list();
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
	expect_tenants(build_world_status(&world, 1), "");
}

static void hamis_id_in_a_dated_list_is_whose_it_was_on_another_device(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = hami_of_1});
	build_world_list(&world, "a", "main", hami_id);
	expect_tenants(publish(), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	date_list();
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "SourcesFailed");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
}

static void hamis_id_of_a_pod_that_left_another_device_is_not_its_successors(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = hami_of_1});
	build_world_list(&world, "a", "main", hami_id);
	publish();
	build_world_remove_pod(&world, "uid-a");
	build_world_pod(&world, (struct build_pod){
					.name = "a", .uid = "uid-b", .state = POD_CONTAINER_WAITING});
	/* The List has not heard of it. */
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
	expect_recent(build_world_status(&world, 1), "uid-a");
	build_world_pod(&world, (struct build_pod){.name = "a", .uid = "uid-b"});
	expect_tenants(publish(), "uid-b/main");
}

static void what_was_on_another_device_says_nothing_of_an_id_that_tells_its_own(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_list(&world, "a", "main", build_world_uuid(&world, 1));
	publish();
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	date_list();
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
}

static void a_list_that_named_hamis_id_did_not_name_the_device(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_list(&world, "a", "main", hami_id);
	expect_text(expect_tenant(publish(), "uid-a", RUNNING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED)
			    ->stand_in,
		    "HAMi");
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	date_list();
	const struct attribution_status *status = publish();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING,
				       ATTRIBUTION_CONFIDENCE_UNCONFIRMED)
				 ->slots,
			 1);
	assert_int_equal(build_world_count_writes(&world), 0);
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
	cmocka_unit_test_setup_teardown(
		what_the_list_says_of_a_pod_on_another_node_is_refused_and_counted, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		whom_the_checkpoint_tells_is_not_refused_for_a_name_used_elsewhere, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(an_entry_of_a_pod_on_another_node_holds_nothing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_dated_list_names_nobody_new_by_hamis_id_either, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(hamis_id_in_a_dated_list_is_whose_it_was_on_another_device,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		hamis_id_of_a_pod_that_left_another_device_is_not_its_successors, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_on_another_device_says_nothing_of_an_id_that_tells_its_own, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_list_that_named_hamis_id_did_not_name_the_device, set_up,
					tear_down),
};

TEST_MAIN(tests)
