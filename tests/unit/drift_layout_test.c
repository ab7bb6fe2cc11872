/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_mig.h"
#include "lib/drift_case.h"

static void want(struct drift_case *c, const char *layout)
{
	c->labels.mig_config = view_from(layout);
	c->labels.mig_config_state = VIEW("success");
}

static void want_disabled(struct drift_case *c)
{
	want(c, "all-disabled");
}

static void want_disabled_and_cut(struct drift_case *c)
{
	want_disabled(c);
	drift_case_cut(c, 2);
}

static void want_disabled_and_enable(struct drift_case *c)
{
	want_disabled(c);
	drift_case_cut(c, 0);
}

static void want_half(struct drift_case *c)
{
	want(c, "half");
}

static void cut(struct drift_case *c)
{
	want(c, "half");
	drift_case_cut(c, 2);
}

static void cut_more(struct drift_case *c)
{
	want(c, "half");
	drift_case_cut(c, 3);
}

static void cut_in_another_way(struct drift_case *c)
{
	cut_more(c);
	c->partitions[1].profile = VIEW("2g.20gb");
	c->partitions[2].profile = VIEW("2g.20gb");
}

static void cut_as_many_others(struct drift_case *c)
{
	cut(c);
	c->partitions[0].profile = c->partitions[1].profile = VIEW("2g.20gb");
}

static void lack_mode(struct drift_case *c)
{
	cut(c);
	c->parts[1].counts.count = 0;
	drift_case_cut(c, 0);
	c->devices[0].mig.current = false;
}

static void cut_beside(struct drift_case *c)
{
	cut_more(c);
	c->partitions[2].profile = VIEW("2g.20gb");
}

static void cut_two_profiles(struct drift_case *c)
{
	cut_beside(c);
	c->counts[1] = (struct mig_config_count){VIEW("2g.20gb"), 1};
	c->parts[1].counts = array_of(c->counts, 2);
}

static void cut_one_of_two_profiles(struct drift_case *c)
{
	cut_two_profiles(c);
	drift_case_cut(c, 2);
}

static void want_no_instances(struct drift_case *c)
{
	cut(c);
	c->parts[1].counts.count = 0;
}

static void have_no_instances(struct drift_case *c)
{
	want_no_instances(c);
	drift_case_cut(c, 0);
}

static void want_of_other_device(struct drift_case *c)
{
	want_half(c);
	c->indices[0] = 1;
}

static void lose_index(struct drift_case *c)
{
	want_half(c);
	c->devices[0].index = -1;
}

static void lose_index_under_both(struct drift_case *c)
{
	want_disabled_and_cut(c);
	c->devices[0].index = -1;
	c->parts[0] = (struct mig_config_part){.is_for_all = true};
	c->layouts[0].parts = array_of(c->parts, 2);
}

static void lose_index_under_all(struct drift_case *c)
{
	want_disabled_and_cut(c);
	c->devices[0].index = -1;
}

static const struct view other = VIEW_INIT("0x233010DE");

static void filter(struct drift_case *c)
{
	c->filters[0] = VIEW("0x20B010DE");
	c->parts[1].filters = array_of(c->filters, 1);
}

static void want_filtered(struct drift_case *c)
{
	want_half(c);
	filter(c);
}

static void cut_filtered(struct drift_case *c)
{
	cut(c);
	filter(c);
}

static void want_filtered_of_this(struct drift_case *c)
{
	want_filtered(c);
	c->devices[0].pci_device_id = VIEW("0x20B010DE");
}

static void cut_filtered_of_this(struct drift_case *c)
{
	cut_filtered(c);
	c->devices[0].pci_device_id = VIEW("0x20B010DE");
}

static void want_filtered_of_other(struct drift_case *c)
{
	want_filtered(c);
	c->devices[0].pci_device_id = VIEW("0x233010DE");
}

/* As NVIDIA's all-balanced: each model has a part. */
static void balance(struct drift_case *c)
{
	want_filtered_of_this(c);
	c->parts[2] = (struct mig_config_part){.is_for_all = true, .filters = array_of(&other, 1)};
	c->layouts[1].parts = array_of(&c->parts[1], 2);
}

