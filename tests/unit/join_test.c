/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "schema/attribution_doc.h"

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

static void run_a(void)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
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

static void a_device_without_an_object_is_created_under_its_uuid_in_lower_case(void **state)
{
	(void)state;
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

static void an_object_that_was_just_created_gets_its_first_status(void **state)
{
	(void)state;
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

static void an_unchanged_world_is_kept_and_a_changed_one_written(void **state)
{
	(void)state;
	publish_a();
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, 1000);
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.driver_version = VIEW("590.1");
	assert_int_equal(build_world_count_writes(&world), 1);
	expect_text(build_world_status(&world, 0)->device.driver_version, "590.1");
}

static void a_status_says_which_report_it_was_made_from(void **state)
{
	(void)state;
	static const struct attribution_report expected = {VIEW_INIT("boot"), 7, 42, 1234};
	run_a();
	world.report.boot_id = expected.boot_id;
	world.report.instance = expected.instance;
	world.report.sequence = expected.sequence;
	world.report.observed_at = expected.observed_at;
	const struct attribution_report *made = &publish()->report;
	expect_text(made->boot_id, "boot");
	assert_int_equal(made->instance, 7);
	assert_int_equal(made->sequence, 42);
	assert_int_equal(made->observed_at, 1234);
	/* One that says nothing new is not worth a write. */
	world.report.sequence = 43;
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.driver_version = VIEW("590.1");
	assert_int_equal(publish()->report.sequence, 43);
}

static void the_generation_is_observed(void **state)
{
	(void)state;
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

static void devices_come_in_the_order_of_their_uuids(void **state)
{
	(void)state;
	build_world_exclusive(&world, 2);
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_equal(build_world_joined(&world, i), &world.result.devices[i]);
}

/* Without a report */

static void without_a_report_everything_stays_as_published(void **state)
{
	(void)state;
	publish_a();
	world.input.report = NULL;
	world.input.report_age_ms = 0;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms);
	build_world_wait(&world, world.limits.report_stale_ms - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
}

static void without_a_report_it_is_said_what_may_be_read_no_more(void **state)
{
	(void)state;
	static const struct {
		bool pods, grants; /* may be read no more */
		int plugins, claims; /* the condition of what each hands out */
		const char *reason_of_plugins, *reason_of_claims;
	} rows[] = {
		{false, true, CONDITION_TRUE, CONDITION_UNKNOWN, "AllResolved", "ClaimsUnknown"},
		{true, true, CONDITION_UNKNOWN, CONDITION_UNKNOWN, "PodsUnknown", "PodsUnknown"},
		{false, true, CONDITION_UNKNOWN, CONDITION_UNKNOWN, "AwaitingReport",
		 "AwaitingReport"},
		{false, false, CONDITION_UNKNOWN, CONDITION_UNKNOWN, "AwaitingReport",
		 "AwaitingReport"},
	};

	publish_a();
	build_world_device(&world, 1);
	build_world_slice(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-b", "main", 1);
	publish();
	expect_condition(build_world_status(&world, 1), "Attributed", CONDITION_TRUE,
			 "AllResolved");
	world.input.report = NULL;
	world.input.report_age_ms = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.input.pods_age = rows[i].pods ? JOIN_PODS_DENIED : JOIN_PODS_CURRENT;
		world.input.grants_denied = world.input.grants_unknown = rows[i].grants;
		expect_condition(publish(), "Attributed", rows[i].plugins,
				 rows[i].reason_of_plugins);
		expect_condition(build_world_status(&world, 1), "Attributed", rows[i].claims,
				 rows[i].reason_of_claims);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

static void without_a_report_for_long_the_status_says_so_and_keeps_the_tenants(void **state)
{
	(void)state;
	world.report.boot_id = VIEW("boot");
	publish_a();
	world.input.report = NULL;
	world.input.report_age_ms = 0;
	build_world_wait(&world, world.limits.report_stale_ms);
	const struct attribution_status *status = publish();
	expect_text(status->report.boot_id, "boot"); /* what is older than that is still old */
	expect_condition(status, "ReportFresh", CONDITION_FALSE, "AgentSilent");
	expect_condition(status, "Ready", CONDITION_UNKNOWN, "ReportStale");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_condition(status, "Healthy", CONDITION_TRUE, "NothingFound");
	expect_tenants(status, "uid-a/main");
	expect_text(status->slots.summary, "1/1");
	assert_int_equal(world.result.again_in_ms, -1);
	build_world_wait(&world, 1000);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Restarted meanwhile: the silence is not forgotten. */
	world.input.report_age_ms = 0;
	assert_int_equal(build_world_count_writes(&world), 0);
	/* The agent is back. */
	world.input.report = &world.report;
	status = publish();
	expect_condition(status, "ReportFresh", CONDITION_TRUE, "ReportReceived");
	expect_condition(status, "Ready", CONDITION_TRUE, "Current");
}

static void without_a_report_pods_still_end(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 1));
	publish();
	world.input.report = NULL;
	build_world_remove_pod(&world, "uid-a");
	build_world_end(&world, "uid-a");
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-b/main");
	expect_recent(status, "uid-a");
	expect_text(status->slots.summary, "1/4");
	expect_text(status->tenant_summary, "ml/b");
	assert_int_equal(status->tenant_count, 1);
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_TIME_SLICED);
	/* The next report may name it still. */
	assert_int_equal(world.result.n_ended, 1);
	expect_text(world.result.ended[0], "uid-a");
	build_world_end(&world, "uid-y");
	build_world_end(&world, "uid-z");
	build_world_join(&world);
	assert_int_equal(world.result.n_ended, 3);
	expect_text(world.result.ended[2], "uid-z");
	build_world_pod(&world, (struct build_pod){.name = "b", .deleting = true});
	expect_tenant(publish(), "uid-b", ATTRIBUTION_PHASE_TERMINATING,
		      ATTRIBUTION_CONFIDENCE_CONFIRMED);
}

static void without_a_report_a_pending_holder_waits(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	publish();
	world.input.report = NULL;
	world.limits.report_stale_ms = 10 * world.limits.pending_ms;
	build_world_wait(&world, 2 * world.limits.pending_ms);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void without_a_report_and_objects_there_is_nothing_to_do(void **state)
{
	(void)state;
	world.input.report = NULL;
	for (int i = 0; i < 2; i++) {
		build_world_join(&world);
		assert_int_equal(world.result.n_devices, 0);
		assert_int_equal(world.result.again_in_ms, -1);
		world.input.node = NULL;
	}
}

static void one_good_book_is_enough(void **state)
{
	(void)state;
	static void (*const fail[])(struct build_world *world) = {build_world_fail_list,
								  build_world_fail_book};
	for (size_t i = 0; i < ARRAY_SIZE(fail); i++) {
		tear_down(NULL);
		set_up(NULL);
		publish_a();
		fail[i](&world);
		expect_condition(publish(), "Attributed", CONDITION_TRUE, "AllResolved");
	}
}

/* An old report */

static void an_old_report_is_the_last_that_is_known(void **state)
{
	(void)state;
	publish_a();
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms,
			 world.limits.report_stale_ms - world.input.report_age_ms);
	build_world_wait(&world, world.result.again_in_ms);
	const struct attribution_status *status = publish();
	expect_condition(status, "ReportFresh", CONDITION_FALSE, "AgentSilent");
	expect_condition(status, "Ready", CONDITION_UNKNOWN, "ReportStale");
	expect_tenants(status, "uid-a/main");
	assert_int_equal(world.result.again_in_ms, -1);
	build_world_remove_pod(&world, "uid-a");
	status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
}

/* Settling */

/* The device says that it settles, once, and who is on it stays. */
static void expect_settling(const char *tenants)
{
	const struct attribution_status *status = publish();
	expect_tenants(status, tenants);
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "Settling");
	expect_condition(status, "Ready", CONDITION_UNKNOWN, "Settling");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_restarted_kubelets_short_list_ends_no_tenancy(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 1));
	build_world_fail_book(&world);
	world.report.sources.checkpoint.state = REPORT_SOURCE_ABSENT;
	publish();
	/* List and advertised devices are empty until the plugin and the pods are back. */
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	build_world_list_nothing(&world);
	build_world_offer_nothing(&world);
	expect_settling("uid-a/main,uid-b/main");
	int64_t left = world.limits.settling_ms - 10 - world.input.report_held_ms;
	world.limits.report_stale_ms = 10 * world.limits.settling_ms;
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, left);
	build_world_wait(&world, left - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Then it is taken at its word, but it is still short: no tenant goes. */
	build_world_wait(&world, 1);
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-b/main");
	expect_condition(status, "Healthy", CONDITION_FALSE, "NotAdvertised");
}

