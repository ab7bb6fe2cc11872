/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/scenario.h"
#include "lib/world_fixture.h"
#include "join/witnesses.h"

#include "join/slots.h"

static struct devices devices;
static struct facts facts;

static struct slots collect(void)
{
	struct slots slots;
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	assert_int_equal(slots_collect(&facts, &world.arena, &slots, &err), 0);
	return slots;
}

/* The slots of a device: *ret_n from the returned one on; NULL when there are none. */
static const struct slot *slots_of(const struct slots *slots, size_t device, size_t *ret_n)
{
	const struct slot *first = NULL;
	*ret_n = 0;
	for (size_t i = 0; i < slots->n_items; i++)
		if (slots->items[i].device == device) {
			first = *ret_n == 0 ? &slots->items[i] : first;
			(*ret_n)++;
		}
	return first;
}

TEST(whether_an_offer_is_known_is_told)
{
	build_world_exclusive(&world, 0);
	assert_true(collect().is_offer_known);
	world.report.allocatable = (struct array){0};
	assert_true(collect().is_offer_known);
	world.report.checkpoint.present = false;
	assert_false(collect().is_offer_known);
	world.report.checkpoint.present = true;
	world.report.checkpoint.registered = (struct array){0};
	assert_false(collect().is_offer_known);
	world.input.report = NULL;
	assert_false(collect().is_offer_known);
	assert_int_equal(collect().n_items, 0);
}

/* It may be of before the plugin was configured anew. */
TEST(a_dated_offer_counts_only_where_no_other_speaks)
{
	enum { OK = REPORT_SOURCE_OK, BAD = REPORT_SOURCE_ERROR };
	static const struct {
		int list, book; /* the sources */
		bool is_advertised, is_registered;
		const char *ids; /* a: what is advertised, r: what is registered */
		const char *now; /* the same: what is so now */
	} rows[] = {
		{OK, OK, true, true, "ar", "a"},  {OK, BAD, true, true, "a", "a"},
		{BAD, OK, true, true, "r", "r"},  {BAD, BAD, true, true, "ar", ""},
		{OK, BAD, false, true, "r", ""},  {BAD, OK, true, false, "a", ""},
		{OK, OK, false, true, "r", "r"},  {OK, OK, true, false, "a", "a"},
		{BAD, BAD, false, false, "", ""},
	};
	static struct view advertised = VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab::0");
	static struct view registered = VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab::1");
	build_world_device(&world, 0);
	world.allocatable.device_ids = (struct array){&advertised, 1, true};
	world.registered.device_ids = (struct array){&registered, 1, true};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char ids[3] = "", now[3] = "";
		size_t n = 0, n_now = 0;
		world.report.sources.pod_resources.state = rows[i].list;
		world.report.sources.checkpoint.state = rows[i].book;
		world.report.allocatable = rows[i].is_advertised
						   ? (struct array){&world.allocatable, 1, true}
						   : (struct array){0};
		world.report.checkpoint.registered =
			rows[i].is_registered ? (struct array){&world.registered, 1, true}
					      : (struct array){0};
		struct slots slots = collect();
		for (size_t k = 0; k < slots.n_items; k++) {
			ids[n++] = view_equal(slots.items[k].id, advertised) ? 'a' : 'r';
			if (slots.items[k].is_on_offer_now)
				now[n_now++] = ids[n - 1];
		}
		assert_string_equal(ids, rows[i].ids);
		assert_string_equal(now, rows[i].now);
		assert_int_equal(slots.is_offer_told_now, n_now > 0);
		assert_int_equal(slots.is_offer_known,
				 rows[i].is_advertised || rows[i].is_registered);
	}
}

/* None is an answer, too: the plugin has gone. */
TEST(an_empty_offer_is_not_filled_up_by_a_dated_one)
{
	build_world_exclusive(&world, 0);
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
	assert_int_equal(collect().n_items, 1);
	world.report.allocatable.count = 0;
	assert_int_equal(collect().n_items, 0);
	assert_true(collect().is_offer_known);
}

