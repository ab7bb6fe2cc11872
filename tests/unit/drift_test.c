/* SPDX-License-Identifier: Apache-2.0 */

/* The engine; what each rule finds its own tests tell. */

#include "lib/test_main.h"

#include "assess/drift.h"
#include "assess/drift_hash.h"
#include "base/limits.h"
#include "lib/drift_case.h"
#include "lib/expect_status.h"
#include "lib/failing_malloc.h"

#define SECOND INT64_C(1000)

/* Ways to spoil a node, by the type that follows */

static void mismatch_driver(struct drift_case *c)
{
	c->report.sources.nvml = (struct report_source){
		REPORT_SOURCE_ERROR, .message = VIEW("nvmlInit_v2: they " REPORT_DRIVER_MISMATCH)};
}

static void use_unallocated(struct drift_case *c)
{
	c->users[0] = (struct attribution_user){.command = VIEW("python3")};
	c->status.unallocated_users = array_of(c->users, 1);
}

static void leak_slots(struct drift_case *c)
{
	const struct pod_fields fields = {
		.namespace = VIEW("team"),
		.name = VIEW("refused"),
		.uid = VIEW("refused"),
		.state = {.wants_gpu = true, .admission_failed = true},
		.gpu = {.created_at = DRIFT_CASE_NOW - 60 * SECOND,
			.refused_resource = VIEW("nvidia.com/gpu")},
	};
	drift_case_add_pod(c, &fields);
}

static void ask_for_mig(struct drift_case *c)
{
	c->devices[0].mig.pending = true;
}

static void leave_mps_behind(struct drift_case *c)
{
	c->devices[0].compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
}

static void add_policy(struct drift_case *c)
{
	c->intent.n_policies = 2;
}

static void not_ready(struct drift_case *c)
{
	c->policy.state = VIEW("notReady");
}

static void stop_plugin(struct drift_case *c)
{
	drift_case_drop_operand(c, POD_OPERAND_DEVICE_PLUGIN);
	c->node.is_any_offered = false;
}

static void switch_plugin_off(struct drift_case *c)
{
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void delete_key(struct drift_case *c)
{
	c->labels.plugin_config = VIEW("shred");
}

static void break_text(struct drift_case *c)
{
	c->configs[0].error = VIEW("line 3, column 5: replicas is 1");
}

static void offer_8(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/gpu", 8, true, false);
	c->status.sharing.replicas = 8;
	c->labels.gpu_replicas = VIEW("8");
}

static void edit_text(struct drift_case *c)
{
	offer_8(c);
	c->plugin_configs.former = array_of(c->former, 1);
}

static void write_dead(struct drift_case *c)
{
	c->configs[0].dead = PLUGIN_CONFIG_DEAD_RENAME;
}

static void intend_mps(struct drift_case *c)
{
	c->configs[0].sharing = PLUGIN_CONFIG_MPS;
}

static void offer_whole(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/gpu", 1, false, false);
	c->status.sharing = (struct attribution_sharing){ATTRIBUTION_MODE_EXCLUSIVE, 1};
	c->labels.gpu_replicas = VIEW("1");
}

static void rename_resource(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/gpu.shared", 4, true, false);
}

static void write_strategy(struct drift_case *c)
{
	drift_case_cut(c, 1);
	c->devices[0].partitions.count = 0;
	c->policy.mig_strategy = VIEW("mixed");
}

/* As the key said, before it was lost. */
static void serve_single(struct drift_case *c)
{
	drift_case_cut(c, 1);
	drift_case_offer(c, "nvidia.com/gpu", 4, true, true);
}

static void intend_mps_beside_mixed(struct drift_case *c)
{
	c->configs[0].sharing = PLUGIN_CONFIG_MPS;
	c->policy.mig_strategy = VIEW("mixed");
}

static void fail_layout(struct drift_case *c)
{
	c->labels.mig_config = VIEW("half");
	c->labels.mig_config_state = VIEW("failed");
}

static void want_layout(struct drift_case *c)
{
	c->labels.mig_config = VIEW("half");
	c->labels.mig_config_state = VIEW("success");
}

static void lack_allocatable(struct drift_case *c)
{
	c->resources[0].count = 1;
}

static void load_other_driver(struct drift_case *c)
{
	c->report.driver_version = VIEW("535.183.01");
}

static void stop_exporter(struct drift_case *c)
{
	drift_case_drop_operand(c, POD_OPERAND_DCGM_EXPORTER);
}

static void switch_exporter_off(struct drift_case *c)
{
	c->policy.switches[POLICY_DCGM_EXPORTER] = POLICY_OFF;
}

static void unlabel(struct drift_case *c)
{
	c->labels.gpu_count = c->labels.gpu_product = (struct view){0};
}

static void deny_mig(struct drift_case *c)
{
	c->labels.mig_capable = VIEW("false");
}

#define CRITICAL ATTRIBUTION_SEVERITY_CRITICAL
#define WARNING ATTRIBUTION_SEVERITY_WARNING
#define INFO ATTRIBUTION_SEVERITY_INFO

#define MIG_WORK 1u
#define DRIVER_WORK 2u
#define PAUSE 4u
#define KUBELET 8u
#define ANY_WORK (MIG_WORK | DRIVER_WORK | PAUSE)
#define ANY (ANY_WORK | KUBELET)

/* As the vocabulary has them. */
static const struct type_row {
	const char *word;
	void (*spoil)(struct drift_case *c);
	int severity;
	int64_t hold_off;
	unsigned waits_for; /* settling that explains it */
	bool is_of_node;
	bool needs_policy;
} types[] = {
	{"DeviceMissing", drift_case_remove_device, CRITICAL, 60, MIG_WORK | DRIVER_WORK},
	{"DriverMismatch", mismatch_driver, CRITICAL, 60, DRIVER_WORK, true},
	{"UnallocatedUse", use_unallocated, CRITICAL, 0, 0},
	{"SlotsLeaked", leak_slots, CRITICAL, 60, ANY},
	{"MIGModePending", ask_for_mig, WARNING, 300, ANY_WORK},
	{"MPSLeftBehind", leave_mps_behind, WARNING, 180, ANY},
	{"PolicyConflict", add_policy, WARNING, 0, 0, true, true},
	{"PolicyNotReady", not_ready, WARNING, 300, ANY_WORK, true, true},
	{"ConfigMissing", delete_key, CRITICAL, 60, 0, true, true},
	{"ConfigInvalid", break_text, CRITICAL, 60, 0, true, true},
	{"PluginMissing", stop_plugin, CRITICAL, 120, ANY, true, true},
	{"PluginUnexpected", switch_plugin_off, WARNING, 120, ANY, true, true},
	{"ConfigNotLoaded", edit_text, WARNING, 120, ANY, true, true},
	{"ConfigDead", write_dead, INFO, 0, 0, true, true},
	{"MPSNotRunning", intend_mps, CRITICAL, 180, ANY, false, true},
	{"SharingMode", offer_whole, WARNING, 120, ANY, false, true},
	{"ReplicaCount", offer_8, WARNING, 120, ANY, false, true},
	{"ResourceName", rename_resource, WARNING, 120, ANY, false, true},
	{"MIGStrategy", write_strategy, WARNING, 120, ANY, true, true},
	{"MIGConfigFailed", fail_layout, CRITICAL, 10, 0, true, true},
	{"MIGLayout", want_layout, WARNING, 120, ANY_WORK, false, true},
	{"AllocatableShort", lack_allocatable, CRITICAL, 120, ANY, true, true},
	{"DriverVersion", load_other_driver, WARNING, 300, ANY_WORK, true, true},
	{"ExporterMissing", stop_exporter, WARNING, 300, ANY_WORK, true, true},
	{"ExporterUnexpected", switch_exporter_off, INFO, 300, ANY_WORK, true, true},
	{"LabelsMissing", unlabel, WARNING, 180, ANY_WORK, true, true},
	{"LabelsStale", deny_mig, WARNING, 180, ANY, true, true},
};

static struct drift_case c;

static int set_up(void **state)
{
	(void)state;
	drift_case_init(&c);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	drift_case_deinit(&c);
	return 0;
}

static void start_over(void (*spoil)(struct drift_case *))
{
	drift_case_deinit(&c);
	drift_case_init(&c);
	spoil(&c);
}

static bool has_part(struct view text, const char *part)
{
	struct view left, right;

	return view_cut(text, view_from(part), &left, &right);
}

/* So many ms later. */
static void wait_for(int64_t ms)
{
	drift_case_publish(&c);
	c.node.now_wall_ms += ms;
	drift_case_judge(&c);
}

static void expect_state(int state, enum condition_status status, const char *reason)
{
	assert_int_equal(c.verdict.state.state, state);
	assert_int_equal(c.verdict.status, status);
	expect_text(c.verdict.reason, reason);
}

static void expect_drifted(const char *reason)
{
	expect_state(ATTRIBUTION_INTENT_DRIFTED, CONDITION_FALSE, reason);
}

static void expect_settling(const char *reason)
{
	expect_state(ATTRIBUTION_INTENT_SETTLING, CONDITION_UNKNOWN, reason);
}

static void expect_in_sync(const char *message)
{
	expect_state(ATTRIBUTION_INTENT_IN_SYNC, CONDITION_TRUE, "InSync");
	expect_text(c.verdict.message, message);
}

static bool is_there(const char *type)
{
	return drift_case_drift(&c, type) || drift_case_pending(&c, type);
}

#define ALL_WELL "as ClusterPolicy cluster-policy says, with key shared of ConfigMap " \
		 "gpu-operator/plugin-config"

/* What is well */

TEST(a_device_that_is_as_intended_is_in_sync)
{
	drift_case_judge(&c);
	expect_in_sync(ALL_WELL);
	expect_text(c.verdict.state.policy, "cluster-policy");
	assert_true(c.verdict.state.drifts.present && c.verdict.state.pending.present);
	assert_null(c.verdict.state.drifts.items);
	assert_null(c.verdict.state.pending.items);
	assert_int_equal(c.verdict.again_in_ms, -1);
}

TEST(what_is_off_on_purpose_is_no_drift_and_is_said)
{
	switch_exporter_off(&c);
	stop_exporter(&c);
	drift_case_judge(&c);
	expect_in_sync(ALL_WELL "; dcgmExporter is off by ClusterPolicy cluster-policy");
}

TEST(what_is_off_on_purpose_is_said_beside_a_drift_and_while_it_may_pass)
{
	static const char said[] = "; dcgmExporter is off by ClusterPolicy cluster-policy";

	switch_exporter_off(&c);
	stop_exporter(&c);
	stop_plugin(&c);
	drift_case_judge(&c);
	expect_settling("HoldOff");
	assert_true(view_ends_with(c.verdict.message, VIEW(said)));
	wait_for(120 * SECOND);
	expect_drifted("PluginMissing");
	assert_true(view_ends_with(c.verdict.message, VIEW(said)));
	c.policy.unreadable = VIEW("?");
	drift_case_judge(&c);
	assert_false(view_ends_with(c.verdict.message, VIEW(said)));
}

TEST(hold_offs_can_be_shortened_and_stretched)
{
	static const struct {
		uint32_t percent;
		int64_t hold_off_ms;
	} rows[] = {{0, 120000}, {100, 120000}, {5, 6000}, {1, 1200}, {1000, 1200000}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_over(stop_plugin);
		c.node.hold_off_percent = rows[i].percent;
		drift_case_judge(&c);
		assert_int_equal(c.verdict.again_in_ms, rows[i].hold_off_ms);
		wait_for(rows[i].hold_off_ms - 1);
		expect_settling("HoldOff");
		assert_int_equal(c.verdict.again_in_ms, 1);
		wait_for(1);
		expect_drifted("PluginMissing");
	}
}

TEST(without_the_plugin_its_configuration_is_not_compared)
{
	switch_plugin_off(&c);
	offer_whole(&c);
	c.node.is_any_offered = false;
	drift_case_judge(&c);
	expect_in_sync("as ClusterPolicy cluster-policy says; devicePlugin is off by ClusterPolicy "
		       "cluster-policy");
}

TEST(of_a_node_that_is_not_known_nothing_of_its_labels_is_told)
{
	c.node.node = NULL;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_IN_SYNC, CONDITION_TRUE, "InSync");
	c.node.is_settling = true;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_SETTLING, CONDITION_UNKNOWN, "KubeletSettling");
}

