/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_device - rules about a device itself, and the driver below it, that hold without any policy.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

drift_rule_fn drift_device_missing;
drift_rule_fn drift_device_driver_mismatch;
drift_rule_fn drift_device_unallocated_use;
drift_rule_fn drift_device_slots_leaked;