static void a_short_list_beside_a_good_checkpoint_takes_no_witness_away(void **state)
{
	(void)state;
	publish_a();
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	build_world_list_nothing(&world);
	expect_settling("uid-a/main");
	expect_texts(ARRAY_AT(build_world_status(&world, 0)->tenants, struct attribution_tenant, 0)
			     ->witnesses,
		     "Checkpoint,PodResources");
}

static void a_complete_list_ends_the_settling(void **state)
{
	(void)state;
	publish_a();
	build_world_run(&world, (struct build_pod){.name = "b"}, VIEW("no device"));
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	expect_settling("uid-a/main");
	build_world_list(&world, "b", "main", VIEW("no device"));
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_list(&world, "a", "main", VIEW("no device"));
	expect_tenants(publish(), "");
}

static void without_a_good_checkpoint_names_decide(void **state)
{
	(void)state;
	publish_a();
	build_world_join(&world);
	assert_false(build_world_joined(&world, 0)->is_by_names);
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
	build_world_join(&world);
	assert_true(build_world_joined(&world, 0)->is_by_names);
	build_world_fail_list(&world);
	build_world_join(&world);
	assert_false(build_world_joined(&world, 0)->is_by_names);
}

static void names_decide_on_what_the_list_says_beyond_a_good_checkpoint(void **state)
{
	/* Replicas of the device that the one and the other has. */
	static const struct {
		unsigned booked, listed;
		bool is_by_names;
	} rows[] = {{0, 0, false}, {0, 1, true}, {1, 0, true}, {1, 1, false}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_shared(&world, 0, 4);
		build_world_exclusive(&world, 1);
		build_world_run(&world, (struct build_pod){.name = "a"},
				build_world_replica(&world, 0, rows[i].booked));
		build_world_list_nothing(&world);
		build_world_list(&world, "a", "main",
				 build_world_replica(&world, 0, rows[i].listed));
		build_world_join(&world);
		assert_int_equal(build_world_joined(&world, 0)->is_by_names, rows[i].is_by_names);
		assert_false(build_world_joined(&world, 1)->is_by_names);
		tear_down(state);
		set_up(state);
	}
}

static void restart_kubelet(int64_t ms_before_list)
{
	world.report.kubelet_restarted_at =
		world.report.sources.pod_resources.observed_at - ms_before_list;
}

static void a_pod_that_comes_after_a_complete_list_unsettles_nothing(void **state)
{
	(void)state;
	publish_a();
	restart_kubelet(10);
	expect_condition(publish(), "Attributed", CONDITION_TRUE, "AllResolved");
	build_world_pod(&world, (struct build_pod){.name = "b"});
	assert_int_equal(build_world_count_writes(&world), 0);
	/* A controller that starts now has seen no complete List. */
	build_world_restart(&world);
	build_world_report(&world);
	expect_settling("uid-a/main");
}

static void each_restart_settles_anew(void **state)
{
	(void)state;
	publish_a();
	restart_kubelet(10);
	publish();
	build_world_pod(&world, (struct build_pod){.name = "b"});
	restart_kubelet(5);
	expect_settling("uid-a/main");
}

