/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * user - who really is on a device, by the processes that NVML lists and the pods that their
 * cgroups name: how many processes and how much memory each tenant has, and who uses the device
 * without holding a slot of it.
 *
 * The driver is read now and then, so a process counts only when it has been seen without a slot for
 * disagreement_ms (join/debounce.h), or, where the API server does not know its pod, for pending_ms; one
 * of a pod that was a tenant, which it may outlive by moments, when it is still there after
 * user_grace_ms. A process is a tenant's only if nothing says that it is not: neither that it is in
 * another container of the pod, nor that it is on a partition which that one does not hold. One
 * that may be in another container of the pod, which has begun since its status was told, is no
 * user, but nobody's witness either. A user of before the API server told of its pod is judged anew
 * once it has: what the pod was given may be told after it. Of which pod a process is the node says:
 * where the API server has that pod on another node, the process is taken for one of no known pod.
 *
 * Threads: any.
 * Limits:  LIMIT_UNALLOCATED_USERS; the rest is counted, but for those that join/debounce.h has no room
 *          for: of very many, left_out tells at least how many they are.
 *          Tenants beyond LIMIT_TENANTS are no users; while there are such and no book tells who they
 *          are, no pod is one.
 */

#include "join/debounce.h"
#include "join/tenant.h"

struct users {
	struct array listed; /* struct attribution_user, by pod UID, process */
	int64_t left_out;
	int64_t unknown; /* processes that the agent could not look at: they may be anybody's */
	uint32_t refused; /* that were said to be of pods of other nodes */
};

/* The device that is asked about. */
struct user_device {
	size_t index; /* in the devices */
	int mode;     /* that it is in now */
};

/*
 * Finds the users of the device; its tenants get their processes and memory, and the witness. While
 * processes cannot be told, what was published stays. The result lies in arena or is borrowed from
 * what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int user_find(const struct facts *facts, struct user_device device,
		       struct tenants *tenants, struct debounce *doubts, struct arena *arena,
		       struct users *ret_users, struct error *err);
