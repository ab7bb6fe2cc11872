/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * health - whether one device is well: from its error events, from NVML still listing it, and from
 * the device plugin still offering it.
 *
 * Error events are kept with the status, as history, each with the pods that are known to have held
 * the device when it happened: a list that stays as it was published. A new one speaks against the
 * device, and goes on doing so until the node has been booted since, or NVML lists the device again
 * after it did not, or the card is in another node. The published reasons tell which events still
 * speak against it, so that what was settled stays so when the controller starts anew. A node that
 * is booted while the controller is down, without the device having been missing, is not seen to
 * have been.
 *
 * Threads: any.
 * Limits:  LIMIT_HEALTH_EVENTS events, each with LIMIT_EVENT_TENANTS pods, the rest of which is
 *          counted; LIMIT_HEALTH_REASONS.
 */

#include "join/slot.h"
#include "join/tenant.h"

struct health {
	struct attribution_health_state state;
	struct view reason; /* of the condition */
	struct view message;
};

/*
 * Judges the device at that index of the devices, whose present tenants those are. The result lies
 * in arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int health_judge(const struct slots *slots, const struct facts *facts, size_t device,
			  const struct tenants *tenants, struct arena *arena,
			  struct health *ret_health, struct error *err);
