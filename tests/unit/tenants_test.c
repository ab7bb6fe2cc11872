/* SPDX-License-Identifier: Apache-2.0 */

#include "join/witnesses.h"
#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "join/tenants.h"

#define ANNOTATED ATTRIBUTION_CONFIDENCE_ANNOTATED
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define DISPUTED ATTRIBUTION_CONFIDENCE_DISPUTED
#define NAME_ONLY ATTRIBUTION_CONFIDENCE_NAME_ONLY
#define UNCONFIRMED ATTRIBUTION_CONFIDENCE_UNCONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING
#define PENDING ATTRIBUTION_PHASE_PENDING
#define UNRESOLVED ATTRIBUTION_PHASE_UNRESOLVED

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

/* Device 0 is held by pod "a", and that is published. */
static void publish_one_tenant(void)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	publish();
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

/* The first tenant of device 0 is published with what is altered of it. */
static struct attribution_tenant *alter_published(void)
{
	static struct attribution object;
	static struct attribution_tenant tenant;
	struct join_previous *previous = build_world_previous(&world, 0);

	object = *previous->object;
	tenant = *ARRAY_AT(object.status.tenants, struct attribution_tenant, 0);
	object.status.tenants = (struct array){&tenant, 1, true};
	previous->object = &object;
	return &tenant;
}

/* The kubelet has restarted, and not every pod that must be in its List is there. */
static void let_settle(void)
{
	build_world_pod(&world, (struct build_pod){.name = "unlisted"});
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
}

static void a_uid_of_the_checkpoint_that_the_api_knows_is_a_confirmed_tenant(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .owner = "train"},
			build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_text(t->pod_namespace, "ml");
	expect_text(t->pod_name, "a");
	expect_text(t->container, "main");
	expect_text(t->resource, "nvidia.com/gpu");
	assert_true(t->workload.present);
	expect_text(t->workload.kind, "Job");
	expect_text(t->workload.name, "train");
	assert_int_equal(t->slots, 1);
	assert_int_equal(t->partitions.count, 0);
	assert_false(t->system);
	assert_true(t->since == BUILD_WORLD_NOW);
	assert_true(t->witnesses.present);
	assert_true(t->partitions.present);
	assert_null(t->partitions.items);
	assert_null(status->recent_tenants.items);
	assert_int_equal(status->tenant_count, 1);
	expect_text(status->tenant_summary, "ml/a");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_condition(status, "Ready", CONDITION_TRUE, "Current");
}

static void a_pod_has_a_workload_when_it_has_an_owner(void **state)
{
	(void)state;
	static const char *const kinds[] = {"", "X", "Job"};
	publish_one_tenant();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct pod_fields fields = {
			.namespace = VIEW("ml"),
			.name = VIEW("a"),
			.uid = VIEW("uid-a"),
			.owner_kind = view_from(kinds[i]),
			.wants_gpu = true,
			.phase = POD_PHASE_RUNNING,
		};
		struct error err;
		build_world_remove_pod(&world, "uid-a");
		assert_int_equal(pod_new(&world.intern, &fields, &world.pods[0], &err), 0);
		world.input.n_pods = 1;
		const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
								   CONFIRMED);
		assert_int_equal(t->workload.present, i > 0);
		expect_text(t->workload.kind, kinds[i]);
	}
}

static void the_checkpoint_alone_confirms_too(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint");
}

static void a_pod_that_seems_to_want_no_gpu_can_hold_one(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .wants_no_gpu = true},
			build_world_uuid(&world, 0));
	build_world_pod(&world, (struct build_pod){.name = "other"});
	expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	build_world_pod(&world, (struct build_pod){
					.name = "a", .wants_no_gpu = true, .phase = POD_PHASE_PENDING});
	expect_tenant(publish(), "uid-a", ATTRIBUTION_PHASE_STARTING, CONFIRMED);
}

static void a_static_pod_is_found_by_its_hash_and_published_under_the_apis_uid(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "static", .hash = "c0ffee"},
			build_world_uuid(&world, 0));
	const struct attribution_tenant *t =
		expect_tenant(publish(), "uid-static", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_tenants(build_world_status(&world, 0), "uid-static/main");
}

static void a_static_pod_keeps_its_since_when_its_mirror_appears(void **state)
{
	(void)state;
	static const char *const hashes[] = {"c0ffee", "c"};
	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++) {
		start_anew();
		build_world_exclusive(&world, 0);
		build_world_book(&world, hashes[i], "main", build_world_uuid(&world, 0));
		build_world_list(&world, "static", "main", build_world_uuid(&world, 0));
		expect_tenant(publish(), hashes[i], PENDING, UNCONFIRMED);
		build_world_wait(&world, 5000);
		build_world_pod(&world, (struct build_pod){.name = "static", .hash = hashes[i]});
		const struct attribution_tenant *t =
			expect_tenant(publish(), "uid-static", RUNNING, CONFIRMED);
		assert_true(t->since == BUILD_WORLD_NOW);
		expect_tenants(build_world_status(&world, 0), "uid-static/main");
		expect_recent(build_world_status(&world, 0), "");
	}
}

