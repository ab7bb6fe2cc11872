/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift.h"
#include "kubectl/why_view.h"
#include "kubectl/words.h"
#include "lib/gpu_world.h"

enum world { WORLD, TROUBLE, DRIFT };

typedef int (*view_fn)(struct output *output, const struct why_view_subject *subjects,
		       size_t n_subjects, struct arena *arena, struct error *err);

static void assert_view(view_fn view, enum world world, const char *device, const char *pod_uid,
			int64_t now, const char *screen)
{
	static void (*const read[])(struct device_list *) = {gpu_world_devices, gpu_world_trouble,
							     gpu_world_drift};
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct error err;
	read[world](&list);
	const struct why_view_subject subject = {gpu_world_device(&list, device),
						 view_from(pod_uid)};
	output_init(&output, view == why_view_json ? OUTPUT_JSON : OUTPUT_TABLE, now);
	assert_int_equal(view(&output, &subject, 1, &list.arena, &err), 0);
	gpu_world_assert_screen(&output, screen);
}

static void each_statement_has_its_witnesses_and_its_row(void **state)
{
	(void)state;
	assert_view(why_view, DRIFT, "GPU-bbbb0000", "", GPU_WORLD_NOW, "why_drift");
}

static void of_a_pod_only_its_own_tenancy_is_told(void **state)
{
	(void)state;
	assert_view(why_view, DRIFT, "GPU-bbbb0000", "000000b2-1c16-46f0-9aee-b624a6d8abae",
		    GPU_WORLD_NOW, "why_pod");
}

static void an_error_is_told_with_its_time_and_who_was_there(void **state)
{
	(void)state;
	assert_view(why_view, TROUBLE, "GPU-9c1d0000", "", WORDS_NO_NOW, "why_failed");
}

static void under_mig_each_partition_is_told(void **state)
{
	(void)state;
	assert_view(why_view, TROUBLE, "GPU-5555bbbb", "", GPU_WORLD_NOW, "why_mig");
}

static void who_uses_the_device_without_a_slot_is_told(void **state)
{
	(void)state;
	assert_view(why_view, WORLD, "GPU-3f1a0000", "", GPU_WORLD_NOW, "why_users");
}

static void each_reason_of_health_has_its_source(void **state)
{
	(void)state;
	assert_view(why_view, TROUBLE, "GPU-3f1a0000", "", GPU_WORLD_NOW, "why_degraded");
}

static void what_is_not_known_is_said_to_be_so(void **state)
{
	(void)state;
	assert_view(why_view, WORLD, "GPU-99990000", "", GPU_WORLD_NOW, "why_unknown");
}

static void an_activity_that_is_not_known_has_the_row_of_its_reason(void **state)
{
	(void)state;
	assert_view(why_view, TROUBLE, "GPU-11ba0000", "", GPU_WORLD_NOW, "why_not_measured");
}

static void work_of_which_a_label_tells_is_said_to_be_so(void **state)
{
	(void)state;
	static struct attribution_pending_drift work = {VIEW_INIT("MIGReconfiguration"),
						       GPU_WORLD_NOW - 60000};
	CLEANUP(device_list_deinit) struct device_list list;
	CLEANUP(output_deinit) struct output output;
	struct attribution device;
	struct error err;
	gpu_world_trouble(&list);
	device = *gpu_world_device(&list, "GPU-5555bbbb");
	device.status.intent.pending = array_of(&work, 1);
	const struct why_view_subject subject = {&device, view_from("")};
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	assert_int_equal(why_view(&output, &subject, 1, &list.arena, &err), 0);
	gpu_world_assert_screen(&output, "why_work");
}

static void json_has_table_and_row(void **state)
{
	(void)state;
	assert_view(why_view_json, DRIFT, "GPU-bbbb0000", "", GPU_WORLD_NOW, "why_json");
}

#define LIST(type, ...) \
	{(type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type), true}
