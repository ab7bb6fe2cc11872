/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/twins.h"
#include "lib/world_fixture.h"
#include "join/node_pods.h"

static struct node_pods take(void)
{
	struct node_pods node_pods;
	struct error err;
	assert_int_equal(node_pods_take(&world.input, &world.arena, &node_pods, &err), 0);
	return node_pods;
}

TEST(pods_are_found_by_uid_hash_and_name)
{
	const struct pod *a = world_pod("a");
	const struct pod *b = build_world_pod(
		&world, (struct build_pod){.name = "b", .hash = "c0ffee", .wants_no_gpu = true});
	const struct pod *c =
		build_world_pod(&world, (struct build_pod){.name = "a", .uid = "uid-c",
							   .hash = "7", .namespace = "other"});
	struct node_pods node_pods = take();
	assert_int_equal(node_pods.n_gpu_pods, 2);
	assert_ptr_equal(node_pods_find_uid(&node_pods, VIEW("uid-a")), a);
	assert_ptr_equal(node_pods_find_uid(&node_pods, VIEW("uid-b")), b);
	assert_ptr_equal(node_pods_find_uid(&node_pods, VIEW("c0ffee")), b);
	assert_ptr_equal(node_pods_find_uid(&node_pods, VIEW("7")), c);
	assert_null(node_pods_find_uid(&node_pods, VIEW("uid")));
	assert_null(node_pods_find_uid(&node_pods, VIEW("")));
	assert_ptr_equal(node_pods_find_name(&node_pods, VIEW("ml"), VIEW("a")), a);
	assert_ptr_equal(node_pods_find_name(&node_pods, VIEW("ml"), VIEW("b")), b);
	assert_ptr_equal(node_pods_find_name(&node_pods, VIEW("other"), VIEW("a")), c);
	assert_null(node_pods_find_name(&node_pods, VIEW("other"), VIEW("b")));
}

TEST(a_list_was_read_since_a_start_by_the_nodes_clock_and_by_the_order_of_what_was_told)
{
	static const struct {
		int64_t started_before_ms;
		unsigned told_later[2];
		size_t n_told_later;
		bool is_since;
	} rows[] = {
		{1000, {0}, 0, true},	  {999, {0}, 0, false},	    {1000, {1, 2}, 2, true},
		{1000, {0, 1}, 2, false}, {1000, {1, 0}, 2, false}, {999, {1, 2}, 2, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static const char *const names[] = {"a", "b", "c"};
		const struct pod *pods[3], *told_later[2];
		start_anew();
		for (size_t k = 0; k < 3; k++)
			pods[k] = build_world_pod(
				&world, (struct build_pod){
						.name = names[k],
						.started_at = world.input.listed_at -
							      rows[i].started_before_ms});
		for (size_t k = 0; k < rows[i].n_told_later; k++)
			told_later[k] = pods[rows[i].told_later[k]];
		world.input.told_later = told_later;
		world.input.n_told_later = rows[i].n_told_later;
		struct node_pods node_pods = take();
		assert_int_equal(node_pods_is_read_since(&node_pods, pods[0]), rows[i].is_since);
	}
}

TEST(a_hash_that_was_copied_takes_no_pods_place)
{
	/* The hash is another pod's UID; and that of a static pod. */
	build_world_pod(&world, (struct build_pod){.name = "thief", .hash = "uid-a"});
	const struct pod *a =
		build_world_pod(&world, (struct build_pod){.name = "a", .wants_no_gpu = true});
	build_world_pod(&world,
			(struct build_pod){.name = "copy", .hash = "c0ffee", .deleting = true});
	const struct pod *mirror =
		build_world_pod(&world, (struct build_pod){.name = "b", .hash = "c0ffee"});
	struct node_pods node_pods = take();
	assert_ptr_equal(node_pods_find_uid(&node_pods, VIEW("uid-a")), a);
	assert_ptr_equal(node_pods_find_uid(&node_pods, VIEW("c0ffee")), mirror);
	/* Of two that live nobody can tell which is the kubelet's. */
	build_world_pod(&world, (struct build_pod){.name = "copy-2", .hash = "c0ffee"});
	node_pods = take();
	assert_null(node_pods_find_uid(&node_pods, VIEW("c0ffee")));
}

TEST(of_pods_with_one_hash_the_one_that_lives_is_meant)
{
	enum { LIVES, GOES, OVER };
	static const struct {
		int first, second;
		const char *meant; /* NULL: nobody */
	} rows[] = {
		{LIVES, LIVES, NULL}, {LIVES, GOES, "a"}, {LIVES, OVER, "a"}, {GOES, LIVES, "b"},
		{OVER, LIVES, "b"},   {GOES, OVER, "a"},  {OVER, GOES, "a"},  {OVER, OVER, "a"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const int states[] = {rows[i].first, rows[i].second};
		for (size_t k = 0; k < 2; k++)
			build_world_pod(&world,
					(struct build_pod){
						.name = k == 0 ? "a" : "b",
						.hash = "c0ffee",
						.deleting = states[k] == GOES,
						.phase = states[k] == OVER ? POD_PHASE_FAILED
									   : POD_PHASE_RUNNING});
		struct node_pods node_pods = take();
		const struct pod *found = node_pods_find_uid(&node_pods, VIEW("c0ffee"));
		assert_int_equal(found != NULL, rows[i].meant != NULL);
		if (found)
			assert_true(view_equal(pod_name(found), view_from(rows[i].meant)));
	}
}

/* Their hashes are the same, so only comparing them tells them apart. */
TEST(names_and_hashes_that_look_alike_are_not_mixed_up)
{
	const struct twins twins = twins_find();
	const char *texts[] = {twins.one.ptr, twins.other.ptr};
	const struct pod *by_name[2], *by_namespace[2];
	for (size_t i = 0; i < 2; i++) {
		by_name[i] = build_world_pod(
			&world, (struct build_pod){.name = texts[i],
						   .uid = i == 0 ? "u0" : "u1",
						   .hash = i == 0 ? texts[0] : ""});
		by_namespace[i] = build_world_pod(
			&world, (struct build_pod){.name = "n",
						   .uid = i == 0 ? "u2" : "u3",
						   .namespace = texts[i]});
	}
	for (size_t i = 0; i < 2; i++) {
		build_world_list_nothing(&world);
		build_world_list(&world, texts[i], "main", VIEW("id"));
		build_world_list(&world, "n", "main", VIEW("id"))->namespace = view_from(texts[i]);
		struct node_pods node_pods = take();
		assert_ptr_equal(node_pods_find_name(&node_pods, VIEW("ml"), view_from(texts[i])),
				 by_name[i]);
		assert_ptr_equal(node_pods_find_name(&node_pods, view_from(texts[i]), VIEW("n")),
				 by_namespace[i]);
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(node_pods_is_named(&node_pods, by_name[k]), i == k);
			assert_int_equal(node_pods_is_named(&node_pods, by_namespace[k]), i == k);
		}
		assert_ptr_equal(node_pods_find_uid(&node_pods, twins.one), by_name[0]);
		assert_null(node_pods_find_uid(&node_pods, twins.other));
	}
}

TEST(a_pod_that_is_not_the_nodes_is_not_named)
{
	static const char *const names[] = {"a", "other"};
	world_pod("a");
	build_world_list(&world, "a", "main", VIEW("id"));
	struct node_pods node_pods = take();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct pod_fields fields = {.namespace = VIEW("ml"),
						  .name = view_from(names[i]),
						  .uid = VIEW("uid-other")};
		struct pod *pod;
		struct error err;
		assert_int_equal(pod_new(&fields, &pod, &err), 0);
		assert_false(node_pods_is_named(&node_pods, pod));
		pod_free(pod);
	}
}

