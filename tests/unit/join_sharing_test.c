/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "join/subject.h"

/* As many lines as a conclusion has here. */
#define MAX_LINES 6

/* Publishes, and expects that of device 0; evidence: texts with commas between them. */
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

/* The same, with lines of evidence; the first 0 ends them. */
static void expect_lines(int mode, int64_t replicas, const unsigned lines[MAX_LINES + 1])
{
	char evidence[512] = "";
	for (size_t i = 0, len = 0; lines[i]; i++) {
		struct view text = sharing_rule_text((enum evidence_index)__builtin_ctz(lines[i]));
		len += (size_t)snprintf(evidence + len, sizeof(evidence) - len, "%s%.*s",
					i > 0 ? "," : "", VIEW_ARG(text));
		assert_true(len < sizeof(evidence));
	}
	expect_mode(mode, replicas, evidence);
}

#define EXPECT(mode, replicas, ...)                    \
	expect_lines(ATTRIBUTION_MODE_##mode, replicas, \
		     (const unsigned[MAX_LINES + 1]){__VA_ARGS__})

static void set_label(struct build_world *w, struct view value)
{
	w->node.sharing_strategy = value;
}

static void hold(unsigned replica, bool mps)
{
	world_pod("a");
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, replica))->mps =
		mps;
}

/* KAI's reservation pod "r" holds the ID, and pods of its group share the device. */
static void reserve(struct view id)
{
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"}, id);
}

static void join_group(const char *pod)
{
	build_world_pod(&world, (struct build_pod){.name = pod, .kai_group = "g"});
}

/* Claims cannot be read, but for the first n grants. */
static void read_grants(size_t n)
{
	world.n_granted = n;
	world.input.grants_unknown = true;
	build_world_regrant(&world);
}

#define GPU "GPU-00000000-0000-4000-8000-0123456789ab"
#define MIG "MIG-00000000-0000-4000-8000-00000000000"

/* The device has two partitions. Each row replaces the offer of the one before. */
TEST(the_forms_of_the_ids_on_offer_tell_the_mode_and_their_number_the_replicas)
{
	static const struct {
		const char *ids[6];
		int mode;
		int64_t replicas;
		unsigned lines[MAX_LINES + 1];
	} rows[] = {
		{{GPU}, ATTRIBUTION_MODE_EXCLUSIVE, 1, {EVIDENCE_GPU_IDS}},
		{{"nvidia0"}, ATTRIBUTION_MODE_EXCLUSIVE, 1, {EVIDENCE_GPU_IDS}},
		{{MIG "0", MIG "1"}, ATTRIBUTION_MODE_MIG, 1, {EVIDENCE_MIG_IDS}},
		{{"nvidia0/gi7"}, ATTRIBUTION_MODE_MIG, 1, {EVIDENCE_MIG_IDS}},
		{{MIG "0::0", MIG "0::1", MIG "0::2", MIG "1::0", MIG "1::1"},
		 ATTRIBUTION_MODE_MIG_TIME_SLICED, 3, {EVIDENCE_MIG_IDS, EVIDENCE_REPLICA_IDS}},
		{{MIG "0", MIG "1", MIG "1::1"},
		 ATTRIBUTION_MODE_MIG_TIME_SLICED, 1, {EVIDENCE_MIG_IDS, EVIDENCE_REPLICA_IDS}},
		{{GPU "::0", GPU "::1", GPU "::2"},
		 ATTRIBUTION_MODE_TIME_SLICED, 3, {EVIDENCE_DEFAULT_MODE}},
		{{GPU "::0", GPU "::1"}, ATTRIBUTION_MODE_TIME_SLICED, 2, {EVIDENCE_DEFAULT_MODE}},
		{{"nvidia0/vgpu0", "nvidia0/vgpu1"},
		 ATTRIBUTION_MODE_UNKNOWN, 2, {EVIDENCE_REPLICA_IDS}},
		{{GPU "::0", GPU "::1", GPU "::x"}, ATTRIBUTION_MODE_UNKNOWN, 2, {EVIDENCE_ODD_ID}},
		{{GPU, MIG "0"}, ATTRIBUTION_MODE_UNKNOWN, 1, {EVIDENCE_GPU_IDS, EVIDENCE_MIG_IDS}},
		{{GPU "::0", MIG "0::1"},
		 ATTRIBUTION_MODE_UNKNOWN, 1, {EVIDENCE_GPU_IDS, EVIDENCE_MIG_IDS}},
		{{GPU, GPU "::0"},
		 ATTRIBUTION_MODE_UNKNOWN, 1, {EVIDENCE_GPU_IDS, EVIDENCE_REPLICA_IDS}},
	};
	build_world_cut(&world, 0, 2)->mig = (struct report_mig){.present = true, .pending = true};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_offer_nothing(&world);
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].ids) && rows[i].ids[k]; k++)
			build_world_offer(&world, view_from(rows[i].ids[k]));
		expect_lines(rows[i].mode, rows[i].replicas, rows[i].lines);
	}
}

