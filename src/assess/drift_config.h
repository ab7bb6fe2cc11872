/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_config - rules about the text of the device plugin's configuration: the ConfigMap that the
 * policy names, and its key that the node shall have. Whether the devices are as it says, the rules of
 * drift_sharing.h and drift_mps.h tell.
 *
 * Threads: any; pure.
 */

#include "assess/drift.h"

/* Sets config, config_name and config_where of a node for which there is a policy. */
void drift_config_choose(struct drift_node *node);
/*
 * The configuration that the plugin of the node shall have. NULL: none is intended, or what is written
 * is refused (the rules here tell); *ret_is_unknown: or it cannot be read.
 */
const struct plugin_config *drift_config_in_force(const struct drift_node *node,
						  bool *ret_is_unknown);
/* The answer of a rule that needs a configuration of which drift_config_in_force() says *ret_is_unknown. */
struct drift_finding drift_config_untold(const struct drift_node *node);
/* Where it is written: "ConfigMap NAMESPACE/NAME, key KEY". There must be one. */
struct view drift_config_source(const struct drift_node *node, struct drift_text *text);
/* What the device was compared with: ", with key KEY of ConfigMap ..."; empty: with none. */
struct view drift_config_say(const struct drift_node *node, struct drift_text *text);
/* That the ConfigMap of that name cannot be read, why, and what to do. */
struct view drift_config_say_lost(const struct policy *policy, struct view name,
				  enum intent_config_why why, struct drift_text *text);
/* Why the configuration cannot be read; empty: it can, or none is needed. */
struct view drift_config_say_unreadable(const struct drift_node *node, struct drift_text *text);

drift_rule_fn drift_config_missing;
drift_rule_fn drift_config_invalid;
drift_rule_fn drift_config_not_loaded;
drift_rule_fn drift_config_dead;
