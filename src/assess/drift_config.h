/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_config - rules about the text of the device plugin's configuration: the ConfigMap that the
 * policy names, and its key that the node shall have. Whether the devices are as it says, the rules of
 * drift_sharing.h and drift_mps.h tell.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

drift_rule_fn drift_config_missing;
drift_rule_fn drift_config_invalid;
drift_rule_fn drift_config_not_loaded;
drift_rule_fn drift_config_dead;
