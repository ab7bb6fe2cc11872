/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_allocatable - whether the node has as many GPUs to give to pods as its devices make.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

drift_rule_fn drift_allocatable_short;
