/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * world_fixture - a new world (lib/build_world.h) for each test of a file. Such a file ends in
 *	static const struct CMUnitTest tests[] = {cmocka_unit_test_set_up(first), ...};
 *	TEST_MAIN(tests)
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