/* The API server has the static pod, but the kubelet's books, which have it by its hash, fail. */
static void a_static_pod_is_there_once_while_the_books_are_silent(void **state)
{
	(void)state;
	for (int is_told = 0; is_told < 2; is_told++) {
		start_anew();
		build_world_exclusive(&world, 0);
		build_world_book(&world, "c0ffee", "main", build_world_uuid(&world, 0));
		build_world_list(&world, "static", "main", build_world_uuid(&world, 0));
		publish();
		build_world_fail_list(&world);
		build_world_fail_book(&world);
		struct build_pod pod = {.name = "static", .hash = "c0ffee"};
		if (is_told)
			pod.told[0] = build_world_uuid(&world, 0);
		build_world_pod(&world, pod);
		const struct attribution_status *status = publish();
		expect_tenant(status, "uid-static", RUNNING, CONFIRMED);
		expect_tenants(status, "uid-static/main");
		expect_recent(status, "");
		expect_text(status->slots.summary, "1/1");
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

static void who_was_published_without_a_uid_is_nobodys_past(void **state)
{
	(void)state;
	publish_one_tenant();
	struct attribution_tenant *before = alter_published();
	before->pod_uid = (struct view){0};
	before->since = 1;
	assert_true(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->since ==
		    BUILD_WORLD_NOW);
}

static void who_was_published_without_a_time_is_there_since_now(void **state)
{
	(void)state;
	publish_one_tenant();
	alter_published()->since = 0;
	build_world_wait(&world, 1000);
	assert_true(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->since ==
		    BUILD_WORLD_NOW + 1000);
}

static void a_pod_on_another_node_is_refused_and_counted(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	build_world_move_away(&world, "uid-b");
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	assert_int_equal(world.result.claims_refused, 1);
	assert_int_equal(status->slots.allocated, 0);
}

static void an_unknown_uid_is_pending_and_then_unresolved(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b-and-more", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t =
		expect_tenant(status, "uid-b-and-more", PENDING, UNCONFIRMED);
	assert_int_equal(t->pod_name.len, 0);
	expect_texts(t->witnesses, "Checkpoint");
	expect_text(status->tenant_summary, "uid/uid-b-an");
	expect_text(status->slots.summary, "1/1");
	assert_int_equal(status->tenant_count, 1);
	expect_condition(status, "Attributed", CONDITION_FALSE, "Pending");
	expect_condition(status, "Ready", CONDITION_FALSE, "Unresolved");
	assert_int_equal(world.result.again_in_ms, world.limits.pending_ms);

	build_world_wait(&world, world.limits.pending_ms - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	status = publish();
	t = expect_tenant(status, "uid-b-and-more", UNRESOLVED, UNCONFIRMED);
	assert_true(t->since == BUILD_WORLD_NOW);
	expect_condition(status, "Attributed", CONDITION_FALSE, "Unresolved");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "1 slot is held by a pod that the API server does not know");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void the_first_that_becomes_unresolved_is_waited_for(void **state)
{
	(void)state;
	const int64_t pending = world.limits.pending_ms;
	static const char *const uids[] = {"uid-b", "uid-a", "uid-c"};
	build_world_shared(&world, 0, 3);
	for (unsigned i = 0; i < 3; i++) {
		build_world_book(&world, uids[i], "main", build_world_replica(&world, 0, i));
		build_world_list(&world, uids[i] + 4, "main", build_world_replica(&world, 0, i));
		publish();
		build_world_wait(&world, 10000);
	}
	/* "b" has been waited for 30 s, "a" 20 s, and "c" 10 s. */
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, pending - 30000);
	build_world_wait(&world, pending - 30000);
	publish();
	assert_int_equal(world.result.again_in_ms, 10000);
	build_world_wait(&world, 5000);
	build_world_join(&world);
	assert_int_equal(world.result.again_in_ms, 5000);
	/* When all are unresolved there is only the report to go stale. */
	build_world_wait(&world, 15000);
	publish();
	assert_int_equal(world.result.again_in_ms,
			 world.limits.report_stale_ms - world.input.report_age_ms);
}

static void a_pending_holder_becomes_a_tenant_when_the_api_knows_its_pod(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	publish();
	build_world_wait(&world, 10);
	build_world_pod(&world, (struct build_pod){.name = "b"});
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-b", RUNNING, CONFIRMED);
	assert_true(t->since == BUILD_WORLD_NOW);
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

static void a_clock_that_is_set_back_starts_the_wait_anew(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	publish();
	world.input.now_wall_ms -= 3600000;
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-b", PENDING, UNCONFIRMED);
	assert_true(t->since == world.input.now_wall_ms);
	build_world_wait(&world, world.limits.pending_ms);
	expect_tenant(publish(), "uid-b", UNRESOLVED, UNCONFIRMED);
}

static void an_unknown_uid_that_no_good_list_knows_of_is_a_left_over(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	expect_tenants(publish(), "");
	expect_text(build_world_status(&world, 0)->slots.summary, "0/1");
	build_world_fail_list(&world);
	expect_tenant(publish(), "uid-b", PENDING, UNCONFIRMED);
}

static void an_unknown_holder_goes_when_the_checkpoint_is_rewritten_without_it(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	publish();
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, ""); /* nobody ever knew that pod */
}

static void an_unknown_holder_stays_while_the_books_are_silent(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	publish();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	expect_tenant(publish(), "uid-b", PENDING, UNCONFIRMED);
	assert_int_equal(world.result.again_in_ms, world.limits.pending_ms);
	build_world_wait(&world, world.limits.pending_ms);
	expect_tenant(publish(), "uid-b", UNRESOLVED, UNCONFIRMED);
	/* Its pod turns up: the checkpoint did name that UID. */
	build_world_pod(&world, (struct build_pod){.name = "b"});
	expect_tenant(publish(), "uid-b", RUNNING, CONFIRMED);
	build_world_pod(&world, (struct build_pod){.name = "b", .phase = POD_PHASE_FAILED});
	expect_tenants(publish(), "");
}

/* Pending, and then its pod turns up that has failed: nothing was ever known of it. */
static void an_unknown_holder_whose_pod_is_over_goes(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	publish();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_pod(&world, (struct build_pod){.name = "b", .phase = POD_PHASE_FAILED});
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "");
	expect_text(status->slots.summary, "0/1");
}

static void a_good_list_ends_an_unknown_holder_unless_it_may_be_short(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	publish();
	build_world_fail_book(&world);
	build_world_list_nothing(&world);
	let_settle();
	expect_tenant(publish(), "uid-b", PENDING, UNCONFIRMED);
	world.report.kubelet_restarted_at = 0;
	expect_tenants(publish(), "");
}

static const struct attribution_past_tenant *recent_at(uint32_t i)
{
	return ARRAY_AT(build_world_status(&world, 0)->recent_tenants,
			struct attribution_past_tenant, i);
}

static void a_pod_that_is_gone_ends_and_is_remembered(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_wait(&world, 1000);
	build_world_remove_pod(&world, "uid-a");
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	const struct attribution_past_tenant *past =
		ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, 0);
	expect_text(past->pod_namespace, "ml");
	expect_text(past->pod_name, "a");
	expect_text(past->container, "main");
	assert_true(past->since == BUILD_WORLD_NOW);
	assert_true(past->until == BUILD_WORLD_NOW + 1000);
	assert_int_equal(world.result.n_ended, 1);
	expect_text(world.result.ended[0], "uid-a");
	expect_text(status->slots.summary, "0/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	/* The books lag behind, and the controller may have restarted: it stays ended. */
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.n_ended, 0);
}

static void who_left_did_so_when_the_api_server_told_it(void **state)
{
	(void)state;
	static const struct join_end ends[] = {{VIEW_INIT("uid-b"), 700}, {VIEW_INIT("uid-a"), 400}};
	publish_one_tenant();
	build_world_wait(&world, 1000);
	world.input.ends = ends;
	world.input.n_ends = 2;
	/* The API server has it again: what was told before counts for nothing. */
	build_world_pod(&world, (struct build_pod){.name = "a", .wants_no_gpu = true});
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	expect_recent(publish(), "uid-a");
	assert_true(recent_at(0)->until == BUILD_WORLD_NOW + 1000);
	tear_down(state);
	set_up(state);
	publish_one_tenant();
	build_world_wait(&world, 1000);
	world.input.ends = ends;
	world.input.n_ends = 2;
	build_world_remove_pod(&world, "uid-a");
	expect_recent(publish(), "uid-a");
	assert_true(recent_at(0)->until == BUILD_WORLD_NOW + 600);
}