static void a_complete_list_of_before_the_restart_settles_nothing(void **state)
{
	(void)state;
	publish_a();
	restart_kubelet(-1);
	publish();
	build_world_pod(&world, (struct build_pod){.name = "b"});
	expect_settling("uid-a/main");
}

static void a_restart_far_in_the_future_is_no_restart(void **state)
{
	(void)state;
	publish_a();
	world.report.kubelet_restarted_at = world.report.observed_at + world.limits.settling_ms;
	build_world_list_nothing(&world);
	build_world_join(&world);
	assert_int_equal(build_world_joined(&world, 0)->action, JOIN_WRITE);
}

static void an_unknown_holder_is_shown_while_the_list_settles(void **state)
{
	(void)state;
	publish_a();
	build_world_list_nothing(&world);
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	build_world_shared(&world, 1, 1);
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 1, 0));
	publish();
	expect_tenants(build_world_status(&world, 1), "uid-b/main");
}

/* A missing device */

static void a_device_that_nvml_no_longer_lists_stays_with_its_tenants(void **state)
{
	(void)state;
	publish_a();
	world.report.devices.count = 0;
	const struct attribution_status *status = publish();
	expect_condition(status, "Healthy", CONDITION_UNKNOWN, "DeviceMissing");
	assert_int_equal(status->health.state, ATTRIBUTION_HEALTH_UNKNOWN);
	expect_texts(status->health.reasons, "DeviceMissing");
	expect_tenants(status, "uid-a/main");
	expect_text(status->device.pci_bus_id, "00000000:00:00.0");
	/* Not even the kubelet's word ends them. */
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_list(&world, "a", "main", VIEW("another device"));
	build_world_offer_nothing(&world);
	status = publish();
	expect_tenants(status, "uid-a/main");
	expect_texts(status->health.reasons, "DeviceMissing");
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_remove_pod(&world, "uid-a");
	expect_tenants(publish(), "");
}

static void a_device_that_comes_back_is_well_again(void **state)
{
	(void)state;
	publish_a();
	world.report.devices.count = 0;
	publish();
	world.report.devices.count = 1;
	expect_condition(publish(), "Healthy", CONDITION_TRUE, "NothingFound");
}

