/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "join/ledger.h"

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

static struct devices devices;
static struct facts facts;
static struct ledger ledger;

#define ROOM 16

/* Devices 0, which is cut, and 1. */
static void open_ledger(void)
{
	struct error err;
	build_world_cut(&world, 0, 2);
	build_world_device(&world, 1);
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	facts = (struct facts){.input = &world.input, .devices = &devices};
	assert_int_equal(ledger_open(&ledger, &facts, ROOM, ROOM, &world.arena, &err), 0);
}

static struct holder *own(const char *uid, const char *container)
{
	return ledger_add_owner(&ledger, (struct holder){
						 .pod_uid = view_from(uid),
						 .container = view_from(container),
						 .resource = VIEW("nvidia.com/gpu"),
					 });
}

static const struct fact by_checkpoint = {.witnesses = WITNESS_CHECKPOINT,
					     .mps = FACT_MPS_USED};
static const struct fact by_list = {.witnesses = WITNESS_POD_RESOURCES};
static const struct fact by_status = {.witnesses = WITNESS_POD_STATUS};

static void what_several_say_of_one_id_is_one_holding(void **state)
{
	(void)state;
	open_ledger();
	ledger_note(&ledger, own("u", "c"), build_world_uuid(&world, 1), by_status);
	ledger_note(&ledger, own("u", "c"), build_world_uuid(&world, 1), by_checkpoint);
	ledger_note(&ledger, own("u", "c"), build_world_uuid(&world, 1), by_list);
	ledger_close(&ledger);
	assert_int_equal(facts.n_items, 1);
	assert_int_equal(facts.n_placed, 1);
	const struct fact *item = &facts.items[0];
	assert_int_equal(item->device, 1);
	assert_int_equal(item->witnesses, WITNESS_CHECKPOINT | WITNESS_POD_RESOURCES | WITNESS_POD_STATUS);
	assert_int_equal(item->mps, FACT_MPS_USED);
	expect_text(item->owner->pod_uid, "u");
	expect_text(item->partition, "");
}

static void other_ids_containers_pods_and_devices_are_other_holdings(void **state)
{
	(void)state;
	open_ledger();
	ledger_note(&ledger, own("u", "c"), build_world_replica(&world, 1, 0), by_list);
	ledger_note(&ledger, own("u", "c"), build_world_replica(&world, 1, 1), by_list);
	ledger_note(&ledger, own("u", "d"), build_world_replica(&world, 1, 0), by_list);
	ledger_note(&ledger, own("v", "c"), build_world_replica(&world, 1, 0), by_list);
	ledger_note(&ledger, own("u", "c"), build_world_replica(&world, 0, 0), by_list);
	ledger_close(&ledger);
	assert_int_equal(facts.n_items, 5);
}

static void holdings_are_in_the_order_of_device_pod_container_and_id(void **state)
{
	(void)state;
	open_ledger();
	ledger_note(&ledger, own("a", "c"), VIEW("nowhere"), by_list);
	ledger_note(&ledger, own("u", "d"), build_world_replica(&world, 1, 0), by_list);
	ledger_note(&ledger, own("u", "c"), build_world_replica(&world, 1, 1), by_list);
	ledger_note(&ledger, own("u", "c"), build_world_replica(&world, 1, 0), by_list);
	ledger_note(&ledger, own("t", "z"), build_world_replica(&world, 1, 9), by_list);
	ledger_note(&ledger, NULL, build_world_replica(&world, 1, 3), by_list);
	ledger_note(&ledger, own("z", "z"), build_world_mig(&world, 0, 1), by_list);
	ledger_close(&ledger);
	static const char *const uids[] = {"z", "", "t", "u", "u", "u", "a"};
	assert_int_equal(facts.n_items, ARRAY_SIZE(uids));
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
		expect_text(facts.items[i].owner->pod_uid, uids[i]);
	assert_true(view_equal(facts.items[3].id, build_world_replica(&world, 1, 0)));
	expect_text(facts.items[5].owner->container, "d");
	assert_true(view_equal(facts.items[0].partition, build_world_mig(&world, 0, 1)));
}

static void of_two_resource_names_the_lower_one_stays(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		open_ledger();
		own("u", "c")->resource = i ? VIEW("b/gpu") : VIEW("a/gpu");
		own("u", "c")->resource = i ? VIEW("a/gpu") : VIEW("b/gpu");
		for (size_t o = 0; o < 2; o++)
			ledger_note(&ledger, &ledger.owners[o], build_world_uuid(&world, 1),
				    by_list);
		ledger_close(&ledger);
		assert_int_equal(facts.n_items, 1);
		expect_text(facts.items[0].owner->resource, "a/gpu");
		build_world_deinit(&world);
		build_world_init(&world);
	}
}

