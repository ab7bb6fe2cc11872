/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "join/witnesses.h"

#include "join/facts.h"

static struct devices devices;
static struct facts facts;
static struct facts_draft draft;

/* Devices 0, which is cut, and 1. */
static void open_draft(void)
{
	struct error err;
	build_world_cut(&world, 0, 2);
	build_world_device(&world, 1);
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	facts = (struct facts){.input = &world.input, .devices = &devices};
	assert_int_equal(facts_open(&facts, &world.arena, &draft, &err), 0);
}

static void close_draft(void)
{
	struct error err;
	assert_int_equal(facts_close(&draft, &err), 0);
}

static struct holder *own(const char *uid, const char *container)
{
	return facts_add_holder(&draft, (struct holder){
						.pod_uid = view_from(uid),
						.container = view_from(container),
						.resource = VIEW("nvidia.com/gpu"),
					});
}

static const struct fact by_checkpoint = {.witnesses = WITNESS_CHECKPOINT,
					  .mps = SLOT_MPS_USED};
static const struct fact by_list = {.witnesses = WITNESS_POD_RESOURCES};
static const struct fact by_status = {.witnesses = WITNESS_POD_STATUS};

TEST(what_several_say_of_one_id_is_one_fact)
{
	open_draft();
	facts_add(&draft, own("u", "c"), build_world_uuid(&world, 1), by_status);
	facts_add(&draft, own("u", "c"), build_world_uuid(&world, 1), by_checkpoint);
	facts_add(&draft, own("u", "c"), build_world_uuid(&world, 1), by_list);
	close_draft();
	assert_int_equal(facts.n_items, 1);
	assert_int_equal(facts.n_placed, 1);
	const struct fact *item = &facts.items[0];
	assert_int_equal(item->device, 1);
	assert_int_equal(item->witnesses, WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES | WITNESS_POD_STATUS);
	assert_int_equal(item->mps, SLOT_MPS_USED);
	expect_text(item->owner->pod_uid, "u");
	expect_text(item->partition, "");
}

TEST(other_ids_containers_pods_and_devices_are_other_facts)
{
	open_draft();
	facts_add(&draft, own("u", "c"), build_world_replica(&world, 1, 0), by_list);
	facts_add(&draft, own("u", "c"), build_world_replica(&world, 1, 1), by_list);
	facts_add(&draft, own("u", "d"), build_world_replica(&world, 1, 0), by_list);
	facts_add(&draft, own("v", "c"), build_world_replica(&world, 1, 0), by_list);
	facts_add(&draft, own("u", "c"), build_world_replica(&world, 0, 0), by_list);
	close_draft();
	assert_int_equal(facts.n_items, 5);
}

TEST(facts_are_in_the_order_of_device_pod_container_and_id)
{
	open_draft();
	facts_add(&draft, own("a", "c"), VIEW("nowhere"), by_list);
	facts_add(&draft, own("u", "d"), build_world_replica(&world, 1, 0), by_list);
	facts_add(&draft, own("u", "c"), build_world_replica(&world, 1, 1), by_list);
	facts_add(&draft, own("u", "c"), build_world_replica(&world, 1, 0), by_list);
	facts_add(&draft, own("t", "z"), build_world_replica(&world, 1, 9), by_list);
	facts_add(&draft, NULL, build_world_replica(&world, 1, 3), by_list);
	facts_add(&draft, own("z", "z"), build_world_mig(&world, 0, 1), by_list);
	close_draft();
	static const char *const uids[] = {"z", "", "t", "u", "u", "u", "a"};
	assert_int_equal(facts.n_items, ARRAY_SIZE(uids));
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
		expect_text(facts.items[i].owner->pod_uid, uids[i]);
	assert_true(view_equal(facts.items[3].id, build_world_replica(&world, 1, 0)));
	expect_text(facts.items[5].owner->container, "d");
	assert_true(view_equal(facts.items[0].partition, build_world_mig(&world, 0, 1)));
}

TEST(of_two_resource_names_the_lower_one_stays)
{
	static const struct view names[] = {VIEW_INIT("a/gpu"), VIEW_INIT("b/gpu")};
	for (size_t i = 0; i < 2; i++) {
		open_draft();
		for (size_t k = 0; k < 2; k++) {
			struct holder *holder = own("u", "c");
			holder->resource = names[(i + k) % 2];
			facts_add(&draft, holder, build_world_uuid(&world, 1), by_list);
		}
		close_draft();
		assert_int_equal(facts.n_items, 1);
		expect_text(facts.items[0].owner->resource, "a/gpu");
		start_anew();
	}
}

