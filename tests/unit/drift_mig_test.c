/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_mig.h"
#include "lib/drift_case.h"
#include "lib/expect_status.h"

/* MIGModePending */

static void ask_for_mig(struct drift_case *c)
{
	c->devices[0].mig.pending = true;
}

static void ask_for_no_mig(struct drift_case *c)
{
	c->devices[0].mig.current = true;
}

static void ask_unable(struct drift_case *c)
{
	ask_for_mig(c);
	c->devices[0].mig.present = false;
}

static void ask_and_lose_nvml(struct drift_case *c)
{
	ask_for_mig(c);
	c->device.is_listing_good = false;
}

TEST(the_mode_that_was_asked_for_is_in_effect)
{
	const struct drift_case_row rows[] = {
		{drift_mig_mode_pending, NULL, DRIFT_NO},
		{drift_mig_mode_pending, ask_for_mig, DRIFT_FOUND,
		 .intended = "MIG mode on (NVML: pending)",
		 .observed = "MIG mode off (NVML: current)"},
		{drift_mig_mode_pending, ask_for_no_mig, DRIFT_FOUND,
		 .intended = "MIG mode off", .observed = "MIG mode on"},
		{drift_mig_mode_pending, ask_unable, DRIFT_NO},
		{drift_mig_mode_pending, drift_case_remove_device, DRIFT_NO},
		{drift_mig_mode_pending, ask_and_lose_nvml, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* MIGStrategy */

static void offer_mixed(struct drift_case *c)
{
	drift_case_cut(c, 2);
	drift_case_offer(c, "nvidia.com/mig-1g.10gb", 2, false, true);
}

static void offer_single(struct drift_case *c)
{
	drift_case_cut(c, 2);
	drift_case_offer(c, "nvidia.com/gpu", 2, false, true);
}

static void offer_single_by_old_driver(struct drift_case *c)
{
	offer_single(c);
	c->ids[0] = VIEW("MIG-" DRIFT_CASE_GPU "/1/0");
}

static void offer_first_by_old_driver(struct drift_case *c)
{
	offer_single(c);
	c->ids[0] = VIEW("MIG-" DRIFT_CASE_GPU "/0/0");
}

static void offer_single_second(struct drift_case *c)
{
	offer_single(c);
	c->ids[0] = VIEW(DRIFT_CASE_OTHER_GPU);
	c->ids[1] = VIEW("MIG-00000000-0000-0000-0000-00000000000c");
}

static void offer_whole(struct drift_case *c)
{
	drift_case_cut(c, 2);
	drift_case_offer(c, "nvidia.com/gpu", 1, false, false);
}

static void offer_none_of_others(struct drift_case *c)
{
	drift_case_offer(c, "example.com/mig-1g.10gb", 2, false, true);
}

static void offer_single_as_written(struct drift_case *c)
{
	offer_single(c);
	c->policy.mig_strategy = VIEW("single");
}

static void offer_mixed_as_written(struct drift_case *c)
{
	offer_mixed(c);
	c->policy.mig_strategy = VIEW("mixed");
}

static void offer_mixed_as_configured(struct drift_case *c)
{
	offer_mixed(c);
	c->configs[0].mig_strategy = VIEW("mixed");
}

static void offer_mixed_against_policy(struct drift_case *c)
{
	offer_mixed_as_configured(c);
	c->policy.mig_strategy = VIEW("single");
}

static void set_variable(struct drift_case *c, struct view name, struct view value)
{
	c->variables[0] = (struct policy_variable){VIEW("NVIDIA_VISIBLE_DEVICES"), VIEW("all")};
	c->variables[1] = (struct policy_variable){name, value};
	c->policy.plugin_env = array_of(c->variables, 2);
}

static void offer_against_configured(struct drift_case *c)
{
	offer_mixed(c);
	c->configs[0].mig_strategy = VIEW("single");
}

static void offer_against_variable(struct drift_case *c)
{
	offer_mixed(c);
	set_variable(c, VIEW("MIG_STRATEGY"), VIEW("single"));
}

static void offer_against_first_variable(struct drift_case *c)
{
	offer_against_variable(c);
	c->variables[0] = c->variables[1];
	c->policy.plugin_env.count = 1;
}

static void offer_under_letters(struct drift_case *c)
{
	offer_mixed(c);
	c->policy.mig_strategy = VIEW("single");
	set_variable(c, VIEW("MIG_STRATEGY"), VIEW("?"));
}

static void offer_under_letter_of_policy(struct drift_case *c)
{
	offer_mixed(c);
	c->policy.mig_strategy = VIEW("?");
	c->configs[0].mig_strategy = VIEW("single");
}

static void offer_under_letter_of_config(struct drift_case *c)
{
	offer_mixed(c);
	c->configs[0].mig_strategy = VIEW("?");
}

static void offer_mixed_by_variable(struct drift_case *c)
{
	offer_mixed(c);
	c->policy.mig_strategy = VIEW("single");
	set_variable(c, VIEW("MIG_STRATEGY"), VIEW("mixed"));
}

static void offer_mixed_beside_variable(struct drift_case *c)
{
	offer_mixed_against_policy(c);
	set_variable(c, VIEW("PASS_DEVICE_SPECS"), VIEW("mixed"));
}

static void offer_mixed_under_empty_variable(struct drift_case *c)
{
	offer_mixed_against_policy(c);
	set_variable(c, VIEW("MIG_STRATEGY"), VIEW(""));
}

static void offer_single_against_policy(struct drift_case *c)
{
	offer_single(c);
	c->policy.mig_strategy = VIEW("mixed");
}

static void offer_whole_against_policy(struct drift_case *c)
{
	offer_whole(c);
	c->policy.mig_strategy = VIEW("mixed");
}

static void offer_second_whole(struct drift_case *c)
{
	offer_whole_against_policy(c);
	c->devices[1].mig.current = true;
	c->devices[0].mig.current = false;
}

/* The plugin may have been configured anew since NVML told the mode. */
static void offer_lost_whole(struct drift_case *c)
{
	offer_whole_against_policy(c);
	c->devices[0].condition.lost = true;
}

static void offer_second_id_whole(struct drift_case *c)
{
	offer_whole_against_policy(c);
	c->ids[0] = VIEW(DRIFT_CASE_OTHER_GPU);
	c->ids[1] = VIEW(DRIFT_CASE_GPU);
}

static void offer_other_whole(struct drift_case *c)
{
	offer_whole_against_policy(c);
	c->on_offer[0].device_ids = array_of(&c->ids[1], 1);
	c->ids[2] = VIEW(DRIFT_CASE_GPU);
}

static void write_nonsense(struct drift_case *c)
{
	offer_mixed(c);
	c->policy.mig_strategy = VIEW("both");
}

static void lose_config(struct drift_case *c)
{
	offer_mixed(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void lose_config_under_policy(struct drift_case *c)
{
	lose_config(c);
	c->policy.mig_strategy = VIEW("mixed");
}

static void forget_offer(struct drift_case *c)
{
	offer_mixed(c);
	c->node.is_offer_known = false;
}

static void forget_node(struct drift_case *c)
{
	offer_mixed(c);
	c->node.node = NULL;
}

static void forget_node_under_policy(struct drift_case *c)
{
	forget_node(c);
	c->policy.mig_strategy = VIEW("none");
}

static void switch_plugin_off(struct drift_case *c)
{
	offer_mixed(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void set_argument(struct drift_case *c, const char *argument)
{
	c->arguments[0] = VIEW("--pass-device-specs");
	c->arguments[1] = view_from(argument);
	c->policy.plugin_args = array_of(c->arguments, 2);
}

static void offer_mixed_by_argument(struct drift_case *c)
{
	offer_mixed_against_policy(c);
	set_variable(c, VIEW("MIG_STRATEGY"), VIEW("single"));
	set_argument(c, "--mig-strategy=mixed");
}

static void offer_against_argument(struct drift_case *c)
{
	offer_mixed_by_variable(c);
	set_argument(c, "--mig-strategy=single");
}

static void offer_mixed_by_empty_argument(struct drift_case *c)
{
	offer_mixed_by_variable(c);
	set_argument(c, "--mig-strategy=");
}

static void offer_under_letter_of_argument(struct drift_case *c)
{
	offer_against_variable(c);
	set_argument(c, "--mig-strategy=?");
}

static void offer_mixed_by_command(struct drift_case *c)
{
	offer_mixed_against_policy(c);
	set_variable(c, VIEW("MIG_STRATEGY"), VIEW("single"));
	set_argument(c, "exec nvidia-device-plugin --mig-strategy=mixed");
}

static void offer_against_argument_before_command(struct drift_case *c)
{
	offer_mixed_by_command(c);
	c->arguments[0] = VIEW("--mig-strategy=single");
}

static void offer_mixed_from_other_file(struct drift_case *c)
{
	offer_against_configured(c);
	set_argument(c, "--config-file=/etc/plugin.yaml");
}

static void offer_against_policy_from_other_file(struct drift_case *c)
{
	offer_mixed_against_policy(c);
	set_argument(c, "--config-file=/etc/plugin.yaml");
}

static void offer_mixed_by_variables_file(struct drift_case *c)
{
	offer_against_configured(c);
	set_variable(c, VIEW("CONFIG_FILE"), VIEW("/etc/plugin.yaml"));
}

static void offer_mixed_by_command_without_config(struct drift_case *c)
{
	offer_mixed_by_command(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_NONE;
	c->intent.plugin_configs = NULL;
}

static void offer_mixed_by_command_of_none(struct drift_case *c)
{
	offer_mixed_by_command(c);
	switch_plugin_off(c);
}

static void offer_mixed_by_command_on_unknown_node(struct drift_case *c)
{
	offer_mixed_by_command(c);
	forget_node(c);
}

static void unlabel(struct drift_case *c)
{
	offer_mixed(c);
	c->labels.deploys.count = 0;
}

TEST(mig_devices_are_on_offer_by_the_strategy_that_is_written)
{
	const struct drift_case_row rows[] = {
		{drift_mig_strategy_differs, NULL, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed, DRIFT_FOUND,
		 .intended = "MIG strategy none (as nothing is written, ClusterPolicy "
			     "cluster-policy)",
		 .observed = "nvidia.com/mig-... are on offer, as with mixed"},
		{drift_mig_strategy_differs, offer_single, DRIFT_FOUND,
		 .observed = "as nvidia.com/gpu, as with single"},
		{drift_mig_strategy_differs, offer_single_by_old_driver, DRIFT_FOUND,
		 .observed = "as with single"},
		{drift_mig_strategy_differs, offer_first_by_old_driver, DRIFT_FOUND,
		 .observed = "as with single"},
		{drift_mig_strategy_differs, offer_single_second, DRIFT_FOUND,
		 .observed = "as with single"},
		{drift_mig_strategy_differs, offer_whole, DRIFT_NO},
		{drift_mig_strategy_differs, offer_single_as_written, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed_as_written, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed_as_configured, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed_against_policy, DRIFT_FOUND,
		 .intended = "single (mig.strategy, ClusterPolicy cluster-policy)"},
		{drift_mig_strategy_differs, offer_mixed_by_variable, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed_by_argument, DRIFT_NO},
		{drift_mig_strategy_differs, offer_against_argument, DRIFT_FOUND,
		 .intended = "single (devicePlugin.args, ClusterPolicy cluster-policy)"},
		{drift_mig_strategy_differs, offer_mixed_by_empty_argument, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed_by_command, DRIFT_NOT_COMPARED},
		{drift_mig_strategy_differs, offer_mixed_by_command_without_config,
		 DRIFT_NOT_COMPARED},
		{drift_mig_strategy_differs, offer_mixed_by_command_of_none, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed_by_command_on_unknown_node,
		 DRIFT_CANNOT_TELL},
		{drift_mig_strategy_differs, offer_against_argument_before_command, DRIFT_FOUND,
		 .intended = "single (devicePlugin.args"},
		{drift_mig_strategy_differs, offer_mixed_from_other_file, DRIFT_NOT_COMPARED},
		{drift_mig_strategy_differs, offer_mixed_by_variables_file, DRIFT_NOT_COMPARED},
		{drift_mig_strategy_differs, offer_against_policy_from_other_file, DRIFT_FOUND,
		 .intended = "single (mig.strategy, ClusterPolicy"},
		{drift_mig_strategy_differs, offer_against_configured, DRIFT_FOUND,
		 .intended = "single (flags.migStrategy, ClusterPolicy"},
		{drift_mig_strategy_differs, offer_against_variable, DRIFT_FOUND,
		 .intended = "single (devicePlugin.env, ClusterPolicy"},
		{drift_mig_strategy_differs, offer_against_first_variable, DRIFT_FOUND,
		 .intended = "single (devicePlugin.env"},
		{drift_mig_strategy_differs, offer_under_letters, DRIFT_NO},
		{drift_mig_strategy_differs, offer_under_letter_of_argument, DRIFT_NO},
		{drift_mig_strategy_differs, offer_under_letter_of_policy, DRIFT_NO},
		{drift_mig_strategy_differs, offer_under_letter_of_config, DRIFT_NO},
		{drift_mig_strategy_differs, offer_mixed_beside_variable, DRIFT_FOUND},
		{drift_mig_strategy_differs, offer_mixed_under_empty_variable, DRIFT_FOUND,
		 .intended = "single (mig.strategy, ClusterPolicy"},
		{drift_mig_strategy_differs, offer_single_against_policy, DRIFT_FOUND,
		 .intended = "mixed", .observed = "as with single"},
		{drift_mig_strategy_differs, offer_whole_against_policy, DRIFT_FOUND,
		 .observed = "as a whole, as with none"},
		{drift_mig_strategy_differs, offer_second_whole, DRIFT_FOUND},
		{drift_mig_strategy_differs, offer_second_id_whole, DRIFT_FOUND},
		{drift_mig_strategy_differs, offer_lost_whole, DRIFT_NO},
		{drift_mig_strategy_differs, forget_node_under_policy, DRIFT_CANNOT_TELL},
		{drift_mig_strategy_differs, offer_other_whole, DRIFT_NO},
		{drift_mig_strategy_differs, offer_none_of_others, DRIFT_NO},
		{drift_mig_strategy_differs, write_nonsense, DRIFT_NO},
		{drift_mig_strategy_differs, lose_config_under_policy, DRIFT_NO},
		{drift_mig_strategy_differs, lose_config, DRIFT_UNREADABLE},
		{drift_mig_strategy_differs, forget_offer, DRIFT_CANNOT_TELL},
		{drift_mig_strategy_differs, forget_node, DRIFT_CANNOT_TELL},
		{drift_mig_strategy_differs, switch_plugin_off, DRIFT_NO},
		{drift_mig_strategy_differs, unlabel, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(the_list_counts_before_the_checkpoint_while_it_can_be_read)
{
	static const struct {
		bool is_listed, is_list_read, is_registered, has_checkpoint;
		bool is_known, is_by_checkpoint;
	} rows[] = {
		{true, true, true, true, true, false},
		{true, false, true, true, true, true},
		{true, false, true, false, true, false},
		{true, false, false, true, true, false},
		{false, true, true, true, true, true},
		{false, true, false, true, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_case c;
		struct report_resource_devices registered[] = {
			{VIEW("nvidia.com/mig-2g.20gb"), {0}},
			{VIEW("nvidia.com/mig-1g.10gb"), array_of(c.ids, 1)},
		};

		drift_case_init(&c);
		c.report.allocatable.present = rows[i].is_listed;
		if (!rows[i].is_listed)
			c.report.allocatable.count = 0;
		c.report.sources.pod_resources.state =
			rows[i].is_list_read ? REPORT_SOURCE_OK : REPORT_SOURCE_ERROR;
		c.report.checkpoint.present = rows[i].has_checkpoint;
		if (rows[i].is_registered)
			c.report.checkpoint.registered = array_of(registered, 2);
		drift_prepare(&c.node);
		if (c.node.has_plugins_ids != rows[i].is_known ||
		    (c.node.offered != 0) != rows[i].is_by_checkpoint)
			fail_msg("row %zu: %d, %u", i, c.node.has_plugins_ids, c.node.offered);
		drift_case_deinit(&c);
	}
}

TEST(what_was_on_offer_before_is_forgotten)
{
	struct drift_case c;

	drift_case_init(&c);
	offer_mixed(&c);
	drift_prepare(&c.node);
	assert_int_equal(c.node.offered, DRIFT_OFFERED_MIXED);
	assert_true(c.node.has_plugins_ids);
	drift_case_offer(&c, "nvidia.com/gpu", 4, true, false);
	c.devices[0].mig.current = false;
	drift_prepare(&c.node);
	assert_int_equal(c.node.offered, 0);
	c.ids[0] = VIEW(DRIFT_CASE_GPU "-0"); /* HAMi's */
	drift_prepare(&c.node);
	assert_false(c.node.has_plugins_ids);
	drift_case_deinit(&c);
}

/* MIGConfigFailed */

static void fail_layout(struct drift_case *c)
{
	c->labels.mig_config = VIEW("half");
	c->labels.mig_config_state = VIEW("failed");
}

static void make_layout(struct drift_case *c)
{
	fail_layout(c);
	c->labels.mig_config_state = VIEW("success");
}

static void fail_without_layout(struct drift_case *c)
{
	fail_layout(c);
	c->labels.mig_config = (struct view){0};
}

static void fail_and_switch_off(struct drift_case *c)
{
	fail_layout(c);
	c->policy.switches[POLICY_MIG_MANAGER] = POLICY_OFF;
}

static void fail_and_forget_node(struct drift_case *c)
{
	fail_layout(c);
	c->node.node = NULL;
}

TEST(the_mig_manager_says_that_it_failed)
{
	const struct drift_case_row rows[] = {
		{drift_mig_config_failed, NULL, DRIFT_NO},
		{drift_mig_config_failed, fail_layout, DRIFT_FOUND,
		 .intended = "MIG layout half (label nvidia.com/mig.config)",
		 .observed = "failed (label nvidia.com/mig.config.state)"},
		{drift_mig_config_failed, make_layout, DRIFT_NO},
		{drift_mig_config_failed, fail_without_layout, DRIFT_NO},
		{drift_mig_config_failed, fail_and_switch_off, DRIFT_NO},
		{drift_mig_config_failed, fail_and_forget_node, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* MIGLayout: what is compared tests/unit/drift_layout_test.c tells. */

static void make_wrong_layout(struct drift_case *c)
{
	c->labels.mig_config = VIEW("half");
}

static void lose_layouts(struct drift_case *c)
{
	make_wrong_layout(c);
	c->intent.mig_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.mig_configs = NULL;
}

static void have_no_right_to_layouts(struct drift_case *c)
{
	lose_layouts(c);
	c->intent.mig_configs_why = INTENT_CONFIG_NO_RIGHT;
}

static void break_layouts(struct drift_case *c)
{
	make_wrong_layout(c);
	c->mig_configs.error = VIEW("?");
}

static void lose_layouts_of_no_label(struct drift_case *c)
{
	lose_layouts(c);
	c->labels.mig_config = (struct view){0};
}

static void lose_layouts_of_no_policy(struct drift_case *c)
{
	lose_layouts(c);
	c->intent.policy = NULL;
}

static void delete_layouts(struct drift_case *c)
{
	make_wrong_layout(c);
	c->intent.mig_configs_state = INTENT_CONFIG_MISSING;
	c->intent.mig_configs = NULL;
}

static void make_wrong_layout_and_switch_off(struct drift_case *c)
{
	make_wrong_layout(c);
	c->policy.switches[POLICY_MIG_MANAGER] = POLICY_OFF;
}

static void make_wrong_layout_and_forget_node(struct drift_case *c)
{
	make_wrong_layout(c);
	c->node.node = NULL;
}

static void make_wrong_layout_and_lose_nvml(struct drift_case *c)
{
	make_wrong_layout(c);
	c->device.is_listing_good = false;
}

static void make_wrong_layout_and_remove_device(struct drift_case *c)
{
	make_wrong_layout(c);
	drift_case_remove_device(c);
}

static void make_wrong_layout_without_manager(struct drift_case *c)
{
	make_wrong_layout(c);
	c->labels.deploys.count = 0;
}

static void want_layout_of_one_letter_without_manager(struct drift_case *c)
{
	make_wrong_layout_without_manager(c);
	c->labels.mig_config = VIEW("?");
}

static void want_no_layout_without_manager(struct drift_case *c)
{
	make_wrong_layout_without_manager(c);
	c->labels.mig_config = (struct view){0};
}

TEST(the_layout_is_compared_where_a_manager_shall_make_it)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, NULL, DRIFT_NO},
		{drift_mig_layout, make_wrong_layout, DRIFT_FOUND},
		{drift_mig_layout, make_wrong_layout_and_switch_off, DRIFT_NO},
		{drift_mig_layout, make_wrong_layout_without_manager, DRIFT_NOT_COMPARED},
		{drift_mig_layout, want_layout_of_one_letter_without_manager, DRIFT_NOT_COMPARED},
		{drift_mig_layout, want_no_layout_without_manager, DRIFT_NO},
		{drift_mig_layout, make_wrong_layout_and_forget_node, DRIFT_CANNOT_TELL},
		{drift_mig_layout, make_wrong_layout_and_lose_nvml, DRIFT_CANNOT_TELL},
		{drift_mig_layout, make_wrong_layout_and_remove_device, DRIFT_NO},
		{drift_mig_layout, lose_layouts, DRIFT_UNREADABLE},
		{drift_mig_layout, lose_layouts_of_no_label, DRIFT_NO},
		{drift_mig_layout, break_layouts, DRIFT_UNREADABLE},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(it_is_said_why_layouts_cannot_be_read)
{
	static const struct {
		void (*spoil)(struct drift_case *c);
		const char *text;
	} rows[] = {
		{NULL, ""},
		{make_wrong_layout, ""},
		{delete_layouts, ""},
		{lose_layouts,
		 "ConfigMap gpu-operator/mig-config cannot be read: it has not been read yet"},
		{have_no_right_to_layouts,
		 "ConfigMap gpu-operator/mig-config cannot be read: the controller has no right to; "
		 "manifests/intent grants it"},
		{break_layouts, "ConfigMap gpu-operator/mig-config cannot be read: ?"},
		{lose_layouts_of_no_label, ""},
		{lose_layouts_of_no_policy, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_case c;

		drift_case_init(&c);
		if (rows[i].spoil)
			rows[i].spoil(&c);
		c.text = (struct drift_text){.arena = &c.arena};
		drift_prepare(&c.node);
		expect_text(drift_mig_say_unreadable(&c.node, &c.text), rows[i].text);
		drift_case_deinit(&c);
	}
}

TESTS(NULL, NULL)
