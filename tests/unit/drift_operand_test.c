/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_operand.h"
#include "base/limits.h"
#include "lib/drift_case.h"
#include "lib/expect_status.h"

/* Whether a part is wanted */

static void switch_off(struct drift_case *c, enum policy_operand operand)
{
	c->policy.switches[operand] = POLICY_OFF;
}

static void switch_plugin_off(struct drift_case *c)
{
	switch_off(c, POLICY_DEVICE_PLUGIN);
}

static void opt_out(struct drift_case *c)
{
	drift_case_deploy(c, "device-plugin", "false");
	drift_case_deploy(c, "dcgm-exporter", "false");
}

static void opt_out_of_all(struct drift_case *c)
{
	c->labels.deploys.count = 0;
	drift_case_deploy(c, "operands", "false");
}

static void drop_labels(struct drift_case *c)
{
	c->labels.deploys.count = 0;
}

static void pause(struct drift_case *c)
{
	drift_case_deploy(c, "device-plugin", "paused-for-mig-change");
}

static void forget_node(struct drift_case *c)
{
	c->node.node = NULL;
}

static void forget_pods(struct drift_case *c)
{
	c->node.is_pods_current = false;
}

/* A node for virtual machines, where the policy has such nodes; its labels want everything still. */
static void run_machines(struct drift_case *c)
{
	c->policy.switches[POLICY_SANDBOX_WORKLOADS] = POLICY_ON;
	c->labels.workload_config = VIEW("vm-passthrough");
}

static void run_machines_by_default(struct drift_case *c)
{
	c->policy.switches[POLICY_SANDBOX_WORKLOADS] = POLICY_ON;
	c->policy.default_workload = VIEW("vm-vgpu");
}

static void run_machines_where_there_are_none(struct drift_case *c)
{
	c->labels.workload_config = VIEW("vm-vgpu");
	c->policy.default_workload = VIEW("vm-vgpu");
}

static void run_containers(struct drift_case *c)
{
	run_machines_by_default(c);
	c->labels.workload_config = VIEW("container");
}

/* The operator takes such a label for none. */
static void run_nonsense(struct drift_case *c)
{
	run_machines_by_default(c);
	c->labels.workload_config = VIEW("vm");
}

static void default_to_nonsense(struct drift_case *c)
{
	c->policy.switches[POLICY_SANDBOX_WORKLOADS] = POLICY_ON;
	c->policy.default_workload = VIEW("vm");
}

TEST(a_part_is_wanted_where_policy_and_label_say_so)
{
	static const struct {
		void (*spoil)(struct drift_case *c);
		enum drift_operand_want want;
	} rows[] = {
		{NULL, DRIFT_OPERAND_WANTED},
		{pause, DRIFT_OPERAND_WANTED},
		{switch_plugin_off, DRIFT_OPERAND_OFF},
		{opt_out, DRIFT_OPERAND_OFF},
		{opt_out_of_all, DRIFT_OPERAND_OFF},
		{run_machines, DRIFT_OPERAND_OFF},
		{run_machines_by_default, DRIFT_OPERAND_OFF},
		{run_machines_where_there_are_none, DRIFT_OPERAND_WANTED},
		{run_containers, DRIFT_OPERAND_WANTED},
		{run_nonsense, DRIFT_OPERAND_OFF},
		{default_to_nonsense, DRIFT_OPERAND_WANTED},
		{drop_labels, DRIFT_OPERAND_NOT_HERE},
		{forget_node, DRIFT_OPERAND_UNKNOWN},
		{forget_pods, DRIFT_OPERAND_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_case c;

		drift_case_init(&c);
		if (rows[i].spoil)
			rows[i].spoil(&c);
		drift_operand_look(&c.node);
		if (drift_operand_want(&c.node, POLICY_DEVICE_PLUGIN) != rows[i].want)
			fail_msg("row %zu", i);
		drift_case_deinit(&c);
	}
}

/* What is said of a node that was spoilt so. */
static void expect_said(void (*spoil)(struct drift_case *c), const char *said)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	struct drift_case c;

	sbuf_init(&text, LIMIT_KIB);
	drift_case_init(&c);
	c.text = (struct drift_text){.arena = &c.arena};
	if (spoil)
		spoil(&c);
	drift_operand_look(&c.node);
	drift_operand_say_off(&c.node, &c.text, &text);
	assert_string_equal(text.len > 0 ? sbuf_text(&text) : "", said);
	drift_case_deinit(&c);
}

