/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "lib/world_fixture.h"
#include "base/limits.h"
#include "join/stages.h"

#define GPU_0 "GPU-00000000-0000-4000-8000-0123456789ab"
#define MIG_0 "MIG-00000000-0000-4000-8000-000000000000"
#define SOURCES_FAIL " (podResources: no reason was given; checkpoint: no reason was given)"
#define TWO_OF(id) id " is held by ml/a and ml/b at once, and is for one pod"

static void end(const char *uid)
{
	build_world_remove_pod(&world, uid);
	build_world_end(&world, uid);
}

static void expect_overlap(const struct attribution_status *status, const char *message)
{
	expect_condition(status, "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	expect_condition(status, "Ready", CONDITION_FALSE, "SlotHeldTwice");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message, message);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* The kubelet has forgotten everything; what runs goes on. */
static void lose_books(void)
{
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
}

/* A kubelet that lost its books gives it out anew: of who ran on only the device is known. */
TEST(a_tenant_that_no_source_names_now_holds_no_unit)
{
	enum { EXCLUSIVE, PARTITION, REPLICA, N_KINDS };
	for (int kind = 0; kind < N_KINDS; kind++) {
		start_anew();
		struct view id = kind == PARTITION ? build_world_mig(&world, 0, 0)
				 : kind == REPLICA ? build_world_replica(&world, 0, 2)
						   : build_world_uuid(&world, 0);
		if (kind == PARTITION)
			build_world_cut(&world, 0, 2);
		else if (kind == REPLICA)
			build_world_shared(&world, 0, 4);
		else
			build_world_exclusive(&world, 0);
		world_run("a", id);
		publish();
		lose_books();
		expect_condition(publish_later(), "Attributed", CONDITION_UNKNOWN, "Unconfirmed");
		world_run("b", id);
		publish();
		expect_condition(publish_later(), "Attributed", CONDITION_UNKNOWN, "Unconfirmed");
		expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
		/* The status of its pod is a source like any other. */
		build_world_pod(&world, (struct build_pod){.name = "a", .told = {id}});
		publish();
		expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	}
}

/* As after a restart of the controller, before the node's agent has reported. */
TEST(without_a_report_it_is_said_as_long_as_all_live)
{
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
	world_run("b", build_world_uuid(&world, 0));
	world_run("c", build_world_uuid(&world, 0));
	publish();
	publish_later();
	world.input.report = NULL;
	expect_overlap(publish(), GPU_0 " is held by ml/a, ml/b and ml/c at once, "
					"and is for one pod");
	build_world_remove_pod(&world, "uid-c");
	build_world_end(&world, "uid-c");
	const struct attribution_status *status = publish();
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "AwaitingReport");
	expect_condition(status, "Ready", CONDITION_UNKNOWN, "AwaitingReport");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(what_a_source_that_fails_said_last_shows_none)
{
	for (int was_said = 0; was_said < 2; was_said++) {
		start_anew();
		build_world_shared(&world, 0, 4);
		world_run("a", build_world_replica(&world, 0, 2));
		world_run("b", build_world_replica(&world, 0, 2));
		if (was_said)
			expect_overlap(publish_later(), TWO_OF(GPU_0 "::2"));
		world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
		world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
		expect_condition(publish_later(), "Attributed", CONDITION_UNKNOWN,
				 "SourcesFailed");
		/* What is known besides does. */
		build_world_pod(&world,
				(struct build_pod){.name = "c",
						   .told = {build_world_replica(&world, 0, 3)}});
		build_world_pod(&world,
				(struct build_pod){.name = "d",
						   .told = {build_world_replica(&world, 0, 3)}});
		publish();
		expect_text(attribution_find_condition(publish_later(), VIEW("Attributed"))->message,
			    GPU_0 "::3 is held by ml/c and ml/d at once, and is for one "
				  "pod" SOURCES_FAIL);
	}
}

TEST(either_book_alone_shows_it)
{
	for (int i = 0; i < 2; i++) {
		start_anew();
		build_world_exclusive(&world, 0);
		world_run("a", build_world_uuid(&world, 0));
		world_run("b", build_world_uuid(&world, 0));
		if (i == 0)
			build_world_fail_list(&world);
		else
			build_world_fail_book(&world);
		expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	}
}

/* A pod that only the List names is no holder, until nobody knows any more who is. */
TEST(without_a_report_it_is_said_though_more_may_have_it)
{
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
	world_run("b", build_world_uuid(&world, 0));
	world_pod("c");
	build_world_list(&world, "c", "main", build_world_uuid(&world, 0));
	publish();
	expect_overlap(publish_later(), TWO_OF(GPU_0));
	build_world_restart(&world);
	expect_overlap(publish(), TWO_OF(GPU_0));
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main,uid-c/main");
}

/* What is told of one container meanwhile makes no other of it. */
TEST(without_a_report_of_several_ids_the_one_stays_that_was_said)
{
	static const char *const names[] = {"a", "b"};
	build_world_cut(&world, 0, 2);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		build_world_run(&world,
				(struct build_pod){.name = names[i],
						   .second = "side",
						   .told_of_second = {build_world_mig(&world, 0, 1)}},
				build_world_mig(&world, 0, 0));
	}
	build_world_book(&world, "uid-a", "side", build_world_mig(&world, 0, 1));
	build_world_book(&world, "uid-b", "side", build_world_mig(&world, 0, 1));
	build_world_list(&world, "a", "side", build_world_mig(&world, 0, 1));
	build_world_list(&world, "b", "side", build_world_mig(&world, 0, 1));
	expect_overlap(publish_later(), TWO_OF(MIG_0));
	build_world_restart(&world);
	publish();
	expect_overlap(publish_later(), TWO_OF(MIG_0));
	end("uid-a");
	expect_condition(publish(), "Attributed", CONDITION_UNKNOWN, "AwaitingReport");
}

TEST(of_several_units_the_lowest_is_told_and_none_waits_while_one_is_said)
{
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_replica(&world, 0, 2));
	world_run("b", build_world_replica(&world, 0, 2));
	expect_overlap(publish_later(), TWO_OF(GPU_0 "::2"));
	for (unsigned i = 1; i <= 3; i += 2) {
		world_run("c", build_world_replica(&world, 0, i));
		world_run("d", build_world_replica(&world, 0, i));
	}
	expect_overlap(publish(), GPU_0 "::1 is held by ml/c and ml/d at once, and is for one pod");
	end("uid-c");
	expect_overlap(publish(), TWO_OF(GPU_0 "::2"));
}

