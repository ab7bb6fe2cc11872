/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * world_fixture - a new world (lib/build_world.h) for each test of a file, and short names for what
 * most tests put into it. Such a file ends in
 *	TESTS(set_up, tear_down)
 * It may define WORLD_PENDING_MS before.
 *
 * Threads: a test's own.
 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#ifndef WORLD_PENDING_MS
#define WORLD_PENDING_MS 60000 /* how long a holder that is unknown to the API server is Pending */
#endif

static struct build_world world;

/* Makes the world; a cmocka setup function. */
static inline int set_up(void **state)
{
	(void)state;
	build_world_init(&world);
	world.limits.pending_ms = WORLD_PENDING_MS;
	return 0;
}

/* Frees the world; a cmocka teardown function. */
static inline int tear_down(void **state)
{
	(void)state;
	build_world_deinit(&world);
	return 0;
}

/* Another new world within a test; always true, for the head of a loop over rows. */
static inline bool start_anew(void)
{
	return tear_down(NULL) == 0 && set_up(NULL) == 0;
}

/* A pod of that name, with defaults. */
#define POD(its_name) ((struct build_pod){.name = (its_name)})

/* Puts a pod of that name into the API server. */
static inline const struct pod *world_pod(const char *name)
{
	return build_world_pod(&world, POD(name));
}

/* The same, which holds a device ID by both books. */
static inline const struct pod *world_run(const char *name, struct view id)
{
	return build_world_run(&world, POD(name), id);
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

/* Publishes, and returns the status of device 0. */
static inline const struct attribution_status *publish(void)
{
	build_world_publish(&world);
	return build_world_status(&world, 0);
}

/* The same, after what is there has been seen for long enough to count. */
static inline const struct attribution_status *publish_later(void)
{
	build_world_wait(&world, world.limits.disagreement_ms);
	return publish();
}
