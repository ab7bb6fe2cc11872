/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * health - whether one device is well: from its error events, from NVML still listing it, and from
 * the device plugin still offering it.
 *
 * Error events are kept with the status, and the state follows from those that are kept: it becomes
 * better when they have been pushed out by newer ones, or the object was made anew.
 *
 * Threads: any.
 * Limits:  LIMIT_HEALTH_EVENTS events, each with LIMIT_EVENT_TENANTS pods; LIMIT_HEALTH_REASONS.
 */

#include "core/slot.h"
#include "core/tenant.h"

struct health {
	struct attribution_health_state state;
	struct view reason;  /* of the condition */
	struct view message;
};

/*
 * Judges the device at that index of the roster, whose present tenants those are. The result lies
 * in arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int health_judge(const struct slots *slots, const struct holdings *holdings, size_t device,
			  const struct tenants *tenants, struct arena *arena,
			  struct health *ret_health, struct error *err);