/* Four replicas, or the whole device. Each row begins with a new world. */
TEST(clues_tell_mps_from_time_slicing_and_what_contradicts_is_said)
{
	enum { ANY = REPORT_COMPUTE_UNKNOWN, DEFAULT = REPORT_COMPUTE_DEFAULT,
	       EXCLUSIVE = REPORT_COMPUTE_EXCLUSIVE_PROCESS, NONE = REPORT_COMPUTE_PROHIBITED };
	static const struct {
		const char *held; /* m, t: a replica is, with the pipe or without; w: the device */
				  /* is on offer as a whole; x: a pod holds it as a whole; */
				  /* p, P: of two processes the first or the last is MPS */
		int compute_mode;
		bool is_mig_on;
		const char *label;
		int mode;
		unsigned lines[MAX_LINES + 1];
	} rows[] = {
		{"m", ANY, false, "", ATTRIBUTION_MODE_MPS, {EVIDENCE_WITH_PIPE}},
		{"m", EXCLUSIVE, false, "", ATTRIBUTION_MODE_MPS, {EVIDENCE_WITH_PIPE}},
		{"m", DEFAULT, false, "", ATTRIBUTION_MODE_MPS,
		 {EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS}},
		{"t", DEFAULT, false, "", ATTRIBUTION_MODE_TIME_SLICED, {EVIDENCE_WITHOUT_PIPE}},
		{"mt", DEFAULT, false, "", ATTRIBUTION_MODE_UNKNOWN,
		 {EVIDENCE_WITH_PIPE, EVIDENCE_WITHOUT_PIPE}},
		{"t", EXCLUSIVE, false, "", ATTRIBUTION_MODE_UNKNOWN,
		 {EVIDENCE_WITHOUT_PIPE, EVIDENCE_EXCLUSIVE_PROCESS}},
		/* Two clues that contradict each other are all that is said. */
		{"mt", EXCLUSIVE, true, "mps", ATTRIBUTION_MODE_UNKNOWN,
		 {EVIDENCE_WITH_PIPE, EVIDENCE_WITHOUT_PIPE}},
		{"t", EXCLUSIVE, true, "mps", ATTRIBUTION_MODE_UNKNOWN,
		 {EVIDENCE_WITHOUT_PIPE, EVIDENCE_EXCLUSIVE_PROCESS}},
		/* A pod may run an MPS of its own, which leaves the compute mode as it is. */
		{"tP", DEFAULT, false, "", ATTRIBUTION_MODE_TIME_SLICED, {EVIDENCE_WITHOUT_PIPE}},
		{"tP", ANY, false, "", ATTRIBUTION_MODE_TIME_SLICED, {EVIDENCE_WITHOUT_PIPE}},
		{"P", DEFAULT, false, "", ATTRIBUTION_MODE_TIME_SLICED, {EVIDENCE_DEFAULT_MODE}},
		{"c", ANY, false, "", ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_REPLICA_IDS}},
		{"P", ANY, false, "", ATTRIBUTION_MODE_MPS, {EVIDENCE_MPS_PROCESS}},
		{"p", ANY, false, "", ATTRIBUTION_MODE_MPS, {EVIDENCE_MPS_PROCESS}},
		{"p", EXCLUSIVE, false, "", ATTRIBUTION_MODE_MPS, {EVIDENCE_EXCLUSIVE_PROCESS}},
		{"p", NONE, false, "", ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_REPLICA_IDS}},
		{"", DEFAULT, false, "", ATTRIBUTION_MODE_TIME_SLICED, {EVIDENCE_DEFAULT_MODE}},
		/* The label decides nothing. */
		{"", ANY, false, "", ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_REPLICA_IDS}},
		{"", ANY, false, "mps", ATTRIBUTION_MODE_UNKNOWN,
		 {EVIDENCE_REPLICA_IDS, EVIDENCE_LABEL_MPS}},
		{"", ANY, false, "time-slicing", ATTRIBUTION_MODE_UNKNOWN,
		 {EVIDENCE_REPLICA_IDS, EVIDENCE_LABEL_TIME_SLICING}},
		{"", ANY, false, "none", ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_REPLICA_IDS}},
		{"", ANY, false, "no node", ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_REPLICA_IDS}},
		{"", EXCLUSIVE, false, "mps", ATTRIBUTION_MODE_MPS,
		 {EVIDENCE_EXCLUSIVE_PROCESS, EVIDENCE_LABEL_MPS}},
		{"", EXCLUSIVE, false, "time-slicing", ATTRIBUTION_MODE_MPS,
		 {EVIDENCE_EXCLUSIVE_PROCESS, EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS}},
		{"", EXCLUSIVE, false, "none", ATTRIBUTION_MODE_MPS,
		 {EVIDENCE_EXCLUSIVE_PROCESS, EVIDENCE_LABEL_NONE_CONTRADICTS}},
		{"", DEFAULT, false, "none", ATTRIBUTION_MODE_TIME_SLICED,
		 {EVIDENCE_DEFAULT_MODE, EVIDENCE_LABEL_NONE_CONTRADICTS}},
		{"", DEFAULT, false, "mps", ATTRIBUTION_MODE_TIME_SLICED,
		 {EVIDENCE_DEFAULT_MODE, EVIDENCE_LABEL_MPS_CONTRADICTS}},
		{"", DEFAULT, false, "time-slicing", ATTRIBUTION_MODE_TIME_SLICED,
		 {EVIDENCE_DEFAULT_MODE, EVIDENCE_LABEL_TIME_SLICING}},
		{"w", DEFAULT, false, "time-slicing", ATTRIBUTION_MODE_EXCLUSIVE,
		 {EVIDENCE_GPU_IDS, EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS}},
		{"w", DEFAULT, false, "mps", ATTRIBUTION_MODE_EXCLUSIVE,
		 {EVIDENCE_GPU_IDS, EVIDENCE_LABEL_MPS_CONTRADICTS}},
		{"w", DEFAULT, false, "none", ATTRIBUTION_MODE_EXCLUSIVE, {EVIDENCE_GPU_IDS}},
		{"w", DEFAULT, false, "?", ATTRIBUTION_MODE_EXCLUSIVE, {EVIDENCE_GPU_IDS}},
		{"w", DEFAULT, false, "no node", ATTRIBUTION_MODE_EXCLUSIVE, {EVIDENCE_GPU_IDS}},
		/* MIG mode contradicts any known mode. */
		{"w", DEFAULT, true, "", ATTRIBUTION_MODE_EXCLUSIVE,
		 {EVIDENCE_GPU_IDS, EVIDENCE_MIG_CONTRADICTS}},
		{"w", DEFAULT, true, "time-slicing", ATTRIBUTION_MODE_EXCLUSIVE,
		 {EVIDENCE_GPU_IDS, EVIDENCE_MIG_CONTRADICTS,
		  EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS}},
		{"", ANY, true, "", ATTRIBUTION_MODE_UNKNOWN, {EVIDENCE_REPLICA_IDS}},
		{"", DEFAULT, true, "", ATTRIBUTION_MODE_TIME_SLICED,
		 {EVIDENCE_DEFAULT_MODE, EVIDENCE_MIG_CONTRADICTS}},
		{"mx", DEFAULT, true, "time-slicing", ATTRIBUTION_MODE_MPS,
		 {EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS, EVIDENCE_MIG_CONTRADICTS,
		  EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS, EVIDENCE_LEFT_OVER_ID}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const bool is_whole = strchr(rows[i].held, 'w') != NULL;
		unsigned replica = 0;
		start_anew();
		struct report_device *device = is_whole ? build_world_exclusive(&world, 0)
							: build_world_shared(&world, 0, 4);
		device->compute_mode = rows[i].compute_mode;
		device->mig = (struct report_mig){.present = true, .current = rows[i].is_mig_on};
		set_label(&world, view_from(rows[i].label));
		if (strcmp(rows[i].label, "no node") == 0)
			world.input.node = NULL;
		for (const char *c = rows[i].held; *c; c++) {
			if (*c == 'm' || *c == 't')
				hold(replica++, *c == 'm');
			if (*c == 'c') /* a process that is no MPS */
				build_world_process(&world, 0, 1, "uid-a")->kind =
					REPORT_PROCESS_COMPUTE;
			if (*c == 'x')
				world_run("b", build_world_uuid(&world, 0));
			if (*c == 'p' || *c == 'P')
				build_world_process(&world, 0, 1, "uid-a")->kind =
					*c == 'p' ? REPORT_PROCESS_MPS : REPORT_PROCESS_COMPUTE;
			if (*c == 'p' || *c == 'P')
				build_world_process(&world, 0, 2, "uid-a")->kind =
					*c == 'P' ? REPORT_PROCESS_MPS : REPORT_PROCESS_COMPUTE;
		}
		expect_lines(rows[i].mode, is_whole ? 1 : 4, rows[i].lines);
	}
}

