/* SPDX-License-Identifier: Apache-2.0 */

/* Bounds of what is published. */

#include "lib/world_fixture.h"
#include "base/limits.h"
#include "join/stages.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define DISPUTED ATTRIBUTION_CONFIDENCE_DISPUTED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

static const struct attribution_status *publish_and_settle(void)
{
	publish();
	build_world_wait(&world, world.limits.disagreement_ms);
	world.input.report_age_ms = 0;
	return publish();
}

TEST(partitions_beyond_the_bound_are_counted)
{
	for (unsigned n = LIMIT_PARTITIONS; n <= LIMIT_PARTITIONS + 2; n++) {
		start_anew();
		build_world_cut(&world, 0, n);
		world_pod("a");
		for (unsigned i = 0; i < n; i++)
			build_world_book(&world, "uid-a", "main", build_world_mig(&world, 0, i));
		const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
								   CONFIRMED);
		assert_int_equal(t->slots, n);
		assert_int_equal(t->partitions.count, LIMIT_PARTITIONS);
		assert_int_equal(t->partitions_left_out, n - LIMIT_PARTITIONS);
		assert_int_equal(build_world_count_writes(&world), 0);
		/* Of one that left it is known which it held, or nothing. */
		build_world_remove_pod(&world, "uid-a");
		build_world_book_nothing(&world);
		build_world_list_nothing(&world);
		const struct array recent = publish()->recent_tenants;
		assert_int_equal(recent.count, 1);
		assert_int_equal(ARRAY_AT(recent, struct attribution_past_tenant, 0)->partitions.count,
				 n > LIMIT_PARTITIONS ? 0 : LIMIT_PARTITIONS);
	}
}

TEST(tenants_beyond_the_bound_are_counted)
{
	for (unsigned beyond = 0; beyond < 3; beyond++) {
		const unsigned n = LIMIT_TENANTS + beyond;
		start_anew();
		build_world_shared(&world, 0, n);
		for (unsigned i = 0; i < n; i++) {
			const char *name = build_world_text(&world, "p%03u", i).ptr;
			world_run(name, build_world_replica(&world, 0, i));
		}
		const struct attribution_status *status = publish();
		const char *summary = build_world_text(&world, "ml/p000 +%u", n - 1).ptr;
		const char *slots = build_world_text(&world, "%u/%u", n, n).ptr;
		for (int is_silent = 0; is_silent < 2; is_silent++) {
			assert_int_equal(status->tenants.count, LIMIT_TENANTS);
			assert_int_equal(status->tenants_left_out, beyond);
			assert_int_equal(status->tenant_count, n);
			expect_text(status->tenant_summary, summary);
			expect_text(status->slots.summary, slots);
			assert_int_equal(build_world_count_writes(&world), 0);
			/* While the books are silent those that are not listed are not forgotten. */
			build_world_fail_list(&world);
			build_world_fail_book(&world);
			status = publish();
		}
	}
}

TEST(those_that_left_are_bounded_and_newest_first)
{
	build_world_shared(&world, 0, 20);
	for (unsigned i = 0; i < 20; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		world_run(name, build_world_replica(&world, 0, i));
	}
	publish();
	for (unsigned i = 0; i < 20; i++) {
		build_world_wait(&world, 10);
		build_world_remove_pod(&world, build_world_text(&world, "uid-p%02u", i).ptr);
		publish();
	}
	const struct attribution_status *status = build_world_status(&world, 0);
	assert_int_equal(status->recent_tenants.count, LIMIT_RECENT_TENANTS);
	expect_text(ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, 0)->pod_uid,
		    "uid-p19");
	expect_text(ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, 15)->pod_uid,
		    "uid-p04");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(those_that_left_at_once_are_bounded_too)
{
	const unsigned n = LIMIT_RECENT_TENANTS + 1;
	build_world_shared(&world, 0, n);
	for (unsigned i = 0; i < n; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		world_run(name, build_world_replica(&world, 0, i));
	}
	publish();
	for (unsigned i = 0; i < n; i++)
		build_world_remove_pod(&world, build_world_text(&world, "uid-p%02u", i).ptr);
	const struct attribution_status *status = publish();
	assert_true(status->recent_tenants.present);
	assert_int_equal(status->recent_tenants.count, LIMIT_RECENT_TENANTS);
	assert_true(status->tenants.present);
	assert_int_equal(status->tenants.count, 0);
	assert_null(status->tenants.items);
}

/* What that witness says of the only container about which there is a disagreement. */
static const struct attribution_statement *find_said(const struct attribution_status *status,
						     const char *witness)
{
	assert_int_equal(status->source_disagreements.count, 1);
	const struct array says =
		ARRAY_AT(status->source_disagreements, struct attribution_disagreement, 0)->says;
	for (uint32_t i = 0; i < says.count; i++) {
		const struct attribution_statement *said = ARRAY_AT(
			says, struct attribution_statement, i);
		if (view_equal(said->witness, view_from(witness)))
			return said;
	}
	fail_msg("%s says nothing", witness);
	return NULL;
}

