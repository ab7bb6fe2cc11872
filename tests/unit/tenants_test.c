/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/world_fixture.h"
#include "join/witnesses.h"

#include "base/limits.h"
#include "join/subject.h"

#define DISPUTED ATTRIBUTION_CONFIDENCE_DISPUTED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

/* Annotations */

/* Memory */

static struct devices devices;
static struct facts facts;

static struct debounce *debounce;

/* Neither the checkpoint nor the List, which is not complete, has "a"; "b" is disputed. */
static void read_one_that_stays_and_one_that_is_disputed(void)
{
	struct error err;
	build_world_shared(&world, 0, 2);
	build_world_device(&world, 1);
	world_run("a", build_world_replica(&world, 0, 0));
	build_world_run(&world,
			(struct build_pod){.name = "b", .told = {build_world_uuid(&world, 1)}},
			build_world_replica(&world, 0, 1));
	publish();
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_tenant(publish(), "uid-b", RUNNING, DISPUTED);
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 1));
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	const struct debounce_round round = {.n_subjects = 2, .heard_age_ms = world.input.report_age_ms};
	assert_int_equal(debounce_open(&round, &world.arena, &debounce, &err), 0);
}

/* So many bytes fit before the arena asks for memory. */
static void leave_room(struct arena *arena, size_t room)
{
	const size_t chunk = 65536;
	arena_init(arena, 16 * chunk);
	assert_non_null(arena_alloc(arena, 1, chunk));
	assert_non_null(arena_alloc(arena, 1, chunk - room));
}

TEST(a_single_failed_allocation_fails_and_gives_nothing)
{
	bool failed = true;
	read_one_that_stays_and_one_that_is_disputed();
	for (size_t room = 0; failed; room += 16) {
		CLEANUP(arena_deinit) struct arena arena;
		struct attribution_status status = {.tenant_count = 4711};
		struct subject subject = {.facts = &facts, .debounce = debounce, .arena = &arena,
					  .device = devices.devices, .status = &status};
		struct error err = {0};
		subject.items = facts_of(&facts, 0, &subject.n_items);
		leave_room(&arena, room);
		failing_malloc_at(1);
		int result = tenants_find(&subject, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : 0);
		assert_int_equal(status.tenant_count, failed ? 4711 : 2);
		assert_int_equal(status.source_disagreements.count, failed ? 0 : 1);
	}
}

TESTS(set_up, tear_down)
