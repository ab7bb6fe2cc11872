/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "join/sharing.h"

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

static void expect_mode(int mode, int64_t replicas, const char *evidence)
{
	build_world_publish(&world);
	const struct attribution_sharing *sharing = &build_world_status(&world, 0)->sharing;
	assert_int_equal(sharing->mode, mode);
	expect_texts(sharing->evidence, evidence);
	assert_true(sharing->evidence.present);
	assert_int_equal(sharing->replicas, replicas);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void set_label(struct build_world *w, struct view value)
{
	struct node_label *label = arena_alloc(&w->arena, 1, sizeof(*label));
	assert_non_null(label);
	*label = (struct node_label){VIEW("gpu.sharing-strategy"), value};
	w->node.labels = (struct array){label, 1, true};
}

static void hold(unsigned replica, bool mps)
{
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, replica))->mps =
		mps;
}

static void whole_device_ids_are_exclusive(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

static void mig_mode_contradicts_ids_of_the_whole_device(void **state)
{
	(void)state;
	struct report_device *device = build_world_exclusive(&world, 0);
	device->mig = (struct report_mig){.present = true, .pending = true};
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	device->mig.current = true;
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1,
		    "device IDs name the whole device,"
		    "MIG mode is on, which contradicts");
	set_label(&world, VIEW("time-slicing"));
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1,
		    "device IDs name the whole device,"
		    "MIG mode is on, which contradicts,"
		    "node label gpu.sharing-strategy is time-slicing, which contradicts");
}

static void mig_mode_contradicts_replicas_of_the_whole_device(void **state)
{
	(void)state;
	struct report_device *device = build_world_shared(&world, 0, 4);
	device->mig = (struct report_mig){.present = true, .current = true};
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4,
		    "compute mode is Default,"
		    "MIG mode is on, which contradicts");
	/* As many lines as there can be. */
	hold(0, true);
	set_label(&world, VIEW("time-slicing"));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts,"
		    "MIG mode is on, which contradicts,"
		    "node label gpu.sharing-strategy is time-slicing, which contradicts,"
		    "a pod holds a device ID that is no longer offered");
}

static void mig_mode_contradicts_no_mode_that_is_unknown(void **state)
{
	(void)state;
	struct report_device *device = build_world_shared(&world, 0, 4);
	device->mig = (struct report_mig){.present = true, .current = true};
	device->compute_mode = REPORT_COMPUTE_UNKNOWN;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 4, "device IDs end in a replica number");
}

static void mig_ids_are_mig(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 3);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
}

static void mig_ids_with_replicas_are_mig_time_sliced(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 2);
	build_world_offer_nothing(&world);
	for (unsigned p = 0; p < 2; p++) {
		for (unsigned r = 0; r < 3; r++)
			build_world_offer(&world,
					  build_world_text(&world,
							   "MIG-00000000-0000-4000-8000-%012x::%u",
							   p, r));
	}
	expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 3,
		    "device IDs name MIG devices,device IDs end in a replica number");
}

static void offer_replicas_of_a_part(void)
{
	build_world_cut(&world, 0, 1);
	build_world_offer_nothing(&world);
	build_world_offer(&world, VIEW("MIG-00000000-0000-4000-8000-000000000000::0"));
	build_world_offer(&world, VIEW("MIG-00000000-0000-4000-8000-000000000000::1"));
}

/* There is no mode for it. */
static void a_pipe_contradicts_that_replicas_of_a_part_take_turns(void **state)
{
	(void)state;
	static const char *const ids[] = {"MIG-00000000-0000-4000-8000-000000000000::0",
					  "nvidia0/gi0/vgpu0", "nvidia0/gi1/vgpu0"};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		tear_down(state);
		set_up(state);
		build_world_cut(&world, 0, 2);
		build_world_offer_nothing(&world);
		build_world_offer(&world, view_from(ids[i]));
		build_world_run(&world, (struct build_pod){.name = "a"}, view_from(ids[i]));
		expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1,
			    "device IDs name MIG devices,device IDs end in a replica number");
		world.booked[0].mps = true;
		expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1,
			    "device IDs name MIG devices,device IDs end in a replica number,"
			    "an allocation response has the MPS pipe, which contradicts");
	}
}

static void a_pipe_that_was_given_with_another_form_contradicts_nothing(void **state)
{
	(void)state;
	offer_replicas_of_a_part();
	build_world_run(&world, (struct build_pod){.name = "a"},
			VIEW("MIG-00000000-0000-4000-8000-000000000000::0"));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 0));
	world.booked[1].mps = true;
	for (unsigned i = 0; i < 2; i++) {
		expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 2,
			    "device IDs name MIG devices,device IDs end in a replica number,"
			    "a pod holds a device ID that is no longer offered");
		build_world_offer_nothing(&world); /* the plugin is away */
	}
}

static void gke_ids_are_read_by_minor_and_instance(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_offer(&world, VIEW("nvidia0/vgpu0"));
	build_world_offer(&world, VIEW("nvidia0/vgpu1"));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
	build_world_offer_nothing(&world);
	build_world_offer(&world, VIEW("nvidia0/gi7"));
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
	build_world_offer_nothing(&world);
	build_world_offer(&world, VIEW("nvidia0"));
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

/* GKE's MPS leaves it as it is. */
static void the_default_compute_mode_says_nothing_of_gkes_replicas(void **state)
{
	(void)state;
	static const struct {
		bool mps;
		int mode;
		const char *evidence;
	} rows[] = {
		{true, ATTRIBUTION_MODE_MPS, "an allocation response has the MPS pipe"},
		{false, ATTRIBUTION_MODE_TIME_SLICED, "an allocation response has no MPS pipe"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 0);
		build_world_offer(&world, VIEW("nvidia0/vgpu0"));
		build_world_offer(&world, VIEW("nvidia0/vgpu1"));
		expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
		build_world_run(&world, (struct build_pod){.name = "a"}, VIEW("nvidia0/vgpu0"));
		world.booked[0].mps = rows[i].mps;
		expect_mode(rows[i].mode, 2, rows[i].evidence);
		build_world_fail_book(&world);
		expect_mode(rows[i].mode, 2, rows[i].evidence);
		build_world_remove_pod(&world, "uid-a");
		build_world_list_nothing(&world);
		expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
	}
	world.devices[0].compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	expect_mode(ATTRIBUTION_MODE_MPS, 2, "compute mode is ExclusiveProcess");
}

/* Who has a whole device of GKE's shares it by means of its own. */
static void the_default_compute_mode_tells_of_gkes_whole_devices(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_offer(&world, VIEW("nvidia0"));
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			VIEW("nvidia0"));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
}

