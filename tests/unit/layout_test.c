/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "base/limits.h"

/* What HAMi's plugin offers of device n. */
static struct view hami_id(unsigned n, unsigned replica)
{
	return build_world_text(&world, "%.*s-%u", VIEW_ARG(build_world_uuid(&world, n)), replica);
}

static const struct attribution_partition *partition_at(uint32_t i)
{
	const struct array partitions = build_world_status(&world, 0)->partitions;
	assert_true(i < partitions.count);
	return ARRAY_AT(partitions, struct attribution_partition, i);
}

TEST(the_device_is_described_as_nvml_does_with_dashes_in_the_model)
{
	build_world_exclusive(&world, 3);
	build_world_publish(&world);
	const struct attribution_device *device = &build_world_status(&world, 3)->device;
	assert_int_equal(device->index, 3);
	assert_int_equal(device->minor, 3);
	expect_text(device->pci_bus_id, "00000000:03:00.0");
	expect_text(device->model, "NVIDIA-A100-SXM4-40GB");
	assert_int_equal(device->memory_mib, 40960);
	expect_text(device->serial, "1322620012345");
	expect_text(device->compute_capability, "8.0");
	expect_text(device->driver_version, "580.65.06");
	expect_text(device->cuda_version, "13.0");
}

TEST(a_model_has_dashes_for_the_blanks_within_it)
{
	static const char *const rows[][2] = {
		{"Tesla T4", "Tesla-T4"}, {"Tesla-T4 ", "Tesla-T4"}, {"", ""}, {"A B C", "A-B-C"}};
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1)->model = VIEW("NVIDIA H100");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.devices[0].model = view_from(rows[i][0]);
		expect_text(publish()->device.model, rows[i][1]);
		expect_text(build_world_status(&world, 1)->device.model, "NVIDIA-H100");
	}
}

TEST(versions_that_a_report_lacks_are_carried_over)
{
	build_world_exclusive(&world, 0);
	publish();
	world.report.driver_version = (struct view){0};
	world.report.cuda_version = (struct view){0};
	const struct attribution_device *device = &publish()->device;
	expect_text(device->driver_version, "580.65.06");
	expect_text(device->cuda_version, "13.0");
	world.report.driver_version = VIEW("6");
	world.report.cuda_version = VIEW("9");
	device = &publish()->device;
	expect_text(device->driver_version, "6");
	expect_text(device->cuda_version, "9");
}

TEST(partitions_come_in_the_order_of_their_uuids_with_their_slots)
{
	struct report_device *device = build_world_cut(&world, 0, 3);
	struct report_partition *items = device->partitions.items;
	struct report_partition first = items[0];
	items[0] = items[2];
	items[2] = first;
	for (int i = 0; i < 3; i++)
		items[i].compute_instance_id = items[i].gpu_instance_id + 20;
	build_world_offer(&world,
			  build_world_text(&world, "MIG-00000000-0000-4000-8000-%012x::1", 1u));
	assert_int_equal(publish()->partitions.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct attribution_partition *p = partition_at(i);
		assert_true(view_equal(p->uuid, build_world_mig(&world, 0, i)));
		expect_text(p->profile, "1g.5gb");
		assert_int_equal(p->gpu_instance_id, 7 + i);
		assert_int_equal(p->compute_instance_id, 27 + i);
		assert_int_equal(p->memory_mib, 4864);
		assert_int_equal(p->slots, i == 1 ? 2 : 1);
	}
	assert_true(build_world_status(&world, 0)->partitions.present);
	expect_text(build_world_status(&world, 0)->slots.summary, "0/4");
}

TEST(partitions_are_carried_over_while_nvml_is_silent)
{
	build_world_cut(&world, 0, 2);
	publish();
	build_world_fail_nvml(&world);
	assert_int_equal(publish()->partitions.count, 2);
	assert_int_equal(partition_at(1)->slots, 1);
	assert_int_equal(partition_at(1)->gpu_instance_id, 8);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	publish();
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(partition_at(i)->slots, 1);
}

