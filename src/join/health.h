/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * health - whether one device is well: by its error events, by what NVML says of its condition, and by
 * the device plugin, which offers it or not.
 *
 * Error events stay in the status as history. Each names the pods that are known to have held the
 * device when it happened; that list never changes. A new event speaks against the device until
 * - the node has been booted since;
 * - or the device answers again, after it was missing or lost;
 * - or the card is in another node.
 * The published reasons tell which events still speak against it. So what was settled stays settled
 * when the controller restarts. A boot while the controller is down is not seen, unless the device
 * was missing.
 *
 * Threads: any.
 * Limits:  LIMIT_HEALTH_EVENTS events, each with LIMIT_EVENT_TENANTS pods, the rest of which is
 *          counted; LIMIT_HEALTH_REASONS.
 */

#include "join/slots.h"

struct health {
	struct attribution_health_state state;
	struct view reason; /* of the condition */
	struct view message;
};

/*
 * Judges the device. The result lies in the subject's arena or is borrowed from what is given. Fails
 * with ERROR_NO_MEMORY.
 */
MUST_USE int health_judge(const struct subject *subject, struct health *ret_health,
			  struct error *err);
