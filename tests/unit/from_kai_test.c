/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"

#define ANNOTATED ATTRIBUTION_CONFIDENCE_ANNOTATED
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

static void expect_tenants_of(unsigned n, const char *expected)
{
	expect_tenants(build_world_status(&world, n), expected);
}

/* KAI's reservation holds device 0. */
static void reserve(const char *group)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = group},
			build_world_uuid(&world, 0));
}

TEST(the_pods_of_a_reservations_group_are_on_its_device)
{
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	build_world_pod(&world, (struct build_pod){.name = "b", .kai_group = "g1"});
	build_world_pod(&world, (struct build_pod){.name = "c", .kai_group = "g2"});
	build_world_pod(
		&world,
		(struct build_pod){.name = "d", .kai_group = "g1", .phase = POD_PHASE_SUCCEEDED});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-b/main,uid-r/main");
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, ANNOTATED);
	expect_texts(t->witnesses, "KAI");
	assert_int_equal(t->slots, 0);
	assert_int_equal(t->role, ATTRIBUTION_ROLE_WORKLOAD);
	t = expect_tenant(status, "uid-r", RUNNING, CONFIRMED);
	expect_text(t->placeholder, "");
	assert_int_equal(t->role, ATTRIBUTION_ROLE_RESERVATION);
	assert_int_equal(t->slots, 1);
	assert_int_equal(status->tenant_count, 2);
	expect_text(status->tenant_summary, "ml/a +1");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_tenants(build_world_status(&world, 1), "");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(a_reservation_without_known_sharers_is_a_placeholder)
{
	reserve("g1");
	/* Itself, and another reservation, are no sharers. */
	build_world_pod(&world,
			(struct build_pod){.name = "s", .kai_group = "g1", .reservation = true});
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-r", RUNNING, CONFIRMED);
	expect_text(t->placeholder, "KAI");
	assert_int_equal(t->role, ATTRIBUTION_ROLE_WORKLOAD);
	assert_int_equal(status->tenant_count, 1);
	expect_condition(status, "Attributed", CONDITION_FALSE, "Placeholder");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "1 slot is held by a placeholder for pods that are not known");
	expect_condition(status, "Ready", CONDITION_FALSE, "Unresolved");
}

TEST(a_reservation_that_no_witness_has_yet_is_placed_by_its_annotation)
{
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){
					.name = "r",
					.reservation = true,
					.kai_group = "g1",
					.kai_device = "GPU-00000000-0000-4000-8000-0123456789ab"});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "uid-a/main");
	/* A witness knows better. */
	build_world_exclusive(&world, 1);
	build_world_book(&world, "uid-r", "main", build_world_uuid(&world, 1));
	build_world_list(&world, "r", "main", build_world_uuid(&world, 1));
	expect_tenants(publish(), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main,uid-r/main");
}

/* It may be a while until a kubelet's book tells of it again, and until it writes its annotation. */
TEST(while_no_book_can_be_read_a_reservation_is_where_it_was_published)
{
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "uid-a/main,uid-r/main");
	build_world_restart(&world);
	expect_tenants(publish(), "uid-a/main,uid-r/main");
	expect_tenants(build_world_status(&world, 1), "");
	/* Books of which none can be short do not have it. */
	build_world_report(&world);
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_pod(&world, (struct build_pod){.name = "r",
						   .reservation = true,
						   .kai_group = "g1",
						   .wants_no_gpu = true});
	build_world_pod(&world,
			(struct build_pod){.name = "a", .kai_group = "g1", .wants_no_gpu = true});
	expect_tenants(publish(), "");
}

TEST(without_one_of_the_books_a_reservation_is_where_it_was_published)
{
	void (*const fail[])(struct build_world *) = {build_world_fail_list, build_world_fail_book};

	for (size_t i = 0; i < ARRAY_SIZE(fail); i++) {
		start_anew();
		reserve("g1");
		build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
		publish();
		build_world_list_nothing(&world);
		build_world_book_nothing(&world);
		fail[i](&world);
		expect_tenants(publish(), "uid-a/main,uid-r/main");
		expect_tenants(build_world_status(&world, 1), "");
	}
}

