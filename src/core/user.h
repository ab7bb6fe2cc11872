/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * user - who really is on a device, by the processes that NVML lists and the pods that their
 * cgroups name: how many processes and how much memory each tenant has, and who uses the device
 * without holding a slot of it.
 *
 * A process outlives its pod by moments, and the driver is read now and then: a process of a pod
 * that was a tenant counts only when it is still there user_grace_ms after the tenancy's end.
 *
 * Threads: any.
 * Limits:  LIMIT_UNALLOCATED_USERS; the rest is counted.
 */

#include "core/tenant.h"

struct users {
	struct array listed; /* struct attribution_user, by pod UID, process */
	int64_t left_out;
	int64_t again_in_ms; /* one that waits counts then; -1: none does */
};

/*
 * Finds the users of the device at that index of the roster; its tenants get their processes and
 * memory, and the witness. While processes cannot be told, what was published stays. The result
 * lies in arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int user_find(const struct holdings *holdings, size_t device, struct tenants *tenants,
		       struct arena *arena, struct users *ret_users, struct error *err);
