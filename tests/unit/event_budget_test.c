/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/event_budget.h"

#define MINUTE UINT64_C(60000)
#define REPEAT (10 * MINUTE)
#define PER_MINUTE 10
#define NODE VIEW("node-1")

struct world {
	struct event_budget *budget;
	uint64_t now;
	char names[2 * LIMIT_EVENT_SERIES][16];
	struct event_budget_write write; /* the last one */
};

static int set_up(void **state)
{
	static struct world world;
	const struct event_budget_limits limits = {.per_minute = PER_MINUTE, .repeat_ms = REPEAT};
	struct error err;

	world = (struct world){.now = 1000};
	*state = &world;
	return event_budget_new(&limits, &world.budget, &err);
}

static int tear_down(void **state)
{
	event_budget_free(((struct world *)*state)->budget);
	return 0;
}

static struct event_change change_of(struct view name, uint64_t topic, uint64_t id)
{
	return (struct event_change){
		.type = EVENT_XID_ERROR,
		.is_warning = true,
		.regarding = {.api_version = VIEW("v1"), .kind = VIEW("Pod"), .namespace = VIEW("team"),
			      .name = name, .uid = name},
		.note = VIEW("a note"),
		.topic = topic,
		.id = id,
		.count = 1,
	};
}

static void take(struct world *world, struct event_change change)
{
	event_budget_take(world->budget, NODE, &change, world->now, (int64_t)world->now);
}

/* One write that the API server has taken; false: none is due. */
static bool write_one(struct world *world)
{
	if (!event_budget_next(world->budget, world->now, &world->write))
		return false;
	event_budget_sent(world->budget, world->now);
	return true;
}

static unsigned write_all(struct world *world)
{
	unsigned n = 0;

	while (write_one(world))
		n++;
	return n;
}

static uint64_t count(const struct world *world, enum event_outcome outcome)
{
	return event_budget_counters(world->budget).by_type[EVENT_XID_ERROR][outcome];
}

static struct view name_of(struct world *world, unsigned i)
{
	snprintf(world->names[i], sizeof(world->names[i]), "pod-%u", i);
	return view_from(world->names[i]);
}

static void a_change_is_written_once_and_at_once(void **state)
{
	struct world *world = *state;

	assert_true(event_budget_due_at(world->budget, world->now) == UINT64_MAX);
	take(world, change_of(VIEW("pod"), 1, 0xabc));
	assert_true(event_budget_due_at(world->budget, world->now) <= world->now);
	assert_true(event_budget_next(world->budget, world->now, &world->write));
	assert_false(world->write.is_patch);
	assert_true(view_equal(world->write.event.name, VIEW("pod.0000000000000abc")));
	assert_true(view_equal(world->write.event.namespace, VIEW("team")));
	assert_true(view_equal(world->write.event.reason, VIEW("XIDError")));
	assert_true(view_equal(world->write.event.note, VIEW("a note")));
	assert_int_equal(world->write.event.count, 1);
	event_budget_sent(world->budget, world->now);
	assert_false(write_one(world));
	assert_int_equal(count(world, EVENT_SENT), 1);
	assert_int_equal(count(world, EVENT_HELD_BACK), 0);
}

static void an_object_of_the_cluster_has_its_events_in_the_namespace_default(void **state)
{
	struct world *world = *state;
	struct event_change change = change_of(VIEW("gpu-1"), 1, 1);

	change.regarding.namespace = VIEW("");
	take(world, change);
	assert_true(write_one(world));
	assert_true(view_equal(world->write.event.namespace, VIEW("default")));
}

static void the_name_of_an_event_is_cut_to_fit(void **state)
{
	struct world *world = *state;
	static char name[LIMIT_TEXT_NAME + 1];

	memset(name, 'a', LIMIT_TEXT_NAME);
	name[235] = '.';
	take(world, change_of(view_from(name), 1, 1));
	assert_true(event_budget_next(world->budget, world->now, &world->write));
	assert_int_equal(world->write.event.name.len, 235 + 17);
	assert_int_equal(world->write.event.regarding.name.len, LIMIT_TEXT_NAME);
	event_budget_sent(world->budget, world->now);
}