static void switch_some_off(struct drift_case *c)
{
	switch_off(c, POLICY_DRIVER);
	switch_off(c, POLICY_DCGM_EXPORTER);
	switch_off(c, POLICY_SANDBOX_WORKLOADS);
	drift_case_deploy(c, "gpu-feature-discovery", "false");
}

static void switch_others_off(struct drift_case *c)
{
	switch_off(c, POLICY_TOOLKIT);
	switch_off(c, POLICY_DCGM);
	drift_case_deploy(c, "mig-manager", "no");
}

static void opt_out_of_toolkit(struct drift_case *c)
{
	drift_case_deploy(c, "container-toolkit", "false");
	drift_case_deploy(c, "device-plugin", "paused-for-mig-change");
}

TEST(what_is_off_is_said_with_where_that_is_written)
{
	expect_said(NULL, "");
	expect_said(switch_some_off, "; driver is off by ClusterPolicy cluster-policy"
				     "; gfd is off by label nvidia.com/gpu.deploy.gpu-feature-discovery"
				     "; dcgmExporter is off by ClusterPolicy cluster-policy");
	expect_said(switch_others_off, "; toolkit is off by ClusterPolicy cluster-policy"
				       "; dcgm is off by ClusterPolicy cluster-policy"
				       "; migManager is off by label nvidia.com/gpu.deploy.mig-manager");
	expect_said(opt_out_of_toolkit,
		    "; toolkit is off by label nvidia.com/gpu.deploy.container-toolkit");
}

static void switch_off_on_a_node_for_machines(struct drift_case *c)
{
	run_machines(c);
	switch_off(c, POLICY_DRIVER);
}

static void forget_a_node_for_machines(struct drift_case *c)
{
	run_machines(c);
	c->node.node = NULL;
}

TEST(where_all_is_off_that_is_said_once)
{
	expect_said(opt_out_of_all,
		    "; all of the operator's parts are off by label nvidia.com/gpu.deploy.operands");
	expect_said(run_machines, "; all of the operator's parts are off by label "
				  "nvidia.com/gpu.workload.config=vm-passthrough");
	expect_said(switch_off_on_a_node_for_machines, "; all of the operator's parts are off by label "
						       "nvidia.com/gpu.workload.config=vm-passthrough");
	expect_said(run_machines_by_default, "; all of the operator's parts are off by "
					     "sandboxWorkloads.defaultWorkload=vm-vgpu of ClusterPolicy "
					     "cluster-policy");
	expect_said(run_machines_where_there_are_none, "");
	expect_said(run_containers, "");
	expect_said(forget_a_node_for_machines, "");
}

static void forget_labels(struct drift_case *c)
{
	c->labels.gpu_present = (struct view){0};
	c->labels.deploys.count = 0;
}

static void find_gpu(struct drift_case *c)
{
	c->labels.is_found_by_nfd = true;
}

static void forget_labels_of_a_found_gpu(struct drift_case *c)
{
	forget_labels(c);
	find_gpu(c);
}

static void forget_labels_but_one(struct drift_case *c)
{
	forget_labels(c);
	drift_case_deploy(c, "device-plugin", "true");
}

static void forget_labels_but_presence(struct drift_case *c)
{
	forget_labels(c);
	c->labels.gpu_present = VIEW("true");
}

static void forget_labels_and_devices(struct drift_case *c)
{
	forget_labels(c);
	c->report.devices.count = 0;
}

static void forget_labels_and_node(struct drift_case *c)
{
	forget_labels(c);
	c->node.node = NULL;
}