static void an_allocation_with_the_pipe_is_mps(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4)->compute_mode = REPORT_COMPUTE_UNKNOWN;
	hold(0, true);
	expect_mode(ATTRIBUTION_MODE_MPS, 4, "an allocation response has the MPS pipe");
}

static void a_device_that_agrees_with_an_allocation_contradicts_nothing(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4)->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	hold(0, true);
	expect_mode(ATTRIBUTION_MODE_MPS, 4, "an allocation response has the MPS pipe");
}

static void an_allocation_without_the_pipe_is_time_slicing(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, false);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
}

static void without_allocations_the_device_itself_tells(void **state)
{
	(void)state;
	struct report_process processes[] = {{.pid = 1, .kind = REPORT_PROCESS_COMPUTE},
					     {.pid = 2, .kind = REPORT_PROCESS_COMPUTE}};
	struct report_device *device = build_world_shared(&world, 0, 2);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 2, "compute mode is Default");
	device->processes = (struct array){processes, 2, true};
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 2, "compute mode is Default");
	device->compute_mode = REPORT_COMPUTE_UNKNOWN;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
	/* An MPS that a user runs for himself leaves the compute mode as it is. */
	processes[1].kind = REPORT_PROCESS_MPS;
	device->compute_mode = REPORT_COMPUTE_DEFAULT;
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 2, "compute mode is Default");
	device->compute_mode = REPORT_COMPUTE_UNKNOWN;
	expect_mode(ATTRIBUTION_MODE_MPS, 2, "an MPS process is on the device");
	processes[0].kind = REPORT_PROCESS_MPS;
	processes[1].kind = REPORT_PROCESS_COMPUTE;
	expect_mode(ATTRIBUTION_MODE_MPS, 2, "an MPS process is on the device");
	device->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	expect_mode(ATTRIBUTION_MODE_MPS, 2, "compute mode is ExclusiveProcess");
	device->compute_mode = REPORT_COMPUTE_PROHIBITED;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
}

static void the_label_alone_decides_nothing(void **state)
{
	(void)state;
	struct report_device *device = build_world_shared(&world, 0, 2);
	device->compute_mode = REPORT_COMPUTE_UNKNOWN;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
	set_label(&world, VIEW("mps"));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2,
		    "device IDs end in a replica number,"
		    "node label gpu.sharing-strategy is mps");
	set_label(&world, VIEW("time-slicing"));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2,
		    "device IDs end in a replica number,"
		    "node label gpu.sharing-strategy is time-slicing");
	set_label(&world, VIEW("none"));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
	world.input.node = NULL;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
}

static void the_label_agrees_with_what_decided_or_contradicts_it(void **state)
{
	(void)state;
	static const struct {
		const char *label;
		int compute_mode, mode;
		const char *evidence;
	} rows[] = {
		{"mps", REPORT_COMPUTE_EXCLUSIVE_PROCESS, ATTRIBUTION_MODE_MPS,
		 "compute mode is ExclusiveProcess,node label gpu.sharing-strategy is mps"},
		{"time-slicing", REPORT_COMPUTE_EXCLUSIVE_PROCESS, ATTRIBUTION_MODE_MPS,
		 "compute mode is ExclusiveProcess,"
		 "node label gpu.sharing-strategy is time-slicing, which contradicts"},
		{"none", REPORT_COMPUTE_EXCLUSIVE_PROCESS, ATTRIBUTION_MODE_MPS,
		 "compute mode is ExclusiveProcess,"
		 "node label gpu.sharing-strategy is none, which contradicts"},
		{"none", REPORT_COMPUTE_DEFAULT, ATTRIBUTION_MODE_TIME_SLICED,
		 "compute mode is Default,"
		 "node label gpu.sharing-strategy is none, which contradicts"},
		{"", REPORT_COMPUTE_DEFAULT, ATTRIBUTION_MODE_TIME_SLICED,
		 "compute mode is Default"},
		{"mps", REPORT_COMPUTE_DEFAULT, ATTRIBUTION_MODE_TIME_SLICED,
		 "compute mode is Default,"
		 "node label gpu.sharing-strategy is mps, which contradicts"},
		{"time-slicing", REPORT_COMPUTE_DEFAULT, ATTRIBUTION_MODE_TIME_SLICED,
		 "compute mode is Default,node label gpu.sharing-strategy is time-slicing"},
	};
	struct report_device *device = build_world_shared(&world, 0, 2);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_label(&world, view_from(rows[i].label));
		device->compute_mode = rows[i].compute_mode;
		expect_mode(rows[i].mode, 2, rows[i].evidence);
	}
	/* Where two that count for more contradict each other, it is those that are named. */
	device->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	hold(0, false);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2,
		    "an allocation response has no MPS pipe,compute mode is ExclusiveProcess");
}

static void the_label_contradicts_the_ids_of_whole_devices_by_any_strategy(void **state)
{
	(void)state;
	static const struct {
		const char *label, *evidence;
	} rows[] = {
		{"time-slicing",
		 "device IDs name the whole device,"
		 "node label gpu.sharing-strategy is time-slicing, which contradicts"},
		{"mps", "device IDs name the whole device,"
			"node label gpu.sharing-strategy is mps, which contradicts"},
		/* That it is as it mostly is, is no news. */
		{"none", "device IDs name the whole device"},
		{"?", "device IDs name the whole device"},
	};
	build_world_exclusive(&world, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_label(&world, view_from(rows[i].label));
		expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, rows[i].evidence);
	}
	world.input.node = NULL;
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

