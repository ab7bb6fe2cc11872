/* SPDX-License-Identifier: Apache-2.0 */

/* Objects: which are made, by whom, and what they say beside their tenants. */

#include <stdlib.h>

#include "lib/world_fixture.h"
#include "base/limits.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define DISPUTED ATTRIBUTION_CONFIDENCE_DISPUTED
#define RUNNING ATTRIBUTION_PHASE_RUNNING
#define MIG_1 "MIG-00000000-0000-4000-8000-000000000001"

static void run_a(void)
{
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
}

/* Device 0 is held by pod "a", and that is published. */
static void publish_a(void)
{
	run_a();
	publish();
}

/* The published object says that another node holds device 0. */
static void hand_to_other_node(void)
{
	struct join_previous *previous = build_world_previous(&world, 0);
	struct attribution *object = arena_alloc(&world.arena, 1, sizeof(*object));
	assert_non_null(object);
	*object = *previous->object;
	object->status.node_name = VIEW("gpu-b");
	previous->object = object;
}

static void publish_without_agent(void)
{
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	publish();
}

/* Device 0 is held by pod "a", and that is published. */
static void publish_one_tenant(void)
{
	publish_a();
}

TEST(a_pod_has_a_workload_when_it_has_an_owner)
{
	static const char *const kinds[] = {"", "X", "Job"};
	publish_one_tenant();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct pod_fields fields = {
			.namespace = VIEW("ml"),
			.name = VIEW("a"),
			.uid = VIEW("uid-a"),
			.gpu.workload.kind = view_from(kinds[i]),
			.state.wants_gpu = true,
			.state.phase = POD_PHASE_RUNNING,
		};
		struct error err;
		build_world_remove_pod(&world, "uid-a");
		assert_int_equal(pod_new(&fields, &world.pods[0], &err), 0);
		world.input.n_pods = 1;
		const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
								   CONFIRMED);
		assert_int_equal(t->workload.present, i > 0);
		expect_text(t->workload.kind, kinds[i]);
	}
}

TEST(a_device_without_an_object_is_created_under_its_uuid_in_lower_case)
{
	run_a();
	world.devices[0].uuid = VIEW("GPU-0000000A-0000-4000-8000-0123456789AB");
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 1);
	const struct join_device *joined = &world.result.devices[0];
	assert_int_equal(joined->action, JOIN_WRITE);
	assert_null(joined->previous);
	expect_text(joined->name, "gpu-0000000a-0000-4000-8000-0123456789ab");
	expect_text(joined->uuid, "GPU-0000000A-0000-4000-8000-0123456789AB");
	assert_int_equal(joined->status.observed_generation, 1);
	expect_text(joined->status.node_name, "gpu-a");
	/* Letters only, and all of them. */
	world.devices[0].uuid = VIEW("GPU-@AZ[`az{");
	build_world_join(&world);
	expect_text(world.result.devices[0].name, "gpu-@az[`az{");
}

TEST(an_object_that_was_just_created_gets_its_first_status)
{
	static const struct condition fresh = {.type = VIEW_INIT("ReportFresh"),
					       .status = CONDITION_TRUE,
					       .reason = VIEW_INIT("Pending")};
	struct attribution object = {
		.name = VIEW("gpu-00000000-0000-4000-8000-0123456789ab"),
		.uuid = VIEW("GPU-00000000-0000-4000-8000-0123456789ab"),
		.generation = 1,
		.status = {.conditions = {(void *)(uintptr_t)&fresh, 1, true}},
	};
	run_a();
	world.previous[world.input.n_previous++] = (struct join_previous){&object, -1};
	build_world_join(&world);
	const struct join_device *joined = build_world_joined(&world, 0);
	assert_int_equal(joined->action, JOIN_WRITE);
	assert_ptr_equal(joined->previous, &object);
	expect_tenants(&joined->status, "uid-a/main");
	/* Nobody has set the schema's default conditions: their time is no time. */
	assert_true(attribution_find_condition(&joined->status, VIEW("ReportFresh"))
			    ->last_transition_time == BUILD_WORLD_NOW);
}