static void without_nvml_devices_come_from_what_was_published(void **state)
{
	(void)state;
	publish_a();
	build_world_fail_nvml(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main");
	expect_text(status->slots.summary, "1/1");
	expect_text(status->device.model, "NVIDIA-A100-SXM4-40GB");
	assert_int_equal(status->device.index, 0);
	expect_condition(status, "Healthy", CONDITION_UNKNOWN, "NVMLUnavailable");
	expect_condition(status, "Ready", CONDITION_TRUE, "Current");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void without_nvml_devices_come_from_full_uuids_in_the_books(void **state)
{
	(void)state;
	run_a();
	build_world_offer(&world, build_world_replica(&world, 1, 0));
	build_world_offer(&world, build_world_replica(&world, 1, 1));
	build_world_list(&world, "ghost", "main", build_world_uuid(&world, 2));
	build_world_fail_nvml(&world);
	const struct attribution_status *status = publish();
	assert_int_equal(world.result.n_devices, 3);
	expect_tenants(status, "uid-a/main");
	assert_int_equal(status->device.index, -1);
	assert_int_equal(status->device.minor, -1);
	expect_text(build_world_status(&world, 1)->slots.summary, "0/2");
	expect_condition(build_world_status(&world, 2), "Attributed", CONDITION_FALSE,
			 "PodUnknown");
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* The same UUID on two nodes */

static void a_device_that_another_node_holds_and_reports_is_left_alone(void **state)
{
	(void)state;
	publish_a();
	hand_to_other_node();
	build_world_previous(&world, 0)->claimed_age_ms = 1000;
	build_world_join(&world);
	const struct join_device *joined = build_world_joined(&world, 0);
	assert_int_equal(joined->action, JOIN_KEEP);
	assert_ptr_equal(joined->previous, build_world_previous(&world, 0)->object);
	assert_true(attribution_doc_is_same(&joined->status, &joined->previous->status));
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms - 1000);
}

static void another_node_that_names_a_device_for_a_moment_changes_nothing(void **state)
{
	(void)state;
	publish_a();
	struct join_previous *previous = build_world_previous(&world, 0);
	previous->claimed_age_ms = 1000;
	previous->claimed_for_ms = world.limits.disagreement_ms - 1;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	previous->claimed_for_ms = world.limits.disagreement_ms;
	expect_condition(publish(), "Ready", CONDITION_FALSE, "DuplicateUUID");
	/* A controller that started anew has not seen it for long, and need not. */
	previous = build_world_previous(&world, 0);
	previous->claimed_age_ms = 1000;
	previous->claimed_for_ms = 0;
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void the_holder_of_a_device_that_another_node_reports_too_says_so(void **state)
{
	(void)state;
	publish_a();
	build_world_previous(&world, 0)->claimed_age_ms = 1000;
	const struct attribution_status *status = publish();
	expect_text(status->node_name, "gpu-a");
	expect_tenants(status, "uid-a/main");
	expect_condition(status, "Ready", CONDITION_FALSE, "DuplicateUUID");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	build_world_previous(&world, 0)->claimed_age_ms = world.limits.report_stale_ms;
	expect_condition(publish(), "Ready", CONDITION_TRUE, "Current");
}

static void a_device_that_its_node_no_longer_reports_moves(void **state)
{
	(void)state;
	static const int64_t ages[] = {-1, 120000, 500000};
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		tear_down(state);
		set_up(state);
		publish_a();
		hand_to_other_node();
		/* The pod is of the other node: here there is another one. */
		build_world_remove_pod(&world, "uid-a");
		build_world_list_nothing(&world);
		build_world_book_nothing(&world);
		build_world_run(&world, (struct build_pod){.name = "b"},
				build_world_uuid(&world, 0));
		build_world_previous(&world, 0)->claimed_age_ms = ages[i];
		build_world_wait(&world, 10);
		const struct attribution_status *status = publish();
		expect_text(status->node_name, "gpu-a");
		expect_tenants(status, "uid-b/main");
		expect_recent(status, "uid-a");
		expect_text(status->slots.summary, "1/1");
		assert_true(attribution_find_condition(status, VIEW("Ready"))
				    ->last_transition_time == BUILD_WORLD_NOW + 10);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

static void an_old_report_takes_no_device_away(void **state)
{
	(void)state;
	publish_a();
	hand_to_other_node();
	build_world_wait(&world, world.limits.report_stale_ms);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_device_known_by_its_ids_only_is_not_taken_away(void **state)
{
	(void)state;
	publish_a();
	hand_to_other_node();
	build_world_fail_nvml(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_device_that_went_to_another_node_is_left_to_that_node(void **state)
{
	(void)state;
	publish_a();
	world.report.devices.count = 0;
	build_world_previous(&world, 0)->claimed_age_ms = 1000;
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* The node is gone */

static void objects_of_a_node_that_is_gone_end_after_the_stated_time(void **state)
{
	(void)state;
	publish_a();
	build_world_wait(&world, world.limits.report_stale_ms);
	publish(); /* silent */
	world.input.node = NULL;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, world.limits.node_gone_ms);
	build_world_wait(&world, world.limits.node_gone_ms - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	assert_false(world.result.is_buried);
	build_world_wait(&world, 1);
	build_world_join(&world);
	assert_true(world.result.is_buried);
	const struct join_device *joined = build_world_joined(&world, 0);
	assert_int_equal(joined->action, JOIN_DELETE);
	expect_text(joined->name, "gpu-00000000-0000-4000-8000-0123456789ab");
	/* What was deleted is not created again. */
	build_world_publish(&world);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 0);
	assert_int_equal(world.result.again_in_ms, -1);
}

/* Its Node may just not have been understood. */
static void a_node_whose_agent_goes_on_reporting_is_not_buried(void **state)
{
	(void)state;
	publish_a();
	world.input.node = NULL;
	world.input.node_gone_for_ms = 2 * world.limits.node_gone_ms;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_false(world.result.is_buried);
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms - 1000);
	world.input.node_gone_for_ms = world.limits.node_gone_ms;
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms - 1000);
	build_world_wait(&world, world.limits.report_stale_ms - 1000);
	build_world_join(&world);
	assert_int_equal(build_world_joined(&world, 0)->action, JOIN_DELETE);
}

static void a_node_that_is_there_is_not_buried_however_short_the_limit(void **state)
{
	(void)state;
	publish_a();
	world.limits.node_gone_ms = 0;
	build_world_wait(&world, world.limits.report_stale_ms);
	build_world_join(&world);
	assert_false(world.result.is_buried);
	assert_int_equal(build_world_joined(&world, 0)->action, JOIN_WRITE);
}

static void a_node_without_devices_that_is_gone_is_buried_as_well(void **state)
{
	(void)state;
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, -1);
	world.input.node = NULL;
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms - 1000);
	build_world_wait(&world, world.limits.report_stale_ms);
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms,
			 world.limits.node_gone_ms - world.limits.report_stale_ms);
	build_world_wait(&world, world.limits.node_gone_ms);
	build_world_join(&world);
	assert_true(world.result.is_buried);
	assert_int_equal(world.result.again_in_ms, -1);
	/* A controller that starts anew has no report, old or new. */
	build_world_restart(&world);
	world.input.node_gone_for_ms = world.limits.node_gone_ms;
	build_world_join(&world);
	assert_true(world.result.is_buried);
	assert_int_equal(world.result.again_in_ms, -1);
}

/* Who may create */

static void an_old_report_creates_nothing(void **state)
{
	(void)state;
	run_a();
	build_world_wait(&world, world.limits.report_stale_ms);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 0);
	world.input.report_age_ms = 0;
	assert_int_equal(build_world_count_writes(&world), 1);
}

static void an_object_without_a_node_goes_to_the_most_recent_report(void **state)
{
	(void)state;
	static const struct {
		int64_t age, claimed_age;
		unsigned n_writes;
	} rows[] = {
		{1000, -1, 1}, {1000, 1000, 1}, {1000, 5000, 1}, {1000, 999, 0}, {1000, 0, 0},
		{119999, -1, 1}, {120000, -1, 0}, {120000, 900000, 0},
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

static void a_device_that_a_more_recent_report_names_is_created_by_that_node(void **state)
{
	(void)state;
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

static void a_node_gets_no_more_objects_than_its_share(void **state)
{
	(void)state;
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
	assert_int_equal(world.result.devices_refused, LIMIT_REPORT_DEVICES - 4);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* What it has is kept up to date. */
	world.report.devices.count = 0;
	build_world_device(&world, 0);
	build_world_join(&world);
	assert_int_equal(build_world_joined(&world, 0)->action, JOIN_WRITE);
	assert_int_equal(world.result.devices_refused, 0);
	/* Slices that describe more devices than there is room for. */
	world.input.slice_devices_left_out = 2;
	build_world_join(&world);
	assert_int_equal(world.result.devices_refused, 2);
	assert_int_equal(world.result.objects_left_out, 0);
	/* Objects of other nodes that there was no room for. */
	world.input.previous_left_out = 3;
	build_world_join(&world);
	assert_int_equal(world.result.objects_left_out, 3);
}

/* The checkpoint has none of four tenants, and two times two of them have one ID. */
static void each_fact_waits_of_as_many_as_there_can_be(void **state)
{
	(void)state;
	static const char *const names[] = {"a", "b", "c", "d"};
	build_world_shared(&world, 0, 4);
	for (unsigned i = 0; i < 4; i++) {
		struct view id = build_world_replica(&world, 0, i / 2);
		build_world_pod(&world, (struct build_pod){.name = names[i], .told = {id}});
		build_world_list(&world, names[i], "main", id);
	}
	assert_int_equal(build_world_publish(&world)->n_doubts, 6);
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_TRUE,
			 "AllResolved");
	/* And processes of nobody's on the second device. */
	build_world_device(&world, 1);
	for (unsigned i = 0; i < 20; i++)
		build_world_process(&world, 1, 100 + i, "");
	assert_int_equal(build_world_publish(&world)->n_doubts, 26);
}

/* Two by two containers have one ID, and of each pod the List has but the first. */
static void each_fact_waits_however_few_pods_hold_many_slots(void **state)
{
	(void)state;
	static const char *const names[] = {"a", "b"}, *const uids[] = {"uid-a", "uid-b"};
	enum { N_CONTAINERS = 8 };
	build_world_shared(&world, 0, N_CONTAINERS);
	for (unsigned p = 0; p < ARRAY_SIZE(names); p++) {
		build_world_pod(&world, (struct build_pod){.name = names[p]});
		for (unsigned i = 0; i < N_CONTAINERS; i++)
			build_world_book(&world, uids[p], build_world_text(&world, "c%u", i).ptr,
					 build_world_replica(&world, 0, i));
		build_world_list(&world, names[p], "c0", build_world_replica(&world, 0, 0));
	}
	assert_int_equal(build_world_publish(&world)->n_doubts,
			 N_CONTAINERS + 2 * (N_CONTAINERS - 1));
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_TRUE,
			 "AllResolved");
}

static void why_a_source_fails_stands_in_the_status_as_long_as_it_does(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	build_world_publish(&world);
	const struct report_checkpoint book = world.report.checkpoint;
	build_world_fail_book(&world);
	world.report.sources.checkpoint.message = VIEW("Permission denied");
	build_world_publish(&world);
	const struct attribution_status *status = build_world_status(&world, 0);
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_condition(status, "Ready", CONDITION_TRUE, "Current");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "every slot that is held has a pod; without the kubelet's checkpoint whom only "
		    "PodResources names is known by name alone (checkpoint: Permission denied)");
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.sources.checkpoint.state = REPORT_SOURCE_OK;
	world.report.checkpoint = book;
	build_world_publish(&world);
	status = build_world_status(&world, 0);
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "every slot that is held has a pod");
}

