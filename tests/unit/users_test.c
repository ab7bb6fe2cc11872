/* SPDX-License-Identifier: Apache-2.0 */

#define WORLD_PENDING_MS 10000 /* no longer than disagreement_ms */

#include "lib/failing_malloc.h"
#include "lib/world_fixture.h"

#include "base/limits.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

/* The agent sees processes; pod "a" holds device 0. */
static void run_a(void)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
	build_world_see_no_processes(&world);
}

static const struct attribution_user *user_at(const struct attribution_status *status, uint32_t i)
{
	assert_true(i < status->unallocated_users.count);
	return ARRAY_AT(status->unallocated_users, struct attribution_user, i);
}

TEST(a_tenants_processes_and_memory_are_added_up)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	build_world_process(&world, 0, 2, "uid-a")->memory_mib = 23;
	const struct attribution_status *status = publish_later();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->processes, 2);
	assert_int_equal(t->memory_mib, 123);
	expect_texts(t->witnesses, "Checkpoint,PodResources,Processes");
	assert_true(t->witnesses.present);
	expect_users(status, "");
	assert_true(status->unallocated_users.present);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* Containers aaa and zzz of pod "a" hold a replica each; the ID of aaa is "a". */
static void run_two(const char *second_id)
{
	const struct build_pod pod = {.name = "a",
				      .container = "aaa",
				      .second = "zzz",
				      .id = "a",
				      .second_id = second_id};
	build_world_shared(&world, 0, 2);
	build_world_run(&world, pod, build_world_replica(&world, 0, 0));
	build_world_run(&world, pod, build_world_replica(&world, 0, 1));
	world.listed[1].container = VIEW("zzz");
	world.booked[1].container = VIEW("zzz");
}

static void expect_processes(const struct attribution_status *status, int64_t first, int64_t second)
{
	expect_tenants(status, "uid-a/aaa,uid-a/zzz");
	for (uint32_t i = 0; i < 2; i++) {
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, i);
		assert_int_equal(t->processes, i == 0 ? first : second);
		assert_int_equal(t->memory_mib, 100 * (i == 0 ? first : second));
		expect_texts(t->witnesses, t->processes > 0 ? "Checkpoint,PodResources,Processes"
							    : "Checkpoint,PodResources");
	}
	expect_users(status, "");
}

TEST(a_process_is_the_containers_whose_id_the_pods_status_tells)
{
	run_two("z");
	build_world_process(&world, 0, 1, "uid-a")->container_id = VIEW("z");
	expect_processes(publish_later(), 0, 1);
	build_world_process(&world, 0, 2, "uid-a")->container_id = VIEW("a");
	build_world_process(&world, 0, 3, "uid-a")->container_id = VIEW("z");
	expect_processes(publish_later(), 1, 2);
}

TEST(which_of_two_containers_has_a_process_is_not_guessed)
{
	static const char *const ids[] = {"z", "", "old"};
	for (size_t i = 0; i < ARRAY_SIZE(ids) && start_anew(); i++) {
		run_two(i == 1 ? "" : "z");
		build_world_process(&world, 0, 1, "uid-a")->container_id = VIEW("a");
		if (i != 1)
			build_world_process(&world, 0, 2, "uid-a")->container_id = VIEW("z");
		build_world_process(&world, 0, 3, "uid-a")->container_id = view_from(ids[i]);
		if (i == 0)
			expect_processes(publish_later(), 1, 2);
		else
			expect_processes(publish_later(), 0, 0);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

/* Container main of pod "a" holds the device, its container debug does not. */
static void run_debug(void)
{
	build_world_exclusive(&world, 0);
	build_world_run(
		&world,
		(struct build_pod){
			.name = "a", .id = "id-main", .second = "debug", .second_id = "id-debug"},
		build_world_uuid(&world, 0));
	build_world_see_no_processes(&world);
}

TEST(of_a_pod_with_one_tenant_a_process_whose_container_is_not_told_is_its)
{
	static const char *const ids[] = {"id-main", ""};
	run_debug();
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		build_world_process(&world, 0, 1 + (int64_t)i, "uid-a")->container_id = view_from(
			ids[i]);
	const struct attribution_status *status = publish_later();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 2);
	expect_users(status, "");
}

/* Container main of pod "a" holds the device; the pod is so, with a container other by default. */
static const struct attribution_status *run_beside(struct build_pod pod, const char *process_id)
{
	start_anew();
	build_world_exclusive(&world, 0);
	pod.name = "a";
	if (!pod.container)
		pod.container = "other";
	pod.second_id = "id-main";
	build_world_run(&world, pod, build_world_uuid(&world, 0));
	world.listed[0].container = VIEW("main");
	world.booked[0].container = VIEW("main");
	build_world_process(&world, 0, 1, "uid-a")->container_id = view_from(process_id);
	return publish_later();
}

/* The status is told late: a process may be there before the ID of its container is. */
TEST(a_process_whose_container_is_not_told_yet_is_no_witness_for_one_of_several)
{
	static const struct {
		struct build_pod pod;
		const char *process_id;
		bool is_its;
	} cases[] = {
		{{.second = "main", .is_unseen = true}, "id-new", false},
		{{.second = "main", .is_unseen = true}, "id-main", true},
		{{.second = "main", .state = POD_CONTAINER_WAITING}, "id-new", false},
		{{.second = "main", .state = POD_CONTAINER_RUNNING}, "id-new", false},
		{{.second = "main", .state = POD_CONTAINER_RUNNING}, "id-main", true},
		{{.second = "main", .state = POD_CONTAINER_RUNNING}, "", true},
		{{.state = POD_CONTAINER_RUNNING, .has_more = true}, "id-new", false},
		/* There is no other. */
		{{.container = "main", .state = POD_CONTAINER_WAITING}, "id-new", true},
		{{.container = "main", .id = "m"}, "n", true},
		/* Somebody looks into the pod; or did. */
		{{.second = "main", .kind = POD_CONTAINER_EPHEMERAL, .is_unseen = true},
		 "id-new",
		 false},
		{{.second = "main", .has_more_ephemeral = true}, "id-new", false},
		{{.second = "main", .has_more_ephemeral = true}, "id-main", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct attribution_status *status = run_beside(cases[i].pod,
								     cases[i].process_id);
		expect_tenants(status, "uid-a/main");
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, 0);
		assert_int_equal(t->processes, cases[i].is_its);
		expect_texts(t->witnesses, cases[i].is_its ? "Checkpoint,PodResources,Processes"
							   : "Checkpoint,PodResources");
		expect_users(status, "");
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

TEST(a_process_in_a_container_that_holds_nothing_is_a_user)
{
	run_debug();
	build_world_process(&world, 0, 7, "uid-a")->container_id = VIEW("id-debug");
	const struct attribution_status *status = publish_later();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->processes, 0);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	expect_users(status, "uid-a python3[7]");
	expect_text(user_at(status, 0)->pod_name, "a");
	expect_text(user_at(status, 0)->container, "debug");
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Its pod is gone: what was known of it stays. */
	build_world_remove_pod(&world, "uid-a");
	status = publish();
	expect_users(status, "uid-a python3[7]");
	expect_text(user_at(status, 0)->container, "debug");
}

TEST(the_container_of_a_user_is_the_one_that_was_told_last)
{
	static const struct {
		const char *id, *container, *expected;
	} rows[] = {{"", "x", ""}, {"id", "x", "x"}, {"id", "y", "y"}, {"", "y", "y"}};
	run_a();
	build_world_process(&world, 0, 1, "uid-b")->container_id = VIEW("id");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_pod(&world, (struct build_pod){.name = "b",
							   .container = rows[i].container,
							   .id = rows[i].id});
		publish_later();
		const struct attribution_status *status = publish();
		expect_users(status, "uid-b python3[1]");
		expect_text(user_at(status, 0)->container, rows[i].expected);
	}
}

/* Container main of pod "a" holds the device; somebody looks into the pod. */
static const struct build_pod looked_into = {.name = "a",
					     .container = "debugger",
					     .kind = POD_CONTAINER_EPHEMERAL,
					     .id = "id-debugger",
					     .second = "main",
					     .second_id = "id-main"};

TEST(a_process_in_an_ephemeral_container_is_a_user_and_never_the_tenants)
{
	static const enum pod_container_state states[] = {POD_CONTAINER_RUNNING,
							  POD_CONTAINER_TERMINATED};
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct build_pod pod = looked_into;
		pod.state = states[i];
		const struct attribution_status *status = run_beside(pod, "id-main");
		build_world_process(&world, 0, 7, "uid-a")->container_id = VIEW("id-debugger");
		status = publish();
		expect_users(status, "");
		status = publish_later();
		expect_tenants(status, "uid-a/main");
		assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 1);
		expect_users(status, "uid-a python3[7]");
		expect_text(user_at(status, 0)->pod_name, "a");
		expect_text(user_at(status, 0)->container, "debugger");
	}
}