static void balance_and_cut(struct drift_case *c)
{
	balance(c);
	cut(c);
}

static void be_unable(struct drift_case *c)
{
	want_half(c);
	c->devices[0].mig.present = false;
}

static void be_unable_and_disabled(struct drift_case *c)
{
	want_disabled(c);
	c->devices[0].mig.present = false;
}

static void forget_partitions(struct drift_case *c)
{
	cut(c);
	c->devices[0].partitions.present = false;
}

/* Without MIG mode there are none. */
static void forget_partitions_and_lack_mode(struct drift_case *c)
{
	want_half(c);
	c->devices[0].partitions.present = false;
}

static void forget_profile(struct drift_case *c)
{
	cut_more(c);
	c->partitions[2].profile = (struct view){0};
}

static void want_unknown_layout(struct drift_case *c)
{
	want(c, "haff");
}

static void delete_layouts(struct drift_case *c)
{
	want_half(c);
	c->intent.mig_configs_state = INTENT_CONFIG_MISSING;
	c->intent.mig_configs = NULL;
}

static void delete_layouts_of_disabled(struct drift_case *c)
{
	delete_layouts(c);
	want_disabled(c);
}

static void name_no_map(struct drift_case *c)
{
	c->policy.mig_config = (struct view){0};
	c->intent.mig_configs_state = INTENT_CONFIG_NONE;
	c->intent.mig_configs = NULL;
}

static void name_none_and_half(struct drift_case *c)
{
	want_half(c);
	c->policy.mig_config = (struct view){0};
	c->policy.mig_manager_version = VIEW("v0.13.1");
}

static void let_it_make_half(struct drift_case *c)
{
	name_none_and_half(c);
	c->policy.mig_manager_version = VIEW("v0.14.0");
}

static void let_any_make_half(struct drift_case *c)
{
	name_none_and_half(c);
	c->policy.mig_manager_version = (struct view){0};
}

static void let_it_make_another(struct drift_case *c)
{
	let_it_make_half(c);
	want(c, "all-1g.23gb");
}

static void let_it_make_half_and_cut(struct drift_case *c)
{
	let_it_make_half(c);
	cut(c);
}

static void let_it_disable_and_cut(struct drift_case *c)
{
	let_it_make_half(c);
	want_disabled_and_cut(c);
}

static void lack_layout_in_own_map(struct drift_case *c)
{
	name_none_and_half(c);
	want(c, "all-1g.23gb");
}

static void let_it_make_what_is_named(struct drift_case *c)
{
	let_it_make_half(c);
	c->policy.mig_config = VIEW("m");
}

/* Layouts of the node's own: "half" is one MIG device, where the operator's ConfigMap has two. */
static void tell_own(struct drift_case *c)
{
	static struct mig_config_count one = {VIEW_INIT("1g.10gb"), 1};
	static struct mig_config_part part = {
		.is_for_all = true, .is_enabled = true, .counts = {&one, 1, true}};
	static struct mig_config layout = {VIEW_INIT("half"), {&part, 1, true}};
	static const struct mig_configs own = {
		.name = VIEW_INIT("node-a-mig-config"),
		.namespace = VIEW_INIT("gpu-operator"),
		.layouts = {&layout, 1, true},
	};

	let_it_make_half(c);
	c->intent.node_layouts_state = INTENT_CONFIG_THERE;
	c->node.layouts = &own;
}

static void tell_own_and_cut(struct drift_case *c)
{
	tell_own(c);
	drift_case_cut(c, 1);
}

static void tell_own_and_cut_as_the_operators(struct drift_case *c)
{
	tell_own(c);
	cut(c);
}

static void tell_own_and_want_another(struct drift_case *c)
{
	tell_own(c);
	want(c, "all-1g.23gb");
}

static void tell_own_and_lack_the_operators(struct drift_case *c)
{
	tell_own_and_cut(c);
	c->intent.mig_configs_state = INTENT_CONFIG_MISSING;
	c->intent.mig_configs = NULL;
}

