/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/assignment.h"
#include "kubectl/verdict.h"
#include "lib/failing_malloc.h"
#include "lib/gpu_world.h"

static const struct output whole_uuids = {.form = OUTPUT_JSON, .now = GPU_WORLD_NOW};

#define UID_TRAIN_0 "000000a1-1c16-46f0-9aee-b624a6d8abae"

/* The world, and one question about it. */
struct scene {
	struct device_list list;
	struct pod_list pods;
	struct assignment_set set;
};

static void begin(struct scene *scene)
{
	gpu_world_devices(&scene->list);
	gpu_world_pods(&scene->pods);
	struct error err;
	assert_int_equal(assignment_init(&scene->set, &scene->pods.arena, 16, &err), 0);
}

static void end(struct scene *scene)
{
	device_list_deinit(&scene->list);
	pod_list_deinit(&scene->pods);
}

/* Asks for a pod by name, as far as the API server has it. */
static void ask(struct scene *scene, const char *namespace, const char *name)
{
	scene->set.is_named = true;
	scene->set.namespace = view_from(namespace);
	assignment_add(&scene->set, view_from(namespace), view_from(name),
		    scene->set.is_blind ? NULL : pod_list_find(&scene->pods, view_from(name)));
}

static void fill(struct scene *scene)
{
	struct error err;
	assignment_seal(&scene->set);
	assert_int_equal(assignment_fill(&scene->set, scene->list.devices,
				      scene->list.n_devices, &err), 0);
}

/* What is said of the only pod that was asked for. */
static void assert_said(const struct scene *scene, const char *expected)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&text, 4096);
	verdict_say(&whole_uuids, &scene->set, &scene->set.findings[0], &text);
	assert_string_equal(sbuf_text(&text), expected);
}

