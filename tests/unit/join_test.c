/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/world_fixture.h"
#include "base/limits.h"
#include "schema/attribution_doc.h"

static void run_a(void)
{
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
}

/* Device 0 is held by pod "a", and that is published. */
static void publish_a(void)
{
	run_a();
	publish();
}

TEST(an_unchanged_world_is_kept_and_a_changed_one_written)
{
	publish_a();
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, 1000);
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.driver_version = VIEW("590.1");
	assert_int_equal(build_world_count_writes(&world), 1);
	expect_text(build_world_status(&world, 0)->device.driver_version, "590.1");
}

TEST(without_a_report_it_is_said_what_may_be_read_no_more)
{
	static const struct {
		bool pods, grants; /* may be read no more */
		int plugins, claims; /* the condition of what each hands out */
		const char *reason_of_plugins, *reason_of_claims;
	} rows[] = {
		{false, true, CONDITION_TRUE, CONDITION_UNKNOWN, "AllResolved", "ClaimsUnknown"},
		{true, true, CONDITION_UNKNOWN, CONDITION_UNKNOWN, "PodsUnknown", "PodsUnknown"},
		{false, true, CONDITION_UNKNOWN, CONDITION_UNKNOWN, "AwaitingReport",
		 "AwaitingReport"},
		{false, false, CONDITION_UNKNOWN, CONDITION_UNKNOWN, "AwaitingReport",
		 "AwaitingReport"},
	};

	publish_a();
	build_world_device(&world, 1);
	build_world_slice(&world, 1);
	world_pod("b");
	build_world_grant(&world, "uid-b", "main", 1);
	publish();
	expect_condition(build_world_status(&world, 1), "Attributed", CONDITION_TRUE,
			 "AllResolved");
	world.input.report = NULL;
	world.input.report_age_ms = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.input.pods_age = rows[i].pods ? INVENTORY_DENIED : INVENTORY_CURRENT;
		world.input.grants_denied = world.input.grants_unknown = rows[i].grants;
		expect_condition(publish(), "Attributed", rows[i].plugins,
				 rows[i].reason_of_plugins);
		expect_condition(build_world_status(&world, 1), "Attributed", rows[i].claims,
				 rows[i].reason_of_claims);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

/* Settling */

/* The checkpoint has none of four tenants, and two times two of them have one ID. */
TEST(each_fact_waits_of_as_many_as_there_can_be)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	build_world_shared(&world, 0, 4);
	for (unsigned i = 0; i < 4; i++) {
		struct view id = build_world_replica(&world, 0, i / 2);
		build_world_pod(&world, (struct build_pod){.name = names[i], .told = {id}});
		build_world_list(&world, names[i], "main", id);
	}
	assert_int_equal(build_world_publish(&world)->recall.n_debounced, 6);
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_TRUE,
			 "AllResolved");
	/* And processes of nobody's on the second device. */
	build_world_device(&world, 1);
	for (unsigned i = 0; i < 20; i++)
		build_world_process(&world, 1, 100 + i, "");
	assert_int_equal(build_world_publish(&world)->recall.n_debounced, 26);
}

/* Two by two containers have one ID, and of each pod the List has but the first. */
TEST(each_fact_waits_however_few_pods_hold_many_slots)
{
	static const char *const names[] = {"a", "b"}, *const uids[] = {"uid-a", "uid-b"};
	enum { N_CONTAINERS = 8 };
	build_world_shared(&world, 0, N_CONTAINERS);
	for (unsigned p = 0; p < ARRAY_SIZE(names); p++) {
		world_pod(names[p]);
		for (unsigned i = 0; i < N_CONTAINERS; i++)
			build_world_book(&world, uids[p], build_world_text(&world, "c%u", i).ptr,
					 build_world_replica(&world, 0, i));
		build_world_list(&world, names[p], "c0", build_world_replica(&world, 0, 0));
	}
	assert_int_equal(build_world_publish(&world)->recall.n_debounced,
			 N_CONTAINERS + 2 * (N_CONTAINERS - 1));
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_TRUE,
			 "AllResolved");
}

TEST(without_a_report_who_is_gone_is_unplaced_no_more)
{
	build_world_device(&world, 0);
	world_run("deleted", VIEW("x"));
	world_run("failed", VIEW("x"));
	world_run("on", VIEW("x"));
	build_world_book(&world, "stranger", "main", VIEW("y"));
	build_world_list(&world, "stranger", "main", VIEW("y"));
	build_world_list(&world, "ghost", "main", VIEW("z"));
	build_world_wait(&world, world.limits.disagreement_ms);
	publish();
	build_world_restart(&world);
	expect_unplaced(publish(), "/ z,stranger/main y,uid-deleted/main x,uid-failed/main x,"
				   "uid-on/main x");
	build_world_remove_pod(&world, "uid-deleted");
	build_world_pod(&world, (struct build_pod){.name = "failed", .phase = POD_PHASE_FAILED});
	/* Of whom the API server never knew, it cannot tell. */
	expect_unplaced(publish(), "/ z,stranger/main y,uid-on/main x");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TESTS(set_up, tear_down)
