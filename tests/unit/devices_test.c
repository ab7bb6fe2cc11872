/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "lib/world_fixture.h"
#include "base/limits.h"
#include "base/lookup.h"
#include "join/devices.h"

static struct devices make(void)
{
	struct devices devices;
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	return devices;
}

static void expect_place(const struct devices *devices, const char *id, ptrdiff_t device,
			 const char *partition)
{
	struct device_place place = devices_find(devices, view_from(id));
	if (device < 0) {
		assert_null(place.device);
		return;
	}
	assert_ptr_equal(place.device, &devices->devices[device]);
	expect_text(place.partition, partition);
}

TEST(nvmls_word_is_good_dated_or_missing)
{
	build_world_device(&world, 0);
	assert_int_equal(make().nvml, REPORT_LIST_GOOD);
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	assert_int_equal(make().nvml, REPORT_LIST_DATED);
	assert_int_equal(make().n_devices, 1);
	build_world_fail_nvml(&world);
	assert_int_equal(make().nvml, REPORT_LIST_NONE);
	world.input.report = NULL;
	assert_int_equal(make().nvml, REPORT_LIST_NONE);
	assert_int_equal(make().n_devices, 0);
}

TEST(a_reported_device_is_listed_once_however_it_is_known)
{
	build_world_exclusive(&world, 1);
	build_world_exclusive(&world, 0);
	build_world_publish(&world);
	world.devices[world.report.devices.count++] = world.devices[0];
	struct devices devices = make();
	assert_int_equal(devices.n_devices, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(devices.devices[i].is_ours);
		assert_false(devices.devices[i].is_taken);
		assert_non_null(devices.devices[i].reported);
		assert_ptr_equal(devices.devices[i].published->status,
				 &devices.devices[i].object->object->status);
	}
	assert_true(view_equal(devices.devices[0].uuid, build_world_uuid(&world, 0)));
}

TEST(objects_of_other_nodes_count_only_when_reported_here)
{
	build_world_exclusive(&world, 0);
	build_world_publish(&world);
	world_alter(0)->status.node_name = VIEW("b");
	struct devices devices = make();
	assert_true(devices.devices[0].is_taken);
	assert_null(devices.devices[0].published);
	world_alter(0)->status.node_name = (struct view){0};
	devices = make();
	assert_false(devices.devices[0].is_taken);
	assert_false(devices.devices[0].is_ours);
	assert_null(devices.devices[0].published);
	world.report.devices.count = 0;
	assert_int_equal(make().n_devices, 0);
}