static void repeats_are_counted_and_sent_as_a_series_when_the_time_is_over(void **state)
{
	struct world *world = *state;

	for (uint64_t i = 0; i < 5; i++) {
		take(world, change_of(VIEW("pod"), 1, i));
		assert_int_equal(write_all(world), i == 0);
		world->now += MINUTE;
	}
	assert_int_equal(count(world, EVENT_HELD_BACK), 4);
	assert_int_equal(event_budget_due_at(world->budget, world->now), 1000 + REPEAT);
	world->now = 1000 + REPEAT - 1;
	assert_false(write_one(world));
	world->now++;
	assert_true(write_one(world));
	assert_true(world->write.is_patch);
	assert_true(view_equal(world->write.event.name, VIEW("pod.0000000000000000")));
	assert_int_equal(world->write.event.count, 5);
	assert_int_equal(world->write.event.last_observed_time, 1000 + 4 * MINUTE);
	/* The series goes on. */
	take(world, change_of(VIEW("pod"), 1, 9));
	world->now += REPEAT;
	assert_true(write_one(world));
	assert_true(world->write.is_patch);
	assert_int_equal(world->write.event.count, 6);
}

static void after_a_time_without_repeats_there_is_a_new_event(void **state)
{
	struct world *world = *state;

	take(world, change_of(VIEW("pod"), 1, 1));
	assert_true(write_one(world));
	world->now += REPEAT;
	assert_false(write_one(world));
	assert_true(event_budget_due_at(world->budget, world->now) == UINT64_MAX);
	take(world, change_of(VIEW("pod"), 1, 2));
	assert_true(write_one(world));
	assert_false(world->write.is_patch);
	assert_int_equal(world->write.event.count, 1);
}

static void something_else_of_the_same_type_waits_and_is_an_event_of_its_own(void **state)
{
	struct world *world = *state;

	take(world, change_of(VIEW("pod"), 1, 1));
	assert_true(write_one(world));
	take(world, change_of(VIEW("pod"), 2, 2));
	take(world, change_of(VIEW("pod"), 3, 3));
	take(world, change_of(VIEW("pod"), 3, 4));
	assert_false(write_one(world));
	world->now += REPEAT;
	assert_int_equal(write_all(world), 1);
	assert_false(world->write.is_patch);
	assert_true(view_equal(world->write.event.name, VIEW("pod.0000000000000003")));
	assert_int_equal(world->write.event.count, 2);
	assert_int_equal(count(world, EVENT_HELD_BACK), 2); /* the second, and the repeat */
}

/* XID 31, then 79, then 31 again: of 79 was not told yet. */
static void what_repeats_does_not_take_the_place_of_what_waits(void **state)
{
	struct world *world = *state;

	for (int gravity = 0; gravity < 2; gravity++) {
		struct event_change other = change_of(VIEW("pod"), 79, 2);

		other.gravity = gravity;
		take(world, change_of(VIEW("pod"), 31, 1));
		assert_true(write_one(world));
		take(world, other);
		take(world, change_of(VIEW("pod"), 31, 3));
		assert_int_equal(count(world, EVENT_HELD_BACK), gravity + 1);
		world->now += REPEAT;
		assert_int_equal(write_all(world), 1);
		assert_false(world->write.is_patch);
		assert_true(view_equal(world->write.event.name, VIEW("pod.0000000000000002")));
		assert_int_equal(world->write.event.count, 1);
		world->now += REPEAT;
		assert_false(write_one(world));
	}
}

static void what_is_graver_waits_and_what_is_less_so_is_held_back(void **state)
{
	struct world *world = *state;
	struct event_change grave = change_of(VIEW("pod"), 2, 2);

	grave.gravity = 1;
	take(world, change_of(VIEW("pod"), 1, 1));
	assert_true(write_one(world));
	take(world, change_of(VIEW("pod"), 4, 4)); /* makes room for the graver one */
	take(world, grave);
	take(world, change_of(VIEW("pod"), 3, 3));
	take(world, change_of(VIEW("pod"), 3, 5));
	assert_int_equal(count(world, EVENT_HELD_BACK), 3);
	world->now += REPEAT;
	assert_int_equal(write_all(world), 1);
	assert_true(view_equal(world->write.event.name, VIEW("pod.0000000000000002")));
}

