/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_sharing - rules about how the device plugin shares the device: whether as its configuration
 * says, in how many replicas, and by which resource.
 *
 * Sharing is the same for all devices of a node; a resource of MIG devices may have its own.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

/* True when what is on offer of the device is as the configuration says, as far as can be told. */
bool drift_sharing_fits(const struct drift_device *device, const struct plugin_config *config);
/* What it says of the first resource of the device: "time-slicing, 4 replicas of nvidia.com/gpu". */
struct view drift_sharing_say(const struct drift_device *device, const struct plugin_config *config,
			      struct drift_text *text);
/* What is on offer by the first resource of the device, in the same words. */
struct view drift_sharing_say_offer(const struct drift_device *device, struct drift_text *text);
/* The name of the resource as configurations have it: without ".shared". */
struct view drift_sharing_base(struct view resource);

drift_rule_fn drift_sharing_mode;
drift_rule_fn drift_sharing_replica_count;
drift_rule_fn drift_sharing_resource_name;
