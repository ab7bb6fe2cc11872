/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_mps.h"
#include "lib/drift_case.h"

/* MPSLeftBehind */

static void be_exclusive(struct drift_case *c)
{
	c->devices[0].compute_mode = REPORT_COMPUTE_EXCLUSIVE_PROCESS;
}

static void be_claimed(struct drift_case *c)
{
	be_exclusive(c);
	c->device.is_claimed = true;
}

static void be_exclusive_without_policy(struct drift_case *c)
{
	be_exclusive(c);
	c->intent.policy = NULL;
	c->intent.n_policies = 0;
	c->status.sharing.mode = ATTRIBUTION_MODE_EXCLUSIVE;
}

static void be_shared_without_policy(struct drift_case *c)
{
	be_exclusive_without_policy(c);
	c->status.sharing.mode = ATTRIBUTION_MODE_MPS;
}

static void be_taken_for_mps(struct drift_case *c)
{
	be_exclusive(c);
	c->status.sharing.mode = ATTRIBUTION_MODE_MPS;
}

static void intend(struct drift_case *c)
{
	be_exclusive(c);
	c->configs[0].sharing = PLUGIN_CONFIG_MPS;
}

static void intend_for_others(struct drift_case *c)
{
	intend(c);
	c->shared[0].resource = VIEW("nvidia.com/mig-1g.10gb");
}

static void intend_without_offer(struct drift_case *c)
{
	intend(c);
	c->device.n_offers = 0;
}

static void run_client(struct drift_case *c)
{
	be_exclusive(c);
	c->processes[0].kind = REPORT_PROCESS_MPS;
	c->devices[0].processes = array_of(c->processes, 1);
}

static void run_second_client(struct drift_case *c)
{
	be_exclusive(c);
	c->processes[0].kind = REPORT_PROCESS_COMPUTE;
	c->processes[1].kind = REPORT_PROCESS_MPS;
	c->devices[0].processes = array_of(c->processes, 2);
}

static void run_process(struct drift_case *c)
{
	run_client(c);
	c->processes[0].kind = REPORT_PROCESS_COMPUTE;
}

static void give_pipe(struct drift_case *c)
{
	be_exclusive(c);
	c->entries[0].mps = true;
	c->report.checkpoint.entries = array_of(c->entries, 1);
}

static void give_second_pipe(struct drift_case *c)
{
	be_exclusive(c);
	c->entries[1].mps = true;
	c->report.checkpoint.entries = array_of(c->entries, 2);
}

static void intend_two(struct drift_case *c)
{
	intend(c);
	c->shared[0].replicas = 2;
}

static void intend_for_second(struct drift_case *c)
{
	intend_for_others(c);
	c->offers[1] = (struct drift_offer){
		.resource = VIEW("nvidia.com/mig-1g.10gb"), .n_free = 4, .n_replicas = 4, .is_replica = true};
	c->device.n_offers = 2;
}

static void give_no_pipe(struct drift_case *c)
{
	give_pipe(c);
	c->entries[0].mps = false;
}

static void run_daemon(struct drift_case *c)
{
	const struct pod_fields fields = {
		.namespace = VIEW("kube-system"),
		.name = VIEW("mps"),
		.uid = VIEW("mps"),
		.state = {.phase = POD_PHASE_RUNNING, .operand = POD_OPERAND_MPS_DAEMON},
	};
	be_exclusive(c);
	for (int i = POD_NO_OPERAND; i < POD_N_OPERANDS; i++)
		drift_case_drop_operand(c, (enum pod_operand)i);
	drift_case_add_pod(c, &fields);
}

static void run_daemon_beside_others(struct drift_case *c)
{
	be_exclusive(c);
	drift_case_add_operand(c, POD_OPERAND_MPS_DAEMON, false);
}

static void end_daemon(struct drift_case *c)
{
	const struct pod_fields fields = {
		.namespace = VIEW("kube-system"),
		.name = VIEW("mps"),
		.uid = VIEW("mps"),
		.state = {.phase = POD_PHASE_FAILED,
			  .operand = POD_OPERAND_MPS_DAEMON,
			  .no_container_runs = true},
	};
	be_exclusive(c);
	drift_case_add_pod(c, &fields);
}

static void forget_pods(struct drift_case *c)
{
	be_exclusive(c);
	c->node.is_pods_current = false;
}

static void forget_policies(struct drift_case *c)
{
	be_exclusive_without_policy(c);
	c->intent.known = false;
}

static void break_policy(struct drift_case *c)
{
	be_exclusive(c);
	c->policy.unreadable = VIEW("?");
}

