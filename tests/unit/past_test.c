/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/test_main.h"
#include "lib/twins.h"

#include "join/facts.h"
#include "join/past.h"

static struct build_world world;
static struct devices devices;

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

static struct past read_past(void)
{
	struct past past;
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(past_read(&devices, &world.arena, &past, &err), 0);
	return past;
}

/* On device 0: web, whose pod runs, and gone, whose is no more; on device 1: far, whose pod runs,
 * and one nobody knows. */
static struct past publish(void)
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
	return read_past();
}

static void whoever_was_known_was_a_tenant(void **state)
{
	(void)state;
	struct past past = publish();
	assert_true(past_has(&past, VIEW("uid-web")));
	assert_true(past_has(&past, VIEW("uid-gone")));
	assert_false(past_has(&past, VIEW("uid-new")));
	assert_false(past_has(&past, VIEW("")));
}

static void a_namesake_has_another_uid_and_was_on_the_device(void **state)
{
	(void)state;
	static const struct {
		const char *namespace, *name, *container, *uid;
		size_t device;
		bool has;
	} rows[] = {
		{"ml", "web", "main", "uid-other", 0, true},
		{"ml", "gone", "main", "uid-other", 0, true},
		{"ml", "web", "main", "", 0, true},
		{"ml", "web", "main", "uid-web", 0, false},
		{"ml", "web", "main", "uid-other", 1, false},
		{"ml", "far", "main", "uid-other", 1, true},
		{"ml", "far", "main", "uid-other", 0, false},
		{"ml", "web", "main", "uid-other", PAST_ANYWHERE, true},
		{"ml", "web", "main", "uid-web", PAST_ANYWHERE, false},
		{"ml", "web", "side", "uid-other", 0, false},
		{"other", "web", "main", "uid-other", 0, false},
		{"ml", "db", "main", "uid-other", 0, false},
	};
	struct past past = publish();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct report_pod_resource said = {
			.namespace = view_from(rows[i].namespace),
			.name = view_from(rows[i].name),
			.container = view_from(rows[i].container),
		};
		assert_int_equal(
			past_has_namesake(&past, &said, view_from(rows[i].uid), rows[i].device),
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
	struct past past = read_past();
	assert_true(past_has_namesake(&past, &said, VIEW("uid-1"), 0));
	assert_true(past_has_namesake(&past, &said, VIEW("uid-2"), 0));
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
		struct past past = read_past();
		assert_int_equal(past_has_namesake(&past, &said, VIEW("uid-2"), 0), is_whole);
		assert_int_equal(past_has_namesake(&past, &said, VIEW("uid-2"), PAST_ANYWHERE),
				 is_whole);
	}
}

static void a_tenancy_has_its_witnesses_where_it_is_and_anywhere(void **state)
{
	(void)state;
	const unsigned both = WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES;
	struct past past = publish();
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("main"), 0), both);
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("main"), PAST_ANYWHERE), both);
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("main"), 1), 0);
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("side"), 0), 0);
	assert_int_equal(past_witnesses(&past, VIEW("uid-gone"), VIEW("main"), 0), 0);
}

static void witnesses_anywhere_are_those_of_all_devices(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "web", .told = {build_world_uuid(&world, 1)}},
			build_world_uuid(&world, 0));
	build_world_publish(&world);
	struct past past = read_past();
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("main"), 0),
			 WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES);
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("main"), 1),
			 WITNESS_POD_STATUS);
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("main"), PAST_ANYWHERE),
			 WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES | WITNESS_POD_STATUS);
}

/* A pod that was on device 0, for which its status spoke. */
static struct past publish_one(struct build_pod pod)
{
	build_world_deinit(&world);
	build_world_init(&world);
	build_world_exclusive(&world, 0);
	pod.told[0] = build_world_uuid(&world, 0);
	build_world_pod(&world, pod);
	build_world_publish(&world);
	return read_past();
}

static void whose_hash_is_the_same_is_told_apart(void **state)
{
	(void)state;
	struct twins t = twins_find();
	const char *one = t.one.ptr;
	struct past past = publish_one((struct build_pod){.uid = one});
	assert_true(past_has(&past, t.one));
	assert_false(past_has(&past, t.other));
	assert_int_equal(past_witnesses(&past, t.one, VIEW("main"), 0), WITNESS_POD_STATUS);
	assert_int_equal(past_witnesses(&past, t.other, VIEW("main"), 0), 0);
	past = publish_one((struct build_pod){.container = one});
	assert_int_equal(past_witnesses(&past, VIEW("uid-pod"), t.one, 0), WITNESS_POD_STATUS);
	assert_int_equal(past_witnesses(&past, VIEW("uid-pod"), t.other, 0), 0);

	const struct {
		struct build_pod pod;
		struct report_pod_resource said, other;
	} rows[] = {
		{{.namespace = one},
		 {t.one, VIEW("pod"), VIEW("main")},
		 {t.other, VIEW("pod"), VIEW("main")}},
		{{.name = one},
		 {VIEW("ml"), t.one, VIEW("main")},
		 {VIEW("ml"), t.other, VIEW("main")}},
		{{.container = one},
		 {VIEW("ml"), VIEW("pod"), t.one},
		 {VIEW("ml"), VIEW("pod"), t.other}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		past = publish_one(rows[i].pod);
		assert_true(past_has_namesake(&past, &rows[i].said, VIEW("x"), 0));
		assert_false(past_has_namesake(&past, &rows[i].other, VIEW("x"), 0));
	}
}

static void the_tenancy_of_a_card_on_another_node_has_none_here(void **state)
{
	(void)state;
	publish();
	for (size_t i = 0; i < devices.n_devices; i++)
		devices.devices[i].is_ours = false;
	struct past past;
	struct error err;
	assert_int_equal(past_read(&devices, &world.arena, &past, &err), 0);
	assert_int_equal(past_witnesses(&past, VIEW("uid-web"), VIEW("main"), 0), 0);
	assert_true(past_has(&past, VIEW("uid-web")));
}

static void without_memory_there_is_no_past(void **state)
{
	(void)state;
	struct arena small;
	struct past past;
	struct error err = {0};
	publish();
	for (size_t cap = 1; cap < 65536; cap *= 4) {
		arena_init(&small, cap);
		if (past_read(&devices, &small, &past, &err) < 0)
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
	cmocka_unit_test_setup_teardown(who_may_never_have_had_the_device_is_nobodys_namesake,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_tenancy_has_its_witnesses_where_it_is_and_anywhere,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(witnesses_anywhere_are_those_of_all_devices, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(whose_hash_is_the_same_is_told_apart, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_tenancy_of_a_card_on_another_node_has_none_here, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_past, set_up, tear_down),
};
TEST_MAIN(tests)