TEST(a_process_in_a_third_container_leaves_the_tenants_numbers_known)
{
	const struct build_pod pod = {
		.name = "a", .container = "zzz", .second = "debug", .second_id = "id-debug"};
	build_world_shared(&world, 0, 2);
	build_world_run(&world, pod, build_world_replica(&world, 0, 0));
	build_world_run(&world, pod, build_world_replica(&world, 0, 1));
	world.listed[1].container = VIEW("aaa");
	world.booked[1].container = VIEW("aaa");
	build_world_process(&world, 0, 1, "uid-a")->container_id = VIEW("id-debug");
	expect_users(publish_later(), "uid-a python3[1]");
	expect_text(user_at(build_world_status(&world, 0), 0)->container, "debug");
}

/* Pods "a" and "b" hold a partition each. */
static void run_on_partitions(void)
{
	build_world_cut(&world, 0, 3);
	build_world_run(&world, POD("a"), build_world_mig(&world, 0, 0));
	build_world_run(&world, POD("b"), build_world_mig(&world, 0, 1));
	build_world_see_no_processes(&world);
}

TEST(a_process_on_a_partition_that_its_pod_does_not_hold_is_a_user)
{
	run_on_partitions();
	build_world_process(&world, 0, 1, "uid-a")->partition = build_world_mig(&world, 0, 1);
	build_world_process(&world, 0, 2, "uid-b")->partition = build_world_mig(&world, 0, 1);
	/* Where it is was not told. */
	build_world_process(&world, 0, 3, "uid-b")->partition = (struct view){0};
	const struct attribution_status *status = publish_later();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->processes, 0);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	assert_int_equal(expect_tenant(status, "uid-b", RUNNING, CONFIRMED)->processes, 2);
	expect_users(status, "uid-a python3[1]");
}

TEST(a_process_is_the_containers_whose_partition_it_is_on)
{
	const struct build_pod pod = {.name = "a", .container = "aaa", .second = "zzz"};
	build_world_cut(&world, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		build_world_run(&world, pod, build_world_mig(&world, 0, i));
	world.listed[2].container = VIEW("zzz");
	world.booked[2].container = VIEW("zzz");
	build_world_process(&world, 0, 1, "uid-a")->partition = build_world_mig(&world, 0, 1);
	build_world_process(&world, 0, 2, "uid-a")->partition = build_world_mig(&world, 0, 2);
	build_world_process(&world, 0, 3, "uid-a")->partition = build_world_mig(&world, 0, 2);
	expect_processes(publish_later(), 1, 2);
}

/* A claim gave it two MIG devices; of one no slice tells the UUID, or of none. */
TEST(whose_partition_is_not_known_may_be_on_any)
{
	enum { N = 2 };
	for (unsigned unknown = 0; unknown <= N; unknown++) {
		start_anew();
		build_world_cut(&world, 0, 3);
		build_world_pod(&world, POD("a"));
		for (unsigned i = 0; i < N; i++) {
			struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
			grant->is_part = true;
			grant->device = build_world_text(&world, "pool/part-%u", i);
			if (i != unknown)
				grant->partition = build_world_mig(&world, 0, i);
		}
		build_world_regrant(&world);
		for (unsigned i = 0; i < 3; i++)
			build_world_process(&world, 0, 1 + i, "uid-a")->partition = build_world_mig(
				&world, 0, i);
		const struct attribution_status *status = publish_later();
		assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes,
				 unknown == N ? 2 : 3);
		expect_users(status, unknown == N ? "uid-a python3[3]" : "");
	}
}