TEST(a_claims_device_is_a_slot_by_its_name_once_however_many_share_it)
{
	build_world_cut(&world, 0, 1);
	build_world_offer_nothing(&world);
	world_pod("a");
	world_pod("b");
	world_pod("m");
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-b", "main", 0);
	struct grant *part = build_world_grant(&world, "uid-b", "main", 0);
	part->device = VIEW("q");
	part->partition = VIEW("m");
	struct grant *admin = build_world_grant(&world, "uid-m", "main", 0);
	admin->device = VIEW("pool/other");
	admin->is_admin = true;
	build_world_regrant(&world);
	struct slots slots = collect();
	size_t n;
	const struct slot *own = slots_of(&slots, 0, &n);
	assert_int_equal(n, 2);
	expect_text(own[0].id, "pool/gpu-0");
	assert_true(own[0].is_held && !own[0].is_mig && !own[0].is_offered);
	expect_text(own[1].id, "q");
	assert_true(own[1].is_mig);
	expect_text(own[1].partition, "m");
	assert_true(own[0].is_shared && !own[1].is_shared);
	assert_false(own[0].is_share);
	world.granted[1].grant.is_share = true;
	build_world_regrant(&world);
	slots = collect();
	assert_true(slots_of(&slots, 0, &n)[0].is_share);
}

/* The plugin offers it under the name that the claim has for it. */
TEST(a_slot_of_one_claim_is_not_shared_though_it_is_offered_too)
{
	build_world_exclusive(&world, 0);
	world_pod("a");
	build_world_grant(&world, "uid-a", "main", 0)->device = build_world_uuid(&world, 0);
	build_world_regrant(&world);
	struct slots slots = collect();
	assert_int_equal(slots.n_items, 1);
	assert_true(slots.items[0].is_offered && slots.items[0].is_held);
	assert_false(slots.items[0].is_shared);
}

TEST(what_each_resource_offers_is_a_slot)
{
	static struct view ids[2][300];
	struct report_resource_devices resources[] = {
		{.device_ids = {ids[0], ARRAY_SIZE(ids[0]), true}},
		{.device_ids = {ids[1], ARRAY_SIZE(ids[1]), true}},
	};
	build_world_device(&world, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(ids[0]); i++) {
		ids[0][i] = build_world_replica(&world, 0, i);
		ids[1][i] = build_world_text(&world, "%s-%u", build_world_uuid(&world, 0).ptr, i);
	}
	world.report.allocatable = (struct array){resources, ARRAY_SIZE(resources), true};
	assert_int_equal(collect().n_items, 2 * ARRAY_SIZE(ids[0]));
}

TEST(a_part_of_a_device_is_told_by_each_form_of_id)
{
	struct report_device *device = build_world_device(&world, 0);
	device->minor = 0;
	for (int i = 0; i < 2; i++) {
		build_world_offer_nothing(&world);
		build_world_offer(&world, i == 0 ? VIEW("nvidia0/gi0")
						 : build_world_text(&world, "MIG-%.*s/0/0",
								    VIEW_ARG(device->uuid)));
		struct slots slots = collect();
		assert_int_equal(slots.n_items, 1);
		assert_true(slots.items[0].is_mig);
	}
}