static void each_pod_without_a_gpu_is_told_why(void **state)
{
	(void)state;
	static const struct {
		const char *namespace, *name;
		enum assignment_verdict verdict;
		const char *said;
	} rows[] = {
		{"ml", "nope", ASSIGNMENT_NOT_FOUND, "not found in namespace \"ml\""},
		{"ml", "train-1", ASSIGNMENT_NOT_FOUND,
		 "not found in namespace \"ml\"; a pod of that name, UID "
		 "000000a2-1c16-46f0-9aee-b624a6d8abae, was on "
		 "GPU-11ba9c1d-3437-2335-2fd8-a78c8502f87f (gpu-a, index 1) until "
		 "2026-01-02T02:31:00Z (33m ago)"},
		{"ml", "train-2", ASSIGNMENT_NOT_SCHEDULED,
		 "is not scheduled: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu."},
		{"ml", "web-0", ASSIGNMENT_NO_REQUEST, "asks for no GPU"},
		{"ml", "done-0", ASSIGNMENT_ENDED,
		 "has ended (Failed, UnexpectedAdmissionError) and holds nothing: Allocate failed due "
		 "to requested number of devices unavailable"},
		{"inf", "far-0", ASSIGNMENT_UNKNOWN,
		 "asks for nvidia.com/gpu and is on cpu-7, of which no GPU is known: does the agent "
		 "run there? (kubectl get pods -A -o wide "
		 "-l app.kubernetes.io/name=gpu-attribution-agent)"},
		{"inf", "llm-9", ASSIGNMENT_UNKNOWN,
		 "asks for nvidia.com/gpu and is on gpu-c; none of the 2 GPUs known there names it; "
		 "but what they say is not current: AgentSilent for 12m: the node's agent has not "
		 "reported for long; what rests on its reports is the last that was known"},
		{"lab", "stray", ASSIGNMENT_NO_REQUEST,
		 "asks for no GPU; yet its process python3[4711] is on "
		 "GPU-3f1a0000-3437-2335-2fd8-a78c8502f87f (gpu-b, index 0), without a slot of it"},
		{"lab", "claims-0", ASSIGNMENT_UNKNOWN,
		 "uses ResourceClaim x (which may be for a GPU) and is on gpu-b; the one GPU known "
		 "there does not name it"},
		{"lab", "lost-0", ASSIGNMENT_UNPLACED,
		 "holds device IDs on gpu-b that belong to no known GPU: nvidia0,nvidia1"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(end) struct scene scene;
		begin(&scene);
		ask(&scene, rows[i].namespace, rows[i].name);
		fill(&scene);
		assert_int_equal(scene.set.n_assignments, 0);
		assert_int_equal(scene.set.findings[0].verdict, rows[i].verdict);
		assert_said(&scene, rows[i].said);
	}
}

static void a_pod_is_on_the_device_that_names_its_uid(void **state)
{
	(void)state;
	CLEANUP(end) struct scene scene;
	begin(&scene);
	ask(&scene, "ml", "train-0");
	fill(&scene);
	assert_int_equal(scene.set.n_assignments, 1);
	const struct assignment *assignment = &scene.set.assignments[0];
	assert_true(view_equal(assignment->tenant->pod_uid, VIEW(UID_TRAIN_0)));
	assert_false(assignment->is_by_name);
	assert_int_equal(scene.set.findings[0].verdict, ASSIGNMENT_ON_GPU);
	assert_int_equal(scene.set.findings[0].n_assignments, 1);
}

static void a_pod_that_bears_an_earlier_ones_name_is_not_shown_with_its_gpu(void **state)
{
	(void)state;
	CLEANUP(end) struct scene scene;
	begin(&scene);
	ask(&scene, "inf", "llm-1");
	fill(&scene);
	assert_int_equal(scene.set.n_assignments, 0);
	const struct assignment_finding *finding = &scene.set.findings[0];
	assert_int_equal(finding->verdict, ASSIGNMENT_UNKNOWN);
	assert_true(view_equal(finding->earlier_tenant->pod_uid,
			       VIEW("000000c2-1c16-46f0-9aee-b624a6d8abae")));
	assert_true(view_starts_with(finding->earlier_device->uuid, VIEW("GPU-77770000")));
}

static void a_name_is_all_there_is_when_the_pod_is_gone_or_may_not_be_read(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		bool is_blind;
		const char *said;
	} rows[] = {
		{"notebook-c", false, "no longer known to the API server, but still named as a tenant"},
		{"notebook-a", true, "found by its name alone, for pods may not be read"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(end) struct scene scene;
		CLEANUP(sbuf_deinit) struct sbuf text;
		sbuf_init(&text, 1000);
		begin(&scene);
		scene.set.is_blind = rows[i].is_blind;
		ask(&scene, "lab", rows[i].name);
		fill(&scene);
		assert_int_equal(scene.set.n_assignments, 1);
		assert_true(scene.set.assignments[0].is_by_name);
		verdict_say_assigned(&whole_uuids, &scene.set, &scene.set.findings[0], &text);
		assert_string_equal(sbuf_text(&text), rows[i].said);
	}
}

static void without_an_assignment_a_pod_that_may_not_be_read_may_be_or_not(void **state)
{
	(void)state;
	CLEANUP(end) struct scene scene;
	begin(&scene);
	scene.set.is_blind = true;
	ask(&scene, "ml", "web-0");
	fill(&scene);
	assert_int_equal(scene.set.findings[0].verdict, ASSIGNMENT_NOT_FOUND);
	assert_said(&scene, "no GPU names a pod of that name, and pods may not be read: whether there "
			    "is one is not known");
}

static void a_name_of_another_namespace_is_another_pod(void **state)
{
	(void)state;
	CLEANUP(end) struct scene scene;
	begin(&scene);
	scene.set.is_blind = true;
	ask(&scene, "lab", "train-0");
	fill(&scene);
	assert_int_equal(scene.set.n_assignments, 0);
	assert_int_equal(scene.set.findings[0].n_past, 0);
}

static void everybody_is_everybody_of_the_namespace(void **state)
{
	(void)state;
	static const struct {
		const char *namespace;
		size_t n_assignments;
	} rows[] = {{"ml", 1}, {"lab", 7}, {"inf", 2}, {"none", 0}, {"", 12}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(end) struct scene scene;
		begin(&scene);
		scene.set.is_everybody = true;
		scene.set.namespace = view_from(rows[i].namespace);
		fill(&scene);
		assert_int_equal(scene.set.n_assignments, rows[i].n_assignments);
		assert_int_equal(scene.set.n_findings, 0);
	}
}

static void assignments_are_in_the_order_of_pods(void **state)
{
	(void)state;
	CLEANUP(end) struct scene scene;
	begin(&scene);
	scene.set.is_everybody = true;
	fill(&scene);
	for (size_t i = 1; i < scene.set.n_assignments; i++) {
		const struct attribution_tenant *a = scene.set.assignments[i - 1].tenant;
		const struct attribution_tenant *b = scene.set.assignments[i].tenant;
		int order = view_compare(a->pod_namespace, b->pod_namespace);
		if (order == 0)
			order = view_compare(a->pod_name, b->pod_name);
		assert_true(order <= 0);
	}
}

static void assignments_of_one_container_are_in_the_order_of_devices(void **state)
{
	(void)state;
	static const struct {
		const char *uuid, *node;
		int64_t index;
	} rows[] = {{"U4", "b", 0}, {"U3", "a", 10}, {"U2", "a", 9}, {"U1", "a", 9}};
	struct attribution_tenant tenant = {.pod_uid = VIEW("u"), .container = VIEW("c")};
	struct attribution devices[ARRAY_SIZE(rows)];
	const struct attribution *list[ARRAY_SIZE(rows)];
	struct error err;
	CLEANUP(arena_deinit) struct arena arena;
	struct assignment_set set;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		devices[i] = (struct attribution){
			.uuid = view_from(rows[i].uuid),
			.status = {.node_name = view_from(rows[i].node),
				   .device.index = rows[i].index,
				   .tenants = {&tenant, 1, true}}};
		list[i] = &devices[i];
	}
	arena_init(&arena, 65536);
	assert_int_equal(assignment_init(&set, &arena, 0, &err), 0);
	set.is_everybody = true;
	assignment_seal(&set);
	assert_int_equal(assignment_fill(&set, list, ARRAY_SIZE(rows), &err), 0);
	assert_int_equal(set.n_assignments, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(set.assignments[i].device->uuid.ptr[1], '1' + (int)i);
}

static void assignments_of_one_pod_are_in_the_order_of_containers_first(void **state)
{
	(void)state;
	static const char *const expected[] = {"c", "c", "d", "d"};
	struct attribution_tenant tenants[] = {
		{.pod_uid = VIEW("u"), .container = VIEW("d")},
		{.pod_uid = VIEW("u"), .container = VIEW("c")},
	};
	struct attribution_status status = {.tenants = {tenants, 2, true}};
	struct attribution devices[] = {
		{.uuid = VIEW("U1"), .status = status}, {.uuid = VIEW("U2"), .status = status}};
	const struct attribution *list[] = {&devices[0], &devices[1]};
	CLEANUP(arena_deinit) struct arena arena;
	struct assignment_set set;
	struct error err;
	devices[0].status.node_name = VIEW("a");
	devices[1].status.node_name = VIEW("b");
	arena_init(&arena, 65536);
	assert_int_equal(assignment_init(&set, &arena, 0, &err), 0);
	set.is_everybody = true;
	assignment_seal(&set);
	assert_int_equal(assignment_fill(&set, list, 2, &err), 0);
	assert_int_equal(set.n_assignments, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_true(view_equal(set.assignments[i].tenant->container, view_from(expected[i])));
		assert_ptr_equal(set.assignments[i].device, list[i % 2]);
	}
}

static void what_its_node_says_of_a_pod_is_that_of_its_first_doubtful_device(void **state)
{
	(void)state;
	struct attribution_unplaced unplaced = {.pod_uid = VIEW("u")};
	struct attribution devices[] = {{.uuid = VIEW("U1"), .status.node_name = VIEW("n")},
					{.uuid = VIEW("U2"), .status.node_name = VIEW("n")}};
	const struct attribution *list[] = {&devices[0], &devices[1]};
	const struct pod_card card = {.uid = VIEW("u"), .node = VIEW("n"), .phase = VIEW("Failed")};
	for (int is_unplaced = 0; is_unplaced < 2; is_unplaced++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct assignment_set set;
		struct error err;
		arena_init(&arena, 65536);
		assert_int_equal(assignment_init(&set, &arena, 1, &err), 0);
		set.is_named = true;
		assignment_add(&set, VIEW("ml"), VIEW("a"), &card);
		assignment_seal(&set);
		devices[1].status.unplaced_tenants = (struct array){&unplaced, is_unplaced ? 1 : 0, true};
		assert_int_equal(assignment_fill(&set, list, 2, &err), 0);
		assert_ptr_equal(set.findings[0].doubtful_device, &devices[0]);
		/* What it holds is still held, whatever its phase is. */
		assert_int_equal(set.findings[0].verdict,
				 is_unplaced ? ASSIGNMENT_UNPLACED : ASSIGNMENT_ENDED);
	}
}

static void of_a_pod_with_an_assignment_an_earlier_one_of_its_name_is_said_too(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf text;
	const struct pod_card card = {.uid = VIEW("v")};
	struct attribution device = {.uuid = VIEW("U"), .status.node_name = VIEW("n")};
	struct attribution_tenant earlier = {.pod_uid = VIEW("u")};
	struct assignment_finding finding = {.card = &card, .n_assignments = 1};
	const struct assignment_set set = {.findings = &finding, .n_findings = 1};
	sbuf_init(&text, 1000);
	verdict_say_assigned(&whole_uuids, &set, &finding, &text);
	assert_int_equal(text.len, 0);
	finding.earlier_device = &device;
	finding.earlier_tenant = &earlier;
	verdict_say_assigned(&whole_uuids, &set, &finding, &text);
	assert_string_equal(sbuf_text(&text), "is on a GPU; an earlier pod of that name, UID u, is "
					      "still on U (n, index 0)");
}

static void only_devices_that_can_tell_anything_are_wanted(void **state)
{
	(void)state;
	static const struct {
		const char *namespace, *name, *device;
		bool is_wanted;
	} rows[] = {
		{"ml", "train-0", "GPU-11ba558d", true},  /* it names the pod */
		{"ml", "train-1", "GPU-11ba9c1d", true},  /* it was there */
		{"inf", "llm-9", "GPU-77771111", true},   /* of its node */
		{"ml", "train-1", "GPU-3f1a0000", false},
		{"ml", "train-2", "GPU-3f1a0000", false},
		{"ml", "train-2", "GPU-99990000", false}, /* neither has a node */
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(end) struct scene scene;
		begin(&scene);
		ask(&scene, rows[i].namespace, rows[i].name);
		assignment_seal(&scene.set);
		assert_int_equal(assignment_wants(&scene.set,
					       gpu_world_device(&scene.list, rows[i].device)),
				 rows[i].is_wanted);
	}
}

/* They left in the order of i * step mod 12. */
static void assert_newest_kept(int step)
{
	struct attribution_past_tenant past[12];
	struct error err;
	CLEANUP(arena_deinit) struct arena arena;
	struct assignment_set set;
	for (int i = 0; i < 12; i++)
		past[i] = (struct attribution_past_tenant){.pod_namespace = VIEW("ml"),
							   .pod_name = VIEW("a"),
							   .end_time = (i * step) % 12};
	struct attribution device = {.status = {.recent_tenants = {past, 12, true}}};
	const struct attribution *devices[] = {&device};
	arena_init(&arena, 65536);
	assert_int_equal(assignment_init(&set, &arena, 1, &err), 0);
	set.is_named = true;
	assignment_add(&set, VIEW("ml"), VIEW("a"), NULL);
	assignment_seal(&set);
	assert_int_equal(assignment_fill(&set, devices, 1, &err), 0);
	assert_int_equal(set.findings[0].n_past, ASSIGNMENT_MAX_PAST);
	for (size_t i = 0; i < ASSIGNMENT_MAX_PAST; i++)
		assert_int_equal(set.findings[0].past[i].tenant->end_time, 11 - (int)i);
}

static void the_newest_former_assignments_are_kept(void **state)
{
	(void)state;
	assert_newest_kept(1);
	assert_newest_kept(5);
	assert_newest_kept(11);
}

static void verdicts_have_words_for_programs(void **state)
{
	(void)state;
	static const char *const words[] = {"OnGPU", "NotFound", "Ended", "NoRequest",
					    "NotScheduled", "Unplaced", "Unknown"};
	for (int i = ASSIGNMENT_ON_GPU; i <= ASSIGNMENT_UNKNOWN; i++)
		assert_true(view_equal(verdict_name((enum assignment_verdict)i), view_from(words[i])));
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	CLEANUP(device_list_deinit) struct device_list list;
	gpu_world_devices(&list);
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct assignment_set set;
		struct error err;
		arena_init(&arena, 65536);
		failing_malloc_at(k);
		int result = assignment_init(&set, &arena, 20, &err);
		if (result == 0) {
			set.is_everybody = true;
			assignment_seal(&set);
			result = assignment_fill(&set, list.devices, list.n_devices, &err);
		}
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_pod_without_a_gpu_is_told_why),
	cmocka_unit_test(a_pod_is_on_the_device_that_names_its_uid),
	cmocka_unit_test(a_pod_that_bears_an_earlier_ones_name_is_not_shown_with_its_gpu),
	cmocka_unit_test(a_name_is_all_there_is_when_the_pod_is_gone_or_may_not_be_read),
	cmocka_unit_test(without_an_assignment_a_pod_that_may_not_be_read_may_be_or_not),
	cmocka_unit_test(a_name_of_another_namespace_is_another_pod),
	cmocka_unit_test(everybody_is_everybody_of_the_namespace),
	cmocka_unit_test(assignments_are_in_the_order_of_pods),
	cmocka_unit_test(assignments_of_one_container_are_in_the_order_of_devices),
	cmocka_unit_test(assignments_of_one_pod_are_in_the_order_of_containers_first),
	cmocka_unit_test(what_its_node_says_of_a_pod_is_that_of_its_first_doubtful_device),
	cmocka_unit_test(of_a_pod_with_an_assignment_an_earlier_one_of_its_name_is_said_too),
	cmocka_unit_test(only_devices_that_can_tell_anything_are_wanted),
	cmocka_unit_test(the_newest_former_assignments_are_kept),
	cmocka_unit_test(verdicts_have_words_for_programs),
	cmocka_unit_test(missing_memory_is_said),
};
TEST_MAIN(tests)