static void offer_replicas_of_a_part(void)
{
	build_world_cut(&world, 0, 1);
	build_world_offer_nothing(&world);
	build_world_offer(&world, VIEW(MIG "0::0"));
	build_world_offer(&world, VIEW(MIG "0::1"));
}

/* There is no mode for it. */
TEST(a_pipe_contradicts_that_replicas_of_a_part_take_turns)
{
	static const char *const ids[] = {"MIG-00000000-0000-4000-8000-000000000000::0",
					  "nvidia0/gi0/vgpu0", "nvidia0/gi1/vgpu0"};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		start_anew();
		build_world_cut(&world, 0, 2);
		build_world_offer_nothing(&world);
		build_world_offer(&world, view_from(ids[i]));
		world_run("a", view_from(ids[i]));
		EXPECT(MIG_TIME_SLICED, 1, EVIDENCE_MIG_IDS, EVIDENCE_REPLICA_IDS);
		world.booked[0].mps = true;
		EXPECT(MIG_TIME_SLICED, 1, EVIDENCE_MIG_IDS, EVIDENCE_REPLICA_IDS,
		       EVIDENCE_PIPE_CONTRADICTS);
		/* It contradicts no mode that is unknown. */
		build_world_offer(&world, build_world_uuid(&world, 0));
		EXPECT(UNKNOWN, 1, EVIDENCE_GPU_IDS, EVIDENCE_MIG_IDS);
	}
}