/* While no controller was there, or could be told. */
static void who_left_before_the_first_list_did_so_by_then(void **state)
{
	(void)state;
	static const struct join_end ends[] = {{VIEW_INIT("uid-b"), 700}};
	static const struct {
		int64_t ended_for_ms;
		bool is_there;
		int64_t left_after;
	} rows[] = {{300, false, 700},
		    {1, false, 999},
		    {-1, false, 1000},
		    {300, true, 1000},
		    /* Not before it was first seen there. */
		    {1001, false, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		publish_one_tenant();
		build_world_wait(&world, 1000);
		world.input.ends = ends;
		world.input.n_ends = 1;
		world.input.ended_for_ms = rows[i].ended_for_ms;
		build_world_remove_pod(&world, "uid-a");
		if (rows[i].is_there)
			build_world_pod(&world,
					(struct build_pod){.name = "a", .wants_no_gpu = true});
		build_world_list_nothing(&world);
		build_world_book_nothing(&world);
		expect_recent(publish(), "uid-a");
		assert_int_equal(recent_at(0)->until, BUILD_WORLD_NOW + rows[i].left_after);
	}
}

static void an_unknown_tenant_that_is_on_another_node_stays_no_tenant_without_a_report(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	expect_tenants(publish(), "uid-b/main");
	build_world_restart(&world);
	expect_tenants(publish(), "uid-b/main");
	build_world_move_away(&world, "uid-b");
	expect_tenants(publish(), "");
	expect_recent(build_world_status(&world, 0), "");
}

static void an_ended_uid_is_known_as_such_without_having_been_published(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	build_world_end(&world, "uid-b");
	build_world_end(&world, "uid-not-named");
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
	assert_int_equal(world.result.n_ended, 1);
	expect_text(world.result.ended[0], "uid-b");
}

static void a_pod_that_is_over_is_no_tenant(void **state)
{
	(void)state;
	static const struct build_pod pods[] = {
		{.name = "a", .phase = POD_PHASE_SUCCEEDED},
		{.name = "a", .phase = POD_PHASE_FAILED},
		{.name = "a", .admission_failed = true},
	};
	build_world_exclusive(&world, 0);
	build_world_run(&world, pods[0], build_world_uuid(&world, 0));
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		build_world_pod(&world, pods[i]);
		const struct attribution_status *status = publish();
		expect_tenants(status, "");
		expect_recent(status, "");
		expect_text(status->slots.summary, "0/1");
		expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	}
}

static void a_tenant_whose_pod_is_over_ends(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
}

static void the_phase_follows_the_pod_and_its_container(void **state)
{
	(void)state;
	static const struct {
		struct build_pod pod;
		int phase;
	} rows[] = {
		{{.name = "a", .is_unseen = true}, ATTRIBUTION_PHASE_STARTING},
		{{.name = "a", .state = POD_CONTAINER_WAITING}, ATTRIBUTION_PHASE_STARTING},
		{{.name = "a", .state = POD_CONTAINER_RUNNING}, ATTRIBUTION_PHASE_RUNNING},
		{{.name = "a", .state = POD_CONTAINER_TERMINATED}, ATTRIBUTION_PHASE_RESERVED},
		{{.name = "a", .kind = POD_CONTAINER_INIT, .state = POD_CONTAINER_TERMINATED},
		 ATTRIBUTION_PHASE_RESERVED},
		{{.name = "a", .kind = POD_CONTAINER_SIDECAR, .state = POD_CONTAINER_RUNNING},
		 ATTRIBUTION_PHASE_RUNNING},
		{{.name = "a", .deleting = true}, ATTRIBUTION_PHASE_TERMINATING},
		{{.name = "a", .deleting = true, .state = POD_CONTAINER_TERMINATED},
		 ATTRIBUTION_PHASE_TERMINATING},
	};
	publish_one_tenant();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_pod(&world, rows[i].pod);
		expect_tenant(publish(), "uid-a", rows[i].phase, CONFIRMED);
	}
}

static void an_init_container_is_a_tenant_though_no_list_has_it(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .container = "init",
					   .kind = POD_CONTAINER_INIT,
					   .state = POD_CONTAINER_TERMINATED},
			build_world_uuid(&world, 0));
	const struct attribution_tenant *t =
		expect_tenant(publish(), "uid-a", ATTRIBUTION_PHASE_RESERVED, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void several_replicas_in_one_container_are_one_tenant(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 2));
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 2);
	assert_int_equal(status->tenant_count, 1);
	expect_text(status->slots.summary, "2/4");
}

static void the_same_id_named_twice_is_one_slot(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0))->resource =
		VIEW("a.example/gpu");
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 1);
	expect_text(t->resource, "a.example/gpu");
}

static void a_partition_is_named_by_its_tenant_and_outlives_nvmls_word(void **state)
{
	(void)state;
	struct report_device *device = build_world_cut(&world, 0, 2);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_mig(&world, 0, 1));
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->partitions, "MIG-00000000-0000-4000-8000-000000000001");
	assert_int_equal(build_world_status(&world, 0)->partitions.count, 2);
	device->partitions.count = 0;
	build_world_offer_nothing(&world);
	for (int i = 0; i < 2; i++) {
		t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
		expect_texts(t->partitions, "MIG-00000000-0000-4000-8000-000000000001");
		assert_int_equal(world.result.ids_unknown, 0);
	}
}

static void partitions_of_two_resources_are_one_tenant(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 3);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", build_world_mig(&world, 0, 2))->resource =
		VIEW("nvidia.com/mig-2g.10gb");
	build_world_book(&world, "uid-a", "main", build_world_mig(&world, 0, 0))->resource =
		VIEW("nvidia.com/mig-3g.20gb");
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 2);
	expect_text(t->resource, "nvidia.com/mig-2g.10gb");
	expect_texts(t->partitions, "MIG-00000000-0000-4000-8000-000000000000,"
				    "MIG-00000000-0000-4000-8000-000000000002");
}

static void partitions_are_listed_in_order_each_once(void **state)
{
	(void)state;
	static const char *const partitions[] = {"m2", "m", "m2", "m3"};
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	for (unsigned i = 0; i < ARRAY_SIZE(partitions); i++) {
		struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
		grant->device = build_world_text(&world, "pool/%u", i);
		grant->partition = view_from(partitions[i]);
	}
	build_world_regrant(&world);
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 4);
	assert_true(t->partitions.present);
	expect_texts(t->partitions, "m,m2,m3");
}

static void partitions_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	for (unsigned n = LIMIT_PARTITIONS; n <= LIMIT_PARTITIONS + 2; n++) {
		tear_down(state);
		set_up(state);
		build_world_cut(&world, 0, n);
		build_world_pod(&world, (struct build_pod){.name = "a"});
		for (unsigned i = 0; i < n; i++)
			build_world_book(&world, "uid-a", "main", build_world_mig(&world, 0, i));
		const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
								   CONFIRMED);
		assert_int_equal(t->slots, n);
		assert_int_equal(t->partitions.count, LIMIT_PARTITIONS);
		assert_int_equal(t->partitions_left_out, n - LIMIT_PARTITIONS);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

static void of_several_resources_the_first_by_name_is_shown(void **state)
{
	(void)state;
	static const char *const resources[] = {"m", "z", "a", "k"};
	build_world_shared(&world, 0, ARRAY_SIZE(resources));
	build_world_pod(&world, (struct build_pod){.name = "a"});
	for (unsigned i = 0; i < ARRAY_SIZE(resources); i++)
		build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, i))
			->resource = view_from(resources[i]);
	expect_text(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->resource, "a");
}

static void a_name_alone_gives_name_only(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, NAME_ONLY);
	expect_texts(t->witnesses, "PodResources");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	build_world_fail_book(&world);
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
}

static void what_the_checkpoint_confirmed_it_bears_witness_to_while_it_is_silent(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_fail_book(&world);
	for (int i = 0; i < 2; i++) {
		const struct attribution_tenant *t =
			expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
		expect_texts(t->witnesses, "Checkpoint,PodResources");
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

/* The checkpoint never named it: what confirmed it was the status of the pod, which says no more. */
static void what_a_name_alone_bears_out_is_not_confirmed_by_having_been_so(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_fail_book(&world);
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "PodResources,PodStatus");
	build_world_pod(&world, (struct build_pod){.name = "a"});
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY)->witnesses,
		     "PodResources");
}

