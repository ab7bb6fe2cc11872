/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

TEST(an_old_checkpoint_still_names_by_uid)
{
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
	world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_UNKNOWN,
			 "SourcesFailed");
}

TEST(every_id_of_an_entry_is_held)
{
	struct view ids[] = {build_world_replica(&world, 0, 0), build_world_replica(&world, 0, 1),
			     build_world_replica(&world, 0, 2)};
	build_world_shared(&world, 0, 4);
	world_pod("a");
	build_world_book(&world, "uid-a", "main", VIEW(""))->device_ids =
		(struct array){ids, ARRAY_SIZE(ids), true};
	assert_int_equal(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->slots, 3);
}

TEST(an_unknown_uid_is_left_over_when_a_complete_list_has_nothing_of_it)
{
	static const struct {
		bool is_list_old, is_settling, is_listed;
		const char *tenants;
	} rows[] = {
		{false, false, false, ""},
		{false, false, true, "uid-new/main"},
		{true, false, false, "uid-new/main"},
		{false, true, false, "uid-new/main"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_exclusive(&world, 0);
		build_world_book(&world, "uid-new", "main", build_world_uuid(&world, 0));
		/* Another pod that a List which is settling lacks. */
		world_pod("b");
		if (rows[i].is_listed)
			build_world_list(&world, "new", "main", build_world_uuid(&world, 0));
		if (rows[i].is_list_old)
			world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
		if (rows[i].is_settling)
			world.report.kubelet_restarted_at = world.report.observed_at - 1;
		expect_tenants(publish(), rows[i].tenants);
		start_anew();
	}
}

/* When it is deleted there it does not become one that nobody knows here. */
TEST(the_uid_of_another_nodes_pod_is_an_ended_one)
{
	build_world_exclusive(&world, 0);
	build_world_move_away(&world, "uid-away");
	build_world_book(&world, "uid-away", "main", build_world_uuid(&world, 0));
	build_world_join(&world);
	assert_int_equal(world.result.recall.n_ended, 1);
	expect_text(world.result.recall.ended[0], "uid-away");
	assert_int_equal(world.result.refused.entries, 1);
}

TEST(the_uid_of_a_pod_that_is_over_and_still_there_is_not_an_ended_one)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED},
			build_world_uuid(&world, 0));
	build_world_join(&world);
	assert_int_equal(world.result.recall.n_ended, 0);
	expect_tenants(build_world_status(&world, 0), "");
}

TEST(ended_uids_come_once_and_in_order)
{
	build_world_shared(&world, 0, 4);
	build_world_end(&world, "uid-z");
	build_world_end(&world, "uid-a");
	build_world_book(&world, "uid-z", "main", build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 1));
	build_world_book(&world, "uid-z", "side", build_world_replica(&world, 0, 2));
	build_world_join(&world);
	assert_int_equal(world.result.recall.n_ended, 2);
	expect_text(world.result.recall.ended[0], "uid-a");
	expect_text(world.result.recall.ended[1], "uid-z");
}

TESTS(set_up, tear_down)