TEST(partitions_are_those_that_nvml_lists_with_the_slots_on_offer)
{
	struct report_device *device = build_world_cut(&world, 0, 2);
	build_world_offer(&world,
			  build_world_text(&world, "MIG-00000000-0000-4000-8000-%012x::1", 0u));
	assert_int_equal(publish()->partitions.count, 2);
	assert_int_equal(partition_at(0)->slots, 2);
	device->partitions.count = 1;
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_mig(&world, 0, 0));
	assert_int_equal(publish()->partitions.count, 1);
	assert_int_equal(partition_at(0)->slots, 1);
	build_world_fail_nvml(&world);
	assert_int_equal(publish()->partitions.count, 1);
	assert_true(view_equal(partition_at(0)->uuid, build_world_mig(&world, 0, 0)));
	expect_text(partition_at(0)->profile, "1g.5gb");
}

TEST(a_partition_that_is_new_while_no_offer_is_known_has_no_slots)
{
	struct report_device *device = build_world_cut(&world, 0, 2);
	device->partitions.count = 1;
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_mig(&world, 0, 0));
	publish();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	device->partitions.count = 2;
	publish();
	assert_int_equal(partition_at(0)->slots, 1);
	assert_int_equal(partition_at(1)->slots, 0);
}

TEST(what_a_settling_kubelet_does_not_offer_yet_is_not_gone)
{
	build_world_cut(&world, 0, 2);
	world_run("a", build_world_mig(&world, 0, 0));
	expect_text(publish()->slots.summary, "1/2");
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	build_world_list_nothing(&world);
	build_world_offer_nothing(&world);
	expect_text(publish()->slots.summary, "1/2");
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(partition_at(i)->slots, 1);
	build_world_offer(&world, build_world_mig(&world, 0, 0));
	expect_text(publish()->slots.summary, "1/2");
	/* When it has settled, what it offers is all. */
	world.report.kubelet_restarted_at = 0;
	expect_text(publish()->slots.summary, "1/1");
	assert_int_equal(partition_at(1)->slots, 0);
}

TEST(what_a_lost_plugin_had_on_offer_stays_while_some_of_it_is_held)
{
	build_world_cut(&world, 0, 2);
	build_world_shared(&world, 1, 4);
	world_run("a", build_world_mig(&world, 0, 0));
	world_run("b", build_world_replica(&world, 1, 0));
	publish();
	build_world_offer_nothing(&world);
	expect_text(publish()->slots.summary, "1/2");
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(partition_at(i)->slots, 1);
	expect_text(build_world_status(&world, 1)->slots.summary, "1/4");
	/* Its tenant is carried over, and nobody knows by which ID. */
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	expect_text(publish()->slots.summary, "1/2");
	/* Of what nobody has there is nothing. */
	build_world_remove_pod(&world, "uid-a");
	build_world_remove_pod(&world, "uid-b");
	expect_text(publish()->slots.summary, "0/0");
	expect_text(build_world_status(&world, 1)->slots.summary, "0/0");
}

/* HAMi's annotation names the device, and the kubelet an ID of another one: it is no slot here. */
TEST(regress_14_of_a_device_that_hami_gave_and_offers_no_more_the_total_stays)
{
	for (unsigned n = 0; n < 2; n++) {
		build_world_device(&world, n);
		for (unsigned i = 0; i < 3; i++)
			build_world_offer(&world, hami_id(n, i));
	}
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .hami = "GPU-00000001-0000-4000-8000-0123456789ab,"
						   "NVIDIA,1,1:;"},
			hami_id(0, 1));
	build_world_publish(&world);
	expect_text(build_world_status(&world, 1)->slots.summary, "1/3");
	build_world_offer_nothing(&world);
	for (unsigned i = 0; i < 3; i++)
		build_world_offer(&world, hami_id(0, i));
	build_world_publish(&world);
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	expect_text(build_world_status(&world, 1)->slots.summary, "1/3");
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_remove_pod(&world, "uid-a");
	build_world_end(&world, "uid-a");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_publish(&world);
	expect_text(build_world_status(&world, 1)->slots.summary, "0/0");
}

TEST(of_shares_that_were_never_on_offer_the_total_is_not_known)
{
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	world_run("a", build_world_replica(&world, 0, 0));
	world_run("b", build_world_uuid(&world, 1));
	build_world_device(&world, 2);
	world_run("c", VIEW("GPU-00000002-0000-4000-8000-0123456789ab?"));
	publish();
	for (unsigned n = 0; n < 3; n += 2) {
		const struct attribution_status *status = build_world_status(&world, n);
		assert_int_equal(status->slots.total, -1);
		assert_int_equal(status->slots.allocated, 1);
		expect_text(status->slots.summary, "");
	}
	/* A whole device is one. */
	expect_text(build_world_status(&world, 1)->slots.summary, "1/1");
}