static void what_waits_behind_a_write_that_is_given_up_has_its_turn(void **state)
{
	struct world *world = *state;

	take(world, change_of(VIEW("pod"), 1, 1));
	take(world, change_of(VIEW("pod"), 2, 2));
	assert_true(event_budget_next(world->budget, world->now, &world->write));
	event_budget_drop(world->budget, world->now);
	assert_int_equal(count(world, EVENT_FAILED), 1);
	world->now += EVENT_BUDGET_STALE_MS - 1;
	assert_true(write_one(world));
	assert_false(world->write.is_patch);
	assert_true(view_equal(world->write.event.name, VIEW("pod.0000000000000002")));
	assert_int_equal(count(world, EVENT_HELD_BACK), 0);
}

static void what_is_told_twice_counts_once(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 8; i++)
		take(world, change_of(VIEW("node"), 1, 77));
	assert_int_equal(write_all(world), 1);
	take(world, change_of(VIEW("node"), 1, 77));
	world->now += REPEAT;
	assert_int_equal(write_all(world), 0);
	assert_int_equal(count(world, EVENT_HELD_BACK), 0);
}

static void types_and_objects_do_not_wait_for_each_other(void **state)
{
	struct world *world = *state;
	struct event_change other = change_of(VIEW("a"), 1, 1);

	other.type = EVENT_GPU_UNHEALTHY;
	take(world, change_of(VIEW("a"), 1, 1));
	take(world, change_of(VIEW("b"), 1, 1));
	take(world, other);
	assert_int_equal(write_all(world), 3);
}

static void a_node_has_so_many_writes_in_any_minute(void **state)
{
	struct world *world = *state;
	uint64_t made[60];
	unsigned n = 0;

	for (unsigned i = 0; i < 60; i++)
		take(world, change_of(name_of(world, i), 1, i));
	for (uint64_t end = world->now + 6 * MINUTE; world->now < end; world->now += 1000)
		while (write_one(world))
			made[n++] = world->now;
	assert_int_equal(n, 60);
	for (unsigned i = PER_MINUTE; i < n; i++)
		assert_true(made[i] - made[i - PER_MINUTE] >= MINUTE);
}

/* Another budget of the world's, whose repeats are told after so long. */
static void use_repeat(struct world *world, uint64_t repeat_ms)
{
	const struct event_budget_limits limits = {.per_minute = PER_MINUTE, .repeat_ms = repeat_ms};
	struct error err;

	event_budget_free(world->budget);
	assert_int_equal(event_budget_new(&limits, &world->budget, &err), 0);
}

/* Creates and series count together, whether or not anything is remembered in between. */
static void a_node_whose_repeats_are_told_soon_has_no_more_writes(void **state)
{
	static const uint64_t every[] = {60, 1500, 3000, 5500};
	struct world *world = *state;

	for (size_t row = 0; row < ARRAY_SIZE(every); row++) {
		uint64_t made[800];
		unsigned n = 0, n_patches = 0, n_told = 0;

		use_repeat(world, 1000);
		for (uint64_t end = world->now + 5 * MINUTE; world->now < end; world->now += 20) {
			if (world->now % every[row] < 20) {
				take(world, change_of(VIEW("gpu"), 79, ++n_told));
				take(world, change_of(VIEW("pod"), 79, n_told));
			}
			for (; write_one(world); n_patches += world->write.is_patch)
				made[n++] = world->now;
		}
		assert_in_range(n, 2 * PER_MINUTE, 5 * PER_MINUTE);
		assert_true(n_patches > 0 || every[row] > 1000);
		for (unsigned i = PER_MINUTE; i < n; i++)
			assert_true(made[i] - made[i - PER_MINUTE] >= MINUTE);
	}
}

/* 1 000 of an error in a minute, each told of on the object and on a pod. */
static void a_thousand_repeats_in_a_minute_are_ten_writes(void **state)
{
	struct world *world = *state;
	unsigned n = 0;

	use_repeat(world, 1000);
	for (uint64_t i = 0; i < 1000; i++, world->now += 60) {
		take(world, change_of(VIEW("gpu"), 79, i));
		take(world, change_of(VIEW("pod"), 79, i));
		n += write_all(world);
	}
	assert_int_equal(n, PER_MINUTE);
}