/* It is the plugin that does not share, and whole devices that it is about. */
static void the_label_says_nothing_of_what_others_share_or_of_parts(void **state)
{
	(void)state;
	set_label(&world, VIEW("none"));
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			build_world_uuid(&world, 0));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
	tear_down(state);
	set_up(state);
	set_label(&world, VIEW("time-slicing"));
	build_world_cut(&world, 0, 2);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
}

static void a_pipe_under_the_default_mode_is_mps_and_both_are_said(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, true);
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts");
	set_label(&world, VIEW("time-slicing"));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts,"
		    "node label gpu.sharing-strategy is time-slicing, which contradicts,"
		    "a pod holds a device ID that is no longer offered");
	/* It contradicted while the checkpoint spoke: its silence changes nothing. */
	build_world_fail_book(&world);
	set_label(&world, VIEW("mps"));
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts,"
		    "node label gpu.sharing-strategy is mps,"
		    "a pod holds a device ID that is no longer offered");
	/* Nor does it when it has stopped meanwhile; but not when it comes up only then. */
	world.devices[0].compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "node label gpu.sharing-strategy is mps,"
		    "a pod holds a device ID that is no longer offered");
	world.devices[0].compute_mode = REPORT_COMPUTE_DEFAULT;
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4,
		    "compute mode is Default,"
		    "node label gpu.sharing-strategy is mps, which contradicts,"
		    "a pod holds a device ID that is no longer offered");
}

static void contradicting_allocations_are_named_both(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, true);
	hold(1, false);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 4,
		    "an allocation response has the MPS pipe,"
		    "an allocation response has no MPS pipe");
	/* That is nothing to go by when the checkpoint is silent. */
	build_world_fail_book(&world);
	world.devices[0].compute_mode = REPORT_COMPUTE_PROHIBITED;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 4, "device IDs end in a replica number");
}

static void an_allocation_and_a_device_that_contradict_are_named_both(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4)->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	hold(0, false);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 4,
		    "an allocation response has no MPS pipe,compute mode is ExclusiveProcess");
}

/* A pod may run an MPS of its own in its share of time. */
static void an_mps_process_contradicts_no_allocation(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, false);
	build_world_process(&world, 0, 1, "uid-a")->kind = REPORT_PROCESS_MPS;
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
	world.devices[0].compute_mode = REPORT_COMPUTE_UNKNOWN;
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
}

static void forms_of_ids_that_contradict_are_named_both(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 1);
	build_world_offer(&world, build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 1,
		    "device IDs name the whole device,device IDs name MIG devices");
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_replica(&world, 0, 0));
	build_world_offer(&world, build_world_text(&world, "%.*s::1",
						   VIEW_ARG(build_world_mig(&world, 0, 0))));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 1,
		    "device IDs name the whole device,device IDs name MIG devices");
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_uuid(&world, 0));
	build_world_offer(&world, build_world_replica(&world, 0, 0));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 1,
		    "device IDs name the whole device,device IDs end in a replica number");
}

static void of_several_kinds_of_parts_some_may_be_shared(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 2);
	build_world_offer(&world, build_world_text(&world, "%.*s::1",
						   VIEW_ARG(build_world_mig(&world, 0, 1))));
	expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1,
		    "device IDs name MIG devices,device IDs end in a replica number");
}

static void without_ids_mig_mode_tells(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
	device->mig = (struct report_mig){.current = true};
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
	device->mig = (struct report_mig){.present = true};
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
	device->mig.pending = true;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
	device->mig.current = true;
	expect_mode(ATTRIBUTION_MODE_MIG, 0, "MIG mode is on");
}

static void sources_that_fail_leave_what_was_published(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, true);
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts");
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts");
}

static void sources_that_fail_leave_an_unknown_mode_with_its_reason(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_offer(&world, VIEW("GPU-00000000-0000-4000-8000-0123456789ab::x"));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 1, "a device ID is of no known form");
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 1, "a device ID is of no known form");
	/* An object that never had a mode gets one. */
	struct attribution before = *build_world_previous(&world, 0)->object;
	before.status.sharing = (struct attribution_sharing){0};
	build_world_previous(&world, 0)->object = &before;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
}

static void a_settling_kubelets_short_offer_changes_no_mode(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, true);
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts");
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_offer_nothing(&world);
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "compute mode is Default, which contradicts");
	world.report.kubelet_restarted_at = 0;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
}

static void a_silent_checkpoint_leaves_what_it_told(void **state)
{
	(void)state;
	static const struct {
		bool mps;
		int compute_mode, then;
		const char *evidence, *then_evidence;
	} rows[] = {
		{true, REPORT_COMPUTE_DEFAULT, ATTRIBUTION_MODE_TIME_SLICED,
		 "an allocation response has the MPS pipe", "compute mode is Default"},
		{false, REPORT_COMPUTE_EXCLUSIVE_PROCESS, ATTRIBUTION_MODE_MPS,
		 "an allocation response has no MPS pipe", "compute mode is ExclusiveProcess"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		struct report_device *device = build_world_shared(&world, 0, 4);
		device->compute_mode = REPORT_COMPUTE_PROHIBITED;
		hold(0, rows[i].mps);
		build_world_publish(&world);
		build_world_fail_book(&world);
		expect_mode(rows[i].mps ? ATTRIBUTION_MODE_MPS : ATTRIBUTION_MODE_TIME_SLICED, 4,
			    rows[i].evidence);
		/* Unless the device itself tells that it has changed. */
		device->compute_mode = rows[i].compute_mode;
		expect_mode(rows[i].then, 4, rows[i].then_evidence);
	}
}

static void a_checkpoint_that_speaks_is_believed_anew(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4)->compute_mode = REPORT_COMPUTE_PROHIBITED;
	hold(0, false);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
	build_world_book_nothing(&world);
	hold(1, true);
	expect_mode(ATTRIBUTION_MODE_MPS, 4, "an allocation response has the MPS pipe");
}

