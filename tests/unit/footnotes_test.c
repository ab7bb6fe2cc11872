/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/footnotes.h"
#include "kubectl/output.h"
#include "lib/gpu_world.h"

static struct condition silent[] = {
	{.type = VIEW_INIT("ReportFresh"), .status = CONDITION_FALSE,
	 .reason = VIEW_INIT("AgentSilent"), .message = VIEW_INIT("no report")},
};
static struct condition current[] = {
	{.type = VIEW_INIT("Ready"), .status = CONDITION_TRUE},
	{.type = VIEW_INIT("ReportFresh"), .status = CONDITION_TRUE},
};

static struct attribution make(const char *uuid, const char *node, bool is_silent)
{
	return (struct attribution){
		.uuid = view_from(uuid),
		.status = {.node_name = view_from(node),
			   .report_state = is_silent ? ATTRIBUTION_REPORT_STALE
						     : ATTRIBUTION_REPORT_CURRENT,
			   .conditions = is_silent ? (struct array){silent, 1, true}
						   : (struct array){current, 2, true}}};
}

static void assert_notes(const struct attribution *devices, size_t n, const char *expected)
{
	struct error err;
	const struct attribution *list[8];
	CLEANUP(output_deinit) struct output output;
	for (size_t i = 0; i < n; i++)
		list[i] = &devices[i];
	output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
	footnotes_add(&output, list, n);
	assert_int_equal(output_finish(&output, &err), 0);
	sbuf_append_char(&output.notes, '\0');
	assert_string_equal(output.notes.ptr, expected);
}

static void devices_of_a_silent_node_share_a_note(void **state)
{
	(void)state;
	struct attribution devices[] = {make("U1", "a", true), make("U2", "a", true),
					make("U3", "a", false), make("U4", "b", true)};
	assert_notes(devices, 4,
		     "* a, 2 GPUs: AgentSilent: no report; what rests on its reports is the last that was known\n"
		     "* b, U4: AgentSilent: no report; what rests on its reports is the last that was known\n");
	assert_notes(&devices[2], 1, "");
	assert_notes(devices, 0, "");
}

static void a_note_is_shared_only_by_devices_of_one_node_with_one_reason(void **state)
{
	(void)state;
	struct condition other[] = {silent[0]};
	struct attribution devices[] = {make("U1", "a", true), make("U2", "b", true),
					make("U3", "b", true)};
	other[0].message = VIEW("never");
	devices[2].status.conditions.items = other;
	assert_notes(devices, 3,
		     "* a, U1: AgentSilent: no report; what rests on its reports is the last that was known\n"
		     "* b, U2: AgentSilent: no report; what rests on its reports is the last that was known\n"
		     "* b, U3: AgentSilent: never; what rests on its reports is the last that was known\n");
}

static void what_is_not_known_is_counted_by_node(void **state)
{
	(void)state;
	static const struct {
		size_t n;
		const char *expected;
	} rows[] = {
		{0, ""},
		{1, "The health of 1 GPU is not known: 1 on a; kubectl gpus node NAME shows them\n"},
		{3, "The health of 3 GPUs is not known: 2 on a, 1 on b; kubectl gpus node NAME shows them\n"},
		{8, "The health of 8 GPUs is not known: 2 on a, 1 on b, 1 on c, 1 on d, and those of 3 more "
		    "nodes; kubectl gpus node NAME\n  shows them\n"},
	};
	static const char *const nodes[] = {"a", "a", "b", "c", "d", "e", "f", ""};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(output_deinit) struct output output;
		struct attribution devices[ARRAY_SIZE(nodes)];
		const struct attribution *list[ARRAY_SIZE(nodes)];
		for (size_t j = 0; j < ARRAY_SIZE(nodes); j++) {
			devices[j] = make("U", nodes[j], true);
			list[j] = &devices[j];
		}
		output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
		footnotes_add_unknown(&output, list, rows[i].n, "The health");
		assert_string_equal(output.notes.len > 0 ? sbuf_text(&output.notes) : "",
				    rows[i].expected);
	}
}

static struct attribution make_settling(struct condition *in_sync,
					struct attribution_pending_drift *pending)
{
	struct attribution device = make("U", "a", false);
	device.status.conditions = array_of(in_sync, in_sync ? 1 : 0);
	device.status.intent.pending = array_of(pending, pending ? 1 : 0);
	return device;
}