static void a_node_that_is_gone_leaves_a_device_to_the_node_that_reports_it(void **state)
{
	(void)state;
	publish_a();
	build_world_wait(&world, world.limits.report_stale_ms);
	publish();
	world.input.node = NULL;
	world.input.node_gone_for_ms = world.limits.node_gone_ms;
	build_world_previous(&world, 0)->claimed_age_ms = 1000;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms - 1000);
}

static void a_node_that_is_gone_deletes_nothing_of_other_nodes_and_nothing_twice(void **state)
{
	(void)state;
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

static void a_report_of_a_node_that_the_api_does_not_know_counts(void **state)
{
	(void)state;
	world.input.node = NULL;
	publish_a();
	expect_tenants(build_world_status(&world, 0), "uid-a/main");
}

/* The rest */

static void without_a_policy_the_device_is_unmanaged(void **state)
{
	(void)state;
	publish_a();
	const struct attribution_status *status = build_world_status(&world, 0);
	assert_int_equal(status->intent.state, ATTRIBUTION_INTENT_UNMANAGED);
	expect_condition(status, "Drifted", CONDITION_UNKNOWN, "Unmanaged");
	world.intent.n_policies = 1;
	status = publish();
	assert_int_equal(status->intent.state, ATTRIBUTION_INTENT_UNKNOWN);
	expect_condition(status, "Drifted", CONDITION_UNKNOWN, "NotAssessed");
	world.intent = (struct intent){.known = false};
	assert_int_equal(publish()->intent.state, ATTRIBUTION_INTENT_UNKNOWN);
	world.input.intent = NULL;
	assert_int_equal(publish()->intent.state, ATTRIBUTION_INTENT_UNKNOWN);
}

static void activity_is_unknown_and_has_the_scope_of_the_mode(void **state)
{
	(void)state;
	build_world_cut(&world, 2, 1);
	build_world_offer_nothing(&world);
	for (unsigned i = 0; i < 2; i++)
		build_world_offer(&world, build_world_text(&world, "%.*s::%u",
							   VIEW_ARG(build_world_mig(&world, 2, 0)),
							   i));
	build_world_exclusive(&world, 0);
	build_world_cut(&world, 1, 2);
	publish();
	const struct attribution_status *status = build_world_status(&world, 0);
	assert_int_equal(build_world_status(&world, 2)->sharing.mode,
			 ATTRIBUTION_MODE_MIG_TIME_SLICED);
	assert_int_equal(build_world_status(&world, 2)->activity.scope,
			 ATTRIBUTION_SCOPE_PARTITION);
	assert_int_equal(status->activity.state, ATTRIBUTION_ACTIVITY_UNKNOWN);
	assert_int_equal(status->activity.scope, ATTRIBUTION_SCOPE_DEVICE);
	assert_true(status->activity.since == 0);
	assert_int_equal(build_world_status(&world, 1)->activity.scope,
			 ATTRIBUTION_SCOPE_PARTITION);
}

static void ids_of_no_device_are_counted_and_attributed_to_none(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_offer(&world, VIEW("what is this"));
	build_world_offer(&world, build_world_uuid(&world, 7));
	build_world_run(&world, (struct build_pod){.name = "a"}, VIEW("what is this"));
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
	assert_int_equal(world.result.ids_unknown, 6); /* 2 on offer twice, 1 in each book */
	assert_int_equal(world.result.n_devices, 1);
}

static void a_hami_id_without_an_annotation_names_a_stand_in(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	for (unsigned i = 0; i < 3; i++)
		build_world_offer(&world, build_world_text(
			&world, "GPU-00000000-0000-4000-8000-0123456789ab-%u", i));
	build_world_run(&world, (struct build_pod){.name = "a"},
			VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1"));
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a",
							   ATTRIBUTION_PHASE_RUNNING,
							   ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
	expect_text(t->stand_in, "HAMi");
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_text(status->slots.summary, "1/3");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_UNKNOWN);
	expect_texts(status->sharing.evidence, "device IDs are HAMi's");
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
	expect_condition(status, "Ready", CONDITION_FALSE, "Unresolved");
}

static void expect_same_result(const struct join_result *a, const struct join_result *b)
{
	assert_int_equal(a->n_devices, b->n_devices);
	assert_int_equal(a->n_ended, b->n_ended);
	assert_int_equal(a->ids_unknown, b->ids_unknown);
	assert_true(a->again_in_ms == b->again_in_ms);
	for (size_t i = 0; i < a->n_devices; i++) {
		assert_int_equal(a->devices[i].action, b->devices[i].action);
		assert_true(attribution_doc_is_same(&a->devices[i].status, &b->devices[i].status));
	}
}

/* Nearly everything that there can be. */
static void make_all(void)
{
	build_world_shared(&world, 0, 4);
	build_world_cut(&world, 1, 2);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_mig(&world, 1, 0));
	build_world_run(&world, (struct build_pod){.name = "c"}, build_world_replica(&world, 0, 1));
	build_world_list(&world, "ghost", "main", build_world_replica(&world, 0, 3));
	build_world_event(&world, build_world_uuid(&world, 0), 79, BUILD_WORLD_NOW);
	build_world_run(&world,
			(struct build_pod){.name = "d", .told = {build_world_uuid(&world, 2)}},
			VIEW("no device"));
	build_world_grant(&world, "uid-d", "main", 0);
	build_world_process(&world, 0, 1, "uid-d");
	build_world_process(&world, 0, 2, "");
	build_world_end(&world, "uid-x");
	build_world_slice(&world, 3);
	build_world_wait(&world, world.limits.disagreement_ms);
	publish();
	build_world_remove_pod(&world, "uid-a");
	build_world_exclusive(&world, 2);
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-b");
	build_world_process(&world, 0, 3, "uid-c");
	build_world_event(&world, build_world_uuid(&world, 0), 31, BUILD_WORLD_NOW + 1);
	build_world_event(&world, build_world_uuid(&world, 0), 48, BUILD_WORLD_NOW + 2);
	build_world_device(&world, 4)->model = VIEW("A model");
}

