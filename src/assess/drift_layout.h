/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_layout - whether the MIG devices of a device are those of the layout that the node's label
 * nvidia.com/mig.config names.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

/* The layouts that the node's MIG manager goes by, as far as is known. */
struct drift_layouts {
	enum intent_config_state state;
	enum intent_config_why why;        /* UNREADABLE */
	const struct mig_configs *configs; /* THERE, else NULL */
	struct view name;                  /* of the ConfigMap */
};

/*
 * Those of the ConfigMap that the policy names. Where it names none: those that the MIG manager told in the
 * ConfigMap of the node, else those of the operator's own ConfigMap. There is a policy.
 */
struct drift_layouts drift_layout_find(const struct drift_node *node);
/*
 * The layout is the one that every ConfigMap with layouts has, no ConfigMap is named, and the operator's
 * own is not known. So what it asks for is known all the same.
 */
bool drift_layout_is_built_in(const struct drift_node *node);
/*
 * Compares. The node's label names a layout, and the ConfigMap that drift_layout_find() tells can be read, if
 * there is one. UNREADABLE: the device has not the layout of the operator's own ConfigMap, and the MIG manager
 * may have made another one of that name, which it has not told.
 */
struct drift_finding drift_layout_compare(const struct drift_node *node,
					  const struct report_device *reported,
					  struct drift_text *text);
/* Says that drift_layout_compare() was UNREADABLE. */
struct view drift_layout_say_other(const struct drift_node *node, struct drift_text *text);
