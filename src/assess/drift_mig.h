/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_mig - rules about MIG: the mode of the device, the layout that the MIG manager shall make, and
 * the strategy by which the device plugin offers MIG devices.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

/* How the plugin shall offer MIG devices. */
struct drift_mig_strategy {
	struct view name;  /* "none", "single", "mixed" */
	struct view where; /* it is written; the policy's name and the key's are not in it */
};

/* Sets offered and has_plugins_ids of the node. */
void drift_mig_look(struct drift_node *node);
/* The strategy of a node for which there is a policy. *ret_is_unknown: it is in what cannot be read. */
struct drift_mig_strategy drift_mig_strategy_of(const struct drift_node *node,
						bool *ret_is_unknown);
/*
 * The strategy that GPU feature discovery writes into label mig.strategy of that node: devicePlugin.args and
 * .env are for the plugin alone, and gfd.args and .env for this. *ret_is_unknown: it is in what cannot be read.
 */
struct drift_mig_strategy drift_mig_strategy_of_labels(const struct drift_node *node,
						       bool *ret_is_unknown);
/*
 * What the policy sets whatever configurations say of the plugin's strategy; its name is empty: nothing, or
 * a command of the policy's starts the plugin.
 */
struct drift_mig_strategy drift_mig_override(const struct policy *policy);
/*
 * True when MIG devices are on offer as they are with that configuration, as far as can be told. What
 * overrides its strategy counts first.
 */
bool drift_mig_is_offered_by(const struct drift_node *node, const struct plugin_config *config);
/* Why the layout that the node shall have cannot be read; empty: it can, or it shall have none. */
struct view drift_mig_say_unreadable(const struct drift_node *node, struct drift_text *text);

drift_rule_fn drift_mig_mode_pending;
drift_rule_fn drift_mig_strategy_differs;
drift_rule_fn drift_mig_config_failed;
drift_rule_fn drift_mig_layout;