/* As with renameByDefault: the kubelet has the replicas of each name as devices of their own. */
TEST(a_replica_is_another_slot_under_the_name_of_another_resource)
{
	static const struct view shared = VIEW_INIT("nvidia.com/gpu.shared");
	static const char *const resources[] = {"nvidia.com/gpu", "nvidia.com/gpu.shared",
						"nvidia.com/gpu.shared"};
	static const bool held[] = {true, true, false}, offered[] = {false, true, true};
	build_world_shared(&world, 0, 2);
	world_run("a", build_world_replica(&world, 0, 0));
	world_run("b", build_world_replica(&world, 0, 0));
	world.allocatable.resource = world.registered.resource = shared;
	world.listed[0].resource = world.booked[0].resource = shared;
	struct slots slots = collect();
	assert_int_equal(slots.n_items, 3);
	for (size_t i = 0; i < slots.n_items; i++) {
		expect_text(slots.items[i].resource, resources[i]);
		assert_int_equal(slots.items[i].is_held, held[i]);
		assert_int_equal(slots.items[i].is_offered, offered[i]);
	}
	/* Of a holder that only the List names, and that is no pod, the resource is not known. */
	build_world_list(&world, "x", "other", build_world_replica(&world, 0, 0));
	assert_int_equal(collect().n_items, 3);
	world.report.checkpoint.entries.count = 0;
	world.listed[0].name = VIEW("y");
	world.listed[1].name = VIEW("z");
	slots = collect();
	assert_int_equal(slots.n_items, 2);
	assert_true(slots.items[0].is_held && slots.items[0].is_offered);
	/* What names the whole of a device has one name more, and is the same. */
	world.report.pod_resources.count = 0;
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_uuid(&world, 0));
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	assert_int_equal(collect().n_items, 1);
}

TEST(an_odd_id_is_a_slot_that_says_so)
{
	build_world_device(&world, 0);
	build_world_offer(&world, VIEW("GPU-00000000-0000-4000-8000-0123456789ab?"));
	struct slots slots = collect();
	assert_int_equal(slots.n_items, 1);
	assert_true(slots.items[0].is_odd);
	assert_int_equal(slots.ids_unknown, 0);
}

static const struct scenario_promise promises[] = {
	PROMISE(an_id_is_one_slot_whether_offered_held_or_both,
		"gpu 0 shared 2; run a on gpu0::1 gpu0::2; expect slots 2/3; expect mode TimeSliced"),
	PROMISE(slots_are_kept_apart_by_device,
		"gpu 0 exclusive; gpu 1; gpu 2 mig 2; run a on mig2.1; expect slots 0/1;"
		"expect gpu1 slots 0/0; expect gpu2 slots 1/2; expect gpu2 a partitions=mig2.1;"
		"expect gpu2 mode MIG"),
	PROMISE(offered_ids_of_no_device_are_counted,
		"gpu 0 exclusive; offer all; expect unknown-ids 2; expect slots 0/1"),
	PROMISE(while_nvml_does_not_answer_a_mig_device_on_offer_may_be_any_devices,
		"gpu 0 exclusive; publish; lose nvml; offer none;"
		"offer MIG-5e3f9f2c-1b7a-4d0e-9c4b-2a6d8e1f7c30; expect slots 0/1; expect mode Exclusive;"
		"expect Healthy Unknown NVMLUnavailable; restore nvml; expect slots 0/0;"
		"expect Healthy False NotAdvertised"),
	PROMISE(while_nvml_does_not_answer_another_card_on_offer_is_not_this_one,
		"gpu 0 exclusive; publish; lose nvml; offer none;"
		"offer GPU-5e3f9f2c-1b7a-4d0e-9c4b-2a6d8e1f7c30; expect slots 0/0;"
		"expect Healthy False NotAdvertised"),
	PROMISE(a_device_on_offer_is_told_by_its_own_ids_whatever_else_is,
		"gpu 0 exclusive; gpu 1 exclusive; publish; lose nvml; offer none;"
		"offer gpu0 MIG-5e3f9f2c-1b7a-4d0e-9c4b-2a6d8e1f7c30; expect slots 0/1;"
		"expect gpu1 slots 0/1"),
	/* Claims may call two devices by one name, as when a boot has numbered them anew. */
	PROMISE(a_name_on_two_devices_is_a_slot_of_each,
		"gpu 0; gpu 1; pod a; pod b; grant a gpu0; grant b gpu1 device=pool/gpu-0;"
		"expect slots 1/1; expect gpu1 slots 1/1; expect tenants a; expect gpu1 tenants b"),
};

SCENARIO_MAIN_WITH(promises, set_up, tear_down)
