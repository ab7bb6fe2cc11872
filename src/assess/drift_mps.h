/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_mps - rules about MPS: whether it runs where it shall, and whether it was left behind where it
 * shall not.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

drift_rule_fn drift_mps_left_behind;
drift_rule_fn drift_mps_not_running;
