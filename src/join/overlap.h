/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * overlap - what is for one pod alone and in the hands of several: a whole device, a MIG device or
 * one replica of either. A kubelet that lost its books gives out anew what pods that run still
 * have; and a device plugin and a driver of claims may both hand out a device.
 *
 * A holder is a pod that the API server has and that is not over. Pods that claims alone gave the
 * device share it by right, and so do those for whom KAI's reservation holds it, which is a holder
 * like any other. What HAMi's IDs lead to is not known, so their holders are none. It counts when it
 * has been seen for disagreement_ms (join/debounce.h): the news of an end may come after those of the
 * next pod.
 *
 * Threads: any.
 * Limits:  the message is about one ID of the device and names OVERLAP_PODS pods; further ones are
 *          counted.
 */

#include "join/debounce.h"
#include "join/tenants.h"

#define OVERLAP_PODS 4u
#define OVERLAP_MESSAGE 2048u /* bytes */

/* The reason of the condition Attributed. */
#define OVERLAP_REASON wording_reason(REASON_SLOT_HELD_TWICE)

/* What is known of a device by now. */
struct overlap_device {
	size_t index;                            /* in the devices */
	const struct attribution_status *status; /* with its sharing and partitions */
};

/*
 * Looks for it on the device, which has those tenants now. Sets *ret_message, which is empty when
 * there is none and lies in arena. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int overlap_find(const struct facts *facts, struct overlap_device device,
			  const struct tenants *tenants, struct debounce *doubts,
			  struct arena *arena, struct view *ret_message, struct error *err);