static void only_what_a_checkpoint_told_outlasts_its_silence(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_replica(&world, 0, 0)}});
	build_world_fail_book(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "compute mode is Default");
	expect_tenant(build_world_status(&world, 0), "uid-a", ATTRIBUTION_PHASE_RUNNING,
		      ATTRIBUTION_CONFIDENCE_CONFIRMED);
	world.devices[0].compute_mode = REPORT_COMPUTE_PROHIBITED;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 4, "device IDs end in a replica number");
	/* Nor does a mode without any evidence. */
	struct attribution before = *build_world_previous(&world, 0)->object;
	before.status.sharing = (struct attribution_sharing){.mode = ATTRIBUTION_MODE_MPS};
	build_world_previous(&world, 0)->object = &before;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 4, "device IDs end in a replica number");
}

/* The replicas have another resource's name now, and the same numbers. */
static void what_was_given_under_another_name_tells_nothing_of_what_is_on_offer(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, true);
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,compute mode is Default, which "
		    "contradicts");
	world.allocatable.resource = world.registered.resource = VIEW("nvidia.com/gpu.shared");
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "compute mode is Default");
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 0))->resource =
		VIEW("nvidia.com/gpu.shared");
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
}

static void a_disputed_tenant_was_there_while_the_checkpoint_spoke(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4)->compute_mode = REPORT_COMPUTE_PROHIBITED;
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_replica(&world, 0, 1)}});
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 0))->mps = true;
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_mode(ATTRIBUTION_MODE_MPS, 4, "an allocation response has the MPS pipe");
	expect_tenant(build_world_status(&world, 0), "uid-a", ATTRIBUTION_PHASE_RUNNING,
		      ATTRIBUTION_CONFIDENCE_DISPUTED);
	/* Nobody names it any more, but nothing shows that it has gone. */
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_fail_book(&world);
	expect_mode(ATTRIBUTION_MODE_MPS, 4, "an allocation response has the MPS pipe");
}

static void a_silent_checkpoint_told_of_those_only_who_were_there(void **state)
{
	static const enum pod_phase phases[] = {POD_PHASE_SUCCEEDED, POD_PHASE_UNKNOWN};
	for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
		tear_down(state);
		set_up(state);
		build_world_shared(&world, 0, 4)->compute_mode = REPORT_COMPUTE_PROHIBITED;
		hold(0, true);
		build_world_publish(&world);
		build_world_fail_book(&world);
		/* Of who comes later only the name is known, also if it comes first in order. */
		build_world_pod(&world, (struct build_pod){.name = "0"});
		build_world_list(&world, "0", "main", build_world_replica(&world, 0, 1));
		expect_mode(ATTRIBUTION_MODE_MPS, 4, "an allocation response has the MPS pipe");
		if (phases[i] == POD_PHASE_UNKNOWN)
			build_world_remove_pod(&world, "uid-a");
		else
			build_world_pod(&world,
					(struct build_pod){.name = "a", .phase = phases[i]});
		build_world_publish(&world);
		expect_mode(ATTRIBUTION_MODE_UNKNOWN, 4, "device IDs end in a replica number");
	}
}

static void a_silent_checkpoint_holds_up_nothing_that_it_did_not_tell(void **state)
{
	(void)state;
	struct report_device *device = build_world_shared(&world, 0, 4);
	build_world_fail_book(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "compute mode is Default");
	device->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	expect_mode(ATTRIBUTION_MODE_MPS, 4, "compute mode is ExclusiveProcess");
}

static void held_ids_alone_make_the_replicas_neither_fewer_nor_more(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	hold(0, false);
	build_world_publish(&world);
	world.report.allocatable = (struct array){0};
	world.report.checkpoint.registered = (struct array){0};
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
	/* Nor when it is known that none is on offer: the plugin is away. */
	build_world_offer_nothing(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
	/* Nor more: some are of before. */
	for (unsigned i = 1; i < 6; i++)
		build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, i));
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "an allocation response has no MPS pipe");
	/* And those of another mode are others. */
	build_world_book_nothing(&world);
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

static void what_is_on_offer_says_how_many_replicas_there_are(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "compute mode is Default");
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_replica(&world, 0, 0));
	build_world_offer(&world, build_world_replica(&world, 0, 1));
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 2, "compute mode is Default");
}

static void replicas_of_which_none_was_ever_on_offer_are_not_counted(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_offer_nothing(&world);
	hold(0, false);
	hold(2, false);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 0, "an allocation response has no MPS pipe");
	tear_down(state);
	set_up(state);
	build_world_cut(&world, 0, 2);
	build_world_offer_nothing(&world);
	build_world_run(
		&world, (struct build_pod){.name = "a"},
		build_world_text(&world, "%.*s::1", VIEW_ARG(build_world_mig(&world, 0, 1))));
	expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 0,
		    "device IDs name MIG devices,device IDs end in a replica number");
	tear_down(state);
	set_up(state);
	build_world_without_agent(&world);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_replica(&world, 0, 0)}});
	build_world_pod(&world, (struct build_pod){.name = "b",
						   .told = {build_world_replica(&world, 0, 2)}});
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "device IDs end in a replica number");
	/* That a whole device or a MIG device is one, its ID says. */
	tear_down(state);
	set_up(state);
	build_world_device(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	build_world_cut(&world, 1, 2);
	build_world_offer_nothing(&world);
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_mig(&world, 1, 1));
	build_world_publish(&world);
	assert_int_equal(build_world_status(&world, 1)->sharing.replicas, 1);
}

static void an_odd_id_leaves_the_mode_open(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_offer(&world, VIEW("GPU-00000000-0000-4000-8000-0123456789ab::x"));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "a device ID is of no known form");
}

static void how_a_device_is_shared_out_is_what_is_on_offer(void **state)
{
	(void)state;
	static const char left_over[] = "a pod holds a device ID that is no longer offered";
	char evidence[128];
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	snprintf(evidence, sizeof(evidence), "compute mode is Default,%s", left_over);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, evidence);
	/* One of the same form is no left-over of another mode. */
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	hold(7, false);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, "compute mode is Default");
}