TEST(a_pipe_that_was_given_with_another_form_contradicts_nothing)
{
	offer_replicas_of_a_part();
	world_run("a", VIEW(MIG "0::0"));
	world_run("b", build_world_replica(&world, 0, 0));
	world.booked[1].mps = true;
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(MIG_TIME_SLICED, 2, EVIDENCE_MIG_IDS, EVIDENCE_REPLICA_IDS,
		       EVIDENCE_LEFT_OVER_ID);
		build_world_offer_nothing(&world); /* the plugin is away */
	}
}

/* GKE's MPS leaves it as it is. */
TEST(the_default_compute_mode_says_nothing_of_gkes_replicas)
{
	static const struct {
		bool mps;
		int mode;
		const char *evidence;
	} rows[] = {
		{true, ATTRIBUTION_MODE_MPS, "an allocation response has the MPS pipe"},
		{false, ATTRIBUTION_MODE_TIME_SLICED, "an allocation response has no MPS pipe"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_device(&world, 0);
		build_world_offer(&world, VIEW("nvidia0/vgpu0"));
		build_world_offer(&world, VIEW("nvidia0/vgpu1"));
		EXPECT(UNKNOWN, 2, EVIDENCE_REPLICA_IDS);
		world_run("a", VIEW("nvidia0/vgpu0"));
		world.booked[0].mps = rows[i].mps;
		expect_mode(rows[i].mode, 2, rows[i].evidence);
		build_world_fail_book(&world);
		EXPECT(UNKNOWN, 2, EVIDENCE_REPLICA_IDS);
	}
	world.devices[0].compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	EXPECT(MPS, 2, EVIDENCE_EXCLUSIVE_PROCESS);
}

/* Who has a whole device of GKE's shares it by means of its own. */
TEST(the_default_compute_mode_tells_of_gkes_whole_devices)
{
	build_world_device(&world, 0);
	build_world_offer(&world, VIEW("nvidia0"));
	reserve(VIEW("nvidia0"));
	join_group("a");
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE);
}

/* It is the plugin that does not share, and whole devices that it is about. */
TEST(the_label_says_nothing_of_what_others_share_or_of_parts)
{
	set_label(&world, VIEW("none"));
	build_world_exclusive(&world, 0);
	reserve(build_world_uuid(&world, 0));
	join_group("a");
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE);
	start_anew();
	set_label(&world, VIEW("time-slicing"));
	build_world_cut(&world, 0, 2);
	EXPECT(MIG, 1, EVIDENCE_MIG_IDS);
}

TEST(a_pipe_under_the_default_mode_is_mps_and_both_are_said)
{
	build_world_shared(&world, 0, 4);
	hold(0, true);
	EXPECT(MPS, 4, EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	set_label(&world, VIEW("time-slicing"));
	world_run("b", build_world_uuid(&world, 0));
	EXPECT(MPS, 4, EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS,
	       EVIDENCE_LABEL_TIME_SLICING_CONTRADICTS, EVIDENCE_LEFT_OVER_ID);
	/* Nothing tells of the pipe any more. */
	build_world_fail_book(&world);
	EXPECT(TIME_SLICED, 4, EVIDENCE_DEFAULT_MODE, EVIDENCE_LABEL_TIME_SLICING,
	       EVIDENCE_LEFT_OVER_ID);
}

/* They had it one after the other, and the kubelet has not forgotten the first. */
TEST(holders_of_one_replica_that_contradict_are_named_both)
{
	build_world_shared(&world, 0, 4);
	hold(0, true);
	world_pod("b");
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 0));
	EXPECT(UNKNOWN, 4, EVIDENCE_WITH_PIPE, EVIDENCE_WITHOUT_PIPE);
}

TEST(contradicting_allocations_are_named_both)
{
	build_world_shared(&world, 0, 4);
	hold(0, true);
	hold(1, false);
	EXPECT(UNKNOWN, 4, EVIDENCE_WITH_PIPE, EVIDENCE_WITHOUT_PIPE);
	/* That is nothing to go by when the checkpoint is silent. */
	build_world_fail_book(&world);
	world.devices[0].compute_mode = REPORT_COMPUTE_PROHIBITED;
	EXPECT(UNKNOWN, 4, EVIDENCE_REPLICA_IDS);
}