/* Ages are in ms; a report is stale after 120 s, and after 30 s without one there is no agent. */
TEST(a_device_is_elsewhere_until_it_is_shown_that_it_was_moved_here)
{
	static const struct {
		const char *holder;
		int64_t claimed_age, report_age;
		bool is_silent, is_unlisted; /* no report; one that does not list it */
		bool was_agentless, is_named; /* at the holder */
		bool is_elsewhere;
	} rows[] = {
		{"b", -1, 0, false, false, false, false, false},
		{"b", 0, 0, false, false, false, false, true},
		{"b", 119999, 0, false, false, false, false, true},
		{"b", 120000, 0, false, false, false, false, false},
		{"b", -1, 119999, false, false, false, false, false},
		{"b", -1, 120000, false, false, false, false, true},
		{"b", -1, 0, false, true, false, false, true},
		{"b", -1, 30000, true, false, true, false, false},
		{"b", -1, 29999, true, false, true, false, true},
		{"b", -1, 30000, true, false, false, false, true},
		{"b", -1, 30000, true, false, true, true, true},
		{"b", 1000, 30000, true, false, true, false, true},
		{"", 1000, 0, false, false, false, false, false},
		{"gpu-a", 1000, 0, false, false, false, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		const struct slice_device sliced = {.uuid = build_world_uuid(&world, 0)};
		build_world_exclusive(&world, 0);
		if (rows[i].was_agentless)
			build_world_without_agent(&world);
		world.input.slice_devices = &sliced;
		world.input.n_slice_devices = 1;
		build_world_publish(&world);
		struct attribution object = *build_world_previous(&world, 0)->object;
		object.status.node_name = view_from(rows[i].holder);
		build_world_previous(&world, 0)->object = &object;
		build_world_previous(&world, 0)->claimed_age_ms = rows[i].claimed_age;
		build_world_previous(&world, 0)->is_named_elsewhere = rows[i].is_named;
		world.input.report = rows[i].is_silent ? NULL : &world.report;
		world.input.report_age_ms = rows[i].report_age;
		if (rows[i].is_unlisted) {
			world.report.devices.count = 0;
			world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
		}
		struct devices devices = make();
		assert_int_equal(devices.n_devices, 1);
		assert_int_equal(devices.devices[0].is_elsewhere, rows[i].is_elsewhere);
	}
}

TEST(uuids_are_the_same_in_either_case)
{
	build_world_device(&world, 0)->uuid = VIEW("GPU-AAAAAAAA-0000-4000-8000-0123456789AB");
	build_world_device(&world, 0)->uuid = VIEW("GPU-bbbbbbbb-0000-4000-8000-0123456789ab");
	build_world_device(&world, 0)->uuid = VIEW("GPU-aaaaaaaa-0000-4000-8000-0123456789aa");
	struct devices devices = make();
	expect_place(&devices, "GPU-aaaaaaaa-0000-4000-8000-0123456789aa", 0, "");
	expect_place(&devices, "GPU-aaaaaaaa-0000-4000-8000-0123456789ab", 1, "");
	expect_place(&devices, "GPU-BBBBBBBB-0000-4000-8000-0123456789ab::3", 2, "");
	expect_place(&devices, "GPU-AAAAAAAA-0000-4000-8000-0123456789AA", 0, "");
}

static struct view own_copy(const char *text)
{
	size_t len = strlen(text);
	char *bytes = malloc(len);
	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = text[i];
	return (struct view){bytes, len};
}

/* Texts are in memory of their own, where a sanitizer sees who reads past the end. */
TEST(devices_are_in_the_order_of_their_uuids_in_lower_case)
{
	static const char *const uuids[] = {"APU-z", "GPU-0", "GPU-@", "GPU-[", "GPU-A",
					    "GPU-b", "GPU-y", "GPU-Z", "GPU-z0", "GPU-Z1"};
	enum { N = ARRAY_SIZE(uuids) };
	struct view copies[N];
	for (size_t i = 0; i < N; i++)
		copies[i] = own_copy(uuids[i]);
	for (size_t shift = 0; shift < N; shift++) {
		world.report.devices.count = 0;
		for (size_t i = 0; i < N; i++)
			build_world_device(&world, 0)->uuid = copies[(3 * i + shift) % N];
		struct devices devices = make();
		assert_int_equal(devices.n_devices, N);
		for (size_t i = 0; i < N; i++)
			expect_text(devices.devices[i].uuid, uuids[i]);
	}
	for (size_t i = 0; i < N; i++)
		free((void *)copies[i].ptr);
}

TEST(every_form_of_id_finds_its_device)
{
	build_world_cut(&world, 0, 2);
	build_world_device(&world, 1);
	struct devices devices = make();
	expect_place(&devices, "GPU-00000001-0000-4000-8000-0123456789ab", 1, "");
	expect_place(&devices, "GPU-00000001-0000-4000-8000-0123456789ab::2", 1, "");
	expect_place(&devices, "GPU-00000001-0000-4000-8000-0123456789ab-2", 1, "");
	expect_place(&devices, "GPU-00000007-0000-4000-8000-0123456789ab", -1, "");
	expect_place(&devices, "MIG-00000000-0000-4000-8000-000000000001", 0,
		     "MIG-00000000-0000-4000-8000-000000000001");
	expect_place(&devices, "MIG-00000000-0000-4000-8000-000000000001::1", 0,
		     "MIG-00000000-0000-4000-8000-000000000001");
	expect_place(&devices, "MIG-00000000-0000-4000-8000-00000000000f", -1, "");
	expect_place(&devices, "MIG-GPU-00000000-0000-4000-8000-0123456789ab/7/0::4", 0,
		     "MIG-GPU-00000000-0000-4000-8000-0123456789ab/7/0");
	expect_place(&devices, "nvidia1", 1, "");
	expect_place(&devices, "nvidia1/vgpu3", 1, "");
	expect_place(&devices, "nvidia0/gi8", 0, "MIG-00000000-0000-4000-8000-000000000001");
	expect_place(&devices, "nvidia0/gi9", 0, "");
	expect_place(&devices, "nvidia0/gi7", 0, "MIG-00000000-0000-4000-8000-000000000000");
	expect_place(&devices, "nvidia7", -1, "");
	expect_place(&devices, "nvidia7/gi1", -1, "");
	expect_place(&devices, "all", -1, "");
}

TEST(of_several_compute_instances_the_first_is_meant)
{
	struct report_device *device = build_world_cut(&world, 0, 3);
	struct report_partition *items = device->partitions.items;
	for (unsigned i = 0; i < 3; i++) {
		items[i].gpu_instance_id = 7;
		items[i].compute_instance_id = (i + 2) % 3;
	}
	struct devices devices = make();
	expect_place(&devices, "nvidia0/gi7", 0, "MIG-00000000-0000-4000-8000-000000000001");
}

TEST(a_gpu_instance_of_number_0_or_of_none_is_what_it_is)
{
	struct report_device *device = build_world_cut(&world, 0, 2);
	struct report_partition *items = device->partitions.items;
	items[0].gpu_instance_id = -1;
	items[1].gpu_instance_id = 0;
	struct devices devices = make();
	expect_place(&devices, "nvidia0", 0, "");
	expect_place(&devices, "nvidia0/gi0", 0, "MIG-00000000-0000-4000-8000-000000000001");
}

TEST(a_partition_belongs_to_whoever_was_published_with_it)
{
	struct view of_first[] = {VIEW("MIG-00000000-0000-4000-8000-00000000000a")};
	struct view of_second[] = {VIEW("MIG-00000000-0000-4000-8000-00000000000b"),
				   VIEW("MIG-00000000-0000-4000-8000-00000000000c")};
	struct attribution_tenant tenants[] = {
		{.partitions = {of_first, 1, true}}, {.partitions = {of_second, 2, true}},
	};
	struct attribution_partition partitions[] = {
		{.uuid = VIEW("MIG-00000000-0000-4000-8000-00000000000d")},
		{.uuid = VIEW("MIG-00000000-0000-4000-8000-00000000000e")},
	};
	struct attribution_partition other[] = {
		{.uuid = VIEW("MIG-00000000-0000-4000-8000-00000000000f")},
	};
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_publish(&world);
	struct attribution first = *build_world_previous(&world, 0)->object;
	struct attribution second = *build_world_previous(&world, 1)->object;
	first.status.partitions = (struct array){other, 1, true};
	first.status.tenants = (struct array){&(struct attribution_tenant){
						      .partitions = {&other[0].uuid, 1, true}},
					      1, true};
	second.status.partitions = (struct array){partitions, 2, true};
	second.status.tenants = (struct array){tenants, 2, true};
	build_world_previous(&world, 0)->object = &first;
	build_world_previous(&world, 1)->object = &second;
	build_world_restart(&world);
	struct devices devices = make();
	for (char last = 'a'; last <= 'f'; last++) {
		char id[] = "MIG-00000000-0000-4000-8000-00000000000?";
		id[sizeof(id) - 2] = last;
		expect_place(&devices, id, last == 'f' ? 0 : 1, id);
	}
	expect_place(&devices, "MIG-00000000-0000-4000-8000-000000000000", -1, "");
}

TEST(the_object_says_how_the_uuid_is_written)
{
	struct report_device *device = build_world_exclusive(&world, 0);
	build_world_publish(&world);
	device->uuid = VIEW("GPU-00000000-0000-4000-8000-0123456789AB");
	expect_text(make().devices[0].uuid, "GPU-00000000-0000-4000-8000-0123456789ab");
}

TEST(without_nvml_every_book_names_devices)
{
	struct view uuids[8];
	struct report_resource_devices offered[4];
	for (unsigned i = 0; i < ARRAY_SIZE(uuids); i++)
		uuids[i] = build_world_uuid(&world, i);
	for (unsigned i = 0; i < ARRAY_SIZE(offered); i++)
		offered[i] = (struct report_resource_devices){.device_ids = {&uuids[i], 1, true}};
	world.report.allocatable = (struct array){&offered[0], 2, true};
	world.report.checkpoint.registered = (struct array){&offered[2], 2, true};
	for (unsigned i = 4; i < 6; i++) {
		build_world_list(&world, "a", "main", uuids[i]);
		build_world_book(&world, "uid-a", "main", uuids[i + 2]);
	}
	world.report.sources.nvml.state = REPORT_SOURCE_ERROR;
	world.report.devices = (struct array){0};
	struct devices devices = make();
	assert_int_equal(devices.n_devices, ARRAY_SIZE(uuids));
	for (unsigned i = 0; i < ARRAY_SIZE(uuids); i++)
		assert_true(view_equal(devices.devices[i].uuid, uuids[i]));
	/* Their minor is not known. */
	expect_place(&devices, "nvidia0", -1, "");
}

TEST(a_device_knows_the_slice_that_describes_it)
{
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_slice(&world, 7);
	build_world_slice(&world, 1);
	struct devices devices = make();
	assert_int_equal(devices.n_devices, 2);
	assert_null(devices.devices[0].slice);
	assert_ptr_equal(devices.devices[1].slice, &world.slices[1]);
}

TEST(what_is_reported_of_a_partition_goes_before_what_was_published)
{
	build_world_cut(&world, 0, 1);
	build_world_exclusive(&world, 1);
	build_world_publish(&world);
	struct attribution_partition moved = {.uuid = build_world_mig(&world, 0, 0)};
	struct attribution second = *build_world_previous(&world, 1)->object;
	second.status.partitions = (struct array){&moved, 1, true};
	build_world_previous(&world, 1)->object = &second;
	struct devices devices = make();
	expect_place(&devices, "MIG-00000000-0000-4000-8000-000000000000", 0,
		     "MIG-00000000-0000-4000-8000-000000000000");
}

#define MAX_PAST (8 * LIMIT_PARTITIONS)

/* Gives device n the published partitions 0, 1, ..., and those that follow them to a tenant. */
static void publish_partitions(unsigned n, uint32_t n_of_device, uint32_t n_of_tenant)
{
	static struct attribution objects[2];
	static struct attribution_partition partitions[2][MAX_PAST + 1];
	static struct view uuids[2][MAX_PAST + 1];
	static struct attribution_tenant tenants[2];

	for (unsigned i = 0; i <= MAX_PAST; i++) {
		uuids[n][i] = build_world_mig(&world, n, i);
		partitions[n][i].uuid = uuids[n][i];
	}
	tenants[n].partitions = (struct array){&uuids[n][n_of_device], n_of_tenant, true};
	objects[n] = *build_world_previous(&world, n)->object;
	objects[n].status.partitions = (struct array){partitions[n], n_of_device, true};
	objects[n].status.tenants = (struct array){&tenants[n], 1, true};
	build_world_previous(&world, n)->object = &objects[n];
}

TEST(the_published_partitions_of_each_device_are_bounded)
{
	static const struct {
		uint32_t of_device, of_tenant;
	} rows[] = {{0, MAX_PAST + 1}, {1, MAX_PAST}, {MAX_PAST, 1}, {MAX_PAST + 1, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_exclusive(&world, 0);
		build_world_exclusive(&world, 1);
		build_world_publish(&world);
		for (unsigned n = 0; n < 2; n++)
			publish_partitions(n, rows[i].of_device, rows[i].of_tenant);
		struct devices devices = make();
		for (unsigned k = 0; k <= 2 * MAX_PAST + 1; k++) {
			unsigned n = k / (MAX_PAST + 1), number = k % (MAX_PAST + 1);
			const char *uuid = build_world_mig(&world, n, number).ptr;
			expect_place(&devices, uuid, number < MAX_PAST ? (ptrdiff_t)n : -1, uuid);
		}
	}
}

static uint32_t hash_uuid(unsigned n)
{
	return lookup_hash_ignoring_case(0, build_world_uuid(&world, n));
}

static uint32_t hash_partition(unsigned n)
{
	return lookup_hash(0, build_world_mig(&world, n, 0));
}

static uint32_t hash_minor(unsigned n)
{
	int64_t minor = n;
	return lookup_hash(0, (struct view){(const char *)&minor, sizeof(minor)});
}

/* Finds two of one hash: of so many there are some, whatever the hash is seeded with. */
static void find_colliding(uint32_t (*hash_of)(unsigned n), unsigned ret_n[2])
{
	enum { N = 1 << 19 };
	struct lookup seen;
	struct error err;
	assert_int_equal(lookup_make(&seen, N, &world.arena, &err), 0);
	for (unsigned n = 0; n < N; n++) {
		uint32_t hash = hash_of(n);
		ret_n[0] = lookup_first(&seen, hash);
		ret_n[1] = n;
		if (ret_n[0] != LOOKUP_END)
			return;
		lookup_add(&seen, hash);
	}
	fail_msg("no two have one hash");
}

/* UUIDs, minors and UUIDs of partitions. */
TEST(what_has_one_hash_is_told_apart_all_the_same)
{
	static uint32_t (*const hashes[])(unsigned n) = {hash_uuid, hash_minor, hash_partition};
	for (size_t h = 0; h < ARRAY_SIZE(hashes); h++) {
		unsigned n[2];
		struct view ids[2];
		start_anew();
		find_colliding(hashes[h], n);
		for (unsigned i = 0; i < 2; i++) {
			const unsigned number = h == 0 ? n[i] : i;
			struct report_device *device = build_world_cut(&world, number, 1);
			struct report_partition *part = device->partitions.items;
			device->minor = n[i];
			part->uuid = build_world_mig(&world, n[i], 0);
			ids[i] = h == 0   ? device->uuid
				 : h == 1 ? build_world_text(&world, "nvidia%u", n[i])
					  : part->uuid;
		}
		struct devices devices = make();
		assert_int_equal(devices.n_devices, 2);
		for (ptrdiff_t i = 0; i < 2; i++)
			expect_place(&devices, ids[i].ptr, i, h == 2 ? ids[i].ptr : "");
	}
}

TEST(a_partition_is_remembered_as_long_as_it_is_published)
{
	struct report_device *device = build_world_cut(&world, 0, 2);
	build_world_device(&world, 1);
	build_world_publish(&world);
	device->partitions.count = 0;
	struct devices devices = make();
	expect_place(&devices, "MIG-00000000-0000-4000-8000-000000000001", 0,
		     "MIG-00000000-0000-4000-8000-000000000001");
	build_world_publish(&world);
	devices = make();
	expect_place(&devices, "MIG-00000000-0000-4000-8000-000000000001", -1, "");
}

TEST(a_minor_is_remembered_while_nvml_is_silent)
{
	build_world_exclusive(&world, 3);
	build_world_publish(&world);
	build_world_fail_nvml(&world);
	struct devices devices = make();
	expect_place(&devices, "nvidia3", 0, "");
	expect_place(&devices, "nvidia3/gi1", 0, "");
	world.report.sources.nvml.state = REPORT_SOURCE_OK;
	world.report.devices = (struct array){.present = true};
	devices = make();
	expect_place(&devices, "nvidia3", -1, "");
}

TEST(a_good_nvml_is_not_added_to)
{
	build_world_offer(&world, build_world_uuid(&world, 0));
	assert_int_equal(make().n_devices, 0);
	build_world_fail_nvml(&world);
	assert_int_equal(make().n_devices, 1);
}

TEST(an_object_is_found_for_a_device_that_only_the_books_name)
{
	build_world_exclusive(&world, 0);
	build_world_publish(&world);
	struct attribution *object = world_alter(0);
	object->status.node_name = (struct view){0};
	build_world_fail_nvml(&world);
	struct devices devices = make();
	assert_int_equal(devices.n_devices, 1);
	assert_ptr_equal(devices.devices[0].object->object, object);
}

TEST(devices_that_only_the_books_name_are_bounded)
{
	for (unsigned i = 0; i < LIMIT_REPORT_DEVICES + 10; i++)
		build_world_offer(&world, build_world_uuid(&world, i));
	build_world_fail_nvml(&world);
	assert_int_equal(make().n_devices, LIMIT_REPORT_DEVICES);
}

TEST(without_nvml_the_api_names_devices_by_full_uuid)
{
	build_world_pod(&world, (struct build_pod){
					.name = "a",
					.told = {build_world_replica(&world, 1, 3),
						 VIEW("GPU-00000005-0000-4000-8000-0123456789ab-1"),
						 VIEW("GPU-00000006-0000-4000-8000-0123456789ab?"),
						 build_world_mig(&world, 7, 0)}});
	build_world_pod(&world, (struct build_pod){.name = "b", .phase = POD_PHASE_FAILED,
						   .told = {build_world_uuid(&world, 8)}});
	build_world_slice(&world, 2);
	build_world_slice(&world, 1);
	build_world_slice(&world, 3)->uuid = VIEW("no UUID");
	build_world_restart(&world);
	struct devices devices = make();
	assert_int_equal(devices.n_devices, 3);
	for (unsigned i = 0; i < 3; i++) {
		static const unsigned expected[] = {1, 2, 5};
		assert_true(view_equal(devices.devices[i].uuid,
				       build_world_uuid(&world, expected[i])));
		assert_null(devices.devices[i].reported);
	}
	/* NVML's list is all there is. */
	build_world_report(&world);
	build_world_device(&world, 0);
	assert_int_equal(make().n_devices, 1);
}

TEST(what_anybody_may_write_on_a_pod_names_no_device)
{
	build_world_pod(&world,
			(struct build_pod){
				.name = "a",
				.hami = "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;",
				.kai_group = "g",
				.kai_device = "GPU-00000000-0000-4000-8000-0123456789ab",
				.reservation = true});
	build_world_restart(&world);
	assert_int_equal(make().n_devices, 0);
}

TEST(the_api_adds_no_more_devices_than_a_report_may_have)
{
	for (unsigned i = 0; i < LIMIT_REPORT_DEVICES; i++)
		build_world_slice(&world, i);
	build_world_pod(&world, (struct build_pod){
					.name = "a",
					.told = {build_world_uuid(&world, 100),
						 build_world_uuid(&world, 101)}});
	build_world_restart(&world);
	assert_int_equal(make().n_devices, LIMIT_REPORT_DEVICES);
}

TEST(an_id_that_goes_on_oddly_finds_its_device_and_names_none)
{
	build_world_cut(&world, 0, 1);
	struct devices devices = make();
	expect_place(&devices, "GPU-00000000-0000-4000-8000-0123456789ab#1", 0, "");
	expect_place(&devices, "MIG-00000000-0000-4000-8000-000000000000#1", 0,
		     "MIG-00000000-0000-4000-8000-000000000000");
	build_world_offer(&world, VIEW("GPU-00000009-0000-4000-8000-0123456789ab#1"));
	build_world_fail_nvml(&world);
	assert_int_equal(make().n_devices, 0);
}

TESTS(set_up, tear_down)