static void who_is_kept_by_a_name_alone_is_confirmed_no_more(void **state)
{
	(void)state;
	static const struct {
		int before, after;
	} rows[] = {{CONFIRMED, NAME_ONLY}, {DISPUTED, DISPUTED}};
	for (int is_failed = 0; is_failed < 2; is_failed++) {
		for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
			start_anew();
			publish_one_tenant();
			alter_published()->confidence = rows[row].before;
			/* The kubelet has lost its book, and its List may be short or fails. */
			build_world_book_nothing(&world);
			build_world_list_nothing(&world);
			let_settle();
			if (is_failed)
				build_world_fail_list(&world);
			expect_texts(expect_tenant(publish(), "uid-a", RUNNING, rows[row].after)
					     ->witnesses,
				     "PodResources");
			assert_int_equal(build_world_count_writes(&world), 0);
		}
	}
}

static void other_devices_than_those_confirmed_are_held_by_name_only(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	publish();
	build_world_fail_book(&world);
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 1));
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
}

static void other_partitions_than_those_confirmed_are_held_by_name_only(void **state)
{
	(void)state;
	static const struct {
		const char *before[2], *now[2];
		int confidence;
	} rows[] = {
		{{"0", "1"}, {"0", "1"}, CONFIRMED},
		{{"0", "1"}, {"0", "2"}, NAME_ONLY},
		{{"0", "2"}, {"1", "2"}, NAME_ONLY},
		{{"0::0", "0::1"}, {"0::0", "0::1"}, CONFIRMED},
		{{"0::0", "0::1"}, {"0::0", "1::0"}, NAME_ONLY},
		{{"0::0", "1::0"}, {"0::0", "0::1"}, NAME_ONLY},
	};
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		start_anew();
		build_world_cut(&world, 0, 3);
		for (int i = 0; i < 2; i++)
			build_world_run(&world, (struct build_pod){.name = "a"},
					build_world_text(&world, "MIG-00000000-0000-4000-8000-00000000000%s",
							 rows[row].before[i]));
		expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
		build_world_fail_book(&world);
		build_world_list_nothing(&world);
		for (int i = 0; i < 2; i++)
			build_world_list(&world, "a", "main",
					 build_world_text(&world, "MIG-00000000-0000-4000-8000-00000000000%s",
							  rows[row].now[i]));
		expect_tenant(publish(), "uid-a", RUNNING, rows[row].confidence);
	}
}

static void a_good_checkpoint_without_it_leaves_name_only(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_book_nothing(&world);
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
}

static void a_name_that_no_pod_has_holds_a_slot_of_nobody(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_list(&world, "ghost", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->tenant_summary, "");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "1 slot is held by nobody who could be told");
	expect_condition(status, "Ready", CONDITION_FALSE, "Unresolved");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_tenant_that_the_checkpoint_has_stays_when_the_list_is_short(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_list_nothing(&world);
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint");
}

static void a_tenant_stays_when_the_checkpoint_lacks_it_and_the_list_is_not_complete(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	/* Nobody bears it out any more, and it says so. */
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, UNCONFIRMED);
	expect_texts(t->witnesses, "");
	expect_text(build_world_status(&world, 0)->slots.summary, "1/1");
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* The kubelet gave the pod another device: the List has the pod, and so is complete. */
static void give_another_device(void)
{
	build_world_exclusive(&world, 1);
	publish_one_tenant();
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 1));
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 1));
}

static void a_tenant_goes_when_a_complete_list_and_the_checkpoint_lack_it(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		start_anew();
		give_another_device();
		/* What claims or NVML would say does not matter to those whom the books had. */
		world.input.grants_unknown = i == 1;
		if (i == 2)
			build_world_fail_nvml(&world);
		const struct attribution_status *status = publish();
		expect_tenants(status, "");
		expect_recent(status, "uid-a");
		expect_tenants(build_world_status(&world, 1), "uid-a/main");
	}
}

static void a_complete_list_alone_ends_nobody(void **state)
{
	(void)state;
	give_another_device();
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	expect_texts(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->witnesses, "Checkpoint");
	expect_recent(status, "");
}

static void a_list_that_may_be_short_is_still_a_witness(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_fail_book(&world);
	build_world_list_nothing(&world);
	let_settle();
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources");
}

static void everything_stays_while_both_books_are_silent(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_text(status->slots.summary, "1/1");
	assert_int_equal(status->tenant_count, 1);
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "SourcesFailed");
	expect_condition(status, "Ready", CONDITION_UNKNOWN, "SourcesFailed");
	/* But the API server's word on pods counts. */
	build_world_remove_pod(&world, "uid-a");
	status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	expect_text(status->slots.summary, "0/1");
}

static void without_any_book_ever_nothing_is_known_and_none_is_not_said(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	assert_int_equal(status->tenant_count, -1);
	assert_int_equal(status->slots.total, -1);
	assert_int_equal(status->slots.allocated, -1);
	expect_text(status->slots.summary, "");
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "SourcesFailed");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_book_that_was_read_says_that_there_is_none(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		start_anew();
		build_world_device(&world, 0);
		if (i == 0)
			build_world_fail_list(&world);
		else
			build_world_fail_book(&world);
		if (i == 2)
			let_settle(); /* a List that may be short does not */
		assert_int_equal(publish()->tenant_count, i == 2 ? -1 : 0);
	}
}

static void what_was_counted_without_an_agent_is_no_count(void **state)
{
	(void)state;
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	assert_int_equal(publish()->tenant_count, 1);
	build_world_remove_pod(&world, "uid-a");
	build_world_device(&world, 0);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_report(&world);
	const struct attribution_status *status = publish();
	assert_int_equal(status->tenant_count, -1);
	expect_recent(status, "uid-a");
}

static void system_pods_are_listed_and_not_counted(void **state)
{
	(void)state;
	build_world_govern(&world, "ml");
	build_world_shared(&world, 0, 3);
	build_world_run(&world, (struct build_pod){.name = "a", .system = true},
			build_world_replica(&world, 0, 0));
	const struct attribution_status *status = publish();
	assert_int_equal(status->tenant_count, 0);
	expect_text(status->tenant_summary, "");
	expect_tenants(status, "uid-a/main");
	expect_text(status->slots.summary, "1/3");
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 1));
	status = publish();
	assert_int_equal(status->tenant_count, 1);
	expect_text(status->tenant_summary, "ml/b");
}

static void what_is_called_like_a_system_pod_elsewhere_is_a_tenant(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .system = true},
			build_world_uuid(&world, 0));
	assert_int_equal(publish()->tenant_count, 1);
	build_world_govern(&world, "gpu-operator");
	const struct attribution_status *status = publish();
	assert_int_equal(status->tenant_count, 1);
	assert_false(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->system);
	/* Nobody knows the operator's namespace: nothing is taken for its own. */
	world.intent.policy = NULL;
	assert_int_equal(publish()->tenant_count, 1);
	world.input.intent = NULL;
	assert_int_equal(publish()->tenant_count, 1);
}