TEST(without_ids_mig_mode_tells)
{
	struct report_device *device = build_world_device(&world, 0);
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
	device->mig = (struct report_mig){.current = true};
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
	device->mig = (struct report_mig){.present = true};
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
	device->mig.pending = true;
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
	device->mig.current = true;
	EXPECT(MIG, 0, EVIDENCE_MIG_IS_ON);
}

TEST(sources_that_fail_leave_an_unknown_mode_with_its_reason)
{
	build_world_exclusive(&world, 0);
	build_world_offer(&world, VIEW(GPU "::x"));
	EXPECT(UNKNOWN, 1, EVIDENCE_ODD_ID);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	EXPECT(UNKNOWN, 1, EVIDENCE_ODD_ID);
	/* An object that never had a mode gets one. */
	world_alter(0)->status.sharing = (struct attribution_sharing){0};
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
}

TEST(a_settling_kubelets_short_offer_changes_no_mode)
{
	build_world_shared(&world, 0, 4);
	hold(0, true);
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	EXPECT(MPS, 4, EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_offer_nothing(&world);
	EXPECT(MPS, 4, EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	/* Nor does one that has lost its books, while the tenant stays. */
	world.report.kubelet_restarted_at = 0;
	EXPECT(MPS, 4, EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	build_world_remove_pod(&world, "uid-a");
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
}

/* The replicas have another resource's name now, and the same numbers. */
TEST(what_was_given_under_another_name_tells_nothing_of_what_is_on_offer)
{
	build_world_shared(&world, 0, 4);
	hold(0, true);
	EXPECT(MPS, 4, EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	world.allocatable.resource = world.registered.resource = VIEW("nvidia.com/gpu.shared");
	EXPECT(TIME_SLICED, 4, EVIDENCE_DEFAULT_MODE);
	world_pod("b");
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 0))->resource =
		VIEW("nvidia.com/gpu.shared");
	EXPECT(TIME_SLICED, 4, EVIDENCE_WITHOUT_PIPE);
}

TEST(a_silent_checkpoint_holds_up_nothing_that_it_did_not_tell)
{
	struct report_device *device = build_world_shared(&world, 0, 4);
	build_world_fail_book(&world);
	EXPECT(TIME_SLICED, 4, EVIDENCE_DEFAULT_MODE);
	device->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	EXPECT(MPS, 4, EVIDENCE_EXCLUSIVE_PROCESS);
}

TEST(held_ids_alone_make_the_replicas_neither_fewer_nor_more)
{
	build_world_shared(&world, 0, 4);
	hold(0, false);
	build_world_publish(&world);
	world.report.allocatable = (struct array){0};
	world.report.checkpoint.registered = (struct array){0};
	EXPECT(TIME_SLICED, 4, EVIDENCE_WITHOUT_PIPE);
	/* Nor when it is known that none is on offer: the plugin is away. */
	build_world_offer_nothing(&world);
	EXPECT(TIME_SLICED, 4, EVIDENCE_WITHOUT_PIPE);
	/* Nor more: some are of before. */
	for (unsigned i = 1; i < 6; i++)
		build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, i));
	EXPECT(TIME_SLICED, 4, EVIDENCE_WITHOUT_PIPE);
	/* And those of another mode are others. */
	build_world_book_nothing(&world);
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
}

TEST(replicas_of_which_none_was_ever_on_offer_are_not_counted)
{
	build_world_shared(&world, 0, 4);
	build_world_offer_nothing(&world);
	hold(0, false);
	hold(2, false);
	EXPECT(TIME_SLICED, 0, EVIDENCE_WITHOUT_PIPE);
	start_anew();
	build_world_cut(&world, 0, 2);
	build_world_offer_nothing(&world);
	world_run("a", VIEW(MIG "1::1"));
	EXPECT(MIG_TIME_SLICED, 0, EVIDENCE_MIG_IDS, EVIDENCE_REPLICA_IDS);
	start_anew();
	build_world_without_agent(&world);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_replica(&world, 0, 0)}});
	build_world_pod(&world, (struct build_pod){.name = "b",
						   .told = {build_world_replica(&world, 0, 2)}});
	EXPECT(UNKNOWN, 0, EVIDENCE_REPLICA_IDS);
	/* That a whole device or a MIG device is one, its ID says. */
	start_anew();
	build_world_device(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	build_world_cut(&world, 1, 2);
	build_world_offer_nothing(&world);
	world_run("b", build_world_mig(&world, 1, 1));
	build_world_publish(&world);
	assert_int_equal(build_world_status(&world, 1)->sharing.replicas, 1);
}

