/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "model/pod.h"

static struct pod_fields plain(void)
{
	return (struct pod_fields){
		.namespace = VIEW("ml"), .name = VIEW("train-0"), .uid = VIEW("uid-1"),
		.node = VIEW("gpu-a"), .state.phase = POD_PHASE_RUNNING,
	};
}

static struct pod_fields with_gpu(void)
{
	struct pod_fields fields = plain();

	fields.state.wants_gpu = true;
	fields.gpu.started_at = 1700000000000;
	fields.gpu.workload.kind = VIEW("Job");
	fields.gpu.workload.name = VIEW("train");
	fields.config_hash = VIEW("0123456789abcdef");
	fields.gpu.hami_devices = VIEW("GPU-1,NVIDIA,1,2:;");
	fields.gpu.kai_group = VIEW("group-1");
	fields.gpu.kai_device = VIEW("GPU-2");
	fields.gpu.kai_container = VIEW("load");
	fields.gpu.kai_groups.count = 2;
	fields.kai_groups[0] = VIEW("group-7");
	fields.kai_groups[1] = VIEW("group-8");
	fields.gpu.allocations.count = 2;
	fields.allocations[0] = (struct pod_allocation){
		VIEW("load"), VIEW("nvidia.com/gpu"), VIEW("GPU-1::0"), true};
	fields.allocations[1] = (struct pod_allocation){
		VIEW("main"), VIEW("nvidia.com/gpu"), VIEW("GPU-1::1")};
	fields.gpu.claims.count = 2;
	fields.claims[0] = (struct pod_claim){VIEW("main"), VIEW("team"), VIEW("a")};
	fields.claims[1] = (struct pod_claim){VIEW("load"), VIEW("own"), VIEW("")};
	fields.gpu.containers.count = 2;
	fields.containers[0] = (struct pod_container){
		VIEW("load"), POD_CONTAINER_INIT, POD_CONTAINER_TERMINATED, true};
	fields.containers[1] = (struct pod_container){
		VIEW("main"), POD_CONTAINER_MAIN, POD_CONTAINER_RUNNING, true, VIEW("0123")};
	fields.gpu.containers_left_out = 6;
	fields.gpu.ephemeral_left_out = 2;
	fields.gpu.hami_left_out = true;
	fields.gpu.allocations_left_out = 3;
	fields.gpu.claims_left_out = 4;
	fields.gpu.kai_groups_left_out = 5;
	return fields;
}

static struct pod *make(const struct pod_fields *fields)
{
	struct pod *pod;
	struct error err;

	assert_int_equal(pod_new(fields, &pod, &err), 0);
	return pod;
}

static void assert_allocations(const struct pod *pod, const struct pod_fields *fields)
{
	const struct pod_allocation *allocations = pod_gpu(pod)->allocations.items;
	const uint32_t n = pod_gpu(pod)->allocations.count;

	assert_int_equal(n, fields->gpu.allocations.count);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(view_equal(allocations[i].container, fields->allocations[i].container));
		assert_true(view_equal(allocations[i].resource, fields->allocations[i].resource));
		assert_true(view_equal(allocations[i].id, fields->allocations[i].id));
		assert_int_equal(allocations[i].is_unhealthy, fields->allocations[i].is_unhealthy);
		assert_ptr_not_equal(allocations[i].id.ptr, fields->allocations[i].id.ptr);
	}
}

static void assert_claims(const struct pod *pod, const struct pod_fields *fields)
{
	const struct pod_claim *claims = pod_gpu(pod)->claims.items;
	const uint32_t n = pod_gpu(pod)->claims.count;

	assert_int_equal(n, fields->gpu.claims.count);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(view_equal(claims[i].container, fields->claims[i].container));
		assert_true(view_equal(claims[i].claim, fields->claims[i].claim));
		assert_true(view_equal(claims[i].request, fields->claims[i].request));
		assert_ptr_not_equal(claims[i].claim.ptr, fields->claims[i].claim.ptr);
	}
}

