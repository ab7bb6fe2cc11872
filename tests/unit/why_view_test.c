/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

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
#define WITNESS(word) \
	.tenants = LIST(struct attribution_tenant, {.witnesses = WORDS(VIEW_INIT(word))})

/* What a status has, and a line of what is told of it. */
static const struct {
	struct attribution_status status;
	const char *told;
} cases[] = {
	{{WITNESS("ResourceClaim")}, "and the ResourceSlices; by UID; time not told\n"},
	{{WITNESS("PodResources")}, "it names the pod by name\n"},
	{{.sharing.evidence = WORDS(VIEW_INIT("node label gpu.sharing-strategy is mps"))},
	 "evidence    node label gpu.sharing-strategy is mps; time not told\n"},
	{{.sharing.evidence = WORDS(VIEW_INIT("MIG mode is on"))},
	 "evidence    MIG mode is on\n"},
	{{PARTITION(ATTRIBUTION_ACTIVITY_UNKNOWN),
	  .activity = {ATTRIBUTION_ACTIVITY_UNKNOWN, VIEW_INIT("ReportStale")}},
	 "MIG-1 (?): Unknown, since a time not told\n"
	 "    decided by  ReportStale (row 4 of src/assess/activity.def): the node's agent is silent\n"
	 "    note        the device's reason; the status has none of a partition\n"},
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
	{{XID48(UNSET)}, "decided by  XID48 (src/assess/health.def): errors of class ?\n"},
	{{CONDITION("Healthy", "ReportStale", "")},
	 "decided by  ReportStale (row 26 of src/join/wording.def)\n"},
	{{CONDITION("Healthy", "NoAgent", "none")}, "note        none\n"},
	{{CONDITION("InSync", "NoAgent", "none")},
	 "decided by  NoAgent (row 19 of src/join/wording.def): none\n"},
	{{CONDITION("InSync", "KubeletSettling", "")},
	 "decided by  KubeletSettling (row 31 of src/assess/drift.def)"},
	{{CONDITION("InSync", "InSync", "")}, "decided by  InSync (row 33 of src/assess/drift.def)"},
};

static void each_word_has_its_row_and_a_time_where_the_status_has_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(output_deinit) struct output output;
		CLEANUP(arena_deinit) struct arena arena;
		struct error err;
		struct attribution device = {.status = cases[i].status};
		const struct why_view_subject subject = {&device, view_from("")};
		device.status.report.observation_time = GPU_WORLD_NOW;
		arena_init(&arena, LIMIT_MIB);
		output_init(&output, OUTPUT_WIDE, GPU_WORLD_NOW);
		assert_int_equal(why_view(&output, &subject, 1, &arena, &err), 0);
		if (!strstr(sbuf_text(&output.body), cases[i].told))
			fail_msg("%s is not told in %s", cases[i].told, sbuf_text(&output.body));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_statement_has_its_witnesses_and_its_row),
	cmocka_unit_test(of_a_pod_only_its_own_tenancy_is_told),
	cmocka_unit_test(an_error_is_told_with_its_time_and_who_was_there),
	cmocka_unit_test(under_mig_each_partition_is_told),
	cmocka_unit_test(what_is_not_known_is_said_to_be_so),
	cmocka_unit_test(an_activity_that_is_not_known_has_the_row_of_its_reason),
	cmocka_unit_test(work_of_which_a_label_tells_is_said_to_be_so),
	cmocka_unit_test(json_has_table_and_row),
	cmocka_unit_test(each_word_has_its_row_and_a_time_where_the_status_has_one),
};
TEST_MAIN(tests)