TEST(how_a_device_is_shared_out_is_what_is_on_offer)
{
	static const char left_over[] = "a pod holds a device ID that is no longer offered";
	char evidence[128];
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_uuid(&world, 0));
	snprintf(evidence, sizeof(evidence), "compute mode is Default,%s", left_over);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, evidence);
	/* One of the same form is no left-over of another mode. */
	build_world_book_nothing(&world);
	build_world_list_nothing(&world);
	hold(7, false);
	EXPECT(TIME_SLICED, 4, EVIDENCE_DEFAULT_MODE);
}

/* The pods a and b hold what was given before and what is given now. */
static void leave_over(struct view before, struct view now)
{
	world_run("a", before);
	world_run("b", now);
	build_world_publish(&world);
}

TEST(while_a_plugin_is_away_what_was_left_over_before_still_is)
{
	static const char evidence[] = "an allocation response has no MPS pipe,"
				       "a pod holds a device ID that is no longer offered";
	build_world_shared(&world, 0, 4);
	leave_over(build_world_uuid(&world, 0), build_world_replica(&world, 0, 0));
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, evidence);
	build_world_offer_nothing(&world);
	expect_mode(ATTRIBUTION_MODE_TIME_SLICED, 4, evidence);
	/* When nobody is there any more there is nothing to go by. */
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_remove_pod(&world, "uid-a");
	build_world_remove_pod(&world, "uid-b");
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
}

TEST(what_was_left_over_makes_no_replicas_while_a_plugin_is_away)
{
	build_world_exclusive(&world, 0);
	leave_over(build_world_replica(&world, 0, 0), build_world_uuid(&world, 0));
	world_run("a", build_world_replica(&world, 0, 1));
	build_world_offer_nothing(&world);
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS, EVIDENCE_LEFT_OVER_ID);
}

/* By whole devices: a replica is what was left over. */
TEST(while_a_plugin_is_away_a_reservation_shares_the_device_out_as_before)
{
	build_world_exclusive(&world, 0);
	reserve(build_world_uuid(&world, 0));
	join_group("s");
	world_pod("a");
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	for (int is_away = 0; is_away < 2; is_away++) {
		EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE, EVIDENCE_LEFT_OVER_ID);
		build_world_offer_nothing(&world);
	}
	build_world_list_nothing(&world);
	build_world_remove_pod(&world, "uid-a");
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE);
}

TEST(while_a_plugin_is_away_hami_makes_as_many_of_the_device_as_before)
{
	build_world_device(&world, 0);
	for (unsigned i = 0; i < 3; i++)
		build_world_offer(&world, build_world_text(&world, "%.*s-%u",
							   VIEW_ARG(build_world_uuid(&world, 0)),
							   i));
	world_run("a", world.offered[1]);
	for (int is_away = 0; is_away < 2; is_away++) {
		EXPECT(UNKNOWN, 3, EVIDENCE_HAMI_IDS);
		build_world_offer_nothing(&world);
	}
}

/* Its device has a name that could be a replica's, and no slot. */
TEST(who_watches_a_shared_device_was_given_no_allocation)
{
	build_world_shared(&world, 0, 2);
	world_pod("a");
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->device = VIEW("nvidia0/vgpu0");
	grant->is_admin = true;
	build_world_regrant(&world);
	EXPECT(TIME_SLICED, 2, EVIDENCE_DEFAULT_MODE);
}

/* The plugin has gone for good; a driver of dynamic resource allocation has the device now. */
TEST(what_a_plugin_had_on_offer_says_nothing_of_a_device_that_claims_give)
{
	build_world_shared(&world, 0, 4);
	leave_over(build_world_uuid(&world, 0), build_world_replica(&world, 0, 0));
	build_world_offer_nothing(&world);
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_remove_pod(&world, "uid-a");
	build_world_remove_pod(&world, "uid-b");
	world_pod("c");
	build_world_grant(&world, "uid-c", "main", 0);
	build_world_regrant(&world);
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
}

TEST(what_was_given_before_replicas_says_nothing_of_mps)
{
	build_world_shared(&world, 0, 2)->compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
	world_run("a", build_world_uuid(&world, 0));
	EXPECT(MPS, 2, EVIDENCE_EXCLUSIVE_PROCESS, EVIDENCE_LEFT_OVER_ID);
}

/* The plugin was configured anew, from MPS to time-slicing; a pod that was there runs on. */
TEST(what_was_given_of_another_offer_says_nothing_of_mps)
{
	build_world_shared(&world, 0, 2)->compute_mode = REPORT_COMPUTE_UNKNOWN;
	hold(3, true);
	EXPECT(UNKNOWN, 2, EVIDENCE_REPLICA_IDS);
	world.devices[0].compute_mode = REPORT_COMPUTE_DEFAULT;
	EXPECT(TIME_SLICED, 2, EVIDENCE_DEFAULT_MODE);
	hold(1, false);
	EXPECT(TIME_SLICED, 2, EVIDENCE_WITHOUT_PIPE);
	/* While nothing is on offer that stays. */
	build_world_offer_nothing(&world);
	EXPECT(TIME_SLICED, 2, EVIDENCE_WITHOUT_PIPE);
}