static void assert_containers(const struct pod *pod, const struct pod_fields *fields)
{
	assert_int_equal(pod_gpu(pod)->containers.count, fields->gpu.containers.count);
	for (uint32_t i = 0; i < fields->gpu.containers.count; i++) {
		const struct pod_container *container = pod_container_at(pod, i);

		assert_true(view_equal(container->name, fields->containers[i].name));
		assert_true(view_equal(container->id, fields->containers[i].id));
		assert_ptr_not_equal(container->name.ptr, fields->containers[i].name.ptr);
		assert_ptr_not_equal(container->id.ptr, fields->containers[i].id.ptr);
	}
}

TEST(a_record_says_what_it_was_made_from)
{
	struct pod_fields fields = with_gpu();
	struct pod *pod = make(&fields);

	assert_true(view_equal(pod_key(pod), VIEW("ml/train-0")));
	assert_true(view_equal(pod_namespace(pod), VIEW("ml")));
	assert_true(view_equal(pod_name(pod), VIEW("train-0")));
	assert_true(view_equal(pod_uid(pod), VIEW("uid-1")));
	assert_true(view_equal(pod_config_hash(pod), VIEW("0123456789abcdef")));
	assert_true(view_equal(pod_gpu(pod)->workload.kind, VIEW("Job")));
	assert_true(view_equal(pod_gpu(pod)->workload.name, VIEW("train")));
	assert_containers(pod, &fields);
	assert_int_equal(pod_find_container(pod, VIEW("load"))->kind, POD_CONTAINER_INIT);
	assert_null(pod_find_container(pod, VIEW("nobody")));
	assert_int_equal(pod_find_container(pod, VIEW("load"))->id.len, 0);
	assert_true(view_equal(pod_find_container(pod, VIEW("main"))->id, VIEW("0123")));
	assert_int_equal(pod_gpu(pod)->allocations_left_out, 3);
	assert_int_equal(pod_gpu(pod)->containers_left_out, 6);
	assert_int_equal(pod_gpu(pod)->ephemeral_left_out, 2);
	assert_int_equal(pod_left_out(pod), 21);
	assert_int_equal(pod_gpu(pod)->started_at, 1700000000000);
	assert_true(view_equal(pod_gpu(pod)->hami_devices, VIEW("GPU-1,NVIDIA,1,2:;")));
	assert_true(view_equal(pod_gpu(pod)->kai_group, VIEW("group-1")));
	assert_true(view_equal(pod_gpu(pod)->kai_device, VIEW("GPU-2")));
	assert_true(view_equal(pod_gpu(pod)->kai_container, VIEW("load")));
	assert_true(pod_is_in_kai_group(pod, VIEW("group-1")));
	assert_true(pod_is_in_kai_group(pod, VIEW("group-7")));
	assert_true(pod_is_in_kai_group(pod, VIEW("group-8")));
	assert_false(pod_is_in_kai_group(pod, VIEW("group-")));
	assert_false(pod_is_in_kai_group(pod, VIEW("")));
	assert_allocations(pod, &fields);
	assert_claims(pod, &fields);
	pod_free(pod);
}

TEST(what_lies_behind_the_last_of_a_kind_is_not_looked_at)
{
	static struct pod_fields fields;
	const struct view garbage = {NULL, SIZE_MAX / 8};

	fields = with_gpu();
	fields.containers[fields.gpu.containers.count].name = garbage;
	fields.allocations[fields.gpu.allocations.count].id = garbage;
	fields.claims[fields.gpu.claims.count].claim = garbage;
	fields.kai_groups[fields.gpu.kai_groups.count] = garbage;
	pod_free(make(&fields));
}

