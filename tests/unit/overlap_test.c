/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "join/overlap.h"

#define GPU_0 "GPU-00000000-0000-4000-8000-0123456789ab"
#define MIG_0 "MIG-00000000-0000-4000-8000-000000000000"
#define MIG_1 "MIG-00000000-0000-4000-8000-000000000001"
#define SOURCES_FAIL " (podResources: no reason was given; checkpoint: no reason was given)"
#define TWO_OF(id) id " is held by ml/a and ml/b at once, and is for one pod"

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

static void again(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static const struct attribution_status *publish(void)
{
	build_world_publish(&world);
	return build_world_status(&world, 0);
}

static const struct attribution_status *publish_later(void)
{
	build_world_wait(&world, world.limits.disagreement_ms);
	return publish();
}

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

static void expect_none(const struct attribution_status *status)
{
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_condition(status, "Ready", CONDITION_TRUE, "Current");
}

static void run(const char *name, struct view id)
{
	build_world_run(&world, (struct build_pod){.name = name}, id);
}

/* The kubelet has forgotten everything; what runs goes on. */
static void lose_books(void)
{
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
}

static void an_id_in_the_hands_of_two_pods_is_said_with_both(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	expect_overlap(publish_later(), TWO_OF(GPU_0));
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
	again();
	build_world_cut(&world, 0, 2);
	run("a", build_world_mig(&world, 0, 0));
	run("b", build_world_mig(&world, 0, 0));
	expect_overlap(publish_later(), TWO_OF(MIG_0));
	again();
	build_world_shared(&world, 0, 4);
	run("a", build_world_replica(&world, 0, 2));
	run("b", build_world_replica(&world, 0, 2));
	expect_overlap(publish_later(), TWO_OF(GPU_0 "::2"));
	again();
	build_world_device(&world, 0);
	run("a", VIEW("nvidia0"));
	run("b", VIEW("nvidia0"));
	expect_overlap(publish_later(), TWO_OF(GPU_0));
	again();
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "a", .reservation = true, .kai_group = "g"},
			build_world_uuid(&world, 0));
	build_world_pod(&world, (struct build_pod){.name = "s", .kai_group = "g"});
	run("b", build_world_uuid(&world, 0));
	expect_overlap(publish_later(), TWO_OF(GPU_0));
}

static void different_ids_are_no_overlap(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	run("a", build_world_replica(&world, 0, 2));
	run("b", build_world_replica(&world, 0, 3));
	expect_none(publish_later());
	again();
	build_world_cut(&world, 0, 2);
	run("a", VIEW(MIG_0 "::0"));
	run("b", VIEW(MIG_0 "::1"));
	expect_none(publish_later());
	again();
	/* The plugin calls what it shares by another name now, and numbers it from 0 again. */
	build_world_shared(&world, 0, 4);
	run("b", build_world_replica(&world, 0, 0));
	world.allocatable.resource = world.registered.resource = VIEW("nvidia.com/gpu.shared");
	for (int i = 0; i < 2; i++) {
		run(i == 0 ? "a" : "c", build_world_replica(&world, 0, 0));
		world.listed[i + 1].resource = VIEW("nvidia.com/gpu.shared");
		world.booked[i + 1].resource = VIEW("nvidia.com/gpu.shared");
		if (i == 0)
			expect_none(publish_later());
		expect_text(build_world_status(&world, 0)->slots.summary, "2/5");
	}
	expect_overlap(publish_later(),
		       GPU_0 "::0 is held by ml/a and ml/c at once, and is for one pod");
	again();
	build_world_device(&world, 0);
	run("a", VIEW(GPU_0 "/x"));
	run("b", VIEW(GPU_0 "/y"));
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "UnknownDeviceID");
	again();
	build_world_cut(&world, 0, 2);
	run("a", build_world_mig(&world, 0, 0));
	run("b", build_world_mig(&world, 0, 1));
	expect_none(publish_later());
	again();
	/* The plugin was configured anew: who came before keeps a share of what is whole now. */
	build_world_exclusive(&world, 0);
	run("a", build_world_replica(&world, 0, 2));
	run("b", build_world_uuid(&world, 0));
	expect_none(publish_later());
}