static void break_policy_that_was_off(struct drift_case *c)
{
	break_policy(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void forget_pods_without_policy(struct drift_case *c)
{
	be_exclusive_without_policy(c);
	c->node.is_pods_current = false;
}

static void lose_config(struct drift_case *c)
{
	be_exclusive(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void lose_nvml(struct drift_case *c)
{
	be_exclusive(c);
	c->device.is_listing_good = false;
}

TEST(mps_is_left_behind_where_a_mode_stays_and_no_daemon_does)
{
	const struct drift_case_row rows[] = {
		{drift_mps_left_behind, NULL, DRIFT_NO},
		{drift_mps_left_behind, be_claimed, DRIFT_NOT_COMPARED},
		{drift_mps_left_behind, be_exclusive, DRIFT_FOUND,
		 .intended = "no MPS (ConfigMap gpu-operator/plugin-config, key shared)",
		 .observed = "compute mode ExclusiveProcess (NVML)"},
		{drift_mps_left_behind, be_taken_for_mps, DRIFT_FOUND},
		{drift_mps_left_behind, be_exclusive_without_policy, DRIFT_FOUND,
		 .intended = "no configuration asks for it"},
		{drift_mps_left_behind, be_shared_without_policy, DRIFT_NO},
		{drift_mps_left_behind, intend, DRIFT_NO},
		{drift_mps_left_behind, intend_without_offer, DRIFT_NO},
		{drift_mps_left_behind, intend_for_others, DRIFT_FOUND},
		{drift_mps_left_behind, run_client, DRIFT_NO},
		{drift_mps_left_behind, run_second_client, DRIFT_NO},
		{drift_mps_left_behind, give_second_pipe, DRIFT_NO},
		{drift_mps_left_behind, intend_two, DRIFT_NO},
		{drift_mps_left_behind, intend_for_second, DRIFT_NO},
		{drift_mps_left_behind, run_process, DRIFT_FOUND},
		{drift_mps_left_behind, give_pipe, DRIFT_NO},
		{drift_mps_left_behind, give_no_pipe, DRIFT_FOUND},
		{drift_mps_left_behind, run_daemon, DRIFT_NO},
		{drift_mps_left_behind, run_daemon_beside_others, DRIFT_NO},
		{drift_mps_left_behind, end_daemon, DRIFT_FOUND},
		{drift_mps_left_behind, drift_case_remove_device, DRIFT_NO},
		{drift_mps_left_behind, lose_nvml, DRIFT_CANNOT_TELL},
		{drift_mps_left_behind, forget_pods, DRIFT_CANNOT_TELL},
		{drift_mps_left_behind, forget_pods_without_policy, DRIFT_CANNOT_TELL},
		{drift_mps_left_behind, forget_policies, DRIFT_UNREADABLE},
		{drift_mps_left_behind, break_policy, DRIFT_UNREADABLE},
		{drift_mps_left_behind, break_policy_that_was_off, DRIFT_UNREADABLE},
		{drift_mps_left_behind, lose_config, DRIFT_UNREADABLE},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* MPSNotRunning */

static void run(struct drift_case *c)
{
	intend(c);
	drift_case_add_operand(c, POD_OPERAND_MPS_DAEMON, true);
}

static void run_in_default_mode(struct drift_case *c)
{
	run(c);
	c->devices[0].compute_mode = REPORT_COMPUTE_DEFAULT;
}

static void run_in_unknown_mode(struct drift_case *c)
{
	run(c);
	c->devices[0].compute_mode = REPORT_COMPUTE_UNKNOWN;
}

static void run_in_default_mode_unseen(struct drift_case *c)
{
	run_in_default_mode(c);
	c->device.is_listing_good = false;
}

static void run_without_daemon(struct drift_case *c)
{
	intend(c);
	drift_case_add_operand(c, POD_OPERAND_MPS_DAEMON, false);
}

static void run_and_forget_pods(struct drift_case *c)
{
	intend(c);
	c->node.is_pods_current = false;
}

static void run_with_unknown_namespace(struct drift_case *c)
{
	intend(c);
	c->policy.namespace = (struct view){0};
}

static void run_and_lose_config(struct drift_case *c)
{
	run_in_default_mode(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void run_and_switch_off(struct drift_case *c)
{
	run_in_default_mode(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void run_and_remove_device(struct drift_case *c)
{
	intend(c);
	drift_case_remove_device(c);
}

static void run_and_lose_list(struct drift_case *c)
{
	intend(c);
	drift_case_remove_device(c);
	c->device.is_listing_good = false;
}

static void run_without_offer(struct drift_case *c)
{
	run_in_default_mode(c);
	c->device.n_offers = 0;
}

TEST(mps_runs_where_the_configuration_asks_for_it)
{
	const struct drift_case_row rows[] = {
		{drift_mps_not_running, NULL, DRIFT_NO},
		{drift_mps_not_running, run, DRIFT_NO},
		{drift_mps_not_running, run_in_default_mode, DRIFT_FOUND,
		 .intended = "MPS (ConfigMap gpu-operator/plugin-config, key shared)",
		 .observed = "compute mode Default (NVML)"},
		{drift_mps_not_running, run_in_unknown_mode, DRIFT_NO},
		{drift_mps_not_running, run_in_default_mode_unseen, DRIFT_CANNOT_TELL},
		{drift_mps_not_running, run_without_daemon, DRIFT_FOUND,
		 .observed = "app=nvidia-device-plugin-mps-control-daemon"},
		{drift_mps_not_running, run_without_offer, DRIFT_FOUND},
		{drift_mps_not_running, intend_for_others, DRIFT_NO},
		{drift_mps_not_running, run_and_remove_device, DRIFT_NO},
		{drift_mps_not_running, run_and_lose_list, DRIFT_FOUND,
		 .observed = "no Ready pod"},
		{drift_mps_not_running, run_and_switch_off, DRIFT_NO},
		{drift_mps_not_running, run_and_forget_pods, DRIFT_CANNOT_TELL},
		{drift_mps_not_running, run_with_unknown_namespace, DRIFT_CANNOT_TELL},
		{drift_mps_not_running, run_and_lose_config, DRIFT_UNREADABLE},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TESTS(NULL, NULL)
