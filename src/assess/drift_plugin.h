/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_plugin - which configuration the device plugin of a node shall have, where that is written, and
 * whether it can be read.
 *
 * Threads: any; pure.
 */

#include "assess/drift_operand.h"
#include "assess/drift_rule.h"

/*
 * Whether the plugin that shall use a configuration is wanted on the node. OFF also where the policy names
 * no ConfigMap.
 */
enum drift_operand_want drift_plugin_want(const struct drift_node *node);
/* Sets config, config_name and config_where of a node for which there is a policy. */
void drift_plugin_choose(struct drift_node *node);
/*
 * The configuration that the plugin of the node shall have. NULL: none is intended, or what is written
 * is refused (the rules of drift_config.h tell), or *ret_is_unknown. Then it cannot be read, or the policy
 * has the plugin read another file, or started by a command.
 */
const struct plugin_config *drift_plugin_in_force(const struct drift_node *node,
						  bool *ret_is_unknown);
/* The answer of a rule that needs a configuration of which drift_plugin_in_force() says *ret_is_unknown. */
struct drift_finding drift_plugin_untold(const struct drift_node *node);
/* Where it is written: "ConfigMap NAMESPACE/NAME, key KEY". There must be one. */
struct view drift_plugin_source(const struct drift_node *node, struct drift_text *text);
/* A hash of the same (assess/drift_hash.h). */
uint32_t drift_plugin_hash(const struct drift_node *node);
/* What the device was compared with: ", with key KEY of ConfigMap ..."; empty: with none. */
struct view drift_plugin_say(const struct drift_node *node, struct drift_text *text);
/* That the ConfigMap of that name cannot be read, why, and what to do. */
struct view drift_plugin_say_lost(const struct policy *policy, struct view name,
				  enum intent_config_why why, struct drift_text *text);
/* Why the configuration cannot be read; empty: it can, or none is needed. */
struct view drift_plugin_say_unreadable(const struct drift_node *node, struct drift_text *text);