TEST(ids_that_another_witness_lacks_come_first_and_those_beyond_the_bound_are_counted)
{
	static const struct {
		uint32_t n, left_out;
	} rows[] = {{LIMIT_STATED_IDS, 0}, {LIMIT_STATED_IDS + 1, 1}, {LIMIT_STATED_IDS + 3, 3}};
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		start_anew();
		build_world_shared(&world, 0, rows[row].n);
		world_pod("a");
		/* The last one by its letters is the one that the checkpoint has alone. */
		for (uint32_t i = 0; i < rows[row].n; i++) {
			struct view id = build_world_replica(&world, 0, 10 + i);
			build_world_book(&world, "uid-a", "main", id);
			if (i + 1 < rows[row].n)
				build_world_list(&world, "a", "main", id);
		}
		const struct attribution_status *status = publish_and_settle();
		const struct attribution_statement *said = find_said(status, "Checkpoint");
		assert_int_equal(said->slots, rows[row].n);
		assert_int_equal(said->device_ids.count, LIMIT_STATED_IDS);
		assert_int_equal(said->device_ids_left_out, rows[row].left_out);
		for (uint32_t i = 0; i < LIMIT_STATED_IDS; i++)
			assert_true(view_equal(
				*ARRAY_AT(said->device_ids, struct view, i),
				build_world_replica(&world, 0, i ? 9 + i : 9 + rows[row].n)));
		said = find_said(status, "PodResources");
		assert_int_equal(said->device_ids.count + said->device_ids_left_out,
				 rows[row].n - 1);
		assert_true(view_equal(*ARRAY_AT(said->device_ids, struct view, 0),
				       build_world_replica(&world, 0, 10)));
	}
}

