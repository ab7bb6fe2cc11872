/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_layout - whether the MIG devices of a device are those of the layout that the node's label
 * nvidia.com/mig.config names.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

/*
 * The layout is the one that every ConfigMap with layouts has, no ConfigMap is named, and the operator's
 * own is not known. So what it asks for is known all the same.
 */
bool drift_layout_is_built_in(const struct drift_node *node);
/*
 * Compares. The node's label names a layout, and the policy's ConfigMap with layouts can be read, if it
 * names one and there is one. UNREADABLE: the device has not the layout of the operator's own ConfigMap, and
 * the MIG manager may have made another one of that name.
 */
struct drift_finding drift_layout_compare(const struct drift_node *node,
					  const struct report_device *reported,
					  struct drift_text *text);
/* Says that drift_layout_compare() was UNREADABLE. */
struct view drift_layout_say_other(const struct drift_node *node, struct drift_text *text);
