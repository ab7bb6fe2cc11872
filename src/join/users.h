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

#include "join/subject.h"

/*
 * Finds the users of the device for the status, whose sharing mode is known. The tenants of the subject
 * get their processes and memory, and the witness. While processes cannot be told, what was published
 * stays. The result lies in the arena or is borrowed from what is given. *ret_refused: how many
 * processes name a pod of another node. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int users_find(const struct subject *subject, struct attribution_status *status,
			uint32_t *ret_refused, struct error *err);
