/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * users - who uses a device, by the processes that NVML lists and the pods that their cgroups
 * name: how many processes and how much memory each tenant has, and which users are no tenants.
 *
 * A process is a tenant's unless something shows that it is not: it is in another container of the
 * pod, or on a partition that the tenant does not hold. While the status of a pod with several
 * containers does not tell the process' container, it is neither a user nor a witness of tenants.
 *
 * Not every holder is known: a source cannot be read, or does not tell the holder or the device; a
 * claim is not here, or not allocated; HAMi has not written its annotation yet; there are more tenants
 * than can be listed. A process of a pod that may hold the device is no new user.
 *
 * A user must be seen for a while (join/debounce.h), because the sources are read one after the other:
 * - for disagreement_ms;
 * - for pending_ms, if the API server does not know its pod. When it does, the user is judged anew;
 * - for user_grace_ms, if its pod was a tenant or is over. The process must be listed after that.
 *
 * The node says of which pod a process is. If the API server has that pod on another node, the
 * process counts as one of no pod.
 *
 * Threads: any.
 * Limits:  LIMIT_UNALLOCATED_USERS are listed, and the rest is counted. Where join/debounce.h has no
 *          room for more, left_out is a lower bound.
 */

#include "join/debounce.h"
#include "join/tenants.h"

struct users {
	struct array listed; /* struct attribution_user, by pod UID, process */
	int64_t left_out;
	int64_t unknown;  /* processes that the agent could not look at: they may be anybody's */
	uint32_t refused; /* processes that name a pod of another node */
};

/* The device that is asked about. */
struct users_device {
	const struct facts *facts;
	size_t index;            /* of facts->devices */
	int mode;                /* enum attribution_mode: the present one */
	struct tenants *tenants; /* get their processes and memory, and the witness */
};

/*
 * Finds the users of the device. While processes cannot be told, what was published stays. The result
 * lies in arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int users_find(const struct users_device *device, struct debounce *debounce,
			struct arena *arena, struct users *ret_users, struct error *err);