static void ids_of_no_device_come_last_and_are_counted_as_often_as_named(void **state)
{
	(void)state;
	open_ledger();
	ledger_note(&ledger, own("a", "c"), VIEW("nowhere"), by_list);
	ledger_note(&ledger, own("a", "c"), VIEW("nowhere"), by_checkpoint);
	ledger_note(&ledger, own("b", "c"), build_world_uuid(&world, 7), by_list);
	ledger_note(&ledger, own("z", "c"), build_world_uuid(&world, 0), by_list);
	ledger_close(&ledger);
	assert_int_equal(facts.ids_unknown, 3);
	assert_int_equal(facts.n_items, 3);
	assert_int_equal(facts.n_placed, 1);
	assert_true(facts.items[1].device == FACT_NOWHERE);
	expect_text(facts.items[1].id, "nowhere");
}

/* Other devices of NVIDIA's are none of ours, nor are other makers'. */
static void an_id_of_no_device_counts_only_where_it_may_be_a_gpus(void **state)
{
	(void)state;
	static const struct {
		const char *resource;
		bool counts;
	} rows[] = {
		{"", true},
		{"nvidia.com/gpu", true},
		{"nvidia.com/gpu.shared", true},
		{"nvidia.com/mig-1g.5gb", true},
		{"gpu.nvidia.com", true},
		{"nvidia.com/gpus", false},
		{"nvidia.com/mig", false},
		{"nvidia.com/pgpu", false},
		{"gpu.nvidia.com/x", false},
		{"rdma/hca", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(NULL);
		set_up(NULL);
		open_ledger();
		struct holder *owner = own("a", "c");
		owner->resource = view_from(rows[i].resource);
		ledger_note(&ledger, owner, VIEW("nowhere"), by_list);
		/* What is a device of ours is one by any name. */
		ledger_note(&ledger, owner, build_world_uuid(&world, 0), by_list);
		ledger_close(&ledger);
		assert_int_equal(facts.ids_unknown, rows[i].counts);
		assert_int_equal(facts.n_items, 1 + rows[i].counts);
		assert_int_equal(facts.n_placed, 1);
	}
}

/* A plugin may be told to call its resource anything; what it calls the device is NVIDIA's. */
static void an_id_of_nvidias_forms_counts_whatever_the_resource_is_called(void **state)
{
	(void)state;
	static const struct {
		const char *id;
		bool counts;
	} rows[] = {
		{"GPU-ffffffff-0000-4000-8000-000000000000", true},
		{"GPU-ffffffff-0000-4000-8000-000000000000::3", true},
		{"GPU-ffffffff-0000-4000-8000-000000000000-3", true}, /* HAMi's */
		{"MIG-ffffffff-0000-4000-8000-000000000000", true},
		{"MIG-GPU-ffffffff-0000-4000-8000-000000000000/7/0", true},
		{"GPU-7", false},
		{"MIG-7", false},
		{"nvidia7", false}, /* GKE's resource has one name */
		{"nvidia7/vgpu0", false},
		{"ffffffff-0000-4000-8000-000000000000", false}, /* a vGPU's */
		{"0000:3b:00.0", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(NULL);
		set_up(NULL);
		open_ledger();
		struct holder *owner = own("a", "c");
		owner->resource = VIEW("nvidia.com/gpu-small");
		ledger_note(&ledger, owner, view_from(rows[i].id), by_list);
		ledger_close(&ledger);
		assert_int_equal(facts.ids_unknown, rows[i].counts);
		assert_int_equal(facts.n_items, rows[i].counts);
		assert_int_equal(facts.n_placed, 0);
	}
}

static void an_owner_without_a_name_is_nobody(void **state)
{
	(void)state;
	open_ledger();
	ledger_note(&ledger, own("", ""), build_world_uuid(&world, 1), by_list);
	ledger_note(&ledger, NULL, build_world_uuid(&world, 1), by_list);
	ledger_note(&ledger, own("", "c"), build_world_uuid(&world, 1), by_list);
	ledger_close(&ledger);
	assert_int_equal(facts.n_items, 2);
	expect_text(facts.items[1].owner->container, "c");
}

static void who_only_watches_by_one_word_uses_by_the_other(void **state)
{
	(void)state;
	const struct fact watches = {
		.witnesses = WITNESS_RESOURCE_CLAIM, .takes_no_slot = true, .is_monitor = true};
	open_ledger();
	ledger_note_device(&ledger, own("u", "c"), &devices.devices[0], VIEW("pool/0"), watches);
	ledger_note_device(&ledger, own("v", "c"), &devices.devices[0], VIEW("pool/0"), watches);
	ledger_note_device(&ledger, own("v", "c"), &devices.devices[0], VIEW("pool/0"),
			   (struct fact){.witnesses = WITNESS_RESOURCE_CLAIM});
	ledger_close(&ledger);
	assert_int_equal(facts.n_items, 2);
	assert_true(facts.items[0].takes_no_slot && facts.items[0].is_monitor);
	assert_false(facts.items[1].takes_no_slot || facts.items[1].is_monitor);
}

static void a_device_can_be_named_without_an_id(void **state)
{
	(void)state;
	open_ledger();
	ledger_note_device(&ledger, own("u", "c"), &devices.devices[1], (struct view){0},
			   (struct fact){.witnesses = WITNESS_HAMI});
	ledger_note(&ledger, own("u", "c"), build_world_uuid(&world, 1), by_list);
	ledger_close(&ledger);
	assert_int_equal(facts.n_items, 2);
	assert_int_equal(facts.items[0].id.len, 0);
	assert_int_equal(facts.items[0].device, 1);
	assert_int_equal(facts.ids_unknown, 0);
}

static struct view hami_id(unsigned replica)
{
	return build_world_text(&world, "GPU-00000001-0000-4000-8000-0123456789ab-%u", replica);
}

static void hamis_ids_mark_whoever_has_them_as_a_stand_in(void **state)
{
	(void)state;
	open_ledger();
	struct holder *plain = own("u", "c"), *known = own("v", "c"), *told = own("w", "c");
	struct holder *other = own("x", "c");
	known->pod = build_world_pod(&world, (struct build_pod){.name = "v"});
	told->pod = build_world_pod(&world, (struct build_pod){.name = "w", .hami = "x,y,1,1:;"});
	ledger_note(&ledger, plain, hami_id(2), by_list);
	ledger_note(&ledger, known, hami_id(2), by_list);
	ledger_note(&ledger, told, hami_id(2), by_list);
	ledger_note(&ledger, other, build_world_uuid(&world, 1), by_list);
	ledger_note(&ledger, NULL, hami_id(2), by_list);
	ledger_close(&ledger);
	assert_int_equal(facts.n_placed, 5);
	expect_text(plain->stand_in, "HAMi");
	expect_text(known->stand_in, "HAMi");
	expect_text(told->stand_in, "HAMi");
	expect_text(other->stand_in, "");
	expect_text(facts.items[0].owner->pod_uid, "");
	expect_text(facts.items[0].owner->stand_in, "");
}

/* Pods "a" and "b" have containers with IDs of HAMi's, and so has somebody who is not known. */
static void note_hami(const struct pod **ret_a, const struct pod **ret_b)
{
	static const char *const ids[] = {"GPU-00000001-0000-4000-8000-0123456789ab-0",
					  "GPU-00000001-0000-4000-8000-0123456789ab-1",
					  "GPU-00000007-0000-4000-8000-0123456789ab-0",
					  "GPU-00000001-0000-4000-8000-0123456789ab"};
	open_ledger();
	struct holder *a = own("uid-a", "c"), *b = own("uid-b", "c"), *d = own("uid-a", "d");
	a->pod = d->pod = *ret_a = build_world_pod(&world, (struct build_pod){.name = "a"});
	b->pod = *ret_b = build_world_pod(&world, (struct build_pod){.name = "b"});
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		ledger_note(&ledger, a, view_from(ids[i]), by_checkpoint);
	ledger_note(&ledger, a, hami_id(1), by_list);
	ledger_note(&ledger, b, hami_id(2), by_list);
	ledger_note(&ledger, b, hami_id(2), by_status);
	ledger_note(&ledger, d, hami_id(1), by_list);
	ledger_note(&ledger, own("uid-a", "c"), hami_id(4), by_list);
	ledger_note(&ledger, NULL, hami_id(5), by_list);
}

static bool take(const struct pod *pod, const char *container, unsigned device)
{
	return ledger_take_hami(&ledger, pod, view_from(container), &devices.devices[device]);
}

static void it_tells_which_containers_of_which_pods_have_ids_of_hamis(void **state)
{
	(void)state;
	const struct pod *a, *b;
	note_hami(&a, &b);
	assert_true(ledger_has_hami(&ledger, a, VIEW("c")));
	assert_true(ledger_has_hami(&ledger, a, VIEW("d")));
	assert_true(ledger_has_hami(&ledger, b, VIEW("c")));
	assert_false(ledger_has_hami(&ledger, b, VIEW("d")));
}

static void hamis_ids_of_a_container_are_taken_once_each_and_no_others(void **state)
{
	(void)state;
	const struct pod *a, *b;
	note_hami(&a, &b);
	for (size_t i = 0; i < 3; i++)
		assert_true(take(a, "c", 0));
	assert_false(take(a, "c", 0));
	assert_false(ledger_has_hami(&ledger, a, VIEW("c")));
	assert_true(ledger_has_hami(&ledger, a, VIEW("d")));
	assert_true(take(b, "c", 0)); /* two witnesses named it */
	assert_false(take(b, "c", 0));
	ledger_close(&ledger);
	static const char *const uids[] = {"", "uid-a", "uid-a", "uid-a"};
	assert_int_equal(facts.n_items, ARRAY_SIZE(uids));
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
		expect_text(facts.items[i].owner->pod_uid, uids[i]);
	assert_true(view_equal(facts.items[1].id, build_world_uuid(&world, 1)));
	assert_true(view_equal(facts.items[2].id, hami_id(4))); /* of no known pod */
}

static void for_a_device_an_id_of_its_own_is_taken_and_the_lowest_of_several(void **state)
{
	(void)state;
	/* Device 0, device 1, and one that is not known. */
	static const char *const ids[] = {"GPU-00000000-0000-4000-8000-0123456789ab-7",
					  "GPU-00000001-0000-4000-8000-0123456789ab-1",
					  "GPU-00000001-0000-4000-8000-0123456789ab-2",
					  "GPU-00000007-0000-4000-8000-0123456789ab-0"};
	static const struct {
		unsigned device;
		size_t left[3];
	} rows[] = {
		{0, {1, 2, 3}},
		{1, {0, 2, 3}},
	};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const size_t row = i / 2;
		open_ledger();
		struct holder *a = own("uid-a", "c");
		a->pod = build_world_pod(&world, (struct build_pod){.name = "a"});
		for (size_t k = 0; k < ARRAY_SIZE(ids); k++)
			ledger_note(&ledger, a, view_from(ids[i % 2 ? ARRAY_SIZE(ids) - 1 - k : k]),
				    by_list);
		assert_true(take(a->pod, "c", rows[row].device));
		ledger_close(&ledger);
		assert_int_equal(facts.n_items, 3);
		for (size_t k = 0; k < 3; k++)
			expect_text(facts.items[k].id, ids[rows[row].left[k]]);
		tear_down(NULL);
		set_up(NULL);
	}
}

static void an_empty_ledger_closes(void **state)
{
	(void)state;
	open_ledger();
	ledger_close(&ledger);
	assert_int_equal(facts.n_items, 0);
	assert_int_equal(facts.n_placed, 0);
}

static void without_memory_it_does_not_open(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 4096; cap += 1024) {
		CLEANUP(arena_deinit) struct arena arena;
		struct error err = {0};
		arena_init(&arena, cap);
		assert_int_equal(ledger_open(&ledger, &facts, 32, 32, &arena, &err), -1);
		assert_int_equal(err.kind, ERROR_NO_MEMORY);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(what_several_say_of_one_id_is_one_holding, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(other_ids_containers_pods_and_devices_are_other_holdings,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(holdings_are_in_the_order_of_device_pod_container_and_id,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_two_resource_names_the_lower_one_stays, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		ids_of_no_device_come_last_and_are_counted_as_often_as_named, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_id_of_no_device_counts_only_where_it_may_be_a_gpus,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_id_of_nvidias_forms_counts_whatever_the_resource_is_called, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_owner_without_a_name_is_nobody, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_only_watches_by_one_word_uses_by_the_other, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_device_can_be_named_without_an_id, set_up, tear_down),
	cmocka_unit_test_setup_teardown(hamis_ids_mark_whoever_has_them_as_a_stand_in, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(it_tells_which_containers_of_which_pods_have_ids_of_hamis,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(hamis_ids_of_a_container_are_taken_once_each_and_no_others,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		for_a_device_an_id_of_its_own_is_taken_and_the_lowest_of_several, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(an_empty_ledger_closes, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_it_does_not_open, set_up, tear_down),
};

TEST_MAIN(tests)
