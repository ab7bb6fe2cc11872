/* SPDX-License-Identifier: Apache-2.0 */

#include "join/by_name.h"

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

static struct build_world world;

/* Pods "a" and "b" hold replicas 0 and 1 of device 0, and the checkpoint cannot be read. */
static int set_up(void **state)
{
	(void)state;
	build_world_init(&world);
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 1));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	build_world_deinit(&world);
	return 0;
}

static const struct attribution_status *publish(void)
{
	build_world_publish(&world);
	return build_world_status(&world, 0);
}

#define TEXTS(...) {(void *)(uintptr_t)(const struct view[]){__VA_ARGS__}, \
	sizeof((struct view[]){__VA_ARGS__}) / sizeof(struct view), true}
#define LIST VIEW_INIT("PodResources")
#define BOOK VIEW_INIT("Checkpoint")
static const struct {
	struct attribution_tenant tenant;
	bool is_by_name[2]; /* where the checkpoint is good, and where it is not */
} rows[] = {
	{{.witnesses = TEXTS(LIST)}, {true, true}},
	{{.witnesses = TEXTS(BOOK, LIST)}, {false, true}},
	{{.witnesses = TEXTS(BOOK)}, {false, false}},
	{{.witnesses = TEXTS(VIEW_INIT("PodStatus"))}, {false, false}},
	{{.witnesses = TEXTS(VIEW_INIT("HAMi"))}, {false, true}},
	{{.witnesses = {0}}, {false, false}},
};

static void a_name_alone_speaks_for_whom_no_good_checkpoint_has(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int is_by_names = 0; is_by_names < 2; is_by_names++)
			assert_int_equal(
				by_name_is(&(struct join_device){.is_by_names = is_by_names},
					   &rows[i].tenant),
				rows[i].is_by_name[is_by_names]);
	}
}

static void let_another_come(void)
{
	build_world_list(&world, "c", "main", build_world_replica(&world, 0, 2));
}

static void let_one_have_more(void)
{
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 2));
}

/* The List says nothing of "b", and of "a" that it has another partition. */
static void let_one_be_elsewhere(void)
{
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 2));
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 3));
}

static void while_pods_may_not_be_read_nobody_comes_by_name_alone(void **state)
{
	static void (*const news[])(void) = {let_another_come, let_one_have_more,
					     let_one_be_elsewhere};

	for (size_t i = 0; i < ARRAY_SIZE(news); i++) {
		tear_down(state);
		set_up(state);
		publish();
		build_world_pod(&world, (struct build_pod){.name = "c"});
		build_world_fail_book(&world);
		expect_tenants(publish(), "uid-a/main,uid-b/main");
		news[i]();
		world.input.pods_age = JOIN_PODS_DENIED;
		const struct attribution_status *status = publish();
		expect_tenants(status, "uid-a/main,uid-b/main");
		expect_text(status->slots.summary, "2/4");
		assert_int_equal(status->tenant_count, 2);
		expect_condition(status, "Attributed", CONDITION_UNKNOWN, "PodsUnknown");
		/* And that is written once. */
		assert_int_equal(build_world_count_writes(&world), 0);
		world.input.pods_age = JOIN_PODS_CURRENT;
		assert_int_not_equal(build_world_count_writes(&world), 0);
	}
}

static struct attribution_status status_of(struct attribution_tenant *tenant, int64_t number)
{
	const struct array some = {tenant, (uint32_t)number, true};
	return (struct attribution_status){
		.tenants = {tenant, 1, true},
		.tenant_count = number,
		.tenants_left_out = number,
		.tenant_summary = {"summary", (size_t)number},
		.recent_tenants = some,
		.source_disagreement = some,
		.source_disagreement_left_out = number,
		.unplaced_tenants = some,
		.unplaced_tenants_left_out = number,
		.unallocated_users = some,
		.unallocated_users_left_out = number,
		.unknown_processes = number,
		.slots = {.total = number, .allocated = number, .summary = {"slots", 2}},
		.conditions = some,
		.observed_generation = number,
	};
}

/* Of the rest the news are true. */
static void all_that_is_of_holders_is_held_back_and_nothing_else(void **state)
{
	(void)state;
	struct attribution_tenant before = rows[0].tenant, now = rows[0].tenant;
	struct attribution previous = {.status = status_of(&before, 3)};
	struct join_device device = {.previous = &previous, .pods_age = JOIN_PODS_DENIED};
	struct attribution_status expected = status_of(&before, 3);
	const struct attribution_status news = status_of(&now, 4);

	before.slots = 1;
	now.slots = 2;
	expected.conditions = news.conditions;
	expected.observed_generation = 4;
	device.status = news;
	by_name_hold_back(&device);
	assert_memory_equal(&device.status, &expected, sizeof(expected));
	previous.status.conditions.count = 1;
	device.status = news;
	by_name_hold_back(&device);
	assert_int_equal(device.status.tenant_count, 3);
	/* An object without a status yet. */
	previous.status.conditions.count = 0;
	device.status = news;
	by_name_hold_back(&device);
	assert_int_equal(device.status.tenant_count, -1);
	/* What has a UID is no news that must wait. */
	now.witnesses = rows[3].tenant.witnesses;
	device.status = news;
	by_name_hold_back(&device);
	assert_memory_equal(&device.status, &news, sizeof(news));
}