TEST(a_pod_without_gpu_keeps_nothing_that_only_they_have)
{
	struct pod_fields fields = with_gpu();

	fields.state.wants_gpu = false;
	struct pod *pod = make(&fields);
	assert_int_equal(pod_gpu(pod)->containers.count, 0);
	assert_int_equal(pod_gpu(pod)->workload.kind.len, 0);
	assert_int_equal(pod_gpu(pod)->started_at, 0);
	assert_int_equal(pod_gpu(pod)->hami_devices.len + pod_gpu(pod)->kai_group.len +
			 pod_gpu(pod)->kai_device.len + pod_gpu(pod)->kai_container.len, 0);
	assert_false(pod_is_in_kai_group(pod, VIEW("group-1")));
	assert_false(pod_is_in_kai_group(pod, VIEW("group-7")));
	assert_int_equal(pod_gpu(pod)->allocations.count + pod_gpu(pod)->claims.count, 0);
	assert_false(pod_gpu(pod)->allocations_left_out > 0);
	assert_false(pod_gpu(pod)->containers_left_out > 0);
	assert_false(pod_gpu(pod)->ephemeral_left_out > 0);
	assert_int_equal(pod_left_out(pod), 0);
	pod_free(pod);
}

TEST(a_group_of_kais_is_the_one_or_one_of_several)
{
	static const struct {
		const char *one, *of_several;
		bool is_in;
	} rows[] = {
		{"", "", false}, {"g", "", true}, {"", "g", true},
		{"h", "g", true}, {"h", "", false}, {"", "h", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = plain();
		fields.state.wants_gpu = true;
		fields.gpu.kai_group = view_from(rows[i].one);
		fields.kai_groups[0] = view_from(rows[i].of_several);
		fields.gpu.kai_groups.count = fields.kai_groups[0].len > 0;
		struct pod *pod = make(&fields);
		if (pod_is_in_kai_group(pod, VIEW("g")) != rows[i].is_in ||
		    pod_is_in_kai_group(pod, VIEW("")))
			fail_msg("row %zu", i);
		pod_free(pod);
	}
}

TEST(a_pod_is_over_when_it_ended_and_nothing_of_it_runs)
{
	static const struct {
		enum pod_phase phase;
		bool stands_still, refused, over;
	} rows[] = {
		{POD_PHASE_RUNNING, false, false, false}, {POD_PHASE_RUNNING, true, false, false},
		{POD_PHASE_FAILED, false, false, false},  {POD_PHASE_FAILED, true, false, true},
		{POD_PHASE_SUCCEEDED, true, false, true}, {POD_PHASE_FAILED, false, true, true},
		{POD_PHASE_PENDING, true, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = plain();

		fields.state.phase = (uint8_t)rows[i].phase;
		fields.state.no_container_runs = rows[i].stands_still;
		fields.state.admission_failed = rows[i].refused;
		struct pod *pod = make(&fields);
		assert_int_equal(pod_is_over(pod), rows[i].over);
		pod_free(pod);
	}
}

/* Each changes one fact. */
#define CHANGES \
	CHANGE(uid = VIEW("uid-2"))                                           \
	CHANGE(name = VIEW("train-1"))                                        \
	CHANGE(namespace = VIEW("mm"))                                        \
	CHANGE(state.phase = POD_PHASE_FAILED)                                \
	CHANGE(state.deleting = true)                                         \
	CHANGE(state.admission_failed = true)                                 \
	CHANGE(state.no_container_runs = true)                                \
	CHANGE(state.system = true)                                           \
	CHANGE(state.operand = POD_OPERAND_GFD)                               \
	CHANGE(state.is_ready = true)                                         \
	CHANGE(gpu.refused_resource = VIEW("nvidia.com/gpu"))                 \
	CHANGE(gpu.created_at = 1700000002000)                                \
	CHANGE(config_hash = VIEW("fedcba"))                                  \
	CHANGE(gpu.workload.name = VIEW("other"))                             \
	CHANGE(gpu.started_at = 1700000001000)                                \
	CHANGE(gpu.workload.group = VIEW("apps"))                             \
	CHANGE(gpu.workload.kind = VIEW("ReplicaSet"))                        \
	CHANGE(containers[1].state = POD_CONTAINER_WAITING)                   \
	CHANGE(containers[1].name = VIEW("x"))                                \
	CHANGE(containers[0].kind = POD_CONTAINER_SIDECAR)                    \
	CHANGE(containers[1].wants_gpu = false)                               \
	CHANGE(containers[1].id = VIEW("4567"))                               \
	CHANGE(containers[1].resource = VIEW("nvidia.com/gpu.shared"))        \
	CHANGE(gpu.allocations_left_out = 0, fields->gpu.claims_left_out = 7) \
	CHANGE(gpu.claims_left_out = 5)                                       \
	CHANGE(gpu.containers.count = 1)                                      \
	CHANGE(state.is_reservation = true)                                   \
	CHANGE(gpu.hami_devices = VIEW("GPU-2"))                              \
	CHANGE(gpu.kai_group = VIEW("group-2"))                               \
	CHANGE(gpu.kai_device = VIEW("GPU-3"))                                \
	CHANGE(gpu.kai_container = VIEW("main"))                              \
	CHANGE(gpu.kai_groups.count = 1)                                      \
	CHANGE(kai_groups[0] = VIEW("group-9"))                               \
	CHANGE(kai_groups[1] = VIEW("group-9"))                               \
	CHANGE(gpu.kai_groups_left_out = 6)                                   \
	CHANGE(gpu.containers_left_out = 0, fields->gpu.claims_left_out = 10) \
	CHANGE(gpu.ephemeral_left_out = 0, fields->gpu.claims_left_out = 6)   \
	CHANGE(gpu.hami_left_out = false)                                     \
	CHANGE(gpu.allocations.count = 1)                                     \
	CHANGE(allocations[1].id = VIEW("GPU-1::2"))                          \
	CHANGE(allocations[0].id = VIEW("GPU-2"))                             \
	CHANGE(allocations[1].resource = VIEW("x"))                           \
	CHANGE(allocations[1].container = VIEW("x"))                          \
	CHANGE(allocations[1].is_unhealthy = true)                            \
	CHANGE(gpu.claims.count = 1)                                          \
	CHANGE(claims[1].claim = VIEW("x"))                                   \
	CHANGE(claims[1].request = VIEW("x"))                                 \
	CHANGE(claims[1].container = VIEW("x"))

/* Makes change number `which`; returns how many there are. */
static size_t change(struct pod_fields *fields, size_t which)
{
	size_t n = 0;

#define CHANGE(...) \
	if (n++ == which) \
		fields->__VA_ARGS__;
	CHANGES
#undef CHANGE
	return n;
}

#define CHANGE(...) #__VA_ARGS__,
static const char *const changes[] = {CHANGES};
#undef CHANGE

TEST(two_pods_are_equal_only_in_every_fact)
{
	struct pod_fields fields = with_gpu();
	struct pod *pod = make(&fields);
	struct pod *same = make(&fields);

	assert_true(pod_equal(pod, same));
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct pod_fields changed = with_gpu();

		assert_int_equal(change(&changed, i), ARRAY_SIZE(changes));
		struct pod *other = make(&changed);
		if (pod_equal(pod, other) || pod_equal(other, pod))
			fail_msg("this is not seen: %s", changes[i]);
		pod_free(other);
	}
	pod_free(pod);
	pod_free(same);
}

TEST(a_pod_that_wants_a_gpu_is_not_one_that_wants_none)
{
	struct pod_fields fields = plain();
	struct pod *pod = make(&fields);
	struct pod *same = make(&fields);
	fields.state.wants_gpu = true;
	struct pod *other = make(&fields);
	assert_true(pod_equal(pod, same));
	assert_false(pod_equal(pod, other));
	pod_free(pod);
	pod_free(same);
	pod_free(other);
}

TEST(names_over_the_limit_are_refused)
{
	static const struct {
		size_t uid, hash, namespace, name;
		int result;
	} rows[] = {
		{512, 0, 0, 0, 0}, {513, 0, 0, 0, -1}, {0, 512, 0, 0, 0}, {0, 513, 0, 0, -1},
		{0, 0, 11, 500, 0}, {0, 0, 11, 501, -1}, {0, 0, 12, 500, -1}, {512, 512, 11, 500, 0},
	};
	static char text[513];

	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = {
			.uid = {text, rows[i].uid}, .config_hash = {text, rows[i].hash},
			.namespace = {text, rows[i].namespace}, .name = {text, rows[i].name},
		};
		struct pod *pod = NULL;
		struct error err = {0};

		assert_int_equal(pod_new(&fields, &pod, &err), rows[i].result);
		assert_int_equal(err.kind == ERROR_LIMIT, rows[i].result < 0);
		assert_int_equal(err.os_errno, 0);
		assert_int_equal(pod == NULL, rows[i].result < 0);
		pod_free(pod);
	}
}

