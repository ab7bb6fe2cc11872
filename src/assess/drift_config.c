/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_config.h"

#include <assert.h>

#include "assess/drift_mig.h"
#include "assess/drift_plugin.h"
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

/* What the plugin allows no MPS with, of which the text alone says nothing; empty: it allows it. */
static struct view find_mps_conflict(const struct drift_node *node,
				     const struct plugin_config *config, struct drift_text *text)
{
	const int64_t most = most_mps_replicas(node->report->devices);
	bool is_unknown;

	assert(config->error.len == 0 && config->unsupported.len == 0);
	if (config->sharing != PLUGIN_CONFIG_MPS)
		return (struct view){0};
	if (view_equal(drift_mig_strategy_of(node, &is_unknown).name, VIEW("mixed")))
		return VIEW("sharing.mps, which the plugin refuses with MIG strategy mixed");
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

struct drift_finding drift_config_invalid(const struct drift_node *node,
					  const struct drift_device *device,
					  struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_plugin_in_force(node, &is_unknown);
	struct view error;

	(void)device;
	if (is_unknown)
		return drift_plugin_untold(node);
	if (drift_plugin_want(node) != DRIFT_OPERAND_WANTED || !node->config)
		return DRIFT_ANSWER(DRIFT_NO);
	error = config ? find_mps_conflict(node, config, text) : node->config->error;
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

/* Where no device is capable of MIG, no strategy has an effect, and nobody relies on one. */
static bool is_strategy_dead(const struct drift_node *node)
{
	return !view_equal(node->node->mig_capable, VIEW("false")) &&
	       node->config->mig_strategy.len > 0 &&
	       node->intent->policy->mig_strategy.len > 0 &&
	       !view_equal(node->config->mig_strategy, node->intent->policy->mig_strategy);
}

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
		{PLUGIN_CONFIG_DEAD_FLAGS, VIEW_INIT("flags that the operator's variables override")},
	};
	struct view list = {0};

	assert(node->config);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (node->config->dead & keys[i].bit)
			list = drift_text_add(text, list, keys[i].name);
	if (is_strategy_dead(node))
		list = drift_text_add(text, list,
				      VIEW("flags.migStrategy, which mig.strategy of the policy "
					   "overrides"));
	return list;
}

struct drift_finding drift_config_dead(const struct drift_node *node,
				       const struct drift_device *device,
				       struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_plugin_in_force(node, &is_unknown);

	(void)device;
	if (is_unknown)
		return drift_plugin_untold(node);
	if (!config || (config->dead == 0 && !is_strategy_dead(node)))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "what is written has an effect (%)",
				       drift_plugin_source(node, text)),
		.observed = drift_text(text, "without effect: % (the key's text)",
				       list_dead(node, text)),
		.message = VIEW("Take out what has no effect, so that nobody relies on it."),
	};
}
