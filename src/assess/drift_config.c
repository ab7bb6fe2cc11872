/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_config.h"

#include <assert.h>

#include "assess/drift_mig.h"
#include "assess/drift_plugin.h"
#include "assess/drift_settling.h"
#include "assess/drift_sharing.h"
#include "assess/drift_text.h"

/* The plugin allows no more clients of MPS on a GPU, and on older ones than compute capability 7.5. */
#define MOST_MPS_REPLICAS 48
#define MOST_OLD_MPS_REPLICAS 16

/* What is missing; empty: nothing is. */
static struct view find_missing(const struct drift_node *node)
{
	const struct intent *intent = node->intent;

	if (intent->plugin_configs_state == INTENT_CONFIG_MISSING)
		return VIEW("there is no such ConfigMap (API server)");
	assert(intent->plugin_configs_state == INTENT_CONFIG_THERE);
	if (intent->plugin_configs->configs.count == 0)
		return VIEW("the ConfigMap has no key (API server)");
	return node->config ? (struct view){0} : VIEW("the ConfigMap has no such key (API server)");
}

struct drift_finding drift_config_missing(const struct drift_node *node,
					  const struct drift_device *device,
					  struct drift_text *text)
{
	const enum drift_operand_want want = drift_plugin_want(node);
	struct view missing;

	(void)device;
	if (want == DRIFT_OPERAND_UNKNOWN ||
	    (want == DRIFT_OPERAND_WANTED &&
	     node->intent->plugin_configs_state == INTENT_CONFIG_UNREADABLE))
		return drift_plugin_untold(node);
	missing = want == DRIFT_OPERAND_WANTED ? find_missing(node) : (struct view){0};
	if (missing.len == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_plugin_hash(node),
		.intended = drift_text(text, "% (%)",
				       drift_plugin_source(node, text),
				       node->config_name.len > 0
							? node->config_where
							: VIEW("devicePlugin.config.name")),
		.observed = missing,
		.message = VIEW("Write the key, or name one that is there: until then the device "
				"plugin does not start anew."),
	};
}

/* "6.1" is older than 7.5, "10.0" is not; what is not told is not older. */
static bool is_old(const struct report_device *device)
{
	int64_t major, minor;
	struct view left, right;

	if (!view_cut(device->compute_capability, VIEW("."), &left, &right) ||
	    !view_parse_i64(left, &major) || !view_parse_i64(right, &minor))
		return false;
	return major < 7 || (major == 7 && minor < 5);
}

static int64_t most_mps_replicas(const struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++)
		if (is_old(ARRAY_AT(devices, struct report_device, i)))
			return MOST_OLD_MPS_REPLICAS;
	return MOST_MPS_REPLICAS;
}

/* The mode of a lost device is the last that was read. */
static bool is_any_in_mig_mode(const struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct report_device *device = ARRAY_AT(devices, struct report_device, i);

		if (device->mig.current && !device->condition.lost)
			return true;
	}
	return false;
}

/* The MIG manager may be about to end that mode. */
static bool is_mig_changing(const struct drift_node *node, const struct drift_device *device)
{
	return drift_settling_look(node, device).now & DRIFT_SETTLING_BIT(MIG_RECONFIGURATION);
}

/* What the plugin allows no MPS with, of which the text alone says nothing; empty: it allows it. */
static struct view find_mps_conflict(const struct drift_node *node,
				     const struct drift_device *device,
				     const struct plugin_config *config, struct drift_text *text)
{
	const int64_t most = most_mps_replicas(node->report->devices);
	bool is_unknown;
	const struct view strategy = drift_mig_strategy_of(node, &is_unknown).name;

	if (config->sharing != PLUGIN_CONFIG_MPS)
		return (struct view){0};
	if (view_equal(strategy, VIEW("mixed")))
		return VIEW("sharing.mps, which the plugin refuses with MIG strategy mixed");
	if (view_equal(strategy, VIEW("single")) && is_any_in_mig_mode(node->report->devices) &&
	    !is_mig_changing(node, device))
		return VIEW("sharing.mps, which the plugin refuses for MIG devices");
	for (uint32_t i = 0; i < config->shared.count; i++) {
		const struct plugin_config_shared *shared =
			ARRAY_AT(config->shared, struct plugin_config_shared, i);
		if (shared->replicas > most)
			return drift_text(text, "% replicas of % by MPS, which allows %",
					  drift_text_number(text, shared->replicas), shared->resource,
					  drift_text_number(text, most));
	}
	return (struct view){0};
}