TEST(a_status_says_which_report_it_was_made_from)
{
	static const struct attribution_report expected = {VIEW_INIT("boot"), 7, 42, 1234};
	run_a();
	world.report.boot_id = expected.boot_id;
	world.report.instance = expected.instance;
	world.report.sequence = expected.sequence;
	world.report.observed_at = expected.observation_time;
	const struct attribution_report *made = &publish()->report;
	expect_text(made->boot_id, "boot");
	assert_int_equal(made->instance, 7);
	assert_int_equal(made->sequence, 42);
	assert_int_equal(made->observation_time, 1234);
	/* One that says nothing new is not worth a write. */
	world.report.sequence = 43;
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.driver_version = VIEW("590.1");
	assert_int_equal(publish()->report.sequence, 43);
}

TEST(the_generation_is_observed)
{
	publish_a();
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.generation = 3;
	build_world_previous(&world, 0)->object = &object;
	assert_int_equal(build_world_count_writes(&world), 1);
	const struct attribution_status *status = build_world_status(&world, 0);
	assert_int_equal(status->observed_generation, 3);
	for (uint32_t i = 0; i < status->conditions.count; i++)
		assert_int_equal(
			ARRAY_AT(status->conditions, struct condition, i)->observed_generation, 3);
	object.generation = 4;
	world.input.report = NULL;
	build_world_join(&world);
	assert_int_equal(build_world_status(&world, 0)->observed_generation, 4);
}

TEST(devices_come_in_the_order_of_their_uuids)
{
	build_world_exclusive(&world, 2);
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_equal(build_world_joined(&world, i), &world.result.devices[i]);
}

TEST(an_object_without_a_node_goes_to_the_most_recent_report)
{
	static const struct {
		int64_t age, claimed_age;
		unsigned n_writes;
	} rows[] = {
		{1000, -1, 1}, {1000, 1000, 1}, {1000, 5000, 1}, {1000, 999, 0},
		{1000, 0, 0},  {119999, -1, 1}, {120000, -1, 0}, {120000, 900000, 0},
	};
	publish_a();
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.status = (struct attribution_status){0};
	build_world_previous(&world, 0)->object = &object;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.input.report_age_ms = rows[i].age;
		build_world_previous(&world, 0)->claimed_age_ms = rows[i].claimed_age;
		assert_int_equal(build_world_count_writes(&world), rows[i].n_writes);
	}
}

TEST(a_device_that_a_more_recent_report_names_is_created_by_that_node)
{
	run_a();
	const struct view contested = build_world_uuid(&world, 0);
	world.input.contested = &contested;
	world.input.n_contested = 1;
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 0);
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms - 1000);
	world.input.n_contested = 0;
	assert_int_equal(build_world_count_writes(&world), 1);
	/* Others that are contested are no matter. */
	const struct view both[] = {build_world_uuid(&world, 1), contested};
	world.input.contested = both;
	world.input.n_contested = 1;
	assert_int_equal(build_world_count_writes(&world), 1);
	world.input.n_contested = 2;
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* Index and PCI address are those of the one before; the books name that one still. */
TEST(a_card_in_the_place_of_another_has_an_object_and_tenants_of_its_own)
{
	static const struct view other = VIEW_INIT("GPU-0000000a-0000-4000-8000-0123456789ab");
	publish_a();
	world.devices[0].uuid = other;
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct join_device *joined = &world.result.devices[i];
		bool is_new = view_equal(joined->uuid, other);
		assert_int_equal(joined->action, JOIN_WRITE);
		assert_int_equal(joined->previous == NULL, is_new);
		expect_tenants(&joined->status, is_new ? "" : "uid-a/main");
		expect_condition(&joined->status, "Healthy", is_new ? CONDITION_TRUE : CONDITION_UNKNOWN,
				 is_new ? "NothingFound" : "DeviceMissing");
	}
	/* The next pod is on the new one alone; the one before had its own to its end. */
	build_world_remove_pod(&world, "uid-a");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	world_run("b", other);
	build_world_join(&world);
	for (size_t i = 0; i < world.result.n_devices; i++)
		expect_tenants(&world.result.devices[i].status,
			       view_equal(world.result.devices[i].uuid, other) ? "uid-b/main" : "");
}

TEST(a_node_that_is_there_is_not_buried_however_short_the_limit)
{
	publish_a();
	world.limits.node_gone_ms = 0;
	build_world_wait(&world, world.limits.report_stale_ms);
	build_world_join(&world);
	assert_false(world.result.is_buried);
	assert_int_equal(build_world_joined(&world, 0)->action, JOIN_WRITE);
}

