/* SPDX-License-Identifier: Apache-2.0 */

/* While what is known of pods is old, the holders of a device stay as published. */

#include "lib/world_fixture.h"

/* Pods "a" and "b" hold replicas 0 and 1 of device 0, and "u" uses it. */
static int set_up_holders(void **state)
{
	set_up(state);
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_replica(&world, 0, 0));
	world_run("b", build_world_replica(&world, 0, 1));
	world_pod("u");
	build_world_process(&world, 0, 1, "uid-u");
	return 0;
}

static void let_another_come(void)
{
	world_run("c", build_world_replica(&world, 0, 2));
}

static void let_one_come_by_name(void)
{
	world_pod("c");
	build_world_list(&world, "c", "main", build_world_replica(&world, 0, 2));
}

static void let_one_have_more(void)
{
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 2));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 2));
}

static void let_one_go(void)
{
	build_world_remove_pod(&world, "uid-a");
	build_world_end(&world, "uid-a");
}

static void let_one_get_it_by_a_claim(void)
{
	world_pod("c");
	build_world_grant(&world, "uid-c", "main", 0);
}

static void let_one_hold_what_is_nowhere(void)
{
	world_run("c", VIEW("x"));
}

static void let_the_user_go(void)
{
	build_world_see_no_processes(&world);
}

static void (*const news[])(void) = {
	let_another_come, let_one_come_by_name, let_one_have_more, let_one_get_it_by_a_claim,
	let_one_hold_what_is_nowhere, let_the_user_go,
};

static void expect_as_before(const struct attribution_status *status)
{
	expect_tenants(status, "uid-a/main,uid-b/main");
	expect_text(status->slots.summary, "2/4");
	expect_text(status->tenant_summary, "ml/a +1");
	expect_users(status, "uid-u python3[1]");
	expect_recent(status, "");
	assert_int_equal(status->tenant_count, 2);
	assert_int_equal(status->unplaced_tenants.count, 0);
	assert_int_equal(status->source_disagreements.count, 0);
}

/* Whatever is said of holders, with or without UIDs, by a report or without one. */
TEST(while_pods_are_old_holders_are_those_that_are_published)
{
	static const struct {
		enum inventory_age age;
		const char *reason;
	} ages[] = {{INVENTORY_STALE, "PodsStale"}, {INVENTORY_DENIED, "PodsUnknown"}};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(news) * ARRAY_SIZE(ages); i++) {
		size_t age = i % 2;
		bool is_awaited = i / 2 % 2;
		tear_down(state);
		set_up_holders(state);
		publish();
		expect_as_before(publish_later());
		if (is_awaited)
			build_world_restart(&world);
		news[i / 4]();
		world.input.pods_age = ages[age].age;
		world.report.driver_version = VIEW("600.1");
		build_world_wait(&world, world.limits.disagreement_ms);
		const struct attribution_status *status = publish_later();
		expect_as_before(status);
		expect_condition(status, "Attributed", CONDITION_UNKNOWN, ages[age].reason);
		expect_condition(status, "Ready", CONDITION_UNKNOWN, ages[age].reason);
		/* Of the rest the news are true. */
		assert_int_equal(view_equal(status->device.driver_version, VIEW("600.1")),
				 !is_awaited);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

TEST(once_pods_are_read_again_the_news_count)
{
	publish();
	world.input.pods_age = INVENTORY_DENIED;
	let_another_come();
	let_one_go();
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-b/main"); /* the end of the pod had been told */
	expect_recent(status, "uid-a");
	expect_text(status->slots.summary, "1/4");
	world.input.pods_age = INVENTORY_CURRENT;
	status = publish();
	expect_tenants(status, "uid-b/main,uid-c/main");
	expect_recent(status, "uid-a");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

TEST(what_was_wrong_before_is_not_known_either)
{
	world_run("c", build_world_replica(&world, 0, 0));
	publish();
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	world.input.pods_age = INVENTORY_STALE;
	expect_condition(publish(), "Attributed", CONDITION_UNKNOWN, "PodsStale");
	world.input.pods_age = INVENTORY_CURRENT;
	publish();
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
}

TEST(of_a_device_of_which_nothing_was_published_nobody_is_known)
{
	struct attribution object = {.uuid = build_world_uuid(&world, 0)};
	for (int has_object = 0; has_object < 2; has_object++) {
		if (has_object)
			world.previous[world.input.n_previous++] =
				(struct join_previous){&object, -1};
		world.input.pods_age = INVENTORY_DENIED;
		build_world_join(&world);
		const struct attribution_status *status = build_world_status(&world, 0);
		expect_tenants(status, "");
		assert_int_equal(status->tenant_count, -1);
		assert_int_equal(status->slots.allocated, -1);
		assert_int_equal(status->unallocated_users.count, 0);
		expect_condition(status, "Attributed", CONDITION_UNKNOWN, "PodsUnknown");
	}
}

/* An event is told once, and to people. */
TEST(a_new_event_names_published_tenants_only)
{
	publish();
	let_another_come();
	build_world_event(&world, build_world_uuid(&world, 0), 79, BUILD_WORLD_NOW);
	world.input.pods_age = INVENTORY_STALE;
	const struct attribution_status *status = publish();
	assert_int_equal(status->health.events.count, 1);
	expect_accused(ARRAY_AT(status->health.events, struct attribution_health_event, 0)->tenants,
		     "uid-a,uid-b");
}

/* For whom a name alone speaks the API server is asked, while pods are current. */

#define TEXTS(...)                                                                                 \
	{(void *)(uintptr_t)(const struct view[]){__VA_ARGS__},                                    \
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

TEST(a_name_alone_speaks_for_whom_no_good_checkpoint_has)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int is_by_names = 0; is_by_names < 2; is_by_names++)
			assert_int_equal(
				join_is_by_name(&(struct join_device){.is_by_names = is_by_names},
						&rows[i].tenant),
				rows[i].is_by_name[is_by_names]);
	}
}

TESTS(set_up_holders, tear_down)
