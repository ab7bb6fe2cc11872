/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * compare - has one device compared with what is intended: tells assess/drift.h what the join knows of
 * the node, once a join, and of each device
 *
 * Threads: any; pure.
 * Limits:  LIMIT_OFFERS resources by which one device is on offer; further ones are not looked at.
 */

#include "assess/drift.h"
#include "join/slots.h"

/*
 * What is known of the node, for all its devices. It borrows from the facts and their input. Without a
 * report there is nothing to compare, and the members that come from it are empty.
 */
struct drift_node compare_node(const struct facts *facts, const struct slots *slots);
/*
 * Compares the device, whose status is complete but for intent and conditions, and puts what was found
 * into status->intent. *ret_verdict: also for the condition InSync. What lies in the verdict is borrowed
 * from the subject's arena, or from what is given. There must be a report. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int compare_intent(const struct subject *subject, const struct drift_node *node,
			    struct attribution_status *status, struct drift_verdict *ret_verdict,
			    struct error *err);