TEST(a_node_that_is_gone_deletes_nothing_of_other_nodes_and_nothing_twice)
{
	publish_a();
	build_world_wait(&world, world.limits.report_stale_ms);
	publish();
	world.input.node = NULL;
	world.input.node_gone_for_ms = world.limits.node_gone_ms;
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.deleting = true;
	build_world_previous(&world, 0)->object = &object;
	assert_int_equal(build_world_count_writes(&world), 0);
	object.deleting = false;
	object.status.node_name = VIEW("gpu-b");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(without_a_policy_the_device_is_unmanaged)
{
	publish_a();
	const struct attribution_status *status = build_world_status(&world, 0);
	assert_int_equal(status->intent.state, ATTRIBUTION_INTENT_UNMANAGED);
	expect_condition(status, "InSync", CONDITION_TRUE, "Unmanaged");
	build_world_govern(&world, "gpu-operator");
	status = publish();
	assert_int_equal(status->intent.state, ATTRIBUTION_INTENT_IN_SYNC);
	expect_text(status->intent.policy, "cluster-policy");
	expect_condition(status, "InSync", CONDITION_TRUE, "InSync");
	world.intent = (struct intent){.known = false};
	assert_int_equal(publish()->intent.state, ATTRIBUTION_INTENT_UNKNOWN);
	world.input.intent = NULL;
	status = publish();
	assert_int_equal(status->intent.state, ATTRIBUTION_INTENT_UNKNOWN);
	expect_condition(status, "InSync", CONDITION_UNKNOWN, "PolicyUnreadable");
}

TEST(activity_is_that_of_the_report_and_has_the_scope_of_the_mode)
{
	build_world_cut(&world, 2, 1);
	build_world_offer_nothing(&world);
	for (unsigned i = 0; i < 2; i++)
		build_world_offer(&world,
				  build_world_text(&world, "%.*s::%u",
						   VIEW_ARG(build_world_mig(&world, 2, 0)), i));
	build_world_exclusive(&world, 0);
	build_world_cut(&world, 1, 2);
	publish();
	const struct attribution_status *status = build_world_status(&world, 0);
	assert_int_equal(build_world_status(&world, 2)->sharing.mode,
			 ATTRIBUTION_MODE_MIG_TIME_SLICED);
	assert_int_equal(build_world_status(&world, 2)->activity.scope,
			 ATTRIBUTION_SCOPE_PARTITION);
	assert_int_equal(status->activity.state, ATTRIBUTION_ACTIVITY_UNKNOWN);
	assert_true(view_equal(status->activity.reason, VIEW("NotMeasured")));
	assert_int_equal(status->activity.scope, ATTRIBUTION_SCOPE_DEVICE);
	assert_int_equal(build_world_status(&world, 1)->activity.scope,
			 ATTRIBUTION_SCOPE_PARTITION);
}

/* An event need not be reported again when a status holds it, or none ever will. */
TEST(events_of_a_device_that_another_node_may_leave_to_this_are_not_done)
{
	build_world_exclusive(&world, 1);
	run_a();
	publish();
	assert_int_equal(world.result.events_until, 0);
	build_world_event(&world, build_world_uuid(&world, 1), 13, BUILD_WORLD_NOW);
	build_world_event(&world, VIEW("GPU-nobodys"), 13, 1);
	build_world_event(&world, build_world_uuid(&world, 0), 13, BUILD_WORLD_NOW);
	build_world_event(&world, build_world_uuid(&world, 1), 31, BUILD_WORLD_NOW);
	build_world_join(&world);
	assert_int_equal(world.result.events_until, 4);
	hand_to_other_node();
	build_world_previous(&world, 0)->claimed_age_ms = 1000;
	build_world_join(&world);
	assert_int_equal(world.result.events_until, 2);
	build_world_previous(&world, 0)->claimed_age_ms = world.limits.report_stale_ms;
	publish();
	assert_int_equal(world.result.events_until, 4);
	assert_int_equal(build_world_status(&world, 0)->health.events.count, 1);
	/* Missing here, and named there: who has it is not clear yet. */
	world.report.devices.count = 0;
	build_world_previous(&world, 0)->claimed_age_ms = 1000;
	build_world_join(&world);
	assert_int_equal(world.result.events_until, 2);
	hand_to_other_node();
	world.input.report_held_ms = world.limits.report_stale_ms + 1000;
	build_world_join(&world);
	assert_int_equal(world.result.events_until, 4);
}

TEST(events_of_a_device_that_the_driver_may_list_again_are_not_done)
{
	const int64_t now = world.report.observed_at + 1000; /* report_held_ms */
	const struct {
		int64_t time, until;
	} rows[] = {
		{now, 0},
		{now - world.limits.report_stale_ms + 1, 0},
		{now - world.limits.report_stale_ms, 2},
		/* The clock was set back since. */
		{now + 1, 2},
	};
	build_world_exclusive(&world, 1);
	run_a();
	publish();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.report.events.count = 0;
		build_world_event(&world, VIEW("GPU-nobodys"), 13, rows[i].time);
		build_world_event(&world, build_world_uuid(&world, 0), 13, BUILD_WORLD_NOW);
		world.input.report_held_ms = 1000;
		build_world_join(&world);
		if (world.result.events_until != rows[i].until)
			fail_msg("row %zu: %lld", i, (long long)world.result.events_until);
	}
}