static void a_tenant_by_name_is_no_news_with_the_slots_and_partitions_that_it_had(void **state)
{
	(void)state;
	struct view parts[][2] = {{VIEW("MIG-1"), VIEW("MIG-2")},
				  {VIEW("MIG-2"), VIEW("MIG-1")},
				  {VIEW("MIG-1"), VIEW("MIG-3")},
				  {VIEW("MIG-3"), VIEW("MIG-1")}};
	static const struct {
		size_t parts;
		uint32_t n_parts;
		int64_t slots;
		const char *container;
		bool is_news;
	} cases[] = {
		{0, 2, 2, "main", false}, {1, 2, 2, "main", false}, {2, 2, 2, "main", true},
		{3, 2, 2, "main", true},  {0, 1, 2, "main", true},  {0, 2, 1, "main", true},
		{0, 2, 3, "main", true},  {0, 2, 2, "side", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct attribution_tenant before = rows[0].tenant, now = rows[0].tenant;
		struct attribution previous = {.status = status_of(&before, 3)};
		struct join_device device = {.previous = &previous, .pods_age = JOIN_PODS_DENIED};

		before.container = VIEW("main");
		before.slots = 2;
		before.partitions = (struct array){parts[0], 2, true};
		now.container = view_from(cases[i].container);
		now.slots = cases[i].slots;
		now.partitions = (struct array){parts[cases[i].parts], cases[i].n_parts, true};
		device.status = status_of(&now, 4);
		by_name_hold_back(&device);
		assert_int_equal(device.status.tenant_count, cases[i].is_news ? 3 : 4);
		/* While pods may be read the API server is asked. */
		device.pods_age = JOIN_PODS_CURRENT;
		device.status = status_of(&now, 4);
		by_name_hold_back(&device);
		assert_int_equal(device.status.tenant_count, 4);
	}
}

/* It is not known to be that pod: an event is told once, and to people. */
static void whom_a_new_event_names_by_name_alone_is_counted_only(void **state)
{
	(void)state;
	struct attribution_tenant before = rows[0].tenant, now = rows[0].tenant;
	struct view uids[2][2] = {{rows[0].tenant.pod_uid, VIEW("of-somebody-else")},
				  {rows[0].tenant.pod_uid, VIEW("of-somebody-else")}};
	struct attribution_health_event events[] = {
		{.xid = 79, .time = 2, .tenants = {uids[0], 2, true}},
		{.xid = 79, .time = 1, .tenants = {uids[1], 2, true}},
	};
	struct attribution previous = {.status = status_of(&before, 3)};
	struct join_device device = {.previous = &previous, .pods_age = JOIN_PODS_STALE};

	before.slots = 1;
	now.slots = 2;
	device.status = status_of(&now, 4);
	device.status.health.events = (struct array){events, 2, true};
	previous.status.health.events = (struct array){&events[1], 1, true};
	by_name_hold_back(&device);
	assert_int_equal(events[0].tenants.count, 1);
	assert_true(view_equal(uids[0][0], VIEW("of-somebody-else")));
	assert_int_equal(events[0].tenants_left_out, 1);
	/* What was published was decided then. */
	assert_int_equal(events[1].tenants.count, 2);
	assert_int_equal(events[1].tenants_left_out, 0);
}

static void while_pods_may_not_be_read_what_has_uids_is_published(void **state)
{
	(void)state;
	publish();
	world.input.pods_age = JOIN_PODS_DENIED;
	build_world_run(&world, (struct build_pod){.name = "c"}, build_world_replica(&world, 0, 2));
	expect_tenants(publish(), "uid-a/main,uid-b/main,uid-c/main");
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_UNKNOWN,
			 "PodsUnknown");
}

static void of_a_device_of_which_nothing_was_published_nobody_is_known(void **state)
{
	(void)state;
	build_world_fail_book(&world);
	world.input.pods_age = JOIN_PODS_DENIED;
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	assert_int_equal(status->tenant_count, -1);
	assert_int_equal(status->slots.total, -1);
	assert_int_equal(status->slots.allocated, -1);
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "PodsUnknown");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_name_alone_speaks_for_whom_no_good_checkpoint_has, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(while_pods_may_not_be_read_nobody_comes_by_name_alone,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(all_that_is_of_holders_is_held_back_and_nothing_else,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_tenant_by_name_is_no_news_with_the_slots_and_partitions_that_it_had, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(whom_a_new_event_names_by_name_alone_is_counted_only,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(while_pods_may_not_be_read_what_has_uids_is_published,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		of_a_device_of_which_nothing_was_published_nobody_is_known, set_up, tear_down),
};
TEST_MAIN(tests)
