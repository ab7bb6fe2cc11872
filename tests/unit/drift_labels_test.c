/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_labels.h"
#include "assess/drift_mig.h"
#include "lib/drift_case.h"

/* LabelsMissing */

static void unlabel(struct drift_case *c)
{
	c->labels.gpu_count = c->labels.gpu_product = c->labels.gpu_replicas = (struct view){0};
}

static void keep_count(struct drift_case *c)
{
	unlabel(c);
	c->labels.gpu_count = VIEW("2");
}

static void keep_product(struct drift_case *c)
{
	unlabel(c);
	c->labels.gpu_product = VIEW("Tesla-T4");
}

static void keep_letter(struct drift_case *c)
{
	unlabel(c);
	c->labels.gpu_product = VIEW("T");
}

static void unlabel_and_switch_off(struct drift_case *c)
{
	unlabel(c);
	c->policy.switches[POLICY_GFD] = POLICY_OFF;
}

static void unlabel_and_opt_out(struct drift_case *c)
{
	unlabel(c);
	drift_case_deploy(c, "gpu-feature-discovery", "false");
}

static void forget_node(struct drift_case *c)
{
	unlabel(c);
	c->node.node = NULL;
}

TEST(labels_of_gpu_feature_discovery_are_there)
{
	const struct drift_case_row rows[] = {
		{drift_labels_missing, NULL, DRIFT_NO},
		{drift_labels_missing, unlabel, DRIFT_FOUND,
		 .intended = "gfd.enabled of ClusterPolicy cluster-policy",
		 .observed = "neither label nvidia.com/gpu.count"},
		{drift_labels_missing, keep_count, DRIFT_NO},
		{drift_labels_missing, keep_product, DRIFT_NO},
		{drift_labels_missing, keep_letter, DRIFT_NO},
		{drift_labels_missing, unlabel_and_switch_off, DRIFT_NO},
		{drift_labels_missing, unlabel_and_opt_out, DRIFT_NO},
		{drift_labels_missing, forget_node, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* LabelsStale: the count */

static void miscount(struct drift_case *c)
{
	c->labels.gpu_count = VIEW("4");
}

static void write_nonsense(struct drift_case *c)
{
	c->labels.gpu_count = VIEW("two");
}

static void lack_count(struct drift_case *c)
{
	c->labels.gpu_count = (struct view){0};
}

static void miscount_and_switch_off(struct drift_case *c)
{
	miscount(c);
	c->policy.switches[POLICY_GFD] = POLICY_OFF;
}

static void miscount_and_forget_node(struct drift_case *c)
{
	miscount(c);
	c->node.node = NULL;
}

static void miscount_and_lose_nvml(struct drift_case *c)
{
	miscount(c);
	c->device.is_listing_good = false;
}

static void miscount_other_models(struct drift_case *c)
{
	miscount(c);
	c->devices[1].model = VIEW("Tesla T4");
}

static void miscount_model_of_one_letter(struct drift_case *c)
{
	miscount(c);
	c->devices[1].model = VIEW("T");
}

static void miscount_unknown_model(struct drift_case *c)
{
	miscount(c);
	c->devices[1].model = (struct view){0};
}

static void miscount_unknown_first_model(struct drift_case *c)
{
	miscount(c);
	c->devices[0].model = (struct view){0};
}

/* One that is not known stands between two that differ. */
static void miscount_models_around_unknown(struct drift_case *c)
{
	miscount_unknown_model(c);
	c->devices[2].model = VIEW("Tesla T4");
	c->report.devices.count = 3;
}

static void name_other_beside_unknown(struct drift_case *c)
{
	c->labels.gpu_product = VIEW("Tesla-T4-SHARED");
	c->devices[0].model = (struct view){0};
}

static void miscount_third_model(struct drift_case *c)
{
	miscount(c);
	c->devices[2].model = VIEW("Tesla T4");
	c->report.devices.count = 3;
}

static void leave_out_others(struct drift_case *c)
{
	c->devices[1].model = VIEW("Tesla T4");
	c->report.devices.count = 1;
	c->labels.gpu_count = VIEW("1");
}

static void name_prefix(struct drift_case *c)
{
	c->labels.gpu_product = (struct view){"NVIDIA-A100-SXM4-40GB", 16};
}

/* Nothing is read behind the end of either. */
static void name_shorter_model_bytewise(struct drift_case *c)
{
	static const char label[16] = "NVIDIA-A100-SXM4";

	c->labels.gpu_product = (struct view){label, sizeof(label)};
}

static void have_shorter_model(struct drift_case *c)
{
	c->devices[0].model = c->devices[1].model = (struct view){"T4X", 2};
	c->labels.gpu_product = VIEW("T4");
}

static void count_no_parts_as_nonsense(struct drift_case *c)
{
	drift_case_cut(c, 0);
	c->report.devices.count = 1;
	c->labels.gpu_product = VIEW("NVIDIA-A100-SXM4-40GB-MIG-1g.10gb");
	c->labels.gpu_count = VIEW("none");
}

static void name_other_letter(struct drift_case *c)
{
	c->devices[0].model = c->devices[1].model = VIEW("T");
	c->labels.gpu_product = VIEW("S");
}

static void miscount_one(struct drift_case *c)
{
	c->labels.gpu_replicas = VIEW("8");
	c->status.sharing = (struct attribution_sharing){ATTRIBUTION_MODE_EXCLUSIVE, 1};
}

static void deny_mig_of_first(struct drift_case *c)
{
	c->labels.mig_capable = VIEW("false");
	c->devices[1].mig.present = false;
}

static void miscount_invalid(struct drift_case *c)
{
	drift_case_cut(c, 3);
	c->labels.gpu_count = VIEW("0");
	c->labels.gpu_product = VIEW("NVIDIA-A100-SXM4-40GB-MIG-INVALID");
}

static void have_no_device(struct drift_case *c)
{
	miscount(c);
	c->report.devices.count = 0;
	c->device.reported = NULL;
}

static void count_parts(struct drift_case *c)
{
	drift_case_cut(c, 3);
	c->report.devices.count = 1;
	c->labels.gpu_product = VIEW("NVIDIA-A100-SXM4-40GB-MIG-1g.10gb-SHARED");
	c->labels.gpu_count = VIEW("3");
	c->labels.gpu_replicas = VIEW("0");
}

static void miscount_parts(struct drift_case *c)
{
	count_parts(c);
	c->labels.gpu_count = VIEW("1");
}

/* The model */

static void name_other_model(struct drift_case *c)
{
	c->labels.gpu_product = VIEW("NVIDIA-A100-SXM4-80GB-SHARED");
}

static void name_longer_model(struct drift_case *c)
{
	c->labels.gpu_product = VIEW("NVIDIA-A100-SXM4-40GB-PRO");
}

static void name_shorter_model(struct drift_case *c)
{
	c->labels.gpu_product = VIEW("NVIDIA-A100-SXM4");
}

static void name_model_only(struct drift_case *c)
{
	c->labels.gpu_product = VIEW("NVIDIA-A100-SXM4-40GB");
}

static void lack_product(struct drift_case *c)
{
	c->labels.gpu_product = (struct view){0};
}

static void lack_model(struct drift_case *c)
{
	c->devices[0].model = c->devices[1].model = (struct view){0};
}

static void name_odd_model(struct drift_case *c)
{
	c->devices[0].model = c->devices[1].model = VIEW("a`z{A@Z[0/9:_.- (r)");
	c->labels.gpu_product = VIEW("azAZ09_.--r");
}

/* Replicas */

static void miscount_replicas(struct drift_case *c)
{
	c->labels.gpu_replicas = VIEW("8");
}

static void miscount_replicas_of(struct drift_case *c, int mode)
{
	miscount_replicas(c);
	c->status.sharing.mode = mode;
}

static void miscount_shares(struct drift_case *c)
{
	miscount_replicas_of(c, ATTRIBUTION_MODE_MPS);
}

static void miscount_whole(struct drift_case *c)
{
	miscount_replicas_of(c, ATTRIBUTION_MODE_EXCLUSIVE);
}

static void miscount_unknown(struct drift_case *c)
{
	miscount_replicas_of(c, ATTRIBUTION_MODE_UNKNOWN);
}

static void miscount_unhealthy(struct drift_case *c)
{
	miscount_replicas(c);
	c->status.health.state = ATTRIBUTION_HEALTH_DEGRADED;
}

static void miscount_after_error(struct drift_case *c)
{
	miscount_replicas(c);
	c->status.health.events.count = 1;
}

static void miscount_withdrawn(struct drift_case *c)
{
	miscount_replicas(c);
	c->device.n_offers = 0;
}

static void miscount_in_mig_mode(struct drift_case *c)
{
	miscount_replicas(c);
	c->devices[0].mig.current = true;
}

static void miscount_missing(struct drift_case *c)
{
	miscount_replicas(c);
	drift_case_remove_device(c);
	c->labels.gpu_count = VIEW("1");
}

static void lack_replicas(struct drift_case *c)
{
	c->labels.gpu_replicas = (struct view){0};
}

/* MIG */

static void deny_mig(struct drift_case *c)
{
	c->labels.mig_capable = VIEW("false");
}

static void deny_mig_of_others(struct drift_case *c)
{
	deny_mig(c);
	c->devices[0].mig.present = c->devices[1].mig.present = false;
}

static void deny_mig_of_second(struct drift_case *c)
{
	deny_mig(c);
	c->devices[0].mig.present = false;
}

static void hide_parts(struct drift_case *c)
{
	miscount_parts(c);
	c->devices[0].partitions = (struct array){0};
}

static void hide_parts_and_name_other_model(struct drift_case *c)
{
	hide_parts(c);
	c->labels.gpu_product = VIEW("Tesla-T4-MIG-1g.10gb");
}

static void hide_parts_without_count(struct drift_case *c)
{
	hide_parts(c);
	c->labels.gpu_count = (struct view){0};
}

static void hide_parts_of_whole(struct drift_case *c)
{
	c->devices[0].partitions = (struct array){0};
}

/* Of the first device: two of one profile, and one of another. */
static void cut_for_mixed(struct drift_case *c)
{
	static struct node_mig_count counts[] = {
		{VIEW_INIT("1g.10gb"), VIEW_INIT("2")}, {VIEW_INIT("1g.10gb.me"), VIEW_INIT("1")}};

	drift_case_cut(c, 3);
	c->partitions[1].profile = VIEW("1g.10gb+me");
	c->labels.gpu_replicas = (struct view){0};
	c->labels.mig_counts = array_of(counts, 2);
}

static void have_counts(struct drift_case *c, struct view first, struct view second)
{
	static struct node_mig_count counts[2];

	cut_for_mixed(c);
	counts[0] = (struct node_mig_count){VIEW("1g.10gb"), first};
	counts[1] = (struct node_mig_count){VIEW("1g.10gb.me"), second};
	c->labels.mig_counts = array_of(counts, 2);
}

static void miscount_profile(struct drift_case *c)
{
	have_counts(c, VIEW("2"), VIEW("3"));
}

static void miscount_first_profile(struct drift_case *c)
{
	have_counts(c, VIEW("1"), VIEW("1"));
}

static void count_profile_of_second_device(struct drift_case *c)
{
	have_counts(c, VIEW("4"), VIEW("2"));
	c->devices[1].partitions = c->devices[0].partitions;
}

static void count_longer_profile(struct drift_case *c)
{
	cut_for_mixed(c);
	for (int i = 0; i < 3; i++)
		c->partitions[i].profile = VIEW("1g.10gb+me.all");
}

static void count_letter(struct drift_case *c)
{
	static struct node_mig_count counts[] = {{VIEW_INIT("1g.20gb"), VIEW_INIT("2")}};

	cut_for_mixed(c);
	c->labels.mig_counts = array_of(counts, 1);
}

static void count_first_letter(struct drift_case *c)
{
	have_counts(c, VIEW("2"), VIEW("1"));
	c->partitions[0].profile = VIEW("2g.10gb");
}

/* Nothing is read behind the end of either. */
static void count_profile_bytewise(struct drift_case *c)
{
	cut_for_mixed(c);
	c->partitions[0].profile = (struct view){"1g.10gb+me", 7};
}

static void have_no_parts(struct drift_case *c)
{
	cut_for_mixed(c);
	c->devices[0].partitions.count = 0;
}

static void miscount_and_hide_parts(struct drift_case *c)
{
	miscount_profile(c);
	c->devices[0].partitions = (struct array){0};
}

static void miscount_and_hide_profile(struct drift_case *c)
{
	miscount_profile(c);
	c->partitions[1].profile = (struct view){0};
}

static void miscount_and_hide_first_profile(struct drift_case *c)
{
	miscount_profile(c);
	c->partitions[0].profile = (struct view){0};
}

static void miscount_only_profile_and_hide_parts(struct drift_case *c)
{
	miscount_first_profile(c);
	c->labels.mig_counts.count = 1;
	c->devices[0].partitions = (struct array){0};
}

static void miscount_and_hide_parts_of_second(struct drift_case *c)
{
	miscount_profile(c);
	c->devices[1].partitions = (struct array){0};
}

static void have_strategy(struct drift_case *c)
{
	c->policy.mig_strategy = c->labels.mig_strategy = VIEW("mixed");
}

static void have_other_strategy(struct drift_case *c)
{
	c->policy.mig_strategy = VIEW("single");
	c->labels.mig_strategy = VIEW("mixed");
}

static void have_strategy_of_nobody(struct drift_case *c)
{
	c->labels.mig_strategy = VIEW("mixed");
}

static void have_other_strategy_of_config(struct drift_case *c)
{
	have_strategy_of_nobody(c);
	c->configs[0].mig_strategy = VIEW("single");
}

/* The operator has given the policy's strategy to neither of its pods yet. */
static void offer_by_other_strategy(struct drift_case *c)
{
	drift_case_cut(c, 1);
	drift_case_offer(c, "nvidia.com/gpu", 4, true, true);
	c->labels.mig_strategy = VIEW("single");
}

static void set_argument(struct drift_case *c, const char *argument)
{
	c->arguments[0] = view_from(argument);
	c->policy.plugin_args = array_of(c->arguments, 1);
}

static void have_strategy_beside_argument(struct drift_case *c)
{
	have_strategy(c);
	set_argument(c, "--mig-strategy=single");
}

static void have_strategy_of_argument(struct drift_case *c)
{
	have_other_strategy(c);
	set_argument(c, "--mig-strategy=mixed");
}

static void have_strategy_beside_variable(struct drift_case *c)
{
	have_strategy(c);
	c->variables[0] = (struct policy_variable){VIEW("MIG_STRATEGY"), VIEW("single")};
	c->policy.plugin_env = array_of(c->variables, 1);
}

static void set_gfd_variable(struct drift_case *c, const char *name, const char *value)
{
	c->variables[0] = (struct policy_variable){view_from(name), view_from(value)};
	c->policy.gfd_env = array_of(c->variables, 1);
}

static void have_strategy_of_gfd_variable(struct drift_case *c)
{
	have_strategy_of_nobody(c);
	set_gfd_variable(c, "MIG_STRATEGY", "mixed");
}

static void lack_strategy_of_gfd_variable(struct drift_case *c)
{
	have_strategy_of_nobody(c);
	set_gfd_variable(c, "MIG_STRATEGY", "single");
}

/* The operator writes its own MIG_STRATEGY over it. */
static void have_strategy_beside_gfd_variable(struct drift_case *c)
{
	have_strategy(c);
	set_gfd_variable(c, "MIG_STRATEGY", "single");
}

static void lack_strategy_of_own_gfd_variable(struct drift_case *c)
{
	have_strategy(c);
	set_gfd_variable(c, "GFD_MIG_STRATEGY", "single");
}

static void have_strategy_of_gfd_argument(struct drift_case *c)
{
	lack_strategy_of_own_gfd_variable(c);
	c->arguments[0] = VIEW("--oneshot");
	c->arguments[1] = VIEW("--mig-strategy=mixed");
	c->policy.gfd_args = array_of(c->arguments, 2);
}

static void set_gfd_argument(struct drift_case *c, const char *argument)
{
	have_strategy(c);
	c->arguments[0] = view_from(argument);
	c->policy.gfd_args = array_of(c->arguments, 1);
}

static void have_strategy_beside_empty_gfd_argument(struct drift_case *c)
{
	set_gfd_argument(c, "--mig-strategy=");
}

static void lack_strategy_of_one_letter(struct drift_case *c)
{
	set_gfd_argument(c, "--mig-strategy=?");
}

static void have_strategy_beside_empty_gfd_variables(struct drift_case *c)
{
	have_strategy(c);
	set_gfd_variable(c, "GFD_MIG_STRATEGY", "");
}

static void have_strategy_beside_command(struct drift_case *c)
{
	have_strategy(c);
	set_argument(c, "/bin/entrypoint.sh");
}

static void have_strategy_of_nobody_beside_command(struct drift_case *c)
{
	have_strategy_of_nobody(c);
	set_argument(c, "/bin/entrypoint.sh");
}

static void lack_strategy(struct drift_case *c)
{
	c->policy.mig_strategy = VIEW("mixed");
}

static void have_strategy_and_lose_config(struct drift_case *c)
{
	have_strategy_of_nobody(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void lose_config(struct drift_case *c)
{
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void miscount_profile_and_lose_config(struct drift_case *c)
{
	miscount_profile(c);
	have_strategy_and_lose_config(c);
}

static void have_other_strategy_and_hide_parts(struct drift_case *c)
{
	miscount_and_hide_parts(c);
	have_strategy_of_nobody(c);
}

static void have_other_strategy_and_hide_parts_of_single(struct drift_case *c)
{
	hide_parts(c);
	have_strategy_of_nobody(c);
}

TEST(mig_devices_that_nvml_cannot_list_are_not_counted_as_none)
{
	const struct drift_case_row rows[] = {
		{drift_labels_stale, hide_parts, DRIFT_CANNOT_TELL},
		{drift_labels_stale, hide_parts_and_name_other_model, DRIFT_FOUND,
		 .observed = "nvidia.com/gpu.product"},
		{drift_labels_stale, hide_parts_without_count, DRIFT_NO},
		{drift_labels_stale, hide_parts_of_whole, DRIFT_NO},
		{drift_labels_stale, miscount_and_hide_parts, DRIFT_CANNOT_TELL},
		{drift_labels_stale, miscount_and_hide_profile, DRIFT_CANNOT_TELL},
		{drift_labels_stale, miscount_and_hide_first_profile, DRIFT_CANNOT_TELL},
		{drift_labels_stale, miscount_only_profile_and_hide_parts, DRIFT_CANNOT_TELL},
		{drift_labels_stale, miscount_and_hide_parts_of_second, DRIFT_CANNOT_TELL},
		{drift_labels_stale, have_other_strategy_and_hide_parts, DRIFT_FOUND,
		 .observed = "nvidia.com/mig.strategy"},
		{drift_labels_stale, have_other_strategy_and_hide_parts_of_single, DRIFT_FOUND,
		 .observed = "nvidia.com/mig.strategy"},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(each_profile_has_as_many_mig_devices_as_its_label_says)
{
	const struct drift_case_row rows[] = {
		{drift_labels_stale, cut_for_mixed, DRIFT_NO},
		{drift_labels_stale, miscount_profile, DRIFT_FOUND,
		 .intended = "nvidia.com/mig-1g.10gb.me.count=1 (NVML)",
		 .observed = "nvidia.com/mig-1g.10gb.me.count=3 (node)"},
		{drift_labels_stale, miscount_first_profile, DRIFT_FOUND,
		 .intended = "nvidia.com/mig-1g.10gb.count=2 (NVML)"},
		{drift_labels_stale, count_profile_of_second_device, DRIFT_NO},
		{drift_labels_stale, count_longer_profile, DRIFT_FOUND,
		 .intended = "nvidia.com/mig-1g.10gb.count=0 (NVML)"},
		{drift_labels_stale, count_letter, DRIFT_FOUND,
		 .intended = "nvidia.com/mig-1g.20gb.count=0 (NVML)"},
		{drift_labels_stale, count_first_letter, DRIFT_FOUND,
		 .intended = "nvidia.com/mig-1g.10gb.count=1 (NVML)"},
		{drift_labels_stale, count_profile_bytewise, DRIFT_NO},
		{drift_labels_stale, have_no_parts, DRIFT_FOUND,
		 .intended = "nvidia.com/mig-1g.10gb.count=0 (NVML)"},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(the_mig_strategy_in_the_label_is_the_one_that_is_written)
{
	const struct drift_case_row rows[] = {
		{drift_labels_stale, have_strategy, DRIFT_NO},
		{drift_labels_stale, have_other_strategy, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.strategy=single (mig.strategy, ClusterPolicy "
			     "cluster-policy)",
		 .observed = "nvidia.com/mig.strategy=mixed (node)"},
		{drift_labels_stale, have_strategy_of_nobody, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.strategy=none (as nothing is written"},
		{drift_labels_stale, have_other_strategy_of_config, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.strategy=single (flags.migStrategy"},
		{drift_mig_strategy_differs, offer_by_other_strategy, DRIFT_FOUND},
		{drift_labels_stale, offer_by_other_strategy, DRIFT_NO},
		{drift_labels_stale, have_strategy_beside_argument, DRIFT_NO},
		{drift_labels_stale, have_strategy_of_argument, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.strategy=single (mig.strategy"},
		{drift_labels_stale, have_strategy_beside_variable, DRIFT_NO},
		{drift_labels_stale, have_strategy_beside_command, DRIFT_NO},
		{drift_labels_stale, have_strategy_of_nobody_beside_command, DRIFT_NOT_COMPARED},
		{drift_labels_stale, have_strategy_of_gfd_variable, DRIFT_NO},
		{drift_labels_stale, lack_strategy_of_gfd_variable, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.strategy=single (gfd.env, ClusterPolicy"},
		{drift_labels_stale, have_strategy_beside_gfd_variable, DRIFT_NO},
		{drift_labels_stale, lack_strategy_of_own_gfd_variable, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.strategy=single (gfd.env, ClusterPolicy"},
		{drift_labels_stale, have_strategy_of_gfd_argument, DRIFT_NO},
		{drift_labels_stale, have_strategy_beside_empty_gfd_argument, DRIFT_NO},
		{drift_labels_stale, lack_strategy_of_one_letter, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.strategy=? (gfd.args, ClusterPolicy"},
		{drift_labels_stale, have_strategy_beside_empty_gfd_variables, DRIFT_NO},
		{drift_labels_stale, lack_strategy, DRIFT_NO},
		{drift_labels_stale, have_strategy_and_lose_config, DRIFT_UNREADABLE},
		{drift_labels_stale, lose_config, DRIFT_NO},
		{drift_labels_stale, miscount_profile_and_lose_config, DRIFT_FOUND,
		 .observed = "nvidia.com/mig-1g.10gb.me.count"},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(labels_are_as_the_devices_are)
{
	const struct drift_case_row rows[] = {
		{drift_labels_stale, NULL, DRIFT_NO},
		{drift_labels_stale, miscount, DRIFT_FOUND,
		 .intended = "nvidia.com/gpu.count=2 (NVML)",
		 .observed = "nvidia.com/gpu.count=4 (node)"},
		{drift_labels_stale, write_nonsense, DRIFT_FOUND,
		 .observed = "nvidia.com/gpu.count=two"},
		{drift_labels_stale, lack_count, DRIFT_NO},
		{drift_labels_stale, miscount_other_models, DRIFT_NO},
		{drift_labels_stale, miscount_model_of_one_letter, DRIFT_NO},
		{drift_labels_stale, miscount_unknown_model, DRIFT_FOUND,
		 .observed = "nvidia.com/gpu.count"},
		{drift_labels_stale, miscount_unknown_first_model, DRIFT_FOUND,
		 .observed = "nvidia.com/gpu.count"},
		{drift_labels_stale, miscount_models_around_unknown, DRIFT_NO},
		{drift_labels_stale, name_other_beside_unknown, DRIFT_FOUND,
		 .intended = "NVIDIA A100-SXM4-40GB", .observed = "Tesla-T4-SHARED"},
		{drift_labels_stale, miscount_third_model, DRIFT_NO},
		{drift_labels_stale, leave_out_others, DRIFT_NO},
		{drift_labels_stale, name_prefix, DRIFT_FOUND},
		{drift_labels_stale, name_shorter_model_bytewise, DRIFT_FOUND},
		{drift_labels_stale, have_shorter_model, DRIFT_NO},
		{drift_labels_stale, count_no_parts_as_nonsense, DRIFT_FOUND,
		 .intended = "nvidia.com/gpu.count=0"},
		{drift_labels_stale, name_other_letter, DRIFT_FOUND},
		{drift_labels_stale, miscount_one, DRIFT_FOUND},
		{drift_labels_stale, deny_mig_of_first, DRIFT_FOUND},
		{drift_labels_stale, miscount_invalid, DRIFT_NO},
		{drift_labels_stale, have_no_device, DRIFT_NO},
		{drift_labels_stale, count_parts, DRIFT_NO},
		{drift_labels_stale, miscount_parts, DRIFT_FOUND,
		 .intended = "nvidia.com/gpu.count=3"},
		{drift_labels_stale, name_other_model, DRIFT_FOUND,
		 .intended = "nvidia.com/gpu.product=NVIDIA A100-SXM4-40GB (NVML)",
		 .observed = "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB-SHARED"},
		{drift_labels_stale, name_longer_model, DRIFT_FOUND},
		{drift_labels_stale, name_shorter_model, DRIFT_FOUND},
		{drift_labels_stale, name_model_only, DRIFT_NO},
		{drift_labels_stale, lack_product, DRIFT_NO},
		{drift_labels_stale, lack_model, DRIFT_NO},
		{drift_labels_stale, name_odd_model, DRIFT_NO},
		{drift_labels_stale, miscount_replicas, DRIFT_FOUND,
		 .intended = "nvidia.com/gpu.replicas=4 (device IDs)",
		 .observed = "nvidia.com/gpu.replicas=8"},
		{drift_labels_stale, miscount_shares, DRIFT_FOUND},
		{drift_labels_stale, miscount_whole, DRIFT_FOUND},
		{drift_labels_stale, miscount_unknown, DRIFT_NO},
		{drift_labels_stale, miscount_unhealthy, DRIFT_NO},
		{drift_labels_stale, miscount_after_error, DRIFT_NO},
		{drift_labels_stale, miscount_withdrawn, DRIFT_NO},
		{drift_labels_stale, miscount_in_mig_mode, DRIFT_NO},
		{drift_labels_stale, miscount_missing, DRIFT_FOUND},
		{drift_labels_stale, lack_replicas, DRIFT_NO},
		{drift_labels_stale, deny_mig, DRIFT_FOUND,
		 .intended = "nvidia.com/mig.capable=true (NVML)"},
		{drift_labels_stale, deny_mig_of_second, DRIFT_FOUND},
		{drift_labels_stale, deny_mig_of_others, DRIFT_NO},
		{drift_labels_stale, miscount_and_switch_off, DRIFT_NO},
		{drift_labels_stale, miscount_and_forget_node, DRIFT_CANNOT_TELL},
		{drift_labels_stale, miscount_and_lose_nvml, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TESTS(NULL, NULL)