TEST(without_a_key_the_plugins_defaults_are_intended)
{
	offer_whole(&c);
	c.resources[0].count = 2;
	c.labels.plugin_config = (struct view){0};
	drift_case_judge(&c);
	expect_in_sync("as ClusterPolicy cluster-policy says");
}

TEST(what_cannot_be_told_is_said)
{
	c.policy.namespace = (struct view){0};
	load_other_driver(&c);
	stop_exporter(&c);
	drift_case_judge(&c);
	expect_in_sync("as ClusterPolicy cluster-policy says, with key shared of ConfigMap "
		       "/plugin-config; cannot be told now: DriverVersion, ExporterMissing");
}

TEST(without_a_policy_nothing_is_managed)
{
	c.intent = (struct intent){.known = true};
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNMANAGED, CONDITION_TRUE, "Unmanaged");
	expect_text(c.verdict.message, "there is no ClusterPolicy");
	expect_text(c.verdict.state.policy, "");
}

TEST(by_a_gpu_cluster_alone_nothing_is_judged)
{
	c.intent = (struct intent){.known = true, .n_gpu_clusters = 1};
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNMANAGED, CONDITION_TRUE, "Unmanaged");
	expect_text(c.verdict.message, "there is a GPUCluster, which is not compared");
	use_unallocated(&c);
	drift_case_judge(&c);
	expect_drifted("UnallocatedUse");
}

TEST(that_gpu_clusters_cannot_be_read_is_said)
{
	c.intent.are_gpu_clusters_unread = true;
	drift_case_judge(&c);
	expect_in_sync(ALL_WELL "; the controller cannot read GPUClusters; cannot be told now: "
				"PolicyConflict");
	c.intent = (struct intent){.known = true, .are_gpu_clusters_unread = true};
	drift_case_judge(&c);
	expect_text(c.verdict.message,
		    "there is no ClusterPolicy; the controller cannot read GPUClusters");
	/* One that was there before may be gone. */
	c.intent.n_gpu_clusters = 1;
	drift_case_judge(&c);
	expect_text(c.verdict.message,
		    "there is no ClusterPolicy; the controller cannot read GPUClusters");
}

TEST(a_conflict_stays_while_gpu_clusters_cannot_be_read)
{
	c.intent.n_gpu_clusters = 1;
	drift_case_judge(&c);
	expect_drifted("PolicyConflict");
	drift_case_publish(&c);
	c.intent.n_gpu_clusters = 0;
	c.intent.are_gpu_clusters_unread = true;
	drift_case_judge(&c);
	expect_drifted("PolicyConflict");
}

TEST(what_cannot_be_told_is_in_the_order_of_the_table)
{
	c.device.is_listing_good = false;
	drift_case_judge(&c);
	expect_in_sync(ALL_WELL "; cannot be told now: DeviceMissing, MIGModePending, MPSLeftBehind, "
				"AllocatableShort, LabelsStale");
}

TEST(a_node_is_prepared_by_what_is_known_now)
{
	drift_case_add_operand(&c, POD_OPERAND_GFD, false);
	drift_prepare(&c.node);
	assert_int_equal(c.node.operands[POD_OPERAND_GFD].n_pods, 2);
	assert_int_equal(c.node.operands[POD_OPERAND_GFD].n_ready, 1);
	assert_non_null(c.node.config);
	drift_prepare(&c.node);
	assert_int_equal(c.node.operands[POD_OPERAND_GFD].n_pods, 2);
	assert_int_equal(c.node.operands[POD_OPERAND_DRIVER].n_ready, 1);
	c.intent.policy = NULL;
	drift_prepare(&c.node);
	assert_null(c.node.config);
	expect_text(c.node.config_name, "");
	expect_text(c.node.config_where, "");
	for (int i = 0; i < POD_N_OPERANDS; i++)
		assert_int_equal(c.node.operands[i].n_pods + c.node.operands[i].n_ready, 0);
}

TEST(a_drift_of_the_node_that_cannot_be_told_now_is_still_told_to_its_other_devices)
{
	const unsigned bit = DRIFT_BIT(EXPORTER_MISSING);

	stop_exporter(&c);
	drift_case_judge(&c);
	assert_int_equal(c.verdict.tells, bit);
	wait_for(300 * SECOND);
	expect_drifted("ExporterMissing");
	drift_case_publish(&c);
	c.node.is_pods_current = false;
	drift_case_judge(&c);
	expect_drifted("ExporterMissing");
	assert_int_equal(c.verdict.tells & bit, bit);
}