static void what_settles_is_counted_by_reason_and_pointed_to_if_it_is_pending(void **state)
{
	(void)state;
	static struct condition hold_off = {.type = VIEW_INIT("InSync"), .reason = VIEW_INIT("HoldOff")},
				kubelet = {.type = VIEW_INIT("InSync"),
					   .reason = VIEW_INIT("KubeletSettling")};
	static struct attribution_pending_drift labels = {VIEW_INIT("LabelsStale")};
	const struct attribution devices[] = {
		make_settling(&kubelet, NULL), make_settling(&hold_off, &labels),
		make_settling(&kubelet, NULL), make_settling(NULL, NULL)};
	static const struct {
		size_t first, n;
		bool is_hinted;
		const char *expected;
	} rows[] = {
		{0, 0, true, ""},
		{0, 1, true, "1 GPU is settling: 1 for KubeletSettling\n"},
		{0, 4, true, "4 GPUs are settling: 2 for KubeletSettling, 1 for HoldOff, 1 for another reason; -o "
			     "wide shows what is pending\n"},
		{1, 1, false, "1 GPU is settling: 1 for HoldOff\n"},
	};
	const struct attribution *list[ARRAY_SIZE(devices)];
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		list[i] = &devices[i];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(output_deinit) struct output output;
		struct error err;
		output_init(&output, OUTPUT_TABLE, GPU_WORLD_NOW);
		footnotes_add_settling(&output, &list[rows[i].first], rows[i].n, rows[i].is_hinted);
		assert_int_equal(output_finish(&output, &err), 0);
		sbuf_append_char(&output.notes, '\0');
		assert_string_equal(output.notes.len > 1 ? output.notes.ptr : "", rows[i].expected);
	}
}

static void users_without_a_slot_are_counted(void **state)
{
	(void)state;
	struct attribution_user users[] = {{.command = VIEW("python3"), .pid = 7},
					   {.command = VIEW("x"), .pid = 8}};
	struct attribution device = make("U", "a", false);
	device.status.unallocated_users = (struct array){users, 1, true};
	assert_notes(&device, 1, "U: 1 process on the device holds no slot of it, first python3[7]\n");
	device.status.unallocated_users.count = 2;
	device.status.unallocated_users_left_out = 3;
	users[0].pod_uid = VIEW("0123456789");
	assert_notes(&device, 1, "U: 5 processes on the device hold no slot of it, first python3[7] "
				 "of uid/01234567\n");
}

static void what_lists_left_out_and_placeholders_hide_is_said(void **state)
{
	(void)state;
	struct attribution_tenant tenants[] = {
		{.pod_namespace = VIEW("kai"), .pod_name = VIEW("r"), .placeholder = VIEW("KAI")},
		{.pod_namespace = VIEW("ml"), .pod_name = VIEW("a")}};
	struct attribution_disagreement disagreement = {.container = VIEW("c")};
	struct attribution device = make("U", "a", false);
	device.status.tenants = (struct array){tenants, 2, true};
	device.status.tenants_left_out = 4;
	device.status.source_disagreements = (struct array){&disagreement, 1, true};
	assert_notes(&device, 1,
		     "kai/r is a placeholder of KAI: for which pods it holds the GPU is not known\n"
		     "U: the sources disagree about 1 of its tenants; see kubectl gpus device U\n"
		     "U: 4 further tenants are not listed\n");
	device.status.tenants = (struct array){0};
	device.status.tenants_left_out = 1;
	device.status.source_disagreements_left_out = 2;
	assert_notes(&device, 1,
		     "U: the sources disagree about 3 of its tenants; see kubectl gpus device U\n"
		     "U: 1 further tenants are not listed\n");
}

static void what_is_on_no_known_gpu_is_said_once_a_node(void **state)
{
	(void)state;
	struct view ids[] = {VIEW("nvidia0")};
	struct attribution_unplaced unplaced = {.pod_namespace = VIEW("ml"), .pod_name = VIEW("p"),
						.device_ids = {ids, 1, true}};
	struct attribution devices[] = {make("U1", "a", false), make("U2", "a", false),
					make("U3", "b", false)};
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		devices[i].status.unplaced_tenants = (struct array){&unplaced, 1, true};
	assert_notes(devices, 3, "a: ml/p holds device IDs that are no known GPU's: nvidia0\n"
				 "b: ml/p holds device IDs that are no known GPU's: nvidia0\n");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(devices_of_a_silent_node_share_a_note),
	cmocka_unit_test(a_note_is_shared_only_by_devices_of_one_node_with_one_reason),
	cmocka_unit_test(what_is_not_known_is_counted_by_node),
	cmocka_unit_test(what_settles_is_counted_by_reason_and_pointed_to_if_it_is_pending),
	cmocka_unit_test(users_without_a_slot_are_counted),
	cmocka_unit_test(what_lists_left_out_and_placeholders_hide_is_said),
	cmocka_unit_test(what_is_on_no_known_gpu_is_said_once_a_node),
};
TEST_MAIN(tests)
