/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/event_recovery.h"

struct world {
	struct event_recovery recovery;
	struct event_change taken; /* the last one */
};

static int set_up(void **state)
{
	static struct world world;

	event_recovery_init(&world.recovery);
	*state = &world;
	return 0;
}

static int tear_down(void **state)
{
	event_recovery_deinit(&((struct world *)*state)->recovery);
	return 0;
}

static bool take(struct world *world, enum event_use use, struct view uid, struct view note)
{
	world->taken = (struct event_change){
		.type = EVENT_GPU_RECOVERED, .use = use, .regarding = {.uid = uid}, .note = note};
	return event_recovery_take(&world->recovery, &world->taken);
}

static void a_recovery_is_told_once_with_what_there_was(void **state)
{
	struct world *world = *state;

	assert_false(take(world, EVENT_AWAIT_RECOVERY, VIEW("u1"), VIEW("XID79")));
	assert_false(take(world, EVENT_END_RECOVERY, VIEW("u2"), VIEW("")));
	assert_true(take(world, EVENT_END_RECOVERY, VIEW("u1"), VIEW("")));
	assert_true(view_equal(world->taken.note, VIEW("XID79")));
	assert_false(take(world, EVENT_END_RECOVERY, VIEW("u1"), VIEW("")));
}

static void what_was_ill_last_is_what_there_was(void **state)
{
	struct world *world = *state;

	assert_false(take(world, EVENT_AWAIT_RECOVERY, VIEW("u1"), VIEW("XID79")));
	assert_false(take(world, EVENT_AWAIT_RECOVERY, VIEW("u1"), VIEW("XID48")));
	assert_true(take(world, EVENT_END_RECOVERY, VIEW("u1"), VIEW("")));
	assert_true(view_equal(world->taken.note, VIEW("XID48")));
}

static void a_recovery_that_is_told_ends_what_was_remembered(void **state)
{
	struct world *world = *state;

	assert_false(take(world, EVENT_AWAIT_RECOVERY, VIEW("u1"), VIEW("XID79")));
	assert_true(take(world, EVENT_TELL, VIEW("u1"), VIEW("before there was XID79")));
	assert_true(view_equal(world->taken.note, VIEW("before there was XID79")));
	assert_false(take(world, EVENT_END_RECOVERY, VIEW("u1"), VIEW("")));
}

static void other_changes_are_told_and_end_nothing(void **state)
{
	struct world *world = *state;
	struct event_change ill = {.type = EVENT_GPU_UNHEALTHY, .regarding = {.uid = VIEW("u1")}};

	assert_false(take(world, EVENT_AWAIT_RECOVERY, VIEW("u1"), VIEW("XID79")));
	assert_true(event_recovery_take(&world->recovery, &ill));
	assert_true(take(world, EVENT_END_RECOVERY, VIEW("u1"), VIEW("")));
}

static void beyond_the_limit_the_oldest_is_forgotten_and_counted(void **state)
{
	struct world *world = *state;
	char uid[16];

	for (unsigned i = 0; i <= LIMIT_EVENT_RECOVERIES; i++) {
		snprintf(uid, sizeof(uid), "u%u", i);
		assert_false(take(world, EVENT_AWAIT_RECOVERY, view_from(uid), VIEW("XID79")));
	}
	assert_int_equal(world->recovery.n_forgotten, 1);
	assert_false(take(world, EVENT_END_RECOVERY, VIEW("u0"), VIEW("")));
	assert_true(take(world, EVENT_END_RECOVERY, VIEW("u1"), VIEW("")));
}

static void without_memory_it_is_forgotten_and_counted(void **state)
{
	struct world *world = *state;

	for (unsigned k = 1; k <= 2; k++) {
		failing_malloc_at(k);
		assert_false(take(world, EVENT_AWAIT_RECOVERY, VIEW("u1"), VIEW("XID79")));
		assert_true(failing_malloc_off());
		assert_int_equal(world->recovery.n_forgotten, k);
		assert_false(take(world, EVENT_END_RECOVERY, VIEW("u1"), VIEW("")));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_recovery_is_told_once_with_what_there_was),
	cmocka_unit_test_set_up(what_was_ill_last_is_what_there_was),
	cmocka_unit_test_set_up(a_recovery_that_is_told_ends_what_was_remembered),
	cmocka_unit_test_set_up(other_changes_are_told_and_end_nothing),
	cmocka_unit_test_set_up(beyond_the_limit_the_oldest_is_forgotten_and_counted),
	cmocka_unit_test_set_up(without_memory_it_is_forgotten_and_counted),
};
TEST_MAIN(tests)