TEST(each_type_is_told_to_the_other_devices_of_the_node)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		start_over(types[i].spoil);
		drift_case_judge(&c);
		if ((c.verdict.tells & 1u << i) == 0 || (c.verdict.hides & 1u << i) != 0)
			fail_msg("%s", types[i].word);
	}
}

TEST(a_cause_of_the_node_hides_on_its_other_devices_all_that_follows)
{
	break_text(&c);
	drift_case_judge(&c);
	assert_int_equal(c.verdict.hides, drift_hides(DRIFT_CONFIG_INVALID));
	wait_for(60 * SECOND);
	expect_drifted("ConfigInvalid");
	c.intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	wait_for(1 * SECOND);
	assert_int_equal(c.verdict.hides, 0);
}

TEST(a_cause_of_the_device_hides_on_other_ones_what_is_of_the_node)
{
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		unsigned of_node = 0;

		for (unsigned k = 0; k < ARRAY_SIZE(types); k++)
			of_node |= types[k].is_of_node ? drift_hides(i) & 1u << k : 0;
		start_over(types[i].spoil);
		drift_case_judge(&c);
		if (!types[i].is_of_node && (c.verdict.hides & drift_hides(i)) != of_node)
			fail_msg("%s", types[i].word);
	}
}

/* The plugin has withdrawn a device after the text of its key was edited. */
TEST(what_another_device_of_the_node_explains_is_not_there)
{
	intend_mps(&c);
	c.device.n_offers = 0;
	drift_case_judge(&c);
	assert_true(is_there("MPSNotRunning"));
	drift_case_publish(&c);
	c.node.hidden = drift_hides(DRIFT_CONFIG_NOT_LOADED);
	drift_case_judge(&c);
	assert_false(is_there("MPSNotRunning"));
	assert_false(is_there("SharingMode"));
}

/* What cannot be read */

TEST(a_policy_that_cannot_be_read_makes_the_state_unknown)
{
	c.intent.known = false;
	c.intent.policy = NULL;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "PolicyUnreadable");
	expect_text(c.verdict.message, "the controller cannot read ClusterPolicies");

	c.intent.is_unserved = true;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "PolicyUnreadable");
	expect_text(c.verdict.message, "the API server has ClusterPolicies in other versions only than "
				       "nvidia.com/v1, which is read");

	c.intent.is_unserved = false;
	c.intent.is_stale = true;
	c.intent.policy = &c.policy;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "PolicyUnreadable");
	expect_text(c.verdict.message, "the controller has not been able to watch ClusterPolicies for 5 "
				       "minutes: what it knows of them may be old");

	c.intent.known = true;
	c.intent.is_stale = false;
	c.policy.unreadable = VIEW("?");
	switch_plugin_off(&c);
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "PolicyUnreadable");
	expect_text(c.verdict.message, "?");
	assert_int_equal(c.verdict.state.pending.count, 0);
}

TEST(what_is_wrong_anyway_counts_before_what_cannot_be_read)
{
	c.policy.unreadable = VIEW("spec.driver is a number");
	switch_exporter_off(&c);
	use_unallocated(&c);
	drift_case_judge(&c);
	expect_drifted("UnallocatedUse");
	assert_false(has_part(c.verdict.message, "dcgmExporter")); /* who knows */
	c.policy.unreadable = (struct view){0};
	c.intent.known = false;
	drift_case_judge(&c);
	expect_drifted("UnallocatedUse");
	assert_false(has_part(c.verdict.message, "dcgmExporter"));

	start_over(add_policy);
	c.policy.unreadable = VIEW("spec.driver is a number");
	drift_case_judge(&c);
	expect_drifted("PolicyConflict");
}

TEST(a_config_map_that_cannot_be_read_makes_the_state_unknown)
{
	c.intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c.intent.plugin_configs = NULL;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "ConfigUnreadable");
	expect_text(c.verdict.message,
		    "ConfigMap gpu-operator/plugin-config cannot be read: it has not been read yet");

	start_over(want_layout);
	c.mig_configs.error = VIEW("line 1");
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "ConfigUnreadable");
	expect_text(c.verdict.message,
		    "ConfigMap gpu-operator/mig-config cannot be read: line 1");

	start_over(want_layout);
	c.policy.mig_config = (struct view){0};
	c.intent.mig_configs_state = INTENT_CONFIG_MISSING;
	c.intent.mig_configs = NULL;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "ConfigUnreadable");
	expect_text(c.verdict.message,
		    "ClusterPolicy cluster-policy names no ConfigMap of MIG layouts, and "
		    "gpu-operator/default-mig-parted-config does not exist");
}

TEST(where_the_mig_manager_may_have_made_the_layout_the_state_is_unknown)
{
#define MAY_BE_ITS_OWN                                                                             \
	"ClusterPolicy cluster-policy names no ConfigMap of MIG layouts in "                       \
	"migManager.config.name: the MIG manager may have made layout half itself, and not as "    \
	"gpu-operator/default-mig-parted-config has it; "
	static const char may_be_its_own[] =
		MAY_BE_ITS_OWN "there is no ConfigMap gpu-operator/node-a-mig-config, in which it "
			       "tells them";

	start_over(want_layout);
	c.policy.mig_config = (struct view){0};
	c.intent.node_layouts_state = INTENT_CONFIG_UNREADABLE;
	c.intent.node_layouts_why = INTENT_CONFIG_NO_RIGHT;
	drift_case_judge(&c);
	expect_text(c.verdict.message,
		    MAY_BE_ITS_OWN "ConfigMap gpu-operator/node-a-mig-config cannot be read: the "
				   "controller has no right to; manifests/intent grants it");
	c.intent.node_layouts_state = INTENT_CONFIG_THERE;
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "ConfigUnreadable");
	expect_text(c.verdict.message, may_be_its_own);

	c.labels.mig_config_state = VIEW("pending");
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_SETTLING, CONDITION_UNKNOWN, "MIGReconfiguration");

	/* A difference that was pending before it could not be read does not hide that. */
	start_over(want_layout);
	drift_case_judge(&c);
	expect_settling("HoldOff");
	c.policy.mig_config = (struct view){0};
	wait_for(1 * SECOND);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "ConfigUnreadable");
	expect_text(c.verdict.message, may_be_its_own);
}

/* Each type */

TEST(a_difference_is_a_drift_after_the_hold_off_of_its_type)
{
	assert_int_equal(ARRAY_SIZE(types), N_DRIFT_TYPES);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct type_row *type = &types[i];
		const int64_t hold_off = type->hold_off * SECOND;

		start_over(type->spoil);
		drift_case_judge(&c);
		if (!is_there(type->word))
			fail_msg("%s is not found", type->word);
		if (hold_off > 0) {
			assert_null(drift_case_drift(&c, type->word));
			assert_int_equal(drift_case_pending(&c, type->word)->start_time,
					 DRIFT_CASE_NOW);
			expect_settling("HoldOff");
			assert_true(c.verdict.again_in_ms > 0 && c.verdict.again_in_ms <= hold_off);
			wait_for(hold_off - 1);
			assert_null(drift_case_drift(&c, type->word));
			wait_for(1);
		}
		if (!drift_case_drift(&c, type->word))
			fail_msg("%s is no drift", type->word);
		assert_null(drift_case_pending(&c, type->word));
		assert_int_equal(drift_case_drift(&c, type->word)->start_time, DRIFT_CASE_NOW);
		assert_int_equal(drift_case_drift(&c, type->word)->severity, type->severity);
		expect_drifted(type->word);
	}
}

/* Ways to edit what is intended while the difference stays */

static void name_other_key(struct drift_case *this)
{
	this->configs[1] = this->configs[0];
	this->configs[1].name = this->labels.plugin_config = VIEW("other");
}

static void misname_key_otherwise(struct drift_case *this)
{
	this->labels.plugin_config = VIEW("sharde");
}

static void mean_3(struct drift_case *this)
{
	this->shared[0].replicas = 3;
}

static void mean_single(struct drift_case *this)
{
	this->policy.mig_strategy = VIEW("single");
}

static void mean_no_mig(struct drift_case *this)
{
	this->labels.mig_config = VIEW("all-disabled");
}

static void mean_7_parts(struct drift_case *this)
{
	this->counts[0].count = 7;
}

static void mean_newer_driver(struct drift_case *this)
{
	this->policy.driver_version = VIEW("580.65.06-ubuntu22.04");
}