/* The plugin looks at the strategy that counts: where the policy sets another one, the text's is let be. */
static bool is_strategy_refused(const struct drift_node *node, const struct plugin_config *config)
{
	static const struct view known[] = {VIEW_INIT("none"), VIEW_INIT("single"),
					    VIEW_INIT("mixed")};

	return config->mig_strategy.len > 0 &&
	       drift_mig_override(node->intent->policy).name.len == 0 &&
	       !view_is_among(config->mig_strategy, known, ARRAY_SIZE(known));
}

/* Why the plugin refuses what it can parse; empty: it does not. */
static struct view find_conflict(const struct drift_node *node, const struct drift_device *device,
				 const struct plugin_config *config, struct drift_text *text)
{
	assert(config->error.len == 0 && config->unsupported.len == 0);
	if (is_strategy_refused(node, config))
		return drift_text(text, "flags.migStrategy is %, and not none, single or mixed",
				  config->mig_strategy);
	return find_mps_conflict(node, device, config, text);
}

struct drift_finding drift_config_invalid(const struct drift_node *node,
					  const struct drift_device *device,
					  struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_plugin_in_force(node, &is_unknown);
	struct view error;

	if (is_unknown)
		return drift_plugin_untold(node);
	if (drift_plugin_want(node) != DRIFT_OPERAND_WANTED || !node->config)
		return DRIFT_ANSWER(DRIFT_NO);
	error = config ? find_conflict(node, device, config, text) : node->config->error;
	if (error.len == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_plugin_hash(node),
		.intended = drift_text(text, "a configuration that the device plugin accepts (%)",
				       drift_plugin_source(node, text)),
		.observed = drift_text(text, "% (the key's text)", error),
		.message = VIEW("Correct the text of the key: with this one the device plugin does not "
				"start."),
	};
}

/* In effect */

/* What is on offer is as the configuration says, as far as can be told. */
static bool is_in_effect(const struct drift_node *node, const struct drift_device *device,
			 const struct plugin_config *config)
{
	return drift_sharing_fits(device, config) && drift_mig_is_offered_by(node, config);
}

/* A former text is in effect: of the key that the node shall have, or of another one. */
static bool is_former_in_effect(const struct drift_node *node, const struct drift_device *device,
				bool is_of_key)
{
	const struct array former = node->intent->plugin_configs->former;

	for (uint32_t i = 0; i < former.count; i++) {
		const struct plugin_config *config = ARRAY_AT(former, struct plugin_config, i);

		if (view_equal(config->name, node->config_name) == is_of_key && config->error.len == 0 &&
		    config->unsupported.len == 0 && is_in_effect(node, device, config))
			return true;
	}
	return false;
}

/*
 * That was found before, of the key that the node shall have now: former texts are not known after a
 * restart of the controller. Versions before did not publish of which key it was found.
 */
static bool was_not_loaded(const struct drift_node *node, const struct drift_device *device)
{
	const struct drift_previous *previous = device->previous;
	const struct attribution_drift *drift = previous->drifts[DRIFT_CONFIG_NOT_LOADED];
	const int64_t hash = drift ? drift->intent_hash
				   : previous->pending_hashes[DRIFT_CONFIG_NOT_LOADED];

	if (!drift && previous->pending_since[DRIFT_CONFIG_NOT_LOADED] == 0)
		return false;
	return hash != 0 ? hash == drift_plugin_hash(node) : !is_former_in_effect(node, device, false);
}

struct drift_finding drift_config_not_loaded(const struct drift_node *node,
					     const struct drift_device *device,
					     struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_plugin_in_force(node, &is_unknown);

	if (is_unknown)
		return drift_plugin_untold(node);
	if (config && !node->is_offer_known)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (!config || device->n_offers == 0 || is_in_effect(node, device, config) ||
	    !(is_former_in_effect(node, device, true) || was_not_loaded(node, device)))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_plugin_hash(node),
		.intended = drift_text(text, "% (%)",
				       drift_sharing_say(device, config, text),
				       drift_plugin_source(node, text)),
		.observed = drift_text(text, "%, as the key said before (device IDs)",
				       drift_sharing_say_offer(device, text)),
		.message = VIEW("Delete the node's device plugin pod: the plugin reads an edited key only "
				"when it starts, or the label changes."),
	};
}

/* Without effect */

/*
 * Without CDI the operator sets envvar. With it that is both of CDI's, and envvar and cdi-annotations
 * before v25.10; there one of CDI's alone is let pass. Which it is can be told only of a policy that says.
 */