static void the_summary_counts_pods_and_not_containers(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-b", "second", build_world_replica(&world, 0, 1));
	const struct attribution_status *status = publish();
	expect_text(status->tenant_summary, "ml/b");
	assert_int_equal(status->tenant_count, 2);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 2));
	build_world_run(&world, (struct build_pod){.name = "c"}, build_world_replica(&world, 0, 3));
	status = publish();
	expect_text(status->tenant_summary, "ml/a +2");
	expect_tenants(status, "uid-a/main,uid-b/main,uid-b/second,uid-c/main");
}

static void the_summary_shows_a_name_whole_and_a_uid_in_short(void **state)
{
	(void)state;
	static const struct {
		size_t len;
		const char *shown;
	} rows[] = {
		{5, "uid/uid-b"},
		{8, "uid/uid-b-an"},
		{9, "uid/uid-b-an"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_exclusive(&world, 0);
		build_world_book(&world, "uid-b-and-more", "main", build_world_uuid(&world, 0))
			->pod_uid.len = rows[i].len;
		build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
		expect_text(publish()->tenant_summary, rows[i].shown);
	}
	start_anew();
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a-longer-name"},
			build_world_uuid(&world, 0));
	expect_text(publish()->tenant_summary, "ml/a-longer-name");
}

static void tenants_beyond_the_bound_are_counted(void **state)
{
	(void)state;
	for (unsigned beyond = 0; beyond < 3; beyond++) {
		const unsigned n = LIMIT_TENANTS + beyond;
		start_anew();
		build_world_shared(&world, 0, n);
		for (unsigned i = 0; i < n; i++) {
			const char *name = build_world_text(&world, "p%03u", i).ptr;
			build_world_run(&world, (struct build_pod){.name = name},
					build_world_replica(&world, 0, i));
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

static void those_that_left_are_bounded_and_newest_first(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 20);
	for (unsigned i = 0; i < 20; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		build_world_run(&world, (struct build_pod){.name = name},
				build_world_replica(&world, 0, i));
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

static void all_who_held_a_card_on_another_node_are_remembered(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 1));
	publish();
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.status.node_name = VIEW("gpu-b");
	build_world_previous(&world, 0)->object = &object;
	build_world_remove_pod(&world, "uid-a");
	build_world_remove_pod(&world, "uid-b");
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	/* Who is not on this node has not ended before its pods were told. */
	build_world_wait(&world, 1000);
	world.input.ended_for_ms = 300;
	const struct attribution_status *status = publish();
	expect_text(status->node_name, "gpu-a");
	expect_tenants(status, "");
	expect_recent(status, "uid-a,uid-b");
	assert_int_equal(recent_at(0)->until, BUILD_WORLD_NOW + 1000);
	assert_int_equal(recent_at(1)->until, BUILD_WORLD_NOW + 1000);
	expect_text(status->slots.summary, "0/2");
}

static void those_that_left_at_once_are_bounded_too(void **state)
{
	(void)state;
	const unsigned n = LIMIT_RECENT_TENANTS + 1;
	build_world_shared(&world, 0, n);
	for (unsigned i = 0; i < n; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		build_world_run(&world, (struct build_pod){.name = name},
				build_world_replica(&world, 0, i));
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

static void a_new_pod_of_the_same_name_inherits_nothing(void **state)
{
	(void)state;
	publish_one_tenant();
	build_world_remove_pod(&world, "uid-a");
	build_world_pod(&world, (struct build_pod){
					.name = "a", .uid = "uid-new", .phase = POD_PHASE_PENDING,
					.is_unseen = true});
	/* The kubelet has not seen the change yet: both books speak of the old one. */
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	assert_int_equal(build_world_count_writes(&world), 0);
	/* It has: the checkpoint names the new one. */
	build_world_wait(&world, 100);
	build_world_book_nothing(&world);
	build_world_book(&world, "uid-new", "main", build_world_uuid(&world, 0));
	status = publish();
	const struct attribution_tenant *t = expect_tenant(
		status, "uid-new", ATTRIBUTION_PHASE_STARTING, CONFIRMED);
	assert_true(t->since == BUILD_WORLD_NOW + 100);
	expect_tenants(status, "uid-new/main");
}

/* What the status of the pod says */

static void the_status_of_the_pod_alone_confirms(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "PodStatus");
	expect_text(t->resource, "nvidia.com/gpu");
	assert_int_equal(t->slots, 1);
	expect_text(status->slots.summary, "1/1");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void all_witnesses_of_one_container_are_one_tenants_in_fixed_order(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}},
			build_world_uuid(&world, 0));
	build_world_grant(&world, "uid-a", "main", 0)->device = build_world_uuid(&world, 0);
	build_world_regrant(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main");
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources,PodStatus,ResourceClaim");
	assert_int_equal(t->slots, 1);
}

static void what_the_status_of_the_pod_leaves_out_the_checkpoint_has(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_run(&world,
			(struct build_pod){.name = "a", .container = "side", .second = "main",
					   .kind = POD_CONTAINER_SIDECAR,
					   .told_of_second = {build_world_replica(&world, 0, 1)}},
			build_world_replica(&world, 0, 0));
	build_world_fail_list(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-a/side");
	expect_texts(attribution_find_tenant(status, VIEW("uid-a"), VIEW("main"))->witnesses,
		     "PodStatus");
	expect_texts(attribution_find_tenant(status, VIEW("uid-a"), VIEW("side"))->witnesses,
		     "Checkpoint");
}

static void who_only_the_status_of_the_pod_named_goes_when_it_names_another_device(void **state)
{
	(void)state;
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	publish();
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 1)}});
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	expect_text(status->slots.summary, "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
}

static void who_only_the_status_of_the_pod_named_stays_when_it_names_none(void **state)
{
	(void)state;
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	publish();
	/* What another container has says nothing of this one. */
	build_world_pod(&world,
			(struct build_pod){.name = "a", .second = "side",
					   .told_of_second = {build_world_uuid(&world, 1)}});
	const struct attribution_status *status = publish();
	expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_recent(status, "");
	expect_tenants(build_world_status(&world, 1), "uid-a/side");
}

static void each_container_goes_by_what_the_status_says_of_it(void **state)
{
	(void)state;
	struct build_pod pod = {.name = "a", .second = "side",
				.told = {build_world_uuid(&world, 1)},
				.told_of_second = {build_world_uuid(&world, 0)}};
	build_world_pod(&world, pod);
	build_world_without_agent(&world);
	expect_tenants(publish(), "uid-a/side");
	pod.told_of_second[0] = build_world_uuid(&world, 2);
	build_world_pod(&world, pod);
	expect_tenants(publish(), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	expect_tenants(build_world_status(&world, 2), "uid-a/side");
}

static void who_the_checkpoint_named_too_stays_whatever_the_status_of_the_pod_says(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}},
			build_world_uuid(&world, 0));
	publish();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 1)}});
	expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
}

/* Claims */

static void a_claim_makes_a_confirmed_tenant(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0);
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "ResourceClaim");
	expect_text(t->resource, "gpu.nvidia.com");
	assert_int_equal(t->slots, 1);
	assert_false(t->system);
	expect_text(status->slots.summary, "1/1");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_claim_of_a_part_names_the_partition(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 2);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0)->partition = build_world_mig(&world, 0, 1);
	build_world_regrant(&world);
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->partitions,
		     "MIG-00000000-0000-4000-8000-000000000001");
}