TEST(each_type_publishes_what_its_intent_hashes_to_and_holds_off_anew_with_another)
{
	/* The hashes are published: another version of the controller finds the same. */
	static const struct {
		const char *word;
		void (*spoil)(struct drift_case *);
		void (*edit)(struct drift_case *);
		int64_t hash; /* before it is edited */
	} rows[] = {
		{"ConfigMissing", delete_key, misname_key_otherwise, 0x20440324},
		{"ConfigInvalid", break_text, name_other_key, 0x2f8bff2c},
		{"MPSNotRunning", intend_mps, name_other_key, 0x2f8bff2c},
		{"SharingMode", offer_whole, name_other_key, 0xc06938ac},
		{"ReplicaCount", offer_8, mean_3, 0x4ae3bc28},
		{"ResourceName", rename_resource, name_other_key, 0xc06938ac},
		{"MIGStrategy", write_strategy, mean_single, 0x96782347},
		{"MIGConfigFailed", fail_layout, mean_no_mig, 0x73b8ca10},
		{"MIGLayout", want_layout, mean_7_parts, 0x10e2ef70},
		{"DriverVersion", load_other_driver, mean_newer_driver, 0x1db586fa},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_over(rows[i].spoil);
		drift_case_judge(&c);
		assert_int_equal(drift_case_pending(&c, rows[i].word)->intent_hash, rows[i].hash);
		rows[i].edit(&c);
		wait_for(2 * SECOND);
		if (drift_case_pending(&c, rows[i].word)->start_time != DRIFT_CASE_NOW + 2 * SECOND)
			fail_msg("%s is held off since before", rows[i].word);
	}
}

/* Eight replicas are on offer, and another number than before is meant. */
static void mean_replicas(int64_t n)
{
	c.shared[0].replicas = n;
}

TEST(the_hold_off_begins_anew_when_what_is_intended_is_edited)
{
	start_over(offer_8);
	drift_case_judge(&c);
	wait_for(119 * SECOND);
	mean_replicas(3);
	drift_case_judge(&c);
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW + 119 * SECOND);
	wait_for(120 * SECOND);
	assert_int_equal(drift_case_drift(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW + 119 * SECOND);

	mean_replicas(2);
	drift_case_judge(&c);
	assert_null(drift_case_drift(&c, "ReplicaCount"));
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW + 239 * SECOND);
}

TEST(that_the_layout_before_failed_is_not_told_of_the_next_one)
{
	start_over(fail_layout);
	drift_case_judge(&c);
	wait_for(10 * SECOND);
	expect_drifted("MIGConfigFailed");
	c.labels.mig_config = VIEW("all-disabled");
	wait_for(5 * SECOND);
	expect_settling("HoldOff");
	assert_int_equal(c.verdict.again_in_ms, 10 * SECOND);
	c.labels.mig_config_state = VIEW("pending");
	wait_for(5 * SECOND);
	expect_settling("MIGReconfiguration");
	assert_false(is_there("MIGConfigFailed"));
}

TEST(a_drift_of_which_no_hash_was_published_keeps_its_time)
{
	start_over(offer_8);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	drift_case_publish(&c);
	c.published_drifts[0].intent_hash = 0;
	mean_replicas(3);
	drift_case_judge(&c);
	assert_int_equal(drift_case_drift(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
}

/* Another version may have published one. */
TEST(a_drift_whose_intent_cannot_be_edited_keeps_its_time_whatever_hash_was_published)
{
	stop_exporter(&c);
	drift_case_judge(&c);
	wait_for(300 * SECOND);
	drift_case_publish(&c);
	c.published_drifts[0].intent_hash = 7;
	drift_case_judge(&c);
	assert_int_equal(drift_case_drift(&c, "ExporterMissing")->start_time, DRIFT_CASE_NOW);
}

TEST(a_type_has_a_word_and_is_of_the_node_or_the_device)
{
	for (int i = 0; i < N_DRIFT_TYPES; i++) {
		expect_text(drift_word((enum drift_type)i), types[i].word);
		assert_int_equal(drift_type_of(view_from(types[i].word)), i);
		assert_int_equal(drift_is_of_node((enum drift_type)i), types[i].is_of_node);
	}
	assert_int_equal(drift_type_of(VIEW("Nonsense")), N_DRIFT_TYPES);
	assert_int_equal(drift_type_of(VIEW("")), N_DRIFT_TYPES);
}

TEST(only_what_holds_anyway_is_found_without_a_policy)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		start_over(types[i].spoil);
		c.intent = (struct intent){.known = true};
		drift_case_judge(&c);
		if (is_there(types[i].word) == types[i].needs_policy)
			fail_msg("%s", types[i].word);
	}
}

/* Causes */

TEST(a_cause_hides_its_consequences)
{
	static const struct {
		void (*cause)(struct drift_case *);
		const char *cause_word;
		void (*consequence)(struct drift_case *);
		const char *word;
	} rows[] = {
		{drift_case_remove_device, "DeviceMissing", lack_allocatable, "AllocatableShort"},
		{mismatch_driver, "DriverMismatch", load_other_driver, "DriverVersion"},
		{ask_for_mig, "MIGModePending", want_layout, "MIGLayout"},
		{stop_plugin, "PluginMissing", lack_allocatable, "AllocatableShort"},
		{stop_plugin, "PluginMissing", offer_whole, "SharingMode"},
		{stop_plugin, "PluginMissing", offer_8, "ReplicaCount"},
		{stop_plugin, "PluginMissing", rename_resource, "ResourceName"},
		{delete_key, "ConfigMissing", lack_allocatable, "AllocatableShort"},
		{break_text, "ConfigInvalid", lack_allocatable, "AllocatableShort"},
		{delete_key, "ConfigMissing", stop_plugin, "PluginMissing"},
		{break_text, "ConfigInvalid", stop_plugin, "PluginMissing"},
		{delete_key, "ConfigMissing", serve_single, "MIGStrategy"},
		{break_text, "ConfigInvalid", serve_single, "MIGStrategy"},
		{intend_mps_beside_mixed, "ConfigInvalid", intend_mps, "MPSNotRunning"},
		{edit_text, "ConfigNotLoaded", lack_allocatable, "AllocatableShort"},
		{edit_text, "ConfigNotLoaded", offer_8, "ReplicaCount"},
		{edit_text, "ConfigNotLoaded", deny_mig, "LabelsStale"},
		{offer_whole, "SharingMode", deny_mig, "LabelsStale"},
		{offer_8, "ReplicaCount", deny_mig, "LabelsStale"},
		{intend_mps, "MPSNotRunning", lack_allocatable, "AllocatableShort"},
		{intend_mps, "MPSNotRunning", offer_whole, "SharingMode"},
		{offer_whole, "SharingMode", lack_allocatable, "AllocatableShort"},
		{offer_8, "ReplicaCount", lack_allocatable, "AllocatableShort"},
		{write_strategy, "MIGStrategy", lack_allocatable, "AllocatableShort"},
		{fail_layout, "MIGConfigFailed", fail_layout, "MIGLayout"},
		{unlabel, "LabelsMissing", deny_mig, "LabelsStale"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_over(rows[i].cause);
		rows[i].consequence(&c);
		drift_case_judge(&c);
		if (!is_there(rows[i].cause_word) || is_there(rows[i].word))
			fail_msg("%s does not hide %s", rows[i].cause_word, rows[i].word);
		wait_for(300 * SECOND);
		if (!drift_case_drift(&c, rows[i].cause_word) || is_there(rows[i].word))
			fail_msg("%s does not hide %s", rows[i].cause_word, rows[i].word);
		if (!(drift_hides(drift_type_of(view_from(rows[i].cause_word))) &
		      1u << drift_type_of(view_from(rows[i].word))))
			fail_msg("%s is not said to hide %s", rows[i].cause_word, rows[i].word);
	}
}

TEST(a_consequence_is_looked_at_anew_when_its_cause_is_gone)
{
	stop_plugin(&c);
	offer_8(&c);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	expect_drifted("PluginMissing");
	drift_case_add_operand(&c, POD_OPERAND_DEVICE_PLUGIN, true);
	wait_for(5 * SECOND);
	expect_settling("HoldOff");
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW + 125 * SECOND);
}

/* Settling */

static void change_mig(struct drift_case *this)
{
	this->labels.mig_config_state = VIEW("pending");
}

static void reboot_for_mig(struct drift_case *this)
{
	this->labels.mig_config_state = VIEW("rebooting");
}

