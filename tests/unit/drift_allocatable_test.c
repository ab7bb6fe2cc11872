/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_allocatable.h"
#include "lib/drift_case.h"

static void lose_one(struct drift_case *c)
{
	c->resources[0].count = 7;
}

static void have_more(struct drift_case *c)
{
	c->resources[0].count = 9;
}

static void count_renamed(struct drift_case *c)
{
	c->resources[0].name = VIEW("nvidia.com/gpu.shared");
}

static void count_others(struct drift_case *c)
{
	c->resources[0].name = VIEW("nvidia.com/pgpu");
}

static void use_whole(struct drift_case *c)
{
	c->labels.plugin_config = VIEW("whole");
	c->resources[0].count = 2;
}

static void use_whole_and_lose_one(struct drift_case *c)
{
	use_whole(c);
	c->resources[0].count = 1;
}

static void name_no_config(struct drift_case *c)
{
	use_whole(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_NONE;
	c->intent.plugin_configs = NULL;
}

/* One device in three parts, and a whole one that is not shared. */
static void cut(struct drift_case *c, const char *strategy, int64_t whole, int64_t parts)
{
	use_whole(c);
	drift_case_cut(c, 3);
	c->policy.mig_strategy = view_from(strategy);
	c->resources[0].count = whole;
	c->resources[1] = (struct node_resource){VIEW("nvidia.com/mig-1g.10gb"), parts};
	c->labels.allocatable = array_of(c->resources, 2);
}

static void cut_mixed(struct drift_case *c)
{
	cut(c, "mixed", 1, 3);
}

static void cut_mixed_and_lose_one(struct drift_case *c)
{
	cut(c, "mixed", 1, 2);
}

static void cut_single(struct drift_case *c)
{
	cut(c, "single", 4, 0);
}

static void cut_single_and_lose_one(struct drift_case *c)
{
	cut(c, "single", 3, 0);
}

static void cut_by_no_strategy(struct drift_case *c)
{
	cut(c, "none", 2, 0);
}

static void slice_parts(struct drift_case *c, int64_t n)
{
	cut(c, "mixed", 1, n);
	c->labels.plugin_config = VIEW("shared");
	c->shared[0] = (struct plugin_config_shared){VIEW("nvidia.com/mig-1g.10gb.me"), 2};
	for (int i = 0; i < 3; i++)
		c->partitions[i].profile = VIEW("1g.10gb+me");
}

static void slice_parts_enough(struct drift_case *c)
{
	slice_parts(c, 6);
}

static void slice_parts_short(struct drift_case *c)
{
	slice_parts(c, 5);
}

static void list_no_parts(struct drift_case *c)
{
	cut_mixed_and_lose_one(c);
	c->devices[0].partitions = (struct array){0};
}

static void tell_no_mode(struct drift_case *c)
{
	list_no_parts(c);
	c->devices[0].mig = (struct report_mig){0};
}

static void tell_no_mode_by_no_strategy(struct drift_case *c)
{
	tell_no_mode(c);
	c->policy.mig_strategy = VIEW("none");
	c->labels.allocatable = array_of(c->resources, 1);
}

static void tell_no_profile(struct drift_case *c)
{
	cut_mixed_and_lose_one(c);
	c->partitions[2].profile = VIEW("");
}

static void slice_single(struct drift_case *c)
{
	cut(c, "single", 15, 0);
	c->labels.plugin_config = VIEW("shared");
}

/* One replica each is what there must be at least. */
static void lose_config(struct drift_case *c)
{
	c->resources[0].count = 2;
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
	c->policy.mig_strategy = VIEW("none");
}

static void lose_config_and_devices(struct drift_case *c)
{
	lose_config(c);
	c->resources[0].count = 1;
}

static void lose_config_and_strategy(struct drift_case *c)
{
	lose_config_and_devices(c);
	c->policy.mig_strategy = (struct view){0};
}

static void write_unsupported(struct drift_case *c)
{
	lose_config(c);
	c->intent.plugin_configs_state = INTENT_CONFIG_THERE;
	c->intent.plugin_configs = &c->plugin_configs;
	c->configs[0].unsupported = VIEW("l");
}

static void lose_most(struct drift_case *c)
{
	c->resources[0].count = 1;
}

static void switch_gfd_off(struct drift_case *c)
{
	lose_one(c);
	c->policy.switches[POLICY_GFD] = POLICY_OFF;
}

static void slice_plain_parts(struct drift_case *c)
{
	cut(c, "mixed", 1, 5);
	c->labels.plugin_config = VIEW("shared");
	c->shared[0] = (struct plugin_config_shared){VIEW("nvidia.com/mig-1g.10gb"), 2};
}

static void lose_nvml(struct drift_case *c)
{
	lose_one(c);
	c->device.is_listing_good = false;
}

static void forget_node(struct drift_case *c)
{
	lose_most(c);
	c->policy.mig_strategy = VIEW("none");
	c->node.is_pods_current = false;
}

static void switch_plugin_off(struct drift_case *c)
{
	lose_most(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void unlabel(struct drift_case *c)
{
	lose_most(c);
	c->labels.deploys.count = 0;
}

static void have_display_adapter(struct drift_case *c)
{
	c->devices[1].model = VIEW("NVIDIA DGX Display");
	c->resources[0].count = 4;
}

static void have_display_adapter_and_lose_one(struct drift_case *c)
{
	have_display_adapter(c);
	c->resources[0].count = 3;
}

TEST(the_node_has_as_many_gpus_as_its_devices_make)
{
	const struct drift_case_row rows[] = {
		{drift_allocatable_short, NULL, DRIFT_NO},
		{drift_allocatable_short, lose_one, DRIFT_FOUND,
		 .intended = "8, of the 2 devices of the node",
		 .observed = "7 (status.allocatable of the node)"},
		{drift_allocatable_short, have_more, DRIFT_NO},
		{drift_allocatable_short, have_display_adapter, DRIFT_NO},
		{drift_allocatable_short, have_display_adapter_and_lose_one, DRIFT_FOUND},
		{drift_allocatable_short, count_renamed, DRIFT_NO},
		{drift_allocatable_short, count_others, DRIFT_FOUND, .observed = "0 (status"},
		{drift_allocatable_short, use_whole, DRIFT_NO},
		{drift_allocatable_short, use_whole_and_lose_one, DRIFT_FOUND},
		{drift_allocatable_short, name_no_config, DRIFT_NO},
		{drift_allocatable_short, cut_mixed, DRIFT_NO},
		{drift_allocatable_short, cut_mixed_and_lose_one, DRIFT_FOUND,
		 .intended = "4, of", .observed = "3 (status"},
		{drift_allocatable_short, cut_single, DRIFT_NO},
		{drift_allocatable_short, cut_single_and_lose_one, DRIFT_FOUND},
		{drift_allocatable_short, cut_by_no_strategy, DRIFT_NO},
		{drift_allocatable_short, slice_parts_enough, DRIFT_NO},
		{drift_allocatable_short, slice_parts_short, DRIFT_FOUND,
		 .intended = "7, of"},
		{drift_allocatable_short, list_no_parts, DRIFT_CANNOT_TELL},
		{drift_allocatable_short, tell_no_mode, DRIFT_CANNOT_TELL},
		{drift_allocatable_short, tell_no_mode_by_no_strategy, DRIFT_FOUND},
		{drift_allocatable_short, tell_no_profile, DRIFT_CANNOT_TELL},
		{drift_allocatable_short, slice_single, DRIFT_FOUND, .intended = "16, of"},
		{drift_allocatable_short, lose_config, DRIFT_NO},
		{drift_allocatable_short, lose_config_and_devices, DRIFT_FOUND,
		 .intended = "2, of"},
		{drift_allocatable_short, lose_config_and_strategy, DRIFT_UNREADABLE},
		{drift_allocatable_short, write_unsupported, DRIFT_NO},
		{drift_allocatable_short, lose_most, DRIFT_FOUND},
		{drift_allocatable_short, switch_gfd_off, DRIFT_FOUND},
		{drift_allocatable_short, slice_plain_parts, DRIFT_FOUND, .intended = "7, of"},
		{drift_allocatable_short, lose_nvml, DRIFT_CANNOT_TELL},
		{drift_allocatable_short, forget_node, DRIFT_CANNOT_TELL},
		{drift_allocatable_short, switch_plugin_off, DRIFT_NO},
		{drift_allocatable_short, unlabel, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TESTS(NULL, NULL)