static void a_claim_that_two_pods_share_is_two_tenants_on_one_slot(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-b", "main", 0);
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-b/main");
	assert_int_equal(status->tenant_count, 2);
	expect_text(status->slots.summary, "1/1");
}

static void who_has_admin_access_watches_and_is_not_counted(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "m"});
	build_world_grant(&world, "uid-m", "main", 0)->is_admin = true;
	build_world_regrant(&world);
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-m", RUNNING, CONFIRMED);
	assert_true(t->system);
	assert_int_equal(t->slots, 0);
	assert_int_equal(status->tenant_count, 0);
	expect_text(status->tenant_summary, "");
	expect_text(status->slots.summary, "0/1");
	/* Who also uses the device is a tenant. */
	build_world_run(&world, (struct build_pod){.name = "m"}, build_world_uuid(&world, 0));
	status = publish();
	t = expect_tenant(status, "uid-m", RUNNING, CONFIRMED);
	assert_false(t->system);
	assert_int_equal(t->slots, 1);
	assert_int_equal(status->tenant_count, 1);
}

static void who_watches_and_then_uses_is_a_user(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "m"});
	for (unsigned i = 0; i < 3; i++) {
		struct grant *grant = build_world_grant(&world, "uid-m", "main", 0);
		grant->device = build_world_text(&world, "pool/%u", i);
		grant->is_admin = i != 1;
	}
	build_world_regrant(&world);
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-m", RUNNING, CONFIRMED);
	assert_false(t->system);
	assert_int_equal(t->slots, 1);
}

static void a_claim_that_is_withdrawn_ends_its_tenant(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0);
	publish();
	world.n_granted = 0;
	build_world_regrant(&world);
	/* As long as claims cannot be read, that it is not there means nothing. */
	world.input.grants_unknown = true;
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Nor does it mean anything that the books, which are complete, never had it. */
	build_world_pod(&world, (struct build_pod){.name = "a", .wants_no_gpu = true});
	assert_int_equal(build_world_count_writes(&world), 0);
	world.input.grants_unknown = false;
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
}

static void a_claim_that_moves_takes_its_tenant_along(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0);
	publish();
	world.granted[0].grant.uuid = build_world_uuid(&world, 1);
	build_world_regrant(&world);
	expect_tenants(publish(), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
}

/* The pod's status names another device, and no book ever spoke since the start. */
static void who_was_published_goes_when_none_but_the_api_ever_named_it(void **state)
{
	(void)state;
	static const struct {
		struct view names[2];
		uint32_t n;
		bool goes;
	} rows[] = {
		{{VIEW_INIT("PodStatus"), VIEW_INIT("Checkpoint")}, 1, true},
		{{VIEW_INIT("PodStatus"), VIEW_INIT("Processes")}, 2, true},
		{{VIEW_INIT("PodStatus"), VIEW_INIT("ResourceClaim")}, 2, true},
		{{VIEW_INIT("PodStatus"), VIEW_INIT("KAI")}, 2, true},
		{{VIEW_INIT("PodStatus"), VIEW_INIT("HAMi")}, 2, false},
		{{VIEW_INIT("PodStatus"), VIEW_INIT("PodResources")}, 2, false},
		{{VIEW_INIT("Checkpoint"), VIEW_INIT("PodStatus")}, 2, false},
		/* Of whom nothing is known. */
		{{VIEW_INIT("Processes")}, 1, false},
		{{VIEW_INIT("Oracle")}, 1, false},
		{{VIEW_INIT("PodStatus")}, 0, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .told = {build_world_uuid(&world, 0)}});
		build_world_without_agent(&world);
		expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
		alter_published()->witnesses =
			(struct array){(void *)(uintptr_t)rows[i].names, rows[i].n, true};
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .told = {build_world_uuid(&world, 1)}});
		expect_tenants(publish(), rows[i].goes ? "" : "uid-a/main");
	}
}

/* The books are silent, and the API server names the holder no more, or for another device. */
static void who_stays_loses_the_witnesses_that_could_be_asked(void **state)
{
	(void)state;
	static const struct {
		struct view before[3];
		int confidence;
		bool is_told, is_unheard;
		const char *after;
		int confidence_after;
	} rows[] = {
		{{VIEW_INIT("Checkpoint"), VIEW_INIT("PodResources"), VIEW_INIT("PodStatus")},
		 CONFIRMED, true, false, "Checkpoint,PodResources", CONFIRMED},
		{{VIEW_INIT("Checkpoint"), VIEW_INIT("PodStatus")},
		 CONFIRMED, false, false, "Checkpoint,PodStatus", CONFIRMED},
		{{VIEW_INIT("Checkpoint"), VIEW_INIT("PodStatus"), VIEW_INIT("ResourceClaim")},
		 CONFIRMED, true, true, "Checkpoint,ResourceClaim", CONFIRMED},
		{{VIEW_INIT("Checkpoint"), VIEW_INIT("ResourceClaim")},
		 CONFIRMED, false, false, "Checkpoint", CONFIRMED},
		{{VIEW_INIT("PodResources"), VIEW_INIT("KAI")},
		 ANNOTATED, false, false, "PodResources", NAME_ONLY},
		{{VIEW_INIT("PodResources"), VIEW_INIT("KAI"), VIEW_INIT("Processes")},
		 ANNOTATED, false, false, "PodResources,Processes", NAME_ONLY},
		{{VIEW_INIT("HAMi"), VIEW_INIT("KAI")}, ANNOTATED, false, false, "HAMi", ANNOTATED},
		{{VIEW_INIT("Oracle"), VIEW_INIT("Checkpoint")},
		 CONFIRMED, false, false, "Oracle,Checkpoint", CONFIRMED},
		{{VIEW_INIT("HAMi"), VIEW_INIT("KAI"), VIEW_INIT("Processes")},
		 CONFIRMED, false, false, "HAMi,Processes", CONFIRMED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		publish_one_tenant();
		build_world_fail_list(&world);
		build_world_fail_book(&world);
		struct attribution_tenant *before = alter_published();
		before->witnesses = (struct array){(void *)(uintptr_t)rows[i].before,
						   rows[i].before[2].len > 0 ? 3 : 2, true};
		before->confidence = rows[i].confidence;
		world.input.grants_unknown = rows[i].is_unheard;
		if (rows[i].is_told)
			build_world_pod(&world,
					(struct build_pod){.name = "a",
							   .told = {build_world_uuid(&world, 1)}});
		expect_texts(expect_tenant(publish(), "uid-a", RUNNING, rows[i].confidence_after)
				     ->witnesses,
			     rows[i].after);
	}
}

static void a_claim_stays_a_witness_while_claims_cannot_be_read(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	build_world_grant(&world, "uid-a", "main", 0)->device = build_world_uuid(&world, 0);
	build_world_regrant(&world);
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources,ResourceClaim");
	world.n_granted = 0;
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources,ResourceClaim");
	world.input.grants_unknown = false;
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources");
}

static void a_stand_in_whose_pod_turns_up_is_still_not_confirmed(void **state)
{
	(void)state;
	const struct view id = VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1");
	build_world_device(&world, 0);
	build_world_offer(&world, id);
	build_world_book(&world, "uid-b", "main", id);
	build_world_list(&world, "b", "main", id);
	expect_tenant(publish(), "uid-b", PENDING, UNCONFIRMED);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_pod(&world, (struct build_pod){.name = "b"});
	expect_tenant(publish(), "uid-b", RUNNING, UNCONFIRMED);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* The status has been cut down to one of its two devices meanwhile. */
static void what_the_books_said_is_not_unsaid_by_a_controller_that_starts(void **state)
{
	(void)state;
	const struct view first = build_world_replica(&world, 0, 0),
			  last = build_world_replica(&world, 0, 1);
	build_world_shared(&world, 0, 2);
	build_world_run(&world, (struct build_pod){.name = "a", .told = {first, last}}, first);
	build_world_book(&world, "uid-a", "main", last);
	build_world_list(&world, "a", "main", last);
	publish();
	build_world_restart(&world);
	build_world_pod(&world, (struct build_pod){.name = "a", .told = {first}});
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources,PodStatus");
}

/* It would end by a List without it, and so it rests on the List. */
static void what_the_checkpoint_said_of_an_unknown_pod_is_not_kept_when_it_turns_up(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	expect_tenant(publish(), "uid-a", PENDING, UNCONFIRMED);
	build_world_fail_book(&world);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY)->witnesses,
		     "PodResources");
}