static void upgrade(struct drift_case *this)
{
	this->labels.driver_upgrade = VIEW("drain-required");
}

static void pause(struct drift_case *this)
{
	drift_case_deploy(this, "dcgm-exporter", "paused-for-driver-upgrade");
}

static void pause_first(struct drift_case *this)
{
	drift_case_deploy(this, "device-plugin", "paused-for-driver-upgrade");
}

static void restart_kubelet(struct drift_case *this)
{
	this->node.is_settling = true;
}

static void end_work(struct drift_case *this)
{
	this->labels.mig_config_state = VIEW("success");
	this->labels.driver_upgrade = VIEW("upgrade-done");
	drift_case_deploy(this, "dcgm-exporter", "true");
	drift_case_deploy(this, "device-plugin", "true");
	this->node.is_settling = false;
}

#define NO_LIMIT (-1) /* nothing is to be done then */

static const struct {
	void (*begin)(struct drift_case *this);
	unsigned bit;
	const char *reason;
	int64_t limit; /* s */
	const char *label;
} settlings[] = {
	{change_mig, MIG_WORK, "MIGReconfiguration", 3600, "nvidia.com/mig.config.state"},
	{reboot_for_mig, MIG_WORK, "MIGReconfiguration", 3600, "nvidia.com/mig.config.state"},
	{upgrade, DRIVER_WORK, "DriverUpgrade", 14400, "nvidia.com/gpu-driver-upgrade-state"},
	{pause, PAUSE, "OperandsPaused", 14400, "nvidia.com/gpu.deploy.*"},
	{pause_first, PAUSE, "OperandsPaused", 14400, "nvidia.com/gpu.deploy.*"},
	{restart_kubelet, KUBELET, "KubeletSettling", NO_LIMIT},
};

TEST(while_the_node_is_changed_on_purpose_it_is_settling)
{
	for (size_t i = 0; i < ARRAY_SIZE(settlings); i++) {
		start_over(settlings[i].begin);
		drift_case_judge(&c);
		expect_settling(settlings[i].reason);
		assert_int_equal(c.verdict.again_in_ms, settlings[i].limit == NO_LIMIT
								? -1
								: settlings[i].limit * SECOND);
	}
}

TEST(the_first_kind_of_settling_is_the_reason)
{
	restart_kubelet(&c);
	pause(&c);
	drift_case_judge(&c);
	expect_settling("OperandsPaused");
	upgrade(&c);
	drift_case_judge(&c);
	expect_settling("DriverUpgrade");
	expect_text(c.verdict.message, "the driver of the node is being upgraded");
}

TEST(an_upgrade_that_has_not_begun_is_over_or_failed_is_no_settling)
{
	static const char *const states[] = {"", "upgrade-required", "upgrade-done",
					     "upgrade-failed"};

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		c.labels.driver_upgrade = view_from(states[i]);
		drift_case_judge(&c);
		expect_in_sync(ALL_WELL);
	}
}

TEST(a_new_difference_waits_for_the_settling_that_explains_it)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(settlings); k++) {
			const bool is_explained = types[i].waits_for & settlings[k].bit;

			/* The label of the state cannot say both. */
			if (types[i].spoil == fail_layout && settlings[k].bit == MIG_WORK)
				continue;
			start_over(types[i].spoil);
			settlings[k].begin(&c);
			drift_case_judge(&c);
			/* Who is not there is remembered, and is no drift. */
			if (types[i].spoil == drift_case_remove_device && is_explained)
				assert_non_null(drift_case_pending(&c, types[i].word));
			else if (is_there(types[i].word) == is_explained)
				fail_msg("%s during %s", types[i].word, settlings[k].reason);
			if (is_explained && c.verdict.state.drifts.count == 0)
				expect_settling(settlings[k].reason);
		}
	}
}

TEST(the_hold_off_begins_when_the_settling_is_over)
{
	offer_8(&c);
	drift_case_judge(&c);
	upgrade(&c);
	wait_for(60 * SECOND);
	assert_false(is_there("ReplicaCount"));
	c.labels.driver_upgrade = VIEW("upgrade-done");
	wait_for(600 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW + 660 * SECOND);
	wait_for(120 * SECOND);
	expect_drifted("ReplicaCount");
}