TEST(as_much_is_kept_as_there_may_be_of_each_thing)
{
	static struct pod_fields fields;

	fields = with_gpu();
	fields.gpu.containers.count = POD_MAX_CONTAINERS;
	fields.gpu.allocations.count = POD_MAX_ALLOCATIONS;
	fields.gpu.claims.count = POD_MAX_CLAIMS;
	fields.containers[POD_MAX_CONTAINERS - 1].name = VIEW("last");
	fields.allocations[POD_MAX_ALLOCATIONS - 1].id = VIEW("GPU-9");
	fields.claims[POD_MAX_CLAIMS - 1].claim = VIEW("c9");
	struct pod *pod = make(&fields);
	assert_containers(pod, &fields);
	assert_allocations(pod, &fields);
	assert_claims(pod, &fields);
	pod_free(pod);
}

TEST(without_memory_nothing_is_left_behind)
{
	struct pod_fields fields = with_gpu();
	struct pod *pod = NULL;
	struct error err;
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		int result = pod_new(&fields, &pod, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed)
			assert_null(pod);
	}
	pod_free(pod);
}

TEST(every_flag_says_its_own)
{
	for (unsigned bits = 0; bits < 32; bits++) {
		struct pod_fields fields = plain();

		fields.state.deleting = bits & 1;
		fields.state.admission_failed = bits & 2;
		fields.state.wants_gpu = bits & 4;
		fields.state.system = bits & 8;
		fields.state.is_reservation = bits & 16;
		struct pod *pod = make(&fields);
		assert_int_equal(pod_state(pod)->deleting, (bits & 1) != 0);
		assert_int_equal(pod_is_over(pod), (bits & 2) != 0);
		assert_int_equal(pod_state(pod)->wants_gpu, (bits & 4) != 0);
		assert_int_equal(pod_state(pod)->system, (bits & 8) != 0);
		assert_int_equal(pod_state(pod)->is_reservation, (bits & 16) != 0);
		assert_int_equal(pod_state(pod)->phase, POD_PHASE_RUNNING);
		pod_free(pod);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_flag_says_its_own),
	cmocka_unit_test(a_record_says_what_it_was_made_from),
	cmocka_unit_test(what_lies_behind_the_last_of_a_kind_is_not_looked_at),
	cmocka_unit_test(a_pod_without_gpu_keeps_nothing_that_only_they_have),
	cmocka_unit_test(a_pod_is_over_when_it_ended_and_nothing_of_it_runs),
	cmocka_unit_test(two_pods_are_equal_only_in_every_fact),
	cmocka_unit_test(a_group_of_kais_is_the_one_or_one_of_several),
	cmocka_unit_test(a_pod_that_wants_a_gpu_is_not_one_that_wants_none),
	cmocka_unit_test(names_over_the_limit_are_refused),
	cmocka_unit_test(as_much_is_kept_as_there_may_be_of_each_thing),
	cmocka_unit_test(without_memory_nothing_is_left_behind),
};

TEST_MAIN(tests)