static void who_is_not_there_by_a_claim_ends_whatever_is_known_of_claims(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0)->minor = -1;
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	expect_tenants(publish(), "uid-a/main");
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	world.input.grants_unknown = true;
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 1));
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
}

static void of_a_tenant_whom_nobody_names_any_more_it_is_no_dispute(void **state)
{
	(void)state;
	for (int has_process = 0; has_process < 2; has_process++) {
		start_anew();
		build_world_exclusive(&world, 0);
		build_world_exclusive(&world, 1);
		build_world_run(&world,
				(struct build_pod){.name = "a",
						   .told = {build_world_uuid(&world, 1)}},
				build_world_uuid(&world, 0));
		if (has_process)
			build_world_process(&world, 0, 1, "uid-a");
		publish();
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_tenant(publish(), "uid-a", RUNNING, ATTRIBUTION_CONFIDENCE_DISPUTED);
		/* The List lacks a pod: nobody ends by not being in it. */
		build_world_pod(&world, (struct build_pod){.name = "b"});
		build_world_book_nothing(&world);
		build_world_list_nothing(&world);
		expect_texts(expect_tenant(publish(), "uid-a", RUNNING, UNCONFIRMED)->witnesses,
			     has_process ? "Processes" : "");
	}
}

/* Its pod is not known, and then its device is not either: that is one slot all the same. */
static void a_stand_in_of_a_pod_that_nobody_knows_is_counted_once(void **state)
{
	(void)state;
	static const struct {
		bool with_known, with_nameless, has_waited;
		const char *reason, *message;
	} rows[] = {
		{false, false, false, "Pending",
		 "1 slot is held by a pod that the API server does not know yet"},
		{false, false, true, "Unresolved",
		 "1 slot is held by a pod that the API server does not know"},
		{true, false, false, "Unresolved",
		 "2 slots are held by pods of which not all could be told"},
		{false, true, false, "Unresolved",
		 "2 slots are held by pods of which not all could be told"},
		{true, false, true, "Unresolved",
		 "2 slots are held by pods of which not all could be told"},
	};
	static const struct view ids[] = {
		VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab-0"),
		VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab-1")};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_device(&world, 0);
		for (size_t k = 0; k < ARRAY_SIZE(ids); k++)
			build_world_offer(&world, ids[k]);
		build_world_book(&world, "uid-b", "main", ids[0]);
		if (rows[i].with_known)
			build_world_run(&world, (struct build_pod){.name = "a"}, ids[1]);
		if (rows[i].with_nameless)
			build_world_list(&world, "x", "main", ids[1]);
		build_world_list(&world, "b", "main", ids[0]);
		publish();
		if (rows[i].has_waited)
			build_world_wait(&world, world.limits.pending_ms);
		const struct attribution_status *status = publish();
		expect_condition(status, "Attributed", CONDITION_FALSE, rows[i].reason);
		expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
			    rows[i].message);
	}
}

/* The one has a device of which it is not known whether it is this one, the other is not known. */
static void a_stand_in_beside_somebody_who_is_not_known_is_not_taken_for_two_of_either(void **state)
{
	(void)state;
	static const struct view ids[] = {
		VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab-0"),
		VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab-1")};
	build_world_device(&world, 0);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		build_world_offer(&world, ids[i]);
	build_world_run(&world, (struct build_pod){.name = "a"}, ids[0]);
	build_world_list(&world, "x", "main", ids[1]);
	const struct attribution_status *status = publish();
	expect_condition(status, "Attributed", CONDITION_FALSE, "Unresolved");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "2 slots are held by pods of which not all could be told");
}

