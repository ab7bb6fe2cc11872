/* SPDX-License-Identifier: Apache-2.0 */

/* A join that runs out of memory. */

#include "lib/failing_malloc.h"
#include "lib/world_fixture.h"
#include "schema/attribution_doc.h"

#define CHUNK ((size_t)65536) /* an arena's largest */

static void expect_same_result(const struct join_result *a, const struct join_result *b)
{
	assert_int_equal(a->n_devices, b->n_devices);
	assert_int_equal(a->recall.n_ended, b->recall.n_ended);
	assert_int_equal(a->refused.ids, b->refused.ids);
	assert_true(a->again_in_ms == b->again_in_ms);
	for (size_t i = 0; i < a->n_devices; i++) {
		assert_int_equal(a->devices[i].action, b->devices[i].action);
		assert_true(attribution_doc_is_same(&a->devices[i].status, &b->devices[i].status));
	}
}

/* Nearly everything that there can be. */
static void make_all(void)
{
	build_world_shared(&world, 0, 4);
	build_world_cut(&world, 1, 2);
	world_run("a", build_world_replica(&world, 0, 0));
	world_run("b", build_world_mig(&world, 1, 0));
	world_run("c", build_world_replica(&world, 0, 1));
	build_world_list(&world, "ghost", "main", build_world_replica(&world, 0, 3));
	build_world_event(&world, build_world_uuid(&world, 0), 79, BUILD_WORLD_NOW);
	build_world_run(&world,
			(struct build_pod){.name = "d", .told = {build_world_uuid(&world, 2)}},
			VIEW("no device"));
	build_world_run(
		&world,
		(struct build_pod){.name = "e", .told = {build_world_replica(&world, 0, 3)}},
		build_world_replica(&world, 0, 2));
	build_world_grant(&world, "uid-d", "main", 0);
	build_world_process(&world, 0, 1, "uid-d");
	build_world_process(&world, 0, 2, "");
	build_world_end(&world, "uid-x");
	build_world_slice(&world, 3);
	build_world_wait(&world, world.limits.disagreement_ms);
	publish();
	build_world_remove_pod(&world, "uid-a");
	build_world_exclusive(&world, 2);
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-b");
	build_world_process(&world, 0, 3, "uid-c");
	build_world_event(&world, build_world_uuid(&world, 0), 31, BUILD_WORLD_NOW + 1);
	build_world_event(&world, build_world_uuid(&world, 0), 48, BUILD_WORLD_NOW + 2);
	build_world_device(&world, 4)->model = VIEW("A model");
}

TEST(running_out_of_memory_fails_and_changes_nothing)
{
	struct error err;
	unsigned n_failures = 0;
	make_all();
	for (int i = 0; i < 3; i++) {
		const struct join_result *all = build_world_join(&world);
		for (size_t cap = 0;; cap += 16) {
			CLEANUP(arena_deinit) struct arena arena;
			struct join_result result = {.n_devices = 4711};
			arena_init(&arena, cap);
			error_clear(&err);
			if (join_node(&world.input, &arena, &result, &err) == 0) {
				expect_same_result(&result, all);
				break;
			}
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_int_equal(result.n_devices, 4711);
			n_failures++;
		}
		if (i == 0)
			build_world_restart(&world);
		else
			world.input.report_age_ms = world.limits.agentless_ms;
	}
	assert_true(n_failures > 100);
}

/* So many bytes fit before the arena asks for memory. */
static void leave_room(struct arena *arena, size_t room)
{
	arena_init(arena, 16 * CHUNK);
	assert_non_null(arena_alloc(arena, 1, CHUNK));
	assert_non_null(arena_alloc(arena, 1, CHUNK - room));
}

TEST(a_single_failed_allocation_fails_and_changes_nothing)
{
	struct error err;
	make_all();
	for (int i = 0; i < 3; i++) {
		const struct join_result all = *build_world_join(&world);
		bool failed = true;
		for (size_t room = 0; failed; room += 16) {
			CLEANUP(arena_deinit) struct arena arena;
			struct join_result result = {.n_devices = 4711};
			/* What does not fit into the room takes one chunk, or several. */
			leave_room(&arena, room % CHUNK);
			failing_malloc_at(1 + (unsigned)(room / CHUNK));
			int status = join_node(&world.input, &arena, &result, &err);
			failed = failing_malloc_off();
			assert_int_equal(status, failed ? -1 : 0);
			if (failed)
				assert_int_equal(result.n_devices, 4711);
			else
				expect_same_result(&result, &all);
		}
		if (i == 0)
			build_world_restart(&world);
		else
			world.input.report_age_ms = world.limits.agentless_ms;
	}
}

TESTS(set_up, tear_down)
