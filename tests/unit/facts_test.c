/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "join/facts.h"

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

static struct facts read_holdings(void)
{
	static struct devices devices;
	struct facts facts;
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(facts_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	return facts;
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

static void a_list_may_be_short_for_the_stated_time_after_a_restart(void **state)
{
	(void)state;
	const int64_t t = world.report.observed_at, settling = world.limits.settling_ms;
	const struct {
		int64_t restarted_at, observed_at, held_ms;
		int64_t settles_in_ms; /* -1: the List counts */
	} rows[] = {
		{t - 1, t, 0, settling - 1},
		{t - settling + 1, t, 0, 1},
		{t - settling, t, 0, -1},
		{t - 1, t, settling - 2, 1},
		{t - 1, t, settling - 1, -1},
		/* The node's clock was set back in between, or it was not that kubelet's. */
		{t + settling - 1, t, 0, 2 * settling - 1},
		{t + settling, t, 0, -1},
		/* It is not known, and the node's clock has not been set. */
		{0, t, 0, -1},
		{0, 1000, 0, -1},
	};
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.report.kubelet_restarted_at = rows[i].restarted_at;
		world.report.observed_at = rows[i].observed_at;
		world.input.report_held_ms = rows[i].held_ms;
		struct facts facts = read_holdings();
		assert_int_equal(facts.settles_in_ms, rows[i].settles_in_ms);
		assert_int_equal(facts.is_settling, rows[i].settles_in_ms > 0);
	}
}

static void after_a_list_that_was_complete_none_is_short_until_the_next_restart(void **state)
{
	(void)state;
	const int64_t restart = world.report.observed_at - 10;
	const struct {
		bool is_complete;
		int64_t read_at, settled; /* the List; by an earlier join */
		int64_t settled_now;
		bool is_settling;
	} rows[] = {
		{true, restart, 0, restart, false},
		/* It may be the kubelet's before. */
		{true, restart - 1, 0, 0, false},
		{false, restart, 0, 0, true},
		{false, restart, restart, restart, false},
		{false, restart, restart - 1, 0, true},
	};
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	world.report.kubelet_restarted_at = restart;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_list_nothing(&world);
		if (rows[i].is_complete)
			build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
		world.report.sources.pod_resources.observed_at = rows[i].read_at;
		world.input.settled_restart = rows[i].settled;
		struct facts facts = read_holdings();
		assert_int_equal(facts.is_complete, rows[i].is_complete);
		assert_int_equal(facts.settled_restart, rows[i].settled_now);
		assert_int_equal(facts.is_settling, rows[i].is_settling);
	}
}

static void only_a_list_that_was_just_read_is_complete(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	assert_false(read_holdings().is_complete);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	assert_true(read_holdings().is_complete);
	date_list();
	assert_false(read_holdings().is_complete);
}

static void there_are_books_when_one_of_them_could_be_read(void **state)
{
	(void)state;
	static const struct {
		bool has_list, has_checkpoint, is_dated;
	} rows[] = {{true, true, false},  {true, false, true}, {true, false, false},
		    {false, true, false}, {false, true, true}, {false, false, true}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.report.pod_resources.present = rows[i].has_list;
		world.report.checkpoint.present = rows[i].has_checkpoint;
		world.report.sources.pod_resources.state = world.report.sources.checkpoint.state =
			rows[i].is_dated ? REPORT_SOURCE_ERROR : REPORT_SOURCE_OK;
		struct facts facts = read_holdings();
		assert_int_equal(facts_have_books(&facts),
				 rows[i].has_list || rows[i].has_checkpoint);
	}
}

static void what_is_not_there_is_not_found(void **state)
{
	(void)state;
	size_t n;
	build_world_shared(&world, 0, 2);
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 0));
	struct facts facts = read_holdings();
	assert_non_null(facts_of(&facts, 0, &n));
	assert_int_equal(n, 1);
	assert_non_null(facts_of_holder(&facts, 0, VIEW("uid-b"), VIEW("main"), &n));
	assert_int_equal(n, 1);
	assert_int_equal(facts_heard_of(&facts, VIEW("uid-b"), VIEW("main")),
			 WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES);
	assert_null(facts_of(&facts, 1, &n));
	assert_int_equal(n, 0);
	static const struct {
		struct view uid, container;
	} others[] = {
		{VIEW_INIT("uid-a"), VIEW_INIT("main")}, {VIEW_INIT("uid-c"), VIEW_INIT("main")},
		{VIEW_INIT("uid-b"), VIEW_INIT("init")}, {VIEW_INIT("uid-b"), VIEW_INIT("side")}};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_null(facts_of_holder(&facts, 0, others[i].uid, others[i].container, &n));
		assert_int_equal(n, 0);
		assert_int_equal(facts_heard_of(&facts, others[i].uid, others[i].container),
				 0);
	}
}

static void every_id_of_an_entry_is_held(void **state)
{
	(void)state;
	struct view ids[] = {build_world_replica(&world, 0, 0), build_world_replica(&world, 0, 1),
			     build_world_replica(&world, 0, 2)};
	build_world_shared(&world, 0, 4);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", VIEW(""))->device_ids =
		(struct array){ids, ARRAY_SIZE(ids), true};
	assert_int_equal(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->slots, 3);
}

/* When it is deleted there it does not become one that nobody knows here. */
static void the_uid_of_another_nodes_pod_is_an_ended_one(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_move_away(&world, "uid-away");
	build_world_book(&world, "uid-away", "main", build_world_uuid(&world, 0));
	build_world_join(&world);
	assert_int_equal(world.result.n_ended, 1);
	expect_text(world.result.ended[0], "uid-away");
	assert_int_equal(world.result.claims_refused, 1);
}

static void the_uid_of_a_pod_that_is_over_and_still_there_is_not_an_ended_one(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED},
			build_world_uuid(&world, 0));
	build_world_join(&world);
	assert_int_equal(world.result.n_ended, 0);
	expect_tenants(build_world_status(&world, 0), "");
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

static void a_claim_of_a_pod_that_is_over_gives_no_device_that_is_not_told(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "");
	assert_int_equal(world.result.ids_unknown, 0);
}

static void while_claims_cannot_be_read_one_stays_on_the_device_it_was_published_on(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	expect_tenants(publish(), "uid-a/main");
	grant->uuid = (struct view){0};
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	struct facts facts = read_holdings();
	assert_int_equal(facts.n_items, 1);
	assert_int_equal(facts.items[0].device, 0);
	assert_int_equal(facts.items[0].witnesses, WITNESS_RESOURCE_CLAIM);
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
	cmocka_unit_test_setup_teardown(a_list_may_be_short_for_the_stated_time_after_a_restart,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		after_a_list_that_was_complete_none_is_short_until_the_next_restart, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(only_a_list_that_was_just_read_is_complete, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(there_are_books_when_one_of_them_could_be_read, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_is_not_there_is_not_found, set_up, tear_down),
	cmocka_unit_test_setup_teardown(every_id_of_an_entry_is_held, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_uid_of_another_nodes_pod_is_an_ended_one, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		the_uid_of_a_pod_that_is_over_and_still_there_is_not_an_ended_one, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_of_a_pod_that_is_over_gives_no_device_that_is_not_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_claims_cannot_be_read_one_stays_on_the_device_it_was_published_on, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(ended_uids_come_once_and_in_order, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_written_on_a_pod_that_is_over_counts_for_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_whose_device_no_slice_tells_is_unplaced_by_its_name, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_claims_cannot_be_read_none_is_unplaced, set_up, tear_down),
};

TEST_MAIN(tests)