static void running_out_of_memory_fails_and_changes_nothing(void **state)
{
	(void)state;
	struct error err;
	unsigned n_failures = 0;
	make_all();
	for (int i = 0; i < 3; i++) {
		const struct join_result *all = build_world_join(&world);
		for (size_t cap = 0;; cap += 16) {
			CLEANUP(arena_deinit) struct arena arena;
			struct join_result result = {.n_devices = 4711};
			arena_init(&arena, cap);
			error_clear(&err);
			if (join_node(&world.input, &arena, &result, &err) == 0) {
				expect_same_result(&result, all);
				break;
			}
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_int_equal(result.n_devices, 4711);
			n_failures++;
		}
		if (i == 0)
			build_world_restart(&world);
		else
			world.input.report_age_ms = world.limits.agentless_ms;
	}
	assert_true(n_failures > 100);
}

#define CHUNK ((size_t)65536) /* an arena's largest */

/* So many bytes fit before the arena asks for memory. */
static void leave_room(struct arena *arena, size_t room)
{
	arena_init(arena, 16 * CHUNK);
	assert_non_null(arena_alloc(arena, 1, CHUNK));
	assert_non_null(arena_alloc(arena, 1, CHUNK - room));
}

static void a_single_failed_allocation_fails_and_changes_nothing(void **state)
{
	(void)state;
	struct error err;
	make_all();
	for (int i = 0; i < 3; i++) {
		const struct join_result all = *build_world_join(&world);
		bool failed = true;
		for (size_t room = 0; failed; room += 16) {
			CLEANUP(arena_deinit) struct arena arena;
			struct join_result result = {.n_devices = 4711};
			/* What does not fit into the room takes one chunk, or several. */
			leave_room(&arena, room % CHUNK);
			failing_malloc_at(1 + (unsigned)(room / CHUNK));
			int status = join_node(&world.input, &arena, &result, &err);
			failed = failing_malloc_off();
			assert_int_equal(status, failed ? -1 : 0);
			if (failed)
				assert_int_equal(result.n_devices, 4711);
			else
				expect_same_result(&result, &all);
		}
		if (i == 0)
			build_world_restart(&world);
		else
			world.input.report_age_ms = world.limits.agentless_ms;
	}
}

/* Without an agent */

static void publish_without_agent(void)
{
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	publish();
}

static void what_the_api_says_is_published_when_no_agent_has_come(void **state)
{
	(void)state;
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_uuid(&world, 0)}});
	build_world_restart(&world);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 0);
	assert_int_equal(world.result.again_in_ms, world.limits.agentless_ms);
	build_world_wait(&world, world.limits.agentless_ms - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	assert_int_equal(build_world_count_writes(&world), 1);
	expect_tenants(publish(), "uid-a/main");
}

static void a_status_without_an_agent_says_what_it_lacks(void **state)
{
	(void)state;
	publish_without_agent();
	const struct attribution_status *status = build_world_status(&world, 0);
	expect_tenant(status, "uid-a", ATTRIBUTION_PHASE_RUNNING,
		      ATTRIBUTION_CONFIDENCE_CONFIRMED);
	expect_text(status->node_name, "gpu-a");
	expect_condition(status, "ReportFresh", CONDITION_FALSE, "NoAgent");
	expect_condition(status, "Ready", CONDITION_UNKNOWN, "NoAgent");
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "NoAgent");
	expect_condition(status, "Healthy", CONDITION_UNKNOWN, "NoAgent");
	assert_int_equal(status->health.state, ATTRIBUTION_HEALTH_UNKNOWN);
	expect_texts(status->health.reasons, "NoAgent");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	assert_int_equal(status->slots.total, -1);
	assert_int_equal(status->slots.allocated, 1);
	assert_int_equal(status->device.index, -1);
	assert_int_equal(status->tenant_count, 1);
}