/* The pods a and b hold what was given before and what is given now. */
static void leave_over(struct view before, struct view now)
{
	build_world_run(&world, (struct build_pod){.name = "a"}, before);
	build_world_run(&world, (struct build_pod){.name = "b"}, now);
	build_world_publish(&world);
}

static void while_a_plugin_is_away_what_was_left_over_before_still_is(void **state)
{
	(void)state;
	static const char evidence[] = "an allocation response has no MPS pipe,"
				       "a pod holds a device ID that is no longer offered";
	build_world_shared(&world, 0, 4);
	leave_over(build_world_uuid(&world, 0), build_world_replica(&world, 0, 0));
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, evidence);
	build_world_offer_nothing(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, evidence);
	/* Evidence is that of now. */
	world.devices[0].compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0,
		    "an allocation response has no MPS pipe,compute mode is ExclusiveProcess,"
		    "a pod holds a device ID that is no longer offered");
	world.devices[0].compute_mode = REPORT_COMPUTE_DEFAULT;
	build_world_publish(&world);
	assert_int_equal(build_world_status(&world, 0)->sharing.mode,
			 ATTRIBUTION_MODE_TIME_SLICED);
	/* When nobody is there any more there is nothing to go by. */
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_remove_pod(&world, "uid-a");
	build_world_remove_pod(&world, "uid-b");
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
}

static void what_was_left_over_makes_no_replicas_while_a_plugin_is_away(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	leave_over(build_world_replica(&world, 0, 0), build_world_uuid(&world, 0));
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 1));
	build_world_offer_nothing(&world);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1,
		    "device IDs name the whole device,"
		    "a pod holds a device ID that is no longer offered");
}

/* By whole devices: a replica is what was left over. */
static void while_a_plugin_is_away_a_reservation_shares_the_device_out_as_before(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			build_world_uuid(&world, 0));
	build_world_pod(&world, (struct build_pod){.name = "s", .kai_group = "g"});
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	for (int is_away = 0; is_away < 2; is_away++) {
		expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1,
			    "compute mode is Default,"
			    "a pod holds a device ID that is no longer offered");
		build_world_offer_nothing(&world);
	}
	build_world_list_nothing(&world);
	build_world_remove_pod(&world, "uid-a");
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
}

static void while_a_plugin_is_away_hami_makes_as_many_of_the_device_as_before(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	for (unsigned i = 0; i < 3; i++)
		build_world_offer(&world, build_world_text(&world, "%.*s-%u",
							   VIEW_ARG(build_world_uuid(&world, 0)),
							   i));
	build_world_run(&world, (struct build_pod){.name = "a"}, world.offered[1]);
	for (int is_away = 0; is_away < 2; is_away++) {
		expect_mode(ATTRIBUTION_MODE_UNKNOWN, 3, "device IDs are HAMi's");
		build_world_offer_nothing(&world);
	}
}

/* Its device has a name that could be a replica's, and no slot. */
static void who_watches_a_shared_device_was_given_no_allocation(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->device = VIEW("nvidia0/vgpu0");
	grant->is_admin = true;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 2, "compute mode is Default");
}

static void of_each_form_the_one_that_was_on_offer_is_that_of_now(void **state)
{
	static const char left_over[] = "a pod holds a device ID that is no longer offered";
	static const struct {
		const char *offered[2], *before; /* behind the UUID of the device, or of the part */
		bool is_part;
		int mode;
		int64_t replicas;
		const char *evidence;
	} rows[] = {
		{{"::0", "::1"}, "", false, ATTRIBUTION_MODE_MPS, 2,
		 "compute mode is ExclusiveProcess"},
		{{""}, "::1", false, ATTRIBUTION_MODE_EXCLUSIVE, 1,
		 "device IDs name the whole device"},
		{{""}, "::1", true, ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices"},
		{{"::0", "::1"}, "", true, ATTRIBUTION_MODE_MIG_TIME_SLICED, 2,
		 "device IDs name MIG devices,device IDs end in a replica number"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char evidence[256];
		tear_down(state);
		set_up(state);
		struct report_device *device = build_world_cut(&world, 0, 1);
		device->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
		device->mig.current = rows[i].is_part;
		struct view uuid = rows[i].is_part ? build_world_mig(&world, 0, 0)
						   : build_world_uuid(&world, 0);
		build_world_offer_nothing(&world);
		for (size_t k = 0; k < 2 && rows[i].offered[k]; k++)
			build_world_offer(&world, build_world_text(&world, "%.*s%s", VIEW_ARG(uuid),
								   rows[i].offered[k]));
		/* Whole devices and parts go together in no offer. */
		leave_over(rows[i].is_part ? build_world_uuid(&world, 0)
					   : build_world_text(&world, "%.*s%s", VIEW_ARG(uuid),
							      rows[i].before),
			   world.offered[0]);
		build_world_book_nothing(&world);
		build_world_publish(&world);
		snprintf(evidence, sizeof(evidence), "%s,%s", rows[i].evidence, left_over);
		build_world_offer_nothing(&world);
		expect_mode(rows[i].mode, rows[i].replicas, evidence);
		/* Also when only he who was left over is still there. */
		build_world_list_nothing(&world);
		build_world_remove_pod(&world, "uid-b");
		build_world_list(&world, "a", "main",
				 rows[i].is_part ? build_world_uuid(&world, 0)
						 : build_world_text(&world, "%.*s%s", VIEW_ARG(uuid),
								    rows[i].before));
		expect_mode(rows[i].mode, rows[i].replicas, evidence);
		/* Or only they who are of now: then nothing is left over. */
		build_world_remove_pod(&world, "uid-a");
		build_world_list_nothing(&world);
		build_world_pod(&world, (struct build_pod){.name = "b"});
		build_world_list(&world, "b", "main", world.offered[0]);
		expect_mode(rows[i].mode, rows[i].replicas, rows[i].evidence);
	}
}

static void forms_of_which_none_was_left_over_before_contradict_each_other(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_replica(&world, 0, 0));
	build_world_publish(&world);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	build_world_offer_nothing(&world);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0,
		    "device IDs name the whole device,device IDs end in a replica number");
	/* Nor is it known when those on offer were of no one form. */
	static const char *const none[] = {"device IDs name the whole device",
					   "device IDs are HAMi's",
					   "a device ID is of no known form"};
	struct attribution before = *build_world_previous(&world, 0)->object;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct view lines[] = {view_from(none[i]),
				       VIEW("a pod holds a device ID that is no longer offered")};
		before.status.sharing = (struct attribution_sharing){
			.mode = ATTRIBUTION_MODE_UNKNOWN,
			.evidence = {lines, ARRAY_SIZE(lines), true}};
		build_world_previous(&world, 0)->object = &before;
		build_world_join(&world);
		expect_texts(build_world_status(&world, 0)->sharing.evidence,
			     "device IDs name the whole device,device IDs end in a replica number");
	}
}