TEST(of_too_many_partitions_the_first_are_listed)
{
	struct report_device *device = build_world_cut(&world, 0, LIMIT_PARTITIONS + 1);
	for (uint32_t n = LIMIT_PARTITIONS - 1; n <= LIMIT_PARTITIONS + 1; n++) {
		device->partitions.count = n;
		uint32_t n_listed = n < LIMIT_PARTITIONS ? n : LIMIT_PARTITIONS;
		assert_int_equal(publish()->partitions.count, n_listed);
		assert_true(view_equal(partition_at(n_listed - 1)->uuid,
				       build_world_mig(&world, 0, n_listed - 1)));
	}
}

/* One of them could not be read. */
TEST(a_list_of_partitions_that_is_not_known_is_the_one_that_was)
{
	struct report_device *device = build_world_cut(&world, 0, 3);
	world_run("a", build_world_mig(&world, 0, 0));
	expect_text(publish()->slots.summary, "1/3");
	device->partitions = (struct array){0};
	world_run("b", build_world_mig(&world, 0, 1));
	for (int i = 0; i < 2; i++) {
		expect_text(publish()->slots.summary, "2/3");
		assert_int_equal(build_world_status(&world, 0)->partitions.count, 3);
		assert_int_equal(partition_at(2)->gpu_instance_id, 9);
		expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
	}
	/* Without one that was, there is none. */
	build_world_restart(&world);
	world.input.n_previous = 0;
	build_world_report(&world);
	assert_int_equal(publish()->partitions.count, 0);
}

TEST(a_slot_counts_once_whoever_names_it)
{
	build_world_shared(&world, 0, 3);
	world_run("a", build_world_replica(&world, 0, 0));
	world_run("b", build_world_replica(&world, 0, 0));
	const struct attribution_status *status = publish();
	assert_int_equal(status->tenant_count, 2);
	assert_int_equal(status->slots.allocated, 1);
	assert_int_equal(status->slots.total, 3);
	expect_text(status->slots.summary, "1/3");
}

TEST(slots_are_those_on_offer_and_those_held_beside_them)
{
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_replica(&world, 0, 0));
	expect_text(publish()->slots.summary, "1/4");
	world_run("b", build_world_replica(&world, 0, 7));
	expect_text(publish()->slots.summary, "2/5");
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_replica(&world, 0, 1));
	expect_text(publish()->slots.summary, "2/3");
}

/* Two tenants of one slot, one of whom no source names. */
TEST(slots_of_tenants_that_no_source_names_count_up_to_the_total)
{
	build_world_device(&world, 1);
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
	publish();
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	world_run("b", build_world_uuid(&world, 0));
	for (int step = 0; step < 3; step++) {
		expect_text(publish()->slots.summary, "1/1");
		expect_text(build_world_status(&world, 1)->slots.summary, "0/0");
		expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
		/* Then not even the plugin offers it, and then there is no report. */
		build_world_offer_nothing(&world);
		build_world_list_nothing(&world);
		build_world_book_nothing(&world);
		if (step == 1)
			build_world_restart(&world);
	}
}

TEST(the_total_is_carried_over_while_no_offer_is_known)
{
	build_world_shared(&world, 0, 3);
	world_run("a", build_world_replica(&world, 0, 0));
	publish();
	world.report.allocatable = (struct array){0};
	world.report.checkpoint.registered = (struct array){0};
	expect_text(publish()->slots.summary, "1/3");
	for (unsigned i = 1; i < 5; i++)
		world_run("a", build_world_replica(&world, 0, i));
	expect_text(publish()->slots.summary, "5/5");
}

TEST(without_an_offer_ever_the_total_is_not_known)
{
	build_world_shared(&world, 0, 3);
	world_run("a", build_world_replica(&world, 0, 0));
	world.report.allocatable = (struct array){0};
	world.report.checkpoint.registered = (struct array){0};
	const struct attribution_status *status = publish();
	assert_int_equal(status->slots.total, -1);
	assert_int_equal(status->slots.allocated, 1);
	expect_text(status->slots.summary, "");
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Nor is it while nobody says anything. */
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	status = publish();
	assert_int_equal(status->slots.total, -1);
	assert_int_equal(status->slots.allocated, 1);
}