static void without_an_agent_nothing_flips(void **state)
{
	(void)state;
	publish_without_agent();
	for (int i = 0; i < 4; i++) {
		assert_int_equal(build_world_count_writes(&world), 0);
		build_world_wait(&world, world.limits.report_stale_ms);
	}
	/* The controller starts anew: what it wrote does not change while it waits for an agent. */
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, world.limits.agentless_ms);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void without_an_agent_pods_begin_and_end(void **state)
{
	(void)state;
	publish_without_agent();
	build_world_remove_pod(&world, "uid-a");
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	/* That nobody else is there is not known. */
	assert_int_equal(status->slots.allocated, 0);
	build_world_pod(&world, (struct build_pod){.name = "b",
						   .told = {build_world_replica(&world, 0, 1)}});
	status = publish();
	expect_tenants(status, "uid-b/main");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_UNKNOWN);
}

static void the_first_report_of_an_agent_takes_the_object_over(void **state)
{
	(void)state;
	publish_without_agent();
	build_world_exclusive(&world, 0);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_report(&world);
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(
		status, "uid-a", ATTRIBUTION_PHASE_RUNNING, ATTRIBUTION_CONFIDENCE_CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources,PodStatus");
	assert_true(t->since == BUILD_WORLD_NOW);
	expect_condition(status, "ReportFresh", CONDITION_TRUE, "ReportReceived");
	expect_condition(status, "Ready", CONDITION_TRUE, "Current");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_condition(status, "Healthy", CONDITION_TRUE, "NothingFound");
	assert_int_equal(status->device.index, 0);
	expect_text(status->slots.summary, "1/1");
	/* From then on its silence is silence. */
	build_world_restart(&world);
	build_world_wait(&world, world.limits.report_stale_ms);
	expect_condition(publish(), "ReportFresh", CONDITION_FALSE, "AgentSilent");
}

static void an_agents_status_outlives_a_restart_though_the_api_speaks_at_once(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_run(&world,
			(struct build_pod){.name = "a", .told = {build_world_replica(&world, 0, 0)}},
			build_world_replica(&world, 0, 0));
	build_world_run(&world,
			(struct build_pod){.name = "b", .container = "init",
					   .kind = POD_CONTAINER_INIT},
			build_world_replica(&world, 0, 1));
	publish();
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, world.limits.agentless_ms);
	assert_int_equal(build_world_count_writes(&world), 0);
	expect_condition(build_world_status(&world, 0), "Ready", CONDITION_TRUE, "Current");
}

static void before_the_first_report_tenants_begin_by_the_word_of_the_api(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	publish();
	build_world_restart(&world);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_replica(&world, 0, 0)}});
	const struct attribution_status *status = publish();
	expect_texts(expect_tenant(status, "uid-a", ATTRIBUTION_PHASE_RUNNING,
				   ATTRIBUTION_CONFIDENCE_CONFIRMED)
			     ->witnesses,
		     "PodStatus");
	expect_text(status->slots.summary, "1/2");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_TIME_SLICED);
}

static void without_an_agent_no_device_is_taken_from_another_node(void **state)
{
	(void)state;
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

/* Device 0 is another node's, where no agent is; here is a report, or may come one. */
static void with_an_agent_the_other_nodes_objects_are_not_looked_at_again(void **state)
{
	(void)state;
	publish_without_agent();
	hand_to_other_node();
	build_world_previous(&world, 0)->is_named_elsewhere = true;
	build_world_device(&world, 0);
	build_world_report(&world);
	world.input.report_age_ms = world.limits.report_stale_ms;
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, -1);
}

static void what_another_nodes_agent_has_is_not_asked_for_in_time(void **state)
{
	(void)state;
	publish_a();
	hand_to_other_node();
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_restart(&world);
	build_world_join(&world);
	assert_int_equal(build_world_joined(&world, 0)->action, JOIN_KEEP);
	assert_int_equal(world.result.again_in_ms, world.limits.report_stale_ms);
}

static void without_agents_a_device_goes_where_the_api_server_still_names_it(void **state)
{
	(void)state;
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
	struct condition *conditions =
		arena_alloc(&world.arena, object.status.conditions.count, sizeof(*conditions));
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

static void slices_describe_idle_devices_without_an_agent(void **state)
{
	(void)state;
	build_world_slice(&world, 0);
	build_world_slice(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 1);
	build_world_restart(&world);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 0);
	/* That a claim may have a device counts after this time, and as long as it is not placed. */
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	build_world_wait(&world, world.limits.agentless_ms);
	const struct attribution_status *status = publish();
	expect_text(status->device.model, "NVIDIA-A100-SXM4-40GB");
	expect_text(status->device.pci_bus_id, "0000:00:00.0");
	assert_int_equal(status->device.memory_mib, 40960);
	expect_tenants(status, "");
	assert_int_equal(status->tenant_count, -1); /* that there are none is not known */
	assert_int_equal(status->slots.allocated, -1);
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void the_disputed_the_unplaced_and_their_numbers_outlive_a_restart(void **state)
{
	(void)state;
	const unsigned n = LIMIT_SOURCE_DISAGREEMENT + 2;
	build_world_shared(&world, 0, n);
	build_world_device(&world, 1);
	for (unsigned i = 0; i < n; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		build_world_run(&world,
				(struct build_pod){.name = name,
						   .told = {build_world_uuid(&world, 1)}},
				build_world_replica(&world, 0, i));
		name = build_world_text(&world, "q%02u", i).ptr;
		build_world_run(&world, (struct build_pod){.name = name}, VIEW("x"));
	}
	build_world_wait(&world, world.limits.disagreement_ms);
	const struct attribution_status *status = publish();
	assert_int_equal(status->source_disagreement_left_out, 2);
	assert_int_equal(status->unplaced_tenants_left_out, 2);
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* A pod that is gone is disputed no more. */
	build_world_remove_pod(&world, "uid-p00");
	status = publish();
	assert_int_equal(status->source_disagreement.count, LIMIT_SOURCE_DISAGREEMENT - 1);
	assert_int_equal(status->source_disagreement_left_out, 2);
}

static void without_a_report_who_is_gone_is_unplaced_no_more(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "deleted"}, VIEW("x"));
	build_world_run(&world, (struct build_pod){.name = "failed"}, VIEW("x"));
	build_world_run(&world, (struct build_pod){.name = "on"}, VIEW("x"));
	build_world_book(&world, "stranger", "main", VIEW("y"));
	build_world_list(&world, "stranger", "main", VIEW("y"));
	build_world_list(&world, "ghost", "main", VIEW("z"));
	build_world_wait(&world, world.limits.disagreement_ms);
	publish();
	build_world_restart(&world);
	expect_unplaced(publish(), "/ z,stranger/main y,uid-deleted/main x,uid-failed/main x,"
				   "uid-on/main x");
	build_world_remove_pod(&world, "uid-deleted");
	build_world_pod(&world, (struct build_pod){.name = "failed", .phase = POD_PHASE_FAILED});
	/* Of whom the API server never knew, it cannot tell. */
	expect_unplaced(publish(), "/ z,stranger/main y,uid-on/main x");
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* Known to be none, not unknown. However short the name, the API server knew the pod. */
static void without_a_report_the_last_who_goes_leaves_an_empty_list_of_the_unplaced(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, VIEW("x"));
	build_world_wait(&world, world.limits.disagreement_ms);
	publish();
	build_world_restart(&world);
	expect_unplaced(publish(), "uid-a/main x");
	build_world_remove_pod(&world, "uid-a");
	const struct array left = publish()->unplaced_tenants;
	assert_int_equal(left.count, 0);
	assert_null(left.items);
	assert_true(left.present);
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_UNKNOWN,
			 "AwaitingReport");
}

