/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "join/source.h"

static const struct devices none;

static struct source judge(void)
{
	struct node_pods node_pods;
	struct error err;
	assert_int_equal(node_pods_take(&world.input, &world.arena, &node_pods, &err), 0);
	return source_judge(&node_pods, &none);
}

TEST(each_source_has_its_state)
{
	static const struct {
		bool present;
		enum report_source_state reported;
		enum source_state expected;
	} rows[] = {
		{true, REPORT_SOURCE_OK, SOURCE_COMPLETE},
		{true, REPORT_SOURCE_ERROR, SOURCE_UNREADABLE},
		{true, REPORT_SOURCE_UNKNOWN, SOURCE_UNREADABLE}, /* the report does not mention it */
		{false, REPORT_SOURCE_ERROR, SOURCE_ABSENT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.report.pod_resources.present = world.report.checkpoint.present =
			rows[i].present;
		world.report.sources.pod_resources.state = world.report.sources.checkpoint.state =
			(int)rows[i].reported;
		assert_int_equal(judge().pod_resources, rows[i].expected);
		assert_int_equal(judge().checkpoint, rows[i].expected);
	}
	world.input.report = NULL;
	assert_int_equal(judge().pod_resources, SOURCE_ABSENT);
	assert_int_equal(judge().settles_in_ms, -1);
}

TEST(what_pods_say_cannot_be_read_while_what_is_known_of_them_is_old)
{
	for (int age = INVENTORY_CURRENT; age <= INVENTORY_DENIED; age++) {
		const bool is_old = age != INVENTORY_CURRENT;
		world.input.pods_age = (enum inventory_age)age;
		assert_int_equal(judge().hami, is_old ? SOURCE_UNREADABLE : SOURCE_COMPLETE);
		assert_int_equal(judge().kai, is_old ? SOURCE_UNREADABLE : SOURCE_PARTIAL);
		assert_int_equal(judge().pod_status, is_old ? SOURCE_UNREADABLE : SOURCE_PARTIAL);
		assert_int_equal(judge().pod_resources, is_old ? SOURCE_ABSENT : SOURCE_COMPLETE);
	}
}

TEST(a_list_may_be_short_for_the_stated_time_after_a_restart)
{
	const int64_t t = world.report.observed_at, settling = world.limits.settling_ms;
	const struct {
		int64_t restarted_at, observed_at, held_ms;
		int64_t settles_in_ms; /* -1: the List counts */
	} rows[] = {
		{t - 1, t, 0, settling - 1},
		{t - settling + 1, t, 0, 1},
		{t - settling, t, 0, -1},
		{t - 1, t, settling - 2, 1},
		{t - 1, t, settling - 1, -1},
		/* The node's clock was set back in between, or it was not that kubelet's. */
		{t + settling - 1, t, 0, 2 * settling - 1},
		{t + settling, t, 0, -1},
		/* It is not known, and the node's clock has not been set. */
		{0, t, 0, -1},
		{0, 1000, 0, -1},
	};
	build_world_exclusive(&world, 0);
	world_pod("a");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.report.kubelet_restarted_at = rows[i].restarted_at;
		world.report.observed_at = rows[i].observed_at;
		world.input.report_held_ms = rows[i].held_ms;
		struct source source = judge();
		assert_int_equal(source.settles_in_ms, rows[i].settles_in_ms);
		assert_int_equal(source.is_settling, rows[i].settles_in_ms > 0);
		assert_int_equal(source.pod_resources,
				 source.is_settling ? SOURCE_PARTIAL : SOURCE_COMPLETE);
	}
}

TEST(after_a_list_that_was_complete_none_is_short_until_the_next_restart)
{
	const int64_t restart = world.report.observed_at - 10;
	const struct {
		bool is_complete;
		int64_t read_at, settled; /* the List; by an earlier join */
		int64_t settled_now;
		bool is_settling;
	} rows[] = {
		{true, restart, 0, restart, false},
		/* It may be the kubelet's before. */
		{true, restart - 1, 0, 0, false},
		{false, restart, 0, 0, true},
		{false, restart, restart, restart, false},
		{false, restart, restart - 1, 0, true},
	};
	build_world_exclusive(&world, 0);
	world_pod("a");
	world.report.kubelet_restarted_at = restart;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_list_nothing(&world);
		if (rows[i].is_complete)
			build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
		world.report.sources.pod_resources.observed_at = rows[i].read_at;
		world.input.settled_restart = rows[i].settled;
		struct source source = judge();
		assert_int_equal(source.is_list_complete, rows[i].is_complete);
		assert_int_equal(source.settled_restart, rows[i].settled_now);
		assert_int_equal(source.is_settling, rows[i].is_settling);
	}
}

TEST(only_a_list_that_was_just_read_is_complete)
{
	build_world_exclusive(&world, 0);
	world_pod("a");
	assert_false(judge().is_list_complete);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	assert_true(judge().is_list_complete);
	world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
	assert_false(judge().is_list_complete);
}

TEST(facts_rest_on_a_source_that_could_be_read)
{
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
	world.report.sources.pod_resources.state = REPORT_SOURCE_UNKNOWN;
	world.report.sources.checkpoint.state = REPORT_SOURCE_UNKNOWN;
	build_world_publish(&world);
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_UNKNOWN,
			 "SourcesFailed");
}

TESTS(set_up, tear_down)