TEST(those_beyond_the_bound_are_counted_and_disputed_too)
{
	const unsigned n = LIMIT_SOURCE_DISAGREEMENT + 2;
	build_world_shared(&world, 0, n);
	build_world_device(&world, 1);
	for (unsigned i = 0; i < n; i++)
		build_world_run(&world,
				(struct build_pod){.name = build_world_text(&world, "p%02u", i).ptr,
						   .told = {build_world_uuid(&world, 1)}},
				build_world_replica(&world, 0, n - 1 - i));
	const struct attribution_status *status = publish_and_settle();
	assert_int_equal(status->source_disagreements.count, LIMIT_SOURCE_DISAGREEMENT);
	assert_int_equal(status->source_disagreements_left_out, 2);
	expect_text(
		ARRAY_AT(status->source_disagreements, struct attribution_disagreement, 15)->pod_uid,
		"uid-p15");
	expect_tenant(status, "uid-p17", RUNNING, DISPUTED);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* A restart makes none of them new. */
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* As another release may have written them. */
TEST(of_more_published_ones_than_the_bound_the_rest_is_counted)
{
	const unsigned n = LIMIT_SOURCE_DISAGREEMENT + 1;
	struct attribution_disagreement before[LIMIT_SOURCE_DISAGREEMENT + 1];
	build_world_shared(&world, 0, n);
	build_world_device(&world, 1);
	for (unsigned i = 0; i < n; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		build_world_run(
			&world,
			(struct build_pod){.name = name, .told = {build_world_uuid(&world, 1)}},
			build_world_replica(&world, 0, i));
		before[i] = (struct attribution_disagreement){
			.pod_uid = build_world_text(&world, "uid-p%02u", i),
			.container = VIEW("main")};
	}
	publish_and_settle();
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.status.source_disagreements = (struct array){before, n, true};
	build_world_previous(&world, 0)->object = &object;
	build_world_restart(&world);
	const struct attribution_status *status = publish();
	assert_int_equal(status->source_disagreements.count, LIMIT_SOURCE_DISAGREEMENT);
	assert_int_equal(status->source_disagreements_left_out, 1);
}

TEST(the_number_left_out_stays_whatever_is_new)
{
	build_world_exclusive(&world, 0);
	for (unsigned i = 0; i < LIMIT_UNPLACED_TENANTS + 3; i++)
		build_world_run(
			&world,
			(struct build_pod){.name = build_world_text(&world, "p%02u", i).ptr},
			VIEW("x"));
	publish_and_settle();
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Nor does a restart make one that was left out new. */
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(build_world_status(&world, 0)->unplaced_tenants_left_out, 3);
	/* One more is counted in time. */
	world_run("p99", VIEW("x"));
	assert_int_equal(publish()->unplaced_tenants_left_out, 3);
	assert_int_equal(publish_and_settle()->unplaced_tenants_left_out, 4);
	/* Fewer are, when none is waited for. */
	build_world_remove_pod(&world, "uid-p00");
	assert_int_equal(publish()->unplaced_tenants_left_out, 3);
}

TEST(those_beyond_the_bound_are_counted)
{
	build_world_exclusive(&world, 0);
	for (unsigned i = 0; i < LIMIT_UNPLACED_TENANTS + 3; i++)
		build_world_run(
			&world,
			(struct build_pod){.name = build_world_text(&world, "p%02u", i).ptr},
			build_world_text(&world, "x-%u", i));
	const struct attribution_status *status = publish_and_settle();
	assert_int_equal(status->unplaced_tenants.count, LIMIT_UNPLACED_TENANTS);
	assert_int_equal(status->unplaced_tenants_left_out, 3);
	expect_text(ARRAY_AT(status->unplaced_tenants, struct attribution_unplaced, 15)->pod_uid,
		    "uid-p15");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(ids_beyond_the_bound_are_counted)
{
	static const unsigned counts[] = {1, LIMIT_UNPLACED_IDS - 1, LIMIT_UNPLACED_IDS,
					  LIMIT_UNPLACED_IDS + 1, LIMIT_UNPLACED_IDS + 2};
	build_world_exclusive(&world, 0);
	world_pod("a");
	for (size_t row = 0; row < ARRAY_SIZE(counts); row++) {
		unsigned n = counts[row] < LIMIT_UNPLACED_IDS ? counts[row] : LIMIT_UNPLACED_IDS;
		build_world_book_nothing(&world);
		for (unsigned i = 0; i < counts[row]; i++)
			build_world_book(&world, "uid-a", "main",
					 build_world_text(&world, "x-%02u", i));
		const struct attribution_unplaced *u = ARRAY_AT(publish_and_settle()->unplaced_tenants,
								struct attribution_unplaced, 0);
		assert_true(u->device_ids.present);
		assert_int_equal(u->device_ids.count, n);
		assert_int_equal(u->device_ids_left_out, counts[row] - n);
		for (unsigned i = 0; i < n; i++)
			expect_text(*ARRAY_AT(u->device_ids, struct view, i),
				    build_world_text(&world, "x-%02u", i).ptr);
	}
}

TEST(none_is_an_empty_list)
{
	build_world_exclusive(&world, 0);
	const struct array none = publish()->unplaced_tenants;
	assert_true(none.present);
	assert_int_equal(none.count, 0);
	assert_null(none.items);
}

TEST(the_longest_message_fits)
{
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
	const struct condition *attributed = attribution_find_condition(publish_and_settle(),
									VIEW("Attributed"));
	expect_text(attributed->reason, "SlotHeldTwice");
	assert_true(attributed->message.len > OVERLAP_PODS * (LIMIT_TEXT_NAME + LIMIT_TEXT_LABEL));
	assert_true(attributed->message.len < OVERLAP_MESSAGE);
}

TEST(the_disputed_the_unplaced_and_their_numbers_outlive_a_restart)
{
	const unsigned n = LIMIT_SOURCE_DISAGREEMENT + 2;
	build_world_shared(&world, 0, n);
	build_world_device(&world, 1);
	for (unsigned i = 0; i < n; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		build_world_run(
			&world,
			(struct build_pod){.name = name, .told = {build_world_uuid(&world, 1)}},
			build_world_replica(&world, 0, i));
		name = build_world_text(&world, "q%02u", i).ptr;
		world_run(name, VIEW("x"));
	}
	build_world_wait(&world, world.limits.disagreement_ms);
	const struct attribution_status *status = publish();
	assert_int_equal(status->source_disagreements_left_out, 2);
	assert_int_equal(status->unplaced_tenants_left_out, 2);
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* A pod that is gone is disputed no more. */
	build_world_remove_pod(&world, "uid-p00");
	status = publish();
	assert_int_equal(status->source_disagreements.count, LIMIT_SOURCE_DISAGREEMENT - 1);
	assert_int_equal(status->source_disagreements_left_out, 2);
}

TEST(a_node_gets_no_more_objects_than_its_share)
{
	unsigned n = 0;
	/* Each report names other devices; those before are missing. */
	for (unsigned round = 0; round < 4; round++) {
		world.report.devices.count = 0;
		for (unsigned i = 0; i < LIMIT_REPORT_DEVICES - 4; i++)
			build_world_device(&world, n++);
		build_world_publish(&world);
		assert_true(world.input.n_previous <= LIMIT_NODE_OBJECTS);
	}
	assert_int_equal(world.input.n_previous, LIMIT_NODE_OBJECTS);
	assert_int_equal(world.result.refused.devices, LIMIT_REPORT_DEVICES - 4);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* What it has is kept up to date. */
	world.report.devices.count = 0;
	build_world_device(&world, 0);
	build_world_join(&world);
	assert_int_equal(build_world_joined(&world, 0)->action, JOIN_WRITE);
	assert_int_equal(world.result.refused.devices, 0);
	/* Slices that describe more devices than there is room for. */
	world.input.slice_devices_left_out = 2;
	build_world_join(&world);
	assert_int_equal(world.result.refused.devices, 2);
	assert_int_equal(world.result.refused.objects, 0);
	/* Objects of other nodes that there was no room for. */
	world.input.previous_left_out = 3;
	build_world_join(&world);
	assert_int_equal(world.result.refused.objects, 3);
}

TESTS(set_up, tear_down)