#define IS_NOT_HERE(part, label) \
	"; " part " is not on the node, which has no label nvidia.com/gpu.deploy." label
#define NO_GFD IS_NOT_HERE("gfd", "gpu-feature-discovery")
#define NO_EXPORTER IS_NOT_HERE("dcgmExporter", "dcgm-exporter")

TEST(a_node_with_gpus_that_the_operator_has_not_labelled_is_said_to_be_so)
{
	expect_said(forget_labels, "; NFD has not found the GPU, so the operator has not labelled the "
				   "node: it has no label "
				   "feature.node.kubernetes.io/pci-10de.present=true");
	expect_said(forget_labels_of_a_found_gpu,
		    "; NFD has found the GPU, and the operator has not labelled the node: it has no "
		    "label nvidia.com/gpu.present, and none nvidia.com/gpu.deploy.*");
	expect_said(find_gpu, "");
	expect_said(forget_labels_and_devices, "");
	expect_said(forget_labels_and_node, "");
}

/* Each for itself; the operator's pods that no rule misses need not come to each node. */
TEST(a_part_whose_label_is_gone_is_said_to_be_nowhere)
{
	expect_said(forget_labels_but_one, NO_GFD NO_EXPORTER);
	expect_said(forget_labels_but_presence,
		    IS_NOT_HERE("devicePlugin", "device-plugin") NO_GFD NO_EXPORTER);
}

/* The policy */

static void add_policy(struct drift_case *c)
{
	c->intent.n_policies = 2;
}

static void add_cluster(struct drift_case *c)
{
	c->intent.n_gpu_clusters = 1;
}

static void not_ready(struct drift_case *c)
{
	c->policy.state = VIEW("notReady");
}

static void not_ready_beside_gpu_cluster(struct drift_case *c)
{
	not_ready(c);
	c->intent.n_gpu_clusters = 1;
}

static void blame(struct drift_case *c)
{
	not_ready(c);
	c->conditions[0] = (struct policy_condition){VIEW("Ready"), VIEW("False"), VIEW("Error"),
						     VIEW("not this one")};
	c->conditions[1] = (struct policy_condition){
		VIEW("Error"), VIEW("True"), VIEW("OperandNotReady"),
		VIEW("states not ready: [state-device-plugin]")};
	c->policy.conditions = array_of(c->conditions, 2);
}

static void blame_by_reason(struct drift_case *c)
{
	blame(c);
	c->conditions[1].message = VIEW("");
}

static void blame_by_letter(struct drift_case *c)
{
	blame(c);
	c->conditions[0] = c->conditions[1];
	c->conditions[0].message = VIEW("?");
	c->policy.conditions.count = 1;
}

static void deny_error(struct drift_case *c)
{
	blame(c);
	c->conditions[0] = (struct policy_condition){VIEW("Error"), VIEW("False"), VIEW("Ready"),
						     VIEW("not this one")};
}

static void deny_clusters(struct drift_case *c)
{
	c->intent.are_gpu_clusters_unread = true;
}

static void affirm_ready(struct drift_case *c)
{
	blame(c);
	c->conditions[0].status = VIEW("True");
}

static void blame_nothing(struct drift_case *c)
{
	blame(c);
	c->conditions[1].status = VIEW("False");
}