/* A kubelet that lost its books gives it out anew: of who ran on only the device is known. */
static void a_tenant_that_no_source_names_now_holds_no_unit(void **state)
{
	(void)state;
	enum { EXCLUSIVE, PARTITION, REPLICA, N_KINDS };
	for (int kind = 0; kind < N_KINDS; kind++) {
		again();
		struct view id = kind == PARTITION ? build_world_mig(&world, 0, 0)
				 : kind == REPLICA ? build_world_replica(&world, 0, 2)
						   : build_world_uuid(&world, 0);
		if (kind == PARTITION)
			build_world_cut(&world, 0, 2);
		else if (kind == REPLICA)
			build_world_shared(&world, 0, 4);
		else
			build_world_exclusive(&world, 0);
		run("a", id);
		publish();
		lose_books();
		expect_condition(publish_later(), "Attributed", CONDITION_UNKNOWN, "Unconfirmed");
		run("b", id);
		publish();
		expect_condition(publish_later(), "Attributed", CONDITION_UNKNOWN, "Unconfirmed");
		expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
		/* The status of its pod is a source like any other. */
		build_world_pod(&world, (struct build_pod){.name = "a", .told = {id}});
		publish();
		expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	}
}

static void a_holder_without_a_pod_is_none_of_them(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-x", "main", build_world_uuid(&world, 0));
	run("a", build_world_uuid(&world, 0));
	build_world_fail_list(&world);
	publish();
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "Pending");
	build_world_fail_book(&world);
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "Pending");
}

static void it_is_said_as_long_as_both_live(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .deleting = true},
			build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	expect_overlap(publish_later(), TWO_OF(GPU_0));
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	expect_none(publish());
	build_world_pod(&world, (struct build_pod){.name = "a"});
	expect_overlap(publish_later(), TWO_OF(GPU_0));
	build_world_remove_pod(&world, "uid-b");
	build_world_end(&world, "uid-b");
	expect_none(publish());
}