/* A write that is refused is one, and what comes next is no less limited. */
static void what_is_given_up_counts_against_the_node(void **state)
{
	struct world *world = *state;
	unsigned n = 0;

	for (uint64_t i = 0; i < 100; i++) {
		take(world, change_of(VIEW("gpu"), i, i));
		for (; event_budget_next(world->budget, world->now, &world->write); n++)
			event_budget_drop(world->budget, world->now);
	}
	assert_int_equal(n, PER_MINUTE);
}

static void a_node_over_its_budget_does_not_hold_up_others(void **state)
{
	struct world *world = *state;
	struct event_change other = change_of(VIEW("elsewhere"), 1, 1);

	for (unsigned i = 0; i < PER_MINUTE + 1; i++)
		take(world, change_of(name_of(world, i), 1, i));
	assert_int_equal(write_all(world), PER_MINUTE);
	assert_int_equal(event_budget_due_at(world->budget, world->now), world->now + MINUTE);
	event_budget_take(world->budget, VIEW("node-2"), &other, world->now, 0);
	assert_int_equal(write_all(world), 1);
}

/* 1 000 of an error in ten minutes, each told of on the object and on four pods. */
static void a_storm_of_one_error_is_a_few_writes(void **state)
{
	struct world *world = *state;
	unsigned n = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		for (unsigned pod = 0; pod < 5; pod++)
			take(world, change_of(name_of(world, pod), 31, i));
		n += write_all(world);
		world->now += 600;
	}
	assert_int_equal(n, 5);
	assert_int_equal(count(world, EVENT_HELD_BACK), 5 * 999);
	assert_int_equal(write_all(world), 5);
	assert_int_equal(world->write.event.count, 1000);
}

/* The same if each is another error: what is not one series is no more writes. */
static void a_storm_of_different_errors_is_no_more_writes(void **state)
{
	struct world *world = *state;
	unsigned n = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		take(world, change_of(VIEW("gpu"), i, i));
		n += write_all(world);
		world->now += 60;
	}
	assert_int_equal(n, 1);
}

static void a_write_that_is_put_back_is_the_next_one(void **state)
{
	struct world *world = *state;

	take(world, change_of(VIEW("a"), 1, 1));
	take(world, change_of(VIEW("b"), 1, 1));
	assert_true(event_budget_next(world->budget, world->now, &world->write));
	event_budget_put_back(world->budget);
	take(world, change_of(VIEW("a"), 1, 2)); /* it may repeat meanwhile */
	assert_true(write_one(world));
	assert_true(view_equal(world->write.event.regarding.name, VIEW("a")));
	assert_false(world->write.is_patch);
	assert_int_equal(world->write.event.count, 2);
	assert_true(write_one(world));
	assert_false(write_one(world));
}

static void a_write_that_is_dropped_counts_as_failed_and_its_object_is_forgotten(void **state)
{
	struct world *world = *state;

	take(world, change_of(VIEW("a"), 1, 1));
	assert_true(event_budget_next(world->budget, world->now, &world->write));
	event_budget_drop(world->budget, world->now);
	assert_false(write_one(world));
	assert_int_equal(count(world, EVENT_FAILED), 1);
	take(world, change_of(VIEW("a"), 1, 1));
	assert_true(write_one(world));
}

static void what_waits_too_long_is_given_up(void **state)
{
	struct world *world = *state;

	take(world, change_of(VIEW("a"), 1, 1));
	assert_true(event_budget_next(world->budget, world->now, &world->write));
	event_budget_put_back(world->budget);
	world->now += EVENT_BUDGET_STALE_MS;
	assert_false(write_one(world));
	assert_int_equal(count(world, EVENT_FAILED), 1);
	assert_true(event_budget_due_at(world->budget, world->now) == UINT64_MAX);
}

