/* SPDX-License-Identifier: Apache-2.0 */

#define WORLD_PENDING_MS 10000 /* no longer than disagreement_ms */

#include "lib/world_fixture.h"

/* What leaves open who holds device 1, on which pod "b" has a process; and what settles it. Pod "p"
 * holds device 0. */
static void let_no_book_be_read(bool is_open)
{
	world.report.sources.checkpoint.state = is_open ? REPORT_SOURCE_ERROR : REPORT_SOURCE_OK;
	world.report.checkpoint.present = !is_open;
	world.report.sources.pod_resources.state = is_open ? REPORT_SOURCE_ERROR : REPORT_SOURCE_OK;
}

static void let_claims_be_unknown(bool is_open)
{
	world.input.grants_unknown = is_open;
}

static void let_somebody_unknown_hold_a_slot(bool is_open)
{
	if (is_open)
		build_world_list(&world, "x", "main", build_world_uuid(&world, 1));
	else
		build_world_list_nothing(&world);
}

/* An ID of HAMi's, which names that device. */
static struct view hami_id(unsigned n)
{
	return build_world_text(&world, "%s-1", build_world_uuid(&world, n).ptr);
}

static void let_hami_choose_for_somebody_unknown(bool is_open)
{
	if (is_open)
		build_world_list(&world, "x", "main", hami_id(0));
	else
		build_world_list_nothing(&world);
}

/* What HAMi has given is a device of the node, whatever the ID names. */
static void let_hami_choose_for_somebody_unknown_by_an_unknown_device(bool is_open)
{
	if (is_open)
		build_world_list(&world, "x", "main", hami_id(7));
	else
		build_world_list_nothing(&world);
}

static void let_its_claim_be_unheard(bool is_open)
{
	build_world_remove_pod(&world, "uid-b");
	build_world_pod(&world, (struct build_pod){.name = "b", .claim = "c"});
	world.n_granted = 0;
	build_world_grant(&world, "uid-p", "main", 0);
	build_world_grant(&world, "uid-b", "main", 0);
	/* What lies behind those that are granted counts for nothing. */
	world.n_granted = is_open ? 1 : 2;
	build_world_regrant(&world);
}

static void let_its_second_claim_not_be_allocated(bool is_open)
{
	build_world_pod(&world, (struct build_pod){.name = "b",
						   .claim = "c",
						   .second_claim = is_open ? "d" : NULL});
	world.n_granted = 0;
	build_world_grant(&world, "uid-b", "main", 0);
}

/* The other's comes first. */
static void let_its_claim_and_anothers_not_be_allocated(bool is_open)
{
	build_world_pod(&world, (struct build_pod){.name = "a", .claim = is_open ? "c" : NULL});
	let_its_second_claim_not_be_allocated(is_open);
}

static void let_the_list_be_short_and_no_checkpoint_be_read(bool is_open)
{
	build_world_fail_book(&world);
	world.report.kubelet_restarted_at = is_open ? world.report.observed_at - 1 : 0;
}

/* The List may mean an earlier pod by its name, which held what the checkpoint said last. */
static void let_no_checkpoint_be_read_before_it_has_started(bool is_open)
{
	build_world_fail_book(&world);
	build_world_pod(&world, (struct build_pod){.name = "b", .is_unseen = is_open});
}

static void let_it_hold(bool is_open, struct view id)
{
	if (is_open) {
		build_world_book(&world, "uid-b", "main", id);
		build_world_list(&world, "b", "main", id);
	} else {
		build_world_book_nothing(&world);
		build_world_list_nothing(&world);
	}
}

static void let_it_hold_an_unknown_device(bool is_open)
{
	let_it_hold(is_open, VIEW("GPU-ffffffff-0000-4000-8000-000000000000"));
}

static void let_hami_choose_for_it(bool is_open)
{
	let_it_hold(is_open, hami_id(2));
}

/* A new world, with pods "p", which holds device 0, and "b". */
static void start(void)
{
	start_anew();
	for (unsigned n = 0; n < 3; n++)
		build_world_exclusive(&world, n);
	build_world_see_no_processes(&world);
	build_world_run(&world, POD("p"), build_world_uuid(&world, 0));
	build_world_pod(&world, POD("b"));
}

TEST(who_may_hold_the_device_is_no_user_of_it)
{
	static void (*const doubts[])(bool is_open) = {
		let_no_book_be_read,
		let_claims_be_unknown,
		let_the_list_be_short_and_no_checkpoint_be_read,
		let_no_checkpoint_be_read_before_it_has_started,
		let_its_claim_be_unheard,
		let_its_second_claim_not_be_allocated,
		let_its_claim_and_anothers_not_be_allocated,
		let_somebody_unknown_hold_a_slot,
		let_hami_choose_for_it,
		let_it_hold_an_unknown_device,
		let_hami_choose_for_somebody_unknown,
		let_hami_choose_for_somebody_unknown_by_an_unknown_device,
	};
	for (size_t i = 0; i < ARRAY_SIZE(doubts); i++) {
		start();
		build_world_process(&world, 1, 1, "uid-b");
		build_world_process(&world, 1, 2, "");
		doubts[i](true);
		publish();
		publish_later();
		expect_users(build_world_status(&world, 1), " python3[2]");
		doubts[i](false);
		publish();
		publish_later();
		expect_users(build_world_status(&world, 1), " python3[2],uid-b python3[1]");
		/* What is known is not unsaid. */
		doubts[i](true);
		publish_later();
		expect_users(build_world_status(&world, 1), " python3[2],uid-b python3[1]");
	}
}

/* What leaves open where pod "p" is. */
static void let_another_hold_an_unknown_device(void)
{
	build_world_list(&world, "p", "main", VIEW("GPU-ffffffff-0000-4000-8000-000000000000"));
}