TEST(a_claim_alone_is_exclusive_and_a_shared_one_is_not)
{
	build_world_device(&world, 0);
	world_pod("a");
	world_pod("b");
	build_world_grant(&world, "uid-a", "main", 0);
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	struct grant *other = build_world_grant(&world, "uid-b", "main", 0);
	/* Who watches shares nothing. */
	other->is_admin = true;
	build_world_regrant(&world);
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	other->is_admin = false;
	build_world_regrant(&world);
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE);
	world.devices[0].compute_mode = REPORT_COMPUTE_UNKNOWN;
	EXPECT(UNKNOWN, 1, EVIDENCE_SHARED_ID);
}

TEST(several_shares_of_several_pods_share_the_device)
{
	build_world_device(&world, 0);
	world_pod("a");
	world_pod("b");
	for (unsigned i = 0; i < 2; i++) {
		struct grant *grant = build_world_grant(&world, i ? "uid-b" : "uid-a", "main", 0);
		grant->device = i ? VIEW("pool/gpu-0/2") : VIEW("pool/gpu-0/1");
		grant->is_share = true;
	}
	build_world_regrant(&world);
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE, EVIDENCE_SHARE_BY_CLAIM);
}

TEST(one_share_alone_does_not_make_the_device_exclusive)
{
	build_world_device(&world, 0);
	world_pod("a");
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->is_share = true;
	build_world_regrant(&world);
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE, EVIDENCE_SHARE_BY_CLAIM);
	world.devices[0].compute_mode = REPORT_COMPUTE_UNKNOWN;
	for (int is_read = 1; is_read >= 0; is_read--) {
		world.n_granted = (size_t)is_read;
		world.input.grants_unknown = !is_read;
		build_world_regrant(&world);
		EXPECT(UNKNOWN, 1, EVIDENCE_SHARE_BY_CLAIM);
	}
}

TEST(one_share_of_a_part_alone_is_not_all_of_it)
{
	build_world_device(&world, 0);
	world_pod("a");
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 0);
	grant->is_share = true;
	grant->is_part = true;
	for (int has_uuid = 0; has_uuid < 2; has_uuid++) {
		grant->partition = has_uuid ? build_world_mig(&world, 0, 0) : VIEW("");
		for (int is_read = 1; is_read >= 0; is_read--) {
			world.n_granted = (size_t)is_read;
			world.input.grants_unknown = !is_read;
			build_world_regrant(&world);
			EXPECT(MIG_TIME_SLICED, 1, EVIDENCE_MIG_IDS, EVIDENCE_SHARE_BY_CLAIM);
		}
	}
}

TEST(a_pod_that_is_given_what_another_still_has_shares_nothing)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .deleting = true},
			build_world_uuid(&world, 0));
	world_run("b", build_world_uuid(&world, 0));
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
}

TEST(claims_of_parts_are_mig)
{
	build_world_cut(&world, 0, 2);
	build_world_offer_nothing(&world);
	world_pod("a");
	world_pod("b");
	for (unsigned i = 0; i < 2; i++) {
		struct grant *grant = build_world_grant(&world, i ? "uid-b" : "uid-a", "main",
							     0);
		grant->partition = build_world_mig(&world, 0, i);
		grant->device = build_world_text(&world, "pool/gpu-0-mig-%u", i);
	}
	build_world_regrant(&world);
	EXPECT(MIG, 1, EVIDENCE_MIG_IDS);
}

static struct grant *grant_part(const char *uid, unsigned partition)
{
	struct grant *grant = build_world_grant(&world, uid, "main", 0);
	grant->partition = build_world_mig(&world, 0, partition);
	grant->device = build_world_text(&world, "pool/gpu-0-mig-%u", partition);
	grant->is_part = true;
	return grant;
}

TEST(a_part_that_several_pods_have_by_one_claim_is_shared)
{
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
	EXPECT(MIG, 1, EVIDENCE_MIG_IDS);
	grant_part("uid-c", 1);
	build_world_regrant(&world);
	EXPECT(MIG, 1, EVIDENCE_MIG_IDS);
	struct grant *grant = grant_part("uid-a", 2);
	grant->is_admin = true;
	build_world_regrant(&world);
	EXPECT(MIG, 1, EVIDENCE_MIG_IDS);
	grant->is_admin = false;
	build_world_regrant(&world);
	EXPECT(MIG_TIME_SLICED, 1, EVIDENCE_MIG_IDS, EVIDENCE_SHARED_ID);
	/* Of some of them the claim cannot be read, and then of none. */
	world.input.grants_unknown = true;
	for (size_t n = 6; n > 0; n -= 3) {
		world.n_granted = n - 3;
		build_world_regrant(&world);
		EXPECT(MIG_TIME_SLICED, 1, EVIDENCE_MIG_IDS, EVIDENCE_SHARED_ID);
	}
}

