/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * overlap - a unit that is for one pod alone and is in the hands of several: a whole device, a MIG
 * device or one replica of either. A kubelet that lost its books gives out anew what pods that run
 * still have; and a device plugin and a driver of claims may both hand out a device.
 *
 * Only facts that are seen now count. A holder is a pod that the API server has and that is not over.
 * Pods that claims alone gave the device share it by right, and so do those for whom KAI's reservation
 * holds it, which is a holder like any other. It counts when it has been seen for disagreement_ms
 * (join/debounce.h), for the news of an end may come after those of the next pod; at once where it was
 * published of the device.
 *
 * Threads: any; pure.
 * Limits:  the message is about the lowest such unit and names OVERLAP_PODS pods; further ones are
 *          counted.
 */

#include "join/subject.h"
#include "join/tenants.h"

#define OVERLAP_PODS 4u
#define OVERLAP_MESSAGE 2048u /* bytes */

/*
 * Looks for it. Sets *ret_message, which is empty when there is none. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int overlap_find(const struct subject *subject, struct view *ret_message, struct error *err);
/*
 * True when a tenant that no fact names now, and that nothing has ended, may hold what another one
 * holds: the device of one mode is for one pod, or they have one MIG device. mode is of enum
 * attribution_mode.
 */
bool overlap_is_possible(const struct subject *subject, int mode);