static void let_hami_choose_for_another(void)
{
	build_world_list(&world, "p", "main", hami_id(2));
}

static void let_another_await_its_claim(void)
{
	build_world_pod(&world, (struct build_pod){.name = "p", .claim = "c"});
}

static void let_its_claim_give_it_another_device(void)
{
	build_world_pod(&world, (struct build_pod){.name = "b", .claim = "c"});
	build_world_grant(&world, "uid-b", "main", 0);
}

static void let_its_claim_be_of_no_gpu(void)
{
	build_world_pod(&world, (struct build_pod){.name = "b", .claim = BUILD_WORLD_NIC});
}

static void let_one_claim_give_another_device_and_one_no_gpu(void)
{
	build_world_pod(
		&world,
		(struct build_pod){.name = "b", .claim = "c", .second_claim = BUILD_WORLD_NIC});
	build_world_grant(&world, "uid-b", "main", 0);
}

static void let_hami_have_chosen_another_device_for_it(void)
{
	build_world_pod(&world,
			(struct build_pod){.name = "b",
					   .hami = build_world_text(&world, "%s,NVIDIA,1000,10:;",
								    build_world_uuid(&world, 0).ptr)
							   .ptr});
	build_world_list(&world, "b", "main", hami_id(2));
	build_world_book(&world, "uid-b", "main", hami_id(2));
}

TEST(what_is_open_of_others_or_was_chosen_elsewhere_leaves_nothing_open)
{
	static void (*const doubts[])(void) = {
		let_another_hold_an_unknown_device,
		let_hami_choose_for_another,
		let_another_await_its_claim,
		let_its_claim_give_it_another_device,
		let_its_claim_be_of_no_gpu,
		let_one_claim_give_another_device_and_one_no_gpu,
		let_hami_have_chosen_another_device_for_it,
	};
	for (size_t i = 0; i < ARRAY_SIZE(doubts); i++) {
		start();
		build_world_process(&world, 1, 1, "uid-b");
		doubts[i]();
		publish();
		publish_later();
		expect_users(build_world_status(&world, 1), "uid-b python3[1]");
	}
}

/* Of two containers only the second has one that HAMi has chosen. */
TEST(who_may_hold_by_any_of_its_containers_may_hold)
{
	start();
	build_world_run(&world, (struct build_pod){.name = "b", .second = "side"},
			build_world_uuid(&world, 2));
	build_world_list(&world, "b", "side", hami_id(2));
	build_world_process(&world, 1, 1, "uid-b");
	publish();
	publish_later();
	expect_users(build_world_status(&world, 1), "");
}

/* Only HAMi's plugin gives another device than the ID names. */
TEST(somebody_unknown_on_another_device_makes_nobody_a_tenant_here)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_pod(&world, POD("b"));
	build_world_process(&world, 1, 1, "uid-b");
	build_world_list(&world, "x", "main", build_world_uuid(&world, 0));
	publish();
	publish_later();
	expect_users(build_world_status(&world, 1), "uid-b python3[1]");
}

/* A List never has them. */
TEST(without_a_checkpoint_an_init_container_may_hold_what_its_pod_does)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .container = "init",
					   .id = "id-init",
					   .kind = POD_CONTAINER_INIT,
					   .second = "main",
					   .second_id = "id-main"},
			build_world_uuid(&world, 0));
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	world.booked[0].container = VIEW("main");
	build_world_process(&world, 0, 7, "uid-a")->container_id = VIEW("id-init");
	struct report_checkpoint good = world.report.checkpoint;
	build_world_fail_book(&world);
	expect_users(publish_later(), "");
	expect_tenants(build_world_status(&world, 0), "uid-a/main");
	world.report.sources.checkpoint.state = REPORT_SOURCE_OK;
	world.report.checkpoint = good;
	expect_users(publish_later(), "uid-a python3[7]");
}

TEST(no_list_has_init_containers_or_names_whom_nobody_knows)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
	build_world_see_no_processes(&world);
	build_world_fail_book(&world);
	build_world_pod(&world,
			(struct build_pod){.name = "b", .id = "i", .kind = POD_CONTAINER_INIT});
	build_world_pod(&world, (struct build_pod){.name = "c", .id = "m"});
	build_world_process(&world, 0, 1, "uid-b")->container_id = VIEW("i");
	build_world_process(&world, 0, 2, "uid-c")->container_id = VIEW("m");
	build_world_process(&world, 0, 3, "uid-strange");
	publish();
	expect_users(publish_later(), "uid-c python3[2]");
	/* Without a checkpoint no plugin has given out anything. */
	world.report.sources.checkpoint.state = REPORT_SOURCE_ABSENT;
	publish();
	expect_users(publish_later(), "uid-b python3[1],uid-c python3[2],uid-strange python3[3]");
}

TEST(an_ephemeral_container_may_hold_nothing_whatever_the_books_leave_open)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_see_no_processes(&world);
	build_world_pod(&world, (struct build_pod){.name = "b",
						   .container = "debugger",
						   .id = "id-debugger",
						   .kind = POD_CONTAINER_EPHEMERAL,
						   .second = "main",
						   .second_id = "id-main"});
	build_world_process(&world, 1, 1, "uid-b")->container_id = VIEW("id-debugger");
	build_world_process(&world, 1, 2, "uid-b")->container_id = VIEW("id-main");
	build_world_process(&world, 1, 3, "uid-b")->container_id = VIEW("id-unknown");
	let_no_book_be_read(true);
	publish();
	publish_later();
	expect_users(build_world_status(&world, 1), "uid-b python3[1]");
}

TESTS(set_up, tear_down)