TEST(a_tenant_that_is_only_carried_may_be_on_any_partition)
{
	run_a();
	publish();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_process(&world, 0, 1, "uid-a")->partition = build_world_mig(&world, 0, 1);
	const struct attribution_status *status = publish_later();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 1);
}

TEST(a_static_pods_processes_are_found_by_its_hash)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "static", .hash = "c0ffee"},
			build_world_uuid(&world, 0));
	build_world_process(&world, 0, 1, "c0ffee");
	build_world_pod(&world, (struct build_pod){.name = "other", .hash = "f00d"});
	build_world_process(&world, 0, 2, "f00d");
	const struct attribution_status *status = publish_later();
	assert_int_equal(expect_tenant(status, "uid-static", RUNNING, CONFIRMED)->processes, 1);
	/* And so is the pod of one that holds nothing. */
	expect_users(status, "uid-other python3[2]");
}

TEST(memory_that_moves_is_no_reason_to_write)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	struct report_process *host = build_world_process(&world, 0, 2, "");
	publish_later();
	host->memory_mib = 999;
	(host - 1)->memory_mib = 777;
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(that_a_process_was_seen_stays_true)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	publish_later();
	build_world_see_no_processes(&world);
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->processes, 0);
	assert_int_equal(t->memory_mib, 0);
	expect_texts(t->witnesses, "Checkpoint,PodResources,Processes");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(a_tenant_that_only_its_processes_show_has_no_other_witness)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	publish_later();
	/* A List without a pod that must be in it ends no tenant. */
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
							   ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
	assert_int_equal(t->processes, 1);
	expect_texts(t->witnesses, "Processes");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(the_witness_goes_behind_those_that_were_published)
{
	static struct view published[] = {VIEW_INIT("Checkpoint")};
	run_a();
	publish();
	struct attribution_tenant *before =
		build_world_previous(&world, 0)->object->status.tenants.items;
	before->witnesses = (struct array){published, 1, true};
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_process(&world, 0, 1, "uid-a");
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,Processes");
}

TEST(the_processes_of_tenants_that_stay_are_counted_anew)
{
	build_world_shared(&world, 0, 3);
	for (unsigned i = 0; i < 3; i++) {
		const char *name = build_world_text(&world, "p%u", i).ptr;
		build_world_run(&world, POD(name), build_world_replica(&world, 0, i));
		build_world_process(&world, 0, 1 + i, build_world_text(&world, "uid-p%u", i).ptr);
	}
	build_world_process(&world, 0, 4, "uid-strange");
	publish_later();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_see_no_processes(&world);
	build_world_process(&world, 0, 2, "uid-p1")->memory_mib = 23;
	build_world_process(&world, 0, 4, "uid-strange");
	const struct attribution_status *status = publish();
	expect_users(status, "uid-strange python3[4]");
	expect_tenants(status, "uid-p0/main,uid-p1/main,uid-p2/main");
	for (uint32_t i = 0; i < 3; i++) {
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, i);
		assert_int_equal(t->processes, i == 1);
		assert_int_equal(t->memory_mib, i == 1 ? 23 : 0);
	}
}

TEST(a_process_of_the_host_is_a_user_when_it_has_been_there_for_a_while)
{
	run_a();
	build_world_process(&world, 0, 4711, "");
	build_world_report(&world);
	const struct attribution_status *status = publish();
	expect_users(status, "");
	assert_int_equal(status->unallocated_users_left_out, 0);
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	build_world_report(&world); /* other news does not put it off */
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	status = publish();
	expect_users(status, " python3[4711]");
	assert_int_equal(user_at(status, 0)->memory_mib, 100);
	assert_true(user_at(status, 0)->start_time == world.input.now_wall_ms);
	/* It is not the tenant's, and nobody's trouble but the device's. */
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 0);
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(a_user_keeps_its_since_in_later_reports)
{
	run_a();
	build_world_process(&world, 0, 1, "");
	int64_t since = user_at(publish_later(), 0)->start_time;
	build_world_wait(&world, 1000);
	build_world_process(&world, 0, 2, "");
	build_world_report(&world);
	const struct attribution_status *status = publish();
	expect_users(status, " python3[1]");
	assert_true(user_at(status, 0)->start_time == since);
	expect_users(publish_later(), " python3[1], python3[2]");
}

TEST(each_user_waits_for_itself)
{
	run_a();
	build_world_device(&world, 1);
	build_world_process(&world, 0, 1, "uid-b");
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	build_world_process(&world, 0, 1, "uid-c")->partition = build_world_mig(&world, 0, 0);
	build_world_process(&world, 0, 2, "uid-b");
	build_world_process(&world, 1, 1, "uid-b");
	build_world_wait(&world, 1);
	expect_users(publish(), "uid-b python3[1]");
	expect_users(build_world_status(&world, 1), "");
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	expect_users(publish(), "uid-b python3[1],uid-b python3[2],uid-c python3[1]");
	expect_users(build_world_status(&world, 1), "uid-b python3[1]");
}

TEST(that_a_container_was_seen_says_nothing_of_a_process)
{
	build_world_shared(&world, 0, 2);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .container = "x[1]",
						   .told = {build_world_replica(&world, 0, 1)}});
	build_world_book(&world, "uid-a", "x[1]", build_world_replica(&world, 0, 0));
	publish();
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	build_world_remove_pod(&world, "uid-a");
	build_world_process(&world, 0, 1, "uid-a")->command = VIEW("x");
	expect_users(publish(), "");
	assert_int_equal(world.result.again_in_ms, world.limits.user_grace_ms);
}

