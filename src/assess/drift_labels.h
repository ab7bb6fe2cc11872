/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_labels - rules about the labels that GPU feature discovery writes on the node.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

drift_rule_fn drift_labels_missing;
drift_rule_fn drift_labels_stale;
