/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The node's label names a key of the ConfigMap; else the policy's default does; else the plugin runs
 * with its defaults, as the operator starts it.
 */

#include "assess/drift_config.h"

#include <assert.h>

#include "assess/drift_mig.h"
#include "assess/drift_operand.h"
#include "assess/drift_sharing.h"
#include "assess/drift_text.h"

#define LABEL "label nvidia.com/device-plugin.config"
#define DEFAULT_FIELD "devicePlugin.config.default"
/* The plugin allows no more clients of MPS on a GPU, and on older ones than compute capability 7.5. */
#define MOST_MPS_REPLICAS 48
#define MOST_OLD_MPS_REPLICAS 16

/* What the plugin does when no key is asked for. */
static const struct plugin_config defaults;

void drift_config_choose(struct drift_node *node)
{
	const struct intent *intent = node->intent;
	const struct view label = node->node ? node->node->plugin_config : (struct view){0};

	if (intent->plugin_configs_state == INTENT_CONFIG_NONE)
		return;
	node->config_name = label.len > 0 ? label : intent->policy->plugin_config_default;
	node->config_where = label.len > 0 ? VIEW(LABEL) : VIEW(DEFAULT_FIELD);
	if (intent->plugin_configs_state != INTENT_CONFIG_THERE)
		return;
	node->config = node->config_name.len > 0
			       ? plugin_config_find(intent->plugin_configs->configs,
						    node->config_name)
			       : &defaults;
}

/* A ConfigMap is named, and the plugin that shall use it is wanted on the node. */
static enum drift_operand_want is_used(const struct drift_node *node)
{
	return node->intent->plugin_configs_state == INTENT_CONFIG_NONE
		       ? DRIFT_OPERAND_OFF
		       : drift_operand_want(node, POLICY_DEVICE_PLUGIN);
}

const struct plugin_config *drift_config_in_force(const struct drift_node *node,
						  bool *ret_is_unknown)
{
	const enum drift_operand_want want = is_used(node);
	const struct plugin_config *config = node->config;

	*ret_is_unknown = want == DRIFT_OPERAND_UNKNOWN;
	if (want != DRIFT_OPERAND_WANTED)
		return NULL;
	*ret_is_unknown = node->intent->plugin_configs_state == INTENT_CONFIG_UNREADABLE ||
			  (config && config->unsupported.len > 0);
	return config && config->error.len == 0 && config->unsupported.len == 0 ? config : NULL;
}

struct drift_finding drift_config_untold(const struct drift_node *node)
{
	return DRIFT_ANSWER(is_used(node) == DRIFT_OPERAND_WANTED ? DRIFT_UNREADABLE
								  : DRIFT_CANNOT_TELL);
}

/* What is said of it */

struct view drift_config_source(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;

	if (node->config_name.len == 0)
		return drift_text(text, "ConfigMap %/%, of which no key is asked for",
				  policy->namespace, policy->plugin_config);
	return drift_text(text, "ConfigMap %/%, key %", policy->namespace,
			  policy->plugin_config, node->config_name);
}

struct view drift_config_say(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;

	if (is_used(node) != DRIFT_OPERAND_WANTED || node->config_name.len == 0)
		return (struct view){0};
	return drift_text(text, ", with key % of ConfigMap %/%", node->config_name,
			  policy->namespace, policy->plugin_config);
}

static struct view say_why(enum intent_config_why why)
{
	static const struct view texts[] = {
		[INTENT_CONFIG_NOT_YET] = VIEW_INIT("it has not been read yet"),
		[INTENT_CONFIG_NO_RIGHT] = VIEW_INIT("the controller has no right to; manifests/intent "
						     "grants it"),
		[INTENT_CONFIG_TOO_LARGE] = VIEW_INIT("it is larger than the controller takes; its log "
						      "says which limit"),
		[INTENT_CONFIG_MALFORMED] = VIEW_INIT("it is malformed; the controller's log says where"),
		[INTENT_CONFIG_NO_ANSWER] = VIEW_INIT("requests for it fail; the controller's log says "
						      "why"),
		[INTENT_CONFIG_NO_PLACE] = VIEW_INIT("the operator's namespace (status.namespace) is no "
						     "name"),
	};

	assert((size_t)why < ARRAY_SIZE(texts));
	return texts[why];
}