TEST(a_drift_stays_while_the_node_is_changed)
{
	offer_8(&c);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	restart_kubelet(&c);
	wait_for(1 * SECOND);
	expect_drifted("ReplicaCount");
	assert_int_equal(drift_case_drift(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
}

TEST(a_label_that_was_left_behind_is_no_settling)
{
	for (size_t i = 0; i < ARRAY_SIZE(settlings); i++) {
		const int64_t limit = settlings[i].limit * SECOND;

		if (settlings[i].limit == NO_LIMIT)
			continue;
		start_over(settlings[i].begin);
		drift_case_judge(&c);
		assert_int_equal(drift_case_pending(&c, settlings[i].reason)->start_time,
				 DRIFT_CASE_NOW);
		wait_for(limit - 1);
		expect_settling(settlings[i].reason);
		assert_int_equal(c.verdict.again_in_ms, 1);
		wait_for(1);
		expect_state(ATTRIBUTION_INTENT_IN_SYNC, CONDITION_TRUE, "InSync");
		assert_true(has_part(c.verdict.message, settlings[i].label));
		/* For as long as the label is there. */
		wait_for(limit * 3);
		expect_state(ATTRIBUTION_INTENT_IN_SYNC, CONDITION_TRUE, "InSync");
		assert_int_equal(c.verdict.again_in_ms, -1);
		/* What differs is judged again. */
		offer_8(&c);
		wait_for(1);
		expect_settling("HoldOff");
		wait_for(120 * SECOND);
		expect_drifted("ReplicaCount");
		assert_true(has_part(c.verdict.message, settlings[i].label));
	}
}

TEST(work_that_ended_and_begins_anew_has_its_time_again)
{
	change_mig(&c);
	drift_case_judge(&c);
	wait_for(3600 * SECOND);
	c.labels.mig_config_state = VIEW("success");
	wait_for(1 * SECOND);
	expect_in_sync(ALL_WELL);
	assert_int_equal(c.verdict.state.pending.count, 0);
	change_mig(&c);
	wait_for(1 * SECOND);
	expect_settling("MIGReconfiguration");
	assert_int_equal(c.verdict.again_in_ms, 3600 * SECOND);
}

TEST(each_step_of_an_upgrade_has_the_limit_to_itself)
{
	c.labels.driver_upgrade = VIEW("wait-for-jobs-required");
	drift_case_judge(&c);
	wait_for(14400 * SECOND);
	assert_true(has_part(c.verdict.message, "told of work for too long"));
	upgrade(&c);
	wait_for(86400 * SECOND);
	expect_settling("DriverUpgrade");
	assert_int_equal(c.verdict.again_in_ms, 14400 * SECOND);
	/* What the upgrade itself explains is none. */
	drift_case_remove_device(&c);
	wait_for(14399 * SECOND);
	expect_settling("DriverUpgrade");
	assert_int_equal(c.verdict.again_in_ms, 1 * SECOND);
	wait_for(1 * SECOND);
	wait_for(60 * SECOND);
	expect_drifted("DeviceMissing");
}

TEST(an_upgrade_of_which_no_step_was_published_keeps_its_time)
{
	upgrade(&c);
	drift_case_judge(&c);
	drift_case_publish(&c);
	c.published_pending[0].intent_hash = 0;
	c.node.now_wall_ms += 60 * SECOND;
	drift_case_judge(&c);
	assert_int_equal(drift_case_pending(&c, "DriverUpgrade")->start_time, DRIFT_CASE_NOW);
	assert_int_equal(drift_case_pending(&c, "DriverUpgrade")->intent_hash,
			 drift_hash(0, VIEW("drain-required")));
	/* Other work has no steps. */
	change_mig(&c);
	drift_case_judge(&c);
	assert_int_equal(drift_case_pending(&c, "MIGReconfiguration")->intent_hash, 0);
}

TEST(the_limit_of_work_is_stretched_as_hold_offs_are)
{
	c.node.hold_off_percent = 10;
	change_mig(&c);
	drift_case_judge(&c);
	assert_int_equal(c.verdict.again_in_ms, 360 * SECOND);
	/* A clock that was set back does not make it longer. */
	wait_for(-1000 * SECOND);
	assert_int_equal(c.verdict.again_in_ms, 360 * SECOND);
}

TEST(without_a_policy_a_label_that_was_left_behind_stops_no_drift)
{
	c.intent = (struct intent){.known = true};
	change_mig(&c);
	drift_case_judge(&c);
	assert_int_equal(c.verdict.state.pending.count, 0);
	assert_int_equal(c.verdict.again_in_ms, -1);
	leave_mps_behind(&c);
	c.status.sharing.mode = ATTRIBUTION_MODE_EXCLUSIVE;
	wait_for(1 * SECOND);
	expect_settling("MIGReconfiguration");
	wait_for(3600 * SECOND);
	expect_settling("HoldOff");
	wait_for(180 * SECOND);
	expect_drifted("MPSLeftBehind");
	assert_non_null(drift_case_pending(&c, "MIGReconfiguration"));
}

TEST(a_device_that_went_missing_during_work_is_a_drift_after_it)
{
	static void (*const begins[])(struct drift_case *) = {change_mig, upgrade};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		start_over(begins[i]);
		drift_case_judge(&c);
		drift_case_remove_device(&c);
		wait_for(1 * SECOND);
		assert_null(drift_case_drift(&c, "DeviceMissing"));
		assert_true(view_starts_with(c.verdict.message, VIEW("the "))); /* work is told */
		assert_int_equal(drift_case_pending(&c, "DeviceMissing")->start_time,
				 DRIFT_CASE_NOW + 1 * SECOND);
		wait_for(600 * SECOND);
		assert_int_equal(drift_case_pending(&c, "DeviceMissing")->start_time,
				 DRIFT_CASE_NOW + 1 * SECOND);
		/* The hold-off begins at its end. */
		c.labels.mig_config_state = c.labels.driver_upgrade = (struct view){0};
		wait_for(1 * SECOND);
		expect_settling("HoldOff");
		assert_int_equal(c.verdict.again_in_ms, 60 * SECOND);
		wait_for(60 * SECOND);
		expect_drifted("DeviceMissing");
	}
}

TEST(only_the_nodes_labels_tell_that_work_is_over)
{
	change_mig(&c);
	drift_case_judge(&c);
	drift_case_remove_device(&c);
	wait_for(1 * SECOND);
	/* Without them the device is missing since it went. */
	c.node.node = NULL;
	wait_for(20 * SECOND);
	expect_settling("HoldOff");
	assert_int_equal(drift_case_pending(&c, "DeviceMissing")->start_time,
			 DRIFT_CASE_NOW + 1 * SECOND);
	wait_for(40 * SECOND);
	expect_drifted("DeviceMissing");
}

TEST(without_a_policy_only_a_difference_is_settling)
{
	c.intent = (struct intent){.known = true};
	restart_kubelet(&c);
	drift_case_judge(&c);
	expect_state(ATTRIBUTION_INTENT_UNMANAGED, CONDITION_TRUE, "Unmanaged");
	leave_mps_behind(&c);
	c.status.sharing.mode = ATTRIBUTION_MODE_EXCLUSIVE;
	drift_case_judge(&c);
	expect_settling("KubeletSettling");
	c.node.is_settling = false;
	drift_case_judge(&c);
	expect_settling("HoldOff");
}

/* Times */

TEST(of_differences_that_may_pass_the_first_is_named)
{
	offer_8(&c);
	stop_exporter(&c);
	drift_case_judge(&c);
	expect_settling("HoldOff");
	expect_text(c.verdict.message,
		    "ReplicaCount: a difference was found, and may still pass: see intent.pending");
	/* It cannot be seen now. */
	c.node.is_offer_known = false;
	drift_case_drop_operand(&c, POD_OPERAND_DCGM_EXPORTER);
	drift_case_add_operand(&c, POD_OPERAND_DCGM_EXPORTER, true);
	wait_for(1 * SECOND);
	expect_settling("HoldOff");
	expect_text(c.verdict.message, "ReplicaCount: a difference was found, and may still pass: see intent.pending");
}

TEST(a_difference_that_passes_leaves_nothing)
{
	offer_8(&c);
	drift_case_judge(&c);
	drift_case_offer(&c, "nvidia.com/gpu", 4, true, false);
	c.status.sharing.replicas = 4;
	c.labels.gpu_replicas = VIEW("4");
	wait_for(60 * SECOND);
	expect_in_sync(ALL_WELL);
	assert_int_equal(c.verdict.state.pending.count, 0);
	assert_int_equal(c.verdict.again_in_ms, -1);
}

TEST(a_difference_that_comes_back_is_a_new_one)
{
	stop_exporter(&c);
	drift_case_judge(&c);
	wait_for(300 * SECOND);
	expect_drifted("ExporterMissing");
	drift_case_add_operand(&c, POD_OPERAND_DCGM_EXPORTER, true);
	wait_for(1 * SECOND);
	stop_exporter(&c);
	wait_for(1 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ExporterMissing")->start_time,
			 DRIFT_CASE_NOW + 302 * SECOND);
}

TEST(a_drift_that_is_mended_goes_at_once)
{
	switch_exporter_off(&c);
	drift_case_judge(&c);
	wait_for(300 * SECOND);
	expect_drifted("ExporterUnexpected");
	stop_exporter(&c);
	wait_for(1);
	expect_in_sync(ALL_WELL "; dcgmExporter is off by ClusterPolicy cluster-policy");
}

TEST(the_text_of_a_drift_follows_what_is_found)
{
	offer_8(&c);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	drift_case_offer(&c, "nvidia.com/gpu", 6, true, false);
	wait_for(10 * SECOND);
	expect_text(drift_case_drift(&c, "ReplicaCount")->observed,
		    "6 replicas of nvidia.com/gpu (device IDs)");
	assert_int_equal(drift_case_drift(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
}

TEST(it_is_judged_again_when_the_first_hold_off_is_over)
{
	leave_mps_behind(&c);
	offer_8(&c);
	drift_case_judge(&c);
	assert_int_equal(c.verdict.again_in_ms, 120 * SECOND);
	wait_for(20 * SECOND);
	assert_int_equal(c.verdict.again_in_ms, 100 * SECOND);
	wait_for(100 * SECOND);
	expect_drifted("ReplicaCount");
	assert_int_equal(c.verdict.again_in_ms, 60 * SECOND);
}

TEST(a_clock_that_was_set_back_loses_no_drift_and_delays_one_at_most_twice_as_long)
{
	offer_8(&c);
	drift_case_judge(&c);
	/* A little: the hold-off goes on. */
	wait_for(-100 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
	assert_int_equal(c.verdict.again_in_ms, 220 * SECOND);
	wait_for(-20 * SECOND);
	assert_int_equal(c.verdict.again_in_ms, 240 * SECOND);
	/* By more than a hold-off: it begins anew. */
	wait_for(-1 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW - 121 * SECOND);
	assert_int_equal(c.verdict.again_in_ms, 120 * SECOND);
	wait_for(120 * SECOND);
	expect_drifted("ReplicaCount");
	wait_for(-5000 * SECOND);
	assert_int_equal(drift_case_drift(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW - 121 * SECOND);
	assert_int_equal(c.verdict.state.drifts.count, 1);
	assert_int_equal(c.verdict.state.pending.count, 0);
}

/* What cannot be told */

static void lose_config(void)
{
	c.intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c.intent.plugin_configs = NULL;
}

static void find_config(void)
{
	c.intent.plugin_configs_state = INTENT_CONFIG_THERE;
	c.intent.plugin_configs = &c.plugin_configs;
}

TEST(while_what_is_intended_cannot_be_read_a_drift_is_pending_with_its_time)
{
	offer_8(&c);
	drift_case_judge(&c);
	lose_config();
	wait_for(500 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "ConfigUnreadable");
	assert_int_equal(c.verdict.again_in_ms, -1);

	start_over(offer_8);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	expect_drifted("ReplicaCount");
	lose_config();
	wait_for(1 * SECOND);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "ConfigUnreadable");
	assert_null(drift_case_drift(&c, "ReplicaCount"));
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
	wait_for(5000 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);

	find_config();
	wait_for(1 * SECOND);
	expect_drifted("ReplicaCount");
	assert_int_equal(drift_case_drift(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
	assert_int_equal(c.verdict.state.pending.count, 0);
}

TEST(a_drift_begins_anew_if_its_intent_was_edited_while_it_could_not_be_read)
{
	offer_8(&c);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	lose_config();
	wait_for(1 * SECOND);
	find_config();
	mean_replicas(3);
	wait_for(1 * SECOND);
	assert_null(drift_case_drift(&c, "ReplicaCount"));
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW + 122 * SECOND);
}

TEST(what_rests_on_what_can_be_read_stays_a_drift)
{
	offer_8(&c);
	stop_exporter(&c);
	drift_case_judge(&c);
	wait_for(300 * SECOND);
	assert_int_equal(c.verdict.state.drifts.count, 2);
	lose_config();
	wait_for(1 * SECOND);
	expect_drifted("ExporterMissing");
	assert_int_equal(c.verdict.state.drifts.count, 1);
	assert_int_equal(c.verdict.state.pending.count, 1);
}

TEST(a_drift_that_cannot_be_seen_now_stays_and_is_said_to_be_old)
{
	stop_exporter(&c);
	drift_case_judge(&c);
	wait_for(300 * SECOND);
	expect_drifted("ExporterMissing");
	c.node.is_pods_current = false;
	wait_for(300 * SECOND);
	expect_drifted("ExporterMissing");
	assert_int_equal(c.verdict.found, DRIFT_BIT(EXPORTER_MISSING));
	assert_true(view_ends_with(c.verdict.message,
				   VIEW(" As last known, since it cannot be told now: "
					"ExporterMissing")));
}

TEST(what_is_set_aside_hides_nothing)
{
	delete_key(&c);
	drift_case_judge(&c);
	wait_for(60 * SECOND);
	expect_drifted("ConfigMissing");
	lose_config();
	stop_plugin(&c);
	wait_for(1 * SECOND);
	assert_non_null(drift_case_pending(&c, "ConfigMissing"));
	assert_non_null(drift_case_pending(&c, "PluginMissing"));
	wait_for(120 * SECOND);
	expect_drifted("PluginMissing");
}

static void want_balanced(void)
{
	c.filters[0] = VIEW("0x20B010DE");
	c.parts[1].filters = array_of(c.filters, 1);
}

TEST(what_is_compared_no_more_goes_and_is_said)
{
	start_over(want_layout);
	drift_case_judge(&c);
	want_balanced();
	wait_for(10 * SECOND);
	expect_in_sync(ALL_WELL "; not compared: MIGLayout");
	assert_int_equal(c.verdict.state.pending.count, 0);

	start_over(want_layout);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	expect_drifted("MIGLayout");
	want_balanced();
	wait_for(10 * SECOND);
	expect_in_sync(ALL_WELL "; not compared: MIGLayout");
}

/* As the ConfigMap says the plugin shares by 4, and it shares by 8. */
TEST(what_rests_on_a_file_that_nobody_knows_is_not_compared)
{
	start_over(offer_8);
	c.arguments[0] = VIEW("--config-file=/etc/plugin.yaml");
	c.policy.plugin_args = array_of(c.arguments, 1);
	drift_case_judge(&c);
	expect_in_sync("as ClusterPolicy cluster-policy says; not compared: ConfigInvalid, "
		       "ConfigNotLoaded, ConfigDead, MPSNotRunning, SharingMode, ReplicaCount, "
		       "ResourceName, MIGStrategy, AllocatableShort");

	c.arguments[0] = VIEW("--mig-strategy=none");
	drift_case_judge(&c);
	assert_non_null(drift_case_pending(&c, "ReplicaCount"));
}

TEST(what_stays_hides_what_follows_from_it)
{
	stop_plugin(&c);
	drift_case_judge(&c);
	c.policy.namespace = (struct view){0};
	offer_8(&c);
	wait_for(1 * SECOND);
	assert_non_null(drift_case_pending(&c, "PluginMissing"));
	assert_false(is_there("ReplicaCount"));

	start_over(stop_plugin);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	c.policy.namespace = (struct view){0};
	offer_8(&c);
	wait_for(1 * SECOND);
	expect_drifted("PluginMissing");
	assert_false(is_there("ReplicaCount"));
}

TEST(what_a_policy_asked_for_is_pending_while_that_cannot_be_read)
{
	offer_8(&c);
	not_ready(&c);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	c.policy.unreadable = VIEW("?");
	wait_for(1 * SECOND);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "PolicyUnreadable");
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
	assert_non_null(drift_case_pending(&c, "PolicyNotReady"));
	c.intent.policy = NULL;
	c.intent.known = false;
	wait_for(1 * SECOND);
	expect_state(ATTRIBUTION_INTENT_UNKNOWN, CONDITION_UNKNOWN, "PolicyUnreadable");
	assert_null(drift_case_drift(&c, "ReplicaCount"));
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time, DRIFT_CASE_NOW);
	assert_non_null(drift_case_pending(&c, "PolicyNotReady"));
}

/* The operator's condition that dates it. */
static void date_failure(struct policy_condition *error, int64_t at)
{
	*error = (struct policy_condition){.type = VIEW("Error"), .status = VIEW("True"),
					   .reason = VIEW("OperandNotReady"),
					   .last_transition_time = at};
	c.policy.conditions = array_of(error, 1);
}

TEST(a_difference_that_its_source_dates_counts_since_that_date)
{
	struct policy_condition error;
	const int64_t began = c.node.now_wall_ms - 100 * SECOND;

	not_ready(&c);
	date_failure(&error, began);
	drift_case_judge(&c);
	expect_settling("HoldOff");
	assert_int_equal(drift_case_pending(&c, "PolicyNotReady")->start_time, began);
	assert_int_equal(c.verdict.again_in_ms, 200 * SECOND);
	wait_for(199 * SECOND);
	assert_null(drift_case_drift(&c, "PolicyNotReady"));
	wait_for(1 * SECOND);
	assert_int_equal(drift_case_drift(&c, "PolicyNotReady")->start_time, began);
}

TEST(a_difference_that_its_source_dates_counts_at_once_if_it_is_old)
{
	struct policy_condition error;
	const int64_t began = c.node.now_wall_ms - 300 * SECOND;

	not_ready(&c);
	date_failure(&error, began);
	drift_case_judge(&c);
	assert_int_equal(drift_case_drift(&c, "PolicyNotReady")->start_time, began);
}

TEST(a_difference_whose_source_dates_it_anew_counts_anew)
{
	struct policy_condition error;
	const int64_t began = c.node.now_wall_ms;

	not_ready(&c);
	date_failure(&error, began);
	drift_case_judge(&c);
	date_failure(&error, began + 100 * SECOND);
	wait_for(299 * SECOND);
	wait_for(1 * SECOND);
	assert_int_equal(drift_case_pending(&c, "PolicyNotReady")->start_time,
			 began + 100 * SECOND);
}

/* Each kind of work that may explain it. */
TEST(the_hold_off_of_a_difference_that_its_source_dates_begins_at_the_end_of_work)
{
	struct policy_condition error;
	int64_t over;

	for (size_t i = 0; i < ARRAY_SIZE(settlings); i++) {
		if (!(settlings[i].bit & ANY_WORK))
			continue;
		start_over(not_ready);
		date_failure(&error, c.node.now_wall_ms - 1 * SECOND);
		settlings[i].begin(&c);
		drift_case_judge(&c);
		expect_settling(settlings[i].reason);
		wait_for(600 * SECOND);
		assert_false(is_there("PolicyNotReady"));
		end_work(&c);
		over = c.node.now_wall_ms + 1 * SECOND;
		wait_for(1 * SECOND);
		expect_settling("HoldOff");
		assert_int_equal(drift_case_pending(&c, "PolicyNotReady")->start_time, over);
		wait_for(299 * SECOND);
		assert_null(drift_case_drift(&c, "PolicyNotReady"));
		wait_for(1 * SECOND);
		assert_int_equal(drift_case_drift(&c, "PolicyNotReady")->start_time, over);
	}
}

/* NVML's list cannot be read when the label ends. */
TEST(the_hold_off_begins_at_the_end_of_work_also_if_nothing_can_be_told_then)
{
	const int64_t over = c.node.now_wall_ms + 600 * SECOND;

	upgrade(&c);
	drift_case_remove_device(&c);
	drift_case_judge(&c);
	drift_case_publish(&c);
	end_work(&c);
	c.device.is_listing_good = false;
	wait_for(600 * SECOND);
	assert_int_equal(drift_case_pending(&c, "DeviceMissing")->start_time, over);
	c.device.is_listing_good = true;
	wait_for(59 * SECOND);
	assert_null(drift_case_drift(&c, "DeviceMissing"));
	wait_for(1 * SECOND);
	assert_int_equal(drift_case_drift(&c, "DeviceMissing")->start_time, over);
}

TEST(a_date_counts_if_it_lies_ahead_by_no_more_than_the_hold_off)
{
	struct policy_condition error;
	const int64_t now = c.node.now_wall_ms;

	not_ready(&c);
	date_failure(&error, now + 300 * SECOND);
	drift_case_judge(&c);
	assert_int_equal(drift_case_pending(&c, "PolicyNotReady")->start_time, now + 300 * SECOND);
	assert_int_equal(c.verdict.again_in_ms, 600 * SECOND);
	date_failure(&error, now + 301 * SECOND);
	drift_case_judge(&c);
	assert_int_equal(drift_case_pending(&c, "PolicyNotReady")->start_time, now);
}

TEST(all_that_is_published_keeps_its_times)
{
	use_unallocated(&c);
	drift_case_judge(&c);
	fail_layout(&c);
	wait_for(10 * SECOND);
	offer_8(&c);
	wait_for(10 * SECOND);
	stop_exporter(&c);
	wait_for(10 * SECOND);
	wait_for(10 * SECOND);
	assert_int_equal(c.verdict.state.drifts.count, 2);
	assert_int_equal(c.verdict.state.pending.count, 2);
	assert_int_equal(drift_case_drift(&c, "UnallocatedUse")->start_time, DRIFT_CASE_NOW);
	assert_int_equal(drift_case_drift(&c, "MIGConfigFailed")->start_time,
			 DRIFT_CASE_NOW + 10 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ReplicaCount")->start_time,
			 DRIFT_CASE_NOW + 20 * SECOND);
	assert_int_equal(drift_case_pending(&c, "ExporterMissing")->start_time,
			 DRIFT_CASE_NOW + 30 * SECOND);
}

TEST(what_a_policy_asked_for_goes_with_it)
{
	offer_8(&c);
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	c.intent = (struct intent){.known = true};
	wait_for(1 * SECOND);
	expect_state(ATTRIBUTION_INTENT_UNMANAGED, CONDITION_TRUE, "Unmanaged");
	assert_int_equal(c.verdict.state.drifts.count, 0);
}

TEST(a_published_type_that_is_not_known_goes)
{
	c.published_drifts[0] = (struct attribution_drift){.type = VIEW("Nonsense")};
	c.published_pending[0] = (struct attribution_pending_drift){VIEW("Nonsense"), 1};
	c.published.drifts = array_of(c.published_drifts, 1);
	c.published.pending = array_of(c.published_pending, 1);
	drift_case_judge(&c);
	expect_in_sync(ALL_WELL);
}

/* Order, texts and limits */

TEST(drifts_are_in_the_order_of_the_table_and_the_worst_is_the_reason)
{
	const struct attribution_drift *drifts;

	write_dead(&c);
	not_ready(&c);
	lack_allocatable(&c);
	drift_case_judge(&c);
	wait_for(300 * SECOND);
	drifts = c.verdict.state.drifts.items;
	assert_int_equal(c.verdict.state.drifts.count, 3);
	expect_text(drifts[0].type, "PolicyNotReady");
	expect_text(drifts[1].type, "ConfigDead");
	expect_text(drifts[2].type, "AllocatableShort");
	expect_drifted("AllocatableShort");
	expect_text(c.verdict.message,
		    "observed: 1 (status.allocatable of the node); intended: 8, of the 2 devices of "
		    "the node (NVML, plugin configuration). Look for a device of the node that is "
		    "not Healthy, then delete the device plugin's pod: it withdraws devices for good. "
		    "And 2 more: see intent.drifts.");
}

TEST(one_drift_is_told_alone_and_two_by_the_worse_one)
{
	write_dead(&c);
	drift_case_judge(&c);
	expect_drifted("ConfigDead");
	expect_text(c.verdict.message,
		    "observed: without effect: rename (the key's text); intended: what is written has "
		    "an effect (ConfigMap gpu-operator/plugin-config, key shared). Take out what has "
		    "no effect, so that nobody relies on it.");
	fail_layout(&c);
	drift_case_judge(&c);
	wait_for(10 * SECOND);
	expect_drifted("MIGConfigFailed");
	expect_text(c.verdict.message,
		    "observed: failed (label nvidia.com/mig.config.state); intended: MIG layout half "
		    "(label nvidia.com/mig.config). See the log of the node's nvidia-mig-manager pod, "
		    "then set label nvidia.com/mig.config to another layout and back. And 1 more: see "
		    "intent.drifts.");
}

TEST(of_drifts_that_are_equally_bad_the_first_is_the_reason)
{
	use_unallocated(&c);
	fail_layout(&c);
	drift_case_judge(&c);
	wait_for(10 * SECOND);
	assert_int_equal(c.verdict.state.drifts.count, 2);
	expect_drifted("UnallocatedUse");
}

TEST(a_mode_that_isolates_less_is_critical)
{
	c.labels.plugin_config = VIEW("whole");
	c.resources[0].count = 2;
	drift_case_judge(&c);
	wait_for(120 * SECOND);
	assert_int_equal(drift_case_drift(&c, "SharingMode")->severity, CRITICAL);
}

TEST(texts_are_cut_to_what_the_schema_holds)
{
	static char long_text[LIMIT_TEXT_SETTING * 2];

	memset(long_text, 'x', sizeof(long_text));
	/* A character of two bytes lies across the limit. */
	for (size_t i = 1; i + 1 < sizeof(long_text); i += 2)
		memcpy(&long_text[i], "\xc3\xa9", 2);
	c.configs[0].error = (struct view){long_text, sizeof(long_text)};
	drift_case_judge(&c);
	wait_for(60 * SECOND);
	assert_int_equal(drift_case_drift(&c, "ConfigInvalid")->observed.len,
			 LIMIT_TEXT_SETTING - 1);
}

TEST(the_node_without_a_report_of_resources_offers_nothing)
{
	c.report.allocatable = (struct array){0};
	drift_prepare(&c.node);
	assert_false(c.node.has_plugins_ids);
	assert_int_equal(c.node.offered, 0);
}

/* Memory */

static void spoil_much(void)
{
	use_unallocated(&c);
	fail_layout(&c);
	not_ready(&c);
	break_text(&c);
	stop_exporter(&c);
}

TEST(running_out_of_memory_fails_and_changes_nothing)
{
	bool failed = true;

	spoil_much();
	drift_prepare(&c.node);
	for (size_t cap = 0; failed; cap += 16) {
		struct drift_verdict verdict = {.again_in_ms = 4711};
		CLEANUP(arena_deinit) struct arena arena;
		struct error err;

		arena_init(&arena, cap);
		failed = drift_judge(&c.node, &c.device, &arena, &verdict, &err) < 0;
		if (failed) {
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_int_equal(verdict.again_in_ms, 4711);
		}
	}
}

TEST(a_single_failed_allocation_fails_and_changes_nothing)
{
	bool failed = true;

	spoil_much();
	drift_prepare(&c.node);
	for (unsigned k = 1; failed; k++) {
		struct drift_verdict verdict = {.again_in_ms = 4711};
		CLEANUP(arena_deinit) struct arena arena;
		struct error err;
		int result;

		arena_init(&arena, LIMIT_MIB);
		failing_malloc_at(k);
		result = drift_judge(&c.node, &c.device, &arena, &verdict, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed)
			assert_int_equal(verdict.again_in_ms, 4711);
	}
}

/* So many bytes fit before the arena asks for memory. */
static void leave_room(struct arena *arena, size_t room)
{
	static const size_t chunk = 65536;

	arena_init(arena, 16 * chunk);
	assert_non_null(arena_alloc(arena, 1, chunk));
	assert_non_null(arena_alloc(arena, 1, chunk - room));
}

/* The first request that does not fit fails, or the second, or the third: those behind it do not. */
TEST(each_single_text_without_memory_fails)
{
	spoil_much();
	drift_prepare(&c.node);
	for (unsigned k = 1; k <= 3; k++) {
		for (size_t room = 0; room < 16 * LIMIT_KIB; room += 16) {
			struct drift_verdict verdict = {.again_in_ms = 4711};
			CLEANUP(arena_deinit) struct arena arena;
			struct error err;
			bool failed;
			int result;

			leave_room(&arena, room);
			failing_malloc_at(k);
			result = drift_judge(&c.node, &c.device, &arena, &verdict, &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			assert_int_equal(verdict.again_in_ms == 4711, failed);
		}
	}
}

TESTS(set_up, tear_down)
