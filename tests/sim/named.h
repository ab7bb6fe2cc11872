/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * named - judges who is named in a status beside the tenants: users without a slot, tenants that
 * have processes, former tenants, and the pods of error events. See FALSE_TENANT, FALSE_USER,
 * FALSE_EVENT and AT_REST in sim/oracle.h.
 *
 * Threads: any.
 */

#include "model/attribution.h"
#include "sim/world.h"

/* before: the status that the object had; NULL: none. */
void named_judge(const struct attribution_status *status, const struct attribution_status *before,
		 int gpu, uint64_t sent_at);
/* A process of its is what bears the tenant out, with others or alone. */
bool named_is_by_process(const struct attribution_tenant *tenant);
/* At rest: the users of a device in a node with an agent; and the processes of one tenant. */
void named_judge_users(const struct attribution_status *status, int gpu);
void named_judge_processes(const struct attribution_tenant *tenant, const struct world_pod *pod,
			   int container, int gpu);
