/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"
#include "lib/twins.h"

#include "join/previous_index.h"

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

static struct devices devices;

static struct previous_index make(void)
{
	struct previous_index index;
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(previous_index_make(&devices, &world.arena, &index, &err), 0);
	return index;
}

/* On device 0: web, whose pod runs, and gone, whose is no more; on device 1: far, whose pod runs,
 * and one nobody knows. */
static struct previous_index publish(void)
{
	build_world_shared(&world, 0, 2);
	build_world_shared(&world, 1, 2);
	build_world_run(&world, (struct build_pod){.name = "web"},
			build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "far"},
			build_world_replica(&world, 1, 0));
	build_world_run(&world, (struct build_pod){.name = "gone"},
			build_world_replica(&world, 0, 1));
	build_world_list(&world, "new", "main", build_world_replica(&world, 1, 1));
	build_world_book(&world, "uid-new", "main", build_world_replica(&world, 1, 1));
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-gone");
	build_world_publish(&world);
	return make();
}

static void whoever_was_known_was_a_tenant(void **state)
{
	(void)state;
	struct previous_index index = publish();
	assert_true(previous_index_has(&index, VIEW("uid-web")));
	assert_true(previous_index_has(&index, VIEW("uid-gone")));
	assert_false(previous_index_has(&index, VIEW("uid-new")));
	assert_false(previous_index_has(&index, VIEW("")));
}

static void a_namesake_has_another_uid_and_was_on_the_device(void **state)
{
	(void)state;
	static const struct {
		const char *namespace, *name, *container, *uid;
		int device; /* -1: any */
		bool has;
	} rows[] = {
		{"ml", "web", "main", "uid-other", 0, true},
		{"ml", "gone", "main", "uid-other", 0, true},
		{"ml", "web", "main", "", 0, true},
		{"ml", "web", "main", "uid-web", 0, false},
		{"ml", "web", "main", "uid-other", 1, false},
		{"ml", "far", "main", "uid-other", 1, true},
		{"ml", "far", "main", "uid-other", 0, false},
		{"ml", "web", "main", "uid-other", -1, true},
		{"ml", "web", "main", "uid-web", -1, false},
		{"ml", "web", "side", "uid-other", 0, false},
		{"other", "web", "main", "uid-other", 0, false},
		{"ml", "db", "main", "uid-other", 0, false},
	};
	struct previous_index index = publish();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct report_pod_resource said = {
			.namespace = view_from(rows[i].namespace),
			.name = view_from(rows[i].name),
			.container = view_from(rows[i].container),
		};
		const struct device *device =
			rows[i].device < 0 ? NULL : &devices.devices[rows[i].device];
		assert_int_equal(previous_index_has_namesake(&index, &said, view_from(rows[i].uid),
							     device),
				 rows[i].has);
	}
}

static void of_two_pods_of_one_name_each_is_the_others_namesake(void **state)
{
	(void)state;
	const struct report_pod_resource said = {
		.namespace = VIEW("ml"), .name = VIEW("web"), .container = VIEW("main")};
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "web", .uid = "uid-1"},
			build_world_uuid(&world, 0));
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-1");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_run(&world, (struct build_pod){.name = "web", .uid = "uid-2"},
			build_world_uuid(&world, 0));
	build_world_publish(&world);
	struct previous_index index = make();
	assert_true(previous_index_has_namesake(&index, &said, VIEW("uid-1"), devices.devices));
	assert_true(previous_index_has_namesake(&index, &said, VIEW("uid-2"), devices.devices));
}

/* HAMi's ID names a device that its holder may never have had. */
static void who_may_never_have_had_the_device_is_nobodys_namesake(void **state)
{
	(void)state;
	const struct report_pod_resource said = {
		.namespace = VIEW("ml"), .name = VIEW("web"), .container = VIEW("main")};

	for (int is_whole = 0; is_whole < 2; is_whole++) {
		build_world_deinit(&world);
		build_world_init(&world);
		struct view id = is_whole ? build_world_uuid(&world, 0)
					  : VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1");
		build_world_device(&world, 0);
		build_world_offer(&world, id);
		build_world_run(&world, (struct build_pod){.name = "web"}, id);
		build_world_publish(&world);
		assert_int_equal(build_world_status(&world, 0)->tenants.count, 1);
		struct previous_index index = make();
		const struct device *scopes[] = {devices.devices, NULL};
		for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
			assert_int_equal(previous_index_has_namesake(&index, &said, VIEW("uid-2"),
								     scopes[i]),
					 is_whole);
	}
}

/* Of two UIDs whose hash is the same. */
static void a_uid_that_looks_alike_is_not_mixed_up(void **state)
{
	(void)state;
	struct twins t = twins_find();
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.uid = t.one.ptr, .name = "a"},
			build_world_uuid(&world, 0));
	build_world_publish(&world);
	struct previous_index index = make();
	assert_true(previous_index_has(&index, t.one));
	assert_false(previous_index_has(&index, t.other));
}

static void without_memory_there_is_no_index(void **state)
{
	(void)state;
	struct arena small;
	struct previous_index index;
	struct error err = {0};
	publish();
	for (size_t cap = 1; cap < 65536; cap *= 4) {
		arena_init(&small, cap);
		if (previous_index_make(&devices, &small, &index, &err) < 0)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
		else
			assert_true(cap > 1);
		arena_deinit(&small);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(whoever_was_known_was_a_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_namesake_has_another_uid_and_was_on_the_device, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(of_two_pods_of_one_name_each_is_the_others_namesake, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		who_may_never_have_had_the_device_is_nobodys_namesake, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_uid_that_looks_alike_is_not_mixed_up, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_index, set_up, tear_down),
};

TEST_MAIN(tests)