TEST(ids_of_no_device_come_last_and_are_counted_as_often_as_named)
{
	open_draft();
	facts_add(&draft, own("a", "c"), VIEW("nowhere"), by_list);
	facts_add(&draft, own("a", "c"), VIEW("nowhere"), by_checkpoint);
	facts_add(&draft, own("b", "c"), build_world_uuid(&world, 7), by_list);
	facts_add(&draft, own("z", "c"), build_world_uuid(&world, 0), by_list);
	close_draft();
	assert_int_equal(facts.ids_unknown, 3);
	assert_int_equal(facts.n_items, 3);
	assert_int_equal(facts.n_placed, 1);
	assert_true(facts.items[1].device == FACT_NOWHERE);
	expect_text(facts.items[1].id, "nowhere");
}

/* Devices of other resources and makers are none of ours. A plugin may be told to call its resource
 * anything; what it calls the device is NVIDIA's. */
TEST(an_id_of_no_device_counts_only_where_it_may_be_a_gpus)
{
	static const struct {
		const char *resource, *id;
		bool counts;
	} rows[] = {
		{"", "nowhere", true},
		{"nvidia.com/gpu", "nowhere", true},
		{"nvidia.com/gpu.shared", "nowhere", true},
		{"nvidia.com/mig-1g.5gb", "nowhere", true},
		{"gpu.nvidia.com", "nowhere", true},
		{"nvidia.com/gpus", "nowhere", false},
		{"nvidia.com/mig", "nowhere", false},
		{"nvidia.com/pgpu", "nowhere", false},
		{"gpu.nvidia.com/x", "nowhere", false},
		{"rdma/hca", "nowhere", false},
		{"x", "GPU-ffffffff-0000-4000-8000-000000000000", true},
		{"x", "GPU-ffffffff-0000-4000-8000-000000000000::3", true},
		{"x", "GPU-ffffffff-0000-4000-8000-000000000000-3", true}, /* HAMi's */
		{"x", "MIG-ffffffff-0000-4000-8000-000000000000", true},
		{"x", "MIG-GPU-ffffffff-0000-4000-8000-000000000000/7/0", true},
		{"x", "GPU-7", false},
		{"x", "MIG-7", false},
		{"x", "nvidia7", false}, /* GKE's resource has one name */
		{"x", "nvidia7/vgpu0", false},
		{"x", "ffffffff-0000-4000-8000-000000000000", false}, /* a vGPU's */
		{"x", "0000:3b:00.0", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		open_draft();
		struct holder *holder = own("a", "c");
		holder->resource = view_from(rows[i].resource);
		facts_add(&draft, holder, view_from(rows[i].id), by_list);
		/* What is a device of ours is one by any name. */
		facts_add(&draft, holder, build_world_uuid(&world, 0), by_list);
		close_draft();
		assert_int_equal(facts.ids_unknown, rows[i].counts);
		assert_int_equal(facts.n_items, 1 + rows[i].counts);
		assert_int_equal(facts.n_placed, 1);
		start_anew();
	}
}

TEST(an_owner_without_a_name_is_nobody)
{
	open_draft();
	facts_add(&draft, own("", ""), build_world_uuid(&world, 1), by_list);
	facts_add(&draft, NULL, build_world_uuid(&world, 1), by_list);
	facts_add(&draft, own("", "c"), build_world_uuid(&world, 1), by_list);
	close_draft();
	assert_int_equal(facts.n_items, 2);
	expect_text(facts.items[1].owner->container, "c");
}

TEST(who_only_watches_by_one_word_uses_by_the_other)
{
	const struct fact uses = {.witnesses = WITNESS_RESOURCE_CLAIM, .id = VIEW_INIT("pool/0")};
	struct fact watches = uses;
	watches.takes_no_slot = watches.is_monitor = true;
	open_draft();
	facts_add_on(&draft, own("u", "c"), &devices.devices[0], watches);
	facts_add_on(&draft, own("v", "c"), &devices.devices[0], watches);
	facts_add_on(&draft, own("v", "c"), &devices.devices[0], uses);
	close_draft();
	assert_int_equal(facts.n_items, 2);
	assert_true(facts.items[0].takes_no_slot && facts.items[0].is_monitor);
	assert_false(facts.items[1].takes_no_slot || facts.items[1].is_monitor);
}

TEST(a_device_can_be_named_without_an_id)
{
	open_draft();
	facts_add_on(&draft, own("u", "c"), &devices.devices[1],
		     (struct fact){.witnesses = WITNESS_HAMI});
	facts_add(&draft, own("u", "c"), build_world_uuid(&world, 1), by_list);
	close_draft();
	assert_int_equal(facts.n_items, 2);
	assert_int_equal(facts.items[0].id.len, 0);
	assert_int_equal(facts.items[0].device, 1);
	assert_int_equal(facts.ids_unknown, 0);
}

TEST(an_id_of_hamis_marks_its_holder_as_a_placeholder)
{
	const struct view id = VIEW("GPU-00000001-0000-4000-8000-0123456789ab-2");
	open_draft();
	struct holder *held = own("u", "c"), *other = own("x", "c");
	facts_add(&draft, held, id, by_list);
	facts_add(&draft, other, build_world_uuid(&world, 1), by_list);
	facts_add(&draft, NULL, id, by_list);
	close_draft();
	assert_int_equal(facts.n_placed, 3);
	assert_int_equal(held->placeholder, PLACEHOLDER_HAMI);
	assert_int_equal(other->placeholder, PLACEHOLDER_NONE);
	expect_text(facts.items[0].owner->pod_uid, "");
	assert_int_equal(facts.items[0].owner->placeholder, PLACEHOLDER_NONE);
}

/* It is told at the end, whatever there was no room for. */
TEST(without_memory_a_draft_does_not_close)
{
	size_t n_failed = 0;
	open_draft();
	for (size_t cap = 64; cap < 262144; cap *= 2) {
		CLEANUP(arena_deinit) struct arena arena;
		struct error err = {0};
		arena_init(&arena, cap);
		facts = (struct facts){.input = &world.input, .devices = &devices};
		bool is_open = facts_open(&facts, &arena, &draft, &err) == 0;
		for (unsigned i = 0; i < 100 && is_open; i++)
			facts_add(&draft, own("u", "c"), build_world_replica(&world, 1, i), by_list);
		if (is_open && facts_close(&draft, &err) == 0) {
			assert_int_equal(facts.n_items, 100);
			continue;
		}
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
		n_failed++;
	}
	assert_in_range(n_failed, 1, 11);
}

static void read_facts(void)
{
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
}

TEST(what_is_not_there_is_not_found)
{
	size_t n;
	build_world_shared(&world, 0, 2);
	build_world_exclusive(&world, 1);
	world_run("b", build_world_replica(&world, 0, 0));
	read_facts();
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

TEST(a_claim_whose_device_no_slice_tells_is_unplaced_by_its_name)
{
	build_world_exclusive(&world, 0);
	build_world_slice(&world, 1); /* others are described */
	world_pod("a");
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_unplaced(status, "uid-a/main pool/gpu-0");
}

TEST(a_claim_of_a_pod_that_is_over_gives_no_device_that_is_not_told)
{
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "");
	assert_int_equal(world.result.refused.ids, 0);
}

TEST(what_any_witness_says_of_a_pod_that_is_over_is_no_fact)
{
	open_draft();
	const struct pod *pod = build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_FAILED});
	struct holder *holder = facts_add_container(&draft, pod, VIEW("main"), VIEW("nvidia.com/gpu"));
	for (unsigned i = 0; i < N_WITNESSES; i++) {
		facts_add(&draft, holder, build_world_uuid(&world, 1), (struct fact){.witnesses = 1u << i});
		facts_add(&draft, holder, VIEW("GPU-of-nobody"), (struct fact){.witnesses = 1u << i});
		facts_add_on(&draft, holder, &devices.devices[1], (struct fact){.witnesses = 1u << i});
	}
	close_draft();
	assert_int_equal(facts.n_items, 0);
	assert_int_equal(facts.ids_unknown, 0);
	assert_int_equal(facts_heard_of(&facts, VIEW("uid-a"), VIEW("main")), 0);
}

/* The slice that tells its device may be there. */
TEST(while_claims_cannot_be_read_none_is_unplaced)
{
	build_world_exclusive(&world, 0);
	world_pod("a");
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "");
	assert_int_equal(world.result.refused.ids, 0);
}

TESTS(set_up, tear_down)