/* As after a restart of the controller, before the node's agent has reported. */
static void without_a_report_it_is_said_as_long_as_all_live(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	run("c", build_world_uuid(&world, 0));
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

/* The kubelet frees a device before the API server's watches tell of it. */
static void news_in_another_order_make_none(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	expect_none(publish());
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_remove_pod(&world, "uid-a");
	build_world_end(&world, "uid-a");
	build_world_wait(&world, 1);
	expect_none(publish());
}

static void a_good_checkpoint_says_what_was_given_back(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	build_world_book_nothing(&world);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	publish_later();
	build_world_report(&world);
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SourceDisagreement");
	/* Who is in the status of his pod has not given it back. */
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	publish();
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	/* Without one it is the List that says it. */
	again();
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	build_world_fail_book(&world);
	expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	/* And the status of pods. */
	again();
	build_world_without_agent(&world);
	build_world_device(&world, 0);
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_pod(&world,
			(struct build_pod){.name = "b", .told = {build_world_uuid(&world, 0)}});
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_condition(publish(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
}

static void what_a_source_that_fails_said_last_shows_none(void **state)
{
	(void)state;
	for (int was_said = 0; was_said < 2; was_said++) {
		again();
		build_world_shared(&world, 0, 4);
		run("a", build_world_replica(&world, 0, 2));
		run("b", build_world_replica(&world, 0, 2));
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

static void either_book_alone_shows_it(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		again();
		build_world_exclusive(&world, 0);
		run("a", build_world_uuid(&world, 0));
		run("b", build_world_uuid(&world, 0));
		if (i == 0)
			build_world_fail_list(&world);
		else
			build_world_fail_book(&world);
		expect_condition(publish_later(), "Attributed", CONDITION_FALSE, "SlotHeldTwice");
	}
}

/* A pod that only the List names is no holder, until nobody knows any more who is. */
static void without_a_report_it_is_said_though_more_may_have_it(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	build_world_pod(&world, (struct build_pod){.name = "c"});
	build_world_list(&world, "c", "main", build_world_uuid(&world, 0));
	publish();
	expect_overlap(publish_later(), TWO_OF(GPU_0));
	build_world_restart(&world);
	expect_overlap(publish(), TWO_OF(GPU_0));
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main,uid-c/main");
}

/* What is told of one container meanwhile makes no other of it. */
static void without_a_report_of_several_ids_the_one_stays_that_was_said(void **state)
{
	(void)state;
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

static void a_silent_agent_shows_none_that_is_new(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	run("b", build_world_uuid(&world, 0));
	publish();
	world.input.report_age_ms = world.limits.report_stale_ms;
	expect_condition(publish_later(), "Attributed", CONDITION_TRUE, "AllResolved");
}

static void containers_of_one_pod_have_it_in_turn(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .container = "init",
						   .kind = POD_CONTAINER_INIT,
						   .second = "main"});
	build_world_book(&world, "uid-a", "init", build_world_uuid(&world, 0));
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	expect_none(publish_later());
	expect_tenants(build_world_status(&world, 0), "uid-a/init,uid-a/main");
	run("b", build_world_uuid(&world, 0));
	publish();
	expect_overlap(publish_later(), TWO_OF(GPU_0));
}

static void pods_that_share_by_right_are_none(void **state)
{
	(void)state;
	/* By claims, one of which only watches. */
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-a", "main", 0);
	struct grant *grant = build_world_grant(&world, "uid-b", "main", 0);
	expect_none(publish_later());
	grant->is_admin = true;
	run("a", build_world_uuid(&world, 0));
	world.granted[0] = world.granted[1];
	world.n_granted = 1;
	build_world_regrant(&world);
	expect_none(publish_later());
	again();
	build_world_cut(&world, 0, 2);
	run("a", VIEW(MIG_0));
	run("c", VIEW(MIG_1));
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-b", "main", 0)->is_admin = true;
	build_world_regrant(&world);
	expect_none(publish_later());
	/* By KAI's reservation. */
	again();
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			build_world_uuid(&world, 0));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
	build_world_pod(&world, (struct build_pod){.name = "b", .kai_group = "g"});
	expect_none(publish_later());
	/* By a claim that cannot be read. */
	again();
	build_world_cut(&world, 0, 1);
	build_world_offer_nothing(&world);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	for (int i = 0; i < 2; i++) {
		grant = build_world_grant(&world, i == 0 ? "uid-a" : "uid-b", "main", 0);
		grant->partition = VIEW(MIG_0);
		grant->is_part = true;
	}
	build_world_regrant(&world);
	expect_none(publish_later());
	world.granted[0] = world.granted[1];
	world.n_granted = 1;
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	publish();
	expect_none(publish_later());
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
}

/* By HAMi's IDs they have some device, which need not be the one that the IDs name. */
static void who_has_an_id_of_hami_s_is_none(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_regrant(&world);
	run("c", VIEW(GPU_0 "-1"));
	publish();
	const struct attribution_status *status = publish_later();
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
	expect_tenants(status, "uid-a/main,uid-c/main");
	/* Nor when no book names the ID any more. */
	lose_books();
	world.n_granted = 0;
	build_world_regrant(&world);
	end("uid-a");
	run("b", build_world_uuid(&world, 0));
	publish();
	status = publish_later();
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
	expect_tenants(status, "uid-b/main,uid-c/main");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
}

static void what_a_plugin_and_a_claim_give_to_two_is_said(void **state)
{
	(void)state;
	static const struct {
		const char *given;
		const char *claimed_part; /* "": the whole device; "?": nobody knows which */
		const char *message;      /* "": none */
	} rows[] = {
		{GPU_0, "", TWO_OF(GPU_0)},
		{GPU_0 "::1", "", TWO_OF(GPU_0)},
		{MIG_0, "", TWO_OF(GPU_0)},
		{GPU_0, MIG_0, TWO_OF(GPU_0)},
		{MIG_0, MIG_0, TWO_OF(MIG_0)},
		{MIG_1, MIG_0, ""},
		{MIG_0, "?", ""},
		{GPU_0, "?", TWO_OF(GPU_0)},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		again();
		build_world_cut(&world, 0, 2);
		run("b", view_from(rows[i].given));
		build_world_pod(&world, (struct build_pod){.name = "a"});
		struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
		grant->is_part = rows[i].claimed_part[0] != '\0';
		if (rows[i].claimed_part[0] != '?')
			grant->partition = view_from(rows[i].claimed_part);
		build_world_regrant(&world);
		const struct attribution_status *status = publish_later();
		if (rows[i].message[0])
			expect_overlap(status, rows[i].message);
		else
			expect_none(status);
	}
}

static void a_pod_that_has_it_both_ways_overlaps_with_nobody(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	run("a", build_world_uuid(&world, 0));
	build_world_grant(&world, "uid-a", "main", 0);
	expect_none(publish_later());
}

static void pods_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	static const char *const messages[] = {
		GPU_0 "::0 is held by ml/a, ml/b, ml/c and ml/d at once, and is for one pod",
		GPU_0 "::0 is held by ml/a, ml/b, ml/c, ml/d and 1 more at once, and is for one "
		      "pod",
		GPU_0 "::0 is held by ml/a, ml/b, ml/c, ml/d and 2 more at once, and is for one "
		      "pod",
	};
	for (size_t n = OVERLAP_PODS; n <= ARRAY_SIZE(names); n++) {
		again();
		build_world_shared(&world, 0, 4);
		for (size_t i = 0; i < n; i++)
			run(names[i], build_world_replica(&world, 0, 0));
		expect_overlap(publish_later(), messages[n - OVERLAP_PODS]);
	}
}

static void of_several_units_the_lowest_is_told_and_none_waits_while_one_is_said(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	run("a", build_world_replica(&world, 0, 2));
	run("b", build_world_replica(&world, 0, 2));
	expect_overlap(publish_later(), TWO_OF(GPU_0 "::2"));
	for (unsigned i = 1; i <= 3; i += 2) {
		run("c", build_world_replica(&world, 0, i));
		run("d", build_world_replica(&world, 0, i));
	}
	expect_overlap(publish(), GPU_0 "::1 is held by ml/c and ml/d at once, and is for one pod");
	end("uid-c");
	expect_overlap(publish(), TWO_OF(GPU_0 "::2"));
}

static void each_id_waits_for_itself(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	run("a", build_world_replica(&world, 0, 2));
	run("b", build_world_replica(&world, 0, 2));
	build_world_wait(&world, world.limits.disagreement_ms / 2);
	run("c", build_world_replica(&world, 0, 1));
	run("d", build_world_replica(&world, 0, 1));
	build_world_wait(&world, world.limits.disagreement_ms / 2);
	build_world_join(&world);
	expect_text(attribution_find_condition(build_world_status(&world, 0), VIEW("Attributed"))
			    ->message,
		    TWO_OF(GPU_0 "::2"));
}

static void the_longest_message_fits(void **state)
{
	(void)state;
	static char name[OVERLAP_PODS + 1][LIMIT_TEXT_NAME + 1], namespace[LIMIT_TEXT_LABEL + 1];
	static char uid[OVERLAP_PODS + 1][2];
	memset(namespace, 'n', LIMIT_TEXT_LABEL);
	build_world_shared(&world, 0, 4);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		memset(name[i], 'x', LIMIT_TEXT_NAME);
		name[i][0] = (char)('a' + i);
		uid[i][0] = (char)('a' + i);
		build_world_pod(
			&world,
			(struct build_pod){.name = name[i], .namespace = namespace, .uid = uid[i]});
		build_world_book(&world, uid[i], "main", build_world_replica(&world, 0, 0));
	}
	build_world_fail_list(&world);
	const struct condition *attributed = attribution_find_condition(publish_later(),
									VIEW("Attributed"));
	expect_text(attributed->reason, "SlotHeldTwice");
	assert_true(attributed->message.len > OVERLAP_PODS * (LIMIT_TEXT_NAME + LIMIT_TEXT_LABEL));
	assert_true(attributed->message.len < OVERLAP_MESSAGE);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(an_id_in_the_hands_of_two_pods_is_said_with_both, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(different_ids_are_no_overlap, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_tenant_that_no_source_names_now_holds_no_unit, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_holder_without_a_pod_is_none_of_them, set_up, tear_down),
	cmocka_unit_test_setup_teardown(it_is_said_as_long_as_both_live, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_report_it_is_said_as_long_as_all_live, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(news_in_another_order_make_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_good_checkpoint_says_what_was_given_back, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_a_source_that_fails_said_last_shows_none, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(either_book_alone_shows_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_report_of_several_ids_the_one_stays_that_was_said, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_report_it_is_said_though_more_may_have_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_silent_agent_shows_none_that_is_new, set_up, tear_down),
	cmocka_unit_test_setup_teardown(containers_of_one_pod_have_it_in_turn, set_up, tear_down),
	cmocka_unit_test_setup_teardown(pods_that_share_by_right_are_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_has_an_id_of_hami_s_is_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_a_plugin_and_a_claim_give_to_two_is_said, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_has_it_both_ways_overlaps_with_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(pods_beyond_the_bound_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_several_units_the_lowest_is_told_and_none_waits_while_one_is_said, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(each_id_waits_for_itself, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_longest_message_fits, set_up, tear_down),
};

TEST_MAIN(tests)
