/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * users - who uses a device, by the processes that NVML lists and the pods that their cgroups
 * name: how many processes and how much memory each tenant has, and which users are no tenants.
 *
 * A process is a tenant's unless something shows that it is not: it is in another container of the
 * pod, or on a partition that the tenant does not hold. While the status of a pod with several
 * containers does not tell the process' container, it is neither a user nor a witness of tenants.
 * Nor is one a new user whose pod may hold the device, as not every holder is known.
 *
 * A user must be seen for a while (join/debounce.h), because the sources are read one after the other:
 * for disagreement_ms, or longer where its pod is not known, or has ended. A process of a pod that the
 * API server has on another node counts as one of no pod.
 *
 * Threads: any.
 * Limits:  LIMIT_UNALLOCATED_USERS are listed, and the rest is counted. Where join/debounce.h has no
 *          room for more, left_out is a lower bound.
 */

#include "join/tenants.h"

struct users {
	struct array listed; /* struct attribution_user, by pod UID, process */
	int64_t left_out;
	int64_t unknown;  /* processes that the agent could not look at: they may be anybody's */
	uint32_t refused; /* processes that name a pod of another node */
};

/*
 * Finds the users of the device, whose present mode is that (enum attribution_mode). The tenants get
 * their processes and memory, and the witness. While processes cannot be told, what was published
 * stays. The result lies in the arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int users_find(const struct stage *stage, int mode, struct tenants *tenants,
			struct users *ret_users, struct error *err);
