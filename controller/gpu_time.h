/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gpu_time - for how long the workloads of each namespace have held slots of devices, and for how
 * much of that the devices were idle. Counted from published statuses, never from requests.
 *
 * A tenancy counts from its startTime to the endTime among the recent tenants. What was published
 * before this process began counts from the first status that it sees. A tenant without a namespace
 * waits: it counts from its start as soon as the namespace is published.
 *
 * Idle time counts from idleSince, which is published later: of a tenant that has left by then, no
 * time is idle. If work was done between two statuses that say Idle, what was idle before ends with
 * the first of them. Each partition under MIG counts by itself.
 *
 * Published times are of the wall clock. They are put on the monotonic clock when they arrive, so
 * that a clock that is set changes no more than what arrives late.
 *
 * Of several replicas one shows its series. What the others counted meanwhile is dropped when they do:
 * gpu_time_resume().
 *
 * Threads: owner; pure.
 * Limits:  max_series series; of those without tenants the oldest goes for a new one. If all have
 *          tenants, a further one is not counted.
 */

#include "base/error.h"
#include "model/attribution.h"

struct gpu_time;

/* The same instant by both clocks, ms. */
struct gpu_time_now {
	uint64_t monotonic;
	int64_t wall;
};

/* Nothing is counted yet. Fails with ERROR_NO_MEMORY. */
MUST_USE int gpu_time_new(size_t max_series, struct gpu_time **ret_time, struct error *err);
/* Accepts NULL. */
void gpu_time_free(struct gpu_time *time);

/*
 * This is published of the device now; copied. The first that is told of a device is taken for what
 * an earlier process published. Fails with ERROR_NO_MEMORY; what was published before goes on.
 */
MUST_USE int gpu_time_publish(struct gpu_time *time, const struct attribution *device,
			      struct gpu_time_now now, struct error *err);
/* The object of that name is gone; its tenants have left. Nothing to do for one that is not known. */
void gpu_time_forget(struct gpu_time *time, struct view name, struct gpu_time_now now);

/* This replica does not show its series from now on: what was counted by now stays, for when it does. */
void gpu_time_pause(struct gpu_time *time, struct gpu_time_now now);
/*
 * This replica shows its series from now on, and another one did before: each goes on from what it was at
 * gpu_time_pause(), or at the last gpu_time_at(). Nothing since is counted.
 */
void gpu_time_resume(struct gpu_time *time, struct gpu_time_now now);

/* One series; texts are borrowed until the next change. */
struct gpu_time_series {
	struct view namespace;
	struct view model;
	int mode;         /* enum attribution_mode */
	uint64_t held_ms; /* times slots */
	uint64_t idle_ms; /* the same, of idle devices; never above held_ms */
};

/* How many places for series there are by now; some are empty. */
size_t gpu_time_places(const struct gpu_time *time);
/* The series at that place, as of that monotonic time. Never less than it said before. False: none. */
bool gpu_time_at(struct gpu_time *time, size_t place, uint64_t monotonic_ms,
		 struct gpu_time_series *ret_series);

/* Rise only. */
struct gpu_time_counters {
	uint64_t dropped; /* series without tenants that made room */
	uint64_t refused; /* tenancies that found no room, and are not counted */
};
/* Since gpu_time_new(). */
struct gpu_time_counters gpu_time_counters(const struct gpu_time *time);
