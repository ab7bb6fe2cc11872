/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/test_main.h"

#include "join/checkpoint_index.h"

static struct build_world world;

static int set_up(void **state)
{
	(void)state;
	build_world_init(&world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	build_world_deinit(&world);
	return 0;
}

static struct checkpoint_index make(void)
{
	static struct devices devices;
	static struct node_pods node_pods;
	static struct previous_index previous;
	struct checkpoint_index index;
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(node_pods_take(&world.input, &world.arena, &node_pods, &err), 0);
	assert_int_equal(previous_index_make(&devices, &world.arena, &previous, &err), 0);
	assert_int_equal(
		checkpoint_index_make(&node_pods, &previous, &world.arena, &index, &err), 0);
	return index;
}

static void each_uid_has_its_standing(void **state)
{
	(void)state;
	static const struct {
		const char *uid;
		enum checkpoint_standing standing;
		bool has_pod;
	} rows[] = {
		{"uid-live", CHECKPOINT_LIVE, true},
		{"uid-over", CHECKPOINT_ENDED, true},
		{"uid-ended", CHECKPOINT_ENDED, false},
		{"uid-away", CHECKPOINT_REFUSED, false},
		{"uid-new", CHECKPOINT_UNKNOWN, false},
	};
	build_world_pod(&world, (struct build_pod){.name = "live"});
	build_world_pod(&world, (struct build_pod){.name = "over", .phase = POD_PHASE_FAILED});
	build_world_end(&world, "uid-ended");
	build_world_move_away(&world, "uid-away");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		build_world_book(&world, rows[i].uid, "main", VIEW("id"));
	struct checkpoint_index index = make();
	assert_int_equal(index.n_entries, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(index.entries[i].standing, rows[i].standing);
		assert_int_equal(index.entries[i].pod != NULL, rows[i].has_pod);
	}
}

static void whoever_was_published_as_a_tenant_was_known_once(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "tenant"},
			build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "past"},
			build_world_replica(&world, 0, 1));
	build_world_run(&world, (struct build_pod){.name = "gone"},
			build_world_replica(&world, 0, 3));
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "other"}, build_world_uuid(&world, 1));
	build_world_list(&world, "pending", "main", build_world_replica(&world, 0, 2));
	build_world_book(&world, "uid-pending", "main", build_world_replica(&world, 0, 2));
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-past");
	build_world_remove_pod(&world, "uid-gone");
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-tenant");
	build_world_remove_pod(&world, "uid-other");
	world.input.n_ended = 0; /* as after a restart of the controller */
	struct checkpoint_index index = make();
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(index.entries[i].standing, CHECKPOINT_ENDED);
	assert_int_equal(index.entries[4].standing, CHECKPOINT_UNKNOWN);
}

static void standings_are_found_by_id_and_container(void **state)
{
	(void)state;
	static const struct {
		struct view id, container;
		unsigned standings;
	} rows[] = {
		{VIEW_INIT("id-1"), VIEW_INIT("main"), 1u << CHECKPOINT_LIVE | 1u << CHECKPOINT_ENDED},
		{VIEW_INIT("id-1"), VIEW_INIT("side"), 1u << CHECKPOINT_LIVE},
		{VIEW_INIT("id-2"), VIEW_INIT("side"), 1u << CHECKPOINT_UNKNOWN},
		{VIEW_INIT("id-2"), VIEW_INIT("main"), 0},
		{VIEW_INIT("id-1"), VIEW_INIT("init"), 0},
		{VIEW_INIT("id"), VIEW_INIT("main"), 0},
		{VIEW_INIT("id-3"), VIEW_INIT("main"), 0},
	};
	build_world_pod(&world, (struct build_pod){.name = "live"});
	build_world_end(&world, "uid-ended");
	build_world_book(&world, "uid-live", "main", VIEW("id-1"));
	build_world_book(&world, "uid-live", "side", VIEW("id-1"));
	build_world_book(&world, "uid-ended", "main", VIEW("id-1"));
	build_world_book(&world, "uid-new", "side", VIEW("id-2"));
	build_world_book(&world, "uid-newer", "side", VIEW("id-2"));
	struct checkpoint_index index = make();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(
			checkpoint_index_standings(&index, rows[i].id, rows[i].container),
			rows[i].standings);
}