static void a_system_pod_stands_in_for_nobody_who_matters(void **state)
{
	(void)state;
	const struct view id = VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1");
	build_world_govern(&world, "ml");
	build_world_device(&world, 0);
	build_world_offer(&world, id);
	build_world_run(&world, (struct build_pod){.name = "a", .system = true}, id);
	const struct attribution_status *status = publish();
	expect_text(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->stand_in, "HAMi");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

/* Annotations */

#define HAMI_ID(n) "GPU-0000000" #n "-0000-4000-8000-0123456789ab-1"

static void what_the_books_said_of_a_stand_in_stays_while_there_is_no_report(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_offer(&world, VIEW(HAMI_ID(0)));
	build_world_run(&world, (struct build_pod){.name = "a", .told = {VIEW(HAMI_ID(0))}},
			VIEW(HAMI_ID(0)));
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, UNCONFIRMED);
	expect_text(t->stand_in, "HAMi");
	expect_texts(t->witnesses, "Checkpoint,PodResources,PodStatus");
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* It has one device as such, and another by HAMi, whose annotation leads to the same. */
static void run_with_annotation(const char *kai_group)
{
	build_world_exclusive(&world, 0);
	build_world_device(&world, 1);
	build_world_offer(&world, VIEW(HAMI_ID(1)));
	build_world_run(&world,
			(struct build_pod){
				.name = "a",
				.told = {build_world_uuid(&world, 0), VIEW(HAMI_ID(1))},
				.hami = "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,4000,30:;",
				.kai_group = kai_group,
			},
			build_world_uuid(&world, 0));
}

static void what_the_books_said_of_an_annotated_device_stays_while_there_is_no_report(void **state)
{
	(void)state;
	run_with_annotation("");
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources,PodStatus,HAMi");
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_tenant_can_have_every_witness(void **state)
{
	(void)state;
	run_with_annotation("g");
	build_world_pod(&world, (struct build_pod){.name = "r", .reservation = true,
						   .kai_group = "g",
						   .told = {build_world_uuid(&world, 0)}});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-b", "main", 0)->partition = VIEW("m");
	build_world_regrant(&world);
	build_world_process(&world, 0, 1, "uid-a");
	publish();
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources,PodStatus,ResourceClaim,HAMi,KAI,Processes");
}

/* Memory */

static struct devices devices;
static struct facts facts;

static struct debounce *debounce;

/* Neither the checkpoint nor the List, which is not complete, has "a"; "b" is disputed. */
static void read_one_that_stays_and_one_that_is_disputed(void)
{
	struct error err;
	build_world_shared(&world, 0, 2);
	build_world_device(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	build_world_run(&world,
			(struct build_pod){.name = "b", .told = {build_world_uuid(&world, 1)}},
			build_world_replica(&world, 0, 1));
	publish();
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_tenant(publish(), "uid-b", RUNNING, DISPUTED);
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 1));
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	assert_int_equal(debounce_open(&world.input, 2, &world.arena, &debounce, &err), 0);
}

/* So many bytes fit before the arena asks for memory. */
static void leave_room(struct arena *arena, size_t room)
{
	const size_t chunk = 65536;
	arena_init(arena, 16 * chunk);
	assert_non_null(arena_alloc(arena, 1, chunk));
	assert_non_null(arena_alloc(arena, 1, chunk - room));
}

static void a_single_failed_allocation_fails_and_gives_nothing(void **state)
{
	(void)state;
	bool failed = true;
	read_one_that_stays_and_one_that_is_disputed();
	for (size_t room = 0; failed; room += 16) {
		CLEANUP(arena_deinit) struct arena arena;
		const struct tenants_ask ask = {&facts, 0, debounce, &arena};
		struct disagreements found = {.left_out = 4711};
		struct tenants tenants = {.count = 4711};
		struct error err = {0};
		leave_room(&arena, room);
		failing_malloc_at(1);
		int result = tenants_find(&ask, &tenants, &found, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : 0);
		assert_int_equal(tenants.count, failed ? 4711 : 2);
		assert_int_equal(found.left_out, failed ? 4711 : 0);
		assert_int_equal(found.listed.count, failed ? 0 : 1);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		a_uid_of_the_checkpoint_that_the_api_knows_is_a_confirmed_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pod_has_a_workload_when_it_has_an_owner, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_checkpoint_alone_confirms_too, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pod_that_seems_to_want_no_gpu_can_hold_one, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_static_pod_is_found_by_its_hash_and_published_under_the_apis_uid, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_static_pod_keeps_its_since_when_its_mirror_appears, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_static_pod_is_there_once_while_the_books_are_silent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_was_published_without_a_uid_is_nobodys_past, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_was_published_without_a_time_is_there_since_now, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pod_on_another_node_is_refused_and_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_uid_is_pending_and_then_unresolved, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_first_that_becomes_unresolved_is_waited_for, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pending_holder_becomes_a_tenant_when_the_api_knows_its_pod, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_clock_that_is_set_back_starts_the_wait_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_uid_that_no_good_list_knows_of_is_a_left_over, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_holder_goes_when_the_checkpoint_is_rewritten_without_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_holder_stays_while_the_books_are_silent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_holder_whose_pod_is_over_goes, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_good_list_ends_an_unknown_holder_unless_it_may_be_short, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_left_did_so_when_the_api_server_told_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_left_before_the_first_list_did_so_by_then, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		an_unknown_tenant_that_is_on_another_node_stays_no_tenant_without_a_report, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_pod_that_is_gone_ends_and_is_remembered, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_ended_uid_is_known_as_such_without_having_been_published, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_is_over_is_no_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_tenant_whose_pod_is_over_ends, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_phase_follows_the_pod_and_its_container, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_init_container_is_a_tenant_though_no_list_has_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		several_replicas_in_one_container_are_one_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_same_id_named_twice_is_one_slot, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_partition_is_named_by_its_tenant_and_outlives_nvmls_word, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		partitions_of_two_resources_are_one_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		partitions_are_listed_in_order_each_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		partitions_beyond_the_bound_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		of_several_resources_the_first_by_name_is_shown, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_name_alone_gives_name_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_checkpoint_confirmed_it_bears_witness_to_while_it_is_silent, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_a_name_alone_bears_out_is_not_confirmed_by_having_been_so, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_is_kept_by_a_name_alone_is_confirmed_no_more, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		other_devices_than_those_confirmed_are_held_by_name_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		other_partitions_than_those_confirmed_are_held_by_name_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_good_checkpoint_without_it_leaves_name_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_name_that_no_pod_has_holds_a_slot_of_nobody, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_tenant_that_the_checkpoint_has_stays_when_the_list_is_short, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_tenant_stays_when_the_checkpoint_lacks_it_and_the_list_is_not_complete, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_tenant_goes_when_a_complete_list_and_the_checkpoint_lack_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_complete_list_alone_ends_nobody, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_list_that_may_be_short_is_still_a_witness, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		everything_stays_while_both_books_are_silent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_any_book_ever_nothing_is_known_and_none_is_not_said, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_book_that_was_read_says_that_there_is_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_counted_without_an_agent_is_no_count, set_up, tear_down),
	cmocka_unit_test_setup_teardown(system_pods_are_listed_and_not_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_called_like_a_system_pod_elsewhere_is_a_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_summary_counts_pods_and_not_containers, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_summary_shows_a_name_whole_and_a_uid_in_short, set_up, tear_down),
	cmocka_unit_test_setup_teardown(tenants_beyond_the_bound_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		those_that_left_are_bounded_and_newest_first, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		all_who_held_a_card_on_another_node_are_remembered, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		those_that_left_at_once_are_bounded_too, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_pod_of_the_same_name_inherits_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_status_of_the_pod_alone_confirms, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		all_witnesses_of_one_container_are_one_tenants_in_fixed_order, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_status_of_the_pod_leaves_out_the_checkpoint_has, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_only_the_status_of_the_pod_named_goes_when_it_names_another_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_only_the_status_of_the_pod_named_stays_when_it_names_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		each_container_goes_by_what_the_status_says_of_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_the_checkpoint_named_too_stays_whatever_the_status_of_the_pod_says, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_claim_makes_a_confirmed_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_claim_of_a_part_names_the_partition, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_that_two_pods_share_is_two_tenants_on_one_slot, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_has_admin_access_watches_and_is_not_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_watches_and_then_uses_is_a_user, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_that_is_withdrawn_ends_its_tenant, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_that_moves_takes_its_tenant_along, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_was_published_goes_when_none_but_the_api_ever_named_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_stays_loses_the_witnesses_that_could_be_asked, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_stays_a_witness_while_claims_cannot_be_read, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_stand_in_whose_pod_turns_up_is_still_not_confirmed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_books_said_is_not_unsaid_by_a_controller_that_starts, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_checkpoint_said_of_an_unknown_pod_is_not_kept_when_it_turns_up, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		who_is_not_there_by_a_claim_ends_whatever_is_known_of_claims, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		of_a_tenant_whom_nobody_names_any_more_it_is_no_dispute, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_stand_in_of_a_pod_that_nobody_knows_is_counted_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_stand_in_beside_somebody_who_is_not_known_is_not_taken_for_two_of_either, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_system_pod_stands_in_for_nobody_who_matters, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_books_said_of_a_stand_in_stays_while_there_is_no_report, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_books_said_of_an_annotated_device_stays_while_there_is_no_report, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_tenant_can_have_every_witness, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_single_failed_allocation_fails_and_gives_nothing, set_up, tear_down),
};

TEST_MAIN(tests)
