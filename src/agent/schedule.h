/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * schedule - when to look at which source. Decides, does nothing: it is told what happened and what
 * time it is, and says what is due.
 *
 * Threads: any; an object belongs to its caller.
 * Times:   monotonic milliseconds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"

#define SCHEDULE_NEVER UINT64_MAX

/* Parts of a sample, a bit mask. */
enum schedule_part {
	SCHEDULE_CHECKPOINT = 1u << 0, /* the kubelet's, always */
	SCHEDULE_LIST = 1u << 1,       /* the kubelet's, after the checkpoint */
	SCHEDULE_ADVERTISED = 1u << 2, /* GetAllocatableResources; only together with the List */
	SCHEDULE_HARDWARE = 1u << 3,   /* the driver */
	SCHEDULE_ALLOCATION = SCHEDULE_CHECKPOINT | SCHEDULE_LIST,
	SCHEDULE_ALL = SCHEDULE_ALLOCATION | SCHEDULE_ADVERTISED | SCHEDULE_HARDWARE,
};

struct schedule_config {
	uint32_t interval_ms; /* between full samples at rest, shortened by up to 10 % at random */
	uint32_t debounce_ms; /* from the first sign of a change to the sample that looks for it */
};

struct schedule {
	struct schedule_config config;
	struct prng prng;
	struct backoff throttle;  /* after the kubelet's rate limit */
	uint64_t allocation_at;   /* when each part is due, or SCHEDULE_NEVER */
	uint64_t everything_at;
	uint64_t kubelet_open_at; /* the kubelet is not called before; its files are read */
	uint64_t restarted_at;    /* when the kubelet's last start was seen */
	uint32_t n_settling;      /* samples after it that were taken, see SETTLING_MS */
};

/* A full sample is due at once. seed is for the jitter. */
void schedule_init(struct schedule *schedule, const struct schedule_config *config, uint64_t now,
		   uint64_t seed);

/* The checkpoint was written: a pod was admitted, or a device plugin changed its list. */
void schedule_checkpoint_written(struct schedule *schedule, uint64_t now);
/* A device plugin came, went or restarted, or it is not known what changed. */
void schedule_node_changed(struct schedule *schedule, uint64_t now);
/*
 * The kubelet's sockets are new: its Lists may be short for a while, so there are further full
 * samples at 0.5, 2, 5 and 15 s.
 */
void schedule_kubelet_restarted(struct schedule *schedule, uint64_t now);

/*
 * The parts that are due, 0 if none; what it says is taken as done. It must not be asked again
 * while a sample is being taken: signs that come meanwhile lead to another one after it.
 */
unsigned schedule_take_due(struct schedule *schedule, uint64_t now);
/*
 * How the List went, if it was asked for: whether the kubelet answered ResourceExhausted. The kubelet
 * is then left alone for a while: a sample that is due has no List until then.
 */
void schedule_kubelet_answered(struct schedule *schedule, bool throttled, uint64_t now);

/* When schedule_take_due() will have something to say, unless told of anything before. */
uint64_t schedule_next_at(const struct schedule *schedule);