TEST(a_number_that_another_pods_process_has_now_makes_a_new_user)
{
	run_a();
	struct report_process *process = build_world_process(&world, 0, 1, "uid-b");
	expect_users(publish_later(), "uid-b python3[1]");
	process->pod_uid = VIEW("uid-c");
	expect_users(publish(), "");
	const struct attribution_status *status = publish_later();
	expect_users(status, "uid-c python3[1]");
	assert_true(user_at(status, 0)->start_time == world.input.now_wall_ms);
}

TEST(a_pod_that_holds_no_slot_is_a_user_by_name)
{
	run_a();
	build_world_pod(&world, (struct build_pod){.name = "b", .wants_no_gpu = true});
	build_world_process(&world, 0, 1, "uid-b");
	build_world_process(&world, 0, 2, "uid-strange");
	const struct attribution_status *status = publish_later();
	expect_users(status, "uid-b python3[1],uid-strange python3[2]");
	expect_text(user_at(status, 0)->pod_namespace, "ml");
	expect_text(user_at(status, 0)->pod_name, "b");
	assert_int_equal(user_at(status, 1)->pod_name.len, 0);
	/* Its pod is gone: what was known of it stays. */
	build_world_remove_pod(&world, "uid-b");
	status = publish();
	expect_users(status, "uid-b python3[1],uid-strange python3[2]");
	expect_text(user_at(status, 0)->pod_name, "b");
	/* The other's comes to be known. */
	build_world_pod(&world, (struct build_pod){.name = "strange", .wants_no_gpu = true});
	expect_text(user_at(publish(), 1)->pod_name, "strange");
}

TEST(of_a_pod_there_may_be_no_more_than_its_uid_and_the_process)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a")->command = (struct view){0};
	build_world_process(&world, 0, 2, "b")->command = (struct view){0};
	build_world_pod(&world, (struct build_pod){.name = "b", .uid = "b", .wants_no_gpu = true});
	const struct attribution_status *status = publish_later();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 1);
	expect_users(status, "b [2]");
	expect_text(user_at(status, 0)->pod_name, "b");
}

TEST(a_process_that_outlives_its_pod_is_a_user_after_the_grace)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	publish_later();
	build_world_remove_pod(&world, "uid-a");
	build_world_report(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_users(status, "");
	assert_int_equal(world.result.again_in_ms, world.limits.user_grace_ms);
	/* The agent goes on listing it. */
	build_world_wait(&world, world.limits.user_grace_ms - 1);
	world.input.report_age_ms = 0;
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	world.input.report_age_ms = 0;
	expect_users(publish(), "uid-a python3[1]");
}

TEST(the_grace_may_be_shorter_than_the_time_of_a_disagreement)
{
	world.limits.user_grace_ms = world.limits.disagreement_ms / 2;
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	publish_later();
	build_world_remove_pod(&world, "uid-a");
	build_world_report(&world);
	expect_users(publish(), "");
	assert_int_equal(world.result.again_in_ms, world.limits.user_grace_ms);
}

TEST(a_process_that_was_last_listed_within_the_grace_is_no_user)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	publish_later();
	build_world_remove_pod(&world, "uid-a");
	publish();
	/* No report since then. */
	build_world_wait(&world, world.limits.user_grace_ms + 1000);
	expect_users(publish(), "");
}

/* Where MPS is in use, its server has that name, and works for all. Pod "a" may be a tenant. */
TEST(the_server_of_mps_is_nobodys_and_what_is_only_called_so_is_a_user)
{
	enum { COMPUTE = REPORT_PROCESS_COMPUTE, MPS = REPORT_PROCESS_MPS };
	static const struct {
		unsigned replicas; /* 0: exclusive */
		bool is_process_exclusive, is_client_there;
		const char *uid, *command;
		int kind;
		const char *users;
		int64_t processes; /* of the tenant */
	} rows[] = {
		/* The compute mode alone shows nothing; with replicas it shows the mode. */
		{0, true, false, "", "nvidia-cuda-mps", COMPUTE, " nvidia-cuda-mps[1]", 0},
		{2, false, false, "", "nvidia-cuda-mps", COMPUTE, " nvidia-cuda-mps[1]", 0},
		{2, true, false, "uid-daemon", "nvidia-cuda-mps", COMPUTE, "", 0},
		{2, true, false, "", "nvidia-cuda-mps-server", COMPUTE, "", 0},
		{2, true, false, "", "nvidia-cuda-mps-server", MPS, " nvidia-cuda-mps-server[1]", 0},
		{2, true, false, "", "nvidia-cuda-dbg", COMPUTE, " nvidia-cuda-dbg[1]", 0},
		/* So does a client, whichever is listed first. */
		{2, false, true, "uid-b", "nvidia-cuda-mps", COMPUTE, "", 1},
		{2, false, true, "uid-b", "nvidia-cuda-dbg", COMPUTE, "uid-b nvidia-cuda-dbg[1]", 1},
		/* A tenant's process is its own, whatever it is called. */
		{0, false, false, "uid-a", "nvidia-cuda-mps", COMPUTE, "", 1},
		{2, true, true, "uid-a", "nvidia-cuda-mps", MPS, "", 2},
	};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows) && start_anew(); i++) {
		size_t row = i / 2;
		struct report_device *device =
			rows[row].replicas ? build_world_shared(&world, 0, rows[row].replicas)
					   : build_world_exclusive(&world, 0);
		if (rows[row].is_process_exclusive)
			device->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
		if (rows[row].is_client_there)
			build_world_run(&world, POD("a"), build_world_replica(&world, 0, 0));
		else if (rows[row].replicas == 0)
			build_world_run(&world, POD("a"), build_world_uuid(&world, 0));
		if (rows[row].is_client_there && i % 2)
			build_world_process(&world, 0, 2, "uid-a")->kind = MPS;
		struct report_process *process = build_world_process(&world, 0, 1, rows[row].uid);
		process->command = view_from(rows[row].command);
		process->kind = rows[row].kind;
		if (rows[row].is_client_there && i % 2 == 0)
			build_world_process(&world, 0, 2, "uid-a")->kind = MPS;
		const struct attribution_status *status = publish_later();
		expect_users(status, rows[row].users);
		if (rows[row].processes > 0)
			assert_int_equal(
				expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes,
				rows[row].processes);
	}
}

