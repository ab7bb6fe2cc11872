/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_sharing.h"
#include "lib/drift_case.h"
#include "lib/expect_status.h"

/* How it is shared */

static void offer_whole(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/gpu", 1, false, false);
	c->status.sharing.mode = ATTRIBUTION_MODE_EXCLUSIVE;
	c->status.sharing.replicas = 1;
}

static void use_whole(struct drift_case *c)
{
	c->labels.plugin_config = VIEW("whole");
}

static void use_whole_and_offer_it(struct drift_case *c)
{
	use_whole(c);
	offer_whole(c);
}

static void intend_mps(struct drift_case *c)
{
	c->configs[0].sharing = PLUGIN_CONFIG_MPS;
}

static void run_mps(struct drift_case *c)
{
	c->status.sharing.mode = ATTRIBUTION_MODE_MPS;
}

static void intend_and_run_mps(struct drift_case *c)
{
	intend_mps(c);
	run_mps(c);
}

static void blur(struct drift_case *c)
{
	c->status.sharing.mode = ATTRIBUTION_MODE_UNKNOWN;
}

static void intend_mps_and_blur(struct drift_case *c)
{
	intend_mps(c);
	blur(c);
}

static void offer_of_others_shared(struct drift_case *c)
{
	drift_case_offer(c, "amd.com/gpu", 4, true, false);
}

static void offer_second(struct drift_case *c)
{
	c->offers[1] = (struct drift_offer){
		.resource = VIEW("nvidia.com/mig-1g.10gb"), .n_free = 4, .n_replicas = 4, .is_replica = true};
	c->device.n_offers = 2;
}

static void use_whole_and_blur(struct drift_case *c)
{
	use_whole(c);
	blur(c);
}

static void slice_mig(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/mig-1g.10gb", 4, true, true);
	c->offers[0].n_replicas = 2;
	c->status.sharing = (struct attribution_sharing){ATTRIBUTION_MODE_MIG_TIME_SLICED, 2};
}

static void slice_mig_as_written(struct drift_case *c)
{
	slice_mig(c);
	c->shared[0] = (struct plugin_config_shared){VIEW("nvidia.com/mig-1g.10gb"), 2};
}

static void slice_mig_more(struct drift_case *c)
{
	slice_mig_as_written(c);
	c->shared[0].replicas = 3;
}

static void offer_of_others(struct drift_case *c)
{
	drift_case_offer(c, "amd.com/gpu", 1, false, false);
}

static void offer_nothing(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/gpu", 0, false, false);
}

/* What is not known, or not wanted */

static void forget_offer(struct drift_case *c)
{
	offer_whole(c);
	c->node.is_offer_known = false;
}