/* Its List may be short, its checkpoint cannot be read, and nobody knew the device before. */
TEST(what_is_given_out_is_not_known_while_a_new_node_settles)
{
	build_world_exclusive(&world, 0);
	world_pod("a");
	build_world_fail_book(&world);
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	const struct attribution_status *status = publish();
	assert_int_equal(status->tenant_count, -1);
	assert_int_equal(status->slots.total, 1);
	assert_int_equal(status->slots.allocated, -1);
	expect_text(status->slots.summary, "");
}

TEST(who_is_new_while_no_book_says_anything_is_added)
{
	build_world_shared(&world, 0, 4);
	world_run("b", build_world_replica(&world, 0, 1));
	expect_text(publish()->slots.summary, "1/4");
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_replica(&world, 0, 0)}});
	expect_text(publish()->slots.summary, "2/4");
	build_world_pod(&world, (struct build_pod){.name = "c",
						   .told = {build_world_replica(&world, 0, 2)}});
	expect_text(publish()->slots.summary, "3/4");
	expect_text(publish()->slots.summary, "3/4");
}

TEST(what_was_not_counted_is_counted_by_its_tenants)
{
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_replica(&world, 0, 0));
	publish();
	world_alter(0)->status.slots = (struct attribution_slots){.total = -1, .allocated = -1};
	build_world_restart(&world);
	const struct attribution_status *status = publish();
	assert_int_equal(status->slots.total, -1);
	assert_int_equal(status->slots.allocated, 1);
}

TEST(a_slice_describes_what_nvml_does_not)
{
	struct slice_device *slice = build_world_slice(&world, 0);
	slice->uuid = VIEW("gpu-00000000-0000-4000-8000-0123456789ab");
	build_world_slice(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_uuid(&world, 0),
							    build_world_uuid(&world, 2)}});
	build_world_without_agent(&world);
	build_world_publish(&world);
	const struct attribution_device *device = &world.result.devices[0].status.device;
	expect_text(device->model, "NVIDIA-A100-SXM4-40GB");
	expect_text(device->compute_capability, "8.0.0");
	expect_text(device->driver_version, "580.65.6");
	expect_text(device->cuda_version, "13.0.0");
	assert_int_equal(device->memory_mib, 40960);
	assert_int_equal(device->minor, -1);
	expect_text(build_world_status(&world, 2)->device.model, "");
	/* It is followed as long as no agent has told more. */
	slice->driver_version = VIEW("590.1.0");
	build_world_publish(&world);
	expect_text(world.result.devices[0].status.device.driver_version, "590.1.0");
}

TEST(a_device_that_no_slice_is_about_is_not_described)
{
	static struct slice_device slice = {
		.uuid = VIEW_INIT("GPU-00000001-0000-4000-8000-0123456789ab"),
		.model = VIEW_INIT("T4"),
	};
	world.input.slice_devices = &slice;
	world.input.n_slice_devices = 1;
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	expect_text(publish()->device.model, "");
	expect_text(build_world_status(&world, 1)->device.model, "T4");
	/* What is idle there nobody knows. */
	assert_int_equal(build_world_status(&world, 1)->slots.total, 1);
	assert_int_equal(build_world_status(&world, 1)->slots.allocated, -1);
	expect_text(build_world_status(&world, 1)->slots.summary, "");
}

TEST(a_device_of_dynamic_resource_allocation_is_as_many_as_it_has_partitions)
{
	struct report_device *device = build_world_cut(&world, 0, 3);
	build_world_offer_nothing(&world);
	build_world_slice(&world, 0);
	expect_text(publish()->slots.summary, "0/3");
	/* As many as it had while that is not known. */
	device->partitions = (struct array){0};
	expect_text(publish()->slots.summary, "0/3");
	build_world_fail_nvml(&world);
	expect_text(publish()->slots.summary, "0/3");
	build_world_slice(&world, 1);
	publish();
	expect_text(build_world_status(&world, 1)->slots.summary, "0/1");
}