TEST(without_an_agent_no_device_is_taken_from_another_node)
{
	publish_without_agent();
	hand_to_other_node();
	build_world_previous(&world, 0)->is_named_elsewhere = true;
	assert_int_equal(build_world_count_writes(&world), 0);
	/* An object that no node has is another's if that one's agent names the device. */
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.status = (struct attribution_status){0};
	build_world_previous(&world, 0)->object = &object;
	build_world_previous(&world, 0)->claimed_age_ms = 1000;
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_previous(&world, 0)->claimed_age_ms = -1;
	assert_int_equal(build_world_count_writes(&world), 1);
}

TEST(without_agents_a_device_goes_where_the_api_server_still_names_it)
{
	publish_without_agent();
	hand_to_other_node();
	struct join_previous *previous = build_world_previous(&world, 0);
	struct attribution object = *previous->object;
	previous->is_named_elsewhere = true;
	world.input.report_age_ms = world.limits.report_stale_ms;
	assert_int_equal(build_world_count_writes(&world), 0);
	/* That it is let go of there is not told here. */
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms);
	previous->is_named_elsewhere = false;
	/* It is not clear yet that there is no agent here, or there, */
	world.input.report_age_ms = world.limits.agentless_ms - 1;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	previous->claimed_age_ms = world.limits.report_stale_ms - 1;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	previous->claimed_age_ms = -1;
	/* or an agent there spoke last. */
	struct condition *conditions = arena_alloc(&world.arena, object.status.conditions.count,
						   sizeof(*conditions));
	assert_non_null(conditions);
	for (uint32_t i = 0; i < object.status.conditions.count; i++) {
		conditions[i] = *ARRAY_AT(object.status.conditions, struct condition, i);
		if (view_equal(conditions[i].type, VIEW("ReportFresh")))
			conditions[i].reason = VIEW("AgentSilent");
	}
	const struct attribution *of_none = previous->object;
	object.status.conditions.items = conditions;
	previous->object = &object;
	assert_int_equal(build_world_count_writes(&world), 0);
	previous->object = of_none;
	const struct attribution_status *status = publish();
	expect_text(status->node_name, "gpu-a");
	expect_tenants(status, "uid-a/main");
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* The status that is carried over may be another's than the tenant's. */
TEST(a_mig_device_that_the_status_lacks_is_looked_for_in_it_alone)
{
	build_world_cut(&world, 0, 1);
	world_run("a", build_world_mig(&world, 0, 0));
	publish();
	build_world_restart(&world);
	struct join_previous *previous = build_world_previous(&world, 0);
	struct attribution object = *previous->object;
	struct attribution_partition *other = malloc(sizeof(*other));
	assert_non_null(other);
	*other = (struct attribution_partition){.uuid = VIEW(MIG_1), .slots = 1};
	object.status.partitions = (struct array){other, 1, true};
	previous->object = &object;
	build_world_join(&world);
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_TRUE,
			 "AllResolved");
	expect_tenants(build_world_status(&world, 0), "uid-a/main");
	free(other);
}

TESTS(set_up, tear_down)
