/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/drift_config.h"
#include "assess/drift_hash.h"
#include "assess/drift_plugin.h"
#include "lib/drift_case.h"
#include "lib/expect_status.h"

/* Which configuration it is */

static void use_default(struct drift_case *c)
{
	c->labels.plugin_config = (struct view){0};
	c->policy.plugin_config_default = VIEW("whole");
}

static void name_by_letters(struct drift_case *c)
{
	c->labels.plugin_config = VIEW("s");
	c->configs[0].name = VIEW("s");
}

static void ask_for_no_key(struct drift_case *c)
{
	c->labels.plugin_config = (struct view){0};
}

static void name_no_map(struct drift_case *c)
{
	c->intent.plugin_configs_state = INTENT_CONFIG_NONE;
	c->intent.plugin_configs = NULL;
}

static void forget_labels(struct drift_case *c)
{
	use_default(c);
	c->node.node = NULL;
}

TEST(the_label_names_the_key_and_else_the_default_does)
{
	static const struct {
		void (*spoil)(struct drift_case *c);
		const char *name, *where;
		bool is_there;
	} rows[] = {
		{NULL, "shared", "label nvidia.com/device-plugin.config", true},
		{use_default, "whole", "devicePlugin.config.default", true},
		{name_by_letters, "s", "label nvidia.com/device-plugin.config", true},
		{forget_labels, "whole", "devicePlugin.config.default", true},
		{ask_for_no_key, "", "devicePlugin.config.default", true},
		{name_no_map, "", "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_case c;

		drift_case_init(&c);
		if (rows[i].spoil)
			rows[i].spoil(&c);
		drift_prepare(&c.node);
		assert_true(view_equal(c.node.config_name, view_from(rows[i].name)));
		assert_true(view_equal(c.node.config_where, view_from(rows[i].where)));
		assert_int_equal(c.node.config != NULL, rows[i].is_there);
		drift_case_deinit(&c);
	}
}

/* ConfigMissing */

static void delete_map(struct drift_case *c)
{
	c->intent.plugin_configs_state = INTENT_CONFIG_MISSING;
	c->intent.plugin_configs = NULL;
}

static void delete_map_without_key(struct drift_case *c)
{
	delete_map(c);
	ask_for_no_key(c);
}

static void empty_map(struct drift_case *c)
{
	c->plugin_configs.configs.count = 0;
}

static void name_other_key(struct drift_case *c)
{
	c->labels.plugin_config = VIEW("shred");
}

static void name_other_key_by_letter(struct drift_case *c)
{
	c->labels.plugin_config = VIEW("x");
}

static void default_to_other_key(struct drift_case *c)
{
	use_default(c);
	c->policy.plugin_config_default = VIEW("wole");
}

static void lose_map(struct drift_case *c)
{
	c->intent.plugin_configs_state = INTENT_CONFIG_UNREADABLE;
	c->intent.plugin_configs = NULL;
}

static void forget_node(struct drift_case *c)
{
	c->node.node = NULL;
}

static void lose_map_and_switch_off(struct drift_case *c)
{
	lose_map(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void delete_map_and_switch_off(struct drift_case *c)
{
	delete_map(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

TEST(the_configuration_is_there)
{
	const struct drift_case_row rows[] = {
		{drift_config_missing, NULL, DRIFT_NO},
		{drift_config_missing, name_other_key, DRIFT_FOUND,
		 .intended = "ConfigMap gpu-operator/plugin-config, key shred (label "
			     "nvidia.com/device-plugin.config)",
		 .observed = "the ConfigMap has no such key"},
		{drift_config_missing, name_other_key_by_letter, DRIFT_FOUND,
		 .intended = "key x (label nvidia.com/device-plugin.config)"},
		{drift_config_missing, default_to_other_key, DRIFT_FOUND,
		 .intended = "key wole (devicePlugin.config.default)"},
		{drift_config_missing, delete_map, DRIFT_FOUND,
		 .observed = "there is no such ConfigMap"},
		{drift_config_missing, delete_map_without_key, DRIFT_FOUND,
		 .intended = "no key is asked for (devicePlugin.config.name)"},
		{drift_config_missing, empty_map, DRIFT_FOUND,
		 .observed = "the ConfigMap has no key"},
		{drift_config_missing, ask_for_no_key, DRIFT_NO},
		{drift_config_missing, lose_map, DRIFT_UNREADABLE},
		{drift_config_missing, forget_node, DRIFT_CANNOT_TELL},
		{drift_config_missing, name_no_map, DRIFT_NO},
		{drift_config_missing, delete_map_and_switch_off, DRIFT_NO},
		{drift_config_missing, lose_map_and_switch_off, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* ConfigInvalid */

static void break_text(struct drift_case *c)
{
	c->configs[0].error = VIEW("line 3, column 5: replicas is 1, and must be 2 or more");
}

static void break_text_and_switch_off(struct drift_case *c)
{
	break_text(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

static void break_other_text(struct drift_case *c)
{
	c->configs[1].error = VIEW("line 1");
}

static void write_mps(struct drift_case *c)
{
	c->configs[0].sharing = PLUGIN_CONFIG_MPS;
}

static void write_mps_with_mixed(struct drift_case *c)
{
	write_mps(c);
	c->configs[0].mig_strategy = VIEW("mixed");
}

static void write_mps_with_mixed_policy(struct drift_case *c)
{
	write_mps(c);
	c->policy.mig_strategy = VIEW("mixed");
}

static void write_mps_with_mixed_that_is_overridden(struct drift_case *c)
{
	write_mps_with_mixed(c);
	c->policy.mig_strategy = VIEW("single");
}

static void write_mps_with(struct drift_case *c, const char *strategy)
{
	write_mps(c);
	c->configs[0].mig_strategy = view_from(strategy);
	c->devices[1].mig.current = true;
}

static void write_mps_with_single(struct drift_case *c)
{
	write_mps_with(c, "single");
	c->devices[1].mig.current = false;
}

static void write_mps_with_mig_devices(struct drift_case *c)
{
	write_mps_with(c, "single");
	c->labels.mig_config_state = VIEW("success");
}

static void write_mps_with_mig_devices_of_the_first(struct drift_case *c)
{
	write_mps_with_single(c);
	c->devices[0].mig.current = true;
}

static void write_mps_with_mig_devices_by_policy(struct drift_case *c)
{
	write_mps_with(c, "none");
	c->policy.mig_strategy = VIEW("single");
}

static void write_mps_for_devices_in_mig_mode_as_a_whole(struct drift_case *c)
{
	write_mps_with(c, "single");
	c->policy.mig_strategy = VIEW("none");
}

static void write_slices_of_mig_devices(struct drift_case *c)
{
	write_mps_with(c, "single");
	c->configs[0].sharing = PLUGIN_CONFIG_TIME_SLICING;
}

static void write_mps_and_lose_the_mig_device(struct drift_case *c)
{
	write_mps_with(c, "single");
	c->devices[1].condition.lost = true;
}

static void write_mps_while_mig_changes(struct drift_case *c)
{
	write_mps_with(c, "single");
	c->labels.mig_config_state = VIEW("pending");
}

/* The label has told of it since 1970. */
static void write_mps_while_mig_is_said_to_change(struct drift_case *c)
{
	write_mps_while_mig_changes(c);
	c->published_pending[0] = (struct attribution_pending_drift){VIEW("MIGReconfiguration"), 1};
	c->published.pending = array_of(c->published_pending, 1);
}

static void write_unknown_strategy(struct drift_case *c)
{
	c->configs[0].mig_strategy = VIEW("Single");
}

static void write_letter_for_strategy(struct drift_case *c)
{
	c->configs[0].mig_strategy = VIEW("x");
}

static void write_unknown_strategy_that_is_overridden(struct drift_case *c)
{
	write_unknown_strategy(c);
	c->policy.mig_strategy = VIEW("single");
}

static void write_unknown_strategy_that_a_letter_overrides(struct drift_case *c)
{
	write_unknown_strategy(c);
	c->policy.mig_strategy = VIEW("x");
}

static void write_unknown_strategy_that_a_variable_overrides(struct drift_case *c)
{
	write_unknown_strategy(c);
	c->variables[0] = (struct policy_variable){VIEW("MIG_STRATEGY"), VIEW("single")};
	c->policy.plugin_env = array_of(c->variables, 1);
}

static void write_strategy_of(struct drift_case *c, const char *strategy)
{
	c->configs[0].mig_strategy = view_from(strategy);
}

static void write_none_for_strategy(struct drift_case *c)
{
	write_strategy_of(c, "none");
}

static void write_single_for_strategy(struct drift_case *c)
{
	write_strategy_of(c, "single");
}

static void write_mixed_for_strategy(struct drift_case *c)
{
	write_strategy_of(c, "mixed");
}

static void write_mps_for_many(struct drift_case *c)
{
	write_mps(c);
	c->shared[0].replicas = 49;
}

static void write_mps_for_many_parts(struct drift_case *c)
{
	write_mps(c);
	c->shared[1] = (struct plugin_config_shared){VIEW("nvidia.com/mig-1g.10gb"), 50};
	c->configs[0].shared = array_of(c->shared, 2);
}

static void write_mps_for_most(struct drift_case *c)
{
	write_mps(c);
	c->shared[0].replicas = 48;
}

static void write_mps_for_16_of(struct drift_case *c, const char *capability, int64_t replicas)
{
	write_mps(c);
	c->devices[1].compute_capability = view_from(capability);
	c->shared[0].replicas = replicas;
}

static void write_mps_for_an_older_one(struct drift_case *c)
{
	write_mps_for_16_of(c, "7.0", 17);
}

static void write_mps_for_most_of_an_older_one(struct drift_case *c)
{
	write_mps_for_16_of(c, "6.1", 16);
}

static void write_mps_for_many_on_turing(struct drift_case *c)
{
	write_mps_for_16_of(c, "7.5", 48);
}

static void write_mps_for_many_on_blackwell(struct drift_case *c)
{
	write_mps_for_16_of(c, "10.0", 48);
}

static void write_mps_for_a_former_architecture(struct drift_case *c)
{
	write_mps_for_16_of(c, "6.1", 17);
}

static void write_mps_for_just_too_old_a_one(struct drift_case *c)
{
	write_mps_for_16_of(c, "7.4", 17);
}

static void write_mps_for_an_older_first_one(struct drift_case *c)
{
	write_mps_for_16_of(c, "", 17);
	c->devices[0].compute_capability = VIEW("7.0");
}

static void write_mps_for_who_knows_which(struct drift_case *c)
{
	write_mps_for_16_of(c, "x.1", 48);
	c->devices[0].compute_capability = VIEW("6.x");
}

static void write_mps_for_half_a_capability(struct drift_case *c)
{
	write_mps_for_16_of(c, "6", 48);
}

static void write_unsupported(struct drift_case *c)
{
	c->configs[0].unsupported = VIEW("?");
}

TEST(the_plugin_accepts_the_configuration)
{
	const struct drift_case_row rows[] = {
		{drift_config_invalid, NULL, DRIFT_NO},
		{drift_config_invalid, break_text, DRIFT_FOUND,
		 .intended = "accepts (ConfigMap gpu-operator/plugin-config, key shared)",
		 .observed = "line 3, column 5"},
		{drift_config_invalid, break_other_text, DRIFT_NO},
		{drift_config_invalid, write_mps, DRIFT_NO},
		{drift_config_invalid, write_mps_with_mixed, DRIFT_FOUND,
		 .observed = "refuses with MIG strategy mixed"},
		{drift_config_invalid, write_mps_with_mixed_policy, DRIFT_FOUND},
		{drift_config_invalid, write_mps_with_mixed_that_is_overridden, DRIFT_NO},
		{drift_config_invalid, write_mps_with_single, DRIFT_NO},
		{drift_config_invalid, write_mps_with_mig_devices, DRIFT_FOUND,
		 .observed = "sharing.mps, which the plugin refuses for MIG devices"},
		{drift_config_invalid, write_mps_with_mig_devices_of_the_first, DRIFT_FOUND},
		{drift_config_invalid, write_mps_with_mig_devices_by_policy, DRIFT_FOUND},
		{drift_config_invalid, write_mps_for_devices_in_mig_mode_as_a_whole, DRIFT_NO},
		{drift_config_invalid, write_slices_of_mig_devices, DRIFT_NO},
		{drift_config_invalid, write_mps_and_lose_the_mig_device, DRIFT_NO},
		{drift_config_invalid, write_mps_while_mig_changes, DRIFT_NO},
		{drift_config_invalid, write_mps_while_mig_is_said_to_change, DRIFT_FOUND},
		{drift_config_invalid, write_unknown_strategy, DRIFT_FOUND,
		 .observed = "flags.migStrategy is Single, and not none, single or mixed (the key's"},
		{drift_config_invalid, write_letter_for_strategy, DRIFT_FOUND},
		{drift_config_invalid, write_unknown_strategy_that_is_overridden, DRIFT_NO},
		{drift_config_invalid, write_unknown_strategy_that_a_letter_overrides, DRIFT_NO},
		{drift_config_invalid, write_unknown_strategy_that_a_variable_overrides, DRIFT_NO},
		{drift_config_invalid, write_none_for_strategy, DRIFT_NO},
		{drift_config_invalid, write_single_for_strategy, DRIFT_NO},
		{drift_config_invalid, write_mixed_for_strategy, DRIFT_NO},
		{drift_config_invalid, write_mps_for_most, DRIFT_NO},
		{drift_config_invalid, write_mps_for_many, DRIFT_FOUND,
		 .observed = "49 replicas of nvidia.com/gpu by MPS, which allows 48"},
		{drift_config_invalid, write_mps_for_an_older_one, DRIFT_FOUND,
		 .observed = "17 replicas of nvidia.com/gpu by MPS, which allows 16"},
		{drift_config_invalid, write_mps_for_a_former_architecture, DRIFT_FOUND},
		{drift_config_invalid, write_mps_for_just_too_old_a_one, DRIFT_FOUND},
		{drift_config_invalid, write_mps_for_an_older_first_one, DRIFT_FOUND},
		{drift_config_invalid, write_mps_for_who_knows_which, DRIFT_NO},
		{drift_config_invalid, write_mps_for_half_a_capability, DRIFT_NO},
		{drift_config_invalid, write_mps_for_most_of_an_older_one, DRIFT_NO},
		{drift_config_invalid, write_mps_for_many_on_turing, DRIFT_NO},
		{drift_config_invalid, write_mps_for_many_on_blackwell, DRIFT_NO},
		{drift_config_invalid, write_mps_for_many_parts, DRIFT_FOUND,
		 .observed = "50 replicas of nvidia.com/mig-1g.10gb"},
		{drift_config_invalid, write_unsupported, DRIFT_UNREADABLE},
		{drift_config_invalid, lose_map, DRIFT_UNREADABLE},
		{drift_config_invalid, name_other_key, DRIFT_NO},
		{drift_config_invalid, name_no_map, DRIFT_NO},
		{drift_config_invalid, break_text_and_switch_off, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* ConfigNotLoaded: the text said 8 replicas before, and those are on offer. */

static void offer_8(struct drift_case *c)
{
	drift_case_offer(c, "nvidia.com/gpu", 8, true, false);
	c->plugin_configs.former = array_of(c->former, 1);
}

static void offer_8_by_mps(struct drift_case *c)
{
	offer_8(c);
	c->status.sharing.mode = ATTRIBUTION_MODE_MPS;
}

static void edit_twice(struct drift_case *c)
{
	offer_8(c);
	c->former[1] = c->former[0];
	c->former[0].shared = array_of(&c->former_shared[1], 1);
	c->former_shared[1] = (struct plugin_config_shared){VIEW("nvidia.com/gpu"), 6};
	c->plugin_configs.former = array_of(c->former, 2);
}

static void edit_other_key(struct drift_case *c)
{
	offer_8(c);
	c->former[0].name = VIEW("whole");
}

static void edit_broken(struct drift_case *c)
{
	offer_8(c);
	c->former[0].error = VIEW("line 1");
}

static void edit_unsupported(struct drift_case *c)
{
	offer_8(c);
	c->former[0].unsupported = VIEW("line 1");
}

static void edit_in_effect(struct drift_case *c)
{
	c->plugin_configs.former = array_of(c->former, 1);
}

static void edit_strategy(struct drift_case *c)
{
	c->former[0] = c->configs[0];
	c->former[0].mig_strategy = VIEW("mixed");
	c->configs[0].mig_strategy = VIEW("single");
	c->plugin_configs.former = array_of(c->former, 1);
	drift_case_offer(c, "nvidia.com/mig-1g.10gb", 1, false, true);
	c->status.sharing.mode = ATTRIBUTION_MODE_MIG;
}

static void edit_strategy_without_offer(struct drift_case *c)
{
	edit_strategy(c);
	c->device.n_offers = 0;
}

static void edit_name(struct drift_case *c)
{
	c->former[0] = c->configs[0];
	c->former[0].is_renamed = true;
	c->plugin_configs.former = array_of(c->former, 1);
	drift_case_offer(c, "nvidia.com/gpu.shared", 4, true, false);
}

static void edit_overridden_strategy(struct drift_case *c)
{
	edit_strategy(c);
	c->policy.mig_strategy = VIEW("mixed");
}

static void forget_former(struct drift_case *c)
{
	offer_8(c);
	c->plugin_configs.former.count = 0;
}

static uint32_t hash_of_key(const char *key)
{
	return drift_hash(drift_hash(drift_hash(0, VIEW("gpu-operator")), VIEW("plugin-config")),
			  view_from(key));
}

static void publish(struct drift_case *c, struct view type)
{
	c->published_drifts[0] = (struct attribution_drift){.type = VIEW("ConfigDead")};
	c->published_drifts[1] = (struct attribution_drift){
		.type = type,
		.start_time = 1,
		.intent_hash = hash_of_key("shared"),
	};
	c->published.drifts = array_of(c->published_drifts, 2);
}

static void forget_former_of_published(struct drift_case *c)
{
	forget_former(c);
	publish(c, VIEW("ConfigNotLoaded"));
}

static void forget_former_of_other_key(struct drift_case *c)
{
	forget_former_of_published(c);
	c->published_drifts[1].intent_hash = hash_of_key("sharp");
}

static void forget_former_of_pending(struct drift_case *c)
{
	forget_former(c);
	c->published_pending[0] = (struct attribution_pending_drift){VIEW("MPSNotRunning"), 1};
	c->published_pending[1] = (struct attribution_pending_drift){VIEW("ConfigNotLoaded"), 1};
	c->published.pending = array_of(c->published_pending, 2);
}

static void forget_former_of_pending_of_other_key(struct drift_case *c)
{
	forget_former_of_pending(c);
	c->published_pending[1].intent_hash = hash_of_key("sharp");
}

/* As versions before published it. */
static void forget_former_of_published_of_some_key(struct drift_case *c)
{
	forget_former_of_published(c);
	c->published_drifts[1].intent_hash = 0;
}

static void forget_former_of_another_pending(struct drift_case *c)
{
	forget_former_of_pending(c);
	c->published.pending.count = 1;
}

static void forget_former_of_first_published(struct drift_case *c)
{
	forget_former_of_published(c);
	c->published_drifts[0] = c->published_drifts[1];
	c->published.drifts.count = 1;
}

static void forget_former_of_first_pending(struct drift_case *c)
{
	forget_former_of_pending(c);
	c->published_pending[0].type = VIEW("ConfigNotLoaded");
	c->published.pending.count = 1;
}

/* The label was changed while it was pending. */
static void name_this_key_while_pending(struct drift_case *c)
{
	offer_8(c);
	forget_former_of_pending(c);
	c->former[0].name = VIEW("whole");
	c->plugin_configs.former = array_of(c->former, 1);
}

static void edit_another_while_pending(struct drift_case *c)
{
	name_this_key_while_pending(c);
	c->former_shared[0].replicas = 6;
}

static void edit_strategy_under_letter(struct drift_case *c)
{
	edit_strategy(c);
	c->policy.mig_strategy = VIEW("?");
}

static void load_what_was_published(struct drift_case *c)
{
	publish(c, VIEW("ConfigNotLoaded"));
}

static void forget_former_of_another(struct drift_case *c)
{
	forget_former(c);
	publish(c, VIEW("ReplicaCount"));
}

static void name_no_map_unseen(struct drift_case *c)
{
	name_no_map(c);
	c->node.is_offer_known = false;
}

static void forget_offer(struct drift_case *c)
{
	offer_8(c);
	c->node.is_offer_known = false;
}

static void offer_nothing(struct drift_case *c)
{
	offer_8(c);
	c->device.n_offers = 0;
}

static void edit_and_lose(struct drift_case *c)
{
	offer_8(c);
	lose_map(c);
}

static void edit_and_ask_for_no_key(struct drift_case *c)
{
	offer_8(c);
	ask_for_no_key(c);
}

static void edit_and_switch_off(struct drift_case *c)
{
	offer_8(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

TEST(an_edited_text_has_no_effect_until_the_plugin_reads_it)
{
	const struct drift_case_row rows[] = {
		{drift_config_not_loaded, NULL, DRIFT_NO},
		{drift_config_not_loaded, offer_8, DRIFT_FOUND,
		 .intended = "time-slicing, 4 replicas of nvidia.com/gpu (ConfigMap "
			     "gpu-operator/plugin-config, key shared)",
		 .observed = "time-slicing, 8 replicas of nvidia.com/gpu, as the key said before"},
		{drift_config_not_loaded, edit_twice, DRIFT_FOUND, .observed = "8 replicas"},
		{drift_config_not_loaded, edit_strategy, DRIFT_FOUND},
		{drift_config_not_loaded, edit_overridden_strategy, DRIFT_NO},
		{drift_config_not_loaded, offer_8_by_mps, DRIFT_NO},
		{drift_config_not_loaded, edit_other_key, DRIFT_NO},
		{drift_config_not_loaded, edit_broken, DRIFT_NO},
		{drift_config_not_loaded, edit_unsupported, DRIFT_NO},
		{drift_config_not_loaded, edit_in_effect, DRIFT_NO},
		{drift_config_not_loaded, forget_former, DRIFT_NO},
		{drift_config_not_loaded, forget_former_of_published, DRIFT_FOUND,
		 .observed = "time-slicing, 8 replicas of nvidia.com/gpu, as the key said before"},
		{drift_config_not_loaded, forget_former_of_pending, DRIFT_FOUND},
		{drift_config_not_loaded, forget_former_of_another_pending, DRIFT_NO},
		{drift_config_not_loaded, forget_former_of_first_published, DRIFT_FOUND},
		{drift_config_not_loaded, forget_former_of_first_pending, DRIFT_FOUND},
		{drift_config_not_loaded, name_this_key_while_pending, DRIFT_NO},
		{drift_config_not_loaded, edit_another_while_pending, DRIFT_FOUND},
		{drift_config_not_loaded, edit_strategy_under_letter, DRIFT_NO},
		{drift_config_not_loaded, load_what_was_published, DRIFT_NO},
		{drift_config_not_loaded, edit_name, DRIFT_FOUND},
		{drift_config_not_loaded, edit_strategy_without_offer, DRIFT_NO},
		{drift_config_not_loaded, name_no_map_unseen, DRIFT_NO},
		{drift_config_not_loaded, forget_former_of_another, DRIFT_NO},
		{drift_config_not_loaded, forget_former_of_other_key, DRIFT_NO},
		{drift_config_not_loaded, forget_former_of_pending_of_other_key, DRIFT_NO},
		{drift_config_not_loaded, forget_former_of_published_of_some_key, DRIFT_FOUND},
		{drift_config_not_loaded, forget_offer, DRIFT_CANNOT_TELL},
		{drift_config_not_loaded, edit_and_lose, DRIFT_UNREADABLE},
		{drift_config_not_loaded, offer_nothing, DRIFT_NO},
		{drift_config_not_loaded, edit_and_ask_for_no_key, DRIFT_NO},
		{drift_config_not_loaded, edit_and_switch_off, DRIFT_NO},
		{drift_config_not_loaded, name_no_map, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* With another key the hold-off begins anew. */
TEST(what_is_found_of_a_configuration_has_the_hash_of_its_key)
{
	static const struct {
		drift_rule_fn *rule;
		void (*spoil)(struct drift_case *c);
		const char *key;
	} rows[] = {
		{drift_config_missing, name_other_key, "shred"},
		{drift_config_invalid, break_text, "shared"},
		{drift_config_not_loaded, offer_8, "shared"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_case c;

		drift_case_init(&c);
		rows[i].spoil(&c);
		assert_int_equal(drift_case_ask(&c, rows[i].rule).intent_hash,
				 hash_of_key(rows[i].key));
		drift_case_deinit(&c);
	}
}

/* ConfigDead */

static void write_dead(struct drift_case *c)
{
	c->configs[0].dead = PLUGIN_CONFIG_DEAD_RESOURCES | PLUGIN_CONFIG_DEAD_SLICING;
}

static void write_rename(struct drift_case *c)
{
	c->configs[0].dead = PLUGIN_CONFIG_DEAD_RENAME;
}

static void write_devices(struct drift_case *c)
{
	c->configs[0].dead = PLUGIN_CONFIG_DEAD_DEVICES;
}

static void write_flags(struct drift_case *c)
{
	c->configs[0].dead = PLUGIN_CONFIG_DEAD_MPS_ROOT;
}

#define ENVVAR PLUGIN_CONFIG_LIST_ENVVAR
#define ANNOTATIONS PLUGIN_CONFIG_LIST_CDI_ANNOTATIONS
#define CRI PLUGIN_CONFIG_LIST_CDI_CRI
#define OTHER PLUGIN_CONFIG_LIST_OTHER

/* What the operator sets depends on cdi.enabled, and where that is not written, on its version. */
TEST(device_lists_have_an_effect_where_the_operator_sets_them)
{
	static const struct {
		uint32_t lists;
		bool is_dead[3]; /* enum policy_switch */
	} rows[] = {
		{0, {false, false, false}},
		{ENVVAR, {[POLICY_ON] = true}},
		{ANNOTATIONS, {[POLICY_OFF] = true}},
		{CRI, {[POLICY_OFF] = true}},
		{ANNOTATIONS | CRI, {[POLICY_OFF] = true}},
		{ENVVAR | ANNOTATIONS, {[POLICY_OFF] = true}}, /* by CDI before v25.10 */
		{ENVVAR | CRI, {true, true, true}},
		{ENVVAR | ANNOTATIONS | CRI, {true, true, true}},
		{OTHER, {true, true, true}},
		{ENVVAR | OTHER, {true, true, true}},
		{CRI | OTHER, {true, true, true}},
	};

	for (size_t i = 0; i < 3 * ARRAY_SIZE(rows); i++) {
		struct drift_finding finding;
		struct drift_case c;

		drift_case_init(&c);
		c.configs[0].device_lists = rows[i / 3].lists;
		c.policy.switches[POLICY_CDI] = (uint8_t)(i % 3);
		finding = drift_case_ask(&c, drift_config_dead);
		if ((finding.answer == DRIFT_FOUND) != rows[i / 3].is_dead[i % 3])
			fail_msg("row %zu, switch %zu", i / 3, i % 3);
		if (finding.answer == DRIFT_FOUND)
			expect_text(finding.observed, "without effect: flags that the operator's "
						      "variables override (the key's text)");
		drift_case_deinit(&c);
	}
}

static void set_variable(struct drift_case *c, const char *name, const char *value)
{
	c->variables[0] = (struct policy_variable){VIEW("OTHER"), VIEW("x")};
	c->variables[1] = (struct policy_variable){view_from(name), view_from(value)};
	c->policy.plugin_env = array_of(c->variables, 2);
}

static void set_argument(struct drift_case *c, const char *argument)
{
	c->arguments[0] = view_from(argument);
	c->policy.plugin_args = array_of(c->arguments, 1);
}

/* Then it is the policy that decides, and nobody is misled by what the operator sets for all. */
TEST(a_flag_that_the_policy_sets_by_itself_is_not_dead)
{
	static const struct {
		uint32_t dead, lists;
		const char *variable, *flag;
	} rows[] = {
		{PLUGIN_CONFIG_DEAD_FAIL_ON_INIT_ERROR, 0, "FAIL_ON_INIT_ERROR",
		 "--fail-on-init-error"},
		{PLUGIN_CONFIG_DEAD_MPS_ROOT, 0, "MPS_ROOT", "--mps-root=/mps"},
		{PLUGIN_CONFIG_DEAD_PASS_DEVICE_SPECS, 0, "PASS_DEVICE_SPECS",
		 "--pass-device-specs=false"},
		{PLUGIN_CONFIG_DEAD_DEVICE_ID_STRATEGY, 0, "DEVICE_ID_STRATEGY",
		 "--device-id-strategy=index"},
		{0, OTHER, "DEVICE_LIST_STRATEGY", "-device-list-strategy=envvar"},
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows) * ARRAY_SIZE(rows); i++) {
		const size_t set = i / 2 % ARRAY_SIZE(rows), written = i / 2 / ARRAY_SIZE(rows);
		struct drift_case c;

		drift_case_init(&c);
		c.configs[0].dead = rows[written].dead;
		c.configs[0].device_lists = rows[written].lists;
		if (i % 2 == 0)
			set_variable(&c, rows[set].variable, "");
		else
			set_argument(&c, rows[set].flag);
		if (drift_case_ask(&c, drift_config_dead).answer !=
		    (set == written ? DRIFT_NO : DRIFT_FOUND))
			fail_msg("flag %zu, %s %zu", written, i % 2 ? "argument" : "variable", set);
		drift_case_deinit(&c);
	}
}

static void write_letters(struct drift_case *c)
{
	c->configs[0].mig_strategy = VIEW("a");
	c->policy.mig_strategy = VIEW("b");
}

static void write_all_dead(struct drift_case *c)
{
	c->configs[0].dead = PLUGIN_CONFIG_DEAD_RENAME | PLUGIN_CONFIG_DEAD_DEVICES |
			     PLUGIN_CONFIG_DEAD_PASS_DEVICE_SPECS;
	c->configs[0].mig_strategy = VIEW("single");
	c->policy.mig_strategy = VIEW("mixed");
}

static void override_strategy(struct drift_case *c)
{
	c->configs[0].mig_strategy = VIEW("single");
	c->policy.mig_strategy = VIEW("mixed");
}

static void override_strategy_by_variable(struct drift_case *c)
{
	c->configs[0].mig_strategy = VIEW("single");
	set_variable(c, "MIG_STRATEGY", "mixed");
}

static void override_strategy_of_policy_by_variable(struct drift_case *c)
{
	override_strategy(c);
	set_variable(c, "MIG_STRATEGY", "single");
}

static void override_strategy_by_argument(struct drift_case *c)
{
	override_strategy_of_policy_by_variable(c);
	set_argument(c, "--mig-strategy=mixed");
}

static void write_dead_in_unread_file(struct drift_case *c)
{
	write_dead(c);
	set_argument(c, "--config-file=/other");
}

static void override_strategy_of_no_mig(struct drift_case *c)
{
	override_strategy(c);
	c->labels.mig_capable = VIEW("false");
}

static void repeat_strategy(struct drift_case *c)
{
	c->configs[0].mig_strategy = VIEW("mixed");
	c->policy.mig_strategy = VIEW("mixed");
}

static void write_strategy(struct drift_case *c)
{
	c->configs[0].mig_strategy = VIEW("mixed");
}

static void write_dead_and_lose(struct drift_case *c)
{
	write_dead(c);
	lose_map(c);
}

static void write_dead_and_switch_off(struct drift_case *c)
{
	write_dead(c);
	c->policy.switches[POLICY_DEVICE_PLUGIN] = POLICY_OFF;
}

TEST(what_is_written_has_an_effect)
{
	const struct drift_case_row rows[] = {
		{drift_config_dead, NULL, DRIFT_NO},
		{drift_config_dead, write_dead, DRIFT_FOUND,
		 .intended = "has an effect (ConfigMap gpu-operator/plugin-config, key shared)",
		 .observed = "without effect: resources, timeSlicing beside mps (the key's text)"},
		{drift_config_dead, write_all_dead, DRIFT_FOUND,
		 .observed = "rename, devices, flags that the operator's variables override, "
			     "flags.migStrategy"},
		{drift_config_dead, write_rename, DRIFT_FOUND, .observed = "effect: rename (the"},
		{drift_config_dead, write_devices, DRIFT_FOUND, .observed = "effect: devices (the"},
		{drift_config_dead, write_flags, DRIFT_FOUND, .observed = "override (the key's text)"},
		{drift_config_dead, write_letters, DRIFT_FOUND},
		{drift_config_dead, override_strategy, DRIFT_FOUND,
		 .observed = "without effect: flags.migStrategy, which mig.strategy of the policy "
			     "overrides (the"},
		{drift_config_dead, override_strategy_by_variable, DRIFT_FOUND,
		 .observed = "without effect: flags.migStrategy, which devicePlugin.env of the policy "
			     "overrides (the"},
		{drift_config_dead, override_strategy_of_policy_by_variable, DRIFT_NO},
		{drift_config_dead, override_strategy_by_argument, DRIFT_FOUND,
		 .observed = "without effect: flags.migStrategy, which devicePlugin.args of the policy "
			     "overrides (the"},
		{drift_config_dead, write_dead_in_unread_file, DRIFT_NOT_COMPARED},
		{drift_config_dead, override_strategy_of_no_mig, DRIFT_NO},
		{drift_config_dead, repeat_strategy, DRIFT_NO},
		{drift_config_dead, write_strategy, DRIFT_NO},
		{drift_config_dead, write_dead_and_lose, DRIFT_UNREADABLE},
		{drift_config_dead, write_dead_and_switch_off, DRIFT_NO},
		{drift_config_dead, ask_for_no_key, DRIFT_NO},
		{drift_config_dead, name_no_map, DRIFT_NO},
	};
	drift_case_expect(rows, ARRAY_SIZE(rows));
}

/* Why it cannot be read */

static void lose_namespace(struct drift_case *c)
{
	lose_map(c);
	c->policy.namespace = (struct view){0};
}

static void lose_map_of_no_policy(struct drift_case *c)
{
	lose_map(c);
	c->intent.policy = NULL;
}

TEST(each_cause_that_keeps_a_config_map_from_being_read_is_named)
{
	static const char *const texts[] = {
		[INTENT_CONFIG_NOT_YET] = "it has not been read yet",
		[INTENT_CONFIG_NO_RIGHT] = "the controller has no right to; manifests/intent grants it",
		[INTENT_CONFIG_TOO_LARGE] =
			"it is larger than the controller takes; its log says which limit",
		[INTENT_CONFIG_MALFORMED] = "it is malformed; the controller's log says where",
		[INTENT_CONFIG_NO_ANSWER] = "requests for it fail; the controller's log says why",
		[INTENT_CONFIG_NO_PLACE] = "the operator's namespace (status.namespace) is no name",
	};

	assert_int_equal(ARRAY_SIZE(texts), INTENT_N_CONFIG_WHYS);
	for (int why = 0; why < INTENT_N_CONFIG_WHYS; why++) {
		struct drift_case c;
		char text[200];

		drift_case_init(&c);
		lose_map(&c);
		c.intent.plugin_configs_why = (enum intent_config_why)why;
		drift_prepare(&c.node);
		c.text = (struct drift_text){.arena = &c.arena};
		snprintf(text, sizeof(text), "ConfigMap gpu-operator/plugin-config cannot be read: %s",
			 texts[why]);
		expect_text(drift_plugin_say_unreadable(&c.node, &c.text), text);
		drift_case_deinit(&c);
	}
}

TEST(it_is_said_why_a_configuration_cannot_be_read)
{
	static const struct {
		void (*spoil)(struct drift_case *c);
		const char *text;
	} rows[] = {
		{NULL, ""},
		{lose_map,
		 "ConfigMap gpu-operator/plugin-config cannot be read: it has not been read yet"},
		{lose_namespace, "ConfigMap plugin-config cannot be read: ClusterPolicy cluster-policy "
				 "does not tell the operator's namespace (status.namespace)"},
		{write_unsupported,
		 "ConfigMap gpu-operator/plugin-config cannot be read, key shared: ?"},
		{lose_map_of_no_policy, ""},
		{lose_map_and_switch_off, ""},
		{name_no_map, ""},
		{forget_node, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_case c;

		drift_case_init(&c);
		if (rows[i].spoil)
			rows[i].spoil(&c);
		drift_prepare(&c.node);
		c.text = (struct drift_text){.arena = &c.arena};
		expect_text(drift_plugin_say_unreadable(&c.node, &c.text), rows[i].text);
		drift_case_deinit(&c);
	}
}

TESTS(NULL, NULL)
