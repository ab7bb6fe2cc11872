/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The node's label names a key of the ConfigMap; else the policy's default does; else the plugin runs
 * with its defaults, as the operator starts it.
 */

#include "assess/drift_plugin.h"

#include <assert.h>

#include "assess/drift_hash.h"
#include "assess/drift_text.h"

#define LABEL "label nvidia.com/device-plugin.config"
#define DEFAULT_FIELD "devicePlugin.config.default"

/* What the plugin does when no key is asked for. */
static const struct plugin_config defaults;

void drift_plugin_choose(struct drift_node *node)
{
	const struct intent *intent = node->intent;
	const struct view label = node->node ? node->node->plugin_config : (struct view){0};

	assert(intent->policy);
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

enum drift_operand_want drift_plugin_want(const struct drift_node *node)
{
	return node->intent->plugin_configs_state == INTENT_CONFIG_NONE
		       ? DRIFT_OPERAND_OFF
		       : drift_operand_want(node, POLICY_DEVICE_PLUGIN);
}

/* The plugin reads another file than that which the operator has chosen for it, or nobody can tell which. */
static bool reads_other_file(const struct drift_node *node)
{
	const struct policy *policy = node->intent->policy;
	struct view file;

	return drift_operand_want(node, POLICY_DEVICE_PLUGIN) == DRIFT_OPERAND_WANTED &&
	       (policy_find_flag(policy, VIEW("config-file"), &file) ||
		policy_find_variable(policy, VIEW("CONFIG_FILE")) || policy_has_command(policy));
}

const struct plugin_config *drift_plugin_in_force(const struct drift_node *node,
						  bool *ret_is_unknown)
{
	const enum drift_operand_want want = drift_plugin_want(node);
	const struct plugin_config *config = node->config;

	*ret_is_unknown = want == DRIFT_OPERAND_UNKNOWN || reads_other_file(node);
	if (want != DRIFT_OPERAND_WANTED || *ret_is_unknown)
		return NULL;
	*ret_is_unknown = node->intent->plugin_configs_state == INTENT_CONFIG_UNREADABLE ||
			  (config && config->unsupported.len > 0);
	return config && config->error.len == 0 && config->unsupported.len == 0 ? config : NULL;
}

struct drift_finding drift_plugin_untold(const struct drift_node *node)
{
	if (reads_other_file(node))
		return DRIFT_ANSWER(DRIFT_NOT_COMPARED);
	return DRIFT_ANSWER(drift_plugin_want(node) == DRIFT_OPERAND_WANTED ? DRIFT_UNREADABLE
								  : DRIFT_CANNOT_TELL);
}

/* What is said of it */

struct view drift_plugin_source(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;

	assert(policy && policy->plugin_config.len > 0);
	if (node->config_name.len == 0)
		return drift_text(text, "ConfigMap %/%, of which no key is asked for",
				  policy->namespace, policy->plugin_config);
	return drift_text(text, "ConfigMap %/%, key %", policy->namespace,
			  policy->plugin_config, node->config_name);
}

uint32_t drift_plugin_hash(const struct drift_node *node)
{
	const struct policy *policy = node->intent->policy;

	return drift_hash(drift_hash(drift_hash(0, policy->namespace), policy->plugin_config),
			  node->config_name);
}

struct view drift_plugin_say(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;

	if (drift_plugin_want(node) != DRIFT_OPERAND_WANTED || node->config_name.len == 0 ||
	    reads_other_file(node))
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

struct view drift_plugin_say_lost(const struct policy *policy, struct view name,
				  enum intent_config_why why, struct drift_text *text)
{
	assert(name.len > 0);
	if (policy->namespace.len == 0)
		return drift_text(text, "ConfigMap % cannot be read: ClusterPolicy % does not tell the "
				  "operator's namespace (status.namespace)",
				  name, policy->name);
	return drift_text(text, "ConfigMap %/% cannot be read: %", policy->namespace, name, say_why(why));
}

struct view drift_plugin_say_unreadable(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;
	bool is_unknown;

	if (!policy || drift_plugin_want(node) != DRIFT_OPERAND_WANTED || reads_other_file(node))
		return (struct view){0};
	(void)drift_plugin_in_force(node, &is_unknown);
	if (!is_unknown)
		return (struct view){0};
	if (node->config)
		return drift_text(text, "ConfigMap %/% cannot be read, key %: %", policy->namespace,
				  policy->plugin_config, node->config_name,
				  node->config->unsupported);
	return drift_plugin_say_lost(policy, policy->plugin_config,
				     node->intent->plugin_configs_why, text);
}