TEST(a_user_whose_pod_is_gone_has_the_name_that_it_had_as_a_tenant)
{
	run_a();
	publish_later();
	build_world_remove_pod(&world, "uid-a");
	publish();
	/* Of those that left it is not the last. */
	build_world_run(&world, POD("b"), build_world_uuid(&world, 0));
	publish();
	build_world_remove_pod(&world, "uid-b");
	expect_recent(publish(), "uid-b,uid-a");
	build_world_process(&world, 0, 1, "uid-a");
	build_world_process(&world, 0, 2, "");
	build_world_process(&world, 0, 3, "uid-strange");
	build_world_wait(&world, world.limits.user_grace_ms);
	world.input.report_age_ms = 0;
	for (int i = 0; i < 2; i++) {
		const struct attribution_status *status = publish();
		expect_users(status, " python3[2],uid-a python3[1],uid-strange python3[3]");
		assert_int_equal(user_at(status, 0)->pod_name.len, 0);
		expect_text(user_at(status, 1)->pod_namespace, "ml");
		expect_text(user_at(status, 1)->pod_name, "a");
		assert_int_equal(user_at(status, 2)->pod_name.len, 0);
		assert_int_equal(build_world_count_writes(&world), 0);
	}
}

/* Pods "a", then "b" were tenants of device 0; of "c" only the checkpoint knows still. */
static void let_all_leave(bool is_booked)
{
	start_anew();
	run_a();
	publish_later();
	build_world_remove_pod(&world, "uid-a");
	publish();
	build_world_run(&world, POD("b"), build_world_uuid(&world, 0));
	publish();
	build_world_remove_pod(&world, "uid-b");
	if (!is_booked) {
		build_world_book_nothing(&world);
		build_world_list_nothing(&world);
	}
	build_world_end(&world, "uid-c");
	build_world_book(&world, "uid-c", "main", VIEW("GPU-ffffffff-0000-4000-8000-000000000000"));
	publish();
	for (int pid = 0; pid < 3; pid++)
		build_world_process(&world, 0, 1 + pid,
				    build_world_text(&world, "uid-%c", 'a' + pid).ptr);
	build_world_process(&world, 0, 4, "uid-strange");
}

TEST(each_process_of_a_pod_that_left_has_the_grace)
{
	for (int is_booked = 0; is_booked < 2; is_booked++) {
		let_all_leave(is_booked);
		build_world_wait(&world, world.limits.disagreement_ms);
		world.input.report_age_ms = 0;
		expect_users(publish(), "uid-strange python3[4]");
	}
}

TEST(of_a_pod_that_left_it_is_known_that_it_holds_nothing)
{
	for (int is_booked = 0; is_booked < 2; is_booked++) {
		let_all_leave(is_booked);
		build_world_pod(&world,
				(struct build_pod){.name = "over", .phase = POD_PHASE_SUCCEEDED});
		build_world_process(&world, 0, 5, "uid-over");
		world.input.grants_unknown = true;
		build_world_wait(&world, world.limits.user_grace_ms);
		world.input.report_age_ms = 0;
		expect_users(publish(), "uid-a python3[1],uid-b python3[2],uid-c python3[3],"
					"uid-over python3[5]");
	}
}

TEST(who_the_api_places_on_another_node_gives_a_process_no_name)
{
	static const struct {
		const char *away[2];
		const char *users;
	} rows[] = {
		{{NULL, NULL}, "uid-x python3[1],uid-y python3[2]"},
		{{"uid-x", NULL}, " python3[1],uid-y python3[2]"},
		{{"uid-y", NULL}, " python3[2],uid-x python3[1]"},
		{{"uid-y", "uid-x"}, " python3[1], python3[2]"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows) && start_anew(); i++) {
		run_a();
		build_world_process(&world, 0, 1, "uid-x");
		build_world_process(&world, 0, 2, "uid-y");
		for (unsigned k = 0; k < 2 && rows[i].away[k]; k++)
			build_world_move_away(&world, rows[i].away[k]);
		publish_later();
		expect_users(publish_later(), rows[i].users);
	}
}

TEST(a_process_that_is_listed_twice_is_one)
{
	run_a();
	for (int i = 0; i < 2; i++) {
		const int kind = i ? REPORT_PROCESS_GRAPHICS : REPORT_PROCESS_COMPUTE;
		build_world_process(&world, 0, 1, "uid-a")->kind = kind;
		build_world_process(&world, 0, 2, "")->kind = kind;
		build_world_process(&world, 0, 3, "uid-a")->kind = kind;
	}
	/* On two partitions it has memory of both. */
	build_world_process(&world, 0, 1, "uid-a")->partition = build_world_mig(&world, 0, 1);
	build_world_process(&world, 0, 2, "")->partition = build_world_mig(&world, 0, 1);
	const struct attribution_status *status = publish_later();
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->processes, 3);
	assert_int_equal(t->memory_mib, 300);
	expect_users(status, " python3[2]");
}

