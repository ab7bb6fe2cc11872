/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "model/grant.h"

#define GPU_0 "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define GPU_1 "GPU-6e027708-5f1c-4f27-a2b9-0b5d3c2f7a10"
#define GPU_2 "GPU-9a1f3c44-2d70-4b6e-8c15-3e8d7a6b5c21"
#define MIG_1 "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
#define DRIVER "gpu.nvidia.com"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

/* What a grant is made of, added piece by piece; and what came out. */
struct world {
	struct arena arena;
	struct pod *pods[8];
	struct resource_claim *claims[8];
	struct resource_slice *slices[80];
	size_t n_pods, n_claims, n_slices;
	struct grant_use uses[16];
	size_t n_uses;
	struct grant_result result;
};

static struct world world;

static int set_up(void **state)
{
	(void)state;
	world = (struct world){0};
	arena_init(&world.arena, 16 * LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < world.n_pods; i++)
		pod_free(world.pods[i]);
	for (size_t i = 0; i < world.n_claims; i++)
		free(world.claims[i]);
	for (size_t i = 0; i < world.n_slices; i++)
		free(world.slices[i]);
	arena_deinit(&world.arena);
	return 0;
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static struct pod *add_pod_in(const char *uid, enum pod_phase phase, bool stands_still)
{
	struct pod_fields fields = {
		.namespace = VIEW("ml"), .name = view_from(uid), .uid = view_from(uid),
		.node = VIEW("gpu-a"), .state.phase = (uint8_t)phase, .state.wants_gpu = true,
		.state.no_container_runs = stands_still,
	};
	struct error err;

	assert_int_equal(pod_new(&fields, &world.pods[world.n_pods], &err), 0);
	return world.pods[world.n_pods++];
}

static struct pod *add_pod(const char *uid)
{
	return add_pod_in(uid, POD_PHASE_RUNNING, false);
}

/* A claim with one result by request and device, of pool "p", reserved for a pod. */
static struct resource_claim_fields claim_of(const char *request, const char *device,
					     const char *uid)
{
	return (struct resource_claim_fields){
		.namespace = VIEW("ml"),
		.name = VIEW("c"),
		.results = {{view_from(request), VIEW(DRIVER), VIEW("p"), view_from(device),
			     VIEW(""), false}},
		.claim.results.count = 1,
		.consumers = {view_from(uid)},
		.claim.consumers.count = 1,
	};
}

static struct resource_claim *add_claim(const struct resource_claim_fields *fields)
{
	struct error err;

	assert_int_equal(resource_claim_new(fields, &world.claims[world.n_claims], &err), 0);
	return world.claims[world.n_claims++];
}

static void use(const struct pod *pod, const struct pod_claim *how,
		const struct resource_claim *claim)
{
	world.uses[world.n_uses++] = (struct grant_use){pod, how, claim};
}

static const struct pod_claim whole_claim = {VIEW_INIT("main"), VIEW_INIT("c"), VIEW_INIT("")};

/* A pod of that UID whose container "main" uses all of a claim that is reserved for it. */
static const struct pod *add_user(const char *uid, const char *device)
{
	struct resource_claim_fields fields = claim_of("main", device, uid);
	const struct pod *pod = add_pod(uid);

	use(pod, &whole_claim, add_claim(&fields));
	return pod;
}

static struct resource_slice_fields slice_of(int64_t generation, int64_t count)
{
	return (struct resource_slice_fields){
		.slice = {.name = VIEW("s"), .driver = VIEW(DRIVER), .node = VIEW("gpu-a"),
			  .pool = VIEW("p"), .generation = generation, .slice_count = count},
	};
}

static void put_device(struct resource_slice_fields *fields, const char *name, const char *uuid,
		       const char *parent)
{
	fields->devices[fields->slice.devices.count++] = (struct resource_slice_device){
		.name = view_from(name), .uuid = view_from(uuid), .parent_uuid = view_from(parent),
	};
}

static void add_slice(const struct resource_slice_fields *fields)
{
	struct error err;

	assert_int_equal(resource_slice_new(fields, &world.slices[world.n_slices], &err), 0);
	world.n_slices++;
}

/* A slice that is the whole pool, with one device. */
static void add_device(const char *name, const char *uuid, const char *parent)
{
	struct resource_slice_fields fields = slice_of(1, 1);

	put_device(&fields, name, uuid, parent);
	add_slice(&fields);
}

static struct grant_input input(void)
{
	return (struct grant_input){
		.uses = world.uses,
		.n_uses = world.n_uses,
		.slices = (const struct resource_slice *const *)world.slices,
		.n_slices = world.n_slices,
	};
}

static const struct grant_result *compute(void)
{
	const struct grant_input in = input();
	struct error err;

	arena_reset(&world.arena);
	assert_int_equal(grant_compute(&in, &world.arena, &world.result, &err), 0);
	return &world.result;
}

/* The only grant. */
static const struct grant *only(void)
{
	assert_int_equal(compute()->n_grants, 1);
	return &world.result.grants[0];
}

TEST(a_pod_is_granted_the_device_that_its_claim_was_given)
{
	const struct pod *pod = add_user("u1", "gpu-7");

	add_device("gpu-7", GPU_0, "");
	const struct grant *grant = only();
	assert_ptr_equal(grant->pod, pod);
	assert_text(grant->container, "main");
	assert_text(grant->uuid, GPU_0);
	assert_int_equal(grant->partition.len, 0);
	assert_text(grant->device, "p/gpu-7");
	assert_false(grant->is_admin);
	assert_false(world.result.is_incomplete);
}

TEST(a_claim_gives_nothing_to_a_pod_that_it_is_not_reserved_for)
{
	struct resource_claim_fields fields = claim_of("main", "gpu-0", "u-before");

	/* The same name, another UID: it was deleted and made again. */
	use(add_pod("u1"), &whole_claim, add_claim(&fields));
	add_device("gpu-0", GPU_0, "");
	assert_int_equal(compute()->n_grants, 0);
}

/* The claim gives gpu-0 by request "main" and gpu-1 by request "side"; it may be reserved for a
 * PodGroup, and is for u-member. */
TEST(who_may_use_what_is_reserved_for_a_podgroup_is_not_told)
{
	static const struct {
		const char *uid;
		bool has_group, is_over, is_admin;
		struct view request;
		bool expected[3];
	} rows[] = {
		{"u1", true, false, false, VIEW_INIT(""), {true, true, false}},
		{"u1", true, false, false, VIEW_INIT("side"), {false, true, false}},
		{"u1", false, false, false, VIEW_INIT(""), {false, false, false}},
		{"u1", true, true, false, VIEW_INIT(""), {false, false, false}},
		{"u1", true, false, true, VIEW_INIT(""), {true, false, false}},
		{"u-member", true, false, false, VIEW_INIT(""), {false, false, false}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		struct resource_claim_fields fields = claim_of("main", "gpu-0", "u-member");
		const struct pod_claim how = {VIEW("main"), VIEW("c"), rows[i].request};
		struct resource_slice_fields slice = slice_of(1, 1);

		fields.claim.has_other_consumers = rows[i].has_group;
		fields.results[1] = fields.results[0];
		fields.results[1].request = VIEW("side");
		fields.results[1].device = VIEW("gpu-1");
		fields.results[1].is_admin = rows[i].is_admin;
		fields.claim.results.count = 2;
		put_device(&slice, "gpu-0", GPU_0, "");
		put_device(&slice, "gpu-1", GPU_1, "");
		put_device(&slice, "gpu-2", GPU_2, "");
		add_slice(&slice);
		if (i % 2 == 0)
			add_user("u-other", "gpu-2");
		use(add_pod_in(rows[i].uid, rows[i].is_over ? POD_PHASE_FAILED : POD_PHASE_RUNNING,
			       rows[i].is_over),
		    &how, add_claim(&fields));
		if (i % 2)
			add_user("u-other", "gpu-2");
		assert_int_equal(compute()->n_grants,
				 1 + (strcmp(rows[i].uid, "u-member") == 0 ? 2 : 0));
		assert_int_equal(world.result.n_devices, 3);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(world.result.devices[k].is_nameless, rows[i].expected[k]);
	}
}

TEST(whose_part_of_a_device_is_a_podgroups_does_not_tell_who_has_the_device)
{
	static const char *const names[] = {
		"gpu-1-mig-1g", /* the slice has it, with its parent's UUID */
		"gpu-1-mig-2g", /* only its name tells its parent */
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		start_anew();
		struct resource_claim_fields fields = claim_of("main", names[i], "u-member");
		struct resource_slice_fields slice = slice_of(1, 1);

		fields.claim.has_other_consumers = true;
		put_device(&slice, "gpu-0", GPU_0, "");
		put_device(&slice, "gpu-1", GPU_1, "");
		put_device(&slice, names[0], MIG_1, GPU_1);
		add_slice(&slice);
		use(add_pod("u1"), &whole_claim, add_claim(&fields));
		assert_int_equal(compute()->n_grants, 0);
		assert_int_equal(world.result.n_devices, 2);
		assert_false(world.result.devices[0].is_nameless);
		assert_true(world.result.devices[1].is_nameless);
	}
}

TEST(pods_that_share_a_claim_are_granted_the_same_device)
{
	struct resource_claim_fields fields = claim_of("main", "gpu-0", "u1");

	fields.consumers[fields.claim.consumers.count++] = VIEW("u2");
	const struct resource_claim *claim = add_claim(&fields);
	use(add_pod("u1"), &whole_claim, claim);
	use(add_pod("u2"), &whole_claim, claim);
	use(add_pod("u3"), &whole_claim, claim);
	add_device("gpu-0", GPU_0, "");
	assert_int_equal(compute()->n_grants, 2);
	assert_text(pod_uid(world.result.grants[0].pod), "u1");
	assert_text(pod_uid(world.result.grants[1].pod), "u2");
	assert_text(world.result.grants[1].uuid, GPU_0);
}

TEST(a_pod_that_is_over_is_granted_nothing)
{
	static const struct {
		enum pod_phase phase;
		bool terminated;
		size_t n_grants;
	} rows[] = {
		{POD_PHASE_PENDING, false, 1},  {POD_PHASE_RUNNING, true, 1},
		{POD_PHASE_SUCCEEDED, true, 0}, {POD_PHASE_FAILED, true, 0},
		{POD_PHASE_FAILED, false, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_claim_fields fields = claim_of("main", "gpu-0", "u1");

		start_anew();
		use(add_pod_in("u1", rows[i].phase, rows[i].terminated), &whole_claim,
		    add_claim(&fields));
		assert_int_equal(compute()->n_grants, rows[i].n_grants);
	}
}

TEST(a_container_is_granted_what_its_request_means)
{
	static const struct {
		const char *wanted, *given;
		size_t n_grants;
	} rows[] = {
		{"", "main", 1},         {"", "main/small", 1},     {"main", "main", 1},
		{"main", "main/small", 1}, {"main/small", "main/small", 1},
		{"main", "other", 0},    {"main", "mainly", 0},     {"main", "mainly/small", 0},
		{"main/small", "main", 0}, {"main/small", "main/large", 0}, {"small", "main/small", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_claim_fields fields = claim_of(rows[i].given, "gpu-0", "u1");
		const struct pod_claim how = {VIEW("main"), VIEW("c"), view_from(rows[i].wanted)};

		start_anew();
		use(add_pod("u1"), &how, add_claim(&fields));
		if (compute()->n_grants != rows[i].n_grants)
			fail_msg("row %zu", i);
	}
}

TEST(each_container_is_granted_a_device_once_however_often_it_names_it)
{
	static const struct pod_claim by_request = {VIEW_INIT("main"), VIEW_INIT("c"),
						    VIEW_INIT("main")};
	static const struct pod_claim by_sidecar = {VIEW_INIT("side"), VIEW_INIT("c"),
						    VIEW_INIT("")};
	struct resource_claim_fields fields = claim_of("main", "gpu-0", "u1");
	const struct pod *pod = add_pod("u1");

	fields.results[fields.claim.results.count++] = (struct resource_claim_result){
		VIEW("more"), VIEW(DRIVER), VIEW("p"), VIEW("gpu-1"), VIEW(""), false};
	const struct resource_claim *claim = add_claim(&fields);
	use(pod, &by_request, claim);
	use(pod, &whole_claim, claim);
	use(pod, &by_sidecar, claim);
	use(pod, &whole_claim, claim);
	static const char *const expected[][2] = {
		{"main", "p/gpu-0"}, {"main", "p/gpu-1"}, {"side", "p/gpu-0"}, {"side", "p/gpu-1"},
	};
	assert_int_equal(compute()->n_grants, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_text(world.result.grants[i].container, expected[i][0]);
		assert_text(world.result.grants[i].device, expected[i][1]);
	}
}

TEST(two_claims_of_one_pod_give_each_their_own)
{
	struct resource_claim_fields fields = claim_of("main", "gpu-0", "u1");
	const struct pod *pod = add_pod("u1");

	use(pod, &whole_claim, add_claim(&fields));
	use(pod, &whole_claim, add_claim(&fields));
	assert_int_equal(compute()->n_grants, 2);
}

TEST(uses_are_those_that_were_given_and_none_before)
{
	struct resource_claim_fields fields = claim_of("main", "gpu-0", "u1");
	const struct pod *pod = add_pod("u1");
	const struct resource_claim *claim = add_claim(&fields);
	struct error err;

	use(pod, &whole_claim, claim);
	use(pod, &whole_claim, claim);
	struct grant_input in = input();
	in.uses++;
	in.n_uses--;
	assert_int_equal(grant_compute(&in, &world.arena, &world.result, &err), 0);
	assert_int_equal(world.result.n_grants, 1);
}

TEST(admin_access_is_said)
{
	struct resource_claim_fields fields = claim_of("main", "gpu-0", "u1");

	fields.results[0].is_admin = true;
	use(add_pod("u1"), &whole_claim, add_claim(&fields));
	add_device("gpu-0", GPU_0, "");
	assert_true(only()->is_admin);
	assert_false(only()->is_share);
	assert_text(only()->uuid, GPU_0);
}

TEST(a_share_of_a_device_has_a_name_of_its_own)
{
	struct resource_claim_fields fields = claim_of("main", "gpu-0", "u1");

	fields.results[0].share_id = VIEW("s-1");
	use(add_pod("u1"), &whole_claim, add_claim(&fields));
	add_device("gpu-0", GPU_0, "");
	assert_true(only()->is_share);
	assert_text(only()->device, "p/gpu-0/s-1");
	assert_text(only()->uuid, GPU_0);
	fields.results[0].share_id = VIEW("1");
	world.n_uses = 0;
	use(world.pods[0], &whole_claim, add_claim(&fields));
	assert_text(only()->device, "p/gpu-0/1");
	assert_true(only()->is_share);
}

/* The UUIDs that stand behind a claimed name, for one pool with these devices. */
TEST(the_slice_tells_the_physical_device_and_the_partition)
{
	static const struct {
		const char *claimed;
		const char *devices[3][3]; /* name, UUID, parent's UUID */
		const char *uuid, *partition;
	} rows[] = {
		/* a whole device, whatever its number in the name */
		{"gpu-1", {{"gpu-0", GPU_1, ""}, {"gpu-1", GPU_0, ""}}, GPU_0, ""},
		/* what has a parent is a part, whatever its own UUID looks like */
		{"gpu-1", {{"gpu-1", GPU_0, GPU_1}}, GPU_1, ""},
		/* a MIG device that was there before */
		{"gpu-1-mig-1g5gb-19-0", {{"gpu-1-mig-1g5gb-19-0", MIG_1, GPU_1}}, GPU_1, MIG_1},
		/* one whose parent is told by its name only */
		{"gpu-1-mig-1g5gb-19-0",
		 {{"gpu-1-mig-1g5gb-19-0", MIG_1, ""}, {"gpu-1", GPU_1, ""}}, GPU_1, MIG_1},
		/* one that is made when it is claimed */
		{"gpu-1-mig-1g5gb-19-0",
		 {{"gpu-1-mig-1g5gb-19-0", "", ""}, {"gpu-1", GPU_1, ""}}, GPU_1, ""},
		/* one that is no longer on offer */
		{"gpu-1-mig-1g5gb-19-0", {{"gpu-1", GPU_1, ""}}, GPU_1, ""},
		/* what is in the parent's place is no parent */
		{"gpu-1-mig-1g5gb-19-0", {{"gpu-1", MIG_1, GPU_1}}, "", ""},
		{"gpu-1-mig-1g5gb-19-0", {{"gpu-11", GPU_1, ""}}, "", ""},
		/* a device that is gone, one without UUID, one with something else there */
		{"gpu-1", {{"gpu-0", GPU_0, ""}}, "", ""},
		{"gpu-1", {{"gpu-1", "", ""}}, "", ""},
		{"gpu-1", {{"gpu-1", "vfio-0", ""}}, "", ""},
		{"gpu-1-mig-0", {{"gpu-1-mig-0", "MIG-x", "GPU-x"}}, "", ""},
		/* two of one name */
		{"gpu-1", {{"gpu-1", GPU_0, ""}, {"gpu-1", GPU_1, ""}}, "", ""},
		{"gpu-1", {{"gpu-0", MIG_1, ""}, {"gpu-1", GPU_0, ""}, {"gpu-1", GPU_1, ""}}, "", ""},
		/* parts by their UUID, or their parent's, alone */
		{"gpu-1", {{"gpu-1", MIG_1, ""}}, "", MIG_1},
		{"gpu-1", {{"gpu-1", GPU_0, "x"}}, "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_slice_fields fields = slice_of(1, 1);

		start_anew();
		add_user("u1", rows[i].claimed);
		for (size_t k = 0; k < 3 && rows[i].devices[k][0]; k++)
			put_device(&fields, rows[i].devices[k][0], rows[i].devices[k][1],
				   rows[i].devices[k][2]);
		add_slice(&fields);
		const struct grant *grant = only();
		if (!view_equal(grant->uuid, view_from(rows[i].uuid)) ||
		    !view_equal(grant->partition, view_from(rows[i].partition)))
			fail_msg("row %zu: %.*s %.*s", i, VIEW_ARG(grant->uuid),
				 VIEW_ARG(grant->partition));
		bool has_parent = rows[i].devices[0][2] && *rows[i].devices[0][2];
		assert_int_equal(grant->is_part, strstr(rows[i].claimed, "-mig-") || has_parent ||
							 *rows[i].partition);
	}
}

/* No slice says a word of it, and its name still does. */
TEST(a_mig_device_without_a_slice_is_a_part_all_the_same)
{
	add_user("u1", "gpu-1-mig-1g5gb-19-0");
	assert_true(only()->is_part);
	start_anew();
	add_user("u1", "gpu-1");
	assert_false(only()->is_part);
}

TEST(a_device_of_another_pool_or_driver_does_not_count)
{
	struct resource_slice_fields pool = slice_of(1, 1), driver = slice_of(1, 1);

	pool.slice.pool = VIEW("q");
	put_device(&pool, "gpu-0", GPU_0, "");
	driver.slice.driver = VIEW("gpu.example.com");
	put_device(&driver, "gpu-0", GPU_1, "");
	add_user("u1", "gpu-0");
	add_slice(&pool);
	add_slice(&driver);
	assert_int_equal(only()->uuid.len, 0);
	/* Beside them, the right one is found. */
	add_device("gpu-0", GPU_1, "");
	assert_text(only()->uuid, GPU_1);
}

/*
 * Slices of one pool, each {generation, count, device "gpu-0"'s UUID or ""}; which UUID counts, and
 * whether all is known.
 */
TEST(only_a_newest_generation_that_is_whole_counts)
{
	static const struct {
		struct {
			int64_t generation, count;
			const char *uuid;
		} slices[3];
		const char *uuid;
		bool is_incomplete;
	} rows[] = {
		{{{1, 1, GPU_0}}, GPU_0, false},
		{{{1, 2, GPU_0}}, "", true},
		{{{1, 2, GPU_0}, {1, 2, NULL}}, GPU_0, false},
		/* more than there are to be, or not agreed on how many */
		{{{1, 1, GPU_0}, {1, 1, NULL}}, "", true},
		{{{1, 2, GPU_0}, {1, 3, NULL}}, "", true},
		{{{1, 0, GPU_0}}, "", true},
		/* what is left of an older one does not count, whole or not */
		{{{1, 1, GPU_0}, {2, 1, GPU_1}}, GPU_1, false},
		{{{2, 1, GPU_1}, {1, 5, GPU_0}}, GPU_1, false},
		/* a newer one has begun: nothing is known until it is there */
		{{{1, 1, GPU_0}, {2, 2, GPU_1}}, "", true},
		{{{1, 2, GPU_0}, {2, 2, NULL}}, "", true},
		{{{1, 1, GPU_0}, {2, 2, GPU_1}, {2, 2, NULL}}, GPU_1, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		add_user("u1", "gpu-0");
		for (size_t k = 0; k < 3 && rows[i].slices[k].generation; k++) {
			struct resource_slice_fields fields = slice_of(
				rows[i].slices[k].generation, rows[i].slices[k].count);

			put_device(&fields, rows[i].slices[k].uuid ? "gpu-0" : "gpu-9",
				   rows[i].slices[k].uuid, "");
			add_slice(&fields);
		}
		if (!view_equal(only()->uuid, view_from(rows[i].uuid)) ||
		    world.result.is_incomplete != rows[i].is_incomplete)
			fail_msg("row %zu", i);
		assert_int_equal(world.result.n_devices, rows[i].uuid[0] ? 1 : 0);
	}
}

TEST(an_incomplete_pool_leaves_the_others_alone)
{
	struct resource_slice_fields other = slice_of(1, 2);

	other.slice.pool = VIEW("q");
	put_device(&other, "gpu-1", GPU_1, "");
	add_slice(&other);
	add_user("u1", "gpu-0");
	add_device("gpu-0", GPU_0, "");
	assert_text(only()->uuid, GPU_0);
	assert_true(world.result.is_incomplete);
	assert_int_equal(world.result.n_devices, 1);
}

static struct resource_slice_device described(const char *name, const char *uuid,
					      const char *parent, int64_t memory_mib)
{
	return (struct resource_slice_device){
		.name = view_from(name), .uuid = view_from(uuid), .parent_uuid = view_from(parent),
		.model = VIEW("A100"), .compute_capability = VIEW("8.0.0"),
		.driver_version = VIEW("580.65.6"), .cuda_version = VIEW("13.0.0"),
		.pci_bus_id = VIEW("0000:3b:00.0"), .memory_mib = memory_mib,
	};
}

TEST(the_physical_devices_are_described_by_uuid)
{
	struct resource_slice_fields fields = slice_of(1, 1);

	fields.devices[fields.slice.devices.count++] = described("gpu-0", GPU_1, "", 40960);
	fields.devices[fields.slice.devices.count++] = described("gpu-1", GPU_0, "", 81920);
	fields.devices[fields.slice.devices.count++] = described("gpu-2", "what", "", 7);
	add_slice(&fields);
	assert_int_equal(compute()->n_devices, 2);
	const struct slice_device *device = &world.result.devices[0];
	assert_text(device->uuid, GPU_0);
	assert_text(device->model, "A100");
	assert_text(device->compute_capability, "8.0");
	assert_text(device->driver_version, "580.65.6");
	assert_text(device->cuda_version, "13.0");
	assert_text(device->pci_bus_id, "0000:3b:00.0");
	assert_int_equal(device->minor, 1);
	assert_int_equal(device->memory_mib, 81920);
	assert_text(world.result.devices[1].uuid, GPU_1);
}

TEST(the_number_in_the_drivers_name_is_the_devices)
{
	static const struct {
		const char *name;
		int64_t minor;
	} rows[] = {{"gpu-7", 7}, {"gpu-3-mig-1g10gb-19-0", 3}, {"card-1", -1}, {"gpu-x", -1}, {"gpu-", -1}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_slice_fields fields = slice_of(1, 1);

		start_anew();
		fields.devices[fields.slice.devices.count++] = described(rows[i].name, GPU_0, "", 40960);
		add_slice(&fields);
		assert_int_equal(compute()->n_devices, 1);
		assert_int_equal(world.result.devices[0].minor, rows[i].minor);
	}
}

TEST(partitions_describe_their_parent_but_for_the_memory)
{
	for (unsigned with_parent = 0; with_parent < 2; with_parent++) {
		struct resource_slice_fields fields = slice_of(1, 1);

		start_anew();
		fields.devices[fields.slice.devices.count++] = described("gpu-0-mig-0", MIG_1, GPU_0, 4864);
		fields.devices[fields.slice.devices.count++] = described("gpu-0-mig-1", MIG_1, GPU_0, 4864);
		if (with_parent)
			fields.devices[fields.slice.devices.count++] = described("gpu-0", GPU_0, "", 40960);
		add_slice(&fields);
		assert_int_equal(compute()->n_devices, 1);
		assert_text(world.result.devices[0].uuid, GPU_0);
		assert_text(world.result.devices[0].model, "A100");
		assert_int_equal(world.result.devices[0].memory_mib, with_parent ? 40960 : 0);
		assert_int_equal(world.result.devices[0].is_whole, with_parent);
	}
}

/* Entries come by name. */
TEST(what_one_partition_does_not_say_another_does)
{
	struct resource_slice_fields fields = slice_of(1, 1);

	put_device(&fields, "gpu-0-mig-0", MIG_1, GPU_0);
	fields.devices[fields.slice.devices.count++] = described("gpu-0-mig-1", MIG_1, GPU_0, 4864);
	put_device(&fields, "gpu-0-mig-2", MIG_1, GPU_0);
	add_slice(&fields);
	assert_int_equal(compute()->n_devices, 1);
	assert_text(world.result.devices[0].model, "A100");
	assert_text(world.result.devices[0].compute_capability, "8.0");
}

TEST(versions_lose_a_patch_that_is_zero_and_nothing_else)
{
	static const char *const rows[][2] = {
		{"8.0.0", "8.0"},   {"12.10.0", "12.10"}, {"8.0.1", "8.0.1"}, {"8.0", "8.0"},
		{"8", "8"},         {"", ""},             {"8.0.0-rc.1", "8.0.0-rc.1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource_slice_fields fields = slice_of(1, 1);

		start_anew();
		put_device(&fields, "gpu-0", GPU_0, "");
		fields.devices[0].compute_capability = view_from(rows[i][0]);
		fields.devices[0].driver_version = view_from(rows[i][0]);
		add_slice(&fields);
		assert_text(compute()->devices[0].compute_capability, rows[i][1]);
		assert_text(world.result.devices[0].driver_version, rows[i][0]);
	}
}

TEST(devices_beyond_the_bound_are_left_out_and_counted)
{
	static char uuids[LIMIT_REPORT_DEVICES + 2][64];
	struct resource_slice_fields fields = slice_of(1, 1);

	for (unsigned i = 0; i < ARRAY_SIZE(uuids); i++) {
		snprintf(uuids[i], sizeof(uuids[i]), "GPU-00000000-0000-0000-0000-%012x", i);
		put_device(&fields, uuids[i], uuids[i], "");
	}
	/* Neither a part of one that is left out nor a name that is no device's is another. */
	put_device(&fields, "part", MIG_1, uuids[LIMIT_REPORT_DEVICES]);
	put_device(&fields, "odd", "", "");
	add_slice(&fields);
	add_user("u1", uuids[LIMIT_REPORT_DEVICES]);
	/* Nor is another marked for a claim that is reserved for a PodGroup. */
	struct resource_claim_fields claim = claim_of("main", uuids[LIMIT_REPORT_DEVICES], "u1");
	claim.claim.has_other_consumers = true;
	use(add_pod("u2"), &whole_claim, add_claim(&claim));
	assert_int_equal(compute()->n_devices, LIMIT_REPORT_DEVICES);
	for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++)
		assert_false(world.result.devices[i].is_nameless);
	assert_int_equal(world.result.devices_left_out, 2);
	/* What is not described is granted all the same. */
	assert_text(only()->uuid, uuids[LIMIT_REPORT_DEVICES]);
}

TEST(nothing_in_gives_nothing_out)
{
	assert_int_equal(compute()->n_grants, 0);
	assert_int_equal(world.result.n_devices, 0);
	assert_false(world.result.is_incomplete);
}

/* A pool of its own with as many devices as a slice may have. */
static void add_full_slice(unsigned pool)
{
	static const char *const pools[] = {"q0", "q1", "q2", "q3"};
	struct resource_slice_fields fields = slice_of(1, 1);

	fields.slice.pool = view_from(pools[pool]);
	while (fields.slice.devices.count < RESOURCE_SLICE_MAX_DEVICES)
		put_device(&fields, "gpu", GPU_1, "");
	add_slice(&fields);
}

/* A pod whose claim was given so many devices, with names of 100 bytes. */
static void add_user_of(uint32_t n_results)
{
	static const char name[100] = "gpu";
	struct resource_claim_fields fields = claim_of("main", "", "u1");

	fields.results[0].device = (struct view){name, sizeof(name)};
	fields.claim.results.count = n_results;
	for (uint32_t i = 1; i < n_results; i++)
		fields.results[i] = fields.results[0];
	use(add_pod("u1"), &whole_claim, add_claim(&fields));
}

TEST(without_memory_the_result_is_untouched)
{
	static const struct {
		unsigned n_slices; /* full ones */
		uint32_t n_results;
		size_t step;
	} rows[] = {{0, 1, 8}, {4, 1, 1024}, {0, RESOURCE_CLAIM_MAX_RESULTS, 64}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool failed = true;

		start_anew();
		add_user_of(rows[i].n_results);
		for (unsigned k = 0; k < rows[i].n_slices; k++)
			add_full_slice(k);
		const struct grant_input in = input();
		for (size_t cap = 0; failed; cap += rows[i].step) {
			struct grant_result result = {.n_grants = 77};
			struct error err = {0};

			assert_true(cap < 16 * LIMIT_MIB);
			arena_deinit(&world.arena);
			arena_init(&world.arena, cap);
			failed = grant_compute(&in, &world.arena, &result, &err) < 0;
			assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
			assert_int_equal(result.n_grants, failed ? 77 : rows[i].n_results);
			for (uint32_t k = 0; !failed && k < rows[i].n_results; k++)
				assert_int_equal(result.grants[k].device.len, 2 + 100);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_pod_is_granted_the_device_that_its_claim_was_given),
	cmocka_unit_test_set_up(a_claim_gives_nothing_to_a_pod_that_it_is_not_reserved_for),
	cmocka_unit_test_set_up(who_may_use_what_is_reserved_for_a_podgroup_is_not_told),
	cmocka_unit_test_set_up(whose_part_of_a_device_is_a_podgroups_does_not_tell_who_has_the_device),
	cmocka_unit_test_set_up(pods_that_share_a_claim_are_granted_the_same_device),
	cmocka_unit_test_set_up(a_pod_that_is_over_is_granted_nothing),
	cmocka_unit_test_set_up(a_container_is_granted_what_its_request_means),
	cmocka_unit_test_set_up(each_container_is_granted_a_device_once_however_often_it_names_it),
	cmocka_unit_test_set_up(two_claims_of_one_pod_give_each_their_own),
	cmocka_unit_test_set_up(uses_are_those_that_were_given_and_none_before),
	cmocka_unit_test_set_up(admin_access_is_said),
	cmocka_unit_test_set_up(a_share_of_a_device_has_a_name_of_its_own),
	cmocka_unit_test_set_up(the_slice_tells_the_physical_device_and_the_partition),
	cmocka_unit_test_set_up(a_mig_device_without_a_slice_is_a_part_all_the_same),
	cmocka_unit_test_set_up(a_device_of_another_pool_or_driver_does_not_count),
	cmocka_unit_test_set_up(only_a_newest_generation_that_is_whole_counts),
	cmocka_unit_test_set_up(an_incomplete_pool_leaves_the_others_alone),
	cmocka_unit_test_set_up(the_physical_devices_are_described_by_uuid),
	cmocka_unit_test_set_up(the_number_in_the_drivers_name_is_the_devices),
	cmocka_unit_test_set_up(partitions_describe_their_parent_but_for_the_memory),
	cmocka_unit_test_set_up(what_one_partition_does_not_say_another_does),
	cmocka_unit_test_set_up(versions_lose_a_patch_that_is_zero_and_nothing_else),
	cmocka_unit_test_set_up(devices_beyond_the_bound_are_left_out_and_counted),
	cmocka_unit_test_set_up(nothing_in_gives_nothing_out),
	cmocka_unit_test_set_up(without_memory_the_result_is_untouched),
};

TEST_MAIN(tests)
