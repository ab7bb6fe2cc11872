/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * world_test - what the tests of the join's parts have in common: one world, made anew for each
 * test, and short names for what most of them put into it.
 *
 *	WORLD_TEST(whole_devices_are_exclusive)
 *	{
 *		build_world_exclusive(&world, 0);
 *		...
 *	}
 *	static const struct CMUnitTest tests[] = {
 *		cmocka_unit_test_world(whole_devices_are_exclusive),
 *	};
 *	TEST_MAIN(tests)
 *
 * Threads: a test's own.
 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

static struct build_world world;

/* Makes the world; a cmocka setup function. */
static inline int world_set_up(void **state)
{
	(void)state;
	build_world_init(&world);
	return 0;
}

/* Frees the world; a cmocka teardown function. */
static inline int world_tear_down(void **state)
{
	(void)state;
	build_world_deinit(&world);
	return 0;
}

/* Begins with a new world: for each row of a table. */
static inline void world_again(void)
{
	build_world_deinit(&world);
	build_world_init(&world);
}

/* A pod of that name, with the default of everything else. */
static inline void world_pod(const char *name)
{
	build_world_pod(&world, (struct build_pod){.name = name});
}

/* The same, that holds a device ID. */
static inline void world_run(const char *name, struct view id)
{
	build_world_run(&world, (struct build_pod){.name = name}, id);
}

/* The published object of device n, to be altered. */
static inline struct attribution *world_alter(unsigned n)
{
	struct attribution *copy = arena_alloc(&world.arena, 1, sizeof(*copy));
	assert_non_null(copy);
	*copy = *build_world_previous(&world, n)->object;
	build_world_previous(&world, n)->object = copy;
	return copy;
}

#define WORLD_TEST(name) static void name(void **world_state __attribute__((unused)))
#define cmocka_unit_test_world(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)
