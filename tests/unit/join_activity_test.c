/* SPDX-License-Identifier: Apache-2.0 */

/* Activity through the join: what is published of it, and when that is written. */

#include <stdlib.h>

#include "lib/world_fixture.h"

#define NOW (BUILD_WORLD_NOW - 1000) /* of the report, by the node's clock */
#define MINUTE INT64_C(60000)

static struct report_activity *reported; /* of device 0 */

static int set_up_busy(void **state)
{
	set_up(state);
	world.report.boot_id = VIEW("boot");
	reported = &build_world_exclusive(&world, 0)->activity;
	world_run("a", build_world_uuid(&world, 0));
	*reported = (struct report_activity){true, REPORT_ACTIVITY_BUSY, REPORT_ACTIVITY_NVML, 38,
					     NOW - MINUTE, NOW - 240 * MINUTE};
	build_world_publish(&world);
	return 0;
}

/* How often it is written; then it is published. */
static unsigned count_writes(void)
{
	unsigned n = build_world_count_writes(&world);
	build_world_publish(&world);
	return n;
}

static const struct attribution_activity_state *published(void)
{
	return &build_world_status(&world, 0)->activity;
}

static void assert_published(int state, const char *reason, int64_t idle_since)
{
	assert_int_equal(published()->state, state);
	if (!view_equal(published()->reason, view_from(reason)))
		fail_msg("reason %.*s", VIEW_ARG(published()->reason));
	assert_int_equal(published()->idle_since, idle_since);
}

/* The agent has seen no work since then. */
static void become_idle(int64_t last_busy_at)
{
	reported->state = REPORT_ACTIVITY_IDLE;
	reported->utilization = 0;
	reported->last_busy_at = last_busy_at;
}

TEST(a_figure_that_moves_is_no_write_and_a_change_of_state_is_one)
{
	assert_published(ATTRIBUTION_ACTIVITY_ACTIVE, "", 0);
	for (int64_t i = 0; i < 60; i++) {
		world.report.observed_at += MINUTE;
		reported->utilization = i;
		reported->last_busy_at = world.report.observed_at;
		build_world_wait(&world, MINUTE);
		build_world_report(&world);
		assert_int_equal(count_writes(), 0);
	}
	const int64_t last_busy_at = reported->last_busy_at;
	world.report.observed_at += 10 * MINUTE;
	become_idle(last_busy_at);
	assert_int_equal(count_writes(), 1);
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", last_busy_at);
	for (int64_t i = 0; i < 60; i++) {
		world.report.observed_at += MINUTE;
		reported->utilization = i % 5;
		build_world_report(&world);
		assert_int_equal(count_writes(), 0);
	}
	reported->state = REPORT_ACTIVITY_BUSY;
	reported->last_busy_at = world.report.observed_at;
	assert_int_equal(count_writes(), 1);
	assert_published(ATTRIBUTION_ACTIVITY_ACTIVE, "", 0);
}

TEST(a_silent_agent_makes_it_unknown_and_its_return_idle_as_before)
{
	become_idle(NOW - 90 * MINUTE);
	assert_int_equal(count_writes(), 1);
	build_world_wait(&world, world.limits.report_stale_ms);
	assert_int_equal(count_writes(), 1);
	assert_published(ATTRIBUTION_ACTIVITY_UNKNOWN, "ReportStale", 0);
	build_world_report(&world);
	assert_int_equal(count_writes(), 1);
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", NOW - 90 * MINUTE);
}

TEST(a_restart_of_the_controller_writes_nothing_until_the_agent_is_silent_for_long)
{
	become_idle(NOW - 90 * MINUTE);
	count_writes();
	build_world_restart(&world);
	assert_int_equal(count_writes(), 0);
	build_world_report(&world);
	assert_int_equal(count_writes(), 0);
	build_world_restart(&world);
	build_world_wait(&world, world.limits.report_stale_ms);
	assert_int_equal(count_writes(), 1);
	assert_published(ATTRIBUTION_ACTIVITY_UNKNOWN, "ReportStale", 0);
}

TEST(a_restart_of_the_agent_writes_nothing_if_no_sample_is_missing)
{
	become_idle(NOW - 90 * MINUTE);
	count_writes();
	world.report.instance++;
	*reported = (struct report_activity){true, REPORT_ACTIVITY_MEASURING, REPORT_ACTIVITY_NVML,
					     0, 0, NOW};
	world.input.former_heard_at = NOW - REPORT_ACTIVITY_GAP_MS;
	assert_int_equal(count_writes(), 0);
	become_idle(0);
	world.report.observed_at += 10 * MINUTE;
	assert_int_equal(count_writes(), 0);
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", NOW - 90 * MINUTE);
	world.input.former_heard_at--;
	reported->state = REPORT_ACTIVITY_MEASURING;
	assert_int_equal(count_writes(), 1);
	assert_published(ATTRIBUTION_ACTIVITY_UNKNOWN, "SamplesMissing", 0);
}