/* Its name is all that is known of it. While claims cannot be read it stays as published. */
TEST(a_part_without_a_uuid_is_shared_when_two_pods_have_the_same)
{
	for (unsigned is_other = 0; is_other < 2; is_other++) {
		start_anew();
		build_world_device(&world, 0)->mig =
			(struct report_mig){.present = true, .current = true};
		world_pod("a");
		world_pod("b");
		grant_part("uid-a", 0)->partition = (struct view){0};
		grant_part("uid-b", is_other)->partition = (struct view){0};
		build_world_regrant(&world);
		for (int is_read = 1; is_read >= 0; is_read--) {
			if (is_other)
				EXPECT(MIG, 1, EVIDENCE_MIG_IDS);
			else
				EXPECT(MIG_TIME_SLICED, 1, EVIDENCE_MIG_IDS, EVIDENCE_SHARED_ID);
			read_grants(0);
		}
	}
}

/* Of MPS by replicas one is left over; a claim gives a share of what is a whole device now. */
TEST(there_is_room_for_all_that_can_be_said_at_once)
{
	struct report_device *device = build_world_shared(&world, 0, 4);
	hold(0, true);
	EXPECT(MPS, 4, EVIDENCE_WITH_PIPE, EVIDENCE_DEFAULT_MODE_CONTRADICTS);
	build_world_fail_book(&world);
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	build_world_offer_nothing(&world);
	build_world_offer(&world, build_world_uuid(&world, 0));
	device->mig = (struct report_mig){.present = true, .current = true};
	set_label(&world, VIEW("time-slicing"));
	world_pod("c");
	build_world_grant(&world, "uid-c", "main", 0)->is_share = true;
	build_world_regrant(&world);
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE, EVIDENCE_SHARE_BY_CLAIM,
	       EVIDENCE_MIG_CONTRADICTS, EVIDENCE_LABEL_TIME_SLICING, EVIDENCE_LEFT_OVER_ID);
}

TEST(a_reservation_shares_the_device_out_by_time)
{
	build_world_exclusive(&world, 0);
	reserve(build_world_uuid(&world, 0));
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	join_group("a");
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE);
}

TEST(whoever_shares_the_whole_device_shares_no_part_of_it)
{
	build_world_cut(&world, 0, 2);
	reserve(build_world_uuid(&world, 0));
	join_group("a");
	EXPECT(MIG, 1, EVIDENCE_MIG_IDS, EVIDENCE_LEFT_OVER_ID);
}

TEST(who_still_holds_what_hami_gave_shares_no_whole_device)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){
				.name = "a",
				.hami = "GPU-00000000-0000-4000-8000-0123456789ab,NVIDIA,1,1:;",
			},
			VIEW("GPU-00000000-0000-4000-8000-0123456789ab-1"));
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
}

TEST(while_claims_cannot_be_read_a_claimed_device_is_shared_as_before)
{
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	world_pod("a");
	world_pod("b");
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-b", "main", 0);
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE);
	read_grants(1);
	EXPECT(TIME_SLICED, 1, EVIDENCE_DEFAULT_MODE);
	/* A device that no claim gave away goes by what is known of it. */
	build_world_offer(&world, build_world_uuid(&world, 1));
	build_world_publish(&world);
	assert_int_equal(build_world_status(&world, 1)->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	world.input.grants_unknown = false;
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
}

TEST(containers_of_one_pod_share_nothing_while_claims_cannot_be_read)
{
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .second = "side"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-a", "side", 0);
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	world.input.grants_unknown = true;
	/* One of them is known, with or without somebody before it, and then none. */
	world_pod("0");
	build_world_grant(&world, "uid-0", "main", 0)->is_admin = true;
	world.granted[1] = world.granted[2];
	for (size_t n = 3; n-- > 0;) {
		world.n_granted = n;
		build_world_regrant(&world);
		EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	}
}

TEST(a_claim_that_cannot_be_read_leaves_the_replicas_as_they_are)
{
	build_world_shared(&world, 0, 4);
	world_pod("a");
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_publish(&world);
	read_grants(0);
	EXPECT(TIME_SLICED, 4, EVIDENCE_DEFAULT_MODE);
}

TEST(a_claimant_that_is_over_keeps_no_mode)
{
	build_world_device(&world, 0);
	world_pod("a");
	build_world_grant(&world, "uid-a", "main", 0);
	EXPECT(EXCLUSIVE, 1, EVIDENCE_GPU_IDS);
	world.input.grants_unknown = true;
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
	world_pod("a");
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS); /* a tenant anew only when claims can be read */
	build_world_remove_pod(&world, "uid-a");
	EXPECT(UNKNOWN, 0, EVIDENCE_NO_IDS);
}

TESTS(set_up, tear_down)