TEST(while_processes_cannot_be_told_all_stays_as_it_was)
{
	static const struct {
		int processes, nvml;
		bool is_present;
	} rows[] = {
		{REPORT_SOURCE_ERROR, REPORT_SOURCE_OK, true},
		{REPORT_SOURCE_UNKNOWN, REPORT_SOURCE_OK, true},
		{REPORT_SOURCE_OK, REPORT_SOURCE_ERROR, true},
		{REPORT_SOURCE_OK, REPORT_SOURCE_OK, false},
	};
	build_world_shared(&world, 0, 4);
	build_world_run(&world, POD("a"), build_world_replica(&world, 0, 0));
	build_world_run(&world, POD("b"), build_world_replica(&world, 0, 1));
	build_world_process(&world, 0, 1, "uid-a");
	build_world_process(&world, 0, 2, "");
	build_world_process(&world, 0, 3, "uid-b")->memory_mib = 23;
	publish_later();
	build_world_see_no_processes(&world);
	/* Of who is new nothing is told yet. */
	build_world_run(&world, POD("c"), build_world_replica(&world, 0, 2));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.report.sources.processes.state = rows[i].processes;
		world.report.sources.nvml.state = rows[i].nvml;
		world.devices[0].processes.present = rows[i].is_present;
		const struct attribution_status *status = publish();
		assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 1);
		assert_int_equal(expect_tenant(status, "uid-b", RUNNING, CONFIRMED)->processes, 1);
		assert_int_equal(expect_tenant(status, "uid-b", RUNNING, CONFIRMED)->memory_mib,
				 23);
		assert_int_equal(expect_tenant(status, "uid-c", RUNNING, CONFIRMED)->processes, 0);
		assert_int_equal(expect_tenant(status, "uid-c", RUNNING, CONFIRMED)->memory_mib, 0);
		expect_users(status, " python3[2]");
	}
	build_world_restart(&world);
	expect_users(publish(), " python3[2]");
}

TEST(those_beyond_the_bound_are_counted_and_stay_so)
{
	run_a();
	for (unsigned i = 0; i < LIMIT_UNALLOCATED_USERS; i++)
		build_world_process(&world, 0, 100 + i, "");
	const struct attribution_status *status = publish_later();
	assert_int_equal(status->unallocated_users.count, LIMIT_UNALLOCATED_USERS);
	assert_int_equal(status->unallocated_users_left_out, 0);
	for (unsigned i = 0; i < 3; i++)
		build_world_process(&world, 0, 100 + LIMIT_UNALLOCATED_USERS + i, "");
	status = publish_later();
	assert_int_equal(status->unallocated_users.count, LIMIT_UNALLOCATED_USERS);
	assert_int_equal(status->unallocated_users_left_out, 3);
	assert_int_equal(user_at(status, 63)->pid, 163);
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.sources.processes.state = REPORT_SOURCE_ERROR;
	status = publish();
	assert_int_equal(status->unallocated_users.count, LIMIT_UNALLOCATED_USERS);
	assert_int_equal(status->unallocated_users_left_out, 3);
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(who_is_beyond_the_bound_of_the_tenants_is_no_user)
{
	build_world_device(&world, 0);
	build_world_shared(&world, 1, LIMIT_TENANTS + 2);
	for (unsigned i = 0; i < LIMIT_TENANTS + 2; i++) {
		const struct build_pod pod = {.name = build_world_text(&world, "p%03u", i).ptr,
					      .hash = i == LIMIT_TENANTS ? "f00d" : NULL,
					      .id = i > LIMIT_TENANTS ? "id-main" : NULL,
					      .second = i > LIMIT_TENANTS ? "debug" : NULL,
					      .second_id = i > LIMIT_TENANTS ? "id-debug" : NULL};
		build_world_run(&world, pod, build_world_replica(&world, 1, i));
	}
	build_world_process(&world, 1, 1, "f00d");
	build_world_process(&world, 1, 2, "uid-p257");
	build_world_process(&world, 1, 3, "uid-strange");
	build_world_process(&world, 1, 4, "");
	build_world_process(&world, 1, 5, "uid-p257")->container_id = VIEW("id-main");
	build_world_process(&world, 1, 6, "uid-p257")->container_id = VIEW("id-debug");
	publish_later();
	const struct attribution_status *status = build_world_status(&world, 1);
	assert_int_equal(status->tenants_left_out, 2);
	expect_users(status, " python3[4]");
	/* Who that was nobody tells while the books are silent. */
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	publish_later();
	expect_users(build_world_status(&world, 1), " python3[4]");
}

TEST(an_ephemeral_container_is_a_user_whoever_is_beyond_the_bound_of_the_tenants)
{
	build_world_device(&world, 0);
	build_world_shared(&world, 1, LIMIT_TENANTS + 2);
	for (unsigned i = 0; i < LIMIT_TENANTS + 2; i++)
		build_world_run(&world, POD(build_world_text(&world, "p%03u", i).ptr),
				build_world_replica(&world, 1, i));
	build_world_pod(&world, looked_into);
	build_world_process(&world, 1, 1, "uid-a")->container_id = VIEW("id-main");
	build_world_process(&world, 1, 2, "uid-a")->container_id = VIEW("id-debugger");
	publish_later();
	/* Who holds what nobody tells any more: main may be one of those beyond. */
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	publish_later();
	assert_int_equal(build_world_status(&world, 1)->tenants_left_out, 2);
	expect_users(build_world_status(&world, 1), "uid-a python3[2]");
}

TEST(the_number_left_out_stays_whatever_is_new)
{
	run_a();
	for (unsigned i = 0; i < LIMIT_UNALLOCATED_USERS + 6; i++)
		build_world_process(&world, 0, 100 + i, "");
	assert_int_equal(publish_later()->unallocated_users_left_out, 6);
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Nor does a restart make one that was left out new. */
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, world.limits.disagreement_ms);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Who was listed ends: one that was left out takes the place at once. */
	build_world_report(&world);
	((struct report_process *)world.devices[0].processes.items)[0] =
		((struct report_process *)world.devices[0].processes.items)[1];
	const struct attribution_status *status = publish();
	assert_int_equal(status->unallocated_users.count, LIMIT_UNALLOCATED_USERS);
	assert_int_equal(status->unallocated_users_left_out, 5);
}

/* More of them on device 0, and what the source says of that. */
static void hide_processes(unsigned n, const char *message)
{
	for (unsigned i = 0; i < n; i++)
		build_world_process(&world, 0, 100 + world.devices[0].processes.count, "")
			->command = (struct view){0};
	world.report.sources.processes.message = view_from(message);
}