TEST(a_boot_ends_what_was_measured_before_it)
{
	become_idle(NOW - 90 * MINUTE);
	count_writes();
	world.report.boot_id = VIEW("another");
	reported->measured_since = NOW - 20 * MINUTE;
	reported->last_busy_at = 0;
	assert_int_equal(count_writes(), 1);
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", NOW - 20 * MINUTE);
}

TEST(a_driver_that_fails_for_a_sample_changes_nothing_and_for_long_makes_it_unknown)
{
	struct report_source *nvml = &world.report.sources.nvml;
	become_idle(NOW - 90 * MINUTE);
	nvml->observed_at = NOW;
	count_writes();
	nvml->state = REPORT_SOURCE_ERROR;
	world.report.observed_at = NOW + 15000;
	count_writes();
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", NOW - 90 * MINUTE);
	nvml->state = REPORT_SOURCE_OK;
	world.report.observed_at = nvml->observed_at = NOW + 30000;
	count_writes();
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", NOW - 90 * MINUTE);
	nvml->state = REPORT_SOURCE_ERROR;
	world.report.observed_at += 15000;
	count_writes();
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", NOW - 90 * MINUTE);
	build_world_report(&world);
	/* From now on heartbeats alone say that it is so still. */
	assert_int_equal(build_world_join(&world)->again_in_ms, REPORT_ACTIVITY_GAP_MS - 15000 + 1);
	world.input.report_held_ms = REPORT_ACTIVITY_GAP_MS - 15000;
	count_writes();
	assert_published(ATTRIBUTION_ACTIVITY_IDLE, "", NOW - 90 * MINUTE);
	world.input.report_held_ms++;
	count_writes();
	assert_published(ATTRIBUTION_ACTIVITY_UNKNOWN, "SamplesMissing", 0);
}

TEST(without_an_agent_nothing_is_measured)
{
	build_world_deinit(&world);
	build_world_init(&world);
	build_world_slice(&world, 0);
	build_world_without_agent(&world);
	build_world_publish(&world);
	assert_published(ATTRIBUTION_ACTIVITY_UNKNOWN, "NoAgent", 0);
}

TEST(each_partition_has_its_own_which_silence_ends_too)
{
	build_world_deinit(&world);
	build_world_init(&world);
	struct report_device *device = build_world_cut(&world, 0, 2);
	struct report_partition *parts = device->partitions.items;
	parts[0].activity = (struct report_activity){true, REPORT_ACTIVITY_IDLE,
						     REPORT_ACTIVITY_NO_PROCESS, -1, 0, NOW};
	build_world_publish(&world);
	const struct attribution_partition *is =
		build_world_status(&world, 0)->partitions.items;
	assert_published(ATTRIBUTION_ACTIVITY_UNKNOWN, "MIGNotMeasured", 0);
	assert_int_equal(is[0].activity.state, ATTRIBUTION_ACTIVITY_IDLE);
	assert_int_equal(is[0].activity.idle_since, NOW);
	assert_int_equal(is[1].activity.state, ATTRIBUTION_ACTIVITY_UNKNOWN);
	build_world_restart(&world);
	build_world_wait(&world, world.limits.report_stale_ms);
	build_world_publish(&world);
	is = build_world_status(&world, 0)->partitions.items;
	assert_published(ATTRIBUTION_ACTIVITY_UNKNOWN, "ReportStale", 0);
	assert_int_equal(is[0].activity.state, ATTRIBUTION_ACTIVITY_UNKNOWN);
	assert_int_equal(is[0].activity.idle_since, 0);
}

TEST(a_partition_that_dcgm_measured_has_its_word_as_evidence)
{
	build_world_deinit(&world);
	build_world_init(&world);
	struct report_partition *part = build_world_cut(&world, 0, 1)->partitions.items;

	part->activity = (struct report_activity){true, REPORT_ACTIVITY_BUSY, REPORT_ACTIVITY_DCGM,
						  38, NOW - MINUTE, NOW - 240 * MINUTE};
	build_world_publish(&world);
	assert_published(ATTRIBUTION_ACTIVITY_ACTIVE, "", 0);
	assert_int_equal(published()->scope, ATTRIBUTION_SCOPE_PARTITION);
	assert_int_equal(published()->evidence.count, 1);
	assert_true(view_equal(*ARRAY_AT(published()->evidence, struct view, 0), VIEW("DCGM")));
}

TESTS(set_up_busy, tear_down)