static void tell_own_unreadably(struct drift_case *c)
{
	static const struct mig_configs own = {
		.name = VIEW_INIT("node-a-mig-config"), .error = VIEW_INIT("line 1")};

	tell_own_and_cut_as_the_operators(c);
	c->node.layouts = &own;
}

static void tell_own_beside_what_is_named(struct drift_case *c)
{
	tell_own_and_cut(c);
	c->policy.mig_config = VIEW("m");
}

static void tell_own_and_lack_what_is_named(struct drift_case *c)
{
	tell_own_beside_what_is_named(c);
	want_unknown_layout(c);
}

static void tell_own_of_before(struct drift_case *c)
{
	tell_own_and_cut(c);
	c->policy.mig_manager_version = VIEW("v0.13.1");
}

static void name_none_and_cut(struct drift_case *c)
{
	cut(c);
	c->policy.mig_config = (struct view){0};
}

static void lack_own_map(struct drift_case *c)
{
	want_half(c);
	name_no_map(c);
	c->intent.mig_configs_state = INTENT_CONFIG_MISSING;
}

static void lack_right_to_own_map(struct drift_case *c)
{
	lack_own_map(c);
	c->intent.mig_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.mig_configs_why = INTENT_CONFIG_NO_RIGHT;
}

static void lack_own_map_and_disable(struct drift_case *c)
{
	lack_own_map(c);
	want_disabled(c);
}

static void lack_own_map_and_cut(struct drift_case *c)
{
	lack_own_map(c);
	want_disabled_and_cut(c);
}

static void want_made_layout(struct drift_case *c)
{
	want_half(c);
	name_no_map(c);
}

static void want_made_disabled(struct drift_case *c)
{
	want_disabled(c);
	name_no_map(c);
}

static void want_made_disabled_and_cut(struct drift_case *c)
{
	want_disabled_and_cut(c);
	name_no_map(c);
}

