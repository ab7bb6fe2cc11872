/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_ring - XID errors on their way from the process that calls NVML to its parent, in memory that both
 * share. So they arrive although the child's main thread is in a call that does not return, and can be
 * taken after the child was killed.
 *
 * Each error is taken once: the reader counts what it took in memory of its own. What the other process
 * wrote is not trusted: each error that no report can carry is left out.
 *
 * Threads: one writes, one reads; of different processes.
 * Limits:  LIMIT_NVML_EVENTS errors. The writer waits for room, and the driver keeps further errors.
 */

#include <stdatomic.h>

#include "agent/nvml_event.h"
#include "base/limits.h"

/* The child can write all of it. */
struct nvml_ring {
	_Atomic uint32_t n_put;   /* in all; the writer's */
	_Atomic uint32_t n_taken; /* in all; the reader's */
	struct nvml_event events[LIMIT_NVML_EVENTS];
};

/* The reader's own; zeroed when a ring is new. */
struct nvml_ring_reader {
	uint32_t n_taken;
};

/* What was taken at once. */
struct nvml_ring_taken {
	struct report_event items[LIMIT_NVML_EVENTS]; /* the first n, oldest first */
	uint32_t n;
	struct nvml_event raw[LIMIT_NVML_EVENTS]; /* where their texts lie */
};

/* Empty memory; both processes have it after a fork. NULL: there is none. */
struct nvml_ring *nvml_ring_new(void);
/* Lets go of it in this process. Accepts NULL. */
void nvml_ring_free(struct nvml_ring *ring);

/* Whether one more error can be put. It stays so until the writer puts one. */
MUST_USE bool nvml_ring_has_room(const struct nvml_ring *ring);
/* Puts an error. There must be room. */
void nvml_ring_put(struct nvml_ring *ring, const struct nvml_event *event);

/* Takes all errors that are there now. A count that cannot be so means that there is none. */
void nvml_ring_take(struct nvml_ring *ring, struct nvml_ring_reader *reader,
		    struct nvml_ring_taken *ret_taken);