TEST(the_policy_is_one_and_ready)
{
	const struct drift_case_row rows[] = {
		{drift_operand_policy_conflict, NULL, DRIFT_NO},
		{drift_operand_policy_conflict, add_policy, DRIFT_FOUND,
		 .intended = "one ClusterPolicy",
		 .observed = "2 ClusterPolicies, of which cluster-policy, the oldest, counts"},
		{drift_operand_policy_conflict, add_cluster, DRIFT_FOUND,
		 .observed = "a GPUCluster beside ClusterPolicy cluster-policy"},
		{drift_operand_policy_conflict, deny_clusters, DRIFT_CANNOT_TELL},
		{drift_operand_policy_not_ready, NULL, DRIFT_NO},
		{drift_operand_policy_not_ready, not_ready_beside_gpu_cluster, DRIFT_NO},
		{drift_operand_policy_not_ready, not_ready, DRIFT_FOUND,
		 .intended = "ready (ClusterPolicy cluster-policy)",
		 .observed = "notReady (status.state)"},
		{drift_operand_policy_not_ready, blame, DRIFT_FOUND,
		 .observed = "notReady (status.state): states not ready: [state-device-plugin]"},
		{drift_operand_policy_not_ready, blame_by_reason, DRIFT_FOUND,
		 .observed = "(status.state): OperandNotReady"},
		{drift_operand_policy_not_ready, blame_by_letter, DRIFT_FOUND,
		 .observed = "notReady (status.state): ?"},
		{drift_operand_policy_not_ready, deny_error, DRIFT_FOUND,
		 .observed = "states not ready"},
		{drift_operand_policy_not_ready, affirm_ready, DRIFT_FOUND,
		 .observed = "states not ready"},
		{drift_operand_policy_not_ready, blame_nothing, DRIFT_FOUND,
		 .observed = "notReady (status.state)"},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(a_policy_that_blames_nothing_is_just_not_ready)
{
	struct drift_case c;

	drift_case_init(&c);
	not_ready(&c);
	expect_text(drift_case_ask(&c, drift_operand_policy_not_ready).observed,
		    "notReady (status.state)");
	drift_case_deinit(&c);
}

/* The plugin */

static void stop_plugin(struct drift_case *c)
{
	drift_case_drop_operand(c, POD_OPERAND_DEVICE_PLUGIN);
	drift_case_offer(c, "nvidia.com/gpu", 0, false, false);
	c->node.is_any_offered = false;
}

static void crash_plugin(struct drift_case *c)
{
	stop_plugin(c);
	drift_case_add_operand(c, POD_OPERAND_DEVICE_PLUGIN, false);
}

static void stop_plugin_of_operator(struct drift_case *c)
{
	const struct pod_fields fields = {
		.namespace = VIEW("team"),
		.name = VIEW("plugin"),
		.uid = VIEW("plugin"),
		.state = {.operand = POD_OPERAND_DEVICE_PLUGIN, .is_ready = true},
	};
	stop_plugin(c);
	drift_case_add_pod(c, &fields);
}

static void run_plugin_without_offer(struct drift_case *c)
{
	stop_plugin(c);
	drift_case_add_operand(c, POD_OPERAND_DEVICE_PLUGIN, true);
}

static void drop_plugin_pod(struct drift_case *c)
{
	drift_case_drop_operand(c, POD_OPERAND_DEVICE_PLUGIN);
}

static void stop_plugin_unseen(struct drift_case *c)
{
	stop_plugin(c);
	c->node.is_offer_known = false;
}

static void drop_plugin_pod_unseen(struct drift_case *c)
{
	drop_plugin_pod(c);
	c->node.is_offer_known = false;
}

static void offer_one(struct drift_case *c)
{
	drop_plugin_pod(c);
	c->node.is_any_offered = true;
}

static void stop_plugin_and_forget_node(struct drift_case *c)
{
	stop_plugin(c);
	c->node.node = NULL;
}

static void stop_plugin_of_namespace_by_letter(struct drift_case *c)
{
	stop_plugin(c);
	c->policy.namespace = VIEW("g");
}

static void switch_plugin_off_and_stop_unseen(struct drift_case *c)
{
	switch_plugin_off(c);
	stop_plugin(c);
	c->node.is_offer_known = false;
}

static void stop_plugin_of_unknown_namespace(struct drift_case *c)
{
	stop_plugin(c);
	c->policy.namespace = (struct view){0};
}

static void stop_plugin_without_pods(struct drift_case *c)
{
	stop_plugin(c);
	c->node.is_pods_current = false;
}

static void switch_plugin_off_and_stop(struct drift_case *c)
{
	switch_plugin_off(c);
	stop_plugin(c);
}

static void opt_out_and_stop(struct drift_case *c)
{
	opt_out(c);
	stop_plugin(c);
}

static void run_machines_and_stop(struct drift_case *c)
{
	run_machines(c);
	stop_plugin(c);
}

static void drop_labels_and_stop(struct drift_case *c)
{
	drop_labels(c);
	stop_plugin(c);
}

static void switch_plugin_off_unseen(struct drift_case *c)
{
	switch_plugin_off(c);
	c->node.is_offer_known = false;
}

TEST(the_device_plugin_runs_where_it_shall)
{
	const struct drift_case_row rows[] = {
		{drift_operand_plugin_missing, NULL, DRIFT_NO},
		{drift_operand_plugin_missing, stop_plugin, DRIFT_FOUND,
		 .intended = "devicePlugin.enabled of ClusterPolicy cluster-policy, label "
			     "nvidia.com/gpu.deploy.device-plugin",
		 .observed = "no device on offer"},
		{drift_operand_plugin_missing, crash_plugin, DRIFT_FOUND},
		{drift_operand_plugin_missing, stop_plugin_of_operator, DRIFT_FOUND},
		{drift_operand_plugin_missing, run_plugin_without_offer, DRIFT_NO},
		{drift_operand_plugin_missing, drop_plugin_pod, DRIFT_NO},
		{drift_operand_plugin_missing, stop_plugin_unseen, DRIFT_CANNOT_TELL},
		{drift_operand_plugin_missing, drop_plugin_pod_unseen, DRIFT_CANNOT_TELL},
		{drift_operand_plugin_missing, offer_one, DRIFT_NO},
		{drift_operand_plugin_missing, stop_plugin_and_forget_node, DRIFT_CANNOT_TELL},
		{drift_operand_plugin_missing, stop_plugin_of_namespace_by_letter, DRIFT_FOUND},
		{drift_operand_plugin_missing, stop_plugin_of_unknown_namespace, DRIFT_CANNOT_TELL},
		{drift_operand_plugin_missing, stop_plugin_without_pods, DRIFT_CANNOT_TELL},
		{drift_operand_plugin_missing, switch_plugin_off_and_stop, DRIFT_NO},
		{drift_operand_plugin_missing, opt_out_and_stop, DRIFT_NO},
		{drift_operand_plugin_missing, drop_labels_and_stop, DRIFT_NO},
		{drift_operand_plugin_missing, run_machines_and_stop, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

static void offer_by(struct drift_case *c, struct view id)
{
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
	c->ids[0] = c->ids[1] = id;
}

static void offer_by_hami(struct drift_case *c)
{
	offer_by(c, VIEW(DRIFT_CASE_GPU "-0"));
}

static void offer_by_gke(struct drift_case *c)
{
	offer_by(c, VIEW("nvidia0/vgpu1"));
}

static void offer_by_unknown_plugin(struct drift_case *c)
{
	offer_by(c, VIEW(DRIFT_CASE_GPU "/0"));
}

static void offer_mig_by_plugin(struct drift_case *c)
{
	offer_by(c, VIEW("MIG-00000000-0000-0000-0000-00000000000c"));
}

static void offer_old_mig_by_plugin(struct drift_case *c)
{
	offer_by(c, VIEW("MIG-" DRIFT_CASE_GPU "/1/0"));
}

/* A DaemonSet that crashes may leave as many. The first pods are those of all is well. */
TEST(operand_pods_by_the_hundred_are_counted_and_one_that_is_ready_is_enough)
{
	static const struct pod *pods[1000];
	struct drift_case c;
	size_t n_own, n_before;

	drift_case_init(&c);
	stop_plugin(&c);
	n_before = c.node.n_pods;
	drift_case_add_operand(&c, POD_OPERAND_DEVICE_PLUGIN, false);
	n_own = c.node.n_pods;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		pods[i] = i < n_own ? c.pods[i] : c.pods[n_before];
	c.node.pods = pods;
	c.node.n_pods = ARRAY_SIZE(pods);
	assert_int_equal(drift_case_ask(&c, drift_operand_plugin_missing).answer, DRIFT_FOUND);
	assert_int_equal(c.node.operands[POD_OPERAND_DEVICE_PLUGIN].n_pods,
			 ARRAY_SIZE(pods) - n_before);
	c.node.now_wall_ms += 1;
	drift_case_judge(&c);
	assert_non_null(drift_case_pending(&c, "PluginMissing"));

	c.node.n_pods = n_own;
	c.node.pods = c.pod_list;
	drift_case_add_operand(&c, POD_OPERAND_DEVICE_PLUGIN, true);
	n_own = c.node.n_pods;
	pods[ARRAY_SIZE(pods) - 1] = c.pods[n_own - 1];
	c.node.pods = pods;
	c.node.n_pods = ARRAY_SIZE(pods);
	assert_int_equal(drift_case_ask(&c, drift_operand_plugin_missing).answer, DRIFT_NO);
	assert_int_equal(c.node.operands[POD_OPERAND_DEVICE_PLUGIN].n_ready, 1);
	c.node.n_pods = n_own;
	drift_case_deinit(&c);
}

TEST(another_plugin_may_run_where_nvidias_is_off)
{
	const struct drift_case_row rows[] = {
		{drift_operand_plugin_unexpected, offer_by_hami, DRIFT_NO},
		{drift_operand_plugin_unexpected, offer_by_gke, DRIFT_NO},
		{drift_operand_plugin_unexpected, offer_by_unknown_plugin, DRIFT_NO},
		{drift_operand_plugin_unexpected, offer_mig_by_plugin, DRIFT_FOUND},
		{drift_operand_plugin_unexpected, offer_old_mig_by_plugin, DRIFT_FOUND},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(no_device_plugin_runs_where_none_shall)
{
	const struct drift_case_row rows[] = {
		{drift_operand_plugin_unexpected, NULL, DRIFT_NO},
		{drift_operand_plugin_unexpected, switch_plugin_off, DRIFT_FOUND,
		 .intended = "devicePlugin is off by ClusterPolicy cluster-policy",
		 .observed = "devices are on offer"},
		{drift_operand_plugin_unexpected, opt_out, DRIFT_FOUND,
		 .intended = "devicePlugin is off by label nvidia.com/gpu.deploy.device-plugin"},
		{drift_operand_plugin_unexpected, opt_out_of_all, DRIFT_FOUND,
		 .intended = "devicePlugin is off by label nvidia.com/gpu.deploy.operands"},
		{drift_operand_plugin_unexpected, run_machines, DRIFT_FOUND,
		 .intended = "devicePlugin is off by label nvidia.com/gpu.workload.config=vm-passthrough"},
		{drift_operand_plugin_unexpected, drop_labels, DRIFT_NO},
		{drift_operand_plugin_unexpected, switch_plugin_off_and_stop, DRIFT_NO},
		{drift_operand_plugin_unexpected, switch_plugin_off_unseen, DRIFT_CANNOT_TELL},
		{drift_operand_plugin_unexpected, switch_plugin_off_and_stop_unseen,
		 DRIFT_CANNOT_TELL},
		{drift_operand_plugin_unexpected, forget_node, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* The driver */

static void load_other_driver(struct drift_case *c)
{
	c->report.driver_version = VIEW("535.183.01");
}

static void load_other_driver_and_wait(struct drift_case *c)
{
	load_other_driver(c);
	c->labels.driver_upgrade = VIEW("upgrade-required");
}

static void forget_version(struct drift_case *c)
{
	c->report.driver_version = (struct view){0};
}

/* The policy need not say a version then. */
static void use_driver_crd(struct drift_case *c)
{
	c->policy.driver_version = (struct view){0};
	c->policy.switches[POLICY_DRIVER_CRD] = POLICY_ON;
}

static void use_driver_crd_and_forget_version(struct drift_case *c)
{
	use_driver_crd(c);
	forget_version(c);
}

static void use_precompiled(struct drift_case *c)
{
	load_other_driver(c);
	c->policy.switches[POLICY_PRECOMPILED] = POLICY_ON;
}

static void use_driver_crd_on_host_driver(struct drift_case *c)
{
	use_driver_crd(c);
	drift_case_deploy(c, "driver", "pre-installed");
}

static void use_driver_crd_without_pods(struct drift_case *c)
{
	use_driver_crd(c);
	forget_pods(c);
}

static void switch_driver_off(struct drift_case *c)
{
	load_other_driver(c);
	switch_off(c, POLICY_DRIVER);
}

static void use_host_driver(struct drift_case *c)
{
	load_other_driver(c);
	drift_case_deploy(c, "driver", "pre-installed");
}

static void run_no_driver_pod(struct drift_case *c)
{
	load_other_driver(c);
	drift_case_drop_operand(c, POD_OPERAND_DRIVER);
}

static void unlabel_driver(struct drift_case *c)
{
	load_other_driver(c);
	drop_labels(c);
}

static void load_other_driver_without_pods(struct drift_case *c)
{
	load_other_driver(c);
	forget_pods(c);
}

static void load_other_driver_of_unknown_namespace(struct drift_case *c)
{
	load_other_driver(c);
	c->policy.namespace = (struct view){0};
}

static void load_other_driver_of_unknown_node(struct drift_case *c)
{
	load_other_driver(c);
	c->node.node = NULL;
}

static void write_letter_first(struct drift_case *c)
{
	c->policy.driver_version = VIEW("v550.54.14");
}

static void write_colon(struct drift_case *c)
{
	c->policy.driver_version = VIEW("550.54:14");
}

static void write_digest(struct drift_case *c)
{
	c->policy.driver_version = VIEW("sha256:0d5c");
}

static void write_branch(struct drift_case *c)
{
	c->policy.driver_version = VIEW("550-ubuntu22.04");
}

static void write_odd_tag(struct drift_case *c)
{
	c->policy.driver_version = VIEW("550.54_beta");
}

static void write_plain_version(struct drift_case *c)
{
	c->policy.driver_version = VIEW("550.90.07");
}

static void write_shorter_version(struct drift_case *c)
{
	c->policy.driver_version = VIEW("550.90");
}

static void write_none(struct drift_case *c)
{
	c->policy.driver_version = (struct view){0};
}

static void write_digest_and_switch_off(struct drift_case *c)
{
	write_digest(c);
	switch_off(c, POLICY_DRIVER);
}

static void write_digest_without_pods(struct drift_case *c)
{
	write_digest(c);
	forget_pods(c);
}

TEST(the_driver_is_of_the_version_that_the_operator_shall_install)
{
	const struct drift_case_row rows[] = {
		{drift_operand_driver_version, NULL, DRIFT_NO},
		{drift_operand_driver_version, load_other_driver, DRIFT_FOUND,
		 .intended = "550.90.07-ubuntu22.04 (driver.version of ClusterPolicy cluster-policy)",
		 .observed = "535.183.01 (NVML)", .message = "Let the operator"},
		{drift_operand_driver_version, load_other_driver_and_wait, DRIFT_FOUND,
		 .message = "waits for its turn"},
		{drift_operand_driver_version, write_plain_version, DRIFT_NO},
		{drift_operand_driver_version, write_shorter_version, DRIFT_FOUND},
		{drift_operand_driver_version, forget_version, DRIFT_CANNOT_TELL},
		{drift_operand_driver_version, load_other_driver_without_pods, DRIFT_CANNOT_TELL},
		{drift_operand_driver_version, load_other_driver_of_unknown_namespace,
		 DRIFT_CANNOT_TELL},
		{drift_operand_driver_version, use_driver_crd, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, use_driver_crd_and_forget_version, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, use_precompiled, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, use_driver_crd_on_host_driver, DRIFT_NO},
		{drift_operand_driver_version, use_driver_crd_without_pods, DRIFT_CANNOT_TELL},
		{drift_operand_driver_version, switch_driver_off, DRIFT_NO},
		{drift_operand_driver_version, use_host_driver, DRIFT_NO},
		{drift_operand_driver_version, run_no_driver_pod, DRIFT_NO},
		{drift_operand_driver_version, unlabel_driver, DRIFT_NO},
		{drift_operand_driver_version, load_other_driver_of_unknown_node,
		 DRIFT_CANNOT_TELL},
		{drift_operand_driver_version, write_letter_first, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, write_colon, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, write_digest, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, write_branch, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, write_odd_tag, DRIFT_NOT_COMPARED},
		{drift_operand_driver_version, write_none, DRIFT_NO},
		{drift_operand_driver_version, write_digest_and_switch_off, DRIFT_NO},
		{drift_operand_driver_version, write_digest_without_pods, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* dcgm-exporter */

static void stop_exporter(struct drift_case *c)
{
	drift_case_drop_operand(c, POD_OPERAND_DCGM_EXPORTER);
}

static void scrape_another(struct drift_case *c)
{
	stop_exporter(c);
	c->report.sources.dcgm.state = REPORT_SOURCE_OK;
}

static void stop_exporter_without_pods(struct drift_case *c)
{
	stop_exporter(c);
	forget_pods(c);
}

static void stop_exporter_of_unknown_node(struct drift_case *c)
{
	stop_exporter(c);
	c->node.node = NULL;
}

static void stop_exporter_of_unknown_namespace(struct drift_case *c)
{
	stop_exporter(c);
	c->policy.namespace = (struct view){0};
}

static void switch_exporter_off(struct drift_case *c)
{
	switch_off(c, POLICY_DCGM_EXPORTER);
}

static void switch_exporter_off_and_stop(struct drift_case *c)
{
	switch_exporter_off(c);
	stop_exporter(c);
}

static void unlabel_exporter(struct drift_case *c)
{
	drop_labels(c);
	stop_exporter(c);
}

static void switch_exporter_off_without_pods(struct drift_case *c)
{
	switch_exporter_off(c);
	forget_pods(c);
}

TEST(dcgm_exporter_runs_where_it_shall_and_nowhere_else)
{
	const struct drift_case_row rows[] = {
		{drift_operand_exporter_missing, NULL, DRIFT_NO},
		{drift_operand_exporter_missing, stop_exporter, DRIFT_FOUND,
		 .intended = "dcgmExporter.enabled of ClusterPolicy cluster-policy",
		 .observed = "no Ready pod with label app=nvidia-dcgm-exporter"},
		{drift_operand_exporter_missing, scrape_another, DRIFT_NO},
		{drift_operand_exporter_missing, stop_exporter_without_pods, DRIFT_CANNOT_TELL},
		{drift_operand_exporter_missing, stop_exporter_of_unknown_node, DRIFT_CANNOT_TELL},
		{drift_operand_exporter_missing, stop_exporter_of_unknown_namespace,
		 DRIFT_CANNOT_TELL},
		{drift_operand_exporter_missing, switch_exporter_off_and_stop, DRIFT_NO},
		{drift_operand_exporter_missing, unlabel_exporter, DRIFT_NO},
		{drift_operand_exporter_unexpected, NULL, DRIFT_NO},
		{drift_operand_exporter_unexpected, switch_exporter_off, DRIFT_FOUND,
		 .intended = "dcgmExporter is off by ClusterPolicy cluster-policy",
		 .observed = "a Ready pod with label app=nvidia-dcgm-exporter"},
		{drift_operand_exporter_unexpected, opt_out, DRIFT_FOUND,
		 .intended = "off by label nvidia.com/gpu.deploy.dcgm-exporter"},
		{drift_operand_exporter_unexpected, switch_exporter_off_and_stop, DRIFT_NO},
		{drift_operand_exporter_unexpected, drop_labels, DRIFT_NO},
		{drift_operand_exporter_unexpected, switch_exporter_off_without_pods,
		 DRIFT_CANNOT_TELL},
		{drift_operand_exporter_unexpected, forget_node, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TESTS(NULL, NULL)