/* The plugin has gone for good; a driver of dynamic resource allocation has the device now. */
static void what_a_plugin_had_on_offer_says_nothing_of_a_device_that_claims_give(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	leave_over(build_world_uuid(&world, 0), build_world_replica(&world, 0, 0));
	build_world_offer_nothing(&world);
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_remove_pod(&world, "uid-a");
	build_world_remove_pod(&world, "uid-b");
	build_world_pod(&world, (struct build_pod){.name = "c"});
	build_world_grant(&world, "uid-c", "main", 0);
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

static void what_was_given_before_replicas_says_nothing_of_mps(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2)->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_MPS, 2,
		    "compute mode is ExclusiveProcess,"
		    "a pod holds a device ID that is no longer offered");
}

/* The plugin was configured anew, from MPS to time-slicing; a pod that was there runs on. */
static void what_was_given_of_another_offer_says_nothing_of_mps(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2)->compute_mode = REPORT_COMPUTE_UNKNOWN;
	hold(3, true);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 2, "device IDs end in a replica number");
	world.devices[0].compute_mode = REPORT_COMPUTE_DEFAULT;
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 2, "compute mode is Default");
	hold(1, false);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 2, "an allocation response has no MPS pipe");
	/* While nothing is on offer it is all there is to go by. */
	build_world_offer_nothing(&world);
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0,
		    "an allocation response has the MPS pipe,"
		    "an allocation response has no MPS pipe");
}

static void a_claim_alone_is_exclusive_and_a_shared_one_is_not(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-a", "main", 0);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	struct grant *other = build_world_grant(&world, "uid-b", "main", 0);
	/* Who watches shares nothing. */
	other->is_admin = true;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	other->is_admin = false;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
	world.devices[0].compute_mode = REPORT_COMPUTE_UNKNOWN;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 1, "several pods are on the device by one ID");
}

static void several_shares_of_several_pods_share_the_device(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-a", "main", 0)->device = VIEW("pool/gpu-0/1");
	build_world_grant(&world, "uid-b", "main", 0)->device = VIEW("pool/gpu-0/2");
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
}

static void one_share_alone_does_not_make_the_device_exclusive(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->is_share = true;
	for (int is_read = 1; is_read >= 0; is_read--) {
		world.n_granted = (size_t)is_read;
		world.input.grants_unknown = !is_read;
		build_world_regrant(&world);
		expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1,
			    "compute mode is Default,a claim gives a share of the device");
	}
	world.devices[0].compute_mode = REPORT_COMPUTE_UNKNOWN;
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 1, "a claim gives a share of the device");
}

static void one_share_of_a_part_alone_is_not_all_of_it(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->is_share = true;
	grant->is_part = true;
	for (int has_uuid = 0; has_uuid < 2; has_uuid++) {
		grant->partition = has_uuid ? build_world_mig(&world, 0, 0) : VIEW("");
		for (int is_read = 1; is_read >= 0; is_read--) {
			world.n_granted = (size_t)is_read;
			world.input.grants_unknown = !is_read;
			build_world_regrant(&world);
			expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1,
				    "device IDs name MIG devices,a claim gives a share of the device");
		}
	}
}

static void several_containers_of_one_pod_share_nothing(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .second = "side"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-a", "side", 0);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

static void a_pod_that_is_given_what_another_still_has_shares_nothing(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .deleting = true},
			build_world_uuid(&world, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
}

static void a_part_without_a_uuid_is_mig(void **state)
{
	(void)state;
	build_world_device(&world, 0)->mig = (struct report_mig){.present = true, .current = true};
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	for (unsigned i = 0; i < 2; i++) {
		struct grant *grant = build_world_grant(&world, i ? "uid-b" : "uid-a", "main",
							     0);
		grant->is_part = true;
		grant->device = build_world_text(&world, "pool/gpu-0-mig-1g5gb-19-%u", i);
	}
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
}

static void claims_of_parts_are_mig(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 2);
	build_world_offer_nothing(&world);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	for (unsigned i = 0; i < 2; i++) {
		struct grant *grant = build_world_grant(&world, i ? "uid-b" : "uid-a", "main",
							     0);
		grant->partition = build_world_mig(&world, 0, i);
		grant->device = build_world_text(&world, "pool/gpu-0-mig-%u", i);
	}
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
}

static struct grant *grant_part(const char *uid, unsigned partition)
{
	struct grant *grant = build_world_grant(&world, uid, "main", 0);
	grant->partition = build_world_mig(&world, 0, partition);
	grant->device = build_world_text(&world, "pool/gpu-0-mig-%u", partition);
	grant->is_part = true;
	return grant;
}