/* By an ID, whichever of the entry's it is. */
static void what_is_marked_for_a_pod_agrees_with_its_container_only(void **state)
{
	(void)state;
	static struct view ids[] = {VIEW_INIT("id-1"), VIEW_INIT("id-2")};
	const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
	const struct pod *b = build_world_pod(&world, (struct build_pod){.name = "b"});
	const struct {
		struct view id, container;
		const struct pod *pod, *agrees;
	} rows[] = {
		{VIEW_INIT("id-1"), VIEW_INIT("main"), a, a},
		{VIEW_INIT("id-2"), VIEW_INIT("main"), a, a},
		{VIEW_INIT("id-1"), VIEW_INIT("main"), b, b},
		{VIEW_INIT("id-2"), VIEW_INIT("main"), b, NULL},
		{VIEW_INIT("id-1"), VIEW_INIT("side"), a, NULL},
		{VIEW_INIT("id-3"), VIEW_INIT("main"), a, NULL},
		{VIEW_INIT("id-1"), VIEW_INIT("main"), NULL, NULL},
	};
	build_world_book(&world, "uid-a", "main", VIEW(""))->device_ids =
		(struct array){ids, ARRAY_SIZE(ids), true};
	build_world_book(&world, "uid-b", "main", VIEW("id-1"));
	build_world_book(&world, "uid-a", "side", VIEW("id-2"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct checkpoint_index index = make();
		checkpoint_index_mark(&index, rows[i].id, rows[i].container, rows[i].pod);
		assert_int_equal(checkpoint_index_agrees(&index, a, VIEW("main")),
				 rows[i].agrees == a);
		assert_int_equal(checkpoint_index_agrees(&index, b, VIEW("main")),
				 rows[i].agrees == b);
		assert_false(checkpoint_index_agrees(&index, a, VIEW("side")));
		assert_int_equal(checkpoint_index_names(&index, rows[i].id, rows[i].container, b),
				 i == 0 || i == 2 || i == 6);
	}
}

static void what_is_marked_for_whomever_are_the_entries_with_that_id_and_container(void **state)
{
	(void)state;
	static const struct {
		const char *uid, *container, *id;
		bool is_marked;
	} rows[] = {
		{"new", "main", "id-1", true},   {"newer", "main", "id-1", true},
		{"new", "side", "id-1", false},  {"new", "main", "id-2", false},
		{"uid-b", "main", "id-1", true}, /* it has ended */
	};
	const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", VIEW("id-2"));
	build_world_end(&world, "uid-b");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		build_world_book(&world, rows[i].uid, rows[i].container, view_from(rows[i].id));
	struct checkpoint_index index = make();
	checkpoint_index_mark(&index, VIEW("id-1"), VIEW("main"), NULL);
	checkpoint_index_mark(&index, VIEW("id-2"), VIEW("main"), a);
	checkpoint_index_mark(&index, VIEW("id-3"), VIEW("main"), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(checkpoint_index_is_marked(&index, &index.entries[1 + i]),
				 rows[i].is_marked);
}

static void without_memory_there_is_no_index(void **state)
{
	(void)state;
	struct node_pods node_pods = {.input = &world.input};
	struct previous_index previous = {0};
	struct checkpoint_index index;
	struct error err = {0};
	struct arena small;
	arena_init(&small, 1);
	build_world_book(&world, "uid-a", "main", VIEW("id"))->device_ids.count = 0;
	assert_int_equal(checkpoint_index_make(&node_pods, &previous, &small, &index, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	arena_deinit(&small);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(each_uid_has_its_standing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(whoever_was_published_as_a_tenant_was_known_once, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(standings_are_found_by_id_and_container, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_marked_for_a_pod_agrees_with_its_container_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_marked_for_whomever_are_the_entries_with_that_id_and_container, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_index, set_up, tear_down),
};

TEST_MAIN(tests)
