/* SPDX-License-Identifier: Apache-2.0 */

/* A device that comes and goes: what is written of it, and which Kubernetes Events tell it. */

#include "lib/world_fixture.h"
#include "base/limits.h"
#include "controller/event_budget.h"

#define MINUTE UINT64_C(60000)
#define REPEAT (10 * MINUTE)

static struct event_budget *budget;
static uint64_t now;

static int set_up_budget(void **state)
{
	const struct event_budget_limits limits = {.per_minute = 10, .repeat_ms = REPEAT};
	struct error err;

	set_up(state);
	world.report.boot_id = VIEW("one");
	build_world_exclusive(&world, 0)->condition = (struct report_condition){.present = true};
	build_world_publish(&world);
	now = 1000;
	return event_budget_new(&limits, &budget, &err);
}

static int tear_down_budget(void **state)
{
	event_budget_free(budget);
	return tear_down(state);
}

/* What is written after a sample of the agent; its changes are told. */
static unsigned sample(bool is_lost)
{
	struct event_change_node node;
	struct event_change *changes;
	struct error err;
	unsigned n_writes;
	size_t n;

	build_world_wait(&world, 1000);
	now += 1000;
	world.devices[0].condition.lost = is_lost;
	n_writes = build_world_count_writes(&world);
	node = event_changes_of_node(world.result.devices, world.result.n_devices);
	assert_int_equal(event_changes_of_device(build_world_joined(&world, 0), &node, &world.arena,
						 &changes, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		event_budget_take(budget, VIEW("gpu-a"), &changes[i], now, (int64_t)now);
	build_world_publish(&world);
	assert_int_equal(build_world_status(&world, 0)->health.state,
			 is_lost ? ATTRIBUTION_HEALTH_UNHEALTHY : ATTRIBUTION_HEALTH_HEALTHY);
	return n_writes;
}

/* How many Events, and series of them, are sent now of a type. */
static void assert_sent(const char *reason, unsigned n_events, unsigned n_series)
{
	struct event_budget_write write;

	while (event_budget_next(budget, now, &write)) {
		assert_true(view_equal(write.event.reason, view_from(reason)));
		assert_true(*(write.is_patch ? &n_series : &n_events) > 0);
		--*(write.is_patch ? &n_series : &n_events);
		event_budget_sent(budget, now);
	}
	assert_int_equal(n_events, 0);
	assert_int_equal(n_series, 0);
}

TEST(a_device_that_flickers_is_a_write_for_each_change_that_samples_show)
{
	assert_int_equal(sample(true), 1);
	assert_int_equal(sample(false), 1);
	assert_int_equal(sample(true), 1);
	/* Between these two it came back. */
	assert_int_equal(sample(true), 0);
	assert_int_equal(sample(false), 1);
	/* And here it was away. */
	assert_int_equal(sample(false), 0);
}

TEST(a_device_that_flickers_is_told_once_each_way_and_then_as_a_series)
{
	sample(true);
	assert_sent("GPUUnhealthy", 1, 0);
	sample(false);
	assert_sent("GPURecovered", 1, 0);
	for (unsigned i = 0; i < 30; i++) {
		sample(true);
		assert_sent("", 0, 0);
		sample(false);
		assert_sent("", 0, 0);
	}
	now += REPEAT;
	struct event_budget_write write;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(event_budget_next(budget, now, &write));
		assert_true(write.is_patch);
		assert_int_equal(write.event.count, 31);
		event_budget_sent(budget, now);
	}
	assert_sent("", 0, 0);
}

TESTS(set_up_budget, tear_down_budget)
