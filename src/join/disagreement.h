/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * disagreement - where witnesses of what the kubelet gave out contradict each other about one
 * container: each that speaks of the container is asked how many slots of the device it has.
 *
 * The witnesses are not read at one instant, so a difference counts only when it has been seen for
 * disagreement_ms (join/debounce.h); one that was published stays as long as it is there.
 *
 * Threads: any.
 * Limits:  LIMIT_SOURCE_DISAGREEMENT containers; the rest is counted.
 */

#include "join/debounce.h"
#include "join/tenant.h"

struct disagreements {
	struct array listed; /* struct attribution_disagreement, by pod UID, container */
	int64_t left_out;
};

/*
 * Finds those about the tenants of the device at that index of the devices, and marks these tenants
 * as disputed. The result lies in arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int disagreement_find(const struct facts *facts, size_t device,
			       struct tenants *tenants, struct debounce *doubts,
			       struct arena *arena, struct disagreements *ret_disagreements,
			       struct error *err);