TEST(mig_devices_are_those_of_the_layout)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, want_disabled, DRIFT_NO},
		{drift_mig_layout, want_disabled_and_cut, DRIFT_FOUND,
		 .intended = "MIG mode off (layout all-disabled of ConfigMap "
			     "gpu-operator/mig-config, label nvidia.com/mig.config)",
		 .observed = "2 of 1g.10gb (NVML)"},
		{drift_mig_layout, want_disabled_and_enable, DRIFT_FOUND,
		 .observed = "MIG mode on, without MIG devices (NVML)"},
		{drift_mig_layout, want_half, DRIFT_FOUND,
		 .intended = "2 of 1g.10gb (layout half of ConfigMap",
		 .observed = "MIG mode off (NVML)"},
		{drift_mig_layout, cut, DRIFT_NO},
		{drift_mig_layout, cut_more, DRIFT_FOUND, .observed = "3 of 1g.10gb"},
		{drift_mig_layout, cut_in_another_way, DRIFT_FOUND,
		 .observed = "1 of 1g.10gb, 2 of 2g.20gb (NVML)"},
		{drift_mig_layout, cut_as_many_others, DRIFT_FOUND},
		{drift_mig_layout, lack_mode, DRIFT_FOUND, .observed = "MIG mode off"},
		{drift_mig_layout, cut_beside, DRIFT_FOUND},
		{drift_mig_layout, cut_two_profiles, DRIFT_NO},
		{drift_mig_layout, cut_one_of_two_profiles, DRIFT_FOUND,
		 .intended = "2 of 1g.10gb, 1 of 2g.20gb (layout"},
		{drift_mig_layout, want_no_instances, DRIFT_FOUND,
		 .intended = "MIG mode on, without MIG devices (layout"},
		{drift_mig_layout, have_no_instances, DRIFT_NO},
		{drift_mig_layout, want_of_other_device, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(a_layout_that_is_not_there_is_a_difference)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, want_unknown_layout, DRIFT_FOUND,
		 .intended = "layout haff of ConfigMap gpu-operator/mig-config",
		 .observed = "the ConfigMap has no such layout", .message = "Write the layout, or set label"},
		{drift_mig_layout, delete_layouts, DRIFT_FOUND,
		 .observed = "there is no such ConfigMap", .message = "Write the layout, or set label"},
		{drift_mig_layout, delete_layouts_of_disabled, DRIFT_FOUND},
		{drift_mig_layout, want_made_disabled, DRIFT_NO},
		{drift_mig_layout, want_made_disabled_and_cut, DRIFT_FOUND,
		 .intended = "MIG mode off (layout all-disabled, label nvidia.com/mig.config)"},
		{drift_mig_layout, want_made_layout, DRIFT_NOT_COMPARED},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(where_no_map_is_named_the_operators_own_counts)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, name_none_and_half, DRIFT_FOUND,
		 .intended = "2 of 1g.10gb (layout half of ConfigMap "
			     "gpu-operator/default-mig-parted-config, label"},
		{drift_mig_layout, name_none_and_cut, DRIFT_NO},
		{drift_mig_layout, lack_own_map, DRIFT_UNREADABLE},
		{drift_mig_layout, lack_right_to_own_map, DRIFT_UNREADABLE},
		{drift_mig_layout, lack_own_map_and_disable, DRIFT_NO},
		{drift_mig_layout, lack_own_map_and_cut, DRIFT_FOUND,
		 .intended = "MIG mode off (layout all-disabled, label nvidia.com/mig.config)"},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(where_the_mig_manager_makes_layouts_a_device_without_one_of_the_map_is_no_drift)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, let_it_make_half, DRIFT_UNREADABLE},
		{drift_mig_layout, let_any_make_half, DRIFT_UNREADABLE},
		{drift_mig_layout, let_it_make_another, DRIFT_UNREADABLE},
		{drift_mig_layout, let_it_make_half_and_cut, DRIFT_NO},
		{drift_mig_layout, let_it_disable_and_cut, DRIFT_FOUND,
		 .intended = "MIG mode off (layout all-disabled of ConfigMap "
			     "gpu-operator/default-mig-parted-config"},
		{drift_mig_layout, lack_layout_in_own_map, DRIFT_FOUND,
		 .observed = "the ConfigMap has no such layout"},
		{drift_mig_layout, let_it_make_what_is_named, DRIFT_FOUND,
		 .intended = "2 of 1g.10gb (layout half of ConfigMap gpu-operator/m,"},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(what_the_nodes_mig_manager_tells_of_its_own_layouts_counts)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, tell_own, DRIFT_FOUND,
		 .intended = "1 of 1g.10gb (layout half of ConfigMap "
			     "gpu-operator/node-a-mig-config, label nvidia.com/mig.config)",
		 .observed = "MIG mode off (NVML)"},
		{drift_mig_layout, tell_own_and_cut, DRIFT_NO},
		{drift_mig_layout, tell_own_and_cut_as_the_operators, DRIFT_FOUND,
		 .intended = "1 of 1g.10gb", .observed = "2 of 1g.10gb"},
		{drift_mig_layout, tell_own_and_want_another, DRIFT_FOUND,
		 .intended = "layout all-1g.23gb of ConfigMap gpu-operator/node-a-mig-config",
		 .observed = "the ConfigMap has no such layout",
		 .message = "name a ConfigMap that has it in migManager.config.name"},
		{drift_mig_layout, tell_own_and_lack_the_operators, DRIFT_NO},
		{drift_mig_layout, tell_own_unreadably, DRIFT_UNREADABLE},
		{drift_mig_layout, tell_own_beside_what_is_named, DRIFT_FOUND,
		 .intended = "2 of 1g.10gb (layout half of ConfigMap gpu-operator/m,"},
		{drift_mig_layout, tell_own_and_lack_what_is_named, DRIFT_FOUND,
		 .observed = "the ConfigMap has no such layout", .message = "Write the layout, or set label"},
		{drift_mig_layout, tell_own_of_before, DRIFT_FOUND,
		 .intended = "gpu-operator/default-mig-parted-config"},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(a_layout_that_goes_by_filters_is_compared_where_the_device_is_known)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, want_filtered_of_this, DRIFT_FOUND,
		 .intended = "2 of 1g.10gb (layout half of ConfigMap",
		 .observed = "MIG mode off (NVML)"},
		{drift_mig_layout, cut_filtered_of_this, DRIFT_NO},
		{drift_mig_layout, balance, DRIFT_FOUND,
		 .intended = "2 of 1g.10gb (layout half of ConfigMap"},
		{drift_mig_layout, balance_and_cut, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

TEST(nothing_is_said_of_a_device_that_the_layout_may_not_mean)
{
	const struct drift_case_row rows[] = {
		{drift_mig_layout, want_filtered, DRIFT_NOT_COMPARED},
		{drift_mig_layout, cut_filtered, DRIFT_NO},
		{drift_mig_layout, want_filtered_of_other, DRIFT_NO},
		{drift_mig_layout, lose_index, DRIFT_CANNOT_TELL},
		{drift_mig_layout, lose_index_under_both, DRIFT_CANNOT_TELL},
		{drift_mig_layout, lose_index_under_all, DRIFT_FOUND},
		{drift_mig_layout, be_unable, DRIFT_CANNOT_TELL},
		{drift_mig_layout, be_unable_and_disabled, DRIFT_NO},
		{drift_mig_layout, forget_partitions, DRIFT_CANNOT_TELL},
		{drift_mig_layout, forget_partitions_and_lack_mode, DRIFT_FOUND,
		 .observed = "MIG mode off (NVML)"},
		{drift_mig_layout, forget_profile, DRIFT_CANNOT_TELL},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* Edits */

static void want_two_profiles(struct drift_case *c)
{
	want_half(c);
	c->counts[1] = (struct mig_config_count){VIEW("2g.20gb"), 1};
	c->parts[1].counts = array_of(c->counts, 2);
}

static void want_more_of_first(struct drift_case *c)
{
	want_two_profiles(c);
	c->counts[0].count = 3;
}

static void want_more_of_second(struct drift_case *c)
{
	want_two_profiles(c);
	c->counts[1].count = 2;
}

static void want_other_second(struct drift_case *c)
{
	want_two_profiles(c);
	c->counts[1].profile = VIEW("3g.20gb");
}

static void want_whole(struct drift_case *c)
{
	cut(c);
	c->parts[1].is_enabled = false;
	c->parts[1].counts.count = 0;
}

static void want_other_unknown_layout(struct drift_case *c)
{
	want(c, "hall");
}

static void want_unknown_layout_of_other_map(struct drift_case *c)
{
	want_unknown_layout(c);
	c->policy.mig_config = VIEW("layouts");
}

static uint32_t hash_of(void (*spoil)(struct drift_case *))
{
	struct drift_case c;
	struct drift_finding finding;

	drift_case_init(&c);
	spoil(&c);
	finding = drift_case_ask(&c, drift_mig_layout);
	drift_case_deinit(&c);
	assert_int_equal(finding.answer, DRIFT_FOUND);
	return finding.intent_hash;
}

/* So its hold-off begins anew. */
TEST(an_edited_layout_is_another_intent)
{
	static const struct {
		void (*before)(struct drift_case *);
		void (*after)(struct drift_case *);
	} rows[] = {
		{want_half, want_two_profiles},
		{want_two_profiles, want_more_of_first},
		{want_two_profiles, want_more_of_second},
		{want_two_profiles, want_other_second},
		{want_no_instances, want_whole},
		{want_half, want_unknown_layout},
		{want_unknown_layout, want_other_unknown_layout},
		{want_unknown_layout, want_unknown_layout_of_other_map},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (hash_of(rows[i].before) == hash_of(rows[i].after))
			fail_msg("row %zu", i);
}

TEST(other_mig_devices_are_no_other_intent)
{
	assert_int_equal(hash_of(want_half), hash_of(cut_more));
}

/* It is published: a new version of the controller does not begin hold-offs anew. */
TEST(a_layout_is_the_same_intent_in_each_version)
{
	assert_int_equal(hash_of(want_half), 0x10e2ef70);
	assert_int_equal(hash_of(want_unknown_layout), 0x48197648);
}

TESTS(NULL, NULL)