TEST(processes_that_the_agent_could_not_look_at_are_counted)
{
	run_a();
	hide_processes(2, "only 4096 processes are looked up");
	assert_int_equal(publish()->unknown_processes, 0);
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	const struct attribution_status *status = publish_later();
	assert_int_equal(status->unknown_processes, 2);
	expect_users(status, "");
	assert_int_equal(status->unallocated_users_left_out, 0);
	/* Another number alone is no reason to write. */
	hide_processes(1, "only 4096 processes are looked up");
	assert_int_equal(build_world_count_writes(&world), 0);
	world.report.sources.processes.state = REPORT_SOURCE_ERROR;
	assert_int_equal(publish()->unknown_processes, 2);
	world.report.sources.processes.state = REPORT_SOURCE_OK;
	assert_int_equal(publish()->unknown_processes, 3);
	build_world_see_no_processes(&world);
	assert_int_equal(publish()->unknown_processes, 0);
}

/* It has only ended, or is too new; before it could be told it was none either. */
TEST(who_takes_the_sight_of_processes_away_wants_no_users)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	world.report.sources.processes.state = REPORT_SOURCE_ERROR;
	expect_users(publish_later(), "");
	world.report.sources.processes.state = REPORT_SOURCE_OK;
	hide_processes(1, "");
	assert_int_equal(publish_later()->unknown_processes, 0);
	assert_int_equal(world.result.recall.n_debounced, 0);
	hide_processes(0, "some processes cannot be looked at");
	build_world_process(&world, 0, 9, "uid-z");
	build_world_process(&world, 0, 7, "")->container_id = VIEW("id-main");
	build_world_process(&world, 0, 8, "uid-z");
	const struct attribution_status *status = publish_later();
	expect_users(status, " python3[7],uid-z python3[8],uid-z python3[9]");
	assert_int_equal(user_at(status, 0)->container.len, 0);
	assert_int_equal(status->unknown_processes, 1);
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 1);
	world.report.sources.processes.state = REPORT_SOURCE_ABSENT;
	status = publish();
	expect_users(status, "");
	assert_int_equal(status->unknown_processes, 0);
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 0);
}

TEST(the_unknown_processes_of_each_device_wait_for_themselves)
{
	run_a();
	build_world_device(&world, 1);
	build_world_see_no_processes(&world);
	hide_processes(0, "some processes cannot be looked at");
	publish();
	assert_int_equal(world.result.recall.n_debounced, 0);
	hide_processes(1, "some processes cannot be looked at");
	publish_later();
	build_world_process(&world, 1, 1, "")->command = (struct view){0};
	assert_int_equal(publish()->unknown_processes, 1);
	assert_int_equal(build_world_status(&world, 1)->unknown_processes, 0);
	publish_later();
	assert_int_equal(build_world_status(&world, 1)->unknown_processes, 1);
	/* Nor does a restart make them new. */
	build_world_restart(&world);
	build_world_join(&world);
	build_world_report(&world);
	assert_int_equal(publish()->unknown_processes, 1);
}

/* More processes of the host than can wait. */
static void flood(unsigned n)
{
	const unsigned many = DEBOUNCE_MAX + LIMIT_UNALLOCATED_USERS + 1;
	struct report_process *processes = arena_alloc(&world.arena, many, sizeof(*processes));
	assert_non_null(processes);
	for (unsigned i = 0; i < many; i++)
		processes[i] = (struct report_process){
			.pid = 1000 + i, .kind = REPORT_PROCESS_COMPUTE, .command = VIEW("mpi")};
	world.devices[n].processes = (struct array){processes, many, true};
}

/* The checkpoint was read before the pod was admitted, and the List after that. */
TEST(however_many_users_there_are_a_new_pods_witnesses_are_not_believed_to_differ)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_see_no_processes(&world);
	flood(0);
	publish();
	publish_later();
	build_world_pod(
		&world,
		(struct build_pod){.name = "b", .id = "x", .started_at = BUILD_WORLD_NOW - 5000});
	build_world_list(&world, "b", "main", build_world_uuid(&world, 1));
	publish();
	assert_int_equal(build_world_status(&world, 1)->source_disagreements.count, 0);
	expect_tenant(build_world_status(&world, 1), "uid-b", RUNNING,
		      ATTRIBUTION_CONFIDENCE_NAME_ONLY);
	assert_true(world.result.refused.debounced > 0);
	/* It is not that nothing would be found: in time it is, where there is room. */
	build_world_see_no_processes(&world);
	publish();
	build_world_wait(&world, world.limits.disagreement_ms);
	build_world_report(&world);
	publish();
	expect_tenant(build_world_status(&world, 1), "uid-b", RUNNING,
		      ATTRIBUTION_CONFIDENCE_DISPUTED);
}

TEST(who_finds_no_room_is_counted_only_when_it_was_seen_for_its_time)
{
	run_a();
	flood(0);
	const struct attribution_status *status = publish();
	expect_users(status, "");
	assert_int_equal(status->unallocated_users_left_out, 0);
	status = publish_later();
	assert_int_equal(status->unallocated_users.count, LIMIT_UNALLOCATED_USERS);
	assert_int_equal(status->unallocated_users_left_out,
			 DEBOUNCE_MAX - LIMIT_UNALLOCATED_USERS);
	/* Who is listed leaves room to as many, at once. */
	(void)build_world_count_writes(&world);
	assert_int_equal(world.result.again_in_ms, 0);
	(void)build_world_count_writes(&world);
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	status = publish_later();
	assert_int_equal(status->unallocated_users.count, LIMIT_UNALLOCATED_USERS);
	assert_int_equal(status->unallocated_users_left_out, DEBOUNCE_MAX);
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(a_process_of_a_pod_on_another_node_is_refused_and_nobodys)
{
	run_a();
	build_world_move_away(&world, "uid-victim");
	build_world_move_away(&world, "uid-bystander");
	build_world_process(&world, 0, 1, "uid-victim")->container_id = VIEW("id-main");
	build_world_process(&world, 0, 2, "uid-victim")->command = (struct view){0};
	build_world_process(&world, 0, 3, "uid-a");
	build_world_process(&world, 0, 4, "uid-c");
	build_world_process(&world, 0, 1, "uid-victim");
	world.report.sources.processes.message = VIEW("some processes cannot be looked at");
	publish();
	assert_int_equal(world.result.refused.entries, 2);
	const struct attribution_status *status = publish_later();
	assert_int_equal(world.result.refused.entries, 2);
	expect_users(status, " python3[1],uid-c python3[4]");
	assert_int_equal(user_at(status, 0)->container.len, 0);
	assert_int_equal(status->unknown_processes, 1);
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->processes, 1);
	build_world_see_no_processes(&world);
	publish();
	assert_int_equal(world.result.refused.entries, 0);
}

