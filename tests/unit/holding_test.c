/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "core/holding.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define NAME_ONLY ATTRIBUTION_CONFIDENCE_NAME_ONLY
#define RUNNING ATTRIBUTION_PHASE_RUNNING
#define PENDING ATTRIBUTION_PHASE_PENDING

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

static const struct attribution_status *publish(void)
{
	build_world_publish(&world);
	return build_world_status(&world, 0);
}

static void date_list(void)
{
	world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
}

static void date_book(void)
{
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
}

static void a_dated_checkpoint_still_names_by_uid(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	date_list();
	date_book();
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_UNKNOWN,
			 "SourcesFailed");
}

static void a_source_that_the_report_does_not_mention_is_not_good(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	world.report.sources.pod_resources.state = REPORT_SOURCE_UNKNOWN;
	world.report.sources.checkpoint.state = REPORT_SOURCE_UNKNOWN;
	expect_condition(publish(), "Attributed", CONDITION_UNKNOWN, "SourcesFailed");
}

static void ended_uids_come_once_and_in_order(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_end(&world, "uid-z");
	build_world_end(&world, "uid-a");
	build_world_book(&world, "uid-z", "main", build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 1));
	build_world_book(&world, "uid-z", "side", build_world_replica(&world, 0, 2));
	build_world_join(&world);
	assert_int_equal(world.result.n_ended, 2);
	expect_text(world.result.ended[0], "uid-a");
	expect_text(world.result.ended[1], "uid-z");
}

static void the_names_of_witnesses_are_told_apart(void **state)
{
	(void)state;
	static const char *const names[HOLDING_N_WITNESSES] = {
		"Checkpoint", "PodResources", "PodStatus", "ResourceClaim",
		"HAMi",	      "KAI",	      "Processes"};
	for (unsigned i = 0; i < HOLDING_N_WITNESSES; i++) {
		expect_text(holding_witness_name(i), names[i]);
		assert_int_equal(holding_witness_of(view_from(names[i])), 1u << i);
	}
	assert_int_equal(holding_witness_of(VIEW("Oracle")), 0);
}

static void what_is_written_on_a_pod_that_is_over_counts_for_nothing(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_FAILED,
						   .told = {build_world_uuid(&world, 0)}});
	build_world_pod(&world, (struct build_pod){.name = "b", .phase = POD_PHASE_SUCCEEDED});
	build_world_grant(&world, "uid-b", "main", 0);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
}

static void a_claim_whose_device_no_slice_tells_is_unplaced_by_its_name(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_unplaced(status, "uid-a/main pool/gpu-0");
}

/* The slice that tells its device may be there. */
static void while_claims_cannot_be_read_none_is_unplaced(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "");
	assert_int_equal(world.result.ids_unknown, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_dated_checkpoint_still_names_by_uid, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_source_that_the_report_does_not_mention_is_not_good, set_up, tear_down),
	cmocka_unit_test_setup_teardown(ended_uids_come_once_and_in_order, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_names_of_witnesses_are_told_apart, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_written_on_a_pod_that_is_over_counts_for_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_whose_device_no_slice_tells_is_unplaced_by_its_name, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_claims_cannot_be_read_none_is_unplaced, set_up, tear_down),
};

TEST_MAIN(tests)
