/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_waiter - waits for the driver's events on a thread of its own, so that they come at once and
 * nobody asks again and again whether there are any.
 *
 * The thread calls nothing of the driver but its wait, and needs nobody to go on. It puts XID errors into
 * a ring that another process reads (agent/nvml_ring.h), with the UUID that the owner has told of the
 * device. So they arrive while the owner is in a call that does not return. A wait ends after wait_ms, so
 * that the owner can close the driver. One that takes twice as long hangs.
 *
 * A driver whose wait returns at once, without an event, is asked again after wait_ms / 4: such a
 * driver is polled. Whether NVIDIA's sleeps in that wait was not seen: there was no hardware.
 *
 * Threads: owner, and its own one.
 * Limits:  those of the ring: while it is full the driver keeps further events. LIMIT_REPORT_DEVICES
 *          devices.
 */

#include "agent/nvml_abi.h"
#include "agent/nvml_ring.h"
#include "base/error.h"

struct nvml_waiter;

/* The driver's function; see nvmlEventSetWait_v2 in agent/nvml_library.h. */
typedef int (*nvml_waiter_wait_fn)(struct nvml_abi_event_set *set,
				   struct nvml_abi_event *ret_event, unsigned timeout_ms);
/* Called on the waiter's thread. It must not block, nor call the waiter. */
typedef void (*nvml_waiter_told_fn)(void *owner);

struct nvml_waiter_config {
	uint32_t wait_ms;         /* of one wait in the driver; above 0 */
	struct nvml_ring *ring;   /* where XID errors are put; borrowed */
	nvml_waiter_told_fn told; /* an event came, or the wait failed */
	void *owner;              /* of `told` */
};

/* Starts the thread; nothing is watched yet. Fails with ERROR_NO_MEMORY or ERROR_RETRY. */
MUST_USE int nvml_waiter_new(const struct nvml_waiter_config *config,
			     struct nvml_waiter **ret_waiter, struct error *err);
/* Leaves the set and ends the thread. Accepts NULL. */
void nvml_waiter_free(struct nvml_waiter *waiter);
/*
 * Tells which device an event with this handle is of; by its index, at which another one may have been.
 * An event with a handle that was not told is left out. The UUID has NVML_ABI_UUID_SIZE bytes (copied).
 */
void nvml_waiter_name(struct nvml_waiter *waiter, unsigned index,
		      const struct nvml_abi_device *handle, const char *uuid);
/* Begins to wait for events of this set, which is borrowed until the watch ends. None may be watched. */
void nvml_waiter_watch(struct nvml_waiter *waiter, nvml_waiter_wait_fn wait,
		       struct nvml_abi_event_set *set);
/*
 * Ends the watch, and forgets the handles. Returns when the thread is not in the driver any more: within
 * wait_ms, but never if the driver hangs.
 */
void nvml_waiter_leave(struct nvml_waiter *waiter);
/*
 * How the watch fares. NVML_ABI_TIMEOUT: it goes on, or there is none. Any other code: the wait failed with
 * it; that is said once, and the watch has ended. *ret_has_new_state: an event that is no XID error came
 * since this was asked last. While the wait hangs this does not return, as the driver does not.
 */
MUST_USE int nvml_waiter_ask(struct nvml_waiter *waiter, bool *ret_has_new_state);