TEST(of_a_pod_that_is_here_no_process_is_refused)
{
	run_a();
	build_world_pod(&world, POD("b"));
	build_world_move_away(&world, "uid-b");
	build_world_process(&world, 0, 1, "uid-b");
	publish();
	expect_users(publish_later(), "uid-b python3[1]");
	assert_int_equal(world.result.refused.entries, 0);
}

#define CHUNK 65536u /* of an arena, once it has grown */

/* The rest of a full chunk has so much room. */
static void leave_room(struct arena *arena, size_t room)
{
	arena_init(arena, 16 * CHUNK);
	assert_non_null(arena_alloc(arena, 1, CHUNK));
	assert_non_null(arena_alloc(arena, 1, CHUNK - room));
}

/* Each allocation of the join fails once: the room before it is used up, or it asks for a chunk. */
static void expect_all_or_no_memory(void)
{
	for (size_t room = 0; room < CHUNK; room += 8) {
		CLEANUP(arena_deinit) struct arena arena;
		struct join_result result;
		struct error err;
		leave_room(&arena, room);
		failing_malloc_at(1);
		int status = join_node(&world.input, &arena, &result, &err);
		const bool failed = failing_malloc_off();
		if (status != (failed ? -1 : 0))
			fail_msg("room %zu: status %d, failed %d", room, status, failed);
		if (failed)
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

TEST(no_process_is_left_out_for_want_of_memory)
{
	run_a();
	build_world_process(&world, 0, 1, "uid-a");
	for (unsigned i = 2; i < 5; i++)
		build_world_process(&world, 0, i, "");
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_all_or_no_memory();
	publish();
	assert_int_equal(publish_later()->unallocated_users.count, 3);
	world.report.sources.processes.state = REPORT_SOURCE_ERROR;
	expect_all_or_no_memory();
}

/* It may hold the device by what is in no book that could be matched with it: by KAI, or a claim. */
TEST(whom_the_api_server_does_not_know_is_waited_for_as_a_tenant_is)
{
	world.limits.pending_ms = world.limits.disagreement_ms + 1000;
	run_a();
	build_world_process(&world, 0, 1, "uid-b");
	build_world_process(&world, 0, 2, "");
	build_world_pod(&world, POD("c"));
	build_world_process(&world, 0, 3, "uid-c");
	publish();
	build_world_wait(&world, world.limits.pending_ms - 1);
	expect_users(publish(), " python3[2],uid-c python3[3]");
	build_world_wait(&world, 1);
	expect_users(publish(), " python3[2],uid-b python3[1],uid-c python3[3]");
}

TEST(nobody_is_a_user_before_the_time_of_a_disagreement)
{
	world.limits.pending_ms = world.limits.disagreement_ms - 1000;
	run_a();
	build_world_process(&world, 0, 1, "uid-b");
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	expect_users(publish(), "");
	build_world_wait(&world, 1);
	expect_users(publish(), "uid-b python3[1]");
}

/* The API server tells of a pod and of its claims one after the other. */
TEST(who_was_a_user_before_it_was_known_may_be_a_tenant_once_it_is)
{
	for (int has_claim = 0; has_claim < 2; has_claim++) {
		start_anew();
		run_a();
		build_world_process(&world, 0, 1, "uid-b");
		publish();
		expect_users(publish_later(), "uid-b python3[1]");
		build_world_pod(&world,
				(struct build_pod){.name = "b", .claim = has_claim ? "c" : NULL});
		expect_users(publish(), has_claim ? "" : "uid-b python3[1]");
	}
}

TEST(a_process_of_a_pod_that_is_over_has_the_grace)
{
	run_a();
	build_world_pod(&world, (struct build_pod){.name = "b", .phase = POD_PHASE_FAILED});
	build_world_process(&world, 0, 1, "uid-b");
	publish();
	expect_users(publish_later(), "");
	build_world_wait(&world, world.limits.user_grace_ms);
	build_world_report(&world);
	expect_users(publish(), "uid-b python3[1]");
}

TEST(where_claims_are_used_a_pod_that_is_not_told_of_is_waited_for)
{
	world.limits.pending_ms = 60000;
	run_a();
	build_world_slice(&world, 0);
	build_world_process(&world, 0, 1, "uid-strange");
	publish();
	expect_users(publish_later(), "");
	build_world_wait(&world, world.limits.pending_ms);
	expect_users(publish(), "uid-strange python3[1]");
}

TEST(of_a_pod_that_the_api_does_not_know_no_container_is_borne_out)
{
	build_world_exclusive(&world, 0);
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	build_world_process(&world, 0, 1, "uid-b");
	const struct attribution_status *status = publish_later();
	const struct attribution_tenant *t = expect_tenant(
		status, "uid-b", ATTRIBUTION_PHASE_PENDING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
	expect_texts(t->witnesses, "Checkpoint");
	assert_int_equal(t->processes, 1);
	expect_users(status, "");
	build_world_wait(&world, world.limits.pending_ms);
	status = publish();
	expect_texts(expect_tenant(status, "uid-b", ATTRIBUTION_PHASE_UNRESOLVED,
				   ATTRIBUTION_CONFIDENCE_UNCONFIRMED)
			     ->witnesses,
		     "Checkpoint");
	build_world_pod(&world, POD("b"));
	status = publish();
	expect_texts(expect_tenant(status, "uid-b", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources,Processes");
}

TESTS(set_up, tear_down)