struct view drift_config_say_lost(const struct policy *policy, struct view name,
				  enum intent_config_why why, struct drift_text *text)
{
	if (policy->namespace.len == 0)
		return drift_text(text, "ConfigMap % cannot be read: ClusterPolicy % does not tell the "
				  "operator's namespace (status.namespace)",
				  name, policy->name);
	return drift_text(text, "ConfigMap %/% cannot be read: %", policy->namespace, name, say_why(why));
}

struct view drift_config_say_unreadable(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;
	bool is_unknown;

	if (!policy || is_used(node) != DRIFT_OPERAND_WANTED)
		return (struct view){0};
	(void)drift_config_in_force(node, &is_unknown);
	if (!is_unknown)
		return (struct view){0};
	if (node->config)
		return drift_text(text, "ConfigMap %/% cannot be read, key %: %", policy->namespace,
				  policy->plugin_config, node->config_name,
				  node->config->unsupported);
	return drift_config_say_lost(policy, policy->plugin_config,
				     node->intent->plugin_configs_why, text);
}

/* The rules */

/* What is missing; empty: nothing is. */
static struct view find_missing(const struct drift_node *node)
{
	const struct intent *intent = node->intent;

	if (intent->plugin_configs_state == INTENT_CONFIG_MISSING)
		return VIEW("there is no such ConfigMap (API server)");
	if (intent->plugin_configs->configs.count == 0)
		return VIEW("the ConfigMap has no key (API server)");
	return node->config ? (struct view){0} : VIEW("the ConfigMap has no such key (API server)");
}

struct drift_finding drift_config_missing(const struct drift_node *node,
					  const struct drift_device *device,
					  struct drift_text *text)
{
	const enum drift_operand_want want = is_used(node);
	struct view missing;

	(void)device;
	if (want == DRIFT_OPERAND_UNKNOWN ||
	    (want == DRIFT_OPERAND_WANTED &&
	     node->intent->plugin_configs_state == INTENT_CONFIG_UNREADABLE))
		return drift_config_untold(node);
	missing = want == DRIFT_OPERAND_WANTED ? find_missing(node) : (struct view){0};
	if (missing.len == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "% (%)",
				       drift_config_source(node, text),
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
	const struct plugin_config *config = drift_config_in_force(node, &is_unknown);
	struct view error;

	(void)device;
	if (is_unknown)
		return drift_config_untold(node);
	if (is_used(node) != DRIFT_OPERAND_WANTED || !node->config)
		return DRIFT_ANSWER(DRIFT_NO);
	error = config ? find_mps_conflict(node, config, text) : node->config->error;
	if (error.len == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "a configuration that the device plugin accepts (%)",
				       drift_config_source(node, text)),
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
 * restart of the controller. What is pending does not say of which key.
 */
static bool was_not_loaded(const struct drift_node *node, const struct drift_device *device,
			   struct drift_text *text)
{
	const struct attribution_drift *drift = drift_published(device, DRIFT_CONFIG_NOT_LOADED);

	if (!drift)
		return drift_pending_since(device, DRIFT_CONFIG_NOT_LOADED) != 0 &&
		       !is_former_in_effect(node, device, false);
	return view_ends_with(drift->intended,
			      drift_text(text, "(%)", drift_config_source(node, text)));
}

struct drift_finding drift_config_not_loaded(const struct drift_node *node,
					     const struct drift_device *device,
					     struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_config_in_force(node, &is_unknown);

	if (is_unknown)
		return drift_config_untold(node);
	if (config && !node->is_offer_known)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (!config || device->n_offers == 0 || is_in_effect(node, device, config) ||
	    !(is_former_in_effect(node, device, true) || was_not_loaded(node, device, text)))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "% (%)",
				       drift_sharing_say(device, config, text),
				       drift_config_source(node, text)),
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
	const struct plugin_config *config = drift_config_in_force(node, &is_unknown);

	(void)device;
	if (is_unknown)
		return drift_config_untold(node);
	if (!config || (config->dead == 0 && !is_strategy_dead(node)))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "what is written has an effect (%)",
				       drift_config_source(node, text)),
		.observed = drift_text(text, "without effect: % (the key's text)",
				       list_dead(node, text)),
		.message = VIEW("Take out what has no effect, so that nobody relies on it."),
	};
}