static void what_waits_is_bounded_by_node_and_in_all(void **state)
{
	struct world *world = *state;
	const unsigned n_nodes = 2 * LIMIT_EVENT_QUEUE / LIMIT_EVENT_NODE_QUEUE;
	char node[16];
	unsigned n = 0;

	for (unsigned i = 0; i < n_nodes; i++) {
		snprintf(node, sizeof(node), "node-%u", i);
		for (unsigned k = 0; k < LIMIT_EVENT_NODE_QUEUE + 1; k++, n++) {
			struct event_change change = change_of(name_of(world, n), 1, n);

			event_budget_take(world->budget, view_from(node), &change, world->now, 0);
		}
		if (i == 0)
			assert_int_equal(count(world, EVENT_HELD_BACK), 1);
	}
	assert_int_equal(count(world, EVENT_HELD_BACK), n - LIMIT_EVENT_QUEUE);
}

static void what_is_remembered_is_bounded(void **state)
{
	struct world *world = *state;
	char node[16];

	for (unsigned i = 0; i < LIMIT_EVENT_SERIES + 10; i++) {
		struct event_change change = change_of(name_of(world, i), 1, i);

		snprintf(node, sizeof(node), "node-%u", i);
		event_budget_take(world->budget, view_from(node), &change, world->now, 0);
		(void)write_one(world);
	}
	assert_int_equal(count(world, EVENT_SENT), LIMIT_EVENT_SERIES);
	assert_int_equal(count(world, EVENT_HELD_BACK), 10);
	world->now += REPEAT;
	assert_false(write_one(world));
	take(world, change_of(VIEW("again"), 1, 1));
	assert_true(write_one(world));
}

static void without_memory_a_change_is_held_back(void **state)
{
	struct world *world = *state;
	unsigned n_failed = 0;
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		take(world, change_of(VIEW("a"), 1, 1));
		failed = failing_malloc_off();
		n_failed += failed;
		assert_int_equal(count(world, EVENT_HELD_BACK), n_failed);
	}
	assert_true(n_failed >= 3);
	assert_int_equal(write_all(world), 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_change_is_written_once_and_at_once),
	cmocka_unit_test_set_up(an_object_of_the_cluster_has_its_events_in_the_namespace_default),
	cmocka_unit_test_set_up(the_name_of_an_event_is_cut_to_fit),
	cmocka_unit_test_set_up(repeats_are_counted_and_sent_as_a_series_when_the_time_is_over),
	cmocka_unit_test_set_up(after_a_time_without_repeats_there_is_a_new_event),
	cmocka_unit_test_set_up(something_else_of_the_same_type_waits_and_is_an_event_of_its_own),
	cmocka_unit_test_set_up(what_repeats_does_not_take_the_place_of_what_waits),
	cmocka_unit_test_set_up(what_is_graver_waits_and_what_is_less_so_is_held_back),
	cmocka_unit_test_set_up(what_waits_behind_a_write_that_is_given_up_has_its_turn),
	cmocka_unit_test_set_up(what_is_told_twice_counts_once),
	cmocka_unit_test_set_up(types_and_objects_do_not_wait_for_each_other),
	cmocka_unit_test_set_up(a_node_has_so_many_writes_in_any_minute),
	cmocka_unit_test_set_up(a_node_whose_repeats_are_told_soon_has_no_more_writes),
	cmocka_unit_test_set_up(a_thousand_repeats_in_a_minute_are_ten_writes),
	cmocka_unit_test_set_up(what_is_given_up_counts_against_the_node),
	cmocka_unit_test_set_up(a_node_over_its_budget_does_not_hold_up_others),
	cmocka_unit_test_set_up(a_storm_of_one_error_is_a_few_writes),
	cmocka_unit_test_set_up(a_storm_of_different_errors_is_no_more_writes),
	cmocka_unit_test_set_up(a_write_that_is_put_back_is_the_next_one),
	cmocka_unit_test_set_up(a_write_that_is_dropped_counts_as_failed_and_its_object_is_forgotten),
	cmocka_unit_test_set_up(what_waits_too_long_is_given_up),
	cmocka_unit_test_set_up(what_waits_is_bounded_by_node_and_in_all),
	cmocka_unit_test_set_up(what_is_remembered_is_bounded),
	cmocka_unit_test_set_up(without_memory_a_change_is_held_back),
};
TEST_MAIN(tests)