static void a_part_that_several_pods_have_by_one_claim_is_shared(void **state)
{
	(void)state;
	static const char shared[] = "device IDs name MIG devices,"
				     "several pods are on the device by one ID";
	static const char *const names[] = {"a", "b", "c"};
	build_world_cut(&world, 0, 3);
	build_world_offer_nothing(&world);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		build_world_pod(&world, (struct build_pod){.name = names[i], .second = "side"});
	/* One of a pod's own, in both of its containers, and one that it shares. */
	grant_part("uid-b", 0);
	grant_part("uid-b", 0)->container = VIEW("side");
	grant_part("uid-b", 2);
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
	grant_part("uid-c", 1);
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
	struct grant *grant = grant_part("uid-a", 2);
	grant->is_admin = true;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
	grant->is_admin = false;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1, shared);
	/* Of some of them the claim cannot be read, and then of none. */
	world.input.grants_unknown = true;
	for (size_t n = 6; n > 0; n -= 3) {
		world.n_granted = n - 3;
		build_world_regrant(&world);
		expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1, shared);
	}
	build_world_remove_pod(&world, "uid-a");
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
}

/* In memory of their own, where a sanitizer sees who writes past the end. */
static void however_many_parts_were_published_there_is_room_for_them(void **state)
{
	(void)state;
	static struct view parts[3000];
	build_world_cut(&world, 0, 2);
	build_world_offer_nothing(&world);
	for (unsigned i = 0; i < 2; i++) {
		build_world_pod(&world, (struct build_pod){.name = i ? "b" : "a"});
		grant_part(i ? "uid-b" : "uid-a", i);
	}
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		parts[i] = build_world_text(&world, "MIG-%zu", i);
	struct attribution before = *build_world_previous(&world, 0)->object;
	for (uint32_t i = 0; i < 2; i++)
		ARRAY_AT(before.status.tenants, struct attribution_tenant, i)->partitions =
			(struct array){parts, ARRAY_SIZE(parts), true};
	build_world_previous(&world, 0)->object = &before;
	world.input.grants_unknown = true;
	world.n_granted = 0;
	build_world_regrant(&world);
	build_world_join(&world);
	assert_int_equal(build_world_status(&world, 0)->sharing.mode,
			 ATTRIBUTION_MODE_MIG_TIME_SLICED);
}

/* What it is called is all that is known of it. */
static void a_shared_part_without_a_uuid_is_shared(void **state)
{
	(void)state;
	build_world_device(&world, 0)->mig = (struct report_mig){.present = true, .current = true};
	for (unsigned i = 0; i < 2; i++) {
		build_world_pod(&world, (struct build_pod){.name = i ? "b" : "a"});
		grant_part(i ? "uid-b" : "uid-a", 0)->partition = (struct view){0};
	}
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1,
		    "device IDs name MIG devices,several pods are on the device by one ID");
	/* While claims cannot be read it is what it was published as. */
	world.input.grants_unknown = true;
	world.n_granted = 0;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG_TIME_SLICED, 1,
		    "device IDs name MIG devices,several pods are on the device by one ID");
}

static void parts_without_a_uuid_stay_those_of_one_holder_each(void **state)
{
	(void)state;
	build_world_device(&world, 0)->mig = (struct report_mig){.present = true, .current = true};
	for (unsigned i = 0; i < 2; i++) {
		build_world_pod(&world, (struct build_pod){.name = i ? "b" : "a"});
		grant_part(i ? "uid-b" : "uid-a", i)->partition = (struct view){0};
	}
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
	world.input.grants_unknown = true;
	world.n_granted = 0;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
}

static void a_reservation_shares_the_device_out_by_time(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			build_world_uuid(&world, 0));
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
}

static void whoever_shares_the_whole_device_shares_no_part_of_it(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 2);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"},
			build_world_uuid(&world, 0));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
	expect_mode(ATTRIBUTION_MODE_MIG, 1,
		    "device IDs name MIG devices,a pod holds a device ID that is no longer offered");
}

static void who_still_holds_what_hami_gave_shares_no_whole_device(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){
				.name = "a",
				.hami = "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;",
			},
			VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1"));
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

static void while_claims_cannot_be_read_a_claimed_device_is_shared_as_before(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-b", "main", 0);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
	world.n_granted = 1;
	world.input.grants_unknown = true;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 1, "compute mode is Default");
	/* A device that no claim gave away goes by what is known of it. */
	build_world_offer(&world, build_world_uuid(&world, 1));
	build_world_publish(&world);
	assert_int_equal(build_world_status(&world, 1)->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	world.input.grants_unknown = false;
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
}

static void containers_of_one_pod_share_nothing_while_claims_cannot_be_read(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .second = "side"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-a", "side", 0);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	world.input.grants_unknown = true;
	/* One of them is known, with or without somebody before it, and then none. */
	build_world_pod(&world, (struct build_pod){.name = "0"});
	build_world_grant(&world, "uid-0", "main", 0)->is_admin = true;
	world.granted[1] = world.granted[2];
	for (size_t n = 3; n-- > 0;) {
		world.n_granted = n;
		build_world_regrant(&world);
		expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	}
}

static void a_claimed_part_stays_mig_whatever_the_mode_was(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->partition = build_world_mig(&world, 0, 0);
	grant->device = VIEW("pool/gpu-0-mig-0");
	build_world_regrant(&world);
	build_world_book(&world, "uid-b", "main",
			 VIEW("GPU-00000000-0000-4000-8000-0123456789ab::x"));
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "a device ID is of no known form");
	world.input.grants_unknown = true;
	world.n_granted = 0;
	build_world_regrant(&world);
	build_world_book_nothing(&world);
	build_world_remove_pod(&world, "uid-b");
	expect_mode(ATTRIBUTION_MODE_MIG, 1, "device IDs name MIG devices");
}

static void a_claim_that_cannot_be_read_leaves_the_replicas_as_they_are(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_publish(&world);
	world.input.grants_unknown = true;
	world.n_granted = 0;
	build_world_regrant(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4,
		    "compute mode is Default,a pod holds a device ID that is no longer offered");
}

static void a_conclusion_without_ids_is_told_by_its_evidence(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_EVIDENCE; i++)
		assert_int_equal(sharing_is_without_ids(1u << i),
				 1u << i == EVIDENCE_NO_IDS || 1u << i == EVIDENCE_MIG_IS_ON);
	assert_false(sharing_is_without_ids(0));
}