static void a_hami_id_of_an_annotated_pod_tells_of_a_device_in_time(void **state)
{
	(void)state;
	build_world_pod(&world,
			(struct build_pod){
				.name = "a", .hami = ";",
				.told = {VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1")}});
	build_world_restart(&world);
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, world.limits.agentless_ms);
	build_world_wait(&world, world.limits.agentless_ms);
	assert_int_equal(build_world_count_writes(&world), 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		another_node_that_names_a_device_for_a_moment_changes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_without_an_object_is_created_under_its_uuid_in_lower_case, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_that_was_just_created_gets_its_first_status, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unchanged_world_is_kept_and_a_changed_one_written, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_status_says_which_report_it_was_made_from, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_generation_is_observed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		devices_come_in_the_order_of_their_uuids, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_report_everything_stays_as_published, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_report_it_is_said_what_may_be_read_no_more,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_report_for_long_the_status_says_so_and_keeps_the_tenants, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_report_pods_still_end, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_report_a_pending_holder_waits, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_report_and_objects_there_is_nothing_to_do, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		one_good_book_is_enough, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_old_report_is_the_last_that_is_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_restarted_kubelets_short_list_ends_no_tenancy, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_short_list_beside_a_good_checkpoint_takes_no_witness_away, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_complete_list_ends_the_settling, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_good_checkpoint_names_decide, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		names_decide_on_what_the_list_says_beyond_a_good_checkpoint, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pod_that_comes_after_a_complete_list_unsettles_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_restart_settles_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_complete_list_of_before_the_restart_settles_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_restart_far_in_the_future_is_no_restart, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_holder_is_shown_while_the_list_settles, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_that_nvml_no_longer_lists_stays_with_its_tenants, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_device_that_comes_back_is_well_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_nvml_devices_come_from_what_was_published, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_nvml_devices_come_from_full_uuids_in_the_books, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_that_another_node_holds_and_reports_is_left_alone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_holder_of_a_device_that_another_node_reports_too_says_so, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_that_its_node_no_longer_reports_moves, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_old_report_takes_no_device_away, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_known_by_its_ids_only_is_not_taken_away, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_that_went_to_another_node_is_left_to_that_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		objects_of_a_node_that_is_gone_end_after_the_stated_time, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_whose_agent_goes_on_reporting_is_not_buried, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_that_is_there_is_not_buried_however_short_the_limit, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_without_devices_that_is_gone_is_buried_as_well, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_old_report_creates_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_without_a_node_goes_to_the_most_recent_report, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_that_a_more_recent_report_names_is_created_by_that_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_gets_no_more_objects_than_its_share, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_that_is_gone_leaves_a_device_to_the_node_that_reports_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_that_is_gone_deletes_nothing_of_other_nodes_and_nothing_twice, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_report_of_a_node_that_the_api_does_not_know_counts, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_policy_the_device_is_unmanaged, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		activity_is_unknown_and_has_the_scope_of_the_mode, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		ids_of_no_device_are_counted_and_attributed_to_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_hami_id_without_an_annotation_names_a_stand_in, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		running_out_of_memory_fails_and_changes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_single_failed_allocation_fails_and_changes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_api_says_is_published_when_no_agent_has_come, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_status_without_an_agent_says_what_it_lacks, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_an_agent_nothing_flips, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_an_agent_pods_begin_and_end, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_first_report_of_an_agent_takes_the_object_over, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_agents_status_outlives_a_restart_though_the_api_speaks_at_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		before_the_first_report_tenants_begin_by_the_word_of_the_api, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_fact_waits_of_as_many_as_there_can_be,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_fact_waits_however_few_pods_hold_many_slots, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		why_a_source_fails_stands_in_the_status_as_long_as_it_does, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_an_agent_no_device_is_taken_from_another_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		with_an_agent_the_other_nodes_objects_are_not_looked_at_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_another_nodes_agent_has_is_not_asked_for_in_time, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_agents_a_device_goes_where_the_api_server_still_names_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		slices_describe_idle_devices_without_an_agent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_disputed_the_unplaced_and_their_numbers_outlive_a_restart, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_report_who_is_gone_is_unplaced_no_more, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_report_the_last_who_goes_leaves_an_empty_list_of_the_unplaced, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_hami_id_of_an_annotated_pod_tells_of_a_device_in_time, set_up, tear_down),
};

TEST_MAIN(tests)