#define WORDS(...) LIST(struct view, __VA_ARGS__)
#define CONDITION(type, reason, message) \
	.conditions = LIST(struct condition, {VIEW_INIT(type), CONDITION_UNKNOWN, 0, 1000, \
					      VIEW_INIT(reason), VIEW_INIT(message)})
#define PARTITION(state) \
	.partitions = LIST(struct attribution_partition, {VIEW_INIT("MIG-1"), .activity = {state}})
#define XID48(class) \
	.health = {.recovery_action = ATTRIBUTION_RECOVERY_RESET, \
		   .reasons = WORDS(VIEW_INIT("XID48")), \
		   .events = LIST(struct attribution_health_event, \
				  {48, 1000, 0, VIEW_INIT(""), ATTRIBUTION_EVENT_##class})}
#define DRAIN(action) \
	.health = {.recovery_action = ATTRIBUTION_RECOVERY_##action, \
		   .reasons = WORDS(VIEW_INIT("DrainRequired"))}
#define HEALTHY(...) \
	.conditions = LIST(struct condition, {VIEW_INIT("Healthy"), CONDITION_FALSE, 0, 1000, \
					      VIEW_INIT("X"), VIEW_INIT("")}), \
	.health.reasons = WORDS(__VA_ARGS__)
#define WITNESS(word) \
	.tenants = LIST(struct attribution_tenant, \
			{.witnesses = WORDS(VIEW_INIT(word)), .start_time = 1000})
#define USER(uid, name) \
	.unallocated_users = LIST(struct attribution_user, \
				  {VIEW_INIT(uid), VIEW_INIT("n"), VIEW_INIT(name)})
#define PAST(uid) \
	.recent_tenants = LIST(struct attribution_past_tenant, {VIEW_INIT(uid)})
#define PENDING(word) \
	.intent.pending = LIST(struct attribution_pending_drift, {VIEW_INIT(word), 1000})
#define ASIDE(word) \
	{.intent = {.drifts = LIST(struct attribution_drift, {.type = VIEW_INIT(word)}), \
		    .pending = LIST(struct attribution_pending_drift, {VIEW_INIT("LabelsMissing"), 1000})}}
#define ANSWER(text) "the rule's answer is " text "; it is asked "
#define NOT_READ ANSWER("none, for what is intended cannot be read now")
#define OPEN ANSWER("found, or what is intended cannot be read now")
#define UNTOLD ANSWER("found, or it cannot be told now")
#define STANDS "; the statement stands since 1970-01-01T00:00:01Z"

/* What a status has, and a line of what is told of it. */
static const struct {
	struct attribution_status status;
	const char *told;
} cases[] = {
	{{WITNESS("ResourceClaim")}, "and the ResourceSlices; by UID" STANDS},
	{{WITNESS("PodResources")}, "it names the pod by name\n"},
	{{.tenants = LIST(struct attribution_tenant, {.witnesses = WORDS(VIEW_INIT("KAI"))})},
	 "anybody who may edit the pod can write; time not told\n"},
	{{USER("", "")}, "decided by  no pod (row 2 of src/join/users.def): its cgroup names no pod of "
			 "the node\n  nobody"},
	{{USER("u", "a"), PAST("u")}, "decided by  past (row 1 of src/join/users.def): its pod held the "
				      "device or is over, and the driver goes on listing the process\n  nobody"},
	{{USER("u", ""), PAST("v")},
	 "decided by  unknown pod (row 3 of src/join/users.def): the API server does not know the pod "
	 "that its cgroup names\n    note        one of these rows; the status does not tell which\n"},
	{{USER("u", "a")}, "decided by  no slot (row 4 of src/join/users.def): no witness gives its "
			   "container a slot of the device\n    note        one of these rows; "},
	{{.unallocated_users_left_out = 1},
	 "1 more process on the device holds no slot of it, since a time not told\n"
	 "    said by     Processes: NVML's list of processes, and their cgroups\n"},
	{{.unplaced_tenants = LIST(struct attribution_unplaced,
				   {VIEW_INIT("u"), VIEW_INIT("c"), VIEW_INIT("n"), VIEW_INIT("a"),
				    VIEW_INIT("r"), WORDS(VIEW_INIT("i")), 3})},
	 "  n/a, container c, holds IDs of r that are no known device's: i +3, since a time not told\n"},
	{{.unknown_processes = 2},
	 "2 processes on the device could not be looked at: of whom, is not known, since a time not "
	 "told\n    said by     Processes: NVML's list of processes, and their cgroups\n"},
	{{.sharing.evidence = WORDS(VIEW_INIT("node label gpu.sharing-strategy is mps"))},
	 "evidence    node label gpu.sharing-strategy is mps; time not told\n"},
	{{HEALTHY(VIEW_INIT("RowRemapFailed"))},
	 "decided by  RowRemapFailed (row 3 of src/assess/health.def): memory rows could not be "
	 "remapped: replace the GPU; it makes the device Unhealthy\n"
	 "    evidence    NVML: remapped rows: failure\n"},
	{{HEALTHY(VIEW_INIT("RebootRequired"))},
	 "evidence    NVML: the recommended action (field 230)\n"},
	{{HEALTHY(VIEW_INIT("NotAdvertised"))},
	 "evidence    Kubelet: the device plugin no longer offers the device\n"},
	{{HEALTHY(VIEW_INIT("PluginUnhealthy"))},
	 "evidence    PodStatus: allocatedResourcesStatus of a pod calls the device unhealthy" STANDS},
	{{HEALTHY(VIEW_INIT("NoAgent"))},
	 "evidence    Controller: no agent reports for the node" STANDS},
	{{HEALTHY(VIEW_INIT("RowRemapFailed"), VIEW_INIT("NVMLHangs"))},
	 "evidence    NVML: remapped rows: failure" STANDS},
	{{HEALTHY(VIEW_INIT("RowRemapFailed"), VIEW_INIT("NVMLUnavailable"))},
	 "evidence    NVML: remapped rows: failure" STANDS},
	{{HEALTHY(VIEW_INIT("GPULost"), VIEW_INIT("RowRemapFailed"))},
	 "evidence    NVML: remapped rows: failure" STANDS},
	{{HEALTHY(VIEW_INIT("GPULost"), VIEW_INIT("RowRemapFailed"))},
	 "evidence    NVML: the GPU is lost; the rest is as it was told last\n"},
	{{HEALTHY(VIEW_INIT("GPULost"), VIEW_INIT("DeviceMissing"))},
	 "evidence    NVML: the GPU is lost; the rest is as it was told last" STANDS},
	{{HEALTHY(VIEW_INIT("GPULost"), VIEW_INIT("DeviceMissing"))},
	 "evidence    NVML: it answers and does not list the device\n"},
	{{HEALTHY(VIEW_INIT("DeviceMissing"), VIEW_INIT("NVMLUnavailable"))},
	 "evidence    NVML: it answers and does not list the device" STANDS},
	{{HEALTHY(VIEW_INIT("DeviceMissing"), VIEW_INIT("NVMLUnavailable"))},
	 "evidence    Agent: the agent cannot read NVML\n"},
	{{.sharing.evidence = WORDS(VIEW_INIT("MIG mode is on"))},
	 "evidence    MIG mode is on\n"},
	{{PARTITION(ATTRIBUTION_ACTIVITY_UNKNOWN),
	  .activity = {ATTRIBUTION_ACTIVITY_UNKNOWN, VIEW_INIT("ReportStale")}},
	 "MIG-1 (?): Unknown, since a time not told\n"
	 "    decided by  ReportStale (row 4 of src/assess/activity.def): the node's agent is silent\n"
	 "    note        the device's reason; the status has none of a partition\n"},
	{{.partitions = {&(struct attribution_partition){
				 .uuid = VIEW_INIT("MIG-1"),
				 .activity = {ATTRIBUTION_ACTIVITY_UNKNOWN, 0, VIEW_INIT("Settling")}},
			 1, true},
	  .activity = {ATTRIBUTION_ACTIVITY_UNKNOWN, VIEW_INIT("ReportStale")}},
	 "MIG-1 (?): Unknown, since a time not told\n"
	 "    decided by  Settling (row 8 of src/assess/activity.def): "},
	{{PARTITION(ATTRIBUTION_ACTIVITY_UNKNOWN), .activity.state = ATTRIBUTION_ACTIVITY_ACTIVE},
	 "MIG-1 (?): Unknown, since a time not told\n"
	 "    note        the status does not tell why\n"},
	{{PARTITION(ATTRIBUTION_ACTIVITY_UNSET),
	  .activity = {ATTRIBUTION_ACTIVITY_UNKNOWN, VIEW_INIT("ReportStale")}},
	 "MIG-1 (?): ?, since a time not told\n    note        the status does not tell why\n"},
	{{PARTITION(ATTRIBUTION_ACTIVITY_IDLE),
	  .activity = {ATTRIBUTION_ACTIVITY_IDLE,
		       .evidence = WORDS(VIEW_INIT("NVMLUtilization"), VIEW_INIT("NoProcess"))}},
	 "note        one of these sources; the status does not tell which\n"},
	{{DRAIN(DRAIN_AND_RESET)}, "decided by  DrainRequired (row 8 of src/assess/health.def)"},
	{{DRAIN(DRAIN_P2P)}, "decided by  DrainRequired (row 9 of src/assess/health.def)"},
	{{XID48(LOOK_CLOSER)}, "decided by  XID48 (row 14 of src/assess/health.def): errors of "},
	{{XID48(LOOK_CLOSER)}, "note        the recovery action is the one that the driver recommends"},
	{{XID48(LOOK_CLOSER)}, "evidence    NVMLEvent: XID 48, , at 1970-01-01T00:00:01Z\n"},
	{{XID48(UNSET)}, "decided by  XID48 (src/assess/health.def): errors of class ?\n"},
	{{CONDITION("Healthy", "ReportStale", "")},
	 "decided by  ReportStale (row 26 of src/join/wording.def)\n"},
	{{CONDITION("Healthy", "NoAgent", "none")}, "note        none\n"},
	{{CONDITION("InSync", "NoAgent", "none"), .intent.state = ATTRIBUTION_INTENT_UNKNOWN},
	 "  Unknown, since 1970-01-01T00:00:01Z"},
	{{CONDITION("InSync", "NoAgent", "none")},
	 "decided by  NoAgent (row 19 of src/join/wording.def): none\n"},
	{{CONDITION("InSync", "KubeletSettling", "")},
	 "decided by  KubeletSettling (row 31 of src/assess/drift.def)"},
	{{PENDING("LabelsMissing"), CONDITION("InSync", "HoldOff", "")}, UNTOLD},
	{{PENDING("SharingMode"), CONDITION("InSync", "KubeletSettling", "")}, UNTOLD},
	{{PENDING("DeviceMissing"), CONDITION("InSync", "DriverUpgrade", "")},
	 ANSWER("found") "for each device, and its answer counts after 60s as shipped; it needs no "
			 "policy; waits for the end of MIGReconfiguration, DriverUpgrade; hides "
			 "AllocatableShort\n"},
	{{PENDING("DeviceMissing"), CONDITION("InSync", "PolicyUnreadable", "")}, ANSWER("found")},
	{{PENDING("DeviceMissing"), CONDITION("InSync", "ReportStale", "")}, ANSWER("found")},
	{{PENDING("LabelsMissing"), CONDITION("InSync", "PolicyUnreadable", "")}, NOT_READ},
	{{PENDING("MPSLeftBehind"), CONDITION("InSync", "PolicyUnreadable", "")}, NOT_READ},
	{{PENDING("LabelsMissing"), CONDITION("InSync", "ConfigUnreadable", "")}, ANSWER("found")},
	{{PENDING("SharingMode"), CONDITION("InSync", "ConfigUnreadable", "")},
	 ANSWER("found, unless InSync says that its ConfigMap cannot be read")},
	{{PENDING("LabelsMissing"), CONDITION("InSync", "ReportStale", "")}, OPEN},
	{{PENDING("LabelsMissing")}, OPEN},
	{ASIDE("PluginMissing"), ANSWER("found")},
	{ASIDE("UnallocatedUse"), OPEN},
	{ASIDE("PolicyConflict"), OPEN},
	{ASIDE("Unheard"), OPEN},
	{{PENDING("Unheard"), CONDITION("InSync", "HoldOff", "")},
	 "note        this version does not know that type\n"},
	{{CONDITION("InSync", "InSync", "")}, "decided by  InSync (row 33 of src/assess/drift.def)"},
	{{CONDITION("InSync", "ConfigDead", "")},
	 "decided by  ConfigDead (row 14 of src/assess/drift.def): of the drifts the one of the highest "
	 "severity gives the reason"},
	{{CONDITION("InSync", "InSync", ""), .intent = {.state = ATTRIBUTION_INTENT_IN_SYNC,
							.policy = VIEW_INIT("p")}},
	 "said by     ClusterPolicy: p, with the ConfigMaps that it names, as the API server has them" STANDS},
	{{CONDITION("InSync", "Unmanaged", ""), .intent = {.state = ATTRIBUTION_INTENT_UNMANAGED}},
	 "said by     ClusterPolicy: the API server has none" STANDS},
	{{CONDITION("InSync", "InSync", ""), .intent = {.state = ATTRIBUTION_INTENT_IN_SYNC}},
	 "said by     NVML: what the driver tells of the devices, read by the agent\n"},
	{{PENDING("MIGReconfiguration")},
	 "said by     Node: its labels, as the API server has them" STANDS},
	{{PENDING("SlotsLeaked")},
	 "said by     Kubelet: its allocation records: which device IDs are on offer and held, read by the agent\n"},
	{{PENDING("SlotsLeaked")},
	 "said by     Pods: those of the node that the API server has" STANDS},
	{{PENDING("ConfigInvalid")}, "said by     NVML: "},
	{{PENDING("ConfigInvalid")}, "said by     ClusterPolicy: "},
	{{PENDING("ConfigInvalid")}, "said by     ConfigMap: "},
	{{PENDING("MIGStrategy")}, "said by     NVML: "},
	{{PENDING("MIGStrategy")}, "said by     Kubelet: "},
	{{PENDING("SharingMode")}, "said by     NVML: "},
	{{PENDING("SharingMode")}, "said by     Node: "},
	{{PENDING("ExporterMissing")},
	 "said by     DCGM: whether the node's dcgm-exporter answers, asked by the agent\n"},
	{{CONDITION("InSync", "InSync", ""), .intent = {.state = ATTRIBUTION_INTENT_IN_SYNC}},
	 "said by     Processes: "},
	{{CONDITION("InSync", "InSync", ""), .intent = {.state = ATTRIBUTION_INTENT_IN_SYNC}},
	 "said by     DCGM: "},
};

static void assert_told(view_fn view, enum output_form form, struct attribution_status status,
			int64_t report_time, const char *told)
{
	CLEANUP(output_deinit) struct output output;
	CLEANUP(arena_deinit) struct arena arena;
	struct error err;
	struct attribution device = {.status = status};
	const struct why_view_subject subject = {&device, view_from("")};
	device.status.report.observation_time = report_time;
	arena_init(&arena, LIMIT_MIB);
	output_init(&output, form, GPU_WORLD_NOW);
	assert_int_equal(view(&output, &subject, 1, &arena, &err), 0);
	if (!strstr(sbuf_text(&output.body), told))
		fail_msg("%s is not told in %s", told, sbuf_text(&output.body));
}

static void each_word_has_its_row_and_a_time_where_the_status_has_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_told(why_view, OUTPUT_WIDE, cases[i].status, GPU_WORLD_NOW, cases[i].told);
}

/* A type that is pending has nothing else that tells by whom. */
static void each_type_of_drift_has_its_sources(void **state)
{
	(void)state;
	for (int type = 0; type < N_DRIFT_TYPES; type++) {
		struct attribution_pending_drift pending = {drift_word((enum drift_type)type), 1000};
		const struct attribution_status status = {.intent.pending = array_of(&pending, 1)};

		assert_told(why_view, OUTPUT_WIDE, status, GPU_WORLD_NOW, "said by ");
	}
}

static void without_a_report_the_verdict_has_the_api_servers_word_alone(void **state)
{
	(void)state;
	CLEANUP(output_deinit) struct output output;
	CLEANUP(arena_deinit) struct arena arena;
	struct error err;
	const struct attribution device = {.status.intent.state = ATTRIBUTION_INTENT_IN_SYNC};
	const struct why_view_subject subject = {&device, view_from("")};

	arena_init(&arena, LIMIT_MIB);
	output_init(&output, OUTPUT_WIDE, GPU_WORLD_NOW);
	assert_int_equal(why_view(&output, &subject, 1, &arena, &err), 0);
	assert_non_null(strstr(sbuf_text(&output.body), "said by     Node: "));
	assert_null(strstr(sbuf_text(&output.body), "said by     NVML: "));
}

#define MEMBER "\n              "
#define TIMES(time, since) "\"time\": " time "," MEMBER "\"since\": " since "\n"

/* By kind: a row is ours, the agent's word has the report's time, the API server's the statement's. */
static void json_has_when_it_was_said_or_since_when_it_stands(void **state)
{
	(void)state;
	const struct {
		struct attribution_status status;
		const char *told;
	} rows[] = {
		{{WITNESS("PodResources")}, TIMES("\"2026-01-02T03:04:05Z\"", "null")},
		{{WITNESS("PodStatus")}, TIMES("null", "\"1970-01-01T00:00:01Z\"")},
		{{.intent.drifts = LIST(struct attribution_drift, {.intended = VIEW_INIT("i"),
								   .start_time = 1000})},
		 "\"text\": \"i\"," MEMBER "\"table\": null," MEMBER "\"row\": null," MEMBER TIMES(
			 "null", "\"1970-01-01T00:00:01Z\"")},
		{{.intent.drifts = LIST(struct attribution_drift, {.type = VIEW_INIT("ConfigDead"),
								   .start_time = 1000})},
		 "\"row\": 14," MEMBER TIMES("null", "null")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_told(why_view_json, OUTPUT_JSON, rows[i].status, GPU_WORLD_NOW, rows[i].told);
}

static void without_a_report_nothing_has_a_time_of_one(void **state)
{
	(void)state;
	const struct attribution_status status = {WITNESS("PodStatus")};
	assert_told(why_view, OUTPUT_WIDE, status, 0,
		    "Who holds it, without a report of the node's agent:\n");
	assert_told(why_view, OUTPUT_WIDE, status, 0, "written by the kubelet; by UID" STANDS);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_statement_has_its_witnesses_and_its_row),
	cmocka_unit_test(of_a_pod_only_its_own_tenancy_is_told),
	cmocka_unit_test(an_error_is_told_with_its_time_and_who_was_there),
	cmocka_unit_test(under_mig_each_partition_is_told),
	cmocka_unit_test(who_uses_the_device_without_a_slot_is_told),
	cmocka_unit_test(each_reason_of_health_has_its_source),
	cmocka_unit_test(what_is_not_known_is_said_to_be_so),
	cmocka_unit_test(an_activity_that_is_not_known_has_the_row_of_its_reason),
	cmocka_unit_test(work_of_which_a_label_tells_is_said_to_be_so),
	cmocka_unit_test(json_has_table_and_row),
	cmocka_unit_test(each_word_has_its_row_and_a_time_where_the_status_has_one),
	cmocka_unit_test(each_type_of_drift_has_its_sources),
	cmocka_unit_test(without_a_report_the_verdict_has_the_api_servers_word_alone),
	cmocka_unit_test(json_has_when_it_was_said_or_since_when_it_stands),
	cmocka_unit_test(without_a_report_nothing_has_a_time_of_one),
};
TEST_MAIN(tests)