static void lose_config(struct drift_case *c)
{
	offer_whole(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void write_unsupported(struct drift_case *c)
{
	offer_whole(c);
	c->configs[0].unsupported = VIEW("line 1: an alias");
}

static void break_config(struct drift_case *c)
{
	offer_whole(c);
	c->configs[0].error = VIEW("line 3, column 5: replicas is 1");
}

static void name_no_config(struct drift_case *c)
{
	offer_whole(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_NONE;
	c->intent.plugin_configs = NULL;
}

static void name_no_config_and_share(struct drift_case *c)
{
	c->intent.plugin_configs_state = INTENT_CONFIG_NONE;
	c->intent.plugin_configs = NULL;
}

static void name_no_config_share_and_switch_off(struct drift_case *c)
{
	name_no_config_and_share(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void switch_plugin_off(struct drift_case *c)
{
	offer_whole(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void forget_node(struct drift_case *c)
{
	offer_whole(c);
	c->node.node = NULL;
}

static void name_no_config_unseen(struct drift_case *c)
{
	name_no_config(c);
	c->node.is_offer_known = false;
}

static void ask_for_no_key(struct drift_case *c)
{
	c->labels.plugin_config = (struct view){0};
}

TEST(the_mode_is_compared_with_the_configuration)
{
	const struct drift_case_row rows[] = {
		{drift_sharing_mode, NULL, DRIFT_NO},
		{drift_sharing_mode, offer_whole, DRIFT_FOUND,
		 .intended = "time-slicing, 4 replicas of nvidia.com/gpu (ConfigMap "
			     "gpu-operator/plugin-config, key shared)",
		 .observed = "nvidia.com/gpu not shared (device IDs"},
		{drift_sharing_mode, use_whole, DRIFT_FOUND,
		 .intended = "nvidia.com/gpu not shared (ConfigMap gpu-operator/plugin-config, key "
			     "whole)",
		 .observed = "time-slicing, 4 replicas of nvidia.com/gpu",
		 .severity = ATTRIBUTION_SEVERITY_CRITICAL},
		{drift_sharing_mode, use_whole_and_offer_it, DRIFT_NO},
		{drift_sharing_mode, intend_mps, DRIFT_FOUND, .intended = "MPS, 4 replicas",
		 .observed = "time-slicing, 4", .severity = ATTRIBUTION_SEVERITY_CRITICAL},
		{drift_sharing_mode, run_mps, DRIFT_FOUND, .observed = "MPS, 4 replicas"},
		{drift_sharing_mode, intend_and_run_mps, DRIFT_NO},
		{drift_sharing_mode, blur, DRIFT_NO},
		{drift_sharing_mode, intend_mps_and_blur, DRIFT_NO},
		{drift_sharing_mode, offer_of_others_shared, DRIFT_NO},
		{drift_sharing_mode, offer_second, DRIFT_FOUND,
		 .observed = "replicas of nvidia.com/mig-1g.10gb",
		 .severity = ATTRIBUTION_SEVERITY_CRITICAL},
		{drift_sharing_mode, use_whole_and_blur, DRIFT_FOUND,
		 .observed = "4 replicas of nvidia.com/gpu (device IDs",
		 .severity = ATTRIBUTION_SEVERITY_CRITICAL},
		{drift_sharing_mode, slice_mig, DRIFT_FOUND,
		 .intended = "nvidia.com/mig-1g.10gb not shared",
		 .observed = "time-slicing, 2 replicas of nvidia.com/mig-1g.10gb",
		 .severity = ATTRIBUTION_SEVERITY_CRITICAL},
		{drift_sharing_mode, slice_mig_as_written, DRIFT_NO},
		{drift_sharing_mode, ask_for_no_key, DRIFT_FOUND,
		 .intended = "not shared (ConfigMap gpu-operator/plugin-config, of which no key is "
			     "asked for)",
		 .severity = ATTRIBUTION_SEVERITY_CRITICAL},
		{drift_sharing_mode, offer_of_others, DRIFT_NO},
		{drift_sharing_mode, offer_nothing, DRIFT_NO},
		{drift_sharing_mode, forget_offer, DRIFT_CANNOT_TELL},
		{drift_sharing_mode, lose_config, DRIFT_UNREADABLE},
		{drift_sharing_mode, write_unsupported, DRIFT_UNREADABLE},
		{drift_sharing_mode, forget_node, DRIFT_CANNOT_TELL},
		{drift_sharing_mode, break_config, DRIFT_NO},
		{drift_sharing_mode, name_no_config, DRIFT_NO},
		{drift_sharing_mode, name_no_config_and_share, DRIFT_NOT_COMPARED},
		{drift_sharing_mode, name_no_config_share_and_switch_off, DRIFT_NO},
		{drift_sharing_mode, switch_plugin_off, DRIFT_NO},
		{drift_sharing_mode, name_no_config_unseen, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* How many replicas */

static void offer(struct drift_case *c, int64_t n)
{
	drift_case_offer(c, "nvidia.com/gpu", n, true, false);
	c->status.sharing.replicas = n;
}

static void offer_8(struct drift_case *c)
{
	offer(c, 8);
}

static void offer_3(struct drift_case *c)
{
	offer(c, 3);
}

static void withdraw_one_after_error(struct drift_case *c)
{
	offer_3(c);
	c->status.health.events.count = 1;
}

static void withdraw_one_while_degraded(struct drift_case *c)
{
	offer_3(c);
	c->status.health.state = ATTRIBUTION_HEALTH_DEGRADED;
}

static void withdraw_one_while_unhealthy(struct drift_case *c)
{
	offer_3(c);
	c->status.health.state = ATTRIBUTION_HEALTH_UNHEALTHY;
}

static void withdraw_two_while_unhealthy(struct drift_case *c)
{
	offer(c, 2);
	c->status.health.state = ATTRIBUTION_HEALTH_UNHEALTHY;
}

static void offer_more_while_unhealthy(struct drift_case *c)
{
	offer_8(c);
	c->status.health.state = ATTRIBUTION_HEALTH_UNHEALTHY;
}

/* The status tells the most of any resource. */
static void slice_mig_beside_more(struct drift_case *c)
{
	slice_mig_as_written(c);
	c->status.sharing.replicas = 4;
}

static void forget_count(struct drift_case *c)
{
	offer_8(c);
	c->node.is_offer_known = false;
}

TEST(replicas_are_counted_by_device_ids)
{
	const struct drift_case_row rows[] = {
		{drift_sharing_replica_count, NULL, DRIFT_NO},
		{drift_sharing_replica_count, offer_8, DRIFT_FOUND,
		 .intended = "time-slicing, 4 replicas of nvidia.com/gpu (ConfigMap",
		 .observed = "8 replicas of nvidia.com/gpu (device IDs)"},
		{drift_sharing_replica_count, offer_3, DRIFT_FOUND, .observed = "3 replicas"},
		{drift_sharing_replica_count, withdraw_one_after_error, DRIFT_NO},
		{drift_sharing_replica_count, withdraw_one_while_degraded, DRIFT_NO},
		{drift_sharing_replica_count, withdraw_one_while_unhealthy, DRIFT_NO},
		{drift_sharing_replica_count, withdraw_two_while_unhealthy, DRIFT_FOUND},
		{drift_sharing_replica_count, offer_more_while_unhealthy, DRIFT_FOUND},
		{drift_sharing_replica_count, slice_mig_as_written, DRIFT_NO},
		{drift_sharing_replica_count, slice_mig_more, DRIFT_FOUND,
		 .intended = "3 replicas of nvidia.com/mig-1g.10gb", .observed = "2 replicas"},
		{drift_sharing_replica_count, slice_mig_beside_more, DRIFT_NO},
		{drift_sharing_replica_count, offer_whole, DRIFT_NO},
		{drift_sharing_replica_count, use_whole, DRIFT_NO},
		{drift_sharing_replica_count, forget_count, DRIFT_CANNOT_TELL},
		{drift_sharing_replica_count, name_no_config, DRIFT_NO},
		{drift_sharing_replica_count, switch_plugin_off, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* By which resource */

static void rename_shared(struct drift_case *c)
{
	c->configs[0].is_renamed = true;
}

static void offer_renamed(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/gpu.shared", 4, true, false);
}

static void rename_and_offer(struct drift_case *c)
{
	rename_shared(c);
	offer_renamed(c);
}

static void rename_and_offer_whole(struct drift_case *c)
{
	rename_shared(c);
	offer_whole(c);
}

static void rename_whole(struct drift_case *c)
{
	use_whole_and_offer_it(c);
	c->configs[1].is_renamed = true;
}

static void rename_and_forget_offer(struct drift_case *c)
{
	rename_shared(c);
	c->node.is_offer_known = false;
}

static void offer_whole_renamed(struct drift_case *c)
{
	use_whole(c);
	offer_renamed(c);
}

static void rename_and_switch_off(struct drift_case *c)
{
	rename_shared(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

TEST(the_resource_has_the_name_that_is_written)
{
	const struct drift_case_row rows[] = {
		{drift_sharing_resource_name, NULL, DRIFT_NO},
		{drift_sharing_resource_name, rename_shared, DRIFT_FOUND,
		 .intended = "resource nvidia.com/gpu.shared (renameByDefault, ConfigMap "
			     "gpu-operator/plugin-config, key shared)",
		 .observed = "resource nvidia.com/gpu (kubelet)"},
		{drift_sharing_resource_name, offer_renamed, DRIFT_FOUND,
		 .intended = "resource nvidia.com/gpu (renameByDefault",
		 .observed = "resource nvidia.com/gpu.shared (kubelet)"},
		{drift_sharing_resource_name, rename_and_offer, DRIFT_NO},
		{drift_sharing_resource_name, rename_and_offer_whole, DRIFT_NO},
		{drift_sharing_resource_name, rename_whole, DRIFT_NO},
		{drift_sharing_resource_name, offer_whole_renamed, DRIFT_NO},
		{drift_sharing_resource_name, rename_and_forget_offer, DRIFT_CANNOT_TELL},
		{drift_sharing_resource_name, rename_and_switch_off, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(an_offer_is_said_in_the_words_of_a_configuration)
{
	struct drift_case c;

	drift_case_init(&c);
	c.text = (struct drift_text){.arena = &c.arena};
	expect_text(drift_sharing_say_offer(&c.device, &c.text),
		    "time-slicing, 4 replicas of nvidia.com/gpu");
	offer_whole(&c);
	expect_text(drift_sharing_say_offer(&c.device, &c.text), "nvidia.com/gpu not shared");
	drift_case_deinit(&c);
}

TEST(the_name_of_a_resource_is_that_of_configurations)
{
	assert_true(view_equal(drift_sharing_base(VIEW("nvidia.com/gpu.shared")),
			       VIEW("nvidia.com/gpu")));
	assert_true(view_equal(drift_sharing_base(VIEW("nvidia.com/mig-1g.5gb")),
			       VIEW("nvidia.com/mig-1g.5gb")));
}

TESTS(NULL, NULL)