static void a_left_over_does_not_undo_what_allocations_told(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4)->compute_mode = REPORT_COMPUTE_PROHIBITED;
	hold(0, true);
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_uuid(&world, 0));
	build_world_publish(&world);
	/* The checkpoint told MPS, and fails. */
	build_world_fail_book(&world);
	expect_mode(ATTRIBUTION_MODE_MPS, 4,
		    "an allocation response has the MPS pipe,"
		    "a pod holds a device ID that is no longer offered");
}

static void a_claimant_that_is_over_keeps_no_mode(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_grant(&world, "uid-a", "main", 0);
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	world.input.grants_unknown = true;
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
	build_world_pod(&world, (struct build_pod){.name = "a"});
	expect_mode(ATTRIBUTION_MODE_EXCLUSIVE, 1, "device IDs name the whole device");
	build_world_remove_pod(&world, "uid-a");
	expect_mode(ATTRIBUTION_MODE_UNKNOWN, 0, "no device ID is known");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(of_several_kinds_of_parts_some_may_be_shared, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(whole_device_ids_are_exclusive, set_up, tear_down),
	cmocka_unit_test_setup_teardown(mig_mode_contradicts_ids_of_the_whole_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(mig_mode_contradicts_replicas_of_the_whole_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(mig_mode_contradicts_no_mode_that_is_unknown, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pipe_contradicts_that_replicas_of_a_part_take_turns, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pipe_that_was_given_with_another_form_contradicts_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_default_compute_mode_says_nothing_of_gkes_replicas, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_default_compute_mode_tells_of_gkes_whole_devices, set_up, tear_down),
	cmocka_unit_test_setup_teardown(mig_ids_are_mig, set_up, tear_down),
	cmocka_unit_test_setup_teardown(mig_ids_with_replicas_are_mig_time_sliced, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(gke_ids_are_read_by_minor_and_instance, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_allocation_with_the_pipe_is_mps, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_allocation_without_the_pipe_is_time_slicing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(without_allocations_the_device_itself_tells, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_label_alone_decides_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_label_agrees_with_what_decided_or_contradicts_it,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_label_contradicts_the_ids_of_whole_devices_by_any_strategy, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_label_says_nothing_of_what_others_share_or_of_parts,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pipe_under_the_default_mode_is_mps_and_both_are_said,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_was_given_of_another_offer_says_nothing_of_mps, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(replicas_of_which_none_was_ever_on_offer_are_not_counted,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(contradicting_allocations_are_named_both, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_allocation_and_a_device_that_contradict_are_named_both,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_mps_process_contradicts_no_allocation, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(forms_of_ids_that_contradict_are_named_both, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(without_ids_mig_mode_tells, set_up, tear_down),
	cmocka_unit_test_setup_teardown(sources_that_fail_leave_what_was_published, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_silent_checkpoint_leaves_what_it_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_silent_checkpoint_told_of_those_only_who_were_there,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_silent_checkpoint_holds_up_nothing_that_it_did_not_tell,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(held_ids_alone_make_the_replicas_neither_fewer_nor_more,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_odd_id_leaves_the_mode_open, set_up, tear_down),
	cmocka_unit_test_setup_teardown(how_a_device_is_shared_out_is_what_is_on_offer, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_was_given_before_replicas_says_nothing_of_mps, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_claim_alone_is_exclusive_and_a_shared_one_is_not, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(one_share_of_a_part_alone_is_not_all_of_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(one_share_alone_does_not_make_the_device_exclusive, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(several_shares_of_several_pods_share_the_device, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(several_containers_of_one_pod_share_nothing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_part_without_a_uuid_is_mig, set_up, tear_down),
	cmocka_unit_test_setup_teardown(claims_of_parts_are_mig, set_up, tear_down),
	cmocka_unit_test_setup_teardown(whoever_shares_the_whole_device_shares_no_part_of_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_shares_the_device_out_by_time, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(who_still_holds_what_hami_gave_shares_no_whole_device,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_claims_cannot_be_read_a_claimed_device_is_shared_as_before, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_left_over_does_not_undo_what_allocations_told, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_claimant_that_is_over_keeps_no_mode, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_device_that_agrees_with_an_allocation_contradicts_nothing,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(sources_that_fail_leave_an_unknown_mode_with_its_reason,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_settling_kubelets_short_offer_changes_no_mode, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_checkpoint_that_speaks_is_believed_anew, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(only_what_a_checkpoint_told_outlasts_its_silence, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_given_under_another_name_tells_nothing_of_what_is_on_offer, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_disputed_tenant_was_there_while_the_checkpoint_spoke,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_on_offer_says_how_many_replicas_there_are, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_is_given_what_another_still_has_shares_nothing,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		containers_of_one_pod_share_nothing_while_claims_cannot_be_read, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_claimed_part_stays_mig_whatever_the_mode_was, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_claim_that_cannot_be_read_leaves_the_replicas_as_they_are,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_conclusion_without_ids_is_told_by_its_evidence,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_part_that_several_pods_have_by_one_claim_is_shared,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_shared_part_without_a_uuid_is_shared, set_up, tear_down),
	cmocka_unit_test_setup_teardown(parts_without_a_uuid_stay_those_of_one_holder_each, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(while_a_plugin_is_away_what_was_left_over_before_still_is,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_each_form_the_one_that_was_on_offer_is_that_of_now,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		forms_of_which_none_was_left_over_before_contradict_each_other, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_a_plugin_had_on_offer_says_nothing_of_a_device_that_claims_give, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(what_was_left_over_makes_no_replicas_while_a_plugin_is_away,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_a_plugin_is_away_a_reservation_shares_the_device_out_as_before, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		while_a_plugin_is_away_hami_makes_as_many_of_the_device_as_before, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(who_watches_a_shared_device_was_given_no_allocation, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(however_many_parts_were_published_there_is_room_for_them,
					set_up, tear_down),
};

TEST_MAIN(tests)