/* The other is told at once or not at all: else the next join would name it. */
TEST(regress_14_once_one_unit_counts_the_lowest_is_told_and_stays)
{
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_replica(&world, 0, 2));
	world_run("b", build_world_replica(&world, 0, 2));
	build_world_wait(&world, world.limits.disagreement_ms / 2);
	world_run("c", build_world_replica(&world, 0, 1));
	world_run("d", build_world_replica(&world, 0, 1));
	build_world_wait(&world, world.limits.disagreement_ms / 2);
	expect_overlap(publish(), GPU_0 "::1 is held by ml/c and ml/d at once, and is for one pod");
	build_world_restart(&world);
	build_world_report(&world);
	expect_overlap(publish(), GPU_0 "::1 is held by ml/c and ml/d at once, and is for one pod");
}

TEST(what_one_unit_has_waited_does_not_count_for_another)
{
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_replica(&world, 0, 2));
	world_run("b", build_world_replica(&world, 0, 2));
	publish();
	build_world_wait(&world, world.limits.disagreement_ms / 2);
	end("uid-b");
	world_run("c", build_world_replica(&world, 0, 1));
	world_run("d", build_world_replica(&world, 0, 1));
	build_world_wait(&world, world.limits.disagreement_ms / 2);
	expect_condition(publish(), "Attributed", CONDITION_TRUE, "AllResolved");
	build_world_wait(&world, world.limits.disagreement_ms / 2);
	expect_condition(publish(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
}

TESTS(set_up, tear_down)