static bool is_list_dead(const struct drift_node *node)
{
	const uint32_t both = PLUGIN_CONFIG_LIST_CDI_ANNOTATIONS | PLUGIN_CONFIG_LIST_CDI_CRI,
		       before = PLUGIN_CONFIG_LIST_ENVVAR | PLUGIN_CONFIG_LIST_CDI_ANNOTATIONS,
		       written = node->config->device_lists;
	const uint8_t cdi = node->intent->policy->switches[POLICY_CDI];
	const bool is_dead_with = (written & ~both) != 0 && written != before,
		   is_dead_without = (written & ~(uint32_t)PLUGIN_CONFIG_LIST_ENVVAR) != 0;

	if (cdi == POLICY_UNSET)
		return is_dead_with && is_dead_without;
	return cdi == POLICY_ON ? is_dead_with : is_dead_without;
}

static bool is_set_by_policy(const struct policy *policy, struct view variable, struct view flag)
{
	struct view value;

	return policy_find_variable(policy, variable) || policy_find_flag(policy, flag, &value);
}

/*
 * The operator's variables go before them. Of one that devicePlugin.args or .env sets the policy decides
 * itself.
 */
static bool are_flags_dead(const struct drift_node *node)
{
	static const struct {
		uint32_t bit;
		struct view variable, flag;
	} flags[] = {
		{PLUGIN_CONFIG_DEAD_FAIL_ON_INIT_ERROR, VIEW_INIT("FAIL_ON_INIT_ERROR"),
		 VIEW_INIT("fail-on-init-error")},
		{PLUGIN_CONFIG_DEAD_MPS_ROOT, VIEW_INIT("MPS_ROOT"), VIEW_INIT("mps-root")},
		{PLUGIN_CONFIG_DEAD_PASS_DEVICE_SPECS, VIEW_INIT("PASS_DEVICE_SPECS"),
		 VIEW_INIT("pass-device-specs")},
		{PLUGIN_CONFIG_DEAD_DEVICE_ID_STRATEGY, VIEW_INIT("DEVICE_ID_STRATEGY"),
		 VIEW_INIT("device-id-strategy")},
	};
	const struct policy *policy = node->intent->policy;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (node->config->dead & flags[i].bit &&
		    !is_set_by_policy(policy, flags[i].variable, flags[i].flag))
			return true;
	return is_list_dead(node) && !is_set_by_policy(policy, VIEW("DEVICE_LIST_STRATEGY"),
						       VIEW("device-list-strategy"));
}

/* Where no device is capable of MIG, no strategy has an effect, and nobody relies on one. */
static bool is_strategy_dead(const struct drift_node *node, struct drift_mig_strategy override)
{
	return !view_equal(node->node->mig_capable, VIEW("false")) &&
	       node->config->mig_strategy.len > 0 && override.name.len > 0 &&
	       !view_equal(node->config->mig_strategy, override.name);
}

/* Empty: all that is written has an effect. */
static struct view list_dead(const struct drift_node *node, struct drift_text *text)
{
	static const struct {
		uint32_t bit;
		struct view name;
	} keys[] = {
		{PLUGIN_CONFIG_DEAD_RESOURCES, VIEW_INIT("resources")},
		{PLUGIN_CONFIG_DEAD_RENAME, VIEW_INIT("rename")},
		{PLUGIN_CONFIG_DEAD_DEVICES, VIEW_INIT("devices")},
		{PLUGIN_CONFIG_DEAD_SLICING, VIEW_INIT("timeSlicing beside mps")},
	};
	const struct drift_mig_strategy override = drift_mig_override(node->intent->policy);
	struct view list = {0};

	assert(node->config);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (node->config->dead & keys[i].bit)
			list = drift_text_add(text, list, keys[i].name);
	if (are_flags_dead(node))
		list = drift_text_add(text, list,
				      VIEW("flags that the operator's variables override"));
	if (is_strategy_dead(node, override))
		list = drift_text_add(text, list,
				      drift_text(text, "flags.migStrategy, which % of the policy "
						 "overrides", override.where));
	return list;
}

struct drift_finding drift_config_dead(const struct drift_node *node,
				       const struct drift_device *device,
				       struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_plugin_in_force(node, &is_unknown);
	struct view dead;

	(void)device;
	if (is_unknown)
		return drift_plugin_untold(node);
	dead = config ? list_dead(node, text) : (struct view){0};
	if (dead.len == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "what is written has an effect (%)",
				       drift_plugin_source(node, text)),
		.observed = drift_text(text, "without effect: % (the key's text)", dead),
		.message = VIEW("Take out what has no effect, so that nobody relies on it."),
	};
}