TEST(of_two_pods_of_one_name_the_one_that_wants_a_gpu_is_meant)
{
	build_world_pod(&world, (struct build_pod){.name = "a", .uid = "uid-old", .wants_no_gpu = true});
	const struct pod *a = world_pod("a");
	struct node_pods node_pods = take();
	assert_ptr_equal(node_pods_find_name(&node_pods, VIEW("ml"), VIEW("a")), a);
}

static struct pod_container container(const char *name, enum pod_container_kind kind, bool wants_gpu)
{
	return (struct pod_container){view_from(name), kind, POD_CONTAINER_RUNNING, wants_gpu};
}

TEST(one_container_that_must_be_listed_is_enough)
{
	static struct pod_fields fields;
	struct pod *pod;
	struct error err;
	for (int i = 0; i < 2; i++) {
		fields = (struct pod_fields){
			.namespace = VIEW("ml"), .name = VIEW("a"), .uid = VIEW("uid-a"),
			.state.phase = POD_PHASE_RUNNING, .state.wants_gpu = true, .gpu.containers.count = 2};
		fields.containers[0] = container("main", POD_CONTAINER_MAIN, false);
		fields.containers[1] = container(
			"other", i ? POD_CONTAINER_SIDECAR : POD_CONTAINER_INIT, true);
		assert_int_equal(pod_new(&fields, &pod, &err), 0);
		world.pods[0] = pod;
		world.input.n_pods = 1;
		struct node_pods node_pods = take();
		assert_int_equal(node_pods_is_listed(&node_pods), i == 0);
		world.input.n_pods = 0;
		pod_free(pod);
	}
}

TEST(a_list_must_have_what_runs_a_gpu_in_a_main_container_or_sidecar)
{
	static const struct {
		struct build_pod pod;
		bool must_be_listed;
	} rows[] = {
		{{.name = "a"}, true},
		{{.name = "a", .kind = POD_CONTAINER_SIDECAR}, true},
		{{.name = "a", .deleting = true}, true},
		{{.name = "a", .is_unseen = true, .phase = POD_PHASE_PENDING}, true},
		{{.name = "a", .kind = POD_CONTAINER_INIT}, false},
		{{.name = "a", .wants_no_gpu = true}, false},
		{{.name = "a", .phase = POD_PHASE_SUCCEEDED}, false},
		{{.name = "a", .admission_failed = true}, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_pod(&world, rows[i].pod);
		build_world_list_nothing(&world);
		struct node_pods node_pods = take();
		assert_int_equal(node_pods_is_listed(&node_pods), !rows[i].must_be_listed);
		build_world_list(&world, "a", "main", VIEW("id"));
		node_pods = take();
		assert_true(node_pods_is_listed(&node_pods));
		world.listed[0].namespace = VIEW("other");
		node_pods = take();
		assert_int_equal(node_pods_is_listed(&node_pods), !rows[i].must_be_listed);
	}
}

TEST(the_list_names_a_pod_by_both_parts_of_its_name)
{
	const struct pod *a = world_pod("a");
	const struct pod *b =
		build_world_pod(&world, (struct build_pod){.name = "b", .wants_no_gpu = true});
	const struct pod *other = build_world_pod(
		&world, (struct build_pod){.name = "a", .uid = "uid-c", .namespace = "other"});
	build_world_list(&world, "a", "main", VIEW("id"));
	struct node_pods node_pods = take();
	assert_true(node_pods_is_named(&node_pods, a));
	assert_false(node_pods_is_named(&node_pods, b));
	assert_false(node_pods_is_named(&node_pods, other));
	build_world_list(&world, "b", "main", VIEW("id"));
	node_pods = take();
	assert_true(node_pods_is_named(&node_pods, b));
}

TESTS(set_up, tear_down)