TEST(a_reservation_of_no_known_device_places_nobody)
{
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "r",
						   .reservation = true,
						   .kai_group = "g1",
						   .kai_device = "GPU-7"});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "");
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g1"},
			VIEW("no device"));
	expect_tenants(publish(), "");
}

TEST(a_sharer_that_leaves_its_group_leaves_the_device)
{
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	publish();
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g2"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-r/main");
	expect_recent(status, "uid-a");
	expect_condition(status, "Attributed", CONDITION_FALSE, "Placeholder");
}

TEST(a_sharer_is_named_by_kais_annotation_or_its_first_main_container)
{
	static const struct {
		const char *named, *container;
		enum pod_container_kind kind;
		const char *second, *tenants;
	} rows[] = {
		{"train", "init", POD_CONTAINER_INIT, "train", "uid-a/train,uid-r/main"},
		{"init", "init", POD_CONTAINER_INIT, "train", "uid-a/init,uid-r/main"},
		/* None of the pod's: it says nothing. */
		{"gone", "init", POD_CONTAINER_INIT, "train", "uid-a/train,uid-r/main"},
		{"", "init", POD_CONTAINER_INIT, "train", "uid-a/train,uid-r/main"},
		{"", "init", POD_CONTAINER_INIT, "", "uid-a/,uid-r/main"},
		{"train", "proxy", POD_CONTAINER_MAIN, "train", "uid-a/train,uid-r/main"},
		/* KAI knows no ephemeral ones. */
		{"bug", "bug", POD_CONTAINER_EPHEMERAL, "train", "uid-a/train,uid-r/main"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		reserve("g1");
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .kai_group = "g1",
							   .kai_container = rows[i].named,
							   .container = rows[i].container,
							   .second = rows[i].second,
							   .kind = rows[i].kind});
		expect_tenants(publish(), rows[i].tenants);
		start_anew();
	}
}

TEST(a_pod_that_shares_several_devices_is_on_each)
{
	reserve("g1");
	build_world_run(&world,
			(struct build_pod){.name = "s", .reservation = true, .kai_group = "g2"},
			build_world_uuid(&world, 1));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_groups = {"g1", "g2"}});
	build_world_pod(&world, (struct build_pod){.name = "b", .kai_groups = {"g2", "g3"}});
	build_world_pod(&world, (struct build_pod){.name = "c", .kai_group = "g1"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-c/main,uid-r/main");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_tenants_of(1, "uid-a/main,uid-b/main,uid-s/main");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(a_reservation_of_no_group_shares_with_nobody)
{
	reserve("");
	world_pod("a");
	world_pod("b");
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-r/main");
	expect_condition(status, "Attributed", CONDITION_FALSE, "Placeholder");
}

TEST(of_two_devices_a_reservations_sharers_are_on_the_first)
{
	for (unsigned i = 0; i < 2; i++) {
		build_world_exclusive(&world, 0);
		build_world_exclusive(&world, 1);
		build_world_pod(
			&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"});
		build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
		build_world_book(&world, "uid-r", "main", build_world_uuid(&world, i));
		build_world_book(&world, "uid-r", "main", build_world_uuid(&world, 1 - i));
		expect_tenants(publish(), "uid-a/main,uid-r/main");
		expect_tenants(build_world_status(&world, 1), "uid-r/main");
		build_world_deinit(&world);
		build_world_init(&world);
	}
}

TEST(what_other_pods_hold_does_not_place_a_reservations_sharers)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	world_run("x", build_world_uuid(&world, 0));
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g1"},
			build_world_uuid(&world, 1));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "uid-x/main");
	expect_tenants_of(1, "uid-a/main,uid-r/main");
}

TEST(a_reservation_that_is_over_places_nobody)
{
	build_world_exclusive(&world, 0);
	build_world_pod(&world,
			(struct build_pod){.name = "r",
					   .reservation = true,
					   .kai_group = "g1",
					   .kai_device = "GPU-00000000-0000-4000-8000-0123456789ab",
					   .phase = POD_PHASE_FAILED});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "");
}

TESTS(set_up, tear_down)