/* Of such a device nothing is on offer at any time. */
TEST(what_claims_hold_is_no_rest_of_what_a_plugin_had_on_offer)
{
	struct report_device *device = build_world_cut(&world, 0, 3);
	build_world_offer_nothing(&world);
	build_world_slice(&world, 0);
	world_pod("a");
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->partition = build_world_mig(&world, 0, 0);
	grant->is_part = true;
	build_world_regrant(&world);
	expect_text(publish()->slots.summary, "1/3");
	device->partitions.count = 2;
	expect_text(publish()->slots.summary, "1/2");
}

TEST(what_nvml_said_once_no_slice_unsays)
{
	build_world_exclusive(&world, 0);
	publish();
	build_world_slice(&world, 0)->driver_version = VIEW("1.2.3");
	build_world_fail_nvml(&world);
	const struct attribution_status *status = publish();
	expect_text(status->device.driver_version, "580.65.06");
	expect_text(status->device.compute_capability, "8.0");
	assert_int_equal(status->device.index, 0);
}

TEST(who_is_on_a_device_by_no_id_takes_a_slot_of_it)
{
	build_world_shared(&world, 0, 3);
	world_run("a", build_world_replica(&world, 0, 0));
	build_world_device(&world, 1);
	build_world_run(
		&world,
		(struct build_pod){.name = "b",
				   .hami = "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;"},
		VIEW("GPU-00000001-0000-4000-8000-0123456789ab-0"));
	expect_text(publish()->slots.summary, "2/3");
}

/* HAMi gives the later containers of a pod what its ordinary init containers had. Two of the */
/* device's five slots are held by pods before and after it. */
TEST(only_ordinary_init_containers_have_what_hami_gave_one_after_the_other)
{
#define GIVEN "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;"
	static const struct {
		struct build_pod pod;
		const char *holders[3], *summary;
	} rows[] = {
		{{.hami = GIVEN, .init = "init", .second = "side"}, {"init"}, "3/5"},
		{{.hami = GIVEN GIVEN, .init = "init"}, {"init", "main"}, "3/5"},
		{{.hami = GIVEN GIVEN GIVEN, .init = "init", .second = "side"},
		 {"init", "main", "side"}, "4/5"},
		{{.hami = GIVEN GIVEN, .init = "init", .second = "side"}, {"main", "side"}, "4/5"},
		{{.hami = GIVEN GIVEN GIVEN, .container = "first", .kind = POD_CONTAINER_INIT,
		  .init = "init", .second = "main"}, {"first", "init", "main"}, "3/5"},
		{{.hami = GIVEN GIVEN, .container = "side", .kind = POD_CONTAINER_SIDECAR,
		  .second = "main"}, {"side", "main"}, "4/5"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct build_pod pod = rows[i].pod;
		start_anew();
		const char *other = build_world_uuid(&world, 1).ptr;
		build_world_shared(&world, 0, 5);
		build_world_device(&world, 1);
		build_world_pod(&world, (struct build_pod){.name = "a", .hami = GIVEN});
		build_world_book(&world, "uid-a", "main", build_world_text(&world, "%s-8", other));
		pod.name = "b";
		build_world_pod(&world, pod);
		build_world_pod(&world, (struct build_pod){.name = "c", .hami = GIVEN});
		build_world_book(&world, "uid-c", "main", build_world_text(&world, "%s-9", other));
		for (unsigned k = 0; k < 3 && rows[i].holders[k]; k++)
			build_world_book(&world, "uid-b", rows[i].holders[k],
					 build_world_text(&world, "%s-%u", other, k));
		expect_text(publish()->slots.summary, rows[i].summary);
	}
#undef GIVEN
}

TEST(who_is_on_a_device_that_has_no_slots_takes_none)
{
	build_world_device(&world, 0);
	build_world_shared(&world, 1, 1);
	build_world_run(
		&world,
		(struct build_pod){.name = "b",
				   .hami = "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;"},
		VIEW("GPU-00000001-0000-4000-8000-0123456789ab-0"));
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-b/main");
	expect_text(status->slots.summary, "0/0");
}

TEST(who_shares_a_reservations_device_takes_no_further_slot)
{
	build_world_shared(&world, 0, 3);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			build_world_replica(&world, 0, 0));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
	expect_text(publish()->slots.summary, "1/3");
}

TESTS(set_up, tear_down)
