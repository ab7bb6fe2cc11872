/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_waiter - waits for the driver's events on a thread of its own, so that they come at once and
 * nobody asks again and again whether there are any.
 *
 * The thread calls nothing of the driver but its wait. What it got lies in a queue until the owner
 * takes it. A wait ends after wait_ms, so that the owner can close the driver. One that takes twice as
 * long hangs.
 *
 * A driver whose wait returns at once, without an event, is asked again after wait_ms / 4: such a
 * driver is polled. Whether NVIDIA's sleeps in that wait was not seen: there was no hardware.
 *
 * Threads: owner, and its own one.
 * Limits:  LIMIT_NVML_EVENTS events; while as many lie there, the driver keeps further ones.
 */

#include "agent/nvml_abi.h"
#include "base/error.h"

struct nvml_waiter;

/* The driver's function; see nvmlEventSetWait_v2 in agent/nvml_library.h. */
typedef int (*nvml_waiter_wait_fn)(struct nvml_abi_event_set *set,
				   struct nvml_abi_event *ret_event, unsigned timeout_ms);
/* Called on the waiter's thread. It must not block, nor call the waiter. */
typedef void (*nvml_waiter_told_fn)(void *owner);

struct nvml_waiter_config {
	uint32_t wait_ms;         /* of one wait in the driver; above 0 */
	nvml_waiter_told_fn told; /* an event came where there was none, or the wait failed */
	void *owner;              /* of `told` */
};

/* Starts the thread; nothing is watched yet. Fails with ERROR_NO_MEMORY or ERROR_RETRY. */
MUST_USE int nvml_waiter_new(const struct nvml_waiter_config *config,
			     struct nvml_waiter **ret_waiter, struct error *err);
/* Leaves the set and ends the thread. Accepts NULL. */
void nvml_waiter_free(struct nvml_waiter *waiter);
/* Begins to wait for events of this set, which is borrowed until the watch ends. None may be watched. */
void nvml_waiter_watch(struct nvml_waiter *waiter, nvml_waiter_wait_fn wait,
		       struct nvml_abi_event_set *set);
/*
 * Ends the watch. Returns when the thread is not in the driver any more: within wait_ms, but never if
 * the driver hangs. Nothing to do when nothing is watched. Events that came are still to be taken.
 */
void nvml_waiter_leave(struct nvml_waiter *waiter);
/*
 * Takes the oldest event: NVML_ABI_SUCCESS. NVML_ABI_TIMEOUT: there is none. Any other code: the wait
 * failed with it; that is said once, after the events before it, and the watch has ended. While the
 * wait hangs this does not return, as the driver does not.
 */
MUST_USE int nvml_waiter_next(struct nvml_waiter *waiter, struct nvml_abi_event *ret_event);
